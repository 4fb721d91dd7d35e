//! Matrix-vector products, in both layouts: inner products of rows (dot), and sums of scaled rows (axpy).
//!
//! Law: the order of each sum depends on the lengths alone.

#![allow(clippy::needless_range_loop, reason = "adapters of iterators are compiled for the baseline")]

use crate::dtype::Num;
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// `sum_i v[i] * w[i]`, for lines of at least `isa_sum` elements.
pub(crate) fn dot<E: Num, const L: usize>(v: &[E], w: &[E]) -> E {
    let [sum] = dispatch(Isa::detect(), Dots::<E, 1, L> { v: [v], common: w });
    sum
}

/// `out[i] += sum_k x[k] * v[k][i]`, in order of `k`, for lines of at least `isa_run` elements.
pub(crate) fn add_scaled<E: Num, const C: usize>(x: [E; C], v: [&[E]; C], out: &mut [E]) {
    dispatch(Isa::detect(), AddScaled { x, v, out });
}

#[inline(always)]
fn fused<M: Machine, E: Num>(x: E, y: E, sum: E) -> E {
    if M::FMA { x.fused(y, sum) } else { sum.plus(x.mul(y)) }
}

struct Dots<'a, E, const C: usize, const L: usize> {
    v: [&'a [E]; C],
    common: &'a [E],
}

impl<E: Num, const C: usize, const L: usize> Kernel for Dots<'_, E, C, L> {
    type Output = [E; C];

    #[inline(always)]
    fn run<M: Machine>(self) -> [E; C] {
        let len = self.common.len();
        let (common, _) = self.common.as_chunks::<L>();
        let mut v: [&[[E; L]]; C] = [&[]; C];
        for k in 0..C {
            v[k] = &self.v[k].as_chunks::<L>().0[..common.len()];
        }
        let mut sums = [[E::ZERO; L]; C];
        for i in 0..common.len() {
            for k in 0..C {
                for l in 0..L {
                    sums[k][l] = fused::<M, E>(v[k][i][l], common[i][l], sums[k][l]);
                }
            }
        }
        // The code below indexes the sums by numbers that are no constants, so it has a copy: `sums` stays in
        // registers.
        let mut tail = [[E::ZERO; L]; C];
        for k in 0..C {
            for l in 0..L {
                tail[k][l] = sums[k][l];
            }
        }
        let from = common.len() * L;
        let mut totals = [E::ZERO; C];
        for k in 0..C {
            let (v, w) = (&self.v[k][from..len], &self.common[from..len]);
            for i in 0..w.len() {
                tail[k][i] = fused::<M, E>(v[i], w[i], tail[k][i]);
            }
            let mut width = L;
            while width > 1 {
                width /= 2;
                for l in 0..width {
                    tail[k][l] = tail[k][l].plus(tail[k][l + width]);
                }
            }
            totals[k] = tail[k][0];
        }
        totals
    }
}

struct AddScaled<'a, E, const C: usize> {
    x: [E; C],
    v: [&'a [E]; C],
    out: &'a mut [E],
}

impl<E: Num, const C: usize> Kernel for AddScaled<'_, E, C> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let n = self.out.len();
        let mut v: [&[E]; C] = [&[]; C];
        for k in 0..C {
            v[k] = &self.v[k][..n];
        }
        for i in 0..n {
            let mut sum = self.out[i];
            for k in 0..C {
                sum = fused::<M, E>(self.x[k], v[k][i], sum);
            }
            self.out[i] = sum;
        }
    }
}
