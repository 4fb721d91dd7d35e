//! QR factorisation by Householder reflections, several of them at a time.
//!
//! Laws: columns times powers of two give the same `q`, and the columns of `r` times these powers, to the bit where all
//! numbers are in range. A column is as exact as its largest element below the rows that are done, however small that is.
//!
//! A product of reflections is `I - V T V^T` with an upper triangular `T`: R. Schreiber and C. Van Loan, "A
//! storage-efficient WY representation for products of Householder transformations" (1989).
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use super::rows::{AlignedRows, LANES, MatrixFactor, inner, multiply_add};
use super::{Real, abs, exponent, power_of_two, scaled};
use crate::dtype::DType;
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// The reflections that are applied at once: whole vectors of columns.
const TOGETHER: usize = 16;

/// Columns of a matrix and of `q`, as rows: the vectors of the reflections take the place of the former.
struct Columns<E: Real> {
    x: AlignedRows<E>,
    m: usize,
    n: usize,
    /// The factors of the reflections; 0 for none.
    factors: Vec<E>,
}

/// Replaces `x` by the vector of the reflection that takes it to a multiple of the first unit vector: returns the
/// factor of the reflection and that multiple. `None` for zeros below the first element.
pub(super) fn reflection<E: Real>(x: &mut [E]) -> Option<(E, E)> {
    if x[1..].iter().all(|x| *x == E::ZERO) {
        return None;
    }
    let mut size = exponent_of(x);
    // Squares stay in range.
    if size.abs() <= if E::DTYPE == DType::F64 { 200 } else { 20 } {
        size = 0;
    } else {
        x.iter_mut().for_each(|x| *x = scaled(*x, -size));
    }
    let length = num_traits::Float::sqrt(dispatch(Isa::detect(), Inner { x, y: x }));
    let onto = if x[0] > E::ZERO { -length } else { length };
    let rest = x[0] - onto;
    x[0] = E::ONE;
    x[1..].iter_mut().for_each(|x| *x /= rest);
    Some((-rest / onto, if size == 0 { onto } else { scaled(onto, size) }))
}

/// The exponent of the power of two above all absolute values.
fn exponent_of<E: Real>(x: &[E]) -> i64 {
    let (chunks, rest) = x.as_chunks::<LANES>();
    let mut most = [E::ZERO; LANES];
    for chunk in chunks {
        for l in 0..LANES {
            let size = abs(chunk[l]);
            most[l] = if size > most[l] { size } else { most[l] };
        }
    }
    exponent(most.into_iter().chain(rest.iter().copied()))
}

/// The sum of products.
struct Inner<'x, E> {
    x: &'x [E],
    y: &'x [E],
}

impl<E: Real> Kernel for Inner<'_, E> {
    type Output = E;

    #[inline(always)]
    fn run<M: Machine>(self) -> E {
        inner::<M, E>(self.x, self.y)
    }
}

/// Reflects rows, from an element on.
struct Reflect<'x, E> {
    rows: &'x mut [E],
    stride: usize,
    from: usize,
    v: &'x [E],
    factor: E,
}

impl<E: Real> Kernel for Reflect<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        for row in self.rows.chunks_exact_mut(self.stride) {
            let row = &mut row[self.from..][..self.v.len()];
            let product = inner::<M, E>(row, self.v) * self.factor;
            for (x, v) in row.iter_mut().zip(self.v) {
                *x = multiply_add::<M, E>(-product, *v, *x);
            }
        }
    }
}

impl<E: Real> Columns<E> {
    /// Factors the columns from `from` to `to`, to which all reflections before are applied, and writes them to `r`.
    fn panel(&mut self, [from, to]: [usize; 2], r: &mut dyn FnMut(usize, usize, E)) {
        let (m, stride) = (self.m, self.x.stride);
        for j in from..to.min(self.m) {
            let (above, below) = self.x.all().split_at_mut((j + 1) * stride);
            let column = &mut above[j * stride..][..m];
            let first = column[j];
            let (factor, onto) = reflection(&mut column[j..]).unwrap_or((E::ZERO, first));
            if factor != E::ZERO {
                let rows = &mut below[..(to - j - 1) * stride];
                dispatch(Isa::detect(), Reflect { rows, stride, from: j, v: &column[j..], factor });
            }
            (0..j).for_each(|i| r(i, j, column[i]));
            r(j, j, onto);
            column[..j].fill(E::ZERO);
            if factor == E::ZERO {
                column[j..].fill(E::ZERO);
            }
            self.factors[j] = factor;
        }
    }

    /// Applies the reflections from `from` to `to` to some rows, or, if `backwards`, in the opposite order.
    fn apply(&mut self, [from, to]: [usize; 2], rows: [usize; 2], backwards: bool) {
        let (count, below, depth) = (to - from, rows[1] - rows[0], self.m - from);
        if below == 0 {
            return;
        }
        // One below the other: the vectors as columns, their products with each other, the triangle, the products of
        // the rows with the vectors, and these times the triangle.
        let [gram, triangle, first, second] = [depth, depth + count, depth + 2 * count, depth + 2 * count + below];
        let mut w = AlignedRows::zeros(second + below, count);
        for (k, line) in (from..to).map(|j| &self.x.row(j)[from..self.m]).enumerate() {
            let stride = w.stride;
            w.all().iter_mut().skip(k).step_by(stride).zip(line).for_each(|(to, x)| *to = *x);
        }
        let stride = self.x.stride;
        let of_rows = |row: usize| MatrixFactor { of: None, at: row * stride + from, strides: [stride, 1] };
        let x = self.x.all();
        w.subtract([gram, 0], MatrixFactor { of: Some(x), ..of_rows(from) }, [0, 0], [count, count, depth]);
        // The products have the other sign.
        let mut t = vec![E::ZERO; count * count];
        for j in 0..count {
            let factor = self.factors[from + j];
            for i in 0..j {
                let sum = (i..j).fold(E::ZERO, |sum, k| sum + t[i * count + k] * w.row(gram + k)[j]);
                t[i * count + j] = factor * sum;
            }
            t[j * count + j] = factor;
        }
        let stride = w.stride;
        for i in 0..count {
            let line = &mut w.all()[(triangle + i) * stride..][..count];
            for j in 0..count {
                line[j] = if backwards { t[j * count + i] } else { t[i * count + j] };
            }
        }
        w.subtract([first, 0], MatrixFactor { of: Some(x), ..of_rows(rows[0]) }, [0, 0], [below, count, depth]);
        w.subtract([second, 0], w.part(first, 0), [triangle, 0], [below, count, count]);
        let a = w.part(second, 0);
        self.x.subtract([rows[0], from], MatrixFactor { of: Some(w.all()), ..a }, [from, from], [below, depth, count]);
    }
}

/// The QR factors: `q` with orthonormal columns, and `r`, upper triangular with a diagonal that is not negative; all
/// elements of `a` are finite.
pub(crate) fn factors<E: Real>([m, n]: [usize; 2], a: &[E], q: &mut [E], r: &mut [E]) {
    let k = m.min(n);
    let mut x = AlignedRows::zeros(n + k, m);
    let stride = x.stride;
    let mut sizes = Vec::with_capacity(n);
    for (j, row) in x.all().chunks_exact_mut(stride).take(n).enumerate() {
        row.iter_mut().zip(a.iter().skip(j).step_by(n)).for_each(|(to, x)| *to = *x);
        let size = exponent_of(&row[..m]);
        match power_of_two::<E>(-size) {
            Some(power) => row[..m].iter_mut().for_each(|x| *x *= power),
            None => row[..m].iter_mut().for_each(|x| *x = scaled(*x, -size)),
        }
        sizes.push(size);
    }
    r.fill(E::ZERO);
    let mut set = |i: usize, j: usize, x: E| r[i * n + j] = scaled(x, sizes[j]);
    let mut columns = Columns { x, m, n, factors: vec![E::ZERO; k] };
    let panels = (0..k).step_by(TOGETHER).map(|from| [from, (from + TOGETHER).min(k)]);
    for [from, to] in panels.clone() {
        columns.panel([from, to], &mut set);
        columns.apply([from, to], [to, n], false);
    }
    // The columns without a reflection of their own.
    for j in k..n {
        columns.x.row(j)[..m].iter().enumerate().for_each(|(i, x)| set(i, j, *x));
    }
    for j in 0..k {
        columns.x.all()[(n + j) * stride + j] = E::ONE;
    }
    for [from, to] in panels.rev() {
        columns.apply([from, to], [columns.n + from, columns.n + k], true);
    }
    for i in 0..k {
        let down = r[i * n + i] < E::ZERO;
        let turned = |x: E| if down { -x } else { x };
        let from = columns.x.row(n + i);
        (0..m).for_each(|row| q[row * k + i] = turned(from[row]));
        r[i * n + i..(i + 1) * n].iter_mut().for_each(|x| *x = turned(*x));
    }
}
