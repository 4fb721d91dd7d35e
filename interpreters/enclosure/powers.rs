//! Powers of one value that a program computes by products, such as `x x^2 x^4`: the bounds are those of the power.
//!
//! Law: as for every operation, an element contains the exact power and what arrays compute, by products in any order.

use std::rc::Rc;

use super::interval::Interval;
use super::{Cell, Elements, Enclosure};
use crate::dtype::DType;
use crate::ops::POSITIVE;

/// A value that is a power of another one, by identity.
#[derive(Clone, Debug)]
pub(super) struct Power {
    base: Rc<[Interval]>,
    n: u32,
}

/// The largest exponent for which bounds are computed.
const MOST: u32 = 256;

impl Power {
    fn one(base: &Rc<[Interval]>) -> Power {
        Power { base: base.clone(), n: 1 }
    }

    /// The product of two powers of one value.
    fn times(&self, other: &Power) -> Option<Power> {
        let n = self.n + other.n;
        (Rc::ptr_eq(&self.base, &other.base) && n <= MOST).then(|| Power { base: self.base.clone(), n })
    }

    /// The bounds, where `products` are those of the last product.
    fn bounds(&self, products: &mut [Interval], dtype: DType) {
        for (x, product) in self.base.iter().zip(products) {
            let power = power(*x, self.n, dtype);
            let (lo, hi) = (power.lo.max(product.lo), power.hi.min(product.hi));
            if lo <= hi {
                // No factor is 0 where another one is infinite.
                *product = Interval { lo, hi, nan: x.nan };
            }
        }
    }
}

impl Enclosure {
    /// The value as a power; a value that is not a product is its first power.
    fn as_power(&self) -> Option<Power> {
        let first = || if let Elements::Floats(v) = &self.of { Some(Power::one(v)) } else { None };
        self.power.clone().or_else(first)
    }

    /// The product of two values with these bounds, which are narrower if both are powers of one value.
    pub(super) fn product(&self, other: &Enclosure, mut products: Vec<Interval>) -> Enclosure {
        let power = self.as_power().zip(other.as_power()).and_then(|(a, b)| a.times(&b));
        // The bounds of a square are those of the product of a value and itself.
        if let Some(power) = power.as_ref().filter(|power| power.n > 2) {
            power.bounds(&mut products, self.dtype);
        }
        Enclosure { power, ..self.floats(self.dtype, products) }
    }
}

/// `x^n`, where each of the products is rounded.
fn power(x: Interval, n: u32, dtype: DType) -> Interval {
    let at = |x: f64| {
        let exact = (1..n).fold(Interval::point(x), |power, _| power.times(Interval::point(x), DType::F64));
        // A step is at least the rounding error of a product, relative to it; the others are for products of errors.
        exact.widened(2 * n, dtype)
    };
    if n % 2 == 1 {
        return Interval { lo: at(x.lo).lo, hi: at(x.hi).hi, nan: x.nan };
    }
    let [least, largest] = x.magnitudes();
    Interval { lo: at(least).lo, hi: at(largest).hi, nan: x.nan }.within(POSITIVE)
}
