//! `Tree`: structured parameters. A tensor is a tree; so is a tuple, an array or a vector of trees,
//! and a struct declared in [`tree!`](crate::tree!).
//!
//! Law: mapping the identity gives the same structure back, and every map visits the leaves in the same order, that of
//! [`leaves`](Tree::leaves). Data beside the leaves (names, lengths, contents of [`Keep`]) are copied from the mapped
//! structure.
//!
//! The verbs differentiate with respect to trees; optimizers use the arithmetic of [`TreeMath`]. It requires that a map
//! back to the same interpreter gives the same type, which generic code states once: `P: Tree<T, With<T> = P>`.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{DType, Elem};
use crate::ops::{Binary, Contract, Linear, Unary};
use crate::shape::Show;
use crate::tensor::Tensor;

/// A structure with tensors of the interpreter `T` at its leaves.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tree of tensors of the interpreter `{T}`",
    label = "needs a tensor, a tuple, array, `Vec`, `Option`, `Box` or `BTreeMap` of trees, or a struct declared in `tree!`",
    note = "wrap data without tensors in `Keep`"
)]
pub trait Tree<T: BaseTensor>: Sized {
    /// The same structure over another interpreter.
    type With<U: BaseTensor>: Tree<U>;

    /// The same structure with `f` applied to every leaf, in order.
    ///
    /// # Panics
    /// When `f` changes the rank or the element type of a leaf.
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Self::With<U>;

    /// All leaves, in order.
    fn leaves(&self) -> Vec<T> {
        let mut leaves = Vec::new();
        let keep = &mut |leaf: &T| {
            leaves.push(leaf.clone());
            leaf.clone()
        };
        self.map::<T>(keep);
        leaves
    }

    /// The number of leaves.
    fn count(&self) -> usize {
        let mut count = 0;
        let step = &mut |leaf: &T| {
            count += 1;
            leaf.clone()
        };
        self.map::<T>(step);
        count
    }

    /// The path of each leaf, in order, for a tree that is called `at`: `at` itself for a tensor, `at.weights` for a
    /// field, `at.0` for a part of a tuple or vector. Paths name the inputs and outputs of staged programs. The default
    /// numbers the leaves.
    ///
    /// ```
    /// use polygrad::{Tree, tensor};
    /// let mut paths = Vec::new();
    /// (tensor(1.0), vec![tensor(2.0)]).paths("x", &mut paths);
    /// assert_eq!(paths, ["x.0", "x.1.0"]);
    /// ```
    fn paths(&self, at: &str, out: &mut Vec<String>) {
        let count = self.count();
        out.extend((0..count).map(|k| if count == 1 { at.to_owned() } else { format!("{at}.{k}") }));
    }

    /// The same structure with other leaves, given in order: the inverse of [`leaves`](Tree::leaves).
    ///
    /// # Panics
    /// When there are not as many as this tree has, or one has another rank or element type.
    #[track_caller]
    fn with_leaves<U: BaseTensor>(&self, leaves: Vec<U>) -> Self::With<U> {
        same_count("with_leaves", self.count(), leaves.len());
        let mut leaves = leaves.into_iter();
        self.map(&mut |_| next(&mut leaves))
    }

    /// The structure of `self` with `f` of the leaves of both trees at each place.
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn zip_map<U: BaseTensor>(&self, other: &Self, f: &mut dyn FnMut(&T, &T) -> U) -> Self::With<U> {
        let mut pairs = paired("zip_map", self, other).into_iter();
        self.map(&mut |_| {
            let (a, b) = next(&mut pairs);
            f(&a, &b)
        })
    }
}

/// Arithmetic on trees, for optimizers.
///
/// The operations act on float leaves; integer and mask leaves stay as they are in `self`. Import the trait where it is
/// needed: some methods of [`Tensor`] have the same names.
///
/// ```
/// use polygrad::tree::{Tree, TreeMath};
/// use polygrad::BaseTensor;
///
/// /// One step of gradient descent with momentum: the new parameters and the new velocity.
/// fn momentum<T: BaseTensor, P: Tree<T, With<T> = P>>(x: &P, v: &P, grad: &P, rate: f64) -> (P, P) {
///     let v = v.scale(0.9).add(grad);
///     (x.add_scaled(-rate, &v), v)
/// }
/// ```
pub trait TreeMath<T: BaseTensor>: Tree<T, With<T> = Self> {
    /// A function of the table at every element of every float leaf.
    #[track_caller]
    fn unary(&self, op: Unary) -> Self {
        map_floats(self, &mut |leaf| leaf.unary(op))
    }

    /// A function of the table at every pair of elements of the float leaves.
    ///
    /// ```
    /// use polygrad::ops::{Binary, Unary};
    /// use polygrad::{BaseTensor, Tree, tree::TreeMath};
    ///
    /// /// The direction Adam steps in: `m / (sqrt(v) + eps)`.
    /// fn direction<T: BaseTensor, P: Tree<T, With<T> = P>>(m: &P, v: &P, eps: f64) -> P {
    ///     m.binary(Binary::Div, &v.unary(Unary::Sqrt).shift(eps))
    /// }
    /// ```
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn binary(&self, op: Binary, other: &Self) -> Self {
        let mut leaves = Vec::new();
        for (a, b) in paired(op.name(), self, other) {
            leaves.push(if a.dtype().is_float() { a.binary(op, &b) } else { a });
        }
        self.with_leaves(leaves)
    }

    /// `self + other`, leaf by leaf.
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn add(&self, other: &Self) -> Self {
        self.binary(Binary::Add, other)
    }

    /// `self - other`, leaf by leaf.
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn sub(&self, other: &Self) -> Self {
        self.binary(Binary::Sub, other)
    }

    /// `c * self`, leaf by leaf; `c` is rounded to the element type of each leaf.
    #[track_caller]
    fn scale(&self, c: f64) -> Self {
        map_floats(self, &mut |leaf| leaf.binary(Binary::Mul, &like(leaf, c)))
    }

    /// `self + c`, leaf by leaf; `c` is rounded to the element type of each leaf.
    #[track_caller]
    fn shift(&self, c: f64) -> Self {
        map_floats(self, &mut |leaf| leaf.binary(Binary::Add, &like(leaf, c)))
    }

    /// `self + c * other`, leaf by leaf: one step along a direction.
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn add_scaled(&self, c: f64, other: &Self) -> Self {
        let mut leaves = Vec::new();
        for (a, b) in paired("add_scaled", self, other) {
            let float = a.dtype().is_float();
            leaves.push(if float { a.binary(Binary::Add, &b.binary(Binary::Mul, &like(&b, c))) } else { a });
        }
        self.with_leaves(leaves)
    }

    /// The same structure with zeros in the float leaves: the initial state of an optimizer.
    #[track_caller]
    fn zeros_like(&self) -> Self {
        map_floats(self, &mut |leaf| T::zeros(leaf.shape(), leaf.dtype()))
    }

    /// The inner product: the sum over the float leaves of the products of their elements. Each leaf is
    /// summed in its own element type, then converted; 0 without float leaves.
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn dot(&self, other: &Self) -> Tensor<T, 0> {
        let mut total: Option<T> = None;
        for (a, b) in paired("dot", self, other) {
            if a.dtype().is_float() {
                let term = inner(&a, &b);
                total = Some(match total {
                    Some(sum) => sum.accumulate(&term),
                    None => term,
                });
            }
        }
        Tensor::from_raw(total.unwrap_or_else(|| T::zeros(&[], DType::F64)))
    }

    /// The length `sqrt(dot(self, self))`. At length 0, a zero cotangent gives a zero derivative and any other gives
    /// one that is not finite, as for `sqrt`.
    #[track_caller]
    fn norm(&self) -> Tensor<T, 0> {
        Tensor::from_raw(self.dot(self).raw().unary(Unary::Sqrt))
    }
}

impl<T: BaseTensor, P: Tree<T, With<T> = P>> TreeMath<T> for P {}

/// `c` in the shape and element type of a leaf.
fn like<T: BaseTensor>(leaf: &T, c: f64) -> T {
    T::constant(Array::full_as(leaf.shape(), leaf.dtype(), c))
}

/// The inner product of two float tensors of one shape, as `f64`.
#[track_caller]
fn inner<T: BaseTensor>(a: &T, b: &T) -> T {
    let axes: Vec<usize> = (0..a.shape().len()).collect();
    let sum = T::contract(&Contract::axes(a.shape(), &axes, &axes, &[]), a, b);
    if sum.dtype() == DType::F64 { sum } else { sum.linear(&Linear::cast(&[], sum.dtype(), DType::F64)) }
}

/// The paths of the leaves of several trees, which are numbered.
fn numbered<T: BaseTensor, P: Tree<T>>(trees: &[P], at: &str, out: &mut Vec<String>) {
    for (k, p) in trees.iter().enumerate() {
        p.paths(&format!("{at}.{k}"), out);
    }
}

/// The next leaf; the caller has checked that there are enough.
fn next<X>(leaves: &mut impl Iterator<Item = X>) -> X {
    match leaves.next() {
        Some(leaf) => leaf,
        None => unreachable!("a tree has more leaves in one map than in another"),
    }
}

#[track_caller]
fn same_count(op: &str, needed: usize, given: usize) {
    if needed != given {
        panic!(
            "{op}: needs one structure on both sides, but they have {needed} and {given} leaves; map one from the other"
        );
    }
}

/// The leaves of two trees of one structure, side by side.
#[track_caller]
fn paired<T: BaseTensor, P: Tree<T>>(op: &str, a: &P, b: &P) -> Vec<(T, T)> {
    let (a, b) = (a.leaves(), b.leaves());
    same_count(op, a.len(), b.len());
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        if a.shape() != b.shape() || a.dtype() != b.dtype() {
            panic!(
                "{op}: needs the same leaves on both sides, but leaf {i} is {} {} and {} {}; map one tree from the other",
                a.dtype(),
                Show(a.shape()),
                b.dtype(),
                Show(b.shape())
            );
        }
    }
    a.into_iter().zip(b).collect()
}

#[track_caller]
fn map_floats<T: BaseTensor, P: Tree<T, With<T> = P>>(tree: &P, f: &mut dyn FnMut(&T) -> T) -> P {
    tree.map(&mut |leaf| if leaf.dtype().is_float() { f(leaf) } else { leaf.clone() })
}

impl<T: BaseTensor, const D: usize, E: Elem> Tree<T> for Tensor<T, D, E> {
    type With<U: BaseTensor> = Tensor<U, D, E>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Tensor<U, D, E> {
        Tensor::from_raw(f(self.raw()))
    }
}

impl<T: BaseTensor, P: Tree<T>> Tree<T> for Vec<P> {
    type With<U: BaseTensor> = Vec<P::With<U>>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Vec<P::With<U>> {
        let mut out = Vec::with_capacity(self.len());
        for p in self {
            out.push(p.map(f));
        }
        out
    }
    fn paths(&self, at: &str, out: &mut Vec<String>) {
        numbered(self, at, out);
    }
}

impl<T: BaseTensor, P: Tree<T>, const N: usize> Tree<T> for [P; N] {
    type With<U: BaseTensor> = [P::With<U>; N];
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> [P::With<U>; N] {
        let mut out = Vec::with_capacity(N);
        for p in self {
            out.push(Tree::map(p, f));
        }
        match out.try_into() {
            Ok(out) => out,
            Err(_) => unreachable!("each of the elements is mapped"),
        }
    }
    fn paths(&self, at: &str, out: &mut Vec<String>) {
        numbered(self, at, out);
    }
}

impl<T: BaseTensor, P: Tree<T>> Tree<T> for Option<P> {
    type With<U: BaseTensor> = Option<P::With<U>>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Option<P::With<U>> {
        match self {
            Some(p) => Some(Tree::map(p, f)),
            None => None,
        }
    }
    fn paths(&self, at: &str, out: &mut Vec<String>) {
        self.iter().for_each(|p| p.paths(at, out));
    }
}

impl<T: BaseTensor, P: Tree<T>> Tree<T> for Box<P> {
    type With<U: BaseTensor> = Box<P::With<U>>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Box<P::With<U>> {
        Box::new(Tree::map(&**self, f))
    }
    fn paths(&self, at: &str, out: &mut Vec<String>) {
        (**self).paths(at, out);
    }
}

/// Named trees; the leaves are in the order of the names.
impl<T: BaseTensor, K: Ord + Clone, P: Tree<T>> Tree<T> for BTreeMap<K, P> {
    type With<U: BaseTensor> = BTreeMap<K, P::With<U>>;
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> BTreeMap<K, P::With<U>> {
        let mut out = BTreeMap::new();
        for (name, p) in self {
            out.insert(name.clone(), p.map(f));
        }
        out
    }
}

/// Data without tensors that is part of a tree and copied unchanged: a name, a size, a choice.
///
/// ```
/// use polygrad::tree::Keep;
/// let depth = Keep(3);
/// assert_eq!(*depth + 1, 4);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Keep<X>(
    /// The data.
    pub X,
);

impl<X> Deref for Keep<X> {
    type Target = X;
    fn deref(&self) -> &X {
        &self.0
    }
}

impl<X> DerefMut for Keep<X> {
    fn deref_mut(&mut self) -> &mut X {
        &mut self.0
    }
}

impl<T: BaseTensor, X: Clone> Tree<T> for Keep<X> {
    type With<U: BaseTensor> = Keep<X>;
    fn map<U: BaseTensor>(&self, _: &mut dyn FnMut(&T) -> U) -> Keep<X> {
        self.clone()
    }
}

/// One row per tuple.
macro_rules! tuples {
    ($( $($P:ident $i:tt),*; )*) => { $(
        impl<T: BaseTensor, $($P: Tree<T>),*> Tree<T> for ($($P,)*) {
            type With<U: BaseTensor> = ($($P::With<U>,)*);
            #[track_caller]
            #[allow(unused_variables, clippy::unused_unit)]
            fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Self::With<U> {
                ($(self.$i.map(f),)*)
            }
            #[allow(unused_variables)]
            fn paths(&self, at: &str, out: &mut Vec<String>) {
                $( self.$i.paths(&format!("{at}.{}", $i), out); )*
            }
        }
    )* };
}

tuples! {
    ;
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, F 4;
    A 0, B 1, C 2, D 3, F 4, G 5;
    A 0, B 1, C 2, D 3, F 4, G 5, H 6;
    A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7;
}

/// Declares structs of trees that are trees themselves.
///
/// Each struct has one parameter, the interpreter, and named fields that are trees: tensors, vectors and tuples of
/// trees, other such structs, or [`Keep`](crate::tree::Keep) for anything else. Attributes, docs and visibilities stay.
///
/// ```
/// use polygrad::tree::{Keep, TreeMath};
/// use polygrad::{BaseTensor, Tensor, tree};
///
/// tree! {
///     /// A dense layer.
///     #[derive(Clone)]
///     pub struct Layer<T> {
///         /// One row per output.
///         pub weights: Tensor<T, 2>,
///         /// One number per output.
///         pub bias: Tensor<T, 1>,
///     }
///
///     /// Several layers.
///     #[derive(Clone)]
///     pub struct Network<T> {
///         /// From the input to the output.
///         pub layers: Vec<Layer<T>>,
///         /// What to call it.
///         pub name: Keep<String>,
///     }
/// }
///
/// fn halved<T: BaseTensor>(network: &Network<T>) -> Network<T> {
///     network.scale(0.5)
/// }
/// ```
#[macro_export]
macro_rules! tree {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $Name:ident < $T:ident $(: $bound:path)? > {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $ty:ty ),* $(,)?
        }
    )+) => { $(
        $(#[$meta])*
        $vis struct $Name<$T $(: $bound)?> {
            $( $(#[$field_meta])* $field_vis $field: $ty, )*
        }

        impl<$T: $crate::BaseTensor> $crate::Tree<$T> for $Name<$T> {
            type With<OtherInterpreter: $crate::BaseTensor> = $Name<OtherInterpreter>;

            #[track_caller]
            fn map<OtherInterpreter: $crate::BaseTensor>(
                &self,
                f: &mut dyn ::core::ops::FnMut(&$T) -> OtherInterpreter,
            ) -> $Name<OtherInterpreter> {
                $Name { $( $field: <$ty as $crate::Tree<$T>>::map(&self.$field, f), )* }
            }

            fn paths(&self, at: &str, out: &mut ::std::vec::Vec<::std::string::String>) {
                $( <$ty as $crate::Tree<$T>>::paths(&self.$field, &::std::format!("{at}.{}", ::core::stringify!($field)), out); )*
            }
        }
    )+ };
}
