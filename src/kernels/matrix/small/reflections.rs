//! QR factors of small matrices.

use super::lanes::{LaneMask, LaneNumbers, Live, are_moderate};
use super::{Batch, LaneMachine, MOST, Square};
use crate::dtype::DType;
use crate::kernels::matrix::Real;
use crate::kernels::matrix::machine::{Direct, MatrixMachine};
use crate::kernels::matrix::reflections::{qr, qr_of_any_scale};
use polygrad_math::Arithmetic;

impl<E: Real, const L: usize> Batch<'_, '_, '_, E, L> {
    /// The factors `q` and `r`.
    #[inline(always)]
    pub(super) fn qr(&mut self, at: Live) {
        let ([rows, columns], m) = (self.sizes, LaneMachine::new());
        let (k, size) = (rows.min(columns), rows * columns);
        let mut a: Square<E, L> = [LaneNumbers::ZERO; MOST * MOST];
        let mut q: Square<E, L> = [LaneNumbers::ZERO; MOST * MOST];
        at.load(self.operands.floats[0], &mut a[..size]);
        let moderate = are_moderate(&a[..size], if E::DTYPE == DType::F64 { 400 } else { 50 });
        let finite = m.are_finite(&a[..], 0, size);
        let squares = qr(m, false, [rows, columns], &mut a[..], &mut q[..], &mut [LaneNumbers::ZERO; MOST][..]);
        at.store(&q[..rows * k], self.results.floats[0]);
        at.store(&a[..k * columns], self.results.floats[1]);
        let least = LaneNumbers::literal(2f64.powi(if E::DTYPE == DType::F64 { -900 } else { -100 }));
        let LaneMask(good) = moderate & finite & squares.at_least(least);
        for l in (0..at.live).filter(|l| !good[*l]) {
            self.qr_of_any_scale(at.first + l);
        }
    }

    #[inline(never)]
    fn qr_of_any_scale(&mut self, matrix: usize) {
        let [rows, columns] = self.sizes;
        let (k, size) = (rows.min(columns), rows * columns);
        let mut a = [E::ZERO; MOST * MOST];
        a[..size].copy_from_slice(&self.operands.floats[0][matrix * size..][..size]);
        let [q, r] = &mut self.results.floats[..] else { unreachable!("there are two factors") };
        let q = &mut q[matrix * rows * k..][..rows * k];
        let memory = (&mut [E::ZERO; MOST][..], &mut [0; MOST][..]);
        qr_of_any_scale(Direct::<E>::new(), [rows, columns], &mut a[..], q, memory);
        r[matrix * k * columns..][..k * columns].copy_from_slice(&a[..k * columns]);
    }
}
