//! Bounds of random programs and of their gradients: at points of a box values lie within the bounds over the box, as
//! the program was recorded and optimized, interpreted and compiled, whatever the numbers are.

use polygrad::array::Rng;
use polygrad::backend::compile;
use polygrad::ops::Binary;
use polygrad::passes::optimize;
use polygrad::program::Term;
use polygrad::program::{Program, interpret};
use polygrad::{Array, BaseTensor, DType, Enclosure, TaylorForm};

use crate::check::quietly;
use crate::gallery::Leaves;
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

/// The number of programs, of those that have bounds, of elements of their results at points, and of those with narrow
/// bounds.
#[derive(Default)]
struct Seen {
    programs: usize,
    bounded: usize,
    elements: usize,
    narrow: usize,
}

/// What does not hold.
fn outside(what: &str, program: &Program, x: &[Array], rng: &mut Rng, seen: &mut Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    seen.programs += 1;
    for radius in [0.0, 1e-6, 0.3] {
        let [lower, upper] = [-radius, radius].map(|r| moved(x, &mut |shape| Array::full(shape, r)));
        let inputs =
            || lower.iter().zip(&upper).map(|(a, b)| Enclosure::between(a, b).expect("ends in order")).collect();
        let bounds = match quietly(|| interpret(program, inputs())) {
            Ok(bounds) => bounds,
            Err(words) => {
                let refused = words.contains("bounds");
                return if refused { wrong } else { vec![format!("{what}: {words}")] };
            }
        };
        if radius == 0.0 {
            seen.bounded += 1;
            for (lower, upper) in bounds.iter().flat_map(|y| floats(&y.lower()).into_iter().zip(floats(&y.upper()))) {
                seen.elements += 1;
                seen.narrow += usize::from(upper - lower <= 1e-6 * (1.0 + lower.abs()));
            }
        }
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
    wrong
}

/// Holds values and derivatives of a program against their bounds.
fn check(seed: u64, recipe: Recipe, seen: &mut Seen) {
    let case = Case::new(recipe);
    let mut rng = Rng::new(seed);
    let mut programs = vec![("values", case.outputs().clone())];
    // Not all rows have derivatives.
    if let Ok(gradient) = quietly(|| case.gradient().clone()) {
        programs.extend([("optimized gradient", optimize(&gradient)), ("gradient", gradient)]);
    }
    for (what, program) in &programs {
        let wrong = outside(what, program, &case.x.0, &mut rng, seen);
        assert!(wrong.is_empty(), "seed {seed}: {}\nof {program}", wrong.join("\n"));
    }
}

/// One of the programs of this seed: the number of elements that were compared.
pub(crate) fn check_one(seed: u64) -> u64 {
    let mut seen = Seen::default();
    let recipe = match seed % 3 {
        0 => generate::recipe(seed, true),
        1 => generate::recipe(seed, false),
        _ => generate::singular(seed),
    };
    check(seed, recipe, &mut seen);
    seen.elements as u64
}

/// Of bounds at points so large a share is narrow.
fn hold(programs: impl Iterator<Item = (u64, Recipe)>, share: f64) {
    let mut seen = Seen::default();
    programs.for_each(|(seed, recipe)| check(seed, recipe, &mut seen));
    let Seen { programs, bounded, elements, narrow } = seen;
    assert!(bounded * 2 > programs, "only {bounded} of {programs} programs have bounds");
    assert!(
        narrow as f64 > share * elements as f64,
        "of {elements} elements only {narrow} have narrow bounds at points"
    );
}

#[test]
fn tame_programs_lie_within_their_bounds() {
    hold(seeds(60_000, 24).map(|seed| (seed, generate::recipe(seed, true))), 0.95);
}

#[test]
fn wild_programs_lie_within_their_bounds() {
    hold(seeds(70_000, 20).map(|seed| (seed, generate::recipe(seed, false))), 0.7);
}

#[test]
fn singular_programs_lie_within_their_bounds() {
    hold(seeds(80_000, 20).map(|seed| (seed, generate::singular(seed))), 0.7);
}

/// Whether two pairs of bounds have numbers in common; bounds that are NaN do.
fn meet(a: [&Array; 2], b: [&Array; 2]) -> bool {
    let [[lower, upper], [least, most]] = [a, b].map(|pair| pair.map(floats));
    (0..lower.len()).all(|k| !(lower[k] > most[k] || upper[k] < least[k]))
}

/// Of programs with few numbers: a Taylor model on a box and bounds at points of the box.
#[test]
fn models_of_random_programs_contain_their_values() {
    let (mut seen, mut rng) = (0, Rng::new(9));
    for seed in seeds(90_000, 20) {
        let case = Case::new(generate::recipe(seed, true));
        let numbers: usize = case.x.0.iter().filter(|x| x.dtype() == DType::F64).map(Array::size).sum();
        if numbers > 8 {
            continue;
        }
        let f = |x: &Leaves<Term>| {
            Leaves(interpret(case.outputs(), x.0.clone()).into_iter().filter(|y| y.dtype().is_float()).collect())
        };
        let look = || {
            let form = TaylorForm::new(f, &case.x, (seed % 2) as usize);
            let mut wrong = Vec::new();
            for radius in [0.0, 1e-4, 0.1] {
                let [lower, upper] =
                    [-radius, radius].map(|r| Leaves(moved(&case.x.0, &mut |shape| Array::full(shape, r))));
                let model = form.over(&lower, &upper);
                let (a, b) = model.bounds();
                for _ in 0..3 {
                    let x = moved(&case.x.0, &mut |shape| rng.uniform(shape, -radius, radius));
                    let inputs = x.iter().map(|x| Enclosure::between(x, x).expect("a point")).collect();
                    let at = interpret(case.outputs(), inputs).into_iter().filter(|y: &Enclosure| y.dtype().is_float());
                    let (c, d) = model.within(&Leaves(x.clone()), &Leaves(x));
                    for (k, y) in at.enumerate() {
                        let y = [&y.lower(), &y.upper()];
                        if !meet([&a.0[k], &b.0[k]], y) || !meet([&c.0[k], &d.0[k]], y) {
                            wrong.push(format!("radius {radius}, result {k}: {y:?}, {:?}, {:?}", a.0[k], b.0[k]));
                        }
                    }
                }
            }
            wrong
        };
        match quietly(look) {
            Ok(wrong) => assert!(wrong.is_empty(), "seed {seed}: {}\nof {}", wrong.join("\n"), case.outputs()),
            Err(words) => {
                assert!(words.contains("bounds") || words.contains("derivative"), "seed {seed}: {words}");
                continue;
            }
        }
        seen += 1;
    }
    assert!(seen > 5, "{seen} programs");
}
