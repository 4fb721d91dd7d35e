//! What programs look like: a meaning with operators.

use std::borrow::Borrow;
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::language::Base;
use crate::linear::Linear;
use crate::values::{Array, Binary, Unary};

/// A program's array: a meaning with operators.
#[derive(Clone, Debug)]
pub struct Tensor<T>(pub T);

/// A vector of numbers.
pub fn tensor<T: Base>(data: &[f64]) -> Tensor<T> {
    Tensor(T::constant(Array::vector(data)))
}

/// A single number.
pub fn number<T: Base>(x: f64) -> Tensor<T> {
    Tensor(T::constant(Array::filled(&[], x)))
}

impl<T: Base> Tensor<T> {
    /// The operation on both; a single number combines with any shape.
    fn with(&self, op: Binary, other: &Self) -> Self {
        let (a, b) = (self.0.shape(), other.0.shape());
        let wide = |x: &T, to: &[usize]| x.linear(&Linear::total(to).adjoint());
        Tensor(match (a.is_empty(), b.is_empty()) {
            (true, false) => wide(&self.0, &b).binary(op, &other.0),
            (false, true) => self.0.binary(op, &wide(&other.0, &a)),
            _ => self.0.binary(op, &other.0),
        })
    }

    pub fn unary(&self, op: Unary) -> Self {
        Tensor(self.0.unary(op))
    }

    pub fn sin(&self) -> Self {
        self.unary(Unary::Sin)
    }

    pub fn exp(&self) -> Self {
        self.unary(Unary::Exp)
    }

    pub fn ln(&self) -> Self {
        self.unary(Unary::Ln)
    }

    /// The sum of all elements.
    pub fn sum(&self) -> Self {
        Tensor(self.0.linear(&Linear::total(&self.0.shape())))
    }
}

/// The operators, for owned and borrowed operands.
macro_rules! operators {
    ($($Op:ident $method:ident($x:ident, $y:ident) = $body:expr;)*) => {$(
        impl<T: Base, U: Borrow<Tensor<T>>> $Op<U> for &Tensor<T> {
            type Output = Tensor<T>;
            fn $method(self, other: U) -> Tensor<T> {
                let ($x, $y) = (self, other.borrow());
                $body
            }
        }
        impl<T: Base, U: Borrow<Tensor<T>>> $Op<U> for Tensor<T> {
            type Output = Tensor<T>;
            fn $method(self, other: U) -> Tensor<T> {
                $Op::$method(&self, other)
            }
        }
    )*};
}

operators! {
    Add add(x, y) = x.with(Binary::Add, y);
    Sub sub(x, y) = x.with(Binary::Add, &y.unary(Unary::Neg));
    Mul mul(x, y) = x.with(Binary::Mul, y);
    Div div(x, y) = x.with(Binary::Mul, &y.unary(Unary::Recip));
}

impl<T: Base> Neg for Tensor<T> {
    type Output = Tensor<T>;
    fn neg(self) -> Tensor<T> {
        self.unary(Unary::Neg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn softmax_loss<T: Base>(x: &Tensor<T>) -> Tensor<T> {
        x.exp().sum().ln() - (x * tensor::<T>(&[0.0, 1.0, 0.0])).sum()
    }

    #[test]
    fn a_program_at_arrays_is_its_value() {
        let value = softmax_loss(&tensor::<Array>(&[1.0, 2.0, 3.0])).0;
        let expected = (1f64.exp() + 2f64.exp() + 3f64.exp()).ln() - 2.0;
        assert!((value.data[0] - expected).abs() < 1e-15);
    }
}
