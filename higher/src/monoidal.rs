//! First-order programs as morphisms of a symmetric monoidal category with copies.
//!
//! This is SSA as a category ("dP terminology and notation guide", section II). Where [`Ccc`](super::Ccc) has
//! variables, this language has wires: values are copied, deleted and swapped explicitly, so that a transformation
//! defines the meaning of these operations, too. Laws: `id`, `then`, `beside` and `swap` are a symmetric monoidal
//! category; `copy` and `delete` are a comonoid; `add` and `zero` are a monoid. Control flow is a second product, of
//! cases (section II.B): `either` is functorial, `split` and `unsplit` are inverse, and `join` after `either f f` is
//! `f` after `join`.

use polygrad::ops::{Binary, Compare, Unary};

use super::object::{Mask, Obj, Prod, Real, Sum, Unit};
use super::primitive::Primitive;

/// A symmetric monoidal category with copies, sums and first-order operations.
///
/// A wire carries any type of the language without functions: an array, a pair, or a case. Operations are given once,
/// as a [`Primitive`]:
///
/// ```
/// use polygrad::ops::Unary;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::optic::Staged;
/// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
/// use polygrad_higher::primitive::{MatVec, Pointwise};
/// use polygrad_higher::{Matrix, Monoidal, Prod, Vector};
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
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Real};
    /// type W = Wires<Run<Array>>;
    /// let stages = W::stages(&W::id::<Real>());
    /// assert_eq!(stages[0].take::<Real, Real>(&tensor(3.0)), tensor(3.0));
    /// ```
    fn id<A: Obj>() -> Self::Hom<A, A>;

    /// `f`, then `g`.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Real};
    /// /// `sin(-x)`.
    /// fn program<C: Monoidal>() -> C::Hom<Real, Real> {
    ///     C::then(C::unary(Unary::Neg), C::unary(Unary::Sin))
    /// }
    /// type W = Wires<Run<Array>>;
    /// assert_eq!(W::stages(&program::<W>())[0].take::<Real, Real>(&tensor(0.5)), tensor(-0.5_f64.sin()));
    /// ```
    fn then<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, C>) -> Self::Hom<A, C>;

    /// `f` on the first component of a pair, `g` on the second: `(a, c) -> (f a, g c)`.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real};
    /// type W = Wires<Run<Array>>;
    /// type Two = Prod<Real, Real>;
    /// let both = W::beside(W::unary(Unary::Neg), W::unary(Unary::Sqrt));
    /// assert_eq!(W::stages(&both)[0].take::<Two, Two>(&(tensor(1.0), tensor(9.0))), (tensor(-1.0), tensor(3.0)));
    /// ```
    fn beside<A: Obj, B: Obj, C: Obj, D: Obj>(
        f: Self::Hom<A, B>,
        g: Self::Hom<C, D>,
    ) -> Self::Hom<Prod<A, C>, Prod<B, D>>;

    /// Exchanges the components of a pair: `(a, b) -> (b, a)`.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real, Vector};
    /// type W = Wires<Run<Array>>;
    /// let stages = W::stages(&W::swap::<Real, Vector>());
    /// let swapped = stages[0].take::<Prod<Real, Vector>, Prod<Vector, Real>>(&(tensor(1.0), tensor([2.0])));
    /// assert_eq!(swapped, (tensor([2.0]), tensor(1.0)));
    /// ```
    fn swap<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, Prod<B, A>>;

    /// Reassociates nested pairs to the right: `((a, b), c) -> (a, (b, c))`.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real};
    /// type W = Wires<Run<Array>>;
    /// type Left = Prod<Prod<Real, Real>, Real>;
    /// type Right = Prod<Real, Prod<Real, Real>>;
    /// let stages = W::stages(&W::assoc::<Real, Real, Real>());
    /// let x = ((tensor(1.0), tensor(2.0)), tensor(3.0));
    /// assert_eq!(stages[0].take::<Left, Right>(&x), (tensor(1.0), (tensor(2.0), tensor(3.0))));
    /// ```
    fn assoc<A: Obj, B: Obj, C: Obj>() -> Self::Hom<Prod<Prod<A, B>, C>, Prod<A, Prod<B, C>>>;

    /// Reassociates nested pairs to the left: `(a, (b, c)) -> ((a, b), c)`.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real};
    /// type W = Wires<Run<Array>>;
    /// type Left = Prod<Prod<Real, Real>, Real>;
    /// type Right = Prod<Real, Prod<Real, Real>>;
    /// let stages = W::stages(&W::unassoc::<Real, Real, Real>());
    /// let x = (tensor(1.0), (tensor(2.0), tensor(3.0)));
    /// assert_eq!(stages[0].take::<Right, Left>(&x), ((tensor(1.0), tensor(2.0)), tensor(3.0)));
    /// ```
    fn unassoc<A: Obj, B: Obj, C: Obj>() -> Self::Hom<Prod<A, Prod<B, C>>, Prod<Prod<A, B>, C>>;

    /// Adds a unit as first component: `a -> ((), a)`.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real, Unit};
    /// type W = Wires<Run<Array>>;
    /// let stages = W::stages(&W::intro::<Real>());
    /// assert_eq!(stages[0].take::<Real, Prod<Unit, Real>>(&tensor(3.0)), ((), tensor(3.0)));
    /// ```
    fn intro<A: Obj>() -> Self::Hom<A, Prod<Unit, A>>;

    /// Removes a unit that is the first component: `((), a) -> a`.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real, Unit};
    /// type W = Wires<Run<Array>>;
    /// let stages = W::stages(&W::elim::<Real>());
    /// assert_eq!(stages[0].take::<Prod<Unit, Real>, Real>(&((), tensor(3.0))), tensor(3.0));
    /// ```
    fn elim<A: Obj>() -> Self::Hom<Prod<Unit, A>, A>;

    /// Copies a value: `a -> (a, a)`.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real};
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// let stages = First::stages(&First::copy::<Real>());
    /// assert_eq!(stages[0].take::<Real, Prod<Real, Real>>(&tensor(3.0)), (tensor(3.0), tensor(3.0)));
    /// // The way back of a copy is an addition.
    /// assert_eq!(stages[1].take::<Prod<Real, Real>, Real>(&(tensor(1.0), tensor(10.0))), tensor(11.0));
    /// ```
    fn copy<A: Obj>() -> Self::Hom<A, Prod<A, A>>;

    /// Deletes a value: `a -> ()`.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::{Monoidal, Real, Unit};
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// let stages = First::stages(&First::delete::<Real>());
    /// stages[0].take::<Real, Unit>(&tensor(3.0));
    /// // The way back of a deletion is a zero.
    /// assert_eq!(stages[1].take::<Unit, Real>(&()), tensor(0.0));
    /// ```
    fn delete<A: Obj>() -> Self::Hom<A, Unit>;

    /// The sum of two values of one type: `(a, b) -> a + b`, component by component.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real};
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// let stages = First::stages(&First::add::<Real>());
    /// assert_eq!(stages[0].take::<Prod<Real, Real>, Real>(&(tensor(1.0), tensor(2.0))), tensor(3.0));
    /// // The way back of an addition is a copy.
    /// assert_eq!(stages[1].take::<Real, Prod<Real, Real>>(&tensor(5.0)), (tensor(5.0), tensor(5.0)));
    /// ```
    fn add<A: Obj>() -> Self::Hom<Prod<A, A>, A>;

    /// The zero of a type.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Real, Unit};
    /// type W = Wires<Run<Array>>;
    /// assert_eq!(W::stages(&W::zero::<Real>())[0].take::<Unit, Real>(&()), tensor(0.0));
    /// ```
    fn zero<A: Obj>() -> Self::Hom<Unit, A>;

    /// A first-order operation on arrays, or on pairs of them, of any rank and shape.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::primitive::SumAll;
    /// use polygrad_higher::{Monoidal, Real, Vector};
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// let stages = First::stages(&First::primitive(SumAll::<1>));
    /// assert_eq!(stages[0].take::<Vector, Real>(&tensor([1.0, 2.0])), tensor(3.0));
    /// assert_eq!(stages[1].take::<Real, Vector>(&tensor(10.0)), tensor([10.0, 10.0]));
    /// ```
    fn primitive<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod>;

    /// A constant number.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Monoidal, Real, Unit};
    /// type W = Wires<Run<Array>>;
    /// assert_eq!(W::stages(&W::constant(2.5))[0].take::<Unit, Real>(&()), tensor(2.5));
    /// ```
    fn constant(x: f64) -> Self::Hom<Unit, Real>;

    /// A function of a number.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::{Monoidal, Real};
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// let stages = First::stages(&First::unary(Unary::Sin));
    /// assert_eq!(stages[0].take::<Real, Real>(&tensor(0.5)), tensor(0.5_f64.sin()));
    /// assert_eq!(stages[1].take::<Real, Real>(&tensor(1.0)), tensor(0.5_f64.cos()));
    /// ```
    fn unary(op: Unary) -> Self::Hom<Real, Real>;

    /// A function of two numbers.
    ///
    /// ```
    /// use polygrad::ops::Binary;
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real};
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// let stages = First::stages(&First::binary(Binary::Mul));
    /// assert_eq!(stages[0].take::<Prod<Real, Real>, Real>(&(tensor(2.0), tensor(5.0))), tensor(10.0));
    /// assert_eq!(stages[1].take::<Real, Prod<Real, Real>>(&tensor(1.0)), (tensor(5.0), tensor(2.0)));
    /// ```
    fn binary(op: Binary) -> Self::Hom<Prod<Real, Real>, Real>;

    /// The comparison of two numbers: whether it holds.
    ///
    /// ```
    /// use polygrad::ops::Compare;
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Mask, Monoidal, Prod, Real};
    /// type W = Wires<Run<Array>>;
    /// let stages = W::stages(&W::compare(Compare::Lt));
    /// assert_eq!(stages[0].take::<Prod<Real, Real>, Mask>(&(tensor(1.0), tensor(2.0))), tensor(true));
    /// ```
    fn compare(op: Compare) -> Self::Hom<Prod<Real, Real>, Mask>;

    /// The value as the left case if the mask holds, otherwise as the right case ("dP guide", equation 7).
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Mask, Monoidal, Prod, Real};
    /// /// `-x` if the mask holds, otherwise `x`.
    /// fn signed<C: Monoidal>() -> C::Hom<Prod<Real, Mask>, Real> {
    ///     C::then(C::then(C::branch(), C::either(C::unary(Unary::Neg), C::id())), C::join())
    /// }
    /// type W = Wires<Run<Array>>;
    /// let of = |mask| W::stages(&signed::<W>())[0].take::<Prod<Real, Mask>, Real>(&(tensor(3.0), tensor(mask)));
    /// assert_eq!((of(true), of(false)), (tensor(-3.0), tensor(3.0)));
    /// ```
    fn branch<A: Obj>() -> Self::Hom<Prod<A, Mask>, Sum<A, A>>;

    /// One program for each case: `f` on the left one, `g` on the right one.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::{Mask, Monoidal, Prod, Real};
    /// /// `sin x` if the mask holds, otherwise `-x`.
    /// fn program<C: Monoidal>() -> C::Hom<Prod<Real, Mask>, Real> {
    ///     let cases = C::either(C::unary(Unary::Sin), C::unary(Unary::Neg));
    ///     C::then(C::then(C::branch(), cases), C::join())
    /// }
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// let stages = First::stages(&program::<First>());
    /// assert_eq!(stages[0].take::<Prod<Real, Mask>, Real>(&(tensor(0.5), tensor(false))), tensor(-0.5));
    /// assert_eq!(stages[1].take::<Real, Prod<Real, Mask>>(&tensor(1.0)).0, tensor(-1.0));
    /// ```
    fn either<A: Obj, B: Obj, C: Obj, D: Obj>(
        f: Self::Hom<A, B>,
        g: Self::Hom<C, D>,
    ) -> Self::Hom<Sum<A, C>, Sum<B, D>>;

    /// The value of either case (equation 6).
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Mask, Monoidal, Prod, Real};
    /// /// Both cases have the same value, so the mask does not matter.
    /// fn program<C: Monoidal>() -> C::Hom<Prod<Real, Mask>, Real> {
    ///     C::then(C::branch(), C::join())
    /// }
    /// type W = Wires<Run<Array>>;
    /// let stages = W::stages(&program::<W>());
    /// assert_eq!(stages[0].take::<Prod<Real, Mask>, Real>(&(tensor(3.0), tensor(true))), tensor(3.0));
    /// ```
    fn join<A: Obj>() -> Self::Hom<Sum<A, A>, A>;

    /// A sum of pairs as a pair of sums (equation 8).
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Mask, Monoidal, Prod, Real};
    /// type Two = Prod<Real, Real>;
    /// /// A pair in a case, as a pair of numbers in cases, which are taken out of their cases.
    /// fn program<C: Monoidal>() -> C::Hom<Prod<Two, Mask>, Two> {
    ///     let split = C::then(C::branch::<Two>(), C::split());
    ///     C::then(split, C::beside(C::join(), C::join()))
    /// }
    /// type W = Wires<Run<Array>>;
    /// let x = ((tensor(1.0), tensor(2.0)), tensor(true));
    /// assert_eq!(W::stages(&program::<W>())[0].take::<Prod<Two, Mask>, Two>(&x), (tensor(1.0), tensor(2.0)));
    /// ```
    fn split<A: Obj, B: Obj, C: Obj, D: Obj>() -> Self::Hom<Sum<Prod<A, B>, Prod<C, D>>, Prod<Sum<A, C>, Sum<B, D>>>;

    /// A pair of sums of the same case as a sum of pairs: the inverse of `split`.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{Run, Wires};
    /// use polygrad_higher::{Mask, Monoidal, Prod, Real};
    /// type Two = Prod<Real, Real>;
    /// /// A pair in a case, as a pair of numbers in cases, and back.
    /// fn program<C: Monoidal>() -> C::Hom<Prod<Two, Mask>, Two> {
    ///     let again = C::then(C::split::<Real, Real, Real, Real>(), C::unsplit());
    ///     C::then(C::then(C::branch(), again), C::join())
    /// }
    /// type W = Wires<Run<Array>>;
    /// let x = ((tensor(1.0), tensor(2.0)), tensor(false));
    /// assert_eq!(W::stages(&program::<W>())[0].take::<Prod<Two, Mask>, Two>(&x), (tensor(1.0), tensor(2.0)));
    /// ```
    fn unsplit<A: Obj, B: Obj, C: Obj, D: Obj>() -> Self::Hom<Prod<Sum<A, C>, Sum<B, D>>, Sum<Prod<A, B>, Prod<C, D>>>;
}
