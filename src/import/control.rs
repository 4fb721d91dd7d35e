//! Control: calls, conditionals, loops, tuples.
//!
//! Law: a loop that counts is one loop of the language with as many trips: carries that do not change are captured, the
//! counter is a sequence, and a carry that is filled row by row is an output. Any other loop is a loop with a condition.

use super::attributes::Attribute;
use super::flow::{Affine, Flow, look};
use super::matrices;
use super::module::{ModuleOperation, RegionBlock};
use super::run::{Bindings, Failed, ModuleRun, Reader};
use super::types::Element;
use super::value::{Imported, ImportedValue, Item, compare, full, int_like, int_with, need};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Compare, Discrete, IntBinary, Linear};
use crate::program::cond::decided;
use crate::shape::Shape;

fn failed(op: &ModuleOperation, what: impl Into<String>) -> Failed {
    Failed { at: op.at, operation: op.name.clone(), what: what.into() }
}

/// The results of an operation of this family; `None` if it belongs to another.
pub(super) fn run<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    env: &mut Bindings<T>,
) -> Option<ModuleRun<Vec<Item<T>>>> {
    Some(match op.name.as_str() {
        "call" => items(op, env).and_then(|args| call(reader, op, args)),
        "composite" => items(op, env).and_then(|args| composite(reader, op, args)),
        "tuple" => items(op, env).map(|items| vec![Item::Tuple(items)]),
        "get_tuple_element" => items(op, env).and_then(|args| element(op, args)),
        "after_all" | "create_token" => Ok(vec![Item::Token]),
        // One device runs.
        "partition_id" | "replica_id" => {
            Ok(vec![Item::Tensor(ImportedValue::whole(Element::Int { bits: 32, signed: false }, &[], 0))])
        }
        "if" | "case" => branches(reader, op, env),
        "while" => while_loop(reader, op, env),
        "custom_call" if op.words("call_target_name") == Some("shape_assertion") => {
            items(op, env).and_then(|args| asserted(op, &args))
        }
        "custom_call" => match matrices::reflections(op, &items(op, env).ok()?)? {
            Ok(found) => Ok(found),
            Err(what) => Err(failed(op, what)),
        },
        "dynamic_update_slice" => {
            let slot = op.operands.first().and_then(|id| env[*id as usize].clone());
            let Some(Item::Slot) = slot else { return None };
            row(op, env)
        }
        _ => return None,
    })
}

fn items<T: BaseTensor>(op: &ModuleOperation, env: &Bindings<T>) -> ModuleRun<Vec<Item<T>>> {
    let all: Option<Vec<Item<T>>> = op.operands.iter().map(|id| env[*id as usize].clone()).collect();
    all.ok_or_else(|| failed(op, "an operand without its operation"))
}

fn call<T: BaseTensor>(reader: &Reader<'_, T>, op: &ModuleOperation, args: Vec<Item<T>>) -> ModuleRun<Vec<Item<T>>> {
    let callee = op.callee().and_then(|name| reader.module.by_name.get(name));
    let Some(k) = callee else { return Err(failed(op, "a function that does not exist")) };
    let function = &reader.module.functions[*k];
    if args.len() != function.inputs.len() {
        return Err(failed(op, format!("the function takes {} values: gets {}", function.inputs.len(), args.len())));
    }
    for (arg, (_, ty)) in args.iter().zip(&function.inputs) {
        if !arg.fits(ty, &reader.lift) {
            return Err(failed(op, format!("an argument must be {ty}: it is {}", arg.words())));
        }
    }
    reader.function(*k, args)
}

/// A function with a name: the operation of this name, or what it is composed of.
fn composite<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    args: Vec<Item<T>>,
) -> ModuleRun<Vec<Item<T>>> {
    let name = op.words("name").unwrap_or_default();
    if name.starts_with("chlo.") {
        let held: Imported<Vec<ImportedValue<T>>> = args.iter().map(|item| item.tensor().cloned()).collect();
        let held = held.map_err(|what| failed(op, what))?;
        let attributes = match op.attribute("composite_attributes") {
            Some(Attribute::Dict(all)) => all.clone(),
            _ => Vec::new(),
        };
        let inner = ModuleOperation { name: name.to_owned(), attributes, regions: Vec::new(), ..op.clone() };
        if let Some(found) = reader.named(&inner, &held)? {
            return Ok(found.into_iter().map(Item::Tensor).collect());
        }
    }
    call(reader, op, args)
}

/// A condition on sizes, which JAX writes where they are open: a mask, and the numbers of its message.
fn asserted<T: BaseTensor>(op: &ModuleOperation, args: &[Item<T>]) -> ModuleRun<Vec<Item<T>>> {
    let Some(Item::Tensor(mask)) = args.first() else { return Err(failed(op, "it needs a mask")) };
    match (mask.known(), op.words("error_message")) {
        (Some(0), words) => {
            let words = words.unwrap_or_default();
            Err(failed(op, format!("the sizes of the arguments do not fit: {}", crate::escape::quoted(words))))
        }
        (Some(_), _) => Ok(Vec::new()),
        (None, _) => Err(failed(op, "it needs sizes that are known when it is read")),
    }
}

fn element<T: BaseTensor>(op: &ModuleOperation, args: Vec<Item<T>>) -> ModuleRun<Vec<Item<T>>> {
    let place = op.int("index").and_then(|n| usize::try_from(n).ok());
    match (&args[..], place) {
        ([Item::Tuple(all)], Some(k)) if k < all.len() => Ok(vec![all[k].clone()]),
        _ => Err(failed(op, "it needs a tuple, and a position in it")),
    }
}

/// A row of an output of a loop.
fn row<T: BaseTensor>(op: &ModuleOperation, env: &Bindings<T>) -> ModuleRun<Vec<Item<T>>> {
    let part = op.operands.get(1).and_then(|id| env[*id as usize].as_ref());
    let Some(Item::Tensor(part)) = part else { return Err(failed(op, "it needs an update")) };
    match part.shape() {
        [1, rest @ ..] => Ok(vec![Item::Row(part.reshaped(&Shape::from_slice(rest)))]),
        _ => Err(failed(op, "the update must be one row")),
    }
}

fn branches<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    env: &mut Bindings<T>,
) -> ModuleRun<Vec<Item<T>>> {
    let index = items(op, env)?;
    let [Item::Tensor(index)] = &index[..] else { return Err(failed(op, "it needs a number")) };
    let regions: Vec<&RegionBlock> = op.regions.iter().collect();
    // The branch of a mask that holds is the first.
    let regions: Vec<&RegionBlock> = if op.name == "if" { regions.into_iter().rev().collect() } else { regions };
    let fits = match op.name.as_str() {
        "if" => index.element == Element::Bool && regions.len() == 2,
        _ => index.element.is_int() && !regions.is_empty(),
    };
    if !fits || !index.shape().is_empty() || regions.iter().any(|r| !r.arguments.is_empty()) {
        return Err(failed(op, "it needs a scalar, and a branch without arguments for each of its values"));
    }
    let last = regions.len() - 1;
    let place = |n: i64| usize::try_from(n).ok().filter(|n| *n < last).unwrap_or(last);
    if let Some(n) = index.known() {
        return reader.block(regions[place(n)], Vec::new(), env);
    }
    let mut chosen: Option<Vec<Item<T>>> = None;
    for k in (0..=last).rev() {
        let mask = match index.element {
            Element::Bool => super::value::not(&index.re),
            _ => compare(Compare::Eq, &index.re, &int_like(&index.re, k as i64)),
        };
        if k == last {
            // Of a number that the host may look at, one branch runs.
            if let Some(n) = looked_at(index) {
                return reader.block(regions[place(n)], Vec::new(), env);
            }
            chosen = Some(reader.block(regions[k], Vec::new(), env)?);
            continue;
        }
        let here = reader.block(regions[k], Vec::new(), env)?;
        let other = chosen.take().unwrap_or_default();
        chosen = Some(either(op, &mask, here, &other)?);
    }
    Ok(chosen.unwrap_or_default())
}

/// The number, if a conditional may act on it.
fn looked_at<T: BaseTensor>(index: &ImportedValue<T>) -> Option<i64> {
    if index.element == Element::Bool {
        return decided(&index.re).map(i64::from);
    }
    // The decision is made as for a mask.
    let mask = compare(Compare::Eq, &index.re, &index.re);
    decided(&mask)?;
    index.re.peek()?.item::<i64>().ok()
}

/// The first values where the mask holds.
fn either<T: BaseTensor>(op: &ModuleOperation, mask: &T, a: Vec<Item<T>>, b: &[Item<T>]) -> ModuleRun<Vec<Item<T>>> {
    let same = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.words() == b.words());
    if !same {
        return Err(failed(op, "the branches must give values of the same types"));
    }
    let pick = |(a, b): (Item<T>, &Item<T>)| {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        a.parts(&mut first);
        b.parts(&mut second);
        let mut chosen =
            first.iter().zip(&second).map(|(x, y)| T::select(&mask.linear(&Linear::replicate(x.shape(), &[])), x, y));
        a.with_parts(&mut chosen)
    };
    a.into_iter().zip(b).map(pick).collect::<Imported<Vec<_>>>().map_err(|what| failed(op, what))
}

/// How a loop runs.
struct CountedLoop {
    /// The carry that counts, with its first value and its step.
    counter: usize,
    start: i64,
    step: i64,
    trips: usize,
    /// Of each carry: whether it is handed on.
    kept: Vec<bool>,
    /// Of each carry: the row that a trip replaces, `at + by * trip`.
    rows: Vec<Option<(i64, i64)>>,
}

fn while_loop<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    env: &mut Bindings<T>,
) -> ModuleRun<Vec<Item<T>>> {
    let init = items(op, env)?;
    let [cond, body] = &op.regions[..] else { return Err(failed(op, "it needs a condition and a body")) };
    let n = init.len();
    if cond.arguments.len() != n || body.arguments.len() != n || body.results.len() != n || cond.results.len() != 1 {
        return Err(failed(op, "its regions must have an argument, and a result, for each carry"));
    }
    if init.iter().any(|item| matches!(item, Item::Slot | Item::Row(_))) {
        return Err(failed(op, "an output of a loop is read"));
    }
    match counted(reader, op, &init, env) {
        Some(how) if how.trips == 0 => Ok(init),
        Some(how) => counting(reader, op, &how, init, env),
        None => conditional(reader, op, init, env),
    }
}

/// Whether a loop counts, and how.
fn counted<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    init: &[Item<T>],
    env: &Bindings<T>,
) -> Option<CountedLoop> {
    let [cond, body] = &op.regions[..] else { return None };
    let known = |item: &Item<T>| item.tensor().ok().and_then(ImportedValue::known);
    let outer = |id: u32| match env[id as usize].as_ref().and_then(known) {
        Some(n) => Flow::Number(n),
        None => Flow::Other,
    };
    let itself = |argument: usize| Flow::Affine(Affine { argument, times: 1, plus: 0, guarded: false });
    let see = |block: &RegionBlock, given: Vec<Flow>| {
        look(reader.module, &reader.module.summaries, block, given, env.len(), &outer)
    };
    let first = see(body, (0..init.len()).map(itself).collect());
    let kept: Vec<bool> = first.results.iter().enumerate().map(|(k, flow)| *flow == itself(k)).collect();
    // Carries that stay, and are known, are numbers.
    let given = |k: usize| match known(&init[k]).filter(|_| kept[k]) {
        Some(n) => Flow::Number(n),
        None => itself(k),
    };
    let flows = see(body, (0..init.len()).map(given).collect());
    let test = cond.operations.iter().find(|op| Some(&op.first) == cond.results.first() && op.name == "compare")?;
    let seen = RegionBlock { results: test.operands.clone(), ..cond.clone() };
    let sides = see(&seen, (0..init.len()).map(given).collect());
    let direction = super::run::direction(test).ok()?;
    let (counter, direction, limit) = match sides.results[..] {
        [Flow::Affine(a), Flow::Number(n)] => (a, direction, n),
        [Flow::Number(n), Flow::Affine(a)] => (a, flipped(direction), n),
        _ => return None,
    };
    let k = counter.argument;
    let Some(Flow::Affine(Affine { argument, times: 1, plus: step, guarded })) = flows.results.get(k).copied() else {
        return None;
    };
    let start = known(&init[k])?;
    let moderate = |n: i64| n.abs() < 1 << 31;
    let plain =
        argument == k && counter.times == 1 && !counter.guarded && moderate(start) && moderate(limit) && moderate(step);
    if !plain || !moderate(counter.plus) || guarded && (step < 0 || start < 0) {
        return None;
    }
    let trips = trips(direction, start + counter.plus, limit, step)?;
    let rows = (0..init.len()).map(|k| {
        let Flow::Row { argument, at } = flows.results[k] else { return None };
        let Ok(held) = init[k].tensor() else { return None };
        let rows = *held.shape().first()? as i64;
        if argument != k || flows.reads[k] || at.argument != counter.argument {
            return None;
        }
        let (first, by) = (at.times.checked_mul(start)?.checked_add(at.plus)?, at.times.checked_mul(step)?);
        let last = first.checked_add(by.checked_mul(trips as i64 - 1)?)?;
        (by.abs() == 1 && first.min(last) >= 0 && first.max(last) < rows).then_some((first, by))
    });
    let rows = if trips == 0 { vec![None; init.len()] } else { rows.collect() };
    Some(CountedLoop { counter: k, start, step, trips, kept, rows })
}

fn flipped(direction: Compare) -> Compare {
    match direction {
        Compare::Lt => Compare::Gt,
        Compare::Gt => Compare::Lt,
        Compare::Le => Compare::Ge,
        Compare::Ge => Compare::Le,
        Compare::Eq | Compare::Ne => direction,
    }
}

/// The number of trips of a counter.
fn trips(direction: Compare, start: i64, limit: i64, step: i64) -> Option<usize> {
    let (distance, by) = match (direction, step) {
        (Compare::Lt, 1..) => (limit - start, step),
        (Compare::Le, 1..) => (limit - start + 1, step),
        (Compare::Gt, ..=-1) => (start - limit, -step),
        (Compare::Ge, ..=-1) => (start - limit + 1, -step),
        (Compare::Ne, 1..) if limit >= start && (limit - start) % step == 0 => (limit - start, step),
        (Compare::Ne, ..=-1) if start >= limit && (start - limit) % -step == 0 => (start - limit, -step),
        _ => return None,
    };
    usize::try_from((distance.max(0) + by - 1) / by).ok()
}

/// The parts of the carries that move, for loops of the language.
fn moving<T: BaseTensor>(items: &[Item<T>], moves: impl Fn(usize) -> bool) -> Vec<T> {
    let mut parts = Vec::new();
    items.iter().enumerate().filter(|(k, _)| moves(*k)).for_each(|(_, item)| item.parts(&mut parts));
    parts
}

/// The carries with these parts in those that move.
fn refilled<T: BaseTensor>(items: &[Item<T>], moves: impl Fn(usize) -> bool, parts: Vec<T>) -> Imported<Vec<Item<T>>> {
    let mut parts = parts.into_iter();
    items
        .iter()
        .enumerate()
        .map(|(k, item)| if moves(k) { item.with_parts(&mut parts) } else { Ok(item.clone()) })
        .collect()
}

/// The results of a trip, if they have the types of the carries.
fn checked<T: BaseTensor>(op: &ModuleOperation, found: Vec<Item<T>>, init: &[Item<T>]) -> ModuleRun<Vec<Item<T>>> {
    for (found, init) in found.iter().zip(init) {
        if matches!(found, Item::Slot | Item::Row(_)) || found.words() != init.words() {
            return Err(failed(op, format!("a carry must stay {}: it becomes {}", init.words(), found.words())));
        }
    }
    Ok(found)
}

fn counting<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    how: &CountedLoop,
    init: Vec<Item<T>>,
    env: &mut Bindings<T>,
) -> ModuleRun<Vec<Item<T>>> {
    let body = &op.regions[1];
    let moves = |k: usize| !how.kept[k] && k != how.counter && how.rows[k].is_none();
    let counter = init[how.counter].tensor().map_err(|what| failed(op, what))?;
    let element = counter.element;
    let (start, step, n) = (how.start, how.step, how.trips as i64);
    let count: T = T::discrete(&Discrete::Iota { n: how.trips }, &[]);
    let count = if step == 1 { count } else { int_with(IntBinary::Mul, &count, step) };
    let count = if start == 0 { count } else { int_with(IntBinary::Add, &count, start) };
    let end = start + step * (n - 1);
    let outputs: Vec<usize> = (0..init.len()).filter(|k| how.rows[*k].is_some()).collect();
    let empty: Vec<T> = outputs
        .iter()
        .filter_map(|k| init[*k].tensor().ok())
        .flat_map(|held| held.parts().map(|x| T::zeros(&x.shape()[1..], x.dtype())).collect::<Vec<_>>())
        .collect();
    let mut fault = None;
    let (last, outs) = T::map_accum(how.trips, false, moving(&init, moves), &[count], &mut |carry, x| {
        let trip = || {
            let mut args = refilled(&init, moves, carry.clone()).map_err(|what| failed(op, what))?;
            args[how.counter] =
                Item::Tensor(ImportedValue::within(element, x[0].clone(), start.min(end), start.max(end)));
            for k in &outputs {
                args[*k] = Item::Slot;
            }
            let found = reader.block(body, args, env)?;
            let mut rows = Vec::new();
            for k in &outputs {
                let (Item::Row(row), Ok(whole)) = (&found[*k], init[*k].tensor()) else {
                    return Err(failed(op, "an output of a loop is lost"));
                };
                if row.element != whole.element || row.shape() != &whole.shape()[1..] {
                    return Err(failed(op, "a row of an output has another type"));
                }
                rows.extend(row.parts());
            }
            let plain = |k: usize| if moves(k) { found[k].clone() } else { init[k].clone() };
            let found = checked(op, (0..found.len()).map(plain).collect(), &init)?;
            Ok((moving(&found, moves), rows))
        };
        // A loop that fails ends with its carry.
        let mut trip = trip;
        match if fault.is_none() { trip() } else { Ok((carry.clone(), empty.clone())) } {
            Ok(done) => done,
            Err(error) => {
                fault = Some(error);
                (carry.clone(), empty.clone())
            }
        }
    });
    if let Some(error) = fault {
        return Err(error);
    }
    let mut results = refilled(&init, moves, last).map_err(|what| failed(op, what))?;
    results[how.counter] = Item::Tensor(ImportedValue::whole(element, &[], start + step * n));
    let mut outs = outs.into_iter();
    for k in outputs {
        let (Ok(whole), Some((first, by))) = (init[k].tensor(), how.rows[k]) else { continue };
        let filled = filled(whole, &mut outs, if by < 0 { first - (n - 1) } else { first }, by < 0);
        results[k] = Item::Tensor(filled.map_err(|what| failed(op, what))?);
    }
    Ok(results)
}

/// The array with the rows from `low` on replaced by the outputs of a loop.
fn filled<T: BaseTensor>(
    whole: &ImportedValue<T>,
    outs: &mut impl Iterator<Item = T>,
    low: i64,
    reverse: bool,
) -> Imported<ImportedValue<T>> {
    let mut put = |old: &T| -> Imported<T> {
        let rows = outs.next().ok_or_else(|| "an output of a loop is lost".to_owned())?;
        let rows = if reverse { rows.linear(&Linear::reverse(rows.shape(), 0)) } else { rows };
        let (low, n, all) = (low as usize, rows.shape()[0], old.shape()[0]);
        need(low + n <= all, || "the rows of an output do not fit".into())?;
        let cut = |from: usize, to: usize| old.linear(&Linear::slice(old.shape(), 0, from, to - from, 1));
        if n == all {
            return Ok(rows);
        }
        let parts: Vec<T> = [cut(0, low), rows, cut(low + n, all)].into_iter().filter(|p| p.shape()[0] > 0).collect();
        Ok(T::concat(0, &parts))
    };
    let re = put(&whole.re)?;
    let im = whole.im.as_ref().map(put).transpose()?;
    Ok(ImportedValue { element: whole.element, re, im, range: None })
}

/// A loop with a condition. What it does not change it captures.
fn conditional<T: BaseTensor>(
    reader: &Reader<'_, T>,
    op: &ModuleOperation,
    init: Vec<Item<T>>,
    env: &mut Bindings<T>,
) -> ModuleRun<Vec<Item<T>>> {
    let [cond, body] = &op.regions[..] else { return Err(failed(op, "it needs a condition and a body")) };
    let itself = |argument: usize| Flow::Affine(Affine { argument, times: 1, plus: 0, guarded: false });
    let given = (0..init.len()).map(itself).collect();
    let seen = look(reader.module, &reader.module.summaries, body, given, env.len(), &|_| Flow::Other);
    let kept: Vec<bool> = seen.results.iter().enumerate().map(|(k, flow)| *flow == itself(k)).collect();
    let moves = |k: usize| !kept[k];
    let test = |args: Vec<Item<T>>, env: &mut Bindings<T>| -> ModuleRun<T> {
        match &reader.block(cond, args, env)?[..] {
            [Item::Tensor(mask)] if mask.element == Element::Bool && mask.shape().is_empty() => Ok(mask.re.clone()),
            _ => Err(failed(op, "its condition must give a mask")),
        }
    };
    let mut carry = vec![test(init.clone(), env)?];
    carry.extend(moving(&init, moves));
    let mut fault = None;
    let mut last = T::repeat(None, carry, &mut |carry| {
        let mut trip = || {
            let args = refilled(&init, moves, carry[1..].to_vec()).map_err(|what| failed(op, what))?;
            let found = checked(op, reader.block(body, args, env)?, &init)?;
            let mut next = vec![test(found.clone(), env)?];
            next.extend(moving(&found, moves));
            Ok(next)
        };
        match trip() {
            Ok(next) => next,
            Err(error) => {
                fault = Some(error);
                let mut ended = carry.clone();
                ended[0] = full(&[], DType::Bool, 0);
                ended
            }
        }
    });
    if let Some(error) = fault {
        return Err(error);
    }
    refilled(&init, moves, last.split_off(1)).map_err(|what| failed(op, what))
}
