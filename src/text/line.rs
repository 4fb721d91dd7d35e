//! One operation as a line of text, apart from the operations around it: for graphs and reports.
//!
//! Law: a line is total and deterministic, and names every operand, except for constants that are one number, which are
//! written in their place.

use super::words::{Text, words};
use super::{is_number, kind, literal, one_or_tuple};
use crate::escape;
use crate::program::{Constant, Custom, CustomKind, Loop, NodeId, Op, OpClass, Program};

/// The name of a value.
pub(crate) type ValueName<'a> = &'a dyn Fn(NodeId) -> String;

/// Shape and element type of the result of an operation: `f64[2, 3]`; nothing, if it has several results.
pub(crate) fn kind_of(program: &Program, id: NodeId) -> String {
    let node = &program.nodes()[id as usize];
    if node.op.has_several_results() { String::new() } else { kind(&node.shape, node.dtype) }
}

/// Whether a value is a constant that is one number, which needs no name.
pub(crate) fn is_number_at(program: &Program, id: NodeId) -> bool {
    matches!(&program.nodes()[id as usize].op, Op::Constant(Constant(c)) if is_number(c))
}

/// An operation without its operands: its name and its parameters, or the text of a constant.
pub(crate) fn heading(program: &Program, id: NodeId) -> String {
    let op = &program.nodes()[id as usize].op;
    match op.class() {
        OpClass::Input(k) => input(program, k as usize),
        OpClass::Constant(Constant(c)) => literal(c, true, false),
        OpClass::Loop(l) => trips(l),
        OpClass::Custom(c, _) => function(c),
        OpClass::Call(op, _) => op.words().into_owned(),
        OpClass::Output(_, k) => format!("result {k}"),
        OpClass::Single(_) => op.words(),
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
    if let Op::Loop(l) = op {
        let (init, xs, captured) = (l.init.len(), l.xs.len(), l.captured.len());
        return [counted("carry", init), counted("rows", xs), counted("captured", captured)].concat();
    }
    if let Op::Select(_) = op {
        return ["mask", "then", "else"].map(str::to_owned).to_vec();
    }
    match op.at_indices() {
        Some((ix, true)) => [vec!["into".to_owned()], counted("index", ix.len()), vec!["added".to_owned()]].concat(),
        Some((ix, false)) => [vec!["from".to_owned()], counted("index", ix.len())].concat(),
        None => plain(op),
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
    let right = match node.op.class() {
        OpClass::Input(_) => return format!("{}: {}", heading(program, id), kind(&node.shape, node.dtype)),
        OpClass::Constant(Constant(c)) => literal(c, false, false),
        OpClass::Output(of, k) => format!("result {k} of {}", name(*of)),
        OpClass::Call(_, args) | OpClass::Custom(_, args) => format!("{}({})", heading(program, id), listed(args)),
        OpClass::Loop(l) => {
            let parts = [("carry", &l.init), ("over rows of", &l.xs), ("with", &l.captured)];
            let parts = parts.into_iter().filter(|(_, args)| !args.is_empty());
            let parts: String =
                parts.map(|(word, args)| format!(" {word} {}", one_or_tuple(&[listed(args)]))).collect();
            format!("{}{parts}", trips(l))
        }
        OpClass::Single(op) => {
            words(program, op, &|a, shape, dtype| operand_text(program, a, shape, dtype, name)).words
        }
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
