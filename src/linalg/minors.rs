//! The derivatives of minors, and with them the derivatives of the determinant beyond the first.
//!
//! Laws: the determinant is a polynomial, and so is each rule for matrices of at most [`MOST`] rows: it consists of
//! additions and products alone, and is right at every matrix and for derivatives of any order. Of a larger matrix, all
//! but [`LAST`] rows and columns are eliminated, in the order of [`Matrix::Pivots`]; the determinant of the rest, with
//! the smallest pivots, is such a polynomial. The eliminated block must be regular.

use super::algebra::OrTransposed::{As, T};
use super::algebra::*;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::minors::{LAST, MOST, larger};
use crate::ops::{Call, Compare, Discrete, Linear, Matrix, Unary};
use crate::shape::Shape;

/// The tangent of the minors `y` of `a` with `without` rows and columns left out; `None` if they are constants.
pub(super) fn minors<U: BaseTensor>(without: u8, a: &U, y: &U, da: &U) -> Option<U> {
    let n = a.shape()[a.shape().len() - 1];
    if n > MOST {
        return Some(of_large(a, y, da));
    }
    (usize::from(without) < n).then(|| expanded(without, a, da))
}

/// The tangent of the minor without the rows `I` and the columns `J`: the sum over all rows `i` not in `I` and columns
/// `j` not in `J` of `da_ij` times the minor without `I`, `i`, `J` and `j`. A term has the sign -1 if the number of
/// members of `I` less than `i` plus that of members of `J` less than `j` is odd.
fn expanded<U: BaseTensor>(without: u8, a: &U, da: &U) -> U {
    let n = a.shape()[a.shape().len() - 1];
    let (size, left) = (usize::from(without), n - usize::from(without));
    let [members, places, signs] = larger(n, size).map(|x| {
        let sets = x.len() / left;
        U::constant(Array::new(&[sets, left], x))
    });
    let signs = U::discrete(&Discrete::ToFloat(a.dtype()), &[&signs]);
    let next = spread(&one(Matrix::Minors { without: without + 1 }, std::slice::from_ref(a)), &places, Some(&signs));
    let da = spread(da, &members, None);
    // The axes are `J`, the other columns, `I`, the other rows, and the batch.
    let out: Shape = (4..da.shape().len()).chain([2, 0]).collect();
    guarded_times(&next, &da).linear(&Linear::replicate(da.shape(), &out).adjoint())
}

/// The elements of matrices at the rows `ix` and the columns `ix`, a table of two axes, times a sign for each row and
/// column. The axes of the result: two for the columns, two for the rows, and the batch.
fn spread<U: BaseTensor>(x: &U, ix: &U, signs: Option<&U>) -> U {
    let batch = x.shape().len() - 2;
    let front: Shape = [batch, batch + 1].into_iter().chain(0..batch).collect();
    let mut x = x.linear(&Linear::permute(x.shape(), &front));
    for rows_are_done in [false, true] {
        if rows_are_done {
            let axes: Shape = [2, 0, 1].into_iter().chain(3..x.shape().len()).collect();
            x = x.linear(&Linear::permute(x.shape(), &axes));
        }
        x = x.gather(std::slice::from_ref(ix));
        if let Some(signs) = signs {
            let signs = signs.linear(&Linear::replicate(x.shape(), &[0, 1]));
            x = times(&x, &signs);
        }
    }
    x
}

/// A matrix in four blocks.
struct Blocks<U> {
    first: U,
    right: U,
    below: U,
    last: U,
}

impl<U: BaseTensor> Blocks<U> {
    fn of(x: &U) -> Self {
        let n = x.shape()[x.shape().len() - 1];
        let h = n - LAST;
        let (top, bottom) = (rows(x, 0, h), rows(x, h, LAST));
        Blocks {
            first: columns(&top, 0, h),
            right: columns(&top, h, LAST),
            below: columns(&bottom, 0, h),
            last: columns(&bottom, h, LAST),
        }
    }

    fn joined(self) -> U {
        let axis = self.first.shape().len() - 1;
        let top = U::concat(axis, &[self.first, self.right]);
        let bottom = U::concat(axis, &[self.below, self.last]);
        U::concat(axis - 1, &[top, bottom])
    }
}

fn sum<U: BaseTensor>(parts: &[U]) -> U {
    parts[1..].iter().fold(parts[0].clone(), |sum, x| plus(&sum, x))
}

/// The tangent of the cofactors `y` of a large matrix. With the pivots in order, `a = [b c; d e]`, `i = b^-1`,
/// `x = i c`, `z = d i`, `s = e - d x` and the cofactors `k` of `s`, the cofactors of `a` are
/// `det(b) [det(s) i^T + z^T k x^T, -z^T k; -k x^T, k]`.
fn of_large<U: BaseTensor>(a: &U, y: &U, da: &U) -> U {
    let results = U::call(&Call::Matrix(Matrix::Pivots), std::slice::from_ref(a));
    let [p, q] = [0, 1].map(|k| {
        let order = &results[0];
        permutation(&order.linear(&Linear::row(order.shape(), order.shape().len() - 2, k)), a.dtype())
    });
    let ordered = |x: &U| Blocks::of(&guarded(As(&p), As(&guarded(As(x), T(&q)))));
    let (b, db) = (ordered(a), ordered(da));
    let product = |a: &U, b: &U| guarded(As(a), As(b));
    let negated = |x: &U| x.unary(Unary::Neg);
    let i = one(Matrix::Inverse, std::slice::from_ref(&b.first));
    let (x, z) = (product(&i, &b.right), product(&b.below, &i));
    let s = minus(&b.last, &product(&b.below, &x));
    let di = negated(&product(&product(&i, &db.first), &i));
    let dx = product(&i, &minus(&db.right, &product(&db.first, &x)));
    let dz = product(&minus(&db.below, &product(&z, &db.first)), &i);
    let ds = minus(&db.last, &plus(&product(&db.below, &x), &product(&b.below, &dx)));
    let k = one(Matrix::Minors { without: 1 }, std::slice::from_ref(&s));
    let dk = expanded(1, &s, &ds);
    let (det, ddet) = (one(Matrix::Det, std::slice::from_ref(&s)), guarded_inner(&k, &ds));
    let all = |number: &U| stretch(number, i.shape());
    let changes = Blocks {
        first: sum(&[
            guarded_times(&all(&ddet), &t(&i)),
            guarded_times(&all(&det), &t(&di)),
            guarded(T(&dz), As(&guarded(As(&k), T(&x)))),
            guarded(T(&z), As(&guarded(As(&dk), T(&x)))),
            guarded(T(&z), As(&guarded(As(&k), T(&dx)))),
        ]),
        right: negated(&plus(&guarded(T(&dz), As(&k)), &guarded(T(&z), As(&dk)))),
        below: negated(&plus(&guarded(As(&dk), T(&x)), &guarded(As(&k), T(&dx)))),
        last: dk.clone(),
    };
    let changes = guarded(T(&p), As(&guarded(As(&changes.joined()), As(&q))));
    let factor = times(&results[1], &one(Matrix::Det, std::slice::from_ref(&b.first)));
    let relative = guarded_inner(&t(&i), &db.first);
    let sign = &results[1];
    let fine = U::discrete(&Discrete::Compare(Compare::Eq), &[sign, sign]);
    sum(&[
        guarded_times(&stretch(&relative, y.shape()), y),
        guarded_times(&stretch(&factor, y.shape()), &changes),
        // With more small pivots the derivative does not exist.
        marked(&nan_unless(&fine, y.shape(), y.dtype()), da),
    ])
}
