//! Contractions that are convolutions or adjoints of convolutions, as `convolution`.
//!
//! An operand with index rows `s v + e u + c`, in which `v` also indexes only the result, and `u` only the other
//! operand, is the image of a convolution with stride `s` and kernel dilation `e`; the adjoint in the kernel has such
//! an operand, too, with stride and dilation exchanged. A result with such rows is the adjoint in the image: a
//! convolution of an image dilated by `s` with the reversed kernel. Any other axis is classified by the arrays that it
//! indexes: a batch dimension, an output feature, an input feature (contracted), or a group.
//!
//! Law: the result is that of the contraction if the factors of padding are finite: XLA multiplies them by the zeros of
//! the padding, while the contraction adds nothing there.

use super::hlo::brackets;
use super::rules::rule;
use super::text::{Composed, HloValue, Region, types};
use super::views::{BoxArray, BoxIntervals, ViewRow, moved, rows, width};
use crate::ops::{Contract, View};
use crate::shape::{Shape, size};

/// One spatial axis.
struct Spatial {
    /// The view and its index row that is this window: the image (view 0) or the result (view 2).
    window: (usize, usize),
    /// The axes of the box for the left operand, the kernel and the result.
    axes: [usize; 3],
    stride: usize,
    pad: [i64; 2],
    /// The dilations of the left operand and of the kernel.
    dilation: [usize; 2],
    /// Whether the left operand, the kernel and the result are reversed.
    backwards: [bool; 3],
}

/// A contraction as a convolution of a left operand and a kernel.
struct ConvolutionPlan {
    spatial: Vec<Spatial>,
    /// The three views, and their box, with one more axis for each window.
    views: [View; 3],
    bounds: BoxIntervals,
}

/// The classes of the axes of an operand: batch, feature, then each spatial axis.
type Classes = Vec<Vec<usize>>;

impl Region {
    /// The contraction as a convolution; `None` if it is not one.
    pub(super) fn convolution(
        &mut self,
        op: &Contract,
        a: &HloValue,
        b: &HloValue,
        bounds: &BoxIntervals,
        times: usize,
    ) -> Option<HloValue> {
        if !a.ty.is_float() {
            return None;
        }
        let plan = ConvolutionPlan::of([&op.a, &op.b, &op.out], bounds).map(|plan| (plan, false));
        let (plan, swapped) =
            plan.or_else(|| ConvolutionPlan::of([&op.b, &op.a, &op.out], bounds).map(|plan| (plan, true)))?;
        let (left, right) = if swapped { (b, a) } else { (a, b) };
        Some(self.convolved(&plan, left, right, times))
    }

    fn convolved(&mut self, plan: &ConvolutionPlan, left: &HloValue, right: &HloValue, times: usize) -> HloValue {
        let ConvolutionPlan { spatial, views, bounds } = plan;
        let [of_left, of_right, of_out] = [0, 1, 2].map(|k| moved(&rows(&views[k], bounds)));
        let own = |side: usize| spatial.iter().map(move |s| s.axes[side]);
        let needed = |mine: &[usize], other: &[usize], side: usize| -> Vec<usize> {
            mine.iter()
                .copied()
                .filter(|axis| other.contains(axis) || of_out.contains(axis) || own(side).any(|s| s == *axis))
                .collect()
        };
        let (keep_left, keep_right) = (needed(&of_left, &of_right, 0), needed(&of_right, &of_left, 1));
        let part = self.read(left, &views[0], bounds);
        let left = self.summed(part, &keep_left);
        let part = self.read(right, &views[1], bounds);
        let right = self.summed(part, &keep_right);
        let is_spatial = |axis: &usize| spatial.iter().any(|s| s.axes.contains(axis));
        let plain = |axes: &[usize]| axes.iter().copied().filter(|axis| !is_spatial(axis)).collect::<Vec<usize>>();
        let (in_left, in_right) = (plain(&left.axes), plain(&right.axes));
        let both: Vec<usize> = in_left.iter().copied().filter(|axis| in_right.contains(axis)).collect();
        let (groups, summed): (Vec<usize>, Vec<usize>) = both.iter().partition(|axis| of_out.contains(axis));
        let batch: Vec<usize> = in_left.into_iter().filter(|axis| !both.contains(axis)).collect();
        let features: Vec<usize> = in_right.into_iter().filter(|axis| !both.contains(axis)).collect();
        let joined = |x: &[usize], y: &[usize]| [x, y].concat();
        let classes = |first: Vec<usize>, second: Vec<usize>, side: usize| -> Classes {
            [first, second].into_iter().chain(own(side).map(|axis| vec![axis])).collect()
        };
        let of_left = classes(batch.clone(), joined(&groups, &summed), 0);
        let of_right = classes(joined(&groups, &features), summed.clone(), 1);
        let of_out = classes(batch, joined(&groups, &features), 2);
        let (left, places_left) = self.arranged(&left, &of_left, bounds);
        let (right, places_right) = self.arranged(&right, &of_right, bounds);
        let left = self.backwards(&left, &places_left, spatial, 0);
        let right = self.backwards(&right, &places_right, spatial, 1);
        // The axes of the result in the order in which they are written.
        let written: Vec<usize> =
            rows(&views[2], bounds).iter().flat_map(|row| row.moving.iter().map(|m| m.0)).collect();
        let first = |class: &Vec<usize>| written.iter().position(|axis| class.contains(axis)).unwrap_or(0);
        let mut order: Vec<usize> = (0..of_out.len()).collect();
        order.sort_by_key(|k| first(&of_out[*k]));
        let extent = |class: &Vec<usize>| class.iter().map(|axis| width(bounds, *axis)).product::<usize>();
        let shape: Shape = order.iter().map(|k| extent(&of_out[*k])).collect();
        let mut places_out = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, class)| places_out[*class] = place);
        let groups: usize = groups.iter().map(|axis| width(bounds, *axis)).product();
        let value =
            self.convolution_of(&left, &right, &shape, spatial, [&places_left, &places_right, &places_out], groups);
        let value = self.backwards(&value, &places_out, spatial, 2);
        let axes: Vec<usize> = order.iter().flat_map(|k| of_out[*k].clone()).collect();
        let split: Shape = axes.iter().map(|axis| width(bounds, *axis)).collect();
        let value = self.reshape(&value, &split);
        let moving = moved(&rows(&views[2], bounds));
        // Axes of one position that are not axes of the result are dropped.
        let kept: Shape = axes.iter().filter(|axis| moving.contains(axis)).map(|axis| width(bounds, *axis)).collect();
        let value = self.reshape(&value, &kept);
        let part = BoxArray { value, axes: axes.into_iter().filter(|axis| moving.contains(axis)).collect() };
        let part = self.times(part, times);
        self.write(part, &views[2], bounds)
    }

    fn convolution_of(
        &mut self,
        left: &HloValue,
        right: &HloValue,
        shape: &[usize],
        spatial: &[Spatial],
        places: [&[usize]; 3],
        groups: usize,
    ) -> HloValue {
        let labels = |places: &[usize], names: [&str; 2]| {
            let mut words = vec![String::new(); places.len()];
            for (class, place) in places.iter().enumerate() {
                words[*place] = if class < 2 { names[class].to_owned() } else { (class - 2).to_string() };
            }
            brackets(words)
        };
        let (left, around) = self.within_padding(left, spatial, places[0]);
        let fits = spatial.iter().zip(&around).enumerate().all(|(k, (s, around))| {
            let [x, y, out] = [left.shape[places[0][k + 2]], right.shape[places[1][k + 2]], shape[places[2][k + 2]]];
            s.fits([x as i64, y as i64, out as i64], around)
        });
        let [(b, f), (o, i), out] = [0, 1, 2].map(|side| (places[side][0], places[side][1]));
        let fits = fits
            && (left.shape[b], right.shape[o]) == (shape[out.0], shape[out.1])
            && left.shape[f] == groups * right.shape[i]
            && right.shape[o].is_multiple_of(groups);
        rule!(format!("convolution of {groups} groups into {shape:?}"), [&left, right], fits);
        let pad = spatial.iter().zip(&around).map(|(s, [low, high])| brackets([s.pad[0] + low, s.pad[1] + high]));
        let pad = brackets(pad.collect::<Vec<String>>());
        let left = &left;
        let each = |f: &dyn Fn(&Spatial) -> String| brackets(spatial.iter().map(f));
        let text = format!(
            "stablehlo.convolution({}, {}) dim_numbers = {}x{}->{}, window = {{stride = {}, pad = {}, lhs_dilate = {}, rhs_dilate = {}, \
             reverse = {}}} {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64, precision_config = \
             [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}} : ({}) -> ",
            left.name,
            right.name,
            labels(places[0], ["b", "f"]),
            labels(places[1], ["o", "i"]),
            labels(places[2], ["b", "f"]),
            each(&|s| s.stride.to_string()),
            pad,
            each(&|s| s.dilation[0].to_string()),
            each(&|s| s.dilation[1].to_string()),
            each(&|_| "false".to_owned()),
            types([left, right])
        );
        self.op(text, shape, left.ty)
    }

    /// If the left operand is padded with zeros that the convolution can add: the operand without padding, and the
    /// widths of the padding along each spatial axis. Otherwise the operand, and widths of 0.
    fn within_padding(&self, left: &HloValue, spatial: &[Spatial], places: &[usize]) -> (HloValue, Vec<[i64; 2]>) {
        let plain = (left.clone(), vec![[0, 0]; spatial.len()]);
        let Some(Composed::Padded(inner, around)) = self.origin(left) else { return plain };
        // A convolution dilates before it pads, so it cannot add padding to a dilated axis.
        let can_add = |k: &usize| {
            let axis = places[2..].iter().position(|place| place == k);
            around[*k] == [0, 0] || axis.is_some_and(|axis| spatial[axis].dilation[0] == 1)
        };
        if !(0..around.len()).all(|k| can_add(&k)) {
            return plain;
        }
        (inner, places[2..].iter().map(|place| around[*place].map(|n| n as i64)).collect())
    }

    /// The operand with the axes of each class merged to one, and the position of the axis of each class.
    fn arranged(&mut self, part: &BoxArray, classes: &[Vec<usize>], bounds: &BoxIntervals) -> (HloValue, Vec<usize>) {
        let first = |class: &Vec<usize>| part.axes.iter().position(|axis| class.contains(axis));
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_by_key(|k| first(&classes[*k]));
        let axes: Vec<usize> =
            order.iter().flat_map(|k| &classes[*k]).copied().filter(|axis| part.axes.contains(axis)).collect();
        let value = self.spread(part, &axes, bounds);
        let extent = |k: &usize| classes[*k].iter().map(|axis| width(bounds, *axis)).product::<usize>();
        let shape: Shape = order.iter().map(extent).collect();
        let mut places = vec![0; classes.len()];
        order.iter().enumerate().for_each(|(place, class)| places[*class] = place);
        (self.reshape(&value, &shape), places)
    }

    fn backwards(&mut self, value: &HloValue, places: &[usize], spatial: &[Spatial], side: usize) -> HloValue {
        let axes: Vec<usize> =
            spatial.iter().enumerate().filter(|(_, s)| s.backwards[side]).map(|(k, _)| places[k + 2]).collect();
        self.reverse(value, &axes)
    }
}

impl ConvolutionPlan {
    /// The views of a left operand, a kernel and a result as a convolution; `None` if they are not one.
    ///
    /// An axis belongs to at most one window of a convolution: a window that shares an axis with another one, or that
    /// is not a window of a convolution, is read or written without a convolution, by [`Region::read`] and
    /// [`Region::write`].
    fn of(views: [&View; 3], bounds: &BoxIntervals) -> Option<ConvolutionPlan> {
        let all = views.map(|view| rows(view, bounds));
        let mut plan = ConvolutionPlan { spatial: Vec::new(), views: views.map(View::clone), bounds: bounds.clone() };
        let mut taken: Vec<usize> = Vec::new();
        // Windows that do not overlap are tried last: without a convolution, they cost only a reshape.
        for tiles in [false, true] {
            for side in [0, 2] {
                for (k, row) in all[side].iter().enumerate() {
                    let is_tiled = row.window(&all[side], bounds).is_some_and(|window| window.ratio().is_some());
                    let Some(steps) = steps(&all, side, row).filter(|_| is_tiled == tiles) else { continue };
                    let axes = [steps.0.0, steps.1.0];
                    if taken.iter().any(|axis| axes.contains(axis)) {
                        continue;
                    }
                    taken.extend(axes);
                    let extent = views[side].source()[k];
                    let new = plan.bounds.len();
                    plan.bounds.push((0, extent));
                    let widths = axes.map(|axis| width(bounds, axis));
                    let made = if side == 0 { Spatial::forwards } else { Spatial::adjoint };
                    plan.spatial.push(made((side, k), new, steps, widths, row.start, extent));
                }
            }
        }
        // XLA has kernels for one to three spatial axes.
        if !(1..=3).contains(&plan.spatial.len()) {
            return None;
        }
        // Rows that are read without a convolution must be in bounds everywhere: the zero of a masked read would be a
        // factor of products.
        let is_read = |side: usize, k: usize| plan.spatial.iter().all(|s| s.window != (side, k));
        let is_within = |side: usize, k: usize| all[side][k].is_within(bounds, views[side].source()[k]);
        if [0, 1].iter().any(|side| (0..all[*side].len()).any(|k| is_read(*side, k) && !is_within(*side, k))) {
            return None;
        }
        plan.widen();
        // Of two operands that slide over each other, the larger one is the image.
        let span = |side: usize| plan.spatial.iter().map(|s| width(&plan.bounds, s.axes[side])).product::<usize>();
        let has_image = plan.spatial.iter().any(|s| s.window.0 == 0);
        (has_image || span(0) >= span(1)).then_some(plan)
    }

    /// Extends the box by one axis for each window, and replaces the row of the window in its view by that axis.
    fn widen(&mut self) {
        let shape: Shape = self.bounds.iter().map(|(_, end)| *end).collect();
        for (side, view) in self.views.iter_mut().enumerate() {
            let (mut matrix, mut offset) = (Vec::new(), view.offset().to_vec());
            for (k, first) in offset.iter_mut().enumerate() {
                let mut row = view.row(k).to_vec();
                row.resize(shape.len(), 0);
                let window = self.spatial.iter().position(|s| s.window == (side, k));
                if let Some(window) = window {
                    row.fill(0);
                    row[shape.len() - self.spatial.len() + window] = 1;
                    *first = 0;
                }
                matrix.extend(row);
            }
            *view = View::affine(view.source(), &shape, &matrix, &offset);
        }
        debug_assert!(size(&shape) > 0, "a box is not empty");
    }
}

/// For a row of the image (`side` 0) or of the result (2) that is a window of a convolution: the step of the axis that
/// it shares with the other of the two, and the step of the axis that it shares with the kernel.
fn steps(all: &[Vec<ViewRow>; 3], side: usize, row: &ViewRow) -> Option<(Step, Step)> {
    let [x, y] = row.moving[..] else { return None };
    // The number of rows of a view with a coefficient for the axis.
    let uses = |axis: usize, one: usize| {
        all[one].iter().filter(|row| row.moving.iter().any(|(moving, _)| *moving == axis)).count()
    };
    // Whether an axis occurs in this window and in one row of one other view, and nowhere else.
    let besides =
        |axis: usize, one: usize| uses(axis, side) == 1 && uses(axis, one) == 1 && uses(axis, 3 - side - one) == 0;
    let other = 2 - side;
    if besides(x.0, other) && besides(y.0, 1) {
        Some((x, y))
    } else if besides(y.0, other) && besides(x.0, 1) {
        Some((y, x))
    } else {
        None
    }
}

/// An axis and its coefficient in a row.
type Step = (usize, i64);

impl Spatial {
    /// Whether a convolution of an operand and a kernel of extents `x` and `y`, with more padding `around`, has extent
    /// `out`.
    fn fits(&self, [x, y, out]: [i64; 3], around: &[i64; 2]) -> bool {
        let dilated = |n: i64, by: usize| (n - 1) * by as i64 + 1;
        let [low, high] = [0, 1].map(|k| self.pad[k] + around[k]);
        let rest = dilated(x, self.dilation[0]) + low + high - dilated(y, self.dilation[1]);
        rest >= 0 && rest / self.stride as i64 + 1 == out
    }

    /// The spatial axis of an image with the row `s v + e u + start`, of this extent.
    fn forwards(
        window: (usize, usize),
        new: usize,
        ((v, s), (u, e)): (Step, Step),
        [p, d]: [usize; 2],
        start: i64,
        extent: usize,
    ) -> Spatial {
        let (last, reach) = (s.abs() * (p as i64 - 1), e.abs() * (d as i64 - 1));
        let start = start + s.min(0) * (p as i64 - 1) + e.min(0) * (d as i64 - 1);
        Spatial {
            window,
            axes: [new, u, v],
            stride: s.unsigned_abs() as usize,
            pad: [-start, last + reach + 1 - extent as i64 + start],
            dilation: [1, e.unsigned_abs() as usize],
            backwards: [false, e < 0, s < 0],
        }
    }

    /// The spatial axis of a result with the row `s v + e u + start`, of this extent.
    fn adjoint(
        window: (usize, usize),
        new: usize,
        ((v, s), (u, e)): (Step, Step),
        [p, d]: [usize; 2],
        start: i64,
        extent: usize,
    ) -> Spatial {
        let (dilated, reach) = (s.abs() * (p as i64 - 1) + 1, e.abs() * (d as i64 - 1));
        let start = start + s.min(0) * (p as i64 - 1);
        let low = start + e.max(0) * (d as i64 - 1);
        Spatial {
            window,
            axes: [v, u, new],
            stride: 1,
            pad: [low, extent as i64 + reach - dilated - low],
            dilation: [s.unsigned_abs() as usize, e.unsigned_abs() as usize],
            backwards: [s < 0, e > 0, false],
        }
    }
}
