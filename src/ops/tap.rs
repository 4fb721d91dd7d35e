//! Taps: operations that look at values while a program runs, and return them: `debug` and `check`.
//!
//! Laws: a tap returns its operands unchanged, so tangents and cotangents pass it by, and no interpreter but those of
//! numbers prints or checks. A tap runs once for each execution: no pass moves a tap into a loop or out of one. Taps are
//! equal if their text, place and batches are: equal taps of the same operands are one execution.

use std::fmt;

use super::external::BatchedCall;
use super::kinds::Kind;
use super::linear::Linear;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::errors::debug_by_display;
use crate::escape;
use crate::shape::{Shape, Show};
use crate::source::SourceLine;

/// The action of a tap on the values.
///
/// Closed: whoever runs a tap fails to compile where a new kind has no meaning yet.
///
/// Example: [`Tap`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TapKind {
    /// Prints the operands, each under a label.
    Debug(Vec<String>),
    /// Ends the run with a message unless all elements of the first operand, a mask, hold; the others are returned.
    Check(String),
}

/// An operation that looks at values, and returns them.
///
/// ```
/// use polygrad::ops::{Call, Tap, TapKind};
/// use polygrad::{Array, BaseTensor, SourceLine};
/// let at = SourceLine { file: "src/model.rs".into(), line: 12, column: 9 };
/// let tap = Tap::new(TapKind::Check("x is positive".into()), Some(at));
/// assert!(matches!(tap.kind(), TapKind::Check(message) if message == "x is positive"));
/// assert_eq!((tap.name(), tap.at().map(ToString::to_string).as_deref()), ("check", Some("src/model.rs:12:9")));
/// assert_eq!(tap.passed(&["mask", "x", "y"]), ["x", "y"]);
/// let (mask, x) = (Array::from([true, true]), Array::from([1.0, 2.0]));
/// assert_eq!(Array::call(&Call::Tap(tap.into()), &[mask, x.clone()]), [x]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tap {
    kind: TapKind,
    at: Option<SourceLine>,
    /// The batches, innermost first: the tap runs for each element.
    each: Vec<BatchedCall>,
}

impl Tap {
    /// A tap that was written at a given line.
    ///
    /// Example: [`Tap`].
    pub fn new(kind: TapKind, at: Option<SourceLine>) -> Tap {
        Tap { kind, at, each: Vec::new() }
    }

    /// The action of the tap.
    ///
    /// Example: [`Tap`].
    pub fn kind(&self) -> &TapKind {
        &self.kind
    }

    /// Where the tap was written, if that is known.
    ///
    /// Example: [`Tap`].
    pub fn at(&self) -> Option<&SourceLine> {
        self.at.as_ref()
    }

    /// The batches of executions, innermost first.
    ///
    /// Example: [`Tap::batched`].
    pub fn each(&self) -> &[BatchedCall] {
        &self.each
    }

    /// The tap executed for each of `n` elements: marked operands are stacks along a new outermost axis.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::{Tap, TapKind};
    /// // Three executions: the operand is a stack of three vectors.
    /// let tap = Tap::new(TapKind::Debug(vec!["x".into()]), None).batched(3, vec![true]);
    /// assert_eq!(tap.each(), [(3, vec![true])]);
    /// assert!(tap.try_results(&[(&[3, 2], DType::F64)]).is_ok() && tap.try_results(&[(&[2], DType::F64)]).is_err());
    /// ```
    #[must_use]
    pub fn batched(&self, n: usize, stacked: Vec<bool>) -> Tap {
        let mut tap = self.clone();
        tap.each.push((n, stacked));
        tap
    }

    /// `debug` or `check`.
    ///
    /// Example: [`Tap`].
    pub fn name(&self) -> &'static str {
        match self.kind {
            TapKind::Debug(_) => "debug",
            TapKind::Check(_) => "check",
        }
    }

    /// The tap in printed programs: `check "x is positive"`.
    pub(crate) fn words(&self) -> String {
        match &self.kind {
            TapKind::Debug(labels) => {
                let labels: Vec<String> = labels.iter().map(|label| format!("{label:?}")).collect();
                format!("debug {}", labels.join(" "))
            }
            TapKind::Check(message) => format!("check {message:?}"),
        }
    }

    /// The tap and its place, for remarks: `check "x is positive" at src/main.rs:12:9`.
    pub(crate) fn remark(&self) -> String {
        self.at.as_ref().map_or_else(|| self.words(), |at| format!("{} at {at}", self.words()))
    }

    /// The number of first operands that are not returned: the mask of a check.
    pub(crate) fn masks(&self) -> usize {
        match self.kind {
            TapKind::Debug(_) => 0,
            TapKind::Check(_) => 1,
        }
    }

    /// The operands that are returned: all but the mask of a check.
    ///
    /// Example: [`Tap`].
    pub fn passed<'a, X>(&self, args: &'a [X]) -> &'a [X] {
        &args[self.masks()..]
    }

    /// Shapes and element types of the results: those of the operands that are returned.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::{Tap, TapKind};
    /// let tap = Tap::new(TapKind::Check("x is positive".into()), None);
    /// // The mask is not returned.
    /// let results = tap.try_results(&[(&[2], DType::Bool), (&[2], DType::F64)])?;
    /// assert_eq!(results, [([2].as_slice().into(), DType::F64)]);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// When the operands do not fit the tap and its batches.
    pub fn try_results(&self, args: &[Kind<'_>]) -> Result<Vec<(Shape, DType)>, String> {
        match &self.kind {
            TapKind::Debug(labels) if labels.len() != args.len() => {
                return Err(format!(
                    "debug: each value must have a label, but there are {} labels for {} values; give one for each",
                    labels.len(),
                    args.len()
                ));
            }
            TapKind::Check(_) if args.first().is_none_or(|mask| mask.1 != DType::Bool) => {
                return Err("check: the first operand must be a mask, but it is not; compare numbers first".into());
            }
            TapKind::Debug(_) | TapKind::Check(_) => {}
        }
        for (k, (shape, _)) in args.iter().enumerate() {
            let under = self.each.iter().filter(|(_, stacked)| stacked.get(k) == Some(&true)).map(|(n, _)| *n).rev();
            let under: Vec<usize> = under.collect();
            if !shape.starts_with(&under) || self.each.iter().any(|(_, stacked)| stacked.len() != args.len()) {
                return Err(format!(
                    "{}: a stack of operands must have the axes {}, but it has the shape {}; pass what was batched",
                    self.name(),
                    Show(&under),
                    Show(shape)
                ));
            }
        }
        Ok(self.passed(args).iter().map(|(shape, dtype)| (Shape::from_slice(shape), *dtype)).collect())
    }

    /// The failure of a check with this mask, which may be a stack.
    pub(crate) fn failure(&self, mask: &Array) -> Option<FailedCheck> {
        let TapKind::Check(message) = &self.kind else { return None };
        if self.executions() == 0 {
            return None;
        }
        let mut rest = mask.elements::<bool>().ok()?.iter().position(|holds| !holds)?;
        let mut index = vec![0; mask.rank()];
        for (at, n) in index.iter_mut().zip(mask.shape()).rev() {
            (*at, rest) = (rest % n, rest / n);
        }
        let under = self.each.iter().filter(|(_, stacked)| stacked[0]).count();
        let element = index.split_off(under);
        let shape = mask.shape()[under..].to_vec();
        Some(FailedCheck { message: message.clone(), element, shape, row: index, at: self.at.clone() })
    }

    /// The number of executions of a run.
    fn executions(&self) -> usize {
        self.each.iter().map(|(n, _)| *n).fold(1, usize::saturating_mul)
    }

    /// The lines that a run prints, in order.
    pub(crate) fn lines(&self, args: &[Array]) -> Vec<String> {
        let mut lines = Vec::new();
        if let TapKind::Debug(labels) = &self.kind {
            let place = self.at.as_ref().map_or_else(|| "debug".to_owned(), ToString::to_string);
            self.over(&self.each, &mut Vec::new(), args, &mut |row, args| {
                for (label, value) in labels.iter().zip(args) {
                    let row = if row.is_empty() { String::new() } else { format!(" at {}", Show(row)) };
                    lines.push(format!("[{place}] {}{row} = {}", escape::line(label), value.in_line()));
                }
            });
        }
        lines
    }

    /// Calls a function with the operands of each execution, and the index of the execution in the batches.
    fn over(&self, each: &[BatchedCall], row: &mut Vec<usize>, args: &[Array], f: &mut dyn FnMut(&[usize], &[Array])) {
        let Some(((n, stacked), inner)) = each.split_last() else { return f(row, args) };
        for k in 0..*n {
            let element = |(a, stacked): (&Array, &bool)| match stacked {
                true => a.linear(&Linear::row(a.shape(), 0, k)),
                false => a.clone(),
            };
            let args: Vec<Array> = args.iter().zip(stacked).map(element).collect();
            row.push(k);
            self.over(inner, row, &args, f);
            row.pop();
        }
    }
}

/// A check that did not hold while a program ran.
///
/// ```
/// use polygrad::{Function, RunError, Tensor, tensor};
/// let root = |x: &Tensor<_, 1>| x.check(&x.ge(0.0), "x is not negative").sqrt();
/// let f = Function::stage(root, &tensor([1.0, 4.0]));
/// let Err(RunError::Check(failed)) = f.run(&tensor([1.0, -4.0])) else { panic!("the check holds") };
/// assert_eq!((&failed.message[..], &failed.element[..]), ("x is not negative", &[1][..]));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedCheck {
    /// The message of the check.
    pub message: String,
    /// The index of the first element of the mask that does not hold.
    pub element: Vec<usize>,
    /// The shape of the mask.
    pub shape: Vec<usize>,
    /// The index of that mask among those of a vectorized loop, outermost loop first; empty without one.
    pub row: Vec<usize>,
    /// Where the check was written, if that is known.
    pub at: Option<SourceLine>,
}

debug_by_display!(FailedCheck);

impl fmt::Display for FailedCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, at) =
            (escape::line(&self.message), self.at.as_ref().map_or_else(String::new, |at| format!(" (called at {at})")));
        let element = match self.shape.is_empty() {
            true => "the mask".to_owned(),
            false => format!("element {} of the mask of shape {}", Show(&self.element), Show(&self.shape)),
        };
        let row = if self.row.is_empty() { String::new() } else { format!(" in row {}", Show(&self.row)) };
        write!(
            f,
            "check: `{message}` must hold, but {element} does not{row}; fix what the mask is made of, or take the check \
             out{at}"
        )
    }
}

impl std::error::Error for FailedCheck {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_prints_stays_in_its_lines() {
        let hostile = "x\n[src/main.rs:1:1] y = 1.0\u{202e}\u{1b}[2K";
        let at = SourceLine { file: hostile.into(), line: 1, column: 2 };
        let debug = Tap::new(TapKind::Debug(vec![hostile.into()]), Some(at.clone()));
        let lines = debug.lines(&[Array::scalar(2.0)]);
        assert_eq!(lines.len(), 1);
        let check = Tap::new(TapKind::Check(hostile.into()), Some(at));
        let failure = check.failure(&Array::scalar(false)).expect("it does not hold").to_string();
        for text in [lines[0].clone(), failure, debug.remark(), check.remark()] {
            assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
        }
    }
}
