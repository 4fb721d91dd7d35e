//! What cannot be written as source code, found before anything is written.

use super::EmissionError;
use crate::backend::trees::matrices;
use crate::ops::{Call, Linear};
use crate::program::{NodeId, Op, Program, run_by};
use crate::source::SourceLine;

/// The most operations of a program, each counted as often as it is written.
const MOST: usize = 50_000;

/// An error if a program has an operation that is not written, or is too large.
pub(super) fn check(program: &Program) -> Result<(), EmissionError> {
    if program.is_shared() {
        return Err(EmissionError::Size { operations: usize::MAX, most: MOST });
    }
    let mut open = vec![program];
    let mut operations = 0;
    while let Some(program) = open.pop() {
        for (k, node) in program.nodes().iter().enumerate() {
            operations += 1;
            open.extend(run_by(&node.op));
            if let Some((operation, reason)) = refused(program, &node.op) {
                let at = program.place(k as NodeId).at.as_ref().map(SourceLine::from);
                return Err(EmissionError::Operation { operation, reason, at });
            }
        }
    }
    match operations {
        ..=MOST => Ok(()),
        operations => Err(EmissionError::Size { operations, most: MOST }),
    }
}

/// The name of an operation that is not written, and the reason.
fn refused(program: &Program, op: &Op<NodeId>) -> Option<(String, String)> {
    if let Op::Linear(linear, _) = op
        && let Linear::Fourier { .. } = **linear
    {
        return Some(("fft".into(), "Fourier transforms are not written".into()));
    }
    let Op::Call(call, args) = op else { return None };
    match call {
        Call::External(external) => {
            Some((external.name().to_owned(), "it is code of the host, which has no source here".into()))
        }
        // Taps are left out before.
        Call::Tap(tap) => Some((tap.name().to_owned(), "it runs code of the host".into())),
        Call::Matrix(matrix) => {
            let shape = &program.nodes()[args[0] as usize].shape;
            let [.., m, n] = &shape[..] else { return None };
            let reason = matrices::supported(*matrix, [*m, *n]).err()?;
            Some((matrix.name().into(), reason.into()))
        }
    }
}
