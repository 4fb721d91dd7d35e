//! Sets of numbers, each stored once: many elements of an array depend on the same inputs.
//!
//! Law: equal sets have equal names, so a union that was made before costs a look.

use std::collections::HashMap;
use std::rc::Rc;

/// The name of a set.
pub(super) type SetId = u32;

/// The set without numbers.
pub(super) const NONE: SetId = 0;

/// All sets of one reading.
pub(super) struct Sets {
    all: Vec<Rc<[u32]>>,
    names: HashMap<Rc<[u32]>, SetId>,
    unions: HashMap<(SetId, SetId), SetId>,
}

impl Default for Sets {
    fn default() -> Sets {
        let mut sets = Sets { all: Vec::new(), names: HashMap::new(), unions: HashMap::new() };
        sets.name(Rc::from([]));
        sets
    }
}

impl Sets {
    fn name(&mut self, set: Rc<[u32]>) -> SetId {
        if let Some(id) = self.names.get(&set) {
            return *id;
        }
        let id = SetId::try_from(self.all.len()).expect("there are fewer sets than 2^32");
        self.all.push(set.clone());
        self.names.insert(set, id);
        id
    }

    /// The set of one number.
    pub(super) fn single(&mut self, number: u32) -> SetId {
        self.name(Rc::from([number]))
    }

    /// The numbers of a set, in order.
    pub(super) fn numbers(&self, id: SetId) -> &Rc<[u32]> {
        &self.all[id as usize]
    }

    /// The numbers of both sets.
    pub(super) fn union(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == NONE {
            return a;
        }
        if a == NONE {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(id) = self.unions.get(&key) {
            return *id;
        }
        let (x, y) = (self.all[a as usize].clone(), self.all[b as usize].clone());
        let mut both = Vec::with_capacity(x.len() + y.len());
        let (mut i, mut j) = (0, 0);
        while let (Some(p), Some(q)) = (x.get(i), y.get(j)) {
            both.push(*p.min(q));
            i += usize::from(p <= q);
            j += usize::from(q <= p);
        }
        both.extend_from_slice(&x[i..]);
        both.extend_from_slice(&y[j..]);
        let id = self.name(Rc::from(both));
        self.unions.insert(key, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_have_equal_names() {
        let mut sets = Sets::default();
        let [a, b, c] = [3, 1, 2].map(|k| sets.single(k));
        let (ab, bc) = (sets.union(a, b), sets.union(b, c));
        let (one, other) = (sets.union(ab, c), sets.union(a, bc));
        assert_eq!(one, other);
        assert_eq!(sets.numbers(one)[..], [1, 2, 3]);
        assert_eq!(sets.union(one, b), one);
        assert_eq!(sets.union(NONE, b), b);
    }
}
