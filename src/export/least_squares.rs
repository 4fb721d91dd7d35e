//! Least squares, and the equations for the tangents of eigenvectors and singular vectors, in StableHLO.
//!
//! Law: a matrix whose columns are certainly independent has its QR factors; of others the factors are those of the
//! singular values. A column of zeros on the right has a solution of zeros.

use super::text::{HloValue, Region, Ty};
use crate::shape::{Shape, exactly_of};

/// The axes of a batch, before those of a matrix.
fn batch(a: &HloValue) -> Vec<usize> {
    (0..a.shape.len() - 2).collect()
}

/// The shape of a batch with other matrices.
fn kind(a: &HloValue, rows: &[usize]) -> Shape {
    a.shape[..a.shape.len() - 2].iter().chain(rows).copied().collect()
}

fn sizes(a: &HloValue) -> [usize; 2] {
    [a.shape[a.shape.len() - 2], a.shape[a.shape.len() - 1]]
}

impl Region {
    /// A part of the rows.
    fn some_rows(&mut self, x: &HloValue, start: usize, len: usize) -> HloValue {
        let mut parts: Vec<_> = x.shape.iter().map(|n| (0, *n, 1)).collect();
        let axis = parts.len() - 2;
        parts[axis] = (start, start + len, 1);
        self.slice(x, &parts)
    }

    /// Vectors repeated as the rows (`axis` 1), or as the columns (`axis` 0), of matrices of the shape of `like`.
    pub(super) fn along(&mut self, x: &HloValue, like: &[usize], axis: usize) -> HloValue {
        let rank = like.len();
        let axes: Vec<usize> = (0..rank - 2).chain([rank - 2 + axis]).collect();
        self.broadcast(x, like, &axes)
    }

    /// The product in which a factor 0 makes a product 0: that of the finite elements, where no other element meets one
    /// that is not 0. Elsewhere the products that are not finite are counted, and added with their signs: if all have one
    /// sign, the sum is an infinity of that sign, and otherwise NaN. A NaN counts, and has no sign.
    pub(super) fn product_no_nan(&mut self, a: &HloValue, b: &HloValue) -> HloValue {
        if a.shape.contains(&0) || b.shape.contains(&0) {
            return self.full(0.0, &kind(a, &[sizes(a)[0], sizes(b)[1]]), a.ty);
        }
        let [(left, of_left), (right, of_right)] = [a, b].map(|x| {
            let (fine, zero, one) = (self.finite(x), self.like(0.0, x), self.like(1.0, x));
            let (other, ordered) = (self.compare("NE", x, &zero), self.compare("EQ", x, x));
            let (size, sign) = (self.select(&other, &one, &zero), self.unary("sign", x));
            let sign = self.select(&ordered, &sign, &zero);
            let [infinite_size, infinite_sign] = [&size, &sign].map(|part| self.select(&fine, &zero, part));
            (self.select(&fine, x, &zero), [[size, infinite_size], [sign, infinite_sign]])
        });
        let product = self.matmul(&left, &right);
        let [count, sum] = [0, 1].map(|part| {
            let [[x, infinite_x], [y, infinite_y]] = [&of_left[part], &of_right[part]];
            let [first, second] = [self.matmul(infinite_x, y), self.matmul(x, infinite_y)];
            self.binary("add", &first, &second)
        });
        let (nan, infinity) = (self.like(f64::NAN, &product), self.like(f64::INFINITY, &product));
        let (size, signed) = (self.unary("abs", &sum), self.binary("multiply", &sum, &infinity));
        let alike = self.compare("EQ", &size, &count);
        let other = self.select(&alike, &signed, &nan);
        let is_other = self.compare_with("GT", &count, 0.0);
        self.select(&is_other, &other, &product)
    }

    /// A solution, `x` above `ends`, with NaN in the columns of each with an element that is not finite, and zeros in those where `b`
    /// is zeros. The last operand has the columns of `ends`, and is finite where these have a value.
    fn column_by_column(&mut self, b: &HloValue, [x, ends, of_ends]: [&HloValue; 3]) -> HloValue {
        let rank = x.shape.len();
        let mut parts = Vec::new();
        for (x, of) in [(x, x), (ends, of_ends)] {
            let nan = self.like(f64::NAN, x);
            let fine = self.finite(of);
            let fine = self.reduce("and", &fine, 1.0, &[rank - 2]);
            let fine = self.along(&fine, &x.shape, 1);
            parts.push(self.select(&fine, x, &nan));
        }
        let x = self.concat(rank - 2, &parts);
        self.or_zeros(b, &x)
    }

    /// `x / gap`, but 0 for 0.
    fn over(&mut self, x: &HloValue, gap: &HloValue) -> HloValue {
        let (nothing, zero) = (self.compare_with("EQ", x, 0.0), self.like(0.0, x));
        let quotient = self.binary("divide", x, gap);
        self.select(&nothing, &zero, &quotient)
    }

    pub(super) fn eigh_solve(&mut self, args: &[HloValue]) -> HloValue {
        let [a, x, w, v] = exactly_of(args);
        let n = sizes(a)[0];
        if n == 0 {
            return x.clone();
        }
        let rank = a.shape.len();
        let (top, last) = (self.some_rows(x, 0, n), self.some_rows(x, n, 1));
        let vt = self.transposed(v);
        let of_vectors = self.matmul(&vt, &top);
        let (of_column, of_row) = (self.along(w, &a.shape, 1), self.along(w, &a.shape, 0));
        let gap = self.binary("subtract", &of_column, &of_row);
        let (on, zero) = (self.triangle("EQ", a), self.like(0.0, a));
        let quotient = self.over(&of_vectors, &gap);
        let ends = self.reshape(&last, &w.shape);
        let ends = self.along(&ends, &a.shape, 1);
        let coefficients = self.select(&on, &ends, &quotient);
        // Numbers that are not finite stay in their column.
        let y = self.product_no_nan(v, &coefficients);
        let diagonal = self.select(&on, &of_vectors, &zero);
        let diagonal = self.sum(&diagonal, &[rank - 2]);
        let diagonal = self.reshape(&diagonal, &last.shape);
        let of_ends = self.concat(rank - 2, &[of_vectors, of_row, last]);
        self.column_by_column(x, [&y, &diagonal, &of_ends])
    }

    pub(super) fn svd_solve(&mut self, args: &[HloValue]) -> HloValue {
        let [a, x, u, s, vt] = exactly_of(args);
        let ([m, n], rank) = (sizes(a), a.shape.len());
        let k = m.min(n);
        if k == 0 {
            return x.clone();
        }
        let square = kind(a, &[k, k]);
        let (ut, v) = (self.transposed(u), self.transposed(vt));
        let [left, right] = [(0, m), (m, n)].map(|(start, len)| self.some_rows(x, start, len));
        let [p, q] = [m + n, m + n + 1].map(|at| {
            let row = self.some_rows(x, at, 1);
            self.reshape(&row, &s.shape)
        });
        let (of_u, of_v) = (self.matmul(&ut, &left), self.matmul(vt, &right));
        let (of_column, of_row) = (self.along(s, &square, 1), self.along(s, &square, 0));
        let (sum, gap) = (self.binary("add", &of_column, &of_row), self.binary("subtract", &of_column, &of_row));
        let (share, other) = (self.over(&of_column, &sum), self.over(&of_row, &sum));
        let on = self.triangle("EQ", &of_u);
        let mut parts = Vec::new();
        for (x, y, end, basis, of, len) in [(&of_u, &of_v, &p, u, &left, m), (&of_v, &of_u, &q, &v, &right, n)] {
            let (first, second) = (self.binary("multiply", &share, x), self.binary("multiply", &other, y));
            let both = self.binary("add", &first, &second);
            let quotient = self.over(&both, &gap);
            let end = self.along(end, &square, 1);
            let coefficients = self.select(&on, &end, &quotient);
            let mut part = self.product_no_nan(basis, &coefficients);
            if len > k {
                let inside = self.matmul(basis, x);
                let rest = self.binary("subtract", of, &inside);
                let by = self.along(s, &rest.shape, 1);
                let rest = self.over(&rest, &by);
                part = self.binary("add", &part, &rest);
            }
            parts.push(part);
        }
        let mut ends = Vec::new();
        let turn = self.binary("subtract", &p, &q);
        let turn = self.binary("multiply", s, &turn);
        for (of, how) in [(&of_u, "subtract"), (&of_v, "add")] {
            let zero = self.like(0.0, of);
            let diagonal = self.select(&on, of, &zero);
            let diagonal = self.sum(&diagonal, &[rank - 2]);
            let end = self.binary(how, &diagonal, &turn);
            ends.push(self.reshape(&end, &kind(a, &[1, k])));
        }
        let (y, ends) = (self.concat(rank - 2, &parts), self.concat(rank - 2, &ends));
        let last = self.some_rows(x, m + n, 2);
        let of_ends = self.concat(rank - 2, &[of_u, of_v, of_row, last]);
        self.column_by_column(x, [&y, &ends, &of_ends])
    }

    /// The factors and the rank. A matrix is certainly of full rank if the inverse of the triangle of columns of length
    /// 1 is small.
    pub(super) fn lstsq_factor(&mut self, a: &HloValue) -> [HloValue; 4] {
        let [m, n] = sizes(a);
        let (k, ranks) = (m.min(n), kind(a, &[]));
        if a.shape.contains(&0) {
            let parts =
                [kind(a, &[m, k]), kind(a, &[k, k]), kind(a, &[k, n])].map(|shape| self.full(0.0, &shape, a.ty));
            let [u, t, vt] = parts;
            let rank = self.full(0.0, &ranks, Ty::I64);
            return [u, t, vt, rank];
        }
        if m < n {
            let t = self.transposed(a);
            let [u, t, vt, rank] = self.lstsq_factor(&t);
            let [left, middle, right] = [&vt, &t, &u].map(|x| self.transposed(x));
            return [left, middle, right, rank];
        }
        let epsilon = if a.ty == Ty::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let tolerance = epsilon * m as f64;
        let [q, r] = self.qr(a);
        let (lengths, unit) = self.unit_columns(&r);
        let one = self.diagonal_of(1.0, &unit);
        let inverse = self.solve_triangular(&unit, &one, [false, false, false]);
        let rank_of = a.shape.len();
        let squares = self.binary("multiply", &inverse, &inverse);
        let norm = self.sum(&squares, &[rank_of - 2, rank_of - 1]);
        let is_full = self.compare_with("LT", &norm, (0.25 / tolerance).powi(2).min(1e30));
        // Columns of length 1 have the same rank, and singular values that do not depend on units.
        let scaled = self.scaled_columns(a, &lengths);
        let [u, s, _] = self.svd(&scaled);
        let most = self.reduce("maximum", &s, 0.0, &[rank_of - 2]);
        let most = self.broadcast(&most, &s.shape, &batch(a));
        let least = self.like(tolerance, &most);
        let least = self.binary("multiply", &most, &least);
        let counts = self.compare("GT", &s, &least);
        let count = self.convert(&counts, Ty::I64);
        let count = self.sum(&count, &[rank_of - 2]);
        // The rows of `u^T a` up to the rank have the rows of the matrix as their span.
        let by = self.along(&counts, &u.shape, 1);
        let zero = self.like(0.0, &u);
        let u = self.select(&by, &u, &zero);
        let ut = self.transposed(&u);
        let lines = self.matmul(&ut, a);
        let columns = self.transposed(&lines);
        let [z, l] = self.qr(&columns);
        // `lines = l^T z^T`: in the opposite order an upper triangle.
        self.upper((&u, &z, &l), &counts, (&q, &r, &one), (&is_full, &count, n), a)
    }

    /// The factors in the order in which the triangle is an upper one, or those of a matrix of full rank.
    fn upper(
        &mut self,
        (u, z, l): (&HloValue, &HloValue, &HloValue),
        counts: &HloValue,
        (q, r, one): (&HloValue, &HloValue, &HloValue),
        (is_full, count, n): (&HloValue, &HloValue, usize),
        a: &HloValue,
    ) -> [HloValue; 4] {
        let rank = a.shape.len();
        let lt = self.transposed(l);
        // Columns behind the rank are zeros, and come first in the opposite order: the identity in the triangle.
        let zt = self.transposed(z);
        let by = self.along(counts, &zt.shape, 0);
        let zero = self.like(0.0, &zt);
        let zt = self.select(&by, &zt, &zero);
        let by = self.along(counts, &lt.shape, 0);
        let lt = self.select(&by, &lt, one);
        let u = self.reverse(u, &[rank - 1]);
        let t = self.reverse(&lt, &[rank - 2, rank - 1]);
        let vt = self.reverse(&zt, &[rank - 2]);
        let mut parts = [(q, &u), (r, &t), (one, &vt)].map(|(full, other)| {
            let mask = self.broadcast(is_full, &full.shape, &batch(a));
            let part = self.select(&mask, full, other);
            self.if_finite(a, &part)
        });
        let all = self.full(n as f64, &count.shape, Ty::I64);
        let count = self.select(is_full, &all, count);
        let finite = self.finite(a);
        let finite = self.reduce("and", &finite, 1.0, &[rank - 2, rank - 1]);
        let none = self.full(0.0, &count.shape, Ty::I64);
        let count = self.select(&finite, &count, &none);
        let [u, t, vt] = std::mem::replace(&mut parts, [q.clone(), q.clone(), q.clone()]);
        [u, t, vt, count]
    }

    /// The largest elements of the columns, and their lengths when they are divided by them, 1 for columns of zeros;
    /// and the columns divided by both.
    fn unit_columns(&mut self, r: &HloValue) -> ([HloValue; 2], HloValue) {
        let rank = r.shape.len();
        let or_one = |code: &mut Region, x: &HloValue| {
            let (nothing, one) = (code.compare_with("EQ", x, 0.0), code.like(1.0, x));
            code.select(&nothing, &one, x)
        };
        let sizes = self.unary("abs", r);
        let most = self.reduce("maximum", &sizes, 0.0, &[rank - 2]);
        let most = or_one(self, &most);
        let by = self.along(&most, &r.shape, 1);
        let scaled = self.binary("divide", r, &by);
        let squares = self.binary("multiply", &scaled, &scaled);
        let squares = self.sum(&squares, &[rank - 2]);
        let length = self.unary("sqrt", &squares);
        let length = or_one(self, &length);
        let by = self.along(&length, &r.shape, 1);
        let unit = self.binary("divide", &scaled, &by);
        ([most, length], unit)
    }

    fn scaled_columns(&mut self, a: &HloValue, lengths: &[HloValue; 2]) -> HloValue {
        let mut x = a.clone();
        for length in lengths {
            let by = self.along(length, &a.shape, 1);
            x = self.binary("divide", &x, &by);
        }
        x
    }

    /// The solution by factors.
    pub(super) fn least_squares(&mut self, args: &[HloValue], transposed: bool) -> HloValue {
        let [a, b, u, t, vt] = exactly_of(args);
        let [m, n] = sizes(a);
        let shape = kind(a, &[if transposed { m } else { n }, sizes(b)[1]]);
        if shape.contains(&0) || a.shape.contains(&0) {
            return self.full(0.0, &shape, a.ty);
        }
        let (first, second) = match transposed {
            true => (vt.clone(), u.clone()),
            false => (self.transposed(u), self.transposed(vt)),
        };
        let rows = self.matmul(&first, b);
        let solved = self.solve_triangular(t, &rows, [m < n, transposed, false]);
        let x = self.matmul(&second, &solved);
        let x = self.if_finite(t, &x);
        self.or_zeros(b, &x)
    }

    /// The part in the null space by factors.
    pub(super) fn null_projection(&mut self, args: &[HloValue], transposed: bool) -> HloValue {
        let [a, z, u, t, vt] = exactly_of(args);
        let ([m, n], rank) = (sizes(a), a.shape.len());
        let (k, rows) = (m.min(n), if transposed { m } else { n });
        if z.shape.contains(&0) || k == 0 {
            return z.clone();
        }
        let basis = if transposed { self.transposed(u) } else { vt.clone() };
        let back = self.transposed(&basis);
        let inner = self.matmul(&basis, z);
        let inside = self.matmul(&back, &inner);
        let mut rest = self.binary("subtract", z, &inside);
        if k == rows {
            // Of full rank if no column of the left factor is zeros.
            let sizes = self.unary("abs", u);
            let most = self.reduce("maximum", &sizes, 0.0, &[rank - 2]);
            let some = self.compare_with("NE", &most, 0.0);
            let all = self.reduce("and", &some, 1.0, &[rank - 2]);
            let mask = self.broadcast(&all, &rest.shape, &batch(a));
            let zero = self.like(0.0, &rest);
            rest = self.select(&mask, &zero, &rest);
        }
        let rest = self.if_finite(t, &rest);
        self.or_zeros(z, &rest)
    }
}
