//! `while` loops: a condition on the carry decides whether another trip runs.
//!
//! Law: each is one [`BaseTensor::repeat`], whose carry starts with the value of the condition, a mask of rank 0.

use super::Tensor;
use super::loops::{CarryTree, leaves};
use super::parts::Start;
use super::trips::Trips;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::tree::Tree;

/// A loop that runs while a condition on its carry holds: `while go(c) { c = f(c) }`.
///
/// The number of trips is unknown, so recorded programs have derivatives in forward mode alone ([`jvp`](crate::jvp),
/// [`jacobian`](crate::jacobian())): reverse mode would have to keep the state of each trip. [`while_loop_within`] has a bound on the number of trips,
/// and both modes; a `direct` verb runs the loop in the host language, trip by trip, and differentiates the trips that
/// ran. A recorded loop ends as soon as the condition does not hold. In a batch, rows that have ended wait for the
/// others.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, jvp, tensor, while_loop};
/// // The square root of 2, by Newton's method.
/// fn root<T: BaseTensor>(a: &Tensor<T, 0>) -> Tensor<T, 0> {
///     while_loop(a, |y: &Tensor<T, 0>| (y * y - a).abs().gt(1e-12), |y| (&y + a / &y) * 0.5)
/// }
/// let (y, slope) = jvp(root, &tensor(2.0), &tensor(1.0));
/// assert!((y.item() - 2.0_f64.sqrt()).abs() < 1e-12 && (slope.item() - 0.5 / 2.0_f64.sqrt()).abs() < 1e-6);
/// ```
///
/// # Panics
/// When the carry changes its shape or structure; in reverse mode of a `direct` verb within a recorded function.
#[track_caller]
pub fn while_loop<T, I, C>(init: I, go: impl Fn(&C) -> Tensor<T, 0, bool>, f: impl Fn(C) -> C) -> C
where
    T: BaseTensor,
    I: Start<T, C>,
    C: Tree<T, With<T> = C>,
{
    repeat("while_loop", None, init.start(), go, f)
}

/// [`while_loop`] with at most `most` trips.
///
/// Derivatives are those of [`while_loop`]. If the bound is at most 64, reverse mode of a recorded loop keeps all states:
/// it is faster, but its time is that of `most` trips, so the bound should be close.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, grad, tensor, while_loop_within};
/// fn root<T: BaseTensor>(a: &Tensor<T, 0>) -> Tensor<T, 0> {
///     while_loop_within(20, a, |y: &Tensor<T, 0>| (y * y - a).abs().gt(1e-12), |y| (&y + a / &y) * 0.5)
/// }
/// assert!((grad(root, &tensor(2.0)).item() - 0.5 / 2.0_f64.sqrt()).abs() < 1e-6);
/// ```
///
/// # Panics
/// When the carry changes its shape or structure.
#[track_caller]
pub fn while_loop_within<T, I, C>(most: usize, init: I, go: impl Fn(&C) -> Tensor<T, 0, bool>, f: impl Fn(C) -> C) -> C
where
    T: BaseTensor,
    I: Start<T, C>,
    C: Tree<T, With<T> = C>,
{
    repeat("while_loop_within", Some(most), init.start(), go, f)
}

#[track_caller]
fn repeat<T: BaseTensor, C: Tree<T, With<T> = C>>(
    op: &'static str,
    most: Option<usize>,
    init: C,
    go: impl Fn(&C) -> Tensor<T, 0, bool>,
    f: impl Fn(C) -> C,
) -> C {
    let first = go(&init).into_raw();
    let (structure, mut init) = CarryTree::open(init);
    let trips = Trips::new(op, most.unwrap_or(1), &structure.0);
    init.insert(0, first);
    let mut last = T::repeat(most, init, &mut |mut carry| {
        let next = f(structure.close(carry.split_off(1)));
        let alike = trips.alike(&next, &());
        let (mut next, _) = trips.returned(leaves(next), Vec::new(), alike);
        // A loop whose carry changes its shape or structure ends at once.
        let fault = trips.have_fault();
        let go = if fault { T::zeros(&[], DType::Bool) } else { go(&structure.close(next.clone())).into_raw() };
        next.insert(0, go);
        next
    });
    trips.end();
    structure.close(last.split_off(1))
}
