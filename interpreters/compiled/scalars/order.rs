//! The order of instructions: what waits longest for results first, and an instruction right after the one whose result
//! it takes, where it can.
//!
//! Law: an instruction comes after those that compute its operands.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::group::Value;
use super::Kind;
use super::code::{Draft, What};
use super::values::Values;

/// No instruction.
const NONE: u32 = u32::MAX;

/// The instructions in another order.
pub(super) fn ordered(drafts: &[Draft], values: &Values) -> Vec<Draft> {
    let graph = Graph::new(drafts, values);
    let mut missing = graph.operands.clone();
    let mut ready: BinaryHeap<(u32, Reverse<u32>)> = BinaryHeap::with_capacity(drafts.len());
    ready.extend((0..).zip(&missing).filter(|(_, n)| **n == 0).map(|(k, _)| (graph.heights[k as usize], Reverse(k))));
    let mut order: Vec<u32> = Vec::with_capacity(drafts.len());
    let mut done = vec![false; drafts.len()];
    let mut last: Option<u32> = None;
    while order.len() < drafts.len() {
        let follows = |last: u32| {
            let out = drafts[last as usize].out;
            let free = graph
                .users(last)
                .filter(|k| missing[*k as usize] == 0 && !done[*k as usize] && drafts[*k as usize].takes_last(out));
            free.max_by_key(|k| (graph.heights[*k as usize], Reverse(*k)))
        };
        let mut highest = || loop {
            let (_, Reverse(k)) = ready.pop().expect("an instruction waits for nothing");
            if !done[k as usize] {
                return k;
            }
        };
        let k = last.and_then(follows).unwrap_or_else(&mut highest);
        done[k as usize] = true;
        order.push(k);
        for user in graph.users(k) {
            missing[user as usize] -= 1;
            if missing[user as usize] == 0 {
                ready.push((graph.heights[user as usize], Reverse(user)));
            }
        }
        last = Some(k);
    }
    order.into_iter().map(|k| drafts[k as usize].clone()).collect()
}

/// What instructions wait for each other.
struct Graph {
    /// The instructions that use the result of each, one after the other; where those of each start.
    users: Vec<u32>,
    starts: Vec<u32>,
    /// How many results each takes.
    operands: Vec<u32>,
    /// The time from the start of an instruction to the end of all that wait for it.
    heights: Vec<u32>,
}

impl Graph {
    fn new(drafts: &[Draft], values: &Values) -> Graph {
        let mut made = vec![NONE; values.list.len()];
        (0..).zip(drafts).for_each(|(k, draft)| made[draft.out as usize] = k);
        let edges = || {
            let of = |(k, draft): (u32, &Draft)| draft.operands.clone().into_iter().map(move |v| (v, k));
            (0..).zip(drafts).flat_map(of).map(|(v, k)| (made[v as usize], k)).filter(|(from, _)| *from != NONE)
        };
        let (mut starts, mut operands) = (vec![0u32; drafts.len() + 1], vec![0u32; drafts.len()]);
        edges().for_each(|(from, k)| {
            starts[from as usize + 1] += 1;
            operands[k as usize] += 1;
        });
        (0..drafts.len()).for_each(|k| starts[k + 1] += starts[k]);
        let mut users = vec![NONE; starts[drafts.len()] as usize];
        let mut free = starts.clone();
        edges().for_each(|(from, k)| {
            users[free[from as usize] as usize] = k;
            free[from as usize] += 1;
        });
        let mut graph = Graph { users, starts, operands, heights: Vec::new() };
        // What waits for the next value of a carry waits in the next trip.
        let mut after = vec![0; drafts.len()];
        graph.measure(drafts, &after);
        for carried in &values.carries {
            let k = made[carried.next as usize];
            let uses = |draft: &Draft| draft.operands.contains(&carried.value);
            let waits = drafts.iter().zip(&graph.heights).filter(|(draft, _)| uses(draft)).map(|(_, height)| *height);
            if let (true, Some(height)) = (k != NONE, waits.max()) {
                after[k as usize] = height.max(after[k as usize]);
            }
        }
        if values.n > 1 {
            graph.measure(drafts, &after);
        }
        graph
    }

    fn users(&self, k: u32) -> impl Iterator<Item = u32> + '_ {
        self.users[self.starts[k as usize] as usize..self.starts[k as usize + 1] as usize].iter().copied()
    }

    fn measure(&mut self, drafts: &[Draft], after: &[u32]) {
        self.heights = vec![0; drafts.len()];
        for (k, draft) in drafts.iter().enumerate().rev() {
            let rest = self.users(k as u32).map(|user| self.heights[user as usize]).max().unwrap_or(0);
            self.heights[k] = latency(draft.what) + rest.max(after[k]);
        }
    }
}

impl Draft {
    /// Whether the instruction can take this value as the last result.
    fn takes_last(&self, value: Value) -> bool {
        match self.what {
            What::Kind(_) => true,
            What::Unary(_) | What::Binary(_) => self.operands[0] == value,
            What::Tile => false,
        }
    }
}

/// Cycles from operands to the result, about.
fn latency(what: What) -> u32 {
    match what {
        What::Kind(Kind::Div) => 14,
        What::Kind(kind) => 4 * kind.operations().max(1) as u32,
        What::Unary(_) | What::Binary(_) => 60,
        What::Tile => 40,
    }
}
