//! A planet on its orbit, by Taylor series of the differential equation.
//!
//! `cargo run --release --example taylor`
//!
//! The equation `y' = f(y)` gives the Taylor coefficients of its solution one after the other: coefficient `k` of `f(y)`,
//! along the curve known so far, divided by `k + 1`, is coefficient `k + 1` of `y`. A step sums the series, as far as the
//! last coefficients say that it holds. The program of a step is recorded once for each order; equal operations of the
//! expansions in it are one. Orders are compared with the method of Runge and Kutta of order 4 at the same error.
//! `docs/examples/taylor.md` shows what is printed.

use std::error::Error;
use std::io::Write;

use polygrad::{BaseTensor, Concrete, Function, Tensor, concat, iterate, stack, taylor_along, tensor};

/// How far the planet may be from where it started, after as many orbits.
const TOLERANCE: f64 = 1e-8;
const ORBITS: f64 = 5.0;

/// Position and velocity around a sun of mass 1.
type State<T> = Tensor<T, 1>;

fn rate<T: BaseTensor>(y: &State<T>) -> State<T> {
    let (at, speed) = (y.slice(0, 0..2), y.slice(0, 2..4));
    let inverse = at.square().sum().sqrt().recip();
    concat(0, [&speed, &at.times(&-(&inverse * &inverse * &inverse))])
}

/// The Taylor coefficients of the orbit through a state, power by power.
fn orbit<T: BaseTensor>(y: &State<T>, order: usize) -> Tensor<T, 2> {
    let mut curve = vec![y.clone()];
    for k in 0..order {
        let next = taylor_along(rate, &curve, k).remove(k) / (k + 1) as f64;
        curve.push(next);
    }
    stack(&curve)
}

/// The length of a step after which the last two terms are as small as asked for.
fn length(c: &Tensor<Concrete, 2>, order: usize, small: f64) -> f64 {
    let of = |k: usize| (small / c.row(k).abs().max_axis::<0>(0).item()).powf(1.0 / k as f64);
    of(order).min(of(order - 1))
}

/// The state after some time, and the number of steps.
fn by_series(start: &State<Concrete>, time: f64, order: usize, small: f64) -> (State<Concrete>, usize) {
    let coefficients = Function::stage(|y| orbit(y, order), start);
    let (mut y, mut left, mut steps) = (start.clone(), time, 0);
    while left > 0.0 {
        let c = coefficients.run(&y).expect("a state has four numbers");
        let h = length(&c, order, small).min(left);
        y = (0..=order).rev().fold(Tensor::zeros([4]), |sum, k| sum * h + c.row(k));
        (left, steps) = (left - h, steps + 1);
    }
    (y, steps)
}

/// A step of Runge and Kutta.
fn step<T: BaseTensor>(y: &State<T>, h: f64) -> State<T> {
    let a = rate(y);
    let b = rate(&(y + &a * (h / 2.0)));
    let c = rate(&(y + &b * (h / 2.0)));
    let d = rate(&(y + &c * h));
    y + (a + 2.0 * (b + c) + d) * (h / 6.0)
}

/// The state after some time by as many steps, all in one loop.
fn by_runge_kutta(start: &State<Concrete>, time: f64, steps: usize) -> State<Concrete> {
    let all = Function::stage(|y| iterate(steps, y, |_, y: State<_>| step(&y, time / steps as f64)), start);
    all.run(start).expect("a state has four numbers")
}

/// How far two positions are apart.
fn apart(a: &State<Concrete>, b: &State<Concrete>) -> f64 {
    (a - b).slice(0, 0..2).square().sum().sqrt().item()
}

/// Writes how many steps each method takes.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let eccentricity: f64 = 0.6;
    let start = tensor([1.0 - eccentricity, 0.0, 0.0, ((1.0 + eccentricity) / (1.0 - eccentricity)).sqrt()]);
    let time = 2.0 * std::f64::consts::PI * ORBITS;
    writeln!(out, "{ORBITS} orbits, until the planet is where it was to {TOLERANCE:e}")?;
    writeln!(out, "method          order   steps  operations of a step")?;
    for order in [6, 12, 18] {
        // The error grows over the orbits: smaller terms until it is small enough.
        let mut small = TOLERANCE;
        let (mut y, mut steps) = by_series(&start, time, order, small);
        while apart(&y, &start) > TOLERANCE {
            small /= 4.0;
            (y, steps) = by_series(&start, time, order, small);
        }
        let program = Function::stage(|y| orbit(y, order), &start);
        writeln!(out, "Taylor          {order:5} {steps:7} {:12}", program.optimized().size())?;
    }
    let mut steps = 1024;
    while apart(&by_runge_kutta(&start, time, steps), &start) > TOLERANCE {
        steps *= 2;
    }
    let program = Function::stage(|y| step(y, 0.1), &start);
    writeln!(out, "Runge-Kutta     {:5} {steps:7} {:12}", 4, program.optimized().size())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout().lock())
}
