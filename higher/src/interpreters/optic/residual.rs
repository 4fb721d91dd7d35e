//! The reverse-mode optic functor on programs of wires, by its definition: residuals are wires.
//!
//! A program from `A` to `B` becomes two programs of wires: a way forward from `A` to `M * B`, and a way back from
//! `M * B'` to `A'`, where `M` is the residual. Both are programs of the same kind, so the functor applies to them
//! again. Law: the transform of a composition is the composition of transforms, as optics: their actions are equal.
//!
//! This is what [`strand`](super::strand) means, and how optics become programs of a lower order: in
//! [`act`](super::act), and as text. Each order makes the wires of residuals several times longer, so stages do not run
//! this way.

use super::diagram::{Casing, Diagram, Node, Rewiring, beside, both, cases, either, id, operation, then, wires};
use super::wired::written;

/// An optic of programs of wires.
#[derive(Clone)]
pub(super) struct Pair {
    /// The way forward, `A -> M * B`.
    pub(super) l: Diagram,
    /// The way back, `M * B' -> A'`.
    pub(super) r: Diagram,
}

/// An optic without a residual.
fn iso(there: Diagram, back: Diagram) -> Pair {
    Pair { l: then(there, wires(Rewiring::Intro)), r: then(wires(Rewiring::Elim), back) }
}

/// `A -> A * B`, with zero as second component.
fn beside_zero() -> Diagram {
    then(wires(Rewiring::Intro), then(beside(wires(Rewiring::Zero), id()), wires(Rewiring::Swap)))
}

/// `((a, b), (c, d)) -> ((a, c), (b, d))`.
fn exchange() -> Diagram {
    let swapped = then(wires(Rewiring::Unassoc), beside(wires(Rewiring::Swap), id()));
    let inner = then(swapped, wires(Rewiring::Assoc));
    then(then(wires(Rewiring::Assoc), beside(id(), inner)), wires(Rewiring::Unassoc))
}

/// The optic of a program of wires. An operation of numbers goes back by operations of the tables where `written` says
/// so, otherwise by its reverse derivative as one operation.
pub(super) fn optic(diagram: &Diagram, as_text: bool) -> Pair {
    match &**diagram {
        Node::Wires(rewiring) => iso(diagram.clone(), wires(rewiring.transposed())),
        Node::Cases(casing) => of_cases(*casing),
        // The residual is a pair of residuals.
        Node::Then(f, g) => {
            let (f, g) = (optic(f, as_text), optic(g, as_text));
            Pair {
                l: then(then(f.l, beside(id(), g.l)), wires(Rewiring::Unassoc)),
                r: then(then(wires(Rewiring::Assoc), beside(id(), g.r)), f.r),
            }
        }
        Node::Beside(f, g) => {
            let (f, g) = (optic(f, as_text), optic(g, as_text));
            Pair { l: then(beside(f.l, g.l), exchange()), r: then(exchange(), beside(f.r, g.r)) }
        }
        // Equation 9. The residual is that of the case that ran.
        Node::Either(f, g) => {
            let (f, g) = (optic(f, as_text), optic(g, as_text));
            Pair { l: then(either(f.l, g.l), cases(Casing::Split)), r: then(cases(Casing::Unsplit), either(f.r, g.r)) }
        }
        // The residual is the operand.
        Node::Operation(op) => {
            let back = op.pulled();
            let written = if as_text { written(&back) } else { None };
            Pair { l: both(id(), diagram.clone()), r: written.unwrap_or_else(|| operation(back)) }
        }
        Node::Sequence(sequence) => optic(&sequence.wires(), as_text),
    }
}

fn of_cases(casing: Casing) -> Pair {
    let there = cases(casing);
    match casing {
        // The policy of deletion: the way back gives zero for the condition.
        Casing::Branch => iso(there, then(cases(Casing::Join), beside_zero())),
        // Equation 10, with the smaller residual: the history alone, that is, the case that ran.
        Casing::Join => Pair { l: then(cases(Casing::Tagged), beside(id(), there)), r: cases(Casing::Inject) },
        Casing::Split => iso(there, cases(Casing::Unsplit)),
        Casing::Unsplit => iso(there, cases(Casing::Split)),
        Casing::Tagged => iso(there, then(beside(wires(Rewiring::Delete), id()), wires(Rewiring::Elim))),
        Casing::Inject => iso(there, then(cases(Casing::Join), then(beside_zero(), wires(Rewiring::Swap)))),
    }
}
