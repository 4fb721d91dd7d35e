//! Random programs in bulk: what theorem 5.1 of "Dual arrays" says of them, and what they cost.
//!
//! Laws, of a program and of its gradient: no loop without a carry remains; single elements are read of variables
//! alone; a vectorized program does not take more than a few times the work and the bytes of the recorded one; an
//! optimized one takes no more than the recorded one, up to 5 %. There are three exceptions: rows of loops that end by themselves
//! wait for each other, so programs with these in loops are not measured; nor are programs with a search, which takes a trip
//! more or less after other rounding; and an operation in bulk repeats a
//! value that all trips of a loop share, which an operation in a trip reads as it is. Such views are counted apart.

use polygrad::DType;
use polygrad::inspect::{Cost, count};
use polygrad::ops::Linear;
use polygrad::passes::{optimize, vectorize};
use polygrad::program::{Op, Program, interpret};
use polygrad::shape::size;

use crate::forms::{has_no_build, reads_only_variables, single_reads};
use crate::gallery::Leaves;
use crate::pipelines::Case;
use crate::recipe::Step;
use crate::{generate, seeds};

/// The work and bytes of the views that repeat a smaller value, in all trips.
fn repeated(program: &Program, times: u64) -> [u64; 2] {
    let mut all = [0, 0];
    for node in program.nodes() {
        let [work, bytes] = match &node.op {
            Op::Linear(op, a) => match &**op {
                Linear::Affine { from, .. } => {
                    let ignores = |axis: &usize| (0..from.source().len()).all(|row| from.row(row)[*axis] == 0);
                    let repeats = (0..from.shape().len()).any(|axis| from.shape()[axis] > 1 && ignores(&axis));
                    let (of, elements) = (size(&program.nodes()[*a as usize].shape), size(&node.shape));
                    let elements = if repeats && elements > of { elements as u64 } else { 0 };
                    let width = match node.dtype {
                        DType::F64 | DType::I64 => 8,
                        DType::F32 => 4,
                        DType::Bool => 1,
                    };
                    [elements, 2 * elements * width]
                }
                Linear::Reshape { .. } | Linear::Cast { .. } => [0, 0],
                Linear::Fourier { .. } | Linear::PrefixSum { .. } => [0, 0],
            },
            Op::Loop(l) => repeated(&l.body, l.n as u64),
            Op::Custom(c, _) => repeated(c.primal(), 1),
            Op::Input(_) | Op::Constant(_) | Op::Unary(..) | Op::Binary(..) | Op::Discrete(..) | Op::Select(_) => {
                [0, 0]
            }
            Op::Contract(..) | Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) => [0, 0],
            Op::Concat(..) | Op::Call(..) | Op::Output(..) => [0, 0],
        };
        all = [all[0] + times * work, all[1] + times * bytes];
    }
    all
}

/// Holds the laws of the program of this seed against it; the number of single elements that it reads.
pub(crate) fn check(seed: u64) -> u64 {
    let mut reads = 0;
    let case = Case::new(generate::recipe(seed, true));
    let cost = |program: &Program| -> Cost {
        count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &case.x).1.total()
    };
    let ends = |step: &Step| matches!(step, Step::While(..));
    let searches = case.recipe.any(|step| matches!(step, Step::Solved(..)));
    let waits = case.recipe.any(|step| matches!(step, Step::Loop(l) if l.body.iter().any(|step| step.any(&ends))));
    for program in [case.program(), case.gradient()] {
        let before = cost(program);
        let ready = optimize(program);
        reads += single_reads(&ready) as u64;
        assert!(reads_only_variables(&ready), "seed {seed}: an element of a formula is read: {program}\nis {ready}");
        let bulk = vectorize(program);
        for bulk in [&bulk, &ready] {
            assert!(has_no_build(bulk), "seed {seed}: a build remains of {program}\nin {bulk}");
        }
        // In bulk, rows whose loops have ended wait for the others, and all take as long as the longest.
        if waits || searches {
            continue;
        }
        // Views that repeat a value, of which the recorded program has fewer.
        let (recorded, now) = (repeated(program, 1), repeated(&ready, 1));
        let repeats = [0, 1].map(|k| now[k].saturating_sub(recorded[k]));
        // Programs of a few elements have a few more now and then.
        for (bulk, percent, free, [work, bytes]) in [(bulk, 200, 500, [0, 0]), (ready, 5, 32, repeats)] {
            let after = cost(&bulk);
            let dear = |before: u64, after: u64, free: u64| 100 * after > (100 + percent) * before + 100 * free;
            let elements = |cost: Cost| cost.work + cost.bytes / 8;
            assert!(
                !dear(elements(before), elements(after), free + work + bytes / 8)
                    && !dear(before.work, after.work, free + work)
                    && !dear(before.bytes, after.bytes, 8 * free + bytes),
                "seed {seed}: {before:?} became {after:?}: {program}\nis {bulk}"
            );
        }
    }
    reads
}

#[test]
fn no_build_remains_and_nothing_gets_dear() {
    let all = seeds(30_000, 240);
    // About one in ten programs reads one.
    let enough = (all.end - all.start) / 50;
    let reads: u64 = all.map(check).sum();
    assert!(reads >= enough, "only {reads} single elements were read");
}
