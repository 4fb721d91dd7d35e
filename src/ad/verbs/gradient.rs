//! Gradients of scalar functions; and the function itself, which `Function` and `Jit` have in the same ways.

use super::adaptors::{ResultTemplate, plain};
use super::table::{Home, Verb};
use crate::ad::differentiate::modes::DenseDerivative;
use crate::ad::differentiate::transformation::Transformation;
use crate::ad::function::{Function, Jit, key_of, paths, record};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;

verbs! {
    /// Gradient of a scalar function: the tree of partial derivatives in the leaves of `x`, each with the shape and element
    /// type of its leaf; zeros for integers and masks.
    ///
    /// Every call records the program and differentiates it again, which costs far more than a run if arrays are small. In
    /// a loop, use a [`Function`], which is recorded once, or a [`Jit`], which is recorded once for each shape.
    ///
    /// # Panics
    /// When `f` looks at values (`item`, `peek`; use [`direct`](crate::direct)), or its result depends on a differentiated
    /// value that is not in `x`.
    grad, grad_with: "`x_bar`: the gradient of a scalar function", also [Direct, Symbolic, Higher];
    (P::With<Term>) -> Tensor<Term, 0, E>, Transformation::Dense(DenseDerivative::gradient(false));
    plain {[T: BaseTensor, P: Tree<T>,] [E: Float] [] (x: P) -> P::With<T>};
    staged [P: Tree<Array, With<Array> = P>] [E: Float] [] (x: P) {} -> P;
    |y, r| r.like(x), named paths(x, "grad");
    example "|x: &Tensor<_, 1>| x.square().sum()", "", "x" = "tensor([1.0, 2.0])" => "tensor([2.0, 4.0])",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.square() * a).sum()", "tensor([10.0, 100.0])" =>
            "tensor([20.0, 400.0])";

    /// Value and gradient of a scalar function: see [`grad`].
    ///
    /// # Panics
    /// As for [`grad`].
    value_and_grad, value_and_grad_with: "`(y, x_bar)`", also [Direct, Symbolic, Higher];
    (P::With<Term>) -> Tensor<Term, 0, E>, Transformation::Dense(DenseDerivative::gradient(true));
    plain {[T: BaseTensor, P: Tree<T>,] [E: Float] [] (x: P) -> (Tensor<T, 0, E>, P::With<T>)};
    staged [P: Tree<Array, With<Array> = P>, E: Float] [] [] (x: P) {} -> (Tensor<Array, 0, E>, P);
    |y, r| (r.like(y), r.like(x)), named [vec![String::from("value")], paths(x, "grad")].concat();
    example "|x: &Tensor<_, 1>| x.square().sum()", "", "x" = "tensor([1.0, 2.0])" => "(tensor(5.0), tensor([2.0, 4.0]))",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.square() * a).sum()", "tensor([10.0, 100.0])" =>
            "(tensor(410.0), tensor([20.0, 400.0]))";
}

staged! {
    {}
    [
        /// Records `f` for arguments like `x`: of its shapes, element types and structure, whatever the elements.
        ///
        /// # Panics
        /// When `f` looks at values, or a variable of a loop escapes from the loop. The other constructors panic alike.
    ]
    [stage stage_with] [P: Tree<Array>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] []
    (P::With<Term>) -> Z, (x: P) -> Y,
    Transformation::Value, |y, r| r.like(y), Vec::new(),
    [
        "|x: &Tensor<_, 1>| (x.square(), x.sum())", "", "x", "tensor([1.0, 2.0])", "(tensor([1.0, 4.0]), tensor(3.0))",
        "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x * a", "tensor([3.0, 4.0])", "tensor([3.0, 8.0])"
    ]
}
