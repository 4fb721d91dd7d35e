//! [`SparseFunction`]: a pattern, and a function from arguments and data to the values of its elements.

use super::matrices::Triplets;
use super::pattern::SparsityPattern;
use crate::ad::function::{Function, RunError};
use crate::ad::modes::Mode;
use crate::array::Array;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// A sparse Jacobian or Hessian, recorded once and run many times: see [`sparse_jacobian`](crate::sparse_jacobian), and
/// [`sparse_jacobian_with`](crate::sparse_jacobian_with) for those that take data.
#[derive(Debug)]
pub struct SparseFunction<P, Q = ()> {
    pub(super) pattern: SparsityPattern,
    /// Of forward and of reverse mode.
    pub(super) passes: [usize; 2],
    pub(super) function: Function<P, Q, Tensor<Array, 1>>,
}

impl<P, Q> SparseFunction<P, Q> {
    /// The positions of the elements that can be nonzero.
    pub fn pattern(&self) -> &SparsityPattern {
        &self.pattern
    }

    /// The number of passes of forward and reverse mode that a run makes: the number of colours.
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
    pub fn mode(&self) -> Mode {
        if self.passes[1] > self.passes[0] { Mode::Reverse } else { Mode::Forward }
    }

    /// The function from the argument and data to the values of the [`entries`](SparsityPattern::entries), in order.
    /// Integers and masks in the data are constants of its [`program`](Function::program), and no inputs.
    pub fn function(&self) -> &Function<P, Q, Tensor<Array, 1>> {
        &self.function
    }
}

impl<P: Tree<Array>, Q: Tree<Array>> SparseFunction<P, Q> {
    /// The matrix for this argument and these data.
    ///
    /// # Errors
    /// As for [`Function::run_with`]; and when integers or masks in the data differ from those for which the matrix was
    /// recorded.
    pub fn run_with(&self, x: &P, data: &Q) -> Result<Triplets, RunError> {
        let values = self.values_with(x, data)?;
        let elements = self.pattern.entries().zip(values).map(|((i, j), x)| (i, j, x)).collect();
        Ok(Triplets { shape: self.pattern.shape(), elements })
    }

    /// The values of the [`entries`](SparsityPattern::entries) for this argument and these data, as
    /// [`values`](SparseFunction::values) gives them.
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
    /// # Errors
    /// As for [`Function::run`].
    pub fn values(&self, x: &P) -> Result<Vec<f64>, RunError> {
        self.values_with(x, &())
    }
}
