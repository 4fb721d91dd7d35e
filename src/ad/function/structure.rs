//! The structure of arguments and results: what is known of trees before and after a run.
//!
//! Law: the results of a run have the structure of a template. Its plain fields are those of the trace, as the key has
//! them.

use crate::array::Array;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::{Key, PathStep, Tree, Visitor, next_leaf};

/// A tensor whose elements are known.
pub(in crate::ad) type KnownTensor<const D: usize, E> = Tensor<Array, D, E>;

/// A function that shows a tree to a visitor.
type ShownTree<'a> = &'a dyn Fn(&mut dyn Visitor<Array>);

/// Shows arguments and data to a visitor, as the fields `x` and `data`.
pub(in crate::ad) fn both(x: ShownTree<'_>, data: ShownTree<'_>, visitor: &mut dyn Visitor<Array>) {
    for (name, tree) in [("x", x), ("data", data)] {
        visitor.enter(PathStep::Field(name));
        tree(visitor);
        visitor.leave();
    }
}

/// A variable for each leaf.
pub(super) fn variables(leaves: &[Array]) -> Vec<Term> {
    leaves.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect()
}

/// Puts the output arrays in the structure of a template.
pub(super) type Fill<Y> = fn(&Y, &[Array]) -> Y;

/// The output arrays in the structure of a tree.
pub(super) fn filled<Y: Tree<Array, With<Array> = Y>>(template: &Y, leaves: &[Array]) -> Y {
    let mut leaves = leaves.iter();
    let filled = template.map(&mut |_| next_leaf(&mut leaves).clone());
    assert!(leaves.next().is_none(), "a tree has fewer leaves in one map than in another");
    filled
}

/// The paths of the leaves of a tree with this name.
pub(in crate::ad) fn paths<P: Tree<Array>>(x: &P, root: &str) -> Vec<String> {
    let mut names = Vec::new();
    x.paths(root, &mut names);
    names
}

/// The key of a function of these arguments.
fn key(x: ShownTree<'_>, data: ShownTree<'_>) -> Key {
    Key::shown(&|visitor: &mut dyn Visitor<Array>| both(x, data, visitor))
}

/// The key of a function of arguments and data like these.
pub(in crate::ad) fn key_of<P: Tree<Array>, Q: Tree<Array>>(x: &P, data: &Q) -> Key {
    key(&|v| x.visit(v), &|v| data.visit(v))
}

/// The key of a function whose data are a pair: a further input of a run, and data.
pub(in crate::ad) fn key_of_both<P: Tree<Array>, V: Tree<Array>, Q: Tree<Array>>(x: &P, further: &V, data: &Q) -> Key {
    key(&|v| x.visit(v), &|v| pair(&|v| further.visit(v), &|v| data.visit(v), v))
}

/// Shows two trees as the items of a pair.
fn pair(a: ShownTree<'_>, b: ShownTree<'_>, visitor: &mut dyn Visitor<Array>) {
    for (k, part) in [a, b].into_iter().enumerate() {
        visitor.enter(PathStep::Item(k));
        part(visitor);
        visitor.leave();
    }
}
