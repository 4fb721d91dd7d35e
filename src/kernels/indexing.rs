//! Gather and scatter-add of subarrays at indices.
//!
//! Law: at an index out of bounds, also a negative one, a gather reads zeros and a scatter-add writes nothing.
//! Subarrays are added in the order of the indices.

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

/// Gathers the subarrays of `table` at the indices, of `block` elements each, one after the other into `out`.
pub(crate) fn gather<E: Elem>(table: &[E], indexed: &[usize], ix: &[&[i64]], block: usize, out: &mut [E]) {
    if let ([ix], 1) = (ix, block)
        && ix.len() == out.len()
    {
        let read = |i: i64| usize::try_from(i).ok().and_then(|i| table.get(i)).copied().unwrap_or(E::ZERO);
        out.iter_mut().zip(*ix).for_each(|(o, i)| *o = read(*i));
        return;
    }
    let blocks = Blocks { indexed, ix };
    match (ix, indexed) {
        // No list is broadcast, so the loop does not test for that.
        (&[ix], &[n]) if ix.len() * block == out.len() => copy(table, block, out, |i| step(0, ix[i], n)),
        (&[ix, jx], &[n, m]) if [ix.len(), jx.len()].iter().all(|len| len * block == out.len()) => {
            copy(table, block, out, |i| step(step(0, ix[i], n)?, jx[i], m));
        }
        _ => copy(table, block, out, |i| blocks.at(i)),
    }
}

/// Copies subarrays of `table` one after the other into `out`: `at(i)` is the number of subarray `i`, and `None` stands
/// for zeros.
fn copy<E: Elem>(table: &[E], block: usize, out: &mut [E], at: impl Fn(usize) -> Option<usize>) {
    match block {
        2 => copy_short::<E, 2>(table, out, at),
        3 => copy_short::<E, 3>(table, out, at),
        4 => copy_short::<E, 4>(table, out, at),
        _ => {
            for (i, place) in out.chunks_exact_mut(block.max(1)).enumerate() {
                match at(i) {
                    Some(at) => place.copy_from_slice(&table[at * block..(at + 1) * block]),
                    None => place.fill(E::ZERO),
                }
            }
        }
    }
}

/// [`copy`] for subarrays of `N` elements: a copy of constant length is a few instructions, without a call.
fn copy_short<E: Elem, const N: usize>(table: &[E], out: &mut [E], at: impl Fn(usize) -> Option<usize>) {
    let (blocks, _) = table.as_chunks::<N>();
    for (i, place) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        *place = at(i).map_or([E::ZERO; N], |at| blocks[at]);
    }
}

/// Adds the subarrays of `v`, of `block` elements each, to those of `sum` at the indices.
pub(crate) fn scatter_add<E: Num>(sum: &mut [E], indexed: &[usize], ix: &[&[i64]], block: usize, v: &[E]) {
    let blocks = Blocks { indexed, ix };
    for (i, v) in v.chunks_exact(block.max(1)).enumerate() {
        let Some(at) = blocks.at(i) else { continue };
        sum[at * block..(at + 1) * block].iter_mut().zip(v).for_each(|(s, x)| *s = s.plus(*x));
    }
}

/// Adds `x` to each element of the subarrays of `sum` at `count` indices.
pub(crate) fn scatter_add_one<E: Num>(sum: &mut [E], blocks: Blocks<'_>, count: usize, block: usize, x: E) {
    for at in (0..count).filter_map(|i| blocks.at(i)) {
        sum[at * block..(at + 1) * block].iter_mut().for_each(|s| *s = s.plus(x));
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::indexing::*;

    #[test]
    fn subarrays_of_any_size_are_those_that_the_indices_name() {
        let (ix, jx, one) = ([0, 3, -1, 2, 4, 1], [1, 0, 2, i64::MAX, 1, 1], [2]);
        for block in [1, 2, 3, 4, 5] {
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
                gather(&table, &indexed, &lists, block, &mut out);
                for (k, x) in out.iter().enumerate() {
                    let index = |list: &[i64]| list[(k / block) % list.len()];
                    let inside = lists.iter().zip(&indexed).all(|(list, n)| (0..*n as i64).contains(&index(list)));
                    let at = lists.iter().zip(&indexed).fold(0, |at, (list, n)| at * *n as i64 + index(list).min(99));
                    let needed = if inside { table[at as usize * block + k % block] } else { 0.0 };
                    assert_eq!(*x, needed, "{indexed:?}, {lists:?}, blocks of {block}");
                }
            }
        }
    }
}
