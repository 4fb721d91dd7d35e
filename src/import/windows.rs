//! Reductions of windows, and what they select.
//!
//! Law: sums of windows are one linear operation, and prefix sums where the windows are prefixes; the largest and the
//! smallest elements are taken along one axis after the other; other functions combine the positions of the window.

use super::module::ModuleOperation;
use super::reductions::{Recognised, function, halves, is_neutral, known, neighbours, recognised, with_start};
use super::run::{Failed, ModuleRun, Reader};
use super::shaped::pad;
use super::types::Element;
use super::value::{Imported, ImportedValue, int_with, ints, iota, need, shape_of};
use crate::base::BaseTensor;
use crate::ops::{Compare, IntBinary, Linear, View};
use crate::shape::{MAX_RANK, is_possible, size};

/// The windows of an operand.
#[derive(Clone)]
struct Windows {
    sizes: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    /// Gaps between the elements of the operand, plus one.
    spread: Vec<i64>,
    low: Vec<i64>,
    high: Vec<i64>,
    /// The number of windows along each axis.
    counts: Vec<usize>,
}

impl Windows {
    fn of(op: &ModuleOperation, shape: &[usize]) -> Imported<Windows> {
        let rank = shape.len();
        let all = |name: &str| -> Imported<Vec<i64>> {
            let found = op.ints(name).unwrap_or_else(|| vec![1; rank]);
            need(found.len() == rank && found.iter().all(|n| (1..=1 << 40).contains(n)), || {
                format!("`{name}` must be a positive number for each axis")
            })?;
            Ok(found)
        };
        let sizes = all("window_dimensions")?;
        let (strides, dilations) = (all("window_strides")?, all("window_dilations")?);
        let spread = all("base_dilations")?;
        let padding = op.ints("padding").unwrap_or_else(|| vec![0; 2 * rank]);
        need(padding.len() == 2 * rank && padding.iter().all(|p| p.abs() < 1 << 40), || {
            "`padding` must be two numbers for each axis".into()
        })?;
        let (low, high): (Vec<i64>, Vec<i64>) = (0..rank).map(|k| (padding[2 * k], padding[2 * k + 1])).unzip();
        let mut counts = Vec::new();
        for k in 0..rank {
            let n = shape[k] as i128;
            let whole = (n - 1).max(0) * i128::from(spread[k]) + n.min(1) + i128::from(low[k]) + i128::from(high[k]);
            let wide = (i128::from(sizes[k]) - 1) * i128::from(dilations[k]) + 1;
            counts.push(if whole < wide { 0 } else { ((whole - wide) / i128::from(strides[k]) + 1) as usize });
        }
        need(is_possible(&counts), || "no array can be as large as the result".into())?;
        let size = |all: &[i64]| all.iter().map(|n| *n as usize).collect::<Vec<_>>();
        Ok(Windows {
            sizes: size(&sizes),
            strides: size(&strides),
            dilations: size(&dilations),
            spread,
            low,
            high,
            counts,
        })
    }

    /// The view of all windows: positions of windows, then those within; padding is outside.
    fn view(&self, shape: &[usize], low: &[i64]) -> Imported<View> {
        let rank = shape.len();
        let space = shape_of(self.counts.iter().chain(&self.sizes).copied());
        need(2 * rank <= MAX_RANK && is_possible(&space), || "no array can hold all windows".into())?;
        let mut matrix = vec![0; rank * 2 * rank];
        for k in 0..rank {
            // A step along an axis of one position does not count.
            let step = |n: usize, by: usize| if n > 1 { by as i64 } else { 1 };
            matrix[k * 2 * rank + k] = step(self.counts[k], self.strides[k]);
            matrix[k * 2 * rank + rank + k] = step(self.sizes[k], self.dilations[k]);
        }
        let offset: Vec<i64> = low.iter().map(|n| -n).collect();
        View::try_affine(shape, &space, &matrix, &offset)
    }
}

/// The result of an operation of this family; `None` if it belongs to another.
pub(super) fn run<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
) -> Option<ModuleRun<Vec<ImportedValue<T>>>> {
    match op.name.as_str() {
        "reduce_window" => Some(reduce_window(reader, op, x)),
        "select_and_scatter" => {
            Some(select_and_scatter(op, x).map_err(|what| Failed { at: op.at, operation: op.name.clone(), what }))
        }
        _ => None,
    }
}

fn reduce_window<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
) -> ModuleRun<Vec<ImportedValue<T>>> {
    let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
    let (values, inits) = halves(x).map_err(failed)?;
    let mut w = Windows::of(op, values[0].shape()).map_err(failed)?;
    if size(&w.counts) == 0 {
        return Ok(inits.iter().map(|i| i.replicated(&w.counts, &[])).collect());
    }
    let name = if let Recognised::Of(name) = function(op) { name } else { "" };
    let neutral = values.len() == 1 && is_neutral(name, &inits[0]);
    // Gaps between elements have the start, which the function may see.
    let values = spread(values, inits, &mut w).map_err(failed)?;
    if let (true, [x]) = (neutral, &values[..]) {
        if let Some(found) = prefixes(name, x, &w) {
            return Ok(vec![found]);
        }
        if name == "add" && x.element != Element::Bool {
            let rank = w.counts.len();
            let from = w.view(x.shape(), &w.low).map_err(failed)?;
            let into = View::axes(from.shape(), &(0..rank).collect::<Vec<_>>());
            let op = Linear::affine(from, into);
            let found = ImportedValue { range: None, ..x.map(|y| y.linear(&op)) };
            return Ok(vec![super::numbers::rounded(super::numbers::wrapped(found, None))]);
        }
    }
    let padded: Imported<Vec<ImportedValue<T>>> =
        values.iter().zip(inits).map(|(x, i)| pad(x, i, &w.low, &w.high, &vec![0; w.low.len()])).collect();
    let padded = padded.map_err(failed)?;
    if let (true, "maximum" | "minimum", [x]) = (neutral, name, &padded[..])
        && x.element != Element::Bool
    {
        let along = |x: ImportedValue<T>, k: usize| {
            let mut one = alone(&w, k, x.shape());
            one.counts[k] = w.counts[k];
            let view = one.view(x.shape(), &vec![0; x.shape().len()])?;
            let rank = x.shape().len();
            let windows = x.map(|y| y.linear(&Linear::read(view.clone())));
            let shape = shape_of(windows.shape()[..rank].iter().copied().chain([one.sizes[k]]));
            known(name, &windows.reshaped(&shape), &[rank]).ok_or_else(|| "numbers are needed".to_owned())
        };
        let found = (0..w.counts.len()).filter(|k| w.sizes[*k] > 1 || w.strides[*k] > 1).try_fold(x.clone(), along);
        return Ok(vec![found.map_err(failed)?]);
    }
    // The positions within a window as rows.
    let rank = w.counts.len();
    let view = w.view(padded[0].shape(), &vec![0; rank]).map_err(failed)?;
    let order: Vec<usize> = (rank..2 * rank).chain(0..rank).collect();
    let rows = shape_of([w.sizes.iter().product()].into_iter().chain(w.counts.iter().copied()));
    let windows =
        padded.iter().map(|x| x.map(|y| y.linear(&Linear::read(view.clone()))).permuted(&order).reshaped(&rows));
    let found = neighbours(reader, op, windows.collect())?;
    with_start(reader, op, found, inits)
}

/// The windows along one axis alone.
fn alone(w: &Windows, axis: usize, shape: &[usize]) -> Windows {
    let only = |all: &[usize], otherwise: usize| {
        (0..all.len()).map(|k| if k == axis { all[k] } else { otherwise }).collect::<Vec<_>>()
    };
    Windows {
        sizes: only(&w.sizes, 1),
        strides: only(&w.strides, 1),
        dilations: only(&w.dilations, 1),
        counts: shape.to_vec(),
        ..w.clone()
    }
}

/// Elements with the start between them, where windows ask for gaps.
fn spread<T: BaseTensor>(
    values: &[ImportedValue<T>],
    inits: &[ImportedValue<T>],
    w: &mut Windows,
) -> Imported<Vec<ImportedValue<T>>> {
    if w.spread.iter().all(|n| *n == 1) {
        return Ok(values.to_vec());
    }
    let inside: Vec<i64> = w.spread.iter().map(|n| n - 1).collect();
    let none = vec![0; inside.len()];
    w.spread.fill(1);
    values.iter().zip(inits).map(|(x, i)| pad(x, i, &none, &none, &inside)).collect()
}

/// Windows that are the prefixes, or the suffixes, along one axis.
fn prefixes<T: BaseTensor>(name: &str, x: &ImportedValue<T>, w: &Windows) -> Option<ImportedValue<T>> {
    let shape = x.shape();
    let moving: Vec<usize> = (0..shape.len()).filter(|k| w.sizes[*k] != 1).collect();
    let &[axis] = &moving[..] else { return None };
    let n = shape[axis];
    let plain = w.counts == shape && w.sizes[axis] == n && w.dilations[axis] == 1 && w.strides.iter().all(|s| *s == 1);
    let reverse = match (w.low[axis], w.high[axis]) {
        _ if !plain => return None,
        (low, 0) if low == n as i64 - 1 => false,
        (0, high) if high == n as i64 - 1 => true,
        _ => return None,
    };
    if x.element == Element::Bool || x.element.is_complex() && name != "add" {
        return None;
    }
    match name {
        "add" => {
            let sums = |y: &T| {
                let op = Linear::prefix_sum(y.shape(), axis);
                y.linear(&if reverse { op.adjoint() } else { op })
            };
            let found = ImportedValue { range: None, ..x.map(sums) };
            Some(super::numbers::rounded(super::numbers::wrapped(found, None)))
        }
        "maximum" | "minimum" if x.element.is_float() => {
            let op = crate::ops::Discrete::PrefixArg { axis, largest: name == "maximum", reverse };
            let places = T::discrete(&op, &[&x.re]);
            let indices: Vec<T> =
                (0..shape.len()).map(|k| if k == axis { places.clone() } else { iota(shape, k) }).collect();
            Some(ImportedValue { element: x.element, re: x.re.gather(&indices), im: None, range: None })
        }
        _ => None,
    }
}

/// Each source is added where its window has the selected element: the first of the largest, or of the smallest.
fn select_and_scatter<T: BaseTensor>(op: &ModuleOperation, x: &[ImportedValue<T>]) -> Imported<Vec<ImportedValue<T>>> {
    let [x, source, init] = x else { return Err("it needs an operand, a source and a start".into()) };
    let [select, scatter] = &op.regions[..] else { return Err("it needs two regions".into()) };
    let direction = match &select.operations[..] {
        [compare] if compare.name == "compare" && compare.operands == select.arguments => {
            super::run::direction(compare)?
        }
        _ => return Err("its selection must be one comparison".into()),
    };
    need(recognised(scatter) == Recognised::Of("add"), || "its scatter must be a sum".into())?;
    need(x.element == source.element && x.element == init.element && init.shape().is_empty(), || {
        "the operands must have one element type".into()
    })?;
    need(x.element.is_float() || x.element.is_int(), || "the operand must be numbers".into())?;
    let largest = match direction {
        Compare::Ge | Compare::Gt => true,
        Compare::Le | Compare::Lt => false,
        Compare::Eq | Compare::Ne => return Err("its selection must be an order".into()),
    };
    let w = Windows::of(op, x.shape())?;
    need(w.counts[..] == *source.shape(), || "the source must have an element for each window".into())?;
    let rank = w.counts.len();
    // Where a window is outside of the operand, nothing is selected.
    let worst = match x.element.limits() {
        Some((least, most)) => ImportedValue::whole(x.element, &[], if largest { least } else { most }),
        None => {
            let worst = if largest { f64::NEG_INFINITY } else { f64::INFINITY };
            ImportedValue::real(x.element, super::value::like(&T::zeros(&[], x.re.dtype()), worst))
        }
    };
    let padded = pad(x, &worst, &w.low, &w.high, &vec![0; rank])?;
    let view = w.view(padded.shape(), &vec![0; rank])?;
    let (count, wide): (usize, usize) = (size(&w.counts), w.sizes.iter().product());
    let windows = padded
        .re
        .linear(&Linear::read(view))
        .linear(&Linear::reshape(&shape_of(w.counts.iter().chain(&w.sizes).copied()), &[count, wide]));
    let axis = 1;
    let arg = if largest { crate::ops::Discrete::ArgMax { axis } } else { crate::ops::Discrete::ArgMin { axis } };
    let place = T::discrete(&arg, &[&windows]).linear(&Linear::reshape(&[count], &w.counts));
    // The position in the operand along each axis.
    let mut rest = place;
    let mut indices = vec![None; rank];
    for k in (0..rank).rev() {
        let width = w.sizes[k] as i64;
        let within = int_with(IntBinary::Rem, &rest, width);
        rest = int_with(IntBinary::Quot, &rest, width);
        let start = int_with(IntBinary::Mul, &iota::<T>(&w.counts, k), w.strides[k] as i64);
        let at = ints(IntBinary::Add, &start, &int_with(IntBinary::Mul, &within, w.dilations[k] as i64));
        indices[k] = Some(int_with(IntBinary::Sub, &at, w.low[k]));
    }
    let indices: Vec<T> = indices.into_iter().flatten().collect();
    let base = init.replicated(x.shape(), &[]);
    let found = ImportedValue::real(x.element, base.re.scatter_add(&indices, &source.re));
    Ok(vec![super::numbers::rounded(super::numbers::wrapped(found, None))])
}
