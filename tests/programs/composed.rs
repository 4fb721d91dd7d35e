//! Operations of the typed surface that are made of others: their programs are as one would write them by hand.
//!
//! `composed.txt` has the optimized programs of the value and of value and gradient, for every objective of some files
//! of the gallery; `UPDATE_EXPECT=1` refreshes them, and a reviewer reads the difference.

use std::fmt::Write;

use polygrad::passes::optimize;
use polygrad::symbolic::value_and_grad_in;

use crate::gallery::{self, Objective, Recorded, Visitor};
use crate::root::root;

/// The text of programs.
struct Texts(String);

impl Texts {
    fn look(&mut self, case: &Recorded) {
        let (of_x, of_data) = (case.x.0.len(), case.data.0.len());
        let names = (0..of_x).map(|k| format!("x{k}")).chain((0..of_data).map(|k| format!("d{k}")));
        let program = optimize(&case.program(&names.collect::<Vec<String>>()));
        let wrt: Vec<usize> = (0..of_x).collect();
        let gradient = optimize(&value_and_grad_in(&program, &wrt));
        let _ = writeln!(self.0, "{}\n{program}\n{gradient}\n", case.name);
    }
}

impl Visitor for Texts {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

#[test]
fn programs_are_printed_as_recorded() {
    let mut texts = Texts(String::new());
    gallery::statistics::each(&mut texts);
    gallery::rearranged::each(&mut texts);
    gallery::losses::each(&mut texts);
    gallery::signals::each(&mut texts);
    let path = root().join("tests/programs/composed.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &texts.0).expect("the file can be written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in texts.0.split("\n\n").zip(recorded.split("\n\n")) {
        assert_eq!(now, then, "run with UPDATE_EXPECT=1 if this is what it should be");
    }
    assert_eq!(texts.0.len(), recorded.len(), "objectives have come or gone: run with UPDATE_EXPECT=1");
}
