//! Matrix products in which zero times any number is 0, and tangents of eigenvectors and singular vectors.
//!
//! Laws: a product of finite numbers is that of linear algebra. A column of a result depends on the same column of the
//! right-hand side alone, so what is infinite or NaN stays in its column, and a column of zeros stays zeros whatever
//! the matrix is.
#![allow(clippy::needless_range_loop, reason = "rows and columns are indices of several arrays")]

use super::{Real, is_finite, nan};
use crate::kernels::contract::{PlannedContraction, Scratch};
use crate::ops::Contract;

/// The most multiplications of a product that is computed by plain loops.
const LITTLE: usize = 4096;

/// `a b`, or `a^T b` if `transposed`, where `a` has `m` rows and `n` columns; a factor 0 makes a product 0.
pub(crate) fn product<E: Real>([m, n]: [usize; 2], a: &[E], transposed: bool, b: &[E], out: &mut [E]) {
    let [rows, depth] = if transposed { [n, m] } else { [m, n] };
    let columns = out.len().checked_div(rows).unwrap_or(0);
    if is_finite(a) && is_finite(b) {
        return finite([rows, depth, columns], a, transposed, b, out);
    }
    out.fill(E::ZERO);
    for i in 0..rows {
        let out = &mut out[i * columns..][..columns];
        for k in 0..depth {
            let x = a[if transposed { k * n + i } else { i * n + k }];
            if x != E::ZERO {
                let row = &b[k * columns..][..columns];
                out.iter_mut().zip(row).filter(|(_, y)| **y != E::ZERO).for_each(|(sum, y)| *sum += x * *y);
            }
        }
    }
}

fn finite<E: Real>([rows, depth, columns]: [usize; 3], a: &[E], transposed: bool, b: &[E], out: &mut [E]) {
    if rows * depth * columns > LITTLE {
        let left = if transposed { [2, 0] } else { [0, 2] };
        let product = Contract::axes(&[rows, columns, depth], &left, &[2, 1], &[0, 1]);
        return PlannedContraction::new(&product, E::DTYPE, [false; 2]).run(a, b, out, true, &mut Scratch::default());
    }
    out.fill(E::ZERO);
    for i in 0..rows {
        let out = &mut out[i * columns..][..columns];
        for k in 0..depth {
            let x = a[if transposed { k * rows + i } else { i * depth + k }];
            out.iter_mut().zip(&b[k * columns..]).for_each(|(sum, y)| *sum += x * *y);
        }
    }
}

/// A right-hand side, column by column: which columns are zeros, and which are numbers to compute with.
struct RightColumns<E> {
    zero: Vec<bool>,
    fine: Vec<bool>,
    /// The columns that were fine before what gaps of eigenvalues or singular values divide.
    regular: Vec<bool>,
    /// The elements, with zeros in columns that are not fine.
    of: Vec<E>,
}

impl<E: Real> RightColumns<E> {
    fn new(columns: usize, x: &[E], solvable: bool) -> RightColumns<E> {
        let all = |j: usize, holds: &dyn Fn(E) -> bool| x.iter().skip(j).step_by(columns).all(|x| holds(*x));
        let zero: Vec<bool> = (0..columns).map(|j| all(j, &|x| x == E::ZERO)).collect();
        let fine: Vec<bool> = (0..columns).map(|j| solvable && all(j, &num_traits::Float::is_finite)).collect();
        let of = x.iter().enumerate().map(|(at, x)| if fine[at % columns] { *x } else { E::ZERO }).collect();
        RightColumns { zero, regular: fine.clone(), fine, of }
    }

    /// Marks the columns with an element that is not finite, and makes them zeros.
    fn check(&mut self, coefficients: &mut [E]) {
        let columns = self.zero.len();
        for (at, x) in coefficients.iter_mut().enumerate() {
            self.fine[at % columns] &= num_traits::Float::is_finite(*x);
        }
        for (at, x) in coefficients.iter_mut().enumerate() {
            if !self.fine[at % columns] {
                *x = E::ZERO;
            }
        }
    }

    /// Marks the columns whose coordinates are not finite.
    fn check_regular(&mut self, coordinates: &mut [E]) {
        self.check(coordinates);
        self.regular.clone_from(&self.fine);
    }

    /// Fills the columns that are not fine with NaN, and the columns of zeros with zeros. The elements from `ends` on, the
    /// tangents of eigenvalues or singular values, have no gaps.
    fn finish(&self, out: &mut [E], ends: usize) {
        let columns = self.zero.len();
        for (at, x) in out.iter_mut().enumerate() {
            let fine = if at < ends { &self.fine } else { &self.regular };
            match (self.zero[at % columns], fine[at % columns]) {
                (true, _) => *x = E::ZERO,
                (false, false) => *x = nan(),
                (false, true) => {}
            }
        }
    }
}

/// `x / gap`, but 0 for 0.
fn over<E: Real>(x: E, gap: E) -> E {
    if x == E::ZERO { E::ZERO } else { x / gap }
}

/// See [`EighSolve`](crate::ops::Matrix::EighSolve).
pub(crate) fn eigh_solve<E: Real>(n: usize, x: &[E], w: &[E], v: &[E], out: &mut [E]) {
    if n == 0 {
        return;
    }
    let mut right = RightColumns::new(n, x, is_finite(w) && is_finite(v));
    let (mut coefficients, last) = (vec![E::ZERO; n * n], n * n..);
    if right.fine.contains(&true) {
        product([n, n], v, true, &right.of[..n * n], &mut coefficients);
    }
    right.check_regular(&mut coefficients);
    for j in 0..n {
        out[n * n + j] = coefficients[j * (n + 1)];
        for i in 0..n {
            let at = i * n + j;
            coefficients[at] = if i == j { right.of[last.start + j] } else { over(coefficients[at], w[j] - w[i]) };
        }
    }
    right.check(&mut coefficients);
    if right.fine.contains(&true) {
        product([n, n], v, false, &coefficients, &mut out[..n * n]);
    }
    right.finish(out, n * n);
}

/// See [`SvdSolve`](crate::ops::Matrix::SvdSolve).
pub(crate) fn svd_solve<E: Real>([m, n]: [usize; 2], x: &[E], [u, s, vt]: [&[E]; 3], out: &mut [E]) {
    let k = m.min(n);
    if k == 0 {
        return;
    }
    let mut right = RightColumns::new(k, x, [u, s, vt].iter().all(|x| is_finite(x)));
    if !right.fine.contains(&true) {
        return right.finish(out, out.len());
    }
    let [left, middle, ends] = [0, m * k, (m + n) * k];
    // The coordinates of both parts of the right-hand side in the singular vectors, and of the solution.
    let (mut of_u, mut of_v) = (vec![E::ZERO; k * k], vec![E::ZERO; k * k]);
    product([m, k], u, true, &right.of[left..middle], &mut of_u);
    product([k, n], vt, false, &right.of[middle..ends], &mut of_v);
    right.check_regular(&mut of_u);
    right.check_regular(&mut of_v);
    let mut rests = vec![E::ZERO; (m + n) * k];
    if m > k {
        product([m, k], u, false, &of_u, &mut rests[left..middle]);
    }
    if n > k {
        product([k, n], vt, true, &of_v, &mut rests[middle..]);
    }
    for at in 0..rests.len() {
        let is_outside = if at < middle { m > k } else { n > k };
        rests[at] = if is_outside { over(right.of[at] - rests[at], s[at % k]) } else { E::ZERO };
    }
    for j in 0..k {
        let (p, q) = (right.of[ends + j], right.of[ends + k + j]);
        out[ends + j] = of_u[j * (k + 1)] - s[j] * (p - q);
        out[ends + k + j] = of_v[j * (k + 1)] + s[j] * (p - q);
        for i in 0..k {
            let at = i * k + j;
            let (x, y) = (of_u[at], of_v[at]);
            (of_u[at], of_v[at]) = if i == j { (p, q) } else { both(x, y, [s[i], s[j]]) };
        }
    }
    for coefficients in [&mut of_u, &mut of_v, &mut rests] {
        right.check(coefficients);
    }
    product([m, k], u, false, &of_u, &mut out[left..middle]);
    product([k, n], vt, true, &of_v, &mut out[middle..ends]);
    out[..ends].iter_mut().zip(&rests).for_each(|(x, rest)| *x += *rest);
    right.finish(out, ends);
}

/// The solution of `s_j c - s_i d = x`, `s_j d - s_i c = y`. Singular values are not squared, since the squares
/// overflow or underflow before the values do.
fn both<E: Real>(x: E, y: E, [of_row, of_column]: [E; 2]) -> (E, E) {
    if x == E::ZERO && y == E::ZERO {
        return (E::ZERO, E::ZERO);
    }
    let (sum, gap) = (of_row + of_column, of_column - of_row);
    let (share, other) = (of_column / sum, of_row / sum);
    ((share * x + other * y) / gap, (other * x + share * y) / gap)
}
