//! Loops that end by themselves.
//!
//! Law: they are the loop of the host language, in every interpreter; a bound changes nothing unless it is reached.

use polygrad::backend::compile;
use polygrad::inspect::{Family, count, debug_lines};
use polygrad::passes::optimize;
use polygrad::program::{Program, interpret};
use polygrad::{
    Array, BaseTensor, Concrete, Function, FunctionOptions, Mode, Tensor, build1, checkpoint, direct, fold, grad,
    hessian, hvp, jacobian_by, jvp, map, symbolic, tensor, value_and_grad, value_and_jacobian, vjp, vmap, while_loop,
    while_loop_within,
};

use crate::gallery::gradbench::programs::particle;

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

/// A program of one number, interpreted.
fn at<T: BaseTensor>(program: &Program, x: &Number<T>) -> Number<T> {
    Tensor::from_raw(interpret(program, vec![x.raw().clone()]).remove(0))
}

/// Interpreted at dual numbers, a recorded loop is the derivative of the function that was recorded: also without a
/// bound, in loops that end by themselves, in the trips of a `build`, which end at different trips, in a checkpointed
/// segment, and at every nesting of modes. The first derivative is that of formulas in dual numbers and of differences.
#[test]
fn a_recorded_loop_at_dual_numbers_is_the_derivative_of_the_function() {
    fn squares<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        while_loop(x, |y| y.lt(100.0), |y: Number<T>| &y * &y + 1.0)
    }
    fn within<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        while_loop_within(50, x, |y| y.lt(100.0), |y: Number<T>| &y * &y + 1.0)
    }
    fn nested<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        while_loop(
            x,
            |y: &Number<T>| y.lt(50.0),
            |y| {
                let inner = while_loop(&y * 0.5, |z: &Number<T>| z.lt(3.0), |z| z * x + 0.1);
                y * x + inner
            },
        )
    }
    fn built<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        let each = |k: &Tensor<T, 0, i64>| while_loop(x * (k.to_float() + 1.0), |y| y.lt(100.0), |y: Number<T>| &y * x);
        let y: Tensor<T, 1> = build1(3, |k| each(k));
        y.square().sum()
    }
    fn segments<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        checkpoint(2).iterate(4, x, |_, y: Number<T>| squares(&(y.sin() + 1.0)) * 0.01)
    }
    let x = tensor(1.5);
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} is not {b}");
    let programs = [
        (Function::stage(squares, &x), Some(450.9375)),
        (Function::stage(within, &x), Some(450.9375)),
        (Function::stage(nested, &x), Some(388.89375)),
        (Function::stage(built, &x), None),
        (Function::stage(segments, &x), None),
    ];
    for (function, expected) in &programs {
        let p = function.program();
        let slope = jvp(|x| at(p, x), &x, &tensor(1.0)).1.item();
        let second = jvp(|x| jvp(|x| at(p, x), x, &Tensor::scalar(1.0)).1, &x, &tensor(1.0)).1.item();
        close(slope, expected.unwrap_or(slope));
        let h = 1e-6;
        let difference = (at(p, &(&x + h)) - at(p, &(&x - h))).item() / (2.0 * h);
        assert!((slope - difference).abs() < 1e-4 * slope.abs(), "{slope} is not {difference}");
        close(direct::grad(|x| at(p, x), &x).item(), slope);
        close(direct::jvp(|x| at(p, x), &x, &tensor(1.0)).1.item(), slope);
        close(direct::linearize(|x| at(p, x), &x).1(&tensor(1.0)).item(), slope);
        close(direct::vjp(|x| at(p, x), &x).1(&tensor(1.0)).item(), slope);
        let taylor = direct::taylor(|x| at(p, x), &x, &tensor(1.0), 2);
        close(taylor[1].item(), slope);
        close(taylor[2].item(), second / 2.0);
        close(direct::grad(|x| direct::grad(|x| at(p, x), x), &x).item(), second);
        close(direct::jvp(|x| direct::grad(|x| at(p, x), x), &x, &tensor(1.0)).1.item(), second);
        close(direct::grad(|x| direct::jvp(|x| at(p, x), x, &Tensor::scalar(1.0)).1, &x).item(), second);
    }
}

/// A trip that prints has its effect once, in the run, and none in the reverse pass.
#[test]
fn taps_in_trips_have_their_effect_once() {
    fn watched<T: BaseTensor>(x: &Number<T>) -> Number<T> {
        while_loop(x, |y| y.lt(100.0), |y: Number<T>| (&y * &y + 1.0).debug("y"))
    }
    let f = Function::stage(watched, &tensor(1.5));
    let (slope, lines) = debug_lines(|| direct::grad(|x| at(f.program(), x), &tensor(1.5)).item());
    near(slope, 450.9375);
    assert_eq!(lines.len(), 3, "{lines:?}");
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
    assert!(f.explain().contains("at most 1000000000 trips"), "{}", f.explain());
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

/// A point that moves until it has left a ball, drawn by a force with some parameters; and the number of its trips.
fn thrown<T: BaseTensor>(most: Option<usize>, p: &Tensor<T, 1>) -> (Tensor<T, 1>, Number<T>) {
    let go = |c: &(Tensor<T, 1>, Tensor<T, 1>, Number<T>)| c.0.square().sum().lt(4.0);
    let step = |(x, v, trips): (Tensor<T, 1>, Tensor<T, 1>, Number<T>)| {
        let v = &v - 0.2 * (&x * p.slice(0, ..2)).sin() + 0.1 * p.at([p.len() as i64 - 1]);
        (&x + 0.2 * &v, v, trips + 1.0)
    };
    let start = (p.slice(0, ..2) * 0.1, Tensor::constant([1.0, 0.5]), Tensor::scalar(0.0));
    let (x, v, trips) = match most {
        None => while_loop(start, go, step),
        Some(most) => while_loop_within(most, start, go, step),
    };
    (x * v.exp(), trips)
}

fn place<T: BaseTensor>(most: Option<usize>, p: &Tensor<T, 1>) -> Tensor<T, 1> {
    thrown(most, p).0
}

/// The parameters, of which some take no part.
fn parameters(n: usize) -> Tensor<Concrete, 1> {
    Tensor::from_raw(Array::uniform(&[n], 0.2, 0.8, 3))
}

/// Central differences, as columns.
fn differences(p: &Tensor<Concrete, 1>) -> Vec<f64> {
    let (n, h) = (p.len(), 1e-6);
    let moved = |k: usize, by: f64| {
        let e: Vec<f64> = p.to_vec().into_iter().enumerate().map(|(j, x)| if j == k { x + by } else { x }).collect();
        place(None, &Tensor::from_raw(Array::from(e))).to_vec()
    };
    let column = |k: usize| -> Vec<f64> {
        moved(k, h).into_iter().zip(moved(k, -h)).map(|(a, b)| (a - b) / (2.0 * h)).collect()
    };
    let columns: Vec<Vec<f64>> = (0..n).map(column).collect();
    (0..2).flat_map(|row| columns.iter().map(move |c| c[row]).collect::<Vec<f64>>()).collect()
}

#[track_caller]
fn all_near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{found:?} is not {expected:?}");
    }
}

/// The number of loops in a program, those that end by themselves and others.
fn loops(program: &Program) -> [usize; 2] {
    let text = program.to_string();
    ["while", "loop"].map(|word| text.matches(&format!("= {word}")).count())
}

/// Few parameters have tangents side by side, many have stacks.
#[test]
fn forward_mode_is_one_loop() {
    for n in [3, 4, 5, 9] {
        let p = parameters(n);
        let (y, trips) = thrown(None, &p);
        assert!((5.0..80.0).contains(&trips.item()), "{}", trips.item());
        let expected = differences(&p);
        for most in [None, Some(80)] {
            let forward = FunctionOptions::new().mode(Mode::Forward);
            let both = Function::value_and_jacobian(|p| place(most, p), &p).with_options(forward);
            assert_eq!(loops(both.optimized()), [1, 0], "{n} parameters, {most:?}\n{}", both.optimized());
            let (value, slopes): (_, Tensor<Concrete, 2>) = both.run(&p).expect("the same shape");
            all_near(&value.to_vec(), &y.to_vec(), 1e-14);
            all_near(&slopes.to_vec(), &expected, 1e-7);
            let slopes = slopes.to_vec();
            let plain: Tensor<Concrete, 2> = jacobian_by(Mode::Forward, |p| place(most, p), &p);
            all_near(&plain.to_vec(), &slopes, 1e-13);
            let (value, plain): (_, Tensor<Concrete, 2>) = value_and_jacobian(|p| place(most, p), &p);
            all_near(&[value.to_vec(), plain.to_vec()].concat(), &[y.to_vec(), slopes.clone()].concat(), 1e-12);
            // One direction, by dual numbers and by the delta term.
            let x_dot = parameters(n).cos();
            let product: Vec<f64> =
                slopes.chunks(n).map(|row| row.iter().zip(x_dot.to_vec()).map(|(a, b)| a * b).sum()).collect();
            let push = Function::jvp(|p| place(most, p), &p);
            assert_eq!(loops(push.optimized()), [1, 0]);
            all_near(&push.run_with(&p, &x_dot).expect("the same shapes").1.to_vec(), &product, 1e-12);
            all_near(&direct::linearize(|p| place(most, p), &p).1(&x_dot).to_vec(), &product, 1e-12);
            let split = symbolic::linearize(Function::stage(|p| place(most, p), &p).program());
            assert_eq!(loops(&optimize(&split.linear)), [1, 0]);
            if most.is_some() {
                let reverse: Tensor<Concrete, 2> = jacobian_by(Mode::Reverse, |p| place(most, p), &p);
                all_near(&reverse.to_vec(), &slopes, 1e-12);
                // The linear program has a transposed one.
                let x_bar = symbolic::vjp(Function::stage(|p| place(most, p), &p).program());
                let y_bar = Array::from([0.3, -2.0]);
                let back = interpret(&x_bar, vec![p.raw().clone(), y_bar.clone()]).pop().expect("a cotangent");
                let mut primal = interpret(&split.primal, vec![p.raw().clone()]);
                primal[0] = y_bar;
                let transposed = symbolic::transpose(&split.linear, 1);
                let by_parts = interpret(&transposed, primal).remove(0);
                let floats = |a: &Array| a.to_vec::<f64>().expect("floats");
                all_near(&floats(&by_parts), &floats(&back), 1e-12);
            }
        }
    }
}

#[test]
fn without_a_bound_both_modes_are_those_of_the_trips() {
    let p = parameters(9);
    let expected: Tensor<Concrete, 1> = grad(|p| place(Some(60), p).sum(), &p);
    for mode in [Mode::Forward, Mode::Reverse] {
        let slopes: Tensor<Concrete, 1> = jacobian_by(mode, |p| place(None, p).sum(), &p);
        all_near(&slopes.to_vec(), &expected.to_vec(), 1e-12);
    }
    all_near(&grad(|p| place(None, p).sum(), &p).to_vec(), &expected.to_vec(), 1e-12);
    let told = Function::<_, _, Tensor<_, 1>>::jacobian(|p| place(None, p).sum(), &p).explain();
    assert!(told.starts_with("jacobian, 1 result in 9 inputs: reverse"), "{told}");
}

fn energy<T: BaseTensor>(p: &Tensor<T, 1>) -> Number<T> {
    place(Some(80), p).square().sum()
}

/// Derivatives of derivatives, in each pair of modes, and in a batch.
#[test]
fn forward_mode_nests() {
    for n in [3, 6] {
        let p = parameters(n);
        let expected: Tensor<Concrete, 2> = hessian(energy, &p);
        let expected = expected.to_vec();
        let h = 1e-5;
        for k in 0..n {
            let moved = |by: f64| {
                let e: Vec<f64> =
                    p.to_vec().into_iter().enumerate().map(|(j, x)| if j == k { x + by } else { x }).collect();
                grad(energy, &Tensor::<Concrete, 1>::from_raw(Array::from(e))).to_vec()
            };
            let row: Vec<f64> = moved(h).into_iter().zip(moved(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect();
            all_near(&row, &expected[k * n..(k + 1) * n], 1e-6);
        }
        for (outer, inner) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mode = |k: usize| [Mode::Forward, Mode::Reverse][k];
            let second = |p: &Tensor<_, 1>| -> Tensor<Concrete, 2> {
                jacobian_by(mode(outer), |p| jacobian_by(mode(inner), energy, p), p)
            };
            all_near(&second(&p).to_vec(), &expected, 1e-10);
            let staged = Function::stage(
                move |p| -> Tensor<_, 2> {
                    let inner = move |p: &Tensor<_, 1>| -> Tensor<_, 1> { jacobian_by(mode(inner), energy, p) };
                    jacobian_by(mode(outer), inner, p)
                },
                &p,
            );
            all_near(&staged.run(&p).expect("the same shape").to_vec(), &expected, 1e-10);
            if (outer, inner) == (0, 0) {
                assert_eq!(loops(staged.optimized()), [1, 0], "{}", staged.optimized());
            }
        }
        // Rows end one after the other.
        let rows = Tensor::<Concrete, 2>::from_raw(Array::uniform(&[4, n], 0.1, 0.9, 5));
        let each: Tensor<Concrete, 2> =
            vmap(|p: &Tensor<Concrete, 1>| -> Tensor<_, 1> { jacobian_by(Mode::Forward, energy, p) })(&rows);
        for k in 0..4 {
            let row: Tensor<Concrete, 1> = rows.row(k);
            all_near(&each.row::<1>(k).to_vec(), &grad(energy, &row).to_vec(), 1e-12);
        }
    }
}

/// A value that does not move has no tangent: the counter, and the point that is captured.
#[test]
fn the_loop_carries_values_and_tangents_that_move() {
    fn f<T: BaseTensor>(x: &Number<T>, y: &Number<T>) -> Number<T> {
        let go = |c: &(Number<T>, Number<T>)| c.1.lt(y);
        while_loop_within(50, (x.clone(), Tensor::scalar(0.0)), go, |(x, k)| (x.sin() * y, k + 1.0)).0
    }
    let (x, y) = (tensor(0.5), tensor(3.0));
    let g = Function::jvp_with(f, &x, &y);
    let text = "\
program(x: f64, x_dot: f64, data: f64) {
  t0 = 0.0 < data
  (_, t1, _, t2) = while, 50 times at most (e0 = t0, e1 = x, e2 = 0.0, e3 = x_dot, e4 = data) {
    t3 = e2 + 1.0
    next (t3 < e4, e4 * sin e1, t3, e4 * (e3 * cos e1))
  }
  return (t1, t2)
}";
    assert_eq!(g.optimized().to_string(), text);
    let value = value_and_grad(|x| f(x, &Tensor::scalar(3.0)), &x);
    let (v, dot) = g.run_with(&x, &(tensor(1.0), y)).expect("numbers");
    all_near(&[v.item(), dot.item()], &[value.0.item(), value.1.item()], 1e-14);
}

/// The value of a function and its derivative, taken apart, run one loop.
#[test]
fn values_and_derivatives_share_a_loop() {
    for (n, most) in [(3, None), (3, Some(80)), (6, Some(80))] {
        let p = parameters(n);
        let f = Function::stage(
            move |p: &Tensor<_, 1>| -> (Tensor<_, 1>, Tensor<_, 2>, Tensor<_, 1>) {
                let slopes = jacobian_by(Mode::Forward, |p| place(most, p), p);
                (place(most, p), slopes, jvp(|p| place(most, p), p, &p.sin()).1)
            },
            &p,
        );
        assert!(loops(f.program())[0] >= 3);
        assert_eq!(loops(f.optimized()), [1, 0], "{}", f.optimized());
        let (y, slopes, dot) = f.run(&p).expect("the same shape");
        all_near(&y.to_vec(), &place(None, &p).to_vec(), 1e-14);
        all_near(&slopes.to_vec(), &differences(&p), 1e-7);
        all_near(&dot.to_vec(), &slopes.matvec(&p.sin()).to_vec(), 1e-12);
    }
}

/// The same of a loop whose trips take derivatives themselves.
#[test]
fn values_and_derivatives_of_a_simulation_share_a_loop() {
    let w = tensor(0.3);
    for inner in [Mode::Forward, Mode::Reverse] {
        let f = Function::stage(
            move |w: &Number<_>| -> (Number<_>, Number<_>) {
                let slope = jacobian_by(Mode::Forward, |w| particle::miss(inner, (40, 8e-3), w), w);
                (particle::miss(inner, (40, 8e-3), w), slope)
            },
            &w,
        );
        assert_eq!(loops(f.optimized()), [1, 0], "{}", f.optimized());
        let (_, slope) = f.run(&w).expect("a number");
        let at = |w: f64| particle::miss(inner, (40, 8e-3), &tensor(w)).item();
        let expected = (at(0.3 + 1e-5) - at(0.3 - 1e-5)) / 2e-5;
        all_near(&[slope.item()], &[expected], 1e-6);
    }
}

/// Loops that start alike, and end apart or one after the other.
#[test]
fn other_loops_are_not_joined() {
    fn last<T: BaseTensor>(limit: f64, a: &Number<T>, y: &Number<T>) -> (Number<T>, Number<T>) {
        let go = |c: &(Number<T>, Number<T>)| c.0.lt(limit);
        while_loop((Tensor::scalar(1.0), y.clone()), go, |(x, y)| (x + a, y * 2.0))
    }
    let apart = Function::stage(|a| (last(5.0, a, a), last(9.0, a, a)), &tensor(1.0));
    assert_eq!(loops(apart.optimized()), [2, 0], "{}", apart.optimized());
    let ((x, y), (z, w)) = apart.run(&tensor(1.0)).expect("a number");
    all_near(&[x.item(), y.item(), z.item(), w.item()], &[5.0, 16.0, 9.0, 256.0], 0.0);
    let in_turn = Function::stage(|a| last(5.0, a, &last(5.0, a, a).1), &tensor(1.0));
    assert_eq!(loops(in_turn.optimized()), [2, 0], "{}", in_turn.optimized());
    assert_eq!(in_turn.run(&tensor(1.0)).expect("a number").1.item(), 256.0);
    let alike = Function::stage(|a| (last(5.0, a, a), last(5.0, a, &a.sin())), &tensor(1.0));
    assert_eq!(loops(alike.optimized()), [1, 0], "{}", alike.optimized());
}
