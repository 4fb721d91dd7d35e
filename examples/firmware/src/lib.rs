//! The firmware: a Kalman filter on fixed memory, around functions that the build script has written.
//!
//! Nothing allocates, nothing panics, and nothing is needed at run time but `polygrad-math`. The functions write the
//! new estimate beside the old one, so that a measurement which does not fit is dropped.
#![no_std]
#![deny(unsafe_code)]

#[cfg(target_arch = "wasm32")]
mod wasm;

/// The functions that `build.rs` records, differentiates and writes.
pub mod emitted {
    include!(concat!(env!("OUT_DIR"), "/predict.rs"));
    include!(concat!(env!("OUT_DIR"), "/update_position.rs"));
    include!(concat!(env!("OUT_DIR"), "/update_field.rs"));
}

use emitted::{PredictWork, UpdateFieldWork, UpdatePositionWork};

/// The float type of the filter.
#[cfg(not(feature = "double"))]
pub type Real = f32;
/// The float type of the filter.
#[cfg(feature = "double")]
pub type Real = f64;

/// Innovations of three numbers are below it 999 times of 1000 when the filter is right.
pub const GATE: Real = 16.27;

/// Position, velocity, attitude, biases of gyroscope and accelerometer; the covariance of the error, row by row.
#[derive(Clone, Debug)]
pub struct Estimate {
    pub state: [Real; 16],
    pub covariance: [Real; 225],
}

/// The filter with all its memory.
#[derive(Clone, Debug)]
pub struct Filter {
    now: Estimate,
    next: Estimate,
    predict: PredictWork,
    update_position: UpdatePositionWork,
    update_field: UpdateFieldWork,
}

impl Filter {
    /// A filter at rest in the origin, without certainty.
    pub const fn new() -> Filter {
        let mut now = Estimate { state: [0.0; 16], covariance: [0.0; 225] };
        now.state[6] = 1.0;
        let next = Estimate { state: [0.0; 16], covariance: [0.0; 225] };
        let (predict, update_position) = (PredictWork::new(), UpdatePositionWork::new());
        Filter { now, next, predict, update_position, update_field: UpdateFieldWork::new() }
    }

    /// Starts at a state with independent errors of these standard deviations.
    pub fn start(&mut self, state: &[Real; 16], deviations: &[Real; 15]) {
        self.now.state = *state;
        self.now.covariance = [0.0; 225];
        for (row, deviation) in deviations.iter().enumerate() {
            self.now.covariance[16 * row] = deviation * deviation;
        }
    }

    /// What the filter knows.
    pub fn estimate(&self) -> &Estimate {
        &self.now
    }

    /// Integrates a sample of the inertial unit: rates in rad/s, accelerations in m/s², and the seconds since the last.
    pub fn predict(&mut self, rate: &[Real; 3], acceleration: &[Real; 3], dt: Real) {
        let (now, next) = (&self.now, &mut self.next);
        emitted::predict(
            &now.state,
            &now.covariance,
            rate,
            acceleration,
            dt,
            &mut next.state,
            &mut next.covariance,
            &mut self.predict,
        );
        core::mem::swap(&mut self.now, &mut self.next);
    }

    /// Corrects by a measured position; says whether the measurement fits.
    pub fn update_position(&mut self, position: &[Real; 3]) -> bool {
        let (now, next) = (&self.now, &mut self.next);
        let mut distance = 0.0;
        emitted::update_position(
            &now.state,
            &now.covariance,
            position,
            &mut next.state,
            &mut next.covariance,
            &mut distance,
            &mut self.update_position,
        );
        self.accept(distance)
    }

    /// Corrects by the measured direction of the magnetic field; says whether the measurement fits.
    pub fn update_field(&mut self, field: &[Real; 3]) -> bool {
        let (now, next) = (&self.now, &mut self.next);
        let mut distance = 0.0;
        emitted::update_field(
            &now.state,
            &now.covariance,
            field,
            &mut next.state,
            &mut next.covariance,
            &mut distance,
            &mut self.update_field,
        );
        self.accept(distance)
    }

    /// Takes the corrected estimate if the measurement fits. NaN does not.
    fn accept(&mut self, distance: Real) -> bool {
        let fits = distance < GATE;
        if fits {
            core::mem::swap(&mut self.now, &mut self.next);
        }
        fits
    }
}

impl Default for Filter {
    fn default() -> Filter {
        Filter::new()
    }
}
