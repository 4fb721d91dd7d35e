//! Derivative programs: the recorded program of a [`Function`](crate::ad::function::Function), or a derivative of it.
//!
//! Law: a derivative program is closed. Its inputs are those of the recorded program; a direction, tangents or
//! cotangents come between the arguments and the data.

use crate::ad::laplacian;
use crate::ad::modes::{ChosenProgram, Mode, Wanted};
use crate::ad::pipeline::dual;
use crate::ad::symbolic;
use crate::base::Lift;
use crate::interpreters::adval::Fault;
use crate::interpreters::dual::{Dual, Forward};
use crate::passes::{Options, optimize_with};
use crate::program::{Program, Slot, Term, interpret};

/// The program that is derived from a recorded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Derived {
    /// The program itself.
    Value,
    /// A gradient, Jacobian or Hessian, in the mode with the least estimated time, unless a mode is requested.
    By(Wanted),
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

/// The lowest order at which one Taylor expansion is tried. `tests/derivatives/taylor.rs` prints the numbers of
/// operations of both methods: in programs that grow with each derivative, an expansion has fewer operations from about
/// order 6 on.
const EXPANDED: usize = 4;

/// The `n`-th derivative of a program in its first input, a number: by one Taylor expansion or by repeated
/// differentiation, whichever has fewer operations.
fn nth(program: Program, n: usize, options: Options) -> Program {
    let expanded = (n >= EXPANDED).then(|| optimize_with(&symbolic::nth_in_first(&program, n), options));
    let mut again = program;
    for _ in 0..n {
        again = optimize_with(&symbolic::derivative_in_first(&again), options);
        if let Some(expanded) = expanded.as_ref().filter(|expanded| expanded.size() < again.size()) {
            return expanded.clone();
        }
    }
    again
}

/// The program of the value and the gradient of a recorded program in its first `count` inputs.
pub(crate) fn gradient_program(recorded: &Program, count: usize) -> Result<Program, Fault> {
    Derived::By(Wanted::gradient(true)).optimized(recorded, count, None, Options::DEFAULT)
}

impl Derived {
    /// The options of the last optimization.
    pub(crate) fn last(self, options: Options) -> Options {
        match self {
            Derived::By(wanted) => wanted.last(options),
            Derived::Laplacian | Derived::Divergence => laplacian::last(options),
            Derived::Value | Derived::Nth(_) | Derived::LaplacianAlong(_) | Derived::Hvp => options,
            Derived::Jvp | Derived::Tangents | Derived::Vjp | Derived::Cotangents => options,
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
        // Optimized before and after each derivative, as in `pipeline`.
        let ready = || optimize_with(program, options);
        let made = match self {
            Derived::By(wanted) => return wanted.made(program, count, mode, options, once),
            Derived::Divergence => return laplacian::divergence_program(program, count, mode, options, once),
            Derived::Value => program.clone(),
            Derived::Laplacian => laplacian::summed(&ready(), count, None),
            Derived::LaplacianAlong(n) => laplacian::summed(&ready(), count, Some(n)),
            Derived::Nth(n) => nth(ready(), n, options),
            Derived::Hvp => {
                let wrt: Vec<usize> = (0..count).collect();
                push(&optimize_with(&symbolic::grad_in(&ready(), &wrt), options), count)?
            }
            Derived::Jvp => jvp(&ready(), count),
            Derived::Tangents => push(&ready(), count)?,
            Derived::Vjp => vjp(&ready(), count, true)?,
            Derived::Cotangents => vjp(&ready(), count, false)?,
        };
        Ok(ChosenProgram::only(made))
    }
}

/// The program from inputs (arguments, further inputs, data) to results. A further input has the name of its slot with
/// the suffix `mark`, such as `x_dot`; without a name, it is called `y_bar`, or `y0_bar` if there are several.
pub(crate) fn closed(
    program: &Program,
    further: &[Slot],
    mark: &str,
    inputs: &[Vec<Term>; 3],
    results: &[Term],
) -> Program {
    let [x, dot, data] = inputs;
    let name = |slot: &Slot| slot.name.clone();
    let mut names: Vec<String> = program.inputs()[..x.len()].iter().map(name).collect();
    names.extend(further.iter().enumerate().map(|(k, slot)| match (slot.name.as_str(), further.len()) {
        ("", 1) => format!("y_{mark}"),
        ("", _) => format!("y{k}_{mark}"),
        (name, _) => format!("{name}_{mark}"),
    }));
    names.extend(program.inputs()[x.len()..].iter().map(name));
    let inputs: Vec<Term> = x.iter().chain(dot).chain(data).cloned().collect();
    match Term::program(&inputs, results, &names) {
        Ok(program) => program,
        Err(message) => unreachable!("a program is closed: {message}"),
    }
}

/// The inputs of a program as variables: the arguments, and the data.
pub(crate) fn split(program: &Program, count: usize) -> (Vec<Term>, Vec<Term>) {
    let mut x = Term::variables(program.inputs());
    let data = x.split_off(count);
    (x, data)
}

/// The program of the tangents of the results, without the values.
fn push(program: &Program, count: usize) -> Result<Program, Fault> {
    let (x, data) = split(program, count);
    let x_dot = Term::variables(&program.inputs()[..count]);
    let (sweep, y) = dual(program, &[&x[..], &data[..]].concat(), count);
    let y_dot = sweep.try_push(&y, x_dot.clone())?;
    Ok(closed(program, &program.inputs()[..count], "dot", &[x, x_dot, data], &y_dot))
}

pub(crate) fn jvp(program: &Program, count: usize) -> Program {
    let (x, data) = split(program, count);
    let x_dot = Term::variables(&program.inputs()[..count]);
    let sweep = Forward::new();
    let mut duals: Vec<Dual<Term>> = x.iter().zip(&x_dot).map(|(x, x_dot)| sweep.input(x, x_dot)).collect();
    duals.extend(data.iter().map(|leaf| <Dual<Term> as Lift<Term>>::lift(leaf.clone())));
    let (y, y_dot): (Vec<Term>, Vec<Term>) = interpret(program, duals).iter().map(|y| sweep.result(y)).unzip();
    let results = [y, y_dot].concat();
    closed(program, &program.inputs()[..count], "dot", &[x, x_dot, data], &results)
}

/// The program of the cotangents of the arguments, after the values if these are wanted.
fn vjp(program: &Program, count: usize, values: bool) -> Result<Program, Fault> {
    let (x, data) = split(program, count);
    let y_bar = Term::variables(program.outputs());
    let (sweep, y) = dual(program, &[&x[..], &data[..]].concat(), count);
    let x_bar = sweep.try_pull(&y, y_bar.clone())?;
    let values: Vec<Term> = if values { y.iter().map(|y| y.primal().clone()).collect() } else { Vec::new() };
    Ok(closed(program, program.outputs(), "bar", &[x, y_bar, data], &[values, x_bar].concat()))
}

/// The pullback of a program in two parts: the primal part runs before the cotangents are known.
pub(crate) struct Pullback {
    /// From the arguments and data to the values and residuals.
    pub(crate) primal: Program,
    /// From the cotangents and residuals to the cotangents of the arguments.
    pub(crate) linear: Program,
}

impl Pullback {
    /// The pullback of a program in its first `count` inputs.
    ///
    /// # Errors
    /// When the derivative does not exist.
    pub(crate) fn of(program: &Program, count: usize) -> Result<Pullback, Fault> {
        let x = Term::variables(program.inputs());
        let (sweep, y) = dual(program, &x, count);
        let y_bar = Term::variables(program.outputs());
        let x_bar = sweep.try_pull(&y, y_bar.clone())?;
        let (linear, residuals) = Term::body(&y_bar, &x_bar, 0);
        let results: Vec<Term> = y.iter().map(|y| y.primal().clone()).chain(residuals).collect();
        let primal = closed(program, &[], "", &[x, Vec::new(), Vec::new()], &results);
        Ok(Pullback { primal, linear })
    }
}
