//! Minima by the solvers of `argmin`: L-BFGS, Newton's method by conjugate gradients, a trust region.

use argmin::core::{CostFunction, Executor, Gradient, Hessian};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::newton::NewtonCG;
use argmin::solver::quasinewton::LBFGS;
use argmin::solver::trustregion::{Steihaug, TrustRegion};
use argmin_math::ArgminDot;
use polygrad::array::Rng;
use polygrad::optim::argmin::Problem;
use polygrad::{BaseTensor, Concrete, Tensor, Tree, hvp, tensor};

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
