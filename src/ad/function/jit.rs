//! `Jit`: a function that is recorded for each new key (shapes, structure, plain fields), with a cache of programs.
//!
//! Law: a call gives the results of the [`Function`] that is recorded for the key of its arguments and data.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use super::recent::Recent;
use super::{Function, FunctionOptions, SizedFunction, Sizes};
use crate::array::Array;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// Records a function for arguments and data like these.
type Recorder<P, Q, Y> = dyn Fn(&P, &Q) -> Function<P, Q, Y> + Send + Sync;

/// A function that is recorded at its first call, and again for arguments of another [key](Tree::key): shapes,
/// structure or plain fields. Recorded programs are cached: at most [`LIMIT`](Jit::LIMIT) of them, or the number given
/// to [`keeping`](Jit::keeping). A new program replaces the least recently used one.
///
/// The type can be named in a struct, see [`Gradient`]. A `Jit` can be called from several threads; threads that meet a
/// new key at the same time may each record it.
///
/// Everything in an argument but the elements of its leaves belongs to its key. So a number that changes from call to
/// call, such as a count of steps, should be a tensor and not a plain field: otherwise every call records.
///
/// ```
/// use polygrad::{Jit, Tensor, tensor};
/// let f = Jit::stage(|x: &Tensor<_, 1>| x.square().sum());
/// assert_eq!(f.call(&tensor([1.0, 2.0])).item(), 5.0);
/// assert_eq!(f.call(&tensor([3.0, 4.0])).item(), 25.0);
/// assert_eq!(f.kept(), 1);
/// assert_eq!(f.call(&tensor([3.0])).item(), 9.0);
/// assert_eq!(f.kept(), 2);
/// ```
pub struct Jit<P, Q, Y> {
    record: Box<Recorder<P, Q, Y>>,
    kept: Recent<Function<P, Q, Y>>,
    options: FunctionOptions,
}

/// Value and gradient of a scalar function of parameters `P` and data `Q`, as a type that a struct can name.
///
/// ```
/// use polygrad::tree::TreeMath;
/// use polygrad::{BaseTensor, Concrete, Gradient, Jit, Tensor, Tree, tensor};
///
/// #[derive(Tree, Clone, Debug)]
/// struct Line<T: BaseTensor> {
///     slope: Tensor<T, 0>,
///     offset: Tensor<T, 0>,
/// }
///
/// type Batch<T> = (Tensor<T, 1>, Tensor<T, 1>);
///
/// fn loss<T: BaseTensor>(line: &Line<T>, (x, y): &Batch<T>) -> Tensor<T, 0> {
///     (x.times(&line.slope).plus(&line.offset) - y).square().mean()
/// }
///
/// struct Trainer {
///     line: Line<Concrete>,
///     gradient: Gradient<Line<Concrete>, Batch<Concrete>>,
/// }
///
/// impl Trainer {
///     fn step(&mut self, batch: &Batch<Concrete>) -> f64 {
///         let (value, slope) = self.gradient.call_with(&self.line, batch);
///         self.line = self.line.add_scaled(-0.1, &slope);
///         value.item()
///     }
/// }
///
/// let line = Line { slope: tensor(0.0), offset: tensor(0.0) };
/// let mut trainer = Trainer { line, gradient: Jit::value_and_grad_with(loss) };
/// // Batches may differ in size.
/// let batches = [(tensor([0.0, 1.0]), tensor([1.0, 3.0])), (tensor([2.0]), tensor([5.0]))];
/// let losses: Vec<f64> = (0..100).map(|k| trainer.step(&batches[k % 2])).collect();
/// assert!(losses[99] < 0.01);
/// ```
pub type Gradient<P, Q = ()> = Jit<P, Q, (Tensor<Array, 0>, P)>;

impl<P, Q, Y> Jit<P, Q, Y> {
    /// The largest number of cached programs, unless [`keeping`](Jit::keeping) sets another.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor};
    /// type Sine = Jit<Tensor<polygrad::Concrete, 0>, (), Tensor<polygrad::Concrete, 0>>;
    /// assert_eq!(Sine::LIMIT, 32);
    /// ```
    pub const LIMIT: usize = 32;

    /// A function made by a constructor of [`Function`], which is called for each new key.
    ///
    /// ```
    /// use polygrad::{Concrete, Function, Jit, Tensor, tensor};
    /// let hessian = Jit::new(|x: &Tensor<Concrete, 1>, _: &()| Function::hessian(|x| x.powi(3).sum(), x));
    /// assert_eq!(hessian.call(&tensor([1.0, 2.0])), tensor([[6.0, 0.0], [0.0, 12.0]]));
    /// assert_eq!(hessian.call(&tensor([1.0])), tensor([[6.0]]));
    /// ```
    pub fn new(record: impl Fn(&P, &Q) -> Function<P, Q, Y> + Send + Sync + 'static) -> Self {
        let options = FunctionOptions::new();
        Jit { record: Box::new(record), kept: Recent::new(Self::LIMIT), options }
    }

    /// Caches at most `limit` recorded programs, and at least one.
    ///
    /// Example: [`Jit::kept`].
    #[must_use]
    pub fn keeping(mut self, limit: usize) -> Self {
        self.kept = self.kept.keeping(limit);
        self
    }

    /// Records with other options from now on, and clears the cache.
    ///
    /// ```
    /// use polygrad::{FunctionOptions, Jit, Tensor, tensor};
    /// let f = Jit::stage(|x: &Tensor<_, 1>| x.exp().ln()).with_options(FunctionOptions::new().fast_math(true));
    /// assert_eq!(f.call(&tensor([1000.0])), tensor([1000.0]));
    /// ```
    #[must_use]
    pub fn with_options(mut self, options: FunctionOptions) -> Self {
        self.options = options;
        self.kept.clear();
        self
    }

    /// The number of cached programs.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let slope = Jit::grad(|x: &Tensor<_, 1>| x.square().sum());
    /// assert_eq!((slope.call(&tensor([1.0])), slope.call(&tensor([1.0, 2.0]))), (tensor([2.0]), tensor([2.0, 4.0])));
    /// assert_eq!(slope.kept(), 2);
    /// let slope = slope.keeping(1);
    /// slope.call(&tensor([1.0, 2.0, 3.0]));
    /// assert_eq!(slope.kept(), 1);
    /// ```
    pub fn kept(&self) -> usize {
        self.kept.count()
    }
}

/// A recording that panics is not cached, and no operation on the list of cached functions can leave it inconsistent:
/// the next call records again.
impl<P, Q, Y: RefUnwindSafe> UnwindSafe for Jit<P, Q, Y> {}
impl<P, Q, Y: RefUnwindSafe> RefUnwindSafe for Jit<P, Q, Y> {}

impl<P: Tree<Array>, Q: Tree<Array>, Y> Jit<P, Q, Y> {
    /// The results for these arguments and data.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let slope = Jit::grad_with(|x: &Tensor<_, 1>, y: &Tensor<_, 1>| (x * y).sum());
    /// assert_eq!(slope.call_with(&tensor([1.0, 2.0]), &tensor([3.0, 4.0])), tensor([3.0, 4.0]));
    /// ```
    ///
    /// # Panics
    /// When the function cannot be recorded: it looks at values, or a variable of a loop escapes from the loop. When a
    /// check of the function does not hold.
    #[track_caller]
    pub fn call_with(&self, x: &P, data: &Q) -> Y {
        // Most calls are for the key of the last one, and compare it while they take the leaves.
        let last = self.kept.last();
        if let Some(y) = last.and_then(|last| last.attempted(x, data)) {
            match y {
                Ok(y) => return y,
                Err(failed) => panic!("{failed}"),
            }
        }
        match self.function(x, data).run_with(x, data) {
            Ok(y) => y,
            Err(fault) => panic!("{fault}"),
        }
    }

    /// The recorded function for arguments and data like these.
    ///
    /// ```
    /// use polygrad::{Jit, Tensor, tensor};
    /// let f = Jit::value_and_grad(|x: &Tensor<_, 1>| x.square().sum());
    /// assert!(f.function(&tensor([1.0]), &()).optimized().to_string().contains("grad = 2.0 * x"));
    /// ```
    #[track_caller]
    pub fn function(&self, x: &P, data: &Q) -> Arc<Function<P, Q, Y>> {
        let fits = |function: &Function<P, Q, Y>| function.fits(x, data);
        if let Some(known) = self.kept.known(fits) {
            return known;
        }
        self.kept.kept((self.record)(x, data).with_options(self.options), fits)
    }
}

impl<P, Q, Y> Jit<P, Q, Y>
where
    P: Tree<Array, With<Array> = P>,
    Q: Tree<Array, With<Array> = Q>,
    Y: Tree<Array> + Clone,
{
    /// One program for all sizes of the named axes, in place of one for each shape; the example says the other sizes.
    ///
    /// ```
    /// use polygrad::{Jit, Sizes, Tensor, tensor};
    /// let f = Jit::grad(|x: &Tensor<_, 1>| x.square().mean());
    /// let f = f.for_sizes(&Sizes::new().axis("x", 0, "n"), &tensor([1.0, 2.0]), &());
    /// assert_eq!(f.run(&tensor([3.0; 6]))?, tensor([1.0; 6]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    ///
    /// # Panics
    /// Like [`SizedFunction::new`].
    #[track_caller]
    pub fn for_sizes(&self, sizes: &Sizes, x: &P, data: &Q) -> SizedFunction<P, Q, Y> {
        SizedFunction::new(sizes, |x, data| (self.record)(x, data), x, data).with_options(self.options)
    }
}

impl<P: Tree<Array>, Y> Jit<P, (), Y> {
    /// The results for these arguments.
    ///
    /// Example: [`Jit`](super::Jit).
    ///
    /// # Panics
    /// As for [`call_with`](Jit::call_with).
    #[track_caller]
    pub fn call(&self, x: &P) -> Y {
        self.call_with(x, &())
    }
}

/// Shows the number of cached programs, and the limit.
impl<P, Q, Y> fmt::Debug for Jit<P, Q, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jit({} of at most {} programs)", self.kept(), self.kept.limit())
    }
}
