//! `check_gradient`: right derivatives pass, at every scale; wrong ones are found, and the worst entry is named.

use std::sync::Arc;

use polygrad::array::Rng;
use polygrad::ops::{Binary, Unary};
use polygrad::program::{Custom, Term};
use polygrad::tree::Keep;
use polygrad::{
    Array, BaseTensor, Checked, Concrete, DType, GradientCheck, GradientError, Tensor, assert_gradient, check_gradient,
    check_gradient_with, custom_jvp, custom_vjp, fold, grad, tensor,
};

use crate::panics::caught;

/// A square whose rule for tangents has a factor.
fn scaled_square<T: BaseTensor, const D: usize>(x: &Tensor<T, D>, factor: f64) -> Tensor<T, D> {
    custom_jvp("square", |x: &Tensor<_, D>| x.square(), move |x, _, x_dot| x * x_dot * (2.0 * factor), x)
}

#[test]
fn right_derivatives_pass() -> Result<(), GradientError> {
    let mut rng = Rng::new(3);
    let matrix: Tensor<Concrete, 2> = Tensor::constant(rng.normal(&[3, 4], 0.0, 1.0));
    let x = (tensor([0.5, -1.0, 2.0, 0.1]), matrix, vec![tensor(2.0)], Keep("name"), tensor([3, 1]));
    check_gradient(
        |(v, m, s, _, ix)| {
            let y = m.matvec(v).tanh() * s[0].exp();
            let z = fold(Tensor::scalar(1.0), v, |c, v| c.sin() + v.square());
            y.logsumexp() + z * v.take(ix).prod()
        },
        &x,
    )?;
    check_gradient_with(|w, d| (w - d).square().mean(), &tensor([1.0, 2.0]), &tensor([0.5, 0.25]))?;
    // A gradient is a function, too.
    check_gradient(|x| grad(|x| (x.sin() * x).sum(), x).square().sum(), &tensor([0.3, 1.2]))
}

#[test]
fn steps_follow_the_scale_of_the_entries() {
    for scale in [1e-150, 1e-9, 1.0, 1e9, 1e150] {
        let x = (tensor([0.5 * scale, 2.0 * scale]), tensor([0.0, 1.0]), tensor([0.0]));
        assert_gradient(|(a, b, c)| (a / scale).square().sum() + (b + 1.0).recip().sum() + c.exp().sum(), &x);
    }
    // Near the end of a domain: 1e-9 is small beside the other entry.
    assert_gradient(|x| x.ln().sum(), &tensor([1e-9, 3.0]));
    assert_gradient(|x| x.sqrt().sum(), &tensor([1e-4, 3.0]));
    assert_gradient(|x| x.powf(1.5).sum() + 1e6, &tensor([1.0, 3.0]));
    // A kink is near.
    assert_gradient(|x| (x - 1.0).relu().square().sum() + (x - 2.0).relu().sum(), &tensor([1.01, 2.001]));
}

#[test]
fn single_precision_has_a_wider_tolerance() {
    let x = tensor([0.5f32, 2.0, -3.0]);
    assert_gradient(|x| (x.sin() * x).sum(), &x);
    assert_gradient(|x| x.cast::<f64>().exp().sum(), &x);
    let wrong = check_gradient(|x| (x * x.stop_gradient()).sum(), &x).expect_err("half of the derivative");
    assert!(wrong.to_string().contains("at x[2] it is -3.0"), "{wrong}");
}

#[test]
fn the_worst_entry_is_named() {
    let x = (tensor([1.0, 2.0]), tensor([[0.5, -3.0], [1.5, 0.25]]));
    let wrong = check_gradient(|(a, m)| a.sum() * scaled_square(m, 1.5).sum(), &x).expect_err("a wrong factor");
    let GradientError::Slope { entry, gradient, slope, wrong: count, compared, .. } = &wrong else { panic!("{wrong}") };
    assert_eq!((entry.as_str(), *gradient, *count, *compared), ("x.1[0, 1]", -27.0, 4, 6));
    assert!((slope + 18.0).abs() < 1e-6, "{slope}");
    let sentence = wrong.to_string();
    let (before, after) = sentence.split_once("give ").expect("the slope is printed");
    assert_eq!(
        before,
        "check_gradient: the gradient must be the slope of the values, but at x.1[0, 1] it is -27.0 and finite differences "
    );
    assert!(
        after.ends_with(
            " (4 of 6 compared entries differ); fix the derivative rule, or move away from a kink, which inspect::kinks \
             names"
        ),
        "{after}"
    );
    assert_eq!(format!("{wrong:?}"), sentence);
    let seen = caught(|| assert_gradient(|x| scaled_square(x, 0.999).sum(), &tensor([1.0])));
    assert_eq!((seen.file.as_str(), seen.line), (file!(), line!() - 1));
    assert!(seen.message.starts_with("check_gradient: the gradient must be the slope"), "{}", seen.message);
}

#[test]
fn small_mistakes_are_found() {
    let x = tensor([0.3, 1.0, -2.0]);
    assert!(check_gradient(|x| scaled_square(x, 1.0 + 3e-6).sum(), &x).is_err());
    assert!(check_gradient(|x| scaled_square(x, 1.0 + 3e-7).sum(), &x).is_ok());
    let strict = GradientCheck { tolerance: Some(1e-8), ..GradientCheck::default() };
    assert!(strict.run(|x, _: &()| scaled_square(x, 1.0 + 3e-8).sum(), &x, &()).is_err());
    assert!(strict.run(|x, _: &()| x.exp().sum(), &x, &()).is_ok());
    // One of many entries, found along a direction.
    let many: Tensor<Concrete, 1> = Tensor::constant(Rng::new(5).normal(&[600], 0.0, 1.0));
    let some = GradientCheck { entries: 16, ..GradientCheck::default() };
    let one = |x: &Tensor<_, 1>| x.square().sum() - x.at([123]).square() + scaled_square(&x.at([123]), 1.5);
    let wrong = some.run(|x, _: &()| one(x), &many, &()).expect_err("one entry is wrong");
    assert!(wrong.to_string().contains("at x[123] it is"), "{wrong}");
    some.run(|x, _: &()| x.square().sum(), &many, &()).expect("the derivative is right");
}

#[test]
fn modes_that_differ_are_found() {
    // A function with two rules that do not fit each other.
    let twice = |x: &Term, dot: &Term| x.binary(Binary::Add, x).binary(Binary::Mul, dot);
    let rule = with_rules(&|x, dot| x.binary(Binary::Mul, dot), &twice);
    let f =
        |x: &Tensor<Checked, 1>| Tensor::<_, 1>::from_raw(Checked::custom(&rule, &[x.raw().clone()]).remove(0)).sum();
    let x = tensor([0.5, -1.0, 2.0]);
    let wrong = check_gradient(f, &x).expect_err("both modes differ");
    let GradientError::Modes { reverse, forward, .. } = wrong else { panic!("{wrong}") };
    assert_eq!(reverse, 2.0 * forward);
    let words = "check_gradient: both modes must give one derivative, but at x[";
    assert!(wrong.to_string().starts_with(words), "{wrong}");
    let reverse_alone = GradientCheck { forward: false, ..GradientCheck::default() };
    reverse_alone.run(|x, _: &()| f(x), &x, &()).expect("the rule for cotangents is right");
}

/// A function with a rule for each mode, which computes `x^2`.
fn with_rules(jvp: &dyn Fn(&Term, &Term) -> Term, vjp: &dyn Fn(&Term, &Term) -> Term) -> Arc<Custom> {
    let [x, y, dot] = [(); 3].map(|()| Term::variable(&[3], DType::F64));
    let primal = Term::program(std::slice::from_ref(&x), &[x.unary(Unary::Square)], &[]).expect("a program");
    let inputs = [x.clone(), y, dot.clone()];
    let [jvp, vjp] = [jvp, vjp].map(|rule| Some(Term::program(&inputs, &[rule(&x, &dot)], &[]).expect("a program")));
    Arc::new(Custom::new("square", primal, jvp, vjp).expect("rules that fit"))
}

#[test]
fn a_direction_whose_derivative_is_nan_leads_to_its_entry() {
    let twice = |x: &Term, dot: &Term| x.binary(Binary::Add, x).binary(Binary::Mul, dot);
    // Wrong in entry 0, and NaN in entry 2 for every tangent but 0.
    let nan = |x: &Term, dot: &Term| {
        let large = |numbers: [f64; 3]| Term::constant(Array::from(numbers));
        let huge = dot.binary(Binary::Mul, &large([0.0, 0.0, 1e308])).binary(Binary::Mul, &large([1.0, 1.0, 1e308]));
        let off = dot.binary(Binary::Mul, &large([1.0, 0.0, 0.0]));
        twice(x, dot).binary(Binary::Add, &off).binary(Binary::Add, &huge.binary(Binary::Sub, &huge))
    };
    let rule = with_rules(&nan, &twice);
    let f =
        |x: &Tensor<Checked, 1>| Tensor::<_, 1>::from_raw(Checked::custom(&rule, &[x.raw().clone()]).remove(0)).sum();
    let wrong = check_gradient(f, &tensor([0.5, -1.0, 2.0])).expect_err("both modes differ");
    let GradientError::Modes { entry, reverse, forward } = &wrong else { panic!("{wrong}") };
    assert_eq!((entry.as_str(), *reverse), ("x[2]", 4.0));
    assert!(forward.is_nan(), "{wrong}");
}

#[test]
fn what_is_not_finite_is_an_error() {
    let value = check_gradient(|x| x.ln().sum(), &tensor([-1.0])).expect_err("NaN");
    assert_eq!(
        value.to_string(),
        "check_gradient: values and derivatives must be finite, but the value is NaN; inspect::first_nan says where that comes from"
    );
    let slope = check_gradient(|x| x.sqrt().sum(), &tensor([1.0, 0.0])).expect_err("an infinite derivative");
    assert!(slope.to_string().contains("but the gradient at x[1] is inf;"), "{slope}");
    let edge = check_gradient(|x| x.gt(0.0).select(x.sqrt(), x.eq(0.0).select(x * 0.0, x.ln())).sum(), &tensor([0.0]));
    let edge = edge.expect_err("NaN below 0");
    assert!(edge.to_string().contains("but each value next to x[0] is NaN"), "{edge}");
}

#[test]
fn a_kink_is_reported_with_the_mean_of_both_slopes() {
    let wrong = check_gradient(|x| x.abs().sum() + x.relu().sum(), &tensor([0.0, 1.0])).expect_err("a kink");
    let GradientError::Slope { entry, slope, wrong, .. } = wrong else { panic!("{wrong}") };
    assert_eq!((entry.as_str(), wrong), ("x[0]", 1));
    assert!((slope - 0.5).abs() < 1e-9, "{slope}");
}

#[test]
fn rules_for_cotangents_alone_need_reverse_mode() {
    let x = tensor([0.5, 2.0]);
    let clipped =
        |x: &Tensor<_, 1>| custom_vjp("clip", |x: &Tensor<_, 1>| x * 1.0, |_, _, ct| ct.max(-10.0).min(10.0), x).sum();
    assert!(
        caught(|| check_gradient(clipped, &x).is_ok()).message.starts_with("custom_vjp: forward mode needs a rule")
    );
    let check = GradientCheck { forward: false, ..GradientCheck::default() };
    check.run(|x, _: &()| clipped(x), &x, &()).expect("the rule is right");
}
