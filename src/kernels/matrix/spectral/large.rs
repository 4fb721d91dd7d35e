//! Eigenvalues and singular values of large matrices by the crate faer.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{evd, svd};
use faer::traits::RealField;
use faer::{MatMut, MatRef, Par, Spec};

fn zeros<E: RealField>(len: usize) -> Vec<E> {
    (0..len).map(|_| E::zero_impl()).collect()
}

pub(super) fn eigen<E: RealField>(n: usize, a: &[E]) -> Option<[Vec<E>; 2]> {
    let (mut values, mut vectors) = (zeros(n), zeros(n * n));
    let both = evd::ComputeEigenvectors::Yes;
    let mut memory = MemBuffer::new(evd::self_adjoint_evd_scratch::<E>(n, both, Par::Seq, Spec::default()));
    evd::self_adjoint_evd(
        MatRef::from_row_major_slice(a, n, n),
        DiagMut::from_slice_mut(&mut values),
        Some(MatMut::from_column_major_slice_mut(&mut vectors, n, n)),
        Par::Seq,
        MemStack::new(&mut memory),
        Spec::default(),
    )
    .ok()?;
    Some([values, vectors])
}

pub(super) fn singular<E: RealField>([m, n]: [usize; 2], a: &[E]) -> Option<[Vec<E>; 3]> {
    let k = m.min(n);
    let [mut left, mut values, mut right] = [m * k, k, n * k].map(zeros);
    let thin = svd::ComputeSvdVectors::Thin;
    let mut memory = MemBuffer::new(svd::svd_scratch::<E>(m, n, thin, thin, Par::Seq, Spec::default()));
    svd::svd(
        MatRef::from_row_major_slice(a, m, n),
        DiagMut::from_slice_mut(&mut values),
        Some(MatMut::from_column_major_slice_mut(&mut left, m, k)),
        Some(MatMut::from_column_major_slice_mut(&mut right, n, k)),
        Par::Seq,
        MemStack::new(&mut memory),
        Spec::default(),
    )
    .ok()?;
    Some([left, values, right])
}
