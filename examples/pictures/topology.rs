//! The stiffest beam of a given weight: topology optimization by finite elements.
//!
//! `cargo run --release --example topology [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! The strain energy of an element is the only mechanics that is written: stiffness matrices are its Hessians, and what equilibrium
//! says of derivatives is its directional derivative. The equations are solved column by column, by a block Cholesky factorization
//! in a loop. The problem is that of Sigmund's 99 lines (2001) with the density filter of the 88 lines (Andreassen et al. 2011).
//! `docs/examples/topology.md` shows the picture and what is printed.

use std::error::Error;
use std::io::Write;

use polygrad::linalg::Triangle;
use polygrad::{
    BaseTensor, Concrete, Conv, Function, Tensor, custom_vjp, einsum, grad, hessian_with, iterate, jvp, map, map_accum,
    map_accum_reverse, tensor, value_and_grad, vjp,
};

mod picture;
use picture::raster::{Raster, rasters};
use picture::{Picture, stacked};

/// Poisson's ratio of the material; its modulus of elasticity is 1.
const POISSON: f64 = 0.3;
/// The modulus of elasticity where there is no material.
const VOID: f64 = 1e-9;
/// The radius of the filter, in elements.
const RADIUS: f64 = 2.4;
/// The part of the area that is filled.
const VOLUME: f64 = 0.5;
/// The compliance that Andreassen et al. state for 60 by 20 elements.
const PUBLISHED: f64 = 233.71;
/// Supports are springs, so much stiffer than an element.
const SUPPORT: f64 = 1e9;

/// The strain energy of each element of a rectangle, with modulus 1. The displacements `[2, columns, rows]` of the nodes are to the
/// right and down; an element is a square of side 1 between four nodes, and the integral over it takes four points.
fn strain_energy<T: BaseTensor>(u: &Tensor<T, 3>) -> Tensor<T, 2> {
    let [_, columns, rows] = u.shape();
    let corner = |i: usize, j: usize| u.slice(1, i..columns - 1 + i).slice(2, j..rows - 1 + j);
    let [[a, b], [c, d]] = [0, 1].map(|i| [0, 1].map(|j| corner(i, j)));
    let [p, q] = [-1.0, 1.0].map(|sign| 0.5 + sign / 12.0_f64.sqrt());
    let at = |s: f64, t: f64| {
        let [xx, yx] = ((&c - &a) * (1.0 - t) + (&d - &b) * t).unstack();
        let [xy, yy] = ((&b - &a) * (1.0 - s) + (&d - &c) * s).unstack();
        let shear: Tensor<T, 2> = xy + yx;
        let stretch = xx.square() + yy.square() + 2.0 * POISSON * xx * yy;
        (stretch + 0.5 * (1.0 - POISSON) * shear.square()) / (8.0 * (1.0 - POISSON * POISSON))
    };
    at(p, p) + at(p, q) + at(q, p) + at(q, q)
}

/// The displacements of nodes that are given column by column, for each column first all to the right, then all down.
fn nodes<T: BaseTensor>(u: &Tensor<T, 2>) -> Tensor<T, 3> {
    let [columns, numbers] = u.shape();
    u.reshape([columns, 2, numbers / 2]).permute([1, 0, 2])
}

/// What is known of a beam: the stiffness that each element of a column of elements adds to its left nodes, to its right ones, and
/// between both; the springs and the loads at the nodes, column by column.
struct Beam {
    stiffness: [Tensor<Concrete, 3>; 3],
    springs: Tensor<Concrete, 2>,
    load: Tensor<Concrete, 2>,
}

impl Beam {
    /// The right half of a beam on two supports with a load in the middle: so many elements to the right, and down.
    fn new([columns, rows]: [usize; 2]) -> Beam {
        let numbers = 2 * (rows + 1);
        let energy = |u: &Tensor<_, 2>, moduli: &Tensor<_, 1>| strain_energy(&nodes(u)).row(0).dot(moduli);
        // The energy is quadratic, so its Hessian is the same everywhere.
        let strips: Tensor<Concrete, 5> = map(Tensor::eye(rows), |element: &Tensor<_, 1>| {
            hessian_with(energy, &Tensor::zeros([2, numbers]), element)
        });
        let part = |i: usize, j: usize| strips.slice(1, i..=i).slice(3, j..=j).reshape([rows, numbers, numbers]);
        let symmetry = |[i, k]: [usize; 2]| i == 0 && k <= rows;
        let roller = |[i, k]: [usize; 2]| [i, k] == [columns, numbers - 1];
        Beam {
            stiffness: [part(0, 0), part(1, 1), part(0, 1)],
            springs: Tensor::from_fn([columns + 1, numbers], |at| f64::from(symmetry(at) || roller(at)) * SUPPORT),
            load: Tensor::from_fn([columns + 1, numbers], |at| f64::from(at == [0, rows + 1])),
        }
    }
}

/// The blocks of a Cholesky factor: those on the diagonal, and those beside it.
type Factors<T> = (Tensor<T, 3>, Tensor<T, 3>);
/// The moduli of the elements, the factors of the stiffness matrix, and the load.
type Equations<T> = (Tensor<T, 2>, Factors<T>, Tensor<T, 2>);

/// The Cholesky factor of the stiffness matrix. Its blocks are columns of nodes.
fn factors<T: BaseTensor>(moduli: &Tensor<T, 2>, beam: &Beam) -> Factors<T> {
    let [left, right, between] =
        beam.stiffness.each_ref().map(|k| einsum!("xe,eab->xab", moduli, &Tensor::<T, 3>::constant(k)));
    let own = left.pad([(0, 1), (0, 0), (0, 0)]) + right.pad([(1, 0), (0, 0), (0, 0)]);
    let next = between.pad([(0, 1), (0, 0), (0, 0)]);
    let springs = Tensor::constant(&beam.springs);
    let column = |eliminated: Tensor<T, 2>, (own, springs, next): &(Tensor<T, 2>, Tensor<T, 1>, Tensor<T, 2>)| {
        let diagonal = (own + springs.diag() - eliminated).cholesky();
        let beside = diagonal.solve_lower(next);
        (beside.t().matmul(&beside), (diagonal, beside))
    };
    let n = beam.load.shape()[1];
    map_accum(Tensor::zeros([n, n]), (&own, &springs, &next), column).1
}

/// The solution of the equations of which these are the factors.
fn substitute<T: BaseTensor>((diagonal, beside): &Factors<T>, load: &Tensor<T, 2>) -> Tensor<T, 2> {
    type Column<T> = (Tensor<T, 2>, Tensor<T, 2>, Tensor<T, 1>);
    let zero = Tensor::zeros([load.shape()[1]]);
    let down = |before: Tensor<T, 1>, (l, w, f): &Column<T>| {
        let y = l.solve_lower(&(f - before));
        (y.vecmat(w), y)
    };
    let y: Tensor<T, 2> = map_accum(zero.clone(), (diagonal, beside, load), down).1;
    let up = |after: Tensor<T, 1>, (l, w, y): &Column<T>| {
        let u = l.solve_triangular(&(y - w.matvec(&after)), Triangle::LOWER.transposed());
        (u.clone(), u)
    };
    map_accum_reverse(zero, (diagonal, beside, &y), up).1
}

/// The solution of `K u = f`, where the moduli determine `K`, of which the factors are known. A change of the moduli changes the
/// solution by `K du = -dK u`. Derivatives of so many orders use the same factors; those of higher orders factorize again.
fn solution<T: BaseTensor>(equations: &Equations<T>, beam: &Beam, orders: usize) -> Tensor<T, 2> {
    let (moduli, _, load) = equations;
    if orders == 0 {
        return substitute(&factors(moduli, beam), load);
    }
    custom_vjp(
        "solution",
        |(_, factors, load)| substitute(factors, load),
        |(moduli, factors, _), u, cotangent| {
            let adjoint = solution(&(moduli.clone(), factors.clone(), cotangent.clone()), beam, orders - 1);
            let of_moduli = -jvp(strain_energy, &nodes(u), &nodes(&adjoint)).1;
            (of_moduli, (&factors.0 * 0.0, &factors.1 * 0.0), adjoint)
        },
        equations,
    )
}

/// The displacements at equilibrium.
fn displacements<T: BaseTensor>(moduli: &Tensor<T, 2>, beam: &Beam) -> Tensor<T, 2> {
    let factors = factors(&moduli.stop_gradient(), beam);
    solution(&(moduli.clone(), factors, Tensor::constant(&beam.load)), beam, 2)
}

/// The densities: means of the neighbours, nearer ones with more weight.
fn filtered<T: BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 2> {
    let reach = RADIUS.ceil() as usize - 1;
    let side = 2 * reach + 1;
    let weight =
        |[_, _, i, j]: [usize; 4]| (RADIUS - (i as f64 - reach as f64).hypot(j as f64 - reach as f64)).max(0.0);
    let kernel = Tensor::from_fn([1, 1, side, side], weight);
    let [n, m] = x.shape();
    let sums =
        |x: &Tensor<T, 2>| x.reshape([1, 1, n, m]).conv2d(&kernel, Conv::default().same([side, side])).reshape([n, m]);
    sums(x) / sums(&Tensor::full([n, m], 1.0))
}

fn moduli<T: BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 2> {
    VOID + (1.0 - VOID) * filtered(x).powi(3)
}

/// The work of the load, which is twice the energy of the beam.
fn compliance<T: BaseTensor>(x: &Tensor<T, 2>, beam: &Beam) -> Tensor<T, 0> {
    (displacements(&moduli(x), beam) * Tensor::constant(&beam.load)).sum()
}

/// How far the roller moves.
fn roller<T: BaseTensor>(x: &Tensor<T, 2>, beam: &Beam) -> Tensor<T, 0> {
    let [columns, rows] = x.shape();
    displacements(&moduli(x), beam).at([columns as i64, rows as i64])
}

fn volume<T: BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 0> {
    filtered(x).mean()
}

/// A step by optimality criteria: material goes where an amount of it saves most compliance. The price of material is found by
/// bisection, so that the volume is kept.
fn improved<T: BaseTensor>(x: &Tensor<T, 2>, beam: &Beam) -> (Tensor<T, 2>, Tensor<T, 0>) {
    let (work, slope) = value_and_grad(|x| compliance(x, beam), x);
    let worth = -slope / grad(volume, x);
    let (least, most) = ((x - 0.2).max(0.0), (x + 0.2).min(1.0));
    let at = |price: &Tensor<T, 0>| (x * (&worth / price.exp()).sqrt()).max(&least).min(&most);
    let range = (Tensor::scalar(-20.0), Tensor::scalar(20.0));
    let (low, high) = iterate(50, range, |_, (low, high): (Tensor<T, 0>, Tensor<T, 0>)| {
        let middle = (&low + &high) * 0.5;
        let dear = volume(&at(&middle)).gt(VOLUME);
        (dear.select(&middle, low), dear.select(high, &middle))
    });
    (at(&((low + high) * 0.5)), work)
}

/// Optimizes a beam, and reports to `out`; the picture.
pub(crate) fn run(size: [usize; 2], out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let beam = Beam::new(size);
    let mut x = Tensor::full(size, VOLUME);
    let step = Function::stage(|x| improved(x, &beam), &x);
    writeln!(out, "iteration   compliance   largest change")?;
    let (mut curve, mut images) = (Vec::new(), Vec::new());
    loop {
        let (next, work) = step.run(&x)?;
        let change = (&next - &x).abs().max_all().item();
        curve.push(work.item());
        let (k, last) = (curve.len(), change <= 0.01);
        if [1, 2, 5, 10, 20, 50, 100].contains(&k) || last {
            writeln!(out, "{k:>9}   {:>10.2}   {change:>14.4}", work.item())?;
        }
        if [5, 10, 20].contains(&k) || last {
            images.push((format!("iteration {k}: compliance {:.1}", work.item()), filtered(&x).t().to_vec()));
        }
        if last || k == 500 {
            break;
        }
        x = next;
    }
    check(&x, &beam, out)?;

    let images: Vec<(String, Vec<f64>)> = images
        .into_iter()
        .map(|(name, densities)| (name, densities.iter().map(|density| 1.0 - density).collect()))
        .collect();
    let images: Vec<_> =
        images.iter().map(|(name, pixels)| Raster { name, width: size[0], pixels, lines: Vec::new() }).collect();
    let above = rasters("The right half of a beam: material goes where it carries the load", 2, &images);
    let k: Vec<f64> = (1..=curve.len()).map(|k| k as f64).collect();
    let below = Picture::new("The compliance at each iteration", "iteration", "compliance")
        .with_zero()
        .line("published for 60 by 20 elements", 2, &[1.0, curve.len() as f64], &[PUBLISHED; 2])
        .line("here", 0, &k, &curve)
        .svg()
        .map_err(|e| e.to_string())?;
    Ok(stacked(&[above, below]))
}

/// Compares gradients with what else is known of them.
fn check(x: &Tensor<Concrete, 2>, beam: &Beam, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    // By hand the derivative of the compliance in a density is minus p x^(p - 1) u^T k u, and u^T k u is twice the energy.
    let (density, pull) = vjp(filtered, x);
    let energy = strain_energy(&nodes(&displacements(&moduli(x), beam)));
    let by_hand = pull(&(-(1.0 - VOID) * 3.0 * density.square() * 2.0 * energy));
    let slope = grad(|x| compliance(x, beam), x);
    let off = (&slope - &by_hand).abs().max_all().item() / by_hand.abs().max_all().item();
    writeln!(out, "---")?;
    writeln!(
        out,
        "the gradient of the compliance is that by hand, up to {}",
        if off < 1e-12 { "rounding" } else { "a fault" }
    )?;

    // There is no such formula for how far the roller moves; a difference of two displacements stands beside its derivative.
    let [columns, rows] = x.shape();
    let element = [columns / 2, rows - 1];
    let moved = |h: f64| {
        let more = Tensor::from_fn([columns, rows], |at| f64::from(at == element) * h);
        roller(&(x + more), beam).item()
    };
    let slope = grad(|x| roller(x, beam), x).at(element.map(|k| k as i64)).item();
    writeln!(out, "the roller moves by {:.2}", moved(0.0))?;
    writeln!(
        out,
        "its derivative in the density of an element is {slope:.4}, by differences {:.4}",
        (moved(1e-4) - moved(-1e-4)) / 2e-4
    )?;
    Ok(())
}

/// The times beside those of `python/gallery/topology.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let size = [60, 20];
    let beam = Beam::new(size);
    let x = Tensor::from_fn(size, |[i, j]| 0.5 + 0.4 * ((i * 7 + j * 3) as f64).sin());
    let (x, beam) = (&x, &beam);
    let norm = |y: Tensor<Concrete, 0>, slope: Tensor<Concrete, 2>| [y.item(), slope.square().sum().sqrt().item()];
    picture::timed("compliance and gradient", 100, || {
        let f = Function::value_and_grad(|x| compliance(x, beam), x);
        move || f.run(x).map(|(y, slope)| norm(y, slope))
    })?;
    picture::timed("compliance", 100, || {
        let f = Function::stage(|x| compliance(x, beam), x);
        move || f.run(x).map(|y| norm(y, tensor([[0.0]])))
    })?;
    picture::timed("roller and gradient", 100, || {
        let f = Function::value_and_grad(|x| roller(x, beam), x);
        move || f.run(x).map(|(y, slope)| norm(y, slope))
    })?;
    picture::timed("through the loops", 20, || {
        let direct = |x: &Tensor<_, 2>| {
            (substitute(&factors(&moduli(x), beam), &Tensor::constant(&beam.load)) * Tensor::constant(&beam.load)).sum()
        };
        let f = Function::value_and_grad(direct, x);
        move || f.run(x).map(|(y, slope)| norm(y, slope))
    })?;
    picture::timed("a step", 50, || {
        let f = Function::stage(|x| improved(x, beam), x);
        move || f.run(x).map(|(x, y)| norm(y, x))
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("topology", |out| run([60, 20], out), times)
}
