//! Values of higher-order programs: one type for all objects, and the types of what values hold.
//!
//! Programs are typed at their surface, by the codes of [`crate::object`]; values have this one type, so user code instantiates
//! little. Functions, linear functions, copowers and arrays of functions hold values in turn, so their types stand here; what they
//! do is in the other files: `access` makes values and takes them apart, `machine` calls, `linear` and `accumulators` apply linear
//! functions, `copower` sums, `stacks` keeps functions as tensors. Law: a value has the type that its use requires (the typed
//! surface ensures that, so a match that fails is a bug of this library); [`Val::Zero`] is the zero of every type with addition,
//! at no cost, for any shapes.

use std::any::Any;
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

use polygrad::dtype::DType;
use polygrad::shape::Shape;
use polygrad::source::Site;

use super::Scattered;
use super::recursion::CalledRecursion;
use crate::Monoid;
use crate::shared::Shared;

/// Records a recursive function of this name, written at this place: from its body, the captured value and the argument to the
/// result; `None` if it cannot be recorded.
pub(super) type Recorder<T> =
    fn((&str, Option<&'static Location<'static>>), &Closure<T>, &Val<T>, &Val<T>) -> Option<Val<T>>;

/// The stage of the frame of a call of a recursive function that may be given up and recorded.
pub(super) const WAITS: u8 = 2;

/// The stage of the frame of a call of a recursive function that is not recorded.
pub(super) const RUNS: u8 = 3;

/// The code of a function whose captured value is data: it takes the captured value and the argument.
pub(super) enum Code<T: 'static> {
    /// A program of the pair of both.
    Curried(Closure<T>),
    /// A recursive function, with a name for reports and the place at which it is written; the program takes the
    /// captured value, the function itself, and the argument. The last is what records it.
    Recursive((&'static str, Option<&'static Location<'static>>), Closure<T>, Recorder<T>),
    /// The selection by a mask from the results of two functions: the captured value is the mask and both.
    Selected,
    /// The final state of a fold: the captured value is the argument of the fold.
    Folded,
}

/// A value of any type of the language, with tensors of the interpreter `T`.
///
/// Closed: these are the types of the language.
///
/// ```
/// use polygrad::Array;
/// use polygrad_higher::interpreters::{Shared, Val};
/// let number = |x: f64| Val::Leaf(Array::scalar(x));
/// let pair = Val::Pair(Shared::new((number(1.0), Val::Left(Shared::new(number(2.0))))));
/// assert_eq!(pair.to_string(), "(1.0, left 2.0)");
/// ```
pub enum Val<T: 'static> {
    /// Zero, of any type with addition.
    Zero,
    /// The value of the unit type.
    Nil,
    /// A tensor.
    Leaf(T),
    /// The cotangent of a tensor that is zero but at some indices. Only accumulators, sums and copowers hold one: the result
    /// of a linear function is a tensor.
    Scattered(Rc<Scattered<T>>),
    /// A pair.
    Pair(Shared<(Val<T>, Val<T>)>),
    /// The left case of a sum.
    Left(Shared<Val<T>>),
    /// The right case of a sum.
    Right(Shared<Val<T>>),
    /// The left case where the mask holds, otherwise the right one: a case that is not known while a program is traced.
    Either(Shared<(T, Val<T>, Val<T>)>),
    /// A function.
    Fun(Closure<T>),
    /// A linear function.
    Lin(Lin<T>),
    /// A copower.
    Bag(Bag<T>),
    /// A value of a monoid of the host language.
    Mono(Rc<dyn AnyMonoid>),
    /// An array of values that tensors alone do not represent, such as functions.
    Many(Rc<FunctionArray<T>>),
}

/// A value of a monoid with its type erased.
///
/// ```
/// use polygrad::Array;
/// use std::rc::Rc;
/// use polygrad_higher::Parity;
/// use polygrad_higher::interpreters::{AnyMonoid, Val};
/// // A mark of a dependency analysis, as a value of a program.
/// let mark: Val<Array> = Val::Mono(Rc::new(Parity(true)));
/// let Val::Mono(any) = &mark else { panic!("a mark") };
/// let any: &dyn AnyMonoid = &**any;
/// assert_eq!((any.value().downcast_ref(), any.value().downcast_ref::<u64>()), (Some(&Parity(true)), None));
/// assert_eq!(any.sum(&Parity(true)).value().downcast_ref(), Some(&Parity(false)));
/// ```
pub trait AnyMonoid {
    /// The sum with a value of the same type.
    ///
    /// Example: [`AnyMonoid`].
    fn sum(&self, other: &dyn AnyMonoid) -> Rc<dyn AnyMonoid>;

    /// The value.
    ///
    /// Example: [`AnyMonoid`].
    fn value(&self) -> &dyn Any;
}

impl<M: Monoid> AnyMonoid for M {
    fn sum(&self, other: &dyn AnyMonoid) -> Rc<dyn AnyMonoid> {
        Rc::new(self.plus(other.value().downcast_ref().expect("the types of programs keep monoids apart")))
    }

    fn value(&self) -> &dyn Any {
        self
    }
}

/// A function of values, with what it captures. Chains of functions that call or capture each other may be as long as
/// memory allows, and are released without recursion.
///
/// Example: [`Backward::pulled`](super::Backward::pulled).
pub struct Closure<T: 'static>(pub(super) Shared<dyn Callable<T>>);

/// What the machine does next.
pub(super) enum Transition<T: 'static> {
    /// The result of the current call.
    Value(Val<T>),
    /// A call, in place of the current one.
    Call(Closure<T>, Val<T>),
}

/// What can be called.
pub(super) trait Callable<T: 'static> {
    /// Starts the call of this function, which is `own`, at a value.
    fn enter(&self, own: &Closure<T>, x: Val<T>, frames: &mut Frames<T>) -> Transition<T>;

    /// Goes on after the call at a stage, with what the frame kept, and the result of the call.
    fn resume(&self, own: &Closure<T>, stage: u8, kept: Val<T>, y: Val<T>, frames: &mut Frames<T>) -> Transition<T> {
        let _ = (own, stage, kept, y, frames);
        unreachable!("a function that makes no calls")
    }

    /// The result of a function that makes no calls; the argument back for another one.
    fn direct(&self, x: Val<T>) -> Result<Val<T>, Val<T>> {
        Err(x)
    }

    /// How deep calls of the host nest in [`direct`](Callable::direct); `None` if the function makes calls.
    fn height(&self) -> Option<u8> {
        None
    }

    /// The function with errors reported at a place, if that is not a matter of one call of the host.
    fn placed(&self, at: &'static Location<'static>) -> Option<Closure<T>> {
        let _ = at;
        None
    }

    /// For the frame of a choice that runs both branches: the value whose case is not known, and whether the branch of the
    /// left case is running.
    fn undecided(&self, stage: u8, kept: &Val<T>) -> Option<(Val<T>, bool)> {
        let _ = (stage, kept);
        None
    }

    /// For the frame of a call of a recursive function: the address of the function.
    fn activates(&self, own: &Closure<T>, stage: u8) -> Option<usize> {
        let _ = (own, stage);
        None
    }

    /// The call of the body of a recursive function.
    fn body(&self, own: &Closure<T>, x: Val<T>) -> Transition<T> {
        let _ = (own, x);
        unreachable!("a function that is not recursive")
    }

    /// The result of a recursive function as a recorded one, if it can be recorded.
    fn recorded(&self, own: &Closure<T>, x: &Val<T>) -> Option<Val<T>> {
        let _ = (own, x);
        None
    }

    /// The code and the captured value; `None` if a closure of the host language hides what it captures.
    fn parts(&self) -> Option<(&Code<T>, &Val<T>)> {
        None
    }
}

/// What remains to be done with the result of a call.
pub(super) enum Frame<T: 'static> {
    /// The rest of a rule, from a stage, with a value.
    Rule(Closure<T>, u8, Val<T>),
    /// The rest of the evaluation of a linear function.
    Linear(Task<T>),
}

/// The frames of a run, the latest last.
pub(super) struct Frames<T: 'static> {
    #[expect(clippy::box_collection, reason = "the next run takes the box, of a type that is not known there")]
    pub(super) frames: Box<Vec<Frame<T>>>,
    /// The number of frames that the memory of calls allows.
    pub(super) most: usize,
    /// The number of choices that wait for the branch that they run besides another one.
    pub(super) undecided: usize,
    /// The recursive function that was called last.
    pub(super) recursion: CalledRecursion,
    /// The address of what stands for a recursive function whose body runs to be traced; 0 if none does.
    pub(super) probe: usize,
}

/// What a call of a recursive function finds of an earlier one that waits for it.
pub(super) enum Activation<T: 'static> {
    /// There is none.
    First,
    /// It runs, whatever conditions are not known.
    Runs,
    /// This one, in whose body a condition that is not known decides whether the call takes place, with its argument. Its frame
    /// and those after it are gone.
    Conditional(Closure<T>, Val<T>),
}

/// The mode of evaluation of a linear function.
///
/// Closed: code of a linear function runs in each mode.
///
/// Example: [`pullback_by`](crate::pullback_by).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By tuples of vectors.
    Tuples,
    /// By adding to cells.
    Cells,
}

/// The code of a linear function that is not a combination of others. It may leave out what its destination does not need.
pub(super) type LinOperation<T> = Rc<dyn Fn(Mode, Val<T>, &Place<T>) -> Val<T>>;

/// A linear function. The functions that it combines or captures may be as many as the program is long.
///
/// Example: [`Backward::pulled`](super::Backward::pulled).
pub struct Lin<T: 'static> {
    pub(super) root: LinRoot<T>,
    /// The number of nodes of a function that only moves vectors; 0 of any other.
    pub(super) moves: u8,
}

/// A node, or one of the most frequent ones, which take no memory.
pub(super) enum LinRoot<T: 'static> {
    Id,
    Zero,
    Fst,
    Snd,
    Node(Shared<LinNode<T>>),
}

pub(super) enum LinNode<T: 'static> {
    Id,
    Zero,
    Then(Lin<T>, Lin<T>),
    Pair(Lin<T>, Lin<T>),
    /// The sum of a function of the first component and a function of the second one.
    Copair(Lin<T>, Lin<T>),
    Fst,
    Snd,
    Plus(Lin<T>, Lin<T>),
    Bind(Lin<T>, Lin<T>),
    Swap(Val<T>),
    Eval(Val<T>),
    Singleton(Val<T>),
    Fold(Val<T>),
    Inl,
    Inr,
    CastLeft,
    CastRight,
    Select(T, Lin<T>, Lin<T>),
    Operation(LinOperation<T>),
}

/// What remains of an evaluation, which has one current vector: a frame of the machine.
pub(super) enum Task<T: 'static> {
    /// Replaces the current vector by the function of it.
    Apply(Lin<T>, Mode),
    /// Replaces the current vector by the function of this vector.
    ApplyTo(Lin<T>, Mode, Val<T>),
    /// Replaces the current value, a linear function, by its result at this vector.
    ApplyResult(Mode, Val<T>),
    /// Adds the current vector to a destination.
    Add(Place<T>),
    /// Adds the function of the current vector to a destination.
    Send(Lin<T>, Place<T>),
    /// Adds the function of this vector to a destination.
    SendOf(Lin<T>, Val<T>, Place<T>),
    /// Adds the result of the current value, a linear function, at this vector to a destination.
    SendResult(Val<T>, Place<T>),
    /// Adds the linear function that a function gives at a point, of a vector, to a destination.
    SendEntry(Box<(Val<T>, Val<T>, Val<T>, Place<T>)>),
    /// Takes the current vector from a cell.
    Take(Cell<T>),
    /// Joins the current vector with the function of this vector.
    Second(Lin<T>, Mode, Val<T>, Join<T>),
    /// Joins this vector with the current one.
    Join(Val<T>, Join<T>),
    /// Adds the first component of the current pair to the function of its second component.
    Bound(Lin<T>, Mode),
    /// The current vector with tensors in place of their nonzero elements.
    Dense,
}

/// The combination of two results.
pub(super) enum Join<T> {
    Pair,
    Plus,
    Select(T),
}

/// An accumulator.
pub(super) struct Cell<T: 'static>(pub(super) Shared<RefCell<CellContents<T>>>);

pub(super) enum CellContents<T: 'static> {
    Empty,
    Sum(Val<T>),
    Parts(Cell<T>, Cell<T>),
    /// A vector of the left case of a sum, or of the right one.
    Case(bool, Cell<T>),
}

/// The destination of a vector.
pub(super) enum Place<T: 'static> {
    /// None: the vector is not needed.
    Nowhere,
    /// A cell.
    To(Cell<T>),
    /// A destination for each component of a pair.
    Parts(Rc<(Place<T>, Place<T>)>),
}

/// A function of a point and a vector.
pub(super) type Each<T> = Rc<dyn Fn(Val<T>, Val<T>) -> Val<T>>;

/// The sum over the entries of a copower of a function of an entry.
pub(super) type Total<T> = Rc<dyn Fn(&Each<T>) -> Val<T>>;

/// A value of a copower type; zero is [`Val::Zero`].
///
/// Example: [`raw_tangent`](super::Curry::raw_tangent).
pub struct Bag<T: 'static>(pub(super) Shared<Entries<T>>);

pub(super) enum Entries<T: 'static> {
    One(Val<T>, Val<T>),
    Zip(Val<T>, Val<T>),
    Both(Bag<T>, Bag<T>),
    /// Entries known only by their sums: those of a derivative of a copower.
    Total(Total<T>),
}

/// An entry.
pub(super) enum Entry<'a, T: 'static> {
    /// A point and a vector.
    One(&'a Val<T>, &'a Val<T>),
    /// An array of points, and an array of vectors.
    Zip(&'a Val<T>, &'a Val<T>),
    /// Entries known only by their sums.
    Total(&'a Total<T>),
}

/// The structure of a value around its tensors.
pub(super) enum Skeleton<T: 'static> {
    Zero,
    Nil,
    Leaf,
    Pair(Box<Skeleton<T>>, Box<Skeleton<T>>),
    /// A tensor that is zero except at some indices, with its shape and element type, and for each update the number of
    /// index arrays and the operation that it is the derivative of.
    Scattered(Shape, DType, Vec<(usize, Site)>),
    /// The entries of a copower: whether each is an array of points, and the structures of points and vectors.
    Bag(Vec<(bool, Skeleton<T>, Skeleton<T>)>),
    /// The code of a function, and the structure of its captures.
    Fun(Code<T>, Box<Skeleton<T>>),
    /// An array of this number of elements of this structure.
    Many(usize, Box<Skeleton<T>>),
    /// In the structure of elements: a value that all elements share, and that may differ from one array to another.
    Fixed(Box<Skeleton<T>>),
    /// A value from outside the loop.
    Outer(Val<T>),
}

/// The elements of an array that tensors alone do not represent.
///
/// Example: [`Backward::pulled`](super::Backward::pulled).
pub struct FunctionArray<T: 'static>(pub(super) Kept<T>);

/// How elements are kept.
pub(super) enum Kept<T: 'static> {
    /// `n` values of one structure, whose tensors are stacked along a new outermost axis.
    Alike { n: usize, form: Skeleton<T>, leaves: Vec<T> },
    /// The values one by one.
    Each(Vec<Val<T>>),
}
