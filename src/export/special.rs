//! Functions that StableHLO and CHLO lack, or that XLA computes with large errors, by their definitions in
//! `polygrad-math`.
//!
//! Laws: a function that StableHLO or CHLO has is an operation; any other one is its definition, written in place. Both
//! branches of a choice are computed. A loop ends when no element needs another step, of those that the branch is for.

use std::cell::RefCell;

use super::text::{HloValue, Region, Ty};
use crate::recorded::{self, DefinitionName, KnownNumber, NumberKind, NumberOp, NumberOperand, NumberRecorder};
use crate::shape::Shape;

/// The region that is written, and the values that definitions compute, all of one shape.
struct Writing {
    code: RefCell<Region>,
    values: RefCell<Vec<HloValue>>,
    shape: Shape,
    /// The elements that each branch is for, in which the next one is.
    chosen: RefCell<Vec<HloValue>>,
}

/// The operation that is a function with this name, if there is one.
fn operation(name: &str) -> Option<&'static str> {
    Some(match name {
        "exp" => "exponential",
        "expm1" | "expm1_below" => "exponential_minus_one",
        "ln" | "ln_normal" => "log",
        "log1p" | "log1p_inner" => "log_plus_one",
        "sin" => "sine",
        "cos" => "cosine",
        "tan" => "tan",
        "pow" => "power",
        "lgamma" => "chlo.lgamma",
        "digamma" => "chlo.digamma",
        _ => return None,
    })
}

impl Writing {
    fn put(&self, value: HloValue) -> u32 {
        let mut values = self.values.borrow_mut();
        values.push(value);
        (values.len() - 1) as u32
    }

    fn value(&self, x: &NumberOperand) -> HloValue {
        let (code, shape) = (&mut *self.code.borrow_mut(), &self.shape);
        match x {
            NumberOperand::Of(id) => self.values.borrow()[*id as usize].clone(),
            NumberOperand::Known(KnownNumber::F64(x)) => code.full(*x, shape, Ty::F64),
            NumberOperand::Known(KnownNumber::F32(x)) => code.full((*x).into(), shape, Ty::F32),
            NumberOperand::Known(KnownNumber::U64(x)) => code.integer(*x as i64, shape),
            NumberOperand::Known(KnownNumber::U32(x)) => code.word(*x, shape),
            NumberOperand::Known(KnownNumber::Bool(x)) => code.full(f64::from(u8::from(*x)), shape, Ty::Bool),
        }
    }

    /// A function with this name, if it is an operation.
    fn operation(&self, name: &str, x: &[NumberOperand]) -> Option<u32> {
        let name = operation(name)?;
        let x: Vec<HloValue> = x.iter().map(|x| self.value(x)).collect();
        let value = match &x[..] {
            [x, y] => self.code.borrow_mut().binary(name, x, y),
            _ => self.code.borrow_mut().unary(name, &x[0]),
        };
        Some(self.put(value))
    }

    /// Runs a function that writes into a region inside the current one.
    fn inside<Y>(&self, region: &mut Region, state: &[HloValue], f: impl FnOnce(&[u32]) -> Y) -> Y {
        self.code.replace(std::mem::take(region));
        let state: Vec<u32> = state.iter().map(|x| self.put(x.clone())).collect();
        let result = f(&state);
        *region = self.code.take();
        result
    }

    /// The elements of a mask that the branch is for.
    fn among(&self, mask: HloValue) -> HloValue {
        match self.chosen.borrow().last() {
            Some(chosen) => self.code.borrow_mut().binary("and", chosen, &mask),
            None => mask,
        }
    }
}

impl NumberRecorder for Writing {
    fn op(&self, op: NumberOp, kind: NumberKind, x: &[NumberOperand]) -> u32 {
        let operands = x;
        let x: Vec<HloValue> = x.iter().map(|x| self.value(x)).collect();
        let mut code = self.code.borrow_mut();
        let mut shift = |name: &str, by: u32| {
            let places =
                if kind == NumberKind::U32 { code.word(by, &self.shape) } else { code.integer(by.into(), &self.shape) };
            code.binary(name, &x[0], &places)
        };
        let value = match op {
            NumberOp::Shl(by) => shift("shift_left", by),
            NumberOp::Shr(by) => shift("shift_right_logical", by),
            NumberOp::Add => code.binary("add", &x[0], &x[1]),
            NumberOp::Sub => code.binary("subtract", &x[0], &x[1]),
            NumberOp::Mul => code.binary("multiply", &x[0], &x[1]),
            NumberOp::Div => code.binary("divide", &x[0], &x[1]),
            NumberOp::Neg => code.unary("negate", &x[0]),
            NumberOp::And => code.binary("and", &x[0], &x[1]),
            NumberOp::Or => code.binary("or", &x[0], &x[1]),
            NumberOp::Xor => code.binary("xor", &x[0], &x[1]),
            NumberOp::Not => code.unary("not", &x[0]),
            NumberOp::Less => code.compare("LT", &x[0], &x[1]),
            NumberOp::AtMost => code.compare("LE", &x[0], &x[1]),
            NumberOp::Greater => code.compare("GT", &x[0], &x[1]),
            NumberOp::AtLeast => code.compare("GE", &x[0], &x[1]),
            NumberOp::Equal => code.compare("EQ", &x[0], &x[1]),
            NumberOp::NotEqual => code.compare("NE", &x[0], &x[1]),
            NumberOp::Abs => code.unary("abs", &x[0]),
            NumberOp::Copysign => code.copysign(&x[0], &x[1]),
            NumberOp::Sqrt => code.unary("sqrt", &x[0]),
            NumberOp::Floor => code.unary("floor", &x[0]),
            NumberOp::Ceil => code.unary("ceil", &x[0]),
            NumberOp::Round => code.unary("round_nearest_afz", &x[0]),
            NumberOp::MultiplyAdd(_) => {
                let product = code.binary("multiply", &x[0], &x[1]);
                code.binary("add", &product, &x[2])
            }
            NumberOp::Wide if kind == NumberKind::U32 => {
                // Words are signed in the text.
                let (wide, mask) = (code.convert(&x[0], Ty::I64), code.integer(0xffff_ffff, &self.shape));
                code.binary("and", &wide, &mask)
            }
            NumberOp::Narrow if kind == NumberKind::U64 => code.convert(&x[0], Ty::I32),
            NumberOp::Wide => code.convert(&x[0], Ty::F64),
            NumberOp::Narrow => code.convert(&x[0], Ty::F32),
            NumberOp::Bits => code.bitcast(&x[0], x[0].ty.bits()),
            NumberOp::OfBits => code.bitcast(&x[0], if x[0].ty == Ty::I32 { Ty::F32 } else { Ty::F64 }),
            NumberOp::Select => code.select(&x[0], &x[1], &x[2]),
            NumberOp::ProductError => unreachable!("compilers of XLA may fuse products, so no definition splits them"),
            NumberOp::Library(function) => {
                drop(code);
                let value = self.operation(function.name(), operands);
                return value.expect("definitions leave operations alone to a library");
            }
        };
        drop(code);
        self.put(value)
    }
    fn begin(&self, mask: u32, holds: bool) {
        let mut mask = self.value(&NumberOperand::Of(mask));
        if !holds {
            mask = self.code.borrow_mut().unary("not", &mask);
        }
        let chosen = self.among(mask);
        self.chosen.borrow_mut().push(chosen);
    }
    fn end(&self, result: NumberOperand) -> u32 {
        self.chosen.borrow_mut().pop();
        self.put(self.value(&result))
    }
    fn join(&self, mask: u32, kind: NumberKind, [x, y]: [u32; 2]) -> u32 {
        self.op(NumberOp::Select, kind, &[mask, x, y].map(NumberOperand::Of))
    }
    fn repeat(
        &self,
        _: NumberKind,
        start: &[NumberOperand],
        holds: &dyn Fn(&[u32]) -> NumberOperand,
        step: &dyn Fn(&[u32]) -> Vec<NumberOperand>,
    ) -> Vec<u32> {
        let start: Vec<HloValue> = start.iter().map(|x| self.value(x)).collect();
        let axes: Vec<usize> = (0..self.shape.len()).collect();
        let goes_on = |state: &[u32]| self.among(self.value(&holds(state)));
        let mut code = self.code.take();
        let end = code.repeat(
            &start,
            |code, state| {
                let mask = self.inside(code, state, goes_on);
                code.reduce("or", &mask, 0.0, &axes)
            },
            |code, state| {
                self.inside(code, state, |ids| {
                    let mask = goes_on(ids);
                    let next: Vec<HloValue> = step(ids).iter().map(|x| self.value(x)).collect();
                    let code = &mut *self.code.borrow_mut();
                    next.iter().zip(state).map(|(next, state)| code.select(&mask, next, state)).collect()
                })
            },
        );
        self.code.replace(code);
        end.into_iter().map(|x| self.put(x)).collect()
    }
    fn call(&self, of: DefinitionName, x: &[NumberOperand], _: &dyn Fn(&[u32]) -> NumberOperand) -> Option<u32> {
        self.operation(of.name, x)
    }
}

impl Region {
    /// What a definition gives for values of one type.
    fn written(&mut self, x: &[&HloValue], f: impl FnOnce(&Writing, &[u32]) -> NumberOperand) -> HloValue {
        let (code, shape) = (RefCell::new(std::mem::take(self)), x[0].shape.clone());
        let writing = Writing { code, values: RefCell::default(), shape, chosen: RefCell::default() };
        let arguments: Vec<u32> = x.iter().map(|x| writing.put((*x).clone())).collect();
        let result = f(&writing, &arguments);
        let result = writing.value(&result);
        *self = writing.code.take();
        result
    }

    /// The function of `polygrad-math` with this name.
    pub(super) fn defined(&mut self, name: &str, x: &[&HloValue]) -> HloValue {
        let kind = if x[0].ty == Ty::F32 { NumberKind::F32 } else { NumberKind::F64 };
        self.written(x, |writing, x| {
            let mut arguments = x.iter().copied();
            let mut next = || arguments.next().expect("as many arguments as the function has");
            recorded::defined(writing, name, kind, &mut next).expect("every row has a function")
        })
    }

    /// Blocks under keys: [`crate::ops::threefry`].
    pub(super) fn threefry(&mut self, key: &HloValue, counter: &HloValue) -> HloValue {
        self.written(&[key, counter], |writing, x| recorded::threefry(writing, [x[0], x[1]]))
    }

    /// `e^(-x^2)`, by the square of the leading bits, which is exact even where a compiler fuses products and sums.
    pub(super) fn gaussian(&mut self, x: &HloValue) -> HloValue {
        let wide = self.convert(x, Ty::F64);
        let value = self.written(&[&wide], |writing, x| recorded::gaussian(writing, x[0]));
        self.convert(&value, x.ty)
    }
}
