//! The inputs of derivative programs: their order and their names.
//!
//! Law: a derivative program is closed. Its inputs are those of the recorded program; a direction, tangents or
//! cotangents come between the arguments and the data.

use crate::program::{Program, Slot, Term, valid_by_construction};

/// The program with these inputs and results. The results depend on no other variable.
pub(in crate::ad) fn program_of(inputs: &[Term], results: &[Term], names: &[String]) -> Program {
    valid_by_construction(Term::program(inputs, results, names))
}

/// The names of tangents or cotangents of these slots: `<name>_<mark>`. A missing name is replaced by `letter`, with
/// the number of the slot if there are several.
pub(in crate::ad) fn marked(slots: &[Slot], letter: &str, mark: &str) -> Vec<String> {
    let mark = |(k, slot): (usize, &Slot)| match (slot.name.is_empty(), slots.len()) {
        (false, _) => format!("{}_{mark}", slot.name),
        (true, 1) => format!("{letter}_{mark}"),
        (true, _) => format!("{letter}{k}_{mark}"),
    };
    slots.iter().enumerate().map(mark).collect()
}

/// The program from inputs (arguments, further inputs, data) to results. A further input has the name of its slot with
/// the suffix `mark`, such as `x_dot`; without a name, it is called `y_bar`, or `y0_bar` if there are several.
pub(in crate::ad) fn closed(
    program: &Program,
    further: &[Slot],
    mark: &str,
    inputs: &[Vec<Term>; 3],
    results: &[Term],
) -> Program {
    let [x, dot, data] = inputs;
    let names = |slots: &[Slot]| slots.iter().map(|slot| slot.name.clone()).collect::<Vec<String>>();
    let (arguments, others) = program.inputs().split_at(x.len());
    let names = [names(arguments), marked(further, "y", mark), names(others)].concat();
    let inputs: Vec<Term> = x.iter().chain(dot).chain(data).cloned().collect();
    program_of(&inputs, results, &names)
}

/// The inputs of a program as variables: the arguments, and the data.
pub(in crate::ad) fn split(program: &Program, count: usize) -> (Vec<Term>, Vec<Term>) {
    let mut x = Term::variables(program.inputs());
    let data = x.split_off(count);
    (x, data)
}
