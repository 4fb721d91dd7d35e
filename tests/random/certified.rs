//! Errors of random programs, and of their gradients, in `f32`: what is computed differs from what `f64` computes at the
//! same inputs by no more than the bounds of the errors over a box say, and lies within the bounds of the values.

use polygrad::array::Rng;
use polygrad::backend::compile;
use polygrad::interpreters::Rounding;
use polygrad::ops::Binary;
use polygrad::passes::optimize;
use polygrad::program::{Program, interpret};
use polygrad::{Array, BaseTensor, DType, Enclosure};

use crate::check::quietly;
use crate::emitted_code::{Emitted, in_c, in_rust};
use crate::narrowed::{narrowed, rounded};
use crate::pipelines::{Case, floats};
use crate::recipe::Recipe;
use crate::{generate, seeds};

/// The number of elements that were compared, of those with a bound of the error, and of those with a small one.
#[derive(Default)]
struct Seen {
    elements: usize,
    bounded: usize,
    small: usize,
}

/// Numbers of `f32` with as much added; others as they are.
fn moved(x: &[Array], by: &mut dyn FnMut(&[usize]) -> Array) -> Vec<Array> {
    let one = |a: &Array| match a.dtype() {
        DType::F64 | DType::F32 => a.binary(Binary::Add, &by(a.shape()).cast::<f32>()),
        DType::I64 | DType::Bool => a.clone(),
    };
    x.iter().map(one).collect()
}

/// A box of inputs in a float type.
fn inputs([lower, upper]: [&[Array]; 2], float: DType) -> Vec<Rounding<Enclosure>> {
    let pairs = lower.iter().zip(upper).map(|(a, b)| (rounded(a, float), rounded(b, float)));
    pairs.map(|(a, b)| Rounding::exact(Enclosure::between(&a, &b).expect("ends in order"))).collect()
}

/// What does not hold of results: of each, the bounds of both programs, the results in `f32`, and those in `f64`.
fn compare(
    bounds: [&[Rounding<Enclosure>]; 2],
    [found, exact]: [&[Array]; 2],
    seen: &mut Seen,
    wrong: &mut Vec<String>,
) {
    for (k, (y, z)) in found.iter().zip(exact).enumerate() {
        let [narrow, wide] = bounds.map(|all| &all[k]);
        let (lower, upper) = (floats(&narrow.value().lower()), floats(&narrow.value().upper()));
        let (errors, more) = (narrow.errors(), wide.errors());
        for (i, (y, z)) in floats(y).into_iter().zip(floats(z)).enumerate() {
            seen.elements += 1;
            if !(lower[i].is_nan() || (lower[i] <= y && y <= upper[i])) {
                wrong.push(format!("{y:e} is not in [{:e}, {:e}]", lower[i], upper[i]));
            }
            let error = errors[i] + more[i];
            if error.is_infinite() {
                continue;
            }
            seen.bounded += 1;
            seen.small += usize::from(error <= 1e-4 * (1.0 + y.abs()));
            if !(y == z || (y.is_nan() && z.is_nan()) || (y - z).abs() <= error.next_up()) {
                wrong.push(format!("{y:e} and {z:e} differ by {:e}, more than {error:e}", (y - z).abs()));
            }
        }
    }
}

/// Holds a program in `f32` against its bounds; `None` if it has none.
fn check_program(program: &Program, x: &[Array], rng: &mut Rng, seen: &mut Seen) -> Option<Vec<String>> {
    let (narrow, wide) = (narrowed(program, DType::F32)?, narrowed(program, DType::F64)?);
    let mut wrong = Vec::new();
    for radius in [0.0, 1e-3, 0.3] {
        let [lower, upper] = [-radius, radius].map(|r| moved(x, &mut |shape| Array::full(shape, r)));
        let bounds = |program: &Program, float| {
            quietly(|| interpret(program, inputs([&lower, &upper], float))).map_err(|words| {
                assert!(words.contains("bounds"), "{words}\nof {program}");
            })
        };
        let of_narrow = bounds(&narrow, DType::F32).ok()?;
        let of_wide = bounds(&wide, DType::F64).ok()?;
        for _ in 0..2 {
            let point = moved(x, &mut |shape| rng.uniform(shape, -radius, radius));
            let exact = interpret(&wide, point.iter().map(|a| rounded(a, DType::F64)).collect());
            for found in [interpret(&narrow, point.clone()), compile(&narrow).run(&point)] {
                compare([&of_narrow, &of_wide], [&found, &exact], seen, &mut wrong);
            }
        }
    }
    Some(wrong)
}

/// The programs of a case, and its inputs in `f32`.
fn programs(case: &Case) -> (Vec<Program>, Vec<Array>) {
    let mut programs = vec![case.outputs().clone(), optimize(case.outputs())];
    programs.extend(quietly(|| optimize(case.gradient())).ok());
    (programs, case.x.0.iter().map(|a| rounded(a, DType::F32)).collect())
}

/// Of the programs, at least half have bounds; of the elements, so large a share has small errors.
fn hold(recipes: impl Iterator<Item = (u64, Recipe)>, share: f64) {
    let (mut seen, mut tried, mut bounded) = (Seen::default(), 0, 0);
    for (seed, recipe) in recipes {
        let case = Case::new(recipe);
        let (programs, x) = programs(&case);
        for program in &programs {
            tried += 1;
            let Some(wrong) = check_program(program, &x, &mut Rng::new(seed), &mut seen) else { continue };
            bounded += 1;
            assert!(wrong.is_empty(), "seed {seed}: {}\nof {program}", wrong.join("\n"));
        }
    }
    println!(
        "{bounded} of {tried} programs; {} elements, {} bounded, {} small",
        seen.elements, seen.bounded, seen.small
    );
    assert!(bounded * 2 > tried, "only {bounded} of {tried} programs have bounds");
    let Seen { elements, bounded, small } = seen;
    assert!(
        small as f64 > share * elements as f64,
        "of {elements} errors {bounded} are bounded, and only {small} small"
    );
}

#[test]
fn tame_programs_err_by_no_more_than_certified() {
    hold(seeds(90_000, 16).map(|seed| (seed, generate::recipe(seed, true))), 0.5);
}

#[test]
fn wild_programs_err_by_no_more_than_certified() {
    hold(seeds(100_000, 16).map(|seed| (seed, generate::recipe(seed, false))), 0.4);
}

#[test]
fn singular_programs_err_by_no_more_than_certified() {
    hold(seeds(110_000, 16).map(|seed| (seed, generate::singular(seed))), 0.4);
}

/// Emitted code computes within the bounds of its certificate.
#[test]
fn source_code_computes_within_its_certificate() {
    let (mut emitted, mut boxes, mut rng) = (Vec::new(), Vec::new(), Rng::new(1));
    for seed in seeds(120_000, 6) {
        let (programs, x) = programs(&Case::new(generate::recipe(seed, true)));
        for (k, program) in programs.iter().enumerate().skip(1) {
            let Some(narrow) = narrowed(program, DType::F32) else { continue };
            let [lower, upper] = [-0.1, 0.1].map(|r| moved(&x, &mut |shape| Array::full(shape, r)));
            let point = moved(&x, &mut |shape| rng.uniform(shape, -0.1, 0.1));
            let Ok(one) = Emitted::new(&format!("f_{seed}_{k}"), &narrow, point) else { continue };
            let Ok(certificate) = one.c.certificate(&lower, &upper) else { continue };
            let wide = narrowed(program, DType::F64).expect("as for f32");
            let exact = interpret(&wide, one.inputs.iter().map(|a| rounded(a, DType::F64)).collect());
            let of_wide = interpret(&wide, inputs([&lower, &upper], DType::F64));
            boxes.push((certificate, exact, of_wide));
            emitted.push(one);
        }
    }
    assert!(emitted.len() > 8, "{} programs have certificates", emitted.len());
    let all = [in_rust("certified", &emitted, &[]), in_c("certified", &emitted, &["-O2"])];
    for found in all.iter().flatten() {
        for ((found, (certificate, exact, of_wide)), one) in found.iter().zip(&boxes).zip(&emitted) {
            for (k, y) in certificate.outputs.iter().enumerate() {
                let (lower, upper, error) = (floats(&y.lower), floats(&y.upper), floats(&y.error));
                let (more, exact) = (of_wide[k].errors(), floats(&exact[k]));
                for (i, y) in floats(&found[k]).into_iter().enumerate() {
                    let inside = lower[i].is_nan() || (lower[i] <= y && y <= upper[i]);
                    let same = y == exact[i] || (y.is_nan() && exact[i].is_nan());
                    let most = (error[i] + more[i]).next_up();
                    let near = same || most.is_infinite() || (y - exact[i]).abs() <= most;
                    assert!(inside && near, "{y:e} for {:e}\n{certificate}\n{}", exact[i], one.program);
                }
            }
        }
    }
}
