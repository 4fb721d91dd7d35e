//! Functions with derivative rules of their own.
//!
//! Laws: the value is that of the function in every interpreter; the derivative is given by the rule, even where it
//! differs from that of the function; a rule that gives the derivative of the function changes nothing, at any order.

use polygrad::inspect::count;
use polygrad::interpreters::Count;
use polygrad::program::{Program, interpret};
use polygrad::{
    Array, BaseTensor, Concrete, Function, Tensor, custom_jvp, custom_vjp, direct, fold, grad, hessian, hvp, jvp, map,
    symbolic, tensor, vjp,
};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// The identity, with twice its derivative: what nobody would find by looking at the function.
fn doubled<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
    custom_jvp("doubled", |x: &Vector<_>| x.clone(), |_, _, x_dot| x_dot * 2.0, x)
}

/// The same by a rule for cotangents.
fn pulled<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
    custom_vjp("pulled", |x: &Vector<_>| x.clone(), |_, _, y_bar| y_bar * 2.0, x)
}

/// The cube, with its true derivative.
fn cube<T: BaseTensor>(x: &Number<T>) -> Number<T> {
    custom_jvp("cube", |x: &Number<_>| x.powi(3), |x, _, x_dot| x.square() * 3.0 * x_dot, x)
}

/// The same by a rule for cotangents.
fn cube_pulled<T: BaseTensor>(x: &Number<T>) -> Number<T> {
    custom_vjp("cube", |x: &Number<_>| x.powi(3), |x, _, y_bar| x.square() * 3.0 * y_bar, x)
}

/// The square root by Newton's method, differentiated by the implicit function theorem: `y^2 = x`, so
/// `2 y y_dot = x_dot`.
fn root<T: BaseTensor>(x: &Number<T>) -> Number<T> {
    let solve = |x: &Number<_>| {
        let steps = Tensor::<_, 1>::zeros([30]);
        fold(x + 1.0, &steps, |y: Number<_>, _: &Number<_>| (&y + x / &y) * 0.5)
    };
    custom_vjp("root", solve, |_, y, y_bar| y_bar / (y * 2.0), x)
}

fn xs() -> Vector<Concrete> {
    tensor([0.5, -1.5, 2.0])
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
}

/// Every way to the derivative of `sum (f x)^2` along ones.
macro_rules! ways {
    ($f:ident) => {{
        let x = xs();
        let ones = tensor([1.0, 1.0, 1.0]);
        let staged = Function::stage(|x: &Vector<_>| $f(x).square().sum(), &x);
        let run = |p: &Program, inputs: Vec<Array>| interpret(p, inputs);
        let raw = x.raw().clone();
        let split = symbolic::linearize(staged.program());
        let mut residuals = run(&split.primal, vec![raw.clone()]);
        residuals[0] = ones.raw().clone();
        let along = |g: Vector<Concrete>| g.sum().item();
        vec![
            ("direct grad", along(direct::grad(|x: &Vector<_>| $f(x).square().sum(), &x))),
            ("grad", along(grad(|x: &Vector<_>| $f(x).square().sum(), &x))),
            ("direct jvp", direct::jvp(|x: &Vector<_>| $f(x).square().sum(), &x, &ones).1.item()),
            ("jvp", jvp(|x: &Vector<_>| $f(x).square().sum(), &x, &ones).1.item()),
            ("vjp", along(vjp(|x: &Vector<_>| $f(x).square().sum(), &x).1(&tensor(1.0)))),
            ("direct linearize", direct::linearize(|x: &Vector<_>| $f(x).square().sum(), &x).1(&ones).item()),
            ("gradient", along(Tensor::from_raw(run(&symbolic::grad(staged.program()), vec![raw.clone()]).remove(0)))),
            ("linearize", Number::<Concrete>::from_raw(run(&split.linear, residuals).remove(0)).item()),
            (
                "in a loop",
                along(grad(
                    |x: &Vector<_>| {
                        let rows = x.reshape::<2>([3, 1]);
                        fold(tensor_at(x), &rows, |sum, row: &Vector<_>| sum + $f(row).square().sum())
                    },
                    &x,
                )),
            ),
            (
                "in a map",
                along(direct::grad(
                    |x: &Vector<_>| {
                        let rows = x.reshape::<2>([3, 1]);
                        map(&rows, |row: &Vector<_>| $f(row)).square().sum()
                    },
                    &x,
                )),
            ),
        ]
    }};
}

/// Zero at the level of a value.
fn tensor_at<T: BaseTensor>(_: &Vector<T>) -> Number<T> {
    Tensor::zeros([])
}

#[test]
fn the_derivative_is_what_the_rule_says() {
    // Twice the derivative 2 x, summed.
    for (name, found) in ways!(doubled).into_iter().chain(ways!(pulled)) {
        assert_eq!(found, 4.0, "{name}");
    }
}

#[test]
fn the_value_is_that_of_the_function() {
    let x = xs();
    assert_eq!(doubled(&x), x);
    let f = Function::stage(|x: &Vector<_>| pulled(x), &x);
    assert_eq!(f.run(&x).expect("of the same shape"), x);
    near(root(&tensor(2.0)).item(), 2.0_f64.sqrt());
}

/// The second derivative along `v` by all nestings of two levels.
macro_rules! second {
    ($f:ident, $x:expr, $v:expr) => {{
        let (x, v) = ($x, $v);
        [
            direct::jvp(|x: &Vector<_>| direct::grad(|x: &Vector<_>| $f(x).square().sum(), x), &x, &v).1,
            direct::vjp(|x: &Vector<_>| direct::grad(|x: &Vector<_>| $f(x).square().sum(), x), &x).1(&v),
            hvp(|x: &Vector<_>| $f(x).square().sum(), &x, &v),
        ]
    }};
}

#[test]
fn a_rule_holds_at_the_second_order() {
    // sum (f x)^2 has the derivative 2 f(x) f' = 4 x by the rule, whose derivative is 4 f' = 8.
    let v = tensor([1.0, 10.0, 100.0]);
    for h in second!(doubled, xs(), v.clone()).into_iter().chain(second!(pulled, xs(), v)) {
        assert_eq!(h, tensor([8.0, 80.0, 800.0]));
    }
}

#[test]
fn a_true_rule_changes_nothing_at_any_order() {
    let x = tensor(1.25);
    let plain = |x: &Number<_>| (x.powi(3) * 0.5).sin();
    let (first, second) =
        (grad(plain, &x).item(), hessian::<_, 0, 0, _>(|x: &Number<_>| (x.powi(3) * 0.5).sin(), &x).item());
    let third = |x: &Number<_>| (x.powi(3) * 0.5).sin();
    let third = grad(|x: &Number<_>| grad(|x: &Number<_>| grad(third, x), x), &x).item();
    near(grad(|x: &Number<_>| (cube(x) * 0.5).sin(), &x).item(), first);
    near(grad(|x: &Number<_>| (cube_pulled(x) * 0.5).sin(), &x).item(), first);
    near(hessian::<_, 0, 0, _>(|x: &Number<_>| (cube(x) * 0.5).sin(), &x).item(), second);
    near(hessian::<_, 0, 0, _>(|x: &Number<_>| (cube_pulled(x) * 0.5).sin(), &x).item(), second);
    let by = |x: &Number<_>| grad(|x: &Number<_>| grad(|x: &Number<_>| (cube(x) * 0.5).sin(), x), x);
    near(grad(by, &x).item(), third);
    let by = |x: &Number<_>| grad(|x: &Number<_>| grad(|x: &Number<_>| (cube_pulled(x) * 0.5).sin(), x), x);
    near(grad(by, &x).item(), third);
}

#[test]
fn an_implicit_function_has_the_derivative_of_its_equation() {
    let x = tensor(2.0);
    near(grad(root, &x).item(), 0.5 / 2.0_f64.sqrt());
    near(jvp(root, &x, &tensor(1.0)).1.item(), 0.5 / 2.0_f64.sqrt());
    near(hessian::<_, 0, 0, _>(root, &x).item(), -0.25 * 2.0_f64.powf(-1.5));
    // The gradient solves nothing again: the loop stands there once.
    let f = Function::stage(|x: &Number<_>| root(x), &x);
    let gradient = symbolic::grad(f.program());
    assert_eq!(gradient.to_string().matches("custom root").count(), 1, "{gradient}");
}

#[test]
fn trees_results_and_integers_go_through() {
    // (x, n) -> (n x, n): the derivative by rule is that of 10 n x.
    fn scaled<T: BaseTensor>(x: &Number<T>, n: &Tensor<T, 0, i64>) -> (Number<T>, Tensor<T, 0, i64>) {
        custom_vjp(
            "scaled",
            |(x, n): &(Number<_>, Tensor<_, 0, i64>)| (x * n.to_float::<f64>(), n.clone()),
            |(_, n), _, (bar, _)| (bar * n.to_float::<f64>() * 10.0, Tensor::zeros([])),
            &(x.clone(), n.clone()),
        )
    }
    let (x, n) = (tensor(3.0), tensor(4));
    let p = (x, n);
    let ((y, m), bars) = direct::vjp(|p: &(Number<_>, Tensor<_, 0, i64>)| scaled(&p.0, &p.1), &p);
    assert_eq!((y.item(), m.item()), (12.0, 4));
    assert_eq!(bars(&(tensor(1.0), tensor(0))).0.item(), 40.0);
    let dot = direct::jvp(|p: &(Number<_>, Tensor<_, 0, i64>)| scaled(&p.0, &p.1), &p, &(tensor(1.0), tensor(0)));
    assert_eq!(dot.1.0.item(), 40.0);
}

#[test]
fn the_cost_is_that_of_the_function() {
    let plain = count(|x: &Number<_>| x.powi(3), &tensor(2.0)).1.total();
    let ruled = count(|x: &Number<_>| cube(x), &tensor(2.0)).1.total();
    assert_eq!(plain, ruled);
}

#[test]
fn a_rule_is_saved_with_its_program() {
    let f = Function::stage(|x: &Vector<_>| doubled(x).sum() + pulled(x).sum(), &xs());
    let text = serde_json::to_string(f.program()).expect("a program can be saved");
    let loaded: Program = serde_json::from_str(&text).expect("what was saved loads");
    assert_eq!(&loaded, f.program());
    let gradient = symbolic::grad(&loaded);
    assert_eq!(interpret(&gradient, vec![xs().into_raw()]), [Array::from([4.0, 4.0, 4.0])]);
}

type Layer<T> = (Tensor<T, 2>, Vector<T>);

/// `tanh (w x)` and the norm of `w`, by a rule for tangents: the second result is the same for every `x`.
fn layer<T: BaseTensor>(w: &Tensor<T, 2>, x: &Vector<T>) -> (Vector<T>, Number<T>) {
    custom_jvp(
        "layer",
        |(w, x): &Layer<_>| (w.matvec(x).tanh(), w.square().sum()),
        |(w, x), (y, _), (w_dot, x_dot)| {
            ((w_dot.matvec(x) + w.matvec(x_dot)) * (1.0 - y.square()), (w * w_dot).sum() * 2.0)
        },
        &(w.clone(), x.clone()),
    )
}

/// `tanh (w x)` by a rule for cotangents that is not linear in them: those of `w` are clipped, element by element.
fn clipped_layer<T: BaseTensor>(w: &Tensor<T, 2>, x: &Vector<T>) -> Vector<T> {
    custom_vjp(
        "clipped",
        |(w, x): &Layer<_>| w.matvec(x).tanh(),
        |(w, x), y, y_bar| {
            let bar = y_bar * (1.0 - y.square());
            (bar.outer(x).clamp(-0.25, 0.25), w.t().matvec(&bar))
        },
        &(w.clone(), x.clone()),
    )
}

fn weight() -> Tensor<Concrete, 2> {
    tensor([[0.5, -1.0, 0.25, 2.0], [1.5, 0.75, -0.5, 1.0], [-0.25, 0.5, 1.25, -1.5]])
}

fn examples(n: usize) -> Tensor<Concrete, 2> {
    Tensor::from_raw(polygrad::array::Rng::new(7).uniform(&[n, 4], -1.0, 1.0))
}

/// Every example at once, recorded; and one after the other, by running.
macro_rules! batched_and_not {
    ($f:expr) => {{
        let (w, xs) = (weight(), examples(5));
        let p = (w, xs);
        let recorded = polygrad::value_and_grad($f, &p);
        let direct = direct::value_and_grad($f, &p);
        near(recorded.0.item(), direct.0.item());
        for (a, b) in recorded.1.0.to_vec().iter().zip(direct.1.0.to_vec()) {
            near(*a, b);
        }
        for (a, b) in recorded.1.1.to_vec().iter().zip(direct.1.1.to_vec()) {
            near(*a, b);
        }
    }};
}

#[test]
fn a_batch_of_a_ruled_function_is_the_function_of_each_element() {
    type Examples<T> = (Tensor<T, 2>, Tensor<T, 2>);
    batched_and_not!(|(w, xs): &Examples<_>| map(xs, |x: &Vector<_>| layer(w, x).0).square().sum());
    batched_and_not!(|(w, xs): &Examples<_>| map(xs, |x: &Vector<_>| {
        let (y, norm) = layer(w, x);
        y.square().sum() * norm
    })
    .sum());
    batched_and_not!(|(w, xs): &Examples<_>| map(xs, |x: &Vector<_>| clipped_layer(w, x)).square().sum());
    // Only the weight moves, and nothing but the number of elements.
    batched_and_not!(|(w, xs): &Examples<_>| {
        let ws = polygrad::stack::<_, 2, 3, f64>([w, &(w * 2.0)]);
        map(&ws, |w: &Tensor<_, 2>| clipped_layer(w, &xs.row(0))).square().sum()
    });
    // Equal applications are one once recorded: with a rule that is not linear the gradient would be another.
    batched_and_not!(|(w, xs): &Examples<_>| map(xs, |_: &Vector<_>| layer(w, &xs.row(0)).0).square().sum());
    // Nested, with derivatives inside.
    batched_and_not!(|(w, xs): &Examples<_>| map(xs, |x: &Vector<_>| {
        map(xs, |z: &Vector<_>| clipped_layer(w, &(x * z)).dot(&layer(w, z).0)).sum()
    })
    .sum());
    batched_and_not!(|(w, xs): &Examples<_>| map(xs, |x: &Vector<_>| {
        map(w, |row: &Vector<_>| grad(|x: &Vector<_>| clipped_layer(&w.lift(), x).sum(), &(x * row))).square().sum()
    })
    .sum());
    batched_and_not!(|(w, xs): &Examples<_>| map(xs, |x: &Vector<_>| {
        grad(|w: &Tensor<_, 2>| layer(w, &x.lift()).0.square().sum(), w).square().sum()
    })
    .sum());
}

fn run<T: BaseTensor>(p: &Program, inputs: &[Tensor<T, 2>]) -> Number<T> {
    Tensor::from_raw(interpret(p, inputs.iter().map(|t| t.raw().clone()).collect()).remove(0))
}

#[test]
fn a_batch_of_a_ruled_function_replicates_no_argument_that_stays() {
    type Examples<T> = (Tensor<T, 2>, Tensor<T, 2>);
    let f = |(w, xs): &Examples<_>| map(xs, |x: &Vector<_>| layer(w, x).0).sum();
    let clipped = |(w, xs): &Examples<_>| map(xs, |x: &Vector<_>| clipped_layer(w, x)).sum();
    let plain = |(w, xs): &Examples<_>| map(xs, |x: &Vector<_>| w.matvec(x).tanh()).sum();
    let bytes = |p: &Program| {
        let inputs: Vec<Array> = p.inputs().iter().map(|slot| Array::zeros(&slot.shape, slot.dtype)).collect();
        let inputs: Vec<Tensor<Concrete, 2>> = inputs.into_iter().map(Tensor::from_raw).collect();
        count(|inputs: &Vec<Tensor<Count<Concrete>, 2>>| run(p, inputs), &inputs).1.total().bytes
    };
    let staged = |f: &dyn Fn(&Examples<polygrad::interpreters::Ast>) -> Number<polygrad::interpreters::Ast>| {
        let f = Function::stage(|p: &Examples<_>| f(p), &(weight(), examples(100)));
        polygrad::passes::optimize(f.program())
    };
    let (f, clipped, plain) = (staged(&f), staged(&clipped), staged(&plain));
    let inputs = "program(x.0: f64[3, 4], x.1: f64[100, 4])";
    assert_eq!(f.to_string(), format!("{inputs} {{\n  (t0, _) = custom layer(x.0, x.1)\n  return sum t0\n}}"));
    assert_eq!(clipped.to_string(), format!("{inputs} {{\n  t0 = custom clipped(x.0, x.1)\n  return sum t0\n}}"));
    // The function itself, and the second result of `layer`, which is computed once: the weight, its square, their sum.
    assert!(bytes(&f) <= bytes(&plain) + 8 * (3 * 12 + 1), "{} and {}", bytes(&f), bytes(&plain));
    assert_eq!(bytes(&clipped), bytes(&plain));
}
