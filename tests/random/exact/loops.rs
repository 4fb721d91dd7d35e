//! Random loops of exact numbers.

use polygrad::ops::{Binary, IntBinary};
use polygrad::program::{Builder, Loop, NodeId, Op, Program, Slot};
use polygrad::shape::Shape;
use polygrad::{Array, DType};

use super::maker::Maker;

/// The bound on that of a carry of a loop.
const CARRY: f64 = 64.0;

impl Maker {
    /// A result of a loop: the last carry, or a stacked output if the shape has as many rows as there can be trips.
    pub(super) fn looped(&mut self, shape: &[usize], dtype: DType, depth: usize) -> Option<NodeId> {
        let stacked = shape.first().is_some_and(|n| (1..=4).contains(n)) && self.rarely(2);
        let n = if stacked { shape[0] } else { self.rng.below(4) };
        let row = if stacked { &shape[1..] } else { shape };
        // A carry of the result's kind, if that is returned, and another one.
        let mut carries: Vec<(Vec<usize>, DType)> = Vec::new();
        if !stacked {
            carries.push((row.to_vec(), dtype));
        }
        if self.rarely(2) {
            let kind = self.one(&[(Vec::new(), DType::I64), (row.to_vec(), DType::F64), (vec![3], DType::F64)]);
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
                let dtype = if k == 0 { DType::I64 } else { DType::F64 };
                rows.truncate(1);
                rows.extend((0..self.rng.below(2)).map(|_| 3));
                let x = self.value(&rows, dtype, depth.min(1));
                self.clamped(x)
            })
            .collect();
        let all: Vec<NodeId> =
            (0..self.bounds.len() as NodeId).filter(|id| !matches!(self.b.node(*id).op, Op::Loop(_))).collect();
        let captured: Vec<NodeId> = (0..self.rng.below(3)).map(|_| self.one(&all)).collect();
        let (body, bounds) = self.body(&carries, (&xs, &captured), (stacked, row, dtype), depth)?;
        let position = if stacked { carries.len() } else { 0 };
        let bound = bounds[position];
        let l = Loop { n, reverse: self.rarely(2), body, init, xs, captured };
        let of = self.add(Op::Loop(Box::new(l)), 0.0);
        Some(self.add(Op::Output(of, position), bound))
    }

    /// The body of a loop, and the bounds of its results.
    fn body(
        &mut self,
        carries: &[(Vec<usize>, DType)],
        (xs, captured): (&[NodeId], &[NodeId]),
        (stacked, row, dtype): (bool, &[usize], DType),
        depth: usize,
    ) -> Option<(Program, Vec<f64>)> {
        let mut inner =
            Maker { rng: self.rng.split(), b: Builder::literal(), bounds: Vec::new(), inside: self.inside + 1 };
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
            results.push(inner.next(k as NodeId, next));
        }
        if stacked {
            results.push(inner.value(row, dtype, depth));
        }
        let bounds = results.iter().map(|r| inner.bound(*r)).collect();
        Some((inner.b.finish(&results, &[]), bounds))
    }

    pub(super) fn input(&mut self, shape: &[usize], dtype: DType, bound: f64) -> NodeId {
        let id = self.b.input(Slot { name: String::new(), shape: Shape::from_slice(shape), dtype });
        self.bounds.push(bound);
        id
    }

    /// The next value of a carry: something is added, or it is something else.
    fn next(&mut self, carry: NodeId, x: NodeId) -> NodeId {
        let dtype = self.b.node(x).dtype;
        if dtype != DType::F64 {
            return match dtype {
                DType::I64 if self.rarely(2) => self.ints(IntBinary::Add, carry, x),
                DType::I64 | DType::Bool | DType::F64 | DType::F32 => x,
            };
        }
        // A few trips add little to the initial value.
        if 4.0 * self.bound(x) <= CARRY - 8.0 && self.rarely(2) {
            return self.add(Op::Binary(Binary::Add, carry, x), CARRY);
        }
        self.clamped(x)
    }

    /// A float between -8 and 8.
    fn clamped(&mut self, x: NodeId) -> NodeId {
        if self.b.node(x).dtype != DType::F64 || self.bound(x) <= 8.0 {
            return x;
        }
        let shape = self.of_shape(x);
        let [lo, hi] = [-8.0, 8.0].map(|c| self.constant(Array::full(&shape, c), 8.0));
        let x = self.add(Op::Binary(Binary::Min, x, hi), self.bound(x));
        self.add(Op::Binary(Binary::Max, x, lo), 8.0)
    }
}
