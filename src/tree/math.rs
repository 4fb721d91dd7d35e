//! Arithmetic on trees.

use super::{Tree, paired};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Contract, Linear, Unary};
use crate::tensor::{Condition, Tensor, stack, stretch};

/// Arithmetic on trees, for optimizers.
///
/// The operations act on float leaves; integer and mask leaves stay as they are in `self`. Import the trait where it is
/// needed: some methods of [`Tensor`] have the same names.
///
/// ```
/// use polygrad::ops::{Binary, Unary};
/// use polygrad::tree::{Tree, TreeMath};
/// use polygrad::{BaseTensor, tensor};
/// /// The direction Adam steps in: `m / (sqrt(v) + eps)`.
/// fn direction<T: BaseTensor, P: Tree<T, With<T> = P>>(m: &P, v: &P, eps: f64) -> P {
///     m.binary(Binary::Div, &v.unary(Unary::Sqrt).shift(eps))
/// }
/// let x = (tensor([1.0, 4.0]), tensor(9.0));
/// assert_eq!(direction(&x, &x, 1.0), (tensor([0.5, 4.0 / 3.0]), tensor(2.25)));
/// assert_eq!((x.add(&x), x.sub(&x)), (x.scale(2.0), x.zeros_like()));
/// assert_eq!((x.add_scaled(-0.5, &x), x.times(&tensor(2.0))), (x.scale(0.5), x.scale(2.0)));
/// assert_eq!((x.dot(&x), (tensor([3.0, 0.0]), tensor(4.0)).norm()), (tensor(98.0), tensor(5.0)));
/// // Integers stay as they are.
/// assert_eq!((tensor(1.5), tensor(4)).scale(2.0), (tensor(3.0), tensor(4)));
/// ```
pub trait TreeMath<T: BaseTensor>: Tree<T, With<T> = Self> {
    /// A [`Unary`] function of every element of every float leaf.
    ///
    /// Example: [`TreeMath`].
    #[track_caller]
    fn unary(&self, op: Unary) -> Self {
        map_floats(self, &mut |leaf| leaf.unary(op))
    }

    /// A [`Binary`] function of every pair of elements of the float leaves.
    ///
    /// Example: [`TreeMath`].
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn binary(&self, op: Binary, other: &Self) -> Self {
        let mut leaves = Vec::new();
        for (a, b) in paired(op.name(), self, other) {
            leaves.push(if a.dtype().is_float() { a.binary(op, &b) } else { a });
        }
        self.with_leaves(leaves)
    }

    /// `self + other`, leaf by leaf.
    ///
    /// Example: [`TreeMath`].
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn add(&self, other: &Self) -> Self {
        self.binary(Binary::Add, other)
    }

    /// `self - other`, leaf by leaf.
    ///
    /// Example: [`TreeMath`].
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn sub(&self, other: &Self) -> Self {
        self.binary(Binary::Sub, other)
    }

    /// `c * self`, leaf by leaf; `c` is rounded to the element type of each leaf.
    ///
    /// Example: [`TreeMath`].
    #[track_caller]
    fn scale(&self, c: f64) -> Self {
        map_floats(self, &mut |leaf| leaf.binary(Binary::Mul, &like(leaf, c)))
    }

    /// `c * self` for a scalar tensor, which is converted to the element type of each leaf.
    ///
    /// Example: [`TreeMath`].
    #[track_caller]
    fn times(&self, c: &Tensor<T, 0>) -> Self {
        map_floats(self, &mut |leaf| {
            let (scalar, dtype) = (c.raw().clone(), leaf.dtype());
            let cast = if dtype == DType::F64 { scalar } else { scalar.linear(&Linear::cast(&[], DType::F64, dtype)) };
            let rank_0 = leaf.shape().is_empty();
            let factor = if rank_0 { cast } else { cast.linear(&Linear::replicate(leaf.shape(), &[])) };
            leaf.binary(Binary::Mul, &factor)
        })
    }

    /// `self + c`, leaf by leaf; `c` is rounded to the element type of each leaf.
    ///
    /// Example: [`TreeMath`].
    #[track_caller]
    fn shift(&self, c: f64) -> Self {
        map_floats(self, &mut |leaf| leaf.binary(Binary::Add, &like(leaf, c)))
    }

    /// `self + c * other`, leaf by leaf: one step along a direction.
    ///
    /// Example: [`TreeMath`].
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn add_scaled(&self, c: f64, other: &Self) -> Self {
        let mut leaves = Vec::new();
        for (a, b) in paired("add_scaled", self, other) {
            let float = a.dtype().is_float();
            leaves.push(if float { a.binary(Binary::Add, &b.binary(Binary::Mul, &like(&b, c))) } else { a });
        }
        self.with_leaves(leaves)
    }

    /// The same structure with zeros in the float leaves: the initial state of an optimizer.
    ///
    /// Example: [`TreeMath`].
    #[track_caller]
    fn zeros_like(&self) -> Self {
        map_floats(self, &mut |leaf| T::zeros(leaf.shape(), leaf.dtype()))
    }

    /// The inner product: the sum over the float leaves of the products of their elements. Each leaf is
    /// summed in its own element type, then converted; 0 without float leaves.
    ///
    /// Example: [`TreeMath`].
    ///
    /// # Panics
    /// When the trees differ in the number of leaves, or in the shape or element type of one.
    #[track_caller]
    fn dot(&self, other: &Self) -> Tensor<T, 0> {
        let mut total: Option<T> = None;
        for (a, b) in paired("dot", self, other) {
            if a.dtype().is_float() {
                let term = inner(&a, &b);
                total = Some(match total {
                    Some(sum) => sum.accumulate(&term),
                    None => term,
                });
            }
        }
        Tensor::from_raw(total.unwrap_or_else(|| T::zeros(&[], DType::F64)))
    }

    /// The Euclidean norm: the root of the sum of the squares of all elements of the float leaves, without intermediate
    /// overflow. The derivative is `x / |x|`, by convention 0 if all elements are 0.
    ///
    /// Example: [`TreeMath`].
    #[track_caller]
    fn norm(&self) -> Tensor<T, 0> {
        let norms: Vec<Tensor<T, 0>> =
            self.leaves().into_iter().filter(|leaf| leaf.dtype().is_float()).map(length).collect();
        match &norms[..] {
            [] => Tensor::zeros([]),
            [norm] => norm.clone(),
            norms => stack::<T, 0, 1, f64>(norms).norm(),
        }
    }
}

impl<T: BaseTensor, P: Tree<T, With<T> = P>> TreeMath<T> for P {}

/// `then` if the scalar condition holds and `otherwise` if not, leaf by leaf: [`cond`](crate::cond()) of trees, such as
/// states of a loop.
///
/// ```
/// use polygrad::{tensor, tree};
/// let (a, b) = ((tensor([1.0, 2.0]), tensor(3)), (tensor([0.0, 0.0]), tensor(4)));
/// assert_eq!(tree::cond(tensor(true), &a, &b), a);
/// assert_eq!(tree::cond(tensor(1.0).lt(0.0), &a, &b), b);
/// ```
///
/// # Panics
/// When the trees differ in anything but the numbers in their leaves.
#[track_caller]
pub fn cond<T: BaseTensor, P: Tree<T, With<T> = P>>(condition: impl Condition<T>, then: &P, otherwise: &P) -> P {
    if let Some(difference) = then.key().difference_to::<T>(&|visitor| otherwise.visit(visitor)) {
        let (at, then, otherwise) = difference.words();
        panic!(
            "cond: both trees must be alike except for the numbers in their leaves, but{at} {then} meets {otherwise}; make one \
             from the other"
        );
    }
    let mut leaves = otherwise.leaves().into_iter();
    then.map(&mut |leaf| match leaves.next() {
        Some(other) => T::select(&stretch(condition.condition(), leaf.shape()), leaf, &other),
        None => leaf.clone(),
    })
}

/// `c` in the shape and element type of a leaf.
fn like<T: BaseTensor>(leaf: &T, c: f64) -> T {
    T::constant(Array::full_as(leaf.shape(), leaf.dtype(), c))
}

/// The Euclidean norm of a float tensor, as `f64`.
#[track_caller]
fn length<T: BaseTensor>(leaf: T) -> Tensor<T, 0> {
    let line = leaf.linear(&Linear::reshape(leaf.shape(), &[leaf.shape().iter().product()]));
    match line.dtype() {
        DType::F32 => Tensor::<T, 1, f32>::from_raw(line).norm().cast(),
        DType::F64 | DType::I64 | DType::Bool => Tensor::<T, 1>::from_raw(line).norm(),
    }
}

/// The inner product of two float tensors of one shape, as `f64`.
#[track_caller]
fn inner<T: BaseTensor>(a: &T, b: &T) -> T {
    let axes: Vec<usize> = (0..a.shape().len()).collect();
    let sum = T::contract(&Contract::axes(a.shape(), &axes, &axes, &[]), a, b);
    if sum.dtype() == DType::F64 { sum } else { sum.linear(&Linear::cast(&[], sum.dtype(), DType::F64)) }
}

#[track_caller]
fn map_floats<T: BaseTensor, P: Tree<T, With<T> = P>>(tree: &P, f: &mut dyn FnMut(&T) -> T) -> P {
    tree.map(&mut |leaf| if leaf.dtype().is_float() { f(leaf) } else { leaf.clone() })
}
