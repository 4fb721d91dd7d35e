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
