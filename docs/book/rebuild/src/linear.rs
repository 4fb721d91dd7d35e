//! Linear maps as data: the adjoint of a map, and the map on many rows, are again such data.

use crate::values::Array;

/// Places in an array of a shape: the element for an index `i` is at `strides . i`.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
}

/// A linear map as data: `out[into(i)] += x[from(i)]` for every index `i` of a box.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    pub domain: Vec<usize>,
    pub from: Access,
    pub into: Access,
}

/// The strides of an array whose elements lie one after the other.
fn dense(shape: &[usize]) -> Vec<usize> {
    (1..=shape.len()).map(|k| shape[k..].iter().product()).collect()
}

impl Linear {
    /// The sum over the outermost axis.
    pub fn sum(shape: &[usize]) -> Self {
        let from = Access { shape: shape.to_vec(), strides: dense(shape) };
        let into = Access { shape: shape[1..].to_vec(), strides: [&[0], &dense(&shape[1..])[..]].concat() };
        Linear { domain: shape.to_vec(), from, into }
    }

    /// The sum of all elements.
    pub fn total(shape: &[usize]) -> Self {
        let n = shape.iter().product();
        let from = Access { shape: shape.to_vec(), strides: vec![1] };
        Linear { domain: vec![n], from, into: Access { shape: vec![], strides: vec![0] } }
    }

    /// The same elements in another shape.
    pub fn reshape(shape: &[usize], to: &[usize]) -> Self {
        let flat = |shape: &[usize]| Access { shape: shape.to_vec(), strides: vec![1] };
        Linear { domain: vec![shape.iter().product()], from: flat(shape), into: flat(to) }
    }

    /// Rows become columns.
    pub fn transpose([n, m]: [usize; 2]) -> Self {
        let into = Access { shape: vec![m, n], strides: vec![1, n] };
        Linear { domain: vec![n, m], from: Access { shape: vec![n, m], strides: vec![m, 1] }, into }
    }

    /// The adjoint: `y . A x = (A* y) . x`.
    pub fn adjoint(&self) -> Self {
        Linear { domain: self.domain.clone(), from: self.into.clone(), into: self.from.clone() }
    }

    /// The same map on each of `n` rows.
    pub fn batched(&self, n: usize) -> Self {
        let longer = |sizes: &[usize], first: usize| [&[first], sizes].concat();
        let access = |Access { shape, strides }: &Access| Access {
            shape: longer(shape, n),
            strides: longer(strides, shape.iter().product()),
        };
        Linear { domain: longer(&self.domain, n), from: access(&self.from), into: access(&self.into) }
    }

    pub fn of(&self, x: &Array) -> Array {
        assert_eq!(x.shape, self.from.shape, "a linear map of {:?} cannot take {:?}", self.from.shape, x.shape);
        let mut out = Array::filled(&self.into.shape, 0.0);
        for k in 0..self.domain.iter().product() {
            let (mut rest, mut from, mut into) = (k, 0, 0);
            for (axis, n) in self.domain.iter().enumerate().rev() {
                from += rest % n * self.from.strides[axis];
                into += rest % n * self.into.strides[axis];
                rest /= n;
            }
            out.data[into] += x.data[from];
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adjoint_keeps_inner_products() {
        let dot = |a: &Array, b: &Array| a.data.iter().zip(&b.data).map(|(a, b)| a * b).sum::<f64>();
        let numbers =
            |shape: &[usize]| Array::new(shape, (1..=shape.iter().product()).map(|k| (k as f64).sin()).collect());
        let maps =
            [Linear::sum(&[3, 2]), Linear::reshape(&[3, 2], &[6]), Linear::total(&[3, 2]), Linear::transpose([3, 2])];
        for map in maps.iter().flat_map(|map| [map.clone(), map.adjoint(), map.batched(4), map.batched(4).adjoint()]) {
            let (x, y) = (numbers(&map.from.shape), numbers(&map.into.shape));
            assert!((dot(&map.of(&x), &y) - dot(&x, &map.adjoint().of(&y))).abs() < 1e-12, "{map:?}");
        }
    }
}
