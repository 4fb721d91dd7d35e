//! The conditions that the trips of a loop decide.
//!
//! A loop of an interpreter that keeps something of every trip, such as reverse mode, must do the same in every trip. So
//! while a loop of values is tried, every trip decides as the first one did, and whether a condition has gone the other
//! way is told at the end: then the trips run one after the other. Law: a trip that follows another runs the operations of
//! that trip, in order.

use std::cell::RefCell;

/// The decisions of a trip, and how far another trip has followed them.
#[derive(Default)]
struct Path {
    decisions: Vec<bool>,
    /// The next decision to follow; none in the first trip.
    next: Option<usize>,
    differs: bool,
}

impl Path {
    /// What is decided where the condition is `holds`.
    fn decide(&mut self, holds: bool) -> bool {
        let Some(next) = self.next.as_mut() else {
            self.decisions.push(holds);
            return holds;
        };
        let first = self.decisions.get(*next).copied();
        *next += 1;
        self.differs |= first != Some(holds);
        first.unwrap_or(holds)
    }
}

thread_local! {
    /// The loops that are running, from the outermost.
    static PATHS: RefCell<Vec<Path>> = const { RefCell::new(Vec::new()) };
}

/// What is decided where a known condition is `holds`: outer loops see their own decisions, whatever inner loops follow.
pub(super) fn decide(holds: bool) -> bool {
    PATHS.with_borrow_mut(|paths| paths.iter_mut().fold(holds, |holds, path| path.decide(holds)))
}

/// A loop whose trips follow the first one.
pub(super) struct Followed(usize);

impl Followed {
    /// Starts a loop, which ends when it is dropped.
    pub(super) fn start() -> Self {
        PATHS.with_borrow_mut(|paths| {
            paths.push(Path::default());
            Followed(paths.len() - 1)
        })
    }

    /// The next trip follows the first one.
    pub(super) fn follow(&self) {
        PATHS.with_borrow_mut(|paths| paths[self.0].next = Some(0));
    }

    /// Whether a trip decided otherwise than the first one.
    pub(super) fn differs(&self) -> bool {
        PATHS.with_borrow(|paths| paths[self.0].differs)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        PATHS.with_borrow_mut(|paths| paths.truncate(self.0));
    }
}
