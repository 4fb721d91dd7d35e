//! Rust: safe code without the standard library, which allocates nothing.
//!
//! Law: no index leaves its array, so no check of an index remains in optimized code; integers wrap.

use std::fmt::Write as _;

use super::print::{Binding, Callee, CodePrinter, LoopHead, Spelling, Text, bound, elements};
use super::signature::{Field, Parameter, ParameterList};
use crate::backend::trees::tree::{ArrayKind, EmittedFunction, Literal};
use crate::dtype::DType;
use crate::escape;

/// Rust.
pub(super) struct Rust;

/// A float as a literal; `suffixed` if its type is not known from its context.
fn float(x: f64, text: String, ty: &str) -> Text {
    match () {
        () if x.is_nan() => (format!("{ty}::NAN"), Binding::Name),
        () if x == f64::INFINITY => (format!("{ty}::INFINITY"), Binding::Name),
        () if x == f64::NEG_INFINITY => (format!("{ty}::NEG_INFINITY"), Binding::Name),
        () if x.is_sign_negative() => (text, Binding::Prefix),
        () => (text, Binding::Name),
    }
}

impl Spelling for Rust {
    fn comment(&self, text: &str) -> String {
        escape::rust(text)
    }

    fn literal(&self, x: Literal) -> Text {
        match x {
            Literal::F64(x) => float(x, format!("{x:?}"), "f64"),
            Literal::F32(x) => float(x.into(), format!("{x:?}"), "f32"),
            Literal::I64(x) => (x.to_string(), if x < 0 { Binding::Prefix } else { Binding::Name }),
            Literal::Bool(x) => (x.to_string(), Binding::Name),
        }
    }

    fn callee(&self, callee: Callee) -> String {
        match callee {
            Callee::Math(name, DType::F32) => format!("math32::{name}"),
            Callee::Math(name, DType::F64 | DType::I64 | DType::Bool) => format!("math::{name}"),
            Callee::Int("min") => "core::cmp::min".into(),
            Callee::Int("max") => "core::cmp::max".into(),
            Callee::Int(name @ ("quot" | "rem" | "shl" | "shr" | "shr_signed" | "threefry")) => name.into(),
            Callee::Int(name) => format!("i64::wrapping_{name}"),
            Callee::ToInt(DType::F32) => "to_int_f32".into(),
            Callee::ToInt(DType::F64 | DType::I64 | DType::Bool) => "to_int".into(),
        }
    }

    fn absolute(&self, x: Text, dtype: DType) -> Text {
        (format!("{dtype}::abs({})", x.0), Binding::Name)
    }

    fn convert(&self, x: Text, from: DType, to: DType) -> Text {
        let text = match (from, to) {
            (DType::Bool, DType::I64) => format!("i64::from({})", x.0),
            (DType::Bool, to) => format!("{to}::from(u8::from({}))", x.0),
            (_, to) => format!("({} as {to})", bound(x, Binding::Prefix)),
        };
        (text, Binding::Name)
    }

    fn choice(&self, [condition, then, otherwise]: [Text; 3]) -> Text {
        (format!("if {} {{ {} }} else {{ {} }}", condition.0, then.0, otherwise.0), Binding::Choice)
    }

    fn position(&self, index: Text) -> Text {
        (format!("({} as i64)", bound(index, Binding::Prefix)), Binding::Name)
    }

    fn to_position(&self, x: Text) -> Text {
        (format!("{} as usize", bound(x, Binding::Prefix)), Binding::Choice)
    }

    fn declare(&self, name: &str, dtype: DType, value: &str, changes: bool) -> String {
        match changes {
            true => format!("let mut {name}: {dtype} = {value};"),
            false => format!("let {name}: {dtype} = {value};"),
        }
    }

    fn declare_position(&self, name: &str, value: &str, changes: bool) -> String {
        format!("let {}{name}: usize = {value};", if changes { "mut " } else { "" })
    }

    fn at_most(&self, position: Text, most: i64) -> String {
        format!("core::cmp::min({}, {most})", position.0)
    }

    fn for_head(&self, counter: &str, from: &str, to: &str, down: bool) -> LoopHead {
        let from = if from.contains(' ') { format!("({from})") } else { from.to_owned() };
        let to = if to.contains(' ') && !to.starts_with("core::") { format!("({to})") } else { to.to_owned() };
        match down {
            // A range in reverse would keep checks of indices.
            true => LoopHead {
                before: Some(format!("let mut {counter} = {to};")),
                head: format!("while {counter} > {from}"),
                first: Some(format!("{counter} -= 1;")),
            },
            false => LoopHead::line(format!("for {counter} in {from}..{to}")),
        }
    }

    fn loop_head(&self) -> &'static str {
        "loop"
    }

    fn if_head(&self, condition: &str) -> String {
        format!("if {condition}")
    }

    fn renamed(&self, names: [&str; 2], of: [&str; 2], dtype: DType, len: usize) -> Vec<String> {
        names.iter().zip(of).map(|(name, of)| format!("let mut {name}: &mut [{dtype}; {len}] = &mut {of};")).collect()
    }

    fn whole(&self, parameter: &str) -> String {
        format!("*{parameter}")
    }

    fn swap(&self, [a, b]: [&str; 2], _: DType) -> String {
        format!("core::mem::swap(&mut {a}, &mut {b});")
    }
}

/// The type of an input or output.
fn ty(port: &Parameter, changes: bool) -> String {
    match (port.number, changes) {
        (true, false) => port.dtype.to_string(),
        (true, true) => format!("&mut {}", port.dtype),
        (false, false) => format!("&[{}; {}]", port.dtype, port.len),
        (false, true) => format!("&mut [{}; {}]", port.dtype, port.len),
    }
}

/// A zero of an element type, as text.
fn zero(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 | DType::F32 => "0.0",
        DType::I64 => "0",
        DType::Bool => "false",
    }
}

/// Lints that do not apply to code that nobody writes.
const ALLOWED: &str = "#[allow(clippy::all, clippy::pedantic, unused_assignments, unused_comparisons, unused_mut, unused_parens, unused_variables)]";

/// The text of the function.
pub(super) fn text(
    name: &str,
    ports: &ParameterList,
    function: &EmittedFunction,
    scratch: &[Field],
    head: &[String],
) -> (String, Vec<Callee>) {
    let work = format!("{}Work", ports.type_name(name));
    let names = ports.array_names(function, |field| field, "C");
    let mut printer = CodePrinter::new(Rust, function, &names, if scratch.is_empty() { 1 } else { 2 });
    printer.block(&function.body);
    let (body, called) = (printer.text, printer.called);
    let mut text = String::new();
    head.iter().for_each(|line| _ = writeln!(text, "// {}", escape::rust(line)));
    if !scratch.is_empty() {
        let _ = writeln!(
            text,
            "\n/// Scratch memory of [`{name}`]: its contents before and after a call do not matter.\n#[derive(Clone, Debug)]"
        );
        let _ = writeln!(text, "pub struct {work} {{");
        scratch.iter().for_each(|(field, dtype, len)| _ = writeln!(text, "    {field}: [{dtype}; {len}],"));
        let _ = writeln!(text, "}}\n\nimpl {work} {{\n    /// Memory for calls, one after the other.");
        let _ = writeln!(text, "    pub const fn new() -> {work} {{\n        {work} {{");
        scratch
            .iter()
            .for_each(|(field, dtype, len)| _ = writeln!(text, "            {field}: [{}; {len}],", zero(*dtype)));
        let _ = writeln!(text, "        }}\n    }}\n}}\n\nimpl Default for {work} {{");
        let _ = writeln!(text, "    fn default() -> {work} {{\n        {work}::new()\n    }}\n}}");
    }
    let _ = writeln!(text);
    ports.doc().iter().for_each(|line| _ = writeln!(text, "/// {}", escape::rust(line)));
    let inputs = ports.inputs.iter().map(|port| (port.name.clone(), ty(port, false)));
    let mut parameters: Vec<(String, String)> = inputs.collect();
    parameters.extend(ports.outputs.iter().map(|port| (port.name.clone(), ty(port, true))));
    let head = |name: &str, parameters: &[(String, String)], indent: &str| {
        let all: Vec<String> = parameters.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        let line = format!("{indent}fn {name}({}) {{", all.join(", "));
        match line.len() {
            ..=115 => line,
            _ => format!("{indent}fn {name}(\n{indent}    {},\n{indent}) {{", all.join(&format!(",\n{indent}    "))),
        }
    };
    let _ = writeln!(text, "{ALLOWED}");
    let (mut end, mut indent) = ("}\n", "    ");
    if scratch.is_empty() {
        let _ = writeln!(text, "pub {}", head(name, &parameters, ""));
    } else {
        let outer: Vec<(String, String)> =
            parameters.iter().cloned().chain([("work".into(), format!("&mut {work}"))]).collect();
        let mut args: Vec<String> = parameters.iter().map(|(name, _)| name.clone()).collect();
        args.extend(scratch.iter().map(|(field, ..)| format!("&mut work.{field}")));
        parameters.extend(scratch.iter().map(|(field, dtype, len)| (field.clone(), format!("&mut [{dtype}; {len}]"))));
        let _ = writeln!(text, "pub {}", head(name, &outer, ""));
        // The compiler knows of arrays that are parameters that they do not overlap.
        let _ = writeln!(text, "    steps({});\n", args.join(", "));
        let _ = writeln!(text, "{}", head("steps", &parameters, "    "));
        (end, indent) = ("    }\n}\n", "        ");
    }
    let uses = |dtype: DType| called.iter().any(|callee| matches!(callee, Callee::Math(_, of) if *of == dtype));
    if uses(DType::F64) {
        let _ = writeln!(text, "{indent}use polygrad_math::f64 as math;");
    }
    if uses(DType::F32) {
        let _ = writeln!(text, "{indent}use polygrad_math::f32 as math32;");
    }
    for callee in &called {
        let helper = match callee {
            Callee::Int("quot") => {
                "fn quot(x: i64, y: i64) -> i64 {\n    if y == 0 { x } else { x.wrapping_div(y) }\n}"
            }
            Callee::Int("rem") => "fn rem(x: i64, y: i64) -> i64 {\n    if y == 0 { x } else { x.wrapping_rem(y) }\n}",
            Callee::Int("shl") => {
                "fn shl(x: i64, y: i64) -> i64 {\n    if (0..64).contains(&y) { x << y } else { 0 }\n}"
            }
            Callee::Int("shr") => {
                "fn shr(x: i64, y: i64) -> i64 {\n    if (0..64).contains(&y) { (x as u64 >> y) as i64 } else { 0 }\n}"
            }
            Callee::Int("shr_signed") => {
                "fn shr_signed(x: i64, y: i64) -> i64 {\n    x >> if (0..64).contains(&y) { y } else { 63 }\n}"
            }
            Callee::Int("threefry") => "use polygrad_math::threefry;",
            Callee::ToInt(DType::F64) => "fn to_int(x: f64) -> i64 {\n    x as i64\n}",
            Callee::ToInt(DType::F32) => "fn to_int_f32(x: f32) -> i64 {\n    x as i64\n}",
            Callee::Int(_) | Callee::Math(..) | Callee::ToInt(_) => continue,
        };
        let _ = writeln!(text, "{indent}{}", helper.replace('\n', &format!("\n{indent}")));
    }
    let used = crate::backend::trees::simplify::mentioned(&function.body);
    for ((id, info), name) in (0..).zip(&function.arrays).zip(&names) {
        let (dtype, len) = (info.dtype, info.len);
        match &info.kind {
            ArrayKind::Constant(array) if used.contains(&id) => {
                let _ = writeln!(
                    text,
                    "{indent}static {name}: [{dtype}; {len}] = [\n{indent}    {},\n{indent}];",
                    elements(&Rust, array, indent)
                );
            }
            ArrayKind::Stack if used.contains(&id) => {
                let _ = writeln!(text, "{indent}let mut {name} = [{}{}; {len}];", zero(dtype), suffix(dtype));
            }
            ArrayKind::Constant(_) | ArrayKind::Stack | ArrayKind::Input(_) | ArrayKind::Output(_) => {}
            ArrayKind::Scratch | ArrayKind::Name => {}
        }
    }
    text.push_str(&body);
    text.push_str(end);
    (text, called.into_iter().collect())
}

/// What follows a zero whose type is not known from its context.
fn suffix(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "_f64",
        DType::F32 => "_f32",
        DType::I64 => "_i64",
        DType::Bool => "",
    }
}
