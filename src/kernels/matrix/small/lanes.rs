//! Lanes: numbers of several matrices side by side, how matrices are read and written, and what is asked of all lanes.
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use std::ops::{Add, BitAnd, BitOr, Div, Index, IndexMut, Mul, Neg, Not, Sub};

use polygrad_math::{Arithmetic, Machine, Mask};

use crate::kernels::matrix::machine::DirectNumber;
use crate::kernels::matrix::{Real, abs, exponent, scaled};

/// A number of each of `L` matrices.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneNumbers<E, const L: usize>(pub(super) [E; L]);

/// A truth value of each of `L` matrices.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneMask<const L: usize>(pub(super) [bool; L]);

impl<E, const L: usize> Index<usize> for LaneNumbers<E, L> {
    type Output = E;
    #[inline(always)]
    fn index(&self, lane: usize) -> &E {
        &self.0[lane]
    }
}

impl<E, const L: usize> IndexMut<usize> for LaneNumbers<E, L> {
    #[inline(always)]
    fn index_mut(&mut self, lane: usize) -> &mut E {
        &mut self.0[lane]
    }
}

impl<E: Real, const L: usize> LaneNumbers<E, L> {
    pub(super) const ZERO: LaneNumbers<E, L> = LaneNumbers([E::ZERO; L]);

    #[inline(always)]
    fn compare(self, other: Self, f: impl Fn(E, E) -> bool) -> LaneMask<L> {
        let mut out = [false; L];
        for l in 0..L {
            out[l] = f(self.0[l], other.0[l]);
        }
        LaneMask(out)
    }

    #[inline(always)]
    fn map(mut self, f: impl Fn(E) -> E) -> Self {
        for l in 0..L {
            self.0[l] = f(self.0[l]);
        }
        self
    }
}

macro_rules! lane_operators {
    ($($Trait:ident $method:ident $operator:tt;)*) => {$(
        impl<E: Real, const L: usize> $Trait for LaneNumbers<E, L> {
            type Output = LaneNumbers<E, L>;
            #[inline(always)]
            fn $method(mut self, other: LaneNumbers<E, L>) -> LaneNumbers<E, L> {
                for l in 0..L {
                    self.0[l] $operator other.0[l];
                }
                self
            }
        }
    )*};
}
lane_operators! { Add add +=; Sub sub -=; Mul mul *=; Div div /=; }

impl<E: Real, const L: usize> Neg for LaneNumbers<E, L> {
    type Output = LaneNumbers<E, L>;
    #[inline(always)]
    fn neg(self) -> LaneNumbers<E, L> {
        self.map(|x| -x)
    }
}

macro_rules! mask_operators {
    ($($Trait:ident $method:ident $operator:tt;)*) => {$(
        impl<const L: usize> $Trait for LaneMask<L> {
            type Output = LaneMask<L>;
            #[inline(always)]
            fn $method(mut self, other: LaneMask<L>) -> LaneMask<L> {
                for l in 0..L {
                    self.0[l] $operator other.0[l];
                }
                self
            }
        }
    )*};
}
mask_operators! { BitAnd bitand &=; BitOr bitor |=; }

impl<const L: usize> Not for LaneMask<L> {
    type Output = LaneMask<L>;
    #[inline(always)]
    fn not(self) -> LaneMask<L> {
        LaneMask(self.0.map(|x| !x))
    }
}

impl<const L: usize> Mask for LaneMask<L> {}

impl<E: Real, const L: usize> Arithmetic for LaneNumbers<E, L> {
    type Mask = LaneMask<L>;
    #[inline(always)]
    fn literal(x: f64) -> Self {
        LaneNumbers([E::of_f64(x); L])
    }
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.map(E::magnitude)
    }
    #[inline(always)]
    fn root(self) -> Self {
        self.map(E::root)
    }
    #[inline(always)]
    fn product_error<M: Machine>(mut a: Self, b: Self, product: Self) -> Self {
        for l in 0..L {
            a.0[l] = E::product_error::<M>(a.0[l], b.0[l], product.0[l]);
        }
        a
    }
    #[inline(always)]
    fn below(self, other: Self) -> LaneMask<L> {
        self.compare(other, |x, y| x < y)
    }
    #[inline(always)]
    fn at_most(self, other: Self) -> LaneMask<L> {
        self.compare(other, |x, y| x <= y)
    }
    #[inline(always)]
    fn above(self, other: Self) -> LaneMask<L> {
        self.compare(other, |x, y| x > y)
    }
    #[inline(always)]
    fn at_least(self, other: Self) -> LaneMask<L> {
        self.compare(other, |x, y| x >= y)
    }
    #[inline(always)]
    fn equals(self, other: Self) -> LaneMask<L> {
        self.compare(other, |x, y| x == y)
    }
    #[inline(always)]
    fn is_not_a_number(self) -> LaneMask<L> {
        self.compare(self, |x, y| x != y)
    }
    #[inline(always)]
    fn select(mask: LaneMask<L>, mut x: Self, y: Self) -> Self {
        for l in 0..L {
            x.0[l] = if mask.0[l] { x.0[l] } else { y.0[l] };
        }
        x
    }
}

impl<E: Real, const L: usize> DirectNumber for LaneNumbers<E, L> {
    type Int = [i64; L];

    const EPSILON: f64 = <E as DirectNumber>::EPSILON;

    #[inline(always)]
    fn any(mask: LaneMask<L>) -> bool {
        mask.0.iter().any(|x| *x)
    }
    #[inline(always)]
    fn mask(x: bool) -> LaneMask<L> {
        LaneMask([x; L])
    }
    #[inline(always)]
    fn int(x: usize) -> [i64; L] {
        [x as i64; L]
    }
    #[inline(always)]
    fn zip(mut x: [i64; L], y: [i64; L], f: impl Fn(i64, i64) -> i64) -> [i64; L] {
        for l in 0..L {
            x[l] = f(x[l], y[l]);
        }
        x
    }
    #[inline(always)]
    fn compare(x: [i64; L], y: [i64; L], f: impl Fn(i64, i64) -> bool) -> LaneMask<L> {
        let mut out = [false; L];
        for l in 0..L {
            out[l] = f(x[l], y[l]);
        }
        LaneMask(out)
    }
    #[inline(always)]
    fn select_int(mask: LaneMask<L>, mut x: [i64; L], y: [i64; L]) -> [i64; L] {
        for l in 0..L {
            x[l] = if mask.0[l] { x[l] } else { y[l] };
        }
        x
    }
    fn ln(self) -> Self {
        self.map(num_traits::Float::ln)
    }
    fn exponent(self) -> [i64; L] {
        self.0.map(|x| exponent([x].into_iter()))
    }
    fn scaled(mut self, power: [i64; L]) -> Self {
        for l in 0..L {
            self.0[l] = scaled(self.0[l], power[l]);
        }
        self
    }
    fn of_int(x: [i64; L]) -> Self {
        LaneNumbers(x.map(|x| E::of_f64(x as f64)))
    }
    #[inline(always)]
    fn are_finite(x: &[Self]) -> LaneMask<L> {
        are_finite(x)
    }
}

/// The matrices of a run of lanes: `live` of them from the first on.
#[derive(Clone, Copy)]
pub(super) struct Live {
    pub(super) first: usize,
    pub(super) live: usize,
}

impl Live {
    /// The matrix of a lane; a lane without one repeats the last.
    #[inline(always)]
    pub(super) fn matrix(self, lane: usize) -> usize {
        self.first + lane.min(self.live - 1)
    }

    /// Reads as many elements of each matrix as `to` has.
    #[inline(always)]
    pub(super) fn load<E: Real, const L: usize>(self, from: &[E], to: &mut [LaneNumbers<E, L>]) {
        let size = to.len();
        if self.live == L {
            let from = &from[self.first * size..][..L * size];
            for k in 0..size {
                for l in 0..L {
                    to[k][l] = from[l * size + k];
                }
            }
            return;
        }
        for l in 0..L {
            let from = &from[self.matrix(l) * size..][..size];
            for k in 0..size {
                to[k][l] = from[k];
            }
        }
    }

    /// Writes the elements of each matrix.
    #[inline(always)]
    pub(super) fn store<E: Real, const L: usize>(self, from: &[LaneNumbers<E, L>], to: &mut [E]) {
        let size = from.len();
        if self.live == L {
            let to = &mut to[self.first * size..][..L * size];
            for k in 0..size {
                for l in 0..L {
                    to[l * size + k] = from[k][l];
                }
            }
            return;
        }
        for l in 0..self.live {
            let to = &mut to[(self.first + l) * size..][..size];
            for k in 0..size {
                to[k] = from[k][l];
            }
        }
    }
}

/// Whether all elements are finite.
#[inline(always)]
fn are_finite<E: Real, const L: usize>(x: &[LaneNumbers<E, L>]) -> LaneMask<L> {
    // Finite numbers become 0, and all others NaN.
    let mut sum = [E::ZERO; L];
    for x in x {
        for l in 0..L {
            sum[l] += x[l] * E::ZERO;
        }
    }
    LaneMask(sum.map(|sum| sum == E::ZERO))
}

/// Whether all elements that are not zero are at most two to this power, and at least two to the opposite one.
#[inline(always)]
pub(super) fn are_moderate<E: Real, const L: usize>(x: &[LaneNumbers<E, L>], power: i32) -> LaneMask<L> {
    let (least, most) = (E::of_f64(2f64.powi(-power)), E::of_f64(2f64.powi(power)));
    let mut moderate = [true; L];
    for x in x {
        for l in 0..L {
            let size = abs(x[l]);
            moderate[l] &= size == E::ZERO || (size >= least && size <= most);
        }
    }
    LaneMask(moderate)
}
