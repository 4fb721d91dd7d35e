//! Taps in programs: whether there are some, and the program without them.
//!
//! Law: a program without its taps computes the same values.

use std::sync::Arc;

use super::rebuild::Rebuilt;
use super::shared::programs_of;
use super::{Builder, Loop, NodeId, Op, Program};
use crate::ops::{Call, Tap, TapKind};

/// The tap that an operation is.
pub(crate) fn tap_of<R>(op: &Op<R>) -> Option<&Arc<Tap>> {
    if let Op::Call(Call::Tap(tap), _) = op { Some(tap) } else { None }
}

/// Whether an operation is a tap, or has taps in its programs: it must run as often as the program says.
pub(crate) fn taps<R>(op: &Op<R>) -> bool {
    tap_of(op).is_some() || programs_of(op).any(Program::has_taps)
}

impl Program {
    /// Whether the program has taps, in its loops and functions or outside.
    pub(crate) fn has_taps(&self) -> bool {
        self.asked_for_taps(|| self.operations(programs_of).any(|op| tap_of(op).is_some()))
    }

    /// Whether a run of the program may fail: it has checks.
    pub(crate) fn has_checks(&self) -> bool {
        self.has_taps() && self.taps().iter().any(|tap| matches!(tap.kind(), TapKind::Check(_)))
    }

    /// The taps of the program, in order, those of its loops and functions included.
    pub(crate) fn taps(&self) -> Vec<Arc<Tap>> {
        self.operations(programs_of).filter_map(tap_of).cloned().collect()
    }

    /// The program without taps.
    pub(crate) fn without_taps(&self) -> Program {
        if !self.has_taps() {
            return self.clone();
        }
        let mut b = Builder::literal();
        let inputs = b.inputs(self.inputs(), &[]);
        self.rebuilt(b, inputs, &mut |b, _, node, now| {
            let passed = |tap: &Tap, args: &[NodeId]| tap.passed(args).iter().map(|a| Some(now.of(*a))).collect();
            if let Op::Call(Call::Tap(tap), args) = &node.op {
                return Rebuilt::Many(passed(tap, args));
            }
            if !taps(&node.op) {
                return now.again(b, node);
            }
            let mut op = now.op(&node.op);
            if let Op::Loop(l) = &mut op {
                let Loop { body, .. } = &mut **l;
                *body = body.without_taps();
            } else if let Op::Custom(custom, _) = &mut op {
                *custom = Arc::new(custom.map(&mut Program::without_taps));
            }
            Rebuilt::One(b.cons(op, node.shape.clone(), node.dtype))
        })
    }
}
