//! `Jet<T>`: Taylor series over any interpreter `T`.
//!
//! A value is a truncated power series in `t`, up to the order of the expansion: a primal, and the coefficients of `t`,
//! `t^2`, .. unless they are known zeros. Every operation computes the coefficients of its result, so a program run on
//! `x + v t` gives all derivatives along `v` at once, at a cost that grows as the square of the order. This is the
//! Taylor mode that "Dual arrays", section 2.2, names as future work; the method is that of A. Griewank and A. Walther,
//! "Evaluating Derivatives" (2008), chapter 13, with recurrences derived from the tables of rows (the module `series`).
//!
//! Laws: the primal part equals the value at `T`; coefficient `k` is the `k`-th derivative along `t`, divided by `k!`.
//! Integers and masks have no coefficients. Series of two expansions of one level never mix. The module `collapsed` has
//! series along several directions, of whose second coefficients only the sum is kept.

mod collapsed;
mod series;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::guarded::{self, Care, Side};
use super::level::{self, EARLIER_TRIP, ESCAPED, LevelFault, LevelId, Moving, Owner, Within, fresh};
use crate::array::Array;
use crate::base::{BaseTensor, Group, Over, Trip, TripFn, WhileFn, attributed, repeated};
use crate::dtype::DType;
use crate::linalg::rules;
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Matrix, Property, Reduce, Unary};
use crate::program::repeat::held;
use crate::program::{Custom, NodeId, Op, Program, interpret};
use crate::shape::Show;
pub(crate) use collapsed::{Collapsed, Directions};
use series::{convolved, scaled, select};

/// The coefficients of a series, the primal first; `None` is zero.
type Coefficients<T> = Vec<Option<T>>;

/// A value of the interpreter `T` with its Taylor coefficients.
///
/// Made by [`taylor`](crate::taylor()) and its relatives; a program sees it only as its `T: BaseTensor`.
///
/// Example: [`Expansion`].
#[derive(Clone)]
pub struct Jet<T> {
    primal: T,
    /// The coefficients of the powers from 1 on.
    rest: Option<(LevelId, Rc<[Option<T>]>)>,
    /// Whether the coefficients can be infinite or NaN where the primal is finite: then products with them are guarded.
    steep: bool,
}

thread_local! {
    /// The running expansions of this thread, with their orders.
    static RUNNING: RefCell<Vec<(u64, usize)>> = const { RefCell::new(Vec::new()) };
}

/// The order of a series whose expansion is not known yet: the highest order of all running expansions.
fn highest() -> usize {
    RUNNING.with_borrow(|running| running.iter().map(|(_, order)| *order).max().unwrap_or(0))
}

const MIXED: &str = "taylor: values of this level may enter the function only as its argument, but series of two expansions meet; \
                     lift the outer value from the level below";

fn message(fault: LevelFault) -> &'static str {
    match fault {
        LevelFault::Mixed => MIXED,
        LevelFault::EarlierTrip => EARLIER_TRIP,
    }
}

/// The common level of values.
#[track_caller]
fn common<'a, T: BaseTensor>(values: impl IntoIterator<Item = &'a Jet<T>>) -> LevelId {
    let mut level = LevelId::ANY;
    for value in values {
        match level.meet(value.level()) {
            Ok(both) => level = both,
            Err(fault) => panic!("{}", message(fault)),
        }
    }
    level
}

fn primals<T: BaseTensor>(values: &[Jet<T>]) -> Vec<T> {
    values.iter().map(|v| v.primal.clone()).collect()
}

impl<T: BaseTensor> Jet<T> {
    /// The primal value.
    ///
    /// Example: [`Expansion`].
    pub fn primal(&self) -> &T {
        &self.primal
    }

    fn constant_of(primal: T) -> Self {
        Jet { primal, rest: None, steep: false }
    }

    fn of(primal: T, level: LevelId, rest: impl IntoIterator<Item = Option<T>>) -> Self {
        let rest: Rc<[Option<T>]> = rest.into_iter().collect();
        let moves = rest.iter().any(Option::is_some);
        Jet { primal, rest: moves.then_some((level, rest)), steep: false }
    }

    /// The highest power that has a coefficient.
    fn order(&self) -> usize {
        self.rest.as_ref().map_or(0, |(_, rest)| rest.len())
    }

    /// The coefficient of `t^k`, for `k > 0`.
    fn coefficient(&self, k: usize) -> Option<&T> {
        self.rest.as_ref().and_then(|(_, rest)| rest.get(k - 1)?.as_ref())
    }

    fn coefficients(&self, order: usize) -> Coefficients<T> {
        let rest = (1..=order).map(|k| self.coefficient(k).cloned());
        std::iter::once(Some(self.primal.clone())).chain(rest).collect()
    }

    /// A primal, with coefficients that are computed one by one from those of this value.
    fn along(&self, primal: T, f: impl Fn(&T) -> T) -> Self {
        let Some((level, rest)) = &self.rest else { return Jet::constant_of(primal) };
        let site = primal.site();
        let rest = attributed::<T, Vec<Option<T>>>(site, || rest.iter().map(|c| c.as_ref().map(&f)).collect());
        Jet::of(primal, *level, rest).steep_if(self.steep)
    }

    /// A value whose coefficient `k` is computed from the coefficients `k` of operands.
    #[track_caller]
    fn each<'a>(
        primal: T,
        operands: impl IntoIterator<Item = &'a Self> + Clone,
        mut f: impl FnMut(usize) -> Option<T>,
    ) -> Self {
        let order = operands.clone().into_iter().map(Jet::order).max().unwrap_or(0);
        if order == 0 {
            return Jet::constant_of(primal);
        }
        let level = common(operands.clone());
        let steep = operands.into_iter().any(|x| x.steep);
        let before = T::attribute(primal.site());
        let rest: Vec<Option<T>> = (1..=order).map(&mut f).collect();
        T::attribute(before);
        Jet::of(primal, level, rest).steep_if(steep)
    }

    /// An elementwise operation: a row of a table.
    #[track_caller]
    fn row(op: &Op<NodeId>, primal: T, operands: &[&Self]) -> Self {
        let order = operands.iter().map(|x| x.order()).max().unwrap_or(0);
        if order == 0 {
            return Jet::constant_of(primal);
        }
        let level = common(operands.iter().copied());
        let row = if let Op::Unary(op, _) = op { op.is(Property::Steep) } else { false };
        let row = row || if let Op::Binary(op, ..) = op { op.is(Property::Steep) } else { false };
        let steep = row || operands.iter().any(|x| x.steep);
        let operands: Vec<Coefficients<T>> = operands.iter().map(|x| x.coefficients(order)).collect();
        // No closure here, so that a derivative that does not exist is reported at the caller's line.
        let before = T::attribute(primal.site());
        let all = series::elementwise(op, &primal, &operands, order, if steep { Care::Products } else { Care::None });
        T::attribute(before);
        Jet::of(primal, level, all.into_iter().skip(1)).steep_if(steep)
    }

    /// The series truncated to a lower order.
    fn truncated(&self, order: usize) -> Self {
        match &self.rest {
            Some((level, rest)) if order > 0 => {
                Jet::of(self.primal.clone(), *level, rest.iter().take(order).cloned()).steep_if(self.steep)
            }
            Some(_) | None => Jet::constant_of(self.primal.clone()),
        }
    }

    /// The derivative in `t`, up to this order; `None` if it is zero there.
    fn slope(&self, order: usize) -> Option<Self> {
        let (level, _) = self.rest.as_ref()?;
        let dot = |k: usize| self.coefficient(k + 1).map(|c| scaled(c, (k + 1) as f64));
        let first = dot(0).unwrap_or_else(|| T::zeros(self.primal.shape(), self.primal.dtype()));
        Some(Jet::of(first, *level, (1..=order).map(dot)).steep_if(self.steep))
    }
}

/// The results of a function with a rule for tangents. The rule at series of one order less gives the derivatives of
/// the results, so one more coefficient; it runs once for each coefficient.
#[track_caller]
fn by_rule<T: BaseTensor>(args: &[Jet<T>], results: Vec<T>, rule: Rule<'_, T>) -> Vec<Jet<T>> {
    let order = args.iter().map(Jet::order).max().unwrap_or(0);
    if order == 0 {
        return results.into_iter().map(Jet::constant_of).collect();
    }
    let level = common(args);
    let site = results.first().map(T::site).unwrap_or_default();
    let mut known: Vec<Jet<T>> = results.into_iter().map(Jet::constant_of).collect();
    let before = T::attribute(site);
    for k in 1..=order {
        let x: Vec<Jet<T>> = args.iter().map(|x| x.truncated(k - 1)).collect();
        let slopes: Vec<Option<Jet<T>>> = args.iter().map(|x| x.slope(k - 1)).collect();
        let next = rule(&x, &known, &slopes);
        for (y, slope) in known.iter_mut().zip(next) {
            let slope = slope.filter(|_| y.dtype().is_float());
            let last = slope.and_then(|slope| slope.coefficients(k - 1)[k - 1].clone());
            let rest = y.coefficients(k - 1).into_iter().skip(1).chain([last.map(|c| scaled(&c, 1.0 / k as f64))]);
            *y = Jet { primal: y.primal.clone(), rest: Some((level, rest.collect())), steep: y.steep };
        }
    }
    T::attribute(before);
    let steep = level::any_steep(args);
    let result =
        |y: Jet<T>| Jet::of(y.primal.clone(), level, y.coefficients(order).into_iter().skip(1)).steep_if(steep);
    known.into_iter().map(result).collect()
}

/// The tangents of results from operands, results and the tangents of operands.
type Rule<'a, T> = &'a dyn Fn(&[Jet<T>], &[Jet<T>], &[Option<Jet<T>>]) -> Vec<Option<Jet<T>>>;

/// The solution of linear equations: `a y = b` says of each power `a_0 y_k = b_k - sum a_j y_(k - j)`, so the rule for
/// tangents gives a term for each coefficient of `a`.
#[track_caller]
fn solution<T: BaseTensor>(op: &Call, args: &[Jet<T>], first: T) -> Jet<T> {
    let x = primals(args);
    let order = args.iter().map(Jet::order).max().unwrap_or(0);
    let level = common(args);
    let before = T::attribute(first.site());
    let mut known: Coefficients<T> = vec![Some(first.clone())];
    // The operands are a, b, and for the full matrix the factors of a.
    let right = 1;
    for k in 1..=order {
        let mut sum: Option<T> = None;
        for j in 1..=k {
            let tangent = |(at, arg): (usize, &Jet<T>)| arg.coefficient(j).filter(|_| at != right || j == k).cloned();
            let tangents: Vec<Option<T>> = args.iter().enumerate().map(tangent).collect();
            let y = known[k - j].clone().unwrap_or_else(|| T::zeros(first.shape(), first.dtype()));
            if tangents.iter().any(Option::is_some)
                && let Some(term) = rules::call(op, &x, &[y], &tangents).remove(0)
            {
                sum = Some(sum.map_or_else(|| term.clone(), |sum| sum.accumulate(&term)));
            }
        }
        known.push(sum);
    }
    T::attribute(before);
    Jet::of(first, level, known.into_iter().skip(1)).steep_if(level::any_steep(args))
}

/// The derivative in `t` of a solution `y` of linear equations: `a^-1 (b' - a' y)`.
fn solved<T: BaseTensor>(
    rule: &Arc<Custom>,
    moved: &Program,
    (x, y): (&[Jet<T>], &Jet<T>),
    dx: &[Option<Jet<T>>],
) -> Jet<T> {
    let slope = |(x, dx): (&Jet<T>, &Option<Jet<T>>)| dx.clone().unwrap_or_else(|| Jet::zeros(x.shape(), x.dtype()));
    let mut slopes: Vec<Jet<T>> = x.iter().zip(dx).map(slope).collect();
    let given = &x[..x.len() - 1];
    let mut right = slopes.pop().expect("equations have a right-hand side");
    if dx[..given.len()].iter().any(Option::is_some) {
        let inputs = given.iter().cloned().chain([y.clone()]).chain(slopes).collect();
        right = right.binary(Binary::Sub, &interpret(moved, inputs)[0]);
    }
    Jet::custom(rule, &[given, &[right]].concat()).swap_remove(0)
}

impl<T: BaseTensor> Moving<T> for Jet<T> {
    fn level(&self) -> LevelId {
        self.rest.as_ref().map_or(LevelId::ANY, |(level, _)| *level)
    }

    fn grouped(self, moves: bool) -> Group<T> {
        let order = if moves { highest() } else { 0 };
        let zero = || T::zeros(self.primal.shape(), self.primal.dtype());
        self.coefficients(order).into_iter().map(|c| c.unwrap_or_else(zero)).collect()
    }

    fn of_group(group: Group<T>, level: LevelId) -> Self {
        let mut values = group.into_iter();
        let primal = values.next().expect("a series has a primal");
        Jet::of(primal, level, values.map(Some))
    }

    fn is_steep(&self) -> bool {
        self.steep
    }

    fn steep_if(self, steep: bool) -> Self {
        Jet { steep: steep && self.rest.is_some(), ..self }
    }
}

impl<T: BaseTensor> BaseTensor for Jet<T> {
    fn constant(a: Array) -> Self {
        Jet::constant_of(T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        self.primal.shape()
    }

    fn dtype(&self) -> DType {
        self.primal.dtype()
    }

    fn unary(&self, op: Unary) -> Self {
        let y = self.primal.unary(op);
        if op == Unary::Neg {
            return self.along(y, |x| x.unary(Unary::Neg));
        }
        Jet::row(&Op::Unary(op, 0), y, &[self])
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let z = self.primal.binary(op, &other.primal);
        if op == Binary::Add {
            let sum = |k: usize| match (self.coefficient(k), other.coefficient(k)) {
                (Some(x), Some(y)) => Some(x.binary(Binary::Add, y)),
                (x, y) => x.or(y).cloned(),
            };
            return Jet::each(z, [self, other], sum);
        }
        Jet::row(&Op::Binary(op, 0, 1), z, &[self, other])
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let args: smallvec::SmallVec<[&T; 2]> = args.iter().map(|a| &a.primal).collect();
        Jet::constant_of(T::discrete(op, &args))
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        let primal = T::select(&mask.primal, &then.primal, &otherwise.primal);
        let choice = |k: usize| select(&mask.primal, &then.coefficient(k).cloned(), &otherwise.coefficient(k).cloned());
        Jet::each(primal, [then, otherwise], choice)
    }

    fn linear(&self, op: &Linear) -> Self {
        let y = self.primal.linear(op);
        if !y.dtype().is_float() {
            return Jet::constant_of(y);
        }
        self.along(y, |x| x.linear(op))
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let primal = T::contract(op, &a.primal, &b.primal);
        let order = a.order().max(b.order());
        let (x, y) = (a.coefficients(order), b.coefficients(order));
        let care = if a.steep || b.steep { Care::Rows } else { Care::None };
        let product = |x: &T, y: &T| guarded::contract(op, [x, y], Side::Left, care, true);
        Jet::each(primal, [a, b], |k| convolved(&x, &y, k, product))
    }

    /// All coefficients are read at the position of the extremum.
    fn reduce(&self, op: Reduce) -> Self {
        let x = &self.primal;
        if self.rest.is_none() {
            return Jet::constant_of(x.reduce(op));
        }
        // Checked first, so that an error has the message of the reduction, not that of the gather.
        op.result((x.shape(), x.dtype()));
        let ix = op.indices(x.shape(), &T::discrete(&op.position(), &[x]));
        self.along(x.gather(&ix), |c| c.gather(&ix))
    }

    fn gather(&self, ix: &[Self]) -> Self {
        let ix = primals(ix);
        self.along(self.primal.gather(&ix), |c| c.gather(&ix))
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        let ix = primals(ix);
        let primal = self.primal.clone().scatter_add(&ix, &v.primal);
        let zero = || T::zeros(primal.shape(), primal.dtype());
        let sum = |k: usize| match (self.coefficient(k), v.coefficient(k)) {
            (base, Some(v)) => Some(base.cloned().unwrap_or_else(zero).scatter_add(&ix, v)),
            (base, None) => base.cloned(),
        };
        Jet::each(primal.clone(), [&self, v], sum)
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let primal = T::concat(axis, &primals(parts));
        let together = |k: usize| {
            let zero = |part: &Self| T::zeros(part.shape(), part.dtype());
            let of = |part: &Self| part.coefficient(k).cloned().unwrap_or_else(|| zero(part));
            let moves = parts.iter().any(|part| part.coefficient(k).is_some());
            moves.then(|| T::concat(axis, &parts.iter().map(of).collect::<Vec<T>>()))
        };
        Jet::each(primal, parts, together)
    }

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        let results = T::call(op, &primals(args));
        if args.iter().all(|a| a.rest.is_none()) {
            return results.into_iter().map(Jet::constant_of).collect();
        }
        if let Call::Matrix(matrix) = op
            && matches!(matrix, Matrix::Solve { .. } | Matrix::SolveTriangular { .. })
        {
            return results.into_iter().map(|y| solution(op, args, y)).collect();
        }
        let results = by_rule(args, results, &|x, y, dx| rules::call(op, x, y, dx)).into_iter().enumerate();
        let marked = |(k, y): (usize, Self)| {
            let steep = y.steep || op.is_steep(k);
            y.steep_if(steep)
        };
        results.map(marked).collect()
    }

    /// Runs the rule for tangents at series; a function without rules runs as a plain function, since no residuals are
    /// kept.
    ///
    /// # Panics
    /// When the function has rules, and none for tangents.
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        if args.iter().all(|a| a.rest.is_none()) {
            return T::custom(rule, &primals(args)).into_iter().map(Jet::constant_of).collect();
        }
        if rule.has_no_rules() {
            return rule.value(args.to_vec());
        }
        if let Some(equations) = rule.solves() {
            let results = T::custom(rule, &primals(args));
            return by_rule(args, results, &|x, y, dx| vec![Some(solved(rule, &equations.moved, (x, &y[0]), dx))]);
        }
        let jvp = match rule.require_jvp() {
            Ok(jvp) => jvp,
            Err(message) => panic!("{message}"),
        };
        by_rule(args, T::custom(rule, &primals(args)), &|x, y, dx| {
            let zero = |x: &Self| Self::zeros(x.shape(), x.dtype());
            let tangents = x.iter().zip(dx).map(|(x, dx)| dx.clone().unwrap_or_else(|| zero(x)));
            let inputs = x.iter().cloned().chain(y.iter().cloned()).chain(tangents).collect();
            interpret(jvp, inputs).into_iter().map(Some).collect()
        })
    }

    /// One loop of `T` over primals and coefficients side by side.
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        match level::map_accum((n, reverse), init, xs, step) {
            Ok(results) => results,
            Err(fault) => panic!("{}", message(fault)),
        }
    }

    /// If values are unknown and no value has coefficients, this is the loop of `T`.
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        let known = !T::records() && init[0].primal.peek().is_some();
        if let (Some(most), true, true) = (most, known, T::runs_all_trips()) {
            return Self::map_accum(most, false, init, &[], &mut |carry, _| (held(carry, step), Vec::new())).0;
        }
        let mut still = !known && init.iter().all(|c| c.rest.is_none());
        if still {
            let carry = T::repeat(most, primals(&init), &mut |carry| {
                let next = step(carry.into_iter().map(Jet::constant_of).collect());
                still &= next.iter().all(|c| c.rest.is_none());
                next.into_iter().map(|c| c.primal).collect()
            });
            if still {
                return carry.into_iter().map(Jet::constant_of).collect();
            }
        }
        repeated(most, init, step)
    }
}

impl<T: BaseTensor> Over for Jet<T> {
    type Base = T;

    fn base(&self) -> &T {
        &self.primal
    }

    fn of_base(value: T) -> Self {
        Jet::constant_of(value)
    }
}

/// # Panics
/// When a coefficient differs from the primal in shape or element type.
#[track_caller]
pub(crate) fn fits<T: BaseTensor>(primal: &T, coefficient: &T) {
    if coefficient.shape() != primal.shape() || coefficient.dtype() != primal.dtype() {
        panic!(
            "taylor: a coefficient must have the shape and element type of its argument, but the argument is {} {} and the \
             coefficient {} {}; map the argument to its direction",
            primal.dtype(),
            Show(primal.shape()),
            coefficient.dtype(),
            Show(coefficient.shape())
        );
    }
}

/// One expansion: makes series, and reads the coefficients of results.
///
/// ```
/// use polygrad::interpreters::jet::Expansion;
/// use polygrad::{Array, BaseTensor, Jet, ops::Unary};
/// let expansion = Expansion::new(2);
/// // The curve `3 + t`; coefficients beyond the order are ignored, and those that are left out are 0.
/// let x: Jet<Array> = expansion.input(&[3.0, 1.0, 0.0, 7.0].map(Array::scalar));
/// assert_eq!(expansion.result(&x)?, expansion.result(&expansion.input(&[3.0, 1.0].map(Array::scalar)))?);
/// let y = x.unary(Unary::Square);
/// assert_eq!((y.primal(), expansion.result(&y)?), (&Array::scalar(9.0), [9.0, 6.0, 1.0].map(Array::scalar).to_vec()));
/// assert!(Expansion::new(2).result(&y).is_err());
/// # Ok::<(), &'static str>(())
/// ```
pub struct Expansion {
    number: u64,
    order: usize,
}

impl Drop for Expansion {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| running.retain(|(number, _)| *number != self.number));
    }
}

impl Expansion {
    /// A new expansion up to this power.
    ///
    /// Example: [`Expansion`].
    pub fn new(order: usize) -> Self {
        let number = fresh();
        RUNNING.with_borrow_mut(|running| running.push((number, order)));
        Expansion { number, order }
    }

    /// The series of these coefficients, the primal first; those of an integer or mask after the primal are ignored, as
    /// are those of powers beyond the order.
    ///
    /// Example: [`Expansion`].
    ///
    /// # Panics
    /// When the list of coefficients is empty, or they differ in shape or element type.
    #[track_caller]
    pub fn input<T: BaseTensor>(&self, coefficients: &[T]) -> Jet<T> {
        let [primal, rest @ ..] = coefficients else {
            panic!(
                "taylor: a curve needs a point, but the list of coefficients is empty; give at least the point at t = 0"
            )
        };
        for c in rest {
            fits(primal, c);
        }
        if !primal.dtype().is_float() {
            return Jet::constant_of(primal.clone());
        }
        let level = LevelId { owner: Owner::Sweep(self.number), within: Within::NO_LOOP };
        let rest = (0..self.order).map(|k| rest.get(k).cloned());
        Jet::of(primal.clone(), level, rest)
    }

    /// The coefficients of a result, from the power 0 to the order of the expansion.
    ///
    /// Example: [`Expansion`].
    ///
    /// # Errors
    /// When the series belongs to another expansion, or to a variable of a loop.
    pub fn result<T: BaseTensor>(&self, result: &Jet<T>) -> Result<Vec<T>, &'static str> {
        let level = result.level();
        if level.within.start > self.number {
            return Err(ESCAPED);
        }
        if Owner::Sweep(self.number).meet(level.owner).is_none() {
            return Err(MIXED);
        }
        let zero = || T::zeros(result.shape(), result.dtype());
        Ok(result.coefficients(self.order).into_iter().map(|c| c.unwrap_or_else(zero)).collect())
    }
}
