//! The elementwise rows of [`Discrete`](crate::ops::Discrete) over slices, and selection.

use super::Real;
use super::loops::{Arg, TableRow, Triple, WithSecond, each, pairs, slices, triples};
use crate::dtype::Elem;
use crate::kernels::isa::{Isa, Machine};
use crate::ops::{Compare, FloatStep, IntBinary, IntUnary};

/// Runs `$run` with the constant `ROW` equal to `$op`, so that each row has its own loop. A captured value would not be
/// a constant.
macro_rules! by_row {
    ($op:expr, $Enum:ident: $($Op:ident)*; ROW => $run:expr) => {
        match $op { $( $Enum::$Op => { const ROW: $Enum = $Enum::$Op; $run } )* }
    };
}

/// The comparison that says the same of exchanged operands.
fn mirrored(op: Compare) -> Compare {
    match op {
        Compare::Eq | Compare::Ne => op,
        Compare::Lt => Compare::Gt,
        Compare::Le => Compare::Ge,
        Compare::Gt => Compare::Lt,
        Compare::Ge => Compare::Le,
    }
}

/// The comparison of each pair of elements. Operands are exchanged where that saves a loop for each comparison and type.
pub(crate) fn compare<E: Elem>(isa: Isa, op: Compare, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [bool]) {
    match (x, y) {
        (Arg::Scalar(x), Arg::Scalar(y)) => out.fill(op.apply(x, y)),
        (Arg::Scalar(x), Arg::Slice(y)) => compare_with(isa, mirrored(op), y, x, out),
        (Arg::Slice(x), Arg::Scalar(y)) => compare_with(isa, op, x, y, out),
        (Arg::Slice(x), Arg::Slice(y)) => {
            // `x > y` is `y < x`.
            let (x, y) = if matches!(op, Compare::Gt | Compare::Ge) { (y, x) } else { (x, y) };
            match op {
                Compare::Eq => slices(isa, TableRow(|x: E, y: E| Compare::Eq.apply(x, y)), x, y, out),
                Compare::Ne => slices(isa, TableRow(|x: E, y: E| Compare::Ne.apply(x, y)), x, y, out),
                Compare::Lt | Compare::Gt => slices(isa, TableRow(|x: E, y: E| Compare::Lt.apply(x, y)), x, y, out),
                Compare::Le | Compare::Ge => slices(isa, TableRow(|x: E, y: E| Compare::Le.apply(x, y)), x, y, out),
            }
        }
    }
}

/// The comparison of each element with a number.
fn compare_with<E: Elem>(isa: Isa, op: Compare, x: &[E], y: E, out: &mut [bool]) {
    by_row!(op, Compare: Eq Ne Lt Le Gt Ge; ROW => each(isa, WithSecond(TableRow(|x: E, y: E| ROW.apply(x, y)), y), x, out))
}

/// The step function of each element.
pub(crate) fn float_step<E: Real>(isa: Isa, op: FloatStep, x: &[E], out: &mut [E]) {
    by_row!(op, FloatStep: Floor Ceil Round Sign StopGradient; ROW => each(isa, TableRow(|x: E| ROW.apply(x)), x, out))
}

/// The function of each integer.
pub(crate) fn int_unary(isa: Isa, op: IntUnary, x: &[i64], out: &mut [i64]) {
    by_row!(op, IntUnary: Neg Abs BitNot; ROW => each(isa, TableRow(|x| ROW.apply(x)), x, out))
}

/// The least number of quotients for which a reciprocal is computed.
const DIVIDED: usize = 16;

/// Division by one number, as a multiplication by its reciprocal.
///
/// Source: T. Granlund, P. L. Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994, figure 5.2:
/// for `l >= log2 |d|` and `m = 1 + floor(2^(63 + l) / |d|)`, the quotient of `x` is `m x / 2^(63 + l)`, rounded
/// towards 0.
#[derive(Clone, Copy)]
struct Divisor {
    number: i64,
    /// `m - 2^64`.
    multiplier: i64,
    /// `l - 1`.
    shift: u32,
}

impl Divisor {
    /// A divisor that is not 0.
    fn new(number: i64) -> Divisor {
        let size = number.unsigned_abs();
        let log = (64 - (size - 1).leading_zeros()).max(1);
        let multiplier = 1 + (1u128 << (63 + log)) / u128::from(size);
        Divisor { number, multiplier: multiplier as u64 as i64, shift: log - 1 }
    }

    #[inline(always)]
    fn quot(self, x: i64) -> i64 {
        let high = ((i128::from(self.multiplier) * i128::from(x)) >> 64) as i64;
        let (sign, sign_of_divisor) = (x >> 63, self.number >> 63);
        let size = (x.wrapping_add(high) >> self.shift).wrapping_sub(sign);
        (size ^ sign_of_divisor).wrapping_sub(sign_of_divisor)
    }

    #[inline(always)]
    fn rem(self, x: i64) -> i64 {
        x.wrapping_sub(self.quot(x).wrapping_mul(self.number))
    }
}

/// The function of each pair of integers.
pub(crate) fn int_binary(isa: Isa, op: IntBinary, x: Arg<'_, i64>, y: Arg<'_, i64>, out: &mut [i64]) {
    if let (Arg::Slice(x), Arg::Scalar(number)) = (x, y)
        && number != 0
        && x.len() >= DIVIDED
    {
        let by = Divisor::new(number);
        match op {
            IntBinary::Quot => return each(isa, TableRow(|x| by.quot(x)), x, out),
            IntBinary::Rem => return each(isa, TableRow(|x| by.rem(x)), x, out),
            IntBinary::Add | IntBinary::Sub | IntBinary::Mul | IntBinary::Min | IntBinary::Max => {}
            IntBinary::BitAnd | IntBinary::BitOr | IntBinary::BitXor | IntBinary::Threefry => {}
            IntBinary::Shl | IntBinary::Shr | IntBinary::ShrSigned => {}
        }
    }
    by_row!(
        op, IntBinary: Add Sub Mul Quot Rem Min Max BitAnd BitOr BitXor Shl Shr ShrSigned Threefry;
        ROW => pairs(isa, TableRow(|x, y| ROW.apply(x, y)), x, y, out)
    )
}

/// Where both masks hold.
pub(crate) fn and(isa: Isa, x: Arg<'_, bool>, y: Arg<'_, bool>, out: &mut [bool]) {
    pairs(isa, TableRow(|x: bool, y: bool| x & y), x, y, out);
}

/// Where at least one mask holds.
pub(crate) fn or(isa: Isa, x: Arg<'_, bool>, y: Arg<'_, bool>, out: &mut [bool]) {
    pairs(isa, TableRow(|x: bool, y: bool| x | y), x, y, out);
}

/// Where the mask does not hold.
pub(crate) fn not(isa: Isa, x: &[bool], out: &mut [bool]) {
    each(isa, TableRow(|x: bool| !x), x, out);
}

/// An element type that is converted to integers and floats.
pub(crate) trait Convert: Elem {
    /// Floats are truncated towards zero and saturate, and NaN gives 0; masks give 0 and 1.
    fn to_int(self) -> i64;
    /// The nearest `f64`; masks give 0 and 1.
    fn to_f64(self) -> f64;
    /// The nearest `f32`; masks give 0 and 1.
    fn to_f32(self) -> f32;
}

macro_rules! convert {
    ($($t:ty: |$x:ident| $small:expr;)*) => { $(
        impl Convert for $t {
            #[inline(always)]
            fn to_int(self) -> i64 { let $x = self; $small as i64 }
            #[inline(always)]
            fn to_f64(self) -> f64 { let $x = self; $small as f64 }
            #[inline(always)]
            fn to_f32(self) -> f32 { let $x = self; $small as f32 }
        }
    )* };
}

convert! {
    f64: |x| x;
    f32: |x| x;
    i64: |x| x;
    bool: |x| u8::from(x);
}

/// Each element as an integer.
pub(crate) fn to_int<A: Convert>(isa: Isa, x: &[A], out: &mut [i64]) {
    each(isa, TableRow(A::to_int), x, out);
}

/// Each integer, or each mask as 0 and 1, as a float.
pub(crate) fn to_float<A: Convert, E: Real>(isa: Isa, x: &[A], out: &mut [E]) {
    each(isa, TableRow(E::converted::<A>), x, out);
}

/// Selection by a mask.
#[derive(Clone, Copy)]
struct Choose;

impl<E> Triple<bool, E, E> for Choose {
    #[inline(always)]
    fn at<M: Machine>(self, mask: bool, x: E, y: E) -> E {
        if mask { x } else { y }
    }
}

/// `x` where the mask holds and `y` elsewhere.
pub(crate) fn select<E: Elem>(isa: Isa, mask: &[bool], x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    let moved = |x| match x {
        Arg::Slice(x) => Arg::Slice(E::moved(x)),
        Arg::Scalar(x) => Arg::Scalar(E::moved(&[x])[0]),
    };
    triples(isa, Choose, mask, &moved(x), &moved(y), E::moved_mut(out));
}
