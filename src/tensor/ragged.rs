//! Rows of different lengths, as data: a vector of lengths, and the elements of all rows, one row after the other.
//!
//! Law: an operation on a ragged array is that of its rows one by one, and takes time proportional to the number of
//! elements, whatever the longest row. The number of elements in all is part of the shape; lengths are values. So a
//! program with ragged arrays is recorded, differentiated, batched and compiled as any other.

use super::Tensor;
use super::loops::map;
use super::rank::{Above, Rank};
use super::rows::Outputs;
use crate::base::BaseTensor;
use crate::dtype::{Elem, Float, Num};
use crate::ops::Linear;
use crate::shape::{Show, check_possible};
use crate::tree::Tree;

/// An array whose row `i` has `lengths[i]` elements, each of rank `D - 1`: "jagged" or "ragged".
///
/// The elements lie one after the other in `values`, whose outermost axis has the number of elements of all rows. If
/// lengths add up to less, the elements behind the last row belong to no row, and are zero in what is built; if they add up
/// to more, the last elements are left out. Negative lengths count as 0.
///
/// ```
/// use polygrad::tensor::Ragged;
/// use polygrad::{Tensor, grad, tensor};
/// // Row i has i + 1 elements.
/// let triangle: Ragged<_, 1> = Ragged::build(&tensor([1, 2, 3]), 6, |i, j| (i * 10 + j).to_float());
/// assert_eq!(triangle.values(), &tensor([0.0, 10.0, 11.0, 20.0, 21.0, 22.0]));
/// assert_eq!(triangle.sum_rows(), tensor([0.0, 21.0, 63.0]));
/// assert_eq!(triangle.padded::<2>(2), tensor([[0.0, 0.0], [10.0, 11.0], [20.0, 21.0]]));
/// // The derivative of a build is one, too: of the sums of powers 0 to i of x[i].
/// let sums = |x: &Tensor<_, 1>| {
///     let powers: Ragged<_, 1> = Ragged::build(&Tensor::constant(&tensor([1, 2, 3])), 6, |i, j| x.at([i]).pow(j.to_float()));
///     powers.sum_rows().sum()
/// };
/// assert_eq!(grad(sums, &tensor([5.0, 5.0, 5.0])), tensor([0.0, 1.0, 11.0]));
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Ragged<T: BaseTensor, const D: usize, E: Elem = f64> {
    values: Tensor<T, D, E>,
    lengths: Tensor<T, 1, i64>,
}

impl<T: BaseTensor, const D: usize, E: Elem> Ragged<T, D, E> {
    /// Rows of these lengths, from the elements of all.
    ///
    /// Example: [`Ragged::map`].
    pub fn new(values: Tensor<T, D, E>, lengths: Tensor<T, 1, i64>) -> Self {
        Ragged { values, lengths }
    }

    /// The elements of all rows, one row after the other.
    ///
    /// Example: [`Ragged`].
    pub fn values(&self) -> &Tensor<T, D, E> {
        &self.values
    }

    /// The number of elements of each row.
    ///
    /// Example: [`Ragged::positions`].
    pub fn lengths(&self) -> &Tensor<T, 1, i64> {
        &self.lengths
    }

    /// The row of each element, and its position in that row; the number of rows for an element behind the last row.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad::tensor::Ragged;
    /// let x: Ragged<_, 1> = Ragged::new(tensor([1.0, 2.0, 4.0, 8.0]), tensor([2, 0, 1]));
    /// assert_eq!(x.positions(), (tensor([0, 0, 2, 3]), tensor([0, 1, 0, 0])));
    /// assert_eq!(x.lengths(), &tensor([2, 0, 1]));
    /// ```
    #[track_caller]
    pub fn positions(&self) -> (Tensor<T, 1, i64>, Tensor<T, 1, i64>) {
        positions(&self.lengths, self.values.raw().shape()[0])
    }

    /// The element `j` of row `i`: zeros where the row has no such element.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad::tensor::Ragged;
    /// let x: Ragged<_, 1> = Ragged::new(tensor([1.0, 2.0, 4.0]), tensor([2, 1]));
    /// assert_eq!([[0, 1], [0, 2], [1, 0]].map(|[i, j]| x.at(&tensor(i), &tensor(j)).item()), [2.0, 0.0, 4.0]);
    /// ```
    #[track_caller]
    pub fn at<const M: usize>(&self, i: &Tensor<T, 0, i64>, j: &Tensor<T, 0, i64>) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        let lengths = self.lengths.max(0);
        let start = (lengths.cumsum(0) - &lengths).at([i]);
        let inside = j.ge(0) & j.lt(lengths.at([i]));
        // A position out of bounds reads 0.
        let at = inside.select(start + j, -1);
        Tensor::from_raw(self.values.raw().gather(&[at.into_raw()]))
    }

    /// The rows one below the other, each filled up with zeros to this width, or cut: of shape `[rows, width, ..]`.
    ///
    /// Example: [`Ragged`].
    ///
    /// # Panics
    /// When no array can be as large.
    #[track_caller]
    pub fn padded<const R: usize>(&self, width: usize) -> Tensor<T, R, E>
    where
        Rank<R>: Above<D>,
    {
        let rows = self.lengths.raw().shape()[0];
        check_possible("padded", &[rows, width]);
        let lengths = self.lengths.max(0);
        let across = |t: &Tensor<T, 1, i64>| {
            Tensor::<T, 2, i64>::from_raw(t.raw().linear(&Linear::replicate(&[rows, width], &[0])))
        };
        let columns = Tensor::<T, 1, i64>::iota(width);
        let j = Tensor::<T, 2, i64>::from_raw(columns.raw().linear(&Linear::replicate(&[rows, width], &[1])));
        let at = j.lt(across(&lengths)).select(across(&(lengths.cumsum(0) - &lengths)) + &j, -1);
        Tensor::from_raw(self.values.raw().gather(&[at.into_raw()]))
    }
}

/// The row of each of `total` elements, and its position there.
#[track_caller]
fn positions<T: BaseTensor>(lengths: &Tensor<T, 1, i64>, total: usize) -> (Tensor<T, 1, i64>, Tensor<T, 1, i64>) {
    check_possible("build", &[total]);
    let lengths = lengths.max(0);
    let (ends, at) = (lengths.cumsum(0), Tensor::<T, 1, i64>::iota(total));
    let rows = ends.search_sorted(&at);
    // Behind the last row, positions go on from its end.
    let before = Tensor::<T, 1, i64>::from_raw(ends.raw().gather(&[(&rows - 1).into_raw()]));
    let columns = at - before;
    (rows, columns)
}

impl<T: BaseTensor, const D: usize, E: Num> Ragged<T, D, E> {
    /// The ragged array whose element `j` of row `i` is `f(i, j)`, with `lengths[i]` elements in row `i` and `total` in
    /// all.
    ///
    /// `build : (i64[n], total, (i, j) -> x) -> x[total]`: as [`build`](crate::build()), where the size of the inner axis
    /// depends on the outer index. The lengths may be computed; only `total` is known when a program is recorded.
    ///
    /// Example: [`Ragged`].
    ///
    /// # Panics
    /// When no array can be as large.
    #[track_caller]
    pub fn build<const M: usize>(
        lengths: &Tensor<T, 1, i64>,
        total: usize,
        f: impl Fn(&Tensor<T, 0, i64>, &Tensor<T, 0, i64>) -> Tensor<T, M, E>,
    ) -> Self
    where
        Rank<D>: Above<M>,
        Tensor<T, M, E>: Outputs<T, Tensor<T, D, E>>,
    {
        let (rows, columns) = positions(lengths, total);
        let n = lengths.raw().shape()[0] as i64;
        let values = map((&rows, &columns), |(i, j): &(Tensor<T, 0, i64>, Tensor<T, 0, i64>)| {
            let x = f(i, j);
            let inside = i.lt(n);
            let mask = inside.raw().linear(&Linear::replicate(x.raw().shape(), &[]));
            let zero = T::zeros(x.raw().shape(), E::DTYPE);
            Tensor::<T, M, E>::from_raw(T::select(&mask, x.raw(), &zero))
        });
        Ragged { values, lengths: lengths.clone() }
    }

    /// The same rows with `f` of each element in its place; `f` also gets the row of the element.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad::tensor::Ragged;
    /// let x: Ragged<_, 1> = Ragged::new(tensor([1.0, 2.0, 4.0]), tensor([2, 1]));
    /// let scale = tensor([10.0, 100.0]);
    /// assert_eq!(x.map(|i, x| x * scale.at([i])).values(), &tensor([10.0, 20.0, 400.0]));
    /// ```
    #[track_caller]
    pub fn map<const M: usize, F: Num>(
        &self,
        f: impl Fn(&Tensor<T, 0, i64>, &Tensor<T, M, E>) -> Tensor<T, M, F>,
    ) -> Ragged<T, D, F>
    where
        Rank<D>: Above<M>,
        Tensor<T, M, F>: Outputs<T, Tensor<T, D, F>>,
    {
        let rows = self.positions().0;
        let values = map((&rows, &self.values), |(i, x): &(Tensor<T, 0, i64>, Tensor<T, M, E>)| f(i, x));
        Ragged { values, lengths: self.lengths.clone() }
    }

    /// The sum of each row.
    ///
    /// Example: [`Ragged`].
    #[track_caller]
    pub fn sum_rows<const M: usize>(&self) -> Tensor<T, D, E>
    where
        Rank<D>: Above<M>,
    {
        self.values.segment_sum(&self.positions().0, self.lengths.raw().shape()[0])
    }

    /// A value of each row, for each of its elements: the transpose of [`sum_rows`](Ragged::sum_rows).
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad::tensor::Ragged;
    /// let x: Ragged<_, 1> = Ragged::new(tensor([1.0, 3.0, 4.0]), tensor([2, 1]));
    /// // The share of each element in the sum of its row.
    /// let share = x.values() / x.spread(&x.sum_rows()).values();
    /// assert_eq!(share, tensor([0.25, 0.75, 1.0]));
    /// ```
    ///
    /// # Panics
    /// When there is not one value for each row.
    #[track_caller]
    pub fn spread(&self, of_rows: &Tensor<T, D, E>) -> Self {
        let (rows, given) = (self.lengths.raw().shape(), of_rows.raw().shape());
        if rows[0] != given[0] {
            panic!(
                "spread: needs a value for each row, but the shapes are {} and {}; the values have the size of the lengths",
                Show(given),
                Show(rows)
            );
        }
        let values = Tensor::from_raw(of_rows.raw().gather(&[self.positions().0.into_raw()]));
        Ragged { values, lengths: self.lengths.clone() }
    }
}

impl<T: BaseTensor, const D: usize, E: Float> Ragged<T, D, E> {
    /// The elementwise maximum of each row, `-inf` of an empty one; see [`segment_max`](Tensor::segment_max).
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad::tensor::Ragged;
    /// let x: Ragged<_, 1> = Ragged::new(tensor([1.0, 3.0, 4.0]), tensor([2, 1]));
    /// assert_eq!((x.max_rows(), x.min_rows()), (tensor([3.0, 4.0]), tensor([1.0, 4.0])));
    /// ```
    #[track_caller]
    pub fn max_rows<const M: usize>(&self) -> Tensor<T, D, E>
    where
        Rank<D>: Above<M>,
    {
        self.values.segment_max(&self.positions().0, self.lengths.raw().shape()[0])
    }

    /// The elementwise minimum of each row, `inf` of an empty one; see [`segment_min`](Tensor::segment_min).
    ///
    /// Example: [`Ragged::max_rows`].
    #[track_caller]
    pub fn min_rows<const M: usize>(&self) -> Tensor<T, D, E>
    where
        Rank<D>: Above<M>,
    {
        self.values.segment_min(&self.positions().0, self.lengths.raw().shape()[0])
    }
}
