//! Functions of a few numbers, folds over them, deep sharing.

use polygrad::{Array, BaseTensor, Tensor, fold, iterate, map_accum, map_accum_reverse, scan};

use super::{positive, real};

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

objectives! {
    rank_zero(x = Array::from(0.7), y = Array::from(1.3), z = Array::from(-0.4));
    rosenbrock(x = real([5], 1));
    himmelblau(x = Array::from(0.5), y = Array::from(-1.5));
    every_unary_function(x = positive([3], 2));
    special_functions(x = positive([3], 12), y = real([3], 13));
    powers(x = positive([4], 3), y = real([4], 4));
    horner(coefficients = real([6], 5), x = Array::from(0.8));
    product_of(x = positive([7], 6));
    cumulative(x = real([6], 7));
    running_both_ways(x = real([5], 8), decay = Array::from(0.6));
    nested_folds(rows = real([3, 4], 9), x = Array::from(0.9), y = Array::from(-0.3));
    deep_sharing(x = Array::from(0.6), y = Array::from(0.05));
    shared_everywhere(x = real([3], 10));
    logistic_map(x = Array::from(0.3), r = Array::from(2.9));
    two_carries(x = Array::from(0.4));
    captured_and_carried(x = real([3], 11));
}

/// Nothing but numbers.
fn rank_zero<T: BaseTensor>(x: &Scalar<T>, y: &Scalar<T>, z: &Scalar<T>) -> Scalar<T> {
    let angle = y.atan2(x) + x / y * z.exp();
    angle.sin() * x.pow(y) - z * z / (x * x + y * y).sqrt() + 2.0 / (3.0 - x)
}

fn rosenbrock<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let n = x.len();
    let (this, next) = (x.slice(0, ..n - 1), x.slice(0, 1..));
    (100.0 * (next - this.square()).square() + (1.0 - this).square()).sum()
}

fn himmelblau<T: BaseTensor>(x: &Scalar<T>, y: &Scalar<T>) -> Scalar<T> {
    (x.square() + y - 11.0).square() + (x + y.square() - 7.0).square()
}

/// Each function of one argument, away from its kinks and singularities.
fn every_unary_function<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let small = x * 0.3;
    let smooth = x.sin() * x.cos() + x.tanh() * x.sigmoid() + x.atan() * x.exp() + x.sinh() / x.cosh();
    let partial = small.tan() + small.asin() * small.acos() + x.ln() * x.log1p() + x.sqrt() * x.recip();
    let kinked = x.abs() * x.square() - (-x).relu() + x.relu() * small + x.neg();
    (smooth + partial + kinked).sum()
}

fn special_functions<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    let one = x.expm1() * x.asinh() + (x + 1.0).acosh() + (x * 0.3).atanh() + x.softplus() * x.erf() - y.erfc();
    (one + x.hypot(y) * x.copysign(y)).sum()
}

fn powers<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    let powers = x.pow(y) + x.powf(1.5) * y.powi(3) + x.powi(-2) + y.powi(2) * y.powi(0) + y.pow(3.0);
    (powers + y.atan2(x) * x.atan2(y)).sum()
}

/// A polynomial; the fold uses `x` from outside.
fn horner<T: BaseTensor>(coefficients: &Vector<T>, x: &Scalar<T>) -> Scalar<T> {
    fold(Tensor::scalar(0.0), coefficients, |sum, a| sum * x + a)
}

fn product_of<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    fold(Tensor::scalar(1.0), x, |product, x| product * x)
}

fn cumulative<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let sums: Vector<T> = scan(Tensor::scalar(0.5), x, |sum, x| sum + x.sin());
    (sums.square() * &sums).sum()
}

/// Two recurrences over the same numbers, in opposite directions.
fn running_both_ways<T: BaseTensor>(x: &Vector<T>, decay: &Scalar<T>) -> Scalar<T> {
    let zero = || Tensor::scalar(0.0);
    let (last, up): (_, Vector<T>) = map_accum(zero(), x, |c, x| {
        let c = c * decay + x;
        (c.clone(), c.square())
    });
    let (first, down): (_, Vector<T>) = map_accum_reverse(zero(), x, |c, x| {
        let next = &c * decay + x * &c + 1.0;
        (next, c * x)
    });
    up.dot(&down) + last * first
}

/// Each trip of the outer fold runs an inner one, which uses its carry and values from outside of both.
fn nested_folds<T: BaseTensor>(rows: &Tensor<T, 2>, x: &Scalar<T>, y: &Scalar<T>) -> Scalar<T> {
    fold(y.clone(), rows, |outer, row| {
        let gain = outer.cos() * x;
        fold(outer, row, |inner, r| inner * &gain + r * y) + row.at([1]) * x
    })
}

/// As a tree this has three to the power of 25 leaves.
fn deep_sharing<T: BaseTensor>(x: &Scalar<T>, y: &Scalar<T>) -> Scalar<T> {
    let mut z = x.clone();
    for _ in 0..25 {
        z = (&z * &z + &z) * 0.5 + y;
    }
    z
}

/// One intermediate value with many uses, of several kinds.
fn shared_everywhere<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let s = (x * x).sin();
    let t = &s * &s + s.reverse(0) * &s - &s * s.sum();
    (&t * &s).sum() + s.dot(&t) * t.at([1]) + s.max_all()
}

fn logistic_map<T: BaseTensor>(x: &Scalar<T>, r: &Scalar<T>) -> Scalar<T> {
    iterate(12, x.clone(), |_, x| r * &x * (1.0 - &x))
}

/// A carry with structure, of which one part has no derivative at all.
fn two_carries<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    let start = (x.clone(), (Tensor::scalar(1.0), Tensor::<T, 0, i64>::scalar(0)));
    let (a, (b, n)) = iterate(6, start, |i, (a, (b, n))| (&a + &b * 0.3, (a * x, n + i)));
    a * b + n.to_float()
}

/// The initial carry is also captured, and the result is used with both.
fn captured_and_carried<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let y = iterate(4, x.clone(), |i, y| (&y * x).sin() + x * 0.5 * i.to_float());
    (y * x).sum()
}
