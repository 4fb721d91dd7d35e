//! Minima by the solvers of `argmin`: L-BFGS, Newton's method by conjugate gradients, a trust region.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use argmin::core::{CostFunction, Executor, Gradient, Hessian};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::newton::NewtonCG;
use argmin::solver::quasinewton::LBFGS;
use argmin::solver::trustregion::{Steihaug, TrustRegion};
use argmin_math::ArgminDot;
use polygrad::array::Rng;
use polygrad::optim::argmin::Problem;
use polygrad::program::Term;
use polygrad::{BaseTensor, Concrete, Tensor, Tree, custom_vjp, external, hvp, tensor};

/// The logistic loss of a line in features, with its offset apart; an instance of data has a class, 1 or -1.
#[derive(Tree, Clone, Debug)]
struct Model<T: BaseTensor> {
    weights: Tensor<T, 1>,
    offset: Tensor<T, 0>,
}

fn logistic<T: BaseTensor>(model: &Model<T>, (x, class): &(Tensor<T, 2>, Tensor<T, 1>)) -> Tensor<T, 0> {
    let score = x.matvec(&model.weights) + &model.offset;
    (-(score * class)).softplus().mean() + 0.01 * model.weights.square().sum()
}

fn rosenbrock<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let (a, b) = (x.slice(0, ..x.len() - 1), x.slice(0, 1..));
    ((1.0 - &a).square() + 100.0 * (b - a.square()).square()).sum()
}

/// The end of a solver, and the length of the gradient there.
macro_rules! solved {
    ($problem:expr, $solver:expr, $iterations:expr) => {{
        let problem = $problem;
        let start = problem.start();
        let run = Executor::new(problem, $solver).configure(|state| state.param(start).max_iters($iterations)).run();
        let run = run.expect("the solver ends");
        let problem = run.problem.problem.expect("the problem comes back");
        let best = run.state.best_param.expect("a point");
        let slope = problem.gradient(&best).expect("a gradient").iter().map(|g| g * g).sum::<f64>().sqrt();
        (problem.tree(&best).expect("parameters"), slope)
    }};
}

#[test]
fn the_valley_is_followed_to_its_end() {
    let problem = || Problem::new(rosenbrock, &tensor([-1.2, 1.0]));
    let ends = [
        solved!(problem(), LBFGS::new(MoreThuenteLineSearch::new(), 7), 200).0,
        solved!(problem(), TrustRegion::new(Steihaug::new()), 200).0,
        solved!(Problem::new(rosenbrock, &tensor([1.2, 1.5])), NewtonCG::new(MoreThuenteLineSearch::new()), 100).0,
    ];
    for x in ends {
        // Newton's method stops where its steps are short, which is not far from the end.
        assert!(rosenbrock(&x).item() < 1e-5, "{x}");
    }
}

#[test]
fn a_logistic_regression_is_fitted() {
    let mut rng = Rng::new(5);
    let x: Tensor<Concrete, 2> = rng.normal([60, 3], 0.0, 1.0);
    let noise: Tensor<Concrete, 1> = rng.normal([60], 0.0, 0.5);
    let class = (x.matvec(&tensor([1.0, -2.0, 0.5])) + noise + 0.3).sign();
    let (start, data) = (Model { weights: Tensor::zeros([3]), offset: tensor(0.0) }, (x, class));
    let problem = || Problem::new_with(logistic, &start, &data);
    let (a, first) = solved!(problem(), LBFGS::new(MoreThuenteLineSearch::new(), 7), 100);
    let (b, second) = solved!(problem(), TrustRegion::new(Steihaug::new()), 100);
    let (c, third) = solved!(problem(), NewtonCG::new(MoreThuenteLineSearch::new()), 30);
    assert!(first < 1e-5 && second < 1e-5 && third < 1e-5, "{first} {second} {third}");
    for other in [b, c] {
        assert!((a.ravel() - other.ravel()).abs().max_all().item() < 1e-3);
    }
    let (x, class) = &data;
    let right = ((x.matvec(&a.weights) + &a.offset) * class).gt(0.0).to_float::<f64>().mean().item();
    assert!(right > 0.85, "{right}");
}

#[test]
fn products_are_those_of_the_hessian() {
    let (x, v) = (tensor([0.5, -1.0, 2.0]), tensor([1.0, 0.0, -3.0]));
    let problem = Problem::new(rosenbrock, &x);
    assert_eq!(problem.hessian(&x.to_vec()).expect("a point").dot(&v.to_vec()), hvp(rosenbrock, &x, &v).to_vec());
    assert_eq!(problem.cost(&x.to_vec()).expect("a value"), rosenbrock(&x).item());
    let short = problem.cost(&vec![1.0]).expect_err("too few");
    assert!(short.to_string().contains("must have an element for each of the 3 parameters, but it has 1"), "{short}");
}

/// The square of the length, by code that the host runs, whose rule has no derivative.
fn once_differentiable(x: &Tensor<Term, 1>) -> Tensor<Term, 0> {
    custom_vjp(
        "length",
        |x| external("length", |x: &Tensor<Concrete, 1>| x.square().sum(), &tensor(0.0), x),
        |x, _, bar| external("slope", |x: &Tensor<Concrete, 1>| x * 2.0, &tensor([0.0; 2]), x) * bar,
        x,
    )
}

#[test]
fn a_method_of_first_order_needs_no_second_derivative() {
    let problem = || Problem::new(once_differentiable, &tensor([3.0, -2.0]));
    let (end, slope) = solved!(problem(), LBFGS::new(MoreThuenteLineSearch::new(), 7), 50);
    assert!(slope < 1e-6, "{slope} at {end}");
    let (problem, x) = (problem(), vec![3.0, -2.0]);
    assert_eq!(problem.gradient(&x).expect("a gradient"), [6.0, -4.0]);
    let hessian = problem.hessian(&x).expect("a point alone");
    assert!(catch_unwind(AssertUnwindSafe(|| hessian.dot(&vec![1.0, 0.0]))).is_err(), "there is no second derivative");
    assert_eq!(problem.cost(&x).expect("a value"), 13.0);
}

#[test]
fn a_function_is_recorded_once_for_all_that_solvers_ask() {
    let calls = Cell::new(0);
    let counted = |x: &Tensor<Term, 1>, c: &Tensor<Term, 1>| {
        calls.set(calls.get() + 1);
        (x.powi(3) * c).sum()
    };
    let problem = Problem::new_with(counted, &tensor([1.0, 2.0]), &tensor([1.0, -1.0]));
    for x in [vec![1.0, 2.0], vec![2.0, -1.0]] {
        let [a, b] = [x[0], x[1]];
        assert_eq!(problem.cost(&x).expect("a value"), a.powi(3) - b.powi(3));
        assert_eq!(problem.gradient(&x).expect("a gradient"), [3.0 * a * a, -3.0 * b * b]);
        assert_eq!(problem.hessian(&x).expect("a point").dot(&vec![1.0, 1.0]), [6.0 * a, -6.0 * b]);
    }
    assert_eq!(calls.get(), 1);
}
