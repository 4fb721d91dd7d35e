//! `Watch<T, M>`: observation of each value of a program, over any interpreter `T`.
//!
//! A value is a value of `T`, the operation that computed it, and a [`Mark`]: the data that an observation attaches to
//! the value.
//!
//! Laws: the values are those of `T`. An operation is identified by its name and the user's line; an operation of a
//! derivative, also by the operation that is differentiated. Only values that `T` reveals ([`peek`](crate::base::Report::peek)) can be
//! marked, so nothing is marked while a program is traced. A trip of a loop is identified by its position along the
//! loop's axis.

mod bounds;
mod finite;
mod kinks;

use std::panic::Location;
use std::sync::Arc;

use indexmap::IndexSet;

use super::scope;
use crate::array::Array;
use crate::base::{BaseTensor, Over, Trip, TripFn};
use crate::dtype::DType;
use crate::escape;
use crate::ops::{Binary, Call, Discrete, IntBinary, Linear};
use crate::program::{Constant, Custom, Op, Single, single_results};
use crate::source::{Place, Site, SourceLine, WrittenAt, is_library, place_of};
use crate::taps::quietly;

pub use bounds::{Access, Bounds, OutOfBounds, Reads};
pub use finite::{NotFinite, Origin, Summary};
pub use kinks::{Bends, Kink, KinkLog};

/// The data that an observation attaches to a value.
///
/// ```
/// use polygrad::base::Report;
/// use polygrad::interpreters::watch::{Made, Mark, PartOf, Source, Watch};
/// use polygrad::{Array, BaseTensor, Concrete, Tensor, direct, ops::Unary};
/// /// What a value is; the log has all operations, and the values at which the host language looks.
/// #[derive(Clone, Default)]
/// struct Name(String);
/// impl Mark<Concrete> for Name {
///     type Log = (Vec<Source>, Vec<String>);
///     fn made(made: &Made<'_, '_, Concrete, Self>, log: &mut Self::Log) -> Self {
///         log.0.push(made.source.clone());
///         Name(format!("{} = {}", made.source.operation, made.result))
///     }
///     fn row(&self, _: &Concrete, position: usize) -> Self {
///         Name(format!("row {position} of {}", self.0))
///     }
///     fn stacked(n: usize, _: Vec<(usize, Self)>) -> Self {
///         Name(format!("{n} rows"))
///     }
///     fn shown(&self, log: &mut Self::Log) {
///         log.1.push(self.0.clone());
///     }
/// }
/// let (y, (sources, looks)) = Watch::<Concrete, Name>::observed(|| {
///     let y = Watch::<_, Name>::input(Array::scalar(4.0), "x").unary(Unary::Sqrt);
///     y.peek();
///     y
/// });
/// assert_eq!((y.value(), &y.mark().0[..], &looks[0][..]), (&Array::scalar(2.0), "sqrt = 2.0", "sqrt = 2.0"));
/// let sqrt: &Source = &sources[1];
/// assert!(sqrt.operation == "sqrt" && sqrt.part_of.is_none() && sqrt.line().is_some());
/// // Operations of a derivative say so.
/// let (_, (sources, _)) = Watch::<Concrete, Name>::observed(|| {
///     direct::grad(|x| x.sin(), &Tensor::<_, 0>::from_raw(Watch::<_, Name>::input(Array::scalar(4.0), "x")))
/// });
/// assert!(sources.iter().any(|source| source.part_of == Some(PartOf::Derivative("sin".into()))));
/// ```
pub trait Mark<T: BaseTensor>: Clone + Default + 'static {
    /// The data that an observation collects about the program.
    type Log: Default + 'static;

    /// The mark of the result of an operation.
    ///
    /// Example: [`Mark`].
    fn made(made: &Made<'_, '_, T, Self>, log: &mut Self::Log) -> Self;

    /// The mark of the subarray `row` at a position of the outermost axis of a value with this mark.
    ///
    /// Example: [`Mark`].
    fn row(&self, row: &T, position: usize) -> Self;

    /// The mark of `n` stacked rows, given the marks of the rows at some positions.
    ///
    /// Example: [`Mark`].
    fn stacked(n: usize, rows: Vec<(usize, Self)>) -> Self;

    /// The results of a function with the reason that the function states, if the mark has words.
    #[doc(hidden)]
    fn explained(results: Vec<Watch<T, Self>>, _of: &Custom, _args: &[Watch<T, Self>]) -> Vec<Watch<T, Self>> {
        results
    }

    /// Records that the host language inspects the value.
    ///
    /// Example: [`Mark`].
    fn shown(&self, _log: &mut Self::Log) {}
}

/// A value that has just been computed.
///
/// Example: [`Mark`].
pub struct Made<'a, 'v, T, M> {
    /// The operation and its operands.
    pub op: &'a Op<&'v Watch<T, M>>,
    /// The value.
    pub result: &'a T,
    /// The operation as it is reported.
    pub source: &'a Source,
    /// The positions of the running trips, of the outermost loop first.
    pub trips: &'a [usize],
}

/// An operation of a program as it is reported.
///
/// Example: [`Mark`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The operation: `ln`, or `sum axis=1`.
    pub operation: String,
    /// The whole to which the operation belongs, if that is not the program itself.
    pub part_of: Option<PartOf>,
    /// The user's line; `None` for inputs.
    pub(crate) place: Option<WrittenAt>,
}

/// The whole to which an operation belongs.
///
/// Example: [`Mark`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartOf {
    /// The derivative of this operation, of any order.
    Derivative(String),
    /// A function with this name and custom derivative rules.
    Function(String),
}

impl Source {
    /// The user's line; `None` for inputs.
    ///
    /// Example: [`Mark`].
    pub fn line(&self) -> Option<SourceLine> {
        self.place.as_ref().map(SourceLine::from)
    }

    /// The whole to which an operation in the derivative of this one belongs.
    fn derivative(&self) -> PartOf {
        match &self.part_of {
            Some(PartOf::Derivative(of)) => PartOf::Derivative(of.clone()),
            Some(PartOf::Function(name)) => PartOf::Derivative(name.clone()),
            None => PartOf::Derivative(self.operation.clone()),
        }
    }
}

/// A value of the interpreter `T`, observed.
///
/// Made by [`inspect::first_nan`](fn@crate::inspect::first_nan) and [`inspect::bounds`](fn@crate::inspect::bounds); a
/// program sees it only as its `T: BaseTensor`.
///
/// Example: [`Mark`].
#[derive(Clone)]
pub struct Watch<T, M> {
    value: T,
    site: Site,
    mark: M,
}

/// A running loop.
struct Around {
    place: &'static Location<'static>,
    /// The loop has no trips: its step runs on zeros, for the shapes alone.
    empty: bool,
}

/// The state of an observation.
struct Observation<L> {
    sources: IndexSet<Source>,
    /// The operation to whose derivative the next operations belong.
    within: Site,
    /// The function with derivative rules to which the next operations belong, and the place of its application.
    function: Option<(String, &'static Location<'static>)>,
    loops: Vec<Around>,
    trips: Vec<usize>,
    log: L,
}

impl<L: Default> Default for Observation<L> {
    fn default() -> Self {
        Observation {
            sources: IndexSet::new(),
            within: Site::UNKNOWN,
            function: None,
            loops: Vec::new(),
            trips: Vec::new(),
            log: L::default(),
        }
    }
}

impl<L> Observation<L> {
    fn source(&self, site: &Site) -> Option<&Source> {
        self.sources.get_index((site.number as usize).checked_sub(1)?)
    }

    /// The number of an operation; equal operations have one number.
    fn site(&mut self, source: Source) -> Site {
        let k = self.sources.insert_full(source).0;
        u32::try_from(k + 1).map_or(Site::UNKNOWN, |number| Site { number, place: Place::UNKNOWN })
    }

    /// An operation at a place as it is reported, with the whole to which it belongs.
    fn placed(&self, operation: String, place: &'static Location<'static>) -> Source {
        if let Some(whole) = self.source(&self.within) {
            return Source { operation, part_of: Some(whole.derivative()), place: whole.place.clone() };
        }
        if let Some((name, place)) = &self.function {
            return Source {
                operation,
                part_of: Some(PartOf::Function(name.clone())),
                place: Some(WrittenAt::Code(place)),
            };
        }
        // An operation of a recorded program has the place at which it was recorded.
        let recorded = place_of(place);
        let part_of = recorded.derivative_of.map(|of| PartOf::Derivative(of.to_owned()));
        if recorded.at.is_some() && (part_of.is_some() || is_library(place)) {
            return Source { operation, part_of, place: recorded.at };
        }
        let user = |place: &&'static Location<'static>| !is_library(place);
        let around = self.loops.iter().rev().map(|l| l.place).find(user);
        Source {
            operation,
            part_of: None,
            place: Some(WrittenAt::Code(if is_library(place) { around.unwrap_or(place) } else { place })),
        }
    }
}

/// Calls `f` on the observation of values of type `Watch<T, M>`, if one runs.
fn observation<T: BaseTensor, M: Mark<T>, R>(f: impl FnOnce(&mut Observation<M::Log>) -> R) -> Option<R> {
    scope::observer::<Watch<T, M>, Observation<M::Log>, R>(f)
}

impl<T: BaseTensor, M: Mark<T>> Watch<T, M> {
    /// The value.
    ///
    /// Example: [`Mark`].
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The mark.
    ///
    /// Example: [`Mark`].
    pub fn mark(&self) -> &M {
        &self.mark
    }

    /// An input of the observed program, with the name by which reports call it.
    ///
    /// Example: [`Mark`].
    pub fn input(value: T, name: &str) -> Self {
        let source = Source { operation: format!("the input {}", escape::name(name)), part_of: None, place: None };
        Watch::noted(&Op::Input(0), value, |_| source)
    }

    /// Runs `f`, and observes its operations on values of this type.
    ///
    /// Example: [`Mark`].
    pub fn observed<R>(f: impl FnOnce() -> R) -> (R, M::Log) {
        let (result, observation) = scope::observed::<Watch<T, M>, Observation<M::Log>, R>(f);
        (result, observation.log)
    }

    /// A value without a mark.
    fn unmarked(value: T) -> Self {
        Watch { value, site: Site::UNKNOWN, mark: M::default() }
    }

    /// The result of an operation.
    #[track_caller]
    fn made(op: &Op<&Self>, value: T) -> Self {
        let place = Location::caller();
        Watch::noted(op, value, |observation| observation.placed(op.words(), place))
    }

    #[track_caller]
    fn single(op: Single<'_, Self>) -> Self {
        let value = op.applied(&mut |x| x.value.clone());
        Watch::made(&op.mapped(&mut |x| x), value)
    }

    fn noted(op: &Op<&Self>, value: T, source: impl FnOnce(&Observation<M::Log>) -> Source) -> Self {
        let noted = observation::<T, M, _>(|observation| {
            if observation.loops.iter().any(|l| l.empty) {
                return (Site::UNKNOWN, M::default());
            }
            let source = source(observation);
            let made = Made { op, result: &value, source: &source, trips: &observation.trips };
            let mark = M::made(&made, &mut observation.log);
            (observation.site(source), mark)
        });
        let (site, mark) = noted.unwrap_or_default();
        Watch { value, site, mark }
    }

    fn into_pair(self) -> (T, M) {
        (self.value, self.mark)
    }
}

fn values<T: Clone, M>(values: &[Watch<T, M>]) -> Vec<T> {
    values.iter().map(|v| v.value.clone()).collect()
}

fn all<T, M>(values: &[Watch<T, M>]) -> Vec<&Watch<T, M>> {
    values.iter().collect()
}

impl<T: BaseTensor, M: Mark<T>> BaseTensor for Watch<T, M> {
    fn constant(a: Array) -> Self {
        Watch::made(&Op::Constant(Constant(a.clone())), T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        self.value.shape()
    }

    fn dtype(&self) -> DType {
        self.value.dtype()
    }

    single_results!();

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        if let Call::Tap(tap) = op {
            let passed = tap.passed(args).iter().cloned();
            return passed.zip(T::call(op, &values(args))).map(|(x, value)| Watch { value, ..x }).collect();
        }
        let operation = Op::Call(op.clone(), all(args));
        let mut results = Vec::new();
        // Not in a closure, which does not know the line of the caller.
        for result in T::call(op, &values(args)) {
            results.push(Watch::made(&operation, result));
        }
        results
    }

    /// The values are those of `T`, which may differentiate by the rule; the primal program is observed.
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        let place = Location::caller();
        let set = |function| observation::<T, M, _>(|seen| std::mem::replace(&mut seen.function, function));
        let before = set(Some((escape::name(rule.name()).into_owned(), place))).flatten();
        let observed = quietly(|| rule.observed(args.to_vec()));
        set(before);
        let results = T::custom(rule, &values(args)).into_iter().zip(observed);
        let source = Source {
            operation: escape::name(rule.name()).into_owned(),
            part_of: None,
            place: Some(WrittenAt::Code(place)),
        };
        let site = observation::<T, M, _>(|seen| seen.site(source)).unwrap_or_default();
        let results: Vec<Self> =
            results.map(|(value, Watch { mark, .. })| Watch { value, site: site.clone(), mark }).collect();
        M::explained(results, rule, args)
    }

    /// The loop of `T`, over values without their marks, which are attached again in each trip.
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        let around = Around { place: Location::caller(), empty: n == 0 };
        observation::<T, M, _>(|seen| {
            seen.trips.push(0);
            seen.loops.push(around);
        });
        let (init, mut marks): (Vec<T>, Vec<M>) = init.into_iter().map(Watch::into_pair).unzip();
        let unchanged = if n == 0 { marks.clone() } else { Vec::new() };
        let (mut trip, mut site, mut rows) = (0, Site::UNKNOWN, Vec::new());
        let (finals, stacks) = T::map_accum(n, reverse, init, &values(xs), &mut |carry, elements| {
            let position = if reverse { n.saturating_sub(trip + 1) } else { trip };
            trip += 1;
            observation::<T, M, _>(|seen| seen.trips.last_mut().into_iter().for_each(|at| *at = position));
            let with = |value, mark| Watch { value, site: Site::UNKNOWN, mark };
            let carry = carry.into_iter().zip(marks.drain(..)).map(|(value, mark)| with(value, mark)).collect();
            let element = |(value, x): (&T, &Self)| with(value.clone(), x.mark.row(value, position));
            let elements: Vec<Self> = elements.iter().zip(xs).map(element).collect();
            let (carry, outputs) = step(carry, &elements);
            site = carry.iter().chain(&outputs).map(|y| y.site.clone()).next_back().unwrap_or_default();
            let (carry, next): (Vec<T>, Vec<M>) = carry.into_iter().map(Watch::into_pair).unzip();
            let (outputs, notes): (Vec<T>, Vec<M>) = outputs.into_iter().map(Watch::into_pair).unzip();
            marks = next;
            rows.resize_with(notes.len(), Vec::new);
            rows.iter_mut().zip(notes).for_each(|(rows, mark)| rows.push((position, mark)));
            (carry, outputs)
        });
        observation::<T, M, _>(|seen| {
            seen.trips.pop();
            seen.loops.pop();
        });
        let stacked = rows.into_iter().map(|rows| if n == 0 { M::default() } else { M::stacked(n, rows) });
        let made = |(value, mark): (T, M)| Watch { value, site: site.clone(), mark };
        let finals = finals.into_iter().zip(if n == 0 { unchanged } else { marks }).map(made).collect();
        (finals, stacks.into_iter().zip(stacked).map(made).collect())
    }

    fn zeros(shape: &[usize], dtype: DType) -> Self {
        Watch::unmarked(T::zeros(shape, dtype))
    }

    fn accumulate(self, other: &Self) -> Self {
        let value = self.value.clone().accumulate(&other.value);
        if self.dtype().is_float() {
            return Watch::made(&Op::Binary(Binary::Add, &self, other), value);
        }
        let add = Discrete::IntBinary(IntBinary::Add);
        Watch::made(&Op::Discrete(add, [&self, other].into_iter().collect()), value)
    }

    /// Observed as two operations: the linear operation, and the sum.
    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        self.accumulate(&other.linear(op))
    }
}

impl<T: BaseTensor, M: Mark<T>> Over for Watch<T, M> {
    type Base = T;

    fn base(&self) -> &T {
        &self.value
    }

    /// Data lifted from a lower level: reports name the place of the lift.
    fn of_base(value: T) -> Self {
        let zeros = || Array::zeros(value.shape(), value.dtype());
        Watch::made(&Op::Constant(Constant(value.peek().unwrap_or_else(zeros))), value)
    }

    fn is_observer() -> bool {
        true
    }

    fn looked_at(&self) -> Option<Array> {
        observation::<T, M, _>(|seen| self.mark.shown(&mut seen.log));
        self.value.peek()
    }

    fn made_at(&self) -> Site {
        self.site.clone()
    }

    fn belongs_to(site: Site) -> Site {
        observation::<T, M, _>(|seen| std::mem::replace(&mut seen.within, site)).unwrap_or_default()
    }
}
