//! Observation of the origin of a NaN or an infinity.
//!
//! Law: a value is marked exactly if it has an element that is not finite. The mark names the first operation among
//! those on which the value depends that computes a non-finite element from finite operands; and, if that element is an
//! infinity, the operation that computes a NaN from it. If several operations compute non-finite elements of one array,
//! the mark names one of them.

use std::fmt;
use std::rc::Rc;

use super::{Made, Mark, PartOf, Watch};
use crate::array::member::OneElement;
use crate::array::{Array, with_elem};
use crate::base::BaseTensor;
use crate::dtype::{DType, Elem, Member};
use crate::escape;
use crate::program::{Custom, Op};
use crate::shape::Show;
use crate::source::SourceLine;

/// The origin of a NaN or an infinity. Prints as a few lines: the operation, its operands, and the result that it
/// reaches.
///
/// ```
/// use polygrad::inspect::{NotFinite, first_nan};
/// use polygrad::tensor;
/// let found: NotFinite = first_nan(|x| x.ln().sum(), &tensor([1.0, 0.0])).expect("an infinity");
/// assert_eq!((found.operation.as_str(), &found.index[..], found.value), ("ln", &[1][..], f64::NEG_INFINITY));
/// assert!(found.then.is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NotFinite {
    /// The operation that computes it, with its parameters: `ln`, `sum axis=1`; or `the input x.0`, `a constant`.
    pub operation: String,
    /// The operation of the program to whose derivative this operation belongs.
    pub derivative_of: Option<String>,
    /// The function with derivative rules to which this operation belongs.
    pub function: Option<String>,
    /// The user's line; of a derivative, the line of the operation that is differentiated. `None` for inputs.
    pub place: Option<SourceLine>,
    /// The shape of the result.
    pub shape: Vec<usize>,
    /// The element type of the result.
    pub dtype: DType,
    /// The index of the first NaN of the result, or of its first infinity if it has no NaN.
    pub index: Vec<usize>,
    /// The element there.
    pub value: f64,
    /// The operands.
    pub operands: Vec<Summary>,
    /// The positions of the trips of the loops around the operation, the outermost loop first.
    pub trips: Vec<usize>,
    /// The operation that computes a NaN from this infinity.
    pub then: Option<Box<NotFinite>>,
    /// The statement of a function that solves equations: what happened, and what helps.
    pub reason: Option<String>,
    /// The first result that the element reaches: its path, as in the names of recorded programs.
    pub reaches: String,
}

/// A summary of an operand.
///
/// ```
/// use polygrad::inspect::{Summary, first_nan};
/// use polygrad::tensor;
/// let found = first_nan(|x| x.ln().sum(), &tensor([4.0, 0.0])).expect("an infinity");
/// let of_x: &Summary = &found.operands[0];
/// assert_eq!((of_x.at, of_x.range, of_x.nan), (Some(0.0), Some((0.0, 4.0)), 0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The shape.
    pub shape: Vec<usize>,
    /// The element type.
    pub dtype: DType,
    /// The element at the index of the result, if the operand has the same shape.
    pub at: Option<f64>,
    /// The smallest and the largest finite element.
    pub range: Option<(f64, f64)>,
    /// The number of NaN.
    pub nan: usize,
    /// The number of infinities.
    pub infinite: usize,
}

/// A number as its element type prints it.
fn number(x: f64, dtype: DType) -> String {
    match dtype {
        DType::F64 => format!("{x:?}"),
        DType::F32 => format!("{:?}", x as f32),
        DType::I64 | DType::Bool => format!("{x}"),
    }
}

impl Summary {
    fn new(a: &Array, result: &[usize], at: usize) -> Summary {
        let mut summary = Summary {
            shape: a.shape().to_vec(),
            dtype: a.dtype(),
            at: (a.shape() == result).then(|| element(a, at)),
            range: None,
            nan: 0,
            infinite: 0,
        };
        with_elem!(a.dtype(), E => {
            // If the array is one repeated value, one element is enough.
            let (count, weight) = if a.splat::<E>().is_some() { (a.size().min(1), a.size()) } else { (a.size(), 1) };
            for x in (0..count).map(|i| as_number(a.typed::<E>().get(i))) {
                if x.is_nan() {
                    summary.nan += weight;
                } else if x.is_infinite() {
                    summary.infinite += weight;
                } else {
                    summary.range = Some(summary.range.map_or((x, x), |(least, most)| (least.min(x), most.max(x))));
                }
            }
        });
        summary
    }
}

/// `f64 [3]: -1.0 there, finite elements from -1.0 to 2.0`.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |x: f64| number(x, self.dtype);
        write!(f, "{} {}", self.dtype, Show(&self.shape))?;
        if let (Some(x), []) = (self.at.or(self.range.map(|(x, _)| x)), &self.shape[..]) {
            return write!(f, ": {}", number(x));
        }
        if self.dtype == DType::Bool {
            return Ok(());
        }
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.at.map(|x| format!("{} there", number(x))));
        parts.extend(self.range.map(|(a, b)| match a == b {
            true => format!("finite elements are {}", number(a)),
            false => format!("finite elements from {} to {}", number(a), number(b)),
        }));
        parts.extend((self.nan > 0).then(|| format!("{} NaN", self.nan)));
        parts.extend((self.infinite > 0).then(|| format!("{} infinite", self.infinite)));
        if parts.is_empty() { Ok(()) } else { write!(f, ": {}", parts.join(", ")) }
    }
}

impl NotFinite {
    fn new<T: BaseTensor>(made: &Made<'_, '_, T, Origin>, a: &Array, at: usize) -> NotFinite {
        let mut operands = Vec::new();
        made.op.operands(&mut |x| operands.extend(x.value().peek().map(|x| Summary::new(&x, a.shape(), at))));
        let (derivative_of, function) = match &made.source.part_of {
            Some(PartOf::Derivative(of)) => (Some(of.clone()), None),
            Some(PartOf::Function(name)) => (None, Some(name.clone())),
            None => (None, None),
        };
        NotFinite {
            operation: made.source.operation.clone(),
            derivative_of,
            function,
            place: made.source.line(),
            shape: a.shape().to_vec(),
            dtype: a.dtype(),
            index: index(a.shape(), at),
            value: element(a, at),
            operands,
            trips: made.trips.to_vec(),
            then: None,
            reason: None,
            reaches: String::new(),
        }
    }

    fn line(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        if let Some(reason) = &self.reason {
            return f.write_str(reason);
        }
        match (&self.derivative_of, &self.function) {
            (Some(of), _) if self.operands.is_empty() => write!(f, "the derivative of {of} ({})", self.operation)?,
            (Some(of), _) => write!(f, "the derivative of {of} (its {})", self.operation)?,
            (None, Some(name)) => write!(f, "the function {name} (its {})", self.operation)?,
            (None, None) => f.write_str(&self.operation)?,
        }
        let verb = if self.operands.is_empty() { "has" } else { "gives" };
        write!(f, " {verb} {}", number(self.value, self.dtype))?;
        match &self.shape[..] {
            [] => write!(f, ", {} []", self.dtype)?,
            shape => write!(f, " at {} of {} {}", Show(&self.index), self.dtype, Show(shape))?,
        }
        match &self.trips[..] {
            [] => Ok(()),
            [trip] => write!(f, ", in trip {trip}"),
            trips => write!(f, ", in trip {} of nested loops", Show(trips)),
        }?;
        self.operands.iter().try_for_each(|x| write!(f, "\n    from {x}"))
    }
}

/// ```text
/// src/model.rs:12:18: ln gives -inf at [2] of f64 [3]
///     from f64 [3]: 0.0 there, finite elements from 0.0 to 1.0
/// then src/model.rs:13:9: mul gives NaN at [2] of f64 [3]
///     from f64 [3]: -inf there, finite elements from -0.7 to 0.0, 1 infinite
///     from f64 [3]: 0.0 there, finite elements from 0.0 to 1.0
/// it reaches result
/// ```
impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line(f)?;
        let mut then = &self.then;
        while let Some(next) = then {
            f.write_str("\nthen ")?;
            next.line(f)?;
            then = &next.then;
        }
        write!(f, "\nit reaches {}", escape::line(&self.reaches))
    }
}

/// The index along each axis of a flat position.
fn index(shape: &[usize], at: usize) -> Vec<usize> {
    let mut rest = at;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|n| {
            let i = rest % n;
            rest /= n;
            i
        })
        .collect();
    index.reverse();
    index
}

fn as_number<E: Elem>(x: E) -> f64 {
    match E::member::<OneElement>(x) {
        Member::F64(x) => x,
        Member::F32(x) => x.into(),
        Member::I64(x) => x as f64,
        Member::Bool(x) => x.into(),
    }
}

/// An element as a number; masks are 0 and 1.
fn element(a: &Array, at: usize) -> f64 {
    with_elem!(a.dtype(), E => as_number(a.typed::<E>().get(at)))
}

/// The position of the first NaN, or of the first infinity without a NaN.
fn first_bad(a: &Array) -> Option<usize> {
    if !a.dtype().is_float() {
        return None;
    }
    with_elem!(a.dtype(), E => {
        let count = if a.splat::<E>().is_some() { a.size().min(1) } else { a.size() };
        let values = a.typed::<E>();
        let mut bad = None;
        for i in 0..count {
            let x = as_number(values.get(i));
            if x.is_nan() {
                return Some(i);
            }
            if x.is_infinite() && bad.is_none() {
                bad = Some(i);
            }
        }
        bad
    })
}

/// An operation that computed an element that is not finite.
struct Event {
    /// Earlier events have smaller numbers.
    number: usize,
    report: NotFinite,
    /// The infinity from which this NaN was computed.
    of: Option<Rc<Event>>,
}

impl Event {
    /// The number of the first event that led to this one.
    fn first(&self) -> usize {
        self.of.as_ref().map_or(self.number, |of| of.first())
    }
}

/// The mark of a value with elements that are not finite.
///
/// ```
/// use polygrad::interpreters::watch::{Origin, Watch};
/// use polygrad::{Array, BaseTensor, Concrete, ops::Unary};
/// // What is counted is of the type `Events`.
/// let (y, _) = Watch::<Concrete, Origin>::observed(|| {
///     Watch::input(Array::scalar(0.0), "x").unary(Unary::Ln)
/// });
/// let report = Origin::report(&[y], &["y".into()]).expect("an infinity");
/// assert_eq!((report.operation.as_str(), report.reaches.as_str()), ("ln", "y"));
/// ```
#[derive(Clone, Default)]
pub struct Origin(Option<Rc<Event>>);

/// The number of events so far.
///
/// Example: [`Origin`].
#[derive(Default)]
pub struct Events(usize);

impl Origin {
    /// The report of the earliest event that led to elements of these results that are not finite; `paths` are the
    /// paths of the results.
    ///
    /// Example: [`Origin`].
    pub fn report<T: BaseTensor>(results: &[Watch<T, Origin>], paths: &[String]) -> Option<NotFinite> {
        let marked = results.iter().zip(paths).filter_map(|(y, path)| Some((y.mark().0.as_ref()?, path)));
        let (event, path) = marked.min_by_key(|(event, _)| event.first())?;
        let reaches = path.clone();
        let end = event.report.clone();
        Some(match &event.of {
            Some(of) => NotFinite { reaches, then: Some(Box::new(end)), ..of.report.clone() },
            None => NotFinite { reaches, ..end },
        })
    }
}

/// The operands from which an element of the result is computed.
fn read<'v, T: BaseTensor>(made: &Made<'_, 'v, T, Origin>, a: &Array, at: usize) -> Vec<&'v Watch<T, Origin>> {
    let mut operands = Vec::new();
    made.op.operands(&mut |x| operands.push(*x));
    if let Op::Select([mask, then, otherwise]) = made.op
        && let Some(mask) = mask.value().peek()
    {
        return vec![if element(&mask, at) == 1.0 { then } else { otherwise }];
    }
    if let Op::Concat(axis, _) = made.op {
        let mut i = index(a.shape(), at)[*axis];
        operands.retain(|part| {
            let n = part.shape()[*axis];
            let inside = i < n;
            i = i.wrapping_sub(n);
            inside
        });
    }
    operands
}

/// The event of the marked operand that is the cause of a non-finite element of the result: preferably an operand that
/// is not finite at the same index; among several, for a NaN, preferably one whose event is a NaN; among the remaining,
/// the one with the earliest event.
fn cause<'v, T: BaseTensor>(made: &Made<'_, 'v, T, Origin>, a: &Array, at: usize) -> Option<&'v Rc<Event>> {
    let operands = read(made, a, at);
    let is_nan = element(a, at).is_nan();
    let order = |x: &&Watch<T, Origin>, event: &Event| {
        let here = x.value().peek().filter(|x| x.shape() == a.shape()).map(|x| element(&x, at));
        let elsewhere = here.is_some_and(f64::is_finite);
        let other = is_nan && !event.report.value.is_nan();
        (elsewhere, other, event.first())
    };
    let marked = operands.iter().filter_map(|x| Some((x, x.mark().0.as_ref()?)));
    marked.min_by_key(|(x, event)| order(x, event)).map(|(_, event)| event)
}

impl<T: BaseTensor> Mark<T> for Origin {
    type Log = Events;

    fn made(made: &Made<'_, '_, T, Self>, events: &mut Events) -> Self {
        let Some(a) = made.result.peek() else { return Origin(None) };
        let Some(at) = first_bad(&a) else { return Origin(None) };
        let of = match cause(made, &a, at) {
            // This operation computed a NaN from an operand with an infinity and without a NaN.
            Some(event) if element(&a, at).is_nan() && !event.report.value.is_nan() => Some(event.clone()),
            Some(event) => return Origin(Some(event.clone())),
            None => None,
        };
        events.0 += 1;
        Origin(Some(Rc::new(Event { number: events.0, report: NotFinite::new(made, &a, at), of })))
    }

    /// The event of a function that has no result where its arguments are finite is that function, with its reason.
    fn explained(results: Vec<Watch<T, Self>>, of: &Custom, args: &[Watch<T, Self>]) -> Vec<Watch<T, Self>> {
        let is_bad = |x: &Watch<T, Self>| x.mark().0.is_some();
        if args.iter().any(is_bad) || !results.iter().any(is_bad) {
            return results;
        }
        let known: Option<Vec<Array>> = args.iter().map(|x| x.value().peek()).collect();
        let Some(reason) = known.and_then(|args| of.reason(&args)) else { return results };
        let with = |event: &Event| {
            let report = NotFinite {
                operation: of.name().to_owned(),
                function: None,
                operands: Vec::new(),
                trips: Vec::new(),
                reason: Some(reason.clone()),
                ..event.report.clone()
            };
            Origin(Some(Rc::new(Event { number: event.number, report, of: None })))
        };
        let explained = |mut y: Watch<T, Self>| {
            y.mark = y.mark.0.as_deref().map_or(Origin(None), with);
            y
        };
        results.into_iter().map(explained).collect()
    }

    fn row(&self, row: &T, _position: usize) -> Self {
        let bad = self.0.is_some() && row.peek().is_some_and(|a| first_bad(&a).is_some());
        if bad { self.clone() } else { Origin(None) }
    }

    fn stacked(_n: usize, rows: Vec<(usize, Self)>) -> Self {
        Origin(rows.into_iter().filter_map(|(_, mark)| mark.0).min_by_key(|event| event.first()))
    }
}
