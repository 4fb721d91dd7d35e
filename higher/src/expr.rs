//! The user's syntax: closures over typed variables.
//!
//! An [`Expr<C, G, A>`] is a program of type `A` in a context `G`, at the instance `C`. A variable ([`Var`]) is used by
//! [`at`](Var::at), which weakens it to the context it is used in. Law: the syntax is "The Differentiable Curry",
//! Fig. 1: `lam` is `curry`, `app` is `eval` of a pair, a variable is a projection, [`call`](Expr::call) is composition.
//! So a variable out of scope and a type error are errors of rustc. Sums and recursion are [`super::cases`], loops over
//! arrays [`super::arrays`], operations [`super::operators`].
//!
//! ```
//! use polygrad::tensor;
//! use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2, lam, let_};
//!
//! /// `let f = \z. x * z in f (f y)`.
//! fn twice<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
//!     fun2(|x, y| let_(lam(|z| x.at() * z.at()), |f| f.at().app(f.at().app(y.at()))))
//! }
//! let (value, gradient) = higher::value_and_grad(twice(), &(tensor(3.0), tensor(2.0)));
//! assert_eq!((value, gradient), (tensor(18.0), (tensor(12.0), tensor(9.0))));
//! ```
//!
//! A variable cannot leave its scope:
//!
//! ```compile_fail,E0277
//! use polygrad_higher::{Expr, Language, Real, fun1, lam, let_};
//! fn escapes<C: Language>() -> Expr<C, Real, Real> {
//!     let mut hidden = None;
//!     fun1(|x| {
//!         let f = lam(|z| { hidden = Some(z); z.at() * x.at() });
//!         f.app(hidden.unwrap().at())
//!     })
//! }
//! ```
//!
//! A function is not a number:
//!
//! ```compile_fail,E0308
//! use polygrad_higher::{Expr, Language, Real, fun1, lam};
//! fn wrong<C: Language>() -> Expr<C, Real, Real> {
//!     fun1(|x| lam(|z| x.at() * z.at()))
//! }
//! ```

use super::category::Ccc;
use super::object::{Fun, Obj, Prod, Unit};
use super::scope::{Binder, First, Second, Used, Var, Whole};

/// A program of type `A` in a context `G`: a morphism of the instance `C`.
///
/// Example: [`fun1`].
pub struct Expr<C: Ccc, G: Obj, A: Obj> {
    // The modules of the language make and read expressions by their fields: functions would be compiled for each type.
    /// The morphism.
    pub(super) hom: C::Hom<G, A>,
    /// The variables that it uses.
    pub(super) used: Used,
}

impl<C: Ccc, G: Obj, A: Obj> Clone for Expr<C, G, A> {
    fn clone(&self) -> Self {
        Expr { hom: self.hom.clone(), used: self.used.clone() }
    }
}

/// `let x = value in body`.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1, let_};
/// /// `let y = x + 1 in y y`, where `x + 1` is computed once.
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| let_(x.at() + 1.0, |y| y.at() * y.at()))
/// }
/// assert_eq!(higher::run(program(), &tensor(2.0)), tensor(9.0));
/// ```
#[track_caller]
pub fn let_<C: Ccc, G: Obj, A: Obj, B: Obj>(
    value: Expr<C, G, A>,
    body: impl FnOnce(Var<G, A>) -> Expr<C, Prod<G, A>, B>,
) -> Expr<C, G, B> {
    let (body, used) = bound(body);
    Expr { hom: C::bind(value.hom, body), used: value.used.and(used) }
}

/// The body of a closure, with the variables that it uses from outside.
#[track_caller]
pub(super) fn bound<C: Ccc, G: Obj, A: Obj, B: Obj>(
    body: impl FnOnce(Var<G, A>) -> Expr<C, Prod<G, A>, B>,
) -> (C::Hom<Prod<G, A>, B>, Used) {
    let binder = Binder::new();
    let body = body(binder.variable());
    (body.hom, body.used.outside(binder))
}

/// `let (x, y) = pair in body`. Components of components: [`Var::split`].
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun1, let2, tup};
/// /// `(sin x, cos x)`, turned back to `x` by the formula of their squares.
/// fn one<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| let2(tup(x.at().sin(), x.at().cos()), |s, c| s.at() * s.at() + c.at() * c.at()))
/// }
/// assert_eq!(higher::run(one(), &tensor(0.0)), tensor(1.0));
/// ```
#[track_caller]
pub fn let2<C: Ccc, G: Obj, A: Obj, B: Obj, R: Obj>(
    pair: Expr<C, G, Prod<A, B>>,
    body: impl FnOnce(Left<G, A, B>, Right<G, A, B>) -> Expr<C, Prod<G, Prod<A, B>>, R>,
) -> Expr<C, G, R> {
    let_(pair, |pair| {
        let (first, second) = pair.split();
        body(first, second)
    })
}

/// The function `x -> body`.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Fun, Language, Prod, Real, fun1, fun2, lam};
/// /// `z -> x z`.
/// fn scale<C: Language>() -> Expr<C, Real, Fun<Real, Real>> {
///     fun1(|x| lam(|z| x.at() * z.at()))
/// }
/// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, y| scale().call(x.at()).app(y.at()))
/// }
/// assert_eq!(higher::run(program(), &(tensor(2.0), tensor(5.0))), tensor(10.0));
/// ```
#[track_caller]
pub fn lam<C: Ccc, G: Obj, A: Obj, B: Obj>(
    body: impl FnOnce(Var<G, A>) -> Expr<C, Prod<G, A>, B>,
) -> Expr<C, G, Fun<A, B>> {
    let (body, used) = bound(body);
    Expr { hom: C::curry(body), used }
}

/// The variable of the first component of a pair.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::expr::{Left, Right};
/// use polygrad_higher::{self as higher, Expr, Language, Obj, Prod, Real, Vector, fun1, let2, tup};
/// /// The first of two variables that are bound together in the context `G`.
/// fn halved<C: Language, G: Obj>(x: Left<G, Real, Vector>) -> Expr<C, Prod<G, Prod<Real, Vector>>, Real> {
///     x.at() / 2.0
/// }
/// /// The second one.
/// fn total<C: Language, G: Obj>(xs: Right<G, Real, Vector>) -> Expr<C, Prod<G, Prod<Real, Vector>>, Real> {
///     xs.at().sum()
/// }
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| let2(tup(x.at(), x.at().replicate(3)), |first, second| halved(first) + total(second)))
/// }
/// assert_eq!(higher::run(program(), &tensor(2.0)), tensor(7.0));
/// ```
pub type Left<G, A, B> = Var<G, A, First<Whole, B>>;

/// The variable of the second component of a pair.
///
/// Example: [`Left`].
pub type Right<G, A, B> = Var<G, B, Second<Whole, A>>;

/// The function `(x, y) -> body` of a pair.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Prod, Real, Vector, fun2, lam2};
/// fn inner<C: Arrays>() -> Expr<C, Prod<Vector, Vector>, Real> {
///     fun2(|u, v| u.at().zip_with(v.at(), lam2(|x, y| x.at() * y.at())).sum())
/// }
/// assert_eq!(higher::run(inner(), &(tensor([1.0, 2.0]), tensor([3.0, 4.0]))), tensor(11.0));
/// ```
#[track_caller]
pub fn lam2<C: Ccc, G: Obj, A: Obj, B: Obj, R: Obj>(
    body: impl FnOnce(Left<G, A, B>, Right<G, A, B>) -> Expr<C, Prod<G, Prod<A, B>>, R>,
) -> Expr<C, G, Fun<Prod<A, B>, R>> {
    lam(|pair| {
        let (first, second) = pair.split();
        body(first, second)
    })
}

/// A closed expression, which uses no variables, in any context. One that uses a variable is refused, by rustc or when
/// the program is written.
///
/// A helper that takes no arguments is an expression of the context `Unit`, generic in the instance alone. One that
/// takes arguments is a program: [`Expr::call`].
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Fun, Language, Prod, Real, Unit, closed, fun2, lam};
/// fn twice<C: Language>() -> Expr<C, Unit, Fun<Fun<Real, Real>, Fun<Real, Real>>> {
///     lam(|f| lam(|x| f.at().app(f.at().app(x.at()))))
/// }
/// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, y| closed(twice()).app(lam(|z| x.at() * z.at())).app(y.at()))
/// }
/// let x = (tensor(3.0), tensor(2.0));
/// assert_eq!(higher::value_and_grad(program(), &x), (tensor(18.0), (tensor(12.0), tensor(9.0))));
/// ```
#[track_caller]
pub fn closed<C: Ccc, G: Obj, A: Obj>(expression: Expr<C, Unit, A>) -> Expr<C, G, A> {
    expression.call(unit())
}

/// The value of the unit type.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, Unit, fun1, num, unit};
/// /// A program without arguments, at the value of the unit type.
/// fn two<C: Language>() -> Expr<C, Unit, Real> {
///     num(2.0)
/// }
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * two().call(unit()))
/// }
/// assert_eq!(higher::run(program(), &tensor(3.0)), tensor(6.0));
/// ```
pub fn unit<C: Ccc, G: Obj>() -> Expr<C, G, Unit> {
    Expr::of(C::unit())
}

/// The morphism of the body of a program, whose context consists of the variables of these closures.
#[track_caller]
fn program<C: Ccc, G: Obj, A: Obj>(body: Expr<C, G, A>, binders: &[Binder]) -> C::Hom<G, A> {
    let Expr { hom, mut used } = body;
    for binder in binders {
        used = used.outside(*binder);
    }
    used.nothing();
    hom
}

/// A program with one input.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at())
/// }
/// assert_eq!(higher::run(square(), &tensor(3.0)), tensor(9.0));
/// ```
#[track_caller]
pub fn fun1<C: Ccc, A: Obj, B: Obj>(body: impl FnOnce(Var<Unit, A>) -> Expr<C, Prod<Unit, A>, B>) -> Expr<C, A, B> {
    let x = Binder::new();
    let body = program(body(x.variable()), &[x]);
    Expr::of(C::then(C::pair(C::unit(), C::id()), body))
}

/// The context of two variables.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::expr::{Four, Three, Two};
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, Unit, Var, fun2, fun4};
/// /// A part of the body of a program of two numbers.
/// fn body<C: Language>(x: Var<Unit, Real>, y: Var<Prod<Unit, Real>, Real>) -> Expr<C, Two<Real, Real>, Real> {
///     x.at() * y.at()
/// }
/// fn of_two<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, y| body(x, y).sin())
/// }
/// /// A part of the body of a program of four numbers: the last one is bound in the context of three.
/// fn last<C: Language>(w: Var<Three<Real, Real, Real>, Real>) -> Expr<C, Four<Real, Real, Real, Real>, Real> {
///     w.at() * 2.0
/// }
/// fn of_four<C: Language>() -> Expr<C, Prod<Prod<Prod<Real, Real>, Real>, Real>, Real> {
///     fun4(|x, _, _, w| x.at() + last(w))
/// }
/// assert_eq!(higher::run(of_two(), &(tensor(2.0), tensor(0.5))), tensor(1.0_f64.sin()));
/// let x = (((tensor(1.0), tensor(0.0)), tensor(0.0)), tensor(3.0));
/// assert_eq!(higher::run(of_four(), &x), tensor(7.0));
/// ```
pub type Two<A, B> = Prod<Prod<Unit, A>, B>;

/// The context of three variables.
///
/// Example: [`Two`].
pub type Three<A, B, C> = Prod<Two<A, B>, C>;

/// The context of four variables.
///
/// Example: [`Two`].
pub type Four<A, B, C, D> = Prod<Three<A, B, C>, D>;

/// A program with two inputs: `(x, y)`.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2, fun3, fun4};
/// type Two = Prod<Real, Real>;
/// fn quotient<C: Language>() -> Expr<C, Two, Real> {
///     fun2(|x, y| x.at() / y.at())
/// }
/// fn affine<C: Language>() -> Expr<C, Prod<Two, Real>, Real> {
///     fun3(|a, x, b| a.at() * x.at() + b.at())
/// }
/// fn determinant<C: Language>() -> Expr<C, Prod<Prod<Two, Real>, Real>, Real> {
///     fun4(|a, b, c, d| a.at() * d.at() - b.at() * c.at())
/// }
/// let x = (tensor(6.0), tensor(3.0));
/// assert_eq!(higher::run(quotient(), &x), tensor(2.0));
/// assert_eq!(higher::run(affine(), &(x.clone(), tensor(1.0))), tensor(19.0));
/// assert_eq!(higher::run(determinant(), &((x, tensor(1.0)), tensor(4.0))), tensor(21.0));
/// ```
#[track_caller]
pub fn fun2<C: Ccc, A: Obj, B: Obj, R: Obj>(
    body: impl FnOnce(Var<Unit, A>, Var<Prod<Unit, A>, B>) -> Expr<C, Two<A, B>, R>,
) -> Expr<C, Prod<A, B>, R> {
    let [x, y] = [Binder::new(), Binder::new()];
    let body = program(body(x.variable(), y.variable()), &[y, x]);
    let first = C::pair(C::unit(), C::fst());
    Expr::of(C::then(C::pair(first, C::snd()), body))
}

/// A program with three inputs: `((x, y), z)`.
///
/// Example: [`fun2`].
#[track_caller]
pub fn fun3<C: Ccc, A1: Obj, A2: Obj, A3: Obj, R: Obj>(
    body: impl FnOnce(Var<Unit, A1>, Var<Prod<Unit, A1>, A2>, Var<Two<A1, A2>, A3>) -> Expr<C, Three<A1, A2, A3>, R>,
) -> Expr<C, Prod<Prod<A1, A2>, A3>, R> {
    let [x, y, z] = [Binder::new(), Binder::new(), Binder::new()];
    let body = program(body(x.variable(), y.variable(), z.variable()), &[z, y, x]);
    let first = C::pair(C::unit(), C::then(C::fst(), C::fst()));
    let two = C::pair(first, C::then(C::fst(), C::snd()));
    Expr::of(C::then(C::pair(two, C::snd()), body))
}

/// A program with four inputs: `(((x, y), z), w)`.
///
/// Example: [`fun2`].
#[track_caller]
pub fn fun4<C: Ccc, A1: Obj, A2: Obj, A3: Obj, A4: Obj, R: Obj>(
    body: impl FnOnce(
        Var<Unit, A1>,
        Var<Prod<Unit, A1>, A2>,
        Var<Two<A1, A2>, A3>,
        Var<Three<A1, A2, A3>, A4>,
    ) -> Expr<C, Four<A1, A2, A3, A4>, R>,
) -> Expr<C, Prod<Prod<Prod<A1, A2>, A3>, A4>, R> {
    let [x, y, z, w] = [Binder::new(), Binder::new(), Binder::new(), Binder::new()];
    let body = program(body(x.variable(), y.variable(), z.variable(), w.variable()), &[w, z, y, x]);
    let outer = || C::then(C::fst(), C::fst());
    let first = C::pair(C::unit(), C::then(outer(), C::fst()));
    let two = C::pair(first, C::then(outer(), C::snd()));
    let three = C::pair(two, C::then(C::fst(), C::snd()));
    Expr::of(C::then(C::pair(three, C::snd()), body))
}

/// A pair.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, Vector, fun1, tup};
/// fn swapped<C: Language>() -> Expr<C, Prod<Real, Vector>, Prod<Vector, Real>> {
///     fun1(|pair| tup(pair.at().snd(), pair.at().fst()))
/// }
/// assert_eq!(higher::run(swapped(), &(tensor(1.0), tensor([2.0]))), (tensor([2.0]), tensor(1.0)));
/// ```
#[track_caller]
pub fn tup<C: Ccc, G: Obj, A: Obj, B: Obj>(a: Expr<C, G, A>, b: Expr<C, G, B>) -> Expr<C, G, Prod<A, B>> {
    Expr { hom: C::pair(a.hom, b.hom), used: a.used.and(b.used) }
}

impl<C: Ccc, G: Obj, A: Obj> Expr<C, G, A> {
    /// The expression of a morphism.
    ///
    /// Example: [`Expr::hom`].
    pub fn of(hom: C::Hom<G, A>) -> Self {
        Expr { hom, used: Used::default() }
    }

    /// The expression, followed by a morphism.
    pub(super) fn then<B: Obj>(self, f: C::Hom<A, B>) -> Expr<C, G, B> {
        Expr { hom: C::then(self.hom, f), used: self.used }
    }

    /// The morphism of the expression.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
    /// fn square<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| x.at() * x.at())
    /// }
    /// /// The square of the square, composed as morphisms.
    /// fn fourth<C: Language>() -> Expr<C, Real, Real> {
    ///     Expr::of(C::then(square::<C>().hom(), square::<C>().hom()))
    /// }
    /// assert_eq!(higher::run(fourth(), &tensor(2.0)), tensor(16.0));
    /// ```
    pub fn hom(self) -> C::Hom<G, A> {
        self.hom
    }

    /// The program at an argument, in the context of the argument: composition. The argument is shared.
    ///
    /// So a helper with arguments is a program, generic in the instance alone, that runs by itself, too.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun1, fun2, lam, tup};
    /// fn norm<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    ///     fun2(|x, y| x.at() * x.at() + y.at() * y.at())
    /// }
    /// fn program<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| lam(|y| norm().call(tup(x.at(), y.at()))).app(x.at().sin()))
    /// }
    /// assert_eq!(higher::run(norm(), &(tensor(3.0), tensor(4.0))), tensor(25.0));
    /// assert_eq!(higher::value_and_grad(program(), &tensor(0.0)), (tensor(0.0), tensor(0.0)));
    /// ```
    #[track_caller]
    pub fn call<H: Obj>(self, argument: Expr<C, H, G>) -> Expr<C, H, A> {
        self.used.nothing();
        argument.then(self.hom)
    }
}

impl<C: Ccc, G: Obj, A: Obj, B: Obj> Expr<C, G, Prod<A, B>> {
    /// The first component.
    ///
    /// Example: [`tup`].
    pub fn fst(self) -> Expr<C, G, A> {
        self.then(C::fst())
    }

    /// The second component.
    ///
    /// Example: [`tup`].
    pub fn snd(self) -> Expr<C, G, B> {
        self.then(C::snd())
    }
}

impl<C: Ccc, G: Obj, A: Obj, B: Obj> Expr<C, G, Fun<A, B>> {
    /// Applies the function.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Real, fun1, lam, let_};
    /// /// `let f = z -> z z in f (f x)`.
    /// fn fourth<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| let_(lam(|z| z.at() * z.at()), |f| f.at().app(f.at().app(x.at()))))
    /// }
    /// assert_eq!(higher::run(fourth(), &tensor(2.0)), tensor(16.0));
    /// ```
    #[track_caller]
    pub fn app(self, x: Expr<C, G, A>) -> Expr<C, G, B> {
        tup(self, x).then(C::eval())
    }
}
