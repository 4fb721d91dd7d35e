//! Folds, folds in the steps of folds, and scans whose steps are folds.

use polygrad::{BaseTensor, Tensor, fold, scan};

use super::products::Number;

/// A function of a carry and a row.
pub(crate) type Step<'a, T> = &'a dyn Fn(&Number<T>, &Number<T>) -> Number<T>;

/// A fold from `a` over copies of `x`, whose step is such a fold again, down to a last step.
pub(crate) fn nested<T: BaseTensor>(copies: &[usize], last: Step<'_, T>, x: &Number<T>, a: &Number<T>) -> Number<T> {
    match copies.split_first() {
        None => last(x, a),
        Some((n, rest)) => fold(a.clone(), x.replicate::<1>(*n), |x, a| nested(rest, last, &x, a)),
    }
}

/// Nested folds of `c x a`.
pub(crate) fn products<T: BaseTensor>(copies: &[usize], c: f64, a: &Number<T>) -> Number<T> {
    nested(copies, &|x, a| c * x * a, a, a)
}

/// `n` steps of `sin x - a` from `a`.
pub(crate) fn sines<T: BaseTensor>(n: usize, a: &Number<T>) -> Number<T> {
    fold(a.clone(), a.replicate::<1>(n), |x: Number<T>, a: &Number<T>| x.sin() - a)
}

/// A fold of two steps, each a fold of three, whose rows are a scan from the row outside, each again a fold.
pub(crate) fn over_scans<T: BaseTensor>(c: f64, a: &Number<T>) -> Number<T> {
    let sums = |x: &Number<T>, a: &Number<T>| -> Tensor<T, 1> {
        scan(x.clone(), a.replicate::<1>(2), |x: Number<T>, a: &Number<T>| x + a)
    };
    let powers = |a: &Number<T>, x: &Number<T>| -> Number<T> {
        fold(a.clone(), x.replicate::<1>(2), |y: Number<T>, x: &Number<T>| y * x)
    };
    fold(a.clone(), a.replicate::<1>(2), |x: Number<T>, a: &Number<T>| {
        fold(powers(a, &x), x.replicate::<1>(3), |x: Number<T>, a: &Number<T>| {
            fold(a.clone(), sums(&x, a), |x: Number<T>, a: &Number<T>| c * x * a)
        })
    })
}
