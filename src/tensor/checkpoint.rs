//! Loops that are cut in segments, see [`checkpoint`](crate::checkpoint()).
//!
//! Law: each is the loop of the same name, and differs in what a derivative in reverse mode keeps.

use std::ops::Range;
use std::rc::Rc;

use super::Tensor;
use super::loops::{Carry, Outputs, Rows, leaves, sequences, trip_numbers};
use super::parts::Start;
use super::trips::Trips;
use crate::base::BaseTensor;
pub use crate::checkpoint::{Checkpoint, checkpoint};
use crate::tree::Tree;

/// The name of a loop and whether it runs in reverse.
type Which = (&'static str, bool);

impl Checkpoint {
    #[track_caller]
    fn run<T: BaseTensor, C: Tree<T, With<T> = C> + 'static, R: 'static, Y: Outputs<T, S>, S>(
        self,
        (op, reverse): Which,
        (n, xs): (usize, Vec<T>),
        init: C,
        row: fn(&mut dyn Iterator<Item = T>) -> R,
        f: impl Fn(C, &R) -> (C, Y) + 'static,
    ) -> (C, S) {
        let (carry, init) = Carry::open(init);
        let (carry, trips) = (Rc::new(carry), Rc::new(Trips::new(op, n, &init)));
        let (structure, check) = (carry.clone(), trips.clone());
        let step: crate::checkpoint::Trips<T> = Rc::new(move |c, x| {
            let (c, y) = f(structure.close(c), &row(&mut x.iter().cloned()));
            let mut outputs = Vec::new();
            y.parts(&mut outputs);
            check.returned(leaves(c), outputs)
        });
        let (last, outputs) = crate::checkpoint::map_accum(&self.levels(n), (n, reverse), init, &xs, &step);
        trips.so_far();
        (carry.close(last), Y::stacked(&mut outputs.into_iter()))
    }

    /// [`map_accum`](crate::map_accum), cut in segments.
    ///
    /// ```
    /// use polygrad::{checkpoint, tensor};
    /// let (total, partial) = checkpoint(2).map_accum(tensor(0.0), tensor([1.0, 2.0, 3.0]), |c, x| {
    ///     let sum = c + x;
    ///     (sum.clone(), sum)
    /// });
    /// assert_eq!((total, partial), (tensor(6.0), tensor([1.0, 3.0, 6.0])));
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
        R: 'static,
        Y: Outputs<T, S>,
    {
        let op = "checkpoint.map_accum";
        self.run((op, false), sequences(op, &xs), init.start(), X::row, f)
    }

    /// [`map_accum_reverse`](crate::map_accum_reverse), cut in segments.
    ///
    /// ```
    /// use polygrad::{checkpoint, tensor};
    /// let (total, rest) = checkpoint(2).map_accum_reverse(tensor(0.0), tensor([1.0, 2.0, 3.0]), |c, x| {
    ///     let sum = c + x;
    ///     (sum.clone(), sum)
    /// });
    /// assert_eq!((total, rest), (tensor(6.0), tensor([6.0, 5.0, 3.0])));
    /// ```
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
        R: 'static,
        Y: Outputs<T, S>,
    {
        let op = "checkpoint.map_accum_reverse";
        self.run((op, true), sequences(op, &xs), init.start(), X::row, f)
    }

    /// [`fold`](crate::fold), cut in segments.
    ///
    /// ```
    /// use polygrad::{checkpoint, tensor};
    /// assert_eq!(checkpoint(2).fold(tensor(0.0), tensor([1.0, 0.0, 3.0]), |c, a| c * 2.0 + a), tensor(7.0));
    /// ```
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
        R: 'static,
    {
        let op = "checkpoint.fold";
        self.run((op, false), sequences(op, &xs), init.start(), X::row, move |c, x| (f(c, x), ())).0
    }

    /// [`iterate`](crate::iterate), cut in segments.
    ///
    /// ```
    /// use polygrad::{checkpoint, tensor};
    /// assert_eq!(checkpoint(2).iterate(3, tensor(1.0), |i, c| c * (i + 1).to_float()), tensor(6.0));
    /// ```
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
        let row = <Range<usize> as Rows<T, _>>::row;
        self.run((op, false), trip_numbers(op, n), init.start(), row, move |c, i| (f(i, c), ())).0
    }
}
