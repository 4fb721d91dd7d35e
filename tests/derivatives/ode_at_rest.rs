//! Differential equations where the state says nothing: at rest, near rest, at 0, along polynomials of time, past kinks,
//! jumps and pulses; and what is said without a solution.
//!
//! Laws: at rest the derivative is that of the linearized equation, an exponential of a matrix, for random equations, in
//! both modes; elsewhere it is the one of the formula; errors are at most 20 times the tolerance. A solution that does
//! not exist is NaN, with a reason, and has no effect where its cotangent is 0.

use std::env;

use polygrad::inspect::first_nan;
use polygrad::program::Term;
use polygrad::random::Key;
use polygrad::{
    ADVal, Array, BaseTensor, Concrete, Dual, Ode, OdeError, StepLimit, Tensor, Tree, VerifiedOdeError, concat, direct,
    grad, hessian, jvp, odeint, stack, tensor, verified_odeint,
};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Rate = fn(&Vector<Term>, &Number<Term>, &Vector<Term>) -> Vector<Term>;
type Point<T> = (Vector<T>, Vector<T>);

/// Twenty tolerances.
const ALLOWED: f64 = 20.0 * 1e-8;

fn vector<T: BaseTensor>(x: &[f64]) -> Vector<T> {
    Vector::constant(Array::new(&[x.len()], x.to_vec()))
}

/// A number of the state at a time, from start and parameters.
fn at_time<T: BaseTensor>(f: Rate, (start, p): &Point<T>, time: f64, k: i64) -> Number<T> {
    odeint(f, start, &vector(&[0.0, time]), p)[1].at([k])
}

/// The derivatives in start and parameters in both modes are these.
#[track_caller]
fn derivatives(what: &str, f: Rate, start: &[f64], p: &[f64], (time, k): (f64, i64), expected: &[f64]) {
    let at: Point<Concrete> = (vector(start), vector(p));
    let size = expected.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
    let reverse = direct::grad(|x: &Point<ADVal<Concrete>>| at_time(f, x, time, k), &at).ravel();
    // All tangents in one run: the derivative along a direction.
    let along: Vec<f64> = (0..expected.len()).map(|k| 1.0 + 0.3 * k as f64).collect();
    let along = at.unravel(&vector(&along));
    let forward = direct::jvp(|x: &Point<Dual<Concrete>>| at_time(f, x, time, k), &at, &along).1.item();
    let off = (reverse - vector(expected)).abs().max_all().item();
    assert!(off <= ALLOWED * size, "{what}, reverse mode: {} tolerances", off / size / 1e-8);
    let slope = vector::<Concrete>(expected).dot(&along.ravel()).item();
    let off = (forward - slope).abs();
    assert!(off <= 2.0 * ALLOWED * size, "{what}, forward mode: {} tolerances", off / size / 1e-8);
}

#[test]
fn equilibria_have_the_derivatives_of_formulas() {
    let w = 9.81f64.sqrt();
    let pendulum: Rate = |x, _, p| stack([x.at([1]), x.at([0]).sin() * -p.at([0])]);
    for start in [0.0, 1e-9] {
        let of_gravity = -start * (w * 4.0).sin() * 2.0 / w;
        let expected = [(w * 4.0).cos(), (w * 4.0).sin() / w, of_gravity];
        derivatives("a center", pendulum, &[start, 0.0], &[9.81], (4.0, 0), &expected);
    }
    let attracted: Rate = |x, _, p| (x - p) * -2.0;
    let fallen = (-10f64).exp();
    derivatives("a stable point", attracted, &[1.0], &[1.0], (5.0, 0), &[fallen, 1.0 - fallen]);
    let logistic: Rate = |x, _, p| x * p.at([0]) * (1.0 - x / p.at([1]));
    let (grown, fallen) = (3.9f64.exp(), (-3.9f64).exp());
    derivatives("an unstable point", logistic, &[0.0], &[1.3, 2.0], (3.0, 0), &[grown, 0.0, 0.0]);
    derivatives("the capacity", logistic, &[2.0], &[1.3, 2.0], (3.0, 0), &[fallen, 0.0, 1.0 - fallen]);
    let drag: Rate = |x, _, p| stack([x.at([1]), p.at([0]) - x.at([1]) * 3.0]);
    let slowed = (1.0 - (-12f64).exp()) / 3.0;
    derivatives("a force of 0", drag, &[0.0, 0.0], &[0.0], (4.0, 0), &[1.0, slowed, (4.0 - slowed) / 3.0]);
}

/// `x' = a (x - p)` from `p`, and numbers that approach each other from the same value: tangents that are equal rest, so
/// that a probe of equal shares would have no error.
#[test]
fn states_that_are_equal_to_parameters_or_to_each_other_have_the_derivatives_of_formulas() {
    let (time, tolerances) = (5.0, |off: &Number<Concrete>| off.item() / 1e-8);
    for n in 1..5usize {
        let normal = Key::<Concrete>::new(n as i64).normal([20]).to_vec();
        let entry = |[i, j]: [usize; 2]| if i == j { -2.0 } else { 0.3 * normal[4 * i + j] };
        let a = Tensor::<Concrete, 2>::from_fn([n, n], entry);
        let moved = (&a * time).expm();
        let moved = Tensor::<Concrete, 1>::from_fn([n], |[j]| moved.at([0, j as i64]).item());
        let unit = Tensor::<Concrete, 1>::from_fn([n], |[i]| if i == 0 { 1.0 } else { 0.0 });
        let expected = concat(0, [moved.clone(), unit - moved]);
        for p in [vec![1.0; n], normal[16..16 + n].to_vec()] {
            let rate = |x: &Vector<Term>, _: &Number<Term>, p: &Vector<Term>| a.to_constant().matvec(&(x - p));
            let loss = |x: &Point<ADVal<Concrete>>| odeint(rate, &x.0, &vector(&[0.0, time]), &x.1)[1].at([0]);
            let off = (direct::grad(loss, &(vector(&p), vector(&p))).ravel() - &expected).abs().max_all();
            assert!(off.item() <= ALLOWED, "{n} numbers: {} tolerances", tolerances(&off));
        }
    }
    // Numbers that are leaves: `x0' = 2 (p0 - x0)`, `x1' = x0 - x1 + p1 - p0`.
    type Numbers<T> = ((Number<T>, Number<T>), (Number<T>, Number<T>));
    fn last<T: BaseTensor>((x, p): &Numbers<T>) -> Number<T> {
        type Two = (Number<Term>, Number<Term>);
        let rate = |x: &Two, _: &Number<Term>, p: &Two| ((&p.0 - &x.0) * 2.0, &x.0 - &x.1 + &p.1 - &p.0);
        odeint(rate, x, &vector(&[0.0, 5.0]), p).swap_remove(1).1
    }
    let one = || (tensor(1.0), tensor(1.0));
    let (slow, fast) = ((-5f64).exp(), (-10f64).exp());
    let expected = vector(&[slow - fast, slow, fast - slow, 1.0 - slow]);
    let off = (direct::grad(last, &(one(), one())).ravel() - expected).abs().max_all();
    assert!(off.item() <= ALLOWED, "numbers that are leaves: {} tolerances", tolerances(&off));
    // Parameters that are leaves, and equal, of which the difference counts.
    fn swung<T: BaseTensor>(p: &(Number<T>, Number<T>)) -> Number<T> {
        type Two = (Number<Term>, Number<Term>);
        let rate = |_: &Number<Term>, t: &Number<Term>, p: &Two| (&p.0 - &p.1) * (t * 9.0).cos();
        odeint(rate, &Number::scalar(0.0), &vector(&[0.0, 5.0]), p).swap_remove(1)
    }
    let swing = 45f64.sin() / 9.0;
    let off = (direct::grad(swung, &one()).ravel() - vector(&[swing, -swing])).abs().max_all();
    assert!(off.item() <= ALLOWED, "parameters that are leaves: {} tolerances", tolerances(&off));
    let meeting: Rate = |x, _, _| (x - x.mean()) * -2.0;
    for n in 2..7usize {
        let expected: Vec<f64> = (0..n).map(|k| (1.0 - fast) / n as f64 + if k == 0 { fast } else { 0.0 }).collect();
        derivatives("numbers that meet", meeting, &vec![1.0; n], &[], (time, 0), &expected);
    }
    let pair: Rate = |x, _, _| stack([x.at([2]) - x.at([0]), x.at([1]) * 0.0, x.at([0]) - x.at([2])]);
    derivatives("a pair", pair, &[1.0; 3], &[], (time, 0), &[(1.0 + fast) / 2.0, 0.0, (1.0 - fast) / 2.0]);
}

#[test]
fn states_that_are_polynomials_of_time_have_the_derivatives_of_formulas() {
    // The state is (t^2, 0) whatever the steps are; the difference from it decays, and its integral grows.
    let parabola: Rate = |x, t, p| {
        let off = x.at([0]) - t.square();
        stack([t * 2.0 - &off * 5.0, off * p.at([0])])
    };
    let sum = (1.0 - (-20f64).exp()) / 5.0;
    derivatives("a parabola", parabola, &[0.0, 0.0], &[1.0], (4.0, 1), &[sum, 1.0, 0.0]);
    let power: Rate = |x, t, p| x * 0.0 + p * t.powi(8);
    derivatives("a power", power, &[0.0], &[1.0], (2.0, 0), &[1.0, 512.0 / 9.0]);
    let wave: Rate = |x, t, p| x * 0.0 + p * (t * 20.0).sin();
    derivatives("a wave of amplitude 0", wave, &[0.0], &[0.0], (4.0, 0), &[1.0, (1.0 - 80f64.cos()) / 20.0]);
}

/// A rate with a kink or a jump: the estimate of the error of a step across it is too small.
#[test]
fn kinks_and_jumps_are_seen() {
    let kink: Rate = |x, t, p| x * 0.0 + p * (t - 1.0).relu();
    for (start, p) in [(1.0, 1.0), (0.0, 0.0)] {
        derivatives("a kink", kink, &[start], &[p], (2.0, 0), &[1.0, 0.5]);
    }
    let dose: Rate = |x, t, p| {
        let given = (t.gt(1.0) & t.lt(2.0)).select(p.at([0]), Number::scalar(0.0));
        stack([given - x.at([0]) * p.at([1]), x.at([0]) * p.at([1]) - x.at([1]) * 0.3])
    };
    // x0(2) = d (1 - e^-k) / k and x1(2) = d / .3 - (..), each by its formula at k = 1; then three units of time.
    let (e1, e3) = ((-1f64).exp(), (-3f64).exp());
    let (b1, b3) = ((-0.3f64).exp(), (-0.9f64).exp());
    let first = 1.0 - e1;
    let second = (1.0 - b1) / 0.3 - (b1 - e1) / 0.7;
    let last = second * b3 + first * (b3 - e3) / 0.7;
    let value = |d: f64| odeint(dose, &vector::<Concrete>(&[0.0, 0.0]), &vector(&[0.0, 5.0]), &vector(&[d, 1.0]));
    let off = value(10.0)[1].at([1]).item() - 10.0 * last;
    assert!(off.abs() < 10.0 * ALLOWED, "{off:e}");
    let slope = direct::grad(
        |p: &Vector<ADVal<Concrete>>| odeint(dose, &vector(&[0.0, 0.0]), &vector(&[0.0, 5.0]), p)[1].at([1]),
        &vector(&[10.0, 1.0]),
    );
    assert!((slope.at([0]).item() - last).abs() < 10.0 * ALLOWED, "{slope}");
}

/// A pulse between the stages of steps has no effect; steps that are shorter than it is see it.
#[test]
fn pulses_are_seen_by_short_steps() {
    fn pulse<T: BaseTensor>(p: &Number<T>) -> Number<T> {
        let rate = |_: &Number<_>, t: &Number<_>, p: &Number<_>| p * (-((t - 50.0) * 10.0).square()).exp();
        let ode = Ode::default().max_step(0.3);
        ode.solve(rate, &Number::scalar(0.0), &vector(&[0.0, 100.0]), p).swap_remove(1)
    }
    let expected = std::f64::consts::PI.sqrt() / 10.0;
    assert!((pulse(&tensor(1.0)).item() - expected).abs() < ALLOWED);
    for p in [1.0, 0.0] {
        assert!((direct::grad(pulse, &tensor(p)).item() - expected).abs() < ALLOWED);
    }
}

/// Random equations whose state rests, or almost: the derivative is an exponential of a matrix.
#[test]
fn random_equations_at_rest_have_the_derivatives_of_their_linearization() {
    let count = env::var("POLYGRAD_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let mut wrong = Vec::new();
    for case in 0..count {
        let off = AtRest::drawn(case).off();
        if off.is_nan() || off > ALLOWED {
            wrong.push(format!("case {case}: {} tolerances", off / 1e-8));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `x' = a (x - c) + b p + q (x - c)^2`, from near `c`, at `p = 0`.
struct AtRest {
    a: Tensor<Concrete, 2>,
    b: Tensor<Concrete, 2>,
    c: Vector<Concrete>,
    q: Vector<Concrete>,
    start: Vector<Concrete>,
    time: f64,
    weights: Vector<Concrete>,
}

impl AtRest {
    /// Centers, stable and unstable points, triangular and nilpotent matrices, at rates from .1 to 10.
    fn drawn(case: i64) -> AtRest {
        let key = Key::<Concrete>::new(case);
        let numbers: Vec<f64> = key.uniform([64]).to_vec();
        let normal: Vec<f64> = key.fold_in(1).normal([64]).to_vec();
        let pick = |k: usize, n: usize| (numbers[k] * n as f64) as usize;
        let (n, m, kind) = (1 + pick(0, 4), 1 + pick(1, 3), pick(2, 5));
        let rate = 10f64.powf(2.0 * numbers[3] - 1.0);
        let size = rate / (n as f64).sqrt();
        let of = |i: usize, j: usize| normal[4 * i + j] * size;
        let entry = |i: usize, j: usize| match kind {
            0 if i == j => 0.0,
            0 if i > j => -of(j, i),
            1 if i == j => of(i, j) - 2.5 * rate,
            2 if i > j => 0.0,
            3 if i >= j => 0.0,
            _ => of(i, j),
        };
        // Growth over more than some 8 units is that of rounding.
        let long = if kind < 2 { 10f64.powf(2.0 * numbers[4] - 1.0) } else { 2.0 * numbers[4] };
        let rest: Vec<f64> = (0..n).map(|i| if numbers[5 + i] < 0.5 { 0.0 } else { normal[16 + i] }).collect();
        let near = [0.0, 0.0, 1e-12, 1e-10][pick(10, 4)];
        let linear = numbers[11] < 0.3;
        AtRest {
            a: Tensor::from_fn([n, n], |[i, j]| entry(i, j)),
            b: Tensor::from_fn([n, m], |[i, j]| normal[20 + 3 * i + j] * rate),
            q: Tensor::from_fn([n], |[i]| if linear { 0.0 } else { normal[32 + i] * rate }),
            start: Tensor::from_fn([n], |[i]| rest[i] + near * normal[36 + i]),
            c: vector(&rest),
            time: long / rate,
            weights: Tensor::from_fn([n], |[i]| normal[40 + i]),
        }
    }

    /// The error of the gradient, relative to its largest number.
    fn off(&self) -> f64 {
        let ([n, m], time) = (self.b.shape(), self.time);
        let rate = |x: &Vector<Term>, _: &Number<Term>, p: &Vector<Term>| {
            let off = x - self.c.to_constant();
            self.a.to_constant().matvec(&off) + self.b.to_constant().matvec(p) + off.square() * self.q.to_constant()
        };
        let loss = |x: &Point<ADVal<Concrete>>| {
            odeint(rate, &x.0, &vector(&[0.0, time]), &x.1)[1].dot(&self.weights.to_constant())
        };
        let found = direct::grad(loss, &(self.start.clone(), Vector::zeros([m]))).ravel();
        let block = |[i, j]: [usize; 2]| match (i < n, j < n) {
            (true, true) => self.a.at([i as i64, j as i64]).item() * time,
            (true, false) => self.b.at([i as i64, (j - n) as i64]).item() * time,
            (false, _) => 0.0,
        };
        let moved = Tensor::<Concrete, 2>::from_fn([n + m, n + m], block).expm().slice(0, 0..n);
        let expected = (moved * self.weights.insert_axis::<2>(1)).sum_axis::<1>(0);
        ((&found - &expected).abs().max_all() / expected.abs().max_all()).item()
    }
}

#[test]
fn second_derivatives_at_rest_are_those_of_formulas() {
    // The logistic equation from 0: -2 r e^(rt) (e^(rt) - 1) / (r c).
    let logistic: Rate = |x, _, p| x * p.at([0]) * (1.0 - x / p.at([1]));
    let grown = 2.6f64.exp();
    let expected = -2.0 * grown * (grown - 1.0) / 2.0;
    let at: Point<Concrete> = (vector(&[0.0]), vector(&[1.3, 2.0]));
    let along: Point<Concrete> = (vector(&[1.0]), vector(&[0.0, 0.0]));
    let slope = |x: &Point<Dual<Concrete>>| direct::grad(|x| at_time(logistic, x, 2.0, 0), x);
    let curved = direct::jvp(slope, &at, &along).1.0.at([0]).item();
    assert!((curved / expected - 1.0).abs() < ALLOWED, "forward over reverse: {curved} and {expected}");
    let moved = |x: &Point<Dual<Concrete>>| direct::jvp(|x| at_time(logistic, x, 2.0, 0), x, &along.lift()).1;
    let curved = direct::jvp(moved, &at, &along).1.item();
    assert!((curved / expected - 1.0).abs() < ALLOWED, "forward over forward: {curved} and {expected}");
}

/// Robertson's reaction, which is stiff.
fn reaction(x: &Vector<Term>, _: &Number<Term>, p: &Vector<Term>) -> Vector<Term> {
    let [a, b, c] = [0, 1, 2].map(|k| x.at([k]));
    let (slow, fast, back) = (a * p.at([0]), b.square() * p.at([1]), b * c * p.at([2]));
    stack([&back - &slow, slow - &fast - back, fast])
}

#[test]
fn without_a_solution_there_is_a_reason() {
    let (start, times) = (vector::<Concrete>(&[1.0, 0.0, 0.0]), vector(&[0.0, 40.0]));
    let p = vector(&[0.04, 3e7, 1e4]);
    let few = Ode::default().steps(300);
    let error = few.try_solve(reaction, &start, &times, &p).expect_err("a stiff equation");
    let OdeError::TooManySteps { steps: 300, to: 40.0, time, why: StepLimit::Stability { rate }, .. } = error else {
        panic!("{error}");
    };
    assert!(time > 0.0 && time < 4.0 && rate > 100.0, "{error}");
    let words = error.to_string();
    assert!(words.contains("stiff") && words.contains("300 attempts") && words.contains("diffsol"), "{words}");
    let report =
        first_nan(|p: &Vector<_>| few.solve(reaction, &vector(&[1.0, 0.0, 0.0]), &vector(&[0.0, 40.0]), p), &p);
    let report = report.expect("a NaN");
    assert_eq!((report.operation.as_str(), report.reason.as_deref()), ("odeint", Some(words.as_str())));
    assert!(report.to_string().contains(&words), "{report}");

    // x = 1 / (1 - t).
    let square: Rate = |x, _, _| x.square();
    let error = Ode::default().try_solve(square, &vector(&[1.0]), &vector(&[0.0, 0.5, 2.0]), &vector(&[]));
    assert!(
        matches!(error, Err(OdeError::NoStep { from: 0.5, to: 2.0, time, .. }) if (time - 1.0).abs() < 1e-6),
        "{error:?}"
    );
    let fast: Rate = |x, t, p| x * p * (t * 1e5).cos();
    let error = few.try_solve(fast, &vector(&[1.0]), &vector(&[0.0, 1.0]), &vector(&[1e5]));
    assert!(matches!(error, Err(OdeError::TooManySteps { why: StepLimit::Accuracy, .. })), "{error:?}");
    for (start, time, p) in [(f64::NAN, 1.0, 1.0), (1.0, f64::INFINITY, 1.0), (1.0, 1.0, f64::NAN)] {
        let error = few.try_solve(fast, &vector(&[start]), &vector(&[0.0, time]), &vector(&[p]));
        assert!(matches!(error, Err(OdeError::NotFinite { .. })), "{error:?}");
    }
    let solved = few.try_solve(square, &vector(&[1.0]), &vector(&[0.0, 0.5]), &vector(&[])).expect("a solution");
    assert!((solved[1].at([0]).item() - 2.0).abs() < 1e-6);
}

/// The solution at a time with a solution, and at one without: a pole at 1, too few steps, a rate that is NaN from 1 on.
fn ended<T: BaseTensor>(x: &Number<T>, way: usize) -> [Number<T>; 2] {
    let rate = |y: &Number<Term>, t: &Number<Term>, x: &Number<Term>| match way {
        0 => y.square() * x,
        1 => x.sin() - y,
        _ => y * x * (-t + 1.0).sqrt(),
    };
    let ode = Ode::default().steps(if way == 1 { 20 } else { 300 });
    let times = vector(&[0.0, 0.25, if way == 1 { 1e4 } else { 2.0 }]);
    let y = ode.solve(rate, &Number::scalar(1.0), &times, x);
    [y[1].clone(), y[2].clone()]
}

/// Derivatives of every order in every mode are NaN where there is no solution, and not at earlier times.
#[test]
fn without_a_solution_all_derivatives_are_nan() {
    let x = tensor(1.0);
    let one = || Number::<Term>::scalar(1.0);
    for (way, k) in (0..3).flat_map(|way| [(way, 0), (way, 1)]) {
        let f = |x: &Number<Term>| ended(x, way)[k].clone();
        let tangent = |x: &Number<Term>| jvp(f, x, &one()).1;
        let gradient = |x: &Number<Term>| grad(f, x);
        let all = [
            ended(&x, way)[k].item(),
            grad(f, &x).item(),
            jvp(f, &x, &tensor(1.0)).1.item(),
            direct::grad(|x: &Number<ADVal<_>>| ended(x, way)[k].clone(), &x).item(),
            direct::jvp(|x: &Number<Dual<_>>| ended(x, way)[k].clone(), &x, &tensor(1.0)).1.item(),
            hessian(|x: &Vector<Term>| f(&x.at([0])), &tensor([1.0])).sum().item(),
            grad(gradient, &x).item(),
            grad(tangent, &x).item(),
            jvp(gradient, &x, &tensor(1.0)).1.item(),
            jvp(tangent, &x, &tensor(1.0)).1.item(),
            direct::jvp(|x: &Number<Dual<_>>| direct::grad(|x| ended(x, way)[k].clone(), x), &x, &tensor(1.0)).1.item(),
            // Of the third order where it takes no time.
            if way == 1 { grad(|x: &Number<Term>| grad(gradient, x), &x).item() } else { ended(&x, way)[k].item() },
        ];
        assert!(all.iter().all(|x| if k == 0 { x.is_finite() } else { x.is_nan() }), "{way}, {k}: {all:?}");
    }
}

/// A tank that runs empty: steps that are too long have roots of negative numbers, and shorter ones follow.
#[test]
fn a_rate_may_end_soon_after_the_last_time() {
    let falls: Rate = |x, _, _| -x.sqrt();
    for time in [1.0, 1.9, 1.99, 1.999, 1.9999] {
        let x = odeint(falls, &vector::<Concrete>(&[1.0]), &vector(&[0.0, time]), &vector(&[]))[1].at([0]).item();
        let off = (x - (1.0 - time / 2.0).powi(2)).abs();
        assert!(off <= ALLOWED, "{time}: {x} is off by {off}");
    }
}

/// A tangent in forward mode that is a millionth of the state has the tolerance relative to itself.
#[test]
fn small_tangents_are_as_exact_as_states() {
    let pushed: Rate = |x, t, p| p * (t * 9.0).cos() * 1e-6 - x;
    let at_end = |p: &Vector<Dual<Concrete>>| odeint(pushed, &vector(&[1.0]), &vector(&[0.0, 3.0]), p)[1].at([0]);
    let slope = direct::jvp(at_end, &vector(&[0.0]), &vector(&[1.0])).1.item();
    let expected = 1e-6 * (27f64.cos() + 9.0 * 27f64.sin() - (-3f64).exp()) / 82.0;
    assert!((slope / expected - 1.0).abs() <= ALLOWED, "{} tolerances", (slope / expected - 1.0) / 1e-8);
}

/// A parameter that is small, or small beside another one, has a gradient of the same tolerance.
#[test]
fn small_parameters_have_exact_gradients() {
    type Leaves<T> = (Number<T>, Number<T>);
    fn last<T: BaseTensor>(both: &Leaves<T>) -> Number<T> {
        let rate =
            |_: &Number<Term>, t: &Number<Term>, (p, q): &Leaves<Term>| (-t).exp() * p * 1e-3 + (t * 40.0).cos() * q;
        odeint(rate, &Number::scalar(0.0), &vector(&[0.0, 2.0]), both)[1].clone()
    }
    let expected = [1e-3 * (1.0 - (-2f64).exp()), 80f64.sin() / 40.0];
    for p in [0.0, 1e-9, 1.0, 1e3, 1e6, 1e9, 1e12] {
        for q in [0.0, 1e-300, 1e-6, 1e-3, 1.0, 1e6] {
            let (of_p, of_q) = grad(last, &(tensor(p), tensor(q)));
            let off = [of_p.item() - expected[0], of_q.item() - expected[1]];
            // The derivative in the start is 1.
            assert!(off.iter().all(|off| off.abs() <= ALLOWED), "{p:e}, {q:e}: {off:?}");
        }
    }
}

/// At rest the probe takes more steps than the state. With too few for it there is no gradient, rather than a wrong one.
#[test]
fn a_gradient_is_right_or_nan() {
    let attracted: Rate = |x, _, p| (x - p) * -2.0;
    let fallen = (-10f64).exp();
    let (mut right, mut none) = (0, 0);
    for steps in (5..30).chain([60, 100, 200, 300]) {
        let ode = Ode::default().steps(steps);
        let loss = |(x, p): &Point<ADVal<Concrete>>| ode.solve(attracted, x, &vector(&[0.0, 5.0]), p)[1].at([0]);
        let found = direct::grad(loss, &(vector(&[1.0]), vector(&[1.0]))).ravel();
        let off = (&found - vector(&[fallen, 1.0 - fallen])).abs().max_all().item();
        assert!(off <= ALLOWED || found.is_nan().all().item(), "{steps}: {found}");
        (right, none) = (right + usize::from(off <= ALLOWED), none + usize::from(off.is_nan()));
    }
    assert!(right > 0 && none > 15, "{right} and {none}");
}

/// A solution that is not selected has no effect on derivatives, though it does not exist.
#[test]
fn solutions_that_are_not_selected_send_nothing() {
    fn loss<T: BaseTensor>((x, p): &Point<T>) -> Number<T> {
        let square: Rate = |x, _, p| x.square() * p.at([0]);
        let ode = Ode::default().steps(200);
        let far = ode.solve(square, x, &vector(&[0.0, 0.5, 2.0]), p);
        x.at([0]) * 3.0 + far[2].at([0]).is_nan().select(Number::scalar(0.0), far[2].at([0])) + far[1].at([0])
    }
    // x(1/2) = x / (1 - x p / 2), at 1.
    let at: Point<Concrete> = (vector(&[1.0]), vector(&[1.0]));
    let gradient = direct::grad(loss, &at).ravel();
    assert!((gradient - vector(&[7.0, 2.0])).abs().max_all().item() < 1e-6);
    // A state that exists does not depend on the time of one that does not.
    fn early<T: BaseTensor>(times: &Vector<T>) -> Number<T> {
        let square: Rate = |x, _, _| x.square();
        odeint(square, &vector(&[1.0]), times, &vector(&[]))[1].at([0])
    }
    let slope = direct::grad(early, &vector::<Concrete>(&[0.0, 0.5, 2.0]));
    assert!((&slope - vector(&[-4.0, 4.0, 0.0])).abs().max_all().item() < 1e-6, "{slope}");
}

#[test]
fn verified_solutions_have_finite_times() {
    let rate = |x: &Number<_>, _: &Number<_>, _: &()| -x;
    for time in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let error = verified_odeint(rate, &tensor(1.0), &tensor(1.0), &[0.0, time], &()).expect_err("no finite time");
        assert!(matches!(error, VerifiedOdeError::NotFinite { index: 1, .. }), "{error}");
        let error = verified_odeint(rate, &tensor(1.0), &tensor(1.0), &[time, 1.0], &()).expect_err("no finite time");
        assert!(error.to_string().contains("must be finite"), "{error}");
    }
}
