//! Programs of wires as data: the free category; every instance of [`Wiring`](super::Wiring) is a reading of it.
//!
//! A diagram has no types; the typed surface ensures that parts fit. Laws: a [`Rewiring`] has another one as its
//! [transpose](Rewiring::transposed); a [`Sequence`] means what its [wires](Sequence::wires) mean.

use std::rc::Rc;

use super::operation::Operation;
use crate::Layout;
use crate::shared::Shared;

/// A program of wires, which shares its parts.
pub(super) type Diagram = Shared<Node>;

/// A program of wires.
pub(super) enum Node {
    /// Wires, without an operation.
    Wires(Rewiring),
    /// Wires between cases.
    Cases(Casing),
    /// One program, then the other.
    Then(Diagram, Diagram),
    /// One program on each component of a pair.
    Beside(Diagram, Diagram),
    /// One program for each case.
    Either(Diagram, Diagram),
    /// A first-order operation.
    Operation(Operation),
    /// A recorded program.
    Sequence(Rc<Sequence>),
}

/// What moves, copies, adds and deletes values: methods of [`Monoidal`](crate::Monoidal) without parameters.
///
/// Closed: these are the wires of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rewiring {
    Id,
    Swap,
    Assoc,
    Unassoc,
    Intro,
    Elim,
    Copy,
    Add,
    Delete,
    Zero,
}

impl Rewiring {
    /// The wires that go back.
    pub(super) fn transposed(self) -> Rewiring {
        match self {
            Rewiring::Id => Rewiring::Id,
            Rewiring::Swap => Rewiring::Swap,
            Rewiring::Assoc => Rewiring::Unassoc,
            Rewiring::Unassoc => Rewiring::Assoc,
            Rewiring::Intro => Rewiring::Elim,
            Rewiring::Elim => Rewiring::Intro,
            Rewiring::Copy => Rewiring::Add,
            Rewiring::Add => Rewiring::Copy,
            Rewiring::Delete => Rewiring::Zero,
            Rewiring::Zero => Rewiring::Delete,
        }
    }
}

/// What treats cases: the other methods of [`Monoidal`](crate::Monoidal) without parameters, and two that their
/// optics need.
///
/// Closed: these are the wires of the language between cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Casing {
    Branch,
    Join,
    Split,
    Unsplit,
    /// Adds the case of a sum as first component: `A + B -> (1 + 1) * (A + B)`.
    Tagged,
    /// The value as the case of another value of a sum: `(1 + 1) * A -> A + A`.
    Inject,
}

/// A recorded program: operations on numbered values, each computed once. Inputs come first.
pub(super) struct Sequence {
    /// The type of the argument, whose leaves are the first values.
    pub(super) from: Layout,
    /// The type of the result.
    pub(super) to: Layout,
    /// The operations, in order, with the numbers of their operands and of their results.
    pub(super) steps: Vec<Application>,
    /// The number of the value at each leaf of the result; `None` for zero.
    pub(super) results: Vec<Option<usize>>,
    /// The number of values.
    pub(super) count: usize,
}

/// One operation of a [`Sequence`].
pub(super) struct Application {
    /// The operation, from the list of its operands to that of its results.
    pub(super) run: Diagram,
    pub(super) operands: Vec<usize>,
    /// The numbers of its results, which follow each other.
    pub(super) results: std::ops::Range<usize>,
}

pub(super) fn wires(rewiring: Rewiring) -> Diagram {
    Shared::new(Node::Wires(rewiring))
}

pub(super) fn cases(casing: Casing) -> Diagram {
    Shared::new(Node::Cases(casing))
}

pub(super) fn id() -> Diagram {
    wires(Rewiring::Id)
}

pub(super) fn then(f: Diagram, g: Diagram) -> Diagram {
    Shared::new(Node::Then(f, g))
}

pub(super) fn beside(f: Diagram, g: Diagram) -> Diagram {
    Shared::new(Node::Beside(f, g))
}

pub(super) fn either(f: Diagram, g: Diagram) -> Diagram {
    Shared::new(Node::Either(f, g))
}

pub(super) fn operation(op: Operation) -> Diagram {
    Shared::new(Node::Operation(op))
}

pub(super) fn sequence(sequence: Sequence) -> Diagram {
    Shared::new(Node::Sequence(Rc::new(sequence)))
}

/// A copy, and a program on each of both.
pub(super) fn both(f: Diagram, g: Diagram) -> Diagram {
    then(wires(Rewiring::Copy), beside(f, g))
}

/// The first component of a pair.
pub(super) fn first() -> Diagram {
    then(then(beside(id(), wires(Rewiring::Delete)), wires(Rewiring::Swap)), wires(Rewiring::Elim))
}

/// The second component of a pair.
pub(super) fn second() -> Diagram {
    then(beside(wires(Rewiring::Delete), id()), wires(Rewiring::Elim))
}

/// The layout of a list: pairs nested to the right.
pub(super) fn list(mut layouts: Vec<Layout>) -> Layout {
    let Some(last) = layouts.pop() else { return Layout::Unit };
    layouts.into_iter().rev().fold(last, |rest, first| Layout::Pair(Box::new(first), Box::new(rest)))
}

/// A list of the results of programs in one context.
fn listed(mut parts: Vec<Diagram>) -> Diagram {
    let Some(last) = parts.pop() else { return wires(Rewiring::Delete) };
    parts.into_iter().rev().fold(last, |rest, first| both(first, rest))
}

/// The paths to the leaves of a layout.
fn paths(layout: &Layout, to_here: &Diagram, into: &mut Vec<Diagram>) {
    match layout {
        Layout::Unit => {}
        Layout::Leaf(..) => into.push(to_here.clone()),
        Layout::Pair(a, b) => {
            paths(a, &then(to_here.clone(), first()), into);
            paths(b, &then(to_here.clone(), second()), into);
        }
    }
}

/// A value of a layout, from its leaves in one context.
fn tree(layout: &Layout, leaves: &mut dyn Iterator<Item = Diagram>) -> Diagram {
    match layout {
        Layout::Unit => wires(Rewiring::Delete),
        Layout::Leaf(..) => leaves.next().expect("a value for each leaf"),
        Layout::Pair(a, b) => {
            let left = tree(a, leaves);
            both(left, tree(b, leaves))
        }
    }
}

impl Sequence {
    /// The same program as wires. The context of an operation is `((x, v), w)`: the argument, and the results of all
    /// operations so far.
    pub(super) fn wires(&self) -> Diagram {
        let mut inputs = Vec::new();
        paths(&self.from, &id(), &mut inputs);
        let mut so_far = id();
        for (depth, step) in self.steps.iter().enumerate() {
            let operands = step.operands.iter().map(|k| self.read(&inputs, depth, *k)).collect();
            so_far = then(so_far, both(id(), then(listed(operands), step.run.clone())));
        }
        let zero = || then(wires(Rewiring::Delete), wires(Rewiring::Zero));
        let read = |k: &Option<usize>| k.map_or_else(zero, |k| self.read(&inputs, self.steps.len(), k));
        then(so_far, tree(&self.to, &mut self.results.iter().map(read)))
    }

    /// A value in the context after `depth` operations.
    fn read(&self, inputs: &[Diagram], depth: usize, value: usize) -> Diagram {
        let back = |count: usize| (0..count).fold(id(), |path, _| then(path, first()));
        if let Some(path) = inputs.get(value) {
            return then(back(depth), path.clone());
        }
        let made = self.steps.iter().position(|step| step.results.contains(&value)).expect("values are made once");
        let (results, at) = (&self.steps[made].results, value - self.steps[made].results.start);
        let mut path = then(back(depth - made - 1), second());
        for _ in 0..at {
            path = then(path, second());
        }
        if at + 1 < results.len() { then(path, first()) } else { path }
    }
}
