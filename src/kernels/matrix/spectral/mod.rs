//! Eigenvalues of symmetric matrices, and singular values.
//!
//! Small matrices are rotated until they are diagonal (Jacobi), larger ones are reduced by reflections and then
//! rotated by the implicit QR iteration; large ones are left to faer, where the feature of this name is on.
//!
//! Laws: elements are at most one, and the largest is not small, so results scale with the matrix. Each matrix of
//! finite elements has a result: singular ones, too, with orthonormal vectors. One thread computes, so there is one
//! result.

mod bidiagonal;
#[cfg(feature = "faer")]
mod large;
mod lines;
mod one_sided;
mod tridiagonal;
mod two_sided;

use super::rows::{AlignedRows, MatrixFactor};
use super::{Real, abs, orthogonal};
use crate::cost::MACHINE;
use crate::order::sorted;

/// Whether another crate takes less time.
fn is_large(n: usize) -> bool {
    cfg!(feature = "faer") && n >= MACHINE.large_spectrum
}

/// What another crate computes of large matrices, given row by row; `None` without such a crate, or if it finds no result.
pub(crate) trait Large: Sized {
    /// The eigenvalues of a symmetric matrix in any order, and the eigenvectors one after the other.
    fn eigen(n: usize, a: &[Self]) -> Option<[Vec<Self>; 2]>;
    /// The left singular vectors one after the other, the singular values in descending order, and the right ones.
    fn singular(sizes: [usize; 2], a: &[Self]) -> Option<[Vec<Self>; 3]>;
}

macro_rules! large {
    ($($t:ty)*) => {
        $(impl Large for $t {
            #[cfg(feature = "faer")]
            fn eigen(n: usize, a: &[Self]) -> Option<[Vec<Self>; 2]> {
                large::eigen(n, a)
            }

            #[cfg(feature = "faer")]
            fn singular(sizes: [usize; 2], a: &[Self]) -> Option<[Vec<Self>; 3]> {
                large::singular(sizes, a)
            }

            #[cfg(not(feature = "faer"))]
            fn eigen(_: usize, _: &[Self]) -> Option<[Vec<Self>; 2]> {
                None
            }

            #[cfg(not(feature = "faer"))]
            fn singular(_: [usize; 2], _: &[Self]) -> Option<[Vec<Self>; 3]> {
                None
            }
        })*
    };
}
large! { f64 f32 }

fn sqrt<E: Real>(x: E) -> E {
    num_traits::Float::sqrt(x)
}

/// The distance of 1 to the next number.
fn epsilon<E: Real>() -> E {
    <E as num_traits::Float>::epsilon()
}

/// The least normal number.
fn least<E: Real>() -> E {
    <E as num_traits::Float>::min_positive_value()
}

/// The positions of numbers in ascending order.
fn ascending<E: Real>(x: &[E]) -> Vec<usize> {
    sorted(x.len(), &|i, j| x[i].as_f64().total_cmp(&x[j].as_f64()))
}

/// The positions of numbers in descending order.
fn descending<E: Real>(x: &[E]) -> Vec<usize> {
    sorted(x.len(), &|i, j| x[j].as_f64().total_cmp(&x[i].as_f64()))
}

/// The eigenvalues of a symmetric matrix in ascending order, and the eigenvectors one after the other, or nothing.
pub(crate) fn eigen<E: Real>(n: usize, a: &[E], vectors: bool) -> [Vec<E>; 2] {
    if n <= MACHINE.rotated {
        return two_sided::eigen(n, a, vectors);
    }
    if is_large(n)
        && let Some([values, lines]) = E::eigen(n, a)
    {
        let order = ascending(&values);
        let lines = order.iter().filter(|_| vectors).flat_map(|k| &lines[k * n..(k + 1) * n]).copied().collect();
        return [order.iter().map(|k| values[*k]).collect(), lines];
    }
    tridiagonal::eigen(n, AlignedRows::of(a, n), vectors).unwrap_or_else(|| two_sided::eigen(n, a, vectors))
}

/// The left singular vectors one after the other, the singular values in descending order, and the right singular
/// vectors; or the values alone.
pub(crate) fn singular<E: Real>([m, n]: [usize; 2], a: &[E], vectors: bool) -> [Vec<E>; 3] {
    if m < n {
        let transposed: Vec<E> = (0..m * n).map(|at| a[at % m * n + at / m]).collect();
        let [right, values, left] = singular([n, m], &transposed, vectors);
        return [left, values, right];
    }
    if n <= MACHINE.rotated {
        return one_sided::singular([m, n], a, vectors);
    }
    if is_large(n)
        && let Some([left, values, right]) = E::singular([m, n], a)
    {
        return if vectors { [left, values, right] } else { [Vec::new(), values, Vec::new()] };
    }
    let result = match m >= 2 * n {
        true => of_tall([m, n], a, vectors),
        false => bidiagonal::singular([m, n], AlignedRows::of(a, n), vectors),
    };
    result.unwrap_or_else(|| one_sided::singular([m, n], a, vectors))
}

/// The singular values of a matrix with many rows are those of the triangle of its QR factors.
fn of_tall<E: Real>([m, n]: [usize; 2], a: &[E], vectors: bool) -> Option<[Vec<E>; 3]> {
    let (mut q, mut r) = (vec![E::ZERO; m * n], vec![E::ZERO; n * n]);
    orthogonal::factors([m, n], a, &mut q, &mut r);
    let [left, values, right] = bidiagonal::singular([n, n], AlignedRows::of(&r, n), vectors)?;
    if !vectors {
        return Some([left, values, right]);
    }
    // The product of `q` and the vectors as columns, which lie before it in one matrix.
    let mut product = AlignedRows::zeros(n + m, n);
    let stride = product.stride;
    let rows = product.all();
    for (j, vector) in left.chunks_exact(n).enumerate() {
        vector.iter().enumerate().for_each(|(i, x)| rows[i * stride + j] = -*x);
    }
    product.subtract([n, 0], MatrixFactor { of: Some(&q), at: 0, strides: [n, 1] }, [0, 0], [m, n, n]);
    let left = (0..n).flat_map(|j| (0..m).map(move |i| (i, j))).map(|(i, j)| product.row(n + i)[j]).collect();
    Some([left, values, right])
}
