//! [`SparseFunction`]: a pattern, and a function from arguments and data to the values of its elements.

#[cfg(feature = "report")]
use std::path::Path;

use super::decompression::{MatrixColors, PatternValues};
use super::matrices::Triplets;
use super::pattern::SparsityPattern;
use crate::ad::differentiate::strategy::Mode;
#[cfg(feature = "report")]
use crate::ad::function::ReportError;
use crate::ad::function::{Fixed, Function, RunError};
use crate::array::Array;
#[cfg(feature = "report")]
use crate::report::PatternPicture;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// A sparse Jacobian or Hessian, recorded once and run many times: see [`sparse_jacobian`](crate::sparse_jacobian), and
/// [`sparse_jacobian_with`](crate::sparse_jacobian_with) for those that take data.
///
/// ```
/// use polygrad::{SparseFunction, Tensor, sparse_jacobian, sparse_jacobian_with, tensor};
/// let x = tensor([1.0, 2.0, 4.0]);
/// let j: SparseFunction<_> = sparse_jacobian(|x: &Tensor<_, 1>| (x.slice(0, 1..) - x.slice(0, ..2)).square(), &x);
/// assert_eq!((j.pattern().shape(), j.values(&x)?), ((2, 3), vec![-2.0, 2.0, -4.0, 4.0]));
/// assert_eq!(j.run(&x)?.to_dense(), tensor([[-2.0, 2.0, 0.0], [0.0, -4.0, 4.0]]));
/// assert!(j.passes() <= 2 && j.function().run(&x)? == tensor([-2.0, 2.0, -4.0, 4.0]));
/// // A diagonal matrix takes one pass, however large it is.
/// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
/// let j = sparse_jacobian_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a, &x, &a);
/// assert_eq!((j.passes(), j.values_with(&x, &a)?), (1, vec![20.0, 400.0]));
/// assert_eq!(j.run_with(&x, &a)?.elements, [(0, 0, 20.0), (1, 1, 400.0)]);
/// # Ok::<(), polygrad::RunError>(())
/// ```
#[derive(Debug)]
pub struct SparseFunction<P, Q = ()> {
    pub(super) pattern: SparsityPattern,
    /// Of forward and of reverse mode.
    pub(super) passes: [usize; 2],
    pub(super) colors: MatrixColors,
    pub(super) function: Function<P, Q, Tensor<Array, 1>>,
}

impl<P, Q> SparseFunction<P, Q> {
    /// The positions of the elements that can be nonzero.
    ///
    /// Example: [`SparseFunction`].
    pub fn pattern(&self) -> &SparsityPattern {
        &self.pattern
    }

    /// The number of passes of forward and reverse mode that a run makes: the number of colours.
    ///
    /// Example: [`SparseFunction`].
    pub fn passes(&self) -> usize {
        self.passes.iter().sum()
    }

    /// The number of passes of one mode: some matrices take passes of both.
    ///
    /// ```
    /// use polygrad::{Mode, Tensor, concat, sparse_jacobian, tensor};
    /// let x = tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// // An arrow: a full row, a full column, and a diagonal.
    /// let arrow = |x: &Tensor<_, 1>| {
    ///     let y = x.exp();
    ///     concat(0, [&y.sum().reshape([1]), &y.slice(0, 1..).times(&y.at([0]))])
    /// };
    /// let j = sparse_jacobian(arrow, &x);
    /// assert_eq!((j.passes_by(Mode::Forward), j.passes_by(Mode::Reverse)), (2, 1));
    /// ```
    pub fn passes_by(&self, mode: Mode) -> usize {
        match mode {
            Mode::Forward => self.passes[0],
            Mode::Reverse => self.passes[1],
        }
    }

    /// The mode of most passes.
    ///
    /// ```
    /// use polygrad::{Mode, Tensor, sparse_jacobian, tensor};
    /// let x = tensor([1.0, 2.0, 3.0]);
    /// assert_eq!(sparse_jacobian(|x: &Tensor<_, 1>| x.sum(), &x).mode(), Mode::Reverse);
    /// assert_eq!(sparse_jacobian(|x: &Tensor<_, 1>| x.replicate::<2>(3), &x).mode(), Mode::Forward);
    /// ```
    pub fn mode(&self) -> Mode {
        if self.passes[1] > self.passes[0] { Mode::Reverse } else { Mode::Forward }
    }

    /// The function from the argument and data to the values of the [`entries`](SparsityPattern::entries), in order.
    /// Integers and masks in the data are constants of its [`program`](Function::program), and no inputs.
    ///
    /// Example: [`SparseFunction`].
    pub fn function(&self) -> &Function<P, Q, Tensor<Array, 1>> {
        &self.function
    }

    /// The matrix as its report draws it.
    #[cfg(feature = "report")]
    fn picture(&self) -> PatternPicture<'_> {
        PatternPicture {
            what: match self.colors {
                MatrixColors::Both(_) => "A sparse Jacobian",
                MatrixColors::Star(_) => "A sparse Hessian",
                MatrixColors::Diagonal(_) => "The diagonal of a Hessian",
            },
            shape: self.pattern.shape(),
            elements: self.pattern.entries().collect(),
            passes: self.colors.passes_of(&self.pattern),
            counts: self.passes,
            constant: self.pattern.constant().iter().filter(|constant| **constant).count(),
        }
    }

    /// [`Function::report`] of the [`function`](Self::function), with a picture of the pattern in the colours of the
    /// passes.
    ///
    /// ```
    /// use polygrad::{Tensor, sparse_jacobian, tensor};
    /// let j = sparse_jacobian(|x: &Tensor<_, 1>| x.slice(0, 1..) * x.slice(0, ..3), &tensor([1.0, 2.0, 3.0, 4.0]));
    /// let path = std::env::temp_dir().join(format!("polygrad-sparse-{}.html", std::process::id()));
    /// j.report(&path)?;
    /// assert!(std::fs::read_to_string(&path).unwrap().contains("3 × 4 elements: 6 can be nonzero"));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), polygrad::ReportError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Function::report`].
    #[cfg(feature = "report")]
    pub fn report(&self, path: impl AsRef<Path>) -> Result<(), ReportError> {
        self.function.write_report(path.as_ref(), None, Some(&self.picture()))
    }
}

impl<P: Tree<Array>, Q: Tree<Array>> SparseFunction<P, Q> {
    /// The function of arguments and data like these.
    #[track_caller]
    pub(super) fn of(values: PatternValues, like: (&P, &Q), fixed: Fixed) -> SparseFunction<P, Q> {
        let PatternValues { pattern, passes, colors, program } = values;
        let function = Function::of_elements(program, like, fixed, pattern.len());
        SparseFunction { pattern, passes, colors, function }
    }

    /// The matrix for this argument and these data.
    ///
    /// Example: [`SparseFunction`].
    ///
    /// # Errors
    /// As for [`Function::run_with`]; and when integers or masks in the data differ from those for which the matrix was
    /// recorded.
    pub fn run_with(&self, x: &P, data: &Q) -> Result<Triplets, RunError> {
        let values = self.values_with(x, data)?;
        let elements = self.pattern.entries().zip(values).map(|((i, j), x)| (i, j, x)).collect();
        Ok(Triplets { shape: self.pattern.shape(), elements })
    }

    /// [`report`](Self::report), with times that are measured on this argument and these data.
    ///
    /// ```
    /// use polygrad::{Tensor, sparse_jacobian_with, tensor};
    /// let (x, a) = (tensor([1.0, 2.0]), tensor([10.0, 100.0]));
    /// let j = sparse_jacobian_with(|x: &Tensor<_, 1>, a: &Tensor<_, 1>| x.square() * a, &x, &a);
    /// let path = std::env::temp_dir().join(format!("polygrad-sparse-with-{}.html", std::process::id()));
    /// j.report_with(&x, &a, &path)?;
    /// assert!(std::fs::read_to_string(&path).unwrap().contains("on the given inputs"));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), polygrad::ReportError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Function::report_with`].
    #[cfg(feature = "report")]
    pub fn report_with(&self, x: &P, data: &Q, path: impl AsRef<Path>) -> Result<(), ReportError> {
        let inputs = self.function.inputs_of(x, data)?;
        self.function.write_report(path.as_ref(), Some(&inputs), Some(&self.picture()))
    }

    /// The values of the [`entries`](SparsityPattern::entries) for this argument and these data, as
    /// [`values`](SparseFunction::values) gives them.
    ///
    /// Example: [`SparseFunction`].
    ///
    /// # Errors
    /// As for [`run_with`](Self::run_with).
    pub fn values_with(&self, x: &P, data: &Q) -> Result<Vec<f64>, RunError> {
        Ok(self.function.run_with(x, data)?.into_vec())
    }
}

impl<P: Tree<Array>> SparseFunction<P> {
    /// The matrix for this argument.
    ///
    /// Example: [`SparseFunction`].
    ///
    /// # Errors
    /// As for [`Function::run`].
    pub fn run(&self, x: &P) -> Result<Triplets, RunError> {
        self.run_with(x, &())
    }

    /// The values of the [`entries`](SparsityPattern::entries) for this argument, in the order of compressed rows; the
    /// pattern has the [`row_pointers`](SparsityPattern::row_pointers) and [`columns`](SparsityPattern::columns).
    /// [`SparsityPattern::by_columns`] permutes them to the order of compressed columns. A run of the
    /// [`function`](SparseFunction::function) returns the values as a tensor, without the copy to a `Vec`.
    ///
    /// Example: [`SparseFunction`].
    ///
    /// # Errors
    /// As for [`Function::run`].
    pub fn values(&self, x: &P) -> Result<Vec<f64>, RunError> {
        self.values_with(x, &())
    }
}
