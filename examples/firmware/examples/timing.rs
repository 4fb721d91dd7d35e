//! The time of each step on this machine: emitted code, the programs it comes from, and the filter by hand.
//!
//! `cargo run --release --example timing` compiles polygrad with optimization, which takes minutes.

#[path = "../host/mod.rs"]
mod host;

use std::hint::black_box;
use std::time::Instant;

use host::simulation::Event;
use host::{by_hand, model};
use polygrad::Array;
use polygrad::backend::Executable;
use polygrad_firmware::emitted::{self, PredictWork, UpdateFieldWork, UpdatePositionWork};
use polygrad_firmware::{Estimate, Real};

const CALLS: u32 = 2000;
const SAMPLES: usize = 40;

/// Prints the least mean of some calls.
fn time(name: &str, mut call: impl FnMut()) {
    let sample = |_| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| call());
        start.elapsed() / CALLS
    };
    let least = (0..SAMPLES).map(sample).min().expect("a sample");
    println!("{name:44}{:8} ns", least.as_nanos());
}

/// Times a compiled program on arrays that it reuses.
fn time_run_into(name: &str, program: &Executable, inputs: &[Array]) {
    let mut workspace = program.workspace();
    let mut outputs = program.run(inputs);
    time(name, || program.run_into(&mut workspace, black_box(inputs), &mut outputs));
}

fn main() {
    let flight = host::flight(1000, 3);
    let mut filter = host::started(&flight);
    flight.events.iter().for_each(|(event, _)| _ = host::step(&mut filter, event));
    let x = filter.estimate();
    let mut y = x.clone();
    let first = |kind: fn(&Event) -> bool| flight.events.iter().map(|(event, _)| event).find(|event| kind(event));
    let Some(Event::Inertial { rate, acceleration, dt }) = first(|event| matches!(event, Event::Inertial { .. }))
    else {
        panic!("a flight has samples")
    };
    let (position, field): ([Real; 3], [Real; 3]) = ([1.0, 2.0, 3.0], [0.4, 0.1, -0.9]);

    let mut work = PredictWork::new();
    time("predict: emitted", || {
        let Estimate { state, covariance } = black_box(x);
        emitted::predict(state, covariance, rate, acceleration, *dt, &mut y.state, &mut y.covariance, &mut work);
        black_box(&mut y);
    });
    time("predict: by hand", || by_hand::predict(black_box(x), rate, acceleration, *dt, black_box(&mut y)));
    time("predict: by hand, in blocks", || {
        by_hand::predict_in_blocks(black_box(x), rate, acceleration, *dt, black_box(&mut y));
    });
    let mut work = UpdatePositionWork::new();
    let mut distance = 0.0;
    time("update_position: emitted", || {
        let Estimate { state, covariance } = black_box(x);
        let y = black_box(&mut y);
        emitted::update_position(
            state,
            covariance,
            &position,
            &mut y.state,
            &mut y.covariance,
            &mut distance,
            &mut work,
        );
    });
    time("update_position: by hand", || {
        black_box(by_hand::update_position(black_box(x), &position, black_box(&mut y)));
    });
    let mut work = UpdateFieldWork::new();
    time("update_field: emitted", || {
        let Estimate { state, covariance } = black_box(x);
        let y = black_box(&mut y);
        emitted::update_field(state, covariance, &field, &mut y.state, &mut y.covariance, &mut distance, &mut work);
    });
    time("update_field: by hand", || {
        black_box(by_hand::update_field(black_box(x), &field, black_box(&mut y)));
    });

    let steps = model::recorded();
    let array = |shape: &[usize], numbers: &[Real]| Array::new(shape, numbers.to_vec());
    let estimate = [array(&[16], &x.state), array(&[15, 15], &x.covariance)];
    let with = |more: Vec<Array>| [&estimate[..], &more].concat();
    let sample = vec![array(&[3], rate), array(&[3], acceleration), array(&[], &[*dt])];
    time_run_into("predict: run_into", steps.predict.executable(), &with(sample));
    time_run_into("update_position: run_into", steps.update_position.executable(), &with(vec![array(&[3], &position)]));
    time_run_into("update_field: run_into", steps.update_field.executable(), &with(vec![array(&[3], &field)]));
}
