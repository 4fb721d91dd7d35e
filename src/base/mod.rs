//! `BaseTensor`: the language, as a trait in tagless-final style.
//!
//! A program is a generic function over `T: BaseTensor`; everything else is an interpreter, that is, an instance of
//! this trait.
//!
//! Law: an instance is a meaning. The primal values of a program are the same in every instance; instances differ in
//! the other data of their values (derivatives, shapes, syntax). An instance has sixteen required methods: three that
//! make and describe values, and one for each family of operations of [`crate::ops`]. Each is implemented once. Two
//! traits belong to the language: [`Staging`] says how programs of the instance are recorded, and [`Report`] what is
//! known of its values.
//!
//! User code does not call these methods: it uses [`Tensor`](crate::Tensor), whose rank and element type rustc checks,
//! and needs the single bound `T: BaseTensor`.

mod grouped;
mod level;
mod over;
pub(crate) mod ravel;
mod report;
mod stage;

use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::Array;
use crate::dtype::DType;
use crate::ops::{Binary, Call, Compare, Contract, Discrete, Linear, Reduce, Unary};
use crate::program::Custom;
use crate::program::repeat::{held, known};

pub use grouped::{Group, GroupedStep, map_accum_grouped, repeat_grouped};
pub use level::{Beyond, Distance, IntoProgram, Level, Lift, Next};
pub use over::Over;
pub use report::Report;
pub(crate) use report::attributed;
pub use stage::{Enter, Staging};

/// The results of one trip of a loop: the carry, and the outputs to be stacked.
///
/// Example: [`BaseTensor::map_accum`].
pub type Trip<T> = (Vec<T>, Vec<T>);

/// One trip of a loop: a function of the carry and the current elements of the sequences.
///
/// Example: [`BaseTensor::map_accum`].
pub type TripFn<'a, T> = &'a mut dyn FnMut(Vec<T>, &[T]) -> Trip<T>;

/// A function of values that a derivative may store, to run it again in the reverse pass.
///
/// Example: [`BaseTensor::again`].
pub type Again<T> = Rc<dyn Fn(&[T]) -> Vec<T>>;

/// One trip of a loop with a condition: a function from the carry to the next carry.
///
/// Example: [`BaseTensor::repeat`].
pub type WhileFn<'a, T> = &'a mut dyn FnMut(Vec<T>) -> Vec<T>;

/// The arguments and the function of one branch of a fork. The function may be called on any thread.
///
/// Example: [`BaseTensor::fork`].
pub type ForkBranch<'a, T> = (Vec<T>, &'a (dyn Fn(Vec<T>) -> Vec<T> + Sync));

/// The operations of the language; an interpreter is an implementation of this trait.
///
/// Shapes and element types are known at run time, before any element is computed. Operands that do not fit are
/// mistakes in the program: the operation panics, with both shapes, at the caller's line.
///
/// # Laws
/// * Totality: reading at an index out of bounds, including at a negative one, gives 0; scattering there does nothing;
///   integer division by zero has a value (see [`crate::ops::IntBinary`]).
/// * Selection is strict: both branches are computed. Values computed in the branch not taken never reach a derivative,
///   see [`crate::ops::Guard`].
///
/// ```
/// use polygrad::ops::{Binary, Unary};
/// use polygrad::{Array, BaseTensor, tensor};
/// /// `sin x + 1`, a function of values without types of rank and element, at any interpreter.
/// fn wave<T: BaseTensor>(x: &T) -> T {
///     x.unary(Unary::Sin).binary(Binary::Add, &T::constant(Array::from([1.0, 1.0])))
/// }
/// assert_eq!(wave(tensor([0.0, 1.0]).raw()), *(tensor([0.0f64, 1.0]).sin() + 1.0).raw());
/// ```
pub trait BaseTensor: Clone + 'static + Staging + Report {
    /// A constant: a known array.
    ///
    /// Example: [`BaseTensor`].
    #[track_caller]
    fn constant(a: Array) -> Self;

    /// The sizes of the axes, outermost first.
    ///
    /// ```
    /// use polygrad::{BaseTensor, Shapes, Tensor, tensor};
    /// /// The number of axes, and whether there are derivatives, at any interpreter.
    /// fn kind<T: BaseTensor>(x: &T) -> (usize, bool) {
    ///     (x.shape().len(), x.dtype().is_float())
    /// }
    /// assert_eq!(kind(tensor([[1.0, 2.0, 3.0]]).raw()), (2, true));
    /// assert_eq!(kind(Tensor::<Shapes, 1, i64>::zeros([1_000_000]).raw()), (1, false));
    /// ```
    fn shape(&self) -> &[usize];

    /// The element type.
    ///
    /// Example: [`BaseTensor::shape`].
    fn dtype(&self) -> DType;

    /// An elementwise function of floats.
    ///
    /// ```
    /// use polygrad::ops::{Binary, Compare, Contract, Discrete, Linear, Reduce, Unary};
    /// use polygrad::{Array, BaseTensor};
    /// let (x, y) = (Array::from([1.0, 4.0]), Array::from([2.0, 3.0]));
    /// assert_eq!(x.unary(Unary::Sqrt), Array::from([1.0, 2.0]));
    /// assert_eq!(x.binary(Binary::Max, &y), Array::from([2.0, 4.0]));
    /// let less = Array::discrete(&Discrete::Compare(Compare::Lt), &[&x, &y]);
    /// assert_eq!(less, Array::from([true, false]));
    /// assert_eq!(Array::select(&less, &x, &y), Array::from([1.0, 3.0]));
    /// assert_eq!(x.linear(&Linear::sum(&[2], &[0])), Array::scalar(5.0));
    /// assert_eq!(Array::contract(&Contract::axes(&[2], &[0], &[0], &[]), &x, &y), Array::scalar(14.0));
    /// assert_eq!(x.reduce(Reduce::Max { axis: 0 }), Array::scalar(4.0));
    /// ```
    #[track_caller]
    fn unary(&self, op: Unary) -> Self;

    /// An elementwise function of two float tensors of one shape and element type.
    ///
    /// Example: [`BaseTensor::unary`].
    #[track_caller]
    fn binary(&self, op: Binary, other: &Self) -> Self;

    /// An operation with derivative zero, of as many operands as its arity.
    ///
    /// Example: [`BaseTensor::unary`].
    #[track_caller]
    fn discrete(op: &Discrete, args: &[&Self]) -> Self;

    /// `then` where the mask holds and `otherwise` elsewhere; all three have one shape.
    ///
    /// Example: [`BaseTensor::unary`].
    #[track_caller]
    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self;

    /// A linear operation.
    ///
    /// Example: [`BaseTensor::unary`].
    #[track_caller]
    fn linear(&self, op: &Linear) -> Self;

    /// A bilinear operation.
    ///
    /// Example: [`BaseTensor::unary`].
    #[track_caller]
    fn contract(op: &Contract, a: &Self, b: &Self) -> Self;

    /// The extremum of each line along an axis, which is dropped: the first of equal elements, or the first NaN if
    /// there is one.
    ///
    /// Example: [`BaseTensor::unary`].
    #[track_caller]
    fn reduce(&self, op: Reduce) -> Self;

    /// The subarrays of `self` at the indices `ix` into its outer axes: integer tensors of one common shape, with which
    /// the shape of the result begins. An index out of bounds reads 0.
    ///
    /// ```
    /// use polygrad::{Array, BaseTensor};
    /// let x = Array::from([[1.0, 2.0], [3.0, 4.0]]);
    /// // Two rows, then two elements; row 5 is out of bounds.
    /// assert_eq!(x.gather(&[Array::from([1, 5])]), Array::from([[3.0, 4.0], [0.0, 0.0]]));
    /// assert_eq!(x.gather(&[Array::from([0, 1]), Array::from([1, 1])]), Array::from([2.0, 4.0]));
    /// ```
    #[track_caller]
    fn gather(&self, ix: &[Self]) -> Self;

    /// `self` with the subarrays of `v` added at the indices `ix`: the adjoint of [`gather`](Self::gather) in `v`.
    /// Subarrays at equal indices are all added, those at indices out of bounds are dropped. In place if `self` has no
    /// other owner.
    ///
    /// ```
    /// use polygrad::{Array, BaseTensor};
    /// let (x, v) = (Array::from([1.0, 2.0, 3.0]), Array::from([10.0, 20.0, 30.0]));
    /// // Index 0 twice, and an index out of bounds.
    /// assert_eq!(x.scatter_add(&[Array::from([0, 0, 7])], &v), Array::from([31.0, 2.0, 3.0]));
    /// ```
    #[track_caller]
    fn scatter_add(self, ix: &[Self], v: &Self) -> Self;

    /// The concatenation of the parts along an axis; they may differ in size only along this axis.
    ///
    /// ```
    /// use polygrad::{Array, BaseTensor};
    /// let (a, b) = (Array::from([[1.0], [2.0]]), Array::from([[3.0, 4.0], [5.0, 6.0]]));
    /// assert_eq!(Array::concat(1, &[a, b]), Array::from([[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]]));
    /// ```
    #[track_caller]
    fn concat(axis: usize, parts: &[Self]) -> Self;

    /// A loop of `n` trips over the outermost axis of `xs`, in order or in reverse.
    ///
    /// `step(carry, x)` takes the carry by value, `init` at first, and the elements of `xs` at the current position; it
    /// returns the next carry, of the same shapes, and outputs. The results are the last carry, and the outputs stacked
    /// at the positions at which they were computed. `step` may capture any value, and is called once per trip or once
    /// for all trips, so it must not count its calls; for `n = 0` it is called once on zeros, to find the shapes.
    ///
    /// ```
    /// use polygrad::base::{Trip, TripFn};
    /// use polygrad::{Array, BaseTensor};
    /// // The sum, which is the output of each trip, too.
    /// let step: TripFn<'_, Array> = &mut |carry, x| {
    ///     let sum = carry[0].clone().accumulate(&x[0]);
    ///     (vec![sum.clone()], vec![sum])
    /// };
    /// let x = Array::from([1.0, 2.0, 4.0]);
    /// let (last, sums): Trip<Array> = Array::map_accum(3, false, vec![Array::scalar(0.0)], &[x], step);
    /// assert_eq!((&last[0], &sums[0]), (&Array::scalar(7.0), &Array::from([1.0, 3.0, 7.0])));
    /// ```
    #[track_caller]
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self>;

    /// A call: an operation of linear algebra, or code of the host, with any number of operands and results.
    ///
    /// ```
    /// use polygrad::ops::{Call, Matrix};
    /// use polygrad::{Array, BaseTensor};
    /// let a = Array::from([[0.0, 2.0], [1.0, 0.0]]);
    /// assert_eq!(Array::call(&Call::Matrix(Matrix::SlogDet), &[a])[0], Array::scalar(-1.0));
    /// ```
    #[track_caller]
    fn call(op: &Call, args: &[Self]) -> Vec<Self>;

    /// Applies a function with custom derivative rules: the value is that of its primal program, the derivative is
    /// given by its rules.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::program::{Custom, Term};
    /// use polygrad::{Array, BaseTensor, DType};
    /// let x = Term::variable(&[], DType::F64);
    /// let square = Term::program(&[x.clone()], &[x.unary(Unary::Square)], &[])?;
    /// let rule = Custom::checkpointed("square", square).into();
    /// assert_eq!(Array::custom(&rule, &[Array::scalar(3.0)]), [Array::scalar(9.0)]);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Panics
    /// When the arguments do not fit the function; or in forward mode, when it has no rule for tangents.
    #[track_caller]
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self>;

    /// The results of `f`, which may capture values, as a function that the reverse pass runs again: an interpreter
    /// that stores values for a derivative in reverse mode stores only the arguments, and one that records programs
    /// records a function that is run again.
    ///
    /// ```
    /// use polygrad::base::Again;
    /// use polygrad::ops::Unary;
    /// use polygrad::{Tensor, direct, tensor};
    /// use std::rc::Rc;
    /// /// Of `sin (sin x)`, reverse mode stores `x` alone.
    /// fn twice<T: polygrad::BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
    ///     let f: Again<T> = Rc::new(|x| vec![x[0].unary(Unary::Sin).unary(Unary::Sin)]);
    ///     Tensor::from_raw(T::again(&f, &[x.raw().clone()]).remove(0))
    /// }
    /// assert_eq!(direct::grad(twice, &tensor(1.0)), direct::grad(|x| x.sin().sin(), &tensor(1.0)));
    /// ```
    #[track_caller]
    fn again(f: &Again<Self>, args: &[Self]) -> Vec<Self> {
        f(args)
    }

    /// A loop with a condition: `step` maps the carry to the next carry while the first value of the carry, a mask of
    /// rank 0, holds, and at most `most` times.
    ///
    /// If the mask is known, the host language runs the trips. Otherwise a loop with a bound runs all `most` trips;
    /// once the mask does not hold, a trip leaves the carry unchanged.
    ///
    /// ```
    /// use polygrad::base::WhileFn;
    /// use polygrad::ops::{Binary, Compare, Discrete};
    /// use polygrad::{Array, BaseTensor};
    /// /// Doubles a number while it is less than 10, at most `most` times.
    /// fn doubled<T: BaseTensor>(x: T, most: Option<usize>) -> T {
    ///     let ten = T::constant(Array::scalar(10.0));
    ///     let less = |x: &T| T::discrete(&Discrete::Compare(Compare::Lt), &[x, &ten]);
    ///     let step: WhileFn<'_, T> = &mut |carry| {
    ///         let x = carry[1].binary(Binary::Add, &carry[1]);
    ///         vec![less(&x), x]
    ///     };
    ///     T::repeat(most, vec![less(&x), x], step).remove(1)
    /// }
    /// assert_eq!(doubled(Array::scalar(3.0), None), Array::scalar(12.0));
    /// assert_eq!(doubled(Array::scalar(3.0), Some(1)), Array::scalar(6.0));
    /// ```
    ///
    /// # Panics
    /// When the mask is unknown and the number of trips has no bound.
    #[track_caller]
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        repeated(most, init, step)
    }

    /// The results of two functions at their arguments: the second one may run on another thread while the first
    /// one runs. Results do not depend on which thread runs what. A function gets the values that it needs as arguments,
    /// since a value may belong to its thread.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::base::ForkBranch;
    /// use polygrad::{Array, BaseTensor};
    /// fn both<T: BaseTensor>(x: &T) -> [Vec<T>; 2] {
    ///     let sine: ForkBranch<'_, T> = (vec![x.clone()], &|x| vec![x[0].unary(Unary::Sin)]);
    ///     T::fork([sine, (vec![x.clone()], &|x| vec![x[0].unary(Unary::Cos)])])
    /// }
    /// assert_eq!(both(&Array::scalar(0.0)), [vec![Array::scalar(0.0)], vec![Array::scalar(1.0)]]);
    /// ```
    #[track_caller]
    fn fork(branches: [ForkBranch<'_, Self>; 2]) -> [Vec<Self>; 2] {
        both(branches)
    }

    /// Zeros of this shape and element type.
    ///
    /// Example: [`BaseTensor::section`].
    #[track_caller]
    fn zeros(shape: &[usize], dtype: DType) -> Self {
        Self::constant(Array::zeros(shape, dtype))
    }

    /// Consecutive elements of a vector, from `start` on, as a tensor of this shape and float type.
    ///
    /// ```
    /// use polygrad::{Array, BaseTensor, DType};
    /// let x = Array::joined(&[Array::scalar(1.0f32), Array::from([[2.0f32, 3.0]]), Array::zeros(&[2], DType::F64)]);
    /// assert_eq!(x, Array::from([1.0, 2.0, 3.0, 0.0, 0.0]));
    /// assert_eq!(x.section(1, &[2, 2], DType::F32), Array::from([[2.0f32, 3.0], [0.0, 0.0]]));
    /// ```
    #[track_caller]
    fn section(&self, start: usize, shape: &[usize], dtype: DType) -> Self {
        ravel::section(self, start, shape, dtype)
    }

    /// The elements of float tensors, one tensor after the other, as one vector of `f64`.
    ///
    /// Example: [`BaseTensor::section`].
    #[track_caller]
    fn joined(parts: &[Self]) -> Self {
        ravel::joined(parts)
    }

    /// `self + other` for numbers of any type; in place if `self` has no other owner.
    ///
    /// ```
    /// use polygrad::ops::Linear;
    /// use polygrad::{Array, BaseTensor};
    /// assert_eq!(Array::scalar(1).accumulate(&Array::scalar(2)), Array::scalar(3));
    /// let (sums, x) = (Array::from([10.0, 20.0]), Array::from([[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(sums.accumulate_linear(&Linear::sum(&[2, 2], &[1]), &x), Array::from([13.0, 27.0]));
    /// ```
    #[track_caller]
    fn accumulate(self, other: &Self) -> Self {
        match self.dtype() {
            DType::F64 | DType::F32 => self.binary(Binary::Add, other),
            DType::I64 | DType::Bool => {
                Self::discrete(&Discrete::IntBinary(crate::ops::IntBinary::Add), &[&self, other])
            }
        }
    }

    /// `self + other.linear(op)`; in place if `self` has no other owner.
    ///
    /// Example: [`BaseTensor::accumulate`].
    #[track_caller]
    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        self.accumulate(&other.linear(op))
    }
}

/// [`BaseTensor::fork`], one function after the other.
pub(crate) fn both<T: BaseTensor>(branches: [ForkBranch<'_, T>; 2]) -> [Vec<T>; 2] {
    branches.map(|(args, run)| run(args))
}

/// [`BaseTensor::repeat`] by loops of `T` and of the host language.
#[track_caller]
pub(crate) fn repeated<T: BaseTensor>(most: Option<usize>, init: Vec<T>, step: WhileFn<'_, T>) -> Vec<T> {
    let (mut carry, mut left) = (init, most.unwrap_or(usize::MAX));
    while left > 0 {
        // A program that is recorded gets one loop if there is a bound, even if the mask is known.
        match (known(&carry[0]).filter(|_| most.is_none() || !T::records()), most) {
            (Some(true), _) => carry = step(carry),
            (Some(false), _) => break,
            (None, Some(_)) => {
                return T::map_accum(left, false, carry, &[], &mut |carry, _| (held(carry, step), Vec::new())).0;
            }
            (None, None) => panic!(
                "while_loop: the number of trips must be bounded where a derivative is taken without a recorded program, but \
                     it has no bound; use while_loop_within"
            ),
        }
        left -= 1;
    }
    carry
}

/// `x` with the subarray at these indices, numbers, replaced by `new`; `x` itself where an index is out of bounds.
pub(crate) fn replaced<T: BaseTensor>(x: &T, indices: &[T], new: &T) -> T {
    let shape = x.shape();
    let outer = &shape[..indices.len()];
    let hits = indices.iter().enumerate().map(|(k, index)| {
        let iota = T::discrete(&Discrete::Iota { n: outer[k] }, &[]);
        let index = index.linear(&Linear::replicate(&outer[k..=k], &[]));
        T::discrete(&Discrete::Compare(Compare::Eq), &[&iota, &index]).linear(&Linear::replicate(outer, &[k]))
    });
    let Some(mask) = hits.reduce(|all, hit| T::discrete(&Discrete::And, &[&all, &hit])) else {
        return new.clone();
    };
    let axes: SmallVec<[usize; 6]> = (0..shape.len()).collect();
    let mask = mask.linear(&Linear::replicate(shape, &axes[..indices.len()]));
    T::select(&mask, &new.linear(&Linear::replicate(shape, &axes[indices.len()..])), x)
}
