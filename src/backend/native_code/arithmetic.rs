//! Elementwise operations as instructions.
//!
//! Law: an operation has the bits of its row. What is one instruction of the machine, or a few, stands in the code;
//! every other function is called.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{Endianness, InstBuilder as _, MemFlags, Type, Value, types};

use super::calls;
use super::translate::Translator;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::trees::tree::{Expression, Literal};
use crate::dtype::DType;
use crate::ops::{Binary, Compare, FloatStep, IntBinary, IntUnary, Unary};

/// The order of lanes, when bits of one type are read as another.
pub(super) const LITTLE: MemFlags = MemFlags::new().with_endianness(Endianness::Little);

/// Whether a function is a few instructions, and not a call.
pub(super) fn is_inline(op: Unary) -> bool {
    match op {
        Unary::Neg | Unary::Abs | Unary::Square | Unary::OneMinusSquare | Unary::Relu => true,
        Unary::Sqrt | Unary::Recip => true,
        Unary::Exp | Unary::Ln | Unary::Log1p | Unary::Expm1 | Unary::Sin | Unary::Cos | Unary::Tan => false,
        Unary::Asin | Unary::Acos | Unary::Atan | Unary::Sinh | Unary::Cosh | Unary::Tanh | Unary::Sech2 => false,
        Unary::Asinh | Unary::Acosh | Unary::Atanh | Unary::Sigmoid | Unary::Softplus | Unary::Gaussian => false,
        Unary::Erf | Unary::Erfc | Unary::Erfinv | Unary::Lgamma | Unary::Digamma | Unary::Trigamma => false,
    }
}

/// Whether a function of two numbers is a few instructions, and not a call.
pub(super) fn is_inline_of_two(op: Binary) -> bool {
    match op {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Min | Binary::Max => true,
        Binary::MulNoNan | Binary::DivNoNan | Binary::Copysign => true,
        Binary::Pow | Binary::PowLessOne | Binary::Atan2 | Binary::RecipReal | Binary::Hypot => false,
        Binary::LogAddExp | Binary::Polygamma => false,
    }
}

/// The type of an element in a register: masks are bytes that are 0 or 1.
pub(super) fn type_of(dtype: DType) -> Type {
    match dtype {
        DType::F64 => types::F64,
        DType::F32 => types::F32,
        DType::I64 => types::I64,
        DType::Bool => types::I8,
    }
}

impl Translator<'_, '_> {
    pub(super) fn literal(&mut self, x: Literal) -> Value {
        match x {
            Literal::F64(x) => self.builder.ins().f64const(x),
            Literal::F32(x) => self.builder.ins().f32const(x),
            Literal::I64(x) => self.builder.ins().iconst(types::I64, x),
            Literal::Bool(x) => self.builder.ins().iconst(types::I8, i64::from(x)),
        }
    }

    fn number(&mut self, dtype: DType, x: i32) -> Value {
        self.literal(Literal::of(dtype, x))
    }

    /// A number as this value is: in all lanes, if that is a vector.
    fn number_beside(&mut self, of: Value, dtype: DType, x: i32) -> Value {
        let (number, ty) = (self.number(dtype, x), self.builder.func.dfg.value_type(of));
        if ty.is_vector() { self.builder.ins().splat(ty, number) } else { number }
    }

    /// The element type of an expression.
    pub(super) fn dtype(&self, x: &Expression) -> DType {
        match x {
            Expression::Literal(Literal::F64(_)) => DType::F64,
            Expression::Literal(Literal::F32(_)) => DType::F32,
            Expression::Literal(Literal::I64(_)) | Expression::Position(_) => DType::I64,
            Expression::Variable(variable) => self.dtype_of(*variable),
            Expression::Load(array, _) => self.function.arrays[*array as usize].dtype,
            Expression::Op(_, dtype) => *dtype,
            Expression::Literal(Literal::Bool(_)) | Expression::AtMost(..) | Expression::Below(..) => DType::Bool,
            Expression::IsIndex(..) | Expression::All(_) => DType::Bool,
            Expression::If(parts) => self.dtype(&parts[1]),
        }
    }

    /// The result, of this element type, of an operation.
    pub(super) fn op(&mut self, op: &ElementwiseOp<Expression>, dtype: DType) -> Value {
        match op {
            ElementwiseOp::Unary(op, a) => {
                let a = self.expr(a);
                self.unary(*op, a, dtype)
            }
            ElementwiseOp::Binary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                self.binary(*op, a, b, dtype)
            }
            ElementwiseOp::Compare(op, a, b) => {
                let of = self.dtype(a);
                let (a, b) = (self.expr(a), self.expr(b));
                self.compare(*op, a, b, of)
            }
            ElementwiseOp::IntUnary(op, a) => {
                let a = self.expr(a);
                match op {
                    IntUnary::Neg => self.builder.ins().ineg(a),
                    IntUnary::Abs => self.builder.ins().iabs(a),
                    IntUnary::BitNot => self.builder.ins().bnot(a),
                }
            }
            ElementwiseOp::IntBinary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                self.int_binary(*op, a, b)
            }
            ElementwiseOp::And(a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                self.builder.ins().band(a, b)
            }
            ElementwiseOp::Or(a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                self.builder.ins().bor(a, b)
            }
            ElementwiseOp::Not(a) => {
                let a = self.expr(a);
                self.builder.ins().bxor_imm(a, 1)
            }
            ElementwiseOp::FloatStep(op, a) => {
                let a = self.expr(a);
                self.float_step(*op, a, dtype)
            }
            ElementwiseOp::Convert(from, a) => {
                let a = self.expr(a);
                self.convert(*from, dtype, a)
            }
            ElementwiseOp::Select([mask, a, b]) => {
                let (mask, a, b) = (self.expr(mask), self.expr(a), self.expr(b));
                self.builder.ins().select(mask, a, b)
            }
        }
    }

    pub(super) fn unary(&mut self, op: Unary, a: Value, dtype: DType) -> Value {
        match op {
            Unary::Neg => self.builder.ins().fneg(a),
            Unary::Abs => self.builder.ins().fabs(a),
            Unary::Sqrt => self.builder.ins().sqrt(a),
            Unary::Square => self.builder.ins().fmul(a, a),
            Unary::Recip => {
                let one = self.number_beside(a, dtype, 1);
                self.builder.ins().fdiv(one, a)
            }
            Unary::OneMinusSquare => {
                let one = self.number_beside(a, dtype, 1);
                let (less, more) = (self.builder.ins().fsub(one, a), self.builder.ins().fadd(one, a));
                self.builder.ins().fmul(less, more)
            }
            Unary::Relu => {
                let zero = self.number_beside(a, dtype, 0);
                let [of_a, of_zero] = [a, zero].map(|x| self.lanes(x));
                let below = self.mask(FloatCC::LessThan, of_a, of_zero);
                self.cleared(a, below)
            }
            Unary::Exp | Unary::Ln | Unary::Log1p | Unary::Expm1 | Unary::Sin | Unary::Cos | Unary::Tan => {
                self.call(calls::unary(self.isa, op, dtype), &[a], dtype)
            }
            Unary::Asin | Unary::Acos | Unary::Atan | Unary::Sinh | Unary::Cosh | Unary::Tanh | Unary::Sech2 => {
                self.call(calls::unary(self.isa, op, dtype), &[a], dtype)
            }
            Unary::Asinh | Unary::Acosh | Unary::Atanh | Unary::Sigmoid | Unary::Softplus | Unary::Gaussian => {
                self.call(calls::unary(self.isa, op, dtype), &[a], dtype)
            }
            Unary::Erf | Unary::Erfc | Unary::Erfinv | Unary::Lgamma | Unary::Digamma | Unary::Trigamma => {
                self.call(calls::unary(self.isa, op, dtype), &[a], dtype)
            }
        }
    }

    pub(super) fn binary(&mut self, op: Binary, a: Value, b: Value, dtype: DType) -> Value {
        match op {
            Binary::Add => self.builder.ins().fadd(a, b),
            Binary::Sub => self.builder.ins().fsub(a, b),
            Binary::Mul => self.builder.ins().fmul(a, b),
            Binary::Div => self.builder.ins().fdiv(a, b),
            Binary::Min | Binary::Max => {
                let cc = if op == Binary::Min { FloatCC::LessThanOrEqual } else { FloatCC::GreaterThanOrEqual };
                // The first operand if it is chosen, or if it is NaN; otherwise the second.
                let [first, second] = [a, b].map(|x| self.lanes(x));
                let (chosen, nan) = (self.mask(cc, first, second), self.mask(FloatCC::Unordered, first, first));
                let keeps = self.builder.ins().bor(chosen, nan);
                let [first, second] = [first, second].map(|x| self.bits(x));
                let chosen = self.builder.ins().bitselect(keeps, first, second);
                self.floats(chosen, a)
            }
            Binary::MulNoNan => {
                let (zero, product) = (self.number_beside(a, dtype, 0), self.builder.ins().fmul(a, b));
                let [a, b, zero] = [a, b, zero].map(|x| self.lanes(x));
                let (left, right) = (self.mask(FloatCC::Equal, a, zero), self.mask(FloatCC::Equal, b, zero));
                let none = self.builder.ins().bor(left, right);
                self.cleared(product, none)
            }
            Binary::DivNoNan => {
                let (zero, quotient) = (self.number_beside(a, dtype, 0), self.builder.ins().fdiv(a, b));
                let [a, zero] = [a, zero].map(|x| self.lanes(x));
                let none = self.mask(FloatCC::Equal, a, zero);
                self.cleared(quotient, none)
            }
            Binary::Copysign => {
                let (length, signed) = (self.builder.ins().fabs(a), self.builder.ins().fcopysign(a, b));
                let nan = self.builder.ins().fcmp(FloatCC::Unordered, b, b);
                self.builder.ins().select(nan, length, signed)
            }
            Binary::Pow | Binary::PowLessOne | Binary::Atan2 | Binary::RecipReal | Binary::Hypot => {
                self.call(calls::binary(self.isa, op, dtype), &[a, b], dtype)
            }
            Binary::LogAddExp | Binary::Polygamma => self.call(calls::binary(self.isa, op, dtype), &[a, b], dtype),
        }
    }

    /// A float as the first lane of a vector, whose other lanes do not matter: masks of lanes cost no branch.
    fn lanes(&mut self, x: Value) -> Value {
        let of = self.builder.func.dfg.value_type(x);
        let ty = if of == types::F32 { types::F32X4 } else { types::F64X2 };
        if of.is_vector() { x } else { self.builder.ins().scalar_to_vector(ty, x) }
    }

    /// The lanes of floats as integers.
    pub(super) fn bits(&mut self, x: Value) -> Value {
        let of = self.builder.func.dfg.value_type(x);
        let ty = if of == types::F32X4 { types::I32X4 } else { types::I64X2 };
        self.builder.ins().bitcast(ty, LITTLE, x)
    }

    /// The lanes of integers as floats: as many as this value has, all or the first.
    fn floats(&mut self, x: Value, like: Value) -> Value {
        let of = self.builder.func.dfg.value_type(like);
        let ty = if of.lane_type() == types::F32 { types::F32X4 } else { types::F64X2 };
        let floats = self.builder.ins().bitcast(ty, LITTLE, x);
        if of.is_vector() { floats } else { self.builder.ins().extractlane(floats, 0) }
    }

    /// The lanes, as integers of ones or zeros, in which a comparison holds.
    fn mask(&mut self, cc: FloatCC, a: Value, b: Value) -> Value {
        self.builder.ins().fcmp(cc, a, b)
    }

    /// Zero where a mask of lanes holds, otherwise the float.
    fn cleared(&mut self, x: Value, mask: Value) -> Value {
        let lanes = self.lanes(x);
        let bits = self.bits(lanes);
        let kept = self.builder.ins().band_not(bits, mask);
        self.floats(kept, x)
    }

    pub(super) fn compare(&mut self, op: Compare, a: Value, b: Value, dtype: DType) -> Value {
        let float = match op {
            Compare::Eq => FloatCC::Equal,
            Compare::Ne => FloatCC::NotEqual,
            Compare::Lt => FloatCC::LessThan,
            Compare::Le => FloatCC::LessThanOrEqual,
            Compare::Gt => FloatCC::GreaterThan,
            Compare::Ge => FloatCC::GreaterThanOrEqual,
        };
        let int = match op {
            Compare::Eq => IntCC::Equal,
            Compare::Ne => IntCC::NotEqual,
            Compare::Lt => IntCC::SignedLessThan,
            Compare::Le => IntCC::SignedLessThanOrEqual,
            Compare::Gt => IntCC::SignedGreaterThan,
            Compare::Ge => IntCC::SignedGreaterThanOrEqual,
        };
        if dtype.is_float() { self.builder.ins().fcmp(float, a, b) } else { self.builder.ins().icmp(int, a, b) }
    }

    fn int_binary(&mut self, op: IntBinary, a: Value, b: Value) -> Value {
        match op {
            IntBinary::Add => self.builder.ins().iadd(a, b),
            IntBinary::Sub => self.builder.ins().isub(a, b),
            IntBinary::Mul => self.builder.ins().imul(a, b),
            IntBinary::Quot => {
                let (by, is_minus_one) = self.divisor(b).0;
                let (quotient, negated) = (self.builder.ins().sdiv(a, by), self.builder.ins().ineg(a));
                self.builder.ins().select(is_minus_one, negated, quotient)
            }
            IntBinary::Rem => {
                let ((by, _), is_zero) = self.divisor(b);
                let rest = self.builder.ins().srem(a, by);
                self.builder.ins().select(is_zero, a, rest)
            }
            IntBinary::Min => self.builder.ins().smin(a, b),
            IntBinary::Max => self.builder.ins().smax(a, b),
            IntBinary::BitAnd => self.builder.ins().band(a, b),
            IntBinary::BitOr => self.builder.ins().bor(a, b),
            IntBinary::BitXor => self.builder.ins().bxor(a, b),
            IntBinary::Shl | IntBinary::Shr => {
                let shifted =
                    if op == IntBinary::Shl { self.builder.ins().ishl(a, b) } else { self.builder.ins().ushr(a, b) };
                let inside = self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, b, 64);
                let zero = self.number(DType::I64, 0);
                self.builder.ins().select(inside, shifted, zero)
            }
            IntBinary::ShrSigned => {
                let inside = self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, b, 64);
                let most = self.number(DType::I64, 63);
                let by = self.builder.ins().select(inside, b, most);
                self.builder.ins().sshr(a, by)
            }
            IntBinary::Threefry => self.call(calls::threefry(), &[a, b], DType::I64),
        }
    }

    /// A divisor by which a division is defined, 1 instead of 0 and -1; whether it is -1; and whether it is 0.
    fn divisor(&mut self, b: Value) -> ((Value, Value), Value) {
        let is_zero = self.builder.ins().icmp_imm(IntCC::Equal, b, 0);
        let is_minus_one = self.builder.ins().icmp_imm(IntCC::Equal, b, -1);
        let (special, one) = (self.builder.ins().bor(is_zero, is_minus_one), self.number(DType::I64, 1));
        ((self.builder.ins().select(special, one, b), is_minus_one), is_zero)
    }

    pub(super) fn float_step(&mut self, op: FloatStep, a: Value, dtype: DType) -> Value {
        match op {
            FloatStep::StopGradient => a,
            FloatStep::Floor => self.builder.ins().floor(a),
            FloatStep::Ceil => self.builder.ins().ceil(a),
            FloatStep::Round => self.call(calls::round(dtype), &[a], dtype),
            FloatStep::Sign => {
                let [zero, one, minus] = [0, 1, -1].map(|x| self.number(dtype, x));
                let above = self.builder.ins().fcmp(FloatCC::GreaterThan, a, zero);
                let below = self.builder.ins().fcmp(FloatCC::LessThan, a, zero);
                let nan = self.builder.ins().fcmp(FloatCC::Unordered, a, a);
                let rest = self.builder.ins().select(nan, a, zero);
                let rest = self.builder.ins().select(below, minus, rest);
                self.builder.ins().select(above, one, rest)
            }
        }
    }

    fn convert(&mut self, from: DType, to: DType, a: Value) -> Value {
        match (from, to) {
            (DType::F64, DType::F64) | (DType::F32, DType::F32) => a,
            (DType::I64, DType::I64) | (DType::Bool, DType::Bool) => a,
            (DType::F64, DType::F32) => self.builder.ins().fdemote(types::F32, a),
            (DType::F32, DType::F64) => self.builder.ins().fpromote(types::F64, a),
            (DType::F64 | DType::F32, DType::I64) => self.builder.ins().fcvt_to_sint_sat(types::I64, a),
            (DType::I64, DType::F64 | DType::F32) => self.builder.ins().fcvt_from_sint(type_of(to), a),
            (DType::Bool, DType::I64) => self.builder.ins().uextend(types::I64, a),
            (DType::Bool, DType::F64 | DType::F32) => {
                let wide = self.builder.ins().uextend(types::I64, a);
                self.builder.ins().fcvt_from_sint(type_of(to), wide)
            }
            (DType::I64, DType::Bool) => self.builder.ins().icmp_imm(IntCC::NotEqual, a, 0),
            (DType::F64 | DType::F32, DType::Bool) => {
                let zero = self.number(from, 0);
                self.builder.ins().fcmp(FloatCC::NotEqual, a, zero)
            }
        }
    }
}
