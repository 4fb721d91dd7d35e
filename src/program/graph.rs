//! The uses of values in a program, and copies of parts of a program.
//!
//! Law: each function traverses the operations once, forwards or backwards; operands come before their uses.

use std::collections::BTreeMap;

use super::{Builder, Loop, Node, NodeId, Op, Program, Question, Slot};

/// The number of uses of each value, as an operand or a result.
pub(super) fn uses(nodes: &[Node], results: &[NodeId]) -> Vec<u32> {
    let mut uses = vec![0; nodes.len()];
    nodes.iter().for_each(|node| node.op.operands(&mut |a| uses[*a as usize] += 1));
    results.iter().for_each(|r| uses[*r as usize] += 1);
    uses
}

/// Marks all values that the marked values depend on. A marked value for which `through` is false does not mark its
/// operands.
pub(crate) fn reach(nodes: &[Node], marks: &mut [bool], through: impl Fn(usize) -> bool) {
    for k in (0..nodes.len()).rev() {
        if marks[k] && through(k) {
            nodes[k].op.operands(&mut |a| marks[*a as usize] = true);
        }
    }
}

/// For each input of a program, whether a marked result depends on it; each result of an inner loop is treated by
/// itself.
fn inputs_needed(program: &Program, results: &[bool]) -> Vec<bool> {
    let nodes = program.nodes();
    let mut live = vec![false; nodes.len()];
    program.results().iter().zip(results).for_each(|(r, needed)| live[*r as usize] |= needed);
    // The needed results of each loop.
    let mut wanted: BTreeMap<NodeId, Vec<bool>> = BTreeMap::new();
    for (k, node) in nodes.iter().enumerate().rev().filter(|(_, node)| !matches!(node.op, Op::Input(_))) {
        if !live[k] {
            continue;
        }
        if let Op::Output(of, position) = node.op
            && let Op::Loop(l) = &nodes[of as usize].op
        {
            live[of as usize] = true;
            wanted.entry(of).or_insert_with(|| vec![false; l.body.results().len()])[position] = true;
        } else if let Op::Loop(l) = &node.op {
            let results = wanted.remove(&(k as NodeId)).unwrap_or_default();
            let needs = results_needed(l, &results).1;
            let operands = l.init.iter().chain(&l.xs).chain(&l.captured);
            operands.zip(needs).for_each(|(a, needed)| live[*a as usize] |= needed);
        } else {
            node.op.operands(&mut |a| live[*a as usize] = true);
        }
    }
    live.truncate(program.inputs().len());
    live
}

/// The needed results of a loop and the needed inputs of its body, if these results of the loop are needed: a carry is
/// also needed if a needed result depends on it.
pub(crate) fn results_needed(l: &Loop<NodeId>, results: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let mut results = results.to_vec();
    results.resize(l.body.results().len(), false);
    if l.n == 0 {
        // Without trips, the final carries are the initial carries, whatever the body computes.
        let carried = (0..l.body.inputs().len()).map(|k| k < l.init.len() && results[k]);
        let inputs = carried.collect();
        return (results, inputs);
    }
    loop {
        let inputs = l.body.answered(Question::Needs, &results, || inputs_needed(&l.body, &results));
        let before = results.clone();
        (0..l.init.len()).for_each(|k| results[k] |= inputs[k]);
        if results == before {
            return (results, inputs);
        }
    }
}

impl Program {
    /// The same program with other values of it as results, under the same names.
    pub(crate) fn with_results(&self, results: &[NodeId]) -> Program {
        let mut b = Builder::literal();
        let inputs = b.inputs(self.inputs(), &[]);
        let now = b.copy(self, inputs);
        let results: Vec<NodeId> = results.iter().map(|r| now.of(*r)).collect();
        let names: Vec<String> = self.outputs().iter().map(|slot| slot.name.clone()).collect();
        b.finish(&results, &names)
    }

    /// The program of the marked inputs, without names; no result depends on another input.
    pub(crate) fn of_inputs(&self, marked: &[bool]) -> Program {
        let mut b = Builder::new();
        let numbers = b.taken(self, (0..self.inputs().len()).filter(|k| marked[*k]));
        let results: Vec<NodeId> = self.results().iter().filter_map(|r| numbers[*r as usize]).collect();
        b.finish(&results, &[])
    }

    /// The number of uses of each value, as an operand or a result.
    pub(crate) fn uses(&self) -> Vec<u32> {
        uses(self.nodes(), self.results())
    }

    /// For each loop, conditional and checkpointed function, the results that are used.
    pub(crate) fn results_taken(&self) -> BTreeMap<NodeId, Vec<bool>> {
        let mut taken = BTreeMap::new();
        for (k, node) in self.nodes().iter().enumerate() {
            if let Op::Loop(l) = &node.op {
                taken.insert(k as NodeId, vec![false; l.body.results().len()]);
            }
            if let Op::Custom(c, _) = &node.op
                && (c.is_checkpointed() || c.branches().is_some())
            {
                taken.insert(k as NodeId, vec![false; c.primal().results().len()]);
            }
            if let Op::Output(of, position) = &node.op
                && let Some(taken) = taken.get_mut(of)
            {
                taken[*position] = true;
            }
        }
        taken
    }

    /// The same program without its first `count` inputs and with these names of the others; `None` if it uses a
    /// removed input.
    pub(crate) fn without_first_inputs(&self, count: usize, names: &[String]) -> Option<Program> {
        if self.uses()[..count].iter().any(|uses| *uses > 0) {
            return None;
        }
        let mut b = Builder::new();
        let mut numbers = vec![None; self.nodes().len()];
        for (k, slot) in self.inputs().iter().enumerate().skip(count) {
            let name = names.get(k - count).cloned().unwrap_or_default();
            numbers[k] = Some(b.input(Slot { name, ..slot.clone() }));
        }
        b.follow(self, &mut numbers);
        let results: Option<Vec<NodeId>> = self.results().iter().map(|r| numbers[*r as usize]).collect();
        Some(b.finish(&results?, &[]))
    }
}

impl Builder {
    /// Copies every operation of a program whose operands all have a number in this builder.
    pub(crate) fn follow(&mut self, program: &Program, numbers: &mut [Option<NodeId>]) {
        for (k, node) in program.nodes().iter().enumerate().skip(program.inputs().len()) {
            let mut known = numbers[k].is_none();
            node.op.operands(&mut |a| known &= numbers[*a as usize].is_some());
            if known {
                let op = node.op.map(&mut |a| numbers[*a as usize].unwrap_or_default());
                let before = self.placed(program.place(k as NodeId));
                numbers[k] = Some(self.add(op, node.shape.clone(), node.dtype));
                self.placed(before);
            }
        }
    }

    /// Adds the inputs of a program with these positions, in this order, and every operation that depends on these
    /// inputs alone.
    pub(crate) fn taken(&mut self, program: &Program, order: impl IntoIterator<Item = usize>) -> Vec<Option<NodeId>> {
        let mut numbers = vec![None; program.nodes().len()];
        for k in order {
            numbers[k] = Some(self.input(program.inputs()[k].clone()));
        }
        self.follow(program, &mut numbers);
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::shape::Shape;

    /// The next carry is an element of a sequence: the initial carry is needed if the loop has no trips, and only then.
    #[test]
    fn what_a_loop_without_trips_starts_with_is_needed() {
        for n in [0, 2] {
            let mut b = Builder::literal();
            let slot = || Slot { name: String::new(), shape: Shape::from_slice(&[3]), dtype: DType::F64 };
            let (_, element) = (b.input(slot()), b.input(slot()));
            let body = b.finish(&[element], &[]);
            let l: Loop<NodeId> = Loop { n, reverse: false, body, init: vec![0], xs: vec![1], captured: Vec::new() };
            assert_eq!(results_needed(&l, &[true]).1, [n == 0, n > 0], "{n} trips");
        }
    }
}
