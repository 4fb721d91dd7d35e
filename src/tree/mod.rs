//! `Tree`: structured parameters. A tensor is a tree; so is a tuple, an array or a vector of trees, and a struct or
//! enum that derives [`Tree`].
//!
//! Law: mapping the identity gives the same structure back; [`map`](Tree::map) and [`visit`](Tree::visit) meet the
//! leaves in the same order, that of [`leaves`](Tree::leaves). Data besides the leaves (names, sizes, choices) are
//! copied from the mapped structure.
//!
//! The verbs differentiate with respect to trees; optimizers use the arithmetic of [`TreeMath`]. It requires that a map
//! back to the same interpreter gives the same type, which generic code states once: `P: Tree<T, With<T> = P>`.
//!
//! | file | contents |
//! |---|---|
//! | this one | the trait |
//! | `impls` | tensors, tuples and containers as trees |
//! | `stacked` | stacks of structs |
//! | `visit` | the traversal of a tree: leaves, plain data, paths |
//! | `key` | what a recorded program depends on, besides numbers |
//! | `math` | arithmetic |
//! | `parameters` | the leaves by name, saved and loaded |
//! | `ravel` | trees as vectors |

use std::borrow::Borrow;

use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::shape::Show;
use crate::tensor::Tensor;

mod impls;
mod key;
mod math;
mod parameters;
pub(crate) mod ravel;
mod stacked;
mod visit;

pub use impls::Keep;
pub(crate) use key::Difference;
pub use key::{Key, Plain};
pub use math::{TreeMath, cond};
pub use parameters::{ParameterError, Parameters};
/// Makes a struct or an enum a tree: see the trait [`Tree`](trait@Tree).
pub use polygrad_derive::Tree;
pub use stacked::Stacked;
pub use visit::{PathStep, Visitor};

/// A structure with tensors of the interpreter `T` at its leaves.
///
/// Structs and enums derive it. The interpreter is the parameter bounded by [`BaseTensor`], or named `T`; a field whose
/// type mentions it is a tree, and every other field is plain data: `Clone + PartialEq + Debug`, copied from structure
/// to structure, and never differentiated.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, Tree, grad, tensor};
///
/// #[derive(Tree, Clone, Debug, PartialEq)]
/// enum Layer<T: BaseTensor> {
///     Dense { weights: Tensor<T, 2>, bias: Tensor<T, 1> },
///     Scale(Tensor<T, 0>),
/// }
///
/// #[derive(Tree, Clone, Debug, PartialEq)]
/// struct Network<T: BaseTensor> {
///     layers: Vec<Layer<T>>,
///     name: String,
/// }
///
/// fn energy<T: BaseTensor>(net: &Network<T>) -> Tensor<T, 0> {
///     net.layers.iter().fold(Tensor::scalar(0.0), |sum, layer| match layer {
///         Layer::Dense { weights, bias } => sum + weights.square().sum() + bias.sum(),
///         Layer::Scale(by) => sum * by,
///     })
/// }
///
/// let dense = Layer::Dense { weights: tensor([[1.0, 2.0]]), bias: tensor([3.0]) };
/// let net = Network { layers: vec![dense, Layer::Scale(tensor(10.0))], name: "small".into() };
/// let slope = grad(energy, &net);
/// assert_eq!(slope.layers[1], Layer::Scale(tensor(8.0)));
/// assert_eq!(slope.name, "small");
/// assert_eq!(net.names(), ["layers.0.weights", "layers.0.bias", "layers.1.0"]);
/// ```
///
/// A type parameter that is bounded by `Tree<T>`, or not at all, is a tree. So is every type parameter of a type
/// without interpreter:
///
/// ```
/// use polygrad::tree::{Tree, TreeMath};
/// use polygrad::{BaseTensor, tensor};
///
/// /// The state of an optimizer.
/// #[derive(Tree, Clone)]
/// struct Momentum<P> {
///     position: P,
///     velocity: P,
///     steps: usize,
/// }
///
/// fn step<T: BaseTensor, P: Tree<T, With<T> = P>>(state: &Momentum<P>, slope: &P) -> Momentum<P> {
///     let velocity = state.velocity.scale(0.9).add(slope);
///     Momentum { position: state.position.add_scaled(-0.1, &velocity), velocity, steps: state.steps + 1 }
/// }
/// let start = Momentum { position: tensor([1.0]), velocity: tensor([0.0]), steps: 0 };
/// assert_eq!(step(&start, &tensor([2.0])).position, tensor([0.8]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tree of tensors of the interpreter `{T}`",
    label = "needs a tensor, a tuple, array, `Vec`, `Option`, `Box` or `BTreeMap` of trees, or a type that derives `Tree`",
    note = "numbers are trees as tensors: `tensor(1.0)` or `tensor(vec)` in place of a number or a vector of numbers, and `Tensor<T, 0>` in place \
            of its type",
    note = "a field whose type does not mention the interpreter is plain data; plain data within a tuple or container of trees goes into `Keep`"
)]
pub trait Tree<T: BaseTensor>: Sized {
    /// The same structure over another interpreter.
    type With<U: BaseTensor>: Tree<U>;

    /// The same structure with `f` applied to every leaf, in order.
    ///
    /// ```
    /// use polygrad::{BaseTensor, Shapes, Tree, tensor};
    /// let x = (tensor([1.0, 2.0]), vec![tensor(3.0)]);
    /// assert_eq!(x.map(&mut |leaf| leaf.clone().accumulate(leaf)), (tensor([2.0, 4.0]), vec![tensor(6.0)]));
    /// // Over another interpreter: shapes alone.
    /// let shapes = x.map(&mut |leaf| Shapes::new(leaf.shape(), leaf.dtype()));
    /// assert_eq!(shapes.0.shape(), [2]);
    /// ```
    ///
    /// # Panics
    /// When `f` changes the rank or the element type of a leaf.
    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Self::With<U>;

    /// Shows the leaves and all other data to a visitor, in the order of [`map`](Tree::map).
    ///
    /// All data that a program may branch on must be shown: sizes of containers, variants of enums, plain fields.
    /// Otherwise a recorded program would be run for a structure it was not recorded for.
    ///
    /// Example: [`Visitor`].
    fn visit(&self, visitor: &mut dyn Visitor<T>);

    /// All leaves, in order.
    ///
    /// ```
    /// use polygrad::{Array, Tree, tensor};
    /// let x = (tensor([1.0, 2.0]), vec![tensor(3)]);
    /// assert_eq!(x.leaves(), [Array::from([1.0, 2.0]), Array::from(3)]);
    /// assert_eq!((x.count(), x.names()), (2, vec!["0".to_string(), "1.0".to_string()]));
    /// let mut paths = Vec::new();
    /// x.paths("x", &mut paths);
    /// assert_eq!(paths, ["x.0", "x.1.0"]);
    /// let other = x.with_leaves(vec![Array::from([5.0]), Array::from(6)]);
    /// assert_eq!(other, (tensor([5.0]), vec![tensor(6)]));
    /// ```
    fn leaves(&self) -> Vec<T> {
        let mut leaves = Vec::new();
        self.visit(&mut visit::LeafVisitor(|leaf: &T| leaves.push(leaf.clone())));
        leaves
    }

    /// The number of leaves.
    ///
    /// Example: [`Tree::leaves`].
    fn count(&self) -> usize {
        let mut count = 0;
        self.visit(&mut visit::LeafVisitor(|_: &T| count += 1));
        count
    }

    /// The path of each leaf, in order, for a tree that is called `at`: `at` itself for a tensor, `at.weights` for a
    /// field, `at.0` for a part of a tuple or vector. Paths name the inputs and outputs of staged programs.
    ///
    /// Example: [`Tree::leaves`].
    fn paths(&self, at: &str, out: &mut Vec<String>) {
        self.visit(&mut visit::Paths::new(at, out));
    }

    /// The name of each leaf, in order: its path from the root, such as `layers.0.gain`. A tensor that is the whole
    /// tree has the empty name.
    ///
    /// Example: [`Tree::leaves`].
    fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.paths("", &mut names);
        names
    }

    /// The key of the tree: shapes and element types of the leaves, the structure, and the plain data. A recorded
    /// program depends on these, besides the numbers in the leaves.
    ///
    /// Example: [`Key`].
    fn key(&self) -> Key {
        Key::shown(&|visitor| self.visit(visitor))
    }

    /// The same structure with other leaves, given in order: the inverse of [`leaves`](Tree::leaves).
    ///
    /// Example: [`Tree::leaves`].
    ///
    /// # Panics
    /// When there are not as many as this tree has, or one has another rank or element type.
    #[track_caller]
    fn with_leaves<U: BaseTensor>(&self, leaves: Vec<U>) -> Self::With<U> {
        same_count("with_leaves", self.count(), leaves.len());
        let mut leaves = leaves.into_iter();
        self.map(&mut |_| next_leaf(&mut leaves))
    }

    /// The elements of all float leaves, in order, as one vector of `f64`; integers and masks are not part of it.
    ///
    /// Example: [`Tree::unravel`].
    #[track_caller]
    fn ravel(&self) -> Tensor<T, 1> {
        Tensor::from_raw(ravel::ravel(&self.leaves()))
    }

    /// The tree of this structure with the elements of a vector in its float leaves: the inverse of
    /// [`ravel`](Tree::ravel). Elements are rounded to the type of their leaf; integers and masks are those of `self`.
    ///
    /// ```
    /// use polygrad::{Tree, tensor};
    /// let x = (tensor(1.0), vec![tensor([2.0, 3.0])], tensor([4]));
    /// assert_eq!(x.ravel(), tensor([1.0, 2.0, 3.0]));
    /// assert_eq!(x.unravel(&(x.ravel() * 2.0)), (tensor(2.0), vec![tensor([4.0, 6.0])], tensor([4])));
    /// ```
    ///
    /// # Panics
    /// When the vector does not have as many elements as [`ravel`](Tree::ravel) gives.
    #[track_caller]
    fn unravel(&self, vector: &Tensor<T, 1>) -> Self::With<T> {
        let (mut needed, given) = (0, vector.len());
        self.visit(&mut visit::LeafVisitor(|leaf: &T| needed += ravel::raveled_size(std::slice::from_ref(leaf))));
        if needed != given {
            panic!(
                "unravel: the vector must have an element for each number of the tree, but they have {given} and {needed}; ravel a tree of \
                 this structure"
            );
        }
        ravel::unraveled(self, vector.raw())
    }

    /// This tree as a constant of a level above, see [`Tensor::lift`]: the way in which a structure from outside enters
    /// a function that a verb runs.
    ///
    /// Example: [`Tree::to_constant`].
    fn lift<U: Lift<T, I>, I>(&self) -> Self::With<U> {
        self.map(&mut |leaf| U::lift(leaf.clone()))
    }

    /// This tree of known numbers as constants of any interpreter: the way in which known parameters or data enter a
    /// function that is recorded, differentiated or both. [`Tensor::constant`] does this for one tensor.
    ///
    /// ```
    /// use polygrad::{BaseTensor, Function, Tensor, Tree, grad, tensor};
    /// fn loss<T: BaseTensor>(w: &Tensor<T, 1>, (x, y): &(Tensor<T, 1>, Tensor<T, 1>)) -> Tensor<T, 0> {
    ///     (w * x - y).square().sum()
    /// }
    /// let (w, d) = (tensor([1.0, 2.0]), (tensor([3.0, 4.0]), tensor([3.0, 7.0])));
    /// assert_eq!(grad(|w| loss(w, &d.lift()), &w), tensor([0.0, 8.0]));
    /// assert_eq!(Function::grad(|w| loss(w, &d.to_constant()), &w).run(&w)?, tensor([0.0, 8.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    fn to_constant<U: BaseTensor>(&self) -> Self::With<U>
    where
        T: Borrow<Array>,
    {
        self.map(&mut |leaf| U::constant(leaf.borrow().clone()))
    }

    /// The structure of `self`, with `f` applied to each pair of leaves of both trees, in order.
    ///
    /// ```
    /// use polygrad::{BaseTensor, Tree, ops::Binary, tensor};
    /// let (x, y) = ((tensor(2.0), tensor([3.0])), (tensor(5.0), tensor([7.0])));
    /// let product = x.zip_map(&y, &mut |a, b| a.binary(Binary::Mul, b));
    /// assert_eq!(product, (tensor(10.0), tensor([21.0])));
    /// ```
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn zip_map<U: BaseTensor>(&self, other: &Self, f: &mut dyn FnMut(&T, &T) -> U) -> Self::With<U> {
        let mut pairs = paired("zip_map", self, other).into_iter();
        self.map(&mut |_| {
            let (a, b) = next_leaf(&mut pairs);
            f(&a, &b)
        })
    }
}

/// The next of the values that belong to the leaves of a tree. There is one for each leaf: those who rebuild trees compare the
/// numbers, or take the values from a tree of the same structure.
pub(crate) fn next_leaf<X>(leaves: &mut (impl Iterator<Item = X> + ?Sized)) -> X {
    match leaves.next() {
        Some(leaf) => leaf,
        None => unreachable!("a tree has as many leaves in each map"),
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
    if let Some((i, [a, b])) = unlike(&a, &b) {
        panic!("{op}: needs the same leaves on both sides, but leaf {i} is {a} and {b}; map one tree from the other");
    }
    a.into_iter().zip(b).collect()
}

/// The first of the leaves of two trees that differ in shape or element type, with both in words.
pub(crate) fn unlike<T: BaseTensor>(a: &[T], b: &[T]) -> Option<(usize, [String; 2])> {
    let i = a.iter().zip(b).position(|(a, b)| a.shape() != b.shape() || a.dtype() != b.dtype())?;
    Some((i, [&a[i], &b[i]].map(|leaf| format!("{} {}", leaf.dtype(), Show(leaf.shape())))))
}
