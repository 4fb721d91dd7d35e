//! Hessians of scalar functions of one tensor, and of scalar functions of a tree as matrices.

use super::adaptors::{ResultTemplate, plain};
use super::table::{Home, Verb};
use crate::ad::differentiate::modes::DenseDerivative;
use crate::ad::differentiate::transformation::Transformation;
use crate::ad::function::{Function, Jit, KnownTensor, key_of, record};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::{Plus, Rank, Tensor};
use crate::tree::Tree;

verbs! {
    /// The Hessian of a scalar function: `H[i.., j..] = d^2 f(x) / d x[i..] d x[j..]`.
    ///
    /// The derivative of the gradient is evaluated `n` times for an `x` of `n` elements, in the mode with the lower
    /// estimated time.
    hessian, hessian_with: "the Hessian of a scalar function of one tensor", also [];
    (Tensor<Term, N, E>) -> Tensor<Term, 0, E>, Transformation::Dense(DenseDerivative::HESSIAN);
    plain {
        [T: BaseTensor,] [const N: usize, const R: usize, E: Float] [Rank<R>: Plus<N, N>]
            (x: Tensor<T, N, E>) -> Tensor<T, R, E>
    };
    staged [E: Float, const N: usize, const R: usize] [] [Rank<R>: Plus<N, N>]
        (x: KnownTensor<N, E>) {} -> KnownTensor<R, E>;
    |y, r| r.tensor(), named Vec::new();
    example "|x: &Tensor<_, 1>| x.square().sum() * x.at([0])", "", "x" = "tensor([1.0, 2.0])" =>
            "tensor([[6.0, 4.0], [4.0, 2.0]])",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.powi(3) * a).sum()", "tensor([10.0, 100.0])" =>
            "tensor([[60.0, 0.0], [0.0, 1200.0]])";

    /// The Hessian of a scalar function of a tree: `H[i, j] = d^2 f / d x[i] d x[j]`, where `x` is the raveled tree.
    ///
    /// Computed as the Jacobian of the gradient, in the mode with the lower estimated time.
    ///
    /// # Panics
    /// When `f` looks at values.
    hessian_matrix, hessian_matrix_with: "the Hessian of a scalar function of a tree, as a matrix", also [];
    (P::With<Term>) -> Tensor<Term, 0, E>, Transformation::Dense(DenseDerivative::HESSIAN_MATRIX);
    plain {[T: BaseTensor, P: Tree<T>,] [E: Float] [] (x: P) -> Tensor<T, 2>};
    staged [P: Tree<Array>] [E: Float] [] (x: P) {} -> KnownTensor<2, f64>;
    |y, r| r.tensor(), named Vec::new();
    example "|(a, b): &(Tensor<_, 0>, Tensor<_, 0>)| a * b * b", "", "x" = "(tensor(3.0), tensor(5.0))" =>
            "tensor([[0.0, 10.0], [10.0, 6.0]])",
        with "|(a, b): &(Tensor<_, 0>, Tensor<_, 0>), c: &Tensor<_, 0>| a * b * c", "tensor(7.0)" =>
            "tensor([[0.0, 7.0], [7.0, 0.0]])";
}
