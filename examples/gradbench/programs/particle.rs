//! A particle between two charges, one of which is moved until the particle falls where it should.

use polygrad::{BaseTensor, Mode, Tensor, jacobian_by, jacobian_by_with, stack, while_loop_within};

use super::descent::argmin;
use super::{Scalar, Vector};

/// The particle falls after at most so many steps, if it does.
const STEPS: usize = 500;
/// The charge is found after at most so many rounds.
const ROUNDS: usize = 1000;
/// Where the particle starts.
const HEIGHT: f64 = 8.0;
/// The time of a step.
const TIME: f64 = 0.1;

/// `1/|x - (10, 10 - w)| + 1/|x - (10, 0)|`
fn potential<T: BaseTensor>(x: &Vector<T>, w: &Scalar<T>) -> Scalar<T> {
    let distance = |height: Scalar<T>| (x - stack((Tensor::scalar(10.0), height))).square().sum().sqrt();
    1.0 / distance(10.0 - w) + 1.0 / distance(Tensor::scalar(0.0))
}

/// The square of where the particle falls from a height after at most so many steps, moved by the gradient of the potential in
/// mode `inner`.
pub fn miss<T: BaseTensor>(inner: Mode, (steps, height): (usize, f64), w: &Scalar<T>) -> Scalar<T> {
    let force = |x: &Vector<T>| -jacobian_by_with(inner, potential, x, w);
    let (x, v) = (Tensor::constant([0.0, height]), Tensor::constant([0.75, 0.0]));
    let first = [&x + &v * TIME, v, force(&x)];
    let [x, v, _] = while_loop_within(
        steps,
        first,
        |[x, ..]: &[Vector<T>; 3]| x.at::<_, 1, 0>([1]).gt(0.0),
        |[x, v, a]: [Vector<T>; 3]| {
            let v = v + a * TIME;
            [&x + &v * TIME, v, force(&x)]
        },
    );
    let ([x, height], [speed, fall]) = (x.unstack(), v.unstack());
    // Where it is after the last step says nothing about where it falls.
    height.gt(0.0).select(f64::NAN, (x - &height / fall * speed).square())
}

/// Where the charge is best, by gradients in mode `outer`.
pub fn best<T: BaseTensor>(outer: Mode, inner: Mode, w: &Scalar<T>) -> Scalar<T> {
    let both = |w: &Vector<T>| {
        (miss(inner, (STEPS, HEIGHT), &w.at([0])), jacobian_by(outer, |w| miss(inner, (STEPS, HEIGHT), &w.at([0])), w))
    };
    argmin(ROUNDS, &w.reshape([1]), both).at([0])
}
