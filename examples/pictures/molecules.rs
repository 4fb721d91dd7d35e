//! Liquid argon by molecular dynamics, with forces between atoms that were measured in the gas.
//!
//! `cargo run --release --example molecules [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! The potential of Lennard-Jones is fitted to second virial coefficients. The atoms move in a periodic box by the method of
//! Verlet. Forces, the pressure, and what the pressure owes to the potential are derivatives of one function, the energy. The
//! derivative of a trajectory grows exponentially, so that of a mean comes from fluctuations. `docs/examples/molecules.md`
//! shows the picture and what is printed.

use std::error::Error;
use std::f64::consts::PI;
use std::io::Write;

use polygrad::random::Key;
use polygrad::tree::Stacked;
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, grad_with, iterate, iterate_all, map, map_accum, tensor};

mod picture;
use picture::{Picture, panels};

/// Second virial coefficients of argon in cm^3/mol, at temperatures in K (CRC Handbook of Chemistry and Physics, from the
/// compilation of Dymond and Smith, 1980).
const WARM: [f64; 14] =
    [100.0, 120.0, 140.0, 160.0, 180.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0, 900.0, 1000.0];
const VIRIAL: [f64; 14] = [-184.0, -131.0, -98.0, -76.0, -60.0, -48.0, -16.0, -1.0, 7.0, 12.0, 15.0, 18.0, 20.0, 22.0];
/// The radial distribution function of the liquid, read off the figure of Yarnell, Katz, Wenzel and Koenig (1973): distances in
/// Angstrom, then the function.
const APART: [f64; 26] = [
    3.31, 3.4, 3.5, 3.6, 3.7, 3.8, 3.9, 4.0, 4.1, 4.25, 4.4, 4.6, 4.88, 5.18, 5.55, 5.85, 6.16, 6.52, 7.02, 7.42, 7.75,
    8.09, 8.55, 9.01, 10.14, 11.28,
];
const SEEN: [f64; 26] = [
    0.70, 1.50, 2.24, 2.91, 3.04, 2.83, 2.43, 2.05, 1.64, 1.35, 1.06, 0.80, 0.63, 0.57, 0.63, 0.78, 0.96, 1.14, 1.27,
    1.19, 1.01, 0.89, 0.83, 0.91, 1.11, 0.97,
];

/// The state of their liquid: K, and atoms in a cube of one Angstrom. Energies are in K, so the mass is in K (ps/Angstrom)^2.
const TEMPERATURE: f64 = 85.0;
const DENSITY: f64 = 0.02125;
const MASS: f64 = 48.047;
/// Pico seconds of a step, and the rate of the thermostat for a pico second.
const STEP: f64 = 0.01;
const FRICTION: f64 = 1.0;
/// A pressure of 1 K in a cube of one Angstrom, in MPa; and a mole of such cubes, in cm^3.
const PASCALS: f64 = 13.80649;
const MOLE: f64 = 0.602_214_076;
/// The width of a bin of distances.
const BIN: f64 = 0.1;

/// Steps of a group, after which the liquid is looked at.
const GROUP: usize = 20;

/// How much is computed: cells of four atoms along a side, groups of steps in a block, and blocks that count.
pub(crate) struct Size {
    pub(crate) cells: usize,
    pub(crate) groups: usize,
    pub(crate) blocks: usize,
    /// Steps without a thermostat.
    pub(crate) free: usize,
}

pub(crate) const FULL: Size = Size { cells: 4, groups: 100, blocks: 10, free: 500 };

/// The depth of the potential in K, and the distance in Angstrom where it is zero.
#[derive(Tree, Clone, Debug)]
struct Potential<T: BaseTensor> {
    depth: Tensor<T, 0>,
    sigma: Tensor<T, 0>,
}

impl<T: BaseTensor> Potential<T> {
    /// The energy of two atoms, by the square of their distance.
    fn pair(&self, square: &Tensor<T, 0>) -> Tensor<T, 0> {
        let s = (self.sigma.square() / square).powi(3);
        4.0 * &self.depth * (s.square() - s)
    }
}

/// The second virial coefficient at each temperature: an integral over distances to 40 Angstrom, and the rest by the attraction.
fn virial<T: BaseTensor>(potential: &Potential<T>, warm: &Tensor<T, 1>) -> Tensor<T, 1> {
    let (n, end) = (2000, 40.0);
    let r = (Tensor::iota(n).to_float() + 0.5) * (end / n as f64);
    let energies = map(r.square(), |square| potential.pair(square));
    map(warm, |t: &Tensor<T, 0>| {
        let inner = (((-&energies / t).exp() - 1.0) * r.square()).sum() * (end / n as f64);
        let outer = 4.0 * &potential.depth * potential.sigma.powi(6) / (3.0 * end.powi(3) * t);
        -2.0 * PI * MOLE * (inner + outer)
    })
}

/// The side of the box in Angstrom.
fn side_of<T: BaseTensor>(at: &Tensor<T, 2>) -> f64 {
    (at.dim::<1>() as f64 / DENSITY).cbrt()
}

/// The square of the distance of each pair, of the nearest copies. `at` has a column for each atom, in units of the side.
fn squares<T: BaseTensor>(at: &Tensor<T, 2>, side: &Tensor<T, 0>) -> Tensor<T, 2> {
    let near = |a: &Tensor<T, 0>, b: &Tensor<T, 0>| {
        let d = a - b;
        (&d - d.round()).square()
    };
    let [x, y, z] = at.unstack::<3, 1>();
    map((&x, &y, &z), |(x1, y1, z1)| {
        map((&x, &y, &z), |(x2, y2, z2)| (near(x1, x2) + near(y1, y2) + near(z1, z2)) * side.square())
    })
}

/// The energy of all pairs. Beyond half of the side it is cut off, and shifted so that it is continuous.
fn energy<T: BaseTensor>(at: &Tensor<T, 2>, side: &Tensor<T, 0>, potential: &Potential<T>) -> Tensor<T, 0> {
    let cut = (side_of(at) / 2.0).powi(2);
    let squares = squares(at, side);
    // An atom and itself count as a pair at the cut.
    let squares = squares.gt(0.0).select(squares.min(cut), cut);
    let shift = potential.pair(&Tensor::scalar(cut));
    0.5 * map(squares, |row: &Tensor<T, 1>| map(row, |square| potential.pair(square) - &shift).sum()).sum()
}

/// The pressure in MPa: by the derivative of the energy in the side, and a term for pairs beyond the cut.
fn pressure<T: BaseTensor>(potential: &Potential<T>, at: &Tensor<T, 2>) -> Tensor<T, 0> {
    let side = side_of(at);
    let slope = grad_with(
        |side, (at, potential): &(_, Potential<_>)| energy(at, side, potential),
        &Tensor::scalar(side),
        &(at.clone(), potential.clone()),
    );
    let s = (&potential.sigma / (side / 2.0)).powi(3);
    let beyond = 16.0 / 3.0 * PI * DENSITY.powi(2) * &potential.depth * potential.sigma.powi(3);
    (DENSITY * TEMPERATURE - slope / (3.0 * side * side) + beyond * (2.0 / 3.0 * s.powi(3) - s)) * PASCALS
}

/// Where the atoms are, how fast they are, and how they are accelerated, in units of the side.
type Atoms<T> = [Tensor<T, 2>; 3];

fn acceleration<T: BaseTensor>(at: &Tensor<T, 2>, potential: &Potential<T>) -> Tensor<T, 2> {
    let side = side_of(at);
    let slope = grad_with(|at, potential| energy(at, &Tensor::scalar(side), potential), at, potential);
    slope / (-MASS * side * side)
}

/// A step of the method of Verlet.
fn step<T: BaseTensor>([at, speed, pull]: Atoms<T>, potential: &Potential<T>) -> Atoms<T> {
    let speed = speed + pull * (0.5 * STEP);
    let at = at + &speed * STEP;
    let pull = acceleration(&at, potential);
    [at, speed + &pull * (0.5 * STEP), pull]
}

/// What is seen after a group of steps: the energy of all pairs, the pressure, their derivatives in the potential, and how many
/// pairs are in each bin of distances.
#[derive(Tree, Clone)]
struct Look<T: BaseTensor> {
    energy: Tensor<T, 0>,
    pressure: Tensor<T, 0>,
    slopes: [Potential<T>; 2],
    pairs: Tensor<T, 1>,
}

fn look<T: BaseTensor>(at: &Tensor<T, 2>, potential: &Potential<T>) -> Look<T> {
    let side = side_of(at);
    let of_energy = |potential: &Potential<_>, at: &Tensor<_, 2>| energy(at, &Tensor::scalar(side), potential);
    let apart = squares(at, &Tensor::scalar(side)).sqrt().flatten();
    let bins = (side / 2.0 / BIN) as usize;
    Look {
        energy: energy(at, &Tensor::scalar(side), potential),
        pressure: pressure(potential, at),
        slopes: [grad_with(of_energy, potential, at), grad_with(pressure, potential, at)],
        pairs: Tensor::ones([apart.dim::<0>()]).segment_sum(&(apart / BIN).to_int(), bins),
    }
}

/// Groups of steps with a thermostat, one for each key, and what is seen after each.
fn liquid<T: BaseTensor>(
    start: &Atoms<T>,
    (potential, temperature, keys): &(Potential<T>, Tensor<T, 0>, Tensor<T, 1, i64>),
) -> (Atoms<T>, Stacked<T, Look<T>>) {
    let kept = (-FRICTION * STEP).exp();
    let width = (temperature * ((1.0 - kept * kept) / MASS)).sqrt() / side_of(&start[0]);
    map_accum(start, keys, |atoms: Atoms<T>, key: &Tensor<T, 0, i64>| {
        let key = Key::from_tensor(key.clone());
        let atoms: Atoms<T> = iterate(GROUP, &atoms, |k, atoms: Atoms<T>| {
            let [at, speed, pull] = step(atoms, potential);
            let kicks = key.fold_in(k).normal(speed.shape()) * &width;
            [at, speed * kept + kicks, pull]
        });
        let seen = look(&atoms[0], potential);
        (atoms, seen)
    })
}

/// Steps without a thermostat: where the atoms are after each, and the energy of motion and of all pairs.
fn trajectory<T: BaseTensor>(
    steps: usize,
    potential: &Potential<T>,
    start: &Atoms<T>,
) -> (Tensor<T, 3>, [Tensor<T, 1>; 2]) {
    let side = side_of(&start[0]);
    let [at, speed, _]: [Tensor<T, 3>; 3] = iterate_all(steps, start, |_, atoms: Atoms<T>| step(atoms, potential));
    let motion = speed.square().sum_axis::<2>(2).sum_axis::<1>(1) * (0.5 * MASS * side * side);
    let pairs = map(&at, |at: &Tensor<T, 2>| energy(at, &Tensor::scalar(side), potential));
    (at, [motion, pairs])
}

/// Atoms near the places of a crystal, whose cells are cubes with four atoms, with random speeds.
fn crystal(cells: usize, potential: &Potential<Concrete>) -> Atoms<Concrete> {
    let n = 4 * cells.pow(3);
    let corners = [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]];
    let at = Tensor::from_fn([3, n], |[axis, k]| {
        let cell = k / 4 / cells.pow(axis as u32) % cells;
        (cell as f64 + 0.5 * f64::from(corners[k % 4][axis])) / cells as f64
    });
    let speed = Key::new(1).normal([3, n]) * ((TEMPERATURE / MASS).sqrt() / side_of(&at));
    let at = at + &speed * 0.1;
    let pull = acceleration(&at, potential);
    [at, speed, pull]
}

/// The potential that fits the virial coefficients, by the Gauss-Newton method, and the covariance of its parameters.
fn fit() -> Result<(Potential<Concrete>, Tensor<Concrete, 2>), Box<dyn Error>> {
    let (warm, seen) = (tensor(WARM), tensor(VIRIAL));
    let mut potential = Potential { depth: tensor(120.0), sigma: tensor(3.4) };
    let both = Function::value_and_jacobian_matrix_with(virial, &potential, &warm);
    for _ in 0..20 {
        let (values, j) = both.run_with(&potential, &warm)?;
        potential = potential.unravel(&(potential.ravel() + j.lstsq(&(&seen - values))));
    }
    let (values, j) = both.run_with(&potential, &warm)?;
    let variance = (seen - values).square().sum().item() / (WARM.len() - 2) as f64;
    Ok((potential, j.t().matmul(&j).try_inverse()? * variance))
}

/// A mean over blocks, and its standard error.
fn mean(values: &Tensor<Concrete, 1>, blocks: usize) -> (f64, f64) {
    let means = values.reshape([blocks, values.len() / blocks]).mean_axis::<1>(1);
    (means.mean().item(), (means.var().item() / (blocks - 1) as f64).sqrt())
}

/// Fits the potential, simulates the liquid, and reports to `out`; the picture.
pub(crate) fn run(size: &Size, out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let (potential, covariance) = fit()?;
    let error = covariance.diagonal(0, 1).sqrt().to_vec();
    let missed = (virial(&potential, &tensor(WARM)) - tensor(VIRIAL)).square().mean().item().sqrt();
    writeln!(out, "the gas: depth {:.1} +- {:.1} K", potential.depth.item(), error[0])?;
    writeln!(out, "         sigma {:.3} +- {:.3} Angstrom", potential.sigma.item(), error[1])?;
    writeln!(out, "         misses {missed:.1} cm^3/mol of a coefficient")?;

    let mut atoms = crystal(size.cells, &potential);
    let n = atoms[0].dim::<1>();
    let key = Key::<Concrete>::new(2);
    let data = |block: usize, temperature: f64| {
        (potential.clone(), tensor(temperature), key.fold_in(block as i64).keys(size.groups))
    };
    let simulate = Function::stage_with(liquid, &atoms, &data(0, TEMPERATURE));
    // Heat melts the crystal, and the liquid cools.
    for (block, temperature) in [4.0 * TEMPERATURE, TEMPERATURE].into_iter().enumerate() {
        (atoms, _) = simulate.run_with(&atoms, &data(block, temperature))?;
    }
    let mut looks = Vec::new();
    for block in 0..size.blocks {
        let (next, seen) = simulate.run_with(&atoms, &data(2 + block, TEMPERATURE))?;
        (atoms, looks) = (next, [looks, seen.unstack()].concat());
    }
    let all = Stacked::new(&looks);
    let pressures = all.field(|look| &look.pressure);
    let (p, noise) = mean(&pressures, size.blocks);
    writeln!(out, "the liquid: {n} atoms, {} ps", (size.blocks * size.groups * GROUP) as f64 * STEP)?;
    writeln!(out, "pressure {p:.1} +- {noise:.1} MPa, measured 0.3")?;

    // The derivative of a mean: the mean of the derivative, and what the potential changes in the weights of states.
    writeln!(out, "derivative of the pressure   of states   of weights   sum")?;
    let mut slopes = Vec::new();
    let moved = &pressures - p;
    for (name, of_energy, of_pressure) in [
        ("in the depth", all.field(|look| &look.slopes[0].depth), all.field(|look| &look.slopes[1].depth)),
        ("in sigma", all.field(|look| &look.slopes[0].sigma), all.field(|look| &look.slopes[1].sigma)),
    ] {
        let weights = &moved * (&of_energy - of_energy.mean()) / -TEMPERATURE;
        let (slope, noise) = mean(&(&of_pressure + &weights), size.blocks);
        let parts = format!("{:>10.1} {:>12.1}", of_pressure.mean().item(), weights.mean().item());
        writeln!(out, "{name:<25} {parts}   {slope:.1} +- {noise:.1}")?;
        slopes.push(slope);
    }
    let slopes = Tensor::new([2], slopes);
    let spread = slopes.dot(&covariance.matvec(&slopes)).item().sqrt();
    writeln!(out, "the uncertainty of the potential makes the pressure uncertain by {spread:.0} MPa")?;

    let shells = |k: usize| 4.0 / 3.0 * PI * BIN.powi(3) * ((k + 1).pow(3) - k.pow(3)) as f64 * DENSITY * n as f64;
    let pairs: Tensor<Concrete, 1> = all.field(|look| &look.pairs).mean_axis(0);
    let shares: Vec<f64> = pairs.to_vec().iter().enumerate().map(|(k, n)| n / shells(k)).collect();

    // The free trajectory, and its derivative in sigma.
    let free = |potential: &Potential<_>, start: &Atoms<_>| trajectory(size.free, potential, start);
    let along = Potential { depth: tensor(0.0), sigma: tensor(1.0) };
    let free = Function::jvp_with(free, &potential, &atoms);
    let ((_, [motion, pairs]), (growth, _)) = free.run_with(&potential, &(along, atoms.clone()))?;
    let total = &motion + pairs;
    let off = (&total - total.at([0])).abs().max_all().item();
    let ps = size.free as f64 * STEP;
    writeln!(out, "{ps} ps without a thermostat: the energy of motion scatters by {:.0} K", motion.std().item())?;
    writeln!(out, "the sum of all energies drifts by at most {off:.1} K")?;
    let growth = growth.square().sum_axis::<2>(2).sum_axis::<1>(1).sqrt() * side_of(&atoms[0]);
    let (early, late) = (growth.at([size.free / 5]), growth.at([size.free]));
    let rate = (late / early).ln().item() / (0.8 * ps);
    writeln!(out, "the derivative of the trajectory in sigma grows by a factor of {:.1} in a pico second", rate.exp())?;
    draw(&potential, &shares, &growth.to_vec())
}

fn draw(potential: &Potential<Concrete>, shares: &[f64], growth: &[f64]) -> Result<String, Box<dyn Error>> {
    let warm: Vec<f64> = (90..=1000).step_by(10).map(f64::from).collect();
    let fitted = virial(potential, &Tensor::new([warm.len()], warm.clone())).to_vec();
    let gas = Picture::new("Argon as a gas: the second virial coefficient", "temperature, K", "cm^3/mol")
        .line("fitted potential", 0, &warm, &fitted)
        .points("measured", 1, &WARM, &VIRIAL);
    let distances: Vec<f64> = (0..shares.len()).map(|k| (k as f64 + 0.5) * BIN).collect();
    let from = (2.5 / BIN) as usize;
    let liquid = Picture::new(
        "Argon as a liquid at 85 K: how many atoms are at a distance",
        "distance of two atoms, Angstrom",
        "relative to the mean density",
    )
    .with_zero()
    .line("simulated with the potential of the gas", 0, &distances[from..], &shares[from..])
    .points("measured by neutrons", 1, &APART, &SEEN);
    // The first step is by speeds and accelerations that are given.
    let times: Vec<f64> = (2..growth.len()).map(|k| k as f64 * STEP).collect();
    let growth = Picture::new(
        "The derivative of a trajectory grows exponentially",
        "time, ps",
        "derivative of all places in sigma",
    )
    .logarithmic()
    .line("", 0, &times, &growth[2..]);
    panels(&[gas, liquid, growth])
}

/// The times beside those of `python/gallery/molecules.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let potential = Potential { depth: tensor(120.0), sigma: tensor(3.4) };
    let warm = tensor(WARM);
    picture::timed("virial coefficients and their Jacobian", 100, || {
        let f = Function::value_and_jacobian_matrix_with(virial, &potential, &warm);
        let (potential, warm) = (&potential, &warm);
        move || f.run_with(potential, warm).map(|(y, j)| [y.sum().item(), j.square().sum().sqrt().item()])
    })?;
    let start = crystal(FULL.cells, &potential);
    let side = side_of(&start[0]);
    let of_places = |at: &Tensor<_, 2>, potential: &Potential<_>| energy(at, &Tensor::scalar(side), potential);
    picture::timed("energy and forces", 500, || {
        let f = Function::value_and_grad_with(of_places, &start[0], &potential);
        let (at, potential) = (&start[0], &potential);
        move || f.run_with(at, potential).map(|(y, slope)| [y.item(), slope.norm().item()])
    })?;
    let last = |potential: &Potential<_>, start: &Atoms<_>| {
        let [_, pairs] = trajectory(30, potential, start).1;
        pairs.at([30])
    };
    picture::timed("energy after 30 steps, and its gradient in the potential", 5, || {
        let f = Function::value_and_grad_with(last, &potential, &start);
        let (potential, start) = (&potential, &start);
        move || f.run_with(potential, start).map(|(y, slope)| [y.item(), slope.ravel().norm().item()])
    })?;
    let both = (Potential { depth: tensor(0.0), sigma: tensor(1.0) }, start.clone());
    picture::timed("30 steps, and the derivative of all places in sigma", 5, || {
        let places = |potential: &Potential<_>, start: &Atoms<_>| trajectory(30, potential, start).0;
        let f = Function::jvp_with(places, &potential, &start);
        let (potential, both) = (&potential, &both);
        move || f.run_with(potential, both).map(|(y, d)| [y.square().sum().item(), d.square().sum().sqrt().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("molecules", |out| run(&FULL, out), times)
}
