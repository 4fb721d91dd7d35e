//! Draws a flight of a minute with the Kalman filter of the example `firmware`: errors with and without the filter.
//!
//! `cargo run --release --example firmware [FOLDER OF THE PICTURE]`
//!
//! Model and simulation are the files of `examples/firmware`. There a build script writes the recorded steps as source
//! code for a microcontroller; here the same recorded steps are run by polygrad. `docs/examples/firmware.md` shows the
//! picture and what is printed.

use std::error::Error;
use std::io::Write;

use polygrad::{Array, Concrete, Function, RunError, Tensor};

#[allow(dead_code, missing_docs, unexpected_cfgs, unreachable_pub)]
#[path = "../firmware/model.rs"]
mod model;
mod picture;
#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../firmware/host/simulation.rs"]
mod simulation;

use model::{Estimate, Inertial, Real};
use picture::Picture;
use simulation::{Event, Flight, errors, length};

/// A minute.
const SAMPLES: usize = 12_000;
/// Measurements of a larger normalised square are dropped, as in the firmware.
const GATE: Real = 16.27;
/// Every so many measured positions a value is drawn.
const DRAWN: usize = 3;

/// The lengths of errors over time: of the position in metres, of the attitude in degrees.
#[derive(Default)]
struct Errors {
    drawn: [Vec<f64>; 2],
    squares: [f64; 2],
    last: [f64; 2],
    count: usize,
}

impl Errors {
    /// Adds the error of a state; `drawn` keeps it for the picture.
    fn add(&mut self, state: &[Real], truth: &[f64; 16], drawn: bool) {
        let errors = errors(state.try_into().expect("16 numbers"), truth);
        self.last = [length(&errors[..3]), length(&errors[6..9]).to_degrees()];
        for k in 0..2 {
            self.squares[k] += self.last[k] * self.last[k];
            if drawn {
                self.drawn[k].push(self.last[k]);
            }
        }
        self.count += 1;
    }

    /// The roots of the means of squares.
    fn means(&self) -> [f64; 2] {
        self.squares.map(|sum| (sum / self.count as f64).sqrt())
    }
}

/// What the picture shows.
#[derive(Default)]
struct Curves {
    seconds: Vec<f64>,
    blind: Errors,
    filter: Errors,
    /// Of positions as measured.
    measured: Vec<f64>,
    measured_squares: f64,
    positions: usize,
    /// The roots of the traces of the blocks of the covariance, in metres and degrees.
    deviations: [Vec<f64>; 2],
    dropped: usize,
}

type Numbers<const D: usize> = Tensor<Array, D, Real>;

fn vector(v: &[Real; 3]) -> Numbers<1> {
    Tensor::new([3], v.to_vec())
}

/// The root of the sum of three variances of a covariance.
fn deviation(covariance: &Numbers<2>, from: usize) -> f64 {
    let variances = covariance.to_vec();
    (from..from + 3).map(|k| f64::from(variances[16 * k])).sum::<f64>().sqrt()
}

/// Flies with the filter and without.
fn fly(flight: &Flight) -> Result<Curves, RunError> {
    let steps = model::recorded();
    let start = Numbers::<1>::new([16], flight.start.to_vec());
    let rest = Inertial { rate: vector(&[0.0; 3]), acceleration: vector(&[0.0; 3]), dt: Tensor::scalar(0.0) };
    let motion: Function<Numbers<1>, Inertial<Concrete>, Numbers<1>> =
        Function::stage_with(model::motion, &start, &rest);
    let variances = Numbers::<1>::new([15], flight.deviations.map(|s| s * s).to_vec());
    let mut blind = start.clone();
    let mut now = Estimate { state: start, covariance: variances.diag() };
    let mut curves = Curves::default();
    let mut time = 0.0;
    for (event, truth) in &flight.events {
        let mut drawn = false;
        let corrected = match event {
            Event::Inertial { rate, acceleration, dt } => {
                let imu = Inertial { rate: vector(rate), acceleration: vector(acceleration), dt: Tensor::scalar(*dt) };
                blind = motion.run_with(&blind, &imu)?;
                now = steps.predict.run_with(&now, &imu)?;
                time += simulation::DT;
                None
            }
            Event::Position(seen) => {
                let error: [f64; 3] = std::array::from_fn(|k| f64::from(seen[k]) - truth[k]);
                let error = length(&error);
                curves.positions += 1;
                curves.measured_squares += error * error;
                drawn = curves.positions % DRAWN == 0;
                if drawn {
                    curves.measured.push(error);
                }
                Some(steps.update_position.run_with(&now, &vector(seen))?)
            }
            Event::Field(seen) => Some(steps.update_field.run_with(&now, &vector(seen))?),
        };
        if let Some(corrected) = corrected {
            if corrected.distance.item() < GATE {
                now = Estimate { state: corrected.state, covariance: corrected.covariance };
            } else {
                curves.dropped += 1;
            }
        }
        curves.blind.add(&blind.to_vec(), truth, drawn);
        curves.filter.add(&now.state.to_vec(), truth, drawn);
        if drawn {
            curves.seconds.push(time);
            curves.deviations[0].push(deviation(&now.covariance, 0));
            curves.deviations[1].push(deviation(&now.covariance, 6).to_degrees());
        }
    }
    Ok(curves)
}

fn draw(curves: &Curves) -> Result<String, Box<dyn Error>> {
    let t = &curves.seconds;
    let position = Picture::new("Error of the position", "seconds", "metres")
        .logarithmic()
        .line("integrated samples", 1, t, &curves.blind.drawn[0])
        .line("measured positions", 2, t, &curves.measured)
        .line("its standard deviation", 3, t, &curves.deviations[0])
        .line("filter", 0, t, &curves.filter.drawn[0]);
    let attitude = Picture::new("Error of the attitude", "seconds", "degrees")
        .with_zero()
        .line("integrated samples", 1, t, &curves.blind.drawn[1])
        .line("its standard deviation", 3, t, &curves.deviations[1])
        .line("filter", 0, t, &curves.filter.drawn[1]);
    picture::panels(&[position, attitude])
}

/// Flies, and reports to `out`, as the example `simulate` of the firmware does; the picture.
pub(crate) fn run(out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let flight = simulation::flight(SAMPLES, 7);
    let curves = fly(&flight)?;
    let (seconds, measurements) = (SAMPLES as f64 * simulation::DT, flight.events.len() - SAMPLES);
    writeln!(out, "{SAMPLES} samples in {seconds} s, and {measurements} measurements")?;
    writeln!(out, "{:26}{:>12}{:>12}{:>14}{:>12}", "", "metres", "degrees", "at the end: m", "degrees")?;
    let line = |name: &str, errors: &Errors| {
        let ([metres, degrees], [m, d]) = (errors.means(), errors.last);
        format!("{name:26}{metres:12.3}{degrees:12.2}{m:14.3}{d:12.2}")
    };
    writeln!(out, "{}", line("integrated samples alone", &curves.blind))?;
    let measured = (curves.measured_squares / curves.positions as f64).sqrt();
    writeln!(out, "{:26}{measured:12.3}", "positions as measured")?;
    writeln!(out, "{}", line("the filter", &curves.filter))?;
    writeln!(out, "{} measurements do not fit", curves.dropped)?;
    draw(&curves)
}

fn main() -> Result<(), Box<dyn Error>> {
    let svg = run(&mut std::io::stdout())?;
    println!("picture: {}", picture::save(&picture::folder(), "firmware", &svg)?.display());
    Ok(())
}
