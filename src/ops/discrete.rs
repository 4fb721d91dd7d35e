//! Operations whose result has no tangent: comparisons, logic, integers, rounding, positions.
//!
//! Law: the derivative of every operation here is zero, in every interpreter; for results that are floats (`floor`,
//! `sign`, `stop_gradient`) that is a convention, stated in the row.

use std::fmt;

use polygrad_math::threefry;

use super::kinds::{Kind, or_panic, try_axis};
use crate::array::pool;
use crate::dtype::{DType, Elem, Float};
use crate::shape::{Shape, Show, try_possible};

/// Makes an enum of rows with one kernel each. The examples are those in the documentation of the methods.
macro_rules! rows {
    (
        $(#[$top:meta])*
        $Enum:ident<$($E:ident: $bound:path)?> ($($arg:ident : $ty:ty),*) $call:tt -> $out:ty;
        examples: [$of_name:literal, $of_doc:literal, $of_apply:literal, $of_each:literal];
        $( $(#[doc = $doc:literal])* $Op:ident $name:literal => $kernel:expr, )*
    ) => {
        $(#[$top])*
        ///
        /// Closed: an interpreter fails to compile where a new operation has no meaning yet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $Enum { $( $(#[doc = $doc])* $Op, )* }

        impl $Enum {
            /// Every row of the table.
            ///
            /// ```
            #[doc = concat!("use polygrad::ops::", stringify!($Enum), ";")]
            #[doc = concat!("let names: Vec<&str> = ", stringify!($Enum), "::ALL.iter().map(|row| row.name()).collect();")]
            /// assert!(names.len() > 1 && !names.contains(&""));
            /// ```
            pub const ALL: &'static [$Enum] = &[$( $Enum::$Op, )*];

            /// The name or symbol of the operation in printed programs.
            ///
            /// ```
            #[doc = concat!("use polygrad::ops::", stringify!($Enum), ";")]
            #[doc = $of_name]
            /// ```
            pub fn name(self) -> &'static str {
                match self { $( $Enum::$Op => $name, )* }
            }

            /// The row's documentation: its meaning.
            ///
            /// ```
            #[doc = concat!("use polygrad::ops::", stringify!($Enum), ";")]
            #[doc = $of_doc]
            /// ```
            pub fn doc(self) -> &'static str {
                match self { $( $Enum::$Op => concat!($($doc, "\n"),*), )* }
            }

            /// The operation on elements.
            ///
            /// ```
            #[doc = concat!("use polygrad::ops::", stringify!($Enum), ";")]
            #[doc = $of_apply]
            /// ```
            #[inline]
            pub fn apply<$($E: $bound)?>(self, $($arg: $ty),*) -> $out {
                match self { $( $Enum::$Op => ($kernel) $call, )* }
            }

            /// The operation on each tuple of operands; the loop is inside the match so that each kernel is compiled,
            /// and vectorised, on its own.
            ///
            /// ```
            #[doc = concat!("use polygrad::ops::", stringify!($Enum), ";")]
            #[doc = $of_each]
            /// ```
            #[allow(unused_parens)]
            pub fn each<$($E: $bound)?>(self, operands: impl ExactSizeIterator<Item = ($($ty),*)>) -> Vec<$out> {
                match self { $( $Enum::$Op => pool::collected(operands.map(|$call| ($kernel) $call)), )* }
            }
        }
    };
}

rows! {
    /// Comparisons of two tensors of one shape and element type, elementwise; IEEE for floats:
    /// every comparison with NaN is false but `!=`. Masks are ordered `false < true`.
    ///
    /// ```
    /// use polygrad::ops::{Compare, Discrete};
    /// use polygrad::{Array, BaseTensor};
    /// let (x, y) = (Array::from([1.0, 2.0]), Array::from([2.0, 2.0]));
    /// assert_eq!(Array::discrete(&Discrete::Compare(Compare::Lt), &[&x, &y]), Array::from([true, false]));
    /// ```
    Compare<E: Elem> (x: E, y: E) (x, y) -> bool;
    examples: [
        r#"assert_eq!((Compare::Eq.name(), Compare::Le.name()), ("==", "<="));"#,
        r#"assert_eq!(Compare::Le.doc().trim(), "Less or equal.");"#,
        "assert!(Compare::Lt.apply(false, true) && Compare::Ne.apply(f64::NAN, f64::NAN));",
        "assert_eq!(Compare::Lt.each([(1, 2), (2, 2)].into_iter()), [true, false]);"
    ];
    /// Equal.
    Eq "==" => |x, y| x == y,
    /// Not equal.
    Ne "!=" => |x, y| x != y,
    /// Less.
    Lt "<" => |x, y| x < y,
    /// Less or equal.
    Le "<=" => |x, y| x <= y,
    /// Greater.
    Gt ">" => |x, y| x > y,
    /// Greater or equal.
    Ge ">=" => |x, y| x >= y,
}

rows! {
    /// Step functions from floats to floats, and the identity that stops gradients.
    ///
    /// Example: [`Discrete`].
    FloatStep<E: Float> (x: E) (x) -> E;
    examples: [
        r#"assert_eq!((FloatStep::Floor.name(), FloatStep::Round.name()), ("floor", "round"));"#,
        r#"assert_eq!(FloatStep::Round.doc().trim(), "Nearest integer, halves away from zero.");"#,
        "assert_eq!((FloatStep::Round.apply(2.5), FloatStep::Floor.apply(-0.5f32)), (3.0, -1.0));",
        "assert_eq!(FloatStep::Ceil.each([0.2, -0.2].into_iter()), [1.0, 0.0]);"
    ];
    /// Largest integer that is not above the argument.
    Floor "floor" => |x: E| x.floor(),
    /// Smallest integer that is not below the argument.
    Ceil "ceil" => |x: E| x.ceil(),
    /// Nearest integer, halves away from zero.
    Round "round" => |x: E| x.round(),
    /// -1, 0 or 1 by sign; NaN for NaN, 0 for both zeros.
    Sign "sign" => |x: E| if x > E::ZERO { E::ONE } else if x < E::ZERO { -E::ONE } else if x.is_nan() { x } else { E::ZERO },
    /// The same value, with derivative zero by convention.
    StopGradient "stop_gradient" => |x| x,
}

rows! {
    /// Functions of one integer; wrapping.
    ///
    /// Example: [`Discrete`].
    IntUnary<> (x: i64) (x) -> i64;
    examples: [
        r#"assert_eq!((IntUnary::Neg.name(), IntUnary::BitNot.name()), ("-", "bit_not"));"#,
        r#"assert_eq!(IntUnary::BitNot.doc().trim(), "Each bit inverted: `-1 - x`.");"#,
        "assert_eq!((IntUnary::BitNot.apply(0), IntUnary::Neg.apply(i64::MIN)), (-1, i64::MIN));",
        "assert_eq!(IntUnary::Neg.each([1, -2].into_iter()), [-1, 2]);"
    ];
    /// Negation.
    Neg "-" => i64::wrapping_neg,
    /// Absolute value.
    Abs "abs" => i64::wrapping_abs,
    /// Each bit inverted: `-1 - x`.
    BitNot "bit_not" => |x: i64| !x,
}

rows! {
    /// Functions of two integers; wrapping.
    ///
    /// Example: [`Discrete`].
    IntBinary<> (x: i64, y: i64) (x, y) -> i64;
    examples: [
        r#"assert_eq!((IntBinary::Add.name(), IntBinary::Quot.name()), ("+", "quot"));"#,
        r#"assert_eq!(IntBinary::Quot.doc().trim(), "Quotient, truncated towards zero; `x quot 0 = x`.");"#,
        "assert_eq!((IntBinary::Rem.apply(-7, 2), IntBinary::Add.apply(i64::MAX, 1)), (-1, i64::MIN));",
        "assert_eq!(IntBinary::Max.each([(1, 2), (5, 3)].into_iter()), [2, 5]);"
    ];
    /// Sum.
    Add "+" => i64::wrapping_add,
    /// Difference.
    Sub "-" => i64::wrapping_sub,
    /// Product.
    Mul "*" => i64::wrapping_mul,
    /// Quotient, truncated towards zero; `x quot 0 = x`.
    Quot "quot" => |x: i64, y: i64| if y == 0 { x } else { x.wrapping_div(y) },
    /// Remainder with the sign of `x`; `x rem 0 = x`.
    Rem "rem" => |x: i64, y: i64| if y == 0 { x } else { x.wrapping_rem(y) },
    /// Smaller of both.
    Min "min" => std::cmp::min,
    /// Larger of both.
    Max "max" => std::cmp::max,
    /// The bits that both have, in two's complement.
    BitAnd "bit_and" => |x: i64, y: i64| x & y,
    /// The bits that one of both has.
    BitOr "bit_or" => |x: i64, y: i64| x | y,
    /// The bits that exactly one of both has.
    BitXor "bit_xor" => |x: i64, y: i64| x ^ y,
    /// The bits of `x` moved up by `y` places; 0 for `y` outside `0..64`.
    Shl "shl" => |x: i64, y: i64| if (0..64).contains(&y) { x << y } else { 0 },
    /// The bits of `x` moved down by `y` places, zeros from above; 0 for `y` outside `0..64`.
    Shr "shr" => |x: i64, y: i64| if (0..64).contains(&y) { (x as u64 >> y) as i64 } else { 0 },
    /// `x / 2^y` rounded down, for `y` in `0..64`: copies of the sign come from above; the sign, 0 or -1, for other `y`.
    ShrSigned "shr_signed" => |x: i64, y: i64| x >> if (0..64).contains(&y) { y } else { 63 },
    /// The block `y` of 64 bits under the key `x`, by Threefry-2x32 with 20 rounds: the source of random numbers.
    Threefry "threefry" => threefry,
}

impl IntBinary {
    /// Whether the operands may be exchanged.
    pub(crate) fn commutes(self) -> bool {
        match self {
            IntBinary::Add | IntBinary::Mul | IntBinary::Min | IntBinary::Max => true,
            IntBinary::BitAnd | IntBinary::BitOr | IntBinary::BitXor => true,
            IntBinary::Sub | IntBinary::Quot | IntBinary::Rem => false,
            IntBinary::Shl | IntBinary::Shr | IntBinary::ShrSigned | IntBinary::Threefry => false,
        }
    }

    /// Whether an integer and itself give that integer.
    pub(crate) fn is_idempotent(self) -> bool {
        match self {
            IntBinary::Min | IntBinary::Max | IntBinary::BitAnd | IntBinary::BitOr => true,
            IntBinary::Add | IntBinary::Sub | IntBinary::Mul | IntBinary::Quot | IntBinary::Rem => false,
            IntBinary::BitXor | IntBinary::Shl | IntBinary::Shr | IntBinary::ShrSigned => false,
            IntBinary::Threefry => false,
        }
    }
}

/// An operation with derivative zero.
///
/// Closed: an interpreter fails to compile where a new operation has no meaning yet.
///
/// ```
/// use polygrad::ops::{Discrete, FloatStep, IntBinary, IntUnary};
/// use polygrad::{Array, BaseTensor};
/// let (sign, x) = (Discrete::FloatStep(FloatStep::Sign), Array::from([-1.5, 0.0, 2.5]));
/// assert_eq!(Array::discrete(&sign, &[&x]), Array::from([-1.0, 0.0, 1.0]));
/// let order = Discrete::ArgSort { axis: 0, descending: true };
/// assert_eq!(Array::discrete(&order, &[&x]), Array::from([2, 1, 0]));
/// let (n, m) = (Array::from([7, -7, 7]), Array::from([2, 2, 0]));
/// assert_eq!(Array::discrete(&Discrete::IntUnary(IntUnary::Abs), &[&n]), Array::from([7, 7, 7]));
/// assert_eq!(Array::discrete(&Discrete::IntBinary(IntBinary::Quot), &[&n, &m]), Array::from([3, -3, 7]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Discrete {
    /// A comparison of two tensors, to a mask.
    Compare(Compare),
    /// Both masks hold.
    And,
    /// At least one mask holds.
    Or,
    /// The mask does not hold.
    Not,
    /// A step function of floats.
    FloatStep(FloatStep),
    /// A function of one integer tensor.
    IntUnary(IntUnary),
    /// A function of two integer tensors.
    IntBinary(IntBinary),
    /// Floats to integers: truncated towards zero, saturating, NaN to 0; masks to 0 and 1.
    ToInt,
    /// Integers, or masks as 0 and 1, to floats of this type.
    ToFloat(DType),
    /// Position of the largest element along an axis: the first on ties, the first NaN if there is one.
    ArgMax {
        /// The axis that is searched and disappears.
        axis: usize,
    },
    /// Position of the smallest element along an axis: the first on ties, the first NaN if there is one.
    ArgMin {
        /// The axis that is searched and disappears.
        axis: usize,
    },
    /// The positions of the elements of each line along an axis in sorted order. Stable: equal elements
    /// stay in their order, in both directions. NaN comes last, in both directions; both zeros are equal.
    ArgSort {
        /// The axis the lines run along.
        axis: usize,
        /// Whether the order is from the largest to the smallest.
        descending: bool,
    },
    /// For each prefix of a line along an axis, the position of its first NaN, or else of the first of its largest
    /// elements, or of its smallest. In reverse, a prefix begins at the end of the line, where first means nearest to
    /// that end.
    PrefixArg {
        /// The axis.
        axis: usize,
        /// Whether the largest element is searched.
        largest: bool,
        /// Whether prefixes begin at the end of the line.
        reverse: bool,
    },
    /// The integers `0, 1, .., n - 1`.
    Iota {
        /// The number of integers.
        n: usize,
    },
}

impl Discrete {
    /// The name or symbol of the operation in printed programs.
    ///
    /// ```
    /// use polygrad::ops::{Compare, Discrete};
    /// let ops = [Discrete::Iota { n: 3 }, Discrete::Not, Discrete::Compare(Compare::Lt)];
    /// assert_eq!(ops.map(|op| (op.name(), op.arity())), [("iota", 0), ("not", 1), ("<", 2)]);
    /// ```
    pub fn name(&self) -> &'static str {
        match self {
            Discrete::Compare(op) => op.name(),
            Discrete::And => "and",
            Discrete::Or => "or",
            Discrete::Not => "not",
            Discrete::FloatStep(op) => op.name(),
            Discrete::IntUnary(op) => op.name(),
            Discrete::IntBinary(op) => op.name(),
            Discrete::ToInt => "to_int",
            Discrete::ToFloat(_) => "to_float",
            Discrete::ArgMax { .. } => "argmax",
            Discrete::ArgMin { .. } => "argmin",
            Discrete::ArgSort { .. } => "argsort",
            Discrete::PrefixArg { largest: true, .. } => "prefix_argmax",
            Discrete::PrefixArg { largest: false, .. } => "prefix_argmin",
            Discrete::Iota { .. } => "iota",
        }
    }

    /// Whether each element of the result depends only on the elements of the operands at the same index.
    pub(crate) fn is_elementwise(&self) -> bool {
        match self {
            Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not | Discrete::FloatStep(_) => true,
            Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToInt | Discrete::ToFloat(_) => true,
            Discrete::ArgMax { .. } | Discrete::ArgMin { .. } | Discrete::ArgSort { .. } => false,
            Discrete::PrefixArg { .. } | Discrete::Iota { .. } => false,
        }
    }

    /// The number of operands.
    ///
    /// Example: [`Discrete::name`].
    pub fn arity(&self) -> usize {
        match self {
            Discrete::Iota { .. } => 0,
            Discrete::Not | Discrete::FloatStep(_) | Discrete::IntUnary(_) | Discrete::ToInt => 1,
            Discrete::ToFloat(_) | Discrete::ArgMax { .. } | Discrete::ArgMin { .. } => 1,
            Discrete::ArgSort { .. } | Discrete::PrefixArg { .. } => 1,
            Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::IntBinary(_) => 2,
        }
    }

    /// Shape and element type of the result.
    ///
    /// Example: [`Discrete::try_result`].
    ///
    /// # Panics
    /// When the operands do not fit; the message has both shapes or the element type.
    #[track_caller]
    pub fn result(&self, args: &[Kind<'_>]) -> (Shape, DType) {
        or_panic(self.try_result(args))
    }

    /// [`result`](Discrete::result), with the message as an error.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::Discrete;
    /// let (shape, dtype) = Discrete::ArgMax { axis: 1 }.result(&[(&[2, 3], DType::F64)]);
    /// assert_eq!((&shape[..], dtype), (&[2][..], DType::I64));
    /// assert!(Discrete::And.try_result(&[(&[2], DType::Bool), (&[2], DType::F64)]).is_err());
    /// ```
    ///
    /// # Errors
    /// When the operands do not fit; the message has both shapes or the element type.
    pub fn try_result(&self, args: &[Kind<'_>]) -> Result<(Shape, DType), String> {
        let name = self.name();
        if args.len() != self.arity() {
            return Err(format!(
                "{name}: the number of operands must be {}, but it is {}; give as many as the arity",
                self.arity(),
                args.len()
            ));
        }
        if let [(a, da), (b, db)] = args {
            if a != b {
                return Err(format!(
                    "{name}: both shapes must be equal, but they are {} and {}; replicate one",
                    Show(a),
                    Show(b)
                ));
            }
            if da != db {
                return Err(format!(
                    "{name}: both element types must be equal, but they are {da} and {db}; convert one"
                ));
            }
        }
        let (shape, dtype) = args.first().copied().unwrap_or((&[], DType::I64));
        let same = Shape::from_slice(shape);
        Ok(match self {
            Discrete::Compare(_) => (same, DType::Bool),
            Discrete::And | Discrete::Or | Discrete::Not => {
                needs(name, dtype == DType::Bool, "masks", dtype)?;
                (same, DType::Bool)
            }
            Discrete::FloatStep(_) => {
                needs(name, dtype.is_float(), "floats", dtype)?;
                (same, dtype)
            }
            Discrete::IntUnary(_) | Discrete::IntBinary(_) => {
                needs(name, dtype == DType::I64, "integers", dtype)?;
                (same, DType::I64)
            }
            Discrete::ToInt => (same, DType::I64),
            Discrete::ToFloat(to) => {
                needs(name, !dtype.is_float(), "integers or a mask", dtype)?;
                if !to.is_float() {
                    return Err(format!(
                        "{name}: the new element type must be a float, but it is {to}; use to_int for integers"
                    ));
                }
                (same, *to)
            }
            Discrete::ArgMax { axis } | Discrete::ArgMin { axis } => {
                needs(name, dtype != DType::Bool, "numbers", dtype)?;
                try_axis(name, *axis, shape)?;
                if shape[*axis] == 0 {
                    return Err(format!(
                        "{name}: the searched axis must not be empty, but axis {axis} of {} is; give it an element, or skip it",
                        Show(shape)
                    ));
                }
                let mut out = same;
                out.remove(*axis);
                (out, DType::I64)
            }
            Discrete::ArgSort { axis, .. } | Discrete::PrefixArg { axis, .. } => {
                needs(name, dtype != DType::Bool, "numbers", dtype)?;
                try_axis(name, *axis, shape)?;
                (same, DType::I64)
            }
            Discrete::Iota { n } => {
                try_possible(name, &[*n])?;
                (Shape::from_slice(&[*n]), DType::I64)
            }
        })
    }
}

/// The name and the parameters of the operation: `argmax axis=1`, `to_float f32`, `iota 3`.
impl fmt::Display for Discrete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Discrete::ArgMax { axis } | Discrete::ArgMin { axis } => write!(f, " axis={axis}"),
            Discrete::ArgSort { axis, descending } => {
                write!(f, " axis={axis}{}", if *descending { " descending" } else { "" })
            }
            Discrete::PrefixArg { axis, reverse, .. } => {
                write!(f, " axis={axis}{}", if *reverse { " reverse" } else { "" })
            }
            Discrete::ToFloat(into) => write!(f, " {into}"),
            Discrete::Iota { n } => write!(f, " {n}"),
            Discrete::Compare(_) | Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::FloatStep(_) => Ok(()),
            Discrete::And | Discrete::Or | Discrete::Not | Discrete::ToInt => Ok(()),
        }
    }
}

/// An error unless the operation takes this element type.
fn needs(name: &str, ok: bool, what: &str, dtype: DType) -> Result<(), String> {
    match ok {
        true => Ok(()),
        false => Err(format!("{name}: needs {what}, but the element type is {dtype}; convert it first")),
    }
}

#[cfg(test)]
mod tests {
    use super::IntBinary;

    #[test]
    fn operands_are_exchanged_and_merged_where_the_kernel_allows_it() {
        let numbers = [i64::MIN, -7, -1, 0, 1, 3, 7, 63, 64, i64::MAX];
        for op in IntBinary::ALL {
            let same = numbers.iter().all(|x| numbers.iter().all(|y| op.apply(*x, *y) == op.apply(*y, *x)));
            assert_eq!(op.commutes(), same, "{}", op.name());
            let same = numbers.iter().all(|x| op.apply(*x, *x) == *x);
            assert_eq!(op.is_idempotent(), same, "{}", op.name());
        }
    }
}
