//! Superinstructions: several operations of a group that one pass over a tile computes.
//!
//! The cost of a cheap operation is that of its reads and writes of the first-level cache, so a sum of two products
//! with a pass for each operation costs three times the minimum. The selection visits the operations of a group from
//! the last to the first; each is computed by the largest form of the table, or sum with weights, that applies.
//! A product whose sum is one element is computed by that sum. Before, values that are computed from the same operands
//! in one pass are found (`twins`).
//!
//! Law: a value is absorbed only if one operation of the group uses it, and it is not stored. A superinstruction has
//! the bits of the operations that it stands for.

#[cfg(test)]
mod tests;
mod twins;

use std::cmp::Reverse;
use std::collections::HashMap;

use smallvec::SmallVec;

use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::{FusedNode, FusedOp, GroupNode, ValueId};
use crate::backend::ir::step::BufferId;
use crate::backend::tile::group::{TileNode, TileOp, Weight, Weights};
use crate::kernels::elementwise::{Form, MAX_TERMS};
use crate::ops::{Binary, Property, Unary};
use twins::TwinValues;

/// A pattern of operations on the operands of a form.
enum Tree {
    /// The operand of this number. An operand that the kernel takes as a slice must not be broadcast.
    Leaf(usize),
    Unary(Unary, &'static Tree),
    Binary(Binary, &'static Tree, &'static Tree),
}

/// A row of the table: a form, and the operations that it stands for.
struct Rule {
    form: Form,
    tree: Tree,
}

const X: Tree = Tree::Leaf(0);
const Y: Tree = Tree::Leaf(1);
const Z: Tree = Tree::Leaf(2);
const W: Tree = Tree::Leaf(3);

macro_rules! rules {
    ($($form:ident: $outer:ident($($arg:tt)*);)*) => {
        &[$( Rule { form: Form::$form, tree: rules!(@ $outer $($arg)*) }, )*]
    };
    (@ Add $a:tt $b:tt) => { Tree::Binary(Binary::Add, &rules!(@@ $a), &rules!(@@ $b)) };
    (@ Sub $a:tt $b:tt) => { Tree::Binary(Binary::Sub, &rules!(@@ $a), &rules!(@@ $b)) };
    (@ Mul $a:tt $b:tt) => { Tree::Binary(Binary::Mul, &rules!(@@ $a), &rules!(@@ $b)) };
    (@ Div $a:tt $b:tt) => { Tree::Binary(Binary::Div, &rules!(@@ $a), &rules!(@@ $b)) };
    (@ Max $a:tt $b:tt) => { Tree::Binary(Binary::Max, &rules!(@@ $a), &rules!(@@ $b)) };
    (@ $op:ident $a:tt) => { Tree::Unary(Unary::$op, &rules!(@@ $a)) };
    (@@ ($op:ident $($arg:tt)*)) => { rules!(@ $op $($arg)*) };
    (@@ $leaf:ident) => { $leaf };
}

/// The table, in the order of preference among forms of one size.
const RULES: &[Rule] = rules! {
    TwoProductsSum: Add((Mul X Y) (Mul Z W));
    TwoProductsDifference: Sub((Mul X Y) (Mul Z W));
    MulAdd: Add((Mul X Y) Z);
    MulSub: Sub((Mul X Y) Z);
    SubMul: Sub(Z (Mul X Y));
    MulMul: Mul((Mul X Y) Z);
    SumMul: Mul((Add X Y) Z);
    DifferenceMul: Mul((Sub X Y) Z);
    RestMul: Mul((Sub Y X) Z);
    Add3: Add((Add X Y) Z);
    DifferenceSquare: Square((Sub X Y));
    // The square of the negation has the same bits.
    DifferenceSquare: Square((Sub Y X));
    DifferenceExp: Exp((Sub X Y));
    MaxAbs: Max((Abs X) (Abs Y));
    DivDiv: Div((Div X Y) Z);
};

/// Counts of the cheap elementwise operations of an executable, and of its superinstructions; each computes several
/// operations in one pass over its operands. In code for scalars, a sum or difference with a product is a
/// superinstruction.
///
/// ```
/// use polygrad::backend::compile;
/// use polygrad::{Function, Tensor};
/// // A product and a sum, which one superinstruction computes.
/// let f = Function::stage(|x: &Tensor<_, 1>| x * 2.0 + 1.0, &Tensor::linspace(0.0, 1.0, 100));
/// let found = compile(f.optimized()).superinstructions();
/// assert_eq!((found.cheap, found.inside, found.count), (2, 2, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Superinstructions {
    /// The number of operations whose arithmetic costs less than their reads and writes: sums, products, squares, ..
    pub cheap: usize,
    /// The number of cheap operations that superinstructions compute.
    pub inside: usize,
    /// The number of superinstructions.
    pub count: usize,
}

/// Whether the arithmetic of an operation costs less than its reads and writes.
fn is_cheap(node: &FusedNode) -> bool {
    let FusedOp::Elementwise(op) = node.item else { return false };
    match op {
        ElementwiseOp::Binary(op, ..) => op.is(Property::Arithmetic),
        ElementwiseOp::Unary(op, _) => op.is(Property::Arithmetic),
        ElementwiseOp::Compare(..) | ElementwiseOp::IntUnary(..) | ElementwiseOp::IntBinary(..) => false,
        ElementwiseOp::And(..) | ElementwiseOp::Or(..) | ElementwiseOp::Not(_) => false,
        ElementwiseOp::FloatStep(..) | ElementwiseOp::Convert(..) | ElementwiseOp::Select(_) => false,
    }
}

/// Selects superinstructions for the operations of a group. `number` gives the values of elements that are known at
/// compile time.
pub(crate) fn fuse(
    nodes: Vec<FusedNode>,
    number: &dyn Fn(BufferId, usize) -> Option<f64>,
) -> (Vec<GroupNode<TileNode>>, Superinstructions) {
    let mut counts =
        Superinstructions { cheap: nodes.iter().filter(|node| is_cheap(node)).count(), ..Superinstructions::default() };
    let mut finder = Finder::new(&nodes, number);
    let pairs = finder.pairs();
    let mut absorbed = vec![false; nodes.len()];
    for pair in &pairs {
        pair.inside.iter().for_each(|v| absorbed[*v as usize] = true);
        let values = pair.values.iter().chain(&pair.inside);
        counts.inside += values.filter(|v| is_cheap(&nodes[**v as usize])).count();
        counts.count += 1;
    }
    let pairs: HashMap<usize, &TwinValues> =
        pairs.iter().flat_map(|pair| pair.values.map(|v| (v as usize, pair))).collect();
    let mut found: HashMap<usize, TileOp<ValueId>> = HashMap::new();
    for k in (0..nodes.len()).rev() {
        if !absorbed[k]
            && !pairs.contains_key(&k)
            && let Some(FormCandidate { item, inside, .. }) = finder.best(k)
        {
            let cheap = inside.iter().filter(|v| is_cheap(&nodes[**v as usize])).count();
            counts.inside += cheap + usize::from(is_cheap(&nodes[k]));
            counts.count += 1;
            inside.iter().for_each(|v| absorbed[*v as usize] = true);
            found.insert(k, item);
        }
    }
    let mut out: Vec<GroupNode<TileNode>> = Vec::with_capacity(nodes.len());
    let mut new: Vec<ValueId> = vec![0; nodes.len()];
    let stored_at: Vec<Option<BufferId>> = nodes.iter().map(|node| node.stored).collect();
    for (k, FusedNode { item, dtype, stored }) in nodes.into_iter().enumerate() {
        if absorbed[k] {
            continue;
        }
        let at = out.len() as ValueId;
        match pairs.get(&k) {
            // The first of the two values of a pair computes both.
            Some(pair) if pair.first() as usize != k => {}
            Some(pair) => {
                let stored = pair.values.map(|v| stored_at[v as usize]);
                for (v, place) in pair.values.into_iter().zip(at..) {
                    new[v as usize] = place;
                }
                let args = pair.operands.iter().map(|v| new[*v as usize]).collect();
                let item = TileNode::Op(TileOp::Twin(pair.twin, args, at + 1));
                out.push(GroupNode { item, dtype, stored: stored[0] });
                out.push(GroupNode { item: TileNode::Second(at), dtype, stored: stored[1] });
            }
            None => {
                new[k] = at;
                let item = found.remove(&k).unwrap_or(TileOp::Lowered(item)).map(|v| new[v as usize]);
                out.push(GroupNode { item: TileNode::Op(item), dtype, stored });
            }
        }
    }
    (out, counts)
}

/// A superinstruction that may be selected, and the values that it absorbs.
struct FormCandidate {
    item: TileOp<ValueId>,
    inside: SmallVec<[ValueId; 8]>,
    /// The number of passes that it saves.
    gain: usize,
    /// The number of operands that are copied for each tile, since the kernel takes slices: views of one element in a
    /// row.
    copied: usize,
}

/// A partial match of a pattern: its operands, and the values it absorbs.
#[derive(Clone, Default)]
struct Match {
    leaves: [Option<ValueId>; 4],
    inside: SmallVec<[ValueId; 8]>,
}

struct Finder<'a> {
    nodes: &'a [FusedNode],
    uses: Vec<u32>,
    /// For each value, whether it is one of the results of a twin, which is computed by that alone.
    twins: Vec<bool>,
    number: &'a dyn Fn(BufferId, usize) -> Option<f64>,
}

impl<'a> Finder<'a> {
    fn new(nodes: &'a [FusedNode], number: &'a dyn Fn(BufferId, usize) -> Option<f64>) -> Finder<'a> {
        let mut uses = vec![0; nodes.len()];
        for v in nodes.iter().flat_map(|node| node.item.operands()) {
            uses[v as usize] += 1;
        }
        Finder { nodes, uses, twins: vec![false; nodes.len()], number }
    }

    fn node(&self, v: ValueId) -> &'a FusedNode {
        &self.nodes[v as usize]
    }

    /// Whether a value has one use, is not stored, and is not a result of a twin.
    fn is_free(&self, v: ValueId) -> bool {
        self.uses[v as usize] == 1 && self.node(v).stored.is_none() && !self.twins[v as usize]
    }

    /// The unary operation that computes a value, and its operand.
    fn unary(&self, v: ValueId) -> Option<(Unary, ValueId)> {
        if let FusedOp::Elementwise(ElementwiseOp::Unary(op, a)) = self.node(v).item { Some((op, a)) } else { None }
    }

    /// The binary operation that computes a value, and its operands.
    fn binary(&self, v: ValueId) -> Option<(Binary, ValueId, ValueId)> {
        let FusedOp::Elementwise(ElementwiseOp::Binary(op, a, b)) = self.node(v).item else { return None };
        Some((op, a, b))
    }

    fn is_one(&self, v: ValueId) -> bool {
        matches!(self.node(v).item, FusedOp::One(..))
    }

    fn constant(&self, v: ValueId) -> Option<f64> {
        if let FusedOp::One(buf, at) = &self.node(v).item { (self.number)(*buf, *at) } else { None }
    }

    /// The superinstruction with the result of this operation that saves most passes.
    fn best(&self, k: usize) -> Option<FormCandidate> {
        if let FusedOp::Add(buf, access, v) = &self.nodes[k].item {
            return self.sum_of_products(*buf, access.constant()?, *v);
        }
        if !matches!(self.nodes[k].item, FusedOp::Elementwise(ElementwiseOp::Unary(..) | ElementwiseOp::Binary(..))) {
            return None;
        }
        let mut best: Option<FormCandidate> = None;
        let forms = RULES.iter().filter_map(|rule| self.form(rule, k as ValueId));
        for found in forms.chain(self.weighted(k as ValueId)) {
            let rank = |candidate: &FormCandidate| (candidate.gain, Reverse(candidate.copied));
            if best.as_ref().is_none_or(|best| rank(best) < rank(&found)) {
                best = Some(found);
            }
        }
        best
    }

    /// The sum of a product to one element.
    fn sum_of_products(&self, buf: BufferId, at: usize, product: ValueId) -> Option<FormCandidate> {
        let factors = match (self.unary(product), self.binary(product)) {
            (Some((Unary::Square, x)), _) => [x, x],
            (_, Some((Binary::Mul, x, y))) => [x, y],
            (_, _) => return None,
        };
        let suits = self.is_free(product) && !factors.iter().any(|factor| self.is_one(*factor));
        let item = TileOp::AddProducts(buf, at, factors);
        suits.then(|| FormCandidate { item, inside: SmallVec::from_slice(&[product]), gain: 1, copied: 0 })
    }

    fn form(&self, rule: &Rule, v: ValueId) -> Option<FormCandidate> {
        let found = self.matches(rule, &rule.tree, v, true, Match::default())?;
        let leaves: SmallVec<[ValueId; 4]> = found.leaves.iter().map_while(|leaf| *leaf).collect();
        // The operand of a square counts as one use, though it is both factors.
        if leaves.iter().any(|leaf| found.inside.contains(leaf)) {
            return None;
        }
        let (gain, copied) = (found.inside.len(), self.copied(rule, &found));
        Some(FormCandidate { item: TileOp::Form(rule.form, leaves), inside: found.inside, gain, copied })
    }

    /// The number of operands of a match that the kernel takes as slices, though each tile of them may be one element.
    fn copied(&self, rule: &Rule, found: &Match) -> usize {
        let slices = found.leaves.iter().take(rule.form.slices()).flatten();
        slices
            .filter(|v| matches!(&self.node(**v).item, FusedOp::View(_, access) if access.inner_stride() == 0))
            .count()
    }

    /// Extends a match by a subtree of the pattern at a value.
    fn matches(&self, rule: &Rule, tree: &Tree, v: ValueId, is_last: bool, mut found: Match) -> Option<Match> {
        let operation = |mut found: Match| {
            if is_last {
                return Some(found);
            }
            found.inside.push(v);
            self.is_free(v).then_some(found)
        };
        match tree {
            Tree::Leaf(k) => {
                let suits = *k >= rule.form.slices() || !self.is_one(v);
                let leaf = found.leaves[*k].get_or_insert(v);
                (*leaf == v && suits).then_some(found)
            }
            Tree::Unary(op, a) => {
                let (own, x) = self.unary(v)?;
                if *op == own { self.matches(rule, a, x, false, operation(found)?) } else { None }
            }
            Tree::Binary(op, a, b) => {
                let found = operation(found)?;
                let both = |x: ValueId, y: ValueId| {
                    let found = self.matches(rule, a, x, false, found.clone())?;
                    self.matches(rule, b, y, false, found)
                };
                if let (Some((Unary::Square, x)), Binary::Mul) = (self.unary(v), op) {
                    return both(x, x);
                }
                let (own, x, y) = self.binary(v)?;
                if *op != own {
                    return None;
                }
                let exchanged = || if let Binary::Add | Binary::Mul = op { both(y, x) } else { None };
                let Some(found) = both(x, y) else { return exchanged() };
                let copied = self.copied(rule, &found);
                let better = if copied > 0 { exchanged() } else { None };
                Some(better.filter(|better| self.copied(rule, better) < copied).unwrap_or(found))
            }
        }
    }

    /// The weight that is a broadcast element.
    fn weight(&self, v: ValueId) -> Option<Weight> {
        let FusedOp::One(buf, at) = self.node(v).item else { return None };
        Some((self.number)(buf, at).map_or(Weight::Read { buf, at, sign: 1.0 }, Weight::Known))
    }

    /// The longest sum with weights whose result is this value.
    fn weighted(&self, v: ValueId) -> Option<FormCandidate> {
        let mut inside: SmallVec<[ValueId; 8]> = SmallVec::new();
        // From the last term to the first.
        let mut terms: SmallVec<[(ValueId, Weight); MAX_TERMS]> = SmallVec::new();
        let (mut sum, mut constant) = (v, None);
        while let Some((before, last, sign)) = self.sum(sum) {
            // A constant term is the first summand, so it ends the search.
            let numbers = [before, last].map(|v| self.constant(v));
            match numbers {
                [Some(c), None] => {
                    terms.push(self.term(last, sign, &mut inside));
                    constant = Some(c);
                }
                [None, Some(c)] => {
                    terms.push(self.term(before, 1.0, &mut inside));
                    constant = Some(sign * c);
                }
                [None, None] if self.is_sum(before) && terms.len() + 2 < MAX_TERMS => {
                    terms.push(self.term(last, sign, &mut inside));
                    inside.push(before);
                    sum = before;
                    continue;
                }
                [None, None] => {
                    terms.push(self.term(last, sign, &mut inside));
                    terms.push(self.term(before, 1.0, &mut inside));
                }
                [Some(_), Some(_)] => return None,
            }
            break;
        }
        if terms.iter().any(|(term, _)| self.is_one(*term)) {
            return None;
        }
        // A form would absorb a term that is a product of two values, together with one of the sums: that saving is
        // lost.
        let products = terms.iter().filter(|(term, _)| self.is_product(*term)).count();
        let gain = inside.len().saturating_sub(products);
        if gain == 0 {
            return None;
        }
        terms.reverse();
        let weights = Weights { constant, weights: terms.iter().map(|(_, weight)| *weight).collect() };
        let terms = terms.iter().map(|(term, _)| *term).collect();
        let copied = 0;
        Some(FormCandidate { item: TileOp::Weighted(Box::new(weights), terms), inside, gain, copied })
    }

    /// Whether a value is a sum or difference that may be absorbed.
    fn is_sum(&self, v: ValueId) -> bool {
        self.is_free(v) && matches!(self.binary(v), Some((Binary::Add | Binary::Sub, ..)))
    }

    /// Whether a value is a product that may be absorbed.
    fn is_product(&self, v: ValueId) -> bool {
        let is_product = matches!(self.binary(v), Some((Binary::Mul, ..)));
        self.is_free(v) && (is_product || matches!(self.unary(v), Some((Unary::Square, _))))
    }

    /// The operands of a sum or difference, and the sign of the second. The first is a sum itself, if an operand of an
    /// addition is.
    fn sum(&self, v: ValueId) -> Option<(ValueId, ValueId, f64)> {
        let (op, a, b) = self.binary(v)?;
        if op == Binary::Add {
            let exchange = !self.is_sum(a) && self.is_sum(b);
            Some(if exchange { (b, a, 1.0) } else { (a, b, 1.0) })
        } else {
            (op == Binary::Sub).then_some((a, b, -1.0))
        }
    }

    /// A term of a sum as a value and its weight: if the term is a negation or a product with a broadcast element, it is
    /// absorbed.
    fn term(&self, v: ValueId, sign: f64, inside: &mut SmallVec<[ValueId; 8]>) -> (ValueId, Weight) {
        let weighted = if let Some((Unary::Neg, x)) = self.unary(v) {
            Some((x, Weight::Known(-1.0)))
        } else if let Some((Binary::Mul, x, y)) = self.binary(v) {
            self.weight(y).map(|weight| (x, weight)).or_else(|| self.weight(x).map(|weight| (y, weight)))
        } else {
            None
        };
        match weighted.filter(|(x, _)| self.is_free(v) && !self.is_one(*x)) {
            Some((x, weight)) => {
                inside.push(v);
                let signed = match weight {
                    Weight::Known(number) => Weight::Known(sign * number),
                    Weight::Read { buf, at, .. } => Weight::Read { buf, at, sign },
                };
                (x, signed)
            }
            None => (v, Weight::Known(sign)),
        }
    }
}
