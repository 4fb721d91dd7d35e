//! Gather and scatter in StableHLO.
//!
//! Law: at an index out of bounds, a gather reads 0 and a scatter adds nothing. XLA clamps the indices of a gather, so
//! its result is masked, unless facts about the index prove it within bounds; StableHLO itself skips additions at such
//! an index.
//!
//! An index that is an iota along an axis of the indices becomes a batch dimension (`operand_batching_dims`), along
//! which devices can be sharded without communication.

use super::hlo::brackets;
use super::rules::{self, rule};
use super::text::{HloValue, Region, Ty, types};
use crate::shape::Shape;

/// Facts about one index: the bounds of its values, and the axis of the indices along which it is an iota, if any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Index {
    pub(super) bounds: (i64, i64),
    pub(super) counts: Option<usize>,
}

impl Index {
    pub(super) const UNKNOWN: Index = Index { bounds: (i64::MIN, i64::MAX), counts: None };
}

impl Region {
    /// The subarrays of `t` at indices into its first axes.
    pub(super) fn gather(&mut self, t: &HloValue, ix: &[HloValue], known: &[Index]) -> HloValue {
        let Some(first) = ix.first() else { return t.clone() };
        let places = first.shape.clone();
        let shape: Shape = places.iter().chain(&t.shape[ix.len()..]).copied().collect();
        if shape.contains(&0) || t.shape.contains(&0) {
            return self.full(0.0, &shape, t.ty);
        }
        let mut mask = None;
        for (k, (index, known)) in ix.iter().zip(known).enumerate() {
            mask = self.within(index, known.bounds, t.shape[k], mask);
        }
        // Implementations differ in the element that they read at an index out of bounds.
        let zero = self.integer(0, &places);
        let safe: Vec<HloValue> = match &mask {
            Some(mask) => ix.iter().map(|index| self.select(mask, index, &zero)).collect(),
            None => ix.to_vec(),
        };
        let value = if places.is_empty() {
            let mut at = safe;
            at.extend((ix.len()..t.shape.len()).map(|_| zero.clone()));
            let sizes: Shape = t.shape.iter().enumerate().map(|(k, n)| if k < ix.len() { 1 } else { *n }).collect();
            let row = self.dynamic_slice(t, &at, &sizes);
            self.reshape(&row, &shape)
        } else {
            let batch = batch_axes(&places, t, ix.len(), known);
            let dims: Vec<usize> = (0..ix.len()).collect();
            self.gather_at(t, &dims, &safe, &batch)
        };
        let Some(mask) = mask else { return value };
        let axes: Vec<usize> = (0..places.len()).collect();
        let mask = self.broadcast(&mask, &shape, &axes);
        let zeros = self.like(0.0, &value);
        self.select(&mask, &value, &zeros)
    }

    /// The subarrays of `t` at indices within bounds into some of its axes; the axes of the indices come first. A pair
    /// in `batch` is an index and the axis of the indices along which it is an iota.
    pub(super) fn gather_at(
        &mut self,
        t: &HloValue,
        dims: &[usize],
        ix: &[HloValue],
        batch: &[(usize, usize)],
    ) -> HloValue {
        rule!(format!("gather along {dims:?}"), [t, &ix[0]], rules::indexes(t, dims, ix));
        let places = ix[0].shape.clone();
        let is_batch = |k: &usize| batch.iter().any(|(index, _)| index == k);
        let (indexed, starts) = self.starts(ix, &is_batch);
        let rest: Vec<usize> = (0..t.shape.len()).filter(|k| !dims.contains(k)).collect();
        let shape: Shape = places.iter().copied().chain(rest.iter().map(|k| t.shape[*k])).collect();
        let collapsed: Vec<usize> = sorted(indexed.iter().map(|k| dims[*k]));
        let sizes = (0..t.shape.len()).map(|k| if dims.contains(&k) { 1 } else { t.shape[k] });
        let text = format!(
            "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = {}, collapsed_slice_dims = {}, {}\
             start_index_map = {}, index_vector_dim = {}>, indices_are_sorted = false, slice_sizes = array<i64: {}>}}> : ({}) -> ",
            t.name,
            starts.name,
            brackets(places.len()..shape.len()),
            brackets(&collapsed),
            batching(["operand_batching_dims", "start_indices_batching_dims"], dims, batch),
            brackets(indexed.iter().map(|k| dims[*k])),
            places.len(),
            super::text::list(sizes),
            types([t, &starts])
        );
        self.op(text, &shape, t.ty)
    }

    /// The numbers of the indices that are not batch dimensions, and these indices concatenated along a new last axis.
    fn starts(&mut self, ix: &[HloValue], is_batch: &dyn Fn(&usize) -> bool) -> (Vec<usize>, HloValue) {
        let mut shape = ix[0].shape.clone();
        shape.push(1);
        let indexed: Vec<usize> = (0..ix.len()).filter(|k| !is_batch(k)).collect();
        let columns: Vec<HloValue> = indexed.iter().map(|k| self.reshape(&ix[*k], &shape)).collect();
        (indexed, self.concat(shape.len() - 1, &columns))
    }

    /// `base` with the subarrays of `v` added at indices into its first axes.
    pub(super) fn scatter_add(&mut self, base: &HloValue, ix: &[HloValue], v: &HloValue, known: &[Index]) -> HloValue {
        let Some(first) = ix.first() else { return self.binary("add", base, v) };
        let places = first.shape.clone();
        if v.shape.contains(&0) || base.shape.contains(&0) {
            return base.clone();
        }
        if !places.is_empty() {
            let batch = batch_axes(&places, base, ix.len(), known);
            let dims: Vec<usize> = (0..ix.len()).collect();
            return self.scatter_at(base, &dims, ix, v, &batch);
        }
        let mut mask = None;
        for (k, (index, known)) in ix.iter().zip(known).enumerate() {
            mask = self.within(index, known.bounds, base.shape[k], mask);
        }
        let zero = self.integer(0, &[]);
        let mut at: Vec<HloValue> = match &mask {
            Some(mask) => ix.iter().map(|index| self.select(mask, index, &zero)).collect(),
            None => ix.to_vec(),
        };
        at.extend((ix.len()..base.shape.len()).map(|_| zero.clone()));
        let sizes: Shape = base.shape.iter().enumerate().map(|(k, n)| if k < ix.len() { 1 } else { *n }).collect();
        let row = self.dynamic_slice(base, &at, &sizes);
        let v = self.reshape(v, &sizes);
        let mut sum = self.binary("add", &row, &v);
        if let Some(mask) = mask {
            let mask = self.broadcast(&mask, &sizes, &[]);
            sum = self.select(&mask, &sum, &row);
        }
        self.dynamic_update_slice(base, &sum, &at)
    }

    /// `base` with the subarrays of `v` added at indices into some of its axes; the axes of the indices are the first
    /// of `v`. At an index out of bounds, nothing is added.
    pub(super) fn scatter_at(
        &mut self,
        base: &HloValue,
        dims: &[usize],
        ix: &[HloValue],
        v: &HloValue,
        batch: &[(usize, usize)],
    ) -> HloValue {
        let rest = (0..base.shape.len()).filter(|k| !dims.contains(k)).map(|k| base.shape[k]);
        let fits =
            rules::indexes(base, dims, ix) && ix[0].shape.iter().copied().chain(rest).eq(v.shape.iter().copied());
        rule!(format!("scatter along {dims:?}"), [base, &ix[0], v], fits && base.ty == v.ty);
        let places = ix[0].shape.len();
        let is_batch = |k: &usize| batch.iter().any(|(index, _)| index == k);
        let (indexed, starts) = self.starts(ix, &is_batch);
        let inserted: Vec<usize> = sorted(indexed.iter().map(|k| dims[*k]));
        let mut arguments = Vec::new();
        let region = self.region(|code| {
            arguments = [0, 1].map(|_| code.argument(&[], base.ty)).to_vec();
            let name = if base.ty == Ty::Bool { "or" } else { "add" };
            let sum = code.binary(name, &arguments[0], &arguments[1]);
            code.give(&[&sum]);
        });
        let indent = self.indent();
        let text = format!(
            "\"stablehlo.scatter\"({}, {}, {}) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<\
             update_window_dims = {}, inserted_window_dims = {}, {}scatter_dims_to_operand_dims = {}, index_vector_dim = {places}>, \
             unique_indices = false}}> ({{\n{indent}^bb0({}: {}, {}: {}):\n{region}{indent}}}) : ({}) -> {}",
            base.name,
            starts.name,
            v.name,
            brackets(places..v.shape.len()),
            brackets(&inserted),
            batching(["input_batching_dims", "scatter_indices_batching_dims"], dims, batch),
            brackets(indexed.iter().map(|k| dims[*k])),
            arguments[0].name,
            arguments[0].tensor(),
            arguments[1].name,
            arguments[1].tensor(),
            types([base, &starts, v]),
            base.tensor()
        );
        self.results(&text, &[(base.shape.clone(), base.ty)]).swap_remove(0)
    }
}

/// The indices that are iotas along an axis of the indices, each along another axis, of the length of the array's axis.
fn batch_axes(places: &[usize], t: &HloValue, count: usize, known: &[Index]) -> Vec<(usize, usize)> {
    let mut batch: Vec<(usize, usize)> = Vec::new();
    for (k, known) in known.iter().enumerate().take(count) {
        let Some(axis) = known.counts else { continue };
        if places[axis] == t.shape[k] && batch.iter().all(|(_, other)| *other != axis) {
            batch.push((k, axis));
        }
    }
    // The operation needs at least one index that is not a batch dimension.
    batch.truncate(count - 1);
    batch
}

fn sorted(axes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut axes: Vec<usize> = axes.collect();
    axes.sort_unstable();
    axes
}

/// The attributes of the batch dimensions of the array and of the indices.
fn batching(names: [&str; 2], dims: &[usize], batch: &[(usize, usize)]) -> String {
    if batch.is_empty() {
        return String::new();
    }
    let mut pairs: Vec<(usize, usize)> = batch.iter().map(|(index, axis)| (dims[*index], *axis)).collect();
    pairs.sort_unstable();
    let [array, indices] = [brackets(pairs.iter().map(|p| p.0)), brackets(pairs.iter().map(|p| p.1))];
    format!("{} = {array}, {} = {indices}, ", names[0], names[1])
}
