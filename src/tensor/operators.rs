//! Arithmetic and logical operators, in all ownership forms, with tensors and host numbers.
//!
//! Law: an operator is one operation of the language after broadcasting. The host number stands for
//! a tensor of that one number, so it costs O(1) whatever the shape.

use std::borrow::Cow;
use std::ops::{
    Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Rem, RemAssign, Sub, SubAssign,
};

use smallvec::SmallVec;

use super::Tensor;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{DType, Elem, Num};
use crate::ops::{Binary, Discrete, IntBinary, Linear, View};
use crate::shape::{Shape, Show, check_possible, same};

/// The common shape of two operands of equal rank: along each axis the sizes are equal, or one is 1.
#[track_caller]
pub(super) fn broadcast_shape(op: &str, a: &[usize], b: &[usize]) -> Shape {
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

/// `t` repeated along its axes of size 1 into `shape`, if the two are known to fit.
#[track_caller]
pub(super) fn stretch<'a, T: BaseTensor>(t: &'a T, shape: &[usize]) -> Cow<'a, T> {
    if same(t.shape(), shape) {
        return Cow::Borrowed(t);
    }
    let rank = shape.len();
    let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, rank * rank);
    for (axis, n) in t.shape().iter().enumerate() {
        matrix[axis * rank + axis] = i64::from(*n == shape[axis]);
    }
    let offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, rank);
    Cow::Owned(t.linear(&Linear::read(View::affine(t.shape(), shape, &matrix, &offset))))
}

/// Two operands of different shapes in their common shape. The caller applies the operation: inside a closure, a
/// mistake would not be reported at the user's line.
#[cold]
#[inline(never)]
#[track_caller]
fn broadcast<T: BaseTensor>(name: &str, a: &T, b: &T) -> [T; 2] {
    let shape = broadcast_shape(name, a.shape(), b.shape());
    [stretch(a, &shape).into_owned(), stretch(b, &shape).into_owned()]
}

/// A host number as a tensor of the shape of `like`.
fn splat<T: BaseTensor, E: Elem>(x: E, like: &T) -> T {
    T::constant(Array::full(like.shape(), x))
}

#[track_caller]
#[inline]
fn add_op<T: BaseTensor, E: Num>(a: &T, b: &T) -> T {
    E::add_op(a, b)
}

#[track_caller]
#[inline]
fn sub_op<T: BaseTensor, E: Num>(a: &T, b: &T) -> T {
    E::sub_op(a, b)
}

#[track_caller]
#[inline]
fn mul_op<T: BaseTensor, E: Num>(a: &T, b: &T) -> T {
    E::mul_op(a, b)
}

/// The quotient: IEEE for floats, truncated for integers.
#[track_caller]
#[inline]
pub(super) fn div_op<T: BaseTensor, E: Num>(a: &T, b: &T) -> T {
    match E::DTYPE {
        DType::F64 | DType::F32 => a.binary(Binary::Div, b),
        DType::I64 | DType::Bool => T::discrete(&Discrete::IntBinary(IntBinary::Quot), &[a, b]),
    }
}

// The remaining operations are for one element type each; they are generic in form, because the macros call them.

#[track_caller]
fn rem_op<T: BaseTensor, E: Num>(a: &T, b: &T) -> T {
    const { assert!(matches!(E::DTYPE, DType::I64)) };
    T::discrete(&Discrete::IntBinary(IntBinary::Rem), &[a, b])
}

#[track_caller]
fn and_op<T: BaseTensor, E: Elem>(a: &T, b: &T) -> T {
    const { assert!(matches!(E::DTYPE, DType::Bool)) };
    T::discrete(&Discrete::And, &[a, b])
}

#[track_caller]
fn or_op<T: BaseTensor, E: Elem>(a: &T, b: &T) -> T {
    const { assert!(matches!(E::DTYPE, DType::Bool)) };
    T::discrete(&Discrete::Or, &[a, b])
}

/// One operator between tensors of element type `$E`, in the ownership forms with a borrowed left side,
/// and with a number on the right.
macro_rules! borrowed {
    ($Trait:ident $method:ident, $name:literal, [$($bound:tt)*] $E:ty, $op:ident) => {
        impl<T: BaseTensor, const D: usize, $($bound)*> $Trait<&Tensor<T, D, $E>> for &Tensor<T, D, $E> {
            type Output = Tensor<T, D, $E>;
            #[track_caller]
            fn $method(self, other: &Tensor<T, D, $E>) -> Tensor<T, D, $E> {
                let (a, b) = (self.raw(), other.raw());
                if same(a.shape(), b.shape()) {
                    return Tensor::from_raw($op::<T, $E>(a, b));
                }
                let [a, b] = broadcast($name, a, b);
                Tensor::from_raw($op::<T, $E>(&a, &b))
            }
        }
        impl<T: BaseTensor, const D: usize, $($bound)*> $Trait<Tensor<T, D, $E>> for &Tensor<T, D, $E> {
            type Output = Tensor<T, D, $E>;
            #[track_caller]
            fn $method(self, other: Tensor<T, D, $E>) -> Tensor<T, D, $E> {
                self.$method(&other)
            }
        }
        impl<T: BaseTensor, const D: usize, $($bound)*> $Trait<$E> for &Tensor<T, D, $E> {
            type Output = Tensor<T, D, $E>;
            #[track_caller]
            fn $method(self, x: $E) -> Tensor<T, D, $E> {
                Tensor::from_raw($op::<T, $E>(self.raw(), &splat(x, self.raw())))
            }
        }
        impl<T: BaseTensor, const D: usize, $($bound)*> $Trait<$E> for Tensor<T, D, $E> {
            type Output = Tensor<T, D, $E>;
            #[track_caller]
            fn $method(self, x: $E) -> Tensor<T, D, $E> {
                (&self).$method(x)
            }
        }
    };
}

/// The ownership forms with an owned left side, for operators that cannot reuse it.
macro_rules! owned {
    ($Trait:ident $method:ident, [$($bound:tt)*] $E:ty) => {
        impl<T: BaseTensor, const D: usize, $($bound)*> $Trait<&Tensor<T, D, $E>> for Tensor<T, D, $E> {
            type Output = Tensor<T, D, $E>;
            #[track_caller]
            fn $method(self, other: &Tensor<T, D, $E>) -> Tensor<T, D, $E> {
                (&self).$method(other)
            }
        }
        impl<T: BaseTensor, const D: usize, $($bound)*> $Trait<Tensor<T, D, $E>> for Tensor<T, D, $E> {
            type Output = Tensor<T, D, $E>;
            #[track_caller]
            fn $method(self, other: Tensor<T, D, $E>) -> Tensor<T, D, $E> {
                (&self).$method(&other)
            }
        }
    };
}

/// `x op= y` for everything that `x op y` takes.
macro_rules! assign {
    ($Trait:ident $method:ident, $Op:ident $op:ident, [$($bound:tt)*] $E:ty) => {
        impl<T: BaseTensor, const D: usize, $($bound)*> $Trait<Tensor<T, D, $E>> for Tensor<T, D, $E> {
            #[track_caller]
            fn $method(&mut self, other: Tensor<T, D, $E>) {
                self.$method(&other);
            }
        }
        impl<T: BaseTensor, const D: usize, $($bound)*> $Trait<&Tensor<T, D, $E>> for Tensor<T, D, $E> {
            #[track_caller]
            fn $method(&mut self, other: &Tensor<T, D, $E>) {
                // Afterwards the left side has no other owner, so an owned operator can reuse it.
                let left = std::mem::replace(self, other.clone());
                *self = $Op::$op(left, other);
            }
        }
        impl<T: BaseTensor, const D: usize, $($bound)*> $Trait<$E> for Tensor<T, D, $E> {
            #[track_caller]
            fn $method(&mut self, x: $E) {
                *self = $Op::$op(&*self, x);
            }
        }
    };
}

/// A number of a known type on the left.
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

borrowed!(Add add, "add", [E: Num] E, add_op);
borrowed!(Sub sub, "sub", [E: Num] E, sub_op);
borrowed!(Mul mul, "mul", [E: Num] E, mul_op);
borrowed!(Div div, "div", [E: Num] E, div_op);
borrowed!(Rem rem, "rem", [] i64, rem_op);
borrowed!(BitAnd bitand, "and", [] bool, and_op);
borrowed!(BitOr bitor, "or", [] bool, or_op);

owned!(Sub sub, [E: Num] E);
owned!(Mul mul, [E: Num] E);
owned!(Div div, [E: Num] E);
owned!(Rem rem, [] i64);
owned!(BitAnd bitand, [] bool);
owned!(BitOr bitor, [] bool);

/// A sum reuses the memory of its left side if that has no other owner.
impl<T: BaseTensor, const D: usize, E: Num> Add<&Tensor<T, D, E>> for Tensor<T, D, E> {
    type Output = Tensor<T, D, E>;
    #[track_caller]
    fn add(self, other: &Tensor<T, D, E>) -> Tensor<T, D, E> {
        if same(self.raw().shape(), other.raw().shape()) {
            return Tensor::from_raw(self.into_raw().accumulate(other.raw()));
        }
        &self + other
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Add<Tensor<T, D, E>> for Tensor<T, D, E> {
    type Output = Tensor<T, D, E>;
    #[track_caller]
    fn add(self, other: Tensor<T, D, E>) -> Tensor<T, D, E> {
        self + &other
    }
}

assign!(AddAssign add_assign, Add add, [E: Num] E);
assign!(SubAssign sub_assign, Sub sub, [E: Num] E);
assign!(MulAssign mul_assign, Mul mul, [E: Num] E);
assign!(DivAssign div_assign, Div div, [E: Num] E);
assign!(RemAssign rem_assign, Rem rem, [] i64);

number_left!(Add add, add_op, f64 f32 i64);
number_left!(Sub sub, sub_op, f64 f32 i64);
number_left!(Mul mul, mul_op, f64 f32 i64);
number_left!(Div div, div_op, f64 f32 i64);
number_left!(Rem rem, rem_op, i64);

impl<T: BaseTensor, const D: usize, E: Num> Neg for &Tensor<T, D, E> {
    type Output = Tensor<T, D, E>;
    #[track_caller]
    fn neg(self) -> Tensor<T, D, E> {
        Tensor::from_raw(E::neg_op(self.raw()))
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
