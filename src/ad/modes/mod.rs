//! Choice of the mode of differentiation by cost: forward or reverse, whichever has the least estimated time.
//!
//! A program has several derivative programs, equal up to rounding. [`Wanted::made`] generates those that may be the
//! fastest, optimizes each, estimates its time from its work and memory traffic ([`Program::estimate`], with the
//! numbers of trips of loops), and takes the fastest. If shapes or the operations of the program decide, only one is
//! generated. No other module chooses: constructors of [`Function`](super::Function) and plain verbs ask this one.
//!
//! | way | evaluates | for |
//! |---|---|---|
//! | [`Way::Pull`] | the delta term backwards, once for each result | few results |
//! | [`Way::Push`] | the delta term forwards, once for each input | few inputs |
//! | [`Way::Lanes`] | all tangents in the loops of the values, without residuals | very few inputs, loops |
//! | [`Way::Stacks`] | the same, in one stack for the tangents of a value | few inputs, loops that end by themselves |
//!
//! The delta term of a loop that ends by itself keeps no values of trips: evaluated, it runs the values again. So
//! tangents next to the values take the place of [`Way::Push`] there.
//!
//! Laws: the choice depends on the program and the options alone; the first way is taken unless another way is faster
//! by more than the error of the estimates; a mode that the user requests is taken.

mod candidates;
mod explain;
#[cfg(test)]
mod tests;

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
/// The verbs choose the mode with the least estimated time. [`jacobian_by`](crate::jacobian_by()) and
/// [`FunctionOptions::mode`](crate::FunctionOptions::mode) request a mode.
///
/// Closed: a derivative is evaluated from inputs to outputs, or from outputs to inputs.
///
/// ```
/// use polygrad::{Mode, Tensor, jacobian_by, tensor};
/// let j = |mode| -> Tensor<_, 2> { jacobian_by(mode, |x: &Tensor<_, 1>| x.square(), &tensor([1.0, 2.0])) };
/// assert_eq!(j(Mode::Forward), tensor([[2.0, 0.0], [0.0, 4.0]]));
/// assert_eq!(j(Mode::Reverse), j(Mode::Forward));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One evaluation per input element: best for few inputs.
    Forward,
    /// One evaluation per output element: best for few outputs.
    Reverse,
}

/// A way to compute a derivative: one of the derivative programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The delta term is evaluated backwards.
    Pull,
    /// The delta term is evaluated forwards.
    Push,
    /// The program runs at dual numbers, with the tangents for all basis vectors side by side.
    Lanes,
    /// The program runs at dual numbers, with the tangents for all basis vectors as one stack.
    Stacks,
}

impl Way {
    fn mode(self) -> Mode {
        match self {
            Way::Pull => Mode::Reverse,
            Way::Push | Way::Lanes | Way::Stacks => Mode::Forward,
        }
    }
}

impl Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::Pull => "reverse",
            Way::Push => "forward",
            Way::Lanes => "forward, side by side",
            Way::Stacks => "forward, in stacks",
        })
    }
}

/// The form of a derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The derivative of one tensor in one tensor: the axes of the result, then those of the argument.
    Tensor,
    /// The derivative of a tree in a tree: a matrix over raveled trees.
    Matrix,
    /// The gradient of one number: leaves like those of the argument.
    Leaves,
}

/// A derivative for which a mode is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Its name in messages.
    verb: &'static str,
    form: Form,
    /// Whether the values are results, too, before the derivatives.
    value: bool,
    /// Whether the differentiated function is a gradient, so that the derivative is symmetric.
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

    /// Whether this is the gradient of one number, with or without its value.
    #[cfg(feature = "serde")]
    pub(crate) fn is_gradient(self) -> bool {
        self.form == Form::Leaves
    }

    /// The derivative as the title of a report.
    pub(crate) fn title(self) -> &'static str {
        match (self.form, self.second, self.value) {
            (Form::Leaves, _, false) => "A gradient",
            (Form::Leaves, _, true) => "A value and its gradient",
            (Form::Tensor | Form::Matrix, true, _) => "A Hessian",
            (Form::Tensor | Form::Matrix, false, false) => "A Jacobian",
            (Form::Tensor | Form::Matrix, false, true) => "A value and its Jacobian",
        }
    }

    /// The options of the last optimization, which may assume of a matrix of derivatives that its columns are products
    /// with basis vectors.
    pub(crate) fn last(self, options: Options) -> Options {
        Options { basis: self.form != Form::Leaves, ..options }
    }

    /// The fastest derivative program of a program in its first `count` inputs. A Hessian is the derivative of a
    /// gradient, which is computed in reverse mode if a mode is requested. A program that runs `once` is compared with
    /// other candidates only if its run takes longer than to generate these.
    ///
    /// # Errors
    /// When the derivative does not exist.
    pub(crate) fn made(
        self,
        program: &Program,
        count: usize,
        asked: Option<Mode>,
        options: Options,
        once: bool,
    ) -> Result<ChosenProgram, Fault> {
        let ready = optimize_with(program, options);
        if !self.second {
            return Task { wanted: self, program: &ready, count }.fastest(asked, options, once);
        }
        let gradient = Task { wanted: Wanted::gradient(false), program: &ready, count };
        let mut gradient = gradient.fastest(asked.map(|_| Mode::Reverse), options, once)?;
        let ready = gradient.ready.take().unwrap_or_else(|| optimize_with(&gradient.program, options));
        let mut made = Task { wanted: self, program: &ready, count }.fastest(asked, options, once)?;
        made.choices.splice(0..0, gradient.choices);
        Ok(made)
    }
}

/// The task to differentiate an optimized program in its first inputs.
#[derive(Clone, Copy)]
struct Task<'a> {
    wanted: Wanted,
    program: &'a Program,
    /// The number of inputs that are arguments.
    count: usize,
}

/// The largest number of input elements whose tangents may be computed side by side.
const FEW: usize = 4;

/// Shapes decide if there are more than this many times as many inputs as results, or results as inputs.
const RATIO: usize = 4;

/// A later way is taken instead of an earlier one if its time is less than this fraction of that of the earlier one:
/// numerator and denominator.
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

/// A derivative program, and the reasons for the ways that were chosen.
pub(crate) struct ChosenProgram {
    pub(crate) program: Program,
    /// The program after the last optimization, if it was compared with other candidates.
    pub(crate) ready: Option<Program>,
    pub(crate) choices: Vec<Choice>,
}

impl ChosenProgram {
    /// A derivative program without a choice of ways.
    pub(crate) fn only(program: Program) -> ChosenProgram {
        ChosenProgram { program, ready: None, choices: Vec::new() }
    }
}

impl Task<'_> {
    /// The ways that may be the fastest, the default first, and the reason why others are left out.
    fn ways(&self, asked: Option<Mode>) -> (Vec<Way>, Why) {
        let (n, m, loops) = (self.inputs(), self.results(), has_loops(self.program));
        let ruled = without_tangents(self.program).is_some();
        let few = loops && (1..=FEW).contains(&n) && !ruled;
        let lanes = if few { vec![Way::Lanes] } else { Vec::new() };
        let ends = self.program.nodes().iter().any(|node| is_while(&node.op));
        let forward = if ends { [lanes.clone(), vec![Way::Stacks]] } else { [vec![Way::Push], lanes.clone()] }.concat();
        let reverse = vec![Way::Pull];
        match asked {
            Some(Mode::Forward) => return (forward, Why::Asked),
            Some(Mode::Reverse) => return (reverse, Why::Asked),
            None if ruled => return (reverse, Why::Rules),
            None => {}
        }
        if self.wanted.form == Form::Leaves {
            // A delta term that is evaluated after a loop reads the same residuals forwards and backwards: only
            // tangents within the loop can be faster.
            return ([reverse, lanes].concat(), if n > FEW { Why::Shapes } else { Why::Kind });
        }
        if self.wanted.second {
            // A Hessian is symmetric, so its rows are its columns, and both modes evaluate the same term: in reverse
            // mode the result needs no transposition, in forward mode loops carry less.
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

    /// The ways; the first way alone, if the derivative runs `once` and its estimated time is less than that of
    /// generating other candidates.
    ///
    /// # Errors
    /// When no array can hold the derivative, or a function has no rule for tangents and forward mode is requested.
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

    /// The derivative program with the least estimated time.
    ///
    /// # Errors
    /// When the derivative does not exist.
    fn fastest(&self, asked: Option<Mode>, options: Options, once: bool) -> Result<ChosenProgram, Fault> {
        let (mut ways, why) = self.ways_worth(asked, once)?;
        if options.rounds == 0 {
            // Programs that stay as they are written are not compared.
            ways.truncate(1);
        }
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

/// The gradient of a scalar program in all inputs, whatever their number, with tangents side by side: for tests.
///
/// # Panics
/// When the gradient does not exist.
pub(crate) fn gradient_side_by_side(program: &Program) -> Program {
    gradient_by(Way::Lanes, program)
}

/// [`gradient_side_by_side`] with tangents in stacks.
pub(crate) fn gradient_in_stacks(program: &Program) -> Program {
    gradient_by(Way::Stacks, program)
}

fn gradient_by(way: Way, program: &Program) -> Program {
    let task = Task { wanted: Wanted::gradient(false), program, count: program.inputs().len() };
    match task.by(way) {
        Ok(gradient) => gradient,
        Err(fault) => panic!("{fault}"),
    }
}

/// Whether a program has loops.
fn has_loops(program: &Program) -> bool {
    program.nodes().iter().any(|node| matches!(node.op, Op::Loop(_)) || is_while(&node.op))
}

/// Whether an operation is a loop that ends by itself.
fn is_while(op: &Op<NodeId>) -> bool {
    matches!(op, Op::Custom(custom, _) if custom.is_while())
}

/// The number of contractions outside loops.
fn contractions(program: &Program) -> usize {
    program.nodes().iter().filter(|node| matches!(node.op, Op::Contract(..))).count()
}

/// A function in the program without a rule for tangents, which forward mode needs; `None` if all functions have one.
fn without_tangents(program: &Program) -> Option<&Custom> {
    fn function(op: &Op<NodeId>) -> Option<&Custom> {
        if let Op::Custom(custom, _) = op { Some(custom) } else { None }
    }
    // The programs whose operations forward mode differentiates.
    let differentiated = |op| match function(op).map(Custom::kind) {
        None | Some(CustomKind::Checkpointed | CustomKind::While { .. } | CustomKind::Cond { .. }) => run_by(op),
        Some(CustomKind::Solve(equations)) => Some(&equations.moved),
        Some(CustomKind::Rules { .. }) => None,
    };
    let is_without = |c: &&Custom| matches!(c.kind(), CustomKind::Rules { jvp: None, .. });
    program.operations(differentiated).filter_map(function).find(is_without)
}
