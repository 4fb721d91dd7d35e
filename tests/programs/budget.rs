//! Bounds of memory: a run that keeps one, and what it costs.
//!
//! Laws: the memory of the compiled program is at most the bound, or an error says the least; results have the same bits,
//! unless loops are cut.

use approx::assert_relative_eq;
use polygrad::{Array, BaseTensor, Checkpoint, Concrete, Function, FunctionOptions, Tensor, iterate};

use crate::gallery::{self, Leaves, Objective, Recorded, Visitor};

fn memory(bytes: usize) -> FunctionOptions {
    FunctionOptions::new().memory(bytes)
}

/// The estimated microseconds of copies and of a run, as `explain` says.
fn times<P, Q, Y>(f: &Function<P, Q, Y>) -> (f64, f64) {
    let text = f.explain();
    let Some(line) = text.lines().find(|line| line.starts_with("computed again to save memory")) else {
        return (0.0, 1.0);
    };
    let numbers: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    (numbers[numbers.len() - 2], numbers[numbers.len() - 1])
}

/// A network of layers written one after the other.
fn network<T: BaseTensor>(layers: usize, w: &Tensor<T, 2>, x: &Tensor<T, 2>) -> Tensor<T, 0> {
    (0..layers).fold(x.clone(), |x, _| x.matmul(w).tanh()).square().sum()
}

type Matrices = (Tensor<Concrete, 2>, Tensor<Concrete, 2>);

fn matrices() -> Matrices {
    let numbers = |from: f64, to: f64, n: usize| Tensor::<Concrete, 1>::linspace(from, to, n);
    (numbers(-0.2, 0.2, 64 * 64).reshape([64, 64]), numbers(0.0, 1.0, 256 * 64).reshape([256, 64]))
}

fn unrolled(layers: usize) -> Function<Matrices, (), (Tensor<Concrete, 0>, Matrices)> {
    Function::value_and_grad(move |(w, x): &(Tensor<_, 2>, Tensor<_, 2>)| network(layers, w, x), &matrices())
}

#[test]
fn an_unrolled_network_takes_the_root_of_its_memory() {
    let whole = unrolled(32);
    let inputs = matrices();
    let (peak, expected) = (whole.executable().peak_bytes(), whole.run(&inputs).expect("it runs"));
    for (share, most) in [(0.9, 0.08), (0.7, 0.2), (0.5, 0.3), (0.35, 0.4)] {
        let bytes = (peak as f64 * share) as usize;
        let small = unrolled(32).with_options(memory(bytes));
        assert!(small.executable().peak_bytes() <= bytes);
        assert_eq!(small.run(&inputs).expect("it runs"), expected);
        let (added, time) = times(&small);
        assert!(added <= most * time, "{share}: {added} of {time}\n{}", small.explain());
    }
}

#[test]
fn a_bound_below_the_least_is_an_error_that_names_it() {
    let f = || unrolled(12);
    let error = f().try_with_options(memory(1000)).expect_err("too little");
    assert!(error.least > 1000 && error.asked == 1000, "{error}");
    let text = error.to_string();
    assert!(text.contains("budget.rs:"), "{text}");
    // What the error names is possible.
    let small = f().with_options(memory(error.least));
    assert!(small.executable().peak_bytes() <= error.least);
}

#[test]
fn a_long_loop_keeps_a_part_of_its_states() {
    let x = Tensor::<Concrete, 1>::linspace(0.0, 1.0, 200);
    let f =
        || Function::grad(|x: &Tensor<_, 1>| iterate(1000, x.clone(), |_, x: Tensor<_, 1>| x.sin() * 1.01).sum(), &x);
    let whole = f();
    let (peak, expected) = (whole.executable().peak_bytes(), whole.run(&x).expect("it runs"));
    for share in [0.9, 0.5, 0.2, 0.1, 0.05] {
        let bytes = (peak as f64 * share) as usize;
        let small = f().with_options(memory(bytes));
        assert!(small.executable().peak_bytes() <= bytes, "{share}");
        assert_eq!(small.run(&x).expect("it runs"), expected, "{share}");
    }
}

/// Here half of the memory is kept by steps that run again, and sooner by a loop that is cut.
#[test]
fn of_all_that_fits_the_fastest_is_taken() {
    let x = Tensor::<Concrete, 1>::linspace(0.0, 1.0, 400);
    for (trips, layers) in [(30, 6), (100, 3)] {
        let f = || {
            let loss = move |x: &Tensor<_, 1>| {
                let y = (0..layers).fold(x.clone(), |y, _| y.sin().cumsum(0) * 0.01);
                iterate(trips, y, |_, y: Tensor<_, 1>| y.sin() * 1.01).sum()
            };
            Function::grad(loss, &x)
        };
        let half = memory(f().executable().peak_bytes() / 2);
        let (best, whole) = (f().with_options(half), f().with_options(half.checkpoint(Checkpoint::states(trips))));
        let [(_, time), (_, longer)] = [times(&best), times(&whole)];
        assert!(time < longer && best.explain().contains("; loops run "), "{time} and {longer}\n{}", best.explain());
    }
}

/// Known data do not change what may be cut: a loop whose gradient needs its states keeps a bound of a tenth.
#[test]
fn a_function_for_known_data_keeps_its_bound() {
    let x = Tensor::<Concrete, 1>::linspace(0.0, 1.0, 200);
    let step = |x: Tensor<_, 1>, a: &Tensor<_, 0>| x.sin() * a;
    let loss = |x: &Tensor<_, 1>, a: &Tensor<_, 0>| iterate(300, x.clone(), |_, x: Tensor<_, 1>| step(x, a)).sum();
    let a = Tensor::scalar(1.01);
    let whole = || Function::grad_with(loss, &x, &a);
    let (peak, expected) = (whole().executable().peak_bytes(), whole().run_with(&x, &a).expect("it runs"));
    let bytes = peak / 10;
    // The data become known before the bound is set, or after.
    let known = |f: Function<_, _, _>| f.with_data(&a).expect("they fit");
    for f in [known(whole()).with_options(memory(bytes)), known(whole().with_options(memory(bytes)))] {
        assert!(f.executable().peak_bytes() <= bytes);
        // Loops that are cut add up in another order.
        let found = f.run(&x).expect("it runs");
        assert_relative_eq!(found, expected, max_relative = 1e-12);
        assert!(f.explain().contains("; loops run "), "{}", f.explain());
    }
    let direction = Tensor::ones([200]);
    let product = || Function::hvp(|x: &Tensor<_, 1>| (x.sin() * x).cumsum(0).square().sum(), &x);
    let most = product().executable().peak_bytes();
    let along = product().with_options(memory(most)).with_data(&direction).expect("they fit");
    assert!(along.executable().peak_bytes() <= most);
    assert_eq!(along.run(&x).expect("it runs"), product().run_with(&x, &direction).expect("it runs"));
}

/// A block of a transformer: attention and two layers, with what each adds.
fn block<T: BaseTensor>(x: &Tensor<T, 2>, w: &[Tensor<T, 2>; 6]) -> Tensor<T, 2> {
    let scale = 1.0 / (x.shape()[1] as f64).sqrt();
    let [q, k, v] = [0, 1, 2].map(|i| x.matmul(&w[i]));
    let seen = (q.matmul(&k.t()) * scale).softmax(1);
    let x = x + seen.matmul(&v).matmul(&w[3]);
    &x + x.matmul(&w[4]).tanh().matmul(&w[5])
}

#[test]
fn a_transformer_keeps_its_bound() {
    let n = 32;
    let weight =
        |k: usize| (Tensor::<Concrete, 1>::linspace(k as f64, k as f64 + 9.0, n * n).sin() * 0.2).reshape([n, n]);
    let w: [Tensor<Concrete, 2>; 6] = std::array::from_fn(weight);
    let x = Tensor::<Concrete, 1>::linspace(0.0, 7.0, 64 * n).cos().reshape([64, n]);
    let f = || {
        let loss =
            |w: &[Tensor<_, 2>; 6], x: &Tensor<_, 2>| (0..6).fold(x.clone(), |x, _| block(&x, w)).square().mean();
        Function::value_and_grad_with(loss, &w, &x)
    };
    let whole = f();
    let (peak, expected) = (whole.executable().peak_bytes(), whole.run_with(&w, &x).expect("it runs"));
    for share in [0.8, 0.35] {
        let bytes = (peak as f64 * share) as usize;
        let small = f().with_options(memory(bytes));
        assert!(small.executable().peak_bytes() <= bytes);
        assert_eq!(small.run_with(&w, &x).expect("it runs"), expected);
        let (added, time) = times(&small);
        assert!(added <= 0.35 * time, "{share}: {added} of {time}");
    }
}

/// How many gradients of the gallery keep a bound, and for how many there is an error.
#[derive(Default)]
struct Bounded {
    kept: usize,
    refused: usize,
}

impl Bounded {
    fn look(&mut self, case: &Recorded) {
        let (x, data) = (&case.x, &case.data);
        let f = || Function::grad_with(case.eval, x, data);
        let whole = f();
        let (peak, expected) = (whole.executable().peak_bytes(), whole.run_with(x, data).expect("it runs"));
        for share in [0.9, 0.5] {
            let bytes = (peak as f64 * share) as usize;
            let mut asked = bytes;
            let small = match f().try_with_options(memory(bytes)) {
                Ok(small) => {
                    self.kept += 1;
                    small
                }
                Err(error) => {
                    assert!(error.least > bytes, "{}: {error}", case.name);
                    self.refused += 1;
                    asked = error.least;
                    let least = f().try_with_options(memory(asked));
                    least.unwrap_or_else(|error| panic!("{}: {error}", case.name))
                }
            };
            assert!(small.executable().peak_bytes() <= asked, "{}", case.name);
            let found = small.run_with(x, data).expect("it runs");
            if small.explain().contains("; loops run ") {
                assert_close(&expected, &found, case.name);
            } else {
                assert_eq!(expected, found, "{}\n{}", case.name, small.explain());
            }
        }
    }
}

impl Visitor for Bounded {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

fn assert_close(expected: &Leaves<Array>, found: &Leaves<Array>, name: &str) {
    for (a, b) in expected.0.iter().zip(&found.0) {
        for (x, y) in a.to_vec::<f64>().into_iter().flatten().zip(b.to_vec::<f64>().into_iter().flatten()) {
            assert!((x - y).abs() <= 1e-9 * x.abs().max(1.0), "{name}: {x} and {y}");
        }
    }
}

#[test]
fn gradients_of_the_gallery_keep_their_bounds_or_say_the_least() {
    let mut bounded = Bounded::default();
    gallery::networks::each(&mut bounded);
    gallery::layers::each(&mut bounded);
    assert!(bounded.kept > 0 && bounded.refused > 0);
}
