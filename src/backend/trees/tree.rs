//! Imperative trees: the statements and expressions of emitted code, before a language spells them.
//!
//! Law: a tree has one meaning, whatever language spells it. Expressions have no effects; an index is affine in counters
//! and never leaves its array where a statement runs. A program without arrays in memory is a list of `Let`.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::array::Array;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::dtype::DType;

/// The number of a variable.
pub(crate) type VariableId = u32;

/// The number of an array of the function.
pub(crate) type ArrayId = u32;

/// A variable.
#[derive(Clone, Debug)]
pub(crate) enum Variable {
    /// An element.
    Value(DType),
    /// A counter of a loop at this depth, or a position that is computed.
    Counter(usize),
    Position,
}

/// Where an array lives.
#[derive(Clone, Debug)]
pub(crate) enum ArrayKind {
    /// The input of this number.
    Input(usize),
    /// The output of this number.
    Output(usize),
    Constant(Array),
    /// A variable of the function.
    Stack,
    /// A field of the scratch.
    Scratch,
    /// A name for another array: see [`Stmt::Renamed`].
    Name,
}

/// An array of the function.
#[derive(Clone, Debug)]
pub(crate) struct ArrayInfo {
    pub(crate) dtype: DType,
    pub(crate) len: usize,
    pub(crate) kind: ArrayKind,
    /// Whether an input or output is one number instead of an array of one.
    pub(crate) number: bool,
}

/// A position in an array: a constant plus multiples of variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElementIndex {
    pub(crate) constant: i64,
    pub(crate) terms: SmallVec<[(VariableId, i64); 4]>,
}

impl ElementIndex {
    pub(crate) fn constant(constant: i64) -> ElementIndex {
        ElementIndex { constant, terms: SmallVec::new() }
    }

    pub(crate) fn of(variable: VariableId) -> ElementIndex {
        ElementIndex { constant: 0, terms: SmallVec::from_slice(&[(variable, 1)]) }
    }

    pub(crate) fn plus(mut self, other: &ElementIndex) -> ElementIndex {
        self.constant = self.constant.wrapping_add(other.constant);
        for (variable, factor) in &other.terms {
            match self.terms.iter_mut().find(|(known, _)| known == variable) {
                Some((_, known)) => *known = known.wrapping_add(*factor),
                None => self.terms.push((*variable, *factor)),
            }
        }
        self.terms.retain(|(_, factor)| *factor != 0);
        self
    }

    pub(crate) fn plus_constant(mut self, by: i64) -> ElementIndex {
        self.constant = self.constant.wrapping_add(by);
        self
    }

    pub(crate) fn times(mut self, factor: i64) -> ElementIndex {
        if factor == 0 {
            return ElementIndex::default();
        }
        self.constant = self.constant.wrapping_mul(factor);
        self.terms.iter_mut().for_each(|(_, of)| *of = of.wrapping_mul(factor));
        self
    }

    /// The least and the largest value, if those of its variables are known.
    pub(crate) fn reach(&self, ranges: &BTreeMap<VariableId, (i64, i64)>) -> Option<(i64, i64)> {
        self.terms.iter().try_fold((self.constant, self.constant), |(lo, hi), (variable, factor)| {
            let (a, b) = ranges.get(variable)?;
            let (a, b) = (a.checked_mul(*factor)?, b.checked_mul(*factor)?);
            Some((lo.checked_add(a.min(b))?, hi.checked_add(a.max(b))?))
        })
    }

    /// The value, if no variable is in it.
    pub(crate) fn known(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }
}

/// A number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Literal {
    F64(f64),
    F32(f32),
    I64(i64),
    Bool(bool),
}

impl Literal {
    pub(crate) fn zero(dtype: DType) -> Literal {
        Literal::of(dtype, 0)
    }

    /// A small integer as an element.
    pub(crate) fn of(dtype: DType, x: i32) -> Literal {
        match dtype {
            DType::F64 => Literal::F64(x.into()),
            DType::F32 => Literal::F32(x as f32),
            DType::I64 => Literal::I64(x.into()),
            DType::Bool => Literal::Bool(x != 0),
        }
    }
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Literal(Literal),
    Variable(VariableId),
    Load(ArrayId, ElementIndex),
    /// An elementwise operation with a result of this element type.
    Op(Box<ElementwiseOp<Expression>>, DType),
    /// A position as an integer.
    Position(ElementIndex),
    /// `a <= b`.
    AtMost(ElementIndex, ElementIndex),
    /// `a < b`.
    Below(ElementIndex, ElementIndex),
    /// Whether an integer is an index of an axis of this length.
    IsIndex(Box<Expression>, usize),
    /// All of these conditions; they are evaluated in order, up to the first that does not hold.
    All(Vec<Expression>),
    /// The second if the first, a condition, holds, otherwise the third; the other one is not evaluated.
    If(Box<[Expression; 3]>),
}

impl Expression {
    pub(crate) fn zero(dtype: DType) -> Expression {
        Expression::Literal(Literal::zero(dtype))
    }

    pub(crate) fn op(op: ElementwiseOp<Expression>, dtype: DType) -> Expression {
        Expression::Op(Box::new(op), dtype)
    }

    pub(crate) fn sum(dtype: DType, a: Expression, b: Expression) -> Expression {
        Expression::op(ElementwiseOp::sum(dtype, a, b), dtype)
    }

    pub(crate) fn product(dtype: DType, a: Expression, b: Expression) -> Expression {
        Expression::op(ElementwiseOp::product(dtype, a, b), dtype)
    }

    /// The expression if the conditions hold, and otherwise zero.
    pub(crate) fn where_all(mut conditions: Vec<Expression>, value: Expression, dtype: DType) -> Expression {
        match conditions.len() {
            0 => value,
            1 => Expression::If(Box::new([conditions.remove(0), value, Expression::zero(dtype)])),
            _ => Expression::If(Box::new([Expression::All(conditions), value, Expression::zero(dtype)])),
        }
    }

    /// The number of operations, calls counted as several: what decides whether an expression is worth a separate line.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Expression::Literal(_) | Expression::Variable(_) => 0,
            Expression::Load(_, index) => index.terms.len(),
            Expression::Op(op, _) => 1 + op.by_ref().operands().iter().map(|of| of.weight()).sum::<usize>(),
            Expression::Position(_) | Expression::AtMost(..) | Expression::Below(..) => 2,
            Expression::IsIndex(value, _) => 2 + value.weight(),
            Expression::All(all) => all.iter().map(Expression::weight).sum(),
            Expression::If(parts) => 3 + parts.iter().map(Expression::weight).sum::<usize>(),
        }
    }
}

/// A position that is not an affine function of others.
#[derive(Clone, Debug)]
pub(crate) enum PositionExpr {
    Affine(ElementIndex),
    /// The quotient of a position and a number.
    Quotient(ElementIndex, usize),
    /// The remainder.
    Remainder(ElementIndex, usize),
    /// An integer that is a position.
    Int(Expression),
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Comment(String),
    /// Declares a variable that keeps its value.
    Let(VariableId, Expression),
    /// Declares a variable that changes.
    Var(VariableId, Expression),
    Set(VariableId, Expression),
    /// Declares a position, which may change.
    Position(VariableId, PositionExpr),
    SetPosition(VariableId, PositionExpr),
    Store(ArrayId, ElementIndex, Expression),
    /// A loop over `from..to`, backwards if `down`.
    For {
        counter: VariableId,
        from: ElementIndex,
        to: ElementIndex,
        down: bool,
        body: Vec<Stmt>,
    },
    /// A loop until `Break`.
    Loop(Vec<Stmt>),
    If(Expression, Vec<Stmt>, Vec<Stmt>),
    /// Leaves the innermost loop.
    Break,
    /// Runs the body with two names for arrays of the scratch, which `Swap` exchanges.
    Renamed {
        names: [ArrayId; 2],
        of: [ArrayId; 2],
        body: Vec<Stmt>,
    },
    Swap([ArrayId; 2]),
}

/// A function that is emitted.
#[derive(Debug, Default)]
pub(crate) struct EmittedFunction {
    pub(crate) variables: Vec<Variable>,
    pub(crate) arrays: Vec<ArrayInfo>,
    pub(crate) body: Vec<Stmt>,
    /// The least and the largest value of counters and positions, where they are known.
    pub(crate) ranges: BTreeMap<VariableId, (i64, i64)>,
}

/// Where the elements of an operand are.
#[derive(Clone, Debug)]
pub(crate) enum ElementPlace {
    /// A variable: the only element.
    Variable(VariableId),
    /// Elements of an array, from this position on.
    Elements(ArrayId, ElementIndex),
    /// One element of an array, which stands for all.
    One(ArrayId, ElementIndex),
    /// A number, which stands for all.
    Number(Literal),
}

impl ElementPlace {
    /// The element at a position.
    pub(crate) fn load(&self, at: &ElementIndex) -> Expression {
        match self {
            ElementPlace::Variable(variable) => Expression::Variable(*variable),
            ElementPlace::Elements(array, from) => Expression::Load(*array, from.clone().plus(at)),
            ElementPlace::One(array, from) => Expression::Load(*array, from.clone()),
            ElementPlace::Number(number) => Expression::Literal(*number),
        }
    }

    /// The place as that of one element, which stands for all.
    pub(crate) fn one(&self, at: &ElementIndex) -> ElementPlace {
        match self {
            ElementPlace::Elements(array, from) => ElementPlace::One(*array, from.clone().plus(at)),
            ElementPlace::Variable(_) | ElementPlace::One(..) | ElementPlace::Number(_) => self.clone(),
        }
    }

    /// The place from a position on.
    pub(crate) fn moved(&self, by: &ElementIndex) -> ElementPlace {
        match self {
            ElementPlace::Elements(array, from) => ElementPlace::Elements(*array, from.clone().plus(by)),
            ElementPlace::Variable(_) | ElementPlace::One(..) | ElementPlace::Number(_) => self.clone(),
        }
    }
}

impl Expression {
    /// Calls `f` with each expression in this one, from the outside inwards.
    pub(crate) fn walk(&self, f: &mut dyn FnMut(&Expression)) {
        f(self);
        match self {
            Expression::Literal(_) | Expression::Variable(_) | Expression::Load(..) | Expression::Position(_) => {}
            Expression::AtMost(..) | Expression::Below(..) => {}
            Expression::Op(op, _) => op.by_ref().operands().iter().for_each(|of| of.walk(f)),
            Expression::IsIndex(value, _) => value.walk(f),
            Expression::All(all) => all.iter().for_each(|of| of.walk(f)),
            Expression::If(parts) => parts.iter().for_each(|of| of.walk(f)),
        }
    }

    /// The expression with each of its innermost parts replaced.
    pub(crate) fn map(self, f: &mut dyn FnMut(Expression) -> Expression) -> Expression {
        match self {
            Expression::Op(op, dtype) => {
                let f = std::cell::RefCell::new(f);
                Expression::op(op.map(|of| of.map(&mut **f.borrow_mut())), dtype)
            }
            Expression::IsIndex(value, size) => Expression::IsIndex(Box::new(value.map(f)), size),
            Expression::All(all) => Expression::All(all.into_iter().map(|of| of.map(f)).collect()),
            Expression::If(parts) => Expression::If(Box::new(parts.map(|of| of.map(f)))),
            Expression::Literal(_) | Expression::Variable(_) | Expression::Load(..) | Expression::Position(_) => {
                f(self)
            }
            Expression::AtMost(..) | Expression::Below(..) => f(self),
        }
    }
}

impl Stmt {
    /// Calls `f` with the expression of the statement, if it has one; not those of its blocks.
    pub(crate) fn expr(&self, f: &mut dyn FnMut(&Expression)) {
        match self {
            Stmt::Let(_, value) | Stmt::Var(_, value) | Stmt::Set(_, value) | Stmt::Store(_, _, value) => f(value),
            Stmt::If(condition, ..) => f(condition),
            Stmt::Position(_, PositionExpr::Int(value)) | Stmt::SetPosition(_, PositionExpr::Int(value)) => f(value),
            Stmt::Position(..) | Stmt::SetPosition(..) | Stmt::Comment(_) | Stmt::For { .. } | Stmt::Loop(_) => {}
            Stmt::Break | Stmt::Renamed { .. } | Stmt::Swap(_) => {}
        }
    }

    /// Calls `f` with each index in the statement; not those in its blocks.
    pub(crate) fn indices(&self, f: &mut dyn FnMut(&ElementIndex)) {
        match self {
            Stmt::Store(_, index, _) => f(index),
            Stmt::For { from, to, .. } => [from, to].into_iter().for_each(&mut *f),
            Stmt::Position(_, value) | Stmt::SetPosition(_, value) => match value {
                PositionExpr::Affine(index) | PositionExpr::Quotient(index, _) | PositionExpr::Remainder(index, _) => {
                    f(index);
                }
                PositionExpr::Int(_) => {}
            },
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::If(..) | Stmt::Comment(_) | Stmt::Loop(_) => {}
            Stmt::Break | Stmt::Renamed { .. } | Stmt::Swap(_) => {}
        }
        self.expr(&mut |value| {
            value.walk(&mut |part| match part {
                Expression::Load(_, index) | Expression::Position(index) => f(index),
                Expression::AtMost(a, b) | Expression::Below(a, b) => [a, b].into_iter().for_each(&mut *f),
                Expression::Literal(_)
                | Expression::Variable(_)
                | Expression::Op(..)
                | Expression::IsIndex(..)
                | Expression::All(_)
                | Expression::If(_) => {}
            });
        });
    }

    /// The expression of the statement, if it has one.
    pub(crate) fn expr_mut(&mut self) -> Option<&mut Expression> {
        match self {
            Stmt::Let(_, value) | Stmt::Var(_, value) | Stmt::Set(_, value) | Stmt::Store(_, _, value) => Some(value),
            Stmt::If(condition, ..) => Some(condition),
            Stmt::Position(_, PositionExpr::Int(value)) | Stmt::SetPosition(_, PositionExpr::Int(value)) => Some(value),
            Stmt::Position(..) | Stmt::SetPosition(..) | Stmt::Comment(_) | Stmt::For { .. } | Stmt::Loop(_) => None,
            Stmt::Break | Stmt::Renamed { .. } | Stmt::Swap(_) => None,
        }
    }

    /// The blocks of the statement.
    pub(crate) fn blocks(&self) -> SmallVec<[&Vec<Stmt>; 2]> {
        match self {
            Stmt::For { body, .. } | Stmt::Loop(body) | Stmt::Renamed { body, .. } => SmallVec::from_iter([body]),
            Stmt::If(_, then, otherwise) => SmallVec::from_iter([then, otherwise]),
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Position(..) | Stmt::SetPosition(..) => {
                SmallVec::new()
            }
            Stmt::Store(..) | Stmt::Comment(_) | Stmt::Break | Stmt::Swap(_) => SmallVec::new(),
        }
    }

    /// The blocks of the statement.
    pub(crate) fn blocks_mut(&mut self) -> SmallVec<[&mut Vec<Stmt>; 2]> {
        match self {
            Stmt::For { body, .. } | Stmt::Loop(body) | Stmt::Renamed { body, .. } => SmallVec::from_iter([body]),
            Stmt::If(_, then, otherwise) => SmallVec::from_iter([then, otherwise]),
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Position(..) | Stmt::SetPosition(..) => {
                SmallVec::new()
            }
            Stmt::Store(..) | Stmt::Comment(_) | Stmt::Break | Stmt::Swap(_) => SmallVec::new(),
        }
    }

    /// Calls `f` with this statement and all that are in it.
    pub(crate) fn walk(&self, f: &mut dyn FnMut(&Stmt)) {
        f(self);
        self.blocks().into_iter().flatten().for_each(|stmt| stmt.walk(f));
    }
}

impl EmittedFunction {
    /// The least and the largest value of an index, if they are known.
    pub(crate) fn reach(&self, index: &ElementIndex) -> Option<(i64, i64)> {
        index.reach(&self.ranges)
    }

    /// The bytes of the arrays on the stack.
    pub(crate) fn stack_bytes(&self) -> usize {
        let used = super::simplify::mentioned(&self.body);
        let arrays =
            (0..).zip(&self.arrays).filter(|(id, info)| matches!(info.kind, ArrayKind::Stack) && used.contains(id));
        arrays.map(|(_, info)| info.len.saturating_mul(info.dtype.width())).fold(0, usize::saturating_add)
    }
}
