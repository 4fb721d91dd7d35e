//! Translation of recorded programs of scalars to programs of wires.
//!
//! Law: the program of wires has the values of the recorded program, and its optic the derivatives.

use super::{Wire, Wiring};
use crate::dtype::DType;
use crate::higher::Obj;
use crate::ops::Discrete;
use crate::program::{NodeId, Op, Program, Term};

/// The program of a derivative of scalars from the tables, traced at variables.
pub(super) fn recorded(inputs: usize, f: impl FnOnce(&[Term]) -> Vec<Option<Term>>) -> Program {
    let variables: Vec<Term> = (0..inputs).map(|_| Term::variable(&[], DType::F64)).collect();
    let results: Vec<Term> = f(&variables).into_iter().flatten().collect();
    Term::program(&variables, &results, &[]).expect("a closed program")
}

/// A first-order program of numbers as a program of wires; a selection by a comparison becomes a branch. Its inputs are
/// the numbers of `A`, its results those of `B`, each from left to right, nested to the left: `((x, y), z)`.
///
/// # Panics
/// When the program has other values than numbers, or loops, or chooses by other conditions than comparisons.
#[track_caller]
pub fn wired<C: Wiring, A: Obj, B: Obj>(program: &Program) -> Wire<C, A, B> {
    let plain = |op: &Op<NodeId>, dtype| match op {
        Op::Input(_) | Op::Constant(_) | Op::Unary(..) | Op::Binary(..) | Op::Select(_) => dtype == DType::F64,
        Op::Discrete(op, args) => {
            let numbers = args.iter().all(|node| program.nodes()[*node as usize].dtype == DType::F64);
            matches!(op, Discrete::Compare(_)) && numbers
        }
        Op::Linear(..) | Op::Contract(..) | Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) => false,
        Op::Concat(..) | Op::Loop(_) | Op::Custom(..) | Op::Call(..) | Op::Output(..) => false,
    };
    if !program.nodes().iter().all(|node| plain(&node.op, node.dtype) && node.shape.is_empty()) {
        panic!(
            "wired: a program must consist of functions of numbers, but this one has other operations or values; differentiate it \
             by another verb"
        );
    }
    Wire::of(connected::<C>(program))
}

/// A program of functions of scalars as wires. The context of an operation is `(((), v), w)`: all values so far.
pub(super) fn connected<C: Wiring>(program: &Program) -> C::Morphism {
    let count = program.inputs().len();
    let (mut so_far, mut depth) = (inputs::<C>(count), count);
    for node in program.nodes() {
        let value = match &node.op {
            // Inputs are the first nodes, and in the context from the start.
            Op::Input(_) => continue,
            Op::Constant(c) => C::then(C::delete(), C::constant(c.0.item::<f64>().expect("a number"))),
            Op::Unary(op, a) => C::then(read::<C>(depth, *a), C::unary(*op)),
            Op::Binary(op, a, b) => {
                let both = C::beside(read::<C>(depth, *a), read::<C>(depth, *b));
                C::then(C::then(C::copy(), both), C::binary(*op))
            }
            Op::Discrete(Discrete::Compare(op), args) => {
                let both = C::beside(read::<C>(depth, args[0]), read::<C>(depth, args[1]));
                C::then(C::then(C::copy(), both), C::compare(*op))
            }
            Op::Select(args) => {
                let [mask, then, otherwise] = *args;
                let values = C::then(C::copy(), C::beside(read::<C>(depth, then), read::<C>(depth, otherwise)));
                let all = C::then(C::copy(), C::beside(values, read::<C>(depth, mask)));
                let which = C::then(C::branch(), C::either(first::<C>(), second::<C>()));
                C::then(all, C::then(which, C::join()))
            }
            Op::Discrete(..) | Op::Linear(..) | Op::Contract(..) | Op::Reduce(..) | Op::Gather(..) => {
                unreachable!("a function of numbers")
            }
            Op::ScatterAdd(..) | Op::Concat(..) | Op::Loop(_) | Op::Custom(..) | Op::Call(..) | Op::Output(..) => {
                unreachable!("a function of numbers")
            }
        };
        so_far = C::then(so_far, C::then(C::copy(), C::beside(C::id(), value)));
        depth += 1;
    }
    let mut results = program.results().iter().map(|node| read::<C>(depth, *node));
    let first = results.next().unwrap_or_else(C::delete);
    let all = results.fold(first, |before, this| C::then(C::copy(), C::beside(before, this)));
    C::then(so_far, all)
}

/// The inputs `((x, y), z)` as the context `((((), x), y), z)`.
fn inputs<C: Wiring>(count: usize) -> C::Morphism {
    match count {
        0 => C::delete(),
        1 => C::intro(),
        _ => C::beside(inputs::<C>(count - 1), C::id()),
    }
}

/// The value of a node in a context of this depth.
fn read<C: Wiring>(depth: usize, node: NodeId) -> C::Morphism {
    let mut path = second::<C>();
    for _ in node as usize + 1..depth {
        path = C::then(first::<C>(), path);
    }
    path
}

/// The first component of a pair.
fn first<C: Wiring>() -> C::Morphism {
    C::then(C::then(C::beside(C::id(), C::delete()), C::swap()), C::elim())
}

/// The second component of a pair.
fn second<C: Wiring>() -> C::Morphism {
    C::then(C::beside(C::delete(), C::id()), C::elim())
}
