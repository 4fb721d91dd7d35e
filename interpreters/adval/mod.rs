//! `ADVal<T>`: reverse-mode differentiation over any interpreter `T`.
//!
//! A value of this interpreter is a primal value of `T` and a `Delta` term, the linear map from the tangents of earlier
//! values to the tangent of the value. Running a program builds the term as a side effect of computing the primal.
//! Evaluating the transposed term from the result to the inputs is the reverse pass; evaluating the term itself pushes
//! tangents forward. This is the array dual-numbers algorithm of "Dual arrays", sections 2 and 6 and appendix D.
//!
//! Laws: the primal part equals the value at `T`, whatever is differentiated. Integers, masks and constants have no
//! term: their tangent is a known zero. `ADVal<T>` uses `T` only through [`BaseTensor`], so it nests, over itself and
//! over any other interpreter.

mod branch;
mod call;
mod checkpointed_call;
mod custom;
mod delta;
mod fork;
mod loops;
mod pull;
mod push;
mod while_loop;

use std::rc::Rc;
use std::sync::Arc;

pub use pull::Fault;

pub(super) use loops::{counts_trips, evaluates, in_a_loop};

use delta::{Delta, Edge, Factor, Gather, Given, Id, ProductTerm, Reduced, ScatterAdd, SharedTerm, fresh};

use crate::array::Array;
use crate::base::{Again, BaseTensor, ForkBranch, Over, Trip, TripFn, WhileFn, attributed};
use crate::dtype::DType;
use crate::interpreters::guarded::{self, Care};
use crate::interpreters::scattered::ArrayCotangent;
use crate::ops::{
    Binary, Call, Contract, Discrete, Guard, Linear, Partial, PartialFactors, PartialOrigin, Property, Reduce, Unary,
};
use crate::program::Custom;
use crate::shape::Shape;
use crate::source::Site;

/// A value of the interpreter `T` with the delta term of its derivative.
///
/// Made by the verbs of [`crate::direct`]; a program sees it only as its `T: BaseTensor`.
///
/// Example: [`Sweep`].
pub struct ADVal<T: 'static> {
    primal: T,
    /// The id of the primal value, and of the term if there is one.
    id: Id,
    node: Option<Rc<SharedTerm<T>>>,
    /// Whether the primal value can be infinite or NaN at finite arguments, apart from overflow.
    poles: bool,
}

impl<T: Clone + 'static> Clone for ADVal<T> {
    fn clone(&self) -> Self {
        ADVal { primal: self.primal.clone(), id: self.id, node: self.node.clone(), poles: self.poles }
    }
}

/// A new number for a primal value.
pub(super) fn fresh_id() -> u64 {
    fresh()
}

type TopDelta<T> = Delta<Factor<T>, Rc<SharedTerm<T>>>;

/// Whether the element type of the value has tangents.
fn differentiable<T: BaseTensor>(t: &T) -> bool {
    t.dtype().is_float()
}

impl<T: BaseTensor> ADVal<T> {
    /// The primal value.
    ///
    /// Example: [`Sweep`].
    pub fn primal(&self) -> &T {
        &self.primal
    }

    /// Whether the value has no term: its tangent is zero.
    pub(super) fn is_constant(&self) -> bool {
        self.node.is_none()
    }

    /// The number that names the primal value in terms: equal numbers, equal values.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// A value whose tangent is zero, of a primal value that has a number.
    pub(super) fn constant_with_id(primal: T, id: u64) -> Self {
        ADVal { primal, id, node: None, poles: false }
    }

    /// A value whose tangent is zero.
    #[inline]
    fn constant_of(primal: T) -> Self {
        ADVal { primal, id: fresh(), node: None, poles: false }
    }

    /// The same value, which may be infinite or NaN if `poles`.
    #[inline]
    fn poles_if(self, poles: bool) -> Self {
        ADVal { poles, ..self }
    }

    /// An input: its tangent is given.
    fn variable(primal: T, given: Given) -> Self {
        ADVal::of(primal, Delta::Input(given))
    }

    /// A value with a term.
    #[inline]
    fn of(primal: T, delta: TopDelta<T>) -> Self {
        let id = fresh();
        let node = SharedTerm::new(id, &primal, delta);
        ADVal { primal, id, node: Some(node), poles: false }
    }

    /// The term of a linear operation on this value, if it has one.
    fn linear_term(&self, op: &Linear) -> Option<TopDelta<T>> {
        let hides = self.poles && !guarded::reads_all(op);
        Some(Delta::Linear(Box::new(op.clone()), self.node.clone()?, hides))
    }

    /// The primal value as a coefficient in the term of another value.
    fn factor(&self) -> Factor<T> {
        Factor { value: self.primal.clone(), id: self.id }
    }

    /// The product of a partial and the tangent of a term; `operands` are the ids of both operands of the operation, and
    /// `of` is its result. The product of a partial of two factors is one more term.
    fn term(
        to: &Rc<SharedTerm<T>>,
        partial: Partial<T>,
        operands: [Id; 2],
        steep: bool,
        of: &T,
    ) -> Edge<Factor<T>, Rc<SharedTerm<T>>> {
        let (first, then) = match partial.value {
            Some(PartialFactors { first, then }) => (Some(first), then),
            None => (None, None),
        };
        let to = match then {
            Some(next) => {
                let next = ADVal::term(to, *next, operands, steep, of);
                SharedTerm::new(fresh(), of, Delta::Scale(next))
            }
            None => to.clone(),
        };
        let origin = partial.origin;
        let factor = first.map(|value| {
            let id = match origin {
                PartialOrigin::First => operands[0],
                PartialOrigin::Second => operands[1],
                PartialOrigin::Result | PartialOrigin::Computed => fresh(),
            };
            Factor { value, id }
        });
        Edge { guard: partial.guard, factor, to, steep }
    }
}

// These functions are compiled for every interpreter, and once for all who call them: iterators would be compiled again
// for every closure.

/// The primal values of several dual ones.
fn primals<T: BaseTensor>(values: &[ADVal<T>]) -> Vec<T> {
    let mut primals = Vec::with_capacity(values.len());
    for value in values {
        primals.push(value.primal.clone());
    }
    primals
}

/// Values without tangents.
fn constants<T: BaseTensor>(primals: Vec<T>) -> Vec<ADVal<T>> {
    let mut constants = Vec::with_capacity(primals.len());
    for primal in primals {
        constants.push(ADVal::constant_of(primal));
    }
    constants
}

/// Values as coefficients in the term of another value.
fn factors<T: BaseTensor>(values: &[ADVal<T>]) -> Vec<Factor<T>> {
    let mut factors = Vec::with_capacity(values.len());
    for value in values {
        factors.push(value.factor());
    }
    factors
}

/// The terms of values.
fn terms<T: BaseTensor>(values: &[ADVal<T>]) -> Vec<Option<Rc<SharedTerm<T>>>> {
    let mut terms = Vec::with_capacity(values.len());
    for value in values {
        terms.push(value.node.clone());
    }
    terms
}

/// Values that may be infinite or NaN.
fn with_poles<T: BaseTensor>(values: Vec<ADVal<T>>) -> Vec<ADVal<T>> {
    values.into_iter().map(|value| value.poles_if(true)).collect()
}

/// Whether one of several values may be infinite or NaN.
fn any_poles<T: BaseTensor>(values: &[ADVal<T>]) -> bool {
    values.iter().any(|value| value.poles)
}

/// Whether no value has a term.
fn are_constants<T: BaseTensor>(values: &[ADVal<T>]) -> bool {
    for value in values {
        if value.node.is_some() {
            return false;
        }
    }
    true
}

/// The operation that made the first of these values.
fn site<T: BaseTensor>(values: &[T]) -> Site {
    match values.first() {
        Some(value) => value.site(),
        None => Site::default(),
    }
}

/// The results of an operation with several results, whose derivative is one term.
fn outputs<T: BaseTensor>(results: Vec<T>, delta: TopDelta<T>) -> Vec<ADVal<T>> {
    let site = site(&results);
    let of = Rc::new(SharedTerm { id: fresh(), dtype: DType::F64, site, shape: None, delta });
    let mut outputs = Vec::with_capacity(results.len());
    for (k, y) in results.into_iter().enumerate() {
        let moves = differentiable(&y);
        let y = if moves { ADVal::of(y, Delta::Output(of.clone(), k)) } else { ADVal::constant_of(y) };
        outputs.push(y.poles_if(true));
    }
    outputs
}

impl<T: BaseTensor> BaseTensor for ADVal<T> {
    fn constant(a: Array) -> Self {
        let poles = T::records() && guarded::is_singular(&a);
        ADVal::constant_of(T::constant(a)).poles_if(poles)
    }

    fn shape(&self) -> &[usize] {
        self.primal.shape()
    }

    fn dtype(&self) -> DType {
        self.primal.dtype()
    }

    fn unary(&self, op: Unary) -> Self {
        let y = self.primal.unary(op);
        let poles = self.poles || guarded::has_poles(op);
        let Some(node) = &self.node else { return ADVal::constant_of(y).poles_if(poles) };
        // No closure here, so that a derivative that does not exist is reported at the caller's line.
        let before = T::attribute(y.site());
        let term = ADVal::term(node, op.derivative(&self.primal, &y), [self.id; 2], op.is(Property::Steep), &y);
        T::attribute(before);
        ADVal::of(y, Delta::Scale(term)).poles_if(poles)
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let (x, y) = (&self.primal, &other.primal);
        let z = x.binary(op, y);
        let operands = [self.id, other.id];
        // A guarded product is finite where one factor is zero and the other, which is its partial, infinite; so is a
        // guarded quotient of zeros.
        let hides = |poles: bool| op == Binary::DivNoNan || (op == Binary::MulNoNan && poles);
        let steep = |poles: bool| op.is(Property::Steep) || hides(poles);
        let poles = self.poles || other.poles || guarded::has_poles_of_two(op);
        let left = |node| ADVal::term(node, op.partial_left(x, y, &z), operands, steep(other.poles), &z);
        let right = |node| ADVal::term(node, op.partial_right(x, y, &z), operands, steep(self.poles), &z);
        let delta = match (&self.node, &other.node) {
            (None, None) => return ADVal::constant_of(z).poles_if(poles),
            (Some(node), None) => attributed::<T, _>(z.site(), || Delta::Scale(left(node))),
            (None, Some(node)) => attributed::<T, _>(z.site(), || Delta::Scale(right(node))),
            (Some(a), Some(b)) => attributed::<T, _>(z.site(), || Delta::Scale2(left(a), right(b))),
        };
        ADVal::of(z, delta).poles_if(poles)
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let args: smallvec::SmallVec<[&T; 2]> = args.iter().map(|a| &a.primal).collect();
        ADVal::constant_of(T::discrete(op, &args))
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        let primal = T::select(&mask.primal, &then.primal, &otherwise.primal);
        let poles = then.poles || otherwise.poles;
        if then.node.is_none() && otherwise.node.is_none() {
            return ADVal::constant_of(primal).poles_if(poles);
        }
        let (then, otherwise) = (then.node.clone(), otherwise.node.clone());
        ADVal::of(primal, Delta::Select { mask: mask.factor(), then, otherwise }).poles_if(poles)
    }

    fn linear(&self, op: &Linear) -> Self {
        let primal = self.primal.linear(op);
        match self.linear_term(op) {
            Some(term) => ADVal::of(primal, term),
            None => ADVal::constant_of(primal),
        }
        .poles_if(self.poles)
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let primal = T::contract(op, &a.primal, &b.primal);
        if a.node.is_none() && b.node.is_none() {
            return ADVal::constant_of(primal).poles_if(a.poles || b.poles);
        }
        let left = a.node.clone().map(|node| (node, b.factor()));
        let right = b.node.clone().map(|node| (node, a.factor()));
        let term = ProductTerm { op: op.clone(), left, right, poles: [b.poles, a.poles] };
        ADVal::of(primal, Delta::Contract(Box::new(term))).poles_if(a.poles || b.poles)
    }

    /// The position of the extremum is computed only if the operand has a term; then tangent and primal value are both
    /// read at this position.
    fn reduce(&self, op: Reduce) -> Self {
        let x = &self.primal;
        let Some(node) = &self.node else { return ADVal::constant_of(x.reduce(op)).poles_if(self.poles) };
        // Checked first, so that an error has the message of the reduction, not that of the gather.
        op.result((x.shape(), x.dtype()));
        let at = T::discrete(&op.position(), &[x]);
        let primal = x.gather(&op.indices(x.shape(), &at));
        let (source, dtype, at) = (Shape::from_slice(x.shape()), x.dtype(), Factor { value: at, id: fresh() });
        let term = Reduced { op, source, dtype, at, of: node.clone() };
        ADVal::of(primal, Delta::Reduce(Box::new(term))).poles_if(self.poles)
    }

    fn gather(&self, ix: &[Self]) -> Self {
        let primal = self.primal.gather(&primals(ix));
        let Some(node) = &self.node else { return ADVal::constant_of(primal).poles_if(self.poles) };
        let (source, dtype) = (Shape::from_slice(self.shape()), self.dtype());
        let ix = ix.iter().map(ADVal::factor).collect();
        let term = Gather { source, dtype, ix, of: node.clone(), hides: self.poles };
        ADVal::of(primal, Delta::Gather(Box::new(term))).poles_if(self.poles)
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        let ADVal { primal, node: base, poles, .. } = self;
        let (primal, hides) = (primal.scatter_add(&primals(ix), &v.primal), v.poles);
        let poles = poles || hides;
        if base.is_none() && v.node.is_none() {
            return ADVal::constant_of(primal).poles_if(poles);
        }
        let (shape, dtype) = (Shape::from_slice(primal.shape()), primal.dtype());
        let ix = ix.iter().map(ADVal::factor).collect();
        let term = ScatterAdd { shape, dtype, base, ix, v: v.node.clone(), hides };
        ADVal::of(primal, Delta::ScatterAdd(Box::new(term))).poles_if(poles)
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let primal = T::concat(axis, &primals(parts));
        let poles = any_poles(parts);
        if are_constants(parts) {
            return ADVal::constant_of(primal).poles_if(poles);
        }
        let mut of = Vec::with_capacity(parts.len());
        for part in parts {
            of.push((Shape::from_slice(part.shape()), part.node.clone()));
        }
        ADVal::of(primal, Delta::Concat(axis, of)).poles_if(poles)
    }

    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        loops::map_accum(n, reverse, init, xs, step)
    }

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        call::apply(op, args)
    }

    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        custom::apply(rule, args)
    }

    fn again(f: &Again<Self>, args: &[Self]) -> Vec<Self> {
        checkpointed_call::apply(f, args)
    }

    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        checkpointed_call::repeat(most, init, step)
    }

    fn fork(branches: [ForkBranch<'_, Self>; 2]) -> [Vec<Self>; 2] {
        fork::apply(branches)
    }

    fn accumulate(self, other: &Self) -> Self {
        let ADVal { primal, node, poles, .. } = self;
        let primal = primal.accumulate(&other.primal);
        let one = |to: &Rc<SharedTerm<T>>| Edge { guard: Guard::One, factor: None, to: to.clone(), steep: false };
        match (&node, &other.node) {
            (None, None) => ADVal::constant_of(primal),
            (Some(a), None) | (None, Some(a)) => ADVal::of(primal, Delta::Scale(one(a))),
            (Some(a), Some(b)) => ADVal::of(primal, Delta::Scale2(one(a), one(b))),
        }
        .poles_if(poles || other.poles)
    }

    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        let ADVal { primal, node, poles, .. } = self;
        let primal = primal.accumulate_linear(op, &other.primal);
        let one = |to: Rc<SharedTerm<T>>| Edge { guard: Guard::One, factor: None, to, steep: false };
        // The added value `op(other)` has a term, but exists only as part of the sum.
        let added = other.linear_term(op).map(|term| SharedTerm::new(fresh(), &primal, term));
        match (node, added) {
            (None, None) => ADVal::constant_of(primal),
            (Some(a), None) | (None, Some(a)) => ADVal::of(primal, Delta::Scale(one(a))),
            (Some(a), Some(b)) => ADVal::of(primal, Delta::Scale2(one(a), one(b))),
        }
        .poles_if(poles || other.poles)
    }
}

impl<T: BaseTensor> Over for ADVal<T> {
    type Base = T;

    fn base(&self) -> &T {
        &self.primal
    }

    fn of_base(value: T) -> Self {
        ADVal::constant_of(value)
    }

    fn needs_all_trips() -> bool {
        loops::in_a_loop() || T::runs_all_trips()
    }
}

/// One differentiation: makes inputs, and pulls cotangents of results back to them.
///
/// ```
/// use polygrad::interpreters::adval::{Fault, Sweep};
/// use polygrad::{ADVal, Array, BaseTensor, ops::Unary};
/// let mut sweep = Sweep::new();
/// let x: ADVal<Array> = sweep.input(&Array::from([3.0, 5.0]));
/// let y = x.unary(Unary::Square);
/// assert_eq!(y.primal(), &Array::from([9.0, 25.0]));
/// let (ct, results) = (Array::from([1.0, 10.0]), [y]);
/// assert_eq!(sweep.pull(&results, vec![ct.clone()]), [Array::from([6.0, 100.0])]);
/// assert_eq!(sweep.push(&results, vec![ct]), [Array::from([6.0, 100.0])]);
/// assert!(matches!(sweep.try_pull(&results, vec![Array::scalar(1.0)]), Err(Fault::Misfit(_))));
/// assert!(sweep.try_push(&results, vec![Array::scalar(1.0)]).is_err());
/// // An integer is a constant.
/// let n = sweep.input(&Array::scalar(4_i64));
/// assert_eq!(sweep.pull(&[n], vec![Array::scalar(1_i64)]), [Array::from([0.0, 0.0]), Array::scalar(0_i64)]);
/// ```
pub struct Sweep<T> {
    first: Id,
    inputs: Vec<(Option<Id>, T)>,
}

impl<T: BaseTensor> Default for Sweep<T> {
    fn default() -> Self {
        Sweep::new()
    }
}

impl<T: BaseTensor> Sweep<T> {
    /// A differentiation without inputs yet.
    ///
    /// Example: [`Sweep`].
    pub fn new() -> Self {
        Sweep { first: fresh(), inputs: Vec::new() }
    }

    /// A new input of this differentiation; integers and masks become constants.
    ///
    /// Example: [`Sweep`].
    pub fn input(&mut self, primal: &T) -> ADVal<T> {
        let value = if differentiable(primal) {
            ADVal::variable(primal.clone(), Given::Argument)
        } else {
            ADVal::constant_of(primal.clone())
        };
        self.inputs.push((value.node.is_some().then_some(value.id), T::zeros(primal.shape(), primal.dtype())));
        value
    }

    /// The cotangents of the inputs, in order, from cotangents of results: the transposed derivative. Zeros for
    /// integers, masks and inputs that no result depends on.
    ///
    /// Example: [`Sweep`].
    ///
    /// # Panics
    /// When there is not one cotangent of the same shape and element type per result, or when a result
    /// depends on a differentiated value that is not an input of this sweep.
    #[track_caller]
    pub fn pull(&self, results: &[ADVal<T>], cotangents: Vec<T>) -> Vec<T> {
        match self.try_pull(results, cotangents) {
            Ok(cotangents) => cotangents,
            Err(fault) => panic!("{fault}"),
        }
    }

    /// [`pull`](Sweep::pull), for callers that cannot panic at the user's line.
    ///
    /// Example: [`Sweep`].
    ///
    /// # Errors
    /// When a result depends on a differentiated value that is not an input of this sweep, or there is not one cotangent of
    /// the same shape and element type per result.
    pub fn try_pull(&self, results: &[ADVal<T>], cotangents: Vec<T>) -> Result<Vec<T>, Fault> {
        let mut found = self.pull_some(results, cotangents, false)?.into_iter();
        let mut all = Vec::with_capacity(self.inputs.len());
        for (_, zero) in &self.inputs {
            all.push(match found.next().flatten() {
                Some(ct) => ct.dense(),
                None => zero.clone(),
            });
        }
        Ok(all)
    }

    /// The cotangents of the inputs that [`pull`](Sweep::pull) gives, `None` for those that are zero. An input that is
    /// read at indices alone gets one that is zero elsewhere.
    #[track_caller]
    pub(crate) fn pull_scattered(&self, results: &[ADVal<T>], cotangents: Vec<T>) -> Vec<Option<ArrayCotangent<T>>> {
        self.pull_some(results, cotangents, true).unwrap_or_else(|fault| panic!("{fault}"))
    }

    /// The cotangents of those inputs on which a result depends, which may be scattered.
    fn pull_some(
        &self,
        results: &[ADVal<T>],
        cotangents: Vec<T>,
        scattered: bool,
    ) -> Result<Vec<Option<ArrayCotangent<T>>>, Fault> {
        let mut kinds: Vec<(&[usize], DType)> = Vec::with_capacity(results.len());
        for result in results {
            kinds.push((result.shape(), result.dtype()));
        }
        Fault::of_cotangents(&kinds, &cotangents)?;
        let mut seeds = Vec::new();
        for (k, ct) in cotangents.into_iter().enumerate() {
            if let Some(node) = &results[k].node {
                seeds.push((node, ct));
            }
        }
        let mut ids: Vec<Id> = Vec::with_capacity(self.inputs.len());
        for (id, _) in &self.inputs {
            ids.extend(*id);
        }
        let mut found = pull::reverse(seeds, self.first, &ids, &[], (scattered, Care::None))?.0.into_iter();
        let mut all = Vec::with_capacity(self.inputs.len());
        for (id, _) in &self.inputs {
            all.push(if id.is_some() { found.next().flatten() } else { None });
        }
        Ok(all)
    }

    /// The tangents of results, in order, from tangents of the inputs: the derivative itself, by forward
    /// evaluation of the terms that [`pull`](Sweep::pull) evaluates transposed. Zeros for integers, masks and results
    /// that depend on no input; the tangents of integers and masks are ignored.
    ///
    /// Example: [`Sweep`].
    ///
    /// # Panics
    /// When there is not one tangent of the same shape and element type per input, or when a result
    /// depends on a differentiated value that is not an input of this sweep.
    #[track_caller]
    pub fn push(&self, results: &[ADVal<T>], tangents: Vec<T>) -> Vec<T> {
        self.push_carefully(results, tangents, Care::None)
    }

    /// [`push`](Sweep::push), with this care for products with the tangents.
    #[track_caller]
    fn push_carefully(&self, results: &[ADVal<T>], tangents: Vec<T>, care: Care) -> Vec<T> {
        match self.try_push_carefully(results, tangents, care) {
            Ok(tangents) => tangents,
            Err(fault) => panic!("{fault}"),
        }
    }

    /// [`push`](Sweep::push), for callers that cannot panic at the user's line.
    ///
    /// Example: [`Sweep`].
    ///
    /// # Errors
    /// When a result depends on a differentiated value that is not an input of this sweep, or there is not one tangent of
    /// the same shape and element type per input.
    pub fn try_push(&self, results: &[ADVal<T>], tangents: Vec<T>) -> Result<Vec<T>, Fault> {
        self.try_push_carefully(results, tangents, Care::None)
    }

    fn try_push_carefully(&self, results: &[ADVal<T>], tangents: Vec<T>, care: Care) -> Result<Vec<T>, Fault> {
        if self.inputs.len() != tangents.len() {
            return Err(Fault::Misfit(format!(
                "linearize: each leaf of the argument needs a tangent, but there are {} leaves and {} tangents; map the argument to its \
                 tangent",
                self.inputs.len(),
                tangents.len()
            )));
        }
        let mut known = Vec::new();
        for ((id, zero), tangent) in self.inputs.iter().zip(tangents) {
            if zero.shape() != tangent.shape() || zero.dtype() != tangent.dtype() {
                return Err(Fault::Misfit(format!(
                    "linearize: a tangent must have the shape and element type of its argument, but the argument is {} {} and the \
                     tangent {} {}; map the argument to its tangent",
                    zero.dtype(),
                    crate::shape::Show(zero.shape()),
                    tangent.dtype(),
                    crate::shape::Show(tangent.shape())
                )));
            }
            known.extend(id.map(|id| (id, Some(tangent))));
        }
        let found = push::forward(&terms(results), self.first, &known, care)?;
        let mut tangents = Vec::with_capacity(results.len());
        for (k, t) in found.into_iter().enumerate() {
            tangents.push(match t {
                Some(t) => t,
                None => T::zeros(results[k].shape(), results[k].dtype()),
            });
        }
        Ok(tangents)
    }
}
