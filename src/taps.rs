//! What taps do when they run: printed lines go to a sink, a failed check ends the run, a quiet run has neither.
//!
//! Law: the state belongs to a thread, and is restored when the function that has set it returns or panics. Taps run on
//! the thread that runs the program, so one sink sees all of them, in order.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use crate::array::Array;
use crate::ops::{FailedCheck, Tap};

/// A function that takes printed lines.
type Sink = Box<dyn FnMut(&str)>;

thread_local! {
    /// Where printed lines go; to the standard error stream without a sink.
    static SINK: RefCell<Option<Sink>> = const { RefCell::new(None) };
    /// Whether taps do nothing: a part of the program runs once more.
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// Whether a caller turns a failed check into an error.
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Restores a flag of the thread.
struct Restored(&'static std::thread::LocalKey<Cell<bool>>, bool);

impl Drop for Restored {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// Runs a function with this flag set.
fn flagged<R>(flag: &'static std::thread::LocalKey<Cell<bool>>, f: impl FnOnce() -> R) -> R {
    let _restored = Restored(flag, flag.replace(true));
    f()
}

/// Runs a part of a program once more: its taps do nothing, and are not recorded.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> R {
    flagged(&QUIET, f)
}

/// Whether taps do nothing.
pub(crate) fn is_quiet() -> bool {
    QUIET.get()
}

/// The result of a run, or the check that failed in it.
pub(crate) fn caught<R>(run: impl FnOnce() -> R) -> Result<R, Box<FailedCheck>> {
    // A run that panics leaves no state behind: see `backend/run/idle.rs`.
    catch_unwind(AssertUnwindSafe(|| flagged(&CAUGHT, run))).map_err(|payload: Box<dyn Any + Send>| {
        payload.downcast::<FailedCheck>().unwrap_or_else(|other| resume_unwind(other))
    })
}

/// Ends the run.
///
/// # Panics
/// With the message, unless a caller turns the failure into an error.
#[track_caller]
#[cold]
pub(crate) fn fail(failure: FailedCheck) -> ! {
    // Without unwinding nobody can catch the failure, so the message has to be printed.
    if CAUGHT.get() && cfg!(panic = "unwind") {
        resume_unwind(Box::new(failure))
    }
    panic!("{failure}")
}

/// Runs a tap on arrays.
///
/// # Panics
/// When a check does not hold.
#[track_caller]
pub(crate) fn run(tap: &Tap, args: &[Array]) {
    if is_quiet() {
        return;
    }
    if let Some(failure) = tap.failure(&args[0]) {
        fail(failure);
    }
    for line in tap.lines(args) {
        print(&line);
    }
}

fn print(line: &str) {
    // A program that the sink runs prints to the standard error stream.
    let sink = SINK.with(|sink| sink.borrow_mut().take());
    let Some(mut sink) = sink else {
        eprintln!("{line}");
        return;
    };
    sink(line);
    SINK.with(|now| *now.borrow_mut() = Some(sink));
}

/// Restores the sink of the thread.
struct Before(Option<Sink>);

impl Drop for Before {
    fn drop(&mut self) {
        let before = self.0.take();
        SINK.with(|sink| *sink.borrow_mut() = before);
    }
}

/// Runs a function whose taps print to a sink.
pub(crate) fn printing_to<R>(sink: impl FnMut(&str) + 'static, f: impl FnOnce() -> R) -> R {
    let _before = Before(SINK.with(|now| now.borrow_mut().replace(Box::new(sink))));
    f()
}

/// The state of a thread that a function takes to another thread.
#[derive(Clone, Copy)]
pub(crate) struct TapState {
    quiet: bool,
    caught: bool,
}

/// How a function ended, on whatever thread, and the lines that its taps have printed.
pub(crate) struct Ended<R> {
    lines: Vec<String>,
    result: std::thread::Result<R>,
}

impl TapState {
    /// That of the thread that calls.
    pub(crate) fn of_thread() -> TapState {
        TapState { quiet: QUIET.get(), caught: CAUGHT.get() }
    }

    /// Runs a function in this state; its lines are kept.
    pub(crate) fn run<R>(self, f: impl FnOnce() -> R) -> Ended<R> {
        let _quiet = Restored(&QUIET, QUIET.replace(self.quiet));
        let _caught = Restored(&CAUGHT, CAUGHT.replace(self.caught));
        let lines = Rc::new(RefCell::new(Vec::new()));
        let sink = lines.clone();
        let keep = move |line: &str| sink.borrow_mut().push(line.to_owned());
        let result = catch_unwind(AssertUnwindSafe(|| printing_to(keep, f)));
        Ended { lines: lines.take(), result }
    }
}

impl<R> Ended<R> {
    /// Prints the lines where the thread that calls prints, and gives the result or the panic.
    pub(crate) fn result(self) -> std::thread::Result<R> {
        for line in &self.lines {
            print(line);
        }
        self.result
    }
}
