//! Jacobians and Hessians with few elements that are not zero, in few passes.
//!
//! A program is recorded and read at [`Sparsity`](crate::Sparsity), which says what depends on what; rows or columns that
//! share no element get one colour; a pass computes all of one colour, and the elements are read off the passes. All of this
//! is a [`Function`], recorded once. Rows and columns are the elements of the raveled trees, as in
//! [`jacobian_matrix`](crate::jacobian_matrix).
//!
//! Law: the pattern holds for all that a run may be given. Of data, integers and masks say which elements there are: which
//! camera sees which point. So these are constants of the recorded program, as if the function had captured them, and a run
//! with others is an error. (As inputs they would not be known when the program is read, an index would choose anything, and
//! the matrix would be full.) Floats in the data may be others in each run. They are inputs without columns, whose values are
//! as unknown to the reading as those of the argument, and so are indices and masks that are computed from them.
//!
//! `subject`: which inputs have columns; `lists` and `pattern`: patterns in compressed rows and columns; `coloring`: colours;
//! `reads`: what a program copies from its inputs before it computes; `passes`: the passes, and how elements are read off
//! them; `places`: elements at known places; `elements`: the program of all this; `function`: the recorded matrix;
//! `matrices`: the elements as triplets and in compressed form; `foreign`: as matrices of other crates.

mod affine_gathers;
mod coloring;
mod decompression;
mod foreign;
mod function;
mod input_slicing;
mod lists;
mod matrices;
mod passes;
mod pattern;
mod seeding;

use super::function::{Fixed, RecordedFunction, record_at};
use crate::array::Array;
use crate::dtype::Float;
use crate::passes::optimize;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;
use decompression::PatternValues;
pub use function::SparseFunction;
pub use matrices::{CompressedColumns, CompressedRows, Triplets};
pub use pattern::{ColumnPattern, SparsityPattern};
use seeding::Subject;

/// The Jacobian of a function from trees to trees, by as many passes as its pattern has colours: `J[i, j] = d y[i] / d x[j]`,
/// where `x` and `y` are the raveled trees.
///
/// The pattern is that of the recorded program, for all numbers in `x`; indices and masks that the function captures are
/// read as they are. Columns that share no row are computed in one pass of forward mode, or rows that read nothing in
/// common in one of reverse mode, whichever is cheaper by the number of passes. Rows read apart what indices and views
/// choose for each of them, be it the same element: in bundle adjustment an observation reads its own copy of its camera,
/// so the rows take as many passes as one observation has errors, and their columns 14.
///
/// ```
/// use polygrad::{Mode, Tensor, sparse_jacobian, tensor};
/// let x = tensor([1.0, 2.0, 3.0, 4.0]);
/// // Differences of neighbours: each row reads two elements for itself, so one pass back has them all.
/// let differences = |x: &Tensor<_, 1>| (x.slice(0, 1..) - x.slice(0, ..3)).square();
/// let j = sparse_jacobian(differences, &x);
/// assert_eq!((j.pattern().len(), j.mode(), j.passes()), (6, Mode::Reverse, 1));
/// assert_eq!(j.run(&x)?.elements[..2], [(0, 0, -2.0), (0, 1, 2.0)]);
/// // Neighbours read the same exponential: two elements a row, two passes.
/// let j = sparse_jacobian(|x: &Tensor<_, 1>| differences(&x.exp()), &x);
/// assert_eq!((j.pattern().len(), j.mode(), j.passes()), (6, Mode::Forward, 2));
/// # Ok::<(), polygrad::RunError>(())
/// ```
///
/// # Cost
/// To record takes time and memory in proportion to the elements of the values in the program and of the matrix, as long
/// as each depends on few inputs: bundle adjustment with 49 cameras, 7776 points and 31843 observations, 920000 elements,
/// takes 0.15 s and 70 MB, and 40 times as many observations 9 s and 2 GB. A run takes 5 ms there, as one in which
/// each observation computes its own block of derivatives.
///
/// Columns are coloured by A. H. Gebremedhin, F. Manne and A. Pothen (2005), section 3.
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn sparse_jacobian<P: Tree<Array>, Y: Tree<Term>>(f: impl Fn(&P::With<Term>) -> Y, x: &P) -> SparseFunction<P> {
    sparse_jacobian_with(|x, _: &()| f(x), x, &())
}

/// [`sparse_jacobian`] of a function that also takes `data` that is not differentiated: `J[i, j] = d y[i] / d x[j]`, for data
/// like these.
///
/// Integers and masks in the data are a part of the matrix, as those that the function captures: the pattern is that of
/// their numbers, and [`run_with`](SparseFunction::run_with) others is an error. Floats in the data may be others in each run:
/// the pattern is that of all of them, so an index or a mask that is computed from floats chooses anything.
///
/// ```
/// use polygrad::{Concrete, Tensor, sparse_jacobian_with, tensor};
/// type Vector<T> = Tensor<T, 1>;
/// let x = tensor([1.0, 2.0, 4.0]);
/// // Which elements are apart how much.
/// let data = (tensor([1, 2]), tensor([0, 0]), tensor([0.5, 2.0]));
/// let j = sparse_jacobian_with(
///     |x: &Vector<_>, (i, j, apart): &(Tensor<_, 1, i64>, Tensor<_, 1, i64>, Vector<_>)| {
///         (x.take(i) - x.take(j) - apart).square()
///     },
///     &x,
///     &data,
/// );
/// assert_eq!(j.pattern().entries().collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 0), (1, 2)]);
/// assert_eq!(j.values_with(&x, &data)?, [-1.0, 1.0, -2.0, 2.0]);
/// let farther = (data.0, data.1, tensor([1.0, 1.0]));
/// assert_eq!(j.values_with(&x, &farther)?, [0.0, 0.0, -4.0, 4.0]);
/// let others: (Tensor<Concrete, 1, i64>, _, _) = (tensor([1, 1]), farther.1, farther.2);
/// assert!(j.run_with(&x, &others).is_err());
/// # Ok::<(), polygrad::RunError>(())
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn sparse_jacobian_with<P: Tree<Array>, Q: Tree<Array>, Y: Tree<Term>>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y,
    x: &P,
    data: &Q,
) -> SparseFunction<P, Q> {
    let (subject, fixed) = recorded(f, x, data);
    PatternValues::of_jacobian(&subject).function((x, data), fixed)
}

/// The Hessian of a scalar function of a tree, by as many passes as its pattern has star colours: symmetric, with both
/// halves.
///
/// ```
/// use polygrad::{Tensor, sparse_hessian, tensor};
/// let x = tensor([1.0, 2.0, 3.0, 4.0, 5.0]);
/// // Each element meets its neighbours: three passes, however many elements there are.
/// let h = sparse_hessian(|x: &Tensor<_, 1>| (x.slice(0, 1..) * x.slice(0, ..4)).square().sum(), &x);
/// assert_eq!((h.pattern().entries().len(), h.passes()), (13, 3));
/// assert_eq!(h.run(&x)?.elements[1], (0, 1, 8.0));
/// # Ok::<(), polygrad::RunError>(())
/// ```
///
/// # Panics
/// When `f` looks at values, or has no second derivative.
#[track_caller]
pub fn sparse_hessian<P: Tree<Array>, E: Float>(
    f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
) -> SparseFunction<P> {
    sparse_hessian_with(|x, _: &()| f(x), x, &())
}

/// [`sparse_hessian`] of a function that also takes `data` that is not differentiated, of which integers and masks are a part
/// of the matrix: see [`sparse_jacobian_with`].
///
/// ```
/// use polygrad::{Tensor, sparse_hessian_with, tensor};
/// type Springs<T> = (Tensor<T, 1, i64>, Tensor<T, 1, i64>, Tensor<T, 1>);
/// let x = tensor([1.0, 2.0, 4.0]);
/// // Springs between two points each, and how stiff each is.
/// let springs = (tensor([0, 0]), tensor([1, 2]), tensor([3.0, 5.0]));
/// let energy = |x: &Tensor<_, 1>, (i, j, k): &Springs<_>| ((x.take(j) - x.take(i)).square() * k).sum() / 2.0;
/// let h = sparse_hessian_with(energy, &x, &springs);
/// let known = [(0, 0, 8.0), (0, 1, -3.0), (0, 2, -5.0), (1, 0, -3.0), (1, 1, 3.0), (2, 0, -5.0), (2, 2, 5.0)];
/// assert_eq!(h.run_with(&x, &springs)?.elements, known);
/// # Ok::<(), polygrad::RunError>(())
/// ```
///
/// # Panics
/// When `f` looks at values, or has no second derivative.
#[track_caller]
pub fn sparse_hessian_with<P: Tree<Array>, Q: Tree<Array>, E: Float>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
    data: &Q,
) -> SparseFunction<P, Q> {
    let (gradient, fixed) = gradient(f, x, data);
    PatternValues::of_hessian(&gradient).function((x, data), fixed)
}

/// The diagonal of the Hessian of a scalar function of a tree, as a function of the raveled tree's elements in order: by as
/// many passes as it takes colours to tell neighbours apart; by one, if no two elements meet.
///
/// ```
/// use polygrad::{Tensor, hessian_diagonal, tensor};
/// let x = tensor([1.0, 2.0, 3.0]);
/// let d = hessian_diagonal(|x: &Tensor<_, 1>| (x * x * x).sum(), &x);
/// assert_eq!((d.passes(), d.function().run(&x)?), (1, tensor([6.0, 12.0, 18.0])));
/// # Ok::<(), polygrad::RunError>(())
/// ```
///
/// # Panics
/// When `f` looks at values, or has no second derivative.
#[track_caller]
pub fn hessian_diagonal<P: Tree<Array>, E: Float>(
    f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
) -> SparseFunction<P> {
    hessian_diagonal_with(|x, _: &()| f(x), x, &())
}

/// [`hessian_diagonal`] of a function that also takes `data` that is not differentiated, of which integers and masks are a
/// part of the matrix: see [`sparse_jacobian_with`].
///
/// ```
/// use polygrad::{Tensor, hessian_diagonal_with, tensor};
/// let (x, k) = (tensor([1.0, 2.0, 3.0]), tensor([1.0, 2.0, 0.5]));
/// let d = hessian_diagonal_with(|x: &Tensor<_, 1>, k: &Tensor<_, 1>| (x * x * x * k).sum(), &x, &k);
/// assert_eq!((d.passes(), d.values_with(&x, &k)?), (1, vec![6.0, 24.0, 9.0]));
/// # Ok::<(), polygrad::RunError>(())
/// ```
///
/// # Panics
/// When `f` looks at values, or has no second derivative.
#[track_caller]
pub fn hessian_diagonal_with<P: Tree<Array>, Q: Tree<Array>, E: Float>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
    data: &Q,
) -> SparseFunction<P, Q> {
    let (gradient, fixed) = gradient(f, x, data);
    PatternValues::of_diagonal(&gradient).function((x, data), fixed)
}

/// The optimized program of `f`, in which integers and masks of the data are constants.
#[track_caller]
fn recorded<P: Tree<Array>, Q: Tree<Array>, Y: Tree<Term>>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y,
    x: &P,
    data: &Q,
) -> (Subject, Fixed) {
    let fixed = Fixed::integers(data);
    let RecordedFunction { program, count, .. } = record_at(f, x, data, &fixed);
    (Subject { program: optimize(&program), count }, fixed)
}

/// The optimized gradient, in all floats of the argument.
#[track_caller]
fn gradient<P: Tree<Array>, Q: Tree<Array>, E: Float>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
    data: &Q,
) -> (Subject, Fixed) {
    let (value, fixed) = recorded(f, x, data);
    (value.gradient(), fixed)
}
