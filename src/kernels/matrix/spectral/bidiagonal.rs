//! Singular values of large matrices: Householder reflections make the matrix bidiagonal, and rotations diagonal.
//!
//! Laws: backward stable, so the residual and the departure from orthogonality are some roundings of the norm. Each
//! step of the reduction reads and writes the rest of the matrix once: both its reflections, and the products that
//! the next column needs.
//!
//! G. Golub and C. Van Loan, "Matrix Computations", section 8.6; the sweeps with and without a shift, and when an
//! element counts as zero: J. Demmel and W. Kahan, "Accurate singular values of bidiagonal matrices" (1990).
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use super::lines::{CHUNK, Reflections, Rotations, rotation, total};
use super::{Real, abs, descending, epsilon, least, sqrt};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};
use crate::kernels::matrix::orthogonal::reflection;
use crate::kernels::matrix::rows::{AlignedRows, multiply_add};

/// The rows that are updated together.
const ROWS: usize = 4;

/// The left singular vectors, the singular values in descending order and the right singular vectors of a matrix with
/// at least as many rows as columns; `None` if the iteration does not end, which no matrix is known for.
pub(super) fn singular<E: Real>([m, n]: [usize; 2], a: AlignedRows<E>, vectors: bool) -> Option<[Vec<E>; 3]> {
    let Bidiagonal { mut d, mut e, left, right } = Bidiagonal::of([m, n], a, vectors);
    let mut both = vectors.then(|| [left.columns(n, m), right.columns(n, n)].map(|lines| (lines, Rotations::new())));
    diagonalize(&mut d, &mut e, &mut |sweep| {
        let Some([left, right]) = &mut both else { return };
        let [of_left, of_right] =
            if sweep.downwards { [sweep.rows, sweep.columns] } else { [sweep.columns, sweep.rows] };
        left.1.push(sweep.first, sweep.downwards, of_left, &mut left.0);
        right.1.push(sweep.first, sweep.downwards, of_right, &mut right.0);
    })?;
    let negative: Vec<bool> = d.iter().map(|d| *d < E::ZERO).collect();
    let sizes: Vec<E> = d.into_iter().map(abs).collect();
    let order = descending(&sizes);
    let [left, right] = match both {
        Some([(mut left, mut of_left), (mut right, mut of_right)]) => {
            of_left.apply(&mut left);
            of_right.apply(&mut right);
            [left.in_order(m, &order, &vec![false; n]), right.in_order(n, &order, &negative)]
        }
        None => [Vec::new(), Vec::new()],
    };
    Some([left, order.iter().map(|k| sizes[*k]).collect(), right])
}

/// A matrix `l b r^T` with an upper bidiagonal `b`.
struct Bidiagonal<E> {
    d: Vec<E>,
    e: Vec<E>,
    left: Reflections<E>,
    right: Reflections<E>,
}

impl<E: Real> Bidiagonal<E> {
    fn of([m, n]: [usize; 2], mut a: AlignedRows<E>, vectors: bool) -> Bidiagonal<E> {
        let kept = if vectors { n } else { 1 };
        let (mut left, mut right) = (Reflections::new(kept, m, 0), Reflections::new(kept, n, 1));
        let (mut d, mut e) = (vec![E::ZERO; n], vec![E::ZERO; n.saturating_sub(1)]);
        let stride = a.stride;
        let mut room = Room { x: vec![E::ZERO; m], y: vec![E::ZERO; stride], w: vec![E::ZERO; stride] };
        let (mut u, nothing) = (vec![E::ZERO; stride], vec![E::ZERO; m]);
        let none = Step { v: &nothing, u: &u, factor: E::ZERO, next: 0 };
        room.pass(a.all(), stride, none);
        for k in 0..n {
            let at = if vectors { k } else { 0 };
            let v = &mut left.vectors.line(at)[..m];
            v[..k].fill(E::ZERO);
            v[k..].copy_from_slice(&room.x[k..]);
            let first = v[k];
            let (factor, onto) = reflection(&mut v[k..]).unwrap_or((E::ZERO, first));
            (d[k], left.factors[at]) = (onto, factor);
            if k + 1 == n {
                break;
            }
            room.products(a.all(), stride, [k, n], (&v[..], factor, [first, onto]));
            let row = &mut a.all()[k * stride..][..n];
            (k + 1..n).for_each(|j| row[j] -= room.w[j]);
            u[..=k].fill(E::ZERO);
            u[k + 1..n].copy_from_slice(&row[k + 1..n]);
            let first = u[k + 1];
            let (factor, onto) = reflection(&mut u[k + 1..n]).unwrap_or((E::ZERO, first));
            (e[k], right.factors[at]) = (onto, factor);
            if vectors {
                right.vectors.line(at)[..n].copy_from_slice(&u[..n]);
            }
            let step = Step { v: &left.vectors.line(at)[k + 1..m], u: &u, factor, next: k + 1 };
            room.pass(&mut a.all()[(k + 1) * stride..], stride, step);
        }
        Bidiagonal { d, e, left, right }
    }
}

/// The values that the steps of a reduction keep.
struct Room<E> {
    /// The next column.
    x: Vec<E>,
    /// The products of that column with all columns.
    y: Vec<E>,
    /// The products of the vector of a reflection with all columns, times its factor.
    w: Vec<E>,
}

/// The reflections of a step: of rows, by `v`, and of columns, by `u` and its factor.
struct Step<'x, E> {
    v: &'x [E],
    u: &'x [E],
    factor: E,
    /// The next column.
    next: usize,
}

impl<E: Real> Room<E> {
    /// The products `w` of the vector `v = (x - onto e) / (first - onto)` of a reflection of the rows from `k` on.
    fn products(&mut self, a: &[E], stride: usize, [k, n]: [usize; 2], of: (&[E], E, [E; 2])) {
        let (v, factor, [first, onto]) = of;
        self.w[..=k].fill(E::ZERO);
        let w = &mut self.w[k + 1..n];
        // Products with a column of numbers this small may be subnormal.
        let tiny = E::of_f64(if size_of::<E>() == 8 { 1e-100 } else { 1e-15 });
        if factor == E::ZERO {
            w.fill(E::ZERO);
        } else if abs(onto) < tiny {
            w.fill(E::ZERO);
            for (row, v) in a.chunks_exact(stride).zip(v).skip(k) {
                w.iter_mut().zip(&row[k + 1..n]).for_each(|(w, x)| *w += factor * *v * *x);
            }
        } else {
            let by = factor / (first - onto);
            let row = &a[k * stride..][k + 1..n];
            for ((w, y), x) in w.iter_mut().zip(&self.y[k + 1..n]).zip(row) {
                *w = by * (*y - onto * *x);
            }
        }
    }

    /// Reflects the rows of the rest, reads the next column, and multiplies it by all columns.
    fn pass(&mut self, rows: &mut [E], stride: usize, step: Step<'_, E>) {
        let Room { x, y, w } = self;
        let next = step.next;
        y.fill(E::ZERO);
        dispatch(Isa::detect(), Pass { rows, stride, step, w, x: &mut x[next..], y });
    }
}

struct Pass<'x, E> {
    rows: &'x mut [E],
    stride: usize,
    step: Step<'x, E>,
    w: &'x [E],
    x: &'x mut [E],
    y: &'x mut [E],
}

impl<E: Real> Kernel for Pass<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        let count = self.rows.len() / self.stride;
        let whole = count / ROWS * ROWS;
        for row in (0..whole).step_by(ROWS) {
            self.rows::<M, ROWS>(row);
        }
        for row in whole..count {
            self.rows::<M, 1>(row);
        }
    }
}

impl<E: Real> Pass<'_, E> {
    #[inline(always)]
    fn rows<M: Machine, const R: usize>(&mut self, first: usize) {
        let Step { v, u, factor, next } = self.step;
        let from = next / CHUNK * CHUNK;
        let mut rows = self.rows[first * self.stride..].chunks_exact_mut(self.stride);
        let rows: [&mut [[E; CHUNK]]; R] = std::array::from_fn(|_| {
            let row = rows.next().expect("as many rows as in the group");
            row[from..].as_chunks_mut().0
        });
        let [w, u] = [self.w, u].map(|x| x[from..].as_chunks::<CHUNK>().0);
        let y = self.y[from..].as_chunks_mut::<CHUNK>().0;
        let v: [E; R] = std::array::from_fn(|r| -v[first + r]);
        let mut sums = [[E::ZERO; CHUNK]; R];
        for i in 0..w.len() {
            for r in 0..R {
                for l in 0..CHUNK {
                    rows[r][i][l] = multiply_add::<M, E>(v[r], w[i][l], rows[r][i][l]);
                    sums[r][l] = multiply_add::<M, E>(rows[r][i][l], u[i][l], sums[r][l]);
                }
            }
        }
        let products: [E; R] = std::array::from_fn(|r| -factor * total(sums[r]));
        let (i, l) = ((next - from) / CHUNK, (next - from) % CHUNK);
        let x: [E; R] = std::array::from_fn(|r| multiply_add::<M, E>(products[r], u[i][l], rows[r][i][l]));
        self.x[first..first + R].copy_from_slice(&x);
        for i in 0..w.len() {
            for r in 0..R {
                for l in 0..CHUNK {
                    rows[r][i][l] = multiply_add::<M, E>(products[r], u[i][l], rows[r][i][l]);
                    y[i][l] = multiply_add::<M, E>(x[r], rows[r][i][l], y[i][l]);
                }
            }
        }
    }
}

/// The rotations of a sweep over the elements from `first` on, downwards or upwards. For a sweep upwards, rows and
/// columns are exchanged.
pub(super) struct RotationSweep<'x, E> {
    first: usize,
    downwards: bool,
    columns: &'x [[E; 2]],
    rows: &'x [[E; 2]],
}

/// Diagonalizes the bidiagonal matrix with the diagonal `d` and the elements `e` next to it, and reports each sweep.
fn diagonalize<E: Real>(d: &mut [E], e: &mut [E], tell: &mut dyn FnMut(&RotationSweep<'_, E>)) -> Option<()> {
    let n = d.len();
    let tolerance = E::of_f64(8.0) * epsilon::<E>();
    let (mut columns, mut rows) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut end, mut block, mut downwards) = (n, (n, n), true);
    let mut left = 100usize.saturating_mul(n).saturating_mul(n.max(10));
    while end > 1 {
        let start = block_start(e, end);
        if start + 1 == end {
            end = start;
            continue;
        }
        // The direction stays while a block shrinks: from the larger to the smaller end.
        if start >= block.1 || end <= block.0 {
            downwards = abs(d[start]) >= abs(d[end - 1]);
        }
        block = (start, end);
        left = left.checked_sub(end - start)?;
        let mut part = Part { d: &mut d[start..end], e: &mut e[start..end - 1], downwards };
        let Some(least) = part.deflate(tolerance) else { continue };
        let shift = part.shift(least, tolerance);
        columns.clear();
        rows.clear();
        part.sweep(shift, &mut |column, row| {
            columns.push(column);
            rows.push(row);
        });
        let first = if downwards { start } else { end - 1 };
        tell(&RotationSweep { first, downwards, columns: &columns, rows: &rows });
    }
    Some(())
}

/// The start of the block that ends before `end`: the element of `e` before it is 0.
fn block_start<E: Real>(e: &mut [E], end: usize) -> usize {
    let split = (0..end - 1).rev().find(|k| abs(e[*k]) < least::<E>());
    split.map_or(0, |k| {
        e[k] = E::ZERO;
        k + 1
    })
}

/// An unreduced block, from its first element downwards or from its last one upwards.
struct Part<'x, E> {
    d: &'x mut [E],
    e: &'x mut [E],
    downwards: bool,
}

impl<E: Real> Part<'_, E> {
    fn d(&mut self, k: usize) -> &mut E {
        let at = if self.downwards { k } else { self.d.len() - 1 - k };
        &mut self.d[at]
    }

    fn e(&mut self, k: usize) -> &mut E {
        let at = if self.downwards { k } else { self.e.len() - 1 - k };
        &mut self.e[at]
    }

    /// A lower bound of the singular values, up to a factor; or `None`, where an element next to the diagonal became
    /// zero, since it changes no singular value by more than some roundings.
    fn deflate(&mut self, tolerance: E) -> Option<E> {
        let last = self.e.len() - 1;
        if abs(*self.e(last)) <= tolerance * abs(*self.d(last + 1)) {
            *self.e(last) = E::ZERO;
            return None;
        }
        let mut bound = abs(*self.d(0));
        let mut least = bound;
        for k in 0..=last {
            let beside = abs(*self.e(k));
            if beside <= tolerance * bound {
                *self.e(k) = E::ZERO;
                return None;
            }
            bound = abs(*self.d(k + 1)) * (bound / (bound + beside));
            least = if bound < least { bound } else { least };
        }
        Some(least)
    }

    /// The shift of the next sweep: the smaller singular value of the last two rows, or 0 where a shift would cost
    /// digits of the smallest singular value.
    fn shift(&mut self, least: E, tolerance: E) -> E {
        let most = self.d.iter().chain(&*self.e).fold(E::ZERO, |most, x| if abs(*x) > most { abs(*x) } else { most });
        let count = E::of_f64(self.d.len() as f64);
        if count * tolerance * (least / most) <= epsilon::<E>() {
            return E::ZERO;
        }
        let last = self.d.len() - 1;
        let shift = smaller(*self.d(last - 1), *self.e(last - 1), *self.d(last));
        let first = abs(*self.d(0));
        let ratio = shift / first;
        if first > E::ZERO && ratio * ratio < epsilon::<E>() { E::ZERO } else { shift }
    }

    /// A sweep of the implicit QR iteration; `tell` gets the rotations of columns and of rows.
    fn sweep(&mut self, shift: E, tell: &mut dyn FnMut([E; 2], [E; 2])) {
        if shift == E::ZERO { self.without_shift(tell) } else { self.with_shift(shift, tell) }
    }

    fn without_shift(&mut self, tell: &mut dyn FnMut([E; 2], [E; 2])) {
        let last = self.e.len();
        let (mut c, mut before) = (E::ONE, (E::ONE, E::ZERO));
        for k in 0..last {
            let (cosine, sine, r) = rotation(*self.d(k) * c, *self.e(k));
            if k > 0 {
                *self.e(k - 1) = before.1 * r;
            }
            let (c_row, s_row, new) = rotation(before.0 * r, *self.d(k + 1) * sine);
            *self.d(k) = new;
            tell([cosine, sine], [c_row, s_row]);
            (c, before) = (cosine, (c_row, s_row));
        }
        let h = *self.d(last) * c;
        *self.d(last) = h * before.0;
        *self.e(last - 1) = h * before.1;
    }

    fn with_shift(&mut self, shift: E, tell: &mut dyn FnMut([E; 2], [E; 2])) {
        let last = self.e.len();
        let first = *self.d(0);
        let sign = if first < E::ZERO { -E::ONE } else { E::ONE };
        let (mut f, mut g) = ((abs(first) - shift) * (sign + shift / first), *self.e(0));
        for k in 0..last {
            let (c, s, r) = rotation(f, g);
            if k > 0 {
                *self.e(k - 1) = r;
            }
            let (d, e, below) = (*self.d(k), *self.e(k), *self.d(k + 1));
            let (f_row, beside) = (c * d + s * e, c * e - s * d);
            let (c_row, s_row, r) = rotation(f_row, s * below);
            *self.d(k) = r;
            let below = c * below;
            f = c_row * beside + s_row * below;
            *self.d(k + 1) = c_row * below - s_row * beside;
            if k + 1 < last {
                let next = *self.e(k + 1);
                g = s_row * next;
                *self.e(k + 1) = c_row * next;
            }
            tell([c, s], [c_row, s_row]);
        }
        *self.e(last - 1) = f;
    }
}

/// The smaller singular value of the matrix `[f g; 0 h]`.
fn smaller<E: Real>(f: E, g: E, h: E) -> E {
    let (f, g, h) = (abs(f), abs(g), abs(h));
    let (least, most) = if f < h { (f, h) } else { (h, f) };
    if least == E::ZERO {
        return E::ZERO;
    }
    let (one, two) = (E::ONE, E::of_f64(2.0));
    let (sum, gap) = (one + least / most, (most - least) / most);
    if g < most {
        let square = (g / most) * (g / most);
        return least * (two / (sqrt(sum * sum + square) + sqrt(gap * gap + square)));
    }
    let ratio = most / g;
    if ratio == E::ZERO {
        return least * most / g;
    }
    let (sum, gap) = (sum * ratio, gap * ratio);
    two * (least * (one / (sqrt(one + sum * sum) + sqrt(one + gap * gap)))) * ratio
}
