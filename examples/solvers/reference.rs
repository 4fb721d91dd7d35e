//! Draws the parameters of models of posteriordb by the crate `nuts-rs` 0.19, and compares the draws with those of Stan.
//!
//! `cargo run --release -p polygrad-solvers --example reference`
//!
//! The models are those of the example `posteriors`, for which Stan drew four times 4,000 points (`stan.py`). Law: each mean
//! and each standard deviation of a parameter without bounds lies within five standard errors of that of Stan, where
//! both are from draws, and the error is that of their difference. Seeds are given, and so the draws are always the same.

mod chains;
#[path = "../posteriors/models.rs"]
mod models;
#[path = "../posteriors/recorded.rs"]
mod recorded;

use std::time::Instant;

use chains::{chains, mean};
use models::{Visitor, points};
use polygrad::{Concrete, FlatFunction, Tree};

/// How many standard errors a mean may lie beside that of Stan. There are some 1,600 means and deviations.
const MOST: f64 = 5.0;
/// How many batches of the draws of a chain are taken as independent.
const BATCHES: u64 = 20;

/// How the draws of a model lie beside those of Stan.
struct Row {
    name: &'static str,
    parameters: usize,
    /// The largest distance of a mean, in standard errors, and that of a standard deviation.
    distance: [f64; 2],
    /// The largest distance of a mean in standard deviations.
    apart: f64,
    seconds: f64,
}

/// The comparison of models: those with at most so many parameters.
struct Comparison {
    draws: u64,
    parameters: usize,
    rows: Vec<Row>,
}

impl Comparison {
    fn new(draws: u64, parameters: usize) -> Comparison {
        let mut all = Comparison { draws, parameters, rows: Vec::new() };
        models::all(&mut all);
        all
    }
}

/// The larger one; NaN is larger than all numbers.
fn larger(a: f64, b: f64) -> f64 {
    if b <= a { a } else { b }
}

impl Visitor for Comparison {
    fn model<P: Sync, D: Tree<Concrete>>(&mut self, name: &'static str, f: &FlatFunction<P>, start: &[f64], _: &D) {
        let recorded = |kind: &str| recorded::numbers(name, kind);
        let kinds = ["mean", "error of mean", "deviation", "error of deviation"].map(recorded);
        let [Some(means), Some(of_means), Some(deviations), Some(of_deviations)] = kinds else { return };
        if f.len() > self.parameters {
            return;
        }
        let begin = Instant::now();
        let draws = chains(f, &points(start)[0], 4, self.draws).unwrap_or_else(|error| panic!("{name}: {error}"));
        let seconds = begin.elapsed().as_secs_f64();
        let batch = (self.draws / BATCHES) as usize;
        let mut row = Row { name, parameters: f.len(), distance: [0.0; 2], apart: 0.0, seconds };
        for k in 0..f.len() {
            let mut values: Vec<f64> = draws.iter().map(|draw| draw[k]).collect();
            let (center, error) = mean(&values, batch);
            values.iter_mut().for_each(|x| *x = (*x - center).powi(2));
            let (variance, of_variance) = mean(&values, batch);
            let (deviation, of_deviation) = (variance.sqrt(), of_variance / (2.0 * variance.sqrt()));
            let far = [
                (center - means[k]).abs() / error.hypot(of_means[k]),
                (deviation - deviations[k]).abs() / of_deviation.hypot(of_deviations[k]),
            ];
            row.distance = [0, 1].map(|i| larger(row.distance[i], far[i]));
            row.apart = larger(row.apart, (center - means[k]).abs() / deviations[k]);
        }
        self.rows.push(row);
    }
}

/// Whether all means and deviations are those of Stan.
fn agrees(row: &Row) -> bool {
    row.distance.iter().all(|far| *far < MOST)
}

fn main() {
    println!("{:<30} parameters   mean   in errors   deviation, in errors   seconds", "");
    let rows = Comparison::new(4000, usize::MAX).rows;
    for Row { name, parameters, distance: [of_mean, of_deviation], apart, seconds } in &rows {
        println!("{name:<30} {parameters:>10} {apart:>6.3} {of_mean:>11.1} {of_deviation:>22.1} {seconds:>9.1}");
    }
    let others: Vec<&str> = rows.iter().filter(|row| !agrees(row)).map(|row| row.name).collect();
    assert!(others.is_empty(), "not the posterior of Stan: {others:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_stan() {
        let rows = Comparison::new(500, 5).rows;
        assert!(rows.len() >= 10, "{} models", rows.len());
        for row in rows {
            assert!(agrees(&row), "{}: {:?} standard errors", row.name, row.distance);
        }
    }
}
