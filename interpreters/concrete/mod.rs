//! Evaluation: the meaning of a program is its value.
//!
//! Law: this instance is the reference against which the others are tested. Each family is computed in a separate
//! module, and each module has one order: rank 0 first and inline, then arrays of one repeated value (whose results are
//! stored as one value if possible), then loops over row-major slices, which are in `kernels` next to this folder.
//!
//! | module | computes |
//! |---|---|
//! | `elementwise` | unary, binary and discrete operations, selection, accumulation |
//! | `views` | linear operations |
//! | `contract` | bilinear operations |
//! | `indexing` | gather, scatter, concatenation |
//! | `reduce` | extrema along an axis, and their positions |
//! | `sorting` | positions in sorted order |
//! | `call` | linear algebra, code of the host |
//! | `loops` | `map_accum` |
//! | `fork` | two functions at the same time |

use std::sync::Arc;

use crate::array::{Array, Elems};
use crate::base::{BaseTensor, ForkBranch, Report, Staging, Trip, TripFn};
use crate::dtype::{DType, Elem};
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Reduce, Unary};
use crate::program::{Custom, Program, Term};

mod call;
mod contract;
mod elementwise;
mod fork;
mod fourier;
mod indexing;
mod loops;
mod reduce;
mod sorting;
mod views;

/// Arrays are the concrete interpreter: operations compute their result at once. It is another name of [`Array`], the name
/// that rustc shows: `Tensor<Array, 1>` is the type of a vector of known numbers.
///
/// ```
/// use polygrad::{BaseTensor, Concrete, ops::Unary};
/// let x = Concrete::from([1.0, 4.0, 9.0]);
/// assert_eq!(x.unary(Unary::Sqrt), Concrete::from([1.0, 2.0, 3.0]));
/// ```
pub type Concrete = Array;

impl BaseTensor for Array {
    fn constant(a: Array) -> Self {
        a
    }

    #[inline]
    fn shape(&self) -> &[usize] {
        Array::shape(self)
    }

    #[inline]
    fn dtype(&self) -> DType {
        Array::dtype(self)
    }

    #[inline]
    fn unary(&self, op: Unary) -> Self {
        elementwise::unary(op, self)
    }

    #[inline]
    fn binary(&self, op: Binary, other: &Self) -> Self {
        elementwise::binary(op, self, other)
    }

    #[inline]
    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        elementwise::discrete(op, args)
    }

    #[inline]
    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        elementwise::select(mask, then, otherwise)
    }

    fn linear(&self, op: &Linear) -> Self {
        views::linear(op, self)
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        contract::contract(op, a, b)
    }

    fn reduce(&self, op: Reduce) -> Self {
        reduce::reduce(op, self)
    }

    #[inline]
    fn gather(&self, ix: &[Self]) -> Self {
        indexing::gather(self, ix)
    }

    #[inline]
    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        indexing::scatter_add(self, ix, v)
    }

    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        call::call(op, args)
    }

    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        rule.value(args.to_vec())
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        indexing::concat(axis, parts)
    }

    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        loops::map_accum(n, reverse, init, xs, step)
    }

    fn fork(branches: [ForkBranch<'_, Self>; 2]) -> [Vec<Self>; 2] {
        fork::fork(branches)
    }

    fn section(&self, start: usize, shape: &[usize], dtype: DType) -> Self {
        views::section(self, start, shape, dtype)
    }

    fn joined(parts: &[Self]) -> Self {
        indexing::joined(parts)
    }

    #[inline]
    fn accumulate(self, other: &Self) -> Self {
        elementwise::accumulate(self, other)
    }

    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        views::accumulate_linear(self, op, other)
    }
}

impl Staging for Array {
    fn recorded(self) -> Term {
        Term::constant(self)
    }

    /// Numbers are constants of a recorded program, so no variable stands for them.
    fn captured(_: &Term) -> Option<Self> {
        None
    }

    fn evaluated(program: &Program, inputs: Vec<Self>) -> Vec<Self> {
        super::run_once(program, inputs)
    }

    fn runs_once() -> bool {
        true
    }
}

impl Report for Array {
    fn peek(&self) -> Option<Array> {
        Some(self.clone())
    }
}

/// The elements of an array that has no other owner and stores each of them, so that they can be updated in place
/// without a copy.
fn owned_elements<E: Elem>(a: &mut Array) -> Option<&mut [E]> {
    let Array::Shared(stored) = a else { return None };
    match Arc::get_mut(stored)?.data.of_mut::<E>()? {
        Elems::Dense(v) => Some(v),
        Elems::Splat(_) => None,
    }
}

/// Whether every element is stored as one positive zero (`false` for masks).
fn is_zero<E: Elem>(a: &Array) -> bool {
    a.splat::<E>().is_some_and(|x| x.same_bits(E::ZERO))
}
