//! Rules: equations between programs, equal operations made one, and what nobody needs left out.

use std::collections::BTreeMap;

use crate::language::Base;
use crate::terms::{Op, Program};
use crate::values::{Array, Binary, Unary};

/// What a rule makes of an operation: a value that is there, or another operation.
enum Found {
    Value(usize),
    Op(Op<usize>),
}

/// A program while it is rewritten, from operands to results.
#[derive(Default)]
struct Rewriting {
    nodes: Vec<(Op<usize>, Vec<usize>)>,
    /// Each operation that is there, by its text.
    known: BTreeMap<String, usize>,
}

/// An equation, as a reader writes it, and what applies it from left to right.
type Rule = (&'static str, fn(&Rewriting, &Op<usize>) -> Option<Found>);

/// Each rule is exact: no bit of a result changes, whatever the numbers are. `0 * x = 0` is not exact: `x` may be infinite.
const RULES: &[Rule] = &[
    ("an operation on constants is a constant", |p, op| {
        let run = |k: &usize| p.constant(*k).filter(|array| array.data.len() <= 16).cloned();
        match op {
            Op::Unary(op, x) => Some(Found::Op(Op::Constant(run(x)?.unary(*op)))),
            Op::Binary(op, x, y) => Some(Found::Op(Op::Constant(run(x)?.binary(*op, &run(y)?)))),
            Op::Linear(op, x) if op.into.shape.is_empty() => Some(Found::Op(Op::Constant(run(x)?.linear(op)))),
            _ => None,
        }
    }),
    ("1 x = x", |p, op| match op {
        Op::Binary(Binary::Mul, x, y) if p.is_one(*y) => Some(Found::Value(*x)),
        Op::Binary(Binary::Mul, x, y) if p.is_one(*x) => Some(Found::Value(*y)),
        _ => None,
    }),
    ("-(-x) = x", |p, op| match op {
        Op::Unary(Unary::Neg, x) => p.negated(*x).map(Found::Value),
        _ => None,
    }),
    ("(-x) (-y) = x y", |p, op| match op {
        Op::Binary(Binary::Mul, x, y) => Some(Found::Op(Op::Binary(Binary::Mul, p.negated(*x)?, p.negated(*y)?))),
        _ => None,
    }),
    ("y x = x y", |_, op| match op {
        Op::Binary(op, x, y) if x > y => Some(Found::Op(Op::Binary(*op, *y, *x))),
        _ => None,
    }),
    ("a view of all elements as they are can be left out", |_, op| match op {
        Op::Linear(op, x) if op.from == op.into => Some(Found::Value(*x)),
        _ => None,
    }),
];

impl Rewriting {
    fn constant(&self, k: usize) -> Option<&Array> {
        match &self.nodes[k].0 {
            Op::Constant(array) => Some(array),
            _ => None,
        }
    }

    /// Whether all elements are 1; a view of ones that keeps each element apart has ones.
    fn is_one(&self, k: usize) -> bool {
        match &self.nodes[k].0 {
            Op::Linear(op, x) if op.from.strides == [0] && op.into.strides == [1] => self.is_one(*x),
            _ => self.constant(k).is_some_and(|array| array.data.iter().all(|x| *x == 1.0)),
        }
    }

    fn negated(&self, k: usize) -> Option<usize> {
        match &self.nodes[k].0 {
            Op::Unary(Unary::Neg, x) => Some(*x),
            _ => None,
        }
    }

    /// The value of an operation: rules apply until none does, and an operation that is there is not added again.
    fn add(&mut self, mut op: Op<usize>, shape: &[usize]) -> usize {
        while let Some(found) = RULES.iter().find_map(|(_, rule)| rule(self, &op)) {
            match found {
                Found::Value(k) => return k,
                Found::Op(new) => op = new,
            }
        }
        let key = format!("{op:?} {shape:?}");
        *self.known.entry(key).or_insert_with(|| {
            self.nodes.push((op, shape.to_vec()));
            self.nodes.len() - 1
        })
    }
}

/// The program after all rules, without what its result does not need.
pub fn simplify(program: &Program) -> Program {
    let (mut new, mut place) = (Rewriting::default(), Vec::new());
    for (op, shape) in &program.nodes {
        let k = new.add(op.map(|operand| place[*operand]), shape);
        place.push(k);
    }
    let result = place[program.result];
    let mut live = vec![false; new.nodes.len()];
    live[result] = true;
    for (k, (op, _)) in new.nodes.iter().enumerate().rev().filter(|(k, _)| *k <= result) {
        if live[k] {
            op.map(|operand| live[*operand] = true);
        }
    }
    let place: Vec<usize> =
        live.iter().scan(0, |n, live| Some(std::mem::replace(n, *n + usize::from(*live)))).collect();
    let kept = new.nodes.iter().zip(&live).filter(|(_, live)| **live);
    let nodes = kept.map(|((op, shape), _)| (op.map(|operand| place[*operand]), shape.clone())).collect();
    Program { nodes, result: place[result] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::gradient;
    use crate::surface::tensor;
    use crate::verbs::random::Recipe;

    #[test]
    fn rules_change_no_bit() {
        let x = tensor::<Array>(&[0.3, 0.7, -0.4, 0.9]);
        let bits = |program: &Program| program.run(&x).0.data.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let mut sizes = [0, 0];
        for seed in 0..100 {
            let recipe = Recipe::new(seed, 12);
            let program = gradient(&Program::record(|x| recipe.run(x), &[4]), &[4]);
            let simple = simplify(&program);
            assert_eq!(bits(&program), bits(&simple), "seed {seed}\n{program}\n{simple}");
            sizes = [sizes[0] + program.nodes.len(), sizes[1] + simple.nodes.len()];
        }
        assert!(sizes[1] * 10 < sizes[0] * 9, "{sizes:?}");
    }

    #[test]
    fn the_gradient_of_a_sum_of_squares_is_short() {
        let program = gradient(&Program::record(|x| (x * x).sum(), &[3]), &[3]);
        assert_eq!(simplify(&program).to_string(), "t0: [3] = input 0\nt1: [3] = add t0 t0\nreturn t1\n");
    }
}
