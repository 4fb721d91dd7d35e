//! Determinants of complex matrices, by elimination with complete pivoting.
//!
//! Law: a determinant is the product of pivots, the sign of the two permutations, and a polynomial of the [`LAST`] rows
//! and columns that remain. Complete pivoting leaves the smallest pivots to the polynomial: where at most [`LAST`] are
//! zero, no division is by one of them. The real matrix of twice the size (`complex`) has the square of the absolute
//! value as its determinant, without the angle, so the elimination is that of complex numbers.

use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Matrix;
use crate::ops::kinds::or_panic;
use crate::ops::minors::LAST;
use crate::shape::size;
use crate::tensor::{Complex, Plus, Rank, Tensor, concat, einsum, fold, map_accum};

impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
    /// The determinant, a holomorphic polynomial; the leading axes are those of a batch.
    ///
    /// The first derivative, the matrix of cofactors, is right at every matrix, including at a singular one. So are
    /// derivatives of every order for up to 4 rows, and for larger matrices if at most 4 pivots of elimination with
    /// complete pivoting are zero: others are divided by. Where more are zero, derivatives up to order 4 are zero, as they
    /// should be, and those of order 5 and more may be wrong.
    /// The product of pivots overflows before the determinant does: [`slogdet`](Complex::slogdet) does not.
    ///
    /// ```
    /// use polygrad::{Complex, holomorphic_grad, tensor};
    /// let a = Complex::new(tensor([[0.0, 0.0], [2.0, 1.0]]), tensor([[1.0, 1.0], [0.0, 0.0]]));
    /// assert_eq!((a.det(), a.slogdet()), (Complex::scalar(0.0, -1.0), (Complex::scalar(0.0, -1.0), tensor(0.0))));
    /// let cofactors = holomorphic_grad(|a| a.det(), &a);
    /// assert_eq!(cofactors, Complex::new(tensor([[1.0, -2.0], [0.0, 0.0]]), tensor([[0.0, 0.0], [-1.0, 1.0]])));
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn det<const M: usize>(&self) -> Complex<T, M, E>
    where
        Rank<D>: Plus<2, M>,
    {
        let a = stacked(self);
        let Eliminated { pivots, sign, rest } = eliminated(&a, a.shape()[1].saturating_sub(LAST));
        let last = of_four(&rest) * sign;
        fold(last, &pivots, |product, pivot: &Complex<T, 1, E>| product * pivot).reshape(leading(&self.shape()))
    }

    /// The angle of the determinant, as a complex number of absolute value 1, and the logarithm of its absolute value:
    /// finite where the determinant is too large or too small for a number. The determinant is their product
    /// `unit exp(log)`.
    ///
    /// With `s = tr(a^-1 da)` the derivative of the unit is `i im(s) unit`, and that of the logarithm `re(s)`. For a
    /// singular matrix, the unit is 0 and the logarithm `-inf`; they have no derivative there, and get one that is 0 or
    /// not finite.
    ///
    /// Example: [`Complex::det`].
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn slogdet<const M: usize>(&self) -> (Complex<T, M, E>, Tensor<T, M, E>)
    where
        Rank<D>: Plus<2, M>,
    {
        let a = stacked(self);
        let Eliminated { pivots, sign, .. } = eliminated(&a, a.shape()[1]);
        let length = pivots.abs();
        let is_zero = length.eq(E::ZERO);
        let units = &pivots / is_zero.select(E::ONE, &length);
        let unit = fold(sign.to_complex(), &units, |product, unit: &Complex<T, 1, E>| product * unit);
        let log = length.ln().sum_outer::<1>();
        let batch = leading(&self.shape());
        (unit.reshape(batch), log.reshape(batch))
    }
}

/// The matrices of a batch, with one axis for all of them.
#[track_caller]
fn stacked<T: BaseTensor, const D: usize, E: Float>(a: &Complex<T, D, E>) -> Complex<T, 3, E> {
    let shape = a.shape();
    or_panic(Matrix::Det.try_matrix(&shape));
    let n = shape[D - 1];
    a.reshape([size(&shape[..D - 2]), n, n])
}

/// The first sizes of a shape.
fn leading<const D: usize, const M: usize>(shape: &[usize; D]) -> [usize; M] {
    std::array::from_fn(|k| shape[k])
}

/// What elimination leaves of a batch of matrices.
struct Eliminated<T, E> {
    /// The pivots, one after the other, each for all matrices.
    pivots: Complex<T, 2, E>,
    /// The sign of both permutations.
    sign: Tensor<T, 1, E>,
    /// The rows and columns that are left.
    rest: Complex<T, 3, E>,
}

/// The state of elimination: the matrices, 1 for each free row and column, and the sign.
type State<T, E> = (Complex<T, 3, E>, Tensor<T, 2, E>, Tensor<T, 2, E>, Tensor<T, 1, E>);

/// Elimination of `steps` rows and columns.
fn eliminated<T: BaseTensor, E: Float>(a: &Complex<T, 3, E>, steps: usize) -> Eliminated<T, E> {
    let [batch, n, _] = a.shape();
    let free = || Tensor::<T, 2, E>::ones([batch, n]);
    if steps == 0 {
        let sign = Tensor::ones([batch]);
        return Eliminated { pivots: Complex::zeros([0, batch]), sign, rest: a.clone() };
    }
    let start = (a.clone(), free(), free(), Tensor::ones([batch]));
    let step = |state: State<T, E>, _: &Tensor<T, 0, i64>| step(state);
    let ((a, rows, columns, sign), pivots) = map_accum(start, Tensor::<T, 1, i64>::iota(steps), step);
    let left = |free: &Tensor<T, 2, E>| (-free).argsort(1).slice(1, ..n - steps).one_hot::<3, E>(n);
    let (rows, columns) = (left(&rows), left(&columns));
    let rest = a.by_parts(|x| einsum("bri,bij,bsj->brs", (&rows, x, &columns)));
    Eliminated { pivots, sign, rest }
}

/// Eliminates the free row and column of the largest free element; the result has this element, too.
fn step<T: BaseTensor, E: Float>(state: State<T, E>) -> (State<T, E>, Complex<T, 1, E>) {
    let (a, rows, columns, sign) = state;
    let [batch, n, _] = a.shape();
    let is_free = rows.insert_axis::<3>(2).gt(E::ZERO) & columns.insert_axis::<3>(1).gt(E::ZERO);
    // Within a factor of sqrt 2 of the absolute value, and never too large or too small for a number.
    let size = a.re().abs() + a.im().abs();
    let at = is_free.select(size, -E::ONE).reshape([batch, n * n]).argmax_axis::<1>(1);
    let (row_at, column_at) = (&at / n as i64, &at % n as i64);
    let (row, column) = (row_at.one_hot::<2, E>(n), column_at.one_hot::<2, E>(n));
    let (left_rows, left_columns) = (&rows - &row, &columns - &column);
    let across = a.by_parts::<2>(|x| einsum("bi,bij->bj", (&row, x)));
    let down = a.by_parts::<2>(|x| einsum("bij,bj->bi", (x, &column)));
    let pivot = down.by_parts::<1>(|x| einsum("bi,bi->b", (&row, x)));
    // Where the largest element is 0, all are: nothing is left to eliminate.
    let is_zero = pivot.abs().eq(E::ZERO);
    let divisor = Complex::select(&is_zero, &Tensor::ones([batch]).to_complex(), &pivot);
    let is_left = left_rows.gt(E::ZERO);
    let down = Complex::select(&is_left, &down, &Complex::zeros([batch, n]));
    let factors = down / divisor.insert_axis::<2>(1);
    let a = &a - factors.insert_axis::<3>(2) * across.insert_axis::<3>(1);
    // The transpositions that bring the row and the column to the front of those that are left.
    let before = |free: &Tensor<T, 2, E>, at: &Tensor<T, 2, E>| (free * at.cumsum_reverse(1)).sum_axis::<1>(1);
    let moves = (before(&rows, &row) + before(&columns, &column)).to_int();
    let turn = (1i64 - (moves % 2) * 2).to_float::<E>();
    ((a, left_rows, left_columns, sign * turn), pivot)
}

/// The determinants of matrices of at most 4 rows, by the minors of the first two rows and of the last two.
fn of_four<T: BaseTensor, E: Float>(a: &Complex<T, 3, E>) -> Complex<T, 1, E> {
    let [batch, n, _] = a.shape();
    // Rows and columns of the identity do not change a determinant.
    let more = LAST - n;
    let identity = Tensor::<T, 3, E>::zeros([batch, n, n]);
    let below = Tensor::<T, 2, E>::eye(more).replicate::<3>(batch);
    let identity = concat(2, (identity.pad([(0, 0), (0, more), (0, 0)]), below.pad([(0, 0), (n, 0), (0, 0)])));
    let a = a.pad([(0, 0), (0, more), (0, more)]) + identity;
    let rows = a.permute([1, 2, 0]);
    let pairs = |at: [i64; 6], row: usize| rows.row::<2>(row).take(&Tensor::constant(at));
    // The columns of a minor of the first two rows; those of the last two, in reverse order, are the others.
    let (first, second) = ([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]);
    let minors = |i: usize| pairs(first, i) * pairs(second, i + 1) - pairs(second, i) * pairs(first, i + 1);
    let signs = Tensor::constant([1.0, -1.0, 1.0, 1.0, -1.0, 1.0]).cast::<E>();
    (minors(0) * minors(2).reverse(0) * signs.insert_axis::<2>(1)).sum_axis(0)
}
