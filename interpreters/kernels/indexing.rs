//! Subarrays read and added up at indices.
//!
//! Law: an index out of bounds, a negative one included, reads zeros and writes nothing. Subarrays are added in the
//! order of the indices.

use crate::dtype::{Elem, Num};

/// The flat position of index `i` of an axis, within the subarray at position `outer`.
#[inline]
pub(crate) fn step(outer: usize, i: i64, size: usize) -> Option<usize> {
    // A negative index becomes a huge one.
    ((i as u64) < size as u64).then(|| outer * size + i as usize)
}

/// The subarrays that indices name.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'a> {
    /// The sizes of the indexed axes.
    pub(crate) indexed: &'a [usize],
    /// The indices in each indexed axis; a list of one index stands for as many equal ones as needed.
    pub(crate) ix: &'a [&'a [i64]],
}

impl Blocks<'_> {
    /// The number of the subarray at position `i` of the lists of indices, if it is in bounds.
    #[inline]
    pub(crate) fn at(&self, i: usize) -> Option<usize> {
        let index = |ix: &[i64]| if let [one] = ix { *one } else { ix[i] };
        self.ix.iter().zip(self.indexed).try_fold(0, |at, (ix, size)| step(at, index(ix), *size))
    }
}

/// Writes the subarrays of `table`, of `block` elements each, at the indices one after the other.
pub(crate) fn gather<E: Elem>(table: &[E], indexed: &[usize], ix: &[&[i64]], block: usize, out: &mut [E]) {
    if let ([ix], 1) = (ix, block)
        && ix.len() == out.len()
    {
        let read = |i: i64| usize::try_from(i).ok().and_then(|i| table.get(i)).copied().unwrap_or(E::ZERO);
        out.iter_mut().zip(*ix).for_each(|(o, i)| *o = read(*i));
        return;
    }
    let blocks = Blocks { indexed, ix };
    for (i, place) in out.chunks_exact_mut(block.max(1)).enumerate() {
        match blocks.at(i) {
            Some(at) => place.copy_from_slice(&table[at * block..(at + 1) * block]),
            None => place.fill(E::ZERO),
        }
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
