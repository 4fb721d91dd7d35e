//! Input slicing: a program in two parts: the first copies elements of the inputs, and the second computes.
//!
//! In bundle adjustment, an observation depends on one camera; but all observations of a camera share its columns, so
//! no two of these rows can be computed in one pass of reverse mode. With copies they can: each observation has its own
//! copy of the elements that indices and views select from the inputs. The elements of the matrix are those of the
//! copies, added up if a row reads an input element twice.
//!
//! Law: the composition of `reads` and `rest` is the program, and each element of a copy is an element of the inputs or
//! 0.

use std::num::NonZeroU32;

use crate::array::Array;
use crate::dtype::DType;
use crate::ops::Linear;
use crate::program::{Builder, NodeId, Op, Program, Rebuilt, Slot, interpret};
use crate::shape::size;

use super::seeding::Subject;

/// A program in two parts.
pub(super) struct SlicedProgram {
    /// From the inputs to the copies.
    pub(super) reads: Program,
    /// From the copies, which have the columns, and the inputs that have none, to the results.
    pub(super) rest: Subject,
    /// For each element of the copies, the input element; `None` for 0.
    pub(super) sources: Vec<InputElement>,
}

/// The number of an input element, from 1 on.
pub(super) type InputElement = Option<NonZeroU32>;

/// The largest number of elements of copies for each element of the results. A program that reads more has no sparse
/// matrix, or its rows read the same elements over and over.
const MOST: usize = 16;

impl SlicedProgram {
    /// `None` if the program reads only whole inputs, or too many elements.
    pub(super) fn of(subject: &Subject) -> Option<SlicedProgram> {
        let program = &subject.program;
        let copies = copies(subject);
        let frontier = frontier(program, &copies);
        let is_input = |k: &NodeId| matches!(program.nodes()[*k as usize].op, Op::Input(_));
        let elements = |k: &NodeId| size(&program.nodes()[*k as usize].shape);
        let results: usize = program.outputs().iter().map(|slot| size(&slot.shape)).sum();
        if subject.width() >= u32::MAX as usize {
            return None;
        }
        if frontier.iter().all(is_input) || frontier.iter().map(elements).sum::<usize>() > MOST * results {
            return None;
        }
        let reads = program.with_results(&frontier);
        let rest = rest(subject, &frontier)?;
        let sources = sources(subject, &reads);
        Some(SlicedProgram { reads, rest, sources })
    }
}

/// For each value, whether each of its elements is an element of the inputs that have columns, or 0.
fn copies(subject: &Subject) -> Vec<bool> {
    let nodes = subject.program.nodes();
    let mut copies = vec![false; nodes.len()];
    for (k, node) in nodes.iter().enumerate() {
        copies[k] = node.dtype.is_float()
            && if let Op::Linear(op, a) = &node.op {
                copies[*a as usize] && is_choice(op)
            } else if let Op::Gather(a, ix) = &node.op {
                let known = |i: &NodeId| nodes[*i as usize].op.as_constant().is_some();
                copies[*a as usize] && ix.iter().all(known)
            } else if let Op::Concat(_, parts) = &node.op {
                parts.iter().all(|a| copies[*a as usize])
            } else {
                matches!(node.op, Op::Input(_)) && subject.has_columns(k)
            };
    }
    copies
}

/// Whether each element of the result is one of the operand, or 0.
fn is_choice(op: &Linear) -> bool {
    match op {
        Linear::Affine { into, .. } => into.is_injective(),
        Linear::Reshape { .. } => true,
        Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => false,
    }
}

/// The copies that are results, or operands of operations that are not copies.
fn frontier(program: &Program, copies: &[bool]) -> Vec<NodeId> {
    let mut needed = vec![false; copies.len()];
    for (k, node) in program.nodes().iter().enumerate().filter(|(k, _)| !copies[*k]) {
        debug_assert!(!copies[k], "copies are made of copies");
        node.op.operands(&mut |a| needed[*a as usize] = true);
    }
    program.results().iter().for_each(|r| needed[*r as usize] = true);
    (0..copies.len()).filter(|k| needed[*k] && copies[*k]).map(|k| k as NodeId).collect()
}

/// The program from the values of the frontier and the inputs that have no columns to the results.
fn rest(subject: &Subject, frontier: &[NodeId]) -> Option<Subject> {
    let program = &subject.program;
    let mut b = Builder::literal();
    let mut numbers = vec![None; program.nodes().len()];
    for (k, id) in frontier.iter().enumerate() {
        let node = &program.nodes()[*id as usize];
        let slot = Slot { name: format!("read{k}"), shape: node.shape.clone(), dtype: node.dtype };
        numbers[*id as usize] = Some(b.input(slot));
    }
    for (k, slot) in subject.inputs(false) {
        numbers[k] = Some(b.input(slot.clone()));
    }
    b.follow(program, &mut numbers);
    let results: Option<Vec<NodeId>> = program.results().iter().map(|r| numbers[*r as usize]).collect();
    Some(Subject { program: b.finish(&results?, &[]), count: frontier.len() })
}

/// The input elements of the copies, found by a run of `reads` on the numbers of the input elements: from 1 on, since
/// positions out of bounds read 0.
fn sources(subject: &Subject, reads: &Program) -> Vec<InputElement> {
    sources_from(1, subject, reads)
}

/// [`sources`], numbered from `next` on. The numbers are f64, whatever the element types of the inputs, since integers
/// in f32 are exact up to 2^24 alone.
fn sources_from(mut next: usize, subject: &Subject, reads: &Program) -> Vec<InputElement> {
    let reads = in_f64(reads);
    let input = |(k, slot): (usize, &Slot)| {
        if !subject.has_columns(k) {
            return Array::zeros(&slot.shape, slot.dtype);
        }
        let first = next;
        next += size(&slot.shape);
        Array::new(&slot.shape, (first..next).map(|k| k as f64).collect::<Vec<f64>>())
    };
    let inputs: Vec<Array> = reads.inputs().iter().enumerate().map(input).collect();
    let copies = interpret(&reads, inputs).into_iter().flat_map(|a| a.to_vec::<f64>().unwrap_or_default());
    copies.map(|number| NonZeroU32::new(number as u32)).collect()
}

/// The program, which only moves elements, with f64 in the place of other floats.
fn in_f64(reads: &Program) -> Program {
    let wide = |dtype: DType| if dtype.is_float() { DType::F64 } else { dtype };
    let mut b = Builder::literal();
    let slots: Vec<Slot> = reads.inputs().iter().map(|slot| Slot { dtype: wide(slot.dtype), ..slot.clone() }).collect();
    let inputs = b.inputs(&slots, &[]);
    reads.rebuilt(b, inputs, &mut |b, _, node, now| {
        Rebuilt::One(b.cons(now.op(&node.op), node.shape.clone(), wide(node.dtype)))
    })
}

#[cfg(test)]
mod tests {
    use crate::BaseTensor;
    use crate::ad::sparse::input_slicing::*;
    use crate::program::Term;

    /// Numbers as large as for more than 2^24 inputs, without these inputs.
    #[test]
    fn numbers_of_f32_inputs_are_exact_beyond_its_integers() {
        for dtype in [DType::F32, DType::F64] {
            let (x, y) = (Term::variable(&[3, 2], dtype), Term::variable(&[2], dtype));
            let part = x.linear(&Linear::permute(&[3, 2], &[1, 0])).linear(&Linear::reshape(&[2, 3], &[6]));
            let all = Term::concat(0, &[part.linear(&Linear::slice(&[6], 0, 1, 4, 1)), y.clone()]);
            let row = Term::constant(Array::from([2_i64, 0]));
            let results = [x.gather(&[row]), all.linear(&Linear::pad(&[6], &[1], &[0]))];
            let reads = Term::program(&[x, y], &results, &[]).expect("closed");
            let subject = Subject { program: reads.clone(), count: 2 };
            for first in [1, (1 << 24) - 3, (1 << 24) + 1, (1 << 30) + 5] {
                let found: Vec<usize> =
                    sources_from(first, &subject, &reads).iter().map(|of| of.map_or(0, |k| k.get() as usize)).collect();
                let at = |k: usize| first + k;
                let rows = [at(4), at(5), at(0), at(1)];
                let second = [0, at(2), at(4), at(1), at(3), at(6), at(7)];
                assert_eq!(found, [&rows[..], &second].concat(), "{dtype} from {first}");
            }
        }
    }
}
