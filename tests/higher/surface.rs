//! The user's syntax without type annotations: closed terms, programs called within programs, components of pairs as
//! variables, sums and loops whose types follow from their parts.
//!
//! No closure here has the type of a parameter, and no call a type argument: that this file compiles is a test.

use polygrad::{Array, tensor};
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Reverse, Run, Syntax};
use polygrad_higher::{
    self as higher, Arrays, Expr, Fun, Language, Mu, Obj, Prod, Real, Signature, Stack, Sum, Unit, Vector, case,
    closed, constant, filter, fix, fold, fun1, fun2, fun3, if_, inl, inr, iterate, iterate_within, keep, lam, lam2,
    let_, let2, map, num, roll, tup, unit, unroll,
};

use super::agree::{close, numbers};
use super::both::to_second_order;

type Two = Prod<Real, Real>;

fn twice<C: Language>() -> Expr<C, Unit, Fun<Fun<Real, Real>, Fun<Real, Real>>> {
    lam(|f| lam(|x| f.at().app(f.at().app(x.at()))))
}

/// A closed term, used in three contexts.
fn of_closed<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|xs, y| {
        let_(closed(twice()).app(lam(|z| z.at() * y.at())), |f| {
            xs.at().map(lam(|x| closed(twice()).app(f.at()).app(x.at()))).sum()
                + fold(lam2(|s, x| s.at() * closed(twice()).app(lam(|z| z.at().sin())).app(x.at())), y.at(), xs.at())
        })
    })
}

/// The same, written out.
fn of_open<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|xs, y| {
        xs.at().map(lam(|x| x.at() * y.at() * y.at() * y.at() * y.at())).sum()
            + xs.at().fold(y.at(), lam2(|s, x| s.at() * x.at().sin().sin()))
    })
}

/// A program with two inputs, which is called by others.
fn distance<C: Language>() -> Expr<C, Prod<Two, Two>, Real> {
    fun2(|p, q| {
        let ((a, b), (c, d)) = (p.split(), q.split());
        let2(tup(a.at() - c.at(), b.at() - d.at()), |x, y| x.at() * x.at() + y.at() * y.at())
    })
}

fn of_program<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let there = tup(x.at().sin(), y.at());
        let_(distance().call(tup(tup(x.at(), y.at()), there)), |r| r.at() + y.at())
    })
}

fn of_formula<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| let_(x.at() - x.at().sin(), |d| d.at() * d.at()) + y.at())
}

/// Sums and loops: an `Either` whose other case no other part names; a state of pairs of pairs.
fn of_sums<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let chosen = if_(x.at().less(y.at()), || inl(x.at()), || inr(tup(x.at(), y.at())));
        let steps = iterate(tup(tup(x.at(), y.at()), num(3.0)), |s| {
            let (at, left) = s.split();
            let (a, b) = at.split();
            if_(left.at().less(num(0.5)), || inr(a.at()), || inl(tup(tup(b.at(), a.at() * b.at()), left.at() - 1.0)))
        });
        let bounded = iterate_within(9, tup(x.at(), num(3.0)), num(0.0), |s| {
            let (a, left) = s.split();
            if_(left.at().less(num(0.5)), || inr(a.at()), || inl(tup(a.at() * y.at(), left.at() - 1.0)))
        });
        case(chosen, |a| 2.0 * a.at(), |p| p.at().fst() / p.at().snd()) + steps * bounded
    })
}

fn of_formulas<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let steps = x.at() * y.at() * y.at();
        let bounded = x.at() * y.at() * y.at() * y.at();
        2.0 * x.at() + steps * bounded
    })
}

/// Loops written as functions of functions, which are given before their arrays.
fn of_loops<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|xs, y| {
        let_(map(lam(|x| x.at() * x.at()), xs.at()), |squares| {
            let_(keep(lam(|x| x.at().less(y.at())), squares.at(), y.at() * y.at()), |kept| {
                let2(filter(lam(|x| x.at().less(y.at())), squares.at()), |count, few| {
                    let products = tup(kept.at(), few.at()).map(lam2(|a, b| a.at() * b.at()));
                    (products * constant(tensor([1.0, 2.0, 3.0]))).sum() * count.at().to_float()
                })
            })
        })
    })
}

/// Any type of elements: an array of them is an array of rows.
fn swapped<C: Arrays, A: Stack, B: Stack>() -> Expr<C, Prod<A::Stacked, B::Stacked>, Prod<B::Stacked, A::Stacked>> {
    fun2(|xs, ys| tup(xs.at(), ys.at()).map(lam2(|x, y| tup(y.at(), x.at()))))
}

struct Numbers;

impl Signature for Numbers {
    type Of<X: Obj> = Sum<Unit, Prod<Real, X>>;
}

type List = Mu<Numbers>;

fn sum<C: Language>() -> Expr<C, Unit, Fun<List, Real>> {
    fix(|own, list| case(unroll(list.at()), |_| num(0.0), |p| p.at().fst() + own.at().app(p.at().snd())))
}

fn of_lists<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(List::roll(inr(tup(x.at(), roll(inl(unit()))))), |list| {
            closed(sum()).app(List::roll(inr(tup(y.at() * y.at(), list.at()))))
        })
    })
}

fn of_a_sum<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| x.at() + y.at() * y.at())
}

/// Two programs with equal values and gradients, in all instances.
macro_rules! equal {
    ($($name:ident: $one:ident is $other:ident at $x:expr;)*) => { $(
        #[test]
        fn $name() {
            let (x, one, other) = ($x, to_second_order($one()), to_second_order($other()));
            let (value, gradient) = higher::value_and_grad(other.at(), &x);
            let both = |y: f64, g: &_| [vec![y], numbers(g)].concat();
            let expected = both(value.item(), &gradient);
            let (y, g) = higher::value_and_grad(one.at(), &x);
            close("closures", &both(y.item(), &g), &expected, 1e-12);
            let (y, g) = higher::value_and_grad_by(one.at::<CurryLists<Array>, _>(), &x);
            close("lists", &both(y.item(), &g), &expected, 1e-12);
            let (y, g) = higher::value_and_grad_by(one.at::<Reverse<Run<Array>>, _>(), &x);
            close("CHAD", &both(y.item(), &g), &expected, 1e-12);
            let direction = higher::grad(other.at(), &x);
            let along = higher::jvp(other.at(), &x, &direction).1.item();
            close("forward", &[higher::jvp(one.at(), &x, &direction).1.item()], &[along], 1e-12);
        }
    )* };
}

equal! {
    closed_terms: of_closed is of_open at (tensor([0.5, -1.5]), tensor(0.7));
    called_programs: of_program is of_formula at (tensor(0.7), tensor(-0.4));
    sums: of_sums is of_formulas at (tensor(0.7), tensor(1.4));
    lists: of_lists is of_a_sum at (tensor(0.7), tensor(1.4));
}

#[test]
fn loops_and_rows_of_any_type() {
    let x = (tensor([0.5, -1.5, 1.0]), tensor(2.0));
    // Squares 0.25, 2.25, 1; kept 0.25, 4, 1; filtered 0.25, 1, 0.
    assert_eq!(higher::run(of_loops(), &x), tensor((0.25 * 0.25 + 2.0 * 4.0) * 2.0));
    let arrays = (tensor([1.0, 2.0]), (tensor([3.0, 4.0]), tensor([[5.0, 6.0], [7.0, 8.0]])));
    assert_eq!(higher::run(swapped::<_, Real, Prod<Real, Vector>>(), &arrays), (arrays.1.clone(), arrays.0.clone()));
}

fn captures_nothing<C: Language>() -> Expr<C, Real, Fun<Fun<Real, Real>, Fun<Real, Real>>> {
    fun1(|x| let_(x.at(), |_| closed(twice())))
}

/// A closed term has no environment: its tangent is that of the unit context. A component is a projection, not a `let`.
#[test]
fn what_the_syntax_stands_for() {
    let text = of_program::<Syntax>().hom().term().simplify().to_string();
    let other = fun2(|x, y| {
        let_(
            {
                let p = tup(tup(x.at(), y.at()), tup(x.at().sin(), y.at()));
                fun2(|p, q| {
                    let_(tup(p.at().fst() - q.at().fst(), p.at().snd() - q.at().snd()), |d| {
                        d.at().fst() * d.at().fst() + d.at().snd() * d.at().snd()
                    })
                })
                .call(p)
            },
            |r| r.at() + y.at(),
        )
    });
    let other: Expr<Syntax, Two, Real> = other;
    assert_eq!(text, other.hom().term().simplify().to_string());
    type C = CurryClosures<Array>;
    let fourth = fun1(|f| f.at().app(lam(|z| z.at() * z.at())).app(num(3.0)));
    let raw = C::raw_tangent(captures_nothing(), fourth, &tensor(2.0), &tensor(1.0));
    assert_eq!(raw.to_string(), "0");
    let triple = fun3(|x, y, z| x.at() * y.at() * z.at());
    assert_eq!(higher::run(triple, &((tensor(2.0), tensor(3.0)), tensor(4.0))), tensor(24.0));
}
