//! Eigenvalues and singular values: by nalgebra, or of large matrices by faer, where the feature of this name is on.
//!
//! Law: elements are at most one, so results scale with the matrix. One thread computes, so there is one result.

#[cfg(not(feature = "faer"))]
use small as large;

use crate::cost::MACHINE;

/// Whether another crate than nalgebra takes less time.
fn is_large(n: usize) -> bool {
    cfg!(feature = "faer") && n >= MACHINE.large_spectrum
}

/// What another crate computes of a matrix of finite elements that is given row by row.
pub(crate) trait Spectral: Sized {
    /// The eigenvalues of a symmetric matrix of `n` rows in any order, and the eigenvectors one after the other.
    fn eigen(n: usize, a: &[Self]) -> Option<[Vec<Self>; 2]>;
    /// The vectors on the left one after the other, the singular values in descending order, and the vectors on the
    /// right.
    fn singular(sizes: [usize; 2], a: &[Self]) -> Option<[Vec<Self>; 3]>;
}

macro_rules! spectral {
    ($($t:ty)*) => {
        $(impl Spectral for $t {
            fn eigen(n: usize, a: &[Self]) -> Option<[Vec<Self>; 2]> {
                if is_large(n) { large::eigen(n, a) } else { small::eigen(n, a) }
            }

            fn singular(sizes: [usize; 2], a: &[Self]) -> Option<[Vec<Self>; 3]> {
                let smaller = sizes[0].min(sizes[1]);
                if is_large(smaller) { large::singular(sizes, a) } else { small::singular(sizes, a) }
            }
        })*
    };
}
spectral! { f64 f32 }

mod small {
    use nalgebra::{DMatrix, RealField, SVD, SymmetricEigen};
    use num_traits::Float;

    /// The most steps of an iteration, for a matrix of this size.
    fn steps(n: usize) -> usize {
        100 * n.max(10)
    }

    pub(super) fn eigen<E: Float + RealField>(n: usize, a: &[E]) -> Option<[Vec<E>; 2]> {
        let found = SymmetricEigen::try_new(DMatrix::from_row_slice(n, n, a), <E as Float>::epsilon(), steps(n))?;
        Some([found.eigenvalues.as_slice().to_vec(), found.eigenvectors.as_slice().to_vec()])
    }

    pub(super) fn singular<E: Float + RealField>([m, n]: [usize; 2], a: &[E]) -> Option<[Vec<E>; 3]> {
        let matrix = DMatrix::from_row_slice(m, n, a);
        let found = SVD::try_new(matrix, true, true, <E as Float>::epsilon(), steps(m.min(n)))?;
        let right = found.v_t?.transpose();
        Some([found.u?.as_slice().to_vec(), found.singular_values.as_slice().to_vec(), right.as_slice().to_vec()])
    }
}

#[cfg(feature = "faer")]
mod large {
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
}
