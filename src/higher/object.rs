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

use crate::base::BaseTensor;
use crate::dtype::{DType, Elem};
use crate::tensor::Tensor;
use crate::tree::Tree;

/// The object with one value.
pub struct Unit;

/// Arrays of rank `D` with elements `E`.
pub struct Arr<const D: usize, E = f64>(PhantomData<E>);

/// Numbers.
pub type Real = Arr<0>;
/// Vectors.
pub type Vector = Arr<1>;
/// Matrices.
pub type Matrix = Arr<2>;
/// Integers: indices.
pub type Int = Arr<0, i64>;
/// Masks: the results of comparisons.
pub type Mask = Arr<0, bool>;

/// Arrays of values that no array of tensors represents, such as functions.
pub struct Many<A>(PhantomData<A>);

/// Pairs.
pub struct Prod<A, B>(PhantomData<(A, B)>);

/// Either a value of `A`, or one of `B`.
pub struct Sum<A, B>(PhantomData<(A, B)>);

/// Functions from `A` to `B`.
pub struct Fun<A, B>(PhantomData<(A, B)>);

/// Linear functions from `A` to `B`: the abstract type `LFun` of "CHAD", Fig. 8.
pub struct LinFun<A, B>(PhantomData<(A, B)>);

/// Formal sums of points of `A` with vectors of `B`: the abstract type `Copower`, written `!A (x) B`.
pub struct Copower<A, B>(PhantomData<(A, B)>);

/// A vector of `A` or one of `B`, or zero: the (co)tangents of a sum.
pub struct LinSum<A, B>(PhantomData<(A, B)>);

/// The values of a commutative monoid of the host language.
pub struct Mono<M>(PhantomData<M>);

/// A type of the language.
pub trait Obj: 'static {
    /// The code of primal values under a transformation.
    type D1<F: Functor>: Obj;
    /// The code of tangents, or cotangents, under a transformation.
    type D2<F: Functor>: Linear;
}

/// A type whose values are a commutative monoid: they can be added, and one of them is zero.
pub trait Linear: Obj {}

/// The action of a program transformation on types.
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of tensors",
    label = "inputs and results of a program that runs are tensors and pairs of them",
    note = "apply a function, or take a case, before the program ends"
)]
pub trait Ground: Obj {
    /// The values, in the host language, over an interpreter `T` of tensors.
    type Value<T: BaseTensor>: Tree<T>;
    /// The (co)tangents of values.
    type Tangent: Linear + Ground;

    /// The structure of the type's values as trees of arrays.
    fn layout() -> Layout;

    /// The value with these leaves.
    fn read<T: BaseTensor>(leaves: &mut dyn Iterator<Item = T>) -> Self::Value<T>;
}

/// A type of elements of arrays: tensors, functions, and pairs of them.
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
pub trait Stacks: 'static {
    /// The type of a row.
    type One: Obj;
    /// The type of a stack of rows.
    type Many: Obj;
}

/// A type of elements, and that of their arrays.
pub struct RowsOf<A>(PhantomData<A>);

/// The primal values of rows and stacks under a functor.
pub struct Primals<K, F>(PhantomData<(K, F)>);

/// The (co)tangents of rows and stacks under a functor.
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
pub trait Signature: 'static {
    /// The type of the parts.
    type Of<X: Obj>: Obj;
}

/// The recursive type of a signature: its values are those of `S::Of<Mu<S>>`, between which
/// [`roll`](super::Language::roll) and [`unroll`](super::Language::unroll) convert. Its (co)tangents are those of the
/// parts, so a list has one per element.
pub type Mu<S> = Recursive<Knot<S>>;

/// A type that has values with these parts, which may contain values of the type itself.
pub struct Recursive<K>(PhantomData<K>);

/// The parts of the values of a recursive type.
pub trait TypeParts: 'static {
    /// The type of the parts.
    type Of: Obj;
}

/// The parts that a signature gives, of the recursive type of the signature.
pub struct Knot<S>(PhantomData<S>);

/// The primal values of parts under a functor.
pub struct PrimalParts<K, F>(PhantomData<(K, F)>);

/// The (co)tangents of parts under a functor.
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
pub trait Monoid: Clone + Default + std::fmt::Debug + 'static {
    /// The sum.
    fn plus(&self, other: &Self) -> Self;
}

/// Truth values with exclusive or as the sum: the additive group of the ring of two elements.
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
