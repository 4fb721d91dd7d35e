//! All instances agree: CHAD forwards and backwards, both kinds of differentiable curry, dual numbers in both
//! directions, the staged program, and finite differences.

use polygrad::program::{Term, interpret};
use polygrad::tree::Tree;
use polygrad::{Array, direct, tensor};
use polygrad_higher as higher;
use polygrad_higher::interpreters::{CurryLists, Reverse, Run};

use super::both::to_second_order;
use super::{gallery, held};

/// The elements of all leaves.
pub(crate) fn numbers<P: Tree<Array>>(tree: &P) -> Vec<f64> {
    tree.leaves().iter().flat_map(|leaf| leaf.to_vec::<f64>().expect("floats")).collect()
}

pub(crate) fn close(what: &str, found: &[f64], expected: &[f64], bound: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= bound * (1.0 + b.abs()), "{what}: {found:?} is not {expected:?}");
    }
}

/// A direction for a tree, and the tree moved by a multiple of it.
pub(crate) fn moved<P: Tree<Array, With<Array> = P>>(x: &P, by: f64) -> (P, P) {
    let mut k = 0.0;
    let direction = x.map(&mut |leaf| {
        let elements = leaf.size();
        let numbers: Vec<f64> = (0..elements)
            .map(|_| {
                k += 1.0;
                f64::sin(k * 1.3 + 0.4)
            })
            .collect();
        Array::new(leaf.shape(), numbers)
    });
    let steps = direction.leaves();
    let mut next = steps.iter();
    let there = x.map(&mut |leaf| {
        let step = next.next().expect("a step for each leaf").to_vec::<f64>().expect("floats");
        let at = leaf.to_vec::<f64>().expect("floats");
        Array::new(leaf.shape(), at.iter().zip(&step).map(|(a, s)| a + by * s).collect())
    });
    (direction, there)
}

/// All derivatives of a program with one number as its result.
macro_rules! agree {
    ($name:ident: $program:ident at $x:expr) => { agree!($name: gallery::$program at $x, traced true); };
    ($name:ident: $program:ident at $x:expr, traced $traced:literal) => {
        agree!($name: gallery::$program at $x, traced $traced);
    };
    ($name:ident: $module:ident::$program:ident at $x:expr, traced $traced:literal) => {
        #[test]
        fn $name() {
            let x = $x;
            let program = instances!($module $module::$program());
            let (value, reverse) = higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &x);
            let expected = numbers(&reverse);
            let run = higher::run(program.at(), &x);
            assert_eq!(run, value, "the primal value is kept");

            let (y, lists) = higher::value_and_grad_by(program.at::<CurryLists<Array>, _>(), &x);
            assert_eq!(y, value);
            close("lists", &numbers(&lists), &expected, 1e-12);
            let (y, closures) = higher::value_and_grad(program.at(), &x);
            assert_eq!(y, value);
            close("closures", &numbers(&closures), &expected, 1e-12);

            let by_dual_numbers = direct::grad(|x| higher::run(program.at(), x), &x);
            close("dual numbers", &numbers(&by_dual_numbers), &expected, 1e-12);

            let (direction, _) = moved(&x, 0.0);
            let along: f64 = expected.iter().zip(numbers(&direction)).map(|(g, d)| g * d).sum();
            let (y, forward) = higher::jvp(program.at(), &x, &direction);
            assert_eq!(y, value);
            close("forward", &[forward.item()], &[along], 1e-12);
            let (_, dual) = direct::jvp(|x| higher::run(program.at(), x), &x, &direction);
            close("forward dual numbers", &[dual.item()], &[along], 1e-12);

            let h = 1e-6;
            let at = |by: f64| higher::run::<_, _, Array>(program.at(), &moved(&x, by).1).item();
            close("finite differences", &[(at(h) - at(-h)) / (2.0 * h)], &[along], 1e-7);

            let (gradient, second) = higher::hvp(program.at(), &x, &direction);
            close("hvp gradient", &numbers(&gradient), &expected, 1e-12);
            let slope = |by: f64| numbers(&higher::grad(program.at(), &moved(&x, by).1));
            let differences: Vec<f64> =
                slope(h).iter().zip(slope(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect();
            close("hvp", &numbers(&second), &differences, 1e-6);

            if $traced {
                let inputs = Tree::leaves(&x);
                let staged = higher::stage(program.at(), &x);
                let results = interpret(&staged, inputs.clone());
                close("staged", &[results[0].item::<f64>().unwrap()], &[value.item()], 1e-12);
                let results = interpret(&higher::stage_grad(program.at(), &x), inputs.clone());
                let elements: Vec<f64> = results[1..].iter().flat_map(|t| t.to_vec::<f64>().unwrap()).collect();
                close("staged, then differentiated", &elements, &expected, 1e-12);
                let by_chad = higher::stage_grad_by(program.at::<Reverse<Run<Term>>, _>(), &x);
                let results = interpret(&by_chad, inputs);
                let elements: Vec<f64> = results[1..].iter().flat_map(|t| t.to_vec::<f64>().unwrap()).collect();
                close("staged gradient", &elements, &expected, 1e-12);
            }
        }
    };
}

/// Programs with derivatives as terms have no derivatives as texts.
macro_rules! instances {
    (nested $program:expr) => {
        everywhere($program)
    };
    ($module:ident $program:expr) => {
        to_second_order($program)
    };
}

pub(crate) use {agree, instances};

agree! { fig_1b: fig_1b at (((tensor(0.7), tensor(-0.3)), tensor(1.1)), tensor(0.4)) }
agree! { fig_2b: fig_2b at (tensor(3.0), tensor([1.0, 2.0, 5.0])) }
agree! { twice: twice at (tensor(0.7), tensor(1.3)) }
agree! { composed: composed at (tensor(0.7), tensor(1.3)) }
agree! { nested: nested at (tensor(0.7), tensor(1.3)) }
agree! { chosen: chosen at (tensor(0.7), tensor(1.3)) }
agree! { chosen_otherwise: chosen at (tensor(1.7), tensor(1.3)) }
agree! { absolute: absolute at tensor(1.5) }
agree! { absolute_below: absolute at tensor(-2.0) }
agree! { repeated: repeated at (tensor(1.7), tensor(0.9)), traced false }
agree! { power: power at (tensor(1.2), tensor(0.9)), traced false }
agree! { captured: captured at (tensor([0.3, -0.5, 0.8]), tensor(0.9)) }
agree! { pairwise: pairwise at (tensor([0.3, -0.5, 0.8]), tensor([0.1, 0.7])) }
agree! { escaping: escaping at (tensor([0.3, -0.5, 0.8]), tensor(0.9)) }
agree! { network: network at (
    ((tensor([[0.3, -0.2], [0.5, 0.1]]), tensor([0.4, 0.6])), tensor([0.1, -0.1])),
    tensor([[1.0, 0.5], [-0.3, 0.8], [0.2, 0.9]]),
) }
agree! { pair_fold: pair_fold at ((tensor(0.8), tensor(1.2)), tensor([0.3, -0.5, 0.8])) }
agree! { indexed: indexed at (tensor([0.3, -0.5, 0.8]), tensor([1.0, 2.0, 3.0])) }
agree! { picked: picked at (tensor([0.3, -0.5]), tensor([[1.0, 2.0], [0.4, -0.7]])) }
agree! { scattered: scattered at (tensor([0.3, -0.5, 0.8]), tensor([1.0, 2.0, 3.0])) }
agree! { filtered: filtered at (tensor([0.3, -0.5, 0.8, 1.9, 0.1]), tensor(0.7)) }
agree! { filtered_pairs: filtered_pairs at (tensor([0.3, -0.5, 0.8]), tensor([0.1, 0.7, 0.9])) }
agree! { kept: kept at (tensor([0.3, -0.5, 0.8, 1.9, 0.1]), tensor(0.7)) }
agree! { bounded: bounded at (tensor(1.7), tensor(0.9)) }
agree! { bounded_by_its_number_of_steps: bounded at (tensor(1.01), tensor(0.9)) }
agree! { polynomial: polynomial at tensor(1.5) }
agree! { slid: slid at tensor(1.5) }
agree! { added: added at (tensor(0.7), tensor(1.3)) }
agree! { multiplied: multiplied at (tensor(0.7), tensor(1.3)) }
agree! { add_copy: add_copy at tensor(1.5) }
agree! { times_constant: times_constant at tensor(1.5) }
agree! { square: square at tensor(1.5) }
agree! { cube: cube at tensor(1.5) }
agree! { quadratic: quadratic at tensor(1.5) }
agree! { elementwise: elementwise at tensor([0.3, -0.5, 0.8]) }
agree! { unused: unused at (tensor(0.7), tensor(1.3)) }

/// Loops that hold functions.
macro_rules! held {
    ($($program:ident)*) => { $(
        agree! { $program: held::$program at (tensor([0.3, -0.5, 0.8]), tensor(0.9)), traced true }
    )* };
}
held! { chosen_array other_calls mapped_compositions scaled shared pipeline by_index of_functions kept_function renewed compositions two_codes }
agree! { nested_arrays: held::nested at (tensor([0.3, -0.5, 0.8]), tensor(0.9)), traced true }
agree! { paired_with_functions: held::paired at (tensor([0.3, -0.5, 0.8]), tensor(0.9)), traced true }
agree! { cells: held::cells at (
    (tensor([[0.3, -0.2], [0.5, 0.1]]), tensor([0.1, -0.1])),
    tensor([[1.0, 0.5], [-0.3, 0.8], [0.2, 0.9]]),
), traced true }
