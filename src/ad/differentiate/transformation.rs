//! Transformations: what a verb makes of a recorded program, the program itself or a derivative.
//!
//! Law: the program is optimized before it is differentiated, and the derivative again.

use super::laplacian::{check_field, divergence_program, summed};
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

/// How many leaves there are: times those of the argument, times those of the results of the function, and others.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "serde"), allow(dead_code, reason = "saved functions alone say it"))]
pub(crate) struct LeafCount {
    argument: usize,
    results: usize,
    others: usize,
}

const NONE: LeafCount = LeafCount { argument: 0, results: 0, others: 0 };
const ARGUMENT: LeafCount = LeafCount { argument: 1, ..NONE };
const RESULTS: LeafCount = LeafCount { results: 1, ..NONE };
const ONE: LeafCount = LeafCount { others: 1, ..NONE };

impl LeafCount {
    /// The number for a function with these numbers of leaves; saved numbers may be of any size.
    #[cfg(feature = "serde")]
    pub(crate) fn of(self, argument: usize, results: usize) -> usize {
        let of = |times: usize, leaves: usize| times.saturating_mul(leaves);
        of(self.argument, argument).saturating_add(of(self.results, results)).saturating_add(self.others)
    }
}

/// What is known of a transformation without a program.
#[cfg_attr(not(all(feature = "serde", feature = "report")), allow(dead_code, reason = "read where features need it"))]
pub(crate) struct TransformationFacts {
    /// Its name in saved models.
    pub(crate) name: &'static str,
    /// The title of a report on it.
    pub(crate) title: &'static str,
    /// The inputs after the arguments.
    pub(crate) further: LeafCount,
    pub(crate) results: LeafCount,
    /// Whether the function must have one number as its result.
    pub(crate) of_number: bool,
}

/// The program of the value and the gradient of a recorded program in its first `count` inputs.
pub(crate) fn gradient_program(recorded: &Program, count: usize) -> Result<Program, Fault> {
    Transformation::Dense(DenseDerivative::gradient(true)).optimized(recorded, count, None, Options::DEFAULT)
}

impl Transformation {
    /// # Panics
    /// When a recorded program does not have this derivative, for its shapes.
    #[track_caller]
    pub(in crate::ad) fn check(self, recorded: &Program) {
        if self == Transformation::Divergence {
            check_field(recorded);
        }
    }

    /// All transformations; `n` is the order, or the number of directions, of those that have one.
    #[cfg(feature = "serde")]
    pub(crate) fn all(n: usize) -> Vec<Transformation> {
        let dense = DenseDerivative::ALL.into_iter().map(Transformation::Dense);
        let others = [
            Transformation::Value,
            Transformation::Nth(n),
            Transformation::Laplacian,
            Transformation::LaplacianAlong(n),
            Transformation::Divergence,
            Transformation::Hvp,
            Transformation::Jvp,
            Transformation::Tangents,
            Transformation::Vjp,
            Transformation::Cotangents,
        ];
        others.into_iter().chain(dense).collect()
    }

    /// What is known of a transformation without a program.
    pub(crate) fn facts(self) -> TransformationFacts {
        let (name, title, further, results) = match self {
            Transformation::Value => ("value", "A recorded function", NONE, RESULTS),
            Transformation::Dense(derivative) => {
                let (name, title) = derivative.words();
                let like = if derivative.is_gradient() { ARGUMENT } else { RESULTS };
                (name, title, NONE, LeafCount { others: 1, ..like })
            }
            Transformation::Nth(_) => ("nth_derivative", "A derivative of higher order", NONE, ONE),
            Transformation::Laplacian => ("laplacian", "Laplacians", NONE, RESULTS),
            Transformation::LaplacianAlong(_) => {
                ("laplacian_along", "Second derivatives along directions", ARGUMENT, RESULTS)
            }
            Transformation::Divergence => ("divergence", "A divergence", NONE, ONE),
            Transformation::Hvp => ("hvp", "A product of a Hessian and a direction", ARGUMENT, ARGUMENT),
            Transformation::Jvp => ("jvp", "Values and tangents", ARGUMENT, LeafCount { results: 2, ..NONE }),
            Transformation::Tangents => ("tangents", "Tangents", ARGUMENT, RESULTS),
            Transformation::Vjp => ("vjp", "Values and cotangents", RESULTS, LeafCount { argument: 1, ..RESULTS }),
            Transformation::Cotangents => ("cotangents", "Cotangents", RESULTS, ARGUMENT),
        };
        let of_number = if let Transformation::Dense(derivative) = self {
            derivative.is_of_number()
        } else {
            matches!(self, Transformation::Nth(_) | Transformation::Hvp)
        };
        TransformationFacts { name, title, further, results, of_number }
    }

    /// Whether the derivative of a plain verb is optimized in any case: what is known of the zeros in products with basis
    /// vectors is lost in another program.
    pub(super) fn is_of_basis(self) -> bool {
        matches!(self, Transformation::Dense(_) | Transformation::Laplacian | Transformation::Divergence)
    }

    /// The options of the last optimization.
    pub(crate) fn last(self, options: Options) -> Options {
        if let Transformation::Dense(derivative) = self {
            return derivative.last(options);
        }
        if self.is_of_basis() { Options { basis: true, ..options } } else { options }
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
