//! Implicit GEMM: convolutions and their adjoints as matrix products whose window matrix (im2col) is never stored.
//!
//! Each axis of the iteration space moves the left operand and the result (rows), the right operand and the result
//! (columns), or both operands (steps of the sum). Views are affine, so the offset of an element of an operand is the
//! sum of the offsets of its row or column and of its step; different sums may be equal, since windows overlap. Blocks
//! of the window matrix are packed into panels that stay in cache.
//!
//! Law: every visit of the nest contributes one product; an index out of bounds contributes nothing.

use smallvec::SmallVec;

use super::micro_kernel::{self, COLUMNS, Lines, Offsets, ProductStart, SIDES, StepRange};
use super::not_of_floats;
use super::windows::all_finite;
use crate::cost::MACHINE;
use crate::dtype::{DType, Num};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};
use crate::kernels::loop_nest::{Axis, Nest};

/// The range checks of an array, as in [`ProductStart`].
type Checks = SmallVec<[(usize, i64, i64); SIDES]>;

/// The plan of a product.
pub(crate) struct Packed {
    base: [i64; 3],
    /// The loops around the product, which move all arrays or none.
    around: SmallVec<[Axis<3>; 2]>,
    rows: PackedGroup,
    columns: PackedGroup,
    steps: PackedGroup,
    /// The numbers of the operands that have the rows and the columns.
    operands: [usize; 2],
    checks: SmallVec<[Check; 2]>,
}

/// A range check: `0 <= at + .. < size` for an index along an axis of an array.
struct Check {
    array: usize,
    at: i64,
    size: i64,
    /// The coefficients of the loops around.
    around: SmallVec<[i64; 2]>,
}

/// Several nested loops, whose steps are numbered in row-major order.
struct PackedGroup {
    /// The loops, outermost first: the number of steps, and the offsets that a step adds.
    axes: SmallVec<[(usize, Offsets); 4]>,
    len: usize,
}

impl PackedGroup {
    fn new(axes: impl Iterator<Item = (usize, Offsets)>) -> PackedGroup {
        let axes: SmallVec<[(usize, Offsets); 4]> = axes.collect();
        let len = axes.iter().map(|axis| axis.0).product();
        PackedGroup { axes, len }
    }

    /// Lists `len` lines from number `from` on in pieces of one loop each; `start` and `end` of a piece count from
    /// `from`.
    fn list(&self, from: usize, len: usize, pieces: &mut Vec<StepRange>) {
        pieces.clear();
        let one = (1, Offsets::default());
        let (inner, outer) = self.axes.split_last().unwrap_or((&one, &[]));
        let mut start = 0;
        while start < len {
            let (mut rest, trip) = ((from + start) / inner.0, (from + start) % inner.0);
            let mut first = Offsets::default().stepped(&inner.1, trip);
            for (len, by) in outer.iter().rev() {
                first = first.stepped(by, rest % len);
                rest /= len;
            }
            let end = len.min(start + inner.0 - trip);
            pieces.push(StepRange { start, end, first, by: inner.1 });
            start = end;
        }
    }

    /// Writes the offsets of the lines from number `from` on.
    fn fill(&self, from: usize, places: &mut [Offsets], pieces: &mut Vec<StepRange>) {
        self.list(from, places.len(), pieces);
        for piece in pieces {
            let places = places[piece.start..piece.end].iter_mut().enumerate();
            places.for_each(|(i, place)| *place = piece.first.stepped(&piece.by, i));
        }
    }
}

/// Scratch memory of kernels for one element type: packed panels, lists of offsets, copies of operands and partial
/// results.
pub(crate) struct Room<E> {
    pub(crate) rows: Vec<E>,
    pub(crate) columns: Vec<E>,
    steps: Vec<Offsets>,
    column_places: Vec<Offsets>,
    pieces: Vec<StepRange>,
    /// Copies of operands that are padded with zeros.
    pub(crate) padded: [Vec<E>; 2],
    /// The results of parts of a sum.
    pub(crate) results: Vec<E>,
}

impl<E> Default for Room<E> {
    fn default() -> Self {
        Room {
            rows: Vec::new(),
            columns: Vec::new(),
            steps: Vec::new(),
            column_places: Vec::new(),
            pieces: Vec::new(),
            padded: Default::default(),
            results: Vec::new(),
        }
    }
}

impl<E> Room<E> {
    /// Keeps copies of operands for the next product.
    pub(crate) fn keep(&mut self, copies: [Option<Vec<E>>; 2]) {
        for (kept, copy) in self.padded.iter_mut().zip(copies) {
            if let Some(copy) = copy {
                *kept = copy;
            }
        }
    }
}

impl Packed {
    /// The plan of a nest, if it has rows, columns and steps.
    pub(crate) fn new(nest: &Nest<3>, dtype: DType) -> Option<Packed> {
        let sides: SmallVec<[_; 2]> = nest.sides().collect();
        if sides.len() > SIDES {
            return None;
        }
        let moves = |axis: &Axis<3>| axis.strides.map(|s| s != 0);
        let is_row = |m: [bool; 3], left: usize| m[left] && !m[1 - left] && m[2];
        let size = |left: usize| {
            let rows = nest.axes().iter().filter(|axis| is_row(moves(axis), left));
            rows.map(|axis| axis.len).fold(1, usize::saturating_mul)
        };
        // Rows are the SIMD lanes, so the result should be contiguous along them, unless the last tiles waste too much.
        let contiguous = nest.axes().iter().rev().find(|axis| moves(axis)[2])?;
        let lanes = lanes(dtype)?;
        let waste = |left: usize| (size(left).next_multiple_of(lanes) * size(1 - left)) as f64;
        let along = usize::from(!is_row(moves(contiguous), 0));
        let left = if waste(along) <= 2.0 * waste(1 - along) { along } else { 1 - along };
        let operands = [left, 1 - left];

        let place = |axis: &Axis<3>, arrays: [usize; 2]| {
            let mut sides_of = [0; SIDES];
            sides_of.iter_mut().zip(&sides).for_each(|(s, side)| *s = side.moved_by(axis));
            (axis.len, Offsets { at: arrays.map(|k| axis.strides[k]), sides: sides_of })
        };
        let (mut rows, mut columns, mut steps, mut around) = (Vec::new(), Vec::new(), Vec::new(), SmallVec::new());
        for axis in nest.axes() {
            match [operands[0], operands[1], 2].map(|k| axis.strides[k] != 0) {
                [_, false, true] => rows.push(*axis),
                [false, true, true] => columns.push(*axis),
                [true, _, false] | [_, true, false] => steps.push(*axis),
                [true, true, true] | [false, false, false] => around.push(*axis),
            }
        }
        // A check of an array may depend on the loops that move this array, and on those around.
        let sound = sides.iter().all(|side| {
            let still = |axes: &[Axis<3>]| axes.iter().all(|axis| side.moved_by(axis) == 0);
            match side.array {
                2 => still(&steps),
                array if array == operands[0] => still(&columns),
                _ => still(&rows),
            }
        });
        if !sound || rows.is_empty() || columns.is_empty() || steps.is_empty() {
            return None;
        }
        let check = |side: &&crate::kernels::loop_nest::RangeCheck| Check {
            array: side.array,
            at: side.at,
            size: side.size,
            around: around.iter().map(|axis| side.moved_by(axis)).collect(),
        };
        let checks = sides.iter().map(check).collect();
        let group =
            |axes: &[Axis<3>], arrays: [usize; 2]| PackedGroup::new(axes.iter().map(|axis| place(axis, arrays)));
        Some(Packed {
            base: nest.base(),
            rows: group(&rows, [operands[0], 2]),
            columns: group(&columns, [operands[1], 2]),
            steps: group(&steps, operands),
            around,
            operands,
            checks,
        })
    }

    /// The numbers of rows, columns, steps of the sum, and matrix products.
    pub(crate) fn sizes(&self) -> [usize; 4] {
        let times = self.around.iter().map(|axis| axis.len).product();
        [self.rows.len, self.columns.len, self.steps.len, times]
    }

    /// Whether the matrices are large enough for packing to pay.
    pub(crate) fn pays(&self) -> bool {
        let [rows, columns, steps, _] = self.sizes();
        rows >= 4 && columns >= 2 && steps >= 2 && rows.saturating_mul(columns).saturating_mul(steps) >= MACHINE.packed
    }

    /// Adds the products to `out`; `false`, with nothing done, if the zero for an element out of bounds might be
    /// multiplied by an infinity or NaN.
    pub(crate) fn run<E: Num>(&self, isa: Isa, a: &[E], b: &[E], out: &mut [E], room: &mut Room<E>) -> bool {
        let operands = self.operands.map(|k| [a, b][k]);
        for check in &self.checks {
            if check.array < 2 && !all_finite([b, a][check.array]) {
                return false;
            }
        }
        // The conditions are constants, so that only the tiles of one type are compiled.
        if const { matches!(E::DTYPE, DType::F32) } {
            dispatch(isa, Job::<E, 16> { plan: self, operands, out, room });
        } else if const { matches!(E::DTYPE, DType::F64) } {
            dispatch(isa, Job::<E, 8> { plan: self, operands, out, room });
        } else {
            not_of_floats()
        }
        true
    }

    /// The offsets at which the product starts in the three arrays, and their range checks, at an index of the loops
    /// around.
    fn start(&self, index: &[usize]) -> ([i64; 3], [Checks; 3]) {
        let mut base = self.base;
        for (axis, i) in self.around.iter().zip(index) {
            (0..3).for_each(|k| base[k] = base[k].wrapping_add(axis.strides[k].wrapping_mul(*i as i64)));
        }
        let mut checks = [SmallVec::new(), SmallVec::new(), SmallVec::new()];
        for (s, check) in self.checks.iter().enumerate() {
            let moved: i64 = check.around.iter().zip(index).map(|(m, i)| m * *i as i64).sum();
            checks[check.array].push((s, check.at + moved, check.size));
        }
        (base, checks)
    }
}

/// The number of rows of a tile: two vectors of AVX2.
fn lanes(dtype: DType) -> Option<usize> {
    match dtype {
        DType::F32 => Some(16),
        DType::F64 => Some(8),
        DType::I64 | DType::Bool => None,
    }
}

/// An execution of a plan with tiles of `R` rows.
struct Job<'j, E, const R: usize> {
    plan: &'j Packed,
    operands: [&'j [E]; 2],
    out: &'j mut [E],
    room: &'j mut Room<E>,
}

impl<E: Num, const R: usize> Kernel for Job<'_, E, R> {
    const WIDE: bool = true;

    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        let plan = self.plan;
        let mut index: SmallVec<[usize; 2]> = SmallVec::from_elem(0, plan.around.len());
        loop {
            let (base, checks) = plan.start(&index);
            let [left, right] = plan.operands;
            let origin = |k: usize| ProductStart { base: base[k], checks: &checks[k] };
            self.product::<M>([origin(left), origin(right), origin(2)]);
            let Some(moving) = (0..index.len()).rev().find(|i| index[*i] + 1 < plan.around[*i].len) else { return };
            index[moving] += 1;
            index[moving + 1..].fill(0);
        }
    }
}

impl<E: Num, const R: usize> Job<'_, E, R> {
    /// One product of matrices.
    #[inline(always)]
    fn product<M: Machine>(&mut self, [left, right, result]: [ProductStart<'_>; 3]) {
        let Packed { rows, columns, steps, .. } = self.plan;
        let checked = !self.plan.checks.is_empty();
        let Room { rows: packed_row, columns: packed, steps: step_places, column_places, pieces, .. } = &mut *self.room;
        let (depth, width) = (MACHINE.packed_steps.min(steps.len), (MACHINE.packed_panels * COLUMNS).min(columns.len));
        packed_row.resize(packed_row.len().max(depth * R), E::ZERO);
        packed.resize(packed.len().max(depth * width.next_multiple_of(COLUMNS)), E::ZERO);
        step_places.resize(step_places.len().max(depth), Offsets::default());
        column_places.resize(column_places.len().max(width), Offsets::default());
        for first_column in (0..columns.len).step_by(width) {
            let width = width.min(columns.len - first_column);
            let column_places = &mut column_places[..width];
            columns.fill(first_column, column_places, pieces);
            for first_step in (0..steps.len).step_by(depth) {
                let depth = depth.min(steps.len - first_step);
                let step_places = &mut step_places[..depth];
                steps.fill(first_step, step_places, pieces);
                let panels = width.div_ceil(COLUMNS);
                for panel in 0..panels {
                    let count = COLUMNS.min(width - panel * COLUMNS);
                    let to = &mut packed[panel * COLUMNS * depth..][..COLUMNS * depth];
                    columns.list(first_column + panel * COLUMNS, count, pieces);
                    let lines = Lines::<COLUMNS>::new(pieces, checked);
                    micro_kernel::pack::<E, 1, COLUMNS>(
                        self.operands[1],
                        right,
                        &lines,
                        step_places,
                        to.as_chunks_mut().0,
                    );
                }
                let packed_row = &mut packed_row.as_chunks_mut::<R>().0[..depth];
                let mut first_row = 0;
                while first_row < rows.len {
                    rows.list(first_row, R.min(rows.len - first_row), pieces);
                    let lines = Lines::<R>::new(pieces, checked);
                    micro_kernel::pack::<E, 0, R>(self.operands[0], left, &lines, step_places, packed_row);
                    for panel in 0..panels {
                        let count = COLUMNS.min(width - panel * COLUMNS);
                        let from = packed[panel * COLUMNS * depth..][..COLUMNS * depth].as_chunks().0;
                        let places = &column_places[panel * COLUMNS..][..count];
                        let mut sums = [[E::ZERO; R]; COLUMNS];
                        match count {
                            1 => micro_kernel::multiply::<M, E, R, 1>(packed_row, from, &mut sums),
                            2 => micro_kernel::multiply::<M, E, R, 2>(packed_row, from, &mut sums),
                            3 => micro_kernel::multiply::<M, E, R, 3>(packed_row, from, &mut sums),
                            4 => micro_kernel::multiply::<M, E, R, 4>(packed_row, from, &mut sums),
                            5 => micro_kernel::multiply::<M, E, R, 5>(packed_row, from, &mut sums),
                            _ => micro_kernel::multiply::<M, E, R, 6>(packed_row, from, &mut sums),
                        }
                        micro_kernel::add(&sums, &lines, places, result, self.out);
                    }
                    first_row += R;
                }
            }
        }
    }
}
