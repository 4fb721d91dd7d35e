//! Random values of exact numbers, from results to operands: each value is asked for by shape and element type.
//!
//! Law: what is made is a program; every float is an integer whose absolute value is at most [`MOST`], or the bound of
//! a sum over a space; every value exists before it is used.

use polygrad::array::Rng;
use polygrad::ops::{Binary, Compare, Contract, Discrete, IntBinary, IntUnary, Linear, Reduce, Unary, View};
use polygrad::program::{Builder, Constant, NodeId, Op};
use polygrad::shape::size;
use polygrad::{Array, DType};

use crate::support::random_view;

/// The bound on the absolute value of floats: products of a few of them are exact.
pub(super) const MOST: f64 = 4096.0;

/// Which extents arrays have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extents {
    /// A few.
    Few,
    /// Mostly this one, so that no shape tells axes apart.
    Same(usize),
    /// The last axes are rows that fill vectors, or nearly so.
    Rows,
    /// Thousands of elements: kernels, blocks and threads of their own.
    Many,
}

/// Around the lengths of vectors.
const ROWS: &[usize] = &[7, 8, 9, 15, 16, 17, 33, 64];

impl Extents {
    /// Those of a program.
    pub(super) fn drawn(rng: &mut Rng) -> Extents {
        match rng.below(50) {
            0 => Extents::Many,
            1..=9 => Extents::Rows,
            10..=21 => Extents::Same(2 + rng.below(4)),
            _ => Extents::Few,
        }
    }

    /// The most elements of a value, and points of an iteration space.
    fn largest(self) -> usize {
        match self {
            Extents::Few | Extents::Same(_) => 200,
            Extents::Rows => 1500,
            Extents::Many => 20_000,
        }
    }
}

/// A maker of programs, from results to operands: each value is asked for by shape and element type.
pub(super) struct Maker {
    pub(super) rng: Rng,
    pub(super) b: Builder,
    /// The largest absolute value of each float.
    pub(super) bounds: Vec<f64>,
    /// How many loops are around.
    pub(super) inside: usize,
    pub(super) extents: Extents,
    /// The type of most floats.
    pub(super) float: DType,
    /// The number of trips of most loops, and what some of them read.
    pub(super) trips: usize,
    pub(super) sequences: Vec<NodeId>,
    /// The states of loops before and after their trips.
    pub(super) states: Vec<NodeId>,
}

impl Maker {
    pub(super) fn new(mut rng: Rng, inside: usize, extents: Extents, float: DType) -> Maker {
        let trips = if rng.below(4) == 0 { 3 + rng.below(10) } else { rng.below(4) };
        let (b, bounds) = (Builder::literal(), Vec::new());
        Maker { rng, b, bounds, inside, extents, float, trips, sequences: Vec::new(), states: Vec::new() }
    }

    pub(super) fn one<X: Clone>(&mut self, of: &[X]) -> X {
        of[self.rng.below(of.len())].clone()
    }

    /// Once in so many times.
    pub(super) fn rarely(&mut self, times: usize) -> bool {
        self.rng.below(times) == 0
    }

    pub(super) fn largest(&self) -> usize {
        self.extents.largest()
    }

    /// The extent of an axis before so many others.
    pub(super) fn extent(&mut self, others: usize) -> usize {
        let usual = !self.rarely(6);
        match (self.extents, others) {
            (Extents::Same(n), _) if usual => n,
            (Extents::Rows, 0) if usual => self.one(ROWS),
            (Extents::Many, 0) if usual => self.one(&[16, 33, 64, 100, 200, 257]),
            (Extents::Many, 1) if usual => self.one(&[1, 3, 8, 17, 40, 64]),
            (_, _) => {
                if self.rarely(12) {
                    6 + self.rng.below(7)
                } else {
                    1 + self.rng.below(4)
                }
            }
        }
    }

    pub(super) fn shape(&mut self, rank: usize) -> Vec<usize> {
        let large = !matches!(self.extents, Extents::Few);
        let rank = if large && self.rarely(2) { rank } else { self.rng.below(rank + 1) };
        (0..rank).rev().map(|others| self.extent(others)).collect()
    }

    pub(super) fn add(&mut self, op: Op<NodeId>, bound: f64) -> NodeId {
        let id = self.b.apply(op);
        self.bounds.resize(self.bounds.len().max(id as usize + 1), 0.0);
        self.bounds[id as usize] = bound;
        id
    }

    pub(super) fn bound(&self, id: NodeId) -> f64 {
        self.bounds[id as usize]
    }

    pub(super) fn constant(&mut self, c: Array, bound: f64) -> NodeId {
        self.add(Op::Constant(Constant(c)), bound)
    }

    pub(super) fn linear(&mut self, op: Linear, x: NodeId, bound: f64) -> NodeId {
        self.add(Op::Linear(Box::new(op), x), bound)
    }

    pub(super) fn of_shape(&self, id: NodeId) -> Vec<usize> {
        self.b.node(id).shape.to_vec()
    }

    /// A value of this kind that exists already.
    pub(super) fn existing(&mut self, shape: &[usize], dtype: DType) -> Option<NodeId> {
        let fits = |id: &NodeId| {
            let node = self.b.node(*id);
            node.shape[..] == *shape && node.dtype == dtype && !matches!(node.op, Op::Loop(_))
        };
        let all: Vec<NodeId> = (0..self.bounds.len() as NodeId).filter(fits).collect();
        if all.is_empty() { None } else { Some(self.one(&all)) }
    }

    /// A view of this shape: a plain one, or one that reads anything; together with the shape of its source.
    pub(super) fn view(&mut self, shape: &[usize]) -> View {
        let source = self.shape(3);
        if self.rarely(2) || shape.is_empty() {
            return random_view(&mut self.rng, &source, shape);
        }
        // Each axis of the source runs along one axis, forwards or backwards, and has a few elements more.
        let (mut source, mut matrix, mut offset) = (Vec::new(), Vec::new(), Vec::new());
        for axis in 0..shape.len() {
            if self.rarely(4) {
                continue;
            }
            let along = if self.rarely(3) { self.rng.below(shape.len()) } else { axis };
            let (step, n) = (self.one(&[1i64, 1, 1, -1, 2]), shape[along].max(1) as i64);
            let first = self.rng.below(2) as i64;
            offset.push(if step < 0 { n - 1 + first } else { first });
            source.push((step.abs() * (n - 1) + 1 + first + self.rng.below(2) as i64) as usize);
            matrix.extend((0..shape.len()).map(|other| if other == along { step } else { 0 }));
        }
        View::affine(&source, shape, &matrix, &offset)
    }

    /// A linear operation with this result, and by how much its result may be larger than its operand.
    pub(super) fn operation(&mut self, shape: &[usize]) -> (Linear, f64) {
        let rank = shape.len();
        let axis = if rank > 0 { self.rng.below(rank) } else { 0 };
        match self.rng.below(9) {
            0 if rank > 0 => {
                let mut from = shape.to_vec();
                let n = from.remove(axis);
                let axis = self.rng.below(from.len() + 1);
                from.insert(axis, n);
                (Linear::reshape(&from, shape), 1.0)
            }
            0 | 1 => {
                let mut from = shape.to_vec();
                match (rank, self.rng.below(3)) {
                    (1.., 0) if shape[axis].is_multiple_of(2) => from.splice(axis..=axis, [2, shape[axis] / 2]).count(),
                    (2.., 1) if axis + 1 < rank => from.splice(axis..axis + 2, [shape[axis] * shape[axis + 1]]).count(),
                    (_, _) => from.splice(axis..axis, [1]).count(),
                };
                (Linear::reshape(&from, shape), 1.0)
            }
            2 => {
                let (mut from, n) = (shape.to_vec(), 1 + self.rng.below(4));
                let at = self.rng.below(rank + 1);
                from.insert(at, n);
                (Linear::sum(&from, &[at]), n as f64)
            }
            3 if rank > 0 => {
                let axes: Vec<usize> = (0..rank).filter(|k| *k != axis).collect();
                (Linear::replicate(shape, &axes), 1.0)
            }
            4 => {
                let order = self.rng.permutation(rank);
                let from: Vec<usize> =
                    (0..rank).map(|k| shape[order.iter().position(|p| *p == k).expect("a permutation")]).collect();
                (Linear::permute(&from, &order), 1.0)
            }
            5 => {
                let view = self.view(shape);
                let op = Linear::affine(View::identity(shape), view).adjoint();
                (op, 1.0)
            }
            6 => {
                let space = self.shape(3);
                let into = random_view(&mut self.rng, shape, &space);
                let from = self.view(&space);
                (Linear::affine(from, into), size(&space).max(1) as f64)
            }
            _ => (Linear::read(self.view(shape)), 1.0),
        }
    }

    pub(super) fn is_small(&self, op: &Linear) -> bool {
        let points = if let Linear::Affine { from, .. } = op { size(from.shape()) } else { 0 };
        points <= self.largest() && size(op.input_shape()) <= self.largest() && op.input_shape().len() <= 5
    }

    // ---- values ----

    pub(super) fn value(&mut self, shape: &[usize], dtype: DType, depth: usize) -> NodeId {
        if self.rarely(4)
            && let Some(id) = self.existing(shape, dtype)
        {
            return id;
        }
        // Operations of every element type.
        if depth > 0
            && self.rarely(3)
            && let Some(id) = self.moved(shape, dtype, depth - 1)
        {
            return id;
        }
        match dtype {
            DType::Bool => self.mask(shape, depth),
            DType::I64 => self.int(shape, depth),
            DType::F64 | DType::F32 => self.floats(shape, dtype, depth),
        }
    }

    /// An operation that moves elements.
    pub(super) fn moved(&mut self, shape: &[usize], dtype: DType, depth: usize) -> Option<NodeId> {
        let rank = shape.len();
        match self.rng.below(10) {
            0..=4 => {
                let (op, factor) = self.operation(shape);
                let adds = matches!(&op, Linear::Affine { into, .. } if !into.is_injective());
                if !self.is_small(&op) || (adds && dtype == DType::Bool) {
                    return None;
                }
                let x = self.value(op.input_shape(), dtype, depth);
                let bound = factor * self.bound(x);
                (bound <= MOST).then(|| self.linear(op, x, bound))
            }
            5 | 6 => {
                let kept = self.rng.below(rank + 1);
                let (indices, rest) = shape.split_at(kept);
                let mut source: Vec<usize> = (0..1 + self.rng.below(2)).map(|_| 1 + self.rng.below(6)).collect();
                let ix = (0..source.len()).map(|_| self.value(indices, DType::I64, depth)).collect();
                source.extend(rest);
                let x = self.value(&source, dtype, depth);
                let bound = self.bound(x);
                Some(self.add(Op::Gather(x, ix), bound))
            }
            7 if size(shape) > 0 && rank > 0 => {
                let axis = self.rng.below(rank);
                let cut = self.rng.below(shape[axis] + 1);
                let (mut parts, mut bound) = (Vec::new(), 0.0f64);
                for n in [cut, shape[axis] - cut].into_iter().filter(|n| *n > 0) {
                    let mut part = shape.to_vec();
                    part[axis] = n;
                    parts.push(self.value(&part, dtype, depth));
                    bound = bound.max(self.bound(parts[parts.len() - 1]));
                }
                Some(self.add(Op::Concat(axis, parts), bound))
            }
            8 if self.inside < 2 => self.looped(shape, dtype, depth),
            9 if dtype == DType::I64 && self.rarely(2) => {
                let (mut from, axis) = (shape.to_vec(), self.rng.below(rank + 1));
                from.insert(axis, 1 + self.rng.below(4));
                let x = self.value(&from, dtype, depth);
                let op = self.one(&Reduce::all(axis));
                Some(self.add(Op::Reduce(op, x), 0.0))
            }
            _ => {
                let mask = self.value(shape, DType::Bool, depth);
                let branches = [0, 1]
                    .map(|_| if self.rarely(3) { self.zeros(shape, dtype) } else { self.value(shape, dtype, depth) });
                let bound = self.bound(branches[0]).max(self.bound(branches[1]));
                Some(self.add(Op::Select([mask, branches[0], branches[1]]), bound))
            }
        }
    }

    pub(super) fn zeros(&mut self, shape: &[usize], dtype: DType) -> NodeId {
        self.constant(Array::zeros(shape, dtype), 0.0)
    }

    /// A view of an input of this element type, or a constant.
    pub(super) fn leaf(&mut self, shape: &[usize], dtype: DType) -> NodeId {
        let inputs: Vec<NodeId> = (0..self.bounds.len() as NodeId)
            .filter(|id| matches!(self.b.node(*id).op, Op::Input(_)) && self.b.node(*id).dtype == dtype)
            .collect();
        if inputs.is_empty() || self.rarely(3) {
            let n = size(shape);
            let one = self.rng.below(2) == 0;
            let mut all: Vec<i64> = (0..n).map(|_| self.rng.below(7) as i64 - 2).collect();
            if one && n > 0 {
                all = vec![all[0]; n];
            }
            return match dtype {
                DType::Bool => self.constant(Array::new(shape, all.iter().map(|x| *x > 0).collect()), 0.0),
                DType::I64 if one && self.rarely(4) => {
                    let far = self.one(&[i64::MAX, i64::MIN, 1 << 62, 1 << 58, -(1 << 58), 12, -7]);
                    self.constant(Array::full(shape, far), 0.0)
                }
                DType::I64 => self.constant(Array::new(shape, all), 0.0),
                DType::F64 | DType::F32 => {
                    let all = Array::new(shape, all.iter().map(|x| *x as f64).collect());
                    self.constant(if dtype == DType::F32 { all.cast::<f32>() } else { all }, 4.0)
                }
            };
        }
        let x = self.one(&inputs);
        let (from, bound) = (self.of_shape(x), self.bound(x));
        if from[..] == *shape {
            return x;
        }
        let view = random_view(&mut self.rng, &from, shape);
        self.linear(Linear::read(view), x, bound)
    }

    pub(super) fn floats(&mut self, shape: &[usize], dtype: DType, depth: usize) -> NodeId {
        let Some(depth) = depth.checked_sub(1) else { return self.leaf(shape, dtype) };
        match self.rng.below(15) {
            0..=5 => {
                let (x, y) = (self.value(shape, dtype, depth), self.value(shape, dtype, depth));
                self.combined(x, y)
            }
            6 => {
                let x = self.value(shape, dtype, depth);
                let op = self.one(&[Unary::Neg, Unary::Neg, Unary::Abs, Unary::Relu]);
                self.add(Op::Unary(op, x), self.bound(x))
            }
            7 | 8 => self.contraction(shape, dtype, depth),
            9 | 10 => {
                let at = self.rng.below(shape.len() + 1).min(2);
                let mut indices = self.shape(2);
                indices.truncate(2);
                let base = if self.rarely(2) { self.zeros(shape, dtype) } else { self.value(shape, dtype, depth) };
                let ix = (0..at).map(|_| self.value(&indices, DType::I64, depth)).collect();
                let values: Vec<usize> =
                    if at == 0 { shape.to_vec() } else { indices.iter().chain(&shape[at..]).copied().collect() };
                if size(&values) > self.largest() {
                    return base;
                }
                let v = self.value(&values, dtype, depth);
                let bound = self.bound(base) + size(&indices).max(1) as f64 * self.bound(v);
                if bound > MOST { base } else { self.add(Op::ScatterAdd(base, ix, v), bound) }
            }
            11 => {
                let axis = self.rng.below(shape.len() + 1);
                let mut from = shape.to_vec();
                from.insert(axis, 1 + self.rng.below(4));
                let x = self.value(&from, dtype, depth);
                let op = self.one(&Reduce::all(axis));
                self.add(Op::Reduce(op, x), self.bound(x))
            }
            12 => {
                let small = self.value(shape, DType::I64, depth);
                let four = self.constant(Array::full(shape, 4i64), 0.0);
                let small = self.ints(IntBinary::Rem, small, four);
                self.add(Op::Discrete(Discrete::ToFloat(dtype), [small].as_slice().into()), 3.0)
            }
            13 => {
                let other = if dtype == DType::F64 { DType::F32 } else { DType::F64 };
                let x = self.value(shape, other, depth);
                self.linear(Linear::cast(shape, other, dtype), x, self.bound(x))
            }
            _ => {
                let small = self.value(shape, DType::Bool, depth);
                self.add(Op::Discrete(Discrete::ToFloat(dtype), [small].as_slice().into()), 1.0)
            }
        }
    }

    /// A sum, product or extremum that is exact.
    pub(super) fn combined(&mut self, x: NodeId, y: NodeId) -> NodeId {
        let (m, n) = (self.bound(x), self.bound(y));
        let products = [Binary::Mul, Binary::Mul, Binary::MulNoNan];
        let sums = [Binary::Add, Binary::Add, Binary::Sub];
        match self.rng.below(7) {
            0..=2 if m * n <= MOST => {
                let op = self.one(&products);
                self.add(Op::Binary(op, x, y), m * n)
            }
            0..=5 if m + n <= MOST => {
                let op = self.one(&sums);
                self.add(Op::Binary(op, x, y), m + n)
            }
            _ => {
                let op = self.one(&[Binary::Min, Binary::Max]);
                self.add(Op::Binary(op, x, y), m.max(n))
            }
        }
    }

    pub(super) fn contraction(&mut self, shape: &[usize], dtype: DType, depth: usize) -> NodeId {
        let mut space = shape.to_vec();
        let more = self.shape(2);
        space.extend(&more);
        let op = if self.rarely(3) {
            let space = self.shape(3);
            let [a, b] = [0, 1].map(|_| self.view(&space));
            Contract::new(a, b, random_view(&mut self.rng, shape, &space))
        } else {
            let out: Vec<usize> = (0..shape.len()).collect();
            let [a, b] = [0, 1].map(|_| self.view(&space));
            Contract::new(a, b, View::axes(&space, &out))
        };
        let sources = [op.a.source().to_vec(), op.b.source().to_vec()];
        let points = size(op.a.shape());
        if points > self.largest() || sources.iter().any(|s| size(s) > self.largest()) {
            return self.leaf(shape, dtype);
        }
        let [x, y] = sources.map(|source| self.value(&source, dtype, depth));
        let bound = points.max(1) as f64 * self.bound(x) * self.bound(y);
        if bound > MOST { self.leaf(shape, dtype) } else { self.add(Op::Contract(Box::new(op), x, y), bound) }
    }

    pub(super) fn discrete(&mut self, op: Discrete, args: &[NodeId]) -> NodeId {
        self.add(Op::Discrete(op, args.into()), 0.0)
    }

    /// Positions along an axis.
    pub(super) fn positions(&mut self, shape: &[usize]) -> NodeId {
        if shape.is_empty() {
            return self.leaf(shape, DType::I64);
        }
        let axis = self.rng.below(shape.len());
        let iota = self.discrete(Discrete::Iota { n: shape[axis] }, &[]);
        if shape.len() == 1 { iota } else { self.linear(Linear::replicate(shape, &[axis]), iota, 0.0) }
    }

    /// A small number in every place.
    pub(super) fn number(&mut self, shape: &[usize], least: i64) -> NodeId {
        let c = least + self.rng.below(6) as i64;
        self.constant(Array::full(shape, c), 0.0)
    }

    pub(super) fn ints(&mut self, op: IntBinary, x: NodeId, y: NodeId) -> NodeId {
        self.discrete(Discrete::IntBinary(op), &[x, y])
    }

    /// Integers that are affine in digits of positions, or nearly so: scaled, shifted, divided, of several axes.
    pub(super) fn digits(&mut self, shape: &[usize]) -> NodeId {
        let mut x = self.positions(shape);
        if self.rarely(3) && !shape.is_empty() && size(shape) > 0 {
            // The position among all elements.
            let flat = self.positions(&[size(shape)]);
            x = self.linear(Linear::reshape(&[size(shape)], shape), flat, 0.0);
        }
        for _ in 0..self.rng.below(5) {
            let op = self.one(&[
                IntBinary::Add,
                IntBinary::Sub,
                IntBinary::Mul,
                IntBinary::Quot,
                IntBinary::Quot,
                IntBinary::Rem,
                IntBinary::Rem,
            ]);
            let other = if self.rarely(3) { self.positions(shape) } else { self.number(shape, -1) };
            let args = if self.rarely(5) { [other, x] } else { [x, other] };
            x = self.ints(op, args[0], args[1]);
            if self.rarely(4) {
                let other = self.positions(shape);
                let op = self.one(&[IntBinary::Add, IntBinary::Sub]);
                x = self.ints(op, x, other);
            }
        }
        x
    }

    /// Masks that compare such integers with numbers: intervals, diagonals, and what two of them are together.
    pub(super) fn intervals(&mut self, shape: &[usize]) -> NodeId {
        let x = self.digits(shape);
        let compared = |maker: &mut Maker| {
            let op = maker.one(Compare::ALL);
            let mut y = maker.number(shape, -2);
            if maker.rarely(5) {
                y = maker.positions(shape);
            } else if maker.rarely(12) {
                let far = maker.one(&[i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1]);
                y = maker.constant(Array::full(shape, far), 0.0);
            }
            let mask = maker.discrete(Discrete::Compare(op), &[x, y]);
            if maker.rarely(4) { maker.discrete(Discrete::Not, &[mask]) } else { mask }
        };
        let mut mask = compared(self);
        for _ in 0..self.rng.below(3) {
            let other = compared(self);
            let op = self.one(&[Discrete::And, Discrete::Or]);
            mask = self.discrete(op, &[mask, other]);
        }
        mask
    }

    pub(super) fn int(&mut self, shape: &[usize], depth: usize) -> NodeId {
        let Some(depth) = depth.checked_sub(1) else {
            return if self.rarely(2) { self.leaf(shape, DType::I64) } else { self.digits(shape) };
        };
        if self.rarely(3) {
            return self.digits(shape);
        }
        match self.rng.below(12) {
            0..=5 => {
                let x = self.value(shape, DType::I64, depth);
                let y =
                    if self.rarely(2) { self.leaf(shape, DType::I64) } else { self.value(shape, DType::I64, depth) };
                let args = if self.rarely(4) { [y, x] } else { [x, y] };
                let op = self.one(IntBinary::ALL);
                self.ints(op, args[0], args[1])
            }
            6 => {
                let x = self.value(shape, DType::I64, depth);
                let op = self.one(IntUnary::ALL);
                self.discrete(Discrete::IntUnary(op), &[x])
            }
            7 => {
                let x = self.value(shape, DType::Bool, depth);
                self.discrete(Discrete::ToInt, &[x])
            }
            8 => {
                let dtype = self.one(&[self.float, DType::I64]);
                if self.rarely(3) && !shape.is_empty() {
                    let x = self.value(shape, dtype, depth);
                    let axis = self.rng.below(shape.len());
                    if self.rarely(3) {
                        let (largest, reverse) = (self.rarely(2), self.rarely(2));
                        return self.discrete(Discrete::PrefixArg { axis, largest, reverse }, &[x]);
                    }
                    let descending = self.rarely(2);
                    return self.discrete(Discrete::ArgSort { axis, descending }, &[x]);
                }
                let (mut from, axis) = (shape.to_vec(), self.rng.below(shape.len() + 1));
                from.insert(axis, 1 + self.rng.below(4));
                let x = self.value(&from, dtype, depth);
                let op = self.one(&[Discrete::ArgMax { axis }, Discrete::ArgMin { axis }]);
                self.discrete(op, &[x])
            }
            9 => self.leaf(shape, DType::I64),
            _ => self.positions(shape),
        }
    }

    pub(super) fn mask(&mut self, shape: &[usize], depth: usize) -> NodeId {
        let Some(depth) = depth.checked_sub(1) else { return self.leaf(shape, DType::Bool) };
        if self.rarely(2) {
            return self.intervals(shape);
        }
        match self.rng.below(10) {
            0..=5 => {
                let dtype = if self.rarely(5) { self.float } else { DType::I64 };
                let x = self.value(shape, dtype, depth);
                let y = if self.rarely(2) { self.leaf(shape, dtype) } else { self.value(shape, dtype, depth) };
                let op = self.one(Compare::ALL);
                self.discrete(Discrete::Compare(op), &[x, y])
            }
            6 => {
                let x = self.value(shape, DType::Bool, depth);
                self.discrete(Discrete::Not, &[x])
            }
            7 if self.rarely(2) => self.leaf(shape, DType::Bool),
            _ => {
                let (x, y) = (self.value(shape, DType::Bool, depth), self.value(shape, DType::Bool, depth));
                let op = self.one(&[Discrete::And, Discrete::Or]);
                self.discrete(op, &[x, y])
            }
        }
    }
}
