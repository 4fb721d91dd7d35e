//! What an operation is, asked of the operation: its class, and the questions that passes ask.
//!
//! Law: a list of operations stands here, in a match that rustc completes, and its users ask. An answer that is not known is
//! the careful one, so a new operation is right before it is fast.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Constant, Custom, Loop, Op};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::kinds::{self, Kind};
use crate::ops::{Binary, Call, Contract, Discrete, Linear, Property, Reduce, Unary};
use crate::shape::Shape;

/// An operation by how its results come about.
///
/// Closed: who runs programs has a case for each.
pub(crate) enum OpClass<'a, R> {
    /// An input.
    Input(u64),
    /// A constant array.
    Constant(&'a Constant),
    /// One result, computed from the operands.
    Single(Single<'a, R>),
    /// A loop.
    Loop(&'a Loop<R>),
    /// Linear algebra, host code or a tap.
    Call(&'a Call, &'a [R]),
    /// A function with derivative rules.
    Custom(&'a Arc<Custom>, &'a [R]),
    /// One result of an operation with several.
    Output(&'a R, usize),
}

/// An operation with one result, which is computed from its operands and runs no other program.
///
/// Closed: as [`Op`] is.
pub(crate) enum Single<'a, R> {
    Unary(Unary, &'a R),
    Binary(Binary, &'a R, &'a R),
    Discrete(&'a Discrete, &'a [R]),
    Select([&'a R; 3]),
    Linear(&'a Linear, &'a R),
    Contract(&'a Contract, &'a R, &'a R),
    Reduce(Reduce, &'a R),
    Gather(&'a R, &'a [R]),
    ScatterAdd(&'a R, &'a [R], &'a R),
    Concat(usize, &'a [R]),
}

impl<R> Clone for Single<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Single<'_, R> {}

impl<R> Op<R> {
    /// What the operation is, with its parts.
    pub(crate) fn class(&self) -> OpClass<'_, R> {
        OpClass::Single(match self {
            Op::Input(k) => return OpClass::Input(*k),
            Op::Constant(c) => return OpClass::Constant(c),
            Op::Loop(l) => return OpClass::Loop(l),
            Op::Call(op, args) => return OpClass::Call(op, args),
            Op::Custom(c, args) => return OpClass::Custom(c, args),
            Op::Output(a, k) => return OpClass::Output(a, *k),
            Op::Unary(op, a) => Single::Unary(*op, a),
            Op::Binary(op, a, b) => Single::Binary(*op, a, b),
            Op::Discrete(op, args) => Single::Discrete(op, args),
            Op::Select(args) => Single::Select(args.each_ref()),
            Op::Linear(op, a) => Single::Linear(op, a),
            Op::Contract(op, a, b) => Single::Contract(op, a, b),
            Op::Reduce(op, a) => Single::Reduce(*op, a),
            Op::Gather(a, ix) => Single::Gather(a, ix),
            Op::ScatterAdd(a, ix, v) => Single::ScatterAdd(a, ix, v),
            Op::Concat(axis, parts) => Single::Concat(*axis, parts),
        })
    }

    /// The operation, if it has one result that it computes from its operands.
    pub(crate) fn single(&self) -> Option<Single<'_, R>> {
        if let OpClass::Single(op) = self.class() { Some(op) } else { None }
    }

    /// The array, if the operation is a constant.
    pub(crate) fn as_constant(&self) -> Option<&Constant> {
        if let Op::Constant(c) = self { Some(c) } else { None }
    }

    /// Whether the operation has several results, so that neither shape nor element type of its node has a meaning.
    pub(crate) fn has_several_results(&self) -> bool {
        matches!(self, Op::Loop(_) | Op::Call(..) | Op::Custom(..))
    }

    /// The indices at which the operation reads subarrays, or adds them: `true`.
    pub(crate) fn at_indices(&self) -> Option<(&[R], bool)> {
        if let Op::ScatterAdd(_, ix, _) = self {
            return Some((ix, true));
        }
        if let Op::Gather(_, ix) = self { Some((ix, false)) } else { None }
    }

    /// Whether each element of the result depends only on the elements of the operands at the same index.
    pub(crate) fn is_elementwise(&self) -> bool {
        matches!(self, Op::Unary(..) | Op::Binary(..) | Op::Select(_))
            || matches!(self, Op::Linear(op, _) if matches!(**op, Linear::Cast { .. }))
            || matches!(self, Op::Discrete(op, _) if op.is_elementwise())
    }

    /// Whether the operation is a row of a table of functions, which has this property there.
    pub(crate) fn has(&self, property: Property) -> bool {
        matches!(self, Op::Unary(op, _) if op.is(property)) || matches!(self, Op::Binary(op, ..) if op.is(property))
    }

    /// Whether the result is zero because these operands are, by their positions: the operation is linear in them.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::program::Op;
    /// assert!(Op::Unary(Unary::Neg, 7).vanishes_with(&|_| true));
    /// assert!(!Op::Unary(Unary::Exp, 7).vanishes_with(&|_| true));
    /// // The sum of what is scattered and of a base, which is not zero.
    /// assert!(!Op::ScatterAdd(5, vec![6], 7).vanishes_with(&|k| k == 2));
    /// ```
    pub fn vanishes_with(&self, zero: &dyn Fn(usize) -> bool) -> bool {
        let Some(op) = self.single() else { return false };
        match op {
            Single::Unary(op, _) => op == Unary::Neg && zero(0),
            Single::Binary(op, ..) => {
                (matches!(op, Binary::Add | Binary::Sub) && zero(0) && zero(1))
                    || (matches!(op, Binary::Mul | Binary::MulNoNan) && (zero(0) || zero(1)))
            }
            Single::Linear(..) | Single::Gather(..) => zero(0),
            Single::Contract(..) => zero(0) || zero(1),
            Single::ScatterAdd(_, ix, _) => zero(0) && zero(ix.len() + 1),
            Single::Select(_) => zero(1) && zero(2),
            Single::Concat(_, parts) => (0..parts.len()).all(zero),
            Single::Discrete(..) | Single::Reduce(..) => false,
        }
    }
}

impl<'a, R> Single<'a, R> {
    /// The name, without parameters.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Single::Unary(op, _) => op.name(),
            Single::Binary(op, ..) => op.name(),
            Single::Discrete(op, _) => op.name(),
            Single::Select(_) => "select",
            Single::Linear(op, _) => op.name(),
            Single::Contract(op, ..) => op.familiar().map_or("contract", |product| product.name),
            Single::Reduce(op, _) => op.name(),
            Single::Gather(..) => "gather",
            Single::ScatterAdd(..) => "scatter_add",
            Single::Concat(..) => "concat",
        }
    }

    /// Shape and element type of the result.
    ///
    /// # Errors
    /// When the operands do not fit. The message is that of the panic during evaluation.
    pub(crate) fn try_kind<'r>(self, of: &dyn Fn(&'a R) -> Kind<'r>) -> Result<(Shape, DType), String> {
        let all = |args: &'a [R]| args.iter().map(of).collect::<SmallVec<[Kind<'r>; 4]>>();
        let like = |a: &'a R| (Shape::from_slice(of(a).0), of(a).1);
        Ok(match self {
            Single::Unary(op, a) => kinds::try_unary(op, of(a).1).map(|()| like(a))?,
            Single::Binary(op, a, b) => kinds::try_binary(op, of(a), of(b)).map(|()| like(a))?,
            Single::Discrete(op, args) => op.try_result(&all(args))?,
            Single::Select([mask, a, b]) => kinds::try_select(of(mask), of(a), of(b)).map(|()| like(a))?,
            Single::Linear(op, a) => {
                let dtype = op.try_result(of(a).0, of(a).1)?;
                (Shape::from_slice(op.output_shape()), dtype)
            }
            Single::Contract(op, a, b) => op.try_result(of(a), of(b))?,
            Single::Reduce(op, a) => op.try_result(of(a))?,
            Single::Gather(a, ix) => (kinds::try_gather(of(a).0, &all(ix))?, of(a).1),
            Single::ScatterAdd(a, ix, v) => kinds::try_scatter_add(of(a), &all(ix), of(v)).map(|()| like(a))?,
            Single::Concat(axis, parts) => {
                let parts = all(parts);
                (kinds::try_concat(axis, &parts)?, parts[0].1)
            }
        })
    }

    /// Calls `f` on every operand, in order.
    pub(crate) fn operands(self, f: &mut dyn FnMut(&'a R)) {
        match self {
            Single::Unary(_, a) | Single::Linear(_, a) | Single::Reduce(_, a) => f(a),
            Single::Binary(_, a, b) | Single::Contract(_, a, b) => [a, b].into_iter().for_each(f),
            Single::Select(args) => args.into_iter().for_each(f),
            Single::Discrete(_, args) | Single::Concat(_, args) => args.iter().for_each(f),
            Single::Gather(a, ix) => std::iter::once(a).chain(ix).for_each(f),
            Single::ScatterAdd(a, ix, v) => std::iter::once(a).chain(ix).chain([v]).for_each(f),
        }
    }

    /// The operation with its references mapped.
    pub(crate) fn mapped<S>(self, f: &mut dyn FnMut(&'a R) -> S) -> Op<S> {
        match self {
            Single::Unary(op, a) => Op::Unary(op, f(a)),
            Single::Binary(op, a, b) => Op::Binary(op, f(a), f(b)),
            Single::Discrete(op, args) => Op::Discrete(op.clone(), args.iter().map(f).collect()),
            Single::Select([m, a, b]) => Op::Select([f(m), f(a), f(b)]),
            Single::Linear(op, a) => Op::Linear(Box::new(op.clone()), f(a)),
            Single::Contract(op, a, b) => Op::Contract(Box::new(op.clone()), f(a), f(b)),
            Single::Reduce(op, a) => Op::Reduce(op, f(a)),
            Single::Gather(a, ix) => Op::Gather(f(a), ix.iter().map(f).collect()),
            Single::ScatterAdd(a, ix, v) => Op::ScatterAdd(f(a), ix.iter().map(&mut *f).collect(), f(v)),
            Single::Concat(axis, parts) => Op::Concat(axis, parts.iter().map(f).collect()),
        }
    }

    /// The result on values; `of` is asked for each operand once, in order.
    #[track_caller]
    pub(crate) fn applied<T: BaseTensor>(self, of: &mut dyn FnMut(&R) -> T) -> T {
        match self {
            Single::Unary(op, a) => of(a).unary(op),
            Single::Binary(op, a, b) => of(a).binary(op, &of(b)),
            Single::Discrete(op, args) => T::discrete(op, &all(of, args).iter().collect::<Vec<&T>>()),
            Single::Select([mask, a, b]) => T::select(&of(mask), &of(a), &of(b)),
            Single::Linear(op, a) => of(a).linear(op),
            Single::Contract(op, a, b) => T::contract(op, &of(a), &of(b)),
            Single::Reduce(op, a) => of(a).reduce(op),
            Single::Gather(a, ix) => of(a).gather(&all(of, ix)),
            Single::ScatterAdd(a, ix, v) => of(a).scatter_add(&all(of, ix), &of(v)),
            Single::Concat(axis, parts) => T::concat(axis, &all(of, parts)),
        }
    }
}

fn all<R, T>(of: &mut dyn FnMut(&R) -> T, args: &[R]) -> Vec<T> {
    args.iter().map(of).collect()
}

/// The methods of an interpreter for operations with one result, by one: `Self::single` takes a [`Single`] of its values.
macro_rules! single_results {
    () => {
        fn unary(&self, op: $crate::ops::Unary) -> Self {
            Self::single($crate::program::Single::Unary(op, self))
        }

        fn binary(&self, op: $crate::ops::Binary, other: &Self) -> Self {
            Self::single($crate::program::Single::Binary(op, self, other))
        }

        fn discrete(op: &$crate::ops::Discrete, args: &[&Self]) -> Self {
            let args: smallvec::SmallVec<[Self; 2]> = args.iter().copied().cloned().collect();
            Self::single($crate::program::Single::Discrete(op, &args))
        }

        fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
            Self::single($crate::program::Single::Select([mask, then, otherwise]))
        }

        fn linear(&self, op: &$crate::ops::Linear) -> Self {
            Self::single($crate::program::Single::Linear(op, self))
        }

        fn contract(op: &$crate::ops::Contract, a: &Self, b: &Self) -> Self {
            Self::single($crate::program::Single::Contract(op, a, b))
        }

        fn reduce(&self, op: $crate::ops::Reduce) -> Self {
            Self::single($crate::program::Single::Reduce(op, self))
        }

        fn gather(&self, ix: &[Self]) -> Self {
            Self::single($crate::program::Single::Gather(self, ix))
        }

        fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
            Self::single($crate::program::Single::ScatterAdd(&self, ix, v))
        }

        fn concat(axis: usize, parts: &[Self]) -> Self {
            Self::single($crate::program::Single::Concat(axis, parts))
        }
    };
}

pub(crate) use single_results;
