//! The pipeline: each pass as a row, and the order in which passes run, as data.
//!
//! A row says the name of a pass, its law and when it runs. What makes a program ready to run, and what is done to it
//! before it is planned, are lists of these rows with their rounds, which one function runs; so [`changed_by`] names
//! the passes that changed a program.
//!
//! Law: each pass alone keeps the law of its row; `tests/random/passes.rs` tries all rows on random programs.
//!
//! [`multi_tangent`](super::multi_tangent) is not a row: it is a part of forward mode, and its result is another function.
//! Nor are the modules that [`vectorize()`] is made of, since they rewrite one loop each. Fast math is not a row:
//! with [`Options::fast_math`], [`simplify`](super::simplify()) reads further rules.

use std::fmt;

use super::propagate_one_hot::propagate_one_hot;
use super::vectorize::is_bulk;
use super::{
    Options, checkpoint_loops, inline, join_while_loops, rematerialize, replace_scalars, select_to_branch,
    simplify_with, sink, split_index_sets, vectorize,
};
use crate::checkpoint::Checkpoint;
use crate::program::{Assumed, Op, Program, part_of};

/// When a pass runs.
///
/// Closed: whoever lists passes says when each runs, before, between or after derivatives.
///
/// Example: [`Pass`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Before a recorded program is differentiated, if the options of a function ask for it.
    BeforeDerivative,
    /// When a program is made ready to run, before and after it is differentiated: by [`optimize`](super::optimize).
    Optimize,
    /// When a program is compiled: no other pass sees the result.
    BeforePlan,
}

/// How close the values of a program that a pass has changed are to those of the program before.
///
/// Closed: the values after a pass have the same bits, or they are the same up to rounding.
///
/// Example: [`Pass`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keeps {
    /// They have the same bits.
    Bits,
    /// They are the same up to rounding.
    Values,
}

/// The arguments of passes besides the program.
///
/// ```
/// use polygrad::passes::{Options, Phase, Settings, changed_by};
/// use polygrad::{Function, tensor};
/// let f = Function::stage(|x| x - x, &tensor(1.0));
/// let fast = Settings { options: Options { fast_math: true, ..Options::default() }, ..Settings::DEFAULT };
/// // At infinity the difference is not 0.
/// assert!(changed_by(Phase::Optimize, f.program(), &Settings::DEFAULT).is_empty());
/// assert_eq!(changed_by(Phase::Optimize, f.program(), &fast)[0].name, "simplify");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The options of rewrite rules.
    pub options: Options,
    /// How loops are cut, if at all.
    pub checkpoint: Option<Checkpoint>,
    /// The weight of arithmetic against memory, where a value is computed again instead of stored.
    pub rematerialization: f64,
    /// Whether the bodies of loops over small arrays compute scalar by scalar.
    pub scalar_replacement: bool,
}

impl Settings {
    /// The settings of a [`Function`](crate::Function) without options.
    ///
    /// Example: [`Settings`].
    pub const DEFAULT: Settings =
        Settings { options: Options::DEFAULT, checkpoint: None, rematerialization: 1.0, scalar_replacement: true };
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::DEFAULT
    }
}

/// A pass: a row of the [`pipeline`].
///
/// ```
/// use polygrad::passes::{Keeps, Pass, Phase, Settings, pipeline};
/// use polygrad::{Function, Tensor, tensor};
/// let pass: &Pass = pipeline().iter().find(|pass| pass.name == "simplify").expect("a pass");
/// assert_eq!((pass.phase, pass.keeps), (Phase::Optimize, Keeps::Values));
/// assert!(pass.law.contains("no more work"));
/// let x = tensor([1.0, 2.0]);
/// let dot = Function::stage_with(|x: &Tensor<_, 1>, y: &Tensor<_, 1>| (x * y).sum(), &x, &x);
/// // The product and the sum become one operation.
/// assert_eq!((dot.program().size(), pass.run(dot.program(), &Settings::DEFAULT).size()), (2, 1));
/// ```
pub struct Pass {
    /// The name: that of the module, too.
    pub name: &'static str,
    /// The guarantee of the pass.
    pub law: &'static str,
    /// When it runs.
    pub phase: Phase,
    /// How close values stay.
    pub keeps: Keeps,
    /// The changed program; nothing, if the pass has nothing to do.
    run: fn(&Program, &Settings) -> Option<Program>,
}

/// Name, phase and law.
impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}): {}", self.name, self.phase, self.law)
    }
}

impl Pass {
    /// The program after this pass alone.
    ///
    /// Example: [`Pass`].
    pub fn run(&self, program: &Program, settings: &Settings) -> Program {
        (self.run)(program, settings).unwrap_or_else(|| program.clone())
    }
}

const CHECKPOINT_LOOPS: Pass = Pass {
    name: "checkpoint_loops",
    law: "values and derivatives are the same up to the order of sums; reverse mode keeps fewer states",
    phase: Phase::BeforeDerivative,
    keeps: Keeps::Values,
    run: |program, settings| settings.checkpoint.map(|checkpoint| checkpoint_loops(program, checkpoint)),
};

const VECTORIZE: Pass = Pass {
    name: "vectorize",
    law: "values and derivatives are the same up to the order of sums; no loop without a carry remains whose stacks \
          are possible",
    phase: Phase::Optimize,
    keeps: Keeps::Values,
    run: |program, _| Some(vectorize(program)),
};

const SIMPLIFY: Pass = Pass {
    name: "simplify",
    law: "values and derivatives are the same up to rounding, infinities and NaN included unless `fast_math` is asked \
          for; no more work, and no more bytes moved",
    phase: Phase::Optimize,
    keeps: Keeps::Values,
    run: |program, settings| Some(simplify_with(program, settings.options)),
};

const SPLIT_INDEX_SETS: Pass = Pass {
    name: "split_index_sets",
    law: "values have the same bits; less is computed and moved",
    phase: Phase::Optimize,
    keeps: Keeps::Bits,
    run: |program, _| Some(split_index_sets(program)).filter(|split| split != program),
};

const JOIN_WHILE_LOOPS: Pass = Pass {
    name: "join_while_loops",
    law: "values have the same bits, and derivatives are the same up to the order of sums; loops that end by themselves \
          after the same trip are one",
    phase: Phase::Optimize,
    keeps: Keeps::Values,
    run: |program, _| join_while_loops::joined(program),
};

const PROPAGATE_ONE_HOT: Pass = Pass {
    name: "propagate_one_hot",
    law: "with the option `basis`, products with the zeros around written numbers are left out, including those with NaN; \
          nothing else changes but the signs of zeros in derivatives",
    phase: Phase::Optimize,
    keeps: Keeps::Values,
    run: |program, Settings { options, .. }| {
        let assumed = Assumed { fast: options.fast_math, basis: options.basis };
        if options.basis { propagate_one_hot(program, assumed) } else { None }
    },
};

const INLINE: Pass = Pass {
    name: "inline",
    law: "the same operations on the same values, in the same order, without functions that have no rules",
    phase: Phase::BeforePlan,
    keeps: Keeps::Bits,
    run: |program, _| inline(program),
};

const SINK: Pass = Pass {
    name: "sink",
    law: "each value is computed once, by the same operations on the same values; fewer rows are stored for loops",
    phase: Phase::BeforePlan,
    keeps: Keeps::Bits,
    run: |program, settings| sink(program, settings.rematerialization),
};

const REMATERIALIZE: Pass = Pass {
    name: "rematerialize",
    law: "each value is computed by the same operations on the same values, some again; fewer are stored for loops",
    phase: Phase::BeforePlan,
    keeps: Keeps::Bits,
    run: |program, settings| rematerialize(program, settings.rematerialization),
};

const SELECT_TO_BRANCH: Pass = Pass {
    name: "select_to_branch",
    law: "values have the same bits; what is computed for one side of a selection with one mask for all elements runs only \
          if that side is chosen, if it takes long; what has taps stays",
    phase: Phase::Optimize,
    keeps: Keeps::Bits,
    run: |program, _| select_to_branch(program),
};

const REPLACE_SCALARS: Pass = Pass {
    name: "replace_scalars",
    law: "each number is computed by the operations that computed the element; sums may have another order, and zeros \
          the other sign",
    phase: Phase::BeforePlan,
    keeps: Keeps::Values,
    run: |program, settings| settings.scalar_replacement.then(|| replace_scalars(program)),
};

/// Every pass, in the order in which passes first run.
static PASSES: [&Pass; 11] = [
    &CHECKPOINT_LOOPS,
    &VECTORIZE,
    &SIMPLIFY,
    &SPLIT_INDEX_SETS,
    &JOIN_WHILE_LOOPS,
    &PROPAGATE_ONE_HOT,
    &SELECT_TO_BRANCH,
    &INLINE,
    &SINK,
    &REMATERIALIZE,
    &REPLACE_SCALARS,
];

/// Every pass, in the order in which passes first run.
///
/// ```
/// use polygrad::passes::{Phase, pipeline};
/// let last = pipeline().iter().filter(|pass| pass.phase == Phase::BeforePlan).map(|pass| pass.name);
/// assert_eq!(last.collect::<Vec<_>>(), ["inline", "sink", "rematerialize", "replace_scalars"]);
/// ```
pub fn pipeline() -> &'static [&'static Pass] {
    &PASSES
}

/// How often the passes of a group run, one after the other.
enum Rounds {
    Once,
    /// Once, and again as long as the program is like this.
    While(fn(&Program) -> bool),
    /// At most this many times, until the first pass of the group changes nothing.
    WhileTheFirstChanges(usize),
}

/// Passes that run one after the other.
struct PassGroup {
    rounds: Rounds,
    passes: &'static [&'static Pass],
}

/// The groups of a phase.
const fn groups(phase: Phase) -> &'static [PassGroup] {
    match phase {
        Phase::BeforeDerivative => &[PassGroup { rounds: Rounds::Once, passes: &[&CHECKPOINT_LOOPS] }],
        Phase::Optimize => &[
            // Removing a dead carry can leave a loop without a carry; each round removes at least one loop.
            PassGroup { rounds: Rounds::While(has_build), passes: &[&VECTORIZE, &SIMPLIFY] },
            // At least one round for each axis along which a choice is made; each may enable another.
            PassGroup { rounds: Rounds::WhileTheFirstChanges(4), passes: &[&SPLIT_INDEX_SETS, &SIMPLIFY] },
            PassGroup { rounds: Rounds::WhileTheFirstChanges(1), passes: &[&JOIN_WHILE_LOOPS, &SIMPLIFY] },
            PassGroup { rounds: Rounds::WhileTheFirstChanges(1), passes: &[&PROPAGATE_ONE_HOT, &SIMPLIFY] },
            PassGroup { rounds: Rounds::WhileTheFirstChanges(1), passes: &[&SELECT_TO_BRANCH, &SIMPLIFY] },
        ],
        Phase::BeforePlan => {
            &[PassGroup { rounds: Rounds::Once, passes: &[&INLINE, &SINK, &REMATERIALIZE, &REPLACE_SCALARS] }]
        }
    }
}

/// Whether some loop has no carry, though its stacks are possible.
fn has_build(program: &Program) -> bool {
    program.operations(part_of).any(|op| matches!(op, Op::Loop(l) if l.init.is_empty() && is_bulk(l, l)))
}

/// A program on its way through passes.
struct PassManager<'a> {
    settings: &'a Settings,
    program: Program,
    /// The passes that changed the program, in the order in which they first did.
    changed: Vec<&'static Pass>,
}

impl PassManager<'_> {
    /// Runs a pass; whether it had something to do.
    fn pass(&mut self, pass: &'static Pass) -> bool {
        let Some(next) = (pass.run)(&self.program, self.settings) else { return false };
        if next != self.program && self.changed.iter().all(|known| known.name != pass.name) {
            self.changed.push(pass);
        }
        self.program = next;
        true
    }

    fn group(&mut self, PassGroup { rounds, passes }: &PassGroup) {
        let all = |way: &mut Self| passes.iter().for_each(|pass| _ = way.pass(pass));
        match rounds {
            Rounds::Once => all(self),
            Rounds::While(again) => {
                all(self);
                while again(&self.program) {
                    all(self);
                }
            }
            Rounds::WhileTheFirstChanges(most) => {
                for _ in 0..*most {
                    if !self.pass(passes[0]) {
                        break;
                    }
                    passes[1..].iter().for_each(|pass| _ = self.pass(pass));
                }
            }
        }
    }

    fn phase(&mut self, phase: Phase) {
        // Facts about the operands of loops would turn one shared body into many.
        if phase == Phase::Optimize && self.program.is_shared() {
            self.pass(&SIMPLIFY);
            return;
        }
        groups(phase).iter().for_each(|group| self.group(group));
    }
}

/// The program after the passes of a phase.
pub(crate) fn after(phase: Phase, program: &Program, settings: &Settings) -> Program {
    let mut way = PassManager { settings, program: program.clone(), changed: Vec::new() };
    way.phase(phase);
    way.program
}

/// The passes of a phase that change this program, in the order in which they first do.
///
/// ```
/// use polygrad::passes::{Phase, Settings, changed_by};
/// use polygrad::{Function, build1, tensor};
/// let x = tensor([1.0, 2.0, 3.0]);
/// let f = Function::stage(|x| build1(3, |i| x.at([i]) + 0.0), &x);
/// let passes = changed_by(Phase::Optimize, f.program(), &Settings::DEFAULT);
/// assert_eq!(passes.iter().map(|pass| pass.name).collect::<Vec<_>>(), ["vectorize", "simplify"]);
/// assert!(changed_by(Phase::Optimize, f.optimized(), &Settings::DEFAULT).is_empty());
/// ```
pub fn changed_by(phase: Phase, program: &Program, settings: &Settings) -> Vec<&'static Pass> {
    let mut way = PassManager { settings, program: program.clone(), changed: Vec::new() };
    way.phase(phase);
    way.changed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row is in a group of its phase, and each group is made of rows of the table.
    #[test]
    fn each_row_runs_in_its_phase() {
        let phases = [Phase::BeforeDerivative, Phase::Optimize, Phase::BeforePlan];
        let mut run: Vec<(&str, Phase)> = Vec::new();
        for phase in phases {
            for pass in groups(phase).iter().flat_map(|group| group.passes) {
                if !run.contains(&(pass.name, phase)) {
                    run.push((pass.name, phase));
                }
            }
        }
        let rows: Vec<(&str, Phase)> = pipeline().iter().map(|pass| (pass.name, pass.phase)).collect();
        assert_eq!(run, rows);
    }
}
