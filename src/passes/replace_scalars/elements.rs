//! Scalar replacement of single operations: the elements of a result as operations on numbers.
//!
//! Law: the scalars of a value are its elements in row-major order. An element for which a view reads nothing is
//! absent: it is zero, and is not added to a sum.

use std::collections::{BTreeSet, HashMap};

use smallvec::SmallVec;

use super::Limits;
use crate::array::{Array, with_elem};
use crate::dtype::DType;
use crate::ops::{Binary, Compare, Contract, Discrete, IntBinary, Linear, Property, Reduce, View};
use crate::program::{Builder, Constant, Node, NodeId, Op, OpClass, Program, Results, Single};
use crate::shape::{Shape, size};

/// An element: a scalar, or `None` if it is absent.
type Element = Option<NodeId>;

/// The elements of a value.
type Elements = SmallVec<[Element; 8]>;

/// The form of a value of the old body in the new one.
#[derive(Clone, Debug)]
pub(super) enum ScalarValue {
    /// A value of the new body.
    Whole(NodeId),
    /// Its elements.
    Numbers(Elements),
}

/// The form of an operation of the old body: the results of a function that became operations, or one value; the results of
/// what stays an operation are read as before.
type Replaced = Results<ScalarValue>;

/// A body that is being written.
pub(super) struct ScalarBody {
    pub(super) b: Builder,
    /// Values from outside, which are in memory.
    captured: BTreeSet<NodeId>,
    /// Whether values that are not small stay arrays, since the body contains loops.
    mixed: bool,
    limits: Limits,
    /// How many more operations may be added.
    left: usize,
    /// The elements of values that were read before, by position; only looked up.
    read: HashMap<(NodeId, usize), NodeId>,
}

impl ScalarBody {
    pub(super) fn new(b: Builder, captured: &[NodeId], mixed: bool, limits: Limits) -> ScalarBody {
        ScalarBody {
            b,
            captured: captured.iter().copied().collect(),
            mixed,
            limits,
            left: limits.operations,
            read: HashMap::new(),
        }
    }

    /// The results of a program on these inputs; nothing, if it has no form by numbers.
    pub(super) fn program(&mut self, program: &Program, inputs: Vec<ScalarValue>) -> Option<Vec<ScalarValue>> {
        let mut known: Vec<Replaced> = inputs.into_iter().map(Replaced::One).collect();
        for (k, node) in program.nodes().iter().enumerate().skip(known.len()) {
            let before = self.b.placed(program.place(k as NodeId));
            let made = self.node(program, node, &known)?;
            self.b.placed(before);
            known.push(made);
        }
        Some(program.results().iter().map(|r| known[*r as usize].one().clone()).collect())
    }

    fn node(&mut self, program: &Program, node: &Node, known: &[Replaced]) -> Option<Replaced> {
        let numbers = match node.op.class() {
            OpClass::Custom(rule, args) if !rule.is_while() && rule.branches().is_none() => {
                let args = args.iter().map(|a| known[*a as usize].one().clone()).collect();
                return self.program(rule.primal(), args).map(Replaced::Many);
            }
            OpClass::Output(of, position) => {
                if let Replaced::Many(results) = &known[*of as usize] {
                    return Some(Replaced::One(results[position].clone()));
                }
                return self.kept(program, node, known).map(Replaced::One);
            }
            OpClass::Constant(c) => {
                return Some(Replaced::One(ScalarValue::Whole(self.b.apply(Op::Constant(c.clone())))));
            }
            OpClass::Loop(_) | OpClass::Custom(..) => return self.kept(program, node, known).map(Replaced::One),
            // An input has its form from the start.
            OpClass::Call(..) | OpClass::Input(_) => None,
            OpClass::Single(op) => self.small(program, node, op, known),
        };
        let one = match numbers {
            Some(numbers) => Some(ScalarValue::Numbers(numbers)),
            None if self.mixed => self.kept(program, node, known),
            None => None,
        };
        one.map(Replaced::One)
    }

    /// The operation, unchanged, on whole arrays.
    fn kept(&mut self, program: &Program, node: &Node, known: &[Replaced]) -> Option<ScalarValue> {
        let mut operands: Vec<(NodeId, NodeId)> = Vec::new();
        let mut complete = true;
        node.op.operands(&mut |a| {
            let of = &program.nodes()[*a as usize];
            match self.whole(known[*a as usize].one(), &of.shape, of.dtype) {
                Some(whole) => operands.push((*a, whole)),
                None => complete = false,
            }
        });
        if !complete {
            return None;
        }
        let mut next = operands.iter();
        let op = node.op.map(&mut |_| next.next().expect("an operation has the same operands again").1);
        Some(ScalarValue::Whole(self.b.add(op, node.shape.clone(), node.dtype)))
    }

    /// The value as one array.
    pub(super) fn whole(&mut self, known: &ScalarValue, shape: &[usize], dtype: DType) -> Option<NodeId> {
        let numbers = match known {
            ScalarValue::Whole(id) => return Some(*id),
            ScalarValue::Numbers(numbers) => numbers.clone(),
        };
        let numbers: Vec<NodeId> = numbers.into_iter().map(|e| self.number(e, dtype)).collect();
        if shape.is_empty() {
            return Some(numbers[0]);
        }
        if let Some(array) = self.known_array(&numbers, dtype) {
            return Some(self.b.apply(Op::Constant(Constant(array.with_shape(shape)))));
        }
        let ones: Vec<NodeId> =
            numbers.iter().map(|x| self.b.apply(Op::Linear(Box::new(Linear::reshape(&[], &[1])), *x))).collect();
        let line = if let [one] = ones[..] { one } else { self.b.apply(Op::Concat(0, ones)) };
        if shape.len() == 1 {
            return Some(line);
        }
        Some(self.b.apply(Op::Linear(Box::new(Linear::reshape(&[numbers.len()], shape)), line)))
    }

    /// Scalars as one constant array, if all are constants.
    fn known_array(&self, numbers: &[NodeId], dtype: DType) -> Option<Array> {
        with_elem!(dtype, E => {
            let of = |id: &NodeId| self.b.node(*id).op.as_constant()?.0.as_scalar::<E>().copied();
            let elements: Option<Vec<E>> = numbers.iter().map(of).collect();
            elements.map(|elements| Array::new(&[numbers.len()], elements))
        })
    }

    fn number(&mut self, element: Element, dtype: DType) -> NodeId {
        element.unwrap_or_else(|| self.b.apply(Op::Constant(Constant(Array::zeros(&[], dtype)))))
    }

    /// The element of a value of this shape at a position.
    fn element(&mut self, known: &ScalarValue, shape: &[usize], at: usize) -> Element {
        let id = match known {
            ScalarValue::Numbers(numbers) => return numbers[at],
            ScalarValue::Whole(id) => *id,
        };
        if let Op::Constant(c) = &self.b.node(id).op {
            let number = with_elem!(c.0.dtype(), E => Array::scalar(c.0.typed::<E>().get(at)));
            return Some(self.b.apply(Op::Constant(Constant(number))));
        }
        if shape.is_empty() {
            return Some(id);
        }
        if let Some(element) = self.read.get(&(id, at)) {
            return Some(*element);
        }
        let offset: SmallVec<[i64; 6]> = index(at, shape).into_iter().map(|i| i as i64).collect();
        let view = View::affine(shape, &[], &[], &offset);
        let element = self.b.apply(Op::Linear(Box::new(Linear::read(view)), id));
        self.read.insert((id, at), element);
        Some(element)
    }

    /// The elements of a small value as numbers.
    fn numbers(&mut self, program: &Program, known: &[Replaced], a: NodeId) -> Option<SmallVec<[NodeId; 8]>> {
        let node = &program.nodes()[a as usize];
        if !self.limits.is_small(&node.shape) {
            return None;
        }
        let of = |self_: &mut ScalarBody, at| {
            let element = self_.element(known[a as usize].one(), &node.shape, at);
            self_.number(element, node.dtype)
        };
        Some((0..size(&node.shape)).map(|at| of(self, at)).collect())
    }

    /// An operation on numbers.
    fn op(&mut self, op: Op<NodeId>) -> Option<NodeId> {
        if let Some(simpler) = self.simpler(&op) {
            return Some(simpler);
        }
        self.left = self.left.checked_sub(1)?;
        Some(self.b.apply(op))
    }

    /// The operand or constant that the operation equals, to the bit: products with 1, guarded products with 0, and
    /// sums of 0 with a value that is never -0.
    fn simpler(&self, op: &Op<NodeId>) -> Option<NodeId> {
        let Op::Binary(op, x, y) = op else { return None };
        let is = |id: NodeId, number: f64| {
            let full = |dtype| Constant(Array::full_as(&[], dtype, number));
            self.b.node(id).op.as_constant().is_some_and(|c| c.0.dtype().is_float() && *c == full(c.0.dtype()))
        };
        let sides = [(*x, *y), (*y, *x)];
        let find = |number: f64| sides.into_iter().find(|(a, _)| is(*a, number));
        match op {
            Binary::Mul => find(1.0).map(|(_, other)| other),
            Binary::MulNoNan => {
                find(0.0).map(|(zero, _)| zero).or_else(|| Some(find(1.0)?.1).filter(|other| self.b.sign_free(*other)))
            }
            Binary::Add => find(0.0).map(|(_, other)| other).filter(|other| self.b.sign_free(*other)),
            Binary::Sub | Binary::Div | Binary::DivNoNan | Binary::Pow | Binary::PowLessOne | Binary::Atan2 => None,
            Binary::RecipReal | Binary::Hypot | Binary::LogAddExp | Binary::Polygamma => None,
            Binary::Copysign | Binary::Min | Binary::Max => None,
        }
    }

    /// The elements of the result of an operation.
    fn small(
        &mut self,
        program: &Program,
        node: &Node,
        op: Single<'_, NodeId>,
        known: &[Replaced],
    ) -> Option<Elements> {
        if !self.limits.is_small(&node.shape) {
            return None;
        }
        let shape = |a: NodeId| &program.nodes()[a as usize].shape[..];
        match op {
            Single::Binary(Binary::Add, a, b) => self.plus(program, known, *a, *b, node),
            Single::Unary(..) | Single::Binary(..) | Single::Select(_) => self.each(program, known, node),
            Single::Discrete(op, args) => match op {
                Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not | Discrete::FloatStep(_) => {
                    self.each(program, known, node)
                }
                Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToInt | Discrete::ToFloat(_) => {
                    self.each(program, known, node)
                }
                Discrete::ArgMax { axis } => self.extrema(program, known, (Reduce::Max { axis: *axis }, args[0], true)),
                Discrete::ArgMin { axis } => self.extrema(program, known, (Reduce::Min { axis: *axis }, args[0], true)),
                Discrete::ArgSort { .. } | Discrete::PrefixArg { .. } => None,
                Discrete::Iota { n } => Some((0..*n).map(|i| Some(self.integer(i))).collect()),
            },
            Single::Reduce(op, a) => self.extrema(program, known, (op, *a, false)),
            Single::Linear(op, a) => match op {
                Linear::Affine { from, into } => self.moved(known[*a as usize].one(), (from, into), node.dtype),
                Linear::Reshape { from, .. } => {
                    Some((0..size(from)).map(|at| self.element(known[*a as usize].one(), from, at)).collect())
                }
                Linear::Cast { from, into, shape } => {
                    if size(shape) > self.limits.narrow {
                        return None;
                    }
                    let numbers = self.numbers(program, known, *a)?;
                    let cast = Linear::cast(&[], *from, *into);
                    let each = |x: NodeId| Some(Some(self.op(Op::Linear(Box::new(cast.clone()), x))?));
                    numbers.into_iter().map(each).collect()
                }
                Linear::Fourier { .. } => None,
                Linear::PrefixSum { shape, axis, reverse } => {
                    self.prefix_sums(known[*a as usize].one(), (shape, *axis, *reverse), node.dtype)
                }
            },
            Single::Contract(op, a, b) => {
                self.contracted(op, [known[*a as usize].one(), known[*b as usize].one()], node.dtype)
            }
            Single::Gather(a, ix) => self.gathered(program, known, (*a, ix), node),
            Single::ScatterAdd(a, ix, v) => self.scattered(program, known, (*a, ix, *v), node),
            Single::Concat(axis, parts) => {
                let mut out: Elements = SmallVec::from_elem(None, size(&node.shape));
                let mut before = 0;
                for part in parts {
                    let of = shape(*part);
                    for at in 0..size(of) {
                        let mut place = index(at, of);
                        place[axis] += before;
                        out[position(&place, &node.shape)] = self.element(known[*part as usize].one(), of, at);
                    }
                    before += of[axis];
                }
                Some(out)
            }
        }
    }

    fn integer(&mut self, i: usize) -> NodeId {
        self.b.apply(Op::Constant(Constant(Array::scalar(i as i64))))
    }

    /// An elementwise operation.
    fn each(&mut self, program: &Program, known: &[Replaced], node: &Node) -> Option<Elements> {
        let mut wide = node.dtype == DType::F64;
        node.op.operands(&mut |a| wide |= program.nodes()[*a as usize].dtype == DType::F64);
        wide |= is_logic(&node.op);
        let most = if node.op.has(Property::Transcendental) { self.limits.functions } else { self.limits.elements };
        if size(&node.shape) > if wide { most } else { self.limits.narrow } {
            return None;
        }
        let mut operands: SmallVec<[SmallVec<[NodeId; 8]>; 3]> = SmallVec::new();
        let mut small = true;
        node.op.operands(&mut |a| match self.numbers(program, known, *a) {
            Some(numbers) => operands.push(numbers),
            None => small = false,
        });
        if !small {
            return None;
        }
        let at = |self_: &mut ScalarBody, at: usize| {
            let mut next = operands.iter();
            let op = node.op.map(&mut |_| next.next().expect("an operation has the same operands again")[at]);
            Some(Some(self_.op(op)?))
        };
        (0..size(&node.shape)).map(|k| at(self, k)).collect()
    }

    /// A sum of two elements; an absent element leaves the other unchanged.
    fn plus(&mut self, program: &Program, known: &[Replaced], a: NodeId, b: NodeId, node: &Node) -> Option<Elements> {
        let at = |self_: &mut ScalarBody, at: usize| {
            let [x, y] = [a, b].map(|of| {
                let shape = &program.nodes()[of as usize].shape;
                self_.element(known[of as usize].one(), shape, at)
            });
            Some(match (x, y) {
                (Some(x), Some(y)) => Some(self_.op(Op::Binary(Binary::Add, x, y))?),
                (x, y) => x.or(y),
            })
        };
        (0..size(&node.shape)).map(|k| at(self, k)).collect()
    }

    /// The sum of scalars, in order, starting from zero if the sum could be -0 otherwise.
    fn sum(&mut self, terms: &[NodeId], dtype: DType) -> Option<Element> {
        let Some((first, rest)) = terms.split_first() else { return Some(None) };
        let starts = terms.iter().any(|x| self.b.sign_free(*x));
        let (mut sum, rest) = if starts { (*first, rest) } else { (self.number(None, dtype), terms) };
        for x in rest {
            sum = self.op(match dtype.is_float() {
                true => Op::Binary(Binary::Add, sum, *x),
                false => Op::Discrete(Discrete::IntBinary(IntBinary::Add), [sum, *x].as_slice().into()),
            })?;
        }
        Some(Some(sum))
    }

    /// Elements that are moved through views, or added up where several reach one place.
    fn moved(&mut self, known: &ScalarValue, (from, into): (&View, &View), dtype: DType) -> Option<Elements> {
        let space = from.shape();
        let most = if dtype == DType::F64 || into.is_injective() { self.limits.positions } else { self.limits.narrow };
        if size(space) > most {
            return None;
        }
        let mut terms: Vec<SmallVec<[NodeId; 4]>> = vec![SmallVec::new(); size(into.source())];
        for at in 0..size(space) {
            let index = index(at, space);
            if let (Some(place), Some(source)) = (into.at(&index), from.at(&index))
                && let Some(x) = self.element(known, from.source(), position(&source, from.source()))
            {
                terms[position(&place, into.source())].push(x);
            }
        }
        if into.is_injective() {
            return Some(terms.into_iter().map(|terms| terms.first().copied()).collect());
        }
        terms.into_iter().map(|terms| self.sum(&terms, dtype)).collect()
    }

    /// The prefix sums of each line along an axis, or, in reverse, the suffix sums, added in the order of the kernel.
    fn prefix_sums(&mut self, known: &ScalarValue, op: (&Shape, usize, bool), dtype: DType) -> Option<Elements> {
        let (shape, axis, reverse) = op;
        if dtype != DType::F64 && size(shape) > self.limits.narrow {
            return None;
        }
        let (len, inner) = (shape[axis], size(&shape[axis + 1..]));
        let mut out: Elements = SmallVec::from_elem(None, size(shape));
        for line in 0..size(shape) / len.max(1) {
            let mut terms: SmallVec<[NodeId; 2]> = SmallVec::new();
            for i in 0..len {
                let i = if reverse { len - 1 - i } else { i };
                let at = (line / inner * len + i) * inner + line % inner;
                terms.extend(self.element(known, shape, at));
                out[at] = self.sum(&terms, dtype)?;
                terms = out[at].into_iter().collect();
            }
        }
        Some(out)
    }

    /// Sums of products.
    fn contracted(&mut self, op: &Contract, [a, b]: [&ScalarValue; 2], dtype: DType) -> Option<Elements> {
        let space = op.out.shape();
        if size(space) > if dtype == DType::F64 { self.limits.positions } else { self.limits.narrow } {
            return None;
        }
        let mut terms: Vec<SmallVec<[NodeId; 4]>> = vec![SmallVec::new(); size(op.out.source())];
        for at in 0..size(space) {
            let index = index(at, space);
            let (Some(place), Some(x), Some(y)) = (op.out.at(&index), op.a.at(&index), op.b.at(&index)) else {
                continue;
            };
            let x = self.element(a, op.a.source(), position(&x, op.a.source()));
            let y = self.element(b, op.b.source(), position(&y, op.b.source()));
            let [x, y] = [x, y].map(|e| self.number(e, dtype));
            let product = self.op(match dtype.is_float() {
                true => Op::Binary(Binary::Mul, x, y),
                false => Op::Discrete(Discrete::IntBinary(IntBinary::Mul), [x, y].as_slice().into()),
            })?;
            terms[position(&place, op.out.source())].push(product);
        }
        terms.into_iter().map(|terms| self.sum(&terms, dtype)).collect()
    }
}

impl ScalarBody {
    /// The extremum of each line, or its position: the first of equal ones, the first NaN if there is one.
    fn extrema(
        &mut self,
        program: &Program,
        known: &[Replaced],
        (op, a, place): (Reduce, NodeId, bool),
    ) -> Option<Elements> {
        let node = &program.nodes()[a as usize];
        let (numbers, axis) = (self.numbers(program, known, a)?, op.axis());
        let (lines, inner) = (size(&node.shape[..axis]), size(&node.shape[axis + 1..]));
        let len = node.shape[axis];
        let mut out = Elements::new();
        for line in 0..lines * inner {
            let of = |i: usize| numbers[(line / inner * len + i) * inner + line % inner];
            let (mut best, mut at) = (of(0), self.integer(0));
            for i in 1..len {
                let better = self.is_better(op, of(i), best, node.dtype)?;
                best = self.op(Op::Select([better, of(i), best]))?;
                if place {
                    let i = self.integer(i);
                    at = self.op(Op::Select([better, i, at]))?;
                }
            }
            out.push(Some(if place { at } else { best }));
        }
        Some(out)
    }

    /// Whether a scalar replaces the best scalar before it.
    fn is_better(&mut self, op: Reduce, x: NodeId, best: NodeId, dtype: DType) -> Option<NodeId> {
        let compare = if let Reduce::Max { .. } = op { Compare::Gt } else { Compare::Lt };
        let better = self.discrete(Discrete::Compare(compare), &[x, best])?;
        if !dtype.is_float() {
            return Some(better);
        }
        let is_nan = self.discrete(Discrete::Compare(Compare::Ne), &[x, x])?;
        let either = self.discrete(Discrete::Or, &[better, is_nan])?;
        let open = self.discrete(Discrete::Compare(Compare::Eq), &[best, best])?;
        self.discrete(Discrete::And, &[either, open])
    }

    fn discrete(&mut self, op: Discrete, operands: &[NodeId]) -> Option<NodeId> {
        self.op(Op::Discrete(op, operands.into()))
    }

    /// The number of an integer, if it is known.
    fn known_index(&self, id: NodeId) -> Option<i64> {
        self.b.node(id).op.as_constant()?.0.as_scalar::<i64>().copied()
    }

    /// The mask that says whether these indices are those of a position: `Some(None)` if they never are,
    /// `Some(Some(None))` if they always are.
    fn hits(&mut self, ix: &[NodeId], place: &[usize]) -> Option<Option<Option<NodeId>>> {
        let mut mask = None;
        for (i, at) in ix.iter().zip(place) {
            match self.known_index(*i) {
                Some(known) if known == *at as i64 => continue,
                Some(_) => return Some(None),
                None => {}
            }
            let at = self.integer(*at);
            let hit = self.discrete(Discrete::Compare(Compare::Eq), &[*i, at])?;
            mask = Some(match mask {
                Some(mask) => self.discrete(Discrete::And, &[mask, hit])?,
                None => hit,
            });
        }
        Some(Some(mask))
    }

    /// The indices of an operation at each of their positions.
    fn indices(&mut self, program: &Program, known: &[Replaced], ix: &[NodeId]) -> Option<Vec<SmallVec<[NodeId; 8]>>> {
        ix.iter().map(|i| self.numbers(program, known, *i)).collect()
    }

    /// Elements at indices, 0 out of bounds: read from memory, or selected among the elements of a small array.
    fn gathered(
        &mut self,
        program: &Program,
        known: &[Replaced],
        (a, ix): (NodeId, &[NodeId]),
        node: &Node,
    ) -> Option<Elements> {
        let shape = &program.nodes()[a as usize].shape;
        let (indexed, rest) = shape.split_at(ix.len());
        let (indices, block) = (self.indices(program, known, ix)?, size(rest));
        let mut out = Elements::new();
        for at in 0..size(&node.shape) {
            let mut of: SmallVec<[NodeId; 4]> = indices.iter().map(|i| i[at / block]).collect();
            let inside = index(at % block, rest);
            let places: Option<SmallVec<[i64; 4]>> = of.iter().map(|i| self.known_index(*i)).collect();
            out.push(if let Some(places) = places {
                let within = places.iter().zip(indexed).all(|(i, n)| (0..*n as i64).contains(i));
                let place: Shape = places.iter().map(|i| *i as usize).chain(inside).collect();
                if within { self.element(known[a as usize].one(), shape, position(&place, shape)) } else { None }
            } else if let ScalarValue::Whole(id) = known[a as usize].one()
                && (self.captured.contains(id) || matches!(self.b.node(*id).op, Op::Constant(_)))
            {
                of.extend(inside.iter().map(|i| self.integer(*i)));
                Some(self.op(Op::Gather(*id, of.to_vec()))?)
            } else if self.limits.is_small(shape) {
                let mut found = self.number(None, node.dtype);
                for line in 0..size(indexed) {
                    let place = index(line, indexed);
                    let Some(mask) = self.hits(&of, &place)? else { continue };
                    let place: Shape = place.into_iter().chain(inside.iter().copied()).collect();
                    let x = self.element(known[a as usize].one(), shape, position(&place, shape));
                    let x = self.number(x, node.dtype);
                    found = match mask {
                        Some(mask) => self.op(Op::Select([mask, x, found]))?,
                        None => x,
                    };
                }
                Some(found)
            } else {
                return None;
            });
        }
        Some(out)
    }

    /// Values added at indices, to the elements that the indices select.
    fn scattered(
        &mut self,
        program: &Program,
        known: &[Replaced],
        (a, ix, v): (NodeId, &[NodeId], NodeId),
        node: &Node,
    ) -> Option<Elements> {
        let shape = &node.shape;
        let (indexed, rest) = shape.split_at(ix.len());
        let (indices, block) = (self.indices(program, known, ix)?, size(rest));
        let values = self.numbers(program, known, v)?;
        let mut out = self.numbers(program, known, a)?;
        for (at, x) in values.into_iter().enumerate() {
            let of: SmallVec<[NodeId; 4]> = indices.iter().map(|i| i[at / block]).collect();
            for line in 0..size(indexed) {
                let Some(mask) = self.hits(&of, &index(line, indexed))? else { continue };
                let old = out[line * block + at % block];
                let sum = self.op(match node.dtype.is_float() {
                    true => Op::Binary(Binary::Add, old, x),
                    false => Op::Discrete(Discrete::IntBinary(IntBinary::Add), [old, x].as_slice().into()),
                })?;
                out[line * block + at % block] = match mask {
                    Some(mask) => self.op(Op::Select([mask, sum, old]))?,
                    None => sum,
                };
            }
        }
        Some(out.into_iter().map(Some).collect())
    }
}

/// Whether an operation makes masks of masks.
fn is_logic(op: &Op<NodeId>) -> bool {
    matches!(op, Op::Discrete(Discrete::And | Discrete::Or | Discrete::Not, _))
}

/// The index of a position in row-major order.
fn index(mut at: usize, shape: &[usize]) -> Shape {
    let mut index = Shape::from_elem(0, shape.len());
    for (i, n) in index.iter_mut().zip(shape).rev() {
        (*i, at) = (at % n, at / n);
    }
    index
}

/// The position of an index in row-major order.
fn position(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |at, (i, n)| at * n + i)
}
