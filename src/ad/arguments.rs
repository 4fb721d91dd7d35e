//! The arguments of a verb, differentiated tree and data, as one list of inputs.

use crate::base::BaseTensor;
use crate::tree::Tree;

/// A function of a tree and of data, both trees of `T`, at the interpreter `U`.
pub(super) type OfBoth<'a, T, U, P, Q, Y> = &'a dyn Fn(&<P as Tree<T>>::With<U>, &<Q as Tree<T>>::With<U>) -> Y;

/// A tree in which a verb differentiates, and data in which it does not.
pub(super) struct Arguments<'a, T, P, Q> {
    x: &'a P,
    data: &'a Q,
    /// The leaves of the tree, then those of the data.
    pub(super) inputs: Vec<T>,
    /// The number of leaves of the tree.
    pub(super) count: usize,
}

impl<'a, T: BaseTensor, P: Tree<T>, Q: Tree<T>> Arguments<'a, T, P, Q> {
    pub(super) fn new(x: &'a P, data: &'a Q) -> Self {
        let mut inputs = x.leaves();
        let count = inputs.len();
        inputs.extend(data.leaves());
        Arguments { x, data, inputs, count }
    }

    /// Calls a function of the tree and the data on other values, given in the order of the inputs.
    #[track_caller]
    pub(super) fn call<U: BaseTensor, Y>(&self, f: OfBoth<'_, T, U, P, Q, Y>, values: &[U]) -> Y {
        let (leaves, constants) = values.split_at(self.count);
        f(&self.x.with_leaves(leaves.to_vec()), &self.data.with_leaves(constants.to_vec()))
    }
}
