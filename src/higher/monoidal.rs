//! First-order programs as morphisms of a symmetric monoidal category with copies.
//!
//! This is SSA as a category ("dP terminology and notation guide", section II). Where [`Ccc`](super::Ccc) has
//! variables, this language has wires: values are copied, deleted and swapped explicitly, so that a transformation
//! defines the meaning of these operations, too. Laws: `id`, `then`, `beside` and `swap` are a symmetric monoidal
//! category; `copy` and `delete` are a comonoid; `add` and `zero` are a monoid. Control flow is a second product, of
//! cases (section II.B): `either` is functorial, `split` and `unsplit` are inverse, and `join` after `either f f` is
//! `f` after `join`.

use super::object::{Mask, Obj, Prod, Real, Sum, Unit};
use super::primitive::Primitive;
use crate::ops::{Binary, Compare, Unary};

/// A symmetric monoidal category with copies, sums and first-order operations.
///
/// A wire carries any type of the language without functions: an array, a pair, or a case. Operations are given once,
/// as a [`Primitive`]:
///
/// ```
/// use polygrad::higher::primitive::{MatVec, Pointwise};
/// use polygrad::higher::{Matrix, Monoidal, Prod, Vector};
/// use polygrad::interpreters::higher::optic::Staged;
/// use polygrad::interpreters::higher::{ReverseOptic, Run, Wires};
/// use polygrad::ops::Unary;
/// use polygrad::{Array, tensor};
/// /// `(w, x) -> tanh (w x)`.
/// fn layer<C: Monoidal>() -> C::Hom<Prod<Matrix, Vector>, Vector> {
///     C::then(C::primitive(MatVec), C::primitive(Pointwise::<1>(Unary::Tanh)))
/// }
/// type First = ReverseOptic<Wires<Run<Array>>>;
/// let [forward, back] = &First::stages(&layer::<First>())[..] else { panic!("two programs") };
/// let y = forward.take::<Prod<Matrix, Vector>, Vector>(&(tensor([[0.0, 0.0], [1.0, 2.0]]), tensor([2.0, -1.0])));
/// assert_eq!(y, tensor([0.0, 0.0]));
/// let (of_w, of_x) = back.take::<Vector, Prod<Matrix, Vector>>(&tensor([1.0, 10.0]));
/// assert_eq!((of_w, of_x), (tensor([[2.0, -1.0], [20.0, -10.0]]), tensor([10.0, 20.0])));
/// ```
pub trait Monoidal: 'static {
    /// Morphisms.
    type Hom<A: Obj, B: Obj>: Clone + 'static;

    /// The identity.
    fn id<A: Obj>() -> Self::Hom<A, A>;
    /// `f`, then `g`.
    fn then<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, C>) -> Self::Hom<A, C>;
    /// `f` on the first component of a pair, `g` on the second.
    fn beside<A: Obj, B: Obj, C: Obj, D: Obj>(
        f: Self::Hom<A, B>,
        g: Self::Hom<C, D>,
    ) -> Self::Hom<Prod<A, C>, Prod<B, D>>;
    /// Exchanges the components of a pair.
    fn swap<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, Prod<B, A>>;
    /// Reassociates nested pairs to the right.
    fn assoc<A: Obj, B: Obj, C: Obj>() -> Self::Hom<Prod<Prod<A, B>, C>, Prod<A, Prod<B, C>>>;
    /// Reassociates nested pairs to the left.
    fn unassoc<A: Obj, B: Obj, C: Obj>() -> Self::Hom<Prod<A, Prod<B, C>>, Prod<Prod<A, B>, C>>;
    /// Adds a unit as first component.
    fn intro<A: Obj>() -> Self::Hom<A, Prod<Unit, A>>;
    /// Removes a unit that is the first component.
    fn elim<A: Obj>() -> Self::Hom<Prod<Unit, A>, A>;
    /// Copies a value.
    fn copy<A: Obj>() -> Self::Hom<A, Prod<A, A>>;
    /// Deletes a value.
    fn delete<A: Obj>() -> Self::Hom<A, Unit>;
    /// The sum of two values.
    fn add<A: Obj>() -> Self::Hom<Prod<A, A>, A>;
    /// Zero.
    fn zero<A: Obj>() -> Self::Hom<Unit, A>;
    /// A first-order operation on arrays, or on pairs of them, of any rank and shape.
    fn primitive<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod>;
    /// A constant number.
    fn constant(x: f64) -> Self::Hom<Unit, Real>;
    /// A function of a number.
    fn unary(op: Unary) -> Self::Hom<Real, Real>;
    /// A function of two numbers.
    fn binary(op: Binary) -> Self::Hom<Prod<Real, Real>, Real>;
    /// The comparison of two numbers.
    fn compare(op: Compare) -> Self::Hom<Prod<Real, Real>, Mask>;
    /// The value as the left case if the mask holds, otherwise as the right case ("dP guide", equation 7).
    fn branch<A: Obj>() -> Self::Hom<Prod<A, Mask>, Sum<A, A>>;
    /// One program for each case.
    fn either<A: Obj, B: Obj, C: Obj, D: Obj>(
        f: Self::Hom<A, B>,
        g: Self::Hom<C, D>,
    ) -> Self::Hom<Sum<A, C>, Sum<B, D>>;
    /// The value of either case (equation 6).
    fn join<A: Obj>() -> Self::Hom<Sum<A, A>, A>;
    /// A sum of pairs as a pair of sums (equation 8).
    fn split<A: Obj, B: Obj, C: Obj, D: Obj>() -> Self::Hom<Sum<Prod<A, B>, Prod<C, D>>, Prod<Sum<A, C>, Sum<B, D>>>;
    /// A pair of sums of the same case as a sum of pairs: the inverse of `split`.
    fn unsplit<A: Obj, B: Obj, C: Obj, D: Obj>() -> Self::Hom<Prod<Sum<A, C>, Sum<B, D>>, Sum<Prod<A, B>, Prod<C, D>>>;
}
