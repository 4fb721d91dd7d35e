//! Eigenvalues of small symmetric matrices by rotations of rows and columns until the matrix is diagonal.
//!
//! The method is [`diagonalize`]; here rows are rotated in chunks.
#![allow(clippy::needless_range_loop, reason = "lines and lanes are indices of several arrays")]

use super::{Real, ascending};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};
use crate::kernels::matrix::machine::{Direct, MatrixLayout};
use crate::kernels::matrix::rotations::diagonalize;
use crate::kernels::matrix::rows::multiply_add;

/// The elements of a chunk of a row; rows are padded with zeros.
const CHUNK: usize = 4;

/// The eigenvalues of a symmetric matrix in ascending order, and the eigenvectors one after the other.
pub(super) fn eigen<E: Real>(n: usize, a: &[E], vectors: bool) -> [Vec<E>; 2] {
    dispatch(Isa::detect(), Decompose { n, a, vectors })
}

struct Decompose<'x, E> {
    n: usize,
    a: &'x [E],
    vectors: bool,
}

impl<E: Real> Kernel for Decompose<'_, E> {
    type Output = [Vec<E>; 2];

    #[inline(always)]
    fn run<M: Machine>(self) -> [Vec<E>; 2] {
        let n = self.n;
        let stride = n.next_multiple_of(CHUNK);
        let (mut x, mut v) = (vec![E::ZERO; n * stride], vec![E::ZERO; if self.vectors { n * stride } else { 0 }]);
        for i in 0..n {
            x[i * stride..][..n].copy_from_slice(&self.a[i * n..][..n]);
            if self.vectors {
                v[i * stride + i] = E::ONE;
            }
        }
        let turn = |x: &mut [E], rows: [usize; 2], by: [E; 2]| turn::<M, E>(x, stride, rows, by);
        let vectors = Some(&mut v[..]).filter(|v| !v.is_empty());
        diagonalize(Direct::<E>::new(), (n, MatrixLayout::rows(stride)), &mut x[..], vectors, turn);
        let values: Vec<E> = (0..n).map(|k| x[k * stride + k]).collect();
        let order = ascending(&values);
        let lines = order.iter().filter(|_| self.vectors).flat_map(|k| &v[k * stride..][..n]);
        [order.iter().map(|k| values[*k]).collect(), lines.copied().collect()]
    }
}

/// Rotates two rows by an angle, given by its sine and by 1 minus its cosine: so a small angle rounds little.
#[inline(always)]
fn turn<M: Machine, E: Real>(x: &mut [E], stride: usize, [p, q]: [usize; 2], [sine, less]: [E; 2]) {
    let (first, second) = x.split_at_mut(q * stride);
    let (x, y) = (&mut first[p * stride..][..stride], &mut second[..stride]);
    for (x, y) in x.as_chunks_mut::<CHUNK>().0.iter_mut().zip(y.as_chunks_mut::<CHUNK>().0) {
        let (a, b) = (*x, *y);
        let [mut first, mut second] = [a, b];
        for l in 0..CHUNK {
            first[l] -= multiply_add::<M, E>(sine, b[l], less * a[l]);
        }
        for l in 0..CHUNK {
            second[l] += multiply_add::<M, E>(sine, a[l], -less * b[l]);
        }
        (*x, *y) = (first, second);
    }
}
