//! Recorded values of the elementwise rows and of their derivatives, and how far the rows are from them.
//!
//! `tests/data/accuracy.txt` holds, for each row, arguments and the exact results, computed with many digits by
//! `tests/data/accuracy.py`.

use std::collections::BTreeMap;

use polygrad::ops::{Binary, Partial, Unary};
use polygrad::{Array, BaseTensor, Concrete, Elem, Float};

/// The number whose last place is the unit of the value (`k = 0`) or of a partial of a row, where the exact number is
/// smaller: that of the terms that cancel there.
fn terms(name: &str, k: usize, point: &Point) -> f64 {
    let x = point.arguments[0];
    // Below 0, a logarithm of `x` and a cotangent.
    let of_digamma = if x < 0.0 { x.abs().ln().max(1.0) } else { 1.0 };
    match (name, k) {
        // These pass through 0 at numbers that are not floats, so that no relative error is small around them.
        ("lgamma" | "logaddexp", 0) | ("trigamma", 1) => 1.0,
        ("lgamma", 1) | ("digamma", 0) => of_digamma,
        // A difference of squares.
        ("recip_real", 1) => point.results[2].map_or(0.0, |other| other.near.abs()),
        ("polygamma", 0 | 1) => {
            let order = point.arguments[1] + k as f64;
            let size = || (1..=order as u32).map(f64::from).product::<f64>() * 2f64.powf(order + 1.0);
            if order == 0.0 {
                of_digamma
            } else if x < 0.0 && order % 2.0 == 0.0 {
                size()
            } else {
                0.0
            }
        }
        _ => 0.0,
    }
}

/// An exact number: the nearest `f64`, and what is missing in units of its last place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    pub(crate) near: f64,
    pub(crate) rest: f64,
}

/// The value and the partials of a row at some arguments; `None` where no convention fixes the number.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) arguments: Vec<f64>,
    pub(crate) results: Vec<Option<Exact>>,
}

/// The recorded points, by the name of the row.
pub(crate) fn recorded() -> BTreeMap<&'static str, Vec<Point>> {
    let mut rows: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    let mut current = "";
    for line in include_str!("../data/accuracy.txt").lines() {
        if let Some(name) = line.strip_prefix("# ") {
            current = name;
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<f64>().expect("a number");
        // n arguments, then n + 1 results of two words each.
        let n = (words.len() - 2) / 3;
        let result = |pair: &[&str]| match pair[0] {
            "?" => None,
            near => Some(Exact { near: number(near), rest: number(pair[1]) / 1000.0 }),
        };
        rows.entry(current).or_default().push(Point {
            arguments: words[..n].iter().map(|word| number(word)).collect(),
            results: words[n..].chunks(2).map(result).collect(),
        });
    }
    rows
}

/// The distance of `x` from its neighbour with a larger magnitude, in a type of so many digits, whose smallest normal
/// number is `least`.
fn last_place(x: f64, epsilon: f64, least: f64) -> f64 {
    let x = x.abs().max(least);
    2f64.powi(x.log2().floor() as i32) * epsilon
}

/// The error of a computed value (`partial` 0) or partial derivative in units of the last place; infinite where one of
/// the numbers is infinite or NaN and the other is not. The unit is that of `terms` where this number is larger.
fn error<E: Float>(computed: E, exact: Exact, partial: usize, terms: f64) -> f64 {
    let (least, epsilon): (f64, f64) =
        (<E as num_traits::Float>::min_positive_value().as_f64(), <E as num_traits::Float>::epsilon().as_f64());
    let expected = E::of_f64(exact.near).as_f64();
    let computed = computed.as_f64();
    if expected.is_nan() || computed.is_nan() || expected.is_infinite() || computed.is_infinite() {
        let same = expected == computed || (expected.is_nan() && computed.is_nan());
        return if same { 0.0 } else { f64::INFINITY };
    }
    if partial == 0
        && exact.near == 0.0
        && computed == 0.0
        && expected.is_sign_negative() != computed.is_sign_negative()
    {
        return f64::INFINITY;
    }
    // A partial below the smallest normal number may be 0.
    if partial > 0 && exact.near.abs() <= least && computed.abs() <= 2.0 * least {
        return 0.0;
    }
    let rest = exact.rest * last_place(exact.near, f64::EPSILON, f64::MIN_POSITIVE);
    ((computed - exact.near) - rest).abs() / last_place(exact.near.abs().max(terms), epsilon, least)
}

/// The number a partial derivative is.
fn slope<E: Elem + Float>(partial: Partial<Concrete>) -> E {
    partial.times(&Array::scalar(E::of_f64(1.0))).item::<E>().expect("a partial is one float")
}

/// The value and the partials that a row computes at a point; none that the table lacks.
pub(crate) fn computed<E: Float>(name: &str, arguments: &[f64]) -> Vec<E> {
    let args: Vec<Concrete> = arguments.iter().map(|x| Array::scalar(E::of_f64(*x))).collect();
    if let Some(op) = Unary::ALL.iter().find(|op| op.name() == name) {
        let y = args[0].unary(*op);
        return vec![y.item::<E>().expect("a float"), slope(op.derivative(&args[0], &y))];
    }
    let op = Binary::ALL.iter().find(|op| op.name() == name).unwrap_or_else(|| panic!("there is no row {name}"));
    let z = args[0].binary(*op, &args[1]);
    let (left, right) = (op.partial_left(&args[0], &args[1], &z), op.partial_right(&args[0], &args[1], &z));
    vec![z.item::<E>().expect("a float"), slope(left), slope(right)]
}

/// The largest errors of a row over its points: of the value and of each partial, with the arguments where they are.
pub(crate) fn largest<E: Float>(name: &str, points: &[Point]) -> Vec<(f64, Vec<f64>)> {
    let mut worst: Vec<(f64, Vec<f64>)> = Vec::new();
    for point in points {
        // In the narrow type: the points it has.
        if point.arguments.iter().any(|x| !x.is_nan() && E::of_f64(*x).as_f64() != *x) {
            continue;
        }
        for (k, got) in computed::<E>(name, &point.arguments).into_iter().enumerate() {
            if worst.len() <= k {
                worst.push((0.0, Vec::new()));
            }
            let Some(exact) = point.results[k] else { continue };
            let error = error(got, exact, k, terms(name, k, point));
            if error > worst[k].0 {
                worst[k] = (error, point.arguments.clone());
            }
        }
    }
    worst
}
