//! While loops: functions that repeat a program while a mask in its carry holds.
//!
//! The program takes a carry, whose first value is a mask of rank 0, and captured values; it returns the next carry. A
//! trip runs while that mask holds. Law: a function with a bound equals the loop of that many trips in which a trip
//! after the end returns its carry ([`bounded`](crate::checkpoint::bounded)); its derivatives are those of that loop.

use super::{Custom, CustomKind, Program, Term, interpret};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Compare, Discrete, Linear};

/// The value of a mask of rank 0, if it is known.
pub(crate) fn known<T: BaseTensor>(mask: &T) -> Option<bool> {
    mask.peek().and_then(|mask| mask.as_scalar::<bool>().copied())
}

impl Custom {
    /// The results of the function. Where the mask has no known value, or programs are recorded, one trip stands for
    /// all.
    pub(crate) fn value<T: BaseTensor>(&self, args: Vec<T>) -> Vec<T> {
        let CustomKind::While { most } = self.kind() else { return interpret(self.primal(), args) };
        let most = most.unwrap_or(usize::MAX);
        let mut carry = args;
        let captured = carry.split_off(self.primal().outputs().len());
        for _ in 0..most {
            match known(&carry[0]).filter(|_| !T::records()) {
                Some(true) => {
                    carry = interpret(self.primal(), carry.into_iter().chain(captured.iter().cloned()).collect())
                }
                Some(false) => break,
                None => {
                    carry.extend(captured);
                    return interpret(self.primal(), carry);
                }
            }
        }
        carry
    }
}

/// One masked trip: the next carry if the first value of the carry, a mask, holds, and otherwise the carry itself.
pub(crate) fn held<T: BaseTensor>(carry: Vec<T>, step: &mut dyn FnMut(Vec<T>) -> Vec<T>) -> Vec<T> {
    let go = carry[0].clone();
    let next = step(carry.clone());
    let choose = |(before, next): (&T, &T)| T::select(&like(&go, before.shape()), next, before);
    let mut chosen: Vec<T> = carry.iter().zip(&next).skip(1).map(choose).collect();
    chosen.insert(0, T::discrete(&Discrete::And, &[&go, &next[0]]));
    chosen
}

/// A mask of rank 0, or with an element for each row, broadcast to a shape.
pub(crate) fn like<T: BaseTensor>(mask: &T, shape: &[usize]) -> T {
    if mask.shape() == shape {
        return mask.clone();
    }
    let axes: Vec<usize> = (0..mask.shape().len()).collect();
    mask.linear(&Linear::replicate(shape, &axes))
}

/// The program of a while loop on stacks of `n` elements, which may end at different trips. `batched` is the program on
/// stacks, whose first input is a mask with a value for each element; the result has one more mask in front, of rank 0:
/// whether any element goes on.
pub(crate) fn together(batched: &Program, n: usize) -> Program {
    let mut variables = vec![Term::variable(&[], DType::Bool)];
    variables.extend(Term::variables(batched.inputs()));
    let (carry, captured) = variables[1..].split_at(batched.outputs().len());
    let mut next = held(carry.to_vec(), &mut |carry| interpret(batched, [&carry[..], captured].concat()));
    next.insert(0, any(&next[0], n));
    closed(&variables, &next)
}

/// Whether any element of a mask of `n` elements holds.
pub(crate) fn any<T: BaseTensor>(mask: &T, n: usize) -> T {
    let count = T::discrete(&Discrete::ToInt, &[mask]).linear(&Linear::sum(&[n], &[0]));
    T::discrete(&Discrete::Compare(Compare::Gt), &[&count, &T::zeros(&[], DType::I64)])
}

/// The program from variables to results that depend on no other variables.
pub(crate) fn closed(inputs: &[Term], results: &[Term]) -> Program {
    match Term::program(inputs, results, &[]) {
        Ok(program) => program,
        Err(message) => unreachable!("a program is closed: {message}"),
    }
}
