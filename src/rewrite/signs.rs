//! The sign of zero: which values are never -0, and which values have a zero whose sign an operation sees.
//!
//! `x + 0` is `x` except for `x = -0`, and `1 / x` is infinite with the sign of a zero `x`. So a rule that may change
//! the sign of a zero asks for one of two facts: its operand is never -0 ([`is_never_minus_zero`], found from operands
//! to results), or the rebuilt value reaches no operation that sees the sign ([`Seen`], found from results to
//! operands).
//!
//! Law: if two runs differ in the signs of unseen zeros, they differ in nothing else. An operation *sees* the sign of a
//! zero if its value or one of its derivatives does more than hand the sign on, as that of `recip` or the divisor of `/`
//! does: the rows say so ([`ZeroSign`], [`Property::SeesSignOfZero`]). An operation *hands on* the sign of an operand if
//! the sign of the zero it makes can depend on it; the operand is then seen if the result is. Sums of several elements
//! and contractions add to +0, so they hand on nothing and are never -0 (underflow excepted). The results of a program
//! are not seen.

use std::collections::BTreeMap;

use super::{Constant, NodeId, Op, OpClass, Single};
use crate::array::{Values, with_elem};
use crate::dtype::{DType, Elem};
use crate::ops::{Binary, Discrete, FloatStep, Linear, Property, ZeroSign};
use crate::program::{Node, Program, Question};

/// Whether a linear operation adds elements: it does if two of them may have the same place, and copies otherwise. All
/// but Fourier transforms add to +0.
pub(crate) fn adds_up(op: &Linear) -> bool {
    match op {
        Linear::Affine { into, .. } => !into.is_injective(),
        Linear::Reshape { .. } | Linear::Cast { .. } => false,
        Linear::Fourier { .. } => true,
        Linear::PrefixSum { .. } => !op.is_identity(),
    }
}

/// Whether a linear operation makes zeros of both signs, which depend on those of the argument: it adds and subtracts
/// in its own order.
fn mixes(op: &Linear) -> bool {
    match op {
        Linear::Affine { .. } | Linear::Reshape { .. } | Linear::Cast { .. } | Linear::PrefixSum { .. } => false,
        Linear::Fourier { .. } => true,
    }
}

/// Whether no element of a constant is -0.
fn has_no_minus_zero(c: &Constant) -> bool {
    with_elem!(c.0.dtype(), E => match c.0.typed::<E>() {
        Values::Splat(x) => x.same_bits(E::ZERO) || x != E::ZERO,
        Values::Dense(v) => v.iter().all(|x| x.same_bits(E::ZERO) || *x != E::ZERO),
    })
}

/// Whether no element of the result is -0, given the same fact about the operands.
pub(crate) fn is_never_minus_zero(op: &Op<NodeId>, dtype: DType, of: &dyn Fn(NodeId) -> bool) -> bool {
    if !dtype.is_float() {
        return true;
    }
    if let Op::Constant(c) = op {
        return has_no_minus_zero(c);
    }
    let Some(op) = op.single() else { return false };
    match op {
        Single::Unary(f, x) => f.is(Property::NeverMinusZero) || (f.is(Property::KeepsMinusZeroOut) && of(*x)),
        // A sum is -0 only where both are; a difference where the first is -0 and the second +0.
        Single::Binary(Binary::Add, x, y) => of(*x) || of(*y),
        Single::Binary(Binary::Sub, x, _) => of(*x),
        Single::Binary(f, x, y) => {
            f.is(Property::NeverMinusZero) || (f.is(Property::KeepsMinusZeroOut) && of(*x) && of(*y))
        }
        Single::Discrete(f, args) => match f {
            Discrete::FloatStep(FloatStep::StopGradient) => of(args[0]),
            Discrete::ToFloat(_) | Discrete::FloatStep(FloatStep::Sign) => true,
            Discrete::FloatStep(_) => false,
            Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not | Discrete::Iota { .. } => true,
            Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToInt => true,
            Discrete::ArgMax { .. } | Discrete::ArgMin { .. } | Discrete::ArgSort { .. } => true,
            Discrete::PrefixArg { .. } => true,
        },
        Single::Select([_, x, y]) => of(*x) && of(*y),
        Single::Linear(f, x) => !mixes(f) && (adds_up(f) || of(*x)),
        Single::Contract(..) => true,
        Single::Gather(x, _) | Single::ScatterAdd(x, ..) | Single::Reduce(_, x) => of(*x),
        Single::Concat(_, parts) => parts.iter().all(|part| of(*part)),
    }
}

/// The values of a program for which an operation sees the sign of a zero.
pub(crate) struct Seen {
    /// Whether the sign is seen, by the number of the value.
    pub(crate) values: Vec<bool>,
    /// Whether the value is never -0, by its number.
    pub(crate) never_minus_zero: Vec<bool>,
    /// For each loop, whether the sign is seen, by the results of its body.
    pub(crate) results: BTreeMap<NodeId, Vec<bool>>,
}

impl Seen {
    /// The seen values of a program with some seen results; `results` may be empty if none is.
    pub(crate) fn of(program: &Program, results: &[bool]) -> Seen {
        let seen = program.results().iter().zip(results).filter(|(_, by)| **by).map(|(r, _)| *r);
        Seen::of_nodes(program.nodes(), seen)
    }

    /// The seen values among operations if these are seen.
    pub(crate) fn of_nodes(nodes: &[Node], from: impl Iterator<Item = NodeId>) -> Seen {
        let mut never = Vec::with_capacity(nodes.len());
        for node in nodes {
            never.push(is_never_minus_zero(&node.op, node.dtype, &|a| never[a as usize]));
        }
        let (values, results) = (vec![false; nodes.len()], BTreeMap::new());
        let mut seen = Seen { values, results, never_minus_zero: never };
        from.for_each(|id| seen.values[id as usize] = true);
        for (k, node) in nodes.iter().enumerate().rev() {
            if let Op::Loop(l) = &node.op {
                let of_body = seen.results.entry(k as NodeId).or_insert_with(|| vec![false; l.body.results().len()]);
                let inputs = inside(&l.body, of_body, l.init.len());
                let operands = l.init.iter().chain(&l.xs).chain(&l.captured);
                operands.zip(inputs).for_each(|(a, by)| seen.values[*a as usize] |= by);
            } else if let Op::Output(of, position) = &node.op
                && let Op::Loop(l) = &nodes[*of as usize].op
            {
                let of_body = seen.results.entry(*of).or_insert_with(|| vec![false; l.body.results().len()]);
                of_body[*position] |= seen.values[k];
            } else {
                let by = seen.values[k];
                operands_seen(&node.op, by, &seen.never_minus_zero, &mut |a| seen.values[a as usize] = true);
            }
        }
        seen
    }
}

/// The inputs of the body of a loop that are seen, given the results that are. A carry that is seen in one trip is a
/// result of the previous one.
fn inside(body: &Program, results: &mut [bool], carried: usize) -> Vec<bool> {
    loop {
        let inputs = body.answered(Question::Signs, results, || {
            let mut inputs = Seen::of(body, results).values;
            inputs.truncate(body.inputs().len());
            inputs
        });
        let more: Vec<usize> = (0..carried).filter(|k| inputs[*k] && !results[*k]).collect();
        if more.is_empty() {
            return inputs;
        }
        more.into_iter().for_each(|k| results[k] = true);
    }
}

/// Which operands of a binary operation are seen, if the result is; and which of them are never -0.
fn binary_seen(op: Binary, by: bool, never: [bool; 2]) -> [bool; 2] {
    if matches!(op, Binary::Add | Binary::Sub) {
        // The operand that is never -0 makes the sum so by itself, and must stay so.
        return match (by, never[0], never[1] && op == Binary::Add) {
            (true, _, true) => [false, true],
            (true, true, false) => [true, false],
            (_, _, _) => [by, by],
        };
    }
    op.zeros().map(|does| match does {
        ZeroSign::Hides => false,
        ZeroSign::HandsOn => by,
        ZeroSign::Sees => true,
    })
}

/// Marks the operands for which the operation sees the sign of a zero, or hands it on while its own is seen (`by`).
/// Loops are treated elsewhere.
fn operands_seen(op: &Op<NodeId>, by: bool, never: &[bool], mark: &mut dyn FnMut(NodeId)) {
    let all = |mark: &mut dyn FnMut(NodeId)| op.operands(&mut |a| mark(*a));
    match op.class() {
        OpClass::Input(_) | OpClass::Constant(_) | OpClass::Loop(_) => {}
        // The rules of the function are not examined.
        OpClass::Custom(..) | OpClass::Call(..) => all(mark),
        OpClass::Single(Single::Unary(f, x)) => {
            let sees = f.is(Property::SeesSignOfZero);
            let hands_on = f.apply(0.0f64).to_bits() != f.apply(-0.0f64).to_bits();
            if sees || (by && hands_on) {
                mark(*x);
            }
        }
        OpClass::Single(Single::Binary(f, x, y)) => {
            let [first, second] = binary_seen(f, by, [never[*x as usize], never[*y as usize]]);
            [(first, x), (second, y)].into_iter().filter(|(seen, _)| *seen).for_each(|(_, a)| mark(*a));
        }
        // Sums hide it, and integers and masks have none.
        OpClass::Single(Single::Contract(..)) => {}
        OpClass::Single(Single::Linear(f, _)) if !mixes(f) && adds_up(f) => {}
        OpClass::Single(Single::Discrete(f, _)) if !matches!(f, Discrete::FloatStep(_)) => {}
        OpClass::Single(_) | OpClass::Output(..) => {
            if by {
                all(mark);
            }
        }
    }
}
