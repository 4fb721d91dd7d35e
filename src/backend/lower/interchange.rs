//! Loop interchange: a group with transposed operands iterates over its axes in the memory order of these operands.
//!
//! A pass in row-major order reads each element of a transposed array from another cache line. If all operands of an
//! elementwise operation can be read with stride 1 (or 0) in one other order of the axes, the operation computes its
//! result in that order, and so do the operations on the result: a *permuted* value. Products of arrays read a permuted
//! value through an adapted view. For any other operation, a blocked transposition restores row-major order, once.
//!
//! Law: a value has the same elements in both orders.

use smallvec::SmallVec;

use super::operations::Scope;
use super::{LoweredValue, Lowering};
use crate::backend::ir::access::{AxisOrder, StridedAccess};
use crate::backend::ir::step::{BufferId, KernelCall, KernelOp, Step, StepOperand};
use crate::dtype::DType;
use crate::kernels::loop_nest::Nest;
use crate::ops::View;
use crate::program::{NodeId, Op};
use crate::shape::Shape;

type Operands = SmallVec<[LoweredValue; 4]>;

impl LoweredValue {
    /// A buffer read through an access.
    pub(crate) fn through(buf: BufferId, access: StridedAccess) -> LoweredValue {
        match (access.straight(), access.constant()) {
            (Some(at), _) => LoweredValue::Dense(buf, at),
            (None, Some(at)) => LoweredValue::One(buf, at),
            (None, None) => LoweredValue::View(buf, access),
        }
    }

    /// The order of the axes of a permuted value, or the order in which a view has stride 1.
    pub(super) fn axis_order(&self) -> Option<AxisOrder> {
        match self {
            LoweredValue::Permuted(_, turn) => Some((**turn).clone()),
            LoweredValue::View(_, access) => access.axis_order(),
            LoweredValue::Dense(..) | LoweredValue::One(..) | LoweredValue::Positions(_) | LoweredValue::Fused(..) => {
                None
            }
            LoweredValue::Many(_) | LoweredValue::Deferred => None,
        }
    }

    /// Whether neighbouring positions have one element: stride 0 along the innermost axis.
    pub(super) fn is_still(&self) -> bool {
        match self {
            LoweredValue::One(..) => true,
            LoweredValue::View(_, access) => access.steps() == 0,
            LoweredValue::Permuted(inner, _) => inner.is_still(),
            LoweredValue::Dense(..)
            | LoweredValue::Positions(_)
            | LoweredValue::Fused(..)
            | LoweredValue::Many(_)
            | LoweredValue::Deferred => false,
        }
    }

    /// The value in another order of the axes; `None` if elements would have to be moved, or read with a large stride.
    fn reordered(&self, turn: &AxisOrder) -> Option<LoweredValue> {
        match self {
            LoweredValue::One(..) => Some(self.clone()),
            LoweredValue::Permuted(inner, other) => (**other == *turn).then(|| (**inner).clone()),
            LoweredValue::View(buf, access) => {
                access.reordered(turn).filter(StridedAccess::is_near).map(|access| LoweredValue::through(*buf, access))
            }
            LoweredValue::Positions(access) => access.reordered(turn).map(LoweredValue::Positions),
            LoweredValue::Dense(..) | LoweredValue::Fused(..) | LoweredValue::Many(_) | LoweredValue::Deferred => None,
        }
    }
}

impl Lowering {
    /// The order of the axes in which the operands are read with stride 0 or 1, and the operands in that order; `None`
    /// if no operand is permuted or transposed, or if some operand cannot be read in that order.
    pub(crate) fn interchanged(
        &self,
        size: usize,
        operands: &[(&LoweredValue, DType)],
    ) -> Option<(AxisOrder, Operands)> {
        if size < self.interchange {
            return None;
        }
        let turn = operands.iter().find_map(|(known, _)| known.axis_order())?;
        let operands: Option<Operands> = operands.iter().map(|(known, _)| known.reordered(&turn)).collect();
        Some((turn, operands?))
    }

    /// Brings the operands of an operation with `n` elements to row-major order, unless the operation iterates in
    /// another order.
    pub(crate) fn settle_operands(&mut self, scope: &mut Scope<'_>, op: &Op<NodeId>, n: usize) {
        // `bilinear` settles the operands of products.
        if matches!(op, Op::Contract(..)) {
            return;
        }
        let elementwise = op.is_elementwise();
        let mut operands: SmallVec<[NodeId; 4]> = SmallVec::new();
        op.operands(&mut |a| operands.push(*a));
        if operands.iter().any(|a| matches!(scope.known[*a as usize], LoweredValue::Deferred)) {
            // `sum_in_place` settles the other operand.
            return;
        }
        if elementwise {
            let known: SmallVec<[(&LoweredValue, DType); 4]> = operands.iter().map(|a| scope.operand(*a)).collect();
            if self.interchanged(n, &known).is_some() {
                return;
            }
        }
        for a in operands {
            match elementwise {
                true => self.settle_view(scope, a),
                false => self.settle(scope, a),
            }
        }
    }

    /// Brings the operand `a` of a sum and its other term to row-major order, unless the sum iterates in another order.
    pub(crate) fn settle_sum(&mut self, scope: &mut Scope<'_>, a: NodeId, added: &mut LoweredValue) {
        let (dtype, n) = scope.kind(a);
        self.agree(n, dtype, [&mut scope.known[a as usize], added]);
    }

    /// Brings two operands of one operation to row-major order, unless the operation iterates in another order.
    pub(crate) fn agree(&mut self, n: usize, dtype: DType, mut operands: [&mut LoweredValue; 2]) {
        if self.interchanged(n, &operands.each_ref().map(|known| (&**known, dtype))).is_none() {
            for known in &mut operands {
                self.turn_view(known, n);
                self.in_order(known, dtype, n);
            }
        }
    }

    /// Brings a value to row-major order; a transposed view is copied to memory by a blocked transposition.
    fn settle_view(&mut self, scope: &mut Scope<'_>, a: NodeId) {
        let n = scope.kind(a).1;
        self.turn_view(&mut scope.known[a as usize], n);
        self.settle(scope, a);
    }

    /// Turns a transposed view into a permuted value.
    fn turn_view(&self, known: &mut LoweredValue, n: usize) {
        if n >= self.interchange
            && let (LoweredValue::View(..), Some(turn)) = (&*known, known.axis_order())
            && let Some(inner) = known.reordered(&turn)
        {
            *known = LoweredValue::Permuted(Box::new(inner), Box::new(turn));
        }
    }

    /// Brings a value to row-major order: a permuted one by a blocked transposition.
    pub(crate) fn settle(&mut self, scope: &mut Scope<'_>, a: NodeId) {
        let (dtype, n) = scope.kind(a);
        self.in_order(&mut scope.known[a as usize], dtype, n);
    }

    pub(crate) fn in_order(&mut self, known: &mut LoweredValue, dtype: DType, n: usize) {
        let LoweredValue::Permuted(inner, turn) = known else { return };
        let (buf, at) = self.dense(inner, dtype, n);
        let views = [View::axes(&turn.lens, &turn.order), View::identity(&turn.lens)];
        let nest = Nest::new([&views[0], &views[1]], [false; 2]).expect("there are elements");
        let out = self.workspace(dtype, n);
        let operands = SmallVec::from_iter([(StepOperand { buf, at, one: false }, n)]);
        self.push(Step::KernelCall(Box::new(KernelCall {
            op: KernelOp::Transpose(Box::new(nest)),
            dtype,
            operands,
            out,
            size: n,
            origin: self.origin.clone(),
        })));
        *known = LoweredValue::Dense(out, 0);
    }
}

/// A view of an array as a view of the permuted array; `None` if the axes of the order are not those of the array.
pub(super) fn reordered(view: &View, turn: &AxisOrder) -> Option<View> {
    if *view.source() != turn.lens[..] || view.is_empty() {
        return None;
    }
    let source: Shape = turn.order.iter().map(|k| turn.lens[*k]).collect();
    let matrix: Vec<i64> = turn.order.iter().flat_map(|k| view.row(*k).iter().copied()).collect();
    let offset: Vec<i64> = turn.order.iter().map(|k| view.offset()[*k]).collect();
    let turned = View::affine(&source, view.shape(), &matrix, &offset);
    let halo = view.bounds().iter().enumerate();
    Some(halo.fold(turned, |view, (axis, (lo, hi))| view.clipped(axis, *lo, *hi)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::ir::access::positions;

    /// The places of all positions of an access.
    fn places(access: &StridedAccess, n: usize) -> Vec<Option<i64>> {
        let mut places = vec![None; n];
        access.runs(0, n, |run| {
            for i in 0..run.len {
                places[run.at + i * run.step] = run.place.map(|place| place as i64 + run.stride * i as i64);
            }
        });
        places
    }

    #[test]
    fn an_access_in_another_order_visits_the_same_places() {
        let views = [
            View::axes(&[9, 12], &[1, 0]),
            View::axes(&[8, 3, 9], &[2, 1, 0]),
            View::axes(&[8, 3, 9], &[2, 0, 1]),
            View::affine(&[9, 12], &[12, 9], &[0, 1, 1, 0], &[-1, 0]),
            View::affine(&[9, 12], &[12, 9], &[0, -1, 1, 0], &[8, 2]).clipped(0, 1, 8),
            View::axes(&[9, 12], &[0]),
            View::identity(&[9, 12]),
            View::identity(&[9, 12]).clipped(0, 2, 5),
        ];
        let access = |view: &View| StridedAccess::new(view).expect("a box");
        let turns: Vec<AxisOrder> = views.iter().filter_map(|view| access(view).axis_order()).collect();
        assert_eq!(turns.len(), 5);
        let mut count = 0;
        for (view, turn) in views.iter().flat_map(|view| turns.iter().map(move |turn| (view, turn))) {
            let n = positions(view);
            let Some(turned) = access(view).reordered(turn).filter(|_| turn.lens.iter().product::<usize>() == n) else {
                continue;
            };
            let (own, other) = (places(&access(view), n), places(&turned, n));
            let order = places(&access(&View::axes(&turn.lens, &turn.order)), n);
            assert!(own.iter().zip(order).all(|(place, at)| *place == other[at.expect("a place") as usize]), "{view}");
            count += 1;
        }
        assert!(count > 10, "{count}");
    }
}
