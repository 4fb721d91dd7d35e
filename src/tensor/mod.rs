//! The typed surface, in which user programs are written: tensors whose rank and element type rustc checks.
//!
//! [`Tensor<T, D, E>`](Tensor) is a thin wrapper around a value of any interpreter `T` that makes rank and element type
//! part of the Rust type. Law: the wrapper adds no operation; every method is a few calls of [`BaseTensor`], so a
//! program means the same in every interpreter.
//!
//! | file | contents |
//! |---|---|
//! | this one | the type, constructors, shapes |
//! | `known` | tensors of known numbers: their elements, equality, printing |
//! | `operators` | `+ - * / %`, unary `-`, and `& \| !` of masks, with broadcasting |
//! | `arithmetic` | arithmetic by element type: operations of floats or of integers |
//! | `tables` | the elementwise functions of floats that have a row in `ops/unary.rs` and `ops/binary.rs` |
//! | `elementwise` | functions of two tensors, comparisons, selection, conversions |
//! | `structure` | sums, views, reshaping |
//! | `parts` | stacking, concatenation, `cond`, `switch`, and the types of their arguments |
//! | `expand` | broadcasting to a higher rank (`up_to`, `expand`), reductions that keep their axis |
//! | `reduce` | mean, variance, norm, extrema, log-sum-exp, softmax |
//! | `product` | dot, matrix and outer products |
//! | `einsum`, `letters` | sums of products with a letter for each axis; `einsum!` checks the letters at compile time |
//! | `conv` | convolution and pooling |
//! | `cumulative` | products; prefix sums, products and extrema |
//! | `sort` | sorting, gathers along an axis |
//! | `matrix` | triangles, diagonals, traces |
//! | `stats` | variance, standard deviation, norms along an axis, median and quantiles |
//! | `masks` | NaN, infinities, any and all |
//! | `nonlinear` | activations and losses |
//! | `rearrange` | roll, tile, differences, cross and Kronecker products |
//! | `update` | replacement and addition at given positions |
//! | `segments` | sums and extrema by group; search in a sorted vector |
//! | `complex` | complex tensors |
//! | `fft` | Fourier transforms, and convolution through them |
//! | `interpolate` | linear interpolation, on lines and on regular grids |
//! | `index` | gather and scatter-add |
//! | `loops` | arrays built by index, maps, folds, loops with a carry |
//! | `rows` | the sequences that loops run over, and the outputs of their trips |
//! | `trips` | checks of the carries and outputs of trips |
//! | `batched` | the function that `vmap` returns |
//! | `checkpoint` | loops with a carry that are cut in segments |
//! | `associative` | prefix scans by an associative operation |
//! | `repeat` | `while` loops |
//! | `taps` | values that are printed, and masks that must hold |
//! | `rank` | relations between ranks, which rustc checks |
//! | `serial` | saving and loading by `serde` |
//! | `foreign` | conversions from and to the arrays and matrices of other crates |
//!
//! Three more laws of the surface. **Broadcasting:** operands of equal rank may differ in size along an axis if one of
//! the sizes is 1, which is repeated; a tensor of rank 0 is broadcast to any rank; other ranks are never promoted.
//! **Host numbers** are uniform tensors: every element is that number. **Shapes are static:** they are known while the
//! program is traced, and a wrong shape panics at the line of the user's call.

use std::marker::PhantomData;

use crate::array::{Array, Nested};
use crate::base::{BaseTensor, Lift};
use crate::dtype::{DType, Elem, Float, Num};
use crate::ops::{Discrete, Linear, View};
use crate::shape::{Show, check_possible, check_room};

mod arithmetic;
mod associative;
mod batched;
mod bits;
mod checkpoint;
mod complex;
mod conv;
mod cumulative;
mod einsum;
mod elementwise;
mod expand;
mod fft;
#[cfg(any(feature = "faer", feature = "nalgebra", feature = "ndarray"))]
mod foreign;
mod fork;
mod index;
mod interpolate;
mod known;
#[doc(hidden)]
pub mod letters;
mod loops;
mod masks;
mod matrix;
mod nonlinear;
mod operators;
mod parts;
mod product;
mod ragged;
mod rank;
mod rearrange;
mod reduce;
mod repeat;
mod rows;
mod segments;
#[cfg(feature = "serde")]
mod serial;
mod sort;
mod stats;
mod structure;
mod tables;
mod taps;
mod trips;
mod update;

pub use associative::{associative_scan, parallel_scan};
pub use batched::Batched;
pub use checkpoint::{Checkpoint, checkpoint};
pub use complex::{Complex, ComplexSide};
pub use conv::Conv;
pub use einsum::{Operands, einsum};
pub use fork::fork_join;
pub use index::{IndexTensor, IndexTensors, Indices, ScalarIndex};
pub(crate) use loops::mapped;
pub use loops::{build, build1, fold, iterate, iterate_all, map, map_accum, map_accum_reverse, scan, vmap, zip_with};
pub(crate) use matrix::band;
pub use operators::{Elements, Operand, RightSide, SameElements, TakesIntegers};
pub(crate) use operators::{broadcast_shape, stretch};
pub use parts::{Branch, Condition, Part, Parts, Start, concat, cond, stack, switch};
pub use ragged::Ragged;
pub use rank::{Above, AtLeast, Beside, Plus, Rank, SideOf, Takes};
pub use repeat::{while_loop, while_loop_within};
pub use rows::{Outputs, Rows};
pub use stats::Norm;
pub use taps::{check_tree, debug_tree};

/// An array of rank `D` with elements `E`, as a value of the interpreter `T` in which the program runs.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, tensor};
///
/// fn energy<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 0> {
///     (v * v).sum() * 0.5
/// }
/// assert_eq!(energy(&tensor([3.0, 4.0])), tensor(12.5));
/// ```
///
/// A wrong rank does not compile:
///
/// ```compile_fail,E0308
/// use polygrad::{BaseTensor, Tensor};
/// fn wrong<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 0> {
///     v * 2.0
/// }
/// ```
///
/// Neither does a wrong element type:
///
/// ```compile_fail,E0308
/// use polygrad::{BaseTensor, Tensor};
/// fn wrong<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 1, i64> {
///     v.exp()
/// }
/// ```
///
/// A tensor of rank 0 is broadcast to any rank, as a number is. Other ranks are never promoted, and element types never
/// converted:
///
/// ```
/// use polygrad::tensor;
/// assert_eq!(tensor([1.0, 2.0]) + tensor(1.0), tensor([2.0, 3.0]));
/// ```
///
/// ```compile_fail,E0277
/// use polygrad::tensor;
/// let _ = tensor([[1.0, 2.0]]) + tensor([1.0, 2.0]);
/// ```
///
/// ```compile_fail,E0277
/// use polygrad::tensor;
/// tensor([1.0, 2.0]).max(&tensor([1, 2]));
/// ```
///
/// ```compile_fail,E0599
/// use polygrad::tensor;
/// tensor([1, 2]).exp();
/// ```
pub struct Tensor<T, const D: usize, E = f64> {
    raw: T,
    marker: PhantomData<E>,
}

impl<T: Clone, const D: usize, E> Clone for Tensor<T, D, E> {
    fn clone(&self) -> Self {
        Tensor { raw: self.raw.clone(), marker: PhantomData }
    }
}

/// The tensor of known numbers written as nested arrays, as a `Vec`, or as one number.
///
/// This constructor is not generic in the interpreter, so no type annotation is needed. Generic programs use
/// [`Tensor::constant`]. `Tensor::from` takes the same data, and [`Tensor::new`] a shape and a `Vec`.
///
/// ```
/// use polygrad::{Tensor, tensor};
/// assert_eq!(Tensor::from(vec![1.0, 2.0]), tensor([1.0, 2.0]));
/// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(x.shape(), [2, 2]);
/// assert_eq!(x.sum().item(), 10.0);
/// ```
///
/// # Panics
/// When an `Array` has another rank or element type.
#[track_caller]
pub fn tensor<const D: usize, E: Elem>(elements: impl Nested<D, E>) -> Tensor<Array, D, E> {
    Tensor::from_raw(elements.into_array())
}

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// A value of an interpreter as a tensor of known rank and element type.
    ///
    /// ```
    /// use polygrad::{Array, Tensor, tensor};
    /// let x = Tensor::<Array, 1>::from_raw(Array::from([1.0, 2.0]));
    /// assert_eq!((&x, x.raw().shape()), (&tensor([1.0, 2.0]), &[2][..]));
    /// assert_eq!(x.into_raw(), Array::from([1.0, 2.0]));
    /// ```
    ///
    /// # Panics
    /// When the value has another rank or element type.
    #[track_caller]
    #[inline]
    pub fn from_raw(raw: T) -> Self {
        if raw.shape().len() != D || raw.dtype() != E::DTYPE {
            mistyped(D, E::DTYPE, raw.shape(), raw.dtype());
        }
        Tensor { raw, marker: PhantomData }
    }

    /// The value behind this tensor.
    ///
    /// Example: [`Tensor::from_raw`].
    pub fn raw(&self) -> &T {
        &self.raw
    }

    /// The value behind this tensor, by value.
    ///
    /// Example: [`Tensor::from_raw`].
    pub fn into_raw(self) -> T {
        self.raw
    }

    /// This tensor as a constant of a higher level: in this way a function that a verb differentiates uses a captured
    /// value.
    ///
    /// ```
    /// use polygrad::{grad, hessian, tensor, Tensor};
    /// let (x, k) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// assert_eq!(grad(|x| (x * x * k.lift()).sum(), &x), tensor([6.0, 16.0]));
    /// let h: Tensor<_, 2> = hessian(|x| (x * x * k.lift()).sum(), &x);
    /// assert_eq!(h, tensor([[6.0, 0.0], [0.0, 8.0]]));
    /// ```
    ///
    /// The level, and its distance from this one (`I`), are inferred from the use of the result. If the use does not
    /// determine the level, as before a method call, a type annotation does: `let k: Tensor<Dual<_>, 1> = k.lift();`.
    /// Without `lift`, levels do not mix:
    ///
    /// ```compile_fail,E0277
    /// use polygrad::{ADVal, BaseTensor, Tensor};
    /// fn wrong<T: BaseTensor>(x: &Tensor<ADVal<T>, 1>, outer: &Tensor<T, 1>) -> Tensor<ADVal<T>, 1> {
    ///     x + outer
    /// }
    /// ```
    #[track_caller]
    pub fn lift<U: Lift<T, I>, I>(&self) -> Tensor<U, D, E> {
        Tensor::from_raw(U::lift(self.raw.clone()))
    }

    /// The numbers `a` as a constant tensor.
    ///
    /// ```
    /// use polygrad::{BaseTensor, Tensor, tensor};
    /// fn weighted<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    ///     x.dot(&Tensor::constant([1.0, 2.0]))
    /// }
    /// assert_eq!(weighted(&tensor([3.0, 4.0])), tensor(11.0));
    /// ```
    ///
    /// `a` may be a tensor of known numbers, too: in this way a function that is traced or differentiated, at any
    /// level, uses a captured tensor.
    ///
    /// ```
    /// use polygrad::{Tensor, grad, tensor};
    /// let (x, target) = (tensor([3.0, 4.0]), tensor([1.0, 1.0]));
    /// let g = grad(|x| (x - Tensor::constant(&target)).square().sum(), &x);
    /// assert_eq!(g, tensor([4.0, 6.0]));
    /// ```
    ///
    /// # Panics
    /// When `a` is an [`Array`] of another rank or element type.
    #[track_caller]
    pub fn constant(a: impl Nested<D, E>) -> Self {
        Tensor::from_raw(T::constant(a.into_array()))
    }

    /// The tensor of this shape whose element at each index is the result of a function of the host language.
    ///
    /// ```
    /// use polygrad::{Concrete, Tensor, tensor};
    /// let hilbert = Tensor::<Concrete, 2>::from_fn([2, 2], |[i, j]| 1.0 / (i + j + 1) as f64);
    /// assert_eq!(hilbert, tensor([[1.0, 0.5], [0.5, 1.0 / 3.0]]));
    /// ```
    ///
    /// # Panics
    /// When no array can have this shape, see [`MAX_SIZE`](crate::shape::MAX_SIZE).
    #[track_caller]
    pub fn from_fn(shape: [usize; D], mut f: impl FnMut([usize; D]) -> E) -> Self {
        check_possible("from_fn", &shape);
        check_room::<E>(&shape);
        let mut at = [0; D];
        let mut elements = Vec::with_capacity(crate::shape::size(&shape));
        for _ in 0..crate::shape::size(&shape) {
            elements.push(f(at));
            // The next index in row-major order.
            for axis in (0..D).rev() {
                at[axis] += 1;
                if at[axis] < shape[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
        Tensor::from_raw(T::constant(Array::new(&shape, elements)))
    }

    /// The tensor of this shape in which every element is `x`.
    ///
    /// ```
    /// use polygrad::{Concrete, Tensor, tensor};
    /// assert_eq!(Tensor::<Concrete, 1>::full([2], 3.0), tensor([3.0, 3.0]));
    /// assert_eq!(Tensor::<Concrete, 1>::zeros([2]), tensor([0.0, 0.0]));
    /// assert_eq!(Tensor::<Concrete, 1>::ones([2]), tensor([1.0, 1.0]));
    /// assert_eq!(Tensor::<Concrete, 0>::scalar(2.5), tensor(2.5));
    /// assert_eq!(Tensor::<Concrete, 1, i64>::iota(3), tensor([0, 1, 2]));
    /// assert_eq!(Tensor::<Concrete, 1>::linspace(0.0, 1.0, 3), tensor([0.0, 0.5, 1.0]));
    /// assert_eq!(Tensor::<Concrete, 2>::eye(2), tensor([[1.0, 0.0], [0.0, 1.0]]));
    /// assert_eq!(Tensor::<Concrete, 2>::eye_at([2, 3], 1), tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]));
    /// ```
    ///
    /// # Panics
    /// When no array can have this shape, see [`MAX_SIZE`](crate::shape::MAX_SIZE).
    #[track_caller]
    pub fn full(shape: [usize; D], x: E) -> Self {
        Tensor::from_raw(T::constant(Array::full(&shape, x)))
    }

    /// The tensor of this shape in which every element is 0, or `false`.
    ///
    /// Example: [`Tensor::full`].
    #[track_caller]
    pub fn zeros(shape: [usize; D]) -> Self {
        Tensor::full(shape, E::ZERO)
    }

    /// The sizes of the axes, outermost first.
    ///
    /// ```
    /// use polygrad::{Concrete, Tensor, tensor};
    /// let x = tensor([[1.0, 2.0, 3.0]]);
    /// assert_eq!((x.shape(), x.dim::<1>(), x.size(), x.len()), ([1, 3], 3, 3, 1));
    /// assert!(tensor(1.0).size() == 1 && Tensor::<Concrete, 2>::zeros([3, 0]).is_empty());
    /// ```
    pub fn shape(&self) -> [usize; D] {
        let mut out = [0; D];
        out.copy_from_slice(self.raw.shape());
        out
    }

    /// The size of axis `K`, which must be one of the `D` axes; rustc checks.
    ///
    /// Example: [`Tensor::shape`].
    ///
    /// ```compile_fail,E0080
    /// use polygrad::tensor;
    /// tensor([1.0, 2.0]).dim::<1>();
    /// ```
    pub fn dim<const K: usize>(&self) -> usize {
        const { assert!(K < D, "dim: the axis must be below the rank") };
        self.raw.shape()[K]
    }

    /// The number of elements: the product of all sizes, 1 at rank 0.
    ///
    /// Example: [`Tensor::shape`].
    pub fn size(&self) -> usize {
        crate::shape::size(self.raw.shape())
    }

    /// The size of the outermost axis; a tensor of rank 0 has none, which rustc checks.
    ///
    /// ```compile_fail,E0080
    /// use polygrad::tensor;
    /// tensor(1.0).len();
    /// ```
    ///
    /// Example: [`Tensor::shape`].
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        const { assert!(D > 0, "len: a tensor of rank 0 has no axis") };
        self.raw.shape()[0]
    }

    /// Whether the tensor has no elements, because some axis has size 0.
    ///
    /// Example: [`Tensor::shape`].
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// The numbers in this tensor, if they are known; `None` if the tensor depends on inputs of a program that is being
    /// traced.
    ///
    /// The host language may branch on the numbers: an ordinary `if` or `while` on a primal value is dynamic control
    /// flow, and works in every interpreter that computes. While a program is traced, the known tensors are the
    /// constants, and the results of operations on known tensors that have at most 4096 elements and are not results of
    /// host code, of functions with rules or of long loops; on other tensors the program branches by [`cond`] or
    /// [`select`](Tensor::select).
    ///
    /// ```
    /// use polygrad::{Array, Function, Tensor, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// assert_eq!(x.peek(), Some(Array::from([1.0, 2.0])));
    /// Function::stage(
    ///     |x| {
    ///         assert_eq!(x.peek(), None);
    ///         let six = Tensor::full([2], 2.0) * 3.0;
    ///         let y = x * &six;
    ///         assert_eq!((six.peek(), y.peek()), (Some(Array::from([6.0, 6.0])), None));
    ///         y.sum()
    ///     },
    ///     &x,
    /// );
    /// ```
    pub fn peek(&self) -> Option<Array> {
        self.raw.peek()
    }

    /// The only element, as a number of the host language.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let mut x = tensor(1.0);
    /// while x.item() < 100.0 {
    ///     x = x * 3.0;
    /// }
    /// assert_eq!(x.item(), 243.0);
    /// ```
    ///
    /// # Panics
    /// When there is not exactly one element, or, while a program is being traced, when the value is not known, see
    /// [`Tensor::peek`].
    #[track_caller]
    pub fn item(&self) -> E {
        let Some(a) = self.peek() else {
            panic!(
                "item: needs a number, but this value of shape {} is being traced; choose with cond or select instead",
                Show(self.raw.shape())
            );
        };
        match a.item() {
            Ok(x) => x,
            Err(_) => panic!(
                "item: needs exactly one element, but the shape is {}; reduce it, or take one with at",
                Show(self.raw.shape())
            ),
        }
    }

    /// Applies one linear operation.
    #[track_caller]
    fn view<const R: usize>(&self, op: &Linear) -> Tensor<T, R, E> {
        Tensor::from_raw(self.raw.linear(op))
    }
}

/// Panics: rank or element type of the value is not that of the Rust type.
#[cold]
#[track_caller]
fn mistyped(rank: usize, elem: DType, shape: &[usize], dtype: DType) -> ! {
    panic!(
        "tensor: needs rank {rank} and elements {elem}, but the value has shape {} and elements {dtype}; reshape or \
         convert it, or declare it as what it is",
        Show(shape)
    )
}

impl<T: BaseTensor, E: Elem> Tensor<T, 0, E> {
    /// The tensor of rank 0 that holds `x`.
    ///
    /// Example: [`Tensor::full`].
    pub fn scalar(x: E) -> Self {
        Tensor::full([], x)
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// The tensor of this shape in which every element is 1.
    ///
    /// Example: [`Tensor::full`].
    #[track_caller]
    pub fn ones(shape: [usize; D]) -> Self {
        Tensor::full(shape, E::ONE)
    }
}

impl<T: BaseTensor> Tensor<T, 1, i64> {
    /// The integers `0, 1, .., n - 1`.
    ///
    /// Example: [`Tensor::full`].
    ///
    /// # Panics
    /// When no array can be as large, or memory for it is missing.
    #[track_caller]
    pub fn iota(n: usize) -> Self {
        Tensor::from_raw(T::discrete(&Discrete::Iota { n }, &[]))
    }
}

impl<T: BaseTensor, E: Float> Tensor<T, 1, E> {
    /// `n` evenly spaced values from `start` to `stop`, both included; just `start` when `n` is 1.
    ///
    /// Example: [`Tensor::full`].
    ///
    /// # Panics
    /// When no array can be as large, or memory for it is missing.
    #[track_caller]
    pub fn linspace(start: f64, stop: f64, n: usize) -> Self {
        Tensor::constant(Array::linspace(start, stop, n).cast::<E>())
    }
}

impl<T: BaseTensor, E: Num> Tensor<T, 2, E> {
    /// The identity matrix of size `n`.
    ///
    /// Example: [`Tensor::full`].
    ///
    /// # Panics
    /// When no array can be as large.
    #[track_caller]
    pub fn eye(n: usize) -> Self {
        check_possible("eye", &[n, n]);
        // Ones written along the diagonal.
        let diagonal = Linear::affine(View::identity(&[n]), View::axes(&[n], &[0, 0]));
        Tensor::<T, 1, E>::ones([n]).view(&diagonal)
    }
}
