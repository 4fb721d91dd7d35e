//! What a picture says about an operation: its role, its place in the user's source.

use crate::program::{NodeId, Op, OpClass, Program, Single};
use crate::source::SourceLine;

/// The kind of an operation in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Input,
    Constant,
    /// A choice by a mask.
    Choice,
    Loop,
    /// A function with its own program, or a loop that ends by itself.
    Function,
    /// One result of an operation with several.
    Part,
    Operation,
}

impl Role {
    pub(super) fn of(op: &Op<NodeId>) -> Role {
        match op.class() {
            OpClass::Input(_) => Role::Input,
            OpClass::Constant(_) => Role::Constant,
            OpClass::Single(Single::Select(_)) => Role::Choice,
            OpClass::Loop(_) => Role::Loop,
            OpClass::Custom(..) => Role::Function,
            OpClass::Output(..) => Role::Part,
            OpClass::Single(_) | OpClass::Call(..) => Role::Operation,
        }
    }
}

/// The line of the user's source that wrote an operation, without its column; nothing, if that is not known.
pub(super) fn source_line(program: &Program, id: NodeId) -> String {
    let line = |at: &_| {
        let SourceLine { file, line, .. } = SourceLine::from(at);
        format!("{file}:{line}")
    };
    program.place(id).at.as_ref().map_or_else(String::new, line)
}

/// The place of an operation in words, for a label: its line, and the operation whose derivative it belongs to.
pub(super) fn place(program: &Program, id: NodeId) -> String {
    let of = program.place(id).derivative_of;
    match (source_line(program, id), of) {
        (line, None) => line,
        (line, Some(of)) if line.is_empty() => format!("derivative of {of}"),
        (line, Some(of)) => format!("{line}, derivative of {of}"),
    }
}
