//! Multi-tangent forward mode: tangents in several directions, side by side in the loops of a program.
//!
//! [`multi_tangent`] evaluates a program that is linear in some of its inputs for several values of these inputs at
//! once. Values that do not depend on these inputs are computed once, all others lane by lane: a loop carries each
//! primal value once, and its tangent once per lane. [`batch`](crate::passes::batch) does the same work on stacks; in
//! lanes a scalar stays a scalar, which loops of scalars keep in registers.
//!
//! Law: lane `k` of a result is the result for the inputs of lane `k`. A tangent that is known to be zero in a lane
//! costs nothing there: it is omitted, not multiplied as a zero.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::Array;
use crate::ops::{Binary, Unary};
use crate::program::{
    Builder, Constant, Custom, CustomKind, Loop, Node, NodeId, Op, OpClass, Program, Results, Slot,
    valid_by_construction,
};

/// A value for each lane, `None` for a known zero.
pub(crate) type Lanes = SmallVec<[Option<NodeId>; 4]>;

/// A value that is the same in all lanes, or one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaneValue {
    Same(NodeId),
    Each(Lanes),
}

/// Whether a value is the same in all lanes, or in which lanes it may be nonzero.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LaneForm {
    Same,
    Each(SmallVec<[bool; 4]>),
}

/// The new form of an operation of the program.
type InLanes = Results<LaneValue>;

/// The results of a program for inputs in `n` lanes, in which the program is linear.
pub(crate) fn multi_tangent(b: &mut Builder, n: usize, program: &Program, inputs: Vec<LaneValue>) -> Vec<LaneValue> {
    let mut made: Vec<InLanes> = inputs.into_iter().map(InLanes::One).collect();
    for node in &program.nodes()[made.len()..] {
        let next = LaneEvaluation { b, n, nodes: program.nodes(), made: &made }.operation(node);
        made.push(next);
    }
    program.results().iter().map(|r| made[*r as usize].one().clone()).collect()
}

impl LaneValue {
    /// The values that are computed.
    fn ids(&self) -> SmallVec<[NodeId; 4]> {
        match self {
            LaneValue::Same(id) => SmallVec::from_iter([*id]),
            LaneValue::Each(lanes) => lanes.iter().copied().flatten().collect(),
        }
    }

    /// The value in a lane, `None` for a known zero.
    pub(crate) fn lane(&self, k: usize) -> Option<NodeId> {
        match self {
            LaneValue::Same(id) => Some(*id),
            LaneValue::Each(lanes) => lanes[k],
        }
    }

    fn form(&self) -> LaneForm {
        match self {
            LaneValue::Same(_) => LaneForm::Same,
            LaneValue::Each(lanes) => LaneForm::Each(lanes.iter().map(Option::is_some).collect()),
        }
    }
}

impl LaneForm {
    /// A value of this form whose parts are the next values of an iterator.
    fn value(&self, mut next: impl FnMut() -> NodeId) -> LaneValue {
        match self {
            LaneForm::Same => LaneValue::Same(next()),
            LaneForm::Each(lanes) => LaneValue::Each(lanes.iter().map(|some| some.then(&mut next)).collect()),
        }
    }

    /// The form of a carry that has one form initially and the other after a trip. A value that is the same in all
    /// lanes must be zero if the carry has lanes otherwise; one that is not known to be zero counts in every lane.
    fn join(&self, other: &LaneForm, zeros: [bool; 2]) -> LaneForm {
        match (self, other) {
            (LaneForm::Same, LaneForm::Same) => LaneForm::Same,
            (LaneForm::Each(x), LaneForm::Each(y)) => LaneForm::Each(x.iter().zip(y).map(|(x, y)| x | y).collect()),
            (LaneForm::Each(x), LaneForm::Same) => LaneForm::Each(x.iter().map(|x| *x || !zeros[1]).collect()),
            (LaneForm::Same, LaneForm::Each(y)) => LaneForm::Each(y.iter().map(|y| *y || !zeros[0]).collect()),
        }
    }
}

/// A constant of zeros.
fn zeros(b: &mut Builder, like: &Node) -> NodeId {
    b.apply(Op::Constant(Constant(Array::zeros(&like.shape, like.dtype))))
}

/// A loop and its operands.
#[derive(Clone, Copy)]
struct LaneLoop<'a> {
    body: &'a Program,
    init: &'a [NodeId],
    xs: &'a [NodeId],
    captured: &'a [NodeId],
}

struct LaneEvaluation<'a> {
    b: &'a mut Builder,
    n: usize,
    nodes: &'a [Node],
    made: &'a [InLanes],
}

impl LaneEvaluation<'_> {
    fn value(&self, a: NodeId) -> &LaneValue {
        self.made[a as usize].one()
    }

    fn values(&self, ids: &[NodeId]) -> Vec<LaneValue> {
        ids.iter().map(|a| self.value(*a).clone()).collect()
    }

    /// The value of an operand in a lane.
    fn lane(&mut self, a: NodeId, k: usize) -> NodeId {
        let known = self.value(a).lane(k);
        known.unwrap_or_else(|| zeros(self.b, &self.nodes[a as usize]))
    }

    /// The lanes in which an operand is not zero, of those that have lanes; `None` if no operand has.
    fn live(&self, op: &Op<NodeId>) -> Option<Vec<bool>> {
        let mut live: Option<Vec<bool>> = None;
        op.operands(&mut |a| {
            if let LaneValue::Each(lanes) = self.value(*a) {
                let live = live.get_or_insert_with(|| vec![false; lanes.len()]);
                live.iter_mut().zip(lanes).for_each(|(live, lane)| *live |= lane.is_some());
            }
        });
        live
    }

    /// The operation, once or lane by lane.
    fn operation(&mut self, node: &Node) -> InLanes {
        match node.op.class() {
            OpClass::Output(of, position) => InLanes::One(self.made[*of as usize].result(position).clone()),
            OpClass::Loop(l) => {
                let place = LaneLoop { body: &l.body, init: &l.init, xs: &l.xs, captured: &l.captured };
                InLanes::Many(self.looped(place, |body, init, xs, captured| {
                    Op::Loop(Box::new(Loop { n: l.n, reverse: l.reverse, body, init, xs, captured }))
                }))
            }
            OpClass::Custom(custom, args) if custom.is_while() => {
                let most = if let CustomKind::While { most } = custom.kind() { *most } else { None };
                let (init, captured) = args.split_at(custom.primal().outputs().len());
                let place = LaneLoop { body: custom.primal(), init, xs: &[], captured };
                InLanes::Many(self.looped(place, |body, init, _, captured| {
                    // A carry starts with a mask, which has no lanes.
                    let custom = valid_by_construction(Custom::while_loop(custom.name(), body, most));
                    Op::Custom(Arc::new(custom), [init, captured].concat())
                }))
            }
            OpClass::Custom(custom, args) if let Some(branches) = custom.branches() => {
                InLanes::Many(self.chosen(custom, branches, args))
            }
            OpClass::Call(call, args) => {
                let args: Vec<_> = args.iter().map(|a| self.nodes[*a as usize].kind()).collect();
                InLanes::Many(self.several(&node.op, call.results(&args).len()))
            }
            OpClass::Custom(custom, _) => InLanes::Many(self.several(&node.op, custom.primal().outputs().len())),
            OpClass::Input(_) | OpClass::Constant(_) | OpClass::Single(_) => InLanes::One(self.elementary(node)),
        }
    }

    /// An operation with one result.
    fn elementary(&mut self, node: &Node) -> LaneValue {
        let Some(live) = self.live(&node.op) else { return LaneValue::Same(self.in_lane(node, 0)) };
        let mut results = Lanes::new();
        for (k, live) in live.into_iter().enumerate() {
            let id = live.then(|| self.added(&node.op, k).unwrap_or_else(|| self.in_lane(node, k)));
            results.push(id.filter(|id| !self.b.is_zero(*id)));
        }
        LaneValue::Each(results)
    }

    /// An operation in a lane.
    fn in_lane(&mut self, node: &Node, k: usize) -> NodeId {
        let op = node.op.map(&mut |a| self.lane(*a, k));
        self.b.add(op, node.shape.clone(), node.dtype)
    }

    /// A sum or difference in a lane in which one of the terms is zero.
    fn added(&mut self, op: &Op<NodeId>, k: usize) -> Option<NodeId> {
        let Op::Binary(op @ (Binary::Add | Binary::Sub), x, y) = op else { return None };
        match (self.value(*x).lane(k), self.value(*y).lane(k)) {
            (Some(x), None) => Some(x),
            (None, Some(y)) if *op == Binary::Add => Some(y),
            (None, Some(y)) => Some(self.b.apply(Op::Unary(Unary::Neg, y))),
            (Some(_), Some(_)) | (None, None) => None,
        }
    }

    /// The `count` results of an operation.
    fn several(&mut self, op: &Op<NodeId>, count: usize) -> Vec<LaneValue> {
        let apply = |run: &mut Self, k: usize| {
            let of = op.map(&mut |a| run.lane(*a, k));
            let of = run.b.apply(of);
            (0..count).map(|at| run.b.apply(Op::Output(of, at))).collect::<Vec<NodeId>>()
        };
        let Some(live) = self.live(op) else { return apply(self, 0).into_iter().map(LaneValue::Same).collect() };
        let lanes: Vec<Option<Vec<NodeId>>> = (0..self.n).map(|k| live[k].then(|| apply(self, k))).collect();
        let result = |at: usize| lanes.iter().map(|lane| lane.as_ref().map(|results| results[at])).collect();
        (0..count).map(|at| LaneValue::Each(result(at))).collect()
    }

    /// The results of a loop, with the same number of trips or the same early end, which carries each value once, or
    /// once per lane.
    fn looped(
        &mut self,
        l: LaneLoop<'_>,
        make: impl FnOnce(Program, Vec<NodeId>, Vec<NodeId>, Vec<NodeId>) -> Op<NodeId>,
    ) -> Vec<LaneValue> {
        let init = self.values(l.init);
        let (xs, captured) = (self.values(l.xs), self.values(l.captured));
        let mut carry: Vec<LaneForm> = init.iter().map(LaneValue::form).collect();
        let others: Vec<LaneForm> = xs.iter().chain(&captured).map(LaneValue::form).collect();
        // Lanes are added to the carry until each trip returns what it takes: a least fixpoint.
        let (body, results) = loop {
            let (mut b, values) = self.inputs(l.body, &[&carry[..], &others].concat());
            let results = multi_tangent(&mut b, self.n, l.body, values);
            let mut next = carry.clone();
            for ((form, start), end) in next.iter_mut().zip(&init).zip(&results) {
                let is_zero = |b: &Builder, value: &LaneValue| matches!(value, LaneValue::Same(id) if b.is_zero(*id));
                let zeros = [is_zero(self.b, start), is_zero(&b, end)];
                *form = form.join(&end.form(), zeros);
            }
            if next == carry {
                break (self.body(b, l.body, &carry, &results), results);
            }
            carry = next;
        };
        let start = |run: &mut Self, (k, form): (usize, &LaneForm)| -> Vec<NodeId> {
            let in_lane = |(at, some): (usize, &bool)| some.then(|| run.lane(l.init[k], at));
            match form {
                LaneForm::Same => init[k].ids().to_vec(),
                LaneForm::Each(lanes) => lanes.iter().enumerate().filter_map(in_lane).collect(),
            }
        };
        let init: Vec<NodeId> = carry.iter().enumerate().flat_map(|at| start(self, at)).collect();
        let flat = |values: &[LaneValue]| values.iter().flat_map(LaneValue::ids).collect::<Vec<NodeId>>();
        let of = self.b.apply(make(body, init, flat(&xs), flat(&captured)));
        let mut at = 0;
        let mut next = || {
            at += 1;
            self.b.apply(Op::Output(of, at - 1))
        };
        let forms = carry.into_iter().chain(results[l.init.len()..].iter().map(LaneValue::form));
        forms.map(|form| form.value(&mut next)).collect()
    }

    /// The results of a conditional whose branches compute each value once, or once per lane. The mask is the same in all
    /// lanes.
    fn chosen(&mut self, custom: &Custom, branches: [&Program; 2], args: &[NodeId]) -> Vec<LaneValue> {
        let given = self.values(args);
        let forms: Vec<LaneForm> = given[1..].iter().map(LaneValue::form).collect();
        let made = branches.map(|program| {
            let (mut b, values) = self.inputs(program, &forms);
            let results = multi_tangent(&mut b, self.n, program, values);
            (b, results)
        });
        let [(_, then), (_, otherwise)] = &made;
        let is_zero = |b: &Builder, value: &LaneValue| matches!(value, LaneValue::Same(id) if b.is_zero(*id));
        let both = then.iter().zip(otherwise);
        let joined = |(x, y): (&LaneValue, &LaneValue)| {
            x.form().join(&y.form(), [is_zero(&made[0].0, x), is_zero(&made[1].0, y)])
        };
        let results: Vec<LaneForm> = both.map(joined).collect();
        let [then, otherwise] = made;
        let then = self.body(then.0, branches[0], &results, &then.1);
        let otherwise = self.body(otherwise.0, branches[1], &results, &otherwise.1);
        let lanes = |form: &LaneForm| match form {
            LaneForm::Same => 1,
            LaneForm::Each(lanes) => lanes.iter().filter(|some| **some).count(),
        };
        let absent = custom.absent().map(|marks| {
            let of_lanes = |(mark, form): (&bool, &LaneForm)| vec![*mark; lanes(form)];
            marks.iter().zip(&results).flat_map(of_lanes).collect()
        });
        let rule = Custom::chosen(custom.name(), [then, otherwise], absent);
        let operands: Vec<NodeId> = given.iter().flat_map(LaneValue::ids).collect();
        let of = self.b.apply(Op::Custom(Arc::new(rule), operands));
        let mut at = 0;
        let mut next = || {
            at += 1;
            self.b.apply(Op::Output(of, at - 1))
        };
        results.into_iter().map(|form| form.value(&mut next)).collect()
    }

    /// A builder with inputs of these forms for a program.
    fn inputs(&self, program: &Program, forms: &[LaneForm]) -> (Builder, Vec<LaneValue>) {
        let mut b = Builder::new();
        let input =
            |(slot, form): (&Slot, &LaneForm)| form.value(|| b.input(Slot { name: String::new(), ..slot.clone() }));
        let values = program.inputs().iter().zip(forms).map(input).collect();
        (b, values)
    }

    /// The body whose carry has these forms.
    fn body(&self, mut b: Builder, body: &Program, carry: &[LaneForm], results: &[LaneValue]) -> Program {
        let mut out: Vec<NodeId> = Vec::new();
        for (k, value) in results.iter().enumerate() {
            match carry.get(k) {
                Some(LaneForm::Each(lanes)) => {
                    let live = (0..lanes.len()).filter(|k| lanes[*k]);
                    let like = &body.nodes()[body.results()[k] as usize];
                    out.extend(live.map(|k| value.lane(k).unwrap_or_else(|| zeros(&mut b, like))));
                }
                Some(LaneForm::Same) | None => out.extend(value.ids()),
            }
        }
        b.finish(&out, &[])
    }
}
