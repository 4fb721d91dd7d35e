//! The sequences that loops run over, and the outputs of their trips: tensors, and structures of tensors.
//!
//! Law: each type of a stack determines the type of its rows, and vice versa ([`Rows`], [`Outputs`]), so closures need
//! no annotations. A stack of tensors is a tensor of rank one higher; a stack of tuples, arrays or containers is a
//! tuple, array or container of stacks. A struct fixes the ranks of its fields, so its stack has a different type,
//! [`Stacked`](crate::tree::Stacked), which has the same leaves with rank one higher.
//!
//! The structure of outputs is that of the first trip; `trips` checks that the outputs of later trips have it, too.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use super::Tensor;
use super::rank::{Above, Rank};
use crate::base::BaseTensor;
use crate::dtype::Elem;
use crate::shape::check_possible;
use crate::tree::{Keep, Plain, Tree, next_leaf};

/// The sequences of a loop: a tensor, whose rows lie along its outermost axis; a range of numbers; the stack of a
/// struct ([`Stacked`](crate::tree::Stacked)); or a tuple, array, `Vec`, `Option`, `Box` or `BTreeMap` of sequences of
/// one length. `R` is the row of one trip.
///
/// ```
/// use polygrad::tensor::Rows;
/// use polygrad::{BaseTensor, Concrete, Tensor, fold, tensor};
/// fn product<T: BaseTensor>(xs: impl Rows<T, Tensor<T, 0>>) -> Tensor<T, 0> {
///     fold(1.0, xs, |product, x: &Tensor<T, 0>| product * x)
/// }
/// assert_eq!(product::<Concrete>(tensor([2.0, 3.0, 4.0])), tensor(24.0));
/// ```
#[diagnostic::on_unimplemented(
    message = "a loop cannot run over `{Self}`",
    label = "a tensor of rank 1 or more is needed, a range of numbers of type `usize`, or a tuple or `Vec` of these",
    note = "a loop over structs runs over their stack: `Stacked::new(&structs)`"
)]
pub trait Rows<T, R> {
    /// Pushes the tensors of the sequences, in order.
    #[doc(hidden)]
    #[track_caller]
    fn sequences(&self, out: &mut Vec<T>);
    /// One row from one element of each tensor.
    #[doc(hidden)]
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> R;
}

/// The outputs of one trip of a loop: a tensor, `()`, a struct or enum that derives [`Tree`](trait@Tree), or a tuple,
/// array, `Vec`, `Option`, `Box` or `BTreeMap` of these. `S` is the type of the stacked outputs of all trips: the same
/// structure, with a new outermost axis for each tensor, and a stack ([`Stacked`](crate::tree::Stacked)) in place of a
/// struct or enum.
///
/// ```
/// use polygrad::tensor::Outputs;
/// use polygrad::{BaseTensor, Tensor, map, tensor};
/// fn at_integers<T: BaseTensor, Y: Outputs<T, S>, S>(f: impl Fn(&Tensor<T, 0>) -> Y) -> S {
///     map(0..3, |i: &Tensor<T, 0, i64>| f(&i.to_float()))
/// }
/// let (x, square) = at_integers(|x| (x.clone(), x.square()));
/// assert_eq!((x, square), (tensor([0.0, 1.0, 2.0]), tensor([0.0, 1.0, 4.0])));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stacked",
    label = "the body of a loop must return a tensor here, or a tuple, `Vec` or struct of tensors"
)]
pub trait Outputs<T: BaseTensor, S>: Tree<T, With<T> = Self> {
    /// The outputs of all trips, from the stacked tensors.
    #[doc(hidden)]
    fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> S;
}

impl<T: BaseTensor, const D: usize, const M: usize, E: Elem> Rows<T, Tensor<T, M, E>> for Tensor<T, D, E>
where
    Rank<D>: Above<M>,
{
    fn sequences(&self, out: &mut Vec<T>) {
        out.push(self.raw().clone());
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> Tensor<T, M, E> {
        Tensor::from_raw(next_leaf(parts))
    }
}

/// A range of integers: the row of a trip is one integer of the range.
impl<T: BaseTensor> Rows<T, Tensor<T, 0, i64>> for Range<usize> {
    fn sequences(&self, out: &mut Vec<T>) {
        check_possible("range", &[self.len()]);
        let positions = Tensor::<T, 1, i64>::iota(self.len());
        // A saturated start is out of bounds of every array, as the start itself is.
        let start = i64::try_from(self.start).unwrap_or(i64::MAX);
        out.push(if start == 0 { positions } else { positions + start }.into_raw());
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> Tensor<T, 0, i64> {
        Tensor::from_raw(next_leaf(parts))
    }
}

impl<T, R, X: Rows<T, R>> Rows<T, R> for &X {
    fn sequences(&self, out: &mut Vec<T>) {
        (**self).sequences(out);
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> R {
        (**self).row(parts)
    }
}

impl<T: BaseTensor, const D: usize, const M: usize, E: Elem> Outputs<T, Tensor<T, D, E>> for Tensor<T, M, E>
where
    Rank<D>: Above<M>,
{
    fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> Tensor<T, D, E> {
        Tensor::from_raw(next_leaf(parts))
    }
}

impl<T: BaseTensor> Outputs<T, ()> for () {
    fn stacked(&self, _: &mut dyn Iterator<Item = T>) {}
}

impl<T, R, X: Rows<T, R>, const N: usize> Rows<T, [R; N]> for [X; N] {
    fn sequences(&self, out: &mut Vec<T>) {
        self.iter().for_each(|x| x.sequences(out));
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> [R; N] {
        self.each_ref().map(|x| x.row(parts))
    }
}

impl<T: BaseTensor, S, Y: Outputs<T, S>, const N: usize> Outputs<T, [S; N]> for [Y; N] {
    fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> [S; N] {
        self.each_ref().map(|y| y.stacked(parts))
    }
}

impl<T, R, X: Rows<T, R>> Rows<T, Vec<R>> for Vec<X> {
    fn sequences(&self, out: &mut Vec<T>) {
        self.iter().for_each(|x| x.sequences(out));
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> Vec<R> {
        self.iter().map(|x| x.row(parts)).collect()
    }
}

impl<T: BaseTensor, S, Y: Outputs<T, S>> Outputs<T, Vec<S>> for Vec<Y> {
    fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> Vec<S> {
        self.iter().map(|y| y.stacked(parts)).collect()
    }
}

impl<T, R, X: Rows<T, R>> Rows<T, Option<R>> for Option<X> {
    fn sequences(&self, out: &mut Vec<T>) {
        self.iter().for_each(|x| x.sequences(out));
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> Option<R> {
        self.as_ref().map(|x| x.row(parts))
    }
}

impl<T: BaseTensor, S, Y: Outputs<T, S>> Outputs<T, Option<S>> for Option<Y> {
    fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> Option<S> {
        self.as_ref().map(|y| y.stacked(parts))
    }
}

impl<T, R, X: Rows<T, R>> Rows<T, Box<R>> for Box<X> {
    fn sequences(&self, out: &mut Vec<T>) {
        (**self).sequences(out);
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> Box<R> {
        Box::new((**self).row(parts))
    }
}

impl<T: BaseTensor, S, Y: Outputs<T, S>> Outputs<T, Box<S>> for Box<Y> {
    fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> Box<S> {
        Box::new((**self).stacked(parts))
    }
}

impl<T, K: Ord + Clone, R, X: Rows<T, R>> Rows<T, BTreeMap<K, R>> for BTreeMap<K, X> {
    fn sequences(&self, out: &mut Vec<T>) {
        self.values().for_each(|x| x.sequences(out));
    }
    fn row(&self, parts: &mut dyn Iterator<Item = T>) -> BTreeMap<K, R> {
        self.iter().map(|(name, x)| (name.clone(), x.row(parts))).collect()
    }
}

impl<T: BaseTensor, K: Ord + Display + Clone + Plain, S, Y: Outputs<T, S>> Outputs<T, BTreeMap<K, S>>
    for BTreeMap<K, Y>
{
    fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> BTreeMap<K, S> {
        self.iter().map(|(name, y)| (name.clone(), y.stacked(parts))).collect()
    }
}

/// Plain data are the same in all trips.
impl<T, X: Clone> Rows<T, Keep<X>> for Keep<X> {
    fn sequences(&self, _: &mut Vec<T>) {}
    fn row(&self, _: &mut dyn Iterator<Item = T>) -> Keep<X> {
        self.clone()
    }
}

/// Plain data are the same in all trips.
impl<T: BaseTensor, X: Clone + Plain> Outputs<T, Keep<X>> for Keep<X> {
    fn stacked(&self, _: &mut dyn Iterator<Item = T>) -> Keep<X> {
        self.clone()
    }
}

macro_rules! tuples {
    ($($($X:ident $R:ident $k:tt),*;)*) => { $(
        impl<T, $($X: Rows<T, $R>, $R),*> Rows<T, ($($R,)*)> for ($($X,)*) {
            fn sequences(&self, out: &mut Vec<T>) {
                $( self.$k.sequences(out); )*
            }
            fn row(&self, parts: &mut dyn Iterator<Item = T>) -> ($($R,)*) {
                ($( self.$k.row(parts), )*)
            }
        }
        impl<T: BaseTensor, $($X: Outputs<T, $R>, $R),*> Outputs<T, ($($R,)*)> for ($($X,)*) {
            fn stacked(&self, parts: &mut dyn Iterator<Item = T>) -> ($($R,)*) {
                ($( self.$k.stacked(parts), )*)
            }
        }
    )* };
}
tuples! {
    A RA 0;
    A RA 0, B RB 1;
    A RA 0, B RB 1, C RC 2;
    A RA 0, B RB 1, C RC 2, D RD 3;
    A RA 0, B RB 1, C RC 2, D RD 3, E RE 4;
    A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5;
    A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6;
    A RA 0, B RB 1, C RC 2, D RD 3, E RE 4, F RF 5, G RG 6, H RH 7;
}
