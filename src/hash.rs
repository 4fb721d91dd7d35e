//! A fast hash function for lookup tables of operations, which are used several times per operation of a program.
//!
//! Law: tables with this hash are only looked up, never iterated over, so the hash changes no result. The hash rotates
//! and multiplies, a word at a time, and does not resist inputs that are chosen to collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A hash table that is only looked up, never iterated over.
pub(crate) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// The state of a hash.
#[derive(Clone, Copy, Default)]
pub(crate) struct Quick(u64);

impl Quick {
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for Quick {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            self.word(rest.iter().fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    fn write_u8(&mut self, x: u8) {
        self.word(u64::from(x));
    }

    fn write_u32(&mut self, x: u32) {
        self.word(u64::from(x));
    }

    fn write_u64(&mut self, x: u64) {
        self.word(x);
    }

    fn write_i64(&mut self, x: i64) {
        self.word(x as u64);
    }

    fn write_usize(&mut self, x: usize) {
        self.word(x as u64);
    }

    fn write_isize(&mut self, x: isize) {
        self.word(x as u64);
    }

    /// Rotated, so that the upper bits, which depend on all words, become the low bits, by which tables index.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

/// A table of numbered things, which are kept elsewhere: it finds the number of a thing by its hash, and asks whether
/// the thing of a number is the one that is looked for. A number takes 8 bytes, and up to as many lie empty.
#[derive(Default)]
pub(crate) struct Numbered {
    /// The lower half of the hash of a thing, and its number; `NOTHING` where there is none.
    slots: Vec<(u32, u32)>,
    count: usize,
}

/// The number of nothing.
const NOTHING: u32 = u32::MAX;

/// The hash of a thing.
pub(crate) fn hash_of(thing: &impl Hash) -> u64 {
    let mut state = Quick::default();
    thing.hash(&mut state);
    state.finish()
}

impl Numbered {
    /// The number of the thing with this hash that is `the_one`.
    pub(crate) fn find(&self, hash: u64, the_one: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as u32 as usize & mask;
        loop {
            let (of, number) = *self.slots.get(at)?;
            if number == NOTHING {
                return None;
            }
            if of == hash as u32 && the_one(number) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds the number of a thing that has none.
    pub(crate) fn insert(&mut self, hash: u64, number: u32) {
        self.reserve(1);
        self.place((hash as u32, number));
        self.count += 1;
    }

    /// Makes room for further numbers.
    pub(crate) fn reserve(&mut self, further: usize) {
        // Three quarters full at most.
        let needed = (self.count + further) * 4 / 3 + 1;
        if needed > self.slots.len() {
            let empty = vec![(0, NOTHING); needed.max(8).next_power_of_two()];
            let old = std::mem::replace(&mut self.slots, empty);
            old.into_iter().filter(|(_, number)| *number != NOTHING).for_each(|slot| self.place(slot));
        }
    }

    fn place(&mut self, slot: (u32, u32)) {
        let mask = self.slots.len() - 1;
        let mut at = slot.0 as usize & mask;
        while self.slots[at].1 != NOTHING {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_are_found_by_what_has_them() {
        let things: Vec<[u64; 2]> = (0..1000).map(|k| [k % 37, k / 37 * 8]).collect();
        let mut table = Numbered::default();
        let find =
            |table: &Numbered, thing: &[u64; 2]| table.find(hash_of(thing), |number| things[number as usize] == *thing);
        for (k, thing) in things.iter().enumerate() {
            assert_eq!(find(&table, thing), None);
            table.insert(hash_of(thing), k as u32);
            assert_eq!(find(&table, thing), Some(k as u32));
        }
        assert!((0..1000).all(|k| find(&table, &things[k as usize]) == Some(k)));
        // Equal hashes are told apart by the things.
        let mut table = Numbered::default();
        (0..9).for_each(|k| table.insert(7, k));
        assert!((0..9).all(|k| table.find(7, |number| number == k) == Some(k)));
        assert_eq!(table.find(7, |_| false), None);
    }

    #[test]
    fn near_keys_are_spread_over_a_small_table() {
        for step in [1u64, 8, 64, 1 << 20, 1 << 32] {
            let place = |k: u64| {
                let mut hash = Quick::default();
                [k * step, 7].hash(&mut hash);
                hash.finish() % 1024
            };
            let places: BTreeSet<u64> = (0..512).map(place).collect();
            // 512 random places have about 400 different values.
            assert!(places.len() > 300, "step {step}: {} places", places.len());
        }
    }
}
