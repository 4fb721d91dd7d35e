//! The choice of modes for the plain verbs.
//!
//! Law: if the function of a verb is recorded, its mode is that of a [`Function`](crate::Function), except that a
//! program that runs once is compared with other candidates only if its run takes longer than to generate these. The
//! derivative of a nested verb is optimized by itself, so the outer program holds the operations of a
//! [`Function`](crate::Function). If the function is not recorded, the numbers of inputs and results decide.

use std::any::TypeId;

use super::{Form, Mode, Task, Wanted, Way, elements, possible};
use crate::ad::pipeline::{Differentiated, Dually, Twice, VerbSource, dual, source, source_of_gradient};
use crate::base::BaseTensor;
use crate::interpreters::adval::Fault;
use crate::passes::{Options, optimize, optimize_with};
use crate::program::{Program, Slot, interpret};

fn slots<U: BaseTensor>(values: &[U]) -> Vec<Slot> {
    let slot = |x: &U| Slot { name: String::new(), shape: x.shape().into(), dtype: x.dtype() };
    values.iter().map(slot).collect()
}

/// Whether the program that a verb records at `T` runs once, since it is not part of another program.
fn runs_once<T: BaseTensor>() -> bool {
    TypeId::of::<T>() != TypeId::of::<T::Trace>()
}

impl Wanted {
    /// The values, if requested, and the derivatives, of a function of traced values in its first `count` inputs.
    ///
    /// # Errors
    /// When the derivatives do not exist.
    pub(in crate::ad) fn first<T: BaseTensor>(
        self,
        asked: Option<Mode>,
        inputs: &[T::Trace],
        count: usize,
        f: Dually<'_, T>,
    ) -> Result<Vec<T::Trace>, Fault> {
        match source::<T>(inputs, count, f) {
            VerbSource::Recorded(program, all) => self.at(&program, &all, count, asked, runs_once::<T>()),
            VerbSource::Run(results) => self.run(&results, &inputs[..count], asked),
        }
    }

    /// The second derivatives of a scalar function of traced values in its first `count` inputs.
    ///
    /// # Errors
    /// When the derivatives do not exist.
    pub(in crate::ad) fn second<T: BaseTensor>(
        self,
        inputs: &[T::Trace],
        count: usize,
        f: Twice<'_, T>,
    ) -> Result<Vec<T::Trace>, Fault> {
        let once = runs_once::<T>();
        match source_of_gradient::<T>(inputs, count, f)? {
            VerbSource::Recorded(program, all) => {
                let gradient = Task { wanted: Wanted::gradient(false), program: &program, count };
                let gradient = gradient.fastest(None, Options::default(), once)?;
                let gradient = gradient.ready.unwrap_or_else(|| optimize(&gradient.program));
                self.at(&gradient, &all, count, None, once)
            }
            VerbSource::Run(gradient) => self.run(&gradient, &inputs[..count], None),
        }
    }

    /// The derivatives of a recorded program at its inputs.
    fn at<U: BaseTensor>(
        self,
        program: &Program,
        inputs: &[U],
        count: usize,
        asked: Option<Mode>,
        once: bool,
    ) -> Result<Vec<U>, Fault> {
        let task = Task { wanted: self, program, count };
        if once && let [way @ (Way::Pull | Way::Push)] = *task.ways_worth(asked, once)?.0 {
            // The delta term is evaluated at the inputs, without a derivative program.
            let (sweep, y) = dual(program, inputs, count);
            return self.results(&sweep, &y, &inputs[..count], way.mode());
        }
        let made = task.fastest(asked, Options::default(), once)?;
        // Another program is optimized without the options of this verb, and may have hidden its structure by then.
        let ready = made.ready.unwrap_or_else(|| optimize_with(&made.program, self.last(Options::default())));
        Ok(interpret(&ready, inputs.to_vec()))
    }

    /// The derivatives of a function that was run at dual numbers, in arguments whose primals are `x`.
    fn run<U: BaseTensor>(self, (sweep, y): &Differentiated<U>, x: &[U], asked: Option<Mode>) -> Result<Vec<U>, Fault> {
        let primals: Vec<U> = y.iter().map(|y| y.primal().clone()).collect();
        let (inputs, outputs) = (slots(x), slots(&primals));
        possible(self, &inputs, &outputs)?;
        let few = self.form != Form::Leaves && elements(&inputs) <= elements(&outputs);
        let mode = asked.unwrap_or(if few { Mode::Forward } else { Mode::Reverse });
        self.results(sweep, y, x, mode)
    }
}
