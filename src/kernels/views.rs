//! Copies and accumulation of elements through a loop nest of two views, of a source and of a result.
//!
//! Law: every visit of the nest copies or adds one element. If several visits add to one element, a kernel may choose
//! only the order of the sum.

use std::ops::Range;

use smallvec::SmallVec;

use super::leading;
use super::loop_nest::{Nest, stepped};
use crate::cost::MACHINE;
use crate::dtype::{Elem, Num};

/// Copies the visited elements of `source` to `out`; no two visits write to one element. Other elements of `out` are
/// unchanged.
pub(crate) fn copy<E: Elem>(nest: &Nest<2>, source: &[E], out: &mut [E]) {
    copied(nest, E::moved(source), E::moved_mut(out));
}

/// [`copy`]. Its closure is one for all types that are moved alike.
fn copied<E: Elem>(nest: &Nest<2>, source: &[E], out: &mut [E]) {
    walk(nest, source, out, |o, x| *o = x);
}

/// Adds the visited elements of `source` to those of `sum`.
pub(crate) fn add<E: Num>(nest: &Nest<2>, source: &[E], sum: &mut [E]) {
    match nest.inner().strides {
        [1, 0] => nest.run(|[i, o], len| sum[o] = sum[o].plus(total(&source[i..i + len]))),
        [s, 0] => nest.run(|[i, o], len| sum[o] = sum[o].plus(total_strided(source, i, s, len))),
        [1, 1] if nest.middle().strides[1] == 0 => add_rows(nest, source, sum),
        [_, _] => walk(nest, source, sum, |o, x| *o = o.plus(x)),
    }
}

/// The number of visits to each of the `size` elements of the second array, if it is the same for all of them; `None`
/// if it is not, or if the loops do not show it.
pub(crate) fn hits(nest: &Nest<2>, size: usize) -> Option<usize> {
    let mut count = 1usize;
    let mut covered = 1;
    for axis in nest.axes() {
        match axis.strides[1] {
            0 => count = count.checked_mul(axis.len)?,
            1 if covered == 1 => covered = axis.len,
            _ => return None,
        }
    }
    (nest.is_box() && covered == size).then_some(count)
}

/// Whether a nest visits each of the `size` elements of its second array exactly once.
pub(crate) fn covers(nest: &Nest<2>, size: usize) -> bool {
    let mut axes: SmallVec<[(i64, usize); 6]> = nest.axes().iter().map(|axis| (axis.strides[1], axis.len)).collect();
    axes.sort_unstable();
    let mut covered = 1;
    let whole = axes.iter().all(|(stride, len)| {
        let next = *stride == covered;
        covered *= *len as i64;
        next
    });
    nest.is_box() && whole && covered == size as i64
}

/// Adds runs that are contiguous in both arrays and go to the same elements, four at a time.
fn add_rows<E: Num>(nest: &Nest<2>, v: &[E], sum: &mut [E]) {
    let steps = nest.middle().strides;
    nest.panels(|start, count, len| {
        let sum = &mut sum[start[1]..start[1] + len];
        let at = |row: usize| {
            let [i, _] = stepped(start, steps, row);
            &v[i..i + len]
        };
        let blocks = count / 4;
        for block in 0..blocks {
            let [r0, r1, r2, r3] = [0, 1, 2, 3].map(|k| at(4 * block + k));
            let rows = r0.iter().zip(r1).zip(r2.iter().zip(r3));
            sum.iter_mut().zip(rows).for_each(|(s, ((a, b), (c, d)))| *s = s.plus(*a).plus(*b).plus(*c).plus(*d));
        }
        for row in 4 * blocks..count {
            sum.iter_mut().zip(at(row)).for_each(|(s, x)| *s = s.plus(*x));
        }
    });
}

/// Calls `put` with each visited element of `out` and that of `source`; the loop body is chosen by the strides of the
/// innermost loop.
fn walk<E: Elem>(nest: &Nest<2>, source: &[E], out: &mut [E], put: impl Fn(&mut E, E) + Copy) {
    match nest.inner().strides {
        [1, 1] => nest.run(|[i, o], len| {
            out[o..o + len].iter_mut().zip(&source[i..i + len]).for_each(|(o, x)| put(o, *x));
        }),
        [0, 1] => nest.run(|[i, o], len| {
            let x = source[i];
            out[o..o + len].iter_mut().for_each(|o| put(o, x));
        }),
        [-1, 1] => nest.run(|[i, o], len| {
            let run = &source[i + 1 - len..i + 1];
            out[o..o + len].iter_mut().zip(run.iter().rev()).for_each(|(o, x)| put(o, *x));
        }),
        [s, t] => match crossing(nest) {
            Some(places) => exchange(nest, places, source, out, put),
            None if s > 0 && t == 1 => nest.run(|[i, o], len| {
                let run = source[i..].iter().step_by(s as usize);
                out[o..o + len].iter_mut().zip(run).for_each(|(o, x)| put(o, *x));
            }),
            None => nest.points(|[i, o]| put(&mut out[o], source[i])),
        },
    }
}

/// The numbers of two loops that transpose a matrix: neighbouring steps of the first are neighbours in the source alone,
/// forward or backward, those of the second in the result alone, and both go forward in the result.
fn crossing(nest: &Nest<2>) -> Option<[usize; 2]> {
    if !nest.is_box() {
        return None;
    }
    let find = |test: fn([i64; 2]) -> bool| nest.axes().iter().position(|axis| test(axis.strides));
    Some([find(|[s, t]| s.abs() == 1 && t > 1)?, find(|[s, t]| s > 1 && t == 1)?])
}

/// The number of steps `along` in a tile.
const TILE: usize = MACHINE.transposed_tile;

/// The number of steps `along` for which the source stays in cache.
const BLOCK: usize = MACHINE.transposed_block;

/// A matrix that is transposed: `across` steps that are neighbours in the source, and `along` steps that are neighbours
/// in the result.
struct Crossing {
    across: usize,
    along: usize,
    /// The stride of a step along in the source, and of a step across in the result.
    step: usize,
    down: usize,
    /// Whether steps across go backward in the source.
    back: bool,
}

/// Visits a nest that transposes matrices tile by tile, so that whole cache lines are used in both arrays. `places` are
/// the numbers of the loops that are contiguous in `source` and in `out`.
fn exchange<E: Elem>(nest: &Nest<2>, places: [usize; 2], source: &[E], out: &mut [E], put: impl Fn(&mut E, E) + Copy) {
    let [across, along] = places.map(|place| nest.axes()[place]);
    let matrix = Crossing {
        across: across.len,
        along: along.len,
        step: along.strides[0] as usize,
        down: across.strides[1] as usize,
        back: across.strides[0] < 0,
    };
    nest.without(&places).points(|[i, o]| matrix.exchange((i, o), source, out, put));
}

impl Crossing {
    /// Visits one matrix, whose elements start at `i` in the source and at `o` in the result: by blocks of [`BLOCK`] steps along,
    /// whose part of the source stays in cache while the steps across go by.
    fn exchange<E: Elem>(&self, (i, o): (usize, usize), source: &[E], out: &mut [E], put: impl Fn(&mut E, E) + Copy) {
        let start = (i, o);
        let whole = self.along / TILE * TILE;
        for first in (0..whole).step_by(BLOCK) {
            let block = first..whole.min(first + BLOCK);
            let mut k = 0;
            while k + 8 <= self.across {
                self.tiles::<E, 8>(start, k, block.clone(), source, out, put);
                k += 8;
            }
            if k + 4 <= self.across {
                self.tiles::<E, 4>(start, k, block.clone(), source, out, put);
                k += 4;
            }
            if k + 2 <= self.across {
                self.tiles::<E, 2>(start, k, block.clone(), source, out, put);
                k += 2;
            }
            if k < self.across {
                self.tiles::<E, 1>(start, k, block, source, out, put);
            }
        }
        if whole < self.along {
            self.rest(start, whole, source, out, put);
        }
    }

    /// Visits `N` steps across from `k` on, and a range of steps along, [`TILE`] at a time. A separate function, since
    /// the compiler takes time that grows faster than the size of a function.
    #[inline(never)]
    fn tiles<E: Elem, const N: usize>(
        &self,
        (i, o): (usize, usize),
        k: usize,
        block: Range<usize>,
        source: &[E],
        out: &mut [E],
        put: impl Fn(&mut E, E) + Copy,
    ) {
        // Backward, the last of the steps has the lowest offset.
        let start = if self.back { i + 1 - k - N } else { i + k };
        let zeros = [E::ZERO; N];
        for j in block.step_by(TILE) {
            let mut rows = [&zeros; TILE];
            for (r, row) in rows.iter_mut().enumerate() {
                *row = leading(&source[start + (j + r) * self.step..]);
            }
            for column in 0..N {
                let r = if self.back { N - 1 - column } else { column };
                let place = &mut out[o + (k + r) * self.down + j..][..TILE];
                place.iter_mut().zip(&rows).for_each(|(o, row)| put(o, row[column]));
            }
        }
    }

    /// Visits the last steps along, fewer than [`TILE`], from `j` on.
    fn rest<E: Elem>(
        &self,
        (i, o): (usize, usize),
        j: usize,
        source: &[E],
        out: &mut [E],
        put: impl Fn(&mut E, E) + Copy,
    ) {
        let (zeros, n) = ([E::ZERO; TILE], self.along - j);
        let whole = self.across / TILE * TILE;
        for k in (0..whole).step_by(TILE) {
            let mut columns = [&zeros; TILE];
            let start = if self.back { i + 1 - k - TILE } else { i + k } + j * self.step;
            for (c, column) in columns[..n].iter_mut().enumerate() {
                *column = leading(&source[start + c * self.step..]);
            }
            for row in 0..TILE {
                let r = if self.back { TILE - 1 - row } else { row };
                let place = &mut out[o + (k + r) * self.down + j..][..n];
                place.iter_mut().zip(&columns).for_each(|(o, column)| put(o, column[row]));
            }
        }
        for k in whole..self.across {
            let start = if self.back { i - k } else { i + k } + j * self.step;
            let run = source[start..].iter().step_by(self.step);
            out[o + k * self.down + j..][..n].iter_mut().zip(run).for_each(|(o, x)| put(o, *x));
        }
    }
}

/// The sum, by eight interleaved partial sums.
fn total<E: Num>(v: &[E]) -> E {
    let mut sums = [E::ZERO; 8];
    let chunks = v.chunks_exact(8);
    let rest = chunks.remainder().iter().fold(E::ZERO, |sum, x| sum.plus(*x));
    for chunk in chunks {
        (0..8).for_each(|k| sums[k] = sums[k].plus(chunk[k]));
    }
    folded(sums).plus(rest)
}

/// The sum of `len` elements from `start` on, with a stride.
fn total_strided<E: Num>(v: &[E], start: usize, stride: i64, len: usize) -> E {
    let at = |i: usize| v[(start as i64 + stride * i as i64) as usize];
    let mut sums = [E::ZERO; 8];
    let whole = len / 8 * 8;
    for i in (0..whole).step_by(8) {
        (0..8).for_each(|k| sums[k] = sums[k].plus(at(i + k)));
    }
    (whole..len).fold(folded(sums), |sum, i| sum.plus(at(i)))
}

/// The sum of eight partial sums, pairwise.
pub(crate) fn folded<E: Num>(s: [E; 8]) -> E {
    let pair = |i: usize| s[i].plus(s[i + 4]);
    pair(0).plus(pair(2)).plus(pair(1).plus(pair(3)))
}
