//! Mode by cost: a derivative is computed forwards or backwards, whichever takes less time by an estimate.
//!
//! A program has several derivatives, equal up to rounding. [`Wanted::made`] makes those that may be the fastest,
//! optimizes each, estimates how long it takes from what it computes and moves ([`Program::estimate`], loops by their
//! trips), and takes the fastest. Where shapes or the kind of the program decide, only one is made. This is the one place that chooses:
//! constructors of [`Function`](super::Function) and plain verbs ask it.
//!
//! | way | computes | for |
//! |---|---|---|
//! | [`Way::Pull`] | the delta term backwards, for each result | few results |
//! | [`Way::Push`] | the delta term forwards, for each input | few inputs |
//! | [`Way::Lanes`] | tangents side by side in the loops of the values, which keep nothing | very few inputs, loops |
//!
//! Laws: the choice depends on the program and the options alone; the way that comes first is taken unless another is
//! faster by more than the estimate is good for; a mode that the user asks for is taken.

mod candidates;
mod explain;
#[cfg(test)]
mod tests;
mod traced;

use std::fmt::{self, Display};

use crate::cost::{MACHINE, tenths};
use crate::interpreters::adval::Fault;
use crate::passes::{Options, optimize_with};
use crate::program::{Custom, CustomKind, NodeId, Op, Program, Slot, run_by};
use crate::shape::{Shape, size, try_possible};

use explain::Why;
pub(crate) use explain::{Choice, explained};

/// The mode in which a derivative is computed.
///
/// The verbs choose by estimated time. [`jacobian_by`](crate::jacobian_by()) and
/// [`FunctionOptions::mode`](crate::FunctionOptions::mode) ask for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One evaluation per input element: best for few inputs.
    Forward,
    /// One evaluation per output element: best for few outputs.
    Reverse,
}

/// How the derivative of a program is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The delta term is evaluated backwards.
    Pull,
    /// The delta term is evaluated forwards.
    Push,
    /// The program is run at dual numbers, whose tangents are side by side.
    Lanes,
}

impl Way {
    fn mode(self) -> Mode {
        match self {
            Way::Pull => Mode::Reverse,
            Way::Push | Way::Lanes => Mode::Forward,
        }
    }
}

impl Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Pull => "reverse",
            Way::Push => "forward",
            Way::Lanes => "forward, side by side",
        })
    }
}

/// The form of a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Of one tensor in one tensor: the axes of the result, then those of the argument.
    Tensor,
    /// A matrix over raveled trees.
    Matrix,
    /// Of one number: leaves like those of the argument.
    Leaves,
}

/// A derivative that has a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Its name in messages.
    verb: &'static str,
    form: Form,
    /// Whether the values are results, too; they come first.
    value: bool,
    /// Whether it is that of a gradient, so that it is symmetric.
    second: bool,
}

impl Wanted {
    pub(crate) const HESSIAN: Wanted = Wanted { second: true, ..Wanted::of("hessian", Form::Tensor, false) };
    pub(crate) const HESSIAN_MATRIX: Wanted =
        Wanted { second: true, ..Wanted::of("hessian_matrix", Form::Matrix, false) };

    pub(crate) const fn gradient(value: bool) -> Wanted {
        Wanted::of("gradient", Form::Leaves, value)
    }

    pub(crate) const fn jacobian(value: bool) -> Wanted {
        Wanted::of("jacobian", Form::Tensor, value)
    }

    pub(crate) const fn jacobian_matrix(value: bool) -> Wanted {
        Wanted::of("jacobian_matrix", Form::Matrix, value)
    }

    const fn of(verb: &'static str, form: Form, value: bool) -> Wanted {
        Wanted { verb, form, value, second: false }
    }

    /// The options of the last pass: the columns of a matrix of derivatives are products with basis vectors.
    pub(crate) fn last(self, options: Options) -> Options {
        Options { basis: self.form != Form::Leaves, ..options }
    }

    /// The fastest derivative of a program in its first `count` inputs. A Hessian is made of a gradient, which is
    /// computed in reverse mode if a mode is asked for.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn made(
        self,
        program: &Program,
        count: usize,
        asked: Option<Mode>,
        options: Options,
    ) -> Result<ChosenProgram, Fault> {
        let ready = optimize_with(program, options);
        if !self.second {
            return Task { wanted: self, program: &ready, count }.fastest(asked, options, false);
        }
        let gradient = Task { wanted: Wanted::gradient(false), program: &ready, count };
        let mut gradient = gradient.fastest(asked.map(|_| Mode::Reverse), options, false)?;
        let ready = gradient.ready.take().unwrap_or_else(|| optimize_with(&gradient.program, options));
        let mut made = Task { wanted: self, program: &ready, count }.fastest(asked, options, false)?;
        made.choices.splice(0..0, gradient.choices);
        Ok(made)
    }
}

/// A derivative of an optimized program in its first inputs.
#[derive(Clone, Copy)]
struct Task<'a> {
    wanted: Wanted,
    program: &'a Program,
    /// The number of inputs that are arguments.
    count: usize,
}

/// Up to so many inputs, tangents may be computed side by side.
const FEW: usize = 4;

/// Where there are more than so many times as many inputs as results, or the other way round, shapes decide.
const RATIO: usize = 4;

/// A way is taken before those that come first if it takes less than this part of their time: a numerator and a
/// denominator.
const LESS: (u64, u64) = (7, 8);

fn elements(slots: &[Slot]) -> usize {
    slots.iter().filter(|slot| slot.dtype.is_float()).map(|slot| size(&slot.shape)).sum()
}

/// # Errors
/// When no array can hold the derivatives of outputs in inputs.
fn possible(wanted: Wanted, inputs: &[Slot], outputs: &[Slot]) -> Result<(), Fault> {
    let shape: Shape = match wanted.form {
        Form::Tensor => outputs[0].shape.iter().chain(&inputs[0].shape).copied().collect(),
        Form::Matrix => [elements(outputs), elements(inputs)].into_iter().collect(),
        Form::Leaves => return Ok(()),
    };
    try_possible(wanted.verb, &shape).map_err(Fault::Misfit)
}

impl Task<'_> {
    /// The number of differentiated elements.
    fn inputs(&self) -> usize {
        elements(&self.program.inputs()[..self.count])
    }

    /// The number of elements of the results.
    fn results(&self) -> usize {
        elements(self.program.outputs())
    }
}

/// A derivative, and why it is computed as it is.
pub(crate) struct ChosenProgram {
    pub(crate) program: Program,
    /// The same, optimized with the last options, if it was compared with others.
    pub(crate) ready: Option<Program>,
    pub(crate) choices: Vec<Choice>,
}

impl ChosenProgram {
    /// A derivative that is made in one way.
    pub(crate) fn only(program: Program) -> ChosenProgram {
        ChosenProgram { program, ready: None, choices: Vec::new() }
    }
}

impl Task<'_> {
    /// The ways that may be the fastest, the one that is taken if none is faster first, and why there are no others.
    fn ways(&self, asked: Option<Mode>) -> (Vec<Way>, Why) {
        let (n, m, loops) = (self.inputs(), self.results(), has_loops(self.program));
        let ruled = without_tangents(self.program).is_some();
        let few = loops && (1..=FEW).contains(&n) && !ruled;
        let lanes = if few { vec![Way::Lanes] } else { Vec::new() };
        let forward = [vec![Way::Push], lanes.clone()].concat();
        let reverse = vec![Way::Pull];
        match asked {
            Some(Mode::Forward) => return (forward, Why::Asked),
            Some(Mode::Reverse) => return (reverse, Why::Asked),
            None if ruled => return (reverse, Why::Rules),
            None => {}
        }
        if self.wanted.form == Form::Leaves {
            // After a loop, tangents need what cotangents need: only those within the loop can be faster.
            return ([reverse, lanes].concat(), if n > FEW { Why::Shapes } else { Why::Kind });
        }
        if self.wanted.second {
            // Rows are columns. Both modes evaluate the same term: backwards its rows need not be moved, forwards its
            // loops carry less.
            return (if loops { forward } else { reverse }, Why::Kind);
        }
        if n > RATIO.saturating_mul(m) {
            return (reverse, Why::Shapes);
        }
        if m > RATIO.saturating_mul(n) {
            return (forward, Why::Shapes);
        }
        // The modes multiply the matrices of a chain in opposite orders.
        let differ = loops || contractions(self.program) > 1;
        let ways = match (n <= m, differ) {
            (true, true) => [forward, reverse].concat(),
            (false, true) => [reverse, forward].concat(),
            (true, false) => forward,
            (false, false) => reverse,
        };
        (ways, Why::Kind)
    }

    /// The ways, or the first of them if the derivative runs `once` and that takes less time than to make others.
    ///
    /// # Errors
    /// When there is no derivative in the mode that is asked for.
    fn ways_worth(&self, asked: Option<Mode>, once: bool) -> Result<(Vec<Way>, Why), Fault> {
        possible(self.wanted, &self.program.inputs()[..self.count], self.program.outputs())?;
        if let (Some(Mode::Forward), Some(custom)) = (asked, without_tangents(self.program)) {
            custom.require_jvp().map_err(Fault::Misfit)?;
        }
        let (mut ways, why) = self.ways(asked);
        let passes = self.inputs().min(self.results()) as u64;
        if once && ways.len() > 1 && self.program.estimate().time.saturating_mul(passes) < tenths(MACHINE.comparison) {
            ways.truncate(1);
        }
        Ok((ways, why))
    }

    /// The fastest derivative.
    ///
    /// # Errors
    /// When there is none.
    fn fastest(&self, asked: Option<Mode>, options: Options, once: bool) -> Result<ChosenProgram, Fault> {
        let (ways, why) = self.ways_worth(asked, once)?;
        let (verb, inputs, results) = (self.wanted.verb, self.inputs(), self.results());
        let choice = |way, why| vec![Choice { verb, inputs, results, way, why }];
        if let [way] = *ways {
            return Ok(ChosenProgram { program: self.by(way)?, ready: None, choices: choice(way, why) });
        }
        let mut best: Option<(u64, Way, Program, Program)> = None;
        let mut estimates = Vec::new();
        for way in ways {
            let program = self.by(way)?;
            let ready = optimize_with(&program, self.wanted.last(options));
            let estimate = ready.estimate();
            estimates.push((way, estimate));
            let less = |time: u64| estimate.time.saturating_mul(LESS.1) < time.saturating_mul(LESS.0);
            if best.as_ref().is_none_or(|(time, ..)| less(*time)) {
                best = Some((estimate.time, way, program, ready));
            }
        }
        let Some((_, way, program, ready)) = best else { unreachable!("a derivative is made in some way") };
        Ok(ChosenProgram { program, ready: Some(ready), choices: choice(way, Why::Estimates(estimates)) })
    }
}

/// The gradient of a program of one number in all inputs, forwards and side by side, however many there are: for tests.
///
/// # Panics
/// When there is none.
pub(crate) fn gradient_side_by_side(program: &Program) -> Program {
    let task = Task { wanted: Wanted::gradient(false), program, count: program.inputs().len() };
    match task.by(Way::Lanes) {
        Ok(gradient) => gradient,
        Err(fault) => panic!("{fault}"),
    }
}

/// Whether a program has loops.
fn has_loops(program: &Program) -> bool {
    program.nodes().iter().any(|node| matches!(node.op, Op::Loop(_)))
}

/// The number of contractions outside of loops.
fn contractions(program: &Program) -> usize {
    program.nodes().iter().filter(|node| matches!(node.op, Op::Contract(..))).count()
}

/// A function without a rule for tangents, which forward mode needs.
fn without_tangents(program: &Program) -> Option<&Custom> {
    fn function(op: &Op<NodeId>) -> Option<&Custom> {
        if let Op::Custom(custom, _) = op { Some(custom) } else { None }
    }
    // The programs whose operations forward mode differentiates.
    let differentiated = |op| match function(op).map(Custom::kind) {
        None | Some(CustomKind::Checkpointed | CustomKind::While { .. }) => run_by(op),
        Some(CustomKind::Solve(equations)) => Some(&equations.moved),
        Some(CustomKind::Rules { .. }) => None,
    };
    let is_without = |c: &&Custom| matches!(c.kind(), CustomKind::Rules { jvp: None, .. });
    program.operations(differentiated).filter_map(function).find(is_without)
}
