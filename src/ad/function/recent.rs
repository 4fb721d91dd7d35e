//! The values made for the last few keys: a bounded list, in which the most recently used comes first.
//!
//! Law: an item is found as long as fewer than the limit of others were used since. A poisoned lock is ignored, since
//! no operation on the list can leave it inconsistent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most recently used items.
pub(super) struct Recent<X> {
    kept: Mutex<Vec<Arc<X>>>,
    limit: usize,
}

impl<X> Recent<X> {
    /// An empty list of at most `limit` items, and of at least one.
    pub(super) fn new(limit: usize) -> Self {
        Recent { kept: Mutex::new(Vec::new()), limit: limit.max(1) }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// The same list with another limit.
    pub(super) fn keeping(mut self, limit: usize) -> Self {
        self.limit = limit.max(1);
        self.list().truncate(limit.max(1));
        self
    }

    pub(super) fn count(&self) -> usize {
        self.list().len()
    }

    pub(super) fn clear(&self) {
        self.list().clear();
    }

    fn list(&self) -> MutexGuard<'_, Vec<Arc<X>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The item that was used last.
    pub(super) fn last(&self) -> Option<Arc<X>> {
        self.list().first().cloned()
    }

    /// The first item for which `fits` holds, which becomes the most recently used one.
    pub(super) fn known(&self, fits: impl Fn(&X) -> bool) -> Option<Arc<X>> {
        Self::known_in(&mut self.list(), fits)
    }

    fn known_in(kept: &mut [Arc<X>], fits: impl Fn(&X) -> bool) -> Option<Arc<X>> {
        let place = kept.iter().position(|item| fits(item))?;
        kept[..=place].rotate_right(1);
        Some(kept[0].clone())
    }

    /// A new item, unless another thread has made one for which `fits` holds meanwhile: the lock is not held while an
    /// item is made, so that other threads go on, and what makes an item may ask for another.
    pub(super) fn kept(&self, new: X, fits: impl Fn(&X) -> bool) -> Arc<X> {
        let mut kept = self.list();
        Self::known_in(&mut kept, fits).unwrap_or_else(|| {
            let new = Arc::new(new);
            kept.insert(0, new.clone());
            kept.truncate(self.limit);
            new
        })
    }
}
