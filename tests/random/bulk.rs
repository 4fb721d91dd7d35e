//! Random programs in bulk: what the paper's theorem 5.1 says of them, and what they cost.
//!
//! Laws: no loop without a carry remains; and neither the work nor the bytes of a program and of its gradient become more
//! than a few times what they are element by element.

use polygrad::inspect::{Cost, count};
use polygrad::passes::{optimize, vectorize};
use polygrad::program::{Op, Program, interpret};

use crate::gallery::Leaves;
use crate::pipelines::{Case, Question};
use crate::{generate, seeds};

/// Whether no loop of the program, inside of others included, is without a carry.
#[allow(clippy::wildcard_enum_match_arm, reason = "other operations contain no loops here")]
fn has_no_build(program: &Program) -> bool {
    program.nodes().iter().all(|node| match &node.op {
        Op::Loop(l) => !l.init.is_empty() && has_no_build(&l.body),
        _ => true,
    })
}

#[test]
fn no_build_remains_and_nothing_gets_dear() {
    for seed in seeds(300) {
        let case = Case::new(generate::recipe(seed, true));
        let cost = |program: &Program| -> Cost {
            count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &case.x).1.total()
        };
        let gradient = case.answers(Question::Gradient).then(|| case.gradient());
        for program in std::iter::once(case.program()).chain(gradient) {
            let before = cost(program);
            for bulk in [vectorize(program), optimize(program)] {
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
}
