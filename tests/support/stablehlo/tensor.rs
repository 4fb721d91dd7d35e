//! Values of the evaluator.

use polygrad::{Array, DType};

use super::read::Type;

/// Elements in row-major order: floats, integers and truth values, complex numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Float(Vec<f64>),
    Whole(Vec<i64>),
    Complex(Vec<[f64; 2]>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tensor {
    pub(super) ty: Type,
    pub(super) data: Data,
}

/// Runs one body on the elements, of whatever type they are.
macro_rules! each_data {
    ($data:expr, $v:ident => $body:expr) => {
        match $data {
            Data::Float($v) => Data::Float($body),
            Data::Whole($v) => Data::Whole($body),
            Data::Complex($v) => Data::Complex($body),
        }
    };
}

impl Tensor {
    pub(super) fn of(a: &Array) -> Tensor {
        let all = "the elements have the type of the array";
        let (element, data) = match a.dtype() {
            DType::F64 => ("f64", Data::Float(a.to_vec::<f64>().expect(all))),
            DType::F32 => ("f32", Data::Float(a.to_vec::<f32>().expect(all).into_iter().map(f64::from).collect())),
            DType::I64 => ("i64", Data::Whole(a.to_vec::<i64>().expect(all))),
            DType::Bool => ("i1", Data::Whole(a.to_vec::<bool>().expect(all).into_iter().map(i64::from).collect())),
        };
        Tensor { ty: Type { shape: a.shape().to_vec(), element: element.to_owned() }, data }
    }

    pub(super) fn array(&self) -> Array {
        let shape = &self.ty.shape;
        match (&self.data, &self.ty.element[..]) {
            (Data::Float(v), "f64") => Array::new(shape, v.clone()),
            (Data::Float(v), _) => Array::new(shape, v.iter().map(|x| *x as f32).collect::<Vec<f32>>()),
            (Data::Whole(v), "i1") => Array::new(shape, v.iter().map(|x| *x != 0).collect::<Vec<bool>>()),
            (Data::Whole(v), _) => Array::new(shape, v.clone()),
            (Data::Complex(_), element) => panic!("{element} is no element type of arrays"),
        }
    }

    /// Floats of an element type, rounded to it.
    pub(super) fn floats(shape: &[usize], element: &str, mut v: Vec<f64>) -> Tensor {
        if element == "f32" {
            v.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        }
        Tensor { ty: Type { shape: shape.to_vec(), element: element.to_owned() }, data: Data::Float(v) }
    }

    pub(super) fn whole(shape: &[usize], element: &str, v: Vec<i64>) -> Tensor {
        Tensor { ty: Type { shape: shape.to_vec(), element: element.to_owned() }, data: Data::Whole(v) }
    }

    pub(super) fn shape(&self) -> &[usize] {
        &self.ty.shape
    }

    pub(super) fn f(&self) -> &[f64] {
        let Data::Float(v) = &self.data else { panic!("floats are needed") };
        v
    }

    pub(super) fn i(&self) -> &[i64] {
        let Data::Whole(v) = &self.data else { panic!("integers are needed") };
        v
    }

    /// The elements at these flat positions under another shape; those without a position are those of `other`.
    pub(super) fn picked(&self, shape: &[usize], at: &[Option<usize>], other: &Tensor) -> Tensor {
        let data = match (&self.data, &other.data) {
            (Data::Float(v), Data::Float(o)) => Data::Float(at.iter().map(|k| k.map_or(o[0], |k| v[k])).collect()),
            (Data::Whole(v), Data::Whole(o)) => Data::Whole(at.iter().map(|k| k.map_or(o[0], |k| v[k])).collect()),
            (Data::Complex(v), Data::Complex(o)) => {
                Data::Complex(at.iter().map(|k| k.map_or(o[0], |k| v[k])).collect())
            }
            (Data::Float(_) | Data::Whole(_) | Data::Complex(_), _) => panic!("two element types"),
        };
        Tensor { ty: Type { shape: shape.to_vec(), element: self.ty.element.clone() }, data }
    }

    /// The elements at these flat positions.
    pub(super) fn taken(&self, shape: &[usize], at: impl Iterator<Item = usize>) -> Tensor {
        let data = each_data!(&self.data, v => at.map(|k| v[k]).collect());
        Tensor { ty: Type { shape: shape.to_vec(), element: self.ty.element.clone() }, data }
    }

    /// The element at a flat position as a tensor of rank 0.
    pub(super) fn element(&self, at: usize) -> Tensor {
        self.taken(&[], std::iter::once(at))
    }

    /// Replaces the element at a flat position.
    pub(super) fn put(&mut self, at: usize, x: &Tensor) {
        match (&mut self.data, &x.data) {
            (Data::Float(v), Data::Float(x)) => v[at] = x[0],
            (Data::Whole(v), Data::Whole(x)) => v[at] = x[0],
            (Data::Complex(v), Data::Complex(x)) => v[at] = x[0],
            (Data::Float(_) | Data::Whole(_) | Data::Complex(_), _) => panic!("two element types"),
        }
    }
}

/// The number of elements.
pub(super) fn size(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Every index of a shape, in row-major order.
pub(super) fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let shape = shape.to_vec();
    (0..size(&shape)).map(move |mut k| {
        let mut index = vec![0; shape.len()];
        for (i, n) in index.iter_mut().zip(&shape).rev() {
            *i = k % n;
            k /= n;
        }
        index
    })
}

/// The flat position of an index.
pub(super) fn flat(shape: &[usize], index: &[usize]) -> usize {
    assert_eq!(shape.len(), index.len());
    shape.iter().zip(index).fold(0, |flat, (n, i)| {
        assert!(i < n, "an index out of range");
        flat * n + i
    })
}
