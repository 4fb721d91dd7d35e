//! Recording: the function of a plain verb as a program, with the values of its inputs.
//!
//! A plain verb runs its function at terms, as a [`Function`](crate::Function) does. Values that the function captures
//! are further inputs of the recorded program.
//!
//! Law: variables of different functions are different terms, so the derivatives of nested verbs cannot be confused.

use std::any::{TypeId, type_name};

use crate::base::BaseTensor;
use crate::program::{Program, Term};
use crate::tree::Tree;

/// A function of a tree and of data, both trees of `T`, at the interpreter `U`.
pub(in crate::ad) type OfBoth<'a, T, U, P, Q, Y> = &'a dyn Fn(&<P as Tree<T>>::With<U>, &<Q as Tree<T>>::With<U>) -> Y;

/// The recorded program of the function of a verb, with the values of its inputs: the leaves of the argument, those of
/// the data, and captured values.
pub(in crate::ad) struct VerbProgram<T> {
    pub(in crate::ad) program: Program,
    pub(super) inputs: Vec<T>,
    /// The number of leaves of the argument.
    pub(in crate::ad) count: usize,
}

/// Records the function of a verb; the results are the program and the tree of terms that the function returns.
///
/// # Panics
/// When a result depends on a variable of another function that is being recorded, which no value of `T` stands for.
#[track_caller]
pub(in crate::ad) fn recorded<T: BaseTensor, P: Tree<T>, Q: Tree<T>, Y: Tree<Term>>(
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
