//! Least squares: the coefficients of a polynomial that is to be the sign of its argument.

use polygrad::{BaseTensor, Tensor, Tree, fold};

use super::{Scalar, Vector};

/// How many positions there are, from -1 to 1.
#[derive(Tree, Clone, Debug)]
pub struct Grid {
    /// The number of positions.
    pub count: usize,
}

/// `1/2 sum_i (sign t_i - sum_j x_j t_i^j)^2`
pub fn cost<T: BaseTensor>(x: &Vector<T>, grid: &Grid) -> Scalar<T> {
    let t: Vector<T> = Tensor::linspace(-1.0, 1.0, grid.count);
    let (_, rest) = fold((Tensor::ones([grid.count]), t.sign()), x, |(power, rest): (Vector<T>, Vector<T>), x| {
        (&power * &t, rest - power.times(x))
    });
    0.5 * rest.square().sum()
}
