//! `Shapes`: the smallest interpreter. A value is its shape and element type; no elements are computed.
//!
//! Law: this interpreter accepts a program exactly when evaluation does, with the same message at the same line,
//! because both apply the checks of [`crate::ops`]. There are two exceptions: programs that branch on values, since
//! [`peek`](Report::peek) gives none here, as while a program is traced; and arrays that do not fit into memory.

use std::sync::Arc;

use crate::array::Array;
use crate::base::{BaseTensor, Lift, Report, Staging, Trip, TripFn, WhileFn};
use crate::dtype::DType;
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary, kinds};
use crate::program::Custom;
use crate::shape::{Shape, Show, check_possible};

/// A value whose shape and element type alone are known.
///
/// A tensor of this interpreter has no cost, whatever its shape; [`check`](fn@crate::check) runs programs at it.
///
/// ```
/// use polygrad::{BaseTensor, DType, Tensor, interpreters::Shapes};
/// let x = Tensor::<Shapes, 2>::zeros([1_000_000, 2_000_000]);
/// assert_eq!(x.t().matmul(&x).shape(), [2_000_000, 2_000_000]);
/// assert_eq!(Shapes::new(&[1_000_000], DType::F32).dtype(), DType::F32);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Shapes {
    shape: Shape,
    dtype: DType,
}

impl Shapes {
    /// A value of this shape and element type.
    ///
    /// Example: [`Shapes`].
    ///
    /// # Panics
    /// When no array can have this shape.
    #[track_caller]
    pub fn new(shape: &[usize], dtype: DType) -> Shapes {
        check_possible("array", shape);
        Shapes { shape: Shape::from_slice(shape), dtype }
    }

    fn kind(&self) -> (&[usize], DType) {
        (&self.shape, self.dtype)
    }
}

/// Shapes and element types of several values, as the checks take them.
fn kinds(values: &[Shapes]) -> Vec<(&[usize], DType)> {
    values.iter().map(Shapes::kind).collect()
}

impl BaseTensor for Shapes {
    fn constant(a: Array) -> Self {
        Shapes::new(a.shape(), a.dtype())
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn unary(&self, op: Unary) -> Self {
        kinds::unary(op, self.dtype);
        self.clone()
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        kinds::binary(op, self.kind(), other.kind());
        self.clone()
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let args: Vec<_> = args.iter().map(|a| a.kind()).collect();
        let (shape, dtype) = op.result(&args);
        Shapes { shape, dtype }
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        kinds::select(mask.kind(), then.kind(), otherwise.kind());
        then.clone()
    }

    fn linear(&self, op: &Linear) -> Self {
        let dtype = op.result(&self.shape, self.dtype);
        Shapes::new(op.output_shape(), dtype)
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let (shape, dtype) = op.result(a.kind(), b.kind());
        Shapes { shape, dtype }
    }

    fn reduce(&self, op: Reduce) -> Self {
        let (shape, dtype) = op.result(self.kind());
        Shapes { shape, dtype }
    }

    fn gather(&self, ix: &[Self]) -> Self {
        Shapes { shape: kinds::gather(&self.shape, &kinds(ix)), dtype: self.dtype }
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        kinds::scatter_add(self.kind(), &kinds(ix), v.kind());
        self
    }

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        op.results(&kinds(args)).into_iter().map(|(shape, dtype)| Shapes { shape, dtype }).collect()
    }

    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        rule.value(args.to_vec())
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let shape = kinds::concat(axis, &kinds(parts));
        Shapes { shape, dtype: parts[0].dtype }
    }

    /// The step runs once.
    fn repeat(_most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        kinds::while_carry(init.iter().map(Shapes::kind), step(init.clone()).iter().map(Shapes::kind));
        init
    }

    /// The step runs once: shapes do not change from trip to trip.
    fn map_accum(n: usize, _reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        kinds::sequences(n, xs.iter().map(|x| &x.shape[..]));
        let elements: Vec<Shapes> = xs.iter().map(|x| Shapes::new(&x.shape[1..], x.dtype)).collect();
        let (carry, mut outputs) = step(init.clone(), &elements);
        kinds::carry(init.iter().map(Shapes::kind), carry.iter().map(Shapes::kind));
        for y in &mut outputs {
            y.shape = kinds::stacked(n, &y.shape);
        }
        (carry, outputs)
    }
}

impl Staging for Shapes {}

impl Report for Shapes {}

/// A value of any interpreter is a constant.
impl<T: BaseTensor> Lift<T> for Shapes {
    fn lift(t: T) -> Self {
        Shapes::new(t.shape(), t.dtype())
    }
}

/// `f64 [2, 3]`.
impl std::fmt::Display for Shapes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.dtype, Show(&self.shape))
    }
}

impl std::fmt::Debug for Shapes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
