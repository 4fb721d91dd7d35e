//! Twins: two values of a group that one pass over the same operands computes.
//!
//! The sine and the cosine of an angle share its reduction. The parts of a complex product, `x y - z w` and
//! `x w + z y`, read their operands once: arrays that no cache holds come from memory once, and no pass waits for the
//! other.
//!
//! Law: a twin has the bits of its operations. A factor that is the negation of another value of the group, `-u` or
//! `-c t` next to `c t`, is replaced by that value, and the sum by a difference or vice versa, which rounds alike.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::Finder;
use crate::backend::ir::fusion::ValueId;
use crate::backend::tile::group::Twin;
use crate::ops::{Binary, Unary};

/// The two values of a twin.
#[derive(Clone, Debug)]
pub(super) struct TwinValues {
    pub(super) twin: Twin,
    pub(super) operands: SmallVec<[ValueId; 4]>,
    /// The results, in the order of the kernel.
    pub(super) values: [ValueId; 2],
    /// Values that are not computed: products, and factors that no other operation uses.
    pub(super) inside: SmallVec<[ValueId; 8]>,
}

impl TwinValues {
    /// The value that comes first in the group.
    pub(super) fn first(&self) -> ValueId {
        self.values[0].min(self.values[1])
    }
}

/// The sum or difference of two products `x y` and `z w`.
#[derive(Clone, Copy, Debug)]
struct TwoProducts {
    value: ValueId,
    /// Of a difference, the product that is subtracted comes second.
    factors: [[ValueId; 2]; 2],
    products: [ValueId; 2],
}

impl Finder<'_> {
    /// The twins of the group. Their values are absorbed by no superinstruction from here on.
    pub(super) fn pairs(&mut self) -> Vec<TwinValues> {
        let mut pairs = self.sines();
        pairs.extend(self.complex_products());
        for pair in &mut pairs {
            for v in pair.values {
                self.twins[v as usize] = true;
            }
            // The products do not use replaced factors any more.
            for product in std::mem::take(&mut pair.inside) {
                pair.inside.push(product);
                for factor in self.node(product).item.operands() {
                    if !pair.operands.contains(&factor) {
                        self.uses[factor as usize] -= 1;
                        if self.uses[factor as usize] == 0 && self.node(factor).stored.is_none() {
                            pair.inside.push(factor);
                        }
                    }
                }
            }
        }
        pairs
    }

    /// The pairs of a sine and a cosine of one angle.
    fn sines(&self) -> Vec<TwinValues> {
        let mut angles: HashMap<ValueId, [Option<ValueId>; 2]> = HashMap::new();
        let values = 0..self.nodes.len() as ValueId;
        for v in values.clone() {
            if let Some((op @ (Unary::Sin | Unary::Cos), x)) = self.unary(v) {
                angles.entry(x).or_default()[usize::from(op == Unary::Cos)] = Some(v);
            }
        }
        let pair = |v: ValueId| match self.unary(v) {
            Some((Unary::Sin, x)) => match angles[&x] {
                [Some(sine), Some(cosine)] if sine == v => Some([x, sine, cosine]),
                _ => None,
            },
            _ => None,
        };
        let of = |[x, sine, cosine]: [ValueId; 3]| TwinValues {
            twin: Twin::SinCos,
            operands: SmallVec::from_slice(&[x]),
            values: [sine, cosine],
            inside: SmallVec::new(),
        };
        values.filter_map(pair).map(of).collect()
    }

    /// The pairs of a difference `x y - z w` and a sum `x w + z y`.
    fn complex_products(&self) -> Vec<TwinValues> {
        let negated = self.negated();
        let mut differences: HashMap<[ValueId; 4], Vec<TwoProducts>> = HashMap::new();
        let mut sums: HashMap<[ValueId; 4], Vec<TwoProducts>> = HashMap::new();
        let mut keys = Vec::new();
        for v in 0..self.nodes.len() as ValueId {
            let Some((found, is_sum)) = self.two_products(v, &negated) else { continue };
            let [[x, y], [z, w]] = found.factors;
            let mut key = [x, y, z, w];
            key.sort_unstable();
            keys.push(key);
            (if is_sum { &mut sums } else { &mut differences }).entry(key).or_default().push(found);
        }
        let mut pairs = Vec::new();
        // In the order of the group, so that plans do not depend on hashes.
        for key in keys {
            let (Some(differences), Some(sums)) = (differences.remove(&key), sums.get_mut(&key)) else { continue };
            for difference in differences {
                let found = sums.iter().enumerate().find_map(|(k, sum)| Some((k, crossed(&difference, sum)?)));
                let Some((k, operands)) = found else { continue };
                let sum = sums.swap_remove(k);
                let values = [difference.value, sum.value];
                let inside = difference.products.into_iter().chain(sum.products).collect();
                let operands = SmallVec::from_slice(&operands);
                let pair = TwinValues { twin: Twin::ComplexProduct, operands, values, inside };
                // A factor that stands for another one may be computed after the first value.
                if pair.operands.iter().all(|v| *v < pair.first()) {
                    pairs.push(pair);
                }
            }
        }
        pairs
    }

    /// For each value that is the negation of another value of the group, that value.
    fn negated(&self) -> HashMap<ValueId, ValueId> {
        let values = 0..self.nodes.len() as ValueId;
        let scaled = |v: ValueId| {
            let (Binary::Mul, x, y) = self.binary(v)? else { return None };
            self.constant(x).map(|c| (c, y)).or_else(|| self.constant(y).map(|c| (c, x)))
        };
        let mut multiples: HashMap<(u64, ValueId), ValueId> = HashMap::new();
        for v in values.clone() {
            if let Some((c, x)) = scaled(v) {
                multiples.entry((c.to_bits(), x)).or_insert(v);
            }
        }
        let of = |v: ValueId| match self.unary(v) {
            Some((Unary::Neg, x)) => Some(x),
            _ => scaled(v).filter(|(c, _)| *c < 0.0).and_then(|(c, x)| multiples.get(&((-c).to_bits(), x)).copied()),
        };
        values.filter_map(|v| Some((v, of(v)?))).collect()
    }

    /// The factors of a product.
    fn factors(&self, v: ValueId) -> Option<[ValueId; 2]> {
        match (self.unary(v), self.binary(v)) {
            (Some((Unary::Square, x)), _) => Some([x, x]),
            (_, Some((Binary::Mul, x, y))) => Some([x, y]),
            (_, _) => None,
        }
    }

    /// A value as the sum (`true`) or difference of two products that no other operation uses.
    fn two_products(&self, v: ValueId, negated: &HashMap<ValueId, ValueId>) -> Option<(TwoProducts, bool)> {
        let (op @ (Binary::Add | Binary::Sub), a, b) = self.binary(v)? else { return None };
        if !self.is_free(a) || !self.is_free(b) {
            return None;
        }
        let mut is_negative = [false, op == Binary::Sub];
        let mut factors = [self.factors(a)?, self.factors(b)?];
        for (factors, is_negative) in factors.iter_mut().zip(&mut is_negative) {
            for factor in factors {
                if let Some(of) = negated.get(factor) {
                    (*factor, *is_negative) = (*of, !*is_negative);
                }
            }
        }
        if factors.as_flattened().iter().any(|factor| self.is_one(*factor)) {
            return None;
        }
        let products = [a, b];
        match is_negative {
            [false, false] => Some((TwoProducts { value: v, factors, products }, true)),
            [false, true] => Some((TwoProducts { value: v, factors, products }, false)),
            [true, false] => {
                let [first, second] = factors;
                Some((TwoProducts { value: v, factors: [second, first], products }, false))
            }
            [true, true] => None,
        }
    }
}

/// The operands `x`, `y`, `z`, `w` of a difference `x y - z w` and a sum `x w + z y`.
fn crossed(difference: &TwoProducts, sum: &TwoProducts) -> Option<[ValueId; 4]> {
    let sorted = |mut factors: [ValueId; 2]| {
        factors.sort_unstable();
        factors
    };
    let products = sum.factors.map(sorted);
    let [[x, y], [z, w]] = difference.factors;
    [[x, y, z, w], [y, x, z, w]].into_iter().find(|[x, y, z, w]| {
        let crossed = [sorted([*x, *w]), sorted([*z, *y])];
        products == crossed || products == [crossed[1], crossed[0]]
    })
}
