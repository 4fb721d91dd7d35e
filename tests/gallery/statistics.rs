//! Variances, norms of lines, order statistics, masks.

use polygrad::tensor::Norm;
use polygrad::{Array, BaseTensor, Tensor, build1, cond, iterate, map};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    standardized(x = real([5], 1));
    standardized_columns(x = real([4, 3], 2); w = real([4, 3], 3));
    deviations_of_samples(x = real([3, 4], 4));
    deviation_of_equals(x = Array::full(&[3], 0.75), y = real([3], 5)) { const SMOOTH: bool = false; };
    norms_of_lines(x = real([3, 4], 6));
    norms_of_zeros(x = Array::from([[0.0, 0.0], [3.0, -4.0]])) { const SMOOTH: bool = false; };
    median_of_rows(x = real([3, 5], 7));
    median_of_an_even_number(x = real([6], 8));
    quantiles(x = real([4, 5], 9));
    quantiles_of_rows_in_a_map(x = real([3, 6], 10));
    normalised_in_a_loop(x = real([5], 11), w = real([5], 12));
    only_finite(x = Array::from([0.5, -1.5, 0.25]), y = Array::from([1.0, -1.0, 4.0]));
    where_any_and_all(x = real([3, 4], 13));
    sums_by_group(x = real([6], 15), m = real([6, 2], 16); ids = Array::from([2i64, 0, 2, 5, -1, 0]));
    extrema_by_group(x = real([6], 17), m = real([6, 2], 18); ids = Array::from([2i64, 0, 2, 5, -1, 0])) {
        const SMOOTH: bool = false;
    };
    groups_of_each_row(x = real([3, 4], 19); ids = Array::from([[0i64, 1, 0, 1], [1, 1, 1, 1], [0, 0, 7, 1]])) {
        const SMOOTH: bool = false;
    };
    running_soft_maxima(x = real([5], 20), m = real([2, 3], 21));
    moments_in_f32(x = real([6], 14).cast::<f32>()) {
        const SMOOTH: bool = false;
        const TOLERANCE: f64 = 1e-4;
    };
}

fn standardized<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let z = x.plus(&-x.mean()).times(&x.std().recip());
    z.sin().sum() + x.std_ddof(1) * x.var_ddof(1)
}

fn standardized_columns<T: BaseTensor>(x: &Matrix<T>, w: &Matrix<T>) -> Scalar<T> {
    let mean: Vector<T> = x.mean_axis(0);
    let std: Vector<T> = x.std_axis(0);
    ((x - mean.replicate(4)) / std.replicate(4) * w).sum()
}

fn deviations_of_samples<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let (rows, columns): (Vector<T>, Vector<T>) = (x.std_axis_ddof(1, 1), x.var_axis_ddof(0, 1));
    rows.square().sum() * x.std() + columns.sin().sum()
}

/// The convention for the kink: no derivative.
fn deviation_of_equals<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    x.std() * y.sum() + y.std() + x.dot(y)
}

fn norms_of_lines<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let by_row = [Norm::One, Norm::Two, Norm::Infinity].map(|order| x.norm_axis::<1>(1, order));
    let by_column: Vector<T> = x.norm_axis(0, Norm::Two);
    (&by_row[0] * &by_row[1] + by_row[2].square()).sum() + by_column.sin().sum()
}

fn norms_of_zeros<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    [Norm::One, Norm::Two, Norm::Infinity]
        .map(|order| x.norm_axis::<1>(1, order).sum())
        .iter()
        .fold(x.sum(), |s, n| s * n)
}

fn median_of_rows<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let middle: Vector<T> = x.median_axis(1);
    middle.exp().sum() + x.median() * x.sum()
}

fn median_of_an_even_number<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    // The absolute deviation from the median, whose median is a robust scale.
    x.plus(&-x.median()).abs().median().square() + x.times(&x.median()).sum()
}

fn quantiles<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let (low, high): (Vector<T>, Vector<T>) = (x.quantile_axis(0, 0.1), x.quantile_axis(0, 0.9));
    (high - low).square().sum() + x.quantile(1.0) * x.quantile(0.0) + x.quantile(0.37).sin()
}

fn quantiles_of_rows_in_a_map<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let trimmed: Vector<T> = map(x, |row| {
        let (low, high) = (row.quantile(0.2), row.quantile(0.8));
        row.clamp(low.replicate::<1>(6), high.replicate::<1>(6)).square().mean()
    });
    trimmed.square().sum()
}

fn normalised_in_a_loop<T: BaseTensor>(x: &Vector<T>, w: &Vector<T>) -> Scalar<T> {
    iterate(3, x.clone(), |_, x| x.plus(&-x.mean()).times(&(x.std() + 0.1).recip()) * w).dot(w)
}

fn only_finite<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    let roots = x.sqrt();
    let quotients = y / x.relu();
    (roots.is_nan().select(x * x, &roots) + quotients.is_finite().select(&quotients, y)).sum()
        + quotients.is_infinite().select(y, 0.0).square().sum()
}

fn where_any_and_all<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let positive = x.gt(0.0);
    let sums: Vector<T> = x.square().sum_axis(1);
    let some = positive.any_axis::<1>(1).select(&sums, 0.0);
    let rows: Vector<T> = build1(3, |i| cond(positive.at([i]).all(), sums.at([i]), x.at((i, 0))));
    (some * rows).sum()
        + positive.all_axis::<1>(0).select(x.max_axis(0), 1.0).sum()
        + cond(positive.any(), x.sum(), x.mean())
}

fn moments_in_f32<T: BaseTensor>(x: &Tensor<T, 1, f32>) -> Scalar<T> {
    let norm: Tensor<T, 0, f32> = x.norm_axis(0, Norm::Two);
    (x.std() * x.median() + norm.sin() + x.quantile(0.3)).cast()
}

fn sums_by_group<T: BaseTensor>(x: &Vector<T>, m: &Matrix<T>, ids: &Tensor<T, 1, i64>) -> Scalar<T> {
    let sums = x.segment_sum(ids, 4);
    // Each element by the size of its group.
    let counts = Tensor::<T, 1, i64>::ones([6]).segment_sum(ids, 4).to_float::<f64>().max(1.0);
    (sums / counts).take(ids).dot(x) + m.segment_sum(ids, 4).exp().sum()
}

fn extrema_by_group<T: BaseTensor>(x: &Vector<T>, m: &Matrix<T>, ids: &Tensor<T, 1, i64>) -> Scalar<T> {
    let (top, low) = (x.segment_max(ids, 4), m.segment_min(ids, 4));
    top.is_finite().select(top.square(), 0.0).sum() + low.is_finite().select(low.sin(), 1.0).sum() * x.sum()
}

fn groups_of_each_row<T: BaseTensor>(x: &Matrix<T>, ids: &Tensor<T, 2, i64>) -> Scalar<T> {
    let sums: Matrix<T> = map((x, ids), |(row, ids)| {
        let top = row.segment_max(ids, 2);
        row.segment_sum(ids, 2) * top.is_finite().select(&top, 0.5)
    });
    sums.square().sum()
}

fn running_soft_maxima<T: BaseTensor>(x: &Vector<T>, m: &Matrix<T>) -> Scalar<T> {
    x.cumlogsumexp(0).square().sum() + (m.cumlogsumexp(1) * m).sum()
}
