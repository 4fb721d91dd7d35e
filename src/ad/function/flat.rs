//! Functions over slices: arguments and results are the elements of all leaves, one after the other.
//!
//! Law: a run computes what [`Function::run`] computes, and allocates nothing.

use std::marker::PhantomData;

use super::Function;
use crate::backend::{Executable, Workspace};
use crate::dtype::Float;
use crate::program::Slot;
use crate::shape::{Show, size};

/// A [`Function`] over slices, with memory of its own: see [`Function::flat`].
pub struct FlatFunction<'f, E: Float = f64> {
    executable: &'f Executable,
    workspace: Workspace,
    /// The number of elements of all arguments, and of all results.
    sizes: [usize; 2],
    element: PhantomData<E>,
}

impl<P, Y> Function<P, (), Y> {
    /// The function over slices: the argument is the elements of all leaves in order, as
    /// [`ravel`](crate::Tree::ravel) writes them, and so is the result. Optimizers, samplers and solvers of other crates
    /// take such functions. A function with data is converted by [`with_data`](Function::with_data) first.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let f = Function::value_and_grad_with(|w, x| (w * x).square().sum(), &w, &x).with_data(&x)?;
    /// let mut f = f.flat::<f64>();
    /// let mut gradient = [0.0; 2];
    /// let value = f.value_and_grad(&[1.0, 2.0], &mut gradient);
    /// assert_eq!((value, gradient), (73.0, [18.0, 64.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    ///
    /// # Panics
    /// When a leaf of the argument or of the results has another element type than `E`.
    #[track_caller]
    pub fn flat<E: Float>(&self) -> FlatFunction<'_, E> {
        let program = self.optimized();
        if let Some(slot) = program.inputs().iter().chain(program.outputs()).find(|slot| slot.dtype != E::DTYPE) {
            panic!(
                "flat: all arguments and results must have elements {}, but `{}` has elements {}; convert it inside of \
                 the function, or hand it over as data",
                E::DTYPE,
                slot.name,
                slot.dtype
            );
        }
        let count = |slots: &[Slot]| slots.iter().map(|slot| size(&slot.shape)).sum();
        let executable = self.executable();
        FlatFunction {
            executable,
            workspace: executable.workspace(),
            sizes: [count(program.inputs()), count(program.outputs())],
            element: PhantomData,
        }
    }
}

impl<E: Float> FlatFunction<'_, E> {
    /// The number of elements of the argument.
    pub fn arguments(&self) -> usize {
        self.sizes[0]
    }

    /// The number of elements of the result.
    pub fn results(&self) -> usize {
        self.sizes[1]
    }

    /// Writes the result for an argument.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage(|(a, b)| (a * b, a + b), &(tensor([1.0, 2.0]), tensor(3.0)));
    /// let mut f = f.flat::<f64>();
    /// let mut results = [0.0; 4];
    /// f.run(&[1.0, 2.0, 10.0], &mut results);
    /// assert_eq!(results, [10.0, 20.0, 11.0, 12.0]);
    /// ```
    ///
    /// # Panics
    /// When the slices have not the sizes of argument and result.
    #[track_caller]
    pub fn run(&mut self, x: &[E], results: &mut [E]) {
        self.check("run", x.len(), results.len(), self.sizes[1]);
        self.executable.run_flat(&mut self.workspace, x, [results, &mut []]);
    }

    /// The value for an argument, the first of the results; the others, its gradient, are written.
    ///
    /// # Panics
    /// When the first result is no number, or the slices have not the sizes of the argument and of the other results.
    #[track_caller]
    pub fn value_and_grad(&mut self, x: &[E], gradient: &mut [E]) -> E {
        let first = self.executable.program().outputs().first();
        let Some(_) = first.filter(|value| value.shape.is_empty()) else {
            panic!(
                "value_and_grad: the first result must be a number, but it has shape {}; make the function by \
                 Function::value_and_grad, or call run",
                Show(first.map_or(&[], |result| &result.shape))
            );
        };
        self.check("value_and_grad", x.len(), gradient.len(), self.sizes[1] - 1);
        let mut value = [E::ZERO];
        self.executable.run_flat(&mut self.workspace, x, [&mut value, gradient]);
        value[0]
    }

    #[track_caller]
    fn check(&self, verb: &str, x: usize, results: usize, needed: usize) {
        if (x, results) != (self.sizes[0], needed) {
            panic!(
                "{verb}: the slices must have {} and {needed} elements, but they have {x} and {results}; the order is \
                 that of the leaves of argument and result",
                self.sizes[0]
            );
        }
    }
}
