//! First-order programs as morphisms of a symmetric monoidal category with copies. This is SSA as a category ("dP
//! terminology and notation guide", section II).
//!
//! Where [`Ccc`](super::Ccc) has variables, this language has wires: values are copied, deleted and swapped explicitly,
//! so that a transformation says what that means. Laws: `id`, `then`, `beside` and `swap` are a symmetric monoidal
//! category; `copy` and `delete` are a comonoid; `add` and `zero` are a monoid. Control flow is a second product, of cases
//! (section II.B): `either` is functorial, `split` and `unsplit` are inverse, and `join` after `either f f` is `f` after
//! `join`.

use super::object::{Mask, Obj, Prod, Real, Sum, Unit};
use crate::ops::{Binary, Compare, Unary};

/// A symmetric monoidal category with copies, sums and operations on numbers.
pub trait Monoidal: 'static {
    /// Morphisms.
    type Hom<A: Obj, B: Obj>: Clone + 'static;

    /// The wire.
    fn id<A: Obj>() -> Self::Hom<A, A>;
    /// `f`, then `g`.
    fn then<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, C>) -> Self::Hom<A, C>;
    /// Both, on the parts of a pair.
    fn beside<A: Obj, B: Obj, C: Obj, D: Obj>(
        f: Self::Hom<A, B>,
        g: Self::Hom<C, D>,
    ) -> Self::Hom<Prod<A, C>, Prod<B, D>>;
    /// The parts of a pair exchanged.
    fn swap<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, Prod<B, A>>;
    /// Brackets to the right.
    fn assoc<A: Obj, B: Obj, C: Obj>() -> Self::Hom<Prod<Prod<A, B>, C>, Prod<A, Prod<B, C>>>;
    /// Brackets to the left.
    fn unassoc<A: Obj, B: Obj, C: Obj>() -> Self::Hom<Prod<A, Prod<B, C>>, Prod<Prod<A, B>, C>>;
    /// A unit before the value.
    fn intro<A: Obj>() -> Self::Hom<A, Prod<Unit, A>>;
    /// No unit before the value.
    fn elim<A: Obj>() -> Self::Hom<Prod<Unit, A>, A>;
    /// Two copies.
    fn copy<A: Obj>() -> Self::Hom<A, Prod<A, A>>;
    /// Nothing.
    fn delete<A: Obj>() -> Self::Hom<A, Unit>;
    /// The sum.
    fn add<A: Obj>() -> Self::Hom<Prod<A, A>, A>;
    /// Zero.
    fn zero<A: Obj>() -> Self::Hom<Unit, A>;
    /// A known number.
    fn constant(x: f64) -> Self::Hom<Unit, Real>;
    /// A function of a number.
    fn unary(op: Unary) -> Self::Hom<Real, Real>;
    /// A function of two numbers.
    fn binary(op: Binary) -> Self::Hom<Prod<Real, Real>, Real>;
    /// Whether two numbers compare so.
    fn compare(op: Compare) -> Self::Hom<Prod<Real, Real>, Mask>;
    /// The value as the left case where the mask holds, as the right one elsewhere ("dP guide", equation 7).
    fn branch<A: Obj>() -> Self::Hom<Prod<A, Mask>, Sum<A, A>>;
    /// One program for each case.
    fn either<A: Obj, B: Obj, C: Obj, D: Obj>(
        f: Self::Hom<A, B>,
        g: Self::Hom<C, D>,
    ) -> Self::Hom<Sum<A, C>, Sum<B, D>>;
    /// The value, whichever case it is (equation 6).
    fn join<A: Obj>() -> Self::Hom<Sum<A, A>, A>;
    /// Cases of pairs as pairs of cases (equation 8).
    fn split<A: Obj, B: Obj, C: Obj, D: Obj>() -> Self::Hom<Sum<Prod<A, B>, Prod<C, D>>, Prod<Sum<A, C>, Sum<B, D>>>;
    /// Pairs of one case each, which is the same, as a case of pairs.
    fn unsplit<A: Obj, B: Obj, C: Obj, D: Obj>() -> Self::Hom<Prod<Sum<A, C>, Sum<B, D>>, Sum<Prod<A, B>, Prod<C, D>>>;
}
