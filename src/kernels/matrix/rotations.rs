//! Eigenvalues of symmetric matrices and singular values, by rotations.
//!
//! Rows and columns are rotated until a symmetric matrix is diagonal, and columns until they are orthogonal.
//!
//! Laws: there is a result for any finite matrix. Eigenvalues of a positive definite matrix whose rows and columns have
//! different magnitudes, and singular values of one whose columns have, are exact to some roundings each.
//!
//! J. Demmel and K. Veselić, "Jacobi's method is more accurate than QR" (1992).

use std::borrow::BorrowMut;

use polygrad_math::Arithmetic;

use super::least_squares::{identity_matrix, length};
use super::machine::{MachineCell, MatrixLayout, UniformMachine};

/// The most sweeps over all pairs of rows; up to ten are usual.
const SWEEPS: usize = 60;

/// The tangent and the cosine of the angle of a rotation, given half the cotangent of twice the angle.
#[inline(always)]
fn angle<M: UniformMachine>(_: M, ratio: M::Real) -> [M::Real; 2] {
    let (zero, one) = (M::Real::literal(0.0), M::Real::literal(1.0));
    let size = ratio.magnitude();
    let is_large = size.above(one / M::Real::literal(M::EPSILON));
    let length = M::Real::select(is_large, size, (size * size + one).root());
    let tangent = one / (size + length);
    let tangent = M::Real::select(ratio.below(zero), -tangent, tangent);
    [tangent, one / (tangent * tangent + one).root()]
}

/// Replaces a symmetric matrix by a diagonal one; the rows of `v`, if there is one, by those of the eigenvectors. A rotation
/// of two rows is a function of the rows, the sine of the angle, and 1 minus its cosine: so a small angle rounds little.
#[inline(always)]
pub(crate) fn diagonalize<M: UniformMachine>(
    m: M,
    (n, to): (usize, MatrixLayout),
    x: &mut M::Reals,
    mut v: Option<&mut M::Reals>,
    turn: impl Fn(&mut M::Reals, [M::Index; 2], [M::Real; 2]),
) {
    let (zero, one, epsilon) = (M::Real::literal(0.0), M::Real::literal(1.0), M::Real::literal(M::EPSILON));
    for _ in m.trips(SWEEPS) {
        let mut rotated = m.mask_cell(m.mask(false));
        for p in m.first(n) {
            for q in m.range(p + 1, n) {
                let [beside, first, second] = [to.at(p, q), to.at(p, p), to.at(q, q)].map(|at| m.load(x, at));
                let bound = epsilon * first.magnitude().root() * second.magnitude().root();
                let size = beside.magnitude();
                let is_small = size.at_most(bound) | size.below(M::Real::literal(M::LEAST));
                for _ in m.wherever(!is_small) {
                    rotated.set(m.mask(true));
                    let ratio = (second - first) / (M::Real::literal(2.0) * beside);
                    let [tangent, cosine] = angle(m, ratio);
                    let sine = tangent * cosine;
                    let turned = [sine, sine * sine / (one + cosine)];
                    turn(x, [p, q], turned);
                    m.store(x, to.at(p, p), first - tangent * beside);
                    m.store(x, to.at(q, q), second + tangent * beside);
                    m.store(x, to.at(p, q), zero);
                    m.store(x, to.at(q, p), zero);
                    for k in m.first(n) {
                        m.store(x, to.at(k, p), m.load(x, to.at(p, k)));
                        m.store(x, to.at(k, q), m.load(x, to.at(q, k)));
                    }
                    if let Some(v) = v.as_deref_mut() {
                        turn(v, [p, q], turned);
                    }
                }
            }
        }
        if m.leaves(!rotated.get()) {
            break;
        }
    }
}

/// Rotates two rows of `len` elements.
fn turn_rows<M: UniformMachine>(m: M, len: usize, x: &mut M::Reals, [p, q]: [M::Index; 2], [sine, less]: [M::Real; 2]) {
    let to = MatrixLayout::rows(len);
    for k in m.first(len) {
        let (a, b) = (m.load(x, to.at(p, k)), m.load(x, to.at(q, k)));
        m.store(x, to.at(p, k), a - (sine * b + less * a));
        m.store(x, to.at(q, k), b + (sine * a - less * b));
    }
}

/// Rotates rows of `len` elements until they are orthogonal, and those of `v`, if there is one, in the same way.
fn orthogonalize<M: UniformMachine>(m: M, [count, len]: [usize; 2], x: &mut M::Reals, mut v: Option<&mut M::Reals>) {
    let (zero, to) = (M::Real::literal(0.0), MatrixLayout::rows(len));
    let tolerance = M::Real::literal(M::EPSILON * (len as f64).sqrt());
    for _ in m.trips(SWEEPS) {
        let mut rotated = m.mask_cell(m.mask(false));
        for p in m.first(count) {
            for q in m.range(p + 1, count) {
                let [mut first, mut second, mut beside] = [(); 3].map(|()| m.real_cell(zero));
                for k in m.first(len) {
                    let (a, b) = (m.load(x, to.at(p, k)), m.load(x, to.at(q, k)));
                    first.set(first.get() + a * a);
                    second.set(second.get() + b * b);
                    beside.set(beside.get() + a * b);
                }
                let [first, second, beside] = [first.get(), second.get(), beside.get()];
                let size = beside.magnitude();
                let is_small = size.at_most(tolerance * first.root() * second.root());
                for _ in m.wherever(!(is_small | size.below(M::Real::literal(M::LEAST)))) {
                    rotated.set(m.mask(true));
                    let [tangent, cosine] = angle(m, (second - first) / (M::Real::literal(2.0) * beside));
                    let sine = tangent * cosine;
                    let turned = [sine, sine * sine / (M::Real::literal(1.0) + cosine)];
                    turn_rows(m, len, x, [p, q], turned);
                    if let Some(v) = v.as_deref_mut() {
                        turn_rows(m, count, v, [p, q], turned);
                    }
                }
            }
        }
        if m.leaves(!rotated.get()) {
            break;
        }
    }
}

/// Writes the order of numbers, ascending or descending, equal ones in their order.
fn sort<M: UniformMachine>(m: M, n: usize, descending: bool, x: impl Fn(M::Index) -> M::Real, order: &mut M::Ints) {
    for k in m.first(n) {
        let (mut rank, here) = (m.int_cell(m.int(0.into())), x(k));
        for j in m.first(n) {
            let other = x(j);
            let before = if descending { other.above(here) } else { other.below(here) };
            let earlier = before | (other.equals(here) & m.before(m.int(j), m.int(k)));
            let next = m.add(rank.get(), m.int(1.into()));
            rank.set(m.select_int(earlier, next, rank.get()));
        }
        for at in m.position(rank.get(), n) {
            m.store_int(order, at, m.int(k));
        }
    }
}

/// Whether the number of the largest absolute value, the first of equal ones, is negative.
fn points_down<M: UniformMachine>(m: M, n: usize, x: impl Fn(M::Index) -> M::Real) -> M::Mask {
    let (zero, mut largest) = (M::Real::literal(0.0), m.real_cell(M::Real::literal(0.0)));
    for i in m.first(n) {
        let x = x(i);
        largest.set(M::Real::select(x.magnitude().above(largest.get().magnitude()), x, largest.get()));
    }
    largest.get().below(zero)
}

fn turned<R: Arithmetic>(down: R::Mask, x: R) -> R {
    R::select(down, -x, x)
}

/// Writes the eigenvalues of the symmetric part of a matrix of finite elements in ascending order, and the eigenvectors as
/// columns; what there is memory for.
pub(crate) fn eigen<M: UniformMachine>(
    m: M,
    n: usize,
    a: &M::Reals,
    mut values: Option<&mut M::Reals>,
    mut vectors: Option<&mut M::Reals>,
) {
    let (to, half) = (MatrixLayout::rows(n), M::Real::literal(0.5));
    let (mut x, mut order) = (m.reals(n * n), m.ints(n));
    let (x, order) = (x.borrow_mut(), order.borrow_mut());
    let mut v = vectors.is_some().then(|| m.reals(n * n));
    for i in m.first(n) {
        for j in m.first(n) {
            m.store(x, to.at(i, j), m.load(a, to.at(i, j)) * half + m.load(a, to.at(j, i)) * half);
        }
    }
    if let Some(v) = &mut v {
        identity_matrix(m, n, (v.borrow_mut(), to));
    }
    let power = m.exponent(m.largest(x, m.first(n * n), |at| at));
    m.scale(x, m.first(n * n), |at| at, m.negated(power));
    let mut lines = v.as_mut().map(BorrowMut::borrow_mut);
    diagonalize(m, (n, to), x, lines.as_deref_mut(), |x, pair, by| turn_rows(m, n, x, pair, by));
    sort(m, n, false, |k| m.load(x, to.at(k, k)), order);
    for rank in m.first(n) {
        for k in m.position(m.load_int(order, rank), n) {
            if let Some(values) = values.as_deref_mut() {
                m.store(values, rank, m.scaled(m.load(x, to.at(k, k)), power));
            }
            if let (Some(vectors), Some(v)) = (vectors.as_deref_mut(), lines.as_deref()) {
                let down = points_down(m, n, |i| m.load(v, to.at(k, i)));
                for i in m.first(n) {
                    m.store(vectors, to.at(i, rank), turned(down, m.load(v, to.at(k, i))));
                }
            }
        }
    }
}

/// Writes the singular values of a matrix of finite elements in descending order, the left singular vectors as columns, and
/// the right ones as rows; what there is memory for. The QR factors of orthogonal columns are these over their lengths,
/// completed to an orthonormal basis, and their lengths.
pub(crate) fn singular<M: UniformMachine>(
    m: M,
    [rows, columns]: [usize; 2],
    a: &M::Reals,
    [mut left, mut values, mut right]: [Option<&mut M::Reals>; 3],
) {
    // The factors of a wide matrix are the transposed ones of the transposed matrix.
    let (wide, len, n) = (rows < columns, rows.max(columns), rows.min(columns));
    let (of_a, of_x) = (MatrixLayout::rows(columns).transposed(wide), MatrixLayout::rows(len));
    let (to, of_q) = (MatrixLayout::rows(n), MatrixLayout::rows(n));
    let [mut x, mut sorted, mut q] = [(); 3].map(|()| m.reals(n * len));
    let (x, sorted, q) = (x.borrow_mut(), sorted.borrow_mut(), q.borrow_mut());
    let (mut lengths, mut order) = (m.reals(n), m.ints(n));
    let (lengths, order) = (lengths.borrow_mut(), order.borrow_mut());
    let mut v = (left.is_some() || right.is_some()).then(|| m.reals(n * n));
    for j in m.first(n) {
        for i in m.first(len) {
            m.store(x, of_x.at(j, i), m.load(a, of_a.at(i, j)));
        }
    }
    if let Some(v) = &mut v {
        identity_matrix(m, n, (v.borrow_mut(), to));
    }
    let power = m.exponent(m.largest(x, m.first(n * len), |at| at));
    m.scale(x, m.first(n * len), |at| at, m.negated(power));
    let mut lines = v.as_mut().map(BorrowMut::borrow_mut);
    orthogonalize(m, [n, len], x, lines.as_deref_mut());
    for j in m.first(n) {
        m.store(lengths, j, length(m, x, m.first(len), |i| of_x.at(j, i)));
    }
    sort(m, n, true, |j| m.load(lengths, j), order);
    for rank in m.first(n) {
        for j in m.position(m.load_int(order, rank), n) {
            for i in m.first(len) {
                m.store(sorted, of_q.at(i, rank), m.load(x, of_x.at(j, i)));
            }
        }
    }
    m.orthogonal([len, n], sorted, q);
    for rank in m.first(n) {
        for j in m.position(m.load_int(order, rank), n) {
            // The lengths descend; the diagonal of the triangle may not, where a length is lost in the rounding of others.
            if let Some(values) = values.as_deref_mut() {
                m.store(values, rank, m.scaled(m.load(lengths, j), power));
            }
            let Some(v) = lines.as_deref() else { continue };
            let (long, short) = (|i| m.load(q, of_q.at(i, rank)), |i| m.load(v, to.at(j, i)));
            let down = if wide { points_down(m, n, short) } else { points_down(m, len, long) };
            let of_right = MatrixLayout::rows(columns);
            if let Some(left) = left.as_deref_mut() {
                for i in m.first(rows) {
                    m.store(left, to.at(i, rank), turned(down, if wide { short(i) } else { long(i) }));
                }
            }
            if let Some(right) = right.as_deref_mut() {
                for i in m.first(columns) {
                    m.store(right, of_right.at(rank, i), turned(down, if wide { long(i) } else { short(i) }));
                }
            }
        }
    }
}
