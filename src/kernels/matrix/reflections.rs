//! QR factors of matrices by Householder reflections, one at a time.
//!
//! Laws: columns times powers of two give the same `q`, and the columns of `r` times these powers. A column is as exact
//! as its largest element below the rows that are done, however small that is. Kernels of small matrices leave out the
//! scaling where all squares are in range, and have the same bits; those of large matrices are in `orthogonal`.

use polygrad_math::Arithmetic;

use super::machine::{MachineCell, MatrixLayout, MatrixMachine};

/// Reflects a column of `x` from the row `j` on, by a vector whose first element is 1, and whose others are in column `j`
/// of `v`, or of `x`.
#[inline(always)]
pub(crate) fn reflect<M: MatrixMachine>(
    m: M,
    [j, end]: [M::Index; 2],
    v: (Option<&M::Reals>, MatrixLayout),
    tau: M::Real,
    (x, to, column): (&mut M::Reals, MatrixLayout, M::Index),
) {
    let v_at = |i: M::Index, x: &M::Reals| m.load(v.0.unwrap_or(x), v.1.at(i, j));
    let mut product = m.real_cell(m.load(x, to.at(j, column)));
    for i in m.range(j + 1, end) {
        product.set(product.get() + v_at(i, x) * m.load(x, to.at(i, column)));
    }
    let product = product.get() * tau;
    m.store(x, to.at(j, column), m.load(x, to.at(j, column)) - product);
    for i in m.range(j + 1, end) {
        m.store(x, to.at(i, column), m.load(x, to.at(i, column)) - v_at(i, x) * product);
    }
}

/// Replaces column `j` from row `j` on by the vector of the reflection that takes it to a multiple of the first unit
/// vector: returns that multiple, the factor of the reflection, which is 0 for zeros below the first element, and the sum
/// of squares, or 1 for such zeros. If `scaled`, the column is divided by a power of two first.
#[inline(always)]
pub(crate) fn reflection<M: MatrixMachine>(
    m: M,
    scaled: bool,
    [j, end]: [M::Index; 2],
    (x, to): (&mut M::Reals, MatrixLayout),
) -> [M::Real; 3] {
    let (zero, one) = (M::Real::literal(0.0), M::Real::literal(1.0));
    let size = scaled.then(|| m.exponent(m.largest(x, m.range(j, end), |i| to.at(i, j))));
    if let Some(size) = size {
        for i in m.range(j, end) {
            m.store(x, to.at(i, j), m.scaled(m.load(x, to.at(i, j)), m.negated(size)));
        }
    }
    let first = m.load(x, to.at(j, j));
    let (mut squares, mut below) = (m.real_cell(first * first), m.real_cell(zero));
    for i in m.range(j + 1, end) {
        let x = m.load(x, to.at(i, j));
        squares.set(squares.get() + x * x);
        let size = x.magnitude();
        below.set(M::Real::select(size.above(below.get()), size, below.get()));
    }
    let is_done = below.get().equals(zero);
    let length = squares.get().root();
    let far = M::Real::select(first.above(zero), -length, length);
    // Where nothing is below, zeros stay zeros.
    let rest = M::Real::select(is_done, one, first - far);
    for i in m.range(j + 1, end) {
        m.store(x, to.at(i, j), m.load(x, to.at(i, j)) / rest);
    }
    let onto = M::Real::select(is_done, first, far);
    let onto = size.map_or(onto, |size| m.scaled(onto, size));
    let tau = M::Real::select(is_done, zero, -rest / far);
    [onto, tau, M::Real::select(is_done, one, squares.get())]
}

/// Replaces matrices of `m` rows and `n` columns by `r`, and writes the other factor, `q`, with the factors of
/// reflections in `taus`; returns the least of the sums of squares. If `scaled`, columns are divided by powers of two
/// before they are squared.
#[inline(always)]
pub(crate) fn qr<M: MatrixMachine>(
    m: M,
    scaled: bool,
    [rows, columns]: [usize; 2],
    a: &mut M::Reals,
    q: &mut M::Reals,
    taus: &mut M::Reals,
) -> M::Real {
    let k = rows.min(columns);
    let (zero, of_a, of_q) = (M::Real::literal(0.0), MatrixLayout::rows(columns), MatrixLayout::rows(k));
    let mut least = m.real_cell(M::Real::literal(1.0));
    for j in m.first(k) {
        let [onto, tau, squares] = reflection(m, scaled, [j, rows.into()], (a, of_a));
        least.set(M::Real::select(squares.below(least.get()), squares, least.get()));
        m.store(taus, j, tau);
        for column in m.range(j + 1, columns) {
            reflect(m, [j, rows.into()], (None, of_a), tau, (a, of_a, column));
        }
        m.store(a, of_a.at(j, j), onto);
    }
    for i in m.first(rows) {
        for j in m.first(k) {
            let one = m.same(m.int(i), m.int(j));
            m.store(q, of_q.at(i, j), M::Real::select(one, M::Real::literal(1.0), zero));
        }
    }
    for j in m.backwards(0, k) {
        for column in m.range(j, k) {
            reflect(m, [j, rows.into()], (Some(a), of_a), m.load(taus, j), (q, of_q, column));
        }
    }
    // The diagonal is not negative.
    for i in m.first(k) {
        let down = m.load(a, of_a.at(i, i)).below(zero);
        for j in m.range(i, columns) {
            let x = m.load(a, of_a.at(i, j));
            m.store(a, of_a.at(i, j), M::Real::select(down, -x, x));
        }
        for row in m.first(rows) {
            let x = m.load(q, of_q.at(row, i));
            m.store(q, of_q.at(row, i), M::Real::select(down, -x, x));
        }
        for j in m.first(i) {
            m.store(a, of_a.at(i, j), zero);
        }
    }
    least.get()
}

/// The factors of matrices at any scale: those of matrices whose columns are divided by powers of two; NaN where an
/// element is not finite. The first rows of the matrix are replaced by `r`.
#[inline(always)]
pub(crate) fn qr_of_any_scale<M: MatrixMachine>(
    m: M,
    [rows, columns]: [usize; 2],
    a: &mut M::Reals,
    q: &mut M::Reals,
    (taus, sizes): (&mut M::Reals, &mut M::Ints),
) {
    let (k, of_a) = (rows.min(columns), MatrixLayout::rows(columns));
    let finite = m.are_finite(a, 0.into(), (rows * columns).into());
    for j in m.first(columns) {
        let size = m.exponent(m.largest(a, m.first(rows), |i| of_a.at(i, j)));
        m.store_int(sizes, j, size);
        for i in m.first(rows) {
            m.store(a, of_a.at(i, j), m.scaled(m.load(a, of_a.at(i, j)), m.negated(size)));
        }
    }
    qr(m, true, [rows, columns], a, q, taus);
    for i in m.first(k) {
        for j in m.range(i, columns) {
            m.store(a, of_a.at(i, j), m.scaled(m.load(a, of_a.at(i, j)), m.load_int(sizes, j)));
        }
    }
    m.fill_unless(finite, q, rows * k);
    m.fill_unless(finite, a, k * columns);
}
