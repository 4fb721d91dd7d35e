//! Small programs whose numbers are exact: with rules and without, the results are equal to the bit.
//!
//! Law: all numbers of such a program, and of its gradient, are integers or multiples of a half, so small that no
//! operation rounds. Every rule and every pass therefore keeps each result. The programs are about what rules ask:
//! views that read out of bounds, masks and indices computed from `iota` and from extreme integers, gathers and
//! scatters out of bounds, values with one use and with several, loops of a few trips.
//!
//! `POLYGRAD_FUZZ` and `POLYGRAD_SEED` are as for the other random programs.

mod focused;
mod loops;
mod maker;

use polygrad::array::Rng;
use polygrad::ops::{Binary, Linear};
use polygrad::passes::{Options, optimize, simplify, simplify_with, vectorize};
use polygrad::program::{Builder, NodeId, Op, Program, Slot, interpret};
use polygrad::shape::size;
use polygrad::symbolic;
use polygrad::{Array, DType};

use crate::check::quietly;
use crate::seeds;
use crate::support::floats;
use maker::Maker;

/// A program of this seed.
fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let mut maker = Maker { rng: rng.split(), b: Builder::literal(), bounds: Vec::new(), inside: 0 };
    for dtype in [DType::F64, DType::F64, DType::I64, DType::Bool] {
        let shape = maker.shape(2);
        maker.input(&shape, dtype, 3.0);
    }
    let count = 1 + rng.below(2);
    let results: Vec<NodeId> = (0..count)
        .map(|_| {
            let shape = maker.shape(3);
            let dtype = maker.one(&[DType::F64, DType::F64, DType::F64, DType::I64, DType::Bool]);
            let depth = 2 + maker.rng.below(3);
            if maker.rarely(2) { maker.focused(&shape) } else { maker.value(&shape, dtype, depth) }
        })
        .collect();
    maker.b.finish(&results, &[])
}

/// Small integers for each input.
fn inputs(program: &Program, rng: &mut Rng) -> Vec<Array> {
    let mut one = |slot: &Slot| {
        let all: Vec<i64> = (0..size(&slot.shape)).map(|_| rng.below(7) as i64 - 3).collect();
        match slot.dtype {
            DType::Bool => Array::new(&slot.shape, all.iter().map(|x| *x > 0).collect()),
            DType::I64 => Array::new(&slot.shape, all.iter().map(|x| 2 * x + 3).collect()),
            DType::F64 | DType::F32 => Array::new(&slot.shape, all.iter().map(|x| *x as f64).collect()),
        }
    };
    program.inputs().iter().map(&mut one).collect()
}

fn same(a: &[Array], b: &[Array]) -> bool {
    let equal = |(a, b): (&Array, &Array)| {
        (a.shape(), a.dtype()) == (b.shape(), b.dtype())
            && if a.dtype() == DType::I64 {
                a.to_vec::<i64>().ok() == b.to_vec::<i64>().ok()
            } else {
                floats(a) == floats(b)
            }
    };
    a.len() == b.len() && a.iter().zip(b).all(equal)
}

/// What differs after a pass, or is out of range in it, in words.
fn fault(program: &Program, at: &[Array]) -> Option<String> {
    let expected = interpret(program, at.to_vec());
    // Larger numbers may round.
    let exact = |a: &Array| a.dtype() == DType::I64 || floats(a).iter().all(|x| x.abs() <= 2f64.powi(45));
    if !expected.iter().all(exact) {
        return None;
    }
    let fast = Options { fast_math: true, ..Options::default() };
    let ways: [(&str, &dyn Fn() -> Program); 4] = [
        ("rules", &|| simplify(program)),
        ("fast rules", &|| simplify_with(program, fast)),
        ("vectorize", &|| vectorize(program)),
        ("optimize", &|| optimize(program)),
    ];
    ways.into_iter().find_map(|(way, pass)| {
        let found = quietly(|| {
            let simple = pass();
            (interpret(&simple, at.to_vec()), simple)
        });
        match found {
            Ok((found, _)) if same(&expected, &found) => None,
            Ok((found, simple)) => {
                Some(format!("by {way} {expected:?} became {found:?} at {at:?}: {program}\nis {simple}"))
            }
            Err(words) => Some(format!("by {way} a panic, {words}: {program}")),
        }
    })
}

/// The program with one of its values as its only result.
fn with_result(program: &Program, result: usize) -> Program {
    let mut b = Builder::literal();
    let mut now: Vec<NodeId> = program.inputs().iter().map(|slot| b.input(slot.clone())).collect();
    for node in &program.nodes()[now.len()..] {
        now.push(b.apply(node.op.map(&mut |a| now[*a as usize])));
    }
    b.finish(&[now[result]], &[])
}

/// The fault of the first value that differs, if a value alone does.
fn smallest(program: &Program, at: &[Array]) -> Option<String> {
    let is_value = |k: &usize| !matches!(program.nodes()[*k].op, Op::Loop(_) | Op::Custom(..));
    (program.inputs().len()..program.nodes().len()).filter(is_value).find_map(|k| fault(&with_result(program, k), at))
}

/// The gradient of the sum of the floats among the results.
fn gradient(program: &Program) -> Option<Program> {
    let floats = |k: &usize| program.outputs()[*k].dtype.is_float();
    let results: Vec<NodeId> = (0..program.outputs().len()).filter(floats).map(|k| program.results()[k]).collect();
    let mut b = Builder::literal();
    let mut now: Vec<NodeId> = program.inputs().iter().map(|slot| b.input(slot.clone())).collect();
    for node in &program.nodes()[now.len()..] {
        now.push(b.apply(node.op.map(&mut |a| now[*a as usize])));
    }
    let sums = results.iter().map(|r| {
        let shape = b.node(now[*r as usize]).shape.clone();
        let axes: Vec<usize> = (0..shape.len()).collect();
        b.apply(Op::Linear(Box::new(Linear::sum(&shape, &axes)), now[*r as usize]))
    });
    let sums: Vec<NodeId> = sums.collect();
    let total = sums.into_iter().reduce(|x, y| b.apply(Op::Binary(Binary::Add, x, y)))?;
    Some(symbolic::gradient(&b.finish(&[total], &[])))
}

#[test]
fn rules_keep_exact_numbers() {
    for seed in seeds(50_000, 300) {
        let program = program(seed);
        let at = inputs(&program, &mut Rng::new(seed));
        let gradient = quietly(|| gradient(&program));
        let gradient = gradient.unwrap_or_else(|words| panic!("seed {seed}: the gradient panics, {words}: {program}"));
        for program in [Some(program), gradient].into_iter().flatten() {
            if let Some(fault) = fault(&program, &at) {
                panic!("seed {seed}: {}", smallest(&program, &at).unwrap_or(fault));
            }
        }
    }
}
