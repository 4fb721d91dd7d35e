//! Changing volatility as a shared library for BridgeStan's clients: a loop in the density, and a transformed parameter.
//!
//! `cargo build --release -p polygrad-capi --example garch` makes the library. The data are `y`, the returns, and `sigma1`, the
//! first standard deviation. It is the model `garch11` of the collection posteriordb: the variance of a return is
//! `alpha0 + alpha1 (y before - mu)^2 + beta1 (variance before)`, with `alpha1 + beta1` below 1. What bounds `beta1` is a
//! parameter, so the parameter here is `share`, between 0 and 1, and `beta1 = share (1 - alpha1)` is transformed.

use polygrad::program::Term;
use polygrad::stats::{Constrained, normal};
use polygrad::{Array, BaseTensor, Tensor, Tree, map_accum, tensor};
use polygrad_capi::bridgestan::{Model, ModelData, Quantities};

/// The parameters.
#[derive(Tree, Constrained, Clone, Debug)]
struct Volatility<T: BaseTensor> {
    /// The mean of returns.
    mu: Tensor<T, 0>,
    /// The part of a variance that does not change.
    #[constrain(positive)]
    alpha0: Tensor<T, 0>,
    /// The weight of the last return.
    #[constrain(bounds(0.0, 1.0))]
    alpha1: Tensor<T, 0>,
    /// The share of the last variance in what the last return leaves.
    #[constrain(bounds(0.0, 1.0))]
    share: Tensor<T, 0>,
}

/// The data.
#[derive(Tree, Clone, Debug)]
struct Returns<T: BaseTensor> {
    /// The returns.
    y: Tensor<T, 1>,
    /// The standard deviation of the first one.
    sigma1: Tensor<T, 0>,
}

/// The weight of the last variance.
fn beta1<T: BaseTensor>(p: &Volatility<T>) -> Tensor<T, 0> {
    &p.share * (1.0 - &p.alpha1)
}

/// The variance of each return, and that of the next one.
fn variances<T: BaseTensor>(p: &Volatility<T>, data: &Returns<T>) -> (Tensor<T, 1>, Tensor<T, 0>) {
    let (shocks, beta1) = ((&data.y - &p.mu).square() * &p.alpha1 + &p.alpha0, beta1(p));
    let (next, variances) = map_accum(data.sigma1.square(), &shocks, |now: Tensor<T, 0>, shock: &Tensor<T, 0>| {
        let next = &now * &beta1 + shock;
        (next, now)
    });
    (variances, next)
}

/// The log density: flat in all parameters and in `beta1`, whose Jacobian in `share` is `1 - alpha1`.
fn log_density<T: BaseTensor>(p: &Volatility<T>, data: &Returns<T>) -> Tensor<T, 0> {
    let seen = normal(&data.y, &p.mu, variances(p, data).0.sqrt()).sum();
    seen + (1.0 - &p.alpha1).ln()
}

/// The model.
#[derive(Debug)]
struct Garch;

impl Model for Garch {
    const NAME: &'static str = "garch";
    type Data = Returns<Array>;
    type Parameters = Volatility<Array>;

    fn data(given: &ModelData) -> Result<Returns<Array>, String> {
        let data = Returns { y: given.tensor("y")?, sigma1: given.tensor("sigma1")? };
        match data.sigma1.item() {
            x if x > 0.0 => Ok(data),
            x => Err(format!("`sigma1` must be positive, but it is {x}; give a standard deviation")),
        }
    }

    fn parameters(_: &Returns<Array>) -> Volatility<Array> {
        Volatility { mu: tensor(0.0), alpha0: tensor(1.0), alpha1: tensor(0.5), share: tensor(0.5) }
    }

    fn log_density(p: &Volatility<Term>, data: &Returns<Term>) -> Tensor<Term, 0> {
        log_density(p, data)
    }

    fn transformed(p: &Volatility<Term>, _: &Returns<Term>) -> Quantities {
        Quantities::new().with("beta1", &beta1(p))
    }

    fn generated(p: &Volatility<Term>, data: &Returns<Term>, _: &polygrad::random::Key<Term>) -> Quantities {
        Quantities::new().with("next_sd", &variances(p, data).1.sqrt())
    }
}

polygrad_capi::bridgestan!(Garch);
