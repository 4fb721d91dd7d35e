//! What is exported is imported again: a random program computes the bits that it had.
//!
//! Law: the import of the export of a program gives the elements of the program, bit by bit, but for which NaN it is and
//! for the sign of zeros, which results do not show. The exceptions are operations that StableHLO has not, and sums in an
//! order of their own ([`rounds_otherwise`]): the rows `exported, imported` of [`PIPELINES`](crate::pipelines::PIPELINES)
//! hold these up to rounding.
//!
//! Each seed is drawn in one of four ways, and asked in five forms: recorded, in bulk, its derivatives in both modes, and in
//! branches. `POLYGRAD_FUZZ=2000` tries 10,000 programs.

use polygrad::import::Module;
use polygrad::internals::branched;
use polygrad::ops::{Binary, Linear, Unary};
use polygrad::passes::{optimize, simplify, vectorize};
use polygrad::program::{Op, Program, interpret};
use polygrad::{Array, DType, symbolic};

use crate::check::quietly;
use crate::pipelines::Case;
use crate::recipe::Recipe;
use crate::{generate, seeds};

/// The elements as bits, those of each NaN and of both zeros alike.
fn bits(a: &Array) -> Vec<u64> {
    fn of<X: PartialOrd + Copy + Default>(all: Vec<X>, bits: impl Fn(X) -> u64) -> Vec<u64> {
        #[allow(clippy::eq_op, reason = "NaN differs from itself")]
        let one = |x: &X| match (*x == *x, *x == X::default()) {
            (false, _) => u64::MAX,
            (_, true) => 0,
            _ => bits(*x),
        };
        all.iter().map(one).collect()
    }
    match a.dtype() {
        DType::F64 => of(a.to_vec::<f64>().expect("floats"), f64::to_bits),
        DType::F32 => of(a.to_vec::<f32>().expect("floats"), |x| x.to_bits().into()),
        DType::I64 => of(a.to_vec::<i64>().expect("integers"), |n| n as u64),
        DType::Bool => of(a.to_vec::<bool>().expect("masks"), u64::from),
    }
}

/// How results differ.
fn difference(found: &[Array], expected: &[Array]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} results, not {}", found.len(), expected.len()));
    }
    found.iter().zip(expected).enumerate().find_map(|(k, (a, b))| {
        let alike = (a.shape(), a.dtype()) == (b.shape(), b.dtype()) && bits(a) == bits(b);
        (!alike).then(|| format!("result {k} is {a:?}, not {b:?}"))
    })
}

/// Whether an operation of a program is one that StableHLO has not, and that is written there by a formula that rounds in
/// another way than its kernel; or a sum of products, of a transform or of a factorization, in another order.
fn rounds_otherwise(program: &Program) -> bool {
    program.nodes().iter().any(|node| match &node.op {
        Op::Unary(op, _) => matches!(op, Unary::Gaussian | Unary::Sech2 | Unary::Trigamma),
        Op::Binary(op, ..) => {
            matches!(op, Binary::Hypot | Binary::Polygamma | Binary::PowLessOne | Binary::RecipReal)
        }
        Op::Linear(op, _) => matches!(**op, Linear::PrefixSum { .. } | Linear::Fourier { .. }),
        Op::Contract(op, ..) => {
            let kept = |axis: usize| (0..op.out.source().len()).any(|row| op.out.row(row)[axis] != 0);
            (0..op.out.shape().len()).any(|axis| op.out.shape()[axis] > 1 && !kept(axis))
        }
        Op::Call(..) => true,
        Op::Loop(l) => rounds_otherwise(&l.body),
        Op::Custom(c, _) => rounds_otherwise(c.primal()),
        Op::Input(_) | Op::Constant(_) | Op::Discrete(..) | Op::Select(_) | Op::Reduce(..) => false,
        Op::Gather(..) | Op::ScatterAdd(..) | Op::Concat(..) | Op::Output(..) => false,
    })
}

/// What became of a program.
#[derive(Debug, PartialEq)]
enum Outcome {
    Equal,
    /// It has an operation that rounds elsewhere.
    Rounded,
    /// It has code of the host, or does not run.
    Refused,
    Wrong(String),
}

fn outcome(program: &Program, x: &[Array]) -> Outcome {
    let Ok(exported) = program.exported("random") else { return Outcome::Refused };
    let Ok(expected) = quietly(|| interpret(program, x.to_vec())) else { return Outcome::Refused };
    match quietly(|| Module::parse(&exported.text).and_then(|module| module.try_call(x))) {
        Err(words) => Outcome::Wrong(format!("the import panics: {words}")),
        Ok(Err(error)) => Outcome::Wrong(error.to_string()),
        Ok(Ok(_)) if rounds_otherwise(program) => Outcome::Rounded,
        Ok(Ok(found)) => difference(&found, &expected).map_or(Outcome::Equal, Outcome::Wrong),
    }
}

const FORMS: u64 = 5;

/// A recipe as a program, with its inputs; `None` if it is not recorded.
fn form(recipe: &Recipe, form: u64) -> Option<(Program, Vec<Array>)> {
    let case = Case::new(recipe.clone());
    let x = case.x.0.clone();
    let made = || match form {
        0 => (case.outputs().clone(), x),
        1 => (simplify(&vectorize(case.outputs())), x),
        2 => (optimize(&symbolic::grad(case.program())), x),
        3 => (branched(case.outputs()), x),
        _ => (symbolic::jvp(case.outputs()), [x, case.v.0.clone()].concat()),
    };
    quietly(made).ok()
}

fn asked(recipe: &Recipe, k: u64) -> Outcome {
    form(recipe, k).map_or(Outcome::Refused, |(program, x)| outcome(&program, &x))
}

/// A smaller recipe that is wrong, too, with its words.
fn smaller(recipe: &Recipe, k: u64) -> Option<(Recipe, String)> {
    recipe.smaller().into_iter().find_map(|recipe| match asked(&recipe, k) {
        Outcome::Wrong(what) => Some((recipe, what)),
        Outcome::Equal | Outcome::Rounded | Outcome::Refused => None,
    })
}

#[test]
fn what_is_exported_is_imported_bit_by_bit() {
    let [mut equal, mut rounded, mut refused] = [0; 3];
    for seed in seeds(500_000, 40) {
        let recipe = match seed % 4 {
            0 => generate::recipe(seed, true),
            1 => generate::recipe(seed, false),
            2 => generate::singular(seed),
            _ => generate::degenerate(seed),
        };
        for k in 0..FORMS {
            match asked(&recipe, k) {
                Outcome::Equal => equal += 1,
                Outcome::Rounded => rounded += 1,
                Outcome::Refused => refused += 1,
                Outcome::Wrong(what) => {
                    let (mut recipe, mut what) = (recipe.clone(), what);
                    while let Some((next, words)) = smaller(&recipe, k) {
                        (recipe, what) = (next, words);
                    }
                    let (program, _) = form(&recipe, k).expect("it was recorded");
                    let text = program.to_stablehlo("random").expect("it was exported");
                    panic!("seed {seed}, form {k}: {what}\n{program}\n{text}\n{recipe}");
                }
            }
        }
    }
    println!("{equal} equal, {rounded} with composed operations, {refused} refused");
    assert!(equal > 4 * refused && equal > rounded, "{equal} equal, {rounded} rounded, {refused} refused");
}
