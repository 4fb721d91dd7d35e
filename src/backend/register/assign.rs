//! Instruction selection and register assignment for scalars; products are merged into the sums that use them.
//!
//! Law: a register is reused only after the last use of its value. Outputs that the body does not compute (carries,
//! rows, captured scalars) are stored before the first instruction of a trip, so the next value of a carry may
//! overwrite the carry at once.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::linear_recurrence::LinearRecurrence;
use super::list_schedule::{Ordered, ordered};
use super::ssa::{ComputedOp, Element, SsaValues, ValueOrigin};
use super::{
    InitialValue, InstructionOperands, NoChange, Opcode, Register, RegisterCode, RegisterOp, StridedElement, functions,
};
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::ValueId;
use crate::backend::tile::group::TileOp;
use crate::backend::tile::{Instruction, TileOperand};
use crate::dtype::DType;
use crate::kernels::elementwise::Isa;
use crate::ops::{Binary, Unary};

/// The instruction selected for a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Selection {
    Simple(Opcode),
    Unary(Unary),
    Binary(Binary),
    /// The operation of the value, on a tile of one element.
    Tile,
}

impl Selection {
    /// The code of a run of equal instructions with operands from `first` on, if they may form one: arithmetic, and
    /// functions that are faster on vectors.
    fn in_run(self, first: u32, len: u32) -> Option<RegisterOp> {
        match self {
            Selection::Simple(kind) => Some(RegisterOp::Kinds(kind, first, len)),
            Selection::Unary(op) => functions::is_vector(op).then_some(RegisterOp::Functions(op, first, len)),
            Selection::Binary(_) | Selection::Tile => None,
        }
    }

    /// Whether equal instructions may form a run.
    pub(crate) fn runs(self) -> bool {
        self.in_run(0, 0).is_some()
    }
}

impl Selection {
    /// Whether the result is the last result for the next instruction.
    fn is_last(self) -> bool {
        match self {
            Selection::Simple(kind) => !kind.is_mask(),
            Selection::Unary(_) | Selection::Binary(_) => true,
            Selection::Tile => false,
        }
    }
}

/// An instruction on values.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    pub(crate) what: Selection,
    pub(crate) out: ValueId,
    pub(crate) operands: SmallVec<[ValueId; 4]>,
}

/// The time after all instructions.
const END: usize = usize::MAX;

/// The code for values; `None` if there are not enough registers.
pub(crate) fn code(values: SsaValues) -> Option<RegisterCode> {
    let selected = selected(&values);
    if let ([_], true) = (&selected[..], values.n > 1 && !values.ends) {
        let mut straight = RegisterCodeBuilder::new(&values, &Ordered::single(&selected), Forms::Plain).code()?;
        straight.affine = LinearRecurrence::new(&straight);
        if straight.affine.is_some() {
            return Some(straight);
        }
    }
    let ordered = ordered(&selected, &values);
    // The schedule determines how many registers are needed: if there are not enough, the order of the program is
    // tried.
    let orders = [ordered, Ordered::single(&selected)];
    let starts = orders.iter().flat_map(|order| [at_hand(&order.selected, &values), None].map(|last| (order, last)));
    let mut straight = starts.into_iter().find_map(|(order, last)| {
        let code = RegisterCodeBuilder::new(&values, order, Forms::WithLast(last)).code()?;
        Some(code).filter(|code| last.is_none() || code.last.is_some())
    })?;
    straight.steps = crate::backend::register::machine::steps(&straight.code, Isa::detect());
    Some(straight)
}

/// The carry whose next value is the last result of a trip, so that the next trip may take it as the last result.
fn at_hand(selected: &[Selected], values: &SsaValues) -> Option<ValueId> {
    let last = selected.last().filter(|last| values.n > 1 && last.what.is_last())?;
    values.carries.iter().find(|carried| carried.next == last.out).map(|carried| carried.value)
}

/// The forms of instructions.
#[derive(Clone, Copy)]
enum Forms {
    /// Instructions that read registers alone; rows are loaded and stored outside the code.
    Plain,
    /// Instructions that may take the last result, too; before the first instruction, the last result is this value.
    WithLast(Option<ValueId>),
}

/// Instruction selection for all values that are used.
fn selected(values: &SsaValues) -> Vec<Selected> {
    let mut uses = vec![0usize; values.list.len()];
    let ends = values.carries.iter().map(|c| c.next).chain(values.outputs.iter().map(|o| o.0));
    for v in ends.chain(values.stores.iter().map(|s| s.0)) {
        uses[v as usize] += 1;
    }
    for (k, (origin, _)) in values.list.iter().enumerate().rev() {
        if let (ValueOrigin::Computed(item, _), true) = (origin, uses[k] > 0) {
            item.operands().iter().for_each(|v| uses[*v as usize] += 1);
        }
    }
    let mut selected: Vec<Selected> = Vec::with_capacity(values.list.len());
    // Products that are merged into a sum or difference.
    let mut joined = vec![false; values.list.len()];
    for (k, (origin, dtype)) in values.list.iter().enumerate().rev() {
        let ValueOrigin::Computed(item, of) = origin else { continue };
        if uses[k] == 0 || joined[k] {
            continue;
        }
        let mut join = |v: ValueId| {
            let factors = product(values, v).filter(|_| uses[v as usize] == 1);
            joined[v as usize] |= factors.is_some();
            factors
        };
        let (what, operands) = match item {
            ComputedOp::Elementwise(op) => select(op, *dtype, *of, &mut join),
            ComputedOp::Gather(_) => (Selection::Tile, item.operands()),
        };
        selected.push(Selected { what, out: k as ValueId, operands });
    }
    selected.reverse();
    selected
}

/// The instruction of an elementwise operation, by the element types of its result and of its last operand. `join`
/// gives the factors of an operand that is a product without other uses; the product is then not a separate instruction.
fn select(
    op: &ElementwiseOp<ValueId>,
    dtype: DType,
    of: DType,
    join: &mut dyn FnMut(ValueId) -> Option<(ValueId, ValueId)>,
) -> (Selection, SmallVec<[ValueId; 4]>) {
    let simple = match op {
        ElementwiseOp::Unary(op, a) if dtype == DType::F64 => return unary(*op, *a),
        ElementwiseOp::Binary(op @ (Binary::Add | Binary::Sub), a, b) if dtype == DType::F64 => {
            let add = *op == Binary::Add;
            let (kind, operands): (Opcode, &[ValueId]) = if let Some((x, y)) = join(*b) {
                (if add { Opcode::MulAdd } else { Opcode::SubMul }, &[x, y, *a])
            } else if let Some((x, y)) = join(*a) {
                (if add { Opcode::MulAdd } else { Opcode::MulSub }, &[x, y, *b])
            } else {
                (if add { Opcode::Add } else { Opcode::Sub }, &[*a, *b])
            };
            return (Selection::Simple(kind), operands.into());
        }
        ElementwiseOp::Binary(op, a, b) if dtype == DType::F64 => return binary(*op, *a, *b),
        ElementwiseOp::Compare(op, a, b) if of == DType::F64 => {
            let (kind, exchanged) = Opcode::comparing(*op);
            return (Selection::Simple(kind), if exchanged { [*b, *a] } else { [*a, *b] }.as_slice().into());
        }
        ElementwiseOp::And(..) => Some(Opcode::And),
        ElementwiseOp::Or(..) => Some(Opcode::Or),
        ElementwiseOp::Not(_) => Some(Opcode::Not),
        ElementwiseOp::Select(_) if dtype == DType::F64 => Some(Opcode::Select),
        ElementwiseOp::Unary(..) | ElementwiseOp::Binary(..) | ElementwiseOp::Compare(..) => None,
        ElementwiseOp::IntUnary(..) | ElementwiseOp::IntBinary(..) => None,
        ElementwiseOp::FloatStep(..) | ElementwiseOp::Convert(..) | ElementwiseOp::Select(_) => None,
    };
    (simple.map_or(Selection::Tile, Selection::Simple), op.operands())
}

fn binary(op: Binary, a: ValueId, b: ValueId) -> (Selection, SmallVec<[ValueId; 4]>) {
    let what = match op {
        Binary::Mul => Selection::Simple(Opcode::Mul),
        Binary::Div => Selection::Simple(Opcode::Div),
        Binary::MulNoNan => Selection::Simple(Opcode::MulNoNan),
        Binary::Add
        | Binary::Sub
        | Binary::Pow
        | Binary::PowLessOne
        | Binary::Atan2
        | Binary::RecipReal
        | Binary::Hypot
        | Binary::LogAddExp
        | Binary::Polygamma
        | Binary::DivNoNan
        | Binary::Copysign
        | Binary::Min
        | Binary::Max => Selection::Binary(op),
    };
    (what, [a, b].as_slice().into())
}

fn unary(op: Unary, a: ValueId) -> (Selection, SmallVec<[ValueId; 4]>) {
    if op == Unary::Square {
        return (Selection::Simple(Opcode::Mul), [a, a].as_slice().into());
    }
    let what = if op == Unary::Neg { Selection::Simple(Opcode::Neg) } else { Selection::Unary(op) };
    (what, [a].as_slice().into())
}

/// The factors of a value that is a product of `f64`.
fn product(values: &SsaValues, v: ValueId) -> Option<(ValueId, ValueId)> {
    let (ValueOrigin::Computed(ComputedOp::Elementwise(op), _), DType::F64) = &values.list[v as usize] else {
        return None;
    };
    if let ElementwiseOp::Binary(Binary::Mul, a, b) = op {
        Some((*a, *b))
    } else if let ElementwiseOp::Unary(Unary::Square, a) = op {
        Some((*a, *a))
    } else {
        None
    }
}

/// The code under construction.
struct RegisterCodeBuilder<'a> {
    values: &'a SsaValues,
    order: &'a Ordered,
    forms: Forms,
    /// The value of the last result.
    at_hand: Option<ValueId>,
    /// The last use of each value: the end of its live range.
    last: Vec<usize>,
    registers: Vec<Option<Register>>,
    /// Elements of rows to which a value is stored right after it is computed.
    stores: HashMap<ValueId, SmallVec<[Element; 2]>>,
    free: Vec<Register>,
    next: usize,
    /// A register that no instruction reads: the result of copies that only set the last result.
    unread: Option<Register>,
    /// The number of instructions left of the current run.
    left: usize,
    straight: RegisterCode,
}

impl<'a> RegisterCodeBuilder<'a> {
    fn new(values: &'a SsaValues, order: &'a Ordered, forms: Forms) -> RegisterCodeBuilder<'a> {
        let mut last = vec![0; values.list.len()];
        for (k, instruction) in order.selected.iter().enumerate() {
            instruction.operands.iter().for_each(|v| last[*v as usize] = k);
        }
        let mut maker = RegisterCodeBuilder {
            values,
            order,
            forms,
            at_hand: None,
            last,
            registers: vec![None; values.list.len()],
            stores: HashMap::new(),
            free: Vec::new(),
            next: 0,
            unread: None,
            left: 0,
            straight: RegisterCode {
                cleared: values.cleared.clone(),
                n: values.n,
                reverse: values.reverse,
                ..RegisterCode::default()
            },
        };
        for (v, element) in
            values.outputs.iter().filter(|(v, _)| matches!(values.list[*v as usize].0, ValueOrigin::Computed(..)))
        {
            match maker.in_code(*v, *element) {
                Some(_) => maker.stores.entry(*v).or_default().push(*element),
                None => maker.last[*v as usize] = END,
            }
        }
        for carried in &values.carries {
            maker.last[carried.next as usize] = END;
        }
        values.stores.iter().for_each(|(v, ..)| maker.last[*v as usize] = END);
        maker
    }

    /// The distance in bytes to the next index, if instructions load or store the element of a row.
    fn in_code(&self, v: ValueId, element: Element) -> Option<u32> {
        let width = self.values.list[v as usize].1.width();
        match self.forms {
            Forms::WithLast(_) if width == 8 => u32::try_from(element.step * width).ok(),
            Forms::WithLast(_) | Forms::Plain => None,
        }
    }

    fn take(&mut self) -> Option<Register> {
        if let Some(register) = self.free.pop() {
            return Some(register);
        }
        let register = Register::try_from(self.next).ok();
        self.next += 1;
        register
    }

    /// A register that no other value ever has.
    fn take_new(&mut self) -> Option<Register> {
        let register = Register::try_from(self.next).ok();
        self.next += 1;
        register
    }

    fn of(&self, v: ValueId) -> Register {
        self.registers[v as usize].expect("an operand is computed before it is used")
    }

    fn moving(&mut self, v: ValueId, element: Element, reads: bool) -> Option<StridedElement> {
        let Element { buf, first, step } = element;
        let dtype = self.values.list[v as usize].1;
        let address = self.take_new()?;
        Some(StridedElement {
            register: self.of(v),
            dtype,
            buf,
            first,
            step,
            bytes: step * dtype.width(),
            address,
            reads,
        })
    }

    /// Appends the load or store of an element of a row to or from the register of a value.
    fn row(&mut self, kind: Opcode, v: ValueId, element: Element, bytes: u32) -> Option<()> {
        let moving = self.moving(v, element, kind == Opcode::Load)?;
        self.straight
            .code
            .push(RegisterOp::Simple(kind, InstructionOperands::row(moving.register, moving.address, bytes)));
        self.straight.coded.push(moving);
        Some(())
    }

    fn code(mut self) -> Option<RegisterCode> {
        self.starts()?;
        let mut carry_of = vec![None; self.values.list.len()];
        for carried in self.values.carries.iter().rev() {
            carry_of[carried.next as usize] = Some(carried.value);
        }
        if let Forms::WithLast(value) = self.forms {
            self.at_hand = value;
        }
        // For each instruction, the length of its run.
        let lens = self.order.runs.iter().flat_map(|len| std::iter::repeat_n(*len, *len));
        for ((k, instruction), len) in self.order.selected.iter().enumerate().zip(lens) {
            let mut over: SmallVec<[ValueId; 4]> = instruction.operands.clone();
            over.retain(|v| self.last[*v as usize] == k && !self.is_kept(*v));
            over.sort_unstable();
            over.dedup();
            let operands: SmallVec<[Register; 4]> = instruction.operands.iter().map(|v| self.of(*v)).collect();
            // A tile instruction requires that its result has a different register than each of its operands.
            let apart = matches!(instruction.what, Selection::Tile);
            // The next value of a carry gets the carry's register if no later instruction reads the carry.
            let replaces = |carry: &ValueId| self.last[*carry as usize] < k + usize::from(!apart);
            let carry = carry_of[instruction.out as usize].filter(replaces).map(|carry| self.of(carry));
            let early = if apart { None } else { over.pop() };
            self.free.extend(early.map(|v| self.of(v)));
            let out = carry.or_else(|| self.take())?;
            for v in over {
                self.free.push(self.of(v));
            }
            self.registers[instruction.out as usize] = Some(out);
            self.instruction(instruction, out, &operands, len)?;
            for element in self.stores.remove(&instruction.out).into_iter().flatten() {
                let kind = if self.at_hand == Some(instruction.out) { Opcode::Store } else { Opcode::Put };
                let bytes = self.in_code(instruction.out, element).expect("the element is one that instructions move");
                self.row(kind, instruction.out, element, bytes)?;
            }
            // No instruction uses the value; it has been stored.
            if self.last[instruction.out as usize] == 0 {
                self.free.push(out);
            }
        }
        self.ends()?;
        let values = self.values;
        for (v, element) in &values.outputs {
            if self.in_code(*v, *element).is_some() {
                continue;
            }
            let moving = self.moving(*v, *element, false)?;
            match values.list[*v as usize].0 {
                ValueOrigin::Computed(..) => self.straight.late.push(moving),
                ValueOrigin::Initial(_) | ValueOrigin::Carry | ValueOrigin::Row(_) => self.straight.early.push(moving),
            }
        }
        for (v, buf, at) in &values.stores {
            self.straight.stores.push((self.of(*v), values.list[*v as usize].1, *buf, *at));
        }
        self.straight.carries = values.carries.iter().map(|carried| self.of(carried.value)).collect();
        let is_mask = |v: ValueId| values.list[v as usize].1 == DType::Bool;
        let carry = values.carries.iter().find(|carried| is_mask(carried.value)).map(|carried| carried.value);
        let row = self.straight.rows.iter().position(|row| row.dtype == DType::Bool);
        self.straight.idle =
            carry.map(|v| NoChange::Carry(self.of(v))).or(row.map(NoChange::Row)).filter(|_| !values.ends);
        self.straight.bytes = self.next * 8;
        Some(self.straight)
    }

    /// Whether a value keeps its register for all trips.
    fn is_kept(&self, v: ValueId) -> bool {
        matches!(self.values.list[v as usize].0, ValueOrigin::Initial(_) | ValueOrigin::Carry)
    }

    /// Assigns registers to initial values, carries and rows; appends the loads of rows, and the stores of outputs that
    /// the body does not compute.
    fn starts(&mut self) -> Option<()> {
        let values = self.values;
        let mut starts = Vec::new();
        for carried in &values.carries {
            let register = self.take()?;
            self.registers[carried.value as usize] = Some(register);
            starts.push((register, values.list[carried.value as usize].1, carried.init));
        }
        let mask = values.carries.first().filter(|_| values.ends);
        self.straight.goes = mask.map(|carried| self.of(carried.value));
        // Consecutive elements of a buffer get consecutive registers, so that one block load loads them.
        let is_start = |(v, (origin, dtype)): (usize, &(ValueOrigin, DType))| match origin {
            ValueOrigin::Initial(start) => Some((v, *start, *dtype)),
            ValueOrigin::Carry | ValueOrigin::Row(_) | ValueOrigin::Computed(..) => None,
        };
        let mut initial: Vec<(usize, InitialValue, DType)> =
            values.list.iter().enumerate().filter_map(is_start).collect();
        crate::order::sort_by_key(&mut initial, |(_, start, _)| match start {
            InitialValue::Buffer(buf, at) => (0, u64::from(*buf), *at),
            InitialValue::Number(x) => (1, *x as u64, 0),
        });
        for (v, start, dtype) in initial {
            let register = self.take()?;
            self.registers[v] = Some(register);
            starts.push((register, dtype, start));
        }
        for (v, (origin, _)) in values.list.iter().enumerate() {
            match origin {
                ValueOrigin::Row(element) => {
                    self.registers[v] = Some(self.take()?);
                    match self.in_code(v as ValueId, *element) {
                        Some(bytes) => self.row(Opcode::Load, v as ValueId, *element, bytes)?,
                        None => {
                            let row = self.moving(v as ValueId, *element, true)?;
                            self.straight.rows.push(row);
                        }
                    }
                }
                ValueOrigin::Initial(_) | ValueOrigin::Carry | ValueOrigin::Computed(..) => {}
            }
        }
        self.loads(starts);
        for (v, element) in &values.outputs {
            let computed = matches!(values.list[*v as usize].0, ValueOrigin::Computed(..));
            if let (false, Some(bytes)) = (computed, self.in_code(*v, *element)) {
                self.row(Opcode::Put, *v, *element, bytes)?;
            }
        }
        Some(())
    }

    /// Appends the loads of initial values: those of consecutive elements into consecutive registers as block loads.
    fn loads(&mut self, starts: Vec<(Register, DType, InitialValue)>) {
        for (register, dtype, start) in starts {
            let (buf, at) = match start {
                InitialValue::Buffer(buf, at) => (buf, at),
                InitialValue::Number(x) => {
                    self.straight.numbers.push((register, x));
                    continue;
                }
            };
            if dtype.width() != 8 {
                self.straight.loads.push((register, dtype, buf, at));
                continue;
            }
            match self.straight.blocks.last_mut() {
                Some((first, of, from, len))
                    if *of == buf && *from + *len == at && usize::from(*first) + *len == usize::from(register) =>
                {
                    *len += 1;
                }
                Some(_) | None => self.straight.blocks.push((register, buf, at, 1)),
            }
        }
    }

    /// Appends a selected instruction, one of a run of length `len`, with its registers.
    fn instruction(&mut self, instruction: &Selected, out: Register, operands: &[Register], len: usize) -> Option<()> {
        let operand = |k: usize| operands.get(k).copied().unwrap_or(out);
        let micro = InstructionOperands { out, a: operand(0), b: operand(1), c: operand(2) };
        if len > 1 {
            self.straight.runs.push(micro);
            self.left = if self.left == 0 { len - 1 } else { self.left - 1 };
            if self.left == 0 {
                let first = (self.straight.runs.len() - len) as u32;
                self.straight.code.push(instruction.what.in_run(first, len as u32)?);
            }
            return Some(());
        }
        let scalar = match instruction.what {
            Selection::Simple(kind) => {
                let is_last = |v: &ValueId| self.at_hand == Some(*v);
                let square = instruction.operands.len() == 2 && instruction.operands.iter().all(is_last);
                let form = instruction.operands.iter().position(is_last).and_then(|k| kind.with_last(k, square, micro));
                let (kind, micro) = form.unwrap_or((kind, micro));
                RegisterOp::Simple(kind, micro)
            }
            Selection::Unary(op) => {
                self.bring(instruction.operands[0], micro.a)?;
                RegisterOp::Unary(op, micro)
            }
            Selection::Binary(op) => {
                self.bring(instruction.operands[0], micro.a)?;
                RegisterOp::Binary(op, micro)
            }
            Selection::Tile => {
                let (origin, dtype) = &self.values.list[instruction.out as usize];
                let ValueOrigin::Computed(item, operand) = origin else { return None };
                let item = TileOp::Lowered(item.fused(|v| TileOperand::Register(usize::from(self.of(v)) * 8)));
                let out = TileOperand::Register(usize::from(out) * 8);
                self.straight.tiles.push(Instruction { item, dtype: *dtype, operand: *operand, out });
                RegisterOp::Tile((self.straight.tiles.len() - 1) as u32)
            }
        };
        self.straight.code.push(scalar);
        if let (true, Forms::WithLast(_)) = (instruction.what.is_last(), self.forms) {
            self.at_hand = Some(instruction.out);
        }
        Some(())
    }

    /// Makes a value the last result: copies it if it is not.
    fn bring(&mut self, v: ValueId, register: Register) -> Option<()> {
        if self.at_hand != Some(v) {
            let out = match self.unread {
                Some(out) => out,
                None => self.take_new()?,
            };
            self.unread = Some(out);
            self.straight.code.push(RegisterOp::Simple(
                Opcode::Copy,
                InstructionOperands { out, a: register, b: register, c: register },
            ));
        }
        Some(())
    }

    /// Moves the next values of carries to the registers of the carries, as a parallel copy; appends the stores of
    /// results.
    fn ends(&mut self) -> Option<()> {
        let values = self.values;
        let mut moves = Vec::new();
        for carried in &values.carries {
            let (from, to) = (self.of(carried.next), self.of(carried.value));
            if from == to {
                continue;
            }
            // The next value is another carry, which an earlier move may overwrite: it is copied first.
            let from = match values.list[carried.next as usize].0 {
                ValueOrigin::Carry => {
                    let kept = self.take()?;
                    self.straight.code.push(RegisterOp::Move(kept, from));
                    kept
                }
                ValueOrigin::Initial(_) | ValueOrigin::Row(_) | ValueOrigin::Computed(..) => from,
            };
            moves.push(RegisterOp::Move(to, from));
        }
        self.straight.code.extend(moves);
        // If the last result of a trip is the next value of this carry, it equals the carry's register in the next
        // trip.
        if let Forms::WithLast(Some(carry)) = self.forms {
            let next = values.carries.iter().find(|carried| carried.value == carry).map(|carried| carried.next);
            self.straight.last = next.filter(|_| next == self.at_hand).map(|_| self.of(carry));
        }
        for carried in &values.carries {
            let (buf, at) = carried.result;
            let dtype = values.list[carried.value as usize].1;
            self.straight.stores.push((self.of(carried.value), dtype, buf, at));
        }
        Some(())
    }
}
