//! Learns to write like a text, letter by letter.
//!
//! `cargo run --release --example character [FOLDER OF RESULTS] [FILE OF TEXT]`; with `--time` in place of both, times.
//!
//! The model is a recurrent network with long short-term memory, of layers of the module `nn`. One step of training, the gradient through all letters of
//! a batch and the update by Adam, is one recorded program. The parameters are saved by name, and loaded again before the
//! model writes. Without a file the text is a short story, which the model learns by heart.
//! `docs/examples/character.md` shows the picture and what is printed.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use polygrad::array::Rng;
use polygrad::nn::{Embedding, Init, Linear, Lstm, RecurrentCell};
use polygrad::optim::{Adam, Optimizer, Rate, clip_by_norm};
use polygrad::tree::Parameters;
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, value_and_grad};

mod picture;
use picture::Picture;

pub(crate) const STORY: &str = include_str!("../data/keeper.txt");

/// How much is computed.
pub(crate) struct Size {
    /// Numbers in the memory of the network.
    pub(crate) hidden: usize,
    /// Letters of a text of a batch, and texts.
    pub(crate) window: usize,
    pub(crate) batch: usize,
    pub(crate) updates: usize,
    /// Updates between two looks at the text that is held out.
    pub(crate) look: usize,
}

pub(crate) const FULL: Size = Size { hidden: 80, window: 50, batch: 16, updates: 500, look: 20 };

/// A vector for each letter, the network, and the scores of the next letter.
#[derive(Tree, Clone, Debug)]
struct Model<T: BaseTensor> {
    letters: Embedding<T>,
    cell: Lstm<T>,
    scores: Linear<T>,
}

/// What the network says and what it remembers, a row for each text.
type State<T> = (Tensor<T, 2>, Tensor<T, 2>);

/// Letters of several texts, `[time, text]`, and those that follow.
type Batch<T> = (Tensor<T, 2, i64>, Tensor<T, 2, i64>);

impl<T: BaseTensor> Model<T> {
    /// The state after one more letter of each text, and the scores of the letters that may follow.
    fn next(&self, state: &State<T>, letter: &Tensor<T, 1, i64>) -> (State<T>, Tensor<T, 2>) {
        let state = self.cell.step(state, &self.letters.apply(letter));
        let scores = self.scores.apply(&self.cell.output(&state));
        (state, scores)
    }

    /// The mean cross entropy of the letters that follow, in bits.
    fn loss(&self, (text, next): &Batch<T>) -> Tensor<T, 0> {
        let (_, said) = self.cell.run(self.cell.start(text.dim::<1>()), &self.letters.apply(text));
        self.scores.apply(&said).cross_entropy::<2>(2, next).mean() / std::f64::consts::LN_2
    }
}

fn model(letters: usize, hidden: usize, rng: &mut Rng) -> Model<Concrete> {
    Model {
        letters: Embedding::new([letters, hidden / 2], Init::Normal(1.0), rng),
        cell: Lstm::new(hidden / 2, hidden, rng),
        scores: Linear::new([hidden, letters], Init::LecunNormal, rng),
    }
}

/// A text as numbers of letters.
struct Text {
    letters: Vec<char>,
    numbers: Vec<i64>,
}

impl Text {
    fn new(text: &str) -> Self {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters.dedup();
        let number = |c| letters.binary_search(&c).expect("a letter of the text") as i64;
        Text { numbers: text.chars().map(number).collect(), letters }
    }
}

/// Windows of the text from these places on, `[time, window]`, and the same one letter later.
fn windows(text: &[i64], starts: &[usize], length: usize) -> Batch<Concrete> {
    let window = |later: usize| Tensor::from_fn([length, starts.len()], |[k, t]| text[starts[t] + k + later]);
    (window(0), window(1))
}

/// What the model writes after these letters. Each letter is drawn from the distribution of the model, sharpened: at the
/// temperature 0 it is always the likeliest one.
fn write_on(model: &Model<Concrete>, read: &[i64], count: usize, temperature: f64, rng: &mut Rng) -> Vec<i64> {
    let (mut state, mut written) = (model.cell.start(1), read.to_vec());
    for k in 0..read.len() + count {
        let scores: Tensor<Concrete, 2>;
        (state, scores) = model.next(&state, &Tensor::new([1], vec![written[k]]));
        if k + 1 == written.len() {
            // The largest of the scores with Gumbel's noise is a draw from their softmax.
            let scores: Tensor<Concrete, 1> = scores.row(0);
            let noise: Tensor<Concrete, 1> = rng.uniform([scores.len()], 0.0, 1.0);
            written.push((scores - temperature * (-noise.ln()).ln()).argmax().item());
        }
    }
    written
}

/// The losses during training: updates, and bits for a letter of the training text and of the one held out.
#[derive(Default)]
pub(crate) struct Curve {
    pub(crate) updates: Vec<f64>,
    pub(crate) training: Vec<f64>,
    pub(crate) held_out: Vec<f64>,
}

impl Curve {
    pub(crate) fn draw(&self) -> Result<String, Box<dyn Error>> {
        let picture = Picture::new("A text, letter by letter: loss", "update", "bits per letter").with_zero();
        let picture = picture.line("on the part held out", 1, &self.updates, &self.held_out);
        picture.line("in training", 0, &self.updates, &self.training).svg()
    }
}

/// Trains a model, and reports to `out`.
fn train(text: &Text, size: &Size, out: &mut dyn Write) -> Result<(Model<Concrete>, Curve), Box<dyn Error>> {
    let &Size { window, updates, look, .. } = size;
    let (training, held_out) = text.numbers.split_at(text.numbers.len() * 9 / 10);
    if held_out.len() < 2 * window {
        return Err(format!("the text must have {} letters, but it has {}", 20 * window, text.numbers.len()).into());
    }
    let mut rng = Rng::new(1);
    let model = model(text.letters.len(), size.hidden, &mut rng);
    let mut batch = || {
        let starts: Vec<usize> = (0..size.batch).map(|_| rng.below(training.len() - window)).collect();
        windows(training, &starts, window)
    };
    let others: Vec<usize> = (0..held_out.len() - window).step_by(window).collect();
    let others = windows(held_out, &others, window);

    let adam = Adam::new(Rate::cosine(0.01, 0.001, updates));
    let mut now = (model.clone(), adam.init(&model));
    let step = Function::stage_with(
        |(model, state), batch| {
            let (value, slope) = value_and_grad(|model: &Model<_>| model.loss(&batch.lift()), model);
            (adam.update(model, &clip_by_norm(&slope, 1.0), state), value)
        },
        &now,
        &batch(),
    );
    let loss = Function::stage_with(|model: &Model<_>, batch| model.loss(batch), &now.0, &others);

    writeln!(out, "update   training   held out, in bits per letter")?;
    let bar = ProgressBar::new(updates as u64).with_style(ProgressStyle::with_template("{wide_bar} {eta} {msg}")?);
    let (mut curve, mut sum) = (Curve::default(), 0.0);
    for k in 1..=updates {
        let (next, value) = step.run_with(&now, &batch())?;
        now = next;
        sum += value.item();
        bar.set_message(format!("{:.2} bits", value.item()));
        bar.inc(1);
        if k % look == 0 {
            let (training, held_out) = (sum / look as f64, loss.run_with(&now.0, &others)?.item());
            curve.updates.push(k as f64);
            curve.training.push(training);
            curve.held_out.push(held_out);
            sum = 0.0;
            if k % (5 * look) == 0 || k == look {
                bar.suspend(|| writeln!(out, "{k:>6}   {training:>8.2}   {held_out:>8.2}"))?;
            }
        }
    }
    bar.finish_and_clear();
    Ok((now.0, curve))
}

/// Trains a model of a text, saves and loads it, and lets it write; the losses.
pub(crate) fn run(text: &str, size: &Size, file: &Path, out: &mut dyn Write) -> Result<Curve, Box<dyn Error>> {
    let text = Text::new(text);
    let (trained, curve) = train(&text, size, out)?;
    fs::write(file, Parameters::of(&trained)?.to_safetensors()?)?;

    // What a program does that only writes: a model of the same shapes, whose numbers come from the file.
    let empty = model(text.letters.len(), size.hidden, &mut Rng::new(0));
    let model = Parameters::of_safetensors(&fs::read(file)?)?.load_into(&empty)?;
    writeln!(out, "{} parameters, saved and loaded\n---", model.ravel().len())?;
    let written = write_on(&model, &text.numbers[..size.window], 400, 0.5, &mut Rng::new(1));
    writeln!(out, "{}", written.iter().map(|k| text.letters[*k as usize]).collect::<String>())?;
    Ok(curve)
}

/// The times beside those of `python/gallery/character.py`: the first windows of the story, and parameters from a wave.
fn times() -> Result<(), Box<dyn Error>> {
    let text = Text::new(STORY);
    let model = model(text.letters.len(), FULL.hidden, &mut Rng::new(0));
    let wave = Tensor::from_fn([model.ravel().len()], |[k]| 0.2 * (0.7 * k as f64).sin());
    let starts: Vec<usize> = (0..FULL.batch).map(|k| k * FULL.window).collect();
    let (model, batch) = (&model.unravel(&wave), &windows(&text.numbers, &starts, FULL.window));
    picture::timed("loss and gradient", 50, || {
        let f = Function::value_and_grad_with(Model::loss, model, batch);
        move || f.run_with(model, batch).map(|(y, slope)| [y.item(), slope.ravel().norm().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("--time") {
        return times();
    }
    let folder = picture::folder();
    fs::create_dir_all(&folder)?;
    let text = match std::env::args().nth(2) {
        Some(path) => fs::read_to_string(&path).map_err(|fault| format!("the text {path} cannot be read: {fault}"))?,
        None => STORY.to_owned(),
    };
    let file = folder.join("character.safetensors");
    let curve = run(&text, &FULL, &file, &mut std::io::stdout())?;
    println!("---\nparameters: {}", file.display());
    println!("picture: {}", picture::save(&folder, "character", &curve.draw()?)?.display());
    Ok(())
}
