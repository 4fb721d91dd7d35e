//! Values to instructions: products join the sums that use them, registers are assigned, instructions are paired.
//!
//! Law: a register is written again only after the last use of what it holds. Rows that are only passed on are stored
//! before the first instruction of a trip, so a carry may be overwritten by its next value at once.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::super::code::{Arg, Instruction};
use super::super::group::{Item, Value};
use super::super::rows::Isa;
use super::affine::Affine;
use super::order::{Ordered, ordered};
use super::values::{Element, Origin, Values};
use super::{Idle, Kind, Micro, Moving, Register, Scalar, Start, Straight, functions};
use crate::dtype::DType;
use crate::ops::{Binary, Unary};

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    Kind(Kind),
    Unary(Unary),
    Binary(Binary),
    /// The item of the value, as on a tile.
    Tile,
}

impl What {
    /// Whether equal instructions may run together: arithmetic, and functions that a vector computes faster.
    pub(super) fn runs(self) -> bool {
        match self {
            What::Kind(_) => true,
            What::Unary(op) => functions::is_vector(op),
            What::Binary(_) | What::Tile => false,
        }
    }
}

impl What {
    /// Whether the result is the last result for the next instruction.
    fn is_last(self) -> bool {
        match self {
            What::Kind(kind) => !kind.is_mask(),
            What::Unary(_) | What::Binary(_) => true,
            What::Tile => false,
        }
    }
}

/// An instruction on values.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) what: What,
    pub(super) out: Value,
    pub(super) operands: SmallVec<[Value; 4]>,
}

/// The time after all instructions.
const END: usize = usize::MAX;

/// The code of values; `None` if there are not enough registers.
pub(super) fn code(values: Values) -> Option<Straight> {
    let drafts = drafts(&values);
    if let ([_], true) = (&drafts[..], values.n > 1 && !values.ends) {
        let mut straight = Maker::new(&values, &Ordered::single(&drafts), Forms::Plain).code()?;
        straight.affine = Affine::new(&straight);
        if straight.affine.is_some() {
            return Some(straight);
        }
    }
    let ordered = ordered(&drafts, &values);
    // The order decides how many registers are needed: where there are not enough, the order of the program is left.
    let orders = [ordered, Ordered::single(&drafts)];
    let starts = orders.iter().flat_map(|order| [at_hand(&order.drafts, &values), None].map(|last| (order, last)));
    let mut straight = starts.into_iter().find_map(|(order, last)| {
        let code = Maker::new(&values, order, Forms::WithLast(last)).code()?;
        Some(code).filter(|code| last.is_none() || code.last.is_some())
    })?;
    straight.steps = super::run::steps(&straight.code, Isa::detect());
    Some(straight)
}

/// The carry whose next value is the last result of a trip, so that it is at hand in the next one, if all goes well.
fn at_hand(drafts: &[Draft], values: &Values) -> Option<Value> {
    let last = drafts.last().filter(|last| values.n > 1 && last.what.is_last())?;
    values.carries.iter().find(|carried| carried.next == last.out).map(|carried| carried.value)
}

/// The forms of instructions.
#[derive(Clone, Copy)]
enum Forms {
    /// Those that read registers alone; rows are no instructions.
    Plain,
    /// Those that take the last result, too, which is this value before the first instruction.
    WithLast(Option<Value>),
}

/// The instructions for all values that are needed.
fn drafts(values: &Values) -> Vec<Draft> {
    let mut uses = vec![0usize; values.list.len()];
    let ends = values.carries.iter().map(|c| c.next).chain(values.outputs.iter().map(|o| o.0));
    for v in ends.chain(values.stores.iter().map(|s| s.0)) {
        uses[v as usize] += 1;
    }
    for (k, (origin, _)) in values.list.iter().enumerate().rev() {
        if let (Origin::Item(item, _), true) = (origin, uses[k] > 0) {
            item.operands().iter().for_each(|v| uses[*v as usize] += 1);
        }
    }
    let mut drafts: Vec<Draft> = Vec::with_capacity(values.list.len());
    // Products that are part of a sum.
    let mut joined = vec![false; values.list.len()];
    for (k, (origin, dtype)) in values.list.iter().enumerate().rev() {
        let Origin::Item(item, of) = origin else { continue };
        if uses[k] == 0 || joined[k] {
            continue;
        }
        let product = |v: Value| product(values, v).filter(|_| uses[v as usize] == 1);
        let (what, operands) = match item {
            Item::Unary(op, a) if *dtype == DType::F64 => unary(*op, *a),
            Item::Binary(op @ (Binary::Add | Binary::Sub), a, b) if *dtype == DType::F64 => {
                let add = *op == Binary::Add;
                if let Some((x, y)) = product(*b) {
                    joined[*b as usize] = true;
                    (What::Kind(if add { Kind::MulAdd } else { Kind::SubMul }), [x, y, *a].as_slice().into())
                } else if let Some((x, y)) = product(*a) {
                    joined[*a as usize] = true;
                    (What::Kind(if add { Kind::MulAdd } else { Kind::MulSub }), [x, y, *b].as_slice().into())
                } else {
                    (What::Kind(if add { Kind::Add } else { Kind::Sub }), [*a, *b].as_slice().into())
                }
            }
            Item::Binary(op, a, b) if *dtype == DType::F64 => {
                let what = match op {
                    Binary::Mul => What::Kind(Kind::Mul),
                    Binary::Div => What::Kind(Kind::Div),
                    Binary::MulNoNan => What::Kind(Kind::MulNoNan),
                    Binary::Add
                    | Binary::Sub
                    | Binary::Pow
                    | Binary::PowLessOne
                    | Binary::Atan2
                    | Binary::RecipReal
                    | Binary::Hypot
                    | Binary::LogAddExp
                    | Binary::Polygamma
                    | Binary::Copysign
                    | Binary::Min
                    | Binary::Max => What::Binary(*op),
                };
                (what, [*a, *b].as_slice().into())
            }
            Item::Compare(op, a, b) if *of == DType::F64 => {
                let (kind, exchanged) = Kind::comparing(*op);
                (What::Kind(kind), if exchanged { [*b, *a] } else { [*a, *b] }.as_slice().into())
            }
            Item::And(..) => (What::Kind(Kind::And), item.operands()),
            Item::Or(..) => (What::Kind(Kind::Or), item.operands()),
            Item::Not(_) => (What::Kind(Kind::Not), item.operands()),
            Item::Select(_) if *dtype == DType::F64 => (What::Kind(Kind::Select), item.operands()),
            Item::Unary(..) | Item::Binary(..) | Item::Compare(..) | Item::IntUnary(..) | Item::IntBinary(..) => {
                (What::Tile, item.operands())
            }
            Item::Step(..) | Item::Convert(..) | Item::Select(_) | Item::Gather(..) => (What::Tile, item.operands()),
            Item::Read(..) | Item::One(..) | Item::View(..) | Item::Places(_) | Item::Put(..) | Item::Add(..) => {
                unreachable!("reads and writes are no values of their own")
            }
            Item::Form(..) | Item::Weighted(..) | Item::SinCos(..) | Item::Second(_) => {
                unreachable!("groups of one position have no superinstructions of tiles")
            }
        };
        drafts.push(Draft { what, out: k as Value, operands });
    }
    drafts.reverse();
    drafts
}

fn unary(op: Unary, a: Value) -> (What, SmallVec<[Value; 4]>) {
    if op == Unary::Square {
        return (What::Kind(Kind::Mul), [a, a].as_slice().into());
    }
    let what = if op == Unary::Neg { What::Kind(Kind::Neg) } else { What::Unary(op) };
    (what, [a].as_slice().into())
}

/// The factors of a product of `f64`.
fn product(values: &Values, v: Value) -> Option<(Value, Value)> {
    match &values.list[v as usize] {
        (Origin::Item(Item::Binary(Binary::Mul, a, b), _), DType::F64) => Some((*a, *b)),
        (Origin::Item(Item::Unary(Unary::Square, a), _), DType::F64) => Some((*a, *a)),
        (Origin::Item(..) | Origin::Start(_) | Origin::Carry | Origin::Row(_), _) => None,
    }
}

/// The code while it is made.
struct Maker<'a> {
    values: &'a Values,
    order: &'a Ordered,
    forms: Forms,
    /// The value that the last result is.
    at_hand: Option<Value>,
    /// The last instruction that uses a value.
    last: Vec<usize>,
    registers: Vec<Option<Register>>,
    /// Elements of rows that instructions write where the value is computed.
    stores: HashMap<Value, SmallVec<[Element; 2]>>,
    free: Vec<Register>,
    next: usize,
    /// A register that nothing reads.
    unread: Option<Register>,
    /// How many instructions are left of a run.
    left: usize,
    straight: Straight,
}

impl<'a> Maker<'a> {
    fn new(values: &'a Values, order: &'a Ordered, forms: Forms) -> Maker<'a> {
        let mut last = vec![0; values.list.len()];
        for (k, draft) in order.drafts.iter().enumerate() {
            draft.operands.iter().for_each(|v| last[*v as usize] = k);
        }
        let mut maker = Maker {
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
            straight: Straight {
                cleared: values.cleared.clone(),
                n: values.n,
                reverse: values.reverse,
                ..Straight::default()
            },
        };
        for (v, element) in
            values.outputs.iter().filter(|(v, _)| matches!(values.list[*v as usize].0, Origin::Item(..)))
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

    /// The bytes to the next index, if instructions move the element of a row.
    fn in_code(&self, v: Value, element: Element) -> Option<u32> {
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

    /// A register that nothing else has, before or after.
    fn take_new(&mut self) -> Option<Register> {
        let register = Register::try_from(self.next).ok();
        self.next += 1;
        register
    }

    fn of(&self, v: Value) -> Register {
        self.registers[v as usize].expect("an operand is computed before it is used")
    }

    fn moving(&mut self, v: Value, element: Element, reads: bool) -> Option<Moving> {
        let Element { slot, first, step } = element;
        let dtype = self.values.list[v as usize].1;
        let address = self.take_new()?;
        Some(Moving { register: self.of(v), dtype, slot, first, step, bytes: step * dtype.width(), address, reads })
    }

    /// An instruction that moves an element of a row from or to the register of a value.
    fn row(&mut self, kind: Kind, v: Value, element: Element, bytes: u32) -> Option<()> {
        let moving = self.moving(v, element, kind == Kind::Load)?;
        self.straight.code.push(Scalar::Kind(kind, Micro::row(moving.register, moving.address, bytes)));
        self.straight.coded.push(moving);
        Some(())
    }

    fn code(mut self) -> Option<Straight> {
        self.starts()?;
        let mut carry_of = vec![None; self.values.list.len()];
        for carried in self.values.carries.iter().rev() {
            carry_of[carried.next as usize] = Some(carried.value);
        }
        if let Forms::WithLast(value) = self.forms {
            self.at_hand = value;
        }
        // The number of instructions in the run, for each of it.
        let lens = self.order.runs.iter().flat_map(|len| std::iter::repeat_n(*len, *len));
        for ((k, draft), len) in self.order.drafts.iter().enumerate().zip(lens) {
            let mut over: SmallVec<[Value; 4]> = draft.operands.clone();
            over.retain(|v| self.last[*v as usize] == k && !self.is_kept(*v));
            over.sort_unstable();
            over.dedup();
            let operands: SmallVec<[Register; 4]> = draft.operands.iter().map(|v| self.of(*v)).collect();
            // As on a tile, a result is no register of an operand.
            let apart = matches!(draft.what, What::Tile);
            // The next value of a carry replaces the carry, where nothing reads the carry later.
            let replaces = |carry: &Value| self.last[*carry as usize] < k + usize::from(!apart);
            let carry = carry_of[draft.out as usize].filter(replaces).map(|carry| self.of(carry));
            let early = if apart { None } else { over.pop() };
            self.free.extend(early.map(|v| self.of(v)));
            let out = carry.or_else(|| self.take())?;
            for v in over {
                self.free.push(self.of(v));
            }
            self.registers[draft.out as usize] = Some(out);
            self.instruction(draft, out, &operands, len)?;
            for element in self.stores.remove(&draft.out).into_iter().flatten() {
                let kind = if self.at_hand == Some(draft.out) { Kind::Store } else { Kind::Put };
                let bytes = self.in_code(draft.out, element).expect("the element is one that instructions move");
                self.row(kind, draft.out, element, bytes)?;
            }
            // Stored, and not used.
            if self.last[draft.out as usize] == 0 {
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
                Origin::Item(..) => self.straight.late.push(moving),
                Origin::Start(_) | Origin::Carry | Origin::Row(_) => self.straight.early.push(moving),
            }
        }
        for (v, slot, at) in &values.stores {
            self.straight.stores.push((self.of(*v), values.list[*v as usize].1, *slot, *at));
        }
        self.straight.carries = values.carries.iter().map(|carried| self.of(carried.value)).collect();
        let is_mask = |v: Value| values.list[v as usize].1 == DType::Bool;
        let carry = values.carries.iter().find(|carried| is_mask(carried.value)).map(|carried| carried.value);
        let row = self.straight.rows.iter().position(|row| row.dtype == DType::Bool);
        self.straight.idle = carry.map(|v| Idle::Carry(self.of(v))).or(row.map(Idle::Row)).filter(|_| !values.ends);
        self.straight.bytes = self.next * 8;
        Some(self.straight)
    }

    /// Whether a value has its register for all trips.
    fn is_kept(&self, v: Value) -> bool {
        matches!(self.values.list[v as usize].0, Origin::Start(_) | Origin::Carry)
    }

    /// Registers for what is held before the first trip, and for rows; and what is moved before anything is computed.
    fn starts(&mut self) -> Option<()> {
        let values = self.values;
        for carried in &values.carries {
            let register = self.take()?;
            self.registers[carried.value as usize] = Some(register);
            self.straight.loads.push((register, values.list[carried.value as usize].1, carried.init));
        }
        let mask = values.carries.first().filter(|_| values.ends);
        self.straight.goes = mask.map(|carried| self.of(carried.value));
        // Neighbours of a place come in neighbouring registers, so that they are loaded together.
        let is_start = |(v, (origin, dtype)): (usize, &(Origin, DType))| match origin {
            Origin::Start(start) => Some((v, *start, *dtype)),
            Origin::Carry | Origin::Row(_) | Origin::Item(..) => None,
        };
        let mut starts: Vec<(usize, Start, DType)> = values.list.iter().enumerate().filter_map(is_start).collect();
        starts.sort_by_key(|(_, start, _)| match start {
            Start::Place(slot, at) => (0, u64::from(*slot), *at),
            Start::Integer(x) => (1, *x as u64, 0),
        });
        for (v, start, dtype) in starts {
            let register = self.take()?;
            self.registers[v] = Some(register);
            self.straight.loads.push((register, dtype, start));
        }
        for (v, (origin, _)) in values.list.iter().enumerate() {
            match origin {
                Origin::Row(element) => {
                    self.registers[v] = Some(self.take()?);
                    match self.in_code(v as Value, *element) {
                        Some(bytes) => self.row(Kind::Load, v as Value, *element, bytes)?,
                        None => {
                            let row = self.moving(v as Value, *element, true)?;
                            self.straight.rows.push(row);
                        }
                    }
                }
                Origin::Start(_) | Origin::Carry | Origin::Item(..) => {}
            }
        }
        self.gather_loads();
        for (v, element) in &values.outputs {
            let computed = matches!(values.list[*v as usize].0, Origin::Item(..));
            if let (false, Some(bytes)) = (computed, self.in_code(*v, *element)) {
                self.row(Kind::Put, *v, *element, bytes)?;
            }
        }
        Some(())
    }

    /// Takes loads of neighbours to neighbours together.
    fn gather_loads(&mut self) {
        let mut single = Vec::new();
        for (register, dtype, start) in std::mem::take(&mut self.straight.loads) {
            let (Start::Place(slot, at), 8) = (start, dtype.width()) else {
                single.push((register, dtype, start));
                continue;
            };
            match self.straight.blocks.last_mut() {
                Some((first, of, from, len))
                    if *of == slot && *from + *len == at && usize::from(*first) + *len == usize::from(register) =>
                {
                    *len += 1;
                }
                Some(_) | None => self.straight.blocks.push((register, slot, at, 1)),
            }
        }
        self.straight.loads = single;
    }

    /// The instruction of a draft that is one of a run of this length.
    fn instruction(&mut self, draft: &Draft, out: Register, operands: &[Register], len: usize) -> Option<()> {
        let operand = |k: usize| operands.get(k).copied().unwrap_or(out);
        let micro = Micro { out, a: operand(0), b: operand(1), c: operand(2) };
        if len > 1 {
            self.straight.runs.push(micro);
            self.left = if self.left == 0 { len - 1 } else { self.left - 1 };
            if self.left == 0 {
                let first = (self.straight.runs.len() - len) as u32;
                self.straight.code.push(match draft.what {
                    What::Kind(kind) => Scalar::Kinds(kind, first, len as u32),
                    What::Unary(op) => Scalar::Functions(op, first, len as u32),
                    What::Binary(_) | What::Tile => unreachable!("these do not come in runs"),
                });
            }
            return Some(());
        }
        let scalar = match draft.what {
            What::Kind(kind) => {
                let is_last = |v: &Value| self.at_hand == Some(*v);
                let square = draft.operands.len() == 2 && draft.operands.iter().all(is_last);
                let form = draft.operands.iter().position(is_last).and_then(|k| kind.with_last(k, square, micro));
                let (kind, micro) = form.unwrap_or((kind, micro));
                Scalar::Kind(kind, micro)
            }
            What::Unary(op) => {
                self.bring(draft.operands[0], micro.a)?;
                Scalar::Unary(op, micro)
            }
            What::Binary(op) => {
                self.bring(draft.operands[0], micro.a)?;
                Scalar::Binary(op, micro)
            }
            What::Tile => {
                let (origin, dtype) = &self.values.list[draft.out as usize];
                let Origin::Item(item, operand) = origin else { unreachable!("an instruction computes") };
                let item = item.map(|v| Arg::Register(usize::from(self.of(v)) * 8));
                let out = Arg::Register(usize::from(out) * 8);
                self.straight.tiles.push(Instruction { item, dtype: *dtype, operand: *operand, out });
                Scalar::Tile((self.straight.tiles.len() - 1) as u32)
            }
        };
        self.straight.code.push(scalar);
        if let (true, Forms::WithLast(_)) = (draft.what.is_last(), self.forms) {
            self.at_hand = Some(draft.out);
        }
        Some(())
    }

    /// Makes a value the last result.
    fn bring(&mut self, v: Value, register: Register) -> Option<()> {
        if self.at_hand != Some(v) {
            let out = match self.unread {
                Some(out) => out,
                None => self.take_new()?,
            };
            self.unread = Some(out);
            self.straight.code.push(Scalar::Kind(Kind::Copy, Micro { out, a: register, b: register, c: register }));
        }
        Some(())
    }

    /// Moves the next values of carries to where the next trip reads them, as if all at once; and notes the results.
    fn ends(&mut self) -> Option<()> {
        let values = self.values;
        let mut moves = Vec::new();
        for carried in &values.carries {
            let (from, to) = (self.of(carried.next), self.of(carried.value));
            if from == to {
                continue;
            }
            // Another carry, which may be overwritten before it is read.
            let from = match values.list[carried.next as usize].0 {
                Origin::Carry => {
                    let kept = self.take()?;
                    self.straight.code.push(Scalar::Move(kept, from));
                    kept
                }
                Origin::Start(_) | Origin::Row(_) | Origin::Item(..) => from,
            };
            moves.push(Scalar::Move(to, from));
        }
        self.straight.code.extend(moves);
        // No instruction between: the last result is what the register of the carry holds.
        if let Forms::WithLast(Some(carry)) = self.forms {
            let next = values.carries.iter().find(|carried| carried.value == carry).map(|carried| carried.next);
            self.straight.last = next.filter(|_| next == self.at_hand).map(|_| self.of(carry));
        }
        for carried in &values.carries {
            let (slot, at) = carried.result;
            let dtype = values.list[carried.value as usize].1;
            self.straight.stores.push((self.of(carried.value), dtype, slot, at));
        }
        Some(())
    }
}
