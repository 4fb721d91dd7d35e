//! Groups: the operations of a long program in parts that follow each other, by line of the user's source.
//!
//! Laws: the groups are a partition of the operations, and an edge between two groups leads to the later one; operations
//! of one line are neighbours as far as operands allow; a group is at most as large as asked for, and there are at most about
//! `sqrt(16 n)` groups, unless these would be larger.

use std::collections::{BTreeMap, BTreeSet};

/// The operations of a group, in an order in which operands come first.
pub(super) type OperationGroup = Vec<usize>;

/// The fewest operations of a group that is full.
const SMALLEST: usize = 12;

/// The groups of at most `most` items with these keys, in which operands have smaller numbers.
pub(super) fn grouped(keys: &[String], edges: &[(usize, usize)], most: usize) -> Vec<OperationGroup> {
    let order = by_key(keys, edges);
    let full = SMALLEST.max(keys.len().isqrt()).min(most).max(1);
    let mut groups: Vec<OperationGroup> = Vec::new();
    let mut start = 0;
    while start < order.len() {
        let key = &keys[order[start]];
        let len = order[start..].iter().take_while(|k| keys[**k] == *key).count();
        for part in order[start..start + len].chunks(full) {
            match groups.last_mut().filter(|group| group.len() + part.len() <= full) {
                Some(group) => group.extend(part),
                None => groups.push(part.to_vec()),
            }
        }
        start += len;
    }
    groups
}

/// The items in an order in which operands come first, and items of one key follow each other where they can.
fn by_key(keys: &[String], edges: &[(usize, usize)]) -> Vec<usize> {
    let mut below = vec![Vec::new(); keys.len()];
    let mut waits = vec![0usize; keys.len()];
    for (from, to) in edges {
        below[*from].push(*to);
        waits[*to] += 1;
    }
    // The operations that are ready, by key and in all.
    let mut ready: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let mut first: BTreeSet<usize> = BTreeSet::new();
    for k in (0..keys.len()).filter(|k| waits[*k] == 0) {
        ready.entry(&keys[k]).or_default().insert(k);
        first.insert(k);
    }
    let mut order: Vec<usize> = Vec::with_capacity(keys.len());
    while let Some(earliest) = first.first().copied() {
        let same = order.last().and_then(|k: &usize| ready.get(keys[*k].as_str())?.first().copied());
        let next = same.unwrap_or(earliest);
        first.remove(&next);
        if let Some(of_key) = ready.get_mut(keys[next].as_str()) {
            of_key.remove(&next);
        }
        order.push(next);
        for to in &below[next] {
            waits[*to] -= 1;
            if waits[*to] == 0 {
                ready.entry(&keys[*to]).or_default().insert(*to);
                first.insert(*to);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Rng;

    #[test]
    fn groups_follow_each_other() {
        for seed in 0..12 {
            let mut rng = Rng::new(seed);
            let mut below = |k: usize| (rng.uniform([1], 0.0, k as f64).to_vec()[0] as usize).min(k - 1);
            let count = 1 + 150 * seed as usize;
            let keys: Vec<String> = (0..count).map(|_| format!("line {}", below(9))).collect();
            let edges: Vec<(usize, usize)> =
                (1..count).flat_map(|k| [(below(k), k), (k - 1 - below(k.min(5)), k)]).collect();
            let groups = grouped(&keys, &edges, 140);
            assert!(grouped(&keys, &edges, 9).iter().all(|group| group.len() <= 9));
            let mut of = vec![usize::MAX; count];
            groups.iter().enumerate().for_each(|(g, group)| group.iter().for_each(|k| of[*k] = g));
            assert!(of.iter().all(|g| *g != usize::MAX) && groups.iter().map(Vec::len).sum::<usize>() == count);
            assert!(edges.iter().all(|(from, to)| of[*from] <= of[*to]), "seed {seed}");
            assert!(groups.len() <= 2 + (16 * count).isqrt(), "{} groups of {count}", groups.len());
        }
    }

    #[test]
    fn operations_of_one_line_are_neighbours() {
        let keys: Vec<String> = (0..60).map(|k| format!("{}", k % 2)).collect();
        let groups = grouped(&keys, &[], 140);
        assert!(groups.iter().all(|group| group.iter().all(|k| keys[*k] == keys[group[0]])));
    }
}
