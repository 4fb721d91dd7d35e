//! Operators of complex tensors with complex and real tensors and numbers, with broadcasting.
//!
//! Law: a real operand is not made complex, so that no product with a zero is computed, and the sign of a zero
//! imaginary part is kept: `1 - z` has the imaginary part `-im z`. A product is `(a c - b d) + i (a d + b c)`, by IEEE
//! where a part is infinite. A quotient scales the divisor, so that no square overflows or vanishes.

use std::borrow::Cow;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use num_complex::Complex as Number;

use super::Complex;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::{Binary, Discrete, FloatStep, Unary};
use crate::shape::{Shape, same};
use crate::tensor::operators::{Operator, broadcast_shape, stretch};
use crate::tensor::{Beside, Rank, RightSide, Tensor};

/// The values of an operand: a real one has no imaginary part.
#[doc(hidden)]
#[derive(Debug)]
pub struct ComplexParts<'a, T: Clone> {
    re: Cow<'a, T>,
    im: Option<Cow<'a, T>>,
}

/// The right side of an operator whose left side is a complex tensor of rank `D` with elements `E`: a complex or real
/// tensor, owned or borrowed, where both ranks are equal or one is 0; or a number, real or of the crate `num-complex`.
///
/// ```
/// use polygrad::tensor::ComplexSide;
/// use polygrad::{BaseTensor, Complex, tensor};
/// fn sum<T: BaseTensor, X: ComplexSide<T, 1, f64>>(z: &Complex<T, 1>, x: X) -> X::Out {
///     z + x
/// }
/// let z = Complex::new(tensor([1.0, 2.0]), tensor([3.0, 4.0]));
/// assert_eq!(sum(&z, 1.0), Complex::new(tensor([2.0, 3.0]), tensor([3.0, 4.0])));
/// assert_eq!(sum(&z, &z), z.scale(2.0));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with a complex tensor of rank {D} with parts of type `{E}`",
    label = "neither a complex or real tensor, nor a number of type `{E}`",
    note = "numbers have the element type of the tensor: write `2.0`, and `n as f64` for a variable `n`"
)]
pub trait ComplexSide<T: BaseTensor, const D: usize, E> {
    /// The result of an operator.
    type Out;
    /// The values; of a number, in this shape.
    #[doc(hidden)]
    fn values(&self, shape: &[usize]) -> ComplexParts<'_, T>;
    /// The result, from its parts.
    #[doc(hidden)]
    #[track_caller]
    fn result(parts: [T; 2]) -> Self::Out;
}

macro_rules! tensor_sides {
    ($($Side:ty, |$x:ident| $re:expr, $im:expr;)*) => { $(
        impl<T: BaseTensor, const D: usize, const F: usize, E: Float> ComplexSide<T, D, E> for $Side
        where
            Rank<D>: Beside<F>,
        {
            type Out = <Rank<D> as Beside<F>>::Complex<T, E>;
            fn values(&self, _: &[usize]) -> ComplexParts<'_, T> {
                let $x = self;
                ComplexParts { re: Cow::Borrowed($re), im: $im.map(Cow::Borrowed) }
            }
            fn result(parts: [T; 2]) -> Self::Out {
                <Rank<D> as Beside<F>>::complex(parts)
            }
        }
    )* };
}
tensor_sides! {
    Complex<T, F, E>, |x| x.re.raw(), Some(x.im.raw());
    &Complex<T, F, E>, |x| x.re.raw(), Some(x.im.raw());
    Tensor<T, F, E>, |x| x.raw(), None;
    &Tensor<T, F, E>, |x| x.raw(), None;
}

fn number<'a, T: BaseTensor, E: Float>(x: E, shape: &[usize]) -> Cow<'a, T> {
    Cow::Owned(T::constant(Array::full(shape, x)))
}

impl<T: BaseTensor, const D: usize, E: Float> ComplexSide<T, D, E> for E {
    type Out = Complex<T, D, E>;
    fn values(&self, shape: &[usize]) -> ComplexParts<'_, T> {
        ComplexParts { re: number(*self, shape), im: None }
    }
    fn result(parts: [T; 2]) -> Complex<T, D, E> {
        Complex::from_raw(parts)
    }
}

impl<T: BaseTensor, const D: usize, E: Float> ComplexSide<T, D, E> for Number<E> {
    type Out = Complex<T, D, E>;
    fn values(&self, shape: &[usize]) -> ComplexParts<'_, T> {
        ComplexParts { re: number(self.re, shape), im: Some(number(self.im, shape)) }
    }
    fn result(parts: [T; 2]) -> Complex<T, D, E> {
        Complex::from_raw(parts)
    }
}

/// Complex tensors and numbers on the right of a real tensor.
macro_rules! right_of_real {
    ($($Side:ty, [$($F:tt)*], [$($clause:tt)*], $Out:ty, |$parts:ident| $result:expr;)*) => { $(
        impl<T: BaseTensor, const D: usize, $($F)* E: Float> RightSide<T, D, E> for $Side
        where
            $($clause)*
        {
            type Out = $Out;
            fn beside(&self, operator: Operator, left: Cow<'_, T>) -> Self::Out {
                let right = <Self as ComplexSide<T, D, E>>::values(self, left.shape());
                let $parts = computed(operator, ComplexParts { re: left, im: None }, right);
                $result
            }
        }
    )* };
}
right_of_real! {
    Complex<T, F, E>, [const F: usize,], [Rank<D>: Beside<F>], <Rank<D> as Beside<F>>::Complex<T, E>, |parts| <Rank<D> as Beside<F>>::complex(parts);
    &Complex<T, F, E>, [const F: usize,], [Rank<D>: Beside<F>], <Rank<D> as Beside<F>>::Complex<T, E>, |parts| <Rank<D> as Beside<F>>::complex(parts);
    Number<E>, [], [], Complex<T, D, E>, |parts| Complex::from_raw(parts);
}

/// The imaginary parts of two operands, at least one of them complex.
#[derive(Clone, Copy)]
enum ImaginaryParts<'a, T> {
    Left(&'a T),
    Right(&'a T),
    Both(&'a T, &'a T),
}

impl<'a, T> ImaginaryParts<'a, T> {
    fn of(left: Option<&'a T>, right: Option<&'a T>) -> ImaginaryParts<'a, T> {
        match (left, right) {
            (Some(y), Some(v)) => ImaginaryParts::Both(y, v),
            (Some(y), None) => ImaginaryParts::Left(y),
            (None, Some(v)) => ImaginaryParts::Right(v),
            (None, None) => unreachable!("one operand is complex"),
        }
    }
}

/// An operator of two operands, at least one of them complex.
#[track_caller]
fn computed<T: BaseTensor>(operator: Operator, a: ComplexParts<'_, T>, b: ComplexParts<'_, T>) -> [T; 2] {
    let (a, b) = in_common_shape(operator.name(), a, b);
    let (x, u) = (&*a.re, &*b.re);
    let imaginary = ImaginaryParts::of(a.im.as_deref(), b.im.as_deref());
    match operator {
        Operator::Add => [of(Binary::Add, x, u), added(imaginary)],
        Operator::Sub => [of(Binary::Sub, x, u), subtracted(imaginary)],
        Operator::Mul => match imaginary {
            ImaginaryParts::Both(y, v) => [
                of(Binary::Sub, &of(Binary::Mul, x, u), &of(Binary::Mul, y, v)),
                of(Binary::Add, &of(Binary::Mul, x, v), &of(Binary::Mul, y, u)),
            ],
            ImaginaryParts::Left(y) => [of(Binary::Mul, x, u), of(Binary::Mul, y, u)],
            ImaginaryParts::Right(v) => [of(Binary::Mul, x, u), of(Binary::Mul, x, v)],
        },
        Operator::Div => match imaginary {
            ImaginaryParts::Left(y) => [of(Binary::Div, x, u), of(Binary::Div, y, u)],
            ImaginaryParts::Right(v) => quotient(x, None, u, v),
            ImaginaryParts::Both(y, v) => quotient(x, Some(y), u, v),
        },
        Operator::Rem | Operator::And | Operator::Or => unreachable!("floats have no operator {}", operator.name()),
    }
}

// Functions and no closures, so that the place of an operation is that of the user's call.

#[track_caller]
fn of<T: BaseTensor>(op: Binary, x: &T, y: &T) -> T {
    x.binary(op, y)
}

/// The imaginary part of a sum: that of one operand, or the sum of both.
#[track_caller]
fn added<T: BaseTensor>(parts: ImaginaryParts<'_, T>) -> T {
    match parts {
        ImaginaryParts::Both(y, v) => of(Binary::Add, y, v),
        ImaginaryParts::Left(one) | ImaginaryParts::Right(one) => one.clone(),
    }
}

/// The imaginary part of a difference.
#[track_caller]
fn subtracted<T: BaseTensor>(parts: ImaginaryParts<'_, T>) -> T {
    match parts {
        ImaginaryParts::Both(y, v) => of(Binary::Sub, y, v),
        ImaginaryParts::Left(y) => y.clone(),
        ImaginaryParts::Right(v) => v.unary(Unary::Neg),
    }
}

/// `(x + i y) / (u + i v)`. The divisor is divided by the larger absolute value of its parts, a constant for
/// derivatives, since the quotient does not depend on it.
#[track_caller]
fn quotient<T: BaseTensor>(x: &T, y: Option<&T>, u: &T, v: &T) -> [T; 2] {
    let larger = of(Binary::Max, &u.unary(Unary::Abs), &v.unary(Unary::Abs));
    let larger = T::discrete(&Discrete::FloatStep(FloatStep::StopGradient), &[&larger]);
    let (u, v) = (of(Binary::Div, u, &larger), of(Binary::Div, v, &larger));
    let square = of(Binary::Add, &u.unary(Unary::Square), &v.unary(Unary::Square));
    let (re, im) = (of(Binary::Mul, x, &u), of(Binary::Mul, x, &v));
    let (re, im) = match y {
        None => (re, im.unary(Unary::Neg)),
        Some(y) => (of(Binary::Add, &re, &of(Binary::Mul, y, &v)), of(Binary::Sub, &of(Binary::Mul, y, &u), &im)),
    };
    let (re, im) = (of(Binary::Div, &re, &square), of(Binary::Div, &im, &square));
    [of(Binary::Div, &re, &larger), of(Binary::Div, &im, &larger)]
}

/// Both operands, broadcast.
#[track_caller]
fn in_common_shape<'a, T: BaseTensor>(
    name: &str,
    a: ComplexParts<'a, T>,
    b: ComplexParts<'a, T>,
) -> (ComplexParts<'a, T>, ComplexParts<'a, T>) {
    if same(a.re.shape(), b.re.shape()) {
        return (a, b);
    }
    let shape = match (a.re.shape(), b.re.shape()) {
        ([], shape) | (shape, []) => Shape::from_slice(shape),
        (own, other) => broadcast_shape(name, own, other),
    };
    (in_shape(a, &shape), in_shape(b, &shape))
}

#[track_caller]
fn in_shape<'a, T: BaseTensor>(x: ComplexParts<'a, T>, shape: &[usize]) -> ComplexParts<'a, T> {
    let re = wide(x.re, shape);
    match x.im {
        Some(im) => ComplexParts { re, im: Some(wide(im, shape)) },
        None => ComplexParts { re, im: None },
    }
}

#[track_caller]
fn wide<'a, T: BaseTensor>(x: Cow<'a, T>, shape: &[usize]) -> Cow<'a, T> {
    if same(x.shape(), shape) { x } else { Cow::Owned(stretch(&*x, shape).into_owned()) }
}

impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
    #[track_caller]
    fn computed<X: ComplexSide<T, D, E>>(&self, operator: Operator, other: &X) -> X::Out {
        let own = ComplexParts { re: Cow::Borrowed(self.re.raw()), im: Some(Cow::Borrowed(self.im.raw())) };
        X::result(computed(operator, own, other.values(self.re.raw().shape())))
    }
}

/// An operator, and its form that assigns.
macro_rules! operators {
    ($($Trait:ident $method:ident, $Assign:ident $assign:ident, [$($E:ident)*];)*) => { $(
        impl<T: BaseTensor, const D: usize, E: Float, X: ComplexSide<T, D, E>> $Trait<X> for &Complex<T, D, E> {
            type Output = X::Out;
            #[track_caller]
            fn $method(self, other: X) -> X::Out {
                self.computed(Operator::$Trait, &other)
            }
        }
        impl<T: BaseTensor, const D: usize, E: Float, X: ComplexSide<T, D, E>> $Trait<X> for Complex<T, D, E> {
            type Output = X::Out;
            #[track_caller]
            fn $method(self, other: X) -> X::Out {
                self.computed(Operator::$Trait, &other)
            }
        }
        impl<T: BaseTensor, const D: usize, E: Float, X> $Assign<X> for Complex<T, D, E>
        where
            X: ComplexSide<T, D, E, Out = Complex<T, D, E>>,
        {
            #[track_caller]
            fn $assign(&mut self, other: X) {
                *self = self.computed(Operator::$Trait, &other);
            }
        }
        $(
            left_numbers! { $Trait $method, $E, |x, shape| ComplexParts { re: number(x, shape), im: None }, $E; }
            left_numbers! {
                $Trait $method, $E,
                |x, shape| ComplexParts { re: number(x.re, shape), im: Some(number(x.im, shape)) }, Number<$E>;
            }
        )*
    )* };
}

/// A number of a concrete type on the left.
macro_rules! left_numbers {
    ($Trait:ident $method:ident, $E:ident, |$x:ident, $shape:ident| $parts:expr, $Number:ty;) => {
        impl<T: BaseTensor, const D: usize> $Trait<&Complex<T, D, $E>> for $Number {
            type Output = Complex<T, D, $E>;
            #[track_caller]
            fn $method(self, other: &Complex<T, D, $E>) -> Complex<T, D, $E> {
                let ($x, $shape) = (self, other.re.raw().shape());
                let right = ComplexSide::<T, D, $E>::values(&other, $shape);
                Complex::from_raw(computed(Operator::$Trait, $parts, right))
            }
        }
        impl<T: BaseTensor, const D: usize> $Trait<Complex<T, D, $E>> for $Number {
            type Output = Complex<T, D, $E>;
            #[track_caller]
            fn $method(self, other: Complex<T, D, $E>) -> Complex<T, D, $E> {
                $Trait::$method(self, &other)
            }
        }
    };
}

operators! {
    Add add, AddAssign add_assign, [f64 f32];
    Sub sub, SubAssign sub_assign, [f64 f32];
    Mul mul, MulAssign mul_assign, [f64 f32];
    Div div, DivAssign div_assign, [f64 f32];
}

impl<T: BaseTensor, const D: usize, E: Float> Neg for &Complex<T, D, E> {
    type Output = Complex<T, D, E>;
    #[track_caller]
    fn neg(self) -> Complex<T, D, E> {
        Complex { re: -&self.re, im: -&self.im }
    }
}

impl<T: BaseTensor, const D: usize, E: Float> Neg for Complex<T, D, E> {
    type Output = Complex<T, D, E>;
    #[track_caller]
    fn neg(self) -> Complex<T, D, E> {
        -&self
    }
}
