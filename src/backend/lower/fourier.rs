//! Lowering of Fourier transforms: what is known of the operand, what is read of the result, and where the operand lies.
//!
//! The real and the imaginary part of an operand are followed through views, concatenations and sums with zeros to the
//! values that have their elements: a kernel reads them there, so what joins and pads them is not computed, and a part
//! that is zero is known to be.
//!
//! Law: a value that is followed through and has no other user is not lowered; every position of a result that an
//! operation reads is computed.

use std::collections::{HashMap, HashSet};

use std::sync::Arc;

use smallvec::SmallVec;

use super::operations::Scope;
use super::views::read_view;
use super::{LoweredValue, Lowering};
use crate::array::Array;
use crate::backend::ir::step::{KernelCall, KernelOp, Step};
use crate::kernels::fourier::{PartSource, PartsRead, Transform};
use crate::ops::{Binary, Linear, View};
use crate::program::{Node, NodeId, Op, Program};
use crate::shape::{Shape, size};

/// The transforms of a program.
#[derive(Default)]
pub(super) struct Transforms {
    forms: HashMap<NodeId, TransformForm>,
    /// The values that only transforms use, which read through them.
    inside: HashSet<NodeId>,
}

/// How a transform reads its operand, and what is read of its result.
#[derive(Clone)]
struct TransformForm {
    axes: [usize; 2],
    conjugate: bool,
    /// For each part the value that has its elements, with the view from the axes of a part; `None` if they are zeros.
    sources: [Option<(NodeId, View)>; 2],
    reads: PartsRead,
}

/// The largest number of values that one part is followed through.
const DEPTH: usize = 8;

impl Transforms {
    pub(super) fn of(program: &Program) -> Transforms {
        let nodes = program.nodes();
        let mut all = Transforms::default();
        let mut passed: HashSet<NodeId> = HashSet::new();
        for (k, node) in nodes.iter().enumerate() {
            if let Op::Linear(op, a) = &node.op
                && let Linear::Fourier { shape, parts, axis, conjugate } = &**op
                && !op.is_identity()
                && size(shape) > 0
            {
                let along = axis - usize::from(parts < axis);
                let sources = [0, 1].map(|p| follow(program, (*a, part(shape, *parts, p)), along, DEPTH, &mut passed));
                let reads = PartsRead { parts: [false; 2], len: 0 };
                all.forms.insert(
                    k as NodeId,
                    TransformForm { axes: [*parts, *axis], conjugate: *conjugate, sources, reads },
                );
            }
        }
        if !all.forms.is_empty() {
            all.look(program, &passed);
        }
        all
    }

    /// Finds what lies inside, and what is read of each transform, from the last operation to the first.
    fn look(&mut self, program: &Program, passed: &HashSet<NodeId>) {
        let nodes = program.nodes();
        let mut needed = vec![false; nodes.len()];
        for a in program.results() {
            needed[*a as usize] = true;
            self.read(nodes, *a, None);
        }
        for (k, node) in nodes.iter().enumerate().rev() {
            if passed.contains(&(k as NodeId)) && !needed[k] {
                self.inside.insert(k as NodeId);
            } else if let Some(form) = self.forms.get(&(k as NodeId)) {
                for (a, view) in form.sources.clone().into_iter().flatten() {
                    needed[a as usize] = true;
                    self.read(nodes, a, Some(&view));
                }
            } else {
                let op = if let Op::Linear(op, _) = &node.op { Some(&**op) } else { None };
                let view = if let Some(Linear::Affine { from, .. }) = op { Some(from) } else { None };
                node.op.operands(&mut |a| {
                    needed[*a as usize] = true;
                    self.read(nodes, *a, view);
                });
            }
        }
    }

    /// Notes that a value is read, through a view or as a whole.
    fn read(&mut self, nodes: &[Node], a: NodeId, view: Option<&View>) {
        let Some(TransformForm { axes: [parts, axis], reads, .. }) = self.forms.get_mut(&a) else { return };
        let all = |axis: usize| (0, nodes[a as usize].shape[axis] as i64 - 1);
        let range = |axis: usize| view.map_or(all(axis), |view| view.range(axis));
        // A view reads zeros out of bounds.
        if view.is_none_or(|view| !view.is_empty()) {
            let ((lo, hi), last) = (range(*parts), range(*axis).1.min(all(*axis).1));
            (0..2).for_each(|p| reads.parts[p] |= (lo..=hi).contains(&(p as i64)));
            reads.len = reads.len.max((last + 1).max(0) as usize);
        }
    }

    /// Whether only transforms use a value, which read through it.
    pub(super) fn has_inside(&self, a: NodeId) -> bool {
        self.inside.contains(&a)
    }

    /// The transforms that have a form, each with the values that it reads.
    pub(super) fn sources(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let of = |(k, form): (&NodeId, &TransformForm)| {
            let sources: SmallVec<[NodeId; 2]> = form.sources.iter().flatten().map(|(a, _)| *a).collect();
            let k = *k;
            sources.into_iter().map(move |a| (k, a))
        };
        self.forms.iter().flat_map(of)
    }
}

/// The view of one part of complex numbers.
fn part(shape: &[usize], parts: usize, p: i64) -> View {
    let others: SmallVec<[usize; 6]> = (0..shape.len()).filter(|k| *k != parts).collect();
    let rest: Shape = others.iter().map(|k| shape[*k]).collect();
    let matrix: Vec<i64> = (0..shape.len()).flat_map(|k| others.iter().map(move |j| i64::from(k == *j))).collect();
    let offset: Vec<i64> = (0..shape.len()).map(|k| if k == parts { p } else { 0 }).collect();
    View::affine(shape, &rest, &matrix, &offset)
}

/// The value that has the elements at which a view looks, with the view of it; `None` if they are zeros. Along all axes
/// but `along`, the view has no holes.
fn follow(
    program: &Program,
    (id, view): (NodeId, View),
    along: usize,
    depth: usize,
    passed: &mut HashSet<NodeId>,
) -> Option<(NodeId, View)> {
    let node = &program.nodes()[id as usize];
    if view.is_empty() || matches!(&node.op, Op::Constant(c) if c.is_zero()) {
        return None;
    }
    let fits = |view: &View| {
        let whole = |k: usize| view.bounds()[k] == (0, view.shape()[k]);
        view.is_empty() || view.is_total_in_box() && (0..view.shape().len()).all(|k| k == along || whole(k))
    };
    let next = |read: &View| read.after(&view).filter(fits);
    if depth == 0 {
        return Some((id, view));
    }
    if let Op::Linear(op, a) = &node.op
        && let Linear::Affine { from, into } = &**op
        && let Some(view) = read_view(from, into).and_then(|read| next(&read))
    {
        passed.insert(id);
        return follow(program, (*a, view), along, depth - 1, passed);
    } else if let Op::Concat(axis, parts) = &node.op {
        let (lo, hi) = view.range(*axis);
        let mut start = 0;
        for part in parts {
            let shape = &program.nodes()[*part as usize].shape;
            let end = start + shape[*axis] as i64;
            if start <= lo && hi < end {
                let mut widths = node.shape.clone();
                widths.fill(0);
                let (mut before, mut after) = (widths.clone(), widths);
                before[*axis] = start as usize;
                after[*axis] = node.shape[*axis] - end as usize;
                let Linear::Affine { from, into } = Linear::pad(shape, &before, &after) else { break };
                let Some(view) = read_view(&from, &into).and_then(|read| next(&read)) else { break };
                passed.insert(id);
                return follow(program, (*part, view), along, depth - 1, passed);
            }
            start = end;
        }
    } else if let Op::Binary(Binary::Add, a, b) = &node.op {
        // Zeros of an operand have no sign, so the sum with zeros is the other one.
        let mut beside = passed.clone();
        let [x, y] = [a, b].map(|a| follow(program, (*a, view.clone()), along, depth - 1, &mut beside));
        let other = match (x, y) {
            (Some(x), None) | (None, Some(x)) => (!program.is_deferred(x.0)).then_some(Some(x)),
            (None, None) => Some(None),
            (Some(_), Some(_)) => None,
        };
        if let Some(other) = other {
            beside.insert(id);
            *passed = beside;
            return other;
        }
    }
    Some((id, view))
}

impl Lowering {
    /// Lowers a transform.
    pub(super) fn fourier(&mut self, scope: &mut Scope<'_>, k: NodeId, node: &Node) -> LoweredValue {
        let Some(TransformForm { axes, conjugate, sources, reads }) = scope.transforms.forms.get(&k).cloned() else {
            return self.constant(&Array::zeros(&node.shape, node.dtype));
        };
        let mut operands: SmallVec<[_; 4]> = SmallVec::new();
        let mut numbers: SmallVec<[NodeId; 2]> = SmallVec::new();
        let sources = sources.map(|source| {
            let (a, view) = source?;
            let (dtype, n) = scope.kind(a);
            self.settle(scope, a);
            let operand = numbers.iter().position(|b| *b == a).unwrap_or_else(|| {
                operands.push((self.operand(&mut scope.known[a as usize], dtype, n), n));
                numbers.push(a);
                numbers.len() - 1
            });
            let along = axes[1] - usize::from(axes[0] < axes[1]);
            Some(source_of(&view, along, operand, operands[operand].0.one))
        });
        if operands.is_empty() {
            return self.constant(&Array::zeros(&node.shape, node.dtype));
        }
        let transform = Transform::new(&node.shape, axes, conjugate, sources, reads, node.dtype);
        let op = KernelOp::Fourier(Arc::new(transform));
        let n = size(&node.shape);
        let out = self.workspace(node.dtype, n);
        self.push(Step::KernelCall(Box::new(KernelCall {
            op,
            dtype: node.dtype,
            operands,
            out,
            size: n,
            origin: self.origin.clone(),
        })));
        LoweredValue::Dense(out, 0)
    }
}

/// Where a view finds the elements of a part; `one` says that a single element is stored.
fn source_of(view: &View, along: usize, operand: usize, one: bool) -> PartSource {
    let mut strides: SmallVec<[i64; 4]> = view.shape().iter().map(|_| 0).collect();
    let (mut base, mut step) = (0, i64::from(!one));
    for (k, n) in view.source().iter().enumerate().rev() {
        base += view.offset()[k] * step;
        strides.iter_mut().zip(view.row(k)).for_each(|(stride, m)| *stride += m * step);
        step *= *n as i64;
    }
    PartSource { operand, base, strides, seen: view.bounds()[along] }
}
