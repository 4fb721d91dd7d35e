//! Evaluation: the derivative program of a plain verb, optimized and run at the interpreter of its arguments.
//!
//! At numbers the derivative runs; inside another program its operations become part of that program. So a function
//! that several verbs nest runs at terms alone: nothing is compiled again for a level.
//!
//! Laws: passes do not change the derivative of a program. They change its cost, which is why the program is optimized
//! before it is differentiated: a pattern that a pass recognises in a program may not be recognisable in the derivative.

use std::fmt::Display;

use super::record::VerbProgram;
use super::strategy::Mode;
use super::transformation::Transformation;
use crate::base::BaseTensor;
use crate::interpreters::adval::Fault;
use crate::passes::{Options, optimize_with};
use crate::program::Program;

/// The options of the passes of a verb, before and after the derivative.
#[derive(Clone, Copy)]
pub(in crate::ad) struct VerbPasses {
    pub(in crate::ad) before: Options,
    /// A derivative that becomes part of another program is optimized with that program: equal operations of both are
    /// found there, unless passes have changed one of them before.
    pub(in crate::ad) after: Options,
    /// Whether the derivative program runs once.
    once: bool,
}

impl VerbPasses {
    /// The passes of a verb at `T`.
    pub(in crate::ad) fn at<T: BaseTensor>() -> VerbPasses {
        let before = if T::observes() { Options::AS_WRITTEN } else { Options::DEFAULT };
        let once = T::runs_once();
        VerbPasses { before, after: if once { before } else { Options::AS_WRITTEN }, once }
    }
}

impl<T: BaseTensor> VerbProgram<T> {
    /// The results of the derivative; `further` are the values of its inputs between arguments and data.
    #[track_caller]
    pub(in crate::ad) fn derived(self, transformation: Transformation, asked: Option<Mode>, further: Vec<T>) -> Vec<T> {
        transformation.check(&self.program);
        let ready = ready(&self.program, self.count, transformation, asked, VerbPasses::at::<T>());
        self.evaluated(ready, further)
    }

    /// The results of a derivative program.
    ///
    /// # Panics
    /// When the derivative is an error.
    #[track_caller]
    pub(in crate::ad) fn evaluated<F: Display>(self, derivative: Result<Program, F>, further: Vec<T>) -> Vec<T> {
        match derivative {
            Ok(derivative) => T::evaluated(&derivative, self.between(further)),
            Err(fault) => panic!("{fault}"),
        }
    }

    /// The program as it is before it is differentiated, the values of its inputs, and the number of leaves of the
    /// argument.
    pub(in crate::ad) fn optimized(self) -> (Program, Vec<T>, usize) {
        (optimize_with(&self.program, VerbPasses::at::<T>().before), self.inputs, self.count)
    }

    /// The values of the inputs, with `further` between those of arguments and data.
    fn between(self, further: Vec<T>) -> Vec<T> {
        let VerbProgram { mut inputs, count, .. } = self;
        inputs.splice(count..count, further);
        inputs
    }
}

/// The derivative program of a recorded program in its first `count` inputs. Matrices and gradients are optimized in any
/// case: what is known of their zeros is lost in another program.
///
/// # Errors
/// When the derivative does not exist.
fn ready(
    program: &Program,
    count: usize,
    transformation: Transformation,
    asked: Option<Mode>,
    VerbPasses { before, after, once }: VerbPasses,
) -> Result<Program, Fault> {
    let made = transformation.of(program, count, asked, before, once)?;
    let last = if transformation.is_of_basis() { transformation.last(before) } else { after };
    Ok(made.ready.unwrap_or_else(|| optimize_with(&made.program, last)))
}
