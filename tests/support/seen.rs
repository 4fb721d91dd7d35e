//! An interpreter that shows the programs that the plain verbs run.

use std::cell::RefCell;

use polygrad::base::{Enter, Recorded, Report, Staging, Traced};
use polygrad::passes::{Options, optimize_with};
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

impl Enter<Seen> for Term {
    fn enter(t: Seen) -> Term {
        Term::constant(t.0)
    }
}

impl BaseTensor for Seen {
    computed!(Seen);
}

impl Staging for Seen {
    type Trace = Term;
    fn trace(inputs: &[Self], options: Options, f: Traced<'_, Self>) -> Vec<Self> {
        let variables: Vec<Term> = inputs.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect();
        let program = Term::program(&variables, &f(&variables), &[]).expect("no variable escapes");
        let program = optimize_with(&program, options);
        let results = interpret(&program, Seen::arrays(inputs));
        PROGRAMS.with(|programs| programs.borrow_mut().push(program));
        Seen::wrapped(results)
    }
    fn recorded(inputs: &[Term], f: Traced<'_, Self>) -> Option<Recorded<Term>> {
        Array::recorded(inputs, f)
    }
}

impl Report for Seen {}
