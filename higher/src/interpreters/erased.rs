//! `Erased<T>`: an instance without types.
//!
//! A program at this instance is a program of the instance `T` at one universal type, so that rustc instantiates a rule
//! of a transformation once, whatever the types of programs are. Without it, the derivative of order `n` of a program
//! has `c^n` instantiations for each combinator, at types that become longer with each order. The rules themselves stay
//! typed: only programs between two transformations lose their types. Law: a program has the same meaning at `Erased<T>`
//! as at `T`.

use std::marker::PhantomData;
use std::panic::Location;

use crate::{
    ArrayTarget, Arrays, Ccc, Differential, Expr, Functor, Ground, Language, Layout, Linear, Obj, Primitive, Stack,
    Stacks, Target, TypeParts,
};

/// Programs of the instance `T`, without types.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{Erased, Run};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at())
/// }
/// let program = square::<Erased<Run<Array>>>();
/// assert_eq!(higher::run(Erased::typed(program), &tensor(3.0)), tensor(9.0));
/// ```
pub struct Erased<T>(PhantomData<T>);

/// The type of all values.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::erased::Any;
/// use polygrad_higher::interpreters::{Erased, Morphism, Run};
/// use polygrad_higher::{self as higher, Ccc, Expr, Real};
/// // Every program without types is a program from `Any` to `Any`.
/// let program: Morphism<Array, Any, Any> = Erased::<Run<Array>>::id::<Real>();
/// let typed: Expr<Run<Array>, Real, Real> = Expr::of(Run::<Array>::retyped(program));
/// assert_eq!(higher::run(typed, &tensor(3.0)), tensor(3.0));
/// ```
pub struct Any;

impl Obj for Any {
    type D1<F: Functor> = Any;
    type D2<F: Functor> = Any;
}

impl Linear for Any {}

impl Stacks for Any {
    type One = Any;
    type Many = Any;
}

impl TypeParts for Any {
    type Of = Any;
}

/// A program without types.
type Untyped<T> = <T as Ccc>::Hom<Any, Any>;

/// The morphism at the types that its use needs.
macro_rules! at {
    ($f:expr) => {
        T::retyped($f)
    };
}

impl<T: Ccc> Erased<T> {
    /// The program with types.
    ///
    /// Example: [`Erased`].
    pub fn typed<A: Obj, B: Obj>(program: Expr<Erased<T>, A, B>) -> Expr<T, A, B> {
        Expr::of(T::retyped(program.hom()))
    }
}

impl<T: Ccc> Ccc for Erased<T> {
    type Hom<A: Obj, B: Obj> = Untyped<T>;

    fn retyped<A: Obj, B: Obj, C: Obj, D: Obj>(f: Untyped<T>) -> Untyped<T> {
        f
    }

    fn id<A: Obj>() -> Untyped<T> {
        T::id()
    }

    fn then<A: Obj, B: Obj, C: Obj>(f: Untyped<T>, g: Untyped<T>) -> Untyped<T> {
        T::then(f, g)
    }

    fn unit<A: Obj>() -> Untyped<T> {
        at!(T::unit::<Any>())
    }

    fn pair<A: Obj, B: Obj, C: Obj>(f: Untyped<T>, g: Untyped<T>) -> Untyped<T> {
        at!(T::pair(f, g))
    }

    fn fst<A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::fst::<Any, Any>())
    }

    fn snd<A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::snd::<Any, Any>())
    }

    fn curry<A: Obj, B: Obj, C: Obj>(f: Untyped<T>) -> Untyped<T> {
        at!(T::curry::<Any, Any, Any>(at!(f)))
    }

    fn eval<A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::eval::<Any, Any>())
    }

    fn bind<G: Obj, A: Obj, B: Obj>(value: Untyped<T>, body: Untyped<T>) -> Untyped<T> {
        T::bind::<Any, Any, Any>(value, at!(body))
    }
}

impl<T: Language> Language for Erased<T> {
    fn prim<P: Primitive>(p: P) -> Untyped<T> {
        at!(T::prim(p))
    }

    fn written<A: Obj, B: Obj>(f: Untyped<T>, place: &'static Location<'static>) -> Untyped<T> {
        T::written(f, place)
    }

    fn inl<A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::inl::<Any, Any>())
    }

    fn inr<A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::inr::<Any, Any>())
    }

    fn case<G: Obj, A: Obj, B: Obj, C: Obj>(left: Untyped<T>, right: Untyped<T>) -> Untyped<T> {
        at!(T::case::<Any, Any, Any, Any>(at!(left), at!(right)))
    }

    fn test() -> Untyped<T> {
        at!(T::test())
    }

    fn iterate<G: Obj, S: Obj, R: Obj>(step: Untyped<T>) -> Untyped<T> {
        at!(T::iterate::<Any, Any, Any>(at!(step)))
    }

    fn roll<K: TypeParts>() -> Untyped<T> {
        at!(T::roll::<K>())
    }

    fn unroll<K: TypeParts>() -> Untyped<T> {
        at!(T::unroll::<K>())
    }

    fn fix<G: Obj, A: Obj, B: Obj>(body: Untyped<T>) -> Untyped<T> {
        at!(T::fix::<Any, Any, Any>(at!(body)))
    }
}

impl<T: Target> Target for Erased<T> {
    fn iterate_pulled<G: Obj, S: Obj, R: Obj, W: Obj, Q: Obj, V: Obj>(step: Untyped<T>) -> Untyped<T> {
        at!(T::iterate_pulled::<Any, Any, Any, Any, Any, Any>(at!(step)))
    }

    fn fix_pulled<G: Obj, A: Obj, B: Obj, W: Obj, V: Obj, U: Obj>(body: Untyped<T>) -> Untyped<T> {
        at!(T::fix_pulled::<Any, Any, Any, Any, Any, Any>(at!(body)))
    }

    fn primal<P: Primitive, A: Obj, B: Obj>(p: P) -> Untyped<T> {
        T::primal(p)
    }

    fn pushforward<P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> Untyped<T> {
        at!(T::pushforward::<P, Any, Any, Any>(p))
    }

    fn pullback<P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> Untyped<T> {
        at!(T::pullback::<P, Any, Any, Any>(p))
    }

    fn differences<P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> Untyped<T> {
        at!(T::differences::<P, Any, Any, Any>(p))
    }

    fn lspread<G: Obj, A: Obj, B: Obj>(from: Layout, to: Layout) -> Untyped<T> {
        at!(T::lspread::<Any, Any, Any>(from, to))
    }

    fn zero<G: Obj, A: Obj>() -> Untyped<T> {
        T::zero()
    }

    fn plus<G: Obj, A: Obj>(a: Untyped<T>, b: Untyped<T>) -> Untyped<T> {
        T::plus(a, b)
    }

    fn lapp<G: Obj, A: Obj, B: Obj>(f: Untyped<T>, v: Untyped<T>) -> Untyped<T> {
        T::lapp::<Any, Any, Any>(at!(f), v)
    }

    fn lid<G: Obj, A: Obj>() -> Untyped<T> {
        at!(T::lid::<Any, Any>())
    }

    fn lcomp<G: Obj, A: Obj, B: Obj, C: Obj>(f: Untyped<T>, g: Untyped<T>) -> Untyped<T> {
        at!(T::lcomp::<Any, Any, Any, Any>(at!(f), at!(g)))
    }

    fn lpair<G: Obj, A: Obj, B: Obj, C: Obj>(f: Untyped<T>, g: Untyped<T>) -> Untyped<T> {
        at!(T::lpair::<Any, Any, Any, Any>(at!(f), at!(g)))
    }

    fn lfst<G: Obj, A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::lfst::<Any, Any, Any>())
    }

    fn lsnd<G: Obj, A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::lsnd::<Any, Any, Any>())
    }

    fn lswap<G: Obj, A: Obj, B: Obj, C: Obj>(f: Untyped<T>) -> Untyped<T> {
        at!(T::lswap::<Any, Any, Any, Any>(at!(f)))
    }

    fn leval<G: Obj, A: Obj, B: Obj>(a: Untyped<T>) -> Untyped<T> {
        at!(T::leval::<Any, Any, Any>(a))
    }

    fn singleton<G: Obj, A: Obj, B: Obj>(a: Untyped<T>) -> Untyped<T> {
        at!(T::singleton::<Any, Any, Any>(a))
    }

    fn lcopowfold<G: Obj, A: Obj, B: Obj, C: Obj>(f: Untyped<T>) -> Untyped<T> {
        at!(T::lcopowfold::<Any, Any, Any, Any>(at!(f)))
    }

    fn lcopowsum<G: Obj, A: Obj, B: Obj, C: Obj>(f: Untyped<T>) -> Untyped<T> {
        at!(T::lcopowsum::<Any, Any, Any, Any>(at!(f)))
    }

    fn linear<G: Obj, A: Obj, B: Obj>(f: Untyped<T>) -> Untyped<T> {
        at!(T::linear::<Any, Any, Any>(at!(f)))
    }

    fn lbind<G: Obj, A: Obj, B: Obj, C: Obj>(body: Untyped<T>, value: Untyped<T>) -> Untyped<T> {
        at!(T::lbind::<Any, Any, Any, Any>(at!(body), at!(value)))
    }

    fn linl<G: Obj, A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::linl::<Any, Any, Any>())
    }

    fn linr<G: Obj, A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::linr::<Any, Any, Any>())
    }

    fn lcastl<G: Obj, A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::lcastl::<Any, Any, Any>())
    }

    fn lcastr<G: Obj, A: Obj, B: Obj>() -> Untyped<T> {
        at!(T::lcastr::<Any, Any, Any>())
    }

    fn lroll<G: Obj, K: TypeParts>() -> Untyped<T> {
        at!(T::lroll::<Any, Any>())
    }

    fn lunroll<G: Obj, K: TypeParts>() -> Untyped<T> {
        at!(T::lunroll::<Any, Any>())
    }
}

impl<T: Arrays> Arrays for Erased<T> {
    fn map<A: Stack, B: Stack>() -> Untyped<T> {
        at!(T::map::<A, B>())
    }

    fn fold<S: Stack, A: Stack>() -> Untyped<T> {
        at!(T::fold::<S, A>())
    }
}

impl<T: Differential> Differential for Erased<T> {
    fn vjp<A: Ground, B: Ground>() -> Untyped<T> {
        at!(T::vjp::<A, B>())
    }

    fn jvp<A: Ground, B: Ground>() -> Untyped<T> {
        at!(T::jvp::<A, B>())
    }
}

impl<T: ArrayTarget> ArrayTarget for Erased<T> {
    fn map_over<A: Stacks, B: Stacks>() -> Untyped<T> {
        at!(T::map_over::<Any, Any>())
    }

    fn fold_over<S: Stacks, A: Stacks>() -> Untyped<T> {
        at!(T::fold_over::<Any, Any>())
    }

    fn accumulate<S: Stacks, A: Stacks, B: Stacks>(reverse: bool) -> Untyped<T> {
        at!(T::accumulate::<Any, Any, Any>(reverse))
    }

    fn lzip<G: Obj, A: Stacks, V: Stacks>(xs: Untyped<T>) -> Untyped<T> {
        at!(T::lzip::<Any, Any, Any>(xs))
    }

    fn lzip_with<G: Obj, A: Stacks, V: Stacks, W: Stacks>(f: Untyped<T>, xs: Untyped<T>) -> Untyped<T> {
        at!(T::lzip_with::<Any, Any, Any, Any>(at!(f), xs))
    }

    fn lmap<G: Obj, A: Stacks, B: Stacks>(xs: Untyped<T>) -> Untyped<T> {
        at!(T::lmap::<Any, Any, Any>(xs))
    }

    fn laccumulate<G: Obj, A: Stacks, S: Stacks, V: Stacks, W: Stacks>(
        reverse: bool,
        f: Untyped<T>,
        xs: Untyped<T>,
    ) -> Untyped<T> {
        at!(T::laccumulate::<Any, Any, Any, Any, Any>(reverse, at!(f), xs))
    }
}
