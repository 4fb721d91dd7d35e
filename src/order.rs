//! Sorting of short lists: one sort serves all types of elements, by a function that swaps elements of a type.
//!
//! A sort of the standard library is seven kilobytes of machine code for each type of elements and each key. What sorts
//! elements of arrays, loops of nests, or terms of a reverse pass, calls that.
//!
//! Law: elements with equal keys keep their order.

use std::cmp::Ordering;

/// Sorts a list by a key.
pub(crate) fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    let mut order = sorted(list.len(), &|i, j| key(&list[i]).cmp(&key(&list[j])));
    // Each cycle of the permutation by swaps; a place that is done names itself.
    for start in 0..order.len() {
        let mut to = start;
        loop {
            let from = std::mem::replace(&mut order[to], to);
            if from == start {
                break;
            }
            list.swap(to, from);
            to = from;
        }
    }
}

/// The numbers of a list of this length, sorted.
pub(crate) fn sorted(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|i, j| compare(*i, *j));
    order
}

#[cfg(test)]
mod tests {
    use super::sort_by_key;

    #[test]
    fn lists_are_sorted_as_by_the_standard_library() {
        for len in [0, 1, 2, 3, 7, 20, 21, 64, 300] {
            let list: Vec<(usize, String)> = (0..len).map(|i| (i * 7919 % 101 % 13, i.to_string())).collect();
            let (mut ours, mut known) = (list.clone(), list);
            sort_by_key(&mut ours, |(key, _)| *key);
            known.sort_by_key(|(key, _)| *key);
            assert_eq!(ours, known);
        }
    }
}
