//! The cost of an operation, from shapes and element types alone.
//!
//! Law: this is the only model of work and of bytes. It is used by the counting interpreter, by passes and rules that
//! compare two programs, and by tests that bound one program by another; the estimate of the time of a compiled run
//! (`src/cost/program.rs`) weighs it. A cost is that of the operation, not of an implementation: an operation reads the
//! elements that its views map to, and writes its result; an operation that updates an operand in place writes the
//! updated elements, and the caller adds the cost of a copy if the operand has another owner.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::ops::kinds::Kind;
use crate::ops::{Call, Contract, Linear, View};
use crate::shape::size;

/// The total cost of some operations.
///
/// ```
/// use polygrad::inspect::count;
/// use polygrad::tensor;
/// let cost = count(|x| x.sin(), &tensor([1.0, 2.0, 3.0])).1.total();
/// // An operation of three elements, each of 8 bytes, read and written.
/// assert_eq!((cost.calls, cost.work, cost.bytes), (1, 3, 48));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cost {
    /// The number of operations.
    pub calls: u64,
    /// The number of elements computed or moved; a contraction counts a product and a sum for each point of its
    /// iteration space.
    pub work: u64,
    /// The number of bytes read and written.
    pub bytes: u64,
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            calls: self.calls.saturating_add(other.calls),
            work: self.work.saturating_add(other.work),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), Cost::add)
    }
}

fn bytes((shape, dtype): Kind<'_>) -> usize {
    size(shape).saturating_mul(dtype.width())
}

impl Cost {
    fn one(work: usize, bytes: usize) -> Cost {
        Cost { calls: 1, work: work as u64, bytes: bytes as u64 }
    }

    /// The cost of `n` repetitions.
    pub(crate) fn times(self, n: usize) -> Cost {
        let times = |x: u64| x.saturating_mul(n as u64);
        Cost { calls: times(self.calls), work: times(self.work), bytes: times(self.bytes) }
    }

    /// An operation that returns its operand.
    pub(crate) fn same() -> Cost {
        Cost::one(0, 0)
    }

    /// An operation that reads its operands whole and computes each element of its result once: a unary, binary or
    /// discrete operation, a selection, or an extremum along an axis.
    pub(crate) fn whole<'a>(operands: impl IntoIterator<Item = Kind<'a>>, result: Kind<'a>) -> Cost {
        let (mut work, mut moved) = (size(result.0), bytes(result));
        for operand in operands {
            work = work.max(size(operand.0));
            moved = moved.saturating_add(bytes(operand));
        }
        Cost::one(work, moved)
    }

    /// A linear operation.
    pub(crate) fn linear(op: &Linear, operand: Kind<'_>, result: Kind<'_>) -> Cost {
        let moved = match op {
            Linear::Reshape { .. } => 0,
            Linear::Affine { .. } | Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => {
                reads(op).saturating_mul(operand.1.width()).saturating_add(bytes(result))
            }
        };
        Cost::one(moves(op), moved)
    }

    /// A linear operation whose result is added in place to a base.
    pub(crate) fn accumulate_linear(op: &Linear, operand: Kind<'_>) -> Cost {
        let reads = reads(op);
        Cost::one(reads, reads.saturating_mul(3 * operand.1.width()))
    }

    /// A value that is added in place to a base of the same shape.
    pub(crate) fn accumulate(value: Kind<'_>) -> Cost {
        Cost::one(size(value.0), bytes(value).saturating_mul(3))
    }

    /// A contraction: of each operand, the number of elements that are read is the number of points of the iteration
    /// space, or of elements of the operand, whichever is less.
    pub(crate) fn contract(op: &Contract, a: Kind<'_>, b: Kind<'_>, result: Kind<'_>) -> Cost {
        let points = points(&[&op.a, &op.b, &op.out]);
        let read = |(shape, dtype): Kind<'_>| points.min(size(shape)).saturating_mul(dtype.width());
        Cost::one(points.saturating_mul(2), read(a).saturating_add(read(b)).saturating_add(bytes(result)))
    }

    /// A call: it reads its operands and writes its results.
    pub(crate) fn call(op: &Call, operands: &[Kind<'_>], results: &[Kind<'_>]) -> Cost {
        let moved = operands.iter().chain(results).map(|kind| bytes(*kind)).fold(0, usize::saturating_add);
        Cost::one(op.work(operands), moved)
    }

    /// A gather: the indices are read, and the elements at the indices are read and written.
    pub(crate) fn gather<'a>(ix: impl IntoIterator<Item = Kind<'a>>, result: Kind<'a>) -> Cost {
        let indices: usize = ix.into_iter().map(bytes).fold(0, usize::saturating_add);
        Cost::one(size(result.0), bytes(result).saturating_mul(2).saturating_add(indices))
    }

    /// A scatter into a base, in place: the indices and values are read, and the elements at the indices are read and
    /// written.
    pub(crate) fn scatter<'a>(ix: impl IntoIterator<Item = Kind<'a>>, values: Kind<'a>) -> Cost {
        let indices: usize = ix.into_iter().map(bytes).fold(0, usize::saturating_add);
        Cost::one(size(values.0), bytes(values).saturating_mul(3).saturating_add(indices))
    }

    /// A copy: each element is read and written.
    pub(crate) fn copy(result: Kind<'_>) -> Cost {
        Cost::one(size(result.0), bytes(result).saturating_mul(2))
    }

    /// A loop without the operations of its body: one element of work per trip, and a copy of each row that is read or
    /// stacked.
    pub(crate) fn trips<'a>(n: usize, stacks: impl IntoIterator<Item = Kind<'a>>) -> Cost {
        let (mut work, mut moved) = (n, 0usize);
        for stack in stacks {
            work = work.saturating_add(size(stack.0));
            moved = moved.saturating_add(bytes(stack).saturating_mul(2));
        }
        Cost::one(work, moved)
    }
}

/// The number of points of an iteration space that are in the boxes of all of these views.
fn points(views: &[&View]) -> usize {
    let widths = (0..views[0].shape().len()).map(|axis| {
        let bounds = views.iter().map(|v| v.bounds()[axis]);
        bounds.reduce(|(a, b), (c, d)| (a.max(c), b.min(d))).map_or(0, |(lo, hi)| hi.saturating_sub(lo))
    });
    if views.iter().any(|v| v.is_empty()) { 0 } else { widths.fold(1, usize::saturating_mul) }
}

/// The number of elements of its operand that a linear operation reads.
fn reads(op: &Linear) -> usize {
    match op {
        Linear::Affine { from, into } => points(&[from, into]),
        Linear::Reshape { .. } | Linear::Cast { .. } => size(op.input_shape()),
        Linear::Fourier { shape, .. } | Linear::PrefixSum { shape, .. } => size(shape),
    }
}

/// The number of elements that a linear operation moves or writes; none for a reshape, which keeps the order of
/// elements.
pub(crate) fn moves(op: &Linear) -> usize {
    match op {
        Linear::Reshape { .. } => 0,
        Linear::Affine { .. } | Linear::Cast { .. } | Linear::PrefixSum { .. } => {
            reads(op).max(size(op.output_shape()))
        }
        // About 5 n log n operations for n complex numbers; real and imaginary part count half of that each.
        Linear::Fourier { shape, axis, .. } => {
            let stages = (usize::BITS - shape[*axis].leading_zeros()) as usize;
            size(shape).saturating_mul(stages.saturating_mul(5) / 2)
        }
    }
}
