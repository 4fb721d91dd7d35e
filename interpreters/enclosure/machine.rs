//! Intervals as numbers of the machine in which algorithms on matrices are written.
//!
//! Law: where the numbers of a matrix are within its intervals, the results are within those of a run whose decisions are
//! those of the algorithm at these numbers; so the results of the runs for all decisions together contain all results. A
//! comparison is open if it holds for some numbers of its intervals and not for others, and is decided where control or
//! an integer depends on it. A choice between two numbers is their hull, without a decision, unless the hull contains a
//! zero that neither of them does.

use std::cell::{Cell, RefCell};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, RangeFrom, Sub};

use polygrad_math::{Arithmetic, Machine, Mask};

use super::Cell as _;
use super::interval::Interval;
use super::matrix::{minus, sum};
use super::rows;
use crate::dtype::DType;
use crate::kernels::matrix::exponential;
use crate::kernels::matrix::machine::{Direct, DirectNumber, SetMembers, UniformMachine};
use crate::ops::Unary;

/// The most runs of an algorithm.
const RUNS: usize = 64;

/// The decisions of a run.
#[derive(Default)]
pub(super) struct Decisions {
    /// What is decided, in the order of need: first what was before this run.
    path: RefCell<Vec<bool>>,
    made: Cell<usize>,
    /// What is decided of each open comparison.
    open: RefCell<Vec<Option<bool>>>,
}

impl Decisions {
    fn comparison(&self) -> IntervalMask<'_> {
        let mut open = self.open.borrow_mut();
        open.push(None);
        IntervalMask::Open { of: self, number: open.len() - 1, negated: false }
    }

    fn decide(&self, number: usize) -> bool {
        let mut open = self.open.borrow_mut();
        *open[number].get_or_insert_with(|| {
            let (mut path, made) = (self.path.borrow_mut(), self.made.replace(self.made.get() + 1));
            if made == path.len() {
                path.push(false);
            }
            path[made]
        })
    }

    /// A number of this run.
    pub(super) fn number(&self, x: Interval) -> IntervalNumber<'_> {
        IntervalNumber { x, of: Some(self) }
    }
}

/// The hulls of the results of all runs, and the number of runs; `None` if these are many.
pub(super) fn all_runs(run: impl Fn(&Decisions) -> Vec<Vec<Interval>>) -> Option<(Vec<Vec<Interval>>, usize)> {
    let (mut decisions, mut all) = (Decisions::default(), None::<Vec<Vec<Interval>>>);
    for runs in 1..=RUNS {
        let mut found = run(&decisions);
        for (found, before) in found.iter_mut().zip(all.iter().flatten()) {
            found.iter_mut().zip(before).for_each(|(x, y)| *x = x.hull(*y));
        }
        all = Some(found);
        let mut path = decisions.path.take();
        while path.pop_if(|last| *last).is_some() {}
        match path.last_mut() {
            Some(last) => *last = true,
            None => return all.map(|all| (all, runs)),
        }
        decisions = Decisions { path: RefCell::new(path), ..Decisions::default() };
    }
    None
}

/// What a comparison gives.
#[derive(Clone, Copy)]
pub(super) enum IntervalMask<'d> {
    Known(bool),
    Open { of: &'d Decisions, number: usize, negated: bool },
}

impl IntervalMask<'_> {
    /// The truth value, if it is known or decided.
    fn known(self) -> Option<bool> {
        match self {
            IntervalMask::Known(x) => Some(x),
            IntervalMask::Open { of, number, negated } => of.open.borrow()[number].map(|x| x != negated),
        }
    }

    fn decided(self) -> bool {
        match self {
            IntervalMask::Known(x) => x,
            IntervalMask::Open { of, number, negated } => of.decide(number) != negated,
        }
    }
}

impl Not for IntervalMask<'_> {
    type Output = Self;
    fn not(self) -> Self {
        match self {
            IntervalMask::Known(x) => IntervalMask::Known(!x),
            IntervalMask::Open { of, number, negated } => IntervalMask::Open { of, number, negated: !negated },
        }
    }
}

impl BitAnd for IntervalMask<'_> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        match (self.known(), other.known()) {
            (Some(false), _) | (_, Some(false)) => IntervalMask::Known(false),
            (Some(true), _) => other,
            (_, Some(true)) => self,
            (None, None) => IntervalMask::Known(self.decided() && other.decided()),
        }
    }
}

impl BitOr for IntervalMask<'_> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        !(!self & !other)
    }
}

impl Mask for IntervalMask<'_> {}

/// An interval, and the run in which it is a number: of constants, none.
#[derive(Clone, Copy)]
pub(super) struct IntervalNumber<'d> {
    pub(super) x: Interval,
    of: Option<&'d Decisions>,
}

impl<'d> IntervalNumber<'d> {
    fn with(self, other: Self, f: impl FnOnce(Interval, Interval) -> Interval) -> Self {
        IntervalNumber { x: f(self.x, other.x), of: self.of.or(other.of) }
    }

    /// A comparison, by whether it certainly holds for numbers, and whether it certainly does not.
    fn compared(self, other: Self, holds: bool, fails: bool) -> IntervalMask<'d> {
        match (holds && !self.x.nan && !other.x.nan, fails) {
            (true, _) => IntervalMask::Known(true),
            (false, true) => IntervalMask::Known(false),
            (false, false) => self.of.or(other.of).expect("constants are known").comparison(),
        }
    }

    fn unary(self, op: Unary) -> Self {
        IntervalNumber { x: rows::unary(op, self.x, DType::F64), ..self }
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident $f:expr;)*) => { $(
        impl $Trait for IntervalNumber<'_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.with(other, $f)
            }
        }
    )* };
}

operators! {
    Add add |x, y| sum([x, y].into_iter());
    Sub sub minus;
    Mul mul Interval::product;
    Div div Interval::quotient;
}

impl Neg for IntervalNumber<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        IntervalNumber { x: self.x.negated(), ..self }
    }
}

impl<'d> Arithmetic for IntervalNumber<'d> {
    type Mask = IntervalMask<'d>;

    fn literal(x: f64) -> Self {
        IntervalNumber { x: Interval::point(x), of: None }
    }
    fn magnitude(self) -> Self {
        let [lo, hi] = self.x.magnitudes();
        IntervalNumber { x: Interval { lo, hi, nan: self.x.nan }, ..self }
    }
    fn root(self) -> Self {
        self.unary(Unary::Sqrt)
    }
    /// Products are exact.
    fn product_error<M: Machine>(_: Self, _: Self, _: Self) -> Self {
        Self::literal(0.0)
    }
    fn below(self, other: Self) -> Self::Mask {
        self.compared(other, self.x.hi < other.x.lo, self.x.lo >= other.x.hi)
    }
    fn at_most(self, other: Self) -> Self::Mask {
        self.compared(other, self.x.hi <= other.x.lo, self.x.lo > other.x.hi)
    }
    fn above(self, other: Self) -> Self::Mask {
        other.below(self)
    }
    fn at_least(self, other: Self) -> Self::Mask {
        other.at_most(self)
    }
    fn equals(self, other: Self) -> Self::Mask {
        let (known, apart) = (self.x.known(), self.x.hi < other.x.lo || other.x.hi < self.x.lo);
        self.compared(other, known.is_some() && known == other.x.known(), apart)
    }
    fn is_not_a_number(self) -> Self::Mask {
        if self.x.nan { self.compared(self, false, false) } else { IntervalMask::Known(false) }
    }
    fn select(mask: Self::Mask, x: Self, y: Self) -> Self {
        let of = x.of.or(y.of).or(if let IntervalMask::Open { of, .. } = mask { Some(of) } else { None });
        let hull = x.x.hull(y.x);
        let has_new_zero = hull.holds(0.0) && !x.x.holds(0.0) && !y.x.holds(0.0);
        let known = mask.known().or_else(|| has_new_zero.then(|| mask.decided()));
        IntervalNumber { x: known.map_or(hull, |first| if first { x.x } else { y.x }), of }
    }
}

impl<'d> DirectNumber for IntervalNumber<'d> {
    type Int = i64;

    const EPSILON: f64 = f64::EPSILON;

    fn any(mask: IntervalMask<'d>) -> bool {
        mask.decided()
    }
    fn mask(x: bool) -> IntervalMask<'d> {
        IntervalMask::Known(x)
    }
    fn int(x: usize) -> i64 {
        x as i64
    }
    fn zip(x: i64, y: i64, f: impl Fn(i64, i64) -> i64) -> i64 {
        f(x, y)
    }
    fn compare(x: i64, y: i64, f: impl Fn(i64, i64) -> bool) -> IntervalMask<'d> {
        IntervalMask::Known(f(x, y))
    }
    fn select_int(mask: IntervalMask<'d>, x: i64, y: i64) -> i64 {
        if mask.decided() { x } else { y }
    }
    fn ln(self) -> Self {
        self.unary(Unary::Ln)
    }
    /// Bounds are so far from the ends of the range that no number is divided by a power of two.
    fn exponent(self) -> i64 {
        0
    }
    fn scaled(self, power: i64) -> Self {
        self * Self::literal(2f64.powi(power as i32))
    }
    fn of_int(x: i64) -> Self {
        Self::literal(x as f64)
    }
    fn are_finite(x: &[Self]) -> IntervalMask<'d> {
        x.iter().fold(IntervalMask::Known(true), |all, x| {
            let known = !(x.x.nan || x.x.has_infinity());
            all & if known { IntervalMask::Known(true) } else { x.compared(*x, false, false) }
        })
    }
}

impl<'d> UniformMachine for Direct<IntervalNumber<'d>> {
    type Trips = std::ops::Range<usize>;
    type Forever = RangeFrom<usize>;
    type Position = std::iter::Once<usize>;
    type Members = SetMembers;

    const APPROXIMANTS: &'static [(usize, f64)] = exponential::DOUBLE;

    fn trips(self, most: usize) -> std::ops::Range<usize> {
        0..most
    }
    /// Of an algorithm with such a loop, a run may not end: none is read.
    fn forever(self) -> RangeFrom<usize> {
        0..
    }
    fn leaves(self, mask: IntervalMask<'d>) -> bool {
        mask.decided()
    }
    fn position(self, x: i64, _: usize) -> std::iter::Once<usize> {
        std::iter::once(x as usize)
    }
    fn members(self, set: usize, _: usize) -> SetMembers {
        SetMembers::of(set)
    }
    fn exp(self, x: IntervalNumber<'d>) -> IntervalNumber<'d> {
        x.unary(Unary::Exp)
    }
    fn ceil(self, x: IntervalNumber<'d>) -> i64 {
        let [mut least, most] = [x.x.lo, x.x.hi].map(|x| x.ceil() as i64);
        while least < most && !x.compared(x, false, false).decided() {
            least += 1;
        }
        least
    }
    fn two_to(self, power: i64) -> IntervalNumber<'d> {
        IntervalNumber::literal(2f64.powi(power as i32))
    }
}
