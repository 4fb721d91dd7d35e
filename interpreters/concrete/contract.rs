//! Bilinear operations: sums of products over a loop nest of three arrays.
//!
//! Law: every visit of the nest contributes one product, also where a factor is zero, so NaN and infinities are not
//! lost. A kernel may choose only the order of the sum.

use std::borrow::Cow;

use super::elementwise::kind;
use super::matmul::{Matmul, matmul};
use super::runs::{Axis, Nest, stepped};
use super::views::folded;
use super::with_num;
use crate::array::{Array, Values};
use crate::dtype::Num;
use crate::ops::Contract;
use crate::shape::{self, check_room};

/// `out[O i] += a[A i] * b[B i]`, from zeros.
#[track_caller]
pub(super) fn contract(op: &Contract, a: &Array, b: &Array) -> Array {
    let (out, dtype) = op.result(kind(a), kind(b));
    with_num!(dtype, E => {
        let sum: Vec<E> = sum_of_products(op, a, b);
        Array::dense(out, sum)
    }, else unreachable!("the rule has let masks be multiplied"))
}

#[track_caller]
fn sum_of_products<E: Num>(op: &Contract, a: &Array, b: &Array) -> Vec<E> {
    check_room::<E>(op.out.source());
    let mut out = vec![E::ZERO; shape::size(op.out.source())];
    let work = shape::size(op.a.shape());
    let (a, b) = (operand::<E>(a, work), operand::<E>(b, work));
    let single = |x: &Cow<'_, [E]>, source: &[usize]| x.len() == 1 && shape::size(source) != 1;
    let singles = [single(&a, op.a.source()), single(&b, op.b.source()), false];
    let Some(nest) = Nest::new([&op.a, &op.b, &op.out], singles) else { return out };
    match E::DTYPE.is_float().then(|| as_matmul(&nest)).flatten() {
        Some((product, rest)) => rest.points(|at| matmul(&product, at, &a, &b, &mut out)),
        None => add_runs(&nest, &a, &b, &mut out),
    }
    out
}

/// An operand as a slice. One repeated value is a slice of one element, unless it is used so often that writing all
/// elements out pays.
#[track_caller]
fn operand<E: Num>(a: &Array, work: usize) -> Cow<'_, [E]> {
    match a.typed::<E>() {
        Values::Dense(v) => Cow::Borrowed(v),
        Values::Splat(x) if work / 8 > a.size() => {
            check_room::<E>(a.shape());
            Cow::Owned(vec![x; a.size()])
        }
        Values::Splat(x) => Cow::Owned(vec![x]),
    }
}

/// The matrix product in the innermost loops of a nest, if packing matrices for it pays, and the loops around it.
fn as_matmul(nest: &Nest<3>) -> Option<(Matmul, Nest<3>)> {
    if !nest.is_box() {
        return None;
    }
    // The innermost loop that moves exactly these two arrays.
    let find = |moves: [bool; 3]| nest.axes().iter().rposition(|axis| axis.strides.map(|s| s != 0) == moves);
    let (m, n, k) = (find([true, false, true])?, find([false, true, true])?, find([true, true, false])?);
    let [rows, columns, depth] = [m, n, k].map(|i| nest.axes()[i]);
    let worth = rows.len.min(columns.len).min(depth.len) > 1
        && rows.len.saturating_mul(columns.len).saturating_mul(depth.len) >= 512;
    (worth && apart(&rows, &columns)).then(|| (Matmul { rows, columns, depth }, nest.without(&[m, n, k])))
}

/// Whether no two elements of a product are written to one place.
fn apart(rows: &Axis<3>, columns: &Axis<3>) -> bool {
    let reach = |axis: &Axis<3>| axis.strides[2].checked_mul(axis.len as i64);
    let within = |inner: &Axis<3>, outer: &Axis<3>| reach(inner).is_some_and(|reach| reach <= outer.strides[2]);
    within(rows, columns) || within(columns, rows)
}

/// Adds the products run by run; the body is chosen by the strides of the innermost loop.
fn add_runs<E: Num>(nest: &Nest<3>, a: &[E], b: &[E], out: &mut [E]) {
    match nest.inner().strides {
        [1, 1, 0] => add_dots(nest, a, b, out),
        [s, t, 0] => nest.run(|[i, j, o], len| out[o] = out[o].plus(dot_strided(a, b, [i, j], [s, t], len))),
        [0, 1, 1] => add_rows(nest, [0, 1], a, b, out),
        [1, 0, 1] => add_rows(nest, [1, 0], b, a, out),
        [1, 1, 1] => nest.run(|[i, j, o], len| {
            let factors = a[i..i + len].iter().zip(&b[j..j + len]);
            out[o..o + len].iter_mut().zip(factors).for_each(|(o, (x, y))| *o = o.plus(x.mul(*y)));
        }),
        [_, _, _] => nest.points(|[i, j, o]| out[o] = out[o].plus(a[i].mul(b[j]))),
    }
}

/// Adds products in runs that are contiguous in both operands and sum to one element.
fn add_dots<E: Num>(nest: &Nest<3>, a: &[E], b: &[E], out: &mut [E]) {
    match nest.middle().strides {
        [_, 0, _] => add_pairs(nest, [0, 1], a, b, out),
        [0, _, _] => add_pairs(nest, [1, 0], b, a, out),
        [_, _, _] => nest.run(|[i, j, o], len| out[o] = out[o].plus(dot(&a[i..i + len], &b[j..j + len]))),
    }
}

/// Like [`add_dots`], for two runs at a time that share the operand `common`. `place` says which operand of the nest is
/// `v` and which is `common`.
fn add_pairs<E: Num>(nest: &Nest<3>, place: [usize; 2], v: &[E], common: &[E], out: &mut [E]) {
    let steps = nest.middle().strides;
    nest.panels(|start, count, len| {
        let common = &common[start[place[1]]..start[place[1]] + len];
        let at = |row: usize| {
            let at = stepped(start, steps, row);
            (&v[at[place[0]]..at[place[0]] + len], at[2])
        };
        for pair in 0..count / 2 {
            let ((v, o), (w, p)) = (at(2 * pair), at(2 * pair + 1));
            let [x, y] = dots(v, w, common);
            out[o] = out[o].plus(x);
            out[p] = out[p].plus(y);
        }
        if count % 2 == 1 {
            let (v, o) = at(count - 1);
            out[o] = out[o].plus(dot(v, common));
        }
    });
}

/// Adds products in runs that are contiguous in the result and in `v` and have one factor in `x`: four at a time if
/// they write to one place. `place` says which operand of the nest is `x` and which is `v`.
fn add_rows<E: Num>(nest: &Nest<3>, place: [usize; 2], x: &[E], v: &[E], out: &mut [E]) {
    let steps = nest.middle().strides;
    nest.panels(|start, count, len| {
        let at = |row: usize| {
            let at = stepped(start, steps, row);
            (x[at[place[0]]], &v[at[place[1]]..at[place[1]] + len], at[2])
        };
        let blocks = if steps[2] == 0 { count / 4 } else { 0 };
        for block in 0..blocks {
            let [r0, r1, r2, r3] = [0, 1, 2, 3].map(|k| at(4 * block + k));
            let rows = r0.1.iter().zip(r1.1).zip(r2.1.iter().zip(r3.1));
            out[r0.2..r0.2 + len].iter_mut().zip(rows).for_each(|(o, ((v0, v1), (v2, v3)))| {
                let first = o.plus(r0.0.mul(*v0)).plus(r1.0.mul(*v1));
                *o = first.plus(r2.0.mul(*v2)).plus(r3.0.mul(*v3));
            });
        }
        for row in 4 * blocks..count {
            let (x, v, o) = at(row);
            out[o..o + len].iter_mut().zip(v).for_each(|(o, y)| *o = o.plus(x.mul(*y)));
        }
    });
}

/// The sum of products, in eight interleaved partial sums.
#[inline(never)]
fn dot<E: Num>(v: &[E], w: &[E]) -> E {
    let mut sums = [E::ZERO; 8];
    let ((x, x_rest), (y, y_rest)) = (v.as_chunks::<8>(), w.as_chunks::<8>());
    for (x, y) in x.iter().zip(y) {
        for k in 0..8 {
            sums[k] = sums[k].plus(x[k].mul(y[k]));
        }
    }
    let rest = x_rest.iter().zip(y_rest).fold(E::ZERO, |sum, (x, y)| sum.plus(x.mul(*y)));
    folded(sums).plus(rest)
}

/// Two sums of products with one common operand, each in the order of [`dot`].
#[inline(never)]
fn dots<E: Num>(v: &[E], w: &[E], common: &[E]) -> [E; 2] {
    let mut sums = [[E::ZERO; 8]; 2];
    let ((v, v_rest), (w, w_rest)) = (v.as_chunks::<8>(), w.as_chunks::<8>());
    let (c, c_rest) = common.as_chunks::<8>();
    for ((x, y), c) in v.iter().zip(w).zip(c) {
        for k in 0..8 {
            sums[0][k] = sums[0][k].plus(x[k].mul(c[k]));
        }
        for k in 0..8 {
            sums[1][k] = sums[1][k].plus(y[k].mul(c[k]));
        }
    }
    let rest = |rest: &[E]| rest.iter().zip(c_rest).fold(E::ZERO, |sum, (x, y)| sum.plus(x.mul(*y)));
    [folded(sums[0]).plus(rest(v_rest)), folded(sums[1]).plus(rest(w_rest))]
}

/// Like [`dot`], for elements some strides apart.
fn dot_strided<E: Num>(a: &[E], b: &[E], start: [usize; 2], strides: [i64; 2], len: usize) -> E {
    let at = |k: usize, i: usize| (start[k] as i64 + strides[k] * i as i64) as usize;
    let term = |i: usize| a[at(0, i)].mul(b[at(1, i)]);
    let mut sums = [E::ZERO; 4];
    let whole = len / 4 * 4;
    for i in (0..whole).step_by(4) {
        (0..4).for_each(|k| sums[k] = sums[k].plus(term(i + k)));
    }
    let sum = sums[0].plus(sums[2]).plus(sums[1].plus(sums[3]));
    (whole..len).fold(sum, |sum, i| sum.plus(term(i)))
}
