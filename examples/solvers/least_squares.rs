//! Fits a sum of two exponentials to noisy data by the crate `levenberg-marquardt` 0.15.
//!
//! `cargo run --release -p polygrad-solvers --example least_squares`
//!
//! The residuals are one generic function. `Fit` stands between such a function and the solver, and serves every one of
//! them. Law: each parameter lies within four standard errors beside the one that the data were made with.
//!
//! ```text
//!               fitted   error   truth
//! heights[0]    2.0125  0.0133  2.0000
//! heights[1]    0.9955  0.0124  1.0000
//! rates[0]      3.0268  0.0376  3.0000
//! rates[1]      0.3960  0.0047  0.4000
//! 9 evaluations, Converged { ftol: true, xtol: false }
//! ```

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt, MinimizationReport};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};
use polygrad::array::Rng;
use polygrad::{BaseTensor, Concrete, FlatFunction, RunError, Tensor, Tree, tensor};

#[derive(Tree, Clone)]
struct Decays<T: BaseTensor> {
    heights: Tensor<T, 1>,
    rates: Tensor<T, 1>,
}

/// The sum of the decays at each time.
fn curve<T: BaseTensor>(decays: &Decays<T>, times: &Tensor<T, 1>) -> Tensor<T, 1> {
    (-times.outer(&decays.rates)).exp().matvec(&decays.heights)
}

fn residuals<T: BaseTensor>(decays: &Decays<T>, (times, y): &(Tensor<T, 1>, Tensor<T, 1>)) -> Tensor<T, 1> {
    curve(decays, times) - y
}

/// Residuals as the solver wants them.
struct Fit<'a, P> {
    residuals: &'a FlatFunction<P>,
    x: DVector<f64>,
}

impl<P> LeastSquaresProblem<f64, Dyn, Dyn> for Fit<'_, P> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, x: &DVector<f64>) {
        self.x.copy_from(x);
    }

    fn params(&self) -> DVector<f64> {
        self.x.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let mut residuals = DVector::zeros(self.residuals.results());
        self.residuals.run(self.x.as_slice(), residuals.as_mut_slice());
        Some(residuals)
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let (rows, columns) = (self.residuals.results(), self.residuals.len());
        let mut jacobian = vec![0.0; rows * columns];
        self.residuals.jacobian(self.x.as_slice(), &mut jacobian);
        Some(DMatrix::from_row_slice(rows, columns, &jacobian))
    }
}

fn decays([a, b]: [f64; 2], [k, l]: [f64; 2]) -> Decays<Concrete> {
    Decays { heights: tensor([a, b]), rates: tensor([k, l]) }
}

/// The residuals for values at 60 times, made with these parameters and noise.
fn problem(truth: &Decays<Concrete>, noise: f64) -> FlatFunction<Decays<Concrete>> {
    let times = Tensor::constant(polygrad::Array::from((0..60).map(|k| 0.1 * f64::from(k)).collect::<Vec<_>>()));
    let y = curve(truth, &times) + Rng::new(1).normal([60], 0.0, noise);
    FlatFunction::new_with(residuals, truth, &(times, y))
}

/// The parameters that fit best, and the report of the solver.
fn fitted<'a>(
    residuals: &'a FlatFunction<Decays<Concrete>>,
    start: &Decays<Concrete>,
) -> Result<(Fit<'a, Decays<Concrete>>, MinimizationReport<f64>), RunError> {
    let x = DVector::from(residuals.flatten(start)?);
    Ok(LevenbergMarquardt::new().minimize(Fit { residuals, x }))
}

/// The standard errors of the parameters for noise of this size.
fn errors<P>(fit: &Fit<'_, P>, noise: f64) -> Option<DVector<f64>> {
    let jacobian = fit.jacobian()?;
    Some(noise * (jacobian.transpose() * &jacobian).try_inverse()?.diagonal().map(f64::sqrt))
}

fn main() -> Result<(), RunError> {
    let (truth, noise) = (decays([2.0, 1.0], [3.0, 0.4]), 0.01);
    let residuals = problem(&truth, noise);
    let (fit, report) = fitted(&residuals, &decays([1.0, 1.0], [1.0, 0.1]))?;
    let errors = errors(&fit, noise).expect("the parameters are determined by the data");
    println!("{:12}{:>8}{:>8}{:>8}", "", "fitted", "error", "truth");
    let known = residuals.flatten(&truth)?;
    for (k, name) in residuals.names().iter().enumerate() {
        println!("{name:12}{:8.4}{:8.4}{:8.4}", fit.x[k], errors[k], known[k]);
        assert!((fit.x[k] - known[k]).abs() < 4.0 * errors[k], "{name} is not as the data were made");
    }
    println!("{} evaluations, {:?}", report.number_of_evaluations, report.termination);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_noise_the_parameters_are_found() {
        let truth = decays([2.0, 1.0], [3.0, 0.4]);
        let residuals = problem(&truth, 0.0);
        let (fit, report) = fitted(&residuals, &decays([1.0, 1.0], [1.0, 0.1])).unwrap();
        assert!(report.termination.was_successful(), "{report:?}");
        let known = residuals.flatten(&truth).unwrap();
        assert!(fit.x.iter().zip(&known).all(|(x, known)| (x - known).abs() < 1e-9), "{} is not {known:?}", fit.x);
        // A wrong Jacobian would need more.
        assert!(report.number_of_evaluations < 20, "{report:?}");
    }

    #[test]
    fn the_fit_is_within_its_errors() {
        main().unwrap();
    }
}
