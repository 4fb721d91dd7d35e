//! Primitive operations, as syntax: constants, methods and operators.
//!
//! Law: each applies a [`Primitive`], and names the place where it is written in the messages of its errors.

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::panic::Location;

use polygrad::array::Array;
use polygrad::ops::{Binary, Compare, Unary};
use polygrad::tensor::Tensor;

use super::category::Language;
use super::expr::{Expr, tup, unit};
use super::object::{Arr, Element, Int, Mask, Obj, Real};
use super::primitive::{
    Comparison, Constant, Gather, MatVec, Pointwise, Pointwise2, Primitive, Replicate, ScatterAdd, SumAll, ToFloat,
};

/// A constant truth value.
pub(super) fn truth<C: Language, G: Obj>(b: bool) -> Expr<C, G, Mask> {
    unit().then(C::prim(Constant::<0, bool>::new(Array::scalar(b))))
}

/// Applies a primitive operation.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::primitive::SumAll;
/// use polygrad_higher::{self as higher, Expr, Language, Matrix, Real, apply, fun1};
/// fn total<C: Language>() -> Expr<C, Matrix, Real> {
///     fun1(|x| apply(SumAll::<2>, x.at()))
/// }
/// assert_eq!(higher::run(total(), &tensor([[1.0, 2.0], [3.0, 4.0]])), tensor(10.0));
/// ```
#[track_caller]
pub fn apply<C: Language, G: Obj, P: Primitive>(p: P, x: Expr<C, G, P::Dom>) -> Expr<C, G, P::Cod> {
    x.then(C::written(C::prim(p), Location::caller()))
}

/// A constant number.
///
/// Example: [`constant`].
pub fn num<C: Language, G: Obj>(x: f64) -> Expr<C, G, Real> {
    unit().then(C::prim(Constant::<0>::new(Array::scalar(x))))
}

/// A constant tensor.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, Vector, constant, fun1, num};
/// fn weighed<C: Language>() -> Expr<C, Vector, Real> {
///     fun1(|x| num(2.0) * (x.at() * constant(tensor([1.0, 10.0]))).sum())
/// }
/// assert_eq!(higher::run(weighed(), &tensor([2.0, 3.0])), tensor(64.0));
/// ```
pub fn constant<C: Language, G: Obj, const D: usize, E: Element>(x: Tensor<Array, D, E>) -> Expr<C, G, Arr<D, E>> {
    unit().then(C::prim(Constant::new(x.into_raw())))
}

impl<C: Language, G: Obj, const D: usize> Expr<C, G, Arr<D>> {
    /// An elementwise function, by the row of the table of functions.
    ///
    /// Example: [`Expr::binary`].
    #[track_caller]
    pub fn unary(self, op: Unary) -> Self {
        apply(Pointwise::<D>(op), self)
    }

    /// An elementwise function of two arrays of one shape.
    ///
    /// ```
    /// use polygrad::ops::{Binary, Unary};
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, Vector, fun1, fun2};
    /// fn larger<C: Language>() -> Expr<C, Prod<Vector, Vector>, Vector> {
    ///     fun2(|x, y| x.at().unary(Unary::Sqrt).binary(Binary::Max, y.at()))
    /// }
    /// /// The rows of the table that have methods.
    /// fn composed<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| (x.at().sin() + x.at().cos()).exp().tanh())
    /// }
    /// assert_eq!(higher::run(larger(), &(tensor([4.0, 25.0]), tensor([3.0, 3.0]))), tensor([3.0, 5.0]));
    /// let (x, y) = (0.5_f64, (0.5_f64.sin() + 0.5_f64.cos()).exp().tanh());
    /// let slope = (1.0 - y * y) * (x.sin() + x.cos()).exp() * (x.cos() - x.sin());
    /// let (value, gradient) = higher::value_and_grad(composed(), &tensor(x));
    /// assert!((value - y).abs().item() < 1e-15 && (gradient - slope).abs().item() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// When a program runs in which the shapes differ.
    #[track_caller]
    pub fn binary(self, op: Binary, other: Self) -> Self {
        apply(Pointwise2::<D>(op), tup(self, other))
    }

    /// `sin x`.
    ///
    /// Example: [`Expr::binary`].
    #[track_caller]
    pub fn sin(self) -> Self {
        self.unary(Unary::Sin)
    }

    /// `cos x`.
    ///
    /// Example: [`Expr::binary`].
    #[track_caller]
    pub fn cos(self) -> Self {
        self.unary(Unary::Cos)
    }

    /// `e^x`.
    ///
    /// Example: [`Expr::binary`].
    #[track_caller]
    pub fn exp(self) -> Self {
        self.unary(Unary::Exp)
    }

    /// `tanh x`.
    ///
    /// Example: [`Expr::binary`].
    #[track_caller]
    pub fn tanh(self) -> Self {
        self.unary(Unary::Tanh)
    }

    /// The sum of all elements.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Matrix, Vector, fun1};
    /// fn totals<C: Language>() -> Expr<C, Matrix, Vector> {
    ///     fun1(|x| x.at().sum().replicate(3))
    /// }
    /// assert_eq!(higher::run(totals(), &tensor([[1.0, 2.0], [3.0, 4.0]])), tensor([10.0, 10.0, 10.0]));
    /// ```
    #[track_caller]
    pub fn sum(self) -> Expr<C, G, Real> {
        apply(SumAll::<D>, self)
    }
}

impl<C: Language, G: Obj> Expr<C, G, Real> {
    /// `n` copies.
    ///
    /// Example: [`Expr::sum`].
    #[track_caller]
    pub fn replicate(self, n: usize) -> Expr<C, G, Arr<1>> {
        apply(Replicate(n), self)
    }

    /// Whether the number is less than the other one.
    ///
    /// Example: [`if_`](crate::if_).
    #[track_caller]
    pub fn less(self, other: Self) -> Expr<C, G, Mask> {
        apply(Comparison(Compare::Lt), tup(self, other))
    }
}

impl<C: Language, G: Obj> Expr<C, G, Int> {
    /// The integer as a number.
    ///
    /// Example: [`build`](crate::build).
    #[track_caller]
    pub fn to_float(self) -> Expr<C, G, Real> {
        apply(ToFloat, self)
    }
}

impl<C: Language, G: Obj> Expr<C, G, Arr<1>> {
    /// The element at an index; 0 at an index out of bounds.
    ///
    /// Example: [`Arr`].
    #[track_caller]
    pub fn gather(self, ix: Expr<C, G, Int>) -> Expr<C, G, Real> {
        apply(Gather, tup(self, ix))
    }

    /// The vector with values added at indices; values at indices out of bounds are dropped.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Prod, Vector, constant, fun2};
    /// /// Adds the values to the elements at 0, 2 and 2.
    /// fn counted<C: Language>() -> Expr<C, Prod<Vector, Vector>, Vector> {
    ///     fun2(|xs, values| xs.at().scatter_add(constant(tensor([0, 2, 2])), values.at()))
    /// }
    /// let x = (tensor([1.0, 1.0, 1.0]), tensor([10.0, 20.0, 30.0]));
    /// assert_eq!(higher::run(counted(), &x), tensor([11.0, 1.0, 51.0]));
    /// ```
    ///
    /// # Panics
    /// When a program runs in which there is not one value for each index.
    #[track_caller]
    pub fn scatter_add(self, ix: Expr<C, G, Arr<1, i64>>, values: Self) -> Self {
        apply(ScatterAdd, tup(self, tup(ix, values)))
    }
}

impl<C: Language, G: Obj> Expr<C, G, Arr<2>> {
    /// The product with a vector: one number for each row of the matrix.
    ///
    /// Example: [`Arr`].
    ///
    /// # Panics
    /// When a program runs in which the vector is not as long as the rows of the matrix.
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
