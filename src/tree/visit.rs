//! Visitors: one traversal of a tree shows its leaves, its plain data and its structure.

use std::fmt::{Display, Write};

use super::Plain;

/// A visitor of the contents of a tree, in order: see [`Tree::visit`](super::Tree::visit).
///
/// ```
/// use polygrad::tree::{Keep, PathStep, Plain, Tree, Visitor};
/// use polygrad::{Concrete, tensor};
/// /// The contents of a tree, and the depth of the part that is visited.
/// #[derive(Default)]
/// struct Contents(Vec<String>, usize);
/// impl Visitor<Concrete> for Contents {
///     fn leaf(&mut self, leaf: &Concrete) {
///         self.0.push(format!("{leaf} at depth {}", self.1));
///     }
///     fn plain(&mut self, data: &dyn Plain) {
///         self.0.push(format!("{data:?}"));
///     }
///     fn enter(&mut self, step: PathStep<'_>) {
///         self.1 += 1;
///         if let PathStep::Item(k) = step {
///             self.0.push(format!("item {k}"));
///         }
///     }
///     fn leave(&mut self) {
///         self.1 -= 1;
///     }
/// }
/// let mut contents = Contents::default();
/// (tensor(1.5), Keep("name")).visit(&mut contents);
/// assert_eq!(contents.0, ["item 0", "1.5 at depth 1", "item 1", "\"name\""]);
/// ```
pub trait Visitor<T> {
    /// A leaf.
    ///
    /// Example: [`Visitor`].
    fn leaf(&mut self, leaf: &T);

    /// Data that is not a leaf.
    ///
    /// Example: [`Visitor`].
    fn plain(&mut self, _data: &dyn Plain) {}

    /// The start of a part of the structure; it ends at the matching [`leave`](Visitor::leave).
    ///
    /// Example: [`Visitor`].
    fn enter(&mut self, _step: PathStep<'_>) {}

    /// The end of a part.
    ///
    /// Example: [`Visitor`].
    fn leave(&mut self) {}
}

/// A part of a structure.
///
/// Closed: visitors write paths, and each part is written otherwise.
///
/// Example: [`Visitor`].
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
