//! Shared bodies: questions and traversals that visit each distinct program once.
//!
//! A body that several loops run is one program. Work that is done for each loop grows exponentially if such loops
//! nest: with `n` bodies, each of two loops that run the body before, there are `2^n` loops. So answers about a body
//! are cached with the body, traversals visit each distinct program once, and a program that would be much larger
//! without sharing ([`Program::is_shared`]) is neither rewritten nor compiled loop by loop.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{Custom, CustomKind, Node, NodeId, Op, OpClass, Program};
use crate::cost::Estimate;

/// A question about the inputs of a program, given a mark for each of its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    /// Whether an operation sees the sign of zero of an input, if operations outside see those of the marked results.
    Signs,
    /// Whether the marked results depend on an input.
    Needs,
}

/// A mark for each result, or for each input.
type Marks = Vec<bool>;

/// Cached answers to questions about a program: they follow from the program, and are not part of its equality.
#[derive(Debug, Default)]
pub(super) struct Asked {
    inputs: Mutex<BTreeMap<(Question, Marks), Marks>>,
    pub(super) estimate: OnceLock<Estimate>,
    unrolled: OnceLock<usize>,
    unbounded: OnceLock<bool>,
    calls_host: OnceLock<bool>,
    taps: OnceLock<bool>,
}

/// The program that an operation runs: the body of a loop, or the primal program of a function, without its rules.
pub(crate) fn run_by<R>(op: &Op<R>) -> Option<&Program> {
    match op.class() {
        OpClass::Loop(l) => Some(&l.body),
        OpClass::Custom(c, _) => Some(c.primal()),
        OpClass::Input(_) | OpClass::Constant(_) | OpClass::Output(..) => None,
        OpClass::Single(_) | OpClass::Call(..) => None,
    }
}

/// The program that an operation runs as a part of the program around it: the body of a loop, or the program of a
/// checkpointed function.
pub(crate) fn part_of<R>(op: &Op<R>) -> Option<&Program> {
    run_by(op).filter(|_| !matches!(op, Op::Custom(c, _) if !c.is_checkpointed()))
}

/// All programs of an operation, the rules of a function included.
pub(crate) fn programs_of<R>(op: &Op<R>) -> impl Iterator<Item = &Program> {
    let body = if let Op::Loop(l) = op { Some(&l.body) } else { None };
    let custom = if let Op::Custom(c, _) = op { Some(c) } else { None };
    body.into_iter().chain(custom.into_iter().flat_map(|c| c.programs()))
}

impl Program {
    /// The program and the programs inside it, each once, inner programs before outer ones.
    pub(crate) fn distinct<'a, I: Iterator<Item = &'a Program>>(
        &'a self,
        inside: impl Fn(&'a Op<NodeId>) -> I,
    ) -> Vec<&'a Program> {
        let (mut found, mut known) = (Vec::new(), HashSet::from([self.class()]));
        let mut open = vec![(self, 0)];
        while let Some((program, at)) = open.pop() {
            let rest = program.nodes()[at..].iter().enumerate();
            let mut inner = rest.flat_map(|(k, node)| inside(&node.op).map(move |p| (at + k, p)));
            match inner.find(|(_, p)| known.insert(p.class())) {
                // The search resumes at the same operation, which may have further programs.
                Some((k, inner)) => open.extend([(program, k), (inner, 0)]),
                None => found.push(program),
            }
        }
        found
    }

    /// The operations of the program and of the programs inside it, in pre-order: each operation comes before those
    /// that it runs. Each program is entered once, however many operations run it. `inside` says which programs of an
    /// operation are entered: [`run_by`], [`part_of`], [`programs_of`], or a choice among these.
    pub(crate) fn operations<'a, I: IntoIterator<Item = &'a Program>>(
        &'a self,
        inside: impl Fn(&'a Op<NodeId>) -> I,
    ) -> impl Iterator<Item = &'a Op<NodeId>> {
        let mut known = HashSet::from([self.class()]);
        let mut open = vec![self.nodes().iter()];
        std::iter::from_fn(move || {
            loop {
                let Some(node) = open.last_mut()?.next() else {
                    open.pop();
                    continue;
                };
                let new = inside(&node.op).into_iter().filter(|program| known.insert(program.class()));
                let first = open.len();
                open.extend(new.map(|program| program.nodes().iter()));
                open[first..].reverse();
                return Some(&node.op);
            }
        })
    }

    /// The answer to a question about the inputs, given marks of the results: from the cache, or computed by `find`.
    pub(crate) fn answered(&self, question: Question, results: &[bool], find: impl FnOnce() -> Vec<bool>) -> Vec<bool> {
        let known = || self.inner.code.asked.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (question, results.to_vec());
        if let Some(inputs) = known().get(&key) {
            return inputs.clone();
        }
        let inputs = find();
        known().insert(key, inputs.clone());
        inputs
    }

    /// The number of operations if loops shared no body.
    pub(crate) fn unrolled(&self) -> usize {
        let of = |node: &Node| run_by(&node.op).map_or(0, Program::unrolled);
        let all = || self.nodes().iter().map(of).fold(self.own_size(), usize::saturating_add);
        *self.inner.code.asked.unrolled.get_or_init(all)
    }

    /// Whether work for each loop would take much longer than work for each distinct program: without sharing, there
    /// would be more than `2^14 + 16 s` operations, where `s` is the [size](Program::size).
    pub(crate) fn is_shared(&self) -> bool {
        const MANY: usize = 1 << 14;
        self.unrolled() > MANY && (self.unrolled() - MANY) / 16 > self.size()
    }

    /// Whether the program runs a while loop without a bound. The loops of a transposed one end where the loop does.
    pub(crate) fn is_unbounded(&self) -> bool {
        let transposed = |op: &Op<NodeId>| matches!(op, Op::Custom(c, _) if c.transposed_while().is_some());
        let has_no_bound = |c: &Custom| match c.transposed_while() {
            Some(parts) => parts.most().is_none(),
            None => *c.kind() == CustomKind::While { most: None },
        };
        let find = || {
            let mut all = self.operations(|op| run_by(op).filter(|_| !transposed(op)));
            all.any(|op| matches!(op, Op::Custom(c, _) if has_no_bound(c)))
        };
        *self.inner.code.asked.unbounded.get_or_init(find)
    }

    /// Whether the program has taps: the cached answer, or that of `find`.
    pub(super) fn asked_for_taps(&self, find: impl FnOnce() -> bool) -> bool {
        *self.inner.code.asked.taps.get_or_init(find)
    }

    /// Whether host code outside functions with rules may get a value that depends on an input.
    pub(super) fn calls_host(&self) -> bool {
        *self.inner.code.asked.calls_host.get_or_init(|| self.calls_host_on(self.inputs().len()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Builder, Custom, Loop, Slot};
    use super::*;
    use crate::dtype::DType;
    use crate::ops::Unary;
    use crate::shape::Shape;

    fn number() -> Slot {
        Slot { name: String::new(), shape: Shape::new(), dtype: DType::F64 }
    }

    /// A program from a scalar to a scalar: these operations, one after the other.
    fn chain(operations: &[&dyn Fn(NodeId) -> Op<NodeId>]) -> Program {
        let mut b = Builder::literal();
        let mut x = b.input(number());
        for operation in operations {
            let operation = operation(x);
            let several = matches!(operation, Op::Loop(_) | Op::Custom(..));
            x = b.apply(operation);
            if several {
                x = b.apply(Op::Output(x, 0));
            }
        }
        b.finish(&[x], &[])
    }

    fn looped(n: usize, body: &Program) -> impl Fn(NodeId) -> Op<NodeId> + use<> {
        let body = body.clone();
        move |x| {
            let (init, xs, captured) = (vec![x], vec![], vec![]);
            Op::Loop(Box::new(Loop { n, reverse: false, body: body.clone(), init, xs, captured }))
        }
    }

    fn applied(custom: Custom) -> impl Fn(NodeId) -> Op<NodeId> {
        let custom = Arc::new(custom);
        move |x| Op::Custom(custom.clone(), vec![x])
    }

    fn unary(op: Unary) -> impl Fn(NodeId) -> Op<NodeId> {
        move |x| Op::Unary(op, x)
    }

    /// The elementwise functions of one argument among these operations, in order.
    fn unaries<'a>(operations: impl Iterator<Item = &'a Op<NodeId>>) -> Vec<Unary> {
        operations.filter_map(|op| if let Op::Unary(op, _) = op { Some(*op) } else { None }).collect()
    }

    /// An operation comes before those that it runs, and these come before the next one; a shared body comes once.
    #[test]
    fn operations_are_listed_in_order_and_once() {
        let body = chain(&[&unary(Unary::Sin)]);
        let whole = chain(&[
            &unary(Unary::Exp),
            &looped(2, &chain(&[&looped(3, &body), &unary(Unary::Cos)])),
            &unary(Unary::Tanh),
            &looped(4, &body),
            &unary(Unary::Sqrt),
        ]);
        let expected = [Unary::Exp, Unary::Sin, Unary::Cos, Unary::Tanh, Unary::Sqrt];
        assert_eq!(unaries(whole.operations(run_by)), expected);
        assert_eq!(unaries(whole.operations(|_| None)), [Unary::Exp, Unary::Tanh, Unary::Sqrt]);
    }

    /// `inside` decides which programs of a function are entered.
    #[test]
    fn the_programs_of_a_function_are_entered_as_asked() {
        let mut b = Builder::literal();
        let [_, _, moved] = [(); 3].map(|()| b.input(number()));
        let rule = b.apply(Op::Unary(Unary::Cos, moved));
        let rule = b.finish(&[rule], &[]);
        let ruled = Custom::new("ruled", chain(&[&unary(Unary::Sin)]), Some(rule), None).expect("a rule that fits");
        let again = Custom::checkpointed("again", chain(&[&unary(Unary::Exp)]));
        let whole = chain(&[&applied(ruled), &applied(again)]);
        assert_eq!(unaries(whole.operations(run_by)), [Unary::Sin, Unary::Exp]);
        assert_eq!(unaries(whole.operations(part_of)), [Unary::Exp]);
        assert_eq!(unaries(whole.operations(programs_of)), [Unary::Sin, Unary::Cos, Unary::Exp]);
    }

    /// In a nest of `2^20` loops with shared bodies, each body is entered once.
    #[test]
    fn shared_bodies_are_entered_once() {
        let mut body = chain(&[&unary(Unary::Sin)]);
        for _ in 0..20 {
            body = chain(&[&looped(2, &body), &looped(3, &body)]);
        }
        // An input, two loops and their results for each body; an input and an operation for the innermost.
        assert_eq!(body.operations(run_by).count(), 20 * 5 + 2);
    }

    /// A cached answer is given for the same question about the same results, and for no other.
    #[test]
    fn answers_are_kept_by_question_and_results() {
        let mut b = Builder::literal();
        let inputs = [(); 2].map(|()| b.input(Slot { name: String::new(), shape: Shape::new(), dtype: DType::F64 }));
        let program = b.finish(&inputs, &[]);
        let marks = [[true, false], [false, true], [true, true], [false, false]];
        let questions = [Question::Signs, Question::Needs].into_iter().flat_map(|q| marks.map(|results| (q, results)));
        let all: Vec<(usize, (Question, [bool; 2]))> = questions.enumerate().collect();
        let answer = |k: usize| vec![k & 1 == 0, k & 2 == 0, k & 4 == 0];
        for (k, (question, results)) in &all {
            assert_eq!(program.answered(*question, results, || answer(*k)), answer(*k));
        }
        for (k, (question, results)) in &all {
            assert_eq!(program.answered(*question, results, Vec::new), answer(*k));
        }
    }
}
