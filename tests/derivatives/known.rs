//! Values that depend on no input, while a program is traced.
//!
//! Laws: they are known, at every level and within recorded loops, and are those that the same operations give at known
//! arrays; what depends on an input is unknown. What the library repeats is recorded as one loop nevertheless.

use polygrad::base::Report;
use polygrad::interpreters::adval::Sweep;
use polygrad::interpreters::dual::Forward;
use polygrad::interpreters::{ADVal, Ast, Concrete, Count, Dual, Jet};
use polygrad::ops::Binary;
use polygrad::program::Term;
use polygrad::{
    Array, BaseTensor, DType, Function, Tensor, external, fold, grad, jvp, taylor, tensor, while_loop,
    while_loop_within,
};

use super::twice::steps;
use crate::support::on_a_small_stack;

/// A few operations of each kind on a constant. Functions that run again, and functions with rules, are never known.
fn results<T: BaseTensor>(start: impl Fn(Array) -> T) -> Vec<(String, Option<String>)> {
    let chain = |(name, array, step): (String, Array, super::twice::Step<T>)| {
        let y = (0..3).fold(start(array), |y, _| step(&y));
        (name, y.peek().map(|a| format!("{a:?}")))
    };
    steps::<T>().into_iter().filter(|(name, ..)| name != "again" && name != "custom").map(chain).collect()
}

/// `x^3`, whose exponent the host language looks at.
fn cube<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
    let (mut n, mut y) = (Tensor::<T, 0>::scalar(3.0), Tensor::scalar(1.0));
    while n.item() > 0.5 {
        n -= 1.0;
        y *= x;
    }
    y
}

#[test]
fn each_operation_on_constants() {
    let expected = results::<Array>(Array::constant);
    assert!(expected.iter().all(|(_, a)| a.is_some()));
    assert_eq!(results(Ast::constant), expected);
    assert_eq!(results(ADVal::<Ast>::constant), expected);
    assert_eq!(results(Dual::<ADVal<Ast>>::constant), expected);
    assert_eq!(results(Jet::<Ast>::constant), expected);
    assert_eq!(results(Count::<Ast>::constant), expected);
    let variable = |a: Array| Term::variable(a.shape(), a.dtype());
    assert!(results(variable).iter().all(|(_, a)| a.is_none()));
}

#[test]
fn the_host_counts() {
    let x = tensor(2.0);
    assert_eq!(grad(cube, &x).item(), 12.0);
    assert_eq!(grad(|x| grad(cube, x), &x).item(), 12.0);
    assert_eq!(jvp(|x| grad(cube, x), &x, &tensor(1.0)).1.item(), 12.0);
    assert_eq!(taylor(cube, &x, &tensor(1.0), 3)[3].item(), 1.0);
    assert_eq!(Function::grad(cube, &x).run(&x).expect("a number").item(), 12.0);
    // In a recorded loop, and in the loop of a derivative.
    let sum = |x: &Tensor<_, 1>| fold(Tensor::scalar(0.0), x, |sum: Tensor<_, 0>, x: &Tensor<_, 0>| sum + cube(x));
    assert_eq!(grad(sum, &tensor([1.0, 2.0])), tensor([3.0, 12.0]));
}

#[test]
fn what_is_never_known() {
    let scalar = |x: f64| Term::constant(Array::scalar(x));
    let large = Term::zeros(&[5000], DType::F64);
    assert!(large.peek().is_some(), "a constant is known, however large");
    assert_eq!(large.binary(Binary::Add, &large).peek(), None);
    let trips = |n: usize| {
        let add = |c: Vec<Term>, _: &[Term]| (vec![c[0].binary(Binary::Add, &scalar(1.0))], Vec::new());
        Term::map_accum(n, false, vec![scalar(0.0)], &[], &mut { add }).0.swap_remove(0).peek()
    };
    assert_eq!((trips(100), trips(1_000_000)), (Some(Array::scalar(100.0)), None));
    // Code of the host runs when the program runs.
    let run = |_: &Tensor<Concrete, 0>| -> Tensor<Concrete, 0> { panic!("this runs too early") };
    let host: Tensor<Term, 0> = external("early", run, &tensor(0.0), &Tensor::from_raw(scalar(1.0)));
    assert_eq!((host + 1.0).peek(), None);
}

#[test]
fn long_chains_are_known_without_recursion() {
    on_a_small_stack(|| {
        let one = Term::constant(Array::scalar(1.0));
        let y = (0..20_000).fold(one.clone(), |y, _| y.binary(Binary::Add, &one));
        assert_eq!(y.peek(), Some(Array::scalar(20_001.0)));
    });
}

/// A loop that ends by a counter that depends on no input, and has a bound or none.
fn counted<T: BaseTensor>(most: Option<usize>, x: &Tensor<T, 0>) -> Tensor<T, 0> {
    let start = (Tensor::scalar(0), x.clone());
    let go = |(k, _): &(Tensor<T, 0, i64>, Tensor<T, 0>)| k.lt(500_i64);
    let step = |(k, y): (Tensor<T, 0, i64>, Tensor<T, 0>)| (k + 1, y.sin() + x);
    match most {
        Some(most) => while_loop_within(most, start, go, step).1,
        None => while_loop(start, go, step).1,
    }
}

#[test]
fn loops_that_count_are_recorded_as_loops() {
    let size = |inputs: &[Term], result: &Term| {
        Term::program(inputs, std::slice::from_ref(result), &[]).expect("a closed program").size()
    };
    let variable = || Term::variable(&[], DType::F64);
    for most in [Some(600), None] {
        let x = variable();
        assert!(size(std::slice::from_ref(&x), counted(most, &Tensor::from_raw(x.clone())).raw()) < 20);
        let (x, dot, forward) = (variable(), variable(), Forward::new());
        let dual = forward.input(&x, &dot);
        if most.is_some() {
            let (value, tangent) = forward.result(counted(most, &Tensor::from_raw(dual)).raw());
            assert!(size(&[x.clone(), dot.clone()], &value) < 40 && size(&[x, dot], &tangent) < 40);
        }
    }
    let (x, mut sweep) = (variable(), Sweep::new());
    let y = counted(Some(600), &Tensor::from_raw(sweep.input(&x))).into_raw();
    let slope = sweep.pull(&[y], vec![Term::constant(Array::scalar(1.0))]).swap_remove(0);
    assert!(size(&[x], &slope) < 100);
    let (x, step) = (tensor(1.5), 1e-6);
    let slope = jvp(|x| counted(None, x), &x, &tensor(1.0)).1.item();
    let moved = |by: f64| counted(None, &tensor(1.5 + by)).item();
    assert!((slope - (moved(step) - moved(-step)) / (2.0 * step)).abs() < 1e-6);
}
