//! The verbs that show how a program runs: its cost, and its operations line by line.
//!
//! Law: the value is that of the program. Both verbs run at any level: around a gradient they show the operations of
//! the gradient, and inside a gradient they are differentiated.

use crate::base::{BaseTensor, Lift};
use crate::interpreters::{Count, Transcript};
use crate::tree::Tree;

pub use crate::interpreters::count::{Family, Tally};
pub use crate::ops::Cost;

/// The value of a program, and its cost: calls, work and bytes by family of operations.
///
/// Only operations that run during the program are counted, so a pullback must be called inside of it.
///
/// ```
/// use polygrad::inspect::{Family, count};
/// use polygrad::{Tensor, direct, tensor};
/// let (a, x) = (tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), tensor([1.0, 1.0, 1.0]));
/// let (y, tally) = count(|x: &Tensor<_, 1>| a.lift().matvec(x).sum(), &x);
/// assert_eq!(y.item(), 21.0);
/// assert_eq!(tally.of(Family::Contract).work, 2 * 2 * 3);
/// // The same of the gradient.
/// let (_, tally) = count(|x: &Tensor<_, 1>| direct::grad(|x: &Tensor<_, 1>| x.sin().sum(), x), &x);
/// assert_eq!(tally.of(Family::Unary).calls, 2);
/// ```
#[track_caller]
pub fn count<T, P, Y>(program: impl FnOnce(&P::With<Count<T>>) -> Y, x: &P) -> (Y::With<T>, Tally)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Count<T>>,
{
    let inputs = x.map(&mut |leaf| Count::lift(leaf.clone()));
    let (y, tally) = Count::<T>::counted(|| program(&inputs));
    (y.map(&mut |leaf| leaf.value().clone()), tally)
}

/// The value of a program, and its text: a line for each operation, in the order in which they ran. The first trip of a
/// loop is written.
///
/// ```
/// use polygrad::{Tensor, inspect::transcript, tensor};
/// let (y, text) = transcript(|x: &Tensor<_, 1>| (x.sin() * 2.0).sum(), &tensor([0.0, 0.0]));
/// assert_eq!(y.item(), 0.0);
/// let lines: Vec<&str> = text.lines().collect();
/// assert_eq!(lines, [
///     "t0 : f64 [2] = input",
///     "t1 : f64 [2] = sin t0",
///     "t2 : f64 [2] = t1 * (full 2.0 [2])",
///     "t3 : f64 [] = sum t2",
///     "return t3",
/// ]);
/// ```
#[track_caller]
pub fn transcript<T, P, Y>(program: impl FnOnce(&P::With<Transcript<T>>) -> Y, x: &P) -> (Y::With<T>, String)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Transcript<T>>,
{
    let (y, text) = Transcript::<T>::written(|| {
        let y = program(&x.map(&mut |leaf| Transcript::input(leaf.clone())));
        Transcript::result(&y.leaves());
        y
    });
    (y.map(&mut |leaf| leaf.value().clone()), text)
}
