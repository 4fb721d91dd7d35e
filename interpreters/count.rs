//! `Count<T>`: the cost of a program, over any interpreter `T`.
//!
//! A value is a value of `T`; every operation records its calls, elementary operations and bytes, by family. A value
//! comes with the step at which it is ready (`span`), so the span of the program is counted, too.
//!
//! Law: the counts depend on shapes and on the sharing of values, and not on `T`, except that a loop is counted as
//! often as `T` runs its step. [`Cost`] defines the cost of an operation. An operation that updates its operand in
//! place copies an operand that has another owner.
//!
//! A count is a separate interpreter, not a mark of an observation (`watch`). An observation holds the operands of an
//! operation until the result is reported, so an update in place copies its base; it counts an update by a linear
//! operation as two operations, reports each result of an operation separately, leaves out the step of a loop without
//! trips, and keeps marks from trip to trip. A count must have the cost of a run, so it cannot do any of this; one
//! interpreter with a case for each of these differences would be harder to read than two.

use std::fmt;
use std::sync::Arc;

use super::scope;
use super::span::{Ready, tree};
use crate::array::Array;
use crate::base::{BaseTensor, Over, Trip, TripFn};
use crate::cost::Cost;
use crate::dtype::DType;
use crate::ops::kinds::Kind;
use crate::ops::{Binary, Call, Contract, Discrete, FloatStep, Linear, Reduce, Unary};
use crate::program::Custom;
use crate::shape::size;
use crate::taps::quietly;

/// A family of operations in a tally.
///
/// Closed: [`Op`](crate::program::Op) is.
///
/// Example: [`Tally`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Elementwise functions of one float tensor.
    Unary,
    /// Elementwise functions of two float tensors.
    Binary,
    /// Operations with derivative zero.
    Discrete,
    /// Selection by a mask.
    Select,
    /// Linear operations: views and sums.
    Linear,
    /// Bilinear operations: products and convolutions.
    Contract,
    /// Extrema along an axis.
    Reduce,
    /// Gathers: reads at indices.
    Gather,
    /// Scatter-adds: additions at indices.
    Scatter,
    /// Concatenation.
    Concat,
    /// Linear algebra, and code of the host.
    Call,
    /// Loops themselves, without the operations in their trips: an operation per trip.
    Loop,
}

impl Family {
    /// Every family, in order.
    ///
    /// Example: [`Tally`].
    pub const ALL: [Family; 12] = [
        Family::Unary,
        Family::Binary,
        Family::Discrete,
        Family::Select,
        Family::Linear,
        Family::Contract,
        Family::Reduce,
        Family::Gather,
        Family::Scatter,
        Family::Concat,
        Family::Call,
        Family::Loop,
    ];

    /// The name of the family in tables.
    ///
    /// Example: [`Tally`].
    pub fn name(self) -> &'static str {
        match self {
            Family::Unary => "unary",
            Family::Binary => "binary",
            Family::Discrete => "discrete",
            Family::Select => "select",
            Family::Linear => "linear",
            Family::Contract => "contract",
            Family::Reduce => "reduce",
            Family::Gather => "gather",
            Family::Scatter => "scatter",
            Family::Concat => "concat",
            Family::Call => "call",
            Family::Loop => "loop",
        }
    }
}

/// The cost of a program by family, and its span. Prints as a table.
///
/// ```
/// use polygrad::inspect::{Family, Tally, count};
/// use polygrad::tensor;
/// let tally: Tally = count(|x| x.sin().sum(), &tensor([1.0, 2.0, 3.0])).1;
/// let lines: Vec<String> = tally.to_string().lines().map(|line| line[..10].trim().to_owned()).collect();
/// assert_eq!(lines, ["family", "unary", "linear", "total"]);
/// assert_eq!((tally.of(Family::Unary).work, tally.of(Family::Call).work, tally.total().calls), (3, 0, 2));
/// assert_eq!((Family::Contract.name(), Family::ALL.contains(&Family::Loop)), ("contract", true));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tally([Cost; Family::ALL.len()], u64);

impl Tally {
    /// The cost of one family.
    ///
    /// Example: [`Tally`].
    pub fn of(&self, family: Family) -> Cost {
        self.0[family as usize]
    }

    /// The cost of all families.
    ///
    /// Example: [`Tally`].
    pub fn total(&self) -> Cost {
        self.0.iter().copied().sum()
    }

    /// The length of the critical path: the number of steps that depend on each other, on as many processors as the program
    /// can use. An elementwise operation is one step, a sum of `n` terms takes `log2 n` more; trips of a loop depend on
    /// each other through the carry alone; additions to one accumulator are a sum; linear algebra and code of the host
    /// are sequential.
    ///
    /// ```
    /// use polygrad::inspect::count;
    /// use polygrad::{Tensor, fold, tensor};
    /// let x = tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    /// // A sine, and a tree of three levels.
    /// assert_eq!(count(|x| x.sin().sum(), &x).1.span(), 1 + (1 + 3));
    /// // The reads of the elements, and eight products, one after the other.
    /// assert_eq!(count(|x| fold(Tensor::scalar(1.0), x, |s: Tensor<_, 0>, x: &Tensor<_, 0>| s * x), &x).1.span(), 1 + 8);
    /// ```
    pub fn span(&self) -> u64 {
        self.1
    }
}

/// One line per family that occurs, and a total.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:10}{:>12}{:>16}{:>16}", "family", "calls", "work", "bytes")?;
        let rows = Family::ALL.into_iter().map(|family| (family.name(), self.of(family)));
        for (name, cost) in rows.filter(|(_, cost)| cost.calls > 0).chain([("total", self.total())]) {
            write!(f, "\n{name:10}{:>12}{:>16}{:>16}", cost.calls, cost.work, cost.bytes)?;
        }
        Ok(())
    }
}

/// A value of the interpreter `T` whose operations are counted.
///
/// Made by [`inspect::count`](fn@crate::inspect::count); a program sees it only as its `T: BaseTensor`.
///
/// ```
/// use polygrad::inspect::Family;
/// use polygrad::interpreters::Count;
/// use polygrad::{Array, Tensor};
/// let x = Tensor::<Count<Array>, 1>::constant([1.0, 2.0]);
/// let (y, tally) = Count::<Array>::counted(|| &x * &x);
/// assert_eq!((y.into_raw().value(), tally.of(Family::Binary).work), (&Array::from([1.0, 4.0]), 2));
/// ```
#[derive(Clone)]
pub struct Count<T>(T, Owners, Ready);

/// Counts the owners of a value: each holds a copy.
type Owners = Arc<()>;

impl<T: BaseTensor> Count<T> {
    /// The value.
    ///
    /// Example: [`Count`].
    pub fn value(&self) -> &T {
        &self.0
    }

    /// Runs `f`, and counts its operations on values of this type.
    ///
    /// Example: [`Count`].
    pub fn counted<R>(f: impl FnOnce() -> R) -> (R, Tally) {
        scope::observed::<Count<T>, Tally, R>(f)
    }

    /// Adds the cost of operations.
    fn charge(family: Family, cost: Cost) {
        scope::observer::<Count<T>, Tally, ()>(|tally| tally.0[family as usize] += cost);
    }

    /// Adds the cost of an operation that starts at this step, and whose result has sums of `terms` terms; wraps the result.
    fn note(family: Family, cost: Cost, start: u64, terms: u64, result: T) -> Self {
        Count::<T>::charge(family, cost);
        let work = u64::from(cost.work > 0);
        Count::ready(result, Ready::at(start + work + tree(terms)))
    }

    /// A value without another owner.
    fn ready(value: T, ready: Ready) -> Self {
        scope::observer::<Count<T>, Tally, ()>(|tally| tally.1 = tally.1.max(ready.step()));
        Count(value, Owners::default(), ready)
    }

    /// A value from outside.
    fn new(value: T) -> Self {
        Count(value, Owners::default(), Ready::at(0))
    }

    /// Adds the cost of an operation that returns its operand: the result has the owners of the operand.
    fn note_same(&self, family: Family, result: T) -> Self {
        Count::<T>::charge(family, Cost::same());
        Count(result, self.1.clone(), self.2)
    }

    /// The value, for an update in place, and the cost of the update; a copy is included if the value has another
    /// owner.
    fn changed(self, cost: Cost) -> (T, Cost) {
        let copied = if Owners::strong_count(&self.1) > 1 { Cost::copy(kind(&self.0)) } else { Cost::default() };
        (self.0, Cost { calls: cost.calls, ..cost + copied })
    }

    /// Adds the cost of an operation that reads all operands and computes all elements of its result.
    fn whole(family: Family, operands: &[&Self], result: T) -> Self {
        let cost = Cost::whole(operands.iter().map(|t| kind(&t.0)), kind(&result));
        Count::note(family, cost, latest(operands.iter().copied()), terms(cost, &result), result)
    }
}

/// The step at which all operands are ready.
fn latest<'a, T: 'a>(operands: impl IntoIterator<Item = &'a Count<T>>) -> u64 {
    operands.into_iter().map(|operand| operand.2.step()).max().unwrap_or(0)
}

/// The number of terms of each element of a result.
fn terms<T: BaseTensor>(cost: Cost, result: &T) -> u64 {
    cost.work.div_ceil((size(result.shape()) as u64).max(1))
}

fn kind<T: BaseTensor>(t: &T) -> Kind<'_> {
    (t.shape(), t.dtype())
}

fn kinds<T: BaseTensor>(values: &[Count<T>]) -> impl Iterator<Item = Kind<'_>> {
    values.iter().map(|t| kind(&t.0))
}

fn values<T: Clone>(values: &[Count<T>]) -> Vec<T> {
    values.iter().map(|v| v.0.clone()).collect()
}

fn moved<T>(values: Vec<Count<T>>) -> Vec<T> {
    values.into_iter().map(|v| v.0).collect()
}

fn counts<T: BaseTensor>(values: Vec<T>, steps: impl IntoIterator<Item = Ready>) -> Vec<Count<T>> {
    values.into_iter().zip(steps).map(|(value, step)| Count(value, Owners::default(), step)).collect()
}

fn steps<T>(values: &[Count<T>]) -> Vec<Ready> {
    values.iter().map(|value| value.2).collect()
}

impl<T: BaseTensor> BaseTensor for Count<T> {
    fn constant(a: Array) -> Self {
        Count::new(T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    fn dtype(&self) -> DType {
        self.0.dtype()
    }

    fn unary(&self, op: Unary) -> Self {
        Count::whole(Family::Unary, &[self], self.0.unary(op))
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        Count::whole(Family::Binary, &[self, other], self.0.binary(op, &other.0))
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let inner: Vec<&T> = args.iter().map(|a| &a.0).collect();
        if let Discrete::FloatStep(FloatStep::StopGradient) = op {
            return args[0].note_same(Family::Discrete, T::discrete(op, &inner));
        }
        Count::whole(Family::Discrete, args, T::discrete(op, &inner))
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        Count::whole(Family::Select, &[mask, then, otherwise], T::select(&mask.0, &then.0, &otherwise.0))
    }

    fn linear(&self, op: &Linear) -> Self {
        let result = self.0.linear(op);
        if let Linear::Reshape { .. } = op {
            return self.note_same(Family::Linear, result);
        }
        let cost = Cost::linear(op, kind(&self.0), kind(&result));
        let terms = match op {
            // The stages of a transform, or of a tree of prefix sums and its way back.
            Linear::Fourier { shape, axis, .. } | Linear::PrefixSum { shape, axis, .. } => {
                (shape[*axis] as u64).saturating_pow(2)
            }
            Linear::Affine { .. } | Linear::Cast { .. } | Linear::Reshape { .. } => terms(cost, &result),
        };
        Count::note(Family::Linear, cost, self.2.step(), terms, result)
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let result = T::contract(op, &a.0, &b.0);
        let cost = Cost::contract(op, kind(&a.0), kind(&b.0), kind(&result));
        Count::note(Family::Contract, cost, latest([a, b]), terms(cost, &result), result)
    }

    fn reduce(&self, op: Reduce) -> Self {
        Count::whole(Family::Reduce, &[self], self.0.reduce(op))
    }

    fn gather(&self, ix: &[Self]) -> Self {
        let result = self.0.gather(&values(ix));
        Count::note(Family::Gather, Cost::gather(kinds(ix), kind(&result)), latest(ix.iter().chain([self])), 1, result)
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        // All updates may be of one element.
        let updates = ix.first().map_or(1, |ix| size(ix.shape())) as u64;
        let ready = self.2.plus(Ready::terms(updates, latest(ix.iter().chain([v])) + 1));
        let (base, cost) = self.changed(Cost::scatter(kinds(ix), kind(&v.0)));
        Count::<T>::charge(Family::Scatter, cost);
        Count::ready(base.scatter_add(&values(ix), &v.0), ready)
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let result = T::concat(axis, &values(parts));
        Count::note(Family::Concat, Cost::copy(kind(&result)), latest(parts), 1, result)
    }

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        let operands: Vec<Kind<'_>> = kinds(args).collect();
        let results = T::call(op, &values(args));
        let made: Vec<Kind<'_>> = results.iter().map(kind).collect();
        let cost = Cost::call(op, &operands, &made);
        Count::<T>::charge(Family::Call, cost);
        let ready = Ready::at(latest(args).saturating_add(cost.work));
        results.into_iter().map(|result| Count::ready(result, ready)).collect()
    }

    /// Counted as its primal program; the values are those of `T`, which may differentiate by the rule.
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        let primal = quietly(|| rule.observed(args.to_vec()));
        counts(T::custom(rule, &values(args)), steps(&primal))
    }

    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        // In the first trip, the carry has the owners that it has outside.
        let mut first: Option<Vec<Owners>> = Some(init.iter().map(|value| value.1.clone()).collect());
        let read = Ready::at(latest(xs) + 1);
        let (mut carried, mut stacked) = (steps(&init), Vec::<u64>::new());
        let (carry, stacks) = T::map_accum(n, reverse, moved(init), &values(xs), &mut |carry, x| {
            let mut carry = counts(carry, carried.iter().copied());
            let owners = first.take().into_iter().flatten();
            carry.iter_mut().zip(owners).for_each(|(value, owners)| value.1 = owners);
            let (carry, outputs) = step(carry, &counts(x.to_vec(), std::iter::repeat(read)));
            if n > 0 {
                carried = steps(&carry);
            }
            stacked.resize(outputs.len(), 0);
            stacked.iter_mut().zip(&outputs).for_each(|(stack, row)| *stack = row.2.step().max(*stack));
            (moved(carry), moved(outputs))
        });
        let (carry, stacks) = (counts(carry, carried), counts(stacks, stacked.into_iter().map(Ready::at)));
        Count::<T>::charge(Family::Loop, Cost::trips(n, kinds(xs).chain(kinds(&stacks))));
        (carry, stacks)
    }

    fn zeros(shape: &[usize], dtype: DType) -> Self {
        Count::new(T::zeros(shape, dtype))
    }

    fn accumulate(self, other: &Self) -> Self {
        let family = if self.dtype().is_float() { Family::Binary } else { Family::Discrete };
        Count::<T>::charge(family, Cost::accumulate(kind(&other.0)));
        Count::ready(self.0.accumulate(&other.0), self.2.plus(other.2))
    }

    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        let (ready, shape) = (self.2, op.output_shape());
        let (base, cost) = self.changed(Cost::accumulate_linear(op, kind(&other.0)));
        Count::<T>::charge(Family::Linear, cost);
        let terms = cost.work.div_ceil((size(shape) as u64).max(1));
        let ready = ready.plus(Ready::terms(terms, other.2.step() + 1));
        Count::ready(base.accumulate_linear(op, &other.0), ready)
    }
}

impl<T: BaseTensor> Over for Count<T> {
    type Base = T;

    fn base(&self) -> &T {
        &self.0
    }

    fn of_base(value: T) -> Self {
        Count::new(value)
    }
}
