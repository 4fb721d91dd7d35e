//! Saving and loading [`SizedModel`]s: the program for all sizes, and the name of the derivative.
//!
//! Law: a loaded model gives the results of the saved one, to the bit. Options are not saved.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::model::{SizedInput, SizedModel};
use crate::ad::differentiate::transformation::Transformation;
use crate::ad::function::FunctionOptions;
use crate::array::refused;
use crate::dtype::DType;
use crate::program::{SavedSize, SizedProgram, SizedShape};

/// The version of the format. A changed format gets a new number.
const FORMAT: u32 = 1;

/// The largest order of a derivative in a file: its program grows with the order.
const ORDER: usize = 256;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedModel {
    model_format: u32,
    /// The name of the derivative, and its order.
    derivative: (String, usize),
    /// The number of inputs that are differentiated.
    arguments: usize,
    /// The names of the last results.
    names: Vec<String>,
    inputs: Vec<SavedInput>,
    program: SizedProgram,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedInput {
    name: String,
    dtype: String,
    shape: Vec<SavedSize>,
}

/// Saved as the program for all sizes, with the names of inputs and results, and the derivative to compute.
///
/// ```
/// use polygrad::{Array, Function, SizedFunction, SizedModel, Sizes, Tensor, tensor};
/// let record = |x: &_, _: &()| Function::value_and_grad(|x: &Tensor<_, 1>| x.square().mean(), x);
/// let f = SizedFunction::new(&Sizes::new().axis("x", 0, "n"), record, &tensor([1.0, 2.0]), &());
/// let saved = serde_json::to_string(f.model()).unwrap();
/// let loaded: SizedModel = serde_json::from_str(&saved).unwrap();
/// let results = loaded.run(&[Array::new(&[4], vec![2.0; 4])])?;
/// assert_eq!(results, [Array::scalar(4.0), Array::full(&[4], 1.0)]);
/// # Ok::<(), polygrad::RunError>(())
/// ```
impl Serialize for SizedModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (transformation, arguments) = self.transformation;
        let order = if let Transformation::Nth(n) | Transformation::LaplacianAlong(n) = transformation { n } else { 0 };
        let name = transformation.facts().name;
        let input = |input: &SizedInput| SavedInput {
            name: input.name.clone(),
            dtype: input.dtype.name().to_owned(),
            shape: input.shape.save(),
        };
        SavedModel {
            model_format: FORMAT,
            derivative: (name.to_owned(), order),
            arguments,
            names: self.names.clone(),
            inputs: self.inputs.iter().map(input).collect(),
            program: self.program.clone(),
        }
        .serialize(serializer)
    }
}

/// Loads and checks what [`Serialize`] saved. Anything else is an error that says what is wrong.
impl<'de> Deserialize<'de> for SizedModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SizedModel, D::Error> {
        load(SavedModel::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn load(saved: SavedModel) -> Result<SizedModel, String> {
    let SavedModel { model_format, derivative: (name, order), arguments, names, inputs, program } = saved;
    if model_format != FORMAT {
        return Err(refused(&format!("the format of a model must be {FORMAT}"), &format!("it is {model_format}")));
    }
    let known = Transformation::all(order).into_iter().find(|known| known.facts().name == name);
    let Some(transformation) = known else {
        return Err(refused(
            "a derivative must be a known one",
            &format!("it is {:?}", name.chars().take(40).collect::<String>()),
        ));
    };
    if order > ORDER {
        return Err(refused(&format!("the order of a derivative must be at most {ORDER}"), &format!("it is {order}")));
    }
    let sizes = program.names().len();
    let input = |SavedInput { name, dtype, shape }: SavedInput| {
        let Some(dtype) = DType::of_name(&dtype) else {
            return Err(refused("an element type must exist", "one does not"));
        };
        Ok(SizedInput { name, shape: SizedShape::load(shape, sizes)?, dtype })
    };
    let inputs = inputs.into_iter().map(input).collect::<Result<Vec<SizedInput>, String>>()?;
    if !fits(transformation, (arguments, names.len(), inputs.len()), &program) {
        return Err(refused("the derivative must be one of the program", "it does not fit"));
    }
    Ok(SizedModel::of(program, (transformation, arguments), names, inputs, FunctionOptions::new()))
}

/// Whether a program with these numbers of arguments, names and inputs can have the derivative.
fn fits(
    transformation: Transformation,
    (arguments, names, inputs): (usize, usize, usize),
    program: &SizedProgram,
) -> bool {
    let program = program.template();
    let (takes, results) = (program.inputs().len(), program.outputs().len());
    let number = program.outputs().iter().all(|slot| slot.shape.is_empty() && slot.dtype.is_float());
    let facts = transformation.facts();
    let [further, made] = [facts.further, facts.results].map(|count| count.of(arguments, results));
    let is_derivative = transformation != Transformation::Value;
    let floats = !is_derivative || arguments > 0 && program.takes_floats(arguments);
    floats
        && arguments <= takes
        && names <= made
        && inputs == takes + further
        && (!facts.of_number || number && results == 1)
}
