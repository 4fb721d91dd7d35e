//! Looking inside: `debug` prints values while a program runs, `check` ends a run in which a mask does not hold.
//!
//! Law: both return the tensor that they look at, so they take part in a program as any other operation: they run if the
//! result is used, as often as it is computed, in recorded and compiled programs, in loops and under derivatives.

use std::panic::Location;
use std::sync::Arc;

use super::Tensor;
use crate::base::BaseTensor;
use crate::dtype::Elem;
use crate::ops::{Call, Tap, TapKind};
use crate::source::{SourceLine, place_of};
use crate::tree::Tree;

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// The same tensor, whose numbers are printed under a label, with the line of this call, whenever a program computes
    /// them: `[src/main.rs:12:9] label = [1.0, 2.0]`.
    ///
    /// As `dbg!`, it returns what it prints, and prints to the standard error stream;
    /// [`inspect::debug_to`](crate::inspect::debug_to) prints elsewhere. It prints where numbers are computed: when a
    /// recorded program runs, not when it is recorded or differentiated; in a loop once for each trip; in a vectorized
    /// loop one row after the other, with the number of the row: `label at [3] = 1.0`. Lines come in the order of the
    /// program. Under a derivative the value is printed, not its tangent; what a reverse pass computes again is printed
    /// once. If nothing uses the result, nothing is printed: a gradient, for one, does not need all values, so take
    /// [`value_and_grad`](crate::value_and_grad) to see those. Exported programs and source code leave it out, with a
    /// comment. See [the guide](crate::guide::looking).
    ///
    /// ```
    /// use polygrad::inspect::debug_lines;
    /// use polygrad::{grad, tensor};
    /// let (slope, lines) = debug_lines(|| grad(|x| x.debug("x").square().sum(), &tensor([1.0, 2.0])));
    /// assert_eq!((slope, lines.len()), (tensor([2.0, 4.0]), 1));
    /// assert!(lines[0].ends_with("] x = [1.0, 2.0]"));
    /// ```
    #[must_use = "what nothing uses is not computed, hence not printed"]
    #[track_caller]
    pub fn debug(&self, label: &str) -> Self {
        let kind = TapKind::Debug(vec![label.to_owned()]);
        Tensor::from_raw(tapped(kind, vec![self.raw().clone()]).swap_remove(0))
    }

    /// The same tensor; a run that computes it ends if an element of the mask, of any shape, does not hold.
    ///
    /// A recorded program then returns [`RunError::Check`](crate::RunError::Check) with the message and the line of this
    /// call, and writes nothing to the caller's arrays; evaluation, and verbs that return no error, panic with this
    /// message. Bounds ([`enclose`](crate::enclose())) fail where no number of the box holds. As with
    /// [`debug`](Tensor::debug), a result that nothing uses is not computed, hence not checked; where a mask chooses
    /// between two values, both are computed, hence both are checked.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let f = Function::grad(|x| x.check(&x.gt(0.0), "x is positive").ln().sum(), &tensor([1.0, 2.0]));
    /// assert_eq!(f.run(&tensor([1.0, 4.0]))?, tensor([1.0, 0.25]));
    /// let message = f.run(&tensor([1.0, -4.0])).unwrap_err().to_string();
    /// assert!(message.starts_with("check: `x is positive` must hold, but element [1] of the mask of shape [2] does not"));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    ///
    /// # Panics
    /// When an element of the mask does not hold and the program is evaluated, not recorded.
    #[must_use = "what nothing uses is not computed, hence not checked"]
    #[track_caller]
    pub fn check<const M: usize>(&self, mask: &Tensor<T, M, bool>, message: &str) -> Self {
        let kind = TapKind::Check(message.to_owned());
        Tensor::from_raw(tapped(kind, vec![mask.raw().clone(), self.raw().clone()]).swap_remove(0))
    }
}

/// [`Tensor::debug`] of all tensors of a tree, each under the label and its own name.
///
/// ```
/// use polygrad::{debug_tree, inspect::debug_lines, tensor};
/// let layer = (tensor([1.0, 2.0]), tensor(0.5));
/// let (same, lines) = debug_lines(|| debug_tree(&layer, "layer"));
/// assert_eq!(same, layer);
/// assert!(lines[0].ends_with("layer.0 = [1.0, 2.0]") && lines[1].ends_with("layer.1 = 0.5"));
/// ```
#[must_use = "what nothing uses is not computed, hence not printed"]
#[track_caller]
pub fn debug_tree<T: BaseTensor, P: Tree<T, With<T> = P>>(tree: &P, label: &str) -> P {
    let named = |name: String| if name.is_empty() { label.to_owned() } else { format!("{label}.{name}") };
    let labels: Vec<String> = tree.names().into_iter().map(named).collect();
    if labels.is_empty() {
        return tree.with_leaves(Vec::<T>::new());
    }
    tree.with_leaves(tapped(TapKind::Debug(labels), tree.leaves()))
}

/// [`Tensor::check`] for all tensors of a tree: a run that computes one of them ends if the mask does not hold.
///
/// ```
/// use polygrad::{check_tree, tensor};
/// let (x, y) = check_tree(&(tensor(1.0), tensor(2.0)), &tensor([true, true]), "both are given");
/// assert_eq!((x, y), (tensor(1.0), tensor(2.0)));
/// ```
///
/// # Panics
/// Like [`Tensor::check`].
#[must_use = "what nothing uses is not computed, hence not checked"]
#[track_caller]
pub fn check_tree<T, P, const M: usize>(tree: &P, mask: &Tensor<T, M, bool>, message: &str) -> P
where
    T: BaseTensor,
    P: Tree<T, With<T> = P>,
{
    let mut args = vec![mask.raw().clone()];
    args.extend(tree.leaves());
    tree.with_leaves(tapped(TapKind::Check(message.to_owned()), args))
}

#[track_caller]
fn tapped<T: BaseTensor>(kind: TapKind, args: Vec<T>) -> Vec<T> {
    let at = place_of(Location::caller()).at.as_ref().map(SourceLine::from);
    T::call(&Call::Tap(Arc::new(Tap::new(kind, at))), &args)
}
