//! The target language of CHAD: a [`Language`] with abstract linear functions and copowers ("CHAD", Fig. 8).
//!
//! Every method is a term former in a context `G`. These methods alone construct linear functions, so every linear
//! function is linear (a subtype). [`fold`](Target::lcopowfold) is the only eliminator of copowers, so neither the
//! order of their entries, nor the difference of `(a, v) + (a, w)` and `(a, v + w)`, can be observed (a quotient).

use super::category::{Arrays, Language};
use super::object::{Copower, Fun, Functor, Layout, LinFun, LinSum, Linear, Mu, Obj, Prod, Signature, Stack};
use super::primitive::Primitive;

type Hom<T, A, B> = <T as super::category::Ccc>::Hom<A, B>;

/// The primal values of a program type under a functor.
pub type P1<A, F> = <A as Obj>::D1<F>;
/// The (co)tangents of a program type under a functor.
pub type P2<A, F> = <A as Obj>::D2<F>;

/// A language with linear functions and copowers.
pub trait Target: Language {
    /// A primitive operation, on primal values.
    fn primal<F: Functor, P: Primitive>(p: P) -> Hom<Self, P1<P::Dom, F>, P1<P::Cod, F>>;

    /// `Dop`: the derivative of a primitive operation at a point.
    fn pushforward<F: Functor, P: Primitive>(p: P) -> Hom<Self, P1<P::Dom, F>, LinFun<P2<P::Dom, F>, P2<P::Cod, F>>>;

    /// `Dop^t`: the transposed derivative of a primitive operation at a point.
    fn pullback<F: Functor, P: Primitive>(p: P) -> Hom<Self, P1<P::Dom, F>, LinFun<P2<P::Cod, F>, P2<P::Dom, F>>>;

    /// The transposed formal derivative of a function of truth values: an input gets the sum of the parities of the
    /// results that change with the input.
    ///
    /// # Panics
    /// When the program runs with values that are not known, or with arrays of several truth values.
    fn differences<F: Functor, P: Primitive>(p: P) -> Hom<Self, P1<P::Dom, F>, LinFun<P2<P::Cod, F>, P2<P::Dom, F>>>;

    /// The linear function whose result has the sum of all parts of the argument in each part: the derivative of an
    /// operation that treats all inputs alike.
    fn lspread<G: Obj, A: Linear, B: Linear>(from: Layout, to: Layout) -> Hom<Self, G, LinFun<A, B>>;

    /// The zero of a type with addition.
    fn zero<G: Obj, A: Linear>() -> Hom<Self, G, A>;

    /// The sum of two values.
    fn plus<G: Obj, A: Linear>(a: Hom<Self, G, A>, b: Hom<Self, G, A>) -> Hom<Self, G, A>;

    /// The identity, as a linear function.
    fn lid<G: Obj, A: Linear>() -> Hom<Self, G, LinFun<A, A>>;

    /// `f`, then `g`.
    fn lcomp<G: Obj, A: Linear, B: Linear, C: Linear>(
        f: Hom<Self, G, LinFun<A, B>>,
        g: Hom<Self, G, LinFun<B, C>>,
    ) -> Hom<Self, G, LinFun<A, C>>;

    /// The pair of the results of `f` and `g`.
    fn lpair<G: Obj, A: Linear, B: Linear, C: Linear>(
        f: Hom<Self, G, LinFun<A, B>>,
        g: Hom<Self, G, LinFun<A, C>>,
    ) -> Hom<Self, G, LinFun<A, Prod<B, C>>>;

    /// The first component of a pair.
    fn lfst<G: Obj, A: Linear, B: Linear>() -> Hom<Self, G, LinFun<Prod<A, B>, A>>;

    /// The second component of a pair.
    fn lsnd<G: Obj, A: Linear, B: Linear>() -> Hom<Self, G, LinFun<Prod<A, B>, B>>;

    /// A function of linear functions, as a linear function of functions.
    fn lswap<G: Obj, A: Obj, B: Linear, C: Linear>(
        f: Hom<Self, G, Fun<A, LinFun<B, C>>>,
    ) -> Hom<Self, G, LinFun<B, Fun<A, C>>>;

    /// The value of a function at a point, which is linear in the function.
    fn leval<G: Obj, A: Obj, B: Linear>(a: Hom<Self, G, A>) -> Hom<Self, G, LinFun<Fun<A, B>, B>>;

    /// The copower with one entry: a point, with the argument as its vector.
    fn singleton<G: Obj, A: Obj, B: Linear>(a: Hom<Self, G, A>) -> Hom<Self, G, LinFun<B, Copower<A, B>>>;

    /// The sum over the entries of a copower of `f` of the point, applied to the vector.
    fn lcopowfold<G: Obj, A: Obj, B: Linear, C: Linear>(
        f: Hom<Self, G, Fun<A, LinFun<B, C>>>,
    ) -> Hom<Self, G, LinFun<Copower<A, B>, C>>;

    /// `v -> u + value w`, where `<u, w> = body v`: the transpose of `let`.
    fn lbind<G: Obj, A: Linear, B: Linear, C: Linear>(
        body: Hom<Self, G, LinFun<A, Prod<B, C>>>,
        value: Hom<Self, G, LinFun<C, B>>,
    ) -> Hom<Self, G, LinFun<A, B>> {
        Self::lcomp(body, Self::plus(Self::lfst(), Self::lcomp(Self::lsnd(), value)))
    }

    /// Injects a vector into the left case.
    fn linl<G: Obj, A: Linear, B: Linear>() -> Hom<Self, G, LinFun<A, LinSum<A, B>>>;

    /// Injects a vector into the right case.
    fn linr<G: Obj, A: Linear, B: Linear>() -> Hom<Self, G, LinFun<B, LinSum<A, B>>>;

    /// The vector of the left case; zero of zero.
    fn lcastl<G: Obj, A: Linear, B: Linear>() -> Hom<Self, G, LinFun<LinSum<A, B>, A>>;

    /// The vector of the right case; zero of zero.
    fn lcastr<G: Obj, A: Linear, B: Linear>() -> Hom<Self, G, LinFun<LinSum<A, B>, B>>;

    /// The value of a recursive type with these parts, on primal values.
    fn roll_primal<F: Functor, S: Signature>() -> Hom<Self, P1<S::Of<Mu<S>>, F>, P1<Mu<S>, F>>;

    /// The parts of a value of a recursive type, on primal values.
    fn unroll_primal<F: Functor, S: Signature>() -> Hom<Self, P1<Mu<S>, F>, P1<S::Of<Mu<S>>, F>>;

    /// The (co)tangent of a value of a recursive type from those of its parts.
    fn lroll<F: Functor, G: Obj, S: Signature>() -> Hom<Self, G, LinFun<P2<S::Of<Mu<S>>, F>, P2<Mu<S>, F>>>;

    /// The (co)tangents of the parts from that of the value.
    fn lunroll<F: Functor, G: Obj, S: Signature>() -> Hom<Self, G, LinFun<P2<Mu<S>, F>, P2<S::Of<Mu<S>>, F>>>;
}

/// The primal values of a function: each value comes with a linear function.
pub type WithLinear<A, B, L> = Fun<A, Prod<B, L>>;

/// A target with loops over arrays, and the linear functions of their derivatives ("CHAD", section 10).
///
/// A stack of elements has primal values `P1<A::Stacked, F>`, and (co)tangents `P2<A::Stacked, F>`.
pub trait ArrayTarget: Target + Arrays {
    /// Applies a function to every element, and keeps the primal values of its results.
    fn map_primal<F: Functor, A: Stack, B: Stack, L: Linear>()
    -> Hom<Self, Prod<WithLinear<P1<A, F>, P1<B, F>, L>, P1<A::Stacked, F>>, P1<B::Stacked, F>>;

    /// A left fold on primal values: all states before the final one, stacked, and the final state.
    fn scan_primal<F: Functor, S: Stack, A: Stack, L: Linear>() -> Hom<
        Self,
        Prod<WithLinear<Prod<P1<S, F>, P1<A, F>>, P1<S, F>, L>, Prod<P1<S, F>, P1<A::Stacked, F>>>,
        Prod<P1<S::Stacked, F>, P1<S, F>>,
    >;

    /// `vs -> zip xs vs`: the copower of the elements of an array with the vectors at their positions.
    fn lzip<F: Functor, G: Obj, A: Stack, B: Stack>(
        xs: Hom<Self, G, P1<A::Stacked, F>>,
    ) -> Hom<Self, G, LinFun<P2<B::Stacked, F>, Copower<P1<A, F>, P2<B, F>>>>;

    /// `vs -> zipWith (snd . f) xs vs`; `V` and `W` are the (co)tangents of two types, in this or the other order.
    fn lzip_with<F: Functor, G: Obj, A: Stack, B: Stack, V: Stack, W: Stack>(
        f: Hom<Self, G, WithLinear<P1<A, F>, P1<B, F>, LinFun<P2<V, F>, P2<W, F>>>>,
        xs: Hom<Self, G, P1<A::Stacked, F>>,
    ) -> Hom<Self, G, LinFun<P2<V::Stacked, F>, P2<W::Stacked, F>>>;

    /// `f -> map f xs`.
    fn lmap<F: Functor, G: Obj, A: Stack, B: Stack>(
        xs: Hom<Self, G, P1<A::Stacked, F>>,
    ) -> Hom<Self, G, LinFun<Fun<P1<A, F>, P2<B, F>>, P2<B::Stacked, F>>>;

    /// The reverse pass of a fold: from the cotangent of the final state to that of the initial state, with the
    /// cotangents of the results of all steps, and of all elements.
    fn lunfold<F: Functor, G: Obj, S: Stack, A: Stack>(
        f: Hom<Self, G, WithLinear<Prod<P1<S, F>, P1<A, F>>, P1<S, F>, LinFun<P2<S, F>, Prod<P2<S, F>, P2<A, F>>>>>,
        trips: Hom<Self, G, Prod<P1<S::Stacked, F>, P1<A::Stacked, F>>>,
    ) -> Hom<Self, G, LinFun<P2<S, F>, Prod<P2<S, F>, Prod<P2<S::Stacked, F>, P2<A::Stacked, F>>>>>;

    /// The tangents of a fold: from those of the function, the initial state and the elements to that of the final
    /// state.
    fn lfold<F: Functor, G: Obj, S: Stack, A: Stack>(
        f: Hom<Self, G, WithLinear<Prod<P1<S, F>, P1<A, F>>, P1<S, F>, LinFun<Prod<P2<S, F>, P2<A, F>>, P2<S, F>>>>,
        trips: Hom<Self, G, Prod<P1<S::Stacked, F>, P1<A::Stacked, F>>>,
    ) -> Hom<Self, G, LinFun<Prod<Fun<Prod<P1<S, F>, P1<A, F>>, P2<S, F>>, Prod<P2<S, F>, P2<A::Stacked, F>>>, P2<S, F>>>;
}
