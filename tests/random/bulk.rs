//! Random programs in bulk: what the paper's theorem 5.1 says of them, and what they cost.
//!
//! Laws: no loop without a carry remains; single elements are read of variables alone; and neither the work nor the bytes of a program and of its gradient become more
//! than a few times what they are element by element; an optimized one does not cost more than what was recorded.

use polygrad::inspect::{Cost, count};
use polygrad::passes::{optimize, vectorize};
use polygrad::program::{Program, interpret};

use crate::forms::{has_no_build, reads_only_variables, single_reads};
use crate::gallery::Leaves;
use crate::pipelines::{Case, Question};
use crate::{generate, seeds};

#[test]
fn no_build_remains_and_nothing_gets_dear() {
    let mut reads = 0;
    let all = seeds(1000);
    let enough = (all.end - all.start) as usize / 20;
    for seed in all {
        let case = Case::new(generate::recipe(seed, true));
        let cost = |program: &Program| -> Cost {
            count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &case.x).1.total()
        };
        let gradient = case.answers(Question::Gradient).then(|| case.gradient());
        for program in std::iter::once(case.program()).chain(gradient) {
            let before = cost(program);
            let ready = optimize(program);
            reads += single_reads(&ready);
            assert!(
                reads_only_variables(&ready),
                "seed {seed}: an element of a formula is read: {program}\nis {ready}"
            );
            for bulk in [vectorize(program), ready] {
                assert!(has_no_build(&bulk), "seed {seed}: a build remains of {program}\nin {bulk}");
                let after = cost(&bulk);
                let dear = |before: u64, after: u64, free: u64| after > 3 * before + free;
                assert!(
                    !dear(before.work, after.work, 500) && !dear(before.bytes, after.bytes, 5000),
                    "seed {seed}: {before:?} became {after:?}: {program}\nis {bulk}"
                );
            }
        }
    }
    assert!(reads >= enough, "only {reads} single elements were read");
}

/// An optimized program and its gradient cost no more than recorded ones, up to 25 %. A value that all trips of a small loop
/// share is replicated in bulk, which the cost of the loop did not count.
#[test]
fn nothing_gets_dearer_than_recorded() {
    for seed in seeds(1000) {
        let case = Case::new(generate::recipe(seed, true));
        let cost = |program: &Program| -> Cost {
            count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &case.x).1.total()
        };
        let gradient = case.answers(Question::Gradient).then(|| case.gradient());
        for program in std::iter::once(case.program()).chain(gradient) {
            let ready = optimize(program);
            let (before, after) = (cost(program), cost(&ready));
            // Programs of a few elements have a few more now and then.
            let dear =
                |before: u64, after: u64, percent: u64, free: u64| 100 * after > (100 + percent) * before + 100 * free;
            let elements = |cost: Cost| cost.work + cost.bytes / 8;
            assert!(
                !dear(elements(before), elements(after), 25, 32)
                    && !dear(before.work, after.work, 25, 32)
                    && !dear(before.bytes, after.bytes, 25, 256),
                "seed {seed}: {before:?} became {after:?}: {program}\nis {ready}"
            );
        }
    }
}
