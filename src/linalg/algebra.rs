//! Operations on batches of matrices, of which the rules for derivatives are made.
//!
//! Law: the last two axes are those of a matrix, the others are batch dimensions, which all operands share.

use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Call, Compare, Contract, Discrete, Linear, Matrix, Unary, View};
use crate::shape::Shape;
use crate::tensor::band;

/// An operand of a matrix product, as it is or transposed.
pub(super) enum OrTransposed<'a, T> {
    As(&'a T),
    T(&'a T),
}

impl<T> Clone for OrTransposed<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OrTransposed<'_, T> {}

use OrTransposed::{As, T as Turned};

/// The matrix product.
pub(super) fn mm<T: BaseTensor>(a: OrTransposed<'_, T>, b: OrTransposed<'_, T>) -> T {
    let sizes = |side: OrTransposed<'_, T>| {
        let (As(x) | Turned(x)) = side;
        let rank = x.shape().len();
        let (m, n) = (x.shape()[rank - 2], x.shape()[rank - 1]);
        if let As(_) = side { [m, n] } else { [n, m] }
    };
    let (As(x) | Turned(x), As(y) | Turned(y)) = (a, b);
    let batch = x.shape().len() - 2;
    let ([n, k], [_, m]) = (sizes(a), sizes(b));
    // The iteration space: the batch, rows, columns, and the contracted axis.
    let space: Shape = x.shape()[..batch].iter().copied().chain([n, m, k]).collect();
    let axes = |last: [usize; 2]| (0..batch).chain(last.map(|axis| batch + axis)).collect::<Shape>();
    let left = axes(if let As(_) = a { [0, 2] } else { [2, 0] });
    let right = axes(if let As(_) = b { [2, 1] } else { [1, 2] });
    T::contract(&Contract::axes(&space, &left, &right, &axes([0, 1])), x, y)
}

/// The transposed matrices.
pub(super) fn t<T: BaseTensor>(x: &T) -> T {
    let rank = x.shape().len();
    let mut axes: Shape = (0..rank).collect();
    axes.swap(rank - 2, rank - 1);
    x.linear(&Linear::permute(x.shape(), &axes))
}

pub(super) fn plus<T: BaseTensor>(a: &T, b: &T) -> T {
    a.binary(Binary::Add, b)
}

pub(super) fn minus<T: BaseTensor>(a: &T, b: &T) -> T {
    a.binary(Binary::Sub, b)
}

pub(super) fn times<T: BaseTensor>(a: &T, b: &T) -> T {
    a.binary(Binary::Mul, b)
}

/// A uniform constant of a shape.
pub(super) fn number<T: BaseTensor>(shape: &[usize], dtype: DType, x: f64) -> T {
    T::constant(Array::full_as(shape, dtype, x))
}

/// The symmetric part `(x + x^T) / 2`.
pub(super) fn symmetric<T: BaseTensor>(x: &T) -> T {
    let sum = plus(x, &t(x));
    times(&sum, &number(sum.shape(), sum.dtype(), 0.5))
}

/// The elements `x_ij` for which `j - i` compares to `k`, and zeros elsewhere.
pub(super) fn part<T: BaseTensor>(x: &T, op: Compare, k: i64) -> T {
    T::select(&band::<T>(x.shape(), op, k), x, &T::zeros(x.shape(), x.dtype()))
}

/// The strictly lower triangle, and zeros elsewhere.
pub(super) fn below<T: BaseTensor>(x: &T) -> T {
    part(x, Compare::Lt, 0)
}

/// The diagonal.
pub(super) fn diagonal<T: BaseTensor>(x: &T) -> T {
    let batch = x.shape().len() - 2;
    let space = &x.shape()[..=batch];
    let axes: Shape = (0..=batch).chain([batch]).collect();
    x.linear(&Linear::affine(View::axes(space, &axes), View::identity(space)))
}

/// Vectors repeated as the rows (`axis` 1), or as the columns (`axis` 0), of matrices of this shape.
pub(super) fn along<T: BaseTensor>(x: &T, shape: &[usize], axis: usize) -> T {
    let batch = shape.len() - 2;
    let axes: Shape = (0..batch).chain([batch + axis]).collect();
    x.linear(&Linear::replicate(shape, &axes))
}

/// `1 / x` off the diagonal, and zeros on it.
pub(super) fn reciprocal_off_diagonal<T: BaseTensor>(x: &T) -> T {
    let on = band::<T>(x.shape(), Compare::Eq, 0);
    let one = number(x.shape(), x.dtype(), 1.0);
    let recip = T::select(&on, &one, x).unary(Unary::Recip);
    T::select(&on, &T::zeros(x.shape(), x.dtype()), &recip)
}

/// The inner product of matrices: the sum of the products of their elements.
pub(super) fn inner<T: BaseTensor>(a: &T, b: &T) -> T {
    let axes: Shape = (0..a.shape().len()).collect();
    T::contract(&Contract::axes(a.shape(), &axes, &axes, &axes[..axes.len() - 2]), a, b)
}

/// One scalar per matrix of a batch, repeated for all elements of matrices of this shape.
pub(super) fn stretch<T: BaseTensor>(x: &T, shape: &[usize]) -> T {
    let axes: Shape = (0..shape.len() - 2).collect();
    x.linear(&Linear::replicate(shape, &axes))
}

/// The matrix with a one at column `p[i]` of row `i`.
pub(super) fn permutation<T: BaseTensor>(p: &T, dtype: DType) -> T {
    let shape: Shape = p.shape().iter().copied().chain(p.shape().last().copied()).collect();
    let columns = T::discrete(&Discrete::Iota { n: shape[shape.len() - 1] }, &[]);
    let columns = columns.linear(&Linear::replicate(&shape, &[shape.len() - 1]));
    let mask = T::discrete(&Discrete::Compare(Compare::Eq), &[&along(p, &shape, 0), &columns]);
    T::select(&mask, &number(&shape, dtype, 1.0), &T::zeros(&shape, dtype))
}

/// The columns `start .. start + len`.
pub(super) fn columns<T: BaseTensor>(x: &T, start: usize, len: usize) -> T {
    x.linear(&Linear::slice(x.shape(), x.shape().len() - 1, start, len, 1))
}

/// The rows `start .. start + len`.
pub(super) fn rows<T: BaseTensor>(x: &T, start: usize, len: usize) -> T {
    x.linear(&Linear::slice(x.shape(), x.shape().len() - 2, start, len, 1))
}

/// An operation of linear algebra with one result.
pub(super) fn one<T: BaseTensor>(op: Matrix, args: &[T]) -> T {
    T::call(&Call::Matrix(op), args).swap_remove(0)
}

/// The solution `x` of `op(a) x = b` for a triangular matrix `a`.
pub(super) fn triangular<T: BaseTensor>(a: &T, b: &T, lower: bool, transposed: bool, unit: bool) -> T {
    one(Matrix::SolveTriangular { lower, transposed, unit }, &[a.clone(), b.clone()])
}
