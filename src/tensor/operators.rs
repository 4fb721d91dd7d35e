//! Arithmetic and logical operators, in all ownership forms, with tensors and host numbers.
//!
//! Law: an operator is one operation of the language after broadcasting. A host number becomes a uniform constant,
//! which takes O(1) memory whatever the shape; a tensor of rank 0 is broadcast.
//!
//! Each operator has one implementation per ownership of its left side, generic in the right side ([`RightSide`]). The
//! bounds of the implementations of `RightSide` reject other right sides, with one trait, and one message of rustc, for
//! each reason: another level ([`Level`]), another rank ([`Beside`]), other elements ([`SameElements`]).
//!
//! An owned left side is moved: `y - y.mean()` does not compile if `y` is a tensor and no reference; write
//! `&y - y.mean()`.

use std::borrow::Cow;
use std::ops::{
    Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Rem, RemAssign, Sub, SubAssign,
};

use smallvec::SmallVec;

use super::arithmetic::{add_op, div_op, mul_op, neg_op, sub_op};
use super::{Beside, Rank, Takes, Tensor};
use crate::array::Array;
use crate::base::{BaseTensor, Level};
use crate::dtype::{Elem, Num};
use crate::ops::{Discrete, IntBinary, Linear, View};
use crate::shape::{Shape, Show, check_possible, same};

/// The common shape of two operands of equal rank. Panics unless along each axis the sizes are equal, or one is 1.
#[track_caller]
pub(crate) fn broadcast_shape(op: &str, a: &[usize], b: &[usize]) -> Shape {
    let mut out = Shape::from_slice(a);
    for (axis, (n, m)) in a.iter().zip(b).enumerate() {
        match (*n, *m) {
            (n, m) if n == m || m == 1 => {}
            (1, m) => out[axis] = m,
            (n, m) => panic!(
                "{op}: sizes must be equal, or 1 to be repeated, but the shapes are {} and {}, with {n} and {m} along \
                 axis {axis}; slice or pad one, or give it size 1 there",
                Show(a),
                Show(b)
            ),
        }
    }
    check_possible(op, &out);
    out
}

/// `t` broadcast to `shape`: from rank 0, or along its axes of size 1. The caller has checked that the shapes fit.
#[track_caller]
pub(crate) fn stretch<'a, T: BaseTensor>(t: &'a T, shape: &[usize]) -> Cow<'a, T> {
    if same(t.shape(), shape) {
        return Cow::Borrowed(t);
    }
    if t.shape().is_empty() {
        return Cow::Owned(t.linear(&Linear::replicate(shape, &[])));
    }
    let rank = shape.len();
    let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, rank * rank);
    for (axis, n) in t.shape().iter().enumerate() {
        matrix[axis * rank + axis] = i64::from(*n == shape[axis]);
    }
    let offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, rank);
    Cow::Owned(t.linear(&Linear::read(View::affine(t.shape(), shape, &matrix, &offset))))
}

/// The right side of an operator whose left side is a tensor of rank `D` with elements `E`: a tensor, owned or
/// borrowed, where both ranks are equal or one is 0; or a number of type `E`.
///
/// ```
/// use polygrad::tensor::RightSide;
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn sum<T: BaseTensor, Y: RightSide<T, 1, f64>>(x: &Tensor<T, 1>, y: Y) -> Y::Out {
///     x + y
/// }
/// let x = tensor([1.0, 2.0]);
/// assert_eq!((sum(&x, 1.0), sum(&x, &x)), (tensor([2.0, 3.0]), tensor([2.0, 4.0])));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with a tensor of rank {D} with elements `{E}`",
    label = "neither a tensor nor a number of type `{E}`",
    note = "numbers have the element type of the tensor: write `2.0` with floats and `2` with integers; for a variable `n`, \
            `n as f64` or `n as i64`"
)]
pub trait RightSide<T: BaseTensor, const D: usize, E> {
    /// The result of an operator.
    type Out;
    /// The result of an operator. The left side is owned if it may be reused.
    #[doc(hidden)]
    #[track_caller]
    fn beside(&self, operator: Operator, left: Cow<'_, T>) -> Self::Out;
}

/// An operator of tensors.
///
/// Closed: a complex operand computes each otherwise.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
}

impl Operator {
    /// The name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Operator::Add => "add",
            Operator::Sub => "sub",
            Operator::Mul => "mul",
            Operator::Div => "div",
            Operator::Rem => "rem",
            Operator::And => "and",
            Operator::Or => "or",
        }
    }

    /// The operation. A match and no pointer to a function, which would not know the place of the user's call.
    #[track_caller]
    #[inline]
    fn apply<T: BaseTensor, E: Elem>(self, a: &T, b: &T) -> T {
        match self {
            Operator::Add => add_op::<T, E>(a, b),
            Operator::Sub => sub_op::<T, E>(a, b),
            Operator::Mul => mul_op::<T, E>(a, b),
            Operator::Div => div_op::<T, E>(a, b),
            Operator::Rem => rem_op::<T, E>(a, b),
            Operator::And => T::discrete(&Discrete::And, &[a, b]),
            Operator::Or => T::discrete(&Discrete::Or, &[a, b]),
        }
    }
}

/// The second operand of a function of a tensor of rank `D` with elements `E`, whose result has rank `D`: a tensor,
/// owned or borrowed, of rank `D` or 0, or a number of type `E`.
///
/// ```
/// use polygrad::tensor::Operand;
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn at_least<T: BaseTensor>(x: &Tensor<T, 1>, y: impl Operand<T, 1, f64>) -> Tensor<T, 1> {
///     x.max(y)
/// }
/// let x = tensor([1.0, 3.0]);
/// assert_eq!(at_least(&x, 2.0), tensor([2.0, 3.0]));
/// assert_eq!(at_least(&x, tensor([0.0, 4.0])), tensor([1.0, 4.0]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with a tensor of rank {D} with elements `{E}`",
    label = "neither a tensor nor a number of type `{E}`",
    note = "numbers have the element type of the tensor: write `2.0` with floats and `2` with integers; for a variable `n`, \
            `n as f64` or `n as i64`"
)]
pub trait Operand<T: BaseTensor, const D: usize, E>: RightSide<T, D, E> {
    /// The value of a tensor; `None` for a number, which fits every shape.
    #[doc(hidden)]
    fn value(&self) -> Option<&T>;
    /// The operand, broadcast to the common shape.
    #[doc(hidden)]
    #[track_caller]
    fn in_shape(&self, shape: &[usize]) -> Cow<'_, T>;
}

/// `E: SameElements<G>` says that the two element types are one.
///
/// ```
/// use polygrad::tensor::SameElements;
/// use polygrad::{BaseTensor, Elem, Num, Tensor, tensor};
/// fn sum<T: BaseTensor, E, G: Elem>(x: &Tensor<T, 1, E>, y: &Tensor<T, 1, G>) -> Tensor<T, 1, E>
/// where
///     E: SameElements<G> + Num,
/// {
///     x + y
/// }
/// assert_eq!(sum(&tensor([1, 2]), &tensor([3, 4])), tensor([4, 6]));
/// ```
#[diagnostic::on_unimplemented(
    message = "elements `{G}` cannot be combined with elements `{Self}`",
    label = "a tensor with elements `{G}`",
    note = "element types are never converted silently: `.to_float()` makes floats of integers and masks, `.to_int()` makes integers, and \
            `.cast()` goes from one float type to another"
)]
pub trait SameElements<G>: Elem {}

impl<E: Elem> SameElements<E> for E {}

/// Tensors and numbers, with the type of their elements.
///
/// ```
/// use polygrad::tensor::Elements;
/// use polygrad::{DType, Elem, tensor};
/// fn dtype<X: Elements>(_: &X) -> DType {
///     X::Of::DTYPE
/// }
/// assert_eq!((dtype(&tensor([1, 2])), dtype(&2.0f32)), (DType::I64, DType::F32));
/// ```
pub trait Elements {
    /// The element type.
    type Of: Elem;
}

impl<E: Elem> Elements for E {
    type Of = E;
}

impl<U: BaseTensor, const F: usize, G: Elem> Elements for Tensor<U, F, G> {
    type Of = G;
}

impl<U: BaseTensor, const F: usize, G: Elem> Elements for &Tensor<U, F, G> {
    type Of = G;
}

macro_rules! tensor_sides {
    ($($Side:ty),*) => { $(
        impl<T: Level<U>, U: BaseTensor, const D: usize, const F: usize, E: SameElements<G>, G: Elem> RightSide<T, D, E>
            for $Side
        where
            Rank<D>: Beside<F>,
        {
            type Out = <Rank<D> as Beside<F>>::Out<T, E>;
            fn beside(&self, operator: Operator, left: Cow<'_, T>) -> Self::Out {
                <Rank<D> as Beside<F>>::result(applied::<T, E>(operator, left, T::level(self.raw())))
            }
        }
        impl<T: Level<U>, U: BaseTensor, const D: usize, const F: usize, E: SameElements<G>, G: Elem> Operand<T, D, E>
            for $Side
        where
            Rank<D>: Takes<F>,
        {
            #[inline]
            fn value(&self) -> Option<&T> {
                Some(T::level(self.raw()))
            }
            fn in_shape(&self, shape: &[usize]) -> Cow<'_, T> {
                stretch(T::level(self.raw()), shape)
            }
        }
    )* };
}
tensor_sides!(Tensor<U, F, G>, &Tensor<U, F, G>);

impl<T: BaseTensor, const D: usize, E: Elem> RightSide<T, D, E> for E {
    type Out = Tensor<T, D, E>;
    fn beside(&self, operator: Operator, left: Cow<'_, T>) -> Tensor<T, D, E> {
        Tensor::from_raw(operator.apply::<T, E>(&left, &splat(*self, &*left)))
    }
}

impl<T: BaseTensor, const D: usize, E: Elem> Operand<T, D, E> for E {
    fn value(&self) -> Option<&T> {
        None
    }
    fn in_shape(&self, shape: &[usize]) -> Cow<'_, T> {
        Cow::Owned(T::constant(Array::full(shape, *self)))
    }
}

/// An operator of two values, broadcast. A sum reuses the memory of its left side if that is owned and has no other
/// owner.
#[track_caller]
fn applied<T: BaseTensor, E: Elem>(operator: Operator, left: Cow<'_, T>, right: &T) -> T {
    if !same(left.shape(), right.shape()) {
        let [a, b] = broadcast(operator.name(), &*left, right);
        return operator.apply::<T, E>(&a, &b);
    }
    match left {
        Cow::Owned(left) if operator == Operator::Add => left.accumulate(right),
        left @ (Cow::Owned(_) | Cow::Borrowed(_)) => operator.apply::<T, E>(&left, right),
    }
}

/// Two operands of different shapes, where one may have rank 0, broadcast to their common shape.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn broadcast<T: BaseTensor>(name: &str, a: &T, b: &T) -> [T; 2] {
    let shape = match (a.shape(), b.shape()) {
        ([], shape) | (shape, []) => Shape::from_slice(shape),
        (own, other) => broadcast_shape(name, own, other),
    };
    [stretch(a, &shape).into_owned(), stretch(b, &shape).into_owned()]
}

/// A host number as a uniform constant of the shape of `like`.
#[track_caller]
fn splat<T: BaseTensor, E: Elem>(x: E, like: &T) -> T {
    T::constant(Array::full(like.shape(), x))
}

/// The remainder of integers; generic because the macros call every operation with an element type as argument.
#[allow(clippy::extra_unused_type_parameters)]
#[track_caller]
fn rem_op<T: BaseTensor, E: Elem>(a: &T, b: &T) -> T {
    T::discrete(&Discrete::IntBinary(IntBinary::Rem), &[a, b])
}

/// An operator with a tensor of element type `$E` on the left, borrowed or owned, and any right side.
macro_rules! operator {
    ($Trait:ident $method:ident, $name:ident, [$($bound:tt)*] $E:ty) => {
        impl<T: BaseTensor, const D: usize, X: RightSide<T, D, $E>, $($bound)*> $Trait<X> for &Tensor<T, D, $E> {
            type Output = X::Out;
            #[track_caller]
            fn $method(self, other: X) -> X::Out {
                other.beside(Operator::$name, Cow::Borrowed(self.raw()))
            }
        }
        impl<T: BaseTensor, const D: usize, X: RightSide<T, D, $E>, $($bound)*> $Trait<X> for Tensor<T, D, $E> {
            type Output = X::Out;
            #[track_caller]
            fn $method(self, other: X) -> X::Out {
                other.beside(Operator::$name, Cow::Owned(self.into_raw()))
            }
        }
    };
}

/// `x op= y` for each right side of `x op y` with which the result has the rank of `x`.
macro_rules! assign {
    ($Trait:ident $method:ident, $name:literal, [$($bound:tt)*] $E:ty, $op:ident) => {
        impl<T: BaseTensor, const D: usize, X: Operand<T, D, $E>, $($bound)*> $Trait<X> for Tensor<T, D, $E> {
            #[track_caller]
            fn $method(&mut self, other: X) {
                let raw = {
                    let a = self.raw();
                    match other.value() {
                        None => $op::<T, $E>(a, &other.in_shape(a.shape())),
                        Some(b) if same(a.shape(), b.shape()) => $op::<T, $E>(a, b),
                        Some(b) => {
                            let [a, b] = broadcast($name, a, b);
                            $op::<T, $E>(&a, &b)
                        }
                    }
                };
                *self = Tensor::from_raw(raw);
            }
        }
    };
}

/// A number of a concrete type on the left.
macro_rules! number_left {
    ($Trait:ident $method:ident, $op:ident, $($E:ty)*) => { $(
        impl<T: BaseTensor, const D: usize> $Trait<&Tensor<T, D, $E>> for $E {
            type Output = Tensor<T, D, $E>;
            #[track_caller]
            fn $method(self, other: &Tensor<T, D, $E>) -> Tensor<T, D, $E> {
                Tensor::from_raw($op::<T, $E>(&splat(self, other.raw()), other.raw()))
            }
        }
        impl<T: BaseTensor, const D: usize> $Trait<Tensor<T, D, $E>> for $E {
            type Output = Tensor<T, D, $E>;
            #[track_caller]
            fn $method(self, other: Tensor<T, D, $E>) -> Tensor<T, D, $E> {
                $Trait::$method(self, &other)
            }
        }
    )* };
}

operator!(Add add, Add, [E: Num] E);
operator!(Sub sub, Sub, [E: Num] E);
operator!(Mul mul, Mul, [E: Num] E);
operator!(Div div, Div, [E: Num] E);
operator!(Rem rem, Rem, [] i64);
operator!(BitAnd bitand, And, [] bool);
operator!(BitOr bitor, Or, [] bool);

/// A sum in place reuses the memory of its left side if that has no other owner.
impl<T: BaseTensor, const D: usize, E: Num, X: Operand<T, D, E>> AddAssign<X> for Tensor<T, D, E> {
    #[track_caller]
    fn add_assign(&mut self, other: X) {
        let raw = match other.value() {
            Some(b) if same(self.raw().shape(), b.shape()) => {
                // `self` gives up its share of the left side, so the sum can reuse the memory if it has no other owner.
                let left = std::mem::replace(self, Tensor::from_raw(b.clone()));
                left.into_raw().accumulate(b)
            }
            Some(b) => {
                let [a, b] = broadcast("add", self.raw(), b);
                add_op::<T, E>(&a, &b)
            }
            None => add_op::<T, E>(self.raw(), &other.in_shape(self.raw().shape())),
        };
        *self = Tensor::from_raw(raw);
    }
}

assign!(SubAssign sub_assign, "sub", [E: Num] E, sub_op);
assign!(MulAssign mul_assign, "mul", [E: Num] E, mul_op);
assign!(DivAssign div_assign, "div", [E: Num] E, div_op);
assign!(RemAssign rem_assign, "rem", [] i64, rem_op);

number_left!(Add add, add_op, f64 f32);
number_left!(Sub sub, sub_op, f64 f32);
number_left!(Mul mul, mul_op, f64 f32);
number_left!(Div div, div_op, f64 f32);
number_left!(Rem rem, rem_op, i64);

/// `E: TakesIntegers` says that an integer may be the left operand of a tensor with elements `E`: `E` is `i64`.
///
/// ```
/// use polygrad::tensor::TakesIntegers;
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn twice<T: BaseTensor, E: TakesIntegers>(x: &Tensor<T, 1, E>) -> Tensor<T, 1, E> {
///     2 * x
/// }
/// assert_eq!(twice(&tensor([1, 2])), tensor([2, 4]));
/// ```
#[diagnostic::on_unimplemented(
    message = "an integer cannot be combined with a tensor with elements `{Self}`",
    label = "numbers have the element type of the tensor, `{Self}`",
    note = "write `2.0` with floats; for a variable `n`, `n as f64`"
)]
pub trait TakesIntegers: Num {
    /// The integer as a number of this type.
    #[doc(hidden)]
    fn of(n: i64) -> Self;
}

impl TakesIntegers for i64 {
    fn of(n: i64) -> i64 {
        n
    }
}

/// An integer on the left, generic in the element type so that rustc reports an unfit tensor by the message of
/// [`TakesIntegers`].
macro_rules! integer_left {
    ($($Trait:ident $method:ident, $op:ident;)*) => { $(
        impl<T: BaseTensor, const D: usize, E: TakesIntegers> $Trait<&Tensor<T, D, E>> for i64 {
            type Output = Tensor<T, D, E>;
            #[track_caller]
            fn $method(self, other: &Tensor<T, D, E>) -> Tensor<T, D, E> {
                Tensor::from_raw($op::<T, E>(&splat(E::of(self), other.raw()), other.raw()))
            }
        }
        impl<T: BaseTensor, const D: usize, E: TakesIntegers> $Trait<Tensor<T, D, E>> for i64 {
            type Output = Tensor<T, D, E>;
            #[track_caller]
            fn $method(self, other: Tensor<T, D, E>) -> Tensor<T, D, E> {
                $Trait::$method(self, &other)
            }
        }
    )* };
}
integer_left! { Add add, add_op; Sub sub, sub_op; Mul mul, mul_op; Div div, div_op; }

impl<T: BaseTensor, const D: usize, E: Num> Neg for &Tensor<T, D, E> {
    type Output = Tensor<T, D, E>;
    #[track_caller]
    fn neg(self) -> Tensor<T, D, E> {
        Tensor::from_raw(neg_op::<T, E>(self.raw()))
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Neg for Tensor<T, D, E> {
    type Output = Tensor<T, D, E>;
    #[track_caller]
    fn neg(self) -> Tensor<T, D, E> {
        -&self
    }
}

impl<T: BaseTensor, const D: usize> Not for &Tensor<T, D, bool> {
    type Output = Tensor<T, D, bool>;
    #[track_caller]
    fn not(self) -> Tensor<T, D, bool> {
        Tensor::from_raw(T::discrete(&Discrete::Not, &[self.raw()]))
    }
}

impl<T: BaseTensor, const D: usize> Not for Tensor<T, D, bool> {
    type Output = Tensor<T, D, bool>;
    #[track_caller]
    fn not(self) -> Tensor<T, D, bool> {
        !&self
    }
}
