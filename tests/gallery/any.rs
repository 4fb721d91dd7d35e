//! `Any`: a value of one of several interpreters, chosen while the program runs.
//!
//! A generic program is compiled anew for every interpreter it is used at; for many programs and many nestings that
//! takes minutes. At `Any` it is compiled once, and each operation is passed to the interpreter of its operands. The
//! module around this one has the [`Leaves`] of a gallery, and lists the interpreters in a macro `interpreters`. Law:
//! an interpreter sees the same operations as if the program were compiled for it.

use std::cell::Cell;
use std::sync::Arc;

use polygrad::base::{Report, Staging, Traced, Trip, TripFn, WhileFn};
use polygrad::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary};
use polygrad::passes::Options;
use polygrad::program::{Custom, Term};
use polygrad::{ADVal, Array, BaseTensor, Concrete, DType, Dual, Shapes, Tensor};

use super::gallery::Leaves;

thread_local! {
    static CURRENT: Cell<Option<Which>> = const { Cell::new(None) };
}

/// The interpreter of the program that is running: what its constants are made in.
pub(crate) fn current() -> Which {
    CURRENT.get().expect("a program at Any runs only within `at`")
}

/// An interpreter whose values can be [`Any`].
pub(crate) trait Level: BaseTensor {
    /// Which one it is.
    const WHICH: Which;
    fn wrap(self) -> Any;
    fn of(any: &Any) -> &Self;
    fn unwrap(any: Any) -> Self;
}

/// The program `f` at the interpreter `L`.
pub(crate) fn at<L: Level>(f: impl Fn(&Leaves<Any>) -> Tensor<Any, 0>, x: &Leaves<L>) -> Tensor<L, 0> {
    Tensor::from_raw(lists_at(|x| vec![f(&Leaves(x)).into_raw()], &x.0).remove(0))
}

/// The program `f`, of a list of values, at the interpreter `L`.
pub(crate) fn lists_at<L: Level>(f: impl FnOnce(Vec<Any>) -> Vec<Any>, x: &[L]) -> Vec<L> {
    let before = CURRENT.replace(Some(L::WHICH));
    let y = f(wrapped(x));
    CURRENT.set(before);
    unwrapped(y)
}

fn wrapped<L: Level>(values: &[L]) -> Vec<Any> {
    values.iter().cloned().map(L::wrap).collect()
}

fn unwrapped<L: Level>(values: Vec<Any>) -> Vec<L> {
    values.into_iter().map(L::unwrap).collect()
}

fn all<L: Level>(values: &[Any]) -> Vec<L> {
    values.iter().map(|any| L::of(any).clone()).collect()
}

fn map_accum<L: Level>(n: usize, reverse: bool, init: Vec<Any>, xs: &[Any], step: TripFn<'_, Any>) -> Trip<Any> {
    let (last, stacked) = L::map_accum(n, reverse, unwrapped(init), &all::<L>(xs), &mut |carry, x| {
        let carry = carry.into_iter().map(L::wrap).collect();
        let (carry, outputs) = step(carry, &wrapped(x));
        (unwrapped(carry), unwrapped(outputs))
    });
    (wrapped(&last), wrapped(&stacked))
}

fn repeat<L: Level>(most: Option<usize>, init: Vec<Any>, step: WhileFn<'_, Any>) -> Vec<Any> {
    let last = L::repeat(most, unwrapped(init), &mut |carry| unwrapped(step(carry.into_iter().map(L::wrap).collect())));
    wrapped(&last)
}

fn discrete<L: Level>(op: &Discrete, args: &[&Any]) -> Any {
    let args: Vec<&L> = args.iter().map(|any| L::of(any)).collect();
    L::discrete(op, &args).wrap()
}

macro_rules! levels {
    ($($Name:ident = $L:ty;)*) => {
        /// Names the interpreters, by the initials of their types.
        #[allow(clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Which { $($Name),* }

        /// A value of one of the interpreters.
        #[allow(clippy::upper_case_acronyms)]
        #[derive(Clone)]
        pub(crate) enum Any { $($Name($L)),* }

        $(impl Level for $L {
            const WHICH: Which = Which::$Name;
            fn wrap(self) -> Any {
                Any::$Name(self)
            }
            fn of(any: &Any) -> &Self {
                let Any::$Name(value) = any else { panic!("a value of another interpreter, not {:?}", Self::WHICH) };
                value
            }
            fn unwrap(any: Any) -> Self {
                let Any::$Name(value) = any else { panic!("a value of another interpreter, not {:?}", Self::WHICH) };
                value
            }
        })*

        impl BaseTensor for Any {
            fn constant(a: Array) -> Self {
                match current() { $(Which::$Name => <$L>::constant(a).wrap(),)* }
            }
            fn shape(&self) -> &[usize] {
                match self { $(Any::$Name(t) => t.shape(),)* }
            }
            fn dtype(&self) -> DType {
                match self { $(Any::$Name(t) => t.dtype(),)* }
            }
            fn unary(&self, op: Unary) -> Self {
                match self { $(Any::$Name(t) => t.unary(op).wrap(),)* }
            }
            fn binary(&self, op: Binary, other: &Self) -> Self {
                match self { $(Any::$Name(t) => t.binary(op, Level::of(other)).wrap(),)* }
            }
            fn discrete(op: &Discrete, args: &[&Self]) -> Self {
                match current() { $(Which::$Name => discrete::<$L>(op, args),)* }
            }
            fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
                match mask { $(Any::$Name(m) => <$L>::select(m, Level::of(then), Level::of(otherwise)).wrap(),)* }
            }
            fn linear(&self, op: &Linear) -> Self {
                match self { $(Any::$Name(t) => t.linear(op).wrap(),)* }
            }
            fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
                match a { $(Any::$Name(a) => <$L>::contract(op, a, Level::of(b)).wrap(),)* }
            }
            fn reduce(&self, op: Reduce) -> Self {
                match self { $(Any::$Name(t) => t.reduce(op).wrap(),)* }
            }
            fn gather(&self, ix: &[Self]) -> Self {
                match self { $(Any::$Name(t) => t.gather(&all::<$L>(ix)).wrap(),)* }
            }
            fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
                match self { $(Any::$Name(t) => t.scatter_add(&all::<$L>(ix), Level::of(v)).wrap(),)* }
            }
            fn concat(axis: usize, parts: &[Self]) -> Self {
                match current() { $(Which::$Name => <$L>::concat(axis, &all::<$L>(parts)).wrap(),)* }
            }
            fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Any>) -> Trip<Self> {
                match current() { $(Which::$Name => map_accum::<$L>(n, reverse, init, xs, step),)* }
            }
            fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Any>) -> Vec<Self> {
                match current() { $(Which::$Name => repeat::<$L>(most, init, step),)* }
            }
            fn call(op: &Call, args: &[Self]) -> Vec<Self> {
                match current() { $(Which::$Name => wrapped(&<$L>::call(op, &all::<$L>(args))),)* }
            }
            fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
                match current() { $(Which::$Name => wrapped(&<$L>::custom(rule, &all::<$L>(args))),)* }
            }
            fn accumulate(self, other: &Self) -> Self {
                match self { $(Any::$Name(t) => t.accumulate(Level::of(other)).wrap(),)* }
            }
            fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
                match self { $(Any::$Name(t) => t.accumulate_linear(op, Level::of(other)).wrap(),)* }
            }
        }

        impl Staging for Any {
            type Trace = Self;
            fn trace(inputs: &[Self], _: Options, f: Traced<'_, Self>) -> Vec<Self> {
                f(inputs)
            }
        }

        impl Report for Any {
            fn peek(&self) -> Option<Array> {
                match self { $(Any::$Name(t) => t.peek(),)* }
            }
        }
    };
}

// The module around says which interpreters it is about.
super::interpreters! { levels }
