//! Choice of the mode of differentiation by cost: forward or reverse, whichever has the least estimated time.
//!
//! A program has several derivative programs, equal up to rounding. [`DenseDerivative::chosen`] generates those that may
//! be the fastest, optimizes each, estimates its time from its work and memory traffic ([`Program::estimate`], with the
//! numbers of trips of loops), and takes the fastest. If shapes or the operations of the program decide, only one is
//! generated. No other module chooses.
//!
//! | strategy | evaluates | for |
//! |---|---|---|
//! | [`Strategy::Pull`] | the delta term backwards, once for each result | few results |
//! | [`Strategy::Push`] | the delta term forwards, once for each input | few inputs |
//! | [`Strategy::Lanes`] | all tangents in the loops of the values, without residuals | very few inputs, loops |
//! | [`Strategy::Stacks`] | the same, in one stack for the tangents of a value | few inputs, loops that end by themselves |
//!
//! The delta term of a loop that ends by itself keeps no values of trips: evaluated, it runs the values again. So
//! tangents next to the values take the place of [`Strategy::Push`] there.
//!
//! Laws: the choice depends on the program and the options alone; the first strategy is taken unless another one is
//! faster by more than the error of the estimates; a mode that the user requests is taken.

mod candidates;
mod explain;
#[cfg(test)]
mod tests;

use super::strategy::{Mode, Strategy};
use crate::cost::{MACHINE, tenths};
use crate::interpreters::adval::Fault;
use crate::passes::{Options, optimize_with};
use crate::program::{Custom, CustomKind, NodeId, Op, Program, Slot, run_by};
use crate::shape::{Shape, size, try_possible};

use explain::ModeReason;
pub(crate) use explain::{Choice, explained};

/// How a derivative lies in arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DerivativeLayout {
    /// The derivative of one tensor in one tensor: the axes of the result, then those of the argument.
    Tensor,
    /// The derivative of a tree in a tree: a matrix over raveled trees.
    Matrix,
    /// The gradient of one number: leaves like those of the argument.
    Leaves,
}

/// A gradient, Jacobian or Hessian: a derivative with all its elements, for which a mode is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DenseDerivative {
    /// Its name in messages.
    verb: &'static str,
    layout: DerivativeLayout,
    /// Whether the values are results, too, before the derivatives.
    value: bool,
    /// Whether the differentiated function is a gradient, so that the derivative is symmetric.
    second: bool,
}

impl DenseDerivative {
    pub(crate) const HESSIAN: DenseDerivative =
        DenseDerivative { second: true, ..Self::of("hessian", DerivativeLayout::Tensor, false) };
    pub(crate) const HESSIAN_MATRIX: DenseDerivative =
        DenseDerivative { second: true, ..Self::of("hessian_matrix", DerivativeLayout::Matrix, false) };

    pub(crate) const fn gradient(value: bool) -> DenseDerivative {
        DenseDerivative::of("gradient", DerivativeLayout::Leaves, value)
    }

    pub(crate) const fn jacobian(value: bool) -> DenseDerivative {
        DenseDerivative::of("jacobian", DerivativeLayout::Tensor, value)
    }

    pub(crate) const fn jacobian_matrix(value: bool) -> DenseDerivative {
        DenseDerivative::of("jacobian_matrix", DerivativeLayout::Matrix, value)
    }

    const fn of(verb: &'static str, layout: DerivativeLayout, value: bool) -> DenseDerivative {
        DenseDerivative { verb, layout, value, second: false }
    }

    /// All of them.
    #[cfg(feature = "serde")]
    pub(crate) const ALL: [DenseDerivative; 8] = [
        Self::gradient(false),
        Self::gradient(true),
        Self::jacobian(false),
        Self::jacobian(true),
        Self::jacobian_matrix(false),
        Self::jacobian_matrix(true),
        Self::HESSIAN,
        Self::HESSIAN_MATRIX,
    ];

    /// Whether this is the gradient of one number, with or without its value.
    pub(crate) fn is_gradient(self) -> bool {
        self.layout == DerivativeLayout::Leaves
    }

    /// Whether the differentiated function has one number as its result.
    pub(crate) fn is_of_number(self) -> bool {
        self.is_gradient() || self.second
    }

    /// Its name in saved models, and the title of a report on it.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match (self.layout, self.second, self.value) {
            (DerivativeLayout::Leaves, _, false) => ("gradient", "A gradient"),
            (DerivativeLayout::Leaves, _, true) => ("value_and_gradient", "A value and its gradient"),
            (DerivativeLayout::Tensor, true, _) => ("hessian", "A Hessian"),
            (DerivativeLayout::Matrix, true, _) => ("hessian_matrix", "A Hessian"),
            (DerivativeLayout::Tensor, false, false) => ("jacobian", "A Jacobian"),
            (DerivativeLayout::Matrix, false, false) => ("jacobian_matrix", "A Jacobian"),
            (DerivativeLayout::Tensor, false, true) => ("value_and_jacobian", "A value and its Jacobian"),
            (DerivativeLayout::Matrix, false, true) => ("value_and_jacobian_matrix", "A value and its Jacobian"),
        }
    }

    /// The options of the last optimization, which may assume of a matrix of derivatives that its columns are products
    /// with basis vectors.
    pub(crate) fn last(self, options: Options) -> Options {
        Options { basis: self.layout != DerivativeLayout::Leaves, ..options }
    }

    /// The fastest derivative program of a program in its first `count` inputs. A Hessian is the derivative of a
    /// gradient, which is computed in reverse mode if a mode is requested. A program that runs `once` is compared with
    /// other candidates only if its run takes longer than to generate these.
    ///
    /// # Errors
    /// When the derivative does not exist.
    pub(crate) fn chosen(
        self,
        program: &Program,
        count: usize,
        asked: Option<Mode>,
        options: Options,
        once: bool,
    ) -> Result<ChosenProgram, Fault> {
        let ready = optimize_with(program, options);
        if !self.second {
            return Differentiation { derivative: self, program: &ready, count }.fastest(asked, options, once);
        }
        let gradient = Differentiation { derivative: DenseDerivative::gradient(false), program: &ready, count };
        let mut gradient = gradient.fastest(asked.map(|_| Mode::Reverse), options, once)?;
        let ready = gradient.ready.take().unwrap_or_else(|| optimize_with(&gradient.program, options));
        let mut made = Differentiation { derivative: self, program: &ready, count }.fastest(asked, options, once)?;
        made.choices.splice(0..0, gradient.choices);
        Ok(made)
    }
}

/// The differentiation of an optimized program in its first inputs.
#[derive(Clone, Copy)]
struct Differentiation<'a> {
    derivative: DenseDerivative,
    program: &'a Program,
    /// The number of inputs that are arguments.
    count: usize,
}

/// The largest number of input elements whose tangents may be computed side by side.
const FEW: usize = 4;

/// Shapes decide if there are more than this many times as many inputs as results, or results as inputs.
const RATIO: usize = 4;

/// A later strategy is taken instead of an earlier one if its time is less than this fraction of that of the earlier
/// one: numerator and denominator.
const LESS: (u64, u64) = (7, 8);

fn elements(slots: &[Slot]) -> usize {
    slots.iter().filter(|slot| slot.dtype.is_float()).map(|slot| size(&slot.shape)).sum()
}

/// # Errors
/// When no array can hold the derivatives of outputs in inputs.
fn possible(derivative: DenseDerivative, inputs: &[Slot], outputs: &[Slot]) -> Result<(), Fault> {
    let shape: Shape = match derivative.layout {
        DerivativeLayout::Tensor => outputs[0].shape.iter().chain(&inputs[0].shape).copied().collect(),
        DerivativeLayout::Matrix => [elements(outputs), elements(inputs)].into_iter().collect(),
        DerivativeLayout::Leaves => return Ok(()),
    };
    try_possible(derivative.verb, &shape).map_err(Fault::Misfit)
}

impl Differentiation<'_> {
    /// The number of differentiated elements.
    fn inputs(&self) -> usize {
        elements(&self.program.inputs()[..self.count])
    }

    /// The number of elements of the results.
    fn results(&self) -> usize {
        elements(self.program.outputs())
    }
}

/// A derivative program, and the reasons for the strategies that were chosen.
pub(crate) struct ChosenProgram {
    pub(crate) program: Program,
    /// The program after the last optimization, if it was compared with other candidates.
    pub(crate) ready: Option<Program>,
    pub(crate) choices: Vec<Choice>,
}

impl ChosenProgram {
    /// A derivative program without a choice of strategies.
    pub(crate) fn only(program: Program) -> ChosenProgram {
        ChosenProgram { program, ready: None, choices: Vec::new() }
    }
}

impl Differentiation<'_> {
    /// The strategies that may be the fastest, the default first, and the reason why others are left out.
    fn strategies(&self, asked: Option<Mode>) -> (Vec<Strategy>, ModeReason) {
        let (n, m, loops) = (self.inputs(), self.results(), has_loops(self.program));
        let ruled = without_tangents(self.program).is_some();
        let few = loops && (1..=FEW).contains(&n) && !ruled;
        let lanes = if few { vec![Strategy::Lanes] } else { Vec::new() };
        let ends = self.program.nodes().iter().any(|node| is_while(&node.op));
        let forward =
            if ends { [lanes.clone(), vec![Strategy::Stacks]] } else { [vec![Strategy::Push], lanes.clone()] }.concat();
        let reverse = vec![Strategy::Pull];
        match asked {
            Some(Mode::Forward) => return (forward, ModeReason::Asked),
            Some(Mode::Reverse) => return (reverse, ModeReason::Asked),
            None if ruled => return (reverse, ModeReason::Rules),
            None => {}
        }
        if self.derivative.layout == DerivativeLayout::Leaves {
            // A delta term that is evaluated after a loop reads the same residuals forwards and backwards: only
            // tangents within the loop can be faster.
            return ([reverse, lanes].concat(), if n > FEW { ModeReason::Shapes } else { ModeReason::Kind });
        }
        if self.derivative.second {
            // A Hessian is symmetric, so its rows are its columns, and both modes evaluate the same term: in reverse
            // mode the result needs no transposition, in forward mode loops carry less.
            return (if loops { forward } else { reverse }, ModeReason::Kind);
        }
        if n > RATIO.saturating_mul(m) {
            return (reverse, ModeReason::Shapes);
        }
        if m > RATIO.saturating_mul(n) {
            return (forward, ModeReason::Shapes);
        }
        // The modes multiply the matrices of a chain in opposite orders.
        let differ = loops || contractions(self.program) > 1;
        let strategies = match (n <= m, differ) {
            (true, true) => [forward, reverse].concat(),
            (false, true) => [reverse, forward].concat(),
            (true, false) => forward,
            (false, false) => reverse,
        };
        (strategies, ModeReason::Kind)
    }

    /// The strategies; the first one alone, if the derivative runs `once` and its estimated time is less than that of
    /// generating other candidates.
    ///
    /// # Errors
    /// When no array can hold the derivative, or a function has no rule for tangents and forward mode is requested.
    fn strategies_worth(&self, asked: Option<Mode>, once: bool) -> Result<(Vec<Strategy>, ModeReason), Fault> {
        possible(self.derivative, &self.program.inputs()[..self.count], self.program.outputs())?;
        if let (Some(Mode::Forward), Some(custom)) = (asked, without_tangents(self.program)) {
            custom.require_jvp().map_err(Fault::Misfit)?;
        }
        let (mut strategies, why) = self.strategies(asked);
        let passes = self.inputs().min(self.results()) as u64;
        if once
            && strategies.len() > 1
            && self.program.estimate().time.saturating_mul(passes) < tenths(MACHINE.comparison)
        {
            strategies.truncate(1);
        }
        Ok((strategies, why))
    }

    /// The derivative program with the least estimated time.
    ///
    /// # Errors
    /// When the derivative does not exist.
    fn fastest(&self, asked: Option<Mode>, options: Options, once: bool) -> Result<ChosenProgram, Fault> {
        let (mut strategies, why) = self.strategies_worth(asked, once)?;
        if options.rounds == 0 {
            // Programs that stay as they are written are not compared.
            strategies.truncate(1);
        }
        let (verb, inputs, results) = (self.derivative.verb, self.inputs(), self.results());
        let choice = |strategy, why| vec![Choice { verb, inputs, results, strategy, why }];
        if let [strategy] = *strategies {
            return Ok(ChosenProgram { program: self.by(strategy)?, ready: None, choices: choice(strategy, why) });
        }
        let mut best: Option<(u64, Strategy, Program, Program)> = None;
        let mut estimates = Vec::new();
        for strategy in strategies {
            let program = self.by(strategy)?;
            let ready = optimize_with(&program, self.derivative.last(options));
            let estimate = ready.estimate();
            estimates.push((strategy, estimate));
            let less = |time: u64| estimate.time.saturating_mul(LESS.1) < time.saturating_mul(LESS.0);
            if best.as_ref().is_none_or(|(time, ..)| less(*time)) {
                best = Some((estimate.time, strategy, program, ready));
            }
        }
        let Some((_, strategy, program, ready)) = best else { unreachable!("a derivative is made by some strategy") };
        Ok(ChosenProgram { program, ready: Some(ready), choices: choice(strategy, ModeReason::Estimates(estimates)) })
    }
}

/// The gradient of a scalar program in all inputs, whatever their number, with tangents side by side: for tests.
///
/// # Panics
/// When the gradient does not exist.
pub(crate) fn gradient_side_by_side(program: &Program) -> Program {
    gradient_by(Strategy::Lanes, program)
}

/// [`gradient_side_by_side`] with tangents in stacks.
pub(crate) fn gradient_in_stacks(program: &Program) -> Program {
    gradient_by(Strategy::Stacks, program)
}

fn gradient_by(strategy: Strategy, program: &Program) -> Program {
    let task = Differentiation { derivative: DenseDerivative::gradient(false), program, count: program.inputs().len() };
    match task.by(strategy) {
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
