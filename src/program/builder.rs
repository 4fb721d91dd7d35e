//! Construction of programs, operation by operation, with hash-consing and local rewrite rules.
//!
//! Law: the program of a builder computes the values that the calls describe, up to rounding. Equal operations are
//! merged (hash-consing), operations without uses are dropped, and the local rules of [`crate::rewrite`] are applied
//! during construction.

use super::{Loop, Node, NodeId, Op, Program, Slot, reach};
use crate::dtype::DType;
use crate::hash::{Numbered, hash_of};
use crate::rewrite::facts::{self, Fact, Facts};
use crate::rewrite::products::{Factors, Multiple, Products};
use crate::rewrite::rules;
use crate::rewrite::rules::orders::Orders;
use crate::rewrite::signs;
use crate::shape::Shape;
use crate::source::Place;

/// The deepest nesting of rules that call each other.
const DEEPEST: u32 = 24;

/// The assumptions of rewrite rules.
#[derive(Clone, Copy, Default)]
pub(crate) struct Assumed {
    /// All numbers are finite.
    pub(crate) fast: bool,
    /// The zeros around written numbers are those of basis vectors: products with these zeros are left out.
    pub(crate) basis: bool,
}

/// A program under construction.
///
/// ```
/// use polygrad::DType;
/// use polygrad::ops::Unary;
/// use polygrad::program::{Builder, Op, Slot};
/// use polygrad::shape::Shape;
/// let mut b = Builder::new();
/// let x = b.input(Slot { name: "x".into(), shape: Shape::from_slice(&[2]), dtype: DType::F64 });
/// let y = b.apply(Op::Unary(Unary::Sin, x));
/// assert_eq!((&b.node(y).op, &b.node(y).shape[..]), (&Op::Unary(Unary::Sin, x), &[2][..]));
/// // An equal operation is the same operation, and the rules apply: `-(-x)` is `x`.
/// assert_eq!(b.add(Op::Unary(Unary::Sin, x), Shape::from_slice(&[2]), DType::F64), y);
/// let z = b.apply(Op::Unary(Unary::Neg, x));
/// assert_eq!(b.apply(Op::Unary(Unary::Neg, z)), x);
/// assert_eq!(b.finish(&[y], &["y".into()]).to_string(), "program(x: f64[2]) {\n  return y = sin x\n}");
/// // Without the rules.
/// let mut b = Builder::literal();
/// let x = b.input(Slot { name: "x".into(), shape: Shape::new(), dtype: DType::F64 });
/// let y = b.apply(Op::Unary(Unary::Neg, x));
/// assert_ne!(b.apply(Op::Unary(Unary::Neg, y)), x);
/// ```
#[derive(Default)]
pub struct Builder {
    inputs: Vec<Slot>,
    nodes: Vec<Node>,
    /// The source place of each operation, if that is known.
    places: Vec<Place>,
    /// The source place of the operations that are added now.
    place: Place,
    /// The numbers of the operations.
    known: Numbered,
    facts: Facts,
    products: Products,
    orders: Orders,
    /// The number of uses of each value in the program that is being rebuilt, as far as known.
    uses: Vec<u32>,
    /// Whether each value is never -0.
    never_minus_zero: Vec<bool>,
    /// Whether no operation sees the sign of zero of the value that is rebuilt now.
    sign_unseen: bool,
    literal: bool,
    /// Whether equal operations stay apart.
    verbatim: bool,
    /// The current nesting of rules.
    depth: u32,
    assumed: Assumed,
    /// The rules that fired and the operations they made, if a log was asked for.
    log: Option<Vec<(&'static str, NodeId)>>,
}

impl Builder {
    /// An empty program.
    ///
    /// Example: [`Builder`].
    pub fn new() -> Builder {
        Builder::default()
    }

    /// An empty program to which no rule is applied.
    ///
    /// Example: [`Builder`].
    pub fn literal() -> Builder {
        Builder { literal: true, ..Builder::default() }
    }

    /// An empty program to which no rule is applied, and in which equal operations stay apart: that of a trace.
    pub(crate) fn verbatim() -> Builder {
        Builder { literal: true, verbatim: true, ..Builder::default() }
    }

    /// An empty program for a pass that rebuilds another program, with the assumptions of rules; with a log of the
    /// rules that fired, if `logged`.
    pub(crate) fn rebuilding(assumed: Assumed, logged: bool) -> Builder {
        Builder { assumed, log: logged.then(Vec::new), ..Builder::default() }
    }

    /// The assumptions of rules.
    pub(crate) fn assumes(&self) -> Assumed {
        self.assumed
    }

    /// Sets the source place of the operations that are added from now on; returns the previous place.
    pub(crate) fn placed(&mut self, place: Place) -> Place {
        std::mem::replace(&mut self.place, place)
    }

    /// Logs that a rule made an operation.
    pub(crate) fn note(&mut self, rule: &'static str, id: NodeId) {
        if let Some(log) = &mut self.log {
            log.push((rule, id));
        }
    }

    /// The log since the last call.
    pub(crate) fn noted(&mut self) -> Vec<(&'static str, NodeId)> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Records that the program being rebuilt uses a value, whose new number is `id`, this many times.
    pub(crate) fn used(&mut self, id: NodeId, times: u32) {
        let id = id as usize;
        if self.uses.len() <= id {
            self.uses.resize(id + 1, 0);
        }
        self.uses[id] = self.uses[id].saturating_add(times);
    }

    /// Whether a value is known to be used once.
    pub(crate) fn once(&self, id: NodeId) -> bool {
        self.uses.get(id as usize) == Some(&1)
    }

    /// Sets whether an operation sees the sign of zero of the values rebuilt from now on; initially one may.
    pub(crate) fn sign_seen(&mut self, seen: bool) {
        self.sign_unseen = !seen;
    }

    /// Whether a rule may change the sign of zero of a rebuilt value that equals `x`: no operation sees it, or `x` is
    /// never -0.
    pub(crate) fn sign_free(&self, x: NodeId) -> bool {
        self.sign_unseen || self.never_minus_zero[x as usize]
    }

    /// Whether no operation sees the sign of zero of the value that is rebuilt now.
    pub(crate) fn is_sign_unseen(&self) -> bool {
        self.sign_unseen
    }

    /// Whether a value is a constant of zeros of positive sign, stored as one element.
    pub(crate) fn is_zero(&self, id: NodeId) -> bool {
        matches!(&self.node(id).op, Op::Constant(c) if c.is_zero())
    }

    /// The number of the operation with this hash, if there is one.
    fn numbered(&self, hash: u64, op: &Op<NodeId>) -> Option<NodeId> {
        self.known.find(hash, |id| self.nodes[id as usize].op == *op)
    }

    /// Makes room for further operations.
    pub(crate) fn reserve(&mut self, further: usize) {
        self.nodes.reserve(further);
        self.places.reserve(further);
        self.known.reserve(further);
        self.facts.reserve(further);
        self.never_minus_zero.reserve(further);
    }

    /// The number of an existing operation that equals this one.
    pub(crate) fn known(&self, op: &Op<NodeId>) -> Option<NodeId> {
        self.numbered(hash_of(op), op)
    }

    /// An operation as a number times a product of two or more factors; `None` for other operations, for many factors
    /// and for numbers of extreme size.
    pub(crate) fn factors(&self, op: &Op<NodeId>) -> Option<Multiple> {
        self.products.factors(&self.nodes, op)
    }

    /// A value in use that is a multiple of the product of these factors, and the number by which the product is
    /// multiplied.
    pub(crate) fn product(&self, factors: &Factors) -> Option<(NodeId, f64)> {
        self.products.find(factors).filter(|(id, _)| self.is_used(*id))
    }

    /// Whether a value is known to be used more than once.
    pub(crate) fn is_used_again(&self, id: NodeId) -> bool {
        self.uses.get(id as usize).is_some_and(|uses| *uses > 1)
    }

    /// Whether a value of the program that is being rebuilt equals this one.
    pub(crate) fn is_used(&self, id: NodeId) -> bool {
        self.uses.get(id as usize).is_some_and(|uses| *uses > 0)
    }

    /// A new input. Inputs come before everything else.
    ///
    /// Example: [`Builder`].
    ///
    /// # Panics
    /// When an operation was added before.
    #[track_caller]
    pub fn input(&mut self, slot: Slot) -> NodeId {
        if self.nodes.len() > self.inputs.len() {
            panic!("input: inputs must come before operations, but there are operations already; add the inputs first");
        }
        let id = self.nodes.len() as NodeId;
        let op = Op::Input(u64::from(id));
        self.known.insert(hash_of(&op), id);
        self.nodes.push(Node { op, shape: slot.shape.clone(), dtype: slot.dtype });
        self.places.push(Place::UNKNOWN);
        self.facts.push(None);
        self.never_minus_zero.push(!slot.dtype.is_float());
        self.inputs.push(slot);
        id
    }

    /// The result of an operation of known shape and element type: simplified, and added only if it is new. Whether the
    /// operands fit is not checked; [`apply`](Builder::apply) checks it, and finds shape and element type.
    ///
    /// Example: [`Builder`].
    pub fn add(&mut self, op: Op<NodeId>, shape: Shape, dtype: DType) -> NodeId {
        // A rule that moves an operation down a chain calls itself; a long chain takes several rounds, not a deep
        // stack.
        if self.literal || self.depth >= DEEPEST {
            return self.cons(op, shape, dtype);
        }
        self.depth += 1;
        let simpler = rules::simplify(self, &op, &shape, dtype);
        self.depth -= 1;
        simpler.unwrap_or_else(|| self.cons(op, shape, dtype))
    }

    /// The result of an operation to which no rule is applied.
    pub(crate) fn cons(&mut self, op: Op<NodeId>, shape: Shape, dtype: DType) -> NodeId {
        let hash = hash_of(&op);
        if !self.verbatim
            && let Some(id) = self.numbered(hash, &op)
        {
            return id;
        }
        let id = NodeId::try_from(self.nodes.len()).expect("a program has fewer than 2^32 operations");
        let facts = facts::known(self, &op, &shape, dtype);
        self.facts.push(facts);
        let never = signs::is_never_minus_zero(&op, dtype, &|a| self.never_minus_zero[a as usize]);
        self.never_minus_zero.push(never);
        self.known.insert(hash, id);
        self.nodes.push(Node { op, shape, dtype });
        self.places.push(self.place.clone());
        let is_used = |id: NodeId| self.uses.get(id as usize).is_some_and(|uses| *uses > 0);
        self.products.push(&self.nodes, id, &is_used);
        id
    }

    /// Adds inputs, with facts about some of them.
    pub(crate) fn inputs(&mut self, slots: &[Slot], facts: &[Option<Fact>]) -> Vec<NodeId> {
        let ids: Vec<NodeId> = slots.iter().map(|slot| self.input(slot.clone())).collect();
        for (id, fact) in ids.iter().zip(facts) {
            if let Some(fact) = fact {
                self.facts.set(*id, fact.clone());
            }
        }
        ids
    }

    /// The facts about the inputs of a loop's body: a captured value has the facts it has outside, an element of a
    /// sequence those that all elements share.
    pub(crate) fn facts_inside(&self, l: &Loop<NodeId>) -> Vec<Option<Fact>> {
        let mut facts = vec![None; l.init.len()];
        facts.extend(l.xs.iter().map(|id| self.facts.get(*id).and_then(|fact| fact.of_rows())));
        facts.extend(l.captured.iter().map(|id| self.facts.get(*id)));
        facts
    }

    /// For a mask that depends on the index along one axis alone: the axis, an interval of its indices, and whether the
    /// mask holds inside (`true`) or outside (`false`).
    pub(crate) fn interval(&self, mask: NodeId) -> Option<(usize, std::ops::Range<usize>, bool)> {
        self.facts.mask(mask)?.interval()
    }

    /// For a mask that holds (`true`), or does not hold (`false`), on a diagonal alone: both axes, the index along the
    /// first minus the index along the second, and which of the two.
    pub(crate) fn diagonal(&self, mask: NodeId) -> Option<(usize, usize, i64, bool)> {
        self.facts.mask(mask)?.diagonal()
    }

    /// The cheapest orders of sums and products found so far.
    pub(crate) fn orders(&mut self) -> &mut Orders {
        &mut self.orders
    }

    /// The facts about integers and masks made so far.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// An operation made so far.
    ///
    /// Example: [`Builder`].
    ///
    /// # Panics
    /// When no operation has this number.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// The program that computes these results. All inputs stay, used or not; other operations that no result depends
    /// on are dropped.
    ///
    /// # Panics
    /// When a result is past the last operation made.
    ///
    /// Example: [`Builder`].
    pub fn finish(self, results: &[NodeId], names: &[String]) -> Program {
        let Builder { inputs, mut nodes, mut places, known, facts, products, orders, .. } = self;
        drop((known, facts, products, orders));
        let mut live = vec![false; nodes.len()];
        live[..inputs.len()].fill(true);
        results.iter().for_each(|r| live[*r as usize] = true);
        reach(&nodes, &mut live, |_| true);
        // In place: a long program is not held twice.
        let mut numbers = vec![0; nodes.len()];
        let (mut k, mut next) = (0, 0);
        nodes.retain_mut(|node| {
            let id = k;
            k += 1;
            if live[id] {
                numbers[id] = next;
                next += 1;
                node.op.operands_mut(&mut |a| *a = numbers[*a as usize]);
            }
            live[id]
        });
        nodes.shrink_to_fit();
        let mut is_live = live.iter();
        places.retain(|_| is_live.next() == Some(&true));
        places.shrink_to_fit();
        let results = results.iter().map(|r| numbers[*r as usize]).collect();
        Program::new(inputs, nodes, places, results, names)
    }
}
