//! Matrix products in which zero times any number is 0, and tangents of eigenvectors and singular vectors.
//!
//! Laws: a product of finite numbers is that of linear algebra. A column of a result depends on the same column of the
//! right-hand side alone, so what is infinite or NaN stays in its column, and a column of zeros stays zeros whatever
//! the matrix is.
#![allow(clippy::needless_range_loop, reason = "rows and columns are indices of several arrays")]

use std::borrow::{Borrow, BorrowMut};
use std::ops::Range;

use polygrad_math::Arithmetic;

use super::machine::{MachineCell, MatrixLayout, UniformMachine};
use super::{Real, is_finite};
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

/// The product of a matrix of some rows and columns, or of its transpose, and of a matrix of `width` columns: where the
/// second factor and the result begin.
#[derive(Clone, Copy)]
pub(crate) struct GuardedProduct {
    pub(crate) sizes: [usize; 2],
    pub(crate) transposed: bool,
    pub(crate) width: usize,
    pub(crate) first: [usize; 2],
}

impl GuardedProduct {
    /// The elements of the second factor, and of the result.
    pub(super) fn parts(self) -> [Range<usize>; 2] {
        let ([m, n], [of_b, of_out]) = (self.sizes, self.first);
        let [rows, depth] = if self.transposed { [n, m] } else { [m, n] };
        [of_b..of_b + depth * self.width, of_out..of_out + rows * self.width]
    }

    /// Writes the product by plain loops; all numbers are finite, unless `guarded`.
    pub(crate) fn by_loops<M: UniformMachine>(self, m: M, [a, b]: [&M::Reals; 2], out: &mut M::Reals, guarded: bool) {
        let ([m_rows, n], zero) = (self.sizes, M::Real::literal(0.0));
        let (rows, depth) = if self.transposed { (n, m_rows) } else { (m_rows, n) };
        let (of_a, to) = (MatrixLayout::rows(n).transposed(self.transposed), MatrixLayout::rows(self.width));
        let [of_b, of_out] = self.first;
        for i in m.first(rows) {
            for j in m.first(self.width) {
                let mut sum = m.real_cell(zero);
                for k in m.first(depth) {
                    let (x, y) = (m.load(a, of_a.at(i, k)), m.load(b, to.at(k, j) + of_b));
                    let term =
                        if guarded { M::Real::select(x.equals(zero) | y.equals(zero), zero, x * y) } else { x * y };
                    sum.set(sum.get() + term);
                }
                m.store(out, to.at(i, j) + of_out, sum.get());
            }
        }
    }
}

/// A right-hand side, column by column.
struct RightColumns<M: UniformMachine> {
    m: M,
    width: usize,
    /// Zero for columns that are numbers to compute with, and otherwise NaN.
    fine: M::OwnReals,
    /// The same, before what gaps of eigenvalues or singular values divide.
    regular: M::OwnReals,
    /// The elements, with zeros in columns that are not fine.
    of: M::OwnReals,
}

impl<M: UniformMachine> RightColumns<M> {
    /// Unless there are solutions, only columns of zeros are fine: they stay zeros.
    fn new(m: M, [rows, width]: [usize; 2], x: &M::Reals, solvable: M::Mask) -> RightColumns<M> {
        let (zero, to) = (M::Real::literal(0.0), MatrixLayout::rows(width));
        let [mut fine, regular] = [(); 2].map(|()| m.reals(width));
        let mut of = m.reals(rows * width);
        for j in m.first(width) {
            m.store(fine.borrow_mut(), j, zero);
        }
        for bad in m.wherever(!solvable) {
            for j in m.first(width) {
                let mut size = m.real_cell(zero);
                for i in m.first(rows) {
                    size.set(size.get() + m.load(x, to.at(i, j)).magnitude());
                }
                let wrong = bad & !size.get().equals(zero);
                m.store(fine.borrow_mut(), j, M::Real::select(wrong, M::Real::literal(f64::NAN), zero));
            }
        }
        for at in m.first(rows * width) {
            m.store(of.borrow_mut(), at, m.load(x, at));
        }
        let mut right = RightColumns { m, width, fine, regular, of: m.reals(1) };
        right.check(rows, of.borrow_mut());
        right.of = of;
        right
    }

    /// Marks the columns with an element that is not finite, and makes them zeros.
    fn check(&mut self, rows: usize, x: &mut M::Reals) {
        let (m, zero, to) = (self.m, M::Real::literal(0.0), MatrixLayout::rows(self.width));
        let fine: &mut M::Reals = self.fine.borrow_mut();
        for _ in m.wherever(!m.are_finite(x, 0.into(), (rows * self.width).into())) {
            for j in m.first(self.width) {
                for i in m.first(rows) {
                    // Finite numbers become 0, and all others NaN.
                    m.store(fine, j, m.load(fine, j) + m.load(x, to.at(i, j)) * zero);
                }
                for i in m.first(rows) {
                    let known = M::Real::select(m.load(fine, j).equals(zero), m.load(x, to.at(i, j)), zero);
                    m.store(x, to.at(i, j), known);
                }
            }
        }
    }

    /// Marks the columns whose coordinates are not finite.
    fn check_regular(&mut self, rows: usize, x: &mut M::Reals) {
        self.check(rows, x);
        for j in self.m.first(self.width) {
            let fine = self.m.load(self.fine.borrow(), j);
            self.m.store(self.regular.borrow_mut(), j, fine);
        }
    }

    /// Fills the columns that are not fine with NaN. The rows from `ends` on, the tangents of eigenvalues or singular
    /// values, have no gaps.
    fn finish(&self, out: &mut M::Reals, [ends, rows]: [usize; 2]) {
        let (m, to) = (self.m, MatrixLayout::rows(self.width));
        for (fine, [from, end]) in [(&self.fine, [0, ends]), (&self.regular, [ends, rows])] {
            let fine: &M::Reals = fine.borrow();
            for _ in m.wherever(!m.are_finite(fine, 0.into(), self.width.into())) {
                for i in m.range(from, end) {
                    for j in m.first(self.width) {
                        m.store(out, to.at(i, j), m.load(out, to.at(i, j)) + m.load(fine, j));
                    }
                }
            }
        }
    }
}

/// `x / gap`, but 0 for 0.
fn over<R: Arithmetic>(x: R, gap: R) -> R {
    R::select(x.equals(R::literal(0.0)), R::literal(0.0), x / gap)
}

/// See [`EighSolve`](crate::ops::Matrix::EighSolve).
pub(crate) fn eigh_solve<M: UniformMachine>(m: M, n: usize, x: &M::Reals, [w, v]: [&M::Reals; 2], out: &mut M::Reals) {
    let to = MatrixLayout::rows(n);
    let solvable = m.are_finite(w, 0.into(), n.into()) & m.are_finite(v, 0.into(), (n * n).into());
    let mut right = RightColumns::new(m, [n + 1, n], x, solvable);
    let mut coefficients = m.reals(n * n);
    let coefficients = coefficients.borrow_mut();
    let product = |transposed| GuardedProduct { sizes: [n, n], transposed, width: n, first: [0; 2] };
    m.guarded_product(product(true), [v, right.of.borrow()], coefficients);
    right.check_regular(n, coefficients);
    for j in m.first(n) {
        m.store(out, to.at(n.into(), j), m.load(coefficients, to.at(j, j)));
    }
    for i in m.first(n) {
        for j in m.first(n) {
            let inner = over(m.load(coefficients, to.at(i, j)), m.load(w, j) - m.load(w, i));
            let last = m.load(right.of.borrow(), to.at(n.into(), j));
            m.store(coefficients, to.at(i, j), M::Real::select(m.same(m.int(i), m.int(j)), last, inner));
        }
    }
    right.check(n, coefficients);
    m.guarded_product(product(false), [v, coefficients], out);
    right.finish(out, [n, n + 1]);
}

/// See [`SvdSolve`](crate::ops::Matrix::SvdSolve).
pub(crate) fn svd_solve<M: UniformMachine>(
    m: M,
    [rows, columns]: [usize; 2],
    x: &M::Reals,
    [u, s, vt]: [&M::Reals; 3],
    out: &mut M::Reals,
) {
    let (k, all, zero) = (rows.min(columns), rows + columns, M::Real::literal(0.0));
    let to = MatrixLayout::rows(k);
    let finite = [(u, rows * k), (s, k), (vt, k * columns)].map(|(x, len)| m.are_finite(x, 0.into(), len.into()));
    let mut right = RightColumns::new(m, [all + 2, k], x, finite[0] & finite[1] & finite[2]);
    let product = |sizes, transposed, first| GuardedProduct { sizes, transposed, width: k, first };
    // Where the parts of the right-hand side, and of the result, begin.
    let (of_u, of_vt, second) = ([rows, k], [k, columns], rows * k);
    // The coordinates of both parts in the singular vectors, and of the solution.
    let [mut inner_u, mut inner_v] = [(); 2].map(|()| m.reals(k * k));
    let (x, y): (&mut M::Reals, &mut M::Reals) = (inner_u.borrow_mut(), inner_v.borrow_mut());
    m.guarded_product(product(of_u, true, [0, 0]), [u, right.of.borrow()], x);
    m.guarded_product(product(of_vt, false, [second, 0]), [vt, right.of.borrow()], y);
    right.check_regular(k, x);
    right.check_regular(k, y);
    // What is outside the space of singular vectors, over the values.
    let mut rests = [rows, columns].map(|len| (len > k).then(|| m.reals(len * k)));
    let sides = [(product(of_u, false, [0; 2]), u, rows, 0), (product(of_vt, true, [0; 2]), vt, columns, second)];
    for ((rest, inner), (of, vectors, len, first)) in rests.iter_mut().zip([&*x, &*y]).zip(sides) {
        let Some(rest) = rest else { continue };
        let rest: &mut M::Reals = rest.borrow_mut();
        m.guarded_product(of, [vectors, inner], rest);
        for i in m.first(len) {
            for j in m.first(k) {
                let outside = m.load(right.of.borrow(), to.at(i, j) + first) - m.load(rest, to.at(i, j));
                m.store(rest, to.at(i, j), over(outside, m.load(s, j)));
            }
        }
    }
    let known: &M::Reals = right.of.borrow();
    for j in m.first(k) {
        let [p, q] = [all, all + 1].map(|row| m.load(known, to.at(row.into(), j)));
        let change = M::Real::select(p.equals(q), zero, m.load(s, j) * (p - q));
        m.store(out, to.at(all.into(), j), m.load(x, to.at(j, j)) - change);
        m.store(out, to.at((all + 1).into(), j), m.load(y, to.at(j, j)) + change);
    }
    for i in m.first(k) {
        let row = m.load(s, i);
        for j in m.first(k) {
            let [c, d] = both(m.load(x, to.at(i, j)), m.load(y, to.at(i, j)), [row, m.load(s, j)]);
            m.store(x, to.at(i, j), c);
            m.store(y, to.at(i, j), d);
        }
        m.store(x, to.at(i, i), m.load(known, to.at(all.into(), i)));
        m.store(y, to.at(i, i), m.load(known, to.at((all + 1).into(), i)));
    }
    right.check(k, x);
    right.check(k, y);
    for (rest, len) in rests.iter_mut().zip([rows, columns]) {
        if let Some(rest) = rest {
            right.check(len, rest.borrow_mut());
        }
    }
    m.guarded_product(product(of_u, false, [0, 0]), [u, x], out);
    m.guarded_product(product(of_vt, true, [0, second]), [vt, y], out);
    for (rest, [len, first]) in rests.iter().zip([[rows, 0], [columns, second]]) {
        let Some(rest) = rest else { continue };
        for at in m.first(len * k) {
            m.store(out, at + first, m.load(out, at + first) + m.load(rest.borrow(), at));
        }
    }
    right.finish(out, [all, all + 2]);
}

/// The solution of `s_j c - s_i d = x`, `s_j d - s_i c = y`. Singular values are not squared, since the squares
/// overflow or underflow before the values do.
fn both<R: Arithmetic>(x: R, y: R, [of_row, of_column]: [R; 2]) -> [R; 2] {
    let zero = R::literal(0.0);
    let (sum, gap) = (of_row + of_column, of_column - of_row);
    let (share, other) = (of_column / sum, of_row / sum);
    let none = x.equals(zero) & y.equals(zero);
    [(share * x + other * y) / gap, (other * x + share * y) / gap].map(|x| R::select(none, zero, x))
}
