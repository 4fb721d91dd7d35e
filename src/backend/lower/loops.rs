//! Lowering of loops: a body is lowered once, its carries are double-buffered, and its rows are accessed where they
//! lie.
//!
//! Law: a carry has two buffers that change roles from trip to trip, or one if the body updates it in place. Rows of
//! sequences and captured values are read in place, and outputs are written to their stacks directly. If the loop
//! returns the states of a carry, before or after each trip or both, one stack holds all states, and both outputs are
//! ranges of it: each state is written once.
//!
//! A conditional is two loops of at most one trip, whose first carries are the mask and its negation. The trip that runs
//! writes the results, to buffers that both loops share.

use super::{LoweredValue, Lowering};
use crate::array::Array;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::step::{self, BufferId, Carry, FusedStep, RowOperand, States, Step, StepOperand, Storage};
use crate::dtype::DType;
use crate::ops::Linear;
use crate::program::{Builder, Constant, Custom, CustomKind, Loop, NodeId, Op, Program, Slot};
use crate::shape::{Shape, size};

/// Element type and number of elements.
type Kind = (DType, usize);

/// A carry: its initial value, the buffer that the body reads, and the outputs that return its states.
type Carried = (StepOperand, BufferId, Returned);

/// An input of the body that is a row of a sequence.
enum Element {
    Row(RowOperand),
    /// All rows are the same broadcast element.
    Same(LoweredValue),
}

/// The outputs that return the states of a carry before and after each trip, by their numbers among the results.
#[derive(Clone, Copy, Default)]
struct Returned {
    before: Option<usize>,
    after: Option<usize>,
}

impl Returned {
    fn any(self) -> bool {
        self.before.is_some() || self.after.is_some()
    }
}

/// For each carry, the outputs that return its states. Scalar carries have no stack of states, and neither has a body
/// of scalars: its carries are in registers. Emitted code has none.
fn returned(l: &Loop<NodeId>, carried: &[Kind], kernels: bool) -> Vec<Returned> {
    let (results, inputs) = (l.body.results(), l.body.inputs().len());
    if !kernels || is_of_numbers(&l.body) {
        return vec![Returned::default(); carried.len()];
    }
    let output = |id: NodeId| (carried.len()..results.len()).find(|j| results[*j] == id);
    let of = |k: usize| {
        let next = results[k];
        // The next value is computed by the body, and is not that of an earlier carry, too.
        let own = next as usize >= inputs && !results[..k].contains(&next);
        if own && carried[k].1 > 1 {
            Returned { before: output(k as NodeId), after: output(next) }
        } else {
            Returned::default()
        }
    };
    (0..carried.len()).map(of).collect()
}

/// Whether a body computes scalars alone, from elements of its inputs, and arrays only by concatenation and reshapes.
fn is_of_numbers(body: &Program) -> bool {
    body.nodes().iter().all(|node| {
        let op = &node.op;
        let of_numbers = matches!(op, Op::Linear(..) | Op::Gather(..) | Op::Discrete(..)) || op.is_elementwise();
        matches!(op, Op::Input(_) | Op::Constant(_) | Op::Concat(..))
            || matches!(op, Op::Linear(op, _) if matches!(**op, Linear::Reshape { .. }))
            || (node.shape.is_empty() && of_numbers)
    })
}

/// For each branch of conditional `k` the results that it need not write: it does not have them, and conditionals alone
/// read them, so that no step reads what was not written. Each bit pattern is a number, but not a mask.
pub(super) fn unwritten(program: &Program, k: NodeId, rule: &Custom) -> [Vec<bool>; 2] {
    let nodes = program.nodes();
    let position =
        |id: NodeId| if let Op::Output(of, at) = nodes[id as usize].op { (of == k).then_some(at) } else { None };
    let mut free: Vec<bool> = rule.primal().outputs().iter().map(|slot| slot.dtype != DType::Bool).collect();
    for node in nodes.iter().filter(|node| !matches!(&node.op, Op::Custom(c, _) if c.branches().is_some())) {
        node.op.operands(&mut |a| {
            if let Some(at) = position(*a) {
                free[at] = false;
            }
        });
    }
    program.results().iter().filter_map(|r| position(*r)).for_each(|at| free[at] = false);
    rule.absent().map(|marks| marks.iter().zip(&free).map(|(absent, free)| *absent && *free).collect())
}

/// A branch as a trip after which a loop ends: it takes a mask first, and returns one that does not hold, then these
/// results.
fn one_trip(branch: &Program, written: &[usize]) -> Program {
    let mut b = Builder::literal();
    b.input(Slot { name: String::new(), shape: Shape::new(), dtype: DType::Bool });
    let args: Vec<NodeId> = branch.inputs().iter().map(|slot| b.input(slot.clone())).collect();
    let now = b.copy(branch, args);
    let mut results = vec![b.apply(Op::Constant(Constant(Array::scalar(false))))];
    results.extend(written.iter().map(|k| now.of(branch.results()[*k])));
    b.finish(&results, &[])
}

impl Lowering {
    /// The results of a loop: final carries, then stacked outputs. `kinds`, and the values `init`, `xs` and `captured`,
    /// are those of the initial carries, of the sequences and of the captured values.
    pub(crate) fn map_accum(
        &mut self,
        l: &Loop<NodeId>,
        kinds: [Vec<Kind>; 3],
        values: [Vec<LoweredValue>; 3],
    ) -> LoweredValue {
        self.map_accum_into(l, kinds, values, &[])
    }

    /// [`map_accum`](Self::map_accum) whose stacked outputs are written to these buffers, if there are any.
    fn map_accum_into(
        &mut self,
        l: &Loop<NodeId>,
        kinds: [Vec<Kind>; 3],
        [mut init, mut xs, mut captured]: [Vec<LoweredValue>; 3],
        into: &[BufferId],
    ) -> LoweredValue {
        let [carried, sequences, outside] = &kinds;
        if l.n == 0 {
            return self.no_trip(l, carried, &mut init);
        }
        let init: Vec<StepOperand> =
            init.iter_mut().zip(carried).map(|(known, k)| self.operand(known, k.0, k.1)).collect();
        let mut buffers = Vec::new();
        let xs: Vec<(StepOperand, Kind)> = xs
            .iter_mut()
            .zip(sequences)
            .map(|(known, (dtype, n))| (self.operand(known, *dtype, *n), (*dtype, n / l.n)))
            .collect();
        for (known, (dtype, n)) in captured.iter_mut().zip(outside) {
            self.capture(known, *dtype, *n, &mut buffers);
        }
        self.enter();
        let inputs: Vec<BufferId> = carried.iter().map(|(dtype, n)| self.buffer(*dtype, *n, Storage::Loop)).collect();
        let elements: Vec<Element> = xs.iter().map(|(x, kind)| self.element(*x, *kind, &mut buffers)).collect();
        let mut known: Vec<LoweredValue> = inputs.iter().map(|buf| LoweredValue::Dense(*buf, 0)).collect();
        known.extend(elements.iter().map(|element| match element {
            Element::Row(row) => LoweredValue::Dense(row.row, 0),
            Element::Same(known) => known.clone(),
        }));
        known.extend(captured);
        let returned = returned(l, carried, self.kernels);
        let owned: Vec<bool> = (0..known.len()).map(|k| returned.get(k).is_some_and(|states| !states.any())).collect();
        let mut results = self.program(&l.body, &known, &owned);
        let is_state = |k: usize| returned.iter().any(|states| states.before == Some(k) || states.after == Some(k));
        let outputs: Vec<Option<BufferId>> = results
            .iter_mut()
            .zip(l.body.outputs())
            .enumerate()
            .map(|(k, (known, buf))| match known {
                _ if is_state(k) => None,
                // A carry without change keeps its buffer, unless its states are returned: then each state is written.
                LoweredValue::Dense(buffer, 0) if inputs.get(k) == Some(buffer) && !returned[k].any() => Some(*buffer),
                LoweredValue::Dense(..)
                | LoweredValue::One(..)
                | LoweredValue::View(..)
                | LoweredValue::Positions(_)
                | LoweredValue::Fused(..)
                | LoweredValue::Many(_)
                | LoweredValue::Deferred
                | LoweredValue::Permuted(..) => {
                    let buffer = self.result(known, buf.dtype, size(&buf.shape));
                    self.buffers[buffer as usize].storage = Storage::Loop;
                    Some(buffer)
                }
            })
            .collect();
        let body = self.leave();
        let rows: Vec<RowOperand> = elements
            .into_iter()
            .filter_map(|element| match element {
                Element::Row(row) => Some(row),
                Element::Same(_) => None,
            })
            .collect();
        let carries = init.into_iter().zip(inputs).zip(returned).map(|((init, input), states)| (init, input, states));
        self.finish(l, body, (carries.collect(), outputs, into), rows, buffers)
    }

    /// The results of a conditional, whose mask comes first among the values. A branch does not write the results that are
    /// marked for it ([`unwritten`]).
    pub(crate) fn cond(
        &mut self,
        rule: &Custom,
        unwritten: &[Vec<bool>; 2],
        mut kinds: Vec<Kind>,
        mut known: Vec<LoweredValue>,
    ) -> LoweredValue {
        let (mask, of_mask) = (known.remove(0), kinds.remove(0));
        let other = self.elementwise(1, DType::Bool, &[(&mask, DType::Bool)], |v| ElementwiseOp::Not(v[0]));
        for (known, (dtype, n)) in known.iter_mut().zip(&kinds) {
            self.capture(known, *dtype, *n, &mut Vec::new());
        }
        let slots = rule.primal().outputs();
        let all: Vec<BufferId> = slots.iter().map(|slot| self.workspace(slot.dtype, size(&slot.shape))).collect();
        let branches = rule.branches().into_iter().flatten().zip(unwritten);
        for ((program, unwritten), go) in branches.zip([mask, other]) {
            let written: Vec<usize> = (0..all.len()).filter(|k| !unwritten[*k]).collect();
            let (init, xs, captured) = (Vec::new(), Vec::new(), Vec::new());
            let l = Loop { n: 1, reverse: false, body: one_trip(program, &written), init, xs, captured };
            let kinds = [vec![of_mask], Vec::new(), kinds.clone()];
            let into: Vec<BufferId> = written.iter().map(|k| all[*k]).collect();
            self.map_accum_into(&l, kinds, [vec![go], Vec::new(), known.clone()], &into);
            if let Some(Step::Loop(made)) = self.last() {
                made.ends = true;
            }
        }
        LoweredValue::Many(all.into_iter().map(|buf| LoweredValue::Dense(buf, 0)).collect())
    }

    /// The results of a function that repeats its program: a loop with an early exit.
    pub(crate) fn repeated(
        &mut self,
        rule: &Custom,
        mut kinds: Vec<Kind>,
        mut known: Vec<LoweredValue>,
    ) -> LoweredValue {
        let carried = rule.primal().outputs().len();
        let (captured, others) = (known.split_off(carried), kinds.split_off(carried));
        let n = if let CustomKind::While { most: Some(most) } = rule.kind() { *most } else { usize::MAX };
        let (init, xs, none) = (Vec::new(), Vec::new(), Vec::new());
        let l = Loop { n, reverse: false, body: rule.primal().clone(), init, xs, captured: none };
        let results = self.map_accum(&l, [kinds, Vec::new(), others], [known, Vec::new(), captured]);
        if let Some(Step::Loop(made)) = self.last().filter(|_| n > 0) {
            made.ends = true;
        }
        results
    }

    /// Makes a captured value readable in the body: a buffer, or a view that has more than twice the elements of its
    /// buffer.
    fn capture(&mut self, known: &mut LoweredValue, dtype: DType, n: usize, buffers: &mut Vec<BufferId>) {
        let keep = match known {
            LoweredValue::View(buf, _) => n > 2 * self.buffers[*buf as usize].size,
            LoweredValue::Dense(..) | LoweredValue::One(..) | LoweredValue::Positions(_) => true,
            LoweredValue::Fused(..) | LoweredValue::Many(_) | LoweredValue::Deferred | LoweredValue::Permuted(..) => {
                false
            }
        };
        if !keep {
            let (buf, at) = self.dense(known, dtype, n);
            *known = LoweredValue::Dense(buf, at);
        }
        match known {
            LoweredValue::Dense(buf, _) | LoweredValue::One(buf, _) | LoweredValue::View(buf, _) => buffers.push(*buf),
            LoweredValue::Positions(_)
            | LoweredValue::Fused(..)
            | LoweredValue::Many(_)
            | LoweredValue::Deferred
            | LoweredValue::Permuted(..) => {}
        }
    }

    fn element(&mut self, x: StepOperand, (dtype, n): Kind, buffers: &mut Vec<BufferId>) -> Element {
        if x.one {
            buffers.push(x.buf);
            return Element::Same(LoweredValue::One(x.buf, x.at));
        }
        let (start, bytes) = (x.at * dtype.width(), n * dtype.width());
        Element::Row(RowOperand { row: self.buffer(dtype, n, Storage::Loop), of: x.buf, start, bytes })
    }

    /// Appends the loop to the current steps. `outputs` are the buffers of the body's results; outputs that return
    /// states have none. Stacks are written to the buffers `into`, or to new ones.
    fn finish(
        &mut self,
        l: &Loop<NodeId>,
        body: Vec<FusedStep>,
        (carried, outputs, into): (Vec<Carried>, Vec<Option<BufferId>>, &[BufferId]),
        xs: Vec<RowOperand>,
        captured: Vec<BufferId>,
    ) -> LoweredValue {
        let mut results: Vec<Option<LoweredValue>> = vec![None; outputs.len()];
        let mut carries = Vec::with_capacity(carried.len());
        for (k, (init, input, returned)) in carried.into_iter().enumerate() {
            let output = outputs[k].expect("a carry is not an output");
            let (dtype, n) = self.kind(input);
            let bytes = n * dtype.width();
            let states = returned.any().then(|| self.states(l, (dtype, n), returned, &mut results));
            let whole = states.filter(|states| states.first && states.last);
            let (result, at) = match whole.and_then(|states| Some((states.of, states.row(l.n, l.n, l.reverse)?))) {
                Some((of, row)) => (of, row * n),
                None => (self.workspace(dtype, n), 0),
            };
            let apart = input != output && states.is_none_or(|states| !states.first);
            let other = apart.then(|| self.workspace(dtype, n));
            carries.push(Carry { init, result, other, states, input, output, dtype, bytes });
            results[k] = Some(LoweredValue::Dense(result, at));
        }
        let mut stacks = Vec::new();
        for (k, row) in outputs.iter().enumerate().skip(carries.len()) {
            let Some(row) = *row else { continue };
            let (dtype, n) = self.kind(row);
            let given = into.get(stacks.len()).copied();
            let of = given.unwrap_or_else(|| self.workspace(dtype, n * l.n));
            stacks.push(RowOperand { row, of, start: 0, bytes: n * dtype.width() });
            results[k] = Some(LoweredValue::Dense(of, 0));
        }
        self.push(Step::Loop(Box::new(step::LoopStep {
            n: l.n,
            reverse: l.reverse,
            ends: false,
            body,
            first: 0,
            carries,
            xs,
            outputs: stacks,
            captured,
            bytes: 0,
            start: 0,
            origin: self.origin.clone(),
        })));
        LoweredValue::Many(results.into_iter().map(|known| known.expect("each result has a place")).collect())
    }

    /// The stack for the states of a carry; sets the outputs that are ranges of it.
    fn states(
        &mut self,
        l: &Loop<NodeId>,
        (dtype, n): Kind,
        returned: Returned,
        results: &mut [Option<LoweredValue>],
    ) -> States {
        let (first, last) = (returned.before.is_some(), returned.after.is_some());
        let mut states = States { of: 0, first, last };
        states.of = self.workspace(dtype, n * states.rows(l.n));
        // If both outputs are returned, one starts a row after the other.
        let later = if first && last { n } else { 0 };
        let at = if l.reverse { [later, 0] } else { [0, later] };
        for (output, at) in [returned.before, returned.after].into_iter().zip(at) {
            if let Some(k) = output {
                results[k] = Some(LoweredValue::Dense(states.of, at));
            }
        }
        states
    }

    fn kind(&self, buf: BufferId) -> Kind {
        let buffer = &self.buffers[buf as usize];
        (buffer.dtype, buffer.size)
    }

    /// The results of a loop of no trips: the initial carries, and empty outputs.
    fn no_trip(&mut self, l: &Loop<NodeId>, carried: &[Kind], init: &mut [LoweredValue]) -> LoweredValue {
        let mut results: Vec<LoweredValue> = Vec::new();
        for (known, (dtype, n)) in init.iter_mut().zip(carried) {
            results.push(LoweredValue::Dense(self.copied(known, *dtype, *n), 0));
        }
        for buf in &l.body.outputs()[init.len()..] {
            results.push(LoweredValue::Dense(self.workspace(buf.dtype, 0), 0));
        }
        LoweredValue::Many(results)
    }
}
