//! Observation of kinks: operations at points where they have no derivative, or no second one.
//!
//! Law: a kink is reported if the operand that is at it depends on an input of the program and a result depends on the
//! operation, in whatever branch of a selection. What a derivative stops at (`stop_gradient`, integers, masks) depends on no input;
//! but a selection depends on the comparison that makes it, so the border between its branches is a kink of the selection.

use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use indexmap::IndexMap;

use super::{Made, Mark, Source, Watch};
use crate::base::BaseTensor;
use crate::ops::{Binary, Compare, Discrete, FloatStep, Linear, Partial, Property, Unary};
use crate::program::Op;
use crate::shape::{Show, size};
use crate::source::SourceLine;

/// An operation of a program at a point where it is not smooth: the first time, and how often.
///
/// ```
/// use polygrad::inspect::kinks;
/// use polygrad::tensor;
/// let kink = &kinks(|x| x.abs().sum(), &tensor([1.0, 0.0]))[0];
/// assert_eq!((kink.operation.as_str(), &kink.index[..], kink.count), ("abs", &[1][..], 1));
/// assert!(kink.to_string().ends_with("abs is at a kink at [1]"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kink {
    /// The name of the operation.
    pub operation: String,
    /// The user's line.
    pub place: Option<SourceLine>,
    /// The index of the first element that is at a kink.
    pub index: Vec<usize>,
    /// The positions of the trips of the loops around the operation, the first time, the outermost loop first.
    pub trips: Vec<usize>,
    /// The number of elements that are at a kink.
    pub count: usize,
}

/// `src/model.rs:12:18: sqrt is at a kink at [1], in trip 2; 4 elements are`.
impl fmt::Display for Kink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{} is at a kink", self.operation)?;
        if !self.index.is_empty() {
            write!(f, " at {}", Show(&self.index))?;
        }
        match &self.trips[..] {
            [] => Ok(()),
            [trip] => write!(f, ", in trip {trip}"),
            trips => write!(f, ", in trip {} of nested loops", Show(trips)),
        }?;
        match self.count {
            1 => Ok(()),
            count => write!(f, "; {count} elements are"),
        }
    }
}

/// The operations of a program that are at a kink, each with the first time and the count.
///
/// ```
/// use polygrad::interpreters::watch::{Bends, Watch};
/// use polygrad::{Array, BaseTensor, Concrete, ops::Unary};
/// let kinks = |x: f64| {
///     let run = || Watch::<Concrete, Bends>::input(Array::scalar(x), "x").unary(Unary::Abs);
///     let (y, found) = Watch::<Concrete, Bends>::observed(run);
///     found.report(&[y])
/// };
/// assert_eq!((&kinks(0.0)[0].operation[..], kinks(2.0).len()), ("abs", 0));
/// ```
#[derive(Default)]
pub struct KinkLog(IndexMap<Source, Kink>);

impl KinkLog {
    /// The kinks on which a result depends.
    ///
    /// Example: [`KinkLog`].
    pub fn report<T: BaseTensor>(self, results: &[Watch<T, Bends>]) -> Vec<Kink> {
        let reached: BTreeSet<usize> = results.iter().flat_map(|y| y.mark.kinks.iter().copied()).collect();
        let all = self.0.into_values().enumerate();
        all.filter(|(number, _)| reached.contains(number)).map(|(_, kink)| kink).collect()
    }
}

/// Whether a value depends on an input, and the numbers of the kinks on which it depends.
///
/// Example: [`KinkLog`].
#[derive(Clone, Default)]
pub struct Bends {
    moves: bool,
    kinks: Rc<BTreeSet<usize>>,
    /// For a mask: the elements of an operand that moves and is at the border of the comparison.
    border: Option<Rc<Vec<usize>>>,
}

/// The numbers of an array of floats.
fn numbers<T: BaseTensor>(x: &T) -> Option<Vec<f64>> {
    let a = x.peek().filter(|a| a.dtype().is_float())?;
    a.iter::<f64>().map(Iterator::collect).or_else(|_| a.cast::<f64>().to_vec::<f64>()).ok()
}

/// The positions of the elements for which a test holds.
fn positions(count: usize, test: impl Fn(usize) -> bool) -> Vec<usize> {
    (0..count).filter(|k| test(*k)).collect()
}

/// The elements with a finite value at which a partial of a row is infinite or NaN.
fn steep<T: BaseTensor>(value: &T, partial: Partial<T>) -> Vec<usize> {
    // A partial that divides is infinite where it is 0.
    let (_, partial) = partial.factor();
    let (Some(y), Some(p)) = (numbers(value), partial.as_ref().and_then(numbers)) else { return Vec::new() };
    positions(y.len(), |k| y[k].is_finite() && !p[k].is_finite())
}

fn of_unary<T: BaseTensor>(op: Unary, x: &T, y: &T) -> Vec<usize> {
    if let Unary::Abs | Unary::Relu = op {
        numbers(x).map_or(Vec::new(), |x| positions(x.len(), |k| x[k] == 0.0))
    } else if op.is(Property::Steep) {
        steep(y, op.derivative(x, y))
    } else {
        Vec::new()
    }
}

#[allow(clippy::wildcard_enum_match_arm, reason = "other rows are smooth, unless they are steep")]
fn of_binary<T: BaseTensor>(op: Binary, [x, y]: [&Watch<T, Bends>; 2], z: &T) -> Vec<usize> {
    let (Some(a), Some(b)) = (numbers(&x.value), numbers(&y.value)) else { return Vec::new() };
    let (left, right) = (x.mark.moves, y.mark.moves);
    match op {
        Binary::Min | Binary::Max => positions(a.len(), |k| a[k] == b[k]),
        Binary::Hypot => positions(a.len(), |k| a[k] == 0.0 && b[k] == 0.0),
        Binary::Copysign => positions(a.len(), |k| a[k] == 0.0),
        // A power with an exponent that is not an integer has infinite derivatives at 0, from some order on.
        Binary::Pow | Binary::PowLessOne if left => {
            positions(a.len(), |k| a[k] == 0.0 && (b[k] < 0.0 || b[k].fract() != 0.0))
        }
        _ if op.is(Property::Steep) => {
            let mut all: BTreeSet<usize> = BTreeSet::new();
            if left {
                all.extend(steep(z, op.partial_left(&x.value, &y.value, z)));
            }
            if right {
                all.extend(steep(z, op.partial_right(&x.value, &y.value, z)));
            }
            all.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The lines along an axis that have their extremum twice, by their positions in the result.
fn of_extremum<T: BaseTensor>(x: &T, axis: usize, y: &T) -> Vec<usize> {
    let (Some(all), Some(top)) = (numbers(x), numbers(y)) else { return Vec::new() };
    let (n, inner) = (x.shape()[axis], size(&x.shape()[axis + 1..]));
    let at = |line: usize, k: usize| all[(line / inner * n + k) * inner + line % inner];
    positions(top.len(), |line| (0..n).filter(|k| at(line, *k) == top[line]).count() > 1)
}

/// The index along each axis of a flat position.
fn unflatten(shape: &[usize], mut at: usize) -> Vec<usize> {
    let mut index: Vec<usize> = shape.iter().rev().map(|n| (at % n, at /= n).0).collect();
    index.reverse();
    index
}

impl Bends {
    /// The elements of the result that are at a kink of the operation.
    #[allow(clippy::wildcard_enum_match_arm, reason = "other operations are linear, or made of these")]
    fn kinks_of<T: BaseTensor>(made: &Made<'_, '_, T, Self>) -> Vec<usize> {
        match made.op {
            Op::Unary(op, x) if x.mark.moves => of_unary(*op, &x.value, made.result),
            Op::Binary(op, x, y) if x.mark.moves || y.mark.moves => of_binary(*op, [x, y], made.result),
            Op::Reduce(op, x) if x.mark.moves => of_extremum(&x.value, op.axis(), made.result),
            Op::Select([mask, then, otherwise]) if then.mark.moves || otherwise.mark.moves => {
                mask.mark.border.as_ref().map_or(Vec::new(), |border| border.to_vec())
            }
            _ => Vec::new(),
        }
    }

    /// The elements at the border of a mask, in the order of its elements.
    #[allow(clippy::wildcard_enum_match_arm, reason = "no other operation makes masks of masks")]
    fn border_of<T: BaseTensor>(made: &Made<'_, '_, T, Self>) -> Option<Rc<Vec<usize>>> {
        match made.op {
            Op::Discrete(Discrete::Compare(by), args) if args.iter().any(|x| x.mark.moves) => {
                let (x, y) = (numbers(&args[0].value)?, numbers(&args[1].value)?);
                let tie = positions(x.len(), |k| x[k] == y[k]);
                (!matches!(by, Compare::Ne) && !tie.is_empty()).then(|| Rc::new(tie))
            }
            Op::Discrete(Discrete::And | Discrete::Or | Discrete::Not, args) => {
                args.iter().find_map(|x| x.mark.border.clone())
            }
            // Another shape has other positions: the first element stands for all.
            Op::Linear(op, x) => {
                let border = x.mark.border.clone()?;
                Some(if matches!(**op, Linear::Reshape { .. }) { border } else { Rc::new(vec![0]) })
            }
            _ => None,
        }
    }
}

impl<T: BaseTensor> Mark<T> for Bends {
    type Log = KinkLog;

    fn made(made: &Made<'_, '_, T, Self>, log: &mut KinkLog) -> Self {
        let is_float = made.result.dtype().is_float();
        let stops = matches!(made.op, Op::Discrete(Discrete::FloatStep(FloatStep::StopGradient), _));
        let (mut moves, mut kinks) = (matches!(made.op, Op::Input(_)) && is_float, BTreeSet::new());
        made.op.operands(&mut |x| {
            moves |= x.mark.moves;
            kinks.extend(x.mark.kinks.iter().copied());
        });
        let at = Bends::kinks_of(made);
        if let Some(first) = at.first() {
            let entry = log.0.entry(made.source.clone());
            kinks.insert(entry.index());
            let kink = entry.or_insert_with(|| Kink {
                operation: made.source.operation.clone(),
                place: made.source.line(),
                index: unflatten(made.result.shape(), *first),
                trips: made.trips.to_vec(),
                count: 0,
            });
            kink.count += at.len();
        }
        Bends { moves: moves && is_float && !stops, kinks: Rc::new(kinks), border: Bends::border_of(made) }
    }

    fn row(&self, _: &T, _: usize) -> Self {
        Bends { border: None, ..self.clone() }
    }

    fn stacked(_: usize, rows: Vec<(usize, Self)>) -> Self {
        let mut all = Bends::default();
        let kinks = rows.iter().flat_map(|(_, row)| row.kinks.iter().copied()).collect();
        rows.iter().for_each(|(_, row)| all.moves |= row.moves);
        Bends { kinks: Rc::new(kinks), ..all }
    }
}
