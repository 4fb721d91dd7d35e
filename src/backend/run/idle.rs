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

/// A memory that a run has taken, and the place to which the memory returns.
pub(crate) struct TakenMemory<'e> {
    pub(crate) memory: Box<Memory>,
    place: Option<MutexGuard<'e, Option<Box<Memory>>>>,
    idle: &'e IdleMemories,
}

impl IdleMemories {
    /// An idle memory, or else a new one. No operation on the places can leave them inconsistent, so it does not matter
    /// whether a run has panicked.
    #[inline]
    pub(crate) fn take(&self, new: impl FnOnce() -> Memory) -> TakenMemory<'_> {
        let mut place = match self.first.try_lock() {
            Ok(place) => Some(place),
            Err(TryLockError::Poisoned(place)) => Some(place.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let idle = match &mut place {
            Some(place) => place.take(),
            None => self.others.lock().unwrap_or_else(PoisonError::into_inner).pop(),
        };
        TakenMemory { memory: idle.unwrap_or_else(|| Box::new(new())), place, idle: self }
    }
}

impl TakenMemory<'_> {
    /// Leaves the memory to the next run.
    #[inline]
    pub(crate) fn give_back(self) {
        let TakenMemory { memory, place, idle } = self;
        match place {
            Some(mut place) => *place = Some(memory),
            None => idle.others.lock().unwrap_or_else(PoisonError::into_inner).push(memory),
        }
    }
}
