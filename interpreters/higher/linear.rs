//! Linear functions as data, and how they run.
//!
//! A linear function is made by the operations of "CHAD", Fig. 8, and by nothing else: the fields are private. It runs
//! in one of two ways. [`Mode::Tuples`] is the text of the paper: the cotangent of a variable is a vector of the type of
//! its context, zero elsewhere. [`Mode::Cells`] is efficient CHAD: the cotangent of the context is a tree of cells that
//! are added to, and a vector that is zero elsewhere is a path to a cell. Law: both give the same results, up to the
//! order of sums.

use std::cell::RefCell;
use std::rc::Rc;

use super::bag::Bag;
use super::tally;
use super::value::Val;
use crate::base::BaseTensor;
use crate::higher::Layout;

/// How a linear function runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By tuples of vectors.
    Tuples,
    /// By adding to cells.
    Cells,
}

/// The function of an operation that is no combination of others.
type Operation<T> = Rc<dyn Fn(Mode, Val<T>) -> Val<T>>;

/// A linear function, and how deep it is nested.
pub struct Lin<T>(Rc<Node<T>>, usize);

impl<T> Clone for Lin<T> {
    fn clone(&self) -> Self {
        Lin(self.0.clone(), self.1)
    }
}

/// How deep linear functions may nest: they run by recursion, and a thread must have room for it.
const DEPTH: usize = 3000;

enum Node<T> {
    Id,
    Zero,
    Then(Lin<T>, Lin<T>),
    Pair(Lin<T>, Lin<T>),
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

/// A place where vectors add up.
struct Cell<T>(Rc<RefCell<Slot<T>>>);

enum Slot<T> {
    Empty,
    Sum(Val<T>),
    Parts(Cell<T>, Cell<T>),
}

impl<T> Clone for Cell<T> {
    fn clone(&self) -> Self {
        Cell(self.0.clone())
    }
}

impl<T: BaseTensor> Cell<T> {
    fn of(slot: Slot<T>) -> Self {
        Cell(Rc::new(RefCell::new(slot)))
    }

    fn add(&self, v: Val<T>) {
        if v.is_zero() {
            return;
        }
        if let Val::Pair(p) = &v {
            let (a, b) = self.parts();
            a.add(p.0.clone());
            return b.add(p.1.clone());
        }
        let before = self.0.replace(Slot::Empty);
        let sum = match before {
            Slot::Empty => v,
            Slot::Sum(u) => u.plus(v),
            // The unit of a pair of cells without tangents adds nothing.
            parts @ Slot::Parts(..) => return drop(self.0.replace(parts)),
        };
        self.0.replace(Slot::Sum(sum));
    }

    /// The cells of the parts of a pair.
    fn parts(&self) -> (Cell<T>, Cell<T>) {
        if let Slot::Parts(a, b) = &*self.0.borrow() {
            return (a.clone(), b.clone());
        }
        let (a, b) = (Cell::of(Slot::Empty), Cell::of(Slot::Empty));
        self.0.replace(Slot::Parts(a.clone(), b.clone()));
        (a, b)
    }

    fn take(&self) -> Val<T> {
        match self.0.replace(Slot::Empty) {
            Slot::Empty => Val::Zero,
            Slot::Sum(v) => v,
            Slot::Parts(a, b) => Val::pair(a.take(), b.take()),
        }
    }
}

/// A vector of a case that did not run.
#[cold]
fn other_case() -> ! {
    unreachable!("the cotangent of a sum is of the case of its value")
}

impl<T: BaseTensor> Lin<T> {
    fn of(node: Node<T>) -> Self {
        let depth = match &node {
            Node::Then(f, g) | Node::Pair(f, g) | Node::Plus(f, g) | Node::Bind(f, g) | Node::Select(_, f, g) => {
                1 + f.1.max(g.1)
            }
            Node::Id | Node::Zero | Node::Fst | Node::Snd | Node::Swap(_) | Node::Eval(_) | Node::Singleton(_) => 0,
            Node::Fold(_) | Node::Inl | Node::Inr | Node::CastLeft | Node::CastRight | Node::Operation(_) => 0,
        };
        if depth > DEPTH {
            panic!(
                "chad: linear functions must nest at most {DEPTH} deep, but a loop of many steps makes a deeper one; take a fold, or \
                 differentiate by CurryClosures"
            );
        }
        Lin(Rc::new(node), depth)
    }

    pub(super) fn id() -> Self {
        Lin::of(Node::Id)
    }

    pub(super) fn zero() -> Self {
        Lin::of(Node::Zero)
    }

    pub(super) fn then(self, g: Lin<T>) -> Self {
        Lin::of(Node::Then(self, g))
    }

    pub(super) fn pair(f: Lin<T>, g: Lin<T>) -> Self {
        Lin::of(Node::Pair(f, g))
    }

    pub(super) fn fst() -> Self {
        Lin::of(Node::Fst)
    }

    pub(super) fn snd() -> Self {
        Lin::of(Node::Snd)
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

    /// A linear function of the host language. The caller sees to it that it is linear.
    pub(super) fn operation(f: impl Fn(Mode, Val<T>) -> Val<T> + 'static) -> Self {
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

    /// The result at a vector.
    pub(crate) fn run(&self, mode: Mode, mut v: Val<T>) -> Val<T> {
        let mut this = self;
        while let Node::Then(f, g) = &*this.0 {
            v = f.run(mode, v);
            this = g;
        }
        match (&*this.0, mode) {
            (Node::Pair(f, g), Mode::Tuples) => {
                let first = f.run(mode, v.clone());
                Val::pair(first, g.run(mode, v))
            }
            (Node::Plus(f, g), Mode::Tuples) => {
                let first = f.run(mode, v.clone());
                first.plus(g.run(mode, v))
            }
            (Node::Bind(body, value), Mode::Tuples) => {
                let both = body.run(mode, v);
                both.fst().plus(value.run(mode, both.snd()))
            }
            (Node::Pair(..) | Node::Plus(..) | Node::Bind(..) | Node::Fold(_), Mode::Cells) => {
                let cell = Cell::of(Slot::Empty);
                this.run_into(v, &cell);
                cell.take()
            }
            (Node::Id | Node::Zero | Node::Fst | Node::Snd | Node::Then(..), _) => this.run_leaf(mode, v),
            (Node::Swap(_) | Node::Eval(_) | Node::Singleton(_) | Node::Select(..), _) => this.run_leaf(mode, v),
            (Node::Inl | Node::Inr | Node::CastLeft | Node::CastRight, _) => this.run_leaf(mode, v),
            (Node::Operation(_), _) | (Node::Fold(_), Mode::Tuples) => this.run_leaf(mode, v),
        }
    }

    /// [`run`](Lin::run) of a function that is no combination of others. Apart, so that the frames of the recursion are
    /// small.
    #[inline(never)]
    fn run_leaf(&self, mode: Mode, v: Val<T>) -> Val<T> {
        match &*self.0 {
            Node::Id => v,
            Node::Zero => {
                tally::zero::<T>();
                Val::Zero
            }
            Node::Fst => v.fst(),
            Node::Snd => v.snd(),
            Node::Then(..) | Node::Pair(..) | Node::Plus(..) | Node::Bind(..) => unreachable!("a combination"),
            Node::Fold(f) => {
                let Some(bag) = v.bag() else { return Val::Zero };
                let mut total = Val::Zero;
                let each = |a, v| f.apply(a).lin().run(mode, v);
                bag.fold(&each, &mut |w| total = std::mem::replace(&mut total, Val::Zero).plus(w));
                total
            }
            Node::Swap(f) => {
                let f = f.clone();
                Val::fun(move |x| f.apply(x).lin().run(mode, v.clone()))
            }
            Node::Eval(a) => v.apply(a.clone()),
            Node::Singleton(a) => Val::Bag(Bag::one(a.clone(), v)),
            Node::Inl if v.is_zero() => v,
            Node::Inr if v.is_zero() => v,
            Node::Inl => Val::Left(Rc::new(v)),
            Node::Inr => Val::Right(Rc::new(v)),
            Node::CastLeft => match v {
                Val::Left(v) => Rc::unwrap_or_clone(v),
                Val::Either(e) => Val::select(&e.0, e.1.clone(), Val::Zero),
                Val::Zero => Val::Zero,
                Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Right(_) | Val::Fun(_) => other_case(),
                Val::Lin(_) | Val::Bag(_) | Val::Mono(_) => other_case(),
            },
            Node::CastRight => match v {
                Val::Right(v) => Rc::unwrap_or_clone(v),
                Val::Either(e) => Val::select(&e.0, Val::Zero, e.2.clone()),
                Val::Zero => Val::Zero,
                Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Left(_) | Val::Fun(_) => other_case(),
                Val::Lin(_) | Val::Bag(_) | Val::Mono(_) => other_case(),
            },
            Node::Select(mask, f, g) => Val::select(mask, f.run(mode, v.clone()), g.run(mode, v)),
            // Linear functions map zero to zero.
            Node::Operation(_) if v.is_zero() => Val::Zero,
            Node::Operation(f) => f(mode, v),
        }
    }

    /// Adds the result at a vector to a cell. What runs last is no recursion, so a loop goes back through its steps in a
    /// loop.
    fn run_into(&self, mut v: Val<T>, cell: &Cell<T>) {
        let (mut this, mut cell) = (self, cell.clone());
        while !v.is_zero() {
            match &*this.0 {
                Node::Zero => return,
                Node::Then(f, g) => match g.path(&cell) {
                    Some(part) => (this, cell) = (f, part),
                    None => {
                        v = f.run(Mode::Cells, v);
                        this = g;
                    }
                },
                Node::Pair(f, g) => {
                    let (a, b) = cell.parts();
                    f.run_into(v.clone(), &a);
                    (this, cell) = (g, b);
                }
                Node::Plus(f, g) => {
                    f.run_into(v.clone(), &cell);
                    this = g;
                }
                Node::Bind(body, value) => {
                    let own = Cell::of(Slot::Empty);
                    body.run_into(v, &Cell::of(Slot::Parts(cell.clone(), own.clone())));
                    v = own.take();
                    this = value;
                }
                Node::Fold(f) => {
                    if let Some(bag) = v.bag() {
                        bag.fold(&|a, v| f.apply(a).lin().run(Mode::Cells, v), &mut |w| cell.add(w));
                    }
                    return;
                }
                Node::Id | Node::Fst | Node::Snd | Node::Swap(_) | Node::Eval(_) | Node::Singleton(_) => {
                    return cell.add(this.run_leaf(Mode::Cells, v));
                }
                Node::Inl | Node::Inr | Node::CastLeft | Node::CastRight | Node::Select(..) | Node::Operation(_) => {
                    return cell.add(this.run_leaf(Mode::Cells, v));
                }
            }
        }
    }

    /// The part of a cell to which the function sends its argument as it is, if it does no more than that.
    fn path(&self, cell: &Cell<T>) -> Option<Cell<T>> {
        match &*self.0 {
            Node::Id => Some(cell.clone()),
            Node::Then(f, g) => f.path(&g.path(cell)?),
            Node::Pair(f, g) if matches!(*g.0, Node::Zero) => f.path(&cell.parts().0),
            Node::Pair(f, g) if matches!(*f.0, Node::Zero) => g.path(&cell.parts().1),
            Node::Zero | Node::Pair(..) | Node::Fst | Node::Snd | Node::Plus(..) | Node::Bind(..) => None,
            Node::Swap(_) | Node::Eval(_) | Node::Singleton(_) | Node::Fold(_) | Node::Select(..) => None,
            Node::Inl | Node::Inr | Node::CastLeft | Node::CastRight | Node::Operation(_) => None,
        }
    }
}
