//! Elementwise operations and selection: rank 0 inline, uniform arrays by one element, slices in one loop.
//!
//! Law: the kernels are those of the tables in [`crate::ops`]; this module only applies them to elements.

use super::{owned_elements, reduce, sorting};
use crate::array::{Array, Values, pool, with_elem, with_float, with_num};
use crate::base::BaseTensor;
use crate::dtype::{DType, Elem, Float, Num};
use crate::errors::refused_by_rule;
use crate::ops::{Binary, Discrete, FloatStep, IntBinary, Reduce, Unary, kinds};
use crate::shape::Shape;

/// Shape and element type, as the checks take them.
pub(super) fn kind(a: &Array) -> (&[usize], DType) {
    (a.shape(), a.dtype())
}

#[inline]
#[track_caller]
pub(super) fn unary(op: Unary, x: &Array) -> Array {
    match x {
        Array::F64(x) => Array::F64(op.apply(*x)),
        Array::F32(x) => Array::F32(op.apply(*x)),
        Array::I64(_) | Array::Bool(_) | Array::Shared(_) => unary_array(op, x),
    }
}

#[track_caller]
fn unary_array(op: Unary, x: &Array) -> Array {
    kinds::unary(op, x.dtype());
    with_float!(x.dtype(), E => match x.typed::<E>() {
        Values::Splat(v) => Array::full(x.shape(), op.apply(v)),
        Values::Dense(v) => Array::dense(Shape::from_slice(x.shape()), op.map(v)),
    })
}

#[inline]
#[track_caller]
pub(super) fn binary(op: Binary, x: &Array, y: &Array) -> Array {
    match (x, y) {
        (Array::F64(x), Array::F64(y)) => Array::F64(op.apply(*x, *y)),
        (Array::F32(x), Array::F32(y)) => Array::F32(op.apply(*x, *y)),
        _ => binary_array(op, x, y),
    }
}

#[track_caller]
fn binary_array(op: Binary, x: &Array, y: &Array) -> Array {
    kinds::binary(op, kind(x), kind(y));
    with_float!(x.dtype(), E => binary_typed::<E>(op, x, y))
}

fn binary_typed<E: Float>(op: Binary, x: &Array, y: &Array) -> Array {
    let dense = |v: Vec<E>| Array::dense(Shape::from_slice(x.shape()), v);
    match (x.typed::<E>(), y.typed::<E>()) {
        (Values::Splat(a), Values::Splat(b)) => Array::full(x.shape(), op.apply(a, b)),
        // Derivatives are full of factors of one and of guarded zeros; both cases are exact.
        (Values::Splat(a), Values::Dense(_)) if op == Binary::Mul && a == E::ONE => y.clone(),
        (Values::Dense(_), Values::Splat(b)) if op == Binary::Mul && b == E::ONE => x.clone(),
        (Values::Dense(_), Values::Splat(b)) if op == Binary::MulNoNan && b == E::ZERO => {
            Array::full(x.shape(), E::ZERO)
        }
        (Values::Splat(a), Values::Dense(v)) => dense(op.zip_left(a, v)),
        (Values::Dense(v), Values::Splat(b)) => dense(op.zip_right(v, b)),
        (Values::Dense(v), Values::Dense(w)) => dense(op.zip(v, w)),
    }
}

#[inline]
#[track_caller]
pub(super) fn discrete(op: &Discrete, args: &[&Array]) -> Array {
    match (op, args) {
        (Discrete::Compare(op), [Array::F64(x), Array::F64(y)]) => Array::Bool(op.apply(*x, *y)),
        (Discrete::Compare(op), [Array::I64(x), Array::I64(y)]) => Array::Bool(op.apply(*x, *y)),
        (Discrete::IntBinary(op), [Array::I64(x), Array::I64(y)]) => Array::I64(op.apply(*x, *y)),
        (Discrete::And, [Array::Bool(x), Array::Bool(y)]) => Array::Bool(*x && *y),
        (Discrete::Or, [Array::Bool(x), Array::Bool(y)]) => Array::Bool(*x || *y),
        (Discrete::Not, [Array::Bool(x)]) => Array::Bool(!*x),
        _ => discrete_array(op, args),
    }
}

/// An operation of two arrays, given as a row of a table: its `apply` and its `each`.
macro_rules! pairs {
    ($E:ty, $x:expr, $y:expr, $op:expr) => {{
        let (op, shape) = ($op, $x.shape());
        let dense = |v| Array::dense(Shape::from_slice(shape), v);
        match ($x.typed::<$E>(), $y.typed::<$E>()) {
            (Values::Splat(a), Values::Splat(b)) => Array::full(shape, op.apply(a, b)),
            (Values::Splat(a), Values::Dense(w)) => dense(op.each(w.iter().map(|b| (a, *b)))),
            (Values::Dense(v), Values::Splat(b)) => dense(op.each(v.iter().map(|a| (*a, b)))),
            (Values::Dense(v), Values::Dense(w)) => dense(op.each(v.iter().zip(w).map(|(a, b)| (*a, *b)))),
        }
    }};
}

/// An operation of one array, given as a row of a table.
macro_rules! singles {
    ($E:ty, $x:expr, $op:expr) => {
        match $x.typed::<$E>() {
            Values::Splat(a) => Array::full($x.shape(), $op.apply(a)),
            Values::Dense(v) => Array::dense(Shape::from_slice($x.shape()), $op.each(v.iter().copied())),
        }
    };
}

#[track_caller]
fn discrete_array(op: &Discrete, args: &[&Array]) -> Array {
    let (_, dtype) = match args {
        [] => op.result(&[]),
        [x] => op.result(&[kind(x)]),
        [x, y] => op.result(&[kind(x), kind(y)]),
        _ => op.result(&args.iter().map(|a| kind(a)).collect::<Vec<_>>()),
    };
    match (op, args) {
        (Discrete::Compare(op), [x, y]) => with_elem!(x.dtype(), E => pairs!(E, x, y, op)),
        (Discrete::IntBinary(op), [x, y]) => pairs!(i64, x, y, op),
        (Discrete::And, [x, y]) => map_masks(x, Some(y), |x, y| x & y),
        (Discrete::Or, [x, y]) => map_masks(x, Some(y), |x, y| x | y),
        (Discrete::Not, [x]) => map_masks(x, None, |x, _| !x),
        (Discrete::FloatStep(FloatStep::StopGradient), [x]) => (*x).clone(),
        (Discrete::FloatStep(op), [x]) => with_float!(x.dtype(), E => singles!(E, x, op)),
        (Discrete::IntUnary(op), [x]) => singles!(i64, x, op),
        (Discrete::ToInt, [x]) => match x.dtype() {
            DType::F64 => map(x, |x: f64| x as i64),
            DType::F32 => map(x, |x: f32| x as i64),
            DType::I64 => (*x).clone(),
            DType::Bool => map(x, |x: bool| i64::from(x)),
        },
        (Discrete::ToFloat(_), [x]) => match (x.dtype(), dtype) {
            (DType::I64, DType::F32) => map(x, |x: i64| x as f32),
            (DType::I64, _) => map(x, |x: i64| x as f64),
            (_, DType::F32) => map(x, |x: bool| f32::from(u8::from(x))),
            (_, _) => map(x, |x: bool| f64::from(u8::from(x))),
        },
        (Discrete::ArgMax { axis }, [x]) => {
            with_num!(x.dtype(), E => reduce::positions::<E>(x, Reduce::Max { axis: *axis }))
        }
        (Discrete::ArgMin { axis }, [x]) => {
            with_num!(x.dtype(), E => reduce::positions::<E>(x, Reduce::Min { axis: *axis }))
        }
        (Discrete::ArgSort { axis, descending }, [x]) => {
            with_num!(x.dtype(), E => sorting::argsort::<E>(x, *axis, *descending))
        }
        (Discrete::PrefixArg { axis, largest, reverse }, [x]) => {
            with_num!(x.dtype(), E => reduce::prefix_positions::<E>(x, *axis, *largest, *reverse))
        }
        (Discrete::Iota { n }, []) => Array::iota(*n),
        (
            Discrete::Compare(_)
            | Discrete::IntBinary(_)
            | Discrete::And
            | Discrete::Or
            | Discrete::Not
            | Discrete::FloatStep(_)
            | Discrete::IntUnary(_)
            | Discrete::ToInt
            | Discrete::ToFloat(_)
            | Discrete::ArgMax { .. }
            | Discrete::ArgMin { .. }
            | Discrete::ArgSort { .. }
            | Discrete::PrefixArg { .. }
            | Discrete::Iota { .. },
            _,
        ) => refused_by_rule(op.name()),
    }
}

/// A function of each element.
pub(super) fn map<A: Elem, R: Elem>(x: &Array, f: impl Fn(A) -> R) -> Array {
    match x.typed::<A>() {
        Values::Splat(a) => Array::full(x.shape(), f(a)),
        Values::Dense(v) => Array::dense(Shape::from_slice(x.shape()), pool::collected(v.iter().map(|a| f(*a)))),
    }
}

/// A function of one or two masks.
fn map_masks(x: &Array, y: Option<&Array>, f: impl Fn(bool, bool) -> bool) -> Array {
    let dense = |v| Array::dense(Shape::from_slice(x.shape()), v);
    match (x.typed::<bool>(), y.map_or(Values::Splat(false), |y| y.typed::<bool>())) {
        (Values::Splat(a), Values::Splat(b)) => Array::full(x.shape(), f(a, b)),
        (Values::Splat(a), Values::Dense(w)) => dense(pool::collected(w.iter().map(|b| f(a, *b)))),
        (Values::Dense(v), Values::Splat(b)) => dense(pool::collected(v.iter().map(|a| f(*a, b)))),
        (Values::Dense(v), Values::Dense(w)) => dense(pool::collected(v.iter().zip(w).map(|(a, b)| f(*a, *b)))),
    }
}

#[inline]
#[track_caller]
pub(super) fn select(mask: &Array, then: &Array, otherwise: &Array) -> Array {
    match (mask, then, otherwise) {
        (Array::Bool(mask), Array::F64(x), Array::F64(y)) => Array::F64(if *mask { *x } else { *y }),
        _ => select_array(mask, then, otherwise),
    }
}

#[track_caller]
fn select_array(mask: &Array, then: &Array, otherwise: &Array) -> Array {
    kinds::select(kind(mask), kind(then), kind(otherwise));
    let mask = match mask.typed::<bool>() {
        Values::Splat(all) => return if all { then.clone() } else { otherwise.clone() },
        Values::Dense(mask) => mask,
    };
    with_elem!(then.dtype(), E => choose::<E>(mask, then, otherwise))
}

fn choose<E: Elem>(mask: &[bool], then: &Array, otherwise: &Array) -> Array {
    let dense = |v| Array::dense(Shape::from_slice(then.shape()), v);
    let pick = |m: bool, x: E, y: E| if m { x } else { y };
    match (then.typed::<E>(), otherwise.typed::<E>()) {
        (Values::Splat(x), Values::Splat(y)) => dense(pool::collected(mask.iter().map(|m| pick(*m, x, y)))),
        (Values::Splat(x), Values::Dense(w)) => {
            dense(pool::collected(mask.iter().zip(w).map(|(m, y)| pick(*m, x, *y))))
        }
        (Values::Dense(v), Values::Splat(y)) => {
            dense(pool::collected(mask.iter().zip(v).map(|(m, x)| pick(*m, *x, y))))
        }
        (Values::Dense(v), Values::Dense(w)) => {
            dense(pool::collected(mask.iter().zip(v.iter().zip(w)).map(|(m, (x, y))| pick(*m, *x, *y))))
        }
    }
}

/// `a + b`, in place if `a` has no other owner. Zeros are added, too: `-0 + 0` is 0.
#[inline]
#[track_caller]
pub(super) fn accumulate(a: Array, b: &Array) -> Array {
    match (&a, b) {
        (Array::F64(x), Array::F64(y)) => Array::F64(x + y),
        (Array::F32(x), Array::F32(y)) => Array::F32(x + y),
        (Array::I64(x), Array::I64(y)) => Array::I64(x.wrapping_add(*y)),
        _ => accumulate_array(a, b),
    }
}

#[track_caller]
fn accumulate_array(mut a: Array, b: &Array) -> Array {
    if kind(&a) == kind(b) {
        let done = with_num!(a.dtype(), E => accumulate_typed::<E>(&mut a, b), else false);
        if done {
            return a;
        }
    }
    if a.dtype().is_float() {
        return a.binary(Binary::Add, b);
    }
    discrete(&Discrete::IntBinary(IntBinary::Add), &[&a, b])
}

/// Stores `a + b` in `a` if that needs no new array; returns whether it did.
fn accumulate_typed<E: Num>(a: &mut Array, b: &Array) -> bool {
    let Some(sum) = owned_elements::<E>(a) else { return false };
    match b.typed::<E>() {
        Values::Splat(y) => sum.iter_mut().for_each(|x| *x = x.plus(y)),
        Values::Dense(v) => sum.iter_mut().zip(v).for_each(|(x, y)| *x = x.plus(*y)),
    }
    true
}
