//! Optics: a way forward that leaves a residual, and a way back that takes it.
//!
//! [`lens`]: optics of the host language. [`ReverseOptic`]: reverse mode as an optic functor on programs of wires
//! ([`Monoidal`]), whose wires carry arrays of any rank and shape, pairs of them, and cases. It is itself a category of
//! this kind, so it nests: a program at `ReverseOptic<ReverseOptic<C>>` is its second-order optic, of four programs ("dP
//! guide", section V.B). Laws: the transform of a composition is the composition of transforms, as optics: their actions
//! are equal, and residuals may differ; the reverse derivative of a first-order operation is a first-order operation.
//!
//! A program of wires is data (`diagram`); [`Staged`] runs it as the programs of its optic at any order, which share
//! what they compute (`stages`, `strand`, `operation`); `residual` is the functor by its definition.

use std::marker::PhantomData;

use polygrad::array::Array;
use polygrad::ops::{Binary, Compare, Unary};

use super::syntax::{Code, Syntax};
use crate::primitive::{Comparison, Constant, Pointwise, Pointwise2};
use crate::{Mask, Monoidal, Obj, Primitive, Prod, Real, Sum, Unit};

pub mod chosen;
mod diagram;
pub mod lens;
mod operation;
mod residual;
mod stages;
mod strand;
mod text;
mod wired;

use diagram::{Casing, Diagram, Rewiring, beside, cases, either, id, operation, then, wires};
use operation::Operation;
use residual::{Pair, optic};
pub use stages::{Stage, Staged, stars, woven};
pub use wired::wired;

/// A category of programs of wires: [`Wires`], or optics of them.
///
/// ```
/// use polygrad_higher::interpreters::optic::Wiring;
/// use polygrad_higher::interpreters::{ReverseOptic, Syntax, Wires};
/// assert_eq!(<Wires<Syntax>>::ORDER, 0);
/// assert_eq!(<ReverseOptic<ReverseOptic<Wires<Syntax>>>>::ORDER, 2);
/// ```
pub trait Wiring: Sized + 'static {
    /// How often [`ReverseOptic`] is nested.
    const ORDER: usize;
}

/// Programs of wires, with a meaning in the instance `C`: [`Run`](super::Run), or [`Syntax`].
///
/// Example: [`ReverseOptic`].
pub struct Wires<C>(PhantomData<C>);

impl<C: 'static> Wiring for Wires<C> {
    const ORDER: usize = 0;
}

/// Reverse mode as an optic functor: a copy becomes an addition, a deletion a zero, and an operation keeps its operands
/// for its way back.
///
/// ```
/// use polygrad::ops::Unary;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::optic::Staged;
/// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
/// use polygrad_higher::{Monoidal, Real};
/// type First = ReverseOptic<Wires<Run<Array>>>;
/// let [forward, back] = &First::stages(&First::unary(Unary::Square))[..] else { panic!("two programs") };
/// assert_eq!(forward.take::<Real, Real>(&tensor(3.0)), tensor(9.0));
/// assert_eq!(back.take::<Real, Real>(&tensor(1.0)), tensor(6.0));
/// ```
pub struct ReverseOptic<C>(PhantomData<C>);

impl<C: Wiring> Wiring for ReverseOptic<C> {
    const ORDER: usize = C::ORDER + 1;
}

/// A program of wires from `A` to `B`.
///
/// Example: [`Wire::at`].
pub struct Wire<W, A, B> {
    inner: Diagram,
    types: PhantomData<fn(W, A) -> B>,
}

impl<W, A, B> Clone for Wire<W, A, B> {
    fn clone(&self) -> Self {
        Wire::of(self.inner.clone())
    }
}

impl<W, A, B> Wire<W, A, B> {
    fn of(inner: Diagram) -> Self {
        Wire { inner, types: PhantomData }
    }
}

impl<W, A, B> Wire<W, A, B> {
    /// The same program in another category of wires: at another order.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::optic::{Staged, Wire};
    /// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
    /// use polygrad_higher::{Monoidal, Real};
    /// type Base = Wires<Run<Array>>;
    /// type First = ReverseOptic<Base>;
    /// let square: Wire<Base, Real, Real> = Base::unary(Unary::Square);
    /// // The same program at the order 1.
    /// let stages = First::stages(&square.at::<First>());
    /// assert_eq!(stages[0].take::<Real, Real>(&tensor(3.0)), tensor(9.0));
    /// assert_eq!(stages[1].take::<Real, Real>(&tensor(1.0)), tensor(6.0));
    /// ```
    pub fn at<V: Wiring>(&self) -> Wire<V, A, B> {
        Wire::of(self.inner.clone())
    }
}

impl<W: Wiring> Monoidal for W {
    type Hom<A: Obj, B: Obj> = Wire<W, A, B>;

    fn id<A: Obj>() -> Wire<W, A, A> {
        Wire::of(id())
    }

    fn then<A: Obj, B: Obj, D: Obj>(f: Wire<W, A, B>, g: Wire<W, B, D>) -> Wire<W, A, D> {
        Wire::of(then(f.inner, g.inner))
    }

    fn beside<A: Obj, B: Obj, D: Obj, E: Obj>(f: Wire<W, A, B>, g: Wire<W, D, E>) -> Wire<W, Prod<A, D>, Prod<B, E>> {
        Wire::of(beside(f.inner, g.inner))
    }

    fn swap<A: Obj, B: Obj>() -> Wire<W, Prod<A, B>, Prod<B, A>> {
        Wire::of(wires(Rewiring::Swap))
    }

    fn assoc<A: Obj, B: Obj, D: Obj>() -> Wire<W, Prod<Prod<A, B>, D>, Prod<A, Prod<B, D>>> {
        Wire::of(wires(Rewiring::Assoc))
    }

    fn unassoc<A: Obj, B: Obj, D: Obj>() -> Wire<W, Prod<A, Prod<B, D>>, Prod<Prod<A, B>, D>> {
        Wire::of(wires(Rewiring::Unassoc))
    }

    fn intro<A: Obj>() -> Wire<W, A, Prod<Unit, A>> {
        Wire::of(wires(Rewiring::Intro))
    }

    fn elim<A: Obj>() -> Wire<W, Prod<Unit, A>, A> {
        Wire::of(wires(Rewiring::Elim))
    }

    fn copy<A: Obj>() -> Wire<W, A, Prod<A, A>> {
        Wire::of(wires(Rewiring::Copy))
    }

    fn delete<A: Obj>() -> Wire<W, A, Unit> {
        Wire::of(wires(Rewiring::Delete))
    }

    fn add<A: Obj>() -> Wire<W, Prod<A, A>, A> {
        Wire::of(wires(Rewiring::Add))
    }

    fn zero<A: Obj>() -> Wire<W, Unit, A> {
        Wire::of(wires(Rewiring::Zero))
    }

    fn primitive<P: Primitive>(p: P) -> Wire<W, P::Dom, P::Cod> {
        Wire::of(operation(Operation::of(p)))
    }

    fn constant(x: f64) -> Wire<W, Unit, Real> {
        <W as Monoidal>::primitive(Constant::<0>::new(Array::scalar(x)))
    }

    fn unary(op: Unary) -> Wire<W, Real, Real> {
        <W as Monoidal>::primitive(Pointwise::<0>(op))
    }

    fn binary(op: Binary) -> Wire<W, Prod<Real, Real>, Real> {
        <W as Monoidal>::primitive(Pointwise2::<0>(op))
    }

    fn compare(op: Compare) -> Wire<W, Prod<Real, Real>, Mask> {
        <W as Monoidal>::primitive(Comparison(op))
    }

    fn branch<A: Obj>() -> Wire<W, Prod<A, Mask>, Sum<A, A>> {
        Wire::of(cases(Casing::Branch))
    }

    fn either<A: Obj, B: Obj, D: Obj, E: Obj>(f: Wire<W, A, B>, g: Wire<W, D, E>) -> Wire<W, Sum<A, D>, Sum<B, E>> {
        Wire::of(either(f.inner, g.inner))
    }

    fn join<A: Obj>() -> Wire<W, Sum<A, A>, A> {
        Wire::of(cases(Casing::Join))
    }

    fn split<A: Obj, B: Obj, D: Obj, E: Obj>() -> Wire<W, Sum<Prod<A, B>, Prod<D, E>>, Prod<Sum<A, D>, Sum<B, E>>> {
        Wire::of(cases(Casing::Split))
    }

    fn unsplit<A: Obj, B: Obj, D: Obj, E: Obj>() -> Wire<W, Prod<Sum<A, D>, Sum<B, E>>, Sum<Prod<A, B>, Prod<D, E>>> {
        Wire::of(cases(Casing::Unsplit))
    }
}

/// The action of an optic on a program between its results: the way forward, the program, and the way back ("dP guide",
/// section V.A). With the optic of `f`, it is the derivative operator within a program (Snippet 21), and at a nested
/// instance the transform of that operator (Snippets 22 and 23).
///
/// ```
/// use polygrad::ops::Unary;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::optic::{Staged, act};
/// use polygrad_higher::interpreters::{ReverseOptic, Run, Wires};
/// use polygrad_higher::{Monoidal, Real};
/// type Base = Wires<Run<Array>>;
/// // `2 x g(x^2)`, where `g` negates.
/// let program = act(&ReverseOptic::<Base>::unary(Unary::Square), Base::unary(Unary::Neg));
/// assert_eq!(Base::stages(&program)[0].take::<Real, Real>(&tensor(3.0)), tensor(-54.0));
/// ```
pub fn act<C: Wiring, A: Obj, B: Obj>(optic: &Wire<ReverseOptic<C>, A, B>, program: Wire<C, B, B>) -> Wire<C, A, A> {
    let Pair { l, r } = self::optic(&optic.inner, true);
    Wire::of(then(then(l, beside(id(), program.inner)), r))
}

impl<A: Obj, B: Obj> Wire<Wires<Syntax>, A, B> {
    /// The text of the program.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad_higher::Monoidal;
    /// use polygrad_higher::interpreters::{Syntax, Wires};
    /// type W = Wires<Syntax>;
    /// let program = W::then(W::unary(Unary::Square), W::unary(Unary::Sin));
    /// assert_eq!(program.code().term().simplify().to_string(), "\\x ->\n  sin (square x)");
    /// ```
    pub fn code(&self) -> Code<A, B> {
        text::code(&self.inner)
    }
}
