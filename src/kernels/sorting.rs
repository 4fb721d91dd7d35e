//! Stable argsort, line by line along an axis.
//!
//! Law: stable in both directions, and NaN comes last in both.

use std::cmp::Ordering;

use crate::dtype::Num;

/// Writes the positions of the elements of each line in sorted order. An array is blocks of `len` rows of `inner`
/// elements; line `k` of a block is made of element `k` of each row. `line` is memory for one line, kept by the caller.
pub(crate) fn argsort<E: Num>(
    v: &[E],
    len: usize,
    inner: usize,
    descending: bool,
    out: &mut [i64],
    line: &mut Vec<(E, i64)>,
) {
    for start in (0..v.len()).step_by((len * inner).max(1)) {
        for first in start..start + inner {
            line.clear();
            line.extend((0..len).map(|i| (v[first + i * inner], i as i64)));
            // Positions break ties, so the order is that of a stable sort, which would allocate.
            line.sort_unstable_by(|(a, i), (b, j)| order(*a, *b, descending).then(i.cmp(j)));
            for (i, (_, position)) in line.iter().enumerate() {
                out[first + i * inner] = *position;
            }
        }
    }
}

/// The order of two elements; an element that cannot be compared is NaN.
fn order<E: Num>(a: E, b: E, descending: bool) -> Ordering {
    let forward = if descending { b.partial_cmp(&a) } else { a.partial_cmp(&b) };
    #[allow(clippy::eq_op)]
    forward.unwrap_or_else(|| (a != a).cmp(&(b != b)))
}
