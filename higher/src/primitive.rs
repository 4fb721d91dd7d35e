//! Primitive operations: first-order programs that are given once, for every interpreter `T: BaseTensor`.
//!
//! Law: a primitive has no derivative rule. Instances that differentiate run it at dual numbers (`push_primitive` and
//! `pull_primitive` next to the list of interpreters), so its derivative is that of the operations it consists of, from
//! the tables of [`polygrad::ops`].

use std::marker::PhantomData;

use polygrad::array::Array;
use polygrad::base::BaseTensor;
use polygrad::dtype::{DType, Elem};
use polygrad::ops::{Binary, Compare, Contract, Discrete, Linear, Unary};
use polygrad::program::{Program, interpret};
use polygrad::seam::mistake;
use polygrad::shape::Show;

use super::object::{Arr, Element, Ground, Int, Layout, Mask, Prod, Real, Stack, Unit};

/// A first-order program as an operation of the higher-order language.
///
/// ```
/// use polygrad::{BaseTensor, Tensor};
/// use polygrad_higher::{Primitive, Prod, Real, Vector};
///
/// /// Any generic program of tensors.
/// fn softened<T: BaseTensor>(x: &Tensor<T, 1>, by: &Tensor<T, 0>) -> Tensor<T, 0> {
///     (x / by).logsumexp() * by
/// }
///
/// #[derive(Clone)]
/// struct Softened;
///
/// impl Primitive for Softened {
///     type Dom = Prod<Vector, Real>;
///     type Cod = Real;
///     fn name(&self) -> String {
///         "softened".into()
///     }
///     fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
///         let (x, by) = (Tensor::from_raw(args[0].clone()), Tensor::from_raw(args[1].clone()));
///         vec![softened(&x, &by).into_raw()]
///     }
/// }
/// ```
pub trait Primitive: Clone + 'static {
    /// The type of the argument.
    type Dom: Ground;
    /// The type of the result.
    type Cod: Ground;

    /// The name in printed programs.
    ///
    /// Example: [`Primitive::complete`].
    fn name(&self) -> String;

    /// The leaves of the result, from those of the argument.
    ///
    /// Example: [`Primitive::complete`].
    #[track_caller]
    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T>;

    /// The leaves of the argument, where `None` is a symbolic zero: a (co)tangent, which is a primal value at the next
    /// order of differentiation. By default only the shape of a number is known.
    ///
    /// ```
    /// use polygrad::Array;
    /// use polygrad::ops::Binary;
    /// use polygrad_higher::Primitive;
    /// use polygrad_higher::primitive::Pointwise2;
    /// let product = Pointwise2::<0>(Binary::Mul);
    /// assert_eq!((product.name(), product.run(&[2.0, 3.0].map(Array::scalar))), ("mul".into(), vec![Array::scalar(6.0)]));
    /// assert_eq!(product.complete(&[Some(Array::scalar(2.0)), None]), [Array::scalar(2.0), Array::scalar(0.0)]);
    /// ```
    fn complete<T: BaseTensor>(&self, args: &[Option<T>]) -> Vec<T> {
        completed(&self.name(), &Self::Dom::layout(), args)
    }
}

/// An elementwise function of one array of rank `D`.
///
/// ```
/// use polygrad::Array;
/// use polygrad::ops::{Binary, Compare, Unary};
/// use polygrad_higher::Primitive;
/// use polygrad_higher::primitive::{Comparison, Logic, Pointwise, Pointwise2, SumAll, ToFloat};
/// let (x, y) = (Array::from([4.0, 9.0]), Array::from([5.0, 3.0]));
/// assert_eq!(Pointwise::<1>(Unary::Sqrt).run(&[x.clone()]), [Array::from([2.0, 3.0])]);
/// assert_eq!(Pointwise2::<1>(Binary::Max).run(&[x.clone(), y]), [Array::from([5.0, 9.0])]);
/// assert_eq!(SumAll::<1>.run(&[x]), [Array::scalar(13.0)]);
/// assert_eq!(ToFloat.run(&[Array::scalar(3)]), [Array::scalar(3.0)]);
/// assert_eq!(Comparison(Compare::Lt).run(&[2.0, 3.0].map(Array::scalar)), [Array::scalar(true)]);
/// let found = [Logic::And, Logic::Or, Logic::Xor].map(|op| op.run(&[true, true].map(Array::scalar))[0].clone());
/// assert_eq!(found, [true, true, false].map(Array::scalar));
/// ```
#[derive(Clone)]
pub struct Pointwise<const D: usize>(
    /// The row of the table.
    pub Unary,
);

impl<const D: usize> Primitive for Pointwise<D> {
    type Dom = Arr<D>;
    type Cod = Arr<D>;

    fn name(&self) -> String {
        self.0.name().into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        vec![args[0].unary(self.0)]
    }
}

/// An elementwise function of two arrays of one shape and of rank `D`.
///
/// Example: [`Pointwise`].
#[derive(Clone)]
pub struct Pointwise2<const D: usize>(
    /// The row of the table.
    pub Binary,
);

impl<const D: usize> Primitive for Pointwise2<D> {
    type Dom = Prod<Arr<D>, Arr<D>>;
    type Cod = Arr<D>;

    fn name(&self) -> String {
        self.0.name().into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        vec![args[0].binary(self.0, &args[1])]
    }
}

/// A constant array of rank `D` with elements `E`.
///
/// Example: [`Constant::new`].
#[derive(Clone)]
pub struct Constant<const D: usize, E = f64>(Array, PhantomData<E>);

impl<const D: usize, E: Elem> Constant<D, E> {
    /// This array.
    ///
    /// ```
    /// use polygrad::Array;
    /// use polygrad_higher::Primitive;
    /// use polygrad_higher::primitive::{Constant, Gather, Iota, MatVec, Replicate, ScatterAdd};
    /// assert_eq!(Constant::<0, i64>::new(Array::scalar(3)).run::<Array>(&[]), [Array::scalar(3)]);
    /// assert!(std::panic::catch_unwind(|| Constant::<0, i64>::new(Array::scalar(3.0))).is_err());
    /// assert_eq!(Iota(3).run::<Array>(&[]), [Array::from([0, 1, 2])]);
    /// assert_eq!(Replicate(3).run(&[Array::scalar(2.0)]), [Array::from([2.0, 2.0, 2.0])]);
    /// let (w, x) = (Array::from([[1.0, 2.0], [3.0, 4.0]]), Array::from([1.0, 10.0]));
    /// assert_eq!(MatVec.run(&[w, x.clone()]), [Array::from([21.0, 43.0])]);
    /// let at = |k: i64| Gather.run(&[x.clone(), Array::scalar(k)]);
    /// assert_eq!((at(1), at(2)), (vec![Array::scalar(10.0)], vec![Array::scalar(0.0)]));
    /// let values = [x.clone(), Array::from([1, 1, 7]), Array::from([10.0, 20.0, 30.0])];
    /// assert_eq!(ScatterAdd.run(&values), [Array::from([1.0, 40.0])]);
    /// ```
    ///
    /// # Panics
    /// When the array has another rank or element type.
    #[track_caller]
    pub fn new(array: Array) -> Self {
        if array.rank() != D || array.dtype() != E::DTYPE {
            panic!(
                "constant: the array must be {} of rank {D}, but it is {} of rank {}; give the type it has",
                E::DTYPE,
                array.dtype(),
                array.rank()
            );
        }
        Constant(array, PhantomData)
    }
}

impl<const D: usize, E: Element> Primitive for Constant<D, E> {
    type Dom = Unit;
    type Cod = Arr<D, E>;

    fn name(&self) -> String {
        self.0.to_string()
    }

    fn run<T: BaseTensor>(&self, _: &[T]) -> Vec<T> {
        vec![T::constant(self.0.clone())]
    }
}

/// The integers `0, 1, .., n - 1`.
///
/// Example: [`Constant::new`].
#[derive(Clone)]
pub struct Iota(
    /// How many.
    pub usize,
);

impl Primitive for Iota {
    type Dom = Unit;
    type Cod = Arr<1, i64>;

    fn name(&self) -> String {
        format!("iota {}", self.0)
    }

    fn run<T: BaseTensor>(&self, _: &[T]) -> Vec<T> {
        vec![T::discrete(&Discrete::Iota { n: self.0 }, &[])]
    }
}

/// The sum of all elements of an array of rank `D`.
///
/// Example: [`Pointwise`].
#[derive(Clone)]
pub struct SumAll<const D: usize>;

impl<const D: usize> Primitive for SumAll<D> {
    type Dom = Arr<D>;
    type Cod = Real;

    fn name(&self) -> String {
        "sum".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let axes: Vec<usize> = (0..D).collect();
        vec![args[0].linear(&Linear::sum(args[0].shape(), &axes))]
    }
}

/// `n` copies of a number.
///
/// Example: [`Constant::new`].
#[derive(Clone)]
pub struct Replicate(
    /// How many.
    pub usize,
);

impl Primitive for Replicate {
    type Dom = Real;
    type Cod = Arr<1>;

    fn name(&self) -> String {
        format!("replicate {}", self.0)
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        vec![args[0].linear(&Linear::replicate(&[self.0], &[]))]
    }
}

/// The product of a matrix and a vector: one number for each row.
///
/// Example: [`Constant::new`].
///
/// # Panics
/// When the vector is not as long as the rows of the matrix.
#[derive(Clone)]
pub struct MatVec;

impl Primitive for MatVec {
    type Dom = Prod<Arr<2>, Arr<1>>;
    type Cod = Arr<1>;

    fn name(&self) -> String {
        "matvec".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let [rows, columns] = args[0].shape() else {
            mistake(&format!(
                "matvec: the first operand must be a matrix, but it is of rank {}; give a matrix, then a vector",
                args[0].shape().len()
            ))
        };
        if args[1].shape() != [*columns] {
            mistake(&format!(
                "matvec: the vector must be as long as the rows of the matrix {}, but its shape is {}; give one number for each column",
                Show(args[0].shape()),
                Show(args[1].shape())
            ));
        }
        vec![T::contract(&Contract::axes(&[*rows, *columns], &[0, 1], &[1], &[0]), &args[0], &args[1])]
    }
}

/// The element of a vector at an index; 0 at an index out of bounds.
///
/// Example: [`Constant::new`].
#[derive(Clone)]
pub struct Gather;

impl Primitive for Gather {
    type Dom = Prod<Arr<1>, Int>;
    type Cod = Real;

    fn name(&self) -> String {
        "gather".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        vec![args[0].gather(&args[1..2])]
    }
}

/// A vector with values added at indices; values at indices out of bounds are dropped.
///
/// Example: [`Constant::new`].
#[derive(Clone)]
pub struct ScatterAdd;

impl Primitive for ScatterAdd {
    type Dom = Prod<Arr<1>, Prod<Arr<1, i64>, Arr<1>>>;
    type Cod = Arr<1>;

    fn name(&self) -> String {
        "scatter_add".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        vec![args[0].clone().scatter_add(&args[1..2], &args[2])]
    }
}

/// Primitives that are given by a type alone.
macro_rules! of_type {
    ($($(#[$example:meta])* $primitive:ident)*) => { $(
        impl<A> $primitive<A> {
            /// For values, or elements, of type `A`.
            $(#[$example])*
            pub fn new() -> Self {
                $primitive(PhantomData)
            }
        }

        impl<A> Default for $primitive<A> {
            fn default() -> Self {
                $primitive::new()
            }
        }

        impl<A> Clone for $primitive<A> {
            fn clone(&self) -> Self {
                $primitive::new()
            }
        }
    )* };
}

of_type! {
    ///
    /// Example: [`RowAt`].
    RowAt
    ///
    /// Example: [`RowAt`].
    Take
    ///
    /// Example: [`Neighbours`].
    Neighbours
    ///
    /// Example: [`IsSingle`].
    IsSingle
    ///
    /// Example: [`Compact`].
    Compact
    ///
    /// Example: [`ZeroTangent`].
    ZeroTangent
}

/// The element of an array at an index, of any type of elements; zeros at an index out of bounds.
///
/// ```
/// use polygrad::Array;
/// use polygrad_higher::primitive::{RowAt, Take};
/// use polygrad_higher::{Primitive, Real, Vector};
/// let rows = Array::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(RowAt::<Vector>::new().run(&[rows, Array::scalar(1)]), [Array::from([3.0, 4.0])]);
/// let xs = Array::from([10.0, 20.0, 30.0]);
/// assert_eq!(Take::<Real>::new().run(&[xs, Array::from([2, 0, 3])]), [Array::from([30.0, 10.0, 0.0])]);
/// ```
pub struct RowAt<A>(PhantomData<A>);

impl<A: Ground + Stack<Stacked: Ground>> Primitive for RowAt<A> {
    type Dom = Prod<A::Stacked, Int>;
    type Cod = A;

    fn name(&self) -> String {
        "row".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        rows_at(args)
    }
}

/// The elements of an array at indices, of any type of elements; zeros at indices out of bounds.
///
/// Example: [`RowAt`].
pub struct Take<A>(PhantomData<A>);

impl<A: Stack<Stacked: Ground>> Primitive for Take<A> {
    type Dom = Prod<A::Stacked, Arr<1, i64>>;
    type Cod = A::Stacked;

    fn name(&self) -> String {
        "take".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        rows_at(args)
    }
}

/// The elements at even positions, and those at odd positions, of an array that is padded at its end with the given
/// element to an even number of elements, at least two: a level of a tree of neighbours.
///
/// ```
/// use polygrad::Array;
/// use polygrad_higher::primitive::Neighbours;
/// use polygrad_higher::{Primitive, Real};
/// let pairs = Neighbours::<Real>::new().run(&[Array::scalar(0.0), Array::from([1.0, 2.0, 3.0])]);
/// assert_eq!(pairs, [Array::from([1.0, 3.0]), Array::from([2.0, 0.0])]);
/// ```
pub struct Neighbours<A>(PhantomData<A>);

impl<A: Ground + Stack<Stacked: Ground>> Primitive for Neighbours<A> {
    type Dom = Prod<A, A::Stacked>;
    type Cod = Prod<A::Stacked, A::Stacked>;

    fn name(&self) -> String {
        "neighbours".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let (elements, arrays) = args.split_at(args.len() / 2);
        let padded = |(element, array): (&T, &T)| {
            let n = array.shape()[0];
            let row: Vec<usize> = std::iter::once(1).chain(element.shape().iter().copied()).collect();
            let missing = if n == 0 { 2 } else { n % 2 };
            let row = element.linear(&Linear::reshape(element.shape(), &row));
            if missing == 0 {
                return array.clone();
            }
            T::concat(0, &std::iter::once(array.clone()).chain(vec![row; missing]).collect::<Vec<T>>())
        };
        let padded: Vec<T> = elements.iter().zip(arrays).map(padded).collect();
        let from = |start: usize| {
            let half = move |x: &T| x.linear(&Linear::slice(x.shape(), 0, start, x.shape()[0] / 2, 2));
            padded.iter().map(half)
        };
        from(0).chain(from(1)).collect()
    }
}

/// Whether an array has one element. This is known while a program is traced. Of elements without arrays, there is one.
///
/// ```
/// use polygrad::Array;
/// use polygrad_higher::primitive::IsSingle;
/// use polygrad_higher::{Primitive, Real};
/// let single = |xs: Array| IsSingle::<Real>::new().run(&[xs]);
/// assert_eq!(single(Array::from([5.0])), [Array::scalar(true)]);
/// assert_eq!(single(Array::from([5.0, 6.0])), [Array::scalar(false)]);
/// ```
pub struct IsSingle<A>(PhantomData<A>);

impl<A: Stack<Stacked: Ground>> Primitive for IsSingle<A> {
    type Dom = A::Stacked;
    type Cod = Mask;

    fn name(&self) -> String {
        "is_single".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        vec![T::constant(Array::scalar(args.first().is_none_or(|array| array.shape()[0] == 1)))]
    }
}

/// The subarrays of all arrays at the indices that follow them.
fn rows_at<T: BaseTensor>(args: &[T]) -> Vec<T> {
    let (ix, arrays) = args.split_last().expect("indices");
    rows_of(arrays, ix).collect()
}

/// The subarrays of arrays at indices.
fn rows_of<'a, T: BaseTensor>(arrays: &'a [T], ix: &'a T) -> impl Iterator<Item = T> + 'a {
    arrays.iter().map(|a| a.gather(std::slice::from_ref(ix)))
}

/// The number of elements for which a mask holds, and these elements in order, padded with zeros: the result has the
/// length of the argument, so its shape does not depend on values.
///
/// ```
/// use polygrad::Array;
/// use polygrad_higher::primitive::Compact;
/// use polygrad_higher::{Primitive, Real};
/// let operands = [Array::from([true, false, true]), Array::from([5.0, 6.0, 7.0])];
/// assert_eq!(Compact::<Real>::new().run(&operands), [Array::scalar(2), Array::from([5.0, 7.0, 0.0])]);
/// ```
///
/// # Panics
/// When an array has a different number of elements than the mask.
pub struct Compact<A>(PhantomData<A>);

impl<A: Stack<Stacked: Ground>> Primitive for Compact<A> {
    type Dom = Prod<Arr<1, bool>, A::Stacked>;
    type Cod = Prod<Int, A::Stacked>;

    fn name(&self) -> String {
        "filter".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let (mask, arrays) = (&args[0], &args[1..]);
        let n = mask.shape()[0];
        if let Some(other) = arrays.iter().find(|a| a.shape()[0] != n) {
            mistake(&format!(
                "filter: each array must have an element for each of the mask's {n}, but one has shape {}; give a mask as long",
                Show(other.shape())
            ));
        }
        let integers = T::discrete(&Discrete::ToInt, &[mask]);
        let numbers = T::discrete(&Discrete::ToFloat(DType::F64), &[&integers]);
        let count = T::discrete(&Discrete::ToInt, &[&numbers.linear(&Linear::sum(&[n], &[0]))]);
        let order = T::discrete(&Discrete::ArgSort { axis: 0, descending: true }, &[&integers]);
        let places = T::discrete(&Discrete::Iota { n }, &[]);
        let all = |x: &T| x.linear(&Linear::replicate(&[n], &[]));
        let kept = T::discrete(&Discrete::Compare(Compare::Lt), &[&places, &all(&count)]);
        // A read out of bounds gives zero.
        let from = T::select(&kept, &order, &all(&T::constant(Array::scalar(n as i64))));
        std::iter::once(count).chain(rows_of(arrays, &from)).collect()
    }
}

/// The zero (co)tangent of a value: zeros of the shapes of its floats.
///
/// ```
/// use polygrad::Array;
/// use polygrad_higher::primitive::ZeroTangent;
/// use polygrad_higher::{Int, Primitive, Prod, Vector};
/// // The integer has no tangent.
/// let zeros = ZeroTangent::<Prod<Vector, Int>>::new().run(&[Array::from([1.0, 2.0]), Array::scalar(3)]);
/// assert_eq!(zeros, [Array::from([0.0, 0.0])]);
/// ```
pub struct ZeroTangent<A>(PhantomData<A>);

impl<A: Ground> Primitive for ZeroTangent<A> {
    type Dom = A;
    type Cod = A::Tangent;

    fn name(&self) -> String {
        "zeros".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        args.iter().filter(|x| x.dtype().is_float()).map(|x| T::zeros(x.shape(), x.dtype())).collect()
    }
}

/// The comparison of two numbers, as a mask.
///
/// Example: [`Pointwise`].
#[derive(Clone)]
pub struct Comparison(
    /// The comparison.
    pub Compare,
);

impl Primitive for Comparison {
    type Dom = Prod<Real, Real>;
    type Cod = Mask;

    fn name(&self) -> String {
        format!("{:?}", self.0).to_lowercase()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        vec![T::discrete(&Discrete::Compare(self.0), &[&args[0], &args[1]])]
    }
}

/// A function of two truth values.
///
/// Closed: an interpreter fails to compile where a new operation has no meaning yet.
///
/// Example: [`Pointwise`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    /// Conjunction: the product of the ring of two elements.
    And,
    /// Disjunction.
    Or,
    /// Exclusive or: the sum of the ring of two elements.
    Xor,
}

impl Primitive for Logic {
    type Dom = Prod<Mask, Mask>;
    type Cod = Mask;

    fn name(&self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        let both = || T::discrete(&Discrete::And, &[&args[0], &args[1]]);
        let one = || T::discrete(&Discrete::Or, &[&args[0], &args[1]]);
        vec![match self {
            Logic::And => both(),
            Logic::Or => one(),
            Logic::Xor => T::discrete(&Discrete::And, &[&one(), &T::discrete(&Discrete::Not, &[&both()])]),
        }]
    }
}

/// An integer as a number.
///
/// Example: [`Pointwise`].
#[derive(Clone)]
pub struct ToFloat;

impl Primitive for ToFloat {
    type Dom = Int;
    type Cod = Real;

    fn name(&self) -> String {
        "to_float".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        vec![T::discrete(&Discrete::ToFloat(DType::F64), &[&args[0]])]
    }
}

/// A recorded program.
///
/// ```
/// use polygrad::program::Program;
/// use polygrad::{Array, Function, tensor};
/// use polygrad_higher::primitive::Recorded;
/// use polygrad_higher::{self as higher, Expr, Language, Primitive, Prod, Real, apply, fun1};
/// /// A program of the array language, as an operation.
/// fn doubled<C: Language>(program: Program) -> Expr<C, Real, Real> {
///     fun1(|x| apply(Recorded::<Real, Real>::new(program), x.at()) * 2.0)
/// }
/// let sine = Function::stage(|x| x.sin(), &tensor(1.0)).program().clone();
/// assert_eq!(higher::run(doubled(sine.clone()), &tensor(0.5)), tensor(2.0 * 0.5_f64.sin()));
/// assert_eq!(higher::grad(doubled(sine.clone()), &tensor(0.5)), tensor(2.0 * 0.5_f64.cos()));
/// assert_eq!(Recorded::<Real, Real>::new(sine.clone()).run(&[Array::scalar(0.5)]), [Array::scalar(0.5_f64.sin())]);
/// assert!(std::panic::catch_unwind(|| Recorded::<Prod<Real, Real>, Real>::new(sine)).is_err());
/// ```
pub struct Recorded<A, B> {
    program: Program,
    types: PhantomData<(A, B)>,
}

impl<A, B> Recorded<A, B> {
    /// A program whose types nobody asks for.
    pub(crate) fn untyped(program: Program) -> Self {
        Recorded { program, types: PhantomData }
    }
}

impl<A: Ground, B: Ground> Recorded<A, B> {
    /// A program whose inputs are the leaves of `A`, and whose results are the leaves of `B`.
    ///
    /// Example: [`Recorded`].
    ///
    /// # Panics
    /// When the program has other numbers of inputs or results.
    #[track_caller]
    pub fn new(program: Program) -> Self {
        let (inputs, results) = (program.inputs().len(), program.outputs().len());
        let (leaves, values) = (leaves(&A::layout()), leaves(&B::layout()));
        if (inputs, results) != (leaves, values) {
            panic!(
                "recorded: the program must have {leaves} inputs and {values} results, but it has {inputs} and {results}; give the \
                 types of the program"
            );
        }
        Recorded::untyped(program)
    }
}

impl<A, B> Clone for Recorded<A, B> {
    fn clone(&self) -> Self {
        Recorded::untyped(self.program.clone())
    }
}

/// The ranks and element types of the arrays in a value.
pub(crate) fn kinds(layout: &Layout) -> Vec<(usize, DType)> {
    match layout {
        Layout::Unit => Vec::new(),
        Layout::Leaf(rank, dtype) => vec![(*rank, *dtype)],
        Layout::Pair(a, b) => [kinds(a), kinds(b)].concat(),
    }
}

/// The (co)tangents of the leaves of a layout, from those of its floats, which alone have some.
pub(crate) fn of_floats<T>(layout: &Layout, floats: impl IntoIterator<Item = Option<T>>) -> Vec<Option<T>> {
    let mut floats = floats.into_iter();
    let leaf = |(_, dtype): (usize, DType)| if dtype.is_float() { floats.next().flatten() } else { None };
    kinds(layout).into_iter().map(leaf).collect()
}

/// The leaves of an argument in which symbolic zeros are numbers: the shape of no other zero is known.
pub(crate) fn completed<T: BaseTensor>(name: &str, layout: &Layout, args: &[Option<T>]) -> Vec<T> {
    let leaf = |(arg, (rank, dtype)): (&Option<T>, (usize, DType))| match arg {
        Some(arg) => arg.clone(),
        None if rank == 0 => T::zeros(&[], dtype),
        None => unreachable!("{name} has an argument of unknown shape"),
    };
    args.iter().zip(kinds(layout)).map(leaf).collect()
}

/// The number of arrays in a value.
pub(crate) fn leaves(layout: &Layout) -> usize {
    match layout {
        Layout::Unit => 0,
        Layout::Leaf(..) => 1,
        Layout::Pair(a, b) => leaves(a) + leaves(b),
    }
}

impl<A: Ground, B: Ground> Primitive for Recorded<A, B> {
    type Dom = A;
    type Cod = B;

    fn name(&self) -> String {
        "program".into()
    }

    fn run<T: BaseTensor>(&self, args: &[T]) -> Vec<T> {
        interpret(&self.program, args.to_vec())
    }
}
