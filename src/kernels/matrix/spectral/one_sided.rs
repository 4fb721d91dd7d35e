//! Singular values of small matrices by rotations of columns until they are orthogonal.
//!
//! Laws: the matrix may have any rank. Singular values that belong to rows and columns of different magnitudes are
//! exact to some roundings each, down to about 1e-276 (in `f32` 1e-24) of the largest element; smaller ones are 0.
//!
//! Two QR factorisations come first, with column pivoting `a p = q r` and without `r^T = z l^T`: the columns of the
//! lower triangle `l` are nearly orthogonal, and `q` and `z` have vectors for the singular values that are 0. Numbers
//! that are small compared with the first ones are kept with an exponent of two, so that no square leaves the range of
//! floats.
//!
//! J. Demmel and K. Veselić, "Jacobi's method is more accurate than QR" (1992); Z. Drmač and K. Veselić, "New fast and
//! accurate Jacobi SVD algorithm" (2008).
#![allow(clippy::needless_range_loop, reason = "lines and lanes are indices of several arrays")]

use super::{Real, abs, descending, epsilon, least, sqrt};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};
use crate::kernels::matrix::rows::multiply_add;
use crate::kernels::matrix::{exponent, scaled};

/// The elements of a chunk of a vector; vectors are padded with zeros.
const CHUNK: usize = 4;

/// The most sweeps over all pairs of columns; up to six are usual.
const SWEEPS: usize = 60;

/// The left singular vectors, the singular values in descending order and the right singular vectors of a matrix with
/// at least as many rows as columns.
pub(super) fn singular<E: Real>(sizes: [usize; 2], a: &[E], vectors: bool) -> [Vec<E>; 3] {
    dispatch(Isa::detect(), Decompose { sizes, a, vectors })
}

struct Decompose<'x, E> {
    sizes: [usize; 2],
    a: &'x [E],
    vectors: bool,
}

impl<E: Real> Kernel for Decompose<'_, E> {
    type Output = [Vec<E>; 3];

    #[inline(always)]
    fn run<M: Machine>(self) -> [Vec<E>; 3] {
        let ([m, n], a) = (self.sizes, self.a);
        // Rows in descending order of their largest elements: then reflections keep the digits of small rows.
        let largest: Vec<E> =
            a.chunks_exact(n).map(|row| row.iter().fold(E::ZERO, |most, x| larger(most, *x))).collect();
        let rows = descending(&largest);
        let mut x = Columns::zeros(n, m);
        for (i, row) in rows.iter().enumerate() {
            (0..n).for_each(|j| x.x[j * x.stride + i] = a[row * n + j]);
        }
        let outer = x.reflect::<M>(m, true);
        let rank = outer.factors.len();
        let mut y = Columns::zeros(rank, n);
        for i in 0..rank {
            (i..n).for_each(|j| y.x[i * y.stride + j] = x.x[j * x.stride + i]);
        }
        let inner = y.reflect::<M>(n, false);
        let mut columns = Rotated::of(&y, &outer.exponents, self.vectors);
        columns.orthogonalize::<M>();
        let sizes = columns.sizes::<M>();
        let order = descending(&sizes);
        let mut values: Vec<E> = order.iter().map(|j| sizes[*j]).collect();
        values.resize(n, E::ZERO);
        if !self.vectors {
            return [Vec::new(), values, Vec::new()];
        }
        columns.normalize::<M>();
        let part = |j: usize, right: bool| {
            let line = &columns.x[j * columns.stride..][..columns.stride];
            &line[if right { columns.len } else { 0 }..][..rank]
        };
        let order: Vec<Option<usize>> = order.into_iter().map(Some).chain((rank..n).map(|_| None)).collect();
        let left = outer.expand::<M>(m, &rows, order.iter().map(|j| j.map(|j| part(j, false))));
        let right = inner.expand::<M>(n, &outer.order, order.iter().map(|j| j.map(|j| part(j, true))));
        [left, values, right]
    }
}

#[inline(always)]
fn larger<E: Real>(most: E, x: E) -> E {
    if abs(x) > most { abs(x) } else { most }
}

/// The columns of a matrix, one after the other.
struct Columns<E> {
    x: Vec<E>,
    stride: usize,
}

/// The reflections of a QR factorisation.
struct Reflected<E> {
    /// The vectors, with zeros before the element of their number.
    vectors: Columns<E>,
    factors: Vec<E>,
    /// The column of the matrix at each column of the triangle.
    order: Vec<usize>,
    /// The exponent of two by which each row of the triangle must be multiplied; they descend.
    exponents: Vec<i64>,
}

impl<E: Real> Columns<E> {
    fn zeros(count: usize, len: usize) -> Columns<E> {
        let stride = len.next_multiple_of(CHUNK);
        Columns { x: vec![E::ZERO; count * stride], stride }
    }

    /// Reflects columns of `m` elements so that they are an upper triangle, in the order of their sizes below the rows
    /// that are done if `pivoting`: then up to the rank. Only columns that are done have nonzero parts below.
    #[inline(always)]
    fn reflect<M: Machine>(&mut self, m: usize, pivoting: bool) -> Reflected<E> {
        let stride = self.stride;
        let n = self.x.len() / stride;
        let smallest = exponent([least::<E>() / (epsilon::<E>() * epsilon::<E>())].into_iter());
        let small = least::<E>() / (epsilon::<E>() * epsilon::<E>());
        let mut out = Reflected {
            vectors: Columns::zeros(n, m),
            factors: Vec::with_capacity(n),
            order: (0..n).collect(),
            exponents: Vec::with_capacity(n),
        };
        let mut size = 0;
        let mut squares: Vec<E> = self.x.chunks_exact(stride).map(|x| square::<M, E>(x)).collect();
        for k in 0..n {
            if pivoting {
                let mut best = largest(&squares, k);
                if squares[best] <= small || squares[best].is_nan() {
                    let rest = || self.x[k * stride..].chunks_exact(stride).flat_map(|x| &x[k..]);
                    let more = exponent(rest().copied());
                    if size + more < smallest || rest().all(|x| *x == E::ZERO) {
                        break;
                    }
                    size += more;
                    for (x, square) in self.x[k * stride..].chunks_exact_mut(stride).zip(&mut squares[k..]) {
                        x[k..].iter_mut().for_each(|x| *x = scaled(*x, -more));
                        *square = x[k..].iter().fold(E::ZERO, |sum, x| sum + *x * *x);
                    }
                    best = largest(&squares, k);
                }
                self.exchange(k, best);
                out.order.swap(k, best);
                squares.swap(k, best);
            }
            out.exponents.push(size);
            let (above, below) = self.x.split_at_mut((k + 1) * stride);
            let column = &mut above[k * stride..];
            let v = &mut out.vectors.x[k * stride..][..stride];
            let length = sqrt(squares[k]);
            if length == E::ZERO {
                out.factors.push(E::ZERO);
                continue;
            }
            let onto = if column[k] > E::ZERO { -length } else { length };
            let rest = column[k] - onto;
            v[k + 1..].iter_mut().zip(&column[k + 1..]).for_each(|(v, x)| *v = *x / rest);
            v[k] = E::ONE;
            column[k] = onto;
            let factor = -rest / onto;
            out.factors.push(factor);
            for (x, square) in below.chunks_exact_mut(stride).zip(&mut squares[k + 1..]) {
                let from = k / CHUNK * CHUNK;
                reflect::<M, E>(&mut x[from..], &v[from..], factor);
                let whole = (k + 1).next_multiple_of(CHUNK);
                *square = x[k + 1..whole.min(stride)].iter().fold(E::ZERO, |sum, x| sum + *x * *x);
                if whole < stride {
                    *square += self::square::<M, E>(&x[whole..]);
                }
            }
        }
        out
    }

    #[inline(always)]
    fn exchange(&mut self, i: usize, j: usize) {
        if i != j {
            let (first, second) = self.x.split_at_mut(j * self.stride);
            first[i * self.stride..][..self.stride].swap_with_slice(&mut second[..self.stride]);
        }
    }
}

/// The position of the largest number from one on, the first of equal ones.
#[inline(always)]
fn largest<E: Real>(x: &[E], from: usize) -> usize {
    (from..x.len()).fold(from, |best, k| if x[k] > x[best] { k } else { best })
}

impl<E: Real> Reflected<E> {
    /// Vectors whose first elements are given, or unit vectors with the one at their number, after all reflections, and
    /// with the elements in an order; one after the other.
    #[inline(always)]
    fn expand<'x, M: Machine>(
        &self,
        len: usize,
        order: &[usize],
        parts: impl Iterator<Item = Option<&'x [E]>>,
    ) -> Vec<E>
    where
        E: 'x,
    {
        let stride = self.vectors.stride;
        let mut out = Vec::with_capacity(len * len);
        let mut line = vec![E::ZERO; stride];
        for (j, part) in parts.enumerate() {
            line.fill(E::ZERO);
            match part {
                Some(part) => line[..part.len()].copy_from_slice(part),
                None => line[j] = E::ONE,
            }
            for k in (0..self.factors.len()).rev() {
                let from = k / CHUNK * CHUNK;
                reflect::<M, E>(
                    &mut line[from..],
                    &self.vectors.x[k * stride + from..][..stride - from],
                    self.factors[k],
                );
            }
            let start = out.len();
            out.resize(start + len, E::ZERO);
            line.iter().zip(order).for_each(|(x, at)| out[start + at] = *x);
        }
        out
    }
}

/// The columns of a lower triangle that are rotated, each with the column of the product of all rotations behind it.
struct Rotated<E> {
    x: Vec<E>,
    stride: usize,
    /// The elements of a column, with those that pad it.
    len: usize,
    /// The exponent of two by which each column must be multiplied.
    exponents: Vec<i64>,
}

impl<E: Real> Rotated<E> {
    /// The transposed triangle of `y`, its rows multiplied by powers of two, which descend.
    #[inline(always)]
    fn of(y: &Columns<E>, exponents: &[i64], vectors: bool) -> Rotated<E> {
        let n = exponents.len();
        let len = n.next_multiple_of(CHUNK);
        let stride = if vectors { 2 * len } else { len };
        let mut x = vec![E::ZERO; n * stride];
        for j in 0..n {
            let line = &mut x[j * stride..][..stride];
            for i in j..n {
                line[i] = scaled(y.x[i * y.stride + j], exponents[i] - exponents[j]);
            }
            if vectors {
                line[len + j] = E::ONE;
            }
        }
        Rotated { x, stride, len, exponents: exponents.to_vec() }
    }

    /// Rotates pairs of columns until all are orthogonal.
    #[inline(always)]
    fn orthogonalize<M: Machine>(&mut self) {
        let n = self.exponents.len();
        let tolerance = epsilon::<E>() * sqrt(E::of_f64(n as f64));
        for _ in 0..SWEEPS {
            let mut rotated = false;
            for p in 0..n.saturating_sub(1) {
                for q in p + 1..n {
                    rotated |= self.rotate::<M>([p, q], tolerance * tolerance);
                }
            }
            if !rotated {
                return;
            }
        }
    }

    /// Two columns, the first before the second.
    #[inline(always)]
    fn pair(&mut self, [p, q]: [usize; 2]) -> [&mut [E]; 2] {
        let (first, second) = self.x.split_at_mut(q * self.stride);
        [&mut first[p * self.stride..][..self.stride], &mut second[..self.stride]]
    }

    /// Makes two columns orthogonal, with the larger one first; says whether they were not orthogonal before.
    #[inline(always)]
    fn rotate<M: Machine>(&mut self, [p, q]: [usize; 2], tolerance: E) -> bool {
        let len = self.len;
        let [x, y] = self.pair([p, q]);
        let [mut of_x, mut of_y, mut of_both] = products::<M, E>(&x[..len], &y[..len]);
        if of_x < epsilon() || of_y < epsilon() {
            self.scale(p);
            self.scale(q);
            let [x, y] = self.pair([p, q]);
            [of_x, of_y, of_both] = products::<M, E>(&x[..len], &y[..len]);
        }
        let mut gap = self.exponents[q] - self.exponents[p];
        let is_larger = match gap {
            0 => of_y > of_x,
            _ => of_x == E::ZERO || scaled(of_y, (2 * gap).clamp(-2000, 2000)) > of_x,
        };
        if is_larger && of_y > E::ZERO {
            let [x, y] = self.pair([p, q]);
            x.swap_with_slice(y);
            self.exponents.swap(p, q);
            (of_x, of_y, gap) = (of_y, of_x, -gap);
        }
        if of_both * of_both <= tolerance * of_x * of_y {
            return false;
        }
        // In units of the first column, the second one is `by` times what is kept.
        let by = if gap == 0 { E::ONE } else { scaled(E::ONE, gap) };
        let (size, both) = (of_x - of_y * by * by, E::of_f64(2.0) * of_both);
        let size = size + sqrt(size * size + both * both * by * by);
        let over = both / size;
        let tangent = over * by;
        let cosine = E::ONE / sqrt(E::ONE + tangent * tangent);
        let (sine, less) = (tangent * cosine, tangent * tangent * cosine * cosine / (E::ONE + cosine));
        let [x, y] = self.pair([p, q]);
        let ((x, x_product), (y, y_product)) = (x.split_at_mut(len), y.split_at_mut(len));
        turn::<M, E>(x, y, less, [sine * by, over * cosine]);
        turn::<M, E>(x_product, y_product, less, [sine; 2]);
        true
    }

    /// Brings a column whose elements became small into range.
    #[inline(always)]
    fn scale(&mut self, k: usize) {
        let column = &mut self.x[k * self.stride..][..self.len];
        let more = exponent(column.iter().copied());
        column.iter_mut().for_each(|x| *x = scaled(*x, -more));
        self.exponents[k] += more;
    }

    /// The lengths of the columns.
    #[inline(always)]
    fn sizes<M: Machine>(&mut self) -> Vec<E> {
        let n = self.exponents.len();
        (0..n)
            .map(|k| {
                self.scale(k);
                let length = sqrt(square::<M, E>(&self.x[k * self.stride..][..self.len]));
                scaled(length, self.exponents[k])
            })
            .collect()
    }

    /// Divides columns by their lengths; a column of zeros becomes a unit vector that is orthogonal to the others.
    #[inline(always)]
    fn normalize<M: Machine>(&mut self) {
        let (n, len, stride) = (self.exponents.len(), self.len, self.stride);
        let mut empty = Vec::new();
        for k in 0..n {
            let column = &mut self.x[k * stride..][..len];
            let length = sqrt(square::<M, E>(column));
            match length > E::ZERO {
                true => column.iter_mut().for_each(|x| *x /= length),
                false => empty.push(k),
            }
        }
        for (filled, k) in empty.iter().enumerate() {
            let others: Vec<usize> = (0..n).filter(|j| !empty[filled..].contains(j)).collect();
            // The unit vector with the least part in the span of the others leaves a remainder that is not small.
            let part =
                |i: usize| others.iter().fold(E::ZERO, |sum, j| sum + self.x[j * stride + i] * self.x[j * stride + i]);
            let parts: Vec<E> = (0..n).map(part).collect();
            let at = (0..n).fold(0, |best, i| if parts[i] < parts[best] { i } else { best });
            let mut column = vec![E::ZERO; len];
            column[at] = E::ONE;
            for j in others.iter().chain(&others) {
                let other = &self.x[j * stride..][..len];
                let [.., both] = products::<M, E>(other, &column);
                column.iter_mut().zip(other).for_each(|(x, y)| *x -= both * *y);
            }
            let length = sqrt(square::<M, E>(&column));
            self.x[k * stride..][..len].iter_mut().zip(column).for_each(|(to, x)| *to = x / length);
        }
    }
}

/// Takes `x` to `x + by[0] y - less x` and `y` to `y - by[1] x - less y`, where `less` is 1 less the cosine of a
/// rotation: so a rotation by a small angle rounds little.
#[inline(always)]
fn turn<M: Machine, E: Real>(x: &mut [E], y: &mut [E], less: E, by: [E; 2]) {
    let (x, y) = (x.as_chunks_mut::<CHUNK>().0, y.as_chunks_mut::<CHUNK>().0);
    for (x, y) in x.iter_mut().zip(y) {
        let (a, b) = (*x, *y);
        let [mut first, mut second] = [a, b];
        for l in 0..CHUNK {
            first[l] += multiply_add::<M, E>(by[0], b[l], -less * a[l]);
        }
        for l in 0..CHUNK {
            second[l] -= multiply_add::<M, E>(by[1], a[l], less * b[l]);
        }
        (*x, *y) = (first, second);
    }
}

/// The sum of the lanes.
#[inline(always)]
fn total<E: Real>(x: [E; CHUNK]) -> E {
    (x[0] + x[2]) + (x[1] + x[3])
}

/// The squared lengths of two vectors, and their product.
#[inline(always)]
fn products<M: Machine, E: Real>(x: &[E], y: &[E]) -> [E; 3] {
    let mut sums = [[E::ZERO; CHUNK]; 3];
    for (x, y) in x.as_chunks::<CHUNK>().0.iter().zip(y.as_chunks::<CHUNK>().0) {
        for l in 0..CHUNK {
            sums[0][l] = multiply_add::<M, E>(x[l], x[l], sums[0][l]);
            sums[1][l] = multiply_add::<M, E>(y[l], y[l], sums[1][l]);
            sums[2][l] = multiply_add::<M, E>(x[l], y[l], sums[2][l]);
        }
    }
    sums.map(total)
}

/// The squared length of a vector of whole chunks.
#[inline(always)]
fn square<M: Machine, E: Real>(x: &[E]) -> E {
    let mut sums = [E::ZERO; CHUNK];
    for x in x.as_chunks::<CHUNK>().0 {
        for l in 0..CHUNK {
            sums[l] = multiply_add::<M, E>(x[l], x[l], sums[l]);
        }
    }
    total(sums)
}

/// Reflects a vector of whole chunks.
#[inline(always)]
fn reflect<M: Machine, E: Real>(x: &mut [E], v: &[E], factor: E) {
    let (x, v) = (x.as_chunks_mut::<CHUNK>().0, v.as_chunks::<CHUNK>().0);
    let mut sums = [E::ZERO; CHUNK];
    for (x, v) in x.iter().zip(v) {
        for l in 0..CHUNK {
            sums[l] = multiply_add::<M, E>(x[l], v[l], sums[l]);
        }
    }
    let product = -factor * total(sums);
    for (x, v) in x.iter_mut().zip(v) {
        for l in 0..CHUNK {
            x[l] = multiply_add::<M, E>(product, v[l], x[l]);
        }
    }
}
