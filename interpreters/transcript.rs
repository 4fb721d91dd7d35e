//! `Transcript<T>`: the text of a program, written while it runs, over any interpreter `T`.
//!
//! A value is a value of `T` and the number of the line that computes it.
//!
//! Law: the text depends on the program and on the shapes of its inputs, and on `T` only where constants show their
//! values. The first trip of a loop is written, and stands for all trips.
//!
//! A transcript is a separate interpreter, not a mark of an observation (`watch`), for the reasons that `count`
//! states, and since the text has more lines than results: a loop has lines at its start, at the end of a trip and at
//! its end, with new names for its variables and results; and a function with rules is one line, while an observation
//! observes the operations in it.
//!
//! ```text
//! t0 : f64 [3] = input
//! t1 : f64 [3] = sin t0
//! t2 : f64 [3] = t1 * t0
//! t3 : f64 [] = sum t2
//! return t3
//! ```

use std::fmt::Write;
use std::sync::Arc;

use super::scope;
use crate::array::{Array, with_elem};
use crate::base::{BaseTensor, Over, Trip, TripFn};
use crate::dtype::DType;
use crate::escape;
use crate::ops::{Call, Linear};
use crate::program::{Custom, Single, single_results};
use crate::shape::Show;

/// The text so far.
#[derive(Default)]
struct Log {
    text: String,
    /// The number of the next value.
    next: usize,
    /// The number of loops around the current line.
    depth: usize,
    /// Whether lines are suppressed, since a trip of the loop is in the text already; numbers are not used up either.
    muted: bool,
}

impl Log {
    fn line(&mut self, line: &str) {
        if !self.muted {
            let _ = writeln!(self.text, "{:1$}{line}", "", 4 * self.depth);
        }
    }
}

/// A value of the interpreter `T` whose operations are written down.
///
/// Made by [`inspect::transcript`](fn@crate::inspect::transcript); a program sees it only as its `T: BaseTensor`.
///
/// ```
/// use polygrad::interpreters::Transcript;
/// use polygrad::{Array, BaseTensor, ops::Unary};
/// let (y, text) = Transcript::<Array>::written(|| {
///     let y = Transcript::input(Array::scalar(0.0)).unary(Unary::Sin);
///     Transcript::result(&[y.clone()]);
///     y
/// });
/// assert_eq!(text, "t0 : f64 [] = input\nt1 : f64 [] = sin t0\nreturn t1\n");
/// assert_eq!(y.value(), &Array::scalar(0.0));
/// ```
#[derive(Clone)]
pub struct Transcript<T> {
    value: T,
    /// The number of the line; `None` for constants.
    name: Option<usize>,
}

impl<T: BaseTensor> Transcript<T> {
    /// The value.
    ///
    /// Example: [`Transcript`].
    pub fn value(&self) -> &T {
        &self.value
    }

    /// An input of the program that is written down.
    ///
    /// Example: [`Transcript`].
    pub fn input(value: T) -> Self {
        Transcript::made("input", value)
    }

    /// Runs `f`, and writes down its operations on values of this type.
    ///
    /// Example: [`Transcript`].
    pub fn written<R>(f: impl FnOnce() -> R) -> (R, String) {
        let (result, log) = scope::observed::<Transcript<T>, Log, R>(f);
        (result, log.text)
    }

    /// Writes the line with the results of a program.
    ///
    /// Example: [`Transcript`].
    pub fn result(values: &[Self]) {
        log::<T, ()>(|log| log.line(&format!("return {}", names(values))));
    }

    /// A value without its own line.
    fn constant_of(value: T) -> Self {
        Transcript { value, name: None }
    }

    /// A new name for a value: `t3 : f64 [2, 3]`.
    fn named(value: T) -> (Self, String) {
        let name = log::<T, usize>(|log| {
            let name = log.next;
            log.next += usize::from(!log.muted);
            name
        });
        let value = Transcript { value, name };
        let declared = format!("{} : {} {}", value.label(), value.dtype(), Show(value.shape()));
        (value, declared)
    }

    /// Writes the line of a value: how it was made.
    fn made(how: &str, value: T) -> Self {
        let (value, declared) = Transcript::named(value);
        log::<T, ()>(|log| log.line(&format!("{declared} = {how}")));
        value
    }

    #[track_caller]
    fn single(op: Single<'_, Self>) -> Self {
        let how = match op {
            Single::Unary(op, x) => apply(op.name(), [x]),
            Single::Binary(op, x, y) => apply(op.symbol(), [x, y]),
            Single::Discrete(op, args) => apply(&op.to_string(), args),
            Single::Select(args) => apply("select", args),
            Single::Linear(op, x) => op.applied(&x.label()),
            Single::Contract(op, a, b) => op.applied(&a.label(), &b.label()),
            Single::Reduce(op, x) => apply(&op.to_string(), [x]),
            Single::Gather(x, ix) => format!("gather {} [{}]", x.label(), names(ix)),
            Single::ScatterAdd(x, ix, v) => format!("scatter_add {} [{}] {}", x.label(), names(ix), v.label()),
            Single::Concat(axis, parts) => format!("concat axis={axis} [{}]", names(parts)),
        };
        Transcript::made(&how, op.applied(&mut |x| x.value.clone()))
    }

    /// The text by which lines refer to this value: its name, or its number if it is a constant.
    fn label(&self) -> String {
        if let Some(name) = self.name {
            return format!("t{name}");
        }
        let number =
            self.value.peek().and_then(|a| with_elem!(a.dtype(), E => a.splat::<E>().map(|x| format!("{x:?}"))));
        match (number, self.shape()) {
            (Some(number), []) => number,
            (Some(number), shape) => format!("(full {number} {})", Show(shape)),
            (None, shape) => format!("(constant {} {})", self.dtype(), Show(shape)),
        }
    }
}

/// Calls `f` on the log of values of type `Transcript<T>`, if one is written.
fn log<T: BaseTensor, R>(f: impl FnOnce(&mut Log) -> R) -> Option<R> {
    scope::observer::<Transcript<T>, Log, R>(f)
}

fn names<T: BaseTensor>(values: &[Transcript<T>]) -> String {
    values.iter().map(Transcript::label).collect::<Vec<String>>().join(", ")
}

fn values<T: Clone>(values: &[Transcript<T>]) -> Vec<T> {
    values.iter().map(|v| v.value.clone()).collect()
}

fn moved<T>(values: Vec<Transcript<T>>) -> Vec<T> {
    values.into_iter().map(|v| v.value).collect()
}

/// `a + b` for symbols, `f a b` for names.
fn apply<'a, T: BaseTensor>(op: &str, args: impl IntoIterator<Item = &'a Transcript<T>>) -> String {
    let labels: Vec<String> = args.into_iter().map(Transcript::label).collect();
    match &labels[..] {
        [a, b] if !op.starts_with(char::is_alphabetic) => format!("{a} {op} {b}"),
        labels => [&[op.to_string()], labels].concat().join(" "),
    }
}

/// The results of an operation with several, on a line.
fn several<T: BaseTensor>(how: &str, results: Vec<T>) -> Vec<Transcript<T>> {
    let (results, lines): (Vec<Transcript<T>>, Vec<String>) = results.into_iter().map(Transcript::named).unzip();
    log::<T, ()>(|log| log.line(&format!("{} = {how}", lines.join(", "))));
    results
}

impl<T: BaseTensor> BaseTensor for Transcript<T> {
    fn constant(a: Array) -> Self {
        Transcript::constant_of(T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        self.value.shape()
    }

    fn dtype(&self) -> DType {
        self.value.dtype()
    }

    single_results!();

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        several(&format!("{} [{}]", op.words(), names(args)), T::call(op, &values(args)))
    }

    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        several(&format!("custom {} [{}]", escape::name(rule.name()), names(args)), T::custom(rule, &values(args)))
    }

    /// The loop of `T`; its first trip is written, indented, with the names of that trip.
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        let starts: Vec<String> = init.iter().map(Transcript::label).collect();
        let was_muted = log::<T, bool>(|log| log.muted).unwrap_or_default();
        let (finals, stacks) = T::map_accum(n, reverse, moved(init), &values(xs), &mut |carry, elements| {
            let (carry, mut head): (Vec<Self>, Vec<String>) = carry.into_iter().map(Transcript::named).unzip();
            head.iter_mut().zip(&starts).for_each(|(declared, start)| *declared += &format!(" from {start}"));
            let (elements, of): (Vec<Self>, Vec<String>) = elements.iter().cloned().map(Transcript::named).unzip();
            head.extend(of.iter().zip(xs).map(|(declared, x)| format!("{declared} of {}", x.label())));
            let order = if reverse { ", reversed" } else { "" };
            log::<T, ()>(|log| {
                log.line(&format!("loop {n}{order}: {}", head.join(", ")));
                log.depth += 1;
            });
            let (carry, outputs) = step(carry, &elements);
            log::<T, ()>(|log| {
                log.line(&format!("next [{}], output [{}]", names(&carry), names(&outputs)));
                log.depth -= 1;
                log.muted = true;
            });
            (moved(carry), moved(outputs))
        });
        log::<T, ()>(|log| log.muted = was_muted);
        let (mut results, lines): (Vec<Self>, Vec<String>) =
            finals.into_iter().chain(stacks).map(Transcript::named).unzip();
        log::<T, ()>(|log| log.line(&format!("{} = end", lines.join(", "))));
        let outputs = results.split_off(starts.len());
        (results, outputs)
    }

    fn zeros(shape: &[usize], dtype: DType) -> Self {
        Transcript::constant_of(T::zeros(shape, dtype))
    }

    fn accumulate(self, other: &Self) -> Self {
        Transcript::made(&apply("+", [&self, other]), self.value.accumulate(&other.value))
    }

    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        let how = format!("{} + {}", self.label(), op.applied(&other.label()));
        Transcript::made(&how, self.value.accumulate_linear(op, &other.value))
    }
}

impl<T: BaseTensor> Over for Transcript<T> {
    type Base = T;

    fn base(&self) -> &T {
        &self.value
    }

    fn of_base(value: T) -> Self {
        Transcript::constant_of(value)
    }

    fn is_observer() -> bool {
        true
    }
}
