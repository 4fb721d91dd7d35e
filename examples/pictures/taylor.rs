//! A planet on its orbit, by Taylor series of the differential equation.
//!
//! `cargo run --release --example taylor [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! The equation `y' = f(y)` gives the Taylor coefficients of its solution one after the other: coefficient `k` of `f(y)`,
//! along the curve known so far, divided by `k + 1`, is coefficient `k + 1` of `y`. A step sums the series, as far as the
//! last coefficients say that it holds. The program of a step is recorded once for each order; equal operations of the
//! expansions in it are one. Orders are compared with the method of Runge and Kutta of order 4 at the same error.
//! `docs/examples/taylor.md` shows the picture and what is printed.

use std::error::Error;
use std::io::Write;

use polygrad::{BaseTensor, Concrete, Function, Tensor, concat, iterate, stack, taylor_along, tensor};

mod picture;
use picture::Picture;

/// How far the planet may be from where it started, after as many orbits.
const TOLERANCE: f64 = 1e-8;
const ORBITS: f64 = 5.0;
const ECCENTRICITY: f64 = 0.6;
const ORDERS: [usize; 3] = [6, 12, 18];

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

/// The beginning of each step and the end of the last one: times and states.
#[derive(Default)]
struct Path {
    times: Vec<f64>,
    states: Vec<State<Concrete>>,
}

impl Path {
    fn steps(&self) -> usize {
        self.times.len() - 1
    }

    fn end(&self) -> &State<Concrete> {
        &self.states[self.steps()]
    }
}

/// The way from a state on, for some time.
fn by_series(start: &State<Concrete>, time: f64, order: usize, small: f64) -> Path {
    let coefficients = Function::stage(|y| orbit(y, order), start);
    let mut path = Path { times: vec![0.0], states: vec![start.clone()] };
    let mut left = time;
    while left > 0.0 {
        let c = coefficients.run(path.end()).expect("a state has four numbers");
        let h = length(&c, order, small).min(left);
        path.states.push((0..=order).rev().fold(Tensor::zeros([4]), |sum, k| sum * h + c.row(k)));
        left -= h;
        path.times.push(time - left);
    }
    path
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

/// The nearest point of the orbit to the sun, with the speed there.
fn start() -> State<Concrete> {
    tensor([1.0 - ECCENTRICITY, 0.0, 0.0, ((1.0 + ECCENTRICITY) / (1.0 - ECCENTRICITY)).sqrt()])
}

/// The way of each order with the least number of steps that is found at the tolerance.
fn paths(start: &State<Concrete>, time: f64) -> Vec<Path> {
    let path = |order| {
        // The error grows over the orbits: smaller terms until it is small enough.
        let mut small = TOLERANCE;
        let mut path = by_series(start, time, order, small);
        while apart(path.end(), start) > TOLERANCE {
            small /= 4.0;
            path = by_series(start, time, order, small);
        }
        path
    };
    ORDERS.into_iter().map(path).collect()
}

/// The first orbit with the ends of steps on it, and how long each step is.
fn draw(paths: &[Path]) -> Result<String, Box<dyn Error>> {
    let round = std::f64::consts::TAU;
    let of = |path: &Path, k: usize, late: f64| {
        let places = path.times.iter().zip(&path.states).filter(|(t, _)| **t <= late);
        places.map(|(_, y)| y.to_vec()[k]).collect::<Vec<f64>>()
    };
    let [low, middle, high] = [0, 1, 2].map(|k| &paths[k]);
    let along = Picture::new("One orbit around the sun: where steps of each order end", "x", "y")
        .points("order 6", 1, &of(low, 0, round), &of(low, 1, round))
        .points("order 18", 0, &of(high, 0, round), &of(high, 1, round))
        .points("sun", 2, &[0.0], &[0.0]);
    let mut lengths =
        Picture::new("The length of each step: short near the sun", "time, in orbits", "length").logarithmic();
    for (name, colour, path) in [("order 6", 1, low), ("order 12", 3, middle), ("order 18", 0, high)] {
        // The last step ends where the time does: it is no longer than what is left.
        let steps = &path.times[..path.steps()];
        let length: Vec<f64> = steps.windows(2).map(|ends| ends[1] - ends[0]).collect();
        let orbits: Vec<f64> = steps[..length.len()].iter().map(|t| t / round).collect();
        lengths = lengths.line(name, colour, &orbits, &length);
    }
    picture::panels(&[along, lengths])
}

/// Writes how many steps each method takes; the picture.
pub(crate) fn run(out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let (start, time) = (start(), std::f64::consts::TAU * ORBITS);
    writeln!(out, "{ORBITS} orbits, until the planet is where it was to {TOLERANCE:e}")?;
    writeln!(out, "method          order   steps  operations of a step")?;
    let paths = paths(&start, time);
    for (order, path) in ORDERS.into_iter().zip(&paths) {
        let program = Function::stage(|y| orbit(y, order), &start);
        writeln!(out, "Taylor          {order:5} {:7} {:12}", path.steps(), program.optimized().size())?;
    }
    let mut steps = 1024;
    while apart(&by_runge_kutta(&start, time, steps), &start) > TOLERANCE {
        steps *= 2;
    }
    let program = Function::stage(|y| step(y, 0.1), &start);
    writeln!(out, "Runge-Kutta     {:5} {steps:7} {:12}", 4, program.optimized().size())?;
    draw(&paths)
}

/// The times beside those of `python/gallery/taylor.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let start = &start();
    for order in ORDERS {
        picture::timed(&format!("coefficients to the order {order}"), 1000, || {
            let f = Function::stage(|y| orbit(y, order), start);
            move || f.run(start).map(|c| [c.row(1).norm().item(), c.square().sum().sqrt().item()])
        })?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("taylor", run, times)
}
