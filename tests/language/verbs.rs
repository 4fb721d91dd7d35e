//! The table of verbs (`src/ad/verbs/mod.rs`) and their homes. `docs/verbs.md` is made of the table.
//!
//! Law: a home declares the verbs that its column names and no others, each with its form with data and with an example;
//! `make bless` writes the page anew.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use polygrad::inspect::count;
use polygrad::internals::Home::{Direct, Function as OfFunction, Higher, Jit, Plain, Symbolic};
use polygrad::internals::{Home, VERBS, Verb};
use polygrad::program::{Slot, interpret};
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, Tree};

use crate::root::root;

const HOMES: [Home; 6] = [Plain, Direct, OfFunction, Jit, Symbolic, Higher];

/// All rows.
fn verbs() -> impl Iterator<Item = &'static Verb> {
    VERBS.iter().copied().flatten()
}

/// What is differentiated to count work.
#[derive(Clone, Copy)]
enum Sample {
    Network,
    Loss,
}

/// A verb, what it differentiates, and its work.
type Measured = (&'static str, Sample, fn() -> u64);

/// The verbs whose work is counted.
const MEASURED: &[Measured] = &[
    ("grad", Sample::Loss, || work(&Function::grad(loss, &at()))),
    ("value_and_grad", Sample::Loss, || work(&Function::value_and_grad(loss, &at()))),
    ("vjp", Sample::Network, || work(&Function::vjp(network, &at()))),
    ("jvp", Sample::Network, || work(&Function::jvp(network, &at()))),
    ("jacobian", Sample::Network, || work(&Function::jacobian(network, &at()))),
    ("value_and_jacobian", Sample::Network, || work(&Function::value_and_jacobian(network, &at()))),
    ("jacobian_matrix", Sample::Network, || work(&Function::jacobian_matrix(network, &at()))),
    ("value_and_jacobian_matrix", Sample::Network, || work(&Function::value_and_jacobian_matrix(network, &at()))),
    ("hvp", Sample::Loss, || work(&Function::hvp(loss, &at()))),
    ("hessian", Sample::Loss, || work(&Function::hessian(loss, &at()))),
    ("hessian_matrix", Sample::Loss, || work(&Function::hessian_matrix(loss, &at()))),
    ("laplacian", Sample::Loss, || work(&Function::laplacian(loss, &at()))),
    ("divergence", Sample::Network, || work(&Function::divergence(network, &at()))),
];

/// The form of a verb that is not plain: with data, or in chosen inputs.
fn form(home: Home) -> &'static str {
    match home {
        Plain | Direct | OfFunction | Jit | Higher => "_with",
        Symbolic => "_in",
    }
}

/// Verbs of a home without that form, and why.
const ONE_FORM: &[(Home, &str, &str)] = &[
    (Symbolic, "linearize", "the inputs that stay are residuals of the linear program"),
    (Symbolic, "transpose", "takes the number of linear inputs"),
    (Symbolic, "derivative", "of programs with one input"),
];

/// Functions of a home that are no verbs, and what they are.
const OTHERS: &[(Home, &str, &str)] = &[
    (OfFunction, "stage", "the function itself"),
    (Jit, "stage", "the function itself"),
    (Higher, "run", "the function itself"),
    (Higher, "stage", "the function itself, as a program"),
    (Higher, "stage_grad", "a gradient, as a program"),
    (Higher, "stage_grad_by", "a gradient by an instance that is named, as a program"),
    (Higher, "value_and_grad_by", "the verb by an instance that is named"),
    (Higher, "vjp_by", "the verb by an instance that is named"),
    (Higher, "pullback_by", "the cotangent alone"),
    (Higher, "stage_optic", "all programs of an optic, as one"),
    (Higher, "reverse_derivative", "the last program of an optic"),
    (Higher, "stage_reverse_derivative", "the last program of an optic, recorded"),
    (Higher, "dependencies", "an analysis"),
    (Higher, "formal_derivatives", "derivatives of expressions"),
];

/// The names at the start of a line in a table of verbs: `grad, grad_with: ..`, `grad,`, `grad_with [..] ..` or
/// `grad: grad_in;`.
fn row_names(line: &str) -> Vec<&str> {
    let is_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let names = match line.find(": ").into_iter().chain(line.find(" [")).min() {
        Some(end) if line[..end].contains("_with") || line.ends_with("_in;") => &line[..end],
        Some(_) => "",
        None => line.strip_suffix(',').unwrap_or(""),
    };
    let names: Vec<&str> = names.split(", ").collect();
    if names.iter().all(is_name) { names } else { Vec::new() }
}

/// What a home declares: names, and whether an example stands above, or a link to one, or it is a part of the row.
fn declared(home: Home) -> Vec<(String, bool)> {
    let files: &[&str] = match home {
        Plain => &[
            "verbs/gradient",
            "verbs/products",
            "verbs/jacobian",
            "verbs/hessian",
            "verbs/laplacian",
            "verbs/nth_derivative",
            "taylor",
            "enclose",
            "verified/models",
            "sparse/mod",
        ],
        Direct => &["direct"],
        // The macro that writes these writes their rows, too: `staged` in `src/ad/verbs/rows.rs`.
        OfFunction | Jit => {
            let rows = verbs().filter(|verb| verb.homes.contains(&home));
            let forms = rows.flat_map(|verb| [verb.name.to_owned(), format!("{}_with", verb.name)]);
            return forms.chain(["stage", "stage_with"].map(str::to_owned)).map(|name| (name, true)).collect();
        }
        Symbolic => &["symbolic"],
        Higher => &["mod", "data"],
    };
    let folder = if home == Higher { "higher/src/verbs" } else { "src/ad" };
    let mut found = Vec::new();
    for file in files {
        let path = root().join(format!("{folder}/{file}.rs"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut example = false;
        let mut public = true;
        for line in text.lines() {
            let line = line.strip_prefix("    ").unwrap_or(line);
            if line.starts_with("///") {
                example |= line.contains("```") || line.starts_with("/// Example: [");
            } else if let Some(rest) = line.strip_prefix("pub fn ").filter(|rest| !rest.starts_with('$')) {
                // Methods of a type, such as those of `FunctionOptions`, are no verbs.
                let is_method = ["(self", "(&self", "(mut self"].iter().any(|k| rest.contains(k)) || !public;
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if !is_method {
                    found.push((name, example));
                }
                example = false;
            } else if let names @ [_, ..] = &row_names(line)[..] {
                let row = names.len() == 2;
                found.extend(names.iter().map(|name| ((*name).to_owned(), example || row)));
                example = false;
            } else if line.starts_with("impl") {
                public = false;
            } else if line == "}" {
                (example, public) = (false, true);
            }
        }
    }
    found
}

#[test]
fn homes_declare_what_the_table_names() {
    for home in HOMES {
        let declared = declared(home);
        let names: BTreeSet<&str> = declared.iter().map(|(name, _)| name.as_str()).collect();
        let mut known: BTreeSet<String> = BTreeSet::new();
        let others = OTHERS.iter().filter(|other| other.0 == home).map(|other| other.1);
        for verb in verbs().filter(|verb| verb.homes.contains(&home)).map(|verb| verb.name).chain(others) {
            assert!(names.contains(verb), "{home:?}: there is no `{verb}`, which the table names");
            let with = format!("{verb}{}", form(home));
            let is_verb = verbs().any(|row| row.name == verb);
            let alone = ONE_FORM.iter().any(|row| (row.0, row.1) == (home, verb));
            assert!(
                !is_verb || names.contains(&with[..]) != alone,
                "{home:?}: `{with}`, or the reason why there is none"
            );
            known.extend([verb.to_owned(), with]);
        }
        for (name, example) in &declared {
            assert!(known.contains(name), "{home:?}: `{name}` has no row in the table of verbs");
            assert!(*example || home == Higher, "{home:?}: `{name}` has no example");
        }
    }
}

/// A network with one layer.
fn network<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
    let weights = Tensor::from_fn([SIZE, SIZE], |[i, j]| 0.1 * ((7 * i + 3 * j) as f64).sin());
    Tensor::constant(&weights).matvec(x).tanh()
}

/// A scalar function of it.
fn loss<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    network(x).square().sum()
}

const SIZE: usize = 32;

fn at() -> Tensor<Concrete, 1> {
    Tensor::from_fn([SIZE], |[i]| 0.1 * (i as f64).cos())
}

/// The work of a recorded function: elements computed or moved by the program that runs, with zeros for what it takes beside
/// the argument.
fn work<P, Q, Y>(function: &Function<P, Q, Y>) -> u64
where
    P: Tree<Array>,
    Q: Tree<Array>,
    Y: Tree<Array, With<Array> = Y>,
{
    let program = function.optimized();
    let counted = count(
        |x: &Tensor<_, 1>| {
            let zeros = |slot: &Slot| BaseTensor::constant(Array::zeros(&slot.shape, slot.dtype));
            let others = program.inputs().iter().skip(1).map(zeros);
            interpret(program, std::iter::once(x.raw().clone()).chain(others).collect());
            x.clone()
        },
        &at(),
    );
    counted.1.total().work
}

/// Whether a verb is at a home, and has a form with data there.
fn cell(verb: &Verb, home: Home) -> &'static str {
    match (verb.homes.contains(&home), ONE_FORM.iter().any(|row| (row.0, row.1) == (home, verb.name))) {
        (false, _) => "",
        (true, true) => "one form",
        (true, false) => "yes",
    }
}

fn page() -> String {
    let mut out = String::from(
        "# Verbs\n\n\
         **On this page** is every verb, with the homes that have it and with the work of its programs.\n\n\
         A verb takes a function and gives a derivative of it. It has one name at every home:\n\n\
         | home | how it is called | what a call does |\n\
         | --- | --- | --- |\n\
         | plain, `polygrad::grad` | `grad(f, &x)` | records `f`, optimizes, differentiates, optimizes again and runs; inside a \
         recorded program it becomes part of that program |\n\
         | `direct` | `direct::grad(f, &x)` | runs `f` once on dual numbers: `f` may look at values |\n\
         | `Function` | `Function::grad(f, &x)`, then `run(&x)` | a call of `run` runs a compiled program: for one shape |\n\
         | `Jit` | `Jit::grad(f)`, then `call(&x)` | the same, recorded again for each new shape |\n\
         | `SizedFunction` | `Jit::grad(f).for_sizes(&sizes, &x, &())`, then `run(&x)` | the same, recorded for all sizes of \
         named axes |\n\
         | `symbolic` | `symbolic::grad(&program)` | a program of a program |\n\
         | `higher` | `higher::grad(expr, &x)` | the same of programs with functions as values, which are those of the \
         crate `polygrad-higher` |\n\n\
         Data that are not differentiated come last, in the form `_with`: `grad_with(f, &x, &data)`, where `f` takes both. \
         `symbolic` has the form `_in` instead, which names the inputs to differentiate. `higher` has some verbs in a third \
         form, `_by`, which names an instance.\n\n\
         A direction, a tangent or a cotangent takes the place of the data where a function is called: `Function::hvp(f, &x)` is \
         called by `run_with(&x, &v)`, and `Function::hvp_with(f, &x, &data)` by `run_with(&x, &(v, data))`. So are those of \
         `Jit`, by `call_with`.\n\n\
         The table is that of `src/ad/verbs/mod.rs`, and tests hold each home to it. *Work* is the number of elements that \
         the program of a `Function` computes or moves, in multiples of that of the function itself. It is counted for \
         `tanh(W x)` with 32 numbers, and where the verb needs a number, for the sum of its squares.\n\n",
    );
    let mut row = |cells: [&str; 8]| {
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    row(["verb", "gives", "plain", "`direct`", "`Function`, `Jit`", "`symbolic`", "`higher`", "work"]);
    row(["---"; 8]);
    let values = [work(&Function::stage(network, &at())), work(&Function::stage(loss, &at()))];
    for verb in verbs() {
        let homes = [Plain, Direct, OfFunction, Symbolic, Higher].map(|home| cell(verb, home));
        let work =
            MEASURED.iter().find(|(name, ..)| *name == verb.name).map_or(String::new(), |(_, of, derivative)| {
                format!("{:.1}", derivative() as f64 / values[*of as usize] as f64)
            });
        let [plain, direct, function, symbolic, higher] = homes;
        row([&format!("`{}`", verb.name), verb.gives, plain, direct, function, symbolic, higher, &work]);
    }
    out + "\n**Next:** [what is fast][next: what is fast], [levels and lifting][next: levels and lifting] and \
           [operations][next: operations].\n\n[next: what is fast]: guide/fast.md\n[next: levels and lifting]: guide/levels.md\n\
           [next: operations]: operations.md\n"
}

#[test]
fn the_page_of_verbs_is_fresh() {
    let path = root().join("docs/verbs.md");
    let page = page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &page).expect("the page can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(page, written, "docs/verbs.md is old: run `make bless`");
}
