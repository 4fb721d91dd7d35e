//! Functions for known data.
//!
//! Law: a function for known data has the results of the function with these data; what depends on the data alone is no
//! operation of its program.

use polygrad::program::{Op, Term};
use polygrad::{
    Array, BaseTensor, Concrete, Function, FunctionOptions, RunError, Tensor, Tree, cond, iterate, map, tensor,
};

use crate::support::assert_close;

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

pub(crate) fn uniform<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<Concrete, D> {
    Tensor::constant(Array::uniform(&shape, -1.0, 1.0, seed))
}

/// The names of a table, its numbers and its classes.
pub(crate) type Data<T> = (Matrix<T>, Vector<T>, Tensor<T, 1, i64>);

pub(crate) fn data() -> Data<Concrete> {
    (uniform([20, 3], 1), uniform([20], 2), Tensor::constant(Array::from((0..20).map(|i| i % 4).collect::<Vec<i64>>())))
}

pub(crate) type Loss = fn(
    &(Vector<polygrad::program::Term>, Number<polygrad::program::Term>),
    &Data<polygrad::program::Term>,
) -> Number<polygrad::program::Term>;

/// Objectives in weights and a scale, with data.
pub(crate) fn losses() -> [(&'static str, Loss); 6] {
    [
        ("regression", |(w, s), (x, y, _)| (x.standardized().matvec(w) * s.exp() - y).square().sum()),
        ("Gram matrix", |(w, s), (x, _, _)| w.dot(&x.t().matmul(x).matvec(w)) * s),
        ("classes", |(w, s), (x, _, k)| (x.take(k).matvec(w) - k.to_float::<f64>()).sin().sum() * s),
        ("rows", |(w, s), (x, y, _)| map((x, y), |(x, y)| (x * y.exp()).dot(w)).square().sum() + s),
        ("loop", |(w, s), (x, _, _)| {
            iterate(4, w, |_, w: Vector<_>| w + 0.1 * x.t().matmul(x).matvec(&(s * x.row(0)))).square().sum()
        }),
        ("data alone", |_, (x, y, _)| x.square().sum() + cond(y.sum().gt(0.0), y.at([0]), y.at([1]))),
    ]
}

trait Standardized {
    fn standardized(&self) -> Self;
}

impl<T: BaseTensor> Standardized for Matrix<T> {
    fn standardized(&self) -> Self {
        (self - self.mean_keep(0)) / self.std_keep(0)
    }
}

#[test]
fn functions_for_known_data_have_the_same_results() {
    let (x, data) = ((uniform([3], 3), tensor(0.3)), data());
    for (name, loss) in losses() {
        let both = Function::value_and_grad_with(loss, &x, &data);
        let known = both.with_data(&data).expect("data as traced");
        assert_eq!(known.optimized().inputs().len(), 2, "{name}: {}", known.optimized());
        let (a, b) = (both.run_with(&x, &data).expect("as traced"), known.run(&x).expect("as traced"));
        for (a, b) in a.leaves().iter().zip(&b.leaves()) {
            assert_close(name, a, b, 1e-12);
        }
        let interpreted = both.with_options(FunctionOptions::new().interpreted(true));
        let c = interpreted.with_data(&data).expect("data as traced").run(&x).expect("as traced");
        for (b, c) in b.leaves().iter().zip(&c.leaves()) {
            assert_close(name, b, c, 1e-12);
        }
    }
}

#[test]
fn what_depends_on_the_data_alone_is_computed_once() {
    let (x, data) = ((uniform([3], 3), tensor(0.3)), data());
    let of = |k: usize| Function::grad_with(losses()[k].1, &x, &data).with_data(&data).expect("data as traced");
    // The product of two matrices is gone, and so is all that only the data reach.
    let text = of(1).optimized().to_string();
    assert!(!text.contains("k<20") && text.contains("f64[3, 3]"), "{text}");
    assert_eq!(of(5).optimized().size(), 0, "{}", of(5).optimized());
    // Elements that are repeated stay where they are read.
    let wide = |s: &Number<_>, y: &Vector<_>| (s * y.replicate::<2>(1000)).sum();
    let y = uniform([10], 4);
    let program = Function::stage_with(wide, &tensor(2.0), &y).with_data(&y).expect("data as traced");
    assert!(program.optimized().to_string().len() < 2000, "{}", program.optimized());
}

#[test]
fn a_direction_is_a_part_of_the_data() {
    let (w, v, x) = (uniform([3], 3), uniform([3], 4), uniform([20, 3], 1));
    let loss = |w: &Vector<_>, x: &Matrix<_>| x.matvec(w).sin().square().sum();
    let f = Function::hvp_with(loss, &w, &x);
    let known = f.with_data(&(v.clone(), x.clone())).expect("data as traced");
    let expected = f.run_with(&w, &(v, x)).expect("as traced");
    assert_close("hvp", expected.raw(), known.run(&w).expect("as traced").raw(), 1e-12);
    let fast = known.with_options(FunctionOptions::new().fast_math(true));
    assert_close("hvp", expected.raw(), fast.run(&w).expect("as traced").raw(), 1e-12);
}

/// Data whose elements are equal are one number: masks that hold nowhere, and weights of 1, leave the program.
#[test]
fn equal_elements_of_data_are_one_number() {
    let (w, x) = (uniform([4], 1), uniform([4], 2).abs() + 0.5);
    let guarded = |w: &Vector<Term>, x: &Vector<Term>| {
        let outside = x.le(0.0);
        outside.select(f64::NEG_INFINITY, outside.select(1.0, x).ln() * w).sum()
    };
    let f = Function::value_and_grad_with(guarded, &w, &x).with_data(&x).expect("data as traced");
    let text = f.optimized().to_string();
    assert!(!text.contains("select") && !text.contains("bool"), "{text}");
    let (value, slope) = f.run(&w).expect("as traced");
    assert_close("value", value.raw(), x.ln().dot(&w).raw(), 1e-14);
    assert_close("slope", slope.raw(), x.ln().raw(), 1e-14);
    // NaN and zeros of both signs are told apart.
    let zeros = tensor([0.0, -0.0, 0.0, 0.0]);
    let f = Function::stage_with(|w: &Vector<Term>, x: &Vector<Term>| w / x, &w, &zeros).with_data(&zeros);
    let signs = f.expect("data as traced").run(&Tensor::ones([4])).expect("as traced").to_vec();
    assert_eq!(signs, [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY]);
}

#[test]
fn other_data_are_an_error() {
    let (x, data) = ((uniform([3], 3), tensor(0.3)), data());
    let f = Function::grad_with(losses()[0].1, &x, &data);
    let short = (uniform([19, 3], 1), data.1.clone(), data.2.clone());
    let Err(RunError::Input { name, .. }) = f.with_data(&short) else { panic!("the data are shorter") };
    assert_eq!(name, "data.0");
    let known = f.with_data(&data).expect("data as traced");
    let Err(RunError::Input { name, .. }) = known.run(&(uniform([2], 3), tensor(0.3))) else {
        panic!("a shorter argument")
    };
    assert_eq!(name, "x.0");
    // Options given later hold for passes and execution.
    let fast = known.with_options(FunctionOptions::new().fast_math(true));
    assert!(fast.run(&x).is_ok());
}

fn known<const D: usize>(x: &Tensor<Concrete, D>) -> Tensor<Term, D> {
    Tensor::constant(x.raw().clone())
}

#[test]
fn operations_on_large_constants_run_once() {
    let (a, w) = (uniform([40, 9], 1), uniform([9], 2));
    let (lines, column) = (a.clone(), uniform([40], 3));
    let f = Function::value_and_grad(
        move |w: &Vector<_>| {
            let (a, c): (Matrix<Term>, Vector<Term>) = (known(&lines), known(&column));
            let scaled = (&a - a.mean_keep(0)).exp() * 2.0;
            w.dot(&scaled.t().matmul(&scaled).matvec(w)) + a.matvec(w).dot(&c.cumsum(0))
        },
        &w,
    );
    // All that is left of the constants are a matrix and a vector.
    let (recorded, run) = (f.optimized().to_string(), f.executable().program().to_string());
    assert!(recorded.contains("exp"), "{recorded}");
    assert!(run.matches("f64[").count() == 3 && !run.contains("exp"), "{run}");
    let found = f.run(&w).expect("as traced").leaves();
    let interpreted = f.with_options(FunctionOptions::new().interpreted(true)).run(&w).expect("as traced");
    for (x, y) in found.iter().zip(&interpreted.leaves()) {
        assert_close("constants", x, y, 1e-12);
    }
}

#[test]
fn constants_that_would_grow_are_computed_in_each_run() {
    let (u, v) = (uniform([300], 1), uniform([300], 2));
    let outer =
        Function::stage(move |s: &Number<_>| (known(&u).outer::<1, 2>(&known(&v)) + s).sin().sum(), &tensor(2.0));
    let program = outer.executable().program();
    let largest = program
        .nodes()
        .iter()
        .filter(|node| matches!(node.op, Op::Constant(_)))
        .map(|node| node.shape.iter().product());
    assert!(largest.max() <= Some(300usize), "{program}");
}
