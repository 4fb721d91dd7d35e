//! The problems: inputs and outputs in JSON, functions by name, and the recorded programs of each.

use serde_json::value::{RawValue, to_raw_value};

use crate::json::Nested;
use crate::runs::Prepared;

mod descents;
mod models;
mod scenes;
mod sizes;
mod vectors;

/// A problem, with what was recorded for it so far.
pub(crate) trait Problem {
    /// The function of this name, ready to run on an input; `None` if there is no such function.
    fn prepare(&self, function: &str, input: &RawValue) -> Option<Prepared>;
}

/// The problem of this name, if there is one.
pub(crate) fn problem(name: &str) -> Option<Box<dyn Problem>> {
    Some(match name {
        "hello" => Box::new(vectors::Hello::new()),
        "llsq" => Box::new(vectors::Llsq::new()),
        "lse" => Box::new(vectors::Lse::new()),
        "det" => Box::new(vectors::Det::new()),
        "ode" => Box::new(vectors::Ode::new()),
        "kmeans" => Box::new(models::Kmeans::new()),
        "gmm" => Box::new(models::Gmm::new()),
        "lstm" => Box::new(models::Lstm::new()),
        "ba" => Box::new(scenes::Ba::new()),
        "ht" => Box::new(scenes::Ht::new()),
        "particle" => Box::new(descents::Particle::new()),
        "saddle" => Box::new(descents::Saddle::new()),
        _ => return None,
    })
}

/// A problem whose functions all take the same input: its struct of recorded functions, how the input becomes arguments and data, and each
/// function with how its results are written.
macro_rules! functions {
    (
        $(#[$doc:meta])* $name:ident($input:ty) of $x:ty, $data:ty;
        $read:expr;
        $($function:ident: $record:expr => $result:ty, $write:expr;)*
    ) => {
        $(#[$doc])*
        pub(super) struct $name {
            $($function: polygrad::Jit<$x, $data, $result>,)*
        }

        impl $name {
            pub(super) fn new() -> $name {
                $name { $($function: $record.keeping(usize::MAX),)* }
            }
        }

        impl super::Problem for $name {
            fn prepare(&self, function: &str, input: &serde_json::value::RawValue) -> Option<crate::runs::Prepared> {
                let read = |input| crate::json::read::<$input>(input).and_then($read);
                Some(match function {
                    $(stringify!($function) => read(input).and_then(|(x, data): ($x, $data)| {
                        crate::runs::prepared(&self.$function, x, &data, $write)
                    }),)*
                    _ => return None,
                })
            }
        }
    };
}
use functions;

/// Writes the only result.
fn only<P>(_: &P, results: &[polygrad::Array]) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&Nested::of(&results[0])?)
}
