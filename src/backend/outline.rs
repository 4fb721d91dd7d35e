//! Outlining: loops with equal bodies call one plan of that body.
//!
//! A plan gives the steps of each loop their own buffers. If loops share bodies, and these bodies contain loops that
//! share bodies, the plan would grow exponentially. A loop with a shared body therefore becomes an operation on
//! arrays that calls the plan of that loop, which is compiled once.
//!
//! Law: equal loops with a shared body are compiled once, so the total length of all plans is linear in the length of
//! the program. Values do not change.

use std::collections::HashMap;
use std::sync::Arc;

use crate::array::Array;
use crate::backend::compile_apart;
use crate::backend::ir::limits::Limits;
use crate::ops::{Call, External};
use crate::program::{Builder, NodeId, Op, Program, Rebuilt, Slot, run_by, taps};

/// The program with every loop of a shared body replaced by a call.
pub(crate) fn outlined(program: &Program, limits: Limits) -> Program {
    let all = program.distinct(|op| run_by(op).into_iter());
    let mut uses: HashMap<u64, usize> = HashMap::new();
    for body in program.operations(run_by).filter_map(run_by) {
        *uses.entry(body.class()).or_default() += 1;
    }
    // Lookup tables only: outlined programs by class, and calls by the one-operation program that they run.
    let (mut made, mut calls): (HashMap<u64, Program>, HashMap<u64, Arc<External>>) = Default::default();
    for body in all {
        let mut b = Builder::literal();
        let inputs = b.inputs(body.inputs(), &[]);
        let with_calls = body.rebuilt(b, inputs, &mut |b, k, node, now| {
            let Some(inner) = run_by(&node.op) else { return now.again(b, node) };
            let whole = |inner: Program| with_body(&now.op(&node.op), inner);
            // Taps stay in the plan, so that a run can catch what they report.
            if uses[&inner.class()] < 2 || taps(&node.op) {
                return Rebuilt::One(b.cons(whole(made[&inner.class()].clone()), node.shape.clone(), node.dtype));
            }
            let lone = alone(body, k, inner.clone());
            let call = calls.entry(lone.class()).or_insert_with(|| {
                let executable = compile_apart(&alone(body, k, made[&inner.class()].clone()), limits);
                let kinds = |slots: &[Slot]| slots.iter().map(|slot| (slot.shape.clone(), slot.dtype)).collect();
                let run = Arc::new(move |args: &[Array]| executable.run_fitting(args));
                Arc::new(External::new("shared", kinds(lone.inputs()), kinds(lone.outputs()), run))
            });
            let mut args = Vec::new();
            node.op.operands(&mut |a| args.push(now.of(*a)));
            Rebuilt::One(b.cons(Op::Call(Call::External(call.clone()), args), node.shape.clone(), node.dtype))
        });
        made.insert(body.class(), with_calls);
    }
    made[&program.class()].clone()
}

/// Replaces the program of a loop or function.
fn with_body(op: &Op<NodeId>, body: Program) -> Op<NodeId> {
    let mut op = op.clone();
    if let Op::Loop(l) = &mut op {
        l.body = body;
    } else if let Op::Custom(c, _) = &mut op {
        *c = Arc::new(c.with_primal(body));
    }
    op
}

/// The one-operation program that runs this body, from the operands of the operation to all its results.
fn alone(program: &Program, id: NodeId, body: Program) -> Program {
    let nodes = program.nodes();
    let mut b = Builder::literal();
    let mut slots = Vec::new();
    nodes[id as usize].op.operands(&mut |a| {
        let node = &nodes[*a as usize];
        slots.push(Slot { name: String::new(), shape: node.shape.clone(), dtype: node.dtype });
    });
    let mut inputs = b.inputs(&slots, &[]).into_iter();
    let op = nodes[id as usize].op.map(&mut |_| inputs.next().expect("an input for each operand"));
    let count = body.outputs().len();
    let of = b.apply(with_body(&op, body));
    let results: Vec<NodeId> = (0..count).map(|k| b.apply(Op::Output(of, k))).collect();
    b.finish(&results, &[])
}
