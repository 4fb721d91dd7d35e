//! Elementwise kernels: rows of the tables, reductions and superinstructions over slices, for several instruction sets.
//!
//! Law: a row of the tables in [`crate::ops`] defines the function of a kernel. A row without a vector kernel is
//! computed by its `apply`. A vector kernel agrees with the row at special values (NaN, infinities, signed zeros), and
//! elsewhere within the bounds that the tests of this module state; so results on two machines may differ by rounding.
//!
//! Conventions: all slices of a call have one length, and the output overlaps no operand, which the types ensure.
//! Callers cut long arrays into tiles that stay in the first level of cache.

mod binary;
mod discrete;
mod fused;
mod loops;
mod reductions;
mod short_rows;
mod stacks;
mod strided;
#[cfg(test)]
mod tests;
mod unary;

use polygrad_math::{Elementary, Format};

use super::isa;
use crate::dtype::Float;

pub(crate) use binary::{BinaryFunction, UseBinary, binary, binary_function};
pub(crate) use discrete::{and, compare, float_step, int_binary, int_unary, not, or, select, to_float, to_int};
pub(crate) use fused::{Form, MAX_TERMS, complex_product, form, linear_combination, sin_cos};
pub(crate) use isa::{Fused, Isa, WithoutFma};
pub(crate) use loops::Arg;
pub(crate) use reductions::{add_to, sum, sum_of_products};
pub(crate) use short_rows::{copy, reverse, rows_in_lanes, spread, sum_all, sum_each};
pub(crate) use stacks::{StackShape, add_stack, copy_stack};
pub(crate) use strided::{add_apart, copy_apart, copy_box, put_apart};
pub(crate) use unary::{UnaryFunction, UseUnary, unary, unary_function};

/// The float types that have kernels: `f64` and `f32`.
pub(crate) trait Real: Float + Elementary + Format {
    /// The conversion of an element of another type.
    fn converted<A: discrete::Convert>(x: A) -> Self;
}

impl Real for f64 {
    #[inline(always)]
    fn converted<A: discrete::Convert>(x: A) -> f64 {
        x.to_f64()
    }
}

impl Real for f32 {
    #[inline(always)]
    fn converted<A: discrete::Convert>(x: A) -> f32 {
        x.to_f32()
    }
}
