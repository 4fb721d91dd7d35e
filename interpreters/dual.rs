//! `Dual<T>`: forward-mode differentiation over any interpreter `T`.
//!
//! A value is a primal and, unless the tangent is a known zero, a tangent. Every operation computes both, and nothing
//! is recorded. This is the first evaluator of derivatives of "Dual arrays", section 2.3, without the intermediate
//! term, and for arrays.
//!
//! Laws: the primal part equals the value at `T`. Integers and masks have no tangent. Tangents of two differentiations
//! of one level never mix: each tangent carries its level, and an operation on two different levels panics.

use std::sync::Arc;

use super::guarded::{self, Care, Side};
use super::level::{self, EARLIER_TRIP, ESCAPED, LevelFault, LevelId, Moving, Owner, Within, fresh};
use crate::array::Array;
use crate::base::{BaseTensor, Group, Over, Trip, TripFn, WhileFn, attributed, repeated};
use crate::dtype::DType;
use crate::linalg::rules;
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Partial, Property, Reduce, Unary};
use crate::program::cond::{decided, with_tangents_of_branches};
use crate::program::repeat::{WithTangents, held, with_tangents};
use crate::program::{Custom, Derivative, Program, Term, interpret};
use crate::shape::Show;

/// The common level of two tangents.
#[track_caller]
fn meet(a: LevelId, b: LevelId) -> LevelId {
    match a.meet(b) {
        Ok(level) => level,
        Err(fault) => panic!("{}", message(fault)),
    }
}

fn message(fault: LevelFault) -> &'static str {
    match fault {
        LevelFault::Mixed => MIXED,
        LevelFault::EarlierTrip => EARLIER_TRIP,
    }
}

const MIXED: &str = "jvp: values of this level may enter the function only as its argument, but tangents of two differentiations \
                     meet; lift the outer value from the level below";

/// A value of the interpreter `T` with its tangent.
///
/// Made by the verbs of [`crate::direct`]; a program sees it only as its `T: BaseTensor`.
///
/// Example: [`Forward`].
#[derive(Clone)]
pub struct Dual<T> {
    primal: T,
    tangent: Option<(LevelId, T)>,
    /// Whether the tangent has passed a partial that can be infinite or NaN: then products with it are guarded.
    steep: bool,
}

impl<T: BaseTensor> Dual<T> {
    /// The primal value.
    ///
    /// Example: [`Forward`].
    pub fn primal(&self) -> &T {
        &self.primal
    }

    /// Whether the tangent is a known zero.
    pub(super) fn is_constant(&self) -> bool {
        self.tangent.is_none()
    }

    /// The primal, and the tangent unless it is a known zero.
    pub(super) fn parts(&self) -> (&T, Option<&T>) {
        (&self.primal, self.tangent.as_ref().map(|(_, t)| t))
    }

    fn constant_of(primal: T) -> Self {
        Dual { primal, tangent: None, steep: false }
    }

    /// A primal with a tangent that is computed from finite partials.
    fn of(primal: T, tangent: Option<(LevelId, T)>) -> Self {
        Dual { primal, tangent, steep: false }
    }

    /// The products with the tangent that are guarded.
    fn care(&self) -> Care {
        if self.steep { Care::Rows } else { Care::None }
    }

    /// A primal with a tangent that is computed from the tangent of this value.
    fn along(&self, primal: T, f: impl FnOnce(&T) -> T) -> Self {
        let site = primal.site();
        let tangent = self.tangent.as_ref().map(|(level, t)| (*level, attributed::<T, T>(site, || f(t))));
        Dual::of(primal, tangent).steep_if(self.steep)
    }

    fn zero(&self) -> T {
        T::zeros(self.primal.shape(), self.primal.dtype())
    }

    fn tangent_or_zero(&self) -> T {
        self.tangent.as_ref().map_or_else(|| self.zero(), |(_, t)| t.clone())
    }
}

impl<T: BaseTensor> Moving<T> for Dual<T> {
    fn level(&self) -> LevelId {
        self.tangent.as_ref().map_or(LevelId::ANY, |(level, _)| *level)
    }

    fn grouped(self, moves: bool) -> Group<T> {
        let tangent = moves.then(|| self.tangent_or_zero());
        std::iter::once(self.primal).chain(tangent).collect()
    }

    fn of_group(group: Group<T>, level: LevelId) -> Self {
        let mut values = group.into_iter();
        let primal = values.next().expect("a dual number has a primal");
        Dual::of(primal, values.next().map(|t| (level, t)))
    }

    fn is_steep(&self) -> bool {
        self.steep
    }

    fn steep_if(self, steep: bool) -> Self {
        Dual { steep: steep && self.tangent.is_some(), ..self }
    }
}

/// A partial times a tangent.
fn scaled<T: BaseTensor>(partial: Partial<T>, tangent: &T, care: Care) -> T {
    guarded::scaled(&partial, tangent, care)
}

/// The sum of two tangents of one level.
#[track_caller]
fn sum<T: BaseTensor>(a: Option<(LevelId, T)>, b: Option<(LevelId, T)>) -> Option<(LevelId, T)> {
    match (a, b) {
        (Some((l, a)), Some((m, b))) => Some((meet(l, m), a.accumulate(&b))),
        (one, None) | (None, one) => one,
    }
}

fn primals<T: BaseTensor>(values: &[Dual<T>]) -> Vec<T> {
    values.iter().map(|v| v.primal.clone()).collect()
}

impl<T: BaseTensor> BaseTensor for Dual<T> {
    fn constant(a: Array) -> Self {
        Dual::constant_of(T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        self.primal.shape()
    }

    fn dtype(&self) -> DType {
        self.primal.dtype()
    }

    fn unary(&self, op: Unary) -> Self {
        let y = self.primal.unary(op);
        // No closure here, so that a derivative that does not exist is reported at the caller's line.
        let Some((level, x_dot)) = &self.tangent else { return Dual::constant_of(y) };
        let before = T::attribute(y.site());
        let tangent = scaled(op.derivative(&self.primal, &y), x_dot, self.care());
        T::attribute(before);
        Dual::of(y, Some((*level, tangent))).steep_if(self.steep || op.is(Property::Steep))
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let (x, y) = (&self.primal, &other.primal);
        let z = x.binary(op, y);
        let before = T::attribute(z.site());
        let left = self.tangent.as_ref().map(|(l, t)| (*l, scaled(op.partial_left(x, y, &z), t, self.care())));
        let right = other.tangent.as_ref().map(|(l, t)| (*l, scaled(op.partial_right(x, y, &z), t, other.care())));
        let tangent = sum(left, right);
        T::attribute(before);
        Dual::of(z, tangent).steep_if(self.steep || other.steep || op.is(Property::Steep))
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let args: smallvec::SmallVec<[&T; 2]> = args.iter().map(|a| &a.primal).collect();
        Dual::constant_of(T::discrete(op, &args))
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        let primal = T::select(&mask.primal, &then.primal, &otherwise.primal);
        if then.tangent.is_none() && otherwise.tangent.is_none() {
            return Dual::constant_of(primal);
        }
        let level = meet(then.level(), otherwise.level());
        let tangent = attributed::<T, T>(primal.site(), || {
            T::select(&mask.primal, &then.tangent_or_zero(), &otherwise.tangent_or_zero())
        });
        Dual::of(primal, Some((level, tangent))).steep_if(then.steep || otherwise.steep)
    }

    fn linear(&self, op: &Linear) -> Self {
        self.along(self.primal.linear(op), |t| t.linear(op))
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let primal = T::contract(op, &a.primal, &b.primal);
        let before = T::attribute(primal.site());
        let tangents = [(a, Side::Left), (b, Side::Right)].map(|(x, side)| {
            let (level, t) = x.tangent.as_ref()?;
            let (left, right) = if side == Side::Left { (t, &b.primal) } else { (&a.primal, t) };
            Some((*level, guarded::contract(op, [left, right], side, x.care(), true)))
        });
        let [left, right] = tangents;
        let tangent = sum(left, right);
        T::attribute(before);
        Dual::of(primal, tangent).steep_if(a.steep || b.steep)
    }

    /// Primal and tangent are read at the position of the extremum; without a tangent the position is not computed.
    fn reduce(&self, op: Reduce) -> Self {
        let x = &self.primal;
        if self.tangent.is_none() {
            return Dual::constant_of(x.reduce(op));
        }
        // Checked first, so that an error has the message of the reduction, not that of the gather.
        op.result((x.shape(), x.dtype()));
        let ix = op.indices(x.shape(), &T::discrete(&op.position(), &[x]));
        self.along(x.gather(&ix), |t| t.gather(&ix))
    }

    fn gather(&self, ix: &[Self]) -> Self {
        let ix = primals(ix);
        self.along(self.primal.gather(&ix), |t| t.gather(&ix))
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        let ix = primals(ix);
        let Dual { primal, tangent, steep } = self;
        let primal = primal.scatter_add(&ix, &v.primal);
        let before = T::attribute(primal.site());
        let tangent = match (tangent, &v.tangent) {
            (Some((l, base)), Some((m, t))) => Some((meet(l, *m), base.scatter_add(&ix, t))),
            (None, Some((m, t))) => Some((*m, T::zeros(primal.shape(), primal.dtype()).scatter_add(&ix, t))),
            (base, None) => base,
        };
        T::attribute(before);
        Dual::of(primal, tangent).steep_if(steep || v.steep)
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let primal = T::concat(axis, &primals(parts));
        if parts.iter().all(|p| p.tangent.is_none()) {
            return Dual::constant_of(primal);
        }
        let mut level = LevelId::ANY;
        for part in parts {
            level = meet(level, part.level());
        }
        let tangents: Vec<T> = parts.iter().map(Dual::tangent_or_zero).collect();
        let tangent = attributed::<T, T>(primal.site(), || T::concat(axis, &tangents));
        Dual::of(primal, Some((level, tangent))).steep_if(parts.iter().any(|part| part.steep))
    }

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        let primal = primals(args);
        let results = T::call(op, &primal);
        let mut level = LevelId::ANY;
        for arg in args {
            level = meet(level, arg.level());
        }
        if args.iter().all(|a| a.tangent.is_none()) {
            return results.into_iter().map(Dual::constant_of).collect();
        }
        let tangents: Vec<Option<T>> = args.iter().map(|a| a.tangent.as_ref().map(|(_, t)| t.clone())).collect();
        let site = results.first().map(T::site).unwrap_or_default();
        // No closure here, so that a derivative that does not exist is reported at the caller's line.
        let before = T::attribute(site);
        let tangents = rules::call(op, &primal, &results, &tangents);
        T::attribute(before);
        let steep = level::any_steep(args);
        let pair = |(k, (primal, t)): (usize, (T, Option<T>))| {
            Dual::of(primal, t.map(|t| (level, t))).steep_if(steep || op.is_steep(k))
        };
        results.into_iter().zip(tangents).enumerate().map(pair).collect()
    }

    /// Runs the rule for tangents; a function without rules runs as a plain function, since forward mode keeps no
    /// residuals.
    ///
    /// # Panics
    /// When the function has rules, and none for tangents.
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        let primal = primals(args);
        let still = args.iter().all(|a| a.tangent.is_none());
        if rule.is_checkpointed() && !still {
            return interpret(rule.primal(), args.to_vec());
        }
        if rule.is_while() && !still {
            return repeated_with_tangents(rule, args);
        }
        if let (Some(branches), false) = (rule.branches(), still) {
            return branched_with_tangents(rule, branches, args);
        }
        let results = T::custom(rule, &primal);
        let mut level = LevelId::ANY;
        for arg in args {
            level = meet(level, arg.level());
        }
        if still {
            return results.into_iter().map(Dual::constant_of).collect();
        }
        let steep = level::any_steep(args);
        if let Some(equations) = rule.solves() {
            let y = results.into_iter().next();
            return y
                .map(|y| {
                    let tangent = solved(rule, &equations.moved, args, &y);
                    Dual::of(y, Some((level, tangent))).steep_if(steep)
                })
                .into_iter()
                .collect();
        }
        let jvp = match rule.require_jvp() {
            Ok(jvp) => jvp,
            Err(message) => panic!("{message}"),
        };
        let tangents = args.iter().map(Dual::tangent_or_zero);
        let inputs = primal.iter().cloned().chain(results.iter().cloned()).chain(tangents).collect();
        let site = results.first().map(T::site).unwrap_or_default();
        let tangents = attributed::<T, Vec<T>>(site, || interpret(jvp, inputs));
        let pair = |(primal, t): (T, T)| {
            let tangent = primal.dtype().is_float().then_some((level, t));
            Dual::of(primal, tangent).steep_if(steep)
        };
        results.into_iter().zip(tangents).map(pair).collect()
    }

    /// One loop of `T` over primals and tangents side by side.
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        match level::map_accum((n, reverse), init, xs, step) {
            Ok(results) => results,
            Err(fault) => panic!("{}", message(fault)),
        }
    }

    /// If values are unknown and nothing has a tangent, this is the loop of `T`.
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        let known = !T::records() && init[0].primal.peek().is_some();
        if let (Some(most), true, true) = (most, known, T::runs_all_trips()) {
            return Self::map_accum(most, false, init, &[], &mut |carry, _| (held(carry, step), Vec::new())).0;
        }
        let by_host = known || init.iter().any(|c| c.tangent.is_some());
        let mut still = !by_host;
        if still {
            let values = init.iter().map(|c| c.primal.clone()).collect();
            let carry = T::repeat(most, values, &mut |carry| {
                let next = step(carry.into_iter().map(Dual::constant_of).collect());
                still &= next.iter().all(|c| c.tangent.is_none());
                next.into_iter().map(|c| c.primal).collect()
            });
            if still {
                return carry.into_iter().map(Dual::constant_of).collect();
            }
        }
        repeated(most, init, step)
    }

    fn accumulate(self, other: &Self) -> Self {
        let Dual { primal, tangent, steep } = self;
        let primal = primal.accumulate(&other.primal);
        let before = T::attribute(primal.site());
        let tangent = sum(tangent, other.tangent.clone());
        T::attribute(before);
        Dual::of(primal, tangent).steep_if(steep || other.steep)
    }

    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        let Dual { primal, tangent, steep } = self;
        let primal = primal.accumulate_linear(op, &other.primal);
        let before = T::attribute(primal.site());
        let tangent = match (tangent, &other.tangent) {
            (Some((l, base)), Some((m, t))) => Some((meet(l, *m), base.accumulate_linear(op, t))),
            (None, Some((m, t))) => Some((*m, t.linear(op))),
            (base, None) => base,
        };
        T::attribute(before);
        Dual::of(primal, tangent).steep_if(steep || other.steep)
    }
}

impl<T: BaseTensor> Over for Dual<T> {
    type Base = T;

    fn base(&self) -> &T {
        &self.primal
    }

    fn of_base(value: T) -> Self {
        Dual::constant_of(value)
    }
}

/// # Panics
/// When primal and tangent differ in shape or element type.
#[track_caller]
pub(crate) fn fits<T: BaseTensor>(primal: &T, tangent: &T) {
    if primal.shape() != tangent.shape() || primal.dtype() != tangent.dtype() {
        panic!(
            "jvp: a tangent must have the shape and element type of its argument, but the argument is {} {} and the tangent {} {}; \
             map the argument to its tangent",
            primal.dtype(),
            Show(primal.shape()),
            tangent.dtype(),
            Show(tangent.shape())
        );
    }
}

/// One forward differentiation: makes inputs, and reads the tangents of results.
///
/// ```
/// use polygrad::interpreters::dual::Forward;
/// use polygrad::{Array, BaseTensor, Dual, ops::Unary};
/// let forward = Forward::new();
/// let x: Dual<Array> = forward.input(&Array::scalar(3.0), &Array::scalar(10.0));
/// let y = x.unary(Unary::Square);
/// assert_eq!(y.primal(), &Array::scalar(9.0));
/// assert_eq!(forward.result(&y), (Array::scalar(9.0), Array::scalar(60.0)));
/// assert!(forward.try_result(&x).is_ok() && Forward::new().try_result(&x).is_err());
/// // The tangent of an integer is ignored, and a constant has the tangent 0.
/// let n = forward.input(&Array::scalar(3_i64), &Array::scalar(10_i64));
/// assert_eq!(forward.result(&n), (Array::scalar(3_i64), Array::scalar(0_i64)));
/// assert_eq!(forward.result(&Dual::constant(Array::scalar(3.0))), (Array::scalar(3.0), Array::scalar(0.0)));
/// ```
pub struct Forward {
    number: u64,
}

impl Default for Forward {
    fn default() -> Self {
        Forward::new()
    }
}

impl Forward {
    /// A new differentiation.
    ///
    /// Example: [`Forward`].
    pub fn new() -> Self {
        Forward { number: fresh() }
    }

    /// An input with its tangent; the tangent of an integer or mask is ignored.
    ///
    /// Example: [`Forward`].
    ///
    /// # Panics
    /// When primal and tangent differ in shape or element type.
    #[track_caller]
    pub fn input<T: BaseTensor>(&self, primal: &T, tangent: &T) -> Dual<T> {
        fits(primal, tangent);
        let level = LevelId { owner: Owner::Sweep(self.number), within: Within::NO_LOOP };
        let tangent = primal.dtype().is_float().then(|| (level, tangent.clone()));
        Dual::of(primal.clone(), tangent)
    }

    /// Primal and tangent of a result; zeros if the result depends on no input.
    ///
    /// Example: [`Forward`].
    ///
    /// # Panics
    /// When the tangent belongs to another differentiation, or to a variable of a loop.
    #[track_caller]
    pub fn result<T: BaseTensor>(&self, result: &Dual<T>) -> (T, T) {
        match self.try_result(result) {
            Ok(both) => both,
            Err(message) => panic!("{message}"),
        }
    }

    /// [`result`](Forward::result), with the message as an error.
    ///
    /// Example: [`Forward`].
    ///
    /// # Errors
    /// When the tangent belongs to another differentiation, or to a variable of a loop.
    pub fn try_result<T: BaseTensor>(&self, result: &Dual<T>) -> Result<(T, T), String> {
        let level = result.level();
        if level.within.start > self.number {
            return Err(String::from(ESCAPED));
        }
        match Owner::Sweep(self.number).meet(level.owner) {
            Some(_) => Ok((result.primal.clone(), result.tangent_or_zero())),
            None => Err(String::from(MIXED)),
        }
    }
}

/// A function that repeats its program, with tangents next to the values that move.
fn repeated_with_tangents<T: BaseTensor>(rule: &Custom, args: &[Dual<T>]) -> Vec<Dual<T>> {
    let mut level = LevelId::ANY;
    for arg in args {
        level = meet(level, arg.level());
    }
    let apart = |arg: &Dual<T>| (arg.primal.clone(), arg.tangent.as_ref().map(|(_, dot)| dot.clone()));
    let values = WithTangents { pairs: args.iter().map(apart).collect(), steep: level::any_steep(args) };
    let results = with_tangents(rule, |moving, steep| Derivative::Paired { moving, steep }, values, &trip);
    let pair = |(primal, dot): (T, Option<T>)| Dual::of(primal, dot.map(|dot| (level, dot))).steep_if(results.steep);
    results.pairs.into_iter().map(pair).collect()
}

/// A conditional for dual numbers: the branch that a known mask chooses, and otherwise a conditional whose branches carry
/// tangents beside values.
fn branched_with_tangents<T: BaseTensor>(rule: &Custom, branches: [&Program; 2], args: &[Dual<T>]) -> Vec<Dual<T>> {
    if let Some(holds) = decided(&args[0].primal) {
        return interpret(branches[usize::from(!holds)], args[1..].to_vec());
    }
    let mut level = LevelId::ANY;
    for arg in args {
        level = meet(level, arg.level());
    }
    let apart = |arg: &Dual<T>| (arg.primal.clone(), arg.tangent.as_ref().map(|(_, dot)| dot.clone()));
    let values = WithTangents { pairs: args.iter().map(apart).collect(), steep: level::any_steep(args) };
    let key = |moving, steep| Derivative::Paired { moving, steep };
    let results = with_tangents_of_branches((rule, branches), key, values, &trip);
    let pair = |(primal, dot): (T, Option<T>)| Dual::of(primal, dot.map(|dot| (level, dot))).steep_if(results.steep);
    results.pairs.into_iter().map(pair).collect()
}

/// One trip of a function that repeats its program, or one branch of a conditional.
fn trip(program: &Program, args: WithTangents<Term>) -> WithTangents<Term> {
    let sweep = Forward::new();
    let dual = |(x, dot): (Term, Option<Term>)| match dot {
        Some(dot) => sweep.input(&x, &dot).steep_if(args.steep),
        None => Dual::constant_of(x),
    };
    let results = interpret(program, args.pairs.into_iter().map(dual).collect());
    let steep = level::any_steep(&results);
    let pairs = results.into_iter().map(|y| (y.primal, y.tangent.map(|(_, dot)| dot))).collect();
    WithTangents { pairs, steep }
}

/// The tangent of a solution `y` of linear equations: `a^-1 (b_dot - a_dot y)`.
fn solved<T: BaseTensor>(rule: &Arc<Custom>, moved: &Program, args: &[Dual<T>], y: &T) -> T {
    let (given, right) = args.split_at(args.len() - 1);
    attributed::<T, T>(y.site(), || {
        let mut right_dot = right[0].tangent_or_zero();
        if given.iter().any(|a| a.tangent.is_some()) {
            let tangents = given.iter().map(Dual::tangent_or_zero);
            let change = interpret(moved, primals(given).into_iter().chain([y.clone()]).chain(tangents).collect());
            right_dot = right_dot.binary(Binary::Sub, &change[0]);
        }
        T::custom(rule, &[primals(given), vec![right_dot]].concat()).swap_remove(0)
    })
}
