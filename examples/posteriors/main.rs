//! Models of the collection posteriordb as programs, with the time of a value with its gradient.
//!
//! `cargo run --release --example posteriors`
//!
//! The models are those of the collection, as log densities of a struct of unconstrained parameters; the data are drawn
//! at random in the sizes of the collection. Each gradient is compared with finite differences. What a sampler calls is
//! [`FlatFunction::value_and_grad`](polygrad::FlatFunction::value_and_grad).

mod models;

use std::io::Write;
use std::time::Instant;

use polygrad::FlatFunction;
use polygrad::array::Rng;

/// What is reported on a model.
pub(crate) struct Report {
    /// Its name in the collection.
    pub(crate) name: &'static str,
    /// The number of parameters.
    pub(crate) parameters: usize,
    /// The largest difference from finite differences, relative to the largest derivative.
    pub(crate) error: f64,
    /// Nanoseconds of a value with its gradient, if they are measured.
    nanoseconds: f64,
}

/// The number of parameters whose derivatives are compared.
const COMPARED: usize = 12;

/// The largest difference of a gradient from finite differences of fourth order, relative to the largest derivative.
fn error<P>(f: &FlatFunction<P>, x: &[f64]) -> f64 {
    let mut slope = vec![0.0; x.len()];
    f.value_and_grad(x, &mut slope);
    let scale = slope.iter().fold(1.0f64, |most, d| most.max(d.abs()));
    let mut moved = x.to_vec();
    let mut worst = 0.0f64;
    for k in (0..x.len()).step_by(x.len().div_ceil(COMPARED)) {
        let mut at = |h: f64| {
            moved[k] = x[k] + h;
            let value = f.value(&moved);
            moved[k] = x[k];
            value
        };
        let h = 1e-3;
        let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        worst = worst.max((difference - slope[k]).abs() / scale);
    }
    worst
}

/// The time of a call in nanoseconds: the least of several means.
fn time<P>(f: &FlatFunction<P>, x: &[f64]) -> f64 {
    let mut slope = vec![0.0; x.len()];
    let mut batch = |calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| {
            std::hint::black_box(f.value_and_grad(x, &mut slope));
        });
        start.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    let calls = (2e7 / batch(10).max(10.0)).clamp(10.0, 1e5) as u32;
    (0..10).map(|_| batch(calls)).fold(f64::INFINITY, f64::min)
}

/// What to report on a model, at a point that its data do not choose.
pub(crate) fn report<P>(name: &'static str, f: &FlatFunction<P>, measure: bool) -> Report {
    let x = Rng::new(7).uniform([f.len()], -0.5, 0.5).to_vec();
    let nanoseconds = if measure { time(f, &x) } else { f64::NAN };
    Report { name, parameters: f.len(), error: error(f, &x), nanoseconds }
}

/// Reports on all models to `out`.
pub(crate) fn run(out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "{:<28} parameters   error of the gradient   ns of value and gradient", "model")?;
    for Report { name, parameters, error, nanoseconds } in models::all(true) {
        writeln!(out, "{name:<28} {parameters:>10} {error:>23.1e} {nanoseconds:>26.0}")?;
    }
    Ok(())
}

/// Reports on all models, without times.
#[allow(dead_code, reason = "a test calls it")]
pub(crate) fn checked() -> Vec<Report> {
    models::all(false)
}

#[allow(dead_code, reason = "not in the test")]
fn main() -> std::io::Result<()> {
    run(&mut std::io::stdout())
}
