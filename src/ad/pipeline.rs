//! The pipeline of every verb that records: record, optimize, differentiate, optimize, evaluate.
//!
//! A plain verb runs its function at terms, as a [`Function`](crate::Function) does, differentiates the program, and
//! evaluates the derivative program at the interpreter of its arguments. So a verb inside another program adds the
//! operations of its derivative to that program, and a function that several verbs nest runs at terms alone: nothing is
//! compiled again for a level. Values that the function captures are further inputs of the recorded program.
//!
//! Laws: passes do not change the derivative of a program. They change its cost, which is why the program is optimized
//! before it is differentiated: a pattern that a pass recognises in a program may not be recognisable in the derivative.
//! Variables of different functions are different terms, so the derivatives of nested verbs cannot be confused.

use std::any::{TypeId, type_name};
use std::fmt::Display;

use super::function::derivative_programs::Derived;
use super::modes::Mode;
use crate::base::{BaseTensor, Lift};
use crate::interpreters::adval::{ADVal, Fault, Sweep};
use crate::passes::{Options, optimize_with};
use crate::program::{Program, Term, interpret};
use crate::tree::Tree;

/// A function of a tree and of data, both trees of `T`, at the interpreter `U`.
pub(super) type OfBoth<'a, T, U, P, Q, Y> = &'a dyn Fn(&<P as Tree<T>>::With<U>, &<Q as Tree<T>>::With<U>) -> Y;

/// A differentiation, and its inputs or results.
pub(super) type Differentiated<U> = (Sweep<U>, Vec<ADVal<U>>);

/// A new sweep, and its dual numbers: the first `count` values are inputs of the sweep, the others constants.
pub(super) fn started<U: BaseTensor>(inputs: &[U], count: usize) -> Differentiated<U> {
    let mut sweep = Sweep::new();
    let (leaves, data) = inputs.split_at(count);
    let mut duals: Vec<ADVal<U>> = Vec::with_capacity(inputs.len());
    for leaf in leaves {
        duals.push(sweep.input(leaf));
    }
    for leaf in data {
        duals.push(<ADVal<U> as Lift<U>>::lift(leaf.clone()));
    }
    (sweep, duals)
}

/// Interprets a program at dual numbers over terms, to be differentiated in its first `count` inputs.
pub(super) fn dual(program: &Program, inputs: &[Term], count: usize) -> Differentiated<Term> {
    let (sweep, duals) = started(inputs, count);
    (sweep, interpret(program, duals))
}

/// The recorded program of the function of a verb, with the values of its inputs: the leaves of the argument, those of
/// the data, and captured values.
pub(super) struct VerbProgram<T> {
    pub(super) program: Program,
    inputs: Vec<T>,
    /// The number of leaves of the argument.
    pub(super) count: usize,
}

/// Records the function of a verb; the results are the program and the tree of terms that the function returns.
///
/// # Panics
/// When a result depends on a variable of another function that is being recorded, which no value of `T` stands for.
#[track_caller]
pub(super) fn recorded<T: BaseTensor, P: Tree<T>, Q: Tree<T>, Y: Tree<Term>>(
    verb: &str,
    f: OfBoth<'_, T, Term, P, Q, Y>,
    x: &P,
    data: &Q,
) -> (VerbProgram<T>, Y) {
    let mut inputs = x.leaves();
    let count = inputs.len();
    inputs.append(&mut data.leaves());
    // Terms that are older than the function are values of the program that contains the verb.
    let start = if TypeId::of::<T>() == TypeId::of::<Term>() { Term::now() } else { 0 };
    let variables = Term::variables_like(&inputs);
    let (leaves, constants) = variables.split_at(count);
    let y = f(&x.with_leaves(leaves.to_vec()), &data.with_leaves(constants.to_vec()));
    let (program, captured) = closed::<T>(&variables, &y.leaves(), start);
    for term in &captured {
        match T::captured(term) {
            Some(value) => inputs.push(value),
            None => panic!("{}", uncaptured(verb, term, type_name::<T>())),
        }
    }
    (VerbProgram { program, inputs, count }, y)
}

/// The program of a recorded function, and the terms that it captures.
fn closed<T: BaseTensor>(variables: &[Term], results: &[Term], start: u64) -> (Program, Vec<Term>) {
    if T::runs_once()
        && let Ok(program) = Term::program(variables, results, &[])
    {
        // No operation outside sees the signs of zeros.
        return (program, Vec::new());
    }
    Term::closure(variables, results, start)
}

/// The options of the passes of a verb, before and after the derivative.
#[derive(Clone, Copy)]
pub(super) struct VerbPasses {
    pub(super) before: Options,
    /// A derivative that becomes part of another program is optimized with that program: equal operations of both are
    /// found there, unless passes have changed one of them before.
    pub(super) after: Options,
    /// Whether the derivative program runs once.
    once: bool,
}

impl VerbPasses {
    /// The passes of a verb at `T`.
    pub(super) fn at<T: BaseTensor>() -> VerbPasses {
        let before = if T::observes() { Options::AS_WRITTEN } else { Options::DEFAULT };
        let once = T::runs_once();
        VerbPasses { before, after: if once { before } else { Options::AS_WRITTEN }, once }
    }
}

/// The message for a function whose result depends on a variable of something else.
fn outside(verb: &str) -> String {
    format!(
        "{verb}: the result may depend on arguments, data and values of the program that contains the verb, but it depends on a \
         variable of a loop or of another recorded function that escaped; return it from the step, or lift the arguments, so \
         that the verb is a part of that function"
    )
}

/// The message for a term that stands for no value of the interpreter `here`: that of an interpreter below may have been
/// lifted, which `here` does not forward.
fn uncaptured(verb: &str, term: &Term, here: &str) -> String {
    match term.captured_type().filter(|lifted| here != *lifted && here.contains(lifted)) {
        Some(lifted) => format!(
            "{verb}: an interpreter over another one must say what the values of that one are, but a value of `{}` was lifted, and \
             `Staging::captured` of `{}` gives none for it; write it as `term.captured_value().or_else(|| T::captured(term).map(..))`",
            short(lifted),
            short(here)
        ),
        None => outside(verb),
    }
}

/// The name of a type without the paths of modules.
fn short(name: &str) -> String {
    let apart = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
    name.split_inclusive(apart).map(|part| part.rsplit("::").next().unwrap_or(part)).collect()
}

impl<T: BaseTensor> VerbProgram<T> {
    /// The results of the derivative; `further` are the values of its inputs between arguments and data.
    #[track_caller]
    pub(super) fn derived(self, derived: Derived, asked: Option<Mode>, further: Vec<T>) -> Vec<T> {
        let ready = ready(&self.program, self.count, derived, asked, VerbPasses::at::<T>());
        self.evaluated(ready, further)
    }

    /// The results of a derivative program.
    ///
    /// # Panics
    /// When the derivative is an error.
    #[track_caller]
    pub(super) fn evaluated<F: Display>(self, derivative: Result<Program, F>, further: Vec<T>) -> Vec<T> {
        match derivative {
            Ok(derivative) => T::evaluated(&derivative, self.between(further)),
            Err(fault) => panic!("{fault}"),
        }
    }

    /// The program as it is before it is differentiated, the values of its inputs, and the number of leaves of the
    /// argument.
    pub(super) fn optimized(self) -> (Program, Vec<T>, usize) {
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
    derived: Derived,
    asked: Option<Mode>,
    VerbPasses { before, after, once }: VerbPasses,
) -> Result<Program, Fault> {
    let made = derived.of(program, count, asked, before, once)?;
    let last = match derived {
        Derived::By(_) | Derived::Laplacian | Derived::Divergence => derived.last(before),
        Derived::Value | Derived::Nth(_) | Derived::LaplacianAlong(_) | Derived::Hvp => after,
        Derived::Jvp | Derived::Tangents | Derived::Vjp | Derived::Cotangents => after,
    };
    Ok(made.ready.unwrap_or_else(|| optimize_with(&made.program, last)))
}
