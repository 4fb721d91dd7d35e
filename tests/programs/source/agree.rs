//! Source code means what the program means, on the gallery: values, gradients and products with second derivatives.

use polygrad::backend::compile;
use polygrad::program::Program;
use polygrad::{Array, DType, Function, Tensor, cond, fold, iterate, tensor};

use crate::emitted::{Emitted, in_c, in_rust};
use crate::gallery::{self, Objective, Recorded, Visitor};
use crate::support::floats;

#[derive(Default)]
struct Emits {
    cases: Vec<(Emitted, f64)>,
    refused: Vec<String>,
}

impl Emits {
    fn add(&mut self, name: &str, program: &Program, inputs: Vec<Array>, tolerance: f64) {
        match Emitted::new(name, program, inputs) {
            Ok(case) => self.cases.push((case, tolerance)),
            Err(why) => self.refused.push(format!("{name}: {why}")),
        }
    }
}

impl Emits {
    fn look(&mut self, case: &Recorded) {
        let (x, data, name) = (&case.x, &case.data, case.name.to_lowercase());
        let gradient = Function::value_and_grad_with(case.eval, x, data);
        self.add(&format!("{name}_gradient"), gradient.optimized(), case.inputs(), case.tolerance);
        // Second derivatives of some of the objectives, since compilers take their time.
        if !name.len().is_multiple_of(8) {
            return;
        }
        let product = Function::hvp_with(case.eval, x, data);
        let inputs = [&x.0[..], &case.inputs()].concat();
        self.add(&format!("{name}_hvp"), product.optimized(), inputs, case.tolerance);
    }
}

impl Visitor for Emits {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

/// The largest finite number in sight, and at least 1.
fn largest(arrays: &[Array]) -> f64 {
    let all = arrays.iter().flat_map(floats).filter(|x| x.is_finite());
    all.fold(1.0, |most: f64, x| most.max(x.abs()))
}

fn compare(language: &str, cases: &[(Emitted, f64)], results: &[Vec<Array>]) {
    for ((case, tolerance), found) in cases.iter().zip(results) {
        let expected = compile(&case.program).run(&case.inputs);
        let single = case.program.inputs().iter().chain(case.program.outputs()).any(|slot| slot.dtype == DType::F32);
        let bound = if single { tolerance.max(1e-5) } else { tolerance.max(1e-11) } * largest(&expected);
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let same = |(x, y): (&f64, &f64)| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= bound;
            let (x, y) = (floats(found), floats(expected));
            let text = if language == "C" { &case.c.code } else { &case.rust.code };
            assert!(
                x.iter().zip(&y).all(same),
                "{} in {language}: output {k} is {x:?}, not {y:?}:\n{}\n{text}",
                case.name,
                case.program
            );
        }
    }
}

#[test]
fn the_gallery() {
    let mut emits = Emits::default();
    for visited in gallery::each_apart::<Emits>() {
        emits.cases.extend(visited.cases);
        emits.refused.extend(visited.refused);
    }
    assert!(emits.cases.len() > 180, "{} programs", emits.cases.len());
    for why in &emits.refused {
        let known = ["fft", "svd", "code of the host"].iter().any(|name| why.contains(name));
        assert!(known, "{why}");
    }
    // Both languages spell the same trees, so each compiles its part of the programs. The time of rustc grows faster than
    // the size of a function, that of a compiler of C without optimization does not: so this one has the long ones.
    let (mut in_both, mut part) = ([Vec::new(), Vec::new()], 0);
    for case in emits.cases {
        let long = case.0.rust.code.len() > 20_000;
        in_both[usize::from(long || part % 3 == 0)].push(case);
        part += usize::from(!long);
    }
    let only = |cases: &[(Emitted, f64)]| cases.iter().map(|(case, _)| case.clone()).collect::<Vec<_>>();
    let [rust, c] = in_both;
    if let Some(results) = in_rust("gallery", &only(&rust), &[]) {
        compare("Rust", &rust, &results);
    }
    if let Some(results) = in_c("gallery", &only(&c), &["-O0"]) {
        compare("C", &c, &results);
    }
}

/// A read of a number at an index, which may be out of bounds.
#[test]
fn a_number_is_a_table_of_one_element() {
    let f = Function::stage_with(
        |x: &Tensor<_, 0>, i: &Tensor<_, 0, i64>| polygrad::stack(std::slice::from_ref(x)).at([i]) + x,
        &tensor(2.5),
        &tensor(0),
    );
    let at = |i: i64| vec![Array::scalar(2.5), Array::scalar(i)];
    let cases = [0, 1].map(|i| Emitted::new(&format!("read_{i}"), f.program(), at(i)).expect("it is written"));
    let expected = [[Array::scalar(5.0)], [Array::scalar(2.5)]];
    for results in [in_rust("number", &cases, &[]), in_c("number", &cases, &["-O0"])].into_iter().flatten() {
        assert_eq!(results, expected);
    }
}

/// A loop in a branch writes its result into a row of the stack of the loop around both: that of its trip.
#[test]
fn a_loop_in_a_branch_in_a_loop_writes_its_row() {
    let chosen = |c: &Tensor<_, 0>, x: &Tensor<_, 1>| {
        let then = iterate(20, &(x * c), |_, y: Tensor<_, 1>| (y.sin() * 1.01 + 0.1).tanh());
        let otherwise = iterate(20, x, |_, y: Tensor<_, 1>| (y - c).cos() * 0.9);
        cond(c.gt(0.0), then.dot(x), otherwise.sum())
    };
    let through = |(x, cs): &(Tensor<_, 1>, Tensor<_, 1>)| {
        fold(Tensor::scalar(1.0), cs, |sum: Tensor<_, 0>, c: &Tensor<_, 0>| sum * 0.5 + chosen(c, x))
    };
    let (x, cs) = (Tensor::<Array, 1>::linspace(-1.0, 1.5, 64), tensor([0.5, -0.5, 0.0, 1.0]));
    let gradient = Function::value_and_grad(through, &(x.clone(), cs.clone()));
    let inputs = vec![x.array().clone(), cs.array().clone()];
    let case = [(Emitted::new("branches", gradient.optimized(), inputs).expect("it is written"), 1e-11)];
    let only = [case[0].0.clone()];
    if let Some(results) = in_rust("branches", &only, &[]) {
        compare("Rust", &case, &results);
    }
    if let Some(results) = in_c("branches", &only, &["-O0"]) {
        compare("C", &case, &results);
    }
}
