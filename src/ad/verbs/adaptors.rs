//! The ways to use a verb: what is common to all verbs that record.
//!
//! Law: nothing here is generic in the type of a user's function, so it is compiled once for the types of arguments and
//! results.

use std::vec::IntoIter;

use crate::ad::differentiate::record::{OfBoth, recorded};
use crate::ad::differentiate::strategy::Mode;
use crate::ad::differentiate::transformation::Transformation;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Elem;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::{Tree, next_leaf};

/// The results of a plain verb as a list, from which they are taken in their structure.
pub(super) struct ResultLeaves<T>(IntoIter<T>);

impl<T: BaseTensor> ResultLeaves<T> {
    /// The next results, in the structure of a tree.
    pub(super) fn like<S: BaseTensor, W: Tree<S>>(&mut self, tree: &W) -> W::With<T> {
        tree.with_leaves(self.0.by_ref().take(tree.count()).collect())
    }

    /// The next result, a tensor.
    pub(super) fn tensor<const R: usize, E: Elem>(&mut self) -> Tensor<T, R, E> {
        Tensor::from_raw(next_leaf(&mut self.0))
    }
}

/// The results of a function that has not run: zeros in their structure.
pub(super) struct ResultTemplate;

impl ResultTemplate {
    /// Zeros in the structure of a tree.
    pub(super) fn like<S: BaseTensor, W: Tree<S>>(&mut self, tree: &W) -> W::With<Array> {
        tree.map(&mut |leaf| Array::zeros(leaf.shape(), leaf.dtype()))
    }

    /// A tensor without elements.
    pub(super) fn tensor<const R: usize, E: Elem>(&mut self) -> Tensor<Array, R, E> {
        Tensor::zeros([0; R])
    }
}

/// The results of `f`, recorded, and those of the derivative; `further` are values of its inputs between argument and
/// data, such as a direction.
#[track_caller]
pub(super) fn plain<T: BaseTensor, P: Tree<T>, Q: Tree<T>, Y: Tree<Term>>(
    verb: &str,
    (transformation, mode): (Transformation, Option<Mode>),
    f: OfBoth<'_, T, Term, P, Q, Y>,
    (x, data): (&P, &Q),
    further: Vec<T>,
) -> (Y, ResultLeaves<T>) {
    // A verb that gives the value, too, makes the mistakes of the one that does not.
    let (program, y) = recorded(verb.strip_prefix("value_and_").unwrap_or(verb), f, x, data);
    (y, ResultLeaves(program.derived(transformation, mode, further).into_iter()))
}
