//! Loops cut in segments.
//!
//! Law: results and derivatives of every order, in every interpreter, are those of the loop that is not cut; what is
//! not added up over trips has the same bits. What a derivative in reverse mode keeps is what the segments ask for.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polygrad::backend::compile;
use polygrad::base::Again;
use polygrad::inspect::{Family, count};
use polygrad::program::{Program, interpret};
use polygrad::tensor::{map_accum, map_accum_reverse};
use polygrad::{
    BaseTensor, Checkpoint, Concrete, Function, FunctionOptions, Mode, Tensor, checkpoint, custom_vjp, direct,
    external, fold, grad, hvp, iterate, jvp, tensor, vjp, vmap,
};

type Params<T> = (Tensor<T, 1>, Tensor<T, 2>, Tensor<T, 2>);

/// The trips of a recurrence that captures a matrix, and whose carry is a tree.
fn step<T: BaseTensor>(
    w: &Tensor<T, 2>,
    (h, age): (Tensor<T, 1>, Tensor<T, 0>),
    x: &Tensor<T, 1>,
) -> ((Tensor<T, 1>, Tensor<T, 0>), Tensor<T, 1>) {
    let next = (w.matvec(&h) + x * &age).tanh();
    let y = &next * x;
    ((next, age * 0.9 + 0.2), y)
}

#[derive(Clone, Copy, Debug)]
struct Way {
    cut: Option<Checkpoint>,
    reverse: bool,
}

/// A scalar of the last carry and of all outputs.
fn model<T: BaseTensor>(way: Way, (h0, w, xs): &Params<T>) -> Tensor<T, 0> {
    let (start, w) = ((h0.clone(), Tensor::scalar(0.5)), w.clone());
    let f = move |c: (Tensor<T, 1>, Tensor<T, 0>), x: &Tensor<T, 1>| step(&w, c, x);
    let ((h, age), ys): (_, Tensor<T, 2>) = match (way.cut, way.reverse) {
        (None, false) => map_accum(start, xs, f),
        (None, true) => map_accum_reverse(start, xs, f),
        (Some(cut), false) => cut.map_accum(start, xs, f),
        (Some(cut), true) => cut.map_accum_reverse(start, xs, f),
    };
    h.square().sum() * age + (ys.square() * 0.3).sum()
}

const N: usize = 11;

fn params() -> Params<Concrete> {
    let waves = |n: usize, s: f64| (Tensor::<Concrete, 1>::linspace(0.0, (n - 1) as f64, n) * s + 0.3).sin();
    (waves(3, 0.9), waves(9, 1.7).reshape([3, 3]), waves(3 * N, 0.6).reshape([N, 3]))
}

fn numbers(p: &Params<Concrete>) -> Vec<f64> {
    [p.0.to_vec(), p.1.to_vec(), p.2.to_vec()].concat()
}

#[track_caller]
fn near(a: &Params<Concrete>, b: &Params<Concrete>) {
    for (x, y) in numbers(a).into_iter().zip(numbers(b)) {
        assert!((x - y).abs() <= 1e-12 * x.abs().max(1.0), "{x} and {y}: {a:?} and {b:?}");
    }
}

fn ways() -> Vec<Checkpoint> {
    [1, 3, 4, 11].map(checkpoint).into_iter().chain([1, 5, 8].map(Checkpoint::states)).collect()
}

#[test]
fn values_and_gradients_are_those_of_the_loop() {
    let p = params();
    for reverse in [false, true] {
        let whole = Way { cut: None, reverse };
        let (value, gradient) = (model(whole, &p), direct::grad(|p| model(whole, p), &p));
        for cut in ways() {
            let way = Way { cut: Some(cut), reverse };
            assert_eq!(model(way, &p), value, "{way:?}");
            let one = direct::grad(|p| model(way, p), &p);
            // Only the matrix is captured; nothing else is added up over trips.
            assert_eq!((&one.0, &one.2), (&gradient.0, &gradient.2), "{way:?}");
            near(&one, &gradient);
            near(&grad(|p| model(way, p), &p), &gradient);
            let f = Function::grad(|p| model(way, p), &p);
            near(&f.run(&p).expect("the same shapes"), &gradient);
            let f = f.with_options(FunctionOptions::new().interpreted(true));
            near(&f.run(&p).expect("the same shapes"), &gradient);
            let f = Function::grad(|p| model(whole, p), &p).with_options(FunctionOptions::new().checkpoint(cut));
            near(&f.run(&p).expect("the same shapes"), &gradient);
        }
    }
}

/// The product with the parameters as numbers.
fn along<T: BaseTensor>(g: &Params<T>) -> Tensor<T, 0> {
    let v = params();
    let (a, b, c) = (Tensor::constant(&v.0), Tensor::constant(&v.1), Tensor::constant(&v.2));
    (&g.0 * a).sum() + (&g.1 * b).sum() + (&g.2 * c).sum()
}

#[test]
fn higher_derivatives_are_those_of_the_loop() {
    let (p, v) = (params(), params());
    let whole = Way { cut: None, reverse: false };
    let second = hvp(|p| model(whole, p), &p, &v);
    let ((y, y_dot), slope) = (jvp(|p| model(whole, p), &p, &v), direct::grad(|p| model(whole, p), &p));
    for cut in [checkpoint(3), checkpoint(4), Checkpoint::states(6)] {
        let way = Way { cut: Some(cut), reverse: false };
        near(&hvp(|p| model(way, p), &p, &v), &second);
        // Reverse over reverse, and forward over reverse, by running.
        near(&direct::grad(|p| along(&direct::grad(|p| model(way, p), p)), &p), &second);
        near(&grad(|p| along(&grad(|p| model(way, p), p)), &p), &second);
        near(&direct::jvp(|p| direct::grad(|p| model(way, p), p), &p, &v).1, &second);
        let (z, z_dot) = direct::jvp(|p| model(way, p), &p, &v);
        assert!((&z - &y).abs().item() + (&z_dot - &y_dot).abs().item() < 1e-12);
        let (_, pushforward) = direct::linearize(|p| model(way, p), &p);
        assert!((pushforward(&v) - &y_dot).abs().item() < 1e-12);
        let (_, pullback) = vjp(|p| model(way, p), &p);
        near(&pullback(&tensor(1.0)), &slope);
    }
}

#[test]
fn segments_nest_in_loops_and_batches() {
    // A loop over rows, in each of which a loop is cut that captures the carry of the outer one.
    fn nested<T: BaseTensor>(cut: bool, w: &Tensor<T, 1>) -> Tensor<T, 0> {
        let outer = w.clone();
        fold(Tensor::scalar(0.2), w, move |c: Tensor<T, 0>, x: &Tensor<T, 0>| {
            let (c, x) = (c, x.clone());
            let (of, rows) = (c.clone(), outer.clone());
            let f = move |h: Tensor<T, 0>, y: &Tensor<T, 0>| (h * &of + y * &x).sin();
            if cut { checkpoint(2).fold(c, rows, f) } else { fold(c, rows, f) }
        })
    }
    let w = tensor([0.3, -0.8, 1.1, 0.4, 0.9]);
    let close = |a: &Tensor<Concrete, 1>, b: &Tensor<Concrete, 1>| assert!((a - b).abs().sum().item() < 1e-12);
    let expected = direct::grad(|w| nested(false, w), &w);
    close(&direct::grad(|w| nested(true, w), &w), &expected);
    close(&grad(|w| nested(true, w), &w), &expected);
    let v = tensor([1.0, -0.5, 0.2, 0.7, 0.1]);
    close(&hvp(|w| nested(true, w), &w, &v), &hvp(|w| nested(false, w), &w, &v));
    let rows = tensor([[0.3, -0.8, 1.1, 0.4, 0.9], [0.1, 0.2, 0.3, 0.4, 0.5]]);
    let all = |cut: bool| -> Tensor<Concrete, 2> {
        let each = move |rows: &Tensor<_, 2>| vmap(move |w: &Tensor<_, 1>| grad(|w| nested(cut, w), w))(rows);
        Function::stage(each, &rows).run(&rows).expect("the same shapes")
    };
    assert!((all(true) - all(false)).abs().sum().item() < 1e-12);
}

#[test]
fn programs_with_segments_are_printed_and_saved() {
    let p = params();
    let way = Way { cut: Some(checkpoint(4)), reverse: false };
    let f = Function::grad(|p| model(way, p), &p);
    let text = f.optimized().to_string();
    assert!(text.contains("again segment("), "{text}");
    // A plain verb records the same.
    let plain = Function::stage(|p| grad(|p| model(way, p), p), &p).optimized().to_string();
    assert_eq!(plain.matches("again segment(").count(), text.matches("again segment(").count(), "{plain}");
    let saved = serde_json::to_string(f.program()).expect("a program can be saved");
    let loaded: Program = serde_json::from_str(&saved).expect("what was saved");
    assert_eq!(&loaded, f.program());
    let inputs: Vec<_> = [p.0.raw().clone(), p.1.raw().clone(), p.2.raw().clone()].into();
    assert_eq!(interpret(&loaded, inputs.clone()), interpret(f.program(), inputs));
}

/// The logistic map, `n` times, where it is about to become chaotic: its derivatives are neither large nor small.
fn logistic<T: BaseTensor>(cut: Option<Checkpoint>, n: usize, x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let f = |_: &Tensor<T, 0, i64>, x: Tensor<T, 1>| 1.0 - &x * &x * 1.401155;
    match cut {
        Some(cut) => cut.iterate(n, x, f).sum(),
        None => iterate(n, x, f).sum(),
    }
}

#[test]
fn memory_is_that_of_the_states_that_are_kept() {
    let (n, size) = (2500, 128);
    let x = Tensor::<Concrete, 1>::linspace(0.1, 0.9, size);
    let gradient = |cut: Option<Checkpoint>| Function::grad(|x| logistic(cut, n, x), &x);
    let whole = gradient(None).run(&x).expect("the same shape");
    let states = |cut: Option<Checkpoint>| {
        let f = gradient(cut);
        assert_eq!(f.run(&x).expect("the same shape"), whole);
        compile(f.optimized()).peak_bytes() / (8 * size)
    };
    assert!((n..n + 10).contains(&states(None)));
    // Two square roots, and what a trip needs.
    let cut = states(Some(checkpoint(50)));
    assert!(cut <= 105, "{cut} states");
    let nested = states(Some(Checkpoint::states(45)));
    assert!(nested <= 60, "{nested} states");
}

#[test]
fn segments_cost_a_second_run_of_the_loop() {
    let x = Tensor::<Concrete, 1>::linspace(0.1, 0.9, 16);
    let tally = |cut: Option<Checkpoint>| count(|x| direct::grad(|x| logistic(cut, 400, x), x), &x).1;
    let (whole, cut) = (tally(None), tally(Some(checkpoint(20))));
    let work = |tally: &polygrad::inspect::Tally| tally.of(Family::Binary).work;
    assert!(10 * work(&cut) <= 16 * work(&whole), "{whole:?} {cut:?}");
}

/// How often the trips of a gradient run, counted by code of the host in each.
fn runs(cut: Checkpoint, n: usize, recorded: bool) -> usize {
    fn counted<T: BaseTensor>(count: &Arc<AtomicUsize>, x: &Tensor<T, 0>) -> Tensor<T, 0> {
        let count = count.clone();
        custom_vjp(
            "step",
            move |x| {
                let count = count.clone();
                let run = move |x: &Tensor<Concrete, 0>| {
                    count.fetch_add(1, Ordering::Relaxed);
                    1.0 - x * x * 1.401155
                };
                external("step", run, &tensor(0.0), x)
            },
            |x, _, y_bar| -(x * y_bar) * 2.80231,
            x,
        )
    }
    let count = Arc::new(AtomicUsize::new(0));
    let here = count.clone();
    let slope = if recorded {
        let f = move |x: &Tensor<_, 0>| {
            let here = here.clone();
            cut.iterate(n, x, move |_, x: Tensor<_, 0>| counted(&here, &x))
        };
        let reverse = FunctionOptions::new().mode(Mode::Reverse);
        Function::value_and_grad(f, &tensor(0.3)).with_options(reverse).run(&tensor(0.3)).expect("a number").1
    } else {
        let f = |x: &Tensor<_, 0>| {
            let here = here.clone();
            cut.iterate(n, x, move |_, x: Tensor<_, 0>| counted(&here, &x))
        };
        direct::grad(f, &tensor(0.3))
    };
    let known = direct::grad(|x| iterate(n, x, |_, x: Tensor<_, 0>| 1.0 - &x * &x * 1.401155), &tensor(0.3));
    assert!((&slope - &known).abs().item() <= 1e-9 * known.abs().item(), "{slope} and {known}");
    count.load(Ordering::Relaxed)
}

/// With segments of several lengths fewer states are enough for two runs of the loop, and for three.
#[test]
fn trips_run_as_often_as_the_number_of_states_asks_for() {
    let n = 400;
    // 400 = 20 * 20 in segments of equal length, which keep 40 states; 0.375 s^2 and 0.5 s^2 of several lengths.
    for (states, recorded, directly) in [(400, 1, 1), (40, 2, 2), (35, 2, 3), (33, 2, 3), (19, 3, 4)] {
        let cut = Checkpoint::states(states);
        for (runs, times) in [(runs(cut, n, true), recorded), (runs(cut, n, false), directly)] {
            // A segment that is shorter than others may need one run less.
            assert!((times * n - n / 50..=times * n).contains(&runs), "{states} states: {runs}");
            assert!(times > 2 || runs == times * n, "{states} states: {runs}");
        }
    }
}

#[test]
fn states_of_later_segments_are_let_go() {
    let (n, size) = (2500, 128);
    let x = Tensor::<Concrete, 1>::linspace(0.1, 0.9, size);
    for (states, most) in [(100, 106), (87, 93), (82, 88)] {
        let f = Function::grad(|x| logistic(Some(Checkpoint::states(states)), n, x), &x);
        let kept = compile(f.optimized()).peak_bytes() / (8 * size);
        assert!(kept <= most, "{states} states asked for, {kept} kept");
    }
}

/// A function that runs again captures values in any order, one of which was made just before.
#[test]
fn what_is_captured_in_any_order_has_derivatives() {
    fn product<T: BaseTensor>(again: bool, x: &Tensor<T, 0>) -> Tensor<T, 0> {
        let (y, first, last) = (x.sin(), x.exp(), x.cos());
        let f = move |y: &[T]| {
            let y = Tensor::<T, 0>::from_raw(y[0].clone());
            vec![((y * &last).tanh() * &first * &last).into_raw()]
        };
        if again {
            let f: Again<T> = Rc::new(f);
            return Tensor::from_raw(T::again(&f, &[y.into_raw()]).swap_remove(0));
        }
        Tensor::from_raw(f(&[y.into_raw()]).swap_remove(0))
    }
    let x = tensor(0.7);
    let expected = direct::grad(|x| product(false, x), &x).item();
    assert!((direct::grad(|x| product(true, x), &x).item() - expected).abs() < 1e-14);
    assert!((grad(|x| product(true, x), &x).item() - expected).abs() < 1e-14);
}
