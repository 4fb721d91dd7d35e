//! Levels of differentiation: nesting is right, and mixing is refused.

use polygrad::direct::{grad, jvp, value_and_grad_with, vjp};
use polygrad::program::Term;
use polygrad::tensor::tensor;
use polygrad::{ADVal, BaseTensor, Dual, Tensor};

type Scalar<T> = Tensor<T, 0>;

/// The derivative of a function of one number, in forward mode.
fn slope<T: BaseTensor>(f: impl Fn(&Scalar<Dual<T>>) -> Scalar<Dual<T>>, x: &Scalar<T>) -> Scalar<T> {
    jvp(f, x, &Tensor::scalar(1.0)).1
}

#[test]
fn perturbations_are_not_confused() {
    // d/dx (x * d/dy (x + y)) = d/dx (x * 1) = 1, with every choice of modes.
    let x = tensor(3.0);
    let one = tensor(1.0);
    fn y<T: BaseTensor>() -> Scalar<T> {
        Tensor::scalar(5.0)
    }
    assert_eq!(grad(|x: &Scalar<_>| x * grad(|y: &Scalar<_>| x.lift() + y, &y()), &x), one);
    assert_eq!(grad(|x: &Scalar<_>| x * slope(|y| x.lift() + y, &y()), &x), one);
    assert_eq!(slope(|x| x * grad(|y: &Scalar<_>| x.lift() + y, &y()), &x), one);
    assert_eq!(slope(|x| x * slope(|y| x.lift() + y, &y()), &x), one);
}

#[test]
fn inner_derivatives_at_outer_values() {
    // d/dx (x * d/dy (x y^2) at y = x) = d/dx (2 x^3) = 6 x^2.
    let x = tensor(3.0);
    let inner = tensor(54.0);
    assert_eq!(grad(|x: &Scalar<_>| x * grad(|y: &Scalar<_>| x.lift() * y * y, x), &x), inner);
    assert_eq!(grad(|x: &Scalar<_>| x * slope(|y| x.lift() * y * y, x), &x), inner);
    assert_eq!(slope(|x| x * grad(|y: &Scalar<_>| x.lift() * y * y, x), &x), inner);
    assert_eq!(slope(|x| x * slope(|y| x.lift() * y * y, x), &x), inner);
}

/// The derivative of a function of one number, in forward mode, of a plain verb.
fn plain_slope<T: BaseTensor>(f: impl Fn(&Scalar<Term>) -> Scalar<Term>, x: &Scalar<T>) -> Scalar<T> {
    polygrad::jvp(f, x, &Tensor::scalar(1.0)).1
}

/// The derivative of a function of one number, from the pullback of a plain verb.
fn pulled_slope<T: BaseTensor>(f: impl Fn(&Scalar<Term>) -> Scalar<Term>, x: &Scalar<T>) -> Scalar<T> {
    polygrad::vjp(f, x).1(&Tensor::scalar(1.0))
}

/// The laws above for the plain verbs, by themselves and within a staged function: each records the inner function,
/// which captures outer values, also the one at which the inner derivative is taken.
#[test]
fn plain_verbs_record_captured_values() {
    use polygrad::{Function, grad};
    let x = tensor(3.0);
    macro_rules! law {
        ($f:expr, $expected:expr) => {
            let expected = tensor($expected);
            assert_eq!(grad($f, &x), expected);
            let staged = Function::stage(|x: &Scalar<_>| grad($f, x), &x);
            assert_eq!(staged.run(&x), Ok(expected.clone()));
            assert_eq!(plain_slope($f, &x), expected);
            let staged = Function::stage(|x: &Scalar<_>| plain_slope($f, x), &x);
            assert_eq!(staged.run(&x), Ok(expected));
        };
    }
    fn y<T: BaseTensor>() -> Scalar<T> {
        Tensor::scalar(5.0)
    }
    law!(|x| x * grad(|y: &Scalar<_>| x.lift() + y, &y()), 1.0);
    law!(|x| x * plain_slope(|y| x.lift() + y, &y()), 1.0);
    law!(|x| x * pulled_slope(|y| x.lift() + y, &y()), 1.0);
    law!(|x| x * grad(|y: &Scalar<_>| x.lift() * y * y, x), 54.0);
    law!(|x| x * plain_slope(|y| x.lift() * y * y, x), 54.0);
    law!(|x| x * pulled_slope(|y| x.lift() * y * y, x), 54.0);
    // What an inner function captures may be a constant that is differentiated one level up: d/dx (x d/dk (k^2 d/dz (z
    // k))).
    law!(|x| x * grad(|k: &Scalar<_>| (x.lift() * k * k) * grad(|z: &Scalar<_>| z * k.lift(), &y()), &y()), 450.0);
    law!(|x| x * plain_slope(|k| (x.lift() * k * k) * plain_slope(|z| z * k.lift(), &y()), &y()), 450.0);
    law!(|x| x * pulled_slope(|k| (x.lift() * k * k) * pulled_slope(|z| z * k.lift(), &y()), &y()), 450.0);
    // Only the argument is differentiated, not the captured value that it equals.
    let once = |x: &Scalar<_>| grad(|y: &Scalar<_>| x.lift() * y, x);
    assert_eq!(Function::stage(|x: &Scalar<_>| once(x), &x).run(&x), Ok(tensor(3.0)));
    let twice = |x: &Scalar<_>| polygrad::hvp(|y: &Scalar<_>| x.lift() * y * y, x, x);
    assert_eq!(Function::stage(|x: &Scalar<_>| twice(x), &x).run(&x), Ok(tensor(18.0)));
}

/// Closures of recorded functions have one type, so a value of the outer one needs no `lift` in the inner one.
#[test]
fn recorded_functions_capture_values_as_they_are() {
    use polygrad::{Function, grad, hvp, jvp, taylor, vjp};
    let x = tensor(3.0);
    let one = || Tensor::scalar(1.0);
    type At = Scalar<Term>;
    let inner: [fn(&At) -> At; 5] = [
        |x| grad(|y| x * y * y, x),
        |x| vjp(|y: &At| x * y * y, x).1(&Tensor::scalar(1.0)),
        |x| jvp(|y: &At| x * y * y, x, &Tensor::scalar(1.0)).1,
        |x| taylor(|y: &At| x * y * y, x, &Tensor::scalar(1.0), 1).remove(1),
        |x| hvp(|y| x * y * y * y / 3.0, x, &Tensor::scalar(1.0)),
    ];
    for f in inner {
        // d/dx (x * 2 x^2) = 6 x^2, and its derivative 12 x.
        let outer = |x: &At| x * f(x);
        assert_eq!(grad(outer, &x), tensor(54.0));
        assert_eq!(jvp(outer, &x, &one()).1, tensor(54.0));
        assert_eq!(hvp(outer, &x, &one()), tensor(36.0));
        assert_eq!(Function::grad(outer, &x).run(&x), Ok(tensor(54.0)));
    }
}

/// A plain verb at dual numbers is recorded, with what it captures as further inputs: values of the dual numbers, terms
/// that depend on them, and values of a program around.
#[test]
fn values_of_dual_numbers_enter_recorded_functions() {
    use polygrad::Function;
    let x = tensor(0.7);
    // d/dx of sin x * d/dy (y^2 sin x) at y = x: f = 2 x sin^2 x.
    let expected = 2.0 * 0.7f64.sin().powi(2) + 4.0 * 0.7 * 0.7f64.sin() * 0.7f64.cos();
    fn f<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        let outside: Scalar<Term> = x.lift();
        let sine = outside.sin();
        polygrad::grad(|y| y * y * &sine, x) * x.sin()
    }
    let close = |y: &Scalar<polygrad::Concrete>| assert!((y.item() - expected).abs() < 1e-14, "{y}");
    close(&grad(f, &x));
    close(&slope(f, &x));
    close(&polygrad::grad(f, &x));
    // A value of the program around the dual numbers.
    let around =
        Function::stage(|k: &Scalar<Term>| grad(|x| polygrad::grad(|y| y * y * k * x.lift::<Term, _>(), x), k), &x);
    // d/dx (2 x^2 k) = 4 x k at x = k.
    assert_eq!(around.run(&x), Ok(tensor(4.0 * 0.7 * 0.7)));
}

#[test]
#[should_panic(expected = "stage: a result may depend only on the inputs")]
fn a_variable_that_leaves_its_function_is_caught() {
    let kept = std::cell::RefCell::new(None);
    let keep = |x: &Scalar<Term>| {
        let inner = polygrad::grad(
            |y: &Scalar<Term>| {
                kept.replace(Some(y.clone()));
                y * x
            },
            x,
        );
        let kept = kept.borrow().clone().expect("the inner function was recorded");
        inner * kept
    };
    polygrad::Function::stage(keep, &tensor(1.0));
}

#[test]
fn three_levels() {
    // (sin)''' = -cos, in all eight nestings.
    let x = tensor(0.7);
    let expected = -0.7f64.cos();
    let close = |y: Scalar<polygrad::Concrete>| assert!((y.item() - expected).abs() < 1e-15, "{y}");
    close(grad(|x: &Scalar<_>| grad(|x: &Scalar<_>| grad(|x: &Scalar<_>| x.sin(), x), x), &x));
    close(grad(|x: &Scalar<_>| grad(|x: &Scalar<_>| slope(|x| x.sin(), x), x), &x));
    close(grad(|x: &Scalar<_>| slope(|x| grad(|x: &Scalar<_>| x.sin(), x), x), &x));
    close(grad(|x: &Scalar<_>| slope(|x| slope(|x| x.sin(), x), x), &x));
    close(slope(|x| grad(|x: &Scalar<_>| grad(|x: &Scalar<_>| x.sin(), x), x), &x));
    close(slope(|x| grad(|x: &Scalar<_>| slope(|x| x.sin(), x), x), &x));
    close(slope(|x| slope(|x| grad(|x: &Scalar<_>| x.sin(), x), x), &x));
    close(slope(|x| slope(|x| slope(|x| x.sin(), x), x), &x));
}

#[test]
fn gradient_of_gradient_infers_everything() {
    fn foo<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        (x.sin() * x).sum()
    }
    let x = tensor([0.1, 0.2, 0.3]);
    let h = grad(|x: &Tensor<_, 1>| grad(|x: &Tensor<_, 1>| foo(x), x).sum_outer(), &x);
    for (h, x) in h.to_vec().iter().zip(x.to_vec()) {
        assert!((h - (2.0 * x.cos() - x * x.sin())).abs() < 1e-15);
    }
}

#[test]
#[should_panic(expected = "grad: values of this level may enter the function only as its argument")]
fn a_captured_outer_value_is_caught_in_reverse() {
    let x = tensor(3.0);
    // The inner verb runs at the same level as the outer one, and its function captures the outer variable.
    grad(
        |outer: &Scalar<ADVal<polygrad::Concrete>>| {
            let inner = grad(|y: &Scalar<ADVal<polygrad::Concrete>>| y * outer, &tensor(1.0));
            outer * &inner.lift()
        },
        &x,
    );
}

#[test]
#[should_panic(expected = "jvp: values of this level may enter the function only as its argument")]
fn a_captured_outer_value_is_caught_forward() {
    let x = tensor(3.0);
    slope(
        |outer: &Scalar<Dual<polygrad::Concrete>>| {
            let inner = slope(|y: &Scalar<Dual<polygrad::Concrete>>| y * outer, &tensor(1.0));
            outer * &inner.lift()
        },
        &x,
    );
}

#[test]
#[should_panic(expected = "jvp: values of this level may enter the function only as its argument")]
fn an_outer_tangent_is_not_taken_for_the_inner_one() {
    let x = tensor(3.0);
    slope(|outer: &Scalar<Dual<polygrad::Concrete>>| slope(|_| outer * 2.0, &tensor(1.0)).lift(), &x);
}

#[test]
fn data_is_a_constant_of_the_inner_level() {
    // At a traced or dual level, data may itself be differentiated by the outer derivative.
    let x = tensor([1.0, 2.0]);
    let outer = grad(
        |d: &Tensor<_, 1>| {
            let (_, g) = value_and_grad_with(|w: &Tensor<_, 1>, d| (w * w * d).sum(), &tensor_like(d), d);
            g.sum()
        },
        &x,
    );
    // g = 2 w d with w = 1, so the outer derivative is 2.
    assert_eq!(outer, tensor([2.0, 2.0]));
}

fn tensor_like<T: BaseTensor>(d: &Tensor<T, 1>) -> Tensor<T, 1> {
    Tensor::ones(d.shape())
}

#[test]
fn pullbacks_can_be_called_again_and_nested() {
    let x = tensor([1.0, 2.0]);
    let (_, pullback) = vjp(|x: &Tensor<_, 1>| (x.square(), x.sum()), &x);
    let first = pullback(&(tensor([1.0, 1.0]), tensor(1.0)));
    assert_eq!(first, tensor([3.0, 5.0]));
    assert_eq!(pullback(&(tensor([0.0, 0.0]), tensor(1.0))), tensor([1.0, 1.0]));
    assert_eq!(pullback(&(tensor([1.0, 1.0]), tensor(1.0))), first);
    // The gradient of a pulled-back cotangent: d/dx sum(2 x ct) = 2 ct.
    let ct = tensor([3.0, 4.0]);
    let g = grad(
        |x: &Tensor<_, 1>| {
            let (_, pullback) = vjp(|x: &Tensor<_, 1>| x.square(), x);
            pullback(&ct.lift()).sum()
        },
        &x,
    );
    assert_eq!(g, tensor([6.0, 8.0]));
}

#[test]
fn unused_and_integer_inputs_have_zero_gradients() {
    let x = (tensor([1.0, 2.0]), tensor([3i64, 4]), tensor([5.0f32]));
    let g = grad(|(x, i, _): &(Tensor<_, 1>, Tensor<_, 1, i64>, Tensor<_, 1, f32>)| (x * i.to_float()).sum(), &x);
    assert_eq!(g, (tensor([3.0, 4.0]), tensor([0i64, 0]), tensor([0.0f32])));
}

#[test]
fn host_branches_follow_the_primal() {
    fn piecewise<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
        if x.item() > 0.0 { x.square() } else { -x }
    }
    assert_eq!(grad(|x: &Scalar<_>| piecewise(x), &tensor(3.0)), tensor(6.0));
    assert_eq!(grad(|x: &Scalar<_>| piecewise(x), &tensor(-3.0)), tensor(-1.0));
    let second = grad(|x: &Scalar<_>| grad(|x: &Scalar<_>| piecewise(x), x), &tensor(3.0));
    assert_eq!(second, tensor(2.0));
}
