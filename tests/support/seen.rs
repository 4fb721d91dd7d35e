//! An interpreter that shows the programs that the plain verbs run.

use std::cell::RefCell;

use polygrad::base::{Report, Staging};
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor};

use crate::wrapped::{arrays, computed};

thread_local! {
    static PROGRAMS: RefCell<Vec<Program>> = const { RefCell::new(Vec::new()) };
}

/// Arrays at which the plain verbs record, as they do at `Concrete`, and leave behind what they run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen(pub(crate) Array);

/// The programs that were run since the last call, in order.
pub(crate) fn programs() -> Vec<Program> {
    PROGRAMS.with(RefCell::take)
}

arrays!(Seen);

impl BaseTensor for Seen {
    computed!(Seen);
}

impl Staging for Seen {
    fn recorded(self) -> Term {
        Term::constant(self.0)
    }
    fn evaluated(program: &Program, inputs: Vec<Self>) -> Vec<Self> {
        let results = interpret(program, Seen::arrays(&inputs));
        PROGRAMS.with(|programs| programs.borrow_mut().push(program.clone()));
        Seen::wrapped(results)
    }
    fn runs_once() -> bool {
        true
    }
}

impl Report for Seen {}
