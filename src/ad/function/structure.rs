//! The structure of arguments and results: what is known of trees before and after a run.
//!
//! Law: the results of a run have the structure of a template, which is that of the recorded results or of the argument.

use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::{Key, PathStep, Tree, Visitor};

/// A tensor whose elements are known.
pub(super) type KnownTensor<const D: usize, E> = Tensor<Array, D, E>;

/// A function that shows a tree to a visitor.
pub(in crate::ad) type ShownTree<'a> = &'a dyn Fn(&mut dyn Visitor<Array>);

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

/// Builds the results of a run from a template of their structure, the argument, and the output arrays.
pub(super) type Assemble<P, Y> = fn(&Y, &P, &[Array]) -> Y;

/// The next of the output arrays in the structure of a tree.
pub(super) fn next_of<P: Tree<Array>>(tree: &P, leaves: &mut &[Array]) -> P::With<Array> {
    tree.map(&mut |_| match leaves.split_first() {
        Some((first, rest)) => {
            *leaves = rest;
            first.clone()
        }
        None => unreachable!("a tree has more leaves in one map than in another"),
    })
}

/// The output arrays in the structure of a tree.
pub(super) fn all_of<P: Tree<Array>>(tree: &P, mut leaves: &[Array]) -> P::With<Array> {
    let all = next_of(tree, &mut leaves);
    assert!(leaves.is_empty(), "a tree has fewer leaves in one map than in another");
    all
}

/// The output arrays in the structure of the template.
pub(super) fn in_place<P, Y: Tree<Array, With<Array> = Y>>(template: &Y, _: &P, leaves: &[Array]) -> Y {
    all_of(template, leaves)
}

/// The only output array, as a tensor.
pub(super) fn single<P, const R: usize, E: Float>(_: &KnownTensor<R, E>, _: &P, leaves: &[Array]) -> KnownTensor<R, E> {
    Tensor::from_raw(leaves[0].clone())
}

/// Zeros in the structure of recorded results.
pub(super) fn zeros<Z: Tree<Term>>(results: &Z) -> Z::With<Array> {
    results.map(&mut |t| Array::zeros(t.shape(), t.dtype()))
}

/// Zeros in the structure of an argument.
pub(super) fn zeros_like<P: Tree<Array>>(x: &P) -> P::With<Array> {
    x.map(&mut |a| Array::zeros(a.shape(), a.dtype()))
}

pub(super) fn paths<P: Tree<Array>>(x: &P, root: &str) -> Vec<String> {
    let mut names = Vec::new();
    x.paths(root, &mut names);
    names
}

/// The key of a function of these arguments.
pub(in crate::ad) fn key(x: ShownTree<'_>, data: ShownTree<'_>) -> Key {
    Key::shown(&|visitor: &mut dyn Visitor<Array>| both(x, data, visitor))
}

/// Shows two trees as the items of a pair.
pub(super) fn pair(a: ShownTree<'_>, b: ShownTree<'_>, visitor: &mut dyn Visitor<Array>) {
    for (k, part) in [a, b].into_iter().enumerate() {
        visitor.enter(PathStep::Item(k));
        part(visitor);
        visitor.leave();
    }
}
