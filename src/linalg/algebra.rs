//! Operations on batches of matrices, from which the rules for derivatives are made.
//!
//! Law: the last two axes are those of a matrix, the others are batch dimensions, which all operands share.

use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Call, Compare, Contract, Discrete, FloatStep, Linear, Matrix, Reduce, Unary, View};
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

/// The iteration space of a product: the batch, rows, columns, and the contracted axis; and the axes of both operands
/// and of the result.
struct Iteration {
    space: Shape,
    left: Shape,
    right: Shape,
    out: Shape,
}

impl Iteration {
    fn of<'a, T: BaseTensor>(a: OrTransposed<'a, T>, b: OrTransposed<'a, T>) -> (Iteration, &'a T, &'a T) {
        let sizes = |side: OrTransposed<'_, T>| {
            let (As(x) | Turned(x)) = side;
            let rank = x.shape().len();
            let (m, n) = (x.shape()[rank - 2], x.shape()[rank - 1]);
            if let As(_) = side { [m, n] } else { [n, m] }
        };
        let (As(x) | Turned(x), As(y) | Turned(y)) = (a, b);
        let batch = x.shape().len() - 2;
        let ([n, k], [_, m]) = (sizes(a), sizes(b));
        let space: Shape = x.shape()[..batch].iter().copied().chain([n, m, k]).collect();
        let axes = |last: [usize; 2]| (0..batch).chain(last.map(|axis| batch + axis)).collect::<Shape>();
        let left = axes(if let As(_) = a { [0, 2] } else { [2, 0] });
        let right = axes(if let As(_) = b { [2, 1] } else { [1, 2] });
        (Iteration { space, left, right, out: axes([0, 1]) }, x, y)
    }
}

/// The matrix product.
pub(super) fn mm<T: BaseTensor>(a: OrTransposed<'_, T>, b: OrTransposed<'_, T>) -> T {
    let (Iteration { space, left, right, out }, x, y) = Iteration::of(a, b);
    T::contract(&Contract::axes(&space, &left, &right, &out), x, y)
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
    x.linear(&over(shape, axis))
}

/// The product of elements, 0 where either is 0.
pub(super) fn guarded_times<T: BaseTensor>(a: &T, b: &T) -> T {
    a.binary(Binary::MulNoNan, b)
}

/// The most products of elements in a guarded product that is made of these, and so takes part in loops over small
/// matrices.
const FEW: usize = 64;

/// The matrix product, in which a factor 0 makes a product 0: where a tangent or cotangent is 0, it stays 0 also next to
/// values that are infinite or NaN.
pub(super) fn guarded<T: BaseTensor>(a: OrTransposed<'_, T>, b: OrTransposed<'_, T>) -> T {
    let (Iteration { space, left, right, out }, x, y) = Iteration::of(a, b);
    if space[space.len() - 3..].iter().product::<usize>() <= FEW {
        let [x, y] = [(x, left), (y, right)].map(|(x, axes)| x.linear(&Linear::replicate(&space, &axes)));
        return guarded_times(&x, &y).linear(&Linear::replicate(&space, &out).adjoint());
    }
    let b = if let As(b) = b { b.clone() } else { t(y) };
    let transposed = matches!(a, Turned(_));
    one(Matrix::Product { transposed }, &[x.clone(), b])
}

/// The guarded product with a matrix or its transpose; that with one column is made of products of elements.
pub(super) fn applied<T: BaseTensor>(a: &T, y: &T, transposed: bool) -> T {
    let (shape, rank) = (a.shape(), a.shape().len());
    if y.shape()[rank - 1] != 1 {
        return guarded(if transposed { Turned(a) } else { As(a) }, As(y));
    }
    let axis = usize::from(!transposed);
    let products = guarded_times(&along(&vector_of(&t(y)), shape, axis), a);
    t(&row_of(&products.linear(&over(shape, 1 - axis).adjoint())))
}

/// The replication of vectors as the rows (`axis` 1), or as the columns (`axis` 0), of matrices of this shape. Its
/// adjoint sums.
pub(super) fn over(shape: &[usize], axis: usize) -> Linear {
    let batch = shape.len() - 2;
    let axes: Shape = (0..batch).chain([batch + axis]).collect();
    Linear::replicate(shape, &axes)
}

/// Vectors as matrices of one row.
pub(super) fn row_of<T: BaseTensor>(x: &T) -> T {
    let (batch, n) = x.shape().split_at(x.shape().len() - 1);
    let shape: Shape = batch.iter().chain(&[1]).chain(n).copied().collect();
    x.linear(&Linear::reshape(x.shape(), &shape))
}

/// Matrices of one row as vectors.
pub(super) fn vector_of<T: BaseTensor>(x: &T) -> T {
    let (batch, [_, n]) = of_matrices(x.shape());
    let shape: Shape = batch.iter().copied().chain([n]).collect();
    x.linear(&Linear::reshape(x.shape(), &shape))
}

/// The numbers of rows and of columns.
pub(super) fn sizes<T: BaseTensor>(x: &T) -> [usize; 2] {
    of_matrices(x.shape()).1
}

/// The sizes of a stack of matrices, and of each matrix.
fn of_matrices(shape: &[usize]) -> (&[usize], [usize; 2]) {
    match shape {
        [batch @ .., m, n] => (batch, [*m, *n]),
        [] | [_] => unreachable!("a matrix has two axes"),
    }
}

/// Each column times its factor, 0 where either is 0.
pub(super) fn by_columns<T: BaseTensor>(x: &T, factors: &T) -> T {
    guarded_times(x, &along(factors, x.shape(), 1))
}

/// The sums of the guarded products of the elements of each column.
pub(super) fn column_sums<T: BaseTensor>(a: &T, b: &T) -> T {
    guarded_times(a, b).linear(&over(a.shape(), 1).adjoint())
}

/// Matrices divided by their largest absolute values, and these values, which are constants for derivatives; 1 for
/// zeros. What is linear in a matrix may be computed so.
pub(super) fn in_units<T: BaseTensor>(x: &T) -> (T, T) {
    let (batch, [m, n]) = of_matrices(x.shape());
    if m * n == 0 {
        return (x.clone(), number(batch, x.dtype(), 1.0));
    }
    let flat: Shape = batch.iter().copied().chain([m * n]).collect();
    let still = T::discrete(&Discrete::FloatStep(FloatStep::StopGradient), &[x]).unary(Unary::Abs);
    let most = still.linear(&Linear::reshape(x.shape(), &flat)).reduce(Reduce::Max { axis: batch.len() });
    let is_zero = T::discrete(&Discrete::Compare(Compare::Eq), &[&most, &T::zeros(batch, x.dtype())]);
    let size = T::select(&is_zero, &number(batch, x.dtype(), 1.0), &most);
    (x.binary(Binary::Div, &stretch(&size, x.shape())), size)
}

/// Matrices of NaN where a mask, one for each matrix, does not hold, and zeros elsewhere.
pub(super) fn nan_unless<T: BaseTensor>(fine: &T, shape: &[usize], dtype: DType) -> T {
    let batch: Shape = (0..shape.len() - 2).collect();
    let fine = fine.linear(&Linear::replicate(shape, &batch));
    T::select(&fine, &number(shape, dtype, 0.0), &number(shape, dtype, f64::NAN))
}

/// Zeros; but for square matrices of NaN and a nonzero matrix, NaN: so a tangent that does not exist does not pass for
/// zeros.
pub(super) fn marked<T: BaseTensor>(nan: &T, x: &T) -> T {
    guarded(As(&guarded(As(nan), As(x))), As(nan))
}

/// Whether all elements of each matrix are finite.
pub(super) fn are_finite<T: BaseTensor>(x: &T) -> T {
    let batch: Shape = (0..x.shape().len() - 2).collect();
    // The product with 0 is 0 for finite numbers, and NaN for others.
    let nothing = times(x, &T::zeros(x.shape(), x.dtype())).linear(&Linear::replicate(x.shape(), &batch).adjoint());
    T::discrete(&Discrete::Compare(Compare::Eq), &[&nothing, &T::zeros(nothing.shape(), nothing.dtype())])
}

/// The inner product of matrices, in which a factor 0 makes a product 0.
pub(super) fn guarded_inner<T: BaseTensor>(a: &T, b: &T) -> T {
    let batch: Shape = (0..a.shape().len() - 2).collect();
    guarded_times(a, b).linear(&Linear::replicate(a.shape(), &batch).adjoint())
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
