//! The rows of [`Binary`] over slices.

use polygrad_math::{derived, rows};

use super::Real;
use super::loops::{Arg, GuardedZip, TableRow, pairs, pairs_by_library, pairs_guarded};
use crate::kernels::isa::{Isa, Machine};
use crate::ops::Binary;

#[derive(Clone, Copy, Default)]
struct Pow;

impl<E: Real> GuardedZip<E> for Pow {
    #[inline(always)]
    fn at<M: Machine>(self, x: E, y: E) -> (E, bool) {
        E::power::<M>(x, y)
    }
    fn row(x: E, y: E) -> E {
        E::literal(rows::pow(x.wide(), y.wide()))
    }
}

#[derive(Clone, Copy, Default)]
struct LogAddExp;

/// Accurate at all arguments.
impl<E: Real> GuardedZip<E> for LogAddExp {
    #[inline(always)]
    fn at<M: Machine>(self, x: E, y: E) -> (E, bool) {
        (derived::logaddexp::<E, M>(x, y), true)
    }
    fn row(x: E, y: E) -> E {
        Binary::LogAddExp.apply(x, y)
    }
}

#[derive(Clone, Copy, Default)]
struct Atan2;

impl<E: Real> GuardedZip<E> for Atan2 {
    #[inline(always)]
    fn at<M: Machine>(self, y: E, x: E) -> (E, bool) {
        E::angle::<M>(y, x)
    }
    fn row(y: E, x: E) -> E {
        E::literal(rows::atan2(y.wide(), x.wide()))
    }
}

#[derive(Clone, Copy, Default)]
struct Hypot;

impl<E: Real> GuardedZip<E> for Hypot {
    #[inline(always)]
    fn at<M: Machine>(self, x: E, y: E) -> (E, bool) {
        derived::hypot::<E, M>(x, y)
    }
    fn row(x: E, y: E) -> E {
        E::literal(rows::hypot(x.wide(), y.wide()))
    }
}

#[derive(Clone, Copy, Default)]
struct PowLessOne;

impl<E: Real> GuardedZip<E> for PowLessOne {
    #[inline(always)]
    fn at<M: Machine>(self, x: E, y: E) -> (E, bool) {
        derived::pow_less_one::<E, M>(x, y)
    }
    fn row(x: E, y: E) -> E {
        E::literal(rows::pow_less_one(x.wide(), y.wide()))
    }
}

#[derive(Clone, Copy, Default)]
struct RecipReal;

impl<E: Real> GuardedZip<E> for RecipReal {
    #[inline(always)]
    fn at<M: Machine>(self, x: E, y: E) -> (E, bool) {
        derived::recip_real::<E, M>(x, y)
    }
    fn row(x: E, y: E) -> E {
        E::literal(rows::recip_real(x.wide(), y.wide()))
    }
}

/// Chooses the loop of a row: the row itself compiled for each instruction set (`rows`), a vector kernel, which may
/// fall back to the row at some arguments (`guarded`), or one loop for all rows that call a library (`library`).
macro_rules! by_row {
    ($isa:ident, $op:ident, $x:ident, $y:ident, $out:ident; rows: $($R:ident)*; guarded: $($G:ident)*; library: $($L:ident)*;) => {
        match $op {
            $( Binary::$R => pairs($isa, TableRow(|x: E, y: E| Binary::$R.apply(x, y)), $x, $y, $out), )*
            $( Binary::$G => pairs_guarded($isa, $G, $x, $y, $out), )*
            $( Binary::$L )|* => pairs_by_library(|x: E, y: E| $op.apply(x, y), $x, $y, $out),
        }
    };
}

/// The row at each pair of elements.
pub(crate) fn binary<E: Real>(isa: Isa, op: Binary, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    by_row! {
        isa, op, x, y, out;
        rows: Add Sub Mul Div Copysign Min Max MulNoNan;
        guarded: LogAddExp Pow PowLessOne Atan2 RecipReal Hypot;
        library: Polygamma;
    }
}

/// A row as a function of two numbers, with the bits that a loop over slices gives it.
pub(crate) trait BinaryFunction {
    /// Whether bits depend on the machine; if not, the row itself is the function.
    const BY_MACHINE: bool;
    fn at<M: Machine>(x: f64, y: f64) -> f64;
}

/// A computation that is generic in the function of a row.
pub(crate) trait UseBinary {
    type Output;
    fn with<F: BinaryFunction>(self) -> Self::Output;
}

/// A vector kernel that falls back to the row at some arguments.
struct Careful<F>(std::marker::PhantomData<F>);

impl<F: GuardedZip<f64> + Default> BinaryFunction for Careful<F> {
    const BY_MACHINE: bool = true;
    #[inline(always)]
    fn at<M: Machine>(x: f64, y: f64) -> f64 {
        let (z, right) = F::default().at::<M>(x, y);
        if right { z } else { F::row(x, y) }
    }
}

macro_rules! as_function {
    ($op:ident, $f:ident; rows: $($R:ident)*; guarded: $($G:ident)*;) => {
        match $op {
            $( Binary::$G => $f.with::<Careful<$G>>(), )*
            $( Binary::$R => {
                struct Here;
                impl BinaryFunction for Here {
                    const BY_MACHINE: bool = false;
                    #[inline(always)]
                    fn at<M: Machine>(x: f64, y: f64) -> f64 {
                        Binary::$R.apply(x, y)
                    }
                }
                $f.with::<Here>()
            } )*
        }
    };
}

/// Runs a computation that is generic in the function of a row.
pub(crate) fn binary_function<U: UseBinary>(op: Binary, f: U) -> U::Output {
    as_function! {
        op, f;
        rows: Add Sub Mul Div Copysign Min Max MulNoNan Polygamma;
        guarded: LogAddExp Pow PowLessOne Atan2 RecipReal Hypot;
    }
}
