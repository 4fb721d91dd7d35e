//! Rematerialization: values that one loop would store for another are computed again there, where that is cheaper.
//!
//! The reverse loop of a derivative reads values that the forward loop stores in each trip. To store a value that is
//! a cheap function of others costs a write and a read of memory, often more than the few sums and products that
//! compute it. What is stored is the cheapest cut (`min_cut`) between what both loops have and what is read: its price is the
//! bytes that are moved and the operations that run again. Small rows are stored, since each operation of a trip has
//! a fixed overhead, but not in native code; large rows are computed again.
//!
//! Law: each value is computed by the same operations on the same values, so the results have the same bits. Only the
//! plan of a run asks for this pass: the vectoriser would move out of the loop what the pass moves in.

use std::collections::{BTreeMap, BTreeSet};

use super::min_cut::{NEVER, Network, SINK, SOURCE};
use crate::cost::MACHINE;
use crate::ops::{Linear, Property};
use crate::program::{Builder, Loop, Node, NodeId, Now, Op, Program, Rebuilt, Slot};
use crate::shape::size;

/// The program in which loops compute cheap values again; `None` if nothing changes. The cost of computing is weighted
/// by this factor.
pub(crate) fn rematerialize(program: &Program, costs: f64) -> Option<Program> {
    let inner = in_bodies(program, costs);
    let outer = between_loops(inner.as_ref().unwrap_or(program), costs);
    outer.or(inner)
}

/// The program with bodies of loops in which loops compute values again.
fn in_bodies(program: &Program, costs: f64) -> Option<Program> {
    let mut bodies: BTreeMap<NodeId, Program> = BTreeMap::new();
    for (k, node) in (0..).zip(program.nodes()) {
        if let Op::Loop(l) = &node.op
            && let Some(body) = rematerialize(&l.body, costs)
        {
            bodies.insert(k, body);
        }
    }
    if bodies.is_empty() {
        return None;
    }
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), &[]);
    Some(program.rebuilt(b, inputs, &mut |b, k, node, now| {
        let (Op::Loop(l), Some(body)) = (&node.op, bodies.remove(&k)) else { return now.again(b, node) };
        let again = |ids: &[NodeId]| ids.iter().map(|id| now.of(*id)).collect();
        let (init, xs, captured) = (again(&l.init), again(&l.xs), again(&l.captured));
        let l = Loop { n: l.n, reverse: l.reverse, body, init, xs, captured };
        Rebuilt::One(b.apply(Op::Loop(Box::new(l))))
    }))
}

/// The program whose loops compute values of other loops again.
fn between_loops(program: &Program, costs: f64) -> Option<Program> {
    let (readers, mut found) = (readers(program), Found::default());
    for (k, node) in (0..).zip(program.nodes()) {
        if matches!(node.op, Op::Loop(_)) {
            found.look(program, &readers, k, costs);
        }
    }
    if found.values.is_empty() {
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
        Rebuilt::One(found.remade(b, program, k, l, now))
    }))
}

/// The values that are computed again.
#[derive(Default)]
struct Found {
    /// For each output of a loop that is not read any more, the loop and the value of its body.
    values: BTreeMap<NodeId, (NodeId, NodeId)>,
    /// What changes in loops that store values.
    changes: BTreeMap<NodeId, Change>,
}

/// What changes in a loop that stores values for others.
#[derive(Default)]
struct Change {
    /// The positions of the results that the loop returns no more.
    dropped: BTreeSet<usize>,
    /// The values of the body that it returns instead.
    added: Vec<NodeId>,
    /// The values of the body that readers compute.
    computed: BTreeSet<NodeId>,
    /// Where readers find the others.
    leaves: BTreeMap<NodeId, Leaf>,
}

/// Where the trips of another loop find a value of a body.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Leaf {
    /// The rows of a sequence.
    Sequence(NodeId),
    /// The rows of a result of a loop, which is this value of its body.
    Stack(NodeId, NodeId),
    /// The same value in all trips.
    Captured(NodeId),
}

impl Found {
    /// Looks for outputs of a loop that only other loops read, row by row, and that these other loops should compute.
    fn look(&mut self, program: &Program, readers: &Readers, k: NodeId, costs: f64) {
        let l = loop_of(program, k);
        let (carried, results) = (l.init.len(), l.body.results());
        let mut groups: BTreeMap<&[NodeId], Vec<usize>> = BTreeMap::new();
        for ((_, position), readers) in readers.range((k, carried)..=(k, results.len())) {
            if let Some((_, loops)) = readers
                && !loops.is_empty()
                && results[*position] as usize >= l.body.inputs().len()
            {
                groups.entry(loops).or_default().push(*position);
            }
        }
        // Loops that read the same rows choose together; a program has seldom more than one such set of loops.
        let most = groups.into_iter().max_by_key(|(loops, positions)| (positions.len(), std::cmp::Reverse(*loops)));
        let Some((loops, positions)) = most else { return };
        let leaves = self.leaves(l);
        let kept: BTreeSet<NodeId> = (carried..results.len())
            .filter(|position| readers.contains_key(&(k, *position)) && !positions.contains(position))
            .map(|position| results[position])
            .collect();
        let needed: BTreeSet<NodeId> = positions.iter().map(|position| results[*position]).collect();
        let all: f64 = needed.iter().map(|id| bytes(&l.body.nodes()[*id as usize])).sum();
        let far = all * l.n as f64 > MACHINE.level2_stack as f64;
        let choice = Choice {
            program,
            k,
            l,
            loops,
            costs,
            byte: if far { MACHINE.far_byte } else { MACHINE.near_byte },
            native: loops.iter().all(|k| is_native(loop_of(program, *k))),
            leaves: &leaves,
            kept: &kept,
            needed: &needed,
        };
        let Some((computed, stored)) = choice.best() else { return };
        let change = self.changes.entry(k).or_default();
        for position in positions {
            let (id, _) = readers[&(k, position)].as_ref().expect("the loops that read the position were found");
            if computed.contains(&results[position]) {
                change.dropped.insert(position);
                self.values.insert(*id, (k, results[position]));
            }
        }
        change.added = stored.iter().copied().filter(|id| !needed.contains(id)).collect();
        change.leaves = leaves;
        change.leaves.extend(stored.iter().chain(&kept).map(|id| (*id, Leaf::Stack(k, *id))));
        change.computed = computed;
    }

    /// The inputs of a body that other loops can read, too.
    fn leaves(&self, l: &Loop<NodeId>) -> BTreeMap<NodeId, Leaf> {
        let mut leaves: BTreeMap<NodeId, Leaf> = BTreeMap::new();
        let carried = l.init.len();
        for (row, x) in l.xs.iter().enumerate() {
            if !self.values.contains_key(x) {
                leaves.insert((carried + row) as NodeId, Leaf::Sequence(*x));
            }
        }
        for (c, x) in l.captured.iter().enumerate() {
            leaves.insert((carried + l.xs.len() + c) as NodeId, Leaf::Captured(*x));
        }
        leaves
    }

    /// The new position of a result of a loop, if the loop still returns it.
    fn position(&self, of: NodeId, position: usize) -> Option<usize> {
        let Some(change) = self.changes.get(&of) else { return Some(position) };
        (!change.dropped.contains(&position)).then(|| position - change.dropped.range(..position).count())
    }

    /// The position of a value of the body of a loop among its new results.
    fn position_of(&self, program: &Program, of: NodeId, id: NodeId) -> usize {
        let (l, change) = (loop_of(program, of), &self.changes[&of]);
        let (results, carried) = (l.body.results(), l.init.len());
        let kept = (carried..results.len())
            .filter(|position| results[*position] == id)
            .find_map(|position| self.position(of, position));
        kept.unwrap_or_else(|| {
            let added = change.added.iter().position(|added| *added == id).expect("a value that is read is returned");
            results.len() - change.dropped.len() + added
        })
    }

    /// A loop without the results that its readers compute again, and with the values that it computes again itself.
    fn remade(&self, b: &mut Builder, program: &Program, k: NodeId, l: &Loop<NodeId>, now: &Now) -> NodeId {
        let mut xs: Vec<NodeId> = l.xs.iter().filter(|x| !self.values.contains_key(x)).map(|x| now.of(*x)).collect();
        let mut captured: Vec<NodeId> = l.captured.iter().map(|x| now.of(*x)).collect();
        // What this loop computes again, by the loop that computed it first.
        let mut again: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for (of, id) in l.xs.iter().filter_map(|x| self.values.get(x)) {
            again.entry(*of).or_default().push(*id);
        }
        let mut places: Vec<(NodeId, Part, Vec<Taken>)> = Vec::new();
        for (of, ids) in &again {
            let part = self.changes[of].part(&loop_of(program, *of).body, ids);
            let of_leaf = |id: &NodeId| {
                let leaf = self.changes[of].leaves[id];
                let (outside, list) = match leaf {
                    Leaf::Sequence(x) => (now.of(x), &mut xs),
                    Leaf::Captured(x) => (now.of(x), &mut captured),
                    Leaf::Stack(from, value) => {
                        let position = self.position_of(program, from, value);
                        (b.apply(Op::Output(now.of(from), position)), &mut xs)
                    }
                };
                let place = list.iter().position(|other| *other == outside).unwrap_or_else(|| {
                    list.push(outside);
                    list.len() - 1
                });
                (*id, matches!(leaf, Leaf::Captured(_)), place)
            };
            let leaves = part.leaves.iter().map(of_leaf).collect();
            places.push((*of, part, leaves));
        }

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
        let mut done: BTreeMap<(NodeId, NodeId), NodeId> = BTreeMap::new();
        for (of, part, leaves) in &places {
            let leaf = |(id, is_same, place): &Taken| (*id, if *is_same { same[*place] } else { rows[*place] });
            let made = part.copied(&mut body, &loop_of(program, *of).body, leaves.iter().map(leaf).collect());
            done.extend(made.into_iter().map(|(id, made)| ((*of, id), made)));
        }
        let mut kept = rows.iter();
        for (number, x) in numbers[carried..].iter_mut().zip(&l.xs) {
            *number = match self.values.get(x) {
                None => kept.next().copied(),
                Some(value) => Some(done[value]),
            };
        }
        for (number, id) in numbers[carried + l.xs.len()..].iter_mut().zip(&same[..l.captured.len()]) {
            *number = Some(*id);
        }
        body.follow(&l.body, &mut numbers);
        let results = l.body.results().iter().enumerate().filter(|(position, _)| self.position(k, *position).is_some());
        let added = self.changes.get(&k).map_or(&[][..], |change| &change.added);
        let results: Vec<NodeId> =
            results.map(|(_, id)| id).chain(added).filter_map(|id| numbers[*id as usize]).collect();
        let body = body.finish(&results, &[]);
        let init = l.init.iter().map(|id| now.of(*id)).collect();
        b.apply(Op::Loop(Box::new(Loop { n: l.n, reverse: l.reverse, body, init, xs, captured })))
    }
}

/// A value that another loop takes from outside: whether it is the same in all trips, and its number among these or among
/// the rows.
type Taken = (NodeId, bool, usize);

/// A part of the body of a loop that another loop computes again.
struct Part {
    /// The values, operands before uses.
    inner: BTreeSet<NodeId>,
    /// The values that these are computed from.
    leaves: BTreeSet<NodeId>,
}

impl Change {
    /// The part that computes some values.
    fn part(&self, body: &Program, ids: &[NodeId]) -> Part {
        let (mut inner, mut leaves) = (BTreeSet::new(), BTreeSet::new());
        let mut work = ids.to_vec();
        while let Some(id) = work.pop() {
            if !self.computed.contains(&id) {
                leaves.insert(id);
            } else if inner.insert(id) {
                body.nodes()[id as usize].op.operands(&mut |a| work.push(*a));
            }
        }
        Part { inner, leaves }
    }
}

impl Part {
    /// The values, computed in another body from the leaves.
    fn copied(&self, b: &mut Builder, body: &Program, leaves: BTreeMap<NodeId, NodeId>) -> BTreeMap<NodeId, NodeId> {
        let mut done = leaves;
        for id in &self.inner {
            let node = &body.nodes()[*id as usize];
            let op = node.op.map(&mut |a| done[a]);
            done.insert(*id, b.add(op, node.shape.clone(), node.dtype));
        }
        done
    }
}

/// The choice of what a loop stores for others, and of what these compute again.
struct Choice<'a> {
    program: &'a Program,
    k: NodeId,
    l: &'a Loop<NodeId>,
    /// The loops that read the rows.
    loops: &'a [NodeId],
    /// The weight of the cost of computing.
    costs: f64,
    /// Nanoseconds to move a byte of what is stored.
    byte: f64,
    /// Whether the loops that read are native code.
    native: bool,
    leaves: &'a BTreeMap<NodeId, Leaf>,
    /// The values that the loop returns anyway.
    kept: &'a BTreeSet<NodeId>,
    /// The values that are read.
    needed: &'a BTreeSet<NodeId>,
}

impl Choice<'_> {
    /// The values that are computed again, and those that are stored for that, at the least cost; `None` if all that are
    /// read are stored.
    ///
    /// Each value is two vertices. An edge between them costs what it takes to store the value; one from the source to the
    /// first what it takes to compute it again; a value that is computed again needs its operands.
    fn best(&self) -> Option<(BTreeSet<NodeId>, BTreeSet<NodeId>)> {
        let mut network = Network::new();
        let mut vertices: BTreeMap<NodeId, [usize; 2]> = BTreeMap::new();
        let mut work: Vec<NodeId> = self.needed.iter().copied().collect();
        while let Some(id) = work.pop() {
            if vertices.contains_key(&id) {
                continue;
            }
            let [first, second] = [network.vertex(), network.vertex()];
            vertices.insert(id, [first, second]);
            let again = self.computing(id);
            network.edge(SOURCE, first, again.map_or(NEVER, picoseconds));
            network.edge(first, second, picoseconds(self.storing(id)));
            if again.is_some() {
                self.l.body.nodes()[id as usize].op.operands(&mut |a| work.push(*a));
            }
        }
        for (id, [first, second]) in &vertices {
            if self.needed.contains(id) {
                network.edge(*second, SINK, NEVER);
            }
            if self.computing(*id).is_some() {
                self.l.body.nodes()[*id as usize].op.operands(&mut |a| network.edge(vertices[a][1], *first, NEVER));
            }
        }
        let behind = network.cut();
        let of = |wanted: [bool; 2]| {
            let chosen = vertices.iter().filter(|(_, [first, second])| [behind[*first], behind[*second]] == wanted);
            chosen.map(|(id, _)| *id).collect::<BTreeSet<NodeId>>()
        };
        let (computed, stored) = (of([true, true]), of([false, true]));
        let is_new = |id: &NodeId| !self.leaves.contains_key(id) && !self.kept.contains(id);
        let spares = self.needed.iter().any(|id| computed.contains(id));
        spares.then(|| (computed, stored.into_iter().filter(is_new).collect()))
    }

    /// Nanoseconds to write a value in each trip of the loop, and to read it in the others: less if it is there anyway.
    fn storing(&self, id: NodeId) -> f64 {
        let moved = self.byte * bytes(&self.l.body.nodes()[id as usize]);
        let all = self.loops.len();
        let readers = match self.leaves.get(&id) {
            Some(Leaf::Captured(_)) => 0,
            Some(Leaf::Sequence(x)) => all - self.readers(&|row| row == *x),
            Some(Leaf::Stack(..)) | None if self.kept.contains(&id) => all - self.readers(&|row| self.is_row(row, id)),
            Some(Leaf::Stack(..)) | None => all + 1,
        };
        moved * readers as f64
    }

    /// The number of the other loops that read such rows anyway.
    fn readers(&self, is: &dyn Fn(NodeId) -> bool) -> usize {
        self.loops.iter().filter(|k| loop_of(self.program, **k).xs.iter().any(|row| is(*row))).count()
    }

    /// Whether a sequence has the rows of a value of the body.
    fn is_row(&self, x: NodeId, id: NodeId) -> bool {
        matches!(self.program.nodes()[x as usize].op, Op::Output(of, position)
            if of == self.k && self.l.body.results()[position] == id)
    }

    /// Nanoseconds to compute a value again in each trip of the other loops; `None` if they read it.
    fn computing(&self, id: NodeId) -> Option<f64> {
        let node = &self.l.body.nodes()[id as usize];
        let is_there = self.leaves.contains_key(&id) || self.kept.contains(&id);
        if is_there || (id as usize) < self.l.body.inputs().len() {
            return None;
        }
        let elements = size(&node.shape) as f64;
        let (op, cheap) = (&node.op, is_cheap(&node.op));
        let time = if matches!(op, Op::Constant(_)) {
            0.0
        } else if !self.native {
            cheap.then(|| MACHINE.trip_call + MACHINE.arithmetic / 8.0 * bytes(node))?
        } else if matches!(op, Op::Linear(..)) {
            cheap.then_some(MACHINE.tile_view * elements)?
        } else if cheap {
            MACHINE.native_number * elements
        } else {
            op.has(Property::Division).then_some(3.0 * MACHINE.native_number * elements)?
        };
        Some(self.costs * time * self.loops.len() as f64)
    }
}

/// Whether a loop is small enough for native code, in which an operation has no start.
pub(super) fn is_native(l: &Loop<NodeId>) -> bool {
    cfg!(all(feature = "jit", not(target_family = "wasm")))
        && l.body.nodes().iter().all(|node| size(&node.shape) <= MACHINE.native_group)
}

/// The bytes of a value in each trip.
fn bytes(node: &Node) -> f64 {
    (size(&node.shape) * node.dtype.width()) as f64
}

/// A time as a capacity.
fn picoseconds(nanoseconds: f64) -> u64 {
    (nanoseconds * 1000.0) as u64
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
            // A loop may read the rows twice.
            (Some(by), Some((_, loops))) if loops.last() != Some(&by) => loops.push(by),
            (Some(_), _) => {}
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
