//! Fits the equations of Hodgkin and Huxley to their voltage clamp of a squid axon, and predicts its action potential.
//!
//! `cargo run --release --example neuron [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! In a voltage clamp the potential is constant, so a gate relaxes exponentially, and the conductances are formulas. The 17
//! constants of the equations are fitted to 278 measured conductances by the Gauss-Newton method; the Hessian says how sure they
//! are. Then nothing clamps the potential: a loop integrates the equations, and its Jacobian says how sure the predicted action potential is, and
//! which conductance changes what. `docs/examples/neuron.md` shows the picture and what is printed.

use std::error::Error;
use std::io::Write;

use polygrad::{
    BaseTensor, Concrete, Function, Tensor, Tree, concat, hessian_matrix_with, map, map_accum, stack, tensor,
    value_and_jacobian_matrix,
};

mod picture;
use picture::{Picture, panels};

/// Conductances in mS/cm^2 after a step of the potential by so many mV from rest, at times in ms.
const CLAMPS: &str = include_str!("../data/axon17.csv");
/// The potentials of potassium and sodium, in mV from rest.
const POTENTIALS: [f64; 2] = [-12.0, 115.0];
/// Steps of the action potential, and their length in ms.
const STEPS: usize = 600;
const STEP: f64 = 0.02;
/// The potentials at which measurements are drawn.
const SHOWN: [f64; 6] = [109.0, 88.0, 63.0, 38.0, 26.0, 10.0];
/// A shock moves the potential so far from rest, in mV.
const SHOCK: f64 = 15.0;

type Real<T> = Tensor<T, 0>;

/// In potentials of so many mV all constants are near 1: those of a prior have a deviation of 1.
const UNIT: f64 = 20.0;
/// The deviation of a measured conductance, as a share of the largest one at that potential.
const NOISE: f64 = 0.06;

/// How fast a gate opens and closes: the constants of two functions of the potential.
#[derive(Tree, Clone, Debug)]
struct Gate<T: BaseTensor> {
    opening: Tensor<T, 1>,
    closing: Tensor<T, 1>,
}

/// The logarithms of both largest conductances, and the gates: `n` of potassium, `m` and `h` of sodium.
#[derive(Tree, Clone, Debug)]
struct Axon<T: BaseTensor> {
    potassium: Real<T>,
    sodium: Real<T>,
    n: Gate<T>,
    m: Gate<T>,
    h: Gate<T>,
}

/// `e^c x / (e^x - 1)` with `x = (middle - v) / width`, where `width` is a logarithm: nothing far below the middle, and a straight line far above.
fn ramp<T: BaseTensor>(constants: &Tensor<T, 1>, v: &Real<T>) -> Real<T> {
    let [scale, middle, width] = constants.unstack();
    let x = (middle - v / UNIT) / width.exp();
    scale.exp() * &x / x.expm1()
}

fn exponential<T: BaseTensor>(constants: &Tensor<T, 1>, v: &Real<T>) -> Real<T> {
    let [scale, slope] = constants.unstack();
    (scale + slope * v / UNIT).exp()
}

fn switch<T: BaseTensor>(constants: &Tensor<T, 1>, v: &Real<T>) -> Real<T> {
    let [scale, middle, width] = constants.unstack();
    scale.exp() * ((v / UNIT - middle) / width.exp()).sigmoid()
}

/// The rates of opening and of closing of the three gates at a potential.
fn rates<T: BaseTensor>(Axon { n, m, h, .. }: &Axon<T>, v: &Real<T>) -> [(Real<T>, Real<T>); 3] {
    [
        (ramp(&n.opening, v), exponential(&n.closing, v)),
        (ramp(&m.opening, v), exponential(&m.closing, v)),
        (exponential(&h.opening, v), switch(&h.closing, v)),
    ]
}

/// The gates after a time in which the potential is constant; each goes exponentially to where it opens as often as it closes.
fn relax<T: BaseTensor>(axon: &Axon<T>, gates: &[Real<T>; 3], v: &Real<T>, time: &Real<T>) -> [Real<T>; 3] {
    let rates = rates(axon, v);
    std::array::from_fn(|k| {
        let (opening, closing) = &rates[k];
        let both = opening + closing;
        let end = opening / &both;
        &end + (&gates[k] - &end) * (-both * time).exp()
    })
}

/// The gates at rest.
fn rest<T: BaseTensor>(axon: &Axon<T>) -> [Real<T>; 3] {
    rates(axon, &Tensor::scalar(0.0)).map(|(opening, closing)| &opening / (&opening + closing))
}

/// The conductances of potassium and of sodium.
fn conductances<T: BaseTensor>(axon: &Axon<T>, [n, m, h]: &[Real<T>; 3]) -> [Real<T>; 2] {
    [axon.potassium.exp() * n.powi(4), axon.sodium.exp() * m.powi(3) * h]
}

/// Of each measurement whether it is of sodium, the potential, the time, the conductance, and the largest one at that potential.
type Clamps<T> = [Tensor<T, 1>; 5];

/// The measurements, and what was expected of the constants before.
type Data<T> = (Clamps<T>, Axon<T>);

/// What the equations miss, and how far the constants are from what was expected, in standard deviations.
fn residuals<T: BaseTensor>(axon: &Axon<T>, (clamps, expected): &Data<T>) -> Tensor<T, 1> {
    let start = rest(axon);
    let missed = map(clamps, |[sodium, v, time, seen, largest]| {
        let [k, na] = conductances(axon, &relax(axon, &start, v, time));
        (&k + sodium * (na - &k) - seen) / (largest * NOISE)
    });
    concat(0, (missed, axon.ravel() - expected.ravel()))
}

/// The potential after a shock, at each step. The leak is a further conductance; its potential is that at which no current flows at rest.
fn spike<T: BaseTensor>((axon, leak): &(Axon<T>, Real<T>)) -> Tensor<T, 1> {
    let start = rest(axon);
    let [k, na] = conductances(axon, &start);
    let leak_current = k * POTENTIALS[0] + na * POTENTIALS[1];
    let (_, potentials) = map_accum((Tensor::scalar(SHOCK), start), 0..STEPS, |(v, gates), _| {
        let gates = relax(axon, &gates, &v, &Tensor::scalar(STEP));
        let [k, na] = conductances(axon, &gates);
        let all = &k + &na + leak.exp();
        let end = (k * POTENTIALS[0] + na * POTENTIALS[1] - &leak_current) / &all;
        // The capacity of the membrane is 1 uF/cm^2.
        let v = &end + (v - &end) * (-all * STEP).exp();
        ((v.clone(), gates), v)
    });
    potentials
}

/// The height of the action potential, and its time: the top of a parabola through the three highest potentials.
fn top<T: BaseTensor>(all: &(Axon<T>, Real<T>)) -> Tensor<T, 1> {
    let v = spike(all);
    let k = v.argmax_axis(0);
    let [before, at, after] = [-1, 0, 1].map(|step| v.at([&k + step]));
    let (slope, bend) = ((&after - &before) / 2.0, &after + &before - 2.0 * &at);
    stack([&at - slope.square() / (2.0 * &bend), (k.to_float() + 1.0 - slope / bend) * STEP])
}

/// The constants near those of the paper (which has 10 and 25 mV for the middles: there `ramp` is 0 / 0), for an axon in general.
fn paper() -> Axon<Concrete> {
    let ramp = |scale: f64, middle: f64| tensor([scale.ln(), middle / UNIT, (10.0 / UNIT).ln()]);
    let exponential = |scale: f64, width: f64| tensor([scale.ln(), -UNIT / width]);
    Axon {
        potassium: tensor(36f64.ln()),
        sodium: tensor(120f64.ln()),
        n: Gate { opening: ramp(0.1, 9.9), closing: exponential(0.125, 80.0) },
        m: Gate { opening: ramp(1.0, 24.9), closing: exponential(4.0, 18.0) },
        h: Gate { opening: exponential(0.07, 20.0), closing: ramp(1.0, 30.0) },
    }
}

fn clamps() -> Result<Clamps<Concrete>, Box<dyn Error>> {
    let numbers = CLAMPS.lines().skip(1).flat_map(|line| line.split(',').map(str::parse));
    let numbers = numbers.collect::<Result<Vec<f64>, _>>()?;
    Ok(Tensor::new([numbers.len() / 5, 5], numbers).t().unstack())
}

/// Half the sum of squares: minus the logarithm of the posterior density.
fn energy<T: BaseTensor>(axon: &Axon<T>, data: &Data<T>) -> Real<T> {
    0.5 * residuals(axon, data).square().sum()
}

/// The constants by the Gauss-Newton method, and their covariance as it sees it. Levenberg's and Marquardt's damping shortens a step that
/// does not lead down.
fn fit(data: &Data<Concrete>, out: &mut dyn Write) -> Result<(Axon<Concrete>, Tensor<Concrete, 2>), Box<dyn Error>> {
    let (mut axon, mut damping) = (data.1.clone(), 1e-2);
    let both = Function::value_and_jacobian_matrix_with(residuals, &axon, data);
    let (mut r, mut j) = both.run_with(&axon, data)?;
    for step in 1.. {
        let normal = j.t().matmul(&j);
        let damped = &normal + (normal.diagonal(0, 1) * damping).diag();
        let change = -damped.try_solve(&j.t().matvec(&r))?;
        let trial = axon.unravel(&(axon.ravel() + &change));
        let (next_r, next_j) = both.run_with(&trial, data)?;
        if next_r.norm().item() <= r.norm().item() {
            (axon, r, j, damping) = (trial, next_r, next_j, damping / 2.0);
        } else {
            damping *= 4.0;
        }
        if change.norm().item() < 1e-4 || step == 300 {
            let missed = r.slice(0, ..data.0[0].size()).square().mean().sqrt().item() * NOISE;
            writeln!(out, "{step} steps; a curve misses its points by {:.1} % of its height", 100.0 * missed)?;
            break;
        }
    }
    Ok((axon, j.t().matmul(&j).try_inverse()?))
}

fn draw(
    axon: &Axon<Concrete>,
    clamps: &Clamps<Concrete>,
    potentials: &[Vec<f64>; 4],
) -> Result<String, Box<dyn Error>> {
    let [ions, v, time, seen, _] = clamps.each_ref().map(Tensor::to_vec);
    let start = rest(axon);
    let clamped = |ion: usize, end: f64, title| {
        let times: Vec<f64> = (0..=200).map(|k| f64::from(k) * end / 200.0).collect();
        let mut picture = Picture::new(title, "milliseconds after the potential was set", "mS/cm²");
        for (k, v) in SHOWN.iter().enumerate() {
            let at = |t: &f64| conductances(axon, &relax(axon, &start, &tensor(*v), &tensor(*t)))[ion].item();
            let curve: Vec<f64> = times.iter().map(at).collect();
            picture = picture.line(if k == 0 { "fit" } else { "" }, ion, &times, &curve);
        }
        let shown = |&k: &usize| ions[k] == ion as f64 && time[k] < end && SHOWN.contains(&v[k]);
        let (x, y): (Vec<f64>, Vec<f64>) = (0..v.len()).filter(shown).map(|k| (time[k], seen[k])).unzip();
        picture.points("measured, at potentials from 10 to 109 mV", 2, &x, &y)
    };
    let at: Vec<f64> = (1..=STEPS).map(|k| k as f64 * STEP).collect();
    let [paper, low, middle, high] = potentials;
    let potential = Picture::new("The action potential that follows", "milliseconds after a shock", "mV from rest")
        .line("constants of the paper, for axons in general", 2, &at, paper)
        .band("95 %", 3, &at, low, high)
        .line("this axon", 3, &at, middle);
    let potassium = clamped(0, 13.0, "How a squid axon conducts potassium");
    panels(&[potassium, clamped(1, 5.0, "How it conducts sodium"), potential])
}

/// Fits the constants, and reports to `out`; the picture.
pub(crate) fn run(out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let data = (clamps()?, paper());
    let (axon, by_jacobian) = fit(&data, out)?;
    let covariance = hessian_matrix_with(energy, &axon, &data).try_inverse()?;
    let errors = |covariance: &Tensor<Concrete, 2>| (covariance.diagonal(0, 1).sqrt() * 1.96).exp().to_vec();
    let (errors, wrong) = (errors(&covariance), errors(&by_jacobian));
    writeln!(out, "mS/cm²    estimate  95 % between   by Gauss-Newton   paper")?;
    for (name, k) in [("potassium", 0), ("sodium", 1)] {
        let [x, before] = [&axon, &data.1].map(|axon| axon.ravel().to_vec()[k].exp());
        let [[a, b], [c, d]] = [errors[k], wrong[k]].map(|e| [x / e, x * e]);
        writeln!(out, "{name:<9} {x:>7.1} {a:>7.1} and {b:>4.0} {c:>8.1} and {d:>4.0} {before:>7.0}")?;
    }

    let all = (axon, tensor(0.3f64.ln()));
    // The Jacobian has a column for each constant, the last one for the leak.
    let (middle, j) = value_and_jacobian_matrix(spike, &all);
    let deviations = |j: &Tensor<Concrete, 2>| {
        let j = j.slice(1, ..errors.len());
        (j.matmul(&covariance) * &j).sum_axis::<1>(1).sqrt() * 1.96
    };
    let width = deviations(&j);
    let curves = [spike(&(paper(), all.1.clone())), &middle - &width, middle.clone(), &middle + &width];

    let (height, by_constant) = value_and_jacobian_matrix(top, &all);
    let [height, time] = height.unstack().map(|x| x.item());
    let [dh, dt] = deviations(&by_constant).unstack().map(|x| x.item());
    writeln!(out, "the action potential rises to {height:.1} +- {dh:.1} mV at {time:.2} +- {dt:.2} ms")?;
    writeln!(out, "10 % more of   height, mV   time, ms")?;
    for (name, k) in [("potassium", 0), ("sodium", 1), ("leak", errors.len())] {
        let [height, time] = [0, 1].map(|of| 0.1 * by_constant.at([of, k]).item());
        writeln!(out, "{name:<12} {height:>+12.2} {time:>+10.3}")?;
    }
    draw(&all.0, &data.0, &curves.map(|curve| curve.to_vec()))
}

/// The times beside those of `python/gallery/neuron.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let data = (clamps()?, paper());
    let all = (paper(), tensor(0.3f64.ln()));
    picture::timed("residuals and Jacobian", 1000, || {
        let f = Function::value_and_jacobian_matrix_with(residuals, &all.0, &data);
        let (all, data) = (&all.0, &data);
        move || f.run_with(all, data).map(|(r, j)| [r.norm().item(), j.square().sum().sqrt().item()])
    })?;
    picture::timed("Hessian", 300, || {
        let f = Function::hessian_matrix_with(energy, &all.0, &data);
        let (all, data) = (&all.0, &data);
        move || f.run_with(all, data).map(|h| [h.trace().item(), h.square().sum().sqrt().item()])
    })?;
    picture::timed("action potential and Jacobian", 100, || {
        let f = Function::value_and_jacobian_matrix(spike, &all);
        let all = &all;
        move || f.run(all).map(|(v, j)| [v.norm().item(), j.square().sum().sqrt().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("neuron", run, times)
}
