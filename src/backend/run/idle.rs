//! Idle memories: what a run leaves to the next run of the same plan.
//!
//! Laws: a memory belongs to one run at a time; a run that panics leaves none. The memory of the first run is kept, and
//! of other runs at the same time as many as [`KEPT`] and [`KEPT_BYTES`] allow: threads that run a function once leave
//! no more.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::Memory;

/// The largest number of memories that are kept in addition to the first.
const KEPT: usize = 64;

/// The largest number of bytes of the memories that are kept in addition to the first. One is kept whatever its size is, for two
/// threads that run a function in turns.
const KEPT_BYTES: usize = 1 << 26;

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
            None => {
                let mut others = idle.others.lock().unwrap_or_else(PoisonError::into_inner);
                // All memories are of one plan, so they have about as many bytes.
                let all = memory.bytes().saturating_mul(others.len() + 1);
                let fits = others.len() < KEPT && all <= KEPT_BYTES;
                if others.is_empty() || fits {
                    return others.push(memory);
                }
                // The lock is open again while the system takes the memory back.
                drop(others);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, KEPT_BYTES};
    use crate::array::Array;
    use crate::backend::{Executable, compile};
    use crate::program::Term;
    use crate::tensor::Tensor;

    fn executable(n: usize) -> Executable {
        let x = Term::variable(&[n], crate::dtype::DType::F64);
        let y = Tensor::<Term, 1>::from_raw(x.clone());
        let y = (y.cumsum(0).sin() * y).into_raw();
        compile(&Term::program(&[x], &[y], &[]).expect("a closed program"))
    }

    /// The memories that are kept in addition to the first after `count` runs at the same time, and their bytes.
    fn kept(run: &Executable, n: usize, count: usize) -> (usize, usize) {
        let mut started: Vec<_> = (0..count).map(|_| run.start()).collect();
        for started in &mut started {
            started.inputs().push(Array::full(&[n], 0.5));
            started.execute();
        }
        started.into_iter().for_each(|started| started.end());
        let others = run.idle.others.lock().expect("no run has panicked");
        (others.len(), others.iter().map(|memory| memory.bytes()).sum())
    }

    #[test]
    fn runs_at_one_time_leave_a_bounded_memory() {
        // Small memories: as many as the number says. Later runs take these again.
        let small = executable(10);
        assert_eq!(kept(&small, 10, 20).0, 19);
        assert_eq!(kept(&small, 10, 5).0, 19);
        assert_eq!(kept(&small, 10, KEPT + 30).0, KEPT);
        // Large ones, with the results that they hold: as many as the bytes say.
        let n = 400_000;
        let (count, bytes) = kept(&executable(n), n, 20);
        let one = bytes / count;
        assert!(one > 8 * n && bytes <= KEPT_BYTES && bytes + one > KEPT_BYTES, "{count} of {one}");
    }
}
