//! Branch decisions in the trips of a loop: later trips follow the decisions of the first.
//!
//! A loop of an interpreter that keeps residuals of every trip, such as reverse mode, must run the same operations in
//! every trip. So while values run in one loop, every trip takes the branches of the first trip. If a condition differs
//! in some trip, the result is discarded, and the trips run one after the other. Law: a trip that follows another runs
//! the operations of that trip, in order.

use std::cell::RefCell;

/// The decisions of the first trip, and the progress of a trip that follows them.
#[derive(Default)]
struct Path {
    decisions: Vec<bool>,
    /// The next decision to follow; none in the first trip.
    next: Option<usize>,
    differs: bool,
}

impl Path {
    /// The decision for a condition with the value `holds`.
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

/// The decision for a known condition with the value `holds`, by all running loops, the outermost first.
pub(super) fn decide(holds: bool) -> bool {
    PATHS.with_borrow_mut(|paths| paths.iter_mut().fold(holds, |holds, path| path.decide(holds)))
}

/// The number of loops that are running.
pub(super) fn depth() -> usize {
    PATHS.with_borrow(Vec::len)
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

    /// Whether a condition in a later trip differs from the decision of the first trip.
    pub(super) fn differs(&self) -> bool {
        PATHS.with_borrow(|paths| paths[self.0].differs)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        PATHS.with_borrow_mut(|paths| paths.truncate(self.0));
    }
}
