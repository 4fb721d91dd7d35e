//! Variables of the user's syntax: projections from the context in which they are used.
//!
//! Law: a variable is the projection of its context to what it was bound to, and to a component of that if it is one
//! of [`Var::split`]. A use outside the closure that binds the variable is an error of rustc, unless there is a
//! variable of the same type there, in a context of the same type: then it is an error of the closure that binds that
//! one (`Used`). So no variable is taken for another one. It is below [`super::expr`].

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::category::Ccc;
use super::expr::Expr;
use super::object::{Obj, Prod};

/// A variable of type `A` that was bound in the context `G`: what it is bound to, or a component of that.
///
/// A variable is used by [`at`](Var::at).
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Obj, Prod, Real, Var, fun1, lam};
/// /// A helper that takes a variable: the context is that of the closure that binds the variable.
/// fn squared<C: Language, G: Obj>(x: Var<G, Real>) -> Expr<C, Prod<G, Real>, Real> {
///     x.at() * x.at()
/// }
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| lam(|z| squared(z)).app(squared(x) + 1.0))
/// }
/// assert_eq!(higher::run(program(), &tensor(2.0)), tensor(25.0));
/// ```
pub struct Var<G, A, W = Whole> {
    binder: Binder,
    types: PhantomData<(G, A, W)>,
}

impl<G, A, W> Clone for Var<G, A, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G, A, W> Copy for Var<G, A, W> {}

/// A closure that binds a variable; no other one is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Binder(u64);

impl Binder {
    pub(super) fn new() -> Binder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Binder(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The variable that is bound.
    pub(super) fn variable<G: Obj, A: Obj>(self) -> Var<G, A> {
        Var { binder: self, types: PhantomData }
    }
}

/// The variables that an expression uses: for each closure around it, counted from the innermost one, whose variable is
/// used there, if one is. The types of a context do not tell closures apart that bind variables of one type.
#[derive(Clone, Default)]
pub(super) struct Used(Option<Rc<Vec<Option<Binder>>>>);

impl Used {
    fn one(depth: usize, binder: Binder) -> Used {
        let mut all = vec![None; depth];
        all.push(Some(binder));
        Used(Some(Rc::new(all)))
    }

    /// The variables of two expressions in one context.
    #[track_caller]
    pub(super) fn and(self, other: Used) -> Used {
        let (Some(a), Some(b)) = (&self.0, &other.0) else { return if self.0.is_none() { other } else { self } };
        if Rc::ptr_eq(a, b) {
            return self;
        }
        let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
        let mut both = long.to_vec();
        for (one, other) in both.iter_mut().zip(&short[..]) {
            if one.is_some() && other.is_some() && one != other {
                elsewhere();
            }
            *one = one.or(*other);
        }
        Used(Some(Rc::new(both)))
    }

    /// Those of a closure, from those of its body.
    #[track_caller]
    pub(super) fn outside(self, binder: Binder) -> Used {
        let Some(all) = &self.0 else { return self };
        match all[..] {
            [Some(own), ..] if own != binder => elsewhere(),
            [_] => Used(None),
            _ => Used(Some(Rc::new(all[1..].to_vec()))),
        }
    }

    /// Not a variable: what a program uses, which has its own context.
    #[track_caller]
    pub(super) fn nothing(self) {
        if self.0.is_some_and(|all| all.iter().any(Option::is_some)) {
            elsewhere();
        }
    }
}

#[cold]
#[track_caller]
fn elsewhere() -> ! {
    panic!(
        "variable: it must be used within the closure that binds it, but here is one that another closure binds, in a context of the \
         same type; give its value as an argument"
    );
}

/// What a variable is bound to, as a whole.
///
/// Example: [`Component::of`].
pub struct Whole;

/// The first component of a pair, whose second one is of type `B`.
///
/// Example: [`Component::of`].
pub struct First<W, B>(PhantomData<(W, B)>);

/// The second component of a pair, whose first one is of type `A`.
///
/// Example: [`Component::of`].
pub struct Second<W, A>(PhantomData<(W, A)>);

/// A component of type `A` of what a variable is bound to.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::scope::Component;
/// use polygrad_higher::{self as higher, Expr, Language, Obj, Prod, Real, Var, Vector, fun1};
/// /// A helper for a variable of numbers, be it a component of a pair or not.
/// fn doubled<C: Language, G: Obj, W: Component<Real>>(x: Var<G, Real, W>) -> Expr<C, Prod<G, W::Bound>, Real> {
///     x.at() * 2.0
/// }
/// fn program<C: Language>() -> Expr<C, Prod<Real, Vector>, Real> {
///     fun1(|pair| doubled(pair.split().0))
/// }
/// assert_eq!(higher::run(program(), &(tensor(3.0), tensor([1.0]))), tensor(6.0));
/// ```
pub trait Component<A: Obj> {
    /// The type of what the variable is bound to.
    type Bound: Obj;

    /// The component of a value of that type.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::scope::{Component, First, Second, Whole};
    /// use polygrad_higher::{self as higher, Ccc, Expr, Prod, Real, Vector};
    /// type Both = Prod<Real, Vector>;
    /// fn swapped<C: Ccc>() -> Expr<C, Both, Prod<Vector, Real>> {
    ///     let first = <First<Whole, Vector> as Component<Real>>::of::<C, Both>(C::id());
    ///     let second = <Second<Whole, Real> as Component<Vector>>::of::<C, Both>(C::id());
    ///     Expr::of(C::pair(second, first))
    /// }
    /// assert_eq!(higher::run(swapped(), &(tensor(1.0), tensor([2.0, 3.0]))), (tensor([2.0, 3.0]), tensor(1.0)));
    /// ```
    fn of<C: Ccc, H: Obj>(bound: C::Hom<H, Self::Bound>) -> C::Hom<H, A>;
}

impl<A: Obj> Component<A> for Whole {
    type Bound = A;

    fn of<C: Ccc, H: Obj>(bound: C::Hom<H, A>) -> C::Hom<H, A> {
        bound
    }
}

impl<A: Obj, B: Obj, W: Component<Prod<A, B>>> Component<A> for First<W, B> {
    type Bound = W::Bound;

    fn of<C: Ccc, H: Obj>(bound: C::Hom<H, W::Bound>) -> C::Hom<H, A> {
        C::then(W::of::<C, H>(bound), C::fst())
    }
}

impl<A: Obj, B: Obj, W: Component<Prod<A, B>>> Component<B> for Second<W, A> {
    type Bound = W::Bound;

    fn of<C: Ccc, H: Obj>(bound: C::Hom<H, W::Bound>) -> C::Hom<H, B> {
        C::then(W::of::<C, H>(bound), C::snd())
    }
}

/// The context itself.
///
/// Example: [`There`].
pub struct Here;

/// One variable further out.
///
/// ```
/// use polygrad_higher::scope::{Extends, Here, There};
/// use polygrad_higher::{Prod, Real, Vector};
/// // The context `(x, y)` has one variable more than the context `x`.
/// assert_eq!(<Prod<Real, Vector> as Extends<Real, There<Here>>>::MORE, 1);
/// assert_eq!(<Prod<Real, Vector> as Extends<Prod<Real, Vector>, Here>>::MORE, 0);
/// ```
pub struct There<I>(PhantomData<I>);

/// A context with the variables of the context `G`, and as many more as the index `I` counts.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::scope::Extends;
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, Unit, Var, fun1, lam};
/// /// A helper that is used in the context of `x`, and within closures in it.
/// fn squared<C: Language, H: Extends<Prod<Unit, Real>, I>, I>(x: Var<Unit, Real>) -> Expr<C, H, Real> {
///     x.at() * x.at()
/// }
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| lam(|z| squared(x) * z.at()).app(squared(x)))
/// }
/// assert_eq!(higher::run(program(), &tensor(2.0)), tensor(16.0));
/// ```
#[diagnostic::on_unimplemented(
    message = "a variable is used outside its scope",
    label = "the context here does not contain the variable",
    note = "a variable may be used only inside the closure that binds it"
)]
pub trait Extends<G, I>: Obj + Sized {
    /// How many more variables there are.
    const MORE: usize;

    /// The projection to `G`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::scope::{Extends, Here, There};
    /// use polygrad_higher::{self as higher, Ccc, Expr, Prod, Real, Vector};
    /// /// From the context `((x, y), z)` to `(x, y)`.
    /// fn outer<C: Ccc>() -> Expr<C, Prod<Prod<Real, Real>, Vector>, Prod<Real, Real>> {
    ///     Expr::of(<Prod<_, Vector> as Extends<Prod<Real, Real>, There<Here>>>::project::<C>())
    /// }
    /// assert_eq!(higher::run(outer(), &((tensor(1.0), tensor(2.0)), tensor([3.0]))), (tensor(1.0), tensor(2.0)));
    /// ```
    fn project<C: Ccc>() -> C::Hom<Self, G>
    where
        G: Obj;
}

impl<G: Obj> Extends<G, Here> for G {
    const MORE: usize = 0;

    fn project<C: Ccc>() -> C::Hom<G, G> {
        C::id()
    }
}

impl<G: Obj, H: Extends<G, I>, B: Obj, I> Extends<G, There<I>> for Prod<H, B> {
    const MORE: usize = H::MORE + 1;

    fn project<C: Ccc>() -> C::Hom<Self, G> {
        C::then(C::fst(), H::project::<C>())
    }
}

impl<G: Obj, A: Obj, W: Component<A>> Var<G, A, W> {
    /// The variable, in the context in which it is used.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2, lam};
    /// /// `x` is used in the context of the closure of `z`, further in than it is bound.
    /// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    ///     fun2(|x, y| lam(|z| x.at() - z.at()).app(y.at()))
    /// }
    /// assert_eq!(higher::run(program(), &(tensor(5.0), tensor(3.0))), tensor(2.0));
    /// ```
    pub fn at<C: Ccc, H: Extends<Prod<G, W::Bound>, I>, I>(self) -> Expr<C, H, A> {
        Expr { hom: W::of::<C, H>(C::then(H::project::<C>(), C::snd())), used: Used::one(H::MORE, self.binder) }
    }
}

impl<G: Obj, A: Obj, B: Obj, W: Component<Prod<A, B>>> Var<G, Prod<A, B>, W> {
    /// The components of a pair, as variables.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Arrays, Expr, Prod, Real, Vector, fun2, lam, num, tup};
    /// /// The sum of the elements times the powers of a number, and the next power.
    /// fn horner<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Prod<Real, Real>> {
    ///     fun2(|xs, by| {
    ///         xs.at().fold(
    ///             tup(num(0.0), num(1.0)),
    ///             lam(|both| {
    ///                 let (state, x) = both.split();
    ///                 let (sum, power) = state.split();
    ///                 tup(sum.at() + x.at() * power.at(), power.at() * by.at())
    ///             }),
    ///         )
    ///     })
    /// }
    /// let x = (tensor([1.0, 2.0, 3.0]), tensor(10.0));
    /// assert_eq!(higher::run(horner(), &x), (tensor(321.0), tensor(1000.0)));
    /// ```
    pub fn split(self) -> (Var<G, A, First<W, B>>, Var<G, B, Second<W, A>>) {
        let binder = self.binder;
        (Var { binder, types: PhantomData }, Var { binder, types: PhantomData })
    }
}
