//! Prefix extrema along an axis, and their positions: one pass over each line.
//!
//! Lines are laid out as in [`scan`](super::scan). Laws: the position of a prefix is that of its first NaN, or of the
//! first of its largest (or smallest) elements; in reverse, prefixes begin at the end of a line, and the first element
//! is the one nearest to that end. The extremum is, to the bit, the element at the position.
//!
//! | shape | kernel |
//! |---|---|
//! | contiguous lines | blocks of [`BLOCK`] elements, where most blocks exceed no extremum and are filled at once |
//! | rows of fewer than [`WIDE`] elements | the extrema of all columns in registers |
//! | longer rows | the extrema of at most [`PANEL`] columns, in the first level of cache |
#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use super::isa::{Isa, Kernel, Machine, dispatch};
use super::scan::Line;
use crate::dtype::Num;

/// The elements of a contiguous line that are compared with one extremum at once.
const BLOCK: usize = 16;

/// The number of lanes of rows of middle length.
const WIDE: usize = 8;

/// The columns of long rows that are searched together.
const PANEL: usize = 64;

/// The result for each prefix.
trait Found<E: Num> {
    type Out: Copy;

    /// The result for a prefix whose extremum is this element, at this position.
    fn of(x: E, position: usize) -> Self::Out;
}

/// The positions of extrema.
struct Positions;

impl<E: Num> Found<E> for Positions {
    type Out = i64;

    #[inline(always)]
    fn of(_: E, position: usize) -> i64 {
        position as i64
    }
}

/// The extrema.
struct Extrema;

impl<E: Num> Found<E> for Extrema {
    type Out = E;

    #[inline(always)]
    fn of(x: E, _: usize) -> E {
        x
    }
}

/// Whether an element replaces the extremum `best` before it.
#[inline(always)]
fn replaces<E: Num, const LARGEST: bool>(x: E, best: E) -> bool {
    let kept = if LARGEST { x <= best } else { x >= best };
    // A comparison with NaN is false, so a new NaN is not kept out; an old NaN differs from itself.
    #[allow(clippy::eq_op, reason = "NaN differs from itself")]
    let number = best == best;
    !kept & number
}

/// The results for one contiguous line.
#[inline(always)]
fn line<E: Num, F: Found<E>, const LARGEST: bool>(x: &[E], reverse: bool, out: &mut [F::Out]) {
    let n = x.len();
    let first = if reverse { n - 1 } else { 0 };
    let (mut best, mut result, mut done) = (x[first], F::of(x[first], first), 0);
    while done < n {
        let count = BLOCK.min(n - done);
        let start = if reverse { n - done - count } else { done };
        let (block, out) = (&x[start..][..count], &mut out[start..][..count]);
        let mut found = false;
        for k in 0..count {
            found |= replaces::<E, LARGEST>(block[k], best);
        }
        if !found {
            out.fill(result);
        } else {
            for k in 0..count {
                let k = if reverse { count - 1 - k } else { k };
                if replaces::<E, LARGEST>(block[k], best) {
                    (best, result) = (block[k], F::of(block[k], start + k));
                }
                out[k] = result;
            }
        }
        done += count;
    }
}

/// The results for `W` columns of a block with `rows` rows of `n` elements; the first column starts the slices.
#[inline(always)]
fn columns<E: Num, F: Found<E>, const W: usize, const LARGEST: bool>(
    x: &[E],
    n: usize,
    (rows, reverse): (usize, bool),
    out: &mut [F::Out],
) {
    let first = if reverse { rows - 1 } else { 0 };
    let mut best: [E; W] = std::array::from_fn(|i| x[n * first + i]);
    let mut results = best.map(|x| F::of(x, first));
    for k in 0..rows {
        let row = if reverse { rows - 1 - k } else { k };
        let (x, out) = (&x[n * row..][..W], &mut out[n * row..][..W]);
        for i in 0..W {
            let (now, x, result) = (best[i], x[i], results[i]);
            let better = replaces::<E, LARGEST>(x, now);
            best[i] = if better { x } else { now };
            let result = if better { F::of(x, row) } else { result };
            results[i] = result;
            out[i] = result;
        }
    }
}

/// The results for the columns of a block whose rows have at least [`WIDE`] elements.
#[inline(always)]
fn wide_rows<M: Machine, E: Num, F: Found<E>, const LARGEST: bool>(
    x: &[E],
    n: usize,
    lines: (usize, bool),
    out: &mut [F::Out],
) {
    let mut column = 0;
    while !M::LEAN && column + PANEL <= n {
        columns::<E, F, PANEL, LARGEST>(&x[column..], n, lines, &mut out[column..]);
        column += PANEL;
    }
    // The last columns may be searched twice, with the same result.
    while column < n {
        let start = column.min(n - WIDE);
        columns::<E, F, WIDE, LARGEST>(&x[start..], n, lines, &mut out[start..]);
        column = start + WIDE;
    }
}

struct Prefixes<'a, E: Num, F: Found<E>, const LARGEST: bool> {
    x: &'a [E],
    line: Line,
    out: &'a mut [F::Out],
}

impl<E: Num, F: Found<E>, const LARGEST: bool> Kernel for Prefixes<'_, E, F, LARGEST> {
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Prefixes { x, line: Line { len, inner, reverse }, out } = self;
        let (block, lines) = (len * inner, (len, reverse));
        for (x, out) in x.chunks_exact(block).zip(out.chunks_exact_mut(block)) {
            match inner {
                1 => line::<E, F, LARGEST>(x, reverse, out),
                2 if !M::LEAN => columns::<E, F, 2, LARGEST>(x, 2, lines, out),
                3 if !M::LEAN => columns::<E, F, 3, LARGEST>(x, 3, lines, out),
                4 if !M::LEAN => columns::<E, F, 4, LARGEST>(x, 4, lines, out),
                5 if !M::LEAN => columns::<E, F, 5, LARGEST>(x, 5, lines, out),
                6 if !M::LEAN => columns::<E, F, 6, LARGEST>(x, 6, lines, out),
                7 if !M::LEAN => columns::<E, F, 7, LARGEST>(x, 7, lines, out),
                n if M::LEAN && n < WIDE => {
                    for column in 0..n {
                        columns::<E, F, 1, LARGEST>(&x[column..], n, lines, &mut out[column..]);
                    }
                }
                n => wide_rows::<M, E, F, LARGEST>(x, n, lines, out),
            }
        }
    }
}

fn prefixes<E: Num, F: Found<E>>(isa: Isa, x: &[E], line: Line, largest: bool, out: &mut [F::Out]) {
    assert_eq!(x.len(), out.len(), "each element has a result");
    if x.is_empty() {
        return;
    }
    match largest {
        true => dispatch(isa, Prefixes::<E, F, true> { x, line, out }),
        false => dispatch(isa, Prefixes::<E, F, false> { x, line, out }),
    }
}

/// For each prefix of each line, the position of its largest element, or else of its smallest.
pub(crate) fn prefix_positions<E: Num>(isa: Isa, x: &[E], line: Line, largest: bool, out: &mut [i64]) {
    prefixes::<E, Positions>(isa, x, line, largest, out);
}

/// For each prefix of each line, its largest element, or else its smallest.
pub(crate) fn prefix_extrema<E: Num>(isa: Isa, x: &[E], line: Line, largest: bool, out: &mut [E]) {
    prefixes::<E, Extrema>(isa, x, line, largest, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Rng;

    /// The position that the law states, of a prefix whose elements have these places in an array.
    fn defined<E: Num>(x: &[E], places: &[usize], largest: bool) -> usize {
        let before = |a: E, b: E| if largest { a > b } else { a < b };
        let is_nan = |a: E| a.partial_cmp(&a).is_none();
        let nan = (0..places.len()).find(|k| is_nan(x[places[*k]]));
        let best = |best: usize, k: usize| if before(x[places[k]], x[places[best]]) { k } else { best };
        nan.unwrap_or_else(|| (0..places.len()).fold(0, best))
    }

    fn agree<E: Num>(of: impl Fn(f64) -> E) {
        let mut rng = Rng::new(5);
        for isa in Isa::supported() {
            for (len, inner) in
                [1, 2, 15, 16, 17, 40].into_iter().flat_map(|len| [1, 2, 5, 8, 11, 64, 75].map(|n| (len, n)))
            {
                for (largest, reverse, special) in
                    (0..8).map(|k| (k & 1 != 0, k & 2 != 0, [0.0, f64::NAN][usize::from(k & 4 != 0)]))
                {
                    let number = |n: usize| if n == 0 { special } else { (n as f64 - 20.0) / 2.0 };
                    let x: Vec<E> = (0..len * inner * 2).map(|_| of(number(rng.below(40)))).collect();
                    let (mut out, mut values) = (vec![-1; x.len()], vec![E::ONE; x.len()]);
                    prefix_positions(isa, &x, Line { len, inner, reverse }, largest, &mut out);
                    prefix_extrema(isa, &x, Line { len, inner, reverse }, largest, &mut values);
                    for k in 0..inner * 2 {
                        let place = |i: usize| (k / inner * len + i) * inner + k % inner;
                        let ordered = |i: usize| if reverse { len - 1 - i } else { i };
                        let places: Vec<usize> = (0..len).map(|i| place(ordered(i))).collect();
                        for (i, at) in places.iter().enumerate() {
                            let wanted = ordered(defined(&x, &places[..=i], largest)) as i64;
                            let case = format!("{len} x {inner}, largest {largest}, reverse {reverse}");
                            assert_eq!(out[*at], wanted, "{case}, line {k}, element {i}, on {}", isa.name());
                            let value = x[place(wanted as usize)];
                            assert!(values[*at].same_bits(value), "{case}, line {k}, element {i}: {:?}", values[*at]);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn positions_are_those_of_the_law() {
        agree(|x| x);
        agree(|x| x as f32);
        agree(|x| x as i64);
    }
}
