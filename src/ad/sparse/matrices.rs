//! The elements of a sparse matrix: triplets, compressed rows, compressed columns.

use crate::interpreters::Concrete;
use crate::tensor::Tensor;

/// The elements of a matrix that can be nonzero, as triplets.
///
/// ```
/// use polygrad::{CompressedColumns, CompressedRows, Triplets, tensor};
/// let matrix = Triplets { shape: (2, 3), elements: vec![(0, 0, 5.0), (0, 2, 6.0), (1, 0, 7.0)] };
/// assert_eq!(matrix.to_dense(), tensor([[5.0, 0.0, 6.0], [7.0, 0.0, 0.0]]));
/// let CompressedRows { row_pointers, columns, values, .. } = matrix.to_rows();
/// assert_eq!((row_pointers, columns, values), (vec![0, 2, 3], vec![0, 2, 0], vec![5.0, 6.0, 7.0]));
/// let CompressedColumns { column_pointers, rows, values, .. } = matrix.to_columns();
/// assert_eq!((column_pointers, rows, values), (vec![0, 2, 2, 3], vec![0, 1, 0], vec![5.0, 7.0, 6.0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Triplets {
    /// The numbers of rows and columns.
    pub shape: (usize, usize),
    /// Row, column and value of each element, by rows.
    pub elements: Vec<(usize, usize, f64)>,
}

/// A matrix in compressed rows: the elements from `row_pointers[i]` up to `row_pointers[i + 1]` are those of row `i`.
///
/// Example: [`Triplets`].
#[derive(Clone, Debug, PartialEq)]
pub struct CompressedRows {
    /// The numbers of rows and columns.
    pub shape: (usize, usize),
    /// The index of the first element of each row, and the number of elements: one number more than there are rows.
    pub row_pointers: Vec<usize>,
    /// The column of each element.
    pub columns: Vec<usize>,
    /// The value of each element.
    pub values: Vec<f64>,
}

/// A matrix in compressed columns: the elements from `column_pointers[j]` up to `column_pointers[j + 1]` are those of
/// column `j`.
///
/// Example: [`Triplets`].
#[derive(Clone, Debug, PartialEq)]
pub struct CompressedColumns {
    /// The numbers of rows and columns.
    pub shape: (usize, usize),
    /// The index of the first element of each column, and the number of elements: one number more than there are
    /// columns.
    pub column_pointers: Vec<usize>,
    /// The row of each element.
    pub rows: Vec<usize>,
    /// The value of each element.
    pub values: Vec<f64>,
}

/// Compresses elements of line, other index and value: the index of the first element of each of `count` lines, and the
/// number of elements; the other index of each element; and the value of each element. Elements of one line keep their
/// order.
fn compressed(
    count: usize,
    elements: impl Iterator<Item = (usize, usize, f64)> + Clone,
) -> (Vec<usize>, Vec<usize>, Vec<f64>) {
    let mut pointers = vec![0; count + 1];
    let mut len = 0;
    elements.clone().for_each(|(line, ..)| {
        pointers[line + 1] += 1;
        len += 1;
    });
    (0..count).for_each(|k| pointers[k + 1] += pointers[k]);
    let (mut next, mut others, mut values) = (pointers.clone(), vec![0; len], vec![0.0; len]);
    for (line, other, value) in elements {
        (others[next[line]], values[next[line]]) = (other, value);
        next[line] += 1;
    }
    (pointers, others, values)
}

impl Triplets {
    /// The dense matrix.
    ///
    /// Example: [`Triplets`].
    pub fn to_dense(&self) -> Tensor<Concrete, 2> {
        let (rows, columns) = self.shape;
        let mut all = vec![0.0; rows * columns];
        self.elements.iter().for_each(|(i, j, x)| all[i * columns + j] = *x);
        Tensor::new([rows, columns], all)
    }

    /// The matrix in compressed rows. For many runs of one [`SparseFunction`](crate::SparseFunction), take its
    /// [`values`](crate::SparseFunction::values) and the pointers of its pattern instead, which are the same each time.
    ///
    /// Example: [`Triplets`].
    pub fn to_rows(&self) -> CompressedRows {
        let (row_pointers, columns, values) = compressed(self.shape.0, self.elements.iter().copied());
        CompressedRows { shape: self.shape, row_pointers, columns, values }
    }

    /// The matrix in compressed columns. For many runs see
    /// [`SparsityPattern::by_columns`](crate::SparsityPattern::by_columns).
    ///
    /// Example: [`Triplets`].
    pub fn to_columns(&self) -> CompressedColumns {
        let turned = self.elements.iter().map(|(i, j, x)| (*j, *i, *x));
        let (column_pointers, rows, values) = compressed(self.shape.1, turned);
        CompressedColumns { shape: self.shape, column_pointers, rows, values }
    }
}
