//! Slices to numbers, and numbers added in place.
//!
//! Sums have a fixed number of partial sums, [`LANES`], so their order does not depend on the instruction set; only products are
//! rounded before they are added, or are not.

use super::isa::{Isa, Kernel, Machine, dispatch};
use super::math::Elementary;
use crate::dtype::{Elem, Num};

/// The number of partial results of a reduction; a quarter as many for slices shorter than twice that.
const LANES: usize = 32;

/// An element type with sums and products: all numbers.
pub(crate) trait Accumulate: Num {
    /// `a b + c`, rounded once where the machine has an instruction for that.
    fn add_product<M: Machine>(a: Self, b: Self, c: Self) -> Self;
}

impl Accumulate for f64 {
    #[inline(always)]
    fn add_product<M: Machine>(a: f64, b: f64, c: f64) -> f64 {
        f64::multiply_add::<M>(a, b, c)
    }
}

impl Accumulate for f32 {
    #[inline(always)]
    fn add_product<M: Machine>(a: f32, b: f32, c: f32) -> f32 {
        f32::multiply_add::<M>(a, b, c)
    }
}

impl Accumulate for i64 {
    #[inline(always)]
    fn add_product<M: Machine>(a: i64, b: i64, c: i64) -> i64 {
        c.plus(a.mul(b))
    }
}

/// Adds neighbours until one number is left.
#[inline(always)]
fn total<E: Num, const N: usize>(mut lanes: [E; N]) -> E {
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
    for chunk in chunks {
        for i in 0..N {
            lanes[i] = lanes[i].plus(chunk[i]);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(tail) {
        *lane = lane.plus(*x);
    }
    total(lanes)
}

/// The sum of all elements.
pub(crate) fn sum<E: Num>(isa: Isa, x: &[E]) -> E {
    dispatch(isa, Sum(x))
}

struct Dot<'a, E>(&'a [E], &'a [E]);

impl<E: Accumulate> Kernel for Dot<'_, E> {
    type Output = E;
    #[inline(always)]
    fn run<M: Machine>(self) -> E {
        if self.0.len() < 2 * LANES {
            dot_in::<E, M, { LANES / 4 }>(self.0, self.1)
        } else {
            dot_in::<E, M, LANES>(self.0, self.1)
        }
    }
}

#[inline(always)]
fn dot_in<E: Accumulate, M: Machine, const N: usize>(x: &[E], y: &[E]) -> E {
    let mut lanes = [E::ZERO; N];
    let ((xs, x_tail), (ys, y_tail)) = (x.as_chunks::<N>(), y.as_chunks::<N>());
    for (x, y) in xs.iter().zip(ys) {
        for i in 0..N {
            lanes[i] = E::add_product::<M>(x[i], y[i], lanes[i]);
        }
    }
    for ((lane, x), y) in lanes.iter_mut().zip(x_tail).zip(y_tail) {
        *lane = E::add_product::<M>(*x, *y, *lane);
    }
    total(lanes)
}

/// The sum of the products of the pairs of elements.
pub(crate) fn dot<E: Accumulate>(isa: Isa, x: &[E], y: &[E]) -> E {
    assert_eq!(x.len(), y.len(), "both operands have one length");
    dispatch(isa, Dot(x, y))
}

/// Whether the extremum is the largest element or the smallest.
#[derive(Clone, Copy)]
enum Side {
    Largest,
    Smallest,
}

impl Side {
    #[inline(always)]
    fn beats<E: Elem>(self, x: E, y: E) -> bool {
        match self {
            Side::Largest => x > y,
            Side::Smallest => x < y,
        }
    }

    /// The extremum of two numbers, of which the first comes first: NaN beats every number.
    #[inline(always)]
    fn better<E: Elem>(self, best: E, x: E) -> E {
        if self.beats(x, best) | (is_nan(x) & !is_nan(best)) { x } else { best }
    }
}

#[inline(always)]
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<E: Elem>(x: E) -> bool {
    x != x
}

struct Extremum<'a, E>(Side, &'a [E]);

impl<E: Num> Kernel for Extremum<'_, E> {
    type Output = E;
    #[inline(always)]
    fn run<M: Machine>(self) -> E {
        // A loop for each side.
        match self.0 {
            Side::Largest => extremum_in(Side::Largest, self.1),
            Side::Smallest => extremum_in(Side::Smallest, self.1),
        }
    }
}

#[inline(always)]
fn extremum_in<E: Num>(side: Side, x: &[E]) -> E {
    let mut lanes = [x[0]; LANES];
    let (chunks, tail) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            lanes[i] = side.better(lanes[i], chunk[i]);
        }
    }
    lanes.iter().chain(tail).fold(x[0], |best, x| side.better(best, *x))
}

fn extremum<E: Num>(isa: Isa, side: Side, x: &[E]) -> E {
    assert!(!x.is_empty(), "an extremum has elements to choose from");
    let best = dispatch(isa, Extremum(side, x));
    // The lanes do not tell which of two zeros, or of two NaN, came first.
    if best == E::ZERO || is_nan(best) {
        return x.iter().copied().find(|x| *x == best || (is_nan(*x) & is_nan(best))).unwrap_or(best);
    }
    best
}

/// The first of the largest elements, or the first NaN.
pub(crate) fn max<E: Num>(isa: Isa, x: &[E]) -> E {
    extremum(isa, Side::Largest, x)
}

/// The first of the smallest elements, or the first NaN.
pub(crate) fn min<E: Num>(isa: Isa, x: &[E]) -> E {
    extremum(isa, Side::Smallest, x)
}

struct Better<'a, E> {
    side: Side,
    x: &'a [E],
    best: &'a mut [E],
}

impl<E: Num> Kernel for Better<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        match self.side {
            Side::Largest => better_in(Side::Largest, self.x, self.best),
            Side::Smallest => better_in(Side::Smallest, self.x, self.best),
        }
    }
}

#[inline(always)]
fn better_in<E: Num>(side: Side, x: &[E], best: &mut [E]) {
    for (best, x) in best.iter_mut().zip(x) {
        *best = side.better(*best, *x);
    }
}

/// Replaces numbers of the output by those that come later and are larger, or the first NaN.
pub(crate) fn max_to<E: Num>(isa: Isa, x: &[E], best: &mut [E]) {
    assert_eq!(x.len(), best.len(), "the operand has the length of the output");
    dispatch(isa, Better { side: Side::Largest, x, best });
}

/// Replaces numbers of the output by those that come later and are smaller, or the first NaN.
pub(crate) fn min_to<E: Num>(isa: Isa, x: &[E], best: &mut [E]) {
    assert_eq!(x.len(), best.len(), "the operand has the length of the output");
    dispatch(isa, Better { side: Side::Smallest, x, best });
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

impl<E: Accumulate> Kernel for Axpy<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        for (out, x) in self.out.iter_mut().zip(self.x) {
            *out = E::add_product::<M>(self.a, *x, *out);
        }
    }
}

/// Adds each element times a number to the output.
pub(crate) fn axpy<E: Accumulate>(isa: Isa, a: E, x: &[E], out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "the operand has the length of the output");
    dispatch(isa, Axpy { a, x, out });
}
