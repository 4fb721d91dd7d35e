//! Piecewise linear interpolation, between points in one dimension and on regular grids.
//!
//! Law: the values at the neighboring points are gathered at computed positions, and the weights are polynomials in the
//! coordinates; so interpolation is differentiable in coordinates and values. Outside, the value is that of the nearest
//! point on the border, and the derivative in the coordinate is 0.

use super::Tensor;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::shape::Show;

/// A coordinate on an axis of `n` points, clamped: the position below, and the weight of the position above.
fn cell<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    n: usize,
) -> (Tensor<T, D, i64>, Tensor<T, D, E>) {
    let last = E::of_f64((n - 1) as f64);
    let x = x.clamp(E::ZERO, last);
    // The last point belongs to the last cell: the derivative there is the slope of this cell.
    let below = x.to_int().min((n as i64 - 2).max(0));
    let weight = x - below.to_float::<E>();
    (below, weight)
}

/// `1 - x`.
#[track_caller]
fn one_less<T: BaseTensor, const D: usize, E: Float>(x: &Tensor<T, D, E>) -> Tensor<T, D, E> {
    Tensor::ones(x.shape()) - x
}

impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The piecewise linear function through the points `(xp[k], fp[k])`, at each element; `fp[0]` before the first
    /// point, and the last element of `fp` after the last point. NaN at NaN.
    ///
    /// The derivative in the argument is the slope of the piece, at a point the slope of the piece after it (at the
    /// last point, before it), and 0 outside. The derivatives in `xp` and `fp` are those of the formula. The function
    /// is `numpy.interp`.
    ///
    /// `xp` must increase strictly. This is not checked, as `xp` may be computed; otherwise results are meaningless.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (xp, fp) = (tensor([0.0, 1.0, 3.0]), tensor([0.0, 10.0, 0.0]));
    /// assert_eq!(tensor([-1.0, 0.5, 2.0, 9.0]).interp(&xp, &fp), tensor([0.0, 5.0, 5.0, 0.0]));
    /// ```
    ///
    /// # Panics
    /// When the list of points is empty, or `xp` and `fp` differ in size.
    #[track_caller]
    pub fn interp(&self, xp: &Tensor<T, 1, E>, fp: &Tensor<T, 1, E>) -> Self {
        let (n, m) = (xp.len(), fp.len());
        if n != m || n == 0 {
            panic!(
                "interp: needs as many places as values, and at least one, but the shapes are {} and {}; slice one, or pad it",
                Show(&[n]),
                Show(&[m])
            );
        }
        let read = |t: &Tensor<T, 1, E>, at: &Tensor<T, D, i64>| -> Self {
            Tensor::from_raw(t.raw().gather(&[at.raw().clone()]))
        };
        if n == 1 {
            // With one point the result depends on the argument only where that is NaN.
            let all = read(fp, &Tensor::zeros(self.shape()));
            return self.is_nan().select(E::nan(), all);
        }
        let below = (xp.search_sorted(self) - 1).clamp(0, n as i64 - 2);
        let above = &below + 1;
        let (start, end) = (read(xp, &below), read(xp, &above));
        let weight = ((self - &start) / (end - start)).clamp(E::ZERO, E::ONE);
        read(fp, &below) * one_less(&weight) + read(fp, &above) * weight
    }

    /// Multilinear interpolation between the points of this regular grid: `at[k]` holds coordinates along axis `k`, in
    /// units of the grid, so 1.5 lies halfway between the positions 1 and 2. Coordinates outside are clamped to the
    /// border. The function is `map_coordinates` of SciPy and JAX with order 1 and mode `nearest`.
    ///
    /// The derivative in a coordinate is the slope in the cell, at a point of the grid the slope in the cell after it
    /// (at the last point, before it), and 0 outside. On a grid of rank `D` each result reads at most `2^D` elements.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let grid = tensor([[0.0, 1.0], [10.0, 11.0]]);
    /// assert_eq!(grid.interp_grid([&tensor([0.5, 1.0, 7.0]), &tensor([0.5, 0.25, -1.0])]), tensor([5.5, 10.25, 10.0]));
    /// ```
    ///
    /// # Panics
    /// When the grid is empty or the coordinates differ in shape.
    #[track_caller]
    pub fn interp_grid<const S: usize>(&self, at: [&Tensor<T, S, E>; D]) -> Tensor<T, S, E> {
        let shape = self.raw().shape();
        let points = at.first().map_or(&[][..], |x| x.raw().shape());
        if let Some(other) = at.iter().map(|x| x.raw().shape()).find(|other| *other != points) {
            panic!(
                "interp_grid: all coordinates must have one shape, but two are {} and {}; broadcast one",
                Show(points),
                Show(other)
            );
        }
        if shape.contains(&0) {
            panic!(
                "interp_grid: the grid must have a point, but its shape is {}; give it one, or skip it",
                Show(shape)
            );
        }
        let cells: Vec<_> = at.iter().zip(shape).map(|(x, n)| cell(x, *n)).collect();
        let mut sum: Option<Tensor<T, S, E>> = None;
        for corner in 0..1usize << D {
            let is_above = |k: usize| corner >> k & 1 == 1;
            // An axis of size 1 has no position above.
            if (0..D).any(|k| is_above(k) && shape[k] == 1) {
                continue;
            }
            let ix: Vec<T> = (0..D)
                .map(|k| if is_above(k) { (&cells[k].0 + 1).into_raw() } else { cells[k].0.raw().clone() })
                .collect();
            let value: Tensor<T, S, E> = Tensor::from_raw(self.raw().gather(&ix));
            let weights = (0..D).filter(|k| shape[*k] > 1).map(|k| {
                let above = &cells[k].1;
                if is_above(k) { above.clone() } else { one_less(above) }
            });
            let term = weights.fold(value, |term, weight| term * weight);
            sum = Some(sum.map_or_else(|| term.clone(), |sum| sum + &term));
        }
        match sum {
            Some(sum) => sum,
            None => unreachable!("the corner without positions above is always there"),
        }
    }
}
