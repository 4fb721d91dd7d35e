//! Accumulators: cells in which efficient CHAD accumulates the cotangents of a context.
//!
//! Law: the value taken from a cell is the sum of the values added to it. Adding to one component of a context has no
//! cost for its other components.

use std::cell::RefCell;
use std::rc::Rc;

use polygrad::base::BaseTensor;

use super::value::Val;
use crate::Layout;

/// An accumulator.
pub(super) struct Cell<T: 'static>(Rc<RefCell<Slot<T>>>);

enum Slot<T: 'static> {
    Empty,
    Sum(Val<T>),
    Parts(Cell<T>, Cell<T>),
    /// A vector of the left case of a sum, or of the right one.
    Case(bool, Cell<T>),
}

impl<T> Clone for Cell<T> {
    fn clone(&self) -> Self {
        Cell(self.0.clone())
    }
}

impl<T: BaseTensor> Cell<T> {
    /// An empty accumulator.
    pub(super) fn new() -> Self {
        Cell(Rc::new(RefCell::new(Slot::Empty)))
    }

    pub(super) fn add(&self, v: Val<T>) {
        let v = match v {
            Val::Zero => return,
            // An array of functions may have got its parts one by one before.
            Val::Pair(p) if !matches!(&*self.0.borrow(), Slot::Sum(Val::Many(_))) => {
                let (a, b) = self.parts();
                a.add(p.0.clone());
                return b.add(p.1.clone());
            }
            Val::Left(v) => match self.case(true) {
                Some(cell) => return cell.add(Rc::unwrap_or_clone(v)),
                None => Val::Left(v),
            },
            Val::Right(v) => match self.case(false) {
                Some(cell) => return cell.add(Rc::unwrap_or_clone(v)),
                None => Val::Right(v),
            },
            v @ (Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Either(_) | Val::Fun(_)) => v,
            v @ (Val::Scattered(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_) | Val::Many(_)) => v,
        };
        if matches!((&v, &*self.0.borrow()), (Val::Nil, Slot::Parts(..))) {
            // The unit is the zero of a type without tangents.
            return;
        }
        let before = self.take();
        let sum = if before.is_zero() { v } else { before.plus(v) };
        self.0.replace(Slot::Sum(sum));
    }

    /// The cells of the components of a pair.
    fn parts(&self) -> (Cell<T>, Cell<T>) {
        if let Slot::Parts(a, b) = &*self.0.borrow() {
            return (a.clone(), b.clone());
        }
        let (a, b) = (Cell::new(), Cell::new());
        self.0.replace(Slot::Parts(a.clone(), b.clone()));
        (a, b)
    }

    /// The cell of a case of a sum; `None` if the case is not known, or is the other one.
    fn case(&self, left: bool) -> Option<Cell<T>> {
        match &*self.0.borrow() {
            Slot::Case(case, cell) => return (*case == left).then(|| cell.clone()),
            Slot::Sum(_) | Slot::Parts(..) => return None,
            Slot::Empty => {}
        }
        let cell = Cell::new();
        self.0.replace(Slot::Case(left, cell.clone()));
        Some(cell)
    }

    /// Takes the sum of the added values, which leaves the cell empty.
    pub(super) fn take(&self) -> Val<T> {
        match self.0.replace(Slot::Empty) {
            Slot::Empty => Val::Zero,
            Slot::Sum(v) => v,
            Slot::Parts(a, b) => Val::pair(a.take(), b.take()),
            Slot::Case(left, cell) => {
                let v = cell.take();
                if v.is_zero() {
                    return v;
                }
                if left { Val::Left(Rc::new(v)) } else { Val::Right(Rc::new(v)) }
            }
        }
    }
}

/// The destination of a vector.
pub(super) enum Place<T: 'static> {
    /// None: the vector is not needed.
    Nowhere,
    /// A cell.
    To(Cell<T>),
    /// A destination for each component of a pair.
    Parts(Rc<(Place<T>, Place<T>)>),
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
