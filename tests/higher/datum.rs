//! Verbs of programs whose inputs and results are sums and lists: cotangents have the structure of the point.
//!
//! Laws: all instances of reverse mode agree, with finite differences, too; cotangents of each structure are a monoid, which
//! pullbacks respect; injections pull back to their case, and projections to their part ("CHAD for expressive total
//! languages", the axioms of categories with such tangents).

use polygrad::tree::Tree;
use polygrad::{Array, Tensor, tensor};
use polygrad_higher::interpreters::{Backward, CurryClosures, CurryLists, Reverse, Run};
use polygrad_higher::{
    self as higher, Arrays, Expr, Language, List, Matrix, Prod, Real, Sided, Sum, Unit, Var, Vector, case, fix, fun1,
    fun2, inl, inr, lam, let_, map, num, roll, tup, unit, unroll,
};

use super::agree::{close, moved, numbers};
use super::deep::refused;

type Number = Tensor<Array, 0>;
type Case = Sided<Number, (Number, Number)>;

/// Two cases of different types, which end at different sides.
fn cases<C: Language>() -> Expr<C, Sum<Real, Prod<Real, Real>>, Real> {
    fun1(|s| case(s.at(), |x| x.at() * x.at().sin(), |p| p.at().fst() * p.at().snd().cos()))
}

/// The other side, with what it needs.
fn crossed<C: Language>() -> Expr<C, Sum<Real, Prod<Real, Real>>, Sum<Prod<Real, Real>, Real>> {
    fun1(|s| {
        case(s.at(), |x| inl(tup(x.at() * x.at(), x.at().sin())), |p| inr(p.at().fst() * p.at().snd() + p.at().fst()))
    })
}

/// "The Differentiable Curry", section 2: `runRNN params init xs = fold g init xs`, where `g` is the cell applied to its
/// parameters.
fn run_rnn<C: Arrays>() -> Expr<C, Prod<Prod<Matrix, Matrix>, Prod<Vector, List<Vector>>>, Vector> {
    fun2(|params, given| {
        let g = lam(|hid: Var<_, Vector>| {
            lam(|input: Var<_, Vector>| {
                let (w, u) = (params.at().fst(), params.at().snd());
                map(lam(|z: Var<_, Real>| z.at().tanh()), w.matvec(hid.at()) + u.matvec(input.at()))
            })
        });
        let_(g, |g| {
            fix(|fold, p: Var<_, Prod<Vector, List<Vector>>>| {
                case(
                    unroll(p.at().snd()),
                    |_| p.at().fst(),
                    |q| {
                        let (x, rest) = (q.at().fst(), q.at().snd());
                        fold.at().app(tup(g.at().app(p.at().fst()).app(x), rest))
                    },
                )
            })
            .app(given.at())
        })
    })
}

/// Squares of all elements but the last.
fn but_last<C: Language>() -> Expr<C, List<Real>, List<Real>> {
    fun1(|list| {
        fix(|own, list| {
            case(
                unroll(list.at()),
                |_| roll(inl(unit())),
                |p| {
                    case(
                        unroll(p.at().snd()),
                        |_: Var<_, Unit>| roll(inl(unit())),
                        |_| roll(inr(tup(p.at().fst() * p.at().fst(), own.at().app(p.at().snd())))),
                    )
                },
            )
        })
        .app(list.at())
    })
}

fn case_numbers(x: &Case) -> Vec<f64> {
    match x {
        Sided::Left(x) => numbers(x),
        Sided::Right(p) => numbers(p),
    }
}

#[test]
fn sums_as_inputs() {
    fn by<C: Backward<Array>>(x: &Case) -> (f64, Case) {
        let (value, gradient) = higher::value_and_grad_of(cases::<C>(), x);
        (value.item(), gradient)
    }
    let points: [Case; 2] = [Sided::Left(tensor(0.7)), Sided::Right((tensor(1.3), tensor(-0.4)))];
    let exact = [vec![0.7_f64.sin() + 0.7 * 0.7_f64.cos()], vec![0.4_f64.cos(), 1.3 * 0.4_f64.sin()]];
    for (x, exact) in points.iter().zip(exact) {
        let (value, gradient) = by::<CurryClosures<Array>>(x);
        assert_eq!(higher::run_of(cases(), x), tensor(value));
        close("closures", &case_numbers(&gradient), &exact, 1e-14);
        assert_eq!(by::<CurryLists<Array>>(x), (value, gradient.clone()));
        assert_eq!(by::<Reverse<Run<Array>>>(x), (value, gradient.clone()));
        assert!(matches!((x, &gradient), (Sided::Left(_), Sided::Left(_)) | (Sided::Right(_), Sided::Right(_))));
    }
}

#[test]
fn sums_as_results() {
    let x: Case = Sided::Left(tensor(0.7));
    let (y, pullback) = higher::vjp_of(crossed::<CurryClosures<Array>>(), &x);
    assert_eq!(y, Sided::Left((tensor(0.7 * 0.7), tensor(0.7_f64.sin()))));
    let found = pullback(&Sided::Left((tensor(10.0), tensor(2.0))));
    close("left", &case_numbers(&found), &[14.0 + 2.0 * 0.7_f64.cos()], 1e-14);
    let wrong = refused(|| pullback(&Sided::Right(tensor(1.0))));
    assert!(wrong.contains("must have the cases and the lengths of its value"), "{wrong}");
    let x: Case = Sided::Right((tensor(2.0), tensor(3.0)));
    let (y, pullback) = higher::vjp_of(crossed::<Reverse<Run<Array>>>(), &x);
    assert_eq!(y, Sided::Right(tensor(8.0)));
    assert_eq!(pullback(&Sided::Right(tensor(10.0))), Sided::Right((tensor(40.0), tensor(20.0))));
}

type Rnn = ((Tensor<Array, 2>, Tensor<Array, 2>), (Tensor<Array, 1>, Vec<Tensor<Array, 1>>));

/// The cotangent of a list has as many elements as the list.
#[test]
fn recurrent_networks_of_lists() {
    fn by<C: Backward<Array>>(x: &Rnn, ct: &Tensor<Array, 1>) -> Vec<f64> {
        let (_, pullback) = higher::vjp_of(run_rnn::<C>(), x);
        flat(&pullback(ct))
    }
    fn flat(x: &Rnn) -> Vec<f64> {
        let list = x.1.1.iter().flat_map(numbers);
        [numbers(&x.0), numbers(&x.1.0), list.collect()].concat()
    }
    let params = (tensor([[0.4, -0.3], [0.2, 0.8]]), tensor([[1.1, 0.1, -0.5], [0.3, -0.7, 0.2]]));
    let elements = [tensor([0.5, -0.2, 1.0]), tensor([0.1, 0.9, -0.4]), tensor([-1.2, 0.3, 0.6])];
    let ct = tensor([1.0, -2.0]);
    for n in 0..=3 {
        let x: Rnn = (params.clone(), (tensor([0.3, -0.6]), elements[..n].to_vec()));
        let found = by::<CurryClosures<Array>>(&x, &ct);
        assert_eq!(found.len(), 4 + 6 + 2 + 3 * n);
        close("lists of calls", &by::<CurryLists<Array>>(&x, &ct), &found, 1e-13);
        close("CHAD", &by::<Reverse<Run<Array>>>(&x, &ct), &found, 1e-13);
        let h = 1e-6;
        let at = |by: f64| {
            let list = x.1.1.iter().map(|x| moved(x, by).1).collect();
            let there: Rnn = (moved(&x.0, by).1, (moved(&x.1.0, by).1, list));
            let y = numbers(&higher::run_of(run_rnn(), &there));
            y[0] - 2.0 * y[1]
        };
        let list = x.1.1.iter().flat_map(|x| numbers(&moved(x, 0.0).0));
        let direction = [numbers(&moved(&x.0, 0.0).0), numbers(&moved(&x.1.0, 0.0).0), list.collect()].concat();
        let along: f64 = found.iter().zip(direction).map(|(g, d)| g * d).sum();
        close("differences", &[(at(h) - at(-h)) / (2.0 * h)], &[along], 1e-7);
    }
}

#[test]
fn lists_as_results() {
    let list = |x: &[f64]| x.iter().map(|x| tensor(*x)).collect::<Vec<Number>>();
    let x = list(&[1.0, 2.0, 3.0]);
    let (y, pullback) = higher::vjp_of(but_last::<CurryClosures<Array>>(), &x);
    assert_eq!(y, list(&[1.0, 4.0]));
    assert_eq!(pullback(&list(&[10.0, 100.0])), list(&[20.0, 400.0, 0.0]));
    let wrong = refused(|| pullback(&list(&[1.0])));
    assert!(wrong.contains("must have the cases and the lengths of its value"), "{wrong}");
    // A list of 10^4 elements neither recurses when it is given, nor when its cotangent is read.
    let long = list(&vec![0.5; 10_000]);
    let (y, pullback) = higher::vjp_of(but_last::<CurryClosures<Array>>(), &long);
    assert_eq!((y.len(), pullback(&y).len()), (9_999, 10_000));
}

/// Cotangents of a point are a commutative monoid, and a pullback is a homomorphism of it.
#[test]
fn cotangents_of_lists_are_a_monoid() {
    let list = |x: &[f64]| x.iter().map(|x| tensor(*x)).collect::<Vec<Number>>();
    let x = list(&[0.3, -1.2, 0.5, 2.0]);
    let (_, pullback) = higher::vjp_of(but_last::<Reverse<Run<Array>>>(), &x);
    let plus = |a: &[Number], b: &[Number]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<Number>>();
    let (a, b, zero) = (list(&[1.0, 2.0, -3.0]), list(&[0.5, 0.25, 4.0]), list(&[0.0; 3]));
    assert_eq!(pullback(&zero), list(&[0.0; 4]));
    let (sum, parts) = (pullback(&plus(&a, &b)), plus(&pullback(&a), &pullback(&b)));
    sum.iter().zip(&parts).for_each(|(a, b)| close("sum", &[a.item()], &[b.item()], 1e-15));
    assert_eq!(plus(&a, &zero), a);
    assert_eq!(plus(&a, &b), plus(&b, &a));
}

/// The equations of products, sums and the unit, for pullbacks: a case or a part gets what belongs to it, the others zero.
#[test]
fn injections_projections_and_units() {
    fn check<C: Backward<Array>>() {
        let ct = tensor(10.0);
        // `[inl, inr] . inl = inl`, and its pullback is the identity.
        let inject = fun1::<C, Real, Sum<Real, Real>>(|x| inl(x.at()));
        let two = tensor(2.0);
        let (y, back) = higher::vjp_of::<C, Real, Sum<Real, Real>, Array>(inject, &two);
        assert_eq!((y, back(&Sided::Left(ct.clone()))), (Sided::Left(tensor(2.0)), ct.clone()));
        // A case that forgets what is in it pulls back to zero of that case.
        let forget = fun1::<C, Sum<Real, Real>, Real>(|s| case(s.at(), |_| num(3.0), |x| x.at()));
        let (_, gradient) = higher::value_and_grad_of::<C, Sum<Real, Real>, Array>(forget, &Sided::Left(tensor(7.0)));
        assert_eq!(gradient, Sided::Left(tensor(0.0)));
        // Projections.
        let first = fun1::<C, Prod<Real, Sum<Unit, Real>>, Real>(|p| p.at().fst());
        let at = (tensor(1.0), Sided::Right(tensor(5.0)));
        let (_, gradient) = higher::value_and_grad_of::<C, Prod<Real, Sum<Unit, Real>>, Array>(first, &at);
        assert_eq!(gradient, (tensor(1.0), Sided::Right(tensor(0.0))));
        // The unit has one cotangent.
        let constant = fun1::<C, Sum<Unit, Real>, Real>(|s| case(s.at(), |_| num(4.0), |x| x.at() * x.at()));
        let (y, gradient) = higher::value_and_grad_of::<C, Sum<Unit, Real>, Array>(constant, &Sided::Left(()));
        assert_eq!((y, gradient), (tensor(4.0), Sided::Left(())));
    }
    check::<CurryClosures<Array>>();
    check::<CurryLists<Array>>();
    check::<Reverse<Run<Array>>>();
}

/// For tensors and pairs, the verbs are those without sums.
#[test]
fn values_without_cases() {
    fn product<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
        fun2(|x, y| x.at() * y.at().sin())
    }
    let x = (tensor(2.0), tensor(0.3));
    assert_eq!(higher::grad_of(product(), &x).leaves(), higher::grad(product(), &x).leaves());
}
