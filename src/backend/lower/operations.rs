//! Lowering of operations, one by one: reshapes vanish, views become accesses, other operations groups or kernel calls.
//!
//! A reshape needs no code, because groups run over flat positions. See `lower/mod.rs` for the order of the steps.
//!
//! Law: an operand is updated in place only if no other operation uses its value, under any alias.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::fourier::Transforms;
use super::loops::unwritten;
use super::prefix_extrema::{PrefixExtrema, prefix_extrema};
use super::products::joined_dots;
use super::ranks::ranks_read;
use super::views::as_read;
use super::{LoweredValue, Lowering};
use crate::backend::ir::access::{StridedAccess, positions};
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::{FusedOp, GatherOp, ValueId};
use crate::backend::ir::step::{
    BufferId, Interpreted, KernelCall, KernelOp, MatrixCall, Ranks, Step, StepOperand, Storage,
};
use crate::dtype::DType;
use crate::kernels::scan::Line;
use crate::kernels::sorting::Lines;
use crate::ops::{Binary, Call, Discrete, FloatStep, Linear, Matrix, Reduce};
use crate::program::updates::{Replacement, Updates};
use crate::program::{Builder, DeferredView, Node, NodeId, Op, Program, Slot as Named};
use crate::shape::{Shape, size};

/// A program that is being lowered, with the forms of its values so far.
pub(crate) struct Scope<'p> {
    pub(crate) program: &'p Program,
    pub(crate) known: Vec<LoweredValue>,
    /// For each value, the last use of the value or of an alias of it.
    life: Vec<NodeId>,
    /// For each value, the value that it is an alias of, or itself.
    root: Vec<NodeId>,
    /// For each sorting permutation, the ranks that other operations read.
    ranks: HashMap<NodeId, Ranks>,
    /// Gathers of prefix extrema.
    prefix_extrema: PrefixExtrema,
    /// Inner products that one group computes.
    pub(super) joined_dots: HashSet<NodeId>,
    /// The Fourier transforms.
    pub(super) transforms: Transforms,
    /// Selections that write a subarray in place.
    updates: Updates,
    /// The results of operations with several results that other operations read.
    outputs_read: HashSet<(NodeId, usize)>,
    /// Whether each input may be updated in place: only carries of a loop may.
    owned: &'p [bool],
}

impl Lowering {
    /// The results of a program.
    pub(crate) fn program(&mut self, program: &Program, inputs: &[LoweredValue], owned: &[bool]) -> Vec<LoweredValue> {
        let mut scope = Scope::new(program, owned);
        for (k, node) in program.nodes().iter().enumerate() {
            let enclosing = self.origin.clone();
            self.origin = program.place(k as NodeId).or(&enclosing);
            let known = self.node(&mut scope, k as NodeId, node, inputs);
            self.origin = enclosing;
            scope.known.push(known);
        }
        program.results().iter().for_each(|id| self.settle(&mut scope, *id));
        program.results().iter().map(|id| scope.known[*id as usize].clone()).collect()
    }

    fn node(&mut self, scope: &mut Scope<'_>, k: NodeId, node: &Node, inputs: &[LoweredValue]) -> LoweredValue {
        let n = size(&node.shape);
        let dtype = node.dtype;
        if scope.transforms.has_inside(k) || scope.updates.has_inside(k) {
            return LoweredValue::Deferred;
        }
        if let Some(update) = scope.updates.get(k).cloned() {
            return self.update(scope, k, &update);
        }
        self.settle_operands(scope, &node.op, n);
        match &node.op {
            Op::Input(i) => inputs[*i as usize].clone(),
            Op::Constant(c) => self.constant(&c.0),
            Op::Unary(op, a) => self.elementwise(n, dtype, &[scope.operand(*a)], |v| ElementwiseOp::Unary(*op, v[0])),
            Op::Binary(op, a, b) => {
                if let Some(sum) = self.sum_in_place(scope, k, &node.op) {
                    return sum;
                }
                let operands = [scope.operand(*a), scope.operand(*b)];
                self.elementwise(n, dtype, &operands, |v| ElementwiseOp::Binary(*op, v[0], v[1]))
            }
            Op::Discrete(op, args) => self.discrete(scope, k, op, args, n, node),
            Op::Select(args) => {
                let operands = args.map(|a| scope.operand(a));
                self.elementwise(n, dtype, &operands, |v| ElementwiseOp::Select([v[0], v[1], v[2]]))
            }
            Op::Linear(..) if scope.program.is_deferred(k) => LoweredValue::Deferred,
            Op::Linear(op, a) => self.linear(scope, k, op, *a, node),
            Op::Contract(op, a, b) => self.bilinear(scope, op, *a, *b, node),
            Op::Reduce(op, a) => {
                self.spread(scope, *a);
                let (len, inner) = line(scope.shape(*a), op.axis());
                self.whole(scope, KernelOp::Extremum(*op, len, inner), &[*a], node)
            }
            Op::Gather(a, _) if scope.prefix_extrema.is_gather(k) => {
                self.spread(scope, *a);
                let (line, largest) = scope.prefix_extrema.gathered(k);
                self.whole(scope, KernelOp::PrefixExtremum(line, largest), &[*a], node)
            }
            Op::Gather(a, ix) if !ix.is_empty() && ix.len() == scope.shape(*a).len() => {
                let (of, sizes) = (scope.kind(*a), scope.shape(*a).iter().copied().collect());
                let (buf, at) = self.dense(&mut scope.known[*a as usize], of.0, of.1);
                if at != 0 {
                    return self.gather_blocks(scope, *a, ix, node);
                }
                let operands: SmallVec<[(&LoweredValue, DType); 4]> = ix.iter().map(|i| scope.operand(*i)).collect();
                self.gathered(buf, sizes, &operands, n, dtype)
            }
            Op::Gather(a, ix) => self.gather_blocks(scope, *a, ix, node),
            Op::ScatterAdd(base, ix, v) => self.scatter_add(scope, k, *base, ix, *v),
            Op::Concat(axis, parts) => self.concat(scope, *axis, parts, node),
            Op::Loop(l) => {
                let sized = |ids: &[NodeId]| ids.iter().map(|a| scope.kind(*a)).collect::<Vec<_>>();
                let (init, xs, captured) = (sized(&l.init), sized(&l.xs), sized(&l.captured));
                let take = |ids: &[NodeId]| ids.iter().map(|a| scope.known[*a as usize].clone()).collect::<Vec<_>>();
                let known = [take(&l.init), take(&l.xs), take(&l.captured)];
                self.map_accum(l, [init, xs, captured], known)
            }
            Op::Call(call, args) => {
                let kinds: Vec<_> = args.iter().map(|a| scope.program.nodes()[*a as usize].kind()).collect();
                let results = call.results(&kinds);
                LoweredValue::Many(match call {
                    Call::Matrix(op) => self.matrices(scope, *op, args, &results),
                    Call::External(_) | Call::Tap(_) => self.interpreted(scope, node, &results),
                })
            }
            Op::Custom(rule, args) if rule.is_while() => {
                let kinds: Vec<_> = args.iter().map(|a| scope.kind(*a)).collect();
                let known: Vec<LoweredValue> = args.iter().map(|a| scope.known[*a as usize].clone()).collect();
                self.repeated(rule, kinds, known)
            }
            Op::Custom(rule, args) if rule.branches().is_some() => {
                let kinds: Vec<_> = args.iter().map(|a| scope.kind(*a)).collect();
                let known: Vec<LoweredValue> = args.iter().map(|a| scope.known[*a as usize].clone()).collect();
                self.cond(rule, &unwritten(scope.program, k, rule), kinds, known)
            }
            Op::Custom(rule, args) => {
                let inputs: Vec<LoweredValue> = args.iter().map(|a| scope.known[*a as usize].clone()).collect();
                let owned = vec![false; inputs.len()];
                LoweredValue::Many(self.program(rule.primal(), &inputs, &owned))
            }
            Op::Output(a, i) => match &scope.known[*a as usize] {
                LoweredValue::Many(results) => results[*i].clone(),
                LoweredValue::Dense(..)
                | LoweredValue::One(..)
                | LoweredValue::View(..)
                | LoweredValue::Positions(_)
                | LoweredValue::Fused(..)
                | LoweredValue::Deferred
                | LoweredValue::Permuted(..) => unreachable!("an output is of an operation with several results"),
            },
        }
    }

    fn gathered(
        &mut self,
        buf: BufferId,
        sizes: SmallVec<[usize; 4]>,
        ix: &[(&LoweredValue, DType)],
        n: usize,
        dtype: DType,
    ) -> LoweredValue {
        let step = self.group_for(n, ix, self.ready(buf));
        let values: SmallVec<[ValueId; 4]> = ix.iter().map(|(known, dtype)| self.within(step, known, *dtype)).collect();
        self.reads(buf, step);
        LoweredValue::Fused(
            step,
            self.group_at(step).push(FusedOp::Gather(GatherOp { buf, sizes, indices: values }), dtype),
        )
    }

    fn discrete(
        &mut self,
        scope: &mut Scope<'_>,
        k: NodeId,
        op: &Discrete,
        args: &[NodeId],
        n: usize,
        node: &Node,
    ) -> LoweredValue {
        if let Some(sum) = self.sum_in_place(scope, k, &node.op) {
            return sum;
        }
        let each = |lowering: &mut Self, scope: &Scope<'_>, item: &dyn Fn(&[ValueId]) -> ElementwiseOp<ValueId>| {
            let operands: SmallVec<[(&LoweredValue, DType); 2]> = args.iter().map(|a| scope.operand(*a)).collect();
            lowering.elementwise(n, node.dtype, &operands, item)
        };
        match op {
            Discrete::Iota { n } => LoweredValue::Positions(StridedAccess::along(*n)),
            Discrete::FloatStep(FloatStep::StopGradient) => scope.known[args[0] as usize].clone(),
            Discrete::ToInt if scope.kind(args[0]).0 == DType::I64 => scope.known[args[0] as usize].clone(),
            Discrete::ArgMax { axis } | Discrete::ArgMin { axis } => {
                let reduce = if let Discrete::ArgMax { .. } = op {
                    Reduce::Max { axis: *axis }
                } else {
                    Reduce::Min { axis: *axis }
                };
                self.spread(scope, args[0]);
                let (len, inner) = line(scope.shape(args[0]), *axis);
                self.whole(scope, KernelOp::Position(reduce, len, inner), &[args[0]], node)
            }
            Discrete::ArgSort { axis, descending } => {
                self.spread(scope, args[0]);
                let (len, inner) = line(scope.shape(args[0]), *axis);
                let ranks = scope.ranks.get(&k).cloned().unwrap_or_default();
                let op = KernelOp::ArgSort(Lines { len, inner, descending: *descending }, ranks);
                self.whole(scope, op, &[args[0]], node)
            }
            Discrete::PrefixArg { .. } if scope.prefix_extrema.is_gathered_alone(k) => LoweredValue::Deferred,
            Discrete::PrefixArg { axis, largest, reverse } => {
                self.spread(scope, args[0]);
                let op = KernelOp::PrefixArg(Line::along(scope.shape(args[0]), *axis, *reverse), *largest);
                self.whole(scope, op, &[args[0]], node)
            }
            Discrete::Compare(op) => each(self, scope, &|v| ElementwiseOp::Compare(*op, v[0], v[1])),
            Discrete::And => each(self, scope, &|v| ElementwiseOp::And(v[0], v[1])),
            Discrete::Or => each(self, scope, &|v| ElementwiseOp::Or(v[0], v[1])),
            Discrete::Not => each(self, scope, &|v| ElementwiseOp::Not(v[0])),
            Discrete::FloatStep(op) => each(self, scope, &|v| ElementwiseOp::FloatStep(*op, v[0])),
            Discrete::IntUnary(op) => each(self, scope, &|v| ElementwiseOp::IntUnary(*op, v[0])),
            Discrete::IntBinary(op) => each(self, scope, &|v| ElementwiseOp::IntBinary(*op, v[0], v[1])),
            Discrete::ToInt | Discrete::ToFloat(_) => {
                let from = scope.kind(args[0]).0;
                each(self, scope, &|v| ElementwiseOp::Convert(from, v[0]))
            }
        }
    }

    /// A buffer with a value that operation `k` may update in place, and the first step that may do so: the value's own
    /// buffer if this is the last use of the value, otherwise a copy. `others` are the other operands of the operation.
    fn changeable_place(
        &mut self,
        scope: &mut Scope<'_>,
        a: NodeId,
        k: NodeId,
        others: &[NodeId],
    ) -> (BufferId, usize) {
        let (dtype, of) = scope.kind(a);
        let root = scope.root[a as usize];
        let last = scope.life[root as usize] == k && others.iter().all(|b| scope.root[*b as usize] != root);
        let whole = !matches!(
            scope.known[a as usize],
            LoweredValue::One(..) | LoweredValue::View(..) | LoweredValue::Positions(_)
        );
        let input = scope.input_of(a);
        let owned = input.is_none_or(|i| scope.owned[i]);
        if last && whole && owned {
            let (buf, at) = self.dense(&mut scope.known[a as usize], dtype, of);
            let buffer = self.at(buf);
            let own =
                matches!(buffer.storage, Storage::Workspace(_)) || input.is_some() && buffer.storage == Storage::Loop;
            if at == 0 && buffer.depth == self.depth() && buffer.size == of && own && !buffer.taken {
                return (buf, self.changeable(buf));
            }
        }
        let buf = self.copied(&scope.known[a as usize].clone(), dtype, of);
        (buf, self.changeable(buf))
    }

    /// A sum with a deferred linear operation, which is accumulated in the buffer of the other operand; `None` if no
    /// operand is deferred.
    fn sum_in_place(&mut self, scope: &mut Scope<'_>, k: NodeId, sum: &Op<NodeId>) -> Option<LoweredValue> {
        let program = scope.program;
        let (base, DeferredView { id: of, op, from, into, source }) = program.sum_in_place(sum)?;
        let node = &program.nodes()[of as usize];
        let (dtype, n) = scope.kind(source);
        // If the linear operation writes many positions, the group of the sum reads its operand through a view.
        let read = as_read(from, into);
        let added = read.and_then(|read| self.seen(&mut scope.known[source as usize], &read, dtype, n));
        let (access, seen) = match added {
            Some(_) => (None, None),
            None => (StridedAccess::new(into), self.seen(&mut scope.known[source as usize], from, dtype, n)),
        };
        let (Some(access), Some(mut seen)) = (access, seen) else {
            let mut added = added.unwrap_or_else(|| self.linear(scope, of, op, source, node));
            self.settle_sum(scope, base, &mut added);
            let operands = [scope.operand(base), (&added, dtype)];
            return Some(
                self.elementwise(size(&node.shape), dtype, &operands, |v| ElementwiseOp::sum(dtype, v[0], v[1])),
            );
        };
        self.settle(scope, base);
        self.in_order(&mut seen, dtype, positions(into));
        let (buf, from) = self.changeable_place(scope, base, k, &[source]);
        let step = self.group_for(positions(into), &[(&seen, dtype)], from);
        let value = self.within(step, &seen, dtype);
        self.group_at(step).push(FusedOp::Add(buf, access, value), dtype);
        self.writes(buf, step);
        Some(LoweredValue::Dense(buf, 0))
    }

    fn scatter_add(
        &mut self,
        scope: &mut Scope<'_>,
        k: NodeId,
        base: NodeId,
        ix: &[NodeId],
        of: NodeId,
    ) -> LoweredValue {
        let node = &scope.program.nodes()[k as usize];
        let shape = scope.shape(base);
        let (indexed, rest) = shape.split_at(ix.len());
        let (sizes, block) = (indexed.to_vec(), size(rest));
        if ix.is_empty() {
            let (operands, dtype) = ([scope.operand(base), scope.operand(of)], node.dtype);
            return self.elementwise(size(shape), dtype, &operands, |v| ElementwiseOp::sum(dtype, v[0], v[1]));
        }
        let zero = matches!(&scope.program.nodes()[base as usize].op, Op::Constant(c) if c.is_zero());
        let n = size(&node.shape);
        let (out, fresh) = match zero {
            true => (self.workspace(node.dtype, n), true),
            false => (self.changeable_place(scope, base, k, &[ix, &[of]].concat()).0, false),
        };
        let operands: SmallVec<[NodeId; 4]> = std::iter::once(of).chain(ix.iter().copied()).collect();
        self.whole_into(scope, KernelOp::Scatter(sizes, block, fresh), &operands, out, n)
    }

    /// An array with one subarray replaced, in the place of the array if nothing else reads it.
    fn update(&mut self, scope: &mut Scope<'_>, k: NodeId, update: &Replacement) -> LoweredValue {
        let Replacement { base, indices, new } = update;
        for a in indices.iter().chain([base, new]) {
            self.settle(scope, *a);
        }
        let (indexed, rest) = scope.shape(*base).split_at(indices.len());
        let op = KernelOp::Update(indexed.to_vec(), size(rest));
        let operands: SmallVec<[NodeId; 4]> = std::iter::once(*new).chain(indices.iter().copied()).collect();
        let out = self.changeable_place(scope, *base, k, &operands).0;
        let n = scope.kind(*base).1;
        self.whole_into(scope, op, &operands, out, n)
    }

    fn gather_blocks(&mut self, scope: &mut Scope<'_>, a: NodeId, ix: &[NodeId], node: &Node) -> LoweredValue {
        if ix.is_empty() {
            return scope.known[a as usize].clone();
        }
        let (indexed, rest) = scope.shape(a).split_at(ix.len());
        let op = KernelOp::Gather(indexed.to_vec(), size(rest));
        self.spread(scope, a);
        let operands: SmallVec<[NodeId; 4]> = std::iter::once(a).chain(ix.iter().copied()).collect();
        self.whole(scope, op, &operands, node)
    }

    /// Stores a broadcast value element by element, for kernels without broadcast operands.
    pub(super) fn spread(&mut self, scope: &mut Scope<'_>, a: NodeId) {
        let (dtype, n) = scope.kind(a);
        if let known @ LoweredValue::One(..) = &scope.known[a as usize] {
            scope.known[a as usize] = LoweredValue::Dense(self.copied(&known.clone(), dtype, n), 0);
        }
    }

    /// Appends a kernel call with a new buffer for its result.
    pub(crate) fn whole(
        &mut self,
        scope: &mut Scope<'_>,
        op: KernelOp,
        operands: &[NodeId],
        node: &Node,
    ) -> LoweredValue {
        let n = size(&node.shape);
        let out = self.workspace(node.dtype, n);
        self.whole_into(scope, op, operands, out, n)
    }

    fn whole_into(
        &mut self,
        scope: &mut Scope<'_>,
        op: KernelOp,
        operands: &[NodeId],
        out: BufferId,
        n: usize,
    ) -> LoweredValue {
        let dtype = scope.kind(operands[0]).0;
        let operands = operands
            .iter()
            .map(|a| {
                let (dtype, n) = scope.kind(*a);
                (self.operand(&mut scope.known[*a as usize], dtype, n), n)
            })
            .collect();
        self.call_kernel(op, dtype, operands, out, n)
    }

    /// Appends a kernel call with these operands, whose result are `size` elements of `out`.
    pub(crate) fn call_kernel(
        &mut self,
        op: KernelOp,
        dtype: DType,
        operands: SmallVec<[(StepOperand, usize); 4]>,
        out: BufferId,
        size: usize,
    ) -> LoweredValue {
        self.push(Step::KernelCall(Box::new(KernelCall {
            op,
            dtype,
            operands,
            out,
            size,
            origin: self.origin.clone(),
        })));
        LoweredValue::Dense(out, 0)
    }

    fn concat(&mut self, scope: &mut Scope<'_>, axis: usize, parts: &[NodeId], node: &Node) -> LoweredValue {
        let (dtype, shape) = (node.dtype, &node.shape);
        let (outer, inner, whole) = (size(&shape[..axis]), size(&shape[axis + 1..]), shape[axis]);
        let out = self.workspace(dtype, size(shape));
        let mut before = 0;
        for part in parts {
            let rows = scope.shape(*part)[axis];
            let n = scope.kind(*part).1;
            let operands = [scope.operand(*part)];
            let step = self.group_for(n, &operands, 0);
            let value = self.within(step, operands[0].0, dtype);
            let access = StridedAccess::block(outer, rows, inner, whole, before);
            self.group_at(step).push(FusedOp::Put(out, access, value), dtype);
            self.writes(out, step);
            before += rows;
        }
        LoweredValue::Dense(out, 0)
    }

    /// An operation of linear algebra.
    fn matrices(
        &mut self,
        scope: &mut Scope<'_>,
        op: Matrix,
        args: &[NodeId],
        results: &[(Shape, DType)],
    ) -> Vec<LoweredValue> {
        let kinds: Vec<_> = args.iter().map(|a| scope.program.nodes()[*a as usize].kind()).collect();
        let work = op.work(&kinds);
        let (batch, [m, n]) = scope.shape(args[0]).split_last_chunk().expect("a matrix has two axes");
        let (count, sizes) = (size(batch), [*m, *n]);
        let dtype = scope.kind(args[0]).0;
        let mut operands = SmallVec::new();
        for a in args {
            let (dtype, n) = scope.kind(*a);
            operands.push((self.operand(&mut scope.known[*a as usize], dtype, n), n));
        }
        // A result that nothing reads has no room, whichever it is. Without room for vectors, the kernels of these
        // compute values alone, to the same bits.
        let may_lack = matches!(op, Matrix::Eigh | Matrix::Svd);
        let of = scope.at();
        let result = |(k, (shape, dtype)): (usize, &(Shape, DType))| {
            let is_read = !may_lack || scope.outputs_read.contains(&(of, k));
            let len = if is_read { size(shape) } else { 0 };
            (self.workspace(*dtype, len), len, *dtype)
        };
        let out: SmallVec<[_; 3]> = results.iter().enumerate().map(result).collect();
        let values = out.iter().map(|(out, ..)| LoweredValue::Dense(*out, 0)).collect();
        self.push(Step::Matrices(Box::new(MatrixCall {
            op,
            sizes,
            count,
            work,
            dtype,
            operands,
            out,
            origin: self.origin.clone(),
        })));
        values
    }

    /// An operation that the interpreter of arrays executes, with results of these kinds.
    fn interpreted(&mut self, scope: &mut Scope<'_>, node: &Node, results: &[(Shape, DType)]) -> Vec<LoweredValue> {
        let mut builder = Builder::new();
        let (mut ids, mut operands) = (Vec::new(), Vec::new());
        let mut order: Vec<NodeId> = Vec::new();
        node.op.operands(&mut |a| {
            if !order.contains(a) {
                order.push(*a);
            }
        });
        for a in &order {
            let (dtype, n) = scope.kind(*a);
            let shape = Shape::from_slice(scope.shape(*a));
            operands.push((self.operand(&mut scope.known[*a as usize], dtype, n), shape.clone()));
            ids.push(builder.input(Named { name: String::new(), shape, dtype }));
        }
        let buffer = |a: &NodeId| ids[order.iter().position(|b| b == a).expect("an operand is an input")];
        let of = builder.add(node.op.map(&mut |a| buffer(a)), node.shape.clone(), node.dtype);
        let mut found = vec![of];
        if let Op::Call(..) = node.op {
            let result =
                |(k, (shape, dtype)): (usize, &(Shape, DType))| builder.add(Op::Output(of, k), shape.clone(), *dtype);
            found = results.iter().enumerate().map(result).collect();
        }
        let program = builder.finish(&found, &[]);
        let out: Vec<BufferId> = results.iter().map(|(shape, dtype)| self.workspace(*dtype, size(shape))).collect();
        self.push(Step::Interpreted(Box::new(Interpreted { program, operands, out: out.clone() })));
        out.into_iter().map(|out| LoweredValue::Dense(out, 0)).collect()
    }
}

/// The number of elements along an axis, and their stride.
fn line(shape: &[usize], axis: usize) -> (usize, usize) {
    (shape[axis], size(&shape[axis + 1..]))
}

impl<'p> Scope<'p> {
    /// The number of the operation that is being lowered.
    pub(super) fn at(&self) -> NodeId {
        self.known.len() as NodeId
    }

    fn new(program: &'p Program, owned: &'p [bool]) -> Scope<'p> {
        let nodes = program.nodes();
        let mut root: Vec<NodeId> = (0..nodes.len() as NodeId).collect();
        let mut life = program.last_use().to_vec();
        for (k, node) in nodes.iter().enumerate() {
            if let Some(a) = named_anew(&node.op) {
                root[k] = root[a as usize];
            }
        }
        for k in 0..nodes.len() {
            let of = root[k] as usize;
            life[of] = life[of].max(life[k]);
        }
        // A result of a function with rules may be an alias of an argument, so neither is updated in place.
        let never = nodes.len() as NodeId;
        let mut outputs_read = HashSet::new();
        for (k, node) in nodes.iter().enumerate() {
            if let Op::Custom(_, args) = &node.op {
                args.iter().for_each(|a| life[root[*a as usize] as usize] = never);
            } else if let Op::Output(a, i) = &node.op
                && matches!(nodes[*a as usize].op, Op::Custom(..) | Op::Call(..))
            {
                life[k] = never;
                outputs_read.insert((*a, *i));
            }
        }
        // The operand of a deferred operation is read by the sum, and the operands of a product may be read by views of
        // the product (`scaled`).
        for (k, node) in nodes.iter().enumerate() {
            let Op::Linear(_, a) = &node.op else { continue };
            let time = if program.is_deferred(k as NodeId) { program.last_use()[k] } else { k as NodeId };
            let mut read = [*a; 3];
            if let Op::Binary(Binary::Mul, x, y) = nodes[root[*a as usize] as usize].op {
                (read[0], read[1]) = (x, y);
            }
            for x in read {
                let of = root[x as usize] as usize;
                life[of] = life[of].max(time);
            }
        }
        let (transforms, updates) = (Transforms::of(program), Updates::of(program));
        for (k, a) in transforms.sources().chain(updates.sources()) {
            let of = root[a as usize] as usize;
            life[of] = life[of].max(k);
        }
        let ranks = ranks_read(program);
        let prefix_extrema = prefix_extrema(program);
        let joined_dots = joined_dots(program);
        let known = Vec::with_capacity(nodes.len());
        Scope {
            program,
            known,
            life,
            root,
            ranks,
            prefix_extrema,
            joined_dots,
            transforms,
            updates,
            outputs_read,
            owned,
        }
    }

    /// Element type and number of elements.
    pub(crate) fn kind(&self, a: NodeId) -> (DType, usize) {
        let node = &self.program.nodes()[a as usize];
        (node.dtype, size(&node.shape))
    }

    fn shape(&self, a: NodeId) -> &'p [usize] {
        &self.program.nodes()[a as usize].shape
    }

    pub(crate) fn operand(&self, a: NodeId) -> (&LoweredValue, DType) {
        (&self.known[a as usize], self.program.nodes()[a as usize].dtype)
    }

    /// The input that a value is an alias of.
    fn input_of(&self, a: NodeId) -> Option<usize> {
        let of = &self.program.nodes()[self.root[a as usize] as usize].op;
        if let Op::Input(i) = of { Some(*i as usize) } else { None }
    }
}

/// The operand that the result of an operation may be an alias of: the operation computes nothing, so both may have
/// one buffer.
fn named_anew(op: &Op<NodeId>) -> Option<NodeId> {
    if let Op::Discrete(Discrete::FloatStep(FloatStep::StopGradient) | Discrete::ToInt, args) = op {
        return Some(args[0]);
    }
    let Op::Linear(op, a) = op else { return None };
    match &**op {
        Linear::Reshape { .. } => Some(*a),
        Linear::Affine { from, into } if as_read(from, into).is_some() => Some(*a),
        Linear::Affine { .. } | Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => {
            op.is_identity().then_some(*a)
        }
    }
}
