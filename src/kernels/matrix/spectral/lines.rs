//! Vectors one after the other, and the kernels that rotate and reflect them.
//!
//! Law: each vector is padded with zeros to whole chunks, and rotations and reflections keep these zeros.
#![allow(clippy::needless_range_loop, reason = "lines and lanes are indices of several arrays")]

use super::{Real, abs, epsilon, least, sqrt};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};
use crate::kernels::matrix::rows::multiply_add;

/// The elements of a chunk of a long vector.
pub(super) const CHUNK: usize = 8;

/// The vectors that are reflected together.
const TOGETHER: usize = 4;

/// The elements of a column of chunks that is rotated at once, so that what a sweep reads stays near.
const STRIP: usize = 16;

/// Vectors of `stride` elements each.
pub(super) struct Lines<E> {
    pub(super) x: Vec<E>,
    pub(super) stride: usize,
}

impl<E: Real> Lines<E> {
    /// Zeros: `count` vectors of `len` elements.
    pub(super) fn zeros(count: usize, len: usize) -> Lines<E> {
        let stride = len.next_multiple_of(STRIP);
        Lines { x: vec![E::ZERO; count * stride], stride }
    }

    /// The first `count` unit vectors.
    pub(super) fn units(count: usize, len: usize) -> Lines<E> {
        let mut lines = Lines::zeros(count, len);
        let stride = lines.stride;
        (0..count).for_each(|k| lines.x[k * stride + k] = E::ONE);
        lines
    }

    pub(super) fn line(&mut self, k: usize) -> &mut [E] {
        &mut self.x[k * self.stride..][..self.stride]
    }

    /// The vectors in an order, without the elements after their ends, each negated if its element of the mask is set.
    pub(super) fn in_order(&self, len: usize, order: &[usize], negated: &[bool]) -> Vec<E> {
        let mut out = Vec::with_capacity(order.len() * len);
        for k in order {
            let line = &self.x[k * self.stride..][..len];
            out.extend(line.iter().map(|x| if negated[*k] { -*x } else { *x }));
        }
        out
    }
}

/// The rotation that takes `(f, g)` to `(r, 0)`: its cosine and sine, and `r`. Squares stay in range.
#[inline(always)]
pub(super) fn rotation<E: Real>(f: E, g: E) -> (E, E, E) {
    if g == E::ZERO {
        return (E::ONE, E::ZERO, f);
    }
    let square = f * f + g * g;
    let least = least::<E>() / epsilon::<E>();
    if square > least && square < E::ONE / least {
        let length = sqrt(square);
        return (f / length, g / length, length);
    }
    let size = if abs(f) > abs(g) { abs(f) } else { abs(g) };
    let (x, y) = (f / size, g / size);
    let length = sqrt(x * x + y * y);
    (x / length, y / length, length * size)
}

/// Sweeps of rotations that wait until they are many: a strip of all lines stays in the first level of cache while all
/// of them are applied to it.
pub(super) struct Rotations<E> {
    /// The cosines and sines.
    angles: Vec<[E; 2]>,
    /// For each sweep its first line, whether it goes downwards, and the end of its angles.
    sweeps: Vec<(usize, bool, usize)>,
}

impl<E: Real> Rotations<E> {
    pub(super) fn new() -> Rotations<E> {
        Rotations { angles: Vec::new(), sweeps: Vec::new() }
    }

    /// Adds a sweep over the lines that follow each other from a first one on, downwards or upwards: line `k` and the
    /// next one by the rotation of the same number.
    pub(super) fn push(&mut self, first: usize, downwards: bool, angles: &[[E; 2]], lines: &mut Lines<E>) {
        self.angles.extend_from_slice(angles);
        self.sweeps.push((first, downwards, self.angles.len()));
        if self.angles.len() * lines.stride > 32 * lines.x.len() {
            self.apply(lines);
        }
    }

    /// Applies all sweeps.
    pub(super) fn apply(&mut self, lines: &mut Lines<E>) {
        let stride = lines.stride;
        dispatch(Isa::detect(), Rotate { lines: &mut lines.x, stride, rotations: self });
        self.angles.clear();
        self.sweeps.clear();
    }
}

struct Rotate<'x, E> {
    lines: &'x mut [E],
    stride: usize,
    rotations: &'x Rotations<E>,
}

impl<E: Real> Kernel for Rotate<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        for from in (0..self.stride).step_by(STRIP) {
            let mut start = 0;
            for (first, downwards, end) in &self.rotations.sweeps {
                let angles = &self.rotations.angles[start..*end];
                start = *end;
                let mut at = first * self.stride + from;
                let mut x: [E; STRIP] = *self.lines[at..].first_chunk().expect("lines are whole strips");
                for [c, s] in angles {
                    let next = if *downwards { at + self.stride } else { at - self.stride };
                    let y: [E; STRIP] = *self.lines[next..].first_chunk().expect("lines are whole strips");
                    let mut out = [E::ZERO; STRIP];
                    for l in 0..STRIP {
                        out[l] = multiply_add::<M, E>(*s, y[l], *c * x[l]);
                    }
                    for l in 0..STRIP {
                        x[l] = multiply_add::<M, E>(-*s, x[l], *c * y[l]);
                    }
                    *self.lines[at..].first_chunk_mut().expect("lines are whole strips") = out;
                    at = next;
                }
                *self.lines[at..].first_chunk_mut().expect("lines are whole strips") = x;
            }
        }
    }
}

/// Householder reflections `I - factor v v^T`: the vector of number `k` has zeros before the element `k + offset`,
/// which is 1.
pub(super) struct Reflections<E> {
    pub(super) vectors: Lines<E>,
    pub(super) factors: Vec<E>,
    pub(super) offset: usize,
}

impl<E: Real> Reflections<E> {
    /// Room for `count` reflections of vectors of `len` elements.
    pub(super) fn new(count: usize, len: usize, offset: usize) -> Reflections<E> {
        Reflections { vectors: Lines::zeros(count, len), factors: vec![E::ZERO; count], offset }
    }

    /// The first `count` columns of the product of all reflections.
    pub(super) fn columns(&self, count: usize, len: usize) -> Lines<E> {
        let mut lines = Lines::units(count, len);
        dispatch(Isa::detect(), Reflect { by: self, lines: &mut lines });
        lines
    }
}

/// Applies the product of all reflections to unit vectors.
struct Reflect<'x, E> {
    by: &'x Reflections<E>,
    lines: &'x mut Lines<E>,
}

impl<E: Real> Kernel for Reflect<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let Reflections { vectors, factors, offset } = self.by;
        let stride = self.lines.stride;
        let mut first = 0;
        for lines in self.lines.x.chunks_mut(TOGETHER * stride) {
            let count = lines.len() / stride;
            first += count;
            // Later reflections leave these unit vectors as they are.
            for k in (0..factors.len().min(first.saturating_sub(*offset))).rev() {
                let from = (k + offset) / CHUNK * CHUNK;
                let v = &vectors.x[k * stride + from..(k + 1) * stride];
                if count == TOGETHER {
                    reflect::<M, E, TOGETHER>(lines, stride, from, v, factors[k]);
                } else {
                    lines.chunks_mut(stride).for_each(|line| reflect::<M, E, 1>(line, stride, from, v, factors[k]));
                }
            }
        }
    }
}

/// Reflects `R` vectors.
#[inline(always)]
fn reflect<M: Machine, E: Real, const R: usize>(lines: &mut [E], stride: usize, from: usize, v: &[E], factor: E) {
    let mut lines = lines.chunks_exact_mut(stride);
    let lines: [&mut [[E; CHUNK]]; R] = std::array::from_fn(|_| {
        let line = lines.next().expect("a line for each of the group");
        line[from..].as_chunks_mut().0
    });
    let v = v.as_chunks::<CHUNK>().0;
    let mut sums = [[E::ZERO; CHUNK]; R];
    for i in 0..v.len() {
        for r in 0..R {
            for l in 0..CHUNK {
                sums[r][l] = multiply_add::<M, E>(lines[r][i][l], v[i][l], sums[r][l]);
            }
        }
    }
    let products: [E; R] = std::array::from_fn(|r| -factor * total(sums[r]));
    for i in 0..v.len() {
        for r in 0..R {
            for l in 0..CHUNK {
                lines[r][i][l] = multiply_add::<M, E>(products[r], v[i][l], lines[r][i][l]);
            }
        }
    }
}

/// The sum of the lanes.
#[inline(always)]
pub(super) fn total<E: Real>(mut x: [E; CHUNK]) -> E {
    for l in 0..CHUNK / 2 {
        x[l] += x[l + CHUNK / 2];
    }
    (x[0] + x[2]) + (x[1] + x[3])
}
