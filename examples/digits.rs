//! Trains a small network to read handwritten digits, by gradients of this library.
//!
//! `cargo run --release -p polygrad-examples --example digits [seed]`
//!
//! The data are 1797 images of 8 x 8 grey levels (see `data/README.md`). The network has one hidden layer. The
//! loss is written once, for any interpreter; its gradient is recorded once, as a program whose inputs are the
//! parameters and a batch, and run for every batch.

use std::io::{IsTerminal, Write};

use polygrad::array::Rng;
use polygrad::nn::{self, Init, Linear};
use polygrad::optim::{Optimizer, Sgd};
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, Tree};

const PIXELS: usize = 64;
const CLASSES: usize = 10;
const HIDDEN: usize = 48;
pub(crate) const HELD_OUT: usize = 297;
const EPOCHS: usize = 30;
const BATCH: usize = 50;

/// The parameters: two affine layers.
#[derive(Tree, Clone)]
pub(crate) struct Network<T: BaseTensor> {
    pub(crate) hidden: Linear<T>,
    pub(crate) output: Linear<T>,
}

/// Images, one per row, and their labels.
pub(crate) type Batch<T> = (Tensor<T, 2>, Tensor<T, 1, i64>);

/// One row of scores per image.
fn scores<T: BaseTensor>(net: &Network<T>, x: &Tensor<T, 2>) -> Tensor<T, 2> {
    net.output.apply(&net.hidden.apply(x).tanh())
}

/// The mean cross-entropy of the predicted distributions and the labels.
pub(crate) fn loss<T: BaseTensor>(net: &Network<T>, (x, labels): &Batch<T>) -> Tensor<T, 0> {
    scores(net, x).cross_entropy(1, labels).mean()
}

/// The share of images whose highest score is that of their label.
pub(crate) fn accuracy(net: &Network<Concrete>, (x, labels): &Batch<Concrete>) -> f64 {
    nn::accuracy(&scores(net, x), 1, labels).item()
}

pub(crate) fn network(rng: &mut Rng) -> Network<Concrete> {
    let mut layer = |inputs: usize, outputs: usize| {
        Linear::new([inputs, outputs], Init::Uniform(1.0 / (inputs as f64).sqrt()), rng)
    };
    Network { hidden: layer(PIXELS, HIDDEN), output: layer(HIDDEN, CLASSES) }
}

/// The pixels of an image, and its label.
pub(crate) type Image = (Vec<f64>, i64);

/// The rows of the data set, pixels scaled to `[0, 1]`.
pub(crate) fn read() -> Result<Vec<Image>, Box<dyn std::error::Error>> {
    let row = |(k, line): (usize, &str)| {
        let numbers = line.split(',').map(|n| n.trim().parse::<i64>()).collect::<Result<Vec<i64>, _>>()?;
        match numbers.split_last() {
            Some((label, pixels)) if pixels.len() == PIXELS => {
                Ok((pixels.iter().map(|p| *p as f64 / 16.0).collect(), *label))
            }
            _ => Err(format!("line {}: needs {} numbers, but there are {}", k + 1, PIXELS + 1, numbers.len()).into()),
        }
    };
    include_str!("data/digits.csv").lines().enumerate().map(row).collect()
}

pub(crate) fn batch(rows: &[Image], chosen: &[usize]) -> Result<Batch<Concrete>, Box<dyn std::error::Error>> {
    let pixels: Vec<f64> = chosen.iter().flat_map(|k| rows[*k].0.iter().copied()).collect();
    let labels: Vec<i64> = chosen.iter().map(|k| rows[*k].1).collect();
    let x = Array::try_new(&[chosen.len(), PIXELS], pixels)?;
    Ok((Tensor::constant(x), Tensor::constant(Array::from(labels))))
}

/// Trains a network from this seed, and reports to `out`.
pub(crate) fn train(seed: u64, out: &mut dyn Write) -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = Rng::new(seed);
    let rows = read()?;
    // Neighbouring rows are by the same writers: without shuffling, the held-out ones would be strangers.
    let order = rng.permutation(rows.len());
    let (test, train) = order.split_at(HELD_OUT);
    let held_out = batch(&rows, test)?;
    let mut train = train.to_vec();
    let mut net = network(&mut rng);
    let sgd = Sgd::new(0.05).momentum(0.9);
    let mut state = sgd.init(&net);
    let gradient_of = Function::value_and_grad_with(loss, &net, &batch(&rows, &train[..BATCH])?);

    let parameters: usize = net.leaves().iter().map(Array::size).sum();
    writeln!(out, "{} images to learn from, {HELD_OUT} held out, {parameters} parameters, seed {seed}", train.len())?;
    writeln!(out, "epoch   training loss   held-out accuracy")?;
    let bar = std::io::stderr().is_terminal();
    for epoch in 1..=EPOCHS {
        rng.shuffle(&mut train);
        let batches = train.chunks(BATCH);
        let (count, mut total) = (batches.len(), 0.0);
        for (k, chosen) in batches.enumerate() {
            let (value, gradient) = gradient_of.run_with(&net, &batch(&rows, chosen)?)?;
            (net, state) = sgd.update(&net, &gradient, &state);
            total += value.item();
            if bar {
                eprint!("\r{:>5}   [{:<30}]", epoch, "#".repeat((k + 1) * 30 / count));
                std::io::stderr().flush()?;
            }
        }
        if bar {
            eprint!("\r{:40}\r", "");
        }
        if epoch == 1 || epoch % 5 == 0 {
            let right = 100.0 * accuracy(&net, &held_out);
            writeln!(out, "{epoch:>5}   {:>13.4}   {right:>15.1} %", total / count as f64)?;
        }
    }
    let right = accuracy(&net, &held_out);
    writeln!(out, "{:.0} of {HELD_OUT} held-out images are read correctly", right * HELD_OUT as f64)?;
    if right < 0.95 {
        return Err(format!("expected at least 95 % of them, but it is {:.1} %", 100.0 * right).into());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seed = match std::env::args().nth(1) {
        Some(text) => text.parse().map_err(|_| format!("the seed must be a number, but it is {text:?}"))?,
        None => 1,
    };
    train(seed, &mut std::io::stdout())
}
