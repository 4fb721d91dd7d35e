//! Bounds of Fourier transforms.
//!
//! Law: the error of a fast transform, whatever its order of operations, is bounded relative to the sum of all absolute
//! values.

use super::interval::Interval;
use super::{Cell, starts};
use crate::dtype::DType;
use crate::ops::fourier_error;
use crate::shape::size;

/// A Fourier transform by its definition. The error of a fast transform is bounded relative to the sum of all absolute
/// values; it grows with the logarithm of `n`, and with the root of a large prime factor of `n`. Intermediate values
/// may be `n` times as large.
pub(super) fn transform(
    x: &[Interval],
    shape: &[usize],
    [parts, axis]: [usize; 2],
    conjugate: bool,
    dtype: DType,
) -> Vec<Interval> {
    let (n, step, imaginary) = (shape[axis], size(&shape[axis + 1..]), size(&shape[parts + 1..]));
    let turn = |m: usize| {
        let angle = std::f64::consts::TAU * m as f64 / n as f64;
        [angle.cos(), angle.sin()].map(|c| Interval::point(c).blurred(8.0, DType::F64))
    };
    let turns: Vec<[Interval; 2]> = (0..n).map(turn).collect();
    let units = fourier_error(n) * f64::EPSILON;
    let mut out = x.to_vec();
    for start in starts(shape, axis).filter(|start| start / imaginary % 2 == 0) {
        let line: Vec<[Interval; 2]> = (0..n).map(|j| start + j * step).map(|at| [x[at], x[at + imaginary]]).collect();
        let all: f64 = line.iter().flatten().map(|x| x.magnitudes()[1]).sum();
        let error = if (4.0 * n as f64 * all).is_finite() { units * all } else { f64::INFINITY };
        for k in 0..n {
            let mut sums: [<Interval as Cell>::Sum; 2] = Default::default();
            for (j, [re, im]) in line.iter().enumerate() {
                let [cos, sin] = turns[j * k % n];
                let sin = if conjugate { sin } else { sin.negated() };
                for (part, term) in
                    [(0, re.product(cos)), (0, im.product(sin).negated()), (1, re.product(sin)), (1, im.product(cos))]
                {
                    Interval::add(&mut sums[part], term);
                }
            }
            for (part, sum) in sums.iter_mut().enumerate() {
                sum.blur(error);
                out[start + k * step + part * imaginary] = Interval::total(sum, dtype);
            }
        }
    }
    out
}
