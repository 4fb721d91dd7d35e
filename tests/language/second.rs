//! Law: second derivatives are as exact as first ones, for every row, from the smallest to the largest argument, alone
//! and in small functions whose second derivatives are in range where those of their parts are not, as that of `x ln x`
//! is for small `x`.
//!
//! `tests/data/second.txt` holds exact numbers over all exponents, computed by `tests/data/second.py`.

use polygrad::ops::{Binary, Unary};
use polygrad::{Array, BaseTensor, Concrete, Float, Tensor, direct, grad, hvp};

/// How far second derivatives may be from the exact numbers, in units of the last place, beside what the last places of
/// the arguments are magnified.
pub(crate) const USUAL: f64 = 8.0;

/// Rows whose errors are relative to the largest of their three second derivatives, and the reason for each, which
/// `docs/operations.md` prints.
pub(crate) const BY_LARGEST: &[(&str, &str)] = &[
    (
        "hypot",
        "the first partial is the argument divided by the length, whose derivatives cancel where one argument is much larger; a \
         formula without cancellation would need the length twice",
    ),
    ("recip_real", "the first partial is a difference of squares, factored so that it is exact near the diagonal"),
];

/// Rows whose second derivatives are zero, or those of a product: there is nothing to round.
pub(crate) const EXACT: &[&str] =
    &["neg", "abs", "relu", "add", "sub", "mul", "mul_no_nan", "copysign", "min", "max", "polygamma"];

/// Functions of one number, by the name in the data.
fn of_one<T: BaseTensor, E: Float>(name: &str, x: &Tensor<T, 1, E>) -> Tensor<T, 1, E> {
    if let Some(op) = Unary::ALL.iter().find(|op| op.name() == name) {
        return Tensor::from_raw(x.raw().unary(*op));
    }
    match name {
        "x ln x" => x * x.ln(),
        "x^2 ln x" => x.square() * x.ln(),
        "ln^2 x" => x.ln().square(),
        "x sqrt x" => x * x.sqrt(),
        "x / (1 + x)" => x / x.shift(1.0),
        "x ln(1 + x)" => x * x.log1p(),
        "x asin x" => x * x.asin(),
        "x atan x" => x * x.atan(),
        "x^-3" => x.powi(-3),
        "x^-12" => x.powi(-12),
        _ => panic!("no function {name}"),
    }
}

/// Functions of two numbers, by the name in the data.
fn of_two<T: BaseTensor, E: Float>(name: &str, [x, y]: [&Tensor<T, 1, E>; 2]) -> Tensor<T, 1, E> {
    if let Some(op) = Binary::ALL.iter().find(|op| op.name() == name) {
        return Tensor::from_raw(x.raw().binary(*op, y.raw()));
    }
    match name {
        "x^2 / y" => x.square() / y,
        "x / y^2" => x / y.square(),
        _ => panic!("no function {name}"),
    }
}

/// Arguments, second derivatives, and by how much these magnify the last places of the arguments.
struct Point {
    arguments: Vec<f64>,
    second: Vec<f64>,
    magnified: f64,
}

/// The points of all functions, in the order of the file.
fn recorded() -> Vec<(&'static str, Vec<Point>)> {
    let mut all: Vec<(&str, Vec<Point>)> = Vec::new();
    for line in include_str!("../data/second.txt").lines() {
        if let Some(name) = line.strip_prefix("# ") {
            all.push((name, Vec::new()));
            continue;
        }
        let mut numbers: Vec<f64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        let magnified = numbers.pop().expect("a condition");
        let second = numbers.split_off(if numbers.len() == 2 { 1 } else { 2 });
        let (_, points) = all.last_mut().expect("a name before numbers");
        points.push(Point { arguments: numbers, second, magnified });
    }
    all
}

type Vector<E> = Tensor<Concrete, 1, E>;

fn vector<E: Float>(numbers: impl Iterator<Item = f64>) -> Vector<E> {
    Tensor::from_raw(Array::from(numbers.map(E::of_f64).collect::<Vec<E>>()))
}

/// The second derivatives at all points, by each way to compute them, with its name.
fn computed<E: Float>(name: &str, points: &[&Point]) -> Vec<(&'static str, Vec<Vec<f64>>)> {
    let wide = |x: Vector<E>| -> Vec<f64> { x.to_vec().into_iter().map(Float::as_f64).collect() };
    let x = vector::<E>(points.iter().map(|p| p.arguments[0]));
    if points[0].arguments.len() == 1 {
        let ones = Tensor::ones(x.shape());
        let reverse = direct::grad(|x| direct::grad(|x| of_one(name, x).sum(), x).sum(), &x);
        let recorded = grad(|x| grad(|x| of_one(name, x).sum(), x).sum(), &x);
        let forward = hvp(|x| of_one(name, x).sum(), &x, &ones);
        let mut all = vec![("direct reverse", reverse), ("reverse", recorded), ("forward over reverse", forward)];
        // A coefficient of a part of a composition may be out of range.
        if Unary::ALL.iter().any(|op| op.name() == name) {
            let series = direct::taylor(|x| of_one(name, x), &x, &ones, 2).swap_remove(2);
            all.push(("taylor", series.scale(2.0)));
        }
        return all.into_iter().map(|(way, d)| (way, vec![wide(d)])).collect();
    }
    let y = vector::<E>(points.iter().map(|p| p.arguments[1]));
    let first = grad(
        |(x, y)| grad(|(x, y)| of_two(name, [x, y]).sum(), &(x.clone(), y.clone())).0.sum(),
        &(x.clone(), y.clone()),
    );
    let second = grad(|(x, y)| grad(|(x, y)| of_two(name, [x, y]).sum(), &(x.clone(), y.clone())).1.sum(), &(x, y));
    vec![("reverse", vec![wide(first.0), wide(first.1), wide(second.1)])]
}

/// What is too far from the exact numbers.
fn misjudged<E: Float>(name: &str, points: &[Point]) -> Vec<String> {
    let least = <E as num_traits::Float>::min_positive_value().as_f64();
    let most = <E as num_traits::Float>::max_value().as_f64();
    let epsilon = <E as num_traits::Float>::epsilon().as_f64();
    let normal = |x: f64| x == 0.0 || (4.0 * least..most / 4.0).contains(&x.abs());
    let within =
        |p: &&Point| p.arguments.iter().all(|x| E::of_f64(*x).as_f64() == *x) && p.second.iter().all(|d| normal(*d));
    let points: Vec<&Point> = points.iter().filter(within).collect();
    assert!(points.len() >= 8, "{name}: {} points", points.len());
    let mut wrong = Vec::new();
    for (way, results) in computed::<E>(name, &points) {
        let mut worst = (0.0, String::new());
        for (k, result) in results.iter().enumerate() {
            for (point, got) in points.iter().zip(result) {
                let exact = point.second[k];
                let by_largest = BY_LARGEST.iter().any(|row| row.0 == name);
                let scale = point.second.iter().filter(|_| by_largest).fold(exact.abs(), |a, b| a.max(b.abs()));
                let unit = 2f64.powi(scale.max(least).log2().floor() as i32) * epsilon;
                let error = (got - exact).abs() / unit - 2.0 * point.magnified;
                let error = if error.is_nan() { f64::INFINITY } else { error };
                if error > worst.0 {
                    worst = (error, format!("{exact:e}, not {got:e}, at {:?}", point.arguments));
                }
            }
        }
        if worst.0 > USUAL {
            wrong.push(format!("{name} in {}, {way}: off by {:.3e}: {}", E::DTYPE, worst.0, worst.1));
        }
    }
    wrong
}

#[test]
fn second_derivatives_are_as_exact_as_first_ones() {
    let mut wrong = Vec::new();
    for (name, points) in recorded() {
        wrong.extend(misjudged::<f64>(name, &points));
        wrong.extend(misjudged::<f32>(name, &points));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_row_has_exact_second_derivatives_or_none_to_round() {
    let recorded = recorded();
    let rows = Unary::ALL.iter().map(|op| op.name()).chain(Binary::ALL.iter().map(|op| op.name()));
    for name in rows {
        let has = recorded.iter().any(|(row, _)| *row == name);
        assert!(has != EXACT.contains(&name), "{name} needs a formula in tests/data/second.py");
    }
    for (name, _) in BY_LARGEST {
        assert!(recorded.iter().any(|(row, _)| row == name), "{name}");
    }
}
