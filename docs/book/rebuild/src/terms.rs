//! Programs as data: a meaning that computes nothing, and remembers.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::language::Base;
use crate::linear::Linear;
use crate::values::{Array, Binary, Unary};

/// An operation on values that are named by an `R`.
#[derive(Clone, Debug, PartialEq)]
pub enum Op<R> {
    Input(usize),
    Constant(Array),
    Unary(Unary, R),
    Binary(Binary, R, R),
    Linear(Linear, R),
    Gather(R, R, usize),
    Scatter(R, R, usize),
}

impl<R> Op<R> {
    /// The operation on other names, in order.
    pub fn map<S>(&self, mut f: impl FnMut(&R) -> S) -> Op<S> {
        match self {
            Op::Input(k) => Op::Input(*k),
            Op::Constant(array) => Op::Constant(array.clone()),
            Op::Unary(op, x) => Op::Unary(*op, f(x)),
            Op::Binary(op, x, y) => Op::Binary(*op, f(x), f(y)),
            Op::Linear(op, x) => Op::Linear(op.clone(), f(x)),
            Op::Gather(x, at, rows) => Op::Gather(f(x), f(at), *rows),
            Op::Scatter(x, at, rows) => Op::Scatter(f(x), f(at), *rows),
        }
    }
}

/// A value that is not computed, but remembered: its operation on other terms.
#[derive(Clone, Debug)]
pub struct Ast(Rc<(u64, Vec<usize>, Op<Ast>)>);

impl Ast {
    pub fn new(shape: &[usize], op: Op<Ast>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ast(Rc::new((NEXT.fetch_add(1, Ordering::Relaxed), shape.to_vec(), op)))
    }
}

impl Base for Ast {
    fn constant(array: Array) -> Self {
        Ast::new(&array.shape.clone(), Op::Constant(array))
    }

    fn shape(&self) -> Vec<usize> {
        self.0.1.clone()
    }

    fn unary(&self, op: Unary) -> Self {
        Ast::new(&self.shape(), Op::Unary(op, self.clone()))
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let shapes = (self.shape(), other.shape());
        assert_eq!(shapes.0, shapes.1, "{op:?}: both shapes must be equal, but are {shapes:?}");
        Ast::new(&self.shape(), Op::Binary(op, self.clone(), other.clone()))
    }

    fn linear(&self, op: &Linear) -> Self {
        Ast::new(&op.into.shape, Op::Linear(op.clone(), self.clone()))
    }

    fn gather(&self, at: &Self, rows: usize) -> Self {
        Ast::new(&at.shape(), Op::Gather(self.clone(), at.clone(), rows))
    }

    fn scatter(&self, at: &Self, rows: usize, shape: &[usize]) -> Self {
        Ast::new(shape, Op::Scatter(self.clone(), at.clone(), rows))
    }
}

/// Operations in the order of a run, each with its shape; operands are positions of operations before it.
#[derive(Clone, Debug)]
pub struct Program {
    pub nodes: Vec<(Op<usize>, Vec<usize>)>,
    pub result: usize,
}

impl Program {
    /// The operations that a term needs: sorted by their numbers, they come after their operands.
    pub fn of(term: &Ast) -> Program {
        let (mut found, mut waiting) = (BTreeMap::new(), vec![term.clone()]);
        while let Some(term) = waiting.pop() {
            if found.insert(term.0.0, term.clone()).is_none() {
                term.0.2.map(|operand| waiting.push(operand.clone()));
            }
        }
        let place: BTreeMap<u64, usize> = found.keys().enumerate().map(|(k, id)| (*id, k)).collect();
        let node = |term: &Ast| (term.0.2.map(|operand| place[&operand.0.0]), term.shape());
        Program { result: place[&term.0.0], nodes: found.values().map(node).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_term_is_one_operation() {
        let x = Ast::new(&[], Op::Input(0));
        let y = (0..40).fold(x, |y, _| y.binary(Binary::Add, &y));
        assert_eq!(Program::of(&y).nodes.len(), 41);
    }
}
