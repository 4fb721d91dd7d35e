//! Stacks of structs.
//!
//! A struct fixes the ranks of its fields: `weights: Tensor<T, 2>`. In a stack of such structs each leaf has one more
//! axis, but Rust can neither express `Tensor<T, { D + 1 }>` for each field of any struct, nor derive the rank of a
//! field in a struct that is generic in one rank. So a stack has a separate type, with the stacked leaves of all rows
//! and the structure of one row, and is read by row or by field.
//!
//! Laws: row `k` of `Stacked::new(rows)` is `rows[k]`, and that of `Stacked::build(n, f)` is `f(k)`; a stack is a tree
//! with the paths of a row; what is done to a stack is done to each of its leaves, so the recorded program is the one
//! over arrays (structure of arrays). An array of arrays of one shape is one array of higher rank.

use std::fmt::{self, Debug};

use super::visit::PathStep;
use super::{Plain, Tree, Visitor, next_leaf, paired, same_count};
use crate::base::BaseTensor;
use crate::dtype::{DType, Elem};
use crate::escape;
use crate::ops::Linear;
use crate::shape::{Shape, Show};
use crate::tensor::{Above, Outputs, Rank, Rows, Tensor, mapped};

/// A stack of rows of one structure: a sequence of a loop, or its stacked outputs, if a row is a struct or an enum that
/// derives [`Tree`](trait@Tree).
///
/// A stack has the leaves of a row with a new outermost axis, under the same paths, and is a tree itself: parameters of
/// many equal layers, for instance. Plain data are the same in all rows, and stored once.
///
/// ```
/// use polygrad::tree::Stacked;
/// use polygrad::{BaseTensor, Tensor, Tree, fold, grad, iterate_all, tensor};
///
/// #[derive(Tree, Clone, Debug, PartialEq)]
/// struct Layer<T: BaseTensor> {
///     weights: Tensor<T, 2>,
///     bias: Tensor<T, 1>,
/// }
///
/// // A network of any depth is one loop.
/// fn run<T: BaseTensor>(layers: &Stacked<T, Layer<T>>, x: &Tensor<T, 1>) -> Tensor<T, 1> {
///     fold(x, layers, |x, layer| (layer.weights.matvec(&x) + &layer.bias).tanh())
/// }
/// let layer = Layer { weights: tensor([[0.5, 0.1], [0.2, 0.4]]), bias: tensor([0.1, 0.2]) };
/// let layers = Stacked::new(&[layer.clone(), layer.clone(), layer]);
/// let slope = grad(|layers| run(layers, &Tensor::constant([1.0, 2.0])).sum(), &layers);
/// assert_eq!(slope.len(), 3);
/// assert_eq!(slope.row(2).weights.shape(), [2, 2]);
///
/// // All states of a body that falls.
/// #[derive(Tree, Clone)]
/// struct Body<T: BaseTensor> {
///     height: Tensor<T, 0>,
///     speed: Tensor<T, 0>,
/// }
/// let start = Body { height: tensor(10.0), speed: tensor(0.0) };
/// let states = iterate_all(2, start, |_, b: Body<_>| Body { height: b.height + &b.speed, speed: b.speed - 1.0 });
/// assert_eq!(states.field(|b| &b.height), tensor([10.0, 10.0, 9.0]));
/// ```
#[derive(Clone, PartialEq)]
pub struct Stacked<T, S> {
    /// A row with zeros in its leaves, for the structure.
    like: S,
    leaves: Vec<T>,
    rows: usize,
}

impl<T: BaseTensor, S: Tree<T, With<T> = S>> Stacked<T, S> {
    /// The stack of these rows.
    ///
    /// ```
    /// use polygrad::{tensor, tree::Stacked};
    /// let stack = Stacked::new(&[(tensor(1.0), tensor([2, 3])), (tensor(4.0), tensor([5, 6]))]);
    /// assert!(stack.len() == 2 && !stack.is_empty());
    /// assert_eq!(stack.field(|row| &row.1), tensor([[2, 3], [5, 6]]));
    /// assert_eq!((stack.row(1), stack.at(&tensor(1))), (stack.unstack()[1].clone(), (tensor(4.0), tensor([5, 6]))));
    /// assert_eq!(stack.take(&tensor([1, 1, 0])).unstack(), [stack.row(1), stack.row(1), stack.row(0)]);
    /// assert_eq!(stack.sum(), (tensor(5.0), tensor([7, 9])));
    /// // Each row is added where its index says; an index out of bounds adds to no row.
    /// let more = stack.clone().scatter_add(&tensor([0, 7]), &Stacked::new(&[stack.row(1), stack.row(0)]));
    /// assert_eq!(more.row(0), (tensor(5.0), tensor([7, 9])));
    /// ```
    ///
    /// # Panics
    /// When the list of rows is empty, or two differ in structure, in plain data, or in the shape or element type of a leaf.
    #[track_caller]
    pub fn new(rows: &[S]) -> Self {
        let Some(first) = rows.first() else {
            panic!("stacked: the structure of a stack is that of its rows, but the list is empty; begin with one");
        };
        let key = first.key();
        if let Some(k) = rows.iter().position(|row| !key.is_of(row)) {
            panic!(
                "stacked: all rows must be alike, but row 0 is {key:?} and row {k} {:?}; pad what is shorter, or loop over a tuple",
                rows[k].key()
            );
        }
        let all: Vec<Vec<T>> = rows.iter().map(Tree::leaves).collect();
        let stack = |k: usize| {
            let parts: Vec<T> = all.iter().map(|leaves| alone(&leaves[k])).collect();
            T::concat(0, &parts)
        };
        let leaves = (0..first.count()).map(stack).collect();
        Stacked { like: first.map(&mut |leaf| T::zeros(leaf.shape(), leaf.dtype())), leaves, rows: rows.len() }
    }

    /// The stack of `n` rows; row `i` is `f(i)`.
    ///
    /// `at` of a stack that is built is the function: `build(n, f).at(i) = f(i)` for `i` from 0 to `n - 1`. Without rows
    /// the structure is that of `f` at zeros.
    ///
    /// ```
    /// use polygrad::tree::Stacked;
    /// use polygrad::{BaseTensor, Tensor, Tree, tensor};
    /// #[derive(Tree, Clone, Debug, PartialEq)]
    /// struct Body<T: BaseTensor> {
    ///     height: Tensor<T, 0>,
    ///     speed: Tensor<T, 0>,
    /// }
    /// let heights = tensor([1.0, 4.0, 9.0]);
    /// let bodies = Stacked::build(3, |i| Body { height: heights.at([i]), speed: i.to_float() });
    /// assert_eq!(bodies.row(2), Body { height: tensor(9.0), speed: tensor(2.0) });
    /// // The rows of those that are read: the array of structs is one array for each field.
    /// assert_eq!(bodies.take(&tensor([2, 0])).field(|b| &b.height), tensor([9.0, 1.0]));
    /// ```
    ///
    /// # Panics
    /// When the rows differ in structure, in plain data, or in the shape or element type of a leaf.
    #[track_caller]
    pub fn build(n: usize, f: impl Fn(&Tensor<T, 0, i64>) -> S) -> Self
    where
        S: Outputs<T, Self>,
    {
        mapped("build", 0..n, f)
    }

    /// The number of rows.
    ///
    /// Example: [`Stacked::new`].
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether the stack is empty.
    ///
    /// Example: [`Stacked::new`].
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Row `k`.
    ///
    /// Example: [`Stacked::new`].
    ///
    /// # Panics
    /// When `k` is not below the number of rows.
    #[track_caller]
    pub fn row(&self, k: usize) -> S {
        if k >= self.rows {
            panic!("row: a row must be below {}, the number of rows, but it is {k}; compare it with `len`", self.rows);
        }
        self.made(&mut |leaf| leaf.linear(&Linear::row(leaf.shape(), 0, k)))
    }

    /// The row at a computed index; zeros where the index is out of bounds.
    ///
    /// Example: [`Stacked::new`].
    #[track_caller]
    pub fn at(&self, k: &Tensor<T, 0, i64>) -> S {
        self.made(&mut |leaf| leaf.gather(std::slice::from_ref(k.raw())))
    }

    /// The rows at computed indices, in their order; zeros where an index is out of bounds.
    ///
    /// Example: [`Stacked::new`].
    #[track_caller]
    pub fn take(&self, ix: &Tensor<T, 1, i64>) -> Self {
        let leaves = self.leaves.iter().map(|leaf| leaf.gather(std::slice::from_ref(ix.raw())));
        Stacked { like: self.like.map(&mut T::clone), leaves: leaves.collect(), rows: ix.len() }
    }

    /// The stack with rows added at indices: the adjoint of [`take`](Stacked::take). Rows at one index add up, those at
    /// indices out of bounds are dropped. In place if the leaves have no other owner.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad::tree::Stacked;
    /// let sums = Stacked::new(&[(tensor(1.0), tensor(0)), (tensor(2.0), tensor(0))]);
    /// let more = Stacked::new(&[(tensor(10.0), tensor(1)), (tensor(20.0), tensor(1)), (tensor(40.0), tensor(1))]);
    /// let sums = sums.scatter_add(&tensor([1, 1, 7]), &more);
    /// assert_eq!(sums.unstack(), [(tensor(1.0), tensor(0)), (tensor(32.0), tensor(2))]);
    /// ```
    ///
    /// # Panics
    /// When the rows of both stacks differ in the number of leaves, or in the shape or element type of one; when there
    /// are not as many rows as indices; and when a leaf is a mask.
    #[track_caller]
    pub fn scatter_add(self, ix: &Tensor<T, 1, i64>, rows: &Self) -> Self {
        paired("scatter_add", &self.like, &rows.like);
        numbers("scatter_add", &self.like);
        let mut leaves = Vec::new();
        for (leaf, row) in self.leaves.into_iter().zip(&rows.leaves) {
            leaves.push(leaf.scatter_add(std::slice::from_ref(ix.raw()), row));
        }
        Stacked { like: self.like, leaves, rows: self.rows }
    }

    /// The sum of all rows; zeros if the stack is empty.
    ///
    /// Example: [`Stacked::new`].
    ///
    /// # Panics
    /// When a leaf is a mask.
    #[track_caller]
    pub fn sum(&self) -> S {
        numbers("sum", &self.like);
        self.made(&mut |leaf| leaf.linear(&Linear::sum(leaf.shape(), &[0])))
    }

    /// All rows.
    ///
    /// Example: [`Stacked::new`].
    #[track_caller]
    pub fn unstack(&self) -> Vec<S> {
        (0..self.rows).map(|k| self.row(k)).collect()
    }

    /// The stack of one tensor of a row, over all rows.
    ///
    /// Example: [`Stacked::new`].
    ///
    /// # Panics
    /// When the tensor that `part` returns is not part of the row.
    #[track_caller]
    pub fn field<const M: usize, const D: usize, E: Elem>(
        &self,
        part: impl FnOnce(&S) -> &Tensor<T, M, E>,
    ) -> Tensor<T, D, E>
    where
        Rank<D>: Above<M>,
    {
        let wanted = part(&self.like).raw();
        let (mut k, mut found) = (0, None);
        self.like.visit(&mut super::visit::LeafVisitor(|leaf: &T| {
            if std::ptr::eq(leaf, wanted) {
                found = Some(k);
            }
            k += 1;
        }));
        match found {
            Some(k) => Tensor::from_raw(self.leaves[k].clone()),
            None => {
                panic!("field: the tensor must be a part of the row, but it is another; return a reference to a field")
            }
        }
    }

    /// A row whose leaves are computed from the stacked leaves by `of`.
    #[track_caller]
    fn made(&self, of: &mut dyn FnMut(&T) -> T) -> S {
        let mut leaves = self.leaves.iter();
        self.like.map(&mut |_| of(next_leaf(&mut leaves)))
    }

    /// The stack of rows with the structure of `row`; `parts` are the stacked leaves.
    #[doc(hidden)]
    pub fn of_rows_like(row: &S, parts: &mut dyn Iterator<Item = T>) -> Self {
        let leaves: Vec<T> = (0..row.count()).map(|_| next_leaf(parts)).collect();
        let rows = leaves.first().map_or(0, |leaf| leaf.shape()[0]);
        Stacked { like: row.map(&mut |leaf| T::zeros(leaf.shape(), leaf.dtype())), leaves, rows }
    }
}

/// Panics if a leaf is a mask, which has no sums.
#[track_caller]
fn numbers<T: BaseTensor, S: Tree<T>>(op: &str, row: &S) {
    if let Some(k) = row.leaves().iter().position(|leaf| leaf.dtype() == DType::Bool) {
        let name = row.names().swap_remove(k);
        panic!(
            "{op}: the leaves of rows that are added must be numbers, but {} is bool; add the fields that are",
            escape::quoted(&name)
        );
    }
}

/// A value as a stack of one row.
fn alone<T: BaseTensor>(leaf: &T) -> T {
    let mut shape = Shape::from_slice(leaf.shape());
    shape.insert(0, 1);
    leaf.linear(&Linear::reshape(leaf.shape(), &shape))
}

impl<T: BaseTensor, S: Tree<T>> Tree<T> for Stacked<T, S> {
    type With<U: BaseTensor> = Stacked<U, S::With<U>>;

    #[track_caller]
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Self::With<U> {
        let leaves: Vec<U> = self.leaves.iter().map(f).collect();
        same_count("map", self.like.count(), leaves.len());
        let mut stacks = leaves.iter();
        // A mapped leaf of rank 0 has no rows: no tensor has the rank 9 that stands for its rows, so the map of the row
        // panics.
        let like = self.like.map(&mut |_| {
            let stack = next_leaf(&mut stacks);
            U::zeros(stack.shape().get(1..).unwrap_or(&[0; 9]), stack.dtype())
        });
        let rows = leaves.first().map_or(self.rows, |leaf| leaf.shape()[0]);
        Stacked { like, leaves, rows }
    }

    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        if self.leaves.is_empty() {
            visitor.plain(&self.rows);
        }
        self.like.visit(&mut Stacks { leaves: self.leaves.iter(), visitor });
    }
}

/// A visitor of a row that shows the stacked leaves in place of those of the row.
struct Stacks<'a, T> {
    leaves: std::slice::Iter<'a, T>,
    visitor: &'a mut dyn Visitor<T>,
}

impl<T> Visitor<T> for Stacks<'_, T> {
    fn leaf(&mut self, _: &T) {
        self.visitor.leaf(next_leaf(&mut self.leaves));
    }

    fn plain(&mut self, data: &dyn Plain) {
        self.visitor.plain(data);
    }

    fn enter(&mut self, step: PathStep<'_>) {
        self.visitor.enter(step);
    }

    fn leave(&mut self) {
        self.visitor.leave();
    }
}

/// The element type and shape of each stacked leaf, by its path.
impl<T: BaseTensor, S: Tree<T>> Debug for Stacked<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stacks = self.names().into_iter().zip(&self.leaves);
        let kinds = stacks.map(|(name, leaf)| (name, format!("{} {}", leaf.dtype(), Show(leaf.shape()))));
        f.debug_map().entries(kinds).finish()
    }
}

impl<T: BaseTensor, S: Tree<T, With<T> = S>> Rows<T, S> for Stacked<T, S> {
    fn sequences(&self, out: &mut Vec<T>) {
        out.extend(self.leaves.iter().cloned());
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> S {
        self.like.map(&mut |_| next_leaf(parts))
    }
}

/// A stack of stacks.
impl<T: BaseTensor, S: Tree<T, With<T> = S>> Outputs<T, Stacked<T, Self>> for Stacked<T, S> {
    fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> Stacked<T, Self> {
        Stacked::of_rows_like(self, parts)
    }
}
