//! Loop nests: several views of one iteration space become loops over contiguous or strided runs.
//!
//! Law: a nest visits each index that all its views map into their arrays exactly once, in some order, and gives the
//! offsets of the elements in the flat arrays. The order depends on shapes and views alone, so results are reproducible
//! to the bit.

use std::ops::Range;

use smallvec::SmallVec;

use crate::ops::View;
use crate::shape::MAX_SIZE;

/// A loop nest over `K` arrays.
#[derive(Clone)]
pub(crate) struct Nest<const K: usize> {
    /// The offset in each array at which the loops start.
    base: [i64; K],
    /// The loops, outermost first.
    axes: SmallVec<[Axis<K>; 6]>,
    /// The range checks that the box of the loops does not imply: those of indices that depend on several loops.
    sides: SmallVec<[RangeCheck; 1]>,
}

/// One loop.
#[derive(Clone, Copy)]
pub(crate) struct Axis<const K: usize> {
    /// The number of steps.
    pub(crate) len: usize,
    /// The stride of a step in each array.
    pub(crate) strides: [i64; K],
    /// The column of the loop in the rows of the range checks.
    column: usize,
}

impl<const K: usize> Axis<K> {
    /// A loop of a nest without range checks.
    pub(crate) fn plain(len: usize, strides: [i64; K]) -> Axis<K> {
        Axis { len, strides, column: 0 }
    }
}

/// The condition `0 <= at + sum_i row[i] * index[i] < size` on the index along an axis of an array.
#[derive(Clone)]
pub(crate) struct RangeCheck {
    /// The number of the array among those of the nest.
    pub(crate) array: usize,
    pub(crate) at: i64,
    pub(crate) size: i64,
    row: SmallVec<[i64; 6]>,
}

impl<const K: usize> Nest<K> {
    /// The nest of views of one iteration space; `None` if the boxes do not intersect, or a range check never holds. An
    /// array marked as `single` is stored as one element for all indices.
    pub(crate) fn new(views: [&View; K], single: [bool; K]) -> Option<Nest<K>> {
        let mut bounds: SmallVec<[(usize, usize); 6]> = SmallVec::from_slice(views[0].bounds());
        for view in &views[1..] {
            for (b, c) in bounds.iter_mut().zip(view.bounds()) {
                *b = (b.0.max(c.0), b.1.min(c.1));
            }
        }
        if views.iter().any(|view| view.is_empty()) || bounds.iter().any(|(lo, hi)| lo >= hi) {
            return None;
        }
        let rank = bounds.len();
        let mut nest = Nest { base: [0; K], axes: SmallVec::new(), sides: SmallVec::new() };
        let axis = |(column, (lo, hi)): (usize, &(usize, usize))| Axis { len: hi - lo, strides: [0; K], column };
        nest.axes.extend(bounds.iter().enumerate().map(axis));
        for (k, view) in views.into_iter().enumerate() {
            let source = view.source();
            let mut stride = 1;
            for axis in (0..source.len()).rev() {
                let (row, size) = (view.row(axis), source[axis] as i64);
                let mut at = view.offset()[axis];
                at += row.iter().zip(&bounds).map(|(m, (lo, _))| m * *lo as i64).sum::<i64>();
                let (mut lo, mut hi) = (at, at);
                for (m, (a, b)) in row.iter().zip(&bounds) {
                    let reach = m * (b - a - 1) as i64;
                    (lo, hi) = (lo + reach.min(0), hi + reach.max(0));
                }
                if hi < 0 || lo >= size {
                    return None;
                }
                if lo < 0 || hi >= size {
                    nest.sides.push(RangeCheck { array: k, at, size, row: SmallVec::from_slice(row) });
                }
                if !single[k] {
                    // Indices out of range are never visited, but their offsets may overflow.
                    nest.base[k] = nest.base[k].wrapping_add(at.wrapping_mul(stride));
                    for (axis, m) in nest.axes[..rank].iter_mut().zip(row) {
                        axis.strides[k] = axis.strides[k].wrapping_add(m.wrapping_mul(stride));
                    }
                }
                stride *= size;
            }
        }
        nest.normalize();
        Some(nest)
    }

    /// The nest of these loops, outermost first, without range checks.
    pub(crate) fn of_box(base: [i64; K], axes: SmallVec<[Axis<K>; 6]>) -> Nest<K> {
        Nest { base, axes, sides: SmallVec::new() }
    }

    /// The canonical loops with the same visits: loops of one step are dropped, loops with a negative stride in the
    /// last array that they move in are reversed, the loops are sorted by descending stride, and two adjacent loops are
    /// merged if the stride of the outer one is the extent of the inner one in every array.
    fn normalize(&mut self) {
        self.axes.retain(|axis| axis.len > 1);
        for axis in &mut self.axes {
            if axis.strides.iter().rev().find(|s| **s != 0).is_some_and(|s| *s < 0) {
                let last = axis.len as i64 - 1;
                for k in 0..K {
                    self.base[k] = self.base[k].wrapping_add(axis.strides[k].wrapping_mul(last));
                    axis.strides[k] = axis.strides[k].wrapping_neg();
                }
                for side in &mut self.sides {
                    side.at += side.row[axis.column] * last;
                    side.row[axis.column] = -side.row[axis.column];
                }
            }
        }
        // A loop with stride 0 in all arrays repeats the other loops, and becomes the outermost one.
        let width = |axis: &Axis<K>| match axis.strides.iter().fold(0u64, |sum, s| sum.saturating_add(s.unsigned_abs()))
        {
            0 => u64::MAX,
            sum => sum,
        };
        self.axes.sort_by_key(|axis| std::cmp::Reverse((width(axis), axis.strides[K - 1])));
        let free = |axis: &Axis<K>| self.sides.iter().all(|side| side.row[axis.column] == 0);
        let mut merged: SmallVec<[Axis<K>; 6]> = SmallVec::new();
        for axis in &self.axes {
            match merged.last_mut() {
                Some(outer)
                    if (0..K).all(|k| Some(outer.strides[k]) == axis.strides[k].checked_mul(axis.len as i64))
                        && free(outer)
                        && free(axis)
                        && outer.len.checked_mul(axis.len).is_some_and(|len| len <= MAX_SIZE) =>
                {
                    outer.len *= axis.len;
                    outer.strides = axis.strides;
                }
                Some(_) | None => merged.push(*axis),
            }
        }
        self.axes = merged;
    }

    /// The loops, outermost first.
    pub(crate) fn axes(&self) -> &[Axis<K>] {
        &self.axes
    }

    /// Whether the loops visit all their indices: no range check is left.
    pub(crate) fn is_box(&self) -> bool {
        self.sides.is_empty()
    }

    /// The offset in each array at which the loops start.
    pub(crate) fn base(&self) -> [i64; K] {
        self.base
    }

    /// The range checks.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &RangeCheck> {
        self.sides.iter()
    }

    /// The innermost loop; one step, if the nest has no loops.
    pub(crate) fn inner(&self) -> Axis<K> {
        self.axes.last().copied().unwrap_or(Axis { len: 1, strides: [1; K], column: 0 })
    }

    /// This nest without the loops of these numbers.
    pub(crate) fn without(&self, places: &[usize]) -> Nest<K> {
        let mut rest = self.clone();
        rest.axes = (0..self.axes.len()).filter(|i| !places.contains(i)).map(|i| self.axes[i]).collect();
        rest
    }

    /// This nest with its loops in another order, given by their numbers; `None` stands for a loop of one step.
    pub(crate) fn in_order(&self, places: &[Option<usize>]) -> Nest<K> {
        let axis = |place: &Option<usize>| place.map_or(Axis::plain(1, [0; K]), |place| self.axes[place]);
        Nest { base: self.base, axes: places.iter().map(axis).collect(), sides: self.sides.clone() }
    }

    /// The part of this nest with a range of the steps of one loop, given by its number; the slices of the arrays begin
    /// with the elements `first`.
    pub(crate) fn part(&self, place: usize, steps: Range<usize>, first: [i64; K]) -> Nest<K> {
        let mut part = self.clone();
        let axis = &mut part.axes[place];
        axis.len = steps.len();
        let start = |k: usize| self.base[k].wrapping_add(axis.strides[k].wrapping_mul(steps.start as i64)) - first[k];
        part.base = std::array::from_fn(start);
        part
    }

    /// This nest with the start moved by `by`; the slices of the arrays begin with the elements `first`.
    pub(crate) fn moved(&self, by: [i64; K], first: [i64; K]) -> Nest<K> {
        let base = std::array::from_fn(|k| self.base[k] + by[k] - first[k]);
        Nest { base, ..self.clone() }
    }

    /// The loops that run over rows: the numbers of the loops, among the first `count`, whose steps each touch only the
    /// elements of one of `rows` rows of an array, and for which arrays this is so (at least one). `sizes` are the
    /// numbers of elements of the arrays, and `inner` are further loops inside the nest.
    pub(crate) fn by_rows(
        &self,
        sizes: [usize; K],
        count: usize,
        inner: &[Axis<K>],
        rows: usize,
    ) -> impl Iterator<Item = (usize, [bool; K])> {
        let touched = move |place: usize| {
            std::array::from_fn(|k| {
                let row = (sizes[k] / rows) as i64;
                let others = self.axes.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, axis)| axis);
                let moves = others.chain(inner).map(|axis| axis.strides[k] * (axis.len as i64 - 1));
                let (lo, hi) =
                    moves.fold((self.base[k], self.base[k]), |(lo, hi), reach| (lo + reach.min(0), hi + reach.max(0)));
                let exact = sizes[k].is_multiple_of(rows) && self.axes[place].strides[k] == row;
                exact && lo >= 0 && hi < row
            })
        };
        let places = (0..count).filter(move |place| self.axes[*place].len == rows);
        places.map(move |place| (place, touched(place))).filter(|(_, by_rows)| by_rows.contains(&true))
    }

    /// The loop around the innermost loop; one step without such a loop.
    pub(crate) fn middle(&self) -> Axis<K> {
        let outer = self.axes.len().checked_sub(2).map(|place| self.axes[place]);
        outer.unwrap_or(Axis { len: 1, strides: [0; K], column: 0 })
    }

    /// Calls `body` once per run of the innermost loop, with the offsets of its start and its length; the elements of a
    /// run are the strides of [`inner`](Self::inner) apart.
    #[inline]
    pub(crate) fn run(&self, mut body: impl FnMut([usize; K], usize)) {
        let steps = self.middle().strides;
        self.panels(|start, count, len| {
            for row in 0..count {
                body(stepped(start, steps, row), len);
            }
        });
    }

    /// Calls `body` once per panel, with the offsets of its start, its number of runs, and their length. A panel is one
    /// execution of the two innermost loops: each run is one step of [`middle`](Self::middle) after the previous one.
    #[inline]
    pub(crate) fn panels(&self, mut body: impl FnMut([usize; K], usize, usize)) {
        self.each_panel(&mut body);
    }

    /// Calls `body` once per stack of panels, which is one execution of the three innermost loops: as for
    /// [`panels`](Self::panels), with the loop over the panels. A stack is one panel where there are range checks, or fewer
    /// loops.
    pub(crate) fn stacks(&self, body: &mut dyn FnMut([usize; K], Axis<K>, usize, usize)) {
        let (true, Some(place)) = (self.is_box(), self.axes.len().checked_sub(3)) else {
            return self.each_panel(&mut |start, count, len| body(start, Axis::plain(1, [0; K]), count, len));
        };
        let (stack, count, len) = (self.axes[place], self.middle().len, self.inner().len);
        let mut odometer = Odometer::new(&self.axes[..place], self.base);
        loop {
            body(odometer.at.map(|p| p as usize), stack, count, len);
            if !odometer.advance() {
                return;
            }
        }
    }

    /// [`panels`](Self::panels), compiled once for all bodies.
    fn each_panel(&self, body: &mut dyn FnMut([usize; K], usize, usize)) {
        if !self.is_box() {
            return self.run_within_sides(body);
        }
        let outer = &self.axes[..self.axes.len().saturating_sub(2)];
        let (count, len) = (self.middle().len, self.inner().len);
        let mut odometer = Odometer::new(outer, self.base);
        loop {
            body(odometer.at.map(|p| p as usize), count, len);
            if !odometer.advance() {
                return;
            }
        }
    }

    /// Calls `body` once per run, clipped to the interval in which all range checks hold, as a panel of one run.
    fn run_within_sides(&self, body: &mut dyn FnMut([usize; K], usize, usize)) {
        let inner = self.inner();
        let outer = &self.axes[..self.axes.len().saturating_sub(1)];
        let mut odometer = Odometer::new(outer, self.base);
        loop {
            let (mut lo, mut hi) = (0, inner.len as i64);
            for side in &self.sides {
                let here = outer.iter().zip(&odometer.index).map(|(axis, i)| side.row[axis.column] * *i as i64);
                let (a, b) = side.interval(side.at + here.sum::<i64>(), side.row[inner.column]);
                (lo, hi) = (lo.max(a), hi.min(b));
            }
            if lo < hi {
                let start = |k: usize| odometer.at[k].wrapping_add(lo.wrapping_mul(inner.strides[k])) as usize;
                body(std::array::from_fn(start), 1, (hi - lo) as usize);
            }
            if !odometer.advance() {
                return;
            }
        }
    }

    /// Calls `body` once per visit, with the offsets of the elements.
    #[inline]
    pub(crate) fn points(&self, mut body: impl FnMut([usize; K])) {
        let strides = self.inner().strides;
        self.run(|start, len| {
            for i in 0..len {
                body(stepped(start, strides, i));
            }
        });
    }
}

/// The offsets after a number of steps.
#[inline]
pub(crate) fn stepped<const K: usize>(start: [usize; K], strides: [i64; K], steps: usize) -> [usize; K] {
    std::array::from_fn(|k| (start[k] as i64).wrapping_add(strides[k].wrapping_mul(steps as i64)) as usize)
}

impl RangeCheck {
    /// The coefficient of a loop in the checked index.
    pub(crate) fn moved_by<const K: usize>(&self, axis: &Axis<K>) -> i64 {
        self.row[axis.column]
    }

    /// The half-open interval of `j` in which `0 <= at + m * j < size`.
    fn interval(&self, at: i64, m: i64) -> (i64, i64) {
        let up = |a: i64, b: i64| -(-a).div_euclid(b);
        match m {
            0 if (0..self.size).contains(&at) => (i64::MIN, i64::MAX),
            0 => (0, 0),
            1 => (-at, self.size - at),
            -1 => (at + 1 - self.size, at + 1),
            m if m > 0 => (up(-at, m), up(self.size - at, m)),
            m => (up(at + 1 - self.size, -m), up(at + 1, -m)),
        }
    }
}

/// Iterates over the indices of some loops, and keeps the offsets of the current index.
struct Odometer<'a, const K: usize> {
    axes: &'a [Axis<K>],
    index: SmallVec<[usize; 6]>,
    at: [i64; K],
}

impl<'a, const K: usize> Odometer<'a, K> {
    fn new(axes: &'a [Axis<K>], at: [i64; K]) -> Self {
        Odometer { axes, index: SmallVec::from_elem(0, axes.len()), at }
    }

    /// Goes to the next index; `false` after the last.
    #[inline]
    fn advance(&mut self) -> bool {
        for (axis, i) in self.axes.iter().zip(&mut self.index).rev() {
            *i += 1;
            if *i < axis.len {
                (0..K).for_each(|k| self.at[k] = self.at[k].wrapping_add(axis.strides[k]));
                return true;
            }
            *i = 0;
            (0..K).for_each(|k| {
                self.at[k] = self.at[k].wrapping_sub(axis.strides[k].wrapping_mul(axis.len as i64 - 1));
            });
        }
        false
    }
}
