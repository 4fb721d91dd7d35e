//! Cyclic shifts, tilings, differences of neighbors, cross products and Kronecker products.
//!
//! Law: each is a composition of slices, concatenation, replication, elementwise arithmetic and contraction. The
//! adjoint of a cyclic shift is the shift back, the adjoint of a tiling the sum over the tiles.

use smallvec::SmallVec;

use super::Tensor;
use super::arithmetic::sub_op;
use super::rank::{Above, Rank};
use super::structure::check_axis;
use crate::base::BaseTensor;
use crate::dtype::{Elem, Num};
use crate::ops::{Contract, Linear};
use crate::shape::{Shape, Show, check_possible};

/// Elements `start, start + 1, ..` along an axis, `len` of them.
#[track_caller]
fn part<T: BaseTensor>(x: &T, axis: usize, start: usize, len: usize) -> T {
    x.linear(&Linear::slice(x.shape(), axis, start, len, 1))
}

/// Each line along an axis shifted cyclically, towards larger positions.
#[track_caller]
fn rolled<T: BaseTensor>(x: &T, axis: usize, by: i64) -> T {
    let n = x.shape()[axis];
    let by = if n == 0 { 0 } else { by.rem_euclid(n as i64) as usize };
    if by == 0 {
        return x.clone();
    }
    T::concat(axis, &[part(x, axis, n - by, by), part(x, axis, 0, n - by)])
}

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// Each line along `axis` shifted cyclically by `shift` positions: `y[i] = x[(i - shift) mod n]`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.roll(0, 1), tensor([4.0, 1.0, 2.0, 3.0]));
    /// assert_eq!(x.roll(0, -1), tensor([2.0, 3.0, 4.0, 1.0]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn roll(&self, axis: usize, shift: i64) -> Self {
        check_axis("roll", axis, self.raw().shape());
        Tensor::from_raw(rolled(self.raw(), axis, shift))
    }

    /// The whole tensor repeated `times[k]` times along each axis `k`: `y[i, j] = x[i mod n, j mod m]` for a matrix of
    /// shape `[n, m]`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 2.0]).tile([3]), tensor([1.0, 2.0, 1.0, 2.0, 1.0, 2.0]));
    /// assert_eq!(tensor([[1.0], [2.0]]).tile([1, 2]), tensor([[1.0, 1.0], [2.0, 2.0]]));
    /// ```
    ///
    /// # Panics
    /// When no array can be as large.
    #[track_caller]
    pub fn tile(&self, times: [usize; D]) -> Self {
        let own = self.raw().shape();
        let out: Shape = own.iter().zip(times).map(|(n, r)| n.saturating_mul(r)).collect();
        check_possible("tile", &out);
        // Axis `k` becomes two axes: the number of the tile, and the position in the tile; the former is left out if it
        // has size 1.
        let (mut spread, mut axes) = (Shape::new(), SmallVec::<[usize; 6]>::new());
        for (n, r) in own.iter().zip(times) {
            if r != 1 {
                spread.push(r);
            }
            axes.push(spread.len());
            spread.push(*n);
        }
        if spread[..] == *own {
            return self.clone();
        }
        let tiles = self.raw().linear(&Linear::replicate(&spread, &axes));
        Tensor::from_raw(tiles.linear(&Linear::reshape(&spread, &out)))
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// The differences of neighbours along `axis`, which becomes shorter by one: `y[i] = x[i + 1] - x[i]`. An axis of
    /// size 0 stays.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 4.0, 9.0]).diff(0), tensor([3.0, 5.0]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn diff(&self, axis: usize) -> Self {
        let shape = self.raw().shape();
        check_axis("diff", axis, shape);
        let n = shape[axis].saturating_sub(1);
        let later = part(self.raw(), axis, shape[axis] - n, n);
        Tensor::from_raw(sub_op::<_, E>(&later, &part(self.raw(), axis, 0, n)))
    }

    /// The cross product of vectors of three components along the last axis; the other axes are broadcast.
    ///
    /// `y = [a1 b2 - a2 b1, a2 b0 - a0 b2, a0 b1 - a1 b0]`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 0.0, 0.0]).cross(&tensor([0.0, 1.0, 0.0])), tensor([0.0, 0.0, 1.0]));
    /// ```
    ///
    /// # Panics
    /// When the last axis of either tensor does not have size 3, or sizes along another axis differ and neither size is 1.
    #[track_caller]
    pub fn cross<const M: usize>(&self, other: &Self) -> Self
    where
        Rank<D>: Above<M>,
    {
        let (a, b) = (self.raw().shape(), other.raw().shape());
        if a[M] != 3 || b[M] != 3 {
            panic!(
                "cross: the last axis of both must have size 3, but the shapes are {} and {}; permute the components there",
                Show(a),
                Show(b)
            );
        }
        let next = |x: &Self| Tensor::<T, D, E>::from_raw(rolled(x.raw(), M, -1));
        next(&(self * next(other) - next(self) * other))
    }

    /// The Kronecker product: the products of all pairs of elements, in blocks. Shapes `[a, b]` and `[c, d]` give
    /// `[a * c, b * d]`, with `y[i * c + k, j * d + l] = x[i, j] * other[k, l]`; and so for other ranks.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0]]);
    /// let y = tensor([[1.0, 0.0], [0.0, 1.0]]);
    /// assert_eq!(x.kron(&y), tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 2.0]]));
    /// ```
    ///
    /// # Panics
    /// When no array can be as large.
    #[track_caller]
    pub fn kron(&self, other: &Self) -> Self {
        let (a, b) = (self.raw().shape(), other.raw().shape());
        let out: Shape = a.iter().zip(b).map(|(n, m)| n.saturating_mul(*m)).collect();
        check_possible("kron", &out);
        let space: Shape = a.iter().zip(b).flat_map(|(n, m)| [*n, *m]).collect();
        let axes: SmallVec<[usize; 6]> = (0..2 * D).collect();
        let (left, right): (SmallVec<[usize; 6]>, SmallVec<[usize; 6]>) = (0..D).map(|k| (2 * k, 2 * k + 1)).unzip();
        let blocks = T::contract(&Contract::axes(&space, &left, &right, &axes), self.raw(), other.raw());
        Tensor::from_raw(blocks.linear(&Linear::reshape(&space, &out)))
    }
}
