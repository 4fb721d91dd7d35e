//! Products with short axes: tiles of the result are summed in registers, and operands are read in place.
//!
//! A tile has SIMD lanes along one loop over the result, and rows along another loop; all rows share the elements of
//! one operand in the lanes. Only strided lanes are packed, so a product has little overhead. Tiles serve batches of
//! small matrices, updates of low rank, and narrow matrices; `panels` runs them, and `unrolled` the smallest.
//!
//! Law: each element of the result is a sequential sum of its products, in an order that depends on the loops of the
//! sum alone. So results are the same to the bit for any tiles and any partition.

mod panels;

use smallvec::SmallVec;

use super::implicit_gemm::Room;
use super::not_of_floats;
use super::unrolled::Unrolled;
use crate::cost::MACHINE;
use crate::dtype::{DType, Num};
use crate::kernels::isa::{Isa, dispatch, dispatch_full};
use crate::kernels::loop_nest::{Axis, Nest};
use panels::{Job, ROWS, Run, TileLoop};

/// The number of lanes of a tile, in the estimate of its cost.
const LANES: usize = 8;

/// The largest number of steps that all loops of a sum but the longest have together: these steps are listed.
const LISTED: usize = 64;

/// The plan of a product.
#[derive(Clone)]
pub(crate) struct Tiles {
    /// The loops: those around the tiles, rows, lanes, and those of the sum, whose last is the longest.
    nest: Nest<3>,
    /// The number of the loops around the tiles.
    around: usize,
    /// The numbers of the operand that moves with the rows, and of the operand whose lanes the rows share.
    operands: [usize; 2],
    /// The offsets in both operands at each step of the loops of the sum but the last.
    sums: SmallVec<[[i64; 2]; 1]>,
    /// The plan for unrolled code, which serves if the result is set, not added to.
    unrolled: Option<Unrolled>,
}

impl Tiles {
    /// The plan of a nest; `None` if no loop can be lanes, the loops have range checks, two steps over the result write
    /// to one element, or too many steps of the sum would be listed.
    pub(crate) fn new(nest: &Nest<3>) -> Option<Tiles> {
        let axes = nest.axes();
        let moves = |place: usize, k: usize| axes[place].strides[k] != 0;
        let (result, sums): (SmallVec<[usize; 6]>, SmallVec<[usize; 6]>) = (0..axes.len()).partition(|i| moves(*i, 2));
        let depth: usize = sums.iter().map(|i| axes[*i].len).fold(1, usize::saturating_mul);
        let mut best: Option<(f64, Shape)> = None;
        for lanes in result.iter().copied() {
            for rows in result.iter().copied().filter(|r| *r != lanes).map(Some).chain([None]) {
                for shared in 0..2 {
                    let shape = Shape { lanes, rows, shared };
                    if moves(lanes, shared) && rows.is_none_or(|rows| !moves(rows, shared)) {
                        let cost = shape.cost(axes, depth);
                        if best.is_none_or(|(least, _)| cost < least) {
                            best = Some((cost, shape));
                        }
                    }
                }
            }
        }
        let Shape { lanes, rows, shared } = best?.1;
        let longest = sums.iter().copied().max_by_key(|i| axes[*i].len);
        if !nest.is_box() || !are_apart(axes) || depth / longest.map_or(1, |i| axes[i].len) > LISTED {
            return None;
        }
        let operands = [1 - shared, shared];
        let listed = || sums.iter().copied().filter(|i| Some(*i) != longest);
        let mut steps: SmallVec<[[i64; 2]; 1]> = SmallVec::from_iter([[0, 0]]);
        for axis in listed().map(|i| &axes[i]) {
            let by = operands.map(|k| axis.strides[k]);
            let trips = |at: &[i64; 2]| {
                let at = *at;
                (0..axis.len as i64).map(move |i| [at[0] + by[0] * i, at[1] + by[1] * i])
            };
            steps = steps.iter().flat_map(trips).collect();
        }
        let around = result.iter().copied().filter(|i| *i != lanes && Some(*i) != rows);
        let mut order: SmallVec<[Option<usize>; 6]> = around.map(Some).collect();
        let around = order.len();
        order.extend([rows, Some(lanes)]);
        order.extend(listed().map(Some));
        order.push(longest);
        Some(Tiles { nest: nest.in_order(&order), around, operands, sums: steps, unrolled: Unrolled::new(nest) })
    }

    /// The loop nest, and the number of its outermost loops that may run in parts.
    pub(crate) fn outer(&self) -> (&Nest<3>, usize) {
        (&self.nest, self.around + 2)
    }

    /// The loops of the sum.
    pub(crate) fn sum(&self) -> &[Axis<3>] {
        &self.nest.axes()[self.around + 2..]
    }

    /// Whether there is unrolled code for a result that is set.
    pub(crate) fn is_unrolled(&self) -> bool {
        self.unrolled.is_some()
    }

    /// The operand whose strided lanes more rows share than one tile has, with the stride and the number of lanes: each
    /// call packs it.
    pub(crate) fn packs(&self) -> Option<(usize, i64, usize)> {
        let [rows, lanes] = [self.around, self.around + 1].map(|place| &self.nest.axes()[place]);
        let shared = self.operands[1];
        let stride = lanes.strides[shared];
        (self.unrolled.is_none() && !matches!(stride, 0 | 1) && rows.len > ROWS).then_some((shared, stride, lanes.len))
    }

    /// Whether each element of a result of this size is computed.
    pub(crate) fn covers(&self, size: usize) -> bool {
        let [rows, lanes, _, times] = self.sizes();
        rows * lanes * times == size
    }

    /// Whether tiles take less time than an elementwise pass over the products: unrolled code does; others not if the
    /// lanes of both operands are strided, if nothing is summed (except in a batch of outer products), or if sums are so
    /// long that they are cut in parts.
    pub(crate) fn beat_passes(&self) -> bool {
        if self.unrolled.is_some() {
            return true;
        }
        let [rows, _, steps, times] = self.sizes();
        let lanes = self.nest.axes()[self.around + 1].strides;
        let apart = self.operands.iter().all(|k| !matches!(lanes[*k], 0 | 1));
        !apart && (steps > 1 || (rows > 1 && times > 1)) && steps < MACHINE.sum_products
    }

    /// Whether tiles take less time than the other kernels for matrices: if the operand that rows share stays in the
    /// first level of cache, or if one block of rows reads it.
    pub(crate) fn beat_matrices(&self) -> bool {
        let [rows, lanes, steps, _] = self.sizes();
        let short = rows <= ROWS && steps < MACHINE.sum_products;
        self.unrolled.is_some() || short || lanes.saturating_mul(steps) <= MACHINE.shared_panel
    }

    /// Whether lanes are contiguous in the result and in the operand that rows share, so that nothing is packed.
    pub(crate) fn is_in_place(&self) -> bool {
        let lanes = self.nest.axes()[self.around + 1].strides;
        lanes[2] == 1 && matches!(lanes[self.operands[1]], 0 | 1)
    }

    /// Whether lanes fill more than half of a tile.
    pub(crate) fn are_full(&self, dtype: DType) -> bool {
        self.sizes()[1] > tile_lanes(dtype) / 2
    }

    /// Whether lanes fill tiles, and those that are not packed, since few rows share them, lie in few cache lines.
    pub(crate) fn is_near(&self, dtype: DType) -> bool {
        let [rows, lanes, ..] = self.sizes();
        let apart = self.nest.axes()[self.around + 1].strides[self.operands[1]];
        let width = tile_lanes(dtype);
        let filled = lanes >= width || lanes <= width / 2;
        filled && (rows > ROWS || apart.unsigned_abs() as usize <= LANES)
    }

    /// The same plan for a part of the nest.
    pub(crate) fn part(&self, nest: Nest<3>) -> Tiles {
        let unrolled = self.unrolled.and_then(|_| Unrolled::new(&nest));
        Tiles { nest, unrolled, ..self.clone() }
    }

    /// The numbers of rows, lanes, steps of the sum, and matrix products.
    pub(crate) fn sizes(&self) -> [usize; 4] {
        let axes = self.nest.axes();
        let times = axes[..self.around].iter().map(|axis| axis.len).product();
        let steps = axes[self.around + 2..].iter().map(|axis| axis.len).product();
        [axes[self.around].len, axes[self.around + 1].len, steps, times]
    }

    /// Adds the products to `out`; or, if `fresh`, sets `out` to the products.
    pub(crate) fn run<E: Num>(&self, isa: Isa, v: [&[E]; 2], out: &mut [E], fresh: bool, room: &mut Room<E>) {
        // The conditions are constants, so that only the tiles of one type are compiled.
        if const { matches!(E::DTYPE, DType::F32) } {
            self.run_wide::<E, 16, 8>(isa, v, out, fresh, room);
        } else if const { matches!(E::DTYPE, DType::F64) } {
            self.run_wide::<E, 8, 4>(isa, v, out, fresh, room);
        } else {
            not_of_floats()
        }
    }

    /// [`run`](Self::run) with tiles of `P` lanes, and of `H` for the remainder.
    fn run_wide<E: Num, const P: usize, const H: usize>(
        &self,
        isa: Isa,
        v: [&[E]; 2],
        out: &mut [E],
        fresh: bool,
        room: &mut Room<E>,
    ) {
        if fresh && self.unrolled.is_some_and(|unrolled| unrolled.run(isa, v, out)) {
            return;
        }
        let [p, q] = self.operands;
        let by = |axis: &Axis<3>| TileLoop { len: axis.len, by: [axis.strides[p], axis.strides[q], axis.strides[2]] };
        let axes = self.nest.axes();
        let base = self.nest.base();
        let tiles = Job::<'_, E> {
            at: [base[p], base[q], base[2]],
            around: axes[..self.around].iter().map(by).collect(),
            rows: by(&axes[self.around]),
            lanes: by(&axes[self.around + 1]),
            depth: by(&axes[axes.len() - 1]),
            sums: &self.sums,
            x: v[p],
            y: v[q],
            fresh,
            reaches: fresh && self.in_one_piece(),
        };
        match tiles.lanes.by[0] == 0 {
            true if !isa.is_lean() && tiles.has_short_sums() => {
                dispatch_full(isa, Run::<E, P, H, false, true> { tiles, out, room })
            }
            true => dispatch(isa, Run::<E, P, H, false, false> { tiles, out, room }),
            false => dispatch(isa, Run::<E, P, H, true, false> { tiles, out, room }),
        }
    }

    /// Whether the rows of the result lie one behind the other, in the order in which they are computed.
    fn in_one_piece(&self) -> bool {
        let mut piece = 1;
        let (around, axes) = (self.around, self.nest.axes());
        let inward = [around + 1, around].into_iter().chain((0..around).rev());
        inward.map(|place| &axes[place]).all(|axis| {
            let next = axis.len == 1 || axis.strides[2] == piece;
            piece *= axis.len as i64;
            next
        })
    }
}

/// The number of lanes of a whole tile.
fn tile_lanes(dtype: DType) -> usize {
    if dtype == DType::F32 { 16 } else { 8 }
}

/// Whether no two steps of the loops over the result write to one element, by a sufficient criterion.
fn are_apart(axes: &[Axis<3>]) -> bool {
    let mut loops: SmallVec<[(i64, usize); 6]> = axes.iter().map(|axis| (axis.strides[2], axis.len)).collect();
    loops.retain(|(by, _)| *by != 0);
    loops.sort_unstable();
    let mut reach = 0;
    loops.iter().all(|(by, len)| {
        let apart = *by > reach;
        reach += by * (*len as i64 - 1);
        apart
    })
}

/// The numbers of the loops that are lanes and rows, and of the operand whose lanes the rows share.
#[derive(Clone, Copy)]
struct Shape {
    lanes: usize,
    rows: Option<usize>,
    shared: usize,
}

impl Shape {
    /// An estimate of the number of instructions per product.
    fn cost(&self, axes: &[Axis<3>], depth: usize) -> f64 {
        let lanes = &axes[self.lanes];
        let rows = self.rows.map_or(1, |rows| axes[rows].len);
        let together = rows.min(ROWS) as f64;
        let width = lanes.len.next_power_of_two().min(LANES);
        let filled = lanes.len as f64 / lanes.len.div_ceil(width) as f64;
        // Strided lanes are read or written one by one.
        let access = |k: usize| if matches!(lanes.strides[k], 0 | 1) { 1.0 } else { width as f64 };
        let shared = match access(self.shared) {
            // Strided lanes that many rows share are packed.
            apart if rows > ROWS => 1.0 + apart * together / rows as f64,
            // Those that few rows share are read one by one at each step, which takes as long as several products.
            apart if apart > 1.0 => 3.0 * apart,
            near => near,
        };
        let step = together * (1.0 + access(1 - self.shared)) + shared;
        (step + 2.0 * together * access(2) / depth as f64) / (together * filled)
    }
}

#[cfg(test)]
mod tests;
