//! Names that a file or a tree of the user can have, made to end the place in which they stand: a line, a comment, a string, a
//! tag.
//!
//! Law: whatever is written of a program with such names, the names are no code in it, and no part of its layout. Source code
//! is compiled, too: each name holds the definition of a symbol that the compilers would see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use polygrad::export::{Exported, Mesh, ShardingError, Signature};
use polygrad::inspect::{first_nan, transcript};
use polygrad::ops::{External, Tap, TapKind};
use polygrad::program::{Program, Term};
use polygrad::{Array, Concrete, DType, Function, SourceLine, Tensor, custom_jvp, tensor};
use serde_json::{Value, json};

use crate::page::{assert_drawn, page};

type Vector<T> = Tensor<T, 1>;

/// The symbol that no text may define.
const PLANTED: &str = "planted";

/// Names that end a place and define the symbol, or make nothing of what follows.
fn hostile() -> Vec<String> {
    let definition = format!("int {PLANTED} = 1;");
    let ends = [
        "\n",
        "\r\n",
        "\r",
        "*/ ",
        "/* ",
        "\\\n",
        "??/\n",
        "\"; ",
        "'; ",
        "`; ",
        "\u{2028}",
        "\u{2029}",
        "\u{85}",
        "\u{c}",
        "\0",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
        "</title></svg></script>",
        "\"/><b>",
        "-->",
        "]]>",
        "&#10;",
        "\\n",
        "\\N",
        "\u{1b}[2K",
    ];
    let mut all: Vec<String> = ends.iter().map(|end| format!("x{end}{definition}{end}")).collect();
    all.extend(ends.iter().map(|end| format!("x{end}")));
    all.extend([
        format!("\nfn {PLANTED}() {{}}\n//"),
        format!("*/ fn {PLANTED}() {{}} /*"),
        format!("\n#error {PLANTED}\n"),
    ]);
    all.extend(
        ["x\\", "x??/", "x\\ ", "//", "/*", "*/", "", " ", "_", "x", "x", "sqrt", "fabs", "unix", "final", "9", "é\\"]
            .map(Into::into),
    );
    all.push("long".repeat(10_000));
    all
}

/// A program whose inputs, results, functions, labels and places of labels have these names.
fn named(names: &[String]) -> Program {
    let inputs: Vec<Term> = names.iter().map(|_| Term::variable(&[2], DType::F64)).collect();
    let result = |(x, name): (&Term, &String)| {
        let at = SourceLine { file: name.clone(), line: 3, column: 9 };
        let debug = Tap::new(TapKind::Debug(vec![name.clone()]), Some(at.clone()));
        let mask = Vector::<Term>::from_raw(x.clone()).gt(-1e9);
        let check = Tap::new(TapKind::Check(name.clone()), Some(at));
        let call = |tap: Tap, args: &[Term]| {
            <Term as polygrad::BaseTensor>::call(&polygrad::ops::Call::Tap(tap.into()), args).swap_remove(0)
        };
        let x = call(check, &[mask.into_raw(), call(debug, std::slice::from_ref(x))]);
        let rule = |x: &Vector<_>, _: &Vector<_>, x_dot: &Vector<_>| x * 2.0 * x_dot;
        custom_jvp(name, |x: &Vector<_>| x * x + 1.0, rule, &Vector::from_raw(x)).into_raw()
    };
    let results: Vec<Term> = inputs.iter().zip(names).map(result).collect();
    let strs: Vec<&str> = names.iter().map(|name| &name[..]).collect();
    Term::program(&inputs, &results, &[]).expect("a closed program").named(&strs, &strs)
}

/// Whether a text shows all that it has, but for the ends of lines.
fn shows(text: &str) -> bool {
    text.lines().all(|line| {
        let shown = line.escape_debug().to_string();
        shown.replace("\\\\", "").replace("\\\"", "").replace("\\'", "").matches('\\').count() == 0
    })
}

/// The words of source code: without comments and strings.
fn words(code: &str, nested: bool) -> BTreeSet<String> {
    // Of C, `??/` is a backslash, and a backslash at the end of a line continues the line.
    let code =
        if nested { code.to_owned() } else { code.replace("??/", "\\").replace("\\ \n", "\\\n").replace("\\\n", "") };
    let (mut out, mut rest) = (String::new(), &code[..]);
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if rest.starts_with("/*") {
            let (mut depth, mut at) = (1, 2);
            while depth > 0 && at < rest.len() {
                let step = &rest[at..];
                let (ends, begins) = (step.starts_with("*/"), nested && step.starts_with("/*"));
                depth = depth + usize::from(begins) - usize::from(ends);
                at += if ends || begins { 2 } else { step.chars().next().map_or(1, char::len_utf8) };
            }
            rest = &rest[at..];
        } else if c == '"' {
            let inside = rest[1..].split_inclusive('"').scan(false, |_, part| Some(part)).next().unwrap_or_default();
            rest = &rest[1 + inside.len()..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
}

fn has_no_planted(code: &str, nested: bool) {
    assert!(!words(code, nested).contains(PLANTED), "a name is code in\n{code}");
    assert!(shows(code), "a character is hidden in\n{}", code.escape_debug());
}

/// Runs a compiler, if it is there.
fn compiles(command: &mut Command, code: &str) {
    match command.output() {
        Err(_) => eprintln!("skipped: there is no {command:?}"),
        Ok(done) => assert!(done.status.success(), "{}\n{code}", String::from_utf8_lossy(&done.stderr)),
    }
}

fn folder() -> std::path::PathBuf {
    let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-names-{}", std::process::id()));
    fs::create_dir_all(&at).expect("a folder");
    at
}

#[test]
fn names_are_no_code() {
    let names = hostile();
    for name in &names {
        let program = named(std::slice::from_ref(name));
        let (c, rust) = (program.to_c("f").expect("it is written"), program.to_rust("f").expect("it is written"));
        [&c.code, &c.header].into_iter().for_each(|text| has_no_planted(text, false));
        has_no_planted(&rust.code, true);
        // A name in a comment that becomes documentation is in a span of code.
        for line in rust.code.lines().filter(|line| line.trim_start().starts_with("///")) {
            assert!(line.matches('`').count() % 2 == 0, "{line}");
            assert!(line.split('`').step_by(2).all(|text| !text.contains('<')), "{line}");
        }
        has_no_planted(&program.to_stablehlo(name).expect("it is exported"), false);
    }
}

#[test]
fn source_code_with_hostile_names_compiles() {
    let program = named(&hostile());
    let (c, rust) = (program.to_c("f").expect("it is written"), program.to_rust("f").expect("it is written"));
    let (lower, upper) = (vec![Array::from([-1.0, -1.0]); program.inputs().len()], Array::from([1.0, 1.0]));
    let upper = vec![upper; program.inputs().len()];
    let certificate = c.certificate(&lower, &upper).expect("there are bounds");
    let (c, rust) = (c.with_certificate(&certificate), rust.with_certificate(&certificate));
    let at = folder();
    // The symbols are defined here: another definition is an error.
    let own = format!("\nint {PLANTED}(void);\nint {PLANTED}(void) {{ return 0; }}\n");
    fs::write(at.join("f.h"), &c.header).expect("the header is written");
    fs::write(at.join("f.c"), c.code.clone() + &own).expect("the code is written");
    let mut cc = Command::new("cc");
    cc.current_dir(&at).args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-trigraphs", "-fsyntax-only", "f.c"]);
    compiles(&mut cc, &c.code);
    let own = format!("pub fn {PLANTED}() {{}}\n");
    fs::write(at.join("f.rs"), format!("#![no_std]\n#![deny(warnings)]\n{own}{}", rust.code))
        .expect("the code is written");
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()));
    rustc.current_dir(&at).args(["--edition", "2021", "--crate-type", "lib", "--emit", "metadata", "f.rs"]);
    compiles(&mut rustc, &rust.code);
    let _ = fs::remove_dir_all(&at);
}

#[test]
fn names_stay_within_lines_of_text() {
    for name in &hostile() {
        let program = named(std::slice::from_ref(name));
        let x = tensor([1.0, -2.0]);
        let map: BTreeMap<String, Vector<Concrete>> = [(name.clone(), x.clone())].into_iter().collect();
        let f = Function::grad(
            |m: &BTreeMap<String, Vector<Term>>| m.values().next().expect("an entry").square().sum(),
            &map,
        );
        let wrong: BTreeMap<String, Vector<Concrete>> = [(name.clone(), tensor([1.0]))].into_iter().collect();
        let other: BTreeMap<String, Vector<Concrete>> = [(format!("{name}2"), x.clone())].into_iter().collect();
        let nan = first_nan(|m: &BTreeMap<String, Vector<_>>| m.values().next().expect("an entry").sqrt(), &map);
        let rule = |x: &Vector<_>, _: &Vector<_>, x_dot: &Vector<_>| x * 2.0 * x_dot;
        let failed = Function::stage(|x: &Vector<_>| x.check(&x.gt(0.0), name), &x);
        let unlinked = External::unlinked(name, vec![], vec![]);
        let texts = [
            program.to_string(),
            format!("{program:#}"),
            f.program().to_string(),
            f.explain(),
            Function::stage(|x: &Vector<_>| custom_jvp(name, |x: &Vector<_>| x * x, rule, x), &x).explain(),
            transcript(|x: &Vector<_>| custom_jvp(name, |x: &Vector<_>| x * x, rule, x), &x).1,
            f.run(&wrong).expect_err("another shape").to_string(),
            f.run(&other).expect_err("another key").to_string(),
            failed.run(&x).expect_err("a check fails").to_string(),
            nan.expect("a NaN").to_string(),
            unlinked.run(&[]).expect_err("it is only a name").to_string(),
            format!("{unlinked:?}"),
            SourceLine { file: name.clone(), line: 1, column: 1 }.to_string(),
        ];
        for text in texts {
            assert!(shows(&text), "{}", text.escape_debug());
            let first = |line: &str| line.trim_start().split(|c: char| !c.is_alphanumeric()).next() == Some("int");
            assert!(!text.lines().any(first), "a name has a line of its own in\n{text}");
        }
    }
}

#[test]
fn names_are_no_parts_of_pictures() {
    let names = hostile();
    let program = named(&names);
    let dot = program.to_dot();
    assert!(shows(&dot), "{}", dot.escape_debug());
    assert_drawn(&program, &dot);
    for name in &names {
        let map: BTreeMap<String, Vector<Concrete>> = [(name.clone(), tensor([1.0, 2.0]))].into_iter().collect();
        let rule = |x: &Vector<_>, _: &Vector<_>, x_dot: &Vector<_>| x.cos() * x_dot;
        let f = Function::stage(
            |m: &BTreeMap<String, Vector<Term>>| {
                custom_jvp(name, |x: &Vector<_>| x.sin(), rule, &m.values().next().expect("an entry").debug(name))
            },
            &map,
        );
        let path = std::env::temp_dir().join(format!("polygrad-names-{}.html", std::process::id()));
        f.report(&path).expect("the page is written");
        let html = fs::read_to_string(&path).expect("the page can be read");
        let _ = fs::remove_file(&path);
        assert!(page(&html).is_closed() && shows(&html), "{name:?}");
    }
}

#[test]
fn meshes_and_signatures_from_files_are_checked() {
    let mesh = |axes: Value| serde_json::from_value::<Mesh>(axes).map_err(|e| e.to_string());
    let batch = mesh(json!([["batch", 2]])).expect("a mesh");
    assert_eq!(serde_json::to_value(&batch).expect("it is saved"), json!([["batch", 2]]));
    for name in hostile().iter().filter(|name| name.contains(PLANTED)) {
        let error = mesh(json!([[name, 2]])).expect_err("a name is made of letters");
        assert!(error.contains("must consist of letters") && shows(&error), "{error}");
    }
    for (axes, words) in [
        (json!([["a", 2], ["a", 2]]), "must differ"),
        (json!([["a", 0]]), "at least 1"),
        (json!([["a", 4_000_000_000u64], ["b", 4_000_000_000u64]]), "numbered in 32 bits"),
    ] {
        let error = mesh(axes).expect_err("it is refused");
        assert!(error.contains(words), "{error}");
    }
    // A signature that says another type than the text has.
    let exported = Function::stage(|x: &Vector<_>| x * 2.0, &tensor([1.0, 2.0])).exported("f").expect("it is exported");
    let mut saved = serde_json::to_value(&exported.signature).expect("it is saved");
    saved["inputs"][0]["dtype"] = json!("f64>) { planted }");
    let signature: Signature = serde_json::from_value(saved).expect("a text is a text");
    let changed = Exported { text: exported.text, signature };
    let error = changed.sharded(&batch, &[("x", 0, "batch")]).expect_err("no type has this name");
    assert!(matches!(error, ShardingError::ElementType { .. }), "{error}");
}
