//! Cases in which a rule must not fire, because its equation, or what it promises about costs, does not hold there.
//!
//! Law: the rule does not fire, and what fires instead computes the same. Together with the near misses of
//! [`super::near`], every rule of the tables has such a case.

use polygrad::array::Rng;
use polygrad::ops::{Binary, Contract, Discrete, FloatStep, IntBinary, IntUnary, Linear, Reduce, Unary, View};
use polygrad::passes::{Options, explain};
use polygrad::program::{Builder, Constant, Op, interpret};
use polygrad::{Array, DType};

use super::cases::structure::{S, body, looped, step};
use super::cases::{
    A, Case, F, I, M, N, X, add, bin, c, case, con, dis, fast, int, ints, lin, matvec, mul, neg, sub, un,
};
use super::conditions::conditions;
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
        // Both axes of the written operand move along one axis: the diagonal of what is written is looked at.
        fast("contract_written", &[(&[2, 2], F), (&[4], F)], |b, v| {
            let place = View::affine(&[4, 4], &[2, 2], &[1, 0, 0, 1], &[1, 2]);
            let written = lin(b, Linear::affine(View::identity(&[2, 2]), place), v[0]);
            let diagonal = View::affine(&[4, 4], &[4], &[1, 1], &[0, 0]);
            vec![con(b, Contract::new(diagonal, View::identity(&[4]), View::axes(&[4], &[])), written, v[1])]
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
        // A term is out of range where the sum is not; the sum is 0, though not of infinities; and 0 where x is 0, and
        // not -0.
        case("opposite_terms", &[X], |b, v| {
            let (k, l) = (c(b, 3.0), c(b, 0.5));
            let (y, z) = (mul(b, k, v[0]), mul(b, l, v[0]));
            vec![sub(b, y, v[0]), sub(b, y, z), sub(b, v[0], v[0])]
        }),
        case("opposite_terms", &[X], |b, v| {
            let k = c(b, 0.5);
            let y = mul(b, k, v[0]);
            let (z, w) = (sub(b, y, v[0]), sub(b, v[0], y));
            vec![un(b, Unary::Recip, z), un(b, Unary::Recip, w)]
        }),
        // At 0, the derivative of the absolute value is 0 behind an infinite cotangent, too; that of the square is NaN.
        case("absolute", &[X], |b, v| {
            let y = un(b, Unary::Square, v[0]);
            let z = un(b, Unary::Abs, y);
            vec![un(b, Unary::Recip, z)]
        }),
        // The square of a root of a negative number is NaN, and so is a product of a number and such a root.
        case("square_of_root", &[X, X], |b, v| {
            let y = un(b, Unary::Sqrt, v[0]);
            let z = mul(b, y, v[1]);
            vec![un(b, Unary::Square, y), un(b, Unary::Square, z)]
        }),
        // The sine of an absolute value has a kink.
        case("even_of_absolute", &[X], |b, v| {
            let y = un(b, Unary::Abs, v[0]);
            vec![un(b, Unary::Sin, y)]
        }),
        case("power_of_root", &[X], |b, v| {
            let (y, three) = (un(b, Unary::Sqrt, v[0]), c(b, 3.0));
            vec![bin(b, Binary::Pow, y, three)]
        }),
        case("even_power_of_absolute", &[X], |b, v| {
            let (y, three) = (un(b, Unary::Abs, v[0]), c(b, 3.0));
            vec![bin(b, Binary::Pow, y, three)]
        }),
        // The negation is there anyway, and each function would have its own.
        case("odd_function", &[X], |b, v| {
            let y = neg(b, v[0]);
            vec![un(b, Unary::Sin, y), un(b, Unary::Tanh, y)]
        }),
        // The derivative in the first operand is not zero; and the exponential of `x` is not computed.
        case("stopped_again", &[X, X], |b, v| {
            let y = dis(b, Discrete::FloatStep(FloatStep::StopGradient), &[v[1]]);
            vec![mul(b, v[0], v[1]), mul(b, v[0], y), un(b, Unary::Exp, y)]
        }),
        case("stop_of_step", &[X], |b, v| {
            let y = un(b, Unary::Exp, v[0]);
            vec![dis(b, Discrete::FloatStep(FloatStep::StopGradient), &[y])]
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
        // The second carry is no result, but the first one needs it.
        case("loop_dead_carry", &[S, S, (&[2, 3], F)], |b, v| {
            let outer = body(&[S, S, X], |b, v| {
                let inner = body(&[S, S, S], |b, v| {
                    let (y, z) = (mul(b, v[0], v[1]), mul(b, v[1], v[2]));
                    vec![un(b, Unary::Sin, y), un(b, Unary::Cos, z)]
                });
                looped(b, 3, [&v[..2], &v[2..], &[]], inner)
            });
            vec![looped(b, 2, [&v[..2], &v[2..], &[]], outer)[0]]
        }),
        // The two carries are exchanged: neither stays.
        case("loop_invariant_carry", &[S, X, S], |b, v| {
            let inner = body(&[S, S, S], |b, v| vec![add(b, v[1], v[2]), v[0]]);
            looped(b, 3, [&[v[0], v[2]], &v[1..2], &[]], inner)
        }),
        // Every trip sets the carry to another value than the initial one.
        case("loop_invariant_carry", &[S, S], |b, v| {
            let inner = body(&[S, S, S], |b, v| {
                let y = mul(b, v[0], v[1]);
                vec![v[2], un(b, Unary::Sin, y)]
            });
            looped(b, 3, [&[v[0], v[1]], &[], &v[1..]], inner)
        }),
        // The elements differ, if only in the last place.
        case("loop_constant_sequence", &[S], |b, v| {
            let xs = b.apply(Op::Constant(Constant(Array::new(&[3], vec![2.0, 2.0, 2.0000000000000004]))));
            let inner = body(&[S, S], |b, v| {
                let y = mul(b, v[0], v[1]);
                vec![un(b, Unary::Sin, y)]
            });
            looped(b, 3, [&v[..1], &[xs], &[]], inner)
        }),
        // The captured value is an input.
        case("loop_captured_constant", &[S, X, S], |b, v| looped(b, 3, [&v[..1], &v[1..2], &v[2..]], step())),
        // The carry is the one of the trip before, the element that of the trip.
        case("loop_invariant_result", &[S, X], |b, v| {
            let inner = body(&[S, S], |b, v| vec![un(b, Unary::Sin, v[1]), v[0]]);
            looped(b, 3, [&v[..1], &v[1..], &[]], inner)
        }),
        // The last carry is an element, and no output is.
        case("loop_element_output", &[S, X], |b, v| {
            let inner = body(&[S, S], |b, v| vec![v[1], add(b, v[0], v[1])]);
            looped(b, 3, [&v[..1], &v[1..], &[]], inner)
        }),
        // The same function of another value.
        case("loop_equal_outputs", &[S, X], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let (y, z) = (un(b, Unary::Sin, v[0]), un(b, Unary::Sin, v[1]));
                vec![add(b, y, z), y, z]
            });
            looped(b, 3, [&v[..1], &v[1..], &[]], inner)
        }),
        // The first row is not zero.
        case("loop_shifted_output", &[S, X], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let next = mul(b, v[0], v[1]);
                vec![next, v[0], next]
            });
            looped(b, 3, [&v[..1], &v[1..], &[]], inner)[1..].to_vec()
        }),
        // The product is larger than the states that the loop would not return.
        case("contract_states_before", &[S, X, A], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let next = mul(b, v[0], v[1]);
                vec![next, v[0], next]
            });
            let out = looped(b, 3, [&v[..1], &v[1..2], &[]], inner);
            vec![con(b, Contract::axes(&[3, 4], &[0], &[0, 1], &[1]), out[1], v[2]), out[2]]
        }),
        // States that are read at every second trip, or all at two places.
        case("contract_states_before", &[S, X], |b, v| {
            let inner = body(&[S], |b, v| {
                let next = un(b, Unary::Sin, v[0]);
                vec![next, v[0], next]
            });
            let out = looped(b, 6, [&v[..1], &[], &[]], inner);
            let second = View::affine(&[6], &[3], &[2], &[0]);
            let sum = Contract::new(second, View::identity(&[3]), View::affine(&[], &[3], &[], &[]));
            vec![con(b, sum, out[1], v[1]), out[2]]
        }),
        case("contract_states_before", &[S, A], |b, v| {
            let inner = body(&[S], |b, v| {
                let next = un(b, Unary::Sin, v[0]);
                vec![next, v[0], next]
            });
            let out = looped(b, 6, [&v[..1], &[], &[]], inner);
            let moved = View::affine(&[6], &[3, 4], &[1, 1], &[0]);
            let sum = Contract::new(moved, View::identity(&[3, 4]), View::affine(&[], &[3, 4], &[], &[]));
            vec![con(b, sum, out[1], v[1]), out[2]]
        }),
        // The last state is made of the element and the state before.
        case("loop_last_element", &[S, X, S], |b, v| looped(b, 3, [&v[..1], &v[1..2], &v[2..]], step())),
        case("loop_invariant_code", &[S, X, S], |b, v| looped(b, 3, [&v[..1], &v[1..2], &v[2..]], step())),
    ]
}

/// Indices that are bounded, but not by the size of what they index; views that change more than the indexed axes.
fn places() -> Vec<Case> {
    vec![
        // As many elements are read as there are.
        case("gather_early", &[X, X, N], |b, v| {
            let y = mul(b, v[0], v[1]);
            vec![b.apply(Op::Gather(y, vec![v[2]]))]
        }),
        case("gather_gathered", &[(&[5, 2], F), (&[2], I)], |b, v| {
            let i = b.apply(Op::Constant(Constant(Array::new(&[4], vec![1i64, 1, 0, 0]))));
            let rows = b.apply(Op::Gather(v[0], vec![v[1]]));
            vec![b.apply(Op::Gather(rows, vec![i]))]
        }),
        // A remainder by 4 is at least -3.
        case("gather_number", &[N], |b, v| {
            let four = int(b, 4);
            let (i, k) = (ints(b, IntBinary::Rem, v[0], four), b.apply(Op::Constant(Constant(Array::full(&[4], 3.0)))));
            vec![b.apply(Op::Gather(k, vec![i]))]
        }),
        // The absolute value of a remainder by 5 is up to 4, which is past the end.
        case("gather_number", &[N], |b, v| {
            let five = int(b, 5);
            let i = ints(b, IntBinary::Rem, v[0], five);
            let i = dis(b, Discrete::IntUnary(IntUnary::Abs), &[i]);
            let k = b.apply(Op::Constant(Constant(Array::full(&[4], 3.0))));
            vec![b.apply(Op::Gather(k, vec![i]))]
        }),
        // The lines are read in reverse.
        case("gather_extremum", &[(&[3, 4], F)], |b, v| {
            let rows = dis(b, Discrete::Iota { n: 3 }, &[]);
            let (two, best) = (int(b, 2), dis(b, Discrete::ArgMax { axis: 1 }, &[v[0]]));
            let rows = ints(b, IntBinary::Sub, two, rows);
            vec![b.apply(Op::Gather(v[0], vec![rows, best]))]
        }),
        // Past the end of the slice there are elements of the array.
        case("gather_through", &[(&[60], F), (&[2], I)], |b, v| {
            let y = lin(b, Linear::slice(&[60], 0, 0, 30, 1), v[0]);
            vec![b.apply(Op::Gather(y, vec![v[1]]))]
        }),
        case("gather_through", &[(&[60], F), (&[2], I)], |b, v| {
            let y = lin(b, Linear::slice(&[60], 0, 0, 30, 2), v[0]);
            vec![b.apply(Op::Gather(y, vec![v[1]]))]
        }),
        // Before the start of a reversed slice, too.
        case("gather_through", &[(&[60], F), (&[2], I)], |b, v| {
            let y = lin(b, Linear::read(View::affine(&[60], &[30], &[-1], &[29])), v[0]);
            vec![b.apply(Op::Gather(y, vec![v[1]]))]
        }),
        // All of it is read.
        case("gather_through", &[X, N], |b, v| {
            let y = lin(b, Linear::reverse(&[3], 0), v[0]);
            vec![b.apply(Op::Gather(y, vec![v[1]]))]
        }),
        // Columns are cut, too; and one column is repeated.
        case("view_of_gather", &[(&[8, 4], F), (&[6], I)], |b, v| {
            let y = b.apply(Op::Gather(v[0], vec![v[1]]));
            vec![lin(b, Linear::read(View::affine(&[6, 4], &[2, 2], &[1, 0, 0, 1], &[0, 0])), y)]
        }),
        case("view_of_gather", &[(&[8, 4], F), (&[6], I)], |b, v| {
            let y = b.apply(Op::Gather(v[0], vec![v[1]]));
            vec![lin(b, Linear::read(View::affine(&[6, 4], &[2, 4], &[1, 0, 0, 0], &[0, 0])), y)]
        }),
        // A position outside of the indices is 0, not the first element.
        case("view_of_gather", &[(&[8, 4], F), (&[6], I)], |b, v| {
            let y = b.apply(Op::Gather(v[0], vec![v[1]]));
            vec![lin(b, Linear::read(View::affine(&[6, 4], &[2, 4], &[1, 0, 0, 1], &[5, 0])), y)]
        }),
        case("view_of_reshape", &[(&[2, 3], F)], |b, v| {
            let y = lin(b, Linear::reshape(&[2, 3], &[3, 2]), v[0]);
            vec![lin(b, Linear::row(&[3, 2], 0, 1), y)]
        }),
    ]
}

/// Parts that look like those of a rule.
fn parts() -> Vec<Case> {
    vec![
        case("concat_nested", &[A, A, (&[2, 8], F)], |b, v| {
            let wide = b.apply(Op::Concat(1, v[..2].to_vec()));
            vec![b.apply(Op::Concat(0, vec![wide, v[2]]))]
        }),
        // The second row is read backwards.
        case("concat_of_views", &[A], |b, v| {
            let first = lin(b, Linear::slice(&[3, 4], 0, 0, 1, 1), v[0]);
            let second = lin(b, Linear::read(View::affine(&[3, 4], &[1, 4], &[0, 0, 0, -1], &[1, 3])), v[0]);
            vec![b.apply(Op::Concat(0, vec![first, second]))]
        }),
        // Of an array that may hold -0, of which the sum of a piece and zeros makes 0.
        case("add_adjacent", &[X], |b, v| {
            let piece = |b: &mut Builder, k: usize| {
                let part = lin(b, Linear::slice(&[3], 0, k, 1, 1), v[0]);
                lin(b, Linear::pad(&[1], &[k], &[2 - k]), part)
            };
            let (first, second) = (piece(b, 0), piece(b, 1));
            let sum = add(b, first, second);
            vec![un(b, Unary::Recip, sum)]
        }),
        // A row, and a part of the next one.
        case("add_adjacent", &[A], |b, v| {
            let y = un(b, Unary::Abs, v[0]);
            let mut piece = |row: usize, n: usize| {
                let part = View::affine(&[3, 4], &[1, n], &[1, 0, 0, 1], &[row as i64, 0]);
                lin(b, Linear::affine(part.clone(), part), y)
            };
            let (first, second) = (piece(0, 4), piece(1, 2));
            vec![add(b, first, second)]
        }),
        // Adjacent places of two arrays.
        case("add_adjacent", &[X, X], |b, v| {
            let piece = |b: &mut Builder, k: usize| {
                let y = un(b, Unary::Abs, v[k]);
                let part = lin(b, Linear::slice(&[3], 0, k, 1, 1), y);
                lin(b, Linear::pad(&[1], &[k], &[2 - k]), part)
            };
            let (first, second) = (piece(b, 0), piece(b, 1));
            vec![add(b, first, second)]
        }),
        // To one place.
        case("add_adjacent", &[X], |b, v| {
            let [first, second] = [0, 1].map(|k| lin(b, Linear::slice(&[3], 0, k, 1, 1), v[0]));
            vec![add(b, first, second)]
        }),
        // Blocks on a diagonal; and two halves with a block in the first of them.
        case("add_placed", &[(&[2, 2], F), (&[2, 2], F)], |b, v| {
            let first = lin(b, Linear::pad(&[2, 2], &[0, 0], &[2, 2]), v[0]);
            let second = lin(b, Linear::pad(&[2, 2], &[2, 2], &[0, 0]), v[1]);
            vec![add(b, first, second)]
        }),
        case("add_placed", &[(&[2, 4], F), (&[2, 4], F), (&[2, 2], F)], |b, v| {
            let first = lin(b, Linear::pad(&[2, 4], &[0, 0], &[2, 0]), v[0]);
            let second = lin(b, Linear::pad(&[2, 4], &[2, 0], &[0, 0]), v[1]);
            let block = lin(b, Linear::pad(&[2, 2], &[0, 0], &[2, 2]), v[2]);
            let halves = add(b, first, block);
            vec![add(b, halves, second)]
        }),
        // Sums to one place, and one that is needed by itself.
        case("add_placed", &[A, A], |b, v| {
            let into = |k: i64| View::affine(&[2], &[3, 4], &[0, 0], &[k]);
            let sum = |k: i64| Linear::affine(View::identity(&[3, 4]), into(k));
            let (x, y, z) = (lin(b, sum(1), v[0]), lin(b, sum(1), v[1]), lin(b, sum(0), v[1]));
            let (same, apart) = (add(b, x, y), add(b, x, z));
            vec![same, apart, x, z]
        }),
        // Sums of few elements are added in place.
        case("add_placed", &[A, A], |b, v| {
            let into = |k: i64| View::affine(&[4, 4], &[3, 4], &[0, 0, 0, 1], &[k, 0]);
            let sum = |k: i64| Linear::affine(View::identity(&[3, 4]), into(k));
            let (x, y) = (lin(b, sum(0), v[0]), lin(b, sum(2), v[1]));
            vec![add(b, x, y)]
        }),
        // A sum to every second place, backwards.
        case("add_placed", &[A, X], |b, v| {
            let into = View::affine(&[8], &[3, 4], &[0, -2], &[6]);
            let x = lin(b, Linear::affine(View::identity(&[3, 4]), into), v[0]);
            let y = lin(b, Linear::affine(View::identity(&[3]), View::affine(&[8], &[3], &[2], &[1])), v[1]);
            vec![add(b, x, y)]
        }),
        // The first is placed in reverse.
        case("add_placed", &[X, X], |b, v| {
            let y = lin(b, Linear::reverse(&[3], 0), v[0]);
            let (y, z) = (lin(b, Linear::pad(&[3], &[0], &[3]), y), lin(b, Linear::pad(&[3], &[3], &[0]), v[1]));
            vec![add(b, y, z)]
        }),
        // Of a difference.
        case("add_choices", &[M, X, X, X], |b, v| {
            let zero = c(b, 0.0);
            let (first, second) = (b.apply(Op::Select([v[0], v[1], zero])), b.apply(Op::Select([v[0], zero, v[2]])));
            let sum = add(b, v[3], first);
            vec![sub(b, sum, second)]
        }),
        case("select_again", &[M, M, X, X, X], |b, v| {
            let inner = b.apply(Op::Select([v[1], v[2], v[3]]));
            vec![b.apply(Op::Select([v[0], inner, v[4]]))]
        }),
    ]
}

/// Numbers whose combination is not exact, or out of range.
fn ends_of_the_range() -> Vec<Case> {
    vec![
        // The product of the numbers is 1, but that of the second and an element can be infinite.
        case("mul_constants", &[X], |b, v| {
            let (k, l) = (c(b, 1e-200), c(b, 1e200));
            let y = mul(b, l, v[0]);
            vec![mul(b, k, y)]
        }),
        // Their product has few digits.
        case("mul_constants", &[X], |b, v| {
            let (k, l) = (c(b, 1e-160), c(b, 1e-160));
            let y = mul(b, l, v[0]);
            vec![mul(b, k, y)]
        }),
        // A number far from 1 stays where it is.
        case("mul_scaled", &[X, X], |b, v| {
            let k = c(b, 1e200);
            let y = mul(b, k, v[0]);
            vec![mul(b, y, v[1])]
        }),
        case("contract_number", &[A], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::full(&[4], 1e200))));
            vec![con(b, matvec(), v[0], k)]
        }),
        case("pow_less_one_number", &[X], |b, v| {
            let k = c(b, 1e-17);
            vec![bin(b, Binary::PowLessOne, v[0], k)]
        }),
        case("pow_less_one_number", &[X], |b, v| {
            let k = c(b, 1e17);
            vec![bin(b, Binary::PowLessOne, v[0], k)]
        }),
        case("pow_less_one_number", &[(&[3], DType::F32)], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::full_as(&[3], DType::F32, 1e-3))));
            vec![bin(b, Binary::PowLessOne, v[0], k)]
        }),
        // The places at which both are seen are no box.
        case("contract_number", &[(&[2, 3], F)], |b, v| {
            let k = c(b, 2.0);
            let window = View::affine(&[3], &[2, 3], &[1, 1], &[0]);
            let op = Contract::new(window, View::axes(&[2, 3], &[0, 1]), View::axes(&[2, 3], &[0]));
            vec![con(b, op, k, v[0])]
        }),
        // The result is larger than what is summed.
        case("contract_number", &[X], |b, v| {
            let k = c(b, 2.0);
            let op = Contract::new(View::identity(&[3]), View::identity(&[3]), View::affine(&[5], &[3], &[1], &[0]));
            vec![con(b, op, k, v[0])]
        }),
        // Many sums; and a sum of what many operations make.
        case("known_sum", &[X], |b, v| {
            let i = dis(b, Discrete::Iota { n: 200 }, &[]);
            let i = dis(b, Discrete::ToFloat(F), &[i]);
            let i = lin(b, Linear::reshape(&[200], &[100, 2]), i);
            vec![lin(b, Linear::sum(&[100, 2], &[1]), i), v[0]]
        }),
        case("known_sum", &[X], |b, v| {
            let i = dis(b, Discrete::Iota { n: 70 }, &[]);
            let mut y = dis(b, Discrete::ToFloat(F), &[i]);
            for _ in 0..20 {
                y = un(b, Unary::Sin, y);
            }
            vec![lin(b, Linear::sum(&[70], &[0]), y), v[0]]
        }),
        // The product with an infinite number stays NaN where the mask does not hold.
        case("sum_of_masked", &[X, (&[3], DType::Bool)], |b, v| {
            let table = b.apply(Op::Constant(Constant(Array::new(&[5], vec![1.0, f64::INFINITY, 0.5, 3.0, 0.0]))));
            let x = lin(b, Linear::replicate(&[3, 5], &[0]), v[0]);
            let y = lin(b, Linear::replicate(&[3, 5], &[1]), table);
            let (m, p) = (lin(b, Linear::replicate(&[3, 5], &[0]), v[1]), mul(b, x, y));
            let zero = b.apply(Op::Constant(Constant(Array::zeros(&[3, 5], F))));
            let s = b.apply(Op::Select([m, zero, p]));
            vec![lin(b, Linear::sum(&[3, 5], &[1]), s)]
        }),
    ]
}

/// Every case in which a rule must not fire.
pub(crate) fn refusals() -> Vec<Case> {
    [views(), contractions(), numbers(), indices(), loops(), places(), parts(), ends_of_the_range(), conditions()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn rules_do_not_fire_where_they_do_not_hold() {
    let mut wrong = Vec::new();
    for case in refusals() {
        let program = literal(&case);
        let (simple, fired) = explain(&program, Options { fast_math: case.fast, ..Options::default() });
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
