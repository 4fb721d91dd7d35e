//! Checkpointing: loops cut in segments that reverse mode runs again, so that it keeps few states.
//!
//! Law: values and derivatives are unchanged, up to the order of sums over trips: a derivative adds these up segment
//! by segment. Only recurrences are cut, since a loop that becomes bulk operations has no states to store. A loop
//! inside a loop that is cut is not cut itself, since each segment runs the inner loop again.

use std::rc::Rc;

use super::optimize;
use crate::base::BaseTensor;
use crate::checkpoint::{Checkpoint, RerunTrip, SegmentPlan, map_accum};
use crate::program::repeat::closed;
use crate::program::{Builder, Loop, NodeId, Now, Op, Program, Rebuilt, Slot, Term, interpret};
use crate::shape::Shape;

/// The program with its recurrences cut in segments, which its derivatives in reverse mode run again: see
/// [`checkpoint`](crate::checkpoint()).
///
/// ```
/// use polygrad::passes::checkpoint_loops;
/// use polygrad::{Function, checkpoint, iterate, tensor};
/// let f = Function::stage(|x| iterate(100, x, |_, x: polygrad::Tensor<_, 0>| x.sin()), &tensor(1.0));
/// let cut = checkpoint_loops(f.program(), checkpoint(10));
/// assert!(cut.to_string().contains("again segment("));
/// assert_eq!(checkpoint_loops(f.program(), checkpoint(100)), *f.program());
/// ```
pub fn checkpoint_loops(program: &Program, checkpoint: Checkpoint) -> Program {
    let plans: Vec<SegmentPlan> = program.nodes().iter().map(|node| plan(&node.op, checkpoint)).collect();
    if plans.iter().all(SegmentPlan::is_whole) {
        return program.clone();
    }
    let mut b = Builder::new();
    let inputs = b.inputs(program.inputs(), &[]);
    program.rebuilt(b, inputs, &mut |b, k, node, now| {
        let plan = &plans[k as usize];
        if let Op::Loop(l) = &node.op
            && !plan.is_whole()
        {
            return cut(b, l, plan, now);
        }
        now.again(b, node)
    })
}

/// The segments of a loop; none for a loop that is not cut.
fn plan(op: &Op<NodeId>, checkpoint: Checkpoint) -> SegmentPlan {
    let Op::Loop(l) = op else { return SegmentPlan::whole() };
    // The reverse pass frees a state after its last use.
    let plan = checkpoint.plan(l.n, true);
    if plan.is_whole() || is_recurrence(l) { plan } else { SegmentPlan::whole() }
}

/// The results of a loop, from its operands and its trips.
type Run<'a> = &'a dyn Fn(&[Term], RerunTrip<Term>) -> Vec<Term>;

/// The loop alone, as a program.
fn alone(l: &Loop<NodeId>, run: Run<'_>) -> Program {
    let carried = l.init.len();
    let variable = |(k, slot): (usize, &Slot)| {
        let mut shape = Shape::from_slice(&slot.shape);
        if (carried..carried + l.xs.len()).contains(&k) {
            shape.insert(0, l.n);
        }
        Term::variable(&shape, slot.dtype)
    };
    let variables: Vec<Term> = l.body.inputs().iter().enumerate().map(variable).collect();
    let (body, captured) = (l.body.clone(), variables[carried + l.xs.len()..].to_vec());
    let trips: RerunTrip<Term> = Rc::new(move |mut values, rows| {
        values.extend(rows.iter().chain(&captured).cloned());
        let mut carry = interpret(&body, values);
        let outputs = carry.split_off(carried);
        (carry, outputs)
    });
    closed(&variables, &run(&variables, trips))
}

/// Whether a loop has trips that must run one after the other.
fn is_recurrence(l: &Loop<NodeId>) -> bool {
    if l.init.is_empty() {
        return false;
    }
    let whole = alone(l, &|variables, trips| {
        let (init, rest) = variables.split_at(l.init.len());
        let (carry, outputs) =
            Term::map_accum(l.n, l.reverse, init.to_vec(), &rest[..l.xs.len()], &mut |c, x| trips(c, x));
        [carry, outputs].concat()
    });
    optimize(&whole).nodes().iter().any(|node| matches!(node.op, Op::Loop(_)))
}

/// The results of a loop that is cut.
fn cut(b: &mut Builder, l: &Loop<NodeId>, plan: &SegmentPlan, now: &Now) -> Rebuilt {
    let whole = alone(l, &|variables, trips| {
        let (init, rest) = variables.split_at(l.init.len());
        let (carry, outputs) = map_accum(plan, (l.n, l.reverse), init.to_vec(), &rest[..l.xs.len()], &trips);
        [carry, outputs].concat()
    });
    let operands = l.init.iter().chain(&l.xs).chain(&l.captured).map(|a| now.of(*a)).collect();
    let made = b.copy(&whole, operands);
    Rebuilt::Many(whole.results().iter().map(|r| Some(made.of(*r))).collect())
}
