//! Statements of one form as operations on vectors of 128 bits: superword-level parallelism.
//!
//! ```text
//! let a = exp(x[0]); let b = exp(x[1]); ..  -run-> the same form, side by side  -pays-> one pack, of 2, 4 or 8 lanes
//! ```
//!
//! A run is a list of neighbouring statements with one form, whose targets are neighbours. Its packs are chosen one
//! after another by an estimate of instructions: operands in other places are gathered, lane by lane. (Larsen
//! and Amarasinghe, "Exploiting superword level parallelism with multimedia instruction sets", PLDI 2000, build packs
//! by the same two ideas: neighbours in memory, and the operands of packs.)
//!
//! Law: the lanes of a pack are independent of one another, and each has the bits of its statement.

use cranelift_codegen::ir::{Type, types};
use smallvec::SmallVec;

use super::arithmetic::{is_inline, is_inline_of_two};
use super::places::Place;
use super::translate::Translator;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::trees::tree::{ArrayId, ElementIndex, Expression, Literal, Stmt, VariableId};
use crate::dtype::DType;
use crate::ops::{Binary, FloatStep, Property};

/// The lanes of packs, the most first.
const WIDTHS: [usize; 3] = [8, 4, 2];

/// The elements of a vector. A mask has the lanes of the floats that were compared, all ones or all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneKind {
    F64,
    F32,
    Mask64,
    Mask32,
}

impl LaneKind {
    /// The number of elements.
    pub(super) fn count(self) -> usize {
        match self {
            LaneKind::F64 | LaneKind::Mask64 => 2,
            LaneKind::F32 | LaneKind::Mask32 => 4,
        }
    }

    pub(super) fn vector(self) -> Type {
        match self {
            LaneKind::F64 => types::F64X2,
            LaneKind::F32 => types::F32X4,
            LaneKind::Mask64 => types::I64X2,
            LaneKind::Mask32 => types::I32X4,
        }
    }

    /// The type of one lane.
    pub(super) fn lane(self) -> Type {
        self.vector().lane_type()
    }

    pub(super) fn of(dtype: DType) -> Option<LaneKind> {
        match dtype {
            DType::F64 => Some(LaneKind::F64),
            DType::F32 => Some(LaneKind::F32),
            DType::I64 | DType::Bool => None,
        }
    }

    /// The mask of comparisons of these floats.
    pub(super) fn mask(self) -> LaneKind {
        match self {
            LaneKind::F64 | LaneKind::Mask64 => LaneKind::Mask64,
            LaneKind::F32 | LaneKind::Mask32 => LaneKind::Mask32,
        }
    }

    pub(super) fn is_mask(self) -> bool {
        matches!(self, LaneKind::Mask64 | LaneKind::Mask32)
    }
}

/// The lanes of an operand, with what these are elements of.
type Operand<'e> = (Vec<&'e Expression>, LaneKind);

/// How the lanes of a vector are computed.
pub(super) enum PackForm<'e> {
    /// One value in all lanes.
    Same,
    Constants,
    /// Vectors that are in variables.
    Variables(Vec<cranelift_frontend::Variable>),
    /// Neighbours in an array, from this position on.
    Neighbours(ArrayId, &'e ElementIndex),
    /// One operation, on vectors with these elements.
    Operation(Vec<Operand<'e>>),
    /// Each lane by itself.
    Gathered,
}

/// The number of statements, from the first on, that have its form, and whose targets follow one another.
pub(super) fn run(body: &[Stmt]) -> usize {
    let mut len = 1;
    while len < body.len() && follows(&body[..len], &body[len]) {
        len += 1;
    }
    len
}

fn follows(run: &[Stmt], next: &Stmt) -> bool {
    let (first, last) = (&run[0], &run[run.len() - 1]);
    match (first, last, next) {
        (Stmt::Let(from, a), Stmt::Let(before, _), Stmt::Let(to, b))
        | (Stmt::Var(from, a), Stmt::Var(before, _), Stmt::Var(to, b)) => {
            *to == before + 1 && alike(a, b) && !reads_variable(b, *from..=*to)
        }
        (Stmt::Set(from, a), Stmt::Set(before, _), Stmt::Set(to, b)) => {
            *to == before + 1
                && alike(a, b)
                && !reads_variable(b, *from..=*before)
                && !reads_variable(a, from + 1..=*to)
        }
        (Stmt::Store(array, _, a), Stmt::Store(_, before, _), Stmt::Store(to, at, b)) => {
            let own = |x: &Expression, at: &ElementIndex| !reads_array(x, *array, at);
            array == to && before.terms == at.terms && before.constant < at.constant && alike(a, b) && own(b, at) && {
                let Stmt::Store(_, first, _) = first else { return false };
                own(a, first)
            }
        }
        _ => false,
    }
}

fn reads_variable(x: &Expression, which: std::ops::RangeInclusive<VariableId>) -> bool {
    let mut reads = false;
    x.walk(&mut |x| reads |= matches!(x, Expression::Variable(variable) if which.contains(variable)));
    reads
}

/// Whether an expression reads an array at a position that is not this one, as far as can be told.
fn reads_array(x: &Expression, array: ArrayId, at: &ElementIndex) -> bool {
    let mut reads = false;
    x.walk(&mut |x| reads |= matches!(x, Expression::Load(of, index) if *of == array && index != at));
    reads
}

/// Whether two operations are the same, on whatever operands.
fn is_one_operation(a: &ElementwiseOp<Expression>, b: &ElementwiseOp<Expression>) -> bool {
    a.by_ref().map(|_| ()) == b.by_ref().map(|_| ())
}

/// Whether two expressions are the same operations, on whatever values.
fn alike(a: &Expression, b: &Expression) -> bool {
    match (a, b) {
        (Expression::Op(a, of), Expression::Op(b, to)) => {
            let (left, right) = (a.by_ref().operands(), b.by_ref().operands());
            of == to && is_one_operation(a, b) && left.iter().zip(&right).all(|(a, b)| alike(a, b))
        }
        (Expression::Op(..), _) | (_, Expression::Op(..)) => false,
        _ => true,
    }
}

/// Whether two expressions are the same, to the bits of their numbers.
pub(super) fn same(a: &Expression, b: &Expression) -> bool {
    match (a, b) {
        (Expression::Literal(a), Expression::Literal(b)) => match (a, b) {
            (Literal::F64(a), Literal::F64(b)) => a.to_bits() == b.to_bits(),
            (Literal::F32(a), Literal::F32(b)) => a.to_bits() == b.to_bits(),
            (Literal::I64(a), Literal::I64(b)) => a == b,
            (Literal::Bool(a), Literal::Bool(b)) => a == b,
            _ => false,
        },
        (Expression::Variable(a), Expression::Variable(b)) => a == b,
        (Expression::Load(a, at), Expression::Load(b, to)) => a == b && at == to,
        (Expression::Position(a), Expression::Position(b)) => a == b,
        (Expression::Op(a, of), Expression::Op(b, to)) => {
            let (left, right) = (a.by_ref().operands(), b.by_ref().operands());
            of == to && is_one_operation(a, b) && left.iter().zip(&right).all(|(a, b)| same(a, b))
        }
        _ => false,
    }
}

/// The elements of the operands of an operation on vectors; `None` if vectors have none.
fn operands(op: &ElementwiseOp<Expression>, lanes: LaneKind) -> Option<SmallVec<[LaneKind; 3]>> {
    let mask = lanes.mask();
    Some(match op {
        ElementwiseOp::Unary(..) if !lanes.is_mask() => SmallVec::from_slice(&[lanes]),
        ElementwiseOp::Binary(Binary::Copysign, ..) => return None,
        // Functions of two numbers of 32 bits are computed one by one.
        ElementwiseOp::Binary(op, ..) if lanes == LaneKind::F32 && !is_inline_of_two(*op) => return None,
        ElementwiseOp::Binary(..) if !lanes.is_mask() => SmallVec::from_slice(&[lanes, lanes]),
        ElementwiseOp::FloatStep(FloatStep::StopGradient, _) => SmallVec::from_slice(&[lanes]),
        ElementwiseOp::Compare(..) if lanes.is_mask() => {
            let of = if lanes == LaneKind::Mask64 { LaneKind::F64 } else { LaneKind::F32 };
            SmallVec::from_slice(&[of, of])
        }
        ElementwiseOp::And(..) | ElementwiseOp::Or(..) if lanes.is_mask() => SmallVec::from_slice(&[lanes, lanes]),
        ElementwiseOp::Not(_) if lanes.is_mask() => SmallVec::from_slice(&[lanes]),
        ElementwiseOp::Select(_) => SmallVec::from_slice(&[mask, lanes, lanes]),
        ElementwiseOp::Unary(..) | ElementwiseOp::Binary(..) | ElementwiseOp::Compare(..) | ElementwiseOp::And(..) => {
            return None;
        }
        ElementwiseOp::Or(..) | ElementwiseOp::Not(_) | ElementwiseOp::FloatStep(..) => return None,
        ElementwiseOp::IntUnary(..) | ElementwiseOp::IntBinary(..) | ElementwiseOp::Convert(..) => return None,
    })
}

/// Instructions of one lane of an operation, and whether it is a call.
fn instructions(op: &ElementwiseOp<Expression>) -> (usize, bool) {
    match op {
        ElementwiseOp::Unary(op, _) if op.is(Property::Division) => (4, !is_inline(*op)),
        ElementwiseOp::Unary(op, _) => {
            if is_inline(*op) {
                (1, false)
            } else {
                (20, true)
            }
        }
        ElementwiseOp::Binary(op, ..) if op.is(Property::Arithmetic) => (1, false),
        ElementwiseOp::Binary(op, ..) => {
            if is_inline_of_two(*op) {
                (4, false)
            } else {
                (25, true)
            }
        }
        ElementwiseOp::Compare(..) | ElementwiseOp::And(..) | ElementwiseOp::Or(..) | ElementwiseOp::Not(_) => {
            (1, false)
        }
        ElementwiseOp::FloatStep(..) | ElementwiseOp::Select(_) | ElementwiseOp::Convert(..) => (1, false),
        ElementwiseOp::IntUnary(..) | ElementwiseOp::IntBinary(..) => (1, false),
    }
}

impl Translator<'_, '_> {
    /// How a pack is computed.
    pub(super) fn form<'e>(&self, of: &[&'e Expression], lanes: LaneKind) -> PackForm<'e> {
        if of[1..].iter().all(|x| same(x, of[0])) {
            return PackForm::Same;
        }
        match of[0] {
            Expression::Literal(_) if of.iter().all(|x| matches!(x, Expression::Literal(_))) => PackForm::Constants,
            Expression::Variable(_) => self.variables_of(of, lanes).map_or(PackForm::Gathered, PackForm::Variables),
            Expression::Load(array, _) if !self.is_memory(*array) => {
                self.variables_of(of, lanes).map_or(PackForm::Gathered, PackForm::Variables)
            }
            Expression::Load(array, at) if !lanes.is_mask() && self.are_neighbours(of) => {
                PackForm::Neighbours(*array, at)
            }
            Expression::Op(first, dtype) => {
                let Some(kinds) = operands(first, lanes) else { return PackForm::Gathered };
                let is_first =
                    |x: &&Expression| matches!(x, Expression::Op(op, of) if of == dtype && is_one_operation(first, op));
                if !of.iter().all(is_first) {
                    return PackForm::Gathered;
                }
                if let ElementwiseOp::Compare(_, a, _) = &**first
                    && LaneKind::of(self.dtype(a)) != Some(kinds[0])
                {
                    return PackForm::Gathered;
                }
                let operand = |k: usize| {
                    of.iter()
                        .map(|x| {
                            let Expression::Op(op, _) = x else { return *x };
                            op.by_ref().operands()[k]
                        })
                        .collect()
                };
                PackForm::Operation(kinds.iter().enumerate().map(|(k, kind)| (operand(k), *kind)).collect())
            }
            Expression::Literal(_) | Expression::Load(..) | Expression::Position(_) | Expression::AtMost(..) => {
                PackForm::Gathered
            }
            Expression::Below(..) | Expression::IsIndex(..) | Expression::All(_) | Expression::If(_) => {
                PackForm::Gathered
            }
        }
    }

    /// The variables that hold these as vectors, in order.
    fn variables_of(&self, of: &[&Expression], lanes: LaneKind) -> Option<Vec<cranelift_frontend::Variable>> {
        self.whole_vectors(
            of.iter().map(|x| {
                if let Expression::Variable(variable) = x {
                    self.place(*variable)
                } else if let Expression::Load(array, at) = x {
                    self.known_cell(*array, at)
                } else {
                    None
                }
            }),
            lanes,
        )
    }

    /// The variables of the vectors that have these lanes, in order and complete.
    pub(super) fn whole_vectors(
        &self,
        places: impl Iterator<Item = Option<Place>>,
        lanes: LaneKind,
    ) -> Option<Vec<cranelift_frontend::Variable>> {
        let places: SmallVec<[Option<Place>; 8]> = places.collect();
        places.chunks(lanes.count())
            .map(|chunk| {
                let Some(Place::Lane(vector, 0, kind)) = chunk[0] else { return None };
                let is_whole = chunk.len() == lanes.count() && kind == lanes;
                let here = |(k, x): (usize, &Option<Place>)| {
                    matches!(x, Some(Place::Lane(of, lane, _)) if *of == vector && usize::from(*lane) == k)
                };
                (is_whole && chunk.iter().enumerate().all(here)).then_some(vector)
            })
            .collect()
    }

    /// Whether these are neighbours in an array in memory, inside it for certain.
    fn are_neighbours(&self, of: &[&Expression]) -> bool {
        let Expression::Load(array, first) = of[0] else { return false };
        let inside = |at: &ElementIndex| self.is_inside(*array, at);
        self.is_memory(*array)
            && inside(first)
            && of.iter().enumerate().all(|(k, x)| {
                matches!(x, Expression::Load(other, at)
                    if other == array && at.terms == first.terms && at.constant == first.constant + k as i64)
            })
            && matches!(of[of.len() - 1], Expression::Load(_, at) if inside(at))
    }

    /// The estimated instructions of some expressions by themselves, and as a pack.
    fn costs(&self, of: &[&Expression], lanes: LaneKind) -> [usize; 2] {
        let (n, vectors) = (of.len(), of.len().div_ceil(lanes.count()));
        match self.form(of, lanes) {
            PackForm::Same => {
                let once = of[0].weight();
                [once, once + 1]
            }
            PackForm::Constants => [0, 1],
            PackForm::Variables(_) => [n, 0],
            PackForm::Neighbours(..) => [n, vectors],
            PackForm::Operation(parts) => {
                let Expression::Op(op, _) = of[0] else { return [0, n] };
                let (each, is_call) = instructions(op);
                // A call computes all lanes in the time of one or two, but passes them in memory.
                let mut all = [n * each, if is_call { each + 2 * vectors } else { vectors * each }];
                for (part, kind) in &parts {
                    let [alone, packed] = self.costs(part, *kind);
                    all = [all[0] + alone, all[1] + packed];
                }
                all
            }
            PackForm::Gathered => {
                let alone: usize = of.iter().map(|x| x.weight()).sum();
                [alone, alone + n + if lanes.is_mask() { n } else { 0 }]
            }
        }
    }

    /// The elements of the vectors of a pack of statements, if it is estimated to take less time.
    pub(super) fn pays(&self, pack: &[Stmt]) -> Option<LaneKind> {
        let values: SmallVec<[&Expression; 8]> = pack.iter().filter_map(value_of).collect();
        let lanes = self.lanes_of(values[0])?;
        if !pack.len().is_multiple_of(lanes.count()) {
            return None;
        }
        let [alone, packed] = self.costs(&values, lanes);
        let [alone, packed] = if let Stmt::Store(array, at, _) = &pack[0] {
            if !self.is_memory(*array) {
                let whole = self.whole_vectors(pack.iter().map(|stmt| self.stored_cell(stmt)), lanes).is_some();
                return (packed + if whole { 0 } else { pack.len() } < alone).then_some(lanes);
            }
            let last = matches!(&pack[pack.len() - 1], Stmt::Store(_, to, _)
                if to.constant - at.constant == pack.len() as i64 - 1 && self.is_inside(*array, to));
            let together = last && !lanes.is_mask() && self.is_inside(*array, at);
            let stores = if together { pack.len() / lanes.count() } else { 2 * pack.len() };
            [alone + pack.len(), packed + stores]
        } else if matches!(pack[0], Stmt::Set(..)) {
            let targets: Vec<Expression> = pack.iter().filter_map(target_of).collect();
            self.variables_of(&targets.iter().collect::<Vec<_>>(), lanes)?;
            [alone, packed]
        } else {
            // Values that are then used one by one are taken out of the vector.
            [alone, packed + pack.len() / 2]
        };
        (packed < alone).then_some(lanes)
    }

    /// The place of the element that a statement stores, if that is a variable.
    pub(super) fn stored_cell(&self, stmt: &Stmt) -> Option<Place> {
        let Stmt::Store(array, at, _) = stmt else { return None };
        self.known_cell(*array, at)
    }

    /// The elements of a vector of values of this form.
    fn lanes_of(&self, x: &Expression) -> Option<LaneKind> {
        if let lanes @ Some(_) = LaneKind::of(self.dtype(x)) {
            return lanes;
        }
        if let Expression::Variable(variable) = x
            && let Some(Place::Lane(_, _, lanes)) = self.place(*variable)
        {
            return Some(lanes);
        }
        let Expression::Op(op, DType::Bool) = x else { return None };
        if let ElementwiseOp::Compare(_, a, _) = &**op {
            LaneKind::of(self.dtype(a)).map(LaneKind::mask)
        } else if let ElementwiseOp::And(a, b) | ElementwiseOp::Or(a, b) = &**op {
            self.lanes_of(a).or(self.lanes_of(b))
        } else if let ElementwiseOp::Not(a) = &**op {
            self.lanes_of(a)
        } else {
            None
        }
    }

    /// The widest pack at the beginning of a run that pays.
    pub(super) fn widest<'s>(&self, run: &'s [Stmt]) -> Option<(&'s [Stmt], LaneKind)> {
        WIDTHS.iter().filter_map(|width| run.get(..*width)).find_map(|pack| Some((pack, self.pays(pack)?)))
    }
}

/// The value of a statement of a pack.
pub(super) fn value_of(stmt: &Stmt) -> Option<&Expression> {
    if let Stmt::Let(_, value) | Stmt::Var(_, value) | Stmt::Set(_, value) | Stmt::Store(_, _, value) = stmt {
        Some(value)
    } else {
        None
    }
}

/// The variable that a statement of a pack declares or sets.
pub(super) fn variable_of(stmt: &Stmt) -> Option<VariableId> {
    if let Stmt::Let(variable, _) | Stmt::Var(variable, _) | Stmt::Set(variable, _) = stmt {
        Some(*variable)
    } else {
        None
    }
}

/// The variable that a statement of a pack sets, as an expression.
fn target_of(stmt: &Stmt) -> Option<Expression> {
    variable_of(stmt).map(Expression::Variable)
}
