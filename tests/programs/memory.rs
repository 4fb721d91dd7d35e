//! Memory of recorded programs; memory of compiled runs that is large, or that cannot be had.
//!
//! Law: a run that has no memory is a panic in words before any result is written, and the process goes on; memory that a
//! run does not touch is not written, so it is not had.

use std::panic::{AssertUnwindSafe, catch_unwind};

use polygrad::backend::compile;
use polygrad::ops::{Binary, Linear, Unary};
use polygrad::program::{Program, Term};
use polygrad::shape::MAX_SIZE;
use polygrad::{Array, BaseTensor, DType, Function, Tensor, iterate_all, tensor};

use crate::compiled::{bytes_of, most_held_by, zeroed_of};

/// So many operations in a chain, which use their inputs again and again.
fn chain(x: &Tensor<Term, 1>, n: usize) -> Tensor<Term, 0> {
    let (a, b) = (x.at([0]), x.at([1]));
    (0..n).fold(a.clone(), |y, k| match k % 4 {
        0 => y.sin(),
        1 => &y * &a,
        2 => &y + &b,
        _ => &y * 0.5,
    })
}

/// Neither the memory of a recording nor that of a derivative grows faster than the program.
#[test]
fn a_recorded_operation_takes_few_bytes() {
    let x = tensor([0.3, 0.5]);
    let bytes = |n: usize| {
        let whole = most_held_by(|| drop(Function::stage(|x: &Tensor<Term, 1>| chain(x, n), &x))) / n;
        let gradient = most_held_by(|| drop(Function::grad(|x: &Tensor<Term, 1>| chain(x, n), &x))) / n;
        [whole, gradient]
    };
    let (few, many) = (bytes(5_000), bytes(20_000));
    // The gradient has nearly three operations for each of the function.
    assert!(many[0] <= 1000 && many[1] <= 3000, "{many:?} bytes an operation");
    assert!(many.iter().zip(few).all(|(many, few)| 10 * many <= 11 * few), "{few:?} and {many:?} bytes an operation");
}

/// The words of a panic.
#[track_caller]
fn words<R>(run: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(run)) else { panic!("there is memory") };
    payload.downcast_ref::<String>().expect("words").clone()
}

/// The sums of stacks of states of a loop of so many trips.
fn stacks(n: usize, count: usize) -> Program {
    let x = Term::variable(&[], DType::F64);
    let init = vec![x.clone(); count];
    let (_, outputs) = Term::map_accum(n, false, init, &[], &mut |carry, _| {
        let next: Vec<Term> = carry.iter().map(|c| c.unary(Unary::Sin).binary(Binary::Add, &x)).collect();
        (next.clone(), next)
    });
    let sums: Vec<Term> = outputs.iter().map(|y| y.linear(&Linear::sum(&[n], &[0]))).collect();
    Term::program(&[x], &sums, &[]).expect("a closed program")
}

#[test]
fn a_workspace_that_cannot_be_had_is_a_panic_in_words() {
    // More than the addresses of a process; the most an array may have; and more than a number can say.
    for (n, count, bytes) in
        [(1 << 50, 1, "bytes, which"), (MAX_SIZE, 1, "bytes, which"), (MAX_SIZE, 3, "bytes or more, which")]
    {
        let executable = compile(&stacks(n, count));
        for text in [words(|| executable.workspace()), words(|| executable.run(&[Array::scalar(0.5)]))] {
            assert!(text.starts_with("run: the values of a program must fit into memory"), "{text}");
            assert!(text.contains(bytes) && text.contains("cannot be allocated; make the arrays smaller"), "{text}");
        }
        assert!(executable.peak_bytes() >= n.saturating_mul(8 * count));
    }
    // What fits runs.
    assert_eq!(compile(&stacks(3, 1)).run(&[Array::scalar(0.0)]), [Array::scalar(0.0)]);
}

#[test]
fn a_function_whose_run_cannot_be_had_is_a_panic_in_words() {
    let f = Function::stage(
        |x: &Tensor<Term, 0>| {
            let all: Tensor<Term, 1> = iterate_all(1usize << 50, x.clone(), |_, x| x.sin());
            (all.clone() * all.reverse(0)).sum()
        },
        &tensor(0.5),
    );
    let text = words(|| f.run(&tensor(0.5)));
    assert!(text.contains("cannot be allocated"), "{text}");
}

#[test]
fn inputs_that_cannot_be_spelled_out_leave_the_outputs_as_they_are() {
    // An array of one repeated number takes no memory, but a compiled run reads elements.
    let shape = [1 << 50];
    let [x, y] = [&shape[..], &[2]].map(|shape| Term::variable(shape, DType::F64));
    let sum = x.unary(Unary::Sin).linear(&Linear::sum(&shape, &[0]));
    let program = Term::program(&[y.clone(), x], &[y.unary(Unary::Exp), sum], &[]).expect("a closed program");
    let executable = compile(&program);
    let (mut workspace, mut outputs) = (executable.workspace(), [Array::from([3.0, 4.0]), Array::scalar(5.0)]);
    let inputs = [Array::from([1.0, 2.0]), Array::zeros(&shape, DType::F64)];
    let text = words(|| executable.run_into(&mut workspace, &inputs, &mut outputs));
    assert!(text.contains("must fit into memory"), "{text}");
    assert_eq!(outputs, [Array::from([3.0, 4.0]), Array::scalar(5.0)]);
}

#[test]
fn a_workspace_is_not_written_when_it_is_made() {
    const TRIPS: usize = 1 << 27;
    let executable = compile(&stacks(TRIPS, 1));
    assert!(executable.peak_bytes() >= 8 * TRIPS);
    let mut all = 0;
    let zeroed = zeroed_of(|| all = bytes_of(|| drop(executable.workspace())));
    // The allocator is asked for zeros, which it has from the system; nothing else is large.
    assert!(zeroed >= 8 * TRIPS && all - zeroed < 1 << 20, "{zeroed} of {all}");
}
