//! Superinstruction kernels: several rows of the tables in one pass over a slice.
//!
//! Law: a form has the bits of the rows that it stands for, applied one after the other: products are rounded before
//! they are added, on every machine. A pass over a tile is bound by its reads and writes, so a fused multiply-add would
//! save no time; and without it, `x y - z w` is 0 if the rounded products are equal.

#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use polygrad_math::rows;

use super::Real;
use super::loops::{Arg, Triple, Zip, pairs, triples};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};
use crate::ops::Binary;

/// Declares forms of two to four floats: the variants of [`Form`], and a type for each, so that each has its own loop.
macro_rules! forms {
    (
        pairs: { $($(#[doc = $pdoc:literal])* $P:ident $pname:literal: |$px:ident, $py:ident| $pvalue:expr;)* }
        triples: { $($(#[doc = $tdoc:literal])* $T:ident $tname:literal: |$tx:ident, $ty:ident, $tz:ident| $tvalue:expr;)* }
        quads: { $($(#[doc = $qdoc:literal])* $Q:ident $qname:literal: |$qx:ident, $qy:ident, $qz:ident, $qw:ident| $qvalue:expr;)* }
    ) => {
        /// The function of two to four floats that a superinstruction computes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Form {
            $( $(#[doc = $pdoc])* $P, )*
            $( $(#[doc = $tdoc])* $T, )*
            $( $(#[doc = $qdoc])* $Q, )*
        }

        impl Form {
            /// Every form.
            #[cfg(test)]
            pub(crate) const ALL: &'static [Form] = &[$( Form::$P, )* $( Form::$T, )* $( Form::$Q, )*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $( Form::$P => $pname, )*
                    $( Form::$T => $tname, )*
                    $( Form::$Q => $qname, )*
                }
            }

            /// The number of first operands that must be slices; the others may be scalars.
            pub(crate) fn slices(self) -> usize {
                match self {
                    $( Form::$P )|* | $( Form::$T )|* => 1,
                    $( Form::$Q )|* => 4,
                }
            }
        }

        $(
            #[derive(Clone, Copy)]
            struct $P;
            impl<E: Real> Zip<E, E, E> for $P {
                #[inline(always)]
                fn at<M: Machine>(self, $px: E, $py: E) -> E {
                    $pvalue
                }
            }
        )*
        $(
            #[derive(Clone, Copy)]
            struct $T;
            impl<E: Real> Triple<E, E, E> for $T {
                #[inline(always)]
                fn at<M: Machine>(self, $tx: E, $ty: E, $tz: E) -> E {
                    $tvalue
                }
            }
        )*
        $(
            #[derive(Clone, Copy)]
            struct $Q;
            impl<E: Real> Quad<E> for $Q {
                #[inline(always)]
                fn at(self, $qx: E, $qy: E, $qz: E, $qw: E) -> E {
                    $qvalue
                }
            }
        )*

        /// Computes a form at each position; its first operands are [slices](Form::slices).
        ///
        /// # Panics
        /// When one of these is a scalar, or an operand is shorter than the output.
        pub(crate) fn form<E: Real>(isa: Isa, form: Form, args: &[Arg<'_, E>], out: &mut [E]) {
            let slice = |k: usize| match args[k] {
                Arg::Slice(x) => x,
                Arg::Scalar(_) => panic!("operand {k} of {} is a slice", form.name()),
            };
            match form {
                $( Form::$P => pairs(isa, $P, Arg::Slice(slice(0)), args[1], out), )*
                $( Form::$T => triples(isa, $T, slice(0), &args[1], &args[2], out), )*
                $( Form::$Q => {
                    dispatch(isa, Quads { f: $Q, args: [slice(0), slice(1), slice(2), slice(3)], out });
                } )*
            }
        }
    };
}

/// A function of four numbers.
trait Quad<E>: Copy {
    fn at(self, x: E, y: E, z: E, w: E) -> E;
}

struct Quads<'a, F, E> {
    f: F,
    args: [&'a [E]; 4],
    out: &'a mut [E],
}

impl<E: Copy, F: Quad<E>> Kernel for Quads<'_, F, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Quads { f, args: [x, y, z, w], out } = self;
        let n = out.len();
        // With lengths that are checked here, the loop has no bounds checks.
        let (x, y, z, w) = (&x[..n], &y[..n], &z[..n], &w[..n]);
        for i in 0..n {
            out[i] = f.at(x[i], y[i], z[i], w[i]);
        }
    }
}

forms! {
    pairs: {
        /// `(x - y)^2`.
        DifferenceSquare "difference_square": |x, y| (x - y) * (x - y);
        /// `e^(x - y)`.
        DifferenceExp "difference_exp": |x, y| E::exponential::<M>(x - y);
        /// `max(|x|, |y|)`.
        MaxAbs "max_abs": |x, y| Binary::Max.apply(x.abs(), y.abs());
    }
    triples: {
        /// `x y + z`.
        MulAdd "mul_add": |x, y, z| x * y + z;
        /// `x y - z`.
        MulSub "mul_sub": |x, y, z| x * y - z;
        /// `z - x y`.
        SubMul "sub_mul": |x, y, z| z - x * y;
        /// `(x y) z`.
        MulMul "mul_mul": |x, y, z| x * y * z;
        /// `(x + y) z`.
        SumMul "sum_mul": |x, y, z| (x + y) * z;
        /// `(x - y) z`.
        DifferenceMul "difference_mul": |x, y, z| (x - y) * z;
        /// `(y - x) z`.
        RestMul "rest_mul": |x, y, z| (y - x) * z;
        /// `(x + y) + z`.
        Add3 "add3": |x, y, z| x + y + z;
        /// `(x / y) / z`.
        DivDiv "div_div": |x, y, z| x / y / z;
    }
    quads: {
        /// `x y + z w`.
        TwoProductsSum "two_products_sum": |x, y, z, w| x * y + z * w;
        /// `x y - z w`.
        TwoProductsDifference "two_products_difference": |x, y, z, w| x * y - z * w;
    }
}

struct Combination<'a, E, const K: usize> {
    terms: [&'a [E]; K],
    weights: [E; K],
    constant: E,
    out: &'a mut [E],
}

/// The loop for each number of terms. Each term is a separate variable: for the elements of an array, the compiler
/// does not infer that all slices have the length of the output.
macro_rules! combinations {
    ($($K:literal: $($term:ident $k:literal)*;)*) => { $(
        impl<E: Real> Kernel for Combination<'_, E, $K> {
            type Output = ();
            #[inline(always)]
            fn run<M: Machine>(self) {
                let Combination { terms: [$($term),*], weights, constant, out } = self;
                let n = out.len();
                $( let $term = &$term[..n]; )*
                for i in 0..n {
                    let mut sum = constant;
                    $( sum = sum + $term[i] * weights[$k]; )*
                    out[i] = sum;
                }
            }
        }
    )* };
}

combinations! {
    1: a 0;
    2: a 0 b 1;
    3: a 0 b 1 c 2;
    4: a 0 b 1 c 2 d 3;
    5: a 0 b 1 c 2 d 3 e 4;
    6: a 0 b 1 c 2 d 3 e 4 f 5;
    7: a 0 b 1 c 2 d 3 e 4 f 5 g 6;
    8: a 0 b 1 c 2 d 3 e 4 f 5 g 6 h 7;
}

/// The largest number of terms of a linear combination.
pub(crate) const MAX_TERMS: usize = 8;

/// `((constant + weights[0] terms[0]) + weights[1] terms[1]) + ..`, for one to eight terms.
pub(crate) fn linear_combination<E: Real>(isa: Isa, terms: &[&[E]], weights: &[E], constant: Option<E>, out: &mut [E]) {
    // Adding -0 changes no number, not even the sign of a zero.
    let constant = constant.unwrap_or(-E::ZERO);
    macro_rules! by_length {
        ($($K:literal)*) => {
            match terms.len() {
                $( $K => {
                    let terms = std::array::from_fn(|k| terms[k]);
                    let weights = std::array::from_fn(|k| weights[k]);
                    dispatch(isa, Combination::<E, $K> { terms, weights, constant, out });
                } )*
                k => panic!("a combination has 1 to {MAX_TERMS} terms, not {k}"),
            }
        };
    }
    assert_eq!(terms.len(), weights.len(), "a term has a weight");
    assert!(terms.iter().all(|term| term.len() == out.len()), "an operand has the length of the output");
    by_length!(1 2 3 4 5 6 7 8);
}

struct ComplexProduct<'a, E> {
    args: [&'a [E]; 4],
    difference: &'a mut [E],
    sum: &'a mut [E],
}

impl<E: Real> Kernel for ComplexProduct<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let ComplexProduct { args: [x, y, z, w], difference, sum } = self;
        let n = difference.len();
        let (x, y, z, w, sum) = (&x[..n], &y[..n], &z[..n], &w[..n], &mut sum[..n]);
        for i in 0..n {
            let (x, y, z, w) = (x[i], y[i], z[i], w[i]);
            difference[i] = x * y - z * w;
            sum[i] = x * w + z * y;
        }
    }
}

/// `x y - z w` and `x w + z y`: the parts of the product of `x + i z` and `y + i w`, which read their operands once.
pub(crate) fn complex_product<E: Real>(isa: Isa, args: [&[E]; 4], difference: &mut [E], sum: &mut [E]) {
    let fits = args.iter().all(|arg| arg.len() == difference.len());
    assert!(fits && sum.len() == difference.len(), "an operand has the length of both outputs");
    dispatch(isa, ComplexProduct { args, difference, sum });
}

struct SineCosine<'a, E> {
    x: &'a [E],
    sine: &'a mut [E],
    cosine: &'a mut [E],
}

impl<E: Real> Kernel for SineCosine<'_, E> {
    const WIDE: bool = true;
    /// Whether all angles are small.
    type Output = bool;
    #[inline(always)]
    fn run<M: Machine>(self) -> bool {
        let mut small = true;
        let SineCosine { x, sine, cosine } = self;
        let n = x.len();
        let (sine, cosine) = (&mut sine[..n], &mut cosine[..n]);
        for i in 0..n {
            (sine[i], cosine[i]) = E::sine_cosine::<M>(x[i]);
            small &= E::is_small_angle(x[i]);
        }
        small
    }
}

/// `sin x` and `cos x`.
pub(crate) fn sin_cos<E: Real>(isa: Isa, x: &[E], sine: &mut [E], cosine: &mut [E]) {
    assert!(x.len() == sine.len() && x.len() == cosine.len(), "the operand has the length of both outputs");
    if dispatch(isa, SineCosine { x, sine, cosine }) {
        return;
    }
    for ((x, sine), cosine) in x.iter().zip(sine).zip(cosine).filter(|((x, _), _)| !E::is_small_angle(**x)) {
        (*sine, *cosine) = (E::literal(rows::sin(x.wide())), E::literal(rows::cos(x.wide())));
    }
}
