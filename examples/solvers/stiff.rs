//! Solves Robertson's stiff equations by the crate `diffsol` 0.18, with exact Jacobians.
//!
//! `cargo run --release -p polygrad-solvers --example stiff`
//!
//! Three substances react at rates that differ by nine orders of magnitude. The rates are one generic function; the
//! solver takes its value and its derivative in a direction. Law: the amounts agree with those of another solver, an
//! implicit Runge-Kutta method (Radau IIA of SciPy 1.17 with a tolerance of 1e-12), and their sum stays 1.
//!
//! ```text
//!     time         first        second         third    relative error
//!       40   7.158270e-1   9.185533e-6   2.841638e-1            2.3e-7
//!    40000   3.898332e-2   1.621766e-7   9.610165e-1            1.5e-6
//! 378 steps
//! ```

use diffsol::{DiffsolError, NalgebraLU, NalgebraMat, OdeBuilder, OdeSolverMethod};
use polygrad::{BaseTensor, FlatFunction, Tensor, stack, tensor};

/// How fast the amounts change.
fn rates<T: BaseTensor>(amounts: &Tensor<T, 1>) -> Tensor<T, 1> {
    let [a, b, c] = amounts.unstack();
    let (slow, fast, back) = (0.04 * a, 3e7 * b.square(), 1e4 * b * c);
    stack([&back - &slow, slow - &fast - back, fast])
}

/// Times, and the amounts then.
const EXACT: [(f64, [f64; 3]); 2] = [
    (40.0, [7.158270687194e-1, 9.185534764558e-6, 2.841637457458e-1]),
    (40000.0, [3.898337708549e-2, 1.621768315910e-7, 9.610164607377e-1]),
];

/// The amounts at times, and the number of steps.
fn solved(times: &[f64], tolerance: f64) -> Result<(Vec<[f64; 3]>, usize), DiffsolError> {
    let rates = FlatFunction::new(rates, &tensor([1.0, 0.0, 0.0]));
    let problem = OdeBuilder::<NalgebraMat<f64>>::new()
        .rtol(tolerance)
        .atol([tolerance * 1e-4, tolerance * 1e-10, tolerance * 1e-2])
        .rhs_implicit(|y, _p, _t, slope| rates.run(y, slope), |y, _p, _t, y_dot, out| rates.jvp(y, y_dot, out))
        .init(|_p, _t, y| y.copy_from_slice(&[1.0, 0.0, 0.0]), 3)
        .build()?;
    let mut solver = problem.bdf::<NalgebraLU<f64>>()?;
    let (amounts, _) = solver.solve_dense(times)?;
    let columns = (0..times.len()).map(|column| std::array::from_fn(|row| amounts[(row, column)])).collect();
    Ok((columns, solver.get_statistics().number_of_steps))
}

fn main() -> Result<(), DiffsolError> {
    let (found, steps) = solved(&EXACT.map(|(t, _)| t), 1e-6)?;
    println!("{:>8}{:>14}{:>14}{:>14}{:>18}", "time", "first", "second", "third", "relative error");
    for ((time, exact), [a, b, c]) in EXACT.into_iter().zip(found) {
        let error = [a, b, c].iter().zip(exact).map(|(x, exact)| (x / exact - 1.0).abs()).fold(0.0, f64::max);
        println!("{time:8}{a:14.6e}{b:14.6e}{c:14.6e}{error:18.1e}");
        assert!(error < 1e-4, "the amounts are not {exact:?}");
    }
    println!("{steps} steps");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_those_of_another_solver() {
        let (found, _) = solved(&EXACT.map(|(t, _)| t), 1e-8).unwrap();
        for ((_, exact), amounts) in EXACT.into_iter().zip(found) {
            assert!((amounts.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{amounts:?}");
            for (x, exact) in amounts.into_iter().zip(exact) {
                assert!((x / exact - 1.0).abs() < 1e-5, "{x} is not {exact}");
            }
        }
    }
}
