//! One operation in words.
//!
//! Law: brackets are printed only where needed, and texts of different expressions differ. Symbols bind as in
//! mathematics; application of a name binds tighter than symbols, and indexing tightest.

use std::borrow::Cow;

use crate::ops::{Binary, Discrete, IntBinary, IntUnary, Notation, Unary};
use crate::program::{NodeId, Op, Program, Single};

/// The precedence of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precedence {
    /// Any text, as between commas.
    Loose,
    Or,
    And,
    Compare,
    Sum,
    Product,
    Negation,
    /// A name with its operands.
    Application,
    /// A name, a number, something in brackets.
    Atom,
}

/// The text of a value in the place of its use.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) words: String,
    pub(super) precedence: Precedence,
    /// The nesting of operations in the text; 0 for names and numbers.
    pub(super) depth: u8,
}

impl Text {
    pub(super) fn name(words: String) -> Text {
        Text { words, precedence: Precedence::Atom, depth: 0 }
    }

    pub(super) fn literal(words: String) -> Text {
        let precedence = if words.starts_with('-') { Precedence::Negation } else { Precedence::Atom };
        Text { words, precedence, depth: 0 }
    }

    /// The text, in brackets if the place needs a higher precedence.
    fn at(&self, precedence: Precedence) -> Cow<'_, str> {
        if self.precedence < precedence { format!("({})", self.words).into() } else { self.words.as_str().into() }
    }
}

/// The text of an operand, given whether its shape and its element type are known from the context.
pub(super) type OperandText<'a> = &'a dyn Fn(NodeId, bool, bool) -> Text;

/// The text of an operation from the texts of its operands. Loops, and nodes that are not operations, have none.
pub(super) fn words(program: &Program, op: Single<'_, NodeId>, operand: OperandText<'_>) -> Text {
    let mut depth = 0;
    op.operands(&mut |a| depth = depth.max(operand(*a, true, true).depth));
    let (words, precedence) = applied(program, op, operand);
    Text { words, precedence, depth: depth + 1 }
}

fn applied(program: &Program, op: Single<'_, NodeId>, operand: OperandText<'_>) -> (String, Precedence) {
    let constant = |a: NodeId| matches!(program.nodes()[a as usize].op, Op::Constant(_));
    // Operands have one shape and type: next to an operand that shows both, a number needs neither.
    let alike = |args: &[NodeId]| -> Vec<Text> {
        let known = args.iter().any(|a| !constant(*a));
        args.iter().map(|a| operand(*a, known, known)).collect()
    };
    let lone = |a: NodeId| operand(a, false, false);
    let listed = |ids: &[NodeId]| -> String { ids.iter().map(|a| lone(*a).words).collect::<Vec<String>>().join(", ") };
    match op {
        Single::Unary(Unary::Neg, a) => negation(&lone(*a), constant(*a)),
        Single::Unary(op, a) => application(op.name(), &[lone(*a)]),
        Single::Binary(op, a, b) => binary(op, &alike(&[*a, *b])),
        Single::Discrete(Discrete::IntUnary(IntUnary::Neg), args) => negation(&lone(args[0]), constant(args[0])),
        Single::Discrete(op, args) => discrete(op, &alike(args)),
        Single::Select([mask, a, b]) => {
            // The mask shows the shape, a branch the element type.
            let (shape, dtype) = ([*mask, *a, *b].iter().any(|x| !constant(*x)), !constant(*a) || !constant(*b));
            application("select", &[operand(*mask, shape, true), operand(*a, shape, dtype), operand(*b, shape, dtype)])
        }
        Single::Linear(op, a) => {
            let words = op.applied(&lone(*a).at(Precedence::Atom));
            (words, if op.familiar().is_some() { Precedence::Application } else { Precedence::Loose })
        }
        Single::Contract(op, a, b) => {
            let words = op.applied(&lone(*a).at(Precedence::Atom), &lone(*b).at(Precedence::Atom));
            (words, if op.familiar().is_some() { Precedence::Application } else { Precedence::Loose })
        }
        Single::Reduce(op, a) => application(&op.to_string(), &[lone(*a)]),
        Single::Gather(a, ix) => (format!("{}[{}]", lone(*a).at(Precedence::Atom), listed(ix)), Precedence::Atom),
        Single::ScatterAdd(a, ix, v) => {
            let (base, v) = (lone(*a), lone(*v));
            let words =
                format!("scatter_add {} [{}] {}", base.at(Precedence::Atom), listed(ix), v.at(Precedence::Atom));
            (words, Precedence::Application)
        }
        Single::Concat(axis, parts) => (format!("concat axis={axis} [{}]", listed(parts)), Precedence::Application),
    }
}

/// A name before its operands.
fn application(name: &str, args: &[Text]) -> (String, Precedence) {
    let mut out = name.to_owned();
    for arg in args {
        out.push(' ');
        out.push_str(&arg.at(Precedence::Atom));
    }
    (out, Precedence::Application)
}

/// A symbol between its operands; equal symbols associate to the left.
fn infix(
    symbol: &str,
    precedence: Precedence,
    left: Precedence,
    right: Precedence,
    args: &[Text],
) -> (String, Precedence) {
    (format!("{} {symbol} {}", args[0].at(left), args[1].at(right)), precedence)
}

/// A minus before an operand; a negative number prints differently from the negation of a number.
fn negation(a: &Text, number: bool) -> (String, Precedence) {
    let words = if number { format!("-({})", a.words) } else { format!("-{}", a.at(Precedence::Application)) };
    (words, Precedence::Negation)
}

fn sum(symbol: &str, args: &[Text]) -> (String, Precedence) {
    infix(symbol, Precedence::Sum, Precedence::Sum, Precedence::Product, args)
}

fn product(symbol: &str, args: &[Text]) -> (String, Precedence) {
    infix(symbol, Precedence::Product, Precedence::Product, Precedence::Negation, args)
}

fn binary(op: Binary, args: &[Text]) -> (String, Precedence) {
    match op.notation() {
        Notation::Sum(symbol) => sum(symbol, args),
        Notation::Product(symbol) => product(symbol, args),
        Notation::Function => application(op.name(), args),
    }
}

fn discrete(op: &Discrete, args: &[Text]) -> (String, Precedence) {
    match op {
        Discrete::Compare(op) => infix(op.name(), Precedence::Compare, Precedence::Sum, Precedence::Sum, args),
        Discrete::And => infix("and", Precedence::And, Precedence::And, Precedence::Compare, args),
        Discrete::Or => infix("or", Precedence::Or, Precedence::Or, Precedence::And, args),
        Discrete::IntBinary(IntBinary::Add) => sum("+", args),
        Discrete::IntBinary(IntBinary::Sub) => sum("-", args),
        Discrete::IntBinary(IntBinary::Mul) => product("*", args),
        Discrete::IntBinary(
            IntBinary::Quot
            | IntBinary::Rem
            | IntBinary::Min
            | IntBinary::Max
            | IntBinary::BitAnd
            | IntBinary::BitOr
            | IntBinary::BitXor
            | IntBinary::Shl
            | IntBinary::Shr
            | IntBinary::ShrSigned
            | IntBinary::Threefry,
        )
        | Discrete::Not
        | Discrete::FloatStep(_)
        | Discrete::IntUnary(_)
        | Discrete::ToInt
        | Discrete::ToFloat(_)
        | Discrete::ArgMax { .. }
        | Discrete::ArgMin { .. }
        | Discrete::ArgSort { .. }
        | Discrete::PrefixArg { .. }
        | Discrete::Iota { .. } => application(&op.to_string(), args),
    }
}
