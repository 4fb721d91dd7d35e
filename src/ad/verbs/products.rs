//! Products with derivatives: of a cotangent with a Jacobian, of a Jacobian with a tangent, of a Hessian with a direction.

use super::adaptors::{ResultTemplate, plain};
use super::table::{Home, Verb};
use crate::ad::differentiate::evaluate::VerbPasses;
use crate::ad::differentiate::record::{OfBoth, recorded};
use crate::ad::differentiate::sweep::Pullback;
use crate::ad::differentiate::transformation::Transformation;
use crate::ad::direct::one_tangent_each;
use crate::ad::function::{Function, Jit, key_of, key_of_both, paths, record};
use crate::ad::linear_map::LinearMap;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::interpreters::adval::Fault;
use crate::interpreters::dual::fits;
use crate::passes::optimize_with;
use crate::program::{Slot, Term};
use crate::shape::Show;
use crate::tensor::Tensor;
use crate::tree::Tree;

forms! {
    data of T as Q::With<Term>;

    /// The value of a function and its pullback.
    ///
    /// `vjp : (P -> Y) -> P -> (Y, Y -o P)`. The pullback maps a cotangent of the value, a tree of the same structure, to
    /// the cotangent of `x`. `f` is recorded and run once; its derivative at `x` is a linear program, and each call of the
    /// pullback runs that program.
    ///
    /// # Panics
    /// When `f` looks at values. The pullback panics when a leaf of its argument differs in shape or element type from that
    /// of the value.
    ///
    /// ```
    /// use polygrad::{Tensor, tensor, vjp};
    /// let x = tensor([1.0, 2.0]);
    /// let (y, pullback) = vjp(|x| x.square(), &x);
    /// assert_eq!((y, pullback(&tensor([1.0, 0.5]))), (tensor([1.0, 4.0]), tensor([2.0, 2.0])));
    /// ```
    #[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
    vjp,
    /// [`vjp`] of a function that also takes `data` that is not differentiated.
    ///
    /// ```
    /// use polygrad::{tensor, vjp_with};
    /// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
    /// let (y, pullback) = vjp_with(|w, x| w * x, &w, &x);
    /// assert_eq!((y, pullback(&tensor([1.0, 10.0]))), (tensor([8.0, 15.0]), tensor([4.0, 50.0])));
    /// ```
    #[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
    vjp_with ['a, T: BaseTensor, P: Tree<T>,] [Y: Tree<Term>] []
        (f: (P::With<Term>) -> Y, x: &'a P; data) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
    {
        vjp_of(f, x, data)
    }
}

/// [`vjp_with`].
#[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
#[track_caller]
fn vjp_of<'a, T, P, Q, Y>(
    f: OfBoth<'_, T, Term, P, Q, Y>,
    x: &'a P,
    data: &Q,
) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    let (program, y) = recorded("vjp", f, x, data);
    let count = y.leaves().len();
    let passes = VerbPasses::at::<T>();
    let ready = optimize_with(&program.program, passes.before);
    let Pullback { primal, linear } = match Pullback::of(&ready, program.count) {
        Ok(pullback) => pullback,
        Err(fault) => panic!("{fault}"),
    };
    let mut values = program.evaluated::<Fault>(Ok(optimize_with(&primal, passes.after)), Vec::new());
    let residuals = values.split_off(count);
    let (linear, results) = (optimize_with(&linear, passes.after), ready.outputs().to_vec());
    let pullback = move |y_bar: &Y::With<T>| {
        let mut inputs = y_bar.leaves();
        let kinds: Vec<(&[usize], DType)> = results.iter().map(|slot: &Slot| (&slot.shape[..], slot.dtype)).collect();
        Fault::of_cotangents(&kinds, &inputs)?;
        inputs.extend(residuals.iter().cloned());
        Ok::<_, Fault>(x.with_leaves(T::evaluated(&linear, inputs)))
    };
    (y.with_leaves(values), LinearMap::new(pullback))
}

verbs! {
    vjp, vjp_with: "`(y, y_bar -> x_bar)`: cotangents, by reverse mode", also [Direct, Symbolic, Higher];
    (P::With<Term>) -> Z, Transformation::Vjp;
    plain {};
    staged [P: Tree<Array, With<Array> = P>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] []
        (x: P) {[Y] &r.like(y)} -> (Y, P);
    |y, r| (r.like(y), r.like(x)), named paths(x, "x_bar");
    example "|x: &Tensor<_, 1>| x.square()", "", "(x, v)" = "(tensor([1.0, 2.0]), tensor([1.0, 10.0]))" =>
            "(tensor([1.0, 4.0]), tensor([2.0, 40.0]))",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a", "tensor([10.0, 100.0])" =>
            "(tensor([10.0, 400.0]), tensor([20.0, 4000.0]))";

    /// The value of a function and its directional derivative along `x_dot`, forward mode.
    ///
    /// `jvp : (P -> Y) -> (P, P) -> (Y, Y)`. The values of leaves of `x_dot` at integers and masks are ignored.
    ///
    /// # Panics
    /// When a leaf of `x_dot` differs in shape or element type from that of `x`, or `f` looks at values.
    jvp, jvp_with: "`(y, y_dot)` for a tangent `x_dot`, by forward mode", also [Direct, Symbolic, Higher];
    (P::With<Term>) -> Z, Transformation::Jvp;
    plain {
        [T: BaseTensor, P: Tree<T>,] [Z: Tree<Term>] [] (x: P, x_dot: P as tangent(x, x_dot)) -> (Z::With<T>, Z::With<T>)
    };
    staged [P: Tree<Array>, Y: Tree<Array, With<Array> = Y>] [Z: Tree<Term, With<Array> = Y>] []
        (x: P) {[P] x} -> (Y, Y);
    |y, r| (r.like(y), r.like(y)), named Vec::new();
    example "|x: &Tensor<_, 1>| x.square()", "", "(x, v)" = "(tensor([1.0, 2.0]), tensor([1.0, 10.0]))" =>
            "(tensor([1.0, 4.0]), tensor([2.0, 40.0]))",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a", "tensor([10.0, 100.0])" =>
            "(tensor([10.0, 400.0]), tensor([20.0, 4000.0]))";

    /// The product `H v` of the Hessian of a scalar function and a direction, without computing `H`; forward over reverse.
    ///
    /// # Panics
    /// When a leaf of `v` differs in shape or element type from that of `x`.
    hvp, hvp_with: "the Hessian of a scalar function times a direction", also [Higher];
    (P::With<Term>) -> Tensor<Term, 0, E>, Transformation::Hvp;
    plain {[T: BaseTensor, P: Tree<T>,] [E: Float] [] (x: P, v: P as direction(x, v)) -> P::With<T>};
    staged [P: Tree<Array, With<Array> = P>] [E: Float] [] (x: P) {[P] x} -> P;
    |y, r| r.like(x), named paths(x, "hvp");
    example "|x: &Tensor<_, 1>| x.powi(3).sum()", "", "(x, v)" = "(tensor([1.0, 2.0]), tensor([1.0, 10.0]))" =>
            "tensor([6.0, 120.0])",
        with "|x: &Tensor<_, 1>, a: &Tensor<_, 1>| (x.square() * a).sum()", "tensor([10.0, 100.0])" =>
            "tensor([20.0, 2000.0])";
}

/// The leaves of a tangent.
#[track_caller]
fn tangent<T: BaseTensor, P: Tree<T>>(x: &P, x_dot: &P) -> Vec<T> {
    let (primals, tangents) = (x.leaves(), x_dot.leaves());
    one_tangent_each(primals.len(), tangents.len());
    for (primal, tangent) in primals.iter().zip(&tangents) {
        fits(primal, tangent);
    }
    tangents
}

/// The leaves of a direction.
#[track_caller]
fn direction<T: BaseTensor, P: Tree<T>>(x: &P, v: &P) -> Vec<T> {
    let direction = v.leaves();
    check_direction(&x.leaves(), &direction);
    direction
}

/// Panics unless the leaves of a direction agree with those of the argument in number, shapes and element types.
#[track_caller]
fn check_direction<T: BaseTensor>(x: &[T], v: &[T]) {
    if x.len() != v.len() {
        panic!(
            "hvp: the direction must have a leaf for each of the argument, but they have {} and {}; map the argument to it",
            v.len(),
            x.len()
        );
    }
    for (x, v) in x.iter().zip(v) {
        if x.shape() != v.shape() || x.dtype() != v.dtype() {
            panic!(
                "hvp: the direction must have the shape and element type of the argument, but the argument is {} {} and the direction \
                 {} {}; map the argument to it",
                x.dtype(),
                Show(x.shape()),
                v.dtype(),
                Show(v.shape())
            );
        }
    }
}
