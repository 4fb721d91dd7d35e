//! The constructors of [`Jit`], as a table: each records by the constructor of [`Function`] of the same name.

use super::structure::KnownTensor;
use super::{Function, Jit};
use crate::array::Array;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::{Plus, Rank, Rows, Tensor};
use crate::tree::Tree;

/// A row has, in order: the names of the plain form and of the form with data, each with its documentation; the generic
/// parameters of the impl, those of the constructor, and bounds; the type of the argument, the type that the function
/// takes for it, and the type that the function returns; the type of the data of the plain form and of the form with data
/// `Q`, with a pattern and an expression that select the part of the latter for the constructor of [`Function`]; and the
/// type of the results.
macro_rules! constructors {
    ($(
        $(#[$doc:meta])*
        $verb:ident,
        $(#[$of_data:meta])*
        $with:ident [$($generics:tt)*] [$($own:tt)*] [$($bound:tt)*]
            $x:ty: ($argument:ty) -> $value:ty;
            $plain:ty | $all:ty: $pattern:pat => $data:ident;
            $result:ty;
    )*) => {$(
        impl<$($generics)*> Jit<$x, $plain, $result> {
            $(#[$doc])*
            pub fn $verb<$($own)*>(f: impl Fn(&$argument) -> $value + Send + Sync + 'static) -> Self
            where $($bound)*
            {
                Jit::new(move |x: &$x, _: &$plain| Function::$verb(&f, x))
            }
        }

        impl<Q: Tree<Array>, $($generics)*> Jit<$x, $all, $result> {
            #[doc = concat!("[`Function::", stringify!($with), "`] for each new key.")]
            ///
            $(#[$of_data])*
            pub fn $with<$($own)*>(f: impl Fn(&$argument, &Q::With<Term>) -> $value + Send + Sync + 'static) -> Self
            where $($bound)*
            {
                Jit::new(move |x: &$x, $pattern: &$all| Function::$with(&f, x, $data))
            }
        }
    )*};
}

constructors! {
    /// [`Function::stage`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let f = Jit::stage(|x: &Tensor<_, 1>| x.sum());
    /// assert_eq!(f.call(&tensor([1.0, 2.0])).item(), 3.0);
    /// ```
    stage,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let f = Jit::stage_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x * a);
    /// assert_eq!(f.call_with(&tensor([1.0, 2.0]), &tensor([3.0, 4.0])), tensor([3.0, 8.0]));
    /// ```
    stage_with [P: Tree<Array>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] []
        P: (P::With<Term>) -> Z;
        () | Q: data => data;
        Y;

    /// [`Function::grad`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let slope = Jit::grad(|x: &Tensor<_, 1>| x.square().sum());
    /// assert_eq!(slope.call(&tensor([1.0, 2.0])), tensor([2.0, 4.0]));
    /// ```
    grad,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let slope = Jit::grad_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.square() * a).sum());
    /// assert_eq!(slope.call_with(&x, &a), tensor([20.0, 400.0]));
    /// ```
    grad_with [P: Tree<Array, With<Array> = P>] [E: Float] []
        P: (P::With<Term>) -> Tensor<Term, 0, E>;
        () | Q: data => data;
        P;

    /// [`Function::value_and_grad`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let both = Jit::value_and_grad(|x: &Tensor<_, 1>| x.square().sum());
    /// assert_eq!(both.call(&tensor([1.0, 2.0])), (tensor(5.0), tensor([2.0, 4.0])));
    /// ```
    value_and_grad,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let both = Jit::value_and_grad_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.square() * a).sum());
    /// assert_eq!(both.call_with(&x, &a), (tensor(410.0), tensor([20.0, 400.0])));
    /// ```
    value_and_grad_with [P: Tree<Array, With<Array> = P>, E: Float] [] []
        P: (P::With<Term>) -> Tensor<Term, 0, E>;
        () | Q: data => data;
        (KnownTensor<0, E>, P);

    /// [`Function::jacobian`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let j = Jit::jacobian(|x: &Tensor<_, 1>| x.square());
    /// assert_eq!(j.call(&tensor([1.0, 2.0])), tensor([[2.0, 0.0], [0.0, 4.0]]));
    /// ```
    jacobian,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let j = Jit::jacobian_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a);
    /// assert_eq!(j.call_with(&x, &a), tensor([[20.0, 0.0], [0.0, 400.0]]));
    /// ```
    jacobian_with [E: Float, const N: usize, const R: usize] [const M: usize] [Rank<R>: Plus<M, N>]
        KnownTensor<N, E>: (Tensor<Term, N, E>) -> Tensor<Term, M, E>;
        () | Q: data => data;
        KnownTensor<R, E>;

    /// [`Function::value_and_jacobian`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let both = Jit::value_and_jacobian(|x: &Tensor<_, 1>| x.square());
    /// assert_eq!(both.call(&tensor([3.0])), (tensor([9.0]), tensor([[6.0]])));
    /// ```
    value_and_jacobian,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let both = Jit::value_and_jacobian_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a);
    /// assert_eq!(both.call_with(&tensor([3.0]), &tensor([2.0])), (tensor([18.0]), tensor([[12.0]])));
    /// ```
    value_and_jacobian_with
        [E: Float, const N: usize, const M: usize, const R: usize] [] [Rank<R>: Plus<M, N>]
        KnownTensor<N, E>: (Tensor<Term, N, E>) -> Tensor<Term, M, E>;
        () | Q: data => data;
        (KnownTensor<M, E>, KnownTensor<R, E>);

    /// [`Function::jacobian_matrix`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let j = Jit::jacobian_matrix(|(a, b): &(Tensor<_, 0>, Tensor<_, 0>)| (a * b, b * b));
    /// assert_eq!(j.call(&(tensor(3.0), tensor(5.0))), tensor([[5.0, 3.0], [0.0, 10.0]]));
    /// ```
    jacobian_matrix,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let j = Jit::jacobian_matrix_with(|(a, b): &(Tensor<_, 0>, Tensor<_, 0>), c: &Tensor<_, 0>| (a * b, b * c));
    /// assert_eq!(j.call_with(&(tensor(3.0), tensor(5.0)), &tensor(7.0)), tensor([[5.0, 3.0], [0.0, 7.0]]));
    /// ```
    jacobian_matrix_with [P: Tree<Array>] [Z: Tree<Term>] []
        P: (P::With<Term>) -> Z;
        () | Q: data => data;
        KnownTensor<2, f64>;

    /// [`Function::value_and_jacobian_matrix`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let both = Jit::value_and_jacobian_matrix(|x: &Tensor<_, 1>| x.square());
    /// assert_eq!(both.call(&tensor([3.0])), (tensor([9.0]), tensor([[6.0]])));
    /// ```
    value_and_jacobian_matrix,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let both = Jit::value_and_jacobian_matrix_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a);
    /// assert_eq!(both.call_with(&tensor([3.0]), &tensor([2.0])), (tensor([18.0]), tensor([[12.0]])));
    /// ```
    value_and_jacobian_matrix_with
        [P: Tree<Array>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] []
        P: (P::With<Term>) -> Z;
        () | Q: data => data;
        (Y, KnownTensor<2, f64>);

    /// [`Function::hessian`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let h = Jit::hessian(|x: &Tensor<_, 1>| x.powi(3).sum());
    /// assert_eq!(h.call(&tensor([1.0, 2.0])), tensor([[6.0, 0.0], [0.0, 12.0]]));
    /// assert_eq!(h.call(&tensor([1.0])), tensor([[6.0]]));
    /// ```
    hessian,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let h = Jit::hessian_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.powi(3) * a).sum());
    /// assert_eq!(h.call_with(&x, &a), tensor([[60.0, 0.0], [0.0, 1200.0]]));
    /// ```
    hessian_with [E: Float, const N: usize, const R: usize] [] [Rank<R>: Plus<N, N>]
        KnownTensor<N, E>: (Tensor<Term, N, E>) -> Tensor<Term, 0, E>;
        () | Q: data => data;
        KnownTensor<R, E>;

    /// [`Function::hessian_matrix`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let h = Jit::hessian_matrix(|(a, b): &(Tensor<_, 0>, Tensor<_, 0>)| a * b * b);
    /// assert_eq!(h.call(&(tensor(3.0), tensor(5.0))), tensor([[0.0, 10.0], [10.0, 6.0]]));
    /// ```
    hessian_matrix,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let h = Jit::hessian_matrix_with(|(a, b): &(Tensor<_, 0>, Tensor<_, 0>), c: &Tensor<_, 0>| a * b * c);
    /// assert_eq!(h.call_with(&(tensor(3.0), tensor(5.0)), &tensor(7.0)), tensor([[0.0, 7.0], [7.0, 0.0]]));
    /// ```
    hessian_matrix_with [P: Tree<Array>] [E: Float] []
        P: (P::With<Term>) -> Tensor<Term, 0, E>;
        () | Q: data => data;
        KnownTensor<2, f64>;

    /// [`Function::laplacian`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let laplacian = Jit::laplacian(|x: &Tensor<_, 1>| x.powi(3).sum());
    /// assert_eq!(laplacian.call(&tensor([1.0, 3.0])).item(), 24.0);
    /// ```
    laplacian,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let laplacian = Jit::laplacian_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.square() * a).sum());
    /// assert_eq!(laplacian.call_with(&x, &a).item(), 220.0);
    /// ```
    laplacian_with [P: Tree<Array>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] []
        P: (P::With<Term>) -> Z;
        () | Q: data => data;
        Y;

    /// [`Function::divergence`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let divergence = Jit::divergence(|x: &Tensor<_, 1>| x.square());
    /// assert_eq!(divergence.call(&tensor([1.0, 3.0])).item(), 8.0);
    /// ```
    divergence,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let divergence = Jit::divergence_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a);
    /// assert_eq!(divergence.call_with(&x, &a).item(), 420.0);
    /// ```
    divergence_with [E: Float, const N: usize] [] []
        KnownTensor<N, E>: (Tensor<Term, N, E>) -> Tensor<Term, N, E>;
        () | Q: data => data;
        KnownTensor<0, E>;

    /// [`Function::hvp`] for each new key; the direction takes the place of the data.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let hvp = Jit::hvp(|x: &Tensor<_, 1>| x.powi(3).sum());
    /// assert_eq!(hvp.call_with(&tensor([1.0, 2.0]), &tensor([1.0, 10.0])), tensor([6.0, 120.0]));
    /// ```
    hvp,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let hvp = Jit::hvp_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.square() * a).sum());
    /// let v = tensor([1.0, 0.5]);
    /// assert_eq!(hvp.call_with(&x, &(v, a)), tensor([20.0, 100.0]));
    /// ```
    hvp_with [P: Tree<Array, With<Array> = P>] [E: Float] []
        P: (P::With<Term>) -> Tensor<Term, 0, E>;
        P | (P, Q): (_, data) => data;
        P;

    /// [`Function::jvp`] for each new key; the tangent takes the place of the data.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let jvp = Jit::jvp(|x: &Tensor<_, 1>| x.square());
    /// let (y, y_dot) = jvp.call_with(&tensor([1.0, 2.0]), &tensor([1.0, 10.0]));
    /// assert_eq!((y, y_dot), (tensor([1.0, 4.0]), tensor([2.0, 40.0])));
    /// ```
    jvp,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let jvp = Jit::jvp_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a);
    /// let x_dot = tensor([1.0, 0.5]);
    /// assert_eq!(jvp.call_with(&x, &(x_dot, a)), (tensor([10.0, 400.0]), tensor([20.0, 200.0])));
    /// ```
    jvp_with [P: Tree<Array>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] []
        P: (P::With<Term>) -> Z;
        P | (P, Q): (_, data) => data;
        (Y, Y);

    /// [`Function::vjp`] for each new key; the cotangent takes the place of the data.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let vjp = Jit::vjp(|x: &Tensor<_, 1>| x.square());
    /// let (y, x_bar) = vjp.call_with(&tensor([1.0, 2.0]), &tensor([1.0, 10.0]));
    /// assert_eq!((y, x_bar), (tensor([1.0, 4.0]), tensor([2.0, 40.0])));
    /// ```
    vjp,
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let vjp = Jit::vjp_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a);
    /// let y_bar = tensor([1.0, 0.5]);
    /// assert_eq!(vjp.call_with(&x, &(y_bar, a)), (tensor([10.0, 400.0]), tensor([20.0, 200.0])));
    /// ```
    vjp_with [P: Tree<Array, With<Array> = P>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] []
        P: (P::With<Term>) -> Z;
        Y | (Y, Q): (_, data) => data;
        (Y, P);
}

impl<P, S, Y> Jit<P, S, Y>
where
    P: Tree<Array>,
    S: Tree<Array> + Rows<Array, P>,
    Y: Tree<Array, With<Array> = Y>,
{
    /// [`Function::laplacian_along`] for each new key; the directions take the place of the data.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let along = Jit::laplacian_along(|x: &Tensor<_, 1>| x.at([0]) * x.at([1]));
    /// assert_eq!(along.call_with(&tensor([3.0, 4.0]), &tensor([[1.0, 1.0]])).item(), 2.0);
    /// ```
    pub fn laplacian_along<Z: Tree<Term, With<Array> = Y>>(
        f: impl Fn(&P::With<Term>) -> Z + Send + Sync + 'static,
    ) -> Self {
        Jit::new(move |x: &P, directions: &S| Function::laplacian_along(&f, x, directions))
    }
}

impl<P, S, Q, Y> Jit<P, (S, Q), Y>
where
    P: Tree<Array>,
    S: Tree<Array> + Rows<Array, P>,
    Q: Tree<Array>,
    Y: Tree<Array, With<Array> = Y>,
{
    /// [`Function::laplacian_along_with`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let along = Jit::laplacian_along_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.powi(3) * a).sum());
    /// let (x, v, a) = (tensor([1.0, 3.0]), tensor([[1.0, 2.0]]), tensor([2.0, 5.0]));
    /// assert_eq!(along.call_with(&x, &(v, a)).item(), 372.0);
    /// ```
    pub fn laplacian_along_with<Z: Tree<Term, With<Array> = Y>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z + Send + Sync + 'static,
    ) -> Self {
        Jit::new(move |x: &P, (directions, data): &(S, Q)| Function::laplacian_along_with(&f, x, directions, data))
    }
}

impl<E: Float> Jit<KnownTensor<0, E>, (), KnownTensor<0, E>> {
    /// [`Function::nth_derivative`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let fourth = Jit::nth_derivative(|x: &Tensor<_, 0>| x.powi(5), 4);
    /// assert_eq!(fourth.call(&tensor(2.0)).item(), 240.0);
    /// ```
    pub fn nth_derivative(
        f: impl Fn(&Tensor<Term, 0, E>) -> Tensor<Term, 0, E> + Send + Sync + 'static,
        n: usize,
    ) -> Self {
        Jit::new(move |x: &KnownTensor<0, E>, _: &()| Function::nth_derivative(&f, n, x))
    }
}

impl<Q: Tree<Array>, E: Float> Jit<KnownTensor<0, E>, Q, KnownTensor<0, E>> {
    /// [`Function::nth_derivative_with`] for each new key.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let third = Jit::nth_derivative_with(|x: &Tensor<_, 0>, a: &Tensor<_, 0>| (x * a).sin(), 3);
    /// assert_eq!(third.call_with(&tensor(0.0), &tensor(3.0)).item(), -27.0);
    /// ```
    pub fn nth_derivative_with(
        f: impl Fn(&Tensor<Term, 0, E>, &Q::With<Term>) -> Tensor<Term, 0, E> + Send + Sync + 'static,
        n: usize,
    ) -> Self {
        Jit::new(move |x: &KnownTensor<0, E>, data: &Q| Function::nth_derivative_with(&f, n, x, data))
    }
}
