//! An interpreter that shows the programs that the plain verbs run.

use std::cell::RefCell;
use std::sync::Arc;

use polygrad::base::{Enter, Recorded, Traced, Trip};
use polygrad::ops::{Binary, Contract, Discrete, Linear, Reduce, Unary};
use polygrad::passes::optimize;
use polygrad::program::{Custom, Program, Term, interpret};
use polygrad::{Array, BaseTensor, DType};

thread_local! {
    static PROGRAMS: RefCell<Vec<Program>> = const { RefCell::new(Vec::new()) };
}

/// Arrays at which the plain verbs record, as they do at `Concrete`, and leave behind what they run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen(pub(crate) Array);

/// The programs that were run since the last call, in order.
pub(crate) fn programs() -> Vec<Program> {
    PROGRAMS.with(RefCell::take)
}

fn arrays(ts: &[Seen]) -> Vec<Array> {
    ts.iter().map(|t| t.0.clone()).collect()
}

fn seen(arrays: Vec<Array>) -> Vec<Seen> {
    arrays.into_iter().map(Seen).collect()
}

impl Enter<Seen> for Term {
    fn enter(t: Seen) -> Term {
        Term::constant(t.0)
    }
}

impl BaseTensor for Seen {
    type Trace = Term;
    fn trace(inputs: &[Self], f: Traced<'_, Self>) -> Vec<Self> {
        let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
        let program = Term::program(&variables, &f(&variables), &[]).expect("no variable escapes");
        let program = optimize(&program);
        let results = interpret(&program, arrays(inputs));
        PROGRAMS.with(|programs| programs.borrow_mut().push(program));
        seen(results)
    }
    fn recorded(inputs: &[Term], f: Traced<'_, Self>) -> Option<Recorded<Term>> {
        Array::recorded(inputs, f)
    }
    fn constant(a: Array) -> Self {
        Seen(a)
    }
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn dtype(&self) -> DType {
        self.0.dtype()
    }
    fn unary(&self, op: Unary) -> Self {
        Seen(self.0.unary(op))
    }
    fn binary(&self, op: Binary, other: &Self) -> Self {
        Seen(self.0.binary(op, &other.0))
    }
    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        Seen(Array::discrete(op, &args.iter().map(|a| &a.0).collect::<Vec<_>>()))
    }
    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        Seen(Array::select(&mask.0, &then.0, &otherwise.0))
    }
    fn linear(&self, op: &Linear) -> Self {
        Seen(self.0.linear(op))
    }
    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        Seen(Array::contract(op, &a.0, &b.0))
    }
    fn reduce(&self, op: Reduce) -> Self {
        Seen(self.0.reduce(op))
    }
    fn gather(&self, ix: &[Self]) -> Self {
        Seen(self.0.gather(&arrays(ix)))
    }
    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        Seen(self.0.scatter_add(&arrays(ix), &v.0))
    }
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        interpret(rule.primal(), args.to_vec())
    }
    fn concat(axis: usize, parts: &[Self]) -> Self {
        Seen(Array::concat(axis, &arrays(parts)))
    }
    fn map_accum(
        n: usize,
        reverse: bool,
        init: Vec<Self>,
        xs: &[Self],
        step: &mut dyn FnMut(Vec<Self>, &[Self]) -> Trip<Self>,
    ) -> Trip<Self> {
        let (carry, outputs) = Array::map_accum(n, reverse, arrays(&init), &arrays(xs), &mut |carry, x| {
            let (carry, outputs) = step(seen(carry), &seen(x.to_vec()));
            (arrays(&carry), arrays(&outputs))
        });
        (seen(carry), seen(outputs))
    }
}
