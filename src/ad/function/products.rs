//! The constructors of [`Function`] for products with derivatives: `hvp`, `jvp` and `vjp`.
//!
//! The products are those of a Hessian with a direction, of a Jacobian with a tangent, and of a cotangent with a
//! Jacobian.

use super::record::{RecordedFunction, record};
use super::structure::{all_of, key, next_of, pair, paths, zeros, zeros_like};
use super::{Function, FunctionParts};
use crate::ad::differentiate::transformation::Transformation;
use crate::array::Array;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::{Key, Tree};

impl<P: Tree<Array, With<Array> = P>, V> Function<P, V, P> {
    #[track_caller]
    fn hvp_of<Q: Tree<Array>, E: Float>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
        key: Key,
    ) -> Self {
        let RecordedFunction { program, count, .. } = record(f, x, data);
        Function::of(FunctionParts {
            transformation: Transformation::Hvp,
            recorded: program,
            count,
            names: paths(x, "hvp"),
            template: zeros_like(x),
            assemble: |_, x, leaves| all_of(x, leaves),
            key,
        })
    }
}

impl<P: Tree<Array, With<Array> = P>> Function<P, P, P> {
    /// The Hessian of a scalar function times a direction, which takes the place of the data.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, v) = (tensor([1.0, 2.0]), tensor([1.0, 10.0]));
    /// let hvp = Function::hvp(|x| x.powi(3).sum(), &x);
    /// assert_eq!(hvp.run_with(&x, &v)?, tensor([6.0, 120.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn hvp<E: Float>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> Self {
        Function::hvp_of(|x, _: &()| f(x), x, &(), key(&|v| x.visit(v), &|v| x.visit(v)))
    }
}

impl<P: Tree<Array, With<Array> = P>, Q: Tree<Array>> Function<P, (P, Q), P> {
    /// [`hvp`](Function::hvp) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x, v) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]), tensor([1.0, 10.0]));
    /// let hvp = Function::hvp_with(|w, x| (w * w * x).sum(), &w, &x);
    /// assert_eq!(hvp.run_with(&w, &(v, x))?, tensor([6.0, 80.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn hvp_with<E: Float>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        let all = key(&|v| x.visit(v), &|v| pair(&|v| x.visit(v), &|v| data.visit(v), v));
        Function::hvp_of(f, x, data, all)
    }
}

impl<P: Tree<Array>, V, Y: Tree<Array, With<Array> = Y>> Function<P, V, (Y, Y)> {
    #[track_caller]
    fn jvp_of<Q: Tree<Array>, Z: Tree<Term, With<Array> = Y>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
        key: Key,
    ) -> Self {
        let RecordedFunction { program, count, results } = record(f, x, data);
        Function::of(FunctionParts {
            transformation: Transformation::Jvp,
            recorded: program,
            count,
            names: Vec::new(),
            template: (zeros(&results), zeros(&results)),
            assemble: |(y, _), _, leaves| {
                let (values, tangents) = leaves.split_at(leaves.len() / 2);
                (all_of(y, values), all_of(y, tangents))
            },
            key,
        })
    }
}

impl<P: Tree<Array>, Y: Tree<Array, With<Array> = Y>> Function<P, P, (Y, Y)> {
    /// The results of a function and their tangents for a tangent of the argument, which takes the place of the data.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, x_dot) = (tensor([1.0, 2.0]), tensor([1.0, 10.0]));
    /// let jvp = Function::jvp(|x| x.square(), &x);
    /// assert_eq!(jvp.run_with(&x, &x_dot)?, (tensor([1.0, 4.0]), tensor([2.0, 40.0])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn jvp<Z: Tree<Term, With<Array> = Y>>(f: impl Fn(&P::With<Term>) -> Z, x: &P) -> Self {
        Function::jvp_of(|x, _: &()| f(x), x, &(), key(&|v| x.visit(v), &|v| x.visit(v)))
    }
}

impl<P: Tree<Array>, Q: Tree<Array>, Y: Tree<Array, With<Array> = Y>> Function<P, (P, Q), (Y, Y)> {
    /// [`jvp`](Function::jvp) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x, w_dot) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]), tensor([1.0, 10.0]));
    /// let jvp = Function::jvp_with(|w, x| w * x, &w, &x);
    /// assert_eq!(jvp.run_with(&w, &(w_dot, x))?.1, tensor([3.0, 40.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn jvp_with<Z: Tree<Term, With<Array> = Y>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Self {
        let all = key(&|v| x.visit(v), &|v| pair(&|v| x.visit(v), &|v| data.visit(v), v));
        Function::jvp_of(f, x, data, all)
    }
}

impl<P: Tree<Array, With<Array> = P>, V, Y: Tree<Array, With<Array> = Y>> Function<P, V, (Y, P)> {
    #[track_caller]
    fn vjp_of<Q: Tree<Array>, Z: Tree<Term, With<Array> = Y>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
        key: impl FnOnce(&Y) -> Key,
    ) -> Self {
        let RecordedFunction { program, count, results } = record(f, x, data);
        let y = zeros(&results);
        let key = key(&y);
        Function::of(FunctionParts {
            transformation: Transformation::Vjp,
            recorded: program,
            count,
            names: paths(x, "x_bar"),
            template: (y, zeros_like(x)),
            assemble: |(y, _), x, mut leaves| {
                let values = next_of(y, &mut leaves);
                (values, all_of(x, leaves))
            },
            key,
        })
    }
}

impl<P: Tree<Array, With<Array> = P>, Y: Tree<Array, With<Array> = Y>> Function<P, Y, (Y, P)> {
    /// The results of a function and the cotangent of the argument for cotangents of the results, which take the place
    /// of the data.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (x, y_bar) = (tensor([1.0, 2.0]), tensor([1.0, 10.0]));
    /// let vjp = Function::vjp(|x| x.square(), &x);
    /// assert_eq!(vjp.run_with(&x, &y_bar)?, (tensor([1.0, 4.0]), tensor([2.0, 40.0])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn vjp<Z: Tree<Term, With<Array> = Y>>(f: impl Fn(&P::With<Term>) -> Z, x: &P) -> Self {
        Function::vjp_of(|x, _: &()| f(x), x, &(), |y| key(&|v| x.visit(v), &|v| y.visit(v)))
    }
}

impl<P, Q, Y> Function<P, (Y, Q), (Y, P)>
where
    P: Tree<Array, With<Array> = P>,
    Q: Tree<Array>,
    Y: Tree<Array, With<Array> = Y>,
{
    /// [`vjp`](Function::vjp) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x, y_bar) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]), tensor([1.0, 10.0]));
    /// let vjp = Function::vjp_with(|w, x| w * x, &w, &x);
    /// assert_eq!(vjp.run_with(&w, &(y_bar, x))?.1, tensor([3.0, 40.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn vjp_with<Z: Tree<Term, With<Array> = Y>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Self {
        let all = |y: &Y| key(&|v| x.visit(v), &|v| pair(&|v| y.visit(v), &|v| data.visit(v), v));
        Function::vjp_of(f, x, data, all)
    }
}
