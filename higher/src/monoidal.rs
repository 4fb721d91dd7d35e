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
    /// Example: [`Monoidal::beside`].
    fn id<A: Obj>() -> Self::Hom<A, A>;

    /// `f`, then `g`.
    ///
    /// Example: [`Monoidal::beside`].
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
    /// let both = W::stages(&W::beside(W::unary(Unary::Neg), W::then(W::id(), W::unary(Unary::Sqrt))));
    /// assert_eq!(both[0].take::<Two, Two>(&(tensor(1.0), tensor(9.0))), (tensor(-1.0), tensor(3.0)));
    /// let swap = W::stages(&W::swap::<Real, Real>());
    /// assert_eq!(swap[0].take::<Two, Two>(&(tensor(1.0), tensor(2.0))), (tensor(2.0), tensor(1.0)));
    /// let assoc = W::stages(&W::assoc::<Real, Real, Real>());
    /// let (left, right) = (((tensor(1.0), tensor(2.0)), tensor(3.0)), (tensor(1.0), (tensor(2.0), tensor(3.0))));
    /// assert_eq!(assoc[0].take::<Prod<Two, Real>, Prod<Real, Two>>(&left), right);
    /// let same = W::stages(&W::then(W::then(W::intro(), W::elim()), W::unassoc::<Real, Real, Real>()));
    /// assert_eq!(same[0].take::<Prod<Real, Two>, Prod<Two, Real>>(&right), left);
    /// ```
    fn beside<A: Obj, B: Obj, C: Obj, D: Obj>(
        f: Self::Hom<A, B>,
        g: Self::Hom<C, D>,
    ) -> Self::Hom<Prod<A, C>, Prod<B, D>>;

    /// Exchanges the components of a pair: `(a, b) -> (b, a)`.
    ///
    /// Example: [`Monoidal::beside`].
    fn swap<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, Prod<B, A>>;

    /// Reassociates nested pairs to the right: `((a, b), c) -> (a, (b, c))`.
    ///
    /// Example: [`Monoidal::beside`].
    fn assoc<A: Obj, B: Obj, C: Obj>() -> Self::Hom<Prod<Prod<A, B>, C>, Prod<A, Prod<B, C>>>;

    /// Reassociates nested pairs to the left: `(a, (b, c)) -> ((a, b), c)`.
    ///
    /// Example: [`Monoidal::beside`].
    fn unassoc<A: Obj, B: Obj, C: Obj>() -> Self::Hom<Prod<A, Prod<B, C>>, Prod<Prod<A, B>, C>>;

    /// Adds a unit as first component: `a -> ((), a)`.
    ///
    /// Example: [`Monoidal::beside`].
    fn intro<A: Obj>() -> Self::Hom<A, Prod<Unit, A>>;

    /// Removes a unit that is the first component: `((), a) -> a`.
    ///
    /// Example: [`Monoidal::beside`].
    fn elim<A: Obj>() -> Self::Hom<Prod<Unit, A>, A>;

    /// Copies a value: `a -> (a, a)`.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::{Monoidal, Prod, Real, Unit};
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// type Two = Prod<Real, Real>;
    /// let copy = First::stages(&First::copy::<Real>());
    /// assert_eq!(copy[0].take::<Real, Two>(&tensor(3.0)), (tensor(3.0), tensor(3.0)));
    /// // The way back of a copy is an addition.
    /// assert_eq!(copy[1].take::<Two, Real>(&(tensor(1.0), tensor(10.0))), tensor(11.0));
    /// let add = First::stages(&First::add::<Real>());
    /// assert_eq!(add[0].take::<Two, Real>(&(tensor(1.0), tensor(2.0))), tensor(3.0));
    /// // The way back of an addition is a copy.
    /// assert_eq!(add[1].take::<Real, Two>(&tensor(5.0)), (tensor(5.0), tensor(5.0)));
    /// // The way back of a deletion is a zero.
    /// let delete = First::stages(&First::delete::<Real>());
    /// delete[0].take::<Real, Unit>(&tensor(3.0));
    /// assert_eq!(delete[1].take::<Unit, Real>(&()), tensor(0.0));
    /// assert_eq!(First::stages(&First::zero::<Real>())[0].take::<Unit, Real>(&()), tensor(0.0));
    /// ```
    fn copy<A: Obj>() -> Self::Hom<A, Prod<A, A>>;

    /// Deletes a value: `a -> ()`.
    ///
    /// Example: [`Monoidal::copy`].
    fn delete<A: Obj>() -> Self::Hom<A, Unit>;

    /// The sum of two values of one type: `(a, b) -> a + b`, component by component.
    ///
    /// Example: [`Monoidal::copy`].
    fn add<A: Obj>() -> Self::Hom<Prod<A, A>, A>;

    /// The zero of a type.
    ///
    /// Example: [`Monoidal::copy`].
    fn zero<A: Obj>() -> Self::Hom<Unit, A>;

    /// A first-order operation on arrays, or on pairs of them, of any rank and shape.
    ///
    /// Example: [`Monoidal::binary`].
    fn primitive<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod>;

    /// A constant number.
    ///
    /// Example: [`Monoidal::binary`].
    fn constant(x: f64) -> Self::Hom<Unit, Real>;

    /// A function of a number.
    ///
    /// Example: [`Monoidal::binary`].
    fn unary(op: Unary) -> Self::Hom<Real, Real>;

    /// A function of two numbers.
    ///
    /// ```
    /// use polygrad::ops::{Binary, Compare, Unary};
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::Staged;
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::primitive::SumAll;
    /// use polygrad_higher::{Mask, Monoidal, Prod, Real, Unit, Vector};
    /// type First = ReverseOptic<Wires<Run<Array>>>;
    /// type Two = Prod<Real, Real>;
    /// let product = First::stages(&First::binary(Binary::Mul));
    /// assert_eq!(product[0].take::<Two, Real>(&(tensor(2.0), tensor(5.0))), tensor(10.0));
    /// assert_eq!(product[1].take::<Real, Two>(&tensor(1.0)), (tensor(5.0), tensor(2.0)));
    /// let sine = First::stages(&First::unary(Unary::Sin));
    /// assert_eq!(sine[0].take::<Real, Real>(&tensor(0.5)), tensor(0.5_f64.sin()));
    /// assert_eq!(sine[1].take::<Real, Real>(&tensor(1.0)), tensor(0.5_f64.cos()));
    /// let total = First::stages(&First::primitive(SumAll::<1>));
    /// assert_eq!(total[0].take::<Vector, Real>(&tensor([1.0, 2.0])), tensor(3.0));
    /// assert_eq!(total[1].take::<Real, Vector>(&tensor(10.0)), tensor([10.0, 10.0]));
    /// let less = First::stages(&First::compare(Compare::Lt));
    /// assert_eq!(less[0].take::<Two, Mask>(&(tensor(1.0), tensor(2.0))), tensor(true));
    /// assert_eq!(First::stages(&First::constant(2.5))[0].take::<Unit, Real>(&()), tensor(2.5));
    /// ```
    fn binary(op: Binary) -> Self::Hom<Prod<Real, Real>, Real>;

    /// The comparison of two numbers: whether it holds.
    ///
    /// Example: [`Monoidal::binary`].
    fn compare(op: Compare) -> Self::Hom<Prod<Real, Real>, Mask>;

    /// The value as the left case if the mask holds, otherwise as the right case ("dP guide", equation 7).
    ///
    /// Example: [`Monoidal::either`].
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
    /// Example: [`Monoidal::either`].
    fn join<A: Obj>() -> Self::Hom<Sum<A, A>, A>;

    /// A sum of pairs as a pair of sums (equation 8).
    ///
    /// Example: [`Monoidal::unsplit`].
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
