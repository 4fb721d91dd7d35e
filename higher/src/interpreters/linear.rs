//! Linear functions as data, and their evaluation.
//!
//! Only the operations of "CHAD", Fig. 8, construct linear functions, in this file alone. There are two modes of
//! evaluation. [`Mode::Tuples`] is that of "CHAD": the cotangent of a variable is a vector of the type of its context,
//! zero elsewhere. [`Mode::Cells`] is efficient CHAD: vectors are added to cells (`accumulators.rs`), and functions
//! that only move vectors determine the destination cells. Laws: both modes give the same results, up to the order of
//! sums; a linear function is evaluated, and dropped, without recursion, so the reverse pass of a loop, or of a recursion,
//! may have any number of steps. What remains of an evaluation are frames of the machine of calls ([`Task`]).

use std::rc::Rc;

use polygrad::base::BaseTensor;

use super::counter;
use super::machine::finished;
use super::value::{
    Bag, Callable, Cell, Closure, Each, Entry, Frames, Join, Lin, LinNode, LinRoot, Mode, Place, Task, Transition, Val,
};
use crate::Layout;
use crate::shared::Shared;

impl<T> Clone for Lin<T> {
    fn clone(&self) -> Self {
        Lin { root: self.root.clone(), moves: self.moves }
    }
}

/// The largest number of nodes of a function that only moves vectors: its destinations are found by recursion.
const LARGEST: u8 = 100;

impl<T> Clone for LinRoot<T> {
    fn clone(&self) -> Self {
        match self {
            LinRoot::Id => LinRoot::Id,
            LinRoot::Zero => LinRoot::Zero,
            LinRoot::Fst => LinRoot::Fst,
            LinRoot::Snd => LinRoot::Snd,
            LinRoot::Node(node) => LinRoot::Node(node.clone()),
        }
    }
}

/// Fails for a vector of a case that did not run.
#[cold]
fn other_case() -> ! {
    unreachable!("the cotangent of a sum is of the case of its value")
}

impl<T: BaseTensor> Lin<T> {
    fn of(node: LinNode<T>) -> Self {
        let moves = match &node {
            LinNode::Then(f, g)
            | LinNode::Pair(f, g)
            | LinNode::Copair(f, g)
            | LinNode::Plus(f, g)
            | LinNode::Bind(f, g) => {
                let sum = f.moves.saturating_add(g.moves).saturating_add(1);
                if f.moves == 0 || g.moves == 0 || sum > LARGEST { 0 } else { sum }
            }
            LinNode::Id | LinNode::Zero | LinNode::Fst | LinNode::Snd | LinNode::Inl | LinNode::Inr => 1,
            LinNode::Swap(_) | LinNode::Eval(_) | LinNode::Singleton(_) | LinNode::Fold(_) | LinNode::Select(..) => 0,
            LinNode::CastLeft | LinNode::CastRight | LinNode::Operation(_) => 0,
        };
        Lin { root: LinRoot::Node(Shared::new(node)), moves }
    }

    fn node(&self) -> &LinNode<T> {
        match &self.root {
            LinRoot::Id => &LinNode::Id,
            LinRoot::Zero => &LinNode::Zero,
            LinRoot::Fst => &LinNode::Fst,
            LinRoot::Snd => &LinNode::Snd,
            LinRoot::Node(node) => node,
        }
    }

    pub(super) fn id() -> Self {
        Lin { root: LinRoot::Id, moves: 1 }
    }

    pub(super) fn zero() -> Self {
        Lin { root: LinRoot::Zero, moves: 1 }
    }

    pub(super) fn then(self, g: Lin<T>) -> Self {
        match (&self.root, &g.root) {
            (_, LinRoot::Zero) | (LinRoot::Id, _) => g,
            (_, LinRoot::Id) => self,
            _ => Lin::of(LinNode::Then(self, g)),
        }
    }

    /// The sum of `f` of the first component and `g` of the second one.
    pub(super) fn copair(f: Lin<T>, g: Lin<T>) -> Self {
        Lin::of(LinNode::Copair(f, g))
    }

    pub(super) fn pair(f: Lin<T>, g: Lin<T>) -> Self {
        Lin::of(LinNode::Pair(f, g))
    }

    pub(super) fn fst() -> Self {
        Lin { root: LinRoot::Fst, moves: 1 }
    }

    pub(super) fn snd() -> Self {
        Lin { root: LinRoot::Snd, moves: 1 }
    }

    pub(super) fn plus(self, g: Lin<T>) -> Self {
        Lin::of(LinNode::Plus(self, g))
    }

    pub(super) fn bind(body: Lin<T>, value: Lin<T>) -> Self {
        Lin::of(LinNode::Bind(body, value))
    }

    pub(super) fn swap(f: Val<T>) -> Self {
        Lin::of(LinNode::Swap(f))
    }

    pub(super) fn eval(a: Val<T>) -> Self {
        Lin::of(LinNode::Eval(a))
    }

    pub(super) fn singleton(a: Val<T>) -> Self {
        Lin::of(LinNode::Singleton(a))
    }

    pub(super) fn fold(f: Val<T>) -> Self {
        Lin::of(LinNode::Fold(f))
    }

    pub(super) fn inl() -> Self {
        Lin::of(LinNode::Inl)
    }

    pub(super) fn inr() -> Self {
        Lin::of(LinNode::Inr)
    }

    pub(super) fn cast_left() -> Self {
        Lin::of(LinNode::CastLeft)
    }

    pub(super) fn cast_right() -> Self {
        Lin::of(LinNode::CastRight)
    }

    pub(super) fn select(mask: T, f: Lin<T>, g: Lin<T>) -> Self {
        Lin::of(LinNode::Select(mask, f, g))
    }

    /// A linear function of the host language. The caller ensures that it is linear.
    pub(super) fn operation(f: impl Fn(Mode, Val<T>) -> Val<T> + 'static) -> Self {
        Lin::operation_for(move |mode, v, _| f(mode, v))
    }

    /// A linear function of the host language, which is told which parts of its result are needed.
    pub(super) fn operation_for(f: impl Fn(Mode, Val<T>, &Place<T>) -> Val<T> + 'static) -> Self {
        Lin::of(LinNode::Operation(Rc::new(f)))
    }

    /// The sum of all leaves of the argument, in each leaf of the result.
    pub(super) fn spread(from: Layout, to: Layout) -> Self {
        fn sum<T: BaseTensor>(v: &Val<T>, layout: &Layout) -> Val<T> {
            match layout {
                Layout::Unit => Val::Zero,
                Layout::Leaf(..) => v.clone(),
                Layout::Pair(a, b) => sum(&v.fst(), a).plus(sum(&v.snd(), b)),
            }
        }
        fn copy<T: BaseTensor>(v: &Val<T>, layout: &Layout) -> Val<T> {
            match layout {
                Layout::Unit => Val::Zero,
                Layout::Leaf(..) => v.clone(),
                Layout::Pair(a, b) => Val::pair(copy(v, a), copy(v, b)),
            }
        }
        Lin::operation(move |_, v| copy(&sum(&v, &from), &to))
    }

    /// The result at a vector, for the host.
    pub(crate) fn run(&self, mode: Mode, v: Val<T>) -> Val<T> {
        self.run_scattered(mode, v).dense()
    }

    /// [`run`](Lin::run), where cotangents of arrays that are read at indices are not dense.
    pub(super) fn run_scattered(&self, mode: Mode, v: Val<T>) -> Val<T> {
        finished([Task::Apply(self.clone(), mode)], v)
    }

    /// The result at a vector, as the current call.
    pub(super) fn call(self, mode: Mode, v: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        frames.task(Task::Dense);
        self.apply(mode, v, frames)
    }

    /// The result at a vector, where the parts that a destination does not need are zero, and cotangents of arrays that are
    /// read at indices are not dense.
    pub(super) fn run_for(&self, mode: Mode, v: Val<T>, needed: &Place<T>) -> Val<T> {
        if mode == Mode::Tuples {
            return self.run_scattered(mode, v);
        }
        let own = needed.fresh();
        finished([Task::SendOf(self.clone(), v, own.clone())], Val::Zero);
        own.take()
    }

    /// The first component of the result at a vector: the work for the second one alone is left out.
    pub(crate) fn run_first(&self, v: Val<T>) -> Val<T> {
        self.run_for(Mode::Cells, v, &Place::both(Place::To(Cell::new()), Place::Nowhere)).fst().dense()
    }

    /// The result at a vector, or the next current vector with tasks for the rest of the evaluation.
    fn apply(&self, mode: Mode, v: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        match (self.node(), mode) {
            (LinNode::Then(f, g), _) => {
                frames.task(Task::Apply(g.clone(), mode));
                frames.task(Task::Apply(f.clone(), mode));
            }
            (LinNode::Select(mask, f, g), _) => {
                frames.task(Task::Second(g.clone(), mode, v.clone(), Join::Select(mask.clone())));
                frames.task(Task::Apply(f.clone(), mode));
            }
            (LinNode::Pair(f, g), Mode::Tuples) => {
                frames.task(Task::Second(g.clone(), mode, v.clone(), Join::Pair));
                frames.task(Task::Apply(f.clone(), mode));
            }
            (LinNode::Plus(f, g), Mode::Tuples) => {
                frames.task(Task::Second(g.clone(), mode, v.clone(), Join::Plus));
                frames.task(Task::Apply(f.clone(), mode));
            }
            (LinNode::Copair(f, g), Mode::Tuples) => {
                frames.task(Task::Second(g.clone(), mode, v.snd(), Join::Plus));
                frames.task(Task::Apply(f.clone(), mode));
                return Transition::Value(v.fst());
            }
            (LinNode::Bind(body, value), Mode::Tuples) => {
                frames.task(Task::Bound(value.clone(), mode));
                frames.task(Task::Apply(body.clone(), mode));
            }
            (
                LinNode::Pair(..) | LinNode::Copair(..) | LinNode::Plus(..) | LinNode::Bind(..) | LinNode::Fold(_),
                Mode::Cells,
            ) => {
                let cell = Cell::new();
                frames.task(Task::Take(cell.clone()));
                return self.send(v, Place::To(cell), frames);
            }
            (LinNode::Eval(a), _) => return v.call(a.clone()),
            (LinNode::Id | LinNode::Zero | LinNode::Fst | LinNode::Snd | LinNode::Operation(_), _) => {
                return Transition::Value(self.run_leaf(mode, v));
            }
            (LinNode::Swap(_) | LinNode::Singleton(_) | LinNode::Inl | LinNode::Inr, _) => {
                return Transition::Value(self.run_leaf(mode, v));
            }
            (LinNode::CastLeft | LinNode::CastRight, _) => return Transition::Value(self.run_leaf(mode, v)),
            (LinNode::Fold(f), Mode::Tuples) => {
                let Some(bag) = v.bag() else { return Transition::Value(Val::Zero) };
                if let [Entry::One(a, v)] = bag.entries()[..] {
                    frames.task(Task::ApplyResult(mode, v.clone()));
                    return f.call(a.clone());
                }
                return Transition::Value(self.run_leaf(mode, Val::Bag(bag)));
            }
        }
        Transition::Value(v)
    }

    /// Adds the result at a vector to a destination, or appends tasks that do. The current vector is of no use then.
    fn send(&self, v: Val<T>, place: Place<T>, frames: &mut Frames<T>) -> Transition<T> {
        if v.is_zero() || matches!(place, Place::Nowhere) {
            return Transition::Value(Val::Zero);
        }
        if let Some(end) = self.end(&place) {
            end.add(v);
            return Transition::Value(Val::Zero);
        }
        match self.node() {
            LinNode::Then(f, g) => match g.end(&place) {
                Some(end) => frames.task(Task::SendOf(f.clone(), v, end)),
                None => {
                    frames.task(Task::Send(g.clone(), place));
                    frames.task(Task::ApplyTo(f.clone(), Mode::Cells, v));
                }
            },
            LinNode::Pair(f, g) => {
                let (first, second) = place.parts();
                frames.task(Task::SendOf(g.clone(), v.clone(), second));
                frames.task(Task::SendOf(f.clone(), v, first));
            }
            LinNode::Plus(f, g) => {
                frames.task(Task::SendOf(g.clone(), v.clone(), place.clone()));
                frames.task(Task::SendOf(f.clone(), v, place));
            }
            LinNode::Copair(f, g) => {
                frames.task(Task::SendOf(g.clone(), v.snd(), place.clone()));
                frames.task(Task::SendOf(f.clone(), v.fst(), place));
            }
            LinNode::Bind(body, value) => {
                let own = match value.end(&place) {
                    Some(end) => end,
                    None => {
                        let cell = Cell::new();
                        frames.task(Task::Send(value.clone(), place.clone()));
                        frames.task(Task::Take(cell.clone()));
                        Place::To(cell)
                    }
                };
                frames.task(Task::SendOf(body.clone(), v, Place::both(place, own)));
            }
            LinNode::Fold(f) => {
                let Some(bag) = v.bag() else { return Transition::Value(Val::Zero) };
                for entry in bag.entries().iter().rev() {
                    match entry {
                        Entry::One(a, v) => {
                            let entry = (f.clone(), (*a).clone(), (*v).clone(), place.clone());
                            frames.task(Task::SendEntry(Box::new(entry)));
                        }
                        Entry::Zip(xs, vs) => {
                            let each = |a, v| f.apply(a).lin().run_scattered(Mode::Cells, v);
                            place.add(Bag::summed((*xs).clone(), (*vs).clone(), &each));
                        }
                        Entry::Total(total) => place.add(total(&folded(f, Mode::Cells))),
                    }
                }
            }
            LinNode::Id | LinNode::Zero | LinNode::Fst | LinNode::Snd | LinNode::Swap(_) | LinNode::Singleton(_) => {
                place.add(self.run_leaf(Mode::Cells, v));
            }
            LinNode::Inl | LinNode::Inr | LinNode::CastLeft | LinNode::CastRight => {
                place.add(self.run_leaf(Mode::Cells, v))
            }
            LinNode::Operation(f) => place.add(f(Mode::Cells, v.dense(), &place)),
            LinNode::Select(..) | LinNode::Eval(_) => {
                frames.task(Task::Add(place));
                return self.apply(Mode::Cells, v, frames);
            }
        }
        Transition::Value(Val::Zero)
    }

    /// The destination of the argument such that the result gets to `place`, if the function only moves vectors.
    fn end(&self, place: &Place<T>) -> Option<Place<T>> {
        if self.moves == 0 {
            return None;
        }
        match self.node() {
            LinNode::Id => Some(place.clone()),
            LinNode::Zero => Some(Place::Nowhere),
            LinNode::Then(f, g) => f.end(&g.end(place)?),
            LinNode::Pair(f, g) => {
                let (first, second) = place.parts();
                f.end(&first)?.merge(g.end(&second)?)
            }
            LinNode::Plus(f, g) => f.end(place)?.merge(g.end(place)?),
            LinNode::Copair(f, g) => Some(Place::both(f.end(place)?, g.end(place)?)),
            LinNode::Bind(body, value) => body.end(&Place::both(place.clone(), value.end(place)?)),
            LinNode::Fst => Some(Place::both(place.clone(), Place::Nowhere)),
            LinNode::Snd => Some(Place::both(Place::Nowhere, place.clone())),
            LinNode::Inl => place.case(true),
            LinNode::Inr => place.case(false),
            LinNode::Swap(_) | LinNode::Eval(_) | LinNode::Singleton(_) | LinNode::Fold(_) | LinNode::Select(..) => {
                None
            }
            LinNode::CastLeft | LinNode::CastRight | LinNode::Operation(_) => None,
        }
    }

    /// [`run`](Lin::run) of a function that is not a combination of others.
    fn run_leaf(&self, mode: Mode, v: Val<T>) -> Val<T> {
        match self.node() {
            LinNode::Id => v,
            LinNode::Zero => {
                counter::zero::<T>();
                Val::Zero
            }
            LinNode::Fst => v.fst(),
            LinNode::Snd => v.snd(),
            LinNode::Then(..)
            | LinNode::Pair(..)
            | LinNode::Copair(..)
            | LinNode::Plus(..)
            | LinNode::Bind(..)
            | LinNode::Select(..) => {
                unreachable!("a combination")
            }
            LinNode::Fold(f) => v.bag().map_or(Val::Zero, |bag| bag.total(&folded(f, mode))),
            LinNode::Swap(f) => Val::Fun(Closure::of(Swapped { f: f.clone(), mode, v })),
            LinNode::Eval(a) => v.apply(a.clone()),
            LinNode::Singleton(a) => Val::Bag(Bag::one(a.clone(), v)),
            LinNode::Inl if v.is_zero() => v,
            LinNode::Inr if v.is_zero() => v,
            LinNode::Inl => Val::Left(Shared::new(v)),
            LinNode::Inr => Val::Right(Shared::new(v)),
            LinNode::CastLeft => match v {
                Val::Left(v) => Shared::unwrap_or_clone(v),
                Val::Either(e) => Val::select(&e.0, e.1.clone(), Val::Zero),
                Val::Zero => Val::Zero,
                Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Right(_) | Val::Fun(_) => other_case(),
                Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => other_case(),
            },
            LinNode::CastRight => match v {
                Val::Right(v) => Shared::unwrap_or_clone(v),
                Val::Either(e) => Val::select(&e.0, Val::Zero, e.2.clone()),
                Val::Zero => Val::Zero,
                Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Left(_) | Val::Fun(_) => other_case(),
                Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => other_case(),
            },
            // Linear functions map zero to zero.
            LinNode::Operation(_) if v.is_zero() => Val::Zero,
            LinNode::Operation(f) => f(mode, v.dense(), &Place::To(Cell::new())),
        }
    }
}

/// A value with its pullback.
pub(super) fn with<T: BaseTensor>(y: Val<T>, pullback: Lin<T>) -> Val<T> {
    Val::Pair(Shared::new((y, Val::Lin(pullback))))
}

/// The function of a point whose results at a vector are those of linear functions that depend on the point.
struct Swapped<T: 'static> {
    f: Val<T>,
    mode: Mode,
    v: Val<T>,
}

impl<T: BaseTensor> Callable<T> for Swapped<T> {
    fn enter(&self, own: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        frames.push(own, 0, Val::Zero);
        self.f.call(x)
    }

    fn resume(&self, _: &Closure<T>, _: u8, _: Val<T>, y: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        y.lin().call(self.mode, self.v.clone(), frames)
    }
}

impl<T: BaseTensor> Task<T> {
    /// Goes on with the current vector.
    pub(super) fn run(self, current: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        match self {
            Task::Apply(f, mode) => f.apply(mode, current, frames),
            Task::ApplyTo(f, mode, v) => f.apply(mode, v, frames),
            Task::ApplyResult(mode, v) => current.lin().apply(mode, v, frames),
            Task::Add(place) => {
                place.add(current);
                Transition::Value(Val::Zero)
            }
            Task::Send(f, place) => f.send(current, place, frames),
            Task::SendOf(f, v, place) => f.send(v, place, frames),
            Task::SendResult(v, place) => current.lin().send(v, place, frames),
            Task::SendEntry(entry) => {
                let (f, a, v, place) = *entry;
                frames.task(Task::SendResult(v, place));
                f.call(a)
            }
            Task::Take(cell) => Transition::Value(cell.take()),
            Task::Second(g, mode, v, join) => {
                frames.task(Task::Join(current, join));
                g.apply(mode, v, frames)
            }
            Task::Join(first, Join::Pair) => Transition::Value(Val::pair(first, current)),
            Task::Join(first, Join::Plus) => Transition::Value(first.plus(current)),
            Task::Join(first, Join::Select(mask)) => Transition::Value(Val::select(&mask, first, current)),
            Task::Bound(value, mode) => {
                frames.task(Task::Join(current.fst(), Join::Plus));
                value.apply(mode, current.snd(), frames)
            }
            Task::Dense => Transition::Value(current.dense()),
        }
    }
}

/// The function of an entry whose sum is the fold of a function from points to linear functions.
fn folded<T: BaseTensor>(f: &Val<T>, mode: Mode) -> Each<T> {
    let f = f.clone();
    Rc::new(move |a, v| f.apply(a).lin().run_scattered(mode, v))
}
