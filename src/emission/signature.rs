//! The parameters of an emitted function: the leaves of arguments, data and results, by name.

use std::collections::{BTreeMap, BTreeSet};

use crate::backend::trees::tree::{ArrayKind, EmittedFunction};
use crate::dtype::DType;
use crate::escape;
use crate::export::Signature;
use crate::program::Program;
use crate::shape::{Show, size};

/// A parameter.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// Its description: its path in the program, and its shape.
    pub(super) about: String,
    pub(super) dtype: DType,
    pub(super) len: usize,
    /// Whether it is one number.
    pub(super) number: bool,
}

/// The parameters of a function.
#[derive(Clone, Debug)]
pub(super) struct ParameterList {
    pub(super) inputs: Vec<Parameter>,
    pub(super) outputs: Vec<Parameter>,
}

/// Words that Rust, C or C++ keep for themselves, macros of compilers, and names in emitted code.
const RESERVED: &[&str] = &[
    "abstract",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "as",
    "asm",
    "async",
    "auto",
    "await",
    "become",
    "bitand",
    "bitor",
    "bool",
    "box",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "core",
    "crate",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dyn",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "f32",
    "f64",
    "fabs",
    "fabsf",
    "false",
    "final",
    "float",
    "fn",
    "for",
    "friend",
    "gen",
    "goto",
    "i386",
    "i64",
    "if",
    "impl",
    "in",
    "inline",
    "int",
    "int64_t",
    "let",
    "linux",
    "long",
    "loop",
    "macro",
    "main",
    "match",
    "math",
    "math32",
    "mod",
    "move",
    "mut",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "override",
    "priv",
    "private",
    "protected",
    "pub",
    "public",
    "quot",
    "ref",
    "register",
    "reinterpret_cast",
    "rem",
    "requires",
    "restrict",
    "return",
    "self",
    "shl",
    "short",
    "shr",
    "shr_signed",
    "signed",
    "size_t",
    "sizeof",
    "sqrt",
    "sqrtf",
    "static",
    "static_assert",
    "static_cast",
    "steps",
    "struct",
    "super",
    "swapped",
    "switch",
    "template",
    "this",
    "thread_local",
    "threefry",
    "throw",
    "to_int",
    "to_int_f32",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "uint32_t",
    "uint64_t",
    "union",
    "unix",
    "unsafe",
    "unsigned",
    "unsized",
    "use",
    "using",
    "usize",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "where",
    "while",
    "work",
    "xor",
    "xor_eq",
    "yield",
];

/// Whether a name may be that of a counter or of a variable of the text.
fn is_taken(name: &str) -> bool {
    let numbered = |prefix: &[char]| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
    };
    let counter = matches!(name, "i" | "j" | "k" | "l" | "m" | "n" | "_");
    counter
        || name.starts_with("polygrad_")
        || numbered(&['v', 'p', 's', 'r', 'c', 'C', 'i'])
        || RESERVED.contains(&name)
}

/// Whether a name is one that both languages allow.
pub(super) fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_');
    first && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') && !RESERVED.contains(&name)
}

/// The longest name: C distinguishes as many characters.
const LONGEST: usize = 63;

/// A text as a name of lower-case letters, digits and single underscores, of bounded length.
fn plain(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        match c.is_ascii_alphanumeric() {
            true => name.push(c.to_ascii_lowercase()),
            false if name.is_empty() || name.ends_with('_') => {}
            false => name.push('_'),
        }
        if name.len() == LONGEST - 15 {
            break;
        }
    }
    name.truncate(name.trim_end_matches('_').len());
    name
}

/// A path without its root, which says whether the leaf is of the argument, of the data or of the result.
fn below_root(path: &str) -> &str {
    path.split_once('.').map_or(path, |(_, rest)| rest)
}

/// The names of parameters.
#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
    /// The last number that was appended to a name.
    appended: BTreeMap<String, usize>,
}

impl Names {
    /// A path as a name: its last parts, if these name it `alone`.
    fn of(&mut self, path: &str, alone: bool) -> String {
        let rest = below_root(path);
        let named = rest.starts_with(|c: char| c.is_ascii_alphabetic());
        let mut name = if named && alone { plain(rest) } else { plain(path) };
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            name.insert(0, '_');
        }
        while is_taken(&name) {
            name.push('_');
        }
        if self.taken.contains(&name) {
            let base = name.clone() + "_";
            name.clone_from(&base);
            let number = self.appended.entry(base.clone()).or_insert(1);
            while self.taken.contains(&name) || is_taken(&name) {
                *number += 1;
                name = format!("{base}{number}");
            }
        }
        self.taken.insert(name.clone());
        name
    }
}

impl ParameterList {
    /// The parameters of a program with this signature.
    pub(super) fn new(program: &Program, signature: &Signature) -> ParameterList {
        let paths: Vec<&str> = signature.inputs.iter().chain(&signature.outputs).map(|port| &port.path[..]).collect();
        let slots: Vec<_> = program.inputs().iter().chain(program.outputs()).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        paths.iter().for_each(|path| *counts.entry(below_root(path)).or_default() += 1);
        let mut names = Names::default();
        let mut ports = Vec::new();
        for (path, slot) in paths.iter().zip(slots) {
            let name = names.of(path, counts[below_root(path)] == 1);
            let about = match &slot.shape[..] {
                [] => escape::quoted(path),
                shape => format!("{}, {}", escape::quoted(path), Show(shape)),
            };
            ports.push(Parameter {
                name,
                about,
                dtype: slot.dtype,
                len: size(&slot.shape),
                number: slot.shape.is_empty(),
            });
        }
        let outputs = ports.split_off(program.inputs().len());
        ParameterList { inputs: ports, outputs }
    }

    /// The parameters, a line for each.
    pub(super) fn doc(&self) -> Vec<String> {
        let line = |role: &str, port: &Parameter| format!("* `{}`: {role} {}", port.name, port.about);
        let inputs = self.inputs.iter().map(|port| line("input", port));
        inputs.chain(self.outputs.iter().map(|port| line("output", port))).collect()
    }

    /// The name of a type that belongs to a function.
    pub(super) fn type_name(&self, function: &str) -> String {
        let capital = |word: &str| {
            let mut chars = word.chars();
            chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
        };
        function.split('_').map(capital).collect()
    }

    /// The names of the arrays of a function. An output that is one number is behind a pointer.
    pub(super) fn array_names(
        &self,
        function: &EmittedFunction,
        field: impl Fn(String) -> String,
        constant: &str,
    ) -> Vec<String> {
        let name = |(id, info): (usize, &crate::backend::trees::tree::ArrayInfo)| match info.kind {
            ArrayKind::Input(k) => self.inputs[k].name.clone(),
            ArrayKind::Output(k) if info.number => format!("*{}", self.outputs[k].name),
            ArrayKind::Output(k) => self.outputs[k].name.clone(),
            ArrayKind::Constant(_) => format!("{constant}{id}"),
            ArrayKind::Stack => format!("s{id}"),
            ArrayKind::Scratch => field(format!("s{id}")),
            ArrayKind::Name => format!("r{id}"),
        };
        function.arrays.iter().enumerate().map(name).collect()
    }
}

/// A field of the scratch: name, element type and length.
pub(super) type Field = (String, DType, usize);

/// The fields of the scratch; wide elements first, so that nothing lies between them.
pub(super) fn scratch(function: &EmittedFunction) -> Vec<Field> {
    let used = crate::backend::trees::simplify::mentioned(&function.body);
    let mut fields: Vec<Field> = (0..)
        .zip(&function.arrays)
        .filter(|(id, info)| matches!(info.kind, ArrayKind::Scratch) && used.contains(id))
        .map(|(id, info)| (format!("s{id}"), info.dtype, info.len))
        .collect();
    fields.sort_by_key(|(_, dtype, _)| std::cmp::Reverse(dtype.width()));
    fields
}
