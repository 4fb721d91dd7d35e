//! Programs in which loops share bodies.
//!
//! A body that several loops run is one program. What is made of it once for each of these loops grows exponentially where such
//! loops nest: `n` bodies of two loops each, which run the body before, are `2^n` loops. So what is asked of a body is kept
//! with it, walks over programs visit each once, and a program that would be very much larger without sharing
//! ([`Program::is_shared`]) is neither rewritten nor compiled loop by loop.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{Node, Op, Program};
use crate::cost::Estimate;

/// A question about the inputs of a program, given a mark for each of its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    /// Whether an operation sees the sign of zero of an input, if one outside sees that of the marked results.
    Signs,
    /// Whether the marked results depend on an input.
    Needs,
}

/// A mark for each result, or for each input.
type Marks = Vec<bool>;

/// What was asked of a program so far: it follows from the program, and is no part of it.
#[derive(Debug, Default)]
pub(super) struct Asked {
    inputs: Mutex<BTreeMap<(Question, Marks), Marks>>,
    pub(super) estimate: OnceLock<Estimate>,
    unrolled: OnceLock<usize>,
    unbounded: OnceLock<bool>,
    calls_host: OnceLock<bool>,
}

/// The programs that an operation runs: the body of a loop, or what a function computes, without its rules.
pub(crate) fn run_by<R>(op: &Op<R>) -> Option<&Program> {
    match op {
        Op::Loop(l) => Some(&l.body),
        Op::Custom(c, _) => Some(c.primal()),
        Op::Input(_) | Op::Constant(_) | Op::Unary(..) | Op::Binary(..) | Op::Discrete(..) | Op::Select(_) => None,
        Op::Linear(..) | Op::Contract(..) | Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) => None,
        Op::Concat(..) | Op::Call(..) | Op::Output(..) => None,
    }
}

/// All programs of an operation, with the rules of a function.
pub(crate) fn programs_of<R>(op: &Op<R>) -> impl Iterator<Item = &Program> {
    let body = if let Op::Loop(l) = op { Some(&l.body) } else { None };
    let custom = if let Op::Custom(c, _) = op { Some(c) } else { None };
    body.into_iter().chain(custom.into_iter().flat_map(|c| c.programs()))
}

impl Program {
    /// The program and those inside of it, each once, after those inside of it.
    pub(crate) fn distinct<'a, I: Iterator<Item = &'a Program>>(
        &'a self,
        inside: impl Fn(&'a Op<super::NodeId>) -> I,
    ) -> Vec<&'a Program> {
        let (mut found, mut known) = (Vec::new(), HashSet::from([self.class()]));
        let mut open = vec![(self, 0)];
        while let Some((program, at)) = open.pop() {
            let rest = program.nodes()[at..].iter().enumerate();
            let mut inner = rest.flat_map(|(k, node)| inside(&node.op).map(move |p| (at + k, p)));
            match inner.find(|(_, p)| known.insert(p.class())) {
                // An operation may have further programs.
                Some((k, inner)) => open.extend([(program, k), (inner, 0)]),
                None => found.push(program),
            }
        }
        found
    }

    /// An answer about the inputs, from those that were found before, or found now.
    pub(crate) fn answered(&self, question: Question, results: &[bool], find: impl FnOnce() -> Vec<bool>) -> Vec<bool> {
        let known = || self.inner.asked.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (question, results.to_vec());
        if let Some(inputs) = known().get(&key) {
            return inputs.clone();
        }
        let inputs = find();
        known().insert(key, inputs.clone());
        inputs
    }

    /// The number of operations if each loop had a body of its own.
    pub(crate) fn unrolled(&self) -> usize {
        let of = |node: &Node| run_by(&node.op).map_or(0, Program::unrolled);
        let all = || self.nodes().iter().map(of).fold(self.own_size(), usize::saturating_add);
        *self.inner.asked.unrolled.get_or_init(all)
    }

    /// Whether loops share bodies so much that what is done for each loop takes much longer than the program is long: without
    /// sharing it would have more than sixteen times as many operations, and many.
    pub(crate) fn is_shared(&self) -> bool {
        const MANY: usize = 1 << 14;
        self.unrolled() > MANY && (self.unrolled() - MANY) / 16 > self.size()
    }

    /// Whether the program runs a function without a bound.
    pub(super) fn is_unbounded(&self) -> bool {
        let of = |node: &Node| {
            if let Op::Custom(c, _) = &node.op {
                return c.is_unbounded();
            }
            run_by(&node.op).is_some_and(Program::is_unbounded)
        };
        *self.inner.asked.unbounded.get_or_init(|| self.nodes().iter().any(of))
    }

    /// Whether host code, not counting that in functions with rules, takes what depends on any input.
    pub(super) fn calls_host(&self) -> bool {
        *self.inner.asked.calls_host.get_or_init(|| self.calls_host_on(self.inputs().len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, Slot};
    use super::*;
    use crate::dtype::DType;
    use crate::shape::Shape;

    /// What was found before is the answer to the same question about the same results, and to no other one.
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
            assert_eq!(program.answered(*question, results, || unreachable!("it is known")), answer(*k));
        }
    }
}
