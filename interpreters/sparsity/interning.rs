//! Interning cache: recent arrays of dependences are stored once.
//!
//! Law: equal arrays that are computed close together are one array, so a comparison of addresses shows that values
//! depend on the same inputs element by element; a combination of the same arrays is computed once. An entry that has
//! been evicted is only computed again.

use std::collections::VecDeque;
use std::rc::Rc;

use super::Pair;

/// The largest number of arrays, and of combinations of arrays, that are kept.
const MOST: usize = 32;

/// The least length of an array that is kept.
const SHORT: usize = 64;

/// The pairs of an array, shared.
pub(super) type Pairs = Rc<[Pair]>;

/// The recent arrays and combinations.
#[derive(Default)]
pub(super) struct Lately {
    arrays: VecDeque<(u64, Pairs)>,
    /// Two operands, whether their combination is linear in both, and the combination.
    combined: VecDeque<([Pairs; 2], bool, Pairs)>,
}

fn push<T>(queue: &mut VecDeque<T>, new: T) {
    if queue.len() == MOST {
        queue.pop_front();
    }
    queue.push_back(new);
}

impl Lately {
    /// The cached array equal to this one, or this one, which is cached.
    pub(super) fn shared(&mut self, new: Vec<Pair>) -> Pairs {
        if new.len() < SHORT {
            return new.into();
        }
        let step = |h: u64, [a, b]: &Pair| {
            (h.rotate_left(5) ^ (u64::from(*a) << 32 | u64::from(*b))).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        };
        let hash = new.iter().fold(new.len() as u64, step);
        if let Some((_, old)) = self.arrays.iter().find(|(other, old)| *other == hash && old[..] == new[..]) {
            return old.clone();
        }
        let new: Pairs = new.into();
        push(&mut self.arrays, (hash, new.clone()));
        new
    }

    /// The combination of two arrays, if it is cached.
    pub(super) fn combination(&self, a: &Pairs, b: &Pairs, linear: bool) -> Option<Pairs> {
        let same =
            |[x, y]: &[Pairs; 2]| (Rc::ptr_eq(a, x) && Rc::ptr_eq(b, y)) || (Rc::ptr_eq(a, y) && Rc::ptr_eq(b, x));
        let found = self.combined.iter().find(|(of, other, _)| *other == linear && same(of));
        found.map(|(_, _, result)| result.clone())
    }

    /// Caches the combination of two arrays.
    pub(super) fn combine(&mut self, a: &Pairs, b: &Pairs, linear: bool, result: &Pairs) {
        if result.len() >= SHORT {
            push(&mut self.combined, ([a.clone(), b.clone()], linear, result.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interpreters::sparsity::interning::*;

    #[test]
    fn equal_arrays_are_one_and_others_are_not() {
        let mut lately = Lately::default();
        let new = |last: u32| (0..100).map(|k| [k, if k == 99 { last } else { 0 }]).collect::<Vec<Pair>>();
        let (a, b, c) = (lately.shared(new(1)), lately.shared(new(1)), lately.shared(new(2)));
        assert!(Rc::ptr_eq(&a, &b) && !Rc::ptr_eq(&a, &c));
        lately.combine(&a, &c, true, &c);
        assert!(lately.combination(&c, &b, true).is_some());
        assert!(lately.combination(&a, &c, false).is_none());
        // An evicted array is computed again.
        (3..3 + MOST as u32).for_each(|k| drop(lately.shared(new(k))));
        assert!(!Rc::ptr_eq(&a, &lately.shared(new(1))));
    }
}
