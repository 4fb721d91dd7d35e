//! The types of a program's inputs, parsed from its text, by which arguments are checked before a run.
//!
//! Plugins differ in their behaviour for arguments of wrong types, so the check is made here.
//!
//! Law: an input of an element type that arrays do not have is not checked, and neither is a program whose text is not
//! of the form `func.func public @main(%x: tensor<..>, ..)`.

use crate::dtype::DType;

/// The type of an input, as StableHLO text and parsed.
#[derive(Debug, PartialEq)]
pub(super) struct Input {
    /// The type in the text.
    pub(super) text: String,
    /// Shape and element type; `None` if arrays do not have the element type.
    pub(super) kind: Option<(Vec<usize>, DType)>,
}

/// The StableHLO name of an element type.
fn spelled(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "f64",
        DType::F32 => "f32",
        DType::I64 => "i64",
        DType::Bool => "i1",
    }
}

/// The StableHLO text of the type of an array.
pub(super) fn written(shape: &[usize], dtype: DType) -> String {
    let sizes: String = shape.iter().map(|n| format!("{n}x")).collect();
    format!("tensor<{sizes}{}>", spelled(dtype))
}

fn parsed(text: &str) -> Option<(Vec<usize>, DType)> {
    let inside = text.strip_prefix("tensor<")?.strip_suffix('>')?;
    let mut parts = inside.split('x').collect::<Vec<&str>>();
    let element = parts.pop()?;
    let dtype = DType::ALL.into_iter().find(|d| spelled(*d) == element)?;
    let shape = parts.iter().map(|n| n.parse().ok()).collect::<Option<_>>()?;
    Some((shape, dtype))
}

/// The parts of the first list in parentheses of a text, separated by commas.
fn list(text: &str) -> Option<Vec<&str>> {
    let start = text.find('(')? + 1;
    let (mut depth, mut from, mut parts, mut quoted) = (0, start, Vec::new(), false);
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'<' | b'{' | b'[' => depth += 1,
            b')' if depth == 0 => {
                parts.push(&text[from..at]);
                return Some(parts.into_iter().map(str::trim).filter(|p| !p.is_empty()).collect());
            }
            b')' | b'>' | b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// The inputs of the public function `main` of a text; `None` if the text has another form.
pub(super) fn inputs(text: &str) -> Option<Vec<Input>> {
    let main = text.find("@main(").filter(|at| text[..*at].trim_end().ends_with("public"))?;
    let read = |part: &str| {
        let (name, of) = part.split_once(':')?;
        let of = of.trim_start();
        let text = of[..=of.find('>')?].to_string();
        name.starts_with('%').then(|| Input { kind: parsed(&text), text })
    };
    list(&text[main..])?.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_from_the_text() {
        let text = r#"module {
  func.func private @g(%0: tensor<9xf64>) -> tensor<9xf64> { return %0 : tensor<9xf64> }
  func.func public @main(%0: tensor<2x3xf64> {jax.arg_info = "w, (0)"} loc("x"), %1: tensor<i1>, %2: tensor<0xi32>) -> (tensor<f64>) {
"#;
        let kinds = [
            ("tensor<2x3xf64>", Some((vec![2, 3], DType::F64))),
            ("tensor<i1>", Some((vec![], DType::Bool))),
            ("tensor<0xi32>", None),
        ];
        let needed = kinds.map(|(text, kind)| Input { text: text.to_string(), kind });
        assert_eq!(inputs(text).expect("a signature"), needed);
        assert_eq!(written(&[2, 3], DType::F64), "tensor<2x3xf64>");
        assert_eq!(written(&[], DType::I64), "tensor<i64>");
    }

    #[test]
    fn what_is_not_understood_is_not_checked() {
        assert_eq!(inputs("func.func public @main() -> () {"), Some(vec![]));
        for text in ["", "func.func public @main(%0: tensor<f64>", "func.func @main() {", "ML\u{ef}R public @main(a)"] {
            assert_eq!(inputs(text), None, "{text}");
        }
    }
}
