//! Code of the host in programs.
//!
//! Laws: it runs when the program runs, in every interpreter, once for each element in bulk; its derivative is that of
//! the rule around it, and without a rule there is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polygrad::passes::vectorize;
use polygrad::program::interpret;
use polygrad::{
    Array, BaseTensor, Concrete, Function, Tensor, custom_vjp, direct, external, grad, hessian, hvp, jvp, map, tensor,
    vmap,
};

type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

/// A solver that the library does not see: two equations, by Cramer's rule.
fn host_solve((a, b): &(Matrix<Concrete>, Vector<Concrete>)) -> Vector<Concrete> {
    let at = |i: usize, j: usize| a.at([i as i64, j as i64]).item();
    let right = |i: usize| b.at([i as i64]).item();
    let det = at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0);
    let x = (right(0) * at(1, 1) - at(0, 1) * right(1)) / det;
    let y = (at(0, 0) * right(1) - right(0) * at(1, 0)) / det;
    tensor([x, y])
}

/// The solver with derivatives of so many orders, each by the solver: `b_bar = a^-T x_bar`, `a_bar = -b_bar x^T`. A rule
/// is recorded with its function, so it calls the solver with one order less.
fn solve<T: BaseTensor>(orders: usize, a: &Matrix<T>, b: &Vector<T>) -> Vector<T> {
    let ab = (a.clone(), b.clone());
    if orders == 0 {
        return external("solve", host_solve, &tensor([0.0, 0.0]), &ab);
    }
    custom_vjp(
        "solve",
        |ab: &(Matrix<_>, Vector<_>)| external("solve", host_solve, &tensor([0.0, 0.0]), ab),
        |(a, _), x, x_bar| {
            let b_bar = solve(orders - 1, &a.t(), x_bar);
            let a_bar: Matrix<_> = -b_bar.outer(x);
            (a_bar, b_bar)
        },
        &ab,
    )
}

fn objective<T: BaseTensor>((a, b): &(Matrix<T>, Vector<T>)) -> Tensor<T, 0> {
    solve(3, a, b).sin().sum()
}

/// The same by the library.
fn known<T: BaseTensor>((a, b): &(Matrix<T>, Vector<T>)) -> Tensor<T, 0> {
    a.solve(b).sin().sum()
}

fn at() -> (Matrix<Concrete>, Vector<Concrete>) {
    (tensor([[2.0, 1.0], [-1.0, 3.0]]), tensor([0.5, 2.0]))
}

fn near<const D: usize>(a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>) {
    assert!((a - b).abs().max_all().item() <= 1e-12, "{a} is not {b}");
}

#[test]
fn the_derivative_is_that_of_the_rule() {
    let (value, expected) = (grad(objective, &at()), grad(known, &at()));
    near(&value.0, &expected.0);
    near(&value.1, &expected.1);
    let value = direct::grad(objective, &at());
    near(&value.0, &expected.0);
    let along = (tensor([[1.0, -1.0], [0.5, 2.0]]), tensor([1.0, 3.0]));
    near(&jvp(objective, &at(), &along).1, &jvp(known, &at(), &along).1);
    near(&hvp(objective, &at(), &along).0, &hvp(known, &at(), &along).0);
    let of_b = |b: &Vector<_>| objective(&(Tensor::constant([[2.0, 1.0], [-1.0, 3.0]]), b.clone()));
    let same = |b: &Vector<_>| known(&(Tensor::constant([[2.0, 1.0], [-1.0, 3.0]]), b.clone()));
    near(&hessian(of_b, &at().1), &hessian(same, &at().1));
}

#[test]
fn a_recorded_program_runs_it_each_time() {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    let counted = move |x: &Tensor<Concrete, 0>| {
        seen.fetch_add(1, Ordering::Relaxed);
        tensor(x.item() * 2.0)
    };
    let f = Function::stage(
        move |x: &Tensor<_, 0>| external("twice", counted.clone(), &tensor(0.0), x) + 1.0,
        &tensor(0.0),
    );
    assert_eq!(count.load(Ordering::Relaxed), 0, "it does not run while it is recorded");
    for k in 0..3 {
        assert_eq!(f.run(&tensor(f64::from(k))).unwrap(), tensor(f64::from(2 * k + 1)));
    }
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

/// In bulk the code runs once for each element, in order, and what is the same for all is given to all.
#[test]
fn in_bulk_it_runs_for_each_element() {
    let product = |(x, y): &(Tensor<Concrete, 0>, Vector<Concrete>)| y * x.item();
    let each = |x: &Vector<_>, y: &Vector<_>| -> Matrix<_> {
        map(x, |x: &Tensor<_, 0>| external("product", product, &tensor([0.0, 0.0]), &(x.clone(), y.clone())))
    };
    let (x, y) = (tensor([1.0, 2.0, 3.0]), tensor([10.0, -1.0]));
    let expected = tensor([[10.0, -1.0], [20.0, -2.0], [30.0, -3.0]]);
    assert_eq!(each(&x, &y), expected);
    let f = Function::stage(
        |(x, y): &(Vector<_>, Vector<_>)| -> Matrix<_> {
            map(x, |x: &Tensor<_, 0>| external("product", product, &tensor([0.0, 0.0]), &(x.clone(), y.clone())))
        },
        &(x.clone(), y.clone()),
    );
    assert_eq!(f.run(&(x.clone(), y.clone())).unwrap(), expected);
    let bulk = vectorize(f.program());
    assert_eq!(vectorize(&bulk), bulk, "a program in bulk stays as it is");
    let run = interpret(&bulk, vec![x.raw().clone(), y.raw().clone()]);
    assert_eq!(Matrix::<Concrete>::from_raw(run[0].clone()), expected);
    let all = vmap(|x: &Tensor<_, 0>| {
        external("product", product, &tensor([0.0, 0.0]), &(x.clone(), Tensor::constant([10.0, -1.0])))
    });
    let all: Matrix<Concrete> = all(&x);
    assert_eq!(all, expected);
}

#[test]
fn programs_print_its_name() {
    let f = Function::stage(|x: &Tensor<_, 0>| external("table", |x| x.clone(), &tensor(0.0), x).sin(), &tensor(0.0));
    assert!(f.program().to_string().contains("= table(x)"), "{}", f.program());
    let names: Vec<String> = f.program().externals().iter().map(|e| e.name().to_owned()).collect();
    assert_eq!(names, ["table"]);
}

#[test]
fn derivatives_that_are_stopped_need_no_rule() {
    fn f<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
        x * external("twice", |x| x * 2.0, &tensor(0.0), &x.stop_gradient())
    }
    assert_eq!(grad(f, &tensor(3.0)), tensor(6.0));
    assert_eq!(direct::grad(f, &tensor(3.0)), tensor(6.0));
}

#[test]
fn saved_programs_are_linked_by_name() {
    let double = |x: &Tensor<Concrete, 0>| x * 2.0;
    let f = Function::stage(
        move |x: &Vector<_>| -> Vector<_> { map(x, |x: &Tensor<_, 0>| external("double", double, &tensor(0.0), x)) },
        &tensor([0.0, 0.0]),
    );
    let saved = serde_json::to_string(f.program()).expect("it is saved");
    let loaded: polygrad::program::Program = serde_json::from_str(&saved).expect("it is loaded");
    assert!(loaded.externals().iter().all(|e| !e.is_linked()));
    let message = loaded.link(&[]).expect_err("the name is missing");
    assert!(
        message.starts_with("link: each external function of the program must be given, but `double` is not"),
        "{message}"
    );
    let known: Vec<_> = f.program().externals().iter().map(|e| (**e).clone()).collect();
    let linked = loaded.link(&known).expect("it is linked");
    assert_eq!(interpret(&linked, vec![Array::from([1.0, 2.0])]), [Array::from([2.0, 4.0])]);
    assert_eq!(&linked, f.program());
}
