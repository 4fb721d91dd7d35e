//! Law: log densities, and their gradients in both modes, are as exact as the rounding of the arguments allows, also
//! where parameters are so large that logarithms of gamma functions cancel. Of heavy tails and of parameters near 0 all
//! derivatives up to the second one are right wherever they are in range, in all modes.
//!
//! `tests/data/densities.txt` holds exact numbers, and how much the rounding of all arguments changes them, computed by
//! `tests/data/densities.py`.

use polygrad::stats::*;
use polygrad::{
    Array, BaseTensor, Concrete, Float, Tensor, direct, grad, hessian, jvp, laplacian_along, taylor, tensor,
};

/// The density of this name at an integer and real arguments.
fn density<T: BaseTensor, E: Float>(name: &str, n: Option<i64>, v: &Tensor<T, 1, E>) -> Tensor<T, 0, E> {
    let at = |k: usize| v.row::<0>(k);
    match (name, n) {
        ("student_t", None) => student_t(&at(0), at(1), at(2), at(3)),
        ("cauchy", None) => cauchy(&at(0), at(1), at(2)),
        ("gamma", None) => gamma(&at(0), at(1), at(2)),
        ("inv_gamma", None) => inv_gamma(&at(0), at(1), at(2)),
        ("beta", None) => beta(&at(0), at(1), at(2)),
        ("neg_binomial_2_log", Some(n)) => neg_binomial_2_log(&Tensor::<T, 0, i64>::scalar(n), at(0), at(1)),
        _ => unreachable!("no density {name}"),
    }
}

/// A line of the file.
struct Point {
    name: &'static str,
    integer: Option<i64>,
    arguments: Vec<f64>,
    /// The value, and the gradient.
    exact: Vec<f64>,
    /// What the rounding of the arguments is magnified by in each of these.
    magnified: Vec<f64>,
}

fn recorded() -> Vec<Point> {
    let point = |line: &'static str| {
        let (name, rest) = line.split_once(' ').expect("a name");
        let (integer, rest) = rest.split_once(' ').expect("an integer or -");
        let numbers: Vec<f64> = rest.split(' ').map(|word| word.parse().expect("a number")).collect();
        // n arguments, and twice n + 1 results.
        let n = (numbers.len() - 2) / 3;
        let (arguments, results) = numbers.split_at(n);
        let (exact, magnified) = results.split_at(n + 1);
        let [arguments, exact, magnified] = [arguments, exact, magnified].map(<[f64]>::to_vec);
        Point { name, integer: integer.parse().ok(), arguments, exact, magnified }
    };
    include_str!("../data/densities.txt").lines().map(point).collect()
}

impl Point {
    /// The size of what is rounded in the value and in each part of the gradient, beside the arguments and the results.
    fn terms(&self) -> Vec<f64> {
        let x = &self.arguments;
        let logs = x.iter().filter(|x| **x != 0.0).fold(1.0f64, |most, x| most.max(x.abs().ln().abs()));
        let of_each = |size: f64| x.iter().map(|x| size / x.abs()).collect::<Vec<f64>>();
        let (value, gradient) = match self.name {
            // See the documentation of these two.
            "student_t" => {
                let mut gradient = of_each(1.0);
                gradient[1] = (1.0 + ((x[0] - x[2]) / x[3]).powi(2)) / x[1];
                (logs, gradient)
            }
            "neg_binomial_2_log" => {
                let y = self.integer.map_or(0.0, |y| y as f64);
                let size = (y + x[0].exp() + 1.0) * (y + x[1] + 3.0).ln() * (1.0 - x[1].ln().min(0.0));
                (size, of_each(size))
            }
            // Logarithms of gamma functions of small parameters.
            "beta" => (logs, of_each(1.0)),
            _ => (logs, vec![0.0; x.len()]),
        };
        [vec![value], gradient].concat()
    }

    /// What errs by more than `units` roundings.
    fn misjudged<E: Float>(&self, units: f64) -> Vec<String> {
        let vector = |v: Vec<E>| Tensor::<Concrete, 1, E>::from_raw(Array::from(v));
        let wide = |v: Vec<E>| v.into_iter().map(Float::as_f64).collect::<Vec<f64>>();
        let x = vector(self.arguments.iter().map(|x| E::of_f64(*x)).collect());
        let n = self.arguments.len();
        let (value, slope) = direct::value_and_grad(|x| density(self.name, self.integer, x), &x);
        let forward = |k: usize| {
            let e = vector((0..n).map(|j| E::of_f64(if j == k { 1.0 } else { 0.0 })).collect());
            jvp(|x| density(self.name, self.integer, x), &x, &e).1.item()
        };
        let (value, forward) = (vec![value.item()], (0..n).map(forward).collect());
        let epsilon = <E as num_traits::Float>::epsilon().as_f64();
        let terms = self.terms();
        let mut wrong = Vec::new();
        for (mode, gradient) in [("reverse", slope.to_vec()), ("forward", forward)] {
            for (k, got) in [wide(value.clone()), wide(gradient)].concat().into_iter().enumerate() {
                let exact = self.exact[k];
                if E::of_f64(exact).as_f64().is_infinite() {
                    continue;
                }
                let error = (got - exact).abs() / epsilon / (exact.abs() + self.magnified[k] + terms[k]);
                if error.is_nan() || error > units {
                    let (name, x) = (self.name, &self.arguments);
                    let what = if k == 0 { "value".into() } else { format!("{mode} derivative {k}") };
                    wrong.push(format!(
                        "{name} in {}: {what} is {got:e}, not {exact:e}, off by {error:.1e} roundings, at {:?} {x:?}",
                        E::DTYPE,
                        self.integer
                    ));
                }
            }
        }
        wrong
    }
}

#[test]
fn densities_are_as_exact_as_their_arguments() {
    let points = recorded();
    assert!(points.len() > 100);
    let wrong: Vec<String> =
        points.iter().flat_map(|p| [p.misjudged::<f64>(16.0), p.misjudged::<f32>(16.0)].concat()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A density of heavy tails at an outcome and a scale; of 1 degree of freedom it is that of Cauchy.
fn tail<T: BaseTensor, E: Float>(df: f64, half: bool, v: &Tensor<T, 1, E>) -> Tensor<T, 0, E> {
    let (x, scale) = (v.row::<0>(0), v.row::<0>(1));
    match (df == 1.0, half) {
        (true, false) => cauchy(&x, E::ZERO, scale),
        (true, true) => half_cauchy(&x, scale),
        (false, false) => student_t(&x, E::of_f64(df), E::ZERO, scale),
        (false, true) => half_student_t(&x, E::of_f64(df), scale),
    }
}

/// Whether a number is right to some roundings beside terms of this size, or the right one is out of range.
fn right<E: Float>(found: E, exact: f64, size: f64) -> bool {
    let [most, least] = [<E as num_traits::Float>::max_value(), <E as num_traits::Float>::min_positive_value()];
    let is_in_range = exact.abs() < 0.1 * most.as_f64() && size > 16.0 * least.as_f64();
    // Parts of a small number may be subnormal.
    let epsilon = <E as num_traits::Float>::epsilon().as_f64();
    !is_in_range || (found.as_f64() - exact).abs() <= 32.0 * epsilon * size + 8.0 * least.as_f64()
}

/// The derivatives in outcome and scale that are wrong in a mode.
fn wrong_tails<E: Float>(df: f64, half: bool, x: f64, scale: f64) -> Vec<String> {
    let [x, scale] = [x, scale].map(|x| E::of_f64(x).as_f64());
    let vector = |v: [f64; 2]| Tensor::<Concrete, 1, E>::new([2], v.map(E::of_f64).to_vec());
    let (at, axes) = (vector([x, scale]), [vector([1.0, 0.0]), vector([0.0, 1.0])]);
    // With `t^2 = (x / scale)^2 / df`: the parts of `1 + t^2`.
    let t = x / scale / df.sqrt();
    let (one, rest) = (1.0 / (1.0 + t * t), if t.abs() > 1e10 { 1.0 } else { t * t / (1.0 + t * t) });
    let more = df + 1.0;
    let slope = -more * rest / x;
    let first = [(slope, slope), ((more * rest - 1.0) / scale, (more * rest + 1.0) / scale)];
    let second = [
        (more * (rest - one) * rest / x / x, more * rest / x / x),
        ((1.0 - more * rest * (1.0 + 2.0 * one)) / scale / scale, (1.0 + more * rest) / scale / scale),
    ];
    let hess: Tensor<Concrete, 2, E> = hessian(|v: &Tensor<_, 1, E>| tail(df, half, v), &at);
    let gradients = [grad(|v: &Tensor<_, 1, E>| tail(df, half, v), &at), direct::grad(|v| tail(df, half, v), &at)];
    let mut wrong = Vec::new();
    let mut judge = |what: &str, k: usize, found: E, (exact, size): (f64, f64)| {
        if !right(found, exact, size.abs()) {
            let name = format!("{}{}", if half { "half " } else { "" }, E::DTYPE);
            wrong
                .push(format!("{name} df {df} at {x:e}, {scale:e}: {what} {k} is {:e}, not {exact:e}", found.as_f64()));
        }
    };
    for (k, axis) in axes.iter().enumerate() {
        let rows = Tensor::<Concrete, 2, E>::new([1, 2], axis.to_vec());
        judge("gradient", k, gradients[0].at([k]).item(), first[k]);
        judge("direct gradient", k, gradients[1].at([k]).item(), first[k]);
        judge("tangent", k, jvp(|v: &Tensor<_, 1, E>| tail(df, half, v), &at, axis).1.item(), first[k]);
        judge("direct tangent", k, direct::jvp(|v| tail(df, half, v), &at, axis).1.item(), first[k]);
        judge("Hessian", k, hess.at([k, k]).item(), second[k]);
        let along = laplacian_along(|v: &Tensor<_, 1, E>| tail(df, half, v), &at, &rows);
        judge("Laplacian", k, along.item(), second[k]);
        let series = taylor(|v: &Tensor<_, 1, E>| tail(df, half, v), &at, axis, 2);
        judge("series", k, series[2].item() + series[2].item(), second[k]);
    }
    // This one is the difference of two larger terms.
    let mixed = (2.0 * more * rest * one / scale / x, 2.0 * more * rest / scale / x);
    for (j, k) in [(0, 1), (1, 0)] {
        judge("mixed derivative", k, hess.at([j, k]).item(), mixed);
    }
    wrong
}

#[test]
fn derivatives_of_heavy_tails_are_right_wherever_they_are_in_range() {
    let mut wrong = Vec::new();
    for (df, half) in [(1.0, false), (1.0, true), (3.0, false), (0.5, true)] {
        for scale in [1e-5, 1.0, 1e10] {
            for x in [1e-3, 0.5, 3.0, 1e3, 4e3, 7e3, 1e10, 1e15, 1e30] {
                wrong.extend(wrong_tails::<f32>(df, half, x, scale));
            }
            for x in [0.5, 1e6, 1e8, 2e8, 1e78, 1e100, 1e150, 1e200] {
                wrong.extend(wrong_tails::<f64>(df, half, x, scale));
            }
        }
        // The square of the inverse of the scale overflows.
        wrong.extend(wrong_tails::<f32>(df, half, 1e-20, 3e-20));
        wrong.extend(wrong_tails::<f64>(df, half, 1e-200, 3e-200));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The derivative of a function of a number, by all verbs that give it.
macro_rules! slopes {
    ($f:path, $x:expr) => {{
        let (x, one) = (tensor($x), tensor($x / $x));
        let tangents = [jvp($f, &x, &one).1, direct::jvp($f, &x, &one).1];
        [grad($f, &x), direct::grad($f, &x)].into_iter().chain(tangents).map(|slope| slope.item())
    }};
}

#[test]
fn a_tiny_scale_has_its_tangent() {
    /// At an outcome of one scale.
    fn density<T: BaseTensor>(scale: &Tensor<T, 0, f32>) -> Tensor<T, 0, f32> {
        let x = scale.stop_gradient();
        logistic(&x, 0f32, scale) + laplace(&x, 0f32, scale)
    }
    for scale in [1f32, 1e-18, 3e-20, 1e-37] {
        // `(z tanh(z / 2) - 1 + z - 1) / scale`, where `z` is 1.
        let exact = (0.5f64.tanh() - 1.0) / f64::from(scale);
        for slope in slopes!(density, scale) {
            assert!(right(slope, exact, 2.0 / f64::from(scale)), "{slope:e} for {exact:e}");
        }
    }
}

#[test]
fn many_degrees_of_freedom_have_their_derivative_far_out() {
    fn density<T: BaseTensor>(df: &Tensor<T, 0, f32>) -> Tensor<T, 0, f32> {
        student_t(&Tensor::scalar(0.5), df, 1e30, 1.5)
    }
    // `(1 - ln(1 + t^2)) / 2` with `t^2 = 1e30 / 1.5^2`.
    let exact = 0.5 - 0.5 * (1e30f64 / 2.25).ln();
    for slope in slopes!(density, 1e30f32) {
        assert!(right(slope, exact, exact.abs()), "{slope} for {exact}");
    }
}

/// Without successes the probability is `(1 + mean / d)^-d`.
#[test]
fn no_success_has_the_derivative_in_a_tiny_dispersion() {
    fn none<T: BaseTensor>(d: &Tensor<T, 0>) -> Tensor<T, 0> {
        neg_binomial_2_log(&Tensor::scalar(0), 0.5, d)
    }
    for d in [1e-300, 1e-30, 1e-17, 1e-12, 1e-8, 0.3, 9.0, 1e3] {
        let odds = 0.5f64.exp() / d;
        let exact = odds / (1.0 + odds) - odds.ln_1p();
        for slope in slopes!(none, d) {
            assert!(right(slope, exact, 1.0 + odds.ln_1p()), "{slope} for {exact} at {d}");
        }
    }
}
