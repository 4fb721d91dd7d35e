//! Mistakes in higher-order programs.

use polygrad::ops::{Binary, Compare, Unary};
use polygrad::program::Term;
use polygrad::{Array, DType, Tensor, tensor};
use polygrad_higher::interpreters::optic::chosen::{ByMeaning, Meaning};
use polygrad_higher::interpreters::optic::lens::{Either, HiddenOptic, Optic};
use polygrad_higher::interpreters::optic::{Staged, Wire, Wiring, wired};
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Forward, Reverse, ReverseOptic, Run, Syntax, Wires};
use polygrad_higher::primitive::{Compact, Constant, Logic, MatVec, Pointwise, Recorded};
use polygrad_higher::{
    self as higher, Arrays, Differential, Expr, Fun, Language, Matrix, Monoid, Monoidal, Mu, Obj, Primitive, Prod,
    Real, Sided, Signature, Sum, Unit, Var, Vector, case, closed, fix, fun1, fun2, if_, inl, inr, iterate, lam, let_,
    map, num, roll, tup, unit, unroll,
};

use crate::log::Log;

/// An iteration that ends by an input, where a function is in its context.
fn by_a_function<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| {
        let_(lam(|z: Var<_, Real>| z.at() * x.at()), |f| {
            iterate(x.at(), |s| if_(s.at().less(num(9.0)), || inl(f.at().app(s.at())), || inr(s.at())))
        })
    })
}

/// A recursion that a condition on the input would end, and whose argument is a sum.
fn down<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| {
        let step = |f: Var<_, Fun<Sum<Real, Real>, Real>>, n: Var<_, Real>| f.at().app(inl(n.at() - 1.0));
        fix(|f, s| case(s.at(), |n| if_(n.at().less(num(0.5)), || x.at(), || step(f, n)), |y| y.at())).app(inl(x.at()))
    })
}

/// A number on one side or the other.
fn sided<C: Language>() -> Expr<C, Real, Sum<Real, Real>> {
    fun1(|x| if_(x.at().less(num(0.5)), || inl(x.at()), || inr(x.at())))
}

/// A function of itself.
struct Own;

impl Signature for Own {
    type Of<X: Obj> = Fun<X, Real>;
}

/// A recursion by a function that takes itself.
fn selves<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| {
        let_(
            lam(|own: Var<_, Mu<Own>>| {
                if_(x.at().less(num(0.5)), || x.at(), || x.at() * unroll(own.at()).app(own.at()))
            }),
            |half| half.at().app(roll(half.at())),
        )
    })
}

/// An expression of this number of sums.
fn sums<C: Language>(n: usize) -> Expr<C, Real, Real> {
    fun1(|x| (0..n).fold(x.at(), |sum, _| sum + x.at()))
}

/// A recursion that does not end.
fn endless<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| fix(|f, n| x.at() + f.at().app(n.at())).app(x.at()))
}

fn smaller<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|x, y| if_(x.at().less(y.at()), || x.at(), || y.at()))
}

fn no_elements<C: Arrays>() -> Expr<C, Real, Unit> {
    fun1(|x| map(lam(|u| u.at()), lam(|_| unit()).app(x.at())))
}

fn no_tree<C: Arrays>() -> Expr<C, Real, Unit> {
    fun1(|x| lam(|_| unit()).app(x.at()).reduce(unit(), lam(|p| p.at().fst())))
}

fn same<C: Language>() -> Expr<C, Vector, Vector> {
    fun1(|x| x.at())
}

fn both_hold<C: Language>() -> Expr<C, Prod<higher::Mask, higher::Mask>, higher::Mask> {
    fun2(|x, y| higher::apply(Logic::And, higher::tup(x.at(), y.at())))
}

/// A meaning that is never asked.
struct NoMeaning;

impl Meaning for NoMeaning {
    type There = ();
    type Back = ();
    fn constant(_: f64) {}
    fn unary(_: Unary) -> HiddenOptic<(), (), (), ()> {
        Optic::new(|()| ((), ()), |(), ()| ()).hide()
    }
    fn binary(_: Binary) -> HiddenOptic<((), ()), ((), ()), (), ()> {
        Optic::new(|((), ())| ((), ()), |(), ()| ((), ())).hide()
    }
    fn compare(_: Compare, (): &(), (): &()) -> bool {
        false
    }
    fn merge((): (), (): ()) {}
    fn nothing() {}
}

fn squares<C: Arrays>() -> Expr<C, Vector, Vector> {
    fun1(|x| higher::map(lam(|y| y.at() * y.at()), x.at()))
}

fn total<C: Language>() -> Expr<C, Vector, Real> {
    fun1(|x| x.at().sum())
}

#[derive(Clone, Debug, Default)]
struct Paths(usize);

impl Monoid for Paths {
    fn plus(&self, other: &Paths) -> Paths {
        Paths(self.0 + other.0)
    }
}

/// What primitives and verbs refuse, and what programs refuse when they run.
pub(crate) fn programs(log: &mut Log) {
    log.panics(|| Constant::<1>::new(Array::scalar(1.0)));
    let two = higher::stage(smaller(), &(tensor(0.0), tensor(0.0)));
    log.panics(|| Recorded::<Real, Real>::new(two));
    log.panics_when_run(|| Compact::<Real>::new().run(&[Array::from([true, false]), Array::from([1.0])]));
    log.panics(|| MatVec.run(&[Array::from([1.0]), Array::from([1.0])]));

    let x = tensor([1.0, 2.0]);
    log.panics(|| higher::jvp(same(), &x, &tensor([1.0])));
    log.panics_naming_the_call(|| higher::vjp(same(), &x).1(&tensor([1.0])));
    let (a, b) = (tensor(1.0), tensor(2.0));
    log.panics(|| higher::hvp(total(), &x, &tensor([1.0])));

    scopes(log);
    shapes(log);
    log.panics_when_run(|| higher::run::<_, _, Array>(no_elements(), &a));
    log.panics_nearby(|| higher::run::<_, _, Array>(no_tree(), &a));
    log.panics_when_run(|| higher::stage_grad_by::<CurryLists<Term>, _>(by_a_function(), &a));
    log.panics_when_run(|| higher::stage(down(), &a));
    log.panics_when_run(|| higher::stage(selves(), &a));
    log.panics_naming_the_call(|| higher::vjp_of(sided::<CurryClosures<Array>>(), &a).1(&Sided::Left(tensor(1.0))));
    log.panics_when_run(|| higher::run_of(sided(), &Tensor::<Term, 0>::from_raw(Term::variable(&[], DType::F64))));
    log.panics_when_run(|| higher::with_call_memory(1 << 16, || higher::run(endless(), &a)));
    let text = sums::<Syntax>(20_000).hom();
    log.panics_when_run(|| text.term());

    log.fails(squares::<Syntax>().hom().accumulated().map(|_| ()));
    log.fails(total::<Reverse<Syntax>>().hom().accumulated().map(|_| ()));

    derivatives(log);
    log.panics(|| higher::dependencies::<Paths, _, _, Array>(smaller(), &(a.clone(), b.clone()), &[]));
    let variable = || Tensor::<Term, 0>::from_raw(Term::variable(&[], DType::F64));
    let unknown: Expr<Reverse<Run<Term>, _>, _, _> = smaller();
    log.panics_when_run(|| higher::dependencies(unknown, &(variable(), variable()), &[Paths(1)]));

    log.panics_when_run(|| {
        let unknown = || Tensor::<Term, 0, bool>::from_raw(Term::variable(&[], DType::Bool));
        higher::formal_derivatives(both_hold(), &(unknown(), unknown()))
    });
    log.panics_when_run(|| <ByMeaning<NoMeaning> as Monoidal>::primitive(MatVec));
    optics(log);
}

/// Derivatives of functions as terms: (co)tangents that do not fit, and loops whose end nobody knows.
fn derivatives(log: &mut Log) {
    fn short<C: Differential>() -> Expr<C, Vector, Vector> {
        fun1(|x| lam(|z| z.at() + z.at()).vjp().app(x.at()).snd().app(num(1.0).replicate(1)))
    }
    fn along<C: Differential>() -> Expr<C, Vector, Vector> {
        fun1(|x| lam(|z| z.at() + z.at()).jvp().app(tup(x.at(), num(1.0).replicate(1))).snd())
    }
    fn grown<C: Differential>() -> Expr<C, Real, Real> {
        fun1(|x| {
            let doubled =
                lam(|y| iterate(y.at(), |s| if_(s.at().less(num(100.0)), || inl(s.at() * 2.0), || inr(s.at()))));
            doubled.grad().app(x.at())
        })
    }
    let (x, a) = (tensor([1.0, 2.0]), tensor(1.0));
    log.panics_when_run(|| higher::run(short(), &x));
    log.panics_when_run(|| higher::vjp(short(), &x));
    log.panics_when_run(|| higher::jvp(short(), &x, &x));
    log.panics_when_run(|| higher::run(along(), &x));
    log.panics_when_run(|| higher::vjp(along(), &x));
    log.panics_when_run(|| higher::jvp(along(), &x, &x));
    log.panics_naming_the_call(|| {
        let f: Expr<Run<Array>, Vector, Vector> =
            fun1(|x| lam(|z| z.at() + z.at()).vjp().app(x.at()).snd().app(num(1.0).replicate(1)));
        higher::run(f, &x)
    });
    log.panics_when_run(|| higher::stage(grown(), &a));
    log.panics_when_run(|| higher::stage_grad(grown(), &a));
}

/// A variable in a closure that does not stand within the one that binds it, where the types of the contexts are equal by
/// chance.
fn scopes(log: &mut Log) {
    type Scaled = Expr<Run<Array>, Real, Fun<Real, Real>>;
    log.panics(|| -> Scaled { fun1(|x| closed(lam(|y| x.at() * y.at()))) });
    log.panics(|| -> Expr<Run<Array>, Real, Real> { fun1(|x| fun1(|y| x.at() * y.at()).call(x.at())) });
    log.panics(|| -> Expr<Run<Array>, Real, Real> {
        fun1(|x| {
            let mut other = None;
            let f = lam(|y| {
                other = Some(y);
                y.at()
            });
            f.app(lam(|z| z.at() * other.unwrap().at()).app(x.at()))
        })
    });
    log.panics(|| -> Expr<Run<Array>, Real, Real> { fun1(|x| (x.at() * x.at()).call(tup(unit(), x.at()))) });
}

/// Shapes that do not fit are found when a program runs; the message names the line of the operation.
fn shapes(log: &mut Log) {
    let (short, long) = (tensor([1.0]), tensor([1.0, 2.0]));
    log.panics_naming_the_call(|| {
        let sum = fun2::<Run<Array>, Vector, Vector, Vector>(|x, y| x.at() + y.at());
        higher::run(sum, &(short.clone(), long.clone()))
    });
    log.panics_naming_the_call(|| {
        let product = fun2::<CurryClosures<Array>, Matrix, Vector, Real>(|w, x| w.at().matvec(x.at()).sum());
        higher::grad(product, &(tensor([[1.0, 2.0]]), short.clone()))
    });
    log.panics_naming_the_call(|| {
        let pairs = fun2::<Forward<Run<Array>>, Vector, Vector, Vector>(|x, y| {
            x.at().zip_with(y.at(), lam(|both| both.at().fst() * both.at().snd()))
        });
        let x = (short.clone(), long.clone());
        higher::jvp(pairs, &x, &x)
    });
    log.panics_naming_the_call(|| {
        let within = fun2::<Reverse<Run<Array>>, Vector, Vector, Real>(|x, y| {
            map(lam(|a| a.at() * (x.at() - y.at()).sum()), x.at()).sum()
        });
        higher::value_and_grad_by(within, &(short.clone(), long.clone()))
    });
}

type First<T = Array> = ReverseOptic<Wires<Run<T>>>;

/// A product of a matrix and a vector, as wires.
fn product<W: Wiring>() -> Wire<W, Prod<Matrix, Vector>, Vector> {
    <W as Monoidal>::primitive(MatVec)
}

/// `sin` of a zero that has no shape.
fn sine_of_zero<C: Monoidal>() -> C::Hom<Unit, Vector> {
    C::then(C::zero(), C::primitive(Pointwise::<1>(Unary::Sin)))
}

/// What programs of wires refuse.
fn wires(log: &mut Log) {
    let x = (tensor([[1.0, 2.0]]), tensor([3.0, 4.0]));
    let stages = First::stages(&product::<First>());
    log.panics(|| stages[1].take::<Vector, Prod<Matrix, Vector>>(&tensor([1.0])));
    log.panics(|| stages[1].take_zero::<Prod<Matrix, Vector>>());
    stages[0].take::<Prod<Matrix, Vector>, Vector>(&x);
    log.panics(|| stages[1].take::<Vector, Prod<Matrix, Vector>>(&tensor([1.0, 2.0])));
    log.panics(|| higher::reverse_derivative(&product::<First>(), &x, std::slice::from_ref(&x), &tensor([1.0])));
    log.panics(|| higher::stage_reverse_derivative(&product::<Wires<Run<Term>>>(), &x));
    log.panics_when_run(|| First::stages(&sine_of_zero::<First>())[0].take::<Unit, Vector>(&()));
    log.panics(|| First::stages(&<First as Monoidal>::zero::<Vector>())[0].take::<Unit, Vector>(&()));
}

/// What optics refuse.
fn optics(log: &mut Log) {
    let sum = higher::stage(total(), &tensor([1.0, 2.0]));
    log.panics(|| wired::<First, Prod<Vector, Vector>, Real>(&sum));
    wires(log);
    let square = || Optic::new(|x: f64| (x, x * x), |x, d: f64| 2.0 * x * d);
    let (one, other) = (square().hide(), square().hide());
    let (residual, _) = one.left(3.0);
    log.panics(|| other.right(residual, 1.0));
    log.panics_when_run(|| square().or(&square()).act(|_| Either::Right(1.0), Either::Left(3.0)));
}
