//! Products of the same factors and sums of like terms, whatever the order in which these are written. Derivatives of
//! products have many such products and terms, and derivatives of higher order have more.
//!
//! Law: the order of products and of sums counts as rounding, see [`order`](super::order).

use smallvec::SmallVec;

use super::{like, multiple, negated, scaled};
use crate::dtype::DType;
use crate::ops::{Binary, Unary};
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

/// mul_no_nan(mul_no_nan(x, y), z) = mul_no_nan(x, mul_no_nan(y, z)), where the latter exists already; and the same for
/// more factors and for multiples by moderate numbers, which are positive where the sign of zero is seen
pub(super) fn product_again(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let product = b.factors(op)?;
    let (id, number) = b.product(&product.of)?;
    let exact = (product.number > 0.0 && number > 0.0) || b.is_sign_unseen();
    let c = product.number / number;
    exact.then(|| if c == 1.0 { id } else { multiple(b, c, id) })
}

/// A term of a sum, as a multiple of a value.
#[derive(Clone, Copy)]
struct Summand {
    /// The value that is added or subtracted.
    id: NodeId,
    minus: bool,
    /// The value is `c * of`.
    c: f64,
    of: NodeId,
}

impl Summand {
    /// The coefficient of `of` in the sum.
    fn signed(&self) -> f64 {
        if self.minus { -self.c } else { self.c }
    }

    fn is_multiple(&self) -> bool {
        self.id != self.of
    }
}

/// The largest number of terms that are compared.
const TERMS: usize = 8;

/// The operands of a sum or difference, and whether each is subtracted.
fn operands(op: &Op<NodeId>) -> Option<[(NodeId, bool); 2]> {
    if let Op::Binary(f @ (Binary::Add | Binary::Sub), x, y) = *op {
        return Some([(x, false), (y, f == Binary::Sub)]);
    }
    None
}

/// The terms of a sum, and those of inner sums that have no other use.
fn terms(b: &Builder, op: &Op<NodeId>) -> Option<SmallVec<[Summand; TERMS]>> {
    let mut found = SmallVec::new();
    let mut pending: SmallVec<[(NodeId, bool); TERMS]> = operands(op)?.into_iter().rev().collect();
    while let Some((id, minus)) = pending.pop() {
        let inner = operands(&b.node(id).op).filter(|_| b.once(id) && found.len() + pending.len() + 2 <= TERMS);
        if let Some([x, y]) = inner {
            pending.extend([(y.0, y.1 != minus), (x.0, x.1 != minus)]);
            continue;
        }
        let (c, of) = scaled(b, id).or_else(|| negated(b, id).map(|x| (-1.0, x))).unwrap_or((1.0, id));
        found.push(Summand { id, minus, c, of });
    }
    Some(found)
}

/// c * x + y + d * x = (c + d) * x + y for numbers c, d of one sign, where the inner sum has no other use, and where
/// one of the multiples has no other use or both are one value; and the same for differences and for more terms. Multiples of
/// plain products stay, because the derivative of the next order has the same multiples
pub(super) fn like_terms_apart(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let mut all = terms(b, op)?;
    let saves = |p: &Summand, q: &Summand| {
        let own = |t: &Summand| t.is_multiple() && b.once(t.id);
        if p.id == q.id { p.is_multiple() } else { own(p) || own(q) }
    };
    let fits = |p: &Summand, q: &Summand| {
        let plain = matches!(b.node(p.of).op, Op::Binary(Binary::Mul, ..) | Op::Unary(Unary::Square, _));
        let (c, d) = (p.signed(), q.signed());
        p.of == q.of && c * d > 0.0 && (c + d).is_finite() && !plain && saves(p, q)
    };
    let find = |j: usize| (0..j).find(|i| fits(&all[*i], &all[j])).map(|i| (i, j));
    let (i, j) = (0..all.len()).find_map(find)?;
    let other = all.remove(j);
    let mut both = all.remove(i);
    let c = both.signed() + other.signed();
    // A sum starts with a term that is added: the negative multiple, if all others are subtracted.
    let start = all.iter().position(|t| !t.minus);
    both.minus = c < 0.0 && start.is_some();
    both.id = multiple(b, if both.minus { -c } else { c }, both.of);
    match start.filter(|_| both.minus) {
        Some(k) => {
            let start = all.remove(k);
            all.insert(0, both);
            all.insert(0, start);
        }
        None => all.insert(0, both),
    }
    let sum = |sum, t: &Summand| {
        let f = if t.minus { Binary::Sub } else { Binary::Add };
        like(b, Op::Binary(f, sum, t.id), t.id)
    };
    Some(all[1..].iter().fold(all[0].id, sum))
}
