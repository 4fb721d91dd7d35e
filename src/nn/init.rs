//! How weights are drawn at the start.
//!
//! Law: a seed gives the same weights everywhere, since draws are those of `Rng` in row-major order; orthogonal ones up to
//! the rounding of a factorisation.

use crate::array::{Array, Rng};
use crate::dtype::Float;
use crate::tensor::{Above, Rank, Tensor};

/// A distribution of initial weights.
///
/// With `i` inputs that each output depends on, and `o` outputs that depend on each input:
///
/// ```
/// use polygrad::array::Rng;
/// use polygrad::nn::Init;
/// use polygrad::Tensor;
/// let weights: Tensor<_, 2> = Init::HeNormal.draw([200, 100], [200, 100], &mut Rng::new(1));
/// assert!((weights.std().item() - 0.1).abs() < 0.002);
/// let q: Tensor<_, 2> = Init::Orthogonal.draw([3, 2], [3, 2], &mut Rng::new(1));
/// assert!((q.t().matmul(&q) - Tensor::eye(2)).abs().max_all().item() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Init {
    /// Uniform within `sqrt(6 / (i + o))` of 0: activations and gradients keep their variance where the nonlinearity is
    /// like `tanh`. (Glorot and Bengio, *Understanding the difficulty of training deep feedforward neural networks*,
    /// AISTATS 2010, equation 16.)
    GlorotUniform,
    /// Normal with variance `2 / (i + o)`: equation 12 of the same paper.
    GlorotNormal,
    /// Uniform within `sqrt(6 / i)` of 0, with the variance of [`HeNormal`](Init::HeNormal).
    HeUniform,
    /// Normal with variance `2 / i`: activations keep their size through rectifiers. (He, Zhang, Ren and Sun, *Delving
    /// deep into rectifiers*, ICCV 2015, equation 10.)
    HeNormal,
    /// Normal with variance `1 / i`. (LeCun, Bottou, Orr and Müller, *Efficient BackProp*, 1998, equation 16.)
    LecunNormal,
    /// Orthonormal rows or columns, whichever are fewer, of the matrix whose rows lie along the first axis and whose
    /// columns along all others; uniform among these. (Saxe, McClelland and Ganguli, *Exact solutions to the nonlinear
    /// dynamics of learning in deep linear neural networks*, ICLR 2014; by the factor `q` of a normal matrix: Mezzadri,
    /// *How to generate random matrices from the classical compact groups*, Notices of the AMS 54, 2007.)
    Orthogonal,
    /// Normal with this standard deviation.
    Normal(f64),
    /// Uniform within this distance of 0.
    Uniform(f64),
}

impl Init {
    /// Weights of this shape, for `fans` inputs of each output and outputs of each input.
    ///
    /// Example: [`Init`].
    ///
    /// # Panics
    /// When the standard deviation or distance is negative or not finite, or an array of this shape is too large.
    #[track_caller]
    pub fn draw<const D: usize, const M: usize, E: Float>(
        self,
        shape: [usize; D],
        fans: [usize; 2],
        rng: &mut Rng,
    ) -> Tensor<Array, D, E>
    where
        Rank<D>: Above<M>,
    {
        // Without inputs, there is nothing to draw or to divide by.
        let [i, o] = fans.map(|n| n.max(1) as f64);
        let within = |limit: f64, rng: &mut Rng| rng.uniform_as::<E, _>(shape, -limit, limit);
        let normal = |sd: f64, rng: &mut Rng| rng.normal_as::<E, _>(shape, 0.0, sd);
        match self {
            Init::GlorotUniform => within((6.0 / (i + o)).sqrt(), rng),
            Init::GlorotNormal => normal((2.0 / (i + o)).sqrt(), rng),
            Init::HeUniform => within((6.0 / i).sqrt(), rng),
            Init::HeNormal => normal((2.0 / i).sqrt(), rng),
            Init::LecunNormal => normal((1.0 / i).sqrt(), rng),
            Init::Orthogonal => orthogonal(shape, rng),
            Init::Normal(sd) => normal(size(sd), rng),
            Init::Uniform(limit) => within(size(limit), rng),
        }
    }
}

#[track_caller]
fn size(size: f64) -> f64 {
    assert!(
        size >= 0.0 && size.is_finite(),
        "init: a size of weights must be finite and not negative, but it is {size}; 0.02 is usual"
    );
    size
}

#[track_caller]
fn orthogonal<const D: usize, E: Float>(shape: [usize; D], rng: &mut Rng) -> Tensor<Array, D, E> {
    let rows = shape[0];
    let columns = shape[1..].iter().product::<usize>();
    // The factor `r` has a diagonal that is not negative, so that `q` is uniform.
    let (q, _) = rng.normal_as::<E, _>([rows.max(columns), rows.min(columns)], 0.0, 1.0).qr();
    if rows < columns { q.t().reshape(shape) } else { q.reshape(shape) }
}
