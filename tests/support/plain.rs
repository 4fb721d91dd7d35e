//! An interpreter over another one, outside of the library: the values of that one, without a word on what a lifted value of
//! it is here.

use std::sync::Arc;

use polygrad::base::{BaseTensor, Report, Staging, Trip, TripFn};
use polygrad::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary};
use polygrad::program::Custom;
use polygrad::{Array, DType};

/// A value.
#[derive(Clone)]
pub(crate) struct Plain<T>(pub(crate) T);

macro_rules! through {
    ($x:expr) => {
        $x.iter().map(|x| x.0.clone()).collect::<Vec<T>>()
    };
}

impl<T: BaseTensor> BaseTensor for Plain<T> {
    fn constant(a: Array) -> Self {
        Plain(T::constant(a))
    }
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn dtype(&self) -> DType {
        self.0.dtype()
    }
    fn unary(&self, op: Unary) -> Self {
        Plain(self.0.unary(op))
    }
    fn binary(&self, op: Binary, other: &Self) -> Self {
        Plain(self.0.binary(op, &other.0))
    }
    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        Plain(T::discrete(op, &args.iter().map(|x| &x.0).collect::<Vec<_>>()))
    }
    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        Plain(T::select(&mask.0, &then.0, &otherwise.0))
    }
    fn linear(&self, op: &Linear) -> Self {
        Plain(self.0.linear(op))
    }
    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        Plain(T::contract(op, &a.0, &b.0))
    }
    fn reduce(&self, op: Reduce) -> Self {
        Plain(self.0.reduce(op))
    }
    fn gather(&self, ix: &[Self]) -> Self {
        Plain(self.0.gather(&through!(ix)))
    }
    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        Plain(self.0.scatter_add(&through!(ix), &v.0))
    }
    fn concat(axis: usize, parts: &[Self]) -> Self {
        Plain(T::concat(axis, &through!(parts)))
    }
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        let (carry, outputs) = T::map_accum(n, reverse, through!(init), &through!(xs), &mut |carry, x| {
            let x: Vec<Self> = x.iter().cloned().map(Plain).collect();
            let (carry, outputs) = step(carry.into_iter().map(Plain).collect(), &x);
            (through!(carry), through!(outputs))
        });
        (carry.into_iter().map(Plain).collect(), outputs.into_iter().map(Plain).collect())
    }
    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        T::call(op, &through!(args)).into_iter().map(Plain).collect()
    }
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        rule.value(args.to_vec())
    }
}

impl<T: BaseTensor> Staging for Plain<T> {
    fn records() -> bool {
        T::records()
    }
}
impl<T: BaseTensor> Report for Plain<T> {
    fn peek(&self) -> Option<Array> {
        self.0.peek()
    }
}
