//! CHAD: differentiation as structure-preserving translation into a target with linear functions.
//!
//! [`Reverse`] and [`Forward`] are instances over an instance: a morphism is a program of the target that gives a value
//! together with the (co)tangent function of the morphism. No method matches on the form of programs. Every method is the
//! rule of "CHAD", sections 7.4 and 7.5, in the combinators of Fig. 8, and rustc checks the types of the rules. Law
//! (Corollary 7.1): each is the only functor that preserves the structure and maps primitives to their derivatives.
//!
//! Both are targets again (`reverse_target`, `forward_target`, in the terms of `terms`), so they apply to their own
//! results, to any order. A linear function is its own derivative in the vector. The derivative of a primitive is a
//! primitive (`derived`).
//!
//! The derivatives of primitives are a parameter ([`Generators`]), which may use any commutative monoid (section 11.3).

use std::marker::PhantomData;

use super::{Tangents, pull_primitive, push_primitive};
use crate::linear::{P1, P2};
use crate::{
    Arr, Copower, Element, Fun, Functor, Ground, LinFun, Linear, Mono, Monoid, Obj, Parity, Primitive, Prod, Target,
};

mod derived;
mod forward;
mod forward_target;
mod reverse;
mod reverse_target;
mod terms;

/// The action of a transformation on arrays and primitive operations.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{Generators, Reverse, Syntax};
/// use polygrad_higher::{Element, Expr, Language, LinFun, Obj, Primitive, Real, Target, fun1};
/// /// Twice the derivative of each operation.
/// struct Doubled;
/// impl Generators for Doubled {
///     type Cotangent<const D: usize, E: Element> = E::Tangent<D>;
///
///     fn pullback<T: Target, P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> T::Hom<A, LinFun<W, V>> {
///         T::plus(T::pullback::<P, A, W, V>(p.clone()), T::pullback::<P, A, W, V>(p))
///     }
/// }
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at())
/// }
/// let term = square::<Reverse<Syntax, Doubled>>().hom().term();
/// assert_eq!(term.linear::<Real, Real>(&[Array::scalar(3.0)], &tensor(1.0)), [Some(Array::scalar(12.0))]);
/// ```
pub trait Generators: Sized + 'static {
    /// The cotangents of arrays.
    type Cotangent<const D: usize, E: Element>: Linear;

    /// The linear function of a primitive at its argument, of type `A`, from cotangents of the result, of type `W`, to
    /// those of the argument, of type `V`.
    ///
    /// Example: [`Generators`].
    fn pullback<T: Target, P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> T::Hom<A, LinFun<W, V>>;
}

/// Generators whose linear functions have transposes: the transformation applies to its own results.
///
/// Example: [`Transposable::pushforward`].
pub trait Transposable: Generators {
    /// The transpose of [`pullback`](Generators::pullback).
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::tensor;
    /// use polygrad_higher::interpreters::Derivatives;
    /// use polygrad_higher::interpreters::chad::Transposable;
    /// use polygrad_higher::primitive::Pointwise;
    /// use polygrad_higher::{self as higher, Expr, Real, Target, num};
    /// /// The tangent of `sin x` along the tangent 10 of `x`.
    /// fn program<C: Target>() -> Expr<C, Real, Real> {
    ///     let along = Derivatives::pushforward::<C, _, Real, Real, Real>(Pointwise::<0>(Unary::Sin));
    ///     Expr::of(C::lapp(along, num::<C, _>(10.0).hom()))
    /// }
    /// assert_eq!(higher::run(program(), &tensor(0.5)), tensor(10.0 * 0.5_f64.cos()));
    /// ```
    fn pushforward<T: Target, P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> T::Hom<A, LinFun<V, W>>;
}

/// Derivatives.
///
/// Example: [`Reverse`].
pub struct Derivatives;

impl Generators for Derivatives {
    type Cotangent<const D: usize, E: Element> = E::Tangent<D>;

    fn pullback<T: Target, P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> T::Hom<A, LinFun<W, V>> {
        T::pullback::<P, A, W, V>(p)
    }
}

impl Transposable for Derivatives {
    fn pushforward<T: Target, P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> T::Hom<A, LinFun<V, W>> {
        T::pushforward::<P, A, V, W>(p)
    }
}

/// Dependency analysis: values of a monoid that are propagated from results to the inputs on which they depend. Every
/// input of an operation gets the sum of the values of its results. With sets of results as the monoid, an input gets
/// the results that depend on it; with numbers, the number of paths.
///
/// Example: [`dependencies`](crate::dependencies).
pub struct Dependency<M>(PhantomData<M>);

impl<M: Monoid> Generators for Dependency<M> {
    type Cotangent<const D: usize, E: Element> = Mono<M>;

    fn pullback<T: Target, P: Primitive, A: Obj, W: Obj, V: Obj>(_: P) -> T::Hom<A, LinFun<W, V>> {
        T::lspread(P::Cod::layout(), P::Dom::layout())
    }
}

impl<M: Monoid> Transposable for Dependency<M> {
    fn pushforward<T: Target, P: Primitive, A: Obj, V: Obj, W: Obj>(_: P) -> T::Hom<A, LinFun<V, W>> {
        T::lspread(P::Dom::layout(), P::Cod::layout())
    }
}

/// Formal derivatives over the ring of two elements, of functions of truth values.
///
/// Example: [`formal_derivatives`](crate::formal_derivatives).
pub struct Booleans;

impl Generators for Booleans {
    type Cotangent<const D: usize, E: Element> = Mono<Parity>;

    fn pullback<T: Target, P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> T::Hom<A, LinFun<W, V>> {
        T::differences::<P, A, W, V>(p)
    }
}

/// The types of reverse mode ("CHAD", section 7.5).
///
/// ```
/// use std::any::TypeId;
/// use polygrad_higher::interpreters::Derivatives;
/// use polygrad_higher::interpreters::chad::{Backwards, Forwards};
/// use polygrad_higher::linear::P2;
/// use polygrad_higher::{Copower, Fun, Real, Vector};
/// type Function = Fun<Real, Vector>;
/// // The cotangent of a function: a sum of points with cotangents of the values there.
/// assert_eq!(TypeId::of::<P2<Function, Backwards<Derivatives>>>(), TypeId::of::<Copower<Real, Vector>>());
/// // The tangent of a function: at each point a tangent of the value.
/// assert_eq!(TypeId::of::<P2<Function, Forwards>>(), TypeId::of::<Fun<Real, Vector>>());
/// ```
pub struct Backwards<G>(PhantomData<G>);

impl<G: Generators> Functor for Backwards<G> {
    type Arr2<const D: usize, E: Element> = G::Cotangent<D, E>;
    type Fun1<A: Obj, B: Obj> = Fun<P1<A, Self>, Prod<P1<B, Self>, LinFun<P2<B, Self>, P2<A, Self>>>>;
    type Fun2<A: Obj, B: Obj> = Copower<P1<A, Self>, P2<B, Self>>;
    type Lin1<A: Obj, B: Obj> = Prod<LinFun<P1<A, Self>, P1<B, Self>>, LinFun<P2<B, Self>, P2<A, Self>>>;
    type Copower2<A: Obj, B: Obj> = Fun<P1<A, Self>, Prod<Fun<P1<B, Self>, P2<A, Self>>, P2<B, Self>>>;
}

/// The types of forward mode ("CHAD", section 7.4).
///
/// Example: [`Backwards`].
pub struct Forwards;

impl Functor for Forwards {
    type Arr2<const D: usize, E: Element> = E::Tangent<D>;
    type Fun1<A: Obj, B: Obj> = Fun<P1<A, Self>, Prod<P1<B, Self>, LinFun<P2<A, Self>, P2<B, Self>>>>;
    type Fun2<A: Obj, B: Obj> = Fun<P1<A, Self>, P2<B, Self>>;
    type Lin1<A: Obj, B: Obj> = Prod<LinFun<P1<A, Self>, P1<B, Self>>, LinFun<P2<A, Self>, P2<B, Self>>>;
    type Copower2<A: Obj, B: Obj> =
        Prod<Copower<P1<A, Self>, P2<B, Self>>, Copower<Prod<P1<A, Self>, P1<B, Self>>, P2<A, Self>>>;
}

/// Reverse mode over a target `T`: a morphism gives a value, and the linear function from cotangents of the value to
/// cotangents of the input.
///
/// The transformation is a target itself, so it applies twice: second derivatives, as a program.
///
/// ```
/// use polygrad_higher::interpreters::{Derivatives, Reverse, Syntax};
/// use polygrad_higher::{Expr, Language, Real, fun1};
/// fn cube<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at() * x.at())
/// }
/// let once = cube::<Reverse<Syntax, Derivatives>>().hom();
/// assert!(cube::<Reverse<Reverse<Syntax>>>().hom().size() > once.size());
/// ```
///
/// Other generators than derivatives have no loops over arrays:
///
/// ```compile_fail,E0277
/// use polygrad::Array;
/// use polygrad_higher::Arrays;
/// use polygrad_higher::interpreters::{Booleans, Reverse, Run};
/// fn needs<C: Arrays>() {}
/// needs::<Reverse<Run<Array>, Booleans>>();
/// ```
pub struct Reverse<T, G = Derivatives>(PhantomData<(T, G)>);

/// Forward mode over a target `T`: a morphism gives a value, and the linear function from tangents of the input to
/// tangents of the value.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{Forward, Run, Syntax};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at())
/// }
/// let program = square::<Forward<Run<Array>>>();
/// assert_eq!(higher::jvp(program, &tensor(3.0), &tensor(1.0)), (tensor(9.0), tensor(6.0)));
/// let text = square::<Forward<Syntax>>().hom().term().simplify().to_string();
/// assert_eq!(text, "\\x ->\n  <x * x, \\t1 -> x * t1 + x * t1>");
/// ```
pub struct Forward<T>(PhantomData<T>);

/// An array has a rank, whatever its cotangents are.
const _: fn() = || {
    fn linear<A: Linear>() {}
    linear::<P2<Arr<1>, Backwards<Derivatives>>>();
};
