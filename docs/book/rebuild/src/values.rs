//! Arrays of numbers, and the operations on their elements as data.

/// An array: its shape, and its elements with the last index running fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    pub data: Vec<f64>,
}

impl Array {
    pub fn new(shape: &[usize], data: Vec<f64>) -> Self {
        assert_eq!(shape.iter().product::<usize>(), data.len(), "the shape {shape:?} needs another number of elements");
        Array { shape: shape.to_vec(), data }
    }

    pub fn filled(shape: &[usize], x: f64) -> Self {
        Array::new(shape, vec![x; shape.iter().product()])
    }

    pub fn vector(data: &[f64]) -> Self {
        Array::new(&[data.len()], data.to_vec())
    }

    /// The array of `f` of each element.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Array::new(&self.shape, self.data.iter().map(|x| f(*x)).collect())
    }
}

/// Operations on each element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unary {
    Neg,
    Recip,
    Sin,
    Cos,
    Exp,
    Ln,
}

/// Operations on each pair of elements of two arrays of one shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binary {
    Add,
    Mul,
}

impl Unary {
    pub const ALL: [Unary; 6] = [Unary::Neg, Unary::Recip, Unary::Sin, Unary::Cos, Unary::Exp, Unary::Ln];

    pub fn of(self, x: f64) -> f64 {
        match self {
            Unary::Neg => -x,
            Unary::Recip => x.recip(),
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Exp => x.exp(),
            Unary::Ln => x.ln(),
        }
    }
}

impl Binary {
    pub fn of(self, x: f64, y: f64) -> f64 {
        match self {
            Binary::Add => x + y,
            Binary::Mul => x * y,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_keeps_the_elements_apart() {
        let x = Array::vector(&[0.5, 2.0]);
        for op in Unary::ALL {
            assert_eq!(x.map(|x| op.of(x)).data, [op.of(0.5), op.of(2.0)], "{op:?}");
        }
    }
}
