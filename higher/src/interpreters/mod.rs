//! Instances of the higher-order language ([`crate`]), over tensors of any interpreter.
//!
//! * [`Val`], [`Lin`] and [`Bag`], values, linear functions and copowers;
//! * [`Run`], evaluation;
//! * [`chad`], differentiation over any target with linear functions;
//! * [`curry`], differentiation in which functions have tangents;
//! * `differential`, derivatives of functions as terms, at values with levels ([`Tower`]);
//! * [`optic`], differentiation by optics, to any order;
//! * [`Syntax`], the text of a program, and [`Lambda`], as a term that is simplified, printed and run;
//! * [`tallied`], a count of the operations of linear functions.
//!
//! Law: no instance names an interpreter of tensors, nor an interpreter an instance. A transformation of programs is
//! generic in its target.

#![allow(clippy::type_complexity, reason = "the type of a program is its typing rule")]

use polygrad::base::BaseTensor;
use polygrad::interpreters::Tower;
use polygrad::interpreters::tower::{ForwardLevel, ReverseLevel};
use polygrad::seam::{ArrayCotangent, Scattered, ScatteredRows, UNBOUNDED};

use crate::{Arrays, Obj};

mod access;
mod accumulators;
pub mod chad;
mod choice;
mod compositions;
mod copower;
mod counter;
pub mod curry;
mod decisions;
mod differential;
pub mod erased;
pub mod lambda;
mod linear;
mod loops;
mod machine;
pub mod optic;
mod parts;
mod primitives;
mod recorded;
mod recorded_recursion;
mod recursion;
mod run;
mod stacks;
mod syntax;
mod untyped;
mod value;

pub use crate::shared::Shared;
pub use chad::{Booleans, Dependency, Derivatives, Forward, Generators, Reverse};
pub use counter::{Tally, tallied};
pub use curry::{Curry, CurryClosures, CurryLists};
pub(crate) use differential::misfit;
pub use erased::Erased;
pub use lambda::Lambda;
pub use machine::with_call_memory;
pub use optic::{ReverseOptic, Wires};
pub use recorded_recursion::with_recorded_calls;
pub use run::{Morphism, Run};
pub use syntax::{Code, Syntax};
pub use value::{AnyMonoid, Bag, Closure, Lin, Mode, Val};

use primitives::{Tangents, pull_needed, pull_primitive, push_primitive};

/// An instance of reverse mode: a morphism gives a value, and a pullback of cotangents.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{Backward, CurryLists, Reverse, Run};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
/// fn cube<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at() * x.at())
/// }
/// /// The slope at 2, by any instance of reverse mode.
/// fn slope<C: Backward<Array>>() -> f64 {
///     higher::value_and_grad_by(cube::<C>(), &tensor(2.0)).1.item()
/// }
/// assert_eq!((slope::<Reverse<Run<Array>>>(), slope::<CurryLists<Array>>()), (12.0, 12.0));
/// ```
pub trait Backward<T: BaseTensor>: Arrays {
    /// The value at an argument, paired with its pullback.
    ///
    /// ```
    /// use polygrad::interpreters::Tower;
    /// use polygrad::{Array, BaseTensor};
    /// use polygrad_higher::interpreters::{Backward, CurryClosures, Val};
    /// use polygrad_higher::{Arrays, Expr, Fun, Language, Many, Real, Vector, fun1, lam};
    /// type C = CurryClosures<Array>;
    /// fn square<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| x.at() * x.at())
    /// }
    /// fn scale<C: Language>() -> Expr<C, Real, Fun<Real, Real>> {
    ///     fun1(|x| lam(|z| x.at() * z.at()))
    /// }
    /// fn scales<C: Arrays>() -> Expr<C, Vector, Many<Fun<Real, Real>>> {
    ///     fun1(|xs| xs.at().map(lam(|x| lam(|z| x.at() * z.at()))))
    /// }
    /// let leaf = |x: Array| Val::Leaf(Tower::constant(x));
    /// let ran = C::pulled(&square::<C>().hom(), leaf(Array::scalar(3.0)));
    /// assert_eq!(ran.to_string(), "(9.0, linear function)");
    /// // A number and a `Lin`; a `Closure`; a `FunctionArray`.
    /// assert!(matches!(&ran, Val::Pair(both) if matches!(**both, (Val::Leaf(_), Val::Lin(_)))));
    /// let ran = C::pulled(&scale::<C>().hom(), leaf(Array::scalar(3.0)));
    /// assert!(matches!(&ran, Val::Pair(both) if matches!(both.0, Val::Fun(_))));
    /// let ran = C::pulled(&scales::<C>().hom(), leaf(Array::from([1.0, 2.0])));
    /// assert!(matches!(&ran, Val::Pair(both) if matches!(both.0, Val::Many(_))));
    /// ```
    fn pulled<A: Obj, B: Obj>(program: &Self::Hom<A, B>, x: Val<Tower<T>>) -> Val<Tower<T>>;
}

impl<T: BaseTensor> Backward<T> for Reverse<Run<T>> {
    fn pulled<A: Obj, B: Obj>(program: &Self::Hom<A, B>, x: Val<Tower<T>>) -> Val<Tower<T>> {
        program.at(x)
    }
}

impl<T: BaseTensor, K: curry::FunctionTangent> Backward<T> for Curry<T, K> {
    fn pulled<A: Obj, B: Obj>(program: &Self::Hom<A, B>, x: Val<Tower<T>>) -> Val<Tower<T>> {
        program.at(x)
    }
}
