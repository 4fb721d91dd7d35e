//! Runs of nested optics: a program of wires as its `2^n` stages; each does what the parts of the program do.
//!
//! A strand is one run. Its stage `k` goes forward through the program if `k` is even, and back if `k` is odd: so the
//! stages of a composition are the compositions of stages, and wires act in odd stages as their transposes. Residuals
//! are what a strand keeps from one stage to the next ("dP guide", section VII.B, the second encoding). Law: the stages
//! have the results of those that the definition of the nested functor gives (`residual`), in the same order; and the
//! stages of order `n` are the first half of those of order `n + 1`.

use std::rc::Rc;

use polygrad::base::BaseTensor;

use super::super::recursion::called;
use super::super::value::Val;
use super::diagram::{Casing, Diagram, Node, Rewiring, Sequence};
use super::operation::Operation;
use super::wired::without_branches;
use crate::Layout;
use crate::shared::Shared;

/// A program of wires that runs in stages.
pub(super) enum Strand<T: 'static> {
    Wires(Rewiring),
    /// Wires between cases, with the case that ran, which the first stage finds.
    Cases(Casing, Option<Case<T>>),
    Then(Vec<Strand<T>>),
    Beside(Box<[Strand<T>; 2]>),
    Either(Box<Arms<T>>),
    Operation(Ladder<T>),
    Sequence(Rc<Sequence>, Vec<Strand<T>>),
}

/// A case of a sum.
#[derive(Clone)]
pub(super) enum Case<T> {
    Left,
    Right,
    /// The left case where the mask holds.
    Unknown(T),
}

/// The programs of two cases; a program that runs is made when it does.
pub(super) struct Arms<T: 'static> {
    diagrams: [Diagram; 2],
    order: usize,
    case: Option<Case<T>>,
    strands: [Option<Strand<T>>; 2],
}

/// An operation at an order. Its way forward keeps the operand for the way back, and both are optics of one order less.
pub(super) enum Ladder<T: 'static> {
    Ground(Operation),
    Optic(Box<Rung<T>>),
}

/// Both ways of an operation.
pub(super) struct Rung<T: 'static> {
    there: Ladder<T>,
    /// The reverse derivative of the operation, and the order at which it runs.
    back: (Operation, usize),
    /// The operations of the reverse derivative, at the argument of its first stage.
    steps: Option<(Rc<Sequence>, Vec<Strand<T>>)>,
    /// The value that the last even stage has left for the next one: the operand, or the cotangent of it.
    kept: Val<T>,
}

impl<T: BaseTensor> Strand<T> {
    /// A run of a program as an optic of an order.
    pub(super) fn new(diagram: &Diagram, order: usize) -> Strand<T> {
        let _leave = called();
        match &**diagram {
            Node::Wires(rewiring) => Strand::Wires(*rewiring),
            Node::Cases(casing) => Strand::Cases(*casing, None),
            Node::Then(..) => {
                // A long composition is a list: neither making nor running it nests.
                let (mut parts, mut work) = (Vec::new(), vec![diagram]);
                while let Some(part) = work.pop() {
                    match &**part {
                        Node::Then(f, g) => work.extend([g, f]),
                        Node::Wires(Rewiring::Id) => {}
                        Node::Wires(_) | Node::Cases(_) | Node::Beside(..) => parts.push(Strand::new(part, order)),
                        Node::Either(..) | Node::Operation(_) | Node::Sequence(_) => {
                            parts.push(Strand::new(part, order));
                        }
                    }
                }
                Strand::Then(parts)
            }
            Node::Beside(f, g) => Strand::Beside(Box::new([Strand::new(f, order), Strand::new(g, order)])),
            Node::Either(f, g) => {
                let diagrams = [f.clone(), g.clone()];
                Strand::Either(Box::new(Arms { diagrams, order, case: None, strands: [None, None] }))
            }
            Node::Operation(op) => Strand::Operation(Ladder::new(op, order)),
            Node::Sequence(sequence) => Strand::Sequence(sequence.clone(), strands(sequence, order)),
        }
    }

    /// The output of a stage, from its input. Stages run in order; one that runs again replaces what it left.
    pub(super) fn turn(&mut self, stage: usize, x: Val<T>) -> Val<T> {
        let _leave = called();
        let forward = stage.is_multiple_of(2);
        match self {
            Strand::Wires(rewiring) => rewired(if forward { *rewiring } else { rewiring.transposed() }, x),
            Strand::Cases(casing, case) => {
                if stage == 0 {
                    *case = found(*casing, &x);
                }
                if forward { cased(*casing, case.as_ref(), x) } else { uncased(*casing, case.as_ref(), x) }
            }
            Strand::Then(parts) if forward => parts.iter_mut().fold(x, |x, part| part.turn(stage, x)),
            Strand::Then(parts) => parts.iter_mut().rev().fold(x, |x, part| part.turn(stage, x)),
            Strand::Beside(parts) => {
                let [f, g] = &mut **parts;
                let first = f.turn(stage, x.fst());
                Val::pair(first, g.turn(stage, x.snd()))
            }
            Strand::Either(arms) => arms.turn(stage, x),
            Strand::Operation(ladder) => ladder.turn(stage, x),
            Strand::Sequence(sequence, parts) => through(sequence, parts, stage, &x),
        }
    }
}

fn rewired<T: BaseTensor>(rewiring: Rewiring, x: Val<T>) -> Val<T> {
    match rewiring {
        Rewiring::Id => x,
        Rewiring::Swap => Val::pair(x.snd(), x.fst()),
        Rewiring::Assoc => Val::pair(x.fst().fst(), Val::pair(x.fst().snd(), x.snd())),
        Rewiring::Unassoc => Val::pair(Val::pair(x.fst(), x.snd().fst()), x.snd().snd()),
        Rewiring::Intro => Val::pair(Val::Nil, x),
        Rewiring::Elim => x.snd(),
        Rewiring::Copy => Val::pair(x.clone(), x),
        Rewiring::Add => x.fst().plus(x.snd()),
        Rewiring::Delete => Val::Nil,
        Rewiring::Zero => Val::Zero,
    }
}

/// The case that runs, from the input of the first stage; `None` for the zero of a sum, which has none.
fn found<T: BaseTensor>(casing: Casing, x: &Val<T>) -> Option<Case<T>> {
    match casing {
        Casing::Branch => case(&Val::choice(x.snd().leaf())),
        Casing::Unsplit => case(&x.fst()).or_else(|| case(&x.snd())),
        Casing::Inject => case(&x.fst()),
        Casing::Join | Casing::Split | Casing::Tagged => case(x),
    }
}

/// The case of a value of a sum.
fn case<T: BaseTensor>(x: &Val<T>) -> Option<Case<T>> {
    match x {
        Val::Left(_) => Some(Case::Left),
        Val::Right(_) => Some(Case::Right),
        Val::Either(parts) => Some(Case::Unknown(parts.0.clone())),
        Val::Zero | Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Fun(_) => None,
        Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => None,
    }
}

/// The values of the left and the right case.
fn parts<T: BaseTensor>(x: &Val<T>) -> [Val<T>; 2] {
    match x {
        Val::Left(v) | Val::Right(v) => [(**v).clone(), (**v).clone()],
        Val::Either(parts) => [parts.1.clone(), parts.2.clone()],
        Val::Zero | Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Fun(_) => [Val::Zero, Val::Zero],
        Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => [Val::Zero, Val::Zero],
    }
}

/// A value in a case; zero in the unknown case of the zero of a sum.
fn inside<T: BaseTensor>(case: Option<&Case<T>>, [left, right]: [Val<T>; 2]) -> Val<T> {
    match case {
        Some(Case::Left) => Val::Left(Shared::new(left)),
        Some(Case::Right) => Val::Right(Shared::new(right)),
        Some(Case::Unknown(mask)) => Val::Either(Shared::new((mask.clone(), left, right))),
        None => Val::Zero,
    }
}

/// The value of whichever case.
fn outside<T: BaseTensor>(x: &Val<T>) -> Val<T> {
    x.split(|a| a, |b| b)
}

/// Wires between cases, forward.
fn cased<T: BaseTensor>(casing: Casing, case: Option<&Case<T>>, x: Val<T>) -> Val<T> {
    match casing {
        Casing::Branch => inside(case, [x.fst(), x.fst()]),
        Casing::Join => outside(&x),
        Casing::Split => {
            let [left, right] = parts(&x);
            Val::pair(inside(case, [left.fst(), right.fst()]), inside(case, [left.snd(), right.snd()]))
        }
        Casing::Unsplit => {
            let ([a, c], [b, d]) = (parts(&x.fst()), parts(&x.snd()));
            inside(case, [Val::pair(a, b), Val::pair(c, d)])
        }
        Casing::Tagged => Val::pair(inside(case, [Val::Nil, Val::Nil]), x),
        Casing::Inject => inside(case, [x.snd(), x.snd()]),
    }
}

/// Wires between cases, back. The cotangent of a condition, and that of a tag, is zero.
fn uncased<T: BaseTensor>(casing: Casing, case: Option<&Case<T>>, x: Val<T>) -> Val<T> {
    match casing {
        Casing::Branch => Val::pair(outside(&x), Val::Zero),
        Casing::Join => inside(case, [x.clone(), x]),
        Casing::Split => cased(Casing::Unsplit, case, x),
        Casing::Unsplit => cased(Casing::Split, case, x),
        Casing::Tagged => x.snd(),
        Casing::Inject => Val::pair(Val::Zero, outside(&x)),
    }
}

impl<T: BaseTensor> Arms<T> {
    fn arm(&mut self, which: usize) -> &mut Strand<T> {
        let (diagram, order) = (&self.diagrams[which], self.order);
        self.strands[which].get_or_insert_with(|| Strand::new(diagram, order))
    }

    fn turn(&mut self, stage: usize, x: Val<T>) -> Val<T> {
        if stage == 0 {
            (self.case, self.strands) = (case(&x), [None, None]);
        }
        let [left, right] = parts(&x);
        let case = self.case.clone();
        let results = match &case {
            Some(Case::Left) => [self.arm(0).turn(stage, left), Val::Zero],
            Some(Case::Right) => [Val::Zero, self.arm(1).turn(stage, right)],
            Some(Case::Unknown(_)) => {
                let first = self.arm(0).turn(stage, left);
                [first, self.arm(1).turn(stage, right)]
            }
            None => [Val::Zero, Val::Zero],
        };
        inside(case.as_ref(), results)
    }
}

impl<T: BaseTensor> Ladder<T> {
    fn new(op: &Operation, order: usize) -> Ladder<T> {
        if order == 0 {
            return Ladder::Ground(op.clone());
        }
        let there = Ladder::new(op, order - 1);
        Ladder::Optic(Box::new(Rung { there, back: (op.pulled(), order - 1), steps: None, kept: Val::Zero }))
    }

    /// In pairs of stages, one way runs and then the other one: forward and back if the stages of lower order go
    /// forward, back and forward if they go back. The way forward is `l = (id, p)` after a copy, so its transpose adds.
    fn turn(&mut self, stage: usize, x: Val<T>) -> Val<T> {
        let rung = match self {
            Ladder::Ground(op) => return op.run(&x),
            Ladder::Optic(rung) => rung,
        };
        let below = stage / 2;
        match (below.is_multiple_of(2), stage.is_multiple_of(2)) {
            (true, true) => {
                rung.kept = x.clone();
                rung.there.turn(below, x)
            }
            (true, false) => {
                let both = Val::pair(rung.kept.clone(), x);
                rung.back(below, both)
            }
            (false, true) => {
                let both = rung.back(below, x);
                rung.kept = both.fst();
                both.snd()
            }
            (false, false) => rung.kept.clone().plus(rung.there.turn(below, x)),
        }
    }
}

impl<T: BaseTensor> Rung<T> {
    /// A stage of the way back. At an order, the reverse derivative runs an operation at a time, so that its stages share
    /// the values between them; and where parts of the argument are zero, so that what they only make zeros of does not run.
    fn back(&mut self, stage: usize, x: Val<T>) -> Val<T> {
        let (op, order) = &self.back;
        if *order == 0 && op.is_full(&x) {
            return op.run(&x);
        }
        if stage == 0 {
            let sequence = op.sequence(&x, without_branches);
            let parts = strands(&sequence, *order);
            self.steps = Some((sequence, parts));
        }
        let (sequence, parts) = self.steps.as_mut().expect("the first stage runs first");
        through(sequence, parts, stage, &x).without_units()
    }
}

/// The operations of a recorded program, at an order.
fn strands<T: BaseTensor>(sequence: &Sequence, order: usize) -> Vec<Strand<T>> {
    sequence.steps.iter().map(|step| Strand::new(&step.run, order)).collect()
}

/// The values at the leaves of a layout.
fn leaves<T: BaseTensor>(layout: &Layout, x: &Val<T>, into: &mut Vec<Val<T>>) {
    match layout {
        Layout::Unit => {}
        Layout::Leaf(..) => into.push(x.clone()),
        Layout::Pair(a, b) => {
            leaves(a, &x.fst(), into);
            leaves(b, &x.snd(), into);
        }
    }
}

/// The value of a layout with these leaves.
fn tree<T: BaseTensor>(layout: &Layout, leaves: &mut dyn Iterator<Item = Val<T>>) -> Val<T> {
    match layout {
        Layout::Unit => Val::Nil,
        Layout::Leaf(..) => leaves.next().unwrap_or(Val::Zero),
        Layout::Pair(a, b) => {
            let first = tree(a, leaves);
            Val::pair(first, tree(b, leaves))
        }
    }
}

/// Values as a list.
fn listed<T: BaseTensor>(mut values: Vec<Val<T>>) -> Val<T> {
    let Some(last) = values.pop() else { return Val::Nil };
    values.into_iter().rev().fold(last, |rest, first| Val::pair(first, rest))
}

/// The values of a list.
fn unlisted<T: BaseTensor>(mut list: Val<T>, count: usize) -> Vec<Val<T>> {
    let mut values = Vec::with_capacity(count);
    for k in 0..count {
        let last = k + 1 == count;
        values.push(if last { list.clone() } else { list.fst() });
        if !last {
            list = list.snd();
        }
    }
    values
}

/// A stage of a recorded program: its operations in order, or back with cotangents that are added up.
fn through<T: BaseTensor>(sequence: &Sequence, parts: &mut [Strand<T>], stage: usize, x: &Val<T>) -> Val<T> {
    let mut values = Vec::with_capacity(sequence.count);
    let steps = sequence.steps.iter().zip(parts);
    if stage.is_multiple_of(2) {
        leaves(&sequence.from, x, &mut values);
        for (step, part) in steps {
            let operands = step.operands.iter().map(|k| values[*k].clone()).collect();
            let results = part.turn(stage, listed(operands));
            values.extend(unlisted(results, step.results.len()));
        }
        return tree(&sequence.to, &mut sequence.results.iter().map(|k| k.map_or(Val::Zero, |k| values[k].clone())));
    }
    values.resize_with(sequence.count, || Val::Zero);
    let add = |values: &mut Vec<Val<T>>, k: usize, v: Val<T>| {
        let so_far = std::mem::replace(&mut values[k], Val::Zero);
        values[k] = so_far.plus(v);
    };
    let mut of_results = Vec::new();
    leaves(&sequence.to, x, &mut of_results);
    for (k, v) in sequence.results.iter().zip(of_results) {
        if let Some(k) = k {
            add(&mut values, *k, v);
        }
    }
    for (step, part) in steps.rev() {
        let results = values[step.results.clone()].to_vec();
        let operands = part.turn(stage, listed(results));
        for (k, v) in step.operands.iter().zip(unlisted(operands, step.operands.len())) {
            add(&mut values, *k, v);
        }
    }
    tree(&sequence.from, &mut values.into_iter())
}
