//! Derivatives where generators of generic points do not go: zeros of factors, kinks, equal elements, infinities, and
//! branches that are not taken.
//!
//! Laws: all modes give one value there (a path with a factor of zero adds zero); a branch that a selection does not take
//! sends nothing, whatever its value is; smooth functions of a root have their smooth second derivatives if they are
//! recorded, and `inspect::kinks` names the kinks that rules did not remove.

use polygrad::inspect::kinks;
use polygrad::ops::{Binary, Unary};
use polygrad::tensor::Norm;
use polygrad::{
    Array, BaseTensor, Concrete, Conv, Function, Mode, Tensor, checkpoint, concat, direct, grad, hessian, hvp, iterate,
    jacobian_by, jvp, laplacian, nth_derivative, root, stack, symbolic, taylor, tensor, while_loop_within,
};

/// A function, and its derivatives at a point, by formula.
struct Case {
    name: &'static str,
    at: &'static [f64],
    gradient: &'static [f64],
}

fn at(x: &[f64]) -> Tensor<Concrete, 1> {
    Tensor::from_raw(Array::new(&[x.len()], x.to_vec()))
}

fn mask<T: BaseTensor>(holds: &[bool]) -> Tensor<T, 1, bool> {
    Tensor::from_raw(T::constant(Array::new(&[holds.len()], holds.to_vec())))
}

fn matrix<T: BaseTensor>(rows: [[f64; 2]; 2]) -> Tensor<T, 2> {
    Tensor::constant(rows)
}

/// The directions along the axes.
fn axes(n: usize) -> impl Iterator<Item = Tensor<Concrete, 1>> {
    (0..n).map(move |k| at(&(0..n).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>()))
}

/// The number that the closures of a law look up, with the function that it names: one function of all cases is compiled
/// once for each interpreter.
type Number = usize;

/// The gradient in every mode.
macro_rules! gradients {
    ($f:ident, $k:expr, $x:expr) => {{
        let (k, x): (Number, &Tensor<Concrete, 1>) = ($k, $x);
        let n = x.shape()[0];
        let along = |f: &dyn Fn(&Tensor<Concrete, 1>) -> f64| axes(n).map(|v| f(&v)).collect::<Vec<f64>>();
        let pushed = direct::linearize(|x: &Tensor<_, 1>| $f(k, x), x).1;
        let series = |v: &Tensor<Concrete, 1>| direct::taylor(|x: &Tensor<_, 1>| $f(k, x), x, v, 1)[1].item();
        vec![
            ("grad", grad(|x: &Tensor<_, 1>| $f(k, x), x).to_vec()),
            ("direct::grad", direct::grad(|x: &Tensor<_, 1>| $f(k, x), x).to_vec()),
            ("forward", jacobian_by(Mode::Forward, |x: &Tensor<_, 1>| $f(k, x), x).to_vec()),
            ("reverse", jacobian_by(Mode::Reverse, |x: &Tensor<_, 1>| $f(k, x), x).to_vec()),
            ("jvp", along(&|v| jvp(|x: &Tensor<_, 1>| $f(k, x), x, v).1.item())),
            ("direct::jvp", along(&|v| direct::jvp(|x: &Tensor<_, 1>| $f(k, x), x, v).1.item())),
            ("linearize", along(&|v| pushed(v).item())),
            ("taylor", along(&|v| taylor(|x: &Tensor<_, 1>| $f(k, x), x, v, 1)[1].item())),
            ("direct::taylor", along(&series)),
        ]
    }};
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-12 * b.abs()
}

fn all_are(name: &str, ways: Vec<(&str, Vec<f64>)>, expected: &[f64]) {
    for (way, found) in ways {
        let equal = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| same(*a, *b));
        assert!(equal, "{name} by {way} is {found:?}, not {expected:?}");
    }
}

const ZEROS: [Case; 20] = [
    Case { name: "x sqrt x", at: &[0.0, 1.0], gradient: &[0.0, 1.5] },
    Case { name: "x . sqrt x", at: &[0.0, 1.0], gradient: &[0.0, 1.5] },
    Case { name: "x (1 - x^1.1)", at: &[0.0, 1.0], gradient: &[1.0, -1.1] },
    Case { name: "(1 - x) asin x", at: &[1.0, 0.0], gradient: &[-std::f64::consts::FRAC_PI_2, 1.0] },
    Case { name: "(1 - x) acos x", at: &[1.0, 0.0], gradient: &[0.0, -1.0 - std::f64::consts::FRAC_PI_2] },
    Case { name: "sqrt (x y)", at: &[0.0, 1.0], gradient: &[f64::INFINITY, 0.0] },
    Case { name: "sqrt (x . x)", at: &[0.0, 0.0], gradient: &[0.0, 0.0] },
    Case { name: "A sqrt x", at: &[0.0, 0.25], gradient: &[0.0, 2.0] },
    Case { name: "a loop of x sqrt x", at: &[0.0, 1.0], gradient: &[0.0, 3.375] },
    Case { name: "|x| sqrt x", at: &[0.0, 4.0], gradient: &[0.0, 3.0] },
    Case { name: "max of equals", at: &[2.0, 2.0], gradient: &[1.0, 0.0] },
    Case { name: "std of equals", at: &[2.0, 2.0], gradient: &[0.0, 0.0] },
    Case { name: "cos (atan2 x x)", at: &[0.0, 1.0], gradient: &[0.0, 0.0] },
    Case { name: "cos (atan2 x x) through a loop", at: &[0.0, 1.0], gradient: &[0.0, 0.0] },
    Case { name: "cos (atan2 x x) of the trip before", at: &[0.0, 1.0], gradient: &[0.0, 0.0] },
    Case { name: "cos (atan2 x x) of the trip before, while", at: &[0.0, 1.0], gradient: &[0.0, 0.0] },
    Case { name: "cos (atan2 x x) behind a checkpoint", at: &[0.0, 1.0], gradient: &[0.0, 0.0] },
    Case { name: "sin (ln x) in no segment", at: &[0.0, 1.0], gradient: &[0.0, 1.0] },
    Case { name: "a start that no trip reads", at: &[0.0, 1.0], gradient: &[1.0, 1.0] },
    Case { name: "gaussian x", at: &[f64::INFINITY, 0.0], gradient: &[0.0, 0.0] },
];

/// Functions with a factor of zero, a kink, or equal elements.
fn zeros<T: BaseTensor>(k: Number, x: &Tensor<T, 1>) -> Tensor<T, 0> {
    match ZEROS[k].name {
        "x sqrt x" => (x * x.sqrt()).sum(),
        "x . sqrt x" => x.dot(&x.sqrt()),
        "x (1 - x^1.1)" => (x * (1.0 - x.powf(1.1))).sum(),
        "(1 - x) asin x" => ((1.0 - x) * x.asin()).sum(),
        "(1 - x) acos x" => ((1.0 - x) * x.acos()).sum(),
        "sqrt (x y)" => (x.at([0]) * x.at([1])).sqrt(),
        "sqrt (x . x)" => x.dot(x).sqrt(),
        "A sqrt x" => matrix([[0.0, 1.0], [0.0, 1.0]]).matvec(&x.sqrt()).sum(),
        "a loop of x sqrt x" => iterate(3, x, |_, y: Tensor<T, 1>| y.sqrt() * &y).sum(),
        "|x| sqrt x" => (x.abs() * x.sqrt()).sum(),
        "max of equals" => x.max_all(),
        "std of equals" => x.std(),
        "cos (atan2 x x)" => x.atan2(x).cos().sum(),
        "cos (atan2 x x) through a loop" => iterate(2, x.atan2(x), |_, y: Tensor<T, 1>| y.sin()).cos().sum(),
        "cos (atan2 x x) of the trip before" => {
            let trip = |_: &Tensor<T, 0, i64>, (_, y): (Tensor<T, 1>, Tensor<T, 1>)| (y.cos(), x.atan2(x));
            iterate(2, (x.clone(), x.clone()), trip).0.sum()
        }
        "cos (atan2 x x) of the trip before, while" => {
            let start = (x.clone(), x.clone(), x.at([1]) * 0.0);
            let trip = |(_, y, n): (Tensor<T, 1>, Tensor<T, 1>, Tensor<T, 0>)| (y.cos(), x.atan2(x), n + 1.0);
            while_loop_within(4, start, |(_, _, n)| n.lt(2.0), trip).0.sum()
        }
        "cos (atan2 x x) behind a checkpoint" => {
            checkpoint(1).iterate(2, x.clone(), |_, y: Tensor<T, 1>| y.atan2(&y)).cos().sum()
        }
        // The first element belongs to segment 5 of 1.
        "sin (ln x) in no segment" => x.ln().sin().segment_sum(&(5.0 - x * 5.0).to_int(), 1).sum(),
        "a start that no trip reads" => iterate(2, x.ln().sin(), |_, _: Tensor<T, 1>| x.clone()).sum(),
        "gaussian x" => x.gaussian().sum(),
        other => unreachable!("{other} has no formula"),
    }
}

#[test]
fn modes_agree_at_zeros_of_factors_and_kinks() {
    for (k, case) in ZEROS.iter().enumerate() {
        all_are(case.name, gradients!(zeros, k, &at(case.at)), case.gradient);
    }
}

/// Points at which some row is singular, or overflows.
const HARD: [f64; 8] = [0.0, 1.0, -1.0, -2.0, 0.5, 800.0, -1e200, 1e200];

/// `(x - c)` times a row, at the zero of that factor.
fn by_zero<T: BaseTensor>(k: Number, x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let row = Tensor::<T, 1>::from_raw(x.raw().unary(Unary::ALL[k]));
    ((x - Tensor::constant(HARD)) * row).sum()
}

#[test]
fn modes_agree_on_every_row_beside_a_zero() {
    for (k, op) in Unary::ALL.iter().enumerate() {
        // The derivative is that of the factor, times the value; the path through the row has a factor of zero.
        let expected: Vec<f64> = HARD.iter().map(|x| op.apply(*x)).collect();
        if expected.iter().all(|y| y.is_finite()) {
            all_are(op.name(), gradients!(by_zero, k, &at(&HARD)), &expected);
        }
    }
}

/// The value of a branch that is not taken, for each kind of operation.
const BRANCHES: [&str; 19] = [
    "p ln p",
    "quotient",
    "power",
    "NaN times",
    "dot of ln",
    "matrix of NaN",
    "matrix of ln",
    "outer",
    "logsumexp",
    "softmax",
    "max",
    "gather",
    "scatter",
    "concat",
    "prefix sum",
    "loop",
    "root",
    "solve",
    "square",
];

fn branch<T: BaseTensor>(k: Number, x: &Tensor<T, 1>) -> Tensor<T, 1> {
    let (zero, ln) = (x - x.stop_gradient(), (x - x.stop_gradient()).ln());
    match BRANCHES[k] {
        "p ln p" => &zero * &ln,
        "quotient" => x / &zero + zero.recip() * &zero,
        "power" => (x - 3.0).pow(x) + zero.powf(-0.5),
        "NaN times" => x * f64::NAN + x * f64::INFINITY,
        "dot of ln" => x * ln.dot(x),
        "matrix of NaN" => matrix([[f64::NAN, 1.0], [f64::INFINITY, 2.0]]).matvec(x),
        "matrix of ln" => (matrix([[1.0, 1.0], [1.0, 2.0]]) * (x.outer(x) - x.outer(x)).ln()).matvec(x),
        "outer" => ln.outer(x).sum_axis(1),
        "logsumexp" => x * (ln.logsumexp() / &zero.at([0])),
        "softmax" => ln.softmax::<0>(0) * x,
        "max" => x * ln.max_all() * &ln,
        "gather" => ln.gather([Tensor::constant([1, 0])]) * x,
        "scatter" => x.clone().scatter_add([Tensor::constant([1, 0])], &ln) * x,
        "concat" => concat(0, (ln.slice(0, ..1), x.slice(0, 1..))) * &ln,
        "prefix sum" => ln.cumsum(0) * x,
        "loop" => iterate(3, x, |_, y: Tensor<T, 1>| (&y - 3.0).ln() * &y),
        "root" => {
            // No real root, so the search fails.
            let of =
                |p: Tensor<T, 0>| root(|y: &Tensor<_, 0>, p: &Tensor<_, 0>| y.square() + p, &Tensor::scalar(1.0), &p);
            stack(&[of(x.at([0])), of(x.at([1]))])
        }
        "solve" => x.outer(x).solve(x),
        "square" => (x * f64::INFINITY).square() * x,
        other => unreachable!("{other} has no formula"),
    }
}

fn not_taken<T: BaseTensor>(k: Number, x: &Tensor<T, 1>) -> Tensor<T, 0> {
    (mask(&[false, false]).select(branch(k, x), x.square())).sum()
}

/// The first branch by a mask that no rule knows.
fn not_taken_by_value<T: BaseTensor>(k: Number, x: &Tensor<T, 1>) -> Tensor<T, 0> {
    x.lt(0.0).select(branch(k, x), x.square()).sum()
}

#[test]
fn a_selection_sends_nothing_to_the_other_branch() {
    let x = at(&[2.0, 1.5]);
    for (k, name) in BRANCHES.iter().enumerate() {
        let values = branch(k, &x).to_vec();
        assert!(values.iter().any(|y| !y.is_finite()), "{name}: {values:?} is finite, so nothing is tested");
        all_are(name, gradients!(not_taken, k, &x), &[4.0, 3.0]);
        all_are(name, gradients!(not_taken_by_value, k, &x), &[4.0, 3.0]);
    }
}

/// Every row of two arguments, in a branch that is not taken.
fn binary_row<T: BaseTensor>(k: Number, x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let hard: Tensor<T, 1> = Tensor::constant(HARD);
    let rows = [(&hard, x), (x, &hard), (x, x)];
    let all = rows.map(|(x, y)| Tensor::<T, 1>::from_raw(x.raw().binary(Binary::ALL[k], y.raw())));
    let branch = &all[0] * &all[1] * &all[2] / (x - x.stop_gradient());
    x.ge(f64::NEG_INFINITY).select(x.square() * 0.5, branch).sum()
}

#[test]
fn a_selection_sends_nothing_to_any_row_of_two_arguments() {
    let x: Vec<f64> = HARD.iter().rev().copied().collect();
    for (k, op) in Binary::ALL.iter().enumerate() {
        all_are(op.name(), gradients!(binary_row, k, &at(&x)), &x);
    }
}

/// A smooth function that is written with a kink, and its Hessian at a point.
const SMOOTH: [(&str, [f64; 2], [f64; 4]); 14] = [
    ("norm^2 / 2", [0.0, 0.0], [1.0, 0.0, 0.0, 1.0]),
    ("(1 + norm^2)^-1/2", [0.0, 0.0], [-1.0, 0.0, 0.0, -1.0]),
    ("hypot^2", [0.0, 0.0], [2.0, 0.0, 0.0, 2.0]),
    ("sqrt(sum x^2)^2 / 2", [0.0, 0.0], [1.0, 0.0, 0.0, 1.0]),
    ("std^2", [1.0, 1.0], [0.5, -0.5, -0.5, 0.5]),
    ("norm norm", [0.0, 0.0], [2.0, 0.0, 0.0, 2.0]),
    ("(norm of a line)^2", [0.0, 0.0], [2.0, 0.0, 0.0, 2.0]),
    ("exp(-(3 norm)^2)", [0.0, 0.0], [-18.0, 0.0, 0.0, -18.0]),
    ("(norm / 2)^2", [0.0, 0.0], [0.5, 0.0, 0.0, 0.5]),
    ("norm^3", [0.0, 0.0], [0.0; 4]),
    ("norm^2 by powf", [0.0, 0.0], [2.0, 0.0, 0.0, 2.0]),
    ("cos |x|", [0.0, 0.0], [-1.0, 0.0, 0.0, -1.0]),
    ("|x|^2", [0.0, 0.0], [2.0, 0.0, 0.0, 2.0]),
    ("|x|^4 / |x|^2 as norms", [0.0, 1.0], [2.0, 0.0, 0.0, 2.0]),
];

fn smooth<T: BaseTensor>(k: Number, x: &Tensor<T, 1>) -> Tensor<T, 0> {
    match SMOOTH[k].0 {
        "norm^2 / 2" => x.norm().square() * 0.5,
        "(1 + norm^2)^-1/2" => (x.norm().square() + 1.0).powf(-0.5),
        "hypot^2" => x.at([0]).hypot(x.at([1])).square(),
        "sqrt(sum x^2)^2 / 2" => x.square().sum().sqrt().square() * 0.5,
        "std^2" => x.std().square(),
        "norm norm" => x.norm() * x.norm(),
        "(norm of a line)^2" => x.norm_axis::<0>(0, Norm::Two).square(),
        "exp(-(3 norm)^2)" => (-(x.norm() * 3.0).square()).exp(),
        "(norm / 2)^2" => (x.norm() / 2.0).square(),
        "norm^3" => x.norm().powf(3.0),
        "norm^2 by powf" => x.norm().powf(2.0),
        "cos |x|" => x.abs().cos().sum(),
        "|x|^2" => x.abs().square().sum(),
        "|x|^4 / |x|^2 as norms" => x.norm().powf(4.0) / x.square().sum(),
        other => unreachable!("{other} has no formula"),
    }
}

#[test]
fn smooth_functions_of_a_root_have_their_second_derivatives() {
    for (k, (name, x, expected)) in SMOOTH.iter().enumerate() {
        let x = at(x);
        let along = |f: &dyn Fn(&Tensor<Concrete, 1>) -> Vec<f64>| axes(2).flat_map(|v| f(&v)).collect::<Vec<f64>>();
        let ways = vec![
            ("hessian", hessian(|x: &Tensor<_, 1>| smooth(k, x), &x).to_vec()),
            ("hvp", along(&|v| hvp(|x: &Tensor<_, 1>| smooth(k, x), &x, v).to_vec())),
        ];
        all_are(name, ways, expected);
        let trace = expected[0] + expected[3];
        let second = |v: &Tensor<Concrete, 1>| taylor(|x: &Tensor<_, 1>| smooth(k, x), &x, v, 2)[2].item() * 2.0;
        let ways = vec![
            ("laplacian", vec![laplacian(|x: &Tensor<_, 1>| smooth(k, x), &x).item()]),
            ("taylor", vec![axes(2).map(|v| second(&v)).sum()]),
        ];
        all_are(name, ways, &[trace]);
        let left = kinks(|x: &Tensor<_, 1>| smooth(k, x), &x);
        // The power 3/2 of a square has a kink of its own, whose effect is zero.
        assert!(left.is_empty() || *name == "norm^3", "{name}: {left:?}");
    }
}

/// The rule needs a value that is not negative: the square root is NaN elsewhere.
#[test]
fn squares_of_roots_of_negative_numbers_stay_nan() {
    let f = |x: &Tensor<_, 1>| x.sqrt().square().sum();
    let x = tensor([-1.0]);
    assert!(grad(f, &x).to_vec()[0].is_nan());
    assert!(Function::stage(f, &x).run(&x).is_ok_and(|y| y.item().is_nan()));
    let integers = |n: &Tensor<_, 1, i64>| n.to_float::<f64>().sqrt().square().sum();
    let n = Tensor::from_raw(Array::new(&[1], vec![-1]));
    assert!(Function::stage(integers, &n).run(&n).is_ok_and(|y: Tensor<Concrete, 0>| y.item().is_nan()));
}

#[test]
fn second_derivatives_agree_at_zeros_of_factors() {
    // x^2 sqrt x and x (1 - x^1.1): 3.75 sqrt x and -2.31 x^0.1.
    let x = tensor(0.0);
    let square = |x: &Tensor<_, 0>| x.square() * x.sqrt();
    assert_eq!(nth_derivative(square, 2, &x).item(), 0.0);
    assert_eq!(hessian(square, &x).item(), 0.0);
    let product = |x: &Tensor<_, 0>| x * (1.0 - x.powf(1.1));
    assert_eq!(nth_derivative(product, 2, &x).item(), 0.0);
    assert_eq!(hessian(product, &x).item(), 0.0);
}

#[test]
fn kinks_have_a_line_and_an_element() {
    fn matern<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        let r = x.norm() * 5f64.sqrt();
        (&r + r.square() / 3.0 + 1.0) * (-&r).exp()
    }
    let found = kinks(|x: &Tensor<_, 1>| matern(x), &tensor([0.0, 0.0]));
    assert!(found.iter().any(|kink| kink.operation == "sqrt"), "{found:?}");
    assert!(
        found
            .iter()
            .all(|kink| kink.place.as_ref().is_some_and(|place| place.to_string().contains("zeros_of_factors.rs")))
    );
    assert!(kinks(|x: &Tensor<_, 1>| matern(x), &tensor([1e-3, 0.0])).is_empty());

    let abs = |x: &Tensor<_, 1>| iterate(3, x, |_, y: Tensor<_, 1>| y.abs() - 1.0).sum();
    let found = kinks(abs, &tensor([2.5, 2.0]));
    assert_eq!((found.len(), found[0].index.clone(), found[0].trips.clone()), (1, vec![1], vec![2]), "{found:?}");
    let places: Vec<String> = kinks(|x: &Tensor<_, 1>| x.max_all() + x.relu().sum(), &tensor([0.0, 0.0]))
        .into_iter()
        .map(|kink| format!("{} {:?} {}", kink.operation, kink.index, kink.count))
        .collect();
    assert_eq!(places, ["max axis=0 [] 1", "relu [0] 2"]);
    // The shift of `logsumexp` is stopped.
    assert!(kinks(|x: &Tensor<_, 1>| x.logsumexp(), &tensor([1.0, 1.0, 1.0])).is_empty());
}

/// What the carry hides has a pole in the first trip alone.
#[test]
fn a_read_of_a_carry_hides_poles_of_earlier_trips() {
    fn read<T: BaseTensor>(x: &Tensor<T, 1>, by_index: bool) -> Tensor<T, 0> {
        let start = (x.clone(), Tensor::scalar(0.0));
        let (_, sum) = iterate(2, start, |i, (c, sum): (Tensor<T, 1>, Tensor<T, 0>)| {
            let first: Tensor<T, 0> = if by_index { c.at([i.clone() - i]) } else { c.slice(0, 0..1).sum() };
            (c.recip() * x, sum + first)
        });
        sum
    }
    // x0 + x0 / x0.
    let x = tensor([2.0, 0.0]);
    for by_index in [false, true] {
        assert_eq!(direct::grad(|x: &Tensor<_, 1>| read(x, by_index), &x).to_vec(), [1.0, 0.0]);
        assert_eq!(grad(|x: &Tensor<_, 1>| read(x, by_index), &x).to_vec(), [1.0, 0.0]);
    }
}

/// Layers, convolutions, reads of slices and of rows in a loop have neither poles nor selections.
#[test]
fn gradients_without_poles_and_selections_have_no_guards() {
    let zeros = |n, m| Tensor::<Concrete, 2>::zeros([n, m]);
    let image = |shape| Tensor::<Concrete, 4>::zeros(shape);
    let matrices = (zeros(5, 5), zeros(5, 5));
    type Two<T, const D: usize> = (Tensor<T, D>, Tensor<T, D>);
    let programs = [
        Function::stage(
            |(w, x): &Two<_, 2>| {
                let bias: Tensor<_, 1> = x.at([0]);
                ((x.matmul(w) + bias.insert_axis(0)).tanh().matmul(w) - x).square().mean()
            },
            &matrices,
        ),
        Function::stage(
            |(w, x): &Two<_, 2>| {
                let rows: Tensor<_, 2> = stack([w.at([1]), w.at([3])]);
                (rows * w.slice(0, 2..4) * x.slice(0, 0..2)).sum()
            },
            &matrices,
        ),
        Function::stage(
            |(w, x): &Two<_, 2>| {
                let rows = |i: &Tensor<_, 0, i64>, h: Tensor<_, 1>| {
                    let row: Tensor<_, 1> = x.at([i]);
                    (w.matvec(&h) * &row + row).sigmoid()
                };
                iterate(5, Tensor::<_, 1>::zeros([5]), rows).sum()
            },
            &matrices,
        ),
    ]
    .map(|f| f.program().clone());
    let conv = Function::stage(
        |(x, k): &Two<_, 4>| x.conv2d(k, Conv::default()).tanh().sum(),
        &(image([2, 3, 8, 8]), image([4, 3, 3, 3])),
    );
    for program in programs.iter().chain([conv.program()]) {
        let derivative = symbolic::grad(program).to_string();
        assert!(!derivative.contains("no_nan"), "{derivative}");
    }
}
