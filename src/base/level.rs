//! Levels of nested differentiation: types keep the levels apart, and a value is lifted from a lower to a higher one.
//!
//! Law: no operation has operands of two levels. A value is lifted to a higher level by [`Lift`], and never lowered.

use std::marker::PhantomData;

use super::BaseTensor;
use crate::program::Term;

/// The distance to the level directly above, see [`Lift`].
#[derive(Clone, Copy, Debug)]
pub struct Next;

/// The distance to the level above the one at the distance `I`, see [`Lift`].
#[derive(Clone, Copy, Debug)]
pub struct Beyond<I>(PhantomData<I>);

/// The distance from any level to that of the programs that are recorded, see [`Lift`].
#[derive(Clone, Copy, Debug)]
pub struct IntoProgram;

/// A distance between two levels of dual numbers, see [`Lift`].
pub trait Distance {}

impl Distance for Next {}
impl<I> Distance for Beyond<I> {}

/// A tensor of a lower level as a constant of a level above.
///
/// A program that differentiates inside a program has two levels; a value of the outer level enters the inner level
/// through [`Tensor::lift`](crate::Tensor::lift). Operands of two levels in one operation are a type error.
///
/// `I` is the distance between the levels, which rustc infers: an interpreter over `U` lifts the values that enter `U`
/// ([`Next`]), and the values that `U` itself can lift ([`Beyond`]). Values of every interpreter enter the programs that
/// the plain verbs record ([`IntoProgram`]): known numbers as constants, and others as further inputs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a level above `{T}`",
    label = "values of `{T}` cannot be lifted to this level",
    note = "a value is lifted from outside of a function that a verb runs to the inside of it; `lift` never goes down"
)]
pub trait Lift<T, I = Next>: BaseTensor {
    /// `t` as a constant of this level.
    #[track_caller]
    fn lift(t: T) -> Self;
}

impl<T: BaseTensor> Lift<T, IntoProgram> for Term {
    fn lift(t: T) -> Term {
        t.recorded()
    }
}

/// `T: Level<U>` says that `T` and `U` are one level: all operands of an operation are tensors of one level.
#[diagnostic::on_unimplemented(
    message = "a tensor of another level stands here: `{U}` beside `{Self}`",
    label = "a tensor of the level `{Self}` is needed here",
    note = "a tensor captured from outside of the function: `.lift()` it; if it is a tensor of known numbers, write `Tensor::constant(&x)`; \
            or pass it as data to the form of the verb with data, such as `grad_with`"
)]
pub trait Level<U>: BaseTensor {
    /// The value, which is a value of this level.
    fn level(u: &U) -> &Self;
}

impl<T: BaseTensor> Level<T> for T {
    fn level(u: &T) -> &T {
        u
    }
}
