//! Windows of an image read by two gathers or by one, in several orders of axes, and the scatters that are their adjoints.

use polygrad::{BaseTensor, Tensor};

/// `first[i] + second[j]`, for `i` and `j` from 0.
fn sums<T: BaseTensor>(rows: usize, columns: usize) -> Tensor<T, 2, i64> {
    let (i, j) = (Tensor::<T, 1, i64>::iota(rows), Tensor::<T, 1, i64>::iota(columns));
    i.insert_axis::<2>(1) + j.insert_axis::<2>(0)
}

/// Along the first axis, windows of 3 of 50 elements: `[48, 3, ..]`.
fn windows<T: BaseTensor>(x: &Tensor<T, 4>) -> Tensor<T, 5> {
    x.gather([&sums(48, 3)])
}

/// Two gathers with a permutation between them, the places of windows before those in a window.
pub(crate) fn two_gathers<T: BaseTensor>(x: &Tensor<T, 4>) -> Tensor<T, 6> {
    windows(x).permute([4, 2, 0, 3, 1]).gather([&sums(48, 3)])
}

/// The places in a window before those of windows.
pub(crate) fn two_gathers_turned<T: BaseTensor>(x: &Tensor<T, 4>) -> Tensor<T, 6> {
    let inner: Tensor<T, 5> = x.gather([&sums(3, 48)]);
    inner.permute([4, 2, 0, 3, 1]).gather([&sums(3, 48)])
}

/// As [`two_gathers`], each gather with its indices turned, and its result turned back.
pub(crate) fn two_gathers_with_indices_turned<T: BaseTensor>(x: &Tensor<T, 4>) -> Tensor<T, 6> {
    let inner: Tensor<T, 5> = x.gather([&sums(3, 48)]);
    let outer: Tensor<T, 6> = inner.permute([1, 0, 2, 3, 4]).permute([4, 2, 0, 3, 1]).gather([&sums(3, 48)]);
    outer.permute([1, 0, 2, 3, 4, 5])
}

/// As [`two_gathers`], the long axis of what the second one copies innermost.
pub(crate) fn two_gathers_with_rows_sorted<T: BaseTensor>(x: &Tensor<T, 4>) -> Tensor<T, 6> {
    let rows: Tensor<T, 5> = windows(x).permute([4, 2, 0, 3, 1]).permute([0, 1, 3, 4, 2]);
    let outer: Tensor<T, 6> = rows.gather([&sums(48, 3)]);
    outer.permute([0, 1, 2, 5, 3, 4])
}

/// One gather of both axes of `[50, 50, 3, 3]`, with its four indices in some order; the result is `[48, 3, 48, 3, 3, 3]`.
pub(crate) fn one_gather<T: BaseTensor>(order: [usize; 4], x: &Tensor<T, 4>) -> Tensor<T, 6> {
    let whole: Tensor<T, 2, i64> = sums(48, 3);
    let rows: Tensor<T, 4, i64> = whole.insert_axis::<3>(2).insert_axis::<4>(3).broadcast_to([48, 3, 48, 3]);
    let columns: Tensor<T, 4, i64> = whole.insert_axis::<3>(0).insert_axis::<4>(0).broadcast_to([48, 3, 48, 3]);
    let read: Tensor<T, 6> = x.gather([&rows.permute(order), &columns.permute(order)]);
    let mut back = [0, 1, 2, 3, 4, 5];
    for (k, axis) in order.into_iter().enumerate() {
        back[axis] = k;
    }
    read.permute(back)
}

/// The adjoint of [`two_gathers`].
pub(crate) fn two_scatters<T: BaseTensor>(y: &Tensor<T, 6>) -> Tensor<T, 4> {
    let inner: Tensor<T, 5> = Tensor::zeros([50, 3, 48, 3, 3]).scatter_add([&sums(48, 3)], y);
    Tensor::zeros([50, 3, 3, 50]).scatter_add([&sums(48, 3)], &inner.permute([2, 4, 1, 3, 0]))
}

/// The adjoint of [`one_gather`] with its indices in order.
pub(crate) fn one_scatter<T: BaseTensor>(y: &Tensor<T, 6>) -> Tensor<T, 4> {
    let whole: Tensor<T, 2, i64> = sums(48, 3);
    let rows: Tensor<T, 4, i64> = whole.insert_axis::<3>(2).insert_axis::<4>(3).broadcast_to([48, 3, 48, 3]);
    let columns: Tensor<T, 4, i64> = whole.insert_axis::<3>(0).insert_axis::<4>(0).broadcast_to([48, 3, 48, 3]);
    Tensor::zeros([50, 50, 3, 3]).scatter_add([&rows, &columns], y)
}
