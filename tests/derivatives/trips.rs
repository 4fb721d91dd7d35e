//! Reverse mode of loops that end by themselves, in time of the trips that ran.
//!
//! Law: whatever the bound, and without one, derivatives of any order are those of the trips that ran, as forward mode and
//! `direct` have them.

use std::sync::Arc;

use polygrad::backend::compile;
use polygrad::inspect::{Family, count};
use polygrad::ops::Unary;
use polygrad::program::{Custom, Program, Term, interpret};
use polygrad::{
    Array, BaseTensor, Concrete, DType, Function, Tensor, cond, direct, fold, grad, jvp, map, symbolic, tensor, vmap,
    while_loop, while_loop_within,
};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Count<T> = Tensor<T, 0, i64>;

/// Numbers of trips around those at which slots are full, or distances change.
const TRIPS: [i64; 8] = [0, 1, 2, 63, 64, 65, 129, 200];

macro_rules! repeated {
    ($most:expr, $init:expr, $go:expr, $step:expr) => {
        match $most {
            None => while_loop($init, $go, $step),
            Some(most) => while_loop_within(most, $init, $go, $step),
        }
    };
}

/// A loss of a vector and a number of trips.
trait Loss {
    fn run<T: BaseTensor>(most: Option<usize>, x: &Vector<T>, n: &Count<T>) -> Number<T>;
}

macro_rules! losses {
    ($($(#[$doc:meta])* $Name:ident($most:ident, $x:ident, $n:ident) $body:block)*) => {
        $(
            $(#[$doc])*
            struct $Name;
            impl Loss for $Name {
                fn run<T: BaseTensor>($most: Option<usize>, $x: &Vector<T>, $n: &Count<T>) -> Number<T> $body
            }
        )*
        macro_rules! each {
            ($law:ident) => { $( $law::<$Name>(stringify!($Name)); )* };
        }
    };
}

losses! {
    /// A captured vector, and a carry of a vector and a number.
    Captured(most, x, n) {
        let go = |c: &(Vector<T>, Count<T>)| c.1.lt(n);
        let step = |(y, k): (Vector<T>, Count<T>)| ((y.sin() + x * 0.3) * 0.9, k + 1);
        repeated!(most, (x.clone(), Tensor::scalar(0)), go, step).0.square().sum()
    }
    /// All element types, and a value that no cotangent reaches.
    Mixed(most, x, n) {
        type Carry<T> = (Vector<T>, Tensor<T, 0, f32>, Count<T>, Tensor<T, 0, bool>, Number<T>);
        let go = |c: &Carry<T>| c.2.lt(n);
        let step = |(y, z, k, odd, lost): Carry<T>| {
            let y = cond(&odd, y.cos(), &y * 0.5 + x);
            let z = (z + y.sum().cast::<f32>() * 0.25).tanh() * 0.5;
            (y * z.cast::<f64>().exp() * 0.6, z, k + 1, !odd, (lost * 0.0).sqrt())
        };
        let start = (x.clone(), Tensor::scalar(0.25f32), Tensor::scalar(0), Tensor::scalar(false), x.at([0]));
        let (y, z, ..) = repeated!(most, start, go, step);
        y.sum() + z.cast::<f64>()
    }
    /// A loop in a loop.
    Nested(most, x, n) {
        let inner = |y: &Vector<T>| {
            let go = |c: &(Vector<T>, Count<T>)| c.1.lt(c.0.sum().abs().to_int() + 2);
            repeated!(most, (y.clone(), Tensor::scalar(0)), go, |(y, k): (Vector<T>, Count<T>)| (y.sin() + x * 0.2, k + 1)).0
        };
        let go = |c: &(Vector<T>, Count<T>)| c.1.lt(n);
        let step = |(y, k): (Vector<T>, Count<T>)| (inner(&y) * 0.7, k + 1);
        repeated!(most, (x.clone(), Tensor::scalar(0)), go, step).0.square().sum()
    }
    /// In the body of a loop of fixed length, whose trips need different numbers of trips.
    Folded(most, x, n) {
        let step = |y: Vector<T>, k: &Count<T>| {
            let go = |c: &(Vector<T>, Count<T>)| c.1.lt(n - k);
            repeated!(most, (y, Tensor::scalar(0)), go, |(y, k): (Vector<T>, Count<T>)| ((y * x).cos(), k + 1)).0
        };
        fold(x.clone(), Tensor::<T, 1, i64>::constant([0, 1, 5]), step).sum()
    }
    /// A row for each element, which end at different trips.
    Rows(most, x, n) {
        let one = |x: &Number<T>| {
            let go = |c: &(Number<T>, Count<T>)| c.1.lt(n - (x.abs() * 2.0).to_int());
            repeated!(most, (x.clone(), Tensor::scalar(0)), go, |(y, k): (Number<T>, Count<T>)| ((y + x).sin(), k + 1)).0
        };
        map(x.clone(), one).square().sum()
    }
}

fn point() -> Vector<Concrete> {
    tensor([0.3, -0.7, 1.1])
}

/// The loss as a program of the vector.
fn program<L: Loss>(most: Option<usize>, n: i64) -> Program {
    let x = Term::variable(&[3], DType::F64);
    let y = L::run(most, &Tensor::from_raw(x.clone()), &Tensor::scalar(n)).into_raw();
    Term::program(&[x], &[y], &[]).expect("a closed program")
}

#[track_caller]
fn near(found: &Array, expected: &Array, what: &str) {
    let [a, b] = [found, expected].map(|a| a.to_vec::<f64>().expect("floats"));
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * b.abs().max(1e-3);
    assert!(a.len() == b.len() && a.iter().zip(&b).all(near), "{what}: {a:?} is not {b:?}");
}

/// The numbers for each basis vector.
fn by_basis(of: impl Fn(Array) -> Array) -> Array {
    let basis = |k: usize| Array::from([0, 1, 2].map(|j| f64::from(u8::from(j == k))));
    Array::from([0, 1, 2].map(|k| of(basis(k)).item::<f64>().expect("a number")))
}

fn gradients_are_those_of_the_trips<L: Loss>(name: &str) {
    for n in TRIPS {
        let forward = symbolic::jvp(&program::<L>(None, n));
        let expected = by_basis(|e| interpret(&forward, vec![point().into_raw(), e]).remove(1));
        for most in [None, Some(1000)] {
            let gradient = symbolic::grad(&program::<L>(most, n));
            let x = [point().into_raw()];
            near(&interpret(&gradient, x.to_vec())[0], &expected, &format!("{name}, {n} trips, {most:?}"));
            near(&compile(&gradient).run(&x)[0], &expected, &format!("{name}, {n} trips, {most:?}, compiled"));
        }
    }
}

#[test]
fn gradients_are_those_of_the_trips_that_ran() {
    each!(gradients_are_those_of_the_trips);
}

/// `x, v -> <gradient, v>`.
fn along(gradient: &Program) -> Program {
    let [x, v] = [(); 2].map(|()| Term::variable(&[3], DType::F64));
    let slope = interpret(gradient, vec![x.clone()]).remove(0);
    let sum = (Vector::from_raw(slope) * Vector::from_raw(v.clone())).sum().into_raw();
    Term::program(&[x, v], &[sum], &[]).expect("a closed program")
}

fn second_derivatives_agree<L: Loss>(name: &str) {
    let (x, v, u) = (point().into_raw(), Array::from([0.5, 1.0, -2.0]), Array::from([1.0, -0.5, 0.25]));
    for n in [0, 1, 3, 66] {
        let twice = symbolic::jvp_in(&symbolic::jvp(&program::<L>(None, n)), &[0]);
        let expected = by_basis(|e| interpret(&twice, vec![x.clone(), e, v.clone()]).remove(3));
        for most in [None, Some(200)] {
            let gradient = symbolic::grad(&program::<L>(most, n));
            let what = |how: &str| format!("{how} of {name}, {n} trips, {most:?}");
            // Forward over reverse, and reverse over reverse.
            let over = symbolic::jvp(&gradient);
            near(&compile(&over).run(&[x.clone(), v.clone()])[1], &expected, &what("forward over reverse"));
            let under = symbolic::grad_in(&along(&gradient), &[0]);
            near(&interpret(&under, vec![x.clone(), v.clone()])[0], &expected, &what("reverse over reverse"));
            near(&compile(&under).run(&[x.clone(), v.clone()])[0], &expected, &what("reverse over reverse, compiled"));
            // Third derivatives: reverse over reverse over reverse, and forward over both.
            if n == 1 || n == 3 {
                let third = symbolic::jvp_in(&under, &[0]);
                let args = [x.clone(), v.clone(), u.clone()];
                let expected = compile(&third).run(&args).remove(1);
                let w = Term::variable(&[3], DType::F64);
                let [x1, v1] = [(); 2].map(|()| Term::variable(&[3], DType::F64));
                let slope = interpret(&under, vec![x1.clone(), v1.clone()]).remove(0);
                let sum = (Vector::from_raw(slope) * Vector::from_raw(w.clone())).sum().into_raw();
                let sum = Term::program(&[x1, v1, w], &[sum], &[]).expect("a closed program");
                let thrice = symbolic::grad_in(&sum, &[0]);
                near(&compile(&thrice).run(&args)[0], &expected, &what("reverse three times"));
            }
        }
    }
}

/// The loss at any interpreter.
fn f_at<L: Loss, T: BaseTensor>(n: i64) -> impl Fn(&Vector<T>) -> Number<T> {
    move |x| L::run(None, x, &Tensor::scalar(n))
}

#[test]
fn second_and_third_derivatives_agree() {
    each!(second_derivatives_agree);
}

/// One program for any number of trips: what it keeps does not depend on their number.
#[test]
fn memory_is_that_of_the_slots() {
    let f = |x: &Vector<_>, n: &Count<_>| Captured::run(None, x, n);
    let gradient = Function::grad_with(f, &point(), &tensor(0_i64));
    for n in [0, 5, 300, 20_000] {
        let slope = gradient.run_with(&point(), &tensor(n)).expect("the same shapes");
        let expected =
            jvp(|x: &Vector<_>| Captured::run(None, x, &Tensor::scalar(n)), &point(), &tensor([0.0, 1.0, 0.0])).1;
        assert!((slope.at([1]) - expected).abs().item() < 1e-9, "{n} trips");
    }
}

/// Rows of a batch of gradients.
#[test]
fn gradients_are_batched() {
    let xs = tensor([[0.3, -0.7, 1.1], [2.0, 0.1, -0.4]]);
    let slopes = Function::stage(|xs: &Tensor<_, 2>| vmap(|x: &Vector<_>| grad(f_at::<Captured, _>(70), x))(xs), &xs);
    let found = slopes.run(&xs).expect("the same shapes");
    for k in 0..2 {
        let expected = direct::grad(f_at::<Captured, _>(70), &xs.at([k]));
        near(found.at([k]).raw(), expected.raw(), "a row");
    }
}

/// How many sines the gradient computes for `n` trips, of one sine each.
fn sines(n: i64) -> u64 {
    let f = |x: &Vector<_>, n: &Count<_>| Captured::run(None, x, n);
    let gradient = Function::grad_with(f, &point(), &tensor(0_i64));
    let program = gradient.program();
    let at = |x: &Vector<polygrad::interpreters::Count<Concrete>>| {
        let n = BaseTensor::constant(Array::scalar(n));
        Vector::from_raw(interpret(program, vec![x.raw().clone(), n]).remove(0))
    };
    // Sines and cosines of three numbers.
    count(at, &point()).1.of(Family::Unary).work / 3
}

/// With a state for each trip, or for each few, a trip runs forwards twice, and once with its derivative. Beyond, it runs
/// again for each time that the states between two stored ones do not fit.
#[test]
fn trips_run_again_by_the_binomial_schedule() {
    // The largest number of trips that are transposed together, and those after the end.
    let most_in_vain = 4 * 16;
    for (n, runs) in [(0, 0), (40, 4), (64, 4), (640, 4), (1024, 4), (3000, 5), (9000, 5)] {
        let found = sines(n);
        let n = n as u64;
        assert!(found <= runs * n + most_in_vain, "{n} trips: {found} sines");
        assert!(found >= 2 * n, "{n} trips: {found} sines");
    }
}

/// `y' = sin(y + x)` for each row, in a number of trips that the row determines, from 0 to 400.
fn many_rows<T: BaseTensor>(bound: Option<usize>, x: &Vector<T>) -> Vector<T> {
    map(x.clone(), |x: &Number<T>| {
        let most = (x * x * 400.0).to_int();
        let go = |c: &(Number<T>, Count<T>)| c.1.lt(&most);
        repeated!(bound, (x.clone(), Tensor::scalar(0)), go, |(y, k): (Number<T>, Count<T>)| ((y + x).sin(), k + 1)).0
    })
}

/// Rows that end leave the batch: values and derivatives of each row are those of its loop, in about the work of all trips.
#[test]
fn rows_that_have_ended_leave_the_batch() {
    for (n, bound) in [(255, None), (256, None), (257, Some(300)), (700, None), (300, Some(70)), (300, Some(10_000))] {
        let numbers: Vec<f64> = (0..n).map(|k| f64::from(k * 7919 % n) / f64::from(n)).collect();
        let (mut trips, mut values, mut slopes) = (0, Vec::new(), Vec::new());
        for x in &numbers {
            let (mut y, mut dy) = (*x, 1.0);
            for _ in 0..((x * x * 400.0) as usize).min(bound.unwrap_or(usize::MAX)) {
                (y, dy) = ((y + x).sin(), (y + x).cos() * (dy + 1.0));
                trips += 1;
            }
            values.push(y);
            slopes.push(2.0 * y * dy);
        }
        let x = tensor(numbers);
        let f = Function::stage(|x| many_rows(bound, x), &x);
        near(f.run(&x).expect("the same shapes").raw(), &Array::from(values), &format!("{n} rows"));
        let gradient = Function::grad(|x: &Vector<_>| many_rows(bound, x).square().sum(), &x);
        near(
            gradient.run(&x).expect("the same shapes").raw(),
            &Array::from(slopes),
            &format!("the gradient of {n} rows"),
        );
        let bulk = polygrad::passes::vectorize(f.program());
        let of_bulk = |x: &Vector<polygrad::interpreters::Count<Concrete>>| {
            Vector::from_raw(interpret(&bulk, vec![x.raw().clone()]).remove(0))
        };
        let sines = count(of_bulk, &x).1.of(Family::Unary).work;
        let first = 20 * n as u64;
        assert!(n < 256 || sines <= 3 * trips / 2 + first, "{n} rows: {sines} sines for {trips} trips");
        assert!(sines >= trips, "{n} rows: {sines} sines for {trips} trips");
    }
}

/// A loop and the functions that are derived from it are freed with the programs that run them.
#[test]
fn loops_and_their_transposed_loops_are_freed() {
    let (go, x) = (Term::variable(&[], DType::Bool), Term::variable(&[3], DType::F64));
    let body = Term::program(&[go.clone(), x.clone()], &[go, x.unary(Unary::Sin)], &[]).expect("a closed program");
    let rule = Arc::new(Custom::while_loop("loop", body, None).expect("a carry"));
    let kept = Arc::downgrade(&rule);
    let start = [Term::constant(Array::scalar(false)), x.clone()];
    let sum = Vector::from_raw(Term::custom(&rule, &start).remove(1)).sum().into_raw();
    let program = Term::program(&[x], std::slice::from_ref(&sum), &[]).expect("a closed program");
    drop(rule);
    let gradient = symbolic::grad(&program);
    let second = symbolic::grad_in(&along(&gradient), &[0]);
    assert!(kept.upgrade().is_some(), "the program runs it");
    drop((program, gradient, second, start, sum));
    assert!(kept.upgrade().is_none(), "nothing runs it");
}
