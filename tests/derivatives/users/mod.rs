//! Programs as users write them, short, each with a checked result. `examples/` has those that are worth watching.

mod bundle;
mod intervals;
mod minimize;
mod ode;
mod process;

use polygrad::{Concrete, Tensor};

/// The solution of `a x = b` by elimination with pivots, in place of a linear algebra crate.
fn solve(a: &Tensor<Concrete, 2>, b: &Tensor<Concrete, 1>) -> Tensor<Concrete, 1> {
    let n = b.len();
    let mut rows: Vec<Vec<f64>> = a.to_vec().chunks(n).map(<[f64]>::to_vec).collect();
    rows.iter_mut().zip(b.to_vec()).for_each(|(row, b)| row.push(b));
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| rows[*i][k].abs().total_cmp(&rows[*j][k].abs())).expect("a row");
        rows.swap(k, pivot);
        let top = rows[k].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k] / top[k];
            row.iter_mut().zip(&top).for_each(|(x, t)| *x -= factor * t);
        }
    }
    Tensor::constant(rows.iter().enumerate().map(|(i, row)| row[n] / row[i]).collect::<Vec<f64>>())
}
