//! The header declares what is exported: the same names, the same arguments in the same order, of the same types.

use std::fs;
use std::path::Path;

/// A function: its name, and the type and name of each argument, with the type of the result first.
type Signature = (String, Vec<(String, String)>);

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file of this crate")
}

/// A text in which each run of spaces is one.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The header without comments and lines for the preprocessor.
fn declarations(header: &str) -> String {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once("/*") {
        code += before;
        rest = after.split_once("*/").expect("a comment that ends").1;
    }
    code += rest;
    joined(&code.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"))
}

/// The functions of the header.
fn declared(header: &str) -> Vec<Signature> {
    let argument = |text: &str| -> (String, String) {
        let (ty, name) = text.trim().rsplit_once([' ', '*']).expect("a type and a name");
        let pointers = if text.contains("* ") || !text.contains('*') { 0 } else { text.matches('*').count() };
        (format!("{}{}", ty.trim_end_matches('*').trim(), "*".repeat(pointers)), name.to_owned())
    };
    let code = declarations(header);
    let functions = code.split(';').filter_map(|text| {
        let (head, arguments) = text.trim().split_once('(')?;
        let (result, name) = argument(head.rsplit_once(['{', '}']).map_or(head, |(_, head)| head));
        let arguments = arguments.trim_end_matches(')').split(',').filter(|text| text.trim() != "void").map(argument);
        Some((name, [(result, String::new())].into_iter().chain(arguments).collect()))
    });
    functions.filter(|(name, _): &Signature| name.starts_with("pg_")).collect()
}

/// The C type of a type in Rust.
fn c_type(ty: &str) -> &'static str {
    match ty {
        "Status" => "pg_status",
        "()" => "void",
        "usize" => "size_t",
        "*mut usize" => "size_t*",
        "*const usize" => "const size_t*",
        "*const c_char" => "const char*",
        "*mut c_char" => "char*",
        "*mut *mut c_char" => "char**",
        "*const f64" => "const double*",
        "*mut f64" => "double*",
        "*const f32" => "const float*",
        "*mut f32" => "float*",
        "*const Handle" => "const pg_function*",
        "*mut Handle" => "pg_function*",
        "*mut *mut Handle" => "pg_function**",
        "*const LentArray" => "const pg_array*",
        "*mut SlotView" => "pg_slot*",
        "*mut PatternView" => "pg_pattern*",
        other => panic!("give the type {other} its type in C"),
    }
}

/// The functions that are exported.
fn exported(source: &str) -> Vec<Signature> {
    let code = joined(&source.lines().filter(|line| !line.trim().starts_with("//")).collect::<Vec<_>>().join("\n"));
    let signature = |name: &str, rest: &str| -> Signature {
        let (arguments, rest) = rest.split_once(')').expect("arguments that end");
        let result = rest.trim().strip_prefix("-> ").map_or("()", |rest| rest.split('{').next().unwrap_or("").trim());
        let mut all = vec![(c_type(result).to_owned(), String::new())];
        for argument in arguments.split(',').filter(|text| !text.trim().is_empty()) {
            let (name, ty) = argument.trim().split_once(": ").expect("a name and a type");
            all.push((c_type(ty).to_owned(), name.to_owned()));
        }
        (name.to_owned(), all)
    };
    let mut found = Vec::new();
    for text in code.split("extern \"C\" fn ").skip(1) {
        let (name, rest) = text.split_once('(').expect("arguments");
        if name != "$name" {
            found.push(signature(name, rest));
            continue;
        }
        // The entry points of derivatives are the rows of a macro.
        let rows = code.split("derivatives! {").nth(1).and_then(|rest| rest.split('}').next()).expect("rows");
        let names = rows.split(';').filter_map(|row| Some(row.split_once(" => ")?.0.trim()));
        found.extend(names.map(|name| signature(name, rest)));
    }
    found
}

#[test]
fn the_header_declares_what_is_exported() {
    let (mut declared, mut exported) = (declared(&read("include/polygrad.h")), exported(&read("src/functions.rs")));
    declared.sort();
    exported.sort();
    let names = |all: &[Signature]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&declared), names(&exported));
    for (declared, exported) in declared.iter().zip(&exported) {
        assert_eq!(declared, exported, "{}", exported.0);
    }
    assert!(exported.len() > 30, "{} functions", exported.len());
}

#[test]
fn declarations_are_read() {
    let one = declared(
        "typedef struct a { int b; } a;\n/* f(x) */ pg_status pg_f(const a *x, char **y,\n size_t n);\nvoid pg_g(void);",
    );
    let of = |all: &[(&str, &str)]| all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>();
    let f = of(&[("pg_status", ""), ("const a*", "x"), ("char**", "y"), ("size_t", "n")]);
    assert_eq!(one, [("pg_f".to_owned(), f), ("pg_g".to_owned(), of(&[("void", "")]))]);
}
