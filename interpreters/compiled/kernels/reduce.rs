//! Slices to numbers, and numbers added in place.
//!
//! Sums have a fixed number of partial sums, so their order, and their rounding, is the same for every instruction set
//! that has no fused multiply-add, or where nothing is multiplied.

use super::isa::{Isa, Kernel, Machine, dispatch};
use crate::dtype::Num;

/// The sum of all elements.
pub(crate) fn sum<E: Num>(_isa: Isa, x: &[E]) -> E {
    x.iter().fold(E::ZERO, |sum, x| sum.plus(*x))
}

/// The sum of the products of the pairs of elements.
pub(crate) fn dot<E: Num>(_isa: Isa, x: &[E], y: &[E]) -> E {
    assert_eq!(x.len(), y.len(), "both operands have one length");
    x.iter().zip(y).fold(E::ZERO, |sum, (x, y)| sum.plus(x.mul(*y)))
}

/// The first of the largest elements, or the first NaN.
pub(crate) fn max<E: Num>(_isa: Isa, x: &[E]) -> E {
    extremum(x, |x, y| x > y)
}

/// The first of the smallest elements, or the first NaN.
pub(crate) fn min<E: Num>(_isa: Isa, x: &[E]) -> E {
    extremum(x, |x, y| x < y)
}

#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn extremum<E: Num>(x: &[E], beats: impl Fn(E, E) -> bool) -> E {
    x[1..].iter().fold(x[0], |best, x| if beats(*x, best) | ((*x != *x) & (best == best)) { *x } else { best })
}

struct Add<'a, E> {
    x: &'a [E],
    out: &'a mut [E],
}

impl<E: Num> Kernel for Add<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        for (out, x) in self.out.iter_mut().zip(self.x) {
            *out = out.plus(*x);
        }
    }
}

/// Adds each element to the output.
pub(crate) fn add_to<E: Num>(isa: Isa, x: &[E], out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "the operand has the length of the output");
    dispatch(isa, Add { x, out });
}

struct Axpy<'a, E> {
    a: E,
    x: &'a [E],
    out: &'a mut [E],
}

impl<E: Num> Kernel for Axpy<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        for (out, x) in self.out.iter_mut().zip(self.x) {
            *out = out.plus(self.a.mul(*x));
        }
    }
}

/// Adds each element times a number to the output.
pub(crate) fn axpy<E: Num>(isa: Isa, a: E, x: &[E], out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "the operand has the length of the output");
    dispatch(isa, Axpy { a, x, out });
}
