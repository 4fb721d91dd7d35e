//! A function as an FMU of FMI 3.0 for Model Exchange: its description, and a file of C with the functions of the standard.
//!
//! The function takes states, parameters, inputs and the time, each a tensor, and returns the derivatives of the states in their
//! order, then outputs. Laws: a variable is a tensor, whose elements lie row by row. Directional and adjoint derivatives are those
//! of this library, in every variable that is given. A call in a mode that the standard does not allow is an error.
//!
//! The file is made of three functions over vectors, values, tangents and cotangents, of tables, and of `fmi.c`, which is the same
//! for all models. It needs neither this library nor headers of FMI.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

use polygrad::DType;
use polygrad::program::{Program, Slot};
use polygrad::shape::size;

use crate::boundary::Fault;
use crate::casadi::{embedded, flat};
use crate::handle::Derivative;

/// A variable: its role, and where its elements are among those of all inputs, or of all outputs. Roles are those of inputs, `t`
/// time, `x` states, `p` parameters, `u` inputs, and of outputs, `d` derivatives of states, `y` outputs.
struct Variable {
    name: String,
    role: char,
    start: usize,
    shape: Vec<usize>,
}

/// The role of each input.
fn roles_of(program: &Program, roles: &str) -> Result<Vec<char>, Fault> {
    let (inputs, outputs) = (program.inputs(), program.outputs());
    let all: Vec<char> = roles.chars().collect();
    let refused = |text: String| Err(Fault::argument(format!("fmi: {text}")));
    if all.len() != inputs.len() || all.iter().any(|role| !"txpu".contains(*role)) {
        return refused(format!(
            "there must be a letter for each of the {} inputs, but the roles are {roles:?}; write t for the time, x for states, \
             p for parameters, u for inputs",
            inputs.len()
        ));
    }
    if let Some(slot) = inputs.iter().chain(outputs).find(|slot| slot.dtype != DType::F64 || size(&slot.shape) == 0) {
        return refused(format!(
            "inputs and outputs must have elements f64, but one has {} in the shape {:?}; bind it, or cast it",
            slot.dtype, slot.shape
        ));
    }
    let times: Vec<&Slot> = inputs.iter().zip(&all).filter(|(_, role)| **role == 't').map(|(slot, _)| slot).collect();
    if times.len() > 1 || times.iter().any(|slot| !slot.shape.is_empty()) {
        let shapes: Vec<_> = times.iter().map(|slot| &slot.shape).collect();
        return refused(format!(
            "the time must be one number, but inputs with this role have the shapes {shapes:?}; reshape it"
        ));
    }
    let states: Vec<&[usize]> =
        inputs.iter().zip(&all).filter(|(_, role)| **role == 'x').map(|(slot, _)| &slot.shape[..]).collect();
    let results: Vec<&[usize]> = outputs.iter().map(|slot| &slot.shape[..]).collect();
    if results.is_empty() || results.len() < states.len() || results[..states.len()] != states[..] {
        return refused(format!(
            "the first results must be the derivatives of the states, with shapes {states:?}, but results have the shapes \
             {results:?}; return derivatives first, in the order of the states"
        ));
    }
    Ok(all)
}

/// All variables, at positions that are their references. Without an input that is the time there is one after the inputs.
fn variables(program: &Program, roles: &[char]) -> Vec<Variable> {
    let (mut all, mut start): (Vec<Variable>, _) = (Vec::new(), 0);
    let mut push = |name: String, role, shape: &[usize], start: &mut usize| {
        let taken = all.iter().any(|variable: &Variable| variable.name == name);
        let name = if taken { format!("{name}_{}", all.len()) } else { name };
        all.push(Variable { name, role, start: *start, shape: shape.to_vec() });
        *start += size(shape);
    };
    let named = |slot: &Slot, other: String| if slot.name.is_empty() { other } else { slot.name.clone() };
    let states = roles.iter().zip(program.inputs()).enumerate().filter(|(_, (role, _))| **role == 'x');
    let mut states = states.map(|(k, (_, slot))| format!("der({})", named(slot, format!("x{k}"))));
    for (k, (slot, role)) in program.inputs().iter().zip(roles).enumerate() {
        push(named(slot, format!("x{k}")), *role, &slot.shape, &mut start);
    }
    if !roles.contains(&'t') {
        push(String::from("time"), 't', &[], &mut start);
    }
    start = 0;
    for (k, slot) in program.outputs().iter().enumerate() {
        match states.next() {
            Some(name) => push(name, 'd', &slot.shape, &mut start),
            None => push(named(slot, format!("y{k}")), 'y', &slot.shape, &mut start),
        }
    }
    all
}

/// A text in an attribute.
fn escaped(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The part of the description from its variables on.
fn described(all: &[Variable], starts: &[f64]) -> String {
    let mut text = String::from("  <ModelVariables>\n");
    let mut states = all.iter().enumerate().filter(|(_, variable)| variable.role == 'x').map(|(k, _)| k);
    for (k, Variable { name, role, start, shape }) in all.iter().enumerate() {
        let known = starts.get(*start..start + size(shape)).unwrap_or_default();
        let known: Vec<String> = known.iter().map(|x| format!("{x:?}")).collect();
        let known = format!("start=\"{}\"", known.join(" "));
        let kind = match role {
            't' => String::from("causality=\"independent\" variability=\"continuous\""),
            'x' => format!("causality=\"local\" variability=\"continuous\" initial=\"exact\" {known}"),
            'p' => format!("causality=\"parameter\" variability=\"tunable\" {known}"),
            'u' => format!("causality=\"input\" variability=\"continuous\" {known}"),
            'd' => {
                let state = states.next().unwrap_or(k);
                format!("causality=\"local\" variability=\"continuous\" derivative=\"{state}\"")
            }
            _ => String::from("causality=\"output\" variability=\"continuous\""),
        };
        let sizes: String = shape.iter().map(|n| format!("<Dimension start=\"{n}\"/>")).collect();
        let _ =
            writeln!(text, "    <Float64 name=\"{}\" valueReference=\"{k}\" {kind}>{sizes}</Float64>", escaped(name));
    }
    text += "  </ModelVariables>\n  <ModelStructure>\n";
    for (element, roles) in [("Output", "y"), ("ContinuousStateDerivative", "d"), ("InitialUnknown", "dy")] {
        for (k, _) in all.iter().enumerate().filter(|(_, variable)| roles.contains(variable.role)) {
            let _ = writeln!(text, "    <{element} valueReference=\"{k}\"/>");
        }
    }
    text + "  </ModelStructure>\n</fmiModelDescription>\n"
}

/// The three functions over vectors, with names that `fmi.c` knows.
fn functions(program: &Program, name: &str) -> Result<String, Fault> {
    let values = flat(program, false)?;
    let [tangents, cotangents] = [Derivative::Jvp, Derivative::Vjp].map(|of| values.derivative(of, None));
    let (mut code, mut calls, mut memories) = (String::new(), String::new(), String::new());
    for (handle, what, arguments) in [
        (&values, "values", "(x, y, memory)"),
        (&tangents?, "tangents", "(x, dx, y, dy, memory)"),
        (&cotangents?, "cotangents", "(x, dy, y, dx, memory)"),
    ] {
        let function = embedded(&handle.program, &format!("{name}_{what}"), "of")?;
        code += &function.text;
        let mut given = arguments.replace(", memory", "");
        if function.has_memory {
            given = arguments.replace("memory", &format!("&(memory)->{what}"));
            let _ = write!(memories, " {name}_{what}_of_work {what};");
        }
        let _ = writeln!(calls, "#define {}{arguments} {name}_{what}_of{given}", what.to_uppercase());
    }
    Ok(format!("{code}\n{calls}typedef union {{ char none;{memories} }} Memory;\n"))
}

/// `modelDescription.xml`, `sources/buildDescription.xml`, and the file `sources/NAME.c`, with a role for each input, and a start value for each of their elements.
pub(crate) fn fmu_sources(
    program: &Program,
    name: &str,
    roles: &str,
    starts: Option<&[f64]>,
) -> Result<[String; 3], Fault> {
    let roles = roles_of(program, roles)?;
    let count = |slots: &[Slot]| slots.iter().map(|slot| size(&slot.shape)).sum::<usize>();
    let (inputs, outputs) = (count(program.inputs()), count(program.outputs()));
    let zeros = vec![0.0; inputs];
    let starts = starts.unwrap_or(&zeros);
    if starts.len() != inputs || starts.iter().any(|x| !x.is_finite()) {
        return Err(Fault::argument(format!(
            "fmi: there must be a finite start value for each of the {inputs} elements of inputs, but there are {starts:?}; \
             pass those of all, one after the other"
        )));
    }
    let (all, functions) = (variables(program, &roles), functions(program, name)?);
    let description = described(&all, starts);
    let mut hasher = DefaultHasher::new();
    (&description, &functions).hash(&mut hasher);
    let token = format!("{name}-{:016x}", hasher.finish());
    let time = all.iter().find(|variable| variable.role == 't').map_or(inputs, |variable| variable.start);
    let states: usize = all.iter().filter(|variable| variable.role == 'x').map(|x| size(&x.shape)).sum();
    let numbers: String = starts.iter().map(|x| format!("    {x:?},\n")).collect();
    let table = |v: &Variable| format!("    {{'{}', {}, {}}},\n", v.role, v.start, size(&v.shape));
    let code = format!(
        "/* `{name}` as an FMU of FMI 3.0 for Model Exchange. */\n{functions}#define TOKEN \"{token}\"\n\
         enum {{ INPUTS = {inputs}, OUTPUTS = {outputs}, STATES = {states}, VARIABLES = {}, TIME = {time} }};\n\
         static const double starts[INPUTS + 1] = {{\n{numbers}}};\n\
         typedef struct {{ char role; unsigned start, size; }} Variable;\n\
         static const Variable variables[VARIABLES] = {{\n{}}};\n{}",
        all.len(),
        all.iter().map(table).collect::<String>(),
        include_str!("fmi.c")
    );
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    let description = format!(
        "{head}<fmiModelDescription fmiVersion=\"3.0\" modelName=\"{name}\" instantiationToken=\"{token}\" \
         generationTool=\"polygrad {}\" variableNamingConvention=\"flat\">\n  \
         <ModelExchange modelIdentifier=\"{name}\" canGetAndSetFMUState=\"true\" canSerializeFMUState=\"true\" \
         providesDirectionalDerivatives=\"true\" providesAdjointDerivatives=\"true\"/>\n  \
         <LogCategories><Category name=\"logStatusError\"/><Category name=\"logStatusDiscard\"/></LogCategories>\n\
         {description}",
        env!("CARGO_PKG_VERSION")
    );
    let build = format!(
        "{head}<fmiBuildDescription fmiVersion=\"3.0\">\n  <BuildConfiguration modelIdentifier=\"{name}\">\n    \
         <SourceFileSet language=\"C99\"><SourceFile name=\"{name}.c\"/></SourceFileSet>\n    <Library name=\"m\"/>\n  \
         </BuildConfiguration>\n</fmiBuildDescription>\n"
    );
    Ok([description, build, code])
}
