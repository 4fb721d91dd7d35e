//! A flight of a minute: errors with and without the filter, and emitted code beside the programs it comes from.
//!
//! `cargo run --example simulate [LOG]`
//!
//! LOG gets the flight with the states after each step, as numbers of the float type: what `run.mjs` and `replay.c`
//! run again, and compare.

#[path = "../host/mod.rs"]
mod host;

use std::path::Path;

use host::simulation::{DT, Event, length};
use host::{Log, model};
use polygrad_firmware::Filter;

const SAMPLES: usize = 12_000;

/// Errors of one filter over time, as roots of means of squares.
#[derive(Default)]
struct Errors {
    squares: [f64; 2],
    last: [f64; 2],
    count: usize,
}

impl Errors {
    fn add(&mut self, filter: &Filter, truth: &[f64; 16]) {
        let errors = host::errors(filter.estimate(), truth);
        self.last = [length(&errors[..3]), length(&errors[6..9]).to_degrees()];
        (0..2).for_each(|k| self.squares[k] += self.last[k] * self.last[k]);
        self.count += 1;
    }

    fn line(&self, name: &str) {
        let [metres, degrees] = self.squares.map(|sum| (sum / self.count as f64).sqrt());
        println!("{name:26}{metres:12.3}{degrees:12.2}{:14.3}{:12.2}", self.last[0], self.last[1]);
    }
}

fn main() -> std::io::Result<()> {
    let (flight, steps) = (host::flight(SAMPLES, 7), model::recorded());
    let (mut filter, mut blind) = (host::started(&flight), host::started(&flight));
    let (mut with, mut without, mut sensor) = (Errors::default(), Errors::default(), 0.0);
    let (mut positions, mut dropped, mut normalised, mut apart) = (0, 0, 0.0, 0.0_f64);
    let mut log = Log::new(&flight);
    for (k, (event, truth)) in flight.events.iter().enumerate() {
        // Programs that are run by polygrad, from the same estimate: each tenth of the first steps.
        let expected = (k < 2000 && k % 10 < 2).then(|| host::step_recorded(&steps, filter.estimate(), event));
        dropped += usize::from(!host::step(&mut filter, event));
        if let Some(expected) = expected {
            apart = apart.max(host::apart(filter.estimate(), &expected));
        }
        log.add(event, &filter);
        match event {
            Event::Inertial { .. } => _ = host::step(&mut blind, event),
            Event::Position(z) => {
                let error: [f64; 3] = std::array::from_fn(|k| f64::from(z[k]) - truth[k]);
                (sensor, positions) = (sensor + length(&error).powi(2), positions + 1);
                normalised += host::normalised_error(filter.estimate(), truth);
            }
            Event::Field(_) => {}
        }
        with.add(&filter, truth);
        without.add(&blind, truth);
    }

    println!("{SAMPLES} samples in {} s, and {} measurements", SAMPLES as f64 * DT, flight.events.len() - SAMPLES);
    println!("{:26}{:>12}{:>12}{:>14}{:>12}", "", "metres", "degrees", "at the end: m", "degrees");
    without.line("integrated samples alone");
    println!("{:26}{:12.3}", "positions as measured", (sensor / f64::from(positions)).sqrt());
    with.line("the filter");
    println!("normalised error: {:.1} for 15 numbers", normalised / f64::from(positions));
    println!("{dropped} measurements do not fit");
    println!("emitted code and recorded programs differ by at most {apart:.1e} deviations\n");
    print!("{}", include_str!(concat!(env!("OUT_DIR"), "/memory.txt")));
    match std::env::args().nth(1) {
        Some(path) => log.write(Path::new(&path), &filter),
        None => Ok(()),
    }
}
