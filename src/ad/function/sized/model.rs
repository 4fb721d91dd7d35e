//! `SizedModel`: a program for all sizes with the derivative to compute, on arrays without structure.
//!
//! Law: a run gives the results of the [`Function`](super::super::Function) of the same derivative that is recorded at
//! the sizes of the inputs.

use std::fmt;
use std::sync::Arc;

use crate::ad::differentiate::transformation::Transformation;
use crate::ad::function::recent::Recent;
use crate::ad::function::structure::Fill;
use crate::ad::function::{Function, FunctionOptions, FunctionParts, RunError};
use crate::array::Array;
use crate::backend::{self, Executable};
use crate::dtype::DType;
use crate::escape;
use crate::program::{SizedProgram, SizedShape, interpret};
use crate::shape::Shape;
use crate::tree::Key;

/// A model that runs at every size of its named axes: a program and its derivative, without the types of its arguments
/// and results. It is the part of a [`SizedFunction`](crate::SizedFunction) that is saved: see
/// [`model`](crate::SizedFunction::model).
///
/// ```
/// use polygrad::{Array, Function, SizedFunction, Sizes, Tensor, tensor};
/// let record = |x: &_, _: &()| Function::value_and_grad(|x: &Tensor<_, 1>| x.square().sum(), x);
/// let f = SizedFunction::new(&Sizes::new().axis("x", 0, "n"), record, &tensor([1.0, 2.0]), &());
/// let model = f.model();
/// assert_eq!((model.inputs(), model.program().to_string().contains("x: f64[n]")), (vec!["x: f64[n]".into()], true));
/// assert_eq!(model.at(&[("n", 128)])?.inputs()[0].shape[..], [128]);
/// let results = model.run(&[Array::from([1.0, 2.0, 3.0])])?;
/// assert_eq!(results, [Array::scalar(14.0), Array::from([2.0, 4.0, 6.0])]);
/// # Ok::<(), polygrad::RunError>(())
/// ```
pub struct SizedModel {
    pub(super) program: SizedProgram,
    /// The derivative, and the number of first inputs that are differentiated.
    pub(super) transformation: (Transformation, usize),
    /// The names of the last outputs.
    pub(super) names: Vec<String>,
    /// The inputs of the derivative.
    pub(super) inputs: Vec<SizedInput>,
    pub(super) options: FunctionOptions,
    kept: Recent<(Vec<usize>, Executable)>,
}

/// An input of the derivative.
#[derive(Clone, Debug)]
pub(super) struct SizedInput {
    pub(super) name: String,
    pub(super) shape: SizedShape,
    pub(super) dtype: DType,
}

impl SizedModel {
    /// The largest number of compiled programs that are kept.
    pub(super) const LIMIT: usize = 32;

    pub(super) fn of(
        program: SizedProgram,
        transformation: (Transformation, usize),
        names: Vec<String>,
        inputs: Vec<SizedInput>,
        options: FunctionOptions,
    ) -> SizedModel {
        SizedModel { program, transformation, names, inputs, options, kept: Recent::new(Self::LIMIT) }
    }

    /// The same model with other options.
    pub(super) fn with(&self, options: FunctionOptions) -> SizedModel {
        let SizedModel { program, transformation, names, inputs, .. } = self;
        SizedModel::of(program.clone(), *transformation, names.clone(), inputs.clone(), options)
    }

    /// The recorded program, with expressions of the names in the place of sizes.
    ///
    /// Example: [`SizedModel`].
    pub fn program(&self) -> &SizedProgram {
        &self.program
    }

    /// The names and shapes of the inputs, as `data.0: f64[batch, 10]`.
    ///
    /// Example: [`SizedModel`].
    pub fn inputs(&self) -> Vec<String> {
        let names: Vec<&str> = self.program.names().collect();
        let words =
            |input: &SizedInput| format!("{}: {}{}", escape::name(&input.name), input.dtype, input.shape.words(&names));
        self.inputs.iter().map(words).collect()
    }

    /// The sizes of the names in inputs of these shapes; `None` if there are other numbers of inputs or axes.
    pub(super) fn sizes_of(&self, shapes: &[Shape]) -> Option<Result<Vec<usize>, RunError>> {
        let names = self.program.named_sizes();
        let mut sizes: Vec<Option<(usize, usize)>> = vec![None; names.len()];
        if shapes.len() != self.inputs.len() {
            return None;
        }
        for (k, (input, shape)) in self.inputs.iter().zip(shapes).enumerate() {
            if input.shape.rank() != shape.len() {
                return None;
            }
            for (axis, n) in shape.iter().enumerate() {
                let Some(name) = input.shape.name(axis, names.len()) else { continue };
                match sizes[name] {
                    Some((m, first)) if m != *n => {
                        let (first, other) = ((self.inputs[first].name.clone(), m), (input.name.clone(), *n));
                        return Some(Err(RunError::Sizes { name: names[name].name.clone(), first, other }));
                    }
                    Some(_) => {}
                    None => sizes[name] = Some((*n, k)),
                }
            }
        }
        Some(Ok(sizes.into_iter().map(|size| size.map_or(0, |(n, _)| n)).collect()))
    }

    /// The sizes that are given by names, in the order of the names.
    ///
    /// # Errors
    /// When a name has no size, or does not occur in the program.
    pub(super) fn sizes_by_name(&self, given: &[(&str, usize)]) -> Result<Vec<usize>, RunError> {
        let names: Vec<&str> = self.program.names().collect();
        let is_unknown = |(name, _): &&(&str, usize)| !names.contains(name);
        let size = |name: &&str| given.iter().find(|(given, _)| given == name).map(|(_, n)| *n);
        let sizes: Option<Vec<usize>> = names.iter().map(size).collect();
        match (sizes, given.iter().find(is_unknown)) {
            (Some(sizes), None) => Ok(sizes),
            (_, _) => {
                let given: Vec<String> =
                    given.iter().map(|(name, n)| format!("{} = {n}", escape::name(name))).collect();
                let reason = format!(
                    "sizes: each name must have a size, but the names are {} and the sizes {}; give one for each",
                    names.iter().map(|name| escape::name(name)).collect::<Vec<_>>().join(", "),
                    given.join(", ")
                );
                Err(RunError::NoProgram { reason })
            }
        }
    }

    /// The function at these sizes, of arguments and results that are made by other parts.
    ///
    /// # Errors
    /// When no program exists at these sizes.
    #[track_caller]
    pub(super) fn function_at<P, Q, Y>(
        &self,
        sizes: &[usize],
        (template, fill, key): (Y, Fill<Y>, Key),
    ) -> Result<Function<P, Q, Y>, RunError> {
        let recorded = self.program.at(sizes).map_err(|reason| RunError::NoProgram { reason })?;
        let ((transformation, count), names) = (self.transformation, self.names.clone());
        if transformation != Transformation::Value && recorded.is_shared() {
            // Derivatives are made again for each loop.
            let reason = format!(
                "sizes: a program that a saved model differentiates must have bodies that are not shared by too many loops, but \
                 it has {} operations, from bodies of {}; differentiate the function before it is saved",
                recorded.unrolled(),
                recorded.size()
            );
            return Err(RunError::NoProgram { reason });
        }
        Ok(Function::of_with(
            FunctionParts { transformation, recorded, count, names, template, fill, key },
            self.options,
        ))
    }

    #[track_caller]
    fn plain_at(&self, sizes: &[usize]) -> Result<Function<(), (), ()>, RunError> {
        self.function_at(sizes, ((), |(), _| (), Key::default()))
    }

    /// The program that runs at these sizes: differentiated and optimized. It can be printed, compiled, exported and
    /// written as source code.
    ///
    /// Example: [`SizedModel`].
    ///
    /// # Errors
    /// When a name has no size, or no program exists at these sizes.
    pub fn at(&self, sizes: &[(&str, usize)]) -> Result<crate::program::Program, RunError> {
        Ok(self.plain_at(&self.sizes_by_name(sizes)?)?.optimized().clone())
    }

    /// The results for these inputs, in the order of [`inputs`](SizedModel::inputs). The program is differentiated,
    /// optimized and compiled at the first run of each size, and kept: the 32 most recently used are.
    ///
    /// Example: [`SizedModel`].
    ///
    /// # Errors
    /// When the inputs do not fit the program, or no program exists at their sizes.
    pub fn run(&self, inputs: &[Array]) -> Result<Vec<Array>, RunError> {
        let shapes: Vec<Shape> = inputs.iter().map(|a| Shape::from_slice(a.shape())).collect();
        let sizes = self.sizes_of(&shapes);
        let fitting = |sizes: &[usize]| {
            let mut all = self.inputs.iter().zip(inputs);
            all.find(|(input, a)| input.shape.at(sizes).as_deref() != Some(a.shape()) || input.dtype != a.dtype())
        };
        let Some(sizes) = sizes else {
            let needed = self.inputs().join(", ");
            let given: Vec<String> =
                inputs.iter().map(|a| format!("{}{}", a.dtype(), crate::shape::Show(a.shape()))).collect();
            let reason = format!(
                "run: the inputs must be {needed}, but they are {}; pass one for each, with as many axes",
                given.join(", ")
            );
            return Err(RunError::NoProgram { reason });
        };
        let sizes = sizes?;
        if let Some((input, a)) = fitting(&sizes) {
            let needed = (input.shape.at(&sizes).unwrap_or_default().to_vec(), input.dtype);
            return Err(RunError::Input { name: input.name.clone(), needed, given: (a.shape().to_vec(), a.dtype()) });
        }
        let is = |kept: &(Vec<usize>, Executable)| kept.0 == sizes;
        let known: Option<Arc<(Vec<usize>, Executable)>> = self.kept.known(is);
        let executable = match known {
            Some(known) => known,
            None => {
                let function = self.plain_at(&sizes)?;
                let executable = function.options.compiled(function.optimized());
                self.kept.kept((sizes.clone(), executable), is)
            }
        };
        if self.options.interpreted || backend::is_off() {
            return Ok(interpret(executable.1.program(), inputs.to_vec()));
        }
        Ok(executable.1.run_fitting(inputs))
    }
}

/// Shows the inputs, and the recorded program with expressions of the names.
impl fmt::Debug for SizedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SizedModel({}; {})", self.inputs().join(", "), self.program)
    }
}
