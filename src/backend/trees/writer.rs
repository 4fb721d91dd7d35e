//! A function that is being written: trees, statement by statement.
//!
//! Law: a statement goes to the innermost open block. What is known of counters and positions comes from the bounds of
//! their loops, and conditions that they decide are left out.

use super::tree::{
    ArrayId, ArrayInfo, ArrayKind, ElementIndex, ElementPlace, EmittedFunction, Expression, PositionExpr, Stmt,
    Variable, VariableId,
};
use crate::dtype::DType;

/// A function that is being written: statements are added to the innermost open block.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) function: EmittedFunction,
    blocks: Vec<Vec<Stmt>>,
    /// The number of loops around the open block.
    depth: usize,
}

impl Writer {
    pub(crate) fn new() -> Writer {
        Writer { function: EmittedFunction::default(), blocks: vec![Vec::new()], depth: 0 }
    }

    /// The function with its statements.
    pub(crate) fn finish(mut self) -> EmittedFunction {
        self.function.body = self.blocks.pop().unwrap_or_default();
        self.function
    }

    fn variable(&mut self, variable: Variable) -> VariableId {
        self.function.variables.push(variable);
        (self.function.variables.len() - 1) as VariableId
    }

    pub(crate) fn array(&mut self, dtype: DType, len: usize, kind: ArrayKind) -> ArrayId {
        self.function.arrays.push(ArrayInfo { dtype, len, kind, number: false });
        (self.function.arrays.len() - 1) as ArrayId
    }

    /// A new array in memory that holds no value before or after the statements that use it.
    pub(crate) fn scratch(&mut self, dtype: DType, len: usize) -> ElementPlace {
        ElementPlace::Elements(self.array(dtype, len, ArrayKind::Scratch), ElementIndex::default())
    }

    pub(crate) fn push(&mut self, stmt: Stmt) {
        self.blocks.last_mut().expect("a block is open").push(stmt);
    }

    /// Opens a block: later statements are added to it.
    pub(crate) fn open(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Closes the innermost open block, and returns its statements.
    pub(crate) fn close(&mut self) -> Vec<Stmt> {
        self.blocks.pop().unwrap_or_default()
    }

    /// Opens the body of a loop; returns its counter.
    pub(crate) fn open_loop(&mut self) -> VariableId {
        let counter = self.variable(Variable::Counter(self.depth));
        self.depth += 1;
        self.open();
        counter
    }

    /// Closes the body of a loop.
    pub(crate) fn close_loop(&mut self) -> Vec<Stmt> {
        self.depth -= 1;
        self.close()
    }

    /// The statements that `f` adds.
    pub(crate) fn block(&mut self, f: impl FnOnce(&mut Writer)) -> Vec<Stmt> {
        self.blocks.push(Vec::new());
        f(self);
        self.blocks.pop().unwrap_or_default()
    }

    /// A variable with the value of an expression.
    pub(crate) fn let_(&mut self, dtype: DType, value: Expression) -> VariableId {
        let variable = self.variable(Variable::Value(dtype));
        self.push(Stmt::Let(variable, value));
        variable
    }

    /// A name for a value that is used more than once: the expression itself, if it is a name or a number.
    pub(crate) fn named(&mut self, dtype: DType, value: Expression) -> Expression {
        let is_name = matches!(value, Expression::Literal(_) | Expression::Variable(_));
        if is_name { value } else { Expression::Variable(self.let_(dtype, value)) }
    }

    /// A variable that changes.
    pub(crate) fn var(&mut self, dtype: DType, value: Expression) -> VariableId {
        let variable = self.variable(Variable::Value(dtype));
        self.push(Stmt::Var(variable, value));
        variable
    }

    pub(crate) fn set(&mut self, variable: VariableId, value: Expression) {
        self.push(Stmt::Set(variable, value));
    }

    /// The least and the largest value of an index, if they are known.
    fn reach(&self, index: &ElementIndex) -> Option<(i64, i64)> {
        self.function.reach(index)
    }

    /// The condition `lo <= index < hi`: the parts that are not known to hold; `None` if one is known not to hold.
    pub(crate) fn within(&self, index: &ElementIndex, (lo, hi): (i64, i64)) -> Option<Vec<Expression>> {
        let (least, most) = self.reach(index).unwrap_or((i64::MIN, i64::MAX));
        if most < lo || least >= hi {
            return None;
        }
        let mut conditions = Vec::new();
        if least < lo {
            conditions.push(Expression::AtMost(ElementIndex::constant(lo), index.clone()));
        }
        if most >= hi {
            conditions.push(Expression::Below(index.clone(), ElementIndex::constant(hi)));
        }
        Some(conditions)
    }

    /// A position that is computed.
    pub(crate) fn position(&mut self, value: PositionExpr) -> VariableId {
        let variable = self.variable(Variable::Position);
        let range = match &value {
            PositionExpr::Remainder(_, by) => Some((0, *by as i64 - 1)),
            PositionExpr::Quotient(index, by) => {
                self.reach(index).map(|(lo, hi)| (lo.div_euclid(*by as i64), hi.div_euclid(*by as i64)))
            }
            PositionExpr::Affine(_) | PositionExpr::Int(_) => None,
        };
        self.function.ranges.extend(range.map(|range| (variable, range)));
        self.push(Stmt::Position(variable, value));
        variable
    }

    pub(crate) fn set_position(&mut self, variable: VariableId, value: PositionExpr) {
        self.push(Stmt::SetPosition(variable, value));
    }

    /// Writes an element.
    pub(crate) fn store(&mut self, place: &ElementPlace, at: &ElementIndex, value: Expression) {
        match place {
            ElementPlace::Variable(variable) => self.set(*variable, value),
            ElementPlace::Elements(array, from) => {
                let at = from.clone().plus(at);
                self.push(Stmt::Store(*array, at, value));
            }
            ElementPlace::One(..) | ElementPlace::Number(_) => {
                unreachable!("an element that stands for all is only read")
            }
        }
    }

    /// A loop over `from..to`; its body gets the counter. A loop of one step is its body, and one of none is nothing.
    pub(crate) fn for_range(
        &mut self,
        (from, to): (ElementIndex, ElementIndex),
        down: bool,
        f: impl FnOnce(&mut Writer, &ElementIndex),
    ) {
        let steps = from.known().zip(to.known()).map(|(from, to)| to - from);
        if steps.is_some_and(|steps| steps <= 0) {
            return;
        }
        let counter = (steps != Some(1)).then(|| self.begin_for(&from, &to));
        f(self, &counter.map_or_else(|| from.clone(), ElementIndex::of));
        if let Some(counter) = counter {
            self.end_for(counter, (from, to), down);
        }
    }

    /// A loop over `from..to`, even of one step or none: its body may leave it.
    pub(crate) fn for_loop(
        &mut self,
        (from, to): (ElementIndex, ElementIndex),
        down: bool,
        f: impl FnOnce(&mut Writer, &ElementIndex),
    ) {
        let counter = self.begin_for(&from, &to);
        f(self, &ElementIndex::of(counter));
        self.end_for(counter, (from, to), down);
    }

    /// Begins the body of a loop over `from..to`; its counter.
    pub(crate) fn begin_for(&mut self, from: &ElementIndex, to: &ElementIndex) -> VariableId {
        let counter = self.open_loop();
        if let (Some((least, _)), Some((_, most))) = (self.reach(from), self.reach(to)) {
            self.function.ranges.insert(counter, (least, most - 1));
        }
        counter
    }

    /// Ends the body of a loop, and writes the loop if something is in it.
    pub(crate) fn end_for(&mut self, counter: VariableId, (from, to): (ElementIndex, ElementIndex), down: bool) {
        let body = self.close_loop();
        if !body.is_empty() {
            self.push(Stmt::For { counter, from, to, down, body });
        }
    }

    /// A loop of `n` steps.
    pub(crate) fn for_(&mut self, n: usize, f: impl FnOnce(&mut Writer, &ElementIndex)) {
        self.for_range((ElementIndex::default(), ElementIndex::constant(n as i64)), false, f);
    }

    /// Loops over a box, outermost first.
    pub(crate) fn for_box(&mut self, lens: &[usize], f: &mut dyn FnMut(&mut Writer, &[ElementIndex])) {
        let mut indices = Vec::with_capacity(lens.len());
        self.for_rest(lens, &mut indices, f);
    }

    fn for_rest(
        &mut self,
        lens: &[usize],
        indices: &mut Vec<ElementIndex>,
        f: &mut dyn FnMut(&mut Writer, &[ElementIndex]),
    ) {
        let Some((n, rest)) = lens.split_first() else { return f(self, indices) };
        self.for_(*n, |w, i| {
            indices.push(i.clone());
            w.for_rest(rest, indices, f);
            indices.pop();
        });
    }

    /// Statements that run if a condition holds.
    pub(crate) fn if_(&mut self, condition: Expression, f: impl FnOnce(&mut Writer)) {
        let then = self.block(f);
        self.push_if(condition, then);
    }

    fn push_if(&mut self, condition: Expression, then: Vec<Stmt>) {
        if !then.is_empty() {
            self.push(Stmt::If(condition, then, Vec::new()));
        }
    }

    /// Statements that run if all conditions hold.
    pub(crate) fn if_all(&mut self, mut conditions: Vec<Expression>, f: impl FnOnce(&mut Writer)) {
        let condition = match conditions.len() {
            0 => None,
            1 => Some(conditions.remove(0)),
            _ => Some(Expression::All(conditions)),
        };
        self.blocks.extend(condition.is_some().then(Vec::new));
        f(self);
        if let Some(condition) = condition {
            let then = self.blocks.pop().unwrap_or_default();
            self.push_if(condition, then);
        }
    }
}

/// The writers of source code meet what `check` lets pass alone.
#[cold]
pub(crate) fn refused_before() -> ! {
    unreachable!("what cannot be written is refused before")
}
