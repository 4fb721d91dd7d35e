//! The recorder of functions of C.

use std::cell::RefCell;

use polygrad_math::Library;

use super::PREFIX;
use super::function::{CBlock, CBody, COperand, CRepeat, CType, CValue, parameter};
use crate::recorded::{DefinitionName, KnownNumber, NumberKind, NumberOp, NumberOperand, NumberRecorder};

/// The functions that are recorded.
#[derive(Default)]
pub(super) struct CRecorder {
    /// The finished ones, each after those that it calls: name, comment and text.
    done: RefCell<Vec<(String, &'static str, String)>>,
    /// Those that are recorded now, each called by the one before, with their names.
    open: RefCell<Vec<(String, CBody)>>,
    /// What is around the branches that are recorded now.
    around: RefCell<Vec<CBlock>>,
    /// The branches that are recorded, until they are joined.
    branches: RefCell<Vec<(CBlock, COperand)>>,
}

/// A float as text.
fn float(text: String, is_single: bool) -> String {
    match (&text[..], is_single) {
        ("NaN", true) => "NAN".into(),
        ("NaN", false) => "(double)NAN".into(),
        ("inf", true) => "HUGE_VALF".into(),
        ("inf", false) => "HUGE_VAL".into(),
        (_, true) => text + "f",
        (_, false) => text,
    }
}

/// A word as text.
fn word(x: u64, bits: u32) -> String {
    if x < 10_000 { format!("UINT{bits}_C({x})") } else { format!("UINT{bits}_C({x:#x})") }
}

fn operand(x: &NumberOperand) -> COperand {
    match x {
        NumberOperand::Of(id) => COperand::Value(*id),
        NumberOperand::Known(x) => COperand::Literal(match x {
            KnownNumber::F64(x) => float(format!("{x:?}"), false),
            KnownNumber::F32(x) => float(format!("{x:?}"), true),
            KnownNumber::U64(x) => word(*x, 64),
            KnownNumber::U32(x) => word((*x).into(), 32),
            KnownNumber::Bool(x) => u8::from(*x).to_string(),
        }),
    }
}

fn type_of(kind: NumberKind) -> CType {
    match kind {
        NumberKind::F64 => CType::Double,
        NumberKind::F32 => CType::Float,
        NumberKind::U64 => CType::Word,
        NumberKind::U32 => CType::ShortWord,
        NumberKind::Bool => CType::Truth,
    }
}

/// What ends the names of functions.
fn suffix(kind: NumberKind) -> &'static str {
    if matches!(kind, NumberKind::F32 | NumberKind::U32) { "f" } else { "" }
}

/// The type of the result of an operation on operands of a kind.
fn result(op: NumberOp, kind: NumberKind) -> CType {
    let is_single = suffix(kind) == "f";
    match op {
        NumberOp::Less | NumberOp::AtMost | NumberOp::Greater => CType::Truth,
        NumberOp::AtLeast | NumberOp::Equal | NumberOp::NotEqual => CType::Truth,
        NumberOp::Wide => {
            if kind == NumberKind::U32 {
                CType::Word
            } else {
                CType::Double
            }
        }
        NumberOp::Narrow => {
            if kind == NumberKind::U64 {
                CType::ShortWord
            } else {
                CType::Float
            }
        }
        NumberOp::Bits => {
            if is_single {
                CType::ShortWord
            } else {
                CType::Word
            }
        }
        NumberOp::OfBits => {
            if is_single {
                CType::Float
            } else {
                CType::Double
            }
        }
        NumberOp::Add | NumberOp::Sub | NumberOp::Mul | NumberOp::Div | NumberOp::Neg => type_of(kind),
        NumberOp::And | NumberOp::Or | NumberOp::Xor | NumberOp::Not => type_of(kind),
        NumberOp::Shl(_) | NumberOp::Shr(_) | NumberOp::Abs | NumberOp::Copysign | NumberOp::Sqrt => type_of(kind),
        NumberOp::Floor | NumberOp::Ceil | NumberOp::Round => type_of(kind),
        NumberOp::MultiplyAdd(_) | NumberOp::ProductError | NumberOp::Select => type_of(kind),
        NumberOp::Library(_) => type_of(kind),
    }
}

/// An operation on operands of a kind.
fn value(op: NumberOp, kind: NumberKind, x: &[NumberOperand]) -> CValue {
    let x: Vec<COperand> = x.iter().map(operand).collect();
    let (is_mask, f) = (kind == NumberKind::Bool, suffix(kind));
    let infix = |operator: &'static str| CValue::Infix(operator, [x[0].clone(), x[1].clone()]);
    let prefix = |operator: &'static str| CValue::Prefix(operator, x[0].clone());
    let shift =
        |operator: &'static str, by: u32| CValue::Infix(operator, [x[0].clone(), COperand::Literal(by.to_string())]);
    let call = |name: &str| CValue::Call(format!("{name}{f}"), x.clone());
    let of_machine = |name: &str, fused: bool| {
        let unfused = if fused { "" } else { "_unfused" };
        CValue::Call(format!("{PREFIX}{name}{f}{unfused}"), x.clone())
    };
    match op {
        NumberOp::Add => infix("+"),
        NumberOp::Sub => infix("-"),
        NumberOp::Mul => infix("*"),
        NumberOp::Div => infix("/"),
        NumberOp::Neg => prefix("-"),
        NumberOp::And => infix(if is_mask { "&&" } else { "&" }),
        NumberOp::Or => infix(if is_mask { "||" } else { "|" }),
        NumberOp::Xor => infix("^"),
        NumberOp::Not => prefix(if is_mask { "!" } else { "~" }),
        NumberOp::Shl(by) => shift("<<", by),
        NumberOp::Shr(by) => shift(">>", by),
        NumberOp::Less => infix("<"),
        NumberOp::AtMost => infix("<="),
        NumberOp::Greater => infix(">"),
        NumberOp::AtLeast => infix(">="),
        NumberOp::Equal => infix("=="),
        NumberOp::NotEqual => infix("!="),
        NumberOp::Abs => call("fabs"),
        NumberOp::Copysign => call("copysign"),
        NumberOp::Sqrt => call("sqrt"),
        NumberOp::Floor => call("floor"),
        NumberOp::Ceil => call("ceil"),
        NumberOp::Round => call("round"),
        NumberOp::MultiplyAdd(fused) => of_machine("madd", fused),
        NumberOp::ProductError => of_machine("product_error", true),
        NumberOp::Wide => prefix(if kind == NumberKind::U32 { "(uint64_t)" } else { "(double)" }),
        NumberOp::Narrow => prefix(if kind == NumberKind::U64 { "(uint32_t)" } else { "(float)" }),
        NumberOp::Bits => of_machine("bits", true),
        NumberOp::OfBits => of_machine("from_bits", true),
        NumberOp::Select => CValue::Select([x[0].clone(), x[1].clone(), x[2].clone()]),
        NumberOp::Library(function) => {
            let has_steps = matches!(function, Library::LnOfLibm | Library::Erfc | Library::Lgamma);
            let prefix = if has_steps { "polygrad_fdlibm_" } else { "" };
            let name = if function == Library::Ln { "log" } else { function.name() };
            CValue::Call(format!("{prefix}{name}"), x)
        }
    }
}

impl CRecorder {
    /// The function that is recorded now.
    fn body<R>(&self, f: impl FnOnce(&mut CBody) -> R) -> R {
        let mut open = self.open.borrow_mut();
        if open.is_empty() {
            open.push((String::new(), CBody::default()));
        }
        f(&mut open.last_mut().expect("a function is open").1)
    }

    /// An argument of a call of a function that is asked for.
    pub(super) fn argument(&self, kind: NumberKind) -> u32 {
        self.body(|body| body.push(type_of(kind), CValue::Parameter(0)))
    }

    /// The names and the texts of the finished functions, each after those that it calls.
    pub(super) fn functions(&self) -> Vec<(String, String)> {
        let commented = |says: &str| match says.trim() {
            "" => String::new(),
            says => format!("/* {} */\n", says.replace('`', "")),
        };
        self.done.borrow().iter().map(|(name, says, text)| (name.clone(), commented(says) + text)).collect()
    }

    /// Records a function of `n` numbers, unless it is recorded already.
    fn define(&self, name: String, of: DefinitionName, n: usize, body: &dyn Fn(&[u32]) -> NumberOperand) {
        if let Some((_, known, _)) = self.done.borrow_mut().iter_mut().find(|(done, ..)| *done == name) {
            if known.is_empty() {
                *known = of.says;
            }
            return;
        }
        let ty = type_of(of.kind);
        self.open.borrow_mut().push((name, CBody::default()));
        let x: Vec<u32> = (0..n).map(|k| self.body(|body| body.push(ty, CValue::Parameter(k)))).collect();
        let result = operand(&body(&x));
        let (name, body) = self.open.borrow_mut().pop().expect("the function is open");
        let parameters: Vec<String> = (0..n).map(|k| format!("{} {}", ty.name(), parameter(k))).collect();
        let head = format!("static inline {} {name}({}) {{\n", ty.name(), parameters.join(", "));
        self.done.borrow_mut().push((name, of.says, head + &body.text(&result) + "}"));
    }
}

impl NumberRecorder for CRecorder {
    fn op(&self, op: NumberOp, kind: NumberKind, x: &[NumberOperand]) -> u32 {
        self.body(|body| body.push(result(op, kind), value(op, kind, x)))
    }
    fn begin(&self, _: u32, _: bool) {
        let around = self.body(CBody::enter);
        self.around.borrow_mut().push(around);
    }
    fn end(&self, result: NumberOperand) -> u32 {
        let around = self.around.borrow_mut().pop().expect("a branch began");
        let mut branches = self.branches.borrow_mut();
        branches.push((self.body(|body| body.leave(around)), operand(&result)));
        (branches.len() - 1) as u32
    }
    fn join(&self, mask: u32, kind: NumberKind, branches: [u32; 2]) -> u32 {
        let mut all = self.branches.borrow_mut();
        let branches = branches.map(|k| std::mem::take(&mut all[k as usize]));
        self.body(|body| body.push(type_of(kind), CValue::Choose(COperand::Value(mask), Box::new(branches))))
    }
    fn repeat(
        &self,
        kind: NumberKind,
        start: &[NumberOperand],
        holds: &dyn Fn(&[u32]) -> NumberOperand,
        step: &dyn Fn(&[u32]) -> Vec<NumberOperand>,
    ) -> Vec<u32> {
        let variable = |x| self.body(|body| body.push(type_of(kind), CValue::State(operand(x))));
        let state: Vec<u32> = start.iter().map(variable).collect();
        let around = self.body(CBody::enter);
        let goes_on = operand(&holds(&state));
        let test = (self.body(|body| body.leave(around)), goes_on);
        let around = self.body(CBody::enter);
        let next = step(&state).iter().map(operand).collect();
        let step = self.body(|body| body.leave(around));
        self.body(|body| body.repeat(CRepeat { state: state.clone(), test, step, next }));
        state
    }
    fn call(&self, of: DefinitionName, x: &[NumberOperand], body: &dyn Fn(&[u32]) -> NumberOperand) -> Option<u32> {
        let name = format!("{PREFIX}{}{}{}", of.name, suffix(of.kind), if of.fused { "" } else { "_unfused" });
        // A function whose body is a function with its own name.
        if self.open.borrow().last().is_some_and(|(open, _)| *open == name) {
            return None;
        }
        if !super::is_written(&name) {
            self.define(name.clone(), of, x.len(), body);
        }
        let call = CValue::Call(name, x.iter().map(operand).collect());
        Some(self.body(|body| body.push(type_of(of.kind), call)))
    }
}
