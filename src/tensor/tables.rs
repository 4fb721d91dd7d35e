//! Methods for the rows of the tables of elementwise functions, with the documentation of each row.

use super::{Operand, Tensor};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::{Binary, Unary, binary_rows, unary_rows};

/// Makes a documented method from each row.
macro_rules! unary_methods {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident => $Op:ident {
            kernel: |$k:ident| $kernel:expr,
            derivative: |$x:ident, $y:ident| $derivative:expr,
            domain: $lo:literal .. $hi:literal,
            graph: $course:expr, $defined:expr => $range:expr,
            error: $error:literal,
            $(error_of_one: $error_of_one:literal,)?
            properties: [$($property:ident),*],
            $(example: $at:literal => $value:literal,)?
        }
    )*) => {
        /// Elementwise functions of floats.
        impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
            $(
                $(#[doc = $doc])*
                $(#[doc = concat!(
                    "\n```\nuse polygrad::tensor;\nassert_eq!(tensor(", stringify!($at), ").", stringify!($name),
                    "(), tensor(", stringify!($value), "));\n```"
                )])?
                #[track_caller]
                pub fn $name(&self) -> Self {
                    Tensor::from_raw(self.raw().unary(Unary::$Op))
                }
            )*
        }
    };
}

unary_rows!(unary_methods);

/// Makes a documented method from each row that is written as a method, see [`binary_rows`].
macro_rules! binary_methods {
    (@surface method, $name:ident, $Op:ident, [$($doc:literal)*], [$($ax:expr, $ay:expr, $value:expr)?]) => {
        $(#[doc = $doc])*
        ///
        /// Here `x` is `self` and `y` is the argument.
        $(#[doc = concat!(
            "\n```\nuse polygrad::tensor;\nassert_eq!(tensor(", stringify!($ax), ").", stringify!($name), "(", stringify!($ay),
            "), tensor(", stringify!($value), "));\n```"
        )])?
        #[track_caller]
        pub fn $name(&self, y: impl Operand<T, D, E>) -> Self {
            self.binary(Binary::$Op, y)
        }
    };
    (@surface $written:ident, $($rest:tt)*) => {};
    ($(
        $(#[doc = $doc:literal])*
        $name:ident => $Op:ident {
            written: $written:ident $(($symbol:literal))?,
            kernel: |$a:ident, $b:ident| $kernel:expr,
            partials: |$x:ident, $y:ident, $z:ident| [$dx:expr, $dy:expr],
            domain: $xlo:literal .. $xhi:literal, $ylo:literal .. $yhi:literal,
            zeros: [$first_zero:ident, $second_zero:ident],
            properties: [$($property:ident),*],
            $(example: ($ax:expr, $ay:expr) => $value:expr,)?
        }
    )*) => {
        /// Elementwise functions of two tensors of floats; the second may be a number.
        impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
            $( binary_methods! { @surface $written, $name, $Op, [$($doc)*], [$($ax, $ay, $value)?] } )*
        }
    };
}

binary_rows!(binary_methods);
