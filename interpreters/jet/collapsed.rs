//! `Collapsed<T>`: series to the second power along several directions, of whose second coefficients only the sum is
//! kept.
//!
//! A value is a primal, its derivatives along all directions as one stack, and the sum over the directions of its
//! second derivatives. The highest coefficient of an operation is linear in the highest coefficients of the operands,
//! so the sum over the directions moves in front of every operation:
//!
//! ```text
//! sum_r y_r'' = f'(x) (sum_r x_r'') + f''(x) sum_r (x_r')^2
//! ```
//!
//! This is collapsed Taylor mode (F. Dangel and others, arXiv 2505.13644); with the basis vectors as directions it is
//! the forward Laplacian (R. Li and others, arXiv 2307.08214).
//!
//! Law: the sum is that of twice the second coefficients of one [`Jet`] for each direction. An operation without a
//! formula here is that of `Jet`, in a loop over the directions.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::super::guarded::{self, Care, Side};
use super::super::level::{self, ESCAPED, LevelId, Moving, Owner, Within, fresh};
use super::series::{self, add, scaled, select};
use super::{Expansion, Jet, MIXED, message};
use crate::array::Array;
use crate::base::{BaseTensor, Group, Over, Trip, TripFn, WhileFn, repeat_grouped};
use crate::dtype::DType;
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Property, Reduce, Unary, View};
use crate::program::{Custom, CustomKind, Op};
use crate::shape::{Shape, Show};

/// A value of the interpreter `T`, with derivatives along directions and the sum of second derivatives.
#[derive(Clone)]
pub(crate) struct Collapsed<T> {
    primal: T,
    moving: Option<Rc<Coefficients<T>>>,
    /// Whether the derivatives can be infinite or NaN where the primal is finite: then products with them are guarded.
    steep: bool,
}

struct Coefficients<T> {
    level: LevelId,
    /// The derivatives along the directions, stacked along a new outermost axis.
    first: T,
    /// The sum over the directions of the second derivatives; `None` is zero.
    second: Option<T>,
}

thread_local! {
    /// The number and the number of directions of the running expansion.
    static RUNNING: Cell<(u64, usize)> = const { Cell::new((0, 0)) };
}

fn directions() -> usize {
    RUNNING.get().1
}

fn under(n: usize, shape: &[usize]) -> Shape {
    std::iter::once(n).chain(shape.iter().copied()).collect()
}

/// One value for each direction.
fn repeated<T: BaseTensor>(x: &T) -> T {
    let shape = under(directions(), x.shape());
    x.linear(&Linear::replicate(&shape, &(1..shape.len()).collect::<Vec<usize>>()))
}

/// The sum over the directions of a stack.
fn summed<T: BaseTensor>(stack: &T) -> T {
    stack.linear(&Linear::sum(stack.shape(), &[0]))
}

/// The sum over the directions of the products of two stacks.
fn products<T: BaseTensor>(x: &T, y: &T) -> T {
    let (n, each) = (x.shape()[0], View::identity(&x.shape()[1..]));
    let op = Contract { a: each.batched(n), b: each.batched(n), out: each.widened(n) };
    T::contract(&op, x, y)
}

/// The stack with its outermost axis as axis `k`, or if `back` is set, with axis `k` as its outermost axis.
fn moved<T: BaseTensor>(stack: &T, k: usize, back: bool) -> T {
    let mut axes: Vec<usize> = (0..stack.shape().len()).collect();
    if back {
        axes[..=k].rotate_right(1)
    } else {
        axes[..=k].rotate_left(1)
    }
    stack.linear(&Linear::permute(stack.shape(), &axes))
}

/// The common level of values.
fn common<T: BaseTensor>(values: &[&Collapsed<T>]) -> LevelId {
    let mut level = LevelId::ANY;
    for value in values {
        match level.meet(value.level()) {
            Ok(both) => level = both,
            Err(fault) => panic!("{}", message(fault)),
        }
    }
    level
}

fn primals<T: BaseTensor>(values: &[Collapsed<T>]) -> Vec<T> {
    values.iter().map(|v| v.primal.clone()).collect()
}

impl<T: BaseTensor> Collapsed<T> {
    /// A value that does not depend on the directions.
    pub(crate) fn constant_of(primal: T) -> Self {
        Collapsed { primal, moving: None, steep: false }
    }

    fn of(primal: T, level: LevelId, first: Option<T>, second: Option<T>) -> Self {
        if first.is_none() && second.is_none() {
            return Collapsed::constant_of(primal);
        }
        let first = first.unwrap_or_else(|| T::zeros(&under(directions(), primal.shape()), primal.dtype()));
        Collapsed { primal, moving: Some(Rc::new(Coefficients { level, first, second })), steep: false }
    }

    /// The products with the derivatives that are guarded.
    fn care(&self) -> Care {
        if self.steep { Care::Rows } else { Care::None }
    }

    fn first(&self) -> Option<&T> {
        self.moving.as_ref().map(|c| &c.first)
    }

    fn second(&self) -> Option<&T> {
        self.moving.as_ref()?.second.as_ref()
    }

    fn zero(&self) -> T {
        T::zeros(self.primal.shape(), self.primal.dtype())
    }

    fn zero_stack(&self) -> T {
        T::zeros(&under(directions(), self.primal.shape()), self.primal.dtype())
    }

    fn first_or_zero(&self) -> T {
        self.first().cloned().unwrap_or_else(|| self.zero_stack())
    }

    fn second_or_zero(&self) -> T {
        self.second().cloned().unwrap_or_else(|| self.zero())
    }

    /// A linear operation: `stack` maps the derivatives along all directions, `one` a value.
    fn along(&self, primal: T, stack: impl FnOnce(&T, usize) -> T, one: impl FnOnce(&T) -> T) -> Self {
        let Some(c) = &self.moving else { return Collapsed::constant_of(primal) };
        let before = T::attribute(primal.site());
        let (first, second) = (stack(&c.first, directions()), c.second.as_ref().map(one));
        T::attribute(before);
        Collapsed::of(primal, c.level, Some(first), second).steep_if(self.steep)
    }

    /// A primal with coefficients that `f` computes, unless no operand has coefficients.
    fn made(primal: T, operands: &[&Self], f: impl FnOnce() -> (Option<T>, Option<T>)) -> Self {
        if operands.iter().all(|x| x.moving.is_none()) {
            return Collapsed::constant_of(primal);
        }
        let level = common(operands);
        let before = T::attribute(primal.site());
        let (first, second) = f();
        T::attribute(before);
        Collapsed::of(primal, level, first, second).steep_if(operands.iter().any(|x| x.steep))
    }

    fn quotient(&self, z: T, other: &Self) -> Self {
        // `z y = x`, so `z'' y + 2 z' y' + z y'' = x''`; the numerators come before the reciprocal, as in `series`.
        Collapsed::made(z.clone(), &[self, other], || {
            let inverse = other.primal.unary(Unary::Recip);
            let less = |x: Option<T>, y: Option<T>| add(x, y.map(|y| y.unary(Unary::Neg)));
            let care = self.care().max(other.care());
            let times = |a: &T, b: &T| guarded::product(a, b, care);
            let over = |inverse: &T, x: Option<T>| x.map(|x| inverse.binary(Binary::MulNoNan, &x));
            let moved = other.first().map(|y| times(&repeated(&z), y));
            let first = over(&repeated(&inverse), less(self.first().cloned(), moved));
            let both = first.as_ref().zip(other.first()).map(|(z, y)| scaled(&products(z, y), 2.0));
            let bent = add(both, other.second().map(|y| times(&z, y)));
            let second = over(&inverse, less(self.second().cloned(), bent));
            (first, second)
        })
    }
}

/// A product of two values; one may be a stack.
type Product<'a, T> = &'a dyn Fn(&T, &T) -> T;

/// An operation at series.
type AtSeries<'a, T> = &'a dyn Fn(&[Jet<T>]) -> Vec<Jet<T>>;

/// The derivatives of a product: those along the directions, and the sum of the second derivatives.
fn product_rule<T: BaseTensor>(
    (x, y): (&Collapsed<T>, &Collapsed<T>),
    stacks: [Product<'_, T>; 2],
    one: impl Fn(&T, &T) -> T,
    both: impl Fn(&T, &T) -> T,
) -> (Option<T>, Option<T>) {
    let [left, right] = stacks;
    let first = add(x.first().map(|a| left(a, &y.primal)), y.first().map(|b| right(&x.primal, b)));
    let linear = add(x.second().map(|a| one(a, &y.primal)), y.second().map(|b| one(&x.primal, b)));
    let bent = x.first().zip(y.first()).map(|(a, b)| scaled(&both(a, b), 2.0));
    (first, add(linear, bent))
}

/// The results of an operation that `f` computes at series: along each direction to the second power without the second
/// coefficients of the operands, and for the sum of these to the first power, as they enter linearly.
fn by_directions<T: BaseTensor>(args: &[Collapsed<T>], results: Vec<T>, f: AtSeries<'_, T>) -> Vec<Collapsed<T>> {
    if args.iter().all(|a| a.moving.is_none()) {
        return results.into_iter().map(Collapsed::constant_of).collect();
    }
    let level = common(&args.iter().collect::<Vec<_>>());
    let before = results.first().map(|y| T::attribute(y.site()));
    let steep = Cell::new(false);
    let run = |order: usize, next: &mut dyn FnMut(&Collapsed<T>) -> Option<T>| {
        let expansion = Expansion::new(order);
        let series = |a: &Collapsed<T>| match next(a) {
            Some(c) => expansion.input(&[a.primal.clone(), c]).steep_if(a.steep),
            None => Jet::constant_of(a.primal.clone()),
        };
        let inputs: Vec<Jet<T>> = args.iter().map(series).collect();
        let coefficients = |y: &Jet<T>| (1..=order).map(|k| y.coefficient(k).cloned()).collect::<Vec<Option<T>>>();
        let results = f(&inputs);
        steep.set(steep.get() || level::any_steep(&results));
        results.iter().map(coefficients).collect::<Vec<_>>()
    };
    let stacks: Vec<T> = args.iter().filter_map(|a| a.first().cloned()).collect();
    let mut found: Vec<[bool; 2]> = Vec::new();
    let (_, along) = T::map_accum(directions(), false, Vec::new(), &stacks, &mut |_, tangents| {
        let mut tangents = tangents.iter().cloned();
        let all = run(2, &mut |a| a.moving.as_ref().and_then(|_| tangents.next()));
        found = all.iter().map(|c| [c[0].is_some(), c[1].is_some()]).collect();
        (Vec::new(), all.into_iter().flatten().flatten().collect())
    });
    let bent = args.iter().any(|a| a.second().is_some());
    let linear = if bent { run(1, &mut |a| a.second().cloned()) } else { Vec::new() };
    if let Some(before) = before {
        T::attribute(before);
    }
    let mut along = along.into_iter();
    let mut next = |is: bool| if is { along.next() } else { None };
    let result = |(k, y): (usize, T)| {
        let first = next(found[k][0]);
        let curved = next(found[k][1]).map(|c| scaled(&summed(&c), 2.0));
        Collapsed::of(y, level, first, add(curved, linear.get(k).and_then(|c| c[0].clone()))).steep_if(steep.get())
    };
    results.into_iter().enumerate().map(result).collect()
}

impl<T: BaseTensor> Moving<T> for Collapsed<T> {
    fn level(&self) -> LevelId {
        self.moving.as_ref().map_or(LevelId::ANY, |c| c.level)
    }

    fn grouped(self, moves: bool) -> Group<T> {
        let rest = moves.then(|| [self.first_or_zero(), self.second_or_zero()]);
        std::iter::once(self.primal).chain(rest.into_iter().flatten()).collect()
    }

    fn of_group(group: Group<T>, level: LevelId) -> Self {
        let mut values = group.into_iter();
        let primal = values.next().expect("a value has a primal");
        let (first, second) = (values.next(), values.next());
        Collapsed::of(primal, level, first, second)
    }

    fn is_steep(&self) -> bool {
        self.steep
    }

    fn steep_if(self, steep: bool) -> Self {
        Collapsed { steep: steep && self.moving.is_some(), ..self }
    }
}

impl<T: BaseTensor> BaseTensor for Collapsed<T> {
    fn constant(a: Array) -> Self {
        Collapsed::constant_of(T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        self.primal.shape()
    }

    fn dtype(&self) -> DType {
        self.primal.dtype()
    }

    fn unary(&self, op: Unary) -> Self {
        let (x, y) = (&self.primal, self.primal.unary(op));
        if op == Unary::Neg {
            return self.along(y, |c, _| c.unary(op), |c| c.unary(op));
        }
        Collapsed::made(y.clone(), &[self], || {
            let Some(c) = &self.moving else { return (None, None) };
            let partial = op.derivative(x, &y);
            let care = self.care();
            let first = guarded::scaled(&partial.map(&repeated), &c.first, care);
            let linear = c.second.as_ref().map(|c| guarded::scaled(&partial, c, care));
            // Half of the second derivative: the series of the row along a line of slope 1.
            let one = T::constant(Array::full_as(x.shape(), x.dtype(), 1.0));
            let line = [vec![Some(x.clone()), Some(one), None]];
            let half = series::elementwise(&Op::Unary(op, 0), &y, &line, 2, care).swap_remove(2);
            let squares = |half: T| half.binary(Binary::MulNoNan, &scaled(&products(&c.first, &c.first), 2.0));
            (Some(first), add(linear, half.map(squares)))
        })
        .steep_if(self.steep || op.is(Property::Steep))
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let z = self.primal.binary(op, &other.primal);
        if self.moving.is_none() && other.moving.is_none() {
            return Collapsed::constant_of(z);
        }
        let sum = |x: Option<&T>, y: Option<&T>| match (x, y) {
            (Some(x), Some(y)) => Some(x.binary(op, y)),
            (None, Some(y)) if op == Binary::Sub => Some(y.unary(Unary::Neg)),
            (x, y) => x.or(y).cloned(),
        };
        let care = self.care().max(other.care());
        let times = |a: &T, b: &T| guarded::product(a, b, care);
        match op {
            Binary::Add | Binary::Sub => Collapsed::made(z, &[self, other], || {
                (sum(self.first(), other.first()), sum(self.second(), other.second()))
            }),
            Binary::Mul => Collapsed::made(z, &[self, other], || {
                let stacks: [Product<'_, T>; 2] = [&|a, y| times(a, &repeated(y)), &|x, b| times(&repeated(x), b)];
                let both =
                    |a: &T, b: &T| if guarded::is_guarded::<T>(care) { summed(&times(a, b)) } else { products(a, b) };
                product_rule((self, other), stacks, times, both)
            }),
            Binary::Div => self.quotient(z, other),
            Binary::MulNoNan
            | Binary::DivNoNan
            | Binary::Pow
            | Binary::PowLessOne
            | Binary::Atan2
            | Binary::RecipReal
            | Binary::Hypot
            | Binary::Copysign
            | Binary::Min
            | Binary::Max
            | Binary::LogAddExp
            | Binary::Polygamma => {
                let args = [self.clone(), other.clone()];
                let steep = self.steep || other.steep || op.is(Property::Steep);
                by_directions(&args, vec![z], &|x| vec![x[0].binary(op, &x[1])]).swap_remove(0).steep_if(steep)
            }
        }
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let args: smallvec::SmallVec<[&T; 2]> = args.iter().map(|a| &a.primal).collect();
        Collapsed::constant_of(T::discrete(op, &args))
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        let mask = &mask.primal;
        let primal = T::select(mask, &then.primal, &otherwise.primal);
        Collapsed::made(primal, &[then, otherwise], || {
            let first = T::select(&repeated(mask), &then.first_or_zero(), &otherwise.first_or_zero());
            (Some(first), select(mask, &then.second().cloned(), &otherwise.second().cloned()))
        })
    }

    fn linear(&self, op: &Linear) -> Self {
        let y = self.primal.linear(op);
        if !y.dtype().is_float() {
            return Collapsed::constant_of(y);
        }
        self.along(y, |c, n| c.linear(&op.batched(n)), |c| c.linear(op))
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let primal = T::contract(op, &a.primal, &b.primal);
        Collapsed::made(primal, &[a, b], || {
            let n = directions();
            let (left, right) = (op.batched(n, true, false), op.batched(n, false, true));
            let both = Contract { a: op.a.batched(n), b: op.b.batched(n), out: op.out.widened(n) };
            let care = a.care().max(b.care());
            let by = |op: &Contract, a: &T, b: &T| guarded::contract(op, [a, b], Side::Left, care, true);
            let stacks: [Product<'_, T>; 2] = [&|a, b| by(&left, a, b), &|a, b| by(&right, a, b)];
            product_rule((a, b), stacks, |a, b| by(op, a, b), |a, b| by(&both, a, b))
        })
    }

    /// All coefficients are read at the position of the extremum.
    fn reduce(&self, op: Reduce) -> Self {
        let x = &self.primal;
        if self.moving.is_none() {
            return Collapsed::constant_of(x.reduce(op));
        }
        // Checked first, so that an error has the message of the reduction, not that of the gather.
        op.result((x.shape(), x.dtype()));
        let ix = op.indices(x.shape(), &T::discrete(&op.position(), &[x]));
        self.gather(&ix.into_iter().map(Collapsed::constant_of).collect::<Vec<Self>>())
    }

    fn gather(&self, ix: &[Self]) -> Self {
        let ix = primals(ix);
        let rank = ix.first().map_or(0, |i| i.shape().len());
        // The directions lie behind the axes that are read, and behind those of the indices.
        let stack = |c: &T| moved(&moved(c, ix.len(), false).gather(&ix), rank, true);
        self.along(self.primal.gather(&ix), |c, _| stack(c), |c| c.gather(&ix))
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        let ix = primals(ix);
        let rank = ix.first().map_or(0, |i| i.shape().len());
        let primal = self.primal.clone().scatter_add(&ix, &v.primal);
        Collapsed::made(primal, &[&self, v], || {
            let stack = |base: T, v: &T| {
                moved(&moved(&base, ix.len(), false).scatter_add(&ix, &moved(v, rank, false)), ix.len(), true)
            };
            let first = match v.first() {
                Some(v) => Some(stack(self.first_or_zero(), v)),
                None => self.first().cloned(),
            };
            let second = match v.second() {
                Some(v) => Some(self.second_or_zero().scatter_add(&ix, v)),
                None => self.second().cloned(),
            };
            (first, second)
        })
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let primal = T::concat(axis, &primals(parts));
        Collapsed::made(primal, &parts.iter().collect::<Vec<&Self>>(), || {
            let first = T::concat(axis + 1, &parts.iter().map(Self::first_or_zero).collect::<Vec<T>>());
            let bent = parts.iter().any(|part| part.second().is_some());
            let second = bent.then(|| T::concat(axis, &parts.iter().map(Self::second_or_zero).collect::<Vec<T>>()));
            (Some(first), second)
        })
    }

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        by_directions(args, T::call(op, &primals(args)), &|x| Jet::call(op, x))
    }

    /// Runs the rule for tangents at series; a function without rules runs as a plain function, since no residuals are
    /// kept.
    ///
    /// # Panics
    /// When the function has rules, and none for tangents.
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        if args.iter().all(|a| a.moving.is_none()) {
            return T::custom(rule, &primals(args)).into_iter().map(Collapsed::constant_of).collect();
        }
        match rule.kind() {
            CustomKind::Checkpointed | CustomKind::While { .. } | CustomKind::Cond { .. } => rule.value(args.to_vec()),
            CustomKind::Solve(_) | CustomKind::Rules { .. } => {
                by_directions(args, T::custom(rule, &primals(args)), &|x| Jet::custom(rule, x))
            }
        }
    }

    /// One loop of `T` over primals and coefficients side by side. The rows of a sequence lie outside the
    /// directions.
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        let exchanged = |x: &Self, back: bool| match &x.moving {
            Some(c) => Collapsed::of(x.primal.clone(), c.level, Some(moved(&c.first, 1, back)), c.second.clone())
                .steep_if(x.steep),
            None => x.clone(),
        };
        let xs: Vec<Self> = xs.iter().map(|x| exchanged(x, false)).collect();
        match level::map_accum((n, reverse), init, &xs, step) {
            Ok((carry, stacks)) => (carry, stacks.iter().map(|y| exchanged(y, true)).collect()),
            Err(fault) => panic!("{}", message(fault)),
        }
    }

    /// One loop of `T` over primals and coefficients side by side, in which each float has coefficients.
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        let level = LevelId { owner: Owner::Sweep(RUNNING.get().0), within: Within::NO_LOOP };
        let group = |c: Self| {
            let moves = c.dtype().is_float();
            c.grouped(moves)
        };
        let groups = |carry: Vec<Self>| carry.into_iter().map(group).collect::<Vec<Group<T>>>();
        let mut steep = level::starts_steep(&init);
        let carry = repeat_grouped(most, groups(init), &mut |carry| {
            let step = &mut |carry| (step(carry), Vec::new());
            groups(level::trip(&mut steep, (carry, level), step).0)
        });
        carry.into_iter().map(|group| Collapsed::of_group(group, level).steep_if(steep)).collect()
    }
}

impl<T: BaseTensor> Over for Collapsed<T> {
    type Base = T;

    fn base(&self) -> &T {
        &self.primal
    }

    fn of_base(value: T) -> Self {
        Collapsed::constant_of(value)
    }
}

/// One expansion along several directions at once: makes values, and reads the sums of second derivatives.
pub(crate) struct Directions {
    number: u64,
    before: (u64, usize),
}

impl Drop for Directions {
    fn drop(&mut self) {
        RUNNING.set(self.before);
    }
}

impl Directions {
    /// An expansion along this number of directions.
    pub(crate) fn new(count: usize) -> Self {
        let number = fresh();
        Directions { number, before: RUNNING.replace((number, count)) }
    }

    /// An input with the stack of its derivatives along all directions; integers and masks have none.
    pub(crate) fn input<T: BaseTensor>(&self, primal: &T, first: &T) -> Collapsed<T> {
        if !primal.dtype().is_float() {
            return Collapsed::constant_of(primal.clone());
        }
        assert_eq!(first.shape()[..], under(directions(), primal.shape())[..], "{}", Show(primal.shape()));
        let level = LevelId { owner: Owner::Sweep(self.number), within: Within::NO_LOOP };
        Collapsed::of(primal.clone(), level, Some(first.clone()), None)
    }

    /// The sum over the directions of the second derivatives of a result.
    ///
    /// # Panics
    /// When the value belongs to another expansion, or to a variable of a loop.
    pub(crate) fn result<T: BaseTensor>(&self, result: &Collapsed<T>) -> T {
        let level = result.level();
        if level.within.start > self.number {
            panic!("{ESCAPED}");
        }
        if Owner::Sweep(self.number).meet(level.owner).is_none() {
            panic!("{MIXED}");
        }
        result.second_or_zero()
    }
}
