//! The parameters of an emitted function: the leaves of arguments, data and results, by name.

use std::collections::BTreeSet;

use super::tree::{ArrayKind, EmittedFunction};
use crate::dtype::DType;
use crate::export::Signature;
use crate::program::Program;
use crate::shape::{Show, size};

/// A parameter.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    /// What it is: its path in the program, and its shape.
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

/// Words that Rust, C or C++ keep for themselves, and names in emitted code.
const RESERVED: &[&str] = &[
    "abstract",
    "alignas",
    "alignof",
    "and",
    "as",
    "asm",
    "async",
    "auto",
    "await",
    "become",
    "bool",
    "box",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "concept",
    "const",
    "continue",
    "core",
    "crate",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dyn",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "f32",
    "f64",
    "false",
    "float",
    "fn",
    "for",
    "friend",
    "gen",
    "goto",
    "i64",
    "if",
    "impl",
    "in",
    "inline",
    "int",
    "let",
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
    "not",
    "nullptr",
    "operator",
    "or",
    "override",
    "priv",
    "private",
    "protected",
    "pub",
    "public",
    "quot",
    "ref",
    "register",
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
    "sizeof",
    "static",
    "steps",
    "struct",
    "super",
    "swapped",
    "switch",
    "template",
    "this",
    "threefry",
    "throw",
    "to_int",
    "to_int_f32",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "typename",
    "typeof",
    "union",
    "unsafe",
    "unsigned",
    "unsized",
    "use",
    "using",
    "usize",
    "virtual",
    "void",
    "volatile",
    "where",
    "while",
    "work",
    "xor",
    "yield",
];

/// Whether a name may be that of a counter or of a variable of the text.
fn is_taken(name: &str) -> bool {
    let numbered = |prefix: &[char]| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
    };
    let counter = matches!(name, "i" | "j" | "k" | "l" | "m" | "n");
    counter || numbered(&['v', 'p', 's', 'r', 'c', 'C', 'i']) || RESERVED.contains(&name)
}

/// Whether a name is one that both languages allow.
pub(super) fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_');
    first && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') && !RESERVED.contains(&name)
}

/// A path as a name: its last parts, if these name it alone.
fn name(path: &str, all: &[&str], taken: &BTreeSet<String>) -> String {
    let plain = |text: &str| -> String {
        let text: String =
            text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
        text.trim_matches('_').to_owned()
    };
    // The root of a path says whether the leaf is of the argument, of the data or of the result.
    let rest = path.split_once('.').map_or(path, |(_, rest)| rest);
    let named = rest.starts_with(|c: char| c.is_ascii_alphabetic());
    let alone = all.iter().filter(|other| other.split_once('.').map_or(**other, |(_, rest)| rest) == rest).count() == 1;
    let mut found = if named && alone { plain(rest) } else { plain(path) };
    if found.is_empty() || found.starts_with(|c: char| c.is_ascii_digit()) {
        found.insert(0, '_');
    }
    while is_taken(&found) || taken.contains(&found) {
        found.push('_');
    }
    found
}

impl ParameterList {
    /// The parameters of a program with this signature.
    pub(super) fn new(program: &Program, signature: &Signature) -> ParameterList {
        let paths: Vec<&str> = signature.inputs.iter().chain(&signature.outputs).map(|port| &port.path[..]).collect();
        let slots: Vec<_> = program.inputs().iter().chain(program.outputs()).collect();
        let mut taken = BTreeSet::new();
        let mut ports = Vec::new();
        for (path, slot) in paths.iter().zip(slots) {
            let name = name(path, &paths, &taken);
            taken.insert(name.clone());
            let about = match &slot.shape[..] {
                [] => format!("`{path}`"),
                shape => format!("`{path}`, {}", Show(shape)),
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

    /// What the parameters are, a line for each.
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
        let name = |(id, info): (usize, &super::tree::ArrayInfo)| match info.kind {
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
    let used = super::simplify::mentioned(&function.body);
    let mut fields: Vec<Field> = (0..)
        .zip(&function.arrays)
        .filter(|(id, info)| matches!(info.kind, ArrayKind::Scratch) && used.contains(id))
        .map(|(id, info)| (format!("s{id}"), info.dtype, info.len))
        .collect();
    fields.sort_by_key(|(_, dtype, _)| std::cmp::Reverse(dtype.width()));
    fields
}
