//! What is exported means what the program means, on the gallery: values, gradients and products with second
//! derivatives.

use polygrad::import::Module;
use polygrad::program::{Program, interpret};
use polygrad::random::Key;
use polygrad::{Array, DType, Function, Tree};

use crate::dumped::dump;
use crate::gallery::{self, Leaves, Objective, Recorded, Visitor};
use crate::programs;
use crate::stablehlo::evaluate;
use crate::support::floats;

/// The largest finite number in sight, and at least 1.
fn largest(arrays: &[Array]) -> f64 {
    let all = arrays.iter().flat_map(floats).filter(|x| x.is_finite());
    all.fold(1.0, |most: f64, x| most.max(x.abs()))
}

/// Checks a program at these inputs; an operation that is not exported is counted.
fn check(name: &str, program: &Program, inputs: Vec<Array>, tolerance: f64, refused: &mut Vec<String>) {
    let exported = match program.exported(name) {
        Ok(exported) => exported,
        Err(why) => {
            refused.push(format!("{name}: {why}"));
            return;
        }
    };
    let expected = interpret(program, inputs.clone());
    dump(name, &exported, &inputs, &expected, tolerance);
    let found = evaluate(&exported.text, &inputs);
    let imported = Module::parse(&exported.text).and_then(|module| module.try_call(&inputs));
    let imported = imported.unwrap_or_else(|error| panic!("{name}: {error}\n{}", exported.text));
    let single = program.inputs().iter().chain(program.outputs()).any(|slot| slot.dtype == DType::F32);
    let bound = if single { tolerance.max(1e-5) } else { tolerance.max(1e-11) } * largest(&expected);
    // What was exported is read by the evaluator of the tests, and imported.
    for found in [found, imported] {
        assert_eq!(found.len(), expected.len(), "{name}: the number of outputs");
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!((found.shape(), found.dtype()), (expected.shape(), expected.dtype()), "{name}: output {k}");
            let same = |(x, y): (&f64, &f64)| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= bound;
            let (x, y) = (floats(found), floats(expected));
            assert!(
                x.iter().zip(&y).all(same),
                "{name}: output {k} is {x:?}, not {y:?}:\n{program}\n{}",
                exported.text
            );
        }
    }
}

#[derive(Default)]
struct Exports {
    refused: Vec<String>,
    count: usize,
}

impl Exports {
    fn look(&mut self, case: &Recorded) {
        let (x, data) = (&case.x, &case.data);
        let v = direction(x);
        let value = Function::stage_with(case.eval, x, data);
        let gradient = Function::value_and_grad_with(case.eval, x, data);
        let product = Function::hvp_with(case.eval, x, data);
        for (form, program, inputs) in [
            ("recorded", value.program(), case.inputs()),
            ("value", value.optimized(), case.inputs()),
            ("gradient", gradient.optimized(), case.inputs()),
            ("hvp", product.optimized(), [&x.0[..], &v.0, &data.0].concat()),
        ] {
            self.count += 1;
            check(&format!("{}_{form}", case.name), program, inputs, case.tolerance, &mut self.refused);
        }
    }
}

impl Visitor for Exports {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

/// Numbers between -1 and 1 in the place of those of a point.
fn direction(x: &Leaves<Array>) -> Leaves<Array> {
    let mut rng = polygrad::array::Rng::new(7);
    let like = |a: &Array| match a.dtype() {
        DType::F32 => rng.uniform_as::<f32, _>(a.shape(), -1.0, 1.0),
        DType::F64 | DType::I64 | DType::Bool => rng.uniform(a.shape(), -1.0, 1.0),
    };
    Leaves(x.0.iter().map(like).collect())
}

#[test]
fn the_gallery() {
    let mut exports = Exports::default();
    for Exports { refused, count } in gallery::each_apart() {
        exports.refused.extend(refused);
        exports.count += count;
    }
    for (name, program) in programs::gallery() {
        let mut rng = polygrad::array::Rng::new(3);
        let inputs = program.inputs().iter().map(|slot| match slot.dtype {
            DType::F64 => rng.uniform(&slot.shape, 0.5, 2.0),
            DType::F32 => rng.uniform_as::<f32, _>(&slot.shape, 0.5, 2.0),
            DType::I64 => rng.uniform(&slot.shape, -2.0, 5.0).cast::<i64>(),
            DType::Bool => Array::zeros(&slot.shape, slot.dtype),
        });
        let inputs: Vec<Array> = inputs.collect();
        check(&format!("program_{name}"), &program, inputs, 1e-11, &mut exports.refused);
    }
    // Factorisations that have no operation there.
    let matrices = |words: &&String| words.contains("is none; use eigh");
    assert!(exports.refused.iter().filter(|words| !matrices(words)).count() == 0, "{:#?}", exports.refused);
    assert!(exports.count > 400, "{} programs", exports.count);
}

/// Draws of a key, which `python/test_polygrad_xla.py` compares with those of JAX.
#[test]
fn draws_of_keys_are_exported() {
    let key = Key::new(42);
    let draws = Function::stage(
        |key: &Key<_>| {
            (
                (key.bits32([37]), key.bits([37]), key.permutation(37)),
                (key.uniform([37]), key.normal([37]), key.exponential([37]), key.gumbel([37])),
                (key.uniform_as::<f32, 1>([37]), key.normal_as::<f32, 1>([37])),
                key.keys(3),
            )
        },
        &key,
    );
    let mut refused = Vec::new();
    check("jax_draws", draws.program(), key.leaves(), 1e-5, &mut refused);
    assert!(refused.is_empty(), "{refused:?}");
}
