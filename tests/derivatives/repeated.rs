//! Repeated derivatives of functions of one number: how long their programs are, and their values.
//!
//! Laws: the program of a derivative is optimized before it is differentiated again, and stays within the recorded
//! number of operations; its values are those of a closed form up to order 8.

use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, Function, Tensor, passes, symbolic, tensor};

type Number = Tensor<Term, 0>;

/// The number of derivatives.
const ORDERS: usize = 8;

/// A function, the numbers of operations of its derivatives, and the value of the `n`-th at `x`.
type Row = (&'static str, fn(&Number) -> Number, [usize; ORDERS], fn(usize, f64) -> f64);

fn factorial(n: usize) -> f64 {
    (1..=n).map(|k| k as f64).product()
}

fn sign(n: usize) -> f64 {
    if n.is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// The derivative of `x^p`.
fn power(p: f64, n: usize, x: f64) -> f64 {
    (0..n).map(|k| p - k as f64).product::<f64>() * x.powf(p - n as f64)
}

/// The imaginary part of `(x + i y)^n`.
fn imaginary(x: f64, y: f64, n: usize) -> f64 {
    (0..n).fold((1.0, 0.0), |(re, im), _| (re * x - im * y, re * y + im * x)).1
}

/// The derivative of `arctan (x / y)` in `x`: of the imaginary part of the logarithm of `y + i x`.
fn angle(n: usize, x: f64, y: f64) -> f64 {
    sign(n - 1) * factorial(n - 1) * imaginary(x, y, n) / (x * x + y * y).powi(n as i32)
}

/// The value at `y` of the `n`-th derivative of a function with value `y` whose derivative is this polynomial in it.
fn polynomial(slope: &[f64], n: usize, y: f64) -> f64 {
    let mut now = vec![0.0, 1.0];
    for _ in 0..n {
        let mut next = vec![0.0; now.len() + slope.len()];
        for (k, c) in now.iter().enumerate().skip(1) {
            slope.iter().enumerate().for_each(|(j, d)| next[k - 1 + j] += k as f64 * c * d);
        }
        now = next;
    }
    now.iter().rev().fold(0.0, |sum, c| sum * y + c)
}

/// The `n`-th derivative of `e^(-x^2)`: by its recurrence, `f' = -2 x f`.
fn bell(n: usize, x: f64) -> f64 {
    let (mut before, mut now) = (0.0, (-x * x).exp());
    for k in 0..n {
        (before, now) = (now, -2.0 * (x * now + k as f64 * before));
    }
    now
}

/// The functions. Before guarded products of the same factors were one, the eighth derivatives had 71, 118, 1207, 90,
/// 101, 47, 642 and 2 operations. A cotangent meets the factors of a partial one after the other, so that it stays in range:
/// therefore the derivatives of `1 / (1 + x^2)` are not made of the square of the quotient, which would be shorter.
const ROWS: [Row; 8] = [
    ("recip", |x| x.recip(), [3, 4, 4, 5, 5, 6, 5, 7], |n, x| power(-1.0, n, x)),
    ("1 / (1 + x^2)", |x| 1.0 / (1.0 + x * x), [7, 12, 21, 34, 52, 76, 107, 146], |n, x| angle(n + 1, x, 1.0)),
    ("atan2(x, 2)", |x| x.atan2(2.0), [1, 4, 11, 23, 42, 70, 109, 161], |n, x| angle(n, x, 2.0)),
    ("tanh", |x| x.tanh(), [1, 4, 8, 15, 26, 40, 60, 87], |n, x| polynomial(&[1.0, 0.0, -1.0], n, x.tanh())),
    (
        "sigmoid",
        |x| x.sigmoid(),
        [3, 5, 9, 15, 26, 43, 66, 97],
        |n, x| polynomial(&[0.0, 1.0, -1.0], n, 1.0 / (1.0 + (-x).exp())),
    ),
    ("exp(-x^2)", |x| (-(x * x)).exp(), [5, 8, 11, 14, 17, 20, 23, 26], bell),
    ("sqrt", |x| x.sqrt(), [3, 5, 6, 7, 9, 9, 10, 11], |n, x| power(0.5, n, x)),
    ("x^2.5", |x| x.pow(2.5), [2, 2, 2, 2, 2, 2, 2, 2], |n, x| power(2.5, n, x)),
];

/// The programs of the first derivatives.
fn derivatives(f: impl Fn(&Number) -> Number) -> Vec<Program> {
    let staged = Function::stage(|x: &Number| f(x), &tensor(1.0));
    let derivative = |p: &Program| Some(passes::optimize(&symbolic::derivative(p)));
    std::iter::successors(derivative(staged.program()), derivative).take(ORDERS).collect()
}

#[test]
fn their_programs_stay_short() {
    for (name, f, sizes, _) in ROWS {
        let found: Vec<usize> = derivatives(f).iter().map(Program::size).collect();
        assert_eq!(found, sizes, "{name}");
    }
}

#[test]
fn their_values_are_known() {
    for (name, f, _, known) in ROWS {
        for (n, program) in (1..).zip(derivatives(f)) {
            for x in [0.3, 0.75, 1.0, 1.9] {
                let value: f64 = interpret(&program, vec![Array::from(x)])[0].item().expect("a float");
                let known = known(n, x);
                // Derivatives of order n are of the size of n!, and cancel near their zeros.
                let tolerance = 1e-13 * factorial(n).max(known.abs());
                assert!(
                    (value - known).abs() <= tolerance,
                    "{name}, order {n} at {x}: {value}, but it is {known}\n{program}"
                );
            }
        }
    }
}
