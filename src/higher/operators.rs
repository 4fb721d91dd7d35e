//! Primitive operations, as syntax: constants, methods and operators.
//!
//! Law: each applies a [`Primitive`], and names the place where it is written in the messages of its errors.

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::panic::Location;

use super::category::Language;
use super::expr::{Expr, tup, unit};
use super::object::{Arr, Element, Int, Mask, Obj, Real};
use super::primitive::{
    Comparison, Constant, Gather, MatVec, Pointwise, Pointwise2, Primitive, Replicate, ScatterAdd, SumAll, ToFloat,
};
use crate::array::Array;
use crate::ops::{Binary, Compare, Unary};
use crate::tensor::Tensor;

/// A constant truth value.
pub(super) fn truth<C: Language, G: Obj>(b: bool) -> Expr<C, G, Mask> {
    unit().then(C::prim(Constant::<0, bool>::new(Array::scalar(b))))
}

/// Applies a primitive operation.
#[track_caller]
pub fn apply<C: Language, G: Obj, P: Primitive>(p: P, x: Expr<C, G, P::Dom>) -> Expr<C, G, P::Cod> {
    x.then(C::written(C::prim(p), Location::caller()))
}

/// A constant number.
pub fn num<C: Language, G: Obj>(x: f64) -> Expr<C, G, Real> {
    unit().then(C::prim(Constant::<0>::new(Array::scalar(x))))
}

/// A constant tensor.
///
/// ```
/// use polygrad::higher::{Expr, Language, Real, Vector, constant, fun1};
/// use polygrad::{higher, tensor};
/// fn weighed<C: Language>() -> Expr<C, Vector, Real> {
///     fun1(|x| (x.at() * constant(tensor([1.0, 10.0]))).sum())
/// }
/// assert_eq!(higher::run(weighed(), &tensor([2.0, 3.0])), tensor(32.0));
/// ```
pub fn constant<C: Language, G: Obj, const D: usize, E: Element>(x: Tensor<Array, D, E>) -> Expr<C, G, Arr<D, E>> {
    unit().then(C::prim(Constant::new(x.into_raw())))
}

impl<C: Language, G: Obj, const D: usize> Expr<C, G, Arr<D>> {
    /// An elementwise function.
    #[track_caller]
    pub fn unary(self, op: Unary) -> Self {
        apply(Pointwise::<D>(op), self)
    }

    /// An elementwise function of two arrays of one shape.
    #[track_caller]
    pub fn binary(self, op: Binary, other: Self) -> Self {
        apply(Pointwise2::<D>(op), tup(self, other))
    }

    /// `sin x`.
    #[track_caller]
    pub fn sin(self) -> Self {
        self.unary(Unary::Sin)
    }

    /// `cos x`.
    #[track_caller]
    pub fn cos(self) -> Self {
        self.unary(Unary::Cos)
    }

    /// `e^x`.
    #[track_caller]
    pub fn exp(self) -> Self {
        self.unary(Unary::Exp)
    }

    /// `tanh x`.
    #[track_caller]
    pub fn tanh(self) -> Self {
        self.unary(Unary::Tanh)
    }

    /// The sum of all elements.
    #[track_caller]
    pub fn sum(self) -> Expr<C, G, Real> {
        apply(SumAll::<D>, self)
    }
}

impl<C: Language, G: Obj> Expr<C, G, Real> {
    /// `n` copies.
    #[track_caller]
    pub fn replicate(self, n: usize) -> Expr<C, G, Arr<1>> {
        apply(Replicate(n), self)
    }

    /// Whether the number is less than the other.
    #[track_caller]
    pub fn less(self, other: Self) -> Expr<C, G, Mask> {
        apply(Comparison(Compare::Lt), tup(self, other))
    }
}

impl<C: Language, G: Obj> Expr<C, G, Int> {
    /// The integer as a number.
    #[track_caller]
    pub fn to_float(self) -> Expr<C, G, Real> {
        apply(ToFloat, self)
    }
}

impl<C: Language, G: Obj> Expr<C, G, Arr<1>> {
    /// The element at an index; 0 at an index out of bounds.
    #[track_caller]
    pub fn gather(self, ix: Expr<C, G, Int>) -> Expr<C, G, Real> {
        apply(Gather, tup(self, ix))
    }

    /// The vector with values added at indices.
    #[track_caller]
    pub fn scatter_add(self, ix: Expr<C, G, Arr<1, i64>>, values: Self) -> Self {
        apply(ScatterAdd, tup(self, tup(ix, values)))
    }
}

impl<C: Language, G: Obj> Expr<C, G, Arr<2>> {
    /// The product with a vector.
    #[track_caller]
    pub fn matvec(self, x: Expr<C, G, Arr<1>>) -> Expr<C, G, Arr<1>> {
        apply(MatVec, tup(self, x))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident,)*) => { $(
        impl<C: Language, G: Obj, const D: usize> $trait for Expr<C, G, Arr<D>> {
            type Output = Self;

            #[track_caller]
            fn $method(self, other: Self) -> Self {
                self.binary(Binary::$op, other)
            }
        }

        impl<C: Language, G: Obj> $trait<f64> for Expr<C, G, Real> {
            type Output = Self;

            #[track_caller]
            fn $method(self, other: f64) -> Self {
                self.binary(Binary::$op, num(other))
            }
        }

        impl<C: Language, G: Obj> $trait<Expr<C, G, Real>> for f64 {
            type Output = Expr<C, G, Real>;

            #[track_caller]
            fn $method(self, other: Expr<C, G, Real>) -> Expr<C, G, Real> {
                num(self).binary(Binary::$op, other)
            }
        }
    )* };
}

operators! { Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, }

impl<C: Language, G: Obj, const D: usize> Neg for Expr<C, G, Arr<D>> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        self.unary(Unary::Neg)
    }
}
