//! Models of the collection posteriordb as programs, with the time of a value with its gradient.
//!
//! `cargo run --release --example posteriors`
//!
//! The models are those of the collection, as log densities of a struct of unconstrained parameters; the data are drawn
//! at random in the sizes of the collection. Each gradient is compared with finite differences, and with that of Stan
//! for the same data. What a sampler calls is
//! [`FlatFunction::value_and_grad`](polygrad::FlatFunction::value_and_grad). With `--data FILE` data and points are
//! written to a file instead, from which `stan.py` records what Stan makes of them.

mod models;
mod recorded;

use std::io::Write;
use std::time::Instant;

use models::{Visitor, points};
use polygrad::{Array, Concrete, FlatFunction, Tree};

/// What is reported on a model.
pub(crate) struct Report {
    /// Its name in the collection.
    pub(crate) name: &'static str,
    /// The number of parameters.
    pub(crate) parameters: usize,
    /// The largest difference from finite differences, relative to the largest derivative.
    pub(crate) error: f64,
    /// The largest difference of a derivative from that of Stan, relative to the largest derivative.
    pub(crate) from_stan: f64,
    /// How far the change of the log density from one point to another differs from that of Stan, relative to the log
    /// densities.
    pub(crate) change_from_stan: f64,
    /// Nanoseconds of a value with its gradient, if they are measured.
    nanoseconds: f64,
}

/// The number of parameters whose derivatives are compared with finite differences.
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

/// The largest difference from numbers that were recorded, relative to the largest of them. NaN is no small difference.
fn distance(found: &[f64], recorded: &[f64]) -> f64 {
    assert_eq!(found.len(), recorded.len(), "`stan.txt` is of another model");
    let scale = recorded.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    let far = found.iter().zip(recorded).map(|(x, y)| (x - y).abs() / scale);
    far.fold(0.0, |most, x| if x <= most { most } else { x })
}

/// How far gradients and the change of the log density differ from those of Stan.
fn from_stan<P>(name: &str, f: &FlatFunction<P>, points: &[Vec<f64>; 2]) -> [f64; 2] {
    let recorded = |kind: &str| recorded::numbers(name, kind).unwrap_or_else(|| panic!("`stan.txt` lacks {name}"));
    let mut slope = vec![0.0; f.len()];
    let (mut values, mut worst) = ([0.0; 2], 0.0f64);
    for (k, point) in points.iter().enumerate() {
        values[k] = f.value_and_grad(point, &mut slope);
        let far = distance(&slope, &recorded(&format!("gradient {k}")));
        worst = if far <= worst { worst } else { far };
    }
    let scale = values.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    [worst, (values[1] - values[0] - recorded("change")[0]).abs() / scale]
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

/// The reports on models.
struct Reports {
    all: Vec<Report>,
    measure: bool,
}

impl Visitor for Reports {
    fn model<P: Sync, D: Tree<Concrete>>(&mut self, name: &'static str, f: &FlatFunction<P>, start: &[f64], _: &D) {
        let points = points(start);
        let [from_stan, change_from_stan] = from_stan(name, f, &points);
        let nanoseconds = if self.measure { time(f, &points[0]) } else { f64::NAN };
        let error = error(f, &points[0]);
        self.all.push(Report { name, parameters: f.len(), error, from_stan, change_from_stan, nanoseconds });
    }
}

/// Reports on all models, with times if they are wanted.
fn reports(measure: bool) -> Vec<Report> {
    let mut reports = Reports { all: Vec::new(), measure };
    models::all(&mut reports);
    reports.all
}

/// Reports on all models to `out`.
pub(crate) fn run(out: &mut dyn Write) -> std::io::Result<()> {
    let [beside, of] = ["gradient beside", "of value and"];
    writeln!(out, "{:<30} {:>10} {beside:>17} {beside:>16} {:>12} {of:>13}", "", "", "change")?;
    let [differences, stan] = ["differences", "Stan"];
    writeln!(out, "{:<30} parameters {differences:>17} {stan:>16} {stan:>12}   ns gradient", "model")?;
    for Report { name, parameters, error, from_stan, change_from_stan: change, nanoseconds } in reports(true) {
        writeln!(
            out,
            "{name:<30} {parameters:>10} {error:>17.1e} {from_stan:>16.1e} {change:>12.1e} {nanoseconds:>13.0}"
        )?;
    }
    Ok(())
}

/// Reports on all models, without times.
#[allow(dead_code, reason = "a test calls it")]
pub(crate) fn checked() -> Vec<Report> {
    reports(false)
}

/// Data and points of models as JSON.
struct Data(Vec<String>);

/// The shape and the elements of an array, whose notation is that of JSON.
fn json(array: &Array) -> String {
    let elements = match (array.elements::<f64>(), array.elements::<i64>(), array.elements::<bool>()) {
        (Ok(x), _, _) => format!("{x:?}"),
        (_, Ok(x), _) => format!("{x:?}"),
        (_, _, Ok(x)) => format!("{x:?}"),
        _ => panic!("data are floats, integers or masks"),
    };
    format!("[{:?}, {elements}]", array.shape())
}

impl Visitor for Data {
    fn model<P: Sync, D: Tree<Concrete>>(&mut self, name: &'static str, _: &FlatFunction<P>, start: &[f64], data: &D) {
        let arrays: Vec<String> = data.leaves().iter().map(json).collect();
        self.0.push(format!("{name:?}: {{\"points\": {:?}, \"data\": [{}]}}", points(start), arrays.join(", ")));
    }
}

#[allow(dead_code, reason = "not in the test")]
fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [flag, file] if flag == "--data" => {
            let mut data = Data(Vec::new());
            models::all(&mut data);
            std::fs::write(file, format!("{{{}}}\n", data.0.join(",\n")))
        }
        _ => run(&mut std::io::stdout()),
    }
}
