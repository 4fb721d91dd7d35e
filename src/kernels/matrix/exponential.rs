//! The matrix exponential and its derivative, by Padé approximants with scaling and squaring.
//!
//! Laws: the number of matrix products is bounded, since the exponents of floats are. Rows and columns that no nonzero
//! elements connect are computed apart, so a diagonal matrix gives the exponentials of its elements. The derivative is
//! that of the same steps; as it is linear in the direction, the direction is scaled first, and may have any size.
//!
//! The number of squarings and the degree follow A. Al-Mohy and N. Higham, "A new scaling and squaring algorithm for
//! the matrix exponential" (2009); the derivative follows "Computing the Frechet derivative of the matrix exponential"
//! (2009) by the same authors.

use super::dense::{DenseMatrix, LuFactors};
use super::{Real, abs, exponent, nan, scaled};

/// The degrees of Padé approximants, each with the norm up to which it and its derivative are exact to rounding.
const DOUBLE: &[(usize, f64)] = &[(3, 1.0e-2), (5, 2.0e-1), (7, 7.8e-1), (13, 4.25)];
const SINGLE: &[(usize, f64)] = &[(3, 3.0e-1), (5, 1.4), (7, 3.2)];

/// A matrix, and its tangent, if a derivative is computed.
struct Pair<E: Real> {
    x: DenseMatrix<E>,
    dx: Option<DenseMatrix<E>>,
}

impl<E: Real> Pair<E> {
    fn map(&self, f: impl Fn(&DenseMatrix<E>) -> DenseMatrix<E>) -> Self {
        Pair { x: f(&self.x), dx: self.dx.as_ref().map(f) }
    }

    fn times(&self, other: &Self) -> Self {
        let dx = self
            .dx
            .as_ref()
            .zip(other.dx.as_ref())
            .map(|(dx, dy)| dx.times(&other.x).zip(&self.x.times(dy), |a, b| a + b));
        Pair { x: self.x.times(&other.x), dx }
    }

    fn combined(&self, other: &Self, f: impl Fn(&DenseMatrix<E>, &DenseMatrix<E>) -> DenseMatrix<E>) -> Self {
        Pair { x: f(&self.x, &other.x), dx: self.dx.as_ref().zip(other.dx.as_ref()).map(|(a, b)| f(a, b)) }
    }

    /// The elements times a power of two.
    fn scaled(&self, power: i64) -> Self {
        self.map(|x| x.map(|x| scaled(x, power)))
    }

    fn plus_diagonal(mut self, c: E) -> Self {
        (0..self.x.rows()).for_each(|i| self.x[[i, i]] += c);
        self
    }
}

/// The base-2 logarithm of the 1-norm, the largest column sum of absolute values.
fn log_norm<E: Real>(x: &DenseMatrix<E>) -> f64 {
    let column = |j: usize| (0..x.rows()).map(|i| abs(x[[i, j]]).as_f64()).sum::<f64>();
    (0..x.rows()).map(column).fold(0.0, f64::max).log2()
}

/// The exponential of the matrix of elements `at(i, j)`, or its derivative in the direction `e`; all elements are
/// finite.
pub(crate) fn exponential<E: Real>(n: usize, at: &dyn Fn(usize, usize) -> E, e: Option<&[E]>, out: &mut [E]) {
    out.fill(E::ZERO);
    let connected = |i: usize, j: usize| at(i, j) != E::ZERO || e.is_some_and(|e| e[i * n + j] != E::ZERO);
    for part in parts(n, &connected) {
        let of = |f: &dyn Fn(usize, usize) -> E| DenseMatrix::from_fn(part.len(), |i, j| f(part[i], part[j]));
        let x = of(at);
        let found = match e {
            None if part.len() == 1 => x.map(num_traits::Float::exp),
            None => squared(Pair { x, dx: None }).x,
            Some(e) => {
                let dx = of(&|i, j| e[i * n + j]);
                let size = exponent(dx.elements().iter().copied());
                let unit = dx.map(|x| scaled(x, -size));
                let moved = squared(Pair { x, dx: Some(unit) }).dx.unwrap_or(dx);
                moved.map(|x| scaled(x, size))
            }
        };
        for (k, i) in part.iter().enumerate() {
            part.iter().enumerate().for_each(|(l, j)| out[i * n + j] = found[[k, l]]);
        }
    }
}

/// The connected components of the graph of rows and columns.
fn parts(n: usize, connected: &dyn Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..n).collect();
    let mut parts = Vec::new();
    while let Some(first) = left.pop() {
        let (mut part, mut done) = (vec![first], 0);
        while done < part.len() {
            let i = part[done];
            done += 1;
            left.retain(|j| {
                let joins = connected(i, *j) || connected(*j, i);
                if joins {
                    part.push(*j);
                }
                !joins
            });
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

/// The exponential of a matrix and its derivative, by scaling and squaring.
fn squared<E: Real>(a: Pair<E>) -> Pair<E> {
    let n = a.x.rows();
    let digits = -<E as num_traits::Float>::epsilon().as_f64().log2();
    let table = if digits > 30.0 { DOUBLE } else { SINGLE };
    // The matrix is scaled to a norm of at most 1, so that no power overflows.
    let size = exponent(a.x.elements().iter().copied()) + (n as f64).log2().ceil() as i64 + 1;
    let b = Pair { x: a.x.map(|x| scaled(x, -size)), dx: a.dx.as_ref().map(|dx| dx.map(|x| scaled(x, -size))) };
    let two = b.times(&b);
    let four = two.times(&two);
    let six = four.times(&two);
    let mean = |x: &DenseMatrix<E>, power: f64| log_norm(x) / power + size as f64;
    let plain = mean(&four.x, 4.0).max(mean(&six.x, 6.0));
    let powers = [&two, &four, &six];
    let (last, largest) = table[table.len() - 1];
    for (degree, theta) in &table[..table.len() - 1] {
        if plain <= theta.log2() && further(&b.x, size, *degree, digits) == 0 {
            return rational(&b, powers, size, *degree);
        }
    }
    let mut log = plain;
    if log > largest.log2() {
        let eight = mean(&four.x.times(&four.x), 8.0);
        log = log.min(eight.max(mean(&six.x, 6.0)));
        if last == 13 {
            log = log.min(eight.max(mean(&four.x.times(&six.x), 10.0)));
        }
    }
    // `log` is `-inf` for matrices with a small power that is 0.
    let mut times = (log - largest.log2()).ceil().max(0.0) as i64;
    times += further(&b.x, size - times, last, digits);
    let mut x = rational(&b, powers, size - times, last);
    for done in 0..times {
        let next = x.times(&x);
        let is_nan = |x: &E| num_traits::Float::is_nan(*x);
        let equal = |(a, b): (&E, &E)| a == b || (is_nan(a) && is_nan(b));
        let is_still = |a: &DenseMatrix<E>, b: &DenseMatrix<E>| a.elements().iter().zip(b.elements()).all(equal);
        let stays = is_still(&x.x, &next.x) && x.dx.as_ref().zip(next.dx.as_ref()).is_none_or(|(a, b)| is_still(a, b));
        x = next;
        // Each squaring doubles the relative error: after as many squarings as the mantissa has bits, a result is
        // determined only if it has left the range, as 0 or infinity.
        let undecided =
            |x: &DenseMatrix<E>| x.elements().iter().any(|x| num_traits::Float::is_finite(*x) && *x != E::ZERO);
        let open = undecided(&x.x) || x.dx.as_ref().is_some_and(undecided);
        if open && done as f64 >= digits {
            return x.map(|x| x.map(|_| nan()));
        }
        if stays && !open {
            break;
        }
    }
    x
}

/// The number of further squarings that the backward error of the Padé approximant of this degree needs at `2^size b`,
/// estimated by a power of the matrix of absolute values.
fn further<E: Real>(b: &DenseMatrix<E>, size: i64, degree: usize, digits: f64) -> i64 {
    let n = b.rows();
    let mut sums = vec![1.0; n];
    let norm = log_norm(b);
    let mut log = 0.0;
    for _ in 0..2 * degree + 1 {
        sums = (0..n).map(|j| (0..n).map(|i| sums[i] * abs(b[[i, j]]).as_f64()).sum()).collect();
        // The sums are divided by the largest one in each step, so that they neither overflow nor vanish.
        let most = sums.iter().fold(0.0f64, |most, x| most.max(*x));
        if most == 0.0 {
            return 0;
        }
        log += most.log2();
        sums.iter_mut().for_each(|x| *x /= most);
    }
    let factorial = |n: usize| (1..=n).map(|k| (k as f64).log2()).sum::<f64>();
    let first = 2.0 * factorial(degree) - factorial(2 * degree) - factorial(2 * degree + 1);
    let steps = 2.0 * degree as f64;
    let excess = first + steps * size as f64 + log - norm + digits + 1.0;
    (excess / steps).ceil().max(0.0) as i64
}

/// The Padé approximant of the exponential of this degree at `2^size b`; `powers` are `b^2`, `b^4` and `b^6`.
fn rational<E: Real>(b: &Pair<E>, powers: [&Pair<E>; 3], size: i64, degree: usize) -> Pair<E> {
    // The coefficients `c_j = (2 m - j)! m! / ((2 m)! (m - j)! j!)`.
    let mut c = vec![1.0];
    for j in 0..degree {
        let next = c[j] * (degree - j) as f64 / (((2 * degree - j) * (j + 1)) as f64);
        c.push(next);
    }
    let [two, four, six] = [0, 1, 2].map(|k| powers[k].scaled(2 * (k as i64 + 1) * size));
    let b = b.scaled(size);
    let powers = [&two, &four, &six];
    let zero = || b.map(|x| x.map(|_| E::ZERO));
    let sum = |from: usize| {
        let terms = powers.iter().zip(1..).filter(|(_, k)| from + 2 * k <= degree);
        terms.fold(zero(), |sum, (power, k)| {
            let c = E::of_f64(c[from + 2 * k]);
            sum.combined(power, |sum, power| sum.zip(power, |sum, x| sum + x * c))
        })
    };
    // The polynomial in even powers whose coefficients are every second one from `c[odd]` on.
    let half = |odd: usize| {
        let low = sum(odd).plus_diagonal(E::of_f64(c[odd]));
        if degree <= 7 {
            return low;
        }
        low.combined(&six.times(&sum(6 + odd)), |a, b| a.zip(b, |a, b| a + b))
    };
    let (u, v) = (b.times(&half(1)), half(0));
    let (above, below) = (v.combined(&u, |v, u| v.zip(u, |v, u| v + u)), v.combined(&u, |v, u| v.zip(u, |v, u| v - u)));
    let lu = LuFactors::of(&below.x);
    let x = lu.solve(&above.x);
    let dx = above.dx.zip(below.dx).map(|(above, below)| lu.solve(&above.zip(&below.times(&x), |a, b| a - b)));
    Pair { x, dx }
}
