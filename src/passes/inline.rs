//! Inlining: functions without rules become their operations.
//!
//! A function without rules marks operations that a reverse pass computes again, so that no pass merges them with the
//! same operations of the forward pass and stores the results. When a program is planned, no such pass follows, and
//! the planner reuses memory better if it sees all operations.
//!
//! Law: the same operations on the same values, in the same order.

use crate::program::{Builder, Loop, Op, OpClass, Program, Rebuilt, part_of};

/// The program without functions that have no rules; nothing, if it has none.
pub(crate) fn inline(program: &Program) -> Option<Program> {
    if !has_again(program) {
        return None;
    }
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), &[]);
    Some(program.rebuilt(b, inputs, &mut |b, _, node, now| match node.op.class() {
        OpClass::Custom(custom, args) if custom.is_checkpointed() => {
            let inner = inline(custom.primal());
            let inner = inner.as_ref().unwrap_or(custom.primal());
            let values = b.copy(inner, args.iter().map(|a| now.of(*a)).collect());
            Rebuilt::Many(inner.results().iter().map(|r| Some(values.of(*r))).collect())
        }
        OpClass::Loop(l) if has_again(&l.body) => {
            let outside = now.looped(l);
            let body = inline(&l.body).unwrap_or_else(|| l.body.clone());
            Rebuilt::One(b.apply(Op::Loop(Box::new(Loop { body, ..outside }))))
        }
        OpClass::Loop(_) | OpClass::Custom(..) | OpClass::Output(..) => now.again(b, node),
        OpClass::Input(_) | OpClass::Constant(_) | OpClass::Single(_) | OpClass::Call(..) => now.again(b, node),
    }))
}

/// Whether a program has functions without rules, in its loops or outside.
fn has_again(program: &Program) -> bool {
    program.operations(part_of).any(|op| matches!(op, Op::Custom(custom, _) if custom.is_checkpointed()))
}
