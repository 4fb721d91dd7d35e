//! Random programs as pictures: graphs in DOT and pages keep their laws (`tests/support/page.rs`).

use polygrad::program::{Program, Term, interpret};
use polygrad::{Concrete, Function, Tree};

use crate::gallery::Leaves;
use crate::page::{assert_drawn, page};
use crate::pipelines::Case;
use crate::{generate, seeds};

/// Draws a program at these inputs both ways.
fn drawn(program: &Program, x: &Leaves<Concrete>, name: &str) {
    assert_drawn(program, &program.to_dot());
    let leaves = |x: &Leaves<Term>| Leaves(interpret(program, x.0.clone()));
    let f = Function::stage(leaves, &x.map(&mut |leaf| leaf.clone()));
    let path = std::env::temp_dir().join(format!("polygrad-{}-random-{name}.html", std::process::id()));
    f.report(&path).expect("the page is written");
    let html = std::fs::read_to_string(&path).expect("the page can be read");
    std::fs::remove_file(&path).ok();
    assert!(page(&html).is_closed(), "{program}");
}

#[test]
fn pictures_of_random_programs_keep_their_laws() {
    for seed in seeds(190_000, 20) {
        let case = Case::new(generate::recipe(seed, false));
        drawn(case.outputs(), &case.x, "outputs");
        drawn(case.gradient(), &case.x, "gradient");
    }
}
