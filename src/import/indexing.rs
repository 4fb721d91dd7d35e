//! Reads and writes at computed positions: slices, gathers.
//!
//! Law: starts are moved so that a window lies within the operand, as StableHLO says. A window of one position along the
//! axes that move is one read by indices; wider ones have the indices of all their positions.

use super::module::ModuleOperation;
use super::shaped::{axes, concatenated, distinct};
use super::types::Element;
use super::value::{
    Imported, ImportedValue, and, compare, full, int_like, int_with, ints, iota, lacks, need, shape_of,
};
use crate::base::{BaseTensor, replaced};
use crate::ops::{Compare, IntBinary, Linear};
use crate::shape::{Shape, size};

/// The result of an operation of this family; `None` if it belongs to another.
pub(super) fn run<T: BaseTensor>(op: &ModuleOperation, x: &[ImportedValue<T>]) -> Imported<Option<ImportedValue<T>>> {
    Ok(Some(match (op.name.as_str(), x) {
        ("dynamic_slice", [x, starts @ ..]) => {
            let Some(sizes) = op.ints("slice_sizes") else { return lacks("sizes") };
            dynamic_slice(x, starts, &sizes)?
        }
        ("dynamic_update_slice", [x, part, starts @ ..]) => dynamic_update_slice(x, part, starts)?,
        ("gather", [x, ix]) => {
            let Some(sizes) = op.ints("slice_sizes") else { return lacks("sizes") };
            gather(&numbered(op, "dimension_numbers"), x, ix, &sizes)?
        }
        ("dynamic_gather", [x, ix, sizes]) => {
            let Some(sizes) = sizes.known_all() else { return lacks("sizes that are known when it is read") };
            gather(&numbered(op, "dimension_numbers"), x, ix, &sizes)?
        }
        _ => return Ok(None),
    }))
}

/// The operation with the entries of an attribute as its own.
pub(super) fn numbered(op: &ModuleOperation, name: &str) -> ModuleOperation {
    let mut found = ModuleOperation { regions: Vec::new(), ..op.clone() };
    if let Some(super::attributes::Attribute::Dict(all)) = op.attribute(name) {
        found.attributes.extend(all.iter().cloned());
    }
    found
}

/// Starts moved into `0..=last`.
fn within<T: BaseTensor>(start: &ImportedValue<T>, last: i64) -> ImportedValue<T> {
    let (lo, hi) = start.bounds();
    let re = if lo < 0 { int_with(IntBinary::Max, &start.re, 0) } else { start.re.clone() };
    let re = if hi > last { int_with(IntBinary::Min, &re, last) } else { re };
    let range = (lo.clamp(0, last), hi.clamp(0, last));
    if range.0 == range.1 {
        return ImportedValue::whole(Element::I64, start.shape(), range.0);
    }
    ImportedValue::within(Element::I64, re, range.0, range.1)
}

/// The sizes of a window, each at most that of the operand.
fn window(sizes: &[i64], shape: &[usize]) -> Imported<Vec<usize>> {
    need(sizes.len() == shape.len(), || "it needs a size for each axis".into())?;
    let found: Option<Vec<usize>> =
        sizes.iter().zip(shape).map(|(s, n)| usize::try_from(*s).ok().filter(|s| s <= n)).collect();
    found.ok_or_else(|| "the sizes must be at most those of the operand".into())
}

/// Starts of a slice along each axis, moved into the operand.
fn starts<T: BaseTensor>(
    given: &[ImportedValue<T>],
    shape: &[usize],
    sizes: &[usize],
) -> Imported<Vec<ImportedValue<T>>> {
    need(given.len() == shape.len() && given.iter().all(|s| s.element.is_int() && s.shape().is_empty()), || {
        "it needs an integer for each axis".into()
    })?;
    Ok(given.iter().enumerate().map(|(k, s)| within(s, (shape[k] - sizes[k]) as i64)).collect())
}

/// The axes of a list first, then the others.
fn first(moving: &[usize], rank: usize) -> Vec<usize> {
    moving.iter().copied().chain((0..rank).filter(|k| !moving.contains(k))).collect()
}

/// The order that takes permuted axes back.
pub(super) fn inverse(order: &[usize]) -> Vec<usize> {
    let mut back = vec![0; order.len()];
    for (k, axis) in order.iter().enumerate() {
        back[*axis] = k;
    }
    back
}

fn dynamic_slice<T: BaseTensor>(
    x: &ImportedValue<T>,
    given: &[ImportedValue<T>],
    sizes: &[i64],
) -> Imported<ImportedValue<T>> {
    let sizes = window(sizes, x.shape())?;
    let starts = starts(given, x.shape(), &sizes)?;
    let rank = sizes.len();
    // Axes whose start is known are cut.
    let mut cut = x.clone();
    for k in 0..rank {
        if let Some(start) = starts[k].known()
            && sizes[k] < x.shape()[k]
        {
            cut = cut.map(|y| y.linear(&Linear::slice(y.shape(), k, start as usize, sizes[k], 1)));
        }
    }
    let moving: Vec<usize> = (0..rank).filter(|k| cut.shape()[*k] != sizes[*k]).collect();
    if moving.is_empty() {
        return Ok(cut);
    }
    let wide: Vec<usize> = moving.iter().copied().filter(|k| sizes[*k] != 1).collect();
    let inner = shape_of(wide.iter().map(|k| sizes[*k]));
    let indices: Vec<T> =
        moving.iter().map(|k| shifted(&starts[*k], wide.iter().position(|w| w == k), &inner)).collect();
    let order = first(&moving, rank);
    let found = cut.permuted(&order).map(|y| y.gather(&indices));
    let shape = shape_of(order.iter().map(|k| sizes[*k]));
    Ok(ImportedValue { range: x.range, ..found.reshaped(&shape).permuted(&inverse(&order)) })
}

/// A number, plus the position along one axis of a shape.
fn shifted<T: BaseTensor>(start: &ImportedValue<T>, axis: Option<usize>, shape: &[usize]) -> T {
    let start = start.re.linear(&Linear::replicate(shape, &[]));
    match axis {
        Some(axis) => ints(IntBinary::Add, &start, &iota(shape, axis)),
        None => start,
    }
}

fn dynamic_update_slice<T: BaseTensor>(
    x: &ImportedValue<T>,
    part: &ImportedValue<T>,
    given: &[ImportedValue<T>],
) -> Imported<ImportedValue<T>> {
    need(x.element == part.element && x.shape().len() == part.shape().len(), || {
        "the update must have the element type and the axes of the operand".into()
    })?;
    let sizes: Vec<i64> = part.shape().iter().map(|n| *n as i64).collect();
    let sizes = window(&sizes, x.shape())?;
    let starts = starts(given, x.shape(), &sizes)?;
    let rank = sizes.len();
    let moving: Vec<usize> = (0..rank).filter(|k| sizes[*k] != x.shape()[*k]).collect();
    let (a, b) = (x.bounds(), part.bounds());
    let range = x.element.is_int().then(|| (a.0.min(b.0), a.1.max(b.1)));
    if moving.is_empty() {
        return Ok(ImportedValue { range, ..part.clone() });
    }
    if let ([axis], Some(start)) = (&moving[..], starts[moving[0]].known()) {
        let cut = |from: usize, len: usize| x.map(|y| y.linear(&Linear::slice(y.shape(), *axis, from, len, 1)));
        let (start, end) = (start as usize, start as usize + sizes[*axis]);
        let parts = [cut(0, start), part.clone(), cut(end, x.shape()[*axis] - end)];
        let parts: Vec<ImportedValue<T>> = parts.into_iter().filter(|p| p.shape()[*axis] > 0).collect();
        return concatenated(*axis, &parts);
    }
    let order = first(&moving, rank);
    let (whole, new) = (x.permuted(&order), part.permuted(&order));
    let outer = moving.len();
    let found = if moving.iter().all(|k| sizes[*k] == 1) {
        let indices: Vec<T> = moving.iter().map(|k| starts[*k].re.clone()).collect();
        let rest = Shape::from_slice(&new.shape()[outer..]);
        let new = new.reshaped(&rest);
        let put = |x: &T, new: &T| replaced(x, &indices, new);
        let im = whole.im.as_ref().map(|im| put(im, &new.imaginary()));
        ImportedValue { element: x.element, re: put(&whole.re, &new.re), im, range }
    } else {
        let inner = Shape::from_slice(&whole.shape()[..outer]);
        let mut mask: T = full(&inner, crate::dtype::DType::Bool, 1);
        let mut indices = Vec::new();
        for (axis, k) in moving.iter().enumerate() {
            let start = starts[*k].re.linear(&Linear::replicate(&inner, &[]));
            let place = ints(IntBinary::Sub, &iota(&inner, axis), &start);
            let inside = and(
                &compare(Compare::Ge, &place, &int_like(&place, 0)),
                &compare(Compare::Lt, &place, &int_like(&place, sizes[*k] as i64)),
            );
            mask = and(&mask, &inside);
            indices.push(place);
        }
        let mask = mask.linear(&Linear::replicate(whole.shape(), &(0..outer).collect::<Vec<_>>()));
        let put = |x: &T, new: &T| T::select(&mask, &new.gather(&indices), x);
        let im = whole.im.as_ref().map(|im| put(im, &new.imaginary()));
        ImportedValue { element: x.element, re: put(&whole.re, &new.re), im, range }
    };
    Ok(found.permuted(&inverse(&order)))
}

/// The starts of a gather or scatter: for each axis of the operand that has them, an array over the batch.
pub(super) struct Starts<T> {
    pub(super) batch: Shape,
    pub(super) by_axis: Vec<(usize, ImportedValue<T>)>,
}

/// Reads the starts from the array of indices.
pub(super) fn index_vectors<T: BaseTensor>(
    op: &ModuleOperation,
    ix: &ImportedValue<T>,
    rank: usize,
    [map, batching, of_indices]: [&str; 3],
) -> Imported<Starts<T>> {
    need(ix.element.is_int(), || "the indices must be integers".into())?;
    let map = axes(op, map, rank)?;
    let vector = op.int("index_vector_dim").unwrap_or(0);
    let n = ix.shape().len();
    let Some(vector) = usize::try_from(vector).ok().filter(|v| *v <= n) else { return lacks("`index_vector_dim`") };
    let (components, ix) = if vector == n {
        (1, ix.reshaped(&[ix.shape(), &[1]].concat()))
    } else {
        let order: Vec<usize> = (0..n).filter(|k| *k != vector).chain([vector]).collect();
        (ix.shape()[vector], ix.permuted(&order))
    };
    need(components == map.len() && distinct(&map), || "the indices must have a component for each axis".into())?;
    let (batch, _) = ix.shape().split_at(ix.shape().len() - 1);
    let batch = Shape::from_slice(batch);
    let last = batch.len();
    let mut by_axis: Vec<(usize, ImportedValue<T>)> = map
        .iter()
        .enumerate()
        .map(|(k, axis)| (*axis, ix.map(|y| y.linear(&Linear::row(y.shape(), last, k)))))
        .collect();
    let (batching, of_indices) = (axes(op, batching, rank)?, axes(op, of_indices, n)?);
    need(batching.len() == of_indices.len(), || "batching axes must come in pairs".into())?;
    for (axis, place) in batching.iter().zip(of_indices) {
        let place = if place > vector { place - 1 } else { place };
        need(place < batch.len() && !map.contains(axis), || "a batching axis does not exist".into())?;
        let top = batch[place] as i64 - 1;
        by_axis.push((*axis, ImportedValue::within(Element::I64, iota(&batch, place), 0, top.max(0))));
    }
    Ok(Starts { batch, by_axis })
}

fn gather<T: BaseTensor>(
    op: &ModuleOperation,
    x: &ImportedValue<T>,
    ix: &ImportedValue<T>,
    sizes: &[i64],
) -> Imported<ImportedValue<T>> {
    let rank = x.shape().len();
    let sizes = window(sizes, x.shape())?;
    let names = ["start_index_map", "operand_batching_dims", "start_indices_batching_dims"];
    let Starts { batch, by_axis } = index_vectors(op, ix, rank, names)?;
    let collapsed = [axes(op, "collapsed_slice_dims", rank)?, axes(op, "operand_batching_dims", rank)?].concat();
    need(distinct(&collapsed) && collapsed.iter().all(|k| sizes[*k] <= 1), || {
        "collapsed axes must have size 1".into()
    })?;
    // Axes without a start begin at 0, and those that are read as a whole always do.
    let mut cut = x.clone();
    for (k, size) in sizes.iter().copied().enumerate() {
        if !by_axis.iter().any(|(axis, _)| *axis == k) && size < x.shape()[k] {
            cut = cut.map(|y| y.linear(&Linear::slice(y.shape(), k, 0, size, 1)));
        }
    }
    let moving: Vec<&(usize, ImportedValue<T>)> = by_axis.iter().filter(|(k, _)| sizes[*k] < cut.shape()[*k]).collect();
    let wide: Vec<usize> = moving.iter().map(|(k, _)| *k).filter(|k| sizes[*k] != 1).collect();
    let b = batch.len();
    let space = shape_of(batch.iter().copied().chain(wide.iter().map(|k| sizes[*k])));
    let of_batch: Vec<usize> = (0..b).collect();
    let index = |(k, start): &(usize, ImportedValue<T>)| {
        let start = within(start, (x.shape()[*k] - sizes[*k]) as i64).replicated(&space, &of_batch);
        match wide.iter().position(|w| w == k) {
            Some(place) => ints(IntBinary::Add, &start.re, &iota(&space, b + place)),
            None => start.re,
        }
    };
    let indices: Vec<T> = moving.iter().map(|m| index(m)).collect();
    let axes_first: Vec<usize> = moving.iter().map(|(k, _)| *k).collect();
    let order = first(&axes_first, rank);
    let found = if moving.is_empty() {
        // Every window is the operand: as often as the batch says.
        let shape = shape_of(batch.iter().copied().chain(cut.shape().iter().copied()));
        cut.replicated(&shape, &(b..shape.len()).collect::<Vec<_>>())
    } else {
        cut.permuted(&order).map(|y| y.gather(&indices))
    };
    // The axes of the windows in their order, then those of size 1 among them.
    let present: Vec<usize> = wide.iter().copied().chain((0..rank).filter(|k| !axes_first.contains(k))).collect();
    let mut sorted = present.clone();
    sorted.sort_unstable();
    let place = |k: &usize| present.iter().position(|p| p == k).map_or(0, |p| b + p);
    let found = found.permuted(&(0..b).chain(sorted.iter().map(place)).collect::<Vec<_>>());
    let kept: Vec<usize> = (0..rank).filter(|k| !collapsed.contains(k)).collect();
    let shape = shape_of(batch.iter().copied().chain(kept.iter().map(|k| sizes[*k])));
    need(size(&shape) == size(found.shape()), || "collapsed axes must have size 1".into())?;
    let found = found.reshaped(&shape);
    let offsets = axes(op, "offset_dims", shape.len())?;
    need(offsets.len() == kept.len() && distinct(&offsets), || {
        "`offset_dims` must name an axis for each window axis".into()
    })?;
    let mut batches = 0..b;
    let back: Vec<usize> = (0..shape.len())
        .map(|k| match offsets.iter().position(|o| *o == k) {
            Some(place) => b + place,
            None => batches.next().unwrap_or(0),
        })
        .collect();
    Ok(ImportedValue { range: x.range, ..found.permuted(&back) })
}
