//! The reverse pass: evaluation of the transposed term (`reversePass` of "Dual arrays", sections 2.6 and 6.4).
//!
//! `pull : Delta -> cotangent of the value -> updates of the cotangents of its references`.
//!
//! Law: for every term, `dot(push(x_dot), ct) == dot(x_dot, pull(ct))`. Pending cotangents are visited by descending
//! id, so each shared term is visited once, after all its uses.

use std::rc::Rc;

use smallvec::SmallVec;
use thiserror::Error;

use super::checkpointed_call::RerunCode;
use super::delta::{Coefficient, Delta, Edge, Factor, Given, Id, SharedTerm, given_or_refused};
use super::push::indices;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::errors::debug_by_display;
use crate::interpreters::guarded::{self, Care, Side};
use crate::interpreters::scattered::{ArrayCotangent, Scattered};
use crate::ops::Linear;
use crate::program::Results;
use crate::shape::{Shape, Show};

/// The values that the body of a loop refers to by number; empty at top level.
pub(super) struct Env<'a, T> {
    pub(super) held: &'a [T],
    pub(super) stacked: &'a [T],
    pub(super) elements: &'a [T],
    pub(super) codes: &'a [RerunCode],
}

/// A representation, within a term, of a value of `T`.
pub(super) trait Residual<T>: Coefficient {
    fn get<'a>(&'a self, env: &'a Env<'_, T>) -> &'a T;

    fn code<'a>(code: &'a Self::Code, env: &'a Env<'_, T>) -> &'a RerunCode;
}

impl<T> Residual<T> for Factor<T> {
    #[inline]
    fn get<'a>(&'a self, _env: &'a Env<'_, T>) -> &'a T {
        &self.value
    }

    fn code<'a>(code: &'a RerunCode, _env: &'a Env<'_, T>) -> &'a RerunCode {
        code
    }
}

/// The values that the factors of a term represent.
pub(super) fn values<T: Clone, F: Residual<T>>(factors: &[F], env: &Env<'_, T>) -> Vec<T> {
    let mut values = Vec::with_capacity(factors.len());
    for factor in factors {
        values.push(factor.get(env).clone());
    }
    values
}

/// The functions that the codes of a term represent.
pub(super) fn codes<T, F: Residual<T>>(codes: &[F::Code], env: &Env<'_, T>) -> Vec<RerunCode> {
    let mut found = Vec::with_capacity(codes.len());
    for code in codes {
        found.push(F::code(code, env).clone());
    }
    found
}

/// The cotangent of a term: of one value, or of each result of a loop. That of an input that has only been read at indices is
/// scattered.
pub(super) type Cotangent<T> = Results<ArrayCotangent<T>, Option<T>>;

/// A cotangent that is an array.
fn dense<T>(ct: T) -> Cotangent<T> {
    Cotangent::One(ArrayCotangent::Dense(ct))
}

/// A contribution to the cotangent of an earlier value. The type is small, since it is passed by value for every term.
pub(super) enum Update<T> {
    /// A cotangent.
    Add(T),
    /// A cotangent through a linear operation.
    AddLinear(Box<Linear>, T),
    /// A cotangent at some indices, without the zeros elsewhere.
    Scatter(Box<Scatter<T>>, T),
    /// A cotangent for one of several results of a loop.
    Output { index: usize, v: T },
}

/// The indices of a scatter into an array of this shape.
pub(super) struct Scatter<T> {
    shape: Shape,
    dtype: DType,
    ix: SmallVec<[T; 2]>,
}

impl<T: BaseTensor> Cotangent<T> {
    /// The cotangent of a term that has one value.
    fn array(self) -> T {
        self.into_one().dense()
    }
}

/// Adds an update to the pending cotangent of an input. Updates at indices stay what they are until another kind of
/// update arrives.
fn accumulate_input<T: BaseTensor>(slot: &mut Option<Cotangent<T>>, update: Update<T>) {
    let Update::Scatter(at, v) = update else { return accumulate(slot, update) };
    let before = match slot.take().map(Cotangent::into_one) {
        Some(ArrayCotangent::Dense(before)) => {
            *slot = Some(dense(before.scatter_add(&at.ix, &v)));
            return;
        }
        Some(ArrayCotangent::Scattered(before)) => Some(before),
        None => None,
    };
    let at = *at;
    let next = Scattered::new(at.shape, at.dtype, at.ix, v);
    let both = match before {
        Some(before) => before.plus(next),
        None => Ok(next),
    };
    *slot = Some(Cotangent::One(match both {
        Ok(both) => ArrayCotangent::Scattered(Box::new(both)),
        Err(dense) => ArrayCotangent::Dense(dense),
    }));
}

/// Adds an update to a pending cotangent.
pub(super) fn accumulate<T: BaseTensor>(slot: &mut Option<Cotangent<T>>, update: Update<T>) {
    if let Update::Output { index, v } = update {
        let mut outputs = slot.take().map(Cotangent::into_many).unwrap_or_default();
        if outputs.len() <= index {
            outputs.resize_with(index + 1, || None);
        }
        outputs[index] = Some(match outputs[index].take() {
            Some(before) => before.accumulate(&v),
            None => v,
        });
        *slot = Some(Cotangent::Many(outputs));
        return;
    }
    let before = slot.take().map(Cotangent::array);
    *slot = Some(dense(accumulate_one(before, update)));
}

/// Adds an update to the pending cotangent of one value.
pub(super) fn accumulate_one<T: BaseTensor>(before: Option<T>, update: Update<T>) -> T {
    match (update, before) {
        (Update::Add(v), None) => v,
        (Update::Add(v), Some(before)) => before.accumulate(&v),
        (Update::AddLinear(op, v), None) => v.linear(&op),
        (Update::AddLinear(op, v), Some(before)) => before.accumulate_linear(&op, &v),
        (Update::Scatter(at, v), before) => {
            before.unwrap_or_else(|| T::zeros(&at.shape, at.dtype)).scatter_add(&at.ix, &v)
        }
        (Update::Output { .. }, _) => unreachable!("the result of a loop is not one value"),
    }
}

/// Propagates the cotangent of a term to the terms that it refers to, with this care for infinite and NaN factors.
pub(super) fn pull<'d, T: BaseTensor, F: Residual<T>, R>(
    delta: &'d Delta<F, R>,
    env: &Env<'_, T>,
    ct: Cotangent<T>,
    care: Care,
    emit: &mut dyn FnMut(&'d R, Update<T>),
) {
    let times = |t: &Edge<F, R>, ct: &T| {
        let factor = t.factor.as_ref().map(|f| f.get(env));
        Update::Add(guarded::times(t.guard, factor, ct, care))
    };
    match delta {
        Delta::Input(_) | Delta::Unbounded => given_or_refused(),
        Delta::Scale(t) => emit(&t.to, times(t, &ct.array())),
        Delta::Scale2(s, t) => {
            let ct = ct.array();
            emit(&s.to, times(s, &ct));
            emit(&t.to, times(t, &ct));
        }
        Delta::Select { mask, then, otherwise } => {
            let (ct, mask) = (ct.array(), mask.get(env));
            let zero = T::zeros(ct.shape(), ct.dtype());
            if let Some(to) = then {
                emit(to, Update::Add(T::select(mask, &ct, &zero)));
            }
            if let Some(to) = otherwise {
                emit(to, Update::Add(T::select(mask, &zero, &ct)));
            }
        }
        Delta::Linear(op, to, _) => emit(to, Update::AddLinear(Box::new(op.adjoint()), ct.array())),
        Delta::Contract(p) => {
            let ct = ct.array();
            if let Some((to, b)) = &p.left {
                let (op, factors) = (p.op.adjoint_left(), [&ct, b.get(env)]);
                emit(to, Update::Add(guarded::contract(&op, factors, Side::Right, care, p.poles[0])));
            }
            if let Some((to, a)) = &p.right {
                let (op, factors) = (p.op.adjoint_right(), [a.get(env), &ct]);
                emit(to, Update::Add(guarded::contract(&op, factors, Side::Left, care, p.poles[1])));
            }
        }
        Delta::Reduce(m) => {
            let ix = m.op.indices(&m.source, m.at.get(env));
            emit(&m.of, Update::Scatter(Box::new(Scatter { shape: m.source.clone(), dtype: m.dtype, ix }), ct.array()));
        }
        Delta::Gather(g) => {
            let ix = indices(&g.ix, env);
            emit(&g.of, Update::Scatter(Box::new(Scatter { shape: g.source.clone(), dtype: g.dtype, ix }), ct.array()));
        }
        Delta::ScatterAdd(s) => {
            let ct = ct.array();
            if let Some(to) = &s.v {
                emit(to, Update::Add(ct.gather(&indices(&s.ix, env))));
            }
            if let Some(to) = &s.base {
                emit(to, Update::Add(ct));
            }
        }
        Delta::Concat(axis, parts) => {
            let ct = ct.array();
            let mut start = 0;
            for (shape, to) in parts {
                if let Some(to) = to {
                    let op = Linear::slice(ct.shape(), *axis, start, shape[*axis], 1);
                    emit(to, Update::Add(ct.linear(&op)));
                }
                start += shape[*axis];
            }
        }
        Delta::Loop(l) => l.pull(env, ct.into_many(), care, emit),
        Delta::Call(c) => emit(&c.to, Update::Add(c.pull(env, ct.array(), care))),
        Delta::Custom(c) => c.pull(env, ct.into_many(), care, emit),
        Delta::Fork(fork) => fork.pull(env, ct.into_many(), care, emit),
        Delta::Again(a) => a.pull(env, ct.into_many(), care, emit),
        Delta::Output(of, index) => emit(of, Update::Output { index: *index, v: ct.array() }),
    }
}

const PAGE: usize = 64;

/// A pending term with its cotangent, and the care for products with it.
type Entry<'a, T> = Option<(&'a SharedTerm<T>, Cotangent<T>, Care)>;

/// The pending cotangents of a reverse pass, by id. Ids are dense for terms at top level and sparse for terms in the
/// body of a loop, so this is a vector of pages.
struct Pending<'a, T: 'static> {
    first: Id,
    pages: Vec<Option<Box<[Entry<'a, T>; PAGE]>>>,
    /// Whether the cotangents of inputs that are read at indices alone stay what they are.
    scattered: bool,
}

impl<'a, T: BaseTensor> Pending<'a, T> {
    /// Adds to the cotangent of a term; for the terms `outside`, the cotangent is in `before`. `false` if another term
    /// is older than the first input.
    fn add(
        &mut self,
        node: &'a SharedTerm<T>,
        (update, care): (Update<T>, Care),
        outside: &[Id],
        before: &mut [Option<T>],
    ) -> bool {
        let Some(at) = node.id.checked_sub(self.first) else {
            let Ok(k) = outside.binary_search(&node.id) else { return false };
            before[k] = Some(accumulate_one(before[k].take(), update));
            return true;
        };
        let (page, at) = (at as usize / PAGE, at as usize % PAGE);
        let page = self.pages[page].get_or_insert_with(|| Box::new([const { None }; PAGE]));
        let (mut ct, mut all) = (None, care);
        if let Some((_, pending, care)) = page[at].take() {
            ct = Some(pending);
            all = all.max(care);
        }
        let scattered = self.scattered && matches!(node.delta, Delta::Input(_));
        let add = if scattered { accumulate_input } else { accumulate };
        add(&mut ct, update);
        page[at] = ct.map(|ct| (node, ct, all));
        true
    }
}

/// The cotangents of some terms, `None` for known zeros.
pub(super) type Found<T> = Vec<Option<T>>;

/// The cotangents of inputs, and those of terms from outside.
type FoundBoth<T> = (Found<ArrayCotangent<T>>, Found<T>);

/// The reverse pass: from cotangents of the results to those of the inputs, which may be scattered, and to those of
/// terms from outside, whose ids are given in ascending order. Results may depend on no other term that is older than
/// `first`. Cotangents of inputs may be scattered if this says so; those of the results need this care.
///
/// # Errors
/// When a result depends on a differentiated value that is not an input: one of another derivative of the same level,
/// or a loop variable that left its loop.
pub(super) fn reverse<T: BaseTensor>(
    results: Vec<(&Rc<SharedTerm<T>>, T)>,
    first: Id,
    inputs: &[Id],
    outside: &[Id],
    (scattered, care): (bool, Care),
) -> Result<FoundBoth<T>, Fault> {
    let (mut cotangents, mut before): FoundBoth<T> = (Vec::new(), Vec::new());
    cotangents.resize_with(inputs.len(), || None);
    before.resize_with(outside.len(), || None);
    let mut last = first;
    for (node, _) in &results {
        last = last.max(node.id);
    }
    let pages = (last.saturating_sub(first) as usize) / PAGE + 1;
    let mut pending = Pending { first, pages: Vec::new(), scattered };
    pending.pages.resize_with(pages, || None);
    let mut young = true;
    for (node, ct) in results {
        young &= pending.add(node, (Update::Add(ct), care), outside, &mut before);
    }
    let env = Env { held: &[], stacked: &[], elements: &[], codes: &[] };
    for page in (0..pages).rev() {
        for at in (0..PAGE).rev() {
            let Some(slots) = pending.pages[page].as_mut() else { break };
            let Some((node, ct, care)) = slots[at].take() else { continue };
            let Delta::Input(given) = node.delta else {
                if node.delta.is_unbounded() {
                    return Err(Fault::Unbounded);
                }
                let outer = T::attribute(node.site.clone());
                let sent = care.max(node.delta.care());
                pull(&node.delta, &env, ct, care, &mut |to, update| {
                    young &= pending.add(to, (update, sent), outside, &mut before);
                });
                T::attribute(outer);
                continue;
            };
            match inputs.binary_search(&node.id) {
                Ok(k) => cotangents[k] = Some(ct.into_one()),
                Err(_) => return Err(Fault::of(given)),
            }
        }
        pending.pages[page] = None;
    }
    if young { Ok((cotangents, before)) } else { Err(Fault::Outside) }
}

/// The reason why a derivative does not exist: the function is not a function of its argument alone, or cotangents or
/// tangents do not fit.
///
/// Example: [`Sweep`](super::Sweep).
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// A cotangent or tangent does not have the shape or element type that it must have.
    #[error("{0}")]
    Misfit(String),
    /// A result depends on a variable of a loop.
    #[error(
        "loop: a loop variable may be used only inside its closure, but the result depends on one that \
         escaped; return it from the step instead"
    )]
    LoopVariable,
    /// A trip of a loop depends on a variable of an earlier trip, or of an inner loop that has ended.
    #[error(
        "loop: a loop variable may be used only inside its closure, but a trip used one of an earlier trip; carry it instead"
    )]
    EarlierTrip,
    /// A result depends on an input of a differentiation that started later.
    #[error(
        "grad: an argument of an inner differentiated function may be used only inside that function, but the result of the \
         outer one depends on it; return it from the inner function instead"
    )]
    Inner,
    /// A result depends on a loop that ends by itself, without a bound.
    #[error(
        "while_loop: the number of trips must be bounded where the derivative is computed after the loop, but it has no bound; use \
         while_loop_within, or forward mode: jvp"
    )]
    Unbounded,
    /// A result depends on a term that is older than this differentiation.
    #[error(
        "grad: values of this level may enter the function only as its argument, but the result depends on a \
         differentiated value from outside; lift it from the level below, or pass it as data"
    )]
    Outside,
}

debug_by_display!(Fault);

impl Fault {
    /// An error unless there are as many cotangents as results.
    pub(crate) fn of_numbers(results: usize, cotangents: usize) -> Result<(), Fault> {
        if results == cotangents {
            return Ok(());
        }
        Err(Fault::Misfit(format!(
            "vjp: each result needs a cotangent, but there are {results} results and {cotangents} cotangents; map the result to its \
             cotangent"
        )))
    }

    /// An error unless there is one cotangent per result, of its shape and element type.
    pub(crate) fn of_cotangents<T: BaseTensor>(results: &[(&[usize], DType)], cotangents: &[T]) -> Result<(), Fault> {
        Fault::of_numbers(results.len(), cotangents.len())?;
        for ((shape, dtype), ct) in results.iter().zip(cotangents) {
            if *shape != ct.shape() || *dtype != ct.dtype() {
                return Err(Fault::Misfit(format!(
                    "vjp: a cotangent must have the shape and element type of its result, but the result is {dtype} {} and the cotangent \
                     {} {}; map the result to its cotangent",
                    Show(shape),
                    ct.dtype(),
                    Show(ct.shape())
                )));
            }
        }
        Ok(())
    }

    /// The fault of a result that depends on an input of something else.
    pub(super) fn of(given: Given) -> Fault {
        match given {
            Given::Argument => Fault::Inner,
            Given::Loop => Fault::LoopVariable,
        }
    }
}
