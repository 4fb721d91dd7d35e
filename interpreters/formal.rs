//! `Formal<S, T>`: elements of a commutative semiring in place of floats.
//!
//! A program that adds and multiplies means something for every type `S` with a sum, a product, and their neutral
//! elements: over natural numbers it counts paths, over costs with minimum and sum it finds the cheapest one, over truth
//! values with "or" and "and" it says whether there is one. Its derivative in reverse mode, which adds and multiplies as
//! well, is the formal derivative of the polynomial: for each input, the sum over all paths through it of what else they
//! are made of. (Vakar and Smeding, "CHAD", section 11.3; Griewank and Walther's reverse mode is the case of numbers.)
//!
//! Integers and masks are known values of `T`: indices and selections are as ever. A float that the program states stands
//! for a sum of ones: natural numbers alone have a meaning. Whatever is not made of sums and products is refused.
//!
//! Law: for `S = f64` values and derivatives are those of the program.

use std::rc::Rc;
use std::sync::Arc;

use num_traits::{One, Zero};

use super::selected_rows::SelectedRows;
use super::trips;
use crate::array::Array;
use crate::base::{BaseTensor, Report, Staging, Trip, TripFn};
use crate::dtype::DType;
use crate::kernels::loop_nest::Nest;
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary, kinds};
use crate::program::Custom;
use crate::shape::{Shape, Show, size};

/// An array of elements of a commutative semiring `S`; integers and masks are values of `T`.
///
/// `S` says its laws by `num_traits`: `Zero` and `Add`, `One` and `Mul`. Both operations are associative and commutative,
/// the product distributes over the sum, and zero times anything is zero; nothing checks this. Verbs that record work as
/// those of `direct` do: the derivative program, optimized, is interpreted here.
///
/// ```
/// use num_traits::{One, Zero};
/// use polygrad::interpreters::{Concrete, Formal};
/// use polygrad::{BaseTensor, Tensor, direct};
///
/// /// The cost of a way: the sum of two is the cheaper one, the product goes both ways.
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Cost(f64);
/// impl std::ops::Add for Cost {
///     type Output = Cost;
///     fn add(self, other: Cost) -> Cost {
///         Cost(self.0.min(other.0))
///     }
/// }
/// impl std::ops::Mul for Cost {
///     type Output = Cost;
///     fn mul(self, other: Cost) -> Cost {
///         Cost(self.0 + other.0)
///     }
/// }
/// impl Zero for Cost {
///     fn zero() -> Cost {
///         Cost(f64::INFINITY)
///     }
///     fn is_zero(&self) -> bool {
///         self.0 == f64::INFINITY
///     }
/// }
/// impl One for Cost {
///     fn one() -> Cost {
///         Cost(0.0)
///     }
/// }
///
/// /// Sums over all ways of three steps from the first place to the last one, of the products of their steps.
/// fn ways<T: BaseTensor>(step: &Tensor<T, 2>) -> Tensor<T, 0> {
///     step.matmul(&step.matmul(step)).at([0, 2])
/// }
///
/// let step = [0.0, 5.0, 9.0, 1.0, 0.0, 2.0, 7.0, 1.0, 0.0].map(Cost);
/// let step = Tensor::from_raw(Formal::<_, Concrete>::new(&[3, 3], step.to_vec()));
/// // The cheapest way: from place 0 to 1, then to 2, and one rest.
/// assert_eq!(ways(&step).raw().elements(), [Cost(7.0)]);
/// // With each step: what the cheapest way that takes it costs besides.
/// let besides = direct::grad(ways, &step);
/// assert_eq!(besides.raw().elements()[1], Cost(2.0));
/// assert_eq!(besides.raw().elements()[2], Cost(0.0));
/// ```
pub struct Formal<S, T> {
    shape: Shape,
    dtype: DType,
    of: FormalValues<S, T>,
}

/// What a value is made of.
enum FormalValues<S, T> {
    /// Elements of the semiring, in order: floats.
    Elements(Rc<[S]>),
    /// Integers and masks.
    Known(T),
}

impl<S, T: Clone> Clone for Formal<S, T> {
    fn clone(&self) -> Self {
        let of = match &self.of {
            FormalValues::Elements(elements) => FormalValues::Elements(elements.clone()),
            FormalValues::Known(known) => FormalValues::Known(known.clone()),
        };
        Formal { shape: self.shape.clone(), dtype: self.dtype, of }
    }
}

/// Refuses what is not made of sums and products.
#[cold]
#[track_caller]
fn refuse(name: &str) -> ! {
    panic!(
        "{name}: a program over a semiring must be made of sums, products, views and known indices, but this operation is not; \
         write the program without it, or compute its result before"
    )
}

/// `n` ones, added by doubling.
#[track_caller]
fn natural<S: Clone + Zero + One>(x: f64) -> S {
    if !(x >= 0.0 && x.fract() == 0.0 && x < 9_007_199_254_740_992.0) {
        panic!(
            "constant: a float in a program over a semiring must be a natural number, a sum of ones, but it is {x}; make other \
             elements inputs"
        );
    }
    let (mut sum, mut power, mut left) = (S::zero(), S::one(), x as u64);
    while left > 0 {
        if left & 1 == 1 {
            sum = sum + power.clone();
        }
        left >>= 1;
        if left > 0 {
            power = power.clone() + power;
        }
    }
    sum
}

impl<S: Clone + Zero + One + 'static, T: BaseTensor> Formal<S, T> {
    /// An array of these elements, in order.
    ///
    /// Example: [`Formal`].
    ///
    /// # Panics
    /// When there are not as many elements as the shape has.
    #[track_caller]
    pub fn new(shape: &[usize], elements: Vec<S>) -> Self {
        if size(shape) != elements.len() {
            panic!(
                "new: an array must have as many elements as its shape, but there are {} for {}; give one for each position",
                elements.len(),
                Show(shape)
            );
        }
        Formal::made((shape.into(), DType::F64), elements)
    }

    fn made((shape, dtype): (Shape, DType), elements: Vec<S>) -> Self {
        debug_assert_eq!(elements.len(), size(&shape), "one element for each position");
        Formal { shape, dtype, of: FormalValues::Elements(elements.into()) }
    }

    fn of_known(known: T) -> Self {
        Formal { shape: known.shape().into(), dtype: known.dtype(), of: FormalValues::Known(known) }
    }

    /// The elements, in order.
    ///
    /// Example: [`Formal`].
    ///
    /// # Panics
    /// When they are integers or masks.
    #[track_caller]
    pub fn elements(&self) -> &[S] {
        match &self.of {
            FormalValues::Elements(elements) => elements,
            FormalValues::Known(_) => refuse("elements"),
        }
    }

    /// The integers or masks of an operand of the operation of this name.
    #[track_caller]
    fn known(&self, name: &str) -> &T {
        match &self.of {
            FormalValues::Known(known) => known,
            FormalValues::Elements(_) => refuse(name),
        }
    }

    fn kind(&self) -> (&[usize], DType) {
        (&self.shape, self.dtype)
    }

    fn kinds(args: &[Self]) -> Vec<(&[usize], DType)> {
        args.iter().map(Formal::kind).collect()
    }

    /// For each position of the result, the sum of the terms that `visit` adds there.
    fn sums(kind: (Shape, DType), visit: impl FnOnce(&mut dyn FnMut(usize, S))) -> Self {
        let mut sums = vec![S::zero(); size(&kind.0)];
        visit(&mut |place, term| {
            let before = std::mem::replace(&mut sums[place], S::zero());
            sums[place] = before + term;
        });
        Formal::made(kind, sums)
    }

    /// The rows that known indices select.
    #[track_caller]
    fn rows(name: &str, shape: &[usize], ix: &[Self]) -> SelectedRows {
        let each = ix.first().map_or(&[][..], |i| &i.shape);
        let mut known = Vec::with_capacity(ix.len());
        for index in ix {
            match index.known(name).peek().and_then(|index| index.to_vec::<i64>().ok()) {
                Some(index) => known.push(index),
                None => refuse(name),
            }
        }
        SelectedRows::of(shape, (ix.len(), each), Some(known))
    }

    /// A linear map of elements.
    #[track_caller]
    fn mapped(&self, op: &Linear, elements: &[S]) -> Self {
        let dtype = op.result(&self.shape, self.dtype);
        let shape = Shape::from_slice(op.output_shape());
        match op {
            Linear::Affine { from, into } => Formal::sums((shape, dtype), |add| {
                if let Some(nest) = Nest::new([from, into], [false; 2]) {
                    nest.points(|[i, o]| add(o, elements[i].clone()));
                }
            }),
            Linear::Cast { .. } if !dtype.is_float() => refuse("cast"),
            Linear::Reshape { .. } | Linear::Cast { .. } => {
                Formal { shape, dtype, of: FormalValues::Elements(elements.into()) }
            }
            Linear::Fourier { .. } => refuse("fft"),
            Linear::PrefixSum { axis, reverse, .. } => {
                let (n, inner) = (shape[*axis], size(&shape[axis + 1..]));
                let mut sums = elements.to_vec();
                for k in 0..sums.len() {
                    let k = if *reverse { sums.len() - 1 - k } else { k };
                    if k / inner % n != if *reverse { n - 1 } else { 0 } {
                        let before = if *reverse { k + inner } else { k - inner };
                        sums[k] = sums[before].clone() + sums[k].clone();
                    }
                }
                Formal::made((shape, dtype), sums)
            }
        }
    }
}

impl<S: Clone + Zero + One + 'static, T: BaseTensor> BaseTensor for Formal<S, T> {
    fn constant(a: Array) -> Self {
        if !a.dtype().is_float() {
            return Formal::of_known(T::constant(a));
        }
        let (shape, dtype) = (Shape::from_slice(a.shape()), a.dtype());
        let mut elements = Vec::with_capacity(size(&shape));
        for x in a.cast::<f64>().to_vec::<f64>().unwrap_or_default() {
            elements.push(natural(x));
        }
        Formal::made((shape, dtype), elements)
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn unary(&self, op: Unary) -> Self {
        kinds::unary(op, self.dtype);
        if op == Unary::Square { self.binary(Binary::Mul, self) } else { refuse(op.name()) }
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        kinds::binary(op, self.kind(), other.kind());
        let pairs = self.elements().iter().cloned().zip(other.elements().iter().cloned());
        let elements = if op == Binary::Add {
            pairs.map(|(x, y)| x + y).collect()
        } else if matches!(op, Binary::Mul | Binary::MulNoNan) {
            pairs.map(|(x, y)| x * y).collect()
        } else {
            refuse(op.name())
        };
        Formal::made((self.shape.clone(), self.dtype), elements)
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let mut known = Vec::with_capacity(args.len());
        for arg in args {
            known.push(arg.known(op.name()));
        }
        Formal::of_known(T::discrete(op, &known))
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        kinds::select(mask.kind(), then.kind(), otherwise.kind());
        if let (FormalValues::Known(x), FormalValues::Known(y)) = (&then.of, &otherwise.of) {
            return Formal::of_known(T::select(mask.known("select"), x, y));
        }
        let Some(mask) = mask.known("select").peek().and_then(|mask| mask.to_vec::<bool>().ok()) else {
            refuse("select")
        };
        let both = then.elements().iter().zip(otherwise.elements()).zip(mask);
        let elements = both.map(|((x, y), mask)| if mask { x.clone() } else { y.clone() }).collect();
        Formal::made((then.shape.clone(), then.dtype), elements)
    }

    fn linear(&self, op: &Linear) -> Self {
        match &self.of {
            FormalValues::Elements(elements) => self.mapped(op, elements),
            FormalValues::Known(known) if op.result(&self.shape, self.dtype).is_float() => {
                // Integers and masks as floats.
                match known.linear(op).peek() {
                    Some(array) => Formal::constant(array),
                    None => refuse("cast"),
                }
            }
            FormalValues::Known(known) => Formal::of_known(known.linear(op)),
        }
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let kind = op.result(a.kind(), b.kind());
        let (a, b) = (a.elements(), b.elements());
        Formal::sums(kind, |add| {
            if let Some(nest) = Nest::new([&op.a, &op.b, &op.out], [false; 3]) {
                nest.points(|[i, j, o]| add(o, a[i].clone() * b[j].clone()));
            }
        })
    }

    fn reduce(&self, op: Reduce) -> Self {
        match (&self.of, op) {
            (FormalValues::Known(known), _) => Formal::of_known(known.reduce(op)),
            (FormalValues::Elements(_), Reduce::Max { .. }) => refuse("max"),
            (FormalValues::Elements(_), Reduce::Min { .. }) => refuse("min"),
        }
    }

    fn gather(&self, ix: &[Self]) -> Self {
        let shape = kinds::gather(&self.shape, &Formal::kinds(ix));
        if let FormalValues::Known(known) = &self.of {
            let mut indices = Vec::with_capacity(ix.len());
            for index in ix {
                indices.push(index.known("gather").clone());
            }
            return Formal::of_known(known.gather(&indices));
        }
        let (rows, elements) = (Formal::rows("gather", &self.shape, ix), self.elements());
        let known = rows.known.as_deref().unwrap_or_default();
        Formal::sums((shape, self.dtype), |add| {
            for k in 0..rows.count {
                if let Some(row) = rows.at(known, k) {
                    (0..rows.len).for_each(|e| add(k * rows.len + e, elements[row * rows.len + e].clone()));
                }
            }
        })
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        kinds::scatter_add(self.kind(), &Formal::kinds(ix), v.kind());
        let rows = Formal::rows("scatter_add", &self.shape, ix);
        let (known, added) = (rows.known.as_deref().unwrap_or_default(), v.elements());
        Formal::sums((self.shape.clone(), self.dtype), |add| {
            self.elements().iter().enumerate().for_each(|(k, x)| add(k, x.clone()));
            for k in 0..rows.count {
                if let Some(row) = rows.at(known, k) {
                    (0..rows.len).for_each(|e| add(row * rows.len + e, added[k * rows.len + e].clone()));
                }
            }
        })
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let shape = kinds::concat(axis, &Formal::kinds(parts));
        if parts.iter().all(|part| matches!(part.of, FormalValues::Known(_))) {
            let mut known = Vec::with_capacity(parts.len());
            for part in parts {
                known.push(part.known("concat").clone());
            }
            return Formal::of_known(T::concat(axis, &known));
        }
        let (outer, inner) = (size(&shape[..axis]), size(&shape[axis + 1..]));
        let mut elements = Vec::with_capacity(size(&shape));
        for k in 0..outer {
            for part in parts {
                let len = part.shape[axis] * inner;
                elements.extend_from_slice(&part.elements()[k * len..(k + 1) * len]);
            }
        }
        Formal::made((shape, parts[0].dtype), elements)
    }

    /// The loop is unrolled.
    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        fn row<S: Clone + Zero + One + 'static, T: BaseTensor>(x: &Formal<S, T>, k: usize) -> Formal<S, T> {
            x.linear(&Linear::row(&x.shape, 0, k))
        }
        trips::map_accum((n, reverse), init, xs, row, step)
    }

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        match op {
            Call::Tap(tap) => tap.passed(args).to_vec(),
            Call::Matrix(_) | Call::External(_) => refuse(op.name()),
        }
    }

    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        rule.value(args.to_vec())
    }
}

impl<S, T: BaseTensor> Staging for Formal<S, T> {
    fn runs_all_trips() -> bool {
        T::runs_all_trips()
    }
}

/// Masks and integers are known to programs that branch on them; elements are not.
impl<S, T: BaseTensor> Report for Formal<S, T> {
    fn peek(&self) -> Option<Array> {
        match &self.of {
            FormalValues::Known(known) => known.peek(),
            FormalValues::Elements(_) => None,
        }
    }
}
