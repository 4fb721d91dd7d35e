//! Gather, scatter, integer arithmetic.

use polygrad::{Array, BaseTensor, Tensor, build1, iterate};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;
type Integers<T> = Tensor<T, 1, i64>;

objectives! {
    histogram(weights = real([7], 1); bins = Array::from([0i64, 3, 3, 4, -1, 1, 0]));
    scatter_onto(base = real([4], 2), v = real([5], 3); ix = Array::from([2i64, 2, 0, 9, -3]));
    scatter_rows(base = real([3, 2], 4), v = real([2, 2, 2], 5); ix = Array::from([[2i64, 0], [2, 5]]));
    gather_pairs(x = real([3, 4], 6); i = Array::from([[0i64, 2], [1, 3]]), j = Array::from([[3i64, 3], [-1, 0]]));
    gather_rows(x = real([3, 2], 7); ix = Array::from([[0i64, 0, 2], [7, 1, 2]]));
    integer_arithmetic(x = real([5], 8); ix = Array::from([1i64, -2, 7, 0]), m = Array::from([2i64, 0, -3, 5]));
    indirect(x = real([4], 9); p = Array::from([3i64, 0, 2, 1]));
    index_of_a_value(x = Array::from([0.3, 1.4, 2.6]), y = real([4], 10));
    index_of_the_largest(x = real([5], 11), w = real([5], 12));
    loop_that_scatters(x = real([4], 13), w = real([3], 14));
    loop_that_reads_back(x = real([5], 15));
    one_hot_by_hand(x = real([3], 16); labels = Array::from([2i64, 0, 8, 2]));
    counts_are_constants(x = real([3], 17); m = Array::from([true, false, true]));
}

/// Bins out of range are dropped.
fn histogram<T: BaseTensor>(weights: &Vector<T>, bins: &Integers<T>) -> Scalar<T> {
    Tensor::zeros([4]).scatter_add([bins], weights).exp().sum()
}

fn scatter_onto<T: BaseTensor>(base: &Vector<T>, v: &Vector<T>, ix: &Integers<T>) -> Scalar<T> {
    let once = base.clone().scatter_add([ix], v);
    let twice = once.clone().scatter_add([ix], &v.square());
    once.dot(&twice)
}

fn scatter_rows<T: BaseTensor>(base: &Matrix<T>, v: &Tensor<T, 3>, ix: &Tensor<T, 2, i64>) -> Scalar<T> {
    base.clone().scatter_add([ix], v).sin().sum()
}

fn gather_pairs<T: BaseTensor>(x: &Matrix<T>, i: &Tensor<T, 2, i64>, j: &Tensor<T, 2, i64>) -> Scalar<T> {
    let y: Matrix<T> = x.gather([i, j]);
    (y.square() * &y).sum() + y.cos().sum()
}

fn gather_rows<T: BaseTensor>(x: &Matrix<T>, ix: &Tensor<T, 2, i64>) -> Scalar<T> {
    let rows: Tensor<T, 3> = x.gather([ix]);
    (rows.square() * rows.reverse(1)).sum()
}

/// Division by zero and negative operands included.
fn integer_arithmetic<T: BaseTensor>(x: &Vector<T>, ix: &Integers<T>, m: &Integers<T>) -> Scalar<T> {
    let computed = (ix.quot(m) * 2 + ix.rem(m)).abs().max(ix).min(9) - 1;
    let factor: Vector<T> = (ix * m - &computed).to_float();
    (x.take(&computed).square() * factor).sum() + x.take(&(ix % 5)).sin().sum()
}

/// Positions from a table, in a loop.
fn indirect<T: BaseTensor>(x: &Vector<T>, p: &Integers<T>) -> Scalar<T> {
    let y: Vector<T> = build1(4, |i| x.at([p.at([i])]) * x.at([i]) + x.at([p.at([p.at([i])])]));
    (y.square() * x).sum()
}

/// The position is a constant for the derivative, what is there is not.
fn index_of_a_value<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    let fraction = x - x.floor();
    let below: Integers<T> = x.to_int();
    let interpolated = y.take(&below) * (1.0 - &fraction) + y.take(&(below + 1)) * fraction;
    interpolated.square().sum()
}

fn index_of_the_largest<T: BaseTensor>(x: &Vector<T>, w: &Vector<T>) -> Scalar<T> {
    x.at([x.argmax()]) * w.at([x.argmin()]) + x.max_all() * w.min_all().square()
}

/// The carry is an array that is written to at the trip's position.
fn loop_that_scatters<T: BaseTensor>(x: &Vector<T>, w: &Vector<T>) -> Scalar<T> {
    let last = iterate(5, x.clone(), |i, y| {
        let next = i + 1;
        let added = (y.at([i]) * w.at([i])).tanh() + w.at([0]);
        y.scatter_add([&next], &added)
    });
    last.square().sum()
}

/// A recurrence two steps deep, read from the array that it fills.
fn loop_that_reads_back<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let filled = iterate(5, Tensor::zeros([5]), |i, y| {
        let value = x.at([i]) + y.at([i - 1]) * 0.5 - y.at([i - 2]) * x.at([i - 1]);
        y.scatter_add([i], &value)
    });
    filled.at([4]) * filled.at([3]) + filled.square().sum()
}

fn one_hot_by_hand<T: BaseTensor>(x: &Vector<T>, labels: &Integers<T>) -> Scalar<T> {
    let rows: Matrix<T> = labels.one_hot(3);
    (rows.matvec(x) - x.take(labels) * 2.0).sin().sum()
}

/// Masks and integers as numbers.
fn counts_are_constants<T: BaseTensor>(x: &Vector<T>, m: &Tensor<T, 1, bool>) -> Scalar<T> {
    let count: Scalar<T> = m.to_int().sum().to_float();
    (x * m.to_float()).square().sum() / count + (x.gt(0.0) & !m).select(x, x.square()).sum()
}
