//! Fusion groups as nests of loops.
//!
//! The axes of the views of a group cut its positions into one nest of loops, if they can; a view that they cannot cut
//! computes its indices by division. A sum over inner loops is kept in a variable. Where views end at a side of rows,
//! the innermost loop is split, so that its inner part has no conditions.
//!
//! Law: each value of the group is computed once for each position, by the same operations in the same order as in a
//! compiled program; only sums have another order.

use std::collections::{BTreeMap, BTreeSet};

use super::sums::{SumTarget, summed};
use super::tree::{ElementIndex, ElementPlace, Expression, PositionExpr, Stmt, VariableId};
use super::writer::Writer;
use crate::backend::ir::access::StridedAccess;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::{FusedOp, FusionGroup, GatherOp, ValueId};
use crate::backend::ir::step::BufferId;
use crate::dtype::DType;
use crate::ops::Unary;

/// The number of operations from which an expression gets a separate line.
const LINE: usize = 5;

/// The least length of a loop that is split where views end.
const SPLIT: usize = 24;

/// The most parts of a loop that is split.
const PARTS: usize = 5;

/// The loops of a group.
struct LoopNest {
    /// The lengths, outermost first.
    lens: Vec<usize>,
    /// The number of positions of one step of each loop.
    steps: Vec<usize>,
}

/// The divisors of `size` at which an access is cut in axes: the number of positions of one step of each axis.
fn cuts(access: &StridedAccess) -> Vec<usize> {
    let (_, axes) = access.base_and_axes();
    let mut cuts = vec![1];
    for axis in axes.iter().skip(1).rev() {
        cuts.push(cuts[cuts.len() - 1] * axis.len);
    }
    cuts
}

/// The access of an operation.
fn access(op: &FusedOp<ValueId>) -> Option<&StridedAccess> {
    match op {
        FusedOp::View(_, access) | FusedOp::Positions(access) | FusedOp::Put(_, access, _) => Some(access),
        FusedOp::Add(_, access, _) => Some(access),
        FusedOp::Read(..) | FusedOp::One(..) | FusedOp::Gather(_) | FusedOp::Elementwise(_) => None,
    }
}

impl LoopNest {
    fn new(group: &FusionGroup) -> LoopNest {
        let mut chain = BTreeSet::from([1, group.size]);
        for (op, ..) in group.items() {
            let Some(access) = access(op) else { continue };
            let mut longer = chain.clone();
            longer.extend(cuts(access));
            let line: Vec<usize> = longer.iter().copied().collect();
            if line.windows(2).all(|pair| pair[1].is_multiple_of(pair[0])) {
                chain = longer;
            }
        }
        let mut steps: Vec<usize> = chain.into_iter().collect();
        steps.reverse();
        let lens = steps.windows(2).map(|pair| pair[0] / pair[1]).collect();
        LoopNest { lens, steps: steps.split_off(1) }
    }

    /// The position as an index.
    fn position(&self, counters: &[ElementIndex]) -> ElementIndex {
        self.steps
            .iter()
            .zip(counters)
            .fold(ElementIndex::default(), |sum, (step, i)| sum.plus(&i.clone().times(*step as i64)))
    }

    /// The loops that an axis of `len` steps of `step` positions is made of; `None` if they cut through it.
    fn loops(&self, step: usize, len: usize) -> Option<std::ops::Range<usize>> {
        let end = self.steps.iter().position(|s| *s == step)? + 1;
        let all = step * len;
        let first = (0..end).rev().find(|k| self.steps[*k] * self.lens[*k] == all)?;
        Some(first..end)
    }
}

/// A group, with at least one position, that is being written.
pub(crate) struct GroupWriter<'a> {
    group: &'a FusionGroup,
    place: &'a dyn Fn(BufferId) -> ElementPlace,
    dtype: &'a dyn Fn(BufferId) -> DType,
    nest: LoopNest,
    /// How often each value is used, stores included.
    uses: Vec<usize>,
    sums: Vec<LocalSum<'a>>,
    /// The buffers that are zeros before, and whose elements are each the total of a sum in a variable.
    covered: BTreeSet<BufferId>,
    /// The reads that do not change in inner loops: their numbers, with the numbers of loops around them.
    still: Vec<(usize, usize)>,
}

/// The facts known at a position of some loops.
#[derive(Default)]
struct GroupScope {
    counters: Vec<ElementIndex>,
    /// The variables of sums.
    targets: BTreeMap<usize, VariableId>,
    /// Reads that do not change in inner loops.
    still: BTreeMap<usize, Expression>,
}

/// A sum over inner loops that is kept in a variable.
struct LocalSum<'a> {
    /// The number of the operation, and where it adds.
    of: usize,
    buf: BufferId,
    access: &'a StridedAccess,
    /// The number of loops around the variable.
    depth: usize,
}

/// An access at the current position: its conditions and its place; `None` where the access has a hole for certain.
type Located = Option<(Vec<Expression>, ElementIndex)>;

impl<'a> GroupWriter<'a> {
    pub(crate) fn new(
        group: &'a FusionGroup,
        place: &'a dyn Fn(BufferId) -> ElementPlace,
        dtype: &'a dyn Fn(BufferId) -> DType,
    ) -> GroupWriter<'a> {
        let mut uses = vec![0; group.len()];
        for (op, ..) in group.items() {
            op.operands().iter().for_each(|v| uses[*v as usize] += 1);
            // The operand of a square is written twice.
            if let FusedOp::Elementwise(ElementwiseOp::Unary(Unary::Square, a)) = op {
                uses[*a as usize] += 1;
            }
        }
        for (used, (_, _, stored)) in uses.iter_mut().zip(group.items()) {
            *used += usize::from(stored.is_some());
        }
        let mut writer = GroupWriter {
            group,
            place,
            dtype,
            nest: LoopNest::new(group),
            uses,
            sums: Vec::new(),
            covered: BTreeSet::new(),
            still: Vec::new(),
        };
        writer.sums = writer.local_sums();
        writer.covered = writer.covered_buffers();
        writer.still = writer.still_reads();
        writer
    }

    /// The sums whose place does not change in inner loops.
    fn local_sums(&self) -> Vec<LocalSum<'a>> {
        let group = self.group;
        let rank = self.nest.lens.len();
        let mut sums = Vec::new();
        for (k, (op, ..)) in group.items().enumerate() {
            let FusedOp::Add(buf, access, _) = op else { continue };
            let adds = |other: &(&FusedOp<ValueId>, DType, Option<BufferId>)| other.0.writes() == Some(*buf);
            if self.group.items().filter(adds).count() > 1 {
                continue;
            }
            if let ElementPlace::Variable(_) = (self.place)(*buf) {
                if access.is_total() {
                    sums.push(LocalSum { of: k, buf: *buf, access, depth: 0 });
                }
                continue;
            }
            if let Some(depth) = self.depth(access).filter(|depth| *depth < rank) {
                sums.push(LocalSum { of: k, buf: *buf, access, depth });
            }
        }
        sums
    }

    /// The buffers that are cleared, though each of their elements is one of the sums in variables.
    fn covered_buffers(&self) -> BTreeSet<BufferId> {
        let mut covered = BTreeSet::new();
        for sum in &self.sums {
            let (buf, access) = (sum.buf, sum.access);
            let (_, axes) = access.base_and_axes();
            let moving = axes.iter().filter(|axis| axis.stride != 0);
            // The places of the axes that move are distinct, since each axis steps over those of the next ones.
            let mut places: Vec<(i64, usize)> = moving.map(|axis| (axis.stride.abs(), axis.len)).collect();
            places.sort_unstable();
            let mut reach = 1;
            let apart = places.iter().all(|(stride, len)| {
                let apart = *stride == reach as i64;
                reach *= len;
                apart
            });
            let cleared = self.group.cleared.iter().find(|(cleared, _)| *cleared == buf);
            let all = cleared.is_some_and(|(_, bytes)| *bytes == reach * (self.dtype)(buf).width());
            // Only the loops over places are around the variable.
            let once = self.nest.lens[..sum.depth].iter().product::<usize>() == reach;
            if all && apart && once && access.is_total() && matches!((self.place)(buf), ElementPlace::Elements(..)) {
                covered.insert(buf);
            }
        }
        covered
    }

    /// The buffers that must be zeros before the loops.
    pub(crate) fn cleared(&self) -> impl Iterator<Item = BufferId> {
        self.group.cleared().map(|(buf, _)| buf).filter(|buf| !self.covered.contains(buf))
    }

    /// The number of loops in which an access moves; `None` if that of the loops are not those of its axes.
    fn depth(&self, access: &StridedAccess) -> Option<usize> {
        let (mut step, mut depth) = (1, 0);
        for axis in access.base_and_axes().1.iter().rev() {
            let moves = axis.stride != 0 || (axis.lo, axis.hi) != (0, axis.len);
            let loops = if self.group.size == 1 { 0..0 } else { self.nest.loops(step, axis.len)? };
            depth = if moves { depth.max(loops.end) } else { depth };
            step *= axis.len;
        }
        Some(depth)
    }

    /// Reads that do not change in inner loops, of buffers that the group does not write.
    fn still_reads(&self) -> Vec<(usize, usize)> {
        let mut written = BTreeSet::new();
        self.group.buffers(&mut |buf, writes| {
            if writes {
                written.insert(buf);
            }
        });
        let rank = self.nest.lens.len();
        let mut still = Vec::new();
        for (k, (op, ..)) in self.group.items().enumerate() {
            let (buf, depth) = match op {
                FusedOp::View(buf, access) => (buf, self.depth(access)),
                FusedOp::One(buf, _) => (buf, Some(0)),
                FusedOp::Read(..) | FusedOp::Positions(_) | FusedOp::Gather(_) | FusedOp::Put(..) => continue,
                FusedOp::Add(..) | FusedOp::Elementwise(_) => continue,
            };
            let in_memory = matches!((self.place)(*buf), ElementPlace::Elements(..) | ElementPlace::One(..));
            if let Some(depth) = depth.filter(|depth| *depth < rank && in_memory && !written.contains(buf)) {
                still.push((k, depth));
            }
        }
        still
    }

    /// Writes the loops of the group.
    pub(crate) fn write(&self, w: &mut Writer) {
        self.level(w, &mut GroupScope::default());
    }

    fn level(&self, w: &mut Writer, scope: &mut GroupScope) {
        let depth = scope.counters.len();
        for (k, _) in self.still.iter().filter(|(_, of)| *of == depth) {
            let node = &self.group.nodes[*k];
            let value = self.value(w, &node.item, node.dtype, &[], (&scope.counters, &ElementIndex::default()), None);
            let value = w.named(node.dtype, value.expect("a read has a value"));
            scope.still.insert(*k, value);
        }
        let mut here = Vec::new();
        for sum in self.sums.iter().filter(|sum| sum.depth == depth) {
            let (buf, access) = (sum.buf, sum.access);
            let place = (self.place)(buf);
            if let ElementPlace::Variable(variable) = place {
                scope.targets.insert(sum.of, variable);
                continue;
            }
            let Some((conditions, at)) = self.locate(w, access, &scope.counters) else { continue };
            let dtype = (self.dtype)(buf);
            let inside = conditions.is_empty() && !self.covered.contains(&buf);
            let start = if inside { place.load(&at) } else { Expression::zero(dtype) };
            let variable = w.var(dtype, start);
            scope.targets.insert(sum.of, variable);
            here.push((place, dtype, conditions, at, variable));
        }
        match self.nest.lens.get(depth) {
            None => {
                let targets = scope.targets.iter().map(|(k, variable)| (*k, SumTarget::Variable(*variable))).collect();
                self.body(w, scope, &targets);
            }
            Some(_) if depth + 1 == self.nest.lens.len() => self.innermost(w, scope),
            Some(len) => w.for_(*len, |w, i| {
                scope.counters.push(i.clone());
                self.level(w, scope);
                scope.counters.pop();
            }),
        }
        for (place, dtype, conditions, at, variable) in here {
            let sum = Expression::Variable(variable);
            if conditions.is_empty() {
                w.store(&place, &at, sum);
            } else {
                w.if_all(conditions, |w| {
                    let sum = Expression::sum(dtype, place.load(&at), sum);
                    w.store(&place, &at, sum);
                });
            }
        }
    }

    /// The innermost loop: in parts, if views end within it.
    fn innermost(&self, w: &mut Writer, scope: &mut GroupScope) {
        let len = self.nest.lens[scope.counters.len()];
        let sum = |(k, variable): (&usize, &VariableId)| (*k, (*variable, self.group.dtype(*k as ValueId)));
        let (operations, sums): (Vec<usize>, Vec<(VariableId, DType)>) = scope.targets.iter().map(sum).unzip();
        for (from, to) in self.parts(len) {
            summed(w, (from, to), &sums, &mut |w, i, targets| {
                scope.counters.push(i.clone());
                let targets = operations.iter().copied().zip(targets.iter().cloned()).collect();
                self.body(w, scope, &targets);
                scope.counters.pop();
            });
        }
    }

    /// The ranges of the innermost loop between the sides at which views end.
    fn parts(&self, len: usize) -> Vec<(usize, usize)> {
        let mut cuts = BTreeSet::from([0, len]);
        for (op, ..) in self.group.items() {
            let Some(axis) = access(op).and_then(|access| access.base_and_axes().1.last()) else { continue };
            if axis.len == len && axis.lo < axis.hi {
                cuts.extend([axis.lo, axis.hi]);
            }
        }
        let cuts: Vec<usize> = cuts.into_iter().collect();
        if len < SPLIT || cuts.len() > PARTS + 1 {
            return vec![(0, len)];
        }
        cuts.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    /// The place of an access, and the conditions under which it has one.
    fn locate(&self, w: &mut Writer, access: &StridedAccess, counters: &[ElementIndex]) -> Located {
        let (base, axes) = access.base_and_axes();
        let mut place = ElementIndex::constant(base);
        let mut conditions = Vec::new();
        let mut step = 1;
        for axis in axes.iter().rev() {
            let whole = (axis.lo, axis.hi) == (0, axis.len);
            if axis.stride != 0 || !whole {
                let index = self.index(w, (step, axis.len), counters);
                place = place.plus(&index.clone().times(axis.stride));
                if !whole {
                    conditions.extend(w.within(&index, (axis.lo as i64, axis.hi as i64))?);
                }
            }
            step = step.saturating_mul(axis.len);
        }
        Some((conditions, place))
    }

    /// The index along an axis of `len` steps of `step` positions.
    fn index(&self, w: &mut Writer, (step, len): (usize, usize), counters: &[ElementIndex]) -> ElementIndex {
        match self.nest.loops(step, len) {
            Some(loops) if loops.end <= counters.len() => loops.fold(ElementIndex::default(), |sum, k| {
                sum.plus(&counters[k].clone().times((self.nest.steps[k] / step) as i64))
            }),
            Some(_) | None => {
                let mut index = self.nest.position(counters);
                if step > 1 {
                    index = ElementIndex::of(w.position(PositionExpr::Quotient(index, step)));
                }
                if step.saturating_mul(len) < self.group.size {
                    index = ElementIndex::of(w.position(PositionExpr::Remainder(index, len)));
                }
                index
            }
        }
    }

    /// The operations of one position.
    fn body(&self, w: &mut Writer, scope: &GroupScope, targets: &BTreeMap<usize, SumTarget>) {
        let counters = &scope.counters[..];
        let position = self.nest.position(counters);
        let mut values: Vec<Option<Expression>> = Vec::with_capacity(self.group.len());
        let mut line = None;
        for (k, (op, dtype, stored)) in self.group.items().enumerate() {
            if self.nest.lens.is_empty() {
                let unknown = crate::source::Place::UNKNOWN;
                let origin = self.group.origins.get(k).unwrap_or(&unknown);
                super::lines::comment(w, &mut line, origin);
            }
            let value = match scope.still.get(&k) {
                Some(value) => Some(value.clone()),
                None => self.value(w, op, dtype, &values, (counters, &position), targets.get(&k)),
            };
            let value = value.map(|value| {
                let used = self.uses[k];
                let apart = value.weight() > 0 && (used > 1 || value.weight() >= LINE);
                let value = if apart { w.named(dtype, value) } else { value };
                if let Some(buf) = stored {
                    w.store(&(self.place)(buf), &position, value.clone());
                }
                value
            });
            values.push(value);
        }
    }

    /// The value of an operation at one position; a write has none.
    fn value(
        &self,
        w: &mut Writer,
        op: &FusedOp<ValueId>,
        dtype: DType,
        values: &[Option<Expression>],
        (counters, position): (&[ElementIndex], &ElementIndex),
        target: Option<&SumTarget>,
    ) -> Option<Expression> {
        let of = |v: ValueId| values[v as usize].clone().expect("an operand is not a write");
        Some(match op {
            FusedOp::Read(buf, at) => (self.place)(*buf).load(&position.clone().plus_constant(*at as i64)),
            FusedOp::One(buf, at) => (self.place)(*buf).load(&ElementIndex::constant(*at as i64)),
            FusedOp::View(buf, access) => match self.locate(w, access, counters) {
                Some((conditions, at)) => Expression::where_all(conditions, (self.place)(*buf).load(&at), dtype),
                None => Expression::zero(dtype),
            },
            FusedOp::Positions(access) => match self.locate(w, access, counters) {
                Some((conditions, at)) => Expression::where_all(conditions, Expression::Position(at), dtype),
                None => Expression::zero(dtype),
            },
            FusedOp::Gather(gather) => gathered(w, gather, &(self.place)(gather.buf), dtype, of),
            FusedOp::Put(buf, access, v) => {
                if let Some((conditions, at)) = self.locate(w, access, counters) {
                    w.if_all(conditions, |w| w.store(&(self.place)(*buf), &at, of(*v)));
                }
                return None;
            }
            FusedOp::Add(buf, access, v) => {
                match target {
                    Some(target) => target.add(w, dtype, of(*v)),
                    None => {
                        if let Some((conditions, at)) = self.locate(w, access, counters) {
                            let place = (self.place)(*buf);
                            w.if_all(conditions, |w| {
                                let sum = Expression::sum(dtype, place.load(&at), of(*v));
                                w.store(&place, &at, sum);
                            });
                        }
                    }
                }
                return None;
            }
            FusedOp::Elementwise(op) => Expression::op(op.map(of), dtype),
        })
    }
}

/// The element of a table at indices, or 0 out of bounds.
fn gathered(
    w: &mut Writer,
    gather: &GatherOp<ValueId>,
    table: &ElementPlace,
    dtype: DType,
    of: impl Fn(ValueId) -> Expression,
) -> Expression {
    let value = w.var(dtype, Expression::zero(dtype));
    let indices: Vec<Expression> = gather.indices.iter().map(|v| w.named(DType::I64, of(*v))).collect();
    let conditions =
        indices.iter().zip(&gather.sizes).map(|(index, size)| Expression::IsIndex(Box::new(index.clone()), *size));
    let conditions = conditions.collect();
    w.if_all(conditions, |w| {
        let mut at = ElementIndex::default();
        for (index, size) in indices.iter().zip(&gather.sizes) {
            let index = w.position(PositionExpr::Int(index.clone()));
            at = at.times(*size as i64).plus(&ElementIndex::of(index));
        }
        w.push(Stmt::Set(value, table.load(&at)));
    });
    Expression::Variable(value)
}
