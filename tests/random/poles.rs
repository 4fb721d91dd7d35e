//! Whether a program computes a number that is infinite or NaN, on the way to finite results.
//!
//! Zero times such a number is NaN, and whether a derivative multiplies it with zero or knows that nothing depends on
//! it is decided by the order in which derivatives are taken. So laws about derivatives that agree at singular points
//! are about programs without such a number.

use polygrad::ops::Binary;
use polygrad::program::{Builder, Loop, NodeId, Op, Program, interpret};
use polygrad::{Array, DType};

use crate::pipelines::floats;

/// The program with further results: the floats that it computes, in loops, too, and the bases of powers, which are
/// those that the list names by their positions.
fn exposed(program: &Program) -> (Program, Vec<usize>) {
    let mut b = Builder::literal();
    let (mut now, mut extra, mut bases): (Vec<NodeId>, Vec<NodeId>, Vec<NodeId>) = Default::default();
    for node in program.nodes() {
        let op = node.op.map(&mut |a| now[*a as usize]);
        let id = if let Op::Input(k) = op {
            b.input(program.inputs()[k as usize].clone())
        } else if let Op::Loop(l) = op {
            let (body, powers) = exposed(&l.body);
            let (n, count, slots) = (l.n, l.body.outputs().len(), body.outputs().to_vec());
            let id = b.add(Op::Loop(Box::new(Loop { body, ..*l })), node.shape.clone(), node.dtype);
            for (k, slot) in slots.iter().enumerate().skip(count) {
                let mut shape = slot.shape.clone();
                shape.insert(0, n);
                let output = b.add(Op::Output(id, k), shape, slot.dtype);
                if powers.contains(&k) { bases.push(output) } else { extra.push(output) }
            }
            id
        } else {
            b.add(op, node.shape.clone(), node.dtype)
        };
        if let Op::Binary(Binary::Pow | Binary::PowLessOne, base, _) = node.op {
            bases.push(now[base as usize]);
        }
        if matches!(node.dtype, DType::F64 | DType::F32) && !matches!(node.op, Op::Loop(_) | Op::Custom(..)) {
            extra.push(id);
        }
        now.push(id);
    }
    let results: Vec<NodeId> = program.results().iter().map(|id| now[*id as usize]).collect();
    let first = results.len() + extra.len();
    let all: Vec<NodeId> = results.into_iter().chain(extra).chain(bases).collect();
    let powers = (first..all.len()).collect();
    (b.finish(&all, &vec![String::new(); all.len()]), powers)
}

/// Whether the program computes an infinity, a NaN or a power of zero.
pub(crate) fn has_pole(program: &Program, inputs: &[Array]) -> bool {
    let (all, powers) = exposed(program);
    let values = interpret(&all, inputs.to_vec());
    let is_pole = |(k, a): (usize, &Array)| {
        let zero = powers.contains(&k);
        floats(a).iter().any(|x| !x.is_finite() || (zero && *x == 0.0))
    };
    values.iter().enumerate().any(is_pole)
}

#[test]
fn poles_are_found_in_loops_too() {
    use polygrad::{Function, Tensor, iterate, tensor};
    let at = |x: f64, program: &Program| has_pole(program, &[Array::scalar(x)]);
    // The infinity is in the body of a loop, and its reciprocal is finite.
    let hidden = |x: &Tensor<_, 0>| iterate(2, x.clone(), |_, h: Tensor<_, 0>| (h.abs().recip() + 1.0).recip());
    let hidden = Function::stage(hidden, &tensor(1.0));
    assert!(at(0.0, hidden.program()) && !at(1.0, hidden.program()), "{}", hidden.program());
    let power = Function::stage(|x: &Tensor<_, 0>| iterate(2, x.clone(), |_, h: Tensor<_, 0>| h.pow(&h)), &tensor(1.0));
    assert!(at(0.0, power.program()) && !at(0.5, power.program()), "{}", power.program());
}
