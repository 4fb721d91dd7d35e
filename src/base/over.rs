//! An interpreter over another one: what verbs record of it, what it reports, and which values enter it.
//!
//! Law: whatever an interpreter does not say for itself, the one below it says.

use super::{BaseTensor, Beyond, Distance, Enter, Lift, Report, Staging};
use crate::array::Array;
use crate::program::Term;
use crate::source::Site;

/// An interpreter over another one, each of whose values has a value of that one: it is staged, reports and nests.
///
/// This trait stands for [`Staging`], [`Report`] and both distances of [`Lift`].
///
/// ```
/// use polygrad::base::Over;
/// use polygrad::source::Site;
/// use polygrad::{Array, Concrete, Dual, Lift};
/// let x: Dual<Concrete> = Dual::lift(Array::scalar(2.0));
/// assert_eq!((x.base(), x.looked_at()), (&Array::scalar(2.0), Some(Array::scalar(2.0))));
/// assert_eq!(<Dual<Concrete>>::of_base(Array::scalar(2.0)).base(), x.base());
/// assert_eq!((x.made_at(), <Dual<Concrete>>::belongs_to(Site::UNKNOWN)), (Site::UNKNOWN, Site::UNKNOWN));
/// assert!(!<Dual<Concrete>>::is_observer() && !<Dual<Concrete>>::needs_all_trips());
/// ```
pub trait Over: BaseTensor {
    /// The interpreter below.
    type Base: BaseTensor;

    /// The value of the interpreter below.
    ///
    /// Example: [`Over`].
    fn base(&self) -> &Self::Base;

    /// A value of the interpreter below as a constant of this one.
    ///
    /// Example: [`Over`].
    #[track_caller]
    fn of_base(value: Self::Base) -> Self;

    /// See [`Staging::observes`].
    ///
    /// Example: [`Over`].
    fn is_observer() -> bool {
        false
    }

    /// See [`Staging::runs_all_trips`].
    ///
    /// Example: [`Over`].
    fn needs_all_trips() -> bool {
        Self::Base::runs_all_trips()
    }

    /// See [`Report::peek`].
    ///
    /// Example: [`Over`].
    fn looked_at(&self) -> Option<Array> {
        self.base().peek()
    }

    /// See [`Report::site`].
    ///
    /// Example: [`Over`].
    fn made_at(&self) -> Site {
        self.base().site()
    }

    /// See [`Report::attribute`].
    ///
    /// Example: [`Over`].
    fn belongs_to(site: Site) -> Site {
        Self::Base::attribute(site)
    }
}

impl<X: Over> Staging for X {
    fn captured(term: &Term) -> Option<Self> {
        term.captured_value().or_else(|| X::Base::captured(term).map(X::of_base))
    }

    fn observes() -> bool {
        X::is_observer()
    }

    fn runs_all_trips() -> bool {
        X::needs_all_trips()
    }

    fn records() -> bool {
        X::Base::records()
    }
}

impl<X: Over> Report for X {
    fn peek(&self) -> Option<Array> {
        self.looked_at()
    }

    fn site(&self) -> Site {
        self.made_at()
    }

    fn attribute(to: Site) -> Site {
        X::belongs_to(to)
    }
}

impl<T: BaseTensor, X: Over<Base: Enter<T>>> Lift<T> for X {
    fn lift(t: T) -> Self {
        X::of_base(X::Base::enter(t))
    }
}

impl<T: BaseTensor, I: Distance, X: Over<Base: Lift<T, I>>> Lift<T, Beyond<I>> for X {
    fn lift(t: T) -> Self {
        X::of_base(X::Base::lift(t))
    }
}
