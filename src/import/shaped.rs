//! Operations that move elements, and products: broadcasts, slices, padding, contractions, convolutions.
//!
//! Law: a movement is one linear operation by a view, and a product one contraction, so that their derivatives are the
//! adjoint views.

use super::attributes::Attribute;
use super::module::ModuleOperation;
use super::run::{result_element, result_shape};
use super::types::Element;
use super::value::{Imported, ImportedValue, add, full, iota, lacks, need, shape_of, sub};
use crate::base::BaseTensor;
use crate::ops::{Contract, Linear, View};
use crate::shape::{Shape, is_possible, size};

/// Positions of an attribute, each below a bound.
pub(super) fn axes(op: &ModuleOperation, name: &str, rank: usize) -> Imported<Vec<usize>> {
    let Some(all) = op.attribute(name).map_or(Some(Vec::new()), Attribute::ints) else { return lacks(name) };
    positions(&all, rank, name)
}

pub(super) fn positions(all: &[i64], rank: usize, name: &str) -> Imported<Vec<usize>> {
    let found: Option<Vec<usize>> = all.iter().map(|a| usize::try_from(*a).ok().filter(|a| *a < rank)).collect();
    found.ok_or_else(|| format!("`{name}` must be axes below {rank}"))
}

/// Whether no number is there twice.
pub(super) fn distinct(all: &[usize]) -> bool {
    all.iter().enumerate().all(|(k, a)| !all[..k].contains(a))
}

/// Sizes that are given by an attribute or by a known operand.
fn sizes<T: BaseTensor>(of: &ImportedValue<T>) -> Imported<Shape> {
    let Some(all) = of.known_all() else { return lacks("sizes that are known when it is read") };
    let shape: Option<Shape> = all.iter().map(|n| usize::try_from(*n).ok()).collect();
    match shape {
        Some(shape) if is_possible(&shape) => Ok(shape),
        _ => lacks("sizes of an array"),
    }
}

/// The result of an operation of this family; `None` if it belongs to another.
pub(super) fn run<T: BaseTensor>(op: &ModuleOperation, x: &[ImportedValue<T>]) -> Imported<Option<ImportedValue<T>>> {
    Ok(Some(match (op.name.as_str(), x) {
        ("reshape", [x]) => reshape(x, &result_shape(op)?)?,
        ("dynamic_reshape", [x, shape]) => reshape(x, &sizes(shape)?)?,
        ("broadcast_in_dim", [x]) => broadcast(op, x, &result_shape(op)?)?,
        ("dynamic_broadcast_in_dim", [x, shape]) => broadcast(op, x, &sizes(shape)?)?,
        ("broadcast", [x]) => {
            let shape = result_shape(op)?;
            let before = shape.len().saturating_sub(x.shape().len());
            need(&shape[before..] == x.shape(), || "the operand does not fit the result".into())?;
            x.replicated(&shape, &(before..shape.len()).collect::<Vec<_>>())
        }
        ("transpose", [x]) => {
            let order = axes(op, "permutation", x.shape().len())?;
            need(order.len() == x.shape().len() && distinct(&order), || {
                "`permutation` must name each axis once".into()
            })?;
            x.permuted(&order)
        }
        ("reverse", [x]) => {
            let order = axes(op, "dimensions", x.shape().len())?;
            order.iter().fold(x.clone(), |x, axis| x.map(|y| y.linear(&Linear::reverse(y.shape(), *axis))))
        }
        ("slice", [x]) => {
            let [Some(start), Some(limit)] = ["start_indices", "limit_indices"].map(|name| op.ints(name)) else {
                return lacks("a start and an end");
            };
            let steps = op.ints("strides").unwrap_or_else(|| vec![1; start.len()]);
            slice(x, &start, &limit, &steps)?
        }
        ("real_dynamic_slice", [x, start, limit, steps]) => {
            let [Some(start), Some(limit), Some(steps)] = [start, limit, steps].map(ImportedValue::known_all) else {
                return lacks("positions that are known when it is read");
            };
            slice(x, &start, &limit, &steps)?
        }
        ("concatenate", [first, ..]) => {
            let axis = axis_of(op, "dimension", first.shape().len())?;
            concatenated(axis, x)?
        }
        ("pad", [x, value]) => {
            let [Some(low), Some(high), Some(inside)] =
                ["edge_padding_low", "edge_padding_high", "interior_padding"].map(|name| op.ints(name))
            else {
                return lacks("its three paddings");
            };
            pad(x, value, &low, &high, &inside)?
        }
        ("dynamic_pad", [x, value, low, high, inside]) => {
            let [Some(low), Some(high), Some(inside)] = [low, high, inside].map(ImportedValue::known_all) else {
                return lacks("paddings that are known when it is read");
            };
            pad(x, value, &low, &high, &inside)?
        }
        ("iota", []) => iota_of(op, &result_shape(op)?)?,
        ("dynamic_iota", [shape]) => iota_of(op, &sizes(shape)?)?,
        ("get_dimension_size", [x]) => {
            let axis = axis_of(op, "dimension", x.shape().len())?;
            ImportedValue::whole(result_element(op)?, &[], x.shape()[axis] as i64)
        }
        ("dot_general", [x, y]) => dot_general(op, x, y)?,
        ("dot", [x, y]) => {
            let (m, n) = (x.shape().len(), y.shape().len());
            need(m > 0 && n > 0, || "the operands must have axes".into())?;
            product(x, y, [&[], &[]], [&[m - 1], &[0]], result_element(op)?)?
        }
        ("convolution", [x, w]) => super::convolution::convolution(op, x, w)?,
        _ => return Ok(None),
    }))
}

pub(super) fn axis_of(op: &ModuleOperation, name: &str, rank: usize) -> Imported<usize> {
    match op.int(name).and_then(|a| usize::try_from(a).ok()) {
        Some(axis) if axis < rank => Ok(axis),
        _ => Err(format!("`{name}` must be an axis below {rank}")),
    }
}

fn reshape<T: BaseTensor>(x: &ImportedValue<T>, shape: &[usize]) -> Imported<ImportedValue<T>> {
    need(size(shape) == size(x.shape()), || "the result must have as many elements as the operand".into())?;
    Ok(x.reshaped(shape))
}

fn broadcast<T: BaseTensor>(op: &ModuleOperation, x: &ImportedValue<T>, shape: &[usize]) -> Imported<ImportedValue<T>> {
    let into = axes(op, "broadcast_dimensions", shape.len())?;
    need(into.len() == x.shape().len() && distinct(&into), || {
        "`broadcast_dimensions` must name an axis for each".into()
    })?;
    let fits = |(k, a): (usize, &usize)| x.shape()[k] == shape[*a] || x.shape()[k] == 1;
    need(into.iter().enumerate().all(fits), || "the operand does not fit the result".into())?;
    // Axes of size 1 that grow are dropped first.
    let kept: Vec<usize> = (0..into.len()).filter(|k| x.shape()[*k] == shape[into[*k]]).collect();
    let inner = shape_of(kept.iter().map(|k| x.shape()[*k]));
    let axes: Vec<usize> = kept.iter().map(|k| into[*k]).collect();
    Ok(x.reshaped(&inner).replicated(shape, &axes))
}

fn slice<T: BaseTensor>(
    x: &ImportedValue<T>,
    start: &[i64],
    limit: &[i64],
    steps: &[i64],
) -> Imported<ImportedValue<T>> {
    let rank = x.shape().len();
    need([start, limit, steps].iter().all(|all| all.len() == rank), || "it needs a range for each axis".into())?;
    let fits =
        |k: usize| 0 <= start[k] && start[k] <= limit[k] && limit[k] as u64 <= x.shape()[k] as u64 && steps[k] > 0;
    need((0..rank).all(fits), || "the ranges must lie within the operand".into())?;
    let lengths = shape_of((0..rank).map(|k| ((limit[k] - start[k]) as usize).div_ceil(steps[k] as usize)));
    if lengths[..] == *x.shape() {
        return Ok(x.clone());
    }
    let mut matrix = vec![0; rank * rank];
    for k in 0..rank {
        // The step of an axis of one element does not count.
        matrix[k * rank + k] = if lengths[k] > 1 { steps[k] } else { 1 };
    }
    let op = Linear::read(View::affine(x.shape(), &lengths, &matrix, start));
    let found = x.moved(&op);
    Ok(ImportedValue { range: x.range, ..found })
}

pub(super) fn concatenated<T: BaseTensor>(axis: usize, x: &[ImportedValue<T>]) -> Imported<ImportedValue<T>> {
    let alike = |y: &ImportedValue<T>| {
        let (a, b) = (x[0].shape(), y.shape());
        y.element == x[0].element && a.len() == b.len() && (0..a.len()).all(|k| k == axis || a[k] == b[k])
    };
    need(x.iter().all(alike), || "the operands must differ only along the axis".into())?;
    let total = x.iter().fold(0usize, |n, y| n.saturating_add(y.shape()[axis]));
    let mut shape = Shape::from_slice(x[0].shape());
    shape[axis] = total;
    need(is_possible(&shape), || "no array can be as large as the result".into())?;
    let joined = |parts: Vec<T>| T::concat(axis, &parts);
    let im = x[0].im.is_some().then(|| joined(x.iter().map(ImportedValue::imaginary).collect()));
    let bounds = x.iter().map(ImportedValue::bounds).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let range = bounds.filter(|_| x[0].element.is_int());
    Ok(ImportedValue { element: x[0].element, re: joined(x.iter().map(|y| y.re.clone()).collect()), im, range })
}

/// The operand with a value around it and between its elements; a negative width takes elements away.
pub(super) fn pad<T: BaseTensor>(
    x: &ImportedValue<T>,
    value: &ImportedValue<T>,
    low: &[i64],
    high: &[i64],
    inside: &[i64],
) -> Imported<ImportedValue<T>> {
    let rank = x.shape().len();
    need([low, high, inside].iter().all(|all| all.len() == rank), || "it needs a padding for each axis".into())?;
    need(value.element == x.element && value.shape().is_empty(), || {
        "the padding must be a scalar of the same type".into()
    })?;
    let mut shape = Shape::new();
    for (k, n) in x.shape().iter().enumerate() {
        need(inside[k] >= 0, || "interior padding must not be negative".into())?;
        let n = *n as i128;
        let between = (n - 1).max(0) * i128::from(inside[k]);
        let all = i128::from(low[k]) + n + between + i128::from(high[k]);
        let Ok(all) = usize::try_from(all.max(0)) else { return lacks("sizes of an array") };
        shape.push(all);
    }
    need(is_possible(&shape), || "no array can be as large as the result".into())?;
    if low.iter().chain(high).chain(inside).all(|n| *n == 0) {
        return Ok(x.clone());
    }
    let op = spread(x.shape(), &shape, low, inside);
    let zero = value.range == Some((0, 0))
        || value.re.peek().is_some_and(|c| c.item::<f64>().is_ok_and(is_plus_zero))
        || value.re.peek().is_some_and(|c| c.item::<f32>().is_ok_and(|c| is_plus_zero(f64::from(c))));
    let found = x.moved(&op);
    if zero && value.im.is_none() {
        return Ok(found);
    }
    let inside: T = full::<T>(x.shape(), crate::dtype::DType::I64, 1).linear(&op);
    let mask = super::value::not_zero(&inside);
    let around = value.replicated(&shape, &[]);
    let pick = |x: &T, y: &T| T::select(&mask, x, y);
    let im = found.im.as_ref().map(|im| pick(im, &around.imaginary()));
    let (a, b) = (x.bounds(), value.bounds());
    let range = x.element.is_int().then(|| (a.0.min(b.0), a.1.max(b.1)));
    Ok(ImportedValue { element: x.element, re: pick(&found.re, &around.re), im, range })
}

fn is_plus_zero(x: f64) -> bool {
    x.to_bits() == 0
}

/// The operation that puts elements into a larger array, with gaps between them.
fn spread(from: &[usize], into: &[usize], low: &[i64], inside: &[i64]) -> Linear {
    let rank = from.len();
    let mut matrix = vec![0; rank * rank];
    for k in 0..rank {
        matrix[k * rank + k] = if from[k] > 1 { inside[k] + 1 } else { 1 };
    }
    Linear::affine(View::identity(from), View::affine(into, from, &matrix, low))
}

fn iota_of<T: BaseTensor>(op: &ModuleOperation, shape: &[usize]) -> Imported<ImportedValue<T>> {
    let axis = axis_of(op, "iota_dimension", shape.len())?;
    let element = result_element(op)?;
    let last = (shape[axis] as i64 - 1).max(0);
    let counted = ImportedValue::within(Element::I64, iota::<T>(shape, axis), 0, last);
    Ok(super::integers::convert(&counted, element))
}

fn dot_general<T: BaseTensor>(
    op: &ModuleOperation,
    x: &ImportedValue<T>,
    y: &ImportedValue<T>,
) -> Imported<ImportedValue<T>> {
    let (m, n) = (x.shape().len(), y.shape().len());
    let batch = [axes(op, "lhs_batching_dims", m)?, axes(op, "rhs_batching_dims", n)?];
    let summed = [axes(op, "lhs_contracting_dims", m)?, axes(op, "rhs_contracting_dims", n)?];
    product(x, y, [&batch[0], &batch[1]], [&summed[0], &summed[1]], result_element(op)?)
}

/// A contraction of tensors of any element type; complex ones by their parts.
pub(super) fn contracted<T: BaseTensor>(
    op: &Contract,
    x: &ImportedValue<T>,
    y: &ImportedValue<T>,
    to: Element,
) -> ImportedValue<T> {
    let part = |x: &T, y: &T| T::contract(op, x, y);
    if x.element.is_complex() {
        let (a, b) = (x.imaginary(), y.imaginary());
        let re = sub(&part(&x.re, &y.re), &part(&a, &b));
        let im = add(&part(&x.re, &b), &part(&a, &y.re));
        return ImportedValue::complex(to, (re, im));
    }
    // Masks count as integers, and narrow types have the type of the result.
    let numbers = |x: &ImportedValue<T>| match (x.element, to) {
        (Element::Bool, _) => super::integers::convert(x, Element::I64),
        (_, Element::F64 | Element::F32) => super::integers::convert(x, to),
        _ => x.clone(),
    };
    let (x, y) = (numbers(x), numbers(y));
    let found = ImportedValue { element: to, re: part(&x.re, &y.re), im: None, range: None };
    match to {
        Element::Bool => ImportedValue::real(to, super::value::not_zero(&found.re)),
        Element::Int { .. } => super::numbers::wrapped(found, None),
        _ => super::numbers::rounded(found),
    }
}

fn product<T: BaseTensor>(
    x: &ImportedValue<T>,
    y: &ImportedValue<T>,
    batch: [&[usize]; 2],
    summed: [&[usize]; 2],
    to: Element,
) -> Imported<ImportedValue<T>> {
    let (s, t) = (x.shape(), y.shape());
    let pairs: Vec<(usize, usize)> =
        [batch, summed].iter().flat_map(|[a, b]| a.iter().copied().zip(b.iter().copied())).collect();
    let named: [Vec<usize>; 2] = [pairs.iter().map(|p| p.0).collect(), pairs.iter().map(|p| p.1).collect()];
    let fits = batch[0].len() == batch[1].len()
        && summed[0].len() == summed[1].len()
        && pairs.iter().all(|(i, j)| s[*i] == t[*j])
        && named.iter().all(|all| distinct(all));
    need(fits, || "its axes do not fit the operands".into())?;
    need(x.element.is_complex() == y.element.is_complex() && x.element.is_float() == y.element.is_float(), || {
        "the operands must have one type".into()
    })?;
    let mut space = Shape::new();
    let (mut a, mut b) = (vec![0; s.len()], vec![0; t.len()]);
    for (i, j) in batch[0].iter().zip(batch[1]) {
        (a[*i], b[*j]) = (space.len(), space.len());
        space.push(s[*i]);
    }
    for (of, sizes, named) in [(&mut a, s, &named[0]), (&mut b, t, &named[1])] {
        for k in (0..sizes.len()).filter(|k| !named.contains(k)) {
            of[k] = space.len();
            space.push(sizes[k]);
        }
    }
    let out: Vec<usize> = (0..space.len()).collect();
    need(is_possible(&space), || "no array can be as large as the result".into())?;
    for (i, j) in summed[0].iter().zip(summed[1]) {
        (a[*i], b[*j]) = (space.len(), space.len());
        space.push(s[*i]);
    }
    need(space.len() <= crate::shape::MAX_RANK, || "it has too many axes".into())?;
    Ok(contracted(&Contract::axes(&space, &a, &b, &out), x, y, to))
}
