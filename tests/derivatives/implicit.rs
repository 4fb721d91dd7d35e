//! Roots, fixed points and minima: functions that an equation defines.
//!
//! Laws: the result satisfies its equation; derivatives in the parameters are those of finite differences, at orders
//! one to three, in both modes, staged and direct, with matrices and by products; those in the start are zero; a search
//! that does not end is NaN.

use polygrad::program::{Program, Term, interpret};
use polygrad::{
    BaseTensor, Concrete, Function, LinearSolver, Solver, Tensor, assert_gradient, direct, fixed_point, grad, hessian,
    jacobian, jvp, map, minimize, nth_derivative, root, symbolic, tensor, vmap,
};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

fn near<const D: usize>(what: &str, a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>, tolerance: f64) {
    let off = (a - b).abs().max_all().item();
    assert!(off <= tolerance, "{what}: {a} and {b} differ by {off}");
}

/// Two parts that hold each other, each in its own way: the derivative of the force is no symmetric matrix, so that one in place of its
/// transpose is seen.
fn force<T: BaseTensor>(x: &Vector<T>, p: &Vector<T>) -> Vector<T> {
    let held = Tensor::<T, 2>::constant([[1.4, -0.8], [0.3, 1.6]]).matvec(x);
    p - held - x.powi(3)
}

fn equilibrium<T: BaseTensor>(solver: Solver, p: &Vector<T>) -> Vector<T> {
    solver.root(|x: &Vector<_>, p: &Vector<_>| force(x, p), &Vector::zeros([2]), p)
}

#[test]
fn roots_are_roots_and_have_derivatives() {
    let (p, along, solver) = (tensor([1.0, -0.3]), tensor([0.4, -1.0]), Solver::default());
    let x = equilibrium(solver, &p);
    near("root", &force(&x, &p), &tensor([0.0, 0.0]), 1e-12);
    assert_gradient(|p: &Vector<_>| equilibrium(solver, p).sin().sum(), &p);
    let slope = jacobian(|p: &Vector<_>| equilibrium(solver, p), &p);
    near("direct", &direct::grad(|p: &Vector<_>| equilibrium(solver, p).sum(), &p), &slope.sum_outer(), 1e-10);
    near("jvp", &jvp(|p: &Vector<_>| equilibrium(solver, p), &p, &along).1, &slope.matvec(&along), 1e-10);
    near(
        "direct jvp",
        &direct::jvp(|p: &Vector<_>| equilibrium(solver, p), &p, &along).1,
        &slope.matvec(&along),
        1e-10,
    );
    let curved = hessian(|p: &Vector<_>| equilibrium(solver, p).sin().sum(), &p);
    let h = 1e-5;
    let moved = |h: f64| grad(|p: &Vector<_>| equilibrium(solver, p).sin().sum(), &(&p + tensor([h, 0.0])));
    near("hessian", &curved.row(0), &((moved(h) - moved(-h)) * (0.5 / h)), 1e-7);
}

fn sines<T: BaseTensor>(solver: Solver, p: &Vector<T>) -> Number<T> {
    equilibrium(solver, p).sin().sum()
}

#[test]
fn products_give_what_matrices_give() {
    let (p, known) = (tensor([1.0, -0.3]), Solver::default());
    let expected = (grad(|p: &Vector<_>| sines(known, p), &p), hessian(|p: &Vector<_>| sines(known, p), &p));
    let gmres = known.linear(LinearSolver::Gmres(5)).steps(8);
    near("gradient", &grad(|p: &Vector<_>| sines(gmres, p), &p), &expected.0, 1e-10);
    near("hessian", &hessian(|p: &Vector<_>| sines(gmres, p), &p), &expected.1, 1e-9);
    // One direction at a time: begun anew.
    let slow = known.linear(LinearSolver::Gmres(1)).relative(1e-6);
    near("begun anew", &grad(|p: &Vector<_>| sines(slow, p), &p), &expected.0, 1e-5);
}

/// `x^3 + x = p`: derivatives of all orders are known from that of the inverse function.
#[test]
fn derivatives_of_high_order_are_those_of_the_inverse_function() {
    fn cubic<T: BaseTensor>(linear: LinearSolver, p: &Number<T>) -> Number<T> {
        let f = |x: &Number<Term>, p: &Number<Term>| x.powi(3) + x - p;
        Solver::default().linear(linear).root(f, &Number::scalar(0.5), p)
    }
    // At x = 1: with s = 1 / (3 x^2 + 1), the second is -6 x s^3, the third (108 x^2 s - 6) s^4, and the fourth
    // (360 - 3240 x^2 s) x s^6.
    let s: f64 = 0.25;
    let known = [s, -6.0 * s.powi(3), (108.0 * s - 6.0) * s.powi(4), (360.0 - 3240.0 * s) * s.powi(6)];
    for linear in [LinearSolver::Dense, LinearSolver::Gmres(3), LinearSolver::ConjugateGradients(3)] {
        for (order, known) in known.into_iter().enumerate() {
            let found = nth_derivative(|p| cubic(linear, p), order + 1, &tensor(2.0));
            near(&format!("{linear:?}, order {}", order + 1), &found, &tensor(known), 1e-11);
        }
    }
}

/// Solutions by products have the derivatives of those by matrices, at orders that no program of theirs holds, in every
/// nesting of the modes and in batches.
#[test]
fn products_give_every_order() {
    fn along<T: BaseTensor>(solver: Solver, t: &Number<T>) -> Number<T> {
        let p = Vector::<T>::constant([1.0, -0.3]) + Vector::<T>::constant([0.4, -1.0]).times(t);
        sines(solver, &p)
    }
    fn curved<T: BaseTensor>(linear: LinearSolver, t: &Number<T>) -> Number<T> {
        let energy = |x: &Vector<Term>, t: &Number<Term>| {
            let apart = x.at([0]) - x.at([1]) * 0.7;
            (x.square() * 0.5 + x.powi(4) * 0.25).sum() + (apart - t).square() * 0.3 - x.at([1]) * t.sin()
        };
        Solver::default().linear(linear).minimize(energy, &Vector::zeros([2]), t).sin().sum()
    }
    let dense = Solver::default();
    let gmres = dense.linear(LinearSolver::Gmres(2));
    let at = tensor(0.2);
    for order in 1..=4 {
        let expected = nth_derivative(|t| along(dense, t), order, &at);
        near(&format!("order {order}"), &nth_derivative(|t| along(gmres, t), order, &at), &expected, 1e-9);
        let expected = nth_derivative(|t| curved(LinearSolver::Dense, t), order, &at);
        let found = nth_derivative(|t| curved(LinearSolver::ConjugateGradients(4), t), order, &at);
        near(&format!("minimum, order {order}"), &found, &expected, 1e-8);
    }
    fn third<T: BaseTensor>(solver: Solver, t: &Number<T>) -> Number<T> {
        let slope = |t: &Number<_>| direct::grad(|t| along(solver, t), t);
        direct::grad(|t: &Number<_>| direct::jvp(slope, t, &Number::scalar(1.0)).1, t)
    }
    near("reverse, forward, reverse", &third(gmres, &at), &third(dense, &at), 1e-9);
    let batch = tensor([0.2, -0.4, 0.7]);
    let in_batch = |solver: Solver| {
        let each = move |t: &Number<_>| nth_derivative(|t| along(solver, t), 3, t);
        Function::stage(move |t: &Vector<_>| map(t, each), &batch).run(&batch).expect("the same shape")
    };
    near("a batch", &in_batch(gmres), &in_batch(dense), 1e-9);
    let slope = |solver: Solver| hessian(|t: &Vector<_>| map(t, |t: &Number<_>| along(solver, t)).sum(), &batch);
    near("around a batch", &slope(gmres), &slope(dense), 1e-9);
}

/// A program that was saved and loaded.
fn saved_and_loaded(program: &Program) -> Program {
    let text = serde_json::to_string(program).expect("a program can be saved");
    serde_json::from_str(&text).expect("what was saved loads")
}

/// `m x + x^3 = p`, whose matrix is not symmetric: the derivative of the root is `(m + diag 3 x^2)^-1`.
#[test]
fn equations_and_their_transposes_are_told_apart() {
    fn solved<T: BaseTensor>(linear: LinearSolver, p: &Vector<T>) -> Vector<T> {
        let m = || Tensor::<Term, 2>::constant([[2.0, 1.0], [-0.5, 3.0]]);
        let f = move |x: &Vector<Term>, p: &Vector<Term>| m().matvec(x) + x.powi(3) - p;
        Solver::default().linear(linear).root(f, &Vector::zeros([2]), p)
    }
    fn miss<T: BaseTensor>(linear: LinearSolver, p: &Vector<T>) -> Number<T> {
        let [x, y] = solved(linear, p).unstack();
        x - y * 2.0
    }
    let p = tensor([0.8, -0.4]);
    let x = solved(LinearSolver::Dense, &p);
    let slopes = tensor([[2.0, 1.0], [-0.5, 3.0]]) + (x.square() * 3.0).diag();
    let known = slopes.t().solve(&tensor([1.0, -2.0]));
    // The known answer to the equation in the other sense is another one.
    assert!((&known - slopes.solve(&tensor([1.0, -2.0]))).abs().min_all().item() > 0.1);
    let expected = hessian(|p: &Vector<_>| miss(LinearSolver::Dense, p), &p);
    for linear in [LinearSolver::Dense, LinearSolver::Gmres(5), LinearSolver::Gmres(2)] {
        let what = |way: &str| format!("{linear:?}, {way}");
        near(&what("reverse"), &grad(|p: &Vector<_>| miss(linear, p), &p), &known, 1e-10);
        near(&what("direct"), &direct::grad(|p: &Vector<_>| miss(linear, p), &p), &known, 1e-10);
        let along = tensor([0.3, 0.7]);
        near(&what("forward"), &jvp(|p: &Vector<_>| miss(linear, p), &p, &along).1, &known.dot(&along), 1e-10);
        let both = Tensor::constant([[0.8, -0.4], [0.1, 0.9]]);
        let in_bulk = grad(|p: &Tensor<_, 2>| map(p, |p: &Vector<_>| miss(linear, p)).sum(), &both);
        near(&what("in bulk"), &in_bulk.row(0), &known, 1e-10);
        // Saved and loaded, the equation still knows its transpose.
        let f = Function::stage(move |p: &Vector<_>| miss(linear, p), &p);
        for program in [f.program(), f.optimized()] {
            let loaded = saved_and_loaded(program);
            let gradient = symbolic::grad(&loaded);
            let found = interpret(&gradient, vec![p.raw().clone()]).pop().expect("a gradient");
            near(&what("loaded"), &Tensor::from_raw(found), &known, 1e-10);
            let gradient = symbolic::grad(&saved_and_loaded(&loaded));
            let found = interpret(&saved_and_loaded(&gradient), vec![p.raw().clone()]).pop().expect("a gradient");
            near(&what("loaded again"), &Tensor::from_raw(found), &known, 1e-10);
        }
        let h = hessian(|p: &Vector<_>| miss(linear, p), &p);
        near(&what("hessian"), &h, &expected, 1e-9);
        near(&what("a symmetric hessian"), &h, &h.t(), 1e-9);
        assert_gradient(|p: &Vector<_>| grad(|p: &Vector<_>| miss(linear, p), p).sin().sum(), &p);
    }
}

#[test]
fn fixed_points_have_the_derivative_of_the_fixed_point() {
    fn step<T: BaseTensor>(x: &Vector<T>, p: &Vector<T>) -> Vector<T> {
        (Tensor::<T, 2>::constant([[0.1, 0.5], [-0.3, 0.2]]).matvec(x) + p).sin() * 0.8
    }
    let p = tensor([0.3, 0.9]);
    let x = fixed_point(|x: &Vector<_>, p: &Vector<_>| step(x, p), &tensor([0.0, 0.0]), &p);
    near("fixed point", &step(&x, &p), &x, 1e-11);
    for linear in [LinearSolver::Dense, LinearSolver::Gmres(2)] {
        let f = move |p: &Vector<_>| {
            let solver = Solver::default().linear(linear);
            let x = solver.fixed_point(|x: &Vector<_>, p: &Vector<_>| step(x, p), &Vector::zeros([2]), p);
            x.at([0]).square() - x.at([1])
        };
        assert_gradient(f, &p);
    }
}

/// A ridge regression, whose minimum is known.
#[test]
fn minima_have_the_derivative_of_the_minimum() {
    let a = tensor([[1.0, 0.5], [0.2, -1.0], [0.7, 0.1]]);
    let b = tensor([1.0, 2.0, -0.5]);
    let miss = |x: &Vector<_>, (log_weight, b): &(Number<_>, Vector<_>)| {
        let a = Tensor::constant([[1.0, 0.5], [0.2, -1.0], [0.7, 0.1]]);
        (a.matvec(x) - b).square().sum() + x.square().sum() * log_weight.exp()
    };
    let known = |(log_weight, b): &(Number<_>, Vector<_>)| {
        let a = Tensor::<_, 2>::constant([[1.0, 0.5], [0.2, -1.0], [0.7, 0.1]]);
        let normal = a.t().matmul(&a) + Tensor::eye(2).times(&log_weight.exp());
        normal.solve(&a.t().matvec(b)).sin().sum()
    };
    let at = (tensor(-0.5), b.clone());
    for linear in [LinearSolver::Dense, LinearSolver::ConjugateGradients(20)] {
        let solver = Solver::default().linear(linear);
        let x = solver.minimize(miss, &tensor([0.0, 0.0]), &at);
        let slope = a.t().matvec(&(a.matvec(&x) - &b)) + &x * (-0.5f64).exp();
        near("minimum", &slope, &tensor([0.0, 0.0]), 1e-10);
        let f = |p: &(Number<_>, Vector<_>)| solver.minimize(miss, &Vector::zeros([2]), p).sin().sum();
        let (found, expected) = (grad(f, &at), grad(known, &at));
        near("log weight", &found.0, &expected.0, 1e-9);
        near("data", &found.1, &expected.1, 1e-9);
    }
}

/// Rosenbrock's function, from a start where its second derivative is not definite.
#[test]
fn the_search_for_a_minimum_goes_down() {
    let rosenbrock = |x: &Vector<_>, p: &Number<_>| {
        let (a, b) = (x.at([0]), x.at([1]));
        (p - &a).square() + (b - a.square()).square() * 100.0
    };
    let x = minimize(rosenbrock, &tensor([-1.2, 1.0]), &tensor(1.0));
    near("minimum", &x, &tensor([1.0, 1.0]), 1e-8);
    let x = minimize(rosenbrock, &tensor([0.0, 3.0]), &tensor(1.0));
    near("minimum", &x, &tensor([1.0, 1.0]), 1e-8);
}

/// Objectives of `f32`: the mean of weighted numbers, and its derivative, to the rounding of `f32`.
#[test]
fn minima_are_searched_in_single_precision() {
    let miss = |x: &Tensor<_, 0, f32>, p: &Tensor<_, 1, f32>| (x - p.at([0])).square() + (x - p.at([1])).square() * 3.0;
    let solver = Solver::default().relative(1e-6);
    let mean = |p: &Tensor<_, 1, f32>| solver.minimize(miss, &Tensor::scalar(0.0f32), p);
    let p = tensor([1.0f32, 5.0]);
    let y: Tensor<Concrete, 0, f32> = solver.minimize(miss, &tensor(0.0f32), &p);
    assert!((y.item() - 4.0).abs() < 1e-5, "{y}");
    let slope = grad(mean, &p);
    assert!((slope - tensor([0.25f32, 0.75])).abs().max_all().item() < 1e-5);
}

#[test]
fn the_start_has_no_derivative_and_trees_are_solved() {
    let pair = |(x, y): &(Number<_>, Vector<_>), p: &Number<_>| (x * x - p, y * x - Tensor::constant([1.0, 2.0]));
    let f = |start: &(Number<_>, Vector<_>)| {
        let (x, y) = root(pair, start, &Number::scalar(4.0));
        x + y.sum()
    };
    let start = (tensor(1.0), tensor([1.0, 1.0]));
    near("roots", &f(&start), &tensor(3.5), 1e-11);
}

#[test]
fn a_search_that_does_not_end_is_nan() {
    let f = |x: &Number<_>, p: &Number<_>| x.square() + p;
    assert!(root(f, &tensor(0.5), &tensor(1.0)).item().is_nan());
    assert!(grad(|p| root(f, &Number::scalar(0.5), p), &tensor(1.0)).item().is_nan());
    // No steps, no root.
    let none = Solver::default().steps(0).root(|x: &Number<_>, p: &Number<_>| x - p, &tensor(0.0), &tensor(1.0));
    assert!(none.item().is_nan());
}

#[test]
fn recorded_and_in_bulk_they_are_the_same() {
    fn log<T: BaseTensor>(p: &Number<T>) -> Number<T> {
        root(|x: &Number<_>, p: &Number<_>| x.exp() - p, &Number::scalar(0.0), p)
    }
    let p = tensor([1.5, 2.0, 3.0]);
    let all: Vector<Concrete> = vmap(log)(&p);
    near("in bulk", &all, &p.ln(), 1e-11);
    let f = Function::grad(
        |p: &Vector<_>| {
            let all: Vector<_> = vmap(log)(p);
            all.sum()
        },
        &p,
    );
    near("gradient", &f.run(&p).unwrap(), &p.recip(), 1e-11);
}

/// Unknowns in another unit are the same unknowns, and so are their derivatives.
#[test]
fn searches_know_of_no_units() {
    type Solved = fn(&Vector<Term>, f64) -> Vector<Term>;
    let by_root: Solved = |p, unit| {
        let f = move |x: &Vector<Term>, p: &Vector<Term>| force(&(x / unit), p);
        Solver::default().root(f, &(Vector::zeros([2]) + 0.3 * unit), p)
    };
    let by_products: Solved = |p, unit| {
        let f = move |x: &Vector<Term>, p: &Vector<Term>| force(&(x / unit), p) * unit;
        Solver::default().linear(LinearSolver::Gmres(2)).root(f, &Vector::zeros([2]), p)
    };
    let by_iteration: Solved = |p, unit| {
        let f = move |x: &Vector<Term>, p: &Vector<Term>| x + force(&(x / unit), p) * (0.3 * unit);
        Solver::default().steps(500).fixed_point(f, &Vector::zeros([2]), p)
    };
    fn energy(x: &Vector<Term>, p: &Vector<Term>) -> Number<Term> {
        (x.square() + x.powi(4)).sum() + (x.at([0]) - x.at([1]) * 0.7).square() - x.dot(p)
    }
    let by_minimum: Solved = |p, unit| {
        let f = move |x: &Vector<Term>, p: &Vector<Term>| energy(&(x / unit), p);
        Solver::default().minimize(f, &(Vector::zeros([2]) + unit), p)
    };
    let by_gradients: Solved = |p, unit| {
        let f = move |x: &Vector<Term>, p: &Vector<Term>| energy(&(x / unit), p) * 1e-5;
        Solver::default().linear(LinearSolver::ConjugateGradients(4)).minimize(f, &Vector::zeros([2]), p)
    };
    let p = tensor([1.0, -0.3]);
    let all = [by_root, by_products, by_iteration, by_minimum, by_gradients];
    for (k, solved) in all.into_iter().enumerate() {
        let of = |unit: f64| {
            let x = Function::stage(move |p: &Vector<_>| solved(p, unit), &p).run(&p).expect("the same shape");
            let slopes = Function::grad(move |p: &Vector<_>| solved(p, unit).sum(), &p).run(&p).expect("the same");
            [x / unit, slopes / unit]
        };
        let exact = of(1.0);
        for unit in [1e-12, 1e12] {
            for (found, exact) in of(unit).iter().zip(&exact) {
                near(&format!("search {k}, unit {unit:e}"), found, exact, 1e-10);
            }
        }
    }
}

/// A search that comes closer by a third with each step, and unknowns that are small beside the numbers of their equation.
#[test]
fn small_roots_are_found_as_far_as_rounding_lets_them() {
    let f = |x: &Number<_>, p: &Number<_>| x.powi(3) - p;
    let x = root(f, &tensor(1.0), &tensor(1e-36));
    near("a small root", &(x * 1e12), &tensor(1.0), 1e-11);
    let f = |x: &Vector<_>, p: &Vector<_>| (x + 1e3).square() - p;
    for small in [1e-5, 3e-7, 2e-9] {
        let x = root(f, &tensor([1.0, -1.0]), &(tensor([small, -small]) * 2e3 + 1e6));
        near("beside large numbers", &x, &tensor([small, -small]), 1e-12);
    }
    // Exactly 0, from elsewhere and from there.
    let f = |x: &Number<_>, p: &Number<_>| x.exp() - p;
    for start in [0.7, 0.0] {
        near("zero", &root(f, &tensor(start), &tensor(1.0)), &tensor(0.0), 1e-16);
    }
    // No root, in a small unit: the steps never become short.
    let f = |x: &Number<_>, p: &Number<_>| x.square() + p;
    assert!(root(f, &tensor(0.5e-12), &tensor(1e-24)).item().is_nan());
}

/// Searches that fail: a root at minus infinity, a minimum without a bound, an iteration that overflows, no real root.
const FAILURES: [&str; 4] = ["overflow", "minimum", "iteration", "no root"];

fn failed<T: BaseTensor>(which: usize, p: &Number<T>) -> Number<T> {
    let start = Number::scalar(0.5);
    match FAILURES[which] {
        "overflow" => root(|x: &Number<_>, p: &Number<_>| x.exp() + p, &start, p),
        "minimum" => minimize(|x: &Number<_>, p: &Number<_>| x * p, &start, p),
        "iteration" => fixed_point(|x: &Number<_>, p: &Number<_>| x * p * 1e30, &start, p),
        _ => root(|x: &Number<_>, p: &Number<_>| x.square() + p, &start, p),
    }
}

#[test]
fn a_failed_search_is_nan_and_so_are_its_derivatives_of_every_order() {
    for (k, name) in FAILURES.iter().enumerate() {
        let p = tensor(1.0);
        let all = [
            failed(k, &p).item(),
            grad(|p: &Number<_>| failed(k, p), &p).item(),
            direct::grad(|p: &Number<_>| failed(k, p), &p).item(),
            nth_derivative(|p: &Number<_>| failed(k, p), 1, &p).item(),
            hessian(|p: &Number<_>| failed(k, p), &p).item(),
            nth_derivative(|p: &Number<_>| failed(k, p), 3, &p).item(),
        ];
        assert!(all.iter().all(|y| y.is_nan()), "{name}: {all:?}");
    }
}

/// The default tolerance is one that the element type can reach.
#[test]
fn defaults_suit_single_precision() {
    type Single = Tensor<Concrete, 1, f32>;
    let cubic = |x: f32| x.powi(3) + x;
    for scale in [1e-6f32, 1.0, 1e6] {
        let p: Single = Tensor::constant([2.3 * scale, 0.7 * scale, 1e-3 * scale]);
        let x = root(|x: &Tensor<_, 1, f32>, p: &Tensor<_, 1, f32>| x.powi(3) + x - p, &Tensor::ones([3]), &p);
        for (x, p) in x.to_vec().into_iter().zip(p.to_vec()) {
            assert!((cubic(x) - p).abs() <= 1e-5 * p, "{x} for {p}");
        }
    }
    let p: Single = Tensor::constant([2.3, 7.0]);
    let f = |x: &Tensor<_, 1, f32>, p: &Tensor<_, 1, f32>| (x.exp() - p * x).sum().cast::<f64>();
    let x = minimize(f, &Tensor::ones([2]), &p);
    assert!((x.exp() / &p - 1.0).abs().max_all().item() < 1e-5);
    let one: Single = Tensor::ones([1]);
    let x = fixed_point(|x: &Tensor<_, 1, f32>, p: &Tensor<_, 1, f32>| (x * p).cos(), &one, &one);
    assert!((x.at([0]).item() - 0.739_085_1).abs() < 1e-5);
}

/// One step of conjugate gradients does not solve equations in two unknowns: a search may go on with such a step, but a
/// derivative of it would be wrong.
#[test]
fn derivatives_by_products_that_do_not_solve_the_equations_are_nan() {
    let weights = tensor([1.0, 4.0]);
    let of = |products: usize, p: &Vector<Concrete>| {
        let solver = Solver::default().linear(LinearSolver::ConjugateGradients(products));
        grad(
            move |p: &Vector<_>| {
                let f = |x: &Vector<_>, p: &Vector<_>| ((x - p).square() * Tensor::constant([1.0, 4.0])).sum();
                solver.minimize(f, &Vector::zeros([2]), p).at([0])
            },
            p,
        )
    };
    assert!(of(2, &weights).to_vec().iter().zip([1.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-9));
    let one = of(1, &weights).to_vec();
    assert!(one.iter().all(|x| x.is_nan() || (x - 1.0).abs() < 1e-9 || x.abs() < 1e-9), "{one:?}");
}
