//! Sums of masked products: the mask moves to the smaller factor.
//!
//! Law: after the rule, a masked element of one factor is multiplied with 0. The product is NaN if the other factor is
//! infinite or NaN there, so the other factor must be known to be finite; under `fast_math` every number is.

use super::views::{Axes, moves, over, read, reading};
use super::{elements, linearly};
use crate::array::Array;
use crate::dtype::DType;
use crate::ops::{Binary, Discrete, Linear};
use crate::program::{Builder, Constant, NodeId, Op};
use crate::shape::{Shape, size};

/// sum (select m (x * y) 0) = sum (select m x 0 * y), where `y` is known to be finite, mask and `x` are replicated from
/// fewer elements, and select and product have no other use
pub(super) fn sum_of_masked(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    masked_early(b, op, shape, dtype, is_finite)
}

/// The sum of a masked product, with the mask on the factor that is replicated along with it, if the other factor
/// `passes` a test, because that other factor is multiplied with 0 where the mask does not hold.
pub(super) fn masked_early(
    b: &mut Builder,
    op: &Op<NodeId>,
    shape: &Shape,
    dtype: DType,
    passes: fn(&Builder, NodeId) -> bool,
) -> Option<NodeId> {
    let Op::Linear(sum, a) = op else { return None };
    let Op::Select([mask, then, otherwise]) = b.node(*a).op else { return None };
    let product = if b.is_zero(otherwise) { then } else { otherwise };
    let Op::Binary(Binary::Mul, x, y) = b.node(product).op else { return None };
    let zero = if product == then { otherwise } else { then };
    if !b.is_zero(zero) || !b.once(*a) || !b.once(product) || size(shape) >= elements(b, *a) {
        return None;
    }
    let (m, view_m) = read(b, mask).filter(|(_, view)| view.is_total())?;
    for (x, y) in [(x, y), (y, x)] {
        let Some((source, view)) = read(b, x).filter(|(_, view)| view.is_total()) else { continue };
        let space = view.shape();
        let kept: Axes = (0..space.len()).filter(|axis| moves(&view, *axis) || moves(&view_m, *axis)).collect();
        let small: Shape = kept.iter().map(|axis| space[*axis]).collect();
        // The rule pays only if the masked factor, before it is replicated, has at most half of the elements of the
        // product.
        if size(&small) == 0 || 2 * size(&small) > size(space) || !passes(b, y) {
            continue;
        }
        let whole = Shape::from_slice(space);
        let m = linearly(b, Linear::read(over(&view_m, &kept)), m);
        let x = linearly(b, Linear::read(over(&view, &kept)), source);
        let zero = b.add(Op::Constant(Constant(Array::zeros(&small, dtype))), small.clone(), dtype);
        let branches = if product == then { [m, x, zero] } else { [m, zero, x] };
        let x = b.add(Op::Select(branches), small, dtype);
        let x = linearly(b, Linear::replicate(&whole, &kept), x);
        let product = b.add(Op::Binary(Binary::Mul, x, y), whole, dtype);
        return Some(linearly(b, (**sum).clone(), product));
    }
    None
}

/// Whether a value is known to be finite for all inputs, from the one operation behind its views.
fn is_finite(b: &Builder, mut id: NodeId) -> bool {
    while let Op::Linear(op, x) = &b.node(id).op
        && reading(op).is_some()
    {
        id = *x;
    }
    if let Op::Constant(c) = &b.node(id).op {
        return c.0.to_vec::<f64>().is_ok_and(|all| all.iter().all(|x| x.is_finite()));
    }
    matches!(b.node(id).op, Op::Discrete(Discrete::ToFloat(_), _))
}
