//! Elementwise operations, generic in their operands: values of a group, registers of tiles, or scalars.
//!
//! Law: the element of the result at a position depends on the elements of the operands at this position alone.

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::ops::{Binary, Compare, FloatStep, IntBinary, IntUnary, Unary};

/// An elementwise operation on values `V`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ElementwiseOp<V> {
    Unary(Unary, V),
    Binary(Binary, V, V),
    Compare(Compare, V, V),
    IntUnary(IntUnary, V),
    IntBinary(IntBinary, V, V),
    And(V, V),
    Or(V, V),
    Not(V),
    FloatStep(FloatStep, V),
    /// A conversion to the element type of the result, from this one.
    Convert(DType, V),
    Select([V; 3]),
}

impl<V> ElementwiseOp<V> {
    /// A product of floats or integers.
    pub(crate) fn product(dtype: DType, a: V, b: V) -> ElementwiseOp<V> {
        if dtype.is_float() {
            ElementwiseOp::Binary(Binary::Mul, a, b)
        } else {
            ElementwiseOp::IntBinary(IntBinary::Mul, a, b)
        }
    }

    /// A sum of floats or integers.
    pub(crate) fn sum(dtype: DType, a: V, b: V) -> ElementwiseOp<V> {
        if dtype.is_float() {
            ElementwiseOp::Binary(Binary::Add, a, b)
        } else {
            ElementwiseOp::IntBinary(IntBinary::Add, a, b)
        }
    }

    /// The same operation on references to the values.
    pub(crate) fn by_ref(&self) -> ElementwiseOp<&V> {
        match self {
            ElementwiseOp::Unary(op, a) => ElementwiseOp::Unary(*op, a),
            ElementwiseOp::Binary(op, a, b) => ElementwiseOp::Binary(*op, a, b),
            ElementwiseOp::Compare(op, a, b) => ElementwiseOp::Compare(*op, a, b),
            ElementwiseOp::IntUnary(op, a) => ElementwiseOp::IntUnary(*op, a),
            ElementwiseOp::IntBinary(op, a, b) => ElementwiseOp::IntBinary(*op, a, b),
            ElementwiseOp::And(a, b) => ElementwiseOp::And(a, b),
            ElementwiseOp::Or(a, b) => ElementwiseOp::Or(a, b),
            ElementwiseOp::Not(a) => ElementwiseOp::Not(a),
            ElementwiseOp::FloatStep(op, a) => ElementwiseOp::FloatStep(*op, a),
            ElementwiseOp::Convert(from, a) => ElementwiseOp::Convert(*from, a),
            ElementwiseOp::Select([a, b, c]) => ElementwiseOp::Select([a, b, c]),
        }
    }

    /// The same operation on other values.
    pub(crate) fn map<W>(self, f: impl Fn(V) -> W) -> ElementwiseOp<W> {
        match self {
            ElementwiseOp::Unary(op, a) => ElementwiseOp::Unary(op, f(a)),
            ElementwiseOp::Binary(op, a, b) => ElementwiseOp::Binary(op, f(a), f(b)),
            ElementwiseOp::Compare(op, a, b) => ElementwiseOp::Compare(op, f(a), f(b)),
            ElementwiseOp::IntUnary(op, a) => ElementwiseOp::IntUnary(op, f(a)),
            ElementwiseOp::IntBinary(op, a, b) => ElementwiseOp::IntBinary(op, f(a), f(b)),
            ElementwiseOp::And(a, b) => ElementwiseOp::And(f(a), f(b)),
            ElementwiseOp::Or(a, b) => ElementwiseOp::Or(f(a), f(b)),
            ElementwiseOp::Not(a) => ElementwiseOp::Not(f(a)),
            ElementwiseOp::FloatStep(op, a) => ElementwiseOp::FloatStep(op, f(a)),
            ElementwiseOp::Convert(from, a) => ElementwiseOp::Convert(from, f(a)),
            ElementwiseOp::Select(args) => ElementwiseOp::Select(args.map(f)),
        }
    }
}

impl<V: Copy> ElementwiseOp<V> {
    /// The values that the operation uses.
    pub(crate) fn operands(&self) -> SmallVec<[V; 4]> {
        match self {
            ElementwiseOp::Unary(_, a)
            | ElementwiseOp::IntUnary(_, a)
            | ElementwiseOp::Not(a)
            | ElementwiseOp::FloatStep(_, a)
            | ElementwiseOp::Convert(_, a) => SmallVec::from_slice(&[*a]),
            ElementwiseOp::Binary(_, a, b)
            | ElementwiseOp::Compare(_, a, b)
            | ElementwiseOp::IntBinary(_, a, b)
            | ElementwiseOp::And(a, b)
            | ElementwiseOp::Or(a, b) => SmallVec::from_slice(&[*a, *b]),
            ElementwiseOp::Select(args) => SmallVec::from_slice(args),
        }
    }
}
