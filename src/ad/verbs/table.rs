//! What a row of the table says of a verb to readers: its name, what it gives, and its homes.

/// Where a verb is called.
///
/// Closed: the ways to use a verb are counted on its page.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    Plain,
    Direct,
    Function,
    Jit,
    Symbolic,
    Higher,
}

/// A row of the table of verbs.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    pub name: &'static str,
    pub gives: &'static str,
    pub homes: &'static [Home],
}

impl Verb {
    /// A verb that is written at its homes.
    pub(super) const fn at(homes: &'static [Home], name: &'static str, gives: &'static str) -> Verb {
        Verb { name, gives, homes }
    }
}
