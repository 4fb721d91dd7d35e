//! The text of a program of wires, as combinators of the higher-order language.
//!
//! Law: the text has the values of the program.

use super::super::syntax::{Code, Syntax};
use super::diagram::{Casing, Diagram, Node, Rewiring};
use super::wired::written;
use crate::{Ccc, Language, Obj, Target, Unit};

/// The type of all values, where types are erased.
type Any = Unit;

type Text = Code<Any, Any>;

/// The text of a program. An operation of numbers that is a reverse derivative is written out.
pub(super) fn code<A: Obj, B: Obj>(diagram: &Diagram) -> Code<A, B> {
    any(diagram).retyped()
}

fn any(diagram: &Diagram) -> Text {
    match &**diagram {
        Node::Wires(rewiring) => rewired(*rewiring),
        Node::Cases(casing) => cased(*casing),
        Node::Then(f, g) => Syntax::then(any(f), any(g)),
        Node::Beside(f, g) => paired(Syntax::then(first(), any(f)), Syntax::then(second(), any(g))),
        Node::Either(f, g) => cases(Syntax::then(any(f), left()), Syntax::then(any(g), right())),
        Node::Operation(op) if op.stars() > 0 => written(op).map_or_else(|| Code::of_primitive(op.text()), |w| any(&w)),
        Node::Operation(op) => Code::of_primitive(op.text()),
        Node::Sequence(sequence) => any(&sequence.wires()),
    }
}

fn first() -> Text {
    Syntax::fst::<Any, Any>().retyped()
}

fn second() -> Text {
    Syntax::snd::<Any, Any>().retyped()
}

fn paired(f: Text, g: Text) -> Text {
    Syntax::pair(f, g).retyped()
}

fn left() -> Text {
    Syntax::inl::<Any, Any>().retyped()
}

fn right() -> Text {
    Syntax::inr::<Any, Any>().retyped()
}

/// A program for each case of the second component, in the context of the first.
fn chosen(left: Text, right: Text) -> Text {
    Syntax::case::<Any, Any, Any, Any>(left.retyped(), right.retyped()).retyped()
}

/// A program for each case.
fn cases(left: Text, right: Text) -> Text {
    let of = |f| Syntax::then(second(), f);
    Syntax::then(paired(Syntax::unit(), Syntax::id()), chosen(of(left), of(right)))
}

fn rewired(rewiring: Rewiring) -> Text {
    match rewiring {
        Rewiring::Id => Syntax::id(),
        Rewiring::Swap => paired(second(), first()),
        Rewiring::Assoc => {
            let middle = Syntax::then(first(), second());
            paired(Syntax::then(first(), first()), paired(middle, second()))
        }
        Rewiring::Unassoc => {
            let middle = Syntax::then(second(), first());
            paired(paired(first(), middle), Syntax::then(second(), second()))
        }
        Rewiring::Intro => paired(Syntax::unit(), Syntax::id()),
        Rewiring::Elim => second(),
        Rewiring::Copy => paired(Syntax::id(), Syntax::id()),
        Rewiring::Add => Syntax::plus(first(), second()),
        Rewiring::Delete => Syntax::unit(),
        Rewiring::Zero => Syntax::zero(),
    }
}

fn cased(casing: Casing) -> Text {
    let at_first = |case| Syntax::then(first(), case);
    match casing {
        Casing::Branch => {
            let which = Syntax::then(second(), Syntax::test().retyped());
            Syntax::then(paired(first(), which), chosen(at_first(left()), at_first(right())))
        }
        Casing::Join => cases(Syntax::id(), Syntax::id()),
        Casing::Split => {
            let of = |case: fn() -> Text| paired(Syntax::then(first(), case()), Syntax::then(second(), case()));
            cases(of(left), of(right))
        }
        // One of the two values may be the zero of a sum, which has no case: the case is that of the other value.
        Casing::Unsplit => {
            let with_zero = |case| Syntax::then(paired(Syntax::id(), Syntax::zero()), case);
            let after_zero = |case| Syntax::then(paired(Syntax::zero(), Syntax::id()), case);
            Syntax::plus(
                Syntax::then(first(), cases(with_zero(left()), with_zero(right()))),
                Syntax::then(second(), cases(after_zero(left()), after_zero(right()))),
            )
        }
        Casing::Tagged => {
            let of = |case: fn() -> Text| paired(Syntax::then(Syntax::unit(), case()), case());
            cases(of(left), of(right))
        }
        Casing::Inject => Syntax::then(paired(second(), first()), chosen(at_first(left()), at_first(right()))),
    }
}
