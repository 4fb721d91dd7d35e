//! Views: what is read through one as slices, transposition and repetition, what is written as padding.
//!
//! A row of a view, the index along one axis of its source, is *plain* if at most one axis of the iteration space moves
//! it, which moves no other row; other rows are *tangled* (windows, diagonals), and are read by a gather and written by
//! a scatter at computed indices.
//!
//! Law: positions at which any view of an operation looks at nothing are left out of the box that all views share, or
//! are masked.

use smallvec::SmallVec;

use super::text::{Code, Ty, Value};
use crate::ops::View;
use crate::ops::view::interval;
use crate::shape::Shape;

/// The half-open interval of each axis of an iteration space in which something happens.
pub(super) type Bounds = Vec<(usize, usize)>;

/// One row of a view within a box: `start + sum coefficient * i`, with `i` counted from the start of the box.
pub(super) struct Row {
    pub(super) start: i64,
    pub(super) moving: SmallVec<[(usize, i64); 2]>,
    /// Whether it depends on one axis at most, on which no other row depends.
    pub(super) plain: bool,
}

impl Row {
    /// The smallest and the largest index.
    pub(super) fn range(&self, bounds: &[(usize, usize)]) -> (i64, i64) {
        self.moving.iter().fold((self.start, self.start), |(lo, hi), (axis, m)| {
            let reach = m * (width(bounds, *axis) as i64 - 1);
            (lo + reach.min(0), hi + reach.max(0))
        })
    }

    fn is_within(&self, bounds: &[(usize, usize)], n: usize) -> bool {
        let (lo, hi) = self.range(bounds);
        0 <= lo && hi < n as i64
    }
}

/// The extent of a box along an axis.
pub(super) fn width(bounds: &[(usize, usize)], axis: usize) -> usize {
    bounds[axis].1 - bounds[axis].0
}

/// An array whose axes are axes of the box, each as long as the box.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) value: Value,
    pub(super) axes: Vec<usize>,
}

/// The box in which all views look at something, as far as that is a box; nothing if there is no such position.
pub(super) fn common(views: &[&View]) -> Option<Bounds> {
    if views.iter().any(|view| view.is_empty()) {
        return None;
    }
    let sides = |axis: usize| views.iter().map(move |view| view.bounds()[axis]);
    let mut bounds: Bounds = (0..views[0].shape().len())
        .map(|axis| sides(axis).fold((0, usize::MAX), |x, y| (x.0.max(y.0), x.1.min(y.1))))
        .collect();
    // An axis that is cut to one position may make a row depend on one axis alone.
    loop {
        if bounds.iter().any(|(lo, hi)| lo >= hi) {
            return None;
        }
        let before = bounds.clone();
        for view in views {
            for (row, n) in rows(view, &bounds).iter().zip(view.source()) {
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

/// The rows of a view within a box.
pub(super) fn rows(view: &View, bounds: &[(usize, usize)]) -> Vec<Row> {
    let row = |k: usize| {
        let coefficients = view.row(k).iter().enumerate();
        let start = coefficients.clone().map(|(axis, m)| m * bounds[axis].0 as i64).sum::<i64>() + view.offset()[k];
        let moving = coefficients.filter(|(axis, m)| **m != 0 && width(bounds, *axis) > 1).map(|(axis, m)| (axis, *m));
        Row { start, moving: moving.collect(), plain: false }
    };
    let mut rows: Vec<Row> = (0..view.source().len()).map(row).collect();
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

/// The axes of a box that move a view, in order.
pub(super) fn moved(rows: &[Row]) -> Vec<usize> {
    let mut axes: Vec<usize> = rows.iter().flat_map(|row| row.moving.iter().map(|m| m.0)).collect();
    axes.sort_unstable();
    axes.dedup();
    axes
}

/// Whether every position of the box looks at something.
pub(super) fn is_total(rows: &[Row], source: &[usize], bounds: &[(usize, usize)]) -> bool {
    rows.iter().zip(source).all(|(row, n)| row.is_within(bounds, *n))
}

impl Code {
    /// `out[into i] += t[from i]`.
    pub(super) fn affine(&mut self, t: &Value, from: &View, into: &View) -> Value {
        let Some(bounds) = common(&[from, into]) else {
            return self.full(0.0, into.source(), t.ty);
        };
        let part = self.read(t, from, &bounds);
        let kept = moved(&rows(into, &bounds));
        let part = self.summed(part, &kept);
        let times = (0..bounds.len())
            .filter(|axis| !kept.contains(axis) && !moved(&rows(from, &bounds)).contains(axis))
            .map(|axis| width(&bounds, axis))
            .product();
        let part = self.times(part, times);
        self.write(part, into, &bounds)
    }

    /// The part summed over all axes but these.
    pub(super) fn summed(&mut self, part: Part, kept: &[usize]) -> Part {
        let gone: Vec<usize> = (0..part.axes.len()).filter(|k| !kept.contains(&part.axes[*k])).collect();
        let value = self.sum(&part.value, &gone);
        Part { value, axes: part.axes.into_iter().filter(|axis| kept.contains(axis)).collect() }
    }

    /// The sum of so many equal parts.
    pub(super) fn times(&mut self, part: Part, times: usize) -> Part {
        if times == 1 || part.value.ty == Ty::Bool {
            return part;
        }
        let factor = self.like(times as f64, &part.value);
        Part { value: self.binary("multiply", &part.value, &factor), ..part }
    }

    /// The part repeated and transposed to these axes.
    pub(super) fn spread(&mut self, part: &Part, axes: &[usize], bounds: &[(usize, usize)]) -> Value {
        let shape: Shape = axes.iter().map(|axis| width(bounds, *axis)).collect();
        let place = |axis: &usize| axes.iter().position(|a| a == axis).unwrap_or_default();
        let places: Vec<usize> = part.axes.iter().map(place).collect();
        if places.len() == axes.len() {
            let mut order = vec![0; places.len()];
            places.iter().enumerate().for_each(|(k, place)| order[*place] = k);
            return self.transpose(&part.value, &order);
        }
        // `broadcast_in_dim` needs increasing axes of no implementation, but transposed operands are rare in practice.
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_unstable_by_key(|k| places[*k]);
        let sorted: Vec<usize> = order.iter().map(|k| places[*k]).collect();
        let value = self.transpose(&part.value, &order);
        self.broadcast(&value, &shape, &sorted)
    }

    /// What a view looks at in a box: 0 where that is nothing.
    pub(super) fn read(&mut self, t: &Value, view: &View, bounds: &[(usize, usize)]) -> Part {
        let (part, mask) = self.read_masked(t, view, bounds);
        let Some(mask) = mask else { return part };
        let mask = self.spread(&mask, &part.axes, bounds);
        let zero = self.like(0.0, &part.value);
        Part { value: self.select(&mask, &part.value, &zero), ..part }
    }

    /// What a view looks at in a box, and the mask of the places where that is something, if it is not everywhere.
    pub(super) fn read_masked(&mut self, t: &Value, view: &View, bounds: &[(usize, usize)]) -> (Part, Option<Part>) {
        let rows = rows(view, bounds);
        let (mut slices, mut backwards) = (Vec::new(), Vec::new());
        for (k, row) in rows.iter().enumerate() {
            if !row.plain {
                slices.push((0, t.shape[k], 1));
                continue;
            }
            let (lo, hi) = row.range(bounds);
            let step = row.moving.first().map_or(1, |(_, m)| m.unsigned_abs() as usize);
            slices.push((lo as usize, hi as usize + 1, step));
            if row.moving.first().is_some_and(|(_, m)| *m < 0) {
                backwards.push(k);
            }
        }
        let value = self.slice(t, &slices);
        let value = self.reverse(&value, &backwards);
        // Rows that nothing moves disappear.
        let stays = |k: &usize| !rows[*k].plain || !rows[*k].moving.is_empty();
        let left: Vec<usize> = (0..rows.len()).filter(stays).collect();
        let shape: Shape = left.iter().map(|k| value.shape[*k]).collect();
        let value = self.reshape(&value, &shape);
        let tangled: Vec<usize> = (0..left.len()).filter(|k| !rows[left[*k]].plain).collect();
        let plain = left.iter().filter(|k| rows[**k].plain).map(|k| rows[*k].moving[0].0);
        if tangled.is_empty() {
            return (Part { value, axes: plain.collect() }, None);
        }
        let of: Vec<&Row> = tangled.iter().map(|k| &rows[left[*k]]).collect();
        let mut axes: Vec<usize> = of.iter().flat_map(|row| row.moving.iter().map(|m| m.0)).collect();
        axes.sort_unstable();
        axes.dedup();
        let index: Vec<Value> = of.iter().map(|row| self.index(row, &axes, bounds)).collect();
        let mut mask: Option<Value> = None;
        for ((row, index), k) in of.iter().zip(&index).zip(&tangled) {
            let (lo, hi) = row.range(bounds);
            let n = value.shape[*k];
            mask = self.within(index, (lo, hi), n, mask);
        }
        let value = self.gather_at(&value, &tangled, &index, &[]);
        let mask = mask.map(|value| Part { value, axes: axes.clone() });
        axes.extend(plain);
        (Part { value, axes }, mask)
    }

    /// The index of a row at each position along these axes.
    fn index(&mut self, row: &Row, axes: &[usize], bounds: &[(usize, usize)]) -> Value {
        let shape: Shape = axes.iter().map(|axis| width(bounds, *axis)).collect();
        let mut sum: Option<Value> = None;
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

    /// The mask of the places where an index between bounds is one of an axis of size `n`, and another mask holds.
    pub(super) fn within(
        &mut self,
        index: &Value,
        (lo, hi): (i64, i64),
        n: usize,
        mask: Option<Value>,
    ) -> Option<Value> {
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

    /// The part at the places that a view looks at, within zeros. The axes of the part move the view.
    pub(super) fn write(&mut self, part: Part, view: &View, bounds: &[(usize, usize)]) -> Value {
        let (rows, source) = (rows(view, bounds), view.source());
        let left: Vec<usize> = (0..rows.len()).filter(|k| !rows[*k].plain || !rows[*k].moving.is_empty()).collect();
        let tangled: Vec<usize> = (0..left.len()).filter(|k| !rows[left[*k]].plain).collect();
        let plain: Vec<usize> = left.iter().filter(|k| rows[**k].plain).map(|k| rows[*k].moving[0].0).collect();
        let value = if tangled.is_empty() {
            self.spread(&part, &plain, bounds)
        } else {
            let of: Vec<&Row> = tangled.iter().map(|k| &rows[left[*k]]).collect();
            let mut axes: Vec<usize> = of.iter().flat_map(|row| row.moving.iter().map(|m| m.0)).collect();
            axes.sort_unstable();
            axes.dedup();
            let index: Vec<Value> = of.iter().map(|row| self.index(row, &axes, bounds)).collect();
            axes.extend(&plain);
            let values = self.spread(&part, &axes, bounds);
            let extent = |k: &usize| if rows[*k].plain { width(bounds, rows[*k].moving[0].0) } else { source[*k] };
            let shape: Shape = left.iter().map(extent).collect();
            let zeros = self.full(0.0, &shape, values.ty);
            // An index that is none of an axis adds to nothing.
            self.scatter_at(&zeros, &tangled, &index, &values, &[])
        };
        let one =
            |k: usize| if rows[k].plain { rows[k].moving.first().map_or(1, |m| width(bounds, m.0)) } else { source[k] };
        let shape: Shape = (0..rows.len()).map(one).collect();
        let value = self.reshape(&value, &shape);
        let backwards: Vec<usize> =
            (0..rows.len()).filter(|k| rows[*k].plain && rows[*k].moving.first().is_some_and(|m| m.1 < 0)).collect();
        let value = self.reverse(&value, &backwards);
        let widths: Vec<[usize; 3]> = (0..rows.len())
            .map(|k| {
                if !rows[k].plain {
                    return [0, 0, 0];
                }
                let (lo, hi) = rows[k].range(bounds);
                let step = rows[k].moving.first().map_or(1, |m| m.1.unsigned_abs() as usize);
                [lo as usize, source[k] - 1 - hi as usize, step - 1]
            })
            .collect();
        self.pad(&value, &widths)
    }
}
