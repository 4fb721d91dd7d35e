//! Certificates of emitted source code: bounds of all values, and of rounding errors, for a box of inputs.
//!
//! Law: what a certificate says holds for every call of the function with inputs within the box: for the value in exact
//! arithmetic, and for the computed one, with sums in any order, whether or not a compiler fuses products with sums.
//! Bounds are those of [`Enclosure`], errors those of [`Rounding`](crate::interpreters::Rounding).
//!
//! | module | contents |
//! |---|---|
//! | `walk` | the bounds of every operation, trip by trip |
//! | `text` | the certificate as text |

mod text;
mod walk;

use thiserror::Error;

use super::inspect::Cost;
use crate::array::Array;
use crate::dtype::DType;
use crate::emission::Source;
use crate::errors::debug_by_display;
use crate::escape;
use crate::interpreters::{Enclosure, Rounding};
use crate::ops::{Call, Matrix};
use crate::program::{NodeId, Op, Program, run_by};
use crate::shape::Show;
use crate::source::SourceLine;
use walk::Walk;

/// What holds of a function for all inputs of a box; made by [`Source::certificate`].
///
/// Example: [`Source::certificate`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Certificate {
    /// The box.
    pub inputs: Vec<CertifiedInput>,
    /// The bounds of the results.
    pub outputs: Vec<CertifiedOutput>,
    /// The bounds of each operation of the program, by its name and line: of all elements, in all trips of loops.
    pub operations: Vec<CertifiedOperation>,
    /// The arithmetic of a call, and the bytes that operations read and write.
    pub cost: Cost,
    /// The bytes of the memory that the caller provides.
    pub scratch_bytes: usize,
    /// The bytes of the arrays on the stack.
    pub stack_bytes: usize,
}

/// An input with its bounds.
///
/// Example: [`Source::certificate`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CertifiedInput {
    /// The name.
    pub name: String,
    /// The lower bounds.
    pub lower: Array,
    /// The upper bounds.
    pub upper: Array,
}

/// A result with its bounds.
///
/// Example: [`Source::certificate`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CertifiedOutput {
    /// The name.
    pub name: String,
    /// The lower bounds; NaN where a value may be NaN.
    pub lower: Array,
    /// The upper bounds; NaN where a value may be NaN.
    pub upper: Array,
    /// A bound of `|computed - exact|` of each element, in `f64`; infinite where it is not known.
    pub error: Array,
}

/// The results of an operation.
///
/// Example: [`Source::certificate`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CertifiedOperation {
    /// The operation: `ln`, or `sum axis=1`.
    pub operation: String,
    /// The user's line, if that is known.
    pub at: Option<SourceLine>,
    /// The operation whose derivative this operation is part of.
    pub derivative_of: Option<String>,
    /// The lower bound of all numbers.
    pub lower: f64,
    /// The upper bound of all numbers.
    pub upper: f64,
    /// Whether a result may be NaN.
    pub may_be_nan: bool,
    /// Whether a result may be infinite, or an integer may wrap.
    pub may_overflow: bool,
    /// Whether a divisor may be zero.
    pub may_divide_by_zero: bool,
    /// Whether a fault begins here: finite operands may give NaN or an infinity.
    pub begins: bool,
}

impl CertifiedOperation {
    /// Whether a result may be NaN or infinite.
    ///
    /// Example: [`Source::certificate`].
    pub fn may_fail(&self) -> bool {
        self.may_be_nan || self.may_overflow
    }
}

impl Certificate {
    /// Whether no operation can give NaN or an infinity, and no integer can wrap.
    ///
    /// Example: [`Source::certificate`].
    pub fn is_clean(&self) -> bool {
        !self.operations.iter().any(CertifiedOperation::may_fail)
    }
}

/// The reason why a program has no certificate.
///
/// ```
/// use polygrad::{CertificateError, Function, tensor};
/// let source = Function::stage(|x| x.sin(), &tensor(0.0)).to_c("f")?;
/// let error = source.certificate(&[], &[]).unwrap_err();
/// assert_eq!(error, CertificateError::Count { inputs: 1, lower: 0, upper: 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// There is not one array per parameter.
    #[error(
        "certificate: the bounds must be one array for each of the {inputs} parameters, but there are {lower} lower and \
         {upper} upper bounds; pass one for each"
    )]
    Count {
        /// The number of parameters.
        inputs: usize,
        /// The number of lower bounds.
        lower: usize,
        /// The number of upper bounds.
        upper: usize,
    },
    /// A bound has a different shape or element type than the parameter.
    #[error("certificate: the bounds of {} must be {expected}, but one is {found}; convert it", escape::quoted(name))]
    Kind {
        /// The parameter.
        name: String,
        /// Its element type and shape.
        expected: String,
        /// Those of the bound.
        found: String,
    },
    /// A lower bound is larger than the upper one.
    #[error(
        "certificate: a lower bound must not be larger than the upper one, but of {} {fact}; exchange them",
        escape::quoted(name)
    )]
    Order {
        /// The parameter.
        name: String,
        /// The element with its bounds.
        fact: String,
    },
    /// An operation has no bounds: linear algebra, or code of the host.
    #[error(
        "certificate: every operation must have bounds of its results, but {} has none{}; write it with sums \
         and products, or compute it outside",
        escape::quoted(operation),
        called_at(at)
    )]
    NoBounds {
        /// The operation.
        operation: String,
        /// Where it was called, if that is known.
        at: Option<SourceLine>,
    },
    /// Bounds do not decide when a loop without a bound ends.
    #[error(
        "certificate: the bounds must decide when {} ends, but after {trips} trips it may go on or end{}; use \
         while_loop_within, or take a smaller box",
        escape::quoted(operation),
        called_at(at)
    )]
    Undecided {
        /// The loop.
        operation: String,
        /// Where it was called, if that is known.
        at: Option<SourceLine>,
        /// The number of trips that run for all inputs.
        trips: usize,
    },
}

debug_by_display!(CertificateError);

fn called_at(at: &Option<SourceLine>) -> String {
    at.as_ref().map_or_else(String::new, |at| format!(" (called at {at})"))
}

fn kind(shape: &[usize], dtype: DType) -> String {
    format!("{dtype} {}", Show(shape))
}

/// The box, if it fits the parameters.
fn boxed(program: &Program, lower: &[Array], upper: &[Array]) -> Result<Vec<Rounding<Enclosure>>, CertificateError> {
    let slots = program.inputs();
    if (lower.len(), upper.len()) != (slots.len(), slots.len()) {
        return Err(CertificateError::Count { inputs: slots.len(), lower: lower.len(), upper: upper.len() });
    }
    let mut inputs = Vec::with_capacity(slots.len());
    for (slot, (lower, upper)) in slots.iter().zip(lower.iter().zip(upper)) {
        let name = slot.name.clone();
        if let Some(other) = [lower, upper].into_iter().find(|a| !slot.is_of(a.shape(), a.dtype())) {
            let [expected, found] = [kind(&slot.shape, slot.dtype), kind(other.shape(), other.dtype())];
            return Err(CertificateError::Kind { name, expected, found });
        }
        let input = Enclosure::between(lower, upper).map_err(|fact| CertificateError::Order { name, fact })?;
        inputs.push(Rounding::exact(input));
    }
    Ok(inputs)
}

/// An error if an operation has no bounds.
fn check(program: &Program) -> Result<(), CertificateError> {
    let mut open = vec![program];
    while let Some(program) = open.pop() {
        for (k, node) in program.nodes().iter().enumerate() {
            open.extend(run_by(&node.op));
            let Op::Call(call, _) = &node.op else { continue };
            match call {
                Call::Matrix(Matrix::PrefixProduct | Matrix::Recurrence { .. }) | Call::Tap(_) => {}
                Call::Matrix(_) | Call::External(_) => {
                    let at = program.place(k as NodeId).at.as_ref().map(SourceLine::from);
                    return Err(CertificateError::NoBounds { operation: call.name().to_owned(), at });
                }
            }
        }
    }
    Ok(())
}

impl Source {
    /// Bounds of all values of the function, and of its rounding errors, for inputs from `lower` to `upper`: one array
    /// per parameter, in their order.
    ///
    /// For each result `y` and every input of the box, `lower <= y <= upper` and `|computed - exact| <= error`; for each
    /// operation, the bounds of its results, and whether they may be NaN or infinite. The inputs are exact. Errors
    /// propagate by the derivatives of operations, `|f(x') - f(x)| <= sup |f'| |x' - x|`, and each operation adds its
    /// own: of `n` terms in any order `n u / (1 - n u)` times the sum of absolute values, `u` half the machine epsilon of
    /// the element type.
    ///
    /// Conventions: a bound is NaN where a value may be NaN; there an error is infinite, unless both are certainly the
    /// same. An error is never larger than the
    /// distance of the bounds. That distance is the error at a selection that rounding may flip, at a read at such an index, and
    /// at a step such as `floor`. Bounds are those of interval arithmetic: exact if each value is used once, otherwise
    /// possibly too wide, so a fault that is reported need not occur, and one that is not reported cannot.
    ///
    /// Method: N. J. Higham, "Accuracy and Stability of Numerical Algorithms" (2002), chapters 2 to 4; R. E. Moore,
    /// R. B. Kearfott, M. J. Cloud, "Introduction to Interval Analysis" (2009).
    ///
    /// ```
    /// use polygrad::{Array, Certificate, CertifiedInput, CertifiedOperation, CertifiedOutput, Function, tensor};
    /// let source = Function::stage(|x| x.sin() * x.cos(), &tensor(0.0)).to_c("wave")?;
    /// let certificate: Certificate = source.certificate(&[Array::scalar(-3.2)], &[Array::scalar(3.2)])?;
    /// let (x, y): (&CertifiedInput, &CertifiedOutput) = (&certificate.inputs[0], &certificate.outputs[0]);
    /// assert_eq!((&x.name[..], &x.upper), ("x", &Array::scalar(3.2)));
    /// assert_eq!((&y.lower, &y.upper), (&Array::scalar(-1.0), &Array::scalar(1.0)));
    /// assert!(y.error.item::<f64>()? < 1e-14 && certificate.is_clean());
    /// // The logarithm is not finite at 0.
    /// let source = Function::stage(|x| x.ln(), &tensor(1.0)).to_c("logarithm")?;
    /// let certificate = source.certificate(&[Array::scalar(0.0)], &[Array::scalar(1.0)])?;
    /// let ln: &CertifiedOperation = &certificate.operations[0];
    /// assert_eq!((&ln.operation[..], ln.lower, ln.may_be_nan), ("ln", f64::NEG_INFINITY, false));
    /// assert!(ln.may_fail() && !certificate.is_clean());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the bounds do not fit the parameters; when an operation has no bounds: linear algebra; or when bounds do not
    /// decide at which trip a loop without a bound ends.
    pub fn certificate(&self, lower: &[Array], upper: &[Array]) -> Result<Certificate, CertificateError> {
        let program = self.program();
        let inputs = boxed(program, lower, upper)?;
        check(program)?;
        let (results, operations) = Walk::through(program, inputs)?;
        let bounds = program.inputs().iter().zip(lower.iter().zip(upper));
        let output = |(name, y): (String, &Rounding<Enclosure>)| CertifiedOutput {
            name,
            lower: y.value().lower(),
            upper: y.value().upper(),
            error: Array::new(y.value().lower().shape(), y.errors()),
        };
        let names = program.outputs().iter().map(|slot| slot.name.clone());
        Ok(Certificate {
            inputs: bounds
                .map(|(slot, (lower, upper))| CertifiedInput {
                    name: slot.name.clone(),
                    lower: lower.clone(),
                    upper: upper.clone(),
                })
                .collect(),
            outputs: names.zip(&results).map(output).collect(),
            operations,
            cost: program.estimate().cost,
            scratch_bytes: self.scratch_bytes,
            stack_bytes: self.stack_bytes,
        })
    }

    /// The source code with a certificate as a comment: at the top of the header of C, and of the code of Rust.
    ///
    /// ```
    /// use polygrad::{Array, Function, tensor};
    /// let source = Function::stage(|x| x.exp(), &tensor(0.0)).to_rust("growth")?;
    /// let certificate = source.certificate(&[Array::scalar(0.0)], &[Array::scalar(1e3)])?;
    /// let source = source.with_certificate(&certificate);
    /// assert!(source.code.starts_with("// Certificate: an overflow is possible"), "{}", source.code);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_certificate(mut self, certificate: &Certificate) -> Source {
        let (text, escaped): (_, fn(&str) -> String) = match self.header.is_empty() {
            true => (&mut self.code, escape::rust),
            false => (&mut self.header, escape::c),
        };
        text.insert_str(0, &text::comment(certificate, escaped));
        self
    }
}
