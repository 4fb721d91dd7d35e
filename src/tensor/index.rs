//! Gather and scatter-add: reads and additions at computed positions.
//!
//! Law: total. A read at an index out of bounds, which includes negative indices, gives 0; an addition there does
//! nothing. Indices are integer tensors, ordinary values of the program; a host number is a constant index.

use super::Tensor;
use super::rank::{Above, Plus, Rank};
use crate::base::BaseTensor;
use crate::dtype::{Elem, Float, Num};
use crate::ops::{Compare, Discrete, Linear};
use crate::shape::{Shape, check_possible};

/// An index: an integer tensor of rank 0, or a host integer.
///
/// Example: [`Indices`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an index",
    label = "an index is a `Tensor<T, 0, i64>`, or an integer of type `i32`, `i64` or `usize`"
)]
pub trait ScalarIndex<T> {
    /// The index as an integer tensor.
    ///
    /// Example: [`Indices`].
    fn index(&self) -> Tensor<T, 0, i64>;
}

impl<T: BaseTensor> ScalarIndex<T> for Tensor<T, 0, i64> {
    fn index(&self) -> Tensor<T, 0, i64> {
        self.clone()
    }
}

impl<T: BaseTensor, I: ScalarIndex<T>> ScalarIndex<T> for &I {
    fn index(&self) -> Tensor<T, 0, i64> {
        (*self).index()
    }
}

impl<T: BaseTensor> ScalarIndex<T> for i32 {
    fn index(&self) -> Tensor<T, 0, i64> {
        Tensor::scalar(i64::from(*self))
    }
}

impl<T: BaseTensor> ScalarIndex<T> for i64 {
    fn index(&self) -> Tensor<T, 0, i64> {
        Tensor::scalar(*self)
    }
}

impl<T: BaseTensor> ScalarIndex<T> for usize {
    fn index(&self) -> Tensor<T, 0, i64> {
        // The saturated index is out of bounds, too: no array is so large.
        Tensor::scalar(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

/// `K` indices into the `K` outermost axes: an array `[i, j]`, or a tuple `(i, 0)` if the types of the indices differ.
///
/// ```
/// use polygrad::tensor::{Indices, ScalarIndex};
/// use polygrad::{BaseTensor, Concrete, Tensor, tensor};
/// fn element<T: BaseTensor>(x: &Tensor<T, 2>, ix: impl Indices<T, 2>) -> Tensor<T, 0> {
///     x.at(ix)
/// }
/// fn next<T: BaseTensor>(i: impl ScalarIndex<T>) -> Tensor<T, 0, i64> {
///     i.index() + 1
/// }
/// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!((element(&x, [1, 0]), element(&x, (tensor(1), 1))), (tensor(3.0), tensor(4.0)));
/// assert_eq!((next::<Concrete>(3_usize), next(&tensor(3))), (tensor(4), tensor(4)));
/// ```
pub trait Indices<T, const K: usize> {
    /// The indices as integer tensors.
    #[doc(hidden)]
    fn indices(&self) -> [T; K];
}

impl<T: BaseTensor, I: ScalarIndex<T>, const K: usize> Indices<T, K> for [I; K] {
    fn indices(&self) -> [T; K] {
        self.each_ref().map(|i| i.index().into_raw())
    }
}

macro_rules! tuple_indices {
    ($($K:literal: $($I:ident $k:tt),*;)*) => { $(
        impl<T: BaseTensor, $($I: ScalarIndex<T>),*> Indices<T, $K> for ($($I,)*) {
            fn indices(&self) -> [T; $K] {
                [$(self.$k.index().into_raw()),*]
            }
        }
    )* };
}
tuple_indices! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
}

/// One of the indices of [`gather`](Tensor::gather) and [`scatter_add`](Tensor::scatter_add): an integer tensor of rank
/// `S`, owned or borrowed, or a host integer, which is broadcast.
///
/// Example: [`IndexTensors`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an index tensor of rank {S}",
    label = "an index tensor is a `Tensor<T, {S}, i64>`, owned or borrowed, or an integer of type `i32`, `i64` or `usize`"
)]
pub trait IndexTensor<T, const S: usize> {
    /// The shape; `None` for a number.
    #[doc(hidden)]
    fn shape(&self) -> Option<&[usize]>;
    /// The index tensor; a number is broadcast to this shape.
    #[doc(hidden)]
    fn place(&self, shape: &[usize]) -> T;
}

impl<T: BaseTensor, const S: usize> IndexTensor<T, S> for Tensor<T, S, i64> {
    fn shape(&self) -> Option<&[usize]> {
        Some(self.raw().shape())
    }
    fn place(&self, _: &[usize]) -> T {
        self.raw().clone()
    }
}

impl<T, const S: usize, I: IndexTensor<T, S>> IndexTensor<T, S> for &I {
    fn shape(&self) -> Option<&[usize]> {
        (**self).shape()
    }
    fn place(&self, shape: &[usize]) -> T {
        (**self).place(shape)
    }
}

macro_rules! repeated {
    ($($I:ty),*) => { $(
        impl<T: BaseTensor, const S: usize> IndexTensor<T, S> for $I {
            fn shape(&self) -> Option<&[usize]> {
                None
            }
            fn place(&self, shape: &[usize]) -> T {
                ScalarIndex::<T>::index(self).into_raw().linear(&Linear::replicate(shape, &[]))
            }
        }
    )* };
}
repeated!(i32, i64, usize);

/// `K` index tensors of one shape of rank `S`, into the `K` outermost axes: an array, or a tuple if their types differ.
///
/// ```
/// use polygrad::tensor::{IndexTensor, IndexTensors};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn elements<T: BaseTensor>(x: &Tensor<T, 2>, ix: impl IndexTensors<T, 1, 2>) -> Tensor<T, 1> {
///     x.gather(ix)
/// }
/// fn of_first_row<T: BaseTensor>(x: &Tensor<T, 2>, ix: impl IndexTensor<T, 1>) -> Tensor<T, 1> {
///     x.row(0).gather([ix])
/// }
/// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(elements(&x, [tensor([0, 1]), tensor([1, 0])]), tensor([2.0, 3.0]));
/// assert_eq!(elements(&x, (tensor([0, 1]), 1)), tensor([2.0, 4.0]));
/// assert_eq!(of_first_row(&x, tensor([1, 0, 1])), tensor([2.0, 1.0, 2.0]));
/// ```
pub trait IndexTensors<T, const S: usize, const K: usize> {
    /// The index tensors; `None` if `S` is above 0 and all are numbers, which have no shape.
    #[doc(hidden)]
    fn places(&self) -> Option<[T; K]>;
}

/// The common shape of index tensors; `None` if `S` is above 0 and all are numbers.
fn common<'a, const S: usize>(mut shapes: impl Iterator<Item = Option<&'a [usize]>>) -> Option<&'a [usize]> {
    shapes.find_map(|shape| shape).or((S == 0).then_some(&[]))
}

impl<T, const S: usize, I: IndexTensor<T, S>, const K: usize> IndexTensors<T, S, K> for [I; K] {
    fn places(&self) -> Option<[T; K]> {
        let shape = common::<S>(self.iter().map(I::shape))?;
        Some(self.each_ref().map(|i| i.place(shape)))
    }
}

macro_rules! tuple_places {
    ($($K:literal: $($I:ident $k:tt),*;)*) => { $(
        impl<T, const S: usize, $($I: IndexTensor<T, S>),*> IndexTensors<T, S, $K> for ($($I,)*) {
            fn places(&self) -> Option<[T; $K]> {
                let shape = common::<S>([$(self.$k.shape()),*].into_iter())?;
                Some([$(self.$k.place(shape)),*])
            }
        }
    )* };
}
tuple_places! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
}

/// The index tensors of `gather` or `scatter_add`.
#[track_caller]
fn places<T, const S: usize, const K: usize>(op: &str, ix: &impl IndexTensors<T, S, K>) -> [T; K] {
    match ix.places() {
        Some(places) => places,
        None => panic!(
            "{op}: an index must be a tensor of rank {S}, but all are numbers; read one place with `at`, write it with `add_at`"
        ),
    }
}

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// The subarray at `K` indices into the `K` outermost axes; an element if `K` is the rank. Zeros if an index is out
    /// of bounds.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.at([1, 0]), tensor(3.0));
    /// assert_eq!(x.at([1]), tensor([3.0, 4.0]));
    /// assert_eq!(x.at([5]), tensor([0.0, 0.0]));
    /// let i = tensor(1);
    /// assert_eq!(x.at((&i, 0)), tensor(3.0));
    /// ```
    ///
    /// More indices than axes are refused, and so are floats as indices:
    ///
    /// ```compile_fail,E0277
    /// polygrad::tensor([1.0, 2.0]).at([0, 0]);
    /// ```
    ///
    /// ```compile_fail,E0277
    /// polygrad::tensor([1.0, 2.0]).at([0.5]);
    /// ```
    #[track_caller]
    pub fn at<I, const K: usize, const M: usize>(&self, ix: I) -> Tensor<T, M, E>
    where
        I: Indices<T, K>,
        Rank<D>: Plus<K, M>,
    {
        Tensor::from_raw(self.raw().gather(&ix.indices()))
    }

    /// The subarrays at many positions: `K` index tensors of one shape, into the `K` outermost axes. The shape of the
    /// result is that of the index tensors, followed by the sizes of the axes that are not indexed. Zeros where an
    /// index is out of bounds.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.gather([&tensor([1, 0, 1]), &tensor([0, 1, 7])]), tensor([3.0, 2.0, 0.0]));
    /// assert_eq!(x.gather([&tensor([1, 1])]), tensor([[3.0, 4.0], [3.0, 4.0]]));
    /// // A tuple may mix owned and borrowed tensors, and numbers.
    /// let i = tensor([1, 0, 1]);
    /// assert_eq!(x.gather((&i, 1)), tensor([4.0, 2.0, 4.0]));
    /// assert_eq!(x.gather((&i, 1 - &i)), tensor([3.0, 2.0, 3.0]));
    /// ```
    ///
    /// # Panics
    /// When the index tensors differ in shape, or `S` is above 0 and all are numbers.
    #[track_caller]
    pub fn gather<I, const K: usize, const S: usize, const M: usize, const R: usize>(&self, ix: I) -> Tensor<T, R, E>
    where
        I: IndexTensors<T, S, K>,
        Rank<D>: Plus<K, M>,
        Rank<R>: Plus<S, M>,
    {
        Tensor::from_raw(self.raw().gather(&places("gather", &ix)))
    }

    /// The subarrays at the positions `ix` of the outermost axis, in the order of `ix`; zeros for a position out of
    /// bounds.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 2.0, 3.0]).take(&tensor([2, 0])), tensor([3.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn take<const M: usize>(&self, ix: &Tensor<T, 1, i64>) -> Self
    where
        Rank<D>: Above<M>,
    {
        Tensor::from_raw(self.raw().gather(&[ix.raw().clone()]))
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// This tensor with the subarrays of `v` added at the positions that [`gather`](Tensor::gather) reads: subarrays
    /// for one position add up, those for positions out of bounds are dropped. In place if `self` has no other owner.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let counts = tensor([0.0, 0.0]).scatter_add([&tensor([1, 1, 9])], &tensor([1.0, 2.0, 4.0]));
    /// assert_eq!(counts, tensor([0.0, 3.0]));
    /// ```
    ///
    /// # Panics
    /// When the index tensors differ in shape, `S` is above 0 and all are numbers, or `v` has a different shape than the
    /// result of `gather`.
    #[track_caller]
    pub fn scatter_add<I, const K: usize, const S: usize, const M: usize, const R: usize>(
        self,
        ix: I,
        v: &Tensor<T, R, E>,
    ) -> Self
    where
        I: IndexTensors<T, S, K>,
        Rank<D>: Plus<K, M>,
        Rank<R>: Plus<S, M>,
    {
        Tensor::from_raw(self.into_raw().scatter_add(&places("scatter_add", &ix), v.raw()))
    }
}

impl<T: BaseTensor, const D: usize> Tensor<T, D, i64> {
    /// Each element `i` as a line of size `n` along a new innermost axis, with 1 at position `i` and 0 elsewhere; all
    /// zeros if `i` is out of bounds.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1, 0, 5]).one_hot(2), tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn one_hot<const R: usize, F: Float>(&self, n: usize) -> Tensor<T, R, F>
    where
        Rank<R>: Above<D>,
    {
        let mut shape = Shape::from_slice(self.raw().shape());
        shape.push(n);
        check_possible("one_hot", &shape);
        let axes = super::structure::other_axes(D, D);
        let own = self.raw().linear(&Linear::replicate(&shape, &axes));
        let position = Tensor::<T, 1, i64>::iota(n).into_raw().linear(&Linear::replicate(&shape, &[D]));
        let mask = T::discrete(&Discrete::Compare(Compare::Eq), &[&own, &position]);
        Tensor::from_raw(T::discrete(&Discrete::ToFloat(F::DTYPE), &[&mask]))
    }
}
