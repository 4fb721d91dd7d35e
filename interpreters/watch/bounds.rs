//! Observation of reads and writes at indices out of bounds.
//!
//! Law: a read out of bounds gives 0. The mark of a value has the elements that are computed from such zeros. So the
//! report distinguishes reads on whose zeros no result depends, for instance because a selection takes the other
//! branch. A derivative reads and writes at the indices of its program, so only operations of the program are reported.

use std::fmt;

use indexmap::IndexMap;
use smallvec::SmallVec;

use super::{Made, Mark, PartOf, Source, Watch};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::errors::refused_by_rule;
use crate::ops::{Binary, Compare, Contract, Discrete, Linear, Reduce};
use crate::program::Single;
use crate::shape::{Show, size};
use crate::source::SourceLine;

/// The kind of an access at an index.
///
/// Closed: elements are read or written.
///
/// ```
/// use polygrad::inspect::{Access, bounds};
/// use polygrad::{Tensor, tensor};
/// let read = bounds(|x| x.at([5]), &tensor([1.0, 2.0]));
/// assert_eq!(read.faults[0].access, Access::Read);
/// let written = bounds(|x| x.clone().scatter_add([Tensor::constant([1, 5])], x), &tensor([1.0, 2.0]));
/// assert_eq!(written.faults[0].access, Access::Write);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// An element is read: `at`, `gather`, `take`. Out of bounds it is 0.
    Read,
    /// A number is added: `scatter_add`. Out of bounds it is dropped.
    Write,
}

/// An operation of a program that reads or writes out of bounds: the first time it does, and how often.
///
/// Example: [`Bounds`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfBounds {
    /// Whether elements are read or written.
    pub access: Access,
    /// The user's line.
    pub place: Option<SourceLine>,
    /// The axis.
    pub axis: usize,
    /// The size of the axis.
    pub size: usize,
    /// The index along the axis, the first time.
    pub index: i64,
    /// The position of the index among the indices of the operation, the first time: empty for a single index.
    pub at: Vec<usize>,
    /// The positions of the trips of the loops around the operation, the first time, the outermost loop first.
    pub trips: Vec<usize>,
    /// The number of indices out of bounds.
    pub count: usize,
}

/// `src/model.rs:12:18: reads at index 3 of axis 0, whose size is 3, in trip 2; 4 indices are out of bounds`.
impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        let verb = match self.access {
            Access::Read => "reads",
            Access::Write => "adds",
        };
        write!(f, "{verb} at index {} of axis {}, whose size is {}", self.index, self.axis, self.size)?;
        if !self.at.is_empty() {
            write!(f, ", from element {} of the indices", Show(&self.at))?;
        }
        match &self.trips[..] {
            [] => Ok(()),
            [trip] => write!(f, ", in trip {trip}"),
            trips => write!(f, ", in trip {} of nested loops", Show(trips)),
        }?;
        match self.count {
            1 => Ok(()),
            count => write!(f, "; {count} indices are out of bounds"),
        }
    }
}

/// The operations of a program that read or write out of bounds, in the order in which they first do.
///
/// ```
/// use polygrad::inspect::{Bounds, OutOfBounds, bounds};
/// use polygrad::{cond, tensor};
/// let x = tensor([1.0, 2.0]);
/// let Bounds { faults, harmless } = bounds(|x| cond(x.sum().gt(0.0), x.at([1]), x.at([2])), &x);
/// assert_eq!((faults.len(), harmless.len()), (0, 1));
/// assert_eq!(bounds(|x| x.at([1]), &x).to_string(), "everything is read and written within bounds");
/// let found: &OutOfBounds = &bounds(|x| x.at([5]), &x).faults[0];
/// assert_eq!((found.axis, found.size, found.index, found.count), (0, 2, 5, 1));
/// assert!(found.to_string().ends_with("reads at index 5 of axis 0, whose size is 2"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Reads whose zeros a result depends on, and writes that drop a nonzero number.
    pub faults: Vec<OutOfBounds>,
    /// Reads on whose zeros no result depends, since `select` or `cond` takes the other branch, or no operation uses
    /// them; and writes that drop zeros.
    pub harmless: Vec<OutOfBounds>,
}

/// A line for each operation, or `everything is read and written within bounds`.
impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.faults.iter().map(OutOfBounds::to_string);
        let harmless = self.harmless.iter().map(|read| format!("{read} (no result depends on it)"));
        let lines: Vec<String> = lines.chain(harmless).collect();
        if lines.is_empty() {
            return f.write_str("everything is read and written within bounds");
        }
        f.write_str(&lines.join("\n"))
    }
}

/// The operations that read or write out of bounds, and whether they matter.
///
/// Example: [`Reads`].
#[derive(Default)]
pub struct Notes(IndexMap<(Source, Access, usize), (OutOfBounds, bool)>);

impl Notes {
    /// The report: the reads in the marks of the results matter.
    ///
    /// Example: [`Reads`].
    pub fn report<T: BaseTensor>(mut self, results: &[Watch<T, Reads<T>>]) -> Bounds {
        results.iter().for_each(|y| y.mark().shown(&mut self));
        let (mut faults, mut harmless) = (Vec::new(), Vec::new());
        for (what, matters) in self.0.into_values() {
            if matters { &mut faults } else { &mut harmless }.push(what);
        }
        Bounds { faults, harmless }
    }

    fn matters(&mut self, number: usize) {
        self.0[number].1 = true;
    }
}

/// The elements of a value that are computed from zeros read out of bounds: with the number of each read, an array that
/// is 1 at the elements computed from the zeros of this read, and 0 at others.
///
/// ```
/// use polygrad::interpreters::watch::{Reads, Watch};
/// use polygrad::{Array, Concrete, Tensor};
/// // `notes` is of the type `Notes`.
/// let (y, notes) = Watch::<Concrete, Reads<Concrete>>::observed(|| {
///     Tensor::<_, 1>::from_raw(Watch::input(Array::from([1.0, 2.0]), "x")).at([5])
/// });
/// let report = notes.report(&[y.into_raw()]);
/// assert_eq!((report.faults.len(), report.harmless.len(), report.faults[0].index), (1, 0, 5));
/// ```
#[derive(Clone)]
pub struct Reads<T>(SmallVec<[(usize, T); 1]>);

impl<T> Default for Reads<T> {
    fn default() -> Self {
        Reads(SmallVec::new())
    }
}

fn constant<T: BaseTensor>(shape: &[usize], x: f64) -> T {
    T::constant(Array::full(shape, x))
}

/// 1 where an element is positive, 0 elsewhere.
fn ones_where_positive<T: BaseTensor>(t: &T) -> T {
    let mask = T::discrete(&Discrete::Compare(Compare::Gt), &[t, &constant(t.shape(), 0.0)]);
    T::discrete(&Discrete::ToFloat(DType::F64), &[&mask])
}

fn any<T: BaseTensor>(t: &T) -> bool {
    t.peek().is_some_and(|a| a.iter::<f64>().is_ok_and(|mut elements| elements.any(|x| x != 0.0)))
}

impl<T: BaseTensor> Reads<T> {
    /// Adds elements that depend on a read.
    fn add(&mut self, number: usize, elements: T) {
        match self.0.iter_mut().find(|(n, _)| *n == number) {
            Some((_, before)) => *before = before.binary(Binary::Max, &elements),
            None => self.0.push((number, elements)),
        }
    }

    /// Adds the elements that depend on the marked elements of an operand: `f` maps the ones of the operand to those of
    /// the result.
    fn through(&mut self, operand: &Reads<T>, f: impl Fn(&T) -> T) {
        operand.0.iter().for_each(|(number, ones)| self.add(*number, f(ones)));
    }

    /// The mark without reads on which no element depends.
    fn pruned(mut self) -> Self {
        self.0.retain(|(_, ones)| any(ones));
        self
    }
}

/// The first axis along which an index is out of bounds, for each position of the indices.
struct OutsideReads {
    /// By axis: 1 at the positions whose index is out of bounds along this axis, and along none before it.
    positions: Vec<Vec<f64>>,
    /// By axis: the first such position, the index there, and the number of positions.
    first: Vec<Option<(usize, i64, usize)>>,
}

impl OutsideReads {
    /// `None` if all indices are within bounds, or not known.
    fn new<T: BaseTensor, M>(sizes: &[usize], ix: &[&Watch<T, M>]) -> Option<OutsideReads> {
        let arrays: Vec<Array> = ix.iter().map(|i| i.value.peek()).collect::<Option<_>>()?;
        let values: Vec<_> = arrays.iter().filter_map(Array::values::<i64>).collect();
        let count = arrays.first()?.size();
        let mut outside = OutsideReads { positions: vec![Vec::new(); ix.len()], first: vec![None; ix.len()] };
        for at in 0..count {
            let beyond = |(i, n): (i64, &usize)| usize::try_from(i).map_or(true, |i| i >= *n);
            let Some(axis) = values.iter().zip(sizes).position(|(v, n)| beyond((v.get(at), n))) else { continue };
            let first = outside.first[axis].get_or_insert((at, values[axis].get(at), 0));
            first.2 += 1;
            outside.positions[axis].resize(count, 0.0);
            outside.positions[axis][at] = 1.0;
        }
        outside.first.iter().any(Option::is_some).then_some(outside)
    }
}

/// The index along each axis of a flat position.
fn unflatten(shape: &[usize], mut at: usize) -> Vec<usize> {
    let mut index: Vec<usize> = shape.iter().rev().map(|n| (at % n, at /= n).0).collect();
    index.reverse();
    index
}

impl<T: BaseTensor> Reads<T> {
    /// Notes the indices of an operation that are out of bounds; for each axis, the number of the note and the
    /// positions.
    fn note(
        made: &Made<'_, '_, T, Self>,
        access: Access,
        sizes: &[usize],
        ix: &[&Watch<T, Self>],
        notes: &mut Notes,
    ) -> Vec<(usize, T)> {
        let Some(outside) = OutsideReads::new(sizes, ix) else { return Vec::new() };
        let mut found = Vec::new();
        for (axis, (first, positions)) in outside.first.iter().zip(outside.positions).enumerate() {
            let Some((at, index, count)) = *first else { continue };
            let entry = notes.0.entry((made.source.clone(), access, axis));
            let number = entry.index();
            let (what, _) = entry.or_insert_with(|| {
                let (place, at, trips) = (made.source.line(), unflatten(ix[0].shape(), at), made.trips.to_vec());
                (OutOfBounds { access, place, axis, size: sizes[axis], index, at, trips, count: 0 }, false)
            });
            what.count += count;
            found.push((number, T::constant(Array::new(ix[0].shape(), positions))));
        }
        found
    }

    fn gathered(made: &Made<'_, '_, T, Self>, of: &Watch<T, Self>, ix: &[&Watch<T, Self>], notes: &mut Notes) -> Self {
        let (shape, mut mark) = (made.result.shape(), Reads::default());
        let Some(rank) = ix.first().map(|i| i.shape().len()) else { return of.mark.clone() };
        let outer: SmallVec<[usize; 4]> = (0..rank).collect();
        let spread = |ones: &T| ones.linear(&Linear::replicate(shape, &outer));
        if made.source.part_of.as_ref().is_none_or(|part| matches!(part, PartOf::Function(_))) {
            for (number, ones) in Reads::note(made, Access::Read, of.shape(), ix, notes) {
                mark.add(number, spread(&ones));
            }
        }
        let plain: Vec<T> = ix.iter().map(|i| i.value.clone()).collect();
        mark.through(&of.mark, |ones| ones.gather(&plain));
        ix.iter().for_each(|i| mark.through(&i.mark, spread));
        mark
    }

    fn scattered(
        made: &Made<'_, '_, T, Self>,
        base: &Watch<T, Self>,
        ix: &[&Watch<T, Self>],
        v: &Watch<T, Self>,
        notes: &mut Notes,
    ) -> Self {
        let mut mark = base.mark.clone();
        let plain: Vec<T> = ix.iter().map(|i| i.value.clone()).collect();
        mark.through(&v.mark, |ones| constant::<T>(base.shape(), 0.0).scatter_add(&plain, ones));
        // If an index depends on a read, the read determines the position of an addition, so it matters.
        ix.iter().for_each(|i| i.mark.shown(notes));
        let dropped = |positions: &T| dropped(&v.value, positions);
        if let Some(PartOf::Derivative(_)) = &made.source.part_of {
            // The adjoint of a read: a cotangent that is dropped says that a result depends on the read.
            let place = &made.source.place;
            let Some(outside) = OutsideReads::new(base.shape(), ix) else { return mark };
            for (axis, positions) in outside.positions.into_iter().enumerate().filter(|(_, p)| !p.is_empty()) {
                if dropped(&T::constant(Array::new(ix[0].shape(), positions))) {
                    let reads = notes.0.iter_mut().filter(|((source, _, k), _)| source.place == *place && *k == axis);
                    reads.for_each(|(_, (_, matters))| *matters = true);
                }
            }
            return mark;
        }
        for (number, positions) in Reads::note(made, Access::Write, base.shape(), ix, notes) {
            if dropped(&positions) {
                notes.matters(number);
            }
        }
        mark
    }

    fn contracted(op: &Contract, a: &Watch<T, Self>, b: &Watch<T, Self>) -> Self {
        let mut mark = Reads::default();
        let (in_a, in_b): (T, T) = (constant(a.shape(), 1.0), constant(b.shape(), 1.0));
        mark.through(&a.mark, |ones| ones_where_positive(&T::contract(op, ones, &in_b)));
        mark.through(&b.mark, |ones| ones_where_positive(&T::contract(op, &in_a, ones)));
        mark
    }

    /// Each element of the result depends on all elements of all operands.
    fn of_all(made: &Made<'_, '_, T, Self>) -> Self {
        let (shape, mut mark) = (made.result.shape(), Reads::default());
        made.op.operands(&mut |x| {
            let all: SmallVec<[usize; 4]> = (0..x.shape().len()).collect();
            let (sum, spread) = (Linear::sum(x.shape(), &all), Linear::replicate(shape, &[]));
            mark.through(&x.mark, |ones| ones_where_positive(&ones.linear(&sum).linear(&spread)));
        });
        mark.pruned()
    }

    fn discrete(op: &Discrete, args: &[&Watch<T, Self>], notes: &mut Notes) -> Self {
        let mut mark = Reads::default();
        for arg in args {
            match op {
                Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not | Discrete::FloatStep(_) => {
                    mark.through(&arg.mark, T::clone);
                }
                Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToInt | Discrete::ToFloat(_) => {
                    mark.through(&arg.mark, T::clone);
                }
                Discrete::ArgMax { axis } | Discrete::ArgMin { axis } => {
                    mark.through(&arg.mark, |ones| ones.reduce(Reduce::Max { axis: *axis }));
                }
                Discrete::PrefixArg { axis, reverse, .. } => {
                    let sums = Linear::prefix_sum(arg.shape(), *axis);
                    let sums = if *reverse { sums.adjoint() } else { sums };
                    mark.through(&arg.mark, |ones| ones_where_positive(&ones.linear(&sums)));
                }
                // Each position depends on all elements of its line.
                Discrete::ArgSort { .. } => arg.mark.shown(notes),
                Discrete::Iota { .. } => refused_by_rule("an operand of iota"),
            }
        }
        mark
    }

    fn concatenated(made: &Made<'_, '_, T, Self>, axis: usize, parts: &[&Watch<T, Self>]) -> Self {
        let (mut mark, mut start) = (Reads::default(), 0);
        for part in parts {
            let n = part.shape()[axis];
            let place = Linear::slice(made.result.shape(), axis, start, n, 1).adjoint();
            mark.through(&part.mark, |ones| ones.linear(&place));
            start += n;
        }
        mark
    }
}

/// Rows of one shape at some of `n` positions, with zeros at the others.
fn stack<T: BaseTensor>(n: usize, rows: Vec<(usize, T)>) -> T {
    let shape: Vec<usize> = std::iter::once(1).chain(rows[0].1.shape().iter().copied()).collect();
    let mut parts = vec![constant::<T>(&shape, 0.0); n];
    for (position, row) in rows {
        parts[position] = row.linear(&Linear::reshape(row.shape(), &shape));
    }
    T::concat(0, &parts)
}

/// Whether one of the subarrays at these positions has a nonzero element.
fn dropped<T: BaseTensor>(v: &T, positions: &T) -> bool {
    let (Some(v), Some(positions)) = (v.peek(), positions.peek()) else { return true };
    let block = size(&v.shape()[positions.rank()..]);
    let zero = Array::zeros(&v.shape()[positions.rank()..], v.dtype());
    let outer = v.with_shape(&[positions.size(), block]);
    let zero = zero.with_shape(&[block]);
    positions.iter::<f64>().is_ok_and(|ones| ones.enumerate().any(|(k, x)| x != 0.0 && outer.row(k) != zero))
}

impl<T: BaseTensor> Mark<T> for Reads<T> {
    type Log = Notes;

    fn made(made: &Made<'_, '_, T, Self>, notes: &mut Notes) -> Self {
        let mut mark = Reads::default();
        let Some(op) = made.op.single() else { return Reads::of_all(made) };
        let mark = match op {
            Single::Unary(_, x) => x.mark.clone(),
            Single::Binary(_, x, y) => {
                mark.through(&x.mark, T::clone);
                mark.through(&y.mark, T::clone);
                mark
            }
            Single::Discrete(op, args) => Reads::discrete(op, args, notes),
            Single::Select([mask, then, otherwise]) => {
                let zero = constant(made.result.shape(), 0.0);
                mark.through(&mask.mark, T::clone);
                mark.through(&then.mark, |ones| T::select(&mask.value, ones, &zero));
                mark.through(&otherwise.mark, |ones| T::select(&mask.value, &zero, ones));
                mark
            }
            Single::Linear(op, x) => {
                if let Linear::Cast { .. } = op {
                    return x.mark.clone();
                }
                if let Linear::Fourier { shape, parts, axis, .. } = op {
                    // Each element of a line depends on all elements of the line.
                    let whole = Linear::sum(shape, &[*parts, *axis]);
                    mark.through(&x.mark, |ones| ones_where_positive(&ones.linear(&whole).linear(&whole.adjoint())));
                    return mark.pruned();
                }
                // Of a view or of prefix sums, the sums of ones are positive where an element is read.
                mark.through(&x.mark, |ones| ones_where_positive(&ones.linear(op)));
                mark
            }
            Single::Contract(op, a, b) => Reads::contracted(op, a, b),
            Single::Reduce(op, x) => {
                mark.through(&x.mark, |ones| ones.reduce(Reduce::Max { axis: op.axis() }));
                mark
            }
            Single::Gather(of, ix) => Reads::gathered(made, of, ix, notes),
            Single::ScatterAdd(base, ix, v) => Reads::scattered(made, base, ix, v, notes),
            Single::Concat(axis, parts) => Reads::concatenated(made, axis, parts),
        };
        mark.pruned()
    }

    fn row(&self, row: &T, position: usize) -> Self {
        let mut mark = Reads::default();
        mark.through(self, |ones| {
            debug_assert_eq!(&ones.shape()[1..], row.shape());
            ones.linear(&Linear::row(ones.shape(), 0, position))
        });
        mark.pruned()
    }

    fn stacked(n: usize, rows: Vec<(usize, Self)>) -> Self {
        let mut columns: IndexMap<usize, Vec<(usize, T)>> = IndexMap::new();
        for (position, row) in rows {
            row.0.into_iter().for_each(|(number, ones)| columns.entry(number).or_default().push((position, ones)));
        }
        Reads(columns.into_iter().map(|(number, rows)| (number, stack(n, rows))).collect())
    }

    /// The host language may branch on a value that it inspects, so the reads on which the value depends matter.
    fn shown(&self, notes: &mut Notes) {
        self.0.iter().for_each(|(number, _)| notes.matters(*number));
    }
}
