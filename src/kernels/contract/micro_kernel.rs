//! The micro-kernel of implicit GEMM: packed panels of both operands, and a block of the result summed in registers.
//!
//! Law: a tile is the product of the lines and steps whose offsets are given. An element outside a range check is
//! packed as zero if it is read, and dropped if it is written; so the product is right only if the numbers that such
//! zeros are multiplied by are finite, which callers check.
//!
//! Loops run over indices: an iterator adapter of the standard library that is not inlined is compiled for the
//! baseline.

#![allow(
    clippy::needless_range_loop,
    clippy::manual_memcpy,
    reason = "adapters of iterators are compiled for the baseline"
)]

use crate::dtype::Num;
use crate::kernels::isa::Machine;
use crate::kernels::leading;

/// The largest number of range checks of a product.
pub(crate) const SIDES: usize = 4;

/// The number of columns of a tile.
pub(crate) const COLUMNS: usize = 6;

/// The offsets of a row, a column or a step of the sum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offsets {
    /// The offsets from the start: of a row or column in its operand and in the result, of a step in the operands of
    /// the rows and of the columns.
    pub(crate) at: [i64; 2],
    /// The summand of the row, column or step in the index of each range check.
    pub(crate) sides: [i64; SIDES],
}

impl Offsets {
    /// The offsets after a number of steps of a loop.
    #[inline(always)]
    pub(crate) fn stepped(&self, by: &Offsets, steps: usize) -> Offsets {
        let n = steps as i64;
        let mut place = *self;
        for k in 0..2 {
            place.at[k] = place.at[k].wrapping_add(by.at[k].wrapping_mul(n));
        }
        for s in 0..SIDES {
            place.sides[s] = place.sides[s].wrapping_add(by.sides[s].wrapping_mul(n));
        }
        place
    }
}

/// The start of a product in one array, and the range checks of this array.
#[derive(Clone, Copy)]
pub(crate) struct ProductStart<'a> {
    pub(crate) base: i64,
    /// For each check, its number, the index at the start and the size of the axis.
    pub(crate) checks: &'a [(usize, i64, i64)],
}

/// Whether all, some or no lines are within range at a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Whole,
    Part,
    Nothing,
}

/// Up to `W` consecutive rows or columns, in pieces of one loop each.
pub(crate) struct Lines<'p, const W: usize> {
    pieces: &'p [StepRange],
    len: usize,
    /// The least and the largest summand of the lines in each range check.
    ranges: [(i64, i64); SIDES],
}

/// Consecutive steps of one loop: the lines from `start` to `end`.
pub(crate) struct StepRange {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) first: Offsets,
    pub(crate) by: Offsets,
}

impl StepRange {
    /// The offset of a line in the operand (`k` is 0) or in the result (1).
    #[inline(always)]
    fn at(&self, k: usize, i: usize) -> i64 {
        self.first.at[k].wrapping_add(self.by.at[k].wrapping_mul((i - self.start) as i64))
    }
}

impl<'p, const W: usize> Lines<'p, W> {
    /// The lines of some pieces; `checked` says whether there are range checks.
    #[inline(always)]
    pub(crate) fn new(pieces: &'p [StepRange], checked: bool) -> Self {
        let len = pieces.last().map_or(0, |piece| piece.end);
        let mut ranges = [(0, 0); SIDES];
        if checked {
            ranges = [(i64::MAX, i64::MIN); SIDES];
            for piece in pieces {
                let last = piece.first.stepped(&piece.by, piece.end - piece.start - 1);
                for s in 0..SIDES {
                    let (x, y) = (piece.first.sides[s], last.sides[s]);
                    ranges[s] = (ranges[s].0.min(x.min(y)), ranges[s].1.max(x.max(y)));
                }
            }
        }
        Lines { pieces, len, ranges }
    }

    /// The offset of the first line, if there are `W` lines that are contiguous in the operand or in the result.
    #[inline(always)]
    fn whole(&self, k: usize) -> Option<i64> {
        match self.pieces {
            [piece] if piece.by.at[k] == 1 && self.len == W => Some(piece.first.at[k]),
            _ => None,
        }
    }

    /// Whether the lines are in contiguous runs, of three lines or more on average.
    #[inline(always)]
    fn in_runs(&self, k: usize) -> bool {
        let mut in_runs = self.pieces.len() * 3 <= self.len;
        for piece in self.pieces {
            in_runs &= piece.by.at[k] == 1;
        }
        in_runs
    }

    #[inline(always)]
    fn fit(&self, origin: &ProductStart<'_>, other: &Offsets) -> Fit {
        let mut fit = Fit::Whole;
        for (s, start, size) in origin.checks {
            let here = start + other.sides[*s];
            let (lo, hi) = (here + self.ranges[*s].0, here + self.ranges[*s].1);
            if hi < 0 || lo >= *size {
                return Fit::Nothing;
            }
            if lo < 0 || hi >= *size {
                fit = Fit::Part;
            }
        }
        fit
    }

    /// Calls `each` with every line that is within range, and its offset. Too slow for inner loops.
    fn valid(&self, k: usize, origin: &ProductStart<'_>, other: &Offsets, mut each: impl FnMut(usize, i64)) {
        for piece in self.pieces {
            let mut place = piece.first;
            for i in piece.start..piece.end {
                let inside = |(s, start, size): &(usize, i64, i64)| {
                    (0..*size).contains(&(start + other.sides[*s] + place.sides[*s]))
                };
                if origin.checks.iter().all(inside) {
                    each(i, place.at[k]);
                }
                place = place.stepped(&piece.by, 1);
            }
        }
    }
}

/// Packs the elements of an operand at the given lines and steps; `K` says whether the lines are rows (0) or columns
/// (1).
#[inline(always)]
pub(crate) fn pack<E: Num, const K: usize, const W: usize>(
    v: &[E],
    origin: ProductStart<'_>,
    lines: &Lines<'_, W>,
    steps: &[Offsets],
    to: &mut [[E; W]],
) {
    let n = steps.len();
    let to = &mut to[..n];
    if !origin.checks.is_empty() {
        for k in 0..n {
            let base = origin.base.wrapping_add(steps[k].at[K]);
            match lines.fit(&origin, &steps[k]) {
                Fit::Whole => read_line(v, base, lines, &mut to[k]),
                Fit::Nothing => to[k] = [E::ZERO; W],
                Fit::Part => {
                    to[k] = [E::ZERO; W];
                    lines.valid(0, &origin, &steps[k], |i, at| to[k][i] = v[base.wrapping_add(at) as usize]);
                }
            }
        }
    } else if let Some(first) = lines.whole(0) {
        let base = origin.base.wrapping_add(first);
        for k in 0..n {
            to[k] = *chunk(v, base.wrapping_add(steps[k].at[K]));
        }
    } else if n > 1 && steps[1].at[K] == steps[0].at[K].wrapping_add(1) && !lines.in_runs(0) {
        pack_across::<E, K, W>(v, origin.base, lines, steps, to);
    } else {
        for k in 0..n {
            read_line(v, origin.base.wrapping_add(steps[k].at[K]), lines, &mut to[k]);
        }
    }
}

/// Reads the elements of all lines at one step; all are within range.
#[inline(always)]
fn read_line<E: Num, const W: usize>(v: &[E], base: i64, lines: &Lines<'_, W>, to: &mut [E; W]) {
    if let Some(first) = lines.whole(0) {
        *to = *chunk(v, base.wrapping_add(first));
        return;
    }
    let are_few = lines.pieces.len() <= 2;
    for piece in lines.pieces {
        let mut at = base.wrapping_add(piece.first.at[0]);
        // A long run is read as if all lines continued it, and written from its first line on.
        let start = at.wrapping_sub(piece.start as i64);
        if are_few && piece.by.at[0] == 1 && start >= 0 && start as usize + W <= v.len() {
            let (run, first) = (*chunk::<E, W>(v, start), piece.start);
            for i in 0..W {
                to[i] = if i < first { to[i] } else { run[i] };
            }
            continue;
        }
        for x in &mut to[piece.start..piece.end] {
            *x = v[at as usize];
            at = at.wrapping_add(piece.by.at[0]);
        }
    }
}

/// [`pack`] for steps that are contiguous runs in the array: each line is read run by run.
#[inline(always)]
fn pack_across<E: Num, const K: usize, const W: usize>(
    v: &[E],
    base: i64,
    lines: &Lines<'_, W>,
    steps: &[Offsets],
    to: &mut [[E; W]],
) {
    // Lines beyond the last repeat the first; the elements that are packed for them are not used.
    let mut at = [base.wrapping_add(lines.pieces[0].first.at[0]); W];
    for piece in lines.pieces {
        for i in piece.start..piece.end {
            at[i] = base.wrapping_add(piece.at(0, i));
        }
    }
    let mut start = 0;
    while start < steps.len() {
        let first = steps[start].at[K];
        let mut len = 1;
        while start + len < steps.len() && steps[start + len].at[K] == first.wrapping_add(len as i64) {
            len += 1;
        }
        let mut rows: [&[E]; W] = [&[]; W];
        for i in 0..W {
            let at = at[i].wrapping_add(first) as usize;
            rows[i] = &v[at..at + len];
        }
        let to = &mut to[start..start + len];
        for j in 0..len {
            for i in 0..W {
                to[j][i] = rows[i][j];
            }
        }
        start += len;
    }
}

/// The `W` elements from an offset on.
#[inline(always)]
fn chunk<E, const W: usize>(v: &[E], at: i64) -> &[E; W] {
    leading(&v[at as usize..])
}

/// The product of packed rows and the first `C` packed columns: element `[j][i]` is that of column `j` and row `i`.
#[inline(always)]
pub(crate) fn multiply<M: Machine, E: Num, const R: usize, const C: usize>(
    a: &[[E; R]],
    b: &[[E; COLUMNS]],
    result: &mut [[E; R]; COLUMNS],
) {
    let mut sums = [[E::ZERO; R]; C];
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    for k in 0..n {
        let (a, b) = (&a[k], &b[k]);
        for j in 0..C {
            for i in 0..R {
                let sum = sums[j][i];
                sums[j][i] = if M::FMA { a[i].fused(b[j], sum) } else { sum.plus(a[i].mul(b[j])) };
            }
        }
    }
    for j in 0..C {
        result[j] = sums[j];
    }
}

/// Adds the first columns of a tile to the result, as many as `columns` has.
#[inline(always)]
pub(crate) fn add<E: Num, const R: usize>(
    sums: &[[E; R]; COLUMNS],
    rows: &Lines<'_, R>,
    columns: &[Offsets],
    origin: ProductStart<'_>,
    out: &mut [E],
) {
    let sums = &sums[..columns.len()];
    for j in 0..columns.len() {
        let (sums, base) = (&sums[j], origin.base.wrapping_add(columns[j].at[1]));
        match if origin.checks.is_empty() { Fit::Whole } else { rows.fit(&origin, &columns[j]) } {
            Fit::Nothing => {}
            Fit::Part => rows.valid(1, &origin, &columns[j], |i, at| {
                let out = &mut out[base.wrapping_add(at) as usize];
                *out = out.plus(sums[i]);
            }),
            Fit::Whole => add_line(sums, rows, base, out),
        }
    }
}

/// Adds a column of a tile; all its elements are within range.
#[inline(always)]
fn add_line<E: Num, const R: usize>(sums: &[E; R], rows: &Lines<'_, R>, base: i64, out: &mut [E]) {
    if let Some(first) = rows.whole(1) {
        let at = base.wrapping_add(first) as usize;
        let out = &mut out[at..at + R];
        for i in 0..R {
            out[i] = out[i].plus(sums[i]);
        }
        return;
    }
    for piece in rows.pieces {
        let mut at = base.wrapping_add(piece.first.at[1]);
        for x in &sums[piece.start..piece.end] {
            out[at as usize] = out[at as usize].plus(*x);
            at = at.wrapping_add(piece.by.at[1]);
        }
    }
}
