//! Linear algebra of one matrix, in blocks, and of batches of matrices.
//!
//! Laws: [`crate::ops::Matrix`] defines the results. A matrix with an element that is not finite, or without a result
//! (singular, not positive definite), gives NaN in all floats, and still valid positions in integers; columns of zeros
//! on the right give columns of zeros. The sign of an eigenvector, or of a pair of singular vectors, is such that the
//! element of the (left) vector with the largest absolute value is positive.

pub(crate) mod batch;
mod blocks;
pub(crate) mod elimination;
pub(crate) mod exponential;
pub(crate) mod factors;
pub(crate) mod formulas;
pub(crate) mod guarded;
pub(crate) mod least_squares;
pub(crate) mod machine;
pub(crate) mod minors;
mod orthogonal;
pub(crate) mod reflections;
pub(crate) mod rotations;
mod rows;
mod small;
mod spectral;

use num_traits::NumAssign;
use polygrad_math::Arithmetic;

use crate::dtype::{DType, Float};
use blocks::TriangleView;
pub(crate) use guarded::product as product_no_nan;
pub(crate) use least_squares::lstsq_factor;
use machine::{Direct, MatrixLayout};
pub(crate) use minors::{minors, pivots};
use rows::AlignedRows;

/// A float type of this crate, and, where the feature is on, of faer.
pub(crate) trait Real:
    Float + num_traits::Float + NumAssign + spectral::Large + Arithmetic<Mask = bool>
{
}

impl Real for f64 {}
impl Real for f32 {}

fn nan<E: Real>() -> E {
    <E as num_traits::Float>::nan()
}

fn abs<E: Real>(x: E) -> E {
    num_traits::Float::abs(x)
}

fn is_finite<E: Real>(x: &[E]) -> bool {
    x.iter().all(|x| num_traits::Float::is_finite(*x))
}

fn is_zero<E: Real>(x: &[E]) -> bool {
    x.iter().all(|x| *x == E::ZERO)
}

/// Fills the columns of `x` with zeros where those of `b` are zeros: whatever the matrix is, they are a solution.
fn zero_where<E: Real>(columns: usize, b: &[E], x: &mut [E]) {
    for j in 0..columns {
        if b.iter().skip(j).step_by(columns).all(|b| *b == E::ZERO) {
            x.iter_mut().skip(j).step_by(columns).for_each(|x| *x = E::ZERO);
        }
    }
}

/// The exponent `e` with `2^(e - 1) <= max |x| < 2^e`; 0 if the maximum is 0 or infinite.
fn exponent<E: Real>(x: impl Iterator<Item = E>) -> i64 {
    let most = x.fold(0.0f64, |most, x| most.max(abs(x).as_f64()));
    if most == 0.0 || !most.is_finite() {
        return 0;
    }
    // A subnormal number is scaled to a normal one first, so that the bits have its exponent.
    let (most, shift) = if most < f64::MIN_POSITIVE { (most * 2f64.powi(100), 100) } else { (most, 0) };
    ((most.to_bits() >> 52) & 0x7ff) as i64 - 1022 - shift
}

/// `2^power`, if that is a normal number.
fn power_of_two<E: Real>(power: i64) -> Option<E> {
    let most = if E::DTYPE == DType::F64 { 1000 } else { 120 };
    (power.abs() <= most).then(|| E::of_f64(2f64.powi(power as i32)))
}

/// `x 2^power`, rounded where it is subnormal.
fn scaled<E: Real>(mut x: E, power: i64) -> E {
    let step = if E::DTYPE == DType::F64 { 1000 } else { 120 };
    let mut left = power.clamp(-5000, 5000);
    while left != 0 && x != E::ZERO && num_traits::Float::is_finite(x) {
        let part = left.clamp(-step, step);
        x *= E::of_f64(2f64.powi(part as i32));
        left -= part;
    }
    x
}

/// The lower Cholesky factor of the symmetric part of a matrix.
pub(crate) fn cholesky<E: Real>(n: usize, a: &[E], l: &mut [E]) {
    let half = E::of_f64(0.5);
    let mut x = AlignedRows::zeros(n, n);
    let stride = x.stride;
    for (i, row) in x.all().chunks_exact_mut(stride).enumerate() {
        (i..n).for_each(|j| row[j] = (a[j * n + i] + a[i * n + j]) * half);
    }
    if n > 0 && !(is_finite(a) && blocks::cholesky(&mut x, [0, n])) {
        return l.fill(nan());
    }
    l.fill(E::ZERO);
    for j in 0..n {
        (j..n).zip(&x.row(j)[j..n]).for_each(|(i, x)| l[i * n + j] = *x);
    }
}

/// The LU factors of a matrix in one matrix, `l` below the diagonal and `u` on and above it, and the permutation: the
/// row of `a` at each row of `l u`.
pub(crate) fn lu_factor<E: Real>(n: usize, a: &[E], lu: &mut [E], p: &mut [i64]) {
    p.iter_mut().enumerate().for_each(|(i, p)| *p = i as i64);
    if !is_finite(a) {
        return lu.fill(nan());
    }
    if n > 0 {
        let mut x = AlignedRows::of(a, n);
        blocks::lu(&mut x, n, [0, n], p);
        x.copy_to(lu, n);
    }
}

/// The LU factors of a matrix as two matrices, and the permutation as in [`lu_factor`].
pub(crate) fn lu<E: Real>(n: usize, a: &[E], l: &mut [E], u: &mut [E], p: &mut [i64]) {
    lu_factor(n, a, u, p);
    for i in 0..n {
        for j in 0..n {
            let packed = u[i * n + j];
            (l[i * n + j], u[i * n + j]) = match j.cmp(&i) {
                std::cmp::Ordering::Less => (packed, E::ZERO),
                std::cmp::Ordering::Equal => (E::ONE, packed),
                std::cmp::Ordering::Greater => (E::ZERO, packed),
            };
        }
    }
}

/// The solution of `a x = b`, or of `a^T x = b` if `transposed`, by the LU factors of `a`.
pub(crate) fn solve<E: Real>(n: usize, (lu, p): (&[E], &[i64]), transposed: bool, b: &[E], x: &mut [E]) {
    let columns = b.len().checked_div(n).unwrap_or(0);
    if is_zero(b) {
        return x.fill(E::ZERO);
    }
    let part = |lower: bool| TriangleView { of: lu, n, transposed, lower: lower != transposed, unit: lower };
    let (lower, upper) = (part(true), part(false));
    if !(is_finite(lu) && upper.is_regular()) {
        x.fill(nan());
        return zero_where(columns, b, x);
    }
    let rows = p.iter().zip(0..n);
    if transposed {
        let mut y = b.to_vec();
        upper.solve(&mut y, columns);
        lower.solve(&mut y, columns);
        rows.for_each(|(p, i)| x[*p as usize * columns..][..columns].copy_from_slice(&y[i * columns..][..columns]));
    } else {
        rows.for_each(|(p, i)| x[i * columns..][..columns].copy_from_slice(&b[*p as usize * columns..][..columns]));
        lower.solve(x, columns);
        upper.solve(x, columns);
    }
    zero_where(columns, b, x);
}

/// The solution of a triangular system with a triangle of `a`: the lower or the upper one, of the system with the
/// transposed triangle or not, with a unit diagonal or not.
pub(crate) fn solve_triangular<E: Real>(n: usize, a: &[E], [lower, transposed, unit]: [bool; 3], b: &[E], x: &mut [E]) {
    let columns = b.len().checked_div(n).unwrap_or(0);
    if is_zero(b) {
        return x.fill(E::ZERO);
    }
    let triangle = TriangleView { of: a, n, transposed, lower: lower != transposed, unit };
    let counts = |i: usize| if lower { i * n..i * n + i + 1 } else { i * n + i..(i + 1) * n };
    let finite = (0..n).all(|i| {
        let row = &a[counts(i)];
        let row = match (unit, lower) {
            (false, _) => row,
            (true, true) => &row[..i],
            (true, false) => &row[1..],
        };
        is_finite(row)
    });
    if finite && triangle.is_regular() {
        x.copy_from_slice(b);
        triangle.solve(x, columns);
    } else {
        x.fill(nan());
    }
    zero_where(columns, b, x);
}

/// Whether an order of rows is odd.
fn is_odd(p: &[i64]) -> bool {
    let mut odd = false;
    let mut seen = vec![false; p.len()];
    for start in 0..p.len() {
        let (mut at, mut length) = (start, 0);
        while !seen[at] {
            seen[at] = true;
            at = p[at] as usize;
            length += 1;
        }
        odd ^= length > 0 && length % 2 == 0;
    }
    odd
}

/// The diagonal of the factors of a matrix, whether their order of rows is odd, and whether they are finite.
fn determinant<E: Real>(n: usize, a: &[E]) -> (Vec<E>, bool, bool) {
    let (mut lu, mut p) = (vec![E::ZERO; n * n], vec![0; n]);
    lu_factor(n, a, &mut lu, &mut p);
    let diagonal: Vec<E> = (0..n).map(|i| lu[i * n + i]).collect();
    let finite = is_finite(&lu);
    (diagonal, is_odd(&p), finite)
}

/// The determinant, by the LU factorization.
pub(crate) fn det<E: Real>(n: usize, a: &[E]) -> E {
    let (diagonal, odd, finite) = determinant(n, a);
    if !finite {
        return nan();
    }
    scaled_product(&diagonal, odd)
}

/// The product of numbers, with the other sign if it is `odd`.
fn scaled_product<E: Real>(x: &[E], odd: bool) -> E {
    let (product, size) = factors::product(Direct::<E>::new(), x.len(), |i| x[i], odd);
    scaled(product, size)
}

/// The sign of the determinant, and the logarithm of its absolute value.
pub(crate) fn slogdet<E: Real>(n: usize, a: &[E]) -> (E, E) {
    let (diagonal, odd, finite) = determinant(n, a);
    if finite { factors::sign_and_log(Direct::<E>::new(), n, |i| diagonal[i], odd).into() } else { (nan(), nan()) }
}

/// The inverse, by the LU factorization.
pub(crate) fn inverse<E: Real>(n: usize, a: &[E], out: &mut [E]) {
    let (mut lu, mut p) = (vec![E::ZERO; n * n], vec![0; n]);
    lu_factor(n, a, &mut lu, &mut p);
    inverse_of_factors(n, (&lu, &p), out);
}

/// The inverse of the matrix with these factors.
fn inverse_of_factors<E: Real>(n: usize, factors: (&[E], &[i64]), out: &mut [E]) {
    let (lu, p) = factors;
    let upper = TriangleView { of: lu, n, transposed: false, lower: false, unit: false };
    if !(is_finite(lu) && upper.is_regular()) {
        return out.fill(nan());
    }
    if n > 0 {
        blocks::inverse(n, lu, p, out);
    }
}

/// The QR factors: `q` with orthonormal columns, and `r`, upper triangular with a diagonal that is not negative.
pub(crate) fn qr<E: Real>([m, n]: [usize; 2], a: &[E], q: &mut [E], r: &mut [E]) {
    if m == 0 || n == 0 {
        return q.fill(E::ZERO);
    }
    if !is_finite(a) {
        q.fill(nan());
        return r.fill(nan());
    }
    orthogonal::factors([m, n], a, q, r);
}

/// Whether the element of the largest absolute value is negative.
fn points_down<E: Real>(x: impl Iterator<Item = E>) -> bool {
    x.fold(E::ZERO, |largest, x| if abs(x) > abs(largest) { x } else { largest }) < E::ZERO
}

/// A matrix over the power of two above all its elements, and the exponent of that power.
fn divided<E: Real>(a: impl Iterator<Item = E> + Clone) -> (Vec<E>, i64) {
    let size = exponent(a.clone());
    let power = power_of_two::<E>(-size);
    (a.map(|x| power.map_or_else(|| scaled(x, -size), |power| x * power)).collect(), size)
}

/// Whether all elements are finite; where not, the results become NaN.
fn finite_or_nan<E: Real>(a: &[E], results: &mut [&mut [E]]) -> bool {
    let finite = is_finite(a);
    if !finite {
        results.iter_mut().for_each(|x| x.fill(nan()));
    }
    finite
}

/// The eigenvalues of the symmetric part of a matrix in ascending order, and the eigenvectors as columns. A result
/// without room is not computed, and the others have the same bits.
pub(crate) fn eigh<E: Real>(n: usize, a: &[E], w: &mut [E], v: &mut [E]) {
    if n == 0 || !finite_or_nan(a, &mut [w, v]) {
        return;
    }
    let half = E::of_f64(0.5);
    let symmetric = (0..n * n).map(|at| a[at] * half + a[at % n * n + at / n] * half);
    let (unit, size) = divided(symmetric);
    let [values, vectors] = spectral::eigen(n, &unit, !v.is_empty());
    w.iter_mut().zip(values).for_each(|(to, x)| *to = scaled(x, size));
    for (k, vector) in vectors.chunks_exact(n).enumerate() {
        let down = points_down(vector.iter().copied());
        vector.iter().enumerate().for_each(|(i, x)| v[i * n + k] = if down { -*x } else { *x });
    }
}

/// The singular values in descending order, with the left singular vectors as columns and the right ones as rows.
/// Without room for vectors the values alone are computed, to the same bits.
pub(crate) fn svd<E: Real>([m, n]: [usize; 2], a: &[E], u: &mut [E], s: &mut [E], vt: &mut [E]) {
    let k = m.min(n);
    if k == 0 || !finite_or_nan(a, &mut [u, s, vt]) {
        return;
    }
    let (unit, size) = divided(a.iter().copied());
    let [left, values, right] = spectral::singular([m, n], &unit, !(u.is_empty() && vt.is_empty()));
    s.iter_mut().zip(values).for_each(|(to, x)| *to = scaled(x, size));
    for (j, (left, right)) in left.chunks_exact(m).zip(right.chunks_exact(n)).enumerate() {
        let down = points_down(left.iter().copied());
        let turned = |x: E| if down { -x } else { x };
        u.iter_mut().skip(j).step_by(k).zip(left).for_each(|(to, x)| *to = turned(*x));
        vt.iter_mut().skip(j * n).zip(right).for_each(|(to, x)| *to = turned(*x));
    }
}

/// The matrix exponential.
pub(crate) fn expm<E: Real>(n: usize, a: &[E], out: &mut [E]) {
    if !is_finite(a) {
        return out.fill(nan());
    }
    exponential::exponential(Direct::<E>::new(), n, (a, MatrixLayout::rows(n)), None, out);
}

/// The derivative of the matrix exponential at `a`, or at `a^T` if `transposed`, in the direction `e`.
pub(crate) fn expm_tangent<E: Real>(n: usize, a: &[E], transposed: bool, e: &[E], out: &mut [E]) {
    if is_zero(e) {
        return out.fill(E::ZERO);
    }
    if !(is_finite(a) && is_finite(e)) {
        return out.fill(nan());
    }
    let of_a = MatrixLayout::rows(n).transposed(transposed);
    exponential::exponential(Direct::<E>::new(), n, (a, of_a), Some(e), out);
}
