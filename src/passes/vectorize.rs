//! `vectorize`: loops become bulk operations.
//!
//! A loop without a carry is a `build`: its trips do not depend on each other, and the loop becomes its body on stacks
//! ([`super::batch`]). A carry that only adds up, like those of a transposed loop, is removed: the added values become
//! an output, which is summed outside ([`super::carries`]). A carry that counts becomes a sequence
//! ([`super::counters`]). The loops that remain are recurrences: their bodies are vectorised, and the parts that need
//! not run trip by trip are computed in bulk before and after the loop ([`super::fission`]). This extends section 5 of
//! "Dual-numbers reverse AD for array languages" to loops.
//!
//! Laws: values and derivatives are unchanged up to the order of sums; no `build` remains; the program never becomes
//! asymptotically more expensive in operations or bytes. Its peak memory can grow: values that the trips of a loop held
//! one after the other are held at once.

use super::batch::{Value, batch};
use super::carries::Split;
use super::counters::counters;
use super::fission::fission;
use crate::program::{Builder, Loop, NodeId, Op, Program};

/// The program in bulk: no loop without a carry remains.
///
/// ```
/// use polygrad::passes::vectorize;
/// use polygrad::{Function, Tensor, build1, tensor};
/// let x = tensor([1.0, 2.0, 3.0]);
/// let f = |x: &Tensor<_, 1>, _: &()| build1(3, |i| x.at([i]).sin() * 2.0);
/// let f = Function::stage(f, &x, &());
/// assert_eq!(vectorize(f.program()).to_string(), "program(x: f64[3]) {\n  return 2.0 * sin x\n}");
/// ```
#[allow(clippy::wildcard_enum_match_arm, reason = "what is no loop and has no programs inside stays")]
pub fn vectorize(program: &Program) -> Program {
    let mut b = Builder::new();
    let mut made: Vec<Vec<NodeId>> = program.inputs().iter().map(|slot| vec![b.input(slot.clone())]).collect();
    let mut taken = program.results_taken();
    for (k, node) in program.nodes().iter().enumerate().skip(program.inputs().len()) {
        let of = |a: &NodeId| made[*a as usize][0];
        let next = match &node.op {
            Op::Loop(l) => {
                let taken = taken[k].take().unwrap_or_default();
                let l = Loop {
                    n: l.n,
                    reverse: l.reverse,
                    body: vectorize(&without_dead_outputs(l, &taken)),
                    init: l.init.iter().map(of).collect(),
                    xs: l.xs.iter().map(of).collect(),
                    captured: l.captured.iter().map(of).collect(),
                };
                let (carried, mut results) = (l.init.len(), looped(&mut b, l));
                // Nothing refers to an output that is not taken.
                (carried..taken.len()).filter(|k| !taken[*k]).for_each(|k| results.insert(k, NodeId::MAX));
                results
            }
            Op::Custom(custom, args) => {
                let custom = custom.map(&mut |p| vectorize(p));
                let results = 0..custom.primal().outputs().len();
                let id = b.apply(Op::Custom(custom.into(), args.iter().map(of).collect()));
                results.map(|k| b.apply(Op::Output(id, k))).collect()
            }
            Op::Output(a, position) => vec![made[*a as usize][*position]],
            op => vec![b.add(op.map(&mut |a| of(a)), node.shape.clone(), node.dtype)],
        };
        made.push(next);
    }
    let results: Vec<NodeId> = program.results().iter().map(|r| made[*r as usize][0]).collect();
    let names: Vec<String> = program.outputs().iter().map(|slot| slot.name.clone()).collect();
    b.finish(&results, &names)
}

/// The body of a loop without the outputs that are not taken: they must not decide how the loop is split.
fn without_dead_outputs(l: &Loop<NodeId>, taken: &[bool]) -> Program {
    let (carried, results) = (l.init.len(), l.body.results());
    let kept = |k: &usize| *k < carried || taken[*k];
    if (0..results.len()).all(|k| kept(&k)) {
        return l.body.clone();
    }
    let results: Vec<NodeId> = (0..results.len()).filter(kept).map(|k| results[k]).collect();
    l.body.with_results(&results)
}

/// The results of a loop whose body is vectorised.
fn looped(b: &mut Builder, l: Loop<NodeId>) -> Vec<NodeId> {
    let (l, counted) = counters(b, l);
    let split = Split::of(l);
    let l = split.rest();
    let results = if l.init.is_empty() {
        let xs = l.xs.iter().map(|x| Value::stack(*x));
        let inputs: Vec<Value> = xs.chain(l.captured.iter().map(|c| Value::single(*c))).collect();
        batch(b, l.n, &l.body, &inputs)
    } else {
        fission(b, l)
    };
    let mut results = split.together(b, results);
    counted.into_iter().for_each(|(k, last)| results.insert(k, last));
    results
}
