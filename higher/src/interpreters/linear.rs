//! Linear functions as data, and their evaluation.
//!
//! Only the operations of "CHAD", Fig. 8, construct linear functions: the fields are private. There are two modes of
//! evaluation. [`Mode::Tuples`] is that of "CHAD": the cotangent of a variable is a vector of the type of its context,
//! zero elsewhere. [`Mode::Cells`] is efficient CHAD: vectors are added to cells (`accumulators.rs`), and functions
//! that only move vectors determine the destination cells. Laws: both modes give the same results, up to the order of
//! sums; a linear function is evaluated, and dropped, without recursion, so the reverse pass of a loop, or of a recursion,
//! may have any number of steps. What remains of an evaluation are frames of the machine of calls ([`Task`]).

use std::rc::Rc;

use polygrad::base::BaseTensor;

use super::accumulators::{Cell, Place};
use super::copower::{Bag, Each, Entry};
use super::counter;
use super::machine::{Callable, Closure, Frames, Transition, finished};
use super::value::Val;
use crate::Layout;
use crate::shared::Shared;

/// The mode of evaluation of a linear function.
///
/// Closed: code of a linear function runs in each mode.
///
/// Example: [`pullback_by`](crate::pullback_by).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By tuples of vectors.
    Tuples,
    /// By adding to cells.
    Cells,
}

/// The code of a linear function that is not a combination of others. It may leave out what its destination does not need.
type Operation<T> = Rc<dyn Fn(Mode, Val<T>, &Place<T>) -> Val<T>>;

/// A linear function. The functions that it combines or captures may be as many as the program is long.
///
/// Example: [`Backward::pulled`](super::Backward::pulled).
pub struct Lin<T: 'static> {
    root: Root<T>,
    /// The number of nodes of a function that only moves vectors; 0 of any other.
    moves: u8,
}

impl<T> Clone for Lin<T> {
    fn clone(&self) -> Self {
        Lin { root: self.root.clone(), moves: self.moves }
    }
}

/// The largest number of nodes of a function that only moves vectors: its destinations are found by recursion.
const LARGEST: u8 = 100;

/// A node, or one of the most frequent ones, which take no memory.
enum Root<T: 'static> {
    Id,
    Zero,
    Fst,
    Snd,
    Node(Shared<Node<T>>),
}

impl<T> Clone for Root<T> {
    fn clone(&self) -> Self {
        match self {
            Root::Id => Root::Id,
            Root::Zero => Root::Zero,
            Root::Fst => Root::Fst,
            Root::Snd => Root::Snd,
            Root::Node(node) => Root::Node(node.clone()),
        }
    }
}

enum Node<T: 'static> {
    Id,
    Zero,
    Then(Lin<T>, Lin<T>),
    Pair(Lin<T>, Lin<T>),
    /// The sum of a function of the first component and a function of the second one.
    Copair(Lin<T>, Lin<T>),
    Fst,
    Snd,
    Plus(Lin<T>, Lin<T>),
    Bind(Lin<T>, Lin<T>),
    Swap(Val<T>),
    Eval(Val<T>),
    Singleton(Val<T>),
    Fold(Val<T>),
    Inl,
    Inr,
    CastLeft,
    CastRight,
    Select(T, Lin<T>, Lin<T>),
    Operation(Operation<T>),
}

/// What remains of an evaluation, which has one current vector: a frame of the machine.
pub(super) enum Task<T: 'static> {
    /// Replaces the current vector by the function of it.
    Apply(Lin<T>, Mode),
    /// Replaces the current vector by the function of this vector.
    ApplyTo(Lin<T>, Mode, Val<T>),
    /// Replaces the current value, a linear function, by its result at this vector.
    ApplyResult(Mode, Val<T>),
    /// Adds the current vector to a destination.
    Add(Place<T>),
    /// Adds the function of the current vector to a destination.
    Send(Lin<T>, Place<T>),
    /// Adds the function of this vector to a destination.
    SendOf(Lin<T>, Val<T>, Place<T>),
    /// Adds the result of the current value, a linear function, at this vector to a destination.
    SendResult(Val<T>, Place<T>),
    /// Adds the linear function that a function gives at a point, of a vector, to a destination.
    SendEntry(Box<(Val<T>, Val<T>, Val<T>, Place<T>)>),
    /// Takes the current vector from a cell.
    Take(Cell<T>),
    /// Joins the current vector with the function of this vector.
    Second(Lin<T>, Mode, Val<T>, Join<T>),
    /// Joins this vector with the current one.
    Join(Val<T>, Join<T>),
    /// Adds the first component of the current pair to the function of its second component.
    Bound(Lin<T>, Mode),
    /// The current vector with tensors in place of their nonzero elements.
    Dense,
}

/// The combination of two results.
pub(super) enum Join<T> {
    Pair,
    Plus,
    Select(T),
}

/// Fails for a vector of a case that did not run.
#[cold]
fn other_case() -> ! {
    unreachable!("the cotangent of a sum is of the case of its value")
}

impl<T: BaseTensor> Lin<T> {
    fn of(node: Node<T>) -> Self {
        let moves = match &node {
            Node::Then(f, g) | Node::Pair(f, g) | Node::Copair(f, g) | Node::Plus(f, g) | Node::Bind(f, g) => {
                let sum = f.moves.saturating_add(g.moves).saturating_add(1);
                if f.moves == 0 || g.moves == 0 || sum > LARGEST { 0 } else { sum }
            }
            Node::Id | Node::Zero | Node::Fst | Node::Snd | Node::Inl | Node::Inr => 1,
            Node::Swap(_) | Node::Eval(_) | Node::Singleton(_) | Node::Fold(_) | Node::Select(..) => 0,
            Node::CastLeft | Node::CastRight | Node::Operation(_) => 0,
        };
        Lin { root: Root::Node(Shared::new(node)), moves }
    }

    fn node(&self) -> &Node<T> {
        match &self.root {
            Root::Id => &Node::Id,
            Root::Zero => &Node::Zero,
            Root::Fst => &Node::Fst,
            Root::Snd => &Node::Snd,
            Root::Node(node) => node,
        }
    }

    pub(super) fn id() -> Self {
        Lin { root: Root::Id, moves: 1 }
    }

    pub(super) fn zero() -> Self {
        Lin { root: Root::Zero, moves: 1 }
    }

    pub(super) fn then(self, g: Lin<T>) -> Self {
        match (&self.root, &g.root) {
            (_, Root::Zero) | (Root::Id, _) => g,
            (_, Root::Id) => self,
            _ => Lin::of(Node::Then(self, g)),
        }
    }

    /// The sum of `f` of the first component and `g` of the second one.
    pub(super) fn copair(f: Lin<T>, g: Lin<T>) -> Self {
        Lin::of(Node::Copair(f, g))
    }

    pub(super) fn pair(f: Lin<T>, g: Lin<T>) -> Self {
        Lin::of(Node::Pair(f, g))
    }

    pub(super) fn fst() -> Self {
        Lin { root: Root::Fst, moves: 1 }
    }

    pub(super) fn snd() -> Self {
        Lin { root: Root::Snd, moves: 1 }
    }

    pub(super) fn plus(self, g: Lin<T>) -> Self {
        Lin::of(Node::Plus(self, g))
    }

    pub(super) fn bind(body: Lin<T>, value: Lin<T>) -> Self {
        Lin::of(Node::Bind(body, value))
    }

    pub(super) fn swap(f: Val<T>) -> Self {
        Lin::of(Node::Swap(f))
    }

    pub(super) fn eval(a: Val<T>) -> Self {
        Lin::of(Node::Eval(a))
    }

    pub(super) fn singleton(a: Val<T>) -> Self {
        Lin::of(Node::Singleton(a))
    }

    pub(super) fn fold(f: Val<T>) -> Self {
        Lin::of(Node::Fold(f))
    }

    pub(super) fn inl() -> Self {
        Lin::of(Node::Inl)
    }

    pub(super) fn inr() -> Self {
        Lin::of(Node::Inr)
    }

    pub(super) fn cast_left() -> Self {
        Lin::of(Node::CastLeft)
    }

    pub(super) fn cast_right() -> Self {
        Lin::of(Node::CastRight)
    }

    pub(super) fn select(mask: T, f: Lin<T>, g: Lin<T>) -> Self {
        Lin::of(Node::Select(mask, f, g))
    }

    /// A linear function of the host language. The caller ensures that it is linear.
    pub(super) fn operation(f: impl Fn(Mode, Val<T>) -> Val<T> + 'static) -> Self {
        Lin::operation_for(move |mode, v, _| f(mode, v))
    }

    /// A linear function of the host language, which is told which parts of its result are needed.
    pub(super) fn operation_for(f: impl Fn(Mode, Val<T>, &Place<T>) -> Val<T> + 'static) -> Self {
        Lin::of(Node::Operation(Rc::new(f)))
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
            (Node::Then(f, g), _) => {
                frames.task(Task::Apply(g.clone(), mode));
                frames.task(Task::Apply(f.clone(), mode));
            }
            (Node::Select(mask, f, g), _) => {
                frames.task(Task::Second(g.clone(), mode, v.clone(), Join::Select(mask.clone())));
                frames.task(Task::Apply(f.clone(), mode));
            }
            (Node::Pair(f, g), Mode::Tuples) => {
                frames.task(Task::Second(g.clone(), mode, v.clone(), Join::Pair));
                frames.task(Task::Apply(f.clone(), mode));
            }
            (Node::Plus(f, g), Mode::Tuples) => {
                frames.task(Task::Second(g.clone(), mode, v.clone(), Join::Plus));
                frames.task(Task::Apply(f.clone(), mode));
            }
            (Node::Copair(f, g), Mode::Tuples) => {
                frames.task(Task::Second(g.clone(), mode, v.snd(), Join::Plus));
                frames.task(Task::Apply(f.clone(), mode));
                return Transition::Value(v.fst());
            }
            (Node::Bind(body, value), Mode::Tuples) => {
                frames.task(Task::Bound(value.clone(), mode));
                frames.task(Task::Apply(body.clone(), mode));
            }
            (Node::Pair(..) | Node::Copair(..) | Node::Plus(..) | Node::Bind(..) | Node::Fold(_), Mode::Cells) => {
                let cell = Cell::new();
                frames.task(Task::Take(cell.clone()));
                return self.send(v, Place::To(cell), frames);
            }
            (Node::Eval(a), _) => return v.call(a.clone()),
            (Node::Id | Node::Zero | Node::Fst | Node::Snd | Node::Operation(_), _) => {
                return Transition::Value(self.run_leaf(mode, v));
            }
            (Node::Swap(_) | Node::Singleton(_) | Node::Inl | Node::Inr, _) => {
                return Transition::Value(self.run_leaf(mode, v));
            }
            (Node::CastLeft | Node::CastRight, _) => return Transition::Value(self.run_leaf(mode, v)),
            (Node::Fold(f), Mode::Tuples) => {
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
            Node::Then(f, g) => match g.end(&place) {
                Some(end) => frames.task(Task::SendOf(f.clone(), v, end)),
                None => {
                    frames.task(Task::Send(g.clone(), place));
                    frames.task(Task::ApplyTo(f.clone(), Mode::Cells, v));
                }
            },
            Node::Pair(f, g) => {
                let (first, second) = place.parts();
                frames.task(Task::SendOf(g.clone(), v.clone(), second));
                frames.task(Task::SendOf(f.clone(), v, first));
            }
            Node::Plus(f, g) => {
                frames.task(Task::SendOf(g.clone(), v.clone(), place.clone()));
                frames.task(Task::SendOf(f.clone(), v, place));
            }
            Node::Copair(f, g) => {
                frames.task(Task::SendOf(g.clone(), v.snd(), place.clone()));
                frames.task(Task::SendOf(f.clone(), v.fst(), place));
            }
            Node::Bind(body, value) => {
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
            Node::Fold(f) => {
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
            Node::Id | Node::Zero | Node::Fst | Node::Snd | Node::Swap(_) | Node::Singleton(_) => {
                place.add(self.run_leaf(Mode::Cells, v));
            }
            Node::Inl | Node::Inr | Node::CastLeft | Node::CastRight => place.add(self.run_leaf(Mode::Cells, v)),
            Node::Operation(f) => place.add(f(Mode::Cells, v.dense(), &place)),
            Node::Select(..) | Node::Eval(_) => {
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
            Node::Id => Some(place.clone()),
            Node::Zero => Some(Place::Nowhere),
            Node::Then(f, g) => f.end(&g.end(place)?),
            Node::Pair(f, g) => {
                let (first, second) = place.parts();
                f.end(&first)?.merge(g.end(&second)?)
            }
            Node::Plus(f, g) => f.end(place)?.merge(g.end(place)?),
            Node::Copair(f, g) => Some(Place::both(f.end(place)?, g.end(place)?)),
            Node::Bind(body, value) => body.end(&Place::both(place.clone(), value.end(place)?)),
            Node::Fst => Some(Place::both(place.clone(), Place::Nowhere)),
            Node::Snd => Some(Place::both(Place::Nowhere, place.clone())),
            Node::Inl => place.case(true),
            Node::Inr => place.case(false),
            Node::Swap(_) | Node::Eval(_) | Node::Singleton(_) | Node::Fold(_) | Node::Select(..) => None,
            Node::CastLeft | Node::CastRight | Node::Operation(_) => None,
        }
    }

    /// [`run`](Lin::run) of a function that is not a combination of others.
    fn run_leaf(&self, mode: Mode, v: Val<T>) -> Val<T> {
        match self.node() {
            Node::Id => v,
            Node::Zero => {
                counter::zero::<T>();
                Val::Zero
            }
            Node::Fst => v.fst(),
            Node::Snd => v.snd(),
            Node::Then(..) | Node::Pair(..) | Node::Copair(..) | Node::Plus(..) | Node::Bind(..) | Node::Select(..) => {
                unreachable!("a combination")
            }
            Node::Fold(f) => v.bag().map_or(Val::Zero, |bag| bag.total(&folded(f, mode))),
            Node::Swap(f) => Val::Fun(Closure::of(Swapped { f: f.clone(), mode, v })),
            Node::Eval(a) => v.apply(a.clone()),
            Node::Singleton(a) => Val::Bag(Bag::one(a.clone(), v)),
            Node::Inl if v.is_zero() => v,
            Node::Inr if v.is_zero() => v,
            Node::Inl => Val::Left(Shared::new(v)),
            Node::Inr => Val::Right(Shared::new(v)),
            Node::CastLeft => match v {
                Val::Left(v) => Shared::unwrap_or_clone(v),
                Val::Either(e) => Val::select(&e.0, e.1.clone(), Val::Zero),
                Val::Zero => Val::Zero,
                Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Right(_) | Val::Fun(_) => other_case(),
                Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => other_case(),
            },
            Node::CastRight => match v {
                Val::Right(v) => Shared::unwrap_or_clone(v),
                Val::Either(e) => Val::select(&e.0, Val::Zero, e.2.clone()),
                Val::Zero => Val::Zero,
                Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Left(_) | Val::Fun(_) => other_case(),
                Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_) => other_case(),
            },
            // Linear functions map zero to zero.
            Node::Operation(_) if v.is_zero() => Val::Zero,
            Node::Operation(f) => f(mode, v.dense(), &Place::To(Cell::new())),
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
