//! Elementary functions as threaded code: each function is compiled together with the jump to the next instruction.
//!
//! A trip of a recurrence thus has no call on its critical path. The first argument is the result of the previous
//! instruction.
//!
//! Law: a function returns the same bits as the kernel over slices on the same machine.

#![allow(unsafe_code)]

use super::InstructionOperands;
use super::instructions::MachineView;
use super::machine::{File, Runner, Threaded, next};
use crate::kernels::elementwise::{
    BinaryFunction, Fused, Isa, UnaryFunction, UseBinary, UseUnary, WithoutFma, binary_function, unary_function,
};
use crate::ops::{Binary, Unary};

/// Selects the code address of a function.
struct FunctionCodeBuilder {
    isa: Isa,
    operands: InstructionOperands,
}

/// Code of a unary function.
pub(crate) fn unary(isa: Isa, op: Unary, operands: InstructionOperands) -> Threaded {
    unary_function(op, FunctionCodeBuilder { isa, operands })
}

/// Code of a binary function.
pub(crate) fn binary(isa: Isa, op: Binary, operands: InstructionOperands) -> Threaded {
    binary_function(op, FunctionCodeBuilder { isa, operands })
}

impl UseUnary for FunctionCodeBuilder {
    type Output = Threaded;
    fn with<F: UnaryFunction>(self) -> Threaded {
        let fused = F::BY_MACHINE && self.isa.has_fma();
        Threaded::new(if fused { one_fused::<F> as Runner } else { one::<F> }, self.operands, self.operands)
    }
}

impl UseBinary for FunctionCodeBuilder {
    type Output = Threaded;
    fn with<F: BinaryFunction>(self) -> Threaded {
        let fused = F::BY_MACHINE && self.isa.has_fma();
        Threaded::new(if fused { two_fused::<F> as Runner } else { two::<F> }, self.operands, self.operands)
    }
}

/// Whether a row of the table has a vector kernel.
struct IsVector;

impl UseUnary for IsVector {
    type Output = bool;
    fn with<F: UnaryFunction>(self) -> bool {
        F::BY_MACHINE
    }
}

/// Whether a function is faster on a slice than one element after the other.
pub(crate) fn is_vector(op: Unary) -> bool {
    unary_function(op, IsVector)
}

/// Defines the code of functions for one instruction set.
macro_rules! steps {
    ($($(#[$feature:meta])? $one:ident $two:ident $Machine:ty;)*) => { $(
        /// # Safety
        /// As for `instructions::one`, on a machine that has the instruction set.
        $(#[$feature])?
        unsafe fn $one<F: UnaryFunction>(
            step: *const Threaded, at: *mut u8, trip: usize, last: f64, file: &File<'_>,
        ) -> f64 {
            // Safety: as the caller says.
            unsafe {
                let y = F::at::<$Machine>(last);
                MachineView { at, file, trip }.set((*step).first.out, y);
                next(step, at, trip, y, file)
            }
        }

        /// # Safety
        /// As for `instructions::one`, on a machine that has the instruction set.
        $(#[$feature])?
        unsafe fn $two<F: BinaryFunction>(
            step: *const Threaded, at: *mut u8, trip: usize, last: f64, file: &File<'_>,
        ) -> f64 {
            let view = MachineView { at, file, trip };
            // Safety: as the caller says.
            unsafe {
                let InstructionOperands { out, b, .. } = (*step).first;
                let z = F::at::<$Machine>(last, view.get(b));
                view.set(out, z);
                next(step, at, trip, z, file)
            }
        }
    )* };
}

steps! {
    one two WithoutFma;
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))] one_fused two_fused Fused;
}
