//! Calls: opaque operations on whole arrays, with any number of operands and results.
//!
//! Law: no rule or pass looks inside a call. A pass may move a call, drop it if no operation needs its results, and
//! merge equal calls; a [tap](Tap) stays in its loop, or outside loops.

use super::kinds::{Kind, or_panic};
use super::matrix::Matrix;
use super::{External, Tap};
use crate::dtype::DType;
use crate::escape;
use crate::shape::Shape;

use std::borrow::Cow;
use std::sync::Arc;

/// An operation with any number of operands and results.
///
/// Closed: an interpreter fails to compile where a new operation has no meaning yet.
///
/// ```
/// use polygrad::ops::{Call, Matrix};
/// use polygrad::{Array, BaseTensor};
/// let call = Call::Matrix(Matrix::SlogDet);
/// let results = Array::call(&call, &[Array::from([[-1.0, 0.0], [0.0, 1.0]])]);
/// assert_eq!(results, [Array::scalar(-1.0), Array::scalar(0.0)]);
/// assert_eq!(call.name(), "slogdet");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Linear algebra.
    Matrix(Matrix),
    /// Host code.
    External(Arc<External>),
    /// An inspection of values, which are the results.
    Tap(Arc<Tap>),
}

impl Call {
    /// The name of the operation in printed programs.
    ///
    /// Example: [`Call`].
    pub fn name(&self) -> &str {
        match self {
            Call::Matrix(op) => op.name(),
            Call::External(external) => external.name(),
            Call::Tap(tap) => tap.name(),
        }
    }

    /// The operation in printed programs: its name, with the text of a tap.
    pub(crate) fn words(&self) -> Cow<'_, str> {
        match self {
            Call::Matrix(_) | Call::External(_) => escape::name(self.name()),
            Call::Tap(tap) => tap.words().into(),
        }
    }

    /// Shapes and element types of the results.
    ///
    /// Example: [`Call::try_results`].
    ///
    /// # Panics
    /// When the operands do not fit.
    #[track_caller]
    pub fn results(&self, args: &[Kind<'_>]) -> Vec<(Shape, DType)> {
        or_panic(self.try_results(args))
    }

    /// [`results`](Call::results), with the message as an error.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::{Call, Matrix};
    /// let call = Call::Matrix(Matrix::Cholesky);
    /// assert_eq!(call.results(&[(&[3, 3], DType::F32)])[0].1, DType::F32);
    /// assert!(call.try_results(&[(&[3, 3], DType::I64)]).is_err());
    /// ```
    ///
    /// # Errors
    /// When the operands do not fit.
    pub fn try_results(&self, args: &[Kind<'_>]) -> Result<Vec<(Shape, DType)>, String> {
        match self {
            Call::Matrix(op) => op.try_results(args),
            Call::External(external) => external.try_results(args),
            Call::Tap(tap) => tap.try_results(args),
        }
    }

    /// The operand in which the operation is linear, with the others fixed, if its [`adjoint`](Call::adjoint) in this
    /// operand is a call, too.
    ///
    /// ```
    /// use polygrad::ops::{Call, Matrix};
    /// let solve = Call::Matrix(Matrix::Solve { transposed: false });
    /// assert_eq!((solve.linear_in(), Call::Matrix(Matrix::Inverse).linear_in()), (Some(1), None));
    /// assert_eq!(solve.adjoint().name(), "solve.t");
    /// ```
    pub fn linear_in(&self) -> Option<usize> {
        match self {
            Call::Matrix(op) => op.linear_in(),
            Call::External(_) | Call::Tap(_) => None,
        }
    }

    /// The adjoint in the operand in which the operation [is linear](Call::linear_in).
    ///
    /// Example: [`Call::linear_in`].
    pub fn adjoint(&self) -> Call {
        match self {
            Call::Matrix(op) => Call::Matrix(op.adjoint()),
            Call::External(_) | Call::Tap(_) => self.clone(),
        }
    }

    /// Whether the tangent of a result can be infinite or NaN where the value is finite.
    pub(crate) fn is_steep(&self, result: usize) -> bool {
        match self {
            Call::Matrix(op) => op.is_steep(result),
            Call::External(_) | Call::Tap(_) => false,
        }
    }

    /// The approximate number of arithmetic operations; 1 for host code, 0 for a tap.
    pub(crate) fn work(&self, args: &[Kind<'_>]) -> usize {
        match self {
            Call::Matrix(op) => op.work(args),
            Call::External(_) => 1,
            Call::Tap(_) => 0,
        }
    }
}
