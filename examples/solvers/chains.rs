//! Chains of the crate `nuts-rs` that draw from a log density.
//!
//! Law: a seed gives the same draws, whatever other chains run beside.

use std::collections::HashMap;
use std::error::Error;
use std::{fmt, thread};

use nuts_rs::rand::{Rng, SeedableRng, rngs::ChaCha8Rng};
use nuts_rs::{Chain, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings};
use polygrad::FlatFunction;

/// A log density as the sampler wants it.
pub(crate) struct Posterior<'a, P>(&'a FlatFunction<P>);

impl<P> CpuLogpFunc for Posterior<'_, P> {
    type LogpError = Impossible;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        self.0.len()
    }

    fn logp(&mut self, x: &[f64], slope: &mut [f64]) -> Result<f64, Impossible> {
        Some(self.0.value_and_grad(x, slope)).filter(|value| value.is_finite()).ok_or(Impossible)
    }

    fn expand_vector<R: Rng + ?Sized>(&mut self, _: &mut R, x: &[f64]) -> Result<Vec<f64>, CpuMathError> {
        Ok(x.to_vec())
    }
}

impl<P> HasDims for Posterior<'_, P> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("dim".to_owned(), self.0.len() as u64)])
    }
}

/// A point where the log density is infinite or no number: the sampler turns back.
#[derive(Debug)]
pub(crate) struct Impossible;

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log density is not finite")
    }
}

impl Error for Impossible {}

impl LogpError for Impossible {
    fn is_recoverable(&self) -> bool {
        true
    }
}

/// The draws of one chain after those that tune the sampler.
pub(crate) fn chain<P>(
    model: &FlatFunction<P>,
    start: &[f64],
    number: u64,
    draws: u64,
) -> Result<Vec<Box<[f64]>>, Failed> {
    let settings = DiagNutsSettings { num_tune: 500, num_draws: draws, ..Default::default() };
    let mut rng = ChaCha8Rng::seed_from_u64(number);
    let mut sampler = settings.new_chain(number, CpuMath::new(Posterior(model)), &mut rng)?;
    sampler.set_position(start)?;
    let all: Result<Vec<_>, _> = (0..settings.num_tune + draws).map(|_| Ok(sampler.draw()?.0)).collect();
    all.map(|all| all.into_iter().skip(settings.num_tune as usize).collect())
}

pub(crate) type Failed = Box<dyn Error + Send + Sync>;

/// The draws of several chains, each on a thread of its own.
pub(crate) fn chains<P: Sync>(
    model: &FlatFunction<P>,
    start: &[f64],
    count: u64,
    draws: u64,
) -> Result<Vec<Box<[f64]>>, Failed> {
    let all: Result<Vec<_>, _> = thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|k| scope.spawn(move || chain(model, start, k, draws))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a chain does not panic")).collect()
    });
    Ok(all?.concat())
}

/// The mean of draws, and its error by the means of batches of this length, which are nearly independent.
pub(crate) fn mean(draws: &[f64], batch: usize) -> (f64, f64) {
    let average = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let means: Vec<f64> = draws.chunks_exact(batch).map(average).collect();
    let (mean, n) = (average(&means), means.len() as f64);
    (mean, (means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt())
}
