//! Solutions of differential equations.
//!
//! Laws: where the solution is known, it and its derivatives in start, times and parameters are the known ones, within
//! the error that was asked for, in both modes, which agree; gradients agree with those of a fine method with steps of one
//! length, however the steps are cut in segments; second and third derivatives are known ones, too, in every nesting of
//! the modes; a solution that ends before a time is NaN.

use polygrad::program::{Node, Op, Term, interpret};
use polygrad::tree::TreeMath;
use polygrad::{
    ADVal, Array, BaseTensor, Concrete, Dual, Function, Ode, Tensor, Tree, direct, grad, hessian_matrix, hvp, iterate,
    jvp, nth_derivative, odeint, tensor, vjp, vmap,
};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

fn near<const D: usize>(what: &str, a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>, tolerance: f64) {
    let off = (a - b).abs().max_all().item();
    assert!(off <= tolerance, "{what}: {a} and {b} differ by {off}");
}

/// `x' = -p t x`, so `x = x0 exp(-p (t^2 - t0^2) / 2)`.
fn decay<T: BaseTensor>((start, times, p): &(Number<T>, Vector<T>, Number<T>)) -> Vector<T> {
    let states = odeint(|x: &Number<_>, t: &Number<_>, p: &Number<_>| -(x * t * p), start, times, p);
    polygrad::stack(states)
}

fn known<T: BaseTensor>((start, times, p): &(Number<T>, Vector<T>, Number<T>)) -> Vector<T> {
    let squares = times.square() - times.at([0]).square();
    squares.times(&(p * -0.5)).exp().times(start)
}

fn point() -> (Number<Concrete>, Vector<Concrete>, Number<Concrete>) {
    (tensor(1.5), tensor([0.3, 0.8, 0.8, 2.0, 1.1]), tensor(0.7))
}

#[test]
fn solutions_and_first_derivatives_are_the_known_ones() {
    let at = point();
    near("states", &decay(&at), &known(&at), 1e-7);
    let weights = tensor([0.3, -1.0, 2.0, 0.5, 1.0]);
    let (found, expected) = (vjp(decay, &at).1(&weights), vjp(known, &at).1(&weights));
    near("start", &found.0, &expected.0, 1e-6);
    near("times", &found.1, &expected.1, 1e-6);
    near("parameter", &found.2, &expected.2, 1e-6);
    let along = (tensor(0.5), tensor([1.0, -1.0, 0.3, 0.2, 2.0]), tensor(-1.0));
    near("forward", &jvp(decay, &at, &along).1, &jvp(known, &at, &along).1, 1e-6);
    let sum = |x: &(Number<_>, Vector<_>, Number<_>)| decay(x).square().sum();
    let same = |x: &(Number<_>, Vector<_>, Number<_>)| known(x).square().sum();
    near("direct", &direct::grad(sum, &at).2, &grad(same, &at).2, 1e-6);
}

/// Predators and prey, by steps of one length, whose derivative is that of the steps.
#[test]
fn the_adjoint_agrees_with_the_derivative_of_steps() {
    fn rate<T: BaseTensor>(x: &Vector<T>, p: &Vector<T>) -> Vector<T> {
        let (a, b) = (x.at([0]), x.at([1]));
        let both = &a * &b;
        polygrad::stack([a * p.at([0]) - &both * p.at([1]), both * p.at([2]) - b * p.at([3])])
    }
    fn steps<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
        let h = 3.0 / 600.0;
        let step = |_: &Tensor<T, 0, i64>, x: Vector<T>| {
            let k1 = rate(&x, p);
            let k2 = rate(&(&x + &k1 * (0.5 * h)), p);
            let k3 = rate(&(&x + &k2 * (0.5 * h)), p);
            let k4 = rate(&(&x + &k3 * h), p);
            x + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (h / 6.0)
        };
        iterate(600, Vector::constant([1.0, 0.5]), step).square().sum()
    }
    fn adaptive<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
        let times = Vector::<T>::constant([0.0, 3.0]);
        let start = Vector::<T>::constant([1.0, 0.5]);
        let x = odeint(|x: &Vector<_>, _: &Number<_>, p: &Vector<_>| rate(x, p), &start, &times, p);
        x[1].square().sum()
    }
    let p = tensor([1.1, 0.4, 0.3, 0.6]);
    near("value", &adaptive(&p), &steps(&p), 1e-6);
    near("gradient", &grad(adaptive, &p), &grad(steps, &p), 5e-5);
    let f = Function::value_and_grad(adaptive, &p);
    near("recorded", &f.run(&p).unwrap().1, &grad(steps, &p), 5e-5);
}

#[test]
fn a_solution_that_ends_is_nan_from_there_on() {
    // x' = x^2 from 1 is infinite at 1.
    let x = odeint(
        |x: &Number<_>, _: &Number<_>, _: &Number<_>| x.square(),
        &tensor(1.0),
        &tensor([0.0, 0.5, 2.0]),
        &tensor(0.0),
    );
    assert!((x[1].item() - 2.0).abs() < 1e-6 && x[2].item().is_nan());
    let few = Ode::default().steps(2);
    let x =
        few.solve(|x: &Number<_>, _: &Number<_>, _: &Number<_>| -x, &tensor(1.0), &tensor([0.0, 10.0]), &tensor(0.0));
    assert!(x[1].item().is_nan());
    // One time is that of the start.
    let x = odeint(|x: &Number<_>, _: &Number<_>, _: &Number<_>| -x, &tensor(3.0), &tensor([1.0]), &tensor(0.0));
    assert_eq!(x, [tensor(3.0)]);
    let first = |x: &Number<_>, times: &Vector<_>| {
        odeint(|x: &Number<_>, _: &Number<_>, _: &Number<_>| -x, x, times, &Number::scalar(0.0)).swap_remove(0)
    };
    let gradient = direct::grad(|(x, times): &(Number<_>, Vector<_>)| first(x, times), &(tensor(3.0), tensor([1.0])));
    assert_eq!(gradient, (tensor(1.0), tensor([0.0])));
}

#[test]
fn stricter_settings_are_more_exact() {
    let at = point();
    let off = |relative: f64| {
        let (start, times, p) = &at;
        let ode = Ode::default().relative(relative).absolute(relative * 1e-2);
        let states = ode.solve(|x: &Number<_>, t: &Number<_>, p: &Number<_>| -(x * t * p), start, times, p);
        (polygrad::stack(states) - known(&at)).abs().max_all().item()
    };
    assert!(off(1e-4) > off(1e-10) && off(1e-4) < 1e-3 && off(1e-10) < 1e-9);
}

/// Start, times and parameters of an equation whose solution is known.
type Problem<T> = (Number<T>, Vector<T>, Vector<T>);

/// A sum of the states, each of which has another weight, and the square of the last.
trait Known {
    fn rate(x: &Number<Term>, t: &Number<Term>, p: &Vector<Term>) -> Number<Term>;
    /// The state at a time, from that at another.
    fn at<T: BaseTensor>(start: &Number<T>, from: &Number<T>, to: &Number<T>, p: &Vector<T>) -> Number<T>;
}

fn mixed<T: BaseTensor>(states: Vec<Number<T>>) -> Number<T> {
    let last = states[states.len() - 1].square();
    states.into_iter().skip(1).fold(last * 0.25, |sum, x| sum * -0.5 + x)
}

fn solved<K: Known, T: BaseTensor>((start, times, p): &Problem<T>) -> Number<T> {
    // Derivatives of the equations of derivatives run as many trips as there can be.
    let trips = if times.shape() == [2] { 20 } else { 6 };
    let ode = Ode::default().relative(1e-9).absolute(1e-12).steps(trips).max_step(1.0);
    mixed(ode.solve(|x: &Number<_>, t: &Number<_>, p: &Vector<_>| K::rate(x, t, p), start, times, p))
}

fn formula<K: Known, T: BaseTensor>((start, times, p): &Problem<T>) -> Number<T> {
    let [n] = times.shape();
    mixed((0..n as i64).map(|k| K::at(start, &times.at([0]), &times.at([k]), p)).collect())
}

/// The logistic equation `x' = r x (1 - x / c)`.
struct Logistic;

impl Known for Logistic {
    fn rate(x: &Number<Term>, _: &Number<Term>, p: &Vector<Term>) -> Number<Term> {
        x * p.at([0]) * (1.0 - x / p.at([1]))
    }
    fn at<T: BaseTensor>(start: &Number<T>, from: &Number<T>, to: &Number<T>, p: &Vector<T>) -> Number<T> {
        let (growth, most) = ((to - from) * p.at([0]), p.at([1]));
        &most / ((&most / start - 1.0) * (-growth).exp() + 1.0)
    }
}

/// An equation in which time stands: `x' = p cos(w t) x`.
struct Seasons;

impl Known for Seasons {
    fn rate(x: &Number<Term>, t: &Number<Term>, p: &Vector<Term>) -> Number<Term> {
        x * p.at([0]) * (t * p.at([1])).cos()
    }
    fn at<T: BaseTensor>(start: &Number<T>, from: &Number<T>, to: &Number<T>, p: &Vector<T>) -> Number<T> {
        let (gain, w) = (p.at([0]), p.at([1]));
        let sines = (to * &w).sin() - (from * &w).sin();
        start * (gain / w * sines).exp()
    }
}

/// Second derivatives in start, times and parameters, by every nesting of the two modes.
fn second_derivatives<K: Known>(what: &str, times: &[f64]) {
    let part = |c: f64| Array::new(&[times.len()], (0..times.len()).map(|k| (k as f64 * 1.6 + c).sin()).collect());
    let at: Problem<Concrete> =
        (tensor(0.6), Tensor::constant(Array::new(&[times.len()], times.to_vec())), tensor([1.3, 2.1]));
    let along: Problem<Concrete> = (tensor(0.4), Tensor::constant(part(-0.7)), tensor([0.5, -1.1]));
    let near = |way: &str, found: &Problem<Concrete>, expected: &Problem<Concrete>| {
        near(&format!("{what} at {times:?}, {way}"), &found.ravel(), &expected.ravel(), 2e-6);
    };
    let curved = hvp(|x| formula::<K, _>(x), &at, &along);
    let slope = |x: &Problem<ADVal<Concrete>>| direct::grad(|x| solved::<K, _>(x), x).dot(&along.lift());
    near("reverse over reverse", &direct::grad(slope, &at), &curved);
    let moved = |x: &Problem<ADVal<Concrete>>| direct::jvp(|x| solved::<K, _>(x), x, &along.lift()).1;
    near("reverse over forward", &direct::grad(moved, &at), &curved);
    let moved = |x: &Problem<Dual<Concrete>>| direct::grad(|x| solved::<K, _>(x), x);
    near("forward over reverse", &direct::jvp(moved, &at, &along).1, &curved);
    let moved = |x: &Problem<Dual<Concrete>>| direct::jvp(|x| solved::<K, _>(x), x, &along.lift()).1;
    let twice = direct::jvp(moved, &at, &along).1.item();
    let expected = curved.dot(&along).item();
    assert!((twice - expected).abs() < 5e-6, "{what}, forward over forward: {twice} and {expected}");
}

#[test]
fn second_derivatives_are_the_known_ones() {
    second_derivatives::<Logistic>("logistic", &[0.2, 0.5]);
    second_derivatives::<Seasons>("seasons", &[0.2, 0.5]);
}

/// The state at the end of an empty interval depends on both of its ends.
#[test]
fn equal_times_have_the_second_derivatives_of_others() {
    let decay = |times: &Vector<_>| {
        let rate = |x: &Number<_>, _: &Number<_>, _: &Number<_>| -x;
        Ode::default().steps(2).solve(rate, &Number::scalar(2.0), times, &Number::scalar(0.0)).swap_remove(1)
    };
    near("two", &hessian_matrix(decay, &tensor([0.5, 0.5])), &tensor([[2.0, -2.0], [-2.0, 2.0]]), 1e-12);
    // Equal ones first, last and in between, and times that fall.
    second_derivatives::<Seasons>("seasons", &[0.3, 0.3, 0.31, 0.31, 0.295, 0.295]);
    let at = (tensor(0.6), tensor([0.3, 0.28, 0.28]), tensor([1.3, 2.1]));
    let [found, known] = [hessian_matrix(solved::<Logistic, _>, &at), hessian_matrix(formula::<Logistic, _>, &at)];
    near("logistic", &found, &known, 2e-6);
}

#[test]
fn third_derivatives_are_the_known_ones() {
    // x = exp(-k): derivatives in k have alternating signs.
    fn at_one<T: BaseTensor>(k: &Number<T>) -> Number<T> {
        let ode = Ode::default().relative(1e-9).absolute(1e-12).steps(25).max_step(1.0);
        let rate = |x: &Number<_>, _: &Number<_>, k: &Number<_>| -(x * k);
        ode.solve(rate, &Number::scalar(1.0), &Vector::constant([0.0, 1.0]), k).remove(1)
    }
    for order in 1..=3 {
        let (found, known) =
            (nth_derivative(at_one, order, &tensor(0.5)), (-0.5f64).exp() * (-1.0f64).powi(order as i32));
        assert!((found.item() - known).abs() < 1e-6, "order {order}: {found} and {known}");
    }
    // Reverse mode at the third order: the gradient of a product with the Hessian.
    fn curved<T: BaseTensor>(k: &Number<T>) -> Number<T> {
        direct::jvp(|k: &Number<_>| direct::grad(at_one, k), k, &Tensor::scalar(1.0)).1
    }
    let third = direct::grad(curved, &tensor(0.5)).item();
    assert!((third + (-0.5f64).exp()).abs() < 1e-6, "{third}");
}

/// Times that meet and part: all derivatives are those of the formula.
#[test]
fn third_derivatives_at_equal_times_are_the_known_ones() {
    fn of<T: BaseTensor>(f: impl Fn(&Problem<T>) -> Number<T>, s: &Number<T>) -> Number<T> {
        let times = Vector::constant([0.3, 0.3, 0.3]) + Vector::constant([0.6, -1.0, 0.8]).times(s);
        f(&(Number::scalar(0.6) + s * 0.2, times, Vector::constant([1.3, 2.1])))
    }
    for order in [2, 3] {
        let found = nth_derivative(|s| of(solved::<Seasons, _>, s), order, &tensor(0.0));
        let known = nth_derivative(|s| of(formula::<Seasons, _>, s), order, &tensor(0.0));
        near(&format!("order {order}"), &found, &known, 1e-9);
    }
    fn third<T: BaseTensor>(
        f: impl Fn(&Number<ADVal<Dual<ADVal<T>>>>) -> Number<ADVal<Dual<ADVal<T>>>>,
        s: &Number<T>,
    ) -> Number<T> {
        direct::grad(|s| direct::jvp(|s| direct::grad(&f, s), s, &Number::scalar(1.0)).1, s)
    }
    let at = tensor(0.0);
    let known = third(|s| of(formula::<Seasons, _>, s), &at);
    near("reverse, forward, reverse", &third(|s| of(solved::<Seasons, _>, s), &at), &known, 1e-9);
}

type Equation = fn(&Vector<Term>, &Number<Term>, &Vector<Term>) -> Vector<Term>;

/// A name, an equation, a start, times and parameters.
type Case = (&'static str, Equation, Vec<f64>, Vec<f64>, Vec<f64>);

/// Equations with starts, times and parameters: growth and decay, waves, what is stiff or grows apart.
fn equations() -> Vec<Case> {
    let decay: Equation = |x, _, p| -(x * p);
    let predators: Equation = |x, _, p| {
        let both = x.at([0]) * x.at([1]);
        polygrad::stack([x.at([0]) * p.at([0]) - &both * p.at([1]), both * p.at([2]) - x.at([1]) * p.at([3])])
    };
    let reaction: Equation = |x, _, p| {
        let (a, b, c) = (x.at([0]) * p.at([0]), x.at([1]) * x.at([2]) * p.at([1]), x.at([1]).square() * p.at([2]));
        polygrad::stack([&b - &a, a - b - &c, c])
    };
    let relaxation: Equation =
        |x, _, p| polygrad::stack([x.at([1]), (1.0 - x.at([0]).square()) * x.at([1]) * p.at([0]) - x.at([0])]);
    let pendulum: Equation = |x, t, p| {
        polygrad::stack([x.at([1]), x.at([0]).sin() * -p.at([0]) - x.at([1]) * p.at([1]) + (t * p.at([2])).cos()])
    };
    let lorenz: Equation = |x, _, p| {
        let [a, b, c] = [0, 1, 2].map(|k| x.at([k]));
        polygrad::stack([(&b - &a) * p.at([0]), &a * (p.at([1]) - &c) - &b, a * b - c * p.at([2])])
    };
    let contraction: Equation = |x, t, p| (x - t.cos()) * -p.at([0]);
    vec![
        ("contraction", contraction, vec![1.5], vec![0.0, 1.0], vec![1000.0]),
        ("decay", decay, vec![2.0, 50.0], vec![0.0, 1.0, 4.0], vec![0.5, 1.5]),
        ("predators", predators, vec![30.0, 4.0], vec![0.0, 2.0, 5.0, 9.0], vec![0.55, 0.028, 0.024, 0.8]),
        ("reaction", reaction, vec![1.0, 0.1, 0.1], vec![0.0, 0.4, 3.0], vec![0.4, 10.0, 30.0]),
        ("relaxation", relaxation, vec![2.0, 0.1], vec![0.0, 1.0, 3.0], vec![2.0]),
        ("pendulum", pendulum, vec![1.0, 0.2], vec![0.5, 2.0, 4.0], vec![2.0, 0.1, 1.3]),
        ("lorenz", lorenz, vec![1.0, 2.0, 20.0], vec![0.0, 0.3, 0.8], vec![10.0, 28.0, 2.6]),
    ]
}

type Group<T> = (Vector<T>, Vector<T>, Vector<T>);

fn vector<T: BaseTensor>(x: &[f64]) -> Vector<T> {
    Vector::constant(Array::new(&[x.len()], x.to_vec()))
}

/// The rule of reverse mode is that of forward mode transposed, within the tolerance.
#[test]
fn the_rules_are_transposed() {
    for (name, f, start, times, p) in equations() {
        let at: Group<Concrete> = (vector(&start), vector(&times), vector(&p));
        let ode = Ode::default().relative(1e-7);
        let solved = Function::stage(|x: &Group<Term>| ode.solve(f, &x.0, &x.1, &x.2), &at);
        let rule = |node: &Node| if let Op::Custom(rule, _) = &node.op { Some(rule.clone()) } else { None };
        let rule = solved.program().nodes().iter().find_map(rule).expect("a function with rules");
        let wave = |k: f64, x: &Array| {
            Array::new(x.shape(), (0..x.size()).map(|j| (k * j as f64 + 1.0).cos()).collect::<Vec<f64>>())
        };
        let args = at.leaves();
        let dots: Vec<Array> = args.iter().zip([0.8, 1.9, 0.3]).map(|(x, k)| wave(k, x)).collect();
        let results = interpret(rule.primal(), args.clone());
        let forward = rule.jvp().expect("a rule of forward mode");
        let moved = interpret(forward, [&args[..], &results, &dots].concat());
        let bars: Vec<Array> = results.iter().map(|y| wave(1.3, y)).collect();
        let pulled = interpret(rule.vjp().expect("a rule of reverse mode"), [args, results, bars.clone()].concat());
        let dot =
            |x: &Array, y: &Array| Vector::<Concrete>::from_raw(x.clone()).dot(&Vector::from_raw(y.clone())).item();
        let [bar, moved] = [&bars[0], &moved[0]].map(|x| Tensor::<Concrete, 2>::from_raw(x.clone()));
        let back: Vec<f64> = pulled.iter().zip(&dots).map(|(x, y)| dot(x, y)).collect();
        let (there, size) = ((bar * moved).sum().item(), back.iter().map(|x| x.abs()).sum::<f64>());
        assert!((there - back.iter().sum::<f64>()).abs() < 2e-6 * size, "{name}: {there} and {back:?}");
    }
}

/// The weights of the states in a loss.
fn weights(n: usize) -> Vec<f64> {
    (0..n).map(|k| (1.0 + k as f64).sin()).collect()
}

/// The states, and the gradient of a weighted sum of the states in start, times and parameters.
fn states_and_gradient(ode: Ode, f: Equation, at: &Group<Concrete>, unit: f64) -> (Vector<Concrete>, Group<Concrete>) {
    let states = |x: &Group<ADVal<Concrete>>| polygrad::stack(ode.solve(f, &x.0, &x.1, &x.2)).flatten();
    let (all, pull) = direct::vjp(states, at);
    let [n] = all.shape();
    (all, pull(&(vector(&weights(n)) * unit)))
}

/// The same in forward mode.
fn states_and_slopes(ode: Ode, f: Equation, at: &Group<Concrete>) -> (Vector<Concrete>, Vector<Concrete>) {
    let both = move |(x, along): &(Group<Term>, Group<Term>)| {
        direct::jvp(|x: &Group<Dual<Term>>| polygrad::stack(ode.solve(f, &x.0, &x.1, &x.2)).flatten(), x, along)
    };
    let flat = at.ravel();
    let [n] = flat.shape();
    let axis = |k: usize| at.unravel(&vector(&(0..n).map(|j| f64::from(u8::from(j == k))).collect::<Vec<f64>>()));
    let push = Function::stage(both, &(at.clone(), at.clone()));
    let each: Vec<_> = (0..n).map(|k| push.run(&(at.clone(), axis(k))).expect("the same shapes")).collect();
    let weights = vector(&weights(each[0].0.shape()[0]));
    let slopes = polygrad::stack(each.iter().map(|(_, moved)| moved.dot(&weights)).collect::<Vec<_>>());
    (each[0].0.clone(), slopes)
}

fn off(found: &Vector<Concrete>, exact: &Vector<Concrete>) -> f64 {
    (found - exact).abs().max_all().item() / exact.abs().max_all().item()
}

/// Whatever the tolerances, and whatever the unit of the loss, which the state knows nothing of. What is exact is found in the other mode.
#[test]
fn gradients_are_as_exact_as_solutions() {
    let mut wrong = Vec::new();
    for (name, f, start, times, p) in equations() {
        let at = (vector(&start), vector(&times), vector(&p));
        let exact = states_and_slopes(Ode::default().relative(1e-10), f, &at);
        for (relative, absolute, unit) in [(1e-8, 0.0, 1e9), (1e-5, 1e-3, 1.0)] {
            let ode = Ode::default().relative(relative).absolute(absolute);
            let (states, gradient) = states_and_gradient(ode, f, &at, unit);
            let allowed = relative + absolute / exact.0.abs().max_all().item();
            let of_states = off(&states, &exact.0);
            // A derivative in a time is a rate, in which errors of the state are so much larger.
            let speed = if name == "contraction" { p[0] } else { 1.0 };
            let scale = polygrad::concat(
                0,
                [vector(&start) * 0.0 + 1.0, vector(&times) * 0.0 + 1.0 / speed, vector(&p) * 0.0 + 1.0],
            );
            let error = (gradient.ravel() / unit - &exact.1) * scale;
            let of_slopes = (error.abs().max_all() / exact.1.abs().max_all()).item();
            let said =
                format!("{name} at {relative:e}, {absolute:e}: {of_states:.1e}, {of_slopes:.1e} of {allowed:.1e}");
            // NaN is wrong, too.
            let right = of_slopes <= 20.0 * of_states.max(allowed);
            if !right {
                wrong.push(said);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The steps are made again in segments, as many attempts at a step as the root of those that are allowed: it does not matter where these
/// end. A state of many numbers, so that no more are kept.
#[test]
fn gradients_know_of_no_segments() {
    // Steps become long before the pulse, and then are too long; where the state is 0, how large it was decides.
    let pulse: Equation = |x, t, p| x * ((t - 1.0).square() * -p.at([0])).exp() - t;
    let at: Group<Concrete> = (vector(&vec![0.5; 350]), vector(&[0.0, 1.1]), vector(&[40.0]));
    let ode = Ode::default().relative(1e-5);
    let exists =
        |steps: &usize| states_and_gradient(ode.steps(*steps), pulse, &at, 1.0).1.ravel().sum().item().is_finite();
    let trips = (1..100).find(exists).expect("few steps are enough");
    assert!((6..20).contains(&trips), "{trips}");
    let whole = states_and_gradient(ode.steps(10_000), pulse, &at, 1.0).1.ravel();
    for segment in [trips.isqrt() + 1, trips / 2, trips.div_ceil(2), trips - 1, trips, trips + 1] {
        let steps = trips.max((segment - 1).pow(2));
        let found = states_and_gradient(ode.steps(steps), pulse, &at, 1.0).1.ravel();
        assert!(off(&found, &whole) < 1e-12, "{segment} of {trips}");
    }
    // Nor do derivatives of gradients.
    let slope = |steps: usize| {
        move |x: &Number<Dual<Concrete>>| {
            direct::grad(
                |x: &Number<_>| {
                    let p = x.insert_axis::<1>(0);
                    ode.steps(steps).solve(pulse, &vector(&vec![0.5; 350]), &vector(&[0.0, 1.1]), &p)[1].sum()
                },
                x,
            )
        }
    };
    let [found, whole] = [trips, 10_000].map(|steps| direct::jvp(slope(steps), &tensor(40.0), &tensor(1.0)).1);
    assert!((&found - &whole).abs().item() < 1e-10 * whole.abs().item(), "{found} and {whole}");
}

/// Of a stack, each solution has steps of its own, and so has its gradient.
#[test]
fn gradients_of_stacks_are_those_of_each() {
    fn last<T: BaseTensor>(p: &Number<T>) -> Number<T> {
        let rate = |x: &Number<_>, t: &Number<_>, p: &Number<_>| -(x * p * t);
        let ode = Ode::default().relative(1e-5).steps(300);
        ode.solve(rate, &Number::scalar(1.0), &Vector::constant([0.0, 1.0, 1.5]), p).swap_remove(2)
    }
    let at = [0.5, 40.0, 3.0];
    let all = |p: &Vector<_>| {
        let all: Vector<_> = vmap(last)(p);
        all.sum()
    };
    let found = Function::grad(all, &vector(&at)).run(&vector(&at)).expect("the same shapes");
    near("a stack", &found, &polygrad::stack(at.map(|p| direct::grad(last, &tensor(p)))), 1e-12);
}

/// Without an absolute tolerance, the state in another unit is the same state: so are its derivatives.
#[test]
fn solutions_know_of_no_units() {
    let logistic: Equation = |x, _, p| x * p.at([0]) * (1.0 - x / p.at([1]));
    let times = [0.3, 1.0, 1.0, 2.5];
    let of = |unit: f64| {
        let at = (vector(&[0.6 * unit, 0.1 * unit]), vector(&times), vector(&[1.3, 2.1 * unit]));
        let ode = Ode::default().absolute(0.0);
        let (states, gradient) = states_and_gradient(ode, logistic, &at, 1.0 / unit);
        let [a, b] = [0, 1].map(|k| gradient.2.at([k]));
        let parameters = polygrad::stack([a, b * unit]);
        [states / unit, gradient.0 * unit, gradient.1, parameters]
    };
    let exact = of(1.0);
    for unit in [1e-12, 1e-5, 1e7, 1e12] {
        for (found, exact) in of(unit).iter().zip(&exact) {
            assert!(off(found, exact) < 1e-7, "unit {unit:e}: {found} and {exact}");
        }
    }
}

/// More steps than can be made: an interval without a solution is given up, as are those after it.
#[test]
fn what_has_no_solution_is_given_up() {
    let ode = Ode::default().relative(1e-6).steps(1_000_000_000);
    let f = |x: &Number<_>, _: &Number<_>, p: &Number<_>| x.square() * p;
    let times = tensor([0.0, 0.5, 2.0, 3.0, 4.0]);
    let states = ode.solve(f, &tensor(1.0), &times, &tensor(1.0));
    assert!((states[1].item() - 2.0).abs() < 1e-4 && states[2..].iter().all(|x| x.item().is_nan()));
    let states = ode.solve(f, &tensor(f64::NAN), &times, &tensor(1.0));
    assert!(states.iter().all(|x| x.item().is_nan()));
    let gradient = grad(
        |p: &Number<_>| ode.solve(f, &Number::scalar(1.0), &Vector::constant([0.0, 2.0, 3.0]), p)[2].clone(),
        &tensor(1.0),
    );
    assert!(gradient.item().is_nan());
}

/// `x' = -17 p t^16 x`, whose rate is NaN where the state is negative: steps that become long while `t` is small come there, and are not made.
fn gated<T: BaseTensor>((start, times, p): &(Number<T>, Vector<T>, Number<T>)) -> Number<T> {
    let rate = |x: &Number<_>, t: &Number<_>, p: &Number<_>| {
        -(p * (x.powf(1.5) / x.sqrt()) * t.square().square().square().square() * 17.0)
    };
    let ode = Ode::default().relative(1e-7).absolute(1e-9).steps(120);
    ode.solve(rate, start, times, p).swap_remove(1).square()
}

#[test]
fn steps_that_are_not_made_have_no_derivatives() {
    type Gated<T> = (Number<T>, Vector<T>, Number<T>);
    fn formula<T: BaseTensor>((start, times, p): &Gated<T>) -> Number<T> {
        let powers = times.square().square().square().square() * times;
        (start * ((powers.at([0]) - powers.at([1])) * p).exp()).square()
    }
    let at: Gated<Concrete> = (tensor(1.0), tensor([0.0, 0.95]), tensor(10.0));
    let along: Gated<Concrete> = (tensor(0.4), tensor([0.1, -0.3]), tensor(0.5));
    let near = |way: &str, found: &Gated<Concrete>, known: &Gated<Concrete>| {
        near(way, &found.ravel(), &known.ravel(), 1e-6);
    };
    near("gradient", &direct::grad(gated, &at), &direct::grad(formula, &at));
    let curved = hvp(formula, &at, &along);
    let slope = |x: &Gated<ADVal<Concrete>>| direct::grad(gated, x).dot(&along.lift());
    near("reverse over reverse", &direct::grad(slope, &at), &curved);
    let moved = |x: &Gated<ADVal<Concrete>>| direct::jvp(gated, x, &along.lift()).1;
    near("reverse over forward", &direct::grad(moved, &at), &curved);
    let moved = |x: &Gated<Dual<Concrete>>| direct::grad(gated, x);
    near("forward over reverse", &direct::jvp(moved, &at, &along).1, &curved);
}

/// A parameter that is a whole number has no derivative.
#[test]
fn whole_numbers_are_parameters() {
    fn of<T: BaseTensor>(p: &Number<T>) -> Number<T> {
        let rate =
            |x: &Number<_>, _: &Number<_>, (p, k): &(Number<_>, Tensor<_, 0, i64>)| -(x * p * k.to_float::<f64>());
        let times = Vector::constant([0.0, 1.0]);
        let ode = Ode::default().steps(100);
        ode.solve(rate, &Number::scalar(1.0), &times, &(p.clone(), Tensor::scalar(2))).swap_remove(1)
    }
    for order in 1..=2 {
        let known = (-2.0f64).powi(order as i32) * (-1.0f64).exp();
        near("forward", &nth_derivative(of, order, &tensor(0.5)), &tensor(known), 1e-6);
    }
    let twice = direct::grad(|p: &Number<ADVal<Concrete>>| direct::grad(of, p), &tensor(0.5));
    near("reverse", &twice, &tensor(4.0 * (-1.0f64).exp()), 1e-6);
}
