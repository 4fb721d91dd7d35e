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
    let refused = catch_unwind(AssertUnwindSafe(|| problem.hessian(&x).is_err()));
    assert!(refused.is_err(), "there is no second derivative");
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

/// Outside of the domain of a root, a solver hears of it, and ends.
#[test]
fn solvers_end_where_the_objective_is_not_finite() {
    fn edge<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
        ((x - 3.0).square() * 1000.0 - (10.0 - x).sqrt()).sum()
    }
    let problem = || Problem::new(edge, &tensor([0.0]));
    let words = |message: &str, verb: &str, fact: &str| {
        let all = format!("{verb}: the objective must be finite where a solver evaluates it, but {fact}");
        assert!(message.contains(&all) && message.contains("inspect::first_nan"), "{message}");
    };
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 5);
    let run = Executor::new(problem(), solver).configure(|state| state.param(vec![0.0])).run().expect("it ends");
    // The line search of this solver tells it in the reason of the end.
    words(&run.state.termination_status.to_string(), "cost", "it is NaN at [5999.8");
    let newton = NewtonCG::new(MoreThuenteLineSearch::new());
    let outside = Executor::new(problem(), newton).configure(|state| state.param(vec![11.0])).run();
    words(&outside.err().expect("no start").to_string(), "gradient", "element 0 of its gradient is NaN at [11.0]");
    let cost = |x: f64| problem().cost(&vec![x]).expect_err("it is not finite").to_string();
    words(&cost(f64::NAN), "cost", "it is NaN at [NaN]");
    words(&cost(-1e300), "cost", "it is inf at [-1e300]");
    let slope = |x: f64| problem().gradient(&vec![x]).expect_err("it is not finite").to_string();
    words(&slope(10.0), "gradient", "element 0 of its gradient is inf at [10.0]");
    words(&slope(-1e200), "gradient", "the squared norm of its gradient is infinite at [-1e200]");
    // A gradient of 0 beside an infinite Hessian: the steps of a trust region would not end.
    let corner = || Problem::new(|x: &Tensor<_, 1>| x.powf(1.5).sum(), &tensor([0.0; 20]));
    assert_eq!(corner().gradient(&vec![0.0; 20]).expect("a gradient"), [0.0; 20]);
    let region = TrustRegion::new(Steihaug::new());
    let run = Executor::new(corner(), region).configure(|state| state.param(vec![0.0; 20]).max_iters(100)).run();
    let message = run.err().expect("no Hessian").to_string();
    words(&message, "hessian", "row 0 of its Hessian has the sum");
    assert!(message.contains("[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, .. of 20 numbers]"), "{message}");
}

/// Objectives on all scales: each line search ends after a bounded number of evaluations.
#[test]
fn line_searches_end_for_objectives_of_all_scales() {
    let evaluations = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    struct Counted<P>(P, std::sync::Arc<std::sync::atomic::AtomicUsize>);
    impl<P> Counted<P> {
        fn count(&self) {
            let before = self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert!(before < 20_000, "the search does not end");
        }
    }
    impl<P: CostFunction<Param = Vec<f64>, Output = f64>> CostFunction for Counted<P> {
        type Param = Vec<f64>;
        type Output = f64;
        fn cost(&self, x: &Vec<f64>) -> Result<f64, argmin::core::Error> {
            self.count();
            self.0.cost(x)
        }
    }
    impl<P: Gradient<Param = Vec<f64>, Gradient = Vec<f64>>> Gradient for Counted<P> {
        type Param = Vec<f64>;
        type Gradient = Vec<f64>;
        fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
            self.count();
            self.0.gradient(x)
        }
    }
    type Objective = fn(&Tensor<Term, 1>, &Tensor<Term, 0>) -> Tensor<Term, 0>;
    let objectives: [Objective; 7] = [
        |x, s| ((x - 3.0).square() * s - (10.0 - x).sqrt()).sum(),
        |x, s| (x * s).sum(),
        |x, s| (x * s).exp().sum(),
        |x, s| -(x.square() * s).sum(),
        |x, s| (x * s).ln().sum(),
        |x, s| ((x * s).powi(4) - x).sum(),
        |x, s| (x * s).abs().sqrt().sum(),
    ];
    for (k, f) in objectives.into_iter().enumerate() {
        for scale in [1e-300, 1e-100, 1e-8, 1.0, 1e3, 1e76, 1e150, 1e300] {
            for start in [1e-200, 1.0, -1.0, 1e8, 1e100] {
                let problem = Problem::new_with(f, &tensor([start, 0.5]), &tensor(scale));
                evaluations.store(0, std::sync::atomic::Ordering::Relaxed);
                let counted = Counted(problem, evaluations.clone());
                let solver = LBFGS::new(MoreThuenteLineSearch::new(), 5);
                let run = Executor::new(counted, solver).configure(|s| s.param(vec![start, 0.5]).max_iters(30)).run();
                assert!(run.is_ok() || run.is_err_and(|e| !e.to_string().is_empty()), "{k} {scale} {start}");
            }
        }
    }
}
