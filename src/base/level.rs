//! Levels of nested differentiation: types keep the levels apart, and a value is lifted from a lower to a higher one.
//!
//! Law: no operation has operands of two levels. A value is lifted to a higher level by [`Lift`], and never lowered.

use std::marker::PhantomData;

use super::BaseTensor;
use crate::program::Term;

/// The distance to the level directly above, see [`Lift`].
///
/// Example: [`Distance`].
#[derive(Clone, Copy, Debug)]
pub struct Next;

/// The distance to the level above the one at the distance `I`, see [`Lift`].
///
/// Example: [`Distance`].
#[derive(Clone, Copy, Debug)]
pub struct Beyond<I>(PhantomData<I>);

/// The distance from any level to that of the programs that are recorded, see [`Lift`].
///
/// ```
/// use polygrad::base::{IntoProgram, Lift};
/// use polygrad::program::Term;
/// use polygrad::{Array, Concrete};
/// // A known number is a constant of the program.
/// let term = <Term as Lift<Concrete, IntoProgram>>::lift(Array::scalar(2.0));
/// assert_eq!(term.as_constant(), Some(&Array::scalar(2.0)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IntoProgram;

/// A distance between two levels of dual numbers, see [`Lift`].
///
/// ```
/// use polygrad::base::{Beyond, Distance, Lift, Next, Report};
/// use polygrad::{Array, Concrete, Dual};
/// /// Any value of a lower level of dual numbers.
/// fn raised<T, U: Lift<T, I>, I: Distance>(x: T) -> U {
///     U::lift(x)
/// }
/// let x: Dual<Dual<Concrete>> = raised::<_, _, Beyond<Next>>(Array::scalar(2.0));
/// assert_eq!(x.peek(), Some(Array::scalar(2.0)));
/// ```
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
///
/// ```
/// use polygrad::{Tensor, direct, tensor};
/// // The inner derivative, in `y`, takes `x` from the outer level: of `x y^2` this is `2 x y`, at `y = 3`.
/// let slope = |x: &Tensor<_, 0>| direct::grad(|y| x.lift() * y.square(), &tensor(3.0).lift());
/// assert_eq!(direct::grad(slope, &tensor(5.0)), tensor(6.0));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a level above `{T}`",
    label = "values of `{T}` cannot be lifted to this level",
    note = "a value is lifted from outside a function that a verb runs into that function; `lift` never goes down"
)]
pub trait Lift<T, I = Next>: BaseTensor {
    /// `t` as a constant of this level.
    ///
    /// Example: [`Lift`].
    #[track_caller]
    fn lift(t: T) -> Self;
}

impl<T: BaseTensor> Lift<T, IntoProgram> for Term {
    fn lift(t: T) -> Term {
        t.recorded()
    }
}

/// `T: Level<U>` says that `T` and `U` are one level: all operands of an operation are tensors of one level.
///
/// ```
/// use polygrad::base::Level;
/// use polygrad::{BaseTensor, Tensor, tensor};
/// /// The operands of an operation: a tensor of `T`, and one whose type says that it is of the same level.
/// fn total<T: Level<U>, U: BaseTensor>(x: &Tensor<T, 1>, y: &Tensor<U, 1>) -> Tensor<T, 1> {
///     x + Tensor::<T, 1>::from_raw(T::level(y.raw()).clone())
/// }
/// assert_eq!(total(&tensor([1.0]), &tensor([2.0])), tensor([3.0]));
/// ```
#[diagnostic::on_unimplemented(
    message = "a tensor of another level is used here: `{U}` with `{Self}`",
    label = "a tensor of the level `{Self}` is needed here",
    note = "a tensor captured from outside the function: `.lift()` it; if it is a tensor of known numbers, write `Tensor::constant(&x)`; \
            or pass it as data to the form of the verb with data, such as `grad_with`",
    note = "`Array` is the level of known numbers; `Term` is that of the functions that the verbs record"
)]
pub trait Level<U>: BaseTensor {
    /// The value, which is a value of this level.
    ///
    /// Example: [`Level`].
    fn level(u: &U) -> &Self;
}

impl<T: BaseTensor> Level<T> for T {
    fn level(u: &T) -> &T {
        u
    }
}
