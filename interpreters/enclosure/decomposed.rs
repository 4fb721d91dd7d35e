//! Bounds of factors, minors, least squares, singular values and exponentials.
//!
//! Laws: factors and minors are those of the algorithms of the kernels, read at intervals ([`machine`](super::machine)). A
//! least-squares solution is that of a square system, which is proven regular together with all matrices near to it: so
//! the kernel, too, finds that rows or columns are independent. An exponential is a Taylor polynomial of a matrix over a
//! power of two, with a bound of the rest, and squares.

use super::Cell;
use super::interval::{ANYTHING, Interval};
use super::machine::{IntervalNumber, all_runs};
use super::matrix::{BACKWARD, IntervalRows, backward_error, common, eigenvalues, solve};
use super::{jumps, rows};
use crate::dtype::DType;
use crate::kernels::matrix::machine::Direct;
use crate::kernels::matrix::{elimination, factors, minors, reflections};
use crate::ops::{Unary, minors as sets};

/// Numbers that are at most 1, as rounded in sums of `n` terms.
pub(super) fn at_most_one(n: usize) -> Interval {
    Interval::between(-1.0, 1.0).blurred(BACKWARD * n as f64, DType::F64)
}

/// The results of an algorithm that replaces a matrix, or `lens` elements without information; whether there was one run.
fn read(
    a: &IntervalRows,
    lens: &[usize],
    algorithm: impl for<'d> Fn(&mut [IntervalNumber<'d>]) -> Vec<Vec<IntervalNumber<'d>>>,
) -> (Vec<Vec<Interval>>, bool) {
    // The result for other numbers is NaN.
    let is_finite = a.largest() < f64::INFINITY;
    let found = is_finite.then(|| {
        all_runs(|decisions| {
            let mut a: Vec<IntervalNumber<'_>> = a.of.iter().map(|x| decisions.number(*x)).collect();
            algorithm(&mut a).into_iter().map(|all| all.into_iter().map(|x| x.x).collect()).collect()
        })
    });
    match found.flatten() {
        Some((results, runs)) => (results, runs == 1),
        None => (lens.iter().map(|n| vec![ANYTHING; *n]).collect(), false),
    }
}

fn zeros<'d>(len: usize) -> Vec<IntervalNumber<'d>> {
    vec![polygrad_math::Arithmetic::literal(0.0); len]
}

/// The minors with some rows and columns left out.
pub(super) fn minors_without(a: &IntervalRows, without: usize) -> Vec<Interval> {
    let (n, len) = (a.n, sets::count(a.n, without).pow(2));
    if len == 0 {
        return Vec::new();
    }
    if n > sets::MOST {
        jumps::found();
        return vec![ANYTHING; len];
    }
    let (mut results, _) = read(a, &[len], |a| {
        let (sizes, mut out) = (vec![0; 2 * n], zeros(len));
        minors::expand(Direct::new(), (n, without), (a, &sizes[..]), &mut out[..]);
        vec![out]
    });
    results.swap_remove(0)
}

/// The QR factors. The computed triangle is that of a matrix close by, and so is the other factor, up to some roundings.
pub(super) fn qr(a: &IntervalRows, dtype: DType) -> [Vec<Interval>; 2] {
    let [m, n] = [a.n, a.columns];
    let k = m.min(n);
    let (mut results, _) = read(a, &[m * k, k * n], |a| {
        let (mut q, mut taus, mut sizes) = (zeros(m * k), zeros(k), vec![0; n]);
        reflections::qr_of_any_scale(Direct::new(), [m, n], a, &mut q[..], (&mut taus[..], &mut sizes[..]));
        vec![q, a[..k * n].to_vec()]
    });
    let [mut q, mut r] = [0, 1].map(|part| std::mem::take(&mut results[part]));
    if a.largest() == f64::INFINITY {
        jumps::found();
        return [q, r];
    }
    // Columns of length 1, and columns as long as those of the matrix.
    let units = BACKWARD * (m * n) as f64;
    q.iter_mut().for_each(|x| *x = common(x.blurred(units, dtype), Interval::between(-1.0, 1.0).blurred(units, dtype)));
    for (at, x) in r.iter_mut().enumerate() {
        let (i, j) = (at / n, at % n);
        let length = (0..m).fold(0.0f64, |s, i| s.hypot(a.at(i, j).magnitudes()[1]).next_up().next_up());
        let all = Interval::between(if i == j { 0.0 } else { -length }, length);
        *x = if i > j { Interval::ZERO } else { common(*x, all) };
        if i == j && (x.nan || x.lo <= 0.0) {
            jumps::found();
        }
    }
    [q, r]
}

/// The LU factors.
pub(super) fn lu(a: &IntervalRows) -> [Vec<Interval>; 2] {
    let n = a.n;
    let (mut results, is_one) = read(a, &[n * n, n * n], |a| {
        let (mut lower, mut order) = (zeros(n * n), vec![0; n]);
        factors::packed(Direct::new(), n, a, &mut order[..]);
        factors::apart(Direct::new(), n, a, &mut lower[..]);
        vec![lower, a.to_vec()]
    });
    if !is_one || results.iter().flatten().any(|x| x.nan || x.has_infinity()) {
        jumps::found();
    }
    [0, 1].map(|part| std::mem::take(&mut results[part]))
}

/// The sign of the orders of rows and columns by complete pivoting.
pub(super) fn sign_of_pivots(a: &IntervalRows) -> Interval {
    let n = a.n;
    let (results, is_one) = read(a, &[1], |a| {
        let (mut rows, mut columns) = (vec![0; n], vec![0; n]);
        vec![vec![elimination::pivots(Direct::new(), n, a, [&mut rows[..], &mut columns[..]])]]
    });
    if !is_one {
        jumps::found();
    }
    common(results[0][0], Interval::between(-1.0, 1.0)).or_nan(results[0][0].nan)
}

/// The singular values in descending order: the largest eigenvalues of `[[0, a], [a^T, 0]]`.
pub(super) fn singular_values(a: &IntervalRows) -> Option<Vec<Interval>> {
    let [m, n] = [a.n, a.columns];
    let values = eigenvalues(&bordered(Interval::ZERO, a))?;
    let positive = Interval { lo: 0.0, hi: f64::INFINITY, nan: false };
    Some(values[m.max(n)..].iter().rev().map(|x| common(*x, positive)).collect())
}

/// The matrix `[[x, a], [a^T, 0]]`, where `x` is on the diagonal.
fn bordered(x: Interval, a: &IntervalRows) -> IntervalRows {
    let (m, all) = (a.n, a.n + a.columns);
    IntervalRows::new(all, all, |i, j| match (i < m, j < m) {
        (true, true) if i == j => x,
        (true, false) => a.at(i, j - m),
        (false, true) => a.at(j, i - m),
        (true, true) | (false, false) => Interval::ZERO,
    })
}

/// The least-squares solution of least norm, or, if it `projects`, the part of `b` in the null space; `None` unless rows or
/// columns are proven to be independent.
pub(super) fn least_squares(a: &IntervalRows, b: &IntervalRows, dtype: DType, projects: bool) -> Option<IntervalRows> {
    let [m, n] = [a.n, a.columns];
    let largest = a.largest();
    if !(largest > 0.0 && largest < f64::INFINITY) {
        return None;
    }
    // The residual over this number, which is as large as the matrix.
    let unit = Interval::point(2f64.powi(largest.log2().ceil() as i32));
    let tall = if m < n { a.transposed() } else { a.clone() };
    let system = |a: &IntervalRows| bordered(unit, a);
    let k = m.min(n);
    // What is computed is the solution for a right-hand side close by.
    let b = &blurred(b, b.largest(), dtype);
    let zero_below = IntervalRows::new(tall.n + k, b.columns, |i, j| {
        let row = if m >= n || projects { Some(i) } else { i.checked_sub(tall.n) };
        row.filter(|row| *row < b.n).map_or(Interval::ZERO, |row| b.at(row, j))
    });
    let near = system(&tall.widened(backward_error(&tall, dtype)));
    solve(&near, &zero_below)?;
    if projects && m >= n {
        return Some(IntervalRows::new(n, b.columns, |_, _| Interval::ZERO));
    }
    let x = solve(&system(&tall), &zero_below)?;
    let (first, by) = if projects { (0, unit) } else { (if m < n { 0 } else { m }, Interval::point(1.0)) };
    let x = IntervalRows::new(n, b.columns, |i, j| x.at(first + i, j).product(by));
    Some(blurred(&x, if projects { b.largest() } else { x.largest() }, dtype))
}

/// Results that are rounded in sums of terms of a size.
pub(super) fn blurred(x: &IntervalRows, size: f64, dtype: DType) -> IntervalRows {
    let n = x.n.max(x.columns) as f64;
    let epsilon = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    x.widened(BACKWARD * n * n * epsilon * size)
}

/// The degree of Taylor polynomials, and the largest norm of their matrices.
const TERMS: usize = 16;
const NORM: f64 = 0.5;

/// The exponential.
pub(super) fn exponential(a: &IntervalRows) -> IntervalRows {
    let (n, norm) = (a.n, a.norm());
    let times = (norm / NORM).log2().ceil().max(0.0);
    if !(norm < f64::INFINITY && times < 60.0) {
        return IntervalRows::new(n, n, |_, _| ANYTHING);
    }
    let (by, identity) = (Interval::point(2f64.powi(-(times as i32))), IntervalRows::identity(n));
    let x = IntervalRows::new(n, n, |i, j| a.at(i, j).product(by));
    let mut sum = identity.clone();
    for k in (1..=TERMS).rev() {
        let next = x.product(&sum);
        sum = identity.plus(&IntervalRows::new(n, n, |i, j| next.at(i, j).quotient(Interval::point(k as f64))));
    }
    // The terms that are left are less than twice the first one.
    let rest = (1..=TERMS + 1).fold(2.0, |rest: f64, k| (rest * NORM / k as f64).next_up());
    let most = rows::unary(Unary::Exp, Interval::point(norm), DType::F64).hi;
    let (mut sum, all) = (sum.widened(rest), Interval::between(-most, most));
    for _ in 0..times as usize {
        sum = sum.product(&sum);
    }
    IntervalRows::new(n, n, |i, j| common(sum.at(i, j), all))
}

/// The derivative of the exponential in a direction: a part of the exponential of `[[a, e], [0, a]]`.
pub(super) fn exponential_tangent(a: &IntervalRows, e: &IntervalRows) -> IntervalRows {
    let (n, largest) = (a.n, e.largest());
    if largest == 0.0 || largest == f64::INFINITY {
        return IntervalRows::new(n, n, |_, _| if largest == 0.0 { Interval::ZERO } else { ANYTHING });
    }
    // The result is linear in the direction.
    let scale = Interval::point(2f64.powi(largest.log2().ceil().clamp(-1000.0, 1000.0) as i32));
    let both = IntervalRows::new(2 * n, 2 * n, |i, j| match (i < n, j < n) {
        (true, true) => a.at(i, j),
        (true, false) => e.at(i, j - n).quotient(scale),
        (false, true) => Interval::ZERO,
        (false, false) => a.at(i - n, j - n),
    });
    let x = exponential(&both);
    IntervalRows::new(n, n, |i, j| x.at(i, j + n).product(scale))
}
