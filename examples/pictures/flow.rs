//! Learns where earthquakes happen: a flow from normal noise to the places of earthquakes, with the density of each place.
//!
//! `cargo run --release --example flow [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! A network is the velocity of points, at each place and time. It learns by flow matching (Y. Lipman and others, *Flow matching
//! for generative modeling*, ICLR 2023): straight lines lead from noise to data, and the network learns their mean velocity.
//! The density at the end follows the divergence of the velocity along the way. `docs/examples/flow.md` shows the picture and
//! what is printed.

use std::error::Error;
use std::f64::consts::PI;
use std::io::Write;

use polygrad::array::Rng;
use polygrad::nn::{Init, Linear};
use polygrad::optim::{Adam, Optimizer, Rate, State};
use polygrad::random::Key;
use polygrad::{
    BaseTensor, Concrete, Function, Tensor, Tree, concat, divergence_with, iterate, iterate_all, map, map_accum,
    tensor, value_and_grad_with,
};

mod picture;
use picture::{Picture, panels};

/// Longitudes and latitudes of 1000 earthquakes near Fiji.
const QUAKES: &str = include_str!("../data/quakes.csv");
const HELD_OUT: usize = 200;
/// Steps of the integration from noise to data.
const STEPS: usize = 20;
const WAVES: [f64; 3] = [2.0, 4.0, 8.0];

pub(crate) struct Size {
    pub(crate) hidden: usize,
    pub(crate) batch: usize,
    pub(crate) updates: usize,
    /// How many points are drawn.
    pub(crate) drawn: usize,
    /// The columns of cells in the picture of the density.
    pub(crate) columns: usize,
}

pub(crate) const FULL: Size = Size { hidden: 64, batch: 256, updates: 8000, drawn: 600, columns: 72 };

/// The network: a place and a time to a velocity.
#[derive(Tree, Clone)]
struct Field<T: BaseTensor> {
    hidden: [Linear<T>; 3],
    last: Linear<T>,
}

impl<T: BaseTensor> Field<T> {
    fn velocity(&self, at: &Tensor<T, 1>, time: &Tensor<T, 0>) -> Tensor<T, 1> {
        // Waves of three lengths show details of the place.
        let waves = at.outer(&Tensor::constant(WAVES)).flatten();
        let seen = concat(0, (at, &time.reshape([1]), &waves.sin(), &waves.cos()));
        self.last.apply(&self.hidden.iter().fold(seen, |x, layer| layer.apply(&x).silu()))
    }

    /// The mean square of what the velocity misses, on lines from noise to points.
    fn loss(&self, points: &Tensor<T, 2>, key: &Key<T>) -> Tensor<T, 0> {
        let [of_noise, of_times] = key.split();
        let (noise, times) = (of_noise.normal(points.shape()), of_times.uniform([points.dim::<0>()]));
        let missed = map((&noise, points, &times), |(from, to, time): &(Tensor<T, 1>, Tensor<T, 1>, Tensor<T, 0>)| {
            let line = to - from;
            (self.velocity(&(from + &line * time), time) - line).square().sum()
        });
        missed.mean()
    }

    /// A step of the classical method of Runge and Kutta, and the divergence along it, by the same method.
    fn step(&self, at: &Tensor<T, 1>, time: &Tensor<T, 0>, h: f64) -> (Tensor<T, 1>, Tensor<T, 0>) {
        let rate = |at: &Tensor<T, 1>, time: &Tensor<T, 0>| {
            let data = (self.clone(), time.clone());
            let of = |at: &Tensor<_, 1>, (field, time): &(Field<_>, Tensor<_, 0>)| field.velocity(at, time);
            (self.velocity(at, time), divergence_with(of, at, &data))
        };
        let (half, end) = (time + h / 2.0, time + h);
        let (k1, d1) = rate(at, time);
        let (k2, d2) = rate(&(at + &k1 * (h / 2.0)), &half);
        let (k3, d3) = rate(&(at + &k2 * (h / 2.0)), &half);
        let (k4, d4) = rate(&(at + &k3 * h), &end);
        (at + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0), (d1 + (d2 + d3) * 2.0 + d4) * (h / 6.0))
    }

    /// The way of a point of noise.
    fn way(&self, from: &Tensor<T, 1>) -> Tensor<T, 2> {
        let h = 1.0 / STEPS as f64;
        iterate_all(STEPS, from, |k, at: Tensor<T, 1>| self.step(&at, &(k.to_float::<f64>() * h), h).0)
    }

    /// The logarithm of the density of a point: back to the noise that it comes from.
    fn log_density(&self, at: &Tensor<T, 1>) -> Tensor<T, 0> {
        let h = 1.0 / STEPS as f64;
        let start = (at.clone(), Tensor::scalar(0.0));
        let (from, shrunk) = iterate(STEPS, start, |k, (at, sum): (Tensor<T, 1>, Tensor<T, 0>)| {
            let (at, divergence) = self.step(&at, &(1.0 - k.to_float::<f64>() * h), -h);
            (at, sum + divergence)
        });
        shrunk - 0.5 * from.square().sum() - (2.0 * PI).ln()
    }
}

/// The field, and the state of the optimizer.
type Now<T> = (Field<T>, State<T, Field<T>>);

/// Updates, one for each key; the losses.
fn train<T: BaseTensor>(
    size: &Size,
    start: &Now<T>,
    (points, keys): &(Tensor<T, 2>, Tensor<T, 1, i64>),
) -> (Now<T>, Tensor<T, 1>) {
    let adam = Adam::new(Rate::cosine(0.01, 0.0, size.updates));
    map_accum(start, keys, |(field, state): Now<T>, key: &Tensor<T, 0, i64>| {
        let [of_rows, of_loss] = Key::from_tensor(key.clone()).split();
        let rows = of_rows.choice(points.dim::<0>(), size.batch);
        let batch = (points.take::<1>(&rows), of_loss);
        let (loss, slope) = value_and_grad_with(
            |field: &Field<_>, (points, key): &(_, Key<_>)| field.loss(points, key),
            &field,
            &batch,
        );
        (adam.update(&field, &slope, &state), loss)
    })
}

/// Places in units of their standard deviations, from their means: those to learn from, those held out, and both units.
struct Places {
    learnt: Tensor<Concrete, 2>,
    held_out: Tensor<Concrete, 2>,
    mean: Tensor<Concrete, 1>,
    unit: Tensor<Concrete, 1>,
}

fn places() -> Result<Places, Box<dyn Error>> {
    let numbers = QUAKES.lines().skip(1).flat_map(|line| line.split(',')).map(str::parse);
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
    let all = Tensor::new([numbers.len() / 2, 2], numbers);
    let (mean, unit) = (all.mean_axis(0), all.std_axis(0));
    let order = Key::<Concrete>::new(1).permutation(all.dim::<0>());
    let all = ((&all - mean.up_to(&all)) / unit.up_to(&all)).take::<1>(&order);
    Ok(Places { learnt: all.slice(0, HELD_OUT..), held_out: all.slice(0, ..HELD_OUT), mean, unit })
}

impl Places {
    /// Degrees of points.
    fn degrees(&self, at: &Tensor<Concrete, 2>) -> [Vec<f64>; 2] {
        let at = at * self.unit.up_to(at) + self.mean.up_to(at);
        at.t().unstack::<2, 1>().map(|column| column.to_vec())
    }
}

fn start(size: &Size) -> Now<Concrete> {
    let mut rng = Rng::new(1);
    let mut layer = |inputs: usize, outputs: usize| Linear::new([inputs, outputs], Init::GlorotUniform, &mut rng);
    let inputs = 3 + 4 * WAVES.len();
    let hidden = [inputs, size.hidden, size.hidden].map(|inputs| layer(inputs, size.hidden));
    let field = Field { hidden, last: layer(size.hidden, 2) };
    let state = Adam::new(0.0).init(&field);
    (field, state)
}

/// The logarithms of the densities of points by the field, and where points of noise go.
fn densities<T: BaseTensor>(field: &Field<T>, points: &Tensor<T, 2>) -> Tensor<T, 1> {
    map(points, |at| field.log_density(at))
}

fn ways<T: BaseTensor>(field: &Field<T>, noise: &Tensor<T, 2>) -> Tensor<T, 3> {
    map(noise, |from| field.way(from))
}

/// The mean logarithm of the density of points by a normal distribution, and by one around each point that was learnt.
fn others(places: &Places) -> [f64; 2] {
    let (learnt, held_out) = (&places.learnt, &places.held_out);
    let n = learnt.dim::<0>() as f64;
    let apart = learnt - learnt.mean_axis::<1>(0).up_to(learnt);
    let covariance = apart.t().matmul(&apart) / n;
    let out = held_out - learnt.mean_axis::<1>(0).up_to(held_out);
    let squares = (out.matmul(&covariance.inverse()) * &out).sum_axis::<1>(1);
    let normal = -0.5 * squares.mean() - 0.5 * covariance.logdet() - (2.0 * PI).ln();
    let squares: Tensor<Concrete, 2> =
        map(held_out, |at: &Tensor<Concrete, 1>| (learnt - at.up_to(learnt)).square().sum_axis::<1>(1));
    // The width that fits best, of those tried.
    let around = |width: f64| {
        let each: Tensor<Concrete, 1> = (&squares / (-2.0 * width * width)).logsumexp_axis(1);
        each.mean().item() - (2.0 * PI * width * width * n).ln()
    };
    let kernels = (1..=15).map(|k| around(0.02 * f64::from(k))).fold(f64::NEG_INFINITY, f64::max);
    [normal.item(), kernels]
}

/// Trains the network, and reports to `out`; the picture.
pub(crate) fn run(size: &Size, out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let (places, now) = (places()?, start(size));
    let keys = Key::<Concrete>::new(2).keys(size.updates);
    let data = (places.learnt.clone(), keys);
    let n = now.0.ravel().len();
    writeln!(out, "{} places to learn from, {HELD_OUT} held out, {n} parameters", places.learnt.dim::<0>())?;
    let density = Function::stage_with(densities, &now.0, &places.held_out);
    let before = density.run_with(&now.0, &places.held_out)?.mean().item();
    let training = Function::stage_with(|now: &Now<_>, data| train(size, now, data), &now, &data);
    let ((field, _), losses) = training.run_with(&now, &data)?;
    let tenth = size.updates / 10;
    let [first, last] = [0, size.updates - tenth].map(|k| losses.slice(0, k..k + tenth).mean().item());
    writeln!(out, "the loss of the first tenth of {} updates {first:.3}, of the last {last:.3}", size.updates)?;
    let after = density.run_with(&field, &places.held_out)?.mean().item();
    let [normal, kernels] = others(&places);
    writeln!(out, "nats for a place that was held out, in units of the standard deviations:")?;
    writeln!(out, "a normal distribution                 {normal:.3}")?;
    writeln!(out, "one around each place that was learnt {kernels:.3}")?;
    writeln!(out, "the flow before training              {before:.3}")?;
    writeln!(out, "the flow                              {after:.3}")?;
    draw(size, &field, &places)
}

fn draw(size: &Size, field: &Field<Concrete>, places: &Places) -> Result<String, Box<dyn Error>> {
    let (columns, rows) = (size.columns, size.columns * 11 / 18);
    let edges = |from: f64, to: f64, n: usize| (0..=n).map(|k| from + (to - from) * k as f64 / n as f64).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = (edges(163.0, 191.0, columns), edges(-40.0, -8.0, rows));
    let [dx, dy] = [x[1] - x[0], y[1] - y[0]];
    let middle = |k: usize| [x[k % columns] + dx / 2.0, y[k / columns] + dy / 2.0];
    let standard = |at: Tensor<Concrete, 2>| (&at - places.mean.up_to(&at)) / places.unit.up_to(&at);
    let cells = standard(Tensor::from_fn([rows * columns, 2], |[k, axis]| middle(k)[axis]));
    let density = Function::stage_with(densities, field, &cells).run_with(field, &cells)?.exp();
    let dark = (&density / density.max_all()).powf(0.3).to_vec();
    let [lon, lat] = places.degrees(&places.held_out);
    let seen = Picture::new("Earthquakes near Fiji: the density that the flow learns", "longitude", "latitude")
        .shades("density", 0, &x, &y, &dark)
        .points("places held out", 1, &lon, &lat);

    let noise = Key::<Concrete>::new(5).normal([size.drawn, 2]);
    let ways = Function::stage_with(ways, field, &noise).run_with(field, &noise)?;
    let mut drawn = Picture::new("Places that the flow draws", "longitude", "latitude");
    for k in 0..size.drawn.min(40) {
        let [lon, lat] = places.degrees(&ways.row(k));
        drawn = drawn.line(if k == 0 { "from noise, for some of them" } else { "" }, 0, &lon, &lat);
    }
    let [lon, lat] = places.degrees(&ways.slice(1, STEPS..).reshape([size.drawn, 2]));
    let drawn = drawn.points("drawn", 1, &lon, &lat);

    let (columns, rows, time) = (20, 12, tensor(0.9));
    let (x, y): (Vec<f64>, Vec<f64>) = (edges(165.0, 189.0, columns), edges(-38.0, -10.0, rows));
    let from: Vec<(f64, f64)> = y.iter().flat_map(|y| x.iter().map(move |x| (*x, *y))).collect();
    let grid = standard(Tensor::from_fn([from.len(), 2], |[k, axis]| [from[k].0, from[k].1][axis]));
    let moved: Tensor<Concrete, 2> = map(&grid, |at: &Tensor<Concrete, 1>| field.velocity(at, &time));
    let [lon, lat] = places.degrees(&(grid + moved * 0.1));
    let to: Vec<(f64, f64)> = lon.into_iter().zip(lat).collect();
    let arrows = Picture::new("The velocity near the end of the way", "longitude", "latitude").arrows(
        "velocity at time 0.9",
        0,
        &from,
        &to,
    );
    panels(&[seen, drawn, arrows])
}

/// The times beside those of `python/gallery/flow.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let (places, now) = (places()?, start(&FULL));
    let field = now.0.unravel(&(Key::<Concrete>::new(4).normal([now.0.ravel().len()]) * 0.2));
    let batch = (places.learnt.slice(0, ..FULL.batch), Key::<Concrete>::new(5));
    picture::timed("loss and gradient of a batch", 200, || {
        let loss = |field: &Field<_>, (points, key): &(Tensor<_, 2>, Key<_>)| field.loss(points, key);
        let f = Function::value_and_grad_with(loss, &field, &batch);
        let (field, batch) = (&field, &batch);
        move || f.run_with(field, batch).map(|(y, slope)| [y.item(), slope.ravel().norm().item()])
    })?;
    let data = (places.learnt.clone(), Key::<Concrete>::new(2).keys(200));
    let now = (field.clone(), now.1);
    picture::timed("200 updates", 5, || {
        let f = Function::stage_with(|now: &Now<_>, data| train(&FULL, now, data), &now, &data);
        let (now, data) = (&now, &data);
        move || f.run_with(now, data).map(|((field, _), losses)| [losses.mean().item(), field.ravel().norm().item()])
    })?;
    picture::timed("densities of 200 places", 20, || {
        let f = Function::stage_with(densities, &field, &places.held_out);
        let (field, points) = (&field, &places.held_out);
        move || f.run_with(field, points).map(|y| [y.mean().item(), y.norm().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("flow", |out| run(&FULL, out), times)
}
