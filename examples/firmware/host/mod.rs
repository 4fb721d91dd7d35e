//! What the simulation and the tests share: the model, flights, and both filters side by side.

#![allow(dead_code)]

pub mod by_hand;
#[path = "../model.rs"]
pub mod model;
pub mod simulation;

use std::path::Path;

use polygrad::{Array, Concrete, Tensor};
use polygrad_firmware::{Estimate, Filter, GATE, Real};
pub use simulation::flight;
use simulation::{Event, Flight};

/// A filter at the start of a flight.
pub fn started(flight: &Flight) -> Filter {
    let mut filter = Filter::new();
    filter.start(&flight.start, &flight.deviations);
    filter
}

/// Gives a sample or a measurement to the filter; says whether it fits.
pub fn step(filter: &mut Filter, event: &Event) -> bool {
    match event {
        Event::Inertial { rate, acceleration, dt } => {
            filter.predict(rate, acceleration, *dt);
            true
        }
        Event::Position(position) => filter.update_position(position),
        Event::Field(field) => filter.update_field(field),
    }
}

/// The same step by the recorded programs, which polygrad runs.
pub fn step_recorded(steps: &model::Steps, now: &Estimate, event: &Event) -> Estimate {
    let vector = |v: &[Real; 3]| Tensor::<Concrete, 1, Real>::new([3], v.to_vec());
    let x = model::Estimate {
        state: Tensor::new([16], now.state.to_vec()),
        covariance: Tensor::new([15, 15], now.covariance.to_vec()),
    };
    let (state, covariance, fits) = match event {
        Event::Inertial { rate, acceleration, dt } => {
            let imu =
                model::Inertial { rate: vector(rate), acceleration: vector(acceleration), dt: Tensor::scalar(*dt) };
            let y = steps.predict.run_with(&x, &imu).expect("arguments of these shapes");
            (y.state, y.covariance, true)
        }
        Event::Position(z) => corrected(steps.update_position.run_with(&x, &vector(z))),
        Event::Field(z) => corrected(steps.update_field.run_with(&x, &vector(z))),
    };
    let array = |v: Vec<Real>| -> [Real; 16] { v.try_into().expect("16 numbers") };
    let matrix = |v: Vec<Real>| -> [Real; 225] { v.try_into().expect("225 numbers") };
    if fits {
        Estimate { state: array(state.into_vec()), covariance: matrix(covariance.into_vec()) }
    } else {
        now.clone()
    }
}

type Numbers<const D: usize> = Tensor<Array, D, Real>;

fn corrected(y: Result<model::Corrected<Concrete>, polygrad::RunError>) -> (Numbers<1>, Numbers<2>, bool) {
    let y = y.expect("arguments of these shapes");
    let fits = y.distance.item() < GATE;
    (y.state, y.covariance, fits)
}

/// The largest difference of two estimates: of the states, and of covariances as parts of their deviations.
pub fn apart(a: &Estimate, b: &Estimate) -> f64 {
    let states = a.state.iter().zip(&b.state).map(|(x, y)| f64::from(x - y).abs() / (1.0 + f64::from(*x).abs()));
    let scale = |i: usize| f64::from(a.covariance[16 * i]).sqrt();
    let covariances =
        (0..225).map(|k| f64::from(a.covariance[k] - b.covariance[k]).abs() / (scale(k / 15) * scale(k % 15)));
    states.chain(covariances).fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
}

/// The 15 errors of an estimate, in double precision.
pub fn errors(estimate: &Estimate, truth: &[f64; 16]) -> [f64; 15] {
    simulation::errors(&estimate.state, truth)
}

/// The square of the error in units of the covariance: 15 on average, if the covariance is right.
pub fn normalised_error(estimate: &Estimate, truth: &[f64; 16]) -> f64 {
    let covariance = estimate.covariance.map(f64::from).to_vec();
    let factor = Tensor::<Concrete, 2, f64>::new([15, 15], covariance).cholesky();
    factor.solve_lower(&Tensor::new([15], errors(estimate, truth).to_vec())).square().sum().item()
}

/// A flight with the states after each step: what `replay.c` and `run.mjs` run again.
///
/// Numbers of the float type: 16 of the first state, and 15 standard deviations; for each step its kind, 7 numbers of
/// its measurement, and 16 of the state after it; the 225 of the last covariance.
pub struct Log(Vec<Real>);

impl Log {
    pub fn new(flight: &Flight) -> Log {
        Log([&flight.start[..], &flight.deviations].concat())
    }

    /// Adds a step, after which the filter is this one.
    pub fn add(&mut self, event: &Event, filter: &Filter) {
        let mut record = [0.0; 8];
        match event {
            Event::Inertial { rate, acceleration, dt } => {
                record[1..4].copy_from_slice(rate);
                record[4..7].copy_from_slice(acceleration);
                record[7] = *dt;
            }
            Event::Position(z) => {
                record[0] = 1.0;
                record[1..4].copy_from_slice(z);
            }
            Event::Field(z) => {
                record[0] = 2.0;
                record[1..4].copy_from_slice(z);
            }
        }
        self.0.extend(record);
        self.0.extend(filter.estimate().state);
    }

    /// Writes the log, whose last filter is this one.
    pub fn write(mut self, path: &Path, filter: &Filter) -> std::io::Result<()> {
        self.0.extend(filter.estimate().covariance);
        std::fs::write(path, self.0.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
    }
}
