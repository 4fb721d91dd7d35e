//! Lowers bilinear operations: to kernels, to elementwise products, and to groups that accumulate products.
//!
//! A group reads an operand once for all inner products that share it: those of large arrays, as the four of the inner
//! product of complex vectors, take the time of their reads.
//!
//! Law: each way adds the products to 0, so that -0 becomes 0, and takes them all, so that NaN and infinities are not
//! lost. Which way is taken is a matter of time alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::interchange::reordered;
use super::operations::Scope;
use super::{LoweredValue, Lowering};
use crate::array::Array;
use crate::backend::ir::access::{AxisOrder, StridedAccess, positions};
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::step::{KernelOp, StepOperand};
use crate::cost::MACHINE;
use crate::kernels::contract::PlannedContraction;
use crate::ops::{Contract, View, inverse};
use crate::program::{Node, NodeId, Op, Program};
use crate::shape::{Shape, size};

impl Lowering {
    /// Lowers a bilinear operation, whose operands may be permuted.
    pub(crate) fn bilinear(
        &mut self,
        scope: &mut Scope<'_>,
        op: &Contract,
        a: NodeId,
        b: NodeId,
        node: &Node,
    ) -> LoweredValue {
        let mut op = op.clone();
        let mut own: SmallVec<[(NodeId, LoweredValue); 2]> = SmallVec::new();
        for (id, view) in [(a, &mut op.a), (b, &mut op.b)] {
            let known = &scope.known[id as usize];
            // An operand that occurs twice has been replaced by its permuted form already.
            let turn = own.iter().find(|(other, _)| *other == id).map_or(known, |(_, known)| known).axis_order();
            let Some(turn) =
                turn.filter(|_| matches!(known, LoweredValue::Permuted(..)) || own.iter().any(|o| o.0 == id))
            else {
                continue;
            };
            match reordered(view, &turn) {
                Some(new) => {
                    *view = new;
                    if let LoweredValue::Permuted(inner, _) = known {
                        let inner = (**inner).clone();
                        own.push((id, std::mem::replace(&mut scope.known[id as usize], inner)));
                    }
                }
                None => self.settle(scope, id),
            }
        }
        let result = match self.plain_product(scope, &op, a, b, node) {
            Some(product) => product,
            None => self.product(scope, &op, a, b, node),
        };
        own.into_iter().for_each(|(id, known)| scope.known[id as usize] = known);
        result
    }

    /// A bilinear operation without contracted axes, as an elementwise product; `None` if its views are partial, or if
    /// the kernel is cheaper.
    fn plain_product(
        &mut self,
        scope: &mut Scope<'_>,
        op: &Contract,
        a: NodeId,
        b: NodeId,
        node: &Node,
    ) -> Option<LoweredValue> {
        let (n, dtype) = (size(&node.shape), node.dtype);
        if positions(&op.out) != n || [&op.a, &op.b, &op.out].iter().any(|view| !view.is_total()) {
            return None;
        }
        let back = op.out.inverse()?;
        let mut seen = |id: NodeId, view: &View| {
            let of = scope.kind(id).1;
            self.seen(&mut scope.known[id as usize], &view.after(&back)?, dtype, of)
        };
        let (mut x, mut y) = (seen(a, &op.a)?, seen(b, &op.b)?);
        self.agree(n, dtype, [&mut x, &mut y]);
        // A group copies views of short rows tile by tile, which costs more than the kernel.
        let least =
            |access: &StridedAccess| if access.rank() > 2 { MACHINE.batch_outer_row } else { MACHINE.outer_row };
        let short = |access: &StridedAccess| access.row().is_none_or(|row| row < least(access));
        let copied = |known: &LoweredValue| matches!(known, LoweredValue::View(_, access) if short(access));
        if self.interchanged(n, &[(&x, dtype), (&y, dtype)]).is_none() && (copied(&x) || copied(&y)) {
            return None;
        }
        // Superinstructions take a broadcast element only as a later operand, not as the first.
        if x.is_still() {
            std::mem::swap(&mut x, &mut y);
        }
        let product =
            self.elementwise(n, dtype, &[(&x, dtype), (&y, dtype)], |v| ElementwiseOp::product(dtype, v[0], v[1]));
        if !dtype.is_float() {
            return Some(product);
        }
        // The product is added to 0, as in a contraction, so that -0 becomes 0.
        let zero = self.constant(&Array::zeros(&node.shape, dtype));
        Some(
            self.elementwise(n, dtype, &[(&product, dtype), (&zero, dtype)], |v| ElementwiseOp::sum(dtype, v[0], v[1])),
        )
    }

    /// A bilinear operation, by its kernel or as a group.
    pub(crate) fn product(
        &mut self,
        scope: &mut Scope<'_>,
        op: &Contract,
        a: NodeId,
        b: NodeId,
        node: &Node,
    ) -> LoweredValue {
        if scope.joined_dots.contains(&scope.at())
            && let Some(sum) = self.short_product(scope, op, a, b, node)
        {
            return sum;
        }
        let mut singles = [false; 2];
        for (single, operand) in singles.iter_mut().zip([a, b]) {
            let (dtype, n) = scope.kind(operand);
            *single = self.operand(&mut scope.known[operand as usize], dtype, n).one;
        }
        let product = PlannedContraction::new(op, node.dtype, singles);
        if (product.has_short_runs() || is_dot_through_views(op, node))
            && let Some(sum) = self.short_product(scope, op, a, b, node)
        {
            return sum;
        }
        if let Some(packed) = self.packed_once(scope, op, [a, b], &product, node) {
            return packed;
        }
        self.whole(scope, KernelOp::Product(Arc::new(product)), &[a, b], node)
    }

    /// The product with a copy of the operand that the kernel would pack, in the order in which it is packed: the row
    /// blocks of a fused product would each pack it again. `None` if nothing is packed, or if the loop is along no axis of
    /// the operand.
    fn packed_once(
        &mut self,
        scope: &mut Scope<'_>,
        op: &Contract,
        ids: [NodeId; 2],
        product: &PlannedContraction,
        node: &Node,
    ) -> Option<LoweredValue> {
        let (packed, stride, len) = product.packs().filter(|_| self.kernels)?;
        let mut views = [op.a.clone(), op.b.clone()];
        let source = Shape::from_slice(views[packed].source());
        let along = |axis: usize| source[axis] == len && size(&source[axis + 1..]) as i64 == stride;
        let lanes = (0..source.len()).find(|axis| along(*axis))?;
        let order: SmallVec<[usize; 4]> = (0..source.len()).filter(|axis| *axis != lanes).chain([lanes]).collect();
        let turn = AxisOrder { order, lens: source.iter().copied().collect() };
        views[packed] = reordered(&views[packed], &turn)?;
        let shape: Shape = turn.order.iter().map(|axis| source[*axis]).collect();
        let (dtype, n) = scope.kind(ids[packed]);
        let known = &mut scope.known[ids[packed] as usize];
        let mut copy = self.seen(known, &View::axes(&shape, &inverse(&turn.order)), dtype, n)?;
        let [a, b] = views;
        let op = Contract::new(a, b, op.out.clone());
        let mut operands: SmallVec<[(StepOperand, usize); 4]> = SmallVec::new();
        for (k, id) in ids.into_iter().enumerate() {
            let (dtype, n) = scope.kind(id);
            let known = if k == packed { &mut copy } else { &mut scope.known[id as usize] };
            operands.push((self.operand(known, dtype, n), n));
        }
        let singles = [operands[0].0.one, operands[1].0.one];
        let (n, dtype) = (size(&node.shape), node.dtype);
        let out = self.workspace(dtype, n);
        let op = KernelOp::Product(Arc::new(PlannedContraction::new(&op, dtype, singles)));
        Some(self.call_kernel(op, dtype, operands, out, n))
    }

    /// A bilinear operation as a group over all products, which are accumulated; `None` if an operand is out of bounds
    /// somewhere: a group would multiply the 0 there with a NaN of the other operand.
    fn short_product(
        &mut self,
        scope: &mut Scope<'_>,
        op: &Contract,
        a: NodeId,
        b: NodeId,
        node: &Node,
    ) -> Option<LoweredValue> {
        let access = StridedAccess::new(&op.out)?;
        if !op.a.is_total() || !op.b.is_total() || !access.is_total() {
            return None;
        }
        let n = positions(&op.out);
        let dtype = node.dtype;
        let mut seen = |lowering: &mut Lowering, id: NodeId, view: &View| {
            let of = scope.kind(id).1;
            lowering.seen(&mut scope.known[id as usize], view, dtype, of)
        };
        let (mut a, mut b) = (seen(self, a, &op.a)?, seen(self, b, &op.b)?);
        self.agree(n, dtype, [&mut a, &mut b]);
        let product =
            self.elementwise(n, dtype, &[(&a, dtype), (&b, dtype)], |v| ElementwiseOp::product(dtype, v[0], v[1]));
        let out = self.workspace(dtype, size(&node.shape));
        // Accumulated on zeros even if each position has one product, so that -0 becomes 0 as in a contraction.
        self.sink(product, out, access, &op.out, true);
        Some(LoweredValue::Dense(out, 0))
    }
}

/// Inner products of large arrays that share an operand with another one: a group reads it once.
pub(super) fn joined_dots(program: &Program) -> HashSet<NodeId> {
    let mut dots = Vec::new();
    let mut uses: HashMap<NodeId, usize> = HashMap::new();
    for (k, node) in (0..).zip(program.nodes()) {
        let Op::Contract(op, a, b) = &node.op else { continue };
        let straight = |view: &View| StridedAccess::new(view).is_some_and(|access| access.straight().is_some());
        let n = positions(&op.out);
        if size(&node.shape) == 1 && n >= 2 * MACHINE.tile && straight(&op.a) && straight(&op.b) {
            dots.push((k, [*a, *b]));
            *uses.entry(*a).or_default() += 1;
            *uses.entry(*b).or_default() += usize::from(a != b);
        }
    }
    let joined = |(k, operands): (NodeId, [NodeId; 2])| operands.iter().any(|a| uses[a] > 1).then_some(k);
    dots.into_iter().filter_map(joined).collect()
}

/// Whether an operation is an inner product of operands that are read through views: a group may compute other
/// operations in the same pass.
fn is_dot_through_views(op: &Contract, node: &Node) -> bool {
    let straight = |view: &View| StridedAccess::new(view).is_some_and(|access| access.straight().is_some());
    size(&node.shape) == 1 && !(straight(&op.a) && straight(&op.b))
}
