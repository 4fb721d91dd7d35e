//! Bounds of linear recurrences and of prefix products.
//!
//! Law: a kernel may multiply several factors before it multiplies with the value before them, so the error of a value
//! is bounded relative to the sum of the absolute values of all products that add up to the value.

use super::interval::{Interval, OutwardSum};
use super::{Cell, Elements, Enclosure};
use crate::dtype::DType;
use crate::ops::RECURRENCE_ERROR;
use crate::shape::size;

/// The recurrences along the rows of matrices with the factors `a` and the terms `b`; without terms, the prefix products
/// of the factors.
pub(super) fn recurrence(a: &Enclosure, b: Option<&Enclosure>, transposed: bool) -> Enclosure {
    let (rank, len, dtype) = (a.shape.len(), size(&a.shape), a.dtype);
    let (m, n) = (a.shape[rank - 2], a.shape[rank - 1]);
    let epsilon = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let factors = a.as_floats();
    let mut y: Vec<Interval> = b.unwrap_or(a).as_floats().to_vec();
    let mut magnitudes: Vec<f64> = y.iter().map(|y| y.magnitudes()[1]).collect();
    for k in 0..len {
        let k = if transposed { len - 1 - k } else { k };
        let row = if transposed { m - 1 - k / n % m } else { k / n % m };
        if row == 0 {
            continue;
        }
        let before = if transposed { k + n } else { k - n };
        let factor = factors[if transposed { before } else { k }];
        let product = factor.times(y[before], dtype);
        let magnitude = factor.magnitudes()[1] * magnitudes[before];
        let mut sum = OutwardSum::default();
        Interval::add(&mut sum, product);
        magnitudes[k] = if b.is_some() { magnitudes[k] + magnitude } else { magnitude };
        if b.is_some() {
            Interval::add(&mut sum, y[k]);
        }
        let error = RECURRENCE_ERROR * row as f64 * epsilon * magnitudes[k];
        sum.blur(if error.is_finite() { error } else { f64::INFINITY });
        y[k] = Interval::total(&sum, dtype);
    }
    Enclosure::of(&a.shape, dtype, Elements::Floats(y.into()))
}
