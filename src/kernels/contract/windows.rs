//! Canonical form of convolutions and their adjoints: windows only in operands, which are padded with zeros.
//!
//! The adjoint of a convolution in its image adds each product at index `s i + d j`, where `i` runs over positions and
//! `j` over the window. If `s` divides `d`, a change of variables (a shear) to `i + (d / s) j` and `j` makes the loop
//! over the window move only the operands, so that it is a loop of the sum. Otherwise every `t`-th position of the
//! window is a separate contraction, with `t = s / gcd(s, d)`: these phases write to different elements, and each can
//! be sheared. An operand that is then read out of range, as a padded image is, is copied once with zeros around it.
//!
//! The adjoint in the kernel sums along rows of image and result. If the rows of one have a larger distance, those of
//! the other are copied to the same distance, with zeros between, and all rows are one run.
//!
//! Law: the prepared contractions have the products of the given one, and otherwise only products with zeros of the
//! padding.

use smallvec::SmallVec;

use crate::cost::MACHINE;
use crate::dtype::{Elem, Num};
use crate::kernels::loop_nest::{Axis, Nest};
use crate::kernels::views;
use crate::ops::{Contract, View};
use crate::shape::{Shape, size};

/// The padding of an operand with zeros, and its reversal along some axes.
pub(crate) struct Pad {
    /// The copy of the operand into the padded array, which has `size` elements.
    nest: Nest<2>,
    size: usize,
    /// Whether there are zeros, not a reversal alone.
    pub(crate) zeros: bool,
}

impl Pad {
    /// The padding of an array of shape `source` to shape `large`, with the array, reversed along some axes, at the index
    /// `before`.
    fn new(source: &[usize], large: &[usize], before: &[i64], reversed: &[bool]) -> Option<Pad> {
        let rank = source.len();
        let sign = |k: usize| if reversed[k] { -1 } else { 1 };
        let own: Vec<i64> = (0..rank * rank).map(|k| if k / rank == k % rank { sign(k / rank) } else { 0 }).collect();
        let last = |k: usize| if reversed[k] { source[k] as i64 - 1 } else { 0 };
        let first: Vec<i64> = (0..rank).map(|k| before[k] + last(k)).collect();
        let into = View::affine(large, source, &own, &first);
        let nest = Nest::new([&View::identity(source), &into], [false; 2])?;
        Some(Pad { nest, size: size(large), zeros: large != source })
    }

    /// Copies an operand into the padded array `to`; `false` if memory for it is missing.
    pub(crate) fn run<E: Elem>(&self, v: &[E], to: &mut Vec<E>) -> bool {
        to.clear();
        if to.try_reserve_exact(self.size).is_err() {
            return false;
        }
        to.resize(self.size, E::ZERO);
        views::copy(&self.nest, v, to);
        true
    }
}

/// Contractions in canonical form, and the padding of each operand that needs one.
pub(crate) struct Prepared {
    /// Contractions of the padded operands that together have the products of the given one.
    pub(crate) parts: Vec<Contract>,
    pub(crate) pads: [Option<Pad>; 2],
}

/// The contraction in canonical form; `None` if it has that form already, or if the boxes of its views do not
/// intersect.
pub(crate) fn prepared(op: &Contract) -> Option<Prepared> {
    if is_nowhere(op) {
        return None;
    }
    let sheared = sheared(op);
    let changed = sheared.is_some();
    let mut parts = sheared.unwrap_or_else(|| vec![op.clone()]);
    parts.retain(|part| !is_nowhere(part));
    let pads = [0, 1].map(|k| padded(&mut parts, k, changed));
    let needed = !parts.is_empty() && (changed || pads.iter().any(Option::is_some));
    needed.then_some(Prepared { parts, pads })
}

/// Whether the boxes of the three views do not intersect.
fn is_nowhere(op: &Contract) -> bool {
    common(op).iter().any(|(lo, hi)| lo >= hi)
}

/// The number of products.
fn visits(op: &Contract) -> usize {
    common(op).iter().map(|(lo, hi)| hi.saturating_sub(*lo)).fold(1, usize::saturating_mul)
}

type Bounds = SmallVec<[(usize, usize); 6]>;

/// The intersection of the boxes of the three views.
fn common(op: &Contract) -> Bounds {
    let sides = |axis: usize| [&op.a, &op.b, &op.out].map(|view| view.bounds()[axis]);
    let both = |axis: usize| sides(axis).into_iter().reduce(|x, y| (x.0.max(y.0), x.1.min(y.1))).unwrap_or_default();
    (0..op.a.shape().len()).map(both).collect()
}

/// Pads an operand of some contractions, if one of its views reads out of range, and if copying the padded operand takes
/// little time compared with the products. If `reverses`, the operand is reversed along the axes that are read backwards.
fn padded(parts: &mut [Contract], operand: usize, reverses: bool) -> Option<Pad> {
    let view = |part: &Contract| if operand == 0 { part.a.clone() } else { part.b.clone() };
    let source = Shape::from_slice(view(parts.first()?).source());
    let all = |axis: usize, f: &dyn Fn(&i64) -> bool| parts.iter().all(|part| view(part).row(axis).iter().all(f));
    let backwards = |axis: usize| reverses && all(axis, &|m| *m <= 0) && !all(axis, &|m| *m == 0);
    let reversed: Vec<bool> = (0..source.len()).map(backwards).collect();
    let forwards = |part: &Contract| {
        let (view, mut matrix, mut offset) = (view(part), Vec::new(), Vec::new());
        for (axis, reversed) in reversed.iter().enumerate() {
            let sign = if *reversed { -1 } else { 1 };
            let last = if *reversed { source[axis] as i64 - 1 } else { 0 };
            offset.push(last + sign * view.offset()[axis]);
            matrix.extend(view.row(axis).iter().map(|m| sign * m));
        }
        (matrix, offset)
    };
    let moved: Vec<_> = parts.iter().map(forwards).collect();
    let (mut before, mut large) = (Vec::new(), Shape::new());
    for (axis, len) in source.iter().enumerate() {
        let (mut lo, mut hi) = (0, *len as i64);
        for (part, (matrix, offset)) in parts.iter().zip(&moved) {
            let range = within(&matrix[axis * part.a.shape().len()..], offset[axis], &common(part));
            (lo, hi) = (lo.min(range.0), hi.max(range.1 + 1));
        }
        before.push(-lo);
        large.push((hi - lo) as usize);
    }
    let elements = large.iter().fold(1, |n: usize, k| n.saturating_mul(*k));
    let (own, result) = (size(&source), size(parts.first()?.out.source()));
    let products = parts.iter().map(visits).fold(0, usize::saturating_add);
    let cheap = elements / 2 <= own || (elements / 4 <= products && elements / 4 <= own.saturating_add(result));
    if (large == source && !reversed.contains(&true)) || !cheap {
        return None;
    }
    for (part, (matrix, mut offset)) in parts.iter_mut().zip(moved) {
        offset.iter_mut().zip(&before).for_each(|(at, before)| *at += before);
        let wide = clipped(View::affine(&large, part.a.shape(), &matrix, &offset), &common(part));
        *(if operand == 0 { &mut part.a } else { &mut part.b }) = wide;
    }
    Pad::new(&source, &large, &before, &reversed)
}

/// The smallest and the largest index within a box, for the coefficients of the loops and the offset.
fn within(row: &[i64], start: i64, bounds: &Bounds) -> (i64, i64) {
    row.iter().zip(bounds).fold((start, start), |(lo, hi), (m, (first, end))| {
        let (x, y) = (m * *first as i64, m * (*end as i64 - 1));
        (lo + x.min(y), hi + x.max(y))
    })
}

fn clipped(view: View, bounds: &[(usize, usize)]) -> View {
    bounds.iter().enumerate().fold(view, |view, (axis, (lo, hi))| view.clipped(axis, *lo, *hi))
}

/// Applies [`phases`] to pairs of loops as often as possible; `None` without such a pair, or if the products with
/// zeros that it adds take more time than sums of windows in the result.
fn sheared(op: &Contract) -> Option<Vec<Contract>> {
    let rank = op.a.shape().len();
    let mut parts = vec![op.clone()];
    // Each shear turns a loop over the result into a loop of the sum, so there are at most `rank` of them.
    for _ in 0..rank {
        let pairs = (0..rank).flat_map(|i| (0..rank).map(move |j| (i, j))).filter(|(i, j)| i != j);
        let all = |(i, j): (usize, usize)| -> Option<Vec<Contract>> {
            let each: Option<Vec<_>> = parts.iter().map(|part| phases(part, i, j)).collect();
            Some(each?.concat())
        };
        let Some(next) = pairs.into_iter().find_map(all) else { break };
        parts = next;
    }
    let [before, after] =
        [std::slice::from_ref(op), &parts[..]].map(|all| all.iter().map(visits).sum::<usize>() as f64);
    let is_summed = |axis: &usize| (0..op.out.source().len()).all(|k| op.out.row(k)[*axis] == 0);
    let depth: f64 = common(op)
        .iter()
        .enumerate()
        .filter(|(axis, _)| is_summed(axis))
        .map(|(_, (lo, hi))| (hi - lo) as f64)
        .product();
    let changed = parts.len() > 1 || parts[0] != *op;
    let whole = MACHINE.tiled_product + MACHINE.window_sum / depth;
    (changed && after * product_time(&parts[0]) <= before * whole).then_some(parts)
}

/// Nanoseconds of a product, which are more if the matrices are narrow: then few products share an element.
fn product_time(op: &Contract) -> f64 {
    let roles = op.roles();
    let lines = |k: usize| -> f64 {
        let along = |(axis, [a, b, out]): (usize, &[bool; 3])| {
            if *out && [*a, *b] == [k == 0, k == 1] { op.a.shape()[axis] } else { 1 }
        };
        roles.iter().enumerate().map(|both| along(both) as f64).product()
    };
    MACHINE.tiled_product * (MACHINE.packed_columns as f64 / lines(0).min(lines(1))).max(1.0)
}

/// The most phases along a loop.
const PHASES: i64 = 4;

/// The contraction as contractions for every `t`-th step of loop `j`, each with `i + m j` as loop `i`; the steps of all
/// of them write to different elements.
fn phases(op: &Contract, i: usize, j: usize) -> Option<Vec<Contract>> {
    let (x, y) = ratio(&op.out, i, j)?;
    let period = x / gcd(x, y);
    if period == 1 {
        return shear(op, i, j, y / x).map(|sheared| vec![sheared]);
    }
    let (low, high) = common(op)[j];
    if period > PHASES || visits(op) / (period as usize) < MACHINE.phase {
        return None;
    }
    let every = |phase: usize| {
        let part = every(op, j, phase, period as usize)?;
        if common(&part)[j].1 < 2 { Some(part) } else { shear(&part, i, j, y * period / x) }
    };
    (low..high.min(low + period as usize)).map(every).collect()
}

/// The greatest common divisor of two positive numbers.
fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// The contraction at every `period`-th step of a loop from `first` on.
fn every(op: &Contract, axis: usize, first: usize, period: usize) -> Option<Contract> {
    let mut bounds = common(op);
    let len = (bounds[axis].1 - first).div_ceil(period);
    let mut shape = Shape::from_slice(op.a.shape());
    shape[axis] = len;
    bounds[axis] = (0, len);
    substituted(op, &shape, &bounds, |row, at| {
        *at += row[axis] * first as i64;
        row[axis] *= period as i64;
        Some(())
    })
}

/// The contraction over loops of other lengths and bounds, with each row of the three views, and its offset, changed.
fn substituted(
    op: &Contract,
    shape: &Shape,
    bounds: &Bounds,
    change: impl Fn(&mut [i64], &mut i64) -> Option<()>,
) -> Option<Contract> {
    let changed = |view: &View| {
        let (mut matrix, mut offset) = (Vec::new(), view.offset().to_vec());
        for (k, at) in offset.iter_mut().enumerate() {
            let mut row = view.row(k).to_vec();
            change(&mut row, at)?;
            matrix.extend(row);
        }
        Some(clipped(View::try_affine(view.source(), shape, &matrix, &offset).ok()?, bounds))
    };
    Some(Contract::new(changed(&op.a)?, changed(&op.b)?, changed(&op.out)?))
}

/// The contraction with `i + m j` as loop `i`, for loops that move one operand each, if the result then does not move
/// with loop `j`.
fn shear(op: &Contract, i: usize, j: usize, m: i64) -> Option<Contract> {
    let moves = |view: &View, axis: usize| (0..view.source().len()).any(|k| view.row(k)[axis] != 0);
    let own = match [i, j].map(|axis| [&op.a, &op.b].map(|view| moves(view, axis))) {
        [[true, false], [false, true]] => &op.a,
        [[false, true], [true, false]] => &op.b,
        [[_, _], [_, _]] => return None,
    };
    let mut bounds = common(op);
    let ((first, end), (low, high)) = (bounds[i], bounds[j]);
    // The shorter of both loops is the window.
    if first >= end || high < low + 2 || end - first < high - low || !is_whole_index(own, i, (first, end)) {
        return None;
    }
    let (x, y) = (m.checked_mul(low as i64)?, m.checked_mul(high as i64 - 1)?);
    let start = x.min(y).checked_add(first as i64)?;
    let len = x.max(y).checked_sub(x.min(y))?.checked_add((end - first) as i64)?;
    let mut shape = Shape::from_slice(op.a.shape());
    shape[i] = len as usize;
    bounds[i] = (0, len as usize);
    substituted(op, &shape, &bounds, |row, at| {
        *at = row[i].checked_mul(start)?.checked_add(*at)?;
        row[j] = row[j].checked_sub(m.checked_mul(row[i])?)?;
        // The window is read backwards, so that the operand with the positions is read forwards.
        if m > 0 {
            *at = row[j].checked_mul((low + high) as i64 - 1)?.checked_add(*at)?;
            row[j] = -row[j];
        }
        Some(())
    })
}

/// Numbers `(x, y)`, `x` positive, so that `y` steps of loop `i` move the result as far as `x` steps of loop `j`, if
/// there are some, and if both loops move the result along one axis.
fn ratio(out: &View, i: usize, j: usize) -> Option<(i64, i64)> {
    let mut moved = (0..out.source().len()).map(|k| (out.row(k)[i], out.row(k)[j])).filter(|both| *both != (0, 0));
    let (x, y) = moved.next().filter(|(x, y)| *x != 0 && *y != 0)?;
    moved.next().is_none().then_some((x.checked_abs()?, y.checked_mul(x.signum())?))
}

/// Whether a loop alone is the index along an axis of an operand, and runs over all its positions: then the bounds of
/// the loop are those of the operand.
fn is_whole_index(view: &View, axis: usize, (first, end): (usize, usize)) -> bool {
    (0..view.source().len()).any(|k| {
        let row = view.row(k);
        let alone = row.iter().enumerate().all(|(other, m)| *m == i64::from(other == axis));
        alone && view.offset()[k] + first as i64 == 0 && view.offset()[k] + end as i64 == view.source()[k] as i64
    })
}

/// The nest of a sum along rows of both operands as a sum along one run, if the rows of one operand have a larger
/// distance, and the padding of the other operand, with its number, in which rows have that distance. `sizes` are the
/// numbers of elements of the operands.
pub(crate) fn joined(nest: &Nest<3>, sizes: [usize; 2]) -> Option<(Nest<3>, usize, Pad)> {
    let (inner, rows) = (nest.inner(), nest.middle());
    let count = nest.axes().len().checked_sub(2)?;
    let short = usize::from(rows.strides[0] > rows.strides[1]);
    let [len, distance] = [inner.len, usize::try_from(rows.strides[1 - short]).ok()?];
    let apart = |stride: i64| (stride % len as i64 == 0).then(|| stride / len as i64 * distance as i64);
    let is_row = nest.is_box() && inner.strides == [1, 1, 0] && rows.strides[2] == 0;
    // Long runs gain little.
    if !is_row
        || rows.strides[short] != len as i64
        || !(len + 1..=len + len / 4).contains(&distance)
        || len * 8 > MACHINE.summed_steps
        || !sizes[short].is_multiple_of(len)
    {
        return None;
    }
    let wider = |strides: [i64; 3]| {
        let mut strides = strides;
        strides[short] = apart(strides[short])?;
        Some(strides)
    };
    let around: Option<SmallVec<[Axis<3>; 6]>> =
        nest.axes()[..count].iter().map(|axis| Some(Axis::plain(axis.len, wider(axis.strides)?))).collect();
    let mut axes = around?;
    axes.push(Axis::plain((rows.len - 1) * distance + len, [1, 1, 0]));
    let lines = sizes[short] / len;
    Some((
        Nest::of_box(wider(nest.base())?, axes),
        short,
        Pad::new(&[lines, len], &[lines, distance], &[0, 0], &[false; 2])?,
    ))
}

/// Whether no element is infinite or NaN.
pub(crate) fn all_finite<E: Num>(v: &[E]) -> bool {
    v.chunks(64).all(|chunk| chunk.iter().fold(true, |all, x| all & (x.mul(E::ZERO) == E::ZERO)))
}

#[cfg(test)]
mod tests {
    use crate::dtype::DType;
    use crate::kernels::contract::windows::*;
    use crate::kernels::contract::{PlannedContraction, Scratch};

    /// A convolution in one dimension, or its adjoint in the image. `shape` has the numbers of positions, window
    /// positions, input channels and output channels.
    fn line(shape: [usize; 4], n: usize, [stride, dilation, offset]: [i64; 3], adjoint: bool) -> Contract {
        let [y, d, c, o] = shape;
        let small = View::axes(&shape, &[3, 0]);
        let kernel = View::axes(&shape, &[3, 2, 1]);
        let image = View::affine(&[c, n], &shape, &[0, 0, 1, 0, stride, dilation, 0, 0], &[0, offset]);
        assert_eq!((small.source(), kernel.source()), (&[o, y][..], &[o, c, d][..]));
        if adjoint { Contract::new(small, kernel, image) } else { Contract::new(kernel, image, small) }
    }

    #[test]
    fn prepared_products_are_the_product() {
        let mut state = 1u64;
        let mut draw = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let (mut sheared, mut padded, mut phases) = (0, 0, 0);
        for case in 0..160 {
            let mut shape = [1 + draw(40), 1 + draw(4), 1 + draw(7), 1 + draw(5)].map(|n| n as usize);
            let mut moves = [1 + draw(3) as i64, draw(5) as i64 - 1, draw(5) as i64 - 3];
            // Large enough for phases.
            if case % 20 == 0 {
                (shape, moves) = ([500, 5, 3, 2 + case / 40], [2 + (case / 20 % 2) as i64, 1 + (case / 80) as i64, -1]);
            }
            let n = (shape[0] as i64 * moves[0] + draw(5) as i64 - 2).max(1) as usize;
            let mut op = line(shape, n, moves, case % 2 == 0);
            if draw(4) == 0 {
                op.out = op.out.clipped(0, draw(3) as usize, shape[0]);
            }
            if let Some(Prepared { parts, pads }) = prepared(&op) {
                sheared += usize::from(parts[0].a.shape() != op.a.shape());
                phases += usize::from(parts.len() > 1);
                padded += usize::from(pads.iter().any(Option::is_some));
            }
            let mut values = |view: &View| -> Vec<f64> {
                let numbers = (0..size(view.source())).map(|_| draw(9) as f64 - 4.0);
                let mut numbers: Vec<f64> = numbers.collect();
                if case % 7 == 0 {
                    numbers[0] = f64::INFINITY;
                }
                numbers
            };
            let (a, b) = (values(&op.a), values(&op.b));
            let mut out = vec![f64::NAN; size(op.out.source())];
            let product = PlannedContraction::new(&op, DType::F64, [false; 2]);
            product.run(&a, &b, &mut out, true, &mut Scratch::default());
            let expected = op.defined(&a, &b);
            let same = |(x, y): (&f64, &f64)| x == y || (x.is_nan() && y.is_nan());
            assert!(out.iter().zip(&expected).all(same), "{op:?}: {out:?}, not {expected:?}");
        }
        assert!(sheared > 20 && padded > 30 && phases > 4, "{sheared}, {padded} and {phases}");
    }
}
