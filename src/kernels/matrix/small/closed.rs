//! Determinants, cofactors and inverses of matrices of two and three rows.

use super::lanes::{LaneNumbers, Live, are_moderate};
use super::{Batch, LaneMachine, Small};
use crate::dtype::DType;
use crate::kernels::isa::Machine;
use crate::kernels::matrix::Real;
use crate::kernels::matrix::factors::sign_and_log;
use crate::kernels::matrix::formulas::{ClosedForm, cofactors, inverse, of_any_scale};
use crate::kernels::matrix::machine::{Direct, MatrixMachine};

impl Small {
    /// The formula for the result of matrices of two and three rows.
    pub(super) fn formula(self) -> Option<ClosedForm> {
        match self {
            Small::Inverse => Some(ClosedForm::Inverse),
            Small::Det => Some(ClosedForm::Det),
            Small::SlogDet => Some(ClosedForm::SlogDet),
            Small::Cofactors => Some(ClosedForm::Cofactors),
            Small::Cholesky | Small::Qr | Small::Lu | Small::LuFactor => None,
            Small::Solve { .. } | Small::SolveTriangular { .. } => None,
        }
    }
}

impl<E: Real, const L: usize> Batch<'_, '_, '_, E, L> {
    /// The operation on the matrices of some lanes, all of `N` rows.
    #[inline(always)]
    pub(super) fn closed<F: Machine, const N: usize>(&mut self, at: Live) {
        let Some(form) = self.op.formula() else { return };
        let (mut a, mut of, m) = ([LaneNumbers::ZERO; 9], [LaneNumbers::ZERO; 9], LaneMachine::<E, L>::new());
        at.load(self.operands.floats[0], &mut a[..N * N]);
        // No product leaves the range of normal floats, nor does its error.
        let power = if E::DTYPE == DType::F64 { 900 } else { 75 } / N as i32;
        let moderate = are_moderate(&a[..N * N], power);
        let det = cofactors::<_, F>(m, N, &a[..], &mut of[..]);
        match form {
            ClosedForm::Det => at.store(&[det], self.results.floats[0]),
            ClosedForm::SlogDet => {
                let [sign, log] = sign_and_log(m, 1, |_| det, m.mask(false));
                at.store(&[sign], self.results.floats[0]);
                at.store(&[log], self.results.floats[1]);
            }
            ClosedForm::Cofactors => at.store(&of[..N * N], self.results.floats[0]),
            ClosedForm::Inverse => {
                inverse(m, N, &of[..], det, &mut a[..]);
                at.store(&a[..N * N], self.results.floats[0]);
            }
        }
        for l in (0..at.live).filter(|l| !moderate.0[*l]) {
            self.balanced::<N>(form, at.first + l);
        }
    }

    /// The operation on a matrix whose products may leave the range of floats: its rows and columns are divided by
    /// powers of two first, which changes no other bit.
    #[inline(never)]
    fn balanced<const N: usize>(&mut self, form: ClosedForm, matrix: usize) {
        let mut a = [E::ZERO; 9];
        a[..N * N].copy_from_slice(&self.operands.floats[0][matrix * N * N..][..N * N]);
        let count = self.count;
        let results = self.results.floats.iter_mut().map(|x| {
            let each = x.len() / count;
            &mut x[matrix * each..][..each]
        });
        of_any_scale(Direct::<E>::new(), N, form, &mut a[..], &mut results.collect::<Vec<_>>());
    }
}
