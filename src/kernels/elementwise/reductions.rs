//! Reductions of slices to numbers, and accumulation in place.
//!
//! Law: the number of partial sums is fixed, so results do not depend on the instruction set.
#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use super::Real;
use crate::dtype::Num;
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// The number of partial sums of a slice of at least twice as many elements; a quarter of this for shorter slices.
const LANES: usize = 32;

/// The sum of lanes: adds the second half to the first until one number is left.
#[inline(always)]
pub(super) fn total<E: Num, const N: usize>(mut lanes: [E; N]) -> E {
    let mut n = N;
    while n > 1 {
        n /= 2;
        for i in 0..n {
            lanes[i] = lanes[i].plus(lanes[i + n]);
        }
    }
    lanes[0]
}

struct Sum<'a, E>(&'a [E]);

impl<E: Num> Kernel for Sum<'_, E> {
    const WIDE: bool = true;
    type Output = E;
    #[inline(always)]
    fn run<M: Machine>(self) -> E {
        if self.0.len() < 2 * LANES { sum_in::<E, { LANES / 4 }>(self.0) } else { sum_in::<E, LANES>(self.0) }
    }
}

#[inline(always)]
fn sum_in<E: Num, const N: usize>(x: &[E]) -> E {
    let mut lanes = [E::ZERO; N];
    let (chunks, tail) = x.as_chunks::<N>();
    for k in 0..chunks.len() {
        for i in 0..N {
            lanes[i] = lanes[i].plus(chunks[k][i]);
        }
    }
    for i in 0..tail.len() {
        lanes[i] = lanes[i].plus(tail[i]);
    }
    total(lanes)
}

/// The sum of all elements.
pub(crate) fn sum<E: Num>(isa: Isa, x: &[E]) -> E {
    dispatch(isa, Sum(x))
}

struct SumOfProducts<'a, E>(&'a [E], &'a [E]);

impl<E: Real> Kernel for SumOfProducts<'_, E> {
    const WIDE: bool = true;
    type Output = E;
    #[inline(always)]
    fn run<M: Machine>(self) -> E {
        let SumOfProducts(x, y) = self;
        if x.len() < 2 * LANES { products_in::<E, { LANES / 4 }>(x, y) } else { products_in::<E, LANES>(x, y) }
    }
}

#[inline(always)]
fn products_in<E: Real, const N: usize>(x: &[E], y: &[E]) -> E {
    let mut lanes = [E::ZERO; N];
    let ((x, x_tail), (y, y_tail)) = (x.as_chunks::<N>(), y.as_chunks::<N>());
    let y = &y[..x.len()];
    for k in 0..x.len() {
        for i in 0..N {
            lanes[i] = lanes[i] + x[k][i] * y[k][i];
        }
    }
    let mut rest = lanes;
    let y_tail = &y_tail[..x_tail.len()];
    for i in 0..x_tail.len() {
        rest[i] = rest[i] + x_tail[i] * y_tail[i];
    }
    total_apart(&rest)
}

/// [`total`] as a separate function: next to its additions, the compiler arranges the lanes of the loop before in their
/// order, or computes them one by one. Only additions, which have the same bits for every instruction set.
#[inline(never)]
fn total_apart<E: Num, const N: usize>(lanes: &[E; N]) -> E {
    total(*lanes)
}

/// The sum of the products of pairs of elements, with the bits of the sum of the rounded products.
pub(crate) fn sum_of_products<E: Real>(isa: Isa, x: &[E], y: &[E]) -> E {
    assert_eq!(x.len(), y.len(), "each element has a factor");
    dispatch(isa, SumOfProducts(x, y))
}

struct Add<'a, E> {
    x: &'a [E],
    out: &'a mut [E],
}

impl<E: Num> Kernel for Add<'_, E> {
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Add { x, out } = self;
        let x = &x[..out.len()];
        for i in 0..out.len() {
            out[i] = out[i].plus(x[i]);
        }
    }
}

/// Adds `x` to the output, element by element.
pub(crate) fn add_to<E: Num>(isa: Isa, x: &[E], out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "the operand has the length of the output");
    dispatch(isa, Add { x, out });
}
