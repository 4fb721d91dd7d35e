//! `stack`, `unstack`, `concat` and `cond`, whose arguments may be owned or borrowed tensors, or numbers.
//!
//! The traits of these arguments are here, and that of the first carry of a loop.
//!
//! Law: owned, borrowed and mixed arguments mean the same. The type of an argument determines rank and element type, so
//! no annotation is needed.

use std::borrow::{Borrow, Cow};

use super::Tensor;
use super::operators::stretch;
use super::rank::{Above, Rank};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Elem;
use crate::ops::Linear;
use crate::shape::{Shape, Show, check_possible};
use crate::tree::Tree;

/// One of several tensors of rank `D`: a tensor, owned or borrowed, or a number, which has rank 0.
///
/// Example: [`Parts`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be combined with tensors of rank {D} with elements `{E}`",
    label = "a tensor of rank {D} with elements `{E}` is needed",
    note = "a number is combined with tensors of rank 0 only, and has their element type: `2.0` with floats"
)]
pub trait Part<T, const D: usize, E> {
    /// The part as a value.
    #[doc(hidden)]
    fn part(&self) -> T;
}

impl<T: BaseTensor, const D: usize, E: Elem> Part<T, D, E> for Tensor<T, D, E> {
    fn part(&self) -> T {
        self.raw().clone()
    }
}

impl<T: BaseTensor, E: Elem> Part<T, 0, E> for E {
    fn part(&self) -> T {
        T::constant(Array::full(&[], *self))
    }
}

impl<T: BaseTensor, const D: usize, E: Elem> Part<T, D, E> for &Tensor<T, D, E> {
    fn part(&self) -> T {
        self.raw().clone()
    }
}

/// Several tensors of one rank and element type: an array, a vector or a slice of tensors, owned or borrowed, or a
/// tuple, which may mix them.
///
/// ```
/// use polygrad::tensor::{Part, Parts};
/// use polygrad::{BaseTensor, Tensor, concat, stack, tensor};
/// fn joined<T: BaseTensor>(parts: impl Parts<T, 1, f64>) -> Tensor<T, 1> {
///     concat(0, parts)
/// }
/// fn pair<T: BaseTensor>(a: impl Part<T, 0, f64>, b: impl Part<T, 0, f64>) -> Tensor<T, 1> {
///     stack((a, b))
/// }
/// let x = tensor([1.0, 2.0]);
/// assert_eq!(joined(vec![&x, &x]), tensor([1.0, 2.0, 1.0, 2.0]));
/// assert_eq!(joined((&x, -&x)), tensor([1.0, 2.0, -1.0, -2.0]));
/// assert_eq!(pair(tensor(1.0), 2.0), x);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not several tensors of one rank",
    label = "an array, a vector, a slice or a tuple of tensors is needed",
    note = "an iterator is collected first: `stack(rows.collect::<Vec<_>>())`"
)]
pub trait Parts<T, const D: usize, E> {
    /// The parts, in order.
    #[doc(hidden)]
    fn parts(&self) -> Vec<T>;
}

impl<T, const D: usize, E, P: Part<T, D, E>> Parts<T, D, E> for [P] {
    fn parts(&self) -> Vec<T> {
        self.iter().map(P::part).collect()
    }
}

impl<T, const D: usize, E, P: Part<T, D, E>, const N: usize> Parts<T, D, E> for [P; N] {
    fn parts(&self) -> Vec<T> {
        self.iter().map(P::part).collect()
    }
}

impl<T, const D: usize, E, P: Part<T, D, E>> Parts<T, D, E> for Vec<P> {
    fn parts(&self) -> Vec<T> {
        self.iter().map(P::part).collect()
    }
}

impl<T, const D: usize, E, X: Parts<T, D, E> + ?Sized> Parts<T, D, E> for &X {
    fn parts(&self) -> Vec<T> {
        (**self).parts()
    }
}

macro_rules! tuples {
    ($($($P:ident $k:tt),*;)*) => { $(
        impl<T, const D: usize, E, $($P: Part<T, D, E>),*> Parts<T, D, E> for ($($P,)*) {
            fn parts(&self) -> Vec<T> {
                vec![$( self.$k.part() ),*]
            }
        }
    )* };
}
tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, F 3;
    A 0, B 1, C 2, F 3, G 4;
    A 0, B 1, C 2, F 3, G 4, H 5;
    A 0, B 1, C 2, F 3, G 4, H 5, I 6;
    A 0, B 1, C 2, F 3, G 4, H 5, I 6, J 7;
}

/// The concatenation of the parts along an axis; only along this axis their sizes may differ.
///
/// ```
/// use polygrad::{concat, tensor};
/// let (a, b) = (tensor([[1.0], [2.0]]), tensor([[3.0], [4.0]]));
/// assert_eq!(concat(1, [&a, &b]), tensor([[1.0, 3.0], [2.0, 4.0]]));
/// assert_eq!(concat(0, (&a, b * 2.0)), tensor([[1.0], [2.0], [6.0], [8.0]]));
/// ```
///
/// # Panics
/// When no part is given, the axis does not exist, or the parts differ along another axis.
#[track_caller]
pub fn concat<T: BaseTensor, const D: usize, E: Elem>(axis: usize, parts: impl Parts<T, D, E>) -> Tensor<T, D, E> {
    Tensor::from_raw(T::concat(axis, &parts.parts()))
}

/// The parts, all of one shape, stacked along a new outermost axis.
///
/// ```
/// use polygrad::{stack, tensor};
/// let (a, b) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
/// assert_eq!(stack([&a, &b]), tensor([[1.0, 2.0], [3.0, 4.0]]));
/// assert_eq!(stack((&a, b * 2.0)), tensor([[1.0, 2.0], [6.0, 8.0]]));
/// assert_eq!(stack((a.sum(), 0.0)), tensor([3.0, 0.0]));
/// ```
///
/// # Panics
/// When no part is given, or their shapes differ.
#[track_caller]
pub fn stack<T: BaseTensor, const D: usize, const R: usize, E: Elem>(parts: impl Parts<T, D, E>) -> Tensor<T, R, E>
where
    Rank<R>: Above<D>,
{
    let parts = parts.parts();
    let Some(first) = parts.first() else {
        panic!("stack: needs at least one part, but the list is empty; zeros makes an empty tensor of known shape");
    };
    let needed = Shape::from_slice(first.shape());
    let mut rows = Vec::with_capacity(parts.len());
    for part in &parts {
        let shape = part.shape();
        if needed[..] != *shape {
            panic!(
                "stack: all parts must have one shape, but two are {} and {}; pad or slice",
                Show(&needed),
                Show(shape)
            );
        }
        rows.push(Tensor::<T, D, E>::from_raw(part.clone()).insert_axis::<R>(0).into_raw());
    }
    check_possible("stack", &std::iter::once(rows.len()).chain(needed).collect::<Shape>());
    Tensor::from_raw(T::concat(0, &rows))
}

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// The `N` subarrays at the positions of the outermost axis; `N` is inferred from the pattern to which they are
    /// bound.
    ///
    /// ```
    /// use polygrad::{BaseTensor, Tensor, grad, tensor};
    /// fn value<T: BaseTensor>(p: &Tensor<T, 1>) -> Tensor<T, 0> {
    ///     let [x, y] = p.unstack();
    ///     (1.0 - &x).square() + 100.0 * (y - x.square()).square()
    /// }
    /// assert_eq!(grad(value, &tensor([1.0, 2.0])), tensor([-400.0, 200.0]));
    /// let [[a, b], [c, d]] = tensor([[1.0, 2.0], [3.0, 4.0]]).unstack().map(|row| row.unstack());
    /// assert_eq!(a * d - b * c, tensor(-2.0));
    /// ```
    ///
    /// # Panics
    /// When the outermost axis has a different size than `N`.
    #[track_caller]
    pub fn unstack<const N: usize, const M: usize>(&self) -> [Tensor<T, M, E>; N]
    where
        Rank<D>: Above<M>,
    {
        let shape = self.raw().shape();
        if shape[0] != N {
            panic!(
                "unstack: the outermost axis must have the size {N} of the pattern, but the shape is {}; change the pattern, or take \
                 rows with at",
                Show(shape)
            );
        }
        std::array::from_fn(|i| Tensor::from_raw(self.raw().linear(&Linear::row(shape, 0, i))))
    }
}

/// A branch of [`cond`]: a tensor of rank `D`, owned or borrowed, or a number, which has the shape of the other branch.
///
/// ```
/// use polygrad::tensor::{Branch, Condition};
/// use polygrad::{BaseTensor, Tensor, cond, tensor};
/// fn chosen<T: BaseTensor>(condition: impl Condition<T>, x: &Tensor<T, 0>, or: impl Branch<T, 0, f64>) -> Tensor<T, 0> {
///     cond(condition, x, or)
/// }
/// assert_eq!(chosen(tensor(false), &tensor(3.0), 1.0), tensor(1.0));
/// assert_eq!(chosen(&tensor(true), &tensor(3.0), tensor(1.0)), tensor(3.0));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a branch where the other is a tensor of rank {D} with elements `{E}`",
    label = "a tensor of rank {D}, or a number of type `{E}`, is needed",
    note = "both branches have one shape; numbers have the element type of the other branch: `2.0` with floats"
)]
pub trait Branch<T: BaseTensor, const D: usize, E> {
    /// The value of a tensor; `None` for a number.
    #[doc(hidden)]
    fn value(&self) -> Option<&T>;
    /// The branch as a value of this shape.
    #[doc(hidden)]
    fn of_shape(&self, shape: &[usize]) -> Cow<'_, T>;
}

impl<T: BaseTensor, const D: usize, E: Elem> Branch<T, D, E> for Tensor<T, D, E> {
    fn value(&self) -> Option<&T> {
        Some(self.raw())
    }
    fn of_shape(&self, _: &[usize]) -> Cow<'_, T> {
        Cow::Borrowed(self.raw())
    }
}

impl<T: BaseTensor, const D: usize, E: Elem> Branch<T, D, E> for &Tensor<T, D, E> {
    fn value(&self) -> Option<&T> {
        Some(self.raw())
    }
    fn of_shape(&self, _: &[usize]) -> Cow<'_, T> {
        Cow::Borrowed(self.raw())
    }
}

impl<T: BaseTensor, const D: usize, E: Elem> Branch<T, D, E> for E {
    fn value(&self) -> Option<&T> {
        None
    }
    fn of_shape(&self, shape: &[usize]) -> Cow<'_, T> {
        Cow::Owned(T::constant(Array::full(shape, *self)))
    }
}

/// A condition of [`cond`]: one truth value, owned or borrowed.
///
/// Example: [`Branch`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition",
    label = "a `Tensor<T, 0, bool>` is needed, such as `x.gt(0.0)` of a scalar `x`",
    note = "a mask of higher rank chooses element by element: `mask.select(then, otherwise)`"
)]
pub trait Condition<T> {
    /// The condition as a value.
    #[doc(hidden)]
    fn condition(&self) -> &T;
}

impl<T> Condition<T> for Tensor<T, 0, bool>
where
    T: BaseTensor,
{
    fn condition(&self) -> &T {
        self.raw()
    }
}

impl<T, X: Condition<T>> Condition<T> for &X {
    fn condition(&self) -> &T {
        (**self).condition()
    }
}

/// `then` if the scalar condition holds and `otherwise` if not: [`select`](Tensor::select) with one truth value for all
/// elements. Both branches have one shape; a number has the shape of the other branch.
///
/// In a program that is recorded, what only one branch needs runs only if that branch is chosen, if it takes more than a
/// few microseconds; its derivative, too. On known numbers both arguments are computed before the call.
///
/// ```
/// use polygrad::{cond, tensor};
/// let x = tensor([1.0, 2.0]);
/// assert_eq!(cond(x.sum().gt(0.0), &x, -&x), x);
/// assert_eq!(cond(x.sum().lt(0.0), &x, 0.5), tensor([0.5, 0.5]));
/// ```
///
/// # Panics
/// When the shapes differ.
#[track_caller]
pub fn cond<T: BaseTensor, const D: usize, E: Elem>(
    condition: impl Condition<T>,
    then: impl Branch<T, D, E>,
    otherwise: impl Branch<T, D, E>,
) -> Tensor<T, D, E> {
    let shape = match (then.value(), otherwise.value()) {
        (None, None) if D > 0 => {
            panic!(
                "cond: a result of rank {D} needs its shape from a branch, but both are numbers; write one as Tensor::full"
            )
        }
        (Some(then), Some(otherwise)) if then.shape() != otherwise.shape() => panic!(
            "cond: both branches must have one shape, but they are {} and {}; repeat one with broadcast_to",
            Show(then.shape()),
            Show(otherwise.shape())
        ),
        (Some(branch), _) | (None, Some(branch)) => Shape::from_slice(branch.shape()),
        (None, None) => Shape::new(),
    };
    let mask = stretch(condition.condition(), &shape);
    Tensor::from_raw(T::select(&mask, &then.of_shape(&shape), &otherwise.of_shape(&shape)))
}

/// The branch of this number, counted from 0; the first one if the number is negative, and the last one if it is too
/// large. All branches have one shape.
///
/// It is a tree of [`cond`]: in a program that is recorded, what only one branch needs runs only if that branch is chosen,
/// after as many comparisons as the number of branches has binary digits.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, grad, switch, tensor};
/// fn f<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
///     switch(x.to_int(), [x.sin(), x.square(), x.exp()])
/// }
/// assert_eq!(f(&tensor(1.5)).item(), 2.25);
/// assert_eq!(f(&tensor(9.0)).item(), f64::exp(9.0));
/// assert_eq!(grad(f, &tensor(1.5)).item(), 3.0);
/// ```
///
/// # Panics
/// When the list of branches is empty; when the shapes differ.
#[track_caller]
pub fn switch<T: BaseTensor, const D: usize, E: Elem>(
    number: impl Borrow<Tensor<T, 0, i64>>,
    branches: impl IntoIterator<Item = Tensor<T, D, E>>,
) -> Tensor<T, D, E> {
    let branches: Vec<Tensor<T, D, E>> = branches.into_iter().collect();
    let Some(first) = branches.first() else {
        panic!("switch: there must be a branch to choose, but there are 0; give one for each number")
    };
    if let Some(other) = branches.iter().find(|branch| branch.shape() != first.shape()) {
        panic!(
            "switch: all branches must have one shape, but there are {} and {}; repeat one with broadcast_to",
            Show(&first.shape()),
            Show(&other.shape())
        );
    }
    among(number.borrow(), 0, &branches)
}

/// The branch of a number that is counted from `start` on: that of the lower or the upper half.
fn among<T: BaseTensor, const D: usize, E: Elem>(
    number: &Tensor<T, 0, i64>,
    start: usize,
    branches: &[Tensor<T, D, E>],
) -> Tensor<T, D, E> {
    if let [one] = branches {
        return one.clone();
    }
    let (lower, upper) = branches.split_at(branches.len() / 2);
    let middle = start + lower.len();
    let [lower, upper] = [(start, lower), (middle, upper)].map(|(start, half)| among(number, start, half));
    cond(number.lt(middle as i64), lower, upper)
}

/// The first carry of a loop: a tensor or a tree of tensors, owned or borrowed, or a number, which becomes a tensor of
/// rank 0.
///
/// ```
/// use polygrad::tensor::Start;
/// use polygrad::{BaseTensor, Tensor, iterate, tensor};
/// /// Three steps of Newton's method for the root of 2.
/// fn root_of_two<T: BaseTensor>(start: impl Start<T, Tensor<T, 0>>) -> Tensor<T, 0> {
///     iterate(3, start, |_, x| (&x + 2.0 / &x) * 0.5)
/// }
/// assert_eq!(root_of_two(tensor(1.5)), root_of_two(1.5));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the first carry of a loop",
    label = "a tensor, a tree of tensors, or a number of type `f64` or `i64` is needed",
    note = "inside a tuple, and for `f32`, a number is written `Tensor::scalar(0.0)`"
)]
pub trait Start<T: BaseTensor, C> {
    /// The first carry.
    #[doc(hidden)]
    fn start(self) -> C;
}

impl<T: BaseTensor, C: Tree<T, With<T> = C>> Start<T, C> for C {
    fn start(self) -> C {
        self
    }
}

impl<T: BaseTensor, C: Tree<T, With<T> = C>> Start<T, C> for &C {
    fn start(self) -> C {
        self.map(&mut T::clone)
    }
}

impl<T: BaseTensor> Start<T, Tensor<T, 0>> for f64 {
    fn start(self) -> Tensor<T, 0> {
        Tensor::scalar(self)
    }
}

impl<T: BaseTensor> Start<T, Tensor<T, 0, i64>> for i64 {
    fn start(self) -> Tensor<T, 0, i64> {
        Tensor::scalar(self)
    }
}
