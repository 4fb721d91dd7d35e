//! Laplacians, sums of second derivatives along directions, and divergences.
//!
//! Laws: the Laplacian is the trace of the Hessian, and the divergence of the gradient.

use super::adaptors::{ResultTemplate, plain};
use super::table::{Home, Verb};
use crate::ad::differentiate::laplacian::number_of_directions;
use crate::ad::differentiate::transformation::Transformation;
use crate::ad::function::{Function, Jit, KnownTensor, key_of, key_of_both, record};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::{Rows, Tensor};
use crate::tree::Tree;

verbs! {
    /// The Laplacian of each result: the sum of the second derivatives in all elements of `x`.
    ///
    /// `f : P -> Y`, of any number and shapes of results. The program runs once: the second derivatives are summed at every
    /// operation, so they cost no more than those along one direction. They come with the first derivatives in all
    /// elements of `x`; no Hessian is computed. The Laplacian of an integer or mask is zero.
    ///
    /// # Panics
    /// When `f` looks at values, or uses a function with rules that has none for tangents.
    laplacian, laplacian_with: "the sum of the second derivatives of each result in all elements, in one pass", also [Symbolic];
    (P::With<Term>) -> Z, Transformation::Laplacian;
    plain {[T: BaseTensor, P: Tree<T>,] [Z: Tree<Term>] [] (x: P) -> Z::With<T>};
    staged [P: Tree<Array>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] [] (x: P) {} -> Y;
    |y, r| r.like(y), named Vec::new();
    example "|x: &Tensor<_, 1>| (x.powi(3).sum(), x.square())", "", "x" = "tensor([1.0, 3.0])" =>
            "(tensor(24.0), tensor([2.0, 2.0]))",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.powi(3) * a).sum()", "tensor([2.0, 5.0])" => "tensor(102.0)";

    /// The sum of the second derivatives along the directions, `sum over k of v_k^T H v_k`, of each result.
    ///
    /// The directions are a stack of trees like `x`: a matrix whose rows are the directions, for a vector. So the sum is
    /// the trace of `A H` for `A = sum over k of v_k v_k^T`; with random directions, divided by their number, an estimate
    /// of the Laplacian. The cost is that of [`laplacian`], with one first derivative for each direction.
    ///
    /// # Panics
    /// When `f` looks at values, uses a function with rules that has none for tangents, or the directions are not a stack
    /// of trees like `x`.
    laplacian_along, laplacian_along_with: "the sum of the second derivatives along directions", also [];
    (P::With<Term>) -> Z, along(x, directions);
    plain {
        [T: BaseTensor, P: Tree<T>, S: Rows<T, P>,] [Z: Tree<Term>] []
            (x: P, directions: S as stacks(directions)) -> Z::With<T>
    };
    staged [P: Tree<Array>, S: Tree<Array> + Rows<Array, P>, Y: Tree<Array, With<Array> = Y>]
        [Z: Tree<Term, With<Array> = Y>] [] (x: P) {[S] given directions} -> Y;
    |y, r| r.like(y), named Vec::new();
    example "|x: &Tensor<_, 1>| x.at([0]) * x.at([1])", "", "(x, v)" = "(tensor([3.0, 4.0]), tensor([[1.0, 1.0]]))" =>
            "tensor(2.0)",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.square() * a).sum()", "tensor([10.0, 100.0])" => "tensor(220.0)";

    /// The divergence of a vector field: the sum of the derivatives of the elements of `f(x)` in the elements of `x` at the
    /// same positions.
    ///
    /// It is the trace of the Jacobian, which is computed in forward or reverse mode, whichever has the lower estimated
    /// time. For a gradient, [`laplacian`] of the function takes one pass.
    ///
    /// # Panics
    /// When `f` looks at values, or its result has a different shape than `x`.
    divergence, divergence_with: "the trace of the Jacobian; forward or reverse mode by cost", also [];
    (Tensor<Term, N, E>) -> Tensor<Term, N, E>, Transformation::Divergence;
    plain {[T: BaseTensor,] [const N: usize, E: Float] [] (x: Tensor<T, N, E>) -> Tensor<T, 0, E>};
    staged [E: Float, const N: usize] [] [] (x: KnownTensor<N, E>) {} -> KnownTensor<0, E>;
    |y, r| r.tensor(), named Vec::new();
    example "|x: &Tensor<_, 1>| x.square() * x.at([0])", "", "x" = "tensor([1.0, 3.0])" => "tensor(9.0)",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a", "tensor([2.0, 5.0])" => "tensor(34.0)";
}

/// The leaves of a stack of directions.
fn stacks<T: BaseTensor, P: Tree<T>, S: Rows<T, P>>(directions: &S) -> Vec<T> {
    let mut stacks = Vec::new();
    directions.sequences(&mut stacks);
    stacks
}

/// The transformation for these directions.
#[track_caller]
fn along<T: BaseTensor, P: Tree<T>, S: Rows<T, P>>(x: &P, directions: &S) -> Transformation {
    Transformation::LaplacianAlong(number_of_directions(&x.leaves(), &stacks(directions)))
}
