//! Forward mode: dual numbers over any meaning.

use crate::language::Base;
use crate::linear::Linear;
use crate::values::{Array, Binary, Unary};

/// A constant of the shape of `x`.
pub fn filled_as<T: Base>(x: &T, value: f64) -> T {
    T::constant(Array::filled(&x.shape(), value))
}

/// The derivative of `y = op(x)`, in the language itself: every row of the table has one.
pub fn partial<T: Base>(op: Unary, x: &T, y: &T) -> T {
    match op {
        Unary::Neg => filled_as(x, -1.0),
        Unary::Recip => y.binary(Binary::Mul, y).unary(Unary::Neg),
        Unary::Sin => x.unary(Unary::Cos),
        Unary::Cos => x.unary(Unary::Sin).unary(Unary::Neg),
        Unary::Exp => y.clone(),
        Unary::Ln => x.unary(Unary::Recip),
    }
}

/// A value, and its derivative along one direction; without a tangent it is a constant.
#[derive(Clone, Debug)]
pub struct Dual<T> {
    pub primal: T,
    pub tangent: Option<T>,
}

impl<T: Base> Dual<T> {
    /// The value `primal` with a linear map of this tangent.
    fn with(&self, primal: T, map: impl Fn(&T) -> T) -> Self {
        Dual { primal, tangent: self.tangent.as_ref().map(map) }
    }
}

/// The sum of two tangents; what is not there is zero.
fn sum<T: Base>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.binary(Binary::Add, &b)),
        (a, b) => a.or(b),
    }
}

impl<T: Base> Base for Dual<T> {
    fn constant(array: Array) -> Self {
        Dual { primal: T::constant(array), tangent: None }
    }

    fn shape(&self) -> Vec<usize> {
        self.primal.shape()
    }

    fn unary(&self, op: Unary) -> Self {
        let y = self.primal.unary(op);
        self.with(y.clone(), |tangent| partial(op, &self.primal, &y).binary(Binary::Mul, tangent))
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let (x, y) = (self, other);
        let scaled = |tangent: &Option<T>, by: &T| tangent.as_ref().map(|t| t.binary(Binary::Mul, by));
        let tangent = match op {
            Binary::Add => sum(x.tangent.clone(), y.tangent.clone()),
            Binary::Mul => sum(scaled(&x.tangent, &y.primal), scaled(&y.tangent, &x.primal)),
        };
        Dual { primal: x.primal.binary(op, &y.primal), tangent }
    }

    fn linear(&self, op: &Linear) -> Self {
        self.with(self.primal.linear(op), |tangent| tangent.linear(op))
    }

    fn gather(&self, at: &Self, rows: usize) -> Self {
        self.with(self.primal.gather(&at.primal, rows), |tangent| tangent.gather(&at.primal, rows))
    }

    fn scatter(&self, at: &Self, rows: usize, shape: &[usize]) -> Self {
        let primal = self.primal.scatter(&at.primal, rows, shape);
        self.with(primal, |tangent| tangent.scatter(&at.primal, rows, shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_agrees_with_differences() {
        for op in Unary::ALL {
            for x in [0.4, 1.3, 2.2] {
                let dual = Dual { primal: Array::vector(&[x]), tangent: Some(Array::vector(&[1.0])) };
                let slope = dual.unary(op).tangent.expect("a tangent").data[0];
                let h = 1e-5;
                let difference = (op.of(x + h) - op.of(x - h)) / (2.0 * h);
                assert!((slope - difference).abs() < 1e-8, "{op:?} at {x}: {slope} and {difference}");
            }
        }
    }
}
