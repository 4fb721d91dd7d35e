//! Packs as instructions on vectors.
//!
//! Law: a lane has the bits of the statement that it stands for.

use cranelift_codegen::ir::{
    AbiParam, ConstantData, InstBuilder as _, MemFlags, Signature, StackSlot, StackSlotData, StackSlotKind, Value,
    types,
};
use smallvec::SmallVec;

use super::arithmetic::{LITTLE, is_inline, is_inline_of_two};
use super::calls::{self, Address, TOGETHER};
use super::packs::{LaneKind, PackForm, same, value_of, variable_of};
use super::places::Place;
use super::translate::Translator;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::trees::tree::{ArrayId, ElementIndex, Expression, Literal, Stmt};
use crate::dtype::DType;

/// The lanes of a pack.
type Vectors = SmallVec<[Value; 4]>;

/// The memory of a vector, whose address is that of an element.
const VECTOR: MemFlags = MemFlags::new().with_notrap();

impl Translator<'_, '_> {
    /// Statements of one form as one pack.
    pub(super) fn pack(&mut self, pack: &[Stmt], lanes: LaneKind) {
        let values: SmallVec<[&Expression; 8]> = pack.iter().filter_map(value_of).collect();
        let vectors = self.vectors(&values, lanes);
        if let Stmt::Store(array, first, _) = &pack[0] {
            return self.store_pack(pack, (*array, first), (vectors, lanes));
        }
        let is_set = matches!(pack[0], Stmt::Set(..));
        for (part, vector) in pack.chunks(lanes.count()).zip(vectors) {
            let targets: SmallVec<[_; 4]> = part.iter().filter_map(variable_of).collect();
            let into = match self.place(targets[0]) {
                Some(Place::Lane(into, 0, _)) if is_set => into,
                Some(Place::Lane(..) | Place::Alone(_)) | None => self.builder.declare_var(lanes.vector()),
            };
            self.builder.def_var(into, vector);
            for (k, variable) in (0..).zip(targets) {
                self.put_at(variable, Place::Lane(into, k, lanes));
            }
        }
    }

    fn store_pack(
        &mut self,
        pack: &[Stmt],
        (array, first): (ArrayId, &ElementIndex),
        (vectors, lanes): (Vectors, LaneKind),
    ) {
        let cells = pack.iter().map(|stmt| self.stored_cell(stmt));
        if let Some(variables) = self.whole_vectors(cells, lanes) {
            variables.iter().zip(vectors).for_each(|(into, vector)| self.builder.def_var(*into, vector));
            return;
        }
        let is_next = |(k, stmt): (usize, &Stmt)| matches!(stmt, Stmt::Store(_, at, _) if at.constant == first.constant + k as i64);
        let inside = |stmt: &Stmt| matches!(stmt, Stmt::Store(_, at, _) if self.is_inside(array, at));
        let whole = pack.iter().enumerate().all(is_next) && inside(&pack[0]) && inside(&pack[pack.len() - 1]);
        if whole && !lanes.is_mask() && self.is_memory(array) {
            let (at, offset) = self.element(array, first);
            for (k, vector) in (0..).zip(vectors) {
                self.builder.ins().store(VECTOR, vector, at, offset + 16 * k);
            }
            return;
        }
        for (k, stmt) in pack.iter().enumerate() {
            if let Stmt::Store(array, at, _) = stmt {
                let value = self.lane_of(vectors[k / lanes.count()], k % lanes.count(), lanes);
                self.store(*array, at, value);
            }
        }
    }

    /// The lanes of a pack of expressions.
    fn vectors(&mut self, of: &[&Expression], lanes: LaneKind) -> Vectors {
        let count = of.len() / lanes.count();
        match self.form(of, lanes) {
            PackForm::Same => {
                let one = self.expr(of[0]);
                let vector = self.splat(one, lanes);
                SmallVec::from_elem(vector, count)
            }
            PackForm::Constants => of.chunks(lanes.count()).map(|part| self.constant(part, lanes)).collect(),
            PackForm::Variables(variables) => variables.iter().map(|of| self.builder.use_var(*of)).collect(),
            PackForm::Neighbours(array, first) => {
                let (at, offset) = self.element(array, first);
                (0..count as i32)
                    .map(|k| self.builder.ins().load(lanes.vector(), VECTOR, at, offset + 16 * k))
                    .collect()
            }
            PackForm::Operation(parts) => {
                let parts: SmallVec<[Vectors; 3]> =
                    parts.iter().map(|(part, kind)| self.vectors(part, *kind)).collect();
                let Expression::Op(op, dtype) = of[0] else { return Vectors::new() };
                self.operation(op, *dtype, &parts, lanes)
            }
            PackForm::Gathered => self.gathered(of, lanes),
        }
    }

    /// An operation on the lanes of its operands.
    fn operation(
        &mut self,
        op: &ElementwiseOp<Expression>,
        dtype: DType,
        parts: &[Vectors],
        lanes: LaneKind,
    ) -> Vectors {
        let mut address = None;
        if let ElementwiseOp::Unary(op, _) = op
            && !is_inline(*op)
        {
            address = Some(calls::unary_together(self.isa, *op, dtype));
        }
        if let ElementwiseOp::Binary(op, ..) = op
            && !is_inline_of_two(*op)
        {
            address = calls::binary_together(self.isa, *op, dtype);
        }
        match address {
            Some(address) => self.call_together(address, parts, lanes),
            None => (0..parts[0].len()).map(|k| self.on_vectors(op, dtype, parts, k)).collect(),
        }
    }

    /// An operation on the vectors of this number.
    fn on_vectors(&mut self, op: &ElementwiseOp<Expression>, dtype: DType, parts: &[Vectors], k: usize) -> Value {
        let part = |of: usize| parts[of][k];
        match op {
            ElementwiseOp::Unary(op, _) => self.unary(*op, part(0), dtype),
            ElementwiseOp::Binary(op, ..) => self.binary(*op, part(0), part(1), dtype),
            ElementwiseOp::FloatStep(op, _) => self.float_step(*op, part(0), dtype),
            ElementwiseOp::Compare(op, a, _) => {
                let of = self.dtype(a);
                self.compare(*op, part(0), part(1), of)
            }
            ElementwiseOp::And(..) => self.builder.ins().band(part(0), part(1)),
            ElementwiseOp::Or(..) => self.builder.ins().bor(part(0), part(1)),
            ElementwiseOp::Not(_) => self.builder.ins().bnot(part(0)),
            ElementwiseOp::Select(_) => self.chosen(part(0), part(1), part(2)),
            ElementwiseOp::IntUnary(..) | ElementwiseOp::IntBinary(..) | ElementwiseOp::Convert(..) => {
                unreachable!("an operation of a pack has one on vectors")
            }
        }
    }

    /// The lanes of the second where a mask has ones, otherwise those of the third.
    fn chosen(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let (ty, of) = (self.builder.func.dfg.value_type(a), self.builder.func.dfg.value_type(mask));
        let [a, b] = [a, b].map(|x| if ty == of { x } else { self.bits(x) });
        let chosen = self.builder.ins().bitselect(mask, a, b);
        if ty == of { chosen } else { self.builder.ins().bitcast(ty, LITTLE, chosen) }
    }

    /// A function that computes eight elements in memory.
    fn call_together(&mut self, address: Address, parts: &[Vectors], lanes: LaneKind) -> Vectors {
        let all = TOGETHER / lanes.count();
        let slots: SmallVec<[StackSlot; 3]> = (0..=parts.len()).map(|k| self.slot_together(k)).collect();
        for (part, slot) in parts.iter().zip(&slots) {
            // LaneKind that nobody reads have numbers that somebody does: no function takes long at them alone.
            for (k, vector) in (0..all as i32).zip(part.iter().chain(std::iter::repeat(&part[part.len() - 1]))) {
                self.builder.ins().stack_store(*vector, *slot, 16 * k);
            }
        }
        let mut signature = Signature::new(self.convention);
        signature.params.extend(slots.iter().map(|_| AbiParam::new(self.pointer)));
        let signature = self.builder.import_signature(signature);
        let callee = self.builder.ins().iconst(self.pointer, address.addr() as i64);
        let args: SmallVec<[Value; 3]> =
            slots.iter().map(|slot| self.builder.ins().stack_addr(self.pointer, *slot, 0)).collect();
        self.builder.ins().call_indirect(signature, callee, &args);
        let result = slots[parts.len()];
        (0..parts[0].len() as i32).map(|k| self.builder.ins().stack_load(lanes.vector(), result, 16 * k)).collect()
    }

    /// The memory of an argument, or of the results, of functions of eight elements.
    fn slot_together(&mut self, k: usize) -> StackSlot {
        while self.together.len() <= k {
            let bytes = (TOGETHER * 8) as u32;
            let slot = self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 6));
            self.together.push(slot);
        }
        self.together[k]
    }

    /// LaneKind that are computed one by one.
    fn gathered(&mut self, of: &[&Expression], lanes: LaneKind) -> Vectors {
        let mut values: SmallVec<[Value; 8]> = SmallVec::new();
        for (k, x) in of.iter().enumerate() {
            let value = match of[..k].iter().position(|before| same(before, x)) {
                Some(before) => values[before],
                None => {
                    let value = self.expr(x);
                    self.as_lane(value, lanes)
                }
            };
            values.push(value);
        }
        values
            .chunks(lanes.count())
            .map(|part| {
                if part[1..].iter().all(|value| *value == part[0]) {
                    return self.builder.ins().splat(lanes.vector(), part[0]);
                }
                let first = self.builder.ins().scalar_to_vector(lanes.vector(), part[0]);
                (1u8..).zip(&part[1..]).fold(first, |all, (k, value)| self.builder.ins().insertlane(all, *value, k))
            })
            .collect()
    }

    /// One value in all lanes.
    fn splat(&mut self, one: Value, lanes: LaneKind) -> Value {
        let lane = self.as_lane(one, lanes);
        self.builder.ins().splat(lanes.vector(), lane)
    }

    /// A value as a lane: a mask has ones or zeros in all its bits.
    pub(super) fn as_lane(&mut self, value: Value, lanes: LaneKind) -> Value {
        if !lanes.is_mask() {
            return value;
        }
        let wide = self.builder.ins().uextend(lanes.lane(), value);
        self.builder.ins().ineg(wide)
    }

    /// A lane as a value.
    pub(super) fn lane_of(&mut self, vector: Value, k: usize, lanes: LaneKind) -> Value {
        let lane = self.builder.ins().extractlane(vector, k as u8);
        if !lanes.is_mask() {
            return lane;
        }
        let byte = self.builder.ins().ireduce(types::I8, lane);
        self.builder.ins().band_imm(byte, 1)
    }

    fn constant(&mut self, of: &[&Expression], lanes: LaneKind) -> Value {
        let mut bytes: SmallVec<[u8; 16]> = SmallVec::new();
        for x in of {
            let Expression::Literal(x) = x else { continue };
            match x {
                Literal::F64(x) => bytes.extend(x.to_le_bytes()),
                Literal::F32(x) => bytes.extend(x.to_le_bytes()),
                Literal::I64(x) => bytes.extend(x.to_le_bytes()),
                Literal::Bool(x) => bytes.extend(std::iter::repeat_n(if *x { 255 } else { 0 }, 16 / lanes.count())),
            }
        }
        let constant = self.builder.func.dfg.constants.insert(ConstantData::from(&bytes[..]));
        self.builder.ins().vconst(lanes.vector(), constant)
    }
}
