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
    fn leaf(&mut self, leaf: &T);

    /// Data that is no leaf.
    fn plain(&mut self, _data: &dyn Plain) {}

    /// The start of a part of the structure; it ends at the matching [`leave`](Visitor::leave).
    fn enter(&mut self, _step: PathStep<'_>) {}

    /// The end of a part.
    fn leave(&mut self) {}
}

/// A part of a structure.
///
/// Closed: visitors write paths, and each part is written otherwise.
#[derive(Clone, Copy)]
pub enum PathStep<'a> {
    /// A field of a struct.
    Field(&'static str),
    /// An element of a tuple, an array or a vector, by its position.
    Item(usize),
    /// An entry of a map, by its name.
    Name(&'a dyn Display),
    /// A variant of an enum; it is no part of the paths of leaves.
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
