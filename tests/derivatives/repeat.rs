//! Loops that end by themselves.
//!
//! Law: they are the loop of the host language, in every interpreter; a bound changes nothing unless it is reached.

use polygrad::backend::compile;
use polygrad::inspect::{Family, count};
use polygrad::program::Program;
use polygrad::{
    Array, BaseTensor, Concrete, Function, FunctionOptions, Tensor, direct, fold, grad, hessian, hvp, jvp, map, tensor,
    vjp, vmap, while_loop, while_loop_within,
};

type Number<T> = Tensor<T, 0>;

/// Newton's method for the square root of `a`, which it captures, and the number of its trips.
fn root<T: BaseTensor>(most: Option<usize>, a: &Number<T>) -> (Number<T>, Number<T>) {
    let go = |c: &(Number<T>, Number<T>)| (&c.0 * &c.0 - a).abs().gt(1e-10);
    let step = |(y, trips): (Number<T>, Number<T>)| ((&y + a / &y) * 0.5, trips + 1.0);
    let start = (a * 0.5 + 1.0, Tensor::scalar(0.0));
    match most {
        None => while_loop(start, go, step),
        Some(most) => while_loop_within(most, start, go, step),
    }
}

fn square<T: BaseTensor>(most: Option<usize>, a: &Number<T>) -> Number<T> {
    root(most, a).0.powi(3)
}

const BOUNDS: [Option<usize>; 3] = [None, Some(10), Some(100)];

#[track_caller]
fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-7 * b.abs().max(1.0), "{a} is not {b}");
}

#[test]
fn the_value_is_that_of_the_loop() {
    for most in BOUNDS {
        for a in [0.25, 2.0, 900.0] {
            let (y, trips) = root(most, &tensor(a));
            near(y.item(), f64::sqrt(a));
            let f = Function::stage(|a| root(most, a), &tensor(1.0));
            assert_eq!(f.run(&tensor(a)).expect("a number"), (y.clone(), trips.clone()));
            let f = f.with_options(FunctionOptions::new().interpreted(true));
            assert_eq!(f.run(&tensor(a)).expect("a number"), (y, trips));
        }
    }
    // The bound is reached, and no trip at all.
    let doubled = |most: usize| while_loop_within(most, 1.0, |x: &Number<Concrete>| x.lt(1e9), |x| x * 2.0).item();
    assert_eq!([0, 1, 5].map(doubled), [1.0, 2.0, 32.0]);
    let staged = |most: usize| {
        let f = move |x: &Number<_>| while_loop_within(most, x, |x: &Number<_>| x.lt(1e9), |x| x * 2.0);
        Function::stage(f, &tensor(1.0)).run(&tensor(1.0)).expect("a number").item()
    };
    assert_eq!([0, 1, 5, 80].map(staged), [1.0, 2.0, 32.0, 2f64.powi(30)]);
}

#[test]
fn arrays_are_carried_whatever_the_number_of_trips() {
    // Carries that change places, and one that is updated in place; odd and even numbers of trips.
    fn turn<T: BaseTensor>(x: &Tensor<T, 1>, w: &Tensor<T, 2>) -> (Tensor<T, 1>, Tensor<T, 1>, Tensor<T, 0, i64>) {
        let go = |c: &(Tensor<T, 1>, Tensor<T, 1>, Tensor<T, 0, i64>)| c.1.sum().lt(10.0);
        while_loop((x.clone(), x * 0.5, Tensor::scalar(0)), go, |(x, s, k)| (w.matvec(&x), s + &x, k + 1))
    }
    let w = tensor([[1.0, 0.5, 0.0], [0.25, 0.5, 0.25], [0.5, 0.0, 1.0]]);
    let f = Function::stage_with(turn, &tensor([1.0, 1.0, 1.0]), &w);
    let mut seen = Vec::new();
    for k in 0..8 {
        let x = tensor([0.2, 0.3, 0.4]) * f64::from(k + 1);
        let (direct, run) = (turn(&x, &w), f.run_with(&x, &w).expect("the same shapes"));
        assert_eq!(direct.2, run.2);
        assert!((&direct.0 - run.0).abs().sum().item() + (&direct.1 - run.1).abs().sum().item() < 1e-12);
        seen.push(direct.2.item() % 2);
    }
    assert!(seen.contains(&0) && seen.contains(&1));
    // With a bound, there are derivatives, and rows of a batch that end one after the other.
    fn sum<T: BaseTensor>(x: &Tensor<T, 1>) -> Number<T> {
        let go = |c: &(Tensor<T, 1>, Tensor<T, 1>)| c.1.sum().lt(10.0);
        let (x, s) = while_loop_within(30, (x.clone(), x * 0.5), go, |(x, s)| (x.sin() * 1.2, s + &x));
        x.sum() * s.square().sum()
    }
    let rows = tensor([[0.2, 0.3, 0.4], [1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]);
    let slopes = grad(|rows| map(rows, |x: &Tensor<_, 1>| sum(x)).sum_outer::<0>(), &rows);
    for k in 0..3 {
        let x: Tensor<Concrete, 1> = rows.row(k);
        let slope = direct::grad(sum, &x);
        assert!((grad(sum, &x) - &slope).abs().sum().item() < 1e-10);
        assert!((slopes.row::<1>(k) - slope).abs().sum().item() < 1e-10);
    }
}

#[test]
fn derivatives_are_those_of_the_trips_that_ran() {
    for a in [0.3_f64, 2.0, 50.0] {
        let (slope, second, a) = (1.5 * a.sqrt(), 0.75 / a.sqrt(), tensor(a));
        for most in BOUNDS {
            near(jvp(|a| square(most, a), &a, &tensor(1.0)).1.item(), slope);
            near(direct::jvp(|a| square(most, a), &a, &tensor(1.0)).1.item(), slope);
            near(direct::grad(|a| square(most, a), &a).item(), slope);
            if most.is_some() {
                let inner = Function::stage(|a| direct::grad(|a| square(most, a), a), &a);
                near(inner.run(&a).expect("a number").item(), slope);
                let plain = Function::stage(|a| grad(|a| square(most, a), a), &a);
                near(plain.run(&a).expect("a number").item(), slope);
                near(direct::grad(|a| direct::grad(|a| square(most, a), a), &a).item(), second);
            }
            let twice = |a: &Number<_>| direct::jvp(|a| square(most, a), a, &Tensor::scalar(1.0)).1;
            near(direct::jvp(twice, &a, &tensor(1.0)).1.item(), second);
            let f = Function::jvp(|a| square(most, a), &a);
            near(f.run_with(&a, &tensor(1.0)).expect("numbers").1.item(), slope);
        }
        for most in [Some(10), Some(100)] {
            near(grad(|a| square(most, a), &a).item(), slope);
            near(Function::grad(|a| square(most, a), &a).run(&a).expect("a number").item(), slope);
            near(vjp(|a| square(most, a), &a).1(&tensor(1.0)).item(), slope);
            near(hvp(|a| square(most, a), &a, &tensor(1.0)).item(), second);
            near(hessian(|a| square(most, a), &a).item(), second);
            near(direct::linearize(|a| square(most, a), &a).1(&tensor(1.0)).item(), slope);
        }
    }
}

#[test]
fn rows_of_a_batch_end_by_themselves() {
    let rows = tensor([0.25, 2.0, 900.0, 1.0]);
    let expected: Vec<(f64, f64)> =
        rows.to_vec().into_iter().map(|a| root(None, &tensor(a))).map(|(y, k)| (y.item(), k.item())).collect();
    for most in BOUNDS {
        let f = Function::stage(move |rows: &Tensor<_, 1>| map(rows, |a| root(most, a)), &rows);
        assert!(!f.optimized().to_string().contains("loop"), "{}", f.optimized());
        let (y, trips): (Tensor<Concrete, 1>, Tensor<Concrete, 1>) = f.run(&rows).expect("the same shape");
        assert_eq!(y.to_vec().into_iter().zip(trips.to_vec()).collect::<Vec<_>>(), expected);
    }
    let slopes = grad(|rows| map(rows, |a: &Number<_>| square(Some(10), a)).sum_outer::<0>(), &rows);
    slopes.to_vec().into_iter().zip(rows.to_vec()).for_each(|(slope, a)| near(slope, 1.5 * a.sqrt()));
    let each = vmap(|a: &Number<Concrete>| grad(|a| square(Some(10), a), a))(&rows);
    each.to_vec().into_iter().zip(slopes.to_vec()).for_each(|(a, b)| near(a, b));
    // A condition that all rows share.
    let shared = Function::stage(
        |rows: &Tensor<_, 1>| {
            map(rows, |a: &Number<_>| {
                while_loop(
                    (a.clone(), Tensor::scalar(0)),
                    |c: &(_, Tensor<_, 0, i64>)| c.1.lt(3),
                    |(a, k)| (a * 2.0, k + 1),
                )
                .0
            })
        },
        &rows,
    );
    assert_eq!(shared.run(&rows).expect("the same shape"), &rows * 8.0);
}

#[test]
fn they_stand_inside_of_loops() {
    fn nested<T: BaseTensor>(most: Option<usize>, a: &Number<T>) -> Number<T> {
        fold(0.0, 0..4, |sum: Number<T>, k: &Tensor<T, 0, i64>| sum + root(most, &(a + k.to_float())).0)
    }
    let a = tensor(0.7);
    let slope: f64 = (0..4).map(|k| 0.5 / (0.7 + f64::from(k)).sqrt()).sum();
    for most in [Some(10), Some(100)] {
        near(grad(|a| nested(most, a), &a).item(), slope);
    }
    near(direct::grad(|a| nested(Some(10), a), &a).item(), slope);
    near(jvp(|a| nested(None, a), &a, &tensor(1.0)).1.item(), slope);
}

#[test]
fn a_recorded_loop_ends_early() {
    let f = Function::stage(|a| root(Some(1_000_000_000), a), &tensor(2.0));
    let (_, trips) = f.run(&tensor(2.0)).expect("a number");
    assert!(trips.item() < 10.0);
    assert!(f.explain().contains("numbers, at most 1000000000 trips"), "{}", f.explain());
    let (_, tally) = count(|a| root(None, a), &tensor(2.0));
    assert!(tally.of(Family::Binary).calls < 100);
}

#[test]
fn programs_with_such_loops_are_printed_and_saved() {
    for most in BOUNDS {
        let f = Function::stage(|a| root(most, a), &tensor(2.0));
        let text = f.optimized().to_string();
        assert!(text.contains(if most.is_some() { "while, 10" } else { "while (" }), "{text}");
        let saved = serde_json::to_string(f.program()).expect("a program can be saved");
        let loaded: Program = serde_json::from_str(&saved).expect("what was saved");
        assert_eq!(&loaded, f.program());
        let run = compile(&loaded).run(&[Array::scalar(9.0)]);
        near(run[0].item().expect("a number"), 3.0);
    }
}
