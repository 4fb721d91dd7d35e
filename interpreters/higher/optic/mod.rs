//! Optics: a way forward that leaves a residual, and a way back that takes it.
//!
//! [`lens`]: optics of the host language. [`ReverseOptic`]: reverse mode as an optic functor on programs of wires
//! ([`Monoidal`]). It is itself a category of this kind, so it nests: a program at `ReverseOptic<ReverseOptic<C>>` is
//! its second-order optic, of four programs ("dP guide", section V.B). Laws: the transform of a composition is the
//! composition of transforms, as optics: their actions are equal, and residuals may differ.

use std::marker::PhantomData;

use super::pull_primitive;
use super::syntax::{Code, Syntax};
use crate::array::Array;
use crate::higher::primitive::{Comparison, Constant, Pointwise, Pointwise2};
use crate::higher::{Mask, Monoidal, Obj, Prod, Real, Sum, Target, Unit};
use crate::ops::{Binary, Compare, Unary};

pub mod lens;
mod stages;
mod wired;

pub use stages::{Stage, Staged, stars, woven};
pub use wired::wired;
use wired::{connected, recorded};

/// The untyped methods of [`Monoidal`], which a category of programs of wires implements. They are compiled once for
/// each order of nesting, while typed methods would be instantiated for every type.
pub trait Wiring: Sized + 'static {
    /// Morphisms.
    type Morphism: Clone + 'static;

    /// The identity; see [`Monoidal`] for all methods.
    fn id() -> Self::Morphism;
    /// `f`, then `g`.
    fn then(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism;
    /// `f` on the first component of a pair, `g` on the second.
    fn beside(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism;
    /// Exchanges the components of a pair.
    fn swap() -> Self::Morphism;
    /// Reassociates nested pairs to the right.
    fn assoc() -> Self::Morphism;
    /// Reassociates nested pairs to the left.
    fn unassoc() -> Self::Morphism;
    /// Adds a unit as first component.
    fn intro() -> Self::Morphism;
    /// Removes a unit that is the first component.
    fn elim() -> Self::Morphism;
    /// Copies a value.
    fn copy() -> Self::Morphism;
    /// Deletes a value.
    fn delete() -> Self::Morphism;
    /// The sum of two values.
    fn add() -> Self::Morphism;
    /// Zero.
    fn zero() -> Self::Morphism;
    /// A constant number.
    fn constant(x: f64) -> Self::Morphism;
    /// A function of a number.
    fn unary(op: Unary) -> Self::Morphism;
    /// A function of two numbers.
    fn binary(op: Binary) -> Self::Morphism;
    /// The comparison of two numbers.
    fn compare(op: Compare) -> Self::Morphism;
    /// The value as the case that the mask determines.
    fn branch() -> Self::Morphism;
    /// One program for each case.
    fn either(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism;
    /// The value of either case.
    fn join() -> Self::Morphism;
    /// A sum of pairs as a pair of sums.
    fn split() -> Self::Morphism;
    /// A pair of sums of the same case as a sum of pairs.
    fn unsplit() -> Self::Morphism;
    /// Adds the case of a sum as first component: `A + B -> (1 + 1) * (A + B)`.
    fn tagged() -> Self::Morphism;
    /// The value as the case of another value of a sum: `(1 + 1) * A -> A + A`.
    fn inject() -> Self::Morphism;
}

/// A program of wires from `A` to `B`.
pub struct Wire<W: Wiring, A, B> {
    pub(super) inner: W::Morphism,
    types: PhantomData<fn(A) -> B>,
}

impl<W: Wiring, A, B> Clone for Wire<W, A, B> {
    fn clone(&self) -> Self {
        Wire::of(self.inner.clone())
    }
}

impl<W: Wiring, A, B> Wire<W, A, B> {
    fn of(inner: W::Morphism) -> Self {
        Wire { inner, types: PhantomData }
    }
}

impl<W: Wiring> Monoidal for W {
    type Hom<A: Obj, B: Obj> = Wire<W, A, B>;

    fn id<A: Obj>() -> Wire<W, A, A> {
        Wire::of(<W as Wiring>::id())
    }

    fn then<A: Obj, B: Obj, D: Obj>(f: Wire<W, A, B>, g: Wire<W, B, D>) -> Wire<W, A, D> {
        Wire::of(<W as Wiring>::then(f.inner, g.inner))
    }

    fn beside<A: Obj, B: Obj, D: Obj, E: Obj>(f: Wire<W, A, B>, g: Wire<W, D, E>) -> Wire<W, Prod<A, D>, Prod<B, E>> {
        Wire::of(<W as Wiring>::beside(f.inner, g.inner))
    }

    fn swap<A: Obj, B: Obj>() -> Wire<W, Prod<A, B>, Prod<B, A>> {
        Wire::of(<W as Wiring>::swap())
    }

    fn assoc<A: Obj, B: Obj, D: Obj>() -> Wire<W, Prod<Prod<A, B>, D>, Prod<A, Prod<B, D>>> {
        Wire::of(<W as Wiring>::assoc())
    }

    fn unassoc<A: Obj, B: Obj, D: Obj>() -> Wire<W, Prod<A, Prod<B, D>>, Prod<Prod<A, B>, D>> {
        Wire::of(<W as Wiring>::unassoc())
    }

    fn intro<A: Obj>() -> Wire<W, A, Prod<Unit, A>> {
        Wire::of(<W as Wiring>::intro())
    }

    fn elim<A: Obj>() -> Wire<W, Prod<Unit, A>, A> {
        Wire::of(<W as Wiring>::elim())
    }

    fn copy<A: Obj>() -> Wire<W, A, Prod<A, A>> {
        Wire::of(<W as Wiring>::copy())
    }

    fn delete<A: Obj>() -> Wire<W, A, Unit> {
        Wire::of(<W as Wiring>::delete())
    }

    fn add<A: Obj>() -> Wire<W, Prod<A, A>, A> {
        Wire::of(<W as Wiring>::add())
    }

    fn zero<A: Obj>() -> Wire<W, Unit, A> {
        Wire::of(<W as Wiring>::zero())
    }

    fn constant(x: f64) -> Wire<W, Unit, Real> {
        Wire::of(<W as Wiring>::constant(x))
    }

    fn unary(op: Unary) -> Wire<W, Real, Real> {
        Wire::of(<W as Wiring>::unary(op))
    }

    fn binary(op: Binary) -> Wire<W, Prod<Real, Real>, Real> {
        Wire::of(<W as Wiring>::binary(op))
    }

    fn compare(op: Compare) -> Wire<W, Prod<Real, Real>, Mask> {
        Wire::of(<W as Wiring>::compare(op))
    }

    fn branch<A: Obj>() -> Wire<W, Prod<A, Mask>, Sum<A, A>> {
        Wire::of(<W as Wiring>::branch())
    }

    fn either<A: Obj, B: Obj, D: Obj, E: Obj>(f: Wire<W, A, B>, g: Wire<W, D, E>) -> Wire<W, Sum<A, D>, Sum<B, E>> {
        Wire::of(<W as Wiring>::either(f.inner, g.inner))
    }

    fn join<A: Obj>() -> Wire<W, Sum<A, A>, A> {
        Wire::of(<W as Wiring>::join())
    }

    fn split<A: Obj, B: Obj, D: Obj, E: Obj>() -> Wire<W, Sum<Prod<A, B>, Prod<D, E>>, Prod<Sum<A, D>, Sum<B, E>>> {
        Wire::of(<W as Wiring>::split())
    }

    fn unsplit<A: Obj, B: Obj, D: Obj, E: Obj>() -> Wire<W, Prod<Sum<A, D>, Sum<B, E>>, Sum<Prod<A, B>, Prod<D, E>>> {
        Wire::of(<W as Wiring>::unsplit())
    }
}

/// The type of all values, where types are erased.
type Any = Unit;

/// Programs of wires, in a cartesian closed category.
pub struct Wires<C>(PhantomData<C>);

impl<C: Target> Wires<C> {
    fn first() -> C::Hom<Any, Any> {
        C::retyped(C::fst::<Any, Any>())
    }

    fn second() -> C::Hom<Any, Any> {
        C::retyped(C::snd::<Any, Any>())
    }

    fn paired(f: C::Hom<Any, Any>, g: C::Hom<Any, Any>) -> C::Hom<Any, Any> {
        C::retyped(C::pair(f, g))
    }

    fn left() -> C::Hom<Any, Any> {
        C::retyped(C::inl::<Any, Any>())
    }

    fn right() -> C::Hom<Any, Any> {
        C::retyped(C::inr::<Any, Any>())
    }

    /// One program for each case of the second component, in the context of the first; the value may be the zero of a
    /// sum.
    fn chosen(left: C::Hom<Any, Any>, right: C::Hom<Any, Any>) -> C::Hom<Any, Any> {
        let of = |f| C::retyped::<Any, Any, Prod<Any, Any>, Any>(f);
        C::retyped(C::case::<Any, Any, Any, Any>(of(left), of(right)))
    }

    /// A program for each case.
    fn cases(left: C::Hom<Any, Any>, right: C::Hom<Any, Any>) -> C::Hom<Any, Any> {
        let of = |f| C::then(Self::second(), f);
        C::then(Self::paired(C::unit(), C::id()), Self::chosen(of(left), of(right)))
    }
}

impl<C: Target> Wiring for Wires<C> {
    type Morphism = C::Hom<Any, Any>;

    fn id() -> Self::Morphism {
        C::id()
    }

    fn then(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism {
        C::then(f, g)
    }

    fn beside(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism {
        Self::paired(C::then(Self::first(), f), C::then(Self::second(), g))
    }

    fn swap() -> Self::Morphism {
        Self::paired(Self::second(), Self::first())
    }

    fn assoc() -> Self::Morphism {
        let middle = C::then(Self::first(), Self::second());
        Self::paired(C::then(Self::first(), Self::first()), Self::paired(middle, Self::second()))
    }

    fn unassoc() -> Self::Morphism {
        let middle = C::then(Self::second(), Self::first());
        Self::paired(Self::paired(Self::first(), middle), C::then(Self::second(), Self::second()))
    }

    fn intro() -> Self::Morphism {
        Self::paired(C::unit(), C::id())
    }

    fn elim() -> Self::Morphism {
        Self::second()
    }

    fn copy() -> Self::Morphism {
        Self::paired(C::id(), C::id())
    }

    fn delete() -> Self::Morphism {
        C::unit()
    }

    fn add() -> Self::Morphism {
        C::plus(Self::first(), Self::second())
    }

    fn zero() -> Self::Morphism {
        C::zero()
    }

    fn constant(x: f64) -> Self::Morphism {
        C::retyped(C::prim(Constant::<0>::new(Array::scalar(x))))
    }

    fn unary(op: Unary) -> Self::Morphism {
        C::retyped(C::prim(Pointwise::<0>(op)))
    }

    fn binary(op: Binary) -> Self::Morphism {
        C::retyped(C::prim(Pointwise2::<0>(op)))
    }

    fn compare(op: Compare) -> Self::Morphism {
        C::retyped(C::prim(Comparison(op)))
    }

    fn branch() -> Self::Morphism {
        let which = C::then(Self::second(), C::retyped(C::test()));
        let of = |case| C::then(Self::first(), case);
        C::then(Self::paired(Self::first(), which), Self::chosen(of(Self::left()), of(Self::right())))
    }

    fn either(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism {
        Self::cases(C::then(f, Self::left()), C::then(g, Self::right()))
    }

    fn join() -> Self::Morphism {
        Self::cases(C::id(), C::id())
    }

    fn split() -> Self::Morphism {
        let of = |case: fn() -> C::Hom<Any, Any>| {
            Self::paired(C::then(Self::first(), case()), C::then(Self::second(), case()))
        };
        Self::cases(of(Self::left), of(Self::right))
    }

    /// One of the two values may be the zero of a sum, which has no case: the case is that of the other value.
    fn unsplit() -> Self::Morphism {
        let first = |case| C::then(Self::paired(C::id(), C::zero()), case);
        let second = |case| C::then(Self::paired(C::zero(), C::id()), case);
        C::plus(
            C::then(Self::first(), Self::cases(first(Self::left()), first(Self::right()))),
            C::then(Self::second(), Self::cases(second(Self::left()), second(Self::right()))),
        )
    }

    fn tagged() -> Self::Morphism {
        let of = |case: fn() -> C::Hom<Any, Any>| Self::paired(C::then(C::unit(), case()), case());
        Self::cases(of(Self::left), of(Self::right))
    }

    fn inject() -> Self::Morphism {
        let of = |case| C::then(Self::first(), case);
        C::then(<Self as Wiring>::swap(), Self::chosen(of(Self::left()), of(Self::right())))
    }
}

/// Reverse mode as an optic functor: a copy becomes an addition, a deletion a zero, and an operation keeps its operands
/// for its way back.
pub struct ReverseOptic<C>(PhantomData<C>);

/// An optic of programs, with a hidden residual.
#[derive(Clone)]
pub struct Pair<M> {
    /// The way forward, `A -> M * B`.
    pub(super) l: M,
    /// The way back, `M * B' -> A'`.
    pub(super) r: M,
}

/// An optic without a residual.
fn iso<C: Wiring>(there: C::Morphism, back: C::Morphism) -> Pair<C::Morphism> {
    let r = C::then(C::elim(), back);
    Pair { l: C::then(there, C::intro()), r }
}

/// The action of an optic on a program between its results: the way forward, the program, and the way back ("dP guide",
/// section V.A). With the optic of `f`, it is the derivative operator within a program (Snippet 21), and at a nested
/// instance the transform of that operator (Snippets 22 and 23).
pub fn act<C: Wiring, A: Obj, B: Obj>(optic: &Wire<ReverseOptic<C>, A, B>, program: Wire<C, B, B>) -> Wire<C, A, A> {
    let Pair { l, r } = optic.inner.clone();
    Wire::of(C::then(C::then(l, C::beside(C::id(), program.inner)), r))
}

impl<C: Wiring> Wiring for ReverseOptic<C> {
    type Morphism = Pair<C::Morphism>;

    fn id() -> Self::Morphism {
        iso::<C>(C::id(), C::id())
    }

    /// The residual is a pair of residuals.
    fn then(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism {
        let l = C::then(C::then(f.l, C::beside(C::id(), g.l)), C::unassoc());
        let r = C::then(C::then(C::assoc(), C::beside(C::id(), g.r)), f.r);
        Pair { l, r }
    }

    fn beside(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism {
        let l = C::then(C::beside(f.l, g.l), exchange::<C>());
        Pair { l, r: C::then(exchange::<C>(), C::beside(f.r, g.r)) }
    }

    fn swap() -> Self::Morphism {
        iso::<C>(C::swap(), C::swap())
    }

    fn assoc() -> Self::Morphism {
        iso::<C>(C::assoc(), C::unassoc())
    }

    fn unassoc() -> Self::Morphism {
        iso::<C>(C::unassoc(), C::assoc())
    }

    fn intro() -> Self::Morphism {
        iso::<C>(C::intro(), C::elim())
    }

    fn elim() -> Self::Morphism {
        iso::<C>(C::elim(), C::intro())
    }

    fn copy() -> Self::Morphism {
        iso::<C>(C::copy(), C::add())
    }

    fn delete() -> Self::Morphism {
        iso::<C>(C::delete(), C::zero())
    }

    fn add() -> Self::Morphism {
        iso::<C>(C::add(), C::copy())
    }

    fn zero() -> Self::Morphism {
        iso::<C>(C::zero(), C::delete())
    }

    fn constant(x: f64) -> Self::Morphism {
        iso::<C>(C::constant(x), C::delete())
    }

    /// The residual is the operand.
    fn unary(op: Unary) -> Self::Morphism {
        let back = recorded(2, |v| pull_primitive(&Pointwise::<0>(op), &v[..1], &[Some(v[1].clone())]));
        let l = C::then(C::copy(), C::beside(C::id(), C::unary(op)));
        Pair { l, r: connected::<C>(&back) }
    }

    /// The residual is the pair of operands.
    fn binary(op: Binary) -> Self::Morphism {
        let back = recorded(3, |v| pull_primitive(&Pointwise2::<0>(op), &v[..2], &[Some(v[2].clone())]));
        let l = C::then(C::copy(), C::beside(C::id(), C::binary(op)));
        Pair { l, r: connected::<C>(&back) }
    }

    fn compare(op: Compare) -> Self::Morphism {
        iso::<C>(C::compare(op), C::then(C::delete(), C::zero()))
    }

    /// The policy of deletion: the way back gives zero for the condition.
    fn branch() -> Self::Morphism {
        iso::<C>(C::branch(), C::then(C::join(), beside_zero::<C>()))
    }

    /// Equation 9. The residual is that of the case that ran.
    fn either(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism {
        let l = C::then(C::either(f.l, g.l), C::split());
        Pair { l, r: C::then(C::unsplit(), C::either(f.r, g.r)) }
    }

    /// Equation 10, with the smaller residual: the history alone, that is, the case that ran.
    fn join() -> Self::Morphism {
        Pair { l: C::then(C::tagged(), C::beside(C::id(), C::join())), r: C::inject() }
    }

    fn split() -> Self::Morphism {
        iso::<C>(C::split(), C::unsplit())
    }

    fn unsplit() -> Self::Morphism {
        iso::<C>(C::unsplit(), C::split())
    }

    fn tagged() -> Self::Morphism {
        iso::<C>(C::tagged(), C::then(C::beside(C::delete(), C::id()), C::elim()))
    }

    fn inject() -> Self::Morphism {
        iso::<C>(C::inject(), C::then(C::join(), C::then(beside_zero::<C>(), C::swap())))
    }
}

/// `A -> A * B`, with zero as second component.
fn beside_zero<C: Wiring>() -> C::Morphism {
    C::then(C::intro(), C::then(C::beside(C::zero(), C::id()), C::swap()))
}

/// `((a, b), (c, d)) -> ((a, c), (b, d))`.
fn exchange<C: Wiring>() -> C::Morphism {
    let inner = C::then(C::then(C::unassoc(), C::beside(C::swap(), C::id())), C::assoc());
    C::then(C::then(C::assoc(), C::beside(C::id(), inner)), C::unassoc())
}

impl<A, B> Wire<Wires<Syntax>, A, B>
where
    A: Obj,
    B: Obj,
{
    /// The text of the program.
    pub fn code(&self) -> Code<A, B> {
        Syntax::retyped::<Any, Any, A, B>(self.inner.clone())
    }
}
