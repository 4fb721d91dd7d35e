//! C: C99 without global state.
//!
//! Law: no operator has a result that the standard leaves undefined: integers wrap, shifts and indices stay in range.
//!
//! gcc 12.2 computes wrong numbers where it vectorizes choices between numbers in loops: 36 of 270 elements of a
//! Hessian at `-O3` with AVX-512, 10 of 1500 random nests of loops over choices at `-O3`, 2 of 1500 at `-O2`. It is
//! wrong without AVX-512, too, so other instructions do not help. Where choices stay branches
//! (`no-tree-loop-if-convert`), 0 of 3300 are wrong at both levels, so the emitted C asks gcc for that. The price is
//! that gcc vectorizes no loop with a choice: an elementwise exponential of 16384 numbers takes 41 us instead of 12,
//! guarded products 40 instead of 4, sums and matrix products as long as before. Of two statements that round to `float` and
//! back it makes a vector without the rounding, so it must make no vectors of statements either. clang 14 is right, and vectorizes. 561
//! random programs and gradients agree with a run, by gcc and clang at `-O2` and `-O3` (`POLYGRAD_FUZZ=288`,
//! `tests/random/emitted.rs`, without AVX-512).

use std::fmt::Write as _;

use super::print::{Binding, Callee, CodePrinter, LoopHead, Spelling, Text, bound, elements};
use super::signature::{Field, Parameter, ParameterList};
use crate::backend::trees::tree::{ArrayKind, EmittedFunction, Literal};
use crate::dtype::DType;
use crate::escape;

/// C99.
pub(super) struct C;

/// The name of an element type.
pub(super) fn type_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "double",
        DType::F32 => "float",
        DType::I64 => "int64_t",
        DType::Bool => "bool",
    }
}

/// A float as a literal.
fn float(x: f64, text: &str, suffix: &str) -> Text {
    let cast = if suffix.is_empty() { "double" } else { "float" };
    match () {
        () if x.is_nan() => (format!("({cast})NAN"), Binding::Prefix),
        () if x == f64::INFINITY => (format!("({cast})INFINITY"), Binding::Prefix),
        () if x == f64::NEG_INFINITY => (format!("-({cast})INFINITY"), Binding::Prefix),
        () => (format!("{text}{suffix}"), if x.is_sign_negative() { Binding::Prefix } else { Binding::Name }),
    }
}

impl Spelling for C {
    fn comment(&self, text: &str) -> String {
        escape::c(text)
    }

    fn literal(&self, x: Literal) -> Text {
        match x {
            Literal::F64(x) => float(x, &format!("{x:?}"), ""),
            Literal::F32(x) => float(x.into(), &format!("{x:?}"), "f"),
            Literal::I64(i64::MIN) => ("INT64_MIN".into(), Binding::Name),
            Literal::I64(x) if i32::try_from(x).is_err() => (format!("INT64_C({x})"), Binding::Prefix),
            Literal::I64(x) => (x.to_string(), if x < 0 { Binding::Prefix } else { Binding::Name }),
            Literal::Bool(x) => (x.to_string(), Binding::Name),
        }
    }

    fn callee(&self, callee: Callee) -> String {
        match callee {
            Callee::Math("sqrt", DType::F64) => "sqrt".into(),
            Callee::Math("sqrt", DType::F32) => "sqrtf".into(),
            Callee::Math(name, DType::F32) => format!("polygrad_{name}f"),
            Callee::Math(name, DType::F64 | DType::I64 | DType::Bool) => format!("polygrad_{name}"),
            Callee::Int(name) => format!("polygrad_int_{name}"),
            Callee::ToInt(_) => "polygrad_to_int".into(),
        }
    }

    fn absolute(&self, x: Text, dtype: DType) -> Text {
        let name = if dtype == DType::F32 { "fabsf" } else { "fabs" };
        (format!("{name}({})", x.0), Binding::Name)
    }

    fn convert(&self, x: Text, _: DType, to: DType) -> Text {
        (format!("({}){}", type_name(to), bound(x, Binding::Name)), Binding::Prefix)
    }

    fn choice(&self, [condition, then, otherwise]: [Text; 3]) -> Text {
        let part = |text: Text| bound(text, Binding::Or);
        (format!("{} ? {} : {}", part(condition), part(then), part(otherwise)), Binding::Choice)
    }

    fn mask(&self, x: Text) -> Text {
        (format!("(int){}", bound(x, Binding::Name)), Binding::Prefix)
    }

    fn position(&self, index: Text) -> Text {
        (format!("(int64_t){}", bound(index, Binding::Name)), Binding::Prefix)
    }

    fn to_position(&self, x: Text) -> Text {
        (format!("(size_t){}", bound(x, Binding::Name)), Binding::Prefix)
    }

    fn declare(&self, name: &str, dtype: DType, value: &str, changes: bool) -> String {
        let keeps = if changes { "" } else { "const " };
        format!("{keeps}{} {name} = {value};", type_name(dtype))
    }

    fn declare_position(&self, name: &str, value: &str, changes: bool) -> String {
        format!("{}size_t {name} = {value};", if changes { "" } else { "const " })
    }

    fn for_head(&self, counter: &str, from: &str, to: &str, down: bool) -> LoopHead {
        match down {
            true => LoopHead::line(format!("for (size_t {counter} = {to}; {counter}-- > {from};)")),
            false => LoopHead::line(format!("for (size_t {counter} = {from}; {counter} < {to}; {counter}++)")),
        }
    }

    fn loop_head(&self) -> &'static str {
        "for (;;)"
    }

    fn if_head(&self, condition: &str) -> String {
        format!("if ({condition})")
    }

    fn renamed(&self, names: [&str; 2], of: [&str; 2], dtype: DType, _: usize) -> Vec<String> {
        names.iter().zip(of).map(|(name, of)| format!("{} *{name} = {of};", type_name(dtype))).collect()
    }

    fn whole(&self, parameter: &str) -> String {
        parameter.into()
    }

    fn swap(&self, [a, b]: [&str; 2], dtype: DType) -> String {
        let ty = type_name(dtype);
        format!("{{ {ty} *const swapped = {a}; {a} = {b}; {b} = swapped; }}")
    }
}

/// gcc 12 computes wrong numbers where it vectorizes choices in loops, and pairs of roundings, with every set of vector
/// instructions: it must not make masks of choices, nor vectors of statements.
const SAFE: &str = "\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize(\"no-tree-loop-if-convert\", \"no-tree-slp-vectorize\")
#endif
";

/// The operations on integers and conversions, by name.
const HELPERS: [(Callee, &str); 14] = [
    (
        Callee::Int("abs"),
        "static inline int64_t polygrad_int_abs(int64_t x) { return x < 0 ? (int64_t)(0 - (uint64_t)x) : x; }",
    ),
    (
        Callee::Int("add"),
        "static inline int64_t polygrad_int_add(int64_t x, int64_t y) { return (int64_t)((uint64_t)x + (uint64_t)y); }",
    ),
    (Callee::Int("max"), "static inline int64_t polygrad_int_max(int64_t x, int64_t y) { return x > y ? x : y; }"),
    (Callee::Int("min"), "static inline int64_t polygrad_int_min(int64_t x, int64_t y) { return x < y ? x : y; }"),
    (
        Callee::Int("mul"),
        "static inline int64_t polygrad_int_mul(int64_t x, int64_t y) { return (int64_t)((uint64_t)x * (uint64_t)y); }",
    ),
    (Callee::Int("neg"), "static inline int64_t polygrad_int_neg(int64_t x) { return (int64_t)(0 - (uint64_t)x); }"),
    (
        Callee::Int("quot"),
        "static inline int64_t polygrad_int_quot(int64_t x, int64_t y) { return y == 0 ? x : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y; }",
    ),
    (
        Callee::Int("rem"),
        "static inline int64_t polygrad_int_rem(int64_t x, int64_t y) { return y == 0 ? x : y == -1 ? 0 : x % y; }",
    ),
    (
        Callee::Int("shl"),
        "static inline int64_t polygrad_int_shl(int64_t x, int64_t y) { return (uint64_t)y < 64 ? (int64_t)((uint64_t)x << y) : 0; }",
    ),
    (
        Callee::Int("shr"),
        "static inline int64_t polygrad_int_shr(int64_t x, int64_t y) { return (uint64_t)y < 64 ? (int64_t)((uint64_t)x >> y) : 0; }",
    ),
    (
        Callee::Int("shr_signed"),
        "static inline int64_t polygrad_int_shr_signed(int64_t x, int64_t y) {\n    \
         const int64_t places = (uint64_t)y < 64 ? y : 63;\n    \
         return x < 0 ? (int64_t)~(~(uint64_t)x >> places) : (int64_t)((uint64_t)x >> places);\n}",
    ),
    (
        Callee::Int("threefry"),
        "static inline int64_t polygrad_int_threefry(int64_t key, int64_t counter) {\n    \
         return (int64_t)polygrad_threefry((uint64_t)key, (uint64_t)counter);\n}",
    ),
    (
        Callee::Int("sub"),
        "static inline int64_t polygrad_int_sub(int64_t x, int64_t y) { return (int64_t)((uint64_t)x - (uint64_t)y); }",
    ),
    (
        Callee::ToInt(DType::F64),
        "static inline int64_t polygrad_to_int(double x) {\n    \
         return x != x ? 0 : x >= 9223372036854775808.0 ? INT64_MAX : x <= -9223372036854775808.0 ? INT64_MIN : (int64_t)x;\n}",
    ),
];

/// Whether a helper is one of the called functions; a `float` is converted to an integer as `double`.
fn needed(helper: &Callee, called: &[Callee]) -> bool {
    called.iter().any(|callee| callee == helper || matches!((helper, callee), (Callee::ToInt(_), Callee::ToInt(_))))
}

/// The declaration of a parameter.
fn parameter(port: &Parameter, changes: bool, restrict: &str) -> String {
    let ty = type_name(port.dtype);
    match (port.number, changes) {
        (true, false) => format!("{ty} {}", port.name),
        (_, true) => format!("{ty} *{restrict}{}", port.name),
        (false, false) => format!("const {ty} *{restrict}{}", port.name),
    }
}

/// The head of the function.
fn prototype(name: &str, ports: &ParameterList, has_work: bool, restrict: &str) -> String {
    let mut parameters: Vec<String> = ports.inputs.iter().map(|port| parameter(port, false, restrict)).collect();
    parameters.extend(ports.outputs.iter().map(|port| parameter(port, true, restrict)));
    if has_work {
        parameters.push(format!("{name}_work *{restrict}work"));
    }
    if parameters.is_empty() {
        parameters.push("void".into());
    }
    let line = format!("void {name}({})", parameters.join(", "));
    if line.len() <= 110 { line } else { format!("void {name}(\n    {})", parameters.join(",\n    ")) }
}

/// The header of the function.
pub(super) fn header(name: &str, ports: &ParameterList, scratch: &[Field], head: &[String]) -> String {
    let guard = format!("{}_H", name.to_uppercase());
    let mut text = String::new();
    head.iter().for_each(|line| _ = writeln!(text, "// {}", escape::c(line)));
    let _ = writeln!(text, "\n#ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n#include <stdint.h>\n");
    let _ = writeln!(text, "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n");
    if !scratch.is_empty() {
        let _ = writeln!(text, "// Scratch memory of `{name}`: its contents before and after a call do not matter.");
        let _ = writeln!(text, "typedef struct {name}_work {{");
        scratch.iter().for_each(|(field, dtype, len)| _ = writeln!(text, "    {} {field}[{len}];", type_name(*dtype)));
        let _ = writeln!(text, "}} {name}_work;\n");
    }
    ports.doc().iter().for_each(|line| _ = writeln!(text, "// {}", escape::c(line)));
    let _ = writeln!(text, "// No two of the arrays may overlap.");
    let _ = writeln!(text, "{};", prototype(name, ports, !scratch.is_empty(), ""));
    let _ = writeln!(text, "\n#ifdef __cplusplus\n}}\n#endif\n\n#endif");
    text
}

/// The text of the function; its header has the name `{name}.h`.
pub(super) fn text(
    name: &str,
    ports: &ParameterList,
    function: &EmittedFunction,
    has_work: bool,
    head: &[String],
) -> String {
    let names = ports.array_names(function, |field| format!("work->{field}"), "c");
    let mut printer = CodePrinter::new(C, function, &names, 1);
    printer.block(&function.body);
    let (body, called) = (printer.text, printer.called.into_iter().collect::<Vec<_>>());
    let mut text = String::new();
    head.iter().for_each(|line| _ = writeln!(text, "// {}", escape::c(line)));
    let _ = writeln!(text, "\n{SAFE}\n#include \"{name}.h\"\n\n#include <stddef.h>\n");
    let rows = called.iter().filter_map(|callee| match callee {
        Callee::Int("threefry") => Some(("threefry", false)),
        Callee::Math("sqrt", _) | Callee::Int(_) | Callee::ToInt(_) => None,
        Callee::Math(name, dtype) => Some((*name, *dtype == DType::F32)),
    });
    let _ = writeln!(text, "{}\n", super::c_math::functions(rows).trim_end());
    HELPERS
        .iter()
        .filter(|(callee, _)| needed(callee, &called))
        .for_each(|(_, helper)| _ = writeln!(text, "{helper}\n"));
    let used = crate::backend::trees::simplify::mentioned(&function.body);
    for ((id, info), name) in (0..).zip(&function.arrays).zip(&names) {
        if let ArrayKind::Constant(array) = &info.kind
            && used.contains(&id)
        {
            let ty = type_name(info.dtype);
            let _ =
                writeln!(text, "static const {ty} {name}[{}] = {{\n    {},\n}};\n", info.len, elements(&C, array, ""));
        }
    }
    let _ = writeln!(text, "{}\n{{", prototype(name, ports, has_work, "restrict "));
    for ((id, info), name) in (0..).zip(&function.arrays).zip(&names) {
        match info.kind {
            ArrayKind::Stack if used.contains(&id) => {
                let _ = writeln!(text, "    {} {name}[{}];", type_name(info.dtype), info.len);
            }
            ArrayKind::Input(_) | ArrayKind::Output(_) if !used.contains(&id) => {
                _ = writeln!(text, "    (void){name};")
            }
            ArrayKind::Stack | ArrayKind::Input(_) | ArrayKind::Output(_) | ArrayKind::Constant(_) => {}
            ArrayKind::Scratch | ArrayKind::Name => {}
        }
    }
    text.push_str(&body);
    text.push_str("}\n");
    text
}

/// A function `{name}_entry` in C that calls the function of a program, given the addresses of its parameters.
#[cfg(feature = "native")]
pub(super) fn entry(program: &crate::program::Program, signature: &crate::export::Signature, has_work: bool) -> String {
    let ports = ParameterList::new(program, signature);
    let name = &signature.name;
    let mut args: Vec<String> = Vec::new();
    for (k, port) in ports.inputs.iter().enumerate() {
        let ty = type_name(port.dtype);
        args.push(if port.number {
            format!("*(const {ty} *)inputs[{k}]")
        } else {
            format!("(const {ty} *)inputs[{k}]")
        });
    }
    args.extend(ports.outputs.iter().enumerate().map(|(k, port)| format!("({} *)outputs[{k}]", type_name(port.dtype))));
    if has_work {
        args.push(format!("({name}_work *)work"));
    }
    format!(
        "void {name}_entry(const void *const *inputs, void *const *outputs, void *work);\n\n\
         void {name}_entry(const void *const *inputs, void *const *outputs, void *work)\n{{\n    \
         (void)inputs;\n    (void)outputs;\n    (void)work;\n    {name}({});\n}}\n",
        args.join(", ")
    )
}
