//! Lookup tables of operations, which are used several times per operation of a program, with a fast hash function.
//!
//! Law: tables with this hash are only looked up, never iterated over, so the hash changes no result. It does not resist
//! inputs that are chosen to collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// A hash table that is only looked up, never iterated over.
pub(crate) type Table<K, V> = HashMap<K, V, FxBuildHasher>;

/// The hash of a thing.
pub(crate) fn hash_of(thing: &impl Hash) -> u64 {
    FxBuildHasher.hash_one(thing)
}

/// A table of numbered things, which are kept elsewhere: it finds the number of a thing by its hash, and asks whether
/// the thing of a number is the one that is looked for. A number takes 9 bytes, and up to as many lie empty.
#[derive(Default)]
pub(crate) struct Numbered(HashTable<(u32, u32)>);

/// The hash of an entry, twice, since a table chooses a slot by the lower bits and tells entries apart by the upper
/// ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl Numbered {
    /// The number of the thing with this hash that is `the_one`.
    pub(crate) fn find(&self, hash: u64, the_one: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = (hash >> 32) as u32 ^ hash as u32;
        self.0.find(spread(hash), |(of, number)| *of == hash && the_one(*number)).map(|(_, number)| *number)
    }

    /// Adds the number of a thing that has none.
    pub(crate) fn insert(&mut self, hash: u64, number: u32) {
        let hash = (hash >> 32) as u32 ^ hash as u32;
        self.0.insert_unique(spread(hash), (hash, number), |(of, _)| spread(*of));
    }

    /// Makes room for further numbers.
    pub(crate) fn reserve(&mut self, further: usize) {
        self.0.reserve(further, |(of, _)| spread(*of));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
