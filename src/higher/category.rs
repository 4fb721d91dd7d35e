//! The language as traits: a cartesian closed category ([`Ccc`]) with primitives, sums and recursion ([`Language`]).
//!
//! An instance is a type without values that implements them; a program is a function that is generic in the instance.
//! A morphism `Hom<A, B>` is a program with one input of type `A`: the combinators are those of "The Differentiable
//! Curry", section 2, and the user's syntax ([`super::expr`]) is its translation to them (Fig. 1).
//!
//! Laws: identity and composition are a category; pairs, functions and sums satisfy their beta and eta equations. An
//! instance that carries derivatives satisfies them up to the equality of derivatives, not of their representations.

use std::panic::Location;

use super::object::{Arr, Fun, Ground, Int, Mask, Obj, Prod, Recursive, Stack, Sum, TypeParts, Unit};
use super::primitive::{Compact, Primitive};

/// A cartesian closed category.
pub trait Ccc: 'static {
    /// Programs from `A` to `B`.
    type Hom<A: Obj, B: Obj>: Clone + 'static;

    /// The same program at other types. The caller ensures that its values are of these types, too: a transformation
    /// maps a program to one at types that rustc cannot always simplify, and an instance may hide types.
    fn retyped<A: Obj, B: Obj, C: Obj, D: Obj>(f: Self::Hom<A, B>) -> Self::Hom<C, D>;

    /// The identity.
    fn id<A: Obj>() -> Self::Hom<A, A>;

    /// `f`, then `g`.
    fn then<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, C>) -> Self::Hom<A, C>;

    /// The only value of the unit type.
    fn unit<A: Obj>() -> Self::Hom<A, Unit>;

    /// The pair of the results of `f` and `g`.
    fn pair<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<A, C>) -> Self::Hom<A, Prod<B, C>>;

    /// The first component of a pair.
    fn fst<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, A>;

    /// The second component of a pair.
    fn snd<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, B>;

    /// The function of the second component, which captures the first component.
    fn curry<A: Obj, B: Obj, C: Obj>(f: Self::Hom<Prod<A, B>, C>) -> Self::Hom<A, Fun<B, C>>;

    /// A function applied to its argument.
    fn eval<A: Obj, B: Obj>() -> Self::Hom<Prod<Fun<A, B>, A>, B>;

    /// `let`: the context of the body is that of the value, extended by the value.
    fn bind<G: Obj, A: Obj, B: Obj>(value: Self::Hom<G, A>, body: Self::Hom<Prod<G, A>, B>) -> Self::Hom<G, B> {
        Self::then(Self::pair(Self::id(), value), body)
    }
}

/// The largest nesting depth of cases and pairs in a value of a recursive type. Operations on all parts of a value,
/// such as an addition of tangents, recurse over the depth. A list has depth two for each element.
pub const DEEPEST: usize = 600;

/// A cartesian closed category with primitive operations, sums, recursion and loops over arrays.
pub trait Language: Ccc {
    /// A primitive operation.
    fn prim<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod>;

    /// A program that was written at this place, which the messages of its errors at run time name.
    fn written<A: Obj, B: Obj>(f: Self::Hom<A, B>, _at: &'static Location<'static>) -> Self::Hom<A, B> {
        f
    }

    /// The left case.
    fn inl<A: Obj, B: Obj>() -> Self::Hom<A, Sum<A, B>>;

    /// The right case.
    fn inr<A: Obj, B: Obj>() -> Self::Hom<B, Sum<A, B>>;

    /// One program for each case.
    fn case<G: Obj, A: Obj, B: Obj, C: Obj>(
        left: Self::Hom<Prod<G, A>, C>,
        right: Self::Hom<Prod<G, B>, C>,
    ) -> Self::Hom<Prod<G, Sum<A, B>>, C>;

    /// The left case if the mask holds, otherwise the right one. If the mask is not known, while a program is traced,
    /// both cases run, and their results are selected by the mask.
    fn test() -> Self::Hom<Mask, Sum<Unit, Unit>>;

    /// Repeats a step until its result is the right case. While a program is traced, it becomes a recorded loop if the
    /// case of a step is not known.
    ///
    /// # Panics
    /// When the case of a step is not known, and the state contains more than tensors and functions of one code, or
    /// reverse mode keeps values of it.
    fn iterate<G: Obj, S: Obj, R: Obj>(step: Self::Hom<Prod<G, S>, Sum<S, R>>) -> Self::Hom<Prod<G, S>, R>;

    /// The value of a recursive type with these parts.
    ///
    /// # Panics
    /// When a program runs that makes a value more than [`DEEPEST`] cases and pairs deep.
    fn roll<K: TypeParts>() -> Self::Hom<K::Of, Recursive<K>>;

    /// The parts of a value of a recursive type.
    fn unroll<K: TypeParts>() -> Self::Hom<Recursive<K>, K::Of>;

    /// The function that may call itself.
    fn fix<G: Obj, A: Obj, B: Obj>(body: Self::Hom<Prod<Prod<G, Fun<A, B>>, A>, B>) -> Self::Hom<G, Fun<A, B>>;
}

/// A language with loops over the outermost axis of arrays.
pub trait Arrays: Language {
    /// Applies a function to every element.
    fn map<A: Stack, B: Stack>() -> Self::Hom<Prod<Fun<A, B>, A::Stacked>, B::Stacked>;

    /// The final state of a left fold over all elements.
    fn fold<S: Stack, A: Stack>() -> Self::Hom<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S>;

    /// Applies a function to `0, 1, .., n - 1`.
    fn build<B: Stack>(n: usize) -> Self::Hom<Fun<Arr<0, i64>, B>, B::Stacked> {
        let numbers = Self::then(Self::unit(), Self::prim(super::primitive::Iota(n)));
        Self::then(Self::pair(Self::id(), numbers), Self::map::<Arr<0, i64>, B>())
    }
    /// The number of elements at which the function holds, and these elements in their order, followed by zeros.
    fn filter<A: Stack<Stacked: Ground>>() -> Self::Hom<Prod<Fun<A, Mask>, A::Stacked>, Prod<Int, A::Stacked>> {
        let mask = Self::map::<A, Mask>();
        Self::then(Self::pair(mask, Self::snd()), Self::prim(Compact::<A>::new()))
    }
}
