//! Domains: the constraints of parameters as data, so that a whole tree goes to unconstrained parameters and back.
//!
//! Law: `constrain` of what `unconstrain` gives is the argument, up to rounding, and the logarithm of the Jacobian is that of
//! [`constrain`](super::constrain). Leaves of several vectors or matrices along the last axes are transformed one by one.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use super::{constrain, unconstrain};
use crate::array::{Array, with_float};
use crate::base::BaseTensor;
use crate::dtype::{DType, Elem, Float};
use crate::ops::Linear;
use crate::shape::{Show, size};
use crate::tensor::{Tensor, map};
use crate::tree::{Keep, Plain, Tree};
/// Says which domains the fields of a struct of parameters have, each by an attribute: see the trait
/// [`Constrained`](trait@Constrained).
pub use polygrad_derive::Constrained;

/// The values that a parameter may have.
///
/// | domain | attribute | transform |
/// |---|---|---|
/// | `Real` | none | the identity |
/// | `Positive`, `Lower`, `Upper` | `positive`, `lower(a)`, `upper(b)` | [`constrain::lower`], [`constrain::upper`] |
/// | `Bounds` | `bounds(a, b)` | [`constrain::interval`] |
/// | `Ordered`, `PositiveOrdered` | `ordered`, `positive_ordered` | of vectors: [`constrain::ordered`] |
/// | `Simplex` | `simplex` | of vectors: [`constrain::simplex`] |
/// | `Corr` | `corr` | of matrices: [`constrain::corr`] |
/// | `CholeskyCorr`, `CholeskyCov` | `cholesky_corr`, `cholesky_cov` | of matrices: [`constrain::cholesky_corr`] |
///
/// Example: [`Constrained`](trait@Constrained).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Domain {
    /// All numbers.
    Real,
    /// Positive numbers.
    Positive,
    /// Numbers above a bound.
    Lower(f64),
    /// Numbers below a bound.
    Upper(f64),
    /// Numbers between two bounds.
    Bounds(f64, f64),
    /// Vectors whose elements rise.
    Ordered,
    /// Vectors of positive elements that rise.
    PositiveOrdered,
    /// Vectors of positive elements with sum 1.
    Simplex,
    /// Correlation matrices.
    Corr,
    /// Cholesky factors of correlation matrices.
    CholeskyCorr,
    /// Cholesky factors of covariance matrices.
    CholeskyCov,
}

/// Trees of parameters, each with a domain.
///
/// A struct derives it. A field without an attribute has the domains of its type, all numbers for a tensor.
///
/// ```
/// use polygrad::stats::{Constrained, Domain, constrain, unconstrain};
/// use polygrad::{Array, BaseTensor, Tensor, Tree, tensor};
/// #[derive(Tree, Constrained, Clone)]
/// struct Mixture<T: BaseTensor> {
///     means: Tensor<T, 1>,
///     #[constrain(positive)]
///     scale: Tensor<T, 0>,
///     #[constrain(simplex)]
///     weights: Tensor<T, 1>,
///     #[constrain(bounds(-1.0, 1.0))]
///     skew: Tensor<T, 1>,
/// }
/// let start: Mixture<Array> = Mixture {
///     means: tensor([0.0, 1.0]),
///     scale: tensor(2.0),
///     weights: tensor([0.25, 0.75]),
///     skew: tensor([0.0]),
/// };
/// assert_eq!(start.domains(), [Domain::Real, Domain::Positive, Domain::Simplex, Domain::Bounds(-1.0, 1.0)]);
/// let u = unconstrain::tree(&start);
/// assert_eq!((u.len(), u.row::<0>(2)), (5, tensor(2f64.ln())));
/// let (again, jacobian) = constrain::tree(&start, &u);
/// assert!((again.weights - start.weights).abs().sum().item() < 1e-15);
/// let known = 2f64.ln() + (0.25f64 * 0.75).ln() + 0.5 * 2f64.ln() + 0.5f64.ln();
/// assert!((jacobian.item() - known).abs() < 1e-15);
/// ```
#[diagnostic::on_unimplemented(
    message = "the parameters in `{Self}` have no domains",
    note = "derive `Constrained` beside `Tree`, and write `#[constrain(positive)]` or another domain over a field"
)]
pub trait Constrained {
    /// The domain of each leaf, in the order of the leaves.
    ///
    /// Example: [`Constrained`](trait@Constrained).
    fn domains(&self) -> Vec<Domain>;
}

impl<T: BaseTensor, const D: usize, E: Elem> Constrained for Tensor<T, D, E> {
    fn domains(&self) -> Vec<Domain> {
        vec![Domain::Real]
    }
}

impl<P: Constrained> Constrained for Vec<P> {
    fn domains(&self) -> Vec<Domain> {
        self.iter().flat_map(Constrained::domains).collect()
    }
}

impl<P: Constrained, const N: usize> Constrained for [P; N] {
    fn domains(&self) -> Vec<Domain> {
        self.iter().flat_map(Constrained::domains).collect()
    }
}

impl<P: Constrained> Constrained for Option<P> {
    fn domains(&self) -> Vec<Domain> {
        self.iter().flat_map(Constrained::domains).collect()
    }
}

impl<P: Constrained> Constrained for Box<P> {
    fn domains(&self) -> Vec<Domain> {
        P::domains(self)
    }
}

impl<K, P: Constrained> Constrained for BTreeMap<K, P> {
    fn domains(&self) -> Vec<Domain> {
        self.values().flat_map(Constrained::domains).collect()
    }
}

impl<X: Clone + Plain> Constrained for Keep<X> {
    fn domains(&self) -> Vec<Domain> {
        Vec::new()
    }
}

impl<T> Constrained for PhantomData<T> {
    fn domains(&self) -> Vec<Domain> {
        Vec::new()
    }
}

macro_rules! tuples {
    ($(($($P:ident $k:tt)*))*) => {$(
        impl<$($P: Constrained),*> Constrained for ($($P,)*) {
            fn domains(&self) -> Vec<Domain> {
                #[allow(unused_mut, reason = "the empty tuple has none")]
                let mut all = Vec::new();
                $(all.extend(self.$k.domains());)*
                all
            }
        }
    )*};
}

tuples! {
    ()
    (A 0)
    (A 0 B 1)
    (A 0 B 1 C 2)
    (A 0 B 1 C 2 D 3)
    (A 0 B 1 C 2 D 3 F 4)
    (A 0 B 1 C 2 D 3 F 4 G 5)
    (A 0 B 1 C 2 D 3 F 4 G 5 H 6)
    (A 0 B 1 C 2 D 3 F 4 G 5 H 6 I 7)
}

/// A tensor of another shape of the same size.
fn reshaped<T: BaseTensor>(x: &T, shape: &[usize]) -> T {
    if x.shape() == shape { x.clone() } else { x.linear(&Linear::reshape(x.shape(), shape)) }
}

/// A transform of vectors or matrices: the constrained value, and the logarithm of the Jacobian, of each row.
fn each_row<T: BaseTensor, E: Float, const R: usize, const S: usize>(
    free: &Tensor<T, 2, E>,
    f: impl Fn(&Tensor<T, 1, E>) -> (Tensor<T, R, E>, Tensor<T, 0, E>),
) -> (T, T)
where
    (Tensor<T, R, E>, Tensor<T, 0, E>): crate::tensor::Outputs<T, (Tensor<T, S, E>, Tensor<T, 1, E>)>,
{
    // One row needs no loop.
    if free.shape()[0] == 1 {
        let (x, jacobian) = f(&free.row(0));
        return (x.into_raw(), jacobian.into_raw());
    }
    let (x, jacobians) = map(free, |row: &Tensor<T, 1, E>| f(row));
    (x.into_raw(), jacobians.sum().into_raw())
}

impl Domain {
    /// The shape of the unconstrained parameters of a leaf of this shape.
    ///
    /// ```
    /// use polygrad::stats::Domain;
    /// assert_eq!(Domain::Simplex.free_shape(&[5, 3]), Ok(vec![5, 2]));
    /// assert_eq!(Domain::Corr.free_shape(&[4, 4]), Ok(vec![6]));
    /// assert!(Domain::Corr.free_shape(&[4, 3]).is_err() && Domain::Ordered.free_shape(&[]).is_err());
    /// ```
    ///
    /// # Errors
    /// When no leaf of this shape has this domain: a domain of vectors needs an axis, a simplex an element, a domain of
    /// matrices two axes of one size.
    pub fn free_shape(self, shape: &[usize]) -> Result<Vec<usize>, String> {
        let refused = |needs: &str| {
            let shape = Show(shape);
            Err(format!(
                "constrain: the domain {self:?} needs {needs}, but a leaf has the shape {shape}; give it another domain"
            ))
        };
        match (self, shape) {
            (Domain::Real | Domain::Positive | Domain::Lower(_) | Domain::Upper(_) | Domain::Bounds(..), _) => {
                Ok(shape.to_vec())
            }
            (Domain::Ordered | Domain::PositiveOrdered, [_, ..]) => Ok(shape.to_vec()),
            (Domain::Ordered | Domain::PositiveOrdered, []) => refused("vectors"),
            (Domain::Simplex, [outer @ .., n]) if *n > 0 => Ok([outer, &[n - 1]].concat()),
            (Domain::Simplex, _) => refused("vectors with an element"),
            (Domain::Corr | Domain::CholeskyCorr, [outer @ .., n, m]) if n == m && *n > 0 => {
                Ok([outer, &[n * (n - 1) / 2]].concat())
            }
            (Domain::CholeskyCov, [outer @ .., n, m]) if n == m && *n > 0 => Ok([outer, &[n * (n + 1) / 2]].concat()),
            (Domain::Corr | Domain::CholeskyCorr | Domain::CholeskyCov, _) => {
                refused("square matrices with an element")
            }
        }
    }

    /// The leaf of this shape with these unconstrained parameters, and the logarithm of the Jacobian, a number of their
    /// element type.
    ///
    /// ```
    /// use polygrad::stats::Domain;
    /// use polygrad::{Array, tensor};
    /// let (x, jacobian) = Domain::Positive.constrain(&Array::from([0.0, 2f64.ln()]), &[2]);
    /// assert_eq!((x, jacobian), (Array::from([1.0, 2.0]), Array::from(2f64.ln())));
    /// assert_eq!(Domain::Positive.unconstrain(&Array::from([1.0])), Array::from([0.0]));
    /// ```
    ///
    /// # Panics
    /// When the elements are not floats, the shape has no such domain, or the parameters do not have its
    /// [`free_shape`](Self::free_shape).
    #[track_caller]
    pub fn constrain<T: BaseTensor>(self, free: &T, shape: &[usize]) -> (T, T) {
        let needed = self.of_leaf(shape, free.dtype());
        if needed != free.shape() {
            panic!(
                "constrain: the parameters must have the shape {}, but they have {}; ask free_shape",
                Show(&needed),
                Show(free.shape())
            );
        }
        let (x, jacobian) = with_float!(free.dtype(), E => self.constrained::<T, E>(free));
        (reshaped(&x, shape), jacobian)
    }

    /// The unconstrained parameters of a leaf.
    ///
    /// Example: [`Domain::constrain`].
    ///
    /// # Panics
    /// When the elements are not floats, or the shape has no such domain.
    #[track_caller]
    pub fn unconstrain<T: BaseTensor>(self, x: &T) -> T {
        let shape = self.of_leaf(x.shape(), x.dtype());
        let free = with_float!(x.dtype(), E => self.unconstrained::<T, E>(x));
        reshaped(&free, &shape)
    }

    /// The shape of the unconstrained parameters of a leaf.
    #[track_caller]
    fn of_leaf(self, shape: &[usize], dtype: DType) -> Vec<usize> {
        if !dtype.is_float() {
            panic!("constrain: parameters must be floats, but a leaf has elements {dtype}; make it data");
        }
        match self.free_shape(shape) {
            Ok(shape) => shape,
            Err(refused) => panic!("{refused}"),
        }
    }

    #[track_caller]
    fn constrained<T: BaseTensor, E: Float>(self, free: &T) -> (T, T) {
        let flat = || Tensor::<T, 1, E>::from_raw(reshaped(free, &[size(free.shape())]));
        let rows = || {
            let (outer, last) = free.shape().split_at(free.shape().len().saturating_sub(1));
            Tensor::<T, 2, E>::from_raw(reshaped(free, &[size(outer), size(last)]))
        };
        let vector = |(x, jacobian): (Tensor<T, 1, E>, Tensor<T, 0, E>)| (x.into_raw(), jacobian.into_raw());
        let of = E::of_f64;
        match self {
            Domain::Real => (free.clone(), Tensor::<T, 0, E>::zeros([]).into_raw()),
            Domain::Positive => vector(constrain::positive(&flat())),
            Domain::Lower(low) => vector(constrain::lower(&flat(), of(low))),
            Domain::Upper(high) => vector(constrain::upper(&flat(), of(high))),
            Domain::Bounds(low, high) => vector(constrain::interval(&flat(), of(low), of(high))),
            Domain::Ordered => each_row::<T, E, 1, 2>(&rows(), |u| constrain::ordered(u)),
            Domain::PositiveOrdered => each_row::<T, E, 1, 2>(&rows(), |u| constrain::positive_ordered(u)),
            Domain::Simplex => each_row::<T, E, 1, 2>(&rows(), |u| constrain::simplex(u)),
            Domain::Corr => each_row::<T, E, 2, 3>(&rows(), |u| constrain::corr(u)),
            Domain::CholeskyCorr => each_row::<T, E, 2, 3>(&rows(), |u| constrain::cholesky_corr(u)),
            Domain::CholeskyCov => each_row::<T, E, 2, 3>(&rows(), |u| constrain::cholesky_cov(u)),
        }
    }

    #[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
    #[track_caller]
    fn unconstrained<T: BaseTensor, E: Float>(self, x: &T) -> T {
        let shape = x.shape();
        let flat = || Tensor::<T, 1, E>::from_raw(reshaped(x, &[size(shape)]));
        let vectors = |f: &dyn Fn(&Tensor<T, 1, E>) -> Tensor<T, 1, E>| {
            let (outer, last) = shape.split_at(shape.len().saturating_sub(1));
            let rows = Tensor::<T, 2, E>::from_raw(reshaped(x, &[size(outer), size(last)]));
            map(&rows, |row: &Tensor<T, 1, E>| f(row)).into_raw()
        };
        let matrices = |f: &dyn Fn(&Tensor<T, 2, E>) -> Tensor<T, 1, E>| {
            let (outer, last) = shape.split_at(shape.len().saturating_sub(2));
            let all = Tensor::<T, 3, E>::from_raw(reshaped(x, &[size(outer), last[0], last[1]]));
            map(&all, |matrix: &Tensor<T, 2, E>| f(matrix)).into_raw()
        };
        let of = E::of_f64;
        match self {
            Domain::Real => x.clone(),
            Domain::Positive => unconstrain::positive(&flat()).into_raw(),
            Domain::Lower(low) => unconstrain::lower(&flat(), of(low)).into_raw(),
            Domain::Upper(high) => unconstrain::upper(&flat(), of(high)).into_raw(),
            Domain::Bounds(low, high) => unconstrain::interval(&flat(), of(low), of(high)).into_raw(),
            Domain::Ordered => vectors(&|x| unconstrain::ordered(x)),
            Domain::PositiveOrdered => vectors(&|x| unconstrain::positive_ordered(x)),
            Domain::Simplex => vectors(&|x| unconstrain::simplex(x)),
            Domain::Corr => matrices(&|x| unconstrain::corr(x)),
            Domain::CholeskyCorr => matrices(&|x| unconstrain::cholesky_corr(x)),
            Domain::CholeskyCov => matrices(&|x| unconstrain::cholesky_cov(x)),
        }
    }
}

/// [`constrain::tree`].
#[track_caller]
pub(super) fn constrained_tree<T: BaseTensor, P: Tree<Array> + Constrained>(
    like: &P,
    u: &Tensor<T, 1>,
) -> (P::With<T>, Tensor<T, 0>) {
    let (pairs, mut shapes) = (domains_of(like), Vec::new());
    // No closure: messages name the caller.
    for (domain, leaf) in &pairs {
        shapes.push(domain.of_leaf(leaf.shape(), leaf.dtype()));
    }
    let needed: usize = shapes.iter().map(|shape| size(shape)).sum();
    if needed != u.len() {
        panic!(
            "constrain: there must be {needed} unconstrained parameters, but there are {}; unconstrain a tree like this one",
            u.len()
        );
    }
    let (mut leaves, mut jacobians, mut start) = (Vec::new(), Vec::new(), 0);
    for ((domain, leaf), shape) in pairs.iter().zip(&shapes) {
        let (x, more) = domain.constrain(&u.raw().section(start, shape, leaf.dtype()), leaf.shape());
        leaves.push(x);
        jacobians.push(more);
        start += size(shape);
    }
    // The sum of numbers of different element types.
    (like.with_leaves(leaves), Tensor::<T, 1>::from_raw(T::joined(&jacobians)).sum())
}

/// [`unconstrain::tree`].
#[track_caller]
pub(super) fn unconstrained_tree<P: Tree<Array> + Constrained>(x: &P) -> Tensor<Array, 1> {
    let mut free = Vec::new();
    for (domain, leaf) in domains_of(x) {
        free.push(domain.unconstrain(&leaf));
    }
    Tensor::from_raw(Array::joined(&free))
}

/// The leaves, each with its domain.
#[track_caller]
fn domains_of<P: Tree<Array> + Constrained>(like: &P) -> Vec<(Domain, Array)> {
    let (domains, leaves) = (like.domains(), like.leaves());
    if domains.len() != leaves.len() {
        panic!(
            "constrain: there must be a domain for each leaf, but they are {} and {}; derive Constrained",
            domains.len(),
            leaves.len()
        );
    }
    domains.into_iter().zip(leaves).collect()
}
