//! The time of an elementwise operation of a step: nanoseconds per element of 8 bytes, on one thread.
//!
//! Law: the time follows from the properties in the row of the operation, so a new row needs no entry here. Arithmetic
//! takes least time.

use super::MACHINE;
use crate::ops::{Binary, Property, Unary};

/// The nanoseconds per element of a function of one argument. Reciprocals and roots count as much as other functions
/// that are not arithmetic.
pub(crate) fn unary(op: Unary) -> f64 {
    if op.is(Property::Arithmetic) { MACHINE.arithmetic } else { MACHINE.tile_function }
}

/// The nanoseconds per element of a function of two arguments.
pub(crate) fn binary(op: Binary) -> f64 {
    if op.is(Property::Arithmetic) {
        MACHINE.arithmetic
    } else if op.is(Property::Division) {
        MACHINE.division
    } else {
        MACHINE.tile_function_of_two
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_takes_least() {
        let unary = Unary::ALL.iter().map(|op| (op.name(), op.is(Property::Arithmetic), unary(*op)));
        let binary = Binary::ALL.iter().map(|op| (op.name(), op.is(Property::Arithmetic), binary(*op)));
        for (name, is_arithmetic, time) in unary.chain(binary) {
            assert!(time > 0.0 && is_arithmetic == (time <= MACHINE.arithmetic), "{name} takes {time}");
        }
    }
}
