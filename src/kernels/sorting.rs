//! Stable argsort along an axis; if only some ranks are needed, by selection.
//!
//! Laws: ascending and descending order are both stable, with NaN last. The position at a rank does not depend on the
//! other ranks that are requested.
//!
//! A sort key of an element and its position are packed in one integer. These integers are distinct, so an unstable
//! sort or a selection of them gives the order of a stable sort.

use std::ops::Range;

use crate::dtype::{DType, Num};

/// The layout of the lines of an array, and the direction of the order: the array consists of blocks of `len` rows of
/// `inner` elements; line `k` of a block consists of element `k` of each row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    pub(crate) len: usize,
    pub(crate) inner: usize,
    pub(crate) descending: bool,
}

/// Scratch memory for the packed keys and positions of one line, kept by the caller.
#[derive(Debug, Default)]
pub(crate) struct Room {
    narrow: Vec<u64>,
    wide: Vec<u128>,
}

impl Room {
    /// The bytes of the memory.
    pub(crate) fn bytes(&self) -> usize {
        self.narrow.capacity() * size_of::<u64>() + self.wide.capacity() * size_of::<u128>()
    }
}

/// Argsort of each line: at each requested rank of the line, writes the position of the element of this rank. `ranks`
/// are ascending, disjoint ranges; at other ranks, `out` is unchanged.
pub(crate) fn argsort<E: Num>(v: &[E], lines: Lines, ranks: &[Range<usize>], out: &mut [i64], room: &mut Room) {
    let is_narrow = E::DTYPE == DType::F32 && u32::try_from(lines.len).is_ok();
    match is_narrow {
        true => sorted(v, lines, ranks, out, &mut room.narrow),
        false => sorted(v, lines, ranks, out, &mut room.wide),
    }
}

/// An integer that packs a sort key (high bits) and a position (low bits).
trait Keyed: Copy + Ord {
    fn new(key: u64, position: usize) -> Self;
    fn position(self) -> i64;
}

/// A key and a position of 32 bits each.
impl Keyed for u64 {
    #[inline]
    fn new(key: u64, position: usize) -> u64 {
        key << 32 | position as u64
    }

    #[inline]
    fn position(self) -> i64 {
        (self & u64::from(u32::MAX)) as i64
    }
}

/// A key and a position of 64 bits each.
impl Keyed for u128 {
    #[inline]
    fn new(key: u64, position: usize) -> u128 {
        u128::from(key) << 64 | position as u128
    }

    #[inline]
    fn position(self) -> i64 {
        self as u64 as i64
    }
}

/// The sort key of an element: an unsigned integer in the requested order, equal for equal elements and largest for
/// NaN; of 32 bits for `f32`, of 64 bits for other types.
#[inline]
fn key<E: Num>(x: E, descending: bool) -> u64 {
    let (sign, all) = if E::DTYPE == DType::F32 { (1 << 31, u64::from(u32::MAX)) } else { (1 << 63, u64::MAX) };
    #[allow(clippy::eq_op)]
    if x != x {
        return all;
    }
    // Zeros of both signs have one key.
    let bits = if x == E::ZERO { 0 } else { x.bits() };
    let key = match E::DTYPE {
        // Among negative floats, larger magnitudes come first.
        DType::F64 | DType::F32 if bits & sign != 0 => !bits & all,
        DType::F64 | DType::F32 | DType::I64 | DType::Bool => bits ^ sign,
    };
    if descending { !key & all } else { key }
}

fn sorted<E: Num, K: Keyed>(v: &[E], lines: Lines, ranks: &[Range<usize>], out: &mut [i64], line: &mut Vec<K>) {
    let Lines { len, inner, descending } = lines;
    for start in (0..v.len()).step_by((len * inner).max(1)) {
        for first in start..start + inner {
            // For the first few ranks of a long line, most elements are rejected by one comparison.
            if let [Range { start: 0, end }] = ranks
                && *end <= len / 16
            {
                first_ones((0..len).map(|i| K::new(key(v[first + i * inner], descending), i)), *end, line);
            } else {
                line.clear();
                line.extend((0..len).map(|i| K::new(key(v[first + i * inner], descending), i)));
                select(line, ranks);
            }
            for rank in ranks.iter().cloned().flatten() {
                out[first + rank * inner] = line[rank].position();
            }
        }
    }
}

/// Partial sort: leaves the first `count` elements, in order, in `line`. Whenever this buffer holds `2 * count`
/// elements, it is cut to the first `count` of them by selection.
fn first_ones<K: Keyed>(mut elements: impl Iterator<Item = K>, count: usize, line: &mut Vec<K>) {
    line.clear();
    if count == 0 {
        return;
    }
    line.extend(elements.by_ref().take(2 * count));
    let cut = |line: &mut Vec<K>| {
        let (_, last, _) = line.select_nth_unstable(count - 1);
        let last = *last;
        line.truncate(count);
        last
    };
    let mut last = cut(line);
    for x in elements {
        if x < last {
            line.push(x);
            if line.len() == 2 * count {
                last = cut(line);
            }
        }
    }
    line.sort_unstable();
    line.truncate(count);
}

/// Multiple selection: moves the elements of the requested ranks to their sorted positions.
fn select<K: Keyed>(line: &mut [K], ranks: &[Range<usize>]) {
    // Elements before this position come earlier in the order than those from it on.
    let mut from = 0;
    for Range { start, end } in ranks.iter().filter(|ranks| !ranks.is_empty()).cloned() {
        if start > from {
            line[from..].select_nth_unstable(start - from);
        }
        let rest = &mut line[start..];
        if end - start < rest.len() {
            rest.select_nth_unstable(end - start - 1);
        }
        rest[..end - start].sort_unstable();
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Rng;
    use crate::dtype::Elem;

    /// The definition: the positions by a stable sort of the elements themselves.
    fn defined<E: Num>(line: &[E], descending: bool) -> Vec<i64> {
        let mut order: Vec<i64> = (0..line.len() as i64).collect();
        order.sort_by(|i, j| {
            let (a, b) = (line[*i as usize], line[*j as usize]);
            let forward = if descending { b.partial_cmp(&a) } else { a.partial_cmp(&b) };
            #[allow(clippy::eq_op)]
            forward.unwrap_or_else(|| (a != a).cmp(&(b != b)))
        });
        order
    }

    /// Ranges of ranks: all, the first, some in the middle with the last, none.
    fn some_ranks(len: usize) -> Vec<Vec<Range<usize>>> {
        let middle = len / 2;
        let mut all = vec![vec![0..len], vec![0..len.min(1)], vec![0..len / 16], vec![]];
        if len > 4 {
            all.push(vec![middle - 1..middle + 1, len - 1..len]);
            all.push(vec![1..3, 3..middle.max(3), len - 1..len]);
        }
        all
    }

    fn positions_are_those_of_a_stable_sort<E: Num>(of: impl Fn(f64) -> E, special: &[E]) {
        let mut rng = Rng::new(5);
        for len in [0, 1, 2, 3, 5, 17, 64, 100, 333] {
            for inner in [1, 3] {
                for descending in [false, true] {
                    let v: Vec<E> = (0..2 * len * inner)
                        .map(|_| match rng.below(4) {
                            0 => special[rng.below(special.len())],
                            1 => of(rng.below(5) as f64 - 2.0),
                            _ => of((rng.below(2001) as f64 - 1000.0) * 37.5),
                        })
                        .collect();
                    for ranks in some_ranks(len) {
                        let (mut out, mut room) = (vec![-1; v.len()], Room::default());
                        argsort(&v, Lines { len, inner, descending }, &ranks, &mut out, &mut room);
                        for line in 0..2 * inner {
                            let first = line / inner * len * inner + line % inner;
                            let at = |rank: usize| first + rank * inner;
                            let known = defined(&(0..len).map(|i| v[at(i)]).collect::<Vec<_>>(), descending);
                            for rank in 0..len {
                                let is_asked = ranks.iter().any(|ranks| ranks.contains(&rank));
                                let wanted = if is_asked { known[rank] } else { -1 };
                                assert_eq!(out[at(rank)], wanted, "rank {rank} of {len}, {ranks:?}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn positions_of_every_element_type_are_those_of_a_stable_sort() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let special = [0.0, -0.0, nan, -nan, inf, -inf, f64::MAX, f64::MIN, 5e-324, -5e-324];
        positions_are_those_of_a_stable_sort(|x| x, &special);
        positions_are_those_of_a_stable_sort(|x| x as f32, &special.map(|x| x as f32));
        positions_are_those_of_a_stable_sort(|x| x as i64, &[i64::MIN, i64::MAX, 0, -1, 1]);
        assert_eq!(key(f64::NAN, false), u64::MAX);
        assert_eq!([f32::ZERO, -0.0].map(|x| key(x, true)), [(1 << 31) - 1; 2]);
    }
}
