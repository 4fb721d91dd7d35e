//! The papers beside the library: `docs/concordance.md`.
//!
//! Laws: every figure, theorem and example of a paper has one row; each path and each name of a row exists; the programs
//! on the page are what the library prints. `make bless` writes them anew.

use std::collections::BTreeSet;
use std::fs;

use polygrad::ops::Unary;
use polygrad::passes::{optimize, vectorize};
use polygrad::program::{Program, Term};
use polygrad::{Array, DType, Tensor, build, build1, cond, symbolic, tensor};
use polygrad_higher::interpreters::optic::{Staged, stars};
use polygrad_higher::interpreters::{
    CurryClosures, CurryLists, Forward, Lambda, Reverse, ReverseOptic, Run, Syntax, Wires,
};
use polygrad_higher::transform::{InReverse, gradient};
use polygrad_higher::{self as higher, Expr, Fun, Language, Monoidal, Prod, Real, Target, fun1, lam, let_, num, tup};

use super::examples::assert_marked_in;
use crate::root::root;

#[allow(dead_code, reason = "two of its programs are printed")]
#[allow(clippy::type_complexity, reason = "the type of a program is its typing rule")]
#[path = "../higher/gallery.rs"]
mod gallery;

const PAGE: &str = "docs/concordance.md";

/// What each paper has: figures, tables, theorems, examples, numbered equations, and sections that state a rule under no
/// number. The papers are no part of the repository, so this list is the measure of the page.
const PAPERS: &[(&str, &[&str])] = &[
    (
        "CHAD",
        &[
            "Fig. 1(a), 1(b), 1(c), 1(d), 2(a), 2(b), 2(c), 2(d), 3, 4, 5, 6, 7, 8, 9, 10, 11, 12",
            "Table 1",
            "Theorem A, B, C, 5.10, 6.1, 6.2, 8.3",
            "Lemma 2.1, 2.2, 5.7, 5.8, 5.9, 8.1",
            "Proposition 3.1, 5.6",
            "Corollary 7.1, 7.2, 8.2",
            "Definition 5.5",
            "Example 5.1, 5.2, 5.3, 5.4",
            "Insight 1, 2, 3, 4, 5, 6, 7",
            "Section 7.3, 7.4, 7.5, 9.2, 9.4, 10, 11.1, 11.2, 11.3",
        ],
    ),
    ("Efficient CHAD", &["Claim complexity, sparse, accumulation, closures, operations"]),
    ("Iterative CHAD", &["Claim functor, iteration, conditionals, partiality, correctness"]),
    (
        "dP guide",
        &[
            "Definition 0.1",
            "Snippet 1, 2, 3, 4(interfaces), 4(prices), 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23",
            "Fig. 1, 2, 3, 4, 5, 6",
            "Eq. 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 18, 24, 25, 26, 27, 30",
            "Section III, V.A, V.C, VIII",
        ],
    ),
    ("The Differentiable Curry", &["Fig. 1, 2, 3, 4, 5, 6", "Definition 5.1, 5.2", "Section 2, 4.1, 6.1, 6.2, 6.3"]),
    (
        "Dual arrays",
        &[
            "Fig. 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22",
            "Eq. 1, 2, 3, 4, 5, 6, 7",
            "Theorem 5.1",
            "Section 2.3, 2.4, 2.5, 2.7, 3.1, 3.3, 4.1, 4.4, 4.5, 5.2, 7.6, 9",
            "Appendix A, B, C.1, C.2, D.1, D.2",
        ],
    ),
    (
        "What the papers leave open",
        &[
            "CHAD 2.1, 7.5, 10(arrays), 10(solvers), 11.1, 11.2, 11.3",
            "dP III.A, VI",
            "Curry 6.1, 6.2(control), 6.2(tangents), 6.3, 7",
            "Arrays 2, 2(types), 2.7, 3.1(index), 3.1(tuples), 3.2, 5(fold), 5.2(conditionals), 5.2(functions), 8, 9(control)",
            "Arrays 9(fusion), 10, 10(shapes), A, B(loops), B(sharing), B(index)",
        ],
    ),
];

/// The labels of a cell: `Fig. 1, 2(a)` is `Fig. 1` and `Fig. 2(a)`.
fn labels(cell: &str) -> Vec<String> {
    let (kind, numbers) = cell.split_once(' ').unwrap_or((cell, ""));
    numbers.split(", ").map(|number| format!("{kind} {number}")).collect()
}

fn page() -> String {
    fs::read_to_string(root().join(PAGE)).expect("the page can be read")
}

/// The cells of the rows under the heading of a paper.
fn rows(page: &str, paper: &str) -> Vec<Vec<String>> {
    let heading = format!("\n## {paper}\n");
    let section = page.split(&heading).nth(1).unwrap_or_else(|| panic!("{PAGE} has no section {paper}"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| --- |"));
    let cells = |line: &str| {
        let inner = line.trim_start_matches("| ").trim_end_matches(" |");
        inner.split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    lines.skip(1).map(cells).collect()
}

/// Whether a source declares a name: as an item, or as a case of a macro that declares tests.
fn declares(source: &str, name: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let items = ["fn ", "struct ", "enum ", "trait ", "type ", "const ", "mod ", "macro_rules! "];
    let item = |kind: &&str| {
        source.match_indices(&format!("{kind}{name}")).any(|(at, found)| ends(&source[at + found.len()..]))
    };
    items.iter().any(item)
        || source.lines().any(|line| [": ", ","].iter().any(|end| line.trim().starts_with(&format!("{name}{end}"))))
}

/// What is wrong with the places of a cell: paths, each with names that it declares behind it.
fn faults(cell: &str) -> Vec<String> {
    let (mut wrong, mut source, mut within) = (Vec::new(), None, "");
    for span in cell.split('`').skip(1).step_by(2) {
        if span.contains('/') {
            within = span;
            source = fs::read_to_string(root().join(span)).ok();
            if source.is_none() {
                wrong.push(format!("{span} is gone"));
            }
        } else if !source.as_deref().is_some_and(|source| declares(source, span)) {
            wrong.push(format!("`{within}` declares no {span}"));
        }
    }
    wrong
}

#[test]
fn every_figure_theorem_and_example_has_a_row() {
    let page = page();
    for (paper, expected) in PAPERS {
        let rows = rows(&page, paper);
        let mut found = BTreeSet::new();
        for row in &rows {
            assert_eq!(row.len(), 4, "{paper}: a row has four cells: {row:?}");
            for label in labels(&row[0]) {
                assert!(found.insert(label.clone()), "{paper}: {label} has two rows");
            }
        }
        let expected: BTreeSet<String> = expected.iter().flat_map(|cell| labels(cell)).collect();
        let missing: Vec<&String> = expected.difference(&found).collect();
        let unknown: Vec<&String> = found.difference(&expected).collect();
        assert!(missing.is_empty() && unknown.is_empty(), "{paper}: no row for {missing:?}; unknown are {unknown:?}");
    }
}

#[test]
fn every_place_exists() {
    let page = page();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (paper, _) in PAPERS {
        for row in rows(&page, paper) {
            let [label, _, place, difference] = &row[..] else { panic!("four cells: {row:?}") };
            let is_built = !place.starts_with("not built") && !place.starts_with("a proof");
            assert!(!is_built || place.contains(".rs`"), "{paper}, {label}: a path, or `not built`");
            assert!(!difference.is_empty(), "{paper}, {label}: what differs, or why it is not built");
            count += place.matches('`').count() / 2;
            // What differs is told in words; of the code in them, paths alone are checked.
            let paths = difference.split('`').skip(1).step_by(2).filter(|span| span.ends_with(".rs"));
            let paths = paths.flat_map(|path| faults(&format!("`{path}`")));
            wrong.extend(paths.chain(faults(place)).map(|fault| format!("{paper}, {label}: {fault}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 150, "{count} places were found");
}

#[test]
fn places_that_are_gone_are_seen() {
    let this = "`tests/language/concordance.rs` `labels`";
    assert_eq!(faults(this), Vec::<String>::new());
    for wrong in ["`tests/language/no_such.rs`", "`tests/language/concordance.rs` `label`", "`labels`"] {
        assert_eq!(faults(wrong).len(), 1, "{wrong}");
    }
    assert_eq!(labels("Fig. 1, 2(a)"), ["Fig. 1", "Fig. 2(a)"]);
}

fn text(term: &Lambda) -> String {
    format!("{}\n", term.simplify())
}

fn sine<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| x.at().sin())
}

fn slope<T: Target>() -> Expr<T, Real, Real> {
    gradient(sine::<InReverse<T>>())
}

#[test]
fn programs_of_chad_are_as_on_the_page() {
    let like = (tensor(0.0), tensor([0.0; 3]));
    let first_order = higher::stage_grad_by(gallery::fig_2b::<Reverse<Run<Term>>>(), &like);
    let twice = gradient(slope::<InReverse<Syntax>>()).hom().term();
    let printed = [
        ("Fig. 1(c)", text(&gallery::fig_1a::<Forward<Syntax>>().hom().term())),
        ("Fig. 1(d)", text(&gallery::fig_1b::<Reverse<Syntax>>().hom().term())),
        ("Fig. 2(c)", text(&gallery::fig_2a::<Forward<Syntax>>().hom().term())),
        ("Fig. 2(d)", text(&gallery::fig_2b::<Reverse<Syntax>>().hom().term())),
        ("Fig. 2(d), first order", format!("{first_order}\n")),
        ("the sine, once", text(&slope::<Syntax>().hom().term())),
        ("the sine, twice", text(&twice)),
    ];
    for (what, text) in printed {
        assert_marked_in(PAGE, &format!("CHAD: {what}"), &text);
    }
}

type Called = Prod<Prod<Fun<Real, Real>, Fun<Real, Real>>, Real>;

/// Two functions that capture the number, and a point.
fn two_functions<C: Language>() -> Expr<C, Real, Called> {
    fun1(|a| tup(tup(lam(|z| z.at() * a.at()), lam(|z| z.at() * a.at() * a.at())), num(0.5)))
}

/// Fig. 4: the result of `g` is forgotten, or `g` is not called; `f` is called twice, or its result doubled.
fn equal_forwards<C: Language>() -> [(&'static str, Expr<C, Called, Real>); 4] {
    [
        (
            "fst (f x, g x)",
            fun1(|all| {
                let_(all.at().snd(), |x| tup(all.at().fst().fst().app(x.at()), all.at().fst().snd().app(x.at())).fst())
            }),
        ),
        ("f x", fun1(|all| all.at().fst().fst().app(all.at().snd()))),
        (
            "f x + f x",
            fun1(|all| {
                let_(all.at().fst().fst(), |f| let_(all.at().snd(), |x| f.at().app(x.at()) + f.at().app(x.at())))
            }),
        ),
        ("let y = f x in y + y", fun1(|all| let_(all.at().fst().fst().app(all.at().snd()), |y| y.at() + y.at()))),
    ]
}

#[test]
fn tangents_of_functions_are_as_on_the_page() {
    type Lists = CurryLists<Array>;
    type Closures = CurryClosures<Array>;
    let (a, one) = (tensor(2.0), tensor(1.0));
    let mut text = String::new();
    for ((name, lists), (_, closures)) in equal_forwards::<Lists>().into_iter().zip(equal_forwards::<Closures>()) {
        let calls = Lists::raw_tangent(two_functions::<Lists>(), lists, &a, &one).to_string();
        let environments = Closures::raw_tangent(two_functions::<Closures>(), closures, &a, &one).to_string();
        text += &format!("{name}\n  calls:        {calls}\n  environments: {environments}\n");
    }
    assert_marked_in(PAGE, "The Differentiable Curry: Fig. 4", &text);
}

type Optic<C> = ReverseOptic<C>;

/// The stages of the optic of a sine, and the program of all of them.
fn stages<A: Staged<Array>, R: Staged<Term>>() -> String {
    let stages = A::stages(&<A as Monoidal>::unary(Unary::Sin));
    let names: Vec<&str> = stages.iter().map(|stage| &stage.label[..]).collect();
    let program = higher::stage_optic(&<R as Monoidal>::unary(Unary::Sin), &tensor(0.0));
    format!("stages: {}\nstars: {:?}\n{program}\n", names.join(" "), stars(&stages))
}

#[test]
fn stages_of_optics_are_as_on_the_page() {
    type Runs = Wires<Run<Array>>;
    type Records = Wires<Run<Term>>;
    let printed = [
        ("order 1", stages::<Optic<Runs>, Optic<Records>>()),
        ("order 2", stages::<Optic<Optic<Runs>>, Optic<Optic<Records>>>()),
        ("order 3", stages::<Optic<Optic<Optic<Runs>>>, Optic<Optic<Optic<Records>>>>()),
    ];
    for (order, text) in printed {
        assert_marked_in(PAGE, &format!("dP guide: the sine at {order}"), &text);
    }
}

type Vector = Tensor<Term, 1>;
type Matrix = Tensor<Term, 2>;

/// A program of inputs with these names and shapes.
fn recorded<const D: usize>(inputs: &[(&str, &[usize])], f: impl Fn(&[Term]) -> Tensor<Term, D>) -> Program {
    let variables: Vec<Term> = inputs.iter().map(|(_, shape)| Term::variable(shape, DType::F64)).collect();
    let names: Vec<String> = inputs.iter().map(|(name, _)| (*name).to_owned()).collect();
    let result = f(&variables).into_raw();
    Term::program(&variables, &[result], &names).expect("closed")
}

/// A program as it is recorded, in bulk and optimized, and its value with its cotangents.
fn from_recorded_to_gradient(program: &Program) -> String {
    let simple = optimize(program);
    let scalar = program.outputs().iter().all(|output| output.shape.is_empty());
    let derived = if scalar { symbolic::value_and_grad(&simple) } else { symbolic::vjp(&simple) };
    let stages = [
        ("recorded", program),
        ("in bulk", &vectorize(program)),
        ("optimized", &simple),
        (if scalar { "value and gradient" } else { "value and cotangents" }, &optimize(&derived)),
    ];
    stages.map(|(what, program)| format!("{what}:\n{program}\n")).concat()
}

fn vector(term: &Term) -> Vector {
    Tensor::from_raw(term.clone())
}

#[test]
fn programs_of_dual_arrays_are_as_on_the_page() {
    let doubled = recorded(&[("x", &[])], |x| (0..3).fold(Tensor::<Term, 0>::from_raw(x[0].clone()), |y, _| &y + &y));
    let shared = recorded(&[("x", &[])], |x| {
        let y = Tensor::<Term, 0>::from_raw(x[0].clone()).exp();
        let z = y.ln();
        &y + z.sin() / z.cos()
    });
    let matmat = recorded(&[("a", &[2, 3]), ("b", &[3, 4])], |x| {
        let [a, b] = [0, 1].map(|k| Matrix::from_raw(x[k].clone()));
        let product: Matrix = build([2, 4], |[i, j]| build1(3, |p| a.at([i, p]) * b.at([p, j])).sum());
        product
    });
    let dot = recorded(&[("a", &[5]), ("b", &[5])], |x| {
        let (a, b) = (vector(&x[0]), vector(&x[1]));
        build1(5, |i| a.at([i]) * b.at([i])).sum()
    });
    let more = recorded(&[("a", &[5])], |x| -> Vector {
        let a = vector(&x[0]);
        build1(5, |i| a.at([i]) + 1.0)
    });
    let joined = recorded(&[("a", &[10])], |x| -> Vector {
        let a = vector(&x[0]);
        build1(20, |i| cond(i.lt(10), a.at([i]), a.at([i - 10])))
    });
    let convolved = recorded(&[("a", &[6])], |x| {
        let a = vector(&x[0]);
        build1(6, |i| a.at([i]) * a.at([5 - i])).sum()
    });
    let printed = [
        ("section 2.5", doubled),
        ("Fig. 4", shared),
        ("section 3.1", matmat),
        ("section 4.1", dot),
        ("section 4.5", more),
        ("section 5.2", joined),
        ("Fig. 18", convolved),
    ];
    for (what, program) in printed {
        assert_marked_in(PAGE, &format!("Dual arrays: {what}"), &from_recorded_to_gradient(&program));
    }
}
