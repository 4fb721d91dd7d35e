//! The rows of [`Binary`] over slices.

use polygrad_math::{derived, rows};

use super::Real;
use super::loops::{Arg, GuardedZip, TableRow, pairs, pairs_by_library, pairs_guarded};
use crate::kernels::isa::{Isa, Machine};
use crate::ops::Binary;

/// Declares functions of two floats, each as a type, so that each has its own loop: the function, which says whether
/// its result is accurate, and the row.
macro_rules! functions {
    ($($Op:ident: |$x:ident, $y:ident, $E:ident, $M:ident| $value:expr, otherwise $row:expr;)*) => {
        $(
            #[derive(Clone, Copy, Default)]
            struct $Op;

            impl<$E: Real> GuardedZip<$E> for $Op {
                #[inline(always)]
                fn at<$M: Machine>(self, $x: $E, $y: $E) -> ($E, bool) {
                    $value
                }
                fn row($x: $E, $y: $E) -> $E {
                    $row
                }
            }
        )*
    };
}

functions! {
    Pow: |x, y, E, M| E::power::<M>(x, y), otherwise E::literal(rows::pow(x.wide(), y.wide()));
    LogAddExp: |x, y, E, M| (derived::logaddexp::<E, M>(x, y), true), otherwise Binary::LogAddExp.apply(x, y);
    Atan2: |y, x, E, M| E::angle::<M>(y, x), otherwise E::literal(rows::atan2(y.wide(), x.wide()));
    Hypot: |x, y, E, M| derived::hypot::<E, M>(x, y), otherwise E::literal(rows::hypot(x.wide(), y.wide()));
    PowLessOne: |x, y, E, M| derived::pow_less_one::<E, M>(x, y), otherwise E::literal(rows::pow_less_one(x.wide(), y.wide()));
    RecipReal: |x, y, E, M| derived::recip_real::<E, M>(x, y), otherwise E::literal(rows::recip_real(x.wide(), y.wide()));
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
        rows: Add Sub Mul Div Copysign Min Max MulNoNan DivNoNan;
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
        rows: Add Sub Mul Div Copysign Min Max MulNoNan DivNoNan Polygamma;
        guarded: LogAddExp Pow PowLessOne Atan2 RecipReal Hypot;
    }
}
