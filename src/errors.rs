//! Errors print their words: by `Display`, and by `Debug`, which is what `unwrap` and a `main` that returns an error print.
//!
//! Law: `Debug` of every error type is its `Display`.

/// Implements `Debug` of error types by their `Display`.
macro_rules! debug_by_display {
    ($($Error:ty),+) => { $(
        /// Like [`Display`](std::fmt::Display), so that `unwrap`, tests and a `main` that returns the error print the
        /// sentence.
        impl std::fmt::Debug for $Error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+ };
}

pub(crate) use debug_by_display;

/// The rule of an operation, which the builder and each interpreter ask first, refuses other operands with an error of its
/// user. What runs operations needs no second message for them.
#[cold]
pub(crate) fn refused_by_rule(what: impl std::fmt::Display) -> ! {
    unreachable!("the rule of an operation has let {what} pass")
}
