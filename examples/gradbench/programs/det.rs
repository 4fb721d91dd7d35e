//! A determinant by expansion along the first row, all the way down: `n!` products.

use polygrad::{BaseTensor, Tensor, concat, fold};

use super::{Matrix, Scalar, Vector};

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
    fold(
        Tensor::zeros([]),
        (m.row::<1>(0) * signs, minors),
        |sum: Scalar<T>, (first, minor): &(Scalar<T>, Matrix<T>)| sum + first * det(minor),
    )
}
