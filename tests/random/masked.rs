//! What a mask hides sends nothing: a program in the branch of a `select` that is not taken, at points where it is
//! infinite or NaN on the way.
//!
//! Law: the derivative of `select m p(x) 0` in `x`, where `m` is false, is exactly zero, in every mode and order,
//! whatever `p` computes. The mask is an input, so that no rule sees that the branch is never taken.

use polygrad::direct;
use polygrad::ops::{Contract, Unary, View};
use polygrad::program::{Program, Term, interpret};
use polygrad::tree::TreeMath;
use polygrad::{ADVal, Array, BaseTensor, Concrete, DType, Function, Tensor, symbolic};

use crate::any::{self, Level};
use crate::check::quietly;
use crate::gallery::Leaves;
use crate::pipelines::{Case, floats, run};
use crate::recipe::{Loop, Numbers, Recipe, Step};
use crate::{generate, seeds};

/// The loss of a recipe in the branch of a mask, which is the last leaf.
fn hidden<L: Level>(recipe: &Recipe, x: &Leaves<L>) -> Tensor<L, 0> {
    let of = |x: &Leaves<any::Any>| {
        let (mask, x) = x.0.split_last().expect("a mask");
        let zero = any::Any::constant(Array::scalar(0.0));
        Tensor::from_raw(any::Any::select(mask, &recipe.loss(x.to_vec()), &zero))
    };
    any::at(of, x)
}

/// The first derivative that is not zero, by its mode.
fn sent(recipe: &Recipe) -> Option<String> {
    let case = Case::new(recipe.clone());
    let with = |leaves: &Leaves<Concrete>| {
        Leaves(leaves.0.iter().cloned().chain([Array::scalar(false)]).collect::<Vec<Array>>())
    };
    let (x, v) = (with(&case.x), with(&case.v));
    let both: Vec<Array> = x.0.iter().chain(&v.0).cloned().collect();
    let program = Function::stage(|x: &Leaves<Term>| hidden(recipe, x), &x).program().clone();
    let gradient = symbolic::grad(&program);
    let tail = |program: &Program, inputs: &[Array], skip: usize| run(program, inputs).split_off(skip);
    let modes: [(&str, &dyn Fn() -> Vec<Array>); 7] = [
        ("reverse, by running", &|| direct::grad(|x| hidden(recipe, x), &x).0),
        ("forward, by running", &|| vec![direct::jvp(|x| hidden(recipe, x), &x, &v).1.into_raw()]),
        ("reverse, recorded", &|| interpret(&gradient, x.0.clone())),
        ("reverse, recorded, compiled", &|| run(&gradient, &x.0)),
        ("forward, recorded, compiled", &|| tail(&symbolic::jvp(&program), &both, 1)),
        ("forward over reverse, recorded, compiled", &|| tail(&symbolic::jvp(&gradient), &both, x.0.len())),
        ("reverse over reverse, by running", &|| {
            let along = |x: &Leaves<ADVal<Concrete>>| {
                let v = Leaves(v.0.iter().map(|v| ADVal::constant(v.clone())).collect());
                direct::grad(|x| hidden(recipe, x), x).dot(&v)
            };
            direct::grad(along, &x).0
        }),
    ];
    modes.iter().find_map(|(mode, derivative)| match quietly(derivative) {
        Ok(all) if all.iter().flat_map(floats).all(|x| x == 0.0) => None,
        Ok(all) => Some(format!("{mode}: {all:?}\n{program}")),
        Err(words) => Some(format!("{mode}: a panic, {words}\n{program}")),
    })
}

fn smallest(recipe: Recipe) -> Recipe {
    let mut best = recipe;
    while let Some(smaller) = best.smaller().into_iter().find(|smaller| sent(smaller).is_some()) {
        best = smaller;
    }
    best
}

/// Loops of which one trip has a NaN, and another one has none.
#[test]
fn trips_with_and_without_nan_send_nothing() {
    let numbers = |shape: &[usize], seed| Numbers { shape: shape.to_vec(), dtype: DType::F64, seed };
    let view =
        |source: &[usize], shape: &[usize], rows: &[i64]| View::affine(source, shape, rows, &vec![0; source.len()]);
    let all = [3, 3];
    let of_pairs = Contract::new(view(&[3, 3], &all, &[1, 0, 0, 1]), view(&[3], &all, &[0, 1]), view(&[], &all, &[]));
    let body = vec![Step::Contract(of_pairs, 3, 1)];
    let again = Loop { n: 2, reverse: false, init: vec![1, 1], xs: vec![], body, next: vec![4, 0], out: vec![] };
    let quotients = Recipe {
        tame: false,
        inputs: vec![numbers(&[3], 1521)],
        steps: vec![Step::Unary(Unary::Recip, 0), Step::Loop(Box::new(again))],
    };
    let all = [2, 4, 4];
    let of_rows =
        Contract::new(view(&[2, 4], &all, &[1, 0, 0, 0, 1, 0]), view(&[], &all, &[]), view(&[4], &all, &[0, 1, 0]));
    let body = vec![Step::Contract(of_rows, 0, 1)];
    let rows = Loop { n: 2, reverse: false, init: vec![], xs: vec![0], body, next: vec![], out: vec![2] };
    let infinite = Recipe { tame: false, inputs: vec![numbers(&[2, 4], 931)], steps: vec![Step::Loop(Box::new(rows))] };
    for recipe in [quotients, infinite] {
        assert_eq!(sent(&recipe), None);
    }
}

#[test]
fn programs_behind_a_mask_send_nothing() {
    let recipes = seeds(240_000, 20)
        .map(|seed| if seed % 2 == 0 { generate::degenerate(seed) } else { generate::recipe(seed, false) });
    for recipe in recipes {
        if sent(&recipe).is_some() {
            let recipe = smallest(recipe);
            panic!("{}\n{recipe}", sent(&recipe).expect("it fails"));
        }
    }
}
