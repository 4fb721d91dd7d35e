//! Affine expressions in mixed-radix digits of indices.
//!
//! Law: a [`DigitSum`] over the axes of a tensor is an integer for every index, without wrapping. The operations here are
//! those of the integers; the result is `None` if it is not a form or exceeds the limits.

use smallvec::SmallVec;

/// A form has at most this many digits.
const DIGITS: usize = 8;

/// The bound on the absolute value of every form, so that neither sums of two forms nor steps of views wrap.
const REACH: i128 = 1 << 58;

/// `(i div lower) mod extent`, for the index `i` along an axis of this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Digit {
    pub(crate) axis: usize,
    pub(crate) size: usize,
    pub(crate) lower: usize,
    /// The largest value of the digit, plus one.
    pub(crate) extent: usize,
}

impl Digit {
    /// The whole index.
    fn whole(axis: usize, size: usize) -> Digit {
        Digit { axis, size, lower: 1, extent: size }
    }

    /// Whether the `mod` has an effect: the index has higher digits.
    pub(crate) fn wraps(&self) -> bool {
        self.upper() < self.size
    }

    /// The place value of the next digit.
    pub(crate) fn upper(&self) -> usize {
        self.lower.saturating_mul(self.extent)
    }

    /// Remainder and quotient of this digit divided by `m`, if both are digits.
    fn split(&self, m: usize) -> Option<(Digit, Digit)> {
        if self.wraps() && !self.extent.is_multiple_of(m) {
            return None;
        }
        let low = Digit { extent: m, ..*self };
        Some((low, Digit { lower: self.lower.checked_mul(m)?, extent: self.extent.div_ceil(m), ..*self }))
    }
}

/// `constant + sum_k scale_k * digit_k`: sorted by digit, each digit at most once, no scale 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DigitSum {
    pub(crate) constant: i64,
    pub(crate) terms: SmallVec<[(Digit, i64); 2]>,
}

impl DigitSum {
    pub(crate) fn constant(constant: i64) -> Option<DigitSum> {
        DigitSum { constant, terms: SmallVec::new() }.normalized()
    }

    /// `constant + sum_k scales_k * i_k` over axes of these sizes.
    pub(crate) fn linear(shape: &[usize], scales: &[i64], constant: i64) -> Option<DigitSum> {
        let terms = shape.iter().zip(scales).enumerate().map(|(axis, (n, scale))| (Digit::whole(axis, *n), *scale));
        DigitSum { constant, terms: terms.collect() }.normalized()
    }

    /// The same form over the axes of a row, if the form does not depend on the outermost axis.
    pub(crate) fn of_rows(&self) -> Option<DigitSum> {
        let row = |(digit, scale): &(Digit, i64)| Some((Digit { axis: digit.axis.checked_sub(1)?, ..*digit }, *scale));
        Some(DigitSum { constant: self.constant, terms: self.terms.iter().map(row).collect::<Option<_>>()? })
    }

    /// A lower and an upper bound of the values; not every integer between the bounds need be a value.
    pub(crate) fn range(&self) -> (i64, i64) {
        let c = self.constant;
        self.terms.iter().fold((c, c), |(lo, hi), (digit, scale)| {
            let reach = scale * (digit.extent as i64 - 1);
            (lo + reach.min(0), hi + reach.max(0))
        })
    }

    pub(crate) fn plus(&self, other: &DigitSum) -> Option<DigitSum> {
        let terms = self.terms.iter().chain(&other.terms).copied().collect();
        DigitSum { constant: self.constant + other.constant, terms }.normalized()
    }

    pub(crate) fn times(&self, factor: i64) -> Option<DigitSum> {
        let terms: Option<SmallVec<[(Digit, i64); 2]>> =
            self.terms.iter().map(|(digit, scale)| Some((*digit, scale.checked_mul(factor)?))).collect();
        DigitSum { constant: self.constant.checked_mul(factor)?, terms: terms? }.normalized()
    }

    pub(crate) fn minus(&self, other: &DigitSum) -> Option<DigitSum> {
        self.plus(&other.times(-1)?)
    }

    /// Quotient and remainder by `d > 0`, rounded down, if both are forms.
    pub(crate) fn divided(&self, d: i64) -> Option<(DigitSum, DigitSum)> {
        (i128::from(d) <= REACH).then_some(())?;
        let mut quotient = DigitSum { constant: self.constant.div_euclid(d), terms: SmallVec::new() };
        let mut rest = DigitSum { constant: self.constant.rem_euclid(d), terms: SmallVec::new() };
        for (digit, scale) in &self.terms {
            if scale % d == 0 {
                quotient.terms.push((*digit, scale / d));
            } else {
                rest.terms.push((*digit, *scale));
            }
        }
        let within = |rest: &DigitSum| {
            let (lo, hi) = rest.range();
            0 <= lo && hi < d
        };
        if !within(&rest) {
            // The part of a digit that is a multiple of the divisor moves to the quotient.
            for (digit, scale) in &mut rest.terms {
                let m = d / gcd(scale.unsigned_abs(), d as u64) as i64;
                if digit.extent as i64 > m {
                    let (low, high) = digit.split(m as usize)?;
                    quotient.terms.push((high, (i128::from(*scale) * i128::from(m) / i128::from(d)) as i64));
                    *digit = low;
                }
            }
        }
        within(&rest).then_some(())?;
        Some((quotient.normalized()?, rest.normalized()?))
    }

    /// This form with the index along each axis `a` replaced by the form `index(a)`, whose values lie within that axis.
    pub(crate) fn substituted(&self, index: &dyn Fn(usize) -> Option<DigitSum>) -> Option<DigitSum> {
        let mut out = DigitSum::constant(self.constant)?;
        for (digit, scale) in &self.terms {
            let mut value = index(digit.axis)?;
            if digit.lower > 1 {
                value = value.divided(digit.lower as i64)?.0;
            }
            if digit.wraps() {
                value = value.divided(digit.extent as i64)?.1;
            }
            out = out.plus(&value.times(*scale)?)?;
        }
        Some(out)
    }

    /// The canonical form. Digits of one axis are split at each other's places and then merged, so that
    /// `i - 3 (i div 3)` is `i mod 3`.
    fn normalized(mut self) -> Option<DigitSum> {
        self.terms.retain(|(digit, scale)| *scale != 0 && digit.extent > 1);
        if self.terms.len() > 1 {
            self.refine();
            self.combine()?;
            while self.merge() {}
        }
        let reach = |(digit, scale): &(Digit, i64)| i128::from(*scale).abs() * digit.extent as i128;
        let reach = i128::from(self.constant).abs() + self.terms.iter().map(reach).sum::<i128>();
        (self.terms.len() <= DIGITS && reach <= REACH).then_some(self)
    }

    /// Splits each digit where another digit of the same axis begins or ends.
    fn refine(&mut self) {
        let mut k = 0;
        while k < self.terms.len() && self.terms.len() <= 4 * DIGITS {
            let (digit, scale) = self.terms[k];
            let others = self.terms.iter().filter(|(other, _)| other.axis == digit.axis);
            let place = others
                .flat_map(|(other, _)| [other.lower, other.upper()])
                .find(|place| digit.lower < *place && *place < digit.upper().min(digit.size));
            let parts = place.filter(|place| place.is_multiple_of(digit.lower)).and_then(|place| {
                let m = place / digit.lower;
                Some((digit.split(m)?, scale.checked_mul(m as i64)?))
            });
            match parts {
                Some(((low, high), above)) => {
                    self.terms[k].0 = low;
                    self.terms.push((high, above));
                }
                None => k += 1,
            }
        }
    }

    /// Sorts the terms, and adds the scales of equal digits.
    fn combine(&mut self) -> Option<()> {
        self.terms.sort_unstable();
        let mut sums: SmallVec<[(Digit, i64); 2]> = SmallVec::new();
        for (digit, scale) in &self.terms {
            match sums.last_mut() {
                Some((last, sum)) if last == digit => *sum = sum.checked_add(*scale)?,
                Some(_) | None => sums.push((*digit, *scale)),
            }
        }
        sums.retain(|(_, scale)| *scale != 0);
        self.terms = sums;
        Some(())
    }

    /// Merges one pair of adjacent digits, as in `(i mod 3) + 3 (i div 3) = i`; returns whether a pair was found.
    fn merge(&mut self) -> bool {
        for low in 0..self.terms.len() {
            let (a, scale) = self.terms[low];
            let above = scale.checked_mul(a.extent as i64);
            let next = |(b, s): &(Digit, i64)| b.axis == a.axis && b.lower == a.upper() && Some(*s) == above;
            if let Some(high) = self.terms.iter().position(next) {
                let (b, _) = self.terms.remove(high);
                let extent = (a.extent * b.extent).min(a.size.div_ceil(a.lower));
                let low = if high < low { low - 1 } else { low };
                self.terms[low].0.extent = extent;
                self.terms.sort_unstable();
                return true;
            }
        }
        false
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(form: &DigitSum, index: &[usize]) -> i64 {
        let digit = |(d, scale): &(Digit, i64)| scale * ((index[d.axis] / d.lower) % d.extent) as i64;
        form.constant + form.terms.iter().map(digit).sum::<i64>()
    }

    #[test]
    fn quotients_and_remainders_of_two_axes() {
        let sizes = [6, 4];
        let mut found = 0;
        for (a, b, c, d) in (0..5000).map(|k: i64| (k % 9 - 4, k / 9 % 9 - 4, k / 81 % 11 - 5, 1 + k / 891)) {
            let form = DigitSum::linear(&sizes, &[a, b], c).expect("small");
            let Some((quotient, remainder)) = form.divided(d) else { continue };
            found += 1;
            for index in (0..24).map(|k| [k / 4, k % 4]) {
                let x = value(&form, &index);
                assert_eq!(value(&quotient, &index), x.div_euclid(d), "{form:?} div {d}");
                assert_eq!(value(&remainder, &index), x.rem_euclid(d), "{form:?} mod {d}");
            }
        }
        assert!(found > 1000, "{found}");
    }

    /// Digits of digits: the higher ones wrap around before the lower ones are through, unless one divides the other.
    #[test]
    fn quotients_and_remainders_of_remainders() {
        let i = DigitSum::linear(&[24], &[1], 0).expect("small");
        let (mut found, mut none) = (0, 0);
        for (c, d, e) in (0..864).map(|k: i64| (k % 6, 1 + k / 6 % 12, 1 + k / 72)) {
            let Some((quotient, rest)) = i.plus(&DigitSum::constant(c).expect("small")).and_then(|x| x.divided(d))
            else {
                continue;
            };
            let at = |k: usize| (k as i64 + c).div_euclid(d);
            let of_rest = |k: usize| (k as i64 + c).rem_euclid(d);
            let pairs: [(&DigitSum, &dyn Fn(usize) -> i64); 2] = [(&quotient, &at), (&rest, &of_rest)];
            for (form, x) in pairs {
                let Some((again, low)) = form.divided(e) else {
                    none += 1;
                    continue;
                };
                found += 1;
                for k in 0..24 {
                    let both = [value(&again, &[k]), value(&low, &[k])];
                    assert_eq!(both, [x(k).div_euclid(e), x(k).rem_euclid(e)], "{form:?} by {e} at {k}");
                }
            }
        }
        assert!(found > 200 && none > 20, "{found} {none}");
    }

    /// The remainder of -1 is one less than the divisor, so that bounds of a remainder could wrap.
    #[test]
    fn divisors_are_within_reach() {
        let [below, from_zero] = [-1, 0].map(|c| DigitSum::linear(&[4], &[1], c).expect("small"));
        let most = i64::try_from(REACH).expect("small");
        for d in [most + 1, i64::MAX] {
            assert_eq!([below.divided(d), from_zero.divided(d)], [None, None]);
        }
        assert_eq!(below.divided(most), None);
        assert_eq!(from_zero.divided(most), Some((DigitSum::constant(0).expect("small"), from_zero)));
    }

    #[test]
    fn digits_put_together_are_the_index() {
        let i = DigitSum::linear(&[12], &[1], 0).expect("small");
        for d in 1..13 {
            let (quotient, remainder) = i.divided(d).expect("an index has digits");
            assert_eq!(quotient.times(d).and_then(|q| q.plus(&remainder)).as_ref(), Some(&i), "{d}");
            assert_eq!(quotient.times(-d).and_then(|q| q.plus(&i)), Some(remainder), "{d}");
        }
    }
}
