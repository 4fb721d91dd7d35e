//! Rematerialization: values that one loop would store for another are computed again there, where that is cheaper.
//!
//! The reverse loop of a derivative reads values that the forward loop stores in each trip. To store a value that is
//! a cheap function of other stored values costs a write and a read of memory, often more than the few sums and
//! products that compute it. The choice follows from sizes alone: small rows are stored, since each operation of a
//! trip has a fixed overhead; large rows are computed again.
//!
//! Law: each value is computed by the same operations on the same values, so the results have the same bits. Only the
//! plan of a run asks for this pass: the vectoriser would move out of the loop what the pass moves in.

use std::collections::{BTreeMap, BTreeSet};

use crate::cost::MACHINE;
use crate::ops::{Linear, Property};
use crate::program::{Builder, Loop, Node, NodeId, Now, Op, Program, Rebuilt, Slot};
use crate::shape::size;

/// The largest number of operations that compute a value again.
const MOST: usize = 12;

/// The program in which loops compute cheap values again; `None` if nothing changes. The cost of computing is weighted
/// by this factor.
pub(crate) fn rematerialize(program: &Program, costs: f64) -> Option<Program> {
    let mut bodies: BTreeMap<usize, Program> = BTreeMap::new();
    let (readers, mut found) = (readers(program), Found::default());
    for (k, node) in program.nodes().iter().enumerate() {
        if let Op::Loop(l) = &node.op {
            if let Some(body) = rematerialize(&l.body, costs) {
                bodies.insert(k, body);
            }
            found.look(program, &readers, k as NodeId, costs);
        }
    }
    if found.values.is_empty() && bodies.is_empty() {
        return None;
    }
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), &[]);
    Some(program.rebuilt(b, inputs, &mut |b, k, node, now| {
        if let Op::Output(of, position) = node.op {
            return match found.position(of, position) {
                Some(position) => Rebuilt::One(b.apply(Op::Output(now.of(of), position))),
                None => Rebuilt::Many(Vec::new()),
            };
        }
        let Op::Loop(l) = &node.op else { return now.again(b, node) };
        let mut l = (**l).clone();
        if let Some(body) = bodies.get(&(k as usize)) {
            l.body = body.clone();
        }
        Rebuilt::One(found.remade(b, program, k, &l, now))
    }))
}

/// The values that are computed again.
#[derive(Default)]
struct Found {
    /// For each output of a loop that is computed again, the loop and the value of its body.
    values: BTreeMap<NodeId, (NodeId, RecomputedValue)>,
    /// The positions of the results that loops return no more.
    dropped: BTreeMap<NodeId, BTreeSet<usize>>,
}

/// A value of the body of a loop, and what it is computed from.
struct RecomputedValue {
    id: NodeId,
    /// The values of the body on the way, operands before uses, the value itself last.
    inner: Vec<NodeId>,
    /// Values of the body, each with where it is outside.
    leaves: Vec<(NodeId, Leaf)>,
}

/// Where the trips of another loop find a value of a body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Leaf {
    /// The rows of a sequence.
    Sequence(NodeId),
    /// The rows of a result of a loop.
    Stack(NodeId, usize),
    /// The same value in all trips.
    Captured(NodeId),
}

impl Found {
    /// Looks for outputs of a loop that only other loops read, row by row, and that these other loops should compute.
    fn look(&mut self, program: &Program, readers: &Readers, k: NodeId, costs: f64) {
        let l = loop_of(program, k);
        let carried = l.init.len();
        let mut leaves: BTreeMap<NodeId, Leaf> = BTreeMap::new();
        for (row, x) in l.xs.iter().enumerate() {
            if !self.values.contains_key(x) {
                leaves.insert((carried + row) as NodeId, Leaf::Sequence(*x));
            }
        }
        for (c, x) in l.captured.iter().enumerate() {
            leaves.insert((carried + l.xs.len() + c) as NodeId, Leaf::Captured(*x));
        }
        // Results that stay are read by others; carries among them are what most values are computed from.
        let results = l.body.results();
        let given = l.body.inputs().len();
        let mut open: Vec<usize> = Vec::new();
        for ((_, position), readers) in readers.range((k, carried)..=(k, results.len())) {
            if readers.is_some() && results[*position] as usize >= given {
                open.push(*position);
            } else {
                leaves.entry(results[*position]).or_insert(Leaf::Stack(k, *position));
            }
        }
        while !open.is_empty() {
            let before = open.len();
            open.retain(|position| {
                let Some(Some((id, loops))) = readers.get(&(k, *position)) else { return true };
                let Some(value) = computed(&l.body, results[*position], &leaves) else { return true };
                if !pays(program, l, &value, loops, costs) {
                    return true;
                }
                self.values.insert(*id, (k, value));
                self.dropped.entry(k).or_default().insert(*position);
                false
            });
            if open.len() == before {
                let kept = open.remove(0);
                leaves.entry(results[kept]).or_insert(Leaf::Stack(k, kept));
            }
        }
    }

    /// The new position of a result of a loop, if the loop still returns it.
    fn position(&self, of: NodeId, position: usize) -> Option<usize> {
        let Some(dropped) = self.dropped.get(&of) else { return Some(position) };
        (!dropped.contains(&position)).then(|| position - dropped.range(..position).count())
    }

    /// A loop without the results that its readers compute again, and with the values that it computes again itself.
    fn remade(&self, b: &mut Builder, program: &Program, k: NodeId, l: &Loop<NodeId>, now: &Now) -> NodeId {
        let again: Vec<Option<&(NodeId, RecomputedValue)>> = l.xs.iter().map(|x| self.values.get(x)).collect();
        let mut xs: Vec<NodeId> = l.xs.iter().filter(|x| !self.values.contains_key(x)).map(|x| now.of(*x)).collect();
        let mut captured: Vec<NodeId> = l.captured.iter().map(|x| now.of(*x)).collect();
        let mut place = |leaf: &Leaf| {
            let (id, list) = match leaf {
                Leaf::Sequence(id) => (now.of(*id), &mut xs),
                Leaf::Captured(id) => (now.of(*id), &mut captured),
                Leaf::Stack(of, position) => {
                    let position = self.position(*of, *position).expect("a stack that is read is kept");
                    (b.apply(Op::Output(now.of(*of), position)), &mut xs)
                }
            };
            list.iter().position(|other| *other == id).unwrap_or_else(|| {
                list.push(id);
                list.len() - 1
            })
        };
        let of_value =
            |(_, value): &&(NodeId, RecomputedValue)| value.leaves.iter().map(|(_, leaf)| place(leaf)).collect();
        let mut places = again.iter().flatten().map(of_value).collect::<Vec<Vec<usize>>>().into_iter();

        let mut body = Builder::literal();
        let slot =
            |node: &Node, row: usize| Slot { name: String::new(), shape: node.shape[row..].into(), dtype: node.dtype };
        let carried = l.init.len();
        let mut numbers: Vec<Option<NodeId>> = vec![None; l.body.nodes().len()];
        for (number, input) in numbers.iter_mut().zip(&l.body.inputs()[..carried]) {
            *number = Some(body.input(input.clone()));
        }
        let rows: Vec<NodeId> = xs.iter().map(|x| body.input(slot(b.node(*x), 1))).collect();
        let same: Vec<NodeId> = captured.iter().map(|x| body.input(slot(b.node(*x), 0))).collect();
        let mut kept = rows.iter();
        for (number, again) in numbers[carried..].iter_mut().zip(&again) {
            *number = match again {
                None => kept.next().copied(),
                Some((of, value)) => {
                    let places = places.next().expect("each value has the places of its leaves");
                    let leaf = |((id, leaf), place): (&(NodeId, Leaf), usize)| {
                        (*id, if matches!(leaf, Leaf::Captured(_)) { same[place] } else { rows[place] })
                    };
                    let leaves = value.leaves.iter().zip(places).map(leaf).collect();
                    Some(value.copied(&mut body, &loop_of(program, *of).body, leaves))
                }
            };
        }
        for (number, id) in numbers[carried + l.xs.len()..].iter_mut().zip(&same[..l.captured.len()]) {
            *number = Some(*id);
        }
        body.follow(&l.body, &mut numbers);
        let results = l.body.results().iter().enumerate().filter(|(position, _)| self.position(k, *position).is_some());
        let results: Vec<NodeId> = results.filter_map(|(_, id)| numbers[*id as usize]).collect();
        let body = body.finish(&results, &[]);
        let init = l.init.iter().map(|id| now.of(*id)).collect();
        b.apply(Op::Loop(Box::new(Loop { n: l.n, reverse: l.reverse, body, init, xs, captured })))
    }
}

impl RecomputedValue {
    /// The value, computed in another body from its leaves.
    fn copied(&self, b: &mut Builder, body: &Program, leaves: BTreeMap<NodeId, NodeId>) -> NodeId {
        let mut done = leaves;
        for id in &self.inner {
            let node = &body.nodes()[*id as usize];
            let op = node.op.map(&mut |a| done[a]);
            done.insert(*id, b.add(op, node.shape.clone(), node.dtype));
        }
        done[&self.id]
    }
}

fn loop_of(program: &Program, k: NodeId) -> &Loop<NodeId> {
    let Op::Loop(l) = &program.nodes()[k as usize].op else { unreachable!("the operation is a loop") };
    l
}

/// For each result of a loop that is used, by the loop and its position: the number of its `Output`, and the loops that
/// read it, if nothing else does and they read it row by row.
type Readers = BTreeMap<(NodeId, usize), Option<(NodeId, Vec<NodeId>)>>;

fn readers(program: &Program) -> Readers {
    let nodes = program.nodes();
    let mut readers = Readers::new();
    let mut read = |id: NodeId, by: Option<NodeId>| {
        let Op::Output(of, position) = nodes[id as usize].op else { return };
        let loops = readers.entry((of, position)).or_insert_with(|| Some((id, Vec::new())));
        match (by, &mut *loops) {
            (Some(by), Some((_, loops))) => loops.push(by),
            (Some(_), None) => {}
            (None, _) => *loops = None,
        }
    };
    for (k, node) in nodes.iter().enumerate() {
        if let Op::Loop(l) = &node.op {
            l.init.iter().chain(&l.captured).for_each(|id| read(*id, None));
            l.xs.iter().for_each(|id| read(*id, Some(k as NodeId)));
        } else if !matches!(node.op, Op::Output(..)) {
            node.op.operands(&mut |id| read(*id, None));
        }
    }
    program.results().iter().for_each(|id| read(*id, None));
    readers
}

/// A value of a body as computed from leaves by a few cheap operations, if it can be.
fn computed(body: &Program, id: NodeId, leaves: &BTreeMap<NodeId, Leaf>) -> Option<RecomputedValue> {
    let (mut inner, mut found) = (BTreeSet::new(), BTreeMap::new());
    let mut work = vec![id];
    while let Some(id) = work.pop() {
        if let Some(leaf) = leaves.get(&id) {
            found.insert(id, *leaf);
            continue;
        }
        let node = &body.nodes()[id as usize];
        if inner.insert(id) {
            if !is_cheap(&node.op) || inner.len() > MOST {
                return None;
            }
            node.op.operands(&mut |a| work.push(*a));
        }
    }
    Some(RecomputedValue { id, inner: inner.into_iter().collect(), leaves: found.into_iter().collect() })
}

/// Whether an operation takes about as long as it takes to read its operands from the nearest cache.
fn is_cheap(op: &Op<NodeId>) -> bool {
    let Op::Linear(op, _) = op else {
        return matches!(op, Op::Constant(_) | Op::Select(_))
            || matches!(op, Op::Discrete(op, _) if op.is_elementwise())
            || op.has(Property::Arithmetic);
    };
    match &**op {
        Linear::Affine { from, .. } => size(from.shape()) <= size(op.output_shape()),
        Linear::Reshape { .. } | Linear::Cast { .. } => true,
        Linear::Fourier { .. } | Linear::PrefixSum { .. } => false,
    }
}

/// Whether computing a value in each trip of the reading loops costs less than writing it in each trip of one loop
/// and reading it in the others.
fn pays(program: &Program, l: &Loop<NodeId>, value: &RecomputedValue, loops: &[NodeId], costs: f64) -> bool {
    let bytes = |node: &Node| (size(&node.shape) * node.dtype.width()) as f64;
    let far = |bytes: f64| bytes * l.n as f64 > MACHINE.level2_stack as f64;
    let rate = |bytes: f64| if far(bytes) { MACHINE.far_byte } else { MACHINE.near_byte };
    let moved = |node: &Node| bytes(node) * rate(bytes(node));
    let body = l.body.nodes();
    let saved = moved(&body[value.id as usize]) * (1 + loops.len()) as f64;
    let mut cost = 0.0;
    for id in &value.inner {
        if !matches!(body[*id as usize].op, Op::Constant(_)) {
            let time = MACHINE.trip_call + MACHINE.arithmetic / 8.0 * bytes(&body[*id as usize]);
            cost += time * loops.len() as f64;
        }
    }
    for k in loops {
        let reader = loop_of(program, *k);
        for (id, leaf) in &value.leaves {
            let is_read = match leaf {
                Leaf::Captured(_) => true,
                Leaf::Sequence(x) => reader.xs.contains(x),
                Leaf::Stack(of, position) => {
                    reader.xs.iter().any(|x| program.nodes()[*x as usize].op == Op::Output(*of, *position))
                }
            };
            cost += if is_read { 0.0 } else { moved(&body[*id as usize]) };
        }
    }
    !loops.is_empty() && saved > costs * cost
}
