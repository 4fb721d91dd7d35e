//! The target language of CHAD: a [`Language`] with abstract linear functions and copowers ("CHAD", Fig. 8).
//!
//! Every method is a term former in a context `G`. These methods alone construct linear functions, so every linear
//! function is linear (a subtype). [`fold`](Target::lcopowfold) is the only eliminator of copowers, so neither the
//! order of their entries, nor the difference of `(a, v) + (a, w)` and `(a, v + w)`, can be observed (a quotient).
//!
//! Law: a transformation of a target is a target, so a transformation applies to its own results, to any order. The
//! primal values of a type with addition have addition, too, and the types of a primitive's values under several
//! transformations are those of its arrays; rustc can conclude neither, so the methods here are for any types, and the
//! caller ensures that `zero` and `plus` are of a type with addition, and the types of a primitive those of its values.

use super::category::{Arrays, Language};
use super::object::{Copower, Fun, Layout, LinFun, LinSum, Obj, Prod, Recursive, Stacks, TypeParts};
use super::primitive::Primitive;

type Hom<T, A, B> = <T as super::category::Ccc>::Hom<A, B>;

/// The primal values of a program type under a functor.
pub type P1<A, F> = <A as Obj>::D1<F>;
/// The (co)tangents of a program type under a functor.
pub type P2<A, F> = <A as Obj>::D2<F>;

/// A language with linear functions and copowers.
pub trait Target: Language {
    /// A primitive operation, on primal values: `A` and `B` are the types of its arguments and results.
    fn primal<P: Primitive, A: Obj, B: Obj>(p: P) -> Hom<Self, A, B>;

    /// `Dop`: the derivative of a primitive operation at a point of type `A`, from tangents of type `V` to `W`.
    fn pushforward<P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> Hom<Self, A, LinFun<V, W>>;

    /// `Dop^t`: the transposed derivative of a primitive operation at a point of type `A`, from cotangents of type `W`
    /// of the result to those of the argument, of type `V`.
    fn pullback<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Hom<Self, A, LinFun<W, V>>;

    /// The transposed formal derivative of a function of truth values: an input gets the sum of the parities of the
    /// results that change with the input.
    ///
    /// # Panics
    /// When the program runs with values that are not known, or with arrays of several truth values.
    fn differences<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Hom<Self, A, LinFun<W, V>>;

    /// The linear function whose result has the sum of all parts of the argument in each part: the derivative of an
    /// operation that treats all inputs alike.
    fn lspread<G: Obj, A: Obj, B: Obj>(from: Layout, to: Layout) -> Hom<Self, G, LinFun<A, B>>;

    /// The zero of a type with addition.
    fn zero<G: Obj, A: Obj>() -> Hom<Self, G, A>;

    /// The sum of two values.
    fn plus<G: Obj, A: Obj>(a: Hom<Self, G, A>, b: Hom<Self, G, A>) -> Hom<Self, G, A>;

    /// A linear function applied to a vector.
    fn lapp<G: Obj, A: Obj, B: Obj>(f: Hom<Self, G, LinFun<A, B>>, v: Hom<Self, G, A>) -> Hom<Self, G, B>;

    /// The identity, as a linear function.
    fn lid<G: Obj, A: Obj>() -> Hom<Self, G, LinFun<A, A>>;

    /// `f`, then `g`.
    fn lcomp<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, LinFun<A, B>>,
        g: Hom<Self, G, LinFun<B, C>>,
    ) -> Hom<Self, G, LinFun<A, C>>;

    /// The pair of the results of `f` and `g`.
    fn lpair<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, LinFun<A, B>>,
        g: Hom<Self, G, LinFun<A, C>>,
    ) -> Hom<Self, G, LinFun<A, Prod<B, C>>>;

    /// The first component of a pair.
    fn lfst<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<Prod<A, B>, A>>;

    /// The second component of a pair.
    fn lsnd<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<Prod<A, B>, B>>;

    /// A function of linear functions, as a linear function of functions.
    fn lswap<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, Fun<A, LinFun<B, C>>>,
    ) -> Hom<Self, G, LinFun<B, Fun<A, C>>>;

    /// The value of a function at a point, which is linear in the function.
    fn leval<G: Obj, A: Obj, B: Obj>(a: Hom<Self, G, A>) -> Hom<Self, G, LinFun<Fun<A, B>, B>>;

    /// The copower with one entry: a point, with the argument as its vector.
    fn singleton<G: Obj, A: Obj, B: Obj>(a: Hom<Self, G, A>) -> Hom<Self, G, LinFun<B, Copower<A, B>>>;

    /// The sum over the entries of a copower of `f` of the point, applied to the vector.
    fn lcopowfold<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, Fun<A, LinFun<B, C>>>,
    ) -> Hom<Self, G, LinFun<Copower<A, B>, C>>;

    /// The sum over the entries of a copower of `f` of the point and the vector. The caller ensures that `f` is linear
    /// in the vector: it is the primal part of a function that gives linear functions.
    fn lcopowsum<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, Fun<Prod<A, B>, C>>,
    ) -> Hom<Self, G, LinFun<Copower<A, B>, C>>;

    /// A function as a linear function. The caller ensures that it is linear: it is the primal part of a derivative of a
    /// linear function.
    fn linear<G: Obj, A: Obj, B: Obj>(f: Hom<Self, G, Fun<A, B>>) -> Hom<Self, G, LinFun<A, B>>;

    /// `v -> u + value w`, where `<u, w> = body v`: the transpose of `let`.
    fn lbind<G: Obj, A: Obj, B: Obj, C: Obj>(
        body: Hom<Self, G, LinFun<A, Prod<B, C>>>,
        value: Hom<Self, G, LinFun<C, B>>,
    ) -> Hom<Self, G, LinFun<A, B>> {
        Self::lcomp(body, Self::plus(Self::lfst(), Self::lcomp(Self::lsnd(), value)))
    }

    /// Injects a vector into the left case.
    fn linl<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<A, LinSum<A, B>>>;

    /// Injects a vector into the right case.
    fn linr<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<B, LinSum<A, B>>>;

    /// The vector of the left case; zero of zero.
    fn lcastl<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<LinSum<A, B>, A>>;

    /// The vector of the right case; zero of zero.
    fn lcastr<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<LinSum<A, B>, B>>;

    /// The (co)tangent of a value of a recursive type from those of its parts.
    fn lroll<G: Obj, K: TypeParts>() -> Hom<Self, G, LinFun<K::Of, Recursive<K>>>;

    /// The (co)tangents of the parts from that of the value.
    fn lunroll<G: Obj, K: TypeParts>() -> Hom<Self, G, LinFun<Recursive<K>, K::Of>>;
}

/// The linear step of a loop: from the (co)tangent of the state, and an input, to that of the next state, and an
/// output.
pub type LinearStep<S, V, W> = LinFun<Prod<S, V>, Prod<S, W>>;

/// A target with loops over arrays, and the linear functions of their derivatives ("CHAD", section 10).
///
/// The elements of arrays have types under several transformations, so a type of elements comes with that of their
/// arrays, as [`Stacks`].
pub trait ArrayTarget: Target + Arrays {
    /// Applies a function to every element.
    fn map_over<A: Stacks, B: Stacks>() -> Hom<Self, Prod<Fun<A::One, B::One>, A::Many>, B::Many>;

    /// The final state of a left fold.
    fn fold_over<S: Stacks, A: Stacks>()
    -> Hom<Self, Prod<Fun<Prod<S::One, A::One>, S::One>, Prod<S::One, A::Many>>, S::One>;

    /// A loop that carries a state over all elements, in order or in reverse: the final state, and the outputs of all
    /// trips, each at the position of its element.
    fn accumulate<S: Stacks, A: Stacks, B: Stacks>(
        reverse: bool,
    ) -> Hom<Self, Prod<Fun<Prod<S::One, A::One>, Prod<S::One, B::One>>, Prod<S::One, A::Many>>, Prod<S::One, B::Many>>;

    /// `vs -> zip xs vs`: the copower of the elements of an array with the vectors at their positions.
    fn lzip<G: Obj, A: Stacks, V: Stacks>(
        xs: Hom<Self, G, A::Many>,
    ) -> Hom<Self, G, LinFun<V::Many, Copower<A::One, V::One>>>;

    /// `vs -> zipWith f xs vs`.
    fn lzip_with<G: Obj, A: Stacks, V: Stacks, W: Stacks>(
        f: Hom<Self, G, Fun<A::One, LinFun<V::One, W::One>>>,
        xs: Hom<Self, G, A::Many>,
    ) -> Hom<Self, G, LinFun<V::Many, W::Many>>;

    /// `f -> map f xs`.
    fn lmap<G: Obj, A: Stacks, B: Stacks>(
        xs: Hom<Self, G, A::Many>,
    ) -> Hom<Self, G, LinFun<Fun<A::One, B::One>, B::Many>>;

    /// A loop of linear steps, which depend on the elements of an array: from the (co)tangent of the initial state, and
    /// the inputs of all trips, to that of the final state, those of the states before all trips, and the outputs.
    fn laccumulate<G: Obj, A: Stacks, S: Stacks, V: Stacks, W: Stacks>(
        reverse: bool,
        f: Hom<Self, G, Fun<A::One, LinearStep<S::One, V::One, W::One>>>,
        xs: Hom<Self, G, A::Many>,
    ) -> Hom<Self, G, LinFun<Prod<S::One, V::Many>, Prod<S::One, Prod<S::Many, W::Many>>>>;
}
