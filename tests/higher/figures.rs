//! The figures of "CHAD" and "The Differentiable Curry" as numbers.

use std::collections::BTreeSet;

use polygrad::{Array, tensor};
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Erased, Mode, Reverse, Run};
use polygrad_higher::primitive::Logic;
use polygrad_higher::transform::InReverse;
use polygrad_higher::{
    self as higher, Expr, Fun, Language, Monoid, Prod, Real, apply, fix, fun1, fun2, fun3, if_, inl, inr, iterate, lam,
    let_, num, tup,
};

use super::agree::{close, numbers};
use super::both::to_second_order;
use super::gallery;

#[test]
fn fig_1c() {
    let x = 0.6_f64;
    let (value, tangent) = higher::jvp(to_second_order(gallery::fig_1a()).at(), &tensor(x), &tensor(1.0));
    let (y, z) = (2.0 * x, 2.0 * x * x);
    close("value", &numbers(&value), &[y, z, z.cos()], 1e-15);
    close("tangent", &numbers(&tangent), &[2.0, 4.0 * x, -z.sin() * 4.0 * x], 1e-15);
}

#[test]
fn fig_1d() {
    let x = (((tensor(0.7), tensor(-0.3)), tensor(1.1)), tensor(0.4));
    let (value, gradient) =
        higher::value_and_grad_by(to_second_order(gallery::fig_1b()).at::<Reverse<Run<Array>>, _>(), &x);
    close("value", &[value.item()], &[0.047_981_570_123_249_91], 1e-15);
    let expected = [0.4394932173134861, 2.1974660865674305, -0.3196314307734444, 1.7679613514656145];
    close("gradient", &numbers(&gradient), &expected, 1e-15);
}

#[test]
fn fig_2c() {
    let (value, tangent) = higher::jvp(to_second_order(gallery::fig_2a()).at(), &tensor(3.0), &tensor(1.0));
    assert_eq!((value, tangent), (tensor([10.0; 3]), tensor([6.0; 3])));
    let x = tensor(3.0);
    let (_, pullback) = higher::vjp_by(to_second_order(gallery::fig_2a()).at::<Reverse<Run<Array>>, _>(), &x);
    assert_eq!(pullback(&tensor([1.0; 3])), tensor(18.0));
}

#[test]
fn fig_2d() {
    let x = (tensor(3.0), tensor([1.0, 2.0, 5.0]));
    let (value, pullback) = higher::vjp_by(to_second_order(gallery::fig_2b()).at::<Reverse<Run<Array>>, _>(), &x);
    assert_eq!(value, tensor(24.0));
    assert_eq!(pullback(&tensor(2.0)), (tensor(16.0), tensor([6.0; 3])));
}

/// Examples of the reference implementation whose results are no single number.
#[test]
fn examples_with_several_results() {
    let x = tensor(1.5);
    let (value, pullback) = higher::vjp_by(to_second_order(gallery::paired()).at::<Reverse<Run<Array>>, _>(), &x);
    assert_eq!((value, pullback(&(tensor(2.0), tensor(3.0)))), ((tensor(1.5), tensor(1.5)), tensor(5.0)));
    let xs = tensor([1.0, 2.0]);
    let (value, pullback) = higher::vjp(gallery::map_quadratic(), &xs);
    assert_eq!((value, pullback(&tensor([1.0, 10.0]))), (tensor([11.0, 21.0]), tensor([9.0, 110.0])));
    assert_eq!(
        higher::jvp(to_second_order(gallery::map_quadratic()).at(), &xs, &tensor([1.0, 10.0])).1,
        tensor([9.0, 110.0])
    );
}

type Float2 = Prod<Real, Real>;

/// `f(a, b) = sin(a) b`.
fn f<C: Language>() -> Expr<C, Float2, Real> {
    fun2(|a, b| a.at().sin() * b.at())
}

fn partial_1<C: Language>() -> Expr<C, Float2, Real> {
    fun2(|a, b| lam(|xb| f().call(tup(a.at(), xb.at()))).app(b.at()))
}

fn partial_2<C: Language>() -> Expr<C, Float2, Real> {
    fun2(|a, b| f().call(tup(a.at(), b.at())))
}

#[test]
fn fig_4_partial_application() {
    let x = (tensor(0.7), tensor(1.3));
    let expected = [0.8374829934089983, 0.9942948434698351, 0.644217687237691];
    let check = |found: (polygrad::Tensor<Array, 0>, _)| {
        let all: Vec<f64> = std::iter::once(found.0.item()).chain(numbers(&found.1)).collect();
        close("partial application", &all, &expected, 1e-15);
    };
    check(higher::value_and_grad_by(partial_1::<CurryLists<Array>>(), &x));
    check(higher::value_and_grad_by(partial_2::<CurryLists<Array>>(), &x));
    check(higher::value_and_grad_by(partial_1::<CurryClosures<Array>>(), &x));
    check(higher::value_and_grad_by(partial_2::<CurryClosures<Array>>(), &x));
}

type Both = Prod<Prod<Fun<Real, Real>, Fun<Real, Real>>, Real>;

/// Two functions, both of which capture `a`, and the point 0.5.
fn two_functions<C: Language>() -> Expr<C, Real, Both> {
    fun1(|a| {
        let point = higher::num(0.5);
        tup(tup(lam(|z| z.at() * a.at()), lam(|z| z.at() * a.at() * a.at())), point)
    })
}

fn forget_1<C: Language>() -> Expr<C, Both, Real> {
    fun1(|all| let_(all.at().snd(), |x| tup(all.at().fst().fst().app(x.at()), all.at().fst().snd().app(x.at())).fst()))
}

fn forget_2<C: Language>() -> Expr<C, Both, Real> {
    fun1(|all| all.at().fst().fst().app(all.at().snd()))
}

/// The function `g` is called, and its result forgotten: its list of calls is `[(x, 0)]`, or `[]` where it is not
/// called.
#[test]
fn fig_4_forgetting_results() {
    type C = CurryLists<Array>;
    let at = (tensor(2.0), tensor(1.0));
    let raw = |program| format!("{}", C::raw_tangent(two_functions::<C>(), program, &at.0, &at.1));
    assert_eq!(raw(forget_1()), "(([(0.5, 1.0)], [(0.5, 0)]), 2.0)");
    assert_eq!(raw(forget_2()), "(([(0.5, 1.0)], 0), 2.0)");
    for program in [forget_1().call(two_functions()), forget_2().call(two_functions())] {
        assert_eq!(higher::value_and_grad(program, &at.0), (tensor(1.0), tensor(0.5)));
    }
    for program in [forget_1::<C>().call(two_functions()), forget_2().call(two_functions())] {
        assert_eq!(higher::value_and_grad_by(program, &at.0), (tensor(1.0), tensor(0.5)));
    }
}

fn sum_1<C: Language>() -> Expr<C, Both, Real> {
    fun1(|all| let_(all.at().fst().fst(), |f| let_(all.at().snd(), |x| f.at().app(x.at()) + f.at().app(x.at()))))
}

fn sum_2<C: Language>() -> Expr<C, Both, Real> {
    fun1(|all| let_(all.at().fst().fst().app(all.at().snd()), |y| y.at() + y.at()))
}

/// The results of two calls are added up, or that of one call is doubled: the lists `[(x, g), (x, g)]` and
/// `[(x, g + g)]`.
#[test]
fn fig_4_summing_results() {
    type C = CurryLists<Array>;
    let at = (tensor(2.0), tensor(1.0));
    let raw = |program| format!("{}", C::raw_tangent(two_functions::<C>(), program, &at.0, &at.1));
    assert_eq!(raw(sum_1()), "(([(0.5, 1.0), (0.5, 1.0)], 0), 4.0)");
    assert_eq!(raw(sum_2()), "(([(0.5, 2.0)], 0), 4.0)");
    for program in [sum_1().call(two_functions()), sum_2().call(two_functions())] {
        assert_eq!(higher::value_and_grad(program, &at.0), (tensor(2.0), tensor(1.0)));
    }
    for program in [sum_1::<C>().call(two_functions()), sum_2().call(two_functions())] {
        assert_eq!(higher::value_and_grad_by(program, &at.0), (tensor(2.0), tensor(1.0)));
    }
}

type Functions = Prod<Fun<Real, Real>, Fun<Real, Real>>;

/// "The Differentiable Curry", Fig. 5: the tangent of a function is that of its environment, and a composition has those of
/// both functions. Here, an environment is the context `((), a), b)` of a function.
#[test]
fn fig_5_environments_of_a_composition() {
    type C = CurryClosures<Array>;
    fn make<C: Language>() -> Expr<C, Float2, Functions> {
        fun2(|a, b| tup(lam(|z| z.at() * a.at()), lam(|z| z.at() * b.at() * b.at())))
    }
    fn composed<C: Language>() -> Expr<C, Functions, Real> {
        fun1(|both| lam(|z| both.at().snd().app(both.at().fst().app(z.at()))).app(num(0.5)))
    }
    fn identity<C: Language>() -> Expr<C, Functions, Real> {
        fun1(|both| let_(both.at().fst(), |_| num(0.5)))
    }
    let x = (tensor(2.0), tensor(3.0));
    // d(0.5 a b^2) = 4.5 da + 6 db, where the first environment has a, and the second one b.
    let raw = |program| C::raw_tangent(make::<C>(), program, &x, &tensor(1.0)).to_string();
    assert_eq!(raw(composed()), "(((0, 4.5), 0), (0, 6.0))");
    assert_eq!(raw(identity()), "0", "the environment of what is not called has no part");
    assert_eq!(higher::value_and_grad(composed().call(make()), &x), (tensor(9.0), (tensor(4.5), tensor(6.0))));
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Paths(usize);

impl Monoid for Paths {
    fn plus(&self, other: &Paths) -> Paths {
        Paths(self.0 + other.0)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Names(BTreeSet<&'static str>);

impl Monoid for Names {
    fn plus(&self, other: &Names) -> Names {
        Names(self.0.union(&other.0).copied().collect())
    }
}

/// "CHAD", section 11.3: other monoids. The copy of `x4` in Fig. 1(b) becomes an addition of counts.
#[test]
fn counts_and_sets_in_place_of_derivatives() {
    let x = (((tensor(0.7), tensor(-0.3)), tensor(1.1)), tensor(0.4));
    let paths = higher::dependencies::<_, _, _, Array>(gallery::fig_1b(), &x, &[Paths(1)]);
    assert_eq!(paths, [Paths(1), Paths(1), Paths(1), Paths(2)]);
    // The inner functions of `composed` are called four times.
    let two = (tensor(0.7), tensor(1.3));
    assert_eq!(higher::dependencies::<_, _, _, Array>(gallery::composed(), &two, &[Paths(1)]), [Paths(4), Paths(1)]);

    fn results<C: Language>() -> Expr<C, Float2, Prod<Prod<Real, Real>, Real>> {
        fun2(|x, y| let_(lam(|z| z.at() * y.at()), |f| tup(tup(f.at().app(x.at()), y.at().sin()), higher::num(1.0))))
    }
    let set = |names: &[&'static str]| Names(names.iter().copied().collect());
    let marks = [set(&["product"]), set(&["sine"]), set(&["one"])];
    let found = higher::dependencies::<_, _, _, Array>(results(), &two, &marks);
    assert_eq!(found, [set(&["product"]), set(&["product", "sine"])]);
}

type Bit = higher::Mask;
type Bits = Prod<Prod<Bit, Bit>, Bit>;

/// `(x + z) y + z x`, with a function that captures and is called twice.
fn circuit<C: Language>() -> Expr<C, Bits, Bit> {
    fun3(|x, y, z| {
        let_(lam(|b| apply(Logic::And, tup(b.at(), y.at()))), |by_y| {
            let first = apply(Logic::Xor, tup(by_y.at().app(x.at()), by_y.at().app(z.at())));
            apply(Logic::Xor, tup(first, apply(Logic::And, tup(z.at(), x.at()))))
        })
    })
}

/// The Boolean formal derivative is what a flipped input changes, for polynomials in which no variable is squared; a
/// function of higher order is differentiated like any other.
#[test]
fn boolean_formal_derivatives() {
    let bit = |b: bool| -> polygrad::Tensor<Array, 0, bool> { polygrad::Tensor::from_raw(Array::scalar(b)) };
    for k in 0..8 {
        let [x, y, z] = [k & 1 == 1, k & 2 == 2, k & 4 == 4];
        let found = higher::formal_derivatives(circuit(), &((bit(x), bit(y)), bit(z)));
        assert_eq!(found, [y ^ z, x ^ z, y ^ x], "at {x} {y} {z}");
        let value = higher::run(circuit(), &((bit(x), bit(y)), bit(z)));
        assert_eq!(value, bit(((x ^ z) & y) ^ (z & x)));
    }
}

/// "The Differentiable Curry", Fig. 6: integers have no tangents.
#[test]
fn fig_6_discrete_types() {
    fn read<C: Language>() -> Expr<C, Prod<higher::Vector, higher::Int>, Real> {
        fun2(|v, i| let_(lam(|k| v.at().gather(k.at()) * v.at().gather(k.at())), |f| f.at().app(i.at())))
    }
    let i: polygrad::Tensor<Array, 0, i64> = polygrad::Tensor::from_raw(Array::scalar(1_i64));
    let x = (tensor([3.0, 4.0, 5.0]), i);
    let zero = polygrad::Tensor::from_raw(Array::scalar(0_i64));
    let expected = (tensor([0.0, 8.0, 0.0]), zero);
    assert_eq!(higher::value_and_grad(read(), &x), (tensor(16.0), expected.clone()));
    assert_eq!(higher::value_and_grad_by(read::<CurryLists<Array>>(), &x).1, expected);
    assert_eq!(higher::value_and_grad_by(Erased::typed(read::<InReverse<Run<Array>>>()), &x).1, expected);
}

/// Ten thousand steps go forward and back in a small thread, in every instance that runs; with tuples, too.
#[test]
fn many_steps() {
    fn steps<C: Language>(count: f64) -> Expr<C, Real, Real> {
        fun1(|a| {
            iterate(tup(num(1.0), num(0.0)), |s| {
                if_(
                    s.at().snd().less(num(count)),
                    || inl(tup(s.at().fst() * a.at(), s.at().snd() + num(1.0))),
                    || inr(s.at().fst()),
                )
            })
        })
    }
    let found = higher::value_and_grad(steps(10_000.0), &tensor(1.0));
    assert_eq!(found, (tensor(1.0), tensor(10_000.0)));
    let found = higher::value_and_grad_by(Erased::typed(steps::<InReverse<Run<Array>>>(10_000.0)), &tensor(1.0));
    assert_eq!(found, (tensor(1.0), tensor(10_000.0)));
    assert_eq!(
        higher::jvp(Erased::typed(steps(10_000.0)), &tensor(1.0), &tensor(2.0)),
        (tensor(1.0), tensor(20_000.0))
    );
    let back = |mode| {
        higher::pullback_by(Erased::typed(steps::<InReverse<Run<Array>>>(3000.0)), &tensor(1.0), &tensor(1.0), mode)
    };
    assert_eq!(back(Mode::Tuples), tensor(3000.0));
    assert_eq!(higher::hvp(steps(200.0), &tensor(1.0), &tensor(1.0)).1, tensor(200.0 * 199.0));
}

/// A function that is called in every step of a loop, so that a thousand calls are remembered.
#[test]
fn many_calls() {
    fn calls<C: Language>() -> Expr<C, Real, Real> {
        fun1(|a| {
            let_(lam(|z| z.at() * a.at()), |f| {
                iterate(tup(num(1.0), num(0.0)), |s| {
                    if_(
                        s.at().snd().less(num(1000.0)),
                        || inl(tup(f.at().app(s.at().fst()), s.at().snd() + num(1.0))),
                        || inr(s.at().fst()),
                    )
                })
            })
        })
    }
    let expected = (tensor(1.0), tensor(1000.0));
    assert_eq!(higher::value_and_grad(calls(), &tensor(1.0)), expected);
    assert_eq!(higher::value_and_grad_by(calls::<CurryLists<Array>>(), &tensor(1.0)), expected);
    assert_eq!(higher::value_and_grad_by(Erased::typed(calls::<InReverse<Run<Array>>>()), &tensor(1.0)), expected);
    assert_eq!(higher::jvp(Erased::typed(calls()), &tensor(1.0), &tensor(1.0)), expected);
}

/// A recursion of some depth.
#[test]
fn deep_recursion() {
    fn sum<C: Language>() -> Expr<C, Real, Real> {
        fun1(|x| {
            let_(fix(|f, n| if_(n.at().less(num(0.5)), || num(0.0), || x.at() + f.at().app(n.at() - num(1.0)))), |f| {
                f.at().app(num(DEPTH))
            })
        })
    }
    const DEPTH: f64 = 50.0;
    let expected = (tensor(DEPTH * 2.0), tensor(DEPTH));
    assert_eq!(higher::value_and_grad(sum(), &tensor(2.0)), expected);
    assert_eq!(higher::value_and_grad_by(sum::<CurryLists<Array>>(), &tensor(2.0)), expected);
    assert_eq!(higher::value_and_grad_by(Erased::typed(sum::<InReverse<Run<Array>>>()), &tensor(2.0)), expected);
    assert_eq!(higher::jvp(Erased::typed(sum()), &tensor(2.0), &tensor(1.0)), expected);
}
