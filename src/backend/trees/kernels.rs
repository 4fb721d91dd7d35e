//! Kernel calls as trees: extrema, prefix operations, gathers and scatters.
//!
//! Laws: those of the kernels, [`reduce`](crate::kernels::reduce), [`scan`](crate::kernels::scan),
//! [`prefix_extrema`](crate::kernels::prefix_extrema) and [`indexing`](crate::kernels::indexing), to the bit. An array
//! is blocks of rows of `inner` elements, and lines are its columns: loops run over rows, with the state of each line
//! in memory, or, of one line, in variables.

use super::idioms::{at, start};
use super::steps::fill;
use super::tree::{ElementIndex, ElementPlace, Expression, PositionExpr};
use super::writer::{Writer, refused_before};
use super::{nests, sorting};
use crate::backend::ir::step::{KernelCall, KernelOp};
use crate::dtype::DType;
use crate::kernels::scan::Line;
use crate::ops::{Compare, Reduce};

/// Writes a kernel call.
pub(crate) fn call(w: &mut Writer, call: &KernelCall, operands: &[ElementPlace], out: &ElementPlace) {
    let (dtype, source) = (call.dtype, call.operands.first().map_or(0, |(_, n)| *n));
    match &call.op {
        KernelOp::Product(product) => nests::product(w, call, product, [&operands[0], &operands[1], out]),
        KernelOp::Transpose(nest) => nests::moved(w, nest, (&operands[0], out), None),
        KernelOp::Affine(nest, add) => {
            fill(w, out, call.size, &Expression::zero(dtype));
            nests::moved(w, nest, (&operands[0], out), add.then_some(dtype));
        }
        KernelOp::Extremum(op, len, inner) => {
            let lines =
                KernelLines { x: &operands[0], out, blocks: source / (len * inner).max(1), len: *len, inner: *inner };
            extrema(w, dtype, is_largest(*op), lines, false);
        }
        KernelOp::Position(op, len, inner) => {
            let lines =
                KernelLines { x: &operands[0], out, blocks: source / (len * inner).max(1), len: *len, inner: *inner };
            extrema(w, dtype, is_largest(*op), lines, true);
        }
        KernelOp::PrefixSum(line) => {
            prefix_sums(w, dtype, KernelLines::along(*line, source, operands, out), line.reverse)
        }
        KernelOp::PrefixArg(line, largest) => {
            prefix_extrema(w, dtype, (*largest, line.reverse), KernelLines::along(*line, source, operands, out), true);
        }
        KernelOp::PrefixExtremum(line, largest) => {
            prefix_extrema(w, dtype, (*largest, line.reverse), KernelLines::along(*line, source, operands, out), false);
        }
        KernelOp::ArgSort(lines, ranks) => sorting::argsort(w, dtype, (*lines, ranks), source, &operands[0], out),
        KernelOp::Fourier(_) => refused_before(),
        KernelOp::Gather(sizes, block) => gather(w, call, (sizes, *block), operands, out),
        KernelOp::Scatter(sizes, block, fresh) => {
            if *fresh {
                w.fill(out, call.size, Expression::zero(dtype));
            }
            scatter(w, call, (sizes, *block), operands, out);
        }
        KernelOp::Update(sizes, block) => update(w, call, (sizes, *block), operands, out),
    }
}

fn is_largest(op: Reduce) -> bool {
    match op {
        Reduce::Max { .. } => true,
        Reduce::Min { .. } => false,
    }
}

/// The lines of an array, and where their results are.
#[derive(Clone, Copy)]
struct KernelLines<'a> {
    x: &'a ElementPlace,
    out: &'a ElementPlace,
    blocks: usize,
    len: usize,
    inner: usize,
}

impl<'a> KernelLines<'a> {
    fn along(line: Line, size: usize, operands: &'a [ElementPlace], out: &'a ElementPlace) -> KernelLines<'a> {
        let Line { len, inner, .. } = line;
        KernelLines { x: &operands[0], out, blocks: size / (len * inner).max(1), len, inner }
    }

    /// The position of row `i` of block `block`.
    fn row(&self, block: &ElementIndex, i: &ElementIndex) -> ElementIndex {
        block.clone().times((self.len * self.inner) as i64).plus(&i.clone().times(self.inner as i64))
    }
}

/// Whether an element replaces the extremum before it: NaN replaces every number, and nothing replaces NaN.
fn replaces(dtype: DType, largest: bool, x: Expression, best: Expression) -> Expression {
    let [keeps, beats] = if largest { [Compare::Le, Compare::Gt] } else { [Compare::Ge, Compare::Lt] };
    match dtype.is_float() {
        true => {
            Expression::and(Expression::not(Expression::compare(keeps, x, best.clone())), Expression::is_number(best))
        }
        false => Expression::compare(beats, x, best),
    }
}

/// Replaces the extrema of a row of lines, and the results that belong to them, where an element is better.
fn improve(
    w: &mut Writer,
    (dtype, largest): (DType, bool),
    row: &ElementPlace,
    (k, i): (&ElementIndex, &ElementIndex),
    best: &ElementPlace,
    positions: Option<&ElementPlace>,
) {
    let x = w.named(dtype, row.load(k));
    w.if_(replaces(dtype, largest, x.clone(), best.load(k)), |w| {
        w.store(best, k, x);
        if let Some(positions) = positions {
            w.store(positions, k, Expression::Position(i.clone()));
        }
    });
}

/// The extremum of each line, or its position.
fn extrema(w: &mut Writer, dtype: DType, largest: bool, lines: KernelLines<'_>, positions: bool) {
    let KernelLines { x, out, blocks, len, inner } = lines;
    if len == 0 {
        return;
    }
    let memory = (inner > 1 && positions).then(|| w.scratch(dtype, inner));
    w.for_(blocks, |w, block| {
        let results = out.moved(&block.clone().times(inner as i64));
        let rows = |i: &ElementIndex| x.moved(&lines.row(block, i));
        // Of several lines, what is found is in the result at once.
        let in_result = (inner > 1).then_some(&results);
        let best = w.lanes(dtype, (memory.as_ref().or(in_result), inner), |k| rows(&start()).load(k));
        let found = positions.then(|| w.lanes(DType::I64, (in_result, inner), |_| Expression::int_number(0)));
        w.range(at(1), at(len), |w, i| {
            w.for_(inner, |w, k| improve(w, (dtype, largest), &rows(i), (k, i), &best, found.as_ref()));
        });
        if inner == 1 {
            w.store(&results, &start(), found.as_ref().unwrap_or(&best).load(&start()));
        }
    });
}

/// The extremum of each prefix of each line, or its position.
fn prefix_extrema(
    w: &mut Writer,
    dtype: DType,
    (largest, reverse): (bool, bool),
    lines: KernelLines<'_>,
    positions: bool,
) {
    let KernelLines { x, out, blocks, len, inner } = lines;
    if len == 0 || inner == 0 {
        return;
    }
    let memory = (inner > 1).then(|| w.scratch(dtype, inner));
    let of_positions = (inner > 1 && positions).then(|| w.scratch(DType::I64, inner));
    w.for_(blocks, |w, block| {
        let rows = |of: &ElementPlace, i: &ElementIndex| of.moved(&lines.row(block, i));
        let first = at(if reverse { len - 1 } else { 0 });
        let best = w.lanes(dtype, (memory.as_ref(), inner), |k| rows(x, &first).load(k));
        let position = |_: &ElementIndex| Expression::Position(first.clone());
        let found = positions.then(|| w.lanes(DType::I64, (of_positions.as_ref(), inner), position));
        let result = found.as_ref().unwrap_or(&best);
        w.for_(inner, |w, k| w.store(&rows(out, &first), k, result.load(k)));
        let rest = if reverse { (start(), at(len - 1)) } else { (at(1), at(len)) };
        w.for_range(rest, reverse, |w, i| {
            w.for_(inner, |w, k| {
                improve(w, (dtype, largest), &rows(x, i), (k, i), &best, found.as_ref());
                w.store(&rows(out, i), k, result.load(k));
            });
        });
    });
}

/// The chunks of a line of prefix sums: the first element of some chunks of one length, this length, and their number.
fn chunks(len: usize) -> Vec<[usize; 3]> {
    let (mut found, mut done): (Vec<[usize; 3]>, usize) = (Vec::new(), 0);
    while done < len {
        let (chunk, side) = crate::kernels::scan::chunks(len - done);
        let count = side * crate::kernels::scan::alike(len - done);
        match found.last_mut() {
            Some([_, known, times]) if *known == chunk => *times += count,
            _ => found.push([done, chunk, count]),
        }
        done += chunk * count;
    }
    found
}

/// The prefix sums of each line: of each chunk from zero, plus the sum before the chunk.
fn prefix_sums(w: &mut Writer, dtype: DType, lines: KernelLines<'_>, reverse: bool) {
    let KernelLines { x, out, blocks, len, inner } = lines;
    if len == 0 || inner == 0 {
        return;
    }
    let zero = || Expression::zero(dtype);
    let memory = (inner > 1).then(|| [0, 1].map(|_| w.scratch(dtype, inner)));
    let [of_before, of_sums] = [0, 1].map(|k| memory.as_ref().map(|memory| &memory[k]));
    w.for_(blocks, |w, block| {
        let before = w.lanes(dtype, (of_before, inner), |_| zero());
        for [from, chunk, count] in chunks(len) {
            w.for_(count, |w, c| {
                let sums = w.lanes(dtype, (of_sums, inner), |_| zero());
                w.for_(chunk, |w, k| {
                    let done = c.clone().times(chunk as i64).plus(k).plus_constant(from as i64);
                    let i = if reverse { done.times(-1).plus_constant(len as i64 - 1) } else { done };
                    let row = lines.row(block, &i);
                    w.for_(inner, |w, k| {
                        w.store(&sums, k, Expression::sum(dtype, sums.load(k), x.moved(&row).load(k)));
                        w.store(&out.moved(&row), k, Expression::sum(dtype, before.load(k), sums.load(k)));
                    });
                });
                w.for_(inner, |w, k| w.store(&before, k, Expression::sum(dtype, before.load(k), sums.load(k))));
            });
        }
    });
}

/// Whether the indices of a subarray are within bounds, and the statements that compute its position then.
struct Subarray {
    within: Vec<Expression>,
    /// The indices, each with the distance of subarrays that follow each other along its axis.
    indices: Vec<(Expression, i64)>,
}

impl Subarray {
    /// Subarray `i` of the list whose indices are the operands after the first.
    fn of(
        w: &mut Writer,
        call: &KernelCall,
        (sizes, block): (&[usize], usize),
        ix: &[ElementPlace],
        i: &ElementIndex,
    ) -> Subarray {
        let mut found = Subarray { within: Vec::new(), indices: Vec::new() };
        let mut distance = block;
        for k in (0..sizes.len()).rev() {
            let place = if call.operands[k + 1].1 == 1 { start() } else { i.clone() };
            let index = w.named(DType::I64, ix[k].load(&place));
            let size = Expression::int_number(sizes[k] as i64);
            found.within.push(Expression::compare(Compare::Ge, index.clone(), Expression::int_number(0)));
            found.within.push(Expression::compare(Compare::Lt, index.clone(), size));
            found.indices.push((index, distance as i64));
            distance *= sizes[k];
        }
        found
    }

    /// The position of the first element; the indices are within bounds.
    fn position(indices: Vec<(Expression, i64)>, w: &mut Writer) -> ElementIndex {
        indices.into_iter().fold(start(), |sum, (index, distance)| {
            let index = ElementIndex::of(w.position(PositionExpr::Int(index)));
            sum.plus(&index.times(distance))
        })
    }
}

fn all(mut conditions: Vec<Expression>) -> Expression {
    match conditions.len() {
        0 => Expression::mask(true),
        1 => conditions.remove(0),
        _ => Expression::All(conditions),
    }
}

/// Subarrays of a table at indices; zeros out of bounds.
fn gather(
    w: &mut Writer,
    call: &KernelCall,
    (sizes, block): (&[usize], usize),
    operands: &[ElementPlace],
    out: &ElementPlace,
) {
    let (table, ix) = (&operands[0], &operands[1..]);
    let zero = Expression::zero(call.dtype);
    if sizes.contains(&0) {
        return w.fill(out, call.size, zero);
    }
    w.for_(call.size.checked_div(block).unwrap_or(0), |w, i| {
        let Subarray { within, indices } = Subarray::of(w, call, (sizes, block), ix, i);
        let to = out.moved(&i.clone().times(block as i64));
        w.if_else(
            all(within),
            |w| {
                let from = table.moved(&Subarray::position(indices, w));
                w.copy(&from, &to, block);
            },
            |w| w.fill(&to, block, zero),
        );
    });
}

/// Adds subarrays at indices; those out of bounds are dropped.
fn scatter(
    w: &mut Writer,
    call: &KernelCall,
    (sizes, block): (&[usize], usize),
    operands: &[ElementPlace],
    out: &ElementPlace,
) {
    let (v, ix, dtype) = (&operands[0], &operands[1..], call.dtype);
    if sizes.contains(&0) {
        return;
    }
    w.for_(call.operands[0].1.checked_div(block).unwrap_or(0), |w, i| {
        let Subarray { within, indices } = Subarray::of(w, call, (sizes, block), ix, i);
        let from = v.moved(&i.clone().times(block as i64));
        w.if_all(within, |w| {
            let to = out.moved(&Subarray::position(indices, w));
            w.for_(block, |w, e| w.store(&to, e, Expression::sum(dtype, to.load(e), from.load(e))));
        });
    });
}

/// Replaces the subarray at indices that are numbers; nothing if it is out of bounds.
fn update(
    w: &mut Writer,
    call: &KernelCall,
    (sizes, block): (&[usize], usize),
    operands: &[ElementPlace],
    out: &ElementPlace,
) {
    let Subarray { within, indices } = Subarray::of(w, call, (sizes, block), &operands[1..], &start());
    w.if_all(within, |w| {
        let to = out.moved(&Subarray::position(indices, w));
        w.copy(&operands[0], &to, block);
    });
}

#[cfg(test)]
pub(crate) mod tests;
