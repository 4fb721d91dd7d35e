//! Products in derivatives whose factors may be infinite or NaN.
//!
//! A derivative is a sum over paths, and each path is a product of partials. Law: **a path with a factor of zero adds
//! zero**, whatever its other factors are. So forward and reverse mode, which multiply the factors in opposite orders,
//! agree. The partials of a row have guards for this; here are the products that are guarded only where it matters: the
//! partials that are operands of a product, contractions, and functions with derivative rules.
//!
//! If values are known ([`Staging::records`](crate::base::Staging::records) is false), every product is guarded: a
//! contraction is computed again only if its result has a NaN, or if other trips of a loop have one. In a recorded program a guard has a price, so products
//! have one only where a factor can be infinite or NaN while the value of the function is finite, or where it is
//! hidden: behind a row that is steep (`sqrt` at 0, `acos` at 1), before a selection, a mask (`relu`, `max`) or an
//! extremum, and before a read or an addition of some elements of a value that was computed by a function with poles.
//! Terms know this, not values: [`Care`] goes with a cotangent, and says what is guarded. Shared by the interpreters of
//! derivatives; no interpreter itself.
//!
//! Limits. In a recorded program, a contraction with a sum and with more than 256 products (4096, if a factor was
//! computed by a quotient, a logarithm or another function with poles) is guarded only against NaN in whole rows that a
//! selection hides, and only if these were computed by such a function. Convolutions of that size are not guarded.
//! Forward mode has no guards behind `div_no_nan` of zeros: the quotients of derivatives would guard all that follows. For
//! second derivatives, values and first derivatives must be finite: at `atan (ln 0)` the inner derivative is infinite,
//! and the cotangent that the outer derivative sends there is known to be absent in one order of differentiation, and
//! computed as zero in another.

use std::cell::Cell;

use smallvec::SmallVec;

use crate::array::{Array, Values};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{
    Binary, Compare, Contract, Course, Discrete, FINITE, Guard, Linear, Partial, Property, REALS, Unary, View,
};
use crate::program::repeat::like;
use crate::shape::{Shape, size};

/// Whether the values of an operation can be infinite or NaN at finite arguments, apart from overflow.
pub(super) fn has_poles(op: Unary) -> bool {
    let graph = op.graph();
    let everywhere = graph.defined == REALS || graph.defined == FINITE;
    !everywhere || matches!(graph.course, Course::Poles(_)) || op.is(Property::CourseRightOfZero)
}

/// Whether the values of an operation can be infinite or NaN at finite arguments, apart from overflow.
pub(super) fn has_poles_of_two(op: Binary) -> bool {
    match op {
        Binary::Div | Binary::DivNoNan | Binary::Pow | Binary::PowLessOne => true,
        Binary::RecipReal | Binary::Polygamma => true,
        Binary::Add | Binary::Sub | Binary::Mul | Binary::MulNoNan | Binary::Atan2 | Binary::Hypot => false,
        Binary::Copysign | Binary::Min | Binary::Max | Binary::LogAddExp => false,
    }
}

/// The products of a recorded derivative that are guarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Care {
    /// None but those whose row says so.
    #[default]
    None,
    /// Products of elements, and contractions of few products or without a sum: behind a partial of a
    /// [`Property::Steep`] row, or before one that selects.
    Products,
    /// In contractions of any size the values that meet only zeros, too: before a selection.
    Rows,
}

/// The largest number of products of a contraction that are guarded one by one.
const FEW: usize = 256;

/// The same, for a contraction with a value that can be infinite or NaN at finite arguments.
const FEW_WITH_POLES: usize = 4096;

/// An operand of a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A number that is nonzero in all elements: a product with it needs no guard.
fn is_harmless<T: BaseTensor>(p: &T) -> bool {
    p.peek().is_some_and(|a| {
        let number = a.splat::<f64>().or_else(|| a.splat::<f32>().map(f64::from));
        number.is_some_and(|x| x.is_finite() && x != 0.0)
    })
}

/// A partial times a tangent or cotangent; with care, a plain partial has a guard, too.
pub(super) fn times<T: BaseTensor>(guard: Guard, p: Option<&T>, ct: &T, care: Care) -> T {
    match p {
        Some(p) if guard == Guard::Plain && is_guarded::<T>(care) && !is_harmless(p) && !is_harmless(ct) => {
            Guard::Singular.product(Some(p), ct)
        }
        Some(_) | None => guard.product(p, ct),
    }
}

/// The product of a partial, factor by factor, and a tangent or cotangent.
pub(super) fn scaled<T: BaseTensor>(partial: &Partial<T>, ct: &T, care: Care) -> T {
    let factors = partial.value.as_ref();
    let product = times(partial.guard, factors.map(|factors| &factors.first), ct, care);
    match factors.and_then(|factors| factors.then.as_ref()) {
        Some(next) => scaled(next, &product, care),
        None => product,
    }
}

/// Whether products of elements are guarded.
pub(super) fn is_guarded<T: BaseTensor>(care: Care) -> bool {
    care > Care::None || !T::records()
}

/// The product of two coefficients of series.
pub(super) fn product<T: BaseTensor>(x: &T, y: &T, care: Care) -> T {
    let op = if is_guarded::<T>(care) && !is_harmless(x) && !is_harmless(y) { Binary::MulNoNan } else { Binary::Mul };
    x.binary(op, y)
}

/// Whether an array is known and has a NaN.
fn has_nan<T: BaseTensor>(x: &T) -> bool {
    // Reading an observed value would count as a read by the program.
    if T::observes() {
        return false;
    }
    let Some(a) = x.peek() else { return false };
    match a.dtype() {
        DType::F64 => a.as_slice::<f64>().is_some_and(|v| v.iter().any(|x| x.is_nan())),
        DType::F32 => a.as_slice::<f32>().is_some_and(|v| v.iter().any(|x| x.is_nan())),
        DType::I64 | DType::Bool => false,
    }
}

thread_local! {
    /// Whether a guard was needed.
    static NOTED: Cell<bool> = const { Cell::new(false) };
    /// Whether known values get guards without being inspected.
    static BLIND: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, known values get guards without being inspected: so equal code computes equal operations.
pub(super) struct Blind(bool);

impl Blind {
    pub(super) fn start() -> Blind {
        Blind(BLIND.replace(true))
    }
}

impl Drop for Blind {
    fn drop(&mut self) {
        BLIND.set(self.0);
    }
}

/// While it lives, it is noted whether a product of known values had a NaN, so that its guard was computed.
pub(super) struct Noting(bool);

impl Noting {
    pub(super) fn start() -> Noting {
        Noting(NOTED.replace(false))
    }

    pub(super) fn any(&self) -> bool {
        NOTED.get()
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        NOTED.set(NOTED.get() || self.0);
    }
}

/// Whether products of known values, or the results of a rule, need guards.
fn needs_guard<T: BaseTensor>(results: &[T]) -> bool {
    let needed = BLIND.get() || results.iter().any(has_nan);
    if needed {
        NOTED.set(true);
    }
    needed
}

/// Whether an array has an infinite or NaN element.
pub(super) fn is_singular(a: &Array) -> bool {
    match (a.values::<f64>(), a.values::<f32>()) {
        (Some(Values::Splat(x)), _) => !x.is_finite(),
        (Some(Values::Dense(v)), _) => !v.iter().all(|x| x.is_finite()),
        (None, Some(Values::Splat(x))) => !x.is_finite(),
        (None, Some(Values::Dense(v))) => !v.iter().all(|x| x.is_finite()),
        (None, None) => false,
    }
}

/// The mask of the elements for which a comparison with a number holds.
fn compared<T: BaseTensor>(op: Compare, x: &T, number: f64) -> T {
    let number = T::constant(Array::full_as(x.shape(), x.dtype(), number));
    T::discrete(&Discrete::Compare(op), &[x, &number])
}

/// A mask as ones and zeros of the element type of a value.
fn ones<T: BaseTensor>(mask: &T, like: &T) -> T {
    T::discrete(&Discrete::ToFloat(like.dtype()), &[mask])
}

/// `x` where a mask holds, and 0 elsewhere.
fn chosen<T: BaseTensor>(mask: &T, x: &T) -> T {
    T::select(mask, x, &T::zeros(x.shape(), x.dtype()))
}

/// A contraction one of whose operands is a tangent or cotangent. `cleaned` is the operand that can be infinite or NaN
/// where the other is zero: the value next to a cotangent, the tangent itself in forward mode. `poles` says whether it can
/// be so at finite arguments.
pub(super) fn contract<T: BaseTensor>(op: &Contract, [a, b]: [&T; 2], cleaned: Side, care: Care, poles: bool) -> T {
    if !T::records() {
        let plain = T::contract(op, a, b);
        return if needs_guard(std::slice::from_ref(&plain)) { without_zeros(op, a, b, &plain) } else { plain };
    }
    if care == Care::None {
        return T::contract(op, a, b);
    }
    let few = if poles { FEW_WITH_POLES } else { FEW };
    let is_sum = op.roles().iter().zip(op.out.shape()).any(|([.., out], n)| !out && *n != 1);
    if size(op.out.shape()) <= few || !is_sum {
        return products(op, a, b);
    }
    if care < Care::Rows || !poles {
        return T::contract(op, a, b);
    }
    match cleaned {
        Side::Right => match met(op, [&op.a, &op.b], a) {
            Some(met) => T::contract(op, a, &chosen(&met, b)),
            None => T::contract(op, a, b),
        },
        Side::Left => match met(op, [&op.b, &op.a], b) {
            Some(met) => T::contract(op, &chosen(&met, a), b),
            None => T::contract(op, a, b),
        },
    }
}

/// The contraction as products of elements that are added, each guarded.
fn products<T: BaseTensor>(op: &Contract, a: &T, b: &T) -> T {
    let read = |view: &View, x: &T| if view.is_identity() { x.clone() } else { x.linear(&Linear::read(view.clone())) };
    let product = product(&read(&op.a, a), &read(&op.b, b), Care::Products);
    if op.out.is_identity() {
        return product;
    }
    product.linear(&Linear::affine(View::identity(op.out.shape()), op.out.clone()))
}

/// The contraction without the products that have a factor of zero: `plain` is right where another product has an
/// infinity or NaN; elsewhere elements that are infinite or NaN only meet zeros.
fn without_zeros<T: BaseTensor>(op: &Contract, a: &T, b: &T, plain: &T) -> T {
    let finite = |x: &T| compared(Compare::Lt, &x.unary(Unary::Abs), f64::INFINITY);
    let [fa, fb] = [finite(a), finite(b)];
    let not = |mask: &T| T::discrete(&Discrete::Not, &[mask]);
    let nonzero = |x: &T| ones(&compared(Compare::Ne, x, 0.0), x);
    let left = T::contract(op, &ones(&not(&fa), a), &nonzero(b));
    let right = T::contract(op, &nonzero(a), &ones(&not(&fb), b));
    let counts = compared(Compare::Gt, &left.binary(Binary::Add, &right), 0.0);
    T::select(&counts, plain, &T::contract(op, &chosen(&fa, a), &chosen(&fb, b)))
}

/// The axis of the iteration space along which an axis of the source is read, if it is read as a whole.
fn axis(view: &View, k: usize) -> Option<usize> {
    let row = view.row(k);
    let axis = row.iter().position(|c| *c != 0)?;
    let alone = row.iter().filter(|c| **c != 0).count() == 1 && row[axis] == 1;
    (alone && view.offset()[k] == 0 && view.shape()[axis] == view.source()[k]).then_some(axis)
}

/// The axis of the iteration space along which each of these axes of the source is read, if the view reads whole axes,
/// and each along another one.
fn axes_of(view: &View, of: impl Iterator<Item = usize>) -> Option<SmallVec<[usize; 6]>> {
    let mut axes = SmallVec::new();
    for k in of {
        let axis = axis(view, k)?;
        if axes.contains(&axis) {
            return None;
        }
        axes.push(axis);
    }
    view.is_total().then_some(axes)
}

/// The axis of the iteration space along which each axis of the source is read, if the view reads whole axes.
fn axes(view: &View) -> Option<SmallVec<[usize; 6]>> {
    axes_of(view, 0..view.source().len())
}

/// Whether a view reads each element of its source; an axis of one element is always read.
fn reads_each(view: &View) -> bool {
    let longer = (0..view.source().len()).filter(|k| view.source()[*k] != 1);
    !view.shape().contains(&0) && axes_of(view, longer).is_some()
}

/// Whether a linear operation reads each element of its operand, so that its adjoint leaves none at zero.
pub(super) fn reads_all(op: &Linear) -> bool {
    match op {
        Linear::Affine { from, into } => {
            from.is_identity() && into.is_total() || (into.is_identity() && reads_each(from))
        }
        Linear::Reshape { .. } | Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => true,
    }
}

/// The mask of the elements of the operand behind the view `of` that meet a nonzero element of `x`.
fn met<T: BaseTensor>(op: &Contract, [view, of]: [&View; 2], x: &T) -> Option<T> {
    let (from, into) = (axes(view)?, axes(of)?);
    axes(&op.out)?;
    let shape = Shape::from_slice(x.shape());
    let apart: SmallVec<[usize; 6]> = (0..from.len()).filter(|k| !into.contains(&from[*k])).collect();
    let mut count = ones(&compared(Compare::Ne, x, 0.0), x);
    if !apart.is_empty() {
        count = count.linear(&Linear::sum(&shape, &apart));
    }
    let common: SmallVec<[usize; 6]> = from.iter().copied().filter(|axis| into.contains(axis)).collect();
    let places: SmallVec<[usize; 6]> =
        common.iter().filter_map(|axis| into.iter().position(|other| other == axis)).collect();
    let target = Shape::from_slice(of.source());
    if places[..] != (0..target.len()).collect::<SmallVec<[usize; 6]>>()[..] {
        count = count.linear(&Linear::replicate(&target, &places));
    }
    Some(compared(Compare::Gt, &count, 0.0))
}

/// The results of a derivative rule that is linear in `of`; with care, zeros instead of NaN if all of these are zero.
/// What is not NaN is zero there by itself, and passes: its derivative counts in second derivatives, since a cotangent
/// of zero may move.
pub(super) fn of_rule<T: BaseTensor>(of: &[T], results: Vec<T>, care: Care) -> Vec<T> {
    let looks = if T::records() { care == Care::Rows } else { needs_guard(&results) };
    if !looks {
        return results;
    }
    let mut any: Option<T> = None;
    for x in of.iter().filter(|x| x.dtype().is_float()) {
        let mask = compared(Compare::Ne, x, 0.0);
        let all: SmallVec<[usize; 6]> = (0..x.shape().len()).collect();
        let count = T::discrete(&Discrete::ToFloat(DType::F64), &[&mask]).linear(&Linear::sum(x.shape(), &all));
        any = Some(match any {
            Some(any) => any.binary(Binary::Add, &count),
            None => count,
        });
    }
    let Some(any) = any else { return results };
    let any = compared(Compare::Gt, &any, 0.0);
    let guard = |y: T| {
        if !y.dtype().is_float() {
            return y;
        }
        let is_number = T::discrete(&Discrete::Compare(Compare::Eq), &[&y, &y]);
        chosen(&T::discrete(&Discrete::Or, &[&like(&any, y.shape()), &is_number]), &y)
    };
    results.into_iter().map(guard).collect()
}
