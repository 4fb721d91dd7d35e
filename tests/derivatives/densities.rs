//! Law: log densities, and their gradients in both modes, are as exact as the rounding of the arguments allows, also
//! where parameters are so large that logarithms of gamma functions cancel.
//!
//! `tests/data/densities.txt` holds exact numbers, and how much the rounding of all arguments changes them, computed by
//! `tests/data/densities.py`.

use polygrad::stats::*;
use polygrad::{Array, BaseTensor, Concrete, Float, Tensor, direct, jvp};

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
