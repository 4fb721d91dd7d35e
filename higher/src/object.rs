//! Objects: the types of the higher-order language, as type codes.
//!
//! A code has no values. An instance determines the values of a code; a program transformation maps codes to codes
//! ([`Functor`]). So rustc checks the typing rules of the language, and those of its transformations: "CHAD", sections
//! 7.4 and 7.5, are the associated types `D1` and `D2`.
//!
//! Law: `D1` and `D2` are determined by the functor's codes for arrays, functions, linear functions and formal sums.
//! Products and sums are mapped component by component. So the types of the target language are types of programs
//! again, and a transformation applies to its own results.

use std::marker::PhantomData;

use polygrad::base::BaseTensor;
use polygrad::dtype::{DType, Elem};
use polygrad::tensor::Tensor;
use polygrad::tree::Tree;

/// The object with one value.
///
/// Example: [`unit`](fn@crate::unit).
pub struct Unit;

/// Arrays of rank `D` with elements `E`.
///
/// ```
/// use polygrad::{Tensor, tensor};
/// use polygrad_higher::{self as higher, Arr, Expr, Int, Language, Mask, Matrix, Prod, Real, Vector, fun1, fun2};
/// /// The sum of an array of rank 3.
/// fn total<C: Language>() -> Expr<C, Arr<3>, Real> {
///     fun1(|x| x.at().sum())
/// }
/// fn product<C: Language>() -> Expr<C, Prod<Matrix, Vector>, Vector> {
///     fun2(|w, x| w.at().matvec(x.at()))
/// }
/// fn element<C: Language>() -> Expr<C, Prod<Vector, Int>, Real> {
///     fun2(|xs, k| xs.at().gather(k.at()))
/// }
/// fn ordered<C: Language>() -> Expr<C, Prod<Real, Real>, Mask> {
///     fun2(|x, y| x.at().less(y.at()))
/// }
/// let (w, x) = (tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 10.0]));
/// assert_eq!(higher::run(total(), &Tensor::ones([2, 3, 4])), tensor(24.0));
/// assert_eq!(higher::run(product(), &(w, x.clone())), tensor([21.0, 43.0]));
/// assert_eq!(higher::run(element(), &(x.clone(), tensor(1))), tensor(10.0));
/// assert_eq!(higher::run(element(), &(x, tensor(2))), tensor(0.0));
/// assert_eq!(higher::run(ordered(), &(tensor(1.0), tensor(2.0))), tensor(true));
/// ```
pub struct Arr<const D: usize, E = f64>(PhantomData<E>);

/// Numbers: arrays of rank 0 of `f64`.
///
/// Example: [`Arr`].
pub type Real = Arr<0>;

/// Vectors: arrays of rank 1 of `f64`.
///
/// Example: [`Arr`].
pub type Vector = Arr<1>;

/// Matrices: arrays of rank 2 of `f64`.
///
/// Example: [`Arr`].
pub type Matrix = Arr<2>;

/// Integers: indices, which are arrays of rank 0 of `i64`.
///
/// Example: [`Arr`].
pub type Int = Arr<0, i64>;

/// Masks: the results of comparisons, which are arrays of rank 0 of `bool`.
///
/// Example: [`Arr`].
pub type Mask = Arr<0, bool>;

/// Arrays of values that no array of tensors represents, such as functions.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Fun, Many, Real, Vector, fun1, lam, num};
/// /// For each element `x` the function `z -> x z`.
/// fn scales<C: Arrays>() -> Expr<C, Vector, Many<Fun<Real, Real>>> {
///     fun1(|xs| xs.at().map(lam(|x| lam(|z| x.at() * z.at()))))
/// }
/// fn at_ten<C: Arrays>() -> Expr<C, Vector, Vector> {
///     fun1(|xs| scales().call(xs.at()).map(lam(|f| f.at().app(num(10.0)))))
/// }
/// assert_eq!(higher::run(at_ten(), &tensor([1.0, 2.0])), tensor([10.0, 20.0]));
/// ```
pub struct Many<A>(PhantomData<A>);

/// Pairs of a value of `A` and one of `B`.
///
/// Example: [`tup`](crate::tup).
pub struct Prod<A, B>(PhantomData<(A, B)>);

/// Either a value of `A`, or one of `B`.
///
/// Example: [`case`](crate::case).
pub struct Sum<A, B>(PhantomData<(A, B)>);

/// Functions from `A` to `B`.
///
/// Example: [`lam`](crate::lam).
pub struct Fun<A, B>(PhantomData<(A, B)>);

/// Linear functions from `A` to `B`: the abstract type `LFun` of "CHAD", Fig. 8.
///
/// Example: [`Target::lapp`](crate::Target::lapp).
pub struct LinFun<A, B>(PhantomData<(A, B)>);

/// Formal sums of points of `A` with vectors of `B`: the abstract type `Copower`, written `!A (x) B`.
///
/// Example: [`Target::lcopowsum`](crate::Target::lcopowsum).
pub struct Copower<A, B>(PhantomData<(A, B)>);

/// A vector of `A` or one of `B`, or zero: the (co)tangents of a sum.
///
/// Example: [`Target::lcastl`](crate::Target::lcastl).
pub struct LinSum<A, B>(PhantomData<(A, B)>);

/// The values of a commutative monoid of the host language.
///
/// ```
/// use std::any::TypeId;
/// use polygrad_higher::interpreters::{Dependency, Generators};
/// use polygrad_higher::{Mono, Parity};
/// // The cotangents of an analysis of dependencies are values of a monoid, whatever the array is.
/// type Cotangent = <Dependency<Parity> as Generators>::Cotangent<2, f64>;
/// assert_eq!(TypeId::of::<Cotangent>(), TypeId::of::<Mono<Parity>>());
/// ```
pub struct Mono<M>(PhantomData<M>);

/// A type of the language.
///
/// ```
/// use std::any::TypeId;
/// use polygrad_higher::interpreters::chad::Forwards;
/// use polygrad_higher::{Fun, Int, Obj, Prod, Real, Unit};
/// // Tangents in forward mode: those of an integer are of the unit type, those of a function are functions.
/// type OfPair = <Prod<Real, Int> as Obj>::D2<Forwards>;
/// assert_eq!(TypeId::of::<OfPair>(), TypeId::of::<Prod<Real, Unit>>());
/// type OfFunction = <Fun<Real, Real> as Obj>::D2<Forwards>;
/// assert_eq!(TypeId::of::<OfFunction>(), TypeId::of::<Fun<Real, Real>>());
/// ```
pub trait Obj: 'static {
    /// The code of primal values under a transformation.
    type D1<F: Functor>: Obj;
    /// The code of tangents, or cotangents, under a transformation.
    type D2<F: Functor>: Linear;
}

/// A type whose values are a commutative monoid: they can be added, and one of them is zero.
///
/// Example: [`Target::lapp`](crate::Target::lapp).
pub trait Linear: Obj {}

/// The action of a program transformation on types.
///
/// ```
/// use std::any::TypeId;
/// use polygrad_higher::{Element, Fun, Functor, LinFun, Obj, Prod, Real, Unit};
/// /// A transformation in which functions have no tangents.
/// struct Plain;
/// impl Functor for Plain {
///     type Arr2<const D: usize, E: Element> = E::Tangent<D>;
///     type Fun1<A: Obj, B: Obj> = Fun<A::D1<Self>, B::D1<Self>>;
///     type Fun2<A: Obj, B: Obj> = Unit;
///     type Lin1<A: Obj, B: Obj> = LinFun<A::D1<Self>, B::D1<Self>>;
///     type Copower2<A: Obj, B: Obj> = Unit;
/// }
/// type Tangent = <Prod<Real, Fun<Real, Real>> as Obj>::D2<Plain>;
/// assert_eq!(TypeId::of::<Tangent>(), TypeId::of::<Prod<Real, Unit>>());
/// ```
pub trait Functor: Sized + 'static {
    /// The (co)tangents of arrays.
    type Arr2<const D: usize, E: Element>: Linear;
    /// The primal values of functions.
    type Fun1<A: Obj, B: Obj>: Obj;
    /// The (co)tangents of functions, and of linear functions.
    type Fun2<A: Obj, B: Obj>: Linear;
    /// The primal values of linear functions: a linear function, with its derivative.
    type Lin1<A: Obj, B: Obj>: Obj;
    /// The (co)tangents of formal sums of points of `A` with vectors of `B`.
    type Copower2<A: Obj, B: Obj>: Linear;
}

/// An element type, with the (co)tangents of its arrays.
///
/// ```
/// use polygrad::DType;
/// use polygrad_higher::{Element, Ground, Layout};
/// /// The structure of the tangents of vectors.
/// fn tangents<E: Element>() -> Layout {
///     E::Tangent::<1>::layout()
/// }
/// assert_eq!(tangents::<f32>(), Layout::Leaf(1, DType::F32));
/// assert_eq!(tangents::<i64>(), Layout::Unit);
/// ```
pub trait Element: Elem {
    /// Arrays of the same rank and element type for floats; the unit for integers and masks ("The Differentiable
    /// Curry", Fig. 6).
    type Tangent<const D: usize>: Linear + Ground;
}

impl Element for f64 {
    type Tangent<const D: usize> = Arr<D, f64>;
}

impl Element for f32 {
    type Tangent<const D: usize> = Arr<D, f32>;
}

impl Element for i64 {
    type Tangent<const D: usize> = Unit;
}

impl Element for bool {
    type Tangent<const D: usize> = Unit;
}

/// The parts of a ground type.
///
/// Closed: these are the ground types of the language.
///
/// Example: [`Ground::read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// No part.
    Unit,
    /// One array, of this rank and element type.
    Leaf(usize, DType),
    /// Two parts.
    Pair(Box<Layout>, Box<Layout>),
}

/// A type without functions and sums: its values are trees of tensors.
///
/// ```
/// use polygrad::tree::Tree;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::{Ground, Prod, Real, Vector};
/// /// The number of elements of all arrays in a value.
/// fn elements<A: Ground>(x: &A::Value<Array>) -> usize {
///     x.leaves().iter().map(Array::size).sum()
/// }
/// assert_eq!(elements::<Prod<Real, Vector>>(&(tensor(1.0), tensor([2.0, 3.0]))), 3);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of tensors",
    label = "inputs and results of a program that runs are tensors and pairs of them",
    note = "apply a function, or take a case, before the program ends"
)]
pub trait Ground: Obj {
    /// The values, in the host language, over an interpreter `T` of tensors.
    type Value<T: BaseTensor>: Tree<T>;
    /// The (co)tangents of values.
    type Tangent: Linear + Ground;

    /// The structure of the type's values as trees of arrays.
    ///
    /// Example: [`Ground::read`].
    fn layout() -> Layout;

    /// The value with these leaves.
    ///
    /// ```
    /// use polygrad::{Array, DType, tensor};
    /// use polygrad_higher::{Ground, Int, Layout, Prod, Vector};
    /// let value = <Prod<Vector, Int>>::read(&mut [Array::from([2.0, 3.0]), Array::scalar(1)].into_iter());
    /// assert_eq!(value, (tensor([2.0, 3.0]), tensor(1)));
    /// let parts = (Layout::Leaf(1, DType::F64), Layout::Leaf(0, DType::I64));
    /// assert_eq!(<Prod<Vector, Int>>::layout(), Layout::Pair(Box::new(parts.0), Box::new(parts.1)));
    /// ```
    fn read<T: BaseTensor>(leaves: &mut dyn Iterator<Item = T>) -> Self::Value<T>;
}

/// A type of elements of arrays: tensors, functions, and pairs of them.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Real, Stack, Vector};
/// /// The array of three equal elements, of any type of elements.
/// fn three<C: Arrays, A: Stack>() -> Expr<C, A, A::Stacked> {
///     Expr::of(C::then(C::curry(C::fst()), C::build::<A>(3)))
/// }
/// assert_eq!(higher::run(three::<_, Real>(), &tensor(2.0)), tensor([2.0, 2.0, 2.0]));
/// assert_eq!(higher::run(three::<_, Vector>(), &tensor([2.0])), tensor([[2.0], [2.0], [2.0]]));
/// ```
#[diagnostic::on_unimplemented(
    message = "no array has elements of type `{Self}`",
    label = "not a type of elements",
    note = "the elements of arrays are tensors, functions and pairs of them; a case is taken within the loop"
)]
pub trait Stack: Obj {
    /// Values of this type along a new outermost axis, structure of arrays.
    type Stacked: Rows<Row = Self>;
}

/// A type of arrays along an outermost axis.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Matrix, Rows, fun1, lam};
/// /// The same array, made of its elements one by one.
/// fn again<C: Arrays, X: Rows>() -> Expr<C, X, X> {
///     fun1(|xs| xs.at().map(lam(|x| x.at())))
/// }
/// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(higher::run(again::<_, Matrix>(), &x), x);
/// ```
#[diagnostic::on_unimplemented(
    message = "a loop cannot run over `{Self}`",
    label = "not an array, and no pair of arrays",
    note = "loops run over arrays of rank 1 or more, and pairs of them; `replicate` makes one of a number"
)]
pub trait Rows: Obj {
    /// The type of their elements.
    type Row: Stack<Stacked = Self>;
}

/// A type of rows with the type of their stacks, both as codes: under a transformation, the types of a [`Stack`] are
/// arrays of rows still, which rustc cannot conclude.
///
/// ```
/// use std::any::TypeId;
/// use polygrad_higher::object::RowsOf;
/// use polygrad_higher::{Fun, Many, Matrix, Prod, Real, Stacks, Unit, Vector};
/// /// Whether a type of rows with that of stacks is this pair of types.
/// fn is<K: Stacks, A: 'static, B: 'static>() -> bool {
///     TypeId::of::<(K::One, K::Many)>() == TypeId::of::<(A, B)>()
/// }
/// assert!(is::<RowsOf<Vector>, Vector, Matrix>());
/// assert!(is::<Prod<RowsOf<Real>, Unit>, Prod<Real, Unit>, Prod<Vector, Unit>>());
/// assert!(is::<RowsOf<Fun<Real, Real>>, Fun<Real, Real>, Many<Fun<Real, Real>>>());
/// ```
pub trait Stacks: 'static {
    /// The type of a row.
    type One: Obj;
    /// The type of a stack of rows.
    type Many: Obj;
}

/// A type of elements, and that of their arrays.
///
/// Example: [`Stacks`].
pub struct RowsOf<A>(PhantomData<A>);

/// The primal values of rows and stacks under a functor.
///
/// ```
/// use std::any::TypeId;
/// use polygrad_higher::interpreters::chad::Forwards;
/// use polygrad_higher::object::{Cotangents, Primals, RowsOf};
/// use polygrad_higher::{Int, Real, Stacks, Unit, Vector};
/// type Values = Primals<RowsOf<Real>, Forwards>;
/// assert_eq!(TypeId::of::<<Values as Stacks>::Many>(), TypeId::of::<Vector>());
/// // Integers have no tangents, and arrays of integers have none.
/// type Tangents = Cotangents<RowsOf<Int>, Forwards>;
/// assert_eq!(TypeId::of::<<Tangents as Stacks>::Many>(), TypeId::of::<Unit>());
/// ```
pub struct Primals<K, F>(PhantomData<(K, F)>);

/// The (co)tangents of rows and stacks under a functor.
///
/// Example: [`Primals`].
pub struct Cotangents<K, F>(PhantomData<(K, F)>);

impl<A: Stack> Stacks for RowsOf<A> {
    type One = A;
    type Many = A::Stacked;
}

impl<K: Stacks, F: Functor> Stacks for Primals<K, F> {
    type One = <K::One as Obj>::D1<F>;
    type Many = <K::Many as Obj>::D1<F>;
}

impl<K: Stacks, F: Functor> Stacks for Cotangents<K, F> {
    type One = <K::One as Obj>::D2<F>;
    type Many = <K::Many as Obj>::D2<F>;
}

/// Pairs of rows.
impl<K: Stacks, L: Stacks> Stacks for Prod<K, L> {
    type One = Prod<K::One, L::One>;
    type Many = Prod<K::Many, L::Many>;
}

/// No rows.
impl Stacks for Unit {
    type One = Unit;
    type Many = Unit;
}

impl Obj for Unit {
    type D1<F: Functor> = Unit;
    type D2<F: Functor> = Unit;
}

impl Linear for Unit {}

impl Ground for Unit {
    type Value<T: BaseTensor> = ();
    type Tangent = Unit;

    fn layout() -> Layout {
        Layout::Unit
    }

    fn read<T: BaseTensor>(_: &mut dyn Iterator<Item = T>) {}
}

impl Stack for Unit {
    type Stacked = Unit;
}

impl Rows for Unit {
    type Row = Unit;
}

impl<const D: usize, E: Element> Obj for Arr<D, E> {
    type D1<F: Functor> = Arr<D, E>;
    type D2<F: Functor> = F::Arr2<D, E>;
}

impl<const D: usize> Linear for Arr<D, f64> {}
impl<const D: usize> Linear for Arr<D, f32> {}

impl<const D: usize, E: Element> Ground for Arr<D, E> {
    type Value<T: BaseTensor> = Tensor<T, D, E>;
    type Tangent = E::Tangent<D>;

    fn layout() -> Layout {
        Layout::Leaf(D, E::DTYPE)
    }

    fn read<T: BaseTensor>(leaves: &mut dyn Iterator<Item = T>) -> Tensor<T, D, E> {
        Tensor::from_raw(leaves.next().expect("a leaf for each array"))
    }
}

macro_rules! stacks {
    ($($d:literal $above:literal,)*) => { $(
        impl<E: Element> Stack for Arr<$d, E> {
            type Stacked = Arr<$above, E>;
        }

        impl<E: Element> Rows for Arr<$above, E> {
            type Row = Arr<$d, E>;
        }
    )* };
}

stacks! { 0 1, 1 2, 2 3, 3 4, 4 5, 5 6, }

impl<A: Obj, B: Obj> Obj for Prod<A, B> {
    type D1<F: Functor> = Prod<A::D1<F>, B::D1<F>>;
    type D2<F: Functor> = Prod<A::D2<F>, B::D2<F>>;
}

impl<A: Linear, B: Linear> Linear for Prod<A, B> {}

impl<A: Ground, B: Ground> Ground for Prod<A, B> {
    type Value<T: BaseTensor> = (A::Value<T>, B::Value<T>);
    type Tangent = Prod<A::Tangent, B::Tangent>;

    fn layout() -> Layout {
        Layout::Pair(Box::new(A::layout()), Box::new(B::layout()))
    }

    fn read<T: BaseTensor>(leaves: &mut dyn Iterator<Item = T>) -> Self::Value<T> {
        let first = A::read(leaves);
        (first, B::read(leaves))
    }
}

impl<A: Stack, B: Stack> Stack for Prod<A, B> {
    type Stacked = Prod<A::Stacked, B::Stacked>;
}

impl<A: Rows, B: Rows> Rows for Prod<A, B> {
    type Row = Prod<A::Row, B::Row>;
}

impl<A: Obj, B: Obj> Obj for Sum<A, B> {
    type D1<F: Functor> = Sum<A::D1<F>, B::D1<F>>;
    type D2<F: Functor> = LinSum<A::D2<F>, B::D2<F>>;
}

impl<A: Obj, B: Obj> Obj for Fun<A, B> {
    type D1<F: Functor> = F::Fun1<A, B>;
    type D2<F: Functor> = F::Fun2<A, B>;
}

impl<A: Obj, B: Obj> Stack for Fun<A, B> {
    type Stacked = Many<Fun<A, B>>;
}

impl<A: Obj, B: Obj> Rows for Many<Fun<A, B>> {
    type Row = Fun<A, B>;
}

impl<A: Obj> Obj for Many<A> {
    type D1<F: Functor> = Many<A::D1<F>>;
    type D2<F: Functor> = Many<A::D2<F>>;
}

impl<A: Linear> Linear for Many<A> {}

impl<A: Obj> Stack for Many<A> {
    type Stacked = Many<Many<A>>;
}

impl<A: Obj> Rows for Many<Many<A>> {
    type Row = Many<A>;
}

/// Functions are added pointwise.
impl<A: Obj, B: Linear> Linear for Fun<A, B> {}

/// The signature functor of a recursive type: the type of the parts of a value, where `X` stands for the type itself.
///
/// Example: [`roll`](crate::roll).
pub trait Signature: 'static {
    /// The type of the parts.
    type Of<X: Obj>: Obj;
}

/// The recursive type of a signature: its values are those of `S::Of<Mu<S>>`, between which
/// [`roll`](super::Language::roll) and [`unroll`](super::Language::unroll) convert. Its (co)tangents are those of the
/// parts, so a list has one per element.
///
/// Example: [`roll`](crate::roll).
pub type Mu<S> = Recursive<Knot<S>>;

/// A type that has values with these parts, which may contain values of the type itself.
///
/// Example: [`Knot`].
pub struct Recursive<K>(PhantomData<K>);

/// The parts of the values of a recursive type.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, TypeParts};
/// /// Parts in which the type itself does not occur: a value with one number.
/// struct Boxed;
/// impl TypeParts for Boxed {
///     type Of = Real;
/// }
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     Expr::of(C::then(C::roll::<Boxed>(), C::unroll::<Boxed>()))
/// }
/// assert_eq!(higher::run(program(), &tensor(3.0)), tensor(3.0));
/// ```
pub trait TypeParts: 'static {
    /// The type of the parts.
    type Of: Obj;
}

/// The parts that a signature gives, of the recursive type of the signature.
///
/// ```
/// use std::any::TypeId;
/// use polygrad_higher::object::Knot;
/// use polygrad_higher::{Mu, Obj, Real, Recursive, Signature, Sum, TypeParts};
/// /// A number, or a wrapped value of the type itself.
/// struct Wraps;
/// impl Signature for Wraps {
///     type Of<X: Obj> = Sum<Real, X>;
/// }
/// assert_eq!(TypeId::of::<Mu<Wraps>>(), TypeId::of::<Recursive<Knot<Wraps>>>());
/// assert_eq!(TypeId::of::<<Knot<Wraps> as TypeParts>::Of>(), TypeId::of::<Sum<Real, Mu<Wraps>>>());
/// ```
pub struct Knot<S>(PhantomData<S>);

/// The primal values of parts under a functor.
///
/// ```
/// use std::any::TypeId;
/// use polygrad_higher::interpreters::chad::Forwards;
/// use polygrad_higher::object::{PrimalParts, TangentParts};
/// use polygrad_higher::{Int, Prod, Real, TypeParts, Unit};
/// /// A value with a number and an integer, which has no tangent.
/// struct Boxed;
/// impl TypeParts for Boxed {
///     type Of = Prod<Real, Int>;
/// }
/// assert_eq!(TypeId::of::<<PrimalParts<Boxed, Forwards> as TypeParts>::Of>(), TypeId::of::<Prod<Real, Int>>());
/// assert_eq!(TypeId::of::<<TangentParts<Boxed, Forwards> as TypeParts>::Of>(), TypeId::of::<Prod<Real, Unit>>());
/// ```
pub struct PrimalParts<K, F>(PhantomData<(K, F)>);

/// The (co)tangents of parts under a functor.
///
/// Example: [`PrimalParts`].
pub struct TangentParts<K, F>(PhantomData<(K, F)>);

impl<S: Signature> TypeParts for Knot<S> {
    type Of = S::Of<Mu<S>>;
}

impl<K: TypeParts, F: Functor> TypeParts for PrimalParts<K, F> {
    type Of = <K::Of as Obj>::D1<F>;
}

impl<K: TypeParts, F: Functor> TypeParts for TangentParts<K, F> {
    type Of = <K::Of as Obj>::D2<F>;
}

impl<K: TypeParts> Obj for Recursive<K> {
    type D1<F: Functor> = Recursive<PrimalParts<K, F>>;
    type D2<F: Functor> = Recursive<TangentParts<K, F>>;
}

impl<K: TypeParts, F: Functor> Linear for Recursive<TangentParts<K, F>> {}

impl<A: Obj, B: Obj> Obj for LinFun<A, B> {
    type D1<F: Functor> = F::Lin1<A, B>;
    type D2<F: Functor> = F::Fun2<A, B>;
}

impl<A: Obj, B: Obj> Linear for LinFun<A, B> {}

impl<A: Obj, B: Obj> Obj for Copower<A, B> {
    type D1<F: Functor> = Copower<A::D1<F>, B::D1<F>>;
    type D2<F: Functor> = F::Copower2<A, B>;
}

impl<A: Obj, B: Obj> Linear for Copower<A, B> {}

impl<A: Obj, B: Obj> Obj for LinSum<A, B> {
    type D1<F: Functor> = LinSum<A::D1<F>, B::D1<F>>;
    type D2<F: Functor> = LinSum<A::D2<F>, B::D2<F>>;
}

impl<A: Obj, B: Obj> Linear for LinSum<A, B> {}

/// The values of a monoid have no derivative.
impl<M: Monoid> Obj for Mono<M> {
    type D1<F: Functor> = Mono<M>;
    type D2<F: Functor> = Unit;
}

impl<M: Monoid> Linear for Mono<M> {}

/// A commutative monoid of the host language: what an analysis of programs accumulates ("CHAD", section 11.3).
///
/// Laws: `plus` is associative and commutative, and the default value is its unit.
///
/// ```
/// use polygrad::{Array, tensor};
/// use std::collections::BTreeSet;
/// use polygrad_higher::{self as higher, Expr, Language, Monoid, Prod, Real, fun2};
/// /// The numbers of the results that depend on an input.
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Results(BTreeSet<usize>);
/// impl Monoid for Results {
///     fn plus(&self, other: &Results) -> Results {
///         Results(&self.0 | &other.0)
///     }
/// }
/// fn first<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, _| x.at().sin())
/// }
/// let x = (tensor(1.0), tensor(2.0));
/// let found = higher::dependencies::<_, _, _, Array>(first(), &x, &[Results([0].into())]);
/// assert_eq!(found, [Results([0].into()), Results([].into())]);
/// ```
pub trait Monoid: Clone + Default + std::fmt::Debug + 'static {
    /// The sum.
    ///
    /// Example: [`Monoid`].
    fn plus(&self, other: &Self) -> Self;
}

/// Truth values with exclusive or as the sum: the additive group of the ring of two elements.
///
/// ```
/// use polygrad_higher::{Monoid, Parity};
/// assert_eq!(Parity(true).plus(&Parity(true)), Parity(false));
/// assert_eq!(Parity(true).plus(&Parity::default()), Parity(true));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parity(
    /// Whether the number is odd.
    pub bool,
);

impl Monoid for Parity {
    fn plus(&self, other: &Parity) -> Parity {
        Parity(self.0 ^ other.0)
    }
}
