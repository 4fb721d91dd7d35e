//! Facts about guarded products, which derivatives consist of: the factors of each product, in canonical order.
//!
//! Law: guarded products of the same factors are equal up to rounding, as long as intermediate results are in range: 0
//! where a factor is 0, and otherwise NaN or infinite where a factor is.

use smallvec::SmallVec;

use super::{Constant, NodeId, Op};
use crate::hash::Table;
use crate::ops::{Binary, Unary};
use crate::program::Node;

/// The factors of a product by increasing number, each with its exponent.
pub(crate) type Factors = SmallVec<[(NodeId, u32); 4]>;

/// A product: a number times some factors.
#[derive(Clone, Debug)]
pub(crate) struct Multiple {
    pub(crate) number: f64,
    pub(crate) of: Factors,
}

/// The largest number of different factors of a product that is compared with others.
const MOST: usize = 6;

/// The largest exponent of a factor.
const HIGHEST: u32 = 64;

/// The range of the numbers before products.
const MODERATE: std::ops::RangeInclusive<f64> = 1.0 / 65536.0..=65536.0;

/// The products of a builder. Both tables are only looked up.
#[derive(Default)]
pub(crate) struct Products {
    multiples: Table<NodeId, Multiple>,
    values: Table<Factors, NodeId>,
}

/// The number and the value it is multiplied with, if the operation is such a product.
fn scaled(nodes: &[Node], op: &Op<NodeId>) -> Option<(f64, NodeId)> {
    if let Op::Unary(Unary::Neg, x) = op {
        return Some((-1.0, *x));
    }
    let Op::Binary(Binary::Mul, c, x) = op else { return None };
    let Op::Constant(Constant(c)) = &nodes[*c as usize].op else { return None };
    Some((c.splat::<f64>().or_else(|| c.splat::<f32>().map(f64::from))?, *x))
}

impl Products {
    /// A value as a product; any other value is the product of itself alone.
    fn multiple(&self, nodes: &[Node], id: NodeId) -> Multiple {
        if let Some(multiple) = self.multiples.get(&id) {
            return multiple.clone();
        }
        let (number, id) = scaled(nodes, &nodes[id as usize].op).unwrap_or((1.0, id));
        Multiple { number, of: [(id, 1)].into_iter().collect() }
    }

    /// An operation as a number times two or more factors, if it is a product of few.
    pub(crate) fn factors(&self, nodes: &[Node], op: &Op<NodeId>) -> Option<Multiple> {
        let product = if let Some((number, x)) = scaled(nodes, op) {
            let Multiple { number: c, of } = self.multiples.get(&x)?.clone();
            Multiple { number: c * number, of }
        } else if let Op::Binary(Binary::MulNoNan, x, y) = *op {
            let (mut product, other) = (self.multiple(nodes, x), self.multiple(nodes, y));
            product.number *= other.number;
            for (id, n) in other.of {
                match product.of.binary_search_by_key(&id, |(id, _)| *id) {
                    Ok(k) => product.of[k].1 += n,
                    Err(k) => product.of.insert(k, (id, n)),
                }
            }
            product
        } else {
            return None;
        };
        let few = product.of.len() <= MOST && product.of.iter().all(|(_, n)| *n <= HIGHEST);
        (few && MODERATE.contains(&product.number.abs())).then_some(product)
    }

    /// Records an operation that was made. The first product of its factors that is used stands for all.
    pub(crate) fn push(&mut self, nodes: &[Node], id: NodeId, is_used: &dyn Fn(NodeId) -> bool) {
        if let Some(multiple) = self.factors(nodes, &nodes[id as usize].op) {
            let value = self.values.entry(multiple.of.clone()).or_insert(id);
            if !is_used(*value) {
                *value = id;
            }
            self.multiples.insert(id, multiple);
        }
    }

    /// The value recorded for these factors, and the number by which it is a multiple of them.
    pub(crate) fn find(&self, factors: &Factors) -> Option<(NodeId, f64)> {
        let id = *self.values.get(factors)?;
        Some((id, self.multiples.get(&id)?.number))
    }
}
