//! `Enclosure`: bounds of each element of a value, for inputs within bounds (interval arithmetic).
//!
//! An element is an interval: of floats, which may contain NaN besides; of integers; or of masks, which are true, false
//! or undecided. Each operation gives an interval that contains its results for all elements of its operands, so a
//! program is evaluated on a whole box at once, and so is its derivative, at dual numbers over this interpreter
//! (R. E. Moore, R. B. Kearfott, M. J. Cloud, "Introduction to Interval Analysis", 2009; IEEE 1788, whose intervals
//! contain neither NaN nor infinity, unlike these).
//!
//! Law: for inputs within their intervals, each element of each value of the program lies in its interval: the value in
//! exact arithmetic wherever that is defined, and the value that arrays compute, whose operations are rounded, with
//! sums in any order. A narrower box gives narrower intervals, up to the rounding of kernels. Bounds are sharp for one
//! operation, and not for a program in which a value is used more than once: `x - x` and powers of one value by products
//! are sharp, `x (1 - x)` is not.
//!
//! Conventions: zero stands for both zeros, so an operation that sees the sign of a zero (`1 / x`) is unbounded near
//! zero. A value that may be NaN has bounds that are NaN. A selection by an undecided mask gives the hull of both
//! branches.
//!
//! | module | contents |
//! |---|---|
//! | `fourier` | Fourier transforms |
//! | `interval` | arithmetic of floats rounded outwards, sums |
//! | `rows` | elementwise functions of floats |
//! | `range` | integers, masks, positions |
//! | `jumps` | whether a program is proven continuous on a box |
//! | `matrix` | linear algebra |
//! | `powers` | powers of a value by products |
//! | `recurrence` | linear recurrences, prefix products |

mod decomposed;
mod fourier;
mod interval;
mod jumps;
mod machine;
mod matrix;
mod powers;
mod range;
mod recurrence;
mod rows;

pub use jumps::continuous;

use std::rc::Rc;
use std::sync::Arc;

use super::bounded::{Bounded, Span};
use super::trips;
use crate::array::Array;
use crate::base::{BaseTensor, Lift, Report, Staging, Trip, TripFn, WhileFn};
use crate::dtype::DType;
use crate::errors::refused_by_rule;
use crate::escape;
use crate::kernels::loop_nest::Nest;
use crate::ops::{Binary, Call, Compare, Contract, Discrete, IntBinary, Linear, Matrix, Reduce, Unary, View, kinds};
use crate::program::repeat::{held, known};
use crate::program::{Custom, CustomKind};
use crate::shape::{Shape, size};
use crate::taps::{fail, is_quiet, quietly};
use interval::{ANYTHING, Interval};
use range::{ALL, Range, Search};

/// An element: an interval of floats or of integers.
trait Cell: Copy + PartialEq + 'static {
    const ZERO: Self;
    /// The accumulator of a sum.
    type Sum: Default + Clone;
    /// The type of bounds.
    type End: PartialOrd + Copy;
    /// Both bounds, and whether the element may be NaN.
    fn bounds(self) -> range::LineBounds<Self::End>;
    fn hull(self, other: Self) -> Self;
    fn times(self, other: Self, dtype: DType) -> Self;
    fn squared(self, dtype: DType) -> Self;
    /// Adds a term to a sum.
    fn add(sum: &mut Self::Sum, x: Self);
    fn total(sum: &Self::Sum, dtype: DType) -> Self;
}

/// The elements of a value, in order. Masks are integers.
#[derive(Clone, Debug)]
enum Elements {
    Floats(Rc<[Interval]>),
    Whole(Rc<[Range]>),
}

/// Evaluates an expression for the elements of one operand, or of two of one kind: floats, or integers.
macro_rules! each_kind {
    ($x:expr, $v:ident => $body:expr) => {
        match &$x {
            Elements::Floats($v) => Elements::Floats($body.into()),
            Elements::Whole($v) => Elements::Whole($body.into()),
        }
    };
    ($x:expr, $y:expr, $v:ident, $w:ident => $body:expr) => {
        match (&$x, &$y) {
            (Elements::Floats($v), Elements::Floats($w)) => Elements::Floats($body.into()),
            (Elements::Whole($v), Elements::Whole($w)) => Elements::Whole($body.into()),
            (Elements::Floats(_), Elements::Whole(_)) | (Elements::Whole(_), Elements::Floats(_)) => {
                refused_by_rule("different element types")
            }
        }
    };
}

/// A value by its bounds; [`enclose`](fn@crate::enclose) runs programs at this interpreter.
///
/// ```
/// use polygrad::{Array, BaseTensor, Enclosure, ops::Unary};
/// let x = Enclosure::between(&Array::scalar(-1.0), &Array::scalar(2.0))?;
/// let y = x.unary(Unary::Square);
/// assert!(y.lower() == Array::scalar(0.0) && y.upper() == Array::scalar(4.0));
/// assert!(Enclosure::between(&Array::scalar(2.0), &Array::scalar(1.0)).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Enclosure {
    shape: Shape,
    dtype: DType,
    of: Elements,
    /// Base and exponent, if the value is known to be a power.
    power: Option<powers::Power>,
}

impl Enclosure {
    /// The values between two arrays of one shape and element type. A bound that is NaN gives no information.
    ///
    /// Example: [`Enclosure`].
    ///
    /// # Errors
    /// When the arrays differ in shape or element type, or a lower bound is larger than the upper one.
    pub fn between(lower: &Array, upper: &Array) -> Result<Enclosure, String> {
        if (lower.shape(), lower.dtype()) != (upper.shape(), upper.dtype()) {
            return Err("the arrays of lower and upper bounds differ in shape or element type".into());
        }
        let of = each_kind!(Enclosure::constant(lower.clone()).of, Enclosure::constant(upper.clone()).of, a, b => {
            if let Some(k) = a.iter().zip(b.iter()).position(|(a, b)| a.lo > b.hi) {
                return Err(format!("element {k} lies between {} and {}", a[k].lo, b[k].hi));
            }
            a.iter().zip(b.iter()).map(|(a, b)| a.hull(*b)).collect::<Vec<_>>()
        });
        Ok(Enclosure::of(lower.shape(), lower.dtype(), of))
    }

    /// The lower bounds; NaN where a value may be NaN.
    ///
    /// Example: [`Enclosure`].
    pub fn lower(&self) -> Array {
        self.ends(|x| x.lo, |x| x.lo)
    }

    /// The upper bounds; NaN where a value may be NaN.
    ///
    /// Example: [`Enclosure`].
    pub fn upper(&self) -> Array {
        self.ends(|x| x.hi, |x| x.hi)
    }

    fn ends(&self, of_float: fn(&Interval) -> f64, of_whole: fn(&Range) -> i64) -> Array {
        let float = |x: &Interval| if x.nan { f64::NAN } else { of_float(x) };
        match &self.of {
            Elements::Floats(v) if self.dtype == DType::F32 => {
                Array::new(&self.shape, v.iter().map(|x| float(x) as f32).collect())
            }
            Elements::Floats(v) => Array::new(&self.shape, v.iter().map(float).collect()),
            Elements::Whole(v) if self.dtype == DType::Bool => {
                Array::new(&self.shape, v.iter().map(|x| of_whole(x) == 1).collect())
            }
            Elements::Whole(v) => Array::new(&self.shape, v.iter().map(of_whole).collect()),
        }
    }

    fn kind(&self) -> (&[usize], DType) {
        (&self.shape, self.dtype)
    }

    fn of(shape: &[usize], dtype: DType, of: Elements) -> Enclosure {
        Enclosure { shape: shape.into(), dtype, of, power: None }
    }

    /// A value of this shape with these floats as elements.
    fn floats(&self, dtype: DType, of: Vec<Interval>) -> Enclosure {
        Enclosure::of(&self.shape, dtype, Elements::Floats(of.into()))
    }

    fn whole(&self, dtype: DType, of: Vec<Range>) -> Enclosure {
        Enclosure::of(&self.shape, dtype, Elements::Whole(of.into()))
    }

    fn as_floats(&self) -> &[Interval] {
        if let Elements::Floats(v) = &self.of { v } else { refused_by_rule("different element types") }
    }

    fn as_whole(&self) -> &[Range] {
        if let Elements::Whole(v) = &self.of { v } else { refused_by_rule("different element types") }
    }

    /// Whether both are the same value of the program, by identity.
    fn is(&self, other: &Enclosure) -> bool {
        match (&self.of, &other.of) {
            (Elements::Floats(a), Elements::Floats(b)) => Rc::ptr_eq(a, b),
            (Elements::Whole(a), Elements::Whole(b)) => Rc::ptr_eq(a, b),
            (Elements::Floats(_), Elements::Whole(_)) | (Elements::Whole(_), Elements::Floats(_)) => false,
        }
    }

    fn row(&self, k: usize) -> Enclosure {
        let n = size(&self.shape[1..]);
        let of = each_kind!(self.of, v => &v[k * n..(k + 1) * n]);
        Enclosure::of(&self.shape[1..], self.dtype, of)
    }

    fn compare(op: Compare, a: &Enclosure, b: &Enclosure) -> Enclosure {
        fn all<C: Cell>(op: Compare, v: &[C], w: &[C], same: bool) -> Vec<Range> {
            v.iter().zip(w).map(|(x, y)| range::compare(op, x.bounds(), y.bounds(), same)).collect()
        }
        let of = match (&a.of, &b.of) {
            (Elements::Floats(v), Elements::Floats(w)) => all(op, v, w, a.is(b)),
            (Elements::Whole(v), Elements::Whole(w)) => all(op, v, w, a.is(b)),
            (Elements::Floats(_), Elements::Whole(_)) | (Elements::Whole(_), Elements::Floats(_)) => {
                refused_by_rule("different element types")
            }
        };
        a.whole(DType::Bool, of)
    }

    /// The value of a discrete operation.
    fn of_discrete(op: &Discrete, args: &[&Self]) -> Self {
        let (shape, dtype) = op.result(&args.iter().map(|a| a.kind()).collect::<Vec<_>>());
        let both = |f: &dyn Fn(Range, Range) -> Range| {
            let of = args[0].as_whole().iter().zip(args[1].as_whole()).map(|(x, y)| f(*x, *y));
            args[0].whole(dtype, of.collect())
        };
        let each =
            |f: &dyn Fn(Range) -> Range| args[0].whole(dtype, args[0].as_whole().iter().map(|x| f(*x)).collect());
        match op {
            Discrete::Compare(op) => Enclosure::compare(*op, args[0], args[1]),
            Discrete::And => both(&|x, y| x.binary(IntBinary::Min, y)),
            Discrete::Or => both(&|x, y| x.binary(IntBinary::Max, y)),
            Discrete::Not => each(&|x| Range { lo: 1 - x.hi, hi: 1 - x.lo }),
            Discrete::FloatStep(op) => {
                args[0].floats(dtype, args[0].as_floats().iter().map(|x| range::step(*op, *x)).collect())
            }
            Discrete::IntUnary(op) => each(&|x| x.unary(*op)),
            Discrete::IntBinary(op) => both(&|x, y| x.binary(*op, y)),
            Discrete::ToInt => match &args[0].of {
                Elements::Floats(v) => args[0].whole(dtype, v.iter().map(|x| range::to_int(*x)).collect()),
                Elements::Whole(v) => args[0].whole(dtype, v.to_vec()),
            },
            Discrete::ToFloat(_) => {
                args[0].floats(dtype, args[0].as_whole().iter().map(|x| x.to_float(dtype)).collect())
            }
            Discrete::ArgMax { axis } => args[0].positions(*axis, &shape, Search::Extremum { largest: true }),
            Discrete::ArgMin { axis } => args[0].positions(*axis, &shape, Search::Extremum { largest: false }),
            Discrete::ArgSort { axis, descending } => {
                args[0].positions(*axis, &shape, Search::Order { descending: *descending })
            }
            Discrete::PrefixArg { axis, largest, reverse } => {
                args[0].positions(*axis, &shape, Search::Prefix { largest: *largest, reverse: *reverse })
            }
            Discrete::Iota { n } => Enclosure::constant(Array::iota(*n)),
        }
    }

    /// The positions of a search along an axis: one for each line, or one for each element.
    fn positions(&self, axis: usize, into: &[usize], search: Search) -> Enclosure {
        let (n, inner) = (self.shape[axis], size(&self.shape[axis + 1..]));
        let each = if into.len() == self.shape.len() { n } else { 1 };
        let mut of = vec![Range::ZERO; size(into)];
        for (line, start) in starts(&self.shape, axis).enumerate() {
            let places = (0..n).map(|m| start + m * inner);
            let found = match &self.of {
                Elements::Floats(v) => search.of(&places.map(|k| v[k].bounds()).collect::<Vec<_>>()),
                Elements::Whole(v) => search.of(&places.map(|k| v[k].bounds()).collect::<Vec<_>>()),
            };
            let first = line / inner * each * inner + line % inner;
            found.into_iter().enumerate().for_each(|(m, x)| of[first + m * inner] = x);
        }
        Enclosure::of(into, DType::I64, Elements::Whole(of.into()))
    }
}

/// The starts of the lines along an axis, in order.
fn starts(shape: &[usize], axis: usize) -> impl Iterator<Item = usize> {
    let (outer, n, inner) = (size(&shape[..axis]), shape[axis], size(&shape[axis + 1..]));
    (0..outer).flat_map(move |i| (0..inner).map(move |j| i * n * inner + j))
}

fn totals<C: Cell>(sums: &[C::Sum], dtype: DType) -> Vec<C> {
    sums.iter().map(|sum| C::total(sum, dtype)).collect()
}

fn affine<C: Cell>(from: &View, into: &View, x: &[C], dtype: DType) -> Vec<C> {
    let n = size(into.source());
    let nest = Nest::new([from, into], [false; 2]);
    if into.is_injective() {
        let mut out = vec![C::ZERO; n];
        nest.iter().for_each(|nest| nest.points(|[i, o]| out[o] = x[i]));
        return out;
    }
    let mut sums = vec![C::Sum::default(); n];
    nest.iter().for_each(|nest| nest.points(|[i, o]| C::add(&mut sums[o], x[i])));
    totals(&sums, dtype)
}

fn contract<C: Cell>(op: &Contract, a: &[C], b: &[C], same: bool, dtype: DType) -> Vec<C> {
    let mut sums = vec![C::Sum::default(); size(op.output_shape())];
    let product = |i: usize, j: usize| if same && i == j { a[i].squared(dtype) } else { a[i].times(b[j], dtype) };
    let nest = Nest::new([&op.a, &op.b, &op.out], [false; 3]);
    nest.iter().for_each(|nest| nest.points(|[i, j, o]| C::add(&mut sums[o], product(i, j))));
    totals(&sums, dtype)
}

/// The rows that an index may select, and whether it may be out of bounds.
fn rows(axes: &[usize], ix: &[&[Range]], k: usize) -> (Vec<usize>, bool) {
    let (mut rows, mut outside) = (vec![0], false);
    for (n, ix) in axes.iter().zip(ix) {
        let Range { lo, hi } = ix[k];
        outside |= lo < 0 || hi >= *n as i64;
        let inside = lo.max(0) as usize..(hi.saturating_add(1).clamp(0, *n as i64)) as usize;
        rows = rows.iter().flat_map(|row| inside.clone().map(move |i| row * n + i)).collect();
    }
    (rows, outside)
}

fn gather<C: Cell>(axes: &[usize], len: usize, x: &[C], ix: &[&[Range]], count: usize) -> Vec<C> {
    let mut out = Vec::with_capacity(count * len);
    for k in 0..count {
        let (rows, outside) = rows(axes, ix, k);
        for e in 0..len {
            let read = rows.iter().map(|row| x[row * len + e]).chain(outside.then_some(C::ZERO));
            out.push(read.reduce(C::hull).unwrap_or(C::ZERO));
        }
    }
    out
}

fn scatter<C: Cell>(axes: &[usize], len: usize, base: &[C], ix: &[&[Range]], v: &[C], dtype: DType) -> Vec<C> {
    let mut sums = vec![C::Sum::default(); base.len()];
    sums.iter_mut().zip(base).for_each(|(sum, x)| C::add(sum, *x));
    for k in 0..v.len() / len.max(1) {
        let (rows, outside) = rows(axes, ix, k);
        let decided = rows.len() == 1 && !outside;
        for (row, e) in rows.iter().flat_map(|row| (0..len).map(move |e| (row, e))) {
            let x = v[k * len + e];
            C::add(&mut sums[row * len + e], if decided { x } else { x.hull(C::ZERO) });
        }
    }
    totals(&sums, dtype)
}

/// The prefix sums of each line along an axis, or, in reverse, the suffix sums.
fn prefix_sums<C: Cell>(x: &[C], shape: &[usize], axis: usize, reverse: bool, dtype: DType) -> Vec<C> {
    let (n, inner) = (shape[axis], size(&shape[axis + 1..]));
    let mut out = x.to_vec();
    for start in starts(shape, axis) {
        let mut sum = C::Sum::default();
        for k in 0..n {
            let at = start + inner * if reverse { n - 1 - k } else { k };
            C::add(&mut sum, x[at]);
            out[at] = C::total(&sum, dtype);
        }
    }
    out
}

impl BaseTensor for Enclosure {
    fn constant(a: Array) -> Self {
        let (shape, dtype) = (a.shape(), a.dtype());
        let known = |x: f64| if x.is_nan() { ANYTHING } else { Interval::point(x) };
        let of = match dtype {
            DType::F64 => Elements::Floats((0..a.size()).map(|k| known(a.typed::<f64>().get(k))).collect()),
            DType::F32 => Elements::Floats((0..a.size()).map(|k| known(a.typed::<f32>().get(k).into())).collect()),
            DType::I64 => Elements::Whole((0..a.size()).map(|k| Range::point(a.typed::<i64>().get(k))).collect()),
            DType::Bool => {
                Elements::Whole((0..a.size()).map(|k| Range::point(a.typed::<bool>().get(k).into())).collect())
            }
        };
        Enclosure::of(shape, dtype, of)
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn unary(&self, op: Unary) -> Self {
        kinds::unary(op, self.dtype);
        let values = self.as_floats().iter().map(|x| rows::unary(op, *x, self.dtype)).collect();
        if op == Unary::Square { self.product(self, values) } else { self.floats(self.dtype, values) }
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        kinds::binary(op, self.kind(), other.kind());
        let same = self.is(other);
        let one = |(x, y): (&Interval, &Interval)| {
            let of_itself = if same { rows::of_itself(op, *x, self.dtype) } else { None };
            of_itself.unwrap_or_else(|| rows::binary(op, *x, *y, self.dtype))
        };
        let values = self.as_floats().iter().zip(other.as_floats()).map(one).collect();
        let is_product = matches!(op, Binary::Mul | Binary::MulNoNan);
        if is_product { self.product(other, values) } else { self.floats(self.dtype, values) }
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let value = Enclosure::of_discrete(op, args);
        if value.peek().is_none() {
            jumps::found();
        }
        value
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        kinds::select(mask.kind(), then.kind(), otherwise.kind());
        let of = each_kind!(then.of, otherwise.of, v, w => {
            let choose = |(k, mask): (usize, &Range)| match mask.known() {
                Some(0) => w[k],
                Some(_) => v[k],
                None => v[k].hull(w[k]),
            };
            mask.as_whole().iter().enumerate().map(choose).collect::<Vec<_>>()
        });
        Enclosure::of(&then.shape, then.dtype, of)
    }

    fn linear(&self, op: &Linear) -> Self {
        let dtype = op.result(&self.shape, self.dtype);
        let of = match op {
            Linear::Affine { from, into } => each_kind!(self.of, v => affine(from, into, v, dtype)),
            Linear::Reshape { .. } => self.of.clone(),
            Linear::Cast { .. } => {
                return self.floats(dtype, self.as_floats().iter().map(|x| x.widened(0, dtype)).collect());
            }
            Linear::Fourier { shape, parts, axis, conjugate } => {
                Elements::Floats(fourier::transform(self.as_floats(), shape, [*parts, *axis], *conjugate, dtype).into())
            }
            Linear::PrefixSum { shape, axis, reverse } => {
                each_kind!(self.of, v => prefix_sums(v, shape, *axis, *reverse, dtype))
            }
        };
        Enclosure::of(op.output_shape(), dtype, of)
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let (shape, dtype) = op.result(a.kind(), b.kind());
        let of = each_kind!(a.of, b.of, v, w => contract(op, v, w, a.is(b), dtype));
        Enclosure::of(&shape, dtype, of)
    }

    fn reduce(&self, op: Reduce) -> Self {
        let (shape, dtype) = op.result(self.kind());
        let (n, inner) = (self.shape[op.axis()], size(&self.shape[op.axis() + 1..]));
        let (of_floats, of_whole) = match op {
            Reduce::Max { .. } => (Binary::Max, IntBinary::Max),
            Reduce::Min { .. } => (Binary::Min, IntBinary::Min),
        };
        let line = |start: usize| (0..n).map(move |m| start + m * inner);
        let lines = starts(&self.shape, op.axis());
        let of = match &self.of {
            Elements::Floats(v) => {
                let extremum = |x, y| rows::binary(of_floats, x, y, dtype);
                let one = |start| line(start).map(|k| v[k]).reduce(extremum).unwrap_or(ANYTHING);
                Elements::Floats(lines.map(one).collect())
            }
            Elements::Whole(v) => {
                let extremum = |x: Range, y| x.binary(of_whole, y);
                let one = |start| line(start).map(|k| v[k]).reduce(extremum).unwrap_or(Range::ZERO);
                Elements::Whole(lines.map(one).collect())
            }
        };
        Enclosure::of(&shape, dtype, of)
    }

    /// For an undecided index: the hull of all elements that may be read.
    fn gather(&self, ix: &[Self]) -> Self {
        let shape = kinds::gather(&self.shape, &ix.iter().map(Enclosure::kind).collect::<Vec<_>>());
        let (axes, row) = self.shape.split_at(ix.len());
        let ranges: Vec<&[Range]> = ix.iter().map(Enclosure::as_whole).collect();
        let count = ranges.first().map_or(1, |ix| ix.len());
        let of = each_kind!(self.of, v => gather(axes, size(row), v, &ranges, count));
        Enclosure::of(&shape, self.dtype, of)
    }

    /// For an undecided index, at each position where it may be: the hull of the sums with and without the element.
    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        kinds::scatter_add(self.kind(), &ix.iter().map(Enclosure::kind).collect::<Vec<_>>(), v.kind());
        let (axes, row) = self.shape.split_at(ix.len());
        let ranges: Vec<&[Range]> = ix.iter().map(Enclosure::as_whole).collect();
        let of = each_kind!(self.of, v.of, base, v => scatter(axes, size(row), base, &ranges, v, self.dtype));
        Enclosure::of(&self.shape, self.dtype, of)
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let shape = kinds::concat(axis, &parts.iter().map(Enclosure::kind).collect::<Vec<_>>());
        let (outer, inner) = (size(&shape[..axis]), size(&shape[axis + 1..]));
        let slices = (0..outer).flat_map(|i| parts.iter().map(move |part| (part, part.shape[axis] * inner, i)));
        let of = match &parts[0].of {
            Elements::Floats(_) => Elements::Floats(
                slices.flat_map(|(part, n, i)| &part.as_floats()[i * n..(i + 1) * n]).copied().collect(),
            ),
            Elements::Whole(_) => {
                Elements::Whole(slices.flat_map(|(part, n, i)| &part.as_whole()[i * n..(i + 1) * n]).copied().collect())
            }
        };
        Enclosure::of(&shape, parts[0].dtype, of)
    }

    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        trips::map_accum((n, reverse), init, xs, Enclosure::row, step)
    }

    /// While the end is undecided, the carry is the hull of the carries before and after a further trip.
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        let mut carry = init;
        for trip in 0..most.unwrap_or(usize::MAX) {
            carry = match (known(&carry[0]), most) {
                (Some(true), _) => step(carry),
                (Some(false), _) => break,
                // The trip may not run, so that no check of it decides anything.
                (None, Some(_)) => quietly(|| held(carry, step)),
                (None, None) => panic!(
                    "while_loop: the bounds must decide when the loop ends, but after {trip} trips it may go on or end; use \
                     while_loop_within, or take a smaller box"
                ),
            };
        }
        carry
    }

    /// The results of code of the host have no bounds.
    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        op.results(&args.iter().map(Enclosure::kind).collect::<Vec<_>>());
        match op {
            Call::Matrix(Matrix::PrefixProduct) => vec![recurrence::recurrence(&args[0], None, false)],
            Call::Matrix(Matrix::Recurrence { transposed }) => {
                vec![recurrence::recurrence(&args[0], Some(&args[1]), *transposed)]
            }
            Call::Matrix(op) => matrix::call(*op, args),
            Call::External(external) => panic!(
                "{}: code of the host takes numbers, but its operands are bounds; write it as operations, or give its results \
                 as data",
                escape::name(external.name())
            ),
            Call::Tap(tap) => {
                // A mask that is not decided may hold.
                if let Some(failure) = tap.failure(&args[0].upper()).filter(|_| !is_quiet()) {
                    fail(failure);
                }
                tap.passed(args).to_vec()
            }
        }
    }

    /// Evaluates the primal program. A custom rule may give another derivative than that of the program, so the mean
    /// value theorem does not hold for it.
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        if let CustomKind::Rules { .. } = rule.kind() {
            jumps::found();
        }
        rule.value(args.to_vec())
    }
}

impl Staging for Enclosure {}

impl Report for Enclosure {
    /// The numbers, if all bounds are equal.
    fn peek(&self) -> Option<Array> {
        let decided = match &self.of {
            Elements::Floats(v) => v.iter().all(|x| x.known().is_some()),
            Elements::Whole(v) => v.iter().all(|x| x.known().is_some()),
        };
        decided.then(|| self.lower())
    }
}

impl Bounded for Enclosure {
    fn spans(&self) -> Vec<Span> {
        let span = |x: Interval| Span { lower: x.lo, upper: x.hi, nan: x.nan };
        match &self.of {
            Elements::Floats(v) => v.iter().map(|x| span(*x)).collect(),
            Elements::Whole(v) => v.iter().map(|x| span(x.to_float(DType::F64))).collect(),
        }
    }

    fn widened(&self, by: &[f64]) -> Self {
        let one = |(x, by): (&Interval, &f64)| {
            let wider = Interval { lo: (x.lo - by).next_down(), hi: (x.hi + by).next_up(), nan: x.nan };
            if *by == 0.0 { *x } else { wider.widened(0, self.dtype) }
        };
        self.floats(self.dtype, self.as_floats().iter().zip(by).map(one).collect())
    }

    fn unknown(shape: &[usize], dtype: DType) -> Self {
        let n = size(shape);
        let of = match dtype {
            DType::F64 | DType::F32 => Elements::Floats(vec![ANYTHING; n].into()),
            DType::I64 => Elements::Whole(vec![ALL; n].into()),
            DType::Bool => Elements::Whole(vec![Range::mask(true, true); n].into()),
        };
        Enclosure::of(shape, dtype, of)
    }
}

/// An array is a constant.
impl Lift<Array> for Enclosure {
    fn lift(a: Array) -> Self {
        Enclosure::constant(a)
    }
}
