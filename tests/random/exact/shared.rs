//! Random results that read one value: shifted, cut, reduced, changed in place, in products with itself.
//!
//! Compiled, the value is stored once, and whoever reads it in another order of elements must be done before it changes.

use polygrad::ops::{Binary, Contract, Discrete, Linear, Reduce, Unary, View};
use polygrad::program::{NodeId, Op};
use polygrad::shape::size;

use super::maker::{MOST, Maker};

impl Maker {
    pub(super) fn sharing(&mut self) -> Vec<NodeId> {
        let mut shape = self.shape(3);
        while shape.is_empty() || size(&shape) > self.largest() {
            shape = vec![self.extent(1), self.extent(0)];
        }
        let float = self.float;
        let x = self.value(&shape, float, 2);
        let y = self.computed(x);
        let mut results: Vec<NodeId> = (0..2 + self.rng.below(3)).map(|_| self.reading(y)).collect();
        // What reads the states of a loop, too, shares them with the loop.
        if let Some(states) = self.states.last().copied().filter(|id| !self.of_shape(*id).is_empty()) {
            results.push(self.reading(states));
        }
        if self.rarely(4) {
            results.push(y);
        }
        results
    }

    /// An elementwise function, of a transposed value now and then.
    fn computed(&mut self, x: NodeId) -> NodeId {
        let shape = self.of_shape(x);
        let x = if shape.len() == 2 && shape[0] == shape[1] && self.rarely(3) {
            self.linear(Linear::permute(&shape, &[1, 0]), x, self.bound(x))
        } else {
            x
        };
        let op = self.one(&[Unary::Neg, Unary::Abs, Unary::Relu]);
        let y = self.add(Op::Unary(op, x), self.bound(x));
        let other = self.leaf(&shape, self.float);
        if self.rarely(2) { self.combined(y, other) } else { y }
    }

    /// A part along an axis, forwards or backwards, perhaps every second element.
    fn part(&mut self, shape: &[usize], axis: usize) -> View {
        let n = shape[axis];
        let step = self.one(&[1i64, 1, 1, -1, 2]);
        let most = n.div_ceil(step.unsigned_abs() as usize);
        let len = if self.rarely(3) { most } else { 1 + self.rng.below(most) };
        let first = self.rng.below(n - (len - 1) * step.unsigned_abs() as usize) as i64;
        let (mut part, mut offset) = (shape.to_vec(), vec![0; shape.len()]);
        part[axis] = len;
        offset[axis] = if step < 0 { first + len as i64 - 1 } else { first };
        let rank = shape.len();
        let scale = |k: usize| if k == axis { step } else { 1 };
        let matrix: Vec<i64> =
            (0..rank * rank).map(|k| if k % (rank + 1) == 0 { scale(k / rank) } else { 0 }).collect();
        View::affine(shape, &part, &matrix, &offset)
    }

    /// A result that reads a value in its own way.
    fn reading(&mut self, y: NodeId) -> NodeId {
        let (shape, bound) = (self.of_shape(y), self.bound(y));
        if shape.is_empty() {
            return y;
        }
        let (n, axis) = (size(&shape), self.rng.below(shape.len()));
        if n == 0 {
            return y;
        }
        match self.rng.below(8) {
            0 => {
                // The elements in their order, some places on.
                let flat = self.linear(Linear::reshape(&shape, &[n]), y, bound);
                let part = View::affine(&[n], &[n], &[1], &[self.rng.below(5) as i64 - 2]);
                let part = if self.rarely(2) { part } else { self.part(&[n], 0) };
                let x = self.linear(Linear::read(part), flat, bound);
                self.computed(x)
            }
            1 => {
                let part = self.part(&shape, axis);
                let x = self.linear(Linear::read(part), y, bound);
                self.computed(x)
            }
            2 => {
                let op = self.one(&Reduce::all(axis));
                self.add(Op::Reduce(op, y), bound)
            }
            3 | 4 => self.product_of_views(y),
            5 => {
                // A part is added to another part.
                let (to, from) = (self.part(&shape, axis), self.part(&shape, axis));
                let mut lens = [to.shape()[axis], from.shape()[axis]];
                lens.sort_unstable();
                let mut space = shape.clone();
                space[axis] = lens[0];
                let cut = |view: &View| {
                    let rank = space.len();
                    let matrix: Vec<i64> = (0..rank).flat_map(|k| view.row(k).to_vec()).collect();
                    View::affine(&shape, &space, &matrix, view.offset())
                };
                let op = self.one(&[Unary::Neg, Unary::Abs]);
                let x = self.linear(Linear::read(cut(&from)), y, bound);
                let x = self.add(Op::Unary(op, x), bound);
                let put = self.linear(Linear::affine(View::identity(&space), cut(&to)), x, bound);
                self.add(Op::Binary(Binary::Add, y, put), 2.0 * bound)
            }
            6 => {
                let places = self.places(&shape);
                self.combined(y, places)
            }
            _ => {
                let wide: Vec<usize> = [&[2], &shape[..]].concat();
                if size(&wide) > self.largest() {
                    return self.computed(y);
                }
                let axes: Vec<usize> = (1..wide.len()).collect();
                let x = self.linear(Linear::replicate(&wide, &axes), y, bound);
                let other = self.leaf(&wide, self.float);
                let x = self.combined(x, other);
                let of = self.one(&[Discrete::ArgMax { axis: 0 }, Discrete::ArgMin { axis: 0 }]);
                if self.rarely(2) { self.discrete(of, &[x]) } else { self.computed(x) }
            }
        }
    }

    /// A product of two matrices made of parts, with offsets, of a value and of another one.
    fn product_of_views(&mut self, y: NodeId) -> NodeId {
        let shape = self.of_shape(y);
        let [rows, depth, columns] = [1, 0, 0].map(|others| self.extent(others));
        let space = [rows, depth, columns];
        if size(&space) > self.largest() {
            return self.computed(y);
        }
        let (float, of_y) = (self.float, shape.len() == 2);
        // A side of the product along two axes of the space, and what it reads.
        let side = |maker: &mut Maker, axes: [usize; 2]| {
            let axes = if maker.rarely(2) { [axes[1], axes[0]] } else { axes };
            let (mut matrix, mut offset, mut source) = (Vec::new(), Vec::new(), Vec::new());
            for (k, axis) in axes.into_iter().enumerate() {
                let step = maker.one(&[1i64, 1, 1, -1, 2]);
                let n = if of_y { shape[k] } else { step.unsigned_abs() as usize * space[axis] + maker.rng.below(3) };
                let first = maker.rng.below(4).min(n) as i64;
                matrix.extend((0..3).map(|other| if other == axis { step } else { 0 }));
                offset.push(if step < 0 { first + space[axis] as i64 - 1 } else { first });
                source.push(n);
            }
            let view = View::affine(&source, &space, &matrix, &offset);
            let x = if of_y && maker.rarely(2) {
                y
            } else {
                let x = maker.value(&source, float, 1);
                maker.computed(x)
            };
            (view, x)
        };
        let (left, a) = side(self, [0, 1]);
        let (right, b) = side(self, [1, 2]);
        let bound = depth as f64 * self.bound(a) * self.bound(b);
        if bound > 16.0 * MOST {
            return self.computed(y);
        }
        let op = Contract::new(left, right, View::axes(&space, &[0, 2]));
        self.add(Op::Contract(Box::new(op), a, b), bound)
    }
}
