//! Accumulators: cells in which efficient CHAD accumulates the cotangents of a context.
//!
//! Law: the value taken from a cell is the sum of the values added to it. Adding to one component of a context has no
//! cost for its other components. Nothing recurses over the depth of a vector.

use std::cell::RefCell;
use std::rc::Rc;

use polygrad::base::BaseTensor;

use super::value::{Cell, CellContents, Place, Val};
use crate::Layout;
use crate::shared::Shared;

impl<T> Clone for Cell<T> {
    fn clone(&self) -> Self {
        Cell(self.0.clone())
    }
}

/// How deep a sum is taken by recursion, before it is taken with a list of what remains.
const NESTED: u8 = 16;

/// What remains of taking a sum.
enum Taking<T: 'static> {
    Cell(Cell<T>),
    Pair,
    Case(bool),
}

/// A vector of a case of a sum; zero has no case.
fn injected<T: BaseTensor>(left: bool, v: Val<T>) -> Val<T> {
    match (v, left) {
        (Val::Zero, _) => Val::Zero,
        (v, true) => Val::Left(Shared::new(v)),
        (v, false) => Val::Right(Shared::new(v)),
    }
}

impl<T: BaseTensor> Cell<T> {
    /// An empty accumulator.
    pub(super) fn new() -> Self {
        Cell::of(Val::Zero)
    }

    fn of(v: Val<T>) -> Self {
        Cell(Shared::new(RefCell::new(if v.is_zero() { CellContents::Empty } else { CellContents::Sum(v) })))
    }

    pub(super) fn add(&self, v: Val<T>) {
        let (mut cell, mut v, mut work) = (self.clone(), v, Vec::new());
        loop {
            let next = match cell.added(v) {
                Added::All => work.pop(),
                Added::Case(inner, v) => Some((inner, v)),
                Added::Parts(first, second) => {
                    work.push(second);
                    Some(first)
                }
            };
            let Some(next) = next else { return };
            (cell, v) = next;
        }
    }

    /// Adds a vector, or says what remains to be added to the parts of the cell. The first vector is kept as it is, so that
    /// the cells of its parts are made when one of them is asked for.
    fn added(&self, v: Val<T>) -> Added<T> {
        if v.is_zero() {
            return Added::All;
        }
        let (empty, many) = match &*self.0.borrow() {
            CellContents::Empty => (true, false),
            CellContents::Sum(Val::Many(_)) => (false, true),
            // The unit is the zero of a type without tangents.
            CellContents::Parts(..) if matches!(v, Val::Nil) => return Added::All,
            CellContents::Sum(_) | CellContents::Parts(..) | CellContents::Case(..) => (false, false),
        };
        if empty {
            self.0.replace(CellContents::Sum(v));
            return Added::All;
        }
        let v = match v {
            // An array of functions may have got its parts one by one before.
            Val::Pair(p) if !many => {
                let ((a, b), (v, w)) = (self.parts(), Shared::unwrap_or_clone(p));
                return Added::Parts((a, v), (b, w));
            }
            Val::Left(v) => match self.case(true) {
                Some(cell) => return Added::Case(cell, Shared::unwrap_or_clone(v)),
                None => Val::Left(v),
            },
            Val::Right(v) => match self.case(false) {
                Some(cell) => return Added::Case(cell, Shared::unwrap_or_clone(v)),
                None => Val::Right(v),
            },
            v @ (Val::Zero | Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Either(_) | Val::Fun(_)) => v,
            v @ (Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_)) => v,
        };
        let before = self.take();
        self.0.replace(CellContents::Sum(before.plus(v)));
        Added::All
    }

    /// The cells of the components of a pair.
    fn parts(&self) -> (Cell<T>, Cell<T>) {
        if let CellContents::Parts(a, b) = &*self.0.borrow() {
            return (a.clone(), b.clone());
        }
        let (a, b) = match self.0.replace(CellContents::Empty) {
            CellContents::Sum(Val::Pair(p)) => {
                let (a, b) = Shared::unwrap_or_clone(p);
                (Cell::of(a), Cell::of(b))
            }
            CellContents::Empty | CellContents::Sum(_) | CellContents::Parts(..) | CellContents::Case(..) => {
                (Cell::new(), Cell::new())
            }
        };
        self.0.replace(CellContents::Parts(a.clone(), b.clone()));
        (a, b)
    }

    /// The cell of a case of a sum; `None` if the case is not known, or is the other one.
    fn case(&self, left: bool) -> Option<Cell<T>> {
        match &*self.0.borrow() {
            CellContents::Case(case, cell) => return (*case == left).then(|| cell.clone()),
            CellContents::Sum(Val::Left(_)) if left => {}
            CellContents::Sum(Val::Right(_)) if !left => {}
            CellContents::Sum(_) | CellContents::Parts(..) => return None,
            CellContents::Empty => {}
        }
        let cell = match self.0.replace(CellContents::Empty) {
            CellContents::Sum(Val::Left(v) | Val::Right(v)) => Cell::of(Shared::unwrap_or_clone(v)),
            CellContents::Empty | CellContents::Sum(_) | CellContents::Parts(..) | CellContents::Case(..) => {
                Cell::new()
            }
        };
        self.0.replace(CellContents::Case(left, cell.clone()));
        Some(cell)
    }

    /// Takes the sum of the added values, which leaves the cell empty.
    pub(super) fn take(&self) -> Val<T> {
        self.taken(0)
    }

    fn taken(&self, depth: u8) -> Val<T> {
        if depth == NESTED {
            return self.taken_deep();
        }
        match self.0.replace(CellContents::Empty) {
            CellContents::Empty => Val::Zero,
            CellContents::Sum(v) => v,
            CellContents::Parts(a, b) => Val::pair(a.taken(depth + 1), b.taken(depth + 1)),
            CellContents::Case(left, cell) => injected(left, cell.taken(depth + 1)),
        }
    }

    /// [`take`](Cell::take), with a list of what remains.
    fn taken_deep(&self) -> Val<T> {
        let (mut work, mut made) = (vec![Taking::Cell(self.clone())], Vec::new());
        let last = |made: &mut Vec<Val<T>>| made.pop().expect("the sums of the parts");
        while let Some(next) = work.pop() {
            let value = match next {
                Taking::Cell(cell) => match cell.0.replace(CellContents::Empty) {
                    CellContents::Empty => Val::Zero,
                    CellContents::Sum(v) => v,
                    CellContents::Parts(a, b) => {
                        work.extend([Taking::Pair, Taking::Cell(b), Taking::Cell(a)]);
                        continue;
                    }
                    CellContents::Case(left, cell) => {
                        work.extend([Taking::Case(left), Taking::Cell(cell)]);
                        continue;
                    }
                },
                Taking::Pair => {
                    let second = last(&mut made);
                    Val::pair(last(&mut made), second)
                }
                Taking::Case(left) => injected(left, last(&mut made)),
            };
            made.push(value);
        }
        last(&mut made)
    }
}

/// What remains of the addition of a vector.
enum Added<T: 'static> {
    All,
    Case(Cell<T>, Val<T>),
    Parts((Cell<T>, Val<T>), (Cell<T>, Val<T>)),
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        match self {
            Place::Nowhere => Place::Nowhere,
            Place::To(cell) => Place::To(cell.clone()),
            Place::Parts(parts) => Place::Parts(parts.clone()),
        }
    }
}

impl<T: BaseTensor> Place<T> {
    /// The destination of a pair.
    pub(super) fn both(first: Place<T>, second: Place<T>) -> Self {
        match (&first, &second) {
            (Place::Nowhere, Place::Nowhere) => Place::Nowhere,
            _ => Place::Parts(Rc::new((first, second))),
        }
    }

    /// The destinations of the components of a pair.
    pub(super) fn parts(&self) -> (Place<T>, Place<T>) {
        match self {
            Place::Nowhere => (Place::Nowhere, Place::Nowhere),
            Place::To(cell) => {
                let (a, b) = cell.parts();
                (Place::To(a), Place::To(b))
            }
            Place::Parts(parts) => (**parts).clone(),
        }
    }

    /// The destination of a case of a sum, if the sum is known to be of this case.
    pub(super) fn case(&self, left: bool) -> Option<Place<T>> {
        match self {
            Place::Nowhere => Some(Place::Nowhere),
            Place::To(cell) => cell.case(left).map(Place::To),
            Place::Parts(_) => unreachable!("the place of a sum"),
        }
    }

    /// The destination of a vector that goes to both; `None` if one vector would be added twice.
    pub(super) fn merge(self, other: Place<T>) -> Option<Place<T>> {
        match (self, other) {
            (Place::Nowhere, place) | (place, Place::Nowhere) => Some(place),
            (Place::Parts(a), Place::Parts(b)) => {
                let ((a, b), (c, d)) = (Rc::unwrap_or_clone(a), Rc::unwrap_or_clone(b));
                Some(Place::both(a.merge(c)?, b.merge(d)?))
            }
            (Place::To(_), _) | (_, Place::To(_)) => None,
        }
    }

    /// Appends for each leaf of a vector whether it goes somewhere.
    pub(super) fn needs(&self, layout: &Layout, into: &mut Vec<bool>) {
        match layout {
            Layout::Unit => {}
            Layout::Leaf(..) => into.push(!matches!(self, Place::Nowhere)),
            Layout::Pair(a, b) => {
                let (first, second) = match self {
                    Place::Parts(parts) => (&parts.0, &parts.1),
                    Place::Nowhere | Place::To(_) => (self, self),
                };
                first.needs(a, into);
                second.needs(b, into);
            }
        }
    }

    /// A destination with separate cells, for the same parts.
    pub(super) fn fresh(&self) -> Place<T> {
        match self {
            Place::Nowhere => Place::Nowhere,
            Place::To(_) => Place::To(Cell::new()),
            Place::Parts(parts) => Place::both(parts.0.fresh(), parts.1.fresh()),
        }
    }

    /// Takes what was added; zero for parts that are not needed.
    pub(super) fn take(&self) -> Val<T> {
        match self {
            Place::Nowhere => Val::Zero,
            Place::To(cell) => cell.take(),
            Place::Parts(parts) => Val::pair(parts.0.take(), parts.1.take()),
        }
    }

    pub(super) fn add(&self, v: Val<T>) {
        match self {
            Place::Nowhere => {}
            Place::To(cell) => cell.add(v),
            Place::Parts(_) if v.is_zero() => {}
            Place::Parts(parts) => {
                parts.0.add(v.fst());
                parts.1.add(v.snd());
            }
        }
    }
}
