//! Derivatives as terms: programs that differentiate functions of their own, with known answers, at every instance.
//!
//! "The Differentiable Curry", section 7, conjectures that perturbations are not confused where `vjp` returns no tangents
//! of environments. The programs here are those that confuse perturbations elsewhere.

use polygrad::ops::Binary;
use polygrad::program::{Program, Term, interpret};
use polygrad::tree::Tree;
use polygrad::{Array, direct, tensor};
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Reverse, Run, Syntax};
use polygrad_higher::primitive::{Pointwise2, Recorded, Replicate, SumAll};
use polygrad_higher::{
    self as higher, Differential, Expr, Fun, Int, Matrix, Obj, Prod, Real, Vector, case, fix, fun1, fun2, fun3, if_,
    inl, inr, iterate, lam, let_, map, num, tup, unit,
};

use super::agree::{agree, close, instances, moved, numbers};
use super::both::everywhere;
use super::random::{Random, program, seeds};
use crate::nested;

type Single = fn(f64) -> f64;

/// A program of one number, with its value and its first two derivatives.
struct Known {
    name: &'static str,
    value: Single,
    first: Single,
    second: Single,
}

/// `x (d/dy (x + y)) at y = 1`: confused perturbations give `2 x`.
fn added<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| x.at() * lam(|y| x.at() + y.at()).grad().app(num(1.0)))
}

/// `x (d/dy (x y)) at y = 2`: `x^2`.
fn scaled<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| x.at() * lam(|y| x.at() * y.at()).grad().app(num(2.0)))
}

/// `d/dz (z (d/dy (z x y^2) at y = z)) at z = x`, where `z (2 z x z) = 2 x z^3`: `6 x^3`.
fn inner_of_both<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| lam(|z| z.at() * lam(|y| z.at() * x.at() * y.at() * y.at()).grad().app(z.at())).grad().app(x.at()))
}

/// A function that captures `x` is differentiated within a function that it does not capture: `d/dz (g' z z)`, where
/// `g y = x y`: `x`.
fn captured<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| let_(lam(|y| x.at() * y.at()), |g| lam(|z| g.at().grad().app(z.at()) * z.at()).grad().app(x.at())))
}

/// The pullback of one function runs within the derivative of another: `d/dy (2 x y^2)` at `y = x`: `4 x^2`.
fn pullback_inside<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| lam(|y| lam(|z| z.at() * y.at() * z.at()).vjp().app(x.at()).snd().app(y.at())).grad().app(x.at()))
}

/// A pullback outlives the program that made it, and is differentiated in its cotangent: `d/dc (c 3 x^2)`.
fn of_cotangent<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| {
        let_(lam(|z| z.at() * z.at() * z.at()).vjp().app(x.at()).snd(), |pull| {
            lam(|c| pull.at().app(c.at())).grad().app(num(1.0))
        })
    })
}

/// A function of functions differentiates its argument twice: `\f. grad (grad f)` of `sin (x z)` at `x`:
/// `-x^2 sin x^2`.
fn twice<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| {
        let_(lam::<C, _, Fun<Real, Real>, _>(|f| f.at().grad().grad()), |second| {
            second.at().app(lam(|z| (x.at() * z.at()).sin())).app(x.at())
        })
    })
}

/// The derivative along the derivative: `jvp` of `vjp`, `z^4` at `x`, along `x`: `12 x^3`.
fn forward_over_reverse<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| let_(lam(|z| z.at() * z.at() * z.at() * z.at()), |f| f.at().grad().jvp().app(tup(x.at(), x.at())).snd()))
}

/// The derivative of the derivative along: `vjp` of `jvp`, of `z^3` along `z`: `d/dz (3 z^3)`, `9 x^2`.
fn reverse_over_forward<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| lam(|z| lam(|w| w.at() * w.at() * w.at()).jvp().app(tup(z.at(), z.at())).snd()).grad().app(x.at()))
}

/// `s u f x = f (x + u)`, whose derivative in `u` at 0, applied twice, confuses perturbations where the level of a
/// derivative outlives it (Manzyuk et al., 2019): `f''`, for `f = exp`.
fn shifted_twice<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| {
        let shifted =
            lam::<C, _, Fun<Real, Real>, _>(|f| lam(|y| lam(|u| f.at().app(y.at() + u.at())).grad().app(num(0.0))));
        let_(shifted, |d| d.at().app(d.at().app(lam(|z| z.at().exp()))).app(x.at()))
    })
}

/// A derivative within a recursion: `x`, differentiated away: `f_n z = z f_(n-1)' z`, `f_0 z = z^3`, so that
/// `f_1 = 3 z^3`, `f_2 = 9 z^3`.
fn recursive<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| {
        let function = fix::<C, _, Real, Fun<Real, Real>>(|own, n| {
            if_(
                n.at().less(num(0.5)),
                || lam(|z| z.at() * z.at() * z.at()),
                || lam(|z| z.at() * own.at().app(n.at() - 1.0).grad().app(z.at())),
            )
        });
        let_(function, |f| f.at().app(num(2.0)).app(x.at()))
    })
}

/// A loop over an array in a function that is differentiated, which captures a number of an outer level, and one within
/// the loop: the sum over `t` of `(d/dw (w^2 x t)) x` at `w = x`: `2 x^3 (1 + 2 + 3)`.
fn loops<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| {
        let ts = || higher::constant(tensor([1.0, 2.0, 3.0]));
        lam(|w| map(lam(|t| w.at() * w.at() * x.at() * t.at() * x.at()), ts()).sum()).grad().app(x.at())
    })
}

/// A derivative in each trip of a loop, and a fold whose step captures a number of another level: `s <- s + d/dw (w^2 t x)
/// at w = s`, from `s = x`: factors `1 + 2 t x`.
fn folded<C: Differential>() -> Expr<C, Real, Real> {
    fun1(|x| {
        let ts = higher::constant(tensor([1.0, 2.0]));
        ts.fold(
            x.at(),
            lam(|at| at.at().fst() + lam(|w| w.at() * w.at() * at.at().snd() * x.at()).grad().app(at.at().fst())),
        )
    })
}

macro_rules! known {
    ($($program:ident: $value:expr, $first:expr, $second:expr;)*) => {
        const KNOWN: &[Known] = &[$(
            Known { name: stringify!($program), value: $value, first: $first, second: $second },
        )*];

        /// Value, gradient and second derivative of each program by every instance.
        #[test]
        fn known_answers() {
            let mut known = KNOWN.iter();
            $({
                let known = known.next().expect("a row");
                let (program, of_first) = (everywhere($program()), everywhere(first($program)));
                let of_second = everywhere(second($program));
                for x in [0.7, -1.3] {
                    let at = tensor(x);
                    answers(
                        known,
                        x,
                        &[
                            ("closures", higher::value_and_grad(program.at(), &at)),
                            ("lists", higher::value_and_grad_by(program.at::<CurryLists<Array>, _>(), &at)),
                            ("CHAD", higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &at)),
                            ("forward CHAD", higher::jvp(program.at(), &at, &tensor(1.0))),
                            ("term", (higher::run(program.at(), &at), higher::run(of_first.at(), &at))),
                        ],
                        &[
                            ("closures along", higher::hvp(program.at(), &at, &tensor(1.0)).1),
                            ("term of term", higher::run(of_second.at(), &at)),
                            ("closures of term", higher::grad(of_first.at(), &at)),
                            ("CHAD of term", higher::value_and_grad_by::<Reverse<Run<Array>>, _, _>(of_first.at(), &at).1),
                            ("lists of term", higher::value_and_grad_by::<CurryLists<Array>, _, _>(of_first.at(), &at).1),
                            ("forward CHAD of term", higher::jvp(of_first.at(), &at, &tensor(1.0)).1),
                        ],
                    );
                }
            })*
        }

        /// The recorded programs of value and gradient.
        #[test]
        fn recorded() {
            let x = 0.7;
            let mut known = KNOWN.iter();
            $({
                let row = known.next().expect("a row");
                let inputs = || vec![Array::scalar(x)];
                let value = interpret(&higher::stage(everywhere($program()).at(), &tensor(x)), inputs());
                let number = |a: &Array| a.item::<f64>().expect("a number");
                close(row.name, &[number(&value[0])], &[(row.value)(x)], 1e-12);
                for staged in [
                    higher::stage_grad(everywhere($program()).at(), &tensor(x)),
                    higher::stage_grad_by(everywhere($program()).at::<Reverse<Run<Term>>, _>(), &tensor(x)),
                    higher::stage(everywhere(tup_of($program)).at(), &tensor(x)),
                ] {
                    let found = interpret(&staged, inputs());
                    close(row.name, &[number(&found[0]), number(&found[1])], &[(row.value)(x), (row.first)(x)], 1e-12);
                }
            })*
        }

        /// The texts, run, and simplified and run.
        #[test]
        fn texts() {
            let x = 0.7;
            let mut known = KNOWN.iter();
            $({
                let row = known.next().expect("a row");
                let term = everywhere($program()).at::<Syntax, _>().hom().term();
                for term in [term.simplify(), term] {
                    let found = term.run::<Real>(&[Array::scalar(x)]);
                    close(row.name, &[found[0].item::<f64>().expect("a number")], &[(row.value)(x)], 1e-12);
                }
            })*
        }
    };
}

known! {
    added: |x| x, |_| 1.0, |_| 0.0;
    scaled: |x| x * x, |x| 2.0 * x, |_| 2.0;
    inner_of_both: |x| 6.0 * x.powi(3), |x| 18.0 * x * x, |x| 36.0 * x;
    captured: |x| x, |_| 1.0, |_| 0.0;
    pullback_inside: |x| 4.0 * x * x, |x| 8.0 * x, |_| 8.0;
    of_cotangent: |x| 3.0 * x * x, |x| 6.0 * x, |_| 6.0;
    twice: |x| -x * x * (x * x).sin(),
        |x| -2.0 * x * (x * x).sin() - 2.0 * x.powi(3) * (x * x).cos(),
        |x| (4.0 * x.powi(4) - 2.0) * (x * x).sin() - 10.0 * x * x * (x * x).cos();
    forward_over_reverse: |x| 12.0 * x.powi(3), |x| 36.0 * x * x, |x| 72.0 * x;
    reverse_over_forward: |x| 9.0 * x * x, |x| 18.0 * x, |_| 18.0;
    shifted_twice: f64::exp, f64::exp, f64::exp;
    recursive: |x| 9.0 * x.powi(3), |x| 27.0 * x * x, |x| 54.0 * x;
    loops: |x| 12.0 * x.powi(3), |x| 36.0 * x * x, |x| 72.0 * x;
    folded: |x| x * (1.0 + 2.0 * x) * (1.0 + 4.0 * x),
        |x| 1.0 + 12.0 * x + 24.0 * x * x,
        |x| 12.0 + 48.0 * x;
}

/// The derivative of a program, as a term.
fn first<C: Differential>(program: fn() -> Expr<C, Real, Real>) -> Expr<C, Real, Real> {
    fun1(|x| function(program()).grad().app(x.at()))
}

/// The second derivative of a program, as a term.
fn second<C: Differential>(program: fn() -> Expr<C, Real, Real>) -> Expr<C, Real, Real> {
    fun1(|x| function(program()).grad().grad().app(x.at()))
}

/// The value and the derivative of a program, as a term.
fn tup_of<C: Differential>(program: fn() -> Expr<C, Real, Real>) -> Expr<C, Real, Prod<Real, Real>> {
    fun1(|x| let_(function(program()).vjp().app(x.at()), |both| tup(both.at().fst(), both.at().snd().app(num(1.0)))))
}

/// A program as a function, in any context.
fn function<C: Differential, G: Obj, A: Obj, B: Obj>(program: Expr<C, A, B>) -> Expr<C, G, Fun<A, B>> {
    lam(|x| program.call(x.at()))
}

fn answers(
    known: &Known,
    x: f64,
    first: &[(&str, (polygrad::Tensor<Array, 0>, polygrad::Tensor<Array, 0>))],
    second: &[(&str, polygrad::Tensor<Array, 0>)],
) {
    for (instance, (value, gradient)) in first {
        close(&format!("{} by {instance}", known.name), &[value.item()], &[(known.value)(x)], 1e-12);
        close(&format!("{}' by {instance}", known.name), &[gradient.item()], &[(known.first)(x)], 1e-12);
    }
    for (instance, found) in second {
        close(&format!("{}'' by {instance}", known.name), &[found.item()], &[(known.second)(x)], 1e-11);
    }
}

/// A learner that takes its model as an argument: one step of gradient descent on the first data, from weights that are
/// learned themselves, then the loss on the second data.
fn meta_learner<C: Differential>() -> Expr<C, Prod<Prod<Vector, Matrix>, Prod<Vector, Vector>>, Real> {
    fun3(|weights, xs, targets| {
        let learn = lam::<C, _, Fun<Vector, Real>, Fun<Vector, Vector>>(|loss| {
            lam(|w| w.at() - loss.at().grad().app(w.at()) * higher::constant(tensor([0.1, 0.1])))
        });
        let loss = lam::<C, _, Vector, Fun<Vector, Real>>(|target| {
            lam(|w| let_((xs.at().matvec(w.at())).tanh() - target.at(), |error| (error.at() * error.at()).sum()))
        });
        let_(loss, |loss| {
            let_(learn, |learn| {
                let first = loss.at().app(targets.at().fst());
                let learned = learn.at().app(first).app(weights.at());
                loss.at().app(targets.at().snd()).app(learned)
            })
        })
    })
}

/// Newton's method for any residual: the solver asks for the derivative of the function that it takes. Its end depends on
/// the values.
fn solved<C: Differential>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|a, b| {
        let newton = lam::<C, _, Fun<Real, Real>, _>(|residual| {
            iterate(num(1.0), |x| {
                let_(residual.at().app(x.at()), |r| {
                    if_(
                        (r.at() * r.at()).less(num(1e-28)),
                        || inr(x.at()),
                        || inl(x.at() - r.at() / residual.at().grad().app(x.at())),
                    )
                })
            })
        });
        let_(newton, |newton| newton.at().app(lam(|x| x.at() * x.at() * x.at() + b.at() * x.at() - a.at())))
    })
}

/// The residual of the solver is chosen by a condition on the input, which no trace knows.
fn chosen_model<C: Differential>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|x, y| {
        let model = if_::<C, _, Fun<Real, Real>>(
            x.at().less(y.at()),
            || lam(|z| z.at() * z.at() * y.at()),
            || lam(|z| (z.at() * x.at()).sin()),
        );
        let_(model, |model| model.at().grad().app(x.at()) * model.at().app(y.at()))
    })
}

/// The condition depends on the number in which the function is differentiated.
fn condition_inside<C: Differential>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|x, y| {
        let bend = lam(|z| if_(z.at().less(x.at()), || z.at() * z.at() * x.at(), || (z.at() * y.at()).exp()));
        let_(bend, |bend| bend.at().grad().app(y.at()) + bend.at().grad().app(x.at() * 2.0))
    })
}

/// A function is differentiated that captures a value of a sum, and a function.
fn captures_cases<C: Differential>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|x, y| {
        let_(inl::<C, _, Prod<Real, Real>, Real>(tup(x.at(), y.at())), |sum| {
            let_(lam(|z| z.at() * x.at()), |g| {
                lam(|z| {
                    case(
                        sum.at(),
                        |both| g.at().app(z.at() * z.at()) * both.at().fst() * both.at().snd(),
                        |one| one.at() * z.at(),
                    )
                })
                .grad()
                .app(y.at())
            })
        })
    })
}

/// A function that maps a captured function over an array that it computes.
fn maps_captured<C: Differential>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|xs, y| {
        let_(lam(|z| (z.at() * y.at()).sin()), |g| {
            lam(|w| map(g.at(), xs.at() * w.at().replicate(3)).sum()).grad().app(y.at())
        })
    })
}

/// Arguments with integers, which have no cotangents.
fn integers<C: Differential>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|xs, y| {
        let read = lam::<C, _, Prod<Vector, Int>, Real>(|at| {
            let_(at.at().fst().gather(at.at().snd()), |x| x.at() * x.at() * y.at())
        });
        let_(read, |read| {
            let at = || tup(xs.at(), higher::constant(tensor(1_i64)));
            let pulled = read.at().vjp().app(at()).snd().app(y.at()).fst();
            let tangent = tup(xs.at(), unit());
            pulled.sum() + read.at().jvp().app(tup(at(), tangent)).snd()
        })
    })
}

/// A recorded program with a loop is an operation of a function that is differentiated.
fn loop_in_an_operation<C: Differential>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|xs, y| {
        let looped = || Recorded::<Prod<Prod<Real, Real>, Vector>, Real>::new(recorded_fold());
        let f = lam(|z| higher::apply(looped(), tup(tup(z.at(), y.at()), xs.at())) * y.at());
        let_(f, |f| f.at().grad().app(y.at()) + f.at().vjp().app(y.at() * 2.0).snd().app(y.at()))
    })
}

/// `h <- h x + sin(a h)` over the elements, in a loop.
fn recorded_fold() -> Program {
    fn fold<C: Differential>() -> Expr<C, Prod<Prod<Real, Real>, Vector>, Real> {
        fun3(|a, h, xs| xs.at().fold(h.at(), lam(|at| at.at().fst() * at.at().snd() + (a.at() * at.at().fst()).sin())))
    }
    higher::stage(fold(), &((tensor(0.0), tensor(0.0)), tensor([0.0; 3])))
}

agree! { an_operation_with_a_loop: nested::loop_in_an_operation at (tensor([0.3, -0.5, 0.8]), tensor(0.9)), traced true }
agree! { a_meta_learner: nested::meta_learner at (
    (tensor([0.3, -0.2]), tensor([[1.0, 0.5], [-0.3, 0.8], [0.2, 0.9]])),
    (tensor([0.4, 0.6, -0.1]), tensor([0.1, -0.1, 0.7])),
), traced true }
agree! { a_solver: nested::solved at (tensor(1.7), tensor(0.9)), traced false }
agree! { a_chosen_model: nested::chosen_model at (tensor(0.7), tensor(0.9)), traced true }
agree! { another_chosen_model: nested::chosen_model at (tensor(1.7), tensor(0.9)), traced true }
agree! { a_condition_inside: nested::condition_inside at (tensor(0.7), tensor(0.9)), traced true }
agree! { cases_in_the_context: nested::captures_cases at (tensor(0.7), tensor(0.9)), traced true }
agree! { a_function_that_is_mapped: nested::maps_captured at (tensor([0.3, -0.5, 0.8]), tensor(0.9)), traced true }
agree! { arguments_with_integers: nested::integers at (tensor([0.3, -0.5, 0.8]), tensor(0.9)), traced true }

/// The derivative of the root of `x^3 + b x = a` in `a`, by Newton's method: `1 / (3 x^2 + b)`.
#[test]
fn a_solution_has_the_derivative_of_its_equation() {
    let x = (tensor(1.7), tensor(0.9));
    let (root, (by_a, by_b)) = higher::value_and_grad(solved(), &x);
    let (r, slope) = (root.item(), 3.0 * root.item() * root.item() + 0.9);
    close("root", &[r.powi(3) + 0.9 * r], &[1.7], 1e-14);
    close("its derivatives", &[by_a.item(), by_b.item()], &[1.0 / slope, -r / slope], 1e-12);
}

type Two = Prod<Real, Real>;

/// A random program in which functions are differentiated, to the given depth.
fn differentiated<C: Differential>(random: &mut Random, size: u32, depth: u32) -> C::Hom<Two, Real> {
    if depth == 0 || random.below(5) == 0 {
        return program::<C>(random, size);
    }
    let depth = depth - 1;
    // The function captures one number, and sees its argument beside it.
    let captured = if random.below(2) == 0 { C::fst() } else { C::snd() };
    let seen = C::pair(C::then(C::fst(), captured), C::snd());
    let f = C::curry(C::then(seen, differentiated::<C>(random, size, depth)));
    let at = program::<C>(random, size - 1);
    let direction = program::<C>(random, size - 1);
    let found = match random.below(4) {
        0 => {
            let along = C::then(C::pair(f, C::pair(at, direction)), C::jvp::<Real, Real>());
            C::then(along, C::prim(Pointwise2::<0>(Binary::Mul)))
        }
        1 => {
            // The value, and the pullback called twice.
            let both = C::then(C::pair(f, at), C::vjp::<Real, Real>());
            let call = C::then(C::pair(C::snd(), C::then(C::pair(C::snd(), C::fst()), C::eval())), C::eval());
            C::then(C::then(both, C::pair(C::fst(), call)), C::prim(Pointwise2::<0>(Binary::Add)))
        }
        2 => {
            // The derivative at each element of an array.
            let slope = C::then(C::pair(C::then(C::fst(), f), C::snd()), C::vjp::<Real, Real>());
            let pulled = C::then(C::pair(C::then(slope, C::snd()), C::snd()), C::eval());
            let each = C::then(C::pair(C::curry(pulled), C::then(at, C::prim(Replicate(2)))), C::map::<Real, Real>());
            C::then(each, C::prim(SumAll::<1>))
        }
        _ => {
            let pulled = C::then(C::then(C::pair(f, at), C::vjp::<Real, Real>()), C::snd());
            C::then(C::pair(pulled, direction), C::eval())
        }
    };
    if random.below(2) == 0 {
        return found;
    }
    let other = differentiated::<C>(random, size, depth);
    C::then(C::pair(found, other), C::prim(Pointwise2::<0>(Binary::Mul)))
}

fn at<C: Differential>(seed: u64) -> Expr<C, Two, Real> {
    Expr::of(differentiated::<C>(&mut Random::new(seed), 2, 2))
}

/// The gradient of a random program, as a term.
fn gradient<C: Differential>(seed: u64) -> Expr<C, Two, Two> {
    fun1(|x| function(at(seed)).grad().app(x.at()))
}

/// Values, gradients and second derivatives of random programs with derivatives of their functions.
#[test]
fn random_programs_with_derivatives() {
    let x = (tensor(0.7), tensor(-0.4));
    let (direction, _) = moved(&x, 0.0);
    for seed in seeds(8) {
        let say = |what: &str| format!("{what}, program {seed}");
        let (program, of_first) = (everywhere(at(seed)), everywhere(gradient(seed)));
        let value = higher::run::<_, _, Array>(program.at(), &x);
        let expected = numbers(&direct::grad(|x| higher::run(program.at(), x), &x));
        let bound = 1e-10 * expected.iter().fold(1.0, |most: f64, g| most.max(g.abs()));
        for (what, (y, found)) in [
            ("CHAD", higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &x)),
            ("lists", higher::value_and_grad_by(program.at::<CurryLists<Array>, _>(), &x)),
            ("closures", higher::value_and_grad_by(program.at::<CurryClosures<Array>, _>(), &x)),
            ("term", (value.clone(), higher::run(of_first.at(), &x))),
        ] {
            close(&say("value"), &[y.item()], &[value.item()], 1e-12);
            close(&say(what), &numbers(&found), &expected, bound);
        }
        let along: f64 = expected.iter().zip(numbers(&direction)).map(|(g, d)| g * d).sum();
        let (_, tangent) = higher::jvp(program.at(), &x, &direction);
        close(&say("forward"), &[tangent.item()], &[along], bound);
        if seed % 4 == 0 {
            let (_, second) = higher::hvp(program.at(), &x, &direction);
            // The Hessian is symmetric.
            let of_term = higher::vjp(of_first.at(), &x).1(&direction);
            close(&say("second derivatives"), &numbers(&second), &numbers(&of_term), 1e-8);
            let staged =
                interpret(&higher::stage_grad(program.at(), &x), vec![Array::scalar(0.7), Array::scalar(-0.4)]);
            let found: Vec<f64> = staged.iter().map(|t| t.item::<f64>().unwrap()).collect();
            close(&say("staged"), &found, &[vec![value.item()], expected].concat(), bound);
        }
    }
}

#[test]
fn texts_show_derivatives() {
    let text = captured::<Syntax>().hom().term().simplify().to_string();
    let expected = r"
\x ->
  snd (vjp (\t1 -> snd (vjp (\t2 -> x * t2) t1) 1.0 * t1) x) 1.0";
    assert_eq!(text, expected.trim_start());
    let text = forward_over_reverse::<Syntax>().hom().term().simplify().to_string();
    let expected = r"
\x ->
  snd (jvp (\t1 -> snd (vjp (\t2 -> t2 * t2 * t2 * t2) t1) 1.0) x x)";
    assert_eq!(text, expected.trim_start());
}
