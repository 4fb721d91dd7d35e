//! Optics: a way forward that leaves a residual, and a way back that takes it.
//!
//! [`lens`]: optics of the host language. [`ReverseOptic`]: reverse mode as an optic functor on programs of wires
//! ([`Monoidal`]). It is itself a category of this kind, so it nests: a program at `ReverseOptic<ReverseOptic<C>>` is
//! its second-order optic, of four programs ("dP guide", section V.B). Laws: the transform of a composition is the
//! composition of transforms, as optics, that is, in what they do; residuals may differ.

use std::marker::PhantomData;

use super::run::Run;
use super::syntax::{Code, Syntax};
use crate::ad::higher::pull_primitive;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::higher::primitive::{Constant, Pointwise, Pointwise2};
use crate::higher::{Monoidal, Obj, Prod, Real, Target, Unit};
use crate::ops::{Binary, Unary};
use crate::program::{NodeId, Op, Program, Term};

pub mod lens;
mod stages;

pub use stages::{Stage, Staged, stars, woven};

/// The language of [`Monoidal`] without types: what a category of programs of wires implements. Each order of nesting
/// compiles these methods once, where typed ones would be compiled for every type they meet.
pub trait Wiring: Sized + 'static {
    /// Morphisms.
    type Morphism: Clone + 'static;

    /// See [`Monoidal`], as the other methods.
    fn id() -> Self::Morphism;
    /// `f`, then `g`.
    fn then(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism;
    /// Both, on the parts of a pair.
    fn beside(f: Self::Morphism, g: Self::Morphism) -> Self::Morphism;
    /// The parts of a pair exchanged.
    fn swap() -> Self::Morphism;
    /// Brackets to the right.
    fn assoc() -> Self::Morphism;
    /// Brackets to the left.
    fn unassoc() -> Self::Morphism;
    /// A unit before the value.
    fn intro() -> Self::Morphism;
    /// No unit before the value.
    fn elim() -> Self::Morphism;
    /// Two copies.
    fn copy() -> Self::Morphism;
    /// Nothing.
    fn delete() -> Self::Morphism;
    /// The sum.
    fn add() -> Self::Morphism;
    /// Zero.
    fn zero() -> Self::Morphism;
    /// A known number.
    fn constant(x: f64) -> Self::Morphism;
    /// A function of a number.
    fn unary(op: Unary) -> Self::Morphism;
    /// A function of two numbers.
    fn binary(op: Binary) -> Self::Morphism;
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
}

/// An instance whose morphisms say nothing of types inside.
pub trait Uniform: Target {
    /// The same morphism at other types. The caller sees to it that values of these types meet.
    fn retyped<A: Obj, B: Obj, C: Obj, D: Obj>(f: Self::Hom<A, B>) -> Self::Hom<C, D>;
}

impl<T: BaseTensor> Uniform for Run<T> {
    fn retyped<A: Obj, B: Obj, C: Obj, D: Obj>(f: Self::Hom<A, B>) -> Self::Hom<C, D> {
        f.retyped()
    }
}

impl Uniform for Syntax {
    fn retyped<A: Obj, B: Obj, C: Obj, D: Obj>(f: Self::Hom<A, B>) -> Self::Hom<C, D> {
        f.retyped()
    }
}

/// The type of all values, where types are not looked at.
type Any = Unit;

/// Programs of wires, in a cartesian closed category.
pub struct Wires<C>(PhantomData<C>);

impl<C: Uniform> Wires<C> {
    fn first() -> C::Hom<Any, Any> {
        C::retyped(C::fst::<Any, Any>())
    }

    fn second() -> C::Hom<Any, Any> {
        C::retyped(C::snd::<Any, Any>())
    }

    fn paired(f: C::Hom<Any, Any>, g: C::Hom<Any, Any>) -> C::Hom<Any, Any> {
        C::retyped(C::pair(f, g))
    }
}

impl<C: Uniform> Wiring for Wires<C> {
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

/// What an optic makes of a program between its results: forward, the program, and back ("dP guide", section V.A). With
/// the optic of `f`, this is the derivative operator within a program (Snippet 21), and at a nested instance its
/// transform (Snippets 22 and 23).
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

    /// The residual is the operands.
    fn binary(op: Binary) -> Self::Morphism {
        let back = recorded(3, |v| pull_primitive(&Pointwise2::<0>(op), &v[..2], &[Some(v[2].clone())]));
        let l = C::then(C::copy(), C::beside(C::id(), C::binary(op)));
        Pair { l, r: connected::<C>(&back) }
    }
}

/// `((a, b), (c, d)) -> ((a, c), (b, d))`.
fn exchange<C: Wiring>() -> C::Morphism {
    let inner = C::then(C::then(C::unassoc(), C::beside(C::swap(), C::id())), C::assoc());
    C::then(C::then(C::assoc(), C::beside(C::id(), inner)), C::unassoc())
}

/// The program of a derivative of numbers, from the tables: it runs at variables.
fn recorded(inputs: usize, f: impl FnOnce(&[Term]) -> Vec<Option<Term>>) -> Program {
    let variables: Vec<Term> = (0..inputs).map(|_| Term::variable(&[], DType::F64)).collect();
    let results: Vec<Term> = f(&variables).into_iter().flatten().collect();
    Term::program(&variables, &results, &[]).expect("a closed program")
}

/// A first-order program of numbers as a program of wires. Its inputs are the numbers of `A`, its results those of `B`,
/// each from left to right, and all in brackets to the left: `((x, y), z)`.
///
/// # Panics
/// When the program has other values than numbers, or loops, or chooses.
#[track_caller]
pub fn wired<C: Wiring, A: Obj, B: Obj>(program: &Program) -> Wire<C, A, B> {
    let plain = |op: &Op<NodeId>| matches!(op, Op::Input(_) | Op::Constant(_) | Op::Unary(..) | Op::Binary(..));
    let number = |shape: &[usize], dtype| shape.is_empty() && dtype == DType::F64;
    if !program.nodes().iter().all(|node| plain(&node.op) && number(&node.shape, node.dtype)) {
        panic!(
            "wired: a program must consist of functions of numbers, but this one has other operations or values; differentiate it \
             by another verb"
        );
    }
    Wire::of(connected::<C>(program))
}

/// A program of functions of numbers as wires. The context of an operation is `(((), v), w)`: all values so far.
fn connected<C: Wiring>(program: &Program) -> C::Morphism {
    let count = program.inputs().len();
    let (mut so_far, mut depth) = (inputs::<C>(count), count);
    for node in program.nodes() {
        let value = match &node.op {
            // Inputs are the first nodes, and in the context from the start.
            Op::Input(_) => continue,
            Op::Constant(c) => C::then(C::delete(), C::constant(c.0.item::<f64>().expect("a number"))),
            Op::Unary(op, a) => C::then(read::<C>(depth, *a), C::unary(*op)),
            Op::Binary(op, a, b) => {
                let both = C::beside(read::<C>(depth, *a), read::<C>(depth, *b));
                C::then(C::then(C::copy(), both), C::binary(*op))
            }
            Op::Discrete(..) | Op::Select(_) | Op::Linear(..) | Op::Contract(..) | Op::Reduce(..) | Op::Gather(..) => {
                unreachable!("a function of numbers")
            }
            Op::ScatterAdd(..) | Op::Concat(..) | Op::Loop(_) | Op::Custom(..) | Op::Output(..) => {
                unreachable!("a function of numbers")
            }
        };
        so_far = C::then(so_far, C::then(C::copy(), C::beside(C::id(), value)));
        depth += 1;
    }
    let mut results = program.results().iter().map(|node| read::<C>(depth, *node));
    let first = results.next().unwrap_or_else(C::delete);
    let all = results.fold(first, |before, this| C::then(C::copy(), C::beside(before, this)));
    C::then(so_far, all)
}

/// The inputs `((x, y), z)` as the context `((((), x), y), z)`.
fn inputs<C: Wiring>(count: usize) -> C::Morphism {
    match count {
        0 => C::delete(),
        1 => C::intro(),
        _ => C::beside(inputs::<C>(count - 1), C::id()),
    }
}

/// The value of a node in a context of this depth.
fn read<C: Wiring>(depth: usize, node: NodeId) -> C::Morphism {
    let mut path = C::then(C::beside(C::delete(), C::id()), C::elim());
    for _ in node as usize + 1..depth {
        let first = C::then(C::then(C::beside(C::id(), C::delete()), C::swap()), C::elim());
        path = C::then(first, path);
    }
    path
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
