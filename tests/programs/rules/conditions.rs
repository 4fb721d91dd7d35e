//! Cases in which a rule of views must not fire because one of its conditions does not hold: a view that does not see
//! everything, an axis that moves twice, a place that is not the whole.
//!
//! Each case breaks one condition. A rule without the condition would compute other numbers, or fires and is reported.

use polygrad::ops::{Compare, Contract, Discrete, IntBinary, Linear, Reduce, View};
use polygrad::program::{Builder, Constant, NodeId, Op};
use polygrad::{Array, DType};

use super::cases::{Case, F, I, X, add, case, con, dis, lin, mul};

/// Rows of a vector of three, in a matrix whose last columns are zeros.
fn rows_and_zeros(columns: usize, seen: usize) -> Linear {
    Linear::read(View::affine(&[3], &[3, columns], &[1, 0], &[0]).clipped(1, 0, seen))
}

fn reductions() -> Vec<Case> {
    vec![
        // The largest of an element and zeros.
        case("reduce_replicated", &[X], |b, v| {
            let x = lin(b, rows_and_zeros(2, 1), v[0]);
            vec![b.apply(Op::Reduce(Reduce::Max { axis: 1 }, x))]
        }),
        // Every other row is zeros.
        case("reduce_before_replicate", &[X], |b, v| {
            let rows = View::affine(&[3], &[2, 3], &[0, 1], &[0]).clipped(0, 0, 1);
            let x = lin(b, Linear::read(rows), v[0]);
            vec![b.apply(Op::Reduce(Reduce::Max { axis: 1 }, x))]
        }),
    ]
}

/// The sum of a masked product, with these views of the mask and of the factor.
fn masked(b: &mut Builder, v: &[NodeId], mask: Linear, factor: Linear) -> NodeId {
    let table = b.apply(Op::Constant(Constant(Array::new(&[5], vec![1.0, -2.0, 0.5, 3.0, 4.0]))));
    let (x, y) = (lin(b, factor, v[0]), lin(b, Linear::replicate(&[3, 5], &[1]), table));
    let (m, p) = (lin(b, mask, v[1]), mul(b, x, y));
    let zero = b.apply(Op::Constant(Constant(Array::zeros(&[3, 5], F))));
    let s = b.apply(Op::Select([m, p, zero]));
    lin(b, Linear::sum(&[3, 5], &[1]), s)
}

fn masks() -> Vec<Case> {
    let inputs: [(&'static [usize], DType); 2] = [X, (&[3], DType::Bool)];
    vec![
        case("sum_of_masked", &inputs, |b, v| {
            vec![masked(b, v, rows_and_zeros(5, 2), Linear::replicate(&[3, 5], &[0]))]
        }),
        case("sum_of_masked", &inputs, |b, v| {
            vec![masked(b, v, Linear::replicate(&[3, 5], &[0]), rows_and_zeros(5, 2))]
        }),
        // Where an index is twice another, where they add up to a number, and where two conditions hold.
        case("select_diagonal", &[(&[4, 4], F)], |b, v| {
            let (i, j) = positions(b);
            let two = ints(b, IntBinary::Add, j, j);
            vec![chosen(b, i, two, v[0])]
        }),
        case("select_diagonal", &[(&[4, 4], F)], |b, v| {
            let (i, j) = positions(b);
            let sum = ints(b, IntBinary::Add, i, j);
            let three = b.apply(Op::Constant(Constant(Array::full(&[4, 4], 3i64))));
            vec![chosen(b, sum, three, v[0])]
        }),
        case("select_diagonal", &[(&[4, 4], F), (&[4, 4], I)], |b, v| {
            let (i, _) = positions(b);
            vec![chosen(b, i, v[1], v[0])]
        }),
    ]
}

/// The positions along the two axes of a matrix of four rows.
fn positions(b: &mut Builder) -> (NodeId, NodeId) {
    let iota = dis(b, Discrete::Iota { n: 4 }, &[]);
    (lin(b, Linear::replicate(&[4, 4], &[0]), iota), lin(b, Linear::replicate(&[4, 4], &[1]), iota))
}

fn ints(b: &mut Builder, op: IntBinary, x: NodeId, y: NodeId) -> NodeId {
    dis(b, Discrete::IntBinary(op), &[x, y])
}

/// The elements where two integers are equal, among zeros.
fn chosen(b: &mut Builder, x: NodeId, y: NodeId, of: NodeId) -> NodeId {
    let mask = dis(b, Discrete::Compare(Compare::Eq), &[x, y]);
    let zero = b.apply(Op::Constant(Constant(Array::zeros(&[4, 4], F))));
    b.apply(Op::Select([mask, of, zero]))
}

/// A product of two vectors of eight, written to a matrix through `out`, times a vector.
fn written_and_multiplied(b: &mut Builder, v: &[NodeId], product: Contract) -> NodeId {
    let matrix = con(b, product, v[0], v[1]);
    con(b, Contract::axes(&[8, 8], &[0, 1], &[1], &[0]), matrix, v[2])
}

fn products() -> Vec<Case> {
    let inputs: [(&'static [usize], DType); 3] = [(&[8], F), (&[8], F), (&[8], F)];
    vec![
        // On the diagonal: off the diagonal, the matrix is no product.
        case("contract_of_product", &inputs, |b, v| {
            let diagonal = View::affine(&[8, 8], &[8], &[1, 1], &[0, 0]);
            vec![written_and_multiplied(b, v, Contract::new(View::identity(&[8]), View::identity(&[8]), diagonal))]
        }),
        // The upper half of the matrix alone is the product.
        case("contract_of_product", &inputs, |b, v| {
            let half = View::identity(&[8, 8]).clipped(0, 0, 4);
            let (x, y) = (View::axes(&[8, 8], &[0]), View::axes(&[8, 8], &[1]));
            vec![written_and_multiplied(b, v, Contract::new(x, y, half))]
        }),
    ]
}

fn placed() -> Vec<Case> {
    vec![
        // A diagonal is no box.
        case("add_placed", &[X, (&[3, 3], F)], |b, v| {
            let x = lin(b, Linear::affine(View::identity(&[3]), View::affine(&[6, 3], &[3], &[1, 1], &[0, 0])), v[0]);
            let y = lin(b, Linear::pad(&[3, 3], &[3, 0], &[0, 0]), v[1]);
            vec![add(b, x, y)]
        }),
        // The last of the rows is not written, by a sum and by a product.
        case("add_placed", &[(&[3, 4], F), X], |b, v| {
            let into = View::affine(&[6], &[3, 4], &[1, 0], &[0]).clipped(0, 0, 2);
            let x = lin(b, Linear::affine(View::identity(&[3, 4]), into), v[0]);
            let y = lin(b, Linear::pad(&[3], &[3], &[0]), v[1]);
            vec![add(b, x, y)]
        }),
        case("add_placed", &[(&[3, 4], F), X], |b, v| {
            let out = View::affine(&[6], &[3, 4], &[1, 0], &[0]).clipped(0, 0, 2);
            let x = con(b, Contract::new(View::identity(&[3, 4]), View::identity(&[3, 4]), out), v[0], v[0]);
            let y = lin(b, Linear::pad(&[3], &[3], &[0]), v[1]);
            vec![add(b, x, y)]
        }),
        // Column, element and row have as many elements as the whole, but the column is not contiguous and meets the row.
        case("add_placed", &[(&[2, 1], F), (&[1, 1], F), (&[1, 3], F)], |b, v| {
            let column = lin(b, Linear::pad(&[2, 1], &[0, 0], &[0, 2]), v[0]);
            let element = lin(b, Linear::pad(&[1, 1], &[0, 2], &[1, 0]), v[1]);
            let row = lin(b, Linear::pad(&[1, 3], &[1, 0], &[0, 0]), v[2]);
            let sum = add(b, column, element);
            vec![add(b, sum, row)]
        }),
    ]
}

fn gathers() -> Vec<Case> {
    vec![
        // The rows that are read are a part of the rows of the array, and each is shifted by its position.
        case("gather_through", &[(&[30, 4], F), (&[2], I)], |b, v| {
            let part = View::affine(&[30, 4], &[20, 3], &[1, 0, 0, 1], &[2, 1]);
            let x = lin(b, Linear::read(part), v[0]);
            vec![b.apply(Op::Gather(x, vec![v[1]]))]
        }),
        case("gather_through", &[(&[40, 4], F), (&[2], I)], |b, v| {
            let skew = View::affine(&[40, 4], &[30, 4], &[1, 1, 0, 1], &[0, 0]);
            let x = lin(b, Linear::read(skew), v[0]);
            vec![b.apply(Op::Gather(x, vec![v[1]]))]
        }),
        // Past the end of what is read are zeros, and the array goes on.
        case("gather_through", &[(&[40], F), (&[2], I)], |b, v| {
            let x = lin(b, Linear::read(View::affine(&[40], &[30], &[1], &[5]).clipped(0, 0, 2)), v[0]);
            vec![b.apply(Op::Gather(x, vec![v[1]]))]
        }),
    ]
}

/// Every case of this file.
pub(super) fn conditions() -> Vec<Case> {
    [reductions(), masks(), products(), placed(), gathers()].into_iter().flatten().collect()
}
