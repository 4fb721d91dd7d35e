//! Views, concatenation, high and zero rank, zero sizes.

use polygrad::{BaseTensor, Tensor, build, build1, concat, cond, fold, iterate, map, stack};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    views(x = real([4, 4], 1));
    permutations(x = real([2, 3, 4], 2));
    overlapping_windows(x = real([7], 3));
    strided_reads(x = real([9], 4));
    padded(x = real([3, 2], 5));
    broadcasts(column = real([3, 1], 6), row = real([1, 4], 7), m = real([3, 4], 8));
    joined(a = real([2, 3], 9), b = real([4, 3], 10));
    stacked(a = real([3], 11), b = real([3], 12));
    rank_six(x = real([2, 1, 2, 3, 1, 2], 13), y = real([2, 3], 14));
    reshaped(x = real([2, 6], 15));
    partial_sums(x = real([2, 3, 2, 2], 16));
    empty_arrays(x = real([0], 17), y = real([3], 18));
    empty_loops(x = real([0, 2], 19), y = real([2], 20));
    built_by_index(x = real([3, 3], 21));
    built_four_deep(x = real([2], 22), y = real([2, 2], 23));
    conditionals(c = real([], 24), x = real([12], 25));
}

fn views<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let diagonal: Vector<T> = x.diagonal(0, 1);
    let other: Vector<T> = x.reverse(1).diagonal(0, 1);
    let corner = x.slice(0, 1..3).slice_step(1, .., 3);
    diagonal.dot(&other) + corner.square().sum() * x.t().row::<1>(2).sum() + (x * x.reverse(0).t()).sin().sum()
}

fn permutations<T: BaseTensor>(x: &Tensor<T, 3>) -> Scalar<T> {
    let y = x.permute([2, 0, 1]);
    let z = x.permute([1, 2, 0]).permute([1, 2, 0]);
    (&y * &z).sum() + y.t().reshape([4, 6]).reverse(1).square().sum_outer().norm()
}

fn overlapping_windows<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let windows: Matrix<T> = x.window(0, 4, 1);
    let pairs: Tensor<T, 3> = windows.window(1, 2, 2);
    let sums: Matrix<T> = pairs.square().sum_axis(2);
    (sums.sin() * windows.slice(1, 1..3)).sum()
}

fn strided_reads<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let thirds = x.slice_step(0, 1.., 3);
    let halves = x.slice_step(0, ..6, 2).reverse(0);
    (thirds.square() * halves).sum()
}

fn padded<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let wide = x.pad([(1, 2), (0, 3)]);
    (wide.cos() * wide.reverse(0).reverse(1)).sum() + wide.slice(1, 2..).sum()
}

fn broadcasts<T: BaseTensor>(column: &Matrix<T>, row: &Matrix<T>, m: &Matrix<T>) -> Scalar<T> {
    let sum = column + row;
    (sum.square() * m - m / (row.square() + 1.0) * column).sum() + column.broadcast_to([3, 5]).square().sum()
}

fn joined<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>) -> Scalar<T> {
    let rows = concat(0, [a, b, a]);
    let columns = concat(1, [a, &b.slice(0, 1..3), &Tensor::ones([2, 1])]);
    rows.square().sum_outer().norm() + (columns.square() * &columns).sum()
}

fn stacked<T: BaseTensor>(a: &Vector<T>, b: &Vector<T>) -> Scalar<T> {
    let both: Matrix<T> = stack([a, b, &Tensor::ones([3]), a]);
    both.matmul(&both.t()).sin().sum()
}

fn rank_six<T: BaseTensor>(x: &Tensor<T, 6>, y: &Matrix<T>) -> Scalar<T> {
    let z = x.permute([3, 4, 0, 5, 1, 2]);
    let scaled: Matrix<T> = z.square().sum_axes([1, 2, 3, 4]);
    let spread: Tensor<T, 6> =
        y.replicate::<3>(2).replicate::<4>(1).permute([2, 0, 1, 3]).replicate::<5>(2).replicate(1);
    (scaled.t() * y).sum() + (spread.permute([1, 0, 3, 5, 4, 2]) * x.permute([0, 4, 2, 3, 1, 5])).sin().sum()
}

fn reshaped<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let y: Tensor<T, 3> = x.reshape([3, 2, 2]);
    let z: Matrix<T> = y.permute([1, 0, 2]).reshape([6, 2]);
    (z.t().reshape([2, 6]) * x.flatten().reverse(0).reshape([2, 6])).tanh().sum()
}

fn partial_sums<T: BaseTensor>(x: &Tensor<T, 4>) -> Scalar<T> {
    let outer: Tensor<T, 3> = x.sum_outer();
    let inner: Matrix<T> = x.square().sum_axes([3, 1]);
    outer.exp().sum() + inner.sin().sum() + x.sum_axis::<3>(2).norm()
}

/// Nothing adds nothing, wherever it stands.
fn empty_arrays<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    let nothing: Vector<T> = build1(0, |i| y.at([i]) * y.at([0]));
    let none: Matrix<T> = Tensor::zeros([0, 3]);
    let joined = concat(0, [x, y, &nothing, &y.slice(0, 1..1)]);
    joined.square().sum() * (x.exp().sum() + x.dot(&nothing) + y.sum()) + none.matvec(y).sum() + x.pad([(1, 1)]).sum()
}

/// Loops without trips: the initial carry comes back.
fn empty_loops<T: BaseTensor>(x: &Matrix<T>, y: &Vector<T>) -> Scalar<T> {
    let carried = fold(y.clone(), x, |c, row| c * row + y);
    let mapped: Vector<T> = map(x, |row| row.dot(y));
    (carried * y).sum() + mapped.sum()
}

fn built_by_index<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let y: Matrix<T> =
        build([3, 3], |[i, j]| x.at([i, j]) * x.at([j, i]) + x.at([i]).dot(&x.at([j])) * x.at([i + 1, j - 1]));
    let rows: Matrix<T> = build1(4, |i| y.at([2 - i]));
    (rows.sin() * rows).sum()
}

fn built_four_deep<T: BaseTensor>(x: &Vector<T>, y: &Matrix<T>) -> Scalar<T> {
    let z: Tensor<T, 4> =
        build([2, 1, 2, 2], |[i, j, k, l]| x.at([i]) * y.at([k, l]) + (x.at([l]) * y.at([j, i])).sin());
    z.square().sum() + Tensor::constant(1.0)
}

/// Two choices by one truth value, the second inside of a side of the first.
fn conditionals<T: BaseTensor>(c: &Scalar<T>, x: &Vector<T>) -> Scalar<T> {
    let long = |by: f64| iterate(60, x, |_, y: Vector<T>| (y * c).sin() * by + x * 0.5);
    let inner = cond(c.lt(0.0), long(0.3).sum(), long(0.7).square().sum());
    let first: Vector<T> = long(0.5) * &inner;
    cond(c.gt(-10.0), first.sum() + x.dot(x), long(0.9).norm() * c)
}
