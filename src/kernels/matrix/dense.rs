//! A square matrix of floats by rows, with what the exponential needs: combinations, products, quotients.

use std::ops::{Index, IndexMut};

use super::{Real, lu_factor, nan, solve};
use crate::kernels::contract::product_of_squares;

/// A square matrix.
#[derive(Clone)]
pub(super) struct DenseMatrix<E> {
    n: usize,
    x: Vec<E>,
}

impl<E: Real> DenseMatrix<E> {
    pub(super) fn from_fn(n: usize, at: impl Fn(usize, usize) -> E) -> Self {
        DenseMatrix { n, x: (0..n * n).map(|k| at(k / n, k % n)).collect() }
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.n
    }

    /// The elements, row by row.
    pub(super) fn elements(&self) -> &[E] {
        &self.x
    }

    pub(super) fn map(&self, f: impl Fn(E) -> E) -> Self {
        DenseMatrix { n: self.n, x: self.x.iter().map(|x| f(*x)).collect() }
    }

    /// A function of each pair of elements of two matrices of one size.
    pub(super) fn zip(&self, other: &Self, f: impl Fn(E, E) -> E) -> Self {
        DenseMatrix { n: self.n, x: self.x.iter().zip(&other.x).map(|(a, b)| f(*a, *b)).collect() }
    }

    /// The product `self other`.
    pub(super) fn times(&self, other: &Self) -> Self {
        let mut x = vec![E::ZERO; self.n * self.n];
        product_of_squares(self.n, &self.x, &other.x, &mut x);
        DenseMatrix { n: self.n, x }
    }
}

impl<E> Index<[usize; 2]> for DenseMatrix<E> {
    type Output = E;

    fn index(&self, [i, j]: [usize; 2]) -> &E {
        &self.x[i * self.n + j]
    }
}

impl<E> IndexMut<[usize; 2]> for DenseMatrix<E> {
    fn index_mut(&mut self, [i, j]: [usize; 2]) -> &mut E {
        &mut self.x[i * self.n + j]
    }
}

/// The LU factors of a matrix.
pub(super) struct LuFactors<E> {
    lu: DenseMatrix<E>,
    rows: Vec<i64>,
}

impl<E: Real> LuFactors<E> {
    pub(super) fn of(a: &DenseMatrix<E>) -> Self {
        let (mut lu, mut rows) = (a.clone(), vec![0; a.n]);
        lu_factor(a.n, &a.x, &mut lu.x, &mut rows);
        LuFactors { lu, rows }
    }

    /// The solution `y` of `a y = b`; NaN if it does not exist.
    pub(super) fn solve(&self, b: &DenseMatrix<E>) -> DenseMatrix<E> {
        let mut y = DenseMatrix { n: b.n, x: vec![nan(); b.x.len()] };
        solve(b.n, (&self.lu.x, &self.rows), false, &b.x, &mut y.x);
        y
    }
}
