//! Sets of input numbers, stored once: many elements of an array depend on the same inputs.
//!
//! A set is referred to by a name. A set of one number is its own name and takes no memory, others take four bytes a
//! number.
//!
//! Law: the name of a union refers to the numbers of both sets. A union with a subset is the set itself. Equal large
//! sets have one name. Equal small sets may have several: they are stored in the order of the elements of arrays, and
//! to store one again costs less than to look it up.

/// The name of a set: a number marked as [`SINGLE`], or a position among the other sets.
pub(super) type SetId = u32;

/// The set without numbers.
pub(super) const NONE: SetId = 0;

/// Marks the names of sets of one number.
const SINGLE: SetId = 1 << 31;

/// The number of unions that are cached: as many as fit into a processor cache.
const LATELY: usize = 1 << 12;

/// Sets with more numbers than this are looked up before they are stored.
const SMALL: usize = 32;

/// A cached union: the names of its parts in order, and its own.
type Union = [SetId; 3];

/// All sets of one analysis.
pub(super) struct Sets {
    /// The numbers of the sets, concatenated, each in order.
    numbers: Vec<u32>,
    /// The start of each set, and the end of the last.
    starts: Vec<usize>,
    /// A hash table of the names of large sets with linear probing; its length is a power of two, and it is at most
    /// half full.
    names: Vec<SetId>,
    named: usize,
    /// A cache of unions by hash; a later union replaces an earlier one.
    lately: Vec<Union>,
    /// The numbers of the union that is being computed.
    both: Vec<u32>,
}

impl Default for Sets {
    fn default() -> Sets {
        Sets {
            numbers: Vec::new(),
            starts: vec![0, 0],
            names: vec![NONE; 1 << 8],
            named: 0,
            lately: vec![[NONE; 3]; LATELY],
            both: Vec::new(),
        }
    }
}

/// The hash of a set as a position in a table whose length is a power of two.
fn place(numbers: &[u32], len: usize) -> usize {
    let hash = numbers.iter().fold(0u64, |h, n| (h.rotate_left(5) ^ u64::from(*n)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    ((hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> (64 - len.trailing_zeros())) as usize
}

impl Sets {
    /// The set of one number below 2^31.
    pub(super) fn single(number: u32) -> SetId {
        debug_assert!(number < SINGLE, "numbers are counted below 2^31");
        SINGLE | number
    }

    /// The numbers of a set, in order; `one` is the storage for a set of one number.
    pub(super) fn numbers<'a>(&'a self, id: SetId, one: &'a mut u32) -> &'a [u32] {
        if id & SINGLE != 0 {
            *one = id & !SINGLE;
            return std::slice::from_ref(one);
        }
        self.stored(id)
    }

    fn stored(&self, id: SetId) -> &[u32] {
        &self.numbers[self.starts[id as usize]..self.starts[id as usize + 1]]
    }

    /// The union of two sets.
    pub(super) fn union(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == NONE {
            return a;
        }
        if a == NONE {
            return b;
        }
        let key = [a.min(b), a.max(b)];
        let at = place(&key, self.lately.len());
        if self.lately[at][..2] == key {
            return self.lately[at][2];
        }
        let id = self.merged(a, b);
        self.lately[at] = [key[0], key[1], id];
        id
    }

    /// The union of many sets; the order of their names may change. Intermediate unions are not stored, so a sum of
    /// many terms takes memory for its own set alone.
    pub(super) fn union_of(&mut self, ids: &mut Vec<SetId>) -> SetId {
        ids.sort_unstable();
        ids.dedup();
        if ids.len() <= 2 {
            return ids.iter().fold(NONE, |sum, id| self.union(sum, *id));
        }
        let mut both = std::mem::take(&mut self.both);
        both.clear();
        for id in ids {
            both.extend_from_slice(self.numbers(*id, &mut 0));
        }
        both.sort_unstable();
        both.dedup();
        let id = self.name(&both);
        self.both = both;
        id
    }

    fn merged(&mut self, a: SetId, b: SetId) -> SetId {
        let mut both = std::mem::take(&mut self.both);
        both.clear();
        let (mut one, mut other) = (0, 0);
        let (x, y) = (self.numbers(a, &mut one), self.numbers(b, &mut other));
        let (mut i, mut j) = (0, 0);
        while let (Some(p), Some(q)) = (x.get(i), y.get(j)) {
            both.push(*p.min(q));
            i += usize::from(p <= q);
            j += usize::from(q <= p);
        }
        both.extend_from_slice(&x[i..]);
        both.extend_from_slice(&y[j..]);
        let id = match both.len() {
            len if len == x.len() => a,
            len if len == y.len() => b,
            _ => self.name(&both),
        };
        self.both = both;
        id
    }

    fn name(&mut self, set: &[u32]) -> SetId {
        match set {
            [] => return NONE,
            [one] => return Sets::single(*one),
            [_, _, ..] => {}
        }
        if set.len() <= SMALL {
            return self.store(set);
        }
        let mut at = place(set, self.names.len());
        while self.names[at] != NONE {
            if self.stored(self.names[at]) == set {
                return self.names[at];
            }
            at = (at + 1) % self.names.len();
        }
        let id = self.store(set);
        self.names[at] = id;
        self.named += 1;
        if 2 * self.named >= self.names.len() {
            self.spread();
        }
        id
    }

    fn store(&mut self, set: &[u32]) -> SetId {
        let id = self.starts.len() as SetId - 1;
        assert!(id < SINGLE, "there are fewer sets than 2^31");
        self.numbers.extend_from_slice(set);
        self.starts.push(self.numbers.len());
        id
    }

    /// Doubles the table of names.
    fn spread(&mut self) {
        let len = 2 * self.names.len();
        let mut names = vec![NONE; len];
        for id in self.names.iter().copied().filter(|id| *id != NONE) {
            let mut at = place(self.stored(id), len);
            while names[at] != NONE {
                at = (at + 1) % len;
            }
            names[at] = id;
        }
        self.names = names;
    }

    /// Whether two names refer to equal sets.
    pub(super) fn same(&self, a: SetId, b: SetId) -> bool {
        a == b || self.numbers(a, &mut 0) == self.numbers(b, &mut 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(sets: &Sets, id: SetId) -> Vec<u32> {
        sets.numbers(id, &mut 0).to_vec()
    }

    #[test]
    fn unions_have_the_numbers_of_their_parts() {
        let mut sets = Sets::default();
        let [a, b, c] = [3, 1, 2].map(Sets::single);
        let (ab, bc) = (sets.union(a, b), sets.union(b, c));
        let (one, other) = (sets.union(ab, c), sets.union(a, bc));
        assert!(sets.same(one, other) && !sets.same(one, ab));
        assert_eq!(numbers(&sets, one), [1, 2, 3]);
        // A union with a subset is the set.
        assert_eq!((sets.union(one, b), sets.union(bc, one), sets.union(NONE, b)), (one, one, b));
        assert_eq!((numbers(&sets, b), numbers(&sets, NONE)), (vec![1], vec![]));
        let all = sets.union_of(&mut vec![c, b, NONE, a, c]);
        assert!(sets.same(all, one));
        assert_eq!(sets.union_of(&mut vec![c, c, c]), c);
        assert_eq!(sets.union_of(&mut vec![NONE; 3]), NONE);
    }

    /// More large sets than the table begins with, made twice, the second time in another order.
    #[test]
    fn large_sets_that_are_equal_have_one_name() {
        let (mut sets, len) = (Sets::default(), SMALL as u32 + 2);
        let mut range = |k: u32, back: bool| {
            let all = (0..len).map(|i| Sets::single(k + if back { len - 1 - i } else { i }));
            all.reduce(|a, b| sets.union(a, b)).expect("some sets")
        };
        let first: Vec<SetId> = (0..500).map(|k| range(k, false)).collect();
        let again: Vec<SetId> = (0..500).rev().map(|k| range(k, true)).collect();
        assert!(first.iter().eq(again.iter().rev()));
        assert_eq!(numbers(&sets, first[100]), (100..100 + len).collect::<Vec<u32>>());
    }
}
