//! Passes one by one: each row of the pipeline of `passes` keeps its law on random programs.
//!
//! A program goes through the rows in order, each once, as on the way to a plan. After each row that changes the
//! program, its results are compared with those before this row alone; so a failure names the pass.

use std::collections::BTreeMap;

use polygrad::array::Rng;
use polygrad::ops::{Binary, Compare, Discrete, Linear, Unary};
use polygrad::passes::{Keeps, Options, Pass, Phase, Settings, pipeline};
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, DType, Function, Tensor, checkpoint, symbolic};

use crate::check::{judged, largest, quietly};
use crate::gallery::Leaves;
use crate::pipelines::{Case, PIPELINES, Pipeline, Question, floats, same_but_for_nan};
use crate::recipe::Recipe;
use crate::{exact, generate, seeds};

/// How many programs each pass has changed.
type Changed = BTreeMap<&'static str, usize>;

/// Loops are cut in segments, and what can be computed again is.
fn cut() -> Settings {
    Settings { checkpoint: Some(checkpoint(2)), ..whole() }
}

/// What can be computed again is.
fn whole() -> Settings {
    Settings { rematerialization: 0.0, ..Settings::DEFAULT }
}

/// How results differ after a pass.
type Differ<'a> = &'a dyn Fn(&Pass, &[Array], Result<Vec<Array>, String>) -> Option<String>;

/// Tries passes up to a phase on a program, one after the other, and counts those that change it.
fn tried(
    (program, settings, last): (&Program, Settings, Phase),
    answer: &dyn Fn(&Program) -> Vec<Array>,
    differ: Differ<'_>,
    changed: &mut Changed,
) {
    let mut program = program.clone();
    let Ok(mut before) = quietly(|| answer(&program)) else { return };
    for pass in pipeline().iter().filter(|pass| pass.phase <= last) {
        let next = pass.run(&program, &settings);
        if next == program {
            continue;
        }
        *changed.entry(pass.name).or_default() += 1;
        let after = quietly(|| answer(&next));
        if let Some(what) = differ(pass, &before, after.clone()) {
            panic!(
                "{} does not keep its law: {}\n{what}\n\nbefore:\n{program}\n\nafter:\n{next}\n",
                pass.name, pass.law
            );
        }
        (program, before) = (next, after.unwrap_or(before));
    }
}

/// How the answers to a question about a random program differ after a pass.
fn difference(
    case: &Case,
    question: Question,
    pass: &Pass,
    before: &[Array],
    after: Result<Vec<Array>, String>,
) -> Option<String> {
    let recipe = |what: String| format!("The {question:?} differ: {what}\n\n{}", case.recipe);
    if let (Keeps::Bits, Ok(after)) = (pass.keeps, &after) {
        let same = before.len() == after.len() && before.iter().zip(after).all(|(a, b)| same_but_for_nan(a, b));
        return (!same).then(|| recipe(format!("other bits, {before:?} and {after:?}")));
    }
    let asked = PIPELINES.iter().find(|p| p.question == question).expect("each question has a pipeline");
    // A derivative of another program multiplies zeros with infinities elsewhere.
    let pipeline = Pipeline { name: pass.name, same: question == Question::Outputs, ..*asked };
    judged(case, &pipeline, &Ok(before.to_vec()), after, largest(before))
        .map(|failure| recipe(failure.what().to_owned()))
}

/// A random program, its gradient, and the gradient of what passes make of the program.
fn try_recipe(recipe: Recipe, settings: Settings, changed: &mut Changed) {
    let case = Case::new(recipe);
    let results = |program: &Program| interpret(program, case.x.0.clone());
    let gradient = |program: &Program| results(&symbolic::grad(program));
    for (question, program, answer, last) in [
        (Question::Outputs, case.outputs(), &results as &dyn Fn(&Program) -> Vec<Array>, Phase::BeforePlan),
        (Question::Gradient, case.program(), &gradient, Phase::Optimize),
        (Question::Gradient, case.gradient(), &results, Phase::BeforePlan),
    ] {
        let differ = |pass: &Pass, before: &[Array], after| difference(&case, question, pass, before, after);
        tried((program, settings, last), answer, &differ, changed);
    }
}

/// A smooth function of one value or of two, of moderate size.
fn smooth(rng: &mut Rng, x: &Term, y: &Term) -> Term {
    let unary = [Unary::Sin, Unary::Cos, Unary::Tanh];
    let binary = [Binary::Add, Binary::Sub, Binary::Mul];
    match rng.below(6) {
        k @ 0..3 => x.unary(unary[k]),
        k => x.binary(binary[k - 3], y),
    }
}

fn sum(x: &Term) -> Term {
    x.linear(&Linear::sum(x.shape(), &[0]))
}

fn closed(inputs: &[Term], result: Term) -> Program {
    Term::program(inputs, &[result], &[]).expect("a closed program")
}

/// A vector whose first elements are another function than the others, twice.
fn choices(rng: &mut Rng) -> Program {
    let n = 24 + rng.below(40);
    let x = Term::variable(&[n], DType::F64);
    let places = Term::discrete(&Discrete::Iota { n }, &[]);
    let mut y = x.clone();
    for _ in 0..2 {
        let from = Term::constant(Array::full(&[n], 1 + rng.below(n - 1) as i64));
        let mask = Term::discrete(&Discrete::Compare(Compare::Lt), &[&places, &from]);
        let [first, others] = [(); 2].map(|()| smooth(rng, &y, &x).unary(Unary::Sin));
        y = Term::select(&mask, &first, &others);
    }
    closed(&[x], y)
}

/// A selection by one truth value between results of many operations.
fn branches(rng: &mut Rng) -> Program {
    let x = Term::variable(&[200 + rng.below(100)], DType::F64);
    let mut many = || (0..20).fold(x.clone(), |y, _| smooth(rng, &y, &x).unary(Unary::Sin));
    let [then, otherwise] = [sum(&many()), sum(&many())];
    let mask = Term::discrete(&Discrete::Compare(Compare::Lt), &[&sum(&x), &Term::constant(Array::from(0.0))]);
    closed(std::slice::from_ref(&x), Term::select(&mask, &then, &otherwise))
}

/// The gradient of a recurrence that reads rows.
fn recurrence(rng: &mut Rng) -> Program {
    let (n, m) = (3 + rng.below(5), 2 + rng.below(30));
    let inputs = [vec![m], vec![n, m], vec![m]].map(|shape| Term::variable(&shape, DType::F64));
    let (carry, rows) =
        Term::map_accum(n, rng.below(2) == 0, vec![inputs[0].clone()], &inputs[1..2], &mut |carry, rows| {
            let inner = smooth(rng, &carry[0], &rows[0]);
            let next = smooth(rng, &inner, &carry[0]).binary(Binary::Mul, &inputs[2]).unary(Unary::Tanh);
            (vec![next], vec![inner])
        });
    let rows = rows[0].linear(&Linear::sum(&[n, m], &[0]));
    symbolic::grad(&closed(&inputs, sum(&carry[0].binary(Binary::Add, &rows))))
}

/// A loop that ends by itself, once more with its tangents.
fn ending(rng: &mut Rng) -> Program {
    let inputs = [(); 3].map(|()| Term::variable(&[3], DType::F64));
    let [x, y, _] = &inputs;
    let most = [None, Some(20)][rng.below(2)];
    let limit = Term::constant(Array::from(1.0 + rng.below(8) as f64));
    let goes = |trips: &Term| Term::discrete(&Discrete::Compare(Compare::Lt), &[trips, &limit]);
    let start = Term::constant(Array::from(0.0));
    let last = Term::repeat(most, vec![goes(&start), x.clone(), start.clone()], &mut |carry| {
        let inner = smooth(rng, &carry[1], y);
        let trips = carry[2].binary(Binary::Add, &Term::constant(Array::from(1.0)));
        vec![goes(&trips), smooth(rng, &inner, &carry[1]).unary(Unary::Tanh), trips]
    });
    let program = closed(&inputs[..2], sum(&last[1]));
    let jvp = symbolic::jvp_in(&program, &[0]);
    let results = [interpret(&program, inputs[..2].to_vec()), interpret(&jvp, inputs.to_vec())].concat();
    Term::program(&inputs, &results, &[]).expect("a closed program")
}

/// The Hessian of a sum of functions of the elements of a vector, of their differences, too: few diagonals.
fn hessian(rng: &mut Rng) -> Program {
    let n = 12 + rng.below(8);
    let x = Term::variable(&[n], DType::F64);
    let y = smooth(rng, &x.unary(Unary::Sin), &x);
    let loss = closed(std::slice::from_ref(&x), sum(&smooth(rng, &y, &x).binary(Binary::Mul, &x)));
    let loss = |x: &Leaves<Term>| Tensor::<Term, 0>::from_raw(interpret(&loss, x.0.clone()).remove(0));
    Function::hessian_matrix(loss, &Leaves(vec![Array::zeros(&[n], DType::F64)])).program().clone()
}

/// Programs in which certain passes have something to do.
fn try_family(family: fn(&mut Rng) -> Program, seed: u64, settings: Settings, changed: &mut Changed) {
    let mut rng = Rng::new(seed);
    let program = family(&mut rng);
    let at: Vec<Array> = program.inputs().iter().map(|slot| rng.uniform(&slot.shape, -1.0, 1.0)).collect();
    let results = |program: &Program| interpret(program, at.clone());
    let close = |a: &Array, b: &Array, size: f64| {
        let pairs = floats(a).into_iter().zip(floats(b));
        a.shape() == b.shape() && pairs.into_iter().all(|(x, y)| (x - y).abs() <= 1e-11 * size)
    };
    let differ = |pass: &Pass, before: &[Array], after: Result<Vec<Array>, String>| {
        let size = largest(before);
        let alike = |(a, b): (&Array, &Array)| match pass.keeps {
            Keeps::Bits => same_but_for_nan(a, b),
            Keeps::Values => close(a, b, size),
        };
        match after {
            Ok(after) if before.len() == after.len() && before.iter().zip(&after).all(alike) => None,
            after => Some(format!("seed {seed}: {before:?} became {after:?} at {at:?}")),
        }
    };
    tried((&program, settings, Phase::BeforePlan), &results, &differ, changed);
}

/// Small programs of exact numbers, which no pass may change.
fn try_exact(seed: u64, settings: Settings, changed: &mut Changed) {
    let (programs, at) = exact::programs(seed, &mut Rng::new(seed));
    let results = |program: &Program| interpret(program, at.clone());
    for program in programs {
        let differ = |_: &Pass, before: &[Array], after: Result<Vec<Array>, String>| match after {
            Ok(after) if !exact::are_exact(before) || exact::same(before, &after) => None,
            after => Some(format!("seed {seed}: {before:?} became {after:?} at {at:?}")),
        };
        tried((&program, settings, Phase::BeforePlan), &results, &differ, changed);
    }
}

#[test]
fn each_pass_alone_keeps_its_law() {
    let mut changed: Changed = pipeline().iter().map(|pass| (pass.name, 0)).collect();
    for (k, settings) in [cut(), whole()].into_iter().enumerate() {
        for seed in seeds(60_000, 12).skip(k).step_by(2) {
            try_recipe(generate::recipe(seed, true), settings, &mut changed);
        }
        for seed in seeds(61_000, 240).skip(k).step_by(2) {
            try_exact(seed, settings, &mut changed);
        }
    }
    let basis = Settings { options: Options { basis: true, ..Options::default() }, ..whole() };
    for seed in seeds(62_000, 6) {
        try_family(choices, seed, whole(), &mut changed);
        try_family(branches, seed, whole(), &mut changed);
        try_family(recurrence, seed, whole(), &mut changed);
        try_family(ending, seed, whole(), &mut changed);
        try_family(hessian, seed, basis, &mut changed);
    }
    let usual = std::env::var_os("POLYGRAD_FUZZ").is_none();
    assert!(!usual || changed.values().all(|count| *count >= 5), "some passes change few programs: {changed:?}");
    println!("programs that each pass has changed: {changed:?}");
}
