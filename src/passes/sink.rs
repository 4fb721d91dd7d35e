//! Sinking: rows that are an elementwise function of other rows are computed in the loop that reads them.
//!
//! Loop-invariant code is computed in bulk before the loop: the result is a stack that is written and read once,
//! in addition to the stack that it is computed from. In the derivative of a long recurrence, where the partials of each trip
//! are a function of its state, that at least doubles the memory. Large rows are therefore computed by the loop that
//! reads them. Small rows are not, since each operation of a trip has a fixed overhead, but in native code; nor are
//! expensive functions, if the stack stays in cache.
//!
//! Law: each value is computed once, by the same operations on the same values, so the results have the same bits. Only
//! the plan of a run asks for this pass: the vectoriser would move out of the loop what the pass moves in.

use std::collections::{BTreeMap, BTreeSet};

use super::rematerialize::is_native;
use crate::array::{Array, with_elem};
use crate::cost::MACHINE;
use crate::ops::{Linear, Property, View};
use crate::program::{Builder, Constant, Loop, Node, NodeId, Op, Program, Rebuilt, Slot};
use crate::rewrite::rules::views::elementwise_on;
use crate::shape::{Shape, size};

/// The largest number of operations that compute a row.
const MOST: usize = 12;

/// The rows of a sequence, as computed from others.
struct Rows {
    /// The operations, operands before uses.
    inner: BTreeSet<NodeId>,
    /// The stacks whose rows they take.
    stacks: BTreeSet<NodeId>,
    /// The values that are the same in all rows, each with the value that it is copies of.
    same: BTreeMap<NodeId, NodeId>,
}

/// The program in which loops compute the rows they read; `None` if nothing changes. The cost of computing is weighted
/// by this factor.
pub(crate) fn sink(program: &Program, costs: f64) -> Option<Program> {
    let uses = program.uses();
    let mut bodies: BTreeMap<NodeId, Program> = BTreeMap::new();
    let mut moved: BTreeMap<NodeId, Vec<Option<Rows>>> = BTreeMap::new();
    for (k, node) in program.nodes().iter().enumerate() {
        let Op::Loop(l) = &node.op else { continue };
        if let Some(body) = sink(&l.body, costs) {
            bodies.insert(k as NodeId, body);
        }
        let rows: Vec<Option<Rows>> = l.xs.iter().map(|x| rows(program, &uses, l, *x, costs)).collect();
        if rows.iter().any(Option::is_some) {
            moved.insert(k as NodeId, rows);
        }
    }
    if bodies.is_empty() && moved.is_empty() {
        return None;
    }
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), &[]);
    Some(program.rebuilt(b, inputs, &mut |b, k, node, now| {
        let Op::Loop(l) = &node.op else { return now.again(b, node) };
        let mut l = (**l).clone();
        if let Some(body) = bodies.get(&k) {
            l.body = body.clone();
        }
        if let Some(rows) = moved.get(&k) {
            l = with_rows(program, &l, rows);
        }
        Rebuilt::One(b.apply(now.op(&Op::Loop(Box::new(l)))))
    }))
}

/// A sequence as a function of the rows of other stacks. `None` if another operation reads the sequence or an
/// intermediate value, if its rows are small, or if the loop would read more than one additional stack.
fn rows(program: &Program, uses: &[u32], l: &Loop<NodeId>, x: NodeId, costs: f64) -> Option<Rows> {
    let bytes = |id: NodeId| {
        let node = &program.nodes()[id as usize];
        size(&node.shape) * node.dtype.width()
    };
    let least = if is_native(l) { 0.0 } else { costs * MACHINE.sunk_row as f64 };
    if uses[x as usize] != 1 || ((bytes(x) / l.n.max(1)) as f64) < least {
        return None;
    }
    let mut rows = Rows { inner: BTreeSet::new(), stacks: BTreeSet::new(), same: BTreeMap::new() };
    // The intermediate values, with their uses by operations that are moved. An operand has a smaller number than its
    // users, so all users are known when the operand is reached.
    let mut open: BTreeMap<NodeId, u32> = BTreeMap::from([(x, 1)]);
    while let Some((id, inside)) = open.pop_last() {
        let node = &program.nodes()[id as usize];
        if node.shape != program.nodes()[x as usize].shape {
            return None;
        } else if number(program, id, &[]).is_some() {
            rows.inner.insert(id);
        } else if inside == uses[id as usize] && node.op.is_elementwise() && rows.inner.len() < MOST {
            rows.inner.insert(id);
            node.op.operands(&mut |a| *open.entry(*a).or_default() += 1);
        } else if let Some(of) = copies(program, l.n, id) {
            rows.same.insert(id, of);
        } else {
            rows.stacks.insert(id);
        }
    }
    let near = (bytes(x) as f64) < costs * MACHINE.level2_stack as f64;
    let cheap = |id: &NodeId| !near || is_cheap(&program.nodes()[*id as usize].op);
    let more = rows.stacks.iter().filter(|stack| !l.xs.contains(stack)).count();
    let pays = rows.inner.contains(&x) && rows.inner.iter().all(cheap) && !rows.stacks.is_empty() && more <= 1;
    // A stack of a wider element type, converted to a narrower one, would be more to read.
    let larger = |stack: &NodeId| bytes(*stack) > bytes(x);
    (pays && !rows.stacks.iter().any(larger)).then_some(rows)
}

/// Whether an operation takes about as long as it takes to read its operands.
fn is_cheap(op: &Op<NodeId>) -> bool {
    matches!(op, Op::Constant(_) | Op::Select(_) | Op::Discrete(..))
        || matches!(op, Op::Linear(op, _) if matches!(**op, Linear::Cast { .. }))
        || op.has(Property::Arithmetic)
}

/// The value that this one replicates `n` times along a new first axis.
fn copies(program: &Program, n: usize, id: NodeId) -> Option<NodeId> {
    let Op::Linear(op, of) = &program.nodes()[id as usize].op else { return None };
    let Linear::Affine { from, into } = &**op else { return None };
    let source = View::identity(&program.nodes()[*of as usize].shape);
    (into.is_identity() && *from == source.widened(n)).then_some(*of)
}

/// A constant of this shape that repeats the number of a given constant, if that constant is uniform.
fn number(program: &Program, id: NodeId, shape: &[usize]) -> Option<Array> {
    let Op::Constant(Constant(c)) = &program.nodes()[id as usize].op else { return None };
    with_elem!(c.dtype(), E => c.splat::<E>().map(|x| Array::full(shape, x)))
}

/// The position of a value in a list; a missing value is added at the end.
fn place(list: &mut Vec<NodeId>, id: NodeId) -> usize {
    list.iter().position(|other| *other == id).unwrap_or_else(|| {
        list.push(id);
        list.len() - 1
    })
}

/// The loop that computes some of its rows.
fn with_rows(program: &Program, l: &Loop<NodeId>, rows: &[Option<Rows>]) -> Loop<NodeId> {
    let carried = l.init.len();
    let mut xs: Vec<NodeId> = l.xs.iter().zip(rows).filter(|(_, rows)| rows.is_none()).map(|(x, _)| *x).collect();
    let mut captured = l.captured.clone();
    for rows in rows.iter().flatten() {
        rows.stacks.iter().for_each(|stack| _ = place(&mut xs, *stack));
        rows.same.values().for_each(|of| _ = place(&mut captured, *of));
    }
    let slot = |id: NodeId, axes: usize| {
        let node: &Node = &program.nodes()[id as usize];
        Slot { name: String::new(), shape: node.shape[axes..].into(), dtype: node.dtype }
    };
    let mut b = Builder::literal();
    let carry: Vec<NodeId> = l.body.inputs()[..carried].iter().map(|slot| b.input(slot.clone())).collect();
    let taken: BTreeMap<NodeId, NodeId> = xs.iter().map(|x| (*x, b.input(slot(*x, 1)))).collect();
    let fixed: Vec<NodeId> = captured.iter().map(|c| b.input(slot(*c, 0))).collect();
    let mut numbers: Vec<Option<NodeId>> = vec![None; l.body.nodes().len()];
    let mut of_sequence = Vec::with_capacity(l.xs.len());
    for (x, rows) in l.xs.iter().zip(rows) {
        of_sequence.push(match rows {
            None => taken[x],
            Some(rows) => {
                let mut known = taken.clone();
                known.extend(rows.same.iter().map(|(id, of)| (*id, fixed[place(&mut captured, *of)])));
                computed(&mut b, program, rows, known)[x]
            }
        });
    }
    let inputs = carry.into_iter().chain(of_sequence).chain(fixed[..l.captured.len()].iter().copied());
    numbers.iter_mut().zip(inputs).for_each(|(number, input)| *number = Some(input));
    b.follow(&l.body, &mut numbers);
    let results: Vec<NodeId> = l.body.results().iter().filter_map(|r| numbers[*r as usize]).collect();
    Loop { body: b.finish(&results, &[]), xs, captured, ..l.clone() }
}

/// The values of one trip.
fn computed(
    b: &mut Builder,
    program: &Program,
    rows: &Rows,
    mut known: BTreeMap<NodeId, NodeId>,
) -> BTreeMap<NodeId, NodeId> {
    for id in &rows.inner {
        let node = &program.nodes()[*id as usize];
        let shape: Shape = node.shape[1..].into();
        let row = match number(program, *id, &shape) {
            Some(constant) => b.apply(Op::Constant(Constant(constant))),
            None => {
                let mut operands = Vec::new();
                node.op.operands(&mut |a| operands.push(known[a]));
                elementwise_on(b, &node.op, &operands, &shape, node.dtype)
            }
        };
        known.insert(*id, row);
    }
    known
}
