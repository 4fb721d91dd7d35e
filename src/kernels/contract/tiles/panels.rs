//! The execution of tiles: panels of lanes, blocks of rows, and the sums of a tile in registers.
//!
//! The last tile of a row begins where it ends with the row, so some of its lanes repeat those of the tile before, with
//! the same results. A row that is shorter than a tile is read and written beyond its end, if something is there: what
//! is read is not used, and what is written is overwritten by the row that comes next.
//!
//! Law: each element of the result is the sum of its products in the order of the loops of the sum.

#![allow(clippy::needless_range_loop, reason = "adapters of iterators are compiled for the baseline")]

use smallvec::SmallVec;

use crate::cost::MACHINE;
use crate::dtype::Num;
use crate::kernels::contract::implicit_gemm::Room;
use crate::kernels::isa::{Kernel, Machine, transposed, unrolled};

/// The largest number of rows of a tile.
pub(super) const ROWS: usize = 6;

/// The same on a machine where kernels are [lean](Machine::LEAN).
const LEAN_ROWS: usize = 2;

/// The longest sum for which whole tiles have special code.
const SHORT_SUM: usize = 4;

/// A loop, with its strides in the operand of the rows, in the operand that the rows share, and in the result.
#[derive(Clone, Copy)]
pub(super) struct TileLoop {
    pub(super) len: usize,
    pub(super) by: [i64; 3],
}

/// The parameters of an execution of a plan.
pub(super) struct Job<'j, E> {
    pub(super) at: [i64; 3],
    pub(super) around: SmallVec<[TileLoop; 4]>,
    pub(super) rows: TileLoop,
    pub(super) lanes: TileLoop,
    pub(super) depth: TileLoop,
    pub(super) sums: &'j [[i64; 2]],
    pub(super) x: &'j [E],
    pub(super) y: &'j [E],
    pub(super) fresh: bool,
    /// Whether a tile may write beyond the end of its row.
    pub(super) reaches: bool,
}

/// An execution with tiles of `P` lanes, and of `H` for the remainder. `BOTH` says whether both operands move along the
/// lanes, and `SHORT` whether the job [has short sums](Job::has_short_sums).
pub(super) struct Run<'j, E, const P: usize, const H: usize, const BOTH: bool, const SHORT: bool> {
    pub(super) tiles: Job<'j, E>,
    pub(super) out: &'j mut [E],
    pub(super) room: &'j mut Room<E>,
}

/// Some lanes of all rows: the first lane, the number of lanes, and whether they are packed.
#[derive(Clone, Copy)]
struct Panel {
    first: usize,
    count: usize,
    packs: bool,
}

/// A tile of `W` lanes: the first lane, the number of lanes before it that other tiles have computed, and its offset in
/// the packed lanes.
#[derive(Clone, Copy)]
struct TilePlace {
    lane: usize,
    done: usize,
    packed: usize,
}

#[inline(always)]
fn moved(at: [i64; 3], by: [i64; 3], steps: usize) -> [i64; 3] {
    let n = steps as i64;
    [at[0] + by[0] * n, at[1] + by[1] * n, at[2] + by[2] * n]
}

impl<E> Job<'_, E> {
    /// Whether sums are so short that whole tiles are worth code of their own, and lanes are neighbours.
    pub(super) fn has_short_sums(&self) -> bool {
        self.sums.len() == 1 && self.depth.len <= SHORT_SUM && self.lanes.by == [0, 1, 1]
    }
}

impl<E: Num, const P: usize, const H: usize, const BOTH: bool, const SHORT: bool> Kernel
    for Run<'_, E, P, H, BOTH, SHORT>
{
    // Measured: products of a depth of 3 or 4, which write most of the time, take 0.6 of the time.
    const WIDE: bool = true;

    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        let mut lent = [std::mem::take(&mut self.room.columns), std::mem::take(&mut self.room.rows)];
        let around = std::mem::take(&mut self.tiles.around);
        let (inner, outer) = match around.split_last() {
            Some((inner, outer)) => (*inner, outer),
            None => (TileLoop { len: 1, by: [0; 3] }, &[][..]),
        };
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        let mut start = self.tiles.at;
        let mut held = None;
        loop {
            let mut at = start;
            for _ in 0..inner.len {
                self.matrix::<M>(at, &mut lent, &mut held);
                at = moved(at, inner.by, 1);
            }
            let mut k = outer.len();
            loop {
                if k == 0 {
                    [self.room.columns, self.room.rows] = lent;
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

/// `R` rows of a panel, whose offsets are `at`.
struct RowBlock<'r, 'j, E, const P: usize, const H: usize, const BOTH: bool, const SHORT: bool, const R: usize> {
    run: &'r mut Run<'j, E, P, H, BOTH, SHORT>,
    at: [i64; 3],
    panel: Panel,
    lent: &'r mut [Vec<E>; 2],
}

impl<E: Num, const P: usize, const H: usize, const BOTH: bool, const SHORT: bool, const R: usize> Kernel
    for RowBlock<'_, '_, E, P, H, BOTH, SHORT, R>
{
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        self.run.row_block::<M, R>(self.at, self.panel, self.lent);
    }
}

impl<E: Num, const P: usize, const H: usize, const BOTH: bool, const SHORT: bool> Run<'_, E, P, H, BOTH, SHORT> {
    /// Computes one matrix. `held` is the offset of the panel that is packed.
    #[inline(always)]
    fn matrix<M: Machine>(&mut self, at: [i64; 3], lent: &mut [Vec<E>; 2], held: &mut Option<i64>) {
        let Job { rows, lanes, depth, sums, y, .. } = self.tiles;
        let width = if lanes.len <= H { H } else { P };
        let last = at[1] + sums[sums.len() - 1][1] + depth.by[1] * (depth.len as i64 - 1);
        let beyond = sums.len() > 1 || last as usize + width > y.len();
        let packs = lanes.by[1] != 1 || depth.by[1] < 0 || (lanes.len < width && beyond);
        let step = if packs { (MACHINE.small_panel / (sums.len() * depth.len) / P).max(1) * P } else { lanes.len };
        let mut first = 0;
        while first < lanes.len {
            let panel = Panel { first, count: step.min(lanes.len - first), packs };
            let start = at[1] + lanes.by[1] * first as i64;
            if packs && *held != Some(start) {
                self.pack(at[1], panel, &mut lent[0]);
                *held = Some(start);
            }
            let mut row = 0;
            while row < rows.len {
                // Blocks of rows are as equal as possible.
                let left = rows.len - row;
                let count = left.div_ceil(left.div_ceil(if M::LEAN { LEAN_ROWS } else { ROWS }));
                let at = [at[0] + rows.by[0] * row as i64, at[1], at[2] + rows.by[2] * row as i64];
                match count {
                    1 => M::apart(RowBlock::<_, P, H, BOTH, SHORT, 1> { run: self, at, panel, lent }),
                    _ if M::LEAN => {
                        M::apart(RowBlock::<_, P, H, BOTH, SHORT, LEAN_ROWS> { run: self, at, panel, lent })
                    }
                    2 => M::apart(RowBlock::<_, P, H, BOTH, SHORT, 2> { run: self, at, panel, lent }),
                    3 => M::apart(RowBlock::<_, P, H, BOTH, SHORT, 3> { run: self, at, panel, lent }),
                    4 => M::apart(RowBlock::<_, P, H, BOTH, SHORT, 4> { run: self, at, panel, lent }),
                    5 => M::apart(RowBlock::<_, P, H, BOTH, SHORT, 5> { run: self, at, panel, lent }),
                    _ => M::apart(RowBlock::<_, P, H, BOTH, SHORT, ROWS> { run: self, at, panel, lent }),
                }
                row += count;
            }
            first += panel.count;
        }
    }

    /// The place of the tile of `W` lanes from a lane on.
    #[inline(always)]
    fn place<const W: usize>(&self, lane: usize, packed: usize) -> TilePlace {
        let first = lane.min(self.tiles.lanes.len.saturating_sub(W));
        TilePlace { lane: first, done: lane - first, packed }
    }

    /// Packs the lanes of a panel of the operand that rows share, tile by tile.
    #[inline(always)]
    fn pack(&self, at: i64, panel: Panel, to: &mut Vec<E>) {
        let steps = self.tiles.sums.len() * self.tiles.depth.len;
        to.resize(to.len().max(panel.count.next_multiple_of(P) * steps), E::ZERO);
        let (mut lane, mut packed) = (0, 0);
        while lane < panel.count {
            if panel.count - lane <= H {
                let place = self.place::<H>(panel.first + lane, packed);
                self.pack_tile::<H>(at, place, &mut to[packed..packed + steps * H]);
            } else {
                let place = self.place::<P>(panel.first + lane, packed);
                self.pack_tile::<P>(at, place, &mut to[packed..packed + steps * P]);
            }
            (lane, packed) = (lane + P, packed + steps * P);
        }
    }

    /// Packs the lanes of a tile; the numbers in lanes beyond the last are unspecified.
    #[inline(always)]
    fn pack_tile<const W: usize>(&self, at: i64, place: TilePlace, to: &mut [E]) {
        let Job { lanes, depth, sums, y, .. } = &self.tiles;
        let to = to.as_chunks_mut::<W>().0;
        let count = W.min(lanes.len);
        for s in 0..sums.len() {
            let at = at + sums[s][1] + lanes.by[1] * place.lane as i64;
            let to = &mut to[s * depth.len..][..depth.len];
            if depth.by[1] == 1 && count == W && depth.len >= 4 {
                let mut lines: [&[E]; W] = [&[]; W];
                for l in 0..W {
                    lines[l] = &y[(at + lanes.by[1] * l as i64) as usize..][..depth.len];
                }
                // Four steps at a time; the last four begin where they end with the sum.
                let mut step = 0;
                while step < depth.len {
                    let first = step.min(depth.len - 4);
                    let mut lane = 0;
                    while lane < W {
                        let mut square = [[E::ZERO; 4]; 4];
                        unrolled!(for l in 4, { square[l].copy_from_slice(&lines[lane + l][first..][..4]) });
                        let square = transposed(square.each_ref());
                        unrolled!(for k in 4, { to[first + k][lane..][..4].copy_from_slice(&square[k]) });
                        lane += 4;
                    }
                    step += 4;
                }
            } else {
                for d in 0..depth.len {
                    to[d] = read::<E, W>(y, at + depth.by[1] * d as i64, lanes.by[1], count);
                }
            }
        }
    }

    /// Computes `R` rows of a panel.
    #[inline(always)]
    fn row_block<M: Machine, const R: usize>(&mut self, at: [i64; 3], panel: Panel, lent: &mut [Vec<E>; 2]) {
        let Job { rows, depth, sums, x, .. } = self.tiles;
        let steps = sums.len() * depth.len;
        let [packed, room] = lent;
        // Rows are read where they lie if the rows or the steps of the sum are neighbours.
        let columns = depth.by[0] >= 0 && (rows.by[0] == 1 || R == 1);
        let apart = !BOTH && depth.by[0] != 1 && depth.len > 1 && !columns;
        if apart {
            room.resize(room.len().max(steps * R), E::ZERO);
            let to = room.as_chunks_mut::<R>().0;
            for s in 0..sums.len() {
                for d in 0..depth.len {
                    let at = at[0] + sums[s][0] + depth.by[0] * d as i64;
                    to[s * depth.len + d] = read::<E, R>(x, at, rows.by[0], R);
                }
            }
        }
        let rows_packed = apart.then_some(&room[..]);
        let done = match depth.len {
            _ if !SHORT || panel.packs => 0,
            1 => self.short_sums::<M, R, 1>(at, panel),
            2 => self.short_sums::<M, R, 2>(at, panel),
            3 => self.short_sums::<M, R, 3>(at, panel),
            4 => self.short_sums::<M, R, 4>(at, panel),
            _ => 0,
        };
        let (mut lane, mut place) = (done, 0);
        while lane < panel.count {
            if panel.count - lane <= H {
                let place = self.place::<H>(panel.first + lane, place);
                self.tile::<M, R, H>(at, place, panel.packs.then_some(&packed[..]), rows_packed);
            } else {
                let place = self.place::<P>(panel.first + lane, place);
                self.tile::<M, R, P>(at, place, panel.packs.then_some(&packed[..]), rows_packed);
            }
            (lane, place) = (lane + P, place + steps * P);
        }
    }

    /// Computes whole tiles of `R` rows with sums of `K` products, whose lanes are neighbours in the shared operand and in
    /// the result; the number of lanes that have been computed. The overhead of a tile would outweigh such short sums.
    #[inline(always)]
    fn short_sums<M: Machine, const R: usize, const K: usize>(&mut self, at: [i64; 3], panel: Panel) -> usize {
        let Job { rows, depth, x, y, fresh, .. } = self.tiles;
        let (count, by) = (panel.count / P, rows.by[2] as usize);
        if count == 0 || by < count * P {
            return 0;
        }
        let mut left = [[E::ZERO; K]; R];
        let mut right: [&[[E; P]]; K] = [&[]; K];
        unrolled!(for k in K, {
            unrolled!(for r in R, {
                left[r][k] = x[(at[0] + rows.by[0] * r as i64 + depth.by[0] * k as i64) as usize];
            });
            let from = (at[1] + depth.by[1] * k as i64) as usize + panel.first;
            right[k] = &y[from..][..count * P].as_chunks().0[..count];
        });
        let mut rest = &mut self.out[at[2] as usize + panel.first..];
        let out: [&mut [[E; P]]; R] = std::array::from_fn(|_| {
            let end = by.min(rest.len());
            let (row, behind) = std::mem::take(&mut rest).split_at_mut(end);
            rest = behind;
            &mut row[..count * P].as_chunks_mut().0[..count]
        });
        for tile in 0..count {
            let mut sums = [[E::ZERO; P]; R];
            unrolled!(for k in K, {
                let y = &right[k][tile];
                unrolled!(for r in R, {
                    for l in 0..P {
                        let sum = sums[r][l];
                        sums[r][l] = if M::FMA { left[r][k].fused(y[l], sum) } else { sum.plus(left[r][k].mul(y[l])) };
                    }
                });
            });
            unrolled!(for r in R, {
                let out = &mut out[r][tile];
                for l in 0..P {
                    out[l] = (if fresh { E::ZERO } else { out[l] }).plus(sums[r][l]);
                }
            });
        }
        count * P
    }

    /// Computes a tile: `R` rows of at most `W` lanes.
    #[inline(always)]
    fn tile<M: Machine, const R: usize, const W: usize>(
        &mut self,
        at: [i64; 3],
        place: TilePlace,
        packed: Option<&[E]>,
        rows_packed: Option<&[E]>,
    ) {
        let Job { rows, lanes, depth, x, y, sums: listed, .. } = self.tiles;
        let at = moved(at, lanes.by, place.lane);
        let mut sums = [[E::ZERO; W]; R];
        for s in 0..listed.len() {
            let (p, listed_before) = (at[0] + listed[s][0], s * depth.len);
            let right = match packed {
                Some(packed) => Right { v: &packed[place.packed + listed_before * W..], by: W },
                None => Right { v: &y[(at[1] + listed[s][1]) as usize..], by: depth.by[1] as usize },
            };
            if BOTH {
                let count = W.min(lanes.len);
                let left = Lanes { v: x, at: p, by: [rows.by[0], depth.by[0], lanes.by[0]], count };
                sum::<M, E, R, W>(left, right, depth.len, &mut sums);
            } else if let Some(v) = rows_packed {
                let left = PanelColumns { v: &v[listed_before * R..], by: R };
                sum::<M, E, R, W>(left, right, depth.len, &mut sums);
            } else if depth.by[0] == 1 || depth.len == 1 {
                let mut lines: [&[E]; R] = [&[]; R];
                unrolled!(for r in R, {
                    lines[r] = &x[(p + rows.by[0] * r as i64) as usize..][..depth.len];
                });
                sum::<M, E, R, W>(PanelLines(lines), right, depth.len, &mut sums);
            } else {
                let left = PanelColumns { v: &x[p as usize..], by: depth.by[0] as usize };
                sum::<M, E, R, W>(left, right, depth.len, &mut sums);
            }
        }
        self.write::<R, W>(at[2], place.done, &sums);
    }

    /// Adds the lanes of a tile to the result, except for the first `done`; or sets the result to them.
    #[inline(always)]
    fn write<const R: usize, const W: usize>(&mut self, at: i64, done: usize, sums: &[[E; W]; R]) {
        let Job { rows, lanes, fresh, reaches, .. } = self.tiles;
        let (at, by) = (at as usize, rows.by[2] as usize);
        let whole = lanes.by[2] == 1 && if fresh { lanes.len >= W || reaches } else { lanes.len >= W && done == 0 };
        if !whole || at + by * (R - 1) + W > self.out.len() {
            // A copy, since an array whose address is passed on does not stay in registers.
            let mut lent = [[E::ZERO; W]; R];
            unrolled!(for r in R, { lent[r] = sums[r] });
            write_apart(self.out, [at, by, lanes.by[2] as usize], &lent, [done, W.min(lanes.len)], fresh);
        } else if fresh {
            unrolled!(for r in R, {
                let out = &mut self.out[at + by * r..][..W];
                for l in 0..W {
                    out[l] = E::ZERO.plus(sums[r][l]);
                }
            });
        } else {
            unrolled!(for r in R, {
                let out = &mut self.out[at + by * r..][..W];
                for l in 0..W {
                    out[l] = out[l].plus(sums[r][l]);
                }
            });
        }
    }
}

/// The operand that rows share, from the first step of the sum on: `W` lanes at each step.
#[derive(Clone, Copy)]
struct Right<'r, E> {
    v: &'r [E],
    by: usize,
}

/// The operand of the rows: at each step of the sum and for each of `R` rows, a number, repeated, or `W` lanes.
trait Left<E, const R: usize, const W: usize> {
    fn at(&self, step: usize, row: usize) -> [E; W];
}

/// Rows whose steps are neighbours.
struct PanelLines<'l, E, const R: usize>([&'l [E]; R]);

/// Steps whose rows are neighbours.
struct PanelColumns<'l, E> {
    v: &'l [E],
    by: usize,
}

/// Rows with an element for each lane: the offset of the first, the strides of rows, steps and lanes, and the number of
/// lanes.
struct Lanes<'l, E> {
    v: &'l [E],
    at: i64,
    by: [i64; 3],
    count: usize,
}

impl<E: Num, const R: usize, const W: usize> Left<E, R, W> for PanelLines<'_, E, R> {
    #[inline(always)]
    fn at(&self, step: usize, row: usize) -> [E; W] {
        [self.0[row][step]; W]
    }
}

impl<E: Num, const R: usize, const W: usize> Left<E, R, W> for PanelColumns<'_, E> {
    #[inline(always)]
    fn at(&self, step: usize, row: usize) -> [E; W] {
        [self.v[step * self.by..][..R][row]; W]
    }
}

impl<E: Num, const R: usize, const W: usize> Left<E, R, W> for Lanes<'_, E> {
    #[inline(always)]
    fn at(&self, step: usize, row: usize) -> [E; W] {
        let at = self.at + self.by[1] * step as i64 + self.by[0] * row as i64;
        read::<E, W>(self.v, at, self.by[2], self.count)
    }
}

/// Adds the products of `steps` steps to the sums of a tile.
#[inline(always)]
fn sum<M: Machine, E: Num, const R: usize, const W: usize>(
    left: impl Left<E, R, W>,
    right: Right<'_, E>,
    steps: usize,
    to: &mut [[E; W]; R],
) {
    let mut sums = *to;
    for step in 0..steps {
        let y = &right.v[step * right.by..][..W];
        unrolled!(for r in R, {
            let x = left.at(step, r);
            for l in 0..W {
                let sum = sums[r][l];
                sums[r][l] = if M::FMA { x[l].fused(y[l], sum) } else { sum.plus(x[l].mul(y[l])) };
            }
        });
    }
    *to = sums;
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

/// Adds a range of the lanes of the rows of a tile to the result, or, if `fresh`, sets the result to them; `at` is the
/// offset of the first row, `by` the stride of rows, and `apart` that of lanes.
#[inline(never)]
fn write_apart<E: Num, const R: usize, const P: usize>(
    out: &mut [E],
    [at, by, apart]: [usize; 3],
    sums: &[[E; P]; R],
    [first, end]: [usize; 2],
    fresh: bool,
) {
    for r in 0..R {
        for l in first..end.min(P) {
            let out = &mut out[at + by * r + apart * l];
            *out = (if fresh { E::ZERO } else { *out }).plus(sums[r][l]);
        }
    }
}
