//! Prefix sums along an axis: chains of additions side by side, in chunks of lines.
//!
//! An array is `outer` blocks of `len` rows of `inner` elements; line `k` of a block is made of element `k` of each
//! row. A line is cut into chunks of at most [`CHUNK`] elements ([`chunks`]). Law: the prefix sums of a chunk are added
//! one after the other from +0, and then the sum of all elements before the chunk is added to each. So the order of
//! the additions depends on `len` alone; and of `n` elements, each sum is a chain of at most
//! `CHUNK + n / CHUNK + 2 SIDE` roundings, where one chain would have `n`.
//!
//! | shape | kernel |
//! |---|---|
//! | contiguous lines of one chunk | a chain for each of [`SIDE`] lines |
//! | other contiguous lines | a chain for each of [`SIDE`] chunks; the sum before a chunk is added in vectors |
//! | rows of fewer than [`WIDE`] elements | a chain for each column of all columns |
//! | rows of fewer than [`PANEL`] elements | a lane for each column, in registers |
//! | longer rows | a lane for each of [`PANEL`] columns, in the first level of cache |
#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use super::isa::{Isa, Kernel, Machine, dispatch};
use crate::dtype::Num;
use crate::shape::size;

/// The number of chains that run side by side, which hides the latency of additions.
const SIDE: usize = 8;

/// The longest chunk.
const CHUNK: usize = 128;

/// Shorter lines are one chunk.
const SHORT: usize = 64;

/// The number of lanes; a multiple for long rows.
const WIDE: usize = 8;

/// The lanes of long rows in registers.
const LONG: usize = 32;

/// The columns of long rows that are added together.
const PANEL: usize = 256;

/// The layout of the lines of an array, and their direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) len: usize,
    pub(crate) inner: usize,
    /// Whether a line runs from its last element to its first.
    pub(crate) reverse: bool,
}

impl Line {
    /// The lines along an axis.
    pub(crate) fn along(shape: &[usize], axis: usize, reverse: bool) -> Line {
        Line { len: shape[axis], inner: size(&shape[axis + 1..]), reverse }
    }
}

/// The length and the number of the next chunks of a line with `left` elements left.
#[inline(always)]
pub(crate) fn chunks(left: usize) -> (usize, usize) {
    if left < SHORT { (left, 1) } else { ((left / SIDE).min(CHUNK), SIDE) }
}

/// How many times the next [`chunks`] of this line repeat, one after the other: at least once.
pub(crate) fn alike(left: usize) -> usize {
    (left / (CHUNK * SIDE)).max(1)
}

/// The prefix sums of `R` contiguous chunks of `len` elements each, and the sum of each chunk. A separate function,
/// compiled for the baseline: vectors would gather and scatter the elements of different chunks.
#[inline(never)]
fn chains<E: Num, const R: usize, const REVERSE: bool>(x: &[E], len: usize, out: &mut [E]) -> [E; R] {
    let mut parts = out.chunks_exact_mut(len);
    let x: [&[E]; R] = std::array::from_fn(|r| &x[r * len..][..len]);
    let out: [&mut [E]; R] = std::array::from_fn(|_| parts.next().expect("each chunk has a result"));
    let mut sums = [E::ZERO; R];
    for k in 0..len {
        let k = if REVERSE { len - 1 - k } else { k };
        for r in 0..R {
            sums[r] = sums[r].plus(x[r][k]);
            out[r][k] = sums[r];
        }
    }
    sums
}

/// The prefix sums of groups of [`SIDE`] contiguous lines of one chunk.
#[inline(never)]
fn short_lines<E: Num, const REVERSE: bool>(x: &[E], len: usize, out: &mut [E]) {
    for (x, out) in x.chunks_exact(SIDE * len).zip(out.chunks_exact_mut(SIDE * len)) {
        chains::<E, SIDE, REVERSE>(x, len, out);
    }
}

/// The prefix sums of a contiguous line.
#[inline(always)]
fn line<E: Num>(x: &[E], reverse: bool, out: &mut [E]) {
    let (mut before, mut done) = (E::ZERO, 0);
    while done < x.len() {
        let (len, count) = chunks(x.len() - done);
        let start = if reverse { x.len() - done - len * count } else { done };
        let (x, out) = (&x[start..][..len * count], &mut out[start..][..len * count]);
        let mut sums = [E::ZERO; SIDE];
        match (count == SIDE, reverse) {
            (true, false) => sums = chains::<E, SIDE, false>(x, len, out),
            (true, true) => sums = chains::<E, SIDE, true>(x, len, out),
            (false, false) => [sums[0]] = chains::<E, 1, false>(x, len, out),
            (false, true) => [sums[0]] = chains::<E, 1, true>(x, len, out),
        }
        for c in 0..count {
            let c = if reverse { count - 1 - c } else { c };
            let out = &mut out[c * len..][..len];
            for i in 0..len {
                out[i] = before.plus(out[i]);
            }
            before = before.plus(sums[c]);
        }
        done += len * count;
    }
}

/// The prefix sums of columns of rows of `n` elements; the slices start with the first of these columns. Of each column, `before`
/// and `sums` are for the sum before a chunk and for the sum of the chunk so far.
#[inline(always)]
fn columns<E: Num>(x: &[E], n: usize, (rows, reverse): (usize, bool), before: &mut [E], sums: &mut [E], out: &mut [E]) {
    let width = before.len();
    // A step, not a branch: the compiler would make two loops from a branch.
    let (first, step) = if reverse { ((rows - 1) * n, n.wrapping_neg()) } else { (0, n) };
    let mut done = 0;
    while done < rows {
        let (len, count) = chunks(rows - done);
        for _ in 0..count {
            sums.fill(E::ZERO);
            for k in done..done + len {
                let at = first.wrapping_add(step.wrapping_mul(k));
                let (x, out, sums) = (&x[at..][..width], &mut out[at..][..width], &mut sums[..width]);
                for i in 0..width {
                    sums[i] = sums[i].plus(x[i]);
                    out[i] = before[i].plus(sums[i]);
                }
            }
            for i in 0..width {
                before[i] = before[i].plus(sums[i]);
            }
            done += len;
        }
    }
}

/// The prefix sums of `W` columns, as for [`columns`].
#[inline(always)]
fn few_columns<E: Num, const W: usize>(x: &[E], n: usize, rows: (usize, bool), out: &mut [E]) {
    columns(x, n, rows, &mut [E::ZERO; W], &mut [E::ZERO; W], out);
}

/// The prefix sums of the columns of a block whose rows have at least [`WIDE`] elements.
#[inline(always)]
fn wide_rows<M: Machine, E: Num>(x: &[E], n: usize, rows: (usize, bool), out: &mut [E]) {
    let mut column = 0;
    while !M::LEAN && n >= PANEL && column < n {
        let width = PANEL.min(n - column);
        let (before, sums) = (&mut [E::ZERO; PANEL][..width], &mut [E::ZERO; PANEL][..width]);
        columns(&x[column..], n, rows, before, sums, &mut out[column..]);
        column += width;
    }
    while !M::LEAN && column + LONG <= n {
        few_columns::<E, LONG>(&x[column..], n, rows, &mut out[column..]);
        column += LONG;
    }
    // The last columns may be added twice, with the same result.
    while column < n {
        let start = column.min(n - WIDE);
        few_columns::<E, WIDE>(&x[start..], n, rows, &mut out[start..]);
        column = start + WIDE;
    }
}

struct PrefixSums<'a, E> {
    x: &'a [E],
    len: usize,
    inner: usize,
    reverse: bool,
    out: &'a mut [E],
}

impl<E: Num> Kernel for PrefixSums<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let PrefixSums { x, len, inner, reverse, out } = self;
        if inner == 1 {
            let group = if len < SHORT { SIDE * len } else { x.len() + 1 };
            let grouped = x.len() / group * group;
            match reverse {
                false => short_lines::<E, false>(&x[..grouped], len, &mut out[..grouped]),
                true => short_lines::<E, true>(&x[..grouped], len, &mut out[..grouped]),
            }
            for (x, out) in x[grouped..].chunks_exact(len).zip(out[grouped..].chunks_exact_mut(len)) {
                line(x, reverse, out);
            }
            return;
        }
        let (block, lines) = (len * inner, (len, reverse));
        for k in 0..x.len() / block {
            let (x, out) = (&x[k * block..][..block], &mut out[k * block..][..block]);
            match inner {
                2 if !M::LEAN => few_columns::<E, 2>(x, 2, lines, out),
                3 if !M::LEAN => few_columns::<E, 3>(x, 3, lines, out),
                4 if !M::LEAN => few_columns::<E, 4>(x, 4, lines, out),
                5 if !M::LEAN => few_columns::<E, 5>(x, 5, lines, out),
                6 if !M::LEAN => few_columns::<E, 6>(x, 6, lines, out),
                7 if !M::LEAN => few_columns::<E, 7>(x, 7, lines, out),
                n if M::LEAN && n < WIDE => {
                    for column in 0..n {
                        few_columns::<E, 1>(&x[column..], n, lines, &mut out[column..]);
                    }
                }
                n => wide_rows::<M, E>(x, n, lines, out),
            }
        }
    }
}

/// The prefix sums of each line.
pub(crate) fn prefix_sums<E: Num>(isa: Isa, x: &[E], Line { len, inner, reverse }: Line, out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "each element has a sum");
    if x.is_empty() {
        return;
    }
    dispatch(isa, PrefixSums { x, len, inner, reverse, out });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Rng;

    /// The order of additions that the law states.
    fn defined<E: Num>(line: &[E]) -> Vec<E> {
        let (mut out, mut before) = (Vec::new(), E::ZERO);
        while out.len() < line.len() {
            let (len, count) = chunks(line.len() - out.len());
            for _ in 0..count {
                let mut sum = E::ZERO;
                for x in &line[out.len()..][..len] {
                    sum = sum.plus(*x);
                    out.push(before.plus(sum));
                }
                before = before.plus(sum);
            }
        }
        out
    }

    fn agree<E: Num>(of: impl Fn(f64) -> E) {
        let lengths = [1, 2, 7, 63, 64, 65, 100, 511, 513, 1024, 1031, 2500];
        let rows = [1, 2, 3, 5, 7, 8, 11, 32, 45, 257];
        let mut rng = Rng::new(3);
        for isa in Isa::supported() {
            for (len, inner) in lengths.into_iter().flat_map(|len| rows.map(|inner| (len, inner))) {
                let outer = if inner == 1 { 19 } else { 2 };
                if len * inner > 60_000 {
                    continue;
                }
                let x: Vec<E> = (0..len * inner * outer).map(|_| of(rng.below(2001) as f64 / 7.0 - 140.0)).collect();
                for reverse in [false, true] {
                    let mut out = vec![E::ONE; x.len()];
                    prefix_sums(isa, &x, Line { len, inner, reverse }, &mut out);
                    for k in 0..inner * outer {
                        let place = |i: usize| (k / inner * len + i) * inner + k % inner;
                        let mut places: Vec<usize> = (0..len).map(place).collect();
                        if reverse {
                            places.reverse();
                        }
                        let sums = defined(&places.iter().map(|at| x[*at]).collect::<Vec<E>>());
                        for (at, sum) in places.iter().zip(sums) {
                            assert!(
                                out[*at].same_bits(sum),
                                "{len} x {inner}, line {k}, reverse {reverse}, on {}: {:?} is {sum:?}",
                                isa.name(),
                                out[*at]
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn sums_are_those_of_the_law_to_the_bit() {
        agree(|x| x);
        agree(|x| x as f32);
        agree(|x| x as i64);
    }

    #[test]
    fn infinities_and_nan_reach_all_later_sums_alone() {
        for len in [3, 70, 2500] {
            for (at, special) in [(0, f64::NAN), (len / 2, f64::INFINITY), (len - 1, f64::NEG_INFINITY)] {
                let mut x = vec![-0.0; len];
                x[at] = special;
                let mut out = vec![1.0; len];
                prefix_sums(Isa::detect(), &x, Line { len, inner: 1, reverse: false }, &mut out);
                assert!(out[..at].iter().all(|x| x.to_bits() == 0), "sums of -0 are +0");
                assert!(out[at..].iter().all(|x| *x == special || x.is_nan() && special.is_nan()));
            }
        }
    }

    /// Additions that cancel: the error of a sum is within the number of its roundings.
    #[test]
    fn errors_are_within_the_bound() {
        let n = 100_000;
        let mut rng = Rng::new(7);
        let x: Vec<f32> = (0..n).map(|_| rng.below(2001) as f32 / 1000.0 - 1.0).collect();
        let mut out = vec![0.0; n];
        prefix_sums(Isa::detect(), &x, Line { len: n, inner: 1, reverse: false }, &mut out);
        let (mut exact, mut magnitude) = (0.0, 0.0);
        for k in 0..n {
            exact += f64::from(x[k]);
            magnitude += f64::from(x[k].abs());
            let roundings = (CHUNK + (k + 1) / CHUNK + 2 * SIDE) as f64;
            let bound = roundings * f64::from(f32::EPSILON) / 2.0 * magnitude;
            assert!((f64::from(out[k]) - exact).abs() <= bound, "sum {k}");
        }
    }
}
