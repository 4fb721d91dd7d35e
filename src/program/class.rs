//! Which programs are equal, known when a program is made.
//!
//! All programs that are equal have one class, and no others have it. So to compare bodies is to compare two numbers,
//! however often bodies share bodies: structural comparison would visit a body once for each path to it, which is
//! exponentially often where loops nest.
//!
//! Law: two programs that are there at the same time have the same class if and only if their inputs, operations and
//! outputs are equal. A program is compared, when it is made, with one program of each class of its hash; the programs
//! in its loops have classes already, so the comparison does not go into them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Inner;

/// A hash, a class of programs with this hash, and a number of the program.
pub(super) type ClassKey = (u64, u64, u64);

/// All programs that are there.
struct Known {
    programs: BTreeMap<ClassKey, Weak<Inner>>,
    next: u64,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { programs: BTreeMap::new(), next: 0 });

/// The program with its class.
pub(super) fn classed(mut inner: Inner) -> Arc<Inner> {
    // Those that were compared: one of them may end with its last other owner, but not while the table is locked.
    let mut compared: Vec<Arc<Inner>> = Vec::new();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let number = known.next;
    known.next += 1;
    let (hash, mut from, mut class) = (inner.key.0, 0, number);
    'classes: loop {
        let mut one = None;
        // A program that ends now has left the table soon.
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
