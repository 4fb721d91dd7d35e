//! Equality classes of programs, decided when a program is made.
//!
//! All equal programs have one class, and all others have other classes. So the comparison of two bodies is the
//! comparison of two numbers, however often bodies share bodies: a structural comparison would visit a body once for
//! each path to it, which is exponentially often in nested loops.
//!
//! Law: two programs that exist at the same time have the same class if and only if their inputs, operations and
//! outputs are equal. A new program is compared with one program of each class with the same hash; the programs within
//! its operations have classes already, so the comparison does not descend into them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Inner;

/// The hash of a program, the class among the programs with this hash, and the number of the program.
pub(super) type ClassKey = (u64, u64, u64);

/// All programs that exist.
struct Known {
    programs: BTreeMap<ClassKey, Weak<Inner>>,
    next: u64,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { programs: BTreeMap::new(), next: 0 });

/// Gives the program its class, and registers it.
pub(super) fn classed(mut inner: Inner) -> Arc<Inner> {
    // The compared programs are dropped after the lock is released: if one of them loses its last owner here, its
    // `drop` takes the lock.
    let mut compared: Vec<Arc<Inner>> = Vec::new();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let number = known.next;
    known.next += 1;
    let (hash, mut from, mut class) = (inner.key.0, 0, number);
    'classes: loop {
        let mut one = None;
        // A program that cannot be upgraded is being dropped, and waits for the lock to leave the table.
        for (key, other) in known.programs.range((hash, from, 0)..=(hash, u64::MAX, u64::MAX)) {
            if let Some(other) = other.upgrade() {
                one = Some((key.1, other));
                break;
            }
        }
        let Some((of, other)) = one else { break };
        let same = other.is_alike(&inner);
        compared.push(other);
        if same {
            class = of;
            break 'classes;
        }
        from = of + 1;
    }
    inner.key = (hash, class, number);
    let inner = Arc::new(inner);
    known.programs.insert(inner.key, Arc::downgrade(&inner));
    drop(known);
    drop(compared);
    inner
}

impl Drop for Inner {
    fn drop(&mut self) {
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).programs.remove(&self.key);
    }
}
