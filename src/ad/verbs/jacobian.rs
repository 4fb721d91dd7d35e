//! Jacobians of functions of one tensor, and of functions from trees to trees as matrices.
//!
//! Rows and columns of a matrix are the elements of the raveled trees: those of the float leaves, in order, as `f64`
//! ([`Tree::ravel`](crate::Tree::ravel)).

use super::adaptors::{ResultTemplate, plain};
use super::table::{Home, Verb};
use crate::ad::differentiate::modes::DenseDerivative;
use crate::ad::differentiate::strategy::Mode;
use crate::ad::differentiate::transformation::Transformation;
use crate::ad::function::{Function, Jit, KnownTensor, key_of, record};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::{Plus, Rank, Tensor};
use crate::tree::Tree;

verbs! {
    /// The Jacobian: `J[i.., j..] = d f(x)[i..] / d x[j..]`, the output's axes first.
    ///
    /// Computed column by column in forward mode, or row by row in reverse mode, whichever has the lower estimated time;
    /// see [`Mode`] and [`jacobian_by`].
    jacobian, jacobian_with: "`dy/dx` of one tensor, axes of `y` first; forward or reverse mode by cost", also [];
    (Tensor<Term, N, E>) -> Tensor<Term, M, E>, Transformation::Dense(DenseDerivative::jacobian(false));
    plain {
        [T: BaseTensor,] [const N: usize, const M: usize, const R: usize, E: Float] [Rank<R>: Plus<M, N>]
            (x: Tensor<T, N, E>) -> Tensor<T, R, E>
    };
    staged [E: Float, const N: usize, const R: usize] [const M: usize] [Rank<R>: Plus<M, N>]
        (x: KnownTensor<N, E>) {} -> KnownTensor<R, E>;
    |y, r| r.tensor(), named Vec::new();
    example "|x: &Tensor<_, 1>| x.square()", "", "x" = "tensor([1.0, 2.0])" => "tensor([[2.0, 0.0], [0.0, 4.0]])",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a", "tensor([10.0, 100.0])" =>
            "tensor([[20.0, 0.0], [0.0, 400.0]])";

    /// Value and [`jacobian`].
    value_and_jacobian, value_and_jacobian_with: "`(y, dy/dx)`", also [];
    (Tensor<Term, N, E>) -> Tensor<Term, M, E>, Transformation::Dense(DenseDerivative::jacobian(true));
    plain {
        [T: BaseTensor,] [const N: usize, const M: usize, const R: usize, E: Float] [Rank<R>: Plus<M, N>]
            (x: Tensor<T, N, E>) -> (Tensor<T, M, E>, Tensor<T, R, E>)
    };
    staged [E: Float, const N: usize, const M: usize, const R: usize] [] [Rank<R>: Plus<M, N>]
        (x: KnownTensor<N, E>) {} -> (KnownTensor<M, E>, KnownTensor<R, E>);
    |y, r| (r.like(y), r.tensor()), named Vec::new();
    example "|x: &Tensor<_, 1>| x.square()", "", "x" = "tensor([3.0])" => "(tensor([9.0]), tensor([[6.0]]))",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a", "tensor([2.0])" =>
            "(tensor([18.0]), tensor([[12.0]]))";

    /// The Jacobian of a function from trees to trees: `J[i, j] = d y[i] / d x[j]`, where `x` and `y` are the raveled
    /// trees.
    ///
    /// Computed column by column in forward mode, or row by row in reverse mode, whichever has the lower estimated time.
    ///
    /// # Panics
    /// When `f` looks at values.
    jacobian_matrix, jacobian_matrix_with: "`dy/dx` of trees, as a matrix over their numbers in order", also [];
    (P::With<Term>) -> Z, Transformation::Dense(DenseDerivative::jacobian_matrix(false));
    plain {[T: BaseTensor, P: Tree<T>,] [Z: Tree<Term>] [] (x: P) -> Tensor<T, 2>};
    staged [P: Tree<Array>] [Z: Tree<Term>] [] (x: P) {} -> KnownTensor<2, f64>;
    |y, r| r.tensor(), named Vec::new();
    example "|(a, b): &(Tensor<_, 0>, Tensor<_, 0>)| (a * b, b * b)", "", "x" = "(tensor(3.0), tensor(5.0))" =>
            "tensor([[5.0, 3.0], [0.0, 10.0]])",
        with "|(a, b): &(Tensor<_, 0>, Tensor<_, 0>), c: &Tensor<_, 0>| (a * b, b * c)", "tensor(7.0)" =>
            "tensor([[5.0, 3.0], [0.0, 7.0]])";

    /// The results of a function from trees to trees, and their [`jacobian_matrix`].
    ///
    /// # Panics
    /// When `f` looks at values.
    value_and_jacobian_matrix, value_and_jacobian_matrix_with: "the results, and that matrix", also [];
    (P::With<Term>) -> Z, Transformation::Dense(DenseDerivative::jacobian_matrix(true));
    plain {[T: BaseTensor, P: Tree<T>,] [Z: Tree<Term>] [] (x: P) -> (Z::With<T>, Tensor<T, 2>)};
    staged [P: Tree<Array>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] []
        (x: P) {} -> (Y, KnownTensor<2, f64>);
    |y, r| (r.like(y), r.tensor()), named Vec::new();
    example "|(a, b): &(Tensor<_, 0>, Tensor<_, 0>)| (a * b, b * b)", "", "x" = "(tensor(3.0), tensor(5.0))" =>
            "((tensor(15.0), tensor(25.0)), tensor([[5.0, 3.0], [0.0, 10.0]]))",
        with "|(a, b): &(Tensor<_, 0>, Tensor<_, 0>), c: &Tensor<_, 0>| (a * b, b * c)", "tensor(2.0)" =>
            "((tensor(15.0), tensor(10.0)), tensor([[5.0, 3.0], [0.0, 2.0]]))";
}

forms! {
    data of T as Q::With<Term>;

    /// [`jacobian`] in a given mode.
    ///
    /// ```
    /// use polygrad::{Mode, Tensor, jacobian_by, tensor};
    /// let j: Tensor<_, 1> = jacobian_by(Mode::Forward, |x| x.square().sum(), &tensor([1.0, 2.0]));
    /// assert_eq!(j, tensor([2.0, 4.0]));
    /// ```
    jacobian_by,
    /// [`jacobian_with`] in a given mode.
    ///
    /// ```
    /// use polygrad::{Mode, Tensor, jacobian_by_with, tensor};
    /// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
    /// let j: Tensor<_, 1> = jacobian_by_with(Mode::Reverse, |w, x| w.dot(x), &w, &x);
    /// assert_eq!(j, x);
    /// ```
    jacobian_by_with [T: BaseTensor,] [const N: usize, const M: usize, const R: usize, E: Float] [Rank<R>: Plus<M, N>]
        [mode: Mode] (f: (Tensor<Term, N, E>) -> Tensor<Term, M, E>, x: &Tensor<T, N, E>; data) -> Tensor<T, R, E>
    {
        let jacobian = Transformation::Dense(DenseDerivative::jacobian(false));
        plain("jacobian", (jacobian, Some(mode)), f, (x, data), Vec::new()).1.tensor()
    }
}
