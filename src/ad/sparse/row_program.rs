//! The program of one row, for programs that do the same for each row of all arrays: patterns repeat from row to row.
//!
//! Where trips of a loop over observations became bulk operations, row `k` of each value depends on row `k` of the inputs
//! alone, in the same way for all `k`. So the pattern of one row is the pattern of all, moved by the elements of a row.
//!
//! Law: a row of each result of the program is the result of the row program at this row of the inputs. Known arrays whose
//! rows differ stand for each other if they do for a pattern: as operands of unknown values, with zeros at the same places.

use crate::array::Array;
use crate::ops::{Contract, Linear, Reduce, View};
use crate::program::{Builder, Constant, NodeId, Op, Slot};
use crate::shape::Shape;

use super::lists::Lists;
use super::seeding::Subject;

/// A value in the row program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowValue {
    /// A row of the value.
    Row(NodeId),
    /// The value, which is the same for all rows and depends on no column.
    Same(NodeId),
}

impl RowValue {
    fn id(self) -> NodeId {
        let (RowValue::Row(id) | RowValue::Same(id)) = self;
        id
    }
}

/// A program of rows.
pub(super) struct RowProgram {
    /// The program of one row.
    pub(super) row: Subject,
    pub(super) count: usize,
}

impl RowProgram {
    /// The program of one row, if there are several and each operation treats all alike.
    pub(super) fn of(subject: &Subject) -> Option<RowProgram> {
        let program = &subject.program;
        let mut floats = program.outputs().iter().filter(|slot| slot.dtype.is_float());
        let count = *floats.next()?.shape.first().filter(|count| **count > 1)?;
        let mut rows = Rows { count, b: Builder::literal(), values: Vec::new(), known: Vec::new(), differ: Vec::new() };
        for (k, slot) in program.inputs().iter().enumerate() {
            rows.input(slot, subject.has_columns(k))?;
        }
        for node in &program.nodes()[program.inputs().len()..] {
            rows.operation(&node.op, &node.shape)?;
        }
        let mut results = Vec::new();
        for (slot, id) in program.outputs().iter().zip(program.results()) {
            match rows.values[*id as usize] {
                RowValue::Row(row) if !rows.differ[*id as usize] => results.push(row),
                // Only floats have rows of a pattern.
                value if !slot.dtype.is_float() => results.push(value.id()),
                RowValue::Row(_) | RowValue::Same(_) => return None,
            }
        }
        Some(RowProgram { row: Subject { program: rows.b.finish(&results, &[]), count: subject.count }, count })
    }

    /// The pattern of all rows, and the facts about each element, from those of one row.
    pub(super) fn all(&self, row: &Lists, constant: &[bool]) -> (Lists, Vec<bool>) {
        let elements = |slot: &Slot| slot.shape.iter().product::<usize>();
        // For each column of a row the first column of its input, and the columns of the input in a row.
        let (mut columns, mut first) = (Vec::new(), 0);
        for (_, slot) in self.row.inputs(true) {
            columns.extend((0..elements(slot)).map(|_| (first, elements(slot))));
            first += elements(slot);
        }
        let (mut lists, mut all) = (Lists::default(), Vec::new());
        lists.starts.reserve_exact(row.count() * self.count);
        lists.items.reserve_exact(row.items.len() * self.count);
        all.reserve_exact(row.items.len() * self.count);
        let mut start = 0;
        for slot in self.row.program.outputs().iter().filter(|slot| slot.dtype.is_float()) {
            let of_row = start..start + elements(slot);
            start = of_row.end;
            for k in 0..self.count {
                for list in of_row.clone() {
                    let moved = |column: &usize| {
                        let (first, width) = columns[*column];
                        first * self.count + k * width + column - first
                    };
                    lists.items.extend(row.of(list).iter().map(moved));
                    all.extend_from_slice(&constant[row.starts[list]..row.starts[list + 1]]);
                    lists.end();
                }
            }
        }
        (lists, all)
    }
}

/// A row program that is being made.
struct Rows {
    /// The number of rows.
    count: usize,
    b: Builder,
    /// For each operation of the program.
    values: Vec<RowValue>,
    /// Whether the value is known: it depends on no input.
    known: Vec<bool>,
    /// Whether the value is known and its rows differ.
    differ: Vec<bool>,
}

impl Rows {
    fn push(&mut self, value: RowValue, known: bool, differ: bool) {
        self.values.push(value);
        self.known.push(known);
        self.differ.push(differ);
    }

    fn is_stack(&self, shape: &[usize]) -> bool {
        shape.first() == Some(&self.count)
    }

    fn input(&mut self, slot: &Slot, has_columns: bool) -> Option<()> {
        let value = if self.is_stack(&slot.shape) {
            RowValue::Row(self.b.input(Slot { shape: slot.shape[1..].into(), ..slot.clone() }))
        } else if has_columns {
            return None;
        } else {
            RowValue::Same(self.b.input(slot.clone()))
        };
        self.push(value, false, false);
        Some(())
    }

    /// A known array: a row of it, if zeros are at the same places of all rows.
    fn constant(&mut self, c: &Array) -> Option<()> {
        if !self.is_stack(c.shape()) {
            let id = self.b.apply(Op::Constant(Constant(c.clone())));
            self.push(RowValue::Same(id), true, false);
            return Some(());
        }
        let first = c.row(0);
        let id = self.b.apply(Op::Constant(Constant(first.clone())));
        let numbers = |a: &Array| a.cast::<f64>().to_vec::<f64>().ok();
        // A copy in f64 distinguishes integers and masks that are used here; large integers count as different.
        let (all, row) = (numbers(c)?, numbers(&first)?);
        let mut rows = all.chunks_exact(row.len().max(1));
        let exact = row.iter().chain(&all).all(|x| x.abs() < 2f64.powi(53) || c.dtype().is_float());
        let differ =
            !exact || !rows.clone().all(|other| other.iter().zip(&row).all(|(x, y)| x.to_bits() == y.to_bits()));
        if differ && !rows.all(|other| other.iter().zip(&row).all(|(x, y)| (*x == 0.0) == (*y == 0.0))) {
            return None;
        }
        self.push(RowValue::Row(id), true, differ);
        Some(())
    }

    /// Whether the operands are rows (all of them) or the same for all rows.
    fn alike(&self, operands: &[NodeId]) -> Option<bool> {
        let is_row = |id: &NodeId| matches!(self.values[*id as usize], RowValue::Row(_));
        let rows = operands.iter().filter(|id| is_row(id)).count();
        (rows == 0 || rows == operands.len()).then_some(rows > 0)
    }

    fn operation(&mut self, op: &Op<NodeId>, shape: &[usize]) -> Option<()> {
        if let Op::Constant(Constant(c)) = op {
            return self.constant(c);
        }
        let mut operands: Vec<NodeId> = Vec::new();
        op.operands(&mut |a| operands.push(*a));
        let known = operands.iter().all(|a| self.known[*a as usize]);
        let differ = operands.iter().any(|a| self.differ[*a as usize]);
        // Values computed from a row that stands for others must be unknown, and must not be selected by it.
        if differ && (known || !matches!(op, Op::Binary(..) | Op::Contract(..))) {
            return None;
        }
        let is_any_row = operands.iter().any(|a| matches!(self.values[*a as usize], RowValue::Row(_)));
        let row = |rows: &Self, row: bool| -> Option<Op<NodeId>> {
            let mapped = op.map(&mut |a| rows.values[*a as usize].id());
            if row { rows.of_row(&mapped, &operands, shape) } else { Some(mapped) }
        };
        // A view can make a stack of a value that is the same for all rows; other operations leave it the same.
        let makes_rows = is_any_row || (matches!(op, Op::Linear(..)) && self.is_stack(shape));
        match row(self, makes_rows) {
            Some(made) => {
                let id = self.b.apply(made);
                self.push(if makes_rows { RowValue::Row(id) } else { RowValue::Same(id) }, known, false);
            }
            None if !is_any_row => {
                let id = self.b.apply(row(self, false)?);
                self.push(RowValue::Same(id), known, false);
            }
            None => return None,
        }
        Some(())
    }

    /// The operation on a row, given the operation on the operands in the row program.
    fn of_row(&self, op: &Op<NodeId>, operands: &[NodeId], shape: &[usize]) -> Option<Op<NodeId>> {
        if !self.is_stack(shape) {
            return None;
        }
        let is_row = |k: usize| matches!(self.values[operands[k] as usize], RowValue::Row(_));
        let alike = || self.alike(operands) == Some(true);
        if let Op::Linear(f, a) = op {
            return Some(Op::Linear(Box::new(self.linear(f, is_row(0))?), *a));
        }
        if let Op::Contract(f, a, b) = op {
            let views = [(&f.a, is_row(0)), (&f.b, is_row(1)), (&f.out, true)];
            let [x, y, out] = self.views(views)?;
            return Some(Op::Contract(Box::new(Contract::new(x, y, out)), *a, *b));
        }
        if let Op::Reduce(f, a) = op
            && f.axis() > 0
        {
            return Some(Op::Reduce(Reduce::along(*f, f.axis() - 1), *a));
        }
        if !alike() {
            return None;
        }
        if let Op::Concat(axis, parts) = op
            && *axis > 0
        {
            return Some(Op::Concat(axis - 1, parts.clone()));
        }
        op.is_elementwise().then(|| op.clone())
    }

    fn linear(&self, op: &Linear, is_row: bool) -> Option<Linear> {
        match op {
            Linear::Affine { from, into } => {
                let [from, into] = self.views([(from, is_row), (into, true)])?;
                Some(Linear::Affine { from, into })
            }
            Linear::Reshape { from, into } if is_row && self.is_stack(from) => {
                Some(Linear::reshape(&from[1..], &into[1..]))
            }
            Linear::Cast { from, into, shape } if is_row => {
                Some(Linear::Cast { from: *from, into: *into, shape: shape[1..].into() })
            }
            Linear::Reshape { .. } | Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => None,
        }
    }

    /// The views of a row: along one axis of the iteration space each view moves from row to row, or stays where it is.
    fn views<const N: usize>(&self, views: [(&View, bool); N]) -> Option<[View; N]> {
        let space = views[0].0.shape();
        let is_rows = |axis: &usize| {
            space[*axis] == self.count && views.iter().all(|(view, is_row)| self.moves(view, *is_row, *axis))
        };
        let axis = (0..space.len()).find(is_rows)?;
        Some(views.map(|(view, is_row)| of_a_row(view, is_row, axis)))
    }

    /// Whether a view moves from row to row along an axis of the iteration space, or if it views no rows, not at all.
    fn moves(&self, view: &View, is_row: bool, axis: usize) -> bool {
        let sources = 0..view.source().len();
        let along = |k: usize| if is_row && k == 0 { 1 } else { 0 };
        let only = |k: usize| view.row(k).iter().enumerate().all(|(other, step)| *step == i64::from(other == axis));
        !view.is_empty()
            && view.bounds()[axis] == (0, self.count)
            && sources.into_iter().all(|k| view.row(k)[axis] == along(k))
            && (!is_row || self.is_stack(view.source()) && view.offset()[0] == 0 && only(0))
    }
}

/// The view of a row: without an axis of the iteration space, and without the first axis of the source if that has rows.
fn of_a_row(view: &View, is_row: bool, axis: usize) -> View {
    let first = usize::from(is_row);
    let axes: Vec<usize> = (0..view.shape().len()).filter(|other| *other != axis).collect();
    let shape: Shape = axes.iter().map(|axis| view.shape()[*axis]).collect();
    let rows = first..view.source().len();
    let matrix: Vec<i64> = rows.flat_map(|k| axes.iter().map(move |axis| view.row(k)[*axis])).collect();
    let whole = View::affine(&view.source()[first..], &shape, &matrix, &view.offset()[first..]);
    axes.iter().enumerate().fold(whole, |row, (k, axis)| row.clipped(k, view.bounds()[*axis].0, view.bounds()[*axis].1))
}
