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
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1, num};
/// fn doubled<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| num(2.0) * x.at())
/// }
/// assert_eq!(higher::run(doubled(), &tensor(3.0)), tensor(6.0));
/// ```
pub fn num<C: Language, G: Obj>(x: f64) -> Expr<C, G, Real> {
    unit().then(C::prim(Constant::<0>::new(Array::scalar(x))))
}

/// A constant tensor.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, Vector, constant, fun1};
/// fn weighed<C: Language>() -> Expr<C, Vector, Real> {
///     fun1(|x| (x.at() * constant(tensor([1.0, 10.0]))).sum())
/// }
/// assert_eq!(higher::run(weighed(), &tensor([2.0, 3.0])), tensor(32.0));
/// ```
pub fn constant<C: Language, G: Obj, const D: usize, E: Element>(x: Tensor<Array, D, E>) -> Expr<C, G, Arr<D, E>> {
    unit().then(C::prim(Constant::new(x.into_raw())))
}

impl<C: Language, G: Obj, const D: usize> Expr<C, G, Arr<D>> {
    /// An elementwise function, by the row of the table of functions.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Vector, fun1};
    /// fn roots<C: Language>() -> Expr<C, Vector, Vector> {
    ///     fun1(|x| x.at().unary(Unary::Sqrt))
    /// }
    /// assert_eq!(higher::run(roots(), &tensor([4.0, 9.0])), tensor([2.0, 3.0]));
    /// ```
    #[track_caller]
    pub fn unary(self, op: Unary) -> Self {
        apply(Pointwise::<D>(op), self)
    }

    /// An elementwise function of two arrays of one shape.
    ///
    /// ```
    /// use polygrad::ops::Binary;
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Prod, Vector, fun2};
    /// fn larger<C: Language>() -> Expr<C, Prod<Vector, Vector>, Vector> {
    ///     fun2(|x, y| x.at().binary(Binary::Max, y.at()))
    /// }
    /// assert_eq!(higher::run(larger(), &(tensor([1.0, 5.0]), tensor([2.0, 3.0]))), tensor([2.0, 5.0]));
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
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
    /// fn sine<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| x.at().sin())
    /// }
    /// assert_eq!(higher::run(sine(), &tensor(0.5)), tensor(0.5_f64.sin()));
    /// assert_eq!(higher::grad(sine(), &tensor(0.5)), tensor(0.5_f64.cos()));
    /// ```
    #[track_caller]
    pub fn sin(self) -> Self {
        self.unary(Unary::Sin)
    }

    /// `cos x`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
    /// fn cosine<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| x.at().cos())
    /// }
    /// assert_eq!(higher::run(cosine(), &tensor(0.5)), tensor(0.5_f64.cos()));
    /// assert_eq!(higher::grad(cosine(), &tensor(0.5)), tensor(-0.5_f64.sin()));
    /// ```
    #[track_caller]
    pub fn cos(self) -> Self {
        self.unary(Unary::Cos)
    }

    /// `e^x`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Vector, fun1};
    /// fn exponentials<C: Language>() -> Expr<C, Vector, Vector> {
    ///     fun1(|x| x.at().exp())
    /// }
    /// assert_eq!(higher::run(exponentials(), &tensor([0.0, 1.0])), tensor([1.0, 1.0_f64.exp()]));
    /// ```
    #[track_caller]
    pub fn exp(self) -> Self {
        self.unary(Unary::Exp)
    }

    /// `tanh x`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
    /// fn squashed<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| x.at().tanh())
    /// }
    /// // The slope is `1 - tanh(x)^2`.
    /// assert_eq!(higher::value_and_grad(squashed(), &tensor(0.0)), (tensor(0.0), tensor(1.0)));
    /// ```
    #[track_caller]
    pub fn tanh(self) -> Self {
        self.unary(Unary::Tanh)
    }

    /// The sum of all elements.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Matrix, Real, fun1};
    /// fn total<C: Language>() -> Expr<C, Matrix, Real> {
    ///     fun1(|x| x.at().sum())
    /// }
    /// assert_eq!(higher::run(total(), &tensor([[1.0, 2.0], [3.0, 4.0]])), tensor(10.0));
    /// ```
    #[track_caller]
    pub fn sum(self) -> Expr<C, G, Real> {
        apply(SumAll::<D>, self)
    }
}

impl<C: Language, G: Obj> Expr<C, G, Real> {
    /// `n` copies.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Real, Vector, fun1};
    /// fn copies<C: Language>() -> Expr<C, Real, Vector> {
    ///     fun1(|x| x.at().replicate(3))
    /// }
    /// assert_eq!(higher::run(copies(), &tensor(2.0)), tensor([2.0, 2.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn replicate(self, n: usize) -> Expr<C, G, Arr<1>> {
        apply(Replicate(n), self)
    }

    /// Whether the number is less than the other one.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Real, fun1, if_, num};
    /// fn absolute<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| if_(x.at().less(num(0.0)), || -x.at(), || x.at()))
    /// }
    /// assert_eq!(higher::run(absolute(), &tensor(-3.0)), tensor(3.0));
    /// ```
    #[track_caller]
    pub fn less(self, other: Self) -> Expr<C, G, Mask> {
        apply(Comparison(Compare::Lt), tup(self, other))
    }
}

impl<C: Language, G: Obj> Expr<C, G, Int> {
    /// The integer as a number.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Int, Language, Real, fun1};
    /// fn half<C: Language>() -> Expr<C, Int, Real> {
    ///     fun1(|k| k.at().to_float() / 2.0)
    /// }
    /// assert_eq!(higher::run(half(), &tensor(3)), tensor(1.5));
    /// ```
    #[track_caller]
    pub fn to_float(self) -> Expr<C, G, Real> {
        apply(ToFloat, self)
    }
}

impl<C: Language, G: Obj> Expr<C, G, Arr<1>> {
    /// The element at an index; 0 at an index out of bounds.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Int, Language, Prod, Real, Vector, fun2};
    /// fn element<C: Language>() -> Expr<C, Prod<Vector, Int>, Real> {
    ///     fun2(|xs, k| xs.at().gather(k.at()))
    /// }
    /// let xs = tensor([10.0, 20.0, 30.0]);
    /// assert_eq!(higher::run(element(), &(xs.clone(), tensor(2))), tensor(30.0));
    /// assert_eq!(higher::run(element(), &(xs, tensor(3))), tensor(0.0));
    /// ```
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
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Matrix, Prod, Vector, fun2};
    /// fn product<C: Language>() -> Expr<C, Prod<Matrix, Vector>, Vector> {
    ///     fun2(|w, x| w.at().matvec(x.at()))
    /// }
    /// let x = (tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 10.0]));
    /// assert_eq!(higher::run(product(), &x), tensor([21.0, 43.0]));
    /// ```
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
