//! `SizedFunction`: a function that is recorded once for all sizes of named axes.
//!
//! Law: a run gives the results, to the bit, of the [`Function`] that is recorded at the sizes of the arguments.

mod axes;
mod model;
#[cfg(feature = "serde")]
mod saved;

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

pub use axes::Sizes;
use model::SizedInput;
pub use model::SizedModel;

use super::recent::Recent;
use super::structure::both;
use super::structure::{Fill, paths};
use super::{Function, FunctionOptions, RunError};
use crate::array::Array;
use crate::dtype::DType;
use crate::program::{Program, SizedProgram, SizedShape, sizes_in_words, verbatim};
use crate::shape::Shape;
use crate::tree::{Key, Tree, Visitor, next_leaf};

/// A function from arguments `P` and data `Q` to results `Y` that is recorded, and differentiated, for all sizes of the
/// axes that [`Sizes`] names: one program serves every size, and can be saved (see [`model`](SizedFunction::model)).
///
/// Any constructor of [`Function`] records it. The function is called for some sizes that no argument has, from the
/// least to some thousands, when the `SizedFunction` is made, and never again; nothing is computed then. What these
/// recordings have in common is the program: its sizes are expressions of the names. So a loop of the host over a size,
/// or a branch of the host on one, has no program for all sizes, which is an error; a branch that only sizes take which
/// were not recorded (`n == 128`) is not seen.
///
/// The program for some sizes is made, differentiated, optimized and compiled at the first run there; at most
/// [`LIMIT`](SizedFunction::LIMIT) of these are kept, or the number given to [`keeping`](SizedFunction::keeping). A
/// [`Jit`](super::Jit) records again for each shape instead, so it needs the function as long as it runs.
///
/// ```
/// use polygrad::{Function, SizedFunction, Sizes, Tensor, tensor};
/// let (w, x) = (tensor([1.0, 2.0]), tensor([[3.0, 4.0], [0.0, 1.0]]));
/// let record = |w: &_, x: &_| Function::value_and_grad_with(|w, x: &Tensor<_, 2>| x.matvec(w).square().mean(), w, x);
/// let f = SizedFunction::new(&Sizes::new().axis("data", 0, "batch"), record, &w, &x);
/// let (y, g) = f.run_with(&w, &tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))?;
/// assert_eq!((y.item(), g), (1.25, tensor([0.5, 1.0])));
/// assert!(f.model().program().to_string().contains("data: f64[batch, 2]"));
/// # Ok::<(), polygrad::RunError>(())
/// ```
pub struct SizedFunction<P, Q, Y> {
    model: SizedModel,
    template: Y,
    fill: Fill<Y>,
    /// The key at one of the recorded sizes.
    key: Key,
    kept: Recent<AtSizes<P, Q, Y>>,
}

/// The function at some sizes.
type AtSizes<P, Q, Y> = (Vec<usize>, Arc<Function<P, Q, Y>>);

/// The parts of a recording besides its program.
struct RecordedAt<F> {
    sizes: Vec<usize>,
    leaves: Vec<Shape>,
    /// The structure of the results, without sizes.
    results: Key,
    function: F,
}

/// Records a function at some sizes.
type Recording<'a, F> = &'a dyn Fn(&[usize]) -> (Program, RecordedAt<F>);

/// The recordings of a function at the sizes that the program for all sizes asks for.
#[track_caller]
fn recordings<F>(sizes: &Sizes, taken: &[usize], record: Recording<'_, F>) -> (SizedProgram, Vec<RecordedAt<F>>) {
    let all: RefCell<Vec<RecordedAt<F>>> = RefCell::default();
    let made = SizedProgram::recorded(sizes.named_sizes().to_vec(), taken, &mut |point| {
        let (program, shown) = verbatim(|| record(point));
        all.borrow_mut().push(shown);
        program
    });
    let program = match made {
        Ok(program) => program,
        Err(message) => panic!("{message}"),
    };
    let all = all.into_inner();
    let mut fitted = all.iter().take(program.fitted_recordings());
    if let Some((other, difference)) = fitted.find_map(|at| Some((at, all[0].results.compared(&at.results)?))) {
        let (_, needed, given) = difference.words();
        let [first, second] = [&all[0], other].map(|shown| sizes_in_words(program.named_sizes(), &shown.sizes));
        panic!(
            "sizes: the results must have one structure at all sizes, but it is {needed} at {first} and {given} at {second}; \
             leave sizes out of plain fields"
        );
    }
    (program, all)
}

impl<P, Q, Y> SizedFunction<P, Q, Y>
where
    P: Tree<Array, With<Array> = P>,
    Q: Tree<Array, With<Array> = Q>,
    Y: Tree<Array> + Clone,
{
    /// The function that `record` records, for all sizes of the named axes; other axes have the sizes of `x` and `data`.
    ///
    /// # Panics
    /// When the program is not one for all sizes: see [`SizedFunction`]; when a path or an axis does not exist; or as
    /// the constructors of [`Function`].
    ///
    /// Example: [`SizedFunction::kept`].
    #[track_caller]
    pub fn new(sizes: &Sizes, record: impl Fn(&P, &Q) -> Function<P, Q, Y>, x: &P, data: &Q) -> Self {
        SizedFunction::recorded(sizes, &record, x, data)
    }

    #[track_caller]
    fn recorded(sizes: &Sizes, record: &dyn Fn(&P, &Q) -> Function<P, Q, Y>, x: &P, data: &Q) -> Self {
        let names = [paths(x, "x"), paths(data, "data")].concat();
        let shapes: Vec<Shape> =
            x.leaves().iter().chain(&data.leaves()).map(|leaf| Shape::from_slice(leaf.shape())).collect();
        let (named, example) = match sizes.of_leaves(&names, &shapes) {
            Ok(of_leaves) => of_leaves,
            Err(message) => panic!("{message}"),
        };
        let fixed = shapes.iter().zip(&named).flat_map(|(shape, named)| shape.iter().zip(named));
        let taken: Vec<usize> = fixed.filter(|(_, name)| name.is_none()).map(|(n, _)| *n).collect();
        // Arguments at other sizes; zeros are stored as one number.
        let at = |point: &[usize]| {
            let mut leaves = shapes.iter().zip(&named);
            let mut resized = |leaf: &Array| {
                let (shape, named) = next_leaf(&mut leaves);
                let size = |(n, name): (&usize, &Option<usize>)| name.map_or(*n, |name| point[name]);
                let shape: Shape = shape.iter().zip(named).map(size).collect();
                Array::zeros(&shape, leaf.dtype())
            };
            (x.map(&mut resized), data.map(&mut resized))
        };
        let (program, mut all) = recordings(sizes, &taken, &|point| {
            let (x, data) = at(point);
            let function = record(&x, &data);
            let results = Key::shown(&|visitor: &mut dyn Visitor<Array>| function.template.visit(visitor));
            let results = results.with_shapes(results.shapes().iter().map(|_| Shape::new()));
            let (sizes, leaves) = (point.to_vec(), function.key.shapes());
            (function.recorded.clone(), RecordedAt { sizes, leaves, results, function })
        });
        let shown = all.iter().take(program.fitted_recordings());
        let (points, leaves): (Vec<Vec<usize>>, Vec<Vec<Shape>>) =
            shown.map(|shown| (shown.sizes.clone(), shown.leaves.clone())).unzip();
        let Some(leaves) = SizedShape::fitted(&points, &leaves) else {
            unreachable!("the leaves of arguments, tangents and cotangents are values of the program")
        };
        let first = all.swap_remove(0).function;
        // Transformation at the sizes of the example, where a derivative that does not exist is an error at this line.
        let dtypes: Vec<(String, DType)> =
            first.derivative().program.inputs().iter().map(|s| (s.name.clone(), s.dtype)).collect();
        let inputs = dtypes.into_iter().zip(leaves).map(|((name, dtype), shape)| SizedInput { name, shape, dtype });
        let model = SizedModel::of(program, first.transformation, first.names.clone(), inputs.collect(), first.options);
        let (template, fill, key) = (first.template, first.fill, first.key);
        let made = SizedFunction { model, template, fill, key, kept: Recent::new(Self::LIMIT) };
        if let Err(RunError::NoProgram { reason }) = made.function(&example) {
            panic!("{reason}");
        }
        made
    }
}

impl<P, Q, Y> SizedFunction<P, Q, Y> {
    /// The largest number of programs that are kept, unless [`keeping`](SizedFunction::keeping) sets another.
    ///
    /// Example: [`SizedFunction::kept`].
    pub const LIMIT: usize = SizedModel::LIMIT;

    /// Keeps the programs of at most `limit` sizes, and of at least one.
    ///
    /// Example: [`SizedFunction::kept`].
    #[must_use]
    pub fn keeping(mut self, limit: usize) -> Self {
        self.kept = self.kept.keeping(limit);
        self
    }

    /// The number of sizes whose programs are kept.
    ///
    /// ```
    /// use polygrad::{Concrete, Function, SizedFunction, Sizes, Tensor, tensor};
    /// let record = |x: &_, _: &()| Function::stage(|x: &Tensor<_, 1>| x.mean(), x);
    /// let mean = SizedFunction::new(&Sizes::new().axis("x", 0, "n"), record, &tensor([1.0, 2.0]), &());
    /// // The program for the size of the example is made at once.
    /// assert_eq!(mean.kept(), 1);
    /// assert_eq!(mean.run(&tensor([1.0, 2.0, 6.0]))?, tensor(3.0));
    /// assert_eq!(mean.kept(), 2);
    /// assert!(SizedFunction::<Tensor<Concrete, 1>, (), Tensor<Concrete, 0>>::LIMIT > 2);
    /// let mean = mean.keeping(1);
    /// assert_eq!((mean.run(&tensor([7.0]))?, mean.kept()), (tensor(7.0), 1));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    pub fn kept(&self) -> usize {
        self.kept.count()
    }

    /// The same function with other options; the programs of all sizes are made again.
    ///
    /// ```
    /// use polygrad::{Function, FunctionOptions, SizedFunction, Sizes, Tensor, tensor};
    /// let record = |x: &_, _: &()| Function::stage(|x: &Tensor<_, 1>| x.mean(), x);
    /// let mean = SizedFunction::new(&Sizes::new().axis("x", 0, "n"), record, &tensor([1.0, 2.0]), &());
    /// let interpreted = mean.with_options(FunctionOptions::new().interpreted(true));
    /// assert_eq!(interpreted.run(&tensor([1.0, 2.0, 6.0]))?, tensor(3.0));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[must_use]
    pub fn with_options(mut self, options: FunctionOptions) -> Self {
        if options != self.model.options {
            self.model = self.model.with(options);
            self.kept.clear();
        }
        self
    }

    /// The program and its derivative without the types of arguments and results, which can be saved.
    ///
    /// Example: [`SizedFunction`].
    pub fn model(&self) -> &SizedModel {
        &self.model
    }
}

impl<P, Q, Y: Clone> SizedFunction<P, Q, Y> {
    /// The function at these sizes, one for each name: to explain, export or write it as source code.
    ///
    /// ```
    /// use polygrad::{Function, SizedFunction, Sizes, Tensor, tensor};
    /// let mean = |x: &_, _: &()| Function::stage(|x: &Tensor<_, 1>| x.mean(), x);
    /// let mean = SizedFunction::new(&Sizes::new().axis("x", 0, "n"), mean, &tensor([1.0, 2.0]), &());
    /// let text = mean.at(&[("n", 128)])?.to_stablehlo("mean").unwrap();
    /// assert!(text.contains("tensor<128xf64>"));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    ///
    /// # Errors
    /// When a name has no size, or no program exists at these sizes.
    #[track_caller]
    pub fn at(&self, sizes: &[(&str, usize)]) -> Result<Arc<Function<P, Q, Y>>, RunError> {
        self.function(&self.model.sizes_by_name(sizes)?)
    }

    /// The key at these sizes.
    fn key_at(&self, sizes: &[usize]) -> Option<Key> {
        let shapes = self.model.inputs.iter().map(|input| input.shape.at(sizes)).collect::<Option<Vec<Shape>>>()?;
        Some(self.key.with_shapes(shapes))
    }

    #[track_caller]
    fn function(&self, sizes: &[usize]) -> Result<Arc<Function<P, Q, Y>>, RunError> {
        let is = |kept: &AtSizes<P, Q, Y>| kept.0 == sizes;
        if let Some(known) = self.kept.known(is) {
            return Ok(known.1.clone());
        }
        let key = self.key_at(sizes).unwrap_or_default();
        let made = self.model.function_at(sizes, (self.template.clone(), self.fill, key))?;
        Ok(self.kept.kept((sizes.to_vec(), Arc::new(made)), is).1.clone())
    }
}

impl<P: Tree<Array>, Q: Tree<Array>, Y: Clone> SizedFunction<P, Q, Y> {
    /// The results for these arguments and data, whose sizes say which program runs.
    ///
    /// Example: [`SizedFunction`].
    ///
    /// # Errors
    /// When the axes of a name have several sizes; when other axes, element types, the structure or a plain field
    /// differ from those of the example; or when no program exists at these sizes.
    pub fn run_with(&self, x: &P, data: &Q) -> Result<Y, RunError> {
        // Most runs are at the sizes of the last one, and compare them while they take the leaves.
        if let Some(y) = self.kept.last().and_then(|last| last.1.attempted(x, data)) {
            return Ok(y?);
        }
        let show = |visitor: &mut dyn Visitor<Array>| both(&|v| x.visit(v), &|v| data.visit(v), visitor);
        let given = Key::shown(&show);
        let different = |key: &Key| key.compared(&given).map(RunError::from);
        let Some(sizes) = self.model.sizes_of(&given.shapes()) else {
            return Err(different(&self.key).unwrap_or_else(|| unreachable!("leaves differ in number or rank")));
        };
        let sizes = sizes?;
        if let Some(error) = self.key_at(&sizes).and_then(|key| different(&key)) {
            return Err(error);
        }
        self.function(&sizes)?.run_with(x, data)
    }
}

impl<P: Tree<Array>, Y: Clone> SizedFunction<P, (), Y> {
    /// The results for these arguments.
    ///
    /// Example: [`SizedFunction::kept`].
    ///
    /// # Errors
    /// As for [`run_with`](SizedFunction::run_with).
    pub fn run(&self, x: &P) -> Result<Y, RunError> {
        self.run_with(x, &())
    }
}

/// Shows the recorded program, with expressions of the names in the place of sizes.
impl<P, Q, Y> fmt::Debug for SizedFunction<P, Q, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SizedFunction({})", self.model.program())
    }
}
