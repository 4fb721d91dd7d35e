//! The log posterior of a mixture of Gaussians with a prior of Wishart.

use std::f64::consts::PI;

use polygrad::{BaseTensor, Concrete, Tensor, Tree, concat, einsum};

use super::{Matrix, Scalar, Vector};

/// A mixture of Gaussians.
#[derive(Tree, Clone, Debug)]
pub struct Mixture<T: BaseTensor> {
    /// The logarithms of the weights, up to a constant.
    pub alpha: Vector<T>,
    /// The means.
    pub mu: Matrix<T>,
    /// The logarithms of the diagonals of the roots of the inverse covariances, lower triangular matrices.
    pub q: Matrix<T>,
    /// What is below these diagonals, column by column.
    pub l: Matrix<T>,
}

/// Samples and prior.
#[derive(Tree, Clone, Debug)]
pub struct Samples<T: BaseTensor> {
    /// A sample in each row.
    pub x: Matrix<T>,
    /// The strength of the prior.
    pub gamma: Scalar<T>,
    /// The number of degrees of freedom of the prior, less the dimension and 1.
    pub m: usize,
}

/// For each place of a lower triangular matrix, where its element stands in a row of `q` and `l`; -1 for the zeros.
pub fn triangle(d: usize) -> Vec<i64> {
    let mut places = vec![-1; d * d];
    let mut next = d as i64;
    for i in 0..d {
        places[i * d + i] = i as i64;
        for j in i + 1..d {
            places[j * d + i] = next;
            next += 1;
        }
    }
    places
}

/// The logarithm of the gamma function of `d` dimensions.
fn log_gamma(a: f64, d: usize) -> f64 {
    let halves: Tensor<Concrete, 1> = Tensor::linspace(a, a + 0.5 * (1.0 - d as f64), d);
    0.25 * (d * d.saturating_sub(1)) as f64 * PI.ln() + halves.lgamma().sum().item()
}

/// The log posterior.
pub fn posterior<T: BaseTensor>(p: &Mixture<T>, Samples { x, gamma, m }: &Samples<T>) -> Scalar<T> {
    let ([n, d], k, m) = (x.shape(), p.alpha.len(), *m as f64);
    let freedom = d as f64 + m + 1.0;
    let (diagonal, volumes): (Matrix<T>, Vector<T>) = (p.q.exp(), p.q.sum_axis(1));
    // Places that are out of bounds read 0.
    let places = Tensor::constant(triangle(d));
    let roots: Tensor<T, 3> = concat(1, (&diagonal, &p.l)).t().take(&places).reshape([d, d, k]);
    let apart = x.insert_axis::<3>(0) - p.mu.insert_axis::<3>(1);
    let scaled: Tensor<T, 3> = einsum!("knj,ijk->kni", apart, roots);
    let beta = (&p.alpha + &volumes).insert_axis::<2>(1) - 0.5 * scaled.square().sum_axis::<2>(2);
    let likelihood = beta.logsumexp_axis::<1>(0).sum() - n as f64 * p.alpha.logsumexp();
    let squares = diagonal.square().sum() + p.l.square().sum();
    let wishart = m * volumes.sum() - 0.5 * gamma.square() * squares;
    let norm = (freedom * d as f64) * (gamma / 2f64.sqrt()).ln() - log_gamma(0.5 * freedom, d);
    likelihood + wishart + k as f64 * norm - 0.5 * (n * d) as f64 * (2.0 * PI).ln()
}
