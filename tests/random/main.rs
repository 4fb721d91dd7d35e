//! Random programs: every way to run and to differentiate them agrees.
//!
//! A program is drawn as data (`recipe`), from a seed (`generate`), and is a function generic in the interpreter
//! (`eval`). Named pipelines (`pipelines`) answer questions about it: its values, its derivatives to third order, by
//! running, by tracing, as programs, saved and loaded. Laws:
//! * pipelines that answer one question agree up to rounding, relative to the largest number in sight;
//! * those that are one algorithm agree on infinities and NaN, too, whatever the numbers are, but where an infinity is
//!   multiplied with a sum (`infinities`);
//! * they agree on the signs of zeros that an operation sees;
//! * at kinks and ties, every nesting of second derivatives is finite where the derivative of a gradient by running is,
//!   as long as values and first derivatives are made of finite numbers alone, and no power is one of zero (`poles`);
//! * at such points, and at those where users live (`points`: equal rows, rank one, tiny, infinite, at rest), first and second
//!   derivatives of every mode agree, under the same condition;
//! * what a mask hides sends exactly zero, in every mode and order (`masked`);
//! * `<J v, w> == <v, J' w>`;
//! * where finite differences over two steps are close, they are the derivative.
//!
//! `exact` draws small programs in another way, whose numbers do not round: with rules and without, the results are
//! equal to the bit.
//!
//! What is exported is imported again (`imported`): a random program computes the bits that it had.
//!
//! A recipe that fails is made small and printed as code that makes it, for `regressions`.
//!
//! By default each test draws some 20 programs, always the same, and no two tests the same ones: together they
//! have every row of the tables and nearly every kind of loop, and take some 20 s of processor time. For more, the
//! environment variable `POLYGRAD_FUZZ` says how many programs each test tries, and `POLYGRAD_SEED` which is the
//! first. `make fuzz` (`fuzz`) tries a million in several processes, and goes on after a failure.

/// The interpreters of [`any`], by the initials of their types.
macro_rules! interpreters {
    ($levels:ident) => {
        $levels! {
            C = Concrete;
            D = Dual<Concrete>;
            A = ADVal<Concrete>;
            AD = ADVal<Dual<Concrete>>;
            DA = Dual<ADVal<Concrete>>;
            AA = ADVal<ADVal<Concrete>>;
            DDD = Dual<Dual<Dual<Concrete>>>;
            DAD = Dual<ADVal<Dual<Concrete>>>;
            S = Shapes;
            T = Term;
            AT = ADVal<Term>;
            J = polygrad::Jet<Concrete>;
        }
    };
}
pub(crate) use interpreters;

#[path = "../gallery/any.rs"]
mod any;
mod bulk;
mod certified;
mod check;
mod code;
mod drawn;
#[path = "../support/dumped.rs"]
mod dumped;
mod emitted;
#[path = "../support/emitted.rs"]
mod emitted_code;
mod enclosed;
mod eval;
mod exact;
#[path = "../support/forms.rs"]
mod forms;
mod fuzz;
mod generate;
mod imported;
mod infinities;
mod masked;
#[path = "../support/narrowed.rs"]
mod narrowed;
#[allow(dead_code)]
#[path = "../support/page.rs"]
mod page;
mod passes;
mod pipelines;
mod points;
mod poles;
mod recipe;
mod regressions;
#[path = "../support/root.rs"]
mod root;
mod rounding;
mod ruled;
mod solved;
#[path = "../support/stablehlo/mod.rs"]
mod stablehlo;
#[path = "../support/mod.rs"]
mod support;
mod tapped;
mod unwritten;

use std::collections::BTreeSet;

use polygrad::ops::{Binary, Unary};
use polygrad::passes::{Options, explain};
use polygrad::{Array, BaseTensor, DType};
use quickcheck::{Arbitrary, Gen, QuickCheck};

use pipelines::{Case, PIPELINES, Pipeline, Question};
use recipe::{Loop, Numbers, Recipe, Step};

/// What `any` needs of the gallery.
mod gallery {
    use polygrad::{BaseTensor, Tree};

    /// Values of several ranks and element types.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Leaves<T>(pub(crate) Vec<T>);

    impl<T: BaseTensor> Tree<T> for Leaves<T> {
        type With<U: BaseTensor> = Leaves<U>;
        fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Leaves<U> {
            Leaves(self.0.iter().map(f).collect())
        }
        fn visit(&self, visitor: &mut dyn polygrad::tree::Visitor<T>) {
            for (k, leaf) in self.0.iter().enumerate() {
                visitor.enter(polygrad::tree::PathStep::Item(k));
                visitor.leaf(leaf);
                visitor.leave();
            }
        }
    }
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The seeds to try: by default so many, from a first one that no other test has.
fn seeds(first: u64, usual: u64) -> std::ops::Range<u64> {
    let first = from_environment("POLYGRAD_SEED").unwrap_or(first);
    first..first + from_environment("POLYGRAD_FUZZ").unwrap_or(usual)
}

/// Two tests, which take as long as all others.
mod tame {
    use super::{check, generate, seeds};

    fn agree(seeds: impl Iterator<Item = u64>) {
        for seed in seeds {
            check::assert_agree(&generate::recipe(seed, true));
        }
    }

    #[test]
    fn one_half_of_the_programs_agrees() {
        agree(seeds(0, 16).step_by(2));
    }

    #[test]
    fn the_other_half_of_the_programs_agrees() {
        agree(seeds(0, 16).skip(1).step_by(2));
    }
}

#[test]
fn wild_programs_agree() {
    for seed in seeds(10_000, 16) {
        check::assert_agree(&generate::recipe(seed, false));
    }
}

/// Numbers at which functions have kinks, poles and ties.
#[test]
fn singular_programs_agree() {
    for seed in seeds(20_000, 16) {
        check::assert_agree(&generate::singular(seed));
    }
}

/// Arrays that are degenerate as a whole: equal elements and rows, rank one, symmetric, triangular, tiny, infinite, at rest.
#[test]
fn degenerate_programs_agree() {
    for seed in seeds(230_000, 12) {
        check::assert_agree(&generate::degenerate(seed));
    }
}

/// Control flow that depends on inputs: branches, loops that end by a number, each within the other.
#[test]
fn programs_with_control_flow_agree() {
    // The linear program of some loops that end by themselves is refused by `transpose`, with a message.
    let asked = |p: &Pipeline| p.name != "symbolic linearize, transpose";
    for seed in seeds(300_000, 12) {
        check::assert_agree_about(&generate::controlled(seed), &asked);
    }
}

/// The gradient of a recipe whose first choice is the other way round.
fn exchanged(case: &Case) -> Vec<Array> {
    fn turn(steps: &mut [Step]) -> bool {
        steps.iter_mut().any(|step| match step {
            Step::Cond(_, a, b) => {
                std::mem::swap(a, b);
                true
            }
            Step::Loop(l) | Step::While(_, _, l) => turn(&mut l.body),
            Step::Constant(_) | Step::Unary(..) | Step::Binary(..) | Step::Discrete(..) | Step::Select(..) => false,
            Step::Linear(..) | Step::Contract(..) | Step::Reduce(..) | Step::Gather(..) | Step::Scatter(..) => false,
            Step::Concat(..) | Step::Ruled(..) | Step::Matrix(..) | Step::Solved(..) => false,
        })
    }
    let mut recipe = case.recipe.clone();
    turn(&mut recipe.steps);
    let right = PIPELINES.iter().find(|p| p.question == Question::Gradient).expect("some");
    (right.run)(&Case::new(recipe))
}

/// The other direction: a branch that is taken the wrong way, in the gradient alone, is seen by every second program.
#[test]
fn a_wrong_branch_is_seen() {
    let asked = PIPELINES.iter().find(|p| p.question == Question::Gradient).expect("some");
    let pipelines = [Pipeline { ..*asked }, Pipeline { name: "a branch the other way", run: exchanged, ..*asked }];
    let (mut branches, mut seen) = (0, 0);
    for seed in 0..40 {
        let recipe = generate::controlled(seed);
        if recipe.any(|step| matches!(step, Step::Cond(..))) {
            branches += 1;
            seen += usize::from(check::failure(&recipe, &pipelines, &|_| true).0.is_some());
        }
    }
    assert!(branches > 20 && seen > 5, "{seen} of {branches} programs with branches");
}

/// Long axes of which little is read: values, signs of zeros and first derivatives.
#[test]
fn programs_with_long_axes_agree() {
    let (mut rules, seeds) = (BTreeSet::new(), seeds(40_000, 16));
    let asked = [Question::Outputs, Question::Signs, Question::Gradient];
    let usual = seeds.clone().count() >= 50;
    for seed in seeds {
        let recipe = generate::long(seed);
        check::assert_agree_about(&recipe, &|p| asked.contains(&p.question));
        let (_, fired) = explain(Case::new(recipe).program(), Options::default());
        rules.extend(fired.iter().map(|f| f.rule));
    }
    // A rule that needs much to be left out, and asks whether indices are within bounds.
    assert!(!usual || rules.contains("gather_early"), "of the rules only these fire: {rules:?}");
}

/// A pipeline, and one that is wrong where a loop multiplies.
fn right_and_wrong() -> [Pipeline; 2] {
    let asked = PIPELINES.iter().find(|p| p.question == Question::Gradient).expect("some");
    [Pipeline { ..*asked }, Pipeline { name: "wrong where a loop multiplies", run: wrong, ..*asked }]
}

/// The other direction of the laws above: random programs find a wrong pipeline, and what is printed fails as well.
#[test]
fn a_wrong_pipeline_is_found() {
    let pipelines = right_and_wrong();
    // The tables of operations decide what a seed draws, and so which program fails first.
    let failing = (0..2000).find_map(|seed| {
        let recipe = generate::recipe(seed, true);
        // A short one, since it takes long to make a long one small.
        let suits = recipe.steps.len() <= 8 && recipe.any(|step| matches!(step, Step::Loop(_)));
        let found = if suits { check::failure(&recipe, &pipelines, &|_| true).0? } else { return None };
        Some((recipe, found))
    });
    let (recipe, failure) = failing.expect("loops that multiply are not rare");
    let (small, failure) = check::shrunk(&recipe, &pipelines, failure);
    assert!(check::failure(&small, &pipelines, &|_| true).0.is_some(), "what is left does not fail: {small}");
    let report = check::report(&small, &pipelines, &failure);
    assert!(report.contains("wrong where a loop multiplies") && report.contains(&small.to_string()), "{report}");
}

/// Everything but the loop and the product can go.
#[test]
fn a_program_that_fails_is_made_small() {
    let numbers = |shape: &[usize], seed: u64| Numbers { shape: shape.to_vec(), dtype: DType::F64, seed };
    let multiplying = Loop {
        n: 3,
        reverse: true,
        init: vec![1],
        xs: vec![2],
        body: vec![Step::Binary(Binary::Add, 4, 5), Step::Binary(Binary::Mul, 6, 3), Step::Unary(Unary::Tanh, 7)],
        next: vec![8],
        out: vec![7],
    };
    let recipe = Recipe {
        tame: true,
        inputs: vec![numbers(&[3, 2], 101), numbers(&[], 102)],
        steps: vec![
            Step::Unary(Unary::Cos, 0),
            Step::Binary(Binary::Add, 1, 2),
            Step::Loop(Box::new(multiplying)),
            Step::Unary(Unary::Sin, 4),
            Step::Concat(0, vec![5, 6]),
        ],
    };
    let pipelines = right_and_wrong();
    let failure = check::failure(&recipe, &pipelines, &|_| true).0.expect("a pipeline is wrong");
    let (small, _) = check::shrunk(&recipe, &pipelines, failure);
    let [Step::Loop(l)] = &small.steps[..] else { panic!("more than the loop is left: {small}") };
    assert!(matches!(&l.body[..], [Step::Binary(Binary::Mul, ..)]), "more than the product is left: {small}");
    assert!(small.inputs.iter().all(|input| input.shape.is_empty()) && l.xs.is_empty(), "{small}");
}

/// The gradient, but twice that where a loop multiplies.
fn wrong(case: &Case) -> Vec<Array> {
    let multiplies = |step: &Step| matches!(step, Step::Binary(Binary::Mul, ..));
    let mut found = false;
    case.recipe.each(&mut |step| found |= matches!(step, Step::Loop(l) if l.body.iter().any(multiplies)));
    let right = PIPELINES.iter().find(|p| p.question == Question::Gradient).expect("some");
    let gradient = (right.run)(case);
    if found { gradient.iter().map(|a| a.clone().accumulate(a)).collect() } else { gradient }
}

/// Every recipe is a program, also the smaller ones; and what is known of its results beforehand is so.
#[test]
fn smaller_recipes_are_programs() {
    fn law(recipe: Recipe) -> bool {
        recipe.smaller().iter().chain([&recipe]).all(check::has_expected_kinds)
    }
    QuickCheck::new().rng(Gen::from_size_and_seed(10, 1)).tests(12).quickcheck(law as fn(Recipe) -> bool);
}

impl Arbitrary for Recipe {
    fn arbitrary(g: &mut Gen) -> Recipe {
        generate::recipe(u64::arbitrary(g), bool::arbitrary(g))
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Recipe>> {
        Box::new(self.smaller().into_iter())
    }
}

/// What the laws are tried on: each operation occurs, in staged programs of default seeds, and most limits exist.
#[test]
fn random_programs_are_about_everything() {
    let mut seen = BTreeSet::new();
    let mut settled = 0;
    for seed in 0..200 {
        let recipe = generate::recipe(seed, true);
        settled += usize::from(check::settles(&recipe));
        recipe.each(&mut |step| {
            seen.insert(match step {
                Step::Constant(_) => "constant".to_string(),
                Step::Unary(op, _) => op.name().to_string(),
                Step::Binary(op, ..) => op.name().to_string(),
                Step::Discrete(op, _) => op.name().to_string(),
                Step::Select(..) => "select".to_string(),
                Step::Cond(..) => "cond".to_string(),
                Step::Linear(op, _) => format!("linear {}", op.name()),
                Step::Contract(..) => "contract".to_string(),
                Step::Reduce(op, _) => format!("reduce {}", op.name()),
                Step::Gather(_, ix) => format!("gather by {}", ix.len()),
                Step::Scatter(_, ix, _) => format!("scatter by {}", ix.len()),
                Step::Concat(..) => "concat".to_string(),
                Step::Ruled(rules, ..) => format!("rules {rules:?}"),
                Step::Matrix(op, ..) => format!("matrix {}", op.name()),
                Step::Solved(equation, ..) => format!("solved {equation:?}"),
                Step::While(_, bound, _) => format!("while {bound:?}"),
                Step::Loop(l) => {
                    let inner = l.body.iter().any(|step| matches!(step, Step::Loop(_)));
                    format!("loop {} carry {} nested {inner} reverse {}", l.n.min(2), !l.init.is_empty(), l.reverse)
                }
            });
        });
    }
    let rows = Unary::ALL.iter().map(|op| op.name()).chain(Binary::ALL.iter().map(|op| op.name()));
    for name in rows.chain([
        "linear view",
        "linear sum",
        "linear reshape",
        "linear cast",
        "linear fourier",
        "linear prefix_sum",
        "reduce max",
        "reduce min",
        "gather by 2",
        "scatter by 2",
        "rules Jvp",
        "rules Both",
        "rules Host",
        "solved Root",
        "solved FixedPoint",
        "solved Minimum",
        "while Most",
        "while None",
    ]) {
        assert!(seen.contains(name), "no program has {name}");
    }
    let loops = seen.iter().filter(|name| name.starts_with("loop")).count();
    assert!(loops >= 20, "only {loops} of 24 kinds of loops");
    assert!(settled > 60, "only {settled} of 200 programs have limits");
}
