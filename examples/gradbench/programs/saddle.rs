//! A minimum of maxima, each found by a descent of its own, through which the outer descent differentiates.

use polygrad::{BaseTensor, Mode, concat, jacobian_by_with};

use super::descent::argmin;
use super::{Scalar, Vector};

/// Every descent ends after at most so many rounds.
const ROUNDS: usize = 500;

/// `|x|^2 - |y|^2`, less `0`: least in `x` and largest in `y`
fn height<T: BaseTensor>(y: &Vector<T>, x: &Vector<T>) -> Scalar<T> {
    x.square().sum() - y.square().sum()
}

fn depth<T: BaseTensor>(y: &Vector<T>, x: &Vector<T>) -> Scalar<T> {
    -height(y, x)
}

/// Where `height` is largest over `x`.
fn top<T: BaseTensor>(mode: Mode, rounds: usize, x: &Vector<T>, start: &Vector<T>) -> Vector<T> {
    argmin(rounds, start, |y| (depth(y, x), jacobian_by_with(mode, depth, y, x)))
}

/// The largest height over `x` that is found in so many rounds.
pub fn highest<T: BaseTensor>(inner: Mode, rounds: usize, x: &Vector<T>, start: &Vector<T>) -> Scalar<T> {
    height(&top(inner, rounds, x, start), x)
}

/// The saddle, `x` and `y`, by gradients in mode `outer`.
pub fn saddle<T: BaseTensor>(outer: Mode, inner: Mode, start: &Vector<T>) -> Vector<T> {
    let x = argmin(ROUNDS, start, |x| {
        (
            highest(inner, ROUNDS, x, start),
            jacobian_by_with(outer, |x, start| highest(inner, ROUNDS, x, start), x, start),
        )
    });
    let y = top(outer, ROUNDS, &x, start);
    concat(0, (x, y))
}
