//! Reductions along axes, by any function.
//!
//! Law: sums, and the largest and the smallest elements are the operations of the language. Other functions combine
//! neighbours, level by level, in logarithmically many steps; StableHLO asks for associative functions.

use super::module::{ModuleOperation, RegionBlock};
use super::run::{Failed, ModuleRun, Reader};
use super::shaped::{axes, concatenated, distinct};
use super::types::Element;
use super::value::{Imported, ImportedValue, need, not_zero, shape_of};
use crate::base::BaseTensor;
use crate::ops::{Discrete, Linear, Reduce};
use crate::shape::size;

/// What a region of two scalars computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recognised<'a> {
    /// This operation of both.
    Of(&'a str),
    /// The second one.
    Second,
    /// Another function.
    Other,
}

/// Whether a region is one operation of its arguments, in either order if that does not matter.
pub(super) fn recognised(block: &RegionBlock) -> Recognised<'_> {
    let (&[a, b], &[result]) = (&block.arguments[..], &block.results[..]) else { return Recognised::Other };
    match &block.operations[..] {
        [] if result == b => Recognised::Second,
        [op] if op.first == result && op.types.len() == 1 => {
            let commutes =
                matches!(op.name.as_str(), "add" | "multiply" | "maximum" | "minimum" | "and" | "or" | "xor");
            let fits = op.operands == [a, b] || commutes && op.operands == [b, a];
            if fits { Recognised::Of(&op.name) } else { Recognised::Other }
        }
        _ => Recognised::Other,
    }
}

/// The function of a reduction: a name, or its region.
pub(super) fn function(op: &ModuleOperation) -> Recognised<'_> {
    match (op.words("applies"), &op.regions[..]) {
        (Some(name), []) => Recognised::Of(name),
        (_, [region]) => recognised(region),
        _ => Recognised::Other,
    }
}

/// A function of two tuples of arrays, elementwise.
pub(super) fn combined<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    a: &[ImportedValue<T>],
    b: &[ImportedValue<T>],
) -> ModuleRun<Vec<ImportedValue<T>>> {
    let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
    if let (Recognised::Of(name), [x], [y]) = (function(op), a, b) {
        let found = super::run::binary(name, x, y).map_err(failed)?;
        if let Some(found) = found {
            return Ok(vec![found]);
        }
    }
    let Some(region) = op.regions.first() else { return Err(failed("a function that is not read".into())) };
    reader.lifted(region, a.iter().chain(b).cloned().collect(), op)
}

/// The result of an operation of this family; `None` if it belongs to another.
pub(super) fn run<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
) -> Option<ModuleRun<Vec<ImportedValue<T>>>> {
    match op.name.as_str() {
        "reduce" => Some(reduce(reader, op, x)),
        "map" => Some(match op.regions.first() {
            Some(region) => reader.lifted(region, x.to_vec(), op),
            None => Err(Failed { at: op.at, operation: op.name.clone(), what: "it needs a region".into() }),
        }),
        "scatter" => super::scatter::run(reader, op, x),
        _ => None,
    }
}

/// The operands of a reduction and their starts.
#[allow(clippy::type_complexity, reason = "two slices, with the error of a text")]
pub(super) fn halves<T: BaseTensor>(x: &[ImportedValue<T>]) -> Imported<(&[ImportedValue<T>], &[ImportedValue<T>])> {
    need(x.len().is_multiple_of(2) && !x.is_empty(), || "it needs as many starts as operands".into())?;
    let (values, inits) = x.split_at(x.len() / 2);
    let alike = |(v, i): (&ImportedValue<T>, &ImportedValue<T>)| {
        v.shape() == values[0].shape() && i.shape().is_empty() && v.element == i.element
    };
    need(values.iter().zip(inits).all(alike), || {
        "the operands must have one shape, and a scalar of their element type each".into()
    })?;
    Ok((values, inits))
}

fn reduce<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
) -> ModuleRun<Vec<ImportedValue<T>>> {
    let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
    let (values, inits) = halves(x).map_err(failed)?;
    let mut along = axes(op, "dimensions", values[0].shape().len()).map_err(failed)?;
    need(distinct(&along), || "`dimensions` must name axes once".into()).map_err(failed)?;
    along.sort_unstable();
    let done = match (function(op), values) {
        (Recognised::Of(name), [x]) => known(name, x, &along),
        _ => None,
    };
    let results = match done {
        Some(found) => vec![found],
        None => {
            let rest: Vec<usize> = (0..values[0].shape().len()).filter(|k| !along.contains(k)).collect();
            let order: Vec<usize> = along.iter().chain(&rest).copied().collect();
            let n = along.iter().map(|k| values[0].shape()[*k]).product();
            let inner = shape_of(rest.iter().map(|k| values[0].shape()[*k]));
            let rows: Vec<ImportedValue<T>> =
                values.iter().map(|x| x.permuted(&order).reshaped(&[&[n], &inner[..]].concat())).collect();
            if n == 0 || size(&inner) == 0 {
                return Ok(inits.iter().map(|i| i.replicated(&inner, &[])).collect());
            }
            neighbours(reader, op, rows)?
        }
    };
    with_start(reader, op, results, inits)
}

/// Results combined with the starts, unless these change nothing.
pub(super) fn with_start<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    results: Vec<ImportedValue<T>>,
    inits: &[ImportedValue<T>],
) -> ModuleRun<Vec<ImportedValue<T>>> {
    if let (Recognised::Of(name), [init]) = (function(op), inits)
        && is_neutral(name, init)
    {
        return Ok(results);
    }
    let inits: Vec<ImportedValue<T>> = inits.iter().zip(&results).map(|(i, r)| i.replicated(r.shape(), &[])).collect();
    combined(reader, op, &inits, &results)
}

/// Whether a function of this scalar and another gives the other.
pub(super) fn is_neutral<T: BaseTensor>(name: &str, init: &ImportedValue<T>) -> bool {
    if init.element.is_complex() {
        return false;
    }
    if !init.element.is_float() {
        let limits = init.element.limits().unwrap_or((i64::MIN, i64::MAX));
        return match (name, init.known()) {
            ("add" | "or" | "xor", Some(0)) => true,
            ("multiply", Some(1)) => true,
            ("maximum", Some(n)) => n == limits.0 && init.element != (Element::Int { bits: 64, signed: false }),
            ("minimum", Some(n)) => n == limits.1 && init.element != (Element::Int { bits: 64, signed: false }),
            ("and", Some(n)) => init.element == Element::Bool && n == 1 || n == -1,
            _ => false,
        };
    }
    let Some(c) = init.re.peek() else { return false };
    let c = c.item::<f64>().ok().or_else(|| c.item::<f32>().ok().map(f64::from));
    match (name, c) {
        ("add", Some(c)) => c == 0.0,
        ("multiply", Some(c)) => c == 1.0,
        ("maximum", Some(c)) => c == f64::NEG_INFINITY,
        ("minimum", Some(c)) => c == f64::INFINITY,
        _ => false,
    }
}

/// A reduction that the language has.
pub(super) fn known<T: BaseTensor>(name: &str, x: &ImportedValue<T>, along: &[usize]) -> Option<ImportedValue<T>> {
    let sum = |y: &T| y.linear(&Linear::sum(y.shape(), along));
    if x.element == Element::Bool {
        let count = |mask: &T| sum(&T::discrete(&Discrete::ToInt, &[mask]));
        return Some(match name {
            "or" | "maximum" | "add" => ImportedValue::real(Element::Bool, not_zero(&count(&x.re))),
            "and" | "minimum" | "multiply" => {
                ImportedValue::real(Element::Bool, super::value::not(&not_zero(&count(&super::value::not(&x.re)))))
            }
            "xor" => {
                let odd = super::value::int_with(crate::ops::IntBinary::BitAnd, &count(&x.re), 1);
                ImportedValue::real(Element::Bool, not_zero(&odd))
            }
            _ => return None,
        });
    }
    if name == "add" {
        let found = ImportedValue { element: x.element, re: sum(&x.re), im: x.im.as_ref().map(sum), range: None };
        let n = along.iter().fold(1i128, |n, k| n.saturating_mul(x.shape()[*k] as i128));
        let (lo, hi) = x.bounds();
        let range = x.element.is_int().then(|| (i128::from(lo).saturating_mul(n), i128::from(hi).saturating_mul(n)));
        return Some(super::numbers::rounded(super::numbers::wrapped(found, range)));
    }
    let largest = match name {
        "maximum" => true,
        "minimum" => false,
        _ => return None,
    };
    let hidden = x.element == Element::Int { bits: 64, signed: false } && x.bounds().0 < 0;
    if x.element.is_complex() || hidden || along.iter().any(|k| x.shape()[*k] == 0) {
        return None;
    }
    let of =
        |y: T, axis: &usize| y.reduce(if largest { Reduce::Max { axis: *axis } } else { Reduce::Min { axis: *axis } });
    Some(ImportedValue { element: x.element, re: along.iter().rev().fold(x.re.clone(), of), im: None, range: x.range })
}

/// All rows combined, each with its neighbour, until one remains.
pub(super) fn neighbours<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    rows: Vec<ImportedValue<T>>,
) -> ModuleRun<Vec<ImportedValue<T>>> {
    let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
    let mut rows = rows;
    loop {
        let n = rows[0].shape()[0];
        if n == 1 {
            return Ok(rows.iter().map(|x| x.reshaped(&x.shape()[1..])).collect());
        }
        let every = |start: usize| -> Vec<ImportedValue<T>> {
            rows.iter().map(|x| x.map(|y| y.linear(&Linear::slice(y.shape(), 0, start, n / 2, 2)))).collect()
        };
        let mut next = combined(reader, op, &every(0), &every(1))?;
        if n % 2 == 1 {
            for (x, all) in rows.iter().zip(&mut next) {
                let last = x.map(|y| y.linear(&Linear::slice(y.shape(), 0, n - 1, 1, 1)));
                *all = concatenated(0, &[all.clone(), last]).map_err(failed)?;
            }
        }
        rows = next;
    }
}
