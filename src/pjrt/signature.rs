//! The devices of a program and the types of its inputs and outputs, parsed from its text.
//!
//! Arguments are checked by them before a run, and divided among the devices. Plugins differ in their behaviour for
//! arguments of wrong types, so the check is made here.
//!
//! Law: an input of an element type that arrays do not have is not checked, and neither is a program whose text is not
//! of the form `func.func public @main(%x: tensor<..>, ..)`. Shardings that are not understood are an error, since
//! arrays would be divided in the wrong way.

use super::division::Division;
use super::error::Error;
use crate::dtype::DType;
use crate::shape::size;

/// The type of an input or output, as StableHLO text and parsed, and where its elements are.
#[derive(Debug, PartialEq)]
pub(super) struct PortType {
    /// The type in the text.
    pub(super) text: String,
    /// Shape and element type; `None` if arrays do not have the element type.
    pub(super) kind: Option<(Vec<usize>, DType)>,
    /// The blocks on the devices of the program; `None` if arrays do not have the element type.
    pub(super) division: Option<Division>,
}

/// The devices of a program, and its inputs and outputs.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Parsed {
    /// The sizes of the mesh; `None` for a program without one, which runs on one device.
    pub(super) mesh: Option<Vec<usize>>,
    /// `None` if the text has another form.
    pub(super) inputs: Option<Vec<PortType>>,
    /// `None` if the text has another form.
    pub(super) outputs: Option<Vec<PortType>>,
}

impl Parsed {
    /// The number of devices.
    pub(super) fn devices(&self) -> usize {
        self.mesh.iter().flatten().product()
    }
}

impl PortType {
    /// The type with this text, divided along these axes of a mesh of these sizes, or whole on each of its devices.
    fn new(text: &str, axes: Option<Vec<Vec<usize>>>, mesh: &[usize]) -> Result<PortType, Error> {
        let kind = parsed(text);
        let division = match (&axes, &kind) {
            (Some(axes), _) => Some(Division::of(axes, mesh)),
            (None, kind) => kind.as_ref().map(|(shape, _)| Division::whole(shape.len(), size(mesh))),
        };
        if axes.is_some() && !division.as_ref().zip(kind.as_ref()).is_some_and(|(of, (shape, _))| of.fits(shape)) {
            return Err(Error::Sharding { text: format!("a division of {text} into unequal blocks") });
        }
        Ok(PortType { text: text.to_owned(), kind, division })
    }

    /// Checks that the argument of this number is of the type, if arrays can have it.
    pub(super) fn check(&self, number: usize, shape: &[usize], dtype: DType) -> Result<(), Error> {
        match &self.kind {
            Some((needed, of)) if needed != shape || *of != dtype => {
                Err(Error::Argument { number, needed: self.text.clone(), given: written(shape, dtype) })
            }
            _ => Ok(()),
        }
    }
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

/// The parts of the first list in parentheses of a text, separated by commas, and the text after it.
fn list(text: &str) -> Option<(Vec<&str>, &str)> {
    let start = text.find('(')? + 1;
    let (mut depth, mut from, mut parts, mut quoted) = (0, start, Vec::new(), false);
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'<' | b'{' | b'[' => depth += 1,
            b')' if depth == 0 => {
                parts.push(&text[from..at]);
                let parts = parts.into_iter().map(str::trim).filter(|p| !p.is_empty()).collect();
                return Some((parts, &text[at + 1..]));
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

/// The text between two marks.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let start = text.find(before)? + before.len();
    let end = text[start..].find(after)?;
    Some(&text[start..start + end])
}

/// The names and sizes of the mesh of a module: `sdy.mesh @mesh = <["batch"=8]>`.
fn mesh(text: &str) -> Result<Option<Vec<(&str, usize)>>, Error> {
    const HEAD: &str = "sdy.mesh @";
    let Some(line) = text.lines().find(|line| line.trim_start().starts_with(HEAD)) else { return Ok(None) };
    fn axis(text: &str) -> Option<(&str, usize)> {
        let (name, size) = text.split_once('=')?;
        Some((quoted(name)?, size.trim().parse().ok().filter(|n| *n > 0)?))
    }
    let read = || -> Option<Vec<(&str, usize)>> { between(line, "<[", "]>")?.split(',').map(axis).collect() };
    read().map(Some).ok_or_else(|| Error::Sharding { text: line.trim().to_owned() })
}

/// The text in quotes.
fn quoted(text: &str) -> Option<&str> {
    text.trim().strip_prefix('"')?.strip_suffix('"')
}

/// For each axis, the positions of the axes of a mesh, from an attribute `#sdy.sharding<@mesh, [{"batch"}, {}]>`.
fn sharding(text: &str, mesh: &[(&str, usize)]) -> Result<Option<Vec<Vec<usize>>>, Error> {
    if !text.contains("sdy.sharding") {
        return Ok(None);
    }
    let position = |name: &str| quoted(name).and_then(|name| mesh.iter().position(|(axis, _)| *axis == name));
    let axes = |inside: &str| -> Option<Vec<usize>> {
        inside.split(',').filter(|name| !name.trim().is_empty()).map(position).collect()
    };
    let read = || {
        let mut rest = between(text, "#sdy.sharding<@", "]>")?.split_once('[')?.1.trim();
        let mut all = Vec::new();
        while let Some(inside) = rest.strip_prefix('{') {
            let (of_axis, after) = inside.split_once('}')?;
            all.push(axes(of_axis)?);
            rest = after.trim_start().trim_start_matches(',').trim_start();
        }
        rest.is_empty().then_some(all)
    };
    read().map(Some).ok_or_else(|| Error::Sharding { text: text.trim().to_owned() })
}

/// The mesh of a module, and the inputs and outputs of its public function `main`.
pub(super) fn parsed_module(text: &str) -> Result<Parsed, Error> {
    let mesh = mesh(text)?;
    let axes = mesh.as_deref().unwrap_or_default();
    let sizes = mesh.as_ref().map(|axes| axes.iter().map(|(_, size)| *size).collect::<Vec<usize>>());
    let value = |part: &str| -> Option<Result<PortType, Error>> {
        let text = &part[..=part.find('>')?];
        Some(
            sharding(part, axes)
                .and_then(|axes| PortType::new(text.trim(), axes, sizes.as_deref().unwrap_or_default())),
        )
    };
    let input = |part: &&str| {
        let (name, of) = part.split_once(':')?;
        name.starts_with('%').then(|| value(of))?
    };
    let lists = || {
        let main = text.find("@main(").filter(|at| text[..*at].trim_end().ends_with("public"))?;
        let (inputs, rest) = list(&text[main..])?;
        let outputs = rest.trim_start().strip_prefix("->").map(str::trim_start).filter(|rest| rest.starts_with('('));
        Some((inputs, outputs.and_then(list).map(|(outputs, _)| outputs)))
    };
    let (inputs, outputs) = lists().map_or((None, None), |(inputs, outputs)| (Some(inputs), outputs));
    let inputs = inputs.and_then(|all| all.iter().map(input).collect::<Option<Vec<_>>>());
    let outputs = outputs.and_then(|all| all.iter().map(|part| value(part)).collect::<Option<Vec<_>>>());
    let all = |values: Option<Vec<Result<PortType, Error>>>| values.map(|all| all.into_iter().collect()).transpose();
    let parsed = Parsed { mesh: sizes, inputs: all(inputs)?, outputs: all(outputs)? };
    if parsed.mesh.is_some() && (parsed.inputs.is_none() || parsed.outputs.is_none()) {
        return Err(Error::Sharding { text: "a function main of another form".to_owned() });
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Typed = (String, Option<(Vec<usize>, DType)>);

    fn inputs(text: &str) -> Option<Vec<Typed>> {
        let parsed = parsed_module(text).expect("no shardings");
        assert_eq!((parsed.devices(), &parsed.mesh), (1, &None));
        parsed.inputs.map(|all| all.into_iter().map(|value| (value.text, value.kind)).collect())
    }

    #[test]
    fn inputs_are_read_from_the_text() {
        let text = r#"module {
  func.func private @g(%0: tensor<9xf64>) -> tensor<9xf64> { return %0 : tensor<9xf64> }
  func.func public @main(%0: tensor<2x3xf64> {jax.arg_info = "w, (0)"} loc("x"), %1: tensor<i1>, %2: tensor<0xi32>) -> (tensor<f64>) {
"#;
        let needed = [
            ("tensor<2x3xf64>", Some((vec![2, 3], DType::F64))),
            ("tensor<i1>", Some((vec![], DType::Bool))),
            ("tensor<0xi32>", None),
        ];
        assert_eq!(inputs(text).expect("a signature"), needed.map(|(text, kind)| (text.to_string(), kind)));
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

    /// A module with this mesh and these shardings of an input and an output of shape 4 x 6.
    fn sharded(mesh: &str, input: &str, output: &str) -> String {
        let of = |sharding: &str| format!("tensor<4x6xf64> {{sdy.sharding = {sharding}}}");
        format!(
            "module @m {{\n  sdy.mesh @mesh = {mesh}\n  func.func public @main(%0: {}) -> ({}) {{\n",
            of(input),
            of(output)
        )
    }

    #[test]
    fn shardings_are_read_from_the_text() {
        let text = sharded(
            r#"<["a"=2, "b"=3]>"#,
            r#"#sdy.sharding<@mesh, [{"a"}, {}]>"#,
            r#"#sdy.sharding<@mesh, [{}, {"b", "a"}]>"#,
        );
        let parsed = parsed_module(&text).expect("a mesh");
        assert_eq!((parsed.devices(), &parsed.mesh), (6, &Some(vec![2, 3])));
        let division = |values: &Option<Vec<PortType>>| values.as_ref().expect("values")[0].division.clone();
        assert_eq!(division(&parsed.inputs), Some(Division::of(&[vec![0], vec![]], &[2, 3])));
        assert_eq!(division(&parsed.outputs), Some(Division::of(&[vec![], vec![1, 0]], &[2, 3])));
    }

    #[test]
    fn shardings_that_are_not_understood_are_refused() {
        let (mesh, whole) = (r#"<["a"=2, "b"=3]>"#, "#sdy.sharding<@mesh, [{}, {}]>");
        let refused = [
            ("<[]>", whole),
            (r#"<["a"=0]>"#, whole),
            (r#"<["a"=2], device_ids=[1, 0]>"#, whole),
            (mesh, r#"#sdy.sharding<@mesh, [{"a", ?}, {}]>"#),
            (mesh, r#"#sdy.sharding<@mesh, [{"c"}, {}]>"#),
            (mesh, r#"#sdy.sharding<@mesh, [{"a":(1)2}, {}]>"#),
            (mesh, r#"#sdy.sharding<@mesh, [{"b"}, {}]>"#),
            (mesh, r#"#sdy.sharding<@mesh, [{"a"}]>"#),
            (mesh, r#"#sdy.sharding<@mesh, [{"a"}, {}], replicated={"b"}>"#),
        ];
        for (mesh, sharding) in refused {
            for text in [sharded(mesh, sharding, whole), sharded(mesh, whole, sharding)] {
                let error = parsed_module(&text).expect_err(&text);
                assert!(matches!(error, Error::Sharding { .. }), "{error}");
            }
        }
    }
}
