//! Finds a function behind noisy values by a Gaussian process, whose hyperparameters are learnt.
//!
//! `cargo run --release --example gaussian_process [FOLDER OF THE PICTURE]`; with `--time` in place of the folder, times.
//!
//! The likelihood of the values needs one Cholesky factor, which is one operation of the library. Its gradient leads L-BFGS
//! of the crate `argmin` to the length over which the function changes, to how much it changes, and to the noise; its
//! Hessian says how sure they are. `docs/examples/gaussian_process.md` shows the picture and what is printed.

use std::error::Error;
use std::f64::consts::PI;
use std::io::Write;

use argmin::core::Executor;
use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
use polygrad::array::Rng;
use polygrad::optim::argmin::Problem;
use polygrad::{BaseTensor, Concrete, Function, Tensor, Tree, hessian_matrix_with, tensor};

mod picture;
use picture::Picture;

const VALUES: usize = 60;
const NOISE: f64 = 0.2;

/// The logarithms of the deviation of the function, of the length over which it changes, and of the deviation of the noise:
/// what is positive stays so.
#[derive(Tree, Clone, Debug)]
struct Kernel<T: BaseTensor> {
    amplitude: Tensor<T, 0>,
    length: Tensor<T, 0>,
    noise: Tensor<T, 0>,
}

/// Places, and the values there.
type Data<T> = (Tensor<T, 1>, Tensor<T, 1>);

impl<T: BaseTensor> Kernel<T> {
    /// The covariance of the function at places `x` and `y`: `a^2 exp (-(x - y)^2 / (2 l^2))`.
    fn covariance(&self, x: &Tensor<T, 1>, y: &Tensor<T, 1>) -> Tensor<T, 2> {
        let distance = (x.reshape([x.len(), 1]) - y.reshape([1, y.len()])) / self.length.exp();
        (2.0 * &self.amplitude - 0.5 * distance.square()).exp()
    }

    /// The Cholesky factor `l` of the covariance of the values, and `l^-1` times the values, which has the covariance 1.
    fn whitened(&self, (x, y): &Data<T>) -> (Tensor<T, 2>, Tensor<T, 1>) {
        let noise = (2.0 * &self.noise).exp();
        let factor = (self.covariance(x, x) + Tensor::eye(x.len()) * noise).cholesky();
        let white = factor.solve_lower(y);
        (factor, white)
    }

    /// Minus the logarithm of the likelihood of the values.
    fn energy(&self, data: &Data<T>) -> Tensor<T, 0> {
        let (factor, white) = self.whitened(data);
        0.5 * white.square().sum() + factor.diagonal(0, 1).ln().sum() + 0.5 * white.len() as f64 * (2.0 * PI).ln()
    }

    /// The mean and the deviation of the function at other places, given the values.
    fn predict(&self, data: &Data<T>, at: &Tensor<T, 1>) -> (Tensor<T, 1>, Tensor<T, 1>) {
        let (factor, white) = self.whitened(data);
        let shared = factor.solve_lower(&self.covariance(&data.0, at));
        let variance = (2.0 * &self.amplitude).exp() - shared.square().sum_axis(0);
        (white.vecmat(&shared), variance.sqrt())
    }
}

/// What is to be found.
fn truth<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
    (2.0 * x).sin() + 0.5 * x
}

/// Noisy values of the truth; none between 1 and 2.2.
fn data(rng: &mut Rng) -> Data<Concrete> {
    let x: Tensor<Concrete, 1> = rng.uniform([VALUES], -3.0, 1.8);
    let x = &x + x.gt(1.0).select(Tensor::full([VALUES], 1.2), 0.0);
    let noise: Tensor<Concrete, 1> = rng.normal([VALUES], 0.0, NOISE);
    let y = truth(&x) + noise;
    (x, y)
}

/// The hyperparameters that make the values likeliest.
fn fit(start: &Kernel<Concrete>, data: &Data<Concrete>) -> Result<Kernel<Concrete>, Box<dyn Error>> {
    let problem = Problem::new_with(Kernel::energy, start, data);
    let begin = problem.start();
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 5);
    let found = Executor::new(problem, solver).configure(|state| state.param(begin).max_iters(100)).run()?;
    let best = found.state.best_param.ok_or("the solver must find a point")?;
    Ok(start.unravel(&tensor(best)))
}

/// Learns the hyperparameters, and reports to `out`; the picture.
pub(crate) fn run(out: &mut dyn Write) -> Result<String, Box<dyn Error>> {
    let data = data(&mut Rng::new(5));
    let start = Kernel { amplitude: tensor(0.0), length: tensor(0.0), noise: tensor(0.0) };
    let found = fit(&start, &data)?;

    // The Hessian of minus the log likelihood is the inverse of the covariance of the logarithms.
    let hessian = hessian_matrix_with(|kernel: &Kernel<_>, data| kernel.energy(data), &found, &data);
    let errors = hessian.try_inverse()?.diagonal(0, 1).sqrt().to_vec();
    writeln!(out, "            estimate        95 % between")?;
    for ((name, u), error) in found.names().iter().zip(found.ravel().to_vec()).zip(errors) {
        let (lo, hi) = ((u - 1.96 * error).exp(), (u + 1.96 * error).exp());
        writeln!(out, "{name:<9}   {:>8.3}   {lo:>7.3} and {hi:>6.3}", u.exp())?;
    }
    let likelihood = |kernel: &Kernel<Concrete>| -kernel.energy(&data).item();
    writeln!(out, "log likelihood {:.2} at the start, {:.2} at the end", likelihood(&start), likelihood(&found))?;

    let at = Tensor::linspace(-3.5, 4.0, 151);
    let (mean, deviation) = found.predict(&data, &at);
    let [low, high] = [-1.96, 1.96].map(|times| (&mean + times * &deviation).to_vec());
    let outside = (truth(&at) - &mean).abs().gt(1.96 * deviation).to_float::<f64>().mean().item();
    writeln!(out, "the function is inside the band at {:.0} % of the places", 100.0 * (1.0 - outside))?;
    let places = at.to_vec();
    Picture::new("A Gaussian process with learnt hyperparameters", "x", "y")
        .band("95 %", 0, &places, &low, &high)
        .line("true function", 1, &places, &truth(&at).to_vec())
        .line("mean", 0, &places, &mean.to_vec())
        .points("values", 2, &data.0.to_vec(), &data.1.to_vec())
        .svg()
}

/// The times beside those of `python/gallery/gaussian_process.py`: values at equal distances, with a wave as noise.
fn times() -> Result<(), Box<dyn Error>> {
    let x = &Kernel { amplitude: tensor(0.1), length: tensor(-0.2), noise: tensor(-1.5) };
    for (values, runs) in [(60, 300), (240, 100), (960, 10)] {
        let places = Tensor::linspace(-3.0, 3.0, values);
        let noise = Tensor::from_fn([values], |[k]| 0.2 * (7.0 * k as f64).sin());
        let data = &(places.clone(), truth(&places) + noise);
        picture::timed(&format!("energy and gradient, {values} values"), runs, || {
            let f = Function::value_and_grad_with(Kernel::energy, x, data);
            move || f.run_with(x, data).map(|(y, slope)| [y.item(), slope.ravel().norm().item()])
        })?;
        picture::timed(&format!("Hessian, {values} values"), runs, || {
            let f = Function::hessian_matrix_with(|kernel: &Kernel<_>, data: &_| kernel.energy(data), x, data);
            move || f.run_with(x, data).map(|h| [h.trace().item(), h.square().sum().sqrt().item()])
        })?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    picture::main("gaussian_process", run, times)
}
