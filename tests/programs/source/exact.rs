//! Elementwise functions in source code have the bits of a run; and optimized code has no panic.

use polygrad::backend::compile;
use polygrad::ops::{Binary, Unary};
use polygrad::program::{Program, Term};
use polygrad::{Array, BaseTensor, Concrete, DType, Function, Tensor, iterate, tensor};

use crate::emitted::{Emitted, assembly, has_fma, in_c, in_rust_with_fma};

/// Numbers around which functions change, and some others.
fn numbers(dtype: DType) -> Array {
    let mut all = vec![
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        3.7,
        -2.6,
        1e-9,
        -1e-7,
        12.5,
        -30.0,
        100.0,
        0.999,
        -0.999,
        1.0001,
        7.0,
        1e3,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let mut rng = polygrad::array::Rng::new(3);
    all.extend((0..200).map(|_| 20.0 * rng.uniform(&[], -0.5, 0.5).to_vec::<f64>().expect("a float")[0]));
    let n = all.len();
    let wide = Array::new(&[n], all);
    if dtype == DType::F32 { wide.cast::<f32>() } else { wide }
}

/// Every elementwise row at these numbers, a result for each.
fn rows(dtype: DType) -> (Program, Vec<Array>) {
    let x = numbers(dtype);
    let y =
        Array::new(x.shape(), x.cast::<f64>().to_vec::<f64>().expect("floats").iter().rev().map(|v| v * 0.7).collect());
    let y = if dtype == DType::F32 { y.cast::<f32>() } else { y };
    let (a, b) = (Term::variable(x.shape(), dtype), Term::variable(x.shape(), dtype));
    let mut results: Vec<Term> = Unary::ALL.iter().map(|op| a.unary(*op)).collect();
    results.extend(Binary::ALL.iter().map(|op| a.binary(*op, &b)));
    (Term::program(&[a, b], &results, &[]).expect("a closed program"), vec![x, y])
}

/// The platform of C computes these at large arguments, where the last digit may differ.
fn is_of_the_platform(name: &str) -> bool {
    ["sinh", "cosh", "pow", "pow_less_one", "polygamma", "recip_real", "hypot", "atan2"].contains(&name)
}

#[test]
fn elementwise_functions_have_the_bits_of_a_run() {
    let mut cases = Vec::new();
    for (name, dtype) in [("rows_double", DType::F64), ("rows_single", DType::F32)] {
        let (program, inputs) = rows(dtype);
        cases.push(Emitted::new(name, &program, inputs).expect("elementwise functions are written"));
    }
    let names: Vec<&str> =
        Unary::ALL.iter().map(|op| op.name()).chain(Binary::ALL.iter().map(|op| op.name())).collect();
    let fma = has_fma();
    let in_c = in_c("rows", &cases, if fma { &["-O1", "-mfma"] } else { &["-O1"] });
    let in_rust = in_rust_with_fma("rows", &cases, fma);
    for (language, results) in [("C", in_c), ("Rust", in_rust)] {
        for (case, found) in cases.iter().zip(results.unwrap_or_default()) {
            let expected = compile(&case.program).run(&case.inputs);
            for ((name, found), expected) in names.iter().zip(&found).zip(&expected) {
                let values = |a: &Array| a.cast::<f64>().to_vec::<f64>().expect("floats");
                for (k, (x, y)) in values(found).into_iter().zip(values(expected)).enumerate() {
                    let near =
                        language == "C" && is_of_the_platform(name) && (x - y).abs() <= 8.0 * f64::EPSILON * y.abs();
                    let same = x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
                    let at = values(&case.inputs[0])[k];
                    assert!(same || near, "{name} in {language}, {}, at {at:e}: {x:e} and {y:e}", case.name);
                }
            }
        }
    }
}

#[test]
fn optimized_code_has_no_panic() {
    let f = Function::value_and_grad(
        |p: &Tensor<_, 1>| {
            let y = iterate(50, &(p * 2.0), |_, y: Tensor<_, 1>| &y + 0.01 * (p * y.sin() + y.roll(0, 1)));
            y.square().sum()
        },
        &tensor([1.0, 2.0, 3.0]),
    );
    let image: Tensor<Array, 2> = Tensor::full([20, 30], 0.5);
    let blur = Function::grad(
        |u: &Tensor<_, 2>| {
            let p = u.pad([(1, 1), (1, 1)]);
            let at = |i: usize, j: usize| p.slice(0, i..i + 20).slice(1, j..j + 30);
            (at(0, 1) + at(2, 1) + at(1, 0) + at(1, 2) - 4.0 * u).square().sum()
        },
        &image,
    );
    let product = Function::value_and_grad(|u: &Tensor<_, 2>| u.matmul(&u.t()).tanh().sum(), &image);
    let solved = Function::grad_with(
        |b: &Tensor<_, 1>, a: &Tensor<_, 2>| a.solve(b).square().sum(),
        &Tensor::full([6], 0.3),
        &(Tensor::<_, 2>::eye(6) + 0.1),
    );
    let taken = Function::grad_with(
        |x: &Tensor<_, 1>, ix: &Tensor<_, 1, i64>| x.take(ix).square().sum() + x.sort(0).cumsum(0).sum(),
        &Tensor::linspace(0.0, 1.0, 40),
        &tensor([0, 3, 100, -1]),
    );
    let programs = [
        ("loops", f.optimized()),
        ("blurred", blur.optimized()),
        ("products", product.optimized()),
        ("solutions", solved.optimized()),
        ("reads", taken.optimized()),
    ];
    let emitted = |(name, program): (&str, &Program)| Emitted::new(name, program, Vec::new()).expect("it is written");
    let cases: Vec<Emitted> = programs.into_iter().map(emitted).collect();
    let Some(text) = assembly("panics", &cases, "2") else { return };
    let found: Vec<&str> = text.lines().filter(|line| line.contains("panic")).collect();
    assert!(text.contains("products") && found.is_empty(), "{found:?}");
}

/// All arrays on the stack together have a limit, not only each of them; what exceeds it is scratch.
#[test]
fn arrays_on_the_stack_have_a_limit_together() {
    let sorted = |rounds: usize| {
        move |x: &Tensor<Term, 1>| {
            let mut y = x.slice(0, ..30);
            for k in 1..rounds {
                y = y.sort(0) * (k as f64) + x.slice(0, k..k + 30).cumsum(0);
            }
            y.sum()
        }
    };
    let x = Tensor::<Concrete, 1>::linspace(0.0, 1.0, 300);
    let source = |rounds: usize| Function::stage(sorted(rounds), &x).to_c("f").expect("written");
    let (few, many) = (source(3), source(12));
    assert!(few.stack_bytes > 0 && many.stack_bytes > 0);
    assert!(many.stack_bytes <= 2048 && many.scratch_bytes > 1024, "{} {}", many.stack_bytes, many.scratch_bytes);
}
