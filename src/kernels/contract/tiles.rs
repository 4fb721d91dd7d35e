//! Products with short axes: tiles of the result are summed in registers, and operands are read in place.
//!
//! A tile has SIMD lanes along one loop over the result, and rows along another loop; all rows share the elements of
//! one operand in the lanes. Nothing is packed, unless many rows share strided lanes, so a product has little overhead.
//! Tiles serve batches of small matrices, updates of low rank, and narrow matrices.
//!
//! Law: each element of the result is a sequential sum of its products, in an order that depends on the loops of the
//! sum alone. So results are the same to the bit for any tiles and any partition.

#![allow(clippy::needless_range_loop, reason = "adapters of iterators are compiled for the baseline")]

use smallvec::SmallVec;

use super::implicit_gemm::Room;
use crate::cost::MACHINE;
use crate::dtype::Num;
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};
use crate::kernels::loop_nest::{Axis, Nest};

/// The largest number of rows of a tile.
const ROWS: usize = 4;

/// The largest number of lanes of a tile.
const LANES: usize = 8;

/// The largest number of steps that all loops of a sum but the longest have together: these steps are listed.
const LISTED: usize = 64;

/// The plan of a product.
#[derive(Clone)]
pub(crate) struct Tiles {
    /// The loops: those around the tiles, rows, lanes, and those of the sum, of which the last is the longest.
    nest: Nest<3>,
    /// The number of the loops around the tiles.
    around: usize,
    /// The numbers of the operand that moves with the rows, and of the operand whose lanes the rows share.
    operands: [usize; 2],
    /// The offsets in both operands at each step of the loops of the sum but the last.
    sums: SmallVec<[[i64; 2]; 1]>,
}

/// A loop, with its strides in the operand of the rows, in the operand that the rows share, and in the result.
#[derive(Clone, Copy)]
struct Loop {
    len: usize,
    by: [i64; 3],
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
        Some(Tiles { nest: nest.in_order(&order), around, operands, sums: steps })
    }

    /// The loop nest, and the number of its outermost loops that may run in parts.
    pub(crate) fn outer(&self) -> (&Nest<3>, usize) {
        (&self.nest, self.around + 2)
    }

    /// The loops of the sum.
    pub(crate) fn sum(&self) -> &[Axis<3>] {
        &self.nest.axes()[self.around + 2..]
    }

    /// Whether each element of a result of this size is computed.
    pub(crate) fn covers(&self, size: usize) -> bool {
        let [rows, lanes, _, times] = self.sizes();
        rows * lanes * times == size
    }

    /// Whether tiles take less time than an elementwise pass over the products: not if the lanes of both operands are
    /// strided, if there is no sum (but for a batch of outer products), or if sums are so long that they are cut in
    /// parts.
    pub(crate) fn beat_passes(&self) -> bool {
        let [rows, _, steps, times] = self.sizes();
        let lanes = self.nest.axes()[self.around + 1].strides;
        let apart = self.operands.iter().all(|k| !matches!(lanes[*k], 0 | 1));
        !apart && (steps > 1 || (rows > 1 && times > 1)) && steps < MACHINE.sum_products
    }

    /// Whether tiles take less time than the other kernels for matrices: in a batch of small matrices.
    pub(crate) fn beat_matrices(&self) -> bool {
        let [rows, lanes, steps, times] = self.sizes();
        times > 1 && rows.saturating_mul(lanes).saturating_mul(steps) < MACHINE.small_matrix
    }

    /// The same plan for a part of the nest.
    pub(crate) fn part(&self, nest: Nest<3>) -> Tiles {
        Tiles { nest, ..self.clone() }
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
        let [p, q] = self.operands;
        let by = |axis: &Axis<3>| Loop { len: axis.len, by: [axis.strides[p], axis.strides[q], axis.strides[2]] };
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
        };
        match (tiles.lanes.by[0] == 0, tiles.lanes.len) {
            (false, _) => dispatch(isa, Run::<E, LANES, true> { tiles, out, room }),
            (true, 0..=2) => dispatch(isa, Run::<E, 2, false> { tiles, out, room }),
            (true, 3..=4) => dispatch(isa, Run::<E, 4, false> { tiles, out, room }),
            (true, _) => dispatch(isa, Run::<E, LANES, false> { tiles, out, room }),
        }
    }
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
            apart => apart,
        };
        let step = together * (1.0 + access(1 - self.shared)) + shared;
        (step + 2.0 * together * access(2) / depth as f64) / (together * filled)
    }
}

/// The parameters of an execution of a plan.
struct Job<'j, E> {
    at: [i64; 3],
    around: SmallVec<[Loop; 4]>,
    rows: Loop,
    lanes: Loop,
    depth: Loop,
    sums: &'j [[i64; 2]],
    x: &'j [E],
    y: &'j [E],
    fresh: bool,
}

/// An execution with tiles of `P` lanes. `BOTH` says whether both operands move along the lanes.
struct Run<'j, E, const P: usize, const BOTH: bool> {
    tiles: Job<'j, E>,
    out: &'j mut [E],
    room: &'j mut Room<E>,
}

/// The operand that rows share, in place or packed: its elements, the offsets of listed steps, and its strides along
/// lanes and depth.
#[derive(Clone, Copy)]
struct Shared<'s, E> {
    v: &'s [E],
    sums: &'s [[i64; 2]],
    lane: i64,
    step: i64,
}

#[inline(always)]
fn moved(at: [i64; 3], by: [i64; 3], steps: usize) -> [i64; 3] {
    let n = steps as i64;
    [at[0] + by[0] * n, at[1] + by[1] * n, at[2] + by[2] * n]
}

impl<E: Num, const P: usize, const BOTH: bool> Kernel for Run<'_, E, P, BOTH> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        let Job { rows, lanes, depth, sums, y, .. } = self.tiles;
        let steps = sums.len() * depth.len;
        let packs = lanes.by[1] != 1 && rows.len > ROWS;
        let panel = (MACHINE.small_panel / steps / P).max(1) * P;
        let mut packed = std::mem::take(&mut self.room.columns);
        let listed: SmallVec<[[i64; 2]; 1]> = match packs {
            true => sums.iter().enumerate().map(|(i, s)| [s[0], (i * depth.len * P) as i64]).collect(),
            false => SmallVec::new(),
        };
        let mut held = None;
        let around = std::mem::take(&mut self.tiles.around);
        let (inner, outer) = match around.split_last() {
            Some((inner, outer)) => (*inner, outer),
            None => (Loop { len: 1, by: [0; 3] }, &[][..]),
        };
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        let mut start = self.tiles.at;
        loop {
            let mut at = start;
            for _ in 0..inner.len {
                let mut lane = 0;
                while lane < lanes.len {
                    let count = panel.min(lanes.len - lane);
                    let at = moved(at, lanes.by, lane);
                    if packs {
                        if held != Some(at[1]) {
                            self.pack(at[1], count, &mut packed);
                            held = Some(at[1]);
                        }
                        let shared = Shared { v: &packed, sums: &listed, lane: 1, step: P as i64 };
                        self.panel::<M>([at[0], 0, at[2]], count, shared, (steps * P) as i64);
                    } else {
                        let shared = Shared { v: y, sums, lane: lanes.by[1], step: depth.by[1] };
                        self.panel::<M>(at, count, shared, P as i64 * lanes.by[1]);
                    }
                    lane += panel;
                }
                at = moved(at, inner.by, 1);
            }
            let mut k = outer.len();
            loop {
                if k == 0 {
                    self.room.columns = packed;
                    return;
                }
                k -= 1;
                index[k] += 1;
                start = moved(start, outer[k].by, 1);
                if index[k] < outer[k].len {
                    break;
                }
                start = moved(start, outer[k].by.map(|by| -by), outer[k].len);
                index[k] = 0;
            }
        }
    }
}

impl<E: Num, const P: usize, const BOTH: bool> Run<'_, E, P, BOTH> {
    /// Packs `count` lanes of the operand that rows share, tile by tile.
    #[inline(always)]
    fn pack(&self, at: i64, count: usize, to: &mut Vec<E>) {
        let Job { lanes, depth, sums, y, .. } = &self.tiles;
        let steps = sums.len() * depth.len;
        to.resize(to.len().max(count.div_ceil(P) * P * steps), E::ZERO);
        let to = to.as_chunks_mut::<P>().0;
        let mut lane = 0;
        while lane < count {
            let (here, to) = (at + lanes.by[1] * lane as i64, &mut to[lane / P * steps..][..steps]);
            let count = P.min(count - lane);
            for s in 0..sums.len() {
                for k in 0..depth.len {
                    let at = here + sums[s][1] + depth.by[1] * k as i64;
                    to[s * depth.len + k] = read::<E, P>(y, at, lanes.by[1], count);
                }
            }
            lane += P;
        }
    }

    /// Computes all rows of `count` lanes; `apart` is the stride of tiles in the operand that rows share.
    #[inline(always)]
    fn panel<M: Machine>(&mut self, at: [i64; 3], count: usize, shared: Shared<'_, E>, apart: i64) {
        let Job { rows, .. } = self.tiles;
        let mut row = 0;
        while row < rows.len {
            let at = moved(at, rows.by, row);
            match rows.len - row {
                1 => self.row_block::<M, 1>(at, count, shared, apart),
                2 => self.row_block::<M, 2>(at, count, shared, apart),
                3 => self.row_block::<M, 3>(at, count, shared, apart),
                _ => self.row_block::<M, 4>(at, count, shared, apart),
            }
            row += ROWS;
        }
    }

    /// Computes `R` rows of `count` lanes.
    #[inline(always)]
    fn row_block<M: Machine, const R: usize>(&mut self, at: [i64; 3], count: usize, shared: Shared<'_, E>, apart: i64) {
        let by = self.tiles.lanes.by;
        let (mut at, mut lane) = (at, 0);
        while lane < count {
            self.tile::<M, R>(at, P.min(count - lane), shared);
            at = [at[0] + by[0] * P as i64, at[1] + apart, at[2] + by[2] * P as i64];
            lane += P;
        }
    }

    /// Computes a tile: `R` rows of at most `P` lanes.
    #[inline(always)]
    fn tile<M: Machine, const R: usize>(&mut self, at: [i64; 3], count: usize, shared: Shared<'_, E>) {
        let Job { rows, lanes, depth, x, fresh, .. } = self.tiles;
        let mut sums = [[E::ZERO; P]; R];
        let across = rows.by[0];
        for s in 0..shared.sums.len() {
            let [mut p, mut q] = [at[0] + shared.sums[s][0], at[1] + shared.sums[s][1]];
            for _ in 0..depth.len {
                let b = read::<E, P>(shared.v, q, shared.lane, count);
                for r in 0..R {
                    let from = p + across * r as i64;
                    let a = match BOTH {
                        true => read::<E, P>(x, from, lanes.by[0], count),
                        false => [x[from as usize]; P],
                    };
                    for l in 0..P {
                        let sum = sums[r][l];
                        sums[r][l] = if M::FMA { a[l].fused(b[l], sum) } else { sum.plus(a[l].mul(b[l])) };
                    }
                }
                (p, q) = (p + depth.by[0], q + shared.step);
            }
        }
        let (at, by) = (at[2] as usize, rows.by[2] as usize);
        if lanes.by[2] != 1 {
            // A copy, since an array whose address is passed on does not stay in registers.
            let lent = sums;
            write_apart(self.out, [at, by, lanes.by[2] as usize], &lent, count, fresh);
            return;
        }
        match count {
            1 => write::<E, R, P, 1>(self.out, [at, by], &sums, fresh),
            2 => write::<E, R, P, 2>(self.out, [at, by], &sums, fresh),
            3 => write::<E, R, P, 3>(self.out, [at, by], &sums, fresh),
            4 => write::<E, R, P, 4>(self.out, [at, by], &sums, fresh),
            5 => write::<E, R, P, 5>(self.out, [at, by], &sums, fresh),
            6 => write::<E, R, P, 6>(self.out, [at, by], &sums, fresh),
            7 => write::<E, R, P, 7>(self.out, [at, by], &sums, fresh),
            _ => write::<E, R, P, P>(self.out, [at, by], &sums, fresh),
        }
    }
}

/// Reads `count` lanes with stride `apart`; the numbers in other lanes are unspecified.
#[inline(always)]
fn read<E: Num, const P: usize>(v: &[E], at: i64, apart: i64, count: usize) -> [E; P] {
    if apart == 1
        && let Some(lanes) = v[at as usize..].first_chunk()
    {
        return *lanes;
    }
    let mut lanes = [E::ZERO; P];
    for l in 0..P {
        if l < count {
            lanes[l] = v[(at + apart * l as i64) as usize];
        }
    }
    lanes
}

/// Adds the first `C` lanes of the rows of a tile to the result, or, if `fresh`, sets the result to them; `at` is the
/// offset of the first row, and `by` the stride of rows.
#[inline(always)]
fn write<E: Num, const R: usize, const P: usize, const C: usize>(
    out: &mut [E],
    [at, by]: [usize; 2],
    sums: &[[E; P]; R],
    fresh: bool,
) {
    for r in 0..R {
        let out = &mut out[at + by * r..][..C];
        if fresh {
            for l in 0..min(C, P) {
                out[l] = E::ZERO.plus(sums[r][l]);
            }
        } else {
            for l in 0..min(C, P) {
                out[l] = out[l].plus(sums[r][l]);
            }
        }
    }
}

/// [`write`] for strided lanes, the first `count`.
#[inline(never)]
fn write_apart<E: Num, const R: usize, const P: usize>(
    out: &mut [E],
    [at, by, apart]: [usize; 3],
    sums: &[[E; P]; R],
    count: usize,
    fresh: bool,
) {
    for r in 0..R {
        for l in 0..count.min(P) {
            let out = &mut out[at + by * r + apart * l];
            *out = (if fresh { E::ZERO } else { *out }).plus(sums[r][l]);
        }
    }
}

const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests;
