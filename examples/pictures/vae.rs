//! Learns to draw handwritten digits, by a variational autoencoder whose whole training is one program.
//!
//! `cargo run --release --example vae [FOLDER OF THE PICTURE] [SEED]`
//!
//! An image is a vector of numbers of the standard normal distribution, seen through a network. A second network says for
//! an image which vectors it may have come from: means and variances. Both learn by the evidence lower bound, a bound of
//! the log density of the images (D. P. Kingma, M. Welling, *Auto-encoding variational Bayes*, ICLR 2014). A pixel counts
//! the dark ones of 16 finer pixels, so its distribution is binomial, and the bound is that of a density of counts.
//!
//! All epochs are one recorded program, which the host calls once: for each epoch a random order of the images, for each
//! batch random vectors, the gradient of the bound and the update by `Adam`. Its only source of random numbers is the key
//! that it is called with. Another program draws new images from a key. `docs/examples/vae.md` shows the picture and what
//! is printed.

use std::error::Error;
use std::io::Write;

use polygrad::array::Rng;
use polygrad::nn::{Init, Linear};
use polygrad::optim::{Adam, Optimizer, Rate, State};
use polygrad::random::Key;
use polygrad::stats::binomial_logit;
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, map_accum, value_and_grad_with};

#[allow(dead_code, reason = "its data alone are used")]
#[path = "../digits.rs"]
mod digits;
mod picture;
use digits::HELD_OUT;
use picture::Picture;

/// The side of an image.
const SIDE: usize = 8;
/// What a pixel counts up to.
const LEVELS: i64 = 16;

/// How many images are drawn.
const DRAWN: usize = 32;

/// How much is computed.
pub(crate) struct Size {
    pub(crate) hidden: usize,
    /// The size of the vectors that images come from.
    pub(crate) latent: usize,
    pub(crate) batch: usize,
    pub(crate) epochs: usize,
    /// Images in training.
    pub(crate) images: usize,
    /// The rate of the first updates; that of the last ones is a twentieth.
    pub(crate) rate: f64,
}

pub(crate) const FULL: Size = Size { hidden: 128, latent: 8, batch: 50, epochs: 150, images: 1500, rate: 0.004 };

/// The networks: images to means and logarithms of variances, vectors to logits of pixels.
#[derive(Tree, Clone)]
pub(crate) struct Autoencoder<T: BaseTensor> {
    seen: Linear<T>,
    means: Linear<T>,
    log_variances: Linear<T>,
    imagined: Linear<T>,
    logits: Linear<T>,
}

/// The counts of images, a row for each.
type Images<T> = Tensor<T, 2, i64>;

/// The networks, and the state of the optimizer.
pub(crate) type Now<T> = (Autoencoder<T>, State<T, Autoencoder<T>>);

/// The images to learn from, those held out, and the key.
pub(crate) type Data<T> = (Images<T>, Images<T>, Key<T>);

/// The bound after each epoch: the mean of the batches, and of the images held out.
pub(crate) type Bounds<T> = [Tensor<T, 1>; 2];

impl<T: BaseTensor> Autoencoder<T> {
    /// The logits of the pixels of images that come from the rows of `z`.
    fn decode(&self, z: &Tensor<T, 2>) -> Tensor<T, 2> {
        self.logits.apply(&self.imagined.apply(z).tanh())
    }

    /// The evidence lower bound, in nats: its mean over images.
    fn bound(&self, images: &Images<T>, key: &Key<T>) -> Tensor<T, 0> {
        let seen = self.seen.apply(&(images.to_float::<f64>() / LEVELS as f64)).tanh();
        let (mean, log_variance) = (self.means.apply(&seen), self.log_variances.apply(&seen));
        let z = &mean + (&log_variance * 0.5).exp() * key.normal(mean.shape());
        let density = binomial_logit(images, LEVELS, self.decode(&z));
        // The divergence of the distribution of the vectors from the standard normal one.
        let divergence = (mean.square() + log_variance.exp() - log_variance - 1.0).sum() * 0.5;
        (density.sum() - divergence) / images.dim::<0>() as f64
    }

    /// Shares of dark pixels of `n` new images.
    fn draw(&self, key: &Key<T>, n: usize) -> Tensor<T, 2> {
        let z = key.normal([n, self.imagined.weight.dim::<0>()]);
        self.decode(&z).sigmoid()
    }
}

/// All epochs: the networks at the end, and the bounds.
fn train<T: BaseTensor>(size: &Size, start: &Now<T>, (images, held_out, key): &Data<T>) -> (Now<T>, Bounds<T>) {
    let batches = size.images / size.batch;
    let adam = Adam::new(Rate::cosine(size.rate, size.rate / 20.0, size.epochs * batches));
    let epochs = Tensor::<T, 1, i64>::iota(size.epochs);
    map_accum(start, &epochs, |now: Now<T>, epoch: &Tensor<T, 0, i64>| {
        let [of_order, of_vectors, of_look] = key.fold_in(epoch).split();
        let order: Tensor<T, 1, i64> = of_order.permutation(size.images).slice(0, ..batches * size.batch);
        let order: Images<T> = order.reshape([batches, size.batch]);
        let keys = of_vectors.keys(batches);
        let (now, bounds) = map_accum(now, (&order, &keys), |(model, state): Now<T>, (rows, key)| {
            let rows: &Tensor<T, 1, i64> = rows;
            let batch = (images.take::<1>(rows), Key::from_tensor(key.clone()));
            let (loss, slope) = value_and_grad_with(
                |model: &Autoencoder<_>, (images, key): &(Tensor<_, 2, i64>, Key<_>)| -model.bound(images, key),
                &model,
                &batch,
            );
            (adam.update(&model, &slope, &state), -loss)
        });
        let bounds: Tensor<T, 1> = bounds;
        let looked = now.0.bound(held_out, &of_look);
        (now, [bounds.mean(), looked])
    })
}

/// The networks before training, and the images.
pub(crate) fn start(size: &Size, seed: u64) -> Result<(Now<Concrete>, Data<Concrete>), Box<dyn Error>> {
    let mut rng = Rng::new(seed);
    let rows = digits::read()?;
    // As in the example `digits`.
    let order = rng.permutation(rows.len());
    let counts = |chosen: &[usize]| -> Images<Concrete> {
        let pixels = chosen.iter().flat_map(|k| rows[*k].0.iter().map(|p| (p * LEVELS as f64) as i64));
        Tensor::new([chosen.len(), SIDE * SIDE], pixels.collect())
    };
    let (test, training) = order.split_at(HELD_OUT);
    let data = (counts(&training[..size.images]), counts(test), Key::new(seed as i64));
    let mut layer = |inputs: usize, outputs: usize| Linear::new([inputs, outputs], Init::GlorotUniform, &mut rng);
    let model = Autoencoder {
        seen: layer(SIDE * SIDE, size.hidden),
        means: layer(size.hidden, size.latent),
        log_variances: layer(size.hidden, size.latent),
        imagined: layer(size.latent, size.hidden),
        logits: layer(size.hidden, SIDE * SIDE),
    };
    let state = Adam::new(0.0).init(&model);
    Ok(((model, state), data))
}

/// A program of a training: parameters and data to parameters and bounds.
pub(crate) type Training = Function<Now<Concrete>, Data<Concrete>, (Now<Concrete>, Bounds<Concrete>)>;

/// The whole training as one program.
pub(crate) fn training(size: &Size, now: &Now<Concrete>, data: &Data<Concrete>) -> Training {
    Function::stage_with(|now, data| train(size, now, data), now, data)
}

/// What is drawn: the bounds, and new images.
pub(crate) struct Learnt {
    pub(crate) bounds: [Vec<f64>; 2],
    /// Rows of shares of dark pixels.
    pub(crate) drawn: Vec<f64>,
}

impl Learnt {
    pub(crate) fn draw(&self) -> Result<String, Box<dyn Error>> {
        let epochs: Vec<f64> = (1..=self.bounds[0].len()).map(|k| k as f64).collect();
        let curves = Picture::new("Handwritten digits: the evidence lower bound", "epoch", "nats for each image")
            .line("in training", 0, &epochs, &self.bounds[0])
            .line("held out", 1, &epochs, &self.bounds[1]);
        let drawn = Picture::tiles("Drawn from a key", SIDE, 8, &self.drawn);
        picture::panels(&[curves, drawn]).map_err(|e| e.to_string().into())
    }
}

/// Trains the networks and draws images, and reports to `out`.
pub(crate) fn run(size: &Size, seed: u64, out: &mut dyn Write) -> Result<Learnt, Box<dyn Error>> {
    let (now, data) = start(size, seed)?;
    let program = training(size, &now, &data);
    let draw = Function::stage_with(
        |model: &Autoencoder<_>, key: &Key<_>| model.draw(key, DRAWN),
        &now.0,
        &Key::<Concrete>::new(0),
    );
    let parameters = now.0.ravel().len();
    writeln!(out, "{} images to learn from, {HELD_OUT} held out, {parameters} parameters, seed {seed}", size.images)?;
    let ((model, _), bounds) = program.run_with(&now, &data)?;
    let bounds = bounds.map(|bounds| bounds.to_vec());
    writeln!(out, "epoch   bound in training   held out, in nats for each image")?;
    for epoch in (1..=size.epochs).filter(|epoch| *epoch == 1 || epoch % size.epochs.div_ceil(6) == 0) {
        writeln!(out, "{epoch:>5}   {:>17.2}   {:>8.2}", bounds[0][epoch - 1], bounds[1][epoch - 1])?;
    }
    let drawn = draw.run_with(&model, &Key::new(3))?;
    Ok(Learnt { bounds, drawn: drawn.ravel().to_vec() })
}

fn main() -> Result<(), Box<dyn Error>> {
    let seed = std::env::args().nth(2).map_or(Ok(1), |text| text.parse())?;
    let start = std::time::Instant::now();
    let learnt = run(&FULL, seed, &mut std::io::stdout())?;
    println!("---\n{:.1} s", start.elapsed().as_secs_f64());
    println!("picture: {}", picture::save(&picture::folder(), "vae", &learnt.draw()?)?.display());
    Ok(())
}
