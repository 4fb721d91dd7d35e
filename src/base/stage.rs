//! Staging: the interpreter at which the programs of an instance are recorded, and how they are recorded.
//!
//! Law: tracing changes no value of a program.

use super::BaseTensor;
use crate::program::Program;
use crate::rewrite::Options;

/// A program over a list of values, at the interpreter where `T` traces.
pub type Traced<'a, T> = &'a mut dyn FnMut(&[<T as Staging>::Trace]) -> Vec<<T as Staging>::Trace>;

/// A program, and the captured values, which are its last inputs.
pub type Recorded<T> = (Program, Vec<T>);

/// How programs of an interpreter are recorded, for the verbs.
///
/// An interpreter that neither records programs nor passes them on has itself as [`Trace`](Self::Trace), and a
/// [`trace`](Self::trace) that runs the program: `f(inputs)`.
pub trait Staging: Sized {
    /// The interpreter at which the plain verbs run their program: an interpreter that records the program if values
    /// are known numbers, and this interpreter if a program is being traced or differentiated already.
    type Trace: BaseTensor + Enter<Self>;

    /// The results of `f` on these values, by way of [`Trace`](Self::Trace): if that is another interpreter, the
    /// program is recorded, optimized with these options and run.
    ///
    /// # Panics
    /// When `f` looks at values that are not known while it is recorded, or a variable escapes from it.
    #[track_caller]
    fn trace(inputs: &[Self], options: Options, f: Traced<'_, Self>) -> Vec<Self>;

    /// The optimized program of `f` at inputs of a [`trace`](Self::trace), and the captured values, if the trace
    /// records a program. The plain verbs differentiate this program, so the derivative is that of an optimized
    /// program.
    fn recorded(inputs: &[Self::Trace], f: Traced<'_, Self>) -> Option<Recorded<Self::Trace>> {
        Self::Trace::staged(inputs, f)
    }

    /// The optimized program of a function of values of these shapes and element types, and the captured values, if
    /// this interpreter records programs and `f` does not depend on other values that are being differentiated.
    fn staged(_inputs: &[Self], _f: &mut dyn FnMut(&[Self]) -> Vec<Self>) -> Option<Recorded<Self>> {
        None
    }

    /// Whether a loop with a condition and a bound runs all its trips, even if known numbers determine its end: in the
    /// body of a loop that is being recorded, all trips must record the same residuals.
    #[doc(hidden)]
    fn runs_all_trips() -> bool {
        false
    }

    /// Whether operations are recorded. Then numbers that depend on inputs are unknown (other numbers may be known, and
    /// [`peek`](super::Report::peek) shows them), and operations that the host language repeats are recorded as often
    /// as they run.
    #[doc(hidden)]
    fn records() -> bool {
        false
    }
}

/// A value of `T` as a constant of the interpreter at which `T` [traces](Staging::Trace): of `T` itself, or of one
/// that records.
#[diagnostic::on_unimplemented(
    message = "values of `{T}` do not enter `{Self}`",
    label = "no level at which programs of `{T}` are traced",
    note = "a value enters the levels above its own, those of the functions that the verbs run: `.lift()` goes up, and never down"
)]
pub trait Enter<T>: BaseTensor {
    /// `t` as a constant here.
    fn enter(t: T) -> Self;
}

impl<T: BaseTensor> Enter<T> for T {
    fn enter(t: T) -> T {
        t
    }
}
