//! The examples and benchmarks of horde-ad, a library of the same ideas in Haskell, beside the times that its repository
//! states.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release --example horde_ad` prints the tables of `docs/horde-ad.md`; words after
//! `--` choose the tables whose titles contain them.
//!
//! Law: each program is one generic function, and has the sizes of the one that it stands beside. Inputs are random
//! numbers, as there: equal ones would be folded.
//!
//! | file | contents |
//! |---|---|
//! | `convolutions` | convolutions element by element, gradients by hand |
//! | `gathers` | windows by gathers, and their adjoints |
//! | `products`, `folds` | products of many numbers, folds within folds |
//! | `networks` | networks for handwritten digits |
//! | `cases` | their sizes and inputs |
//! | `counts` | what the programs cost |
//! | `stated`, `measure` | stated times; times and costs |

use std::env;
use std::io::{self, Write};

use polygrad::{Concrete, Function, Tensor, direct, grad, grad_with, tensor};

pub(crate) mod cases;
pub(crate) mod convolutions;
pub(crate) mod counts;
pub(crate) mod folds;
pub(crate) mod gathers;
pub(crate) mod measure;
pub(crate) mod networks;
pub(crate) mod products;
pub(crate) mod stated;

use cases::{ConvolutionCase, convolutional_case, drawn, lists_case, matrices_case, recurrent_case};
use convolutions::Variant;
use measure::{median, time};

/// The cells of a row: a name, and the times that are stated, if they are, each beside the time here.
fn compared(name: String, there: &[Option<f64>], here: &[f64]) -> Vec<String> {
    let pairs = there.iter().zip(here).flat_map(|(there, here)| [there.map_or("-".into(), time), time(*here)]);
    std::iter::once(name).chain(pairs).collect()
}

fn head(out: &mut dyn Write, title: &str, columns: &[&str]) -> io::Result<()> {
    writeln!(out, "\n{title}\n\n| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()))
}

fn row(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    writeln!(out, "| {} |", cells.join(" | "))?;
    out.flush()
}

/// Gradients of the convolution that preserves sizes, in its kernels or in its images.
fn convolution_table(out: &mut dyn Write, in_kernels: bool) -> io::Result<()> {
    let what = if in_kernels { "kernels" } else { "images" };
    let columns = [
        "size",
        "derived: stated",
        "here",
        "by hand: stated",
        "here",
        "to make: stated",
        "here",
        "both: stated",
        "here",
    ];
    head(out, &format!("Gradient of a convolution in its {what}"), &columns)?;
    for known in if in_kernels { stated::IN_KERNELS } else { stated::IN_IMAGES } {
        let case = ConvolutionCase::new(Variant::Preserving, known.size);
        let (x, data) = case.arguments(in_kernels);
        let (derived, by_hand) = (case.derived(in_kernels), case.by_hand(in_kernels));
        let here = [
            median(|| derived.run_with(&x, &data)),
            median(|| by_hand.run_with(&x, &data)),
            median(|| {
                let made = case.derived(in_kernels);
                made.executable().peak_bytes()
            }),
            median(|| grad_with(|x, data| case.paired(in_kernels, x, data), &x, &data)),
        ];
        let there = [known.derived[0], known.by_hand[0], known.made[0], known.made[1]].map(Some);
        row(out, &compared(format!("{0} x {0}", known.size), &there, &here))?;
    }
    Ok(())
}

fn convolutional_table(out: &mut dyn Write) -> io::Result<()> {
    let columns = ["size", "derived: stated", "here", "to make: stated", "here", "both: stated", "here"];
    head(out, "Gradient of a convolutional network", &columns)?;
    for (size, there) in stated::CONVOLUTIONAL {
        let (x, data) = convolutional_case(size);
        let made = Function::grad_with(cases::convolutional_loss, &x, &data);
        let here = [
            median(|| made.run_with(&x, &data)),
            median(|| Function::grad_with(cases::convolutional_loss, &x, &data).executable().peak_bytes()),
            median(|| grad_with(cases::convolutional_loss, &x, &data)),
        ];
        row(out, &compared(format!("{size} x {size}"), &there.map(Some), &here))?;
    }
    Ok(())
}

fn gather_table(out: &mut dyn Write) -> io::Result<()> {
    head(out, "Windows by gathers, and their adjoints", &["program", "stated", "here"])?;
    for (name, there) in stated::GATHERS {
        let (program, x) = cases::gather_case(name);
        row(out, &[name.into(), time(there), time(median(|| program.run(&x)))])?;
    }
    Ok(())
}

fn product_table(out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        "numbers",
        "list from the left, directly: stated",
        "here",
        "from the right: stated",
        "here",
        "fold: stated",
        "here",
        "list, a call: stated",
        "here",
        "fold, a call: stated",
        "here",
        "fold, made before: here",
    ];
    head(out, "Gradient of a product", &columns)?;
    for (n, there) in stated::PRODUCTS {
        let x = drawn([n], 42) + 1.05;
        let list: Vec<Tensor<Concrete, 0>> = x.elements().iter().map(|x| tensor(*x)).collect();
        let made = Function::grad(products::folded, &x);
        let here = [
            median(|| direct::grad(|list: &Vec<_>| products::from_left(list), &list)),
            median(|| direct::grad(|list: &Vec<_>| products::from_right(list), &list)),
            median(|| direct::grad(products::folded, &x)),
            median(|| grad(|list: &Vec<_>| products::from_left(list), &list)),
            median(|| grad(products::folded, &x)),
        ];
        let mut cells = compared(n.to_string(), &there, &here);
        cells.push(time(median(|| made.run(&x))));
        row(out, &cells)?;
    }
    Ok(())
}

fn descent_table(out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        "widths",
        "lists, directly: stated",
        "here",
        "made before: stated",
        "here",
        "matrices, directly: stated",
        "here",
        "made before: stated",
        "here",
        "to make that: stated",
        "here",
    ];
    head(out, "Forty steps of descent of a network with two hidden layers", &columns)?;
    for (widths, there) in stated::DESCENTS {
        let (lists, examples) = lists_case(widths);
        let (matrices, _) = matrices_case(widths);
        let step_of_lists = Function::stage_with(cases::step_of_lists, &lists, &examples[0]);
        let step_of_matrices = Function::stage_with(cases::step_of_matrices, &matrices, &examples[0]);
        let here = [
            median(|| examples.iter().fold(lists.clone(), |x, example| cases::direct_step_of_lists(&x, example))),
            median(|| cases::descent(&step_of_lists, &lists, &examples)),
            median(|| examples.iter().fold(matrices.clone(), |x, example| cases::direct_step_of_matrices(&x, example))),
            median(|| cases::descent(&step_of_matrices, &matrices, &examples)),
            median(|| Function::stage_with(cases::step_of_matrices, &matrices, &examples[0]).executable().peak_bytes()),
        ];
        row(out, &compared(format!("{}, {}", widths[0], widths[1]), &there, &here))?;
    }
    Ok(())
}

/// The other convolutions, for which no times are stated.
fn variant_table(out: &mut dyn Write) -> io::Result<()> {
    head(out, "Gradients of other convolutions, 48 x 48", &["convolution", "in", "derived", "by hand"])?;
    for variant in [Variant::Shrinking, Variant::Padded] {
        for (what, in_kernels) in [("kernels", true), ("images", false)] {
            let case = ConvolutionCase::new(variant, 48);
            let (x, data) = case.arguments(in_kernels);
            let both = [case.derived(in_kernels), case.by_hand(in_kernels)];
            let [derived, by_hand] = both.map(|made| time(median(|| made.run_with(&x, &data))));
            row(out, &[format!("{variant:?}").to_lowercase(), what.into(), derived, by_hand])?;
        }
    }
    Ok(())
}

/// Programs of its tests, for which no times are stated.
fn other_table(out: &mut dyn Write) -> io::Result<()> {
    head(out, "Programs without stated times", &["gradient", "to make", "run"])?;
    let x = tensor(1.1);
    for copies in cases::NESTED {
        let f = move |a: &products::Number<_>| folds::products(copies, 0.7, a);
        made_and_run(
            out,
            &format!("nested folds of {copies:?} products"),
            || Function::grad(f, &x),
            |made| made.run(&x),
        )?;
    }
    let scans = |a: &products::Number<_>| folds::over_scans(0.1, a);
    made_and_run(out, "folds over scans in a fold", || Function::grad(scans, &x), |made| made.run(&x))?;
    for steps in [1000, 10_000] {
        let f = move |a: &products::Number<_>| folds::sines(steps, a);
        made_and_run(out, &format!("fold of {steps} sines"), || Function::grad(f, &x), |made| made.run(&x))?;
    }
    let (x, data) = recurrent_case(128, 150);
    let make = || Function::grad_with(networks::recurrent_loss, &x, &data);
    made_and_run(out, "recurrent network of width 128, 150 pictures", make, |made| made.run_with(&x, &data))
}

/// A row with the time to make a function, and that of a run of it.
fn made_and_run<P, Q, Y, R>(
    out: &mut dyn Write,
    name: &str,
    make: impl Fn() -> Function<P, Q, Y>,
    run: impl Fn(&Function<P, Q, Y>) -> R,
) -> io::Result<()> {
    let made = make();
    let seconds = median(|| make().executable().peak_bytes());
    row(out, &[name.into(), time(seconds), time(median(|| run(&made)))])
}

/// A table that is written to an output.
type Table = fn(&mut dyn Write) -> io::Result<()>;

/// The tables, with their titles.
const TABLES: [(&str, Table); 9] = [
    ("convolution, kernels", |out| convolution_table(out, true)),
    ("convolution, images", |out| convolution_table(out, false)),
    ("convolutions, the others", variant_table),
    ("convolutional network", convolutional_table),
    ("gathers", gather_table),
    ("products", product_table),
    ("descents", descent_table),
    ("other", other_table),
    ("counts", |out| writeln!(out, "\n{}", counts::report())),
];

fn main() -> io::Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let chosen = |title: &str| words.is_empty() || words.iter().any(|word| title.contains(&word[..]));
    TABLES.iter().filter(|(title, _)| chosen(title)).try_for_each(|(_, table)| table(&mut io::stdout()))
}
