//! Complex tensors: two real tensors of one shape, the real and the imaginary part.
//!
//! Law: a complex tensor adds no operation to the language. Each function of it is made of operations of its parts, so
//! it means the same in every interpreter, and has derivatives of every order. The gradient of a real loss in a complex
//! parameter `z = x + i y` is the complex tensor `dL/dx + i dL/dy`, see [the guide](crate::guide::complex).
//!
//! | file | contents |
//! |---|---|
//! | this one | the type, its constructors, its parts; structure: methods of tensors, applied to both parts |
//! | `operators` | `+ - * /` with complex and real tensors and numbers |
//! | `functions` | elementwise functions |
//! | `inverse` | inverse trigonometric and hyperbolic functions |
//! | `products` | inner, outer and matrix products, norms |
//! | `known` | known numbers: elements of the crate `num-complex`, printing, comparison |
//! | `trees` | complex tensors as trees, and in loops |
//!
//! Fourier transforms are in `fft`, sums of products with letters in `letters`, and equations and eigenvalues in
//! [`linalg`](crate::linalg).

use std::ops::RangeBounds;

use super::parts::{concat, stack};
use super::rank::{Above, Plus, Rank};
use super::{IndexTensors, Indices, Tensor};
use crate::array::{Array, Nested};
use crate::base::{BaseTensor, Lift};
use crate::dtype::Float;
use crate::shape::Show;

mod functions;
mod inverse;
mod known;
mod operators;
mod products;
mod trees;

pub use operators::ComplexSide;

/// A complex array of rank `D`, as values of the interpreter `T` in which the program runs: a real and an imaginary
/// part of one shape, with float elements `E`.
///
/// ```
/// use polygrad::{BaseTensor, Complex, Tensor, grad, tensor};
///
/// /// A real loss of complex parameters.
/// fn loss<T: BaseTensor>(z: &Complex<T, 1>) -> Tensor<T, 0> {
///     (z * z - 1.0).abs().square().sum()
/// }
/// let z = Complex::new(tensor([1.0, 0.0]), tensor([1.0, 2.0]));
/// let slope = grad(loss, &z);
/// assert_eq!(slope, Complex::new(tensor([4.0, 0.0]), tensor([12.0, 40.0])));
/// ```
///
/// Complex tensors combine with complex and real tensors, and numbers:
///
/// ```
/// use polygrad::{Complex, tensor};
/// let (z, x) = (Complex::new(tensor([1.0, 0.0]), tensor([1.0, 2.0])), tensor([2.0, 4.0]));
/// assert_eq!(&z * &x, Complex::new(tensor([2.0, 0.0]), tensor([2.0, 8.0])));
/// assert_eq!(x - &z * 0.5, Complex::new(tensor([1.5, 4.0]), tensor([-0.5, -1.0])));
/// ```
pub struct Complex<T, const D: usize, E = f64> {
    re: Tensor<T, D, E>,
    im: Tensor<T, D, E>,
}

impl<T: Clone, const D: usize, E> Clone for Complex<T, D, E> {
    fn clone(&self) -> Self {
        Complex { re: self.re.clone(), im: self.im.clone() }
    }
}

impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
    /// The complex tensor of a real and an imaginary part.
    ///
    /// ```
    /// use polygrad::{Complex, Concrete, tensor};
    /// assert_eq!(Complex::new(tensor([3.0]), tensor([4.0])).abs(), tensor([5.0]));
    /// assert_eq!(Complex::from_polar(&tensor([2.0, 3.0]), &tensor([0.0, 0.0])), tensor([2.0, 3.0]).to_complex());
    /// assert_eq!(Complex::<Concrete, 1>::zeros([2]), tensor([0.0, 0.0]).to_complex());
    /// let i = Complex::<Concrete, 0>::scalar(0.0, 1.0);
    /// assert_eq!(&i * &i, tensor(-1.0).to_complex());
    /// ```
    ///
    /// # Panics
    /// When the shapes differ.
    #[track_caller]
    pub fn new(re: Tensor<T, D, E>, im: Tensor<T, D, E>) -> Self {
        if re.raw().shape() != im.raw().shape() {
            panic!(
                "complex: both parts must have one shape, but they are {} and {}; repeat one with broadcast_to, or make a real tensor \
                 complex with to_complex",
                Show(re.raw().shape()),
                Show(im.raw().shape())
            );
        }
        Complex { re, im }
    }

    /// Two values of one shape as the parts of a complex tensor.
    #[track_caller]
    pub(crate) fn from_raw([re, im]: [T; 2]) -> Self {
        Complex::new(Tensor::from_raw(re), Tensor::from_raw(im))
    }

    /// The complex numbers of these absolute values and angles: `r (cos phi + i sin phi)`.
    ///
    /// Example: [`Complex::new`].
    ///
    /// # Panics
    /// When the shapes differ.
    #[track_caller]
    pub fn from_polar(r: &Tensor<T, D, E>, phi: &Tensor<T, D, E>) -> Self {
        let turn = Complex::new(phi.cos(), phi.sin());
        turn * r
    }

    /// The known numbers of a real and an imaginary part, as a constant.
    ///
    /// ```
    /// use polygrad::{BaseTensor, Complex, tensor};
    /// fn turned<T: BaseTensor>(z: &Complex<T, 1>) -> Complex<T, 1> {
    ///     z * Complex::constant([0.0, 1.0], [1.0, 0.0])
    /// }
    /// let z = Complex::new(tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// assert_eq!(turned(&z), Complex::new(tensor([-3.0, 2.0]), tensor([1.0, 4.0])));
    /// ```
    ///
    /// # Panics
    /// When the shapes differ, or a part is an [`Array`] of another rank or element type.
    #[track_caller]
    pub fn constant(re: impl Nested<D, E>, im: impl Nested<D, E>) -> Self {
        Complex::new(Tensor::constant(re), Tensor::constant(im))
    }

    /// The tensor of this shape in which every element is 0.
    ///
    /// Example: [`Complex::new`].
    #[track_caller]
    pub fn zeros(shape: [usize; D]) -> Self {
        Complex { re: Tensor::zeros(shape), im: Tensor::zeros(shape) }
    }

    /// The real part.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor([3.0, 0.0]), tensor([4.0, 1.0]));
    /// assert_eq!((z.re(), z.im()), (&tensor([3.0, 0.0]), &tensor([4.0, 1.0])));
    /// assert_eq!((z.shape(), z.size(), z.len()), ([2], 2, 2));
    /// assert_eq!(z.into_parts().1, tensor([4.0, 1.0]));
    /// ```
    pub fn re(&self) -> &Tensor<T, D, E> {
        &self.re
    }

    /// The imaginary part.
    ///
    /// Example: [`Complex::re`].
    pub fn im(&self) -> &Tensor<T, D, E> {
        &self.im
    }

    /// Real and imaginary part, by value.
    ///
    /// Example: [`Complex::re`].
    pub fn into_parts(self) -> (Tensor<T, D, E>, Tensor<T, D, E>) {
        (self.re, self.im)
    }

    /// The values of both parts.
    pub(crate) fn raws(&self) -> [&T; 2] {
        [self.re.raw(), self.im.raw()]
    }

    /// The sizes of the axes, outermost first.
    ///
    /// Example: [`Complex::re`].
    pub fn shape(&self) -> [usize; D] {
        self.re.shape()
    }

    /// The number of elements.
    ///
    /// Example: [`Complex::re`].
    pub fn size(&self) -> usize {
        self.re.size()
    }

    /// The size of the outermost axis; a tensor of rank 0 has none, which rustc checks.
    ///
    /// Example: [`Complex::re`].
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.re.len()
    }

    /// This tensor as a constant of a higher level, see [`Tensor::lift`].
    ///
    /// ```
    /// use polygrad::{Complex, grad, tensor};
    /// let i = Complex::new(tensor(0.0), tensor(1.0));
    /// // The real part of `i (x + i y)` is `-y`.
    /// let slope = grad(|z: &Complex<_, 0>| (z * i.lift()).re().square(), &Complex::scalar(1.0, 3.0));
    /// assert_eq!(slope, Complex::new(tensor(0.0), tensor(6.0)));
    /// ```
    #[track_caller]
    pub fn lift<U: Lift<T, I>, I>(&self) -> Complex<U, D, E> {
        Complex { re: self.re.lift(), im: self.im.lift() }
    }

    /// A function of real tensors, applied to each part. For a linear function this is its meaning for complex numbers.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[5.0, 6.0], [7.0, 8.0]]));
    /// assert_eq!(z.by_parts(|x| x.cumsum(0)).re(), &tensor([[1.0, 2.0], [4.0, 6.0]]));
    /// // Structure and sums have methods.
    /// assert_eq!(z.t(), z.by_parts(|x| x.t()));
    /// assert_eq!(z.sum_axis(1), Complex::new(tensor([3.0, 7.0]), tensor([11.0, 15.0])));
    /// ```
    ///
    /// # Panics
    /// When the results differ in shape.
    #[track_caller]
    pub fn by_parts<const R: usize>(&self, f: impl Fn(&Tensor<T, D, E>) -> Tensor<T, R, E>) -> Complex<T, R, E> {
        Complex::new(f(&self.re), f(&self.im))
    }

    /// Where the mask holds `then`, elsewhere `otherwise`; all three are broadcast. Values computed in the branch that
    /// is not taken never reach a derivative.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let upper = Complex::select(&z.re().gt(1.5), &z, &z.conj());
    /// assert_eq!(upper, Complex::new(tensor([1.0, 2.0]), tensor([-3.0, 4.0])));
    /// ```
    ///
    /// # Panics
    /// When sizes along an axis differ and neither size is 1.
    #[track_caller]
    pub fn select(mask: &Tensor<T, D, bool>, then: &Self, otherwise: &Self) -> Self {
        Complex { re: mask.select(&then.re, &otherwise.re), im: mask.select(&then.im, &otherwise.im) }
    }

    /// The concatenation of the parts along an axis; only along this axis their sizes may differ.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor(1.0), tensor(3.0));
    /// let column = Complex::stack(&[&z, &z.conj()]);
    /// assert_eq!(column.im(), &tensor([3.0, -3.0]));
    /// assert_eq!(Complex::concat(0, &[&column, &column]).re(), &tensor([1.0, 1.0, 1.0, 1.0]));
    /// ```
    ///
    /// # Panics
    /// When no part is given, the axis does not exist, or the parts differ along another axis.
    #[track_caller]
    pub fn concat(axis: usize, parts: &[&Self]) -> Self {
        let of = |part: fn(&Self) -> &Tensor<T, D, E>| parts.iter().map(|z| part(z)).collect::<Vec<_>>();
        Complex { re: concat(axis, of(Self::re)), im: concat(axis, of(Self::im)) }
    }

    /// Tensors of one shape, stacked along a new outermost axis.
    ///
    /// Example: [`Complex::concat`].
    ///
    /// # Panics
    /// When no part is given, or their shapes differ.
    #[track_caller]
    pub fn stack<const R: usize>(parts: &[&Self]) -> Complex<T, R, E>
    where
        Rank<R>: Above<D>,
    {
        let of = |part: fn(&Self) -> &Tensor<T, D, E>| parts.iter().map(|z| part(z)).collect::<Vec<_>>();
        Complex { re: stack(of(Self::re)), im: stack(of(Self::im)) }
    }

    /// The mask of elements with equal real and equal imaginary parts; IEEE for both.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor([1.0, f64::NAN]), tensor([0.0, 1.0]));
    /// assert_eq!((z.is_nan(), z.is_finite()), (tensor([false, true]), tensor([true, false])));
    /// assert_eq!(z.eq(&z.conj()), tensor([true, false]));
    /// ```
    #[track_caller]
    pub fn eq(&self, other: &Self) -> Tensor<T, D, bool> {
        self.re.eq(&other.re) & self.im.eq(&other.im)
    }

    /// The mask of elements with a part that is NaN.
    ///
    /// Example: [`Complex::eq`].
    #[track_caller]
    pub fn is_nan(&self) -> Tensor<T, D, bool> {
        self.re.is_nan() | self.im.is_nan()
    }

    /// The mask of elements whose parts are both finite.
    ///
    /// Example: [`Complex::eq`].
    #[track_caller]
    pub fn is_finite(&self) -> Tensor<T, D, bool> {
        self.re.is_finite() & self.im.is_finite()
    }
}

impl<T: BaseTensor, E: Float> Complex<T, 0, E> {
    /// The tensor of rank 0 that holds one number.
    ///
    /// Example: [`Complex::new`].
    pub fn scalar(re: E, im: E) -> Self {
        Complex { re: Tensor::scalar(re), im: Tensor::scalar(im) }
    }
}

impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// These real numbers as complex ones, whose imaginary parts are 0.
    ///
    /// Example: [`Complex::new`].
    #[track_caller]
    pub fn to_complex(&self) -> Complex<T, D, E> {
        Complex { re: self.clone(), im: Tensor::from_raw(T::constant(Array::full(self.raw().shape(), E::ZERO))) }
    }
}

/// Methods of tensors that are linear and real: of a complex tensor, each part for itself.
macro_rules! methods_of_parts {
    ($(
        $(#[doc = $doc:literal])*
        fn $name:ident $(<$(const $G:ident),* $(; $I:ident)?>)? ($($arg:ident: $Arg:ty),*) -> $R:tt $(where [$($clause:tt)*])?;
    )*) => {
        /// Structure and sums: each part for itself.
        #[allow(clippy::clone_on_copy)]
        impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
            $(
                #[doc = concat!("[`Tensor::", stringify!($name), "`] of each part.")]
                ///
                /// Example: [`Complex::by_parts`].
                $(#[doc = $doc])*
                #[track_caller]
                pub fn $name $(<$(const $G: usize,)* $($I)?>)? (&self, $($arg: $Arg),*) -> Complex<T, $R, E>
                $(where $($clause)*)?
                {
                    Complex { re: self.re.$name($(Clone::clone(&$arg)),*), im: self.im.$name($($arg),*) }
                }
            )*
        }
    };
}

methods_of_parts! {
    fn reshape<const N>(shape: [usize; N]) -> N;
    fn flatten() -> 1;
    fn permute(perm: [usize; D]) -> D;
    fn t<const M>() -> D where [Rank<D>: Plus<2, M>];
    fn insert_axis<const R>(axis: usize) -> R where [Rank<R>: Above<D>];
    fn remove_axis<const M>(axis: usize) -> M where [Rank<D>: Above<M>];
    fn replicate<const R>(n: usize) -> R where [Rank<R>: Above<D>];
    fn replicate_axis<const R>(axis: usize, n: usize) -> R where [Rank<R>: Above<D>];
    fn broadcast_to(shape: [usize; D]) -> D;
    fn slice(axis: usize, range: impl RangeBounds<usize> + Clone) -> D;
    fn slice_step(axis: usize, range: impl RangeBounds<usize> + Clone, step: usize) -> D;
    fn pad(widths: [(usize, usize); D]) -> D;
    fn reverse(axis: usize) -> D;
    fn roll(axis: usize, shift: i64) -> D;
    fn tile(times: [usize; D]) -> D;
    fn window<const R>(axis: usize, size: usize, stride: usize) -> R where [Rank<R>: Above<D>];
    fn diagonal<const M>(first: usize, second: usize) -> M where [Rank<D>: Above<M>];
    fn row<const M>(i: usize) -> M where [Rank<D>: Above<M>];
    fn at<const K, const M; I>(ix: I) -> M where [I: Indices<T, K> + Clone, Rank<D>: Plus<K, M>];
    fn gather<const K, const S, const M, const R; I>(ix: I) -> R where [I: IndexTensors<T, S, K> + Clone, Rank<D>: Plus<K, M>, Rank<R>: Plus<S, M>];
    fn take<const M>(ix: &Tensor<T, 1, i64>) -> D where [Rank<D>: Above<M>];
    fn sum() -> 0;
    fn sum_outer<const M>() -> M where [Rank<D>: Above<M>];
    fn sum_axis<const M>(axis: usize) -> M where [Rank<D>: Above<M>];
    fn sum_axes<const K, const M>(axes: [usize; K]) -> M where [Rank<D>: Plus<K, M>];
    fn mean() -> 0;
    fn mean_axis<const M>(axis: usize) -> M where [Rank<D>: Above<M>];
    ///
    /// ```
    /// use polygrad::{Complex, grad, tensor};
    /// let z = Complex::new(tensor(3.0), tensor(4.0));
    /// // A factor without a derivative.
    /// let slope = grad(|z: &Complex<_, 0>| z.re() * z.stop_gradient().re(), &z);
    /// assert_eq!(slope, Complex::scalar(3.0, 0.0));
    /// ```
    fn stop_gradient() -> D;
    fn scale(c: f64) -> D;
}
