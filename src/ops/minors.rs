//! The sets of rows or columns that minors leave out, as bit masks in ascending order.

/// The largest number of rows of a matrix whose minors are computed without divisions, by expansion over all sets of
/// columns.
pub(crate) const MOST: usize = 8;

/// The number of rows and columns of a larger matrix that elimination leaves, for the derivatives of its minors.
pub(crate) const LAST: usize = 4;

/// The sets of `size` numbers below `n`, in ascending order.
pub(crate) fn sets(n: usize, size: usize) -> Vec<u32> {
    (0..1u32 << n).filter(|set| set.count_ones() as usize == size).collect()
}

/// The number of sets of `size` numbers below `n`.
pub(crate) fn count(n: usize, size: usize) -> usize {
    (0..size).fold(1, |count, k| if k < n { count * (n - k) / (k + 1) } else { 0 })
}

/// The numbers in a set, in ascending order.
pub(crate) fn members(set: u32) -> impl Iterator<Item = usize> {
    (0..u32::BITS as usize).filter(move |k| set >> k & 1 == 1)
}

/// The sets with one more number, a row for each set of `size` numbers below `n`: the added number, the position of the
/// larger set among the sets of its size, and a sign: -1 if the number of members less than the added number is odd,
/// and 1 if it is even.
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

/// The sets with one member less, a row for each set of `size` numbers below `n`, as in [`larger`]: the removed member,
/// the position of the smaller set, and a sign: -1 if the number of members greater than the removed member is odd, and
/// 1 if it is even.
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
