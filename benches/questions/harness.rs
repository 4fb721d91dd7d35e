//! A small timer: medians of interleaved samples, so that a ratio of two rows is from the same moments.
//!
//! Times on a shared machine mean little by themselves; read the ratios.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// A measured piece of work.
pub(crate) struct Case<'a> {
    name: String,
    /// How many units of work one call does.
    units: f64,
    run: Box<dyn FnMut() + 'a>,
}

/// A case whose result is kept from the optimizer; `units` is how many operations or elements a call does.
pub(crate) fn case<'a, R>(name: impl Into<String>, units: usize, mut run: impl FnMut() -> R + 'a) -> Case<'a> {
    Case { name: name.into(), units: units as f64, run: Box::new(move || drop(black_box(run()))) }
}

/// Times the cases side by side and prints nanoseconds per unit, with the ratio to the first case.
pub(crate) fn compare(title: &str, unit: &str, mut cases: Vec<Case<'_>>) {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    if filter.is_some_and(|f| !title.contains(&f)) {
        return;
    }
    const SAMPLES: usize = 15;
    let target = Duration::from_millis(8);
    let repeats: Vec<u32> = cases
        .iter_mut()
        .map(|case| {
            (case.run)();
            let start = Instant::now();
            (case.run)();
            let once = start.elapsed().max(Duration::from_nanos(20));
            (target.as_nanos() / once.as_nanos()).clamp(1, 1_000_000) as u32
        })
        .collect();
    let mut samples = vec![Vec::with_capacity(SAMPLES); cases.len()];
    for _ in 0..SAMPLES {
        for ((case, repeats), samples) in cases.iter_mut().zip(&repeats).zip(&mut samples) {
            let start = Instant::now();
            for _ in 0..*repeats {
                (case.run)();
            }
            samples.push(start.elapsed().as_nanos() as f64 / f64::from(*repeats) / case.units);
        }
    }
    println!("\n{title} (ns per {unit}: median, minimum; ratio to the first)");
    let mut first = 0.0;
    for (case, samples) in cases.iter().zip(&mut samples) {
        samples.sort_by(f64::total_cmp);
        let median = samples[SAMPLES / 2];
        if first == 0.0 {
            first = median;
        }
        println!("  {:<44} {:>12.3} {:>12.3} {:>8.2}", case.name, median, samples[0], median / first);
    }
}
