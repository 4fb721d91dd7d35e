//! `Sparsity<T>`: which elements depend on which elements of the inputs.
//!
//! An element has two sets of inputs: those on which it depends, and among these those on which it does not depend
//! linearly. So the sets of the results are the sparsity of the Jacobian, and say which of its elements are constant. What
//! depends on no input is computed by `T`: indices, masks and factors that are known choose exactly. A choice by values that
//! depend on inputs is a choice of anything. The method is that of A. Griewank and A. Walther, "Evaluating Derivatives"
//! (2008), section 7.1, for arrays.
//!
//! Law: an element of a Jacobian that is not in the sets is zero at all inputs, since no reading drops a dependence: what is
//! not known is the union of all it can be.

mod sets;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::array::Array;
use crate::base::{BaseTensor, Step, Traced, Trip, Turn};
use crate::dtype::DType;
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary, View, kinds};
use crate::passes::Options;
use crate::program::{Custom, Turns, interpret};
use crate::shape::{Shape, size};
use sets::{NONE, SetId, Sets};

/// The inputs on which an element depends, and those on which it does not depend linearly.
type Pair = [SetId; 2];

const CONSTANT: Pair = [NONE, NONE];

/// The elements of an array, in order.
#[derive(Clone)]
struct Dependences {
    table: Rc<RefCell<Sets>>,
    of: Rc<[Pair]>,
}

/// A value of which is known on what it depends; or, where it depends on no input, the value of `T`.
#[derive(Clone)]
pub struct Sparsity<T> {
    shape: Shape,
    dtype: DType,
    /// The value, if it depends on no input.
    known: Option<T>,
    /// Nothing if no element has a derivative.
    on: Option<Dependences>,
}

/// The inputs of one reading, and what results depend on.
#[derive(Default)]
pub struct Reading {
    table: Rc<RefCell<Sets>>,
    count: u32,
}

impl Reading {
    /// An input, whose elements have the next numbers if they are floats; others depend on nothing, and are not known.
    pub fn input<T: BaseTensor>(&mut self, shape: &[usize], dtype: DType) -> Sparsity<T> {
        let shape = Shape::from_slice(shape);
        if !dtype.is_float() {
            return Sparsity { shape, dtype, known: None, on: None };
        }
        let mut table = self.table.borrow_mut();
        let first = self.count;
        self.count += u32::try_from(size(&shape)).expect("there are fewer inputs than 2^32");
        let of = (first..self.count).map(|k| [table.single(k), NONE]).collect();
        let on = Dependences { table: self.table.clone(), of };
        Sparsity { shape, dtype, known: None, on: Some(on) }
    }

    /// For each element of a result the numbers of the inputs on which it depends, each with whether it depends on that
    /// linearly.
    pub fn result<T: BaseTensor>(&self, y: &Sparsity<T>) -> Vec<Vec<(usize, bool)>> {
        let table = self.table.borrow();
        let row = |pair: Pair| {
            let [all, bent] = pair.map(|id| table.numbers(id).clone());
            all.iter().map(|k| (*k as usize, bent.binary_search(k).is_err())).collect()
        };
        (0..size(&y.shape)).map(|k| row(y.at(k))).collect()
    }
}

impl<T: BaseTensor> Sparsity<T> {
    fn of_known(known: T) -> Self {
        Sparsity { shape: known.shape().into(), dtype: known.dtype(), known: Some(known), on: None }
    }

    /// A value that depends on nothing, and is not known.
    fn unknown(shape: &[usize], dtype: DType) -> Self {
        Sparsity { shape: shape.into(), dtype, known: None, on: None }
    }

    fn kind(&self) -> (&[usize], DType) {
        (&self.shape, self.dtype)
    }

    fn at(&self, k: usize) -> Pair {
        self.on.as_ref().map_or(CONSTANT, |on| on.of[k])
    }

    /// The values of all operands, if they are known.
    fn all_known<'a>(args: impl IntoIterator<Item = &'a Self>) -> Option<Vec<T>> {
        args.into_iter().map(|x| x.known.clone()).collect()
    }

    /// A value of this shape whose elements are made of those of operands, of which at least one depends on inputs;
    /// unknown if none does.
    fn made<'a>(
        (shape, dtype): (&[usize], DType),
        operands: impl IntoIterator<Item = &'a Self>,
        f: impl FnOnce(&mut Unions<'_>) -> Vec<Pair>,
    ) -> Self {
        let Some(table) = operands.into_iter().find_map(|x| x.on.as_ref()).map(|on| on.table.clone()) else {
            return Sparsity::unknown(shape, dtype);
        };
        if !dtype.is_float() {
            return Sparsity::unknown(shape, dtype);
        }
        let of = f(&mut Unions(&mut table.borrow_mut()));
        debug_assert_eq!(of.len(), size(shape), "one pair for each element");
        Sparsity { shape: shape.into(), dtype, known: None, on: Some(Dependences { table, of: of.into() }) }
    }

    /// The numbers of a known value, if some are zero.
    fn zeros_of(&self) -> Option<Vec<bool>> {
        let known = self.known.as_ref()?.peek()?.cast::<f64>().to_vec::<f64>().ok()?;
        known.contains(&0.0).then(|| known.into_iter().map(|x| x == 0.0).collect())
    }

    /// The integers of a known value.
    fn integers(&self) -> Option<Vec<i64>> {
        self.known.as_ref()?.peek()?.to_vec::<i64>().ok()
    }

    /// Results each of which depends on all operands.
    fn all_of_all(args: &[Self], results: Vec<(Shape, DType)>) -> Vec<Self> {
        let made = |(shape, dtype): (Shape, DType)| {
            Sparsity::made((&shape, dtype), args, |u| {
                let all = args.iter().fold(CONSTANT, |sum, x| u.all(sum, x));
                vec![u.bent(all); size(&shape)]
            })
        };
        results.into_iter().map(made).collect()
    }

    /// Row `k` of a stack.
    fn row(&self, k: usize) -> Self {
        let known = self.known.as_ref().map(|x| x.linear(&Linear::row(&self.shape, 0, k)));
        let shape: Shape = self.shape[1..].into();
        let len = size(&shape);
        let on = self
            .on
            .as_ref()
            .map(|on| Dependences { table: on.table.clone(), of: on.of[k * len..(k + 1) * len].into() });
        Sparsity { shape, dtype: self.dtype, known, on }
    }

    /// What a value is that is one of two.
    fn either(&self, other: &Self) -> Self {
        Sparsity::made(self.kind(), [self, other], |u| {
            (0..size(&self.shape)).map(|k| u.both(self.at(k), other.at(k))).collect()
        })
    }

    fn same_dependence(&self, other: &Self) -> bool {
        (0..size(&self.shape)).all(|k| self.at(k) == other.at(k)) && self.known.is_some() == other.known.is_some()
    }
}

/// Unions of pairs of sets.
struct Unions<'a>(&'a mut Sets);

impl Unions<'_> {
    fn both(&mut self, a: Pair, b: Pair) -> Pair {
        [self.0.union(a[0], b[0]), self.0.union(a[1], b[1])]
    }

    /// The same inputs, on none of which the element depends linearly.
    fn bent(&mut self, a: Pair) -> Pair {
        [a[0], a[0]]
    }

    /// A sum and all elements of a value.
    fn all<T: BaseTensor>(&mut self, sum: Pair, x: &Sparsity<T>) -> Pair {
        x.on.iter().flat_map(|on| on.of.iter()).fold(sum, |sum, pair| self.both(sum, *pair))
    }
}

/// The position of an index.
fn flat(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |at, (n, i)| at * n + i)
}

/// Calls `f` with every index of a box, in order.
fn each_index(bounds: &[(usize, usize)], mut f: impl FnMut(&[usize])) {
    if bounds.iter().any(|(lo, hi)| lo >= hi) {
        return;
    }
    let mut index: Shape = bounds.iter().map(|(lo, _)| *lo).collect();
    loop {
        f(&index);
        let Some(axis) = (0..index.len()).rev().find(|axis| index[*axis] + 1 < bounds[*axis].1) else { return };
        index[axis] += 1;
        for later in axis + 1..index.len() {
            index[later] = bounds[later].0;
        }
    }
}

/// The indices at which all views look at something.
fn common(views: &[&View]) -> Vec<(usize, usize)> {
    let axis = |k: usize| {
        let bounds = views.iter().map(|view| view.bounds()[k]);
        bounds.fold((0, usize::MAX), |(lo, hi), (a, b)| (lo.max(a), hi.min(b)))
    };
    (0..views[0].shape().len()).map(axis).collect()
}

impl<T: BaseTensor> BaseTensor for Sparsity<T> {
    type Trace = Self;

    fn trace(inputs: &[Self], _: Options, f: Traced<'_, Self>) -> Vec<Self> {
        f(inputs)
    }

    fn constant(a: Array) -> Self {
        Sparsity::of_known(T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn unary(&self, op: Unary) -> Self {
        if let Some(x) = &self.known {
            return Sparsity::of_known(x.unary(op));
        }
        kinds::unary(op, self.dtype);
        Sparsity::made(self.kind(), [self], |u| {
            let of = |k: usize| if op == Unary::Neg { self.at(k) } else { u.bent(self.at(k)) };
            (0..size(&self.shape)).map(of).collect()
        })
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        if let (Some(x), Some(y)) = (&self.known, &other.known) {
            return Sparsity::of_known(x.binary(op, y));
        }
        kinds::binary(op, self.kind(), other.kind());
        let product = matches!(op, Binary::Mul | Binary::MulNoNan);
        // A factor that is not known may depend on inputs, even if it has no derivative.
        let linear = matches!(op, Binary::Add | Binary::Sub)
            || (product && (self.known.is_some() || other.known.is_some()))
            || (op == Binary::Div && other.known.is_some());
        // Where a known factor is zero, so is the product.
        let zeros = if product { self.zeros_of().or_else(|| other.zeros_of()) } else { None };
        Sparsity::made(self.kind(), [self, other], |u| {
            let of = |k: usize| match &zeros {
                Some(zeros) if zeros[k] => CONSTANT,
                _ => {
                    let both = u.both(self.at(k), other.at(k));
                    if linear { both } else { u.bent(both) }
                }
            };
            (0..size(&self.shape)).map(of).collect()
        })
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        if let Some(values) = Sparsity::all_known(args.iter().copied()) {
            return Sparsity::of_known(T::discrete(op, &values.iter().collect::<Vec<&T>>()));
        }
        let (shape, dtype) = op.result(&args.iter().map(|a| a.kind()).collect::<Vec<_>>());
        Sparsity::unknown(&shape, dtype)
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        if let Some(values) = Sparsity::all_known([mask, then, otherwise]) {
            return Sparsity::of_known(T::select(&values[0], &values[1], &values[2]));
        }
        kinds::select(mask.kind(), then.kind(), otherwise.kind());
        let chosen = mask.known.as_ref().and_then(BaseTensor::peek).and_then(|mask| mask.to_vec::<bool>().ok());
        Sparsity::made(then.kind(), [then, otherwise], |u| {
            let of = |k: usize| match &chosen {
                Some(chosen) => {
                    if chosen[k] {
                        then.at(k)
                    } else {
                        otherwise.at(k)
                    }
                }
                // Which one depends on inputs.
                None => {
                    let both = u.both(then.at(k), otherwise.at(k));
                    u.bent(both)
                }
            };
            (0..size(&then.shape)).map(of).collect()
        })
    }

    fn linear(&self, op: &Linear) -> Self {
        if let Some(x) = &self.known {
            return Sparsity::of_known(x.linear(op));
        }
        let dtype = op.result(&self.shape, self.dtype);
        let shape = op.output_shape();
        let made = |f: &mut dyn FnMut(&mut Unions<'_>, &mut [Pair])| {
            Sparsity::made((shape, dtype), [self], |u| {
                let mut of = vec![CONSTANT; size(shape)];
                f(u, &mut of);
                of
            })
        };
        match op {
            Linear::Affine { from, into } => made(&mut |u, of| {
                each_index(&common(&[from, into]), |index| {
                    if let (Some(i), Some(o)) = (from.at(index), into.at(index)) {
                        let o = flat(shape, &o);
                        of[o] = u.both(of[o], self.at(flat(&self.shape, &i)));
                    }
                });
            }),
            Linear::Reshape { .. } | Linear::Cast { .. } => {
                made(&mut |_, of| of.iter_mut().enumerate().for_each(|(k, pair)| *pair = self.at(k)))
            }
            Linear::Fourier { .. } => made(&mut |u, of| {
                let all = u.all(CONSTANT, self);
                of.fill(all);
            }),
        }
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        if let (Some(x), Some(y)) = (&a.known, &b.known) {
            return Sparsity::of_known(T::contract(op, x, y));
        }
        let (shape, dtype) = op.result(a.kind(), b.kind());
        let linear = a.known.is_some() || b.known.is_some();
        let (no_a, no_b) = (a.zeros_of(), b.zeros_of());
        Sparsity::made((&shape, dtype), [a, b], |u| {
            let mut of = vec![CONSTANT; size(&shape)];
            each_index(&common(&[&op.a, &op.b, &op.out]), |index| {
                let (Some(i), Some(j), Some(o)) = (op.a.at(index), op.b.at(index), op.out.at(index)) else { return };
                let (i, j, o) = (flat(&a.shape, &i), flat(&b.shape, &j), flat(&shape, &o));
                let is_zero = |zeros: &Option<Vec<bool>>, k: usize| zeros.as_ref().is_some_and(|zeros| zeros[k]);
                if is_zero(&no_a, i) || is_zero(&no_b, j) {
                    return;
                }
                let both = u.both(a.at(i), b.at(j));
                let both = if linear { both } else { u.bent(both) };
                of[o] = u.both(of[o], both);
            });
            of
        })
    }

    /// Any element of a line may be the extremum.
    fn reduce(&self, op: Reduce) -> Self {
        if let Some(x) = &self.known {
            return Sparsity::of_known(x.reduce(op));
        }
        let (shape, dtype) = op.result(self.kind());
        let axis = op.axis();
        let (outer, n) = (size(&self.shape[..axis]), self.shape[axis]);
        let inner = size(&self.shape[axis + 1..]);
        Sparsity::made((&shape, dtype), [self], |u| {
            let of = |k: usize| {
                let (i, j) = (k / inner.max(1), k % inner.max(1));
                let line = (0..n).fold(CONSTANT, |sum, m| u.both(sum, self.at((i * n + m) * inner + j)));
                u.bent(line)
            };
            (0..outer * inner).map(of).collect()
        })
    }

    fn gather(&self, ix: &[Self]) -> Self {
        if let (Some(x), Some(known)) = (&self.known, Sparsity::all_known(ix)) {
            return Sparsity::of_known(x.gather(&known));
        }
        let shape = kinds::gather(&self.shape, &ix.iter().map(Sparsity::kind).collect::<Vec<_>>());
        let rows = Rows::of(&self.shape, ix);
        Sparsity::made((&shape, self.dtype), [self], |u| {
            let mut of = Vec::with_capacity(size(&shape));
            for k in 0..rows.count {
                match rows.at(k) {
                    At::Row(row) => of.extend((0..rows.len).map(|e| self.at(row * rows.len + e))),
                    At::Nowhere => of.extend((0..rows.len).map(|_| CONSTANT)),
                    At::Anywhere => of.extend((0..rows.len).map(|e| {
                        let any = (0..rows.all).fold(CONSTANT, |sum, row| u.both(sum, self.at(row * rows.len + e)));
                        u.bent(any)
                    })),
                }
            }
            of
        })
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        if let (Some(x), Some(known), Some(v)) = (&self.known, Sparsity::all_known(ix), &v.known) {
            return Sparsity::of_known(x.clone().scatter_add(&known, v));
        }
        kinds::scatter_add(self.kind(), &ix.iter().map(Sparsity::kind).collect::<Vec<_>>(), v.kind());
        let rows = Rows::of(&self.shape, ix);
        Sparsity::made(self.kind(), [&self, v], |u| {
            let mut of: Vec<Pair> = (0..size(&self.shape)).map(|k| self.at(k)).collect();
            for k in 0..rows.count {
                let places = match rows.at(k) {
                    At::Row(row) => row..row + 1,
                    At::Nowhere => 0..0,
                    At::Anywhere => 0..rows.all,
                };
                for (row, e) in places.flat_map(|row| (0..rows.len).map(move |e| (row, e))) {
                    let mut added = v.at(k * rows.len + e);
                    if matches!(rows.at(k), At::Anywhere) {
                        added = u.bent(added);
                    }
                    of[row * rows.len + e] = u.both(of[row * rows.len + e], added);
                }
            }
            of
        })
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        if let Some(values) = Sparsity::all_known(parts) {
            return Sparsity::of_known(T::concat(axis, &values));
        }
        let shape = kinds::concat(axis, &parts.iter().map(Sparsity::kind).collect::<Vec<_>>());
        Sparsity::made((&shape, parts[0].dtype), parts, |_| {
            let (outer, inner) = (size(&shape[..axis]), size(&shape[axis + 1..]));
            let rows = |k: usize| parts.iter().map(move |part| (k, part, part.shape[axis] * inner));
            let of = |(k, part, len): (usize, &Self, usize)| {
                (k * len..(k + 1) * len).map(|e| part.at(e)).collect::<Vec<_>>()
            };
            (0..outer).flat_map(rows).flat_map(of).collect()
        })
    }

    /// Trip by trip.
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: Step<'_, Self>) -> Trip<Self> {
        kinds::sequences(n, xs.iter().map(|x| &x.shape[..]));
        if n == 0 {
            let elements: Vec<Self> = xs.iter().map(|x| Sparsity::unknown(&x.shape[1..], x.dtype)).collect();
            let (_, outputs) = step(init.clone(), &elements);
            let empty = |y: &Self| Sparsity::of_known(T::zeros(&kinds::stacked(0, &y.shape), y.dtype));
            return (init, outputs.iter().map(empty).collect());
        }
        let (mut carry, mut all) = (init, Vec::new());
        for trip in 0..n {
            let k = if reverse { n - 1 - trip } else { trip };
            let elements: Vec<Self> = xs.iter().map(|x| x.row(k)).collect();
            let (next, outputs) = step(carry.clone(), &elements);
            kinds::carry(carry.iter().map(Sparsity::kind), next.iter().map(Sparsity::kind));
            carry = next;
            all.push(outputs);
        }
        if reverse {
            all.reverse();
        }
        let stacked = |k: usize| {
            let parts = all.iter().map(|outputs| {
                let y = &outputs[k];
                y.linear(&Linear::reshape(&y.shape, &kinds::stacked(1, &y.shape)))
            });
            Sparsity::concat(0, &parts.collect::<Vec<Self>>())
        };
        (carry, (0..all[0].len()).map(stacked).collect())
    }

    fn runs_all_trips() -> bool {
        T::runs_all_trips()
    }

    /// Where the end is not known, the carry depends on whatever it can after any number of trips.
    fn repeat(most: Option<usize>, init: Vec<Self>, step: Turn<'_, Self>) -> Vec<Self> {
        let (mut carry, mut left) = (init, most.unwrap_or(usize::MAX));
        while left > 0 {
            match crate::program::repeat::known(&carry[0]) {
                Some(true) => carry = step(carry),
                Some(false) => break,
                None => {
                    let next: Vec<Self> = step(carry.clone()).iter().zip(&carry).map(|(a, b)| a.either(b)).collect();
                    let still = next.iter().zip(&carry).all(|(a, b)| a.same_dependence(b));
                    carry = next;
                    if still {
                        break;
                    }
                }
            }
            left -= 1;
        }
        carry
    }

    /// Every result depends on all operands of the call.
    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        if let Some(values) = Sparsity::all_known(args) {
            return T::call(op, &values).into_iter().map(Sparsity::of_known).collect();
        }
        Sparsity::all_of_all(args, op.results(&args.iter().map(Sparsity::kind).collect::<Vec<_>>()))
    }

    /// The rule for tangents says what the results depend on; without one they depend on all arguments.
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        if let Some(values) = Sparsity::all_known(args) {
            return T::custom(rule, &values).into_iter().map(Sparsity::of_known).collect();
        }
        if rule.is_again() {
            return interpret(rule.primal(), args.to_vec());
        }
        if rule.turns() != Turns::Once {
            let most = if let Turns::Within(most) = rule.turns() { Some(most) } else { None };
            let (carry, captured) = args.split_at(rule.primal().outputs().len());
            return Self::repeat(most, carry.to_vec(), &mut |carry| {
                interpret(rule.primal(), carry.into_iter().chain(captured.iter().cloned()).collect())
            });
        }
        let slots = rule.primal().outputs();
        let still = |x: &Self| match &x.known {
            Some(known) => Sparsity::of_known(known.clone()),
            None => Sparsity::unknown(&x.shape, x.dtype),
        };
        let Ok(jvp) = rule.require_jvp() else {
            return Sparsity::all_of_all(args, slots.iter().map(|slot| (slot.shape.clone(), slot.dtype)).collect());
        };
        let results = slots.iter().map(|slot| Sparsity::unknown(&slot.shape, slot.dtype));
        let dots = args
            .iter()
            .map(|x| if x.on.is_some() { x.clone() } else { Sparsity::of_known(T::zeros(&x.shape, x.dtype)) });
        let tangents = interpret(jvp, args.iter().map(still).chain(results).chain(dots).collect());
        // Linear in the tangents, but not in what the rule reads.
        let bent = |y: Self| {
            let kind = (y.shape.clone(), y.dtype);
            Sparsity::made((&kind.0, kind.1), [&y], |u| (0..size(&y.shape)).map(|k| u.bent(y.at(k))).collect())
        };
        tangents.into_iter().map(bent).collect()
    }

    fn peek(&self) -> Option<Array> {
        self.known.as_ref().and_then(BaseTensor::peek)
    }
}

/// The rows that indices choose.
struct Rows {
    /// The number of indices.
    count: usize,
    /// The elements of a row, and the number of rows.
    len: usize,
    all: usize,
    /// The sizes of the indexed axes, and the indices along each, if they are known.
    axes: Shape,
    known: Option<Vec<Vec<i64>>>,
}

/// The row of an index.
enum At {
    Row(usize),
    /// Out of bounds.
    Nowhere,
    Anywhere,
}

impl Rows {
    fn of<T: BaseTensor>(shape: &[usize], ix: &[Sparsity<T>]) -> Rows {
        let (axes, row) = shape.split_at(ix.len());
        let count = ix.first().map_or(1, |i| size(&i.shape));
        let known = ix.iter().map(Sparsity::integers).collect();
        Rows { count, len: size(row), all: size(axes), axes: axes.into(), known }
    }

    fn at(&self, k: usize) -> At {
        let Some(known) = &self.known else { return At::Anywhere };
        let mut row = 0;
        for (n, ix) in self.axes.iter().zip(known) {
            match usize::try_from(ix[k]) {
                Ok(i) if i < *n => row = row * n + i,
                Ok(_) | Err(_) => return At::Nowhere,
            }
        }
        At::Row(row)
    }
}
