//! Sharpens a photograph whose blur is not known: the blurred photograph itself says how wide the blur is.
//!
//! `cargo run --release --example deconvolution [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! First the spectrum: that of photographs is a power of the frequency, a blur makes it narrower, and noise adds a constant. The four numbers are
//! fitted by the likelihood of the Fourier transform, and the Hessian says how sure the width is. Then the photograph: the one
//! whose blurred image is near what is seen, with a small total variation, is found by L-BFGS of the crate `argmin`; the gradient
//! goes through the transforms. `docs/examples/deconvolution.md` shows the picture and what is printed.

use std::error::Error;
use std::f64::consts::PI;
use std::io::Write;

use argmin::core::Executor;
use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
use polygrad::array::Rng;
use polygrad::optim::argmin::Problem;
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, hessian_matrix_with, minimize, tensor};

mod picture;
use picture::raster::{Raster, rasters};

/// A photograph, of which a frame is seen: nothing is known of what is outside.
const PHOTOGRAPH: &[u8] = include_bytes!("../data/photographer.pgm");
const SCENE: usize = 128;
const FRAME: usize = 96;
const MARGIN: usize = (SCENE - FRAME) / 2;
/// What is to be found: the deviations of the blur, in pixels, and of the noise; white is 1.
const WIDTH: f64 = 2.0;
const NOISE: f64 = 0.01;
/// What a pixel costs that differs from its neighbour by 1.
const VARIATION: f64 = 10.0;

/// The squares of the frequencies of an image, in periods for a pixel.
fn squares<T: BaseTensor>(side: usize) -> Tensor<T, 2> {
    let frequency = |k: usize| k.min(side - k) as f64 / side as f64;
    Tensor::from_fn([side, side], |[i, j]| frequency(i).powi(2) + frequency(j).powi(2))
}

/// The factor of each frequency in a blur by a normal distribution with this deviation.
fn blurring<T: BaseTensor>(width: &Tensor<T, 0>, side: usize) -> Tensor<T, 2> {
    (-2.0 * PI * PI * width.square() * squares(side)).exp()
}

/// A blurred scene, of which the frame is seen.
fn seen<T: BaseTensor>(scene: &Tensor<T, 2>, width: &Tensor<T, 0>) -> Tensor<T, 2> {
    let spectrum = scene.to_complex().fft_axes([0, 1]) * blurring(width, SCENE);
    frame(spectrum.ifft_axes([0, 1]).re())
}

fn frame<T: BaseTensor>(scene: &Tensor<T, 2>) -> Tensor<T, 2> {
    scene.slice(0, MARGIN..MARGIN + FRAME).slice(1, MARGIN..MARGIN + FRAME)
}

/// The logarithms of what a spectrum is made of.
#[derive(Tree, Clone, Debug)]
struct Spectrum<T: BaseTensor> {
    level: Tensor<T, 0>,
    exponent: Tensor<T, 0>,
    width: Tensor<T, 0>,
    noise: Tensor<T, 0>,
}

/// The expected power of each frequency: of the photograph alone, and of what is seen.
fn powers<T: BaseTensor>(spectrum: &Spectrum<T>) -> [Tensor<T, 2>; 2] {
    let power = (&spectrum.level - spectrum.exponent.exp() * 0.5 * squares(FRAME).max(1e-9).ln()).exp();
    let blurred = &power * blurring(&spectrum.width.exp(), FRAME).square();
    [power, blurred + (2.0 * &spectrum.noise).exp()]
}

/// Minus the logarithm of the likelihood of the measured power. Each frequency stands there twice, and the window makes about 9 / 4
/// neighbours alike. The lowest frequencies are left out.
fn energy<T: BaseTensor>(spectrum: &Spectrum<T>, measured: &Tensor<T, 2>) -> Tensor<T, 0> {
    let [_, expected] = powers(spectrum);
    let terms = expected.ln() + measured / expected;
    let counted = squares(FRAME).gt((2.5 / FRAME as f64).powi(2));
    counted.select(terms, 0.0).sum() * (4.0 / 18.0)
}

/// The power of each frequency of what is seen, through a window that ends at the borders.
fn measure(seen: &Tensor<Concrete, 2>) -> Tensor<Concrete, 2> {
    let hann = Tensor::from_fn([FRAME], |[k]| 1.0 - (2.0 * PI * k as f64 / FRAME as f64).cos());
    let window = hann.outer(&hann);
    let window = &window / window.square().mean().sqrt();
    let seen = (seen - seen.mean()) * window;
    seen.to_complex().fft_axes([0, 1]).abs2() / (FRAME * FRAME) as f64
}

/// The likeliest spectrum, which is printed with the standard error of the blur.
fn fit(measured: &Tensor<Concrete, 2>, out: &mut dyn Write) -> Result<Spectrum<Concrete>, Box<dyn Error>> {
    let [level, exponent, width, noise] = [-8.0, 0.7, 0.0, -4.0].map(tensor);
    let start = Spectrum { level, exponent, width, noise };
    let found = minimize(|x: &Spectrum<_>, measured| energy(x, measured), &start, measured);
    let errors = hessian_matrix_with(energy, &found, measured).try_inverse()?.diagonal(0, 1).sqrt().to_vec();
    writeln!(out, "              found   standard error   true")?;
    for (name, x, error, truth) in
        [("blur, pixels", &found.width, errors[2], WIDTH), ("noise", &found.noise, errors[3], NOISE)]
    {
        let x = x.exp().item();
        writeln!(out, "{name:<12} {x:>6.4}   {:>14.4}   {truth:>4}", x * error)?;
    }
    Ok(found)
}

/// A frame and what is known of it: the deviations of its blur and of its noise.
type Known<T> = (Tensor<T, 2>, Tensor<T, 0>, Tensor<T, 0>);

/// Half the squares of what the scene misses, in deviations of the noise, and its variation.
fn cost<T: BaseTensor>(scene: &Tensor<T, 2>, (image, width, noise): &Known<T>) -> Tensor<T, 0> {
    let missed = (seen(scene, width) - image) / noise;
    let [down, across] = [0, 1].map(|axis| (scene.roll(axis, -1) - scene).square());
    0.5 * missed.square().sum() + VARIATION * (down + across + 1e-6).sqrt().sum()
}

/// The scene of least cost; what is outside of the frame begins as the nearest pixel of it.
fn sharpen(known: &Known<Concrete>, steps: u64) -> Result<Tensor<Concrete, 2>, Box<dyn Error>> {
    let pixels = known.0.to_vec();
    let inside = |k: usize| k.clamp(MARGIN, MARGIN + FRAME - 1) - MARGIN;
    let start = Tensor::from_fn([SCENE, SCENE], |[i, j]| pixels[inside(i) * FRAME + inside(j)]);
    let problem = Problem::new_with(cost, &start, known);
    let begin = problem.start();
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 7);
    let found = Executor::new(problem, solver).configure(|state| state.param(begin).max_iters(steps)).run()?;
    Ok(Tensor::new([SCENE, SCENE], found.state.best_param.ok_or("the solver must find a point")?))
}

/// The best filter for this spectrum, by Wiener.
fn filter(image: &Tensor<Concrete, 2>, spectrum: &Spectrum<Concrete>) -> Tensor<Concrete, 2> {
    let [power, expected] = powers(spectrum);
    let factors = blurring(&spectrum.width.exp(), FRAME) * power / expected;
    let mean = image.mean();
    let spectrum = (image - &mean).to_complex().fft_axes([0, 1]) * factors;
    spectrum.ifft_axes([0, 1]).re() + mean
}

fn photograph() -> Tensor<Concrete, 2> {
    let pixels = &PHOTOGRAPH[PHOTOGRAPH.len() - SCENE * SCENE..];
    Tensor::new([SCENE, SCENE], pixels.iter().map(|&p| f64::from(p) / 255.0).collect())
}

/// The photograph in the frame, blurred and with noise.
fn blurred(photograph: &Tensor<Concrete, 2>) -> Tensor<Concrete, 2> {
    let noise: Tensor<Concrete, 2> = Rng::new(1).normal([FRAME, FRAME], 0.0, NOISE);
    seen(photograph, &tensor(WIDTH)) + noise
}

/// Finds the blur, and reports to `out`; sharpens the photograph by so many steps; the picture.
pub(crate) fn run(steps: u64, out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let photograph = photograph();
    let image = blurred(&photograph);
    let spectrum = fit(&measure(&image), out)?;
    let known = (image.clone(), spectrum.width.exp(), spectrum.noise.exp());
    let [truth, sharp] = [&photograph, &sharpen(&known, steps)?].map(frame);
    let filtered = filter(&image, &spectrum);
    let decibels = |x: &Tensor<Concrete, 2>| -10.0 * (x - &truth).square().mean().item().log10();
    writeln!(out, "---")?;
    for (name, x) in [("seen", &image), ("filtered", &filtered), ("sharpened", &sharp)] {
        writeln!(out, "{name:<10} {:.1} dB", decibels(x))?;
    }
    let images = [
        ("seen: blurred, with noise", &image),
        ("sharpened: least total variation", &sharp),
        ("filtered, by the same spectrum", &filtered),
        ("the photograph", &truth),
    ]
    .map(|(name, image)| (name, image.to_vec()));
    let images = images.each_ref().map(|(name, pixels)| Raster { name, width: FRAME, pixels, lines: Vec::new() });
    Ok(rasters("A photograph, sharpened without knowledge of its blur", 2, &images))
}

/// The times beside those of `python/gallery/deconvolution.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let scene = photograph();
    let image = seen(&scene, &tensor(1.0)) * 0.9;
    let measured = measure(&image);
    let [level, exponent, width, noise] = [-8.0, 0.7, 0.0, -4.0].map(tensor);
    let x = Spectrum { level, exponent, width, noise };
    picture::timed("likelihood and gradient", 300, || {
        let f = Function::value_and_grad_with(energy, &x, &measured);
        let (x, measured) = (&x, &measured);
        move || f.run_with(x, measured).map(|(y, slope)| [y.item(), slope.ravel().norm().item()])
    })?;
    picture::timed("Hessian", 100, || {
        let f = Function::hessian_matrix_with(energy, &x, &measured);
        let (x, measured) = (&x, &measured);
        move || f.run_with(x, measured).map(|h| [h.trace().item(), h.square().sum().sqrt().item()])
    })?;
    let known = (image, tensor(WIDTH), tensor(NOISE));
    picture::timed("cost and gradient", 300, || {
        let f = Function::value_and_grad_with(cost, &scene, &known);
        let (scene, known) = (&scene, &known);
        move || f.run_with(scene, known).map(|(y, slope)| [y.item(), slope.square().sum().sqrt().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("deconvolution", |out| run(100, out), times)
}
