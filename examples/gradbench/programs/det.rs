//! A determinant by expansion along the first row, all the way down: `n!` products.

use polygrad::{BaseTensor, Tensor, checkpoint, concat, fold};

use super::{Matrix, Scalar, Vector};

/// The most columns of a matrix whose minors are computed at once.
const LARGE: usize = 10;

/// `sum_j (-1)^j m_0j det(m without row 0 and column j)`
///
/// The columns of a minor are taken in the cyclic order that starts after `j`: in the matrix written twice they are neighbours,
/// and the sign is that of `(-1)^(j (n - j))`.
pub fn det<T: BaseTensor>(m: &Matrix<T>) -> Scalar<T> {
    let n = m.len();
    if n == 1 {
        return m.at([0, 0]);
    }
    let below = m.slice(0, 1..);
    let twice: Matrix<T> = concat(1, (&below, &below));
    let minors: Tensor<T, 3> = twice.window::<3>(1, n - 1, 1).slice(1, 1..=n).permute([1, 0, 2]);
    let signs: Vector<T> = Tensor::from_fn([n], |[j]| if (j * (n - j)).is_multiple_of(2) { 1.0 } else { -1.0 });
    let rows = (m.row::<1>(0) * signs, minors);
    let add = |sum: Scalar<T>, (first, minor): &(Scalar<T>, Matrix<T>)| sum + first * det(minor);
    // The minors of a large matrix one after the other, in the gradient once more: all at once they would fill the memory.
    if n > LARGE { checkpoint(1).fold(Tensor::zeros([]), rows, add) } else { fold(Tensor::zeros([]), rows, add) }
}
