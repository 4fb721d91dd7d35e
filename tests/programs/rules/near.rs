//! Near misses: every case of the table, changed in one place at a time, so that a condition of a rule may not hold.
//!
//! Laws: whatever fires on a changed program, both sides compute the same values and the same gradients, at ordinary
//! numbers and at ties; where all rules that fire keep what is not finite, at infinities, NaN and zeros of both signs,
//! too. Every rule has a near miss in which it does not fire.

use std::collections::{BTreeMap, BTreeSet};

use polygrad::array::Rng;
use polygrad::inspect::Cost;
use polygrad::interpreters::Count;
use polygrad::interpreters::adval::{ADVal, Sweep};
use polygrad::ops::{Binary, Contract, Discrete, IntBinary, Linear, Reduce, Unary, View};
use polygrad::passes::{Options, explain};
use polygrad::program::{Builder, Constant, Node, NodeId, Op, Program, interpret};
use polygrad::shape::size;
use polygrad::{Array, BaseTensor, DType};

use super::cases::{Case, cases};
use super::refused::refusals;
use super::table::{literal, same, values};
use crate::support::floats;

/// A view whose offset along one axis of the source is another.
fn shifted(view: &View, axis: usize, by: i64) -> View {
    let matrix: Vec<i64> = (0..view.source().len()).flat_map(|a| view.row(a).to_vec()).collect();
    let mut offset = view.offset().to_vec();
    offset[axis] += by;
    let moved = View::affine(view.source(), view.shape(), &matrix, &offset);
    let bounds = view.bounds().iter().enumerate();
    bounds.fold(moved, |view, (axis, (lo, hi))| view.clipped(axis, *lo, *hi))
}

/// Views near to one: shifted along each axis of the source by one place and beyond its end, and clipped along each
/// axis of its own.
fn views(view: &View) -> Vec<View> {
    if view.is_empty() {
        return Vec::new();
    }
    let shifts = [-1, 1].into_iter().flat_map(|by| (0..view.source().len()).map(move |axis| (axis, by)));
    let mut near: Vec<View> = shifts.map(|(axis, by)| shifted(view, axis, by)).collect();
    for (axis, n) in view.shape().iter().enumerate() {
        near.push(view.clone().clipped(axis, 1, *n));
        near.push(view.clone().clipped(axis, 0, n.saturating_sub(1)));
    }
    near
}

/// Constants near to one.
fn constants(c: &Array) -> Vec<Array> {
    let (shape, dtype) = (c.shape(), c.dtype());
    match dtype {
        DType::F64 | DType::F32 => {
            let full = |x: &f64| Array::full_as(shape, dtype, *x);
            let mut near: Vec<Array> = [0.0, -0.0, 1.0, -1.0, 2.0, 1e200, 1e-200, f64::NAN].iter().map(full).collect();
            near.push(Array::new(shape, (0..size(shape)).map(|k| k as f64 - 1.0).collect()));
            if dtype == DType::F32 {
                near.pop();
            }
            near
        }
        DType::I64 => [0, 1, -1, 2, 5, i64::MAX, i64::MIN].iter().map(|x| Array::full(shape, *x)).collect(),
        DType::Bool => [false, true].iter().map(|x| Array::full(shape, *x)).collect(),
    }
}

/// Operations near to one.
fn operations(op: &Op<NodeId>) -> Vec<Op<NodeId>> {
    match op {
        Op::Constant(Constant(c)) => constants(c).into_iter().map(|c| Op::Constant(Constant(c))).collect(),
        Op::Unary(_, a) => {
            let others = [Unary::Neg, Unary::Exp, Unary::Sin, Unary::Recip, Unary::Abs, Unary::Sqrt, Unary::Cos];
            others.iter().map(|op| Op::Unary(*op, *a)).collect()
        }
        Op::Binary(op, a, b) => {
            let others = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Max, Binary::MulNoNan];
            let mut near: Vec<Op<NodeId>> = others.iter().map(|op| Op::Binary(*op, *a, *b)).collect();
            near.push(Op::Binary(*op, *b, *a));
            near
        }
        Op::Discrete(Discrete::IntBinary(_), args) => {
            let others = [IntBinary::Add, IntBinary::Sub, IntBinary::Mul, IntBinary::Quot, IntBinary::Rem];
            others.iter().map(|op| Op::Discrete(Discrete::IntBinary(*op), args.clone())).collect()
        }
        Op::Discrete(Discrete::And | Discrete::Or, args) => {
            [Discrete::And, Discrete::Or].into_iter().map(|op| Op::Discrete(op, args.clone())).collect()
        }
        Op::Select([m, a, b]) => vec![Op::Select([*m, *b, *a])],
        Op::Linear(op, a) => match &**op {
            Linear::Affine { from, into } => {
                let reads = views(from).into_iter().map(|from| Linear::affine(from, into.clone()));
                let writes = views(into).into_iter().map(|into| Linear::affine(from.clone(), into));
                reads.chain(writes).map(|op| Op::Linear(Box::new(op), *a)).collect()
            }
            Linear::Reshape { .. } | Linear::Cast { .. } => Vec::new(),
            Linear::Fourier { .. } | Linear::PrefixSum { .. } => vec![Op::Linear(Box::new(op.adjoint()), *a)],
        },
        Op::Contract(op, a, b) => {
            let mut near = Vec::new();
            near.extend(views(&op.a).into_iter().map(|v| Contract::new(v, op.b.clone(), op.out.clone())));
            near.extend(views(&op.b).into_iter().map(|v| Contract::new(op.a.clone(), v, op.out.clone())));
            near.extend(views(&op.out).into_iter().map(|v| Contract::new(op.a.clone(), op.b.clone(), v)));
            near.into_iter().map(|op| Op::Contract(Box::new(op), *a, *b)).collect()
        }
        Op::Reduce(_, a) => (0..3).flat_map(Reduce::all).map(|op| Op::Reduce(op, *a)).collect(),
        Op::Concat(axis, parts) => vec![Op::Concat(*axis, parts.iter().rev().copied().collect())],
        Op::Loop(l) => {
            let mut other = l.clone();
            other.reverse = !other.reverse;
            vec![Op::Loop(other)]
        }
        Op::Input(_) | Op::Gather(..) | Op::ScatterAdd(..) | Op::Custom(..) | Op::Call(..) | Op::Output(..) => {
            Vec::new()
        }
        Op::Discrete(Discrete::ArgMax { .. } | Discrete::ArgMin { .. }, args) => {
            (0..2).flat_map(Reduce::all).map(|op| Op::Discrete(op.position(), args.clone())).collect()
        }
        Op::Discrete(Discrete::Not, args) => vec![Op::Discrete(Discrete::And, [args[0], args[0]].as_slice().into())],
        Op::Discrete(..) => Vec::new(),
    }
}

/// The same operation with one of its operands replaced by another value of the same kind.
fn operands(program: &Program, k: usize) -> Vec<Op<NodeId>> {
    let nodes = program.nodes();
    let mut near = Vec::new();
    let mut count = 0;
    nodes[k].op.operands(&mut |_| count += 1);
    for position in 0..count {
        for other in (0..k).filter(|other| !matches!(nodes[*other].op, Op::Loop(_) | Op::Custom(..))) {
            let (mut at, mut changes) = (0, false);
            let op = nodes[k].op.map(&mut |a| {
                at += 1;
                let (now, then) = (&nodes[*a as usize], &nodes[other]);
                let fits = (&now.shape, now.dtype) == (&then.shape, then.dtype) && *a != other as NodeId;
                if at - 1 != position || !fits || matches!(now.op, Op::Loop(_) | Op::Custom(..)) {
                    return *a;
                }
                changes = true;
                other as NodeId
            });
            if changes {
                near.push(op);
            }
        }
    }
    near
}

/// The program with another operation at one place, if that fits, and with one more result.
fn changed(program: &Program, at: usize, op: Option<&Op<NodeId>>) -> Option<Program> {
    let mut b = Builder::literal();
    let mut now: Vec<NodeId> = program.inputs().iter().map(|slot| b.input(slot.clone())).collect();
    for (k, node) in program.nodes().iter().enumerate().skip(now.len()) {
        let op = op.filter(|_| k == at).unwrap_or(&node.op).map(&mut |a| now[*a as usize]);
        if let Op::Loop(_) | Op::Custom(..) = op {
            b.try_kind(&op).ok()?;
            now.push(b.apply(op));
            continue;
        }
        let (shape, dtype) = b.try_kind(&op).ok()?;
        if (&shape, dtype) != (&node.shape, node.dtype) {
            return None;
        }
        now.push(b.apply(op));
    }
    let mut results: Vec<NodeId> = program.results().iter().map(|r| now[*r as usize]).collect();
    if op.is_none() {
        results.push(now[at]);
    }
    Some(b.finish(&results, &[]))
}

/// The program with other results, chosen among its values.
fn with_results(program: &Program, choose: impl FnOnce(&[NodeId]) -> Vec<NodeId>) -> Program {
    let mut b = Builder::literal();
    let mut now: Vec<NodeId> = program.inputs().iter().map(|slot| b.input(slot.clone())).collect();
    for node in &program.nodes()[now.len()..] {
        now.push(b.apply(node.op.map(&mut |a| now[*a as usize])));
    }
    b.finish(&choose(&now), &[])
}

/// The program with one of its results alone.
fn one_result(program: &Program, position: usize) -> Program {
    with_results(program, |now| vec![now[program.results()[position] as usize]])
}

/// Every program near to that of a case, for each of its results alone.
fn near_misses(case: &Case) -> Vec<Program> {
    let program = literal(case);
    (0..program.results().len()).flat_map(|k| near(&one_result(&program, k))).collect()
}

/// Every program near to one.
fn near(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for k in program.inputs().len()..program.nodes().len() {
        let node = &program.nodes()[k];
        if !matches!(node.op, Op::Loop(_) | Op::Custom(..)) {
            all.extend(changed(program, k, None));
        }
        let ops = operations(&node.op).into_iter().chain(operands(program, k));
        all.extend(ops.filter_map(|op| changed(program, k, Some(&op))));
    }
    all
}

/// Values among which many are equal, and where kinks are.
fn ties(rng: &mut Rng, shape: &[usize], dtype: DType) -> Array {
    if !dtype.is_float() {
        return values(rng, shape, dtype, false);
    }
    let drawn = Array::new(shape, (0..size(shape)).map(|_| rng.below(3) as f64).collect());
    if dtype == DType::F32 { drawn.cast::<f32>() } else { drawn }
}

/// The program with all of its values as results: where one is infinite, a derivative by another formula may be
/// another.
fn everything(program: &Program) -> Program {
    let is_value = |node: &Node| !matches!(node.op, Op::Loop(_) | Op::Custom(..));
    with_results(program, |now| {
        program.nodes().iter().zip(now).filter(|(node, _)| is_value(node)).map(|(_, id)| *id).collect()
    })
}

/// The gradient of the sum of the results that are floats, one tensor for each input.
fn gradient(program: &Program, inputs: &[Array]) -> Vec<Array> {
    let mut sweep = Sweep::new();
    let results = interpret(program, inputs.iter().map(|x| sweep.input(x)).collect());
    let results: Vec<ADVal<Array>> = results.into_iter().filter(|y| y.primal().dtype().is_float()).collect();
    let ones = results.iter().map(|y| Array::full_as(y.primal().shape(), y.primal().dtype(), 1.0)).collect();
    sweep.pull(&results, ones)
}

fn agree(a: &[Array], b: &[Array], tolerance: f64, regroups: bool) -> bool {
    a.iter().zip(b).all(|(a, b)| {
        // Rounding is relative to the largest number around: what cancels is as wrong as what it was made of.
        let scale = floats(a).iter().filter(|x| x.is_finite()).fold(1.0f64, |m, x| m.max(x.abs()));
        let close = |(x, y): (f64, f64)| same(x, y, tolerance, regroups) || (x - y).abs() <= tolerance * scale;
        a.shape() == b.shape() && a.dtype() == b.dtype() && floats(a).into_iter().zip(floats(b)).all(close)
    })
}

/// What is wrong with a simplified program, if anything is.
fn fault(case: &Case, program: &Program, simple: &Program, finite: bool) -> Option<String> {
    let single = case.inputs.iter().any(|(_, dtype)| *dtype == DType::F32);
    let tolerance = if single { 1e-4 } else { 1e-10 };
    let whole = everything(program);
    for seed in 0..if std::env::var_os("POLYGRAD_FUZZ").is_some() { 8 } else { 1 } {
        let mut rng = Rng::new(seed);
        let mut draw = |how: usize| -> Vec<Array> {
            let one = |(shape, dtype): &(&[usize], DType)| match how {
                0 => values(&mut rng, shape, *dtype, true),
                1 => ties(&mut rng, shape, *dtype),
                _ => values(&mut rng, shape, *dtype, false),
            };
            case.inputs.iter().map(one).collect()
        };
        for how in 0..if finite { 2 } else { 3 } {
            let inputs = draw(how);
            let (before, after) = (interpret(program, inputs.clone()), interpret(simple, inputs.clone()));
            let exact = |values: &[Array]| values.iter().flat_map(floats).all(|x| x.is_finite() && x.abs() < 1e100);
            // Where a constant is at the ends of the range, intermediate results of either side may be out of it.
            if how < 2 && finite && !(exact(&before) && exact(&after)) {
                continue;
            }
            if !agree(&before, &after, tolerance, finite || case.regroups) {
                return Some(format!("{before:?} became {after:?} at {inputs:?}"));
            }
            // Rules of fast arithmetic may change a derivative where that of one side is infinite.
            if how < if case.fast { 1 } else { 2 } && exact(&interpret(&whole, inputs.clone())) {
                let (before, after) = (gradient(program, &inputs), gradient(simple, &inputs));
                if exact(&before) && !agree(&before, &after, tolerance, false) {
                    return Some(format!("the gradient {before:?} became {after:?} at {inputs:?}"));
                }
            }
        }
    }
    None
}

/// The work and the bytes of a run that leaves its inputs alone.
fn cost(program: &Program, inputs: &[Array]) -> Cost {
    let inputs: Vec<Count<Array>> = inputs.iter().map(|x| Count::constant(x.clone())).collect();
    Count::<Array>::counted(|| drop(interpret(program, inputs.clone()))).1.total()
}

/// Whether a simplified program is dearer: it does more, or moves more.
fn dearer(case: &Case, program: &Program, simple: &Program) -> Option<String> {
    let mut rng = Rng::new(0);
    let inputs: Vec<Array> = case.inputs.iter().map(|(shape, dtype)| values(&mut rng, shape, *dtype, true)).collect();
    let (before, after) = (cost(program, &inputs), cost(simple, &inputs));
    let elements = |cost: Cost| cost.work + cost.bytes / 8;
    // A constant that is made smaller is replicated, and one between two parts is read: a few elements. Another
    // operation on vectors of three would read and write nine.
    (after.work > before.work + 3 || elements(after) > elements(before) + 3)
        .then(|| format!("{before:?} became {after:?}"))
}

#[test]
fn near_misses_get_no_dearer() {
    // A sign moves out even if the negation is needed elsewhere, too: it meets other signs there. A part of a
    // concatenation may be copied twice. Few reciprocals take less time than many quotients. The square of a root that is
    // needed elsewhere, too, is computed of the operand of the root, since its derivatives are those of a smooth function.
    let free = [
        "neg_scaled",
        "odd_function",
        "mul_negated",
        "div_negated",
        "no_nan_negated",
        "over_negated",
        "over_replicated",
        "add_negated",
        "div_again",
        "square_of_root",
        "power_of_root",
    ];
    let mut wrong = Vec::new();
    for case in &cases() {
        let options = Options { fast_math: case.fast, ..Options::default() };
        for program in near_misses(case) {
            let (simple, fired) = explain(&program, options);
            if !fired.is_empty()
                && !fired.iter().any(|f| free.contains(&f.rule) || f.rule == "concat_of_views")
                && let Some(fault) = dearer(case, &program, &simple)
            {
                let names: Vec<&str> = fired.iter().map(|f| f.rule).collect();
                wrong.push(format!("{}, by {names:?}: {fault}\n{program}\n{simple}", case.rule));
            }
        }
    }
    assert!(wrong.is_empty(), "{} near misses:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// Numbers far from 1 stay where they are: a factor that moves could make a product overflow, or nothing of it.
#[test]
fn far_numbers_do_not_move() {
    let rules = [
        "mul_quotient",
        "mul_into_replicated",
        "div_constant_scaled",
        "div_power_of_two",
        "div_scaled",
        "recip_scaled",
        "contract_scaled",
        "scaled_contract",
        "sum_of_scaled",
    ];
    let all: Vec<Case> = cases().into_iter().filter(|case| rules.contains(&case.rule)).collect();
    let mut tried = BTreeSet::new();
    for case in &all {
        let program = literal(case);
        let is_number = |node: &Node| matches!(&node.op, Op::Constant(Constant(c)) if c.dtype().is_float());
        let several = program.nodes().iter().filter(|node| is_number(node)).count() > 1;
        // Where the rule moves one of several numbers, the others may move.
        if several && !["mul_quotient", "div_constant_scaled"].contains(&case.rule) {
            continue;
        }
        for (k, node) in program.nodes().iter().enumerate().filter(|(_, node)| is_number(node)) {
            let Op::Constant(Constant(c)) = &node.op else { continue };
            for far in [2f64.powi(600), 2f64.powi(-600)] {
                let far = Op::Constant(Constant(Array::full_as(c.shape(), c.dtype(), far)));
                let Some(program) = changed(&program, k, Some(&far)) else { continue };
                tried.insert(case.rule);
                let (simple, fired) = explain(&program, Options::default());
                assert!(fired.iter().all(|f| f.rule != case.rule), "{} fires\n{program}\n{simple}", case.rule);
            }
        }
    }
    assert_eq!(tried.len(), rules.len(), "{tried:?}");
}

#[test]
fn near_misses_keep_values_and_gradients() {
    let all = cases();
    let lenient = all.iter().filter(|c| c.fast || c.regroups).map(|c| c.rule);
    let lenient: BTreeSet<&str> = lenient.collect();
    let mut wrong = Vec::new();
    let mut refused: BTreeMap<&str, bool> = all.iter().map(|c| (c.rule, false)).collect();
    refused.extend(refusals().iter().map(|c| (c.rule, true)));
    for case in &all {
        let options = Options { fast_math: case.fast, ..Options::default() };
        for program in near_misses(case) {
            let (simple, fired) = explain(&program, options);
            if fired.iter().all(|f| f.rule != case.rule) {
                refused.insert(case.rule, true);
            }
            let finite = case.fast || fired.iter().any(|f| lenient.contains(f.rule));
            if !fired.is_empty()
                && let Some(fault) = fault(case, &program, &simple, finite)
            {
                let names: Vec<&str> = fired.iter().map(|f| f.rule).collect();
                wrong.push(format!("{}, by {names:?}: {fault}\n{program}\n{simple}", case.rule));
            }
        }
    }
    assert!(wrong.is_empty(), "{} near misses:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
    let eager: Vec<&str> = refused.iter().filter(|(_, refused)| !**refused).map(|(rule, _)| *rule).collect();
    assert!(eager.is_empty(), "rules that fire in every near miss: {eager:?}");
}
