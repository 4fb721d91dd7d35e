//! Reads a table from a csv file, fits a classifier, and keeps its parameters in npy files, one for each tensor.
//!
//! `cargo run --release -p polygrad-files [table.csv] [folder]`
//!
//! Each row of the table has features and, last, a class 0, 1, ..; without an argument it is the table of handwritten
//! digits in `examples/data`. The files can be read by NumPy: `numpy.load("folder/weights.npy")`.
//!
//! This is a crate of its own because its two dependencies, `csv` and `npyz`, take as long to compile as the library.

mod files;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use files::{Table, load, read_table, save};
use polygrad::optim::{Adam, Optimizer, Rate};
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree};

/// Affine scores of the classes.
#[derive(Tree, Clone, Debug, PartialEq)]
struct Classifier<T: BaseTensor> {
    weights: Tensor<T, 2>,
    offsets: Tensor<T, 1>,
}

fn scores<T: BaseTensor>(model: &Classifier<T>, x: &Tensor<T, 2>) -> Tensor<T, 2> {
    let scores = x.matmul(&model.weights);
    &scores + model.offsets.up_to(&scores)
}

/// The mean cross-entropy, and a small weight decay.
fn loss<T: BaseTensor>(model: &Classifier<T>, (x, classes): &Table<T>) -> Tensor<T, 0> {
    scores(model, x).cross_entropy(1, classes).mean() + model.weights.square().sum() * 1e-4
}

/// The share of rows whose highest score is that of their class.
fn accuracy(model: &Classifier<Concrete>, (x, classes): &Table<Concrete>) -> f64 {
    scores(model, x).argmax_axis(1).eq(classes).to_float::<f64>().mean().item()
}

/// The classifier after `steps` steps, whose progress is shown if the error stream is a terminal.
fn fit(table: &Table<Concrete>, steps: usize) -> Result<Classifier<Concrete>, Box<dyn std::error::Error>> {
    let (x, classes) = table;
    let count = classes.max_all().item() as usize + 1;
    let mut model = Classifier { weights: Tensor::zeros([x.dim::<1>(), count]), offsets: Tensor::zeros([count]) };
    let adam = Adam::new(Rate::cosine(0.02, 0.002, steps));
    let mut state = adam.init(&model);
    let both = Function::value_and_grad_with(loss, &model, table);
    let bar = std::io::stderr().is_terminal();
    for step in 1..=steps {
        let (value, slope) = both.run_with(&model, table)?;
        (model, state) = adam.update(&model, &slope, &state);
        if bar {
            let done = "#".repeat(step * 30 / steps);
            eprint!("\rstep {step:>4} [{done:<30}] loss {:.4}", value.item());
            std::io::stderr().flush()?;
        }
    }
    if bar {
        eprintln!();
    }
    Ok(model)
}

/// Fits a classifier to a table, writes its parameters to a folder, reads them back, and compares.
fn run(
    table: &Path,
    folder: &Path,
    steps: usize,
    out: &mut dyn Write,
) -> Result<Classifier<Concrete>, Box<dyn std::error::Error>> {
    let data = read_table(table)?;
    let [rows, features] = data.0.shape();
    writeln!(out, "{}: {rows} rows of {features} features", table.display())?;
    let model = fit(&data, steps)?;
    let right = accuracy(&model, &data);
    writeln!(out, "{:.1} % of the rows are classified correctly", 100.0 * right)?;
    save(&model, folder)?;
    let loaded = load(&model, folder)?;
    if loaded != model {
        return Err(format!("{}: the parameters read back differ from those written", folder.display()).into());
    }
    writeln!(out, "{}: {} written, and read back the same", folder.display(), model.names().join(", "))?;
    Ok(loaded)
}

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let digits = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/digits.csv");
    let table = arguments.next().unwrap_or_else(digits);
    let folder = arguments.next().unwrap_or_else(|| std::env::temp_dir().join("polygrad-files"));
    match run(&table, &folder, 200, &mut std::io::stdout()) {
        Ok(_) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests;
