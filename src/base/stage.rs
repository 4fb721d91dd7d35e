//! Staging: how values of an interpreter take part in the programs that verbs record.
//!
//! Law: a verb changes no value of a program. It records its function as a program of terms, and the interpreter at which
//! the verb is called evaluates the derivative program.

use super::BaseTensor;
use crate::program::{Program, Term, interpret};

/// How values of an interpreter enter the programs that the plain verbs record, and how such a program is evaluated.
///
/// The defaults are right for an interpreter that computes: a value that a recorded function captures is a further input
/// of the recorded program.
///
/// Example: [`Staging::recorded`].
pub trait Staging: Sized {
    /// The value as a term of a program that a verb records: a constant if its elements are known here, otherwise a
    /// variable that keeps the value.
    ///
    /// ```
    /// use polygrad::base::{Report, Staging};
    /// use polygrad::program::{Op, Term};
    /// use polygrad::{Array, Concrete, DType, Dual, Lift};
    /// // Numbers are constants, dual numbers are variables that stand for them.
    /// assert_eq!(Array::scalar(2.0).recorded().as_constant(), Some(&Array::scalar(2.0)));
    /// let x: Dual<Concrete> = Dual::lift(Array::scalar(2.0));
    /// let term = x.recorded();
    /// assert!(matches!(term.op(), Op::Input(_)));
    /// let found: Option<Dual<Concrete>> = Staging::captured(&term);
    /// assert_eq!(found.and_then(|x| x.peek()), Some(Array::scalar(2.0)));
    /// assert!(<Dual<Concrete>>::captured(&Term::variable(&[], DType::F64)).is_none());
    /// ```
    #[track_caller]
    fn recorded(self) -> Term
    where
        Self: BaseTensor,
    {
        Term::captured(self)
    }

    /// The value that a term stands for, which is an input of a recorded program; `None` for a variable of another
    /// function that is being recorded.
    ///
    /// By default these are the values of this interpreter. A function that is recorded may also lift values of the
    /// interpreter below: an interpreter over `T` says what they are here, by
    /// `term.captured_value().or_else(|| T::captured(term).map(..))`.
    ///
    /// Example: [`Staging::recorded`].
    fn captured(term: &Term) -> Option<Self>
    where
        Self: BaseTensor,
    {
        term.captured_value()
    }

    /// The results of a program that runs once.
    ///
    /// ```
    /// use polygrad::base::Staging;
    /// use polygrad::{Array, Concrete, Function, tensor};
    /// let f = Function::stage(|x| x.square() + 1.0, &tensor(1.0));
    /// assert_eq!(Concrete::evaluated(f.program(), vec![Array::scalar(3.0)]), [Array::scalar(10.0)]);
    /// ```
    #[track_caller]
    fn evaluated(program: &Program, inputs: Vec<Self>) -> Vec<Self>
    where
        Self: BaseTensor,
    {
        interpret(program, inputs)
    }

    /// Whether verbs leave programs as they are written, since this interpreter observes the operations of a program.
    ///
    /// ```
    /// use polygrad::base::Staging;
    /// use polygrad::interpreters::Transcript;
    /// use polygrad::program::Term;
    /// use polygrad::{Concrete, Dual};
    /// // A transcript shows the operations of the program that was written.
    /// assert!(Transcript::<Concrete>::observes() && !Concrete::observes());
    /// assert!(Concrete::runs_once() && !Term::runs_once());
    /// assert!(Term::records() && Dual::<Term>::records() && !Dual::<Concrete>::records());
    /// ```
    fn observes() -> bool {
        false
    }

    /// Whether a program that is evaluated here runs once, since it is not part of another program: values are known
    /// numbers.
    ///
    /// Example: [`Staging::observes`].
    fn runs_once() -> bool {
        false
    }

    /// Whether a loop with a condition and a bound runs all its trips, even if known numbers determine its end: in the
    /// body of a loop that is being recorded, all trips must record the same residuals. An interpreter over `T`
    /// forwards it.
    ///
    /// ```
    /// use polygrad::base::Staging;
    /// use polygrad::{BaseTensor, Concrete, Tensor, direct, fold, tensor};
    /// fn all_trips<T: BaseTensor>(_: &Tensor<T, 0>) -> bool {
    ///     T::runs_all_trips()
    /// }
    /// assert!(!Concrete::runs_all_trips());
    /// // In the body of a loop that reverse mode records.
    /// direct::grad(|x| fold(0.0, x, |s: Tensor<_, 0>, x| { assert!(all_trips(&s)); s + x }), &tensor([1.0, 2.0]));
    /// ```
    fn runs_all_trips() -> bool {
        false
    }

    /// Whether operations are recorded. Then numbers that depend on inputs are unknown (other numbers may be known, and
    /// [`peek`](super::Report::peek) shows them), and operations that the host language repeats are recorded as often
    /// as they run. An interpreter over `T` forwards it.
    ///
    /// Example: [`Staging::observes`].
    fn records() -> bool {
        false
    }
}

/// A value of `T` as a constant of an interpreter that another one is over: of `T` itself, or of terms if `T` is an array.
///
/// Example: [`Enter::enter`].
#[diagnostic::on_unimplemented(
    message = "values of `{T}` do not enter `{Self}`",
    label = "no level at which programs of `{T}` run",
    note = "a value enters the levels above its own, those of the functions that the verbs run: `.lift()` goes up, and never down"
)]
pub trait Enter<T>: BaseTensor {
    /// `t` as a constant here.
    ///
    /// ```
    /// use polygrad::base::Enter;
    /// use polygrad::program::Term;
    /// use polygrad::{Array, Concrete};
    /// // An array enters a program as a constant.
    /// let term = <Term as Enter<Concrete>>::enter(Array::scalar(2.0));
    /// assert_eq!(term.as_constant(), Some(&Array::scalar(2.0)));
    /// ```
    fn enter(t: T) -> Self;
}

impl<T: BaseTensor> Enter<T> for T {
    fn enter(t: T) -> T {
        t
    }
}
