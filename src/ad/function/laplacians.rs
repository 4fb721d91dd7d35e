//! The constructors of [`Function`] for Laplacians, sums of second derivatives along directions, and divergences.

use super::Function;
use super::FunctionParts;
use super::record::{RecordedFunction, record};
use super::structure::{Assemble, KnownTensor, all_of, in_place, key, pair, single, zeros};
use crate::ad::differentiate::laplacian::{check_field, number_of_directions};
use crate::ad::differentiate::transformation::Transformation;
use crate::array::Array;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::{Rows, Tensor};
use crate::tree::{Key, Tree};

impl<P, Q, Y> Function<P, Q, Y>
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Y: Tree<Array, With<Array> = Y>,
{
    /// [`laplacian`](Function::laplacian) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, a) = (tensor([1.0, 3.0]), tensor([2.0, 5.0]));
    /// let laplacian = Function::laplacian_with(|x, a| (x.powi(3) * a).sum(), &x, &a);
    /// assert_eq!(laplacian.run_with(&x, &a)?.item(), 102.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn laplacian_with<Z>(f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z, x: &P, data: &Q) -> Self
    where
        Z: Tree<Term, With<Array> = Y>,
    {
        let RecordedFunction { program, count, results } = record(f, x, data);
        let made = (zeros(&results), in_place as Assemble<P, Y>);
        Function::of_program(Transformation::Laplacian, (program, count), (x, data), Vec::new(), made)
    }
}

impl<P: Tree<Array>, Y: Tree<Array, With<Array> = Y>> Function<P, (), Y> {
    /// The Laplacian of each result of a function, see [`laplacian`](crate::laplacian).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([1.0, 3.0]);
    /// let laplacian = Function::laplacian(|x| (x.powi(3).sum(), x.square()), &x);
    /// assert_eq!(laplacian.run(&x)?, (tensor(24.0), tensor([2.0, 2.0])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn laplacian<Z>(f: impl Fn(&P::With<Term>) -> Z, x: &P) -> Self
    where
        Z: Tree<Term, With<Array> = Y>,
    {
        Function::laplacian_with(|x, _: &()| f(x), x, &())
    }
}

impl<P: Tree<Array>, V, Y: Tree<Array, With<Array> = Y>> Function<P, V, Y> {
    #[track_caller]
    fn laplacian_along_of<S: Rows<Array, P>, Q: Tree<Array>, Z: Tree<Term, With<Array> = Y>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        (x, directions): (&P, &S),
        data: &Q,
        key: Key,
    ) -> Self {
        let mut stacks = Vec::new();
        directions.sequences(&mut stacks);
        let transformation = Transformation::LaplacianAlong(number_of_directions(&x.leaves(), &stacks));
        let RecordedFunction { program, count, results } = record(f, x, data);
        Function::of(FunctionParts {
            transformation,
            recorded: program,
            count,
            names: Vec::new(),
            template: zeros(&results),
            assemble: |y, _, leaves| all_of(y, leaves),
            key,
        })
    }
}

impl<P: Tree<Array>, S: Tree<Array> + Rows<Array, P>, Y: Tree<Array, With<Array> = Y>> Function<P, S, Y> {
    /// The sum of the second derivatives of each result along directions, which take the place of the data; see
    /// [`laplacian_along`](crate::laplacian_along).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, v) = (tensor([3.0, 4.0]), tensor([[1.0, 1.0]]));
    /// let along = Function::laplacian_along(|x| x.at([0]) * x.at([1]), &x, &v);
    /// assert_eq!(along.run_with(&x, &v)?.item(), 2.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn laplacian_along<Z>(f: impl Fn(&P::With<Term>) -> Z, x: &P, directions: &S) -> Self
    where
        Z: Tree<Term, With<Array> = Y>,
    {
        let key = key(&|v| x.visit(v), &|v| directions.visit(v));
        Function::laplacian_along_of(|x, _: &()| f(x), (x, directions), &(), key)
    }
}

impl<P, S, Q, Y> Function<P, (S, Q), Y>
where
    P: Tree<Array>,
    S: Tree<Array> + Rows<Array, P>,
    Q: Tree<Array>,
    Y: Tree<Array, With<Array> = Y>,
{
    /// [`laplacian_along`](Function::laplacian_along) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, v, a) = (tensor([1.0, 3.0]), tensor([[1.0, 2.0]]), tensor([2.0, 5.0]));
    /// let along = Function::laplacian_along_with(|x, a| (x.powi(3) * a).sum(), &x, &v, &a);
    /// assert_eq!(along.run_with(&x, &(v, a))?.item(), 372.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn laplacian_along_with<Z>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        directions: &S,
        data: &Q,
    ) -> Self
    where
        Z: Tree<Term, With<Array> = Y>,
    {
        let all = key(&|v| x.visit(v), &|v| pair(&|v| directions.visit(v), &|v| data.visit(v), v));
        Function::laplacian_along_of(f, (x, directions), data, all)
    }
}

impl<Q: Tree<Array>, E: Float, const N: usize> Function<KnownTensor<N, E>, Q, KnownTensor<0, E>> {
    /// [`divergence`](Function::divergence) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, a) = (tensor([1.0, 3.0]), tensor([2.0, 5.0]));
    /// let divergence = Function::divergence_with(|x, a| x.square() * a, &x, &a);
    /// assert_eq!(divergence.run_with(&x, &a)?.item(), 34.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn divergence_with(
        f: impl Fn(&Tensor<Term, N, E>, &Q::With<Term>) -> Tensor<Term, N, E>,
        x: &KnownTensor<N, E>,
        data: &Q,
    ) -> Self {
        let RecordedFunction { program, count, .. } = record(f, x, data);
        check_field(&program);
        let made = (Tensor::zeros([]), single as Assemble<KnownTensor<N, E>, _>);
        Function::of_program(Transformation::Divergence, (program, count), (x, data), Vec::new(), made)
    }
}

impl<E: Float, const N: usize> Function<KnownTensor<N, E>, (), KnownTensor<0, E>> {
    /// The divergence of a vector field, see [`divergence`](crate::divergence).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([1.0, 3.0]);
    /// let divergence = Function::divergence(|x| x.square() * x.at([0]), &x);
    /// assert_eq!(divergence.run(&x)?.item(), 9.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn divergence(f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, N, E>, x: &KnownTensor<N, E>) -> Self {
        Function::divergence_with(|x, _: &()| f(x), x, &())
    }
}
