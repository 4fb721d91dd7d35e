//! The rows of [`Unary`] over slices.

use polygrad_math::{derived, rows};

use super::Real;
use super::loops::{Guarded, Map, TableRow, each, each_by_library, each_guarded};
use crate::dtype::DType;
use crate::kernels::isa::{Isa, Machine};
use crate::ops::Unary;

/// Declares functions of one float, each as a type, so that each has its own loop; where one is not accurate, it is
/// what [`rows`] computes, and not what the platform does.
macro_rules! functions {
    ($($Op:ident: |$x:ident, $E:ident, $M:ident| $value:expr $(, if $ordinary:expr, else $row:ident)?;)*) => {
        $(
            #[derive(Clone, Copy, Default)]
            struct $Op;
            impl<$E: Real> Map<$E, $E> for $Op {
                #[inline(always)]
                fn at<$M: Machine>(self, $x: $E) -> $E {
                    $value
                }
            }
            $(
                impl<$E: Real> Guarded<$E> for $Op {
                    #[inline(always)]
                    fn is_ordinary($x: $E) -> bool {
                        $ordinary
                    }
                    fn row($x: $E) -> $E {
                        $E::literal(rows::$row($x.wide()))
                    }
                }
            )?
        )*
    };
}

functions! {
    Exp: |x, E, M| E::exponential::<M>(x);
    Expm1: |x, E, M| E::exponential_less_one::<M>(x);
    Ln: |x, E, M| E::logarithm::<M>(x), if E::is_normal_and_positive(x), else ln;
    Log1p: |x, E, M| E::logarithm_of_one_plus::<M>(x), if E::exceeds_minus_one(x), else log1p;
    Sin: |x, E, M| E::sine::<M>(x), if E::is_small_angle(x), else sin;
    Cos: |x, E, M| E::cosine::<M>(x), if E::is_small_angle(x), else cos;
    Tan: |x, E, M| E::tangent::<M>(x), if E::is_small_angle(x), else tan;
    Tanh: |x, E, M| derived::tanh::<E, M>(x);
    Sech2: |x, E, M| derived::sech2::<E, M>(x);
    Sigmoid: |x, E, M| derived::sigmoid::<E, M>(x);
    Softplus: |x, E, M| derived::softplus::<E, M>(x);
    Gaussian: |x, E, M| E::gaussian::<M>(x);
    Erf: |x, E, M| E::erf::<M>(x);
    Erfc: |x, E, M| E::erfc::<M>(x), if E::has_complement(x), else erfc;
    Erfinv: |x, E, M| E::erfinv::<M>(x);
    Atan: |x, E, M| E::arctangent::<M>(x);
    Asin: |x, E, M| E::arcsine::<M>(x), if E::is_inner_sine(x), else asin;
    Acos: |x, E, M| E::arccosine::<M>(x), if E::is_inner_sine(x), else acos;
    Lgamma: |x, E, M| E::logarithm_of_gamma::<M>(x), if E::is_positive_and_finite(x), else lgamma;
    Sinh: |x, E, M| derived::sinh::<E, M>(x), if derived::has_exponential(x), else sinh;
    Cosh: |x, E, M| derived::cosh::<E, M>(x), if derived::has_exponential(x), else cosh;
}

/// Passes the kernel of each row to a macro: the row itself compiled for each instruction set (`rows`), a vector kernel
/// (`kernels`), one that falls back to the row at some arguments (`guarded`), at none of them in `f32` (`narrow`), one that is
/// accurate enough for `f32` alone and falls back (`single`), or one loop for all rows that call a library (`library`).
macro_rules! with_kernels {
    ($then:ident!($($given:ident),*)) => {
        $then! {
            $($given),*;
            rows: Neg Abs Recip Square OneMinusSquare Sqrt Relu;
            kernels: Exp Expm1 Tanh Sech2 Sigmoid Softplus Gaussian Erf Erfinv Atan;
            narrow: Erfc Asin Acos;
            single: Lgamma;
            guarded: Ln Log1p Sin Cos Tan Sinh Cosh;
            library: Asinh Acosh Atanh Digamma Trigamma;
        }
    };
}

/// Chooses the loop of a row.
macro_rules! by_row {
    ($isa:ident, $op:ident, $x:ident, $out:ident; rows: $($R:ident)*; kernels: $($K:ident)*; narrow: $($N:ident)*; single: $($S:ident)*; guarded: $($G:ident)*; library: $($L:ident)*;) => {
        match $op {
            $( Unary::$R => each($isa, TableRow(|x: E| Unary::$R.apply(x)), $x, $out), )*
            $( Unary::$K => each($isa, $K, $x, $out), )*
            $( Unary::$G => each_guarded($isa, $G, $x, $out), )*
            $( Unary::$N if E::DTYPE == DType::F32 => each($isa, $N, $x, $out), )*
            $( Unary::$N => each_guarded($isa, $N, $x, $out), )*
            $( Unary::$S if E::DTYPE == DType::F32 => each_guarded($isa, $S, $x, $out), )*
            $( Unary::$S | )* $( Unary::$L )|* => each_by_library(|x: E| $op.apply(x), $x, $out),
        }
    };
}

/// The row at each element.
pub(crate) fn unary<E: Real>(isa: Isa, op: Unary, x: &[E], out: &mut [E]) {
    with_kernels!(by_row!(isa, op, x, out))
}

/// A row as a function of one number, with the bits that a loop over a slice gives it.
pub(crate) trait UnaryFunction {
    /// Whether bits depend on the machine; if not, the row itself is the function.
    const BY_MACHINE: bool;
    fn at<M: Machine>(x: f64) -> f64;

    /// Whether `ordinary` is the function at an argument.
    #[cfg_attr(
        not(feature = "jit"),
        allow(dead_code, reason = "native code alone computes several numbers by one call")
    )]
    #[inline(always)]
    fn is_ordinary(_: f64) -> bool {
        true
    }

    /// The function at ordinary arguments, without a branch.
    #[cfg_attr(
        not(feature = "jit"),
        allow(dead_code, reason = "native code alone computes several numbers by one call")
    )]
    #[inline(always)]
    fn ordinary<M: Machine>(x: f64) -> f64 {
        Self::at::<M>(x)
    }
}

/// A computation that is generic in the function of a row.
pub(crate) trait UseUnary {
    type Output;
    fn with<F: UnaryFunction>(self) -> Self::Output;
}

/// A vector kernel.
struct Kernel<F>(std::marker::PhantomData<F>);

impl<F: Map<f64, f64> + Default> UnaryFunction for Kernel<F> {
    const BY_MACHINE: bool = true;
    #[inline(always)]
    fn at<M: Machine>(x: f64) -> f64 {
        F::default().at::<M>(x)
    }
}

/// A vector kernel that falls back to the row at some arguments.
struct Careful<F>(std::marker::PhantomData<F>);

impl<F: Guarded<f64> + Default> UnaryFunction for Careful<F> {
    const BY_MACHINE: bool = true;
    #[inline(always)]
    fn at<M: Machine>(x: f64) -> f64 {
        if F::is_ordinary(x) { F::default().at::<M>(x) } else { F::row(x) }
    }
    #[inline(always)]
    fn is_ordinary(x: f64) -> bool {
        F::is_ordinary(x)
    }
    #[inline(always)]
    fn ordinary<M: Machine>(x: f64) -> f64 {
        F::default().at::<M>(x)
    }
}

/// Chooses the function of a row in `f64`: the row itself, if no kernel is accurate enough.
macro_rules! as_function {
    ($op:ident, $f:ident; rows: $($R:ident)*; kernels: $($K:ident)*; narrow: $($N:ident)*; single: $($S:ident)*; guarded: $($G:ident)*; library: $($L:ident)*;) => {
        as_function! { @ $op, $f; rows: $($R)* $($S)* $($L)*; kernels: $($K)*; guarded: $($N)* $($G)*; }
    };
    (@ $op:ident, $f:ident; rows: $($R:ident)*; kernels: $($K:ident)*; guarded: $($G:ident)*;) => {
        match $op {
            $( Unary::$K => $f.with::<Kernel<$K>>(), )*
            $( Unary::$G => $f.with::<Careful<$G>>(), )*
            $( Unary::$R => {
                struct Here;
                impl UnaryFunction for Here {
                    const BY_MACHINE: bool = false;
                    #[inline(always)]
                    fn at<M: Machine>(x: f64) -> f64 {
                        Unary::$R.apply(x)
                    }
                }
                $f.with::<Here>()
            } )*
        }
    };
}

/// Runs a computation that is generic in the function of a row.
pub(crate) fn unary_function<U: UseUnary>(op: Unary, f: U) -> U::Output {
    with_kernels!(as_function!(op, f))
}
