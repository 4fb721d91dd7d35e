//! Batching: a program runs on stacks, with one operation on stacks in place of one operation per element.
//!
//! [`batch`] runs a program once on values, where some are stacks of `n` values along a new outermost axis. An operation
//! without a stack among its operands is computed once: a value that does not depend on the element is not repeated,
//! and is replicated only for an operation that needs a stack. This is the program transformation of "Dual arrays",
//! section 5 (Figs. 9-11), read from the operands to the results. An index is therefore never pushed into a value:
//! shared values stay shared.
//!
//! Law: element `k` of a stack is the value that the program computes from the elements `k` of its inputs. An operation
//! on stacks does the work and moves the bytes of `n` operations on elements.

use std::sync::Arc;

use super::leaving_rows::{self, LeavingRows};
use crate::array::Array;
use crate::checkpoint::FEW;
use crate::dtype::DType;
use crate::ops::{Call, Compare, Discrete, Linear, Matrix, Tap};
use crate::program::repeat::together;
use crate::program::{
    Builder, Constant, Custom, CustomKind, Loop, NodeId, Op, Program, Results, Slot, tap_of, valid_by_construction,
};
use crate::shape::Shape;

/// A value, or a stack of values along a new outermost axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchedValue {
    pub(super) id: NodeId,
    pub(super) stacked: bool,
}

impl BatchedValue {
    pub(super) fn stack(id: NodeId) -> BatchedValue {
        BatchedValue { id, stacked: true }
    }

    pub(super) fn single(id: NodeId) -> BatchedValue {
        BatchedValue { id, stacked: false }
    }
}

/// The bulk form of an operation of the program: the results of an operation with several, if it was batched; an operation
/// that was not has them still, and outputs read them as before.
type Batched = Results<BatchedValue>;

/// The results of a program with some inputs that are stacks of `n`; a result is a stack if it depends on one.
pub(super) fn batch(b: &mut Builder, n: usize, program: &Program, inputs: &[BatchedValue]) -> Vec<BatchedValue> {
    let mut made: Vec<Batched> = inputs.iter().copied().map(Batched::One).collect();
    for (k, node) in program.nodes().iter().enumerate().skip(inputs.len()) {
        let before = b.placed(program.place(k as NodeId));
        let next = Batching { b, n, made: &made }.operation(&node.op);
        b.placed(before);
        made.push(next);
    }
    program.results().iter().map(|r| *made[*r as usize].one()).collect()
}

/// The program on stacks of `n` where an input is marked; `result` makes each result from its bulk form.
fn program(
    program: &Program,
    n: usize,
    stacked: &[bool],
    result: &mut dyn FnMut(&mut Builder, usize, BatchedValue) -> NodeId,
) -> Program {
    let mut b = Builder::new();
    let mut inputs = Vec::with_capacity(stacked.len());
    for (slot, stacked) in program.inputs().iter().zip(stacked) {
        let shape = if *stacked { under(n, &slot.shape) } else { slot.shape.clone() };
        inputs.push(BatchedValue { id: b.input(Slot { shape, ..slot.clone() }), stacked: *stacked });
    }
    let results = batch(&mut b, n, program, &inputs);
    let results: Vec<NodeId> = results.into_iter().enumerate().map(|(k, value)| result(&mut b, k, value)).collect();
    b.finish(&results, &[])
}

fn under(n: usize, shape: &[usize]) -> Shape {
    std::iter::once(n).chain(shape.iter().copied()).collect()
}

/// A value as a stack: replicated if it is not a stack.
pub(super) fn stack(b: &mut Builder, n: usize, value: BatchedValue) -> NodeId {
    if value.stacked {
        return value.id;
    }
    let shape = under(n, &b.node(value.id).shape);
    let axes: Vec<usize> = (1..shape.len()).collect();
    b.apply(Op::Linear(Box::new(Linear::replicate(&shape, &axes)), value.id))
}

/// The value with its two outermost axes exchanged.
fn exchanged(b: &mut Builder, id: NodeId) -> NodeId {
    let shape = b.node(id).shape.clone();
    let mut axes: Vec<usize> = (0..shape.len()).collect();
    axes.swap(0, 1);
    b.apply(Op::Linear(Box::new(Linear::permute(&shape, &axes)), id))
}

/// Which results of a program are stacks, given which of its inputs are.
#[allow(clippy::wildcard_enum_match_arm, reason = "every operation with one result moves with its operands")]
fn moving(program: &Program, inputs: &[bool]) -> Vec<bool> {
    let mut moves: Vec<bool> = inputs.to_vec();
    // The results of loops and of functions with rules, each on its own.
    let mut several: Vec<(NodeId, Vec<bool>)> = Vec::new();
    for (k, node) in program.nodes().iter().enumerate().skip(inputs.len()) {
        let any = |moves: &[bool]| {
            let mut any = false;
            node.op.operands(&mut |a| any |= moves[*a as usize]);
            any
        };
        let next = match &node.op {
            Op::Call(Call::Tap(tap), args) => {
                several.push((k as NodeId, tap.passed(args).iter().map(|a| moves[*a as usize]).collect()));
                any(&moves)
            }
            Op::Loop(l) => {
                let of = |ids: &[NodeId]| ids.iter().map(|a| moves[*a as usize]).collect::<Vec<bool>>();
                several.push((k as NodeId, looped(l, of(&l.init), &of(&l.xs), &of(&l.captured)).1));
                any(&moves)
            }
            Op::Custom(custom, args) => {
                let args: Vec<bool> = args.iter().map(|a| moves[*a as usize]).collect();
                several.push((k as NodeId, ruled(custom, &args)));
                any(&moves)
            }
            Op::Output(of, position) => match several.binary_search_by_key(of, |(id, _)| *id) {
                Ok(at) => several[at].1[*position],
                // All results of another call are stacks if one of its operands is.
                Err(_) => moves[*of as usize],
            },
            _ => any(&moves),
        };
        moves.push(next);
    }
    program.results().iter().map(|r| moves[*r as usize]).collect()
}

/// Which values of the carry of a loop are stacks, and which of its results: the least fixpoint.
fn looped<R>(l: &Loop<R>, mut carry: Vec<bool>, xs: &[bool], captured: &[bool]) -> (Vec<bool>, Vec<bool>) {
    loop {
        let results = moving(&l.body, &[&carry[..], xs, captured].concat());
        let next: Vec<bool> = carry.iter().zip(&results).map(|(before, after)| before | after).collect();
        if next == carry {
            let results = next.iter().copied().chain(results[carry.len()..].iter().copied()).collect();
            return (carry, results);
        }
        carry = next;
    }
}

/// Which results of a function with rules are stacks, given which arguments are: the least fixpoint over the function
/// and its rule for tangents.
///
/// A rule for cotangents may be nonlinear, so it needs the cotangent of each element by itself: every result of a
/// function with such a rule is a stack.
fn ruled(custom: &Custom, args: &[bool]) -> Vec<bool> {
    let jvp = match custom.kind() {
        CustomKind::Checkpointed => return moving(custom.primal(), args),
        CustomKind::While { .. } => return repeated(custom.primal(), args).0,
        CustomKind::Cond { then, otherwise, .. } => {
            let [then, otherwise] = [then, otherwise].map(|program| moving(program, &args[1..]));
            return then.iter().zip(&otherwise).map(|(x, y)| args[0] || *x || *y).collect();
        }
        CustomKind::Rules { jvp: Some(jvp), vjp: None } => jvp,
        CustomKind::Rules { .. } | CustomKind::Solve(_) => {
            return vec![args.contains(&true); custom.primal().outputs().len()];
        }
    };
    let mut results = moving(custom.primal(), args);
    loop {
        let tangents = moving(jvp, &[args, &results[..], args].concat());
        let next: Vec<bool> = results.iter().zip(&tangents).map(|(before, after)| before | after).collect();
        if next == results {
            return results;
        }
        results = next;
    }
}

/// Which values of the carry of a function that repeats its program are stacks, and whether rows end by themselves: then
/// all are.
fn repeated(body: &Program, args: &[bool]) -> (Vec<bool>, bool) {
    let carried = body.outputs().len();
    let (mut carry, captured) = (args[..carried].to_vec(), &args[carried..]);
    loop {
        let next = moving(body, &[&carry[..], captured].concat());
        let joined: Vec<bool> = carry.iter().zip(next).map(|(before, after)| *before || after).collect();
        if joined == carry {
            return if carry[0] { (vec![true; carried], true) } else { (carry, false) };
        }
        carry = joined;
    }
}

impl Batching<'_> {
    /// A function that repeats its program, on stacks. Rows that have ended before others stay as they are.
    fn repeated(&mut self, custom: &Custom, most: Option<usize>, args: &[BatchedValue]) -> Batched {
        let (n, body) = (self.n, custom.primal());
        let flags: Vec<bool> = args.iter().map(|v| v.stacked).collect();
        let (carry, apart) = repeated(body, &flags);
        let inputs = [&carry[..], &flags[carry.len()..]].concat();
        let on = |n: usize| program(body, n, &inputs, &mut |b, k, v| if carry[k] { stack(b, n, v) } else { v.id });
        let mut of: Vec<NodeId> = Vec::new();
        for (arg, stacked) in args.iter().zip(&inputs) {
            of.push(if *stacked { stack(self.b, n, *arg) } else { arg.id });
        }
        if apart && most.is_none_or(|most| most > FEW) && n >= leaving_rows::MANY {
            let rows = LeavingRows { trip: &on, carried: carry.len(), most, stacked: &inputs[carry.len()..] };
            let whole = rows.program(n);
            let now = self.b.copy(&whole, of);
            return Batched::Many(whole.results().iter().map(|r| BatchedValue::stack(now.of(*r))).collect());
        }
        let batched = on(n);
        let batched = if apart { together(&batched, n) } else { batched };
        if apart {
            let go = self.b.apply(Op::Discrete(Discrete::ToInt, [of[0]].into_iter().collect()));
            let count = self.b.apply(Op::Linear(Box::new(Linear::sum(&[n], &[0])), go));
            let none = self.b.apply(Op::Constant(Constant(Array::zeros(&[], DType::I64))));
            let any = Op::Discrete(Discrete::Compare(Compare::Gt), [count, none].into_iter().collect());
            of.insert(0, self.b.apply(any));
        }
        // A carry stays one.
        let custom = valid_by_construction(Custom::while_loop(custom.name(), batched, most));
        let of = self.b.apply(Op::Custom(Arc::new(custom), of));
        let first = usize::from(apart);
        let result = |(k, stacked)| BatchedValue { id: self.b.apply(Op::Output(of, first + k)), stacked };
        Batched::Many(carry.into_iter().enumerate().map(result).collect())
    }
}

/// The function with rules on stacks of `n`, one for each marked argument. The cotangent of an argument that all
/// elements share is the sum of the cotangents of the elements.
fn ruled_on_stacks(custom: &Custom, n: usize, args: &[bool], results: &[bool]) -> Custom {
    let like =
        |b: &mut Builder, flags: &[bool], k: usize, v: BatchedValue| if flags[k] { stack(b, n, v) } else { v.id };
    // The branches of a conditional take all arguments but the mask.
    let of_values = if custom.branches().is_some() { &args[1..] } else { args };
    custom.map_each(
        &mut |primal| program(primal, n, of_values, &mut |b, k, v| like(b, results, k, v)),
        &mut |jvp| program(jvp, n, &[args, results, args].concat(), &mut |b, k, v| like(b, results, k, v)),
        &mut |vjp| {
            program(vjp, n, &[args, results, results].concat(), &mut |b, k, v| {
                if args[k] { stack(b, n, v) } else { total(b, n, v) }
            })
        },
        &mut |moved| {
            let given = &args[..args.len() - 1];
            program(moved, n, &[given, &[true], given].concat(), &mut |b, _, v| stack(b, n, v))
        },
    )
}

/// The sum of a value over the elements; zeros for integers and masks, which have no cotangent.
fn total(b: &mut Builder, n: usize, value: BatchedValue) -> NodeId {
    let dtype = b.node(value.id).dtype;
    if !dtype.is_float() {
        let shape = Shape::from_slice(&b.node(value.id).shape[usize::from(value.stacked)..]);
        return b.apply(Op::Constant(Constant(Array::zeros(&shape, dtype))));
    }
    let stack = stack(b, n, value);
    let sum = Linear::sum(&b.node(stack).shape, &[0]);
    b.apply(Op::Linear(Box::new(sum), stack))
}

struct Batching<'a> {
    b: &'a mut Builder,
    n: usize,
    made: &'a [Batched],
}

impl Batching<'_> {
    fn value(&self, a: NodeId) -> BatchedValue {
        *self.made[a as usize].one()
    }

    fn values(&self, ids: &[NodeId]) -> Vec<BatchedValue> {
        ids.iter().map(|a| self.value(*a)).collect()
    }

    fn stack(&mut self, value: BatchedValue) -> NodeId {
        stack(self.b, self.n, value)
    }

    fn stacks(&mut self, values: &[BatchedValue]) -> Vec<NodeId> {
        values.iter().map(|v| self.stack(*v)).collect()
    }

    fn apply(&mut self, op: Op<NodeId>) -> Batched {
        Batched::One(BatchedValue::stack(self.b.apply(op)))
    }

    /// The operation in bulk, or unchanged if no operand is a stack.
    fn operation(&mut self, op: &Op<NodeId>) -> Batched {
        if let Op::Output(of, position) = op {
            return self.output(*of, *position);
        }
        let mut any = false;
        op.operands(&mut |a| any |= self.value(*a).stacked);
        // A tap runs for each element, even where its operands are the same for all.
        if any || tap_of(op).is_some() {
            return self.stacked(op);
        }
        self.unchanged(op)
    }

    /// A result of an operation, in bulk or not.
    fn output(&mut self, of: NodeId, position: usize) -> Batched {
        Batched::One(match &self.made[of as usize] {
            Batched::Many(results) => results[position],
            Batched::One(of) => BatchedValue::single(self.b.apply(Op::Output(of.id, position))),
        })
    }

    /// The operation on single values.
    fn unchanged(&mut self, op: &Op<NodeId>) -> Batched {
        Batched::One(BatchedValue::single(self.b.apply(op.map(&mut |a| self.made[*a as usize].one().id))))
    }

    /// The operation on stacks.
    fn stacked(&mut self, op: &Op<NodeId>) -> Batched {
        let n = self.n;
        match op {
            Op::Unary(op, a) => {
                let a = self.value(*a).id;
                self.apply(Op::Unary(*op, a))
            }
            Op::Binary(op, x, y) => {
                let args = self.stacks(&self.values(&[*x, *y]));
                self.apply(Op::Binary(*op, args[0], args[1]))
            }
            Op::Discrete(op, args) => {
                let args = self.stacks(&self.values(args));
                self.apply(Op::Discrete(under_discrete(op), args.into()))
            }
            Op::Select(args) => {
                let args = self.stacks(&self.values(args));
                self.apply(Op::Select([args[0], args[1], args[2]]))
            }
            Op::Linear(op, a) => {
                let a = self.value(*a).id;
                self.apply(Op::Linear(Box::new(op.batched(n)), a))
            }
            Op::Contract(op, x, y) => {
                let (x, y) = (self.value(*x), self.value(*y));
                self.apply(Op::Contract(Box::new(op.batched(n, x.stacked, y.stacked)), x.id, y.id))
            }
            Op::Reduce(op, a) => {
                let a = self.value(*a).id;
                self.apply(Op::Reduce(op.batched(), a))
            }
            Op::Gather(a, ix) => {
                let (a, ix) = (self.value(*a), self.values(ix));
                let ix = self.indices(&ix, a.stacked);
                self.apply(Op::Gather(a.id, ix))
            }
            Op::ScatterAdd(base, ix, v) => {
                let (base, ix, v) = (self.value(*base), self.values(ix), self.value(*v));
                let ix = self.indices(&ix, true);
                let (base, v) = (self.stack(base), self.stack(v));
                self.apply(Op::ScatterAdd(base, ix, v))
            }
            Op::Concat(axis, parts) => {
                let parts = self.stacks(&self.values(parts));
                self.apply(Op::Concat(axis + 1, parts))
            }
            Op::Loop(l) => self.looped(l),
            Op::Call(call, args) => {
                let args = self.values(args);
                self.called(call, &args)
            }
            Op::Custom(custom, args) => {
                let mut args = self.values(args);
                if let CustomKind::While { most } = custom.kind() {
                    return self.repeated(custom, *most, &args);
                }
                if custom.branches().is_some() && args[0].stacked {
                    // Each row has a choice: both branches run, and rows are selected.
                    return Batched::Many(batch(self.b, n, custom.primal(), &args));
                }
                // Linear equations have one solution per right-hand side.
                if let (Some(_), Some(right)) = (custom.solves(), args.last_mut()) {
                    *right = BatchedValue::stack(stack(self.b, n, *right));
                }
                let flags: Vec<bool> = args.iter().map(|v| v.stacked).collect();
                let results = ruled(custom, &flags);
                let batched = ruled_on_stacks(custom, n, &flags, &results);
                let of = self.b.apply(Op::Custom(Arc::new(batched), args.iter().map(|v| v.id).collect()));
                let result = |(k, stacked)| BatchedValue { id: self.b.apply(Op::Output(of, k)), stacked };
                Batched::Many(results.into_iter().enumerate().map(result).collect())
            }
            Op::Output(of, position) => self.output(*of, *position),
            Op::Input(_) | Op::Constant(_) => self.unchanged(op),
        }
    }

    /// A call on stacks: linear algebra takes further leading axes, a function of the host is called for each
    /// element.
    fn called(&mut self, call: &Call, args: &[BatchedValue]) -> Batched {
        let (call, args) = match call {
            Call::Tap(tap) => return self.tapped(tap, args),
            Call::Matrix(op) => {
                if let Some(result) = self.right_hand_sides(*op, args) {
                    return Batched::Many(vec![result]);
                }
                (call.clone(), self.stacks(args))
            }
            Call::External(external) => {
                let stacked = args.iter().map(|v| v.stacked).collect();
                (Call::External(Arc::new(external.batched(self.n, stacked))), args.iter().map(|v| v.id).collect())
            }
        };
        let kinds: Vec<_> = args.iter().map(|a| self.b.node(*a).kind()).collect();
        let count = call.results(&kinds).len();
        let results = self.results(Op::Call(call, args), count);
        Batched::Many(results.into_iter().map(|id| BatchedValue { id, stacked: true }).collect())
    }

    /// A tap on stacks, which runs for each element in order; a result is a stack if the operand is.
    fn tapped(&mut self, tap: &Tap, args: &[BatchedValue]) -> Batched {
        let stacked = args.iter().map(|v| v.stacked).collect();
        let call = Call::Tap(Arc::new(tap.batched(self.n, stacked)));
        let passed = tap.passed(args);
        let results = self.results(Op::Call(call, args.iter().map(|v| v.id).collect()), passed.len());
        Batched::Many(results.into_iter().zip(passed).map(|(id, v)| BatchedValue { id, ..*v }).collect())
    }

    /// The `count` results of an operation.
    fn results(&mut self, op: Op<NodeId>, count: usize) -> Vec<NodeId> {
        let of = self.b.apply(op);
        (0..count).map(|k| self.b.apply(Op::Output(of, k))).collect()
    }

    /// The solution with one matrix for a stack of right-hand sides: their columns are side by side.
    fn right_hand_sides(&mut self, op: Matrix, args: &[BatchedValue]) -> Option<BatchedValue> {
        let alone = args.iter().enumerate().all(|(k, v)| v.stacked == (k == 1));
        if !(alone && op.is_by_column()) {
            return None;
        }
        let shape = self.b.node(args[1].id).shape.clone();
        let rank = shape.len();
        let (n, m) = (shape[0], shape[rank - 1]);
        // `[n, .., rows, m]` becomes `[.., rows, n, m]` and `[.., rows, n m]`.
        let out: Vec<usize> = (1..rank - 1).chain([0, rank - 1]).collect();
        let side = self.b.apply(Op::Linear(Box::new(Linear::permute(&shape, &out)), args[1].id));
        let apart = self.b.node(side).shape.clone();
        let joined: Shape = apart[..rank - 2].iter().copied().chain([n * m]).collect();
        let side = self.b.apply(Op::Linear(Box::new(Linear::reshape(&apart, &joined)), side));
        let mut args: Vec<NodeId> = args.iter().map(|v| v.id).collect();
        args[1] = side;
        let x = self.results(Op::Call(Call::Matrix(op), args), 1)[0];
        let from = self.b.node(x).shape.clone();
        let apart: Shape = from[..rank - 2].iter().copied().chain([n, m]).collect();
        let x = self.b.apply(Op::Linear(Box::new(Linear::reshape(&from, &apart)), x));
        let back: Vec<usize> = [rank - 2].into_iter().chain(0..rank - 2).chain([rank - 1]).collect();
        let id = self.b.apply(Op::Linear(Box::new(Linear::permute(&apart, &back)), x));
        Some(BatchedValue { id, stacked: true })
    }

    /// Stacks of indices; if the indexed array is itself a stack, the position in the stack comes first.
    fn indices(&mut self, ix: &[BatchedValue], of_stack: bool) -> Vec<NodeId> {
        let stacks = self.stacks(ix);
        if !of_stack {
            return stacks;
        }
        let shape = match stacks.first() {
            Some(first) => self.b.node(*first).shape.clone(),
            None => Shape::from_slice(&[self.n]),
        };
        let position = self.b.apply(Op::Discrete(Discrete::Iota { n: self.n }, [].as_slice().into()));
        let position = self.b.apply(Op::Linear(Box::new(Linear::replicate(&shape, &[0])), position));
        std::iter::once(position).chain(stacks).collect()
    }

    /// A loop with the same number of trips over stacks: the axis of the stack comes after that of the sequence.
    fn looped(&mut self, l: &Loop<NodeId>) -> Batched {
        let n = self.n;
        let (init, xs, captured) = (self.values(&l.init), self.values(&l.xs), self.values(&l.captured));
        let flags = |values: &[BatchedValue]| values.iter().map(|v| v.stacked).collect::<Vec<bool>>();
        let (carry, results) = looped(l, flags(&init), &flags(&xs), &flags(&captured));
        let inputs = [&carry[..], &flags(&xs), &flags(&captured)].concat();
        let carried = carry.len();
        let body =
            program(&l.body, n, &inputs, &mut |b, k, v| if k < carried && carry[k] { stack(b, n, v) } else { v.id });
        let init = init.iter().zip(&carry).map(|(v, moves)| if *moves { stack(self.b, n, *v) } else { v.id }).collect();
        let xs = xs.iter().map(|x| if x.stacked { exchanged(self.b, x.id) } else { x.id }).collect();
        let captured = captured.iter().map(|v| v.id).collect();
        let of = Loop { n: l.n, reverse: l.reverse, body, init, xs, captured };
        let of = self.b.apply(Op::Loop(Box::new(of)));
        let result = |(k, stacked): (usize, bool)| {
            let id = self.b.apply(Op::Output(of, k));
            let id = if stacked && k >= carried { exchanged(self.b, id) } else { id };
            BatchedValue { id, stacked }
        };
        Batched::Many(results.into_iter().enumerate().map(result).collect())
    }
}

/// The operation on stacks: its axes move by one.
fn under_discrete(op: &Discrete) -> Discrete {
    match op {
        Discrete::ArgMax { axis } => Discrete::ArgMax { axis: axis + 1 },
        Discrete::ArgMin { axis } => Discrete::ArgMin { axis: axis + 1 },
        Discrete::ArgSort { axis, descending } => Discrete::ArgSort { axis: axis + 1, descending: *descending },
        Discrete::PrefixArg { axis, largest, reverse } => {
            Discrete::PrefixArg { axis: axis + 1, largest: *largest, reverse: *reverse }
        }
        Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not | Discrete::FloatStep(_) => op.clone(),
        Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToInt | Discrete::ToFloat(_) => op.clone(),
        Discrete::Iota { .. } => op.clone(),
    }
}
