//! The emitted filter computes what its model does, its derivatives are right, and its errors are those it claims.

#[path = "../host/mod.rs"]
mod host;

use host::by_hand;
use host::model::{self, ERROR, Inertial};
use host::simulation::Event;
use polygrad::{Concrete, Tensor};
use polygrad_firmware::Real;

type Vector = Tensor<Concrete, 1, Real>;

/// A difference that rounding explains.
fn tolerance(single: f64, double: f64) -> f64 {
    if size_of::<Real>() == 4 { single } else { double }
}

#[test]
fn emitted_code_computes_what_recorded_programs_do() {
    let (steps, flight) = (model::recorded(), host::flight(300, 1));
    let mut filter = host::started(&flight);
    for (event, _) in &flight.events {
        let expected = host::step_recorded(&steps, filter.estimate(), event);
        host::step(&mut filter, event);
        let apart = host::apart(filter.estimate(), &expected);
        assert!(apart < tolerance(1e-4, 1e-12), "{event:?}: {apart:e}");
    }
}

#[test]
fn emitted_code_computes_what_code_by_hand_does() {
    let flight = host::flight(400, 3);
    let mut filter = host::started(&flight);
    for (event, _) in &flight.events {
        let x = filter.estimate().clone();
        let (mut y, mut z) = (x.clone(), x.clone());
        match event {
            Event::Inertial { rate, acceleration, dt } => {
                by_hand::predict(&x, rate, acceleration, *dt, &mut y);
                by_hand::predict_in_blocks(&x, rate, acceleration, *dt, &mut z);
            }
            Event::Position(seen) => _ = by_hand::update_position(&x, seen, &mut y),
            Event::Field(seen) => _ = by_hand::update_field(&x, seen, &mut y),
        }
        if !host::step(&mut filter, event) {
            continue;
        }
        let apart = host::apart(filter.estimate(), &y);
        assert!(apart < tolerance(1e-4, 1e-11), "{event:?}: {apart:e}");
        if let Event::Inertial { .. } = event {
            let apart = host::apart(&y, &z);
            assert!(apart < tolerance(1e-4, 1e-11), "{event:?}: {apart:e}");
        }
    }
}

#[test]
fn measurements_that_do_not_fit_change_nothing() {
    let flight = host::flight(100, 1);
    let mut filter = host::started(&flight);
    flight.events.iter().for_each(|(event, _)| _ = host::step(&mut filter, event));
    let before = filter.estimate().clone();
    for far in [1e3, Real::NAN, Real::INFINITY] {
        assert!(!host::step(&mut filter, &Event::Position([far, 0.0, 0.0])));
        assert!(!host::step(&mut filter, &Event::Field([far, 0.0, 0.0])));
        assert_eq!((filter.estimate().state, filter.estimate().covariance), (before.state, before.covariance));
    }
}

/// The state moved by `d` in one component of its error.
fn moved(x: &Vector, k: usize, d: Real) -> Vector {
    let mut error = vec![0.0; ERROR];
    error[k] = d;
    model::moved(x, &Vector::new([ERROR], error))
}

#[test]
fn jacobians_are_finite_differences() {
    let flight = host::flight(100, 2);
    let truth = flight.events[99].1.map(|x| x as Real);
    let x = Vector::new([16], truth.to_vec());
    let vector = |v: [Real; 3]| Vector::new([3], v.to_vec());
    let imu =
        Inertial { rate: vector([0.3, -0.5, 0.2]), acceleration: vector([1.0, 2.0, 9.0]), dt: Tensor::scalar(0.1) };
    let h = tolerance(0.02, 1e-4) as Real;
    let jacobian = |matrix: Tensor<Concrete, 2, Real>, difference: &dyn Fn(&Vector, &Vector) -> Vector| {
        let rows = matrix.shape()[0];
        let elements = matrix.to_vec();
        for k in 0..ERROR {
            let column = difference(&moved(&x, k, h), &moved(&x, k, -h)).to_vec();
            for (row, two_steps) in column.iter().enumerate() {
                let (found, expected) = (elements[ERROR * row + k], two_steps / (2.0 * h));
                let apart = f64::from(found - expected).abs();
                assert!(apart < tolerance(1e-3, 1e-7), "[{row}, {k}] of {rows} rows: {found} {expected}");
            }
        }
    };
    let centre = model::motion(&x, &imu);
    jacobian(model::transition(&x, &imu), &|ahead, behind| {
        let from_centre = |x| model::difference(&model::motion(x, &imu), &centre);
        from_centre(ahead) - from_centre(behind)
    });
    jacobian(model::measured(model::field, &x).1, &|ahead, behind| model::field(ahead) - model::field(behind));
    jacobian(model::measured(model::position, &x).1, &|ahead, behind| model::position(ahead) - model::position(behind));
}

#[test]
fn errors_are_within_the_covariance() {
    let (mut sum, mut count, mut dropped) = (0.0, 0, 0);
    for seed in 1..=8 {
        let flight = host::flight(2000, seed);
        let mut filter = host::started(&flight);
        for (k, (event, truth)) in flight.events.iter().enumerate() {
            dropped += usize::from(!host::step(&mut filter, event));
            if k % 100 == 99 {
                let normalised = host::normalised_error(filter.estimate(), truth);
                assert!(normalised < 80.0, "flight {seed}, event {k}: {normalised}");
                (sum, count) = (sum + normalised, count + 1);
            }
        }
        let attitude = &filter.estimate().state[6..10];
        let length: Real = attitude.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-4, "{length}");
    }
    let mean = sum / f64::from(count);
    assert!((10.0..20.0).contains(&mean), "15 errors have a mean of {mean}");
    assert!(dropped < 30, "{dropped} measurements do not fit");
}
