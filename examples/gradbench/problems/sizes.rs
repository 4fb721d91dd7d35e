//! The sizes of an input, which must agree with each other.
//!
//! Law: a problem is computed only if all sizes that its input states, or has, agree; a fault names both. No size is left to what
//! a program does with arrays that do not fit: arrays of width 1 are repeated, and reads out of bounds give 0.

use serde::de::Error;

/// A size, and what it is the size of.
pub(super) type Size<'a> = (&'a str, usize);

/// Fails unless two sizes are equal.
pub(super) fn equal(a: Size<'_>, b: Size<'_>) -> serde_json::Result<()> {
    if a.1 == b.1 {
        return Ok(());
    }
    fault(&format!("{} must be {}, but they are {} and {}", a.0, b.0, a.1, b.1))
}

/// Fails unless each size is equal to the one beside it.
pub(super) fn all_equal(sizes: &[(Size<'_>, Size<'_>)]) -> serde_json::Result<()> {
    sizes.iter().try_for_each(|(a, b)| equal(*a, *b))
}

/// Fails unless a size is at least so large.
pub(super) fn at_least(least: usize, size: Size<'_>) -> serde_json::Result<()> {
    if size.1 >= least { Ok(()) } else { fault(&format!("{} must be at least {least}, but it is {}", size.0, size.1)) }
}

/// Fails unless a number is one of a position among so many; `what` says whose.
pub(super) fn position(what: &str, k: i64, among: Size<'_>) -> serde_json::Result<()> {
    if usize::try_from(k).is_ok_and(|k| k < among.1) {
        return Ok(());
    }
    fault(&format!("{what} must be from 0 on and below {}, but they are {k} and {}", among.0, among.1))
}

pub(super) fn fault<Y>(words: &str) -> serde_json::Result<Y> {
    Err(Error::custom(words))
}
