//! Derivatives of any order of functions of one number.

use super::adaptors::{ResultTemplate, plain};
use super::table::{Home, Verb};
use crate::ad::differentiate::transformation::Transformation;
use crate::ad::function::{Function, Jit, KnownTensor, key_of, record};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;

verbs! {
    /// The `n`-th derivative of a scalar function of a scalar, for an `n` that is chosen at run time; the 0-th derivative
    /// is the function.
    ///
    /// The recorded program is differentiated `n` times in forward mode, and optimized each time. For `n >= 4`, one Taylor
    /// expansion of order `n` replaces the repetition if its program has fewer operations.
    ///
    /// # Panics
    /// When `f` looks at values.
    nth_derivative, nth_derivative_with: "the `n`-th derivative of a function of one number, by one series", also [];
    (Tensor<Term, 0, E>) -> Tensor<Term, 0, E>, Transformation::Nth(n);
    plain {[T: BaseTensor,] [E: Float] [] ([n: usize] x: Tensor<T, 0, E>) -> Tensor<T, 0, E>};
    staged [E: Float] [] [] ([n: usize] x: KnownTensor<0, E>) {} -> KnownTensor<0, E>;
    |y, r| r.tensor(), named Vec::new();
    example "|x: &Tensor<_, 0>| x.powi(5)", ", 4", "x" = "tensor(2.0)" => "tensor(240.0)",
        with "|x: &Tensor<_, 0>, a: &Tensor<_, 0>| x.powi(5) * a", "tensor(3.0)" => "tensor(720.0)";
}
