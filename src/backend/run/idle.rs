//! Idle memories: what a run leaves to the next run of the same plan.
//!
//! Law: a memory belongs to one run at a time; a run that panics leaves none.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::Memory;

/// The memories of finished runs.
///
/// A run that finds the first place free locks the place until the run ends: one lock for both, since a lock takes as
/// long as some operations. Other runs at the same time, on other threads or within the first run, use the list.
#[derive(Default)]
pub(crate) struct IdleMemories {
    first: Mutex<Option<Box<Memory>>>,
    #[allow(clippy::vec_box, reason = "a memory is large: each run would move one twice")]
    others: Mutex<Vec<Box<Memory>>>,
}

/// The place to which the memory of a run returns.
pub(crate) struct Place<'e> {
    first: Option<MutexGuard<'e, Option<Box<Memory>>>>,
    idle: &'e IdleMemories,
}

/// A memory that a run has taken, and the place to which the memory returns.
pub(crate) struct TakenMemory<'e> {
    pub(crate) memory: Box<Memory>,
    pub(crate) place: Place<'e>,
}

impl IdleMemories {
    /// An idle memory, if there is one, and the place to which the memory of the run returns. No operation on the places
    /// can leave them inconsistent, so it does not matter whether a run has panicked.
    #[inline]
    pub(crate) fn take(&self) -> (Option<Box<Memory>>, Place<'_>) {
        let mut first = match self.first.try_lock() {
            Ok(first) => Some(first),
            Err(TryLockError::Poisoned(first)) => Some(first.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let idle = match &mut first {
            Some(first) => first.take(),
            None => self.others.lock().unwrap_or_else(PoisonError::into_inner).pop(),
        };
        (idle, Place { first, idle: self })
    }
}

impl TakenMemory<'_> {
    /// Leaves the memory to the next run.
    #[inline]
    pub(crate) fn give_back(self) {
        let TakenMemory { memory, place: Place { first, idle } } = self;
        match first {
            Some(mut first) => *first = Some(memory),
            None => idle.others.lock().unwrap_or_else(PoisonError::into_inner).push(memory),
        }
    }
}
