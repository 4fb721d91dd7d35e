//! Angles: numbers modulo a full turn.

use std::f64::consts::TAU;

use super::Manifold;
use crate::base::BaseTensor;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// Angles in radians, in an array of any shape: numbers that are the same after a full turn.
///
/// A tangent vector is an array of changes. [`local`](Manifold::local) gives the short way around, in `[-pi, pi]`.
///
/// ```
/// use polygrad::manifold::{self, Angle};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// /// The mean of directions of a wind, near north: where the sum of squared short ways is least.
/// fn spread<T: BaseTensor>(mean: &Angle<T>) -> Tensor<T, 0> {
///     use manifold::Manifold;
///     let wind = [6.2, 0.1, 0.3, 6.0].map(|x| Angle::new(&Tensor::scalar(x)));
///     wind.iter().fold(Tensor::scalar(0.0), |sum, w| sum + mean.local(w).square())
/// }
/// let mut mean = Angle::new(&tensor(1.0));
/// for _ in 0..50 {
///     use manifold::Manifold;
///     mean = mean.retract(&(manifold::grad(spread, &mean) * -0.1));
/// }
/// assert!((mean.radians().item() - (12.6 - 4.0 * std::f64::consts::PI) / 4.0).abs() < 1e-6);
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Angle<T: BaseTensor, const D: usize = 0>(Tensor<T, D>);

impl<T: BaseTensor, const D: usize> Angle<T, D> {
    /// Angles in radians.
    ///
    /// Example: [`Angle`].
    pub fn new(radians: &Tensor<T, D>) -> Self {
        Angle(radians.clone())
    }

    /// The angles in radians, as many turns as led to them included.
    ///
    /// Example: [`Angle`].
    pub fn radians(&self) -> &Tensor<T, D> {
        &self.0
    }
}

impl<T: BaseTensor, const D: usize> Manifold<T> for Angle<T, D> {
    type Tangent = Tensor<T, D>;

    fn zero(&self) -> Tensor<T, D> {
        Tensor::zeros(self.0.shape())
    }

    #[track_caller]
    fn retract(&self, v: &Tensor<T, D>) -> Self {
        Angle(&self.0 + v)
    }

    #[track_caller]
    fn local(&self, to: &Self) -> Tensor<T, D> {
        let way = &to.0 - &self.0;
        let turns = (&way / TAU).round();
        way - turns * TAU
    }
}
