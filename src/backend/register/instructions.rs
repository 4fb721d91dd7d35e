//! The instruction set of register code on `f64`: arithmetic in pairs, since dispatch costs as much as the arithmetic.
//!
//! The result of the previous instruction, the *last result*, is passed on in a machine register. An instruction has
//! forms that take the last result for one of its operands: they avoid the latency of a store and a reload, which is
//! most of the time of a recurrence.
//!
//! Law: each form computes what the plain instruction computes, and every result is written to its register, too.

#![allow(unsafe_code)]

use super::machine::{File, Runner, Threaded, next};
use super::{InstructionOperands, Register};
use crate::ops::Compare;

/// The arguments of an instruction besides its operands.
#[derive(Clone, Copy)]
pub(crate) struct MachineView<'a> {
    /// The base address of the registers of the file.
    pub(crate) at: *mut u8,
    pub(crate) file: &'a File<'a>,
    /// The index of the trip.
    pub(crate) trip: usize,
}

impl MachineView<'_> {
    #[inline(always)]
    fn cell<E>(self, register: Register) -> *mut E {
        self.file.check(register);
        self.at.wrapping_add(usize::from(register) * 8).cast()
    }

    /// # Safety
    /// The register is one of the file, and holds 8 bytes.
    #[inline(always)]
    pub(crate) unsafe fn get(self, register: Register) -> f64 {
        unsafe { *self.cell(register) }
    }

    /// # Safety
    /// The register is one of the file, and holds a mask.
    #[inline(always)]
    unsafe fn mask(self, register: Register) -> bool {
        unsafe { *self.cell(register) }
    }

    /// # Safety
    /// The register is one of the file.
    #[inline(always)]
    pub(crate) unsafe fn set(self, register: Register, x: f64) {
        unsafe { *self.cell(register) = x }
    }

    /// The address of the element of a row at this trip.
    ///
    /// # Safety
    /// The register holds the address of the element at index 0; the buffer has an element at this index.
    #[inline(always)]
    unsafe fn row(self, operands: &InstructionOperands) -> *mut f64 {
        let start = unsafe { *self.cell::<*mut u8>(operands.a) };
        start.wrapping_add(self.trip * operands.bytes()).cast()
    }
}

/// The code of an instruction.
trait Operation {
    /// Computes and writes the result; returns the new last result.
    ///
    /// # Safety
    /// The operands are registers of the file, and hold elements of the types that the instruction takes.
    unsafe fn run(operands: &InstructionOperands, view: MachineView<'_>, last: f64) -> f64;
}

/// Declares the instructions: their forms, names, numbers of arithmetic operations, and results.
macro_rules! kinds {
    (
        $([$($Opcode:ident)*] $name:literal $operations:literal;)*
        single: $([$Single:ident $single:literal])*;
        rows: $($Row:ident)*;
        $($ValueId:ident: |$v:ident, $o:ident, $last:ident| $value:expr;)*
    ) => {
        /// The opcode of an instruction; all but masks can be paired.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Opcode { $($($Opcode,)*)* $($Single,)* $($Row,)* }

        impl Opcode {
            pub(crate) fn name(self) -> &'static str {
                match self { $( $(Opcode::$Opcode)|* => $name, )* $(Opcode::$Single => $single,)* $(Opcode::$Row)|* => "row" }
            }

            /// The number of arithmetic operations.
            pub(crate) fn operations(self) -> usize {
                match self { $( $(Opcode::$Opcode)|* => $operations, )* $(Opcode::$Single)|* => 1, $(Opcode::$Row)|* => 0 }
            }

            /// The code of the instruction, unpaired.
            pub(crate) fn alone(self) -> Runner {
                match self {
                    $($(Opcode::$Opcode => one::<operation::$Opcode>,)*)*
                    $(Opcode::$Single => one::<operation::$Single>,)*
                    $(Opcode::$Row => one::<operation::$Row>,)*
                }
            }

            /// The code of a run of these instructions.
            pub(crate) fn many(self) -> Runner {
                match self {
                    $($(Opcode::$Opcode => many::<operation::$Opcode>,)*)*
                    $(Opcode::$Single => many::<operation::$Single>,)*
                    $(Opcode::$Row => many::<operation::$Row>,)*
                }
            }

            /// The code of this instruction followed by another, if both can be paired.
            pub(crate) fn before(self, second: Opcode) -> Option<Runner> {
                match self {
                    $($(Opcode::$Opcode => pair::<operation::$Opcode>(second),)*)*
                    $(Opcode::$Single)|* => None,
                    $(Opcode::$Row => pair::<operation::$Row>(second),)*
                }
            }
        }

        /// The code of an instruction followed by `second`, if `second` can be paired.
        fn pair<A: Operation>(second: Opcode) -> Option<Runner> {
            Some(match second {
                $($(Opcode::$Opcode => two::<A, operation::$Opcode>,)*)*
                $(Opcode::$Single)|* => return None,
                $(Opcode::$Row => two::<A, operation::$Row>,)*
            })
        }

        mod operation {
            $($(pub(crate) struct $Opcode;)*)*
            $(pub(crate) struct $Single;)*
            $(pub(crate) struct $Row;)*
        }

        $(
            impl Operation for operation::$ValueId {
                #[inline(always)]
                unsafe fn run($o: &InstructionOperands, $v: MachineView<'_>, $last: f64) -> f64 {
                    // Safety: as the caller says.
                    unsafe {
                        let x: f64 = $value;
                        $v.set($o.out, x);
                        x
                    }
                }
            }
        )*
    };
}

kinds! {
    [Add AddLast] "+" 1;
    [Sub SubLast SubFrom] "-" 1;
    [Mul MulLast Square] "*" 1;
    [Div DivLast DivBy] "/" 1;
    [Neg NegLast] "neg" 1;
    [MulAdd MulAddLast MulAddTo] "a*b+c" 2;
    [MulSub MulSubLast MulSubTo] "a*b-c" 2;
    [SubMul SubMulLast SubMulTo] "c-a*b" 2;
    [MulNoNan MulNoNanLast] "mul_no_nan" 1;
    [Select] "select" 1;
    [Copy] "copy" 0;
    single: [Less "<"] [LessEqual "<="] [Equal "=="] [NotEqual "!="] [And "and"] [Or "or"] [Not "not"];
    rows: Load Store Put;

    Add: |v, o, _x| v.get(o.a) + v.get(o.b);
    AddLast: |v, o, x| x + v.get(o.b);
    Sub: |v, o, _x| v.get(o.a) - v.get(o.b);
    SubLast: |v, o, x| x - v.get(o.b);
    SubFrom: |v, o, x| v.get(o.a) - x;
    Mul: |v, o, _x| v.get(o.a) * v.get(o.b);
    MulLast: |v, o, x| x * v.get(o.b);
    Square: |v, o, x| x * x;
    Div: |v, o, _x| v.get(o.a) / v.get(o.b);
    DivLast: |v, o, x| x / v.get(o.b);
    DivBy: |v, o, x| v.get(o.a) / x;
    Neg: |v, o, _x| -v.get(o.a);
    NegLast: |v, o, x| -x;
    MulAdd: |v, o, _x| v.get(o.a) * v.get(o.b) + v.get(o.c);
    MulAddLast: |v, o, x| x * v.get(o.b) + v.get(o.c);
    MulAddTo: |v, o, x| v.get(o.a) * v.get(o.b) + x;
    MulSub: |v, o, _x| v.get(o.a) * v.get(o.b) - v.get(o.c);
    MulSubLast: |v, o, x| x * v.get(o.b) - v.get(o.c);
    MulSubTo: |v, o, x| v.get(o.a) * v.get(o.b) - x;
    SubMul: |v, o, _x| v.get(o.c) - v.get(o.a) * v.get(o.b);
    SubMulLast: |v, o, x| v.get(o.c) - x * v.get(o.b);
    SubMulTo: |v, o, x| x - v.get(o.a) * v.get(o.b);
    MulNoNan: |v, o, _x| guarded(v.get(o.a), v.get(o.b));
    MulNoNanLast: |v, o, x| guarded(x, v.get(o.b));
    Select: |v, o, _x| if v.mask(o.a) { v.get(o.b) } else { v.get(o.c) };
    Copy: |v, o, _x| v.get(o.a);
}

/// The product `x y`, which is 0 if a factor is 0, even if the other is infinite or NaN.
#[inline(always)]
fn guarded(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { 0.0 } else { x * y }
}

/// Instructions whose results are masks; they leave the last result unchanged.
macro_rules! masks {
    ($($Opcode:ident: |$v:ident, $o:ident| $value:expr;)*) => { $(
        impl Operation for operation::$Opcode {
            #[inline(always)]
            unsafe fn run($o: &InstructionOperands, $v: MachineView<'_>, last: f64) -> f64 {
                // Safety: as the caller says.
                unsafe { *$v.cell::<bool>($o.out) = $value };
                last
            }
        }
    )* };
}

masks! {
    Less: |v, o| v.get(o.a) < v.get(o.b);
    LessEqual: |v, o| v.get(o.a) <= v.get(o.b);
    Equal: |v, o| v.get(o.a) == v.get(o.b);
    NotEqual: |v, o| v.get(o.a) != v.get(o.b);
    And: |v, o| v.mask(o.a) & v.mask(o.b);
    Or: |v, o| v.mask(o.a) | v.mask(o.b);
    Not: |v, o| !v.mask(o.a);
}

/// Loads an element of a row, of any type of 8 bytes, to a register.
impl Operation for operation::Load {
    #[inline(always)]
    unsafe fn run(operands: &InstructionOperands, view: MachineView<'_>, last: f64) -> f64 {
        // Safety: as the caller says.
        unsafe { *view.cell::<u64>(operands.out) = *view.row(operands).cast::<u64>() };
        last
    }
}

/// Stores the last result to an element of a row.
impl Operation for operation::Store {
    #[inline(always)]
    unsafe fn run(operands: &InstructionOperands, view: MachineView<'_>, last: f64) -> f64 {
        // Safety: as the caller says.
        unsafe { *view.row(operands) = last };
        last
    }
}

/// Stores a register, of any type of 8 bytes, to an element of a row.
impl Operation for operation::Put {
    #[inline(always)]
    unsafe fn run(operands: &InstructionOperands, view: MachineView<'_>, last: f64) -> f64 {
        // Safety: as the caller says.
        unsafe { *view.row(operands).cast::<u64>() = *view.cell::<u64>(operands.out) };
        last
    }
}

impl Opcode {
    /// Whether the result is a mask; a mask is never the last result.
    pub(crate) fn is_mask(self) -> bool {
        use Opcode::{And, Equal, Less, LessEqual, Not, NotEqual, Or};
        matches!(self, Less | LessEqual | Equal | NotEqual | And | Or | Not)
    }

    /// The instruction of a comparison of `f64`, and whether its operands are exchanged.
    pub(crate) fn comparing(op: Compare) -> (Opcode, bool) {
        match op {
            Compare::Eq => (Opcode::Equal, false),
            Compare::Ne => (Opcode::NotEqual, false),
            Compare::Lt => (Opcode::Less, false),
            Compare::Le => (Opcode::LessEqual, false),
            Compare::Gt => (Opcode::Less, true),
            Compare::Ge => (Opcode::LessEqual, true),
        }
    }

    /// The form of a plain instruction that takes the last result for the operand of index `operand`, with its
    /// operands. `square` says that the last result is both factors of a product.
    pub(crate) fn with_last(
        self,
        operand: usize,
        square: bool,
        operands: InstructionOperands,
    ) -> Option<(Opcode, InstructionOperands)> {
        let other = InstructionOperands { b: if operand == 0 { operands.b } else { operands.a }, ..operands };
        Some(match (self, operand) {
            (Opcode::Add, 0 | 1) => (Opcode::AddLast, other),
            (Opcode::Sub, 0) => (Opcode::SubLast, operands),
            (Opcode::Sub, 1) => (Opcode::SubFrom, operands),
            (Opcode::Mul, 0 | 1) if square => (Opcode::Square, operands),
            (Opcode::Mul, 0 | 1) => (Opcode::MulLast, other),
            (Opcode::Div, 0) => (Opcode::DivLast, operands),
            (Opcode::Div, 1) => (Opcode::DivBy, operands),
            (Opcode::Neg, 0) => (Opcode::NegLast, operands),
            (Opcode::MulNoNan, 0 | 1) if !square => (Opcode::MulNoNanLast, other),
            (Opcode::MulAdd, 0 | 1) => (Opcode::MulAddLast, other),
            (Opcode::MulAdd, 2) => (Opcode::MulAddTo, operands),
            (Opcode::MulSub, 0 | 1) => (Opcode::MulSubLast, other),
            (Opcode::MulSub, 2) => (Opcode::MulSubTo, operands),
            (Opcode::SubMul, 0 | 1) => (Opcode::SubMulLast, other),
            (Opcode::SubMul, 2) => (Opcode::SubMulTo, operands),
            (_, _) => return None,
        })
    }
}

/// A step of one instruction.
///
/// # Safety
/// The step is one of a chain; its registers lie within the block at this address.
unsafe fn one<A: Operation>(step: *const Threaded, at: *mut u8, trip: usize, last: f64, file: &File<'_>) -> f64 {
    // Safety: as the caller says.
    unsafe {
        let last = A::run(&(*step).first, MachineView { at, file, trip }, last);
        next(step, at, trip, last, file)
    }
}

/// A step of two instructions.
///
/// # Safety
/// As for [`one`].
unsafe fn two<A: Operation, B: Operation>(
    step: *const Threaded,
    at: *mut u8,
    trip: usize,
    last: f64,
    file: &File<'_>,
) -> f64 {
    let view = MachineView { at, file, trip };
    // Safety: as the caller says.
    unsafe {
        let last = A::run(&(*step).first, view, last);
        let last = B::run(&(*step).second, view, last);
        next(step, at, trip, last, file)
    }
}

/// A step of a run of equal instructions in the plain form, which neither take nor change the last result.
///
/// # Safety
/// As for [`one`].
unsafe fn many<A: Operation>(step: *const Threaded, at: *mut u8, trip: usize, last: f64, file: &File<'_>) -> f64 {
    // Safety: as the caller says.
    unsafe {
        for operands in file.run_of(&*step) {
            A::run(operands, MachineView { at, file, trip }, last);
        }
        next(step, at, trip, last, file)
    }
}
