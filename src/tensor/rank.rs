//! Rank arithmetic that rustc checks: relations between ranks, as traits on const generics.
//!
//! Law: in [`Above`] and [`Plus`], all but one of the ranks determine the last one, so that rustc infers it; [`Beside`]
//! determines the rank of a result.

use super::{Complex, Tensor};
use crate::base::BaseTensor;
use crate::dtype::{Elem, Float};

/// A rank as a type, for stating relations between ranks.
///
/// Example: [`Above`].
#[derive(Clone, Copy, Debug)]
pub struct Rank<const D: usize>;

/// `Rank<D>: Above<M>` says `D = M + 1`: the bound of a rank-generic function that adds or removes an axis.
///
/// ```
/// use polygrad::tensor::{Above, Rank};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn total<T: BaseTensor, const D: usize, const M: usize>(x: &Tensor<T, D>) -> Tensor<T, M>
/// where
///     Rank<D>: Above<M>,
/// {
///     x.sum_outer()
/// }
/// assert_eq!(total(&tensor([[1.0, 2.0], [3.0, 4.0]])), tensor([4.0, 6.0]));
/// ```
///
/// Without the bound the function does not compile:
///
/// ```compile_fail,E0277
/// use polygrad::{BaseTensor, Tensor};
/// fn rows<T: BaseTensor, const D: usize, const M: usize>(x: &Tensor<T, D>) -> Tensor<T, M> {
///     x.square().sum_outer()
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the rank directly above the one required here",
    label = "these two ranks must differ by exactly one",
    note = "an operation that adds or removes one axis relates ranks by one; ranks go up to 8"
)]
pub trait Above<const M: usize> {}

/// `Rank<D>: Plus<K, M>` says `D = K + M`: the bound of functions that index with `K` indices, or build an array by `K`
/// variables.
///
/// ```
/// use polygrad::tensor::{Indices, Plus, Rank};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn part<T: BaseTensor, const D: usize, const K: usize, const M: usize>(
///     x: &Tensor<T, D>,
///     ix: impl Indices<T, K>,
/// ) -> Tensor<T, M>
/// where
///     Rank<D>: Plus<K, M>,
/// {
///     x.at(ix)
/// }
/// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!((part(&x, [1]), part(&x, [1, 0])), (tensor([3.0, 4.0]), tensor(3.0)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the sum of the two ranks required here",
    label = "the number of indices or named axes, and the rank of what is left, must add up to this rank",
    note = "ranks go up to 8"
)]
pub trait Plus<const K: usize, const M: usize> {}

/// `Rank<R>: AtLeast<D>` says `R >= D`: a tensor of rank `D` can be broadcast to rank `R`.
///
/// ```
/// use polygrad::tensor::{AtLeast, Rank};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// /// The sum of each line and a bias.
/// fn biased<T: BaseTensor, const D: usize>(x: &Tensor<T, D>, bias: &Tensor<T, 1>) -> Tensor<T, D>
/// where
///     Rank<D>: AtLeast<1>,
/// {
///     x + bias.up_to(x)
/// }
/// assert_eq!(biased(&tensor([[1.0, 2.0]]), &tensor([10.0, 20.0])), tensor([[11.0, 22.0]]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is below the rank {D} of this tensor",
    label = "a tensor is brought up to its own rank or a higher one",
    note = "exchange the two tensors, or reduce this one; ranks go up to 8"
)]
pub trait AtLeast<const D: usize> {}

macro_rules! at_least {
    ($($r:literal: $($d:literal)*;)*) => { $( $( impl AtLeast<$d> for Rank<$r> {} )* )* };
}
at_least! {
    0: 0;
    1: 0 1;
    2: 0 1 2;
    3: 0 1 2 3;
    4: 0 1 2 3 4;
    5: 0 1 2 3 4 5;
    6: 0 1 2 3 4 5 6;
    7: 0 1 2 3 4 5 6 7;
    8: 0 1 2 3 4 5 6 7 8;
}

/// `Rank<B>: SideOf<D>` says that tensors of rank `B` are right-hand sides for matrices of rank `D`: `B = D` for the
/// columns of matrices, `B + 1 = D` for vectors.
///
/// ```
/// use polygrad::tensor::{Rank, SideOf};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn solution<T: BaseTensor, const B: usize>(a: &Tensor<T, 2>, b: &Tensor<T, B>) -> Tensor<T, B>
/// where
///     Rank<B>: SideOf<2>,
/// {
///     a.solve(b)
/// }
/// let a = tensor([[2.0, 0.0], [0.0, 4.0]]);
/// assert_eq!(solution(&a, &tensor([2.0, 4.0])), tensor([1.0, 1.0]));
/// assert_eq!(solution(&a, &tensor([[2.0], [4.0]])), tensor([[1.0], [1.0]]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a rank of a right-hand side for matrices of rank {D}",
    label = "a right-hand side has the rank of the matrix, or one less if it is a vector",
    note = "the leading axes of both are those of a batch; replicate the matrix, or reshape the right-hand side"
)]
pub trait SideOf<const D: usize> {}

macro_rules! side_of {
    ($($d:literal $m:literal;)*) => { $(
        impl SideOf<$d> for Rank<$d> {}
        impl SideOf<$d> for Rank<$m> {}
    )* };
}
side_of! { 2 1; 3 2; 4 3; 5 4; 6 5; 7 6; 8 7; }

macro_rules! above {
    ($($d:literal $m:literal;)*) => { $( impl Above<$m> for Rank<$d> {} )* };
}
above! { 1 0; 2 1; 3 2; 4 3; 5 4; 6 5; 7 6; 8 7; }

macro_rules! plus {
    ($($d:literal: $($k:literal $m:literal),*;)*) => { $( $( impl Plus<$k, $m> for Rank<$d> {} )* )* };
}
plus! {
    0: 0 0;
    1: 0 1, 1 0;
    2: 0 2, 1 1, 2 0;
    3: 0 3, 1 2, 2 1, 3 0;
    4: 0 4, 1 3, 2 2, 3 1, 4 0;
    5: 0 5, 1 4, 2 3, 3 2, 4 1, 5 0;
    6: 0 6, 1 5, 2 4, 3 3, 4 2, 5 1, 6 0;
    7: 0 7, 1 6, 2 5, 3 4, 4 3, 5 2, 6 1, 7 0;
    8: 0 8, 1 7, 2 6, 3 5, 4 4, 5 3, 6 2, 7 1, 8 0;
}

/// `Rank<D>: Beside<F>` says that tensors of these ranks can be the two operands of an operator: the ranks are equal,
/// or one is 0.
///
/// Code that is generic in the rank needs this bound for an operator with a scalar tensor:
///
/// ```
/// use polygrad::tensor::{Beside, Rank};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn centered<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> <Rank<D> as Beside<0>>::Out<T, f64>
/// where
///     Rank<D>: Beside<0>,
/// {
///     x - x.mean()
/// }
/// assert_eq!(centered(&tensor([1.0, 3.0])), tensor([-1.0, 1.0]));
/// ```
#[diagnostic::on_unimplemented(
    message = "a tensor of rank {F} cannot be combined with one of `{Self}`: the ranks must be equal, or one must be 0",
    label = "an operand of rank {F}",
    note = "ranks are not promoted, because on a square matrix a vector could be meant for rows or columns: say which with \
            `x.up_to(&like)` or `insert_axis`; a reduction that keeps its axis, such as `mean_keep`, needs neither",
    note = "code that is generic in a rank `D` says what it uses: `where Rank<D>: Beside<0>`"
)]
pub trait Beside<const F: usize> {
    /// The result: a tensor of the larger rank.
    type Out<T: BaseTensor, E: Elem>;
    /// The result, from its value.
    #[doc(hidden)]
    #[track_caller]
    fn result<T: BaseTensor, E: Elem>(raw: T) -> Self::Out<T, E>;
    /// The result of complex operands: a complex tensor of the larger rank.
    type Complex<T: BaseTensor, E: Float>;
    /// The result of complex operands, from its parts.
    #[doc(hidden)]
    #[track_caller]
    fn complex<T: BaseTensor, E: Float>(parts: [T; 2]) -> Self::Complex<T, E>;
}

/// `Rank<D>: Takes<F>` says that a tensor of rank `F` can be the second operand with a tensor of rank `D`, with a
/// result of rank `D`: `F` is `D` or 0.
///
/// ```
/// use polygrad::tensor::{Rank, Takes};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// fn at_least<T: BaseTensor, const D: usize, const F: usize>(x: &Tensor<T, D>, y: &Tensor<T, F>) -> Tensor<T, D>
/// where
///     Rank<D>: Takes<F>,
/// {
///     x.max(y)
/// }
/// assert_eq!(at_least(&tensor([1.0, 3.0]), &tensor(2.0)), tensor([2.0, 3.0]));
/// ```
#[diagnostic::on_unimplemented(
    message = "a tensor of rank {F} cannot be combined here with one of `{Self}`: the result has the rank of the left side, so the other rank must \
               be equal or 0",
    label = "an operand of rank {F}",
    note = "say which axes of the larger tensor are meant with `x.up_to(&like)` or `insert_axis`, or exchange the two sides"
)]
pub trait Takes<const F: usize>: Beside<F> {}

impl<const D: usize> Beside<D> for Rank<D> {
    type Out<T: BaseTensor, E: Elem> = Tensor<T, D, E>;
    #[inline]
    fn result<T: BaseTensor, E: Elem>(raw: T) -> Tensor<T, D, E> {
        Tensor::from_raw(raw)
    }
    type Complex<T: BaseTensor, E: Float> = Complex<T, D, E>;
    fn complex<T: BaseTensor, E: Float>(parts: [T; 2]) -> Complex<T, D, E> {
        Complex::from_raw(parts)
    }
}

impl<const D: usize> Takes<D> for Rank<D> {}

macro_rules! beside_scalars {
    ($($d:literal)*) => { $(
        impl Beside<0> for Rank<$d> {
            type Out<T: BaseTensor, E: Elem> = Tensor<T, $d, E>;
            fn result<T: BaseTensor, E: Elem>(raw: T) -> Tensor<T, $d, E> {
                Tensor::from_raw(raw)
            }
            type Complex<T: BaseTensor, E: Float> = Complex<T, $d, E>;
            fn complex<T: BaseTensor, E: Float>(parts: [T; 2]) -> Complex<T, $d, E> {
                Complex::from_raw(parts)
            }
        }
        impl Takes<0> for Rank<$d> {}
        impl Beside<$d> for Rank<0> {
            type Out<T: BaseTensor, E: Elem> = Tensor<T, $d, E>;
            fn result<T: BaseTensor, E: Elem>(raw: T) -> Tensor<T, $d, E> {
                Tensor::from_raw(raw)
            }
            type Complex<T: BaseTensor, E: Float> = Complex<T, $d, E>;
            fn complex<T: BaseTensor, E: Float>(parts: [T; 2]) -> Complex<T, $d, E> {
                Complex::from_raw(parts)
            }
        }
    )* };
}
beside_scalars! { 1 2 3 4 5 6 7 8 }
