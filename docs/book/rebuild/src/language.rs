//! The trait that every meaning of a program implements, and its first instance: numbers.

use crate::linear::Linear;
use crate::values::{Array, Binary, Unary};

/// What a program can be run at: its meaning.
pub trait Base: Clone {
    fn constant(array: Array) -> Self;
    fn shape(&self) -> Vec<usize>;
    fn unary(&self, op: Unary) -> Self;
    fn binary(&self, op: Binary, other: &Self) -> Self;
    fn linear(&self, op: &Linear) -> Self;
    /// In each of `rows` parts, the elements of this array at places; 0 where a place is outside. It has the shape of the places.
    fn gather(&self, at: &Self, rows: usize) -> Self;
    /// The adjoint of `gather`: adds the elements to zeros of a shape, at places.
    fn scatter(&self, at: &Self, rows: usize, shape: &[usize]) -> Self;
}

/// For each place in `rows` parts of two arrays: its position, and the position it names in the other array, if it is inside.
fn places(at: &Array, rows: usize, len: usize) -> impl Iterator<Item = (usize, usize)> {
    let (wide, len) = (at.data.len() / rows, len / rows);
    let inside = move |k: &usize| at.data[*k] >= 0.0 && at.data[*k] < len as f64;
    (0..at.data.len()).filter(inside).map(move |k| (k, k / wide * len + at.data[k] as usize))
}

impl Base for Array {
    fn constant(array: Array) -> Self {
        array
    }

    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    fn unary(&self, op: Unary) -> Self {
        self.map(|x| op.of(x))
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let shapes = (&self.shape, &other.shape);
        assert_eq!(shapes.0, shapes.1, "{op:?}: both shapes must be equal, but are {shapes:?}");
        Array::new(&self.shape, self.data.iter().zip(&other.data).map(|(x, y)| op.of(*x, *y)).collect())
    }

    fn linear(&self, op: &Linear) -> Self {
        op.of(self)
    }

    fn gather(&self, at: &Self, rows: usize) -> Self {
        let mut out = Array::filled(&at.shape, 0.0);
        places(at, rows, self.data.len()).for_each(|(k, place)| out.data[k] = self.data[place]);
        out
    }

    fn scatter(&self, at: &Self, rows: usize, shape: &[usize]) -> Self {
        let mut out = Array::filled(shape, 0.0);
        let len = out.data.len();
        places(at, rows, len).for_each(|(k, place)| out.data[place] += self.data[k]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_outside_give_zero_and_writes_outside_are_dropped() {
        let at = Array::vector(&[2.0, -1.0, 0.0, 3.0, 2.0]);
        let x = Array::vector(&[5.0, 6.0, 7.0]);
        assert_eq!(x.gather(&at, 1).data, [7.0, 0.0, 5.0, 0.0, 7.0]);
        assert_eq!(Array::filled(&[5], 1.0).scatter(&at, 1, &[3]).data, [1.0, 0.0, 2.0]);
    }
}
