//! The programs of Laplacians, of sums of second derivatives along directions, and of divergences.
//!
//! Law: the program runs once, with the derivatives along all directions and the sum of the second derivatives
//! ([`Collapsed`]). A divergence is the trace of a Jacobian, in the mode with the lower estimated time.

use super::inputs::{closed, split};
use super::modes::{ChosenProgram, DenseDerivative};
use super::strategy::Mode;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::interpreters::adval::Fault;
use crate::interpreters::jet::{Collapsed, Directions};
use crate::ops::{Discrete, IntBinary, Linear};
use crate::passes::Options;
use crate::program::{Program, Slot, Term, interpret};
use crate::shape::{Shape, Show, size};

/// # Panics
/// When the result of a program of one tensor has a different shape than the tensor.
#[track_caller]
pub(super) fn check_field(program: &Program) {
    let (x, y) = (&program.inputs()[0].shape, &program.outputs()[0].shape);
    if x != y {
        panic!(
            "divergence: the result must have the shape of the argument, but the argument is {} and the result {}; return one \
             component for each element of the argument",
            Show(x),
            Show(y)
        );
    }
}

/// The number of directions in stacks for these leaves.
///
/// # Panics
/// When a stack differs from its leaf in more than an outermost axis, or two stacks have different lengths.
#[track_caller]
pub(in crate::ad) fn number_of_directions<T: BaseTensor>(x: &[T], stacks: &[T]) -> usize {
    if x.len() != stacks.len() {
        panic!(
            "laplacian_along: each leaf of the argument needs its directions, but there are {} leaves and {} stacks; stack trees \
             like the argument",
            x.len(),
            stacks.len()
        );
    }
    let count = stacks.first().map_or(0, |v| v.shape()[0]);
    for (x, v) in x.iter().zip(stacks) {
        let needed = along(count, x.shape());
        if needed[..] != *v.shape() || x.dtype() != v.dtype() {
            panic!(
                "laplacian_along: the directions of a leaf {} {} must be {} {}, as many as those of the first leaf, but they are {} {}; \
                 stack one tree like the argument for each direction",
                x.dtype(),
                Show(x.shape()),
                x.dtype(),
                Show(&needed),
                v.dtype(),
                Show(v.shape())
            );
        }
    }
    count
}

fn along(n: usize, shape: &[usize]) -> Shape {
    std::iter::once(n).chain(shape.iter().copied()).collect()
}

/// The program of the sums of second derivatives of the results of a program in its first `count` inputs: along all
/// basis vectors, or along a number of directions, whose stacks are inputs after the arguments.
pub(in crate::ad) fn summed(program: &Program, count: usize, directions: Option<usize>) -> Program {
    let (x, data) = split(program, count);
    let Some(n) = directions else {
        let (n, stacks) = basis(&x);
        let inputs: Vec<Term> = [&x[..], &data].concat();
        let moving = stacks.into_iter().map(Some).chain(data.iter().map(|_| None)).collect::<Vec<_>>();
        let results = at_directions(program, &inputs, n, &moving);
        return closed(program, &[], "", &[x, Vec::new(), data], &results);
    };
    let slot = |x: &Slot| Slot { shape: along(n, &x.shape), ..x.clone() };
    let slots: Vec<Slot> = program.inputs()[..count].iter().map(slot).collect();
    let stacks = Term::variables(&slots);
    let moving: Vec<Option<Term>> = stacks.iter().cloned().map(Some).chain(data.iter().map(|_| None)).collect();
    let results = at_directions(program, &[&x[..], &data].concat(), n, &moving);
    closed(program, &slots, "dot", &[x, stacks, data], &results)
}

/// The sums of second derivatives of the results of a program; an input moves along the directions that are its stack.
pub(in crate::ad) fn at_directions(program: &Program, inputs: &[Term], n: usize, stacks: &[Option<Term>]) -> Vec<Term> {
    let expansion = Directions::new(n);
    let value = |(x, stack): (&Term, &Option<Term>)| match stack {
        Some(stack) => expansion.input(x, stack),
        None => Collapsed::constant_of(x.clone()),
    };
    let results = interpret(program, inputs.iter().zip(stacks).map(value).collect());
    results.iter().map(|y| expansion.result(y)).collect()
}

/// The number of elements of the float terms, and for each term the stack of its parts of the basis vectors.
pub(in crate::ad) fn basis(x: &[Term]) -> (usize, Vec<Term>) {
    let elements = |x: &Term| if x.dtype().is_float() { size(x.shape()) } else { 0 };
    let n = x.iter().map(elements).sum();
    let positions = Term::discrete(&Discrete::Iota { n }, &[]);
    let (_, stacks) = Term::map_accum(n, false, Vec::new(), &[positions], &mut |_, position| {
        let mut start = 0;
        let mut part = |x: &Term| {
            let (at, count) = (Array::scalar(start as i64), elements(x));
            start += count;
            if count == 0 {
                return Term::zeros(x.shape(), x.dtype());
            }
            // Positions outside the term are dropped.
            let at = match start - count {
                0 => position[0].clone(),
                _ => Term::discrete(&Discrete::IntBinary(IntBinary::Sub), &[&position[0], &Term::constant(at)]),
            };
            let one = Term::constant(Array::ones(&[], x.dtype()));
            let flat = Term::zeros(&[count], x.dtype()).scatter_add(&[at], &one);
            flat.linear(&Linear::reshape(&[count], x.shape()))
        };
        (Vec::new(), x.iter().map(&mut part).collect())
    });
    (n, stacks)
}

/// The program of the divergence of a program in its first input.
///
/// # Errors
/// When the derivative does not exist.
pub(in crate::ad) fn divergence_program(
    program: &Program,
    count: usize,
    mode: Option<Mode>,
    options: Options,
    once: bool,
) -> Result<ChosenProgram, Fault> {
    let jacobian = DenseDerivative::jacobian(false).chosen(program, count, mode, options, once)?;
    let (x, data) = split(program, count);
    let matrix = interpret(&jacobian.program, [&x[..], &data].concat()).swap_remove(0);
    let n = size(x[0].shape());
    let square = matrix.linear(&Linear::reshape(matrix.shape(), &[n, n]));
    let trace = square.linear(&Linear::diagonal(&[n, n], 0, 1)).linear(&Linear::sum(&[n], &[0]));
    let program = closed(program, &[], "", &[x, Vec::new(), data], &[trace]);
    Ok(ChosenProgram { program, ready: None, ..jacobian })
}
