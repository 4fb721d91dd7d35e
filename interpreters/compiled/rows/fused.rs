//! Fused forms: what a few rows compute together, in one pass.
//!
//! Law: a form is the composition of rows that its documentation states, but for the rounding of what lies between: where the
//! machine has a fused multiply-add, products are not rounded before they are added.

#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use super::Real;
use super::isa::{Isa, Kernel, Machine, dispatch};
use super::loops::{Arg, Map, Triple, Zip, each, pairs, triples};
use crate::ops::Unary;

/// Declares forms of one, two or three floats: types by whose names the loops are compiled.
macro_rules! forms {
    ($($Form:ident: $Trait:ident<$E:ident $(, $F:ident)*>($($x:ident),*), $M:ident => $value:expr;)*) => { $(
        #[derive(Clone, Copy)]
        struct $Form;
        impl<$E: Real> $Trait<$E $(, $F)*> for $Form {
            #[inline(always)]
            fn at<$M: Machine>(self, $($x: $E),*) -> $E {
                $value
            }
        }
    )* };
}

forms! {
    MulAdd: Triple<E, E, E>(x, y, z), M => E::multiply_add::<M>(x, y, z);
    MulSub: Triple<E, E, E>(x, y, z), M => E::multiply_add::<M>(x, y, -z);
    SubMul: Triple<E, E, E>(x, y, z), M => E::multiply_add::<M>(-x, y, z);
    Add3: Triple<E, E, E>(x, y, z), M => x + y + z;
    Mul3: Triple<E, E, E>(x, y, z), M => x * y * z;
    MulOneMinus: Zip<E, E, E>(x, y), M => x * (E::ONE - y);
    OneMinusSquare: Map<E, E>(x), M => E::multiply_add::<M>(-x, x, E::ONE);
    ExpMinus: Zip<E, E, E>(x, y), M => E::exponential::<M>(x - y);
}

/// `x y + z`.
pub(crate) fn mul_add<E: Real>(isa: Isa, x: &[E], y: Arg<'_, E>, z: Arg<'_, E>, out: &mut [E]) {
    triples(isa, MulAdd, x, y, z, out);
}

/// `x y - z`.
pub(crate) fn mul_sub<E: Real>(isa: Isa, x: &[E], y: Arg<'_, E>, z: Arg<'_, E>, out: &mut [E]) {
    triples(isa, MulSub, x, y, z, out);
}

/// `z - x y`.
pub(crate) fn sub_mul<E: Real>(isa: Isa, x: &[E], y: Arg<'_, E>, z: Arg<'_, E>, out: &mut [E]) {
    triples(isa, SubMul, x, y, z, out);
}

/// `(x + y) + z`.
pub(crate) fn add3<E: Real>(isa: Isa, x: &[E], y: Arg<'_, E>, z: Arg<'_, E>, out: &mut [E]) {
    triples(isa, Add3, x, y, z, out);
}

/// `(x y) z`.
pub(crate) fn mul3<E: Real>(isa: Isa, x: &[E], y: Arg<'_, E>, z: Arg<'_, E>, out: &mut [E]) {
    triples(isa, Mul3, x, y, z, out);
}

/// `x (1 - y)`.
pub(crate) fn mul_one_minus<E: Real>(isa: Isa, x: Arg<'_, E>, y: &[E], out: &mut [E]) {
    pairs(isa, MulOneMinus, x, Arg::Slice(y), out);
}

/// `1 - x^2`.
pub(crate) fn one_minus_square<E: Real>(isa: Isa, x: &[E], out: &mut [E]) {
    each(isa, OneMinusSquare, x, out);
}

/// `e^(x - y)`.
pub(crate) fn exp_minus<E: Real>(isa: Isa, x: &[E], y: Arg<'_, E>, out: &mut [E]) {
    pairs(isa, ExpMinus, Arg::Slice(x), y, out);
}

/// A polynomial with these coefficients, from the constant term upwards.
#[derive(Clone, Copy)]
struct Quadratic<E>([E; 3]);

impl<E: Real> Map<E, E> for Quadratic<E> {
    #[inline(always)]
    fn at<M: Machine>(self, x: E) -> E {
        let [a, b, c] = self.0;
        E::multiply_add::<M>(E::multiply_add::<M>(c, x, b), x, a)
    }
}

/// `c[0] + c[1] x + c[2] x^2`, by Horner's rule.
pub(crate) fn poly2<E: Real>(isa: Isa, c: [E; 3], x: &[E], out: &mut [E]) {
    each(isa, Quadratic(c), x, out);
}

struct Combination<'a, E, const K: usize> {
    terms: [&'a [E]; K],
    weights: [E; K],
    constant: E,
    out: &'a mut [E],
}

impl<E: Real, const K: usize> Kernel for Combination<'_, E, K> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Combination { terms, weights, constant, out } = self;
        let n = out.len();
        // With the lengths checked here, the loop checks no index.
        assert!(terms.iter().all(|term| term.len() == n), "an operand has the length of the output");
        for i in 0..n {
            let mut sum = constant;
            for k in 0..K {
                sum = E::multiply_add::<M>(terms[k][i], weights[k], sum);
            }
            out[i] = sum;
        }
    }
}

/// The most terms of a linear combination.
pub(crate) const MAX_TERMS: usize = 8;

/// `constant + sum_k weights[k] terms[k]`, for one to eight terms, added from the first to the last.
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
    by_length!(1 2 3 4 5 6 7 8);
}

struct SineCosine<'a, E> {
    x: &'a [E],
    sine: &'a mut [E],
    cosine: &'a mut [E],
}

impl<E: Real> Kernel for SineCosine<'_, E> {
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
        (*sine, *cosine) = (Unary::Sin.apply(*x), Unary::Cos.apply(*x));
    }
}
