//! Minimizes under constraints by the crate `pounce-rs` 0.14, an interior-point method that takes sparse matrices.
//!
//! `cargo run --release -p polygrad-solvers --example constrained`
//!
//! A problem is one generic function, which gives objective and constraints; `Recorded` has its gradient, the Jacobian of
//! the constraints and the Hessian of the Lagrangian, and `Task` stands between these and the solver. Both serve every
//! problem. Law: the least values are those that Hock and Schittkowski published, and the solver takes as many steps as
//! with derivatives by hand.
//!
//! ```text
//!                found         known  steps  solution
//! HS1             0.000000      0.000000     26  1.000 1.000
//! HS5            -1.913223     -1.913223      9  -0.547 -1.547
//! HS6             0.000000      0.000000      5  1.000 1.000
//! HS7            -1.732051     -1.732051     27  -0.000 1.732
//! HS10           -1.000000     -1.000000     13  0.000 1.000
//! HS11           -8.498464     -8.498464      9  1.235 1.525
//! HS12          -30.000000    -30.000000      9  2.000 3.000
//! HS14            1.393465      1.393465      8  0.823 0.911
//! HS15          306.499975    306.500000     17  0.500 2.000
//! HS22            1.000000      1.000000      7  1.000 1.000
//! HS24           -1.000000     -1.000000     13  3.000 1.732
//! HS28            0.000000      0.000000      1  0.500 -0.500 0.500
//! HS29          -22.627417    -22.627417      9  4.000 2.828 2.000
//! HS35            0.111111      0.111111      8  1.333 0.778 0.444
//! HS39           -1.000000     -1.000000     13  1.000 1.000 0.000 -0.000
//! HS40           -0.250000     -0.250000      4  0.794 0.707 0.530 0.841
//! HS43          -44.000000    -44.000000     10  0.000 1.000 2.000 -1.000
//! HS71           17.014017     17.014017      9  1.000 4.743 3.821 1.379
//! HS78           -2.919700     -2.919700      4  -1.717 1.596 1.827 -0.764 -0.764
//! HS100         680.630057    680.630057     12  2.330 1.951 -0.478 4.366 -0.624 1.038 1.594
//! HS7 with derivatives by hand: 27 steps
//! HS15 with derivatives by hand: 17 steps
//! HS43 with derivatives by hand: 10 steps
//! HS71 with derivatives by hand: 9 steps
//! a chain of 1000: 6.232459 in 6 steps; 2994 and 1999 elements
//! ```

mod by_hand;
mod hock_schittkowski;

use std::cell::RefCell;
use std::rc::Rc;

use hock_schittkowski::{CASES, Case, FREE, Formulas, chain};
use polygrad::program::Term;
use polygrad::{Concrete, FlatFunction, Tensor};
use pounce_rs::prelude::*;

/// What the solver asks of a problem. Matrices are written as their elements in the order of a pattern.
trait Derivatives {
    /// The numbers of variables and of constraints.
    fn sizes(&self) -> [usize; 2];
    fn objective(&self, x: &[f64]) -> f64;
    fn gradient(&self, x: &[f64], gradient: &mut [f64]);
    fn constraints(&self, x: &[f64], values: &mut [f64]);
    fn jacobian_pattern(&self) -> Vec<(usize, usize)>;
    fn jacobian(&self, x: &[f64], elements: &mut [f64]);
    /// The lower triangle of the Hessian of `weight * objective + multipliers . constraints`.
    fn hessian_pattern(&self) -> Vec<(usize, usize)>;
    fn hessian(&self, x: &[f64], weight: f64, multipliers: &[f64], elements: &mut [f64]);
}

type Vector = Tensor<Concrete, 1>;

/// The derivatives of formulas.
struct Recorded {
    objective: FlatFunction<Vector>,
    constraints: FlatFunction<Vector>,
    /// A function of the variables, the weight of the objective, and the multipliers of the constraints.
    lagrangian: FlatFunction<(Vector, Tensor<Concrete, 0>, Vector)>,
    /// The elements of the Hessian of the Lagrangian in the variables that are below the diagonal, or on it.
    lower: Vec<usize>,
}

impl Recorded {
    fn new(formulas: impl Fn(&Tensor<Term, 1>) -> Formulas<Term>, start: &[f64]) -> Recorded {
        let x = Tensor::constant(start.to_vec());
        let objective = FlatFunction::new(|x| formulas(x).0, &x);
        let constraints = FlatFunction::new(|x| formulas(x).1, &x);
        let like = (x, Tensor::zeros([]), Tensor::zeros([constraints.results()]));
        let weighted = |(x, weight, multipliers): &(Tensor<Term, 1>, Tensor<Term, 0>, Tensor<Term, 1>)| {
            let (objective, constraints) = formulas(x);
            weight * objective + multipliers.dot(&constraints)
        };
        let lagrangian = FlatFunction::new(weighted, &like);
        let kept = |(_, (i, j)): &(usize, (usize, usize))| *i < start.len() && j <= i;
        let lower = lagrangian.hessian_pattern().entries().enumerate().filter(kept).map(|(k, _)| k).collect();
        Recorded { objective, constraints, lagrangian, lower }
    }
}

impl Derivatives for Recorded {
    fn sizes(&self) -> [usize; 2] {
        [self.objective.len(), self.constraints.results()]
    }

    fn objective(&self, x: &[f64]) -> f64 {
        self.objective.value(x)
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64]) {
        self.objective.grad(x, gradient);
    }

    fn constraints(&self, x: &[f64], values: &mut [f64]) {
        self.constraints.run(x, values);
    }

    fn jacobian_pattern(&self) -> Vec<(usize, usize)> {
        self.constraints.jacobian_pattern().entries().collect()
    }

    fn jacobian(&self, x: &[f64], elements: &mut [f64]) {
        self.constraints.sparse_jacobian(x, elements);
    }

    fn hessian_pattern(&self) -> Vec<(usize, usize)> {
        let all: Vec<_> = self.lagrangian.hessian_pattern().entries().collect();
        self.lower.iter().map(|k| all[*k]).collect()
    }

    fn hessian(&self, x: &[f64], weight: f64, multipliers: &[f64], elements: &mut [f64]) {
        let mut all = vec![0.0; self.lagrangian.hessian_pattern().len()];
        self.lagrangian.sparse_hessian(&[x, &[weight], multipliers].concat(), &mut all);
        elements.iter_mut().zip(&self.lower).for_each(|(element, k)| *element = all[*k]);
    }
}

/// A problem as the solver wants it.
struct Task {
    derivatives: Box<dyn Derivatives>,
    start: Vec<f64>,
    /// The lower and upper bounds of each variable and of each constraint.
    bounds: Vec<[f64; 2]>,
    ranges: Vec<[f64; 2]>,
    found: Vec<f64>,
}

/// Answers a request for a pattern, or for the elements.
fn answer(request: SparsityRequest<'_>, pattern: Vec<(usize, usize)>, elements: impl FnOnce(&mut [f64])) -> bool {
    match request {
        SparsityRequest::Values { values } => elements(values),
        SparsityRequest::Structure { irow, jcol } => {
            for (k, (i, j)) in pattern.into_iter().enumerate() {
                (irow[k], jcol[k]) = (i as Index, j as Index);
            }
        }
    }
    true
}

/// Writes bounds as the solver wants them.
fn split(bounds: &[[f64; 2]], lower: &mut [f64], upper: &mut [f64]) {
    for (k, bounds) in bounds.iter().enumerate() {
        [lower[k], upper[k]] = *bounds;
    }
}

impl TNLP for Task {
    fn get_nlp_info(&mut self) -> Option<NlpInfo> {
        let [n, m] = self.derivatives.sizes().map(|size| size as Index);
        let nnz_jac_g = self.derivatives.jacobian_pattern().len() as Index;
        let nnz_h_lag = self.derivatives.hessian_pattern().len() as Index;
        Some(NlpInfo { n, m, nnz_jac_g, nnz_h_lag, index_style: IndexStyle::C })
    }

    fn get_bounds_info(&mut self, to: BoundsInfo<'_>) -> bool {
        split(&self.bounds, to.x_l, to.x_u);
        split(&self.ranges, to.g_l, to.g_u);
        true
    }

    fn get_starting_point(&mut self, to: StartingPoint<'_>) -> bool {
        to.x.copy_from_slice(&self.start);
        true
    }

    fn eval_f(&mut self, x: &[f64], _: bool) -> Option<f64> {
        Some(self.derivatives.objective(x))
    }

    fn eval_grad_f(&mut self, x: &[f64], _: bool, gradient: &mut [f64]) -> bool {
        self.derivatives.gradient(x, gradient);
        true
    }

    fn eval_g(&mut self, x: &[f64], _: bool, values: &mut [f64]) -> bool {
        self.derivatives.constraints(x, values);
        true
    }

    fn eval_jac_g(&mut self, x: Option<&[f64]>, _: bool, request: SparsityRequest<'_>) -> bool {
        let derivatives = &self.derivatives;
        let elements = |to: &mut [f64]| derivatives.jacobian(x.expect("elements are those at a point"), to);
        answer(request, derivatives.jacobian_pattern(), elements)
    }

    fn eval_h(
        &mut self,
        x: Option<&[f64]>,
        _: bool,
        weight: f64,
        multipliers: Option<&[f64]>,
        _: bool,
        request: SparsityRequest<'_>,
    ) -> bool {
        let (derivatives, known) = (&self.derivatives, x.zip(multipliers));
        let elements = |to: &mut [f64]| {
            let (x, multipliers) = known.expect("elements are those at a point");
            derivatives.hessian(x, weight, multipliers, to);
        };
        answer(request, derivatives.hessian_pattern(), elements)
    }

    fn finalize_solution(&mut self, solution: pounce_rs::Solution<'_>, _: &IpoptData, _: &IpoptCq) {
        self.found = solution.x.to_vec();
    }
}

/// What the solver found.
struct Found {
    x: Vec<f64>,
    objective: f64,
    steps: i32,
}

/// The solution of a task.
fn solved(task: Task) -> Found {
    let mut solver = IpoptApplication::new();
    solver.initialize().expect("the solver's own options are valid");
    let options = solver.options_mut();
    options.set_integer_value("print_level", 0, true, true).expect("an option");
    options.set_numeric_value("tol", 1e-9, true, true).expect("an option");
    let task = Rc::new(RefCell::new(task));
    let status = solver.optimize_tnlp(task.clone());
    assert_eq!(status, ApplicationReturnStatus::SolveSucceeded);
    let x = std::mem::take(&mut task.borrow_mut().found);
    Found { objective: task.borrow().derivatives.objective(&x), x, steps: solver.statistics().iteration_count }
}

/// A problem of the book, with these derivatives.
fn task(case: &Case, derivatives: Box<dyn Derivatives>) -> Task {
    let [n, m] = derivatives.sizes();
    let bounds = (0..n).map(|k| case.bounds.get(k).copied().unwrap_or([-FREE, FREE])).collect();
    let ranges = (0..m).map(|k| [0.0, if k < case.inequalities { FREE } else { 0.0 }]).collect();
    Task { derivatives, start: case.start.to_vec(), bounds, ranges, found: Vec::new() }
}

/// A chain of this many variables: the solution, and how many elements of the Jacobian and of the Hessian are not 0.
fn chained(n: usize) -> (Found, [usize; 2]) {
    let start: Vec<f64> = (0..n).map(|k| if k % 2 == 0 { -1.2 } else { 1.0 }).collect();
    let derivatives = Recorded::new(chain, &start);
    let elements = [derivatives.jacobian_pattern().len(), derivatives.hessian_pattern().len()];
    let (bounds, ranges) = (vec![[-FREE, FREE]; n], vec![[0.0; 2]; n - 2]);
    (solved(Task { derivatives: Box::new(derivatives), start, bounds, ranges, found: Vec::new() }), elements)
}

/// Solves a problem with the derivatives of its formulas, and with those by hand: the steps, which must be equal.
fn steps_by_hand(name: &str, by_hand: Box<dyn Derivatives>) -> i32 {
    let case = CASES.iter().find(|case| case.name == name).expect("a problem of the book");
    let ours = solved(task(case, Box::new(Recorded::new(case.formulas, case.start))));
    let theirs = solved(task(case, by_hand));
    assert_eq!(ours.steps, theirs.steps, "{name}");
    assert!(ours.x.iter().zip(&theirs.x).all(|(a, b)| (a - b).abs() < 1e-7), "{name}");
    theirs.steps
}

fn main() {
    println!("{:10}{:>14}{:>14}{:>7}  solution", "", "found", "known", "steps");
    for case in &CASES {
        let found = solved(task(case, Box::new(Recorded::new(case.formulas, case.start))));
        let x: Vec<String> = found.x.iter().map(|x| format!("{x:.3}")).collect();
        println!("{:10}{:14.6}{:14.6}{:7}  {}", case.name, found.objective, case.least, found.steps, x.join(" "));
        assert!((found.objective - case.least).abs() < 1e-6 * (1.0 + case.least.abs()), "{} is not solved", case.name);
    }
    for (name, by_hand) in by_hand::all() {
        println!("{name} with derivatives by hand: {} steps", steps_by_hand(name, by_hand));
    }
    let (found, [jacobian, hessian]) = chained(1000);
    println!("a chain of 1000: {:.6} in {} steps; {jacobian} and {hessian} elements", found.objective, found.steps);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_values_are_those_published_and_steps_those_by_hand() {
        main();
    }
}
