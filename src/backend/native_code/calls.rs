//! The functions that native code calls: elementary functions, and blocks of random bits.
//!
//! A function of eight numbers reads and writes memory: its elements are computed together, by vectors.
//!
//! Law: a function has the bits of the kernel over slices, on the machine of the process.

#![allow(unsafe_code)]

use crate::dtype::DType;
use crate::kernels::elementwise::{
    self, Arg, BinaryFunction, Fused, Isa, Real, UnaryFunction, UseBinary, UseUnary, WithoutFma, binary_function,
    unary_function,
};
use crate::ops::{Binary, FloatStep, IntBinary, Unary};

/// The address of a function whose arguments and result are elements of one type.
pub(super) type Address = *const u8;

/// A function of floats of this type.
pub(super) fn unary(isa: Isa, op: Unary, dtype: DType) -> Address {
    if dtype == DType::F32 { single(op) } else { unary_function(op, Select(isa)) }
}

/// A function of two floats of this type.
pub(super) fn binary(isa: Isa, op: Binary, dtype: DType) -> Address {
    if dtype == DType::F32 { single_pair(op) } else { binary_function(op, Select(isa)) }
}

/// The number of elements of a function on vectors.
pub(super) const TOGETHER: usize = 8;

/// A function of floats of this type at eight arguments: of the address of these, and of that of the results.
pub(super) fn unary_together(isa: Isa, op: Unary, dtype: DType) -> Address {
    if dtype == DType::F32 { single_together(op) } else { unary_function(op, Together(isa)) }
}

/// A function of two floats at eight pairs of arguments: of the addresses of the first, the second and the results.
pub(super) fn binary_together(isa: Isa, op: Binary, dtype: DType) -> Option<Address> {
    (dtype == DType::F64).then(|| binary_function(op, Together(isa)))
}

/// The nearest integer of a float of this type.
pub(super) fn round(dtype: DType) -> Address {
    extern "C" fn round<E: Real>(x: E) -> E {
        FloatStep::Round.apply(x)
    }
    if dtype == DType::F32 {
        round::<f32> as extern "C" fn(f32) -> f32 as Address
    } else {
        round::<f64> as extern "C" fn(f64) -> f64 as Address
    }
}

/// A block of random bits of a key and a counter.
pub(super) fn threefry() -> Address {
    extern "C" fn threefry(key: i64, counter: i64) -> i64 {
        IntBinary::Threefry.apply(key, counter)
    }
    threefry as extern "C" fn(i64, i64) -> i64 as Address
}

/// Selects the function of a row that the instructions of the machine allow.
struct Select(Isa);

impl UseUnary for Select {
    type Output = Address;
    fn with<F: UnaryFunction>(self) -> Address {
        let fused = F::BY_MACHINE && self.0.has_fma();
        if fused {
            one_fused::<F> as unsafe extern "C" fn(f64) -> f64 as Address
        } else {
            one::<F> as unsafe extern "C" fn(f64) -> f64 as Address
        }
    }
}

impl UseBinary for Select {
    type Output = Address;
    fn with<F: BinaryFunction>(self) -> Address {
        let fused = F::BY_MACHINE && self.0.has_fma();
        let f = if fused { two_fused::<F> as unsafe extern "C" fn(f64, f64) -> f64 } else { two::<F> };
        f as Address
    }
}

/// Selects the function of eight arguments that the instructions of the machine allow.
struct Together(Isa);

impl UseUnary for Together {
    type Output = Address;
    fn with<F: UnaryFunction>(self) -> Address {
        type Entry = unsafe extern "C" fn(*const [f64; TOGETHER], *mut [f64; TOGETHER]);
        let entry: Entry = match (self.0.has_fma(), self.0.name()) {
            #[cfg(target_arch = "x86_64")]
            (true, "avx512") => eight_wide::<F>,
            (true, _) => eight_fused::<F>,
            (false, _) => eight::<F>,
        };
        entry as Address
    }
}

impl UseBinary for Together {
    type Output = Address;
    fn with<F: BinaryFunction>(self) -> Address {
        type Entry = unsafe extern "C" fn(*const [f64; TOGETHER], *const [f64; TOGETHER], *mut [f64; TOGETHER]);
        let entry: Entry = if self.0.has_fma() { pairs_fused::<F> } else { pairs::<F> };
        entry as Address
    }
}

/// Defines the functions of eight arguments for one instruction set.
macro_rules! entries_together {
    ($($(#[$feature:meta])? $eight:ident $pairs:ident $Machine:ty;)*) => { $(
        $(#[$feature])?
        unsafe extern "C" fn $eight<F: UnaryFunction>(x: *const [f64; TOGETHER], out: *mut [f64; TOGETHER]) {
            // Safety: the caller passes the addresses of eight numbers each.
            let (x, out) = unsafe { (&*x, &mut *out) };
            if x.iter().fold(true, |all, x| all & F::is_ordinary(*x)) {
                *out = x.map(|x| F::ordinary::<$Machine>(x));
            } else {
                *out = x.map(|x| F::at::<$Machine>(x));
            }
        }

        $(#[$feature])?
        #[allow(dead_code, reason = "a function of two numbers gains nothing from longer vectors")]
        unsafe extern "C" fn $pairs<F: BinaryFunction>(
            x: *const [f64; TOGETHER],
            y: *const [f64; TOGETHER],
            out: *mut [f64; TOGETHER],
        ) {
            // Safety: as above.
            let (x, y, out) = unsafe { (&*x, &*y, &mut *out) };
            *out = std::array::from_fn(|k| F::at::<$Machine>(x[k], y[k]));
        }
    )* };
}

entries_together! {
    eight pairs WithoutFma;
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))] eight_fused pairs_fused Fused;
}

#[cfg(target_arch = "x86_64")]
entries_together! {
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")] eight_wide pairs_wide Fused;
}

/// Defines the functions for one instruction set.
macro_rules! entries {
    ($($(#[$feature:meta])? $one:ident $two:ident $Machine:ty;)*) => { $(
        $(#[$feature])?
        unsafe extern "C" fn $one<F: UnaryFunction>(x: f64) -> f64 {
            F::at::<$Machine>(x)
        }

        $(#[$feature])?
        unsafe extern "C" fn $two<F: BinaryFunction>(x: f64, y: f64) -> f64 {
            F::at::<$Machine>(x, y)
        }
    )* };
}

entries! {
    one two WithoutFma;
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))] one_fused two_fused Fused;
}

/// Calls a macro for a row with the names of all rows.
macro_rules! for_unary {
    ($op:ident, $row:ident) => { for_unary! { @ $op, $row;
        Neg Abs Recip Square OneMinusSquare Sqrt Relu Exp Expm1 Tanh Sech2 Sigmoid Softplus Gaussian Erf Erfinv Atan Erfc
        Ln Log1p Sin Cos Tan Asin Acos Sinh Cosh Asinh Acosh Atanh Lgamma Digamma Trigamma
    } };
    (@ $op:ident, $row:ident; $($Op:ident)*) => { match $op { $( Unary::$Op => $row!($Op), )* } };
}

/// A function of one `f32`: the kernel over a slice of one.
fn single(op: Unary) -> Address {
    macro_rules! row {
        ($Op:ident) => {{
            extern "C" fn row(x: f32) -> f32 {
                let mut y = [0.0];
                elementwise::unary(Isa::detect(), Unary::$Op, &[x], &mut y);
                y[0]
            }
            row as extern "C" fn(f32) -> f32 as Address
        }};
    }
    for_unary!(op, row)
}

/// A function of eight `f32`: the kernel over a slice.
fn single_together(op: Unary) -> Address {
    macro_rules! row {
        ($Op:ident) => {{
            unsafe extern "C" fn row(x: *const [f32; TOGETHER], out: *mut [f32; TOGETHER]) {
                // Safety: the caller passes the addresses of eight numbers each.
                let (x, out) = unsafe { (&*x, &mut *out) };
                elementwise::unary(Isa::detect(), Unary::$Op, x, out);
            }
            row as unsafe extern "C" fn(*const [f32; TOGETHER], *mut [f32; TOGETHER]) as Address
        }};
    }
    for_unary!(op, row)
}

/// A function of two `f32`.
fn single_pair(op: Binary) -> Address {
    macro_rules! rows {
        ($($Op:ident)*) => { match op { $( Binary::$Op => {
            extern "C" fn row(x: f32, y: f32) -> f32 {
                let mut z = [0.0];
                elementwise::binary(Isa::detect(), Binary::$Op, Arg::Slice(&[x]), Arg::Slice(&[y]), &mut z);
                z[0]
            }
            row as extern "C" fn(f32, f32) -> f32 as Address
        } )* } };
    }
    rows!(
        Add Sub Mul Div Copysign Min Max MulNoNan DivNoNan Polygamma LogAddExp Pow PowLessOne Atan2 RecipReal Hypot
    )
}
