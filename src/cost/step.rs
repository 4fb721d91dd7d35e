//! The time of an elementwise operation of a step: nanoseconds for an element of 8 bytes, on one thread.
//!
//! Law: the time follows from the cost in the row, so a new row needs no entry here, and arithmetic takes least.

use super::MACHINE;
use crate::ops::{Binary, Property, Unary};

/// The nanoseconds of an element of a function of one argument. A reciprocal and a root weigh as much as other
/// functions.
pub(crate) fn unary(op: Unary) -> f64 {
    if op.is(Property::Arithmetic) { MACHINE.arithmetic } else { MACHINE.tile_function }
}

/// The nanoseconds of an element of a function of two arguments.
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
