//! The dependences of linear recurrences and of prefix products.
//!
//! Law: a value depends on the factors and terms of its column up to its row alone; linearly on terms, if no factor
//! depends on inputs.

use super::{Pair, Sparsity};
use crate::base::BaseTensor;
use crate::shape::size;

/// The recurrences along the rows of matrices with the factors `a` and the terms `b`; without terms, the prefix products
/// of the factors.
pub(super) fn recurrence<T: BaseTensor>(a: &Sparsity<T>, b: Option<&Sparsity<T>>, transposed: bool) -> Sparsity<T> {
    let (rank, len) = (a.shape.len(), size(&a.shape));
    let (m, n) = (a.shape[rank - 2], a.shape[rank - 1]);
    let is_linear = a.known.is_some();
    Sparsity::made((&a.shape, a.dtype), [Some(a), b].into_iter().flatten(), |u| {
        let mut y: Vec<Pair> = (0..len).map(|k| b.unwrap_or(a).at(k)).collect();
        for k in 0..len {
            let k = if transposed { len - 1 - k } else { k };
            if k / n % m == if transposed { m - 1 } else { 0 } {
                continue;
            }
            let before = if transposed { k + n } else { k - n };
            let factor = a.at(if transposed { before } else { k });
            let product = if is_linear { y[before] } else { u.bent_both(factor, y[before]) };
            y[k] = if b.is_some() { u.both(y[k], product) } else { product };
        }
        y
    })
}
