//! The tile machine: executes tile code, tile by tile.
//!
//! Law: an instruction writes one register or buffer, and reads others, whose elements have the types that the plan
//! gives them. See `memory.rs` for the invariant of slices.

#![allow(unsafe_code)]

use std::ops::Range;

use smallvec::SmallVec;

use super::group::{TileOp, Twin, Weight, Weights};
use super::{Instruction, ResolvedView, TileCode, TileOperand, ViewOperand};
use crate::array::{with_elem, with_float, with_num};
use crate::backend::ir::access::{ADDED, Footprint, READ, Run, SHORT_ROW, STACKED, StridedAccess};
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::{FusedOp, GatherOp};
use crate::backend::ir::step::{BufferId, RowRange};
use crate::backend::memory::{AddressTable, Block};
use crate::dtype::{DType, Elem, Num};
use crate::kernels::elementwise::{self, Arg as Operand, Isa, MAX_TERMS, Real, StackShape};
use crate::kernels::indexing;

/// The tile that is being computed.
pub(crate) struct Tile<'a> {
    table: &'a AddressTable,
    registers: *mut u8,
    /// The bytes of all registers.
    bytes: usize,
    /// The byte at which the resolved addresses of views start.
    seen: usize,
    /// The first position, and the number of positions.
    start: usize,
    len: usize,
    isa: Isa,
}

/// Fills buffers with zeros before a range of rows of a group runs: their elements of these rows, or, for the buffers
/// `whole`, all elements before the first rows.
pub(crate) fn clear(code: &TileCode, table: &mut AddressTable, span: RowRange, whole: &[BufferId]) {
    for (buf, bytes) in &code.cleared {
        if !whole.contains(buf) {
            table.clear(*buf, span.of(*bytes));
        } else if span.from == 0 {
            table.clear(*buf, 0..*bytes);
        }
    }
}

/// Runs a range of rows of a group.
pub(crate) fn run(code: &TileCode, table: &AddressTable, registers: &mut Block, isa: Isa, span: RowRange) {
    let positions = span.of(code.size);
    let all = positions.len() == code.size;
    run_positions(code, table, registers, isa, positions);
    if all {
        halo(code, table, registers, isa);
    }
}

/// Recomputes the positions at the sides of rows, after all rows of a group.
pub(crate) fn halo(code: &TileCode, table: &AddressTable, registers: &mut Block, isa: Isa) {
    for side in &code.halo {
        run_positions(side, table, registers, isa, 0..side.size);
    }
}

/// Runs a range of positions of a group.
fn run_positions(code: &TileCode, table: &AddressTable, registers: &mut Block, isa: Isa, positions: Range<usize>) {
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

/// Tile code names one number only where a kernel takes one, or spreads it over a register, and assigns results to registers
/// and buffers.
#[cold]
fn not_elements() -> ! {
    unreachable!("a tile has an element for each position")
}

impl<'a> Tile<'a> {
    /// A tile of one element, for instructions of register code.
    pub(crate) fn new(table: &'a AddressTable, registers: *mut u8, bytes: usize, isa: Isa) -> Tile<'a> {
        Tile { table, registers, bytes, seen: 0, start: 0, len: 1, isa }
    }

    /// The elements of an operand that is not broadcast.
    #[inline]
    fn slice<E: Elem>(&self, arg: TileOperand) -> &[E] {
        match arg {
            TileOperand::Register(byte) => {
                debug_assert!(byte + self.len * size_of::<E>() <= self.bytes);
                // Safety: registers are ranges of one block, aligned to cache lines, that earlier instructions have
                // filled with elements of the type of the value.
                unsafe { std::slice::from_raw_parts(self.registers.add(byte).cast::<E>(), self.len) }
            }
            // Safety: see `memory.rs`.
            TileOperand::Buffer(buf, at) => unsafe { self.table.read(buf, at + self.start, self.len) },
            TileOperand::View(view) => {
                let seen = self.seen(view);
                debug_assert!(!seen.one, "one number is read by kernels that take one");
                // Safety: the instruction of the view has resolved an address with as many elements.
                unsafe { std::slice::from_raw_parts(seen.at.cast::<E>(), self.len) }
            }
            TileOperand::One(..) => not_elements(),
        }
    }

    #[inline]
    fn operand<E: Elem>(&self, arg: TileOperand) -> Operand<'_, E> {
        match arg {
            // Safety: see `memory.rs`.
            TileOperand::One(buf, at) => Operand::Scalar(unsafe { self.table.read::<E>(buf, at, 1) }[0]),
            // Safety: the instruction of the view has resolved the address of an element.
            TileOperand::View(view) if self.seen(view).one => {
                Operand::Scalar(unsafe { *self.seen(view).at.cast::<E>() })
            }
            TileOperand::Register(_) | TileOperand::Buffer(..) | TileOperand::View(_) => {
                Operand::Slice(self.slice(arg))
            }
        }
    }

    /// The location of the resolved address of a view.
    fn resolved_at(&self, view: ViewOperand) -> *mut ResolvedView {
        debug_assert!(self.seen + (view.view + 1) * size_of::<ResolvedView>() <= self.bytes);
        self.registers.wrapping_add(self.seen).cast::<ResolvedView>().wrapping_add(view.view)
    }

    /// The resolved address of a view in this tile.
    fn seen(&self, view: ViewOperand) -> ResolvedView {
        // Safety: the registers have room for each view of the code, and the instruction of the view has run.
        unsafe { *self.resolved_at(view) }
    }

    /// Resolves the address of a view in this tile: contiguous elements are read in place, others are copied to a
    /// register.
    fn see<E: Elem>(&self, buf: BufferId, access: &StridedAccess, out: ViewOperand) {
        let (at, one) = match access.footprint(self.start, self.len) {
            // Safety: see `memory.rs`.
            Footprint::Contiguous(place) => (unsafe { self.table.read::<E>(buf, place, self.len) }, false),
            // Safety: see `memory.rs`.
            Footprint::Single(place) if out.one => (unsafe { self.table.read::<E>(buf, place, 1) }, true),
            footprint @ (Footprint::Single(_) | Footprint::Strided) => {
                let register = TileOperand::Register(out.register);
                match footprint {
                    // Safety: see `memory.rs`.
                    Footprint::Single(place) => {
                        let one = unsafe { self.table.read::<E>(buf, place, 1) };
                        elementwise::spread(self.isa, one, 0, self.len, self.out(register));
                    }
                    Footprint::Contiguous(_) | Footprint::Strided => self.view::<E>(buf, access, self.out(register)),
                }
                (self.slice(register), false)
            }
        };
        // Safety: as in `seen`.
        unsafe { *self.resolved_at(out) = ResolvedView { at: at.as_ptr().cast(), one } }
    }

    /// The elements of a result.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "an instruction writes one place, which it does not read")]
    fn out<E: Elem>(&self, arg: TileOperand) -> &mut [E] {
        match arg {
            TileOperand::Register(byte) => {
                debug_assert!(byte + self.len * size_of::<E>() <= self.bytes);
                // Safety: the register of a result is not one of an operand.
                unsafe { std::slice::from_raw_parts_mut(self.registers.add(byte).cast::<E>(), self.len) }
            }
            // Safety: see `memory.rs`.
            TileOperand::Buffer(buf, at) => unsafe { self.table.write(buf, at + self.start, self.len) },
            TileOperand::One(..) | TileOperand::View(_) => not_elements(),
        }
    }

    pub(crate) fn run(&self, instruction: &Instruction) {
        let Instruction { item, dtype, operand, out } = instruction;
        let (isa, out) = (self.isa, *out);
        match item {
            TileOp::Lowered(op) => self.lowered(op, instruction),
            TileOp::Form(form, args) => with_float!(*dtype, E => {
                let mut operands = [Operand::Scalar(E::ZERO); 4];
                operands.iter_mut().zip(args).for_each(|(operand, arg)| *operand = self.operand(*arg));
                elementwise::form::<E>(isa, *form, &operands, self.out(out));
            }),
            TileOp::Weighted(weights, terms) => with_float!(*dtype, E => self.weighted::<E>(weights, terms, out)),
            TileOp::AddProducts(buf, at, [x, y]) => with_float!(*operand, E => {
                let sum = elementwise::sum_of_products::<E>(isa, self.slice(*x), self.slice(*y));
                // Safety: see `memory.rs`.
                let out = unsafe { self.table.write::<E>(*buf, *at, 1) };
                out[0] = out[0].plus(sum);
            }),
            TileOp::Twin(Twin::SinCos, args, second) => with_float!(*dtype, E => {
                elementwise::sin_cos::<E>(isa, self.slice(args[0]), self.out(out), self.out(*second));
            }),
            TileOp::Twin(Twin::ComplexProduct, args, second) => with_float!(*dtype, E => {
                let operands = std::array::from_fn(|k| self.slice(args[k]));
                elementwise::complex_product::<E>(isa, operands, self.out(out), self.out(*second));
            }),
        }
    }

    /// Runs an operation that is not a superinstruction. Inlined, as `elementwise` is: tiles may be short, and one more
    /// call costs as much as the dispatch to a kernel.
    #[inline(always)]
    fn lowered(&self, op: &FusedOp<TileOperand>, instruction: &Instruction) {
        let Instruction { item: _, dtype, operand, out } = instruction;
        let out = *out;
        match op {
            FusedOp::Read(buf, at) => with_elem!(*dtype, E => {
                self.out::<E>(out).copy_from_slice(self.slice(TileOperand::Buffer(*buf, *at)));
            }),
            FusedOp::One(buf, at) => with_elem!(*dtype, E => {
                // Safety: see `memory.rs`.
                self.out::<E>(out).fill(unsafe { self.table.read::<E>(*buf, *at, 1) }[0]);
            }),
            FusedOp::View(buf, access) => with_elem!(*dtype, E => match out {
                TileOperand::View(view) => self.see::<E>(*buf, access, view),
                TileOperand::Register(_) | TileOperand::Buffer(..) | TileOperand::One(..) => {
                    self.view(*buf, access, self.out::<E>(out));
                }
            }),
            FusedOp::Positions(access) => {
                let out = self.out::<i64>(out);
                access.runs(self.start, self.len, |run| {
                    let out = out[run.at..].iter_mut().step_by(run.step).take(run.len);
                    match run.place {
                        Some(place) => {
                            (0i64..).zip(out).for_each(|(i, out)| *out = place as i64 + run.stride * i);
                        }
                        None => out.for_each(|out| *out = 0),
                    }
                });
            }
            FusedOp::Gather(GatherOp { buf, sizes, indices }) => with_elem!(*dtype, E => {
                let size = sizes.iter().product();
                let (first, n) = self.table.extent::<E>(*buf);
                // Safety: see `memory.rs`.
                let table = unsafe { self.table.read::<E>(*buf, first, n.min(size)) };
                self.gather((table, first), sizes, indices, self.out::<E>(out));
            }),
            FusedOp::Put(buf, access, a) => with_elem!(*operand, E => self.put::<E>(*buf, access, *a)),
            FusedOp::Add(buf, access, a) => with_num!(*operand, E => self.add::<E>(*buf, access, *a)),
            FusedOp::Elementwise(op) => self.elementwise(op, *dtype, *operand, out),
        }
    }

    /// Runs an elementwise operation, with the element types of its result and of its last operand.
    #[inline(always)]
    fn elementwise(&self, op: &ElementwiseOp<TileOperand>, dtype: DType, operand: DType, out: TileOperand) {
        let isa = self.isa;
        match op {
            ElementwiseOp::Unary(op, a) => {
                with_float!(dtype, E => elementwise::unary::<E>(isa, *op, self.slice(*a), self.out(out)))
            }
            ElementwiseOp::Binary(op, a, b) => {
                with_float!(dtype, E => elementwise::binary::<E>(isa, *op, self.operand(*a), self.operand(*b), self.out(out)))
            }
            ElementwiseOp::Compare(op, a, b) => with_elem!(operand, E => {
                elementwise::compare::<E>(isa, *op, self.operand(*a), self.operand(*b), self.out(out));
            }),
            ElementwiseOp::IntUnary(op, a) => elementwise::int_unary(isa, *op, self.slice(*a), self.out(out)),
            ElementwiseOp::IntBinary(op, a, b) => {
                elementwise::int_binary(isa, *op, self.operand(*a), self.operand(*b), self.out(out));
            }
            ElementwiseOp::And(a, b) => elementwise::and(isa, self.operand(*a), self.operand(*b), self.out(out)),
            ElementwiseOp::Or(a, b) => elementwise::or(isa, self.operand(*a), self.operand(*b), self.out(out)),
            ElementwiseOp::Not(a) => elementwise::not(isa, self.slice(*a), self.out(out)),
            ElementwiseOp::FloatStep(op, a) => {
                with_float!(dtype, E => elementwise::float_step::<E>(isa, *op, self.slice(*a), self.out(out)));
            }
            ElementwiseOp::Convert(from, a) => self.convert(*from, *a, dtype, out),
            ElementwiseOp::Select([mask, a, b]) => with_elem!(dtype, E => {
                elementwise::select::<E>(isa, self.slice(*mask), self.operand(*a), self.operand(*b), self.out(out));
            }),
        }
    }

    fn weighted<E: Real>(&self, sum: &Weights, terms: &[TileOperand], out: TileOperand) {
        let (mut slices, mut weights) = ([&[][..]; MAX_TERMS], [E::ZERO; MAX_TERMS]);
        for (k, (term, weight)) in terms.iter().zip(&sum.weights).enumerate() {
            let weight = match *weight {
                Weight::Known(number) => E::of_f64(number),
                Weight::Read { buf, at, sign } => {
                    // Safety: see `memory.rs`.
                    let elements = unsafe { self.table.read::<E>(buf, at, 1) };
                    elements[0] * E::of_f64(sign)
                }
            };
            (slices[k], weights[k]) = (self.slice(*term), weight);
        }
        let n = terms.len();
        let constant = sum.constant.map(E::of_f64);
        elementwise::linear_combination(self.isa, &slices[..n], &weights[..n], constant, self.out(out));
    }

    fn convert(&self, from: DType, a: TileOperand, into: DType, out: TileOperand) {
        let isa = self.isa;
        match (from, into) {
            (DType::F64, DType::I64) => elementwise::to_int::<f64>(isa, self.slice(a), self.out(out)),
            (DType::F32, DType::I64) => elementwise::to_int::<f32>(isa, self.slice(a), self.out(out)),
            (DType::Bool, DType::I64) => elementwise::to_int::<bool>(isa, self.slice(a), self.out(out)),
            (DType::I64, DType::F64) => elementwise::to_float::<i64, f64>(isa, self.slice(a), self.out(out)),
            (DType::I64, DType::F32) => elementwise::to_float::<i64, f32>(isa, self.slice(a), self.out(out)),
            (DType::Bool, DType::F64) => elementwise::to_float::<bool, f64>(isa, self.slice(a), self.out(out)),
            (DType::Bool, DType::F32) => elementwise::to_float::<bool, f32>(isa, self.slice(a), self.out(out)),
            (DType::F64, DType::F32) => {
                let (x, out) = (self.slice::<f64>(a), self.out::<f32>(out));
                out.iter_mut().zip(x).for_each(|(out, x)| *out = *x as f32);
            }
            (DType::F32, DType::F64) => {
                let (x, out) = (self.slice::<f32>(a), self.out::<f64>(out));
                out.iter_mut().zip(x).for_each(|(out, x)| *out = f64::from(*x));
            }
            (DType::F64 | DType::F32 | DType::I64 | DType::Bool, _) => {
                unreachable!("{from} is not converted to {into}")
            }
        }
    }

    fn view<E: Elem>(&self, buf: BufferId, access: &StridedAccess, out: &mut [E]) {
        let stacks = access.stacks(self.start, self.len, |stack| {
            // Safety: see `memory.rs`; the elements of a stack lie between its first and its last.
            let source = unsafe { self.table.read::<E>(buf, stack.place, stack.reach()) };
            elementwise::copy_stack(self.isa, source, stack.shape, &mut out[stack.at..][..stack.size()]);
        });
        if stacks {
            return;
        }
        let grids = access.grids(READ, self.start, self.len, |grid| {
            let (n, stride) = (grid.len, grid.row_stride);
            let out = &mut out[grid.at..][..grid.rows * n];
            // Safety: see `memory.rs`; the elements of a grid lie between its first and its last.
            let source = unsafe { self.table.read::<E>(buf, grid.place, grid.reach()) };
            match grid.stride {
                0 => elementwise::spread(self.isa, source, stride, n, out),
                1 => elementwise::copy(self.isa, source, stride, n, out),
                step => elementwise::copy_apart(self.isa, source, (stride, step), n, out),
            }
        });
        if grids || self.straight_with_holes(buf, access, out) || self.boxes(buf, access, out) {
            return;
        }
        access.runs(self.start, self.len, |run| {
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
            let source = unsafe { self.table.read::<E>(buf, lowest, reach + 1) };
            let stride = run.stride.unsigned_abs() as usize;
            match (run.step, run.stride) {
                (1, 0) => out.fill(source[0]),
                (1, 1) => out.copy_from_slice(source),
                (1, -1) => elementwise::reverse(self.isa, source, out),
                // Indices, since stepping iterators are not inlined across codegen units.
                (1, 2..=4) => elementwise::copy_apart(self.isa, source, (0, stride), run.len, out),
                (step, ..0) => (0..run.len).for_each(|i| out[i * step] = source[reach - i * stride]),
                (step, 0..) => (0..run.len).for_each(|i| out[i * step] = source[i * stride]),
            }
        });
    }

    /// Copies contiguous rows with holes as one slice, holes continued, then writes zeros to the holes. Returns whether
    /// the positions are such rows.
    fn straight_with_holes<E: Elem>(&self, buf: BufferId, access: &StridedAccess, out: &mut [E]) -> bool {
        let Some(holed) = access.straight_with_holes(self.start, self.len) else { return false };
        let (first, n) = self.table.extent::<E>(buf);
        let Some(place) = holed.within(self.len, first..first + n) else { return false };
        // Safety: see `memory.rs`; the elements lie between the first of the buffer and its last.
        out.copy_from_slice(unsafe { self.table.read::<E>(buf, place, self.len) });
        holed.holes(self.len, |range| out[range].fill(E::ZERO));
        true
    }

    /// Copies the boxes between the holes of short rows, and writes zeros to the holes. Returns whether the positions are
    /// such boxes.
    fn boxes<E: Elem>(&self, buf: BufferId, access: &StridedAccess, out: &mut [E]) -> bool {
        let mut end = 0;
        let are_boxes = access.boxes(self.start, self.len, |filled| {
            let width = (filled.rows - 1) * filled.pitch + filled.len;
            out[end..filled.at + width].fill(E::ZERO);
            end = filled.at + width;
            let (lowest, reach) = filled.reach();
            // Safety: see `memory.rs`; the elements of a box lie between its lowest place and its highest.
            let source = unsafe { self.table.read::<E>(buf, lowest, reach) };
            let strides = (filled.row_stride, filled.stride);
            let out = &mut out[filled.at..][..width];
            elementwise::copy_box(self.isa, (source, filled.place - lowest), strides, (filled.len, filled.pitch), out);
        });
        if are_boxes {
            out[end..].fill(E::ZERO);
        }
        are_boxes
    }

    /// Gathers from a table, whose elements from `first` on are in memory: no index refers to an earlier one.
    fn gather<E: Elem>(&self, (table, first): (&[E], usize), sizes: &[usize], ix: &[TileOperand], out: &mut [E]) {
        let ix: SmallVec<[&[i64]; 4]> = ix.iter().map(|ix| self.slice(*ix)).collect();
        indexing::gather_elements(self.isa, (table, first), sizes, &ix, out);
    }

    fn put<E: Elem>(&self, buf: BufferId, access: &StridedAccess, a: TileOperand) {
        let x = self.slice::<E>(a);
        // Rows that overlap are written in order, run by run.
        let apart = access.steps() > 1
            && access.grids(ADDED, self.start, self.len, |grid| {
                let x = &x[grid.at..][..grid.rows * grid.len];
                // Safety: see `memory.rs`.
                let out = unsafe { self.table.write::<E>(buf, grid.place, grid.reach()) };
                elementwise::put_apart(self.isa, x, (grid.row_stride, grid.stride), grid.len, out);
            });
        if apart {
            return;
        }
        self.places::<E>(buf, access, |out, run| {
            let x = &x[run.at..run.at + (run.len - 1) * run.step + 1];
            match (run.step, run.stride) {
                (1, 1) => out.copy_from_slice(x),
                (step, 1) => out.iter_mut().zip(x.iter().step_by(step)).for_each(|(out, x)| *out = *x),
                (step, _) => each(out, run.stride, |out, i| *out = x[i * step], run.len),
            }
        });
    }

    fn add<E: Num>(&self, buf: BufferId, access: &StridedAccess, a: TileOperand) {
        let x = self.slice::<E>(a);
        let stacks = access.stacks(self.start, self.len, |stack| {
            let x = &x[stack.at..][..stack.size()];
            // Safety: see `memory.rs`.
            let out = unsafe { self.table.write::<E>(buf, stack.place, stack.reach()) };
            match stack.shape.strides {
                [0, ..] if stack.grids > 2 => self.sum_grids(x, stack.shape, out),
                _ => elementwise::add_stack(self.isa, x, stack.shape, out),
            }
        });
        if stacks {
            return;
        }
        let grids = access.grids(ADDED, self.start, self.len, |grid| {
            let (n, stride) = (grid.len, grid.row_stride);
            let x = &x[grid.at..][..grid.rows * n];
            // Safety: see `memory.rs`.
            let out = unsafe { self.table.write::<E>(buf, grid.place, grid.reach()) };
            match (grid.stride, stride) {
                (0, _) => elementwise::sum_each(self.isa, x, n, stride, out),
                (1, 0) => elementwise::sum_all(self.isa, x, out),
                (2.., 0) if grid.rows > 2 => self.sum_all_apart(x, n, grid.stride, out),
                (2.., _) => elementwise::add_apart(self.isa, x, (stride, grid.stride), n, out),
                (1, _) if n <= SHORT_ROW => {
                    let shape = StackShape { rows: 1, len: n, strides: [stride, 0, 1] };
                    elementwise::add_stack(self.isa, x, shape, out);
                }
                (1, _) => (0..grid.rows)
                    .for_each(|r| elementwise::add_to(self.isa, &x[r * n..][..n], &mut out[r * stride..][..n])),
            }
        });
        if grids {
            return;
        }
        self.places::<E>(buf, access, |out, run| {
            let x = &x[run.at..run.at + (run.len - 1) * run.step + 1];
            match (run.step, run.stride) {
                (1, 0) => out[0] = out[0].plus(elementwise::sum(self.isa, x)),
                (1, 1) => elementwise::add_to(self.isa, x, out),
                (step, 1) => out.iter_mut().zip(x.iter().step_by(step)).for_each(|(out, x)| *out = out.plus(*x)),
                (step, _) => each(out, run.stride, |out, i| *out = out.plus(x[i * step]), run.len),
            }
        });
    }

    /// Adds all rows, of `n` elements, to elements of the output that are `stride` apart.
    fn sum_all_apart<E: Num>(&self, x: &[E], n: usize, stride: usize, out: &mut [E]) {
        let mut sums = [E::ZERO; *ADDED.end()];
        let sums = &mut sums[..n];
        elementwise::sum_all(self.isa, x, sums);
        for i in 0..n {
            out[i * stride] = out[i * stride].plus(sums[i]);
        }
    }

    /// Adds grids that are added to one grid of the output: their sum first, then its elements.
    fn sum_grids<E: Num>(&self, x: &[E], shape: StackShape, out: &mut [E]) {
        let mut sums = [E::ZERO; STACKED];
        let sums = &mut sums[..shape.rows * shape.len];
        elementwise::sum_all(self.isa, x, sums);
        elementwise::add_stack(self.isa, sums, shape, out);
    }

    /// Calls `body` for each run of a writing access, with the part of the buffer from the lowest element of the run to
    /// the highest.
    fn places<E: Elem>(&self, buf: BufferId, access: &StridedAccess, mut body: impl FnMut(&mut [E], Run)) {
        access.runs(self.start, self.len, |run| {
            let Some(place) = run.place else { return };
            let reach = (run.len - 1) * run.stride.unsigned_abs() as usize;
            let lowest = if run.stride < 0 { place - reach } else { place };
            // Safety: see `memory.rs`.
            body(unsafe { self.table.write(buf, lowest, reach + 1) }, run);
        });
    }
}

/// Calls `body` for each element of a strided run, with its index in the run.
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
