//! Minors of matrices, and the permutations of elimination with complete pivoting, in StableHLO.

use super::text::{HloValue, Region, Ty};
use crate::array::Array;
use crate::ops::minors::{LAST, MOST, count, is_odd, members, sets, smaller};
use crate::shape::{Shape, size};

impl Region {
    /// The subarrays of `t` at constant positions along an axis; the axes of the positions come last, and replace the
    /// axis.
    fn parts_at(&mut self, t: &HloValue, axis: usize, shape: &[usize], at: Vec<i64>) -> HloValue {
        let ix = self.constant(&Array::new(shape, at));
        let found = self.gather_at(t, &[axis], &[ix], &[]);
        // The axes of the positions come first.
        let order: Vec<usize> = (shape.len()..found.shape.len()).chain(0..shape.len()).collect();
        self.transpose(&found, &order)
    }

    /// The signed minors with `without` rows and columns left out.
    pub(super) fn minors(&mut self, without: usize, a: &HloValue) -> HloValue {
        let rank = a.shape.len();
        let n = a.shape[rank - 1];
        let found = count(n, without);
        let shape: Shape = a.shape[..rank - 2].iter().copied().chain([found, found]).collect();
        if shape.contains(&0) {
            return self.full(0.0, &shape, a.ty);
        }
        let minors = if n > MOST { self.cofactors(a) } else { self.expanded(without, a, &shape) };
        self.if_finite(a, &minors)
    }

    /// The signed minors by Laplace expansion, row by row: for each set of rows that is left, the minors of its first
    /// rows and all sets of as many columns.
    fn expanded(&mut self, without: usize, a: &HloValue, shape: &[usize]) -> HloValue {
        let batch = shape.len() - 2;
        let (n, found) = (a.shape[batch], shape[batch]);
        let (outside, all) = (sets(n, without), (1u32 << n) - 1);
        let first: Shape = shape[..=batch].iter().copied().chain([1]).collect();
        let mut minors = self.full(1.0, &first, a.ty);
        for level in 1..=n - without {
            let row = |set: &u32| members(all & !set).nth(level - 1).expect("a row") as i64;
            let rows = self.parts_at(a, batch, &[found], outside.iter().map(row).collect());
            // The axes are the batch, the columns, the sets of rows.
            let [columns, before, signs] = smaller(n, level);
            let table = [columns.len() / level, level];
            let elements = self.parts_at(&rows, batch, &table, columns);
            let before = self.parts_at(&minors, batch + 1, &table, before);
            let signs = self.constant(&Array::new(&table, signs));
            let signs = self.convert(&signs, a.ty);
            let signs = self.broadcast(&signs, &before.shape, &[batch + 1, batch + 2]);
            let terms = self.binary("multiply", &elements, &before);
            let terms = self.binary("multiply", &terms, &signs);
            minors = self.sum(&terms, &[batch + 2]);
        }
        // The minors by the sets of columns that are left out, from those by the sets that are left.
        let left = sets(n, n - without);
        let at = |set: &u32| left.binary_search(&(all & !set)).expect("the rest of a set") as i64;
        let minors = self.parts_at(&minors, batch + 1, &[found], outside.iter().map(at).collect());
        let sign = |k: usize| if is_odd(outside[k / found]) == is_odd(outside[k % found]) { 1 } else { -1 };
        let signs = self.constant(&Array::new(&[found, found], (0..found * found).map(sign).collect::<Vec<i64>>()));
        let signs = self.convert(&signs, a.ty);
        let signs = self.broadcast(&signs, &minors.shape, &[batch, batch + 1]);
        self.binary("multiply", &minors, &signs)
    }

    /// The cofactors of a large matrix `u diag(s) v^T`: `det(u v^T) u diag(c) v^T`, where `c` are the products of all
    /// singular values but one.
    fn cofactors(&mut self, a: &HloValue) -> HloValue {
        let rank = a.shape.len();
        let [u, s, vt] = self.svd(a);
        let axes: Vec<usize> = (0..rank - 2).chain([rank - 1]).collect();
        let values = self.broadcast(&s, &a.shape, &axes);
        let (on, one) = (self.triangle("EQ", &values), self.like(1.0, &values));
        let others = self.select(&on, &one, &values);
        let products = self.reduce("multiply", &others, 1.0, &[rank - 1]);
        let products = self.broadcast(&products, &a.shape, &axes);
        let left = self.binary("multiply", &u, &products);
        let cofactors = self.matmul(&left, &vt);
        let [left, right] = [u, vt].map(|x| self.determinant(&x));
        let sign = self.binary("multiply", &left, &right);
        let batch: Vec<usize> = (0..rank - 2).collect();
        let sign = self.broadcast(&sign, &a.shape, &batch);
        self.binary("multiply", &cofactors, &sign)
    }

    /// The permutations of rows and columns of elimination with complete pivoting, and the product of their signs.
    pub(super) fn complete_pivots(&mut self, a: &HloValue) -> [HloValue; 2] {
        let rank = a.shape.len();
        let (batch, n) = (size(&a.shape[..rank - 2]), a.shape[rank - 1]);
        let both: Shape = a.shape[..rank - 2].iter().copied().chain([2, n]).collect();
        if a.shape.contains(&0) {
            return [self.full(0.0, &both, Ty::I64), self.full(1.0, &a.shape[..rank - 2], a.ty)];
        }
        let finite = self.finite(a);
        let known = self.everywhere(&finite, a);
        let zero = self.like(0.0, a);
        let rest = self.select(&known, a, &zero);
        let rest = self.reshape(&rest, &[batch, n, n]);
        // For each row and column, the step at which it has the pivot; rows and columns without a pivot come last.
        let later = self.integer(n as i64, &[batch, n]);
        // The first pivot, and the last one that derivatives divide by.
        let pivots = [0, n.saturating_sub(LAST + 1)];
        let unit = self.full(1.0, &[batch], a.ty);
        let start = vec![rest, later.clone(), later, unit.clone(), unit];
        let state = self.trips(n, start, |code, step, state| {
            let [rest, rows, columns, size] = code.completely_eliminated(step, state);
            let [first, last] = [0, 1].map(|k| {
                let here = code.compare_with("EQ", step, pivots[k] as f64);
                let here = code.broadcast(&here, &size.shape, &[]);
                code.select(&here, &size, &state[3 + k])
            });
            vec![rest, rows, columns, first, last]
        });
        let own: Shape = a.shape[..rank - 1].into();
        let finite = self.reduce("and", &finite, 1.0, &[rank - 2, rank - 1]);
        let axes: Vec<usize> = (0..rank - 2).collect();
        let known = self.broadcast(&finite, &own, &axes);
        let unmoved = self.iota(&own, rank - 2);
        let [rows, columns] = [1, 2].map(|k| {
            let order = self.argsort(&state[k], 1, false);
            let order = self.reshape(&order, &own);
            self.select(&known, &order, &unmoved)
        });
        let [left, right] = [&rows, &columns].map(|order| self.parity(order, a));
        let sign = self.binary("multiply", &left, &right);
        let nan = self.like(f64::NAN, &sign);
        let mut fine = finite;
        if n > LAST {
            let epsilon = if a.ty == Ty::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
            let small = self.like(epsilon.sqrt(), &state[3]);
            let small = self.binary("multiply", &state[3], &small);
            let large = self.compare("GT", &state[4], &small);
            let large = self.reshape(&large, &a.shape[..rank - 2]);
            fine = self.binary("and", &fine, &large);
        }
        let sign = self.select(&fine, &sign, &nan);
        let one: Shape = a.shape[..rank - 2].iter().copied().chain([1, n]).collect();
        let [rows, columns] = [rows, columns].map(|order| self.reshape(&order, &one));
        [self.concat(rank - 2, &[rows, columns]), sign]
    }

    /// One elimination step: updates the remaining matrix and the steps of rows and columns; returns also the absolute
    /// value of the pivot.
    fn completely_eliminated(&mut self, k: &HloValue, state: &[HloValue]) -> [HloValue; 4] {
        let [rest, rows, columns, ..] = state else { unreachable!("five values") };
        let (batch, n) = (rest.shape[0], rest.shape[1]);
        let wide = rest.shape.clone();
        let free = |code: &mut Region, steps: &HloValue, axis: usize| {
            let free = code.compare_with("EQ", steps, n as f64);
            code.broadcast(&free, &wide, &[0, axis])
        };
        let (free_rows, free_columns) = (free(self, rows, 1), free(self, columns, 2));
        let free = self.binary("and", &free_rows, &free_columns);
        let sizes = self.unary("abs", rest);
        let minus = self.like(-1.0, &sizes);
        let sizes = self.select(&free, &sizes, &minus);
        let sizes = self.reshape(&sizes, &[batch, n * n]);
        let best = self.position("GT", &sizes, 1);
        let size = self.reduce("maximum", &sizes, 0.0, &[1]);
        let count = self.integer(n as i64, &[batch]);
        let at = [self.binary("divide", &best, &count), self.binary("remainder", &best, &count)];
        let k = self.broadcast(k, &rows.shape, &[]);
        // The row and the column of the pivot, as masks of positions and of elements.
        let own = self.iota(&rows.shape, 1);
        let [(rows, row), (columns, column)] = [(rows, 1), (columns, 2)].map(|(steps, axis)| {
            let here = self.broadcast(&at[axis - 1], &own.shape, &[0]);
            let here = self.compare("EQ", &own, &here);
            (self.select(&here, &k, steps), self.broadcast(&here, &wide, &[0, axis]))
        });
        let zero = self.like(0.0, rest);
        let [of_row, of_column] = [(&row, 1), (&column, 2)].map(|(mask, axis)| {
            let only = self.select(mask, rest, &zero);
            let line = self.sum(&only, &[axis]);
            self.broadcast(&line, &wide, &[0, 3 - axis])
        });
        let only = self.select(&column, &of_row, &zero);
        let pivot = self.sum(&only, &[2]);
        let none = self.compare_with("EQ", &pivot, 0.0);
        let one = self.like(1.0, &pivot);
        let pivot = self.select(&none, &one, &pivot);
        let pivot = self.broadcast(&pivot, &wide, &[0, 1]);
        let factor = self.binary("divide", &of_column, &pivot);
        let product = self.binary("multiply", &factor, &of_row);
        let rest = self.binary("subtract", rest, &product);
        let done = self.binary("or", &row, &column);
        [self.select(&done, &zero, &rest), rows, columns, size]
    }
}
