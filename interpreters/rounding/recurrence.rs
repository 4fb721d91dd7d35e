//! Errors of linear recurrences and of prefix products.
//!
//! Law: as for their bounds, the error of the kernel is relative to the sum of the absolute values of all products that
//! add up to a value; the errors of factors and terms pass through the exact recurrence. A product that underflows has
//! an absolute error, which later factors multiply; a product of factors may do so before it multiplies a value.

use super::Rounding;
use super::kernel::{add, rounded, times};
use crate::base::BaseTensor;
use crate::interpreters::bounded::{Bounded, Span};
use crate::ops::{Call, Matrix, RECURRENCE_ERROR};

/// The errors of the recurrences along the rows of matrices with the factors `a` and the terms `b`; without terms, of the
/// prefix products of the factors.
pub(super) fn errors<T: Bounded>(a: &Rounding<T>, b: Option<&Rounding<T>>, transposed: bool) -> Vec<f64> {
    let op = if b.is_some() { Matrix::Recurrence { transposed } } else { Matrix::PrefixProduct };
    let operands: Vec<T> = [Some(a), b].into_iter().flatten().map(|x| x.value.clone()).collect();
    let y: Vec<Span> = T::call(&Call::Matrix(op), &operands).iter().flat_map(Bounded::spans).collect();
    let (shape, rank) = (a.shape(), a.shape().len());
    let (m, n) = (shape[rank - 2], shape[rank - 1]);
    let (factors, of_factors) = (a.magnitudes(), a.errors());
    let (mut sizes, mut errors) = (b.unwrap_or(a).magnitudes(), b.unwrap_or(a).errors());
    // The largest of the values so far, and the errors of what underflows.
    let (mut largest, mut lost) = (sizes.clone(), vec![0.0; sizes.len()]);
    let least = RECURRENCE_ERROR * a.kernel().least;
    for k in 0..y.len() {
        let k = if transposed { y.len() - 1 - k } else { k };
        let row = if transposed { m - 1 - k / n % m } else { k / n % m };
        if row == 0 {
            continue;
        }
        let before = if transposed { k + n } else { k - n };
        let at = if transposed { before } else { k };
        let passed = add(times(factors[at], errors[before]), times(of_factors[at], y[before].magnitude()));
        let size = times(factors[at], sizes[before]);
        (sizes[k], errors[k]) = match b {
            Some(_) => (add(sizes[k], size), add(errors[k], passed)),
            None => (size, passed),
        };
        lost[k] = add(times(factors[at], lost[before]), rounded(least * (2.0 + largest[before])));
        largest[k] = largest[before].max(sizes[k]);
    }
    let unit = 2.0 * a.kernel().unit;
    let own = |(k, e): (usize, f64)| {
        let row = if transposed { m - 1 - k / n % m } else { k / n % m };
        add(e, rounded(times(RECURRENCE_ERROR * row as f64 * unit, sizes[k]) + lost[k]))
    };
    errors.into_iter().enumerate().map(own).collect()
}
