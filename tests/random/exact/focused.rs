//! Roots of random programs: groups of operations that rules treat together.

use polygrad::Array;
use polygrad::ops::{Binary, Discrete, IntBinary, Linear, Unary, View};
use polygrad::program::{Loop, NodeId, Op};
use polygrad::shape::size;

use super::maker::{MOST, Maker};

impl Maker {
    /// A value at the root of a program: operations that rules treat together.
    pub(super) fn focused(&mut self, shape: &[usize]) -> NodeId {
        match self.rng.below(10) {
            0 | 1 => {
                let mask = self.intervals(shape);
                let branches = [0, 1].map(|_| match self.rng.below(3) {
                    0 => self.zeros(shape, self.float),
                    1 => self.number_of_floats(shape),
                    _ => self.value(shape, self.float, 1),
                });
                let bound = self.bound(branches[0]).max(self.bound(branches[1]));
                self.add(Op::Select([mask, branches[0], branches[1]]), bound)
            }
            2 => {
                // Of what is itself read or computed, at positions.
                let kept = self.rng.below(shape.len() + 1);
                let (indices, rest) = shape.split_at(kept);
                let mut source: Vec<usize> = (0..1 + self.rng.below(2)).map(|_| 2 + self.rng.below(11)).collect();
                let ix: Vec<NodeId> = (0..source.len()).map(|_| self.digits(indices)).collect();
                source.extend(rest);
                let x = match self.rng.below(3) {
                    0 => self.moved(&source, self.float, 1),
                    1 => {
                        let x = self.value(&source, self.float, 1);
                        let op = self.one(&[Unary::Neg, Unary::Abs]);
                        Some(self.add(Op::Unary(op, x), self.bound(x)))
                    }
                    _ => None,
                };
                let x = x.unwrap_or_else(|| self.leaf(&source, self.float));
                let bound = self.bound(x);
                self.add(Op::Gather(x, ix), bound)
            }
            3 => self.sum_of_products(shape),
            4 => self.sum_of_pieces(shape),
            5 => self.stencil(shape),
            6 => self.contraction(shape, self.float, 2),
            7 => match self.looped(shape, self.float, 1) {
                Some(x) => x,
                None => self.leaf(shape, self.float),
            },
            8 => self.recurrent_rows(shape),
            _ => {
                // The sum of a scatter, over the axis of an index or another.
                let at = self.rng.below(shape.len() + 1);
                let mut wide = shape.to_vec();
                wide.insert(at, 1 + self.rng.below(4));
                let count = 1 + self.rng.below(wide.len());
                let each = vec![1 + self.rng.below(4)];
                let ix = (0..count).map(|_| self.digits(&each)).collect();
                let values: Vec<usize> = each.iter().chain(&wide[count..]).copied().collect();
                let (base, v) = (self.zeros(&wide, self.float), self.value(&values, self.float, 1));
                let bound = 4.0 * self.bound(v);
                let written = self.add(Op::ScatterAdd(base, ix, v), bound);
                self.linear(Linear::sum(&wide, &[at]), written, 4.0 * bound)
            }
        }
    }

    /// The last state of a recurrence that no bulk operation computes, over rows that are computed of copies of one value, along
    /// any of the axes in any order.
    fn recurrent_rows(&mut self, shape: &[usize]) -> NodeId {
        let n = if self.rarely(2) { 2 + self.rng.below(3) } else { shape.first().map_or(2, |n| *n) };
        let wide: Vec<usize> = [&[n], shape].concat();
        if shape.is_empty() || size(&wide) > self.largest() {
            return self.leaf(shape, self.float);
        }
        let axes: Vec<usize> = self.rng.permutation(wide.len()).into_iter().take(shape.len()).collect();
        let view = View::axes(&wide, &axes);
        let one = self.value(view.source(), self.float, 1);
        let copies = self.linear(Linear::read(view), one, self.bound(one));
        let rows = self.value(&wide, self.float, 1);
        let rows = if self.bound(rows) + self.bound(one) <= MOST { self.combined(rows, copies) } else { copies };
        let (rows, start) = (self.clamped(rows), self.value(shape, self.float, 1));
        let init = vec![self.clamped(start)];
        let mut inner = Maker::new(self.rng.split(), self.inside + 1, self.extents, self.float);
        let [carry, row] = [0, 1].map(|_| inner.input(shape, self.float, 8.0));
        let back = inner.add(Op::Unary(Unary::Neg, carry), 8.0);
        let next = inner.add(Op::Binary(Binary::Max, back, row), 8.0);
        let (body, reverse) = (inner.b.finish(&[next], &[]), self.rarely(2));
        let of =
            self.add(Op::Loop(Box::new(Loop { n, reverse, body, init, xs: vec![rows], captured: Vec::new() })), 0.0);
        self.add(Op::Output(of, 0), 8.0)
    }

    fn number_of_floats(&mut self, shape: &[usize]) -> NodeId {
        let c = self.rng.below(4) as f64 - 1.0;
        self.constant(Array::full_as(shape, self.float, c), c.abs())
    }

    /// A sum of a product of two or three factors, each of which has some axes of the space.
    fn sum_of_products(&mut self, shape: &[usize]) -> NodeId {
        let at = self.rng.below(shape.len() + 1);
        let mut space = shape.to_vec();
        let summed: Vec<usize> = (0..1 + self.rng.below(2)).map(|k| at + k).collect();
        summed.iter().for_each(|k| space.insert(*k, 2 + self.rng.below(4)));
        if size(&space) > self.largest() {
            return self.leaf(shape, self.float);
        }
        let mut product = None;
        for _ in 0..2 + self.rng.below(2) {
            let view = if self.rarely(3) {
                self.view(&space)
            } else {
                let mut axes: Vec<usize> = (0..space.len()).filter(|_| self.rng.below(2) == 0).collect();
                if axes.is_empty() {
                    axes.push(self.rng.below(space.len()));
                }
                View::axes(&space, &axes)
            };
            let source = view.source().to_vec();
            let x =
                if self.rarely(3) { self.contraction(&source, self.float, 1) } else { self.leaf(&source, self.float) };
            let bound = self.bound(x);
            let x = self.linear(Linear::read(view), x, bound);
            product = Some(match product {
                Some(y) if self.bound(y) * bound <= MOST => {
                    self.add(Op::Binary(Binary::Mul, y, x), self.bound(y) * bound)
                }
                Some(y) => y,
                None => x,
            });
        }
        let product = product.expect("two factors");
        let mask = self.intervals(&space);
        let product = if self.rarely(4) {
            let zeros = self.zeros(&space, self.float);
            self.add(Op::Select([mask, product, zeros]), self.bound(product))
        } else {
            product
        };
        let bound = self.bound(product) * size(&space) as f64;
        self.linear(Linear::sum(&space, &summed), product, bound)
    }

    /// A sum of neighbours along an axis, with zeros beside the ends, which is mostly multiplied by the position.
    pub(super) fn stencil(&mut self, shape: &[usize]) -> NodeId {
        let float = self.float;
        let x = self.value(shape, float, 1);
        if shape.is_empty() {
            return x;
        }
        let axis = if self.rarely(3) { self.rng.below(shape.len()) } else { shape.len() - 1 };
        let mut sum = None;
        for _ in 0..2 + self.rng.below(2) {
            let mut offset = vec![0; shape.len()];
            offset[axis] = self.rng.below(5) as i64 - 2;
            let rank = shape.len();
            let matrix: Vec<i64> = (0..rank * rank).map(|k| i64::from(k % (rank + 1) == 0)).collect();
            let bound = self.bound(x);
            let near = self.linear(Linear::read(View::affine(shape, shape, &matrix, &offset)), x, bound);
            sum = Some(match sum {
                Some(y) => self.add(Op::Binary(Binary::Add, y, near), self.bound(y) + bound),
                None => near,
            });
        }
        let sum = sum.expect("two neighbours");
        if self.rarely(4) {
            return sum;
        }
        let places = self.places(shape);
        self.combined(sum, places)
    }

    /// Positions, or digits of them, as floats.
    pub(super) fn places(&mut self, shape: &[usize]) -> NodeId {
        let (mut x, mut most) = (self.positions(shape), shape.iter().copied().max().unwrap_or(0).max(4));
        if self.rarely(2) || shape.is_empty() {
            let (digits, four) = (self.digits(shape), self.constant(Array::full(shape, 4i64), 0.0));
            (x, most) = (self.ints(IntBinary::Rem, digits, four), 4);
        }
        self.add(Op::Discrete(Discrete::ToFloat(self.float), [x].as_slice().into()), most as f64)
    }

    /// A sum of arrays that are zero but in a box, or in a part of the axes.
    fn sum_of_pieces(&mut self, shape: &[usize]) -> NodeId {
        let mut sum = None;
        // Pieces of one array or another, at their own places.
        let wholes = [0, 1].map(|_| {
            let x = self.leaf(shape, self.float);
            // Never a zero with a sign.
            if self.rarely(2) { self.add(Op::Unary(Unary::Abs, x), self.bound(x)) } else { x }
        });
        for _ in 0..2 + self.rng.below(3) {
            let (mut space, mut offset) = (Vec::new(), Vec::new());
            for n in shape {
                let whole = self.rng.below(2) == 0;
                let width = if whole || *n < 2 { *n } else { 1 + self.rng.below(*n - 1) };
                offset.push(self.rng.below(n - width + 1) as i64);
                space.push(width);
            }
            let rank = shape.len();
            let mut step = |k: usize| if self.rarely(6) && offset[k / rank.max(1)] == 0 && rank == 1 { 2 } else { 1 };
            let matrix: Vec<i64> = (0..rank * rank).map(|k| if k % (rank + 1) == 0 { step(k) } else { 0 }).collect();
            let into = View::affine(shape, &space, &matrix, &offset);
            let (from, x) = match self.rng.below(3) {
                0 => (into.clone(), self.one(&wholes)),
                kind => {
                    let from = if kind == 1 { View::identity(&space) } else { self.view(&space) };
                    let source = from.source().to_vec();
                    (from, self.value(&source, self.float, 1))
                }
            };
            let bound = self.bound(x);
            let piece = self.linear(Linear::affine(from, into), x, bound);
            sum = Some(match sum {
                Some(y) => self.add(Op::Binary(Binary::Add, y, piece), self.bound(y) + bound),
                None => piece,
            });
        }
        sum.expect("two pieces")
    }
}
