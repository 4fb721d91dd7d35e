//! Canonical form of convolutions and their adjoints: windows only in operands, which are padded with zeros.
//!
//! The adjoint of a convolution in its image adds each product at index `i + m j`, where `i` runs over positions and
//! `j` over the window. The change of variables (a shear) to `i + m j` and `j` makes the loop over the window move only
//! the operands, so that it is a loop of the sum. An operand that is then read out of range, as a padded image is, is
//! copied once with zeros around it.
//!
//! Law: the prepared contraction has the products of the given one, and otherwise only products with zeros of the
//! padding.

use smallvec::SmallVec;

use crate::dtype::{Elem, Num};
use crate::kernels::loop_nest::Nest;
use crate::kernels::views;
use crate::ops::{Contract, View};
use crate::shape::{Shape, size};

/// The padding of an operand with zeros.
pub(crate) struct Pad {
    /// The copy of the operand into the padded array, which has `size` elements.
    nest: Nest<2>,
    size: usize,
}

impl Pad {
    /// Copies an operand into the padded array `to`; `false` if there is no memory for it.
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

/// The contraction in canonical form, and the padding of each operand that needs one; `None` if the contraction has
/// that form already, or if the boxes of its views do not intersect.
pub(crate) fn prepared(op: &Contract) -> Option<(Contract, [Option<Pad>; 2])> {
    let sheared = sheared(op);
    let op = sheared.as_ref().unwrap_or(op);
    let bounds = common(op);
    if bounds.iter().any(|(lo, hi)| lo >= hi) {
        return None;
    }
    let [a, b] = [padded(&op.a, &bounds), padded(&op.b, &bounds)];
    let changed = sheared.is_some() || a.is_some() || b.is_some();
    let parts = |part: Option<(View, Pad)>, view: &View| match part {
        Some((view, pad)) => (view, Some(pad)),
        None => (view.clone(), None),
    };
    let ((a, pad_a), (b, pad_b)) = (parts(a, &op.a), parts(b, &op.b));
    changed.then(|| (Contract::new(a, b, op.out.clone()), [pad_a, pad_b]))
}

type Bounds = SmallVec<[(usize, usize); 6]>;

/// The intersection of the boxes of the three views.
fn common(op: &Contract) -> Bounds {
    let sides = |axis: usize| [&op.a, &op.b, &op.out].map(|view| view.bounds()[axis]);
    let both = |axis: usize| sides(axis).into_iter().reduce(|x, y| (x.0.max(y.0), x.1.min(y.1))).unwrap_or_default();
    (0..op.a.shape().len()).map(both).collect()
}

/// The view of the padded operand, and the padding, if the view reads out of range, and if the padded operand is at
/// most about twice as large.
fn padded(view: &View, bounds: &[(usize, usize)]) -> Option<(View, Pad)> {
    let source = view.source();
    let (mut large, mut offset, mut before) = (Shape::new(), Vec::new(), Vec::new());
    for (axis, len) in source.iter().enumerate() {
        let (mut lo, mut hi) = (view.offset()[axis], view.offset()[axis]);
        for (m, (first, end)) in view.row(axis).iter().zip(bounds) {
            let (x, y) = (m * *first as i64, m * (*end as i64 - 1));
            (lo, hi) = (lo + x.min(y), hi + x.max(y));
        }
        let down = (-lo).max(0);
        let up = (hi + 1 - *len as i64).max(0);
        large.push(len + down as usize + up as usize);
        offset.push(view.offset()[axis] + down);
        before.push(down);
    }
    if large[..] == *source || large.iter().fold(1, |n: usize, k| n.saturating_mul(*k)) / 2 > size(source) {
        return None;
    }
    let rank = source.len();
    let matrix: Vec<i64> = (0..rank).flat_map(|axis| view.row(axis).iter().copied()).collect();
    let wide = clipped(View::affine(&large, view.shape(), &matrix, &offset), view.bounds());
    let own: Vec<i64> = (0..rank * rank).map(|k| i64::from(k / rank == k % rank)).collect();
    let into = View::affine(&large, source, &own, &before);
    let nest = Nest::new([&View::identity(source), &into], [false; 2])?;
    Some((wide, Pad { nest, size: size(&large) }))
}

fn clipped(view: View, bounds: &[(usize, usize)]) -> View {
    bounds.iter().enumerate().fold(view, |view, (axis, (lo, hi))| view.clipped(axis, *lo, *hi))
}

/// Applies [`shear`] to pairs of loops as often as possible; `None` if there is no such pair.
fn sheared(op: &Contract) -> Option<Contract> {
    let rank = op.a.shape().len();
    let mut done: Option<Contract> = None;
    // Each shear turns a loop over the result into a loop of the sum, so there are at most `rank` of them.
    for _ in 0..rank {
        let now = done.as_ref().unwrap_or(op);
        let pairs = (0..rank).flat_map(|i| (0..rank).map(move |j| (i, j))).filter(|(i, j)| i != j);
        let Some(next) = pairs.into_iter().find_map(|(i, j)| shear(now, i, j)) else { break };
        done = Some(next);
    }
    done
}

/// The contraction with `i + m j` as loop `i`, for loops that move one operand each, if the result then does not move
/// with loop `j`.
fn shear(op: &Contract, i: usize, j: usize) -> Option<Contract> {
    let moves = |view: &View, axis: usize| (0..view.source().len()).any(|k| view.row(k)[axis] != 0);
    let own = match [i, j].map(|axis| [&op.a, &op.b].map(|view| moves(view, axis))) {
        [[true, false], [false, true]] => &op.a,
        [[false, true], [true, false]] => &op.b,
        [[_, _], [_, _]] => return None,
    };
    let m = ratio(&op.out, i, j)?;
    let bounds = common(op);
    let ((first, end), (low, high)) = (bounds[i], bounds[j]);
    if first >= end || high < low + 2 || !is_whole_index(own, i, (first, end)) {
        return None;
    }
    let (x, y) = (m.checked_mul(low as i64)?, m.checked_mul(high as i64 - 1)?);
    let start = x.min(y).checked_add(first as i64)?;
    let len = x.max(y).checked_sub(x.min(y))?.checked_add((end - first) as i64)?;
    if len > 2 * (end - first) as i64 {
        return None;
    }
    let mut shape = Shape::from_slice(op.a.shape());
    shape[i] = len as usize;
    let changed = |view: &View| {
        let (mut matrix, mut offset) = (Vec::new(), view.offset().to_vec());
        for (k, at) in offset.iter_mut().enumerate() {
            let mut row = view.row(k).to_vec();
            *at = row[i].checked_mul(start)?.checked_add(*at)?;
            row[j] = row[j].checked_sub(m.checked_mul(row[i])?)?;
            matrix.extend(row);
        }
        let view = View::try_affine(view.source(), &shape, &matrix, &offset).ok()?;
        let sides = |axis: usize| if axis == i { (0, len as usize) } else { bounds[axis] };
        Some(clipped(view, &(0..shape.len()).map(sides).collect::<Bounds>()))
    };
    Some(Contract::new(changed(&op.a)?, changed(&op.b)?, changed(&op.out)?))
}

/// The integer `m` for which a step of loop `j` moves the result as far as `m` steps of loop `i`, if there is one.
fn ratio(out: &View, i: usize, j: usize) -> Option<i64> {
    let mut ratio = None;
    for k in 0..out.source().len() {
        match (out.row(k)[i], out.row(k)[j]) {
            (0, 0) => {}
            (x, y) if x != 0 && y % x == 0 && ratio.is_none_or(|m| m == y / x) => ratio = Some(y / x),
            (_, _) => return None,
        }
    }
    ratio.filter(|m| *m != 0)
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

    /// The definition of a contraction.
    fn defined(op: &Contract, a: &[f64], b: &[f64]) -> Vec<f64> {
        let flat = |view: &View, index: &[usize]| {
            let at = view.at(index)?;
            Some(at.iter().zip(view.source()).fold(0, |flat, (i, n)| flat * n + i))
        };
        let mut out = vec![0.0; size(op.out.source())];
        let shape = op.a.shape();
        for k in 0..size(shape) {
            let mut index = vec![0; shape.len()];
            let mut rest = k;
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            if let (Some(i), Some(j), Some(o)) = (flat(&op.a, &index), flat(&op.b, &index), flat(&op.out, &index)) {
                out[o] += a[i] * b[j];
            }
        }
        out
    }

    #[test]
    fn prepared_products_are_the_product() {
        let mut state = 1u64;
        let mut draw = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let (mut sheared, mut padded) = (0, 0);
        for case in 0..120 {
            let shape = [1 + draw(40), 1 + draw(4), 1 + draw(7), 1 + draw(5)].map(|n| n as usize);
            let moves = [1 + draw(2) as i64, draw(4) as i64 - 1, draw(5) as i64 - 3];
            let n = (shape[0] as i64 * moves[0] + draw(5) as i64 - 2).max(1) as usize;
            let mut op = line(shape, n, moves, case % 2 == 0);
            if draw(4) == 0 {
                op.out = op.out.clipped(0, draw(3) as usize, shape[0]);
            }
            if let Some((prepared, pads)) = prepared(&op) {
                sheared += usize::from(prepared.a.shape() != op.a.shape());
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
            let expected = defined(&op, &a, &b);
            let same = |(x, y): (&f64, &f64)| x == y || (x.is_nan() && y.is_nan());
            assert!(out.iter().zip(&expected).all(same), "{op:?}: {out:?}, not {expected:?}");
        }
        assert!(sheared > 10 && padded > 30, "{sheared} and {padded}");
    }
}
