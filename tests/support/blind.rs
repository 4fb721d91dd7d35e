//! An interpreter that computes and never shows its numbers, as while a program is traced: a program that runs in it
//! does not peek.

use std::sync::Arc;

use polygrad::base::{Traced, Trip};
use polygrad::ops::{Binary, Contract, Discrete, Linear, Reduce, Unary};
use polygrad::program::{Custom, interpret};
use polygrad::{Array, BaseTensor, DType};

/// Arrays that do not show their numbers, as while a program is traced.
#[derive(Clone)]
pub(crate) struct Blind(pub(crate) Array);

fn seen(ts: &[Blind]) -> Vec<Array> {
    ts.iter().map(|t| t.0.clone()).collect()
}

fn blind((a, b): Trip<Array>) -> Trip<Blind> {
    (a.into_iter().map(Blind).collect(), b.into_iter().map(Blind).collect())
}

impl BaseTensor for Blind {
    type Trace = Self;
    fn trace(inputs: &[Self], f: Traced<'_, Self>) -> Vec<Self> {
        f(inputs)
    }
    fn constant(a: Array) -> Self {
        Blind(a)
    }
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn dtype(&self) -> DType {
        self.0.dtype()
    }
    fn unary(&self, op: Unary) -> Self {
        Blind(self.0.unary(op))
    }
    fn binary(&self, op: Binary, other: &Self) -> Self {
        Blind(self.0.binary(op, &other.0))
    }
    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        Blind(Array::discrete(op, &args.iter().map(|a| &a.0).collect::<Vec<_>>()))
    }
    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        Blind(Array::select(&mask.0, &then.0, &otherwise.0))
    }
    fn linear(&self, op: &Linear) -> Self {
        Blind(self.0.linear(op))
    }
    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        Blind(Array::contract(op, &a.0, &b.0))
    }
    fn reduce(&self, op: Reduce) -> Self {
        Blind(self.0.reduce(op))
    }
    fn gather(&self, ix: &[Self]) -> Self {
        Blind(self.0.gather(&seen(ix)))
    }
    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        Blind(self.0.scatter_add(&seen(ix), &v.0))
    }
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        interpret(rule.primal(), args.to_vec())
    }
    fn concat(axis: usize, parts: &[Self]) -> Self {
        Blind(Array::concat(axis, &seen(parts)))
    }
    fn map_accum(
        n: usize,
        reverse: bool,
        init: Vec<Self>,
        xs: &[Self],
        step: &mut dyn FnMut(Vec<Self>, &[Self]) -> Trip<Self>,
    ) -> Trip<Self> {
        blind(Array::map_accum(n, reverse, seen(&init), &seen(xs), &mut |c, x| {
            let x: Vec<Blind> = x.iter().cloned().map(Blind).collect();
            let (c, y) = step(c.into_iter().map(Blind).collect(), &x);
            (seen(&c), seen(&y))
        }))
    }
}
