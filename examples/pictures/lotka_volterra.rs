//! Fits the equations of Lotka and Volterra to the numbers of hares and lynxes, and says how sure the fit is.
//!
//! `cargo run --release --example lotka_volterra [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! The data are the pelts that the Hudson's Bay Company bought in Canada from 1900 to 1920, in thousands. A loop integrates the
//! equations. The Gauss-Newton method fits them: it needs what the curves miss, and the Jacobian of that, which are recorded
//! once, as one program. The Hessian of the sum of squares, inverted, is the uncertainty of the parameters; the Jacobian of
//! the curves carries it over to a band around them. `docs/examples/lotka_volterra.md` shows the picture and what is printed.

use std::error::Error;
use std::io::Write;

use polygrad::{
    BaseTensor, Concrete, Function, Tensor, Tree, hessian_matrix_with, iterate_all, stack, tensor,
    value_and_jacobian_matrix,
};

mod picture;
use picture::Picture;

const YEARS: usize = 20;
/// Steps of the integration in a year.
const STEPS: usize = 10;
const FIRST_YEAR: f64 = 1900.0;
const HARES: [f64; YEARS + 1] = [
    30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6,
    16.2, 24.7,
];
const LYNXES: [f64; YEARS + 1] = [
    4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6,
];

/// The logarithms of the rates and of the numbers in the first year: what is positive stays so.
#[derive(Tree, Clone, Debug)]
struct Model<T: BaseTensor> {
    birth: Tensor<T, 0>,
    predation: Tensor<T, 0>,
    death: Tensor<T, 0>,
    growth: Tensor<T, 0>,
    hares: Tensor<T, 0>,
    lynxes: Tensor<T, 0>,
}

/// The logarithms of both numbers at each step, by the classical method of Runge and Kutta:
/// `(ln h)' = birth - predation l` and `(ln l)' = growth h - death`.
fn curves<T: BaseTensor>(model: &Model<T>) -> Tensor<T, 2> {
    let (birth, predation) = (model.birth.exp(), model.predation.exp());
    let (death, growth) = (model.death.exp(), model.growth.exp());
    let rate = |state: &Tensor<T, 1>| {
        let [hares, lynxes] = state.exp().unstack();
        stack((&birth - &predation * lynxes, &growth * hares - &death))
    };
    let h = 1.0 / STEPS as f64;
    iterate_all(YEARS * STEPS, stack((&model.hares, &model.lynxes)), |_, s: Tensor<T, 1>| {
        let k1 = rate(&s);
        let k2 = rate(&(&s + &k1 * (h / 2.0)));
        let k3 = rate(&(&s + &k2 * (h / 2.0)));
        let k4 = rate(&(&s + &k3 * h));
        s + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0)
    })
}

/// What the curves miss in each year.
fn residuals<T: BaseTensor>(model: &Model<T>, seen: &Tensor<T, 2>) -> Tensor<T, 1> {
    (curves(model).slice_step(0, .., STEPS) - seen).flatten()
}

/// Half the sum of squares.
fn energy<T: BaseTensor>(model: &Model<T>, seen: &Tensor<T, 2>) -> Tensor<T, 0> {
    0.5 * residuals(model, seen).square().sum()
}

/// The fit, and how it was found.
struct Fit {
    model: Model<Concrete>,
    /// The variance of the noise.
    variance: f64,
    /// The covariance of the parameters, from the Hessian, and as the Gauss-Newton method sees it.
    covariances: [Tensor<Concrete, 2>; 2],
}

/// The Gauss-Newton method; Levenberg's and Marquardt's damping shortens a step that does not lead down.
fn fit(start: &Model<Concrete>, seen: &Tensor<Concrete, 2>, out: &mut dyn Write) -> Result<Fit, Box<dyn Error>> {
    let both = Function::value_and_jacobian_matrix_with(residuals, start, seen);
    let (mut model, mut damping) = (start.clone(), 1e-2);
    let (mut r, mut j) = both.run_with(&model, seen)?;
    writeln!(out, "step   sum of squares   damping")?;
    for step in 0..100 {
        writeln!(out, "{step:>4}   {:>14.6}   {damping:>7.0e}", r.square().sum().item())?;
        let normal = j.t().matmul(&j);
        let damped = &normal + (normal.diagonal(0, 1) * damping).diag();
        let change = -damped.try_solve(&j.t().matvec(&r))?;
        let trial = model.unravel(&(model.ravel() + &change));
        let (next_r, next_j) = both.run_with(&trial, seen)?;
        if next_r.norm().item() <= r.norm().item() {
            (model, r, j, damping) = (trial, next_r, next_j, damping / 10.0);
        } else {
            damping *= 10.0;
        }
        if change.norm().item() < 1e-6 {
            break;
        }
    }
    let variance = r.square().sum().item() / (r.len() - j.dim::<1>()) as f64;
    let hessian = hessian_matrix_with(energy, &model, seen);
    let covariances = [hessian.try_inverse()? * variance, j.t().matmul(&j).try_inverse()? * variance];
    Ok(Fit { model, variance, covariances })
}

/// The fitted curves and the ends of the band around them, 95 % sure: numbers, not logarithms.
fn band(fit: &Fit) -> [Tensor<Concrete, 2>; 3] {
    let (middle, j) = value_and_jacobian_matrix(curves, &fit.model);
    // The variance of each value `y`, with the gradient `g`: `g^T C g`.
    let variance = (j.matmul(&fit.covariances[0]) * &j).sum_axis(1).reshape(middle.shape());
    let width = 1.96 * variance.sqrt();
    [middle.exp(), (&middle - &width).exp(), (middle + width).exp()]
}

fn draw(fit: &Fit) -> Result<String, Box<dyn Error>> {
    let columns = |t: Tensor<Concrete, 2>| t.t().unstack::<2, 1>().map(|column| column.to_vec());
    let [middle, low, high] = band(fit).map(columns);
    let years = |n: usize, h: f64| (0..=n).map(|k| FIRST_YEAR + k as f64 * h).collect::<Vec<_>>();
    let (fine, coarse) = (years(YEARS * STEPS, 1.0 / STEPS as f64), years(YEARS, 1.0));
    Picture::new("Hares and lynxes: a fit of the Lotka-Volterra equations", "year", "pelts, in thousands")
        .with_zero()
        .band("95 %", 1, &fine, &low[1], &high[1])
        .line("fit", 1, &fine, &middle[1])
        .points("lynxes", 1, &coarse, &LYNXES)
        .band("95 %", 0, &fine, &low[0], &high[0])
        .line("fit", 0, &fine, &middle[0])
        .points("hares", 0, &coarse, &HARES)
        .svg()
}

/// Where the search begins, and the logarithms of the numbers in each year.
fn start() -> (Model<Concrete>, Tensor<Concrete, 2>) {
    let seen = Tensor::from_fn([YEARS + 1, 2], |[k, of]| [HARES[k], LYNXES[k]][of].ln());
    let [birth, predation, death, growth] = [0.5, 0.03, 0.5, 0.03].map(|x: f64| tensor(x.ln()));
    let (hares, lynxes) = (seen.at([0, 0]), seen.at([0, 1]));
    (Model { birth, predation, death, growth, hares, lynxes }, seen)
}

/// Fits the equations, and reports to `out`; the picture.
pub(crate) fn run(out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let (start, seen) = start();
    let fit = fit(&start, &seen, out)?;
    let [by_hessian, by_jacobian] = &fit.covariances;
    let errors = |c: &Tensor<Concrete, 2>| c.diagonal(0, 1).sqrt().to_vec();
    let (estimates, names) = (fit.model.ravel().exp().to_vec(), fit.model.names());
    writeln!(out, "\nparameter   estimate   standard error, by the Hessian   by Gauss-Newton")?;
    for ((name, x), (h, j)) in names.iter().zip(estimates).zip(errors(by_hessian).iter().zip(errors(by_jacobian))) {
        // The error of `exp u` is `exp u` times that of `u`.
        writeln!(out, "{name:<9}   {x:>8.4}   {:>30.4}   {:>15.4}", x * h, x * j)?;
    }
    writeln!(out, "the numbers differ from the curves by a factor of {:.2}", fit.variance.sqrt().exp())?;
    draw(&fit)
}

/// The times beside those of `python/gallery/lotka_volterra.py`.
fn times() -> Result<(), Box<dyn Error>> {
    let (x, seen) = start();
    let (x, seen) = (&x, &seen);
    picture::timed("residuals and Jacobian", 1000, || {
        let f = Function::value_and_jacobian_matrix_with(residuals, x, seen);
        move || f.run_with(x, seen).map(|(r, j)| [r.square().sum().item(), j.square().sum().sqrt().item()])
    })?;
    picture::timed("energy and gradient", 1000, || {
        let f = Function::value_and_grad_with(energy, x, seen);
        move || f.run_with(x, seen).map(|(y, slope)| [y.item(), slope.ravel().norm().item()])
    })?;
    picture::timed("Hessian", 300, || {
        let f = Function::hessian_matrix_with(energy, x, seen);
        move || f.run_with(x, seen).map(|h| [h.trace().item(), h.square().sum().sqrt().item()])
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("lotka_volterra", run, times)
}
