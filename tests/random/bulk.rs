//! Random programs in bulk: what the paper's theorem 5.1 says of them, and what they cost.
//!
//! Laws, of a program and of its gradient: no loop without a carry remains; single elements are read of variables alone; a
//! vectorized program does not take more than a few times the work and the bytes of the recorded one; an optimized one takes
//! no more than the recorded one.

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
    let all = seeds(30_000, 400);
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
            let bulk = vectorize(program);
            for bulk in [&bulk, &ready] {
                assert!(has_no_build(bulk), "seed {seed}: a build remains of {program}\nin {bulk}");
            }
            // A value that all trips of a small loop share is replicated in bulk, which the cost of the loop did not
            // count; and programs of a few elements have a few more now and then.
            for (bulk, percent, free) in [(bulk, 200, 500), (ready, 25, 32)] {
                let after = cost(&bulk);
                let dear = |before: u64, after: u64, free: u64| 100 * after > (100 + percent) * before + 100 * free;
                let elements = |cost: Cost| cost.work + cost.bytes / 8;
                assert!(
                    !dear(elements(before), elements(after), free)
                        && !dear(before.work, after.work, free)
                        && !dear(before.bytes, after.bytes, 8 * free),
                    "seed {seed}: {before:?} became {after:?}: {program}\nis {bulk}"
                );
            }
        }
    }
    assert!(reads >= enough, "only {reads} single elements were read");
}
