//! Trains a small transformer to write a rhyme, letter by letter.
//!
//! `cargo run --release --example transformer`
//!
//! The model is a struct of layers of the module `nn`. One step of training, the gradient and the update by Adam, is one
//! recorded program; its data are the windows of text of a batch.
//!
//! ```text
//! 27805 parameters
//! update    0   loss 4.2254
//! update   50   loss 0.9599
//! update  100   loss 0.2783
//! update  150   loss 0.1415
//! update  200   loss 0.1034
//! update  250   loss 0.1154
//! last           loss 0.1014
//! twinkle twinkle little star, how i wonder what you are. up above the world so high,
//! ```

use std::io::{IsTerminal, Write};

use polygrad::array::Rng;
use polygrad::nn::{Attention, AttentionMask, Embedding, Init, LayerNorm, Linear};
use polygrad::optim::{Adam, Optimizer, Rate, clip_by_norm};
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, value_and_grad};

const TEXT: &str = "twinkle twinkle little star, how i wonder what you are. up above the world so high, like a diamond in \
                    the sky. twinkle twinkle little star, how i wonder what you are. ";
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz ,.";
const WIDTH: usize = 32;
const HEADS: usize = 4;
const LAYERS: usize = 2;
const WINDOW: usize = 24;
const BATCH: usize = 16;
const UPDATES: usize = 300;

/// Attention and a network for each place, each after a normalization and beside what came in.
#[derive(Tree, Clone, Debug)]
struct Layer<T: BaseTensor> {
    norms: [LayerNorm<T>; 2],
    attention: Attention<T>,
    up: Linear<T>,
    down: Linear<T>,
}

#[derive(Tree, Clone, Debug)]
struct Model<T: BaseTensor> {
    letters: Embedding<T>,
    places: Tensor<T, 2>,
    layers: Vec<Layer<T>>,
    scores: Linear<T>,
}

/// The scores of the next letter at each place of each window; a place looks at itself and the places before it.
fn scores<T: BaseTensor>(model: &Model<T>, text: &Tensor<T, 2, i64>) -> Tensor<T, 3> {
    let mut x: Tensor<T, 3> = model.letters.apply(text);
    x = &x + model.places.up_to(&x);
    for layer in &model.layers {
        x = &x + layer.attention.apply(&layer.norms[0].apply(&x), &AttentionMask::Causal);
        x = &x + layer.down.apply(&layer.up.apply(&layer.norms[1].apply(&x)).gelu());
    }
    model.scores.apply(&x)
}

/// The mean cross entropy of the next letters.
fn loss<T: BaseTensor>(model: &Model<T>, (text, next): &(Tensor<T, 2, i64>, Tensor<T, 2, i64>)) -> Tensor<T, 0> {
    scores(model, text).cross_entropy::<2>(2, next).mean()
}

fn model(rng: &mut Rng) -> Model<Concrete> {
    let mut layer = || Layer {
        norms: [LayerNorm::new(WIDTH), LayerNorm::new(WIDTH)],
        attention: Attention::new(WIDTH, HEADS, rng),
        up: Linear::new([WIDTH, 4 * WIDTH], Init::LecunNormal, rng),
        down: Linear::new([4 * WIDTH, WIDTH], Init::LecunNormal, rng),
    };
    Model {
        layers: (0..LAYERS).map(|_| layer()).collect(),
        letters: Embedding::new([LETTERS.len(), WIDTH], Init::Normal(0.5), rng),
        places: rng.normal([WINDOW, WIDTH], 0.0, 0.5),
        scores: Linear::new([WIDTH, LETTERS.len()], Init::LecunNormal, rng),
    }
}

/// The numbers of the letters of the text.
fn numbers() -> Vec<i64> {
    TEXT.chars().filter_map(|c| LETTERS.find(c)).map(|k| k as i64).collect()
}

/// Windows of the text at random places, and the same one letter later.
fn batch(text: &[i64], rng: &mut Rng) -> (Tensor<Concrete, 2, i64>, Tensor<Concrete, 2, i64>) {
    let starts: Vec<usize> = (0..BATCH).map(|_| rng.below(text.len() - WINDOW)).collect();
    let window = |later: usize| {
        let letters = starts.iter().flat_map(|s| text[s + later..s + later + WINDOW].to_vec()).collect();
        Tensor::new([BATCH, WINDOW], letters)
    };
    (window(0), window(1))
}

/// The text that the model writes after the first letters of the rhyme, always with the likeliest letter.
fn write_on(model: &Model<Concrete>, text: &[i64], count: usize) -> String {
    let mut out = text[..WINDOW].to_vec();
    for _ in 0..count {
        let seen = Tensor::new([1, WINDOW], out[out.len() - WINDOW..].to_vec());
        let next = scores(model, &seen).argmax_axis::<2>(2).to_vec();
        out.push(next[WINDOW - 1]);
    }
    out.into_iter().filter_map(|k| LETTERS.chars().nth(k as usize)).collect()
}

/// Trains the model, and reports to `out`; the last loss.
pub(crate) fn train(updates: usize, out: &mut dyn Write) -> Result<f64, Box<dyn std::error::Error>> {
    let (mut rng, text) = (Rng::new(3), numbers());
    let model = model(&mut rng);
    let adam = Adam::new(Rate::cosine(0.004, 0.0004, updates).warmup(10)).decay(0.01);
    let mut now = (model.clone(), adam.init(&model));
    let step = Function::stage_with(
        |(model, state), data| {
            let (value, slope) = value_and_grad(|model| loss(model, &data.lift()), model);
            (adam.update(model, &clip_by_norm(&slope, 1.0), state), value)
        },
        &now,
        &batch(&text, &mut rng),
    );
    writeln!(out, "{} parameters", model.ravel().len())?;
    let (bar, mut last) = (std::io::stderr().is_terminal(), f64::NAN);
    for k in 0..updates {
        let (next, value) = step.run_with(&now, &batch(&text, &mut rng))?;
        (now, last) = (next, value.item());
        if k % 50 == 0 {
            writeln!(out, "update {k:>4}   loss {last:.4}")?;
        }
        if bar {
            eprint!("\r[{:<30}]", "#".repeat((k + 1) * 30 / updates));
        }
    }
    if bar {
        eprint!("\r{:40}\r", "");
    }
    writeln!(out, "last           loss {last:.4}")?;
    writeln!(out, "{}", write_on(&now.0, &text, 60))?;
    Ok(last)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let last = train(UPDATES, &mut std::io::stdout())?;
    if last > 0.2 {
        return Err(format!("the loss must fall below 0.2, but it is {last}").into());
    }
    Ok(())
}
