//! The code of groups, run tile by tile.
//!
//! Law: an instruction writes one register or place, and reads others. What it reads is of the element type that the
//! planner has checked. See `memory.rs` for the invariant of the slices.

#![allow(unsafe_code)]

use std::ops::Range;

use super::code::{Arg, Code, Instruction, Seen, Sighting};
use super::fuse::Weights;
use super::group::Item;
use super::memory::{Block, Slot, Table};
use super::rows::{self, Arg as Operand, Isa, MAX_TERMS, Real};
use super::steps::Span;
use super::walk::{ADDED, READ, Run, Sight, Walk};
use crate::array::{with_elem, with_float, with_num};
use crate::dtype::{DType, Elem, Num};

/// A tile while it is computed.
pub(super) struct Tile<'a> {
    table: &'a Table,
    registers: *mut u8,
    /// The bytes of all registers.
    bytes: usize,
    /// The byte at which what views see starts.
    seen: usize,
    /// The first position, and the number of positions.
    start: usize,
    len: usize,
    isa: Isa,
}

/// Fills places with zeros before some rows of a group run: those of these rows, or all of the places `whole` before
/// the first.
pub(super) fn clear(code: &Code, table: &mut Table, span: Span, whole: &[Slot]) {
    for (slot, bytes) in &code.cleared {
        if !whole.contains(slot) {
            table.clear(*slot, span.of(*bytes));
        } else if span.from == 0 {
            table.clear(*slot, 0..*bytes);
        }
    }
}

/// Runs some rows of a group.
pub(super) fn run(code: &Code, table: &Table, registers: &mut Block, isa: Isa, span: Span) {
    let positions = span.of(code.size);
    let all = positions.len() == code.size;
    run_positions(code, table, registers, isa, positions);
    if all {
        sides(code, table, registers, isa);
    }
}

/// Runs the sides of a group, after all its rows.
pub(super) fn sides(code: &Code, table: &Table, registers: &mut Block, isa: Isa) {
    for side in &code.sides {
        run_positions(side, table, registers, isa, 0..side.size);
    }
}

/// Runs some positions of a group.
fn run_positions(code: &Code, table: &Table, registers: &mut Block, isa: Isa, positions: Range<usize>) {
    debug_assert!(code.bytes <= registers.bytes());
    let (bytes, registers) = (registers.bytes(), registers.start());
    let len = code.tile.min(positions.len());
    let mut tile = Tile { table, registers, bytes, seen: code.seen, start: positions.start, len, isa };
    for instruction in &code.before {
        tile.run(instruction);
    }
    for (start, len) in code.tiles(positions) {
        (tile.start, tile.len) = (start, len);
        for instruction in &code.each {
            tile.run(instruction);
        }
    }
}

impl<'a> Tile<'a> {
    /// Tiles of one element, in registers of these bytes.
    pub(super) fn new(table: &'a Table, registers: *mut u8, bytes: usize, isa: Isa) -> Tile<'a> {
        Tile { table, registers, bytes, seen: 0, start: 0, len: 1, isa }
    }

    /// The elements of an operand that has one for each position.
    #[inline]
    fn slice<E: Elem>(&self, arg: Arg) -> &[E] {
        match arg {
            Arg::Register(byte) => {
                debug_assert!(byte + self.len * size_of::<E>() <= self.bytes);
                // Safety: registers are parts of one block, aligned to its lines, that instructions before this one
                // have filled with elements of the type that the planner gave the value.
                unsafe { std::slice::from_raw_parts(self.registers.add(byte).cast::<E>(), self.len) }
            }
            // Safety: see `memory.rs`.
            Arg::Place(slot, at) => unsafe { self.table.read(slot, at + self.start, self.len) },
            Arg::Seen(sighting) => {
                let seen = self.seen(sighting);
                debug_assert!(!seen.one, "one number is read by kernels that take one");
                // Safety: the instruction that looked found as many elements there.
                unsafe { std::slice::from_raw_parts(seen.at.cast::<E>(), self.len) }
            }
            Arg::One(..) => unreachable!("one number is read by kernels that take one, or spread over a register"),
        }
    }

    #[inline]
    fn operand<E: Elem>(&self, arg: Arg) -> Operand<'_, E> {
        match arg {
            // Safety: see `memory.rs`.
            Arg::One(slot, at) => Operand::Scalar(unsafe { self.table.read::<E>(slot, at, 1) }[0]),
            // Safety: the instruction that looked found an element there.
            Arg::Seen(sighting) if self.seen(sighting).one => {
                Operand::Scalar(unsafe { *self.seen(sighting).at.cast::<E>() })
            }
            Arg::Register(_) | Arg::Place(..) | Arg::Seen(_) => Operand::Slice(self.slice(arg)),
        }
    }

    /// Where what a view sees is remembered.
    fn sighted(&self, sighting: Sighting) -> *mut Seen {
        debug_assert!(self.seen + (sighting.view + 1) * size_of::<Seen>() <= self.bytes);
        self.registers.wrapping_add(self.seen).cast::<Seen>().wrapping_add(sighting.view)
    }

    /// What a view sees in this tile.
    fn seen(&self, sighting: Sighting) -> Seen {
        // Safety: the code keeps room for each of its views, and the instruction of the view has run.
        unsafe { *self.sighted(sighting) }
    }

    /// Looks through a view: what lies in one piece is read there, anything else copied.
    fn see<E: Elem>(&self, item: &Item<Arg>, out: Sighting) {
        let Item::View(slot, walk) = item else { unreachable!("a view is read") };
        let (at, one) = match walk.sight(self.start, self.len) {
            // Safety: see `memory.rs`.
            Sight::Straight(place) => (unsafe { self.table.read::<E>(*slot, place, self.len) }, false),
            // Safety: see `memory.rs`.
            Sight::Same(place) if out.one => (unsafe { self.table.read::<E>(*slot, place, 1) }, true),
            Sight::Same(_) | Sight::Apart => {
                self.view::<E>(item, self.out(Arg::Register(out.register)));
                (self.slice(Arg::Register(out.register)), false)
            }
        };
        // Safety: as in `seen`.
        unsafe { *self.sighted(out) = Seen { at: at.as_ptr().cast(), one } }
    }

    /// The elements of the result.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "an instruction writes one place, which it does not read")]
    fn out<E: Elem>(&self, arg: Arg) -> &mut [E] {
        match arg {
            Arg::Register(byte) => {
                debug_assert!(byte + self.len * size_of::<E>() <= self.bytes);
                // Safety: the register of a result is not one of an operand.
                unsafe { std::slice::from_raw_parts_mut(self.registers.add(byte).cast::<E>(), self.len) }
            }
            // Safety: see `memory.rs`.
            Arg::Place(slot, at) => unsafe { self.table.write(slot, at + self.start, self.len) },
            Arg::One(..) | Arg::Seen(_) => unreachable!("a result has an element for each position"),
        }
    }

    pub(super) fn run(&self, instruction: &Instruction) {
        let Instruction { item, dtype, operand, out } = instruction;
        let (isa, out) = (self.isa, *out);
        match item {
            Item::Read(slot, at) => with_elem!(*dtype, E => {
                self.out::<E>(out).copy_from_slice(self.slice(Arg::Place(*slot, *at)));
            }),
            Item::One(slot, at) => with_elem!(*dtype, E => {
                // Safety: see `memory.rs`.
                self.out::<E>(out).fill(unsafe { self.table.read::<E>(*slot, *at, 1) }[0]);
            }),
            Item::View(..) => with_elem!(*dtype, E => match out {
                Arg::Seen(sighting) => self.see::<E>(item, sighting),
                Arg::Register(_) | Arg::Place(..) | Arg::One(..) => self.view(item, self.out::<E>(out)),
            }),
            Item::Places(walk) => {
                let out = self.out::<i64>(out);
                walk.runs(self.start, self.len, |run| {
                    let out = out[run.at..].iter_mut().step_by(run.step).take(run.len);
                    match run.place {
                        Some(place) => {
                            (0i64..).zip(out).for_each(|(i, out)| *out = place as i64 + run.stride * i);
                        }
                        None => out.for_each(|out| *out = 0),
                    }
                });
            }
            Item::Unary(op, a) => {
                with_float!(*dtype, E => rows::unary::<E>(isa, *op, self.slice(*a), self.out(out)))
            }
            Item::Binary(op, a, b) => {
                with_float!(*dtype, E => rows::binary::<E>(isa, *op, self.operand(*a), self.operand(*b), self.out(out)))
            }
            Item::Compare(op, a, b) => with_elem!(*operand, E => {
                rows::compare::<E>(isa, *op, self.operand(*a), self.operand(*b), self.out(out));
            }),
            Item::IntUnary(op, a) => rows::int_unary(isa, *op, self.slice(*a), self.out(out)),
            Item::IntBinary(op, a, b) => {
                rows::int_binary(isa, *op, self.operand(*a), self.operand(*b), self.out(out));
            }
            Item::And(a, b) => rows::and(isa, self.operand(*a), self.operand(*b), self.out(out)),
            Item::Or(a, b) => rows::or(isa, self.operand(*a), self.operand(*b), self.out(out)),
            Item::Not(a) => rows::not(isa, self.slice(*a), self.out(out)),
            Item::Step(op, a) => {
                with_float!(*dtype, E => rows::float_step::<E>(isa, *op, self.slice(*a), self.out(out)));
            }
            Item::Convert(from, a) => self.convert(*from, *a, *dtype, out),
            Item::Select([mask, a, b]) => with_elem!(*dtype, E => {
                rows::select::<E>(isa, self.slice(*mask), self.operand(*a), self.operand(*b), self.out(out));
            }),
            Item::Form(form, args) => with_float!(*dtype, E => {
                let mut operands = [Operand::Scalar(E::ZERO); 4];
                operands.iter_mut().zip(args).for_each(|(operand, arg)| *operand = self.operand(*arg));
                rows::form::<E>(isa, *form, &operands, self.out(out));
            }),
            Item::Weighted(weights, terms) => with_float!(*dtype, E => self.weighted::<E>(weights, terms, out)),
            Item::SinCos(a, second) => {
                with_float!(*dtype, E => rows::sin_cos::<E>(isa, self.slice(*a), self.out(out), self.out(*second)))
            }
            Item::Second(_) => unreachable!("the instruction before has computed both results"),
            Item::Gather(slot, sizes, ix) => with_elem!(*dtype, E => {
                let size = sizes.iter().product();
                let (first, n) = self.table.extent::<E>(*slot);
                // Safety: see `memory.rs`.
                let table = unsafe { self.table.read::<E>(*slot, first, n.min(size)) };
                self.gather((table, first), sizes, ix, self.out::<E>(out));
            }),
            Item::Put(..) => with_elem!(*operand, E => self.put::<E>(item)),
            Item::Add(..) => with_num!(*operand, E => self.add::<E>(item)),
        }
    }

    fn weighted<E: Real>(&self, sum: &Weights, terms: &[Arg], out: Arg) {
        let (mut slices, mut weights) = ([&[][..]; MAX_TERMS], [E::ZERO; MAX_TERMS]);
        for (k, (term, weight)) in terms.iter().zip(&sum.weights).enumerate() {
            (slices[k], weights[k]) = (self.slice(*term), E::of_f64(*weight));
        }
        let n = terms.len();
        let constant = sum.constant.map(E::of_f64);
        rows::linear_combination(self.isa, &slices[..n], &weights[..n], constant, self.out(out));
    }

    fn convert(&self, from: DType, a: Arg, into: DType, out: Arg) {
        let isa = self.isa;
        match (from, into) {
            (DType::F64, DType::I64) => rows::to_int::<f64>(isa, self.slice(a), self.out(out)),
            (DType::F32, DType::I64) => rows::to_int::<f32>(isa, self.slice(a), self.out(out)),
            (DType::Bool, DType::I64) => rows::to_int::<bool>(isa, self.slice(a), self.out(out)),
            (DType::I64, DType::F64) => rows::to_float::<i64, f64>(isa, self.slice(a), self.out(out)),
            (DType::I64, DType::F32) => rows::to_float::<i64, f32>(isa, self.slice(a), self.out(out)),
            (DType::Bool, DType::F64) => rows::to_float::<bool, f64>(isa, self.slice(a), self.out(out)),
            (DType::Bool, DType::F32) => rows::to_float::<bool, f32>(isa, self.slice(a), self.out(out)),
            (DType::F64, DType::F32) => {
                let (x, out) = (self.slice::<f64>(a), self.out::<f32>(out));
                out.iter_mut().zip(x).for_each(|(out, x)| *out = *x as f32);
            }
            (DType::F32, DType::F64) => {
                let (x, out) = (self.slice::<f32>(a), self.out::<f64>(out));
                out.iter_mut().zip(x).for_each(|(out, x)| *out = f64::from(*x));
            }
            (DType::F64 | DType::F32 | DType::I64 | DType::Bool, _) => {
                unreachable!("there is no conversion from {from} to {into}")
            }
        }
    }

    fn view<E: Elem>(&self, item: &Item<Arg>, out: &mut [E]) {
        let Item::View(slot, walk) = item else { unreachable!("a view is read") };
        let grids = walk.grids(READ, self.start, self.len, |grid| {
            let (n, stride) = (grid.len, grid.row_stride);
            let out = &mut out[grid.at..][..grid.rows * n];
            // Safety: see `memory.rs`; the elements of a grid lie between its first and its last.
            let source = unsafe { self.table.read::<E>(*slot, grid.place, grid.reach()) };
            match grid.stride {
                0 => rows::spread(self.isa, source, stride, n, out),
                1 => rows::copy(self.isa, source, stride, n, out),
                step => rows::copy_apart(self.isa, source, (stride, step), n, out),
            }
        });
        if grids || self.straight_with_holes(*slot, walk, out) {
            return;
        }
        walk.runs(self.start, self.len, |run| {
            let out = &mut out[run.at..run.at + (run.len - 1) * run.step + 1];
            let Some(place) = run.place else {
                return match run.step {
                    1 => out.fill(E::ZERO),
                    step => out.iter_mut().step_by(step).for_each(|x| *x = E::ZERO),
                };
            };
            let reach = (run.len - 1) * run.stride.unsigned_abs() as usize;
            let lowest = if run.stride < 0 { place - reach } else { place };
            // Safety: see `memory.rs`; the elements of a run lie between its first and its last.
            let source = unsafe { self.table.read::<E>(*slot, lowest, reach + 1) };
            let stride = run.stride.unsigned_abs() as usize;
            match (run.step, run.stride) {
                (1, 0) => out.fill(source[0]),
                (1, 1) => out.copy_from_slice(source),
                (1, -1) => rows::reverse(self.isa, source, out),
                // Indices, since iterators with steps are calls in builds that are split in many units.
                (1, 2..=4) => rows::copy_apart(self.isa, source, (0, stride), run.len, out),
                (step, ..0) => (0..run.len).for_each(|i| out[i * step] = source[reach - i * stride]),
                (step, 0..) => (0..run.len).for_each(|i| out[i * step] = source[i * stride]),
            }
        });
    }

    /// Copies what lies in one piece but for holes, if it does: the elements behind the holes, too, then zeros.
    fn straight_with_holes<E: Elem>(&self, slot: Slot, walk: &Walk, out: &mut [E]) -> bool {
        let Some(holed) = walk.straight_with_holes(self.start, self.len) else { return false };
        let (first, n) = self.table.extent::<E>(slot);
        let Some(place) = holed.within(self.len, first..first + n) else { return false };
        // Safety: see `memory.rs`; the elements lie between the first of the place and its last.
        out.copy_from_slice(unsafe { self.table.read::<E>(slot, place, self.len) });
        holed.holes(self.len, |range| out[range].fill(E::ZERO));
        true
    }

    /// Reads a table, of which there are the elements from `first` on: no index looks at others.
    fn gather<E: Elem>(&self, (table, first): (&[E], usize), sizes: &[usize], ix: &[Arg], out: &mut [E]) {
        if let [ix] = ix {
            let ix = self.slice::<i64>(*ix);
            let at = |i: &i64| usize::try_from(*i).ok().and_then(|i| i.checked_sub(first));
            let read = |i: &i64| at(i).and_then(|i| table.get(i)).copied().unwrap_or(E::ZERO);
            return out.iter_mut().zip(ix).for_each(|(out, i)| *out = read(i));
        }
        for (k, out) in out.iter_mut().enumerate() {
            let place = ix.iter().zip(sizes).try_fold(0usize, |at, (ix, size)| {
                let i = self.slice::<i64>(*ix)[k];
                ((i as u64) < *size as u64).then(|| at * size + i as usize)
            });
            *out = place.map_or(E::ZERO, |place| table[place - first]);
        }
    }

    fn put<E: Elem>(&self, item: &Item<Arg>) {
        let Item::Put(slot, walk, a) = item else { unreachable!("a value is written") };
        let x = self.slice::<E>(*a);
        // Rows that lie on each other are written in order, run by run.
        let apart = walk.steps() > 1
            && walk.grids(ADDED, self.start, self.len, |grid| {
                let x = &x[grid.at..][..grid.rows * grid.len];
                // Safety: see `memory.rs`.
                let out = unsafe { self.table.write::<E>(*slot, grid.place, grid.reach()) };
                rows::put_apart(self.isa, x, (grid.row_stride, grid.stride), grid.len, out);
            });
        if apart {
            return;
        }
        self.places::<E>(*slot, walk, |out, run| {
            let x = &x[run.at..run.at + (run.len - 1) * run.step + 1];
            match (run.step, run.stride) {
                (1, 1) => out.copy_from_slice(x),
                (step, 1) => out.iter_mut().zip(x.iter().step_by(step)).for_each(|(out, x)| *out = *x),
                (step, _) => each(out, run.stride, |out, i| *out = x[i * step], run.len),
            }
        });
    }

    fn add<E: Num>(&self, item: &Item<Arg>) {
        let Item::Add(slot, walk, a) = item else { unreachable!("a value is added") };
        let x = self.slice::<E>(*a);
        let grids = walk.grids(ADDED, self.start, self.len, |grid| {
            let (n, stride) = (grid.len, grid.row_stride);
            let x = &x[grid.at..][..grid.rows * n];
            // Safety: see `memory.rs`.
            let out = unsafe { self.table.write::<E>(*slot, grid.place, grid.reach()) };
            match (grid.stride, stride) {
                (0, _) => rows::sum_each(self.isa, x, n, stride, out),
                (1, 0) => rows::sum_all(self.isa, x, out),
                (2.., _) => rows::add_apart(self.isa, x, (stride, grid.stride), n, out),
                (1, _) => {
                    (0..grid.rows).for_each(|r| rows::add_to(self.isa, &x[r * n..][..n], &mut out[r * stride..][..n]))
                }
            }
        });
        if grids {
            return;
        }
        self.places::<E>(*slot, walk, |out, run| {
            let x = &x[run.at..run.at + (run.len - 1) * run.step + 1];
            match (run.step, run.stride) {
                (1, 0) => out[0] = out[0].plus(rows::sum(self.isa, x)),
                (1, 1) => rows::add_to(self.isa, x, out),
                (step, 1) => out.iter_mut().zip(x.iter().step_by(step)).for_each(|(out, x)| *out = out.plus(*x)),
                (step, _) => each(out, run.stride, |out, i| *out = out.plus(x[i * step]), run.len),
            }
        });
    }

    /// Calls `body` for each run of a walk that writes: the part of the place from the lowest element of the run to the
    /// highest, and the run.
    fn places<E: Elem>(&self, slot: Slot, walk: &Walk, mut body: impl FnMut(&mut [E], Run)) {
        walk.runs(self.start, self.len, |run| {
            let Some(place) = run.place else { return };
            let reach = (run.len - 1) * run.stride.unsigned_abs() as usize;
            let lowest = if run.stride < 0 { place - reach } else { place };
            // Safety: see `memory.rs`.
            body(unsafe { self.table.write(slot, lowest, reach + 1) }, run);
        });
    }
}

/// Calls `body` for each element of a run with a stride, with its position in the run.
fn each<E>(out: &mut [E], stride: i64, mut body: impl FnMut(&mut E, usize), len: usize) {
    let step = stride.unsigned_abs() as usize;
    if step == 0 {
        return (0..len).for_each(|i| body(&mut out[0], i));
    }
    let places = out.iter_mut().step_by(step);
    if stride > 0 {
        places.enumerate().for_each(|(i, out)| body(out, i));
    } else {
        places.enumerate().for_each(|(i, out)| body(out, len - 1 - i));
    }
}
