//! Loops with a carry, cut in segments that reverse mode runs again, see [`checkpoint`](crate::checkpoint()).
//!
//! Law: each runs the trips of the loop of the same name; only the states that reverse mode keeps differ.

use std::cell::OnceCell;
use std::rc::Rc;

use super::Tensor;
use super::loops::{CarryTree, keep_first, leaves, sequences, stacked, trip_numbers};
use super::parts::Start;
use super::rows::{Outputs, Rows};
use super::trips::Trips;
use crate::base::BaseTensor;
pub use crate::checkpoint::{Checkpoint, checkpoint};
use crate::tree::Tree;

/// The name of a loop and whether it runs in reverse.
type Which = (&'static str, bool);

/// A row of zeros of these sequences, as a template: the body outlives the sequences, so it cannot borrow them.
fn like<T: BaseTensor, R>(xs: &impl Rows<T, R>) -> CarryTree<R> {
    let mut sequences = Vec::new();
    xs.sequences(&mut sequences);
    CarryTree(xs.row(&mut sequences.iter().map(|x| T::zeros(&x.shape()[1..], x.dtype()))))
}

impl Checkpoint {
    #[track_caller]
    fn run<
        T: BaseTensor,
        C: Tree<T, With<T> = C> + 'static,
        R: Tree<T, With<T> = R> + 'static,
        Y: Outputs<T, S> + 'static,
        S,
    >(
        self,
        (op, reverse): Which,
        (n, xs): (usize, Vec<T>),
        init: C,
        row: CarryTree<R>,
        f: impl Fn(C, &R) -> (C, Y) + 'static,
    ) -> (C, S) {
        let (carry, init) = CarryTree::open(init);
        let (trips, first) = (Rc::new(Trips::new(op, n, &carry.0)), Rc::new(OnceCell::new()));
        let carry = Rc::new(carry);
        let (structure, check, template) = (carry.clone(), trips.clone(), first.clone());
        let step: crate::checkpoint::RerunTrip<T> = Rc::new(move |c, x| {
            let (c, y) = f(structure.close(c), &row.close(x.to_vec()));
            let alike = check.alike(&c, &y);
            keep_first(&template, &y);
            check.returned(leaves(c), y.leaves(), alike)
        });
        // If numbers are known, the terms of all segments are alive until the reverse pass ends, so no state is freed
        // before.
        let lets_go = T::records() || init.iter().chain(&xs).all(|value| value.peek().is_none());
        let (last, outputs) = crate::checkpoint::map_accum(&self.plan(n, lets_go), (n, reverse), init, &xs, &step);
        trips.so_far();
        (carry.close(last), stacked(&first, outputs))
    }

    /// [`map_accum`](crate::map_accum), cut in segments.
    ///
    /// ```
    /// use polygrad::{Tensor, checkpoint, tensor};
    /// let (xs, step) = (tensor([1.0, 2.0, 3.0]), |c: Tensor<_, 0>, x: &Tensor<_, 0>| (&c + x, c + x));
    /// assert_eq!(checkpoint(2).map_accum(tensor(0.0), &xs, step), (tensor(6.0), tensor([1.0, 3.0, 6.0])));
    /// assert_eq!(checkpoint(2).map_accum_reverse(tensor(0.0), &xs, step), (tensor(6.0), tensor([6.0, 5.0, 3.0])));
    /// assert_eq!(checkpoint(2).fold(tensor(0.0), &xs, |c, a| c * 2.0 + a), tensor(11.0));
    /// assert_eq!(checkpoint(2).iterate(3, tensor(1.0), |i, c| c * (i + 1).to_float()), tensor(6.0));
    /// ```
    ///
    /// # Panics
    /// When sequences differ in length, or the carry changes its shape or structure.
    #[track_caller]
    pub fn map_accum<T, I, C, X, R, Y, S>(self, init: I, xs: X, f: impl Fn(C, &R) -> (C, Y) + 'static) -> (C, S)
    where
        T: BaseTensor,
        I: Start<T, C>,
        C: Tree<T, With<T> = C> + 'static,
        X: Rows<T, R>,
        R: Tree<T, With<T> = R> + 'static,
        Y: Outputs<T, S> + 'static,
    {
        let op = "checkpoint.map_accum";
        self.run((op, false), sequences(op, &xs), init.start(), like(&xs), f)
    }

    /// [`map_accum_reverse`](crate::map_accum_reverse), cut in segments.
    ///
    /// Example: [`Checkpoint::map_accum`].
    ///
    /// # Panics
    /// When sequences differ in length, or the carry changes its shape or structure.
    #[track_caller]
    pub fn map_accum_reverse<T, I, C, X, R, Y, S>(self, init: I, xs: X, f: impl Fn(C, &R) -> (C, Y) + 'static) -> (C, S)
    where
        T: BaseTensor,
        I: Start<T, C>,
        C: Tree<T, With<T> = C> + 'static,
        X: Rows<T, R>,
        R: Tree<T, With<T> = R> + 'static,
        Y: Outputs<T, S> + 'static,
    {
        let op = "checkpoint.map_accum_reverse";
        self.run((op, true), sequences(op, &xs), init.start(), like(&xs), f)
    }

    /// [`fold`](crate::fold), cut in segments.
    ///
    /// Example: [`Checkpoint::map_accum`].
    ///
    /// # Panics
    /// When sequences differ in length, or the carry changes its shape or structure.
    #[track_caller]
    pub fn fold<T, I, C, X, R>(self, init: I, xs: X, f: impl Fn(C, &R) -> C + 'static) -> C
    where
        T: BaseTensor,
        I: Start<T, C>,
        C: Tree<T, With<T> = C> + 'static,
        X: Rows<T, R>,
        R: Tree<T, With<T> = R> + 'static,
    {
        let op = "checkpoint.fold";
        self.run((op, false), sequences(op, &xs), init.start(), like(&xs), move |c, x| (f(c, x), ())).0
    }

    /// [`iterate`](crate::iterate), cut in segments.
    ///
    /// Example: [`Checkpoint::map_accum`].
    ///
    /// # Panics
    /// When the carry changes its shape or structure.
    #[track_caller]
    pub fn iterate<T, I, C>(self, n: usize, init: I, f: impl Fn(&Tensor<T, 0, i64>, C) -> C + 'static) -> C
    where
        T: BaseTensor,
        I: Start<T, C>,
        C: Tree<T, With<T> = C> + 'static,
    {
        let op = "checkpoint.iterate";
        let number = Tensor::<T, 0, i64>::scalar(0);
        self.run((op, false), trip_numbers(op, n), init.start(), CarryTree(number), move |c, i| (f(i, c), ())).0
    }
}
