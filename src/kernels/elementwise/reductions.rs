//! Reductions of slices to numbers, and accumulation in place.
//!
//! Law: a sum has a fixed number of partial sums, and no product is fused into one, so results do not depend on the
//! instruction set.
#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use std::hint::select_unpredictable;

use crate::dtype::{Elem, Num};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// The number of partial sums; a quarter as many for slices shorter than twice that.
const LANES: usize = 32;

/// The number of partial results of a dot product (an eighth as many for short slices) or of an extremum. The length of
/// their inner loop is computed, so that the loop is not unrolled before it is vectorised.
const WIDE: usize = 64;

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
pub(crate) fn sum_in<E: Num, const N: usize>(x: &[E]) -> E {
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

/// Whether the extremum is the largest element or the smallest.
#[derive(Clone, Copy)]
enum Side {
    Largest,
    Smallest,
}

impl Side {
    /// The extremum of two numbers, of which the first comes first; the first if the second is NaN.
    #[inline(always)]
    fn better<E: Elem>(self, best: E, x: E) -> E {
        let beats = match self {
            Side::Largest => x > best,
            Side::Smallest => x < best,
        };
        // A branch would become a conditional store, which vectors do slowly.
        select_unpredictable(beats, x, best)
    }

    /// The extremum of two numbers, of which the first comes first: NaN beats every number.
    #[inline(always)]
    fn better_or_nan<E: Elem>(self, best: E, x: E) -> E {
        select_unpredictable(is_nan(x) & !is_nan(best), x, self.better(best, x))
    }
}

#[inline(always)]
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<E: Elem>(x: E) -> bool {
    x != x
}

struct Extremum<'a, E>(Side, &'a [E]);

impl<E: Num> Kernel for Extremum<'_, E> {
    /// The extremum of all elements but NaN, and whether there is NaN.
    type Output = (E, bool);
    #[inline(always)]
    fn run<M: Machine>(self) -> (E, bool) {
        // A loop for each side.
        match self.0 {
            Side::Largest => extremum_in(Side::Largest, self.1),
            Side::Smallest => extremum_in(Side::Smallest, self.1),
        }
    }
}

#[inline(always)]
fn extremum_in<E: Num>(side: Side, x: &[E]) -> (E, bool) {
    let mut lanes = [x[0]; WIDE];
    let mut start = 0;
    while start < x.len() {
        let n = WIDE.min(x.len() - start);
        let (x, lanes) = (&x[start..][..n], &mut lanes[..n]);
        for i in 0..n {
            lanes[i] = side.better(lanes[i], x[i]);
        }
        start += WIDE;
    }
    let mut n = WIDE;
    while n > 1 {
        n /= 2;
        for i in 0..n {
            lanes[i] = side.better(lanes[i], lanes[i + n]);
        }
    }
    // A loop of its own, of integers: so both are vectorised.
    let mut nans = 0;
    for i in 0..x.len() {
        nans += usize::from(is_nan(x[i]));
    }
    (lanes[0], nans > 0)
}

fn extremum<E: Num>(isa: Isa, side: Side, x: &[E]) -> E {
    assert!(!x.is_empty(), "an extremum has elements to choose from");
    let (best, nan) = dispatch(isa, Extremum(side, x));
    // The lanes do not tell which of two zeros, or of two NaN, came first.
    if nan {
        return x.iter().copied().find(|x| is_nan(*x)).unwrap_or(best);
    }
    if best == E::ZERO {
        return x.iter().copied().find(|x| *x == best).unwrap_or(best);
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
    let x = &x[..best.len()];
    for i in 0..best.len() {
        best[i] = side.better_or_nan(best[i], x[i]);
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
        let Add { x, out } = self;
        let x = &x[..out.len()];
        for i in 0..out.len() {
            out[i] = out[i].plus(x[i]);
        }
    }
}

/// Adds each element to the output.
pub(crate) fn add_to<E: Num>(isa: Isa, x: &[E], out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "the operand has the length of the output");
    dispatch(isa, Add { x, out });
}
