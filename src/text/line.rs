//! One operation as a line of text, apart from the operations around it: for graphs and reports.
//!
//! Law: a line is total and deterministic, and names every operand, except for constants that are one number, which are
//! written in their place.

use super::words::{Text, words};
use super::{is_number, kind, literal, one_or_tuple};
use crate::escape;
use crate::program::{Constant, Custom, CustomKind, Loop, NodeId, Op, Program};

/// The name of a value.
pub(crate) type ValueName<'a> = &'a dyn Fn(NodeId) -> String;

/// Shape and element type of the result of an operation: `f64[2, 3]`; nothing, if it has several results.
pub(crate) fn kind_of(program: &Program, id: NodeId) -> String {
    let node = &program.nodes()[id as usize];
    match &node.op {
        Op::Loop(_) | Op::Call(..) | Op::Custom(..) => String::new(),
        Op::Input(_) | Op::Constant(_) | Op::Unary(..) | Op::Binary(..) | Op::Discrete(..) | Op::Select(_) => {
            kind(&node.shape, node.dtype)
        }
        Op::Linear(..) | Op::Contract(..) | Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) => {
            kind(&node.shape, node.dtype)
        }
        Op::Concat(..) | Op::Output(..) => kind(&node.shape, node.dtype),
    }
}

/// Whether a value is a constant that is one number, which needs no name.
pub(crate) fn is_number_at(program: &Program, id: NodeId) -> bool {
    matches!(&program.nodes()[id as usize].op, Op::Constant(Constant(c)) if is_number(c))
}

/// An operation without its operands: its name and its parameters, or the text of a constant.
pub(crate) fn heading(program: &Program, id: NodeId) -> String {
    match &program.nodes()[id as usize].op {
        Op::Input(k) => input(program, *k as usize),
        Op::Constant(Constant(c)) => literal(c, true, false),
        Op::Loop(l) => trips(l),
        Op::Custom(c, _) => function(c),
        Op::Call(op, _) => op.words().into_owned(),
        Op::Output(_, k) => format!("result {k}"),
        op @ (Op::Unary(..) | Op::Binary(..) | Op::Discrete(..) | Op::Select(_) | Op::Linear(..)) => op.words(),
        op @ (Op::Contract(..) | Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) | Op::Concat(..)) => op.words(),
    }
}

/// The name of an input, or its number.
fn input(program: &Program, k: usize) -> String {
    match program.inputs().get(k).map(|slot| slot.name.as_str()) {
        None | Some("") => format!("input {k}"),
        Some(name) => escape::name(name).into_owned(),
    }
}

fn trips(l: &Loop<NodeId>) -> String {
    format!("loop of {} trip{}{}", l.n, if l.n == 1 { "" } else { "s" }, if l.reverse { ", reversed" } else { "" })
}

fn function(c: &Custom) -> String {
    let name = escape::name(c.name());
    match c.kind() {
        CustomKind::Rules { .. } => format!("function {name}"),
        CustomKind::Checkpointed => format!("checkpointed {name}"),
        CustomKind::Solve(_) => format!("solution {name}"),
        CustomKind::Cond { .. } => "conditional".into(),
        CustomKind::While { most: None } => "while loop".into(),
        CustomKind::While { most: Some(most) } => format!("while loop of at most {most} trips"),
    }
}

/// The role of an operand, where it is not clear from the order: `mask`, `carry 0`, `rows 1`.
pub(crate) fn operand_roles(op: &Op<NodeId>) -> Vec<String> {
    let counted = |word: &str, n: usize| (0..n).map(|k| format!("{word} {k}")).collect::<Vec<String>>();
    match op {
        Op::Select(_) => ["mask", "then", "else"].map(str::to_owned).to_vec(),
        Op::Gather(_, ix) => [vec!["from".to_owned()], counted("index", ix.len())].concat(),
        Op::ScatterAdd(_, ix, _) => {
            [vec!["into".to_owned()], counted("index", ix.len()), vec!["added".to_owned()]].concat()
        }
        Op::Loop(l) => {
            [counted("carry", l.init.len()), counted("rows", l.xs.len()), counted("captured", l.captured.len())]
                .concat()
        }
        Op::Input(_) | Op::Constant(_) | Op::Unary(..) | Op::Binary(..) | Op::Discrete(..) | Op::Linear(..) => {
            plain(op)
        }
        Op::Contract(..) | Op::Reduce(..) | Op::Concat(..) | Op::Call(..) | Op::Custom(..) | Op::Output(..) => {
            plain(op)
        }
    }
}

/// Operands whose order shows their roles.
fn plain(op: &Op<NodeId>) -> Vec<String> {
    let mut roles = Vec::new();
    op.operands(&mut |_| roles.push(String::new()));
    roles
}

/// The role of an input of the program of an operation, as a name: `carry0`, `row1`, `captured2`, `argument0`.
pub(crate) fn inner_input(op: &Op<NodeId>, k: usize) -> String {
    let Op::Loop(l) = op else { return format!("argument{k}") };
    match (k.checked_sub(l.init.len()), k.checked_sub(l.init.len() + l.xs.len())) {
        (None, _) => format!("carry{k}"),
        (Some(k), None) => format!("row{k}"),
        (Some(_), Some(k)) => format!("captured{k}"),
    }
}

/// The role of a result of the program of an operation: `next carry 0`, `row of result 1`, `result 0`.
pub(crate) fn inner_result(op: &Op<NodeId>, k: usize) -> String {
    let is_while = matches!(op, Op::Custom(c, _) if matches!(c.kind(), CustomKind::While { .. }));
    if let Op::Loop(l) = op
        && k >= l.init.len()
    {
        return format!("row of result {k}");
    }
    let next = is_while || matches!(op, Op::Loop(_));
    format!("{} {k}", if next { "next carry" } else { "result" })
}

/// An operation as a line, with these names of values: `t3: f64[2] = t1 * 2.0`.
pub(crate) fn line(program: &Program, id: NodeId, name: ValueName<'_>) -> String {
    let node = &program.nodes()[id as usize];
    let operand = |a: NodeId| operand_text(program, a, true, true, name).words;
    let listed = |args: &[NodeId]| args.iter().map(|a| operand(*a)).collect::<Vec<String>>().join(", ");
    let right = match &node.op {
        Op::Input(_) => return format!("{}: {}", heading(program, id), kind(&node.shape, node.dtype)),
        Op::Constant(Constant(c)) => literal(c, false, false),
        Op::Output(of, k) => format!("result {k} of {}", name(*of)),
        Op::Call(_, args) | Op::Custom(_, args) => format!("{}({})", heading(program, id), listed(args)),
        Op::Loop(l) => {
            let parts = [("carry", &l.init), ("over rows of", &l.xs), ("with", &l.captured)];
            let parts = parts.into_iter().filter(|(_, args)| !args.is_empty());
            let parts: String =
                parts.map(|(word, args)| format!(" {word} {}", one_or_tuple(&[listed(args)]))).collect();
            format!("{}{parts}", trips(l))
        }
        Op::Unary(..)
        | Op::Binary(..)
        | Op::Discrete(..)
        | Op::Select(_)
        | Op::Linear(..)
        | Op::Contract(..)
        | Op::Reduce(..)
        | Op::Gather(..)
        | Op::ScatterAdd(..)
        | Op::Concat(..) => words(program, id, &|a, shape, dtype| operand_text(program, a, shape, dtype, name)).words,
    };
    match kind_of(program, id) {
        kind if kind.is_empty() => format!("{} = {right}", name(id)),
        kind => format!("{}: {kind} = {right}", name(id)),
    }
}

fn operand_text(program: &Program, a: NodeId, shape: bool, dtype: bool, name: ValueName<'_>) -> Text {
    if let Op::Constant(Constant(c)) = &program.nodes()[a as usize].op
        && is_number(c)
    {
        return Text::literal(literal(c, shape, dtype));
    }
    Text::name(name(a))
}
