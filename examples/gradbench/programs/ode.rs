//! A chain of reactions, `y_0' = x_0` and `y_i' = x_i y_(i-1)`, by the classical method of Runge and Kutta.

use polygrad::{BaseTensor, Tensor, Tree, concat, iterate};

use super::{Scalar, Vector};

/// How many steps there are, from time 0 to 2.
#[derive(Tree, Clone, Debug)]
pub struct Steps {
    /// The number of steps.
    pub count: usize,
}

/// The state at time 2, from zeros at time 0.
pub fn end<T: BaseTensor>(x: &Vector<T>, steps: &Steps) -> Vector<T> {
    let (n, h) = (x.len(), 2.0 / steps.count as f64);
    let one = Tensor::ones([1]);
    let rate = |y: &Vector<T>| x * concat(0, (&one, y.slice(0, ..n - 1)));
    iterate(steps.count, Tensor::zeros([n]), |_, y: Vector<T>| {
        let k1 = rate(&y);
        let k2 = rate(&(&y + &k1 * (h / 2.0)));
        let k3 = rate(&(&y + &k2 * (h / 2.0)));
        let k4 = rate(&(&y + &k3 * h));
        y + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0)
    })
}

/// The last element of the state.
pub fn last<T: BaseTensor>(x: &Vector<T>, steps: &Steps) -> Scalar<T> {
    end(x, steps).at([x.len() - 1])
}
