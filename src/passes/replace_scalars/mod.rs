//! Scalar replacement: a program, or the body of a loop, over small arrays is rewritten as operations on scalars.
//!
//! A trip of a compiled loop runs each operation on an array as a step over memory, some tens of nanoseconds however few
//! elements there are; a loop of nothing but numbers runs as code on registers, about a nanosecond an operation. So a
//! body that computes only small arrays (a particle in the plane, a pendulum, the gradient in two variables) is written
//! with a number for each element: views, replication and concatenation become names of numbers, sums and contractions
//! sums of products in order, `elements.rs` says how for each operation. Carries, rows and outputs stay arrays, read and
//! put together in the body: the code on registers knows their elements by name, so that costs nothing.
//!
//! A body is rewritten as a whole or not at all: if it computes a larger array, or an operation that has no form by
//! numbers, it stays as it is. A program without loops is rewritten alike, with larger arrays, if the scalars are
//! estimated to take less time than the arrays (`by_whole`). Only where loops are in it, what is large stays next to
//! what is small.
//!
//! Law: each number is computed by the operations that computed the element, so it has the same bits, except for sums,
//! whose order may be another, and the signs of zeros in `x + pad y`. Only the plan of a run asks for this pass: other
//! passes know more of arrays.

mod elements;

use crate::cost::{MACHINE, tenths};
use crate::ops::Linear;
use crate::program::{Builder, Custom, Loop, Node, NodeId, Op, OpClass, Program, Rebuilt, run_by};
use crate::shape::size;
use elements::{ScalarBody, ScalarValue};

/// The program in which loops over small arrays compute with numbers: what a compiled program runs.
///
/// ```
/// use polygrad::passes::replace_scalars;
/// use polygrad::{Function, Tensor, iterate, tensor};
/// let f = Function::stage(|x| iterate(9, x, |_, y: Tensor<_, 1>| x - 0.1 * y), &tensor([1.0, 2.0]));
/// let text = replace_scalars(f.optimized()).to_string();
/// assert!(text.contains("row 0 x - 0.1 * row 0 h0"), "{text}");
/// ```
pub fn replace_scalars(program: &Program) -> Program {
    if program.is_shared() {
        return program.clone();
    }
    by_loops(program).or_else(|| by_whole(program)).unwrap_or_else(|| program.clone())
}

/// A program without loops as operations on scalars; `None` if arrays are estimated to take less time.
fn by_whole(program: &Program) -> Option<Program> {
    let is_array = |node: &Node| !matches!(node.op, Op::Input(_) | Op::Constant(_)) && !node.shape.is_empty();
    let arrays = program.nodes().iter().filter(|node| is_array(node)).count();
    let elements: usize = program.nodes().iter().filter(|node| is_array(node)).map(|node| size(&node.shape)).sum();
    // Arrays of more elements on average are never worth a scalar each.
    if arrays == 0 || elements > arrays * MACHINE.small_elements || has_loops(program) {
        return None;
    }
    let scalars = by_numbers(program, 0, Limits::PROGRAM)?;
    let steps = 1 + program.nodes().iter().filter(|node| is_array(node) && !is_elementwise(&node.op)).count();
    let overhead = (steps as u64).saturating_mul(tenths(MACHINE.small_operation));
    (scalars.estimate().time < program.estimate().time.saturating_add(overhead)).then_some(scalars)
}

/// Whether an operation is one of a pass over elements, which may be fused with others.
fn is_elementwise(op: &Op<NodeId>) -> bool {
    if let Op::Linear(op, _) = op {
        return matches!(**op, Linear::Reshape { .. });
    }
    matches!(op, Op::Discrete(..) | Op::Output(..)) || op.is_elementwise()
}

/// The program with other loops; nothing, if none is over small arrays.
fn by_loops(program: &Program) -> Option<Program> {
    if !has_loops(program) {
        return None;
    }
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), &[]);
    let mut found = false;
    let made = program.rebuilt(b, inputs, &mut |b, _, node, now| match node.op.class() {
        OpClass::Loop(l) => {
            let Some(body) = body(&l.body, l.init.len() + l.xs.len()) else { return now.again(b, node) };
            found = true;
            let outside = now.looped(l);
            Rebuilt::One(b.apply(Op::Loop(Box::new(Loop { body, ..outside }))))
        }
        OpClass::Custom(rule, args) => {
            let Some(rule) = of_rule(rule) else { return now.again(b, node) };
            found = true;
            Rebuilt::One(b.apply(Op::Custom(rule.into(), args.iter().map(|a| now.of(*a)).collect())))
        }
        OpClass::Input(_) | OpClass::Constant(_) | OpClass::Output(..) => now.again(b, node),
        OpClass::Single(_) | OpClass::Call(..) => now.again(b, node),
    });
    found.then_some(made)
}

/// Whether a program has loops, in its functions or outside.
fn has_loops(program: &Program) -> bool {
    let function = |op: &Op<NodeId>| matches!(op, Op::Custom(rule, _) if rule.is_while());
    program.operations(run_by).any(|op| matches!(op, Op::Loop(_)) || function(op))
}

/// A function that repeats its program, or has loops in it, with that program rewritten.
fn of_rule(rule: &Custom) -> Option<Custom> {
    if let Some([then, otherwise]) = rule.branches() {
        let now = [by_loops(then), by_loops(otherwise)];
        let changed = now.iter().any(Option::is_some);
        let [x, y] = now;
        let chosen = || {
            let now = [x.unwrap_or_else(|| then.clone()), y.unwrap_or_else(|| otherwise.clone())];
            Custom::chosen(rule.name(), now, rule.absent().map(<[bool]>::to_vec))
        };
        return changed.then(chosen);
    }
    let primal = rule.primal();
    let primal = if rule.is_while() { body(primal, primal.outputs().len()) } else { by_loops(primal) };
    primal.map(|primal| rule.with_primal(primal))
}

/// The body of a loop, rewritten after its inner loops; `captured` is the number of its first captured input.
fn body(program: &Program, captured: usize) -> Option<Program> {
    let inner = by_loops(program);
    let whole = inner.as_ref().unwrap_or(program);
    // A body of scalars alone stays as it is.
    let arrays = whole.nodes().iter().any(|node| !matches!(node.op, Op::Input(_)) && !node.shape.is_empty());
    let numbers = if arrays { by_numbers(whole, captured, Limits::BODY) } else { None };
    numbers.or(inner)
}

/// The program number by number, if it is small; `captured` is the number of its first input that lies in memory.
fn by_numbers(program: &Program, captured: usize, limits: Limits) -> Option<Program> {
    let mut b = Builder::literal();
    let inputs = b.inputs(program.inputs(), &[]);
    let mut body = ScalarBody::new(b, &inputs[captured..], has_loops(program), limits);
    let results = body.program(program, inputs.into_iter().map(ScalarValue::Whole).collect())?;
    let kinds = program.outputs().iter().map(|slot| (&slot.shape[..], slot.dtype));
    let results: Option<Vec<NodeId>> =
        results.iter().zip(kinds).map(|(known, (shape, dtype))| body.whole(known, shape, dtype)).collect();
    let names: Vec<String> = program.outputs().iter().map(|slot| slot.name.clone()).collect();
    Some(body.b.finish(&results?, &names))
}

/// The largest arrays that are replaced by scalars.
#[derive(Clone, Copy)]
struct Limits {
    /// The most elements of an array.
    elements: usize,
    /// The most elements of an array whose transcendental function is replaced.
    functions: usize,
    /// The most elements of an array whose type is not `f64`.
    narrow: usize,
    /// The most positions of a view or a contraction.
    positions: usize,
    /// The most scalar operations.
    operations: usize,
}

impl Limits {
    /// In the body of a loop.
    const BODY: Limits = Limits {
        elements: MACHINE.numbers,
        functions: MACHINE.numbers_function,
        narrow: MACHINE.numbers_narrow,
        positions: MACHINE.numbers_positions,
        operations: MACHINE.numbers_operations,
    };

    /// In a program without loops, whose time decides.
    const PROGRAM: Limits = Limits {
        elements: MACHINE.program_numbers,
        functions: MACHINE.program_numbers,
        positions: MACHINE.program_positions,
        operations: MACHINE.program_operations,
        ..Limits::BODY
    };

    /// Whether an array becomes numbers.
    fn is_small(&self, shape: &[usize]) -> bool {
        (1..=self.elements).contains(&size(shape))
    }
}
