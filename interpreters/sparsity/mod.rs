//! `Sparsity<T>`: for each element of a value, the elements of the inputs on which it depends.
//!
//! An element has two sets of inputs: those on which it depends, and the subset of those on which it depends
//! nonlinearly. So the sets of the results are the sparsity pattern of the Jacobian, and determine which of its
//! elements are constant. Values that depend on no input are computed by `T`, so known indices, masks and factors
//! select exactly. For a selection by values that depend on inputs, any alternative may be selected. The method is that
//! of A. Griewank and A. Walther, "Evaluating Derivatives" (2008), section 7.1, for arrays.
//!
//! Law: an element of a Jacobian that is not in the sets is zero at all inputs: the analysis is conservative, and gives
//! the union of all alternatives if the selection is not known.

mod interning;
mod recurrence;
mod sets;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::selected_rows::SelectedRows;
use super::trips;
use crate::array::Array;
use crate::base::{BaseTensor, Report, Staging, Trip, TripFn, WhileFn};
use crate::dtype::DType;
use crate::kernels::loop_nest::Nest;
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Matrix, Reduce, Unary, kinds};
use crate::program::{Custom, interpret};
use crate::shape::{Shape, size};
use interning::{Lately, Pairs};
use sets::{NONE, SetId, Sets};

/// The inputs on which an element depends, and those on which it depends nonlinearly.
type Pair = [SetId; 2];

const CONSTANT: Pair = [NONE, NONE];

/// The sets of one analysis.
#[derive(Default)]
struct Table {
    sets: Sets,
    lately: Lately,
}

/// The elements of an array, in order.
#[derive(Clone)]
struct Dependences {
    table: Rc<RefCell<Table>>,
    of: Pairs,
}

/// A value with the dependences of its elements; or, if it depends on no input, with its value of `T`.
///
/// Example: [`Reading`].
#[derive(Clone)]
pub struct Sparsity<T> {
    shape: Shape,
    dtype: DType,
    /// The value, if it depends on no input.
    known: Option<T>,
    /// The dependences; `None` if no element has a derivative.
    on: Option<Dependences>,
}

/// One analysis: makes inputs, and gives the dependences of results.
///
/// ```
/// use polygrad::interpreters::sparsity::{Reading, Sparsity};
/// use polygrad::{Concrete, DType, Tensor};
/// let mut reading = Reading::default();
/// let x: Tensor<Sparsity<Concrete>, 1> = Tensor::from_raw(reading.input(&[3], DType::F64));
/// // The numbers of the elements follow those of the first input.
/// let y = Tensor::<_, 1>::from_raw(reading.input(&[2], DType::F64));
/// let i = Tensor::<_, 0, i64>::from_raw(Sparsity::unknown(&[], DType::I64));
/// let rows = |y: &Sparsity<Concrete>| {
///     let mut rows = Vec::new();
///     reading.result(y, |row| rows.push(row.collect::<Vec<_>>()));
///     rows
/// };
/// // On element 0 nonlinearly, on element 4 linearly; and an element that is not known.
/// assert_eq!(rows((x.at([0]).square() + y.at([1]) * 5.0).raw()), [[(0, false), (4, true)]]);
/// assert_eq!(rows(y.at([i]).raw())[0].iter().map(|(k, _)| *k).collect::<Vec<_>>(), [3, 4]);
/// ```
#[derive(Default)]
pub struct Reading {
    table: Rc<RefCell<Table>>,
    count: u32,
}

impl Reading {
    /// An input. Its elements get the next numbers if they are floats; otherwise the input is unknown data without
    /// dependences.
    ///
    /// Example: [`Reading`].
    ///
    /// # Panics
    /// When all inputs together have more than `2^31` elements.
    pub fn input<T: BaseTensor>(&mut self, shape: &[usize], dtype: DType) -> Sparsity<T> {
        let shape = Shape::from_slice(shape);
        if !dtype.is_float() {
            return Sparsity::unknown(&shape, dtype);
        }
        let first = self.count;
        let end = u32::try_from(size(&shape)).ok().and_then(|len| first.checked_add(len)).filter(|end| *end <= 1 << 31);
        self.count = end.expect("there are at most 2^31 elements of inputs");
        let of = (first..self.count).map(|k| [Sets::single(k), NONE]).collect();
        let on = Dependences { table: self.table.clone(), of };
        Sparsity { shape, dtype, known: None, on: Some(on) }
    }

    /// Calls `row` for each element of a result, with the numbers of the input elements on which it depends, in order,
    /// each with whether the dependence is linear.
    ///
    /// Example: [`Reading`].
    pub fn result<T: BaseTensor>(&self, y: &Sparsity<T>, mut row: impl FnMut(&mut dyn Iterator<Item = (usize, bool)>)) {
        let table = self.table.borrow();
        for k in 0..size(&y.shape) {
            let ([all, bent], mut one, mut other) = (y.at(k), 0, 0);
            let mut bent = table.sets.numbers(bent, &mut other).iter().peekable();
            let number = |k: &u32| (*k as usize, bent.next_if_eq(&k).is_none());
            row(&mut table.sets.numbers(all, &mut one).iter().map(number));
        }
    }
}

impl<T: BaseTensor> Sparsity<T> {
    fn of_known(known: T) -> Self {
        Sparsity { shape: known.shape().into(), dtype: known.dtype(), known: Some(known), on: None }
    }

    /// A value that depends on no input, and is not known: data that differ from run to run. A selection by it may
    /// select any alternative, and its product with a value that depends on inputs counts as nonlinear, since the
    /// coefficients of the linear map differ from run to run.
    ///
    /// Example: [`Reading`].
    pub fn unknown(shape: &[usize], dtype: DType) -> Self {
        Sparsity { shape: shape.into(), dtype, known: None, on: None }
    }

    fn kind(&self) -> (&[usize], DType) {
        (&self.shape, self.dtype)
    }

    fn at(&self, k: usize) -> Pair {
        self.on.as_ref().map_or(CONSTANT, |on| on.of[k])
    }

    fn pairs(&self) -> impl Iterator<Item = Pair> + Clone {
        self.on.iter().flat_map(|on| on.of.iter().copied())
    }

    /// The values of all operands, if they are known.
    fn all_known<'a>(args: impl IntoIterator<Item = &'a Self>) -> Option<Vec<T>> {
        args.into_iter().map(|x| x.known.clone()).collect()
    }

    /// A value of this shape whose dependences are computed from those of operands; unknown if no operand depends on
    /// inputs.
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
        let of = f(&mut Unions(&mut table.borrow_mut().sets));
        debug_assert_eq!(of.len(), size(shape), "one pair for each element");
        let of = table.borrow_mut().lately.shared(of);
        Sparsity { shape: shape.into(), dtype, known: None, on: Some(Dependences { table, of }) }
    }

    /// The mask of the zeros of a known value, if there are any.
    fn zeros_of(&self) -> Option<Vec<bool>> {
        let known = self.known.as_ref()?.peek()?.cast::<f64>().to_vec::<f64>().ok()?;
        known.contains(&0.0).then(|| known.into_iter().map(|x| x == 0.0).collect())
    }

    /// The integers of a known value.
    fn integers(&self) -> Option<Vec<i64>> {
        self.known.as_ref()?.peek()?.to_vec::<i64>().ok()
    }

    /// The rows of an array that indices select.
    fn rows(shape: &[usize], ix: &[Self]) -> SelectedRows {
        let each = ix.first().map_or(&[][..], |i| &i.shape);
        SelectedRows::of(shape, (ix.len(), each), ix.iter().map(Sparsity::integers).collect())
    }

    /// Results whose elements depend on all elements of all operands.
    fn all_of_all(args: &[Self], results: Vec<(Shape, DType)>) -> Vec<Self> {
        let made = |(shape, dtype): (Shape, DType)| {
            Sparsity::made((&shape, dtype), args, |u| {
                let all = u.sum(args.iter().flat_map(Sparsity::pairs));
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

    /// An unknown value with the same dependences, all nonlinear.
    fn bent(&self) -> Self {
        let Some(on) = &self.on else { return Sparsity::unknown(&self.shape, self.dtype) };
        if on.of.iter().all(|[all, bent]| all == bent) {
            return Sparsity { known: None, ..self.clone() };
        }
        let of = on.table.borrow_mut().lately.shared(on.of.iter().map(|[all, _]| [*all, *all]).collect());
        Sparsity { known: None, on: Some(Dependences { of, ..on.clone() }), ..self.clone() }
    }

    /// An unknown value that depends, element by element, on two operands of one shape.
    fn combined(&self, other: &Self, linear: bool) -> Self {
        let alone = |one: &Self| if linear { Sparsity { known: None, ..one.clone() } } else { one.bent() };
        let (a, b) = match (&self.on, &other.on) {
            (Some(a), Some(b)) if !Rc::ptr_eq(&a.of, &b.of) => (a, b),
            (Some(_), _) | (None, None) => return alone(self),
            (None, Some(_)) => return alone(other),
        };
        let old = a.table.borrow().lately.combination(&a.of, &b.of, linear);
        if let Some(of) = old {
            return Sparsity { known: None, on: Some(Dependences { of, ..a.clone() }), ..self.clone() };
        }
        let new = Sparsity::made(self.kind(), [self, other], |u| {
            let both = |(a, b): (&Pair, &Pair)| if linear { u.both(*a, *b) } else { u.bent_both(*a, *b) };
            a.of.iter().zip(b.of.iter()).map(both).collect()
        });
        if let Some(on) = &new.on {
            a.table.borrow_mut().lately.combine(&a.of, &b.of, linear, &on.of);
        }
        new
    }

    /// A value that is one of two, selected by values that depend on inputs or are unknown.
    fn either(&self, other: &Self) -> Self {
        self.combined(other, false)
    }

    fn same_dependence(&self, other: &Self) -> bool {
        let Some(table) = self.on.as_ref().or(other.on.as_ref()).map(|on| on.table.borrow()) else {
            return self.known.is_some() == other.known.is_some();
        };
        let same = |k: usize| self.at(k).into_iter().zip(other.at(k)).all(|(a, b)| table.sets.same(a, b));
        (0..size(&self.shape)).all(same) && self.known.is_some() == other.known.is_some()
    }
}

/// Unions of pairs of sets.
struct Unions<'a>(&'a mut Sets);

impl Unions<'_> {
    fn both(&mut self, a: Pair, b: Pair) -> Pair {
        [self.0.union(a[0], b[0]), self.0.union(a[1], b[1])]
    }

    /// The same dependences, all nonlinear.
    fn bent(&mut self, a: Pair) -> Pair {
        [a[0], a[0]]
    }

    fn bent_both(&mut self, a: Pair, b: Pair) -> Pair {
        let all = self.0.union(a[0], b[0]);
        [all, all]
    }

    /// A sum of many.
    fn sum(&mut self, pairs: impl Iterator<Item = Pair> + Clone) -> Pair {
        [0, 1].map(|k| self.0.union_of(&mut pairs.clone().map(|pair| pair[k]).collect()))
    }

    /// For each of `len` positions, the dependences of the sum of the terms there. `visit` calls its argument with
    /// position and term, about `count` times.
    fn sums(
        &mut self,
        len: usize,
        count: usize,
        visit: impl FnOnce(&mut Self, &mut dyn FnMut(&mut Self, usize, Pair)),
    ) -> Vec<Pair> {
        let mut of = vec![CONSTANT; len];
        if count <= 2 * len {
            visit(self, &mut |u, place, term| of[place] = u.both(of[place], term));
            return of;
        }
        let mut terms: Vec<(usize, Pair)> = Vec::new();
        visit(self, &mut |_, place, term| {
            if terms.last() != Some(&(place, term)) {
                terms.push((place, term));
            }
        });
        terms.sort_unstable_by_key(|(place, _)| *place);
        for same in terms.chunk_by(|a, b| a.0 == b.0) {
            of[same[0].0] = self.sum(same.iter().map(|(_, term)| *term));
        }
        of
    }
}

impl<T: BaseTensor> BaseTensor for Sparsity<T> {
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
        if op == Unary::Neg { self.clone() } else { self.bent() }
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        if let (Some(x), Some(y)) = (&self.known, &other.known) {
            return Sparsity::of_known(x.binary(op, y));
        }
        kinds::binary(op, self.kind(), other.kind());
        let product = matches!(op, Binary::Mul | Binary::MulNoNan);
        // An unknown factor may depend on inputs, even if it has no derivative.
        let linear = matches!(op, Binary::Add | Binary::Sub)
            || (product && (self.known.is_some() || other.known.is_some()))
            || (matches!(op, Binary::Div | Binary::DivNoNan) && other.known.is_some());
        // If a known factor is zero, the product is a constant zero.
        let zeros = if product { self.zeros_of().or_else(|| other.zeros_of()) } else { None };
        match &zeros {
            None => self.combined(other, linear),
            Some(zeros) => Sparsity::made(self.kind(), [self, other], |u| {
                // The dependence stays linear, since the factor is known.
                let of = |k: usize| if zeros[k] { CONSTANT } else { u.both(self.at(k), other.at(k)) };
                (0..size(&self.shape)).map(of).collect()
            }),
        }
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
        let chosen = mask.known.as_ref().and_then(Report::peek).and_then(|mask| mask.to_vec::<bool>().ok());
        Sparsity::made(then.kind(), [then, otherwise], |u| {
            let of = |k: usize| match &chosen {
                Some(chosen) => {
                    if chosen[k] {
                        then.at(k)
                    } else {
                        otherwise.at(k)
                    }
                }
                // The mask depends on inputs.
                None => u.bent_both(then.at(k), otherwise.at(k)),
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
        match op {
            Linear::Affine { from, into } => Sparsity::made((shape, dtype), [self], |u| {
                let nest = Nest::new([from, into], [false; 2]);
                u.sums(size(shape), size(from.shape()), |u, add| {
                    nest.iter().for_each(|nest| nest.points(|[i, o]| add(u, o, self.at(i))));
                })
            }),
            Linear::Reshape { .. } | Linear::Cast { .. } if dtype.is_float() => {
                Sparsity { shape: shape.into(), dtype, known: None, on: self.on.clone() }
            }
            Linear::Reshape { .. } | Linear::Cast { .. } => Sparsity::unknown(shape, dtype),
            Linear::Fourier { .. } => Sparsity::made((shape, dtype), [self], |u| {
                let all = u.sum(self.pairs());
                vec![all; size(shape)]
            }),
            Linear::PrefixSum { axis, reverse, .. } => Sparsity::made((shape, dtype), [self], |u| {
                let (n, inner) = (shape[*axis], size(&shape[axis + 1..]));
                let mut sums: Vec<Pair> = (0..size(shape)).map(|k| self.at(k)).collect();
                for k in 0..size(shape) {
                    let k = if *reverse { size(shape) - 1 - k } else { k };
                    if k / inner % n != if *reverse { n - 1 } else { 0 } {
                        let before = if *reverse { k + inner } else { k - inner };
                        sums[k] = u.both(sums[before], sums[k]);
                    }
                }
                sums
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
            let is_zero = |zeros: &Option<Vec<bool>>, k: usize| zeros.as_ref().is_some_and(|zeros| zeros[k]);
            let nest = Nest::new([&op.a, &op.b, &op.out], [false; 3]);
            u.sums(size(&shape), size(op.out.shape()), |u, add| {
                let Some(nest) = nest else { return };
                nest.points(|[i, j, o]| {
                    if !is_zero(&no_a, i) && !is_zero(&no_b, j) {
                        let both = if linear { u.both(a.at(i), b.at(j)) } else { u.bent_both(a.at(i), b.at(j)) };
                        add(u, o, both);
                    }
                });
            })
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
                let line = u.sum((0..n).map(|m| self.at((i * n + m) * inner + j)));
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
        let rows = Sparsity::rows(&self.shape, ix);
        Sparsity::made((&shape, self.dtype), [self], |u| {
            let Some(known) = &rows.known else {
                let any = |e: usize, u: &mut Unions<'_>| {
                    let any = u.sum((0..rows.all).map(|row| self.at(row * rows.len + e)));
                    u.bent(any)
                };
                let row: Vec<Pair> = (0..rows.len).map(|e| any(e, u)).collect();
                return row.repeat(rows.count);
            };
            let mut of = Vec::with_capacity(size(&shape));
            for k in 0..rows.count {
                match rows.at(known, k) {
                    Some(row) => of.extend((0..rows.len).map(|e| self.at(row * rows.len + e))),
                    None => of.extend((0..rows.len).map(|_| CONSTANT)),
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
        let rows = Sparsity::rows(&self.shape, ix);
        Sparsity::made(self.kind(), [&self, v], |u| {
            let len = rows.len;
            let before = |k: usize| self.at(k);
            let Some(known) = &rows.known else {
                // Each row may be added at any position.
                let any = |e: usize, u: &mut Unions<'_>| {
                    let any = u.sum((0..rows.count).map(|k| v.at(k * len + e)));
                    u.bent(any)
                };
                let added: Vec<Pair> = (0..len).map(|e| any(e, u)).collect();
                return (0..size(&self.shape)).map(|k| u.both(before(k), added[k % len])).collect();
            };
            u.sums(size(&self.shape), size(&self.shape) + rows.count * len, |u, add| {
                (0..size(&self.shape)).for_each(|k| add(u, k, before(k)));
                for k in 0..rows.count {
                    if let Some(row) = rows.at(known, k) {
                        (0..len).for_each(|e| add(u, row * len + e, v.at(k * len + e)));
                    }
                }
            })
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

    /// The loop is unrolled.
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        trips::map_accum((n, reverse), init, xs, Sparsity::row, step)
    }

    /// If the end is not known, the carry has the union of its dependences after any number of trips.
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
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

    /// Every result depends on all operands of the call; those of a tap are its operands.
    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        if let Some(values) = Sparsity::all_known(args) {
            return T::call(op, &values).into_iter().map(Sparsity::of_known).collect();
        }
        let results = op.results(&args.iter().map(Sparsity::kind).collect::<Vec<_>>());
        match op {
            Call::Matrix(Matrix::PrefixProduct) => vec![recurrence::recurrence(&args[0], None, false)],
            Call::Matrix(Matrix::Recurrence { transposed }) => {
                vec![recurrence::recurrence(&args[0], Some(&args[1]), *transposed)]
            }
            Call::Tap(tap) => tap.passed(args).to_vec(),
            Call::Matrix(_) | Call::External(_) => Sparsity::all_of_all(args, results),
        }
    }

    /// The rule for tangents determines the dependences of the results; without one they depend on all arguments.
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        if let Some(values) = Sparsity::all_known(args) {
            return T::custom(rule, &values).into_iter().map(Sparsity::of_known).collect();
        }
        if rule.has_no_rules() {
            return rule.value(args.to_vec());
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
        // The rule is linear in the tangents, but its coefficients depend on the arguments.
        tangents.iter().map(Sparsity::bent).collect()
    }
}

impl<T: BaseTensor> Staging for Sparsity<T> {
    fn runs_all_trips() -> bool {
        T::runs_all_trips()
    }

    fn records() -> bool {
        T::records()
    }
}

impl<T: BaseTensor> Report for Sparsity<T> {
    fn peek(&self) -> Option<Array> {
        self.known.as_ref().and_then(Report::peek)
    }
}
