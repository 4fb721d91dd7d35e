//! Sorting by a comparator, and the largest elements.
//!
//! Law: a comparator that says `a < b` or `a > b` of one operand, or of several in turn, is the sort of the language.
//! Others count for each element those before it: a number of steps with the square of the length.

use super::module::{ModuleOperation, ModuleValueId, RegionBlock};
use super::run::{Failed, ModuleRun, Reader, direction};
use super::shaped::axis_of;
use super::types::Element;
use super::value::{Imported, ImportedValue, and, compare, full, int_with, ints, iota, like, need, not, or, stopped};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Compare, Discrete, IntBinary, Linear};

/// The longest line that is sorted by a comparator that is not recognised.
const LONGEST: usize = 4096;

/// The result of an operation of this family; `None` if it belongs to another.
pub(super) fn run<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
) -> Option<ModuleRun<Vec<ImportedValue<T>>>> {
    let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
    match (op.name.as_str(), x) {
        ("sort", [_, ..]) => Some(sort(reader, op, x)),
        ("chlo.top_k", [x]) => Some(top_k(op, x).map_err(failed)),
        _ => None,
    }
}

/// The keys of a comparator, from the first that counts: the number of an operand, and whether larger ones come first.
fn keys(block: &RegionBlock, outside: &dyn Fn(ModuleValueId) -> Option<f64>) -> Option<Vec<(usize, bool)>> {
    let [result] = block.results[..] else { return None };
    let op_of = |id: ModuleValueId| block.operations.iter().find(|op| op.first == id && op.types.len() == 1);
    let mut found = Vec::new();
    let mut at = result;
    // `compare(LT, a, b)`, or `select(compare(EQ, a, b), the rest, compare(LT, a, b))`, or the same by `and` and `or`.
    for _ in 0..=block.arguments.len() {
        let op = op_of(at)?;
        match op.name.as_str() {
            "compare" => {
                found.push(key(block, op, outside)?);
                return Some(found);
            }
            "select" => {
                let [equal, rest, first] = op.operands[..] else { return None };
                let key = key(block, op_of(first)?, outside)?;
                is_equality(block, op_of(equal)?, key.0, outside)?;
                found.push(key);
                at = rest;
            }
            "or" => {
                let [first, both] = op.operands[..] else { return None };
                let key = key(block, op_of(first)?, outside)?;
                let both = op_of(both)?;
                let [equal, rest] = both.operands[..] else { return None };
                if both.name != "and" {
                    return None;
                }
                is_equality(block, op_of(equal)?, key.0, outside)?;
                found.push(key);
                at = rest;
            }
            _ => return None,
        }
    }
    None
}

/// The operand that a value is, as it was or with zeros and NaN made equal; and whether it is of the right side.
fn source(
    block: &RegionBlock,
    id: ModuleValueId,
    depth: usize,
    outside: &dyn Fn(ModuleValueId) -> Option<f64>,
) -> Option<(usize, bool)> {
    // A comparator has two such steps; more are not looked at.
    let depth = depth.checked_sub(1)?;
    let argument = |id: ModuleValueId| block.arguments.iter().position(|a| *a == id).map(|p| (p / 2, p % 2 == 1));
    if let Some(found) = argument(id) {
        return Some(found);
    }
    let op_of = |id: ModuleValueId| block.operations.iter().find(|op| op.first == id);
    let constant = |id: ModuleValueId| op_of(id).filter(|op| op.name == "constant");
    let is = |id: ModuleValueId, wanted: fn(f64) -> bool| {
        if let Some(c) = outside(id) {
            return wanted(c);
        }
        let Some(super::attributes::Attribute::Literal(l)) = constant(id).and_then(|op| op.attribute("value")) else {
            return false;
        };
        l.re.item::<f64>().ok().or_else(|| l.re.item::<f32>().ok().map(f64::from)).is_some_and(wanted)
    };
    // `x == 0 ? 0 : x`, then `x != x ? nan : x`.
    let op = op_of(id).filter(|op| op.name == "select")?;
    let [mask, then, otherwise] = op.operands[..] else { return None };
    let test = op_of(mask).filter(|op| op.name == "compare")?;
    let [a, b] = test.operands[..] else { return None };
    let inner = source(block, otherwise, depth, outside)?;
    let fits = match direction(test).ok()? {
        Compare::Eq => source(block, a, depth, outside)? == inner && is(b, |c| c == 0.0) && is(then, |c| c == 0.0),
        Compare::Ne => a == b && source(block, a, depth, outside)? == inner && is(then, f64::is_nan),
        _ => false,
    };
    fits.then_some(inner)
}

fn key(
    block: &RegionBlock,
    op: &ModuleOperation,
    outside: &dyn Fn(ModuleValueId) -> Option<f64>,
) -> Option<(usize, bool)> {
    let [a, b] = op.operands[..] else { return None };
    let ((first, left), (second, right)) = (source(block, a, 4, outside)?, source(block, b, 4, outside)?);
    let larger = match direction(op).ok()? {
        Compare::Lt => false,
        Compare::Gt => true,
        _ => return None,
    };
    (op.name == "compare" && first == second && left != right).then_some((first, larger != left))
}

fn is_equality(
    block: &RegionBlock,
    op: &ModuleOperation,
    of: usize,
    outside: &dyn Fn(ModuleValueId) -> Option<f64>,
) -> Option<()> {
    let [a, b] = op.operands[..] else { return None };
    let both = (source(block, a, 4, outside)?, source(block, b, 4, outside)?);
    let fits = both.0.0 == of && both.1.0 == of && both.0.1 != both.1.1;
    (op.name == "compare" && fits && direction(op).ok()? == Compare::Eq).then_some(())
}

/// Elements of lines at the positions of an order.
fn taken<T: BaseTensor>(x: &ImportedValue<T>, axis: usize, order: &T) -> ImportedValue<T> {
    let shape = order.shape().to_vec();
    let indices: Vec<T> = (0..shape.len()).map(|k| if k == axis { order.clone() } else { iota(&shape, k) }).collect();
    x.map(|y| y.gather(&indices))
}

/// The positions in order, by one key. Numbers without a sign are moved to the order of those with one.
fn order_of<T: BaseTensor>(x: &ImportedValue<T>, axis: usize, descending: bool) -> T {
    let key = match x.element {
        Element::Bool => T::discrete(&Discrete::ToInt, &[&x.re]),
        Element::Int { bits: 64, signed: false } => int_with(IntBinary::BitXor, &x.re, i64::MIN),
        _ => x.re.clone(),
    };
    T::discrete(&Discrete::ArgSort { axis, descending }, &[&key])
}

fn sort<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
) -> ModuleRun<Vec<ImportedValue<T>>> {
    let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
    let rank = x[0].shape().len();
    need(x.iter().all(|y| y.shape() == x[0].shape()) && rank > 0, || "the operands must have one shape".into())
        .map_err(failed)?;
    let axis = match op.int("dimension") {
        None | Some(-1) => rank - 1,
        _ => axis_of(op, "dimension", rank).map_err(failed)?,
    };
    let [block] = &op.regions[..] else { return Err(failed("it needs a region".into())) };
    let plain = |key: &(usize, bool)| x.get(key.0).is_some_and(|y| !y.element.is_complex());
    // NaN comes first where larger elements do, in the total order: no order of the language.
    let known = keys(block, &|id| reader.number(id)).filter(|keys| keys.iter().all(plain));
    let known = known.filter(|keys| keys.iter().all(|(k, larger)| !larger || !x[*k].element.is_float()));
    let order = match known {
        Some(keys) => {
            let mut order: Option<T> = None;
            for (k, descending) in keys.iter().rev() {
                let by = match &order {
                    Some(order) => taken(&x[*k], axis, order),
                    None => x[*k].clone(),
                };
                let next = order_of(&by, axis, *descending);
                order = Some(match order {
                    Some(before) => taken(&ImportedValue::real(Element::I64, before), axis, &next).re,
                    None => next,
                });
            }
            order
        }
        None => None,
    };
    let order = match order {
        Some(order) => order,
        None => counted(reader, op, x, axis)?,
    };
    Ok(x.iter().map(|y| taken(y, axis, &order)).collect())
}

/// The positions in order, by counting for each element those that come before it.
fn counted<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    x: &[ImportedValue<T>],
    axis: usize,
) -> ModuleRun<T> {
    let failed = |what: String| Failed { at: op.at, operation: op.name.clone(), what };
    let shape = x[0].shape();
    let n = shape[axis];
    need(n <= LONGEST, || format!("lines of more than {LONGEST} are sorted by a comparison of one operand alone"))
        .map_err(failed)?;
    let rank = shape.len();
    let wide = [shape, &[n]].concat();
    let mut of_left = Vec::new();
    for y in x {
        // Along the new axis the other element, and along the old one this one.
        let others: Vec<usize> = (0..rank).map(|k| if k == axis { rank } else { k }).collect();
        let own: Vec<usize> = (0..rank).collect();
        let [other, own] = [others, own].map(|axes| y.replicated(&wide, &axes));
        of_left.push([other, own]);
    }
    let before = |swap: bool| {
        let args = of_left.iter().flat_map(|[a, b]| if swap { [b.clone(), a.clone()] } else { [a.clone(), b.clone()] });
        let found = reader.lifted(&op.regions[0], args.collect(), op)?;
        match &found[..] {
            [mask] if mask.element == Element::Bool => Ok(mask.re.clone()),
            _ => Err(failed("its region must give a mask".into())),
        }
    };
    let (less, greater) = (before(false)?, before(true)?);
    let earlier = compare(Compare::Lt, &iota::<T>(&wide, rank), &iota(&wide, axis));
    let first = or(&less, &and(&earlier, &not(&greater)));
    let count = T::discrete(&Discrete::ToInt, &[&first]);
    let place = count.linear(&Linear::sum(&wide, &[rank]));
    Ok(T::discrete(&Discrete::ArgSort { axis, descending: false }, &[&place]))
}

/// The `k` largest elements of each line, from the largest on, and their positions.
fn top_k<T: BaseTensor>(op: &ModuleOperation, x: &ImportedValue<T>) -> Imported<Vec<ImportedValue<T>>> {
    let rank = x.shape().len();
    need(rank > 0 && !x.element.is_complex(), || "the operand must have an axis".into())?;
    let axis = rank - 1;
    let n = x.shape()[axis];
    let k = op.int("k").and_then(|k| usize::try_from(k).ok()).filter(|k| *k <= n);
    let Some(k) = k else { return Err("`k` must be at most the length of a line".into()) };
    let order = if x.element.is_float() {
        // NaN is the largest.
        let y = stopped(&x.re);
        let nan = compare(Compare::Ne, &y, &y);
        let by_size = order_of(&ImportedValue::real(x.element, T::select(&nan, &like(&y, 0.0), &y)), axis, true);
        let marks = T::discrete(&Discrete::ToInt, &[&nan]);
        let marks = taken(&ImportedValue::real(Element::I64, marks), axis, &by_size).re;
        let by_nan = T::discrete(&Discrete::ArgSort { axis, descending: true }, &[&marks]);
        taken(&ImportedValue::real(Element::I64, by_size), axis, &by_nan).re
    } else {
        order_of(x, axis, true)
    };
    let order = order.linear(&Linear::slice(x.shape(), axis, 0, k, 1));
    let element = match op.types.get(1) {
        Some(super::types::Type::Tensor { element, .. }) => *element,
        _ => Element::I32,
    };
    let order = ints(IntBinary::Add, &order, &full(order.shape(), DType::I64, 0));
    Ok(vec![taken(x, axis, &order), ImportedValue::within(element, order, 0, n as i64)])
}
