//! An autoregression of any order as a shared library for BridgeStan's clients, with forecasts as generated quantities.
//!
//! `cargo build --release -p polygrad-capi --example ar_k` makes the library. The data are `K`, the order, and `y`, the series.
//! It is the model `arK` of the collection posteriordb: `y[t]` has the mean `alpha + sum beta[k] y[t - k]`.

use polygrad::program::Term;
use polygrad::random::Key;
use polygrad::stats::{Constrained, half_cauchy, normal};
use polygrad::{Array, BaseTensor, Tensor, Tree, stack, tensor};
use polygrad_capi::bridgestan::{Model, ModelData, Quantities};

/// The parameters.
#[derive(Tree, Constrained, Clone, Debug)]
struct Autoregression<T: BaseTensor> {
    /// The mean without a past.
    alpha: Tensor<T, 0>,
    /// The weights of what was before, the last one first.
    beta: Tensor<T, 1>,
    /// The standard deviation of what is new.
    #[constrain(positive)]
    sigma: Tensor<T, 0>,
}

/// What follows from a series: the numbers after the first `K`, for each of them the `K` before it, and the last `K`.
#[derive(Tree, Clone, Debug)]
struct Series<T: BaseTensor> {
    /// The numbers.
    y: Tensor<T, 1>,
    /// The numbers before, the last one first.
    before: Tensor<T, 2>,
    /// The last numbers of the series, the last one first.
    last: Tensor<T, 1>,
}

/// The log density.
fn log_density<T: BaseTensor>(p: &Autoregression<T>, data: &Series<T>) -> Tensor<T, 0> {
    let priors = normal(&p.alpha, 0.0, 10.0) + normal(&p.beta, 0.0, 10.0).sum() + half_cauchy(&p.sigma, 2.5);
    priors + normal(&data.y, data.before.matvec(&p.beta) + &p.alpha, &p.sigma).sum()
}

/// The next three numbers of the series.
fn forecast<T: BaseTensor>(p: &Autoregression<T>, data: &Series<T>, key: &Key<T>) -> Tensor<T, 1> {
    let shocks = key.normal([3]) * &p.sigma;
    let mut now = data.last.clone();
    let next: [Tensor<T, 0>; 3] = std::array::from_fn(|k| {
        let next = p.beta.dot(&now) + &p.alpha + shocks.row::<0>(k);
        let known = now.len() - 1;
        now = polygrad::concat(0, (next.insert_axis::<1>(0), now.slice(0, ..known)));
        next
    });
    stack(next)
}

/// The model.
#[derive(Debug)]
struct ArK;

impl Model for ArK {
    const NAME: &'static str = "ar_k";
    type Data = Series<Array>;
    type Parameters = Autoregression<Array>;

    fn data(given: &ModelData) -> Result<Series<Array>, String> {
        let order: Tensor<Array, 0, i64> = given.tensor("K")?;
        let y: Tensor<Array, 1> = given.tensor("y")?;
        let (k, n) = (usize::try_from(order.item()).unwrap_or(0), y.len());
        if k == 0 || k >= n {
            return Err(format!(
                "`K` must be between 1 and the length of `y`, {n}, but it is {}; give a longer series",
                order.item()
            ));
        }
        let before = Tensor::from_fn([n - k, k], |[t, j]| y.at([t + k - 1 - j]).item());
        let last = Tensor::from_fn([k], |[j]| y.at([n - 1 - j]).item());
        Ok(Series { y: y.slice(0, k..), before, last })
    }

    fn parameters(data: &Series<Array>) -> Autoregression<Array> {
        Autoregression { alpha: tensor(0.0), beta: Tensor::zeros(data.last.shape()), sigma: tensor(1.0) }
    }

    fn log_density(p: &Autoregression<Term>, data: &Series<Term>) -> Tensor<Term, 0> {
        log_density(p, data)
    }

    fn generated(p: &Autoregression<Term>, data: &Series<Term>, key: &Key<Term>) -> Quantities {
        Quantities::new().with("forecast", &forecast(p, data, key))
    }
}

polygrad_capi::bridgestan!(ArK);
