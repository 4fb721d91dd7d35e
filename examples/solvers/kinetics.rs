//! Solves Robertson's equations with an algebraic one by the crate `diffsol` 0.18: events, sensitivities and adjoints.
//!
//! `cargo run --release -p polygrad-solvers --example kinetics`
//!
//! The third rate is replaced by the conservation of mass, so the matrix in front of the derivatives is singular. The
//! equations, the events and the quantity that is read off are generic functions of amounts and rate constants; each has
//! its products with the Jacobians in both, and with their transposes, from one [`FlatFunction`]. Law: events,
//! amounts and sensitivities are those of another solver of the differential equations (Radau IIA of SciPy 1.17, with
//! sensitivities as equations of their own), and the adjoint gradient is the row of the forward sensitivities.
//!
//! ```text
//!           time         first        second         third    relative error
//!    2.640191e-1   9.899653e-1   3.470565e-5   1.000000e-2           5.9e-10  event 1
//!     4.000000e1   7.158271e-1   9.185535e-6   2.841637e-1            1.7e-8
//!     4.000000e4   3.898338e-2   1.621768e-7   9.610165e-1            3.3e-8
//!     2.079550e7   1.000000e-4  4.000395e-10   9.999000e-1            9.8e-8  event 0
//!     4.000000e7   5.203072e-5  2.081336e-10   9.999480e-1            1.1e-7
//! 1338 steps; the adjoint gradient at 40 is off by 1.2e-7
//! ```
//!
//! With `--time` it prints the time of a solution, and that with derivatives by hand.

use diffsol::{
    AdjointOdeSolverMethod, DiffsolError, MatrixCommon, NalgebraLU, NalgebraMat, NalgebraVec, OdeBuilder,
    OdeSolverMethod, OdeSolverState, OdeSolverStopReason, SensitivitiesOdeSolverMethod, Vector as _,
};
use polygrad::{BaseTensor, Concrete, FlatFunction, Tensor, stack, tensor};

/// Amounts and rate constants.
type Point<T> = (Tensor<T, 1>, Tensor<T, 1>);

/// The rates of the first two amounts, and what must be 0.
fn equations<T: BaseTensor>((amounts, constants): &Point<T>) -> Tensor<T, 1> {
    let [a, b, c] = &amounts.unstack();
    let [slow, back, fast] = &constants.unstack();
    let first = back * b * c - slow * a;
    stack([first.clone(), -first - fast * b.square(), a + b + c - 1.0])
}

/// What is 0 when the first substance is nearly used up, or there is a hundredth of the third.
fn events<T: BaseTensor>((amounts, _): &Point<T>) -> Tensor<T, 1> {
    let [a, _, c] = &amounts.unstack();
    stack([a - 1e-4, c - 0.01])
}

/// The amount of the third substance.
fn product<T: BaseTensor>((amounts, _): &Point<T>) -> Tensor<T, 1> {
    amounts.slice(0, 2..)
}

/// A function of amounts and constants as the solver wants it.
struct OfPoint(FlatFunction<Point<Concrete>>);

/// The elements of a point.
fn point(amounts: &[f64], constants: &[f64]) -> [f64; 6] {
    let mut elements = [0.0; 6];
    elements[..3].copy_from_slice(amounts);
    elements[3..].copy_from_slice(constants);
    elements
}

const NOTHING: [f64; 3] = [0.0; 3];

impl OfPoint {
    fn run(&self, y: &[f64], p: &[f64], out: &mut [f64]) {
        self.0.run(&point(y, p), out);
    }

    fn by_amounts(&self, y: &[f64], p: &[f64], y_dot: &[f64], out: &mut [f64]) {
        self.0.jvp(&point(y, p), &point(y_dot, &NOTHING), out);
    }

    fn by_constants(&self, y: &[f64], p: &[f64], p_dot: &[f64], out: &mut [f64]) {
        self.0.jvp(&point(y, p), &point(&NOTHING, p_dot), out);
    }

    /// A cotangent times the Jacobian, with the other sign.
    fn adjoint(&self, y: &[f64], p: &[f64], bar: &[f64]) -> [f64; 6] {
        let mut adjoint = [0.0; 6];
        self.0.vjp(&point(y, p), bar, &mut adjoint);
        adjoint.map(|x| -x)
    }

    fn to_amounts(&self, y: &[f64], p: &[f64], bar: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.adjoint(y, p, bar)[..3]);
    }

    fn to_constants(&self, y: &[f64], p: &[f64], bar: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.adjoint(y, p, bar)[3..]);
    }
}

const START: [f64; 3] = [1.0, 0.0, 0.0];
const CONSTANTS: [f64; 3] = [0.04, 1e4, 3e7];

/// The matrix in front of the derivatives times a vector, added to `beta` times what stands there.
fn mass(v: &[f64], beta: f64, out: &mut [f64]) {
    for (k, out) in out.iter_mut().enumerate() {
        *out = beta * *out + if k < 2 { v[k] } else { 0.0 };
    }
}

/// A point on the way: time, amounts, and the derivative of each amount in each constant.
struct Reached {
    time: f64,
    event: Option<usize>,
    amounts: [f64; 3],
    sensitivities: [[f64; 3]; 3],
}

type Matrix = NalgebraMat<f64>;
type Solver = NalgebraLU<f64>;

const TOLERANCE: f64 = 1e-8;
const ABSOLUTE: [f64; 3] = [TOLERANCE * 1e-6, TOLERANCE * 1e-10, TOLERANCE * 1e-4];

/// Events and given times in order, with sensitivities; and the number of steps.
fn way(times: &[f64]) -> Result<(Vec<Reached>, usize), DiffsolError> {
    let like = (tensor(START), tensor(CONSTANTS));
    let rates = OfPoint(FlatFunction::new(equations, &like));
    let events = OfPoint(FlatFunction::new(events, &like));
    let problem = OdeBuilder::<Matrix>::new()
        .p(CONSTANTS)
        .rtol(TOLERANCE)
        .atol(ABSOLUTE)
        .rhs_sens_implicit(
            |y, p, _t, out| rates.run(y, p, out),
            |y, p, _t, v, out| rates.by_amounts(y, p, v, out),
            |y, p, _t, v, out| rates.by_constants(y, p, v, out),
        )
        .mass(|v, _p, _t, beta, out| mass(v, beta, out))
        .init_sens(|_p, _t, y| y.copy_from_slice(&START), |_p, _t, _v, out| out.fill(0.0), 3)
        .root_sens_implicit(
            |y, p, _t, out| events.run(y, p, out),
            |y, p, _t, v, out| events.by_amounts(y, p, v, out),
            |y, p, _t, v, out| events.by_constants(y, p, v, out),
            2,
        )
        .build()?;
    let (mut solver, mut all, mut rest) = (problem.bdf_sens::<Solver>()?, Vec::new(), times);
    while !rest.is_empty() {
        let (amounts, sensitivities, stop) = solver.solve_dense_sensitivities(rest)?;
        for column in 0..amounts.ncols() {
            let row = |matrix: &Matrix| [0, 1, 2].map(|row| matrix[(row, column)]);
            let by_constant = [0, 1, 2].map(|k| row(&sensitivities[k]));
            let sensitivities = [0, 1, 2].map(|i| by_constant.map(|column| column[i]));
            let (time, event) = match (stop, rest.get(column)) {
                (OdeSolverStopReason::RootFound(time, event), _) if column + 1 == amounts.ncols() => {
                    (time, Some(event))
                }
                (_, Some(time)) => (*time, None),
                (_, None) => unreachable!("a column belongs to a time or to an event"),
            };
            all.push(Reached { time, event, amounts: row(&amounts), sensitivities });
        }
        let given = all.iter().filter(|reached| reached.event.is_none()).count();
        rest = &times[given..];
    }
    Ok((all, solver.get_statistics().number_of_steps))
}

/// The gradient of the third amount at a time in the constants, by the adjoint equations.
fn gradient(time: f64) -> Result<[f64; 3], DiffsolError> {
    let like = (tensor(START), tensor(CONSTANTS));
    let rates = OfPoint(FlatFunction::new(equations, &like));
    let product = OfPoint(FlatFunction::new(product, &like));
    let problem = OdeBuilder::<Matrix>::new()
        .p(CONSTANTS)
        .rtol(TOLERANCE)
        .atol(ABSOLUTE)
        .rhs_adjoint_implicit(
            |y, p, _t, out| rates.run(y, p, out),
            |y, p, _t, v, out| rates.by_amounts(y, p, v, out),
            |y, p, _t, v, out| rates.to_amounts(y, p, v, out),
            |y, p, _t, v, out| rates.to_constants(y, p, v, out),
        )
        .mass_adjoint(|v, _p, _t, beta, out| mass(v, beta, out), |v, _p, _t, beta, out| mass(v, beta, out))
        .init_adjoint(|_p, _t, y| y.copy_from_slice(&START), |_p, _t, _v, out| out.fill(0.0), 3)
        .out_adjoint_implicit(
            |y, p, _t, out| product.run(y, p, out),
            |y, p, _t, v, out| product.by_amounts(y, p, v, out),
            |y, p, _t, v, out| product.to_amounts(y, p, v, out),
            |y, p, _t, v, out| product.to_constants(y, p, v, out),
            1,
        )
        .build()?;
    let mut forward = problem.bdf::<Solver>()?;
    let (kept, mut weights, _) = forward.solve_dense_with_checkpointing(&[time], None)?;
    weights[(0, 0)] = 1.0;
    let back = problem.bdf_solver_adjoint::<Solver, _>(kept, Some(forward), Some(1))?;
    let (state, _) = back.solve_adjoint_backwards_pass(&[time], &[&weights])?;
    let gradient: NalgebraVec<f64> = state.into_common().sg;
    Ok([0, 1, 2].map(|k| gradient.get_index(k)))
}

/// When what happens, by the other solver.
const EVENTS: [f64; 2] = [2.079549688302e7, 2.640190781876e-1];

/// Times, the amounts then, and the derivative of the third in each constant, by the other solver.
const EXACT: [(f64, [f64; 3], [f64; 3]); 3] = [
    (
        40.0,
        [7.158270687194e-1, 9.185534764e-6, 2.841637457459e-1],
        [4.247512859744, -1.373057225424e-5, 2.288468894857e-9],
    ),
    (
        4e4,
        [3.898337708545e-2, 1.621768315908e-7, 9.610164607377e-1],
        [1.574974370481, -6.287505084017e-6, 1.047922188893e-9],
    ),
    (
        4e7,
        [5.203071844e-5, 2.081335732e-10, 9.999479690734e-1],
        [2.599148801941e-3, -1.039653178751e-8, 1.732762232117e-12],
    ),
];

/// The largest relative difference.
fn apart(found: &[f64], exact: &[f64]) -> f64 {
    found.iter().zip(exact).map(|(x, exact)| (x / exact - 1.0).abs()).fold(0.0, f64::max)
}

fn main() -> Result<(), DiffsolError> {
    if std::env::args().any(|argument| argument == "--time") {
        return timing::main();
    }
    let (all, steps) = way(&EXACT.map(|(time, ..)| time))?;
    println!("{:>14}{:>14}{:>14}{:>14}{:>18}", "time", "first", "second", "third", "relative error");
    let mut exact = EXACT.iter();
    for Reached { time, event, amounts: [a, b, c], sensitivities } in all {
        let error = match event {
            Some(event) => apart(&[time], &[EVENTS[event]]),
            None => {
                let (known, amounts, slope) = exact.next().expect("the times are those");
                assert_eq!(time, *known);
                apart(&[a, b, c], amounts).max(apart(&sensitivities[2], slope))
            }
        };
        let name = event.map_or(String::new(), |event| format!("  event {event}"));
        println!("{time:14.6e}{a:14.6e}{b:14.6e}{c:14.6e}{error:18.1e}{name}");
        assert!(error < 1e-5, "not as by the other solver");
    }
    let (time, _, slope) = EXACT[0];
    let gradient = gradient(time)?;
    println!("{steps} steps; the adjoint gradient at {time} is off by {:.1e}", apart(&gradient, &slope));
    assert!(apart(&gradient, &slope) < 1e-5, "{gradient:?} is not {slope:?}");
    Ok(())
}

/// The time of a solution without sensitivities, beside that with derivatives by hand.
mod timing {
    use super::*;
    use std::time::Instant;

    const TOLERANCE: f64 = 1e-6;
    const ABSOLUTE: [f64; 3] = [TOLERANCE * 1e-4, TOLERANCE * 1e-10, TOLERANCE * 1e-2];

    fn rates_by_hand(y: &[f64], p: &[f64], out: &mut [f64]) {
        let first = p[1] * y[1] * y[2] - p[0] * y[0];
        out[0] = first;
        out[1] = -first - p[2] * y[1] * y[1];
        out[2] = y[0] + y[1] + y[2] - 1.0;
    }

    fn tangent_by_hand(y: &[f64], p: &[f64], v: &[f64], out: &mut [f64]) {
        let first = p[1] * (v[1] * y[2] + y[1] * v[2]) - p[0] * v[0];
        out[0] = first;
        out[1] = -first - 2.0 * p[2] * y[1] * v[1];
        out[2] = v[0] + v[1] + v[2];
    }

    /// The least time of many runs in microseconds, with the amounts and the number of steps.
    fn least(name: &str, run: impl Fn() -> Result<(Matrix, usize), DiffsolError>) -> Result<(), DiffsolError> {
        let (amounts, steps) = run()?;
        let mut best = f64::INFINITY;
        for _ in 0..300 {
            let start = Instant::now();
            run()?;
            best = best.min(start.elapsed().as_secs_f64() * 1e6);
        }
        println!("{name:12}{best:10.1} us{steps:6} steps, {:.10} left", amounts[(0, 0)]);
        Ok(())
    }

    pub(super) fn main() -> Result<(), DiffsolError> {
        let rates = OfPoint(FlatFunction::new(equations, &(tensor(START), tensor(CONSTANTS))));
        let builder = || OdeBuilder::<Matrix>::new().p(CONSTANTS).rtol(TOLERANCE).atol(ABSOLUTE);
        let generic = builder()
            .rhs_implicit(|y, p, _t, out| rates.run(y, p, out), |y, p, _t, v, out| rates.by_amounts(y, p, v, out))
            .mass(|v, _p, _t, beta, out| mass(v, beta, out))
            .init(|_p, _t, y| y.copy_from_slice(&START), 3)
            .build()?;
        let by_hand = builder()
            .rhs_implicit(|y, p, _t, out| rates_by_hand(y, p, out), |y, p, _t, v, out| tangent_by_hand(y, p, v, out))
            .mass(|v, _p, _t, beta, out| mass(v, beta, out))
            .init(|_p, _t, y| y.copy_from_slice(&START), 3)
            .build()?;
        macro_rules! solved {
            ($problem:expr) => {
                || {
                    let mut solver = $problem.bdf::<Solver>()?;
                    let (amounts, _) = solver.solve_dense(&[4e4])?;
                    Ok((amounts, solver.get_statistics().number_of_steps))
                }
            };
        }
        least("generic", solved!(generic))?;
        least("by hand", solved!(by_hand))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_amounts_and_sensitivities_are_those_of_another_solver() {
        main().unwrap();
    }

    #[test]
    fn forward_and_adjoint_sensitivities_agree() {
        let (all, _) = way(&[40.0]).unwrap();
        let forward = all.iter().find(|reached| reached.event.is_none()).unwrap().sensitivities[2];
        assert!(apart(&gradient(40.0).unwrap(), &forward) < 1e-5);
    }
}
