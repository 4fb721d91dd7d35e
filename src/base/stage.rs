//! Staging: the interpreter at which the programs of an instance are recorded, and how.
//!
//! Law: a traced program has the values that it has without a trace.

use super::BaseTensor;
use crate::program::Program;
use crate::rewrite::Options;

/// A program over a list of values, at the interpreter where `T` traces.
pub type Traced<'a, T> = &'a mut dyn FnMut(&[<T as Staging>::Trace]) -> Vec<<T as Staging>::Trace>;

/// A program, and the values that it captures: its last inputs.
pub type Recorded<T> = (Program, Vec<T>);

/// How programs of an interpreter are recorded: what the verbs ask of it.
///
/// An interpreter that neither records nor hands its programs on has itself as [`Trace`](Self::Trace), and a
/// [`trace`](Self::trace) that runs the program: `f(inputs)`.
pub trait Staging: Sized {
    /// The interpreter at which the plain verbs run their program: one that records the program if values are known
    /// numbers, this one if a program is being traced or differentiated already.
    type Trace: BaseTensor + Enter<Self>;

    /// The results of `f` on these values, by way of [`Trace`](Self::Trace): if that is another interpreter, the
    /// program is recorded, optimized with these options and run.
    ///
    /// # Panics
    /// When `f` looks at values that are not known while it is recorded, or a variable escapes from it.
    #[track_caller]
    fn trace(inputs: &[Self], options: Options, f: Traced<'_, Self>) -> Vec<Self>;

    /// The optimized program of `f` at inputs of a [`trace`](Self::trace), and the values it captures, if the trace
    /// records a program. The plain verbs differentiate this program, so the derivative is that of an optimized
    /// program.
    fn recorded(inputs: &[Self::Trace], f: Traced<'_, Self>) -> Option<Recorded<Self::Trace>> {
        Self::Trace::staged(inputs, f)
    }

    /// The optimized program of a function of values like these, and the values it captures, if this interpreter
    /// records programs and `f` does not depend on other values that are being differentiated.
    fn staged(_inputs: &[Self], _f: &mut dyn FnMut(&[Self]) -> Vec<Self>) -> Option<Recorded<Self>> {
        None
    }

    /// Whether a loop with a bound runs as many trips as there can be, even where numbers say when it ends: the trips of a
    /// loop around it that is being recorded must leave as much behind as each other.
    #[doc(hidden)]
    fn runs_all_trips() -> bool {
        false
    }

    /// Whether operations are recorded: numbers that depend on inputs are unknown, whatever [`peek`](Self::peek) shows of
    /// others, and what the host language repeats stands in the recorded program as often.
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
