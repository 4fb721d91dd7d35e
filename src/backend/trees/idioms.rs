//! Short names for frequent expressions and statements.

use super::tree::{ElementIndex, ElementPlace, Expression, Literal, PositionExpr, Stmt, VariableId};
use super::writer::Writer;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::dtype::DType;
use crate::ops::{Binary, Compare, IntBinary, Unary};

/// The position zero.
pub(crate) fn start() -> ElementIndex {
    ElementIndex::default()
}

/// A position that does not change.
pub(crate) fn at(position: usize) -> ElementIndex {
    ElementIndex::constant(position as i64)
}

impl Expression {
    pub(crate) fn unary(dtype: DType, op: Unary, a: Expression) -> Expression {
        Expression::op(ElementwiseOp::Unary(op, a), dtype)
    }

    pub(crate) fn binary(dtype: DType, op: Binary, a: Expression, b: Expression) -> Expression {
        Expression::op(ElementwiseOp::Binary(op, a, b), dtype)
    }

    /// `a - b`, of floats.
    pub(crate) fn minus(dtype: DType, a: Expression, b: Expression) -> Expression {
        Expression::binary(dtype, Binary::Sub, a, b)
    }

    /// `a / b`, of floats.
    pub(crate) fn over(dtype: DType, a: Expression, b: Expression) -> Expression {
        Expression::binary(dtype, Binary::Div, a, b)
    }

    pub(crate) fn abs(dtype: DType, a: Expression) -> Expression {
        Expression::unary(dtype, Unary::Abs, a)
    }

    pub(crate) fn int(op: IntBinary, a: Expression, b: Expression) -> Expression {
        Expression::op(ElementwiseOp::IntBinary(op, a, b), DType::I64)
    }

    pub(crate) fn convert(from: DType, to: DType, a: Expression) -> Expression {
        Expression::op(ElementwiseOp::Convert(from, a), to)
    }

    pub(crate) fn compare(op: Compare, a: Expression, b: Expression) -> Expression {
        Expression::op(ElementwiseOp::Compare(op, a, b), DType::Bool)
    }

    pub(crate) fn and(a: Expression, b: Expression) -> Expression {
        Expression::op(ElementwiseOp::And(a, b), DType::Bool)
    }

    pub(crate) fn or(a: Expression, b: Expression) -> Expression {
        Expression::op(ElementwiseOp::Or(a, b), DType::Bool)
    }

    pub(crate) fn not(a: Expression) -> Expression {
        Expression::op(ElementwiseOp::Not(a), DType::Bool)
    }

    /// Whether a float is a number. Integers are.
    pub(crate) fn is_number(a: Expression) -> Expression {
        Expression::compare(Compare::Eq, a.clone(), a)
    }

    /// The one if the condition holds, otherwise the other, which is not evaluated.
    pub(crate) fn either(condition: Expression, then: Expression, otherwise: Expression) -> Expression {
        Expression::If(Box::new([condition, then, otherwise]))
    }

    /// A float as an element.
    pub(crate) fn number(dtype: DType, x: f64) -> Expression {
        Expression::Literal(match dtype {
            DType::F64 => Literal::F64(x),
            DType::F32 => Literal::F32(x as f32),
            DType::I64 => Literal::I64(x as i64),
            DType::Bool => Literal::Bool(x != 0.0),
        })
    }

    pub(crate) fn nan(dtype: DType) -> Expression {
        Expression::number(dtype, f64::NAN)
    }

    pub(crate) fn int_number(x: i64) -> Expression {
        Expression::Literal(Literal::I64(x))
    }

    pub(crate) fn mask(x: bool) -> Expression {
        Expression::Literal(Literal::Bool(x))
    }
}

impl Writer {
    /// A variable that changes, as a place.
    pub(crate) fn cell(&mut self, dtype: DType, value: Expression) -> ElementPlace {
        ElementPlace::Variable(self.var(dtype, value))
    }

    /// A number of each lane, with these first values: in memory, or without memory in a variable.
    pub(crate) fn lanes(
        &mut self,
        dtype: DType,
        (memory, lanes): (Option<&ElementPlace>, usize),
        first: impl Fn(&ElementIndex) -> Expression,
    ) -> ElementPlace {
        let Some(memory) = memory else { return self.cell(dtype, first(&start())) };
        self.for_(lanes, |w, k| w.store(memory, k, first(k)));
        memory.clone()
    }

    /// Statements that run if a condition holds, and others that run otherwise.
    pub(crate) fn if_else(
        &mut self,
        condition: Expression,
        then: impl FnOnce(&mut Writer),
        otherwise: impl FnOnce(&mut Writer),
    ) {
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        if !(then.is_empty() && otherwise.is_empty()) {
            self.push(Stmt::If(condition, then, otherwise));
        }
    }

    /// A loop over the positions from one to another, without the last.
    pub(crate) fn range(&mut self, from: ElementIndex, to: ElementIndex, f: impl FnOnce(&mut Writer, &ElementIndex)) {
        self.for_range((from, to), false, f);
    }

    /// A loop that the body leaves.
    pub(crate) fn loop_(&mut self, body: impl FnOnce(&mut Writer)) {
        let body = self.block(body);
        self.push(Stmt::Loop(body));
    }

    /// Leaves the innermost loop if a condition holds.
    pub(crate) fn break_if(&mut self, condition: Expression) {
        self.push(Stmt::If(condition, vec![Stmt::Break], Vec::new()));
    }

    /// A position that changes, and its name in indices.
    pub(crate) fn moving(&mut self, value: ElementIndex) -> (VariableId, ElementIndex) {
        let variable = self.position(PositionExpr::Affine(value));
        (variable, ElementIndex::of(variable))
    }

    pub(crate) fn move_to(&mut self, variable: VariableId, value: ElementIndex) {
        self.set_position(variable, PositionExpr::Affine(value));
    }

    /// Sets `count` elements.
    pub(crate) fn fill(&mut self, place: &ElementPlace, count: usize, value: Expression) {
        self.for_(count, |w, i| w.store(place, i, value));
    }

    /// Copies `count` elements.
    pub(crate) fn copy(&mut self, from: &ElementPlace, to: &ElementPlace, count: usize) {
        self.for_(count, |w, i| w.store(to, i, from.load(i)));
    }
}
