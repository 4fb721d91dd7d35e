//! Rules of selection by masks, of minimum and maximum, and of binary operations without rules of their own.

use smallvec::SmallVec;

use super::{FOLDED, Rule, constant, indices, like, linearly, of_one_value, resized, table, views};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Discrete, Linear, Unary, View};
use crate::program::{Builder, Constant, NodeId, Op};
use crate::shape::{Shape, size};

pub(super) const EXTREMA: &[Rule] = table![extremum_same, choice_of_numbers, views::replicate_late];

pub(super) const OTHER: &[Rule] = table![hypot_exchanged, choice_of_numbers, views::replicate_late];

pub(super) const SELECT: &[Rule] = table![
    select_same,
    select_known,
    select_not,
    select_again,
    select_constants,
    indices::select_interval,
    select_diagonal,
    views::replicate_late
];

equations! { |b, op, shape, dtype|
    /// min(x, x) = max(x, x) = x
    extremum_same {
        Min(x, ==x) => x,
        Max(x, ==x) => x
    }

    /// hypot(x, y) = hypot(y, x), where the right side exists already
    hypot_exchanged { Hypot(x, y) if x != y => known Hypot(y, x) }

    /// select m x x = x
    select_same { Select(_, x, ==x) => x }

    /// select true x y = x, select false x y = y
    select_known {
        Select(true, x, _) => x,
        Select(false, _, y) => y
    }

    /// select (not m) x y = select m y x
    select_not { Select(Not(m), x, y) => Select(m, y, x) }

    /// select m (select m x y) z = select m x z, select m x (select m y z) = select m x z
    select_again {
        Select(m, Select(==m, x, _), Select(==m, _, z)) => Select(m, x, z),
        Select(m, Select(==m, x, _), z) => Select(m, x, z),
        Select(m, x, Select(==m, _, z)) => Select(m, x, z)
    }

    /// select (i < c) x y of small constants is a constant, where the mask is an interval of one axis
    select_constants {
        Select(m, x, y)
            if size(shape) <= FOLDED,
                let (Some(x), Some(y)) = (constant(b, x), constant(b, y)),
                let Some((axis, range, inside)) = b.interval(m)
            => {
                let step = size(&shape[axis + 1..]);
                let holds = (0..size(shape)).map(|k| range.contains(&(k / step % shape[axis])) == inside).collect();
                let value = Array::select(&Array::new(shape, holds), x, y);
                b.cons(Op::Constant(Constant(value)), shape.clone(), dtype)
            }
    }

    /// select m x 0 + select m 0 y = select m x y, and select m x y + select m z 0 = select m (x + z) y where both
    /// selections have no other use; the same for differences, and for two terms of y + select m x 0 + select m 0 z
    /// where the first sum has no other use
    pub(super) add_choices {
        Binary(f @ (Binary::Add | Binary::Sub), x, y) if let Some(both) = joined(b, f, x, y) => both,
        Add{sum @ Add{y, x}, z} if b.once(sum), let Some(both) = joined(b, Binary::Add, x, z) => Add(y, both)
    }

    /// to_float (i == j) = select (i == j) 1 0
    pub(super) to_float_diagonal {
        Discrete(Discrete::ToFloat(_), m) if let Some((.., true)) = b.diagonal(m) => Select(m, 1.0, 0.0)
    }
}

fn operands(op: &Op<NodeId>) -> Option<[NodeId; 3]> {
    if let Op::Select(operands) = op { Some(*operands) } else { None }
}

/// The sum or difference of two selections by one mask as one selection, if that takes fewer operations.
fn joined(b: &mut Builder, sum: Binary, x: NodeId, y: NodeId) -> Option<NodeId> {
    let (first, second) = (operands(&b.node(x).op)?, operands(&b.node(y).op)?);
    if first[0] != second[0] {
        return None;
    }
    let branch = |b: &Builder, k: usize| match (b.is_zero(first[k]), b.is_zero(second[k])) {
        (_, true) => ChoiceBranch::Is(first[k]),
        (true, false) if sum == Binary::Add => ChoiceBranch::Is(second[k]),
        (true, false) => ChoiceBranch::Made(Op::Unary(Unary::Neg, second[k])),
        (false, false) => ChoiceBranch::Made(Op::Binary(sum, first[k], second[k])),
    };
    // x + 0 = x and 0 - y = -y hold except for the sign of zero.
    let exact = |k: usize| match (b.is_zero(first[k]), b.is_zero(second[k]), sum == Binary::Add) {
        (_, true, true) => b.sign_free(first[k]),
        (true, false, true) => b.sign_free(second[k]),
        (true, false, false) => b.is_sign_unseen(),
        (_, _, _) => true,
    };
    if !exact(1) || !exact(2) {
        return None;
    }
    let branches = [branch(b, 1), branch(b, 2)];
    let more = branches.iter().filter(|branch| matches!(branch, ChoiceBranch::Made(_))).count();
    if more >= usize::from(b.once(x)) + usize::from(b.once(y)) {
        return None;
    }
    let [then, otherwise] = branches.map(|branch| match branch {
        ChoiceBranch::Is(id) => id,
        ChoiceBranch::Made(op) => like(b, op, x),
    });
    Some(like(b, Op::Select([first[0], then, otherwise]), x))
}

/// A branch of the joined selection: an existing value, or an operation to be added.
enum ChoiceBranch {
    Is(NodeId),
    Made(Op<NodeId>),
}

/// f (select m c d) = select m (f c) (f d) for uniform constants c, d, where the selection has no other use and any
/// other operand of f is a uniform constant
pub(super) fn choice_of_numbers(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let is_number = |b: &Builder, a: NodeId| constant(b, a).is_some_and(of_one_value);
    let (mut choice, mut fits) = (None, true);
    op.operands(&mut |a| match operands(&b.node(*a).op) {
        Some(inner) if choice.is_none() && b.once(*a) && is_number(b, inner[1]) && is_number(b, inner[2]) => {
            choice = Some((*a, inner));
        }
        Some(_) | None => fits &= is_number(b, *a),
    });
    let (choice, [mask, x, y]) = choice.filter(|_| fits)?;
    let mut branch = |value: NodeId| {
        let op = op.map(&mut |a| if *a == choice { value } else { *a });
        b.add(op, shape.clone(), dtype)
    };
    let branches = [mask, branch(x), branch(y)];
    Some(b.add(Op::Select(branches), shape.clone(), dtype))
}

/// select (i == j) x 0 = the diagonal of x, written into zeros, and the same for select (i != j) 0 x: so an identity matrix
/// has one normal form
fn select_diagonal(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let [mask, then, otherwise] = operands(op)?;
    let (row, column, offset, holds) = b.diagonal(mask).filter(|_| dtype.is_float())?;
    let (x, zero) = if holds { (then, otherwise) } else { (otherwise, then) };
    if !b.is_zero(zero) {
        return None;
    }
    // The diagonal has the axes of the result without the column, which its row determines.
    let axes: SmallVec<[usize; 6]> = (0..shape.len()).filter(|axis| *axis != column).collect();
    let small: Shape = axes.iter().map(|axis| shape[*axis]).collect();
    let (mut matrix, mut offsets): (SmallVec<[i64; 16]>, SmallVec<[i64; 6]>) = (SmallVec::new(), SmallVec::new());
    for axis in 0..shape.len() {
        let along = if axis == column { row } else { axis };
        matrix.extend(axes.iter().map(|other| i64::from(*other == along)));
        offsets.push(if axis == column { -offset } else { 0 });
    }
    let view = View::affine(shape, &small, &matrix, &offsets);
    let elements = match resized(b, x, &small) {
        Some(number) => number,
        None => linearly(b, Linear::read(view.clone()), x),
    };
    Some(linearly(b, Linear::affine(View::identity(&small), view), elements))
}
