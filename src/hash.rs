//! A fast hash function for lookup tables of operations, which are used several times per operation of a program.
//!
//! Law: tables with this hash are only looked up, never iterated over, so the hash changes no result. The hash rotates
//! and multiplies, a word at a time, and does not resist inputs that are chosen to collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::hash::Hash;

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
