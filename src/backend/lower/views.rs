//! Lowering of views: a view becomes a strided read of its operand in each use, or a strided write of the result.
//!
//! Law: the operand of a view is in memory. For the product of a stored array with a constant, the array is viewed and
//! the elements that are read are scaled: the product is not stored for the view.

use smallvec::SmallVec;

use super::operations::Scope;
use super::{LoweredValue, Lowering, known_number};
use crate::array::Array;
use crate::backend::ir::access::{StridedAccess, positions};
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::FusedOp;
use crate::backend::ir::step::{BufferId, KernelOp, Storage};
use crate::dtype::DType;
use crate::kernels::loop_nest::Nest;
use crate::kernels::scan::Line;
use crate::ops::{Binary, Linear, View};
use crate::program::{Node, NodeId};
use crate::shape::{Shape, size};

impl Lowering {
    pub(crate) fn linear(
        &mut self,
        scope: &mut Scope<'_>,
        k: NodeId,
        op: &Linear,
        a: NodeId,
        node: &Node,
    ) -> LoweredValue {
        if op.is_identity() {
            return scope.known[a as usize].clone();
        }
        match op {
            Linear::Reshape { .. } => scope.known[a as usize].clone(),
            Linear::Cast { from, .. } => {
                let operands = [scope.operand(a)];
                self.elementwise(size(&node.shape), node.dtype, &operands, |v| ElementwiseOp::Convert(*from, v[0]))
            }
            Linear::Affine { from, into } => {
                let (dtype, of) = scope.kind(a);
                if let Some(read) = as_read(from, into)
                    && let Some(seen) = self.seen(&mut scope.known[a as usize], &read, dtype, of)
                {
                    return seen;
                }
                if let Some(sums) = self.window_spread(&mut scope.known[a as usize], (from, into), dtype, of) {
                    return sums;
                }
                if let Some(sum) = self.window_sum(&mut scope.known[a as usize], (from, into), dtype, of) {
                    return sum;
                }
                let Some(seen) = self.seen(&mut scope.known[a as usize], from, dtype, of) else {
                    return self.moved(scope, from, into, a, node);
                };
                let Some(access) = StridedAccess::new(into) else { return self.moved(scope, from, into, a, node) };
                let out = self.workspace(node.dtype, size(&node.shape));
                self.sink(seen, out, access, into, !into.is_injective());
                LoweredValue::Dense(out, 0)
            }
            Linear::Fourier { .. } => self.fourier(scope, k, node),
            Linear::PrefixSum { shape, axis, reverse } => {
                self.spread(scope, a);
                self.whole(scope, KernelOp::PrefixSum(Line::along(shape, *axis, *reverse)), &[a], node)
            }
        }
    }

    /// The sums over short windows that overlap or lie apart, as sums of views, one for each position in a window; `None` for
    /// other moves. The elements of windows would be copied one window after the other, several times each.
    fn window_sum(
        &mut self,
        known: &mut LoweredValue,
        (from, into): (&View, &View),
        dtype: DType,
        of: usize,
    ) -> Option<LoweredValue> {
        let axis = window(from, into).filter(|_| dtype.is_float())?;
        let views: Option<SmallVec<[View; WINDOW]>> =
            (0..from.shape()[axis]).map(|j| as_read(&from.at_step(axis, j), &into.at_step(axis, j))).collect();
        let n = size(into.source());
        // From +0 on, as sums are: -0 alone has the sum +0.
        let mut sum = self.constant(&Array::zeros(into.source(), dtype));
        for view in &views? {
            let seen = self.seen(known, view, dtype, of)?;
            sum = self.elementwise(n, dtype, &[(&sum, dtype), (&seen, dtype)], |v| {
                ElementwiseOp::Binary(Binary::Add, v[0], v[1])
            });
        }
        Some(sum)
    }

    /// The adjoint of sums over short windows that overlap or lie apart: each element of the result is the sum of those of the windows
    /// that contain it, as a sum of views; `None` for other moves. If windows begin every `s` elements, every `s`-th
    /// element of the result is in windows at the same distances, and these elements are written together.
    fn window_spread(
        &mut self,
        known: &mut LoweredValue,
        (from, into): (&View, &View),
        dtype: DType,
        of: usize,
    ) -> Option<LoweredValue> {
        let spread = WindowSpread::new(from, into).filter(|_| dtype.is_float())?;
        // Elements between windows that lie apart are 0.
        let phases = spread.step.min(from.shape()[spread.within]);
        let phases: Option<SmallVec<[_; 4]>> = (0..phases).map(|first| spread.phase(first)).collect();
        let phases = phases?;
        let n = size(into.source());
        let written = |(_, into): &(SmallVec<[View; WINDOW]>, View)| positions(into);
        let covers = phases.iter().map(written).sum::<usize>() == n;
        let whole = matches!(&phases[..], [(_, into)] if into.is_identity());
        let (mut out, mut after) = (None, 0);
        for (views, into) in &phases {
            let space = into.shape();
            // From +0 on, as sums are: -0 alone has the sum +0.
            let mut sum = self.constant(&Array::zeros(space, dtype));
            for view in views {
                let seen = self.seen(known, view, dtype, of)?;
                sum = self.elementwise(size(space), dtype, &[(&sum, dtype), (&seen, dtype)], |v| {
                    ElementwiseOp::Binary(Binary::Add, v[0], v[1])
                });
            }
            if whole {
                return Some(sum);
            }
            self.in_order(&mut sum, dtype, size(space));
            let first = out.is_none();
            let out = *out.get_or_insert_with(|| self.workspace(dtype, n));
            // The result is cleared before the first phase is written.
            let step = self.group_for(size(space), &[(&sum, dtype)], after);
            let value = self.within(step, &sum, dtype);
            let bytes = self.at(out).bytes();
            let group = self.group_at(step);
            if first && !covers {
                group.clear(out, bytes);
            }
            group.push(FusedOp::Put(out, StridedAccess::new(into)?, value), dtype);
            self.writes(out, step);
            after = step;
        }
        out.map(|out| LoweredValue::Dense(out, 0))
    }

    /// Writes a value to a buffer through a view, with zeros where nothing is written; with `adds`, accumulates it on
    /// zeros.
    pub(crate) fn sink(
        &mut self,
        mut seen: LoweredValue,
        out: BufferId,
        mut access: StridedAccess,
        into: &View,
        adds: bool,
    ) {
        let (dtype, bytes) = (self.at(out).dtype, self.at(out).bytes());
        // A permuted value is written in its own order, if the axes of the access allow it.
        if let LoweredValue::Permuted(inner, turn) = &seen
            && let Some(turned) = access.reordered(turn)
        {
            (seen, access) = ((**inner).clone(), turned);
        }
        self.in_order(&mut seen, dtype, positions(into));
        let step = self.group_for(positions(into), &[(&seen, dtype)], 0);
        let value = self.within(step, &seen, dtype);
        let covers = !adds && into.is_total() && positions(into) == size(into.source());
        let group = self.group_at(step);
        if !covers {
            group.clear(out, bytes);
        }
        group.push(if adds { FusedOp::Add(out, access, value) } else { FusedOp::Put(out, access, value) }, dtype);
        self.writes(out, step);
    }

    /// A value read through a view; `None` if the view is not a strided access.
    pub(crate) fn seen(
        &mut self,
        known: &mut LoweredValue,
        view: &View,
        dtype: DType,
        of: usize,
    ) -> Option<LoweredValue> {
        if view.is_identity() {
            return Some(known.clone());
        }
        let access = StridedAccess::new(view)?;
        // The same elements in the same order.
        if access.straight() == Some(0) && positions(view) == of {
            return Some(known.clone());
        }
        if let LoweredValue::Positions(whole) = known
            && *whole == StridedAccess::along(of)
        {
            return Some(LoweredValue::Positions(access));
        }
        if let LoweredValue::One(buf, at) = known {
            return Some(if access.is_total() {
                LoweredValue::One(*buf, *at)
            } else {
                LoweredValue::View(*buf, access.still(*at))
            });
        }
        if let Some(scaled) = self.scaled(known, &access, dtype, (positions(view), of)) {
            return Some(scaled);
        }
        let (buf, at) = self.dense(known, dtype, of);
        Some(LoweredValue::through(buf, access.moved(at)))
    }

    /// A view of an array times a constant, as the constant times the view of the array; `None` if `known` is not one.
    /// `sizes` are the numbers of elements of the view and of the array.
    fn scaled(
        &mut self,
        known: &LoweredValue,
        access: &StridedAccess,
        dtype: DType,
        sizes: (usize, usize),
    ) -> Option<LoweredValue> {
        let LoweredValue::Fused(step, value) = known else { return None };
        let ((buf, at), (number, i)) = self.group_at(*step).scaling(*value)?;
        let Storage::Constant(constant) = self.at(number).storage else { return None };
        // Holes of the view are 0, and must be 0 after scaling: neither -0 nor NaN.
        let keeps = |x: f64| access.is_total() || x > 0.0 && x.is_finite();
        let weight = known_number(&self.constants[constant], i)?;
        if sizes.0 > sizes.1 || !keeps(weight) {
            return None;
        }
        let (array, number) = (LoweredValue::through(buf, access.clone().moved(at)), LoweredValue::One(number, i));
        Some(self.elementwise(sizes.0, dtype, &[(&array, dtype), (&number, dtype)], |v| {
            ElementwiseOp::Binary(Binary::Mul, v[0], v[1])
        }))
    }

    /// Elements moved through views that are not strided accesses, by a kernel.
    fn moved(&mut self, scope: &mut Scope<'_>, from: &View, into: &View, a: NodeId, node: &Node) -> LoweredValue {
        let (dtype, n) = scope.kind(a);
        let one = self.operand(&mut scope.known[a as usize], dtype, n).one;
        match Nest::new([from, into], [one, false]) {
            Some(nest) => {
                let op = KernelOp::Affine(Box::new(nest), !into.is_injective());
                self.whole(scope, op, &[a], node)
            }
            None => self.constant(&Array::zeros(&node.shape, node.dtype)),
        }
    }
}

/// The longest window that becomes a sum of views.
const WINDOW: usize = 8;

/// The longest distance of short windows with elements between them that become a sum of views.
const APART: i64 = 4;

/// The axis of the positions of a move along which windows are summed that overlap or have elements between them, if
/// there is one, and if every element of the result is a sum.
fn window(from: &View, into: &View) -> Option<usize> {
    let stride = |axis: usize| {
        let source = from.source();
        let steps = (0..source.len()).map(|k| from.row(k)[axis].saturating_mul(size(&source[k + 1..]) as i64));
        steps.fold(0, i64::saturating_add).saturating_abs()
    };
    let summed = |axis: usize| (0..into.source().len()).all(|k| into.row(k)[axis] == 0);
    let mut axes = (0..into.shape().len()).filter(|axis| summed(*axis) && into.shape()[*axis] > 1);
    let axis = axes.next().filter(|_| axes.next().is_none())?;
    let (n, step) = (into.shape()[axis], stride(axis));
    if n > WINDOW {
        return None;
    }
    let overlap = |other: usize| other != axis && (1..step.saturating_mul(n as i64)).contains(&stride(other));
    // Short windows with elements between them are read row by row otherwise.
    let apart = |other: usize| other != axis && step == 1 && (n as i64 + 1..=APART).contains(&stride(other));
    let covers = into.is_total() && positions(into) == size(into.source()).saturating_mul(n);
    (covers && (0..into.shape().len()).any(|axis| overlap(axis) || apart(axis))).then_some(axis)
}

/// A move that adds each element at several neighbouring positions, as the adjoint of sums over windows does.
struct WindowSpread<'v> {
    from: &'v View,
    into: &'v View,
    /// The axes of the positions within a window, and of the windows.
    within: usize,
    windows: usize,
    /// The axis of the result along which windows lie, and the distance of neighbouring windows.
    along: usize,
    step: usize,
}

impl WindowSpread<'_> {
    /// The move, if windows are short and overlap or lie apart, and if each position of the other axes is read and written alone.
    fn new<'v>(from: &'v View, into: &'v View) -> Option<WindowSpread<'v>> {
        let axes = 0..into.shape().len();
        let moved = |view: &View, axis: usize| (0..view.source().len()).any(|k| view.row(k)[axis] != 0);
        let mut still = axes.clone().filter(|axis| into.shape()[*axis] > 1 && !moved(from, *axis));
        let within = still.next().filter(|_| still.next().is_none())?;
        let along = (0..into.source().len()).find(|k| into.row(*k)[within] != 0)?;
        let windows = axes.clone().find(|axis| *axis != within && into.row(along)[*axis] != 0)?;
        let alone = |k: usize| into.row(k).iter().filter(|m| **m != 0).count() == if k == along { 2 } else { 1 };
        let unit = |k: usize| k == along || into.row(k).iter().all(|m| matches!(m, 0 | 1)) && into.source()[k] > 1;
        let once = |axis: usize| (0..into.source().len()).filter(|k| into.row(*k)[axis] != 0).count() <= 1;
        let rows = (0..into.source().len()).filter(|k| into.source()[*k] > 1);
        let plain = rows.clone().all(|k| alone(k) && unit(k)) && axes.clone().all(once);
        let written = axes.clone().all(|axis| into.shape()[axis] == 1 || moved(into, axis));
        let step = usize::try_from(into.row(along)[windows]).ok()?;
        let n = into.shape()[within];
        let apart = step > n && step as i64 <= APART;
        let short = into.row(along)[within] == 1 && (step < n || apart) && n <= WINDOW;
        let total = from.is_total() && into.is_total();
        (plain && written && short && total).then_some(WindowSpread { from, into, within, windows, along, step })
    }

    /// The views whose sum is every `step`-th element of the result from `first` on, and where that sum is written.
    fn phase(&self, first: usize) -> Option<(SmallVec<[View; WINDOW]>, View)> {
        let WindowSpread { from, into, within, windows, along, step } = *self;
        let count = (into.shape()[within] - first).div_ceil(step);
        // The steps of the axis of windows are the elements of the result.
        let mut space = Shape::from_slice(into.shape());
        let n = space[windows];
        (space[windows], space[within]) = (n + count - 1, 1);
        let matrix = |view: &View| -> SmallVec<[i64; 16]> {
            (0..view.source().len()).flat_map(|k| view.row(k).iter().copied()).collect()
        };
        let read = |t: usize| {
            let column = |k: usize| from.row(k)[windows] * t as i64;
            let offset: SmallVec<[i64; 6]> = (0..from.source().len()).map(|k| from.offset()[k] - column(k)).collect();
            let view = View::try_affine(from.source(), &space, &matrix(from), &offset).ok()?;
            Some(view.clipped(windows, t, t + n))
        };
        let mut offset = SmallVec::<[i64; 6]>::from_slice(into.offset());
        offset[along] += first as i64;
        let written = View::try_affine(into.source(), &space, &matrix(into), &offset).ok()?;
        let kept: SmallVec<[usize; 6]> = (0..space.len()).filter(|axis| *axis != within).collect();
        let views: Option<_> = (0..count).map(|t| Some(read(t)?.restricted(&kept))).collect();
        Some((views?, written.restricted(&kept)))
    }
}

/// The view by which the result of a linear operation reads its operand; `None` if several elements are added at one
/// position, or if less than a quarter of the positions are written.
pub(crate) fn as_read(from: &View, into: &View) -> Option<View> {
    let is_sparse = !into.is_identity() && positions(into) < size(into.source()) / 4;
    if is_sparse { None } else { read_view(from, into) }
}

/// The view by which the result of a linear operation reads its operand; `None` if several elements are added at one
/// position.
pub(super) fn read_view(from: &View, into: &View) -> Option<View> {
    if into.is_identity() {
        return Some(from.clone());
    }
    let inverse = into.inverse()?;
    if from.is_identity() { Some(inverse) } else { from.after(&inverse) }
}
