//! Recipes from seeds.
//!
//! Law: the same seed gives the same recipe. Shapes are known while it is made, so that operations are mostly on
//! shapes they fit; what grows too large is left out.

use std::collections::BTreeSet;

use polygrad::array::Rng;
use polygrad::interpreters::Shapes;
use polygrad::ops::{
    Binary, Compare, Contract, Discrete, FloatStep, IntBinary, IntUnary, Linear, Matrix, Reduce, Unary, View,
};
use polygrad::shape::size;
use polygrad::{BaseTensor, DType};

use crate::eval::{Entry, Pool};
use crate::points::{SINGULAR, degenerate as degenerate_point};
use crate::recipe::{Bound, Loop, Numbers, Recipe, Step};
use crate::ruled::Rules;
use crate::solved::Equation;
use crate::support::{random_contract, random_linear, random_shape};

/// Operations whose derivatives exist at every regular matrix.
const MATRICES: &[Matrix] = &[
    Matrix::Cholesky,
    Matrix::Inverse,
    Matrix::Det,
    Matrix::Minors { without: 1 },
    Matrix::SlogDet,
    Matrix::Solve { transposed: false },
    Matrix::Solve { transposed: true },
    Matrix::SolveTriangular { lower: true, transposed: false, unit: false },
    Matrix::SolveTriangular { lower: false, transposed: true, unit: true },
    Matrix::Qr,
    Matrix::Lstsq { transposed: false },
    Matrix::Lstsq { transposed: true },
    Matrix::Product { transposed: false },
    Matrix::Product { transposed: true },
    Matrix::Expm,
    Matrix::PrefixProduct,
    Matrix::Recurrence { transposed: false },
    Matrix::Recurrence { transposed: true },
];

/// Which extents the inputs of a program have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extents {
    Few,
    /// Some axes are long.
    Long,
    /// All axes have this one, so that no shape tells them apart.
    Same(usize),
    /// The last axes fill vectors, or nearly so.
    Rows,
}

impl Extents {
    /// Those of a program without long axes.
    fn drawn(rng: &mut Rng) -> Extents {
        match rng.below(16) {
            0..=2 => Extents::Same(2 + rng.below(3)),
            3 => Extents::Rows,
            _ => Extents::Few,
        }
    }

    /// The most elements of a value.
    fn largest(self) -> usize {
        match self {
            Extents::Few => 60,
            Extents::Same(_) => 100,
            Extents::Rows => 300,
            Extents::Long => 1000,
        }
    }

    /// The most operations a linear operation or contraction may do.
    fn dearest(self) -> usize {
        match self {
            Extents::Few | Extents::Same(_) => 400,
            Extents::Rows => 2000,
            Extents::Long => 4000,
        }
    }
}

/// A tame recipe of this seed, or one in which everything may happen.
pub(crate) fn recipe(seed: u64, tame: bool) -> Recipe {
    made(seed, tame, false, false)
}

/// A tame recipe of this seed with long axes, of which few elements are read, some of them out of bounds: rules that
/// pay only if much is left out fire in it.
pub(crate) fn long(seed: u64) -> Recipe {
    made(seed, true, true, false)
}

/// A tame recipe of this seed about control flow that depends on inputs: branches of several operations, loops that end by
/// a number, each within the other.
pub(crate) fn controlled(seed: u64) -> Recipe {
    made(seed, true, false, true)
}

fn made(seed: u64, tame: bool, long: bool, control: bool) -> Recipe {
    let mut rng = Rng::new(seed);
    let extents = if long { Extents::Long } else { Extents::drawn(&mut rng) };
    let mut maker = Maker { rng: rng.split(), tame, extents, control };
    let mut inputs = vec![maker.numbers(Some(DType::F64))];
    if control {
        // What decides: a number of trips, and a mask.
        inputs.extend([DType::I64, DType::Bool].map(|dtype| maker.numbers(Some(dtype))));
    }
    for _ in 0..rng.below(3) {
        inputs.push(maker.numbers(None));
    }
    let entries = inputs.iter().map(|i| Entry::new(Shapes::new(&i.shape, i.dtype), (-1.5, 2.0))).collect();
    let mut pool = Pool::new(tame, entries);
    // Few large programs, as they find less a second.
    let wanted = if rng.below(16) == 0 { 10 + rng.below(20) } else { 1 + rng.below(12) };
    let steps = maker.steps(&mut pool, wanted, 2);
    Recipe { tame, inputs, steps }
}

/// A recipe of this seed at numbers where functions have kinks, poles and ties.
pub(crate) fn singular(seed: u64) -> Recipe {
    let mut recipe = recipe(seed, false);
    let mut at = |numbers: &mut Numbers| numbers.seed = SINGULAR + numbers.seed % SINGULAR;
    recipe.inputs.iter_mut().for_each(&mut at);
    constants(&mut recipe.steps, &mut at);
    recipe
}

/// A recipe of this seed at degenerate points: a third of its arrays are degenerate as a whole, with structure or with
/// numbers at the ends of their range, and the others are as in [`singular`].
pub(crate) fn degenerate(seed: u64) -> Recipe {
    let mut recipe = singular(seed);
    let mut rng = Rng::new(seed ^ 0xd);
    let mut at = |numbers: &mut Numbers| {
        if rng.below(3) == 0 {
            numbers.seed = degenerate_point(numbers.seed);
        }
    };
    recipe.inputs.iter_mut().for_each(&mut at);
    constants(&mut recipe.steps, &mut at);
    recipe
}

fn constants(steps: &mut [Step], at: &mut dyn FnMut(&mut Numbers)) {
    for step in steps {
        match step {
            Step::Constant(numbers) => at(numbers),
            Step::Loop(l) | Step::While(_, _, l) => constants(&mut l.body, at),
            Step::Unary(..) | Step::Binary(..) | Step::Discrete(..) | Step::Linear(..) => {}
            Step::Select(..) | Step::Cond(..) => {}
            Step::Contract(..) | Step::Gather(..) | Step::Scatter(..) | Step::Concat(..) => {}
            Step::Reduce(..) | Step::Ruled(..) | Step::Matrix(..) | Step::Solved(..) => {}
        }
    }
}

struct Maker {
    rng: Rng,
    tame: bool,
    extents: Extents,
    /// Whether most steps are about control flow.
    control: bool,
}

impl Maker {
    fn one<X: Clone>(&mut self, of: &[X]) -> X {
        of[self.rng.below(of.len())].clone()
    }

    fn numbers(&mut self, dtype: Option<DType>) -> Numbers {
        let dtypes = [DType::F64, DType::F64, DType::F64, DType::F32, DType::I64, DType::I64, DType::Bool];
        let dtype = dtype.unwrap_or_else(|| self.one(&dtypes));
        let rank = if matches!(self.extents, Extents::Long | Extents::Rows) { 2 } else { 3 };
        let mut shape = random_shape(&mut self.rng, rank).to_vec();
        match self.extents {
            // Indices stay few.
            Extents::Long if dtype != DType::I64 && !shape.is_empty() => {
                let axis = self.rng.below(shape.len());
                shape[axis] = 40 + self.rng.below(161);
            }
            Extents::Rows => {
                let n = self.one(&[7, 8, 9, 15, 16, 17, 33]);
                shape.iter_mut().skip(1).for_each(|axis| *axis = n);
            }
            Extents::Same(n) => shape.iter_mut().for_each(|axis| *axis = n),
            Extents::Few | Extents::Long => {}
        }
        let mut seed = 100 + self.rng.below(900) as u64;
        if self.tame && seed.is_multiple_of(7) {
            seed += 1;
        }
        Numbers { shape, dtype, seed }
    }

    /// An operand: one of the last, or any.
    fn pick(&mut self, pool: &Pool<Shapes>) -> usize {
        let n = pool.entries().len();
        if self.rng.below(2) == 0 { n - 1 - self.rng.below(n.min(3)) } else { self.rng.below(n) }
    }

    /// An operand of such an element type, if there is one.
    fn pick_of(&mut self, pool: &Pool<Shapes>, fits: impl Fn(DType) -> bool) -> usize {
        let mut k = self.pick(pool);
        for _ in 0..4 {
            if fits(pool.entries()[k].t.dtype()) {
                break;
            }
            k = self.pick(pool);
        }
        k
    }

    fn float(&mut self, pool: &Pool<Shapes>) -> usize {
        self.pick_of(pool, DType::is_float)
    }

    fn int(&mut self, pool: &Pool<Shapes>) -> usize {
        self.pick_of(pool, |dtype| dtype == DType::I64)
    }

    fn mask(&mut self, pool: &Pool<Shapes>) -> usize {
        self.pick_of(pool, |dtype| dtype == DType::Bool)
    }

    /// Up to so many steps, done in the pool; loops in them may nest so deep.
    fn steps(&mut self, pool: &mut Pool<Shapes>, count: usize, depth: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..count {
            let new_steps = self.step(pool, depth);
            let mut tried = pool.clone();
            new_steps.iter().for_each(|step| tried.step(step));
            let new = &tried.entries()[pool.entries().len()..];
            if new.iter().all(|x| size(x.t.shape()) <= self.extents.largest() && x.t.shape().len() <= 5) {
                *pool = tried;
                steps.extend(new_steps);
            }
        }
        steps
    }

    /// A step, or what a step needs before it and the step.
    fn step(&mut self, pool: &Pool<Shapes>, depth: usize) -> Vec<Step> {
        if self.extents == Extents::Long && self.rng.below(4) == 0 {
            return match self.rng.below(2) {
                0 => vec![Step::Gather(self.pick(pool), vec![self.int(pool)])],
                _ => self.indexed(pool),
            };
        }
        if self.control && self.rng.below(3) == 0 {
            return match self.rng.below(4) {
                0 if depth > 0 => vec![self.run_while(pool, depth)],
                1 if depth > 0 => self.run(pool, depth),
                _ => self.branches(pool),
            };
        }
        let step = match self.rng.below(if depth > 0 { 29 } else { 25 }) {
            0 => {
                let mut numbers = self.numbers(None);
                if self.rng.below(2) == 0 {
                    numbers.seed = self.rng.below(5) as u64;
                }
                Step::Constant(numbers)
            }
            1..=4 => Step::Unary(self.unary(), self.float(pool)),
            5..=8 => Step::Binary(self.one(Binary::ALL), self.float(pool), self.float(pool)),
            9 | 10 => self.discrete(pool),
            11 if self.rng.below(2) == 0 => Step::Cond(self.mask(pool), self.pick(pool), self.pick(pool)),
            11 => Step::Select(self.mask(pool), self.pick(pool), self.pick(pool)),
            12..=15 => self.linear(pool),
            16 => self.contract(pool),
            17 if self.rng.below(2) == 0 => self.contract(pool),
            17 => {
                let axis = self.rng.below(3);
                Step::Reduce(self.one(&Reduce::all(axis)), self.float(pool))
            }
            18 | 19 => Step::Gather(self.pick(pool), self.some(1, 2, |maker| maker.int(pool))),
            20 => Step::Scatter(self.float(pool), self.some(1, 2, |maker| maker.int(pool)), self.float(pool)),
            21 => Step::Concat(self.rng.below(2), self.some(1, 3, |maker| maker.pick(pool))),
            22 if self.rng.below(2) == 0 => return self.stencil(pool),
            22 | 23 => return self.indexed(pool),
            // Rules are given zeros where a term has nothing, so what is not finite may differ.
            24 if self.tame => self.function(pool),
            24 => Step::Unary(self.unary(), self.float(pool)),
            25 if self.tame && self.rng.below(2) == 0 => self.run_while(pool, depth),
            _ => return self.run(pool, depth),
        };
        vec![step]
    }

    /// A comparison of numbers, or a mask, and a choice of what several operations compute on one side alone.
    fn branches(&mut self, pool: &Pool<Shapes>) -> Vec<Step> {
        let (start, mut steps) = (pool.entries().len(), Vec::new());
        let mut mask = self.mask(pool);
        if self.rng.below(3) > 0 {
            let compared = vec![self.float(pool), self.float(pool)];
            steps.push(Step::Discrete(Discrete::Compare(self.one(Compare::ALL)), compared));
            mask = start;
        }
        let mut sides = [self.float(pool), self.float(pool)];
        for side in &mut sides {
            for _ in 0..self.rng.below(4) {
                let step = match self.rng.below(3) {
                    0 => Step::Unary(self.unary(), *side),
                    _ => Step::Binary(self.one(Binary::ALL), *side, self.float(pool)),
                };
                steps.push(step);
                *side = start + steps.len() - 1;
            }
        }
        steps.push(Step::Cond(mask, sides[0], sides[1]));
        steps
    }

    /// A function with a derivative of its own.
    fn function(&mut self, pool: &Pool<Shapes>) -> Step {
        let (kind, a, b) = (self.rng.below(8), self.float(pool), self.float(pool));
        match kind {
            0..=3 => Step::Matrix(self.one(MATRICES), a, b),
            4..=6 => Step::Ruled(self.one(&[Rules::Jvp, Rules::Both, Rules::Host]), a, b),
            _ => Step::Solved(self.one(&Equation::ALL), a, b),
        }
    }

    /// A read or an addition at an index computed from integers, mostly those of trips: affine, cut off, in turns,
    /// divided.
    fn indexed(&mut self, pool: &Pool<Shapes>) -> Vec<Step> {
        let start = pool.entries().len();
        let mut index = self.int(pool);
        let mut steps = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let mut operand = self.int(pool);
            if self.rng.below(4) > 0 {
                operand = start + steps.len();
                let seed = if self.rng.below(2) == 0 { self.rng.below(4) } else { 100 + self.rng.below(900) };
                steps.push(Step::Constant(Numbers { shape: Vec::new(), dtype: DType::I64, seed: seed as u64 }));
            }
            steps.push(Step::Discrete(Discrete::IntBinary(self.one(IntBinary::ALL)), vec![index, operand]));
            index = start + steps.len() - 1;
        }
        let mut ix = vec![index];
        if self.rng.below(3) == 0 {
            ix.push(self.int(pool));
        }
        let array = self.float(pool);
        let add = self.rng.below(3) == 0;
        steps.push(if add { Step::Scatter(array, ix, self.float(pool)) } else { Step::Gather(array, ix) });
        steps
    }

    /// A sum of neighbours along an axis, with zeros beside its ends, multiplied by positions.
    fn stencil(&mut self, pool: &Pool<Shapes>) -> Vec<Step> {
        let start = pool.entries().len();
        let a = self.float(pool);
        let shape = pool.entries()[a].t.shape().to_vec();
        if shape.is_empty() || !self.tame {
            return self.indexed(pool);
        }
        let (rank, axis) = (shape.len(), self.rng.below(shape.len()));
        let matrix: Vec<i64> = (0..rank * rank).map(|k| i64::from(k % (rank + 1) == 0)).collect();
        let mut near = || {
            let mut offset = vec![0; rank];
            offset[axis] = self.rng.below(5) as i64 - 2;
            Step::Linear(Linear::read(View::affine(&shape, &shape, &matrix, &offset)), a)
        };
        let mut steps = vec![near(), near(), Step::Binary(Binary::Add, start, start + 1)];
        if self.rng.below(2) == 0 {
            steps.push(Step::Discrete(Discrete::Iota { n: shape[axis] }, Vec::new()));
            let along = Step::Linear(Linear::replicate(&shape, &[axis]), start + 3);
            steps.extend([along, Step::Binary(Binary::Mul, start + 2, start + 4)]);
        }
        steps
    }

    /// A list of some items.
    fn some(&mut self, least: usize, most: usize, mut item: impl FnMut(&mut Maker) -> usize) -> Vec<usize> {
        let count = least + self.rng.below(most - least + 1);
        (0..count).map(|_| item(self)).collect()
    }

    fn unary(&mut self) -> Unary {
        self.one(Unary::ALL)
    }

    fn discrete(&mut self, pool: &Pool<Shapes>) -> Step {
        let axis = self.rng.below(2);
        let (op, operand) = match self.rng.below(13) {
            0 | 1 => (Discrete::Compare(self.one(Compare::ALL)), self.pick(pool)),
            2 => (self.one(&[Discrete::And, Discrete::Or, Discrete::Not]), self.mask(pool)),
            3 => (Discrete::FloatStep(self.one(FloatStep::ALL)), self.float(pool)),
            4 => (Discrete::IntUnary(self.one(IntUnary::ALL)), self.int(pool)),
            5 | 6 => (Discrete::IntBinary(self.one(IntBinary::ALL)), self.int(pool)),
            7 => (Discrete::ToInt, self.pick(pool)),
            8 => (Discrete::ToFloat(self.one(&[DType::F64, DType::F32])), self.int(pool)),
            9 => (self.one(&[Discrete::ArgMax { axis }, Discrete::ArgMin { axis }]), self.pick(pool)),
            10 => (Discrete::ArgSort { axis, descending: self.rng.below(2) == 0 }, self.pick(pool)),
            11 => {
                let [largest, reverse] = [(); 2].map(|()| self.rng.below(2) == 0);
                (Discrete::PrefixArg { axis, largest, reverse }, self.pick(pool))
            }
            _ => (Discrete::Iota { n: self.rng.below(5) }, 0),
        };
        let operands = [operand, self.pick(pool)];
        Step::Discrete(op.clone(), operands[..op.arity()].to_vec())
    }

    fn linear(&mut self, pool: &Pool<Shapes>) -> Step {
        let a = self.pick(pool);
        let x = &pool.entries()[a].t;
        let (shape, dtype) = (x.shape().to_vec(), x.dtype());
        if dtype.is_float() && self.rng.below(8) == 0 {
            let into = self.one(&[DType::F64, DType::F32]);
            return Step::Linear(Linear::cast(&shape, dtype, into), a);
        }
        // Sums of infinities of both signs are NaN, wherever a transform adds them.
        if self.tame && dtype.is_float() && self.rng.below(10) == 0 {
            let op = if shape.is_empty() || self.rng.below(2) == 0 { self.fourier() } else { self.prefix_sum(&shape) };
            return Step::Linear(op, a);
        }
        let op = random_linear(&mut self.rng, &shape);
        let dear = matches!(&op, Linear::Affine { from, .. } if size(from.shape()) > self.extents.dearest());
        let large = dear || size(op.output_shape()) > self.extents.largest();
        // What is read outside of an array and multiplied with infinity may be 0 or NaN.
        let padded = matches!(&op, Linear::Affine { from, into } if !from.is_total() || !covers(into));
        Step::Linear(if large || (padded && !self.tame) { Linear::sum(&shape, &[]) } else { op }, a)
    }

    /// A transform along one of one or two axes, beside the axis of the real and imaginary parts.
    fn fourier(&mut self) -> Linear {
        let mut shape: Vec<usize> = (0..=self.rng.below(2)).map(|_| 1 + self.rng.below(5)).collect();
        let (parts, axis) = (self.rng.below(shape.len() + 1), self.rng.below(shape.len()));
        shape.insert(parts, 2);
        let op = Linear::fourier(&shape, parts, axis + usize::from(parts <= axis));
        if self.rng.below(2) == 0 { op } else { op.adjoint() }
    }

    /// Prefix or suffix sums along an axis.
    fn prefix_sum(&mut self, shape: &[usize]) -> Linear {
        let op = Linear::prefix_sum(shape, self.rng.below(shape.len()));
        if self.rng.below(2) == 0 { op } else { op.adjoint() }
    }

    fn contract(&mut self, pool: &Pool<Shapes>) -> Step {
        let (a, b) = (self.float(pool), self.float(pool));
        let mut op = random_contract(&mut self.rng);
        if let ([p, q], [r, s]) = (pool.entries()[a].t.shape(), pool.entries()[b].t.shape())
            && self.rng.below(2) == 0
        {
            op = self.product([*p, *q], [*r, *s]);
        } else if self.rng.below(2) == 0 || !self.tame {
            // The left operand as it is, the right one along some of its axes and new ones.
            let mut space = pool.entries()[a].t.shape().to_vec();
            let left: Vec<usize> = (0..space.len()).collect();
            space.extend(random_shape(&mut self.rng, 1));
            let mut axes = || (0..space.len()).filter(|_| self.rng.below(2) == 0).collect::<Vec<usize>>();
            let (right, out) = (axes(), axes());
            op = Contract::axes(&space, &left, &right, &out);
        }
        let large = [&op.a, &op.b, &op.out].iter().any(|view| size(view.source()) > self.extents.largest());
        if large || size(op.a.shape()) > self.extents.dearest() {
            op = Contract::axes(&[2], &[0], &[0], &[]);
        }
        Step::Contract(op, a, b)
    }

    /// A product of parts of two matrices, each of them perhaps transposed, backwards, and from some row and column on.
    fn product(&mut self, left: [usize; 2], right: [usize; 2]) -> Contract {
        let turned = [0, 1].map(|_| self.rng.below(2) == 0);
        let extents = |shape: [usize; 2], turned: bool| if turned { [shape[1], shape[0]] } else { shape };
        let ([rows, depth], [inner, columns]) = (extents(left, turned[0]), extents(right, turned[1]));
        let mut cut = |n: usize| n - self.rng.below(3).min(n.saturating_sub(1));
        let space = [cut(rows), cut(depth.min(inner)), cut(columns)];
        let mut side = |shape: [usize; 2], turned: bool, axes: [usize; 2]| {
            let axes = if turned { [axes[1], axes[0]] } else { axes };
            let (mut matrix, mut offset) = (Vec::new(), Vec::new());
            for (k, axis) in axes.into_iter().enumerate() {
                let first = self.rng.below(shape[k].saturating_sub(space[axis]) + 1) as i64;
                let step = if self.rng.below(4) == 0 { -1 } else { 1 };
                matrix.extend((0..3).map(|other| if other == axis { step } else { 0 }));
                offset.push(if step < 0 { first + space[axis] as i64 - 1 } else { first });
            }
            View::affine(&shape, &space, &matrix, &offset)
        };
        let (a, b) = (side(left, turned[0], [0, 1]), side(right, turned[1], [1, 2]));
        Contract::new(a, b, View::axes(&space, &[0, 2]))
    }

    fn run_while(&mut self, pool: &Pool<Shapes>, depth: usize) -> Step {
        // Without a bound, reverse mode is another program.
        let bound = if self.rng.below(2) == 0 { Bound::None } else { Bound::Most };
        let (n, k) = (self.rng.below(5), self.int(pool));
        let init = self.some(1, 2, |maker| maker.pick(pool));
        let mut inside = pool.clone();
        for c in init.iter().map(|c| pool.clone().carried(*c).t).collect::<Vec<_>>() {
            inside.push(c, (-4.0, 4.0));
        }
        let count = 1 + self.rng.below(4);
        let body = self.steps(&mut inside, count, depth - 1);
        let next = init.iter().map(|_| self.pick(&inside)).collect();
        let (xs, out) = (Vec::new(), Vec::new());
        Step::While(k, bound, Box::new(Loop { n, reverse: false, init, xs, body, next, out }))
    }

    fn run(&mut self, pool: &Pool<Shapes>, depth: usize) -> Vec<Step> {
        let n = self.rng.below(5);
        let init = self.some(0, 2, |maker| maker.pick(pool));
        let mut xs = self.some(0, 2, |maker| maker.pick(pool));
        let mut outside = pool.clone();
        let mut before = Vec::new();
        // Mostly the trip's number is known, as it is where an array is built from its indices.
        if self.rng.below(2) == 0 {
            let step = Step::Discrete(Discrete::Iota { n }, Vec::new());
            outside.step(&step);
            xs.push(outside.entries().len() - 1);
            before.push(step);
        }
        // Only the kinds matter of what the body sees.
        let mut inside = outside.clone();
        for k in &init {
            let c = outside.carried(*k).t;
            inside.push(c, (-4.0, 4.0));
        }
        for k in &xs {
            let x = outside.sequence(*k, n).t;
            inside.push(Shapes::new(&x.shape()[1..], x.dtype()), (-4.0, 4.0));
        }
        let count = 1 + self.rng.below(6);
        let mut body = self.steps(&mut inside, count, depth - 1);
        // A carry becomes anything, or something is added to it.
        let mut next = Vec::new();
        for k in 0..init.len() {
            let mut to = self.pick(&inside);
            if self.rng.below(3) == 0 {
                let mut sums = vec![(Binary::Add, outside.entries().len() + k)];
                if !xs.is_empty() && self.rng.below(3) == 0 {
                    // `x - (y - f)`, of rows and of what was computed.
                    let row = |maker: &mut Maker| outside.entries().len() + init.len() + maker.rng.below(xs.len());
                    sums = vec![(Binary::Sub, row(self)), (Binary::Sub, row(self))];
                }
                for (op, operand) in sums {
                    let sum = Step::Binary(op, operand, to);
                    inside.step(&sum);
                    body.push(sum);
                    to = inside.entries().len() - 1;
                }
            }
            next.push(to);
        }
        let out = self.some(usize::from(init.is_empty()), 2, |maker| maker.pick(&inside));
        let reverse = self.rng.below(2) == 0;
        before.push(Step::Loop(Box::new(Loop { n, reverse, init, xs, body, next, out })));
        before
    }
}

/// Whether the view looks at all of its source, and everywhere at something.
fn covers(view: &View) -> bool {
    let mut seen = BTreeSet::new();
    let mut index = vec![0; view.shape().len()];
    for k in 0..size(view.shape()) {
        let mut rest = k;
        for (i, n) in index.iter_mut().zip(view.shape()).rev() {
            *i = rest % n;
            rest /= n;
        }
        seen.extend(view.at(&index).map(|at| at.to_vec()));
    }
    view.is_total() && seen.len() == size(view.source())
}
