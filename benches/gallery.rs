//! The gradients of the gallery: their operations and times, as recorded and as run.
//!
//! Operations, elements computed or moved, and bytes are counted, not measured; times are medians of interleaved runs,
//! in microseconds, and mean little on a shared machine: read the ratios.
//! `cargo bench --bench gallery -- name` shows the objectives whose names contain `name`.

#[path = "../tests/gallery/mod.rs"]
mod gallery;

use std::hint::black_box;
use std::time::Instant;

use gallery::{Leaves, Objective, Visitor};
use polygrad::inspect::{Cost, count};
use polygrad::passes::optimize;
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, Concrete, direct, symbolic};

/// The sums of a column, for the last line.
#[derive(Default)]
struct Table {
    filter: Option<String>,
    rows: usize,
    sums: [f64; 9],
}

fn cost(program: &Program, inputs: &[Array]) -> Cost {
    let inputs = Leaves(inputs.to_vec());
    count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &inputs).1.total()
}

/// The medians of several things done in turn, in microseconds.
fn medians<const N: usize>(mut runs: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut samples = [const { Vec::new() }; N];
    for _ in 0..9 {
        for (run, samples) in runs.iter_mut().zip(&mut samples) {
            let start = Instant::now();
            run();
            samples.push(start.elapsed().as_nanos() as f64 / 1e3);
        }
    }
    samples.map(|mut s| {
        s.sort_by(f64::total_cmp);
        s[s.len() / 2]
    })
}

impl Visitor for Table {
    fn visit<O: Objective>(&mut self) {
        if self.filter.as_ref().is_some_and(|f| !O::NAME.contains(f)) {
            return;
        }
        let (x, data) = (O::inputs(), O::data());
        let inputs: Vec<Array> = x.0.iter().chain(&data.0).cloned().collect();
        let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
        let (xs, ds) = variables.split_at(x.0.len());
        let y = O::eval(&Leaves(xs.to_vec()), &Leaves(ds.to_vec())).into_raw();
        let program = Term::program(&variables, &[y], &[]).expect("a closed program");
        let wrt: Vec<usize> = (0..x.0.len()).collect();
        let recorded = symbolic::value_and_grad_in(&program, &wrt);
        let ready = optimize(&symbolic::value_and_grad_in(&optimize(&program), &wrt));

        let (before, after) = (cost(&recorded, &inputs), cost(&ready, &inputs));
        let mut running = || {
            let f = |x: &Leaves<_>, d: &Leaves<_>| O::eval(x, d);
            black_box(direct::value_and_grad_with::<Concrete, _, _, _>(f, &x, &data));
        };
        let mut as_recorded = || drop(black_box(interpret(&recorded, inputs.clone())));
        let mut as_ready = || drop(black_box(interpret(&ready, inputs.clone())));
        let [running, as_recorded, as_ready] = medians([&mut running, &mut as_recorded, &mut as_ready]);
        let numbers = [
            recorded.size() as f64,
            ready.size() as f64,
            before.work as f64,
            after.work as f64,
            before.bytes as f64,
            after.bytes as f64,
            running,
            as_recorded,
            as_ready,
        ];
        self.rows += 1;
        self.sums.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x);
        line(O::NAME, &numbers);
    }
}

fn line(name: &str, numbers: &[f64; 9]) {
    let [a, b, c, d, e, f, running, recorded, ready] = numbers;
    println!("{name:32}{a:>7}{b:>7}{c:>10}{d:>10}{e:>11}{f:>11}{running:>10.1}{recorded:>10.1}{ready:>10.1}");
}

fn main() {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    println!("{:32}{:>14}{:>20}{:>22}{:>30}", "value and gradient", "operations", "elements", "bytes", "microseconds");
    println!(
        "{:32}{:>7}{:>7}{:>10}{:>10}{:>11}{:>11}{:>10}{:>10}{:>10}",
        "", "before", "after", "before", "after", "before", "after", "direct", "before", "after"
    );
    let mut table = Table { filter, ..Table::default() };
    gallery::each(&mut table);
    line("together", &table.sums);
}
