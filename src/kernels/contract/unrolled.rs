//! Batches of very small matrix products, by code for each length of the sum and each width of the result.
//!
//! The lanes of a vector are the columns of one matrix. The right factor stays in registers while the rows of the left
//! one pass. A vector may be wider than a row: what it reads beyond the row is not used, and what it writes there is
//! overwritten by the row that comes next. So rows are computed in the order in which they lie in memory, and copies
//! serve for rows with nothing behind them.
//!
//! Law: each element of the result is the sum of its products from the first to the last, as in `tiles`.

#![allow(clippy::needless_range_loop, reason = "adapters of iterators are compiled for the baseline")]

use std::ops::Range;

use smallvec::SmallVec;

use crate::dtype::Num;
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch_fused, transposed};
use crate::kernels::loop_nest::{Axis, Nest};

/// The largest number of products of a sum, and of columns.
const MOST: usize = 8;

/// The same, if both operands are transposed.
const TRANSPOSED: usize = 4;

/// Calls the code for a length of the sum in one list and the number of columns, rounded up, in another.
macro_rules! by_depth {
    ($plan:ident, $isa:ident, $run:ident, $left:literal, $right:literal, [$($k:literal)*], $widths:tt) => {
        match $plan.depth {
            $($k => by_width!($plan, $isa, $run, $left, $right, $k, $widths),)*
            _ => no_code(),
        }
    };
}

/// [`by_depth`] for one length of the sum.
macro_rules! by_width {
    ($plan:ident, $isa:ident, $run:ident, $left:literal, $right:literal, $k:literal, [$($p:literal)*]) => {
        match $plan.columns.next_power_of_two() {
            $($p => UnrolledCode::<E, $k, $p, $left, $right>($run).call($isa),)*
            _ => no_code(),
        }
    };
}

/// A plan is made for the sizes that have code.
#[cold]
fn no_code() -> ! {
    unreachable!("the plan has code")
}

/// The plan of a batch of products whose results lie one behind the other.
#[derive(Clone, Copy)]
pub(crate) struct Unrolled {
    base: [i64; 3],
    rows: usize,
    columns: usize,
    depth: usize,
    batch: usize,
    /// The strides of the batch in the left factor, in the right factor, and in the result.
    by: [usize; 3],
    order: Order,
    /// The numbers of the left and of the right factor among the operands.
    operands: [usize; 2],
}

/// The order of the elements of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Both are stored row by row.
    Rows,
    /// The left factor is stored column by column.
    LeftTransposed,
    /// The right factor is stored column by column.
    RightTransposed,
    /// Both are stored column by column.
    BothTransposed,
}

impl Unrolled {
    /// The plan of a nest; `None` if it is not a batch of products that are small enough, or if the matrices or the
    /// results do not lie in one piece.
    pub(crate) fn new(nest: &Nest<3>) -> Option<Unrolled> {
        if !nest.is_box() {
            return None;
        }
        // The loops that move the first operand alone, the second alone, both and no result, and all arrays.
        let mut kinds: [SmallVec<[Axis<3>; 2]>; 4] = Default::default();
        // A loop of one step moves nothing, whatever its strides.
        for axis in nest.axes().iter().filter(|axis| axis.len != 1) {
            let kind = match axis.strides.map(|stride| stride != 0) {
                [true, false, true] => 0,
                [false, true, true] => 1,
                [true, true, false] => 2,
                [true, true, true] => 3,
                [_, _, false] | [false, false, true] => return None,
            };
            kinds[kind].push(*axis);
        }
        if kinds[..3].iter().any(|axes| axes.len() > 1) || kinds[3].len() > 1 {
            return None;
        }
        let [first, second, depth, batch] = kinds.map(|axes| axes.first().copied());
        let plan = |rows, columns, operands| Unrolled::of(nest.base(), [rows, columns, depth, batch], operands);
        plan(first, second, [0, 1]).or_else(|| plan(second, first, [1, 0]))
    }

    /// The plan for loops in the roles of rows, columns, sum and batch.
    fn of(base: [i64; 3], axes: [Option<Axis<3>>; 4], [left, right]: [usize; 2]) -> Option<Unrolled> {
        let len = |role: usize| axes[role].map_or(1, |axis| axis.len);
        let [rows, columns, depth, batch] = [0, 1, 2, 3].map(len);
        let stride = |role: usize, array: usize| axes[role].map_or(0, |axis| axis.strides[array]);
        // A loop of one step has any stride.
        let steps = |role: usize, array: usize, by: usize| len(role) == 1 || stride(role, array) == by as i64;
        let by = [left, right, 2].map(|array| stride(3, array));
        let piece = rows * columns;
        let worth = [rows, columns, depth].iter().filter(|len| **len > 1).count() > 1;
        if !worth || columns.max(depth) > MOST || by.iter().any(|by| *by < 0) {
            return None;
        }
        if !steps(1, 2, 1) || !steps(0, 2, columns) || !steps(3, 2, piece) {
            return None;
        }
        let by_rows = [steps(2, left, 1) && steps(0, left, depth), steps(1, right, 1) && steps(2, right, columns)];
        let by_columns = [steps(0, left, 1) && steps(2, left, rows), steps(2, right, 1) && steps(1, right, depth)];
        let order = match (by_rows, by_columns) {
            ([true, true], _) => Order::Rows,
            ([_, true], [true, _]) => Order::LeftTransposed,
            ([true, _], [_, true]) => Order::RightTransposed,
            (_, [true, true]) => Order::BothTransposed,
            (_, _) => return None,
        };
        let most = if order == Order::BothTransposed { TRANSPOSED } else { MOST };
        let by = by.map(|by| by as usize);
        let plan = Unrolled { base, rows, columns, depth, batch, by, order, operands: [left, right] };
        (columns.max(depth) <= most).then_some(plan)
    }

    /// Sets `out` to the products; `false`, with nothing done, if the instruction set has no code for them.
    pub(crate) fn run<E: Num>(&self, isa: Isa, v: [&[E]; 2], out: &mut [E]) -> bool {
        if !isa.has_fma() {
            return false;
        }
        let Unrolled { base, rows, columns, depth, batch, by, operands, .. } = *self;
        let a = &v[operands[0]][base[operands[0]] as usize..];
        let b = &v[operands[1]][base[operands[1]] as usize..];
        let out = &mut out[base[2] as usize..];
        // What vectors reach beyond a row of the result, and beyond the right factor.
        let over = columns.next_power_of_two() - columns;
        let right_transposed = matches!(self.order, Order::RightTransposed | Order::BothTransposed);
        let (right, beyond) = (depth * columns, if right_transposed { over * depth } else { over });
        let mut copy = [E::ZERO; MOST * MOST + MOST];
        copy[..right].copy_from_slice(&b[by[1] * (batch - 1)..][..right]);
        // A right factor that all products share is read from the copy, if nothing is behind it.
        let (b, step) = if by[1] == 0 && right + beyond > b.len() { (&copy[..], 0) } else { (b, by[1]) };
        let roomy = |t: &usize| step * t + right + beyond <= b.len() && rows * columns * (t + 1) + over <= out.len();
        let whole = (0..batch).rev().find(roomy).map_or(0, |t| t + 1);
        let job = |rows: Range<usize>, batch: usize| UnrolledJob {
            rows,
            height: self.rows,
            columns,
            batch,
            by: [by[0], step],
        };
        self.multiply(isa, job(0..rows, whole), a, b, out);
        for t in whole..batch {
            let (a, out) = (&a[by[0] * t..], &mut out[rows * columns * t..][..rows * columns]);
            let mut copy = [E::ZERO; MOST * MOST + MOST];
            copy[..right].copy_from_slice(&b[step * t..][..right]);
            let (row, last) = (&mut [E::ZERO; MOST], rows - 1);
            self.multiply(isa, job(0..last, 1), a, &copy, out);
            self.multiply(isa, job(last..rows, 1), a, &copy, row);
            out[last * columns..].copy_from_slice(&row[..columns]);
        }
        true
    }

    /// Runs the code for the length of the sum and the width of the result.
    fn multiply<E: Num>(&self, isa: Isa, job: UnrolledJob, a: &[E], b: &[E], out: &mut [E]) {
        let run = Run { job, a, b, out };
        match self.order {
            Order::Rows => by_depth!(self, isa, run, false, false, [1 2 3 4 5 6 7 8], [1 2 4 8]),
            Order::LeftTransposed => by_depth!(self, isa, run, true, false, [1 2 3 4 5 6 7 8], [1 2 4 8]),
            Order::RightTransposed => by_depth!(self, isa, run, false, true, [1 2 3 4 5 6 7 8], [1 2 4 8]),
            Order::BothTransposed => by_depth!(self, isa, run, true, true, [1 2 3 4], [1 2 4]),
        }
    }
}

/// The part of a batch that one call computes.
struct UnrolledJob {
    /// The rows of each result that are computed.
    rows: Range<usize>,
    /// The number of rows of the left factor.
    height: usize,
    columns: usize,
    batch: usize,
    /// The strides of the batch in the factors.
    by: [usize; 2],
}

/// The operands of a call.
struct Run<'r, E> {
    job: UnrolledJob,
    a: &'r [E],
    b: &'r [E],
    out: &'r mut [E],
}

/// A call for sums of `K` products and vectors of `P` columns, with factors that are transposed or not.
struct UnrolledCode<'r, E, const K: usize, const P: usize, const LEFT: bool, const RIGHT: bool>(Run<'r, E>);

impl<E: Num, const K: usize, const P: usize, const LEFT: bool, const RIGHT: bool>
    UnrolledCode<'_, E, K, P, LEFT, RIGHT>
{
    fn call(self, isa: Isa) {
        let done = dispatch_fused(isa, self);
        debug_assert!(done.is_some(), "plans run where multiply-add is fused");
    }
}

impl<E: Num, const K: usize, const P: usize, const LEFT: bool, const RIGHT: bool> Kernel
    for UnrolledCode<'_, E, K, P, LEFT, RIGHT>
{
    // Eight numbers of eight bytes are a vector of AVX-512; all others fit in one of AVX2.
    const WIDE: bool = P * size_of::<E>() > 32;

    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let Run { job: UnrolledJob { rows, height, columns, batch, by }, a, b, out } = self.0;
        for t in 0..batch {
            let (a, b) = (&a[by[0] * t..][..height * K], &b[by[1] * t..]);
            let out = &mut out[height * columns * t..];
            let mut right = [[E::ZERO; P]; K];
            if RIGHT {
                let b = &b[..P * K];
                // Squares of four by shuffles, and the remainder one by one.
                let squares = if P >= 4 { K / 4 * 4 } else { 0 };
                let mut k = 0;
                while k < squares {
                    let mut l = 0;
                    while l < P {
                        let line = |j: usize| b[(l + j) * K + k..].first_chunk::<4>().expect("four columns are left");
                        let square = transposed([line(0), line(1), line(2), line(3)]);
                        for j in 0..4 {
                            right[k + j][l..l + 4].copy_from_slice(&square[j]);
                        }
                        l += 4;
                    }
                    k += 4;
                }
                for k in squares..K {
                    for l in 0..P {
                        right[k][l] = b[l * K + k];
                    }
                }
            } else {
                for k in 0..K {
                    let b = &b[k * columns..][..P];
                    right[k].copy_from_slice(b);
                }
            }
            let mut left: [&[E]; K] = [&[]; K];
            for k in 0..K {
                left[k] = &a[k * height..][..height];
            }
            let by_rows = &a.as_chunks::<K>().0[..height];
            for i in rows.start..rows.end {
                let mut sums = [E::ZERO; P];
                for k in 0..K {
                    let x = if LEFT { left[k][i] } else { by_rows[i][k] };
                    for l in 0..P {
                        let sum = sums[l];
                        sums[l] = if M::FMA { x.fused(right[k][l], sum) } else { sum.plus(x.mul(right[k][l])) };
                    }
                }
                let out = &mut out[(i - rows.start) * columns..][..P];
                for l in 0..P {
                    out[l] = E::ZERO.plus(sums[l]);
                }
            }
        }
    }
}
