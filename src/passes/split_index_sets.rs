//! Index-set splitting: selections by position become concatenations, each part computed by one branch.
//!
//! An array written element by element with branches for its ends (boundary conditions, padding, first and last steps)
//! is, in bulk, computed for all positions in each branch, and then selected from. If a mask holds on an interval of an
//! axis, each branch is computed on the positions where it is chosen, and the parts are concatenated: slices and a
//! concatenation remain, and no mask.
//!
//! A choice is considered with its *cone*: the elementwise operations that serve the choice alone; these can be other
//! choices, and masks made of masks. The intervals of its masks along one axis cut that axis in segments. Each segment
//! computes the part of the cone that it needs, on slices of the operands of the cone. If masks depend on positions
//! along several axes, the next round cuts along the next axis.
//!
//! Law: values are unchanged, to the bit; the pass fires only if the result computes and moves less. The cost of a mask
//! that several choices share is divided among them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use smallvec::SmallVec;

use crate::array::Array;
use crate::cost::{Cost, MACHINE};
use crate::dtype::DType;
use crate::ops::kinds::Kind;
use crate::ops::{Discrete, Linear};
use crate::program::{Builder, Constant, Loop, NodeId, Now, Op, Program, Rebuilt};
use crate::rewrite::facts::Fact;
use crate::rewrite::piece;
use crate::rewrite::rules::{of_one_value, views::elementwise_on};
use crate::shape::{Shape, size};

/// The largest number of operations of a cone, and of segments.
const MOST: usize = 64;

/// A mask that holds on an interval of an axis, or outside it.
type Interval = (usize, Range<usize>, bool);

/// The program in which choices by position are concatenations, if that is cheaper.
///
/// ```
/// use polygrad::passes::{split_index_sets, simplify, vectorize};
/// use polygrad::{Function, build1, cond, tensor};
/// // Twice the first element, and the others.
/// let x = tensor([1.0, 2.0, 3.0, 4.0]);
/// let f = Function::stage(|x| build1(4, |i| cond(i.eq(0), x.at([i]) * 2.0, x.at([i]).sin())), &x);
/// let bulk = split_index_sets(&simplify(&vectorize(f.program())));
/// let expected = "concat axis=0 [2.0 * slice axis=0 0..1 x, sin (slice axis=0 1..4 x)]";
/// assert!(simplify(&bulk).to_string().contains(expected));
/// ```
pub fn split_index_sets(program: &Program) -> Program {
    if program.is_shared() {
        return program.clone();
    }
    chosen(program, &[]).unwrap_or_else(|| program.clone())
}

/// [`split_index_sets`] for a program with facts about its inputs; `None` if nothing changes.
fn chosen(program: &Program, facts: &[Option<Fact>]) -> Option<Program> {
    let (known, now) = literal(program, facts)?;
    let cones = Cones { program, uses: program.uses(), intervals: intervals(program, &known, &now) };
    let plans = cones.plans();
    // The bodies of loops, and of functions with rules, that change.
    let mut inside: BTreeMap<NodeId, Op<NodeId>> = BTreeMap::new();
    for (k, node) in program.nodes().iter().enumerate() {
        let mut changes = false;
        let mut body = |p: &Program, facts: &[Option<Fact>]| {
            let chosen = chosen(p, facts);
            changes |= chosen.is_some();
            chosen.unwrap_or_else(|| p.clone())
        };
        let mut op = None;
        if let Op::Loop(l) = &node.op {
            let outside = now.op(&node.op);
            let facts = if let Op::Loop(l) = &outside { known.facts_inside(l) } else { Vec::new() };
            op = Some(Op::Loop(Box::new(Loop { body: body(&l.body, &facts), ..(**l).clone() })));
        } else if let Op::Custom(custom, args) = &node.op {
            op = Some(Op::Custom(custom.map(&mut |p| body(p, &[])).into(), args.clone()));
        }
        if let Some(op) = op.filter(|_| changes) {
            inside.insert(k as NodeId, op);
        }
    }
    if plans.is_empty() && inside.is_empty() {
        return None;
    }
    let mut b = Builder::new();
    let inputs = b.inputs(program.inputs(), facts);
    Some(program.rebuilt(b, inputs, &mut |b, k, node, now| match (plans.get(&k), inside.get(&k)) {
        (Some(plan), _) => Rebuilt::One(cones.made(b, plan, now)),
        (None, Some(op)) => Rebuilt::One(b.add(now.op(op), node.shape.clone(), node.dtype)),
        (None, None) => now.again(b, node),
    }))
}

/// A builder with all facts about a program, and the number of each value in the builder; `None` if the program has
/// neither choices nor nested programs.
fn literal(program: &Program, facts: &[Option<Fact>]) -> Option<(Builder, Now)> {
    let chooses = |op: &Op<NodeId>| matches!(op, Op::Select(_) | Op::Loop(_) | Op::Custom(..) | Op::Call(..));
    if !program.nodes().iter().any(|node| chooses(&node.op)) {
        return None;
    }
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), facts);
    let now = b.copy(program, inputs);
    Some((b, now))
}

/// The masks that hold on an interval of positions, or outside one.
fn intervals(program: &Program, known: &Builder, now: &Now) -> BTreeMap<NodeId, Interval> {
    let found = |k: usize| Some((k as NodeId, known.interval(now.of(k as NodeId))?));
    (0..program.nodes().len()).filter_map(found).collect()
}

/// A choice and the operations that nothing but the choice needs, cut in segments.
struct SplitPlan {
    axis: usize,
    /// The positions where segments begin, and the end of the last one.
    cuts: Vec<usize>,
    /// The operations of the cone, ascending; the choice is the last.
    cone: Vec<NodeId>,
    /// The operands of the cone that are not in it, ascending.
    leaves: Vec<NodeId>,
}

/// Whether the operation makes a mask from masks.
fn is_logic(op: &Op<NodeId>) -> bool {
    matches!(op, Op::Discrete(Discrete::And | Discrete::Or | Discrete::Not, _))
}

/// Costs of operations that may be counted in part.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    work: f64,
    bytes: f64,
}

impl Share {
    fn add(&mut self, part: f64, whole: Cost) {
        self.work += part * whole.work as f64;
        self.bytes += part * (whole.bytes as f64 + MACHINE.call_bytes as f64 * whole.calls as f64);
    }
}

/// The meaning of an operation within a segment.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    /// A mask that holds everywhere (`true`) or nowhere.
    Known(bool),
    /// The same value as another operation.
    Same(NodeId),
    /// A slice of the whole value.
    Leaf,
    /// The operation on slices of its operands.
    Itself,
}

/// A program whose choices are examined.
struct Cones<'a> {
    program: &'a Program,
    uses: Vec<u32>,
    /// The interval of each mask that has one.
    intervals: BTreeMap<NodeId, Interval>,
}

impl Cones<'_> {
    fn op(&self, id: NodeId) -> &Op<NodeId> {
        &self.program.nodes()[id as usize].op
    }

    /// The choices that become concatenations.
    fn plans(&self) -> BTreeMap<NodeId, SplitPlan> {
        let mut plans: BTreeMap<NodeId, SplitPlan> = BTreeMap::new();
        let mut taken = vec![false; self.uses.len()];
        // From results to operands: an outer choice comes before the choices in its branches.
        for root in (0..self.uses.len()).rev().filter(|_| !self.intervals.is_empty()) {
            if !taken[root]
                && let Op::Select(_) = self.op(root as NodeId)
                && let Some(plan) = self.plan(root as NodeId)
            {
                plan.cone.iter().for_each(|k| taken[*k as usize] = true);
                plans.insert(root as NodeId, plan);
            }
        }
        plans
    }

    /// The cheapest way to cut the choice, if any is cheaper than the choice itself.
    fn plan(&self, root: NodeId) -> Option<SplitPlan> {
        let shape = &self.program.nodes()[root as usize].shape;
        if size(shape) == 0 {
            return None;
        }
        let (mut cone, mut leaves, mut before) = (Vec::new(), Vec::new(), Share::default());
        // For each value the number of uses by the cone, and the share of its cost that the cone pays: masks are often
        // shared by several choices, and each choice could do without them. The last operation comes first, so all users
        // of a value precede it.
        let mut waiting: BTreeMap<NodeId, (u32, f64)> = BTreeMap::from([(root, (self.uses[root as usize], 1.0))]);
        while let Some((id, (times, share))) = waiting.pop_last() {
            let node = &self.program.nodes()[id as usize];
            let alone = times == self.uses[id as usize];
            let inside = (alone && node.op.is_elementwise()) || is_logic(&node.op);
            if inside && node.shape == *shape && cone.len() < MOST {
                cone.push(id);
                before.add(share, self.computed(id, shape));
                node.op.operands(&mut |a| {
                    let (times, paid) = waiting.entry(*a).or_default();
                    *paid += share / f64::from(self.uses[*a as usize]);
                    // The operands of a shared value are shared, too.
                    *times += u32::from(alone);
                });
            } else {
                leaves.push(id);
                let paid = alone || node.dtype == DType::Bool;
                before.add(if paid && self.is_view(id) { share } else { 0.0 }, self.copied(id, shape));
            }
        }
        cone.reverse();
        leaves.reverse();
        let masks = || cone.iter().chain(&leaves).filter_map(|k| self.intervals.get(k));
        let axes: BTreeSet<usize> = masks().map(|(axis, ..)| *axis).collect();
        let cuts = |axis: usize| {
            let ends = masks().filter(|(along, ..)| *along == axis).flat_map(|(_, range, _)| [range.start, range.end]);
            ends.chain([0, shape[axis]]).collect::<BTreeSet<usize>>().into_iter().collect::<Vec<usize>>()
        };
        let plans = axes.into_iter().map(|axis| SplitPlan {
            axis,
            cuts: cuts(axis),
            cone: cone.clone(),
            leaves: leaves.clone(),
        });
        let costs = plans.map(|plan| {
            // The concatenation reads and writes each element.
            let mut after = Share::default();
            after.add(1.0, self.copied(root, shape));
            for segment in plan.segments() {
                let mut part = shape.clone();
                part[plan.axis] = segment.len();
                after.add(1.0, self.cost(&self.meanings(&plan, &segment), &part));
            }
            (after, plan)
        });
        let (after, plan) = costs.min_by(|(a, _), (b, _)| a.bytes.total_cmp(&b.bytes))?;
        let cheaper = after.bytes < before.bytes && after.work <= before.work;
        (plan.cuts.len() <= MOST && cheaper).then_some(plan)
    }

    fn dtype(&self, id: NodeId) -> DType {
        self.program.nodes()[id as usize].dtype
    }

    /// The cost of an elementwise operation on operands of this shape.
    fn computed(&self, id: NodeId, shape: &[usize]) -> Cost {
        let mut operands: SmallVec<[Kind<'_>; 3]> = SmallVec::new();
        self.op(id).operands(&mut |a| operands.push((shape, self.dtype(*a))));
        Cost::whole(operands, (shape, self.dtype(id)))
    }

    /// The cost of copying a part of this shape of a value.
    fn copied(&self, id: NodeId, shape: &[usize]) -> Cost {
        Cost::copy((shape, self.dtype(id)))
    }

    fn is_view(&self, id: NodeId) -> bool {
        matches!(self.op(id), Op::Linear(op, _) if matches!(&**op, Linear::Affine { into, .. } if into.is_identity()))
    }

    fn is_number(&self, id: NodeId) -> bool {
        matches!(self.op(id), Op::Constant(Constant(c)) if of_one_value(c))
    }

    /// The meanings, within a segment, of those operations and operands of the cone that the choice needs there.
    fn meanings(&self, plan: &SplitPlan, segment: &Range<usize>) -> BTreeMap<NodeId, Meaning> {
        let mut meanings: BTreeMap<NodeId, Meaning> = BTreeMap::new();
        let mut all: Vec<NodeId> = plan.leaves.iter().chain(&plan.cone).copied().collect();
        all.sort_unstable();
        for id in all {
            let known = |a: &NodeId| if let Meaning::Known(holds) = meanings[a] { Some(holds) } else { None };
            let by_position = self.intervals.get(&id).filter(|(axis, ..)| *axis == plan.axis);
            let meaning = match (by_position, plan.cone.binary_search(&id), self.op(id)) {
                (Some((_, range, inside)), ..) => Meaning::Known(range.contains(&segment.start) == *inside),
                (None, Err(_), _) => Meaning::Leaf,
                (None, Ok(_), Op::Select([mask, x, y])) => match known(mask) {
                    Some(holds) => Meaning::Same(if holds { *x } else { *y }),
                    None => Meaning::Itself,
                },
                (None, Ok(_), Op::Discrete(op @ (Discrete::And | Discrete::Or), args)) => {
                    let neutral = *op == Discrete::And;
                    match (known(&args[0]), known(&args[1])) {
                        (Some(holds), _) | (_, Some(holds)) if holds != neutral => Meaning::Known(holds),
                        (Some(_), Some(_)) => Meaning::Known(neutral),
                        (Some(_), None) => Meaning::Same(args[1]),
                        (None, Some(_)) => Meaning::Same(args[0]),
                        (None, None) => Meaning::Itself,
                    }
                }
                (None, Ok(_), Op::Discrete(Discrete::Not, args)) => {
                    known(&args[0]).map_or(Meaning::Itself, |holds| Meaning::Known(!holds))
                }
                (None, Ok(_), _) => Meaning::Itself,
            };
            // An operation that equals a mask of known value has that value.
            let meaning = match meaning {
                Meaning::Same(a) => known(&a).map_or(meaning, Meaning::Known),
                Meaning::Known(_) | Meaning::Leaf | Meaning::Itself => meaning,
            };
            meanings.insert(id, meaning);
        }
        let mut needed = BTreeSet::new();
        let mut work: Vec<NodeId> = plan.cone.last().copied().into_iter().collect();
        while let Some(id) = work.pop() {
            if !needed.insert(id) {
                continue;
            }
            match meanings[&id] {
                Meaning::Same(a) => work.push(a),
                Meaning::Itself => self.op(id).operands(&mut |a| work.push(*a)),
                Meaning::Known(_) | Meaning::Leaf => {}
            }
        }
        meanings.retain(|id, _| needed.contains(id));
        meanings
    }

    /// The cost of a segment of this shape.
    fn cost(&self, meanings: &BTreeMap<NodeId, Meaning>, shape: &[usize]) -> Cost {
        let cost = |(id, meaning): (&NodeId, &Meaning)| match meaning {
            Meaning::Leaf if !self.is_number(*id) => self.copied(*id, shape),
            Meaning::Known(_) | Meaning::Same(_) | Meaning::Leaf => Cost::default(),
            Meaning::Itself => self.computed(*id, shape),
        };
        meanings.iter().map(cost).sum()
    }

    /// The concatenation of the segments.
    fn made(&self, b: &mut Builder, plan: &SplitPlan, now: &Now) -> NodeId {
        let parts = plan.segments().map(|segment| self.part(b, plan, &segment, now)).collect();
        b.apply(Op::Concat(plan.axis, parts))
    }

    fn part(&self, b: &mut Builder, plan: &SplitPlan, segment: &Range<usize>, now: &Now) -> NodeId {
        let mut here: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        let mut last = 0;
        for (id, meaning) in self.meanings(plan, segment) {
            let node = &self.program.nodes()[id as usize];
            let mut shape: Shape = node.shape.clone();
            shape[plan.axis] = segment.len();
            last = match meaning {
                Meaning::Known(holds) => b.apply(Op::Constant(Constant(Array::full(&shape, holds)))),
                Meaning::Same(other) => here[&other],
                Meaning::Leaf => piece(b, now.of(id), plan.axis, segment.clone()),
                Meaning::Itself => {
                    let mut operands = Vec::new();
                    node.op.operands(&mut |a| operands.push(here[a]));
                    elementwise_on(b, &node.op, &operands, &shape, node.dtype)
                }
            };
            here.insert(id, last);
        }
        last
    }
}

impl SplitPlan {
    fn segments(&self) -> impl Iterator<Item = Range<usize>> {
        self.cuts.windows(2).map(|ends| ends[0]..ends[1])
    }
}
