//! The constructors of [`Function`]: what is recorded, and which derivative of it.

use super::derived::Derived;
use super::{Function, Parts, Shown, both};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::{Program, Term};
use crate::tensor::{Plus, Rank, Tensor};
use crate::tree::{Key, Step, Tree, Visitor};

/// A function recorded for some arguments and data.
struct Recorded<Z> {
    program: Program,
    /// The number of inputs that are arguments.
    count: usize,
    results: Z,
}

/// Records `f` for arguments and data like these, whose numbers do not matter.
#[track_caller]
fn record<P, Q, Z>(f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z, x: &P, data: &Q) -> Recorded<Z>
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Z: Tree<Term>,
{
    let variables = |leaves: Vec<Array>| leaves.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
    let (leaves, constants): (Vec<Term>, Vec<Term>) = (variables(x.leaves()), variables(data.leaves()));
    let results = f(&x.with_leaves(leaves.clone()), &data.with_leaves(constants.clone()));
    let mut names = Vec::new();
    x.paths("x", &mut names);
    data.paths("data", &mut names);
    let count = leaves.len();
    let inputs: Vec<Term> = leaves.into_iter().chain(constants).collect();
    match Term::program(&inputs, &results.leaves(), &names) {
        Ok(program) => Recorded { program, count, results },
        Err(message) => panic!("{message}"),
    }
}

/// Zeros in the structure of recorded results.
fn zeros<Z: Tree<Term>>(results: &Z) -> Z::With<Array> {
    results.map(&mut |t| Array::zeros(t.shape(), t.dtype()))
}

/// Zeros in the structure of an argument.
fn zeros_like<P: Tree<Array>>(x: &P) -> P::With<Array> {
    x.map(&mut |a| Array::zeros(a.shape(), a.dtype()))
}

fn paths<P: Tree<Array>>(x: &P, root: &str) -> Vec<String> {
    let mut names = Vec::new();
    x.paths(root, &mut names);
    names
}

/// The key of a function of these arguments.
fn key(x: Shown<'_>, data: Shown<'_>) -> Key {
    Key::shown(|visitor: &mut dyn Visitor<Array>| both(x, data, visitor))
}

/// Shows two trees as the parts of a pair.
fn pair(a: Shown<'_>, b: Shown<'_>, visitor: &mut dyn Visitor<Array>) {
    for (k, part) in [a, b].into_iter().enumerate() {
        visitor.enter(Step::Item(k));
        part(visitor);
        visitor.leave();
    }
}

impl<P: Tree<Array>, Q: Tree<Array>, Y> Function<P, Q, Y> {
    /// A derivative of `f` that takes the arguments and the data of `f`, and whose structure does not depend on its results.
    #[track_caller]
    fn derived<Z: Tree<Term>>(
        derived: Derived,
        (f, x, data): (impl Fn(&P::With<Term>, &Q::With<Term>) -> Z, &P, &Q),
        names: Vec<String>,
        template: Y,
        assemble: fn(&Y, &P, Vec<Array>) -> Y,
    ) -> Self {
        let Recorded { program, count, .. } = record(f, x, data);
        let key = key(&|v| x.visit(v), &|v| data.visit(v));
        Function::of(Parts { derived, recorded: program, count, names, template, assemble, key })
    }
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
        let Recorded { program, count, results } = record(f, x, data);
        Function::of(Parts {
            derived: Derived::Value,
            recorded: program,
            count,
            names: Vec::new(),
            template: zeros(&results),
            assemble: |template, _, leaves| template.with_leaves(leaves),
            key: key(&|v| x.visit(v), &|v| data.visit(v)),
        })
    }
}

impl<P: Tree<Array>, Y: Tree<Array, With<Array> = Y>> Function<P, (), Y> {
    /// Records `f` for an argument like `x`, whose numbers do not matter.
    ///
    /// # Panics
    /// When `f` looks at values, or a variable of a loop escapes from it. The same holds for the other constructors.
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
    /// [`gradient`](Function::gradient) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let slope = Function::gradient_with(|w, x| w.dot(x), &w, &x);
    /// assert_eq!(slope.run_with(&w, &x)?, x);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn gradient_with<E: Float>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        let (derived, names) = (Derived::Gradient { value: false }, paths(x, "grad"));
        Function::derived(derived, (f, x, data), names, zeros_like(x), |_, x, leaves| x.with_leaves(leaves))
    }
}

impl<P: Tree<Array, With<Array> = P>> Function<P, (), P> {
    /// The gradient of a scalar function: a tree like `x`.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([3.0, 4.0]);
    /// let slope = Function::gradient(|x| x.square().sum(), &x);
    /// assert_eq!(slope.run(&x)?, tensor([6.0, 8.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn gradient<E: Float>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> Self {
        Function::gradient_with(|x, _: &()| f(x), x, &())
    }
}

impl<P, Q, E> Function<P, Q, (Tensor<Array, 0, E>, P)>
where
    P: Tree<Array, With<Array> = P>,
    Q: Tree<Array>,
    E: Float,
{
    /// [`value_and_gradient`](Function::value_and_gradient) of a function that also takes data that is not differentiated.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let step = Function::value_and_gradient_with(|w, x| w.dot(x), &w, &x);
    /// let (y, g) = step.run_with(&w, &x)?;
    /// assert_eq!((y.item(), g), (11.0, x));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_gradient_with(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        let names = [vec![String::from("value")], paths(x, "grad")].concat();
        let template = (Tensor::zeros([]), zeros_like(x));
        Function::derived(Derived::Gradient { value: true }, (f, x, data), names, template, |_, x, mut leaves| {
            let gradient = leaves.split_off(1);
            (Tensor::from_raw(leaves.remove(0)), x.with_leaves(gradient))
        })
    }
}

impl<P: Tree<Array, With<Array> = P>, E: Float> Function<P, (), (Tensor<Array, 0, E>, P)> {
    /// Value and gradient of a scalar function.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([3.0, 4.0]);
    /// let f = Function::value_and_gradient(|x| x.square().sum(), &x);
    /// let (y, g) = f.run(&x)?;
    /// assert_eq!((y.item(), g), (25.0, tensor([6.0, 8.0])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_gradient(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> Self {
        Function::value_and_gradient_with(|x, _: &()| f(x), x, &())
    }
}

/// A tensor of known numbers.
type Known<const D: usize, E> = Tensor<Array, D, E>;

impl<P: Tree<Array>, Q: Tree<Array>, E: Float, const R: usize> Function<P, Q, Known<R, E>> {
    /// A derivative that is one tensor.
    #[track_caller]
    fn of_tensor<Z: Tree<Term>>(
        derived: Derived,
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Self {
        Function::derived(derived, (f, x, data), Vec::new(), Tensor::zeros([0; R]), |_, _, mut leaves| {
            Tensor::from_raw(leaves.remove(0))
        })
    }
}

impl<Q: Tree<Array>, E: Float, const N: usize, const R: usize> Function<Known<N, E>, Q, Known<R, E>> {
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
        x: &Known<N, E>,
        data: &Q,
    ) -> Self
    where
        Rank<R>: Plus<M, N>,
    {
        Function::of_tensor(Derived::Jacobian { value: false }, f, x, data)
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
        x: &Known<N, E>,
        data: &Q,
    ) -> Self
    where
        Rank<R>: Plus<N, N>,
    {
        Function::of_tensor(Derived::Hessian, f, x, data)
    }
}

impl<E: Float, const N: usize, const R: usize> Function<Known<N, E>, (), Known<R, E>> {
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
    pub fn jacobian<const M: usize>(f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, M, E>, x: &Known<N, E>) -> Self
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
    pub fn hessian(f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, 0, E>, x: &Known<N, E>) -> Self
    where
        Rank<R>: Plus<N, N>,
    {
        Function::hessian_with(|x, _: &()| f(x), x, &())
    }
}

/// A value and its Jacobian.
type WithValue<const M: usize, const R: usize, E> = (Known<M, E>, Known<R, E>);

impl<Q, E, const N: usize, const M: usize, const R: usize> Function<Known<N, E>, Q, WithValue<M, R, E>>
where
    Q: Tree<Array>,
    E: Float,
    Rank<R>: Plus<M, N>,
{
    /// [`value_and_jacobian`](Function::value_and_jacobian) of a function that also takes data that is not differentiated.
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
        x: &Known<N, E>,
        data: &Q,
    ) -> Self {
        let template = (Tensor::zeros([0; M]), Tensor::zeros([0; R]));
        Function::derived(Derived::Jacobian { value: true }, (f, x, data), Vec::new(), template, |_, _, mut leaves| {
            (Tensor::from_raw(leaves.remove(0)), Tensor::from_raw(leaves.remove(0)))
        })
    }
}

impl<E, const N: usize, const M: usize, const R: usize> Function<Known<N, E>, (), WithValue<M, R, E>>
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
    pub fn value_and_jacobian(f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, M, E>, x: &Known<N, E>) -> Self {
        Function::value_and_jacobian_with(|x, _: &()| f(x), x, &())
    }
}

impl<P: Tree<Array>, Q: Tree<Array>> Function<P, Q, Known<2, f64>> {
    /// [`jacobian_matrix`](Function::jacobian_matrix) of a function that also takes data that is not differentiated.
    #[track_caller]
    pub fn jacobian_matrix_with<Z: Tree<Term>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Self {
        Function::of_tensor(Derived::JacobianMatrix, f, x, data)
    }

    /// [`hessian_matrix`](Function::hessian_matrix) of a function that also takes data that is not differentiated.
    #[track_caller]
    pub fn hessian_matrix_with<E: Float>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        Function::of_tensor(Derived::HessianMatrix, f, x, data)
    }
}

impl<P: Tree<Array>> Function<P, (), Known<2, f64>> {
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

impl<P: Tree<Array, With<Array> = P>, V> Function<P, V, P> {
    #[track_caller]
    fn hvp_of<Q: Tree<Array>, E: Float>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
        key: Key,
    ) -> Self {
        let Recorded { program, count, .. } = record(f, x, data);
        Function::of(Parts {
            derived: Derived::Hvp,
            recorded: program,
            count,
            names: paths(x, "hvp"),
            template: zeros_like(x),
            assemble: |_, x, leaves| x.with_leaves(leaves),
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
        let Recorded { program, count, results } = record(f, x, data);
        Function::of(Parts {
            derived: Derived::Jvp,
            recorded: program,
            count,
            names: Vec::new(),
            template: (zeros(&results), zeros(&results)),
            assemble: |(y, _), _, mut leaves| {
                let tangents = leaves.split_off(leaves.len() / 2);
                (y.with_leaves(leaves), y.with_leaves(tangents))
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
        let Recorded { program, count, results } = record(f, x, data);
        let y = zeros(&results);
        let key = key(&y);
        Function::of(Parts {
            derived: Derived::Vjp,
            recorded: program,
            count,
            names: paths(x, "x_bar"),
            template: (y, zeros_like(x)),
            assemble: |(y, _), x, mut leaves| {
                let cotangents = leaves.split_off(y.count());
                (y.with_leaves(leaves), x.with_leaves(cotangents))
            },
            key,
        })
    }
}

impl<P: Tree<Array, With<Array> = P>, Y: Tree<Array, With<Array> = Y>> Function<P, Y, (Y, P)> {
    /// The results of a function and the cotangent of the argument for cotangents of the results, which take the place of
    /// the data.
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
