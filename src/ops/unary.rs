//! Elementwise functions of one float argument: one row each.
//!
//! Law: a row is everything. Kernel, derivative and test domain stand side by side here; the
//! operation is named nowhere else, and `tests/laws.rs` checks each row against finite differences.

use super::val::{Origin, Partial, Val};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Compare;
use crate::tensor::Tensor;

/// Makes the enum, its table functions and the documented methods of [`Tensor`] from the rows.
macro_rules! unary_ops {
    ($(
        $(#[$doc:meta])*
        $name:ident => $Op:ident {
            kernel: |$k:ident| $kernel:expr,
            derivative: |$x:ident, $y:ident| $derivative:expr,
            domain: $lo:literal .. $hi:literal,
        }
    )*) => {
        /// An elementwise function of one float argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Unary { $( $(#[$doc])* $Op, )* }

        impl Unary {
            /// Every row of the table.
            pub const ALL: &'static [Unary] = &[$( Unary::$Op, )*];

            /// The name programs are printed with, which is also the method's.
            pub fn name(self) -> &'static str {
                match self { $( Unary::$Op => stringify!($name), )* }
            }

            /// An interval in which the function is smooth and well scaled: where tests sample it.
            pub fn domain(self) -> (f64, f64) {
                match self { $( Unary::$Op => ($lo, $hi), )* }
            }

            /// The function at one number.
            #[inline]
            pub fn apply<F: Float>(self, x: F) -> F {
                match self { $( Unary::$Op => { let $k = x; $kernel } )* }
            }

            /// The function at every element; the loop is inside the match so that each kernel
            /// is compiled, and vectorised, on its own.
            pub fn map<F: Float>(self, xs: &[F]) -> Vec<F> {
                match self { $( Unary::$Op => xs.iter().map(|x| { let $k = *x; $kernel }).collect(), )* }
            }

            /// The derivative at `x`, where `y` is the function's value there.
            pub fn derivative<T: BaseTensor>(self, x: &T, y: &T) -> Partial<T> {
                let (x, y) = (Val::from(x.clone(), Origin::First), Val::from(y.clone(), Origin::Result));
                match self { $( Unary::$Op => { let ($x, $y) = (&x, &y); $derivative } )* }
            }
        }

        /// Elementwise functions of floats.
        impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
            $(
                $(#[$doc])*
                #[track_caller]
                pub fn $name(&self) -> Self {
                    Tensor::from_raw(self.raw().unary(Unary::$Op))
                }
            )*
        }
    };
}

/// A literal of the kernel's own float type.
fn c<F: Float>(x: f64) -> F {
    F::of_f64(x)
}

unary_ops! {
    /// Negation, `-x`. Derivative `-1`.
    neg => Neg {
        kernel: |x| -x,
        derivative: |_x, _y| Partial::minus_one(),
        domain: -3.0..3.0,
    }
    /// Absolute value `|x|`. Derivative `sign(x)`, by convention 0 at 0.
    abs => Abs {
        kernel: |x| x.abs(),
        derivative: |x, _y| x.sign().mask(),
        domain: 0.5..3.0,
    }
    /// Reciprocal `1 / x`. Derivative `-1 / x^2`; infinite at 0.
    recip => Recip {
        kernel: |x| x.recip(),
        derivative: |_x, y| (-(y * y)).singular(),
        domain: 0.5..3.0,
    }
    /// Square `x^2`. Derivative `2 x`.
    square => Square {
        kernel: |x| x * x,
        derivative: |x, _y| (2.0 * x).plain(),
        domain: -3.0..3.0,
    }
    /// Square root; NaN below 0. Derivative `1 / (2 sqrt x)`, infinite at 0.
    sqrt => Sqrt {
        kernel: |x| x.sqrt(),
        derivative: |_x, y| (0.5 / y).singular(),
        domain: 0.5..3.0,
    }
    /// Exponential `e^x`. Derivative `e^x`.
    exp => Exp {
        kernel: |x| x.exp(),
        derivative: |_x, y| y.clone().singular(),
        domain: -2.0..2.0,
    }
    /// Natural logarithm; `-inf` at 0 and NaN below. Derivative `1 / x`.
    ln => Ln {
        kernel: |x| x.ln(),
        derivative: |x, _y| x.map(Unary::Recip).singular(),
        domain: 0.5..3.0,
    }
    /// `ln(1 + x)`, accurate near 0; `-inf` at -1 and NaN below. Derivative `1 / (1 + x)`.
    log1p => Log1p {
        kernel: |x| x.ln_1p(),
        derivative: |x, _y| (1.0 + x).map(Unary::Recip).singular(),
        domain: -0.5..2.0,
    }
    /// Sine of an angle in radians. Derivative `cos x`.
    sin => Sin {
        kernel: |x| x.sin(),
        derivative: |x, _y| x.map(Unary::Cos).plain(),
        domain: -3.0..3.0,
    }
    /// Cosine of an angle in radians. Derivative `-sin x`.
    cos => Cos {
        kernel: |x| x.cos(),
        derivative: |x, _y| (-x.map(Unary::Sin)).plain(),
        domain: -3.0..3.0,
    }
    /// Tangent of an angle in radians. Derivative `1 + tan(x)^2`.
    tan => Tan {
        kernel: |x| x.tan(),
        derivative: |_x, y| (1.0 + y * y).plain(),
        domain: -1.2..1.2,
    }
    /// Arc sine; NaN outside `[-1, 1]`. Derivative `1 / sqrt(1 - x^2)`, infinite at the ends.
    asin => Asin {
        kernel: |x| x.asin(),
        derivative: |x, _y| one_minus_square(x).map(Unary::Sqrt).map(Unary::Recip).singular(),
        domain: -0.8..0.8,
    }
    /// Arc cosine; NaN outside `[-1, 1]`. Derivative `-1 / sqrt(1 - x^2)`, infinite at the ends.
    acos => Acos {
        kernel: |x| x.acos(),
        derivative: |x, _y| (-one_minus_square(x).map(Unary::Sqrt).map(Unary::Recip)).singular(),
        domain: -0.8..0.8,
    }
    /// Arc tangent. Derivative `1 / (1 + x^2)`.
    atan => Atan {
        kernel: |x| x.atan(),
        derivative: |x, _y| (1.0 + x * x).map(Unary::Recip).plain(),
        domain: -3.0..3.0,
    }
    /// Hyperbolic sine. Derivative `cosh x`.
    sinh => Sinh {
        kernel: |x| x.sinh(),
        derivative: |x, _y| x.map(Unary::Cosh).singular(),
        domain: -2.0..2.0,
    }
    /// Hyperbolic cosine. Derivative `sinh x`.
    cosh => Cosh {
        kernel: |x| x.cosh(),
        derivative: |x, _y| x.map(Unary::Sinh).singular(),
        domain: -2.0..2.0,
    }
    /// Hyperbolic tangent. Derivative `1 - tanh(x)^2`.
    tanh => Tanh {
        kernel: |x| x.tanh(),
        derivative: |_x, y| one_minus_square(y).plain(),
        domain: -2.0..2.0,
    }
    /// Logistic function `1 / (1 + e^-x)`, without overflow. Derivative `y (1 - y)`.
    sigmoid => Sigmoid {
        kernel: |x| {
            // Only ever exponentiates a number that is not positive.
            let e = (-x.abs()).exp();
            (if x < c(0.0) { e } else { F::ONE }) / (F::ONE + e)
        },
        derivative: |_x, y| (y * (1.0 - y)).plain(),
        domain: -3.0..3.0,
    }
    /// Rectifier `max(x, 0)`. Derivative 1 where `x > 0` and 0 elsewhere, also at 0.
    relu => Relu {
        kernel: |x| if x < c(0.0) { c(0.0) } else { x },
        derivative: |x, _y| x.is(Compare::Gt, &x.c(0.0)).as_ones(x).mask(),
        domain: 0.5..3.0,
    }
}

/// `1 - x^2`, factored so that it does not cancel near the ends of `[-1, 1]`.
fn one_minus_square<T: BaseTensor>(x: &Val<T>) -> Val<T> {
    (1.0 - x) * (1.0 + x)
}
