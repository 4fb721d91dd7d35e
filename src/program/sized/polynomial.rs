//! Sizes as polynomials of named sizes, found from values at several points.
//!
//! Law: arithmetic is exact; a polynomial that is found has the given values at all points, and the points are more
//! than its coefficients.

use crate::escape;
use std::fmt::Write;

/// The exponents of the named sizes in a product.
type Monomial = Vec<u8>;

/// A polynomial of named sizes with whole coefficients, divided by a number: `n * m + 1`, `n * (n - 1) / 2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Polynomial {
    /// The products with their coefficients, which are not 0.
    pub(super) terms: Vec<(Monomial, i64)>,
    pub(super) over: i64,
}

impl Polynomial {
    /// One of `names` named sizes.
    pub(super) fn of(name: usize, names: usize) -> Polynomial {
        Polynomial { terms: vec![((0..names).map(|k| u8::from(k == name)).collect(), 1)], over: 1 }
    }

    /// The value at these sizes; `None` if it is not a whole number or too large.
    pub(super) fn at(&self, sizes: &[usize]) -> Option<i64> {
        let mut sum = 0i128;
        for (monomial, coefficient) in &self.terms {
            sum = sum.checked_add(value(monomial, sizes)?.checked_mul(i128::from(*coefficient))?)?;
        }
        let over = i128::from(self.over);
        if sum % over == 0 { i64::try_from(sum / over).ok() } else { None }
    }

    /// Whether it is written without parentheses next to a factor.
    fn is_short(&self) -> bool {
        self.terms.len() == 1 && self.over == 1 && self.terms[0].1 > 0
    }

    /// The polynomial in words, in parentheses if it is more than a single product and stands `beside` a factor or a sign.
    pub(super) fn words(&self, names: &[&str], beside: bool) -> String {
        let names: Vec<_> = names.iter().map(|name| escape::name(name)).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let mut text = String::new();
        for (monomial, coefficient) in &self.terms {
            let mut factors: Vec<String> = Vec::new();
            for (name, exponent) in names.iter().zip(monomial) {
                match exponent {
                    0 => {}
                    1 => factors.push((*name).to_owned()),
                    _ => factors.push(format!("{name}^{exponent}")),
                }
            }
            if coefficient.unsigned_abs() != 1 || factors.is_empty() {
                factors.insert(0, coefficient.unsigned_abs().to_string());
            }
            let sign = match (text.is_empty(), *coefficient < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            let _ = write!(text, "{sign}{}", factors.join("*"));
        }
        if text.is_empty() {
            text.push('0');
        }
        if self.over != 1 {
            text =
                if self.terms.len() > 1 { format!("({text})/{}", self.over) } else { format!("{text}/{}", self.over) };
        }
        if beside && !self.is_short() { format!("({text})") } else { text }
    }
}

/// The product of sizes.
fn value(monomial: &[u8], sizes: &[usize]) -> Option<i128> {
    let mut product = 1i128;
    for (size, exponent) in sizes.iter().zip(monomial) {
        product = product.checked_mul(i128::try_from(*size).ok()?.checked_pow(u32::from(*exponent))?)?;
    }
    Some(product)
}

/// An exact quotient of whole numbers, with a positive denominator and no common factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fraction(i128, i128);

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

impl Fraction {
    fn new(above: i128, below: i128) -> Option<Fraction> {
        let common = gcd(above, below);
        if below == 0 {
            return None;
        }
        let sign = below.signum();
        Some(Fraction(sign * above / common, sign * below / common))
    }

    fn times(self, other: Fraction) -> Option<Fraction> {
        Fraction::new(self.0.checked_mul(other.0)?, self.1.checked_mul(other.1)?)
    }

    fn minus(self, other: Fraction) -> Option<Fraction> {
        let (a, b) = (self.0.checked_mul(other.1)?, other.0.checked_mul(self.1)?);
        Fraction::new(a.checked_sub(b)?, self.1.checked_mul(other.1)?)
    }
}

/// The sizes of one name in recordings: at the first, alone at the next two, and in those that check.
type Of = [usize; 3];

/// How many recordings find polynomials: one at the first sizes, one for each set of names that have their second
/// size, one for each name at its third size.
fn grid(names: usize) -> usize {
    (1 << names) + names
}

/// Finds polynomials of the named sizes from their values at [`points`]: differences find the coefficients, from those
/// of the longest products on.
pub(super) struct Fitting<'a> {
    points: &'a [Vec<usize>],
    names: usize,
}

impl Fitting<'_> {
    pub(super) fn new(points: &[Vec<usize>]) -> Fitting<'_> {
        Fitting { points, names: points.first().map_or(0, Vec::len) }
    }

    pub(super) fn points(&self) -> &[Vec<usize>] {
        self.points
    }

    /// The sizes of a name.
    fn of_name(&self, name: usize) -> Of {
        [0, 1 << name, (1 << self.names) + name].map(|point| self.points[point][name])
    }

    /// The polynomial with these values at all points.
    pub(super) fn of(&self, values: &[i64]) -> Option<Polynomial> {
        let found = self.on_grid(values)?;
        self.points.iter().zip(values).all(|(point, v)| found.at(point) == Some(*v)).then_some(found)
    }

    /// The polynomial with these values at the first points.
    fn on_grid(&self, values: &[i64]) -> Option<Polynomial> {
        let names = self.names;
        let mut rest: Vec<Fraction> = values.get(..grid(names))?.iter().map(|v| Fraction(i128::from(*v), 1)).collect();
        let mut terms: Vec<(Monomial, Fraction)> = Vec::new();
        let mut take = |rest: &mut Vec<Fraction>, monomial: Monomial, coefficient: Fraction| {
            for (rest, point) in rest.iter_mut().zip(self.points) {
                *rest = rest.minus(coefficient.times(Fraction(value(&monomial, point)?, 1))?)?;
            }
            if coefficient.0 != 0 {
                terms.push((monomial, coefficient));
            }
            Some(())
        };
        let mut sets: Vec<usize> = (0..1usize << names).filter(|set| set.count_ones() > 1).collect();
        crate::order::sort_by_key(&mut sets, |set| (std::cmp::Reverse(set.count_ones()), *set));
        for set in sets {
            let (mut difference, mut steps) = (Fraction(0, 1), Fraction(1, 1));
            for part in (0..=set).filter(|part| part & set == *part) {
                let sign = if (set.count_ones() - part.count_ones()) % 2 == 0 { -1 } else { 1 };
                difference = difference.minus(rest[part].times(Fraction(sign, 1))?)?;
            }
            for name in (0..names).filter(|name| set >> name & 1 == 1) {
                let [first, second, _] = self.of_name(name);
                steps = steps.times(Fraction::new(1, second as i128 - first as i128)?)?;
            }
            let monomial = (0..names).map(|name| (set >> name & 1) as u8).collect();
            take(&mut rest, monomial, difference.times(steps)?)?;
        }
        for (name, exponent) in (0..names).map(|name| (name, 2)).chain((0..names).map(|name| (name, 1))) {
            let [a, b, c] = self.of_name(name).map(|n| n as i128);
            let at = [0, 1 << name, (1 << names) + name];
            let slope = |x: usize, y: usize, from: i128, to: i128| {
                rest[at[y]].minus(rest[at[x]])?.times(Fraction::new(1, to - from)?)
            };
            let coefficient = match exponent {
                2 => slope(0, 2, a, c)?.minus(slope(0, 1, a, b)?)?.times(Fraction::new(1, c - b)?)?,
                _ => slope(0, 1, a, b)?,
            };
            take(&mut rest, (0..names).map(|k| if k == name { exponent } else { 0 }).collect(), coefficient)?;
        }
        let constant = rest[0];
        take(&mut rest, vec![0; names], constant)?;
        whole(terms)
    }
}

/// The polynomial with these coefficients.
fn whole(terms: Vec<(Monomial, Fraction)>) -> Option<Polynomial> {
    let mut over = 1i128;
    for (_, Fraction(_, below)) in &terms {
        over = over.checked_mul(below / gcd(over, *below))?;
    }
    let term = |(monomial, Fraction(above, below)): (Monomial, Fraction)| {
        Some((monomial, i64::try_from(above.checked_mul(over / below)?).ok()?))
    };
    let terms = terms.into_iter().map(term).collect::<Option<Vec<(Monomial, i64)>>>()?;
    Some(Polynomial { terms, over: i64::try_from(over).ok()? })
}

/// The points at which a program is recorded: those that find polynomials, one that checks them, and two with large
/// sizes that check them. Sizes are multiples of different primes, at least the least of their name, and not in
/// `taken`, so that no two sizes are equal by chance; some are odd and some even, as a quotient such as `n / 2` is a
/// polynomial on odd sizes alone.
pub(super) fn points(least: &[usize], taken: &[usize]) -> Vec<Vec<usize>> {
    /// A factor, and the least prime that it multiplies.
    const FROM: [(usize, usize); 6] = [(1, 23), (2, 13), (1, 23), (12, 5), (4, 251), (1, 10_007)];
    let names = least.len();
    let mut used: Vec<usize> = taken.to_vec();
    let mut size = |factor: usize, from: usize| {
        let is_prime = |n: usize| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
        let fits = |n: &usize| is_prime(*n) && !used.contains(n) && !used.contains(&(factor * n));
        let prime = (from..).find(fits).unwrap_or(from);
        used.extend([prime, factor * prime]);
        factor * prime
    };
    let sizes = FROM.map(|(factor, from)| {
        least.iter().map(|least| size(factor, from.max(least / factor + 1))).collect::<Vec<usize>>()
    });
    let [first, second, third, ..] = &sizes;
    let mut all: Vec<Vec<usize>> = Vec::with_capacity(grid(names) + 3);
    for set in 0..1usize << names {
        all.push((0..names).map(|name| if set >> name & 1 == 1 { second[name] } else { first[name] }).collect());
    }
    for name in 0..names {
        all.push((0..names).map(|k| if k == name { third[k] } else { first[k] }).collect());
    }
    all.extend_from_slice(&sizes[3..]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(points: &[Vec<usize>], f: impl Fn(&[i64]) -> i64) -> Vec<i64> {
        let at = |p: &Vec<usize>| f(&p.iter().map(|n| *n as i64).collect::<Vec<i64>>());
        points.iter().map(at).collect()
    }

    #[test]
    fn the_points_determine_polynomials_of_up_to_four_names() {
        for names in 1..=4 {
            let points = points(&vec![1; names], &[29, 31]);
            let fitting = Fitting::new(&points);
            let sum = fitting.of(&values(&points, |n| 2 * n.iter().sum::<i64>() - 7)).expect("an affine function");
            assert_eq!(sum.at(&vec![10; names]), Some(20 * names as i64 - 7));
            let product = fitting.of(&values(&points, |n| n.iter().product::<i64>() + n[0])).expect("a product");
            assert_eq!(product.at(&vec![3; names]), Some(3i64.pow(names as u32) + 3));
            let pairs = fitting.of(&values(&points, |n| n[0] * (n[0] - 1) / 2)).expect("a number of pairs");
            assert_eq!((pairs.at(&vec![4; names]), pairs.over), (Some(6), 2));
            assert_eq!(fitting.of(&values(&points, |n| n[0] / 2)), None);
            assert_eq!(fitting.of(&values(&points, |n| n[0].min(500))), None);
            assert_eq!(fitting.of(&values(&points, |n| n[0].ilog2().into())), None);
        }
    }

    #[test]
    fn polynomials_are_written_as_by_hand() {
        let points = points(&[1, 1], &[]);
        let fitting = Fitting::new(&points);
        let text = |f: fn(&[i64]) -> i64| fitting.of(&values(&points, f)).expect("one").words(&["n", "m"], false);
        assert_eq!(text(|n| 2 * n[0] + 1), "2*n + 1");
        assert_eq!(text(|n| n[0] * n[1] - 3), "n*m - 3");
        assert_eq!(text(|n| n[0] * (n[0] - 1) / 2), "(n^2 - n)/2");
        assert_eq!(text(|n| 5 - n[1]), "-m + 5");
    }
}
