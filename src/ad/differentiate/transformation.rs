//! Transformations: what a verb makes of a recorded program, the program itself or a derivative.
//!
//! Law: the program is optimized before it is differentiated, and the derivative again.

use super::laplacian::{self, divergence_program, summed};
use super::modes::{ChosenProgram, DenseDerivative};
use super::series::nth;
use super::strategy::Mode;
use super::sweep::{gradient, jvp, push, vjp};
use crate::interpreters::adval::Fault;
use crate::passes::{Options, optimize_with};
use crate::program::Program;

/// A function from programs to programs: what a verb computes of a recorded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transformation {
    /// The program itself.
    Value,
    /// A gradient, Jacobian or Hessian, in the mode with the least estimated time, unless a mode is requested.
    Dense(DenseDerivative),
    /// The derivative of this order of a function of one number.
    Nth(usize),
    /// The Laplacians of the results.
    Laplacian,
    /// The sums of the second derivatives of the results along this number of directions, whose stacks are inputs after
    /// the arguments.
    LaplacianAlong(usize),
    /// The divergence of one tensor of one tensor.
    Divergence,
    /// The product of the Hessian and a direction, whose leaves are inputs after the arguments.
    Hvp,
    /// Values, and their tangents; the tangents of the arguments are inputs after the arguments.
    Jvp,
    /// The tangents of the values alone, of the same inputs.
    Tangents,
    /// Values, and the cotangents of the arguments; the cotangents of the results are inputs after the arguments.
    Vjp,
    /// The cotangents of the arguments alone, of the same inputs.
    Cotangents,
}

/// The program of the value and the gradient of a recorded program in its first `count` inputs.
pub(crate) fn gradient_program(recorded: &Program, count: usize) -> Result<Program, Fault> {
    Transformation::Dense(DenseDerivative::gradient(true)).optimized(recorded, count, None, Options::DEFAULT)
}

impl Transformation {
    /// The options of the last optimization.
    pub(crate) fn last(self, options: Options) -> Options {
        match self {
            Transformation::Dense(derivative) => derivative.last(options),
            Transformation::Laplacian | Transformation::Divergence => laplacian::last(options),
            Transformation::Value
            | Transformation::Nth(_)
            | Transformation::LaplacianAlong(_)
            | Transformation::Hvp => options,
            Transformation::Jvp | Transformation::Tangents | Transformation::Vjp | Transformation::Cotangents => {
                options
            }
        }
    }

    /// The derivative of a program in its first `count` inputs, optimized for many runs.
    ///
    /// # Errors
    /// When the derivative does not exist.
    pub(crate) fn optimized(
        self,
        program: &Program,
        count: usize,
        mode: Option<Mode>,
        options: Options,
    ) -> Result<Program, Fault> {
        let made = self.of(program, count, mode, options, false)?;
        Ok(made.ready.unwrap_or_else(|| optimize_with(&made.program, self.last(options))))
    }

    /// The derivative of a program in its first `count` inputs; the other inputs are data.
    ///
    /// # Errors
    /// When the derivative does not exist.
    pub(crate) fn of(
        self,
        program: &Program,
        count: usize,
        mode: Option<Mode>,
        options: Options,
        once: bool,
    ) -> Result<ChosenProgram, Fault> {
        let ready = || optimize_with(program, options);
        let made = match self {
            Transformation::Dense(derivative) => return derivative.chosen(program, count, mode, options, once),
            Transformation::Divergence => return divergence_program(program, count, mode, options, once),
            Transformation::Value => program.clone(),
            Transformation::Laplacian => summed(&ready(), count, None),
            Transformation::LaplacianAlong(n) => summed(&ready(), count, Some(n)),
            Transformation::Nth(n) => nth(ready(), n, options),
            Transformation::Hvp => push(&optimize_with(&gradient(&ready(), count)?, options), count)?,
            Transformation::Jvp => jvp(&ready(), count),
            Transformation::Tangents => push(&ready(), count)?,
            Transformation::Vjp => vjp(&ready(), count, true)?,
            Transformation::Cotangents => vjp(&ready(), count, false)?,
        };
        Ok(ChosenProgram::only(made))
    }
}
