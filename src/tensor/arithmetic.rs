//! Arithmetic that is generic in the element type: the operation of floats, or the operation of integers.

use crate::base::BaseTensor;
use crate::dtype::{DType, Elem, Num};
use crate::ops::{Binary, Discrete, IntBinary, IntUnary, Unary};

/// Functions of two tensors of one shape, each by its operation for floats and its operation for integers.
macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident: $float:ident $integer:ident,)*) => { $(
        $(#[$doc])*
        #[track_caller]
        #[inline]
        pub(super) fn $name<T: BaseTensor, E: Elem>(a: &T, b: &T) -> T {
            match E::DTYPE {
                DType::F64 | DType::F32 => a.binary(Binary::$float, b),
                DType::I64 | DType::Bool => T::discrete(&Discrete::IntBinary(IntBinary::$integer), &[a, b]),
            }
        }
    )* };
}

binary! {
    /// The sum; integers wrap around.
    add_op: Add Add,
    /// The difference; integers wrap around.
    sub_op: Sub Sub,
    /// The product; integers wrap around.
    mul_op: Mul Mul,
    /// The quotient: IEEE for floats; truncated for integers, where `x / 0 = x`.
    div_op: Div Quot,
    /// The smaller number.
    min_op: Min Min,
    /// The larger number.
    max_op: Max Max,
}

/// Functions of one tensor, each by its operation for floats and its operation for integers.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident: $float:ident $integer:ident,)*) => { $(
        $(#[$doc])*
        #[track_caller]
        #[inline]
        pub(super) fn $name<T: BaseTensor, E: Num>(a: &T) -> T {
            match E::DTYPE {
                DType::F64 | DType::F32 => a.unary(Unary::$float),
                DType::I64 | DType::Bool => T::discrete(&Discrete::IntUnary(IntUnary::$integer), &[a]),
            }
        }
    )* };
}

unary! {
    /// The negation; integers wrap around.
    neg_op: Neg Neg,
    /// The absolute value; integers wrap around.
    abs_op: Abs Abs,
}
