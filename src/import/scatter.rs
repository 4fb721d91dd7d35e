//! Scatters: updates at computed positions, by any function.
//!
//! Law: a window that does not lie within the operand is left out. Sums are one operation. For other functions, updates
//! of one position are brought together by a stable sort, combined in their order by a scan in logarithmically many
//! steps, and written once; StableHLO asks for associative functions.

use super::indexing::{index_vectors, numbered};
use super::module::ModuleOperation;
use super::reductions::{Recognised, recognised};
use super::run::{Failed, ModuleRun, Reader};
use super::shaped::{axes, distinct};
use super::types::Element;
use super::value::{Imported, ImportedValue, and, compare, full, int_like, ints, iota, need, not, shape_of};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Compare, Discrete, IntBinary, Linear};
use crate::shape::{Shape, size};

/// Where updates go.
struct Targets<T> {
    /// For each leading axis of the permuted operand, the positions: arrays over batch and wide windows.
    indices: Vec<T>,
    /// The mask of windows that lie within the operand, unless each index says so for itself.
    inside: Option<T>,
    /// The order of axes that brings those with indices first.
    order: Vec<usize>,
    /// The order of the axes of the updates: batch, wide windows, the rest.
    of_updates: Vec<usize>,
}

fn targets<T: BaseTensor>(
    op: &ModuleOperation,
    x: &[usize],
    ix: &ImportedValue<T>,
    v: &[usize],
) -> Imported<Targets<T>> {
    let rank = x.len();
    let op = numbered(op, "scatter_dimension_numbers");
    let names = ["scatter_dims_to_operand_dims", "input_batching_dims", "scatter_indices_batching_dims"];
    let starts = index_vectors(&op, ix, rank, names)?;
    let windows = axes(&op, "update_window_dims", v.len())?;
    let inserted = [axes(&op, "inserted_window_dims", rank)?, axes(&op, "input_batching_dims", rank)?].concat();
    let kept: Vec<usize> = (0..rank).filter(|k| !inserted.contains(k)).collect();
    need(distinct(&windows) && distinct(&inserted) && windows.len() == kept.len(), || {
        "`update_window_dims` must name an axis for each window axis".into()
    })?;
    let batch_axes: Vec<usize> = (0..v.len()).filter(|k| !windows.contains(k)).collect();
    let batch = shape_of(batch_axes.iter().map(|k| v[*k]));
    need(batch == starts.batch, || "the updates must have the batch axes of the indices".into())?;
    let mut sizes = vec![1; rank];
    for (k, axis) in kept.iter().zip(&windows) {
        sizes[*k] = v[*axis];
    }
    need(sizes.iter().zip(x).all(|(s, n)| s <= n || *n == 0), || {
        "a window must not be larger than the operand".into()
    })?;
    let mut moving = starts.by_axis;
    for k in 0..rank {
        if !moving.iter().any(|(axis, _)| *axis == k) && sizes[k] < x[k] {
            moving.push((k, ImportedValue::whole(Element::I64, &batch, 0)));
        }
    }
    let wide: Vec<usize> = moving.iter().map(|(k, _)| *k).filter(|k| sizes[*k] != 1).collect();
    let b = batch.len();
    let space = shape_of(batch.iter().copied().chain(wide.iter().map(|k| sizes[*k])));
    let (mut indices, mut inside) = (Vec::new(), None::<T>);
    for (k, start) in &moving {
        let start = start.replicated(&space, &(0..b).collect::<Vec<_>>());
        let Some(place) = wide.iter().position(|w| w == k) else {
            indices.push(start.re);
            continue;
        };
        indices.push(ints(IntBinary::Add, &start.re, &iota(&space, b + place)));
        let last = x[*k] as i64 - sizes[*k] as i64;
        let fits = and(
            &compare(Compare::Ge, &start.re, &int_like(&start.re, 0)),
            &compare(Compare::Le, &start.re, &int_like(&start.re, last)),
        );
        inside = Some(inside.map_or(fits.clone(), |all| and(&all, &fits)));
    }
    let axes_first: Vec<usize> = moving.iter().map(|(k, _)| *k).collect();
    let rest: Vec<usize> = (0..rank).filter(|k| !axes_first.contains(k)).collect();
    let of_window = |k: &usize| kept.iter().position(|j| j == k).map(|place| windows[place]);
    let order: Vec<usize> = axes_first.iter().copied().chain(rest.iter().copied()).collect();
    let mut of_updates = batch_axes;
    of_updates.extend(wide.iter().filter_map(of_window));
    // Window axes of one position, among those with indices.
    let narrow: Vec<usize> = axes_first.iter().filter(|k| !wide.contains(k)).filter_map(of_window).collect();
    of_updates.extend(rest.iter().filter_map(of_window));
    of_updates.extend(narrow);
    Ok(Targets { indices, inside, order, of_updates })
}

/// The result of an operation of this family; `None` if it belongs to another.
pub(super) fn run<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
) -> Option<ModuleRun<Vec<ImportedValue<T>>>> {
    (op.name == "scatter").then(|| scatter(reader, op, x))
}

fn scatter<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
) -> ModuleRun<Vec<ImportedValue<T>>> {
    let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
    let n = x.len() / 2;
    need(x.len() % 2 == 1 && n > 0 && op.regions.len() == 1, || {
        "it needs operands, indices, updates and a region".into()
    })
    .map_err(failed)?;
    let (operands, ix, updates) = (&x[..n], &x[n], &x[n + 1..]);
    let alike = |(a, v): (&ImportedValue<T>, &ImportedValue<T>)| {
        a.shape() == operands[0].shape() && v.shape() == updates[0].shape() && a.element == v.element
    };
    need(operands.iter().zip(updates).all(alike), || {
        "operands and updates must have one shape and element type".into()
    })
    .map_err(failed)?;
    let shape = Shape::from_slice(operands[0].shape());
    if size(&shape) == 0 || size(updates[0].shape()) == 0 {
        return Ok(operands.to_vec());
    }
    let to = targets(op, &shape, ix, updates[0].shape()).map_err(failed)?;
    let back = super::indexing::inverse(&to.order);
    let space = to.indices.first().map(|i| Shape::from_slice(i.shape())).unwrap_or_default();
    let operands: Vec<ImportedValue<T>> = operands.iter().map(|x| x.permuted(&to.order)).collect();
    let (outer, rest) = operands[0].shape().split_at(to.indices.len());
    let (outer, rest) = (Shape::from_slice(outer), Shape::from_slice(rest));
    let spread = shape_of(space.iter().chain(rest.iter()).copied());
    let updates: Vec<ImportedValue<T>> = updates.iter().map(|v| v.permuted(&to.of_updates).reshaped(&spread)).collect();
    let kind = recognised(&op.regions[0]);
    if let (Recognised::Of("add" | "subtract"), [x], [v]) = (&kind, &operands[..], &updates[..])
        && x.element != Element::Bool
    {
        let v = if kind == Recognised::Of("add") {
            Some(v.clone())
        } else {
            super::run::unary("negate", v).map_err(failed)?
        };
        let Some(v) = v else { return Err(failed("numbers are needed".into())) };
        let indices = dropped(&to);
        let put = |x: &T, v: &T| x.clone().scatter_add(&indices, v);
        let im = x.im.as_ref().map(|im| put(im, &v.imaginary()));
        let sum = ImportedValue { element: x.element, re: put(&x.re, &v.re), im, range: None };
        let sum = super::numbers::rounded(super::numbers::wrapped(sum, None));
        return Ok(vec![sum.permuted(&back)]);
    }
    // One index for each update, and the subarrays as rows.
    let count = size(&space);
    let rows = size(&outer);
    let row = size(&rest);
    let line = linear(&to, &outer, count);
    let operands: Vec<ImportedValue<T>> = operands.iter().map(|x| x.reshaped(&[rows, row])).collect();
    let mut updates: Vec<ImportedValue<T>> = updates.iter().map(|v| v.reshaped(&[count, row])).collect();
    let unique = op.flag("unique_indices") || count == 1;
    let mut places = line;
    if !unique {
        let order = T::discrete(&Discrete::ArgSort { axis: 0, descending: false }, &[&places]);
        places = places.gather(std::slice::from_ref(&order));
        updates = updates.iter().map(|v| v.map(|y| y.gather(std::slice::from_ref(&order)))).collect();
        if kind != Recognised::Second {
            updates = scanned(reader, op, &places, updates)?;
        }
        places = last_of_each(&places, count);
    }
    if kind != Recognised::Second {
        let old: Vec<ImportedValue<T>> = operands
            .iter()
            .map(|x| ImportedValue { range: None, ..x.map(|y| y.gather(std::slice::from_ref(&places))) })
            .collect();
        updates = reader.lifted(&op.regions[0], old.into_iter().chain(updates).collect(), op)?;
    }
    let ones = full::<T>(&[count], DType::I64, 1);
    let hits = full::<T>(&[rows], DType::I64, 0).scatter_add(std::slice::from_ref(&places), &ones);
    let hit = super::value::not_zero(&hits).linear(&Linear::replicate(&[rows, row], &[0]));
    let results = operands.iter().zip(&updates).map(|(x, v)| {
        let im = x.im.as_ref().map(|im| written(im, &v.imaginary(), &places, &hit));
        let found = ImportedValue { element: x.element, re: written(&x.re, &v.re, &places, &hit), im, range: None };
        let shape = shape_of(outer.iter().chain(rest.iter()).copied());
        found.reshaped(&shape).permuted(&back)
    });
    Ok(results.collect())
}

/// The indices, out of bounds for windows that are left out.
fn dropped<T: BaseTensor>(to: &Targets<T>) -> Vec<T> {
    let Some(inside) = &to.inside else { return to.indices.clone() };
    to.indices.iter().map(|i| T::select(inside, i, &int_like(i, -1))).collect()
}

/// The number of the row that each update goes to; -1 for none.
fn linear<T: BaseTensor>(to: &Targets<T>, outer: &[usize], count: usize) -> T {
    let Some(first) = to.indices.first() else { return full(&[count], DType::I64, 0) };
    let mut inside = to.inside.clone().unwrap_or_else(|| full(first.shape(), DType::Bool, 1));
    let mut all = int_like(first, 0);
    for (index, n) in to.indices.iter().zip(outer) {
        let fits = and(
            &compare(Compare::Ge, index, &int_like(index, 0)),
            &compare(Compare::Lt, index, &int_like(index, *n as i64)),
        );
        inside = and(&inside, &fits);
        all = ints(IntBinary::Add, &ints(IntBinary::Mul, &all, &int_like(index, *n as i64)), index);
    }
    let found = T::select(&inside, &all, &int_like(&all, -1));
    found.linear(&Linear::reshape(found.shape(), &[count]))
}

/// Row `k - by` in row `k`; zeros in the first ones.
fn later<T: BaseTensor>(x: &T, by: usize) -> T {
    let mut before = vec![0; x.shape().len()];
    before[0] = by;
    let n = x.shape()[0];
    let cut = x.linear(&Linear::slice(x.shape(), 0, 0, n - by, 1));
    cut.linear(&Linear::pad(cut.shape(), &before, &vec![0; before.len()]))
}

/// Each update combined with those before it at the same place, which lie next to it.
fn scanned<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    places: &T,
    updates: Vec<ImportedValue<T>>,
) -> ModuleRun<Vec<ImportedValue<T>>> {
    let mut updates = updates;
    let n = places.shape()[0];
    let mut by = 1;
    while by < n {
        let before: Vec<ImportedValue<T>> =
            updates.iter().map(|v| ImportedValue { range: None, ..v.map(|y| later(y, by)) }).collect();
        let moved = later(&super::value::int_with(IntBinary::Add, places, 2), by);
        let same = compare(Compare::Eq, &moved, &super::value::int_with(IntBinary::Add, places, 2));
        let same = same.linear(&Linear::replicate(updates[0].shape(), &[0]));
        let both = reader.lifted(&op.regions[0], before.into_iter().chain(updates.iter().cloned()).collect(), op)?;
        let pick = |(new, old): (ImportedValue<T>, &ImportedValue<T>)| {
            let im = old.im.as_ref().map(|im| T::select(&same, &new.imaginary(), im));
            ImportedValue { element: old.element, re: T::select(&same, &new.re, &old.re), im, range: None }
        };
        updates = both.into_iter().zip(&updates).map(pick).collect();
        by *= 2;
    }
    Ok(updates)
}

/// The places of the last update of each, which are in order; -1 for the others.
fn last_of_each<T: BaseTensor>(places: &T, n: usize) -> T {
    let next = places.linear(&Linear::slice(&[n], 0, 1, n - 1, 1));
    let next = T::concat(0, &[next, full(&[1], DType::I64, -2)]);
    let ends = not(&compare(Compare::Eq, places, &next));
    T::select(&ends, places, &int_like(places, -1))
}

/// Rows replaced at the places, one at each.
fn written<T: BaseTensor>(x: &T, v: &T, places: &T, hit: &T) -> T {
    if x.dtype() == DType::Bool {
        let [x, v] = [x, v].map(|y| T::discrete(&Discrete::ToInt, &[y]));
        return super::value::not_zero(&written(&x, &v, places, hit));
    }
    let new = T::zeros(x.shape(), x.dtype()).scatter_add(std::slice::from_ref(places), v);
    T::select(hit, &new, x)
}
