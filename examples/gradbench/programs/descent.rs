//! Gradient descent whose step grows after ten rounds that went down, and shrinks after one that did not.

use polygrad::{BaseTensor, Tensor, tree, while_loop_within};

use super::{Scalar, Vector};

/// Gradients and steps that are no longer end the descent.
const SHORT: f64 = 1e-5;
/// The first step, as a multiple of the gradient.
const FIRST: f64 = 1e-5;
/// So many rounds that go down let the step grow.
const PATIENCE: f64 = 10.0;

/// Where a descent is.
type State<T> = (Vector<T>, (Scalar<T>, Vector<T>), Scalar<T>, Scalar<T>);

fn length<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    x.square().sum().sqrt()
}

/// Where a function with these values and gradients is least, from `start`, in at most so many rounds.
pub fn argmin<T: BaseTensor>(
    rounds: usize,
    start: &Vector<T>,
    both: impl Fn(&Vector<T>) -> (Scalar<T>, Vector<T>),
) -> Vector<T> {
    let first = (start.clone(), both(start), Tensor::scalar(FIRST), Tensor::scalar(0.0));
    let goes = |(x, (_, slope), step, count): &State<T>| {
        let far = length(&(x - (x - slope.times(step)))).gt(SHORT);
        length(slope).gt(SHORT) & (count.eq(PATIENCE) | far)
    };
    let (x, ..) = while_loop_within(rounds, first, goes, |(x, here, step, count): State<T>| {
        let next = &x - here.1.times(&step);
        let there = both(&next);
        // A round in which the step grows does nothing else.
        let grows = count.eq(PATIENCE);
        let falls = there.0.lt(&here.0) & !&grows;
        let scale = grows.select(2.0, falls.select(1.0, Tensor::scalar(0.5)));
        let (x, point) = tree::cond(&falls, &(next, there), &(x, here));
        (x, point, step * scale, falls.select(count + 1.0, Tensor::scalar(0.0)))
    });
    x
}
