//! Optics of the host language, with their residual in the type, or hidden ("dP guide", sections I to III).
//!
//! Law: two representatives are one optic if [`act`](Optic::act) gives the same for every function between their
//! results; their residuals may differ. A hidden residual names the representative that made it, and every other
//! representative refuses it.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

/// Either of two values.
///
/// Closed: a sum has two cases.
///
/// Example: [`join`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The left one.
    Left(A),
    /// The right one.
    Right(B),
}

type Forward<M, A, B> = Rc<dyn Fn(A) -> (M, B)>;
type Back<M, B, A> = Rc<dyn Fn(M, B) -> A>;

/// A representative `<l | r>` of an optic from `(A, A2)` to `(B, B2)`, with residual `M`.
///
/// ```
/// use polygrad_higher::interpreters::optic::lens::{Either, Optic};
/// // The square with its derivative; the number is kept for the way back.
/// let square = Optic::new(|x: f64| (x, x * x), |x, y_bar: f64| 2.0 * x * y_bar);
/// let double = Optic::new(|x: f64| ((), 2.0 * x), |(), y_bar: f64| 2.0 * y_bar);
/// let (y, back) = square.at(3.0);
/// assert_eq!((y, back(10.0)), (9.0, 60.0));
/// assert_eq!((square.left(3.0), square.right(3.0, 10.0)), ((3.0, 9.0), 60.0));
/// // `2 x g(x^2)`, where `g` adds 1.
/// assert_eq!(square.act(|y| y + 1.0, 3.0), 60.0);
/// // The derivatives of `x^4`, of both components of a pair, and of the case that is given.
/// assert_eq!(square.then(&square).at(3.0).1(1.0), 108.0);
/// let (y, back) = square.beside(&double).at((3.0, 5.0));
/// assert_eq!((y, back((1.0, 1.0))), ((9.0, 10.0), (6.0, 2.0)));
/// let (y, back) = square.or(&double).at(Either::Right(5.0));
/// assert_eq!((y, back(Either::Right(1.0))), (Either::Right(10.0), Either::Right(2.0)));
/// ```
pub struct Optic<M, A, A2, B, B2> {
    l: Forward<M, A, B>,
    r: Back<M, B2, A2>,
}

impl<M, A, A2, B, B2> Clone for Optic<M, A, A2, B, B2> {
    fn clone(&self) -> Self {
        Optic { l: self.l.clone(), r: self.r.clone() }
    }
}

impl<M: 'static, A: 'static, A2: 'static, B: 'static, B2: 'static> Optic<M, A, A2, B, B2> {
    /// The optic with these two functions: forward and back.
    ///
    /// Example: [`Optic`].
    pub fn new(l: impl Fn(A) -> (M, B) + 'static, r: impl Fn(M, B2) -> A2 + 'static) -> Self {
        Optic { l: Rc::new(l), r: Rc::new(r) }
    }

    /// The residual and the result.
    ///
    /// Example: [`Optic`].
    pub fn left(&self, a: A) -> (M, B) {
        (self.l)(a)
    }

    /// The way back: from the residual and a cotangent of the result.
    ///
    /// Example: [`Optic`].
    pub fn right(&self, m: M, b: B2) -> A2 {
        (self.r)(m, b)
    }

    /// The block interface: forward, the function, and back.
    ///
    /// Example: [`Optic`].
    pub fn act(&self, f: impl FnOnce(B) -> B2, a: A) -> A2 {
        let (m, b) = self.left(a);
        self.right(m, f(b))
    }

    /// The continuation interface: the result, and the way back.
    ///
    /// Example: [`Optic`].
    pub fn at(&self, a: A) -> (B, impl FnOnce(B2) -> A2 + use<M, A, A2, B, B2>) {
        let ((m, b), r) = (self.left(a), self.r.clone());
        (b, move |c| r(m, c))
    }

    /// The composition of two optics. Its residual is the pair of their residuals.
    ///
    /// Example: [`Optic`].
    pub fn then<N: 'static, C: 'static, C2: 'static>(
        &self,
        next: &Optic<N, B, B2, C, C2>,
    ) -> Optic<(M, N), A, A2, C, C2> {
        let (first, second, back, further) = (self.l.clone(), next.l.clone(), self.r.clone(), next.r.clone());
        Optic::new(
            move |a| {
                let (m, b) = first(a);
                let (n, c) = second(b);
                ((m, n), c)
            },
            move |(m, n), c| back(m, further(n, c)),
        )
    }

    /// Two optics, on the components of pairs.
    ///
    /// Example: [`Optic`].
    pub fn beside<N: 'static, C: 'static, C2: 'static, D: 'static, D2: 'static>(
        &self,
        other: &Optic<N, C, C2, D, D2>,
    ) -> Optic<(M, N), (A, C), (A2, C2), (B, D), (B2, D2)> {
        let (f, g, back, other_back) = (self.l.clone(), other.l.clone(), self.r.clone(), other.r.clone());
        Optic::new(
            move |(a, c)| {
                let ((m, b), (n, d)) = (f(a), g(c));
                ((m, n), (b, d))
            },
            move |(m, n), (b, d)| (back(m, b), other_back(n, d)),
        )
    }

    /// One optic for each case ("dP guide", equation 9). The residual says which case ran.
    ///
    /// Example: [`Optic`].
    ///
    /// # Panics
    /// On the way back, when the value is of the case that did not run.
    pub fn or<N: 'static, C: 'static, C2: 'static, D: 'static, D2: 'static>(
        &self,
        other: &Optic<N, C, C2, D, D2>,
    ) -> Optic<Either<M, N>, Either<A, C>, Either<A2, C2>, Either<B, D>, Either<B2, D2>> {
        let (f, g, back, other_back) = (self.l.clone(), other.l.clone(), self.r.clone(), other.r.clone());
        Optic::new(
            move |either| match either {
                Either::Left(a) => {
                    let (m, b) = f(a);
                    (Either::Left(m), Either::Left(b))
                }
                Either::Right(c) => {
                    let (n, d) = g(c);
                    (Either::Right(n), Either::Right(d))
                }
            },
            move |ran, value| match (ran, value) {
                (Either::Left(m), Either::Left(b)) => Either::Left(back(m, b)),
                (Either::Right(n), Either::Right(d)) => Either::Right(other_back(n, d)),
                (Either::Left(_), Either::Right(_)) | (Either::Right(_), Either::Left(_)) => panic!(
                    "optic: the value that goes back must be of the case that ran, but it is of the other one; give one of the case \
                     of the result"
                ),
            },
        )
    }

    /// The optic with its residual hidden.
    ///
    /// Example: [`HiddenOptic`].
    pub fn hide(&self) -> HiddenOptic<A, A2, B, B2> {
        let (l, r) = (self.l.clone(), self.r.clone());
        let forward = move |a| {
            let (m, b) = l(a);
            (Box::new(m) as Box<dyn Any>, b)
        };
        let back = move |m: Box<dyn Any>, b| match m.downcast::<M>() {
            Ok(m) => r(*m, b),
            Err(_) => unreachable!("a representative's number is that of its residuals"),
        };
        HiddenOptic { representative: fresh(), l: Rc::new(forward), r: Rc::new(back) }
    }
}

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

fn fresh() -> u64 {
    NEXT.with(|next| {
        next.set(next.get() + 1);
        next.get()
    })
}

/// A residual whose type is hidden.
///
/// Example: [`HiddenOptic`].
pub struct Residual {
    representative: u64,
    value: Box<dyn Any>,
}

impl Residual {
    /// The residual, for callers that know its type.
    ///
    /// Example: [`HiddenOptic`].
    pub fn inspect<M: 'static>(&self) -> Option<&M> {
        self.value.downcast_ref()
    }
}

/// A representative of an optic from `(A, A2)` to `(B, B2)` whose residual is hidden.
///
/// ```
/// use polygrad_higher::interpreters::optic::lens::{HiddenOptic, Optic, Residual};
/// /// The derivative of a function of one number, by any optic of it.
/// fn slope(optic: &HiddenOptic<f64, f64, f64, f64>, x: f64) -> f64 {
///     optic.at(x).1(1.0)
/// }
/// // Two optics of one type, whose residuals differ in type.
/// let square = Optic::new(|x: f64| (x, x * x), |x, y_bar: f64| 2.0 * x * y_bar).hide();
/// let double = Optic::new(|x: f64| ((), 2.0 * x), |(), y_bar: f64| 2.0 * y_bar).hide();
/// assert_eq!([&square, &double].map(|optic| slope(optic, 3.0)), [6.0, 2.0]);
/// assert_eq!((slope(&square.then(&square), 3.0), square.act(|y| y + 1.0, 3.0)), (108.0, 60.0));
/// let (kept, y): (Residual, f64) = square.left(3.0);
/// assert_eq!((kept.inspect::<f64>(), kept.inspect::<i32>()), (Some(&3.0), None));
/// assert_eq!((y, square.right(kept, 1.0)), (9.0, 6.0));
/// ```
pub struct HiddenOptic<A, A2, B, B2> {
    representative: u64,
    l: Forward<Box<dyn Any>, A, B>,
    r: Back<Box<dyn Any>, B2, A2>,
}

impl<A, A2, B, B2> Clone for HiddenOptic<A, A2, B, B2> {
    fn clone(&self) -> Self {
        HiddenOptic { representative: self.representative, l: self.l.clone(), r: self.r.clone() }
    }
}

impl<A: 'static, A2: 'static, B: 'static, B2: 'static> HiddenOptic<A, A2, B, B2> {
    /// The residual and the result.
    ///
    /// Example: [`HiddenOptic`].
    pub fn left(&self, a: A) -> (Residual, B) {
        let (value, b) = (self.l)(a);
        (Residual { representative: self.representative, value }, b)
    }

    /// The way back.
    ///
    /// Example: [`HiddenOptic`].
    ///
    /// # Panics
    /// When the residual was made by another representative, be it of the same optic.
    #[track_caller]
    pub fn right(&self, m: Residual, b: B2) -> A2 {
        if m.representative != self.representative {
            panic!(
                "optic: the residual must be one that this representative made, but another one made it; keep a residual with its \
                 representative, or take the continuation that `at` returns"
            );
        }
        (self.r)(m.value, b)
    }

    /// The block interface: forward, the function, and back.
    ///
    /// Example: [`HiddenOptic`].
    pub fn act(&self, f: impl FnOnce(B) -> B2, a: A) -> A2 {
        let (m, b) = self.left(a);
        self.right(m, f(b))
    }

    /// The continuation interface: the result, and the way back.
    ///
    /// Example: [`HiddenOptic`].
    pub fn at(&self, a: A) -> (B, impl FnOnce(B2) -> A2 + use<A, A2, B, B2>) {
        let ((m, b), this) = (self.left(a), self.clone());
        (b, move |c| this.right(m, c))
    }

    /// The composition of two optics.
    ///
    /// Example: [`HiddenOptic`].
    pub fn then<C: 'static, C2: 'static>(&self, next: &HiddenOptic<B, B2, C, C2>) -> HiddenOptic<A, A2, C, C2> {
        let open = |o: &HiddenOptic<A, A2, B, B2>| Optic { l: o.l.clone(), r: o.r.clone() };
        open(self).then(&Optic { l: next.l.clone(), r: next.r.clone() }).hide()
    }
}

/// Two cases of one type as that type ("dP guide", equation 10). The residual is the history: the case.
///
/// ```
/// use polygrad_higher::interpreters::optic::lens::{Either, join};
/// let (value, back) = join::<i32, &str>().at(Either::Left(7));
/// assert_eq!((value, back("changed")), (7, Either::Left("changed")));
/// ```
pub fn join<A: 'static, A2: 'static>() -> Optic<Either<(), ()>, Either<A, A>, Either<A2, A2>, A, A2> {
    Optic::new(
        |either| match either {
            Either::Left(a) => (Either::Left(()), a),
            Either::Right(a) => (Either::Right(()), a),
        },
        |history, a| match history {
            Either::Left(()) => Either::Left(a),
            Either::Right(()) => Either::Right(a),
        },
    )
}

/// The meaning of copies and deletions in optics, which is not unique ("dP guide", section III.C).
///
/// ```
/// use std::rc::Rc;
/// use polygrad_higher::interpreters::optic::lens::{Policy, copy, delete};
/// /// Reverse mode: cotangents of copies are added, and a deleted number has the cotangent zero.
/// struct Sums;
/// impl Policy<f64, f64> for Sums {
///     fn split(&self, x: f64) -> (f64, f64) {
///         (x, x)
///     }
///     fn merge(&self, a: f64, b: f64) -> f64 {
///         a + b
///     }
///     fn discard(&self, _: f64) {}
///     fn restore(&self) -> f64 {
///         0.0
///     }
/// }
/// let (both, back) = copy(&Rc::new(Sums)).at(3.0);
/// assert_eq!((both, back((1.0, 10.0))), ((3.0, 3.0), 11.0));
/// assert_eq!(delete(&Rc::new(Sums)).at(3.0).1(()), 0.0);
/// ```
pub trait Policy<A, A2>: 'static {
    /// The way forward of a copy: both copies of a value.
    ///
    /// Example: [`Policy`].
    fn split(&self, a: A) -> (A, A);

    /// The way back of a copy: the cotangent of the value from those of the copies.
    ///
    /// Example: [`Policy`].
    fn merge(&self, a: A2, b: A2) -> A2;

    /// The way forward of a deletion, which may refuse the value.
    ///
    /// Example: [`Policy`].
    fn discard(&self, a: A);

    /// The way back of a deletion: the cotangent of what was deleted.
    ///
    /// Example: [`Policy`].
    fn restore(&self) -> A2;
}

/// A copy, by a policy: forward `a -> (a, a)` and back `(b, c) -> b + c`, as the policy says.
///
/// Example: [`Policy`].
pub fn copy<A: 'static, A2: 'static>(policy: &Rc<impl Policy<A, A2>>) -> Optic<(), A, A2, (A, A), (A2, A2)> {
    let (there, back) = (policy.clone(), policy.clone());
    Optic::new(move |a| ((), there.split(a)), move |(), (a, b)| back.merge(a, b))
}

/// A deletion, by a policy: forward `a -> ()` and back `() -> 0`, as the policy says.
///
/// Example: [`Policy`].
pub fn delete<A: 'static, A2: 'static>(policy: &Rc<impl Policy<A, A2>>) -> Optic<(), A, A2, (), ()> {
    let (there, back) = (policy.clone(), policy.clone());
    Optic::new(move |a| ((), there.discard(a)), move |(), ()| back.restore())
}

/// The meaning of a branch on a condition in optics. A branch deletes the condition, so its meaning is not unique
/// either.
///
/// ```
/// use std::rc::Rc;
/// use polygrad_higher::interpreters::optic::lens::{BranchPolicy, Either, branch};
/// /// The condition is kept, and is the cotangent of the condition.
/// struct Keeps;
/// impl BranchPolicy<f64, f64, bool, bool> for Keeps {
///     type Kept = bool;
///
///     fn part(&self, a: f64, condition: bool) -> (bool, bool, f64) {
///         (condition, condition, a)
///     }
///     fn rejoin(&self, kept: bool, a: f64) -> (f64, bool) {
///         (a, kept)
///     }
/// }
/// let (either, back) = branch(&Rc::new(Keeps)).at((3.0, true));
/// assert_eq!((either, back(Either::Left(1.0))), (Either::Left(3.0), (1.0, true)));
/// ```
pub trait BranchPolicy<A, A2, C, C2>: 'static {
    /// The residual.
    type Kept: 'static;

    /// The way forward: the residual, whether the condition holds, and the value for the branch that runs.
    ///
    /// Example: [`BranchPolicy`].
    fn part(&self, a: A, condition: C) -> (Self::Kept, bool, A);

    /// The way back: for the value and for the condition.
    ///
    /// Example: [`BranchPolicy`].
    fn rejoin(&self, kept: Self::Kept, a: A2) -> (A2, C2);
}

/// The condition is deleted, by the policy of deletions: the way back gives a zero for it, or a poison value.
///
/// Example: [`branch`].
pub struct ByDeletion<P>(
    /// The policy of deletions.
    pub P,
);

impl<A, A2, C2, P: Policy<bool, C2>> BranchPolicy<A, A2, bool, C2> for ByDeletion<P> {
    type Kept = ();

    fn part(&self, a: A, condition: bool) -> ((), bool, A) {
        self.0.discard(condition);
        ((), condition, a)
    }

    fn rejoin(&self, (): (), a: A2) -> (A2, C2) {
        (a, self.0.restore())
    }
}

/// A branch on a condition, by a policy: the left case if the condition holds, otherwise the right one.
///
/// ```
/// use std::rc::Rc;
/// use polygrad_higher::interpreters::optic::lens::{ByDeletion, Either, Policy, branch};
/// /// Conditions have no cotangents.
/// struct Conditions;
/// impl Policy<bool, ()> for Conditions {
///     fn split(&self, b: bool) -> (bool, bool) {
///         (b, b)
///     }
///     fn merge(&self, (): (), (): ()) {}
///     fn discard(&self, _: bool) {}
///     fn restore(&self) {}
/// }
/// let choice = branch::<f64, f64, bool, (), _>(&Rc::new(ByDeletion(Conditions)));
/// let (either, back) = choice.at((3.0, false));
/// assert_eq!((either, back(Either::Right(1.0))), (Either::Right(3.0), (1.0, ())));
/// ```
#[allow(clippy::type_complexity, reason = "the type of a branch")]
pub fn branch<A: 'static, A2: 'static, C: 'static, C2: 'static, P: BranchPolicy<A, A2, C, C2>>(
    policy: &Rc<P>,
) -> Optic<P::Kept, (A, C), (A2, C2), Either<A, A>, Either<A2, A2>> {
    let (there, back) = (policy.clone(), policy.clone());
    Optic::new(
        move |(a, condition)| {
            let (kept, holds, a) = there.part(a, condition);
            (kept, if holds { Either::Left(a) } else { Either::Right(a) })
        },
        move |kept, either| match either {
            Either::Left(a) | Either::Right(a) => back.rejoin(kept, a),
        },
    )
}
