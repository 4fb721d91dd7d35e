//! Which rows and columns a minor leaves out: sets of numbers as bits, in the order of these bits as numbers.

/// The most rows of a matrix whose minors are made without divisions, a product for each set of columns.
pub(crate) const MOST: usize = 8;

/// The rows and columns of a larger matrix that are not eliminated, for the derivatives of its minors.
pub(crate) const LAST: usize = 4;

/// The sets of `size` of the numbers below `n`, in order.
pub(crate) fn sets(n: usize, size: usize) -> Vec<u32> {
    (0..1u32 << n).filter(|set| set.count_ones() as usize == size).collect()
}

/// The number of sets of `size` of the numbers below `n`.
pub(crate) fn count(n: usize, size: usize) -> usize {
    (0..size).fold(1, |count, k| if k < n { count * (n - k) / (k + 1) } else { 0 })
}

/// The numbers in a set, in order.
pub(crate) fn members(set: u32) -> impl Iterator<Item = usize> {
    (0..u32::BITS as usize).filter(move |k| set >> k & 1 == 1)
}

/// Each set of `size` numbers below `n` with one number more: the number, the position of the larger set among those of
/// its size, and -1 or 1 as an odd or even number of members is less than it. Row by row, a row for each set.
pub(crate) fn larger(n: usize, size: usize) -> [Vec<i64>; 3] {
    let next = sets(n, size + 1);
    let mut found = [Vec::new(), Vec::new(), Vec::new()];
    for set in sets(n, size) {
        for k in members(!set & ((1 << n) - 1)) {
            let at = next.binary_search(&(set | 1 << k)).expect("the larger set is among those of its size");
            let odd = (set & ((1 << k) - 1)).count_ones() % 2 == 1;
            found[0].push(k as i64);
            found[1].push(at as i64);
            found[2].push(if odd { -1 } else { 1 });
        }
    }
    found
}

/// Each set of `size` of the numbers below `n` with one member less, as [`larger`]; the sign counts the members that are
/// more than the one that is left out.
pub(crate) fn smaller(n: usize, size: usize) -> [Vec<i64>; 3] {
    let before = sets(n, size - 1);
    let mut found = [Vec::new(), Vec::new(), Vec::new()];
    for set in sets(n, size) {
        for k in members(set) {
            let at = before.binary_search(&(set & !(1 << k))).expect("the smaller set is among those of its size");
            found[0].push(k as i64);
            found[1].push(at as i64);
            found[2].push(if (set >> (k + 1)).count_ones() % 2 == 1 { -1 } else { 1 });
        }
    }
    found
}

/// Whether the sum of the members is odd.
pub(crate) fn is_odd(set: u32) -> bool {
    members(set).sum::<usize>() % 2 == 1
}
