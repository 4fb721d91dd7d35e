//! Gather and scatter-add of subarrays at indices.
//!
//! Law: at an index out of bounds, even a negative one, a gather reads zeros and a scatter-add writes nothing.
//! Subarrays are added in the order of the indices, to each segment of a destination alone (`segments`).

#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

pub(crate) mod segments;

use std::hint::select_unpredictable;
use std::ops::Range;

use super::isa::{Isa, Kernel, Machine, dispatch};
use crate::dtype::{Elem, Num};

/// Appends index `i` of an axis of `size` positions to the flat index `outer` of the axes before it; `None` if `i` is
/// out of bounds.
#[inline]
pub(crate) fn step(outer: usize, i: i64, size: usize) -> Option<usize> {
    // As an unsigned number, a negative index is out of bounds, too.
    ((i as u64) < size as u64).then(|| outer * size + i as usize)
}

/// A list of subarrays, given by their indices.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    /// The sizes of the indexed axes.
    pub(crate) indexed: &'a [usize],
    /// For each indexed axis, the list of the indices; a list of length 1 is broadcast.
    pub(crate) ix: &'a [&'a [i64]],
}

impl Blocks<'_> {
    /// The flat index of subarray `i` of the list; `None` if one of its indices is out of bounds.
    #[inline]
    pub(crate) fn at(&self, i: usize) -> Option<usize> {
        let index = |ix: &[i64]| if let [one] = ix { *one } else { ix[i] };
        self.ix.iter().zip(self.indexed).try_fold(0, |at, (ix, size)| step(at, index(ix), *size))
    }
}

/// The number of flat indices that are computed together.
const CHUNK: usize = 256;

/// The flat indices of some subarrays of a list; -1 for a subarray that is out of bounds.
struct FlatIndices<'a> {
    blocks: Blocks<'a>,
    start: usize,
    out: &'a mut [i64],
}

impl Kernel for FlatIndices<'_> {
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let FlatIndices { blocks: Blocks { indexed, ix }, start, out } = self;
        out.fill(0);
        for k in 0..ix.len() {
            let n = indexed[k] as i64;
            if let [index] = *ix[k] {
                for i in 0..out.len() {
                    out[i] = stepped(out[i], index, n);
                }
            } else {
                let index = &ix[k][start..][..out.len()];
                for i in 0..out.len() {
                    out[i] = stepped(out[i], index[i], n);
                }
            }
        }
    }
}

/// [`step`] with -1 for `None`.
#[inline(always)]
fn stepped(outer: i64, i: i64, size: i64) -> i64 {
    let within = (outer >= 0) & ((i as u64) < size as u64);
    select_unpredictable(within, outer.wrapping_mul(size).wrapping_add(i), -1)
}

impl Blocks<'_> {
    /// Calls `body` with the flat indices of consecutive subarrays of this range, and the number of the first of them.
    /// A flat index is negative, or not less than the number of subarrays, if the subarray is out of bounds.
    fn each_chunk(self, isa: Isa, range: Range<usize>, mut body: impl FnMut(usize, &[i64])) {
        if let [ix] = self.ix
            && (ix.len() > 1 || range == (0..1))
        {
            return body(range.start, &ix[range]);
        }
        let mut flat = [0; CHUNK];
        let mut start = range.start;
        while start < range.end {
            let flat = &mut flat[..CHUNK.min(range.end - start)];
            dispatch(isa, FlatIndices { blocks: self, start, out: flat });
            body(start, flat);
            start += flat.len();
        }
    }
}

/// The element at an index of a table without its first elements, `before` of them; 0 out of bounds.
#[inline(always)]
fn element<E: Elem>(table: &[E], before: usize, i: i64) -> E {
    let at = usize::try_from(i).ok().and_then(|i| i.checked_sub(before));
    at.and_then(|i| table.get(i)).copied().unwrap_or(E::ZERO)
}

/// Gathers elements at the indices, of a table without its first elements, `before` of them, which no index names.
pub(crate) fn gather_elements<E: Elem>(
    isa: Isa,
    (table, before): (&[E], usize),
    indexed: &[usize],
    ix: &[&[i64]],
    out: &mut [E],
) {
    moved_elements(isa, (E::moved(table), before), Blocks { indexed, ix }, E::moved_mut(out));
}

/// [`gather_elements`]. Its closure is one for all types that are moved alike, as those of [`moved`].
fn moved_elements<E: Elem>(isa: Isa, (table, before): (&[E], usize), blocks: Blocks<'_>, out: &mut [E]) {
    blocks.each_chunk(isa, 0..out.len(), |start, flat| {
        let out = &mut out[start..][..flat.len()];
        for i in 0..out.len() {
            out[i] = element(table, before, flat[i]);
        }
    });
}

/// Gathers the subarrays of `table` at the indices, of `block` elements each, one after the other into `out`.
pub(crate) fn gather<E: Elem>(isa: Isa, table: &[E], indexed: &[usize], ix: &[&[i64]], block: usize, out: &mut [E]) {
    moved(isa, E::moved(table), Blocks { indexed, ix }, block, E::moved_mut(out));
}

/// [`gather`].
fn moved<E: Elem>(isa: Isa, table: &[E], blocks: Blocks<'_>, block: usize, out: &mut [E]) {
    match block {
        0 => {}
        1 => moved_elements(isa, (table, 0), blocks, out),
        2 => gather_short::<E, 2>(isa, table, blocks, out),
        3 => gather_short::<E, 3>(isa, table, blocks, out),
        4 => gather_short::<E, 4>(isa, table, blocks, out),
        _ => blocks.each_chunk(isa, 0..out.len() / block, |start, flat| {
            for (flat, out) in flat.iter().zip(out[start * block..].chunks_exact_mut(block)) {
                match subarray(*flat, table.len() / block) {
                    Some(at) => out.copy_from_slice(&table[at * block..][..block]),
                    None => out.fill(E::ZERO),
                }
            }
        }),
    }
}

/// [`gather`] of subarrays of `N` elements: a copy of constant length is a few instructions, without a call.
fn gather_short<E: Elem, const N: usize>(isa: Isa, table: &[E], blocks: Blocks<'_>, out: &mut [E]) {
    let ((table, _), (out, _)) = (table.as_chunks::<N>(), out.as_chunks_mut::<N>());
    blocks.each_chunk(isa, 0..out.len(), |start, flat| {
        let out = &mut out[start..][..flat.len()];
        for i in 0..out.len() {
            out[i] = subarray(flat[i], table.len()).map_or([E::ZERO; N], |at| table[at]);
        }
    });
}

/// The number of a subarray, if there is one with this flat index.
#[inline(always)]
fn subarray(flat: i64, count: usize) -> Option<usize> {
    usize::try_from(flat).ok().filter(|at| *at < count)
}

/// Replaces the subarray at the indices, numbers, by the elements of `new`, or by one number; nothing if it is out of bounds.
pub(crate) fn update<E: Elem>(new: &[E], at: Blocks<'_>, block: usize, out: &mut [E]) {
    if let Some(at) = at.at(0) {
        replace(E::moved(new), &mut E::moved_mut(out)[at * block..][..block]);
    }
}

/// Fills a subarray with the elements of another, or with one number.
fn replace<E: Elem>(new: &[E], out: &mut [E]) {
    match new {
        [x] => out.fill(*x),
        _ => out.copy_from_slice(new),
    }
}

/// Subarrays that a scatter-add adds at indices, in the order of these.
#[derive(Clone)]
pub(crate) struct Additions<'a, E> {
    pub(crate) blocks: Blocks<'a>,
    /// Those of the list that are added.
    pub(crate) range: Range<usize>,
    /// The number of elements of a subarray.
    pub(crate) block: usize,
    /// The elements of all subarrays of the list, one subarray after the other; or one element for all.
    pub(crate) elements: &'a [E],
}

/// Consecutive subarrays of a destination, from number `first` on.
pub(crate) struct Segment<'a, E> {
    pub(crate) first: usize,
    pub(crate) sum: &'a mut [E],
}

impl<'a, E> Segment<'a, E> {
    /// All of a destination.
    pub(crate) fn whole(sum: &'a mut [E]) -> Segment<'a, E> {
        Segment { first: 0, sum }
    }
}

/// Adds those subarrays whose index lies in the segment.
pub(crate) fn scatter_add<E: Num>(isa: Isa, to: Segment<'_, E>, added: Additions<'_, E>) {
    if let [x] = added.elements {
        return scatter_number(isa, to, added, *x);
    }
    match added.block {
        0 => {}
        1 => scatter_short::<E, 1>(isa, to, added),
        2 => scatter_short::<E, 2>(isa, to, added),
        3 => scatter_short::<E, 3>(isa, to, added),
        4 => scatter_short::<E, 4>(isa, to, added),
        8 => scatter_short::<E, 8>(isa, to, added),
        block => added.blocks.each_chunk(isa, added.range, |start, flat| {
            let v = &added.elements[start * block..];
            dispatch(isa, AddBlocks { sum: to.sum, first: to.first, flat, block, v });
        }),
    }
}

/// [`scatter_add`] of subarrays of `N` elements, which are a few registers.
fn scatter_short<E: Num, const N: usize>(isa: Isa, to: Segment<'_, E>, added: Additions<'_, E>) {
    let ((v, _), (sum, _)) = (added.elements.as_chunks::<N>(), to.sum.as_chunks_mut::<N>());
    added.blocks.each_chunk(isa, added.range, |start, flat| {
        dispatch(isa, AddShort { sum, first: to.first, flat, v: &v[start..] });
    });
}

/// The place of a subarray in a segment of `count` subarrays from `first` on, if it lies there.
#[inline(always)]
fn in_segment(flat: i64, first: usize, count: usize) -> Option<usize> {
    // As an unsigned number, an index before the segment is behind it, too, even a negative one.
    let at = (flat as u64).wrapping_sub(first as u64);
    (at < count as u64).then_some(at as usize)
}

struct AddShort<'a, E, const N: usize> {
    sum: &'a mut [[E; N]],
    first: usize,
    flat: &'a [i64],
    v: &'a [[E; N]],
}

impl<E: Num, const N: usize> Kernel for AddShort<'_, E, N> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let AddShort { sum, first, flat, v } = self;
        let v = &v[..flat.len()];
        for i in 0..flat.len() {
            if let Some(at) = in_segment(flat[i], first, sum.len()) {
                // Copies, since the compiler does not know that the two arrays do not overlap.
                let (mut now, x) = (sum[at], v[i]);
                for k in 0..N {
                    now[k] = now[k].plus(x[k]);
                }
                sum[at] = now;
            }
        }
    }
}

struct AddBlocks<'a, E> {
    sum: &'a mut [E],
    first: usize,
    flat: &'a [i64],
    block: usize,
    v: &'a [E],
}

impl<E: Num> Kernel for AddBlocks<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let AddBlocks { sum, first, flat, block, v } = self;
        let count = sum.len() / block;
        for i in 0..flat.len() {
            let Some(at) = in_segment(flat[i], first, count) else { continue };
            let (sum, v) = (&mut sum[at * block..][..block], &v[i * block..][..block]);
            for k in 0..block {
                sum[k] = sum[k].plus(v[k]);
            }
        }
    }
}

/// [`scatter_add`] of one number to each element of the subarrays.
fn scatter_number<E: Num>(isa: Isa, to: Segment<'_, E>, added: Additions<'_, E>, x: E) {
    let block = added.block;
    let subarrays = to.sum.len() / block.max(1);
    added.blocks.each_chunk(isa, added.range, |_, flat| {
        for at in flat.iter().filter_map(|flat| in_segment(*flat, to.first, subarrays)) {
            to.sum[at * block..(at + 1) * block].iter_mut().for_each(|s| *s = s.plus(x));
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::kernels::indexing::*;

    #[test]
    fn subarrays_of_any_size_are_those_that_the_indices_name() {
        let (ix, jx, one) = ([0, 3, -1, 2, 4, 1], [1, 0, 2, i64::MAX, 1, 1], [2]);
        for block in [1, 2, 3, 4, 5, 8, 9] {
            for (indexed, lists) in [
                (vec![4], vec![&ix[..]]),
                (vec![4], vec![&one[..]]),
                (vec![4, 3], vec![&ix[..], &jx[..]]),
                (vec![4, 3], vec![&ix[..], &one[..]]),
                (vec![2, 2, 3], vec![&one[..], &ix[..], &jx[..]]),
            ] {
                let size = indexed.iter().product::<usize>() * block;
                let table: Vec<f64> = (1..=size).map(|k| k as f64).collect();
                let mut out = vec![-1.0; 6 * block];
                gather(Isa::detect(), &table, &indexed, &lists, block, &mut out);
                let (mut sums, mut added) = (table.clone(), table.clone());
                let blocks = Blocks { indexed: &indexed, ix: &lists };
                let all = Additions { blocks, range: 0..6, block, elements: &out };
                scatter_add(Isa::detect(), Segment::whole(&mut sums), all);
                for (k, x) in out.iter().enumerate() {
                    let index = |list: &[i64]| list[(k / block) % list.len()];
                    let inside = lists.iter().zip(&indexed).all(|(list, n)| (0..*n as i64).contains(&index(list)));
                    let at = lists.iter().zip(&indexed).fold(0, |at, (list, n)| at * *n as i64 + index(list).min(99));
                    let needed = if inside { table[at as usize * block + k % block] } else { 0.0 };
                    assert_eq!(*x, needed, "{indexed:?}, {lists:?}, blocks of {block}");
                    if inside {
                        added[at as usize * block + k % block] += x;
                    }
                }
                assert_eq!(sums, added, "{indexed:?}, {lists:?}, blocks of {block}");
            }
        }
    }
}
