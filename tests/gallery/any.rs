//! `Any`: a value of one of several interpreters, chosen while the program runs.
//!
//! A generic program is compiled anew for every interpreter it is used at; for many programs and many nestings that
//! takes minutes. At `Any` it is compiled once, and each operation is passed to the interpreter of its operands. An
//! interpreter may itself be one over `Any`, so `ADVal<Any>` and `Dual<Any>` give every nesting. The module around this
//! one has the [`Leaves`] of a gallery, and lists the interpreters in a macro `interpreters`. Law: an interpreter sees
//! the same operations as if the program were compiled for it, and has the same interpreter below it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use polygrad::base::{Again, Report, Staging, Trip, TripFn, WhileFn};
use polygrad::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary};
use polygrad::program::{Custom, Term};
use polygrad::source::Site;
use polygrad::{ADVal, Array, BaseTensor, Concrete, DType, Dual, Shapes, Tensor};

use super::gallery::Leaves;

thread_local! {
    /// The interpreters of the programs that are running, the innermost last: each is over the one before.
    static PATH: RefCell<Vec<Which>> = const { RefCell::new(Vec::new()) };
}

/// The interpreter of the program that is running: what its constants are made in.
fn current() -> Which {
    PATH.with_borrow(|path| *path.last().expect("a program at Any runs only within `at`"))
}

/// The interpreters of the program that is running, the outermost first.
#[allow(dead_code, reason = "not every user of `Any` looks at it")]
pub(crate) fn path() -> Vec<Which> {
    PATH.with_borrow(Clone::clone)
}

/// A guard: while it lives, a program runs at an interpreter over the current one.
struct Above;

impl Above {
    fn new(which: Which) -> Above {
        PATH.with_borrow_mut(|path| path.push(which));
        Above
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        PATH.with_borrow_mut(|path| path.pop());
    }
}

/// A guard: while it lives, the current interpreter computes by the one below it.
struct Below(Which);

impl Below {
    fn new(which: Which) -> Below {
        let current = PATH.with_borrow_mut(Vec::pop);
        assert_eq!(current, Some(which), "an operation on values of another level");
        Below(which)
    }
}

impl Drop for Below {
    fn drop(&mut self) {
        PATH.with_borrow_mut(|path| path.push(self.0));
    }
}

/// An interpreter whose values can be [`Any`].
pub(crate) trait Level: BaseTensor {
    /// Which one it is.
    const WHICH: Which;
    fn wrap(self) -> Any;
    fn of(any: &Any) -> &Self;
    fn unwrap(any: Any) -> Self;
}

/// The program `f` at the interpreter `L`, which is over the current one.
#[allow(dead_code, reason = "not every user of `Any` has a gallery")]
pub(crate) fn at<L: Level>(f: impl FnOnce(&Leaves<Any>) -> Tensor<Any, 0>, x: &Leaves<L>) -> Tensor<L, 0> {
    Tensor::from_raw(lists_at(|x| vec![f(&Leaves(x)).into_raw()], &x.0).remove(0))
}

/// The program `f`, of a list of values, at the interpreter `L`, which is over the current one.
pub(crate) fn lists_at<L: Level>(f: impl FnOnce(Vec<Any>) -> Vec<Any>, x: &[L]) -> Vec<L> {
    let _above = Above::new(L::WHICH);
    unwrapped(f(wrapped(x)))
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

#[track_caller]
fn map_accum<L: Level>(n: usize, reverse: bool, init: Vec<Any>, xs: &[Any], step: TripFn<'_, Any>) -> Trip<Any> {
    let (last, stacked) = L::map_accum(n, reverse, unwrapped(init), &all::<L>(xs), &mut |carry, x| {
        let _above = Above::new(L::WHICH);
        let (carry, outputs) = step(wrapped(&carry), &wrapped(x));
        (unwrapped(carry), unwrapped(outputs))
    });
    (wrapped(&last), wrapped(&stacked))
}

#[track_caller]
fn repeat<L: Level>(most: Option<usize>, init: Vec<Any>, step: WhileFn<'_, Any>) -> Vec<Any> {
    let last = L::repeat(most, unwrapped(init), &mut |carry| {
        let _above = Above::new(L::WHICH);
        unwrapped(step(wrapped(&carry)))
    });
    wrapped(&last)
}

#[track_caller]
fn again<L: Level>(f: &Again<Any>, args: &[Any]) -> Vec<Any> {
    let f = f.clone();
    let at: Again<L> = Rc::new(move |x: &[L]| lists_at(|x| f(&x), x));
    wrapped(&L::again(&at, &all(args)))
}

#[track_caller]
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
        pub(crate) enum Any { $($Name(Rc<$L>)),* }

        /// `$expression` at the type of the current interpreter, which computes by the one below it.
        macro_rules! currently {
            ($Current:ident => $expression:expr) => {
                match current() { $(Which::$Name => {
                    type $Current = $L;
                    let _below = Below::new(Which::$Name);
                    $expression
                })* }
            };
        }

        $(impl Level for $L {
            const WHICH: Which = Which::$Name;
            fn wrap(self) -> Any {
                Any::$Name(Rc::new(self))
            }
            fn of(any: &Any) -> &Self {
                let Any::$Name(value) = any else { panic!("a value of another interpreter, not {:?}", Self::WHICH) };
                value
            }
            fn unwrap(any: Any) -> Self {
                let Any::$Name(value) = any else { panic!("a value of another interpreter, not {:?}", Self::WHICH) };
                Rc::unwrap_or_clone(value)
            }
        })*

        impl BaseTensor for Any {
            fn constant(a: Array) -> Self {
                currently!(L => L::constant(a).wrap())
            }
            fn zeros(shape: &[usize], dtype: DType) -> Self {
                currently!(L => L::zeros(shape, dtype).wrap())
            }
            fn shape(&self) -> &[usize] {
                match self { $(Any::$Name(t) => t.shape(),)* }
            }
            fn dtype(&self) -> DType {
                match self { $(Any::$Name(t) => t.dtype(),)* }
            }
            fn unary(&self, op: Unary) -> Self {
                currently!(L => L::of(self).unary(op).wrap())
            }
            fn binary(&self, op: Binary, other: &Self) -> Self {
                currently!(L => L::of(self).binary(op, L::of(other)).wrap())
            }
            fn discrete(op: &Discrete, args: &[&Self]) -> Self {
                currently!(L => discrete::<L>(op, args))
            }
            fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
                currently!(L => L::select(L::of(mask), L::of(then), L::of(otherwise)).wrap())
            }
            fn linear(&self, op: &Linear) -> Self {
                currently!(L => L::of(self).linear(op).wrap())
            }
            fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
                currently!(L => L::contract(op, L::of(a), L::of(b)).wrap())
            }
            fn reduce(&self, op: Reduce) -> Self {
                currently!(L => L::of(self).reduce(op).wrap())
            }
            fn gather(&self, ix: &[Self]) -> Self {
                currently!(L => L::of(self).gather(&all::<L>(ix)).wrap())
            }
            fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
                currently!(L => <L as Level>::unwrap(self).scatter_add(&all::<L>(ix), L::of(v)).wrap())
            }
            fn concat(axis: usize, parts: &[Self]) -> Self {
                currently!(L => L::concat(axis, &all::<L>(parts)).wrap())
            }
            fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Any>) -> Trip<Self> {
                currently!(L => map_accum::<L>(n, reverse, init, xs, step))
            }
            fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Any>) -> Vec<Self> {
                currently!(L => repeat::<L>(most, init, step))
            }
            fn call(op: &Call, args: &[Self]) -> Vec<Self> {
                currently!(L => wrapped(&L::call(op, &all::<L>(args))))
            }
            fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
                currently!(L => wrapped(&L::custom(rule, &all::<L>(args))))
            }
            fn again(f: &Again<Self>, args: &[Self]) -> Vec<Self> {
                currently!(L => again::<L>(f, args))
            }
            fn accumulate(self, other: &Self) -> Self {
                currently!(L => <L as Level>::unwrap(self).accumulate(L::of(other)).wrap())
            }
            fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
                currently!(L => <L as Level>::unwrap(self).accumulate_linear(op, L::of(other)).wrap())
            }
        }

        impl Staging for Any {
            fn runs_all_trips() -> bool {
                currently!(L => L::runs_all_trips())
            }
            fn records() -> bool {
                currently!(L => L::records())
            }
        }

        impl Report for Any {
            fn peek(&self) -> Option<Array> {
                match self { $(Any::$Name(t) => t.peek(),)* }
            }
            fn site(&self) -> Site {
                match self { $(Any::$Name(t) => t.site(),)* }
            }
            fn attribute(to: Site) -> Site {
                currently!(L => L::attribute(to))
            }
        }
    };
}

// The module around says which interpreters it is about.
super::interpreters! { levels }
