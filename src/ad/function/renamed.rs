//! Former names of the verbs of `Function`, deprecated: programs written against the last release still compile.
//!
//! Law: a former name calls its verb, and does nothing else. The next release removes these names.

use super::Function;
use crate::array::Array;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;

impl<P: Tree<Array, With<Array> = P>, Q: Tree<Array>> Function<P, Q, P> {
    /// The former name of [`grad_with`](Function::grad_with).
    #[deprecated(note = "renamed `grad_with`")]
    #[doc(hidden)]
    #[track_caller]
    pub fn gradient_with<E: Float>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        Function::grad_with(f, x, data)
    }
}

impl<P: Tree<Array, With<Array> = P>> Function<P, (), P> {
    /// The former name of [`grad`](Function::grad).
    #[deprecated(note = "renamed `grad`")]
    #[doc(hidden)]
    #[track_caller]
    pub fn gradient<E: Float>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> Self {
        Function::grad(f, x)
    }
}

impl<P: Tree<Array, With<Array> = P>, Q: Tree<Array>, E: Float> Function<P, Q, (Tensor<Array, 0, E>, P)> {
    /// The former name of [`value_and_grad_with`](Function::value_and_grad_with).
    #[deprecated(note = "renamed `value_and_grad_with`")]
    #[doc(hidden)]
    #[track_caller]
    pub fn value_and_gradient_with(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        Function::value_and_grad_with(f, x, data)
    }
}

impl<P: Tree<Array, With<Array> = P>, E: Float> Function<P, (), (Tensor<Array, 0, E>, P)> {
    /// The former name of [`value_and_grad`](Function::value_and_grad).
    #[deprecated(note = "renamed `value_and_grad`")]
    #[doc(hidden)]
    #[track_caller]
    pub fn value_and_gradient(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> Self {
        Function::value_and_grad(f, x)
    }
}
