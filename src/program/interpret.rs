//! Interpretation: runs a program at any instance of the language.

use super::graph::uses;
use super::{DeferredView, Loop, Node, NodeId, Op, Program, Results, made};
use crate::base::{BaseTensor, Trip};
use crate::ops::{Binary, Linear};
use crate::rewrite::signs::Seen;
use crate::shape::{Show, size};
use crate::source::{Place, Restored, placed};

/// The value of an operation, or its results, each until its output is read; of a deferred view, which its sum evaluates,
/// the operand.
type Value<T> = Results<T, Option<T>>;

/// Runs a program at the interpreter `T`: the outputs, from values of the inputs.
///
/// Every operation of the program becomes one call of [`BaseTensor`]. A value is dropped after its last use, and moved
/// into an operation that can reuse its memory. The operations run in a loop, without recursion.
///
/// # Panics
/// When there is not one value of the right shape and element type per input.
///
/// ```
/// use polygrad::program::{Builder, Op, Slot, interpret};
/// use polygrad::{Array, DType, ops::Unary};
/// let mut builder = Builder::new();
/// let x = builder.input(Slot { name: "x".into(), shape: [2].as_slice().into(), dtype: DType::F64 });
/// let y = builder.add(Op::Unary(Unary::Square, x), [2].as_slice().into(), DType::F64);
/// let program = builder.finish(&[y], &[]);
/// assert_eq!(interpret(&program, vec![Array::from([1.0, 3.0])]), [Array::from([1.0, 9.0])]);
/// ```
#[track_caller]
pub fn interpret<T: BaseTensor>(program: &Program, inputs: Vec<T>) -> Vec<T> {
    check_inputs("interpret", program, &inputs);
    run(program, inputs)
}

/// Panics, with the name of a verb in the message, unless there is one value of the right shape and element type per
/// input.
#[track_caller]
pub(crate) fn check_inputs<T: BaseTensor>(verb: &str, program: &Program, inputs: &[T]) {
    if inputs.len() != program.inputs().len() {
        panic!(
            "{verb}: the number of values must be that of the inputs, but they are {} and {}; pass one for each",
            inputs.len(),
            program.inputs().len()
        );
    }
    for (slot, value) in program.inputs().iter().zip(inputs) {
        if !slot.is_of(value.shape(), value.dtype()) {
            panic!(
                "{verb}: input `{}` must be {} {}, but the value is {} {}; convert it, or trace the program for it",
                slot.name,
                slot.dtype,
                Show(&slot.shape),
                value.dtype(),
                Show(value.shape())
            );
        }
    }
}

/// [`interpret`] for inputs that are known to fit.
fn run<T: BaseTensor>(program: &Program, inputs: Vec<T>) -> Vec<T> {
    let mut values: Vec<Option<Value<T>>> = Vec::with_capacity(program.nodes().len());
    let last_use = program.last_use();
    // The operations that an interpreter records have the source places of the operations of the program.
    let outer = placed(Place::UNKNOWN);
    let _restored = Restored(outer.clone());
    let mut inputs = inputs.into_iter();
    for (k, node) in program.nodes().iter().enumerate() {
        let k = k as NodeId;
        placed(program.place(k).or(&outer));
        let dies = |a: NodeId| last_use[a as usize] == k;
        let in_place = program.sum_in_place(&node.op);
        let value = match &node.op {
            Op::Input(_) => Value::One(inputs.next().expect("as many inputs as the program says")),
            Op::Constant(c) => Value::One(T::constant(c.0.clone())),
            Op::Unary(op, a) => Value::One(get(&values, *a).unary(*op)),
            Op::Linear(_, a) if program.is_deferred(k) => Value::One(get(&values, *a).clone()),
            // A sum may reuse an operand that has no later use.
            Op::Binary(..) | Op::Discrete(..) if let Some((base, view)) = in_place => {
                Value::One(add_up(&mut values, base, view, dies(base)))
            }
            Op::Binary(Binary::Add, a, b) if a != b && dies(*a) => {
                let a = take(&mut values, *a);
                Value::One(a.accumulate(get(&values, *b)))
            }
            Op::Binary(op, a, b) => Value::One(get(&values, *a).binary(*op, get(&values, *b))),
            Op::Discrete(op, args) => {
                let mut operands = Vec::with_capacity(args.len());
                for a in args {
                    operands.push(get(&values, *a));
                }
                Value::One(T::discrete(op, &operands))
            }
            Op::Select([mask, a, b]) => Value::One(T::select(get(&values, *mask), get(&values, *a), get(&values, *b))),
            Op::Linear(op, a) => Value::One(get(&values, *a).linear(op)),
            Op::Contract(op, a, b) => Value::One(T::contract(op, get(&values, *a), get(&values, *b))),
            Op::Reduce(op, a) => Value::One(get(&values, *a).reduce(*op)),
            Op::Gather(a, ix) => Value::One(get(&values, *a).gather(&all(&values, ix))),
            Op::ScatterAdd(a, ix, v) => {
                let (ix, v) = (all(&values, ix), get(&values, *v).clone());
                let base = if dies(*a) { take(&mut values, *a) } else { get(&values, *a).clone() };
                Value::One(base.scatter_add(&ix, &v))
            }
            Op::Concat(axis, parts) => Value::One(T::concat(*axis, &all(&values, parts))),
            Op::Loop(l) => {
                // The carry is moved: a loop that is its only owner updates it in place.
                let mut init = Vec::with_capacity(l.init.len());
                for (i, a) in l.init.iter().enumerate() {
                    let last = dies(*a) && is_read_once(l, i);
                    init.push(if last { take(&mut values, *a) } else { get(&values, *a).clone() });
                }
                let (mut results, mut outputs) = run_loop(l, init, all(&values, &l.xs), all(&values, &l.captured));
                results.append(&mut outputs);
                several(results)
            }
            Op::Call(op, args) => several(T::call(op, &all(&values, args))),
            Op::Custom(c, args) => several(T::custom(c, &all(&values, args))),
            Op::Output(a, i) => {
                // Each output is read once, as equal operations are one.
                Value::One(made(made(values[*a as usize].as_mut()).result_mut(*i).take()))
            }
        };
        values.push(Some(value));
        node.op.operands(&mut |a| {
            if dies(*a) {
                values[*a as usize] = None;
            }
        });
        if last_use[k as usize] == k {
            values[k as usize] = None;
        }
    }
    let (results, mut outputs) = (program.results(), Vec::new());
    for (i, a) in results.iter().enumerate() {
        let later = results[i + 1..].contains(a);
        outputs.push(if later { get(&values, *a).clone() } else { take(&mut values, *a) });
    }
    outputs
}

// This file is compiled for every interpreter: what does not depend on it is outside, and iterators, which would be
// compiled again for every closure, are loops.

/// Whether a loop reads the value of a carry only there.
fn is_read_once(l: &Loop<NodeId>, carry: usize) -> bool {
    l.init[carry + 1..].iter().chain(&l.xs).chain(&l.captured).all(|a| *a != l.init[carry])
}

fn several<T>(results: Vec<T>) -> Value<T> {
    let mut several = Vec::with_capacity(results.len());
    for result in results {
        several.push(Some(result));
    }
    Value::Many(several)
}

pub(super) fn run_loop<T: BaseTensor, R>(l: &Loop<R>, init: Vec<T>, xs: Vec<T>, captured: Vec<T>) -> Trip<T> {
    let carried = init.len();
    T::map_accum(l.n, l.reverse, init, &xs, &mut |mut inputs, elements| {
        inputs.extend_from_slice(elements);
        inputs.extend_from_slice(&captured);
        let mut carry = run(&l.body, inputs);
        let outputs = carry.split_off(carried);
        (carry, outputs)
    })
}

/// The sum of a value and of a deferred view: in place, or in a copy if the value has a later use.
fn add_up<T: BaseTensor>(values: &mut [Option<Value<T>>], base: NodeId, view: DeferredView<'_>, last: bool) -> T {
    let x = take(values, view.id);
    // A copy of the base costs less than an array of the result of the linear operation.
    let base = if last { take(values, base) } else { get(values, base).clone() };
    base.accumulate_linear(view.op, &x)
}

/// The operations that are deferred to the sum that is their only use: views that write each place at most once, or
/// that have fewer positions than places, so that accumulating their result costs no more than computing it. A deferred
/// view adds nothing, not even 0, to the places that it does not write; so the other summand must never be -0, or no
/// operation of the program may see the sign of zero of the sum. Results of the program count as unseen, including those of
/// a body, whose readers are outside the body.
pub(super) fn deferred(nodes: &[Node], results: &[NodeId]) -> Vec<bool> {
    let uses = uses(nodes, results);
    let mut deferred = vec![false; nodes.len()];
    let fits = |a: NodeId| {
        let Op::Linear(op, _) = &nodes[a as usize].op else { return false };
        let Linear::Affine { from, into } = &**op else { return false };
        uses[a as usize] == 1 && (into.is_injective() || size(from.shape()) < size(into.source()))
    };
    let mut signs = None;
    for (k, node) in nodes.iter().enumerate() {
        let Some([x, y]) = node.op.added() else { continue };
        for (one, base) in [(y, x), (x, y)] {
            let free = |seen: &Seen| !seen.values[k] || seen.never_minus_zero[*base as usize];
            if fits(*one) && free(signs.get_or_insert_with(|| Seen::of_nodes(nodes, std::iter::empty()))) {
                deferred[*one as usize] = true;
                break;
            }
        }
    }
    deferred
}

fn get<T>(values: &[Option<Value<T>>], a: NodeId) -> &T {
    made(values[a as usize].as_ref()).one()
}

fn take<T>(values: &mut [Option<Value<T>>], a: NodeId) -> T {
    made(values[a as usize].take()).into_one()
}

fn all<T: Clone>(values: &[Option<Value<T>>], ids: &[NodeId]) -> Vec<T> {
    let mut all = Vec::with_capacity(ids.len());
    for a in ids {
        all.push(get(values, *a).clone());
    }
    all
}
