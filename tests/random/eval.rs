//! What a recipe means: a function generic in the interpreter, over the raw methods of `BaseTensor`.
//!
//! Law: which operations are done depends on the recipe and on shapes, never on numbers. Each value comes with an
//! interval it is expected in, found in the same way in every interpreter; from it a tame recipe knows where to
//! bend an operand into the domain of an operation.

use polygrad::ops::{Binary, Call, Compare, Contract, Discrete, FloatStep, IntBinary, Linear, Matrix, Unary, View};
use polygrad::shape::{Shape, size, strides};
use polygrad::{Array, BaseTensor, DType, Shapes, Tensor};

use crate::infinities::{self, Row};
use crate::points::numbers;
use crate::recipe::{Bound, Loop, Recipe, Step};
use crate::rounding::{rounded, rounded_last, rounded_sum};
use crate::ruled::{self, Rules};
use crate::tapped::looked_at;
use crate::unwritten::unwritten;

type Vector<T> = Tensor<T, 1>;

/// Bounds of the elements, for floats.
type Interval = (f64, f64);

/// Where the numbers of a tame recipe are.
const USUAL: Interval = (-4.0, 4.0);

/// A value of the pool.
#[derive(Clone)]
pub(crate) struct Entry<T> {
    pub(crate) t: T,
    within: Interval,
}

/// The values computed so far.
#[derive(Clone)]
pub(crate) struct Pool<T> {
    tame: bool,
    entries: Vec<Entry<T>>,
    used: Vec<bool>,
    /// Whether this is the pool of a body.
    inside: bool,
}

fn hull(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

fn sum(a: Interval, b: Interval) -> Interval {
    (a.0 + b.0, a.1 + b.1)
}

fn product(a: Interval, b: Interval) -> Interval {
    let ends = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    (ends.into_iter().fold(f64::INFINITY, f64::min), ends.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

/// The numbers between two ends, some more than the ends.
fn samples((lo, hi): Interval) -> impl Iterator<Item = f64> {
    (0..=8).map(move |k| lo + (hi - lo) * f64::from(k) / 8.0)
}

/// The interval that these values are in, with a margin for those between them.
fn around(values: impl Iterator<Item = f64>) -> Interval {
    let (lo, hi) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |r, y| hull(r, (y, y)));
    let margin = 0.05 * (hi - lo);
    (lo - margin, hi + margin)
}

/// Where operands are wanted: the domain tests sample, but across kinks, too.
fn unary_domain(op: Unary) -> Interval {
    if matches!(op, Unary::Abs | Unary::Relu) { USUAL } else { op.domain() }
}

fn binary_domain(op: Binary) -> [Interval; 2] {
    let across = matches!(op, Binary::Min | Binary::Max | Binary::MulNoNan | Binary::Add | Binary::Sub);
    if across { [USUAL, USUAL] } else { op.domain() }
}

fn splat<T: BaseTensor>(like: &T, c: f64) -> T {
    T::constant(Array::full_as(like.shape(), like.dtype(), c))
}

/// An index within an axis of size `n`.
fn clamped<T: BaseTensor>(i: &T, n: usize) -> T {
    let last = splat(i, n.saturating_sub(1) as f64);
    let i = T::discrete(&Discrete::IntBinary(IntBinary::Min), &[i, &last]);
    T::discrete(&Discrete::IntBinary(IntBinary::Max), &[&i, &splat(&i, 0.0)])
}

impl<T: BaseTensor> Entry<T> {
    pub(crate) fn new(t: T, within: Interval) -> Entry<T> {
        Entry { t, within }
    }

    /// The value with this element type.
    fn of_type(&self, dtype: DType) -> Entry<T> {
        let t = &self.t;
        let converted = match (t.dtype(), dtype) {
            (DType::F64, DType::F64) | (DType::F32, DType::F32) | (DType::I64, DType::I64) => return self.clone(),
            (DType::Bool, DType::Bool) => return self.clone(),
            (from @ (DType::F64 | DType::F32), DType::F64 | DType::F32) => {
                return Entry::new(t.linear(&Linear::cast(t.shape(), from, dtype)), self.within);
            }
            (DType::F64 | DType::F32, DType::I64) => {
                let doubled = t.binary(Binary::Mul, &splat(t, 2.0));
                infinities::note_decision(&Discrete::ToInt, &doubled);
                T::discrete(&Discrete::ToInt, &[&doubled])
            }
            (DType::Bool, DType::I64) => T::discrete(&Discrete::ToInt, &[t]),
            (DType::F64 | DType::F32 | DType::I64, DType::Bool) => {
                let above = Discrete::Compare(Compare::Gt);
                infinities::note_decision(&above, t);
                T::discrete(&above, &[t, &splat(t, 0.0)])
            }
            // Integers can be as large as they like.
            (DType::I64, DType::F64 | DType::F32) => {
                let small = T::discrete(&Discrete::IntBinary(IntBinary::Rem), &[t, &splat(t, 4.0)]);
                return Entry::new(T::discrete(&Discrete::ToFloat(dtype), &[&small]), (-3.0, 3.0));
            }
            (DType::Bool, DType::F64 | DType::F32) => {
                return Entry::new(T::discrete(&Discrete::ToFloat(dtype), &[t]), (0.0, 1.0));
            }
        };
        Entry::new(converted, USUAL)
    }

    /// The value as a float, of the type it has if that is one.
    fn float(&self) -> Entry<T> {
        if self.t.dtype().is_float() { self.clone() } else { self.of_type(DType::F64) }
    }

    /// The value as numbers, which a mask is not.
    fn number(&self) -> Entry<T> {
        if self.t.dtype() == DType::Bool { self.of_type(DType::F64) } else { self.clone() }
    }

    /// The value in this shape: row-major elements, from the start again where they are too few; zeros if there are
    /// none.
    fn of_shape(&self, shape: &[usize]) -> Entry<T> {
        let from = self.t.shape();
        if from == shape {
            return self.clone();
        }
        if from.is_empty() {
            return Entry::new(self.t.linear(&Linear::replicate(shape, &[])), self.within);
        }
        let (have, need) = (size(from), size(shape));
        let flat = self.t.linear(&Linear::reshape(from, &[have]));
        let within = hull(self.within, (0.0, 0.0));
        if have >= need {
            return Entry::new(flat.linear(&Linear::read(View::affine(&[have], shape, &strides(shape), &[0]))), within);
        }
        if have == 0 {
            return Entry::new(T::zeros(shape, flat.dtype()), within);
        }
        let copies: Vec<T> = (0..need.div_ceil(have)).map(|_| flat.clone()).collect();
        let long = T::concat(0, &copies);
        Entry::new(long.linear(&Linear::read(View::affine(long.shape(), shape, &strides(shape), &[0]))), within)
    }

    /// The value in a shape that has this axis, and elements along it.
    fn along(&self, axis: usize) -> Entry<T> {
        let mut shape = Shape::from_slice(self.t.shape());
        shape.resize(shape.len().max(axis + 1), 1);
        shape[axis] = shape[axis].max(1);
        self.of_shape(&shape)
    }

    fn like(&self, other: &Entry<T>) -> Entry<T> {
        self.of_type(other.t.dtype()).of_shape(other.t.shape())
    }

    /// The value bent into an interval, unless it is there.
    fn bent(&self, (lo, hi): Interval) -> Entry<T> {
        if !self.t.dtype().is_float() || (lo <= self.within.0 && self.within.1 <= hi) {
            return self.clone();
        }
        let (middle, half) = (0.5 * (lo + hi), 0.5 * (hi - lo));
        let t = self.t.binary(Binary::Mul, &splat(&self.t, 1.0 / half)).unary(Unary::Sin);
        let t = t.binary(Binary::Mul, &splat(&t, half));
        let t = if middle == 0.0 { t } else { t.binary(Binary::Add, &splat(&t, middle)) };
        Entry::new(t, (lo, hi))
    }
}

impl<T: BaseTensor> Pool<T> {
    pub(crate) fn new(tame: bool, entries: Vec<Entry<T>>) -> Pool<T> {
        let used = vec![false; entries.len()];
        Pool { tame, entries, used, inside: false }
    }

    pub(crate) fn entries(&self) -> &[Entry<T>] {
        &self.entries
    }

    pub(crate) fn push(&mut self, t: T, within: Interval) {
        self.entries.push(Entry::new(looked_at(t), within));
        self.used.push(false);
    }

    fn get(&mut self, k: usize) -> Entry<T> {
        let k = k % self.entries.len();
        self.used[k] = true;
        self.entries[k].clone()
    }

    /// The value, in that interval where the recipe is tame.
    fn bent(&self, x: Entry<T>, to: Interval) -> Entry<T> {
        if self.tame { x.bent(to) } else { x }
    }

    fn indices(&mut self, ix: &[usize], rank: usize) -> Vec<T> {
        let ix: Vec<Entry<T>> = ix.iter().take(rank).map(|k| self.get(*k).of_type(DType::I64)).collect();
        ix.iter().map(|i| i.of_shape(ix[0].t.shape()).t).collect()
    }

    /// Does a step.
    pub(crate) fn step(&mut self, step: &Step) {
        let (t, within) = match step {
            Step::Constant(c) => (T::constant(numbers(c)), (-1.5, 2.0)),
            Step::Unary(op, a) => {
                let a = self.get(*a).float();
                let a = self.bent(a, unary_domain(*op));
                let t = a.t.unary(*op);
                infinities::note_values(&[&a.t], &t);
                infinities::note_row(Row::Unary(*op), &a.t, &t);
                (rounded_last(t), around(samples(a.within).map(|x| op.apply(x))))
            }
            Step::Binary(op, a, b) => self.binary(*op, *a, *b),
            Step::Discrete(op, args) => self.discrete(op, args),
            Step::Select(mask, a, b) => {
                let (mask, a, b) = (self.get(*mask), self.get(*a), self.get(*b));
                let (mask, b) = (mask.of_type(DType::Bool).of_shape(a.t.shape()), b.like(&a));
                (T::select(&mask.t, &a.t, &b.t), hull(a.within, b.within))
            }
            Step::Cond(mask, a, b) => {
                let (mask, a, b) = (self.get(*mask), self.get(*a), self.get(*b));
                let (mask, b) = (mask.of_type(DType::Bool).of_shape(&[]), b.like(&a));
                let mask = mask.t.linear(&Linear::replicate(a.t.shape(), &[]));
                (T::select(&mask, &a.t, &b.t), hull(a.within, b.within))
            }
            Step::Linear(op, a) => self.linear(op, *a),
            Step::Contract(op, a, b) => self.contract(op, *a, *b),
            Step::Reduce(op, a) => {
                let a = self.get(*a).number().along(op.axis());
                (a.t.reduce(*op), a.within)
            }
            Step::Gather(a, ix) => {
                let a = self.get(*a);
                let mut ix = self.indices(ix, a.t.shape().len());
                if !self.tame {
                    // What is read outside of an array and multiplied with infinity may be 0 or NaN.
                    ix = ix.iter().zip(a.t.shape()).map(|(i, n)| clamped(i, *n)).collect();
                }
                (a.t.gather(&ix), hull(a.within, (0.0, 0.0)))
            }
            Step::Scatter(base, ix, v) => {
                let base = self.get(*base).number();
                let ix = self.indices(ix, base.t.shape().len());
                let mut shape = Shape::from_slice(ix.first().map_or(&[], |i| i.shape()));
                let times = size(&shape) as f64;
                shape.extend_from_slice(&base.t.shape()[ix.len()..]);
                let v = self.get(*v).of_type(base.t.dtype()).of_shape(&shape);
                let added = hull((0.0, 0.0), product(v.within, (times, times)));
                (base.t.scatter_add(&ix, &v.t), sum(base.within, added))
            }
            Step::Concat(axis, parts) => self.concat(*axis, parts),
            Step::Matrix(op, a, b) => self.matrix(*op, *a, *b),
            Step::Ruled(rules, x, y) => return self.ruled(*rules, *x, *y),
            Step::Solved(equation, p, q) => {
                let within = |x: Entry<T>| Vector::from_raw(x.of_type(DType::F64).of_shape(&[2]).bent((-1.0, 1.0)).t);
                let (p, q) = (self.get(*p).float(), self.get(*q).float());
                (equation.solved(&within(p), &within(q)).into_raw(), (-4.0, 4.0))
            }
            Step::Loop(l) => return self.run(l),
            Step::While(k, bound, l) => return self.run_while(*k, *bound, l),
        };
        self.push(t, within);
    }

    /// Linear algebra of matrices of two rows, with large numbers on the diagonal.
    fn matrix(&mut self, op: Matrix, a: usize, b: usize) -> (T, Interval) {
        let a = self.get(a).float().of_shape(&[2, 2]).bent((-1.0, 1.0)).t;
        let b = self.get(b).of_type(a.dtype()).of_shape(&[2, 2]).bent((-1.0, 1.0)).t;
        let diagonal = Array::new(&[2, 2], vec![3.0, 0.0, 0.0, 3.0]);
        let diagonal = if a.dtype() == DType::F32 { diagonal.cast::<f32>() } else { diagonal };
        let regular = a.binary(Binary::Add, &T::constant(diagonal));
        let call = |op: Matrix, args: &[T]| T::call(&Call::Matrix(op), args);
        let mut results = match op {
            Matrix::Expm => call(op, &[a]),
            Matrix::Solve { .. } => {
                let factors = call(Matrix::LuFactor, std::slice::from_ref(&regular));
                call(op, &[&[regular, b], &factors[..]].concat())
            }
            Matrix::SolveTriangular { .. } | Matrix::Product { .. } => call(op, &[regular, b]),
            Matrix::Lstsq { .. } => {
                let factors = call(Matrix::LstsqFactor, std::slice::from_ref(&regular));
                call(op, &[&[regular, b], &factors[..3]].concat())
            }
            Matrix::Recurrence { .. } => call(op, &[a, b]),
            Matrix::PrefixProduct => call(op, &[a]),
            Matrix::Cholesky | Matrix::Inverse | Matrix::SlogDet | Matrix::Qr => call(op, &[regular]),
            // Polynomials: of any matrix.
            Matrix::Det | Matrix::Minors { .. } => call(op, &[a]),
            Matrix::Lu
            | Matrix::LuFactor
            | Matrix::Eigh
            | Matrix::Svd
            | Matrix::EighSolve
            | Matrix::SvdSolve
            | Matrix::LstsqFactor
            | Matrix::NullProjection { .. }
            | Matrix::ExpmTangent { .. }
            | Matrix::Pivots => {
                unreachable!("not among those of random programs")
            }
        };
        (rounded(results.pop().expect("a result")), (-20.0, 20.0))
    }

    fn binary(&mut self, op: Binary, a: usize, b: usize) -> (T, Interval) {
        let a = self.get(a).float();
        let b = self.get(b).like(&a);
        let [left, right] = binary_domain(op);
        let (a, b) = (self.bent(a, left), self.bent(b, right));
        let pairs = samples(a.within).flat_map(|x| samples(b.within).map(move |y| (x, y)));
        let t = a.t.binary(op, &b.t);
        infinities::note_values(&[&a.t, &b.t], &t);
        infinities::note_row(Row::Binary(op), &b.t, &t);
        let t = if matches!(op, Binary::Add | Binary::Sub) { rounded_sum([&a.t, &b.t], t) } else { t };
        (t, around(pairs.map(|(x, y)| op.apply(x, y))))
    }

    fn discrete(&mut self, op: &Discrete, args: &[usize]) -> (T, Interval) {
        let args: Vec<Entry<T>> = args.iter().take(op.arity()).map(|k| self.get(*k)).collect();
        let Some(first) = args.first() else { return (T::discrete(op, &[]), USUAL) };
        let first = match op {
            Discrete::Compare(_) | Discrete::ToInt => first.clone(),
            Discrete::And | Discrete::Or | Discrete::Not => first.of_type(DType::Bool),
            Discrete::FloatStep(_) => first.float(),
            Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToFloat(_) => first.of_type(DType::I64),
            Discrete::ArgMax { axis }
            | Discrete::ArgMin { axis }
            | Discrete::ArgSort { axis, .. }
            | Discrete::PrefixArg { axis, .. } => first.number().along(*axis),
            Discrete::Iota { .. } => unreachable!("it has no operand"),
        };
        // A step of an integer would be a large number.
        let first = if let Discrete::ToFloat(_) = op {
            let four = splat(&first.t, 4.0);
            Entry::new(T::discrete(&Discrete::IntBinary(IntBinary::Rem), &[&first.t, &four]), USUAL)
        } else {
            first
        };
        let within = match op {
            Discrete::FloatStep(FloatStep::StopGradient) => first.within,
            Discrete::FloatStep(_) => sum(hull(first.within, (-1.0, 1.0)), (-1.0, 1.0)),
            Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not | Discrete::Iota { .. } => USUAL,
            Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToInt | Discrete::ToFloat(_) => USUAL,
            Discrete::ArgMax { .. } | Discrete::ArgMin { .. } => USUAL,
            Discrete::ArgSort { .. } | Discrete::PrefixArg { .. } => USUAL,
        };
        let rest: Vec<T> = args.iter().skip(1).map(|b| b.like(&first).t).collect();
        let operands: Vec<&T> = std::iter::once(&first.t).chain(&rest).collect();
        operands.iter().for_each(|x| infinities::note_decision(op, *x));
        (T::discrete(op, &operands), within)
    }

    fn linear(&mut self, op: &Linear, a: usize) -> (T, Interval) {
        let mut a = self.get(a);
        match op {
            Linear::Affine { into, .. } if !into.is_injective() => a = a.number(),
            Linear::Affine { .. } | Linear::Reshape { .. } => {}
            Linear::Fourier { .. } => a = a.float(),
            Linear::PrefixSum { .. } => a = a.number(),
            Linear::Cast { from, .. } => a = a.of_type(*from),
        }
        let a = a.of_shape(op.input_shape());
        let within = match op {
            Linear::Affine { into, .. } if !into.is_injective() => {
                let times = size(into.shape()) as f64;
                hull((0.0, 0.0), product(a.within, (times, times)))
            }
            Linear::Affine { .. } | Linear::Reshape { .. } | Linear::Cast { .. } => hull(a.within, (0.0, 0.0)),
            Linear::Fourier { shape, axis, .. } => {
                let times = 2.0 * shape[*axis] as f64;
                product(a.within, (-times, times))
            }
            Linear::PrefixSum { shape, axis, .. } => {
                let times = shape[*axis] as f64;
                hull((0.0, 0.0), product(a.within, (times, times)))
            }
        };
        let adds = match op {
            Linear::Affine { into, .. } => !into.is_injective(),
            Linear::Fourier { .. } | Linear::PrefixSum { .. } => true,
            Linear::Reshape { .. } | Linear::Cast { .. } => false,
        };
        let t = a.t.linear(op);
        let t = if self.inside { unwritten(op, &a.t, t) } else { t };
        (if adds { rounded(t) } else { t }, within)
    }

    fn contract(&mut self, op: &Contract, a: usize, b: usize) -> (T, Interval) {
        let a = self.get(a).number();
        let b = self.get(b).of_type(a.t.dtype());
        let (a, b) = (a.of_shape(op.a.source()), b.of_shape(op.b.source()));
        let (a, b) = (self.bent(a, USUAL), self.bent(b, USUAL));
        infinities::note(op, &a.t, &b.t);
        let times = size(op.a.shape()) as f64;
        let products = product(product(a.within, b.within), (times, times));
        (rounded(T::contract(op, &a.t, &b.t)), hull((0.0, 0.0), products))
    }

    fn concat(&mut self, axis: usize, parts: &[usize]) -> (T, Interval) {
        let first = self.get(parts[0]);
        let mut shape = Shape::from_slice(first.t.shape());
        shape.resize(shape.len().max(axis + 1), 1);
        let first = first.of_shape(&shape);
        let mut fitting = vec![first.clone()];
        for k in &parts[1..] {
            let part = self.get(*k).of_type(first.t.dtype());
            let mut shape = shape.clone();
            shape[axis] = part.t.shape().get(axis).copied().unwrap_or(1);
            fitting.push(part.of_shape(&shape));
        }
        let within = fitting.iter().fold(first.within, |all, part| hull(all, part.within));
        let parts: Vec<T> = fitting.into_iter().map(|part| part.t).collect();
        (T::concat(axis, &parts), within)
    }

    fn ruled(&mut self, rules: Rules, x: usize, y: usize) {
        let x = self.get(x).float();
        let y = self.get(y).like(&x);
        let (x, y) = (self.bent(x, USUAL), self.bent(y, USUAL));
        let turned = ruled::apply(rules, &x.t, &y.t);
        for (t, within) in turned.into_iter().zip([product(y.within, (-1.0, 1.0)), (-1.0, 1.0)]) {
            self.push(t, within);
        }
    }

    /// A carry, and the elements of a sequence of `n`.
    pub(crate) fn carried(&mut self, k: usize) -> Entry<T> {
        let x = self.get(k);
        self.bent(x, USUAL)
    }

    pub(crate) fn sequence(&mut self, k: usize, n: usize) -> Entry<T> {
        let x = self.get(k);
        let mut shape = Shape::from_slice(x.t.shape());
        if shape.is_empty() {
            shape.push(n);
        }
        shape[0] = n;
        x.of_shape(&shape)
    }

    fn carries(&mut self, l: &Loop) -> Vec<Entry<T>> {
        l.init.iter().map(|k| self.carried(*k)).collect()
    }

    /// The next carry, from a pool that has the carry.
    fn trip(&mut self, l: &Loop, init: &[Entry<T>]) -> Vec<T> {
        self.inside = true;
        l.body.iter().for_each(|step| self.step(step));
        let mut like = |k: usize, c: &Entry<T>| {
            let next = self.get(k).like(c);
            self.bent(next, USUAL).t
        };
        l.next.iter().zip(init).map(|(k, c)| like(*k, c)).collect()
    }

    /// The pool as far as shapes tell.
    fn shapes(&self) -> Pool<Shapes> {
        let of = |x: &Entry<T>| Entry::new(Shapes::new(x.t.shape(), x.t.dtype()), x.within);
        Pool {
            tame: self.tame,
            entries: self.entries.iter().map(of).collect(),
            used: self.used.clone(),
            inside: self.inside,
        }
    }

    /// A loop that ends when the number of trips is an integer of the pool, or before, as it is bounded.
    fn run_while(&mut self, k: usize, bound: Bound, l: &Loop) {
        let init = self.carries(l);
        let limit = self.get(k).of_type(DType::I64).of_shape(&[]).t;
        let limit = match bound {
            Bound::Most => limit,
            // Nothing else ends it.
            Bound::None => T::discrete(&Discrete::IntBinary(IntBinary::Rem), &[&limit, &splat(&limit, 4.0)]),
        };
        let goes = |done: &T| T::discrete(&Discrete::Compare(Compare::Lt), &[done, &limit]);
        let pool_of = |carry: &[T]| {
            let mut pool = self.clone();
            carry.iter().for_each(|c| pool.push(c.clone(), USUAL));
            pool
        };
        let start = T::zeros(&[], DType::I64);
        let mut carry = vec![goes(&start), start];
        carry.extend(init.iter().map(|c| c.t.clone()));
        let last = T::repeat((bound == Bound::Most).then_some(l.n), carry, &mut |carry| {
            let next = pool_of(&carry[2..]).trip(l, &init);
            let done = T::discrete(&Discrete::IntBinary(IntBinary::Add), &[&carry[1], &splat(&carry[1], 1.0)]);
            [vec![goes(&done), done], next].concat()
        });
        // What the body takes from outside is used, even if it does not run.
        let mut shapes = self.shapes();
        let kinds: Vec<_> = init.iter().map(|c| (Shapes::new(c.t.shape(), c.t.dtype()), USUAL)).collect();
        kinds.iter().for_each(|(c, within)| shapes.push(c.clone(), *within));
        let like: Vec<_> = kinds.into_iter().map(|(c, within)| Entry::new(c, within)).collect();
        shapes.trip(l, &like);
        let outside = self.entries.len();
        self.used.copy_from_slice(&shapes.used[..outside]);
        last.into_iter().skip(2).for_each(|t| self.push(t, USUAL));
    }

    fn run(&mut self, l: &Loop) {
        let init = self.carries(l);
        let xs: Vec<Entry<T>> = l.xs.iter().map(|k| self.sequence(*k, l.n)).collect();
        let outside = self.entries.len();
        let mut outputs_within = Vec::new();
        let sequences: Vec<T> = xs.iter().map(|x| x.t.clone()).collect();
        let start = init.iter().map(|c| c.t.clone()).collect();
        let (last, stacked) = T::map_accum(l.n, l.reverse, start, &sequences, &mut |carry, elements| {
            let mut pool = self.clone();
            for c in carry {
                pool.push(c, USUAL);
            }
            for (element, x) in elements.iter().zip(&xs) {
                pool.push(element.clone(), x.within);
            }
            let next = pool.trip(l, &init);
            let outputs: Vec<Entry<T>> = l.out.iter().map(|k| pool.get(*k)).collect();
            outputs_within = outputs.iter().map(|out| out.within).collect();
            // What the body takes from outside is used.
            self.used.copy_from_slice(&pool.used[..outside]);
            (next, outputs.into_iter().map(|out| out.t).collect())
        });
        last.into_iter().for_each(|t| self.push(t, USUAL));
        stacked.into_iter().zip(outputs_within).for_each(|(t, within)| self.push(t, within));
    }
}

impl Recipe {
    /// The values that no step uses.
    pub(crate) fn outputs<T: BaseTensor>(&self, inputs: Vec<T>) -> Vec<T> {
        self.unused(inputs).into_iter().map(|x| x.t).collect()
    }

    /// 1 or -1 where an output is 0 of that sign, and 0 elsewhere.
    pub(crate) fn signs<T: BaseTensor>(&self, inputs: Vec<T>) -> Vec<T> {
        let sign = |y: &T| {
            let zero = splat(y, 0.0);
            let is_zero = T::discrete(&Discrete::Compare(Compare::Eq), &[y, &zero]);
            T::select(&is_zero, &splat(y, 1.0).binary(Binary::Copysign, y), &zero)
        };
        self.outputs(inputs).iter().filter(|y| y.dtype().is_float()).map(sign).collect()
    }

    fn unused<T: BaseTensor>(&self, inputs: Vec<T>) -> Vec<Entry<T>> {
        let inputs = inputs.into_iter().map(|t| Entry::new(t, (-1.5, 2.0))).collect();
        let mut pool = Pool::new(self.tame, inputs);
        self.steps.iter().for_each(|step| pool.step(step));
        pool.entries.into_iter().zip(pool.used).filter(|(_, used)| !used).map(|(x, _)| x).collect()
    }

    /// A number that depends on every value that no step uses: a weighted sum of them.
    pub(crate) fn loss<T: BaseTensor>(&self, inputs: Vec<T>) -> T {
        let mut loss = T::constant(Array::scalar(0.0));
        for (k, x) in self.unused(inputs).into_iter().enumerate() {
            let x = x.of_type(DType::F64);
            let x = if self.tame { x.bent(USUAL).t } else { x.t };
            let weights = T::constant(Array::uniform(x.shape(), 0.5, 1.5, k as u64));
            let axes: Vec<usize> = (0..x.shape().len()).collect();
            let weighted = x.binary(Binary::Mul, &weights).linear(&Linear::sum(x.shape(), &axes));
            loss = loss.binary(Binary::Add, &weighted);
        }
        loss
    }
}
