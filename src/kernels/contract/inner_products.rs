//! Matrix products as long inner products along runs of both operands, for adjoints of convolutions in the kernel.
//!
//! The inner products of a tile of rows and columns are summed in registers along the runs, with one SIMD lane for each
//! of several neighbouring elements; the lanes are added at the end. Operands are read in place, so windows that
//! overlap need no copy. A long sum is computed in parts, in which the columns of a tile stay in the first level of
//! cache. If the length of runs is not a multiple of the number of lanes, their remainders are packed, for all runs of a
//! part together.
//!
//! Law: every visit of the nest contributes one product. The order of the sum depends on the shapes alone.

#![allow(clippy::needless_range_loop, reason = "adapters of iterators are compiled for the baseline")]

use smallvec::SmallVec;

use super::implicit_gemm::Room;
use super::not_of_floats;
use crate::cost::MACHINE;
use crate::dtype::{DType, Num};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch, transposed, unrolled};
use crate::kernels::loop_nest::{Axis, Nest};

/// The number of columns of a tile. A tile has two rows, so that sums fill 16 registers: each is two vectors of AVX2. With 32
/// registers it has four rows and [four columns](WIDE_COLUMNS), each sum one vector of AVX-512.
const COLUMNS: usize = 3;

/// The number of columns of a tile of four rows.
const WIDE_COLUMNS: usize = 4;

/// A product, planned.
pub(crate) struct Sums {
    base: [i64; 3],
    /// For each row, its offsets in its operand and in the result; `columns` has the same for each column.
    rows: Vec<[i64; 2]>,
    columns: Vec<[i64; 2]>,
    /// The loops of the sum around the runs, and the length of a run.
    steps: SmallVec<[Axis<3>; 4]>,
    run: usize,
    /// The numbers of the operands that have the rows and the columns.
    operands: [usize; 2],
}

impl Sums {
    /// The plan of a nest whose innermost loop is a run of both operands; `None` for other nests, or if tiles do not
    /// pay.
    pub(crate) fn new(nest: &Nest<3>, dtype: DType) -> Option<Sums> {
        let (inner, mut steps) = (nest.inner(), SmallVec::new());
        if !nest.is_box() || !dtype.is_float() || inner.strides != [1, 1, 0] || inner.len < MACHINE.summed_run {
            return None;
        }
        let mut lines = [Vec::new(), Vec::new()];
        for axis in &nest.axes()[..nest.axes().len() - 1] {
            match axis.strides.map(|s| s != 0) {
                [true, false, true] => lines[0].push(*axis),
                [false, true, true] => lines[1].push(*axis),
                [_, _, false] => steps.push(*axis),
                [_, _, true] => return None,
            }
        }
        let count = |axes: &[Axis<3>]| axes.iter().fold(1, |n: usize, axis| n.saturating_mul(axis.len));
        let [m, n] = [count(&lines[0]), count(&lines[1])];
        let filled = |m: usize, n: usize| m.saturating_mul(n.next_multiple_of(COLUMNS));
        let wasteful = filled(m, n).min(filled(n, m)) > m.saturating_mul(n).saturating_mul(3) / 2;
        // Sums of whole runs with one loop around them are products with a vector.
        let is_gemv = steps.is_empty() && lines.iter().map(Vec::len).sum::<usize>() < 2;
        if wasteful || is_gemv || count(&steps).saturating_mul(inner.len) < MACHINE.summed {
            return None;
        }
        let operands = if filled(m, n) <= filled(n, m) { [0, 1] } else { [1, 0] };
        let [rows, columns] = operands.map(|k| places(&lines[k], k));
        Some(Sums { base: nest.base(), rows, columns, steps, run: inner.len, operands })
    }

    /// The numbers of rows, columns, and steps of the sum.
    pub(crate) fn sizes(&self) -> [usize; 3] {
        [self.rows.len(), self.columns.len(), self.steps.iter().map(|axis| axis.len).product::<usize>() * self.run]
    }

    /// Adds the products to `out`.
    pub(crate) fn run<E: Num>(&self, isa: Isa, a: &[E], b: &[E], out: &mut [E], room: &mut Room<E>) {
        let operands = self.operands.map(|k| [a, b][k]);
        // The conditions are constants, so that only the tiles of one type are compiled.
        if const { matches!(E::DTYPE, DType::F32) } {
            dispatch(isa, SumJob::<E, 16> { plan: self, operands, out, room });
        } else if const { matches!(E::DTYPE, DType::F64) } {
            dispatch(isa, SumJob::<E, 8> { plan: self, operands, out, room });
        } else {
            not_of_floats()
        }
    }
}

/// The offsets of all indices of some loops, in an operand and in the result.
fn places(axes: &[Axis<3>], operand: usize) -> Vec<[i64; 2]> {
    let mut places = vec![[0, 0]];
    for axis in axes {
        let by = [axis.strides[operand], axis.strides[2]];
        let steps = |at: &[i64; 2]| {
            let at = *at;
            (0..axis.len as i64).map(move |i| [at[0] + by[0] * i, at[1] + by[1] * i])
        };
        places = places.iter().flat_map(steps).collect();
    }
    places
}

/// A part of a run: its offsets in the operands of rows and columns, and its length.
#[derive(Clone, Copy)]
struct SumPiece {
    at: [i64; 2],
    len: usize,
}

/// The runs of a sum, part by part.
struct Parts<'p> {
    plan: &'p Sums,
    index: SmallVec<[usize; 4]>,
    /// The offsets of the current run, the number of its elements that are listed already, and whether all runs are.
    at: [i64; 2],
    done: usize,
    over: bool,
}

impl<'p> Parts<'p> {
    fn new(plan: &'p Sums) -> Parts<'p> {
        let index = SmallVec::from_elem(0, plan.steps.len());
        Parts { plan, index, at: plan.operands.map(|k| plan.base[k]), done: 0, over: false }
    }

    /// Lists the pieces of the next part; `false` after the last part.
    fn next(&mut self, pieces: &mut SmallVec<[SumPiece; 64]>) -> bool {
        pieces.clear();
        let mut steps = 0;
        while !self.over && steps < MACHINE.summed_steps {
            let len = (self.plan.run - self.done).min(MACHINE.summed_steps);
            pieces.push(SumPiece { at: self.at.map(|at| at + self.done as i64), len });
            (self.done, steps) = (self.done + len, steps + len);
            if self.done == self.plan.run {
                self.done = 0;
                self.advance();
            }
        }
        steps > 0
    }

    /// Goes to the next run.
    fn advance(&mut self) {
        for i in (0..self.index.len()).rev() {
            let axis = &self.plan.steps[i];
            let last = self.index[i] + 1 == axis.len;
            let by = if last { -(self.index[i] as i64) } else { 1 };
            self.index[i] = if last { 0 } else { self.index[i] + 1 };
            for (at, k) in self.at.iter_mut().zip(self.plan.operands) {
                *at += by * axis.strides[k];
            }
            if !last {
                return;
            }
        }
        self.over = true;
    }
}

/// An execution of a plan with `L` lanes.
struct SumJob<'j, E, const L: usize> {
    plan: &'j Sums,
    operands: [&'j [E]; 2],
    out: &'j mut [E],
    room: &'j mut Room<E>,
}

impl<E: Num, const L: usize> Kernel for SumJob<'_, E, L> {
    const WIDE: bool = true;

    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        let mut pieces = SmallVec::new();
        let mut parts = Parts::new(self.plan);
        while parts.next(&mut pieces) {
            let left: usize = pieces.iter().map(|piece| piece.len % L).sum();
            let width = left.next_multiple_of(L);
            if left > 0 {
                let Sums { rows, columns, .. } = self.plan;
                let Room { rows: packed_rows, columns: packed_columns, .. } = &mut *self.room;
                pack::<E, L>(self.operands[0], rows, 0, &pieces, width, packed_rows);
                pack::<E, L>(self.operands[1], columns, 1, &pieces, width, packed_columns);
            }
            let Sums { rows, columns, .. } = self.plan;
            if M::WIDE {
                self.tiles::<M, 4, WIDE_COLUMNS>([rows.len(), columns.len()], &pieces, width);
            } else {
                self.tiles::<M, 2, COLUMNS>([rows.len(), columns.len()], &pieces, width);
            }
        }
    }
}

/// Packs the remainders of the pieces of each line, padded with zeros to `width` elements.
fn pack<E: Num, const L: usize>(
    v: &[E],
    lines: &[[i64; 2]],
    side: usize,
    pieces: &[SumPiece],
    width: usize,
    to: &mut Vec<E>,
) {
    to.clear();
    for (k, line) in lines.iter().enumerate() {
        for piece in pieces {
            let start = (line[0] + piece.at[side]) as usize;
            to.extend_from_slice(&v[start + piece.len / L * L..start + piece.len]);
        }
        to.resize((k + 1) * width, E::ZERO);
    }
}

impl<E: Num, const L: usize> SumJob<'_, E, L> {
    /// Adds the products of all rows and columns over some pieces. The lines of the shorter side are read again for those of the
    /// longer one, since they stay in cache.
    #[inline(always)]
    fn tiles<M: Machine, const R: usize, const C: usize>(
        &mut self,
        [rows, columns]: [usize; 2],
        pieces: &[SumPiece],
        width: usize,
    ) {
        let (down, across) = (rows.div_ceil(R), columns.div_ceil(C));
        for tile in 0..down * across {
            let (row, column) =
                if rows <= columns { (tile % down, tile / down) } else { (tile / across, tile % across) };
            let (row, column) = (row * R, column * C);
            match R.min(rows - row) {
                1 => self.tile::<M, 1, C>([row, column], pieces, width),
                2 => self.tile::<M, 2, C>([row, column], pieces, width),
                3 if R > 3 => self.tile::<M, 3, C>([row, column], pieces, width),
                _ => self.tile::<M, R, C>([row, column], pieces, width),
            }
        }
    }

    /// Adds the products of `R` rows and at most `C` columns over some pieces: first over their whole chunks, then over
    /// their packed remainders, with `width` elements to a line.
    #[inline(always)]
    fn tile<M: Machine, const R: usize, const C: usize>(
        &mut self,
        [row, column]: [usize; 2],
        pieces: &[SumPiece],
        width: usize,
    ) {
        let Sums { rows, columns, base, .. } = self.plan;
        let packed = [&self.room.rows[..], &self.room.columns[..]];
        let remainders = [SumPiece { at: [0, 0], len: width }];
        let remainders = &remainders[..usize::from(width > 0)];
        let (mut x, mut from) = ([0; R], [0; R]);
        for r in 0..R {
            (x[r], from[r]) = (rows[row + r][0], ((row + r) * width) as i64);
        }
        let (mut y, mut along) = ([0; C], [0; C]);
        for c in 0..C {
            // Columns of a tile beyond the last repeat the last; their sums are not used.
            let place = (column + c).min(columns.len() - 1);
            (y[c], along[c]) = (columns[place][0], (place * width) as i64);
        }
        let sums = sums_of::<M, E, R, C, L>([[[E::ZERO; L]; R]; C], self.operands, x, y, pieces);
        let sums = sums_of::<M, E, R, C, L>(sums, packed, from, along, remainders);
        for r in 0..R {
            let mut lanes = [[E::ZERO; L]; WIDE_COLUMNS];
            for c in 0..C {
                lanes[c] = sums[c][r];
            }
            let totals = totals(&lanes);
            for c in 0..C.min(columns.len() - column) {
                let out = &mut self.out[(base[2] + rows[row + r][1] + columns[column + c][1]) as usize];
                *out = out.plus(totals[c]);
            }
        }
    }
}

/// A line in chunks of one element for each lane.
type Chunks<'v, E, const L: usize> = &'v [[E; L]];

/// The lanes of the sums of a tile, for each column and row.
type TileSums<E, const R: usize, const C: usize, const L: usize> = [[[E; L]; R]; C];

/// Sums, and the inner products of the rows and columns of a tile over the whole chunks of the pieces.
#[inline(always)]
fn sums_of<M: Machine, E: Num, const R: usize, const C: usize, const L: usize>(
    mut sums: TileSums<E, R, C, L>,
    [a, b]: [&[E]; 2],
    x: [i64; R],
    y: [i64; C],
    pieces: &[SumPiece],
) -> TileSums<E, R, C, L> {
    for k in 0..pieces.len() {
        let SumPiece { at, len } = pieces[k];
        let len = len / L * L;
        let (mut u, mut v): ([Chunks<'_, E, L>; R], [Chunks<'_, E, L>; C]) = ([&[]; R], [&[]; C]);
        for r in 0..R {
            u[r] = &a[(x[r] + at[0]) as usize..][..len].as_chunks::<L>().0[..len / L];
        }
        for c in 0..C {
            v[c] = &b[(y[c] + at[1]) as usize..][..len].as_chunks::<L>().0[..len / L];
        }
        for i in 0..len / L {
            unrolled!(for c in C, {
                unrolled!(for r in R, {
                    let (x, y) = (&u[r][i], &v[c][i]);
                    for l in 0..L {
                        let sum = sums[c][r][l];
                        sums[c][r][l] = if M::FMA { x[l].fused(y[l], sum) } else { sum.plus(x[l].mul(y[l])) };
                    }
                });
            });
        }
    }
    sums
}

/// The sums of the lanes of a row: halves are added until one lane is left, the last ones for four columns at once. A separate
/// function, of a copy of the lanes: the compiler would compute the lanes of several sums together, and shuffle them within
/// the loop above; sums that are referred to would not stay in registers.
#[inline(never)]
fn totals<E: Num, const L: usize>(lanes: &[[E; L]; WIDE_COLUMNS]) -> [E; WIDE_COLUMNS] {
    let mut quarters = [[E::ZERO; 4]; WIDE_COLUMNS];
    for c in 0..WIDE_COLUMNS {
        let (mut sides, mut width) = (lanes[c], L);
        while width > 4 {
            width /= 2;
            for l in 0..width {
                sides[l] = sides[l].plus(sides[l + width]);
            }
        }
        quarters[c].copy_from_slice(&sides[..4]);
    }
    let [a, b, c, d] = transposed(quarters.each_ref());
    let mut totals = [E::ZERO; WIDE_COLUMNS];
    for k in 0..WIDE_COLUMNS {
        totals[k] = a[k].plus(c[k]).plus(b[k].plus(d[k]));
    }
    totals
}

#[cfg(test)]
mod tests {
    use crate::kernels::contract::inner_products::*;
    use crate::kernels::contract::{PlannedContraction, Scratch};
    use crate::ops::{Contract, View};
    use crate::shape::size;

    /// The adjoint of a convolution in its kernel: sums over images and positions, for each input channel, each output
    /// channel, and each position in the window.
    fn adjoint([images, left, right, window, high, wide]: [usize; 6], swapped: bool) -> Contract {
        let space = [left, right, window, window, images, high, wide];
        let image = [images, left, high + window - 1, wide + window - 1];
        let rows: Vec<i64> =
            [[0, 0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0, 1]].concat();
        let image = View::affine(&image, &space, &rows, &[0; 4]);
        let result = View::axes(&space, &[4, 1, 5, 6]);
        let kernel = View::axes(&space, &[1, 0, 2, 3]);
        if swapped { Contract::new(result, image, kernel) } else { Contract::new(image, result, kernel) }
    }

    /// The definition of a contraction whose views are total.
    fn defined(op: &Contract, a: &[f64], b: &[f64]) -> Vec<f64> {
        assert!([&op.a, &op.b, &op.out].iter().all(|view| view.is_total()), "an index out of the array");
        op.defined(a, b)
    }

    /// Small integers, whose sums are exact in any order.
    fn integers(n: usize, by: usize) -> Vec<f64> {
        (0..n).map(|i| ((i * by) % 11) as f64 - 5.0).collect()
    }

    #[test]
    fn sums_along_runs_are_the_product() {
        let mut count = 0;
        for shape in [
            [2, 3, 4, 3, 9, 16],
            [1, 2, 6, 2, 40, 17],
            [3, 1, 6, 3, 5, 23],
            [1, 3, 2, 2, 1, 2500],
            [2, 5, 3, 1, 20, 31],
            [1, 1, 1, 3, 3, 100],
            [2, 2, 3, 2, 35, 29],
        ] {
            for swapped in [false, true] {
                let op = adjoint(shape, swapped);
                let (a, b) = (integers(size(op.a.source()), 7), integers(size(op.b.source()), 5));
                let expected = defined(&op, &a, &b);
                let mut scratch = Scratch::default();
                let product = PlannedContraction::new(&op, DType::F64, [false; 2]);
                count += usize::from(product.describe().contains("sums along runs"));
                let mut out = vec![f64::NAN; expected.len()];
                product.run(&a, &b, &mut out, true, &mut scratch);
                assert_eq!(out, expected, "{shape:?}");
                let single = |v: &[f64]| v.iter().map(|x| *x as f32).collect::<Vec<f32>>();
                let mut out = vec![1.0f32; expected.len()];
                let product = PlannedContraction::new(&op, DType::F32, [false; 2]);
                product.run(&single(&a), &single(&b), &mut out, false, &mut scratch);
                assert!(out.iter().zip(&expected).all(|(x, y)| f64::from(*x) == y + 1.0), "{shape:?}");
            }
        }
        assert!(count >= 8, "{count}");
    }

    /// A product of a few rows with rows: of at most `summed_rows` of either operand, and of more.
    #[test]
    fn products_of_a_few_rows_are_sums_along_runs() {
        let mut count = 0;
        for ([m, n], depth) in [([2, 60], 300), ([5, 31], 257), ([16, 33], 300), ([19, 7], 1030), ([20, 17], 130)] {
            let op = Contract::new(
                View::axes(&[m, n, depth], &[0, 2]),
                View::axes(&[m, n, depth], &[1, 2]),
                View::axes(&[m, n, depth], &[0, 1]),
            );
            let (a, b) = (integers(m * depth, 7), integers(n * depth, 5));
            let product = PlannedContraction::new(&op, DType::F64, [false; 2]);
            let is_sum = product.describe().contains("sums along runs");
            assert!(!is_sum || m.min(n) <= MACHINE.summed_rows, "{m} {n}: {}", product.describe());
            count += usize::from(is_sum);
            let mut out = vec![f64::NAN; m * n];
            product.run(&a, &b, &mut out, true, &mut Scratch::default());
            assert_eq!(out, defined(&op, &a, &b), "{m} {n} {depth}");
        }
        assert!(count >= 2, "{count}");
    }

    /// Batches of a row times rows, and of inner products: loops in one call.
    #[test]
    fn batches_of_inner_products_are_the_products() {
        for ([times, n], depth) in [([7, 2], 44), ([9, 1], 30), ([5, 3], 9), ([4, 7], 17), ([30, 1], 200)] {
            let shape = [2, times, n, depth];
            let op = Contract::new(
                View::axes(&shape, &[0, 1, 3]),
                View::axes(&shape, &[0, 1, 2, 3]),
                View::axes(&shape, &[1, 0, 2]),
            );
            let (a, b) = (integers(2 * times * depth, 7), integers(2 * times * n * depth, 5));
            let product = PlannedContraction::new(&op, DType::F64, [false; 2]);
            let mut out = vec![f64::NAN; 2 * times * n];
            product.run(&a, &b, &mut out, true, &mut Scratch::default());
            assert_eq!(out, defined(&op, &a, &b), "{times} {n} {depth}");
        }
    }
}
