//! Bilinear operations, by [`Product`].
//!
//! Law: every index in bounds contributes one product, even where a factor is zero, so NaN and infinities are not lost.

use std::borrow::Cow;
use std::cell::RefCell;

use super::elementwise::kind;
use crate::array::{Array, Values, pool, with_num};
use crate::dtype::Num;
use crate::kernels::contract::{PlannedContraction, Scratch};
use crate::ops::Contract;
use crate::shape::{self, check_room};

thread_local! {
    /// Kept between products: memory for parts of the operands, at most about a megabyte.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// `out[O i] += a[A i] * b[B i]`, from zeros.
#[track_caller]
pub(super) fn contract(op: &Contract, a: &Array, b: &Array) -> Array {
    let (out, dtype) = op.result(kind(a), kind(b));
    with_num!(dtype, E => {
        let sum: Vec<E> = sum_of_products(op, a, b);
        Array::dense(out, sum)
    })
}

#[track_caller]
fn sum_of_products<E: Num>(op: &Contract, a: &Array, b: &Array) -> Vec<E> {
    check_room::<E>(op.out.source());
    let mut out = pool::full(E::ZERO, shape::size(op.out.source()));
    let work = shape::size(op.a.shape());
    let (a, b) = (operand::<E>(a, work), operand::<E>(b, work));
    let single = |x: &Cow<'_, [E]>, source: &[usize]| x.len() == 1 && shape::size(source) != 1;
    let product = PlannedContraction::new(op, E::DTYPE, [single(&a, op.a.source()), single(&b, op.b.source())]);
    // A thread that waits for others may begin another product.
    let mut scratch = SCRATCH.take();
    product.run(&a, &b, &mut out, false, &mut scratch);
    SCRATCH.set(scratch);
    out
}

/// An operand as a slice. A uniform array is a slice of one element, unless it is used so often that expanding it pays.
#[track_caller]
fn operand<E: Num>(a: &Array, work: usize) -> Cow<'_, [E]> {
    match a.typed::<E>() {
        Values::Dense(v) => Cow::Borrowed(v),
        Values::Splat(x) if work / 8 > a.size() => {
            check_room::<E>(a.shape());
            Cow::Owned(pool::full(x, a.size()))
        }
        Values::Splat(x) => Cow::Owned(vec![x]),
    }
}
