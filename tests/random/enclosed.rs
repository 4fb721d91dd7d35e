//! Bounds of random programs and of their gradients: at points of a box values lie within the bounds over the box, as the
//! program was recorded and optimized, interpreted and compiled, whatever the numbers are.

use polygrad::array::Rng;
use polygrad::interpreters::compiled::compile;
use polygrad::ops::Binary;
use polygrad::passes::optimize;
use polygrad::program::{Program, interpret};
use polygrad::{Array, BaseTensor, DType, Enclosure};

use crate::check::quietly;
use crate::generate;
use crate::pipelines::{Case, floats};
use crate::recipe::Recipe;
use crate::seeds;

/// Arrays of floats with as much added as a function says of their shape; others as they are.
fn moved(x: &[Array], by: &mut dyn FnMut(&[usize]) -> Array) -> Vec<Array> {
    let one = |a: &Array| match a.dtype() {
        DType::F64 => a.binary(Binary::Add, &by(a.shape())),
        DType::F32 => a.binary(Binary::Add, &by(a.shape()).cast::<f32>()),
        DType::I64 | DType::Bool => a.clone(),
    };
    x.iter().map(one).collect()
}

/// What does not hold, and whether the program has bounds.
fn outside(what: &str, program: &Program, x: &[Array], rng: &mut Rng) -> (Vec<String>, bool) {
    let mut wrong = Vec::new();
    for radius in [0.0, 1e-6, 0.3] {
        let [lower, upper] = [-radius, radius].map(|r| moved(x, &mut |shape| Array::full(shape, r)));
        let inputs =
            || lower.iter().zip(&upper).map(|(a, b)| Enclosure::between(a, b).expect("ends in order")).collect();
        let bounds = match quietly(|| interpret(program, inputs())) {
            Ok(bounds) => bounds,
            Err(words) => {
                let refused = words.contains("bounds");
                return (if refused { wrong } else { vec![format!("{what}: {words}")] }, false);
            }
        };
        for _ in 0..3 {
            let point = moved(x, &mut |shape| rng.uniform(shape, -radius, radius));
            for y in [interpret(program, point.clone()), compile(program).run(&point)] {
                for (y, bounds) in y.iter().zip(&bounds) {
                    let (lower, upper) = (floats(&bounds.lower()), floats(&bounds.upper()));
                    for (k, y) in floats(y).into_iter().enumerate() {
                        if !(lower[k].is_nan() || (lower[k] <= y && y <= upper[k])) {
                            wrong.push(format!(
                                "{what}, radius {radius}: {y:e} is not in [{:e}, {:e}]",
                                lower[k], upper[k]
                            ));
                        }
                    }
                }
            }
        }
    }
    (wrong, true)
}

fn hold(programs: impl Iterator<Item = (u64, Recipe)>) {
    let (mut tried, mut bounded) = (0, 0);
    for (seed, recipe) in programs {
        let case = Case::new(recipe);
        let mut rng = Rng::new(seed);
        let mut programs = vec![("values", case.outputs().clone())];
        // Not all rows have derivatives.
        if let Ok(gradient) = quietly(|| case.gradient().clone()) {
            programs.extend([("optimized gradient", optimize(&gradient)), ("gradient", gradient)]);
        }
        for (what, program) in &programs {
            let (wrong, has_bounds) = outside(what, program, &case.x.0, &mut rng);
            assert!(wrong.is_empty(), "seed {seed}: {}\nof {program}", wrong.join("\n"));
            (tried, bounded) = (tried + 1, bounded + usize::from(has_bounds));
        }
    }
    assert!(bounded * 2 > tried, "only {bounded} of {tried} programs have bounds");
}

#[test]
fn tame_programs_lie_within_their_bounds() {
    hold(seeds(60_000, 60).map(|seed| (seed, generate::recipe(seed, true))));
}

#[test]
fn wild_programs_lie_within_their_bounds() {
    hold(seeds(70_000, 40).map(|seed| (seed, generate::recipe(seed, false))));
}

#[test]
fn singular_programs_lie_within_their_bounds() {
    hold(seeds(80_000, 40).map(|seed| (seed, generate::singular(seed))));
}
