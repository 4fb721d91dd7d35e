//! The constructors of [`Function`] for Jacobians and Hessians, and for derivatives of functions of one number.

use super::Function;
use super::record::{RecordedFunction, record};
use super::structure::{Assemble, KnownTensor, next_of, single, zeros};
use crate::ad::differentiate::modes::DenseDerivative;
use crate::ad::differentiate::transformation::Transformation;
use crate::array::Array;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::{Plus, Rank, Tensor};
use crate::tree::Tree;

impl<P: Tree<Array>, Q: Tree<Array>, E: Float, const R: usize> Function<P, Q, KnownTensor<R, E>> {
    /// A derivative that is one tensor.
    #[track_caller]
    fn of_tensor<Z: Tree<Term>>(
        transformation: Transformation,
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Self {
        Function::derived(transformation, (f, x, data), Vec::new(), Tensor::zeros([0; R]), single)
    }
}

impl<Q: Tree<Array>, E: Float, const N: usize, const R: usize> Function<KnownTensor<N, E>, Q, KnownTensor<R, E>> {
    /// [`jacobian`](Function::jacobian) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let j = Function::jacobian_with(|w, x| w * x, &w, &x);
    /// assert_eq!(j.run_with(&w, &x)?, tensor([[3.0, 0.0], [0.0, 4.0]]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn jacobian_with<const M: usize>(
        f: impl Fn(&Tensor<Term, N, E>, &Q::With<Term>) -> Tensor<Term, M, E>,
        x: &KnownTensor<N, E>,
        data: &Q,
    ) -> Self
    where
        Rank<R>: Plus<M, N>,
    {
        Function::of_tensor(Transformation::Dense(DenseDerivative::jacobian(false)), f, x, data)
    }

    /// [`hessian`](Function::hessian) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let h = Function::hessian_with(|w, x| (w * w * x).sum(), &w, &x);
    /// assert_eq!(h.run_with(&w, &x)?, tensor([[6.0, 0.0], [0.0, 8.0]]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn hessian_with(
        f: impl Fn(&Tensor<Term, N, E>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &KnownTensor<N, E>,
        data: &Q,
    ) -> Self
    where
        Rank<R>: Plus<N, N>,
    {
        Function::of_tensor(Transformation::Dense(DenseDerivative::HESSIAN), f, x, data)
    }
}

impl<E: Float, const N: usize, const R: usize> Function<KnownTensor<N, E>, (), KnownTensor<R, E>> {
    /// The Jacobian of a function of one tensor, see [`jacobian`](crate::jacobian).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let j = Function::jacobian(|x| x.square(), &x);
    /// assert_eq!(j.run(&x)?, tensor([[2.0, 0.0], [0.0, 4.0]]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn jacobian<const M: usize>(
        f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, M, E>,
        x: &KnownTensor<N, E>,
    ) -> Self
    where
        Rank<R>: Plus<M, N>,
    {
        Function::jacobian_with(|x, _: &()| f(x), x, &())
    }

    /// The Hessian of a scalar function of one tensor, see [`hessian`](crate::hessian).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let h = Function::hessian(|x| x.powi(3).sum(), &x);
    /// assert_eq!(h.run(&x)?, tensor([[6.0, 0.0], [0.0, 12.0]]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn hessian(f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, 0, E>, x: &KnownTensor<N, E>) -> Self
    where
        Rank<R>: Plus<N, N>,
    {
        Function::hessian_with(|x, _: &()| f(x), x, &())
    }
}

/// The two output arrays, as tensors.
fn two<P, const M: usize, const R: usize, E: Float>(
    _: &WithValue<M, R, E>,
    _: &P,
    leaves: &[Array],
) -> WithValue<M, R, E> {
    (Tensor::from_raw(leaves[0].clone()), Tensor::from_raw(leaves[1].clone()))
}

/// The last output as a matrix, and the others in the structure of the value.
fn value_and_matrix<P, Y: Tree<Array, With<Array> = Y>>(
    (y, _): &(Y, KnownTensor<2, f64>),
    _: &P,
    mut leaves: &[Array],
) -> (Y, KnownTensor<2, f64>) {
    let value = next_of(y, &mut leaves);
    (value, Tensor::from_raw(leaves[0].clone()))
}

/// A value and its Jacobian.
type WithValue<const M: usize, const R: usize, E> = (KnownTensor<M, E>, KnownTensor<R, E>);

impl<Q, E, const N: usize, const M: usize, const R: usize> Function<KnownTensor<N, E>, Q, WithValue<M, R, E>>
where
    Q: Tree<Array>,
    E: Float,
    Rank<R>: Plus<M, N>,
{
    /// [`value_and_jacobian`](Function::value_and_jacobian) of a function that also takes data that is not
    /// differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let both = Function::value_and_jacobian_with(|w, x| w * x, &w, &x);
    /// assert_eq!(both.run_with(&w, &x)?, (tensor([3.0, 8.0]), tensor([[3.0, 0.0], [0.0, 4.0]])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_jacobian_with(
        f: impl Fn(&Tensor<Term, N, E>, &Q::With<Term>) -> Tensor<Term, M, E>,
        x: &KnownTensor<N, E>,
        data: &Q,
    ) -> Self {
        let template = (Tensor::zeros([0; M]), Tensor::zeros([0; R]));
        Function::derived(
            Transformation::Dense(DenseDerivative::jacobian(true)),
            (f, x, data),
            Vec::new(),
            template,
            two,
        )
    }
}

impl<E, const N: usize, const M: usize, const R: usize> Function<KnownTensor<N, E>, (), WithValue<M, R, E>>
where
    E: Float,
    Rank<R>: Plus<M, N>,
{
    /// Value and Jacobian of a function of one tensor.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let both = Function::value_and_jacobian(|x| x.square(), &x);
    /// assert_eq!(both.run(&x)?, (tensor([1.0, 4.0]), tensor([[2.0, 0.0], [0.0, 4.0]])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_jacobian(f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, M, E>, x: &KnownTensor<N, E>) -> Self {
        Function::value_and_jacobian_with(|x, _: &()| f(x), x, &())
    }
}

impl<P: Tree<Array>, Q: Tree<Array>> Function<P, Q, KnownTensor<2, f64>> {
    /// [`jacobian_matrix`](Function::jacobian_matrix) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, k) = ((tensor(3.0), tensor(5.0)), tensor(2.0));
    /// let j = Function::jacobian_matrix_with(|(a, b), k| (a * b, b * k), &x, &k);
    /// assert_eq!(j.run_with(&x, &k)?, tensor([[5.0, 3.0], [0.0, 2.0]]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn jacobian_matrix_with<Z: Tree<Term>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Self {
        Function::of_tensor(Transformation::Dense(DenseDerivative::jacobian_matrix(false)), f, x, data)
    }

    /// [`hessian_matrix`](Function::hessian_matrix) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, k) = ((tensor(3.0), tensor(5.0)), tensor(2.0));
    /// let h = Function::hessian_matrix_with(|(a, b), k| a * b * b * k, &x, &k);
    /// assert_eq!(h.run_with(&x, &k)?, tensor([[0.0, 20.0], [20.0, 12.0]]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn hessian_matrix_with<E: Float>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        Function::of_tensor(Transformation::Dense(DenseDerivative::HESSIAN_MATRIX), f, x, data)
    }
}

impl<P: Tree<Array>> Function<P, (), KnownTensor<2, f64>> {
    /// The Jacobian of a function from trees to trees, see [`jacobian_matrix`](crate::jacobian_matrix).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = (tensor(3.0), tensor(5.0));
    /// let j = Function::jacobian_matrix(|(a, b)| (a * b, b * b), &x);
    /// assert_eq!(j.run(&x)?, tensor([[5.0, 3.0], [0.0, 10.0]]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn jacobian_matrix<Z: Tree<Term>>(f: impl Fn(&P::With<Term>) -> Z, x: &P) -> Self {
        Function::jacobian_matrix_with(|x, _: &()| f(x), x, &())
    }

    /// The Hessian of a scalar function of a tree, see [`hessian_matrix`](crate::hessian_matrix).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = (tensor(3.0), tensor(5.0));
    /// let h = Function::hessian_matrix(|(a, b)| a * b * b, &x);
    /// assert_eq!(h.run(&x)?, tensor([[0.0, 10.0], [10.0, 6.0]]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn hessian_matrix<E: Float>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> Self {
        Function::hessian_matrix_with(|x, _: &()| f(x), x, &())
    }
}

impl<P: Tree<Array>, Q: Tree<Array>, Y: Tree<Array, With<Array> = Y>> Function<P, Q, (Y, KnownTensor<2, f64>)> {
    /// [`value_and_jacobian_matrix`](Function::value_and_jacobian_matrix) of a function that also takes data that is
    /// not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, k) = ((tensor(3.0), tensor(5.0)), tensor(2.0));
    /// let both = Function::value_and_jacobian_matrix_with(|(a, b), k| (a * b, b * k), &x, &k);
    /// let (y, j) = both.run_with(&x, &k)?;
    /// assert_eq!((y, j), ((tensor(15.0), tensor(10.0)), tensor([[5.0, 3.0], [0.0, 2.0]])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_jacobian_matrix_with<Z: Tree<Term, With<Array> = Y>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Self {
        let RecordedFunction { program, count, results } = record(f, x, data);
        let made = ((zeros(&results), Tensor::zeros([0, 0])), value_and_matrix as Assemble<P, _>);
        let transformation = Transformation::Dense(DenseDerivative::jacobian_matrix(true));
        Function::of_program(transformation, (program, count), (x, data), Vec::new(), made)
    }
}

impl<P: Tree<Array>, Y: Tree<Array, With<Array> = Y>> Function<P, (), (Y, KnownTensor<2, f64>)> {
    /// The results of a function from trees to trees, and their [`jacobian_matrix`](crate::jacobian_matrix).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = (tensor(3.0), tensor(5.0));
    /// let both = Function::value_and_jacobian_matrix(|(a, b)| (a * b, b * b), &x);
    /// assert_eq!(both.run(&x)?, ((tensor(15.0), tensor(25.0)), tensor([[5.0, 3.0], [0.0, 10.0]])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_jacobian_matrix<Z: Tree<Term, With<Array> = Y>>(f: impl Fn(&P::With<Term>) -> Z, x: &P) -> Self {
        Function::value_and_jacobian_matrix_with(|x, _: &()| f(x), x, &())
    }
}

impl<Q: Tree<Array>, E: Float> Function<KnownTensor<0, E>, Q, KnownTensor<0, E>> {
    /// [`nth_derivative`](Function::nth_derivative) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, a) = (tensor(0.0), tensor(3.0));
    /// let third = Function::nth_derivative_with(|x, a| (x * a).sin(), 3, &x, &a);
    /// assert_eq!(third.run_with(&x, &a)?.item(), -27.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn nth_derivative_with(
        f: impl Fn(&Tensor<Term, 0, E>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        n: usize,
        x: &KnownTensor<0, E>,
        data: &Q,
    ) -> Self {
        Function::of_tensor(Transformation::Nth(n), f, x, data)
    }
}

impl<E: Float> Function<KnownTensor<0, E>, (), KnownTensor<0, E>> {
    /// The `n`-th derivative of a function of one number, see [`nth_derivative`](crate::nth_derivative).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let fourth = Function::nth_derivative(|x| x.powi(5), 4, &tensor(1.0));
    /// assert_eq!(fourth.run(&tensor(2.0))?.item(), 240.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn nth_derivative(
        f: impl Fn(&Tensor<Term, 0, E>) -> Tensor<Term, 0, E>,
        n: usize,
        x: &KnownTensor<0, E>,
    ) -> Self {
        Function::nth_derivative_with(|x, _: &()| f(x), n, x, &())
    }
}
