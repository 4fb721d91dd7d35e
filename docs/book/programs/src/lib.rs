//! The programs of the book, each a function that runs it. `build.rs` takes them from the pages.
//!
//! Law: a program prints into a text, which `tests/pages.rs` compares with that of its page.

use std::cell::RefCell;
use std::fmt;

thread_local! {
    static PRINTED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Prints for the program that runs on this thread.
#[doc(hidden)]
pub fn print(what: fmt::Arguments<'_>) {
    use fmt::Write;
    PRINTED.with_borrow_mut(|text| text.write_fmt(what).expect("a text grows"));
}

/// What the program on this thread has printed since the last call.
pub fn printed() -> String {
    PRINTED.take()
}

/// A program of a page.
#[derive(Debug)]
pub struct Program {
    /// The page, below `docs`.
    pub page: &'static str,
    /// The line of its first line in the page.
    pub line: usize,
    /// The lines that stand before its first one where it is compiled.
    pub wrapped: usize,
    /// Whether it must panic.
    pub panics: bool,
    /// Runs it.
    pub run: fn() -> Result<(), String>,
    /// What the page says it prints.
    pub output: Option<&'static str>,
}

/// What the main function of a program returns.
trait Outcome {
    fn done(self) -> Result<(), String>;
}

impl Outcome for () {
    fn done(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: fmt::Display> Outcome for Result<(), E> {
    fn done(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// The programs print with these, not with those of the standard library.
macro_rules! println {
    ($($what:tt)*) => {
        $crate::print(format_args!("{}\n", format_args!($($what)*)))
    };
}
#[allow(unused_macros, reason = "no page may need it")]
macro_rules! print {
    ($($what:tt)*) => {
        $crate::print(format_args!($($what)*))
    };
}

#[allow(dead_code, unused, unreachable_pub, missing_docs, clippy::all, reason = "programs for readers, in wrappers")]
mod programs {
    use crate::{Outcome, Program};

    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}

pub use programs::PROGRAMS;
