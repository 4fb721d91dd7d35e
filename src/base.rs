//! `BaseTensor`: the language. A program is a generic function over `T: BaseTensor`; everything
//! else is an interpreter, that is, an instance of this trait.
//!
//! Law: an instance is a meaning. The primal values of a program are the same in every instance; instances differ in
//! what they carry along (derivatives, shapes, syntax). An instance has seventeen required methods and a type:
//! three that make and describe values, one for each family of operations of [`crate::ops`], and
//! [`trace`](BaseTensor::trace) with its type. Each is implemented once.
//!
//! User code does not call these methods: it uses [`Tensor`](crate::Tensor), whose rank and element type rustc checks,
//! and needs the single bound `T: BaseTensor`.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::Array;
use crate::dtype::DType;
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary};
use crate::program::repeat::{held, known};
use crate::program::{Custom, Program};
use crate::rewrite::Options;
use crate::source::Site;

/// The results of one trip of a loop: the carry, and the outputs to be stacked.
pub type Trip<T> = (Vec<T>, Vec<T>);

/// One trip of a loop: a function of the carry and the current elements of the sequences.
pub type TripFn<'a, T> = &'a mut dyn FnMut(Vec<T>, &[T]) -> Trip<T>;

/// A function of values that a derivative may keep, to run it again.
pub type Again<T> = Rc<dyn Fn(&[T]) -> Vec<T>>;

/// One trip of a loop that ends by itself: the next carry.
pub type WhileFn<'a, T> = &'a mut dyn FnMut(Vec<T>) -> Vec<T>;

/// A program over a list of values, at the interpreter where `T` traces.
pub type Traced<'a, T> = &'a mut dyn FnMut(&[<T as BaseTensor>::Trace]) -> Vec<<T as BaseTensor>::Trace>;

/// A program, and the values that it captures: its last inputs.
pub type Recorded<T> = (Program, Vec<T>);

/// The operations of the language; an interpreter is an implementation.
///
/// Shapes and element types are known at run time, and before any number is computed. Operands
/// that do not fit are mistakes in the program: they panic, with both shapes, at the caller's line.
///
/// # Laws
/// * Totality: reading at an index out of bounds, negative included, gives 0; scattering there does
///   nothing; integer division by zero has a value (see [`crate::ops::IntBinary`]).
/// * Selection is strict: both branches are computed. Values computed in the branch not taken never reach a derivative,
///   see [`crate::ops::Guard`].
pub trait BaseTensor: Clone + 'static {
    /// A known array.
    #[track_caller]
    fn constant(a: Array) -> Self;

    /// The sizes of the axes, outermost first.
    fn shape(&self) -> &[usize];

    /// The element type.
    fn dtype(&self) -> DType;

    /// An elementwise function of floats.
    #[track_caller]
    fn unary(&self, op: Unary) -> Self;

    /// An elementwise function of two float tensors of one shape and element type.
    #[track_caller]
    fn binary(&self, op: Binary, other: &Self) -> Self;

    /// An operation with derivative zero, of as many operands as its arity.
    #[track_caller]
    fn discrete(op: &Discrete, args: &[&Self]) -> Self;

    /// `then` where the mask holds and `otherwise` elsewhere; all three have one shape.
    #[track_caller]
    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self;

    /// A linear operation.
    #[track_caller]
    fn linear(&self, op: &Linear) -> Self;

    /// A bilinear operation.
    #[track_caller]
    fn contract(op: &Contract, a: &Self, b: &Self) -> Self;

    /// The extremum of each line along an axis, which disappears: the first of equal elements, the first NaN if there
    /// is one.
    #[track_caller]
    fn reduce(&self, op: Reduce) -> Self;

    /// The subarrays of `self` at the indices `ix`, which index its outer axes: integer tensors of
    /// one common shape, which the result's shape starts with. Out of bounds reads 0.
    #[track_caller]
    fn gather(&self, ix: &[Self]) -> Self;

    /// `self` with the subarrays of `v` added at the indices `ix`: the adjoint of [`gather`](Self::gather)
    /// in `v`. Repeated indices add up, indices out of bounds are dropped. In place if nobody else
    /// holds `self`.
    #[track_caller]
    fn scatter_add(self, ix: &[Self], v: &Self) -> Self;

    /// The parts one after the other along an axis; they may differ in size only there.
    #[track_caller]
    fn concat(axis: usize, parts: &[Self]) -> Self;

    /// A loop of `n` trips over the outermost axis of `xs`, in order or in reverse.
    ///
    /// `step(carry, x)` takes the carry by value, starting from `init`, and the elements of `xs` at the
    /// current position; it returns the next carry, of the same shapes, and outputs. The result is
    /// the last carry and the outputs, stacked at the positions they were computed at. `step` may
    /// use any value from outside, and is called once per trip or once for all of them, so it must
    /// not count its calls; for `n = 0` it is called once on zeros, to learn the shapes.
    #[track_caller]
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self>;

    /// An operation of linear algebra, or code of the host: any number of operands and results.
    #[track_caller]
    fn call(op: &Call, args: &[Self]) -> Vec<Self>;

    /// Applies a function with derivative rules of its own: the value is that of its primal program, the derivative is
    /// given by its rules.
    ///
    /// # Panics
    /// When the arguments are not what it takes; or in forward mode, when there is no rule for tangents.
    #[track_caller]
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self>;

    /// The results of `f`, which may use values from outside. An interpreter that keeps values for a derivative in
    /// reverse mode keeps the arguments alone, and runs `f` again; one that records programs records that.
    #[track_caller]
    fn again(f: &Again<Self>, args: &[Self]) -> Vec<Self> {
        f(args)
    }

    /// A loop that ends by itself: `step` takes a carry to the next one while the first value of the carry, a mask of
    /// rank 0, holds, and at most `most` times.
    ///
    /// Where that mask is known, the host language runs the trips. Elsewhere a loop with a bound is one of that many trips, of
    /// which those after the end change nothing.
    ///
    /// # Panics
    /// When the mask is unknown and there is no bound.
    #[track_caller]
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        repeated(most, init, step)
    }

    /// Whether a loop with a bound runs as many trips as there can be, even where numbers say when it ends: the trips of a
    /// loop around it that is being recorded must leave as much behind as each other.
    #[doc(hidden)]
    fn runs_all_trips() -> bool {
        false
    }

    /// Whether operations are recorded: numbers that depend on inputs are unknown, whatever [`peek`](Self::peek) shows of
    /// others, and what the host language repeats stands in the recorded program as often.
    #[doc(hidden)]
    fn records() -> bool {
        false
    }

    /// The interpreter at which the plain verbs run their program: one that records the program if values are known
    /// numbers, this one if a program is being traced or differentiated already.
    type Trace: BaseTensor + Enter<Self>;

    /// The results of `f` on these values, by way of [`Trace`](Self::Trace): if that is another interpreter, the
    /// program is recorded, optimized with these options and run.
    ///
    /// # Panics
    /// When `f` looks at values that are not known while it is recorded, or a variable escapes from it.
    #[track_caller]
    fn trace(inputs: &[Self], options: Options, f: Traced<'_, Self>) -> Vec<Self>;

    /// The optimized program of `f` at inputs of a [`trace`](Self::trace), and the values it captures, if the trace
    /// records a program. The plain verbs differentiate this program, so the derivative is that of an optimized
    /// program.
    fn recorded(inputs: &[Self::Trace], f: Traced<'_, Self>) -> Option<Recorded<Self::Trace>> {
        Self::Trace::staged(inputs, f)
    }

    /// The optimized program of a function of values like these, and the values it captures, if this interpreter
    /// records programs and `f` does not depend on other values that are being differentiated.
    fn staged(_inputs: &[Self], _f: &mut dyn FnMut(&[Self]) -> Vec<Self>) -> Option<Recorded<Self>> {
        None
    }

    /// The array behind this value, if it is known: `None` of what depends on an input while a program is being traced.
    /// Through it the host language looks at values and decides.
    fn peek(&self) -> Option<Array> {
        None
    }

    /// The operation that made this value, if the interpreter, or one below it, reports on operations.
    fn site(&self) -> Site {
        Site::UNKNOWN
    }

    /// Says that the operations that follow are part of the derivative of the operation at this site;
    /// [`Site::UNKNOWN`] says that they are not. Returns what was said before. An interpreter over `T` passes it on to
    /// `T`.
    fn attribute(_to: Site) -> Site {
        Site::UNKNOWN
    }

    /// Zeros of this shape and element type.
    #[track_caller]
    fn zeros(shape: &[usize], dtype: DType) -> Self {
        Self::constant(Array::zeros(shape, dtype))
    }

    /// `self + other` for numbers of any type; in place if `self` has no other owner.
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
    #[track_caller]
    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        self.accumulate(&other.linear(op))
    }
}

/// [`BaseTensor::repeat`] by loops of `T` and of the host language.
#[track_caller]
pub(crate) fn repeated<T: BaseTensor>(most: Option<usize>, init: Vec<T>, step: WhileFn<'_, T>) -> Vec<T> {
    let (mut carry, mut left) = (init, most.unwrap_or(usize::MAX));
    while left > 0 {
        // What is recorded is one loop if it can be one.
        match (known(&carry[0]).filter(|_| most.is_none() || !T::records()), most) {
            (Some(true), _) => carry = step(carry),
            (Some(false), _) => break,
            (None, Some(_)) => {
                return T::map_accum(left, false, carry, &[], &mut |carry, _| (held(carry, step), Vec::new())).0;
            }
            (None, None) => panic!(
                "while_loop: the number of trips must be bounded where a derivative is taken without a recorded program, but \
                     there is no bound; use while_loop_within"
            ),
        }
        left -= 1;
    }
    carry
}

/// A value of `T` as a constant of the interpreter at which `T` [traces](BaseTensor::Trace): of `T` itself, or of one
/// that records.
#[diagnostic::on_unimplemented(
    message = "values of `{T}` do not enter `{Self}`",
    label = "no level at which programs of `{T}` are traced",
    note = "a value enters the levels above its own, those of the functions that the verbs run: `.lift()` goes up, and never down"
)]
pub trait Enter<T>: BaseTensor {
    /// `t` as a constant here.
    fn enter(t: T) -> Self;
}

impl<T: BaseTensor> Enter<T> for T {
    fn enter(t: T) -> T {
        t
    }
}

/// The distance to the level directly above, see [`Lift`].
#[derive(Clone, Copy, Debug)]
pub struct Next;

/// The distance to the level above the one at the distance `I`, see [`Lift`].
#[derive(Clone, Copy, Debug)]
pub struct Beyond<I>(PhantomData<I>);

/// A tensor of a lower level as a constant of a level above.
///
/// A program that differentiates inside a program works at two levels; a value of the outer one
/// enters the inner one through [`Tensor::lift`](crate::Tensor::lift). Mixing them is a type error.
///
/// `I` is the distance between the levels, [`Next`] or [`Beyond`], which rustc infers: an interpreter over `U` takes
/// the values that enter `U`, which is the next level, and those that `U` can lift, which is beyond it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a level above `{T}`",
    label = "values of `{T}` cannot be lifted to this level",
    note = "a value is lifted from outside of a function that a verb runs to the inside of it; `lift` never goes down"
)]
pub trait Lift<T, I = Next>: BaseTensor {
    /// `t` as a constant of this level.
    #[track_caller]
    fn lift(t: T) -> Self;
}

/// `T: Level<U>` says that `T` and `U` are one level: tensors stand beside tensors of their own level only.
#[diagnostic::on_unimplemented(
    message = "a tensor of another level stands here: `{U}` beside `{Self}`",
    label = "a tensor of the level `{Self}` is needed here",
    note = "a tensor captured from outside of the function: `.lift()` it; if it is a tensor of known numbers, write `Tensor::constant(&x)`; \
            or pass it as data to the form of the verb with data, such as `grad_with`"
)]
pub trait Level<U>: BaseTensor {
    /// The value, which is one of this level.
    fn level(u: &U) -> &Self;
}

impl<T: BaseTensor> Level<T> for T {
    fn level(u: &T) -> &T {
        u
    }
}

/// The result of `f`, whose operations are part of the derivative of the operation at a site.
pub(crate) fn attributed<T: BaseTensor, R>(site: Site, f: impl FnOnce() -> R) -> R {
    let before = T::attribute(site);
    let result = f();
    T::attribute(before);
    result
}

/// A value of an interpreter over `T`, as the values of `T` that it consists of, such as a primal and a tangent.
pub type Group<T> = SmallVec<[T; 2]>;

/// One trip of a loop on groups: from the carry and the current elements of the sequences.
pub type GroupedStep<'a, T> = &'a mut dyn FnMut(Vec<Group<T>>, Vec<Group<T>>) -> Trip<Group<T>>;

/// A loop of `T` for an interpreter over `T`, whose values are groups of values of `T`.
///
/// `step` takes the carry and the current elements as groups, and returns the next carry, in groups of the same sizes,
/// and the outputs, in groups whose sizes are the same in every trip. The results are groups of those sizes.
///
/// # Panics
/// When groups of the carry, or of the outputs of two trips, differ in size; and where [`BaseTensor::map_accum`] does.
///
/// ```
/// use polygrad::base::{Group, map_accum_grouped};
/// use polygrad::{Array, BaseTensor, DType, ops::Binary};
/// // A sum, and beside each partial sum the number of the trip.
/// let start: Group<Array> = [Array::scalar(0.0), Array::scalar(0.0)].into_iter().collect();
/// let x: Group<Array> = [Array::from([1.0, 2.0, 4.0])].into_iter().collect();
/// let (carry, outputs) = map_accum_grouped(3, false, vec![start], &[x], &mut |carry, x| {
///     let sum = carry[0][0].binary(Binary::Add, &x[0][0]);
///     let trip = carry[0][1].binary(Binary::Add, &Array::scalar(1.0));
///     (vec![[sum.clone(), trip.clone()].into_iter().collect()], vec![[sum].into_iter().collect()])
/// });
/// assert_eq!(carry[0][0], Array::scalar(7.0));
/// assert_eq!(carry[0][1], Array::scalar(3.0));
/// assert_eq!(outputs[0][0], Array::from([1.0, 3.0, 7.0]));
/// ```
#[track_caller]
pub fn map_accum_grouped<T: BaseTensor>(
    n: usize,
    reverse: bool,
    init: Vec<Group<T>>,
    xs: &[Group<T>],
    step: GroupedStep<'_, T>,
) -> Trip<Group<T>> {
    let sizes = |groups: &[Group<T>]| groups.iter().map(|group| group.len()).collect::<Vec<usize>>();
    let (of_carry, of_elements, mut of_outputs) = (sizes(&init), sizes(xs), None);
    // A panic inside of the closure would show its line, so what does not fit is reported after the loop.
    let mut misfit: Option<[Vec<usize>; 2]> = None;
    let flat: Vec<T> = xs.iter().flatten().cloned().collect();
    let (carry, outputs) =
        T::map_accum(n, reverse, init.into_iter().flatten().collect(), &flat, &mut |carry, elements| {
            let (carry, outputs) = step(grouped(carry, &of_carry), grouped(elements.to_vec(), &of_elements));
            let (now, before) = (sizes(&outputs), of_outputs.get_or_insert_with(|| sizes(&outputs)));
            for (before, now) in [(&of_carry, sizes(&carry)), (before, now)] {
                if *before != now {
                    misfit.get_or_insert_with(|| [before.clone(), now]);
                }
            }
            (carry.into_iter().flatten().collect(), outputs.into_iter().flatten().collect())
        });
    if let Some([before, now]) = misfit {
        panic!(
            "map_accum_grouped: the step must return the carry in groups as large as those it takes, and outputs in groups as \
             large as those of other trips, but groups of {before:?} become groups of {now:?}; keep together what one value \
             consists of"
        );
    }
    (grouped(carry, &of_carry), grouped(outputs, &of_outputs.unwrap_or_default()))
}

/// The values in groups of these sizes.
fn grouped<T>(values: Vec<T>, sizes: &[usize]) -> Vec<Group<T>> {
    let mut values = values.into_iter();
    sizes.iter().map(|n| values.by_ref().take(*n).collect()).collect()
}
