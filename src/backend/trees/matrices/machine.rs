//! The machine that writes: algorithms on matrices as statements.
//!
//! Laws: an operation is a variable that keeps its value, so a value is that of the moment at which it was asked for. A
//! variable that is used once is then written where it is used, unless what it reads changes before. Loops are written
//! once. An index that data decide is compared with the number of rows before it is used.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, Mul};

use polygrad_math::{Arithmetic, Format};

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, ElementPlace, Expression, Literal, PositionExpr, Stmt, VariableId};
use super::super::writer::Writer;
use super::Range;
use super::inline::inline;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::dtype::DType;
use crate::kernels::matrix::exponential;
use crate::kernels::matrix::machine::{ArrayIndex, MachineCell, MatrixMachine, UniformMachine};
use crate::ops::{Compare, FloatStep, IntBinary, Unary};
use crate::recorded::{
    DefinitionName, KnownNumber, NumberKind, NumberOp, NumberOperand, NumberRecorder, RecordedKind, RecordedNumber,
};

/// The statements that are written, and the indices in them.
pub(super) struct StatementRecorder<'w> {
    w: RefCell<&'w mut Writer>,
    indices: RefCell<Vec<ElementIndex>>,
}

impl<'w> StatementRecorder<'w> {
    pub(super) fn new(w: &'w mut Writer) -> StatementRecorder<'w> {
        StatementRecorder { w: RefCell::new(w), indices: RefCell::default() }
    }

    fn write<X>(&self, f: impl FnOnce(&mut Writer) -> X) -> X {
        f(&mut self.w.borrow_mut())
    }

    fn let_(&self, dtype: DType, value: Expression) -> VariableId {
        self.write(|w| w.let_(dtype, value))
    }

    fn index(&self, index: ElementIndex) -> StatementIndex<'_, 'w> {
        if let Some(known) = index.known() {
            return StatementIndex::Known(known);
        }
        let mut indices = self.indices.borrow_mut();
        indices.push(index);
        StatementIndex::Of(self, indices.len() - 1)
    }
}

fn dtype_of(kind: NumberKind) -> DType {
    match kind {
        NumberKind::F64 => DType::F64,
        NumberKind::F32 => DType::F32,
        NumberKind::Bool => DType::Bool,
        NumberKind::U64 | NumberKind::U32 => unreachable!("algorithms on matrices have no words"),
    }
}

fn expression(operand: NumberOperand) -> Expression {
    match operand {
        NumberOperand::Of(variable) => Expression::Variable(variable),
        NumberOperand::Known(KnownNumber::F64(x)) => Expression::number(DType::F64, x),
        NumberOperand::Known(KnownNumber::F32(x)) => Expression::number(DType::F32, x.into()),
        NumberOperand::Known(KnownNumber::Bool(x)) => Expression::mask(x),
        NumberOperand::Known(KnownNumber::U64(_) | KnownNumber::U32(_)) => {
            unreachable!("algorithms on matrices have no words")
        }
    }
}

/// Whether both conditions hold, or else whether one of them does.
fn and_or(both: bool, [x, y]: [Expression; 2]) -> Expression {
    match (x, y) {
        (Expression::Literal(Literal::Bool(known)), other) | (other, Expression::Literal(Literal::Bool(known))) => {
            if known == both {
                other
            } else {
                Expression::mask(known)
            }
        }
        (x, y) if both => Expression::and(x, y),
        (x, y) => Expression::or(x, y),
    }
}

impl NumberRecorder for StatementRecorder<'_> {
    fn op(&self, op: NumberOp, kind: NumberKind, x: &[NumberOperand]) -> u32 {
        let (dtype, mut x) = (dtype_of(kind), x.iter().map(|x| expression(*x)));
        let mut next = || x.next().expect("an operation has its operands");
        let mut compare = |op: Compare| (DType::Bool, Expression::compare(op, next(), next()));
        let (result, value) = match op {
            NumberOp::Less => compare(Compare::Lt),
            NumberOp::AtMost => compare(Compare::Le),
            NumberOp::Greater => compare(Compare::Gt),
            NumberOp::AtLeast => compare(Compare::Ge),
            NumberOp::Equal => compare(Compare::Eq),
            NumberOp::NotEqual => compare(Compare::Ne),
            NumberOp::Add => (dtype, Expression::sum(dtype, next(), next())),
            NumberOp::Sub => (dtype, Expression::minus(dtype, next(), next())),
            NumberOp::Mul => (dtype, Expression::product(dtype, next(), next())),
            NumberOp::Div => (dtype, Expression::over(dtype, next(), next())),
            NumberOp::And => (dtype, and_or(true, [next(), next()])),
            NumberOp::Or => (dtype, and_or(false, [next(), next()])),
            NumberOp::Not => (dtype, Expression::not(next())),
            NumberOp::Neg => (dtype, Expression::unary(dtype, Unary::Neg, next())),
            NumberOp::Abs => (dtype, Expression::abs(dtype, next())),
            NumberOp::Sqrt => (dtype, Expression::unary(dtype, Unary::Sqrt, next())),
            NumberOp::Wide => (DType::F64, Expression::convert(DType::F32, DType::F64, next())),
            NumberOp::Narrow => (DType::F32, Expression::convert(DType::F64, DType::F32, next())),
            NumberOp::Select => (dtype, Expression::either(next(), next(), next())),
            NumberOp::Xor | NumberOp::Shl(_) | NumberOp::Shr(_) | NumberOp::Bits | NumberOp::OfBits => {
                unreachable!("algorithms on matrices have no words")
            }
            NumberOp::Copysign | NumberOp::Floor | NumberOp::Ceil | NumberOp::Round | NumberOp::Library(_) => {
                unreachable!("algorithms on matrices have no {op:?}")
            }
            NumberOp::MultiplyAdd(_) | NumberOp::ProductError => unreachable!("operations are rounded once each"),
        };
        self.let_(result, value)
    }

    fn call(&self, _: DefinitionName, _: &[NumberOperand], _: &dyn Fn(&[u32]) -> NumberOperand) -> Option<u32> {
        None
    }

    fn begin(&self, _: u32, _: bool) {
        unreachable!("control is that of the machine")
    }

    fn end(&self, _: NumberOperand) -> u32 {
        unreachable!("control is that of the machine")
    }

    fn join(&self, _: u32, _: NumberKind, _: [u32; 2]) -> u32 {
        unreachable!("control is that of the machine")
    }

    fn repeat(
        &self,
        _: NumberKind,
        _: &[NumberOperand],
        _: &dyn Fn(&[u32]) -> NumberOperand,
        _: &dyn Fn(&[u32]) -> Vec<NumberOperand>,
    ) -> Vec<u32> {
        unreachable!("control is that of the machine")
    }
}

/// An index: known, or the number of one in a list.
#[derive(Clone, Copy)]
pub(super) enum StatementIndex<'t, 'w> {
    Known(i64),
    Of(&'t StatementRecorder<'w>, usize),
}

impl StatementIndex<'_, '_> {
    pub(super) fn element(self) -> ElementIndex {
        match self {
            StatementIndex::Known(x) => ElementIndex::constant(x),
            StatementIndex::Of(of, k) => of.indices.borrow()[k].clone(),
        }
    }
}

impl From<usize> for StatementIndex<'_, '_> {
    fn from(x: usize) -> Self {
        StatementIndex::Known(x as i64)
    }
}

impl Add<usize> for StatementIndex<'_, '_> {
    type Output = Self;
    fn add(self, by: usize) -> Self {
        self.plus(by.into())
    }
}

impl Mul<usize> for StatementIndex<'_, '_> {
    type Output = Self;
    fn mul(self, by: usize) -> Self {
        match self {
            StatementIndex::Known(x) => StatementIndex::Known(x * by as i64),
            StatementIndex::Of(of, _) => of.index(self.element().times(by as i64)),
        }
    }
}

impl ArrayIndex for StatementIndex<'_, '_> {
    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (StatementIndex::Known(x), StatementIndex::Known(y)) => StatementIndex::Known(x + y),
            (StatementIndex::Of(of, _), _) | (_, StatementIndex::Of(of, _)) => {
                of.index(self.element().plus(&other.element()))
            }
        }
    }
}

/// An integer: known, or a variable.
#[derive(Clone, Copy)]
pub(super) enum StatementInt {
    Known(i64),
    Of(VariableId),
}

impl StatementInt {
    fn expression(self) -> Expression {
        match self {
            StatementInt::Known(x) => Expression::int_number(x),
            StatementInt::Of(variable) => Expression::Variable(variable),
        }
    }
}

/// A variable that changes.
pub(super) struct StatementCell<'t, 'w, X> {
    of: &'t StatementRecorder<'w>,
    dtype: DType,
    variable: VariableId,
    marker: PhantomData<X>,
}

impl<X> StatementCell<'_, '_, X> {
    fn now(&self) -> VariableId {
        self.of.let_(self.dtype, Expression::Variable(self.variable))
    }

    fn become_(&self, x: Expression) {
        self.of.write(|w| w.set(self.variable, x));
    }
}

impl<'t, T: RecordedKind> MachineCell<RecordedNumber<'t, T>> for StatementCell<'t, '_, T> {
    fn get(&self) -> RecordedNumber<'t, T> {
        RecordedNumber::Of(self.of, self.now())
    }
    fn set(&mut self, x: RecordedNumber<'t, T>) {
        self.become_(expression(x.operand()));
    }
}

impl MachineCell<StatementInt> for StatementCell<'_, '_, i64> {
    fn get(&self) -> StatementInt {
        StatementInt::Of(self.now())
    }
    fn set(&mut self, x: StatementInt) {
        self.become_(x.expression());
    }
}

/// A loop that is to be written, or is open with its counter, or done.
pub(super) struct StatementLoop<'t, 'w> {
    of: &'t StatementRecorder<'w>,
    bounds: Option<[ElementIndex; 2]>,
    open: Option<VariableId>,
    backwards: bool,
    /// Whether the body may leave the loop.
    left: bool,
}

impl<'t, 'w> Iterator for StatementLoop<'t, 'w> {
    type Item = StatementIndex<'t, 'w>;

    fn next(&mut self) -> Option<StatementIndex<'t, 'w>> {
        let [from, to] = self.bounds.take()?;
        if let Some(counter) = self.open {
            self.of.write(|w| w.end_for(counter, (from, to), false));
            return None;
        }
        let steps = from.known().zip(to.known()).map(|(from, to)| to - from);
        if steps.is_some_and(|steps| steps <= 0) {
            return None;
        }
        if steps == Some(1) && !self.left {
            return Some(self.of.index(from));
        }
        let counter = self.of.write(|w| w.begin_for(&from, &to));
        self.open = Some(counter);
        let index = ElementIndex::of(counter);
        // Backwards by a counter that counts up, whose range compilers see.
        let index = match self.backwards {
            true => from.clone().plus(&to).plus_constant(-1).plus(&index.times(-1)),
            false => index,
        };
        self.bounds = Some([from, to]);
        Some(self.of.index(index))
    }
}

/// The loop over the members of a set: it is to be written, or open, or done.
pub(super) struct StatementMembers<'t, 'w> {
    of: &'t StatementRecorder<'w>,
    n: usize,
    /// The set.
    closed: Option<ElementIndex>,
    /// The counter, the position that is two to its power, and the conditions of a member.
    open: Option<(VariableId, VariableId, Vec<Expression>)>,
}

impl<'t, 'w> Iterator for StatementMembers<'t, 'w> {
    type Item = [StatementIndex<'t, 'w>; 2];

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(set) = self.closed.take() {
            let (counter, smaller) = self.of.write(|w| {
                let ((bits, rest), (power_of, power)) = (w.moving(set.clone()), w.moving(at(1)));
                let counter = w.begin_for(&start(), &at(self.n));
                let bit = ElementIndex::of(w.position(PositionExpr::Remainder(rest.clone(), 2)));
                w.set_position(bits, PositionExpr::Quotient(rest, 2));
                let smaller = set.plus(&power.times(-1));
                let within = Expression::Below(smaller.clone(), at(1 << self.n));
                self.open = Some((counter, power_of, vec![Expression::Below(start(), bit), within]));
                w.open();
                (counter, smaller)
            });
            return Some([self.of.index(ElementIndex::of(counter)), self.of.index(smaller)]);
        }
        let (counter, power_of, conditions) = self.open.take()?;
        self.of.write(|w| {
            let body = w.close();
            w.if_all(conditions, |w| body.into_iter().for_each(|stmt| w.push(stmt)));
            w.move_to(power_of, ElementIndex::of(power_of).times(2));
            w.end_for(counter, (start(), at(self.n)), false);
        });
        None
    }
}

/// Statements under a condition: they are to be written, or open, or done.
pub(super) struct StatementBlock<'t, 'w, X> {
    of: &'t StatementRecorder<'w>,
    /// What the body gets.
    gives: Option<X>,
    conditions: Vec<Expression>,
    open: bool,
    /// Whether it is a loop.
    repeats: bool,
}

impl<X> Iterator for StatementBlock<'_, '_, X> {
    type Item = X;

    fn next(&mut self) -> Option<X> {
        if let Some(gives) = self.gives.take() {
            return Some(gives);
        }
        if std::mem::take(&mut self.open) {
            let (conditions, repeats) = (std::mem::take(&mut self.conditions), self.repeats);
            self.of.write(|w| {
                let body = w.close();
                if repeats {
                    return w.push(Stmt::Loop(body));
                }
                w.if_all(conditions, |w| body.into_iter().for_each(|stmt| w.push(stmt)));
            });
        }
        None
    }
}

const fn is_single<T>() -> bool {
    size_of::<T>() == size_of::<f32>()
}

/// The machine that writes statements for matrices of one element type.
pub(super) struct StatementMachine<'t, 'w, T> {
    of: &'t StatementRecorder<'w>,
    marker: PhantomData<T>,
}

impl<T> Clone for StatementMachine<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for StatementMachine<'_, '_, T> {}

impl<'t, 'w, T: RecordedKind + Format<Word: RecordedKind>> StatementMachine<'t, 'w, T> {
    pub(super) fn new(of: &'t StatementRecorder<'w>) -> Self {
        StatementMachine { of, marker: PhantomData }
    }

    /// Writes statements directly.
    pub(super) fn write<X>(self, f: impl FnOnce(&mut Writer) -> X) -> X {
        self.of.write(f)
    }

    fn dtype() -> DType {
        dtype_of(T::KIND)
    }

    fn cell<X>(self, dtype: DType, x: Expression) -> StatementCell<'t, 'w, X> {
        StatementCell { of: self.of, dtype, variable: self.write(|w| w.var(dtype, x)), marker: PhantomData }
    }

    fn loop_over(self, [from, to]: [StatementIndex<'t, 'w>; 2], backwards: bool, left: bool) -> StatementLoop<'t, 'w> {
        StatementLoop { of: self.of, bounds: Some([from.element(), to.element()]), open: None, backwards, left }
    }

    fn int_op(
        self,
        [x, y]: [StatementInt; 2],
        known: impl Fn(i64, i64) -> i64,
        op: impl Fn(Expression, Expression) -> Expression,
    ) -> StatementInt {
        if let (StatementInt::Known(x), StatementInt::Known(y)) = (x, y) {
            return StatementInt::Known(known(x, y));
        }
        StatementInt::Of(self.of.let_(DType::I64, op(x.expression(), y.expression())))
    }

    fn compare(self, op: Compare, [x, y]: [StatementInt; 2]) -> RecordedNumber<'t, bool> {
        let value = Expression::compare(op, x.expression(), y.expression());
        RecordedNumber::Of(self.of, self.of.let_(DType::Bool, value))
    }

    /// The power of two with an exponent.
    fn power(power: i32) -> RecordedNumber<'t, T> {
        RecordedNumber::Known(T::literal(2f64.powi(power)))
    }

    /// A number times two to the power `up`, as often as an integer says, or times the inverse for negative ones.
    fn times_powers(self, x: RecordedNumber<'t, T>, times: StatementInt, up: i32) -> RecordedNumber<'t, T> {
        if let StatementInt::Known(0) = times {
            return x;
        }
        let (mut x, mut left, none) = (self.real_cell(x), self.int_cell(times), StatementInt::Known(0));
        for _ in self.forever() {
            self.leaves(self.same(left.get(), none));
            let is_up = self.before(none, left.get());
            x.set(x.get() * RecordedNumber::select(is_up, Self::power(up), Self::power(-up)));
            let by = self.select_int(is_up, StatementInt::Known(1), StatementInt::Known(-1));
            left.set(self.subtract(left.get(), by));
        }
        x.get()
    }

    fn unary(self, op: Unary, x: RecordedNumber<'t, T>) -> RecordedNumber<'t, T> {
        let value = Expression::unary(Self::dtype(), op, expression(x.operand()));
        RecordedNumber::Of(self.of, self.of.let_(Self::dtype(), value))
    }
}

impl<'t, 'w, T: RecordedKind + Format<Word: RecordedKind>> MatrixMachine for StatementMachine<'t, 'w, T> {
    type Mask = RecordedNumber<'t, bool>;
    type Real = RecordedNumber<'t, T>;
    type Int = StatementInt;
    type Index = StatementIndex<'t, 'w>;
    type Reals = ElementPlace;
    type Ints = ElementPlace;
    type OwnReals = ElementPlace;
    type OwnInts = ElementPlace;
    type RealCell = StatementCell<'t, 'w, T>;
    type MaskCell = StatementCell<'t, 'w, bool>;
    type IntCell = StatementCell<'t, 'w, i64>;
    type Loop = StatementLoop<'t, 'w>;
    type Backwards = StatementLoop<'t, 'w>;
    type Wherever = StatementBlock<'t, 'w, RecordedNumber<'t, bool>>;

    const EPSILON: f64 = if is_single::<T>() { f32::EPSILON as f64 } else { f64::EPSILON };
    const LEAST: f64 = if is_single::<T>() { f32::MIN_POSITIVE as f64 } else { f64::MIN_POSITIVE };
    const UNIT: f64 = if is_single::<T>() { 16.0 } else { 100.0 };

    fn reals(self, len: usize) -> ElementPlace {
        self.write(|w| w.scratch(Self::dtype(), len))
    }
    fn ints(self, len: usize) -> ElementPlace {
        self.write(|w| w.scratch(DType::I64, len))
    }
    fn load(self, a: &ElementPlace, at: StatementIndex<'t, 'w>) -> RecordedNumber<'t, T> {
        RecordedNumber::Of(self.of, self.of.let_(Self::dtype(), a.load(&at.element())))
    }
    fn store(self, a: &mut ElementPlace, at: StatementIndex<'t, 'w>, x: RecordedNumber<'t, T>) {
        self.write(|w| w.store(a, &at.element(), expression(x.operand())));
    }
    fn load_int(self, a: &ElementPlace, at: StatementIndex<'t, 'w>) -> StatementInt {
        StatementInt::Of(self.of.let_(DType::I64, a.load(&at.element())))
    }
    fn store_int(self, a: &mut ElementPlace, at: StatementIndex<'t, 'w>, x: StatementInt) {
        self.write(|w| w.store(a, &at.element(), x.expression()));
    }
    fn real_cell(self, x: RecordedNumber<'t, T>) -> StatementCell<'t, 'w, T> {
        self.cell(Self::dtype(), expression(x.operand()))
    }
    fn mask_cell(self, x: RecordedNumber<'t, bool>) -> StatementCell<'t, 'w, bool> {
        self.cell(DType::Bool, expression(x.operand()))
    }
    fn int_cell(self, x: StatementInt) -> StatementCell<'t, 'w, i64> {
        self.cell(DType::I64, x.expression())
    }
    fn mask(self, x: bool) -> RecordedNumber<'t, bool> {
        RecordedNumber::Known(x)
    }
    fn int(self, x: StatementIndex<'t, 'w>) -> StatementInt {
        match x {
            StatementIndex::Known(x) => StatementInt::Known(x),
            StatementIndex::Of(..) => StatementInt::Of(self.of.let_(DType::I64, Expression::Position(x.element()))),
        }
    }
    fn add(self, x: StatementInt, y: StatementInt) -> StatementInt {
        self.int_op([x, y], |x, y| x + y, |x, y| Expression::sum(DType::I64, x, y))
    }
    fn subtract(self, x: StatementInt, y: StatementInt) -> StatementInt {
        self.int_op([x, y], |x, y| x - y, |x, y| Expression::int(IntBinary::Sub, x, y))
    }
    fn same(self, x: StatementInt, y: StatementInt) -> RecordedNumber<'t, bool> {
        self.compare(Compare::Eq, [x, y])
    }
    fn before(self, x: StatementInt, y: StatementInt) -> RecordedNumber<'t, bool> {
        self.compare(Compare::Lt, [x, y])
    }
    fn select_int(self, mask: RecordedNumber<'t, bool>, x: StatementInt, y: StatementInt) -> StatementInt {
        match mask {
            RecordedNumber::Known(true) => x,
            RecordedNumber::Known(false) => y,
            RecordedNumber::Of(_, mask) => {
                let value = Expression::either(Expression::Variable(mask), x.expression(), y.expression());
                StatementInt::Of(self.of.let_(DType::I64, value))
            }
        }
    }
    fn ln(self, x: RecordedNumber<'t, T>) -> RecordedNumber<'t, T> {
        self.unary(Unary::Ln, x)
    }
    fn exponent(self, x: RecordedNumber<'t, T>) -> StatementInt {
        let (mut x, mut size) = (self.real_cell(x), self.int_cell(StatementInt::Known(0)));
        let Range { low, high, up } = Range::of_powers(Self::dtype());
        let [zero, infinity] = [0.0, f64::INFINITY].map(RecordedNumber::literal);
        for _ in self.forever() {
            let most = x.get().magnitude();
            let is_large = most.at_least(Self::power(high)) & !most.equals(infinity);
            let is_small = most.below(Self::power(low)) & !most.equals(zero);
            self.leaves(!(is_large | is_small));
            x.set(x.get() * RecordedNumber::select(is_large, Self::power(-up), Self::power(up)));
            let by = self.select_int(is_large, StatementInt::Known(1), StatementInt::Known(-1));
            size.set(self.add(size.get(), by));
        }
        size.get()
    }
    fn scaled(self, x: RecordedNumber<'t, T>, power: StatementInt) -> RecordedNumber<'t, T> {
        self.times_powers(x, power, Range::of_powers(Self::dtype()).up)
    }
    fn real(self, x: StatementInt) -> RecordedNumber<'t, T> {
        let value = Expression::convert(DType::I64, Self::dtype(), x.expression());
        RecordedNumber::Of(self.of, self.of.let_(Self::dtype(), value))
    }
    fn range(
        self,
        from: impl Into<StatementIndex<'t, 'w>>,
        to: impl Into<StatementIndex<'t, 'w>>,
    ) -> StatementLoop<'t, 'w> {
        self.loop_over([from.into(), to.into()], false, false)
    }
    fn backwards(
        self,
        from: impl Into<StatementIndex<'t, 'w>>,
        to: impl Into<StatementIndex<'t, 'w>>,
    ) -> StatementLoop<'t, 'w> {
        self.loop_over([from.into(), to.into()], true, false)
    }
    fn remainder(self, x: StatementIndex<'t, 'w>, by: usize) -> StatementIndex<'t, 'w> {
        match x {
            StatementIndex::Known(x) => StatementIndex::Known(x % by as i64),
            StatementIndex::Of(..) => {
                let position = self.write(|w| w.position(PositionExpr::Remainder(x.element(), by)));
                self.of.index(ElementIndex::of(position))
            }
        }
    }
    fn wherever(self, mask: RecordedNumber<'t, bool>) -> Self::Wherever {
        let (gives, conditions) = match mask {
            RecordedNumber::Known(x) => (x.then_some(RecordedNumber::Known(true)), Vec::new()),
            RecordedNumber::Of(_, mask) => (Some(RecordedNumber::Known(true)), vec![Expression::Variable(mask)]),
        };
        let open = !conditions.is_empty();
        if open {
            self.write(Writer::open);
        }
        StatementBlock { of: self.of, gives, conditions, open, repeats: false }
    }
}

impl<'t, 'w, T: RecordedKind + Format<Word: RecordedKind>> UniformMachine for StatementMachine<'t, 'w, T> {
    type Trips = StatementLoop<'t, 'w>;
    type Forever = StatementBlock<'t, 'w, ()>;
    type Position = StatementBlock<'t, 'w, StatementIndex<'t, 'w>>;
    type Members = StatementMembers<'t, 'w>;

    // One degree is little code.
    const APPROXIMANTS: &'static [(usize, f64)] =
        if is_single::<T>() { exponential::SINGLE.last_chunk::<1>() } else { exponential::DOUBLE.last_chunk::<1>() }
            .unwrap()
            .as_slice();

    fn trips(self, most: usize) -> StatementLoop<'t, 'w> {
        self.loop_over([0.into(), most.into()], false, true)
    }
    fn forever(self) -> StatementBlock<'t, 'w, ()> {
        self.write(Writer::open);
        StatementBlock { of: self.of, gives: Some(()), conditions: Vec::new(), open: true, repeats: true }
    }
    fn exp(self, x: RecordedNumber<'t, T>) -> RecordedNumber<'t, T> {
        self.unary(Unary::Exp, x)
    }
    fn ceil(self, x: RecordedNumber<'t, T>) -> StatementInt {
        let value = Expression::op(ElementwiseOp::FloatStep(FloatStep::Ceil, expression(x.operand())), Self::dtype());
        StatementInt::Of(self.of.let_(DType::I64, Expression::convert(Self::dtype(), DType::I64, value)))
    }
    fn two_to(self, power: StatementInt) -> RecordedNumber<'t, T> {
        self.times_powers(RecordedNumber::literal(1.0), power, 1)
    }
    fn leaves(self, mask: RecordedNumber<'t, bool>) -> bool {
        self.write(|w| w.break_if(expression(mask.operand())));
        false
    }
    fn members(self, set: StatementIndex<'t, 'w>, n: usize) -> Self::Members {
        StatementMembers { of: self.of, n, closed: Some(set.element()), open: None }
    }
    fn position(self, x: StatementInt, n: usize) -> Self::Position {
        let variable = match x {
            StatementInt::Of(variable) => variable,
            StatementInt::Known(x) => {
                let gives = Some(StatementIndex::Known(x));
                return StatementBlock { of: self.of, gives, conditions: Vec::new(), open: false, repeats: false };
            }
        };
        let x = Expression::Variable(variable);
        let conditions = vec![
            Expression::compare(Compare::Ge, x.clone(), Expression::int_number(0)),
            Expression::compare(Compare::Lt, x.clone(), Expression::int_number(n as i64)),
        ];
        self.write(Writer::open);
        let position = self.write(|w| w.position(PositionExpr::Int(x)));
        StatementBlock {
            of: self.of,
            gives: Some(self.of.index(ElementIndex::of(position))),
            conditions,
            open: true,
            repeats: false,
        }
    }
}

/// Writes statements of a machine.
pub(super) fn statements(w: &mut Writer, f: impl FnOnce(&mut Writer)) {
    let mut body = w.block(f);
    inline(&mut body);
    body.into_iter().for_each(|stmt| w.push(stmt));
}

/// Writes an algorithm, which is generic in the machine, for matrices of an element type.
macro_rules! write_algorithm {
    ($w:expr, $dtype:expr, |$m:ident| $body:expr) => {
        $crate::backend::trees::matrices::machine::statements($w, |w| {
            let recorder = $crate::backend::trees::matrices::machine::StatementRecorder::new(w);
            if $dtype == $crate::dtype::DType::F32 {
                let $m = $crate::backend::trees::matrices::machine::StatementMachine::<f32>::new(&recorder);
                $body
            } else {
                let $m = $crate::backend::trees::matrices::machine::StatementMachine::<f64>::new(&recorder);
                $body
            }
        })
    };
}
pub(super) use write_algorithm;
