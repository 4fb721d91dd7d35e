//! Eight schools as a shared library for BridgeStan's clients: parallel experiments whose effects have a common distribution.
//!
//! `cargo build --release -p polygrad-capi --example eight_schools` makes `target/release/examples/libeight_schools.so`, which
//! `bridgestan.StanModel(..)` of Python, nutpie and others load. The data are `y` and `sigma`; without data they are those of
//! Rubin (1981). *Bayesian Data Analysis*, section 5.5, non-centred.

use polygrad::program::Term;
use polygrad::stats::{Constrained, half_cauchy, normal};
use polygrad::{Array, BaseTensor, Tensor, Tree, tensor};
use polygrad_capi::bridgestan::{Model, ModelData, Quantities};

/// The parameters.
#[derive(Tree, Constrained, Clone, Debug)]
struct Schools<T: BaseTensor> {
    /// The mean of the effects.
    mu: Tensor<T, 0>,
    /// Their standard deviation.
    #[constrain(positive)]
    tau: Tensor<T, 0>,
    /// The effect of each school, in standard deviations from the mean.
    eta: Tensor<T, 1>,
}

/// The estimated effect of each school and its standard error.
#[derive(Tree, Clone, Debug)]
struct Estimates<T: BaseTensor> {
    /// The estimates.
    y: Tensor<T, 1>,
    /// Their standard errors.
    sigma: Tensor<T, 1>,
}

/// The log density.
fn log_density<T: BaseTensor>(p: &Schools<T>, data: &Estimates<T>) -> Tensor<T, 0> {
    let theta = &p.eta * &p.tau + &p.mu;
    let priors = normal(&p.mu, 0.0, 5.0) + half_cauchy(&p.tau, 5.0) + normal(&p.eta, 0.0, 1.0).sum();
    priors + normal(&data.y, &theta, &data.sigma).sum()
}

/// The model.
#[derive(Debug)]
struct EightSchools;

impl Model for EightSchools {
    const NAME: &'static str = "eight_schools";
    type Data = Estimates<Array>;
    type Parameters = Schools<Array>;

    fn data(given: &ModelData) -> Result<Estimates<Array>, String> {
        if !given.has("y") && !given.has("sigma") {
            let y = tensor([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
            return Ok(Estimates { y, sigma: tensor([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]) });
        }
        let data = Estimates { y: given.tensor("y")?, sigma: given.tensor("sigma")? };
        if data.y.shape() != data.sigma.shape() {
            let [y, sigma] = [&data.y, &data.sigma].map(|x| x.shape()[0]);
            return Err(format!(
                "`y` and `sigma` must have one length, but they have {y} and {sigma}; give both of each school"
            ));
        }
        Ok(data)
    }

    fn parameters(data: &Estimates<Array>) -> Schools<Array> {
        Schools { mu: tensor(0.0), tau: tensor(1.0), eta: Tensor::zeros(data.y.shape()) }
    }

    fn log_density(p: &Schools<Term>, data: &Estimates<Term>) -> Tensor<Term, 0> {
        log_density(p, data)
    }

    fn transformed(p: &Schools<Term>, _: &Estimates<Term>) -> Quantities {
        Quantities::new().with("theta", &(&p.eta * &p.tau + &p.mu))
    }
}

polygrad_capi::bridgestan!(EightSchools);
