//! Draws the parameters of eight schools by the crate `nuts-rs` 0.19, on four threads that share one function.
//!
//! `cargo run --release -p polygrad-solvers --example nuts`
//!
//! The model is a log density of a struct (page `guide::models`); what stands between it and the sampler is
//! `chains::Posterior`, which fits every model. Law: each mean lies within the error of the draws beside the exact one, which was integrated
//! over the spread on a fine grid: for a known spread all else is normal.
//!
//! ```text
//!              mean   error   exact
//! mean         4.41    0.03    4.40
//! spread       3.65    0.04    3.60
//! school 1     6.28    0.06    6.21
//! school 2     4.95    0.04    4.94
//! school 3     3.89    0.06    3.93
//! school 4     4.79    0.05    4.76
//! school 5     3.58    0.04    3.62
//! school 6     4.07    0.04    4.04
//! school 7     6.25    0.05    6.30
//! school 8     4.86    0.06    4.85
//! ```

mod chains;

use chains::{Failed, chains, mean};
use polygrad::stats::{constrain, half_cauchy, normal, unconstrain};
use polygrad::{BaseTensor, Concrete, FlatFunction, RunError, Tensor, Tree, tensor};

#[derive(Tree, Clone)]
struct Schools<T: BaseTensor> {
    mean: Tensor<T, 0>,
    log_spread: Tensor<T, 0>,
    effects: Tensor<T, 1>,
}

fn log_density<T: BaseTensor>(free: &Schools<T>, (y, sd): &(Tensor<T, 1>, Tensor<T, 1>)) -> Tensor<T, 0> {
    let (spread, jacobian) = constrain::positive(&free.log_spread);
    normal(&free.mean, 0.0, 5.0)
        + half_cauchy(&spread, 5.0)
        + normal(&free.effects, 0.0, 1.0).sum()
        + normal(y, &free.effects * &spread + &free.mean, sd).sum()
        + jacobian
}

/// The model, and where chains start.
fn eight_schools() -> Result<(FlatFunction<Schools<Concrete>>, Vec<f64>), RunError> {
    let y = tensor([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
    let sd = tensor([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]);
    let start =
        Schools { mean: tensor(4.0), log_spread: unconstrain::positive(&tensor(3.0)), effects: Tensor::zeros([8]) };
    let model = FlatFunction::new_with(log_density, &start, &(y, sd));
    let start = model.flatten(&start)?;
    Ok((model, start))
}

/// The numbers of the table, with their exact means: the mean, the spread, and the effect of each school.
const EXACT: [(&str, f64); 10] = [
    ("mean", 4.396821),
    ("spread", 3.597705),
    ("school 1", 6.211884),
    ("school 2", 4.940178),
    ("school 3", 3.927004),
    ("school 4", 4.757098),
    ("school 5", 3.615477),
    ("school 6", 4.042613),
    ("school 7", 6.296724),
    ("school 8", 4.854253),
];

fn quantities(schools: &Schools<Concrete>) -> Vec<f64> {
    let spread = schools.log_spread.exp();
    let effects = &schools.effects * &spread + &schools.mean;
    [vec![schools.mean.item(), spread.item()], effects.to_vec()].concat()
}

/// For each number the mean of the draws, its error, and the exact mean.
fn table(draws: u64) -> Result<Vec<(&'static str, f64, f64, f64)>, Failed> {
    let (model, start) = eight_schools()?;
    let draws: Vec<Vec<f64>> =
        chains(&model, &start, 4, draws)?.iter().map(|draw| quantities(&model.tree(draw))).collect();
    let row = |(k, (name, exact)): (usize, (&'static str, f64))| {
        let (mean, error) = mean(&draws.iter().map(|draw| draw[k]).collect::<Vec<_>>(), 50);
        (name, mean, error, exact)
    };
    Ok(EXACT.into_iter().enumerate().map(row).collect())
}

fn main() -> Result<(), Failed> {
    println!("{:9}{:>8}{:>8}{:>8}", "", "mean", "error", "exact");
    for (name, mean, error, exact) in table(2500)? {
        println!("{name:9}{mean:8.2}{error:8.2}{exact:8.2}");
        assert!((mean - exact).abs() < 4.0 * error, "{name}: {mean} is not {exact}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chains::chain;

    #[test]
    fn means_are_those_of_the_posterior() {
        for (name, mean, error, exact) in table(500).unwrap() {
            assert!((mean - exact).abs() < 4.0 * error, "{name}: {mean} is not {exact} with an error of {error}");
            assert!(error < 0.4, "{name}: an error of {error}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_draws() {
        let (model, start) = eight_schools().unwrap();
        let together = chains(&model, &start, 2, 20).unwrap();
        let alone = [chain(&model, &start, 0, 20).unwrap(), chain(&model, &start, 1, 20).unwrap()].concat();
        assert_eq!(together, alone);
        assert_ne!(together[0], together[20]);
    }
}
