//! Cases of the rules of structure: views, contractions, indices and loops.

use polygrad::ops::{Binary, Contract, Discrete, IntBinary, Linear, Reduce, Unary, View};
use polygrad::program::{Builder, Constant, Loop, NodeId, Op, Program, Slot};
use polygrad::shape::Shape;
use polygrad::{Array, DType};

use super::*;

fn max(b: &mut Builder, axis: usize, x: NodeId) -> NodeId {
    b.apply(Op::Reduce(Reduce::Max { axis }, x))
}

pub(super) fn reductions() -> Vec<Case> {
    vec![
        case("reduce_one", &[(&[3, 1, 2], F), (&[1], I)], |b, v| vec![max(b, 1, v[0]), max(b, 0, v[1])]),
        case("reduce_replicated", &[X, A], |b, v| {
            let (y, z) = (rep(b, v[0]), lin(b, Linear::replicate(&[4, 2, 3], &[2, 0]), v[1]));
            vec![max(b, 1, y), max(b, 1, z)]
        }),
        case("reduce_before_replicate", &[X, A], |b, v| {
            let (y, z) = (rep(b, v[0]), lin(b, Linear::replicate(&[4, 2, 3], &[2, 0]), v[1]));
            vec![max(b, 0, y), max(b, 0, z), b.apply(Op::Reduce(Reduce::Min { axis: 2 }, z))]
        }),
        case("reduce_permuted", &[(&[2, 3, 4], F)], |b, v| {
            let y = lin(b, Linear::permute(&[2, 3, 4], &[2, 0, 1]), v[0]);
            vec![max(b, 1, y)]
        }),
        case("reduce_negated", &[A], |b, v| {
            let y = neg(b, v[0]);
            vec![max(b, 1, y)]
        }),
        case("gather_extremum", &[A], |b, v| {
            let at = b.apply(Op::Discrete(Discrete::ArgMin { axis: 1 }, [v[0]].as_slice().into()));
            let row = b.apply(Op::Discrete(Discrete::Iota { n: 3 }, [].as_slice().into()));
            vec![b.apply(Op::Gather(v[0], vec![row, at]))]
        }),
    ]
}

pub(super) fn views() -> Vec<Case> {
    vec![
        case("linear_identity", &[A], |b, v| vec![lin(b, Linear::permute(&[3, 4], &[0, 1]), v[0])]),
        case("linear_of_nothing", &[X], |b, v| {
            let y = un(b, Unary::Exp, v[0]);
            vec![lin(b, Linear::read(View::affine(&[3], &[2], &[1], &[7])), y)]
        }),
        // Each view sees something, but nowhere both.
        case("linear_of_nothing", &[X], |b, v| {
            let (first, last) = (View::identity(&[3]).clipped(0, 0, 1), View::identity(&[3]).clipped(0, 1, 3));
            vec![lin(b, Linear::affine(first, last), v[0])]
        }),
        case("linear_composed", &[A], |b, v| {
            let y = lin(b, Linear::permute(&[3, 4], &[1, 0]), v[0]);
            let z = lin(b, Linear::slice(&[4, 3], 0, 1, 2, 1), y);
            vec![lin(b, Linear::reverse(&[2, 3], 1), z)]
        }),
        case("linear_ordered", &[A], |b, v| {
            let y = lin(b, Linear::permute(&[3, 4], &[1, 0]), v[0]);
            let z = Linear::affine(View::axes(&[3, 4], &[0, 1]), View::axes(&[3, 4], &[1, 0]));
            vec![lin(b, Linear::sum(&[4, 3], &[0]), y), lin(b, z, v[0])]
        }),
        case("repeated_sum", &[X, N], |b, v| {
            let (y, z) = (rep(b, v[0]), rep(b, v[1]));
            let sum = Linear::sum(&[3, 4], &[1]);
            vec![sum_all(b, y), lin(b, sum.clone(), y), lin(b, sum, z)]
        }),
        case("spread_sum", &[A], |b, v| {
            let spread = Linear::affine(View::axes(&[3, 4, 5], &[0, 1]), View::axes(&[3, 4, 5], &[1, 2]));
            vec![lin(b, spread, v[0])]
        }),
        case("sum_of_reshape", &[(&[2, 3, 4], F)], |b, v| {
            let y = lin(b, Linear::reshape(&[2, 3, 4], &[6, 2, 2]), v[0]);
            vec![lin(b, Linear::sum(&[6, 2, 2], &[0]), y), lin(b, Linear::sum(&[6, 2, 2], &[1, 2]), y)]
        }),
        case("view_of_reshape", &[(&[12], F)], |b, v| {
            let y = lin(b, Linear::reshape(&[12], &[3, 4]), v[0]);
            vec![lin(b, Linear::permute(&[3, 4], &[1, 0]), y)]
        }),
        case("sum_of_negated", &[A], |b, v| {
            let y = neg(b, v[0]);
            vec![sum_all(b, y)]
        }),
        case("sum_of_scaled", &[A], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            let y = mul(b, k, v[0]);
            vec![sum_all(b, y)]
        }),
        case("replicate_late", &[X, X, M], |b, v| {
            let (x, y, m) = (rep(b, v[0]), rep(b, v[1]), rep(b, v[2]));
            let z = bin(b, Binary::Hypot, x, y);
            let z = un(b, Unary::Sin, z);
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            vec![b.apply(Op::Select([m, z, k]))]
        }),
        case("view_early", &[A, A], |b, v| {
            let (x, y) = [0, 1].map(|k| lin(b, Linear::permute(&[3, 4], &[1, 0]), v[k])).into();
            let z = add(b, x, y);
            let row = un(b, Unary::Exp, v[0]);
            vec![lin(b, Linear::permute(&[4, 3], &[1, 0]), z), lin(b, Linear::row(&[3, 4], 0, 1), row)]
        }),
        case("add_placed", &[S, S, X], |b, v| {
            let place = |b: &mut Builder, at: usize, x: NodeId| lin(b, Linear::row(&[2], 0, at).adjoint(), x);
            let (x, y) = (place(b, 1, v[0]), place(b, 0, v[1]));
            let (z, w) = (lin(b, Linear::pad(&[3], &[0], &[4]), v[2]), lin(b, Linear::pad(&[3], &[4], &[0]), v[2]));
            let w = un(b, Unary::Sin, w);
            vec![add(b, x, y), add(b, z, w)]
        }),
        case("concat_one", &[X], |b, v| vec![b.apply(Op::Concat(0, vec![v[0]]))]),
        case("concat_empty", &[X, (&[0], F)], |b, v| vec![b.apply(Op::Concat(0, vec![v[0], v[1], v[0]]))]),
        case("concat_nested", &[X, X], |b, v| {
            let y = b.apply(Op::Concat(0, vec![v[0], v[1]]));
            vec![b.apply(Op::Concat(0, vec![v[0], y, v[0]]))]
        }),
        case("concat_of_views", &[(&[6], F)], |b, v| {
            let parts = [(0, 1), (1, 1), (2, 3), (5, 1)];
            let parts = parts.map(|(start, len)| lin(b, Linear::slice(&[6], 0, start, len, 1), v[0]));
            let back = [4, 2, 0].map(|start| lin(b, Linear::slice(&[6], 0, start, 1, 1), v[0]));
            vec![b.apply(Op::Concat(0, parts.to_vec())), b.apply(Op::Concat(0, back.to_vec()))]
        }),
        case("view_of_concat", &[A, A], |b, v| {
            let y = b.apply(Op::Concat(0, v.to_vec()));
            vec![lin(b, Linear::row(&[6, 4], 0, 4), y), lin(b, Linear::slice(&[6, 4], 0, 0, 2, 1), y)]
        }),
    ]
}

pub(super) fn contractions() -> Vec<Case> {
    vec![
        case("contract_of_nothing", &[X, X], |b, v| {
            let (first, last) = (View::identity(&[3]).clipped(0, 0, 1), View::identity(&[3]).clipped(0, 1, 3));
            vec![con(b, Contract::new(first, View::identity(&[3]), last), v[0], v[1])]
        }),
        case("contract_of_nothing", &[X, X], |b, v| {
            let nothing = View::affine(&[3], &[2], &[1], &[7]);
            vec![con(
                b,
                Contract::new(nothing, View::affine(&[3], &[2], &[1], &[0]), View::axes(&[2], &[])),
                v[0],
                v[1],
            )]
        }),
        case("contract_read", &[(&[4, 3], F), (&[8], F)], |b, v| {
            let (x, y) =
                (lin(b, Linear::permute(&[4, 3], &[1, 0]), v[0]), lin(b, Linear::slice(&[8], 0, 1, 4, 2), v[1]));
            vec![con(b, matvec(), x, y)]
        }),
        // Of a padded array, the part without padding.
        case("contract_read", &[(&[2, 4], F), (&[4], F)], |b, v| {
            let y = lin(b, Linear::pad(&[2, 4], &[1, 0], &[2, 0]), v[0]);
            let rows = View::affine(&[5, 4], &[2, 4], &[1, 0, 0, 1], &[1, 0]);
            vec![con(b, Contract::new(rows, View::axes(&[2, 4], &[1]), View::axes(&[2, 4], &[0])), y, v[1])]
        }),
        case("contract_idle_axis", &[X, X], |b, v| vec![con(b, Contract::axes(&[3, 5], &[0], &[0], &[0]), v[0], v[1])]),
        case("contract_forwards", &[A, (&[4], F)], |b, v| {
            // The rows last to first, and the columns from the second to the third.
            let rows = View::affine(&[3], &[3, 4], &[-1, 0], &[2]);
            let op = Contract::new(View::identity(&[3, 4]).clipped(1, 1, 3), View::axes(&[3, 4], &[1]), rows);
            let back = View::affine(&[3, 4], &[3, 4], &[-1, 0, 0, -1], &[2, 3]).clipped(0, 0, 2);
            let both = Contract::new(back, View::axes(&[3, 4], &[1]), View::axes(&[3, 4], &[1]));
            vec![con(b, op, v[0], v[1]), con(b, both, v[0], v[1])]
        }),
        case("contract_number", &[A], |b, v| {
            let ones = b.apply(Op::Constant(Constant(Array::full(&[4], 1.0))));
            let twos = b.apply(Op::Constant(Constant(Array::full(&[4], 2.0))));
            vec![con(b, matvec(), v[0], ones), con(b, matvec(), v[0], twos)]
        }),
        case("contract_negated", &[A, (&[4], F)], |b, v| {
            let x = neg(b, v[0]);
            vec![con(b, matvec(), x, v[1])]
        }),
        case("contract_scaled", &[A, (&[4], F)], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            let x = mul(b, k, v[0]);
            vec![con(b, matvec(), x, v[1])]
        }),
        regrouping("contract_lone_axis", &[(&[9, 7], F), (&[9], F), (&[4, 9, 7], F), (&[8], F)], |b, v| {
            // In place, then over a whole axis of what is looked at through a window that reaches over the end.
            let window = View::affine(&[4, 9, 7], &[4, 9, 7, 3], &[1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1], &[0, 0, -1]);
            let slanted = View::affine(&[8], &[4, 9, 7, 3], &[0, 0, 1, 1], &[-1]);
            vec![
                con(b, Contract::axes(&[9, 7], &[0, 1], &[0], &[]), v[0], v[1]),
                con(b, Contract::new(window, slanted, View::axes(&[4, 9, 7, 3], &[2])), v[2], v[3]),
            ]
        }),
        case("contract_spread", &[(&[5, 4], F), (&[4], F)], |b, v| {
            vec![con(b, Contract::axes(&[5, 4, 6], &[0, 1], &[1], &[2, 0]), v[0], v[1])]
        }),
        fast("contract_written", &[X, A, (&[2], F)], |b, v| {
            let diagonal = lin(b, Linear::diagonal(&[3, 3], 0, 1).adjoint(), v[0]);
            // Two elements, two places apart, next to a row of which one end is not looked at.
            let spread =
                lin(b, Linear::affine(View::identity(&[2]), View::affine(&[3, 2], &[2], &[2, 0], &[0, 1])), v[2]);
            let back = View::affine(&[3, 2], &[3, 4], &[-1, 0, 0, 0], &[2, 1]).clipped(0, 0, 2);
            let op = Contract::new(View::identity(&[3, 4]), back, View::axes(&[3, 4], &[1]));
            vec![
                con(b, Contract::axes(&[3, 3, 4], &[0, 1], &[1, 2], &[0, 2]), diagonal, v[1]),
                con(b, op, v[1], spread),
            ]
        }),
        case("contract_elementwise", &[X, X], |b, v| vec![con(b, Contract::axes(&[3], &[0], &[0], &[0]), v[0], v[1])]),
        case("contract_named", &[A, (&[2, 3], F)], |b, v| {
            vec![con(b, Contract::axes(&[4, 3, 2], &[1, 0], &[2, 1], &[2, 0]), v[0], v[1])]
        }),
        case("contract_exchanged", &[X, X], |b, v| {
            let dot = Contract::axes(&[3], &[0], &[0], &[]);
            vec![con(b, dot.clone(), v[0], v[1]), con(b, dot, v[1], v[0])]
        }),
        regrouping("contract_of_product", &[A, (&[4], F), X, (&[4, 5], F), (&[5], F)], |b, v| {
            let y = lin(b, Linear::replicate(&[3, 4], &[1]), v[1]);
            let y = mul(b, v[0], y);
            let product = con(b, Contract::axes(&[3, 4, 5], &[0, 1], &[1, 2], &[0, 2]), v[0], v[3]);
            vec![
                con(b, Contract::axes(&[3, 4], &[0, 1], &[0], &[]), y, v[2]),
                con(b, Contract::axes(&[3, 5], &[0, 1], &[1], &[0]), product, v[4]),
            ]
        }),
        regrouping("sum_of_product", &[A, (&[4], F), X], |b, v| {
            let (y, z) = (lin(b, Linear::replicate(&[3, 4], &[1]), v[1]), rep(b, v[2]));
            let (p, q) = (mul(b, v[0], y), mul(b, v[0], z));
            let r = mul(b, p, z);
            // The number stays with its factor.
            let k = b.apply(Op::Constant(Constant(Array::full(&[3], 3.0))));
            let scaled = mul(b, k, v[2]);
            let scaled = rep(b, scaled);
            let s = mul(b, v[0], scaled);
            let s = lin(b, Linear::sum(&[3, 4], &[1]), s);
            vec![lin(b, Linear::sum(&[3, 4], &[1]), q), sum_all(b, r), s]
        }),
        case("mul_into_replicated", &[X, A], |b, v| {
            let x = rep(b, v[0]);
            let y = mul(b, x, v[1]);
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            vec![mul(b, k, y)]
        }),
        case("scaled_contract", &[X, (&[4], F)], |b, v| {
            let y = con(b, Contract::axes(&[3, 4], &[0], &[1], &[0, 1]), v[0], v[1]);
            let k = b.apply(Op::Constant(Constant(Array::full(&[3, 4], 3.0))));
            vec![mul(b, k, y)]
        }),
        case("outer_product", &[X, (&[4], F)], |b, v| {
            let (x, y) = (rep(b, v[0]), lin(b, Linear::replicate(&[3, 4], &[1]), v[1]));
            vec![mul(b, x, y)]
        }),
        case("linear_of_contract", &[A, (&[4], F), (&[4, 5], F)], |b, v| {
            let y = con(b, matvec(), v[0], v[1]);
            let z = con(b, Contract::axes(&[3, 4, 5], &[0, 1], &[1, 2], &[0, 2]), v[0], v[2]);
            vec![lin(b, Linear::sum(&[3], &[0]), y), lin(b, Linear::permute(&[3, 5], &[1, 0]), z)]
        }),
    ]
}

pub(super) fn indices() -> Vec<Case> {
    vec![
        case("gather_affine", &[(&[6], F)], |b, v| {
            let i = dis(b, Discrete::Iota { n: 4 }, &[]);
            let k = b.apply(Op::Constant(Constant(Array::full(&[4], 3i64))));
            let i = ints(b, IntBinary::Sub, k, i);
            vec![b.apply(Op::Gather(v[0], vec![i]))]
        }),
        case("gather_all", &[X], |b, v| vec![b.apply(Op::Gather(v[0], vec![]))]),
        case("scatter_all", &[X, X, N, N], |b, v| {
            vec![b.apply(Op::ScatterAdd(v[0], vec![], v[1])), b.apply(Op::ScatterAdd(v[2], vec![], v[3]))]
        }),
        case("gather_early", &[(&[30], F), (&[2], I)], |b, v| {
            let y = un(b, Unary::Tanh, v[0]);
            vec![b.apply(Op::Gather(y, vec![v[1]]))]
        }),
        case("gather_number", &[(&[4], B)], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::full(&[100], 3.0))));
            let i = dis(b, Discrete::ToInt, &[v[0]]);
            vec![b.apply(Op::Gather(k, vec![i]))]
        }),
        case("gather_through", &[(&[6, 7], F), (&[2], I), (&[2], I), (&[4], B)], |b, v| {
            let copies = lin(b, Linear::replicate(&[9, 6, 7], &[1, 2]), v[0]);
            let within = dis(b, Discrete::ToInt, &[v[3]]);
            let copies = b.apply(Op::Gather(copies, vec![within]));
            let turned = lin(b, Linear::permute(&[6, 7], &[1, 0]), v[0]);
            let turned = lin(b, Linear::reverse(&[7, 6], 0), turned);
            vec![b.apply(Op::Gather(turned, vec![v[1], v[2]])), copies]
        }),
        case("gather_gathered", &[(&[5, 2], F), (&[8], I)], |b, v| {
            let i = b.apply(Op::Constant(Constant(Array::new(&[3], vec![6i64, 1, 2]))));
            let rows = b.apply(Op::Gather(v[0], vec![v[1]]));
            vec![b.apply(Op::Gather(rows, vec![i]))]
        }),
        case("view_of_gather", &[(&[5, 2], F), (&[4, 3], I)], |b, v| {
            let rows = b.apply(Op::Gather(v[0], vec![v[1]]));
            let column = View::affine(&[4, 3, 2], &[4, 2], &[-1, 0, 0, 0, 0, 1], &[3, 2, 0]);
            vec![lin(b, Linear::read(column), rows)]
        }),
        case("scatter_zeros", &[A, (&[2], I)], |b, v| {
            let zeros = b.apply(Op::Constant(Constant(Array::zeros(&[2, 4], F))));
            vec![b.apply(Op::ScatterAdd(v[0], vec![v[1]], zeros))]
        }),
        case("scatter_affine", &[(&[6], F), (&[2], F)], |b, v| {
            let i = dis(b, Discrete::Iota { n: 2 }, &[]);
            vec![b.apply(Op::ScatterAdd(v[0], vec![i], v[1]))]
        }),
        case("add_scattered", &[A, (&[2], I), (&[2, 4], F)], |b, v| {
            let zeros = b.apply(Op::Constant(Constant(Array::zeros(&[3, 4], F))));
            let y = b.apply(Op::ScatterAdd(zeros, vec![v[1]], v[2]));
            vec![add(b, v[0], y)]
        }),
        regrouping("sum_of_terms", &[(&[9, 8], F), (&[8, 7], F), (&[7], F)], |b, v| {
            let product = con(b, Contract::axes(&[9, 8, 7], &[0, 1], &[1, 2], &[0, 2]), v[0], v[1]);
            let replica = lin(b, Linear::replicate(&[9, 7], &[1]), v[2]);
            let terms = sub(b, product, replica);
            vec![lin(b, Linear::sum(&[9, 7], &[0, 1]), terms)]
        }),
        regrouping("sum_of_masked", &[X, (&[3], B)], |b, v| {
            let table = Array::new(&[5], vec![1.0, -2.0, 0.5, 3.0, 0.0]);
            let table = b.apply(Op::Constant(Constant(table)));
            let (x, y) =
                (lin(b, Linear::replicate(&[3, 5], &[0]), v[0]), lin(b, Linear::replicate(&[3, 5], &[1]), table));
            let (m, p) = (lin(b, Linear::replicate(&[3, 5], &[0]), v[1]), mul(b, x, y));
            let zero = b.apply(Op::Constant(Constant(Array::zeros(&[3, 5], F))));
            let s = b.apply(Op::Select([m, zero, p]));
            vec![lin(b, Linear::sum(&[3, 5], &[1]), s)]
        }),
        case("add_placed", &[A, (&[4, 3], F)], |b, v| {
            // The first is placed transposed.
            let y = lin(b, Linear::permute(&[3, 4], &[1, 0]), v[0]);
            let y = lin(b, Linear::pad(&[4, 3], &[0, 0], &[4, 0]), y);
            let z = lin(b, Linear::pad(&[4, 3], &[4, 0], &[0, 0]), v[1]);
            vec![add(b, y, z)]
        }),
        // The sums of the columns of matrices in the first, second and last row of four, and a product in the third.
        case("add_placed", &[(&[5, 4], F), (&[5, 4], F), (&[5, 4], F), (&[5], F)], |b, v| {
            let row = |k: i64| View::affine(&[4, 4], &[5, 4], &[0, 0, 0, 1], &[k, 0]);
            let sum = |k: i64| Linear::affine(View::identity(&[5, 4]), row(k));
            let (x, y, z) = (lin(b, sum(0), v[0]), lin(b, sum(3), v[1]), lin(b, sum(1), v[2]));
            let product = Contract::new(View::identity(&[5, 4]), View::axes(&[5, 4], &[0]), row(2));
            let product = con(b, product, v[2], v[3]);
            let first = add(b, x, y);
            let second = add(b, product, z);
            vec![add(b, first, second)]
        }),
        case("known_sum", &[X], |b, v| {
            let i = dis(b, Discrete::Iota { n: 100 }, &[]);
            let i = dis(b, Discrete::ToFloat(F), &[i]);
            let i = un(b, Unary::Sqrt, i);
            let (sum, dot) = (Linear::sum(&[100], &[0]), Contract::axes(&[100], &[0], &[0], &[]));
            let (sum, dot) = (lin(b, sum, i), con(b, dot, i, i));
            let both = add(b, sum, dot);
            let both = rep0(b, both);
            vec![mul(b, both, v[0])]
        }),
        case("contract_in_order", &[X, A], |b, v| {
            vec![con(b, Contract::axes(&[4, 3], &[1], &[1, 0], &[1, 0]), v[0], v[1])]
        }),
        case("sum_of_scattered", &[(&[3, 2], I), (&[3, 2, 4], F), (&[3, 2], I)], |b, v| {
            let i = dis(b, Discrete::Iota { n: 3 }, &[]);
            let i = lin(b, Linear::replicate(&[3, 2], &[0]), i);
            let zeros = b.apply(Op::Constant(Constant(Array::zeros(&[3, 5, 4], F))));
            let y = b.apply(Op::ScatterAdd(zeros, vec![i, v[0]], v[1]));
            let other = b.apply(Op::Constant(Constant(Array::zeros(&[3, 5, 6, 4], F))));
            let three = b.apply(Op::ScatterAdd(other, vec![i, v[0], v[2]], v[1]));
            let order = |axes: &[usize]| Linear::affine(View::identity(&[3, 5, 6, 4]), View::axes(&[3, 5, 6, 4], axes));
            vec![
                lin(b, Linear::sum(&[3, 5, 4], &[0]), y),
                // The indexed axes the other way around, and the last axis between them, without its sum and with it.
                lin(b, order(&[2, 1, 3]), three),
                lin(b, order(&[2, 3, 1]), three),
                lin(b, order(&[2, 1]), three),
            ]
        }),
    ]
}

/// A body from the kinds of its inputs.
pub(crate) fn body(inputs: &[(&[usize], DType)], make: impl FnOnce(&mut Builder, &[NodeId]) -> Vec<NodeId>) -> Program {
    let mut b = Builder::literal();
    let slot = |(shape, dtype): &(&[usize], DType)| Slot {
        name: String::new(),
        shape: Shape::from_slice(shape),
        dtype: *dtype,
    };
    let inputs: Vec<NodeId> = inputs.iter().map(|kind| b.input(slot(kind))).collect();
    let results = make(&mut b, &inputs);
    b.finish(&results, &[])
}

/// The results of a loop with this many of init, xs and captured, in this order.
pub(crate) fn looped(b: &mut Builder, n: usize, parts: [&[NodeId]; 3], body: Program) -> Vec<NodeId> {
    let count = body.outputs().len();
    let [init, xs, captured] = parts.map(<[NodeId]>::to_vec);
    let l = b.apply(Op::Loop(Box::new(Loop { n, reverse: n == 3, body, init, xs, captured })));
    (0..count).map(|k| b.apply(Op::Output(l, k))).collect()
}

pub(crate) const S: (&[usize], DType) = (&[], F);

/// A step that needs what it is given: carry, element and captured value.
pub(crate) fn step() -> Program {
    body(&[S, S, S], |b, v| {
        let y = mul(b, v[0], v[2]);
        let y = add(b, y, v[1]);
        vec![un(b, Unary::Tanh, y), y]
    })
}

pub(super) fn loops() -> Vec<Case> {
    vec![
        case("loop_never", &[S, (&[0], F), S], |b, v| looped(b, 0, [&v[..1], &v[1..2], &v[2..]], step())),
        case("loop_once", &[S, (&[1], F), S], |b, v| looped(b, 1, [&v[..1], &v[1..2], &v[2..]], step())),
        case("loop_dead_result", &[S, X, S], |b, v| {
            let inner = body(&[S, S, S, S], |b, v| {
                let (y, z) = (un(b, Unary::Sin, v[0]), mul(b, v[1], v[2]));
                vec![y, z, add(b, v[0], v[3]), add(b, v[1], v[2])]
            });
            let out = looped(b, 3, [&[v[0], v[2]], &v[1..2], &v[2..]], inner);
            vec![out[0], out[2]]
        }),
        // The inner loop need not compute the sum that the outer one does not need.
        case("loop_dead_carry", &[S, S, (&[2, 3], F)], |b, v| {
            let outer = body(&[S, S, X], |b, v| {
                let inner = body(&[S, S, S], |b, v| {
                    let (y, z) = (mul(b, v[0], v[2]), mul(b, v[1], v[2]));
                    vec![un(b, Unary::Sin, y), add(b, z, v[0])]
                });
                looped(b, 3, [&v[..2], &v[2..], &[]], inner)
            });
            vec![looped(b, 2, [&v[..2], &v[2..], &[]], outer)[0]]
        }),
        case("loop_invariant_carry", &[S, X, S], |b, v| {
            let inner = body(&[S, S, S], |b, v| vec![v[0], add(b, v[1], v[2])]);
            // The second result is a carry as well.
            looped(b, 3, [&[v[0], v[2]], &v[1..2], &[]], inner)
        }),
        case("loop_invariant_carry", &[S, S], |b, v| {
            let inner = body(&[S, S, S], |b, v| {
                let y = mul(b, v[0], v[1]);
                vec![v[2], un(b, Unary::Sin, y)]
            });
            looped(b, 3, [&[v[0], v[1]], &[], &v[..1]], inner)
        }),
        case("loop_constant_sequence", &[S, S], |b, v| {
            let xs = lin(b, Linear::replicate(&[3], &[]), v[1]);
            let inner = body(&[S, S], |b, v| vec![add(b, v[0], v[1])]);
            looped(b, 3, [&v[..1], &[xs], &[]], inner)
        }),
        case("loop_captured_constant", &[S], |b, v| {
            let k = b.apply(Op::Constant(Constant(Array::scalar(2.0))));
            let inner = body(&[S, S], |b, v| {
                let y = mul(b, v[0], v[1]);
                vec![un(b, Unary::Sin, y)]
            });
            looped(b, 3, [&v[..1], &[], &[k]], inner)
        }),
        case("loop_invariant_code", &[S, S], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let y = un(b, Unary::Exp, v[1]);
                vec![mul(b, v[0], y)]
            });
            looped(b, 3, [&v[..1], &[], &v[1..]], inner)
        }),
        case("loop_invariant_result", &[S, S], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let y = un(b, Unary::Exp, v[1]);
                vec![un(b, Unary::Sin, v[0]), y]
            });
            looped(b, 3, [&v[..1], &[], &v[1..]], inner)
        }),
        case("loop_element_output", &[S, X], |b, v| {
            let inner = body(&[S, S], |b, v| vec![add(b, v[0], v[1]), v[1]]);
            looped(b, 3, [&v[..1], &v[1..], &[]], inner)
        }),
        case("loop_shifted_output", &[X], |b, v| {
            let zero = b.apply(Op::Constant(Constant(Array::scalar(0.0))));
            let inner = body(&[S, S], |b, v| {
                let next = un(b, Unary::Sin, v[0]);
                let next = add(b, next, v[1]);
                vec![next, v[0], next]
            });
            let (back, forth) = (looped(b, 3, [&[zero], v, &[]], inner.clone()), {
                let l = Loop { n: 3, reverse: false, body: inner, init: vec![zero], xs: v.to_vec(), captured: vec![] };
                let l = b.apply(Op::Loop(Box::new(l)));
                [1, 2].map(|k| b.apply(Op::Output(l, k)))
            });
            vec![back[1], back[2], forth[0], forth[1]]
        }),
        // Two trips later, of which one is a carry.
        case("loop_shifted_output", &[X], |b, v| {
            let zero = b.apply(Op::Constant(Constant(Array::scalar(0.0))));
            let inner = body(&[S, S, S], |b, v| {
                let next = un(b, Unary::Sin, v[2]);
                vec![v[1], next, v[0], v[1], next]
            });
            looped(b, 3, [&[zero, zero], v, &[]], inner)[2..].to_vec()
        }),
        regrouping("contract_states_before", &[S, X, X], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let next = un(b, Unary::Sin, v[0]);
                let next = add(b, next, v[1]);
                vec![next, v[0], next]
            });
            let dot = |b: &mut Builder, x: NodeId| con(b, Contract::axes(&[3], &[0], &[0], &[]), x, v[2]);
            let back = looped(b, 3, [&v[..1], &v[1..2], &[]], inner.clone());
            let l = Loop { n: 3, reverse: false, body: inner, init: vec![v[0]], xs: vec![v[1]], captured: vec![] };
            let l = b.apply(Op::Loop(Box::new(l)));
            let forth = [1, 2].map(|k| b.apply(Op::Output(l, k)));
            vec![dot(b, back[1]), back[2], dot(b, forth[0]), forth[1]]
        }),
        // The states are read from the last one on.
        regrouping("contract_states_before", &[S, X, X], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let next = un(b, Unary::Sin, v[0]);
                let next = add(b, next, v[1]);
                vec![next, v[0], next]
            });
            let turned = View::affine(&[3], &[3], &[-1], &[2]);
            let sum = Contract::new(View::identity(&[3]), turned, View::affine(&[], &[3], &[], &[]));
            let mut results = Vec::new();
            for reverse in [false, true] {
                let (init, xs) = (vec![v[0]], vec![v[1]]);
                let l = Loop { n: 3, reverse, body: inner.clone(), init, xs, captured: vec![] };
                let l = b.apply(Op::Loop(Box::new(l)));
                let [before, after] = [1, 2].map(|k| b.apply(Op::Output(l, k)));
                results.extend([con(b, sum.clone(), v[2], before), after]);
            }
            results
        }),
        case("loop_last_element", &[S, X], |b, v| {
            let element = body(&[S, S], |_, v| vec![v[1]]);
            let (init, xs) = (vec![v[0]], vec![v[1]]);
            let reversed = Loop { n: 3, reverse: true, body: element.clone(), init, xs, captured: Vec::new() };
            let l = b.apply(Op::Loop(Box::new(reversed)));
            let mut out = looped(b, 3, [&v[..1], &v[1..2], &[]], element);
            out.push(b.apply(Op::Output(l, 0)));
            out
        }),
        case("loop_equal_outputs", &[S, X], |b, v| {
            let inner = body(&[S, S], |b, v| {
                let (y, z) = (un(b, Unary::Sin, v[1]), add(b, v[0], v[1]));
                vec![z, y, y]
            });
            looped(b, 3, [&v[..1], &v[1..], &[]], inner)
        }),
    ]
}
