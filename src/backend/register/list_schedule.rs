//! List scheduling: instructions by the length of their critical paths; equal independent instructions as one run.
//!
//! Where possible, an instruction comes right after the one that computes its operand, which is then still in a machine
//! register.
//!
//! Law: an instruction comes after those that compute its operands, and the instructions of a run are independent.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use super::Opcode;
use super::assign::{Selected, Selection};
use super::ssa::SsaValues;
use crate::backend::ir::fusion::ValueId;

/// No instruction.
const NONE: u32 = u32::MAX;

/// The least length of a run: of arithmetic instructions, where a run saves their dispatch, and of elementary
/// functions, where a run fills a vector.
const ARITHMETIC: usize = 16;
const FUNCTIONS: usize = 8;

/// Scheduled instructions.
pub(crate) struct Ordered {
    pub(crate) selected: Vec<Selected>,
    /// The lengths of the runs, in order; 1 for a single instruction.
    pub(crate) runs: Vec<usize>,
}

impl Ordered {
    /// The instructions in the given order, without runs.
    pub(crate) fn single(selected: &[Selected]) -> Ordered {
        Ordered { selected: selected.to_vec(), runs: vec![1; selected.len()] }
    }
}

/// Schedules instructions.
pub(crate) fn ordered(selected: &[Selected], values: &SsaValues) -> Ordered {
    let mut ready = ReadyInstruction::new(selected, values);
    let (mut order, mut runs) = (Vec::with_capacity(selected.len()), Vec::new());
    while order.len() < selected.len() {
        let start = order.len();
        match ready.run() {
            Some(run) => order.extend(run),
            None => order.push(ready.next(order.last().copied())),
        }
        order[start..].iter().for_each(|k| ready.finish(*k));
        runs.push(order.len() - start);
    }
    Ordered { selected: order.into_iter().map(|k| selected[k as usize].clone()).collect(), runs }
}

/// The state of the scheduler: instructions are ready when all their operands are computed.
struct ReadyInstruction<'a> {
    selected: &'a [Selected],
    graph: DependenceGraph,
    /// For each instruction, the number of operands that are not computed yet, and whether it is scheduled.
    missing: Vec<u32>,
    done: Vec<bool>,
    highest: BinaryHeap<(u32, Reverse<u32>)>,
    /// Ready instructions that may be in runs, by selection; some of them may be scheduled by now.
    equal: Vec<(Selection, Vec<u32>)>,
    /// The number of ready arithmetic instructions that are not scheduled.
    arithmetic: usize,
    /// For each instruction, its list in `equal`.
    lists: Vec<u32>,
}

impl<'a> ReadyInstruction<'a> {
    fn new(selected: &'a [Selected], values: &SsaValues) -> ReadyInstruction<'a> {
        let graph = DependenceGraph::new(selected, values);
        // Values that are stored at each trip are stored right after they are computed, so they are not in runs.
        let stored: HashSet<ValueId> = values.outputs.iter().map(|(v, _)| *v).collect();
        let mut equal: Vec<(Selection, Vec<u32>)> = Vec::new();
        let mut lists = vec![NONE; selected.len()];
        for (k, instruction) in selected
            .iter()
            .enumerate()
            .filter(|(_, instruction)| instruction.what.runs() && !stored.contains(&instruction.out))
        {
            let list = equal.iter().position(|(what, _)| *what == instruction.what).unwrap_or_else(|| {
                equal.push((instruction.what, Vec::new()));
                equal.len() - 1
            });
            lists[k] = list as u32;
        }
        let missing = graph.operands.clone();
        let highest = BinaryHeap::with_capacity(selected.len());
        let mut ready = ReadyInstruction {
            selected,
            graph,
            missing,
            done: vec![false; selected.len()],
            highest,
            equal,
            arithmetic: 0,
            lists,
        };
        (0..selected.len())
            .filter(|k| ready.missing[*k] == 0)
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|k| ready.add(k as u32));
        ready
    }

    fn is_arithmetic(&self, k: u32) -> bool {
        matches!(self.selected[k as usize].what, Selection::Simple(_))
    }

    fn add(&mut self, k: u32) {
        self.highest.push((self.graph.heights[k as usize], Reverse(k)));
        self.arithmetic += usize::from(self.is_arithmetic(k));
        if self.lists[k as usize] != NONE {
            self.equal[self.lists[k as usize] as usize].1.push(k);
        }
    }

    /// A run of all ready instructions of one kind, if there are enough; of functions only if no arithmetic is ready,
    /// since arithmetic may make more of them ready.
    fn run(&mut self) -> Option<Vec<u32>> {
        let done = &self.done;
        self.equal.iter_mut().find_map(|(what, list)| {
            let least = match what {
                Selection::Simple(_) => ARITHMETIC,
                Selection::Unary(_) | Selection::Binary(_) | Selection::Tile => FUNCTIONS,
            };
            let waits = least == FUNCTIONS && self.arithmetic > 0;
            if waits || list.len() < least {
                return None;
            }
            list.retain(|k| !done[*k as usize]);
            (list.len() >= least).then(|| std::mem::take(list))
        })
    }

    /// The ready instruction that takes the result of the last one, or else the one with the longest critical path.
    fn next(&mut self, last: Option<u32>) -> u32 {
        let follows = last.and_then(|last| {
            let out = self.selected[last as usize].out;
            let free = self.graph.users(last).filter(|k| {
                let k = *k as usize;
                self.missing[k] == 0 && !self.done[k] && self.selected[k].takes_last(out)
            });
            free.max_by_key(|k| (self.graph.heights[*k as usize], Reverse(*k)))
        });
        follows.unwrap_or_else(|| {
            loop {
                let (_, Reverse(k)) = self.highest.pop().expect("an instruction waits for nothing");
                if !self.done[k as usize] {
                    return k;
                }
            }
        })
    }

    /// Notes that an instruction is scheduled.
    fn finish(&mut self, k: u32) {
        self.done[k as usize] = true;
        self.arithmetic -= usize::from(self.is_arithmetic(k));
        for at in self.graph.starts[k as usize]..self.graph.starts[k as usize + 1] {
            let user = self.graph.users[at as usize];
            self.missing[user as usize] -= 1;
            if self.missing[user as usize] == 0 {
                self.add(user);
            }
        }
    }
}

/// The dependences between instructions.
struct DependenceGraph {
    /// The instructions that use the result of each instruction, concatenated, and the start of each list.
    users: Vec<u32>,
    starts: Vec<u32>,
    /// The number of operands of each instruction that other instructions compute.
    operands: Vec<u32>,
    /// The length of the critical path from each instruction, in cycles.
    heights: Vec<u32>,
}

impl DependenceGraph {
    fn new(selected: &[Selected], values: &SsaValues) -> DependenceGraph {
        let mut made = vec![NONE; values.list.len()];
        (0..).zip(selected).for_each(|(k, instruction)| made[instruction.out as usize] = k);
        let edges = || {
            let of = |(k, instruction): (u32, &Selected)| instruction.operands.clone().into_iter().map(move |v| (v, k));
            (0..).zip(selected).flat_map(of).map(|(v, k)| (made[v as usize], k)).filter(|(from, _)| *from != NONE)
        };
        let (mut starts, mut operands) = (vec![0u32; selected.len() + 1], vec![0u32; selected.len()]);
        edges().for_each(|(from, k)| {
            starts[from as usize + 1] += 1;
            operands[k as usize] += 1;
        });
        (0..selected.len()).for_each(|k| starts[k + 1] += starts[k]);
        let mut users = vec![NONE; starts[selected.len()] as usize];
        let mut free = starts.clone();
        edges().for_each(|(from, k)| {
            users[free[from as usize] as usize] = k;
            free[from as usize] += 1;
        });
        let mut graph = DependenceGraph { users, starts, operands, heights: Vec::new() };
        // The next value of a carry is used in the next trip, so the critical path goes on there.
        let mut after = vec![0; selected.len()];
        graph.measure(selected, &after);
        for carried in &values.carries {
            let k = made[carried.next as usize];
            let uses = |instruction: &Selected| instruction.operands.contains(&carried.value);
            let waits = selected
                .iter()
                .zip(&graph.heights)
                .filter(|(instruction, _)| uses(instruction))
                .map(|(_, height)| *height);
            if let (true, Some(height)) = (k != NONE, waits.max()) {
                after[k as usize] = height.max(after[k as usize]);
            }
        }
        if values.n > 1 {
            graph.measure(selected, &after);
        }
        graph
    }

    fn users(&self, k: u32) -> impl Iterator<Item = u32> + '_ {
        self.users[self.starts[k as usize] as usize..self.starts[k as usize + 1] as usize].iter().copied()
    }

    fn measure(&mut self, selected: &[Selected], after: &[u32]) {
        self.heights = vec![0; selected.len()];
        for (k, instruction) in selected.iter().enumerate().rev() {
            let rest = self.users(k as u32).map(|user| self.heights[user as usize]).max().unwrap_or(0);
            self.heights[k] = latency(instruction.what) + rest.max(after[k]);
        }
    }
}

impl Selected {
    /// Whether the instruction has a form that takes this value as the last result.
    fn takes_last(&self, value: ValueId) -> bool {
        match self.what {
            Selection::Simple(kind) => !kind.is_mask() && kind != Opcode::Select,
            Selection::Unary(_) | Selection::Binary(_) => self.operands[0] == value,
            Selection::Tile => false,
        }
    }
}

/// The approximate latency of an instruction, in cycles.
fn latency(what: Selection) -> u32 {
    match what {
        Selection::Simple(Opcode::Div) => 14,
        Selection::Simple(kind) => 4 * kind.operations().max(1) as u32,
        Selection::Unary(_) | Selection::Binary(_) => 60,
        Selection::Tile => 40,
    }
}
