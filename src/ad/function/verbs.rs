//! The constructors of [`Function`] for values and gradients.

use super::Function;
use super::record::{RecordedFunction, record};
use super::structure::{Assemble, KnownTensor, all_of, in_place, paths, zeros, zeros_like};
use crate::ad::differentiate::modes::DenseDerivative;
use crate::ad::differentiate::transformation::Transformation;
use crate::array::Array;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// The output arrays in the structure of the argument.
fn like_argument<P: Tree<Array, With<Array> = P>>(_: &P, x: &P, leaves: &[Array]) -> P {
    all_of(x, leaves)
}

/// The first output as a number, and the others in the structure of the argument.
fn value_and_like_argument<P, E: Float>(_: &(KnownTensor<0, E>, P), x: &P, leaves: &[Array]) -> (KnownTensor<0, E>, P)
where
    P: Tree<Array, With<Array> = P>,
{
    (Tensor::from_raw(leaves[0].clone()), all_of(x, &leaves[1..]))
}

impl<P, Q, Y> Function<P, Q, Y>
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Y: Tree<Array, With<Array> = Y>,
{
    /// [`stage`](Function::stage) of a function that also takes data.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let f = Function::stage_with(|w, x| w.dot(x), &w, &x);
    /// assert_eq!(f.run_with(&w, &x)?.item(), 11.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn stage_with<Z>(f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z, x: &P, data: &Q) -> Self
    where
        Z: Tree<Term, With<Array> = Y>,
    {
        let RecordedFunction { program, count, results } = record(f, x, data);
        let made = (zeros(&results), in_place as Assemble<P, Y>);
        Function::of_program(Transformation::Value, (program, count), (x, data), Vec::new(), made)
    }
}

impl<P: Tree<Array>, Y: Tree<Array, With<Array> = Y>> Function<P, (), Y> {
    /// Records `f` for arguments like `x`: of its shapes, element types and structure, whatever the elements.
    ///
    /// # Panics
    /// When `f` looks at values, or a variable of a loop escapes from the loop. The other constructors panic alike.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let f = Function::stage(|x| (x.sin(), x.sum()), &x);
    /// assert_eq!(f.run(&x)?.1.item(), 3.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn stage<Z>(f: impl Fn(&P::With<Term>) -> Z, x: &P) -> Self
    where
        Z: Tree<Term, With<Array> = Y>,
    {
        Function::stage_with(|x, _: &()| f(x), x, &())
    }
}

impl<P: Tree<Array, With<Array> = P>, Q: Tree<Array>> Function<P, Q, P> {
    /// [`grad`](Function::grad) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let slope = Function::grad_with(|w, x| w.dot(x), &w, &x);
    /// assert_eq!(slope.run_with(&w, &x)?, x);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn grad_with<E: Float>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        let (transformation, names) = (Transformation::Dense(DenseDerivative::gradient(false)), paths(x, "grad"));
        Function::derived(transformation, (f, x, data), names, zeros_like(x), like_argument)
    }
}

impl<P: Tree<Array, With<Array> = P>> Function<P, (), P> {
    /// The gradient of a scalar function: a tree like `x`.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([3.0, 4.0]);
    /// let slope = Function::grad(|x| x.square().sum(), &x);
    /// assert_eq!(slope.run(&x)?, tensor([6.0, 8.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn grad<E: Float>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> Self {
        Function::grad_with(|x, _: &()| f(x), x, &())
    }
}

impl<P, Q, E> Function<P, Q, (Tensor<Array, 0, E>, P)>
where
    P: Tree<Array, With<Array> = P>,
    Q: Tree<Array>,
    E: Float,
{
    /// [`value_and_grad`](Function::value_and_grad) of a function that also takes data that is not
    /// differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let step = Function::value_and_grad_with(|w, x| w.dot(x), &w, &x);
    /// let (y, g) = step.run_with(&w, &x)?;
    /// assert_eq!((y.item(), g), (11.0, x));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_grad_with(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        let names = [vec![String::from("value")], paths(x, "grad")].concat();
        let template = (Tensor::zeros([]), zeros_like(x));
        let transformation = Transformation::Dense(DenseDerivative::gradient(true));
        Function::derived(transformation, (f, x, data), names, template, value_and_like_argument)
    }
}

impl<P: Tree<Array, With<Array> = P>, E: Float> Function<P, (), (Tensor<Array, 0, E>, P)> {
    /// Value and gradient of a scalar function.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([3.0, 4.0]);
    /// let f = Function::value_and_grad(|x| x.square().sum(), &x);
    /// let (y, g) = f.run(&x)?;
    /// assert_eq!((y.item(), g), (25.0, tensor([6.0, 8.0])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_grad(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> Self {
        Function::value_and_grad_with(|x, _: &()| f(x), x, &())
    }
}
