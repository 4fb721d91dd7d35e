//! Visitors: one traversal of a tree shows its leaves, its plain data and its structure.

use std::fmt::{Display, Write};

use super::Plain;

/// A visitor of the contents of a tree, in order: see [`Tree::visit`](super::Tree::visit).
///
/// ```
/// use polygrad::tree::{PathStep, Tree, Visitor};
/// use polygrad::{BaseTensor, Concrete, tensor};
///
/// /// Counts the elements of the leaves.
/// struct Elements(usize);
/// impl Visitor<Concrete> for Elements {
///     fn leaf(&mut self, leaf: &Concrete) {
///         self.0 += leaf.size();
///     }
/// }
/// let mut elements = Elements(0);
/// (tensor([1.0, 2.0]), tensor(3.0)).visit(&mut elements);
/// assert_eq!(elements.0, 3);
/// ```
pub trait Visitor<T> {
    /// A leaf.
    ///
    /// ```
    /// use polygrad::tree::{Tree, Visitor};
    /// use polygrad::{Concrete, tensor};
    /// struct Shapes(Vec<Vec<usize>>);
    /// impl Visitor<Concrete> for Shapes {
    ///     fn leaf(&mut self, leaf: &Concrete) {
    ///         self.0.push(leaf.shape().to_vec());
    ///     }
    /// }
    /// let mut shapes = Shapes(Vec::new());
    /// (tensor([1.0, 2.0]), tensor(3.0)).visit(&mut shapes);
    /// assert_eq!(shapes.0, [vec![2], vec![]]);
    /// ```
    fn leaf(&mut self, leaf: &T);

    /// Data that is not a leaf.
    ///
    /// ```
    /// use polygrad::tree::{Keep, Plain, Tree, Visitor};
    /// use polygrad::{Concrete, tensor};
    /// struct Data(Vec<String>);
    /// impl Visitor<Concrete> for Data {
    ///     fn leaf(&mut self, _: &Concrete) {}
    ///     fn plain(&mut self, data: &dyn Plain) {
    ///         self.0.push(format!("{data:?}"));
    ///     }
    /// }
    /// let mut data = Data(Vec::new());
    /// (tensor(1.0), Keep(7)).visit(&mut data);
    /// assert_eq!(data.0, ["7"]);
    /// ```
    fn plain(&mut self, _data: &dyn Plain) {}

    /// The start of a part of the structure; it ends at the matching [`leave`](Visitor::leave).
    ///
    /// ```
    /// use polygrad::tree::{PathStep, Tree, Visitor};
    /// use polygrad::{Concrete, tensor};
    /// /// The positions of the parts of tuples and vectors, in the order in which they start.
    /// struct Positions(Vec<usize>);
    /// impl Visitor<Concrete> for Positions {
    ///     fn leaf(&mut self, _: &Concrete) {}
    ///     fn enter(&mut self, step: PathStep<'_>) {
    ///         if let PathStep::Item(k) = step {
    ///             self.0.push(k);
    ///         }
    ///     }
    /// }
    /// let mut positions = Positions(Vec::new());
    /// (tensor(1.0), vec![tensor(2.0), tensor(3.0)]).visit(&mut positions);
    /// assert_eq!(positions.0, [0, 1, 0, 1]);
    /// ```
    fn enter(&mut self, _step: PathStep<'_>) {}

    /// The end of a part.
    ///
    /// ```
    /// use polygrad::tree::{PathStep, Tree, Visitor};
    /// use polygrad::{Concrete, tensor};
    /// /// The depth of a tree: the current depth, and the largest one.
    /// #[derive(Default)]
    /// struct Depth(usize, usize);
    /// impl Visitor<Concrete> for Depth {
    ///     fn leaf(&mut self, _: &Concrete) {}
    ///     fn enter(&mut self, _: PathStep<'_>) {
    ///         self.0 += 1;
    ///         self.1 = self.1.max(self.0);
    ///     }
    ///     fn leave(&mut self) {
    ///         self.0 -= 1;
    ///     }
    /// }
    /// let mut depth = Depth::default();
    /// (tensor(1.0), vec![tensor(2.0), tensor(3.0)]).visit(&mut depth);
    /// assert_eq!((depth.0, depth.1), (0, 2));
    /// ```
    fn leave(&mut self) {}
}

/// A part of a structure.
///
/// Closed: visitors write paths, and each part is written otherwise.
///
/// ```
/// use polygrad::tree::{PathStep, Tree, Visitor};
/// use polygrad::{BaseTensor, Concrete, Tensor, tensor};
/// #[derive(Tree)]
/// struct Line<T: BaseTensor> {
///     slope: Tensor<T, 0>,
///     offset: Tensor<T, 0>,
/// }
/// /// The names of the fields.
/// struct Fields(Vec<&'static str>);
/// impl Visitor<Concrete> for Fields {
///     fn leaf(&mut self, _: &Concrete) {}
///     fn enter(&mut self, step: PathStep<'_>) {
///         match step {
///             PathStep::Field(name) => self.0.push(name),
///             PathStep::Item(_) | PathStep::Name(_) | PathStep::Variant(_) => {}
///         }
///     }
/// }
/// let mut fields = Fields(Vec::new());
/// Line { slope: tensor(1.0), offset: tensor(2.0) }.visit(&mut fields);
/// assert_eq!(fields.0, ["slope", "offset"]);
/// ```
#[derive(Clone, Copy)]
pub enum PathStep<'a> {
    /// A field of a struct.
    Field(&'static str),
    /// An element of a tuple, an array or a vector, by its position.
    Item(usize),
    /// An entry of a map, by its name.
    Name(&'a dyn Display),
    /// A variant of an enum; it is not part of the paths of leaves.
    Variant(&'static str),
}

/// A function of each leaf, as a visitor.
pub(super) struct LeafVisitor<F>(pub(super) F);

impl<T, F: FnMut(&T)> Visitor<T> for LeafVisitor<F> {
    fn leaf(&mut self, leaf: &T) {
        (self.0)(leaf);
    }
}

/// The path of the part that a visitor is in.
#[derive(Clone, Default)]
pub(super) struct Path {
    text: String,
    /// The lengths of the paths of the enclosing parts.
    outer: Vec<usize>,
}

impl Path {
    pub(super) fn new(root: &str) -> Path {
        Path { text: root.to_owned(), outer: Vec::new() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn enter(&mut self, step: PathStep<'_>) {
        self.outer.push(self.text.len());
        let dot = if self.text.is_empty() { "" } else { "." };
        // Writing to a string does not fail.
        let _ = match step {
            PathStep::Field(name) => write!(self.text, "{dot}{name}"),
            PathStep::Item(k) => write!(self.text, "{dot}{k}"),
            PathStep::Name(name) => write!(self.text, "{dot}{name}"),
            PathStep::Variant(_) => Ok(()),
        };
    }

    pub(super) fn leave(&mut self) {
        let length = self.outer.pop().unwrap_or_default();
        self.text.truncate(length);
    }
}

/// A visitor that lists the paths of all leaves.
pub(super) struct Paths<'a> {
    at: Path,
    out: &'a mut Vec<String>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(root: &str, out: &'a mut Vec<String>) -> Self {
        Paths { at: Path::new(root), out }
    }
}

impl<T> Visitor<T> for Paths<'_> {
    fn leaf(&mut self, _: &T) {
        self.out.push(self.at.text().to_owned());
    }

    fn enter(&mut self, step: PathStep<'_>) {
        self.at.enter(step);
    }

    fn leave(&mut self) {
        self.at.leave();
    }
}
