//! Shapes the microwave pulse of a superconducting qubit, so that the qubit turns and nothing leaks into its third level.
//!
//! `cargo run --release --example quantum [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! A transmon is an oscillator whose levels are nearly equally spaced, so a short pulse for the two lowest ones excites the
//! third one, too. The pulse is a list of complex numbers, one for each sample of the generator. The evolution is a product of
//! exponentials of matrices, and its gradient shapes the pulse. `docs/examples/quantum.md` shows the picture and what is
//! printed.

use std::error::Error;
use std::f64::consts::TAU;
use std::io::Write;

use argmin::core::Executor;
use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
use polygrad::optim::argmin::Problem;
use polygrad::{BaseTensor, Complex, Concrete, Function, Tensor, Tree, fold, hessian_with, map, map_accum, tensor};

mod picture;
use picture::{Picture, panels};

/// By how much the second transition is below the first one, in GHz (Hyyppä and others, 2024).
const ANHARMONICITY: f64 = -0.212;
/// Levels that are computed: two of the qubit, and two into which it leaks.
const LEVELS: usize = 4;
/// The length of a sample in ns: the generator makes 2.4 a nanosecond.
const SAMPLE: f64 = 1.0 / 2.4;
/// What steps between samples cost.
const ROUGHNESS: f64 = 0.004;

type Real<T> = Tensor<T, 0>;

/// `e^{-2 pi i H t}` for each sample of the drive; its errors are a detuning in GHz and a relative error of the amplitude.
fn propagators<T: BaseTensor>(drive: &Complex<T, 1>, errors: &Tensor<T, 1>, time: f64) -> Complex<T, 3> {
    let [detuning, amplitude] = errors.unstack();
    let up = |[i, j]: [usize; 2]| if i == j + 1 { (i as f64).sqrt() } else { 0.0 };
    let up: Tensor<T, 2> = Tensor::from_fn([LEVELS, LEVELS], up);
    let level: Tensor<T, 1> = Tensor::from_fn([LEVELS], |[k]| k as f64);
    let energies = (detuning * &level + 0.5 * ANHARMONICITY * &level * (&level - 1.0)).diag();
    map(drive, |drive: &Complex<T, 0>| {
        let up = drive * (&up * (1.0 + &amplitude));
        let h = (&up + up.adjoint()) * 0.5 + &energies;
        (h.times_i() * (-TAU * time)).expm()
    })
}

/// Where the pulse takes both levels of the qubit: a column for each.
fn evolved<T: BaseTensor>(drive: &Complex<T, 1>, errors: &Tensor<T, 1>) -> Complex<T, 2> {
    let start = Tensor::<T, 2>::eye(LEVELS).slice(1, ..2).to_complex();
    fold(start, propagators(drive, errors, SAMPLE), |state, step: &Complex<T, 2>| step.matmul(&state))
}

/// How far a pulse is from a quarter turn about the x axis: 1 minus the fidelity, a mean over all states of the qubit.
fn error<T: BaseTensor>(errors: &Tensor<T, 1>, drive: &Complex<T, 1>) -> Real<T> {
    let wanted = Complex::<T, 2>::constant([[0.5, 0.0], [0.0, 0.5]], [[0.0, -0.5], [-0.5, 0.0]]) * 2f64.sqrt();
    let seen = evolved(drive, errors).slice(0, ..2);
    1.0 - (wanted.vdot(&seen).abs2() + seen.abs2().sum()) / 6.0
}

/// The error, and how rough the pulse is.
fn cost<T: BaseTensor>(drive: &Complex<T, 1>) -> Real<T> {
    let [n] = drive.shape();
    let padded = drive.pad([(1, 1)]);
    let steps = padded.slice(0, 1..) - padded.slice(0, ..=n);
    error(&Tensor::zeros([2]), drive) + ROUGHNESS * steps.abs2().sum()
}

/// The pulse of a textbook: a cosine of this amplitude, its derivative in the quadrature (DRAG), and a detuning.
fn cosine<T: BaseTensor>(constants: &Tensor<T, 1>, samples: usize) -> Complex<T, 1> {
    let [amplitude, drag, detuning] = constants.unstack();
    let length = samples as f64 * SAMPLE;
    let time: Tensor<T, 1> = Tensor::from_fn([samples], |[k]| (k as f64 + 0.5) * SAMPLE);
    let envelope = (1.0 - (&time * (TAU / length)).cos()) * 0.5;
    let slope = (&time * (TAU / length)).sin() * (0.5 * TAU / length);
    let pulse = Complex::new(envelope, slope * (drag / (-TAU * ANHARMONICITY))) * amplitude;
    pulse * Complex::from_polar(&Tensor::ones([samples]), &((time - length / 2.0) * (TAU * detuning)))
}

/// A minimum, by so many steps of L-BFGS.
fn minimum<P>(problem: Problem<P>, start: &P, steps: u64) -> Result<P, Box<dyn Error>>
where
    P: Tree<Concrete, With<Concrete> = P> + Clone,
{
    let from = problem.start();
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 20);
    let found = Executor::new(problem, solver).configure(|state| state.param(from).max_iters(steps)).run()?;
    let best = found.state.best_param.ok_or("the solver must find a point")?;
    Ok(start.unravel(&Tensor::new([best.len()], best)))
}

/// Of so many samples the cosine, the best one with DRAG, and the best pulse.
fn pulses(samples: usize, steps: u64) -> Result<[Complex<Concrete, 1>; 3], Box<dyn Error>> {
    let area = 0.5 / (samples as f64 * SAMPLE);
    let start = tensor([area, 1.0, 0.03]);
    let shaped = Problem::new(|constants| error(&Tensor::zeros([2]), &cosine(constants, samples)), &start);
    let drag = cosine(&minimum(shaped, &start, 60)?, samples);
    let free = minimum(Problem::new(cost, &drag), &drag, steps)?;
    Ok([cosine(&tensor([area, 0.0, 0.0]), samples), drag, free])
}

/// How much of level 1 is in the third level, at the ends of so many parts of each sample.
fn leaked(drive: &Complex<Concrete, 1>, parts: usize) -> Vec<f64> {
    let fine = drive.replicate_axis::<2>(1, parts).flatten();
    let steps = propagators(&fine, &Tensor::zeros([2]), SAMPLE / parts as f64);
    let start = Tensor::<Concrete, 2>::eye(LEVELS).row(1).to_complex();
    let (_, leaked) = map_accum(start, &steps, |state, step: &Complex<Concrete, 2>| {
        let state = step.matvec(&state);
        (state.clone(), state.at([2]).abs2())
    });
    leaked.to_vec()
}

/// The errors of the best pulse with DRAG and of the best pulse for each number of samples.
type Scan = Vec<(usize, [f64; 2])>;

fn draw(pulses: &[Complex<Concrete, 1>; 3], scan: &Scan) -> Result<String, Box<dyn Error>> {
    let [plain, drag, free] = pulses;
    let samples = drag.len();
    // Each sample is a step.
    let times: Vec<f64> = (0..2 * samples).map(|k| k.div_ceil(2) as f64 * SAMPLE).collect();
    let stairs = |x: &Tensor<Concrete, 1>| (x * 1e3).replicate_axis::<2>(1, 2).to_vec();
    let pulse = Picture::new("A quarter turn of a transmon in 6.25 ns", "ns", "drive, MHz")
        .line("its quadrature", 3, &times, &stairs(free.im()))
        .line("free: in phase", 1, &times, &stairs(free.re()))
        .line("its quadrature", 2, &times, &stairs(drag.im()))
        .line("with DRAG: in phase", 0, &times, &stairs(drag.re()));
    let parts = 12;
    let times: Vec<f64> = (0..samples * parts).map(|k| (k + 1) as f64 * SAMPLE / parts as f64).collect();
    let third = Picture::new("What is in the third level, where nothing should stay", "ns", "probability")
        .logarithmic()
        .line("free", 1, &times, &leaked(free, parts))
        .line("cosine with DRAG", 0, &times, &leaked(drag, parts))
        .line("cosine", 2, &times, &leaked(plain, parts));
    let lengths: Vec<f64> = scan.iter().map(|(samples, _)| *samples as f64 * SAMPLE).collect();
    let [with_drag, free] = [0, 1].map(|k| scan.iter().map(|(_, errors)| errors[k]).collect::<Vec<_>>());
    let limit = Picture::new("How fast a quarter turn can be", "length of the pulse, ns", "error")
        .logarithmic()
        .line("", 1, &lengths, &free)
        .points("free", 1, &lengths, &free)
        .line("", 0, &lengths, &with_drag)
        .points("cosine with DRAG", 0, &lengths, &with_drag);
    panels(&[pulse, third, limit])
}

/// Shapes pulses of 15 samples and of these numbers in so many steps, and reports to `out`; the picture.
pub(crate) fn run(lengths: &[usize], steps: u64, out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let exact = Tensor::zeros([2]);
    let shaped = pulses(15, steps)?;
    writeln!(out, "pulse of 6.25 ns    error     leaked   1 MHz off   1 % too strong")?;
    for (name, drive) in ["cosine", "cosine with DRAG", "15 free samples"].iter().zip(&shaped) {
        let leaked = 0.5 * evolved(drive, &exact).slice(0, 2..).abs2().sum();
        let curved: Tensor<Concrete, 2> = hessian_with(error, &exact, drive);
        let [detuned, strong] =
            [(0, 1e-3), (1, 1e-2)].map(|(k, change)| 0.5 * curved.at([k, k]).item() * change * change);
        let (error, leaked) = (error(&exact, drive).item(), leaked.item());
        writeln!(out, "{name:<16} {error:>8.1e}   {leaked:>8.1e}   {detuned:>9.1e}   {strong:>14.1e}")?;
    }
    let mut scan = Scan::new();
    for &samples in lengths {
        let [_, drag, free] = pulses(samples, steps)?;
        scan.push((samples, [drag, free].map(|drive| error(&exact, &drive).item())));
    }
    let length =
        |of: usize| scan.iter().find(|(_, errors)| errors[of] < 1e-4).map(|(samples, _)| *samples as f64 * SAMPLE);
    let [drag, free] = [0, 1].map(|of| length(of).unwrap_or(f64::INFINITY));
    writeln!(out, "an error below 1e-4 takes {drag:.1} ns with DRAG, and {free:.1} ns with free samples")?;
    draw(&shaped, &scan)
}

/// The times beside those of `python/gallery/quantum.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let drive = cosine(&tensor([0.07, 1.2, 0.03]), 15);
    picture::timed("error and gradient", 1000, || {
        let f = Function::value_and_grad(cost, &drive);
        let drive = &drive;
        move || f.run(drive).map(|(y, slope)| [y.item(), slope.norm().item()])
    })?;
    picture::timed("Hessian in the samples", 100, || {
        let f = Function::hessian_matrix(cost, &drive);
        let drive = &drive;
        move || f.run(drive).map(|h| [h.trace().item(), h.square().sum().sqrt().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("quantum", |out| run(&[8, 9, 10, 11, 12, 13, 15, 17, 19, 21, 24], 400, out), times)
}
