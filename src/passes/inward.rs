//! Rows of a sequence that are a cheap function of rows of another one are computed where they are read.
//!
//! What a loop does not change is computed in bulk before the loop. For a product with a number, or a square, that is a
//! stack that is written and read once, beside the one that it is made of: in the derivative of a long recurrence it
//! doubles the memory. Large rows are computed by the loop that reads them, small ones are not, since each operation of a
//! trip has to be started.
//!
//! Law: each value is computed by the same operation on the same values, so the results have the same bits. Only the plan
//! of a run asks for this pass: the vectoriser would move out of the loop what the pass moves in.

use crate::array::{Array, with_elem};
use crate::ops::{Binary, Unary};
use crate::program::{Builder, Constant, Loop, Made, Node, NodeId, Op, Program};
use crate::shape::size;

/// The least number of bytes of a row that is computed by the loop, where a row costs so many times as much.
const LEAST: f64 = 1024.0;

/// The program in which loops compute the rows they read; nothing, if there are none.
pub(crate) fn inward(program: &Program, costs: f64) -> Option<Program> {
    let uses = program.uses();
    let bodies: Vec<Option<Program>> = program.nodes().iter().map(|node| body(node, costs)).collect();
    let moved = |l: &Loop<NodeId>| l.xs.iter().any(|x| of_rows(program, &uses, *x, costs).is_some());
    let any = |node: &Node| matches!(&node.op, Op::Loop(l) if moved(l));
    if bodies.iter().all(Option::is_none) && !program.nodes().iter().any(any) {
        return None;
    }
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), &[]);
    let next = program.rebuilt(b, inputs, &mut |b, k, node, now| {
        let Op::Loop(l) = &node.op else { return now.again(b, node) };
        let mut l = (**l).clone();
        if let Some(body) = &bodies[k as usize] {
            l.body = body.clone();
        }
        let rows: Vec<Option<NodeId>> = l.xs.iter().map(|x| of_rows(program, &uses, *x, costs)).collect();
        if rows.iter().any(Option::is_some) {
            l.body = with_rows(program, &l, &rows);
            l.xs.iter_mut().zip(rows).for_each(|(x, of)| *x = of.unwrap_or(*x));
        }
        Made::One(b.apply(now.op(&Op::Loop(Box::new(l)))))
    });
    // What the rows are made of may itself be made of others.
    Some(inward(&next, costs).unwrap_or(next))
}

fn body(node: &Node, costs: f64) -> Option<Program> {
    if let Op::Loop(l) = &node.op { inward(&l.body, costs) } else { None }
}

/// The one stack that a sequence is a cheap elementwise function of, if nothing else needs the sequence and its rows are
/// large.
fn of_rows(program: &Program, uses: &[u32], x: NodeId, costs: f64) -> Option<NodeId> {
    let node = &program.nodes()[x as usize];
    let bytes = size(node.shape.get(1..)?) * node.dtype.width();
    if uses[x as usize] != 1 || (bytes as f64) < costs * LEAST {
        return None;
    }
    let repeated = |a: &NodeId| number(program, *a, &[]).is_some();
    match &node.op {
        Op::Unary(Unary::Neg | Unary::Square | Unary::Abs | Unary::Relu, a) => Some(*a).filter(|a| !repeated(a)),
        Op::Binary(Binary::Add | Binary::Sub | Binary::Mul, a, b) => match (repeated(a), repeated(b)) {
            (true, false) => Some(*b),
            (false, true) => Some(*a),
            (true, true) | (false, false) => None,
        },
        Op::Unary(..) | Op::Binary(..) | Op::Input(_) | Op::Constant(_) | Op::Discrete(..) | Op::Select(_) => None,
        Op::Linear(..) | Op::Contract(..) | Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) => None,
        Op::Concat(..) | Op::Loop(_) | Op::Custom(..) | Op::Call(..) | Op::Output(..) => None,
    }
}

/// The constant of this shape that repeats the number of a constant, if that repeats one.
fn number(program: &Program, id: NodeId, shape: &[usize]) -> Option<Array> {
    let Op::Constant(Constant(c)) = &program.nodes()[id as usize].op else { return None };
    with_elem!(c.dtype(), E => c.splat::<E>().map(|x| Array::full(shape, x)))
}

/// The body of a loop that takes the rows of other sequences, of which it computes its own.
fn with_rows(program: &Program, l: &Loop<NodeId>, rows: &[Option<NodeId>]) -> Program {
    let mut b = Builder::literal();
    let mut numbers: Vec<Option<NodeId>> = vec![None; l.body.nodes().len()];
    for (number, slot) in numbers.iter_mut().zip(l.body.inputs()) {
        *number = Some(b.input(slot.clone()));
    }
    for (k, (x, of)) in l.xs.iter().zip(rows).enumerate() {
        let Some(of) = of else { continue };
        let (at, node) = (l.init.len() + k, &program.nodes()[*x as usize]);
        let row = numbers[at].expect("an input has a number");
        let op = node.op.map(&mut |a| {
            if a == of {
                return row;
            }
            let constant = number(program, *a, &node.shape[1..]).expect("the other operand repeats a number");
            b.apply(Op::Constant(Constant(constant)))
        });
        numbers[at] = Some(b.apply(op));
    }
    b.follow(&l.body, &mut numbers);
    let results: Vec<NodeId> = l.body.results().iter().filter_map(|r| numbers[*r as usize]).collect();
    b.finish(&results, &[])
}
