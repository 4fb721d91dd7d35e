//! Small programs whose numbers are exact: with rules and without, interpreted, compiled, exported, saved, the results are
//! equal to the bit.
//!
//! Law: all numbers of such a program, and of its gradient, are integers or multiples of a half, so small that no
//! operation rounds. Every rule and every pass therefore keeps each result. The programs are about what rules ask:
//! views that read out of bounds, masks and indices computed from `iota` and from extreme integers, gathers and
//! scatters out of bounds, values with one use and with several, loops of a few trips; and about what compiled steps ask:
//! views with offsets on both sides of products, stencils beside positions, values that several read at shifted places,
//! carries that become still, counters, rows that loops share, equal extents, and now and then rows as long as vectors and
//! thousands of elements. One in six programs is in single precision.
//!
//! `POLYGRAD_FUZZ` and `POLYGRAD_SEED` are as for the other random programs.

mod focused;
mod loops;
mod maker;
mod shared;

use polygrad::array::Rng;
use polygrad::ops::{Binary, Compare, Discrete, Linear};
use polygrad::passes::{Options, optimize, simplify, simplify_with, vectorize};
use polygrad::program::{Builder, Constant, NodeId, Op, Program, Slot, interpret};
use polygrad::shape::size;
use polygrad::symbolic;
use polygrad::{Array, DType};

use crate::check::quietly;
use crate::pipelines::{exported, in_segments, run, run_in_blocks, saved_and_loaded};
use crate::seeds;
use crate::support::floats;
use maker::{Extents, Maker};

/// A program of this seed.
fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let extents = Extents::drawn(&mut rng);
    let float = if rng.below(6) == 0 { DType::F32 } else { DType::F64 };
    let mut maker = Maker::new(rng.split(), 0, extents, float);
    for dtype in [float, float, DType::I64, DType::Bool] {
        let shape = maker.shape(2);
        maker.input(&shape, dtype, 3.0);
    }
    if rng.below(4) == 0 {
        let results = maker.sharing();
        return maker.b.finish(&results, &[]);
    }
    let count = 1 + rng.below(2);
    let results: Vec<NodeId> = (0..count)
        .map(|_| {
            let shape = maker.shape(3);
            let dtype = maker.one(&[float, float, float, DType::I64, DType::Bool]);
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
            DType::F64 => Array::new(&slot.shape, all.iter().map(|x| *x as f64).collect()),
            DType::F32 => Array::new(&slot.shape, all.iter().map(|x| *x as f32).collect()),
        }
    };
    program.inputs().iter().map(&mut one).collect()
}

/// Whether results are equal.
pub(crate) fn same(a: &[Array], b: &[Array]) -> bool {
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

/// A way to the results of a program: another program, and what runs it.
struct Way {
    name: &'static str,
    pass: fn(&Program) -> Program,
    run: fn(&Program, &[Array]) -> Vec<Array>,
}

const fn way(name: &'static str, pass: fn(&Program) -> Program, run: fn(&Program, &[Array]) -> Vec<Array>) -> Way {
    Way { name, pass, run }
}

fn interpreted(program: &Program, at: &[Array]) -> Vec<Array> {
    interpret(program, at.to_vec())
}

const WAYS: &[Way] = &[
    way("rules", simplify, interpreted),
    way("fast rules", |p| simplify_with(p, Options { fast_math: true, ..Options::default() }), interpreted),
    way("vectorize", vectorize, interpreted),
    way("optimize", optimize, interpreted),
    way("optimize, compile", optimize, run),
    way("compile", Program::clone, run),
    way("optimize, compile in small blocks, on several threads", optimize, run_in_blocks),
    way("cut in segments, optimize, compile", |p| optimize(&in_segments(p)), run),
    way("save, load, optimize, compile", |p| optimize(&saved_and_loaded(p)), run),
    way("export, evaluate", Program::clone, exported),
    way("optimize, export, evaluate", optimize, exported),
];

/// Whether numbers are so small that they did not round.
pub(crate) fn are_exact(results: &[Array]) -> bool {
    results.iter().all(|a| match a.dtype() {
        DType::I64 | DType::Bool => true,
        DType::F64 => floats(a).iter().all(|x| x.abs() <= 2f64.powi(45)),
        DType::F32 => floats(a).iter().all(|x| x.abs() <= 2f64.powi(16)),
    })
}

/// What differs in some of the ways, or is out of range in it, in words.
fn fault(program: &Program, at: &[Array], ways: &[&Way]) -> Option<String> {
    let expected = interpret(program, at.to_vec());
    if !are_exact(&expected) {
        return None;
    }
    ways.iter().find_map(|Way { name: way, pass, run }| {
        let found = quietly(|| {
            let simple = pass(program);
            (run(&simple, at), simple)
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
fn smallest(program: &Program, at: &[Array], ways: &[&Way]) -> Option<String> {
    let is_value = |k: &usize| !matches!(program.nodes()[*k].op, Op::Loop(_) | Op::Custom(..));
    (program.inputs().len()..program.nodes().len())
        .filter(is_value)
        .find_map(|k| fault(&with_result(program, k), at, ways))
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
        let sum = b.apply(Op::Linear(Box::new(Linear::sum(&shape, &axes)), now[*r as usize]));
        match b.node(sum).dtype {
            DType::F32 => b.apply(Op::Linear(Box::new(Linear::cast(&[], DType::F32, DType::F64)), sum)),
            DType::F64 | DType::I64 | DType::Bool => sum,
        }
    });
    let sums: Vec<NodeId> = sums.collect();
    let total = sums.into_iter().reduce(|x, y| b.apply(Op::Binary(Binary::Add, x, y)))?;
    Some(symbolic::grad(&b.finish(&[total], &[])))
}

/// The program of this seed and its gradient, with values of their inputs.
pub(crate) fn programs(seed: u64, rng: &mut Rng) -> (Vec<Program>, Vec<Array>) {
    let program = program(seed);
    let at = inputs(&program, rng);
    let gradient = quietly(|| gradient(&program));
    let gradient = gradient.unwrap_or_else(|words| panic!("seed {seed}: the gradient panics, {words}: {program}"));
    ([Some(program), gradient].into_iter().flatten().collect(), at)
}

/// Compares so many ways of running the program of this seed, and its gradient, with its results: how many were compared.
/// It panics with the smallest value that differs.
pub(crate) fn check(seed: u64, count: usize) -> u64 {
    let mut rng = Rng::new(seed);
    let (programs, at) = programs(seed, &mut rng);
    let mut compared = 0;
    for program in programs {
        let ways: Vec<&Way> = rng.permutation(WAYS.len()).into_iter().take(count).map(|k| &WAYS[k]).collect();
        if let Some(fault) = fault(&program, &at, &ways) {
            panic!("seed {seed}: {}", smallest(&program, &at, &ways).unwrap_or(fault));
        }
        compared += ways.len() as u64;
    }
    compared
}

/// Masks that compare positions with integers next to which others wrap around.
#[test]
fn positions_are_compared_with_extreme_integers() {
    for far in [i64::MIN, i64::MIN + 1, -1, 0, 3, i64::MAX - 1, i64::MAX] {
        for op in Compare::ALL {
            let mut b = Builder::literal();
            let i = b.apply(Op::Discrete(Discrete::Iota { n: 4 }, [].as_slice().into()));
            let c = b.apply(Op::Constant(Constant(Array::full(&[4], far))));
            let masks = [[i, c], [c, i]].map(|args| b.apply(Op::Discrete(Discrete::Compare(*op), args.into())));
            let program = b.finish(&masks, &[]);
            assert_eq!(fault(&program, &[], &WAYS.iter().collect::<Vec<_>>()), None);
        }
    }
}

/// Programs in which each trip of a loop adds a value by a scatter-add without an index, which a pass once took for one
/// with an index.
#[test]
fn trips_that_add_at_no_index() {
    for seed in [73_028_397, 73_059_879, 73_061_166, 73_192_206, 73_237_537] {
        check(seed, WAYS.len());
    }
}

#[test]
fn passes_keep_exact_numbers() {
    for seed in seeds(50_000, 300) {
        check(seed, 3);
    }
}
