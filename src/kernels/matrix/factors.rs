//! Cholesky and LU factors of matrices in place, and what is made of them.
//!
//! Laws: the next pivot is the largest element of its column, the first of equal ones; a column of zeros needs no
//! elimination. A matrix with an element that is not finite, or without the result, gives NaN.
//!
//! Kernels of small matrices and source code are readings of these functions; kernels of large ones are in `blocks`.

use std::borrow::BorrowMut;

use polygrad_math::Arithmetic;

use super::machine::{ArrayIndex, MachineCell, MatrixLayout, MatrixMachine, UniformMachine};

/// Replaces matrices by the lower triangular factors of their symmetric parts; NaN where the factor does not exist.
#[inline(always)]
pub(crate) fn cholesky<M: MatrixMachine>(m: M, n: usize, a: &mut M::Reals) {
    let (zero, half, to) = (M::Real::literal(0.0), M::Real::literal(0.5), MatrixLayout::rows(n));
    let mut good = m.mask_cell(m.are_finite(a, 0.into(), (n * n).into()));
    for i in m.first(n) {
        for j in m.first(i + 1) {
            m.store(a, to.at(i, j), (m.load(a, to.at(i, j)) + m.load(a, to.at(j, i))) * half);
        }
    }
    for j in m.first(n) {
        for k in m.first(j) {
            let factor = m.load(a, to.at(j, k));
            for i in m.range(j, n) {
                m.store(a, to.at(i, j), m.load(a, to.at(i, j)) - m.load(a, to.at(i, k)) * factor);
            }
        }
        let pivot = m.load(a, to.at(j, j)).root();
        m.store(a, to.at(j, j), pivot);
        for i in m.range(j + 1, n) {
            m.store(a, to.at(i, j), m.load(a, to.at(i, j)) / pivot);
        }
        for i in m.first(j) {
            m.store(a, to.at(i, j), zero);
        }
    }
    // The root of what is not positive is not.
    for j in m.first(n) {
        good.set(good.get() & m.load(a, to.at(j, j)).above(zero));
    }
    m.fill_unless(good.get(), a, n * n);
}

/// The order in which nothing is exchanged.
#[inline(always)]
pub(crate) fn identity<M: MatrixMachine>(m: M, n: M::Index, order: &mut M::Ints) {
    for i in m.first(n) {
        m.store_int(order, i, m.int(i));
    }
}

/// Replaces the first rows and columns of matrices by their factors, `l` below the diagonal and `u` on and above it;
/// writes the order of rows, and returns whether it is odd.
#[inline(always)]
pub(crate) fn factor<M: MatrixMachine>(
    m: M,
    to: MatrixLayout,
    n: M::Index,
    a: &mut M::Reals,
    order: &mut M::Ints,
) -> M::Mask {
    let zero = M::Real::literal(0.0);
    let mut odd = m.mask_cell(m.mask(false));
    identity(m, n, order);
    for k in m.first(n) {
        let (mut best, mut row) = (m.real_cell(m.load(a, to.at(k, k)).magnitude()), m.int_cell(m.int(k)));
        for i in m.range(k + 1, n) {
            let size = m.load(a, to.at(i, k)).magnitude();
            let larger = size.above(best.get());
            best.set(M::Real::select(larger, size, best.get()));
            row.set(m.select_int(larger, m.int(i), row.get()));
        }
        for i in m.range(k + 1, n) {
            for here in m.wherever(m.same(row.get(), m.int(i))) {
                for j in m.first(n) {
                    m.exchange(here, a, [to.at(k, j), to.at(i, j)]);
                }
                m.exchange_ints(here, order, [k, i]);
                m.flip(here, &mut odd);
            }
        }
        let pivot = m.load(a, to.at(k, k));
        for i in m.range(k + 1, n) {
            let x = m.load(a, to.at(i, k));
            let factor = M::Real::select(pivot.equals(zero), x, x / pivot);
            m.store(a, to.at(i, k), factor);
            for j in m.range(k + 1, n) {
                m.store(a, to.at(i, j), m.load(a, to.at(i, j)) - factor * m.load(a, to.at(k, j)));
            }
        }
    }
    odd.get()
}

/// Replaces matrices by their factors, as [`factor`] does; NaN, and the order in which nothing is exchanged, where an
/// element is not finite.
#[inline(always)]
pub(crate) fn packed<M: MatrixMachine>(m: M, n: usize, a: &mut M::Reals, order: &mut M::Ints) {
    let finite = m.are_finite(a, 0.into(), (n * n).into());
    factor(m, MatrixLayout::rows(n), n.into(), a, order);
    m.fill_unless(finite, a, n * n);
    for bad in m.wherever(!finite) {
        for i in m.first(n) {
            let row = m.load_int(order, i);
            m.store_int(order, i, m.select_int(bad, m.int(i), row));
        }
    }
}

/// Moves what is below the diagonal of factors to another matrix: a lower triangle with ones on the diagonal.
#[inline(always)]
pub(crate) fn apart<M: MatrixMachine>(m: M, n: usize, upper: &mut M::Reals, lower: &mut M::Reals) {
    let (zero, to) = (M::Real::literal(0.0), MatrixLayout::rows(n));
    for i in m.first(n) {
        for j in m.first(i) {
            m.store(lower, to.at(i, j), m.load(upper, to.at(i, j)));
            m.store(upper, to.at(i, j), zero);
        }
        m.store(lower, to.at(i, i), M::Real::literal(1.0));
        for j in m.range(i + 1, n) {
            m.store(lower, to.at(i, j), zero);
        }
    }
}

/// Replaces matrices by their factors: the order of rows is returned as odd or not, with where all factors are finite.
#[inline(always)]
pub(crate) fn factored<M: MatrixMachine>(m: M, n: usize, a: &mut M::Reals, order: &mut M::Ints) -> [M::Mask; 2] {
    // An element that is not finite leaves one in the factors: sums, and quotients by a larger pivot, are not finite.
    let odd = factor(m, MatrixLayout::rows(n), n.into(), a, order);
    [odd, m.are_finite(a, 0.into(), (n * n).into())]
}

/// Whether no element of the diagonal is zero.
#[inline(always)]
pub(crate) fn is_regular<M: MatrixMachine>(m: M, n: usize, a: &M::Reals) -> M::Mask {
    let mut regular = m.mask_cell(m.mask(true));
    for i in m.first(n) {
        regular.set(regular.get() & !m.load(a, MatrixLayout::rows(n).at(i, i)).equals(M::Real::literal(0.0)));
    }
    regular.get()
}

/// A triangle of matrices of `n` rows: which one it is, after a transposition, and whether its diagonal counts as ones.
#[derive(Clone, Copy)]
pub(crate) struct SolvedTriangle {
    pub(crate) n: usize,
    pub(crate) transposed: bool,
    pub(crate) lower: bool,
    pub(crate) unit: bool,
}

impl SolvedTriangle {
    /// The triangle of factors, or of the transposed factors: that of `l`, whose diagonal is ones, or that of `u`.
    pub(crate) fn of_factors(n: usize, l: bool, transposed: bool) -> SolvedTriangle {
        SolvedTriangle { n, transposed, lower: l != transposed, unit: l }
    }

    /// Replaces a vector, whose elements are at some positions, by the solution of the system with the first rows of the
    /// triangle.
    #[inline(always)]
    pub(crate) fn substitute<M: MatrixMachine>(
        self,
        m: M,
        rows: M::Index,
        a: &M::Reals,
        x: &mut M::Reals,
        at: impl Fn(M::Index) -> M::Index,
    ) {
        if self.lower {
            for j in m.first(rows) {
                self.eliminate(m, a, x, &at, j, m.range(j + 1, rows));
            }
        } else {
            for j in m.backwards(0, rows) {
                self.eliminate(m, a, x, &at, j, m.first(j));
            }
        }
    }

    /// Finds an element of the solution, and takes its multiples from the elements of some rows.
    #[inline(always)]
    fn eliminate<M: MatrixMachine>(
        self,
        m: M,
        a: &M::Reals,
        x: &mut M::Reals,
        at: impl Fn(M::Index) -> M::Index,
        j: M::Index,
        rows: M::Loop,
    ) {
        let of = MatrixLayout::rows(self.n).transposed(self.transposed);
        let mut known = m.load(x, at(j));
        if !self.unit {
            known = known / m.load(a, of.at(j, j));
            m.store(x, at(j), known);
        }
        for i in rows {
            m.store(x, at(i), m.load(x, at(i)) - m.load(a, of.at(i, j)) * known);
        }
    }

    /// Whether the triangle, before the transposition, is finite, and without a zero on the diagonal if that counts.
    #[inline(always)]
    pub(crate) fn is_good<M: MatrixMachine>(self, m: M, a: &M::Reals) -> M::Mask {
        let (n, beside) = (self.n, usize::from(!self.unit));
        let mut good = m.mask_cell(if self.unit { m.mask(true) } else { is_regular(m, n, a) });
        for i in m.first(n) {
            let row = i * n;
            let finite = match self.lower != self.transposed {
                true => m.are_finite(a, row, row.plus(i) + beside),
                false => m.are_finite(a, row.plus(i) + (1 - beside), row + n),
            };
            good.set(good.get() & finite);
        }
        good.get()
    }
}

/// Replaces a vector by the solution of systems with triangles, one after the other: zeros for zeros, and else NaN where
/// none exists.
#[inline(always)]
pub(crate) fn solve<M: MatrixMachine>(
    m: M,
    triangles: &[SolvedTriangle],
    a: &M::Reals,
    good: M::Mask,
    x: &mut M::Reals,
) {
    let n = triangles[0].n;
    let mut zero = m.mask_cell(m.mask(true));
    for i in m.first(n) {
        zero.set(zero.get() & m.load(x, i).equals(M::Real::literal(0.0)));
    }
    let zero = zero.get();
    triangles.iter().for_each(|of| of.substitute(m, n.into(), a, x, |i| i));
    m.fill_unless(good, x, n);
    for zero in m.wherever(zero) {
        for i in m.first(n) {
            let solved = m.load(x, i);
            m.store(x, i, M::Real::select(zero, M::Real::literal(0.0), solved));
        }
    }
}

/// Writes the solutions of systems with triangles, column by column; with an order, of rows of the right-hand side, or, if
/// `transposed`, of the solution.
pub(crate) fn solve_columns<M: UniformMachine>(
    m: M,
    (triangles, a): (&[SolvedTriangle], &M::Reals),
    good: M::Mask,
    (order, transposed): (Option<&M::Ints>, bool),
    (b, width): (&M::Reals, usize),
    out: &mut M::Reals,
) {
    let (n, to, mut x) = (triangles[0].n, MatrixLayout::rows(width), m.reals(triangles[0].n));
    let x = x.borrow_mut();
    for c in m.first(width) {
        for i in m.first(n) {
            match order.filter(|_| !transposed) {
                None => m.store(x, i, m.load(b, to.at(i, c))),
                Some(order) => {
                    for from in m.position(m.load_int(order, i), n) {
                        m.store(x, i, m.load(b, to.at(from, c)));
                    }
                }
            }
        }
        solve(m, triangles, a, good, x);
        for i in m.first(n) {
            match order.filter(|_| transposed) {
                None => m.store(out, to.at(i, c), m.load(x, i)),
                Some(order) => {
                    for row in m.position(m.load_int(order, i), n) {
                        m.store(out, to.at(row, c), m.load(x, i));
                    }
                }
            }
        }
    }
}

/// Writes the inverse of the matrices with these factors.
#[inline(always)]
pub(crate) fn inverse<M: MatrixMachine>(m: M, n: usize, lu: &M::Reals, order: &M::Ints, out: &mut M::Reals) {
    let (one, zero, to) = (M::Real::literal(1.0), M::Real::literal(0.0), MatrixLayout::rows(n));
    for j in m.first(n) {
        for i in m.first(n) {
            let here = m.same(m.load_int(order, i), m.int(j));
            m.store(out, to.at(i, j), M::Real::select(here, one, zero));
        }
        for l in [true, false] {
            SolvedTriangle::of_factors(n, l, false).substitute(m, n.into(), lu, out, |i| to.at(i, j));
        }
    }
}

/// The product of numbers, with the other sign where it is `odd`, as a number and the exponent of a power of two: no
/// partial product leaves the range of floats.
#[inline(always)]
pub(crate) fn product<M: MatrixMachine>(
    m: M,
    n: usize,
    x: impl Fn(M::Index) -> M::Real,
    odd: M::Mask,
) -> (M::Real, M::Int) {
    let sign = M::Real::select(odd, M::Real::literal(-1.0), M::Real::literal(1.0));
    let (mut product, mut size) = (m.real_cell(sign), m.int_cell(m.int(0.into())));
    for i in m.first(n) {
        let x = x(i);
        let of = m.exponent(x);
        let next = product.get() * m.scaled(x, m.negated(of));
        let here = m.exponent(next);
        product.set(m.scaled(next, m.negated(here)));
        size.set(m.add(size.get(), m.add(of, here)));
    }
    (product.get(), size.get())
}

/// The sign of the product of numbers, with the other one where it is `odd`, and the logarithm of its absolute value; 0
/// and negative infinity where the product is 0.
#[inline(always)]
pub(crate) fn sign_and_log<M: MatrixMachine>(
    m: M,
    n: usize,
    x: impl Fn(M::Index) -> M::Real,
    odd: M::Mask,
) -> [M::Real; 2] {
    let zero = M::Real::literal(0.0);
    let sign = M::Real::select(odd, M::Real::literal(-1.0), M::Real::literal(1.0));
    let (mut sign, mut log) = (m.real_cell(sign), m.real_cell(zero));
    for i in m.first(n) {
        let x = x(i);
        let turned = M::Real::select(x.below(zero), zero - sign.get(), sign.get());
        sign.set(M::Real::select(x.equals(zero), zero, turned));
        log.set(log.get() + m.ln(x.magnitude()));
    }
    [sign.get(), log.get()]
}
