//! Finds the level of a river behind the noise by a Kalman filter, whose parameters are fitted by its likelihood.
//!
//! `cargo run --release --example kalman [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! The data are the yearly flow of the Nile at Aswan from 1871 to 1970. The filter is a loop over the years for any linear
//! Gaussian model; the model here is a level that drifts, seen through noise. The variances of both are fitted by L-BFGS of
//! the crate `argmin`: the gradient goes back through the loop. The Hessian of the likelihood says how sure they are.
//! `docs/examples/kalman.md` shows the picture and what is printed.

use std::error::Error;
use std::f64::consts::PI;
use std::io::Write;

use argmin::core::Executor;
use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
use polygrad::optim::argmin::Problem;
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, hessian_matrix_with, map_accum, tensor};

mod picture;
use picture::Picture;

const FIRST_YEAR: f64 = 1871.0;
/// The years after the last one of the data.
const AHEAD: usize = 10;
/// In 10^8 cubic metres.
#[rustfmt::skip]
const FLOW: [f64; 100] = [
    1120., 1160., 963., 1210., 1160., 1160., 813., 1230., 1370., 1140., 995., 935., 1110., 994., 1020., 960., 1180., 799.,
    958., 1140., 1100., 1210., 1150., 1250., 1260., 1220., 1030., 1100., 774., 840., 874., 694., 940., 833., 701., 916.,
    692., 1020., 1050., 969., 831., 726., 456., 824., 702., 1120., 1100., 832., 764., 821., 768., 845., 864., 862., 698.,
    845., 744., 796., 1040., 759., 781., 865., 845., 944., 984., 897., 822., 1010., 771., 676., 649., 846., 812., 742.,
    801., 1040., 860., 874., 848., 890., 744., 749., 838., 1050., 918., 986., 797., 923., 975., 815., 1020., 906., 901.,
    1170., 912., 746., 919., 718., 714., 740.,
];

/// A hidden state that changes linearly and is seen through noise: `x' = F x + N(0, Q)` and `y = h x + N(0, r)`.
struct StateSpace<T: BaseTensor> {
    transition: Tensor<T, 2>,
    drift: Tensor<T, 2>,
    seen: Tensor<T, 1>,
    noise: Tensor<T, 0>,
    /// The state before the first value: its mean and covariance.
    start: (Tensor<T, 1>, Tensor<T, 2>),
}

/// The values, and for each 1 if it is known, 0 if it is missing.
type Series<T> = (Tensor<T, 1>, Tensor<T, 1>);

/// What is known of `h x` after each value, mean and variance; and the logarithm of the likelihood of all values.
fn filter<T: BaseTensor>(
    model: &StateSpace<T>,
    (values, known): &Series<T>,
) -> (Tensor<T, 1>, Tensor<T, 1>, Tensor<T, 0>) {
    let StateSpace { transition, drift, seen, noise, start: (mean, covariance) } = model;
    let start = (mean.clone(), covariance.clone(), Tensor::scalar(0.0));
    let step = |(mean, covariance, likelihood): (Tensor<T, 1>, Tensor<T, 2>, Tensor<T, 0>),
                (value, known): &(Tensor<T, 0>, Tensor<T, 0>)| {
        // How far the value is from what was expected, and how far it may be.
        let miss = value - seen.dot(&mean);
        let shared = covariance.matvec(seen);
        let spread = seen.dot(&shared) + noise;
        let likelihood = likelihood - 0.5 * known * ((2.0 * PI * &spread).ln() + miss.square() / &spread);
        // A missing value changes nothing.
        let gain = &shared * (known / spread);
        let mean = mean + &gain * miss;
        let covariance = covariance - gain.outer(&shared);
        let level = (seen.dot(&mean), seen.dot(&covariance.matvec(seen)));
        // The next year.
        let next = transition.matmul(&covariance).matmul(&transition.t()) + drift;
        ((transition.matvec(&mean), next, likelihood), level)
    };
    let ((_, _, likelihood), (means, variances)) = map_accum(start, (values, known), step);
    (means, variances, likelihood)
}

/// The logarithms of the variances: what is positive stays so.
#[derive(Tree, Clone, Debug)]
struct Variances<T: BaseTensor> {
    noise: Tensor<T, 0>,
    drift: Tensor<T, 0>,
}

/// A level that drifts. With a slope there would be two numbers in the state, and `[[1, 1], [0, 1]]` as transition.
fn local_level<T: BaseTensor>(variances: &Variances<T>) -> StateSpace<T> {
    StateSpace {
        transition: Tensor::eye(1),
        drift: variances.drift.exp().reshape([1, 1]),
        seen: Tensor::ones([1]),
        noise: variances.noise.exp(),
        // Nothing is known before the first value.
        start: (Tensor::zeros([1]), Tensor::eye(1) * 1e7),
    }
}

/// Minus the logarithm of the likelihood.
fn energy<T: BaseTensor>(variances: &Variances<T>, series: &Series<T>) -> Tensor<T, 0> {
    -filter(&local_level(variances), series).2
}

/// The variances that make the data likeliest.
fn fit(start: &Variances<Concrete>, series: &Series<Concrete>) -> Result<Variances<Concrete>, Box<dyn Error>> {
    let problem = Problem::new_with(energy, start, series);
    let begin = problem.start();
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 5);
    let found = Executor::new(problem, solver).configure(|state| state.param(begin).max_iters(100)).run()?;
    let best = found.state.best_param.ok_or("the solver must find a point")?;
    Ok(start.unravel(&tensor(best)))
}

fn draw(means: &[f64], deviations: &[f64]) -> Result<String, Box<dyn Error>> {
    let years: Vec<f64> = (0..means.len()).map(|k| FIRST_YEAR + k as f64).collect();
    let end = |sign: f64| means.iter().zip(deviations).map(|(m, d)| m + sign * 1.96 * d).collect::<Vec<_>>();
    Picture::new("The flow of the Nile: a filtered level", "year", "10⁸ cubic metres in a year")
        .band("95 %", 0, &years, &end(-1.0), &end(1.0))
        .line("filtered level, from 1971 a forecast", 0, &years, means)
        .points("flow", 2, &years, &FLOW)
        .svg()
}

/// Where the search begins, and the years.
fn start() -> (Variances<Concrete>, Series<Concrete>) {
    let flow: Tensor<Concrete, 1> = tensor(FLOW);
    let half = (flow.var() / 2.0).ln();
    (Variances { noise: half.clone(), drift: half }, (flow, Tensor::ones([FLOW.len()])))
}

/// Fits the variances, and reports to `out`; the picture.
pub(crate) fn run(out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let (start, series) = start();
    let found = fit(&start, &series)?;

    // The Hessian of minus the log likelihood is the inverse of the covariance of the logarithms.
    let hessian = hessian_matrix_with(energy, &found, &series);
    let errors = hessian.try_inverse()?.diagonal(0, 1).sqrt().to_vec();
    writeln!(out, "variance of     estimate   standard error        95 % between")?;
    for ((name, u), error) in found.names().iter().zip(found.ravel().to_vec()).zip(errors) {
        let (lo, hi) = ((u - 1.96 * error).exp(), (u + 1.96 * error).exp());
        writeln!(out, "{name:<11} {:>12.0}   {:>14.0}   {lo:>7.0} and {hi:>6.0}", u.exp(), u.exp() * error)?;
    }
    let likelihood = |variances| -energy(variances, &series).item();
    writeln!(out, "log likelihood {:.3} at the start, {:.3} at the end", likelihood(&start), likelihood(&found))?;

    // The years to come are missing values.
    let all = (series.0.pad([(0, AHEAD)]), series.1.pad([(0, AHEAD)]));
    let (means, spreads, _) = filter(&local_level(&found), &all);
    let (means, deviations) = (means.to_vec(), spreads.sqrt().to_vec());
    for (year, k) in [(1970, FLOW.len() - 1), (1980, FLOW.len() + AHEAD - 1)] {
        writeln!(out, "level in {year}: {:.0} +- {:.0}", means[k], 1.96 * deviations[k])?;
    }
    draw(&means, &deviations)
}

/// The times beside those of `python/gallery/kalman.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let (x, series) = start();
    let (x, series) = (&x, &series);
    picture::timed("energy and gradient", 1000, || {
        let f = Function::value_and_grad_with(energy, x, series);
        move || f.run_with(x, series).map(|(y, slope)| [y.item(), slope.ravel().norm().item()])
    })?;
    picture::timed("Hessian", 1000, || {
        let f = Function::hessian_matrix_with(energy, x, series);
        move || f.run_with(x, series).map(|h| [h.trace().item(), h.square().sum().sqrt().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("kalman", run, times)
}
