//! The derivatives of composites in closed form, beside the optics that compute them: the formula of Faa di Bruno, and
//! its reverse ("Reverse Faa di Bruno", arXiv 2509.20931, for reverse derivatives of any order).
//!
//! With `f` from `A` to `B` and `g` from `B` to `C`, and sums over the partitions `P` of `{1, .., n}` into blocks:
//!
//! ```text
//! D^n (g . f)(x) [v_1, .., v_n]        = sum over P:  D^|P| g(f x) [D^|B| f(x) v_B for B in P]
//! D^n (g . f)(x) [v_1, .., v_(n-1), .]^t z
//!     = sum over P:  D^|C| f(x) [v_i for i in C but n, .]^t  D^|P| g(f x) [D^|B| f(x) v_B for B in P but C, .]^t z
//! ```
//!
//! where `C` is the block of `n`. The second one transposes the first in its last argument: that enters `f` with the
//! block `C`, so this block is transposed in `f`, its argument of `D^|P| g` in `g`, and the other blocks stay as they
//! are. So the outer function goes back first, then the inner one, once for each partition.

use polygrad::tree::Tree;
use polygrad::{Array, BaseTensor};
use polygrad_higher::interpreters::optic::{Stage, Staged, Wiring};
use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
use polygrad_higher::{Ground, Monoidal};

use super::agree::{close, numbers};
use super::optic_arrays::{Program3, Random, Three, Values, by_optic, program};

type First = ReverseOptic<Wires<Run<Array>>>;
type Second = ReverseOptic<First>;
type Third = ReverseOptic<Second>;
type Fourth = ReverseOptic<Third>;

/// All partitions of these elements into blocks, each of which has its elements in order.
fn partitions(elements: &[usize]) -> Vec<Vec<Vec<usize>>> {
    let Some((last, rest)) = elements.split_last() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for partition in partitions(rest) {
        for k in 0..partition.len() {
            let mut more = partition.clone();
            more[k].push(*last);
            all.push(more);
        }
        all.push([partition, vec![vec![*last]]].concat());
    }
    all
}

#[test]
fn partitions_are_counted_by_the_numbers_of_bell() {
    let counts: Vec<usize> = (0..6).map(|n| partitions(&(0..n).collect::<Vec<_>>()).len()).collect();
    assert_eq!(counts, [1, 1, 2, 5, 15, 52]);
}

fn sum(a: Values, b: &Values) -> Values {
    let leaves: Vec<Array> = a.leaves().into_iter().zip(b.leaves()).map(|(a, b)| a.accumulate(&b)).collect();
    Three::read(&mut leaves.into_iter())
}

/// The output of the last stage before the last: `D^m f(x) [v_1, .., v_m]` at order `m + 1`.
fn forward(f: &Program3, x: &Values, v: &[Values]) -> Values {
    fn last<W: Staged<Array>>(f: &Program3, x: &Values, v: &[Values]) -> Values {
        let stages = W::stages(&f.at::<W>());
        let mut y = stages[0].take::<Three, Three>(x);
        for (at, stage) in stages.iter().enumerate().take(stages.len() - 1).skip(1) {
            y = if at.is_power_of_two() && at > 1 {
                stage.take::<Three, Three>(&v[at.ilog2() as usize - 1])
            } else {
                stage.take_zero::<Three>()
            };
        }
        y
    }
    match v.len() {
        0 => last::<First>(f, x, v),
        1 => last::<Second>(f, x, v),
        2 => last::<Third>(f, x, v),
        _ => last::<Fourth>(f, x, v),
    }
}

/// The reverse formula, for `v_1, .., v_(n-1)` and a cotangent.
fn reverse_faa_di_bruno(f: &Program3, g: &Program3, x: &Values, v: &[Values], z: &Values) -> Values {
    let (n, y) = (v.len(), forward(f, x, &[]));
    let chosen = |block: &[usize]| -> Vec<Values> { block.iter().filter(|i| **i < n).map(|i| v[*i].clone()).collect() };
    let mut total: Option<Values> = None;
    for partition in partitions(&(0..=n).collect::<Vec<_>>()) {
        let (top, others): (Vec<_>, Vec<_>) = partition.into_iter().partition(|block| block.contains(&n));
        let inner: Vec<Values> = others.iter().map(|block| forward(f, x, &chosen(block))).collect();
        let term = by_optic(f, x, &chosen(&top[0]), &by_optic(g, &y, &inner, z));
        total = Some(match total {
            None => term,
            Some(total) => sum(total, &term),
        });
    }
    total.expect("there is a partition")
}

/// The formula is what the optics of composites compute, to the fourth order.
#[test]
fn reverse_derivatives_of_composites() {
    for seed in 0..8 {
        let mut random = Random::new(seed + 500);
        let (f, g) = (program::<Wires<Run<Array>>>(&mut random, 2), program::<Wires<Run<Array>>>(&mut random, 2));
        let (x, z) = (random.values(), random.values());
        let v = [random.values(), random.values(), random.values()];
        let both: Program3 = <Wires<Run<Array>> as Monoidal>::then(f.clone(), g.clone());
        for order in 1..=4 {
            let expected = reverse_faa_di_bruno(&f, &g, &x, &v[..order - 1], &z);
            let found = by_optic(&both, &x, &v[..order - 1], &z);
            close(&format!("seed {seed}, order {order}"), &numbers(&found), &numbers(&expected), 1e-10);
        }
    }
}

/// The output of a stage from the inputs of all stages: a sum over partitions of the bits of its number, of which a
/// block is the number of a stage. The block with bit 0, of an odd stage, goes back.
fn stage_by_partitions(f: &Program3, inputs: &[Values], at: usize) -> Values {
    let bits: Vec<usize> = (0..4).filter(|bit| at >> bit & 1 == 1).collect();
    let of = |block: &Vec<usize>| inputs[block.iter().map(|bit| 1 << bit).sum::<usize>()].clone();
    let mut total: Option<Values> = None;
    for partition in partitions(&bits) {
        let (top, others): (Vec<_>, Vec<_>) = partition.into_iter().partition(|block| block.contains(&0));
        let along: Vec<Values> = others.iter().map(of).collect();
        let term = match top.first() {
            Some(top) => by_optic(f, &inputs[0], &along, &of(top)),
            None => forward(f, &inputs[0], &along),
        };
        total = Some(match total {
            None => term,
            Some(total) => sum(total, &term),
        });
    }
    total.expect("there is a partition")
}

/// All stages, from any inputs: the formula that the module of stages states.
#[test]
fn stages_are_sums_over_partitions() {
    fn outputs<W: Wiring + Staged<Array>>(f: &Program3, inputs: &[Values]) -> Vec<Values> {
        let stages: Vec<Stage<Array>> = W::stages(&f.at::<W>());
        stages.iter().zip(inputs).map(|(stage, x)| stage.take::<Three, Three>(x)).collect()
    }
    for seed in 0..6 {
        let mut random = Random::new(seed + 700);
        let f: Program3 = program::<Wires<Run<Array>>>(&mut random, 2);
        let inputs: Vec<Values> = (0..16).map(|_| random.values()).collect();
        for (at, found) in outputs::<Fourth>(&f, &inputs).iter().enumerate() {
            let expected = stage_by_partitions(&f, &inputs, at);
            close(&format!("seed {seed}, stage {at}"), &numbers(found), &numbers(&expected), 1e-10);
        }
    }
}
