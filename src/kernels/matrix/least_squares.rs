//! Least squares by a complete orthogonal decomposition.
//!
//! QR factors, whose triangle is factored again with column pivoting if its columns may be linearly dependent.
//!
//! Laws: the solution is the shortest of the least-squares solutions. Columns count as dependent if, scaled to length
//! 1, less than `max(m, n)` machine epsilons of each are outside the span of the columns before it, in the order of
//! column pivoting; so scaling columns does not change the rank. A matrix with independent columns has the factors `q`
//! and `r`, to the bit at every scale of its columns.
//!
//! Method: G. Golub and C. Van Loan, *Matrix Computations*, section 5.5 (fourth edition).

use std::borrow::BorrowMut;

use polygrad_math::Arithmetic;

use super::blocks::TriangleView;
use super::factors::{SolvedTriangle, identity};
use super::guarded::GuardedProduct;
use super::machine::{Direct, MachineCell, MatrixLayout, UniformMachine};
use super::reflections::{reflect, reflection};
use super::{Real, abs, is_finite, nan};

/// A matrix in memory.
type MatrixPart<'a, M> = (&'a mut <M as super::machine::MatrixMachine>::Reals, MatrixLayout);

/// Writes the factors of a matrix of finite elements, and returns the rank: see
/// [`LstsqFactor`](crate::ops::Matrix::LstsqFactor).
pub(crate) fn decompose<M: UniformMachine>(
    m: M,
    [rows, columns]: [usize; 2],
    a: &M::Reals,
    [u, t, vt]: [&mut M::Reals; 3],
) -> M::Int {
    let (wide, tall, n) = (rows < columns, rows.max(columns), rows.min(columns));
    let (mut r, mut q, to) = (m.reals(tall * n), m.reals(tall * n), MatrixLayout::rows(n));
    let (r, q) = (r.borrow_mut(), q.borrow_mut());
    // The factors of a wide matrix are the transposed ones of the transposed matrix.
    let layout = |columns: usize| MatrixLayout::rows(columns).transposed(wide);
    for i in m.first(tall) {
        for j in m.first(n) {
            m.store(r, to.at(i, j), m.load(a, layout(columns).at(i, j)));
        }
    }
    m.orthogonal([tall, n], r, q);
    let (left, right) = if wide { ((vt, layout(columns)), (u, to)) } else { ((u, to), (vt, to)) };
    let right = (right.0, right.1.transposed(wide));
    of_tall(m, [tall, n], [q, r], [left, (t, layout(n)), right])
}

/// Replaces the columns of a triangle by vectors of length 1, or zeros; writes the lengths, and the exponents of powers of
/// two by which these are to be multiplied.
fn normalize<M: UniformMachine>(m: M, n: usize, x: &mut M::Reals, (lengths, sizes): (&mut M::Reals, &mut M::Ints)) {
    let (to, zero) = (MatrixLayout::rows(n), M::Real::literal(0.0));
    for j in m.first(n) {
        let size = m.exponent(m.largest(x, m.first(n), |i| to.at(i, j)));
        m.store_int(sizes, j, size);
        m.scale(x, m.first(n), |i| to.at(i, j), m.negated(size));
        let length = length(m, x, m.first(n), |i| to.at(i, j));
        m.store(lengths, j, length);
        let by = M::Real::select(length.above(zero), length, M::Real::literal(1.0));
        for i in m.first(n) {
            m.store(x, to.at(i, j), m.load(x, to.at(i, j)) / by);
        }
    }
}

/// The length of a vector.
pub(super) fn length<M: UniformMachine>(
    m: M,
    x: &M::Reals,
    rows: M::Loop,
    at: impl Fn(M::Index) -> M::Index,
) -> M::Real {
    let mut squares = m.real_cell(M::Real::literal(0.0));
    for i in rows {
        let x = m.load(x, at(i));
        squares.set(squares.get() + x * x);
    }
    squares.get().root()
}

/// Factors a square matrix with columns of length 1 or 0 with pivoting: replaces it by the triangle, writes the transposed
/// orthogonal factor and the order of columns, and returns the rank.
fn pivoted<M: UniformMachine>(
    m: M,
    n: usize,
    tolerance: f64,
    [x, turn]: [&mut M::Reals; 2],
    order: &mut M::Ints,
) -> M::Int {
    let to = MatrixLayout::rows(n);
    let mut rank = m.int_cell(m.int(0.into()));
    identity(m, n.into(), order);
    identity_matrix(m, n, (turn, to));
    for k in m.trips(n) {
        let (mut most, mut best) = (m.real_cell(M::Real::literal(0.0)), m.int_cell(m.int(k)));
        for j in m.range(k, n) {
            let length = length(m, x, m.range(k, n), |i| to.at(i, j));
            let larger = length.above(most.get());
            most.set(M::Real::select(larger, length, most.get()));
            best.set(m.select_int(larger, m.int(j), best.get()));
        }
        if m.leaves(!most.get().above(M::Real::literal(tolerance))) {
            break;
        }
        for here in m.wherever(!m.same(best.get(), m.int(k))) {
            for best in m.position(best.get(), n) {
                for i in m.first(n) {
                    m.exchange(here, x, [to.at(i, k), to.at(i, best)]);
                }
                m.exchange_ints(here, order, [k, best]);
            }
        }
        let [onto, tau, _] = reflection(m, false, [k, n.into()], (x, to));
        for j in m.range(k + 1, n) {
            reflect(m, [k, n.into()], (None, to), tau, (x, to, j));
        }
        for j in m.first(n) {
            reflect(m, [k, n.into()], (Some(x), to), tau, (turn, to, j));
        }
        m.store(x, to.at(k, k), onto);
        rank.set(m.int(k + 1));
    }
    rank.get()
}

pub(super) fn identity_matrix<M: UniformMachine>(m: M, n: usize, (x, to): MatrixPart<'_, M>) {
    for i in m.first(n) {
        for j in m.first(n) {
            let one = m.same(m.int(i), m.int(j));
            m.store(x, to.at(i, j), M::Real::select(one, M::Real::literal(1.0), M::Real::literal(0.0)));
        }
    }
}

/// Writes the factors of a matrix that is not wide, given those of QR, and returns the rank.
fn of_tall<M: UniformMachine>(
    m: M,
    [rows, n]: [usize; 2],
    [q, r]: [&M::Reals; 2],
    [left, middle, right]: [MatrixPart<'_, M>; 3],
) -> M::Int {
    let (tolerance, to) = (M::EPSILON * rows as f64, MatrixLayout::rows(n));
    let [mut unit, mut turn] = [(); 2].map(|()| m.reals(n * n));
    let (mut lengths, [mut sizes, mut order]) = (m.reals(n), [(); 2].map(|()| m.ints(n)));
    let (unit, turn, lengths) = (unit.borrow_mut(), turn.borrow_mut(), lengths.borrow_mut());
    let (sizes, order) = (sizes.borrow_mut(), order.borrow_mut());
    for at in m.first(n * n) {
        m.store(unit, at, m.load(r, at));
    }
    normalize(m, n, unit, (&mut *lengths, &mut *sizes));
    let mut rank = m.int_cell(m.int(n.into()));
    for _ in m.wherever(!m.is_independent(n, unit, tolerance)) {
        rank.set(pivoted(m, n, tolerance, [&mut *unit, &mut *turn], order));
    }
    let rank = rank.get();
    let is_full = !m.before(rank, m.int(n.into()));
    for _ in m.wherever(is_full) {
        for i in m.first(rows) {
            for j in m.first(n) {
                m.store(left.0, left.1.at(i, j), m.load(q, to.at(i, j)));
            }
        }
        for i in m.first(n) {
            for j in m.first(n) {
                m.store(middle.0, middle.1.at(i, j), m.load(r, to.at(i, j)));
            }
        }
        identity_matrix(m, n, (&mut *right.0, right.1));
    }
    for _ in m.wherever(!is_full) {
        // The rows of the second triangle up to the rank as columns, with the lengths and in the order of the matrix.
        let [mut lines, mut z] = [(); 2].map(|()| m.reals(n * n));
        let (lines, z) = (lines.borrow_mut(), z.borrow_mut());
        for at in m.first(n * n) {
            m.store(lines, at, M::Real::literal(0.0));
        }
        for i in m.first(n) {
            for _ in m.wherever(m.before(m.int(i), rank)) {
                for j in m.range(i, n) {
                    for column in m.position(m.load_int(order, j), n) {
                        let x = m.load(unit, to.at(i, j)) * m.load(lengths, column);
                        m.store(lines, to.at(column, i), m.scaled(x, m.load_int(sizes, column)));
                    }
                }
            }
        }
        m.orthogonal([n, n], lines, z);
        deficient(
            m,
            [rows, n],
            rank,
            [q, turn, z, lines],
            [(&mut *left.0, left.1), (&mut *middle.0, middle.1), (&mut *right.0, right.1)],
        );
    }
    rank
}

/// Writes the factors up to the rank. The transposed rows of the second triangle are `z l`, so the rows are `l^T z^T`, and
/// in the opposite order an upper triangle and `z^T`.
fn deficient<M: UniformMachine>(
    m: M,
    [rows, n]: [usize; 2],
    rank: M::Int,
    [q, turn, z, l]: [&M::Reals; 4],
    [left, middle, right]: [MatrixPart<'_, M>; 3],
) {
    let (to, zero) = (MatrixLayout::rows(n), M::Real::literal(0.0));
    let opposite = |i: M::Index| m.subtract(m.subtract(rank, m.int(1.into())), m.int(i));
    for i in m.first(rows) {
        for j in m.first(n) {
            m.store(left.0, left.1.at(i, j), zero);
        }
    }
    for i in m.first(n) {
        for j in m.first(n) {
            m.store(right.0, right.1.at(i, j), zero);
        }
    }
    identity_matrix(m, n, (&mut *middle.0, middle.1));
    for i in m.first(n) {
        for _ in m.wherever(m.before(m.int(i), rank)) {
            for last in m.position(opposite(i), n) {
                for j in m.first(n) {
                    m.store(right.0, right.1.at(i, j), m.load(z, to.at(j, last)));
                    for _ in m.wherever(m.before(m.int(j), rank)) {
                        for other in m.position(opposite(j), n) {
                            m.store(middle.0, middle.1.at(i, j), m.load(l, to.at(other, last)));
                        }
                    }
                }
                for row in m.first(rows) {
                    let mut sum = m.real_cell(zero);
                    for c in m.first(n) {
                        sum.set(sum.get() + m.load(q, to.at(row, c)) * m.load(turn, to.at(last, c)));
                    }
                    m.store(left.0, left.1.at(row, i), sum.get());
                }
            }
        }
    }
}

/// The factors of a matrix and its rank: see [`LstsqFactor`](crate::ops::Matrix::LstsqFactor).
pub(crate) fn lstsq_factor<E: Real>(sizes: [usize; 2], a: &[E], factors: [&mut [E]; 3]) -> i64 {
    if sizes.contains(&0) {
        return 0;
    }
    if is_finite(a) {
        return decompose(Direct::<E>::new(), sizes, a, factors);
    }
    factors.into_iter().for_each(|x| x.fill(nan()));
    0
}

/// The length of a vector.
fn norm<E: Real>(x: &[E]) -> E {
    num_traits::Float::sqrt(x.iter().fold(E::ZERO, |sum, x| sum + *x * *x))
}

/// Whether a triangle whose columns have the length 1 is so far from a singular one that pivoting finds no small pivot:
/// each pivot is at least the inverse of the norm of the inverse.
pub(super) fn is_regular<E: Real>(n: usize, r: &[E], tolerance: E) -> bool {
    let triangle = TriangleView { of: r, n, transposed: false, lower: false, unit: false };
    if !triangle.is_regular() {
        return false;
    }
    let most = E::of_f64(0.25) / tolerance;
    // A bound of the inverse by the absolute values of the elements, which is often large, but cheap.
    let mut bound = vec![E::ZERO; n];
    for i in (0..n).rev() {
        let row = &r[i * n..(i + 1) * n];
        let sum = (i + 1..n).fold(E::ONE, |sum, j| sum + abs(row[j]) * bound[j]);
        bound[i] = sum / abs(row[i]);
    }
    if norm(&bound) < most / E::of_f64((n as f64).sqrt()) {
        return true;
    }
    let mut inverse = vec![E::ZERO; n * n];
    (0..n).for_each(|i| inverse[i * (n + 1)] = E::ONE);
    triangle.solve(&mut inverse, n);
    norm(&inverse) < most
}

/// Whether a matrix of `k` rows is the identity.
pub(super) fn is_identity<E: Real>(k: usize, n: usize, a: &[E]) -> bool {
    let one = |at: usize| if at / n == at % n { E::ONE } else { E::ZERO };
    k == n && a.iter().enumerate().all(|(at, x)| *x == one(at))
}

/// The matrix whose factors are given, or its transpose, with the columns of a right-hand side.
#[derive(Clone, Copy)]
pub(crate) struct Decomposed {
    pub(crate) sizes: [usize; 2],
    pub(crate) transposed: bool,
    pub(crate) width: usize,
}

impl Decomposed {
    /// Writes a result for a right-hand side of some rows, in the columns that are not zeros: NaN unless the factors are
    /// finite.
    fn unless_zero<M: UniformMachine>(
        self,
        m: M,
        factors: [&M::Reals; 3],
        (b, [from, to]): (&M::Reals, [usize; 2]),
        out: &mut M::Reals,
        solve: impl Fn(&mut M::Reals),
    ) {
        let ([rows, n], zero) = (self.sizes, M::Real::literal(0.0));
        let (k, of) = (rows.min(n), MatrixLayout::rows(self.width));
        let [u, t, vt] = factors;
        let all_zero = |at: &dyn Fn(M::Index) -> M::Index, len: usize| {
            let mut all = m.mask_cell(m.mask(true));
            for i in m.first(len) {
                all.set(all.get() & m.load(b, at(i)).equals(zero));
            }
            all.get()
        };
        let known = [(u, rows * k), (t, k * k), (vt, k * n)].map(|(x, len)| m.are_finite(x, 0.into(), len.into()));
        let (known, none) = (known[0] & known[1] & known[2], all_zero(&|i| i, from * self.width));
        for at in m.first(to * self.width) {
            m.store(out, at, zero);
        }
        for _ in m.wherever(known & !none) {
            solve(out);
        }
        m.fill_unless(known, out, to * self.width);
        for j in m.first(self.width) {
            for _ in m.wherever(all_zero(&|i| of.at(i, j), from)) {
                for i in m.first(to) {
                    m.store(out, of.at(i, j), zero);
                }
            }
        }
    }

    /// Writes the least-squares solution of least norm.
    pub(crate) fn solve<M: UniformMachine>(self, m: M, factors: [&M::Reals; 3], b: &M::Reals, x: &mut M::Reals) {
        let ([rows, n], width, [u, t, vt]) = (self.sizes, self.width, factors);
        let k = rows.min(n);
        if k * width == 0 {
            return m.first(if self.transposed { rows * width } else { n * width }).for_each(|at| {
                m.store(x, at, M::Real::literal(0.0));
            });
        }
        let (of_u, of_vt) = ((u, [rows, k]), (vt, [k, n]));
        // The factor that the right-hand side meets first, and the other one.
        let (first, second, lengths) =
            if self.transposed { (of_vt, of_u, [n, rows]) } else { (of_u, of_vt, [rows, n]) };
        let product = |sizes, transposed| GuardedProduct { sizes, transposed, width, first: [0; 2] };
        let triangle =
            SolvedTriangle { n: k, transposed: self.transposed, lower: (rows < n) != self.transposed, unit: false };
        self.unless_zero(m, factors, (b, lengths), x, |x| {
            let [mut moved, mut solved] = [(); 2].map(|()| m.reals(k * width));
            let (moved, solved) = (moved.borrow_mut(), solved.borrow_mut());
            m.finite_product(product(first.1, !self.transposed), [first.0, b], moved);
            m.solve_triangle(triangle, t, (moved, width), solved);
            m.finite_product(product(second.1, !self.transposed), [second.0, solved], x);
        });
    }

    /// Writes the part of `z` in the null space.
    pub(crate) fn project<M: UniformMachine>(self, m: M, factors: [&M::Reals; 3], z: &M::Reals, out: &mut M::Reals) {
        let ([rows, n], width, [u, _, vt]) = (self.sizes, self.width, factors);
        let (k, to, zero) = (rows.min(n), MatrixLayout::rows(width), M::Real::literal(0.0));
        let (basis, sizes, len) = if self.transposed { (u, [rows, k], rows) } else { (vt, [k, n], n) };
        let product = |transposed| GuardedProduct { sizes, transposed, width, first: [0; 2] };
        if len * width == 0 {
            return;
        }
        self.unless_zero(m, factors, (z, [len, len]), out, |out| {
            // A column of the left factor behind the rank is zeros.
            let mut full = m.mask_cell(m.mask(false));
            if k == len && k > 0 {
                for i in m.first(rows) {
                    let x = m.load(u, MatrixLayout::rows(k).at(i, (k - 1).into()));
                    full.set(full.get() | !x.equals(zero));
                }
            }
            for _ in m.wherever(!full.get()) {
                let mut inner = m.reals(k * width);
                let inner = inner.borrow_mut();
                m.finite_product(product(self.transposed), [basis, z], inner);
                m.finite_product(product(!self.transposed), [basis, inner], out);
                for i in m.first(len) {
                    for j in m.first(width) {
                        let (whole, part) = (m.load(z, to.at(i, j)), m.load(out, to.at(i, j)));
                        m.store(out, to.at(i, j), whole - part);
                    }
                }
            }
        });
    }
}
