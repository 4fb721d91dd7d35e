//! Cases in which a rule must not fire, because its equation, or what it promises about costs, does not hold there.
//!
//! Law: the rule does not fire, and what fires instead computes the same. Together with the near misses of [`super::near`], every
//! rule of the tables has such a case.

use polygrad::Array;
use polygrad::array::Rng;
use polygrad::ops::{Binary, Contract, Discrete, IntBinary, Linear, Reduce, Unary, View};
use polygrad::passes::{Options, explain};
use polygrad::program::{Constant, Op, interpret};

use super::cases::structure::{S, body, looped, step};
use super::cases::{A, Case, F, I, M, N, X, add, bin, c, case, con, dis, int, ints, lin, matvec, mul, un};
use super::table::{literal, same, values};
use crate::support::floats;

fn views() -> Vec<Case> {
    vec![
        // The intermediate sum is used twice, and composing would repeat it.
        case("linear_composed", &[A], |b, v| {
            let y = lin(b, Linear::sum(&[3, 4], &[1]), v[0]);
            vec![lin(b, Linear::replicate(&[3, 4], &[0]), y), y]
        }),
        case("linear_of_nothing", &[X], |b, v| {
            let y = un(b, Unary::Exp, v[0]);
            vec![lin(b, Linear::read(View::affine(&[3], &[2], &[1], &[2])), y)]
        }),
        // Of two elements, and of one along another axis.
        case("reduce_one", &[(&[3, 2], F), (&[1, 2], F)], |b, v| {
            [0, 1].map(|k| b.apply(Op::Reduce(Reduce::Max { axis: 1 }, v[k]))).to_vec()
        }),
        case("concat_one", &[X, X], |b, v| vec![b.apply(Op::Concat(0, v.to_vec()))]),
        case("concat_empty", &[A, A], |b, v| vec![b.apply(Op::Concat(1, v.to_vec()))]),
        // Of both parts.
        case("view_of_concat", &[A, A], |b, v| {
            let y = b.apply(Op::Concat(0, v.to_vec()));
            vec![lin(b, Linear::slice(&[6, 4], 0, 2, 2, 1), y)]
        }),
        // An index past the end is 0, not the element that stands there in what is padded.
        case("view_early", &[(&[30], F)], |b, v| {
            let y = un(b, Unary::Exp, v[0]);
            vec![lin(b, Linear::read(View::affine(&[30], &[3], &[1], &[28])), y)]
        }),
        case("replicate_late", &[X], |b, v| {
            // Zeros beyond the third row.
            let rows = View::affine(&[3], &[4, 2], &[1, 0], &[0]);
            let y = lin(b, Linear::read(rows), v[0]);
            vec![un(b, Unary::Exp, y)]
        }),
    ]
}

fn contractions() -> Vec<Case> {
    vec![
        case("contract_of_nothing", &[X, X], |b, v| {
            let last = View::affine(&[3], &[2], &[1], &[2]);
            let first = View::affine(&[3], &[2], &[1], &[0]);
            vec![con(b, Contract::new(last, first, View::axes(&[2], &[])), v[0], v[1])]
        }),
        case("contract_forwards", &[A, (&[4], F)], |b, v| vec![con(b, matvec(), v[0], v[1])]),
        // A sum is no read.
        case("contract_read", &[(&[3, 4, 5], F), (&[4], F)], |b, v| {
            let y = lin(b, Linear::sum(&[3, 4, 5], &[2]), v[0]);
            vec![con(b, matvec(), y, v[1]), y]
        }),
        // Apart, the sums would cancel: near 0 all digits of `1 - cos x` would be lost.
        case("sum_of_terms", &[X], |b, v| {
            let (one, y) = (c(b, 1.0), un(b, Unary::Cos, v[0]));
            let y = bin(b, Binary::Sub, one, y);
            vec![lin(b, Linear::sum(&[3], &[0]), y)]
        }),
        // Half of an outer product is zeros that it would not have.
        case("outer_product", &[X, (&[4], F)], |b, v| {
            let rows = View::affine(&[3], &[3, 4], &[1, 0], &[1]);
            let y = lin(b, Linear::read(rows), v[0]);
            let z = lin(b, Linear::replicate(&[3, 4], &[1]), v[1]);
            vec![mul(b, y, z)]
        }),
    ]
}

fn numbers() -> Vec<Case> {
    vec![
        // The sum of the factors is out of range, the sum of the terms need not be.
        case("add_like_terms", &[X], |b, v| {
            let (k, l) = (c(b, 1e308), c(b, 1.5e308));
            let (y, z) = (mul(b, k, v[0]), mul(b, l, v[0]));
            vec![add(b, y, z)]
        }),
        case("logic_same", &[M, M], |b, v| vec![dis(b, Discrete::And, &[v[0], v[1]])]),
        case("select_same", &[M, X, X], |b, v| vec![b.apply(Op::Select([v[0], v[1], v[2]]))]),
    ]
}

fn indices() -> Vec<Case> {
    vec![
        case("gather_all", &[X, N], |b, v| vec![b.apply(Op::Gather(v[0], vec![v[1]]))]),
        case("scatter_all", &[X, X, N], |b, v| vec![b.apply(Op::ScatterAdd(v[0], vec![v[2]], v[1]))]),
        // Where an index is out of bounds, reading gives 0, and the exponential of what is read 1.
        case("gather_early", &[(&[30], F), (&[2], I)], |b, v| {
            let y = un(b, Unary::Exp, v[0]);
            vec![b.apply(Op::Gather(y, vec![v[1]]))]
        }),
        // The first and the last of three indices are out of bounds of the eight that are read first.
        case("gather_gathered", &[(&[5, 2], F), (&[8], I)], |b, v| {
            let i = b.apply(Op::Constant(Constant(Array::new(&[3], vec![8i64, 1, -1]))));
            let rows = b.apply(Op::Gather(v[0], vec![v[1]]));
            vec![b.apply(Op::Gather(rows, vec![i]))]
        }),
        case("gather_number", &[(&[4], I)], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::full(&[3], 3.0))));
            vec![b.apply(Op::Gather(k, vec![v[0]]))]
        }),
        // Twice 2 to the power of 62 wraps, so the quotient is not the position.
        case("gather_affine", &[X], |b, v| {
            let i = dis(b, Discrete::Iota { n: 3 }, &[]);
            let (far, back) = (int(b, 1 << 62), int(b, 1 << 62));
            let i = ints(b, IntBinary::Mul, i, far);
            let i = ints(b, IntBinary::Quot, i, back);
            vec![b.apply(Op::Gather(v[0], vec![i]))]
        }),
        // Squares are no affine function of the position.
        case("scatter_affine", &[X, X], |b, v| {
            let i = dis(b, Discrete::Iota { n: 3 }, &[]);
            let i = ints(b, IntBinary::Mul, i, i);
            vec![b.apply(Op::ScatterAdd(v[0], vec![i], v[1]))]
        }),
    ]
}

fn loops() -> Vec<Case> {
    vec![
        case("loop_never", &[S, X, S], |b, v| looped(b, 3, [&v[..1], &v[1..2], &v[2..]], step())),
        case("loop_once", &[S, X, S], |b, v| looped(b, 3, [&v[..1], &v[1..2], &v[2..]], step())),
        // The carry is no result, but the outputs need it.
        case("loop_dead_result", &[S, X, S], |b, v| vec![looped(b, 3, [&v[..1], &v[1..2], &v[2..]], step())[1]]),
        // The two carries are exchanged: neither stays.
        case("loop_invariant_carry", &[S, X, S], |b, v| {
            let inner = body(&[S, S, S], |b, v| vec![add(b, v[1], v[2]), v[0]]);
            looped(b, 3, [&[v[0], v[2]], &v[1..2], &[]], inner)
        }),
        // The first row is not zero.
        case("loop_shifted_output", &[S, X], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let next = mul(b, v[0], v[1]);
                vec![next, v[0], next]
            });
            looped(b, 3, [&v[..1], &v[1..], &[]], inner)[1..].to_vec()
        }),
        // The last state is made of the element and the state before.
        case("loop_last_element", &[S, X, S], |b, v| looped(b, 3, [&v[..1], &v[1..2], &v[2..]], step())),
        case("loop_invariant_code", &[S, X, S], |b, v| looped(b, 3, [&v[..1], &v[1..2], &v[2..]], step())),
    ]
}

/// Every case in which a rule must not fire.
pub(crate) fn refusals() -> Vec<Case> {
    [views(), contractions(), numbers(), indices(), loops()].into_iter().flatten().collect()
}

#[test]
fn rules_do_not_fire_where_they_do_not_hold() {
    let mut wrong = Vec::new();
    for case in refusals() {
        let program = literal(&case);
        let (simple, fired) = explain(&program, Options::default());
        if fired.iter().any(|f| f.rule == case.rule) {
            wrong.push(format!("{} fires\n{program}\n{simple}", case.rule));
            continue;
        }
        for seed in 0..20 {
            let mut rng = Rng::new(seed);
            let kinds = case.inputs.iter();
            let inputs: Vec<Array> = kinds.map(|(shape, dtype)| values(&mut rng, shape, *dtype, false)).collect();
            let (before, after) = (interpret(&program, inputs.clone()), interpret(&simple, inputs.clone()));
            let close =
                |(a, b): (&Array, &Array)| floats(a).into_iter().zip(floats(b)).all(|(a, b)| same(a, b, 1e-12, false));
            if !before.iter().zip(&after).all(close) {
                wrong.push(format!("{}: {before:?} became {after:?} at {inputs:?}\n{program}\n{simple}", case.rule));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}
