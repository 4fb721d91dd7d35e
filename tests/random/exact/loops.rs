//! Random loops of exact numbers.

use polygrad::ops::{Binary, Discrete, IntBinary, Linear, Unary, View};
use polygrad::program::{Loop, NodeId, Op, Program, Slot};
use polygrad::shape::Shape;
use polygrad::{Array, DType};

use super::maker::{MOST, Maker};

/// The bound on that of a carry of a loop.
const CARRY: f64 = 64.0;

impl Maker {
    /// A result of a loop: the last carry, or a stacked output if the shape has as many rows as there can be trips.
    pub(super) fn looped(&mut self, shape: &[usize], dtype: DType, depth: usize) -> Option<NodeId> {
        let stacked = shape.first().is_some_and(|n| (1..=4).contains(n) || *n == self.trips) && self.rarely(2);
        let n = match (stacked, self.rarely(3)) {
            (true, _) => shape[0],
            (false, true) => self.rng.below(4),
            (false, false) => self.trips,
        };
        let row = if stacked { &shape[1..] } else { shape };
        // A carry of the result's kind, if that is returned, and another one.
        let mut carries: Vec<(Vec<usize>, DType)> = Vec::new();
        if !stacked {
            carries.push((row.to_vec(), dtype));
        }
        if self.rarely(2) {
            let kind = self.one(&[
                (Vec::new(), DType::I64),
                (Vec::new(), DType::Bool),
                (row.to_vec(), self.float),
                (vec![3], self.float),
            ]);
            carries.push(kind);
        }
        let mut init = Vec::new();
        for (shape, dtype) in &carries {
            let x = self.value(shape, *dtype, depth.min(1));
            init.push(self.clamped(x));
        }
        let mut rows: Vec<usize> = vec![n];
        let xs: Vec<NodeId> = (0..self.rng.below(3))
            .map(|k| {
                let dtype = if k == 0 && self.rarely(2) { DType::I64 } else { self.float };
                rows.truncate(1);
                if self.rarely(2) {
                    rows.extend(row);
                } else {
                    rows.extend((0..self.rng.below(2)).map(|_| 3));
                }
                self.rows(&rows, dtype, depth.min(1))
            })
            .collect();
        let all: Vec<NodeId> =
            (0..self.bounds.len() as NodeId).filter(|id| !matches!(self.b.node(*id).op, Op::Loop(_))).collect();
        let count = if all.is_empty() { 0 } else { self.rng.below(3) };
        let captured: Vec<NodeId> = (0..count).map(|_| self.one(&all)).collect();
        let (body, bounds) = self.body(&carries, (&xs, &captured), (stacked, row, dtype), depth)?;
        let position = if stacked { carries.len() } else { 0 };
        let bound = bounds[position];
        let further = if stacked { position + 1 } else { carries.len() };
        let l = Loop { n, reverse: self.rarely(2), body, init, xs, captured };
        let of = self.add(Op::Loop(Box::new(l)), 0.0);
        let result = self.add(Op::Output(of, position), bound);
        // Others may use the states of the trips, too.
        for (k, bound) in bounds.iter().enumerate().skip(further) {
            let states = self.add(Op::Output(of, k), *bound);
            if self.b.node(states).dtype == self.float {
                self.states.push(states);
            }
        }
        Some(result)
    }

    /// The body of a loop, and the bounds of its results.
    fn body(
        &mut self,
        carries: &[(Vec<usize>, DType)],
        (xs, captured): (&[NodeId], &[NodeId]),
        (stacked, row, dtype): (bool, &[usize], DType),
        depth: usize,
    ) -> Option<(Program, Vec<f64>)> {
        let mut inner = Maker::new(self.rng.split(), self.inside + 1, self.extents, self.float);
        for (shape, dtype) in carries {
            inner.input(shape, *dtype, CARRY);
        }
        for x in xs {
            inner.input(&self.of_shape(*x)[1..], self.b.node(*x).dtype, self.bound(*x));
        }
        for c in captured {
            inner.input(&self.of_shape(*c), self.b.node(*c).dtype, self.bound(*c));
        }
        let mut results = Vec::new();
        for (k, (shape, dtype)) in carries.iter().enumerate() {
            let next = inner.value(shape, *dtype, depth);
            let next = inner.with_number_of_trip(carries, next);
            results.push(inner.next(k as NodeId, next));
        }
        if stacked {
            let output = inner.value(row, dtype, depth);
            results.push(inner.with_number_of_trip(carries, output));
        }
        for k in 0..carries.len() {
            if carries[k].1.is_float() && self.rarely(3) {
                results.extend([k as NodeId, results[k]]);
            }
        }
        let bounds = results.iter().map(|r| inner.bound(*r)).collect();
        Some((inner.b.finish(&results, &[]), bounds))
    }

    /// A float with an integer that is carried added to it, now and then.
    fn with_number_of_trip(&mut self, carries: &[(Vec<usize>, DType)], x: NodeId) -> NodeId {
        let (shape, dtype) = (self.of_shape(x), self.b.node(x).dtype);
        let count = carries.iter().position(|(shape, dtype)| shape.is_empty() && *dtype == DType::I64);
        let Some(count) = count.filter(|_| dtype.is_float() && self.bound(x) < 8.0 && self.rarely(2)) else { return x };
        let four = self.constant(Array::scalar(4i64), 0.0);
        let small = self.ints(IntBinary::Rem, count as NodeId, four);
        let float = self.add(Op::Discrete(Discrete::ToFloat(dtype), [small].as_slice().into()), 3.0);
        let all = self.linear(Linear::replicate(&shape, &[]), float, 3.0);
        self.add(Op::Binary(Binary::Add, x, all), self.bound(x) + 3.0)
    }

    pub(super) fn input(&mut self, shape: &[usize], dtype: DType, bound: f64) -> NodeId {
        let id = self.b.input(Slot { name: String::new(), shape: Shape::from_slice(shape), dtype });
        self.bounds.push(bound);
        id
    }

    /// The next value of a carry: something is added, or it is something else.
    fn next(&mut self, carry: NodeId, x: NodeId) -> NodeId {
        let dtype = self.b.node(x).dtype;
        match dtype {
            DType::I64 if self.rarely(2) => return self.counted(carry, x),
            // A mask that is false at last, beside carries that go on.
            DType::Bool if !self.rarely(3) => return self.discrete(Discrete::And, &[carry, x]),
            DType::I64 | DType::Bool => return x,
            DType::F64 | DType::F32 => {}
        }
        if self.rarely(3) {
            let sum = self.terms(carry, x);
            return self.clamped(sum);
        }
        // A few trips add little to the initial value.
        if self.trips.max(4) as f64 * self.bound(x) <= CARRY - 8.0 && self.rarely(2) {
            let op = self.one(&[Binary::Add, Binary::Sub]);
            let [a, b] = if self.rarely(3) { [x, carry] } else { [carry, x] };
            return self.add(Op::Binary(op, a, b), CARRY);
        }
        self.clamped(x)
    }

    /// What an integer carry becomes: more or less by something, mostly the same in all trips.
    fn counted(&mut self, carry: NodeId, x: NodeId) -> NodeId {
        let shape = self.of_shape(carry);
        let by = match self.rng.below(3) {
            0 => x,
            1 => self.number(&shape, -2),
            _ => self.given(&shape, DType::I64),
        };
        let op = self.one(&[IntBinary::Add, IntBinary::Add, IntBinary::Sub]);
        let [a, b] = if self.rarely(4) { [by, carry] } else { [carry, by] };
        self.ints(op, a, b)
    }

    /// A sum and difference, in brackets, of what depends on the carry and of what does not.
    fn terms(&mut self, carry: NodeId, x: NodeId) -> NodeId {
        let (shape, dtype) = (self.of_shape(x), self.b.node(x).dtype);
        let op = self.one(&[Unary::Neg, Unary::Abs, Unary::Relu]);
        let mut sum = self.add(Op::Unary(op, carry), self.bound(carry));
        if self.rarely(2) {
            sum = carry;
        }
        for k in 0..2 + self.rng.below(2) {
            let term = match self.rarely(3) {
                true if k == 0 => x,
                true => self.value(&shape, dtype, 1),
                false => self.given(&shape, dtype),
            };
            let bound = self.bound(sum) + self.bound(term);
            let op = self.one(&[Binary::Add, Binary::Sub, Binary::Sub]);
            let [a, b] = if self.rarely(2) { [sum, term] } else { [term, sum] };
            sum = self.add(Op::Binary(op, a, b), bound);
        }
        sum
    }

    /// An input of this kind that is not the first one, or what is made of inputs.
    fn given(&mut self, shape: &[usize], dtype: DType) -> NodeId {
        let fits = |id: &NodeId| {
            let node = self.b.node(*id);
            matches!(node.op, Op::Input(_)) && node.dtype == dtype && node.shape[..] == *shape
        };
        let all: Vec<NodeId> = (1..self.bounds.len() as NodeId).filter(fits).collect();
        if all.is_empty() { self.leaf(shape, dtype) } else { self.one(&all) }
    }

    /// Rows of a loop: often what another loop reads, or what is computed of copies of one row.
    fn rows(&mut self, shape: &[usize], dtype: DType, depth: usize) -> NodeId {
        let read: Vec<NodeId> = self.sequences.clone();
        let fits = |id: &NodeId| self.of_shape(*id)[..] == *shape && self.b.node(*id).dtype == dtype;
        let read: Vec<NodeId> = read.into_iter().filter(fits).collect();
        let mut x = if read.is_empty() || self.rarely(3) { self.value(shape, dtype, depth) } else { self.one(&read) };
        let often = if shape.len() > 2 { 2 } else { 3 };
        if self.rarely(often) && dtype.is_float() && shape.len() > 1 {
            let bound = self.bound(x);
            // The axes of the copied rows in any order.
            let mut axes: Vec<usize> = (1..shape.len()).collect();
            let order = self.rng.permutation(axes.len());
            axes = order.into_iter().map(|k| axes[k]).collect();
            let view = View::axes(shape, &axes);
            let row = self.value(view.source(), dtype, depth);
            let copies = self.linear(Linear::read(view), row, self.bound(row));
            x = if bound + self.bound(row) <= MOST { self.combined(x, copies) } else { copies };
        }
        let x = self.clamped(x);
        self.sequences.push(x);
        x
    }

    /// A float between -8 and 8.
    pub(super) fn clamped(&mut self, x: NodeId) -> NodeId {
        if !self.b.node(x).dtype.is_float() || self.bound(x) <= 8.0 {
            return x;
        }
        let shape = self.of_shape(x);
        let dtype = self.b.node(x).dtype;
        let [lo, hi] = [-8.0, 8.0].map(|c| self.constant(Array::full_as(&shape, dtype, c), 8.0));
        let x = self.add(Op::Binary(Binary::Min, x, hi), self.bound(x));
        self.add(Op::Binary(Binary::Max, x, lo), 8.0)
    }
}
