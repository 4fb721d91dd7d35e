//! Learns to read handwritten digits with a convolutional network.
//!
//! `cargo run --release --example convolutional [FOLDER OF THE PICTURE] [SEED]`; with `--time` in place of both, times.
//!
//! The images are those of the example `digits`, with the same ones held out. Three convolutions with batch normalisation
//! and rectifiers, two of them before a pooling, see an image; an affine layer, before which some features are dropped,
//! says the digit. One step of training is one recorded program: gradient, update and running averages. The host draws
//! what is random, as data of the step: how images are moved by a pixel, and what is dropped.
//! `docs/examples/convolutional.md` shows the picture and what is printed.

use std::error::Error;
use std::io::Write;

use indicatif::{ProgressBar, ProgressStyle};
use polygrad::array::Rng;
use polygrad::nn::{
    BatchNorm, BatchStatistics, Conv2d, Init, Linear, accuracy, dropout, dropout_mask, smoothed_cross_entropy,
};
use polygrad::optim::{Adam, Optimizer, Rate};
use polygrad::{BaseTensor, Concrete, Conv, Function, Tensor, Tree, value_and_grad};

#[allow(dead_code, reason = "its data alone are used")]
#[path = "../digits.rs"]
mod digits;
mod picture;
use digits::{HELD_OUT, Image};
use picture::Picture;

/// The side of an image.
const SIDE: usize = 8;
const CLASSES: usize = 10;
/// The probability that a feature is kept.
const KEEP: f64 = 0.7;

/// How much is computed.
pub(crate) struct Size {
    /// Channels after each convolution.
    pub(crate) channels: [usize; 3],
    pub(crate) batch: usize,
    pub(crate) updates: usize,
    /// Updates between two looks at the images that are held out.
    pub(crate) look: usize,
}

pub(crate) const FULL: Size = Size { channels: [16, 32, 32], batch: 50, updates: 900, look: 30 };

/// A convolution that keeps the size of images, and its normalisation.
#[derive(Tree, Clone)]
struct Block<T: BaseTensor> {
    convolution: Conv2d<T, f32>,
    norm: BatchNorm<T, f32>,
}

#[derive(Tree, Clone)]
struct Network<T: BaseTensor> {
    blocks: [Block<T>; 3],
    scores: Linear<T, f32>,
}

/// What is known of the channels of each block.
type Statistics<T> = [BatchStatistics<T, f32>; 3];

/// Images `[n, 1, side, side]`, and their labels.
type Images<T> = (Tensor<T, 4, f32>, Tensor<T, 1, i64>);

/// Images, and which features are kept.
type Batch<T> = (Images<T>, Tensor<T, 2, bool>);

impl<T: BaseTensor> Network<T> {
    /// What the blocks see, a row for each image; `norm` normalises after block `k`.
    fn features(
        &self,
        x: &Tensor<T, 4, f32>,
        mut norm: impl FnMut(usize, &Tensor<T, 4, f32>) -> Tensor<T, 4, f32>,
    ) -> Tensor<T, 2, f32> {
        let mut x = x.clone();
        for (k, block) in self.blocks.iter().enumerate() {
            x = norm(k, &block.convolution.apply(&x)).relu();
            if k > 0 {
                x = x.max_pool2d([2, 2], [2, 2]);
            }
        }
        let n = x.dim::<0>();
        x.reshape([n, x.size() / n])
    }

    /// The scores of the images of a batch in training, and the running averages after it.
    fn learn(&self, (images, kept): &Batch<T>, before: &Statistics<T>) -> (Tensor<T, 2, f32>, Statistics<T>) {
        let mut after = before.clone();
        let features = self.features(&images.0, |k, x| {
            let (y, seen) = self.blocks[k].norm.train(x, &before[k]);
            after[k] = seen;
            y
        });
        (self.scores.apply(&dropout(&features, kept, KEEP)), after)
    }

    /// The loss of a batch in training.
    fn loss(&self, batch: &Batch<T>, before: &Statistics<T>) -> Tensor<T, 0, f32> {
        let (scores, _) = self.learn(batch, before);
        smoothed_cross_entropy(&scores, 1, &batch.0.1, 0.1).mean()
    }

    /// The scores of images, by the averages of training.
    fn read(&self, x: &Tensor<T, 4, f32>, by: &Statistics<T>) -> Tensor<T, 2, f32> {
        self.scores.apply(&self.features(x, |k, x| self.blocks[k].norm.apply(x, &by[k])))
    }
}

fn network(channels: [usize; 3], rng: &mut Rng) -> Network<Concrete> {
    let mut block = |inputs: usize, outputs: usize| Block {
        convolution: Conv2d::new([inputs, outputs], [3, 3], Conv::default().padding([1, 1]), Init::HeNormal, rng)
            .without_bias(),
        norm: BatchNorm::new(outputs),
    };
    let [first, second, third] = channels;
    let blocks = [block(1, first), block(first, second), block(second, third)];
    let features = third * (SIDE / 4) * (SIDE / 4);
    Network { blocks, scores: Linear::new([features, CLASSES], Init::GlorotUniform, rng) }
}

/// Some of the images, each moved by what `shift` says.
fn images(rows: &[Image], chosen: &[usize], mut shift: impl FnMut() -> [isize; 2]) -> Images<Concrete> {
    let mut pixels = Vec::new();
    for k in chosen {
        let [down, right] = shift();
        let pixel = |i: usize, j: usize| {
            let (i, j) = (i.checked_add_signed(-down), j.checked_add_signed(-right));
            match (i, j) {
                (Some(i), Some(j)) if i < SIDE && j < SIDE => rows[*k].0[SIDE * i + j] as f32,
                _ => 0.0,
            }
        };
        pixels.extend((0..SIDE * SIDE).map(|p| pixel(p / SIDE, p % SIDE)));
    }
    let labels = chosen.iter().map(|k| rows[*k].1).collect();
    (Tensor::new([chosen.len(), 1, SIDE, SIDE], pixels), Tensor::new([chosen.len()], labels))
}

/// The images that are read wrongly during training, in percent, after some updates.
#[derive(Default)]
pub(crate) struct Curve {
    pub(crate) updates: Vec<f64>,
    pub(crate) training: Vec<f64>,
    pub(crate) held_out: Vec<f64>,
}

impl Curve {
    pub(crate) fn draw(&self) -> Result<String, Box<dyn Error>> {
        let picture = Picture::new("Handwritten digits: images read wrongly", "update", "percent").with_zero();
        let picture = picture.line("in training, moved and with features dropped", 0, &self.updates, &self.training);
        picture.line("held out", 1, &self.updates, &self.held_out).svg()
    }
}

/// Trains a network, and reports to `out`.
pub(crate) fn train(size: &Size, seed: u64, out: &mut dyn Write) -> Result<Curve, Box<dyn Error>> {
    let mut rng = Rng::new(seed);
    let rows = digits::read()?;
    // As in the example `digits`.
    let order = rng.permutation(rows.len());
    let (test, training) = order.split_at(HELD_OUT);
    let held_out = images(&rows, test, || [0, 0]);
    let net = network(size.channels, &mut rng);
    let statistics: Statistics<Concrete> = size.channels.map(BatchStatistics::new);
    let features = net.scores.weight.dim::<0>();
    let (mut training, mut next) = (training.to_vec(), 0);
    let mut batch = || -> Batch<Concrete> {
        if next + size.batch > training.len() {
            next = 0;
        }
        if next == 0 {
            rng.shuffle(&mut training);
        }
        let chosen = &training[next..next + size.batch];
        next += size.batch;
        let images = images(&rows, chosen, || [0; 2].map(|_| rng.below(3) as isize - 1));
        (images, dropout_mask([size.batch, features], KEEP, &mut rng))
    };

    let adam = Adam::new(Rate::cosine(0.004, 0.00004, size.updates)).decay(0.01);
    let mut now = ((net.clone(), adam.init(&net)), statistics);
    let step = Function::stage_with(
        |((net, state), before), batch| {
            let labels = &batch.0.1;
            let (loss, slope) = value_and_grad(|net: &Network<_>| net.loss(&batch.lift(), &before.lift()), net);
            // The same operations as those of the loss, which the program has once.
            let (scores, after) = net.learn(batch, before);
            ((adam.update(net, &slope, state), after), (loss, accuracy(&scores, 1, labels)))
        },
        &now,
        &batch(),
    );
    let right = Function::stage_with(
        |(net, by): &(Network<_>, Statistics<_>), (x, labels)| accuracy(&net.read(x, by), 1, labels),
        &(net.clone(), now.1.clone()),
        &held_out,
    );

    let parameters = net.ravel().len();
    writeln!(
        out,
        "{} images to learn from, {HELD_OUT} held out, {parameters} parameters, seed {seed}",
        order.len() - HELD_OUT
    )?;
    writeln!(out, "update   training loss   read in training   held out")?;
    let bar = ProgressBar::new(size.updates as u64).with_style(ProgressStyle::with_template("{wide_bar} {eta} {msg}")?);
    let (mut curve, mut loss, mut read) = (Curve::default(), 0.0, 0.0);
    for k in 1..=size.updates {
        let (next, (value, share)) = step.run_with(&now, &batch())?;
        now = next;
        loss += f64::from(value.item()) / size.look as f64;
        read += 100.0 * f64::from(share.item()) / size.look as f64;
        bar.set_message(format!("loss {:.2}", value.item()));
        bar.inc(1);
        if k % size.look == 0 {
            let held_out = 100.0 * f64::from(right.run_with(&(now.0.0.clone(), now.1.clone()), &held_out)?.item());
            curve.updates.push(k as f64);
            curve.training.push(100.0 - read);
            curve.held_out.push(100.0 - held_out);
            if k % (5 * size.look) == 0 || k == size.look {
                bar.suspend(|| writeln!(out, "{k:>6}   {loss:>13.3}   {read:>14.1} %   {held_out:>6.1} %"))?;
            }
            (loss, read) = (0.0, 0.0);
        }
    }
    bar.finish_and_clear();
    let share = f64::from(right.run_with(&(now.0.0, now.1), &held_out)?.item());
    writeln!(out, "{:.0} of {HELD_OUT} held-out images are read correctly", share * HELD_OUT as f64)?;
    Ok(curve)
}

/// The times beside those of `python/gallery/convolutional.py`: the first images, and parameters from a wave.
fn times() -> Result<(), Box<dyn Error>> {
    let net = network(FULL.channels, &mut Rng::new(0));
    let wave = Tensor::from_fn([net.ravel().len()], |[k]| 0.2 * (0.7 * k as f64).sin());
    let first: Vec<usize> = (0..FULL.batch).collect();
    let kept = Tensor::from_fn([FULL.batch, net.scores.weight.dim::<0>()], |[i, j]| (i + j) % 3 > 0);
    let (net, batch) = (&net.unravel(&wave), &(images(&digits::read()?, &first, || [0, 0]), kept));
    picture::timed("loss and gradient", 100, || {
        let before: Statistics<Concrete> = FULL.channels.map(BatchStatistics::new);
        let f = Function::value_and_grad_with(|net: &Network<_>, batch| net.loss(batch, &before.lift()), net, batch);
        move || f.run_with(net, batch).map(|(y, slope)| [y.item().into(), slope.ravel().norm().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("--time") {
        return times();
    }
    let seed = std::env::args().nth(2).map_or(Ok(1), |text| text.parse())?;
    let start = std::time::Instant::now();
    let curve = train(&FULL, seed, &mut std::io::stdout())?;
    println!("---\n{:.1} s", start.elapsed().as_secs_f64());
    println!("picture: {}", picture::save(&picture::folder(), "convolutional", &curve.draw()?)?.display());
    let wrong = curve.held_out.last().copied().unwrap_or(100.0);
    if wrong > 1.5 {
        return Err(format!("at most 1.5 % of the images must be read wrongly, but it is {wrong:.1} %").into());
    }
    Ok(())
}
