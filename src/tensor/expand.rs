//! Explicit broadcasting to a higher rank, and reductions that keep their axis with size 1.
//!
//! Law: the axes of a tensor are the last ones of the result, as in `NumPy`; leading axes are new. An operator never
//! broadcasts in this way by itself, because on a square matrix a vector could be meant for rows or for columns.

use super::Tensor;
use super::operators::stretch;
use super::rank::{Above, AtLeast, Rank};
use super::stats::Norm;
use super::structure::check_axis;
use crate::base::BaseTensor;
use crate::dtype::{Elem, Float, Num};
use crate::ops::Linear;
use crate::shape::{Shape, Show};

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// This tensor with leading axes of size 1, so that it has rank `R`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let row = tensor([10.0, 20.0]).expand::<2>();
    /// assert_eq!(row, tensor([[10.0, 20.0]]));
    /// assert_eq!(tensor([[1.0, 2.0], [3.0, 4.0]]) + row, tensor([[11.0, 22.0], [13.0, 24.0]]));
    /// ```
    #[track_caller]
    pub fn expand<const R: usize>(&self) -> Tensor<T, R, E>
    where
        Rank<R>: AtLeast<D>,
    {
        let own = self.raw().shape();
        let mut shape = Shape::from_elem(1, R - D);
        shape.extend_from_slice(own);
        let axes: Vec<usize> = (R - D..R).collect();
        Tensor::from_raw(self.raw().linear(&Linear::replicate(&shape, &axes)))
    }

    /// This tensor broadcast to the shape of `like`: repeated along new leading axes, and along axes of size 1. Its
    /// axes are the last ones of `like`, as those of a bias added to a batch.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    /// let gain = tensor([1.0, 10.0]);
    /// assert_eq!(&x * gain.up_to(&x), tensor([[1.0, 20.0], [3.0, 40.0]]));
    /// ```
    ///
    /// # Panics
    /// When a size is neither 1 nor that of the axis of `like`.
    #[track_caller]
    pub fn up_to<const R: usize, F: Elem>(&self, like: &Tensor<T, R, F>) -> Tensor<T, R, E>
    where
        Rank<R>: AtLeast<D>,
    {
        let (own, shape) = (self.raw().shape(), like.raw().shape());
        if own.iter().zip(&shape[R - D..]).any(|(n, m)| n != m && *n != 1) {
            panic!(
                "up_to: the sizes must be those of the last axes of the other tensor, or 1 to be repeated, but the shapes are {} and {}; \
                 name the axes with insert_axis",
                Show(own),
                Show(shape)
            );
        }
        if D == R || own.contains(&1) {
            let wide = if D == R { self.raw().clone() } else { self.expand::<R>().into_raw() };
            return Tensor::from_raw(stretch(&wide, shape).into_owned());
        }
        let axes: Vec<usize> = (R - D..R).collect();
        Tensor::from_raw(self.raw().linear(&Linear::replicate(shape, &axes)))
    }
}

/// A reduction along an axis, which keeps size 1.
macro_rules! keeps {
    ($Bound:ident: $( $(#[$doc:meta])* $name:ident of $axis:ident($($arg:ident: $Arg:ty),*); )*) => {
        impl<T: BaseTensor, const D: usize, E: $Bound> Tensor<T, D, E> { $(
            $(#[$doc])*
            ///
            /// # Panics
            /// When the axis does not exist, and when the reduction that drops the axis panics.
            #[track_caller]
            pub fn $name<const M: usize>(&self, axis: usize $(, $arg: $Arg)*) -> Self
            where
                Rank<D>: Above<M>,
            {
                check_axis(stringify!($name), axis, self.raw().shape());
                self.$axis::<M>(axis $(, $arg)*).insert_axis(axis)
            }
        )* }
    };
}

keeps! { Num:
    /// The sum along an axis, which keeps size 1.
    ///
    /// ```
    /// use polygrad::tensor::{Norm, tensor};
    /// let x = tensor([[1.0, 3.0], [2.0, 2.0]]);
    /// assert_eq!(&x / x.sum_keep(1), tensor([[0.25, 0.75], [0.5, 0.5]]));
    /// assert_eq!((x.max_keep(1), x.min_keep(0)), (tensor([[3.0], [2.0]]), tensor([[1.0, 2.0]])));
    /// assert_eq!((x.prod_keep(1), x.mean_keep(1)), (tensor([[3.0], [4.0]]), tensor([[2.0], [2.0]])));
    /// assert_eq!((x.var_keep(1), x.std_keep(1)), (tensor([[1.0], [0.0]]), tensor([[1.0], [0.0]])));
    /// assert_eq!(tensor([[3.0, 4.0]]).norm_keep(1, Norm::Two), tensor([[5.0]]));
    /// assert_eq!(tensor([[0.0, 0.0]]).logsumexp_keep(1), tensor([[2f64.ln()]]));
    /// ```
    sum_keep of sum_axis();
    /// The largest element of each line along an axis, which keeps size 1; see [`max_axis`](Tensor::max_axis).
    ///
    /// Example: [`Tensor::sum_keep`].
    max_keep of max_axis();
    /// The smallest element of each line along an axis, which keeps size 1; see [`min_axis`](Tensor::min_axis).
    ///
    /// Example: [`Tensor::sum_keep`].
    min_keep of min_axis();
    /// The product of each line along an axis, which keeps size 1.
    ///
    /// Example: [`Tensor::sum_keep`].
    prod_keep of prod_axis();
}

keeps! { Float:
    /// The mean along an axis, which keeps size 1.
    ///
    /// Example: [`Tensor::sum_keep`].
    mean_keep of mean_axis();
    /// The variance along an axis, which keeps size 1; see [`var`](Tensor::var).
    ///
    /// Example: [`Tensor::sum_keep`].
    var_keep of var_axis();
    /// The standard deviation along an axis, which keeps size 1; see [`std`](Tensor::std).
    ///
    /// Example: [`Tensor::sum_keep`].
    std_keep of std_axis();
    /// The norm of each line along an axis, which keeps size 1; see [`norm_axis`](Tensor::norm_axis).
    ///
    /// Example: [`Tensor::sum_keep`].
    norm_keep of norm_axis(order: Norm);
    /// [`logsumexp`](Tensor::logsumexp) along an axis, which keeps size 1.
    ///
    /// Example: [`Tensor::sum_keep`].
    logsumexp_keep of logsumexp_axis();
}
