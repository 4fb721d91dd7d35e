//! Views in StableHLO: reads as slices, transpositions and broadcasts, writes as padding.
//!
//! A row of a view, the index along one axis of its source, is *plain* if it depends on at most one axis of the
//! iteration space, on which no other row depends. A *window* is a row that depends on two such axes: it is read by a
//! reshape if windows do not overlap, otherwise by a slice for each position within a window, and written by padding
//! and sums of the slices. Other rows are *tangled* (diagonals, wide windows): they are read by a gather and written by
//! a scatter at computed indices.
//!
//! Law: positions that a view of an operation maps out of bounds are excluded from the box that all views share, or
//! masked.

use smallvec::SmallVec;

use super::rules::rule;
use super::text::{HloValue, Region, Ty};
use crate::ops::View;
use crate::ops::view::interval;
use crate::shape::Shape;

/// A box of an iteration space: the half-open interval along each axis.
pub(super) type BoxIntervals = Vec<(usize, usize)>;

/// One row of a view within a box: `start + sum coefficient * i`, with `i` counted from the start of the box.
pub(super) struct ViewRow {
    pub(super) start: i64,
    pub(super) moving: SmallVec<[(usize, i64); 2]>,
    /// Whether the row depends on one axis at most, on which no other row depends.
    pub(super) plain: bool,
}

impl ViewRow {
    /// The smallest and the largest index.
    pub(super) fn range(&self, bounds: &[(usize, usize)]) -> (i64, i64) {
        self.moving.iter().fold((self.start, self.start), |(lo, hi), (axis, m)| {
            let reach = m * (width(bounds, *axis) as i64 - 1);
            (lo + reach.min(0), hi + reach.max(0))
        })
    }

    /// The absolute coefficient of the only axis.
    fn step(&self) -> usize {
        self.moving.first().map_or(1, |(_, m)| m.unsigned_abs() as usize)
    }

    /// The row as a window: if it depends on two axes, on which no other row depends, and does not need too many
    /// slices.
    pub(super) fn window(&self, rows: &[ViewRow], bounds: &[(usize, usize)]) -> Option<Window> {
        let [x, y] = self.moving[..] else { return None };
        let uses = |axis: usize| rows.iter().filter(|row| row.moving.iter().any(|m| m.0 == axis)).count();
        if uses(x.0) > 1 || uses(y.0) > 1 {
            return None;
        }
        let made = |outer: (usize, i64), inner: (usize, i64)| Window {
            outer,
            inner,
            start: self.start,
            widths: [width(bounds, outer.0), width(bounds, inner.0)],
        };
        let both = [made(x, y), made(y, x)];
        let slices = |window: &Window| if window.ratio().is_some() { 0 } else { window.widths[1] };
        both.into_iter().min_by_key(slices).filter(|window| slices(window) <= SLICES)
    }

    pub(super) fn is_within(&self, bounds: &[(usize, usize)], n: usize) -> bool {
        let (lo, hi) = self.range(bounds);
        0 <= lo && hi < n as i64
    }
}

/// The largest number of slices for a window; wider windows become a gather or a scatter.
const SLICES: usize = 32;

/// A row that depends on two axes of the iteration space, each with its coefficient: the axis of windows, and the axis
/// within a window.
pub(super) struct Window {
    outer: (usize, i64),
    inner: (usize, i64),
    start: i64,
    widths: [usize; 2],
}

impl Window {
    /// The distance of windows in steps within a window, if windows do not overlap.
    pub(super) fn ratio(&self) -> Option<usize> {
        let (step, inner) = (self.outer.1, self.inner.1);
        let ratio = usize::try_from(step / inner).ok()?;
        (step % inner == 0 && self.widths[1] <= ratio).then_some(ratio)
    }
}

/// The role of an axis of an operand that is being read.
enum Dim {
    /// An axis of the box.
    Axis(usize),
    /// The axis of the operand that this row indexes.
    Row(usize),
}

/// The rows that are not constant.
fn left(rows: &[ViewRow]) -> Vec<usize> {
    (0..rows.len()).filter(|k| !rows[*k].plain || !rows[*k].moving.is_empty()).collect()
}

/// The plain rows with a negative coefficient.
fn backwards(rows: &[ViewRow]) -> Vec<usize> {
    let falls = |row: &ViewRow| row.plain && row.moving.first().is_some_and(|(_, m)| *m < 0);
    (0..rows.len()).filter(|k| falls(&rows[*k])).collect()
}

/// The axes of a box on which some rows depend, in order.
fn moved_by(rows: &[&ViewRow]) -> Vec<usize> {
    let mut axes: Vec<usize> = rows.iter().flat_map(|row| row.moving.iter().map(|m| m.0)).collect();
    axes.sort_unstable();
    axes.dedup();
    axes
}

/// The extent of a box along an axis.
pub(super) fn width(bounds: &[(usize, usize)], axis: usize) -> usize {
    bounds[axis].1 - bounds[axis].0
}

/// An array whose axes are axes of the box, each as long as the box.
#[derive(Clone)]
pub(super) struct BoxArray {
    pub(super) value: HloValue,
    pub(super) axes: Vec<usize>,
}

/// A box that contains all positions that are in bounds for all views; `None` without such a position.
pub(super) fn common(views: &[&View]) -> Option<BoxIntervals> {
    if views.iter().any(|view| view.is_empty()) {
        return None;
    }
    let sides = |axis: usize| views.iter().map(move |view| view.bounds()[axis]);
    let mut bounds: BoxIntervals = (0..views[0].shape().len())
        .map(|axis| sides(axis).fold((0, usize::MAX), |x, y| (x.0.max(y.0), x.1.min(y.1))))
        .collect();
    // If an axis is cut to one position, a row may come to depend on one axis alone, and cut the box further.
    loop {
        if bounds.iter().any(|(lo, hi)| lo >= hi) {
            return None;
        }
        let before = bounds.clone();
        for view in views {
            for (k, n) in view.source().iter().enumerate() {
                // The previous row may have cut the box.
                let row = row_of(view, &bounds, k);
                match row.moving[..] {
                    [] if !row.is_within(&bounds, *n) => return None,
                    [(axis, m)] => {
                        let (lo, hi) = bounds[axis];
                        let (first, end) = interval(m, row.start - m * lo as i64, 0, *n as i64);
                        let first = first.max(lo as i64);
                        bounds[axis] = (first as usize, end.clamp(first, (hi as i64).max(first)) as usize);
                    }
                    [] | [_, _, ..] => {}
                }
                if bounds.iter().any(|(lo, hi)| lo >= hi) {
                    return None;
                }
            }
        }
        if bounds == before {
            return Some(bounds);
        }
    }
}

/// One row of a view within a box; the flag `plain` is not set yet.
fn row_of(view: &View, bounds: &[(usize, usize)], k: usize) -> ViewRow {
    let coefficients = view.row(k).iter().enumerate();
    let start = coefficients.clone().map(|(axis, m)| m * bounds[axis].0 as i64).sum::<i64>() + view.offset()[k];
    let moving = coefficients.filter(|(axis, m)| **m != 0 && width(bounds, *axis) > 1).map(|(axis, m)| (axis, *m));
    ViewRow { start, moving: moving.collect(), plain: false }
}

/// The rows of a view within a box.
pub(super) fn rows(view: &View, bounds: &[(usize, usize)]) -> Vec<ViewRow> {
    let mut rows: Vec<ViewRow> = (0..view.source().len()).map(|k| row_of(view, bounds, k)).collect();
    for k in 0..rows.len() {
        let alone =
            |axis: usize| rows.iter().enumerate().all(|(j, row)| j == k || row.moving.iter().all(|m| m.0 != axis));
        let plain = match rows[k].moving[..] {
            [] => true,
            [(axis, _)] => alone(axis),
            [_, _, ..] => false,
        };
        rows[k].plain = plain;
    }
    rows
}

/// The axes of a box on which a view depends, in order.
pub(super) fn moved(rows: &[ViewRow]) -> Vec<usize> {
    moved_by(&rows.iter().collect::<Vec<&ViewRow>>())
}

/// Whether every position of the box is in bounds.
pub(super) fn is_total(rows: &[ViewRow], source: &[usize], bounds: &[(usize, usize)]) -> bool {
    rows.iter().zip(source).all(|(row, n)| row.is_within(bounds, *n))
}

impl Region {
    /// `out[into i] += t[from i]`; `signed` says that an operation sees the signs of zeros of the result.
    pub(super) fn affine(&mut self, t: &HloValue, from: &View, into: &View, signed: bool) -> HloValue {
        let Some(bounds) = common(&[from, into]) else {
            return self.full(0.0, into.source(), t.ty);
        };
        let part = self.read(t, from, &bounds);
        let kept = moved(&rows(into, &bounds));
        let signed = signed && part.axes.iter().all(|axis| kept.contains(axis));
        let part = self.summed(part, &kept);
        let times = (0..bounds.len())
            .filter(|axis| !kept.contains(axis) && !moved(&rows(from, &bounds)).contains(axis))
            .map(|axis| width(&bounds, axis))
            .product();
        let part = self.times(part, times);
        let part = if signed { self.added_to_zero(part) } else { part };
        self.write(part, into, &bounds)
    }

    /// The part with each -0 replaced by +0, as a sum that starts from +0 has it. A selection, since XLA removes an
    /// addition of 0 without regard to signs.
    pub(super) fn added_to_zero(&mut self, part: BoxArray) -> BoxArray {
        if !part.value.ty.is_float() {
            return part;
        }
        let zero = self.like(0.0, &part.value);
        let is_zero = self.compare("EQ", &part.value, &zero);
        BoxArray { value: self.select(&is_zero, &zero, &part.value), ..part }
    }

    /// The part summed over all axes that are not kept.
    pub(super) fn summed(&mut self, part: BoxArray, kept: &[usize]) -> BoxArray {
        let gone: Vec<usize> = (0..part.axes.len()).filter(|k| !kept.contains(&part.axes[*k])).collect();
        let value = self.sum(&part.value, &gone);
        BoxArray { value, axes: part.axes.into_iter().filter(|axis| kept.contains(axis)).collect() }
    }

    /// The sum of `times` equal parts.
    pub(super) fn times(&mut self, part: BoxArray, times: usize) -> BoxArray {
        if times == 1 || part.value.ty == Ty::Bool {
            return part;
        }
        let factor = self.like(times as f64, &part.value);
        BoxArray { value: self.binary("multiply", &part.value, &factor), ..part }
    }

    /// The part broadcast and transposed to these axes.
    pub(super) fn spread(&mut self, part: &BoxArray, axes: &[usize], bounds: &[(usize, usize)]) -> HloValue {
        let shape: Shape = axes.iter().map(|axis| width(bounds, *axis)).collect();
        let fits = part.axes.iter().all(|axis| axes.contains(axis))
            && part.axes.iter().map(|axis| width(bounds, *axis)).eq(part.value.shape.iter().copied());
        rule!(format!("a part with the axes {:?} of {bounds:?} along {axes:?}", part.axes), [&part.value], fits);
        let place = |axis: &usize| axes.iter().position(|a| a == axis).unwrap_or_default();
        let places: Vec<usize> = part.axes.iter().map(place).collect();
        if places.len() == axes.len() {
            let mut order = vec![0; places.len()];
            places.iter().enumerate().for_each(|(k, place)| order[*place] = k);
            return self.transpose(&part.value, &order);
        }
        // `broadcast_in_dim` does not require increasing axes, but other axes are rare in practice: transpose first.
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|k| places[*k]);
        let sorted: Vec<usize> = order.iter().map(|k| places[*k]).collect();
        let value = self.transpose(&part.value, &order);
        self.broadcast(&value, &shape, &sorted)
    }

    /// The elements that a view reads in a box: 0 where it is out of bounds.
    pub(super) fn read(&mut self, t: &HloValue, view: &View, bounds: &[(usize, usize)]) -> BoxArray {
        let rows = rows(view, bounds);
        let value = self.read_plain(t, &rows, bounds);
        let (value, dims) = self.unfolded(value, &rows, bounds);
        let tangled: Vec<usize> = (0..dims.len()).filter(|k| matches!(dims[*k], Dim::Row(_))).collect();
        let of: Vec<&ViewRow> =
            dims.iter().filter_map(|dim| if let Dim::Row(k) = dim { Some(&rows[*k]) } else { None }).collect();
        let rest = dims.iter().filter_map(|dim| if let Dim::Axis(axis) = dim { Some(*axis) } else { None });
        if of.is_empty() {
            return BoxArray { value, axes: rest.collect() };
        }
        let mut axes = moved_by(&of);
        let index: Vec<HloValue> = of.iter().map(|row| self.index(row, &axes, bounds)).collect();
        let extents: Vec<usize> = tangled.iter().map(|k| value.shape[*k]).collect();
        let mask = self.mask(&of, &extents, &axes, bounds);
        // Implementations differ in the element that they read at an index out of bounds.
        let index: Vec<HloValue> = match &mask {
            Some(mask) => {
                let zero = self.integer(0, &mask.value.shape);
                index.iter().map(|index| self.select(&mask.value, index, &zero)).collect()
            }
            None => index,
        };
        let value = self.gather_at(&value, &tangled, &index, &[]);
        axes.extend(rest);
        let part = BoxArray { value, axes };
        let Some(mask) = mask else { return part };
        let mask = self.spread(&mask, &part.axes, bounds);
        let zero = self.like(0.0, &part.value);
        BoxArray { value: self.select(&mask, &part.value, &zero), ..part }
    }

    /// The mask of the positions of a box at which a view is in bounds; `None` if it is everywhere.
    pub(super) fn looks(&mut self, view: &View, bounds: &[(usize, usize)]) -> Option<BoxArray> {
        let rows = rows(view, bounds);
        let (of, extents): (Vec<&ViewRow>, Vec<usize>) = rows
            .iter()
            .zip(view.source())
            .filter(|(row, n)| !row.is_within(bounds, **n))
            .map(|(row, n)| (row, *n))
            .unzip();
        let axes = moved_by(&of);
        self.mask(&of, &extents, &axes, bounds)
    }

    /// The mask of the positions at which rows are within axes of these extents.
    fn mask(
        &mut self,
        of: &[&ViewRow],
        extents: &[usize],
        axes: &[usize],
        bounds: &[(usize, usize)],
    ) -> Option<BoxArray> {
        let mut mask = None;
        for (row, n) in of.iter().zip(extents) {
            if !row.is_within(bounds, *n) {
                let index = self.index(row, axes, bounds);
                mask = self.within(&index, row.range(bounds), *n, mask);
            }
        }
        mask.map(|value| BoxArray { value, axes: axes.to_vec() })
    }

    /// The operand with its plain rows read, by slices, reversal and padding; axes of constant rows are dropped.
    fn read_plain(&mut self, t: &HloValue, rows: &[ViewRow], bounds: &[(usize, usize)]) -> HloValue {
        let mut slices = Vec::new();
        for (row, n) in rows.iter().zip(&t.shape) {
            if !row.plain {
                slices.push((0, *n, 1));
                continue;
            }
            let (lo, hi) = row.range(bounds);
            slices.push((lo as usize, hi as usize + 1, row.step()));
        }
        let value = self.slice(t, &slices);
        let value = self.reverse(&value, &backwards(rows));
        let shape: Shape = left(rows).iter().map(|k| value.shape[*k]).collect();
        self.reshape(&value, &shape)
    }

    /// The operand with two axes in place of each window that can be read by slices, and the roles of its axes.
    fn unfolded(&mut self, mut value: HloValue, rows: &[ViewRow], bounds: &[(usize, usize)]) -> (HloValue, Vec<Dim>) {
        let mut dims = Vec::new();
        for k in left(rows) {
            let row = &rows[k];
            let at = dims.len();
            match row.window(rows, bounds) {
                _ if row.plain => dims.push(Dim::Axis(row.moving[0].0)),
                None => dims.push(Dim::Row(k)),
                Some(window) => {
                    value = self.unfold(&value, at, &window);
                    dims.extend([Dim::Axis(window.outer.0), Dim::Axis(window.inner.0)]);
                }
            }
        }
        (value, dims)
    }

    /// Two axes in place of the one at `at`: the axis of windows, and the axis within a window.
    fn unfold(&mut self, x: &HloValue, at: usize, w: &Window) -> HloValue {
        let ((_, step), (_, inner)) = (w.outer, w.inner);
        let [count, wide] = w.widths;
        if let Some(ratio) = w.ratio() {
            let line = self.pick(x, at, [w.start, inner], count * ratio);
            let mut shape = line.shape.clone();
            shape[at] = count;
            shape.insert(at + 1, ratio);
            let blocks = self.reshape(&line, &shape);
            let mut parts: Vec<_> = shape.iter().map(|n| (0, *n, 1)).collect();
            parts[at + 1].1 = wide;
            return self.slice(&blocks, &parts);
        }
        let mut parts = Vec::new();
        for j in 0..wide {
            let line = self.pick(x, at, [w.start + inner * j as i64, step], count);
            let mut shape = line.shape.clone();
            shape.insert(at + 1, 1);
            parts.push(self.reshape(&line, &shape));
        }
        self.concat(at + 1, &parts)
    }

    /// The elements `start + step k`, for `k < count`, along an axis; 0 where they are out of bounds.
    fn pick(&mut self, x: &HloValue, axis: usize, [start, step]: [i64; 2], count: usize) -> HloValue {
        let (first, end) = interval(step, start, 0, x.shape[axis] as i64);
        let (first, end) = (first.clamp(0, count as i64), end.clamp(0, count as i64));
        let mut shape = x.shape.clone();
        shape[axis] = count;
        if first >= end {
            return self.full(0.0, &shape, x.ty);
        }
        let mut parts: Vec<_> = x.shape.iter().map(|n| (0, *n, 1)).collect();
        let (a, b) = (start + step * first, start + step * (end - 1));
        parts[axis] = (a.min(b) as usize, a.max(b) as usize + 1, step.unsigned_abs() as usize);
        let value = self.slice(x, &parts);
        let value = self.reverse(&value, [axis].get(usize::from(step >= 0)..).unwrap_or_default());
        let mut widths = vec![[0; 3]; x.shape.len()];
        widths[axis] = [first as usize, count - end as usize, 0];
        self.pad(&value, &widths)
    }

    /// Writes the elements along an axis to the positions `start + step k` of an axis of size `n`, with zeros
    /// elsewhere; elements out of bounds are left out.
    fn place(&mut self, x: &HloValue, axis: usize, [start, step]: [i64; 2], n: usize) -> HloValue {
        let count = x.shape[axis];
        let (first, end) = interval(step, start, 0, n as i64);
        let (first, end) = (first.clamp(0, count as i64), end.clamp(0, count as i64));
        let mut shape = x.shape.clone();
        shape[axis] = n;
        if first >= end {
            return self.full(0.0, &shape, x.ty);
        }
        let mut parts: Vec<_> = x.shape.iter().map(|n| (0, *n, 1)).collect();
        parts[axis] = (first as usize, end as usize, 1);
        let value = self.slice(x, &parts);
        let value = self.reverse(&value, [axis].get(usize::from(step >= 0)..).unwrap_or_default());
        let (a, b) = (start + step * first, start + step * (end - 1));
        let mut widths = vec![[0; 3]; x.shape.len()];
        widths[axis] = [a.min(b) as usize, n - 1 - a.max(b) as usize, step.unsigned_abs() as usize - 1];
        self.pad(&value, &widths)
    }

    /// Adds the elements of two axes at their positions in one: the adjoint of [`unfold`](Region::unfold).
    fn fold(&mut self, x: &HloValue, at: usize, w: &Window, n: usize) -> HloValue {
        let ((_, step), (_, inner)) = (w.outer, w.inner);
        let [count, wide] = w.widths;
        if let Some(ratio) = w.ratio() {
            let mut widths = vec![[0; 3]; x.shape.len()];
            widths[at + 1][1] = ratio - wide;
            let blocks = self.pad(x, &widths);
            let mut shape = x.shape.clone();
            shape.remove(at + 1);
            shape[at] = count * ratio;
            let line = self.reshape(&blocks, &shape);
            return self.place(&line, at, [w.start, inner], n);
        }
        let mut sum: Option<HloValue> = None;
        for j in 0..wide {
            let row = self.at(x, at + 1, j);
            let mut shape = row.shape.clone();
            shape.remove(at + 1);
            let row = self.reshape(&row, &shape);
            let term = self.place(&row, at, [w.start + inner * j as i64, step], n);
            sum = Some(match sum {
                Some(sum) => self.binary(if x.ty == Ty::Bool { "or" } else { "add" }, &sum, &term),
                None => term,
            });
        }
        sum.unwrap_or_else(|| x.clone())
    }

    /// The value of a row at each position along these axes.
    fn index(&mut self, row: &ViewRow, axes: &[usize], bounds: &[(usize, usize)]) -> HloValue {
        let shape: Shape = axes.iter().map(|axis| width(bounds, *axis)).collect();
        let mut sum: Option<HloValue> = None;
        for (axis, m) in &row.moving {
            let place = axes.iter().position(|a| a == axis).unwrap_or_default();
            let mut term = self.iota(&shape, place);
            if *m != 1 {
                let factor = self.integer(*m, &shape);
                term = self.binary("multiply", &term, &factor);
            }
            sum = Some(match sum {
                Some(sum) => self.binary("add", &sum, &term),
                None => term,
            });
        }
        let start = self.integer(row.start, &shape);
        match sum {
            Some(sum) if row.start == 0 => sum,
            Some(sum) => self.binary("add", &sum, &start),
            None => start,
        }
    }

    /// The mask of the positions where an index, which lies between bounds, is within an axis of size `n`, and another
    /// mask holds.
    pub(super) fn within(
        &mut self,
        index: &HloValue,
        (lo, hi): (i64, i64),
        n: usize,
        mask: Option<HloValue>,
    ) -> Option<HloValue> {
        let mut all = mask;
        let size = self.integer(n as i64, &index.shape);
        let zero = self.integer(0, &index.shape);
        for (needed, how, end) in [(lo < 0, "GE", zero), (hi >= n as i64, "LT", size)] {
            if needed {
                let holds = self.compare(how, index, &end);
                all = Some(match all {
                    Some(mask) => self.binary("and", &mask, &holds),
                    None => holds,
                });
            }
        }
        all
    }

    /// Writes the part through a view, with zeros elsewhere. The view depends on all axes of the part.
    pub(super) fn write(&mut self, part: BoxArray, view: &View, bounds: &[(usize, usize)]) -> HloValue {
        let (rows, source) = (rows(view, bounds), view.source());
        let left = left(&rows);
        let windows: Vec<Option<Window>> = left.iter().map(|k| rows[*k].window(&rows, bounds)).collect();
        // The axes of the part in the order of those of the source, two for a window, none for a tangled row.
        let (mut axes, mut shape, mut tangled) = (Vec::new(), Shape::new(), Vec::new());
        let mut of: Vec<&ViewRow> = Vec::new();
        for (k, window) in left.iter().zip(&windows) {
            let row = &rows[*k];
            let own: &[usize] = match window {
                _ if row.plain => &[row.moving[0].0],
                Some(window) => &[window.outer.0, window.inner.0],
                None => {
                    tangled.push(shape.len());
                    shape.push(source[*k]);
                    of.push(row);
                    &[]
                }
            };
            axes.extend_from_slice(own);
            shape.extend(own.iter().map(|axis| width(bounds, *axis)));
        }
        let mut value = if of.is_empty() {
            self.spread(&part, &axes, bounds)
        } else {
            let mut all = moved_by(&of);
            let index: Vec<HloValue> = of.iter().map(|row| self.index(row, &all, bounds)).collect();
            all.extend(&axes);
            let values = self.spread(&part, &all, bounds);
            let zeros = self.full(0.0, &shape, values.ty);
            // At an index out of bounds nothing is added.
            self.scatter_at(&zeros, &tangled, &index, &values, &[])
        };
        for (at, (k, window)) in left.iter().zip(&windows).enumerate() {
            if let Some(window) = window {
                value = self.fold(&value, at, window, source[*k]);
            }
        }
        let one =
            |k: usize| if rows[k].plain { rows[k].moving.first().map_or(1, |m| width(bounds, m.0)) } else { source[k] };
        let shape: Shape = (0..rows.len()).map(one).collect();
        let value = self.reshape(&value, &shape);
        let value = self.reverse(&value, &backwards(&rows));
        let around = |k: usize| {
            if !rows[k].plain {
                return [0, 0, 0];
            }
            let (lo, hi) = rows[k].range(bounds);
            [lo as usize, source[k] - 1 - hi as usize, rows[k].step() - 1]
        };
        let widths: Vec<[usize; 3]> = (0..rows.len()).map(around).collect();
        self.pad(&value, &widths)
    }
}
