//! `Tower<T>`: levels of differentiation that are known at run time, over any interpreter `T`.
//!
//! `Dual<T>` and `ADVal<T>` have their level in their type, so a program with nested derivatives has a type for each
//! level. The functions of the higher-order language are values, and one of them may be differentiated at any level, by
//! a term of the program: so here each value carries its level. A value is one of `T`, or one of forward or reverse
//! mode over values of lower levels. Each differentiation ([`ForwardLevel`], [`ReverseLevel`]) has a new level, above
//! all others that run.
//!
//! Laws: an operation has the level of its highest operand, and the others are constants there, so derivatives of two
//! levels never mix. A result without a derivative at a level has a lower level. A program that does not differentiate
//! runs at `T`. This module chooses between two interpreters, as the root of the interpreters does.

mod loops;
mod sweep;

use std::rc::Rc;
use std::sync::Arc;

pub use sweep::{ForwardLevel, LevelPullback, ReverseLevel};

use sweep::running;

use super::{ADVal, Dual, adval};
use crate::array::Array;
use crate::base::{Again, BaseTensor, Beyond, Distance, Enter, Lift, Report, Staging, Trip, TripFn, WhileFn, repeated};
use crate::dtype::DType;
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary};
use crate::program::repeat::held;
use crate::program::{Custom, Program, Term, interpret};
use crate::source::{Site, mistake};

/// A value of the interpreter `T`, or one with a derivative at a level.
///
/// Example: [`ForwardLevel`].
pub struct Tower<T: 'static> {
    /// Equal numbers, equal values: so a term of a loop knows a value that is the same in all trips, although each use of
    /// the value makes a constant of it.
    id: u64,
    value: Value<T>,
}

enum Value<T: 'static> {
    Base(T),
    Forward(u64, Rc<Dual<Tower<T>>>),
    Reverse(u64, Rc<ADVal<Tower<T>>>),
}

impl<T: Clone> Clone for Tower<T> {
    fn clone(&self) -> Self {
        let value = match &self.value {
            Value::Base(t) => Value::Base(t.clone()),
            Value::Forward(level, v) => Value::Forward(*level, v.clone()),
            Value::Reverse(level, v) => Value::Reverse(*level, v.clone()),
        };
        Tower { id: self.id, value }
    }
}

/// A level: the number of a differentiation, larger for inner ones, and its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Base,
    Forward(u64),
    Reverse(u64),
}

impl Level {
    const fn number(self) -> u64 {
        match self {
            Level::Base => 0,
            Level::Forward(number) | Level::Reverse(number) => number,
        }
    }

    fn max(self, other: Level) -> Level {
        if other.number() > self.number() { other } else { self }
    }
}

/// An interpreter of one level over the lower levels.
trait OneLevel<T: BaseTensor>: BaseTensor {
    /// The value at this level; `None` if the value belongs to another one.
    fn inside(t: &Tower<T>, level: Level) -> Option<&Self>;

    /// The value as one of any level; its primal value if it has no derivative.
    fn outside(self, level: Level) -> Tower<T>;

    /// A value of a lower level, which is a constant here.
    fn constant_of(t: Tower<T>) -> Self;

    /// The value at this level.
    fn raised(t: &Tower<T>, level: Level) -> Self {
        Self::inside(t, level).cloned().unwrap_or_else(|| Self::constant_of(t.clone()))
    }
}

impl<T: BaseTensor> OneLevel<T> for Dual<Tower<T>> {
    fn inside(t: &Tower<T>, level: Level) -> Option<&Self> {
        match &t.value {
            Value::Forward(number, v) if *number == level.number() => Some(v),
            Value::Base(_) | Value::Forward(..) | Value::Reverse(..) => None,
        }
    }

    fn constant_of(t: Tower<T>) -> Self {
        Dual::lift(t)
    }

    fn outside(self, level: Level) -> Tower<T> {
        if self.is_constant() {
            return self.primal().clone();
        }
        Tower { id: adval::fresh_id(), value: Value::Forward(level.number(), Rc::new(self)) }
    }
}

impl<T: BaseTensor> OneLevel<T> for ADVal<Tower<T>> {
    fn inside(t: &Tower<T>, level: Level) -> Option<&Self> {
        match &t.value {
            Value::Reverse(number, v) if *number == level.number() => Some(v),
            Value::Base(_) | Value::Forward(..) | Value::Reverse(..) => None,
        }
    }

    fn constant_of(t: Tower<T>) -> Self {
        let id = t.id;
        ADVal::constant_with_id(t, id)
    }

    fn outside(self, level: Level) -> Tower<T> {
        let id = self.id();
        if self.is_constant() {
            return Tower { id, ..self.primal().clone() };
        }
        Tower { id, value: Value::Reverse(level.number(), Rc::new(self)) }
    }
}

impl<T: BaseTensor> Tower<T> {
    /// A value of `T`.
    ///
    /// Example: [`ForwardLevel`].
    pub fn of(t: T) -> Self {
        Tower { id: adval::fresh_id(), value: Value::Base(t) }
    }

    fn level(&self) -> Level {
        match &self.value {
            Value::Base(_) => Level::Base,
            Value::Forward(number, _) => Level::Forward(*number),
            Value::Reverse(number, _) => Level::Reverse(*number),
        }
    }

    /// The value of `T`, without derivatives.
    fn base(&self) -> &T {
        match &self.value {
            Value::Base(t) => t,
            Value::Forward(_, v) => v.primal().base(),
            Value::Reverse(_, v) => v.primal().base(),
        }
    }

    /// The value without the derivatives above a level.
    fn lowered(&self, level: Level) -> &Self {
        match &self.value {
            Value::Forward(number, v) if *number > level.number() => v.primal().lowered(level),
            Value::Reverse(number, v) if *number > level.number() => v.primal().lowered(level),
            Value::Base(_) | Value::Forward(..) | Value::Reverse(..) => self,
        }
    }

    /// Appends the levels of the value, and of its parts.
    fn collect_levels(&self, into: &mut Vec<Level>) {
        let mut add = |level| {
            if !into.contains(&level) {
                into.push(level);
            }
        };
        match &self.value {
            Value::Base(_) => {}
            Value::Forward(number, v) => {
                add(Level::Forward(*number));
                let (primal, tangent) = v.parts();
                primal.collect_levels(into);
                tangent.into_iter().for_each(|t| t.collect_levels(into));
            }
            Value::Reverse(number, v) => {
                add(Level::Reverse(*number));
                v.primal().collect_levels(into);
            }
        }
    }

    /// The value of `T`, of a result of a program.
    ///
    /// Example: [`ForwardLevel`].
    ///
    /// # Panics
    /// When the value has a derivative: a differentiation inside the program takes it.
    pub fn into_base(self) -> T {
        match self.value {
            Value::Base(t) => t,
            Value::Forward(..) | Value::Reverse(..) => escaped(),
        }
    }
}

/// The message for a loop without a bound whose end is not known while a program is traced.
pub(crate) const UNBOUNDED: &str = "iterate: a step that keeps a derivative, or whose state is more than tensors and functions of one code, must be known \
                                    to go on or to end, but its condition is not known while a program is traced; run it with known numbers, \
                                    or take iterate_within, whose number of steps is bounded";

/// A differentiation takes the derivatives of its level, so no value has a level that has ended.
#[cold]
fn escaped() -> ! {
    unreachable!("a value has the level of a differentiation that runs")
}

fn highest<'a, T: BaseTensor>(values: impl IntoIterator<Item = &'a Tower<T>>) -> Level {
    let mut level = Level::Base;
    for value in values {
        level = level.max(value.level());
    }
    level
}

fn bases<T: BaseTensor>(values: &[Tower<T>]) -> Vec<T> {
    let mut found = Vec::with_capacity(values.len());
    for value in values {
        found.push(value.base().clone());
    }
    found
}

fn of_all<T: BaseTensor>(values: Vec<T>) -> Vec<Tower<T>> {
    values.into_iter().map(Tower::of).collect()
}

fn raised<T: BaseTensor, V: OneLevel<T>>(values: &[Tower<T>], level: Level) -> Vec<V> {
    let mut found = Vec::with_capacity(values.len());
    for value in values {
        found.push(V::raised(value, level));
    }
    found
}

fn outside<T: BaseTensor, V: OneLevel<T>>(values: Vec<V>, level: Level) -> Vec<Tower<T>> {
    let mut found = Vec::with_capacity(values.len());
    for value in values {
        found.push(value.outside(level));
    }
    found
}

/// A function that is generic in the interpreter of a level, at the interpreter of this level; the other expression if
/// it is that of `T`.
macro_rules! at {
    ($level:expr, $base:expr, $f:ident($($arg:expr),*)) => {
        match $level {
            Level::Base => $base,
            level @ Level::Forward(_) => $f::<T, Dual<Tower<T>>>(level, $($arg),*),
            level @ Level::Reverse(_) => $f::<T, ADVal<Tower<T>>>(level, $($arg),*),
        }
    };
}

use at;

/// An operation of one operand.
macro_rules! alone {
    ($x:expr, $t:ident => $y:expr) => {
        match &$x.value {
            Value::Base($t) => Tower::of($y),
            Value::Forward(number, $t) => $y.outside(Level::Forward(*number)),
            Value::Reverse(number, $t) => $y.outside(Level::Reverse(*number)),
        }
    };
}

#[track_caller]
fn binary<T: BaseTensor, V: OneLevel<T>>(level: Level, op: Binary, x: &Tower<T>, y: &Tower<T>) -> Tower<T> {
    V::raised(x, level).binary(op, &V::raised(y, level)).outside(level)
}

#[track_caller]
fn select<T: BaseTensor, V: OneLevel<T>>(level: Level, mask: &Tower<T>, x: &Tower<T>, y: &Tower<T>) -> Tower<T> {
    V::select(&V::raised(mask, level), &V::raised(x, level), &V::raised(y, level)).outside(level)
}

#[track_caller]
fn contract<T: BaseTensor, V: OneLevel<T>>(level: Level, op: &Contract, x: &Tower<T>, y: &Tower<T>) -> Tower<T> {
    V::contract(op, &V::raised(x, level), &V::raised(y, level)).outside(level)
}

#[track_caller]
fn gather<T: BaseTensor, V: OneLevel<T>>(level: Level, x: &Tower<T>, ix: &[Tower<T>]) -> Tower<T> {
    V::raised(x, level).gather(&raised::<T, V>(ix, level)).outside(level)
}

#[track_caller]
fn scatter_add<T: BaseTensor, V: OneLevel<T>>(level: Level, x: &Tower<T>, ix: &[Tower<T>], v: &Tower<T>) -> Tower<T> {
    V::raised(x, level).scatter_add(&raised::<T, V>(ix, level), &V::raised(v, level)).outside(level)
}

#[track_caller]
fn concat<T: BaseTensor, V: OneLevel<T>>(level: Level, axis: usize, parts: &[Tower<T>]) -> Tower<T> {
    V::concat(axis, &raised::<T, V>(parts, level)).outside(level)
}

#[track_caller]
fn call<T: BaseTensor, V: OneLevel<T>>(level: Level, op: &Call, args: &[Tower<T>]) -> Vec<Tower<T>> {
    outside(V::call(op, &raised::<T, V>(args, level)), level)
}

#[track_caller]
fn custom<T: BaseTensor, V: OneLevel<T>>(level: Level, rule: &Arc<Custom>, args: &[Tower<T>]) -> Vec<Tower<T>> {
    outside(V::custom(rule, &raised::<T, V>(args, level)), level)
}

#[track_caller]
fn again<T: BaseTensor, V: OneLevel<T>>(level: Level, f: &Again<Tower<T>>, args: &[Tower<T>]) -> Vec<Tower<T>> {
    let f = f.clone();
    let inside: Again<V> = Rc::new(move |args| raised(&f(&outside(args.to_vec(), level)), level));
    outside(V::again(&inside, &raised::<T, V>(args, level)), level)
}

#[track_caller]
fn accumulate<T: BaseTensor, V: OneLevel<T>>(level: Level, x: Tower<T>, y: &Tower<T>) -> Tower<T> {
    let raised = V::raised(&x, level);
    drop(x);
    raised.accumulate(&V::raised(y, level)).outside(level)
}

#[track_caller]
fn accumulate_linear<T: BaseTensor, V: OneLevel<T>>(level: Level, x: Tower<T>, op: &Linear, y: &Tower<T>) -> Tower<T> {
    let raised = V::raised(&x, level);
    drop(x);
    raised.accumulate_linear(op, &V::raised(y, level)).outside(level)
}

impl<T: BaseTensor> BaseTensor for Tower<T> {
    fn constant(a: Array) -> Self {
        Tower::of(T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        self.base().shape()
    }

    fn dtype(&self) -> DType {
        self.base().dtype()
    }

    fn unary(&self, op: Unary) -> Self {
        alone!(self, t => t.unary(op))
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let level = self.level().max(other.level());
        at!(level, Tower::of(self.base().binary(op, other.base())), binary(op, self, other))
    }

    /// The results have no derivative at any level.
    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let args: smallvec::SmallVec<[&T; 2]> = args.iter().map(|a| a.base()).collect();
        Tower::of(T::discrete(op, &args))
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        let level = then.level().max(otherwise.level());
        let base = || Tower::of(T::select(mask.base(), then.base(), otherwise.base()));
        at!(level, base(), select(mask, then, otherwise))
    }

    fn linear(&self, op: &Linear) -> Self {
        alone!(self, t => t.linear(op))
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let level = a.level().max(b.level());
        at!(level, Tower::of(T::contract(op, a.base(), b.base())), contract(op, a, b))
    }

    fn reduce(&self, op: Reduce) -> Self {
        alone!(self, t => t.reduce(op))
    }

    fn gather(&self, ix: &[Self]) -> Self {
        at!(self.level(), Tower::of(self.base().gather(&bases(ix))), gather(self, ix))
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        let level = self.level().max(v.level());
        at!(level, Tower::of(self.into_base().scatter_add(&bases(ix), v.base())), scatter_add(&self, ix, v))
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        at!(highest(parts), Tower::of(T::concat(axis, &bases(parts))), concat(axis, parts))
    }

    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        loops::map_accum((n, reverse, init, xs), step)
    }

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        at!(highest(args), of_all(T::call(op, &bases(args))), call(op, args))
    }

    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        at!(highest(args), of_all(T::custom(rule, &bases(args))), custom(rule, args))
    }

    /// A function with arguments of a lower level than the innermost differentiation may capture values of that level,
    /// so it runs as a plain function.
    fn again(f: &Again<Self>, args: &[Self]) -> Vec<Self> {
        let level = highest(args);
        if running() != level.number() {
            return f(args);
        }
        let at_base = || {
            let f = f.clone();
            let inside: Again<T> =
                Rc::new(move |args| f(&of_all(args.to_vec())).into_iter().map(Tower::into_base).collect());
            of_all(T::again(&inside, &bases(args)))
        };
        at!(level, at_base(), again(f, args))
    }

    /// If nothing has a derivative, this is the loop of `T`.
    ///
    /// # Panics
    /// When a loop without a bound has a derivative, and its end is not known.
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        let known = !T::records() && init[0].peek().is_some();
        if let (Some(most), true, true) = (most, known, Self::runs_all_trips()) {
            return Self::map_accum(most, false, init, &[], &mut |carry, _| (held(carry, step), Vec::new())).0;
        }
        let mut still = highest(&init) == Level::Base && (!known || running() == 0);
        if still {
            let carry = T::repeat(most, bases(&init), &mut |carry| {
                let next = step(of_all(carry));
                still &= highest(&next) == Level::Base;
                bases(&next)
            });
            if still {
                return of_all(carry);
            }
        }
        if most.is_none() && init[0].peek().is_none() {
            mistake(UNBOUNDED);
        }
        repeated(most, init, step)
    }

    fn accumulate(self, other: &Self) -> Self {
        let level = self.level().max(other.level());
        at!(level, Tower::of(self.into_base().accumulate(other.base())), accumulate(self, other))
    }

    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        let level = self.level().max(other.level());
        let base = |x: Self| Tower::of(x.into_base().accumulate_linear(op, other.base()));
        at!(level, base(self), accumulate_linear(self, op, other))
    }
}

impl<T: BaseTensor> Staging for Tower<T> {
    fn recorded(self) -> Term {
        match self.value {
            Value::Base(t) => t.recorded(),
            Value::Forward(..) | Value::Reverse(..) => Term::captured(self),
        }
    }

    fn captured(term: &Term) -> Option<Self> {
        term.captured_value().or_else(|| T::captured(term).map(Tower::of))
    }

    fn evaluated(program: &Program, inputs: Vec<Self>) -> Vec<Self> {
        if highest(&inputs) == Level::Base {
            return of_all(T::evaluated(program, inputs.into_iter().map(Tower::into_base).collect()));
        }
        interpret(program, inputs)
    }

    fn observes() -> bool {
        T::observes()
    }

    fn runs_once() -> bool {
        T::runs_once()
    }

    fn runs_all_trips() -> bool {
        adval::in_a_loop() || T::runs_all_trips()
    }

    fn records() -> bool {
        T::records()
    }
}

impl<T: BaseTensor> Report for Tower<T> {
    fn peek(&self) -> Option<Array> {
        self.base().peek()
    }

    fn site(&self) -> Site {
        self.base().site()
    }

    fn attribute(to: Site) -> Site {
        T::attribute(to)
    }
}

impl<T: BaseTensor, U: Enter<T>> Lift<T> for Tower<U> {
    fn lift(t: T) -> Self {
        Tower::of(U::enter(t))
    }
}

impl<T: BaseTensor, U: Lift<T, I>, I: Distance> Lift<T, Beyond<I>> for Tower<U> {
    fn lift(t: T) -> Self {
        Tower::of(U::lift(t))
    }
}

/// The value, without its derivatives.
impl<T: BaseTensor + std::fmt::Display> std::fmt::Display for Tower<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.base().fmt(f)
    }
}
