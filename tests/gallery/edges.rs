//! Guards, kinks, choices, other element types.
//!
//! Where an objective is not smooth, its derivative is a convention, which all interpreters share.

use polygrad::{Array, BaseTensor, Tensor, cond, fold};

use super::{positive, real};

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

objectives! {
    guarded_root(x = Array::from([0.0, 4.0, -1.0, 2.25])) { const SMOOTH: bool = false; };
    guarded_quotient(x = Array::from([1.0, 2.0, 0.0]), y = Array::from([0.0, 3.0, 0.0])) { const SMOOTH: bool = false; };
    guarded_logarithm(x = Array::from([0.0, -2.0, 1.5, 0.5])) { const SMOOTH: bool = false; };
    guarded_angle(x = Array::from([0.0, 1.0]), y = Array::from([0.0, 2.0])) { const SMOOTH: bool = false; };
    guarded_in_a_loop(x = Array::from([0.0, 4.0, 0.0, 2.25])) { const SMOOTH: bool = false; };
    guarded_functions(x = Array::from([0.0, 1.0, -1.0, 800.0, 0.5]), y = Array::from([0.0, -1.0, 0.0, -2.0, 1.5])) {
        const SMOOTH: bool = false;
    };
    entropy_with_zeros(p = Array::from([0.5, 0.0, 0.2, 0.3])) { const SMOOTH: bool = false; };
    entropy_of_the_rest(p = Array::from([0.5, 0.0, 0.2, 0.3])) { const SMOOTH: bool = false; };
    norm_with_zeros(x = Array::from([0.0, 0.0]), y = Array::from([0.6, -0.8])) { const SMOOTH: bool = false; };
    powers_at_exponent_zero(x = positive([3], 12), y = Array::from([0.0, 0.0, 1.0]));
    powers_of_zero(x = Array::from([0.0, 1.5, 0.0]));
    at_the_kinks(x = Array::from([0.0, 1.0, -1.0, 2.0])) { const SMOOTH: bool = false; };
    ties(x = Array::from([2.0, 1.0, 2.0]), y = Array::from([2.0, 3.0, 0.0])) { const SMOOTH: bool = false; };
    extrema(x = real([5], 1), y = real([5], 2));
    steps(x = Array::from([0.3, -1.7, 2.6]));
    scalar_choice(x = Array::from(0.6), y = real([3], 3));
    nested_choices(x = Array::from([-1.5, -0.5, 0.5, 1.5]));
    choice_in_a_loop(x = real([6], 4), w = Array::from(0.7));
    masked_sum(x = real([2, 3], 5); m = Array::from([[true, false, true], [false, true, true]]));
    stopped(x = real([3], 6), y = real([3], 7)) { const SMOOTH: bool = false; };
    stopped_in_a_loop(x = real([4], 8), w = Array::from(0.8)) { const SMOOTH: bool = false; };
    single_precision(x = positive([4], 9).cast::<f32>(), w = real([4], 10)) {
        const SMOOTH: bool = false;
        const TOLERANCE: f64 = 1e-5;
    };
    single_precision_loop(x = real([4], 11).cast::<f32>(), w = Array::from(0.5f32)) {
        const SMOOTH: bool = false;
        const TOLERANCE: f64 = 1e-5;
    };
    huge(x = Array::from([1e200, -3e200]), y = Array::from([1000.0, 1001.0, -900.0])) { const SMOOTH: bool = false; };
}

fn guarded_root<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let roots = x.gt(0.0).select(x.sqrt(), 0.0);
    (&roots * x).sum() + roots.sum()
}

fn guarded_quotient<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    y.ne(0.0).select(x / y, x * 2.0).square().sum()
}

fn guarded_logarithm<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let positive = x.gt(0.0);
    (positive.select(x.ln(), x) + positive.select(x.powf(0.5), 0.0) + x.gt(-1.0).select(x.log1p(), 0.0)).sum()
}

fn guarded_angle<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    let away = (x.square() + y.square()).gt(0.0);
    away.select(y.atan2(x), 0.0).sum() + away.select((x * x + y * y).sqrt().recip(), 0.0).sum()
}

/// Each function where it or its derivative is infinite or undefined, and in one place where all is well.
fn guarded_functions<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    let well = x.eq(0.5);
    let roots = x.sqrt() + x.ln() + x.log1p() + x.recip() + x.asin() - x.acos() + (x + 1.0).acosh() - x.atanh();
    let growing = x.exp() + x.sinh() - x.cosh() + x.tan();
    let both = x / y + x.pow(y) + y.pow(x) + x.atan2(y) + x.hypot(y) + y.ln().mul_no_nan(x);
    let chain = (x.recip().sqrt().ln() / x.sqrt()).exp();
    [roots, growing, both, chain].map(|z| well.select(z, x).sum()).into_iter().fold(y.sum(), |sum, z| sum + z)
}

fn guarded_in_a_loop<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    fold(Tensor::scalar(1.0), x, |c, x| {
        let root = x.gt(0.0).select(x.sqrt(), 0.0);
        c + cond(root.gt(1.0), root.recip(), &root)
    })
}

/// `p ln p` with 0 at 0: the product, too, has to let nothing through there.
fn entropy_with_zeros<T: BaseTensor>(p: &Vector<T>) -> Scalar<T> {
    -p.gt(0.0).select(p.ln().mul_no_nan(p), 0.0).sum()
}

/// The same with another operand where there is none: guarded whatever is computed from it.
fn entropy_of_the_rest<T: BaseTensor>(p: &Vector<T>) -> Scalar<T> {
    let rest = p.gt(0.0);
    let safe = rest.select(p, 1.0);
    -rest.select(safe.ln() * &safe, 0.0).sum()
}

fn norm_with_zeros<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    x.norm() + y.norm() + y.norm() * x.square().sum()
}

/// The first partials have special cases there, of which the second ones must know nothing.
fn powers_at_exponent_zero<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    (x.pow(y) * x.sin()).sum()
}

/// Whole powers are smooth at zero.
fn powers_of_zero<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    (x.pow(2.0) + x.powi(3) * 2.0 + x.powi(1) - x.pow(1.0) * 3.0).sum()
}

fn at_the_kinks<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    (x.abs() * 3.0 + x.relu() * x + x.clamp(-1.0, 1.0) * 2.0 + x.sign() * x + x.max(2.0)).sum()
}

/// The derivative goes to the first of equals.
fn ties<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    (x.max(y).square() + x.min(y) * y).sum() + x.max_all().square() + y.min_all() * x.min_all()
}

fn extrema<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    let clamped = (x * 2.0).clamp(-0.9, y.square() + 0.1);
    (x.min(y) * x.max(&(y * 0.7)) + clamped.square() + (x - y).abs() * x).sum()
}

/// Away from their steps these are constants.
fn steps<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let sum = x.floor() + 2.0 * x.ceil() - x.round() + x.sign();
    (sum * x).sum() + (x - x.round()).square().sum()
}

fn scalar_choice<T: BaseTensor>(x: &Scalar<T>, y: &Vector<T>) -> Scalar<T> {
    let chosen = cond(x.gt(0.5), y * x, y.square() / 0.0);
    let other = cond(chosen.sum().gt(100.0), chosen.sqrt(), chosen.sin());
    other.sum() + cond(x.lt(0.0), x.sqrt(), &(x * x))
}

fn nested_choices<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let right = x.gt(1.0).select(x.square(), x.exp());
    let left = (x.lt(-1.0) | x.ge(7.0)).select(x.sin(), x * 3.0);
    let both = x.gt(0.0).select(&right, &left);
    (&both * x).sum() + (x.gt(0.0) & x.le(1.0)).select(both, right).square().sum()
}

fn choice_in_a_loop<T: BaseTensor>(x: &Vector<T>, w: &Scalar<T>) -> Scalar<T> {
    fold(w.clone(), x, |c, x| {
        let up = &c * x + w;
        cond(x.gt(0.0), up.sin(), &(c - x.square()))
    })
}

fn masked_sum<T: BaseTensor>(x: &Tensor<T, 2>, m: &Tensor<T, 2, bool>) -> Scalar<T> {
    let kept = m.select(x, 0.0);
    let count = Tensor::constant(4.0);
    (kept.sum() / count).exp() + (!m).select(x.square(), kept).sum()
}

/// What is stopped is a constant for every derivative.
fn stopped<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    (x.stop_gradient() * x * y + (x * y).stop_gradient() * y.square() + x.square()).sum()
}

fn stopped_in_a_loop<T: BaseTensor>(x: &Vector<T>, w: &Scalar<T>) -> Scalar<T> {
    fold(w.clone(), x, |c, x| c.stop_gradient() * x * w + (&c * x).sin())
}

fn single_precision<T: BaseTensor>(x: &Tensor<T, 1, f32>, w: &Vector<T>) -> Scalar<T> {
    let narrow = x.sqrt() * w.cast::<f32>() + 0.5;
    (narrow.cast::<f64>() * w).sum() + x.dot(&narrow.tanh()).cast()
}

fn single_precision_loop<T: BaseTensor>(x: &Tensor<T, 1, f32>, w: &Tensor<T, 0, f32>) -> Scalar<T> {
    fold(w.clone(), x, |c, x| (c * w).sin() + x).cast::<f64>().square()
}

/// Sums of squares and of exponentials that would overflow.
fn huge<T: BaseTensor>(x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    x.norm() * 1e-200 + y.logsumexp() + y.softmax(0).dot(y) * 1e-3
}
