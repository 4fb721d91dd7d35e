//! Trees of any number of tensors of any rank: the arguments of a function whose types are known when it is loaded.

#[cfg(feature = "functions")]
use polygrad::Array;
use polygrad::BaseTensor;
use polygrad::tree::{PathStep, Tree, Visitor};

/// A list of tensors.
#[derive(Clone, Debug)]
pub(crate) struct Leaves<T>(pub(crate) Vec<T>);

impl<T: BaseTensor> Tree<T> for Leaves<T> {
    type With<U: BaseTensor> = Leaves<U>;

    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Leaves<U> {
        Leaves(self.0.iter().map(f).collect())
    }

    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        for (k, leaf) in self.0.iter().enumerate() {
            visitor.enter(PathStep::Item(k));
            visitor.leaf(leaf);
            visitor.leave();
        }
    }
}

#[cfg(feature = "functions")]
impl Leaves<Array> {
    /// Zeros of the kinds of these slots.
    pub(crate) fn like<'a>(slots: impl IntoIterator<Item = &'a polygrad::program::Slot>) -> Leaves<Array> {
        Leaves(slots.into_iter().map(|slot| Array::zeros(&slot.shape, slot.dtype)).collect())
    }
}
