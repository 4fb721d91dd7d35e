//! Selections with one mask for all elements become conditionals, which run one branch.
//!
//! A recorded program computes both operands of a selection. Where the mask is one truth value, what is computed for one
//! operand alone is needed only if the mask has that value. If it takes longer than the overhead of a branch, it becomes
//! a branch of a conditional ([`Custom::cond`]). Selections with the same mask that do not depend on each other share one
//! conditional. The pass runs before a derivative is taken, so the derivative of a conditional is a conditional, too.
//!
//! Laws: values are the same, to the bit; the program computes no value that it did not compute before; what has taps
//! stays outside of branches, since it must run.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cost::{MACHINE, tenths};
use crate::program::{Builder, Custom, Loop, Node, NodeId, Now, Op, Program, Rebuilt, Slot, taps};

/// The largest number of masks in one program. A program with more computes scalar by scalar, and has short branches.
const MASKS: usize = 64;

/// The program with conditionals; nothing, if it has no such selection.
pub(crate) fn select_to_branch(program: &Program) -> Option<Program> {
    above(program, tenths(MACHINE.branch))
}

/// The program with a conditional for each selection with one mask, however short its branches are.
pub(crate) fn branched(program: &Program) -> Program {
    above(program, 0).unwrap_or_else(|| program.clone())
}

/// [`select_to_branch`] of branches whose estimated time exceeds a threshold.
fn above(program: &Program, threshold: u64) -> Option<Program> {
    if program.estimate().time < threshold || program.is_shared() {
        return None;
    }
    let inside = of_bodies(program, threshold);
    let mut program = inside.as_ref().unwrap_or(program).clone();
    let mut changed = inside.is_some();
    while let Some(branch) = dearest(&program, threshold) {
        program = branch.applied(&program, threshold);
        changed = true;
    }
    changed.then_some(program)
}

/// The program with conditionals in its loops and functions.
fn of_bodies(program: &Program, threshold: u64) -> Option<Program> {
    let has_bodies = |node: &Node| matches!(node.op, Op::Loop(_) | Op::Custom(..));
    if !program.nodes().iter().any(has_bodies) {
        return None;
    }
    let mut changed = false;
    let mut inner = |body: &Program| {
        let made = above(body, threshold);
        changed |= made.is_some();
        made.unwrap_or_else(|| body.clone())
    };
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), &[]);
    let made = program.rebuilt(b, inputs, &mut |b, _, node, now| {
        if let Op::Loop(l) = &node.op
            && let Op::Loop(outside) = now.op(&node.op)
        {
            let l = Loop { body: inner(&l.body), ..*outside };
            return Rebuilt::One(b.cons(Op::Loop(Box::new(l)), node.shape.clone(), node.dtype));
        }
        if let Op::Custom(c, args) = &node.op {
            let args = args.iter().map(|a| now.of(*a)).collect();
            let rule = Arc::new(c.map(&mut inner));
            return Rebuilt::One(b.cons(Op::Custom(rule, args), node.shape.clone(), node.dtype));
        }
        now.again(b, node)
    });
    changed.then_some(made)
}

/// Selections that become one conditional.
struct Branching {
    mask: NodeId,
    selects: Vec<NodeId>,
    /// Whether an operation is one of the selections.
    is_select: Vec<bool>,
    /// For each operation the branch to which it belongs: 0 where the mask holds, 1 where it does not.
    side: Vec<Option<usize>>,
    /// The estimated time of the branch that takes longer.
    time: u64,
}

/// The scalar mask of a selection, which all elements share.
fn scalar_mask(nodes: &[Node], select: &Op<NodeId>) -> Option<NodeId> {
    let Op::Select([mask, x, y]) = select else { return None };
    let source = if let Op::Linear(_, source) = &nodes[*mask as usize].op { Some(*source) } else { None };
    let root = source.filter(|source| nodes[*source as usize].shape.is_empty()).unwrap_or(*mask);
    let is_one = nodes[root as usize].shape.is_empty() && x != y;
    (is_one && !matches!(nodes[root as usize].op, Op::Constant(_))).then_some(root)
}

/// The selections that save the most time as a conditional, if that is more than the threshold.
fn dearest(program: &Program, threshold: u64) -> Option<Branching> {
    let nodes = program.nodes();
    let mut of_masks: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for (k, node) in nodes.iter().enumerate() {
        if let Some(mask) = scalar_mask(nodes, &node.op) {
            of_masks.entry(mask).or_default().push(k as NodeId);
        }
    }
    if of_masks.is_empty() || of_masks.len() > MASKS {
        return None;
    }
    let users = Users::of(program);
    let mut best: Option<Branching> = None;
    for (mask, selects) in of_masks {
        let selects = independent(nodes, &selects);
        let branching = Branching::of(program, &users, mask, selects);
        if branching.time >= threshold && best.as_ref().is_none_or(|best| branching.time > best.time) {
            best = Some(branching);
        }
    }
    best
}

/// Which of `n` operations these are.
fn marks(n: usize, ids: &[NodeId]) -> Vec<bool> {
    let mut marks = vec![false; n];
    ids.iter().for_each(|id| marks[*id as usize] = true);
    marks
}

/// The first selection, and those after it that depend on none before.
fn independent(nodes: &[Node], selects: &[NodeId]) -> Vec<NodeId> {
    let (mut depends, candidates) = (vec![false; nodes.len()], marks(nodes.len(), selects));
    let mut chosen = Vec::new();
    for k in selects[0] as usize..nodes.len() {
        nodes[k].op.operands(&mut |a| depends[k] |= depends[*a as usize]);
        if !depends[k] && candidates[k] {
            chosen.push(k as NodeId);
            depends[k] = true;
        }
    }
    chosen
}

/// The operations that read each value, and whether it is a result of the program.
struct Users {
    of: Vec<Vec<NodeId>>,
    result: Vec<bool>,
}

impl Users {
    fn of(program: &Program) -> Users {
        let mut of = vec![Vec::new(); program.nodes().len()];
        for (k, node) in program.nodes().iter().enumerate() {
            node.op.operands(&mut |a| of[*a as usize].push(k as NodeId));
        }
        Users { of, result: marks(program.nodes().len(), program.results()) }
    }
}

impl Branching {
    fn of(program: &Program, users: &Users, mask: NodeId, selects: Vec<NodeId>) -> Branching {
        let nodes = program.nodes();
        let is_select = marks(nodes.len(), &selects);
        let mut side: Vec<Option<usize>> = vec![None; nodes.len()];
        let mut times = [0u64; 2];
        let last = selects.last().map_or(0, |last| *last as usize);
        for k in (program.inputs().len()..last).rev() {
            let node = &nodes[k];
            if users.result[k] || users.of[k].is_empty() || matches!(node.op, Op::Constant(_)) || taps(&node.op) {
                continue;
            }
            // The side of all operations that read the value, if these agree.
            let of_user = |user: &NodeId| {
                if !is_select[*user as usize] {
                    return side[*user as usize];
                }
                let Op::Select(operands) = &nodes[*user as usize].op else { return None };
                match operands.map(|a| a as usize == k) {
                    [false, true, false] => Some(0),
                    [false, false, true] => Some(1),
                    [_, _, _] => None,
                }
            };
            let first = users.of[k].first().and_then(of_user);
            if first.is_some() && users.of[k].iter().all(|user| of_user(user) == first) {
                side[k] = first;
            }
        }
        for k in 0..last {
            // A result of an operation that stays outside is read from there.
            if let Op::Output(of, _) = nodes[k].op
                && side[of as usize] != side[k]
            {
                side[k] = None;
            }
        }
        for (k, side) in side.iter().enumerate() {
            if let Some(side) = side {
                times[*side] = times[*side].saturating_add(program.estimate_of(k as NodeId).time);
            }
        }
        Branching { mask, selects, is_select, side, time: times[0].max(times[1]) }
    }

    /// The values from outside that the branches read, in order.
    fn captured(&self, nodes: &[Node]) -> Vec<NodeId> {
        let mut read = vec![false; nodes.len()];
        for (k, _) in self.side.iter().enumerate().filter(|(_, side)| side.is_some()) {
            nodes[k].op.operands(&mut |a| read[*a as usize] = true);
        }
        for select in &self.selects {
            if let Op::Select([_, x, y]) = nodes[*select as usize].op {
                read[x as usize] = true;
                read[y as usize] = true;
            }
        }
        let is_outside = |k: &usize| read[*k] && self.side[*k].is_none() && !matches!(nodes[*k].op, Op::Constant(_));
        (0..nodes.len()).filter(is_outside).map(|k| k as NodeId).collect()
    }

    /// One branch, as a program from the captured values to an operand of each selection.
    fn branch(&self, program: &Program, side: usize, captured: &[NodeId]) -> Program {
        let nodes = program.nodes();
        let mut b = Builder::literal();
        let mut now = Now::inputs(program, &[]);
        for id in captured {
            let node = &nodes[*id as usize];
            let slot = Slot { name: String::new(), shape: node.shape.clone(), dtype: node.dtype };
            now.set(*id, Rebuilt::One(b.input(slot)));
        }
        let of = |select: &NodeId| {
            if let Op::Select([_, operands @ ..]) = &nodes[*select as usize].op { Some(operands[side]) } else { None }
        };
        let results: Vec<NodeId> = self.selects.iter().filter_map(of).collect();
        let mut needed = vec![false; nodes.len()];
        results.iter().for_each(|r| needed[*r as usize] = true);
        for k in (0..nodes.len()).rev().filter(|k| self.side[*k] == Some(side)) {
            nodes[k].op.operands(&mut |a| needed[*a as usize] = true);
        }
        for (k, node) in nodes.iter().enumerate() {
            let inside = self.side[k] == Some(side) || needed[k] && matches!(node.op, Op::Constant(_));
            if inside {
                let before = b.placed(program.place(k as NodeId));
                let made = now.again(&mut b, node);
                b.placed(before);
                now.set(k as NodeId, made);
            }
        }
        b.finish(&results.iter().map(|r| now.of(*r)).collect::<Vec<NodeId>>(), &[])
    }

    /// The program with the conditional in place of the selections.
    fn applied(&self, program: &Program, threshold: u64) -> Program {
        let nodes = program.nodes();
        let captured = self.captured(nodes);
        let branches = [0, 1].map(|side| {
            let branch = self.branch(program, side, &captured);
            above(&branch, threshold).unwrap_or(branch)
        });
        let absent = vec![false; self.selects.len()];
        let rule = Arc::new(Custom::chosen("branch", branches, [absent.clone(), absent]));
        let mut b = Builder::literal();
        let inputs = b.inputs(program.inputs(), &[]);
        let mut now = Now::inputs(program, &inputs);
        let mut made = vec![false; nodes.len()];
        made[..inputs.len()].fill(true);
        for k in (0..nodes.len()).filter(|k| self.side[*k].is_none()) {
            // Operations in their order, but what the conditional reads comes before it: an operation is on the stack
            // while it waits for its operands.
            let mut waiting = vec![k];
            while let Some(k) = waiting.last().copied() {
                let open = self.open_operands(nodes, k, &captured, &made);
                if made[k] || open.is_empty() {
                    waiting.pop();
                } else {
                    waiting.extend(open);
                    continue;
                }
                if made[k] {
                    continue;
                }
                let before = b.placed(program.place(k as NodeId));
                if self.is_select[k] {
                    self.choice(&mut b, &mut now, (&rule, &captured), &mut made);
                } else {
                    let one = now.again(&mut b, &nodes[k]);
                    now.set(k as NodeId, one);
                    made[k] = true;
                }
                b.placed(before);
            }
        }
        let names: Vec<String> = program.outputs().iter().map(|slot| slot.name.clone()).collect();
        b.finish(&program.results().iter().map(|r| now.of(*r)).collect::<Vec<NodeId>>(), &names)
    }

    /// The operands of an operation that are not made yet; of a selection those of the conditional.
    fn open_operands(&self, nodes: &[Node], k: usize, captured: &[NodeId], made: &[bool]) -> Vec<usize> {
        let mut open = Vec::new();
        let mut need = |a: NodeId| {
            if !made[a as usize] {
                open.push(a as usize);
            }
        };
        if self.is_select[k] {
            need(self.mask);
            captured.iter().for_each(|a| need(*a));
        } else {
            nodes[k].op.operands(&mut |a| need(*a));
        }
        open
    }

    /// Adds the conditional, whose results are the selections.
    fn choice(&self, b: &mut Builder, now: &mut Now, (rule, captured): (&Arc<Custom>, &[NodeId]), made: &mut [bool]) {
        let args = std::iter::once(&self.mask).chain(captured).map(|a| now.of(*a)).collect();
        let of = b.apply(Op::Custom(rule.clone(), args));
        for (position, select) in self.selects.iter().enumerate() {
            let result = b.apply(Op::Output(of, position));
            now.set(*select, Rebuilt::One(result));
            made[*select as usize] = true;
        }
    }
}
