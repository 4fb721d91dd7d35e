//! Taylor mode.
//!
//! Laws: the coefficients of a row of a table, along a straight line and along a curve, are the repeated derivatives of
//! the same function divided by factorials; so are those of programs with loops, functions with rules and linear
//! algebra. (All objectives of the gallery: `agree.rs`.) Expansions nest, and are refused where they would mix.

use polygrad::ops::{Binary, Unary};
use polygrad::passes::optimize;
use polygrad::program::Term;
use polygrad::{
    ADVal, BaseTensor, Concrete, Function, Jet, Tensor, custom_jvp, derivative_tensor, direct, fold, grad, hessian,
    iterate, nth_derivative, symbolic, taylor, taylor_along, tensor, while_loop_within,
};

use crate::support::{assert_close, assert_near};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

fn factorial(n: usize) -> f64 {
    (1..=n).map(|k| k as f64).product()
}

/// The derivatives of order 0 to `order` of a function of one number, one after the other.
fn repeated(f: impl Fn(&Number<Term>) -> Number<Term>, order: usize, at: f64) -> Vec<f64> {
    (0..=order).map(|n| nth_derivative(&f, n, &tensor(at)).item()).collect()
}

/// Asserts that coefficients are derivatives divided by factorials, relative to the largest of them.
fn assert_derivatives(what: &str, coefficients: &[Number<Concrete>], derivatives: &[f64], tolerance: f64) {
    assert_eq!(coefficients.len(), derivatives.len(), "{what}");
    for (n, (c, d)) in coefficients.iter().zip(derivatives).enumerate() {
        let (c, d) = (c.item(), d / factorial(n));
        let close = (c.is_nan() && d.is_nan()) || (c - d).abs() <= tolerance * d.abs().max(c.abs()).max(1.0);
        assert!(close, "{what}, coefficient {n}: {c:e}, by repeated derivatives {d:e}");
    }
}

/// A polynomial in `t`.
fn curve<T: BaseTensor>(c: [f64; 3], t: &Number<T>) -> Number<T> {
    c[0] + t * (c[1] + t * c[2])
}

/// To this order every row of the tables has a series.
const ORDER: usize = 6;

#[test]
fn rows_of_one_operand_have_the_coefficients_of_their_derivatives() {
    for op in Unary::ALL {
        let (lo, hi) = op.domain();
        let order = ORDER;
        for (part, bend) in [(0.3, 0.0), (0.8, -0.4)] {
            let c = [lo + part * (hi - lo), 0.7, bend];
            let along = c.map(tensor);
            let f = |x: &Number<Term>| Number::from_raw(x.raw().unary(*op));
            let coefficients = taylor_along(f, &along, order);
            let of_t = repeated(|t| Tensor::from_raw(curve(c, t).raw().unary(*op)), order, 0.0);
            assert_derivatives(&format!("{op:?} along {c:?}"), &coefficients, &of_t, 1e-11);
        }
    }
}

#[test]
fn rows_of_two_operands_have_the_coefficients_of_their_derivatives() {
    let order = ORDER;
    for op in Binary::ALL {
        let [(a, b), (c, d)] = op.domain();
        for part in [0.3, 0.8] {
            let (x, y) = ([a + part * (b - a), 0.7, -0.3], [c + part * (d - c), -0.2, 0.4]);
            let f = |(x, y): &(Number<Term>, Number<Term>)| Number::from_raw(x.raw().binary(*op, y.raw()));
            let along: Vec<(Number<Concrete>, Number<Concrete>)> =
                (0..3).map(|k| (tensor(x[k]), tensor(y[k]))).collect();
            let both = taylor_along(f, &along, order);
            let of_t = repeated(|t| Tensor::from_raw(curve(x, t).raw().binary(*op, curve(y, t).raw())), order, 0.0);
            assert_derivatives(&format!("{op:?} along {x:?}, {y:?}"), &both, &of_t, 1e-11);
            // One operand is constant.
            let first =
                taylor_along(|x| Tensor::from_raw(x.raw().binary(*op, tensor_of(y[0]).raw())), &x.map(tensor), order);
            let of_t = repeated(|t| Tensor::from_raw(curve(x, t).raw().binary(*op, tensor_of(y[0]).raw())), order, 0.0);
            assert_derivatives(&format!("{op:?} in its first operand"), &first, &of_t, 1e-11);
        }
    }
}

fn tensor_of<T: BaseTensor>(x: f64) -> Number<T> {
    Tensor::scalar(x)
}

/// Series of functions whose derivatives are polygamma functions, from these with 40 digits.
#[test]
fn series_of_gamma_functions_are_the_known_ones() {
    #[rustfmt::skip]
    const LGAMMA: [f64; 13] = [
        0.2846828704729192, 0.7031566406452432, 0.24517887805011743, -0.0393673419402879, 0.009329410367385502, -0.0026146333292227614, 0.0008035683035655326, -0.0002615091483234197, 8.842352064789512e-05, -3.071547269584968e-05, 1.088258420686863e-05, -3.9138807868675094e-06, 1.4240972665702957e-06,
    ];
    #[rustfmt::skip]
    const LEFT: [f64; 13] = [
        1.0232050173821319, 1.9412306293628274, 5.520609951993115, 4.971115149981577, 14.394036098281697, 24.893348313680104, 62.762852866100054, 133.16379592411468, 325.0202031977832, 750.0324039876239, 1829.391248911062, 4392.23051119453, 10799.109918160588,
    ];
    #[rustfmt::skip]
    const DIGAMMA: [f64; 13] = [
        -1.0858608797864722, 2.5418796476716063, -2.6513166081688198, 3.2938854224750997, -4.283358575642395, 5.656277857288164, -7.512397920965798, 10.000425892789059, -13.324910149459349, 17.761481181337004, -23.679105271406648, 31.570509390832157, -42.09308367455111,
    ];
    #[rustfmt::skip]
    const BETA: [f64; 13] = [
        -0.16580304006210933, -2.7003858946284796, 0.5925336611724038, -0.5700439377976985, 0.6013554971189738, -0.6652633751357933, 0.7582147715383272, -0.8826642895749292, 1.0444556782509287, -1.252302827439663, 1.5180080698016973, -1.8570774312750453, 2.289658682073933,
    ];
    fn lgamma<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        x.lgamma()
    }
    fn digamma<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        x.digamma()
    }
    /// The logarithm of a beta function.
    fn beta<T: BaseTensor>(t: &Number<T>) -> Number<T> {
        let (a, b) = (t + 0.75, t * 2.0 + 1.75);
        a.lgamma() + b.lgamma() - (a + b).lgamma()
    }
    type Of<T> = fn(&Number<T>) -> Number<T>;
    type Case = (Of<Jet<Concrete>>, Of<Term>, f64, [f64; 13]);
    let cases: [Case; 4] = [
        (lgamma, lgamma, 2.5, LGAMMA),
        (lgamma, lgamma, -1.375, LEFT),
        (digamma, digamma, 0.75, DIGAMMA),
        (beta, beta, 0.0, BETA),
    ];
    for (run, program, at, known) in cases {
        let (x, one) = (tensor(at), tensor(1.0));
        for (way, found) in [("traced", taylor(program, &x, &one, 12)), ("run", direct::taylor(run, &x, &one, 12))] {
            for (k, (c, known)) in found.iter().zip(known).enumerate() {
                let off = (c.item() - known).abs();
                assert!(off <= 2e-13 * known.abs().max(1.0), "{way} at {at}, coefficient {k}: {c} and {known:e}");
            }
        }
        // Derivatives one after the other, as far as they are cheap.
        assert_derivatives(
            "one by one",
            &known[..6].iter().map(|c| tensor(*c)).collect::<Vec<_>>(),
            &repeated(program, 5, at),
            1e-12,
        );
    }
}

/// Functions of one number, which record and run.
macro_rules! functions {
    ($(fn $name:ident($x:ident) $body:block)*) => {
        $(fn $name<T: BaseTensor>($x: &Number<T>) -> Number<T> $body)*

        #[test]
        fn programs_have_the_coefficients_of_their_derivatives() {
            $({
                let derivatives = repeated($name, 4, 0.4);
                assert_derivatives(stringify!($name), &taylor($name, &tensor(0.4), &tensor(1.0), 4), &derivatives, 1e-9);
                let run = direct::taylor($name, &tensor(0.4), &tensor(1.0), 4);
                assert_derivatives(concat!(stringify!($name), " run directly"), &run, &derivatives, 1e-9);
            })*
        }
    };
}

functions! {
    fn composed(x) {
        (x.exp() * x).sin() / (1.0 + x * x.sin())
    }
    // Nothing moves in the loop but what it captures.
    fn captured(x) {
        iterate(4, Tensor::scalar(0.3), |_, c: Number<T>| (c * x + 0.2).sin())
    }
    fn carried(x) {
        let (a, b) = iterate(3, (x.clone(), Tensor::scalar(1.0)), |_, (a, b): (Number<T>, Number<T>)| (&a * &b + 0.1, a.tanh() + b));
        a * b
    }
    fn rows(x) {
        let xs = Vector::<T>::constant([0.1, 0.5, 0.9]).times(x);
        fold(Tensor::scalar(0.2), &xs, |c: Number<T>, row: &Number<T>| (c + row).sin() * row)
    }
    fn chosen(x) {
        x.gt(0.2).select(x.sqrt(), 7.0) * x.lt(0.2).select(x.recip(), x.square())
    }
    fn indexed(x) {
        let v = Vector::<T>::constant([1.0, 2.0, 3.0]).times(x).sin();
        v.at([1]) * v.max_axis::<0>(0) + v.cumsum(0).prod() + v.sort(0).at([2]).square()
    }
    fn matrices(x) {
        let a = Tensor::<T, 2>::constant([[2.0, 0.5], [0.5, 3.0]]).times(&x.exp()) + Tensor::<T, 2>::constant([[0.0, 1.0], [1.0, 0.0]]);
        let b = Vector::<T>::constant([1.0, 2.0]).times(x);
        a.solve(&b).dot(&b) + a.logdet() + a.inverse().sum() + a.cholesky().sum()
    }
    fn ended(x) {
        while_loop_within(9, x, |c| c.abs().lt(1.5), |c| &c * 1.3 + x.square())
    }
    fn ruled(x) {
        custom_jvp("exponential", |x: &Number<_>| x.exp(), |x: &Number<_>, _: &Number<_>, dot: &Number<_>| dot * x.exp(), x) * x
    }
}

#[test]
fn the_rule_of_a_function_is_what_is_expanded() {
    // The rule says that the slope is 3.
    let f = |x: &Number<_>| {
        custom_jvp("steep", |x: &Number<_>| x.square(), |_: &Number<_>, _: &Number<_>, dot: &Number<_>| dot * 3.0, x)
    };
    let c = taylor(f, &tensor(2.0), &tensor(1.0), 3);
    assert_eq!(c, [4.0, 3.0, 0.0, 0.0].map(tensor));
}

#[test]
fn expansions_nest() {
    // d^3/ds^3 of d^2/dt^2 of sin(s t), over 3! 2!.
    let inner = |s: &Number<Term>| taylor(|t| (t * s.lift()).sin(), &tensor_of(0.5), &tensor_of(1.0), 2).remove(2);
    let c = taylor(inner, &tensor(0.7), &tensor(1.0), 3).remove(3).item();
    // d^2/dt^2 sin(s t) = -s^2 sin(s t)
    let third = nth_derivative(|s| -(s * s) * (s * 0.5).sin() * 0.5, 3, &tensor(0.7)).item() / 6.0;
    assert_near("mixed derivative", c, third, 1e-12);
    // Reverse mode over series, and series over reverse mode.
    let x = tensor([0.3, 0.8]);
    let f = |x: &Vector<ADVal<_>>| (x.at([0]) * x.at([1]).exp()).sin();
    let along = taylor(|x: &Vector<_>| direct::grad(f, x), &x, &tensor([1.0, 2.0]), 2);
    let second = grad(
        |x: &Vector<_>| {
            taylor(|x: &Vector<_>| (x.at([0]) * x.at([1]).exp()).sin(), x, &Tensor::constant([1.0, 2.0]), 2).remove(2)
        },
        &x,
    );
    assert_close("gradient of a coefficient", second.raw(), along[2].raw(), 1e-12);
}

#[test]
fn tensors_of_derivatives_are_symmetric_and_known() {
    fn f<T: BaseTensor>(x: &Vector<T>) -> Number<T> {
        (x.at([0]) * x.at([1]).square() + x.at([2]).exp() * x.at([0])).sin()
    }
    let x = tensor([0.3, -0.4, 0.2]);
    let second: Tensor<Concrete, 2> = derivative_tensor(f, &x);
    let h: Tensor<Concrete, 2> = hessian(f, &x);
    assert_close("the Hessian", second.raw(), h.raw(), 1e-12);
    let first: Vector<Concrete> = derivative_tensor(f, &x);
    assert_close("the gradient", first.raw(), grad(f, &x).raw(), 1e-13);
    let value: Number<Concrete> = derivative_tensor(f, &x);
    assert_near("the value", value.item(), f(&x).item(), 1e-15);
    let third: Tensor<Concrete, 3> = derivative_tensor(f, &x);
    for k in 0..3 {
        let v = tensor([0, 1, 2].map(|i| f64::from(u8::from(i == k))));
        let along = taylor(|x: &Vector<_>| hessian::<_, _, 2, _>(f, x), &x, &v, 1).remove(1);
        assert_close("the third derivative", third.at([k as i64]).raw(), along.raw(), 1e-11);
    }
}

/// Prints the operations of the optimized programs of one derivative.
#[test]
fn one_expansion_overtakes_repeated_derivatives() {
    macro_rules! counted {
        ($name:literal, $f:ident) => {{
            let whole = Function::stage($f, &tensor(0.3));
            let mut again = optimize(whole.program());
            let mut row = Vec::new();
            for n in 1..=12 {
                again = optimize(&symbolic::derivative(&again));
                let once = Function::stage(|x| direct::taylor($f, x, &tensor_of(1.0), n).remove(n), &tensor(0.3));
                row.push((once.optimized().size(), again.size()));
            }
            println!("{}, one expansion / repeated derivatives: {row:?}", $name);

            // The cost of an expansion grows as the square of the order.
            assert!(row[11].0 <= 5 * row[5].0, "{}: {row:?}", $name);
        }};
    }
    fn wavy<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        (x.exp() * x).sin()
    }
    fn bent<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        (x + 1.0).sqrt()
    }
    fn rational<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        x / (1.0 + x * x.sin())
    }
    counted!("sin(exp(x) x)", wavy);
    counted!("tanh", tanh);
    counted!("sqrt(x + 1)", bent);
    counted!("x / (1 + x sin x)", rational);
}

fn tanh<T: BaseTensor>(x: &Number<T>) -> Number<T> {
    x.tanh()
}
