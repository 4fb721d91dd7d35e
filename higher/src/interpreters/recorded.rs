//! Iterations with their pullbacks: one linear function for each step, or one loop whose end is not known.
//!
//! While a program is traced, a condition that depends on inputs is not known. Then a step is traced as the trip of a while loop
//! ([`Custom::while_loop`]), which runs at a level of reverse mode ([`ReverseLevel`]): its pullback is the transposed loop. Law:
//! an iteration has the same value and the same cotangents both ways. The state and the context must consist of tensors;
//! functions among them must have cotangents that are those of what they capture.

use std::panic::Location;
use std::sync::Arc;

use polygrad::base::{BaseTensor, Staging};
use polygrad::program::{Custom, Term};
use polygrad::seam::mistake;
use polygrad::{Array, DType};

use super::choice::cases;
use super::decisions::Followed;
use super::linear::with;
use super::stacks::{Outside, Way, flatten, rebuild};
use super::untyped::at_place;
use super::value::{Callable, Closure, Frames, Lin, Skeleton, Transition, Val};
use super::{ReverseLevel, Tower, UNBOUNDED};
use crate::shared::Shared;

type V<T> = Val<Tower<T>>;

/// The cotangent of a function, from that of what it captures, if one gives the other.
pub(super) type OfCaptured<T> = fn(V<T>) -> Option<V<T>>;

/// Repeats a step that gives a value and a pullback. A frame keeps the context and the state, and the linear function from the
/// cotangent of the state to those of the context and of the initial state.
struct Iterate<T: 'static> {
    step: Closure<Tower<T>>,
    of_captured: OfCaptured<T>,
    at: Option<&'static Location<'static>>,
}

impl<T: BaseTensor> Iterate<T> {
    fn step(
        &self,
        own: &Closure<Tower<T>>,
        point: V<T>,
        back: Lin<Tower<T>>,
        frames: &mut Frames<Tower<T>>,
    ) -> Transition<Tower<T>> {
        // A traced step may turn out to be the first one of a loop, which begins with this state.
        let state = if T::records() { point.snd() } else { Val::Zero };
        frames.push(own, 0, with(Val::Pair(Shared::new((point.fst(), state))), back));
        Transition::Call(self.step.clone(), point)
    }
}

/// The pullback through a step, and before it through those that `back` has.
fn before<T: BaseTensor>(inject: Lin<T>, pullback: Lin<T>, back: Lin<T>) -> Lin<T> {
    let context = Lin::fst().then(Lin::pair(Lin::id(), Lin::zero()));
    inject.then(pullback).then(context.plus(Lin::snd().then(back)))
}

impl<T: BaseTensor> Callable<Tower<T>> for Iterate<T> {
    fn enter(&self, own: &Closure<Tower<T>>, x: V<T>, frames: &mut Frames<Tower<T>>) -> Transition<Tower<T>> {
        self.step(own, x, Lin::pair(Lin::zero(), Lin::id()), frames)
    }

    fn resume(
        &self,
        own: &Closure<Tower<T>>,
        _: u8,
        kept: V<T>,
        ran: V<T>,
        frames: &mut Frames<Tower<T>>,
    ) -> Transition<Tower<T>> {
        let (point, back) = (kept.fst(), kept.snd().lin());
        let of_step = ran.snd().lin();
        if let Val::Left(next) = ran.fst() {
            let next = Val::pair(point.fst(), Shared::unwrap_or_clone(next));
            return self.step(own, next, before(Lin::inl(), of_step, back), frames);
        }
        if let Val::Right(result) = ran.fst() {
            return Transition::Value(with(Shared::unwrap_or_clone(result), before(Lin::inr(), of_step, back)));
        }
        at_place(self.at, || match self.recorded(&point, &ran.fst()) {
            Some((result, pullback)) => Transition::Value(with(result, before(Lin::id(), pullback, back))),
            None => mistake(UNBOUNDED),
        })
    }

    fn placed(&self, at: &'static Location<'static>) -> Option<Closure<Tower<T>>> {
        Some(Closure::of(Iterate { step: self.step.clone(), of_captured: self.of_captured, at: Some(at) }))
    }
}

/// A step as the trip of a while loop, with the tensors that the loop takes.
struct RecordedStep<T: 'static> {
    rule: Custom,
    context: Vec<Tower<T>>,
    state: Vec<Tower<T>>,
    of_result: Skeleton<Tower<T>>,
    /// What the result of the loop is before it has ended.
    none: Vec<Tower<T>>,
}

impl<T: BaseTensor> Iterate<T> {
    /// The step from a context and a state as a program, where its result is like this one; `None` if a part of them does not
    /// consist of tensors, or if the interpreter of tensors records no programs.
    fn traced(&self, point: &V<T>, like: &V<T>) -> Option<RecordedStep<T>> {
        let none = Val::Zero;
        let (mut outside, mut context, mut state) = (Outside::of(&none), Vec::new(), Vec::new());
        let of_context = flatten(&point.fst(), &mut outside, &mut context)?;
        let of_state = flatten(&point.snd(), &mut outside, &mut state)?;
        let mut results = Vec::new();
        let of_result = flatten(like, &mut outside, &mut results).filter(|_| !like.has_function())?;
        let mut inputs = vec![Term::variable(&[], DType::Bool)];
        inputs.extend(state.iter().chain(&results).chain(&context).map(|x| Term::variable(x.shape(), x.dtype())));
        let variables: Vec<Tower<T>> = inputs.iter().map(Tower::captured).collect::<Option<_>>()?;
        let (carry, captured) = variables[1..].split_at(state.len() + results.len());
        let before = rebuild(&of_state, Way::Same, &mut carry.iter().cloned());
        let context_of_trip = rebuild(&of_context, Way::Same, &mut captured.iter().cloned());
        let trip = Followed::start();
        let (go, next, ended) = cases(&self.step.at(Val::pair(context_of_trip, before.clone())).fst());
        drop(trip);
        let mut after = vec![go];
        let of_next = flatten(&next.conform(&before), &mut outside, &mut after)?;
        let of_ended = flatten(&ended.conform(like), &mut outside, &mut after)?;
        if of_next != of_state || of_ended != of_result {
            return None;
        }
        let after: Vec<Term> = after.into_iter().map(Tower::recorded).collect();
        let body = Term::program(&inputs, &after, &[]).ok()?;
        let rule = Custom::while_loop("iterate", body, None).ok()?;
        let none = results.iter().map(|t| Tower::zeros(t.shape(), t.dtype())).collect();
        Some(RecordedStep { rule, context, state, of_result, none })
    }

    /// The result of all steps from a context and a state, as a loop, with the pullback to these. The result of the first step
    /// shows the structure of the result.
    fn recorded(&self, point: &V<T>, first: &V<T>) -> Option<(V<T>, Lin<Tower<T>>)> {
        let RecordedStep { rule, context, state, of_result, none } = self.traced(point, &cases(first).2)?;
        let of_point = FloatsOf { of_captured: self.of_captured, fixed: false };
        with_level(point, [context, state], of_point, &of_result, |context, state| {
            let split = 1 + state.len();
            let mut args = vec![Tower::constant(Array::scalar(true))];
            args.extend(state.into_iter().chain(none).chain(context));
            Tower::custom(&Arc::new(rule), &args).split_off(split)
        })
    }
}

/// Runs a recorded function of the tensors of both parts of a point at a level of reverse mode: the result, and the pullback
/// to the point. `None` if the point has no cotangent that follows from those of its tensors.
pub(super) fn with_level<T: BaseTensor>(
    point: &V<T>,
    parts: [Vec<Tower<T>>; 2],
    of_point: FloatsOf<T>,
    of_result: &Skeleton<Tower<T>>,
    run: impl FnOnce(Vec<Tower<T>>, Vec<Tower<T>>) -> Vec<Tower<T>>,
) -> Option<(V<T>, Lin<Tower<T>>)> {
    // Known to exist before the function is recorded.
    cotangent(point, &mut parts.iter().flatten().filter(|x| x.dtype().is_float()).cloned(), of_point)?;
    let mut level = ReverseLevel::start();
    let mut input = |x: Tower<T>| if x.dtype().is_float() { level.input(&x) } else { x };
    // The inputs are those of `cotangent`, in its order.
    let [first, second] = parts.map(|part| part.into_iter().map(&mut input).collect::<Vec<Tower<T>>>());
    let (values, pullback) = level.ended(&run(first, second));
    let result = rebuild(of_result, Way::Same, &mut values.into_iter());
    let (like, point) = (result.clone(), point.clone());
    let pull = move |v: V<T>| {
        let mut given = Vec::new();
        given_cotangents(&like, &v, &mut given);
        let mut found = pullback.pull(given).into_iter();
        cotangent(&point, &mut found, of_point).expect("a cotangent that exists")
    };
    Some((result, Lin::operation(move |_, v| if v.is_zero() { v } else { pull(v) })))
}

/// Which floats of a point have cotangents, and what these say of its functions.
pub(super) struct FloatsOf<T: 'static> {
    pub(super) of_captured: OfCaptured<T>,
    /// Whether parts that are not tensors have no influence, so that their cotangents are zero.
    pub(super) fixed: bool,
}

impl<T> Clone for FloatsOf<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for FloatsOf<T> {}

/// The cotangent of a value, from those of its floats in their order.
fn cotangent<T: BaseTensor>(
    x: &V<T>,
    floats: &mut dyn Iterator<Item = Tower<T>>,
    of_point: FloatsOf<T>,
) -> Option<V<T>> {
    match x {
        Val::Zero | Val::Nil => Some(Val::Zero),
        Val::Leaf(t) if t.dtype().is_float() => floats.next().map(Val::Leaf),
        Val::Leaf(_) => Some(Val::Zero),
        Val::Pair(p) => {
            let first = cotangent(&p.0, floats, of_point)?;
            Some(Val::pair(first, cotangent(&p.1, floats, of_point)?))
        }
        Val::Fun(_) | Val::Left(_) | Val::Right(_) | Val::Either(_) | Val::Lin(_) if of_point.fixed => Some(Val::Zero),
        Val::Bag(_) | Val::Mono(_) | Val::Many(_) | Val::Scattered(_) if of_point.fixed => Some(Val::Zero),
        Val::Fun(f) => (of_point.of_captured)(cotangent(f.parts()?.1, floats, of_point)?),
        Val::Left(_) | Val::Right(_) | Val::Either(_) | Val::Scattered(_) | Val::Lin(_) => None,
        Val::Bag(_) | Val::Mono(_) | Val::Many(_) => None,
    }
}

/// The cotangents of the tensors of a value without functions, in their order; `None` for zeros.
fn given_cotangents<T: BaseTensor>(y: &V<T>, y_bar: &V<T>, into: &mut Vec<Option<Tower<T>>>) {
    match (y, y_bar) {
        (Val::Pair(p), _) => {
            given_cotangents(&p.0, &y_bar.fst(), into);
            given_cotangents(&p.1, &y_bar.snd(), into);
        }
        (Val::Leaf(t), Val::Leaf(ct)) if t.dtype().is_float() => into.push(Some(ct.clone())),
        (Val::Leaf(t), Val::Scattered(ct)) if t.dtype().is_float() => into.push(Some(ct.as_ref().clone().dense())),
        (Val::Leaf(_), _) => into.push(None),
        _ => {}
    }
}

/// The iteration of a step that gives a value and a pullback, with its pullback.
pub(super) fn iterate_pulled<T: BaseTensor>(step: Closure<Tower<T>>, of_captured: OfCaptured<T>) -> Closure<Tower<T>> {
    Closure::of(Iterate { step, of_captured, at: None })
}
