//! The elementwise rows of [`Discrete`](crate::ops::Discrete) over slices, and selection.

use super::Real;
use super::isa::{Isa, Kernel, Machine, dispatch};
use super::loops::{Arg, Row, each, pairs};
use crate::dtype::Elem;
use crate::ops::{Compare, FloatStep, IntBinary, IntUnary};

/// Runs `$run` for the row that `$op` is, so that each row has a loop of its own.
macro_rules! by_row {
    ($op:expr, $Enum:ident: $($Op:ident)*; $row:ident => $run:expr) => {
        match $op { $( $Enum::$Op => { const ROW: $Enum = $Enum::$Op; let $row = ROW; $run } )* }
    };
}

/// The comparison of each pair of elements.
pub(crate) fn compare<E: Elem>(isa: Isa, op: Compare, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [bool]) {
    by_row!(op, Compare: Eq Ne Lt Le Gt Ge; row => pairs(isa, Row(move |x: E, y: E| row.apply(x, y)), x, y, out))
}

/// The step function of each element.
pub(crate) fn float_step<E: Real>(isa: Isa, op: FloatStep, x: &[E], out: &mut [E]) {
    by_row!(op, FloatStep: Floor Ceil Round Sign StopGradient; row => each(isa, Row(move |x: E| row.apply(x)), x, out))
}

/// The function of each integer.
pub(crate) fn int_unary(isa: Isa, op: IntUnary, x: &[i64], out: &mut [i64]) {
    by_row!(op, IntUnary: Neg Abs; row => each(isa, Row(move |x| row.apply(x)), x, out))
}

/// The function of each pair of integers.
pub(crate) fn int_binary(isa: Isa, op: IntBinary, x: Arg<'_, i64>, y: Arg<'_, i64>, out: &mut [i64]) {
    by_row!(op, IntBinary: Add Sub Mul Quot Rem Min Max; row => pairs(isa, Row(move |x, y| row.apply(x, y)), x, y, out))
}

/// Where both masks hold.
pub(crate) fn and(isa: Isa, x: Arg<'_, bool>, y: Arg<'_, bool>, out: &mut [bool]) {
    pairs(isa, Row(|x: bool, y: bool| x & y), x, y, out);
}

/// Where at least one mask holds.
pub(crate) fn or(isa: Isa, x: Arg<'_, bool>, y: Arg<'_, bool>, out: &mut [bool]) {
    pairs(isa, Row(|x: bool, y: bool| x | y), x, y, out);
}

/// Where the mask does not hold.
pub(crate) fn not(isa: Isa, x: &[bool], out: &mut [bool]) {
    each(isa, Row(|x: bool| !x), x, out);
}

/// An element type that is converted to integers and floats.
pub(crate) trait Convert: Elem {
    /// Truncated towards zero, saturating, NaN to 0; masks to 0 and 1.
    fn to_int(self) -> i64;
    /// The nearest `f64`; masks to 0 and 1.
    fn to_f64(self) -> f64;
    /// The nearest `f32`; masks to 0 and 1.
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
    each(isa, Row(A::to_int), x, out);
}

/// Each integer, or each mask as 0 and 1, as a float.
pub(crate) fn to_float<A: Convert, E: Real>(isa: Isa, x: &[A], out: &mut [E]) {
    each(isa, Row(E::converted::<A>), x, out);
}

struct Select<'a, E, X, Y> {
    mask: &'a [bool],
    x: X,
    y: Y,
    out: &'a mut [E],
}

/// An operand of a selection: it has an element at every position.
trait At<E>: Copy {
    fn at(self, i: usize) -> E;
    fn fits(self, len: usize) -> bool;
}

impl<E: Copy> At<E> for &[E] {
    #[inline(always)]
    fn at(self, i: usize) -> E {
        self[i]
    }
    #[inline(always)]
    fn fits(self, len: usize) -> bool {
        self.len() == len
    }
}

/// One number at every position.
#[derive(Clone, Copy)]
struct Same<E>(E);

impl<E: Copy> At<E> for Same<E> {
    #[inline(always)]
    fn at(self, _: usize) -> E {
        self.0
    }
    #[inline(always)]
    fn fits(self, _: usize) -> bool {
        true
    }
}

impl<E: Copy, X: At<E>, Y: At<E>> Kernel for Select<'_, E, X, Y> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let n = self.out.len();
        // The checks of the lengths free the loop from checks of indices.
        assert!(self.mask.len() == n && self.x.fits(n) && self.y.fits(n), "an operand has the length of the output");
        for i in 0..n {
            let (x, y) = (self.x.at(i), self.y.at(i));
            self.out[i] = if self.mask[i] { x } else { y };
        }
    }
}

/// `x` where the mask holds and `y` elsewhere.
pub(crate) fn select<E: Elem>(isa: Isa, mask: &[bool], x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    match (x, y) {
        (Arg::Slice(x), Arg::Slice(y)) => dispatch(isa, Select { mask, x, y, out }),
        (Arg::Slice(x), Arg::Scalar(y)) => dispatch(isa, Select { mask, x, y: Same(y), out }),
        (Arg::Scalar(x), Arg::Slice(y)) => dispatch(isa, Select { mask, x: Same(x), y, out }),
        (Arg::Scalar(x), Arg::Scalar(y)) => dispatch(isa, Select { mask, x: Same(x), y: Same(y), out }),
    }
}
