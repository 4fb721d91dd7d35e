//! The verbs as a table, a row each: what a verb gives, and where it is at home. `docs/verbs.md` is made of the table.
//!
//! Law: a home declares the verbs that its column names and no others, each with its form with data and with an example;
//! `make bless` writes the page anew.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use polygrad::inspect::count;
use polygrad::program::{Slot, interpret};
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, Tree};

use crate::root::root;

/// Where verbs are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Home {
    Plain,
    Direct,
    Function,
    Jit,
    Symbolic,
    Higher,
}

use Home::{Direct, Higher, Jit, Plain, Symbolic};

const HOMES: [Home; 6] = [Plain, Direct, Home::Function, Jit, Symbolic, Higher];

const EVERYWHERE: &[Home] = &HOMES;
const RECORDED: &[Home] = &[Plain, Home::Function, Jit];

struct Verb {
    name: &'static str,
    gives: &'static str,
    homes: &'static [Home],
    /// The work of the verb for a sample.
    sample: Option<(Sample, fn() -> u64)>,
}

/// What is differentiated to count work.
#[derive(Clone, Copy)]
enum Sample {
    Network,
    Loss,
}

const fn verb(
    name: &'static str,
    gives: &'static str,
    homes: &'static [Home],
    sample: Option<(Sample, fn() -> u64)>,
) -> Verb {
    Verb { name, gives, homes, sample }
}

const VERBS: &[Verb] = &[
    verb(
        "grad",
        "`x_bar`: the gradient of a scalar function",
        EVERYWHERE,
        Some((Sample::Loss, || work(&Function::grad(loss, &at())))),
    ),
    verb(
        "value_and_grad",
        "`(y, x_bar)`",
        EVERYWHERE,
        Some((Sample::Loss, || work(&Function::value_and_grad(loss, &at())))),
    ),
    verb(
        "vjp",
        "`(y, y_bar -> x_bar)`: cotangents, by reverse mode",
        EVERYWHERE,
        Some((Sample::Network, || work(&Function::vjp(network, &at())))),
    ),
    verb(
        "jvp",
        "`(y, y_dot)` for a tangent `x_dot`, by forward mode",
        EVERYWHERE,
        Some((Sample::Network, || work(&Function::jvp(network, &at())))),
    ),
    verb("linearize", "`(y, x_dot -> y_dot)`: the linear map of the derivative", &[Direct, Symbolic], None),
    verb("transpose", "`y_bar -> x_bar` of a linear program", &[Symbolic], None),
    verb("derivative", "`x -> y'` of a program of one number", &[Symbolic], None),
    verb(
        "jacobian",
        "`dy/dx` of one tensor, axes of `y` first; forward or reverse mode by cost",
        RECORDED,
        Some((Sample::Network, || work(&Function::jacobian(network, &at())))),
    ),
    verb("jacobian_by", "the same, in a mode that is named", &[Plain], None),
    verb(
        "value_and_jacobian",
        "`(y, dy/dx)`",
        RECORDED,
        Some((Sample::Network, || work(&Function::value_and_jacobian(network, &at())))),
    ),
    verb(
        "jacobian_matrix",
        "`dy/dx` of trees, as a matrix over their numbers in order",
        RECORDED,
        Some((Sample::Network, || work(&Function::jacobian_matrix(network, &at())))),
    ),
    verb(
        "value_and_jacobian_matrix",
        "the results, and that matrix",
        RECORDED,
        Some((Sample::Network, || work(&Function::value_and_jacobian_matrix(network, &at())))),
    ),
    verb("sparse_jacobian", "`dy/dx`, by as many passes as its pattern has colours", &[Plain], None),
    verb(
        "hvp",
        "the Hessian of a scalar function times a direction",
        &[Plain, Home::Function, Jit, Higher],
        Some((Sample::Loss, || work(&Function::hvp(loss, &at())))),
    ),
    verb(
        "hessian",
        "the Hessian of a scalar function of one tensor",
        RECORDED,
        Some((Sample::Loss, || work(&Function::hessian(loss, &at())))),
    ),
    verb(
        "hessian_matrix",
        "the Hessian of a scalar function of a tree, as a matrix",
        RECORDED,
        Some((Sample::Loss, || work(&Function::hessian_matrix(loss, &at())))),
    ),
    verb("sparse_hessian", "the Hessian, by as many passes as its pattern has colours", &[Plain], None),
    verb("hessian_diagonal", "the diagonal of the Hessian", &[Plain], None),
    verb(
        "laplacian",
        "the sum of the second derivatives of each result in all elements, in one pass",
        &[Plain, Home::Function, Jit, Symbolic],
        Some((Sample::Loss, || work(&Function::laplacian(loss, &at())))),
    ),
    verb("laplacian_along", "the sum of the second derivatives along directions", RECORDED, None),
    verb(
        "divergence",
        "the trace of the Jacobian; forward or reverse mode by cost",
        RECORDED,
        Some((Sample::Network, || work(&Function::divergence(network, &at())))),
    ),
    verb("nth_derivative", "the `n`-th derivative of a function of one number, by one series", RECORDED, None),
    verb("derivative_tensor", "all partial derivatives of one order", &[Plain], None),
    verb("taylor", "Taylor coefficients of `t -> f(x + t v)`", &[Plain], None),
    verb("taylor_along", "Taylor coefficients along a curve", &[Plain], None),
    verb("enclose", "bounds of `f` over a box", &[Plain], None),
    verb("taylor_model", "a polynomial and an interval that contain `f` over a box", &[Plain], None),
];

/// The form of a verb that is not plain: with data, or in chosen inputs.
fn form(home: Home) -> &'static str {
    match home {
        Plain | Direct | Home::Function | Jit | Higher => "_with",
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
    (Home::Function, "stage", "the function itself"),
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

/// The name at the start of a line in the table of `Jit`: `grad,` or `grad_with [..] ..`.
fn row_name(line: &str) -> Option<&str> {
    let name = match line.strip_suffix(',') {
        Some(name) => name,
        None => line.split(' ').next().filter(|word| word.ends_with("_with"))?,
    };
    Some(name).filter(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// What a home declares: names, and whether an example stands above, or a link to one.
fn declared(home: Home) -> Vec<(String, bool)> {
    let files: &[&str] = match home {
        Plain => &["staged", "second", "matrix", "taylor", "laplacian", "enclose", "verified/models", "sparse/mod"],
        Direct => &["direct"],
        Home::Function => &["function/verbs", "function/matrices", "function/products", "function/laplacians"],
        Jit => &["function/jit_verbs"],
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
            } else if home == Jit
                && let Some(name) = row_name(line)
            {
                found.push((name.to_owned(), example));
                example = false;
            } else if line.starts_with("impl") {
                public = matches!(home, Home::Function | Jit);
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
        for verb in VERBS.iter().filter(|verb| verb.homes.contains(&home)).map(|verb| verb.name).chain(others) {
            assert!(names.contains(verb), "{home:?}: there is no `{verb}`, which the table names");
            let with = format!("{verb}{}", form(home));
            let is_verb = VERBS.iter().any(|row| row.name == verb);
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
         The table is that of `tests/language/verbs.rs`, and tests hold each home to it. *Work* is the number of elements that \
         the program of a `Function` computes or moves, in multiples of that of the function itself. It is counted for \
         `tanh(W x)` with 32 numbers, and where the verb needs a number, for the sum of its squares.\n\n",
    );
    let mut row = |cells: [&str; 8]| {
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    row(["verb", "gives", "plain", "`direct`", "`Function`, `Jit`", "`symbolic`", "`higher`", "work"]);
    row(["---"; 8]);
    let values = [work(&Function::stage(network, &at())), work(&Function::stage(loss, &at()))];
    for verb in VERBS {
        let homes = [Plain, Direct, Home::Function, Symbolic, Higher].map(|home| cell(verb, home));
        let work = verb.sample.map_or(String::new(), |(of, derivative)| {
            format!("{:.1}", derivative() as f64 / values[of as usize] as f64)
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
