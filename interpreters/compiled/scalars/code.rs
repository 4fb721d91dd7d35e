//! Values to instructions: products join the sums that use them, registers are assigned, instructions are paired.
//!
//! Law: a register is written again only after the last use of what it holds. Rows that are only passed on are stored
//! before the first instruction of a trip, so a carry may be overwritten by its next value at once.

use smallvec::SmallVec;

use super::super::code::{Arg, Instruction};
use super::super::group::{Item, Value};
use super::super::rows::Isa;
use super::affine::Affine;
use super::values::{Element, Origin, Values};
use super::{Kind, Micro, Moving, Register, Scalar, Straight};
use crate::dtype::DType;
use crate::ops::{Binary, Unary};

/// What an instruction does.
#[derive(Clone, Copy, Debug)]
enum What {
    Kind(Kind),
    Div,
    Unary(Unary),
    Binary(Binary),
    /// The item of the value, as on a tile.
    Tile,
}

/// An instruction on values.
#[derive(Debug)]
struct Draft {
    what: What,
    out: Value,
    operands: SmallVec<[Value; 4]>,
}

/// The time after all instructions.
const END: usize = usize::MAX;

/// The code of values; `None` if there are not enough registers.
pub(super) fn code(values: Values) -> Option<Straight> {
    let drafts = drafts(&values);
    Maker::new(&values, drafts).code()
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
        let Origin::Item(item, _) = origin else { continue };
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
                    Binary::Div => What::Div,
                    Binary::Add
                    | Binary::Sub
                    | Binary::Pow
                    | Binary::PowLessOne
                    | Binary::Atan2
                    | Binary::RecipReal
                    | Binary::Hypot
                    | Binary::LogAddExp
                    | Binary::Copysign
                    | Binary::Min
                    | Binary::Max
                    | Binary::MulNoNan => What::Binary(*op),
                };
                (what, [*a, *b].as_slice().into())
            }
            Item::Unary(..) | Item::Binary(..) | Item::Compare(..) | Item::IntUnary(..) | Item::IntBinary(..) => {
                (What::Tile, item.operands())
            }
            Item::And(..) | Item::Or(..) | Item::Not(_) | Item::Step(..) | Item::Convert(..) | Item::Select(_) => {
                (What::Tile, item.operands())
            }
            Item::Gather(..) => (What::Tile, item.operands()),
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
    (What::Unary(op), [a].as_slice().into())
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
    drafts: Vec<Draft>,
    /// The last instruction that uses a value.
    last: Vec<usize>,
    registers: Vec<Option<Register>>,
    free: Vec<Register>,
    next: usize,
    straight: Straight,
}

impl<'a> Maker<'a> {
    fn new(values: &'a Values, drafts: Vec<Draft>) -> Maker<'a> {
        let mut last = vec![0; values.list.len()];
        for (k, draft) in drafts.iter().enumerate() {
            draft.operands.iter().for_each(|v| last[*v as usize] = k);
        }
        let is_early = |v: Value| !matches!(values.list[v as usize].0, Origin::Item(..));
        values.outputs.iter().filter(|(v, _)| !is_early(*v)).for_each(|(v, _)| last[*v as usize] = END);
        for carried in &values.carries {
            last[carried.next as usize] = END;
        }
        values.stores.iter().for_each(|(v, ..)| last[*v as usize] = END);
        let straight = Straight {
            cleared: values.cleared.clone(),
            loads: Vec::new(),
            n: values.n,
            reverse: values.reverse,
            rows: Vec::new(),
            early: Vec::new(),
            late: Vec::new(),
            code: Vec::with_capacity(drafts.len()),
            steps: Vec::new(),
            affine: None,
            tiles: Vec::new(),
            stores: Vec::new(),
            bytes: 0,
        };
        let registers = vec![None; values.list.len()];
        Maker { values, drafts, last, registers, free: Vec::new(), next: 0, straight }
    }

    fn take(&mut self) -> Option<Register> {
        if let Some(register) = self.free.pop() {
            return Some(register);
        }
        let register = Register::try_from(self.next).ok();
        self.next += 1;
        register
    }

    fn of(&self, v: Value) -> Register {
        self.registers[v as usize].expect("an operand is computed before it is used")
    }

    fn moving(&self, v: Value, element: Element) -> Moving {
        let Element { slot, first, step } = element;
        let dtype = self.values.list[v as usize].1;
        Moving { register: self.of(v), dtype, slot, first, step, bytes: step * dtype.width() }
    }

    fn code(mut self) -> Option<Straight> {
        self.starts()?;
        let drafts = std::mem::take(&mut self.drafts);
        let mut carry_of = vec![None; self.values.list.len()];
        for carried in self.values.carries.iter().rev() {
            carry_of[carried.next as usize] = Some(carried.value);
        }
        for (k, draft) in drafts.iter().enumerate() {
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
            self.instruction(draft, out, &operands);
        }
        self.ends()?;
        let values = self.values;
        for (v, element) in &values.outputs {
            let moving = self.moving(*v, *element);
            match values.list[*v as usize].0 {
                Origin::Item(..) => self.straight.late.push(moving),
                Origin::Start(_) | Origin::Carry | Origin::Row(_) => self.straight.early.push(moving),
            }
        }
        for (v, slot, at) in &values.stores {
            self.straight.stores.push((self.of(*v), values.list[*v as usize].1, *slot, *at));
        }
        let mut straight = self.straight;
        straight.bytes = (self.next + straight.moving()) * 8;
        straight.affine = Affine::new(&straight);
        straight.code = paired(&straight.code);
        straight.steps = super::run::steps(&straight.code, Isa::detect());
        Some(straight)
    }

    /// Whether a value has its register for all trips.
    fn is_kept(&self, v: Value) -> bool {
        matches!(self.values.list[v as usize].0, Origin::Start(_) | Origin::Carry)
    }

    /// Registers for what is held before the first trip, and for rows.
    fn starts(&mut self) -> Option<()> {
        let values = self.values;
        for carried in &values.carries {
            let register = self.take()?;
            self.registers[carried.value as usize] = Some(register);
            self.straight.loads.push((register, values.list[carried.value as usize].1, carried.init));
        }
        for (v, (origin, dtype)) in values.list.iter().enumerate() {
            match origin {
                Origin::Start(start) => {
                    let register = self.take()?;
                    self.registers[v] = Some(register);
                    self.straight.loads.push((register, *dtype, *start));
                }
                Origin::Row(element) => {
                    self.registers[v] = Some(self.take()?);
                    let row = self.moving(v as Value, *element);
                    self.straight.rows.push(row);
                }
                Origin::Carry | Origin::Item(..) => {}
            }
        }
        Some(())
    }

    fn instruction(&mut self, draft: &Draft, out: Register, operands: &[Register]) {
        let operand = |k: usize| operands.get(k).copied().unwrap_or(out);
        let micro = Micro { out, a: operand(0), b: operand(1), c: operand(2) };
        let scalar = match draft.what {
            What::Kind(kind) => Scalar::single(kind, micro),
            What::Div => Scalar::Div(micro),
            What::Unary(op) => Scalar::Unary(op, out, micro.a),
            What::Binary(op) => Scalar::Binary(op, micro),
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
        for carried in &values.carries {
            let (slot, at) = carried.result;
            let dtype = values.list[carried.value as usize].1;
            self.straight.stores.push((self.of(carried.value), dtype, slot, at));
        }
        Some(())
    }
}

/// Neighbours as pairs, from the first on.
fn paired(code: &[Scalar]) -> Vec<Scalar> {
    let mut pairs: Vec<Scalar> = Vec::with_capacity(code.len());
    for scalar in code {
        match pairs.last().and_then(|last| last.paired(*scalar)) {
            Some(pair) => *pairs.last_mut().expect("there is a last") = pair,
            None => pairs.push(*scalar),
        }
    }
    pairs
}
