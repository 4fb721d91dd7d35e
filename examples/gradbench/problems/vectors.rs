//! Functions of a few numbers or of one vector.

use polygrad::{Concrete, Jit, tensor};
use serde::Deserialize;

use super::sizes::{at_least, equal};
use super::{functions, only};
use crate::json::{flat, vector};
use crate::programs::{Matrix, Scalar, Vector, det, hello, llsq, lse, ode};

type Number = Scalar<Concrete>;
type Numbers = Vector<Concrete>;

functions! {
    /// A square and its derivative.
    Hello(f64) of Number, ();
    |x| Ok((tensor(x), ()));
    square: Jit::stage(hello::square) => Number, only;
    double: Jit::grad(hello::square) => Number, only;
}

/// Coefficients, and the number of positions.
#[derive(Deserialize)]
struct Fit {
    #[serde(deserialize_with = "vector")]
    x: Numbers,
    n: usize,
}

functions! {
    /// Least squares.
    Llsq(Fit) of Numbers, llsq::Grid;
    |Fit { x, n }| {
        at_least(1, ("the length of `x`", x.len()))?;
        at_least(2, ("`n`", n))?;
        Ok((x, llsq::Grid { count: n }))
    };
    primal: Jit::stage_with(llsq::cost) => Number, only;
    gradient: Jit::grad_with(llsq::cost) => Numbers, only;
}

/// Exponents.
#[derive(Deserialize)]
struct Exponents {
    #[serde(deserialize_with = "vector")]
    x: Numbers,
}

functions! {
    /// The logarithm of a sum of exponentials.
    Lse(Exponents) of Numbers, ();
    |Exponents { x }| Ok((x, ()));
    primal: Jit::stage(lse::log_sum_exp) => Number, only;
    gradient: Jit::grad(lse::log_sum_exp) => Numbers, only;
}

/// A matrix, row by row, and the number of its rows.
#[derive(Deserialize)]
#[allow(non_snake_case, reason = "the name is that of the protocol")]
struct Square {
    #[serde(deserialize_with = "vector")]
    A: Numbers,
    ell: usize,
}

impl Square {
    fn matrix(self) -> serde_json::Result<Matrix<Concrete>> {
        let ell = self.ell;
        at_least(1, ("`ell`", ell))?;
        equal(("the length of `A`", self.A.len()), ("ell * ell", ell.saturating_mul(ell)))?;
        Ok(self.A.reshape([ell, ell]))
    }
}

functions! {
    /// A determinant.
    Det(Square) of Matrix<Concrete>, ();
    |input| Ok((input.matrix()?, ()));
    primal: Jit::stage(det::det) => Number, only;
    gradient: Jit::grad(det::det) => Matrix<Concrete>, flat;
}

/// Rates, and the number of steps.
#[derive(Deserialize)]
struct Rates {
    #[serde(deserialize_with = "vector")]
    x: Numbers,
    s: usize,
}

functions! {
    /// A differential equation.
    Ode(Rates) of Numbers, ode::Steps;
    |Rates { x, s }| {
        at_least(1, ("the length of `x`", x.len()))?;
        at_least(1, ("`s`", s))?;
        Ok((x, ode::Steps { count: s }))
    };
    primal: Jit::stage_with(ode::end) => Numbers, only;
    gradient: Jit::grad_with(ode::last) => Numbers, only;
}
