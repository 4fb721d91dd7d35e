//! Derivative formulas of the tables: arithmetic on tensors of any interpreter, and guards of partials.
//!
//! The right-hand side of a derivative is a formula of values of the type `Val`; a guard says how a partial derivative
//! that may be infinite multiplies a tangent or cotangent.
//!
//! Law: **total values do not make derivatives total.** A partial can be infinite or NaN where the value is fine
//! (`sqrt` at 0), and a branch that was not taken hands down a cotangent of zero; `0 * inf` must not become NaN on the
//! way. So every partial has a guard.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::{Binary, Compare, Discrete, Unary};

/// How a partial derivative `p` multiplies a tangent or cotangent `ct`.
///
/// Closed: an interpreter fails to compile where it lacks a kind of product.
///
/// ```
/// use polygrad::Array;
/// use polygrad::ops::{Guard, Unary};
/// let [x, y] = [0.0, 0.0].map(Array::scalar);
/// // The derivative of `sqrt` at 0 is infinite, but a cotangent 0 stays 0.
/// let slope = Unary::Sqrt.derivative(&x, &y);
/// assert_eq!(slope.guard, Guard::Quotient);
/// assert_eq!(slope.times(&Array::scalar(0.0)), Array::scalar(0.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// `p` is the constant 1: the product is `ct`.
    One,
    /// `p` is the constant -1: the product is `-ct`.
    MinusOne,
    /// `p * ct`.
    Plain,
    /// `p` can be infinite or NaN at finite operands: where `ct` is zero the product is zero.
    Singular,
    /// `p` selects: where `p` is zero the product is zero, whatever `ct` is.
    Mask,
    /// `p` divides: the product is `ct / p`, and zero where `ct` is zero. The quotient is in range where the reciprocal
    /// of `p`, or its square in a second derivative, is not.
    Quotient,
}

/// The origin of the value of a partial. A partial that is an operand keeps the id of the operand.
///
/// Closed: operands and result are all that an operation has.
///
/// ```
/// use polygrad::Array;
/// use polygrad::ops::{Binary, PartialOrigin, Unary};
/// let [x, y, z] = [2.0, 3.0, 6.0].map(Array::scalar);
/// assert_eq!(Binary::Mul.partial_left(&x, &y, &z).origin, PartialOrigin::Second);
/// assert_eq!(Unary::Exp.derivative(&x, &y).origin, PartialOrigin::Result);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartialOrigin {
    /// The first operand of the operation.
    First,
    /// The second operand of the operation.
    Second,
    /// The result of the operation.
    Result,
    /// Anything else: the value was computed for the derivative.
    Computed,
}

/// A partial derivative: the guard, the factors unless the guard determines them, and the origin of the first factor.
///
/// Law: a partial such as `-y y` can be out of range where its product with a tangent or cotangent is not. So it stays a
/// product, and the tangent or cotangent meets one factor after the other ([`Partial::times`]). Numbers are read from
/// [`Partial::factor`] alone, so nobody takes the first factor, or a divisor, for the partial.
///
/// Example: [`PartialFactors`].
#[derive(Clone, Debug)]
pub struct Partial<T> {
    /// The guard of the product of the first factor and a tangent or cotangent.
    pub guard: Guard,
    /// The factors of the partial; absent exactly for [`Guard::One`] and [`Guard::MinusOne`].
    pub value: Option<PartialFactors<T>>,
    /// The origin of the first factor.
    pub origin: PartialOrigin,
}

/// The factors of a partial, which are used together: they multiply in [`Partial::times`] and [`Guard::times`], and
/// [`Partial::factor`] is their product.
///
/// ```
/// use polygrad::{Array, ops::{Guard, Partial, Unary}};
/// let [x, y, ct] = [2.0, 0.5, 8.0].map(Array::scalar);
/// let partial: Partial<Array> = Unary::Recip.derivative(&x, &y);
/// assert_eq!(partial.guard.times(partial.value.as_ref(), &ct), Array::scalar(-2.0));
/// assert_eq!(partial.factor(), (Guard::Singular, Some(Array::scalar(-0.25))));
/// ```
#[derive(Clone, Debug)]
pub struct PartialFactors<T> {
    /// The first factor; a divisor under [`Guard::Quotient`].
    pub(crate) first: T,
    /// What multiplies the product of the first factor and a tangent or cotangent.
    pub(crate) then: Option<Box<Partial<T>>>,
}

impl<T> Partial<T> {
    /// The constant 1.
    pub(super) fn one() -> Partial<T> {
        Partial { guard: Guard::One, value: None, origin: PartialOrigin::Computed }
    }
    /// The constant -1.
    pub(super) fn minus_one() -> Partial<T> {
        Partial { guard: Guard::MinusOne, value: None, origin: PartialOrigin::Computed }
    }
    /// The partial with other values in place of its values.
    pub(crate) fn map<U>(&self, f: &impl Fn(&T) -> U) -> Partial<U> {
        Partial {
            guard: self.guard,
            value: self.value.as_ref().map(|factors| PartialFactors {
                first: f(&factors.first),
                then: factors.then.as_ref().map(|next| Box::new(next.map(f))),
            }),
            origin: self.origin,
        }
    }
}

impl<T: BaseTensor> Partial<T> {
    /// The product of the partial and a tangent or cotangent `ct`.
    ///
    /// ```
    /// use polygrad::{Array, ops::Unary};
    /// // The derivative of `1 / x` at 1e-200 is out of range, and its product with 1e-300 is not.
    /// let [x, y, ct] = [1e-200, 1e200, 1e-300].map(Array::scalar);
    /// assert_eq!(Unary::Recip.derivative(&x, &y).times(&ct).item::<f64>()?.round(), -1e100f64.round());
    /// # Ok::<(), polygrad::array::ArrayError>(())
    /// ```
    pub fn times(&self, ct: &T) -> T {
        self.guard.times(self.value.as_ref(), ct)
    }

    /// The partial as one factor that multiplies, under a guard that is not [`Guard::Quotient`]; the factor is absent
    /// exactly for the constants. It can be out of range where its product with a tangent or cotangent is not.
    ///
    /// ```
    /// use polygrad::{Array, ops::{Guard, Unary}};
    /// let [x, y] = [4.0, 2.0].map(Array::scalar);
    /// let (guard, factor) = Unary::Sqrt.derivative(&x, &y).factor();
    /// assert_eq!((guard, factor), (Guard::Singular, Some(Array::scalar(0.25))));
    /// ```
    pub fn factor(self) -> (Guard, Option<T>) {
        let Some(PartialFactors { first, then }) = self.value else { return (self.guard, None) };
        let (guard, first) = match self.guard {
            Guard::Quotient => (Guard::Singular, first.unary(Unary::Recip)),
            guard @ (Guard::One | Guard::MinusOne | Guard::Plain | Guard::Singular | Guard::Mask) => (guard, first),
        };
        let Some(next) = then else { return (guard, Some(first)) };
        let Some(second) = next.factor().1 else { unreachable!("a product of factors has values") };
        (Guard::Singular, Some(first.binary(Binary::MulNoNan, &second)))
    }
}

impl Guard {
    /// The product of a partial with these factors, and a tangent or cotangent `ct`: [`Partial::times`] of the partial
    /// that has both.
    ///
    /// # Panics
    /// When the factors are absent and the guard is not one of the constants.
    ///
    /// ```
    /// use polygrad::{Array, ops::{Binary, Guard}};
    /// let [infinite, zero] = [f64::INFINITY, 0.0].map(Array::scalar);
    /// let [plain, guarded] = [Binary::Mul, Binary::MulNoNan].map(|op| op.partial_right(&infinite, &zero, &zero));
    /// assert_eq!(guarded.guard.times(guarded.value.as_ref(), &zero), zero);
    /// assert!(plain.guard.times(plain.value.as_ref(), &zero).item::<f64>()?.is_nan());
    /// # Ok::<(), polygrad::array::ArrayError>(())
    /// ```
    pub fn times<T: BaseTensor>(self, factors: Option<&PartialFactors<T>>, ct: &T) -> T {
        let product = self.product(factors.map(|factors| &factors.first), ct);
        match factors.and_then(|factors| factors.then.as_ref()) {
            Some(next) => next.times(&product),
            None => product,
        }
    }

    /// The product of one factor and a tangent or cotangent `ct`; `p` is absent exactly for the constants.
    pub(crate) fn product<T: BaseTensor>(self, p: Option<&T>, ct: &T) -> T {
        match (self, p) {
            (Guard::One, _) => ct.clone(),
            (Guard::MinusOne, _) => ct.unary(Unary::Neg),
            (Guard::Plain, Some(p)) => ct.binary(Binary::Mul, p),
            (Guard::Singular, Some(p)) => p.binary(Binary::MulNoNan, ct),
            (Guard::Mask, Some(p)) => ct.binary(Binary::MulNoNan, p),
            (Guard::Quotient, Some(p)) => ct.binary(Binary::DivNoNan, p),
            (Guard::Plain | Guard::Singular | Guard::Mask | Guard::Quotient, None) => {
                unreachable!("a partial without a value")
            }
        }
    }
}

/// A tensor inside a formula.
#[derive(Clone, Debug)]
pub(super) struct Val<T>(T, PartialOrigin);

/// A value computed for the derivative.
fn computed<T>(t: T) -> Val<T> {
    Val(t, PartialOrigin::Computed)
}

impl<T> Val<T> {
    /// A tensor with its origin.
    pub(super) fn from(t: T, origin: PartialOrigin) -> Val<T> {
        Val(t, origin)
    }
}

impl<T: BaseTensor> Val<T> {
    /// The constant `c` in the shape and element type of `self`.
    pub(super) fn c(&self, c: f64) -> Val<T> {
        computed(T::constant(Array::full_as(self.0.shape(), self.0.dtype(), c)))
    }
    /// An elementwise function.
    #[track_caller]
    pub(super) fn map(&self, op: Unary) -> Val<T> {
        computed(self.0.unary(op))
    }
    /// An elementwise function of two arguments.
    pub(super) fn with(&self, op: Binary, other: &Val<T>) -> Val<T> {
        computed(self.0.binary(op, &other.0))
    }
    /// The product; 0 where either factor is 0. The formula of a singular partial uses this product wherever a factor
    /// can be infinite or NaN, so that the derivatives of the partial are guarded, too, at every order.
    pub(super) fn mul_no_nan(&self, other: &Val<T>) -> Val<T> {
        self.with(Binary::MulNoNan, other)
    }
    /// The sign of each element; 0 at 0.
    pub(super) fn sign(&self) -> Val<T> {
        computed(T::discrete(&Discrete::FloatStep(crate::ops::FloatStep::Sign), &[&self.0]))
    }
    /// The same value, whose derivative is 0.
    pub(super) fn stop_gradient(&self) -> Val<T> {
        computed(T::discrete(&Discrete::FloatStep(crate::ops::FloatStep::StopGradient), &[&self.0]))
    }
    /// The mask of where the comparison of `self` with `other` holds, elementwise.
    pub(super) fn is(&self, op: Compare, other: &Val<T>) -> Val<T> {
        computed(T::discrete(&Discrete::Compare(op), &[&self.0, &other.0]))
    }
    /// The conjunction of two masks.
    pub(super) fn and(&self, other: &Val<T>) -> Val<T> {
        computed(T::discrete(&Discrete::And, &[&self.0, &other.0]))
    }
    /// The disjunction of two masks.
    pub(super) fn or(&self, other: &Val<T>) -> Val<T> {
        computed(T::discrete(&Discrete::Or, &[&self.0, &other.0]))
    }
    /// The negation of a mask.
    #[allow(clippy::should_implement_trait)]
    pub(super) fn not(&self) -> Val<T> {
        computed(T::discrete(&Discrete::Not, &[&self.0]))
    }
    /// This mask as ones and zeros of the element type of `like`.
    pub(super) fn as_ones(&self, like: &Val<T>) -> Val<T> {
        computed(T::discrete(&Discrete::ToFloat(like.0.dtype()), &[&self.0]))
    }
    /// `then` where this mask holds, `otherwise` elsewhere.
    pub(super) fn select(&self, then: &Val<T>, otherwise: &Val<T>) -> Val<T> {
        computed(T::select(&self.0, &then.0, &otherwise.0))
    }
    fn guarded(self, guard: Guard) -> Partial<T> {
        Partial { guard, value: Some(PartialFactors { first: self.0, then: None }), origin: self.1 }
    }
    /// A partial that multiplies without a guard.
    pub(super) fn plain(self) -> Partial<T> {
        self.guarded(Guard::Plain)
    }
    /// A partial that can be infinite or NaN at finite operands.
    pub(super) fn singular(self) -> Partial<T> {
        self.guarded(Guard::Singular)
    }
    /// A partial of two factors: one that can be infinite or NaN at finite operands, and another one after it.
    pub(super) fn singular_then(self, guard: Guard, next: Val<T>) -> Partial<T> {
        let then = Some(Box::new(next.guarded(guard)));
        Partial { guard: Guard::Singular, value: Some(PartialFactors { first: self.0, then }), origin: self.1 }
    }
    /// A partial that divides.
    pub(super) fn quotient(self) -> Partial<T> {
        self.guarded(Guard::Quotient)
    }
    /// A partial that selects.
    pub(super) fn mask(self) -> Partial<T> {
        self.guarded(Guard::Mask)
    }
}

macro_rules! operator {
    ($Trait:ident, $method:ident) => {
        impl<T: BaseTensor> $Trait<&Val<T>> for &Val<T> {
            type Output = Val<T>;
            fn $method(self, other: &Val<T>) -> Val<T> {
                computed(self.0.binary(Binary::$Trait, &other.0))
            }
        }
        impl<T: BaseTensor> $Trait<Val<T>> for &Val<T> {
            type Output = Val<T>;
            fn $method(self, other: Val<T>) -> Val<T> {
                self.$method(&other)
            }
        }
        impl<T: BaseTensor> $Trait<&Val<T>> for Val<T> {
            type Output = Val<T>;
            fn $method(self, other: &Val<T>) -> Val<T> {
                (&self).$method(other)
            }
        }
        impl<T: BaseTensor> $Trait<Val<T>> for Val<T> {
            type Output = Val<T>;
            fn $method(self, other: Val<T>) -> Val<T> {
                (&self).$method(&other)
            }
        }
        impl<T: BaseTensor> $Trait<f64> for &Val<T> {
            type Output = Val<T>;
            fn $method(self, c: f64) -> Val<T> {
                self.$method(&self.c(c))
            }
        }
        impl<T: BaseTensor> $Trait<f64> for Val<T> {
            type Output = Val<T>;
            fn $method(self, c: f64) -> Val<T> {
                (&self).$method(&self.c(c))
            }
        }
        impl<T: BaseTensor> $Trait<&Val<T>> for f64 {
            type Output = Val<T>;
            fn $method(self, v: &Val<T>) -> Val<T> {
                (&v.c(self)).$method(v)
            }
        }
        impl<T: BaseTensor> $Trait<Val<T>> for f64 {
            type Output = Val<T>;
            fn $method(self, v: Val<T>) -> Val<T> {
                (&v.c(self)).$method(&v)
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);

impl<T: BaseTensor> Neg for &Val<T> {
    type Output = Val<T>;
    fn neg(self) -> Val<T> {
        self.map(Unary::Neg)
    }
}

impl<T: BaseTensor> Neg for Val<T> {
    type Output = Val<T>;
    fn neg(self) -> Val<T> {
        self.map(Unary::Neg)
    }
}
