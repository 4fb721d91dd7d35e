//! What texts keep beside numbers: barriers, masks, names, places of loops in loops, and their size.

use polygrad::export::Unsupported;
use polygrad::ops::{Binary, Contract, Linear, Unary, View};
use polygrad::program::{Program, Term, interpret};
use polygrad::{Array, BaseTensor, DType, Function, Tensor, checkpoint, external, fold, tensor};

use super::views::of_linear;
use crate::stablehlo::evaluate;
use crate::support::floats;

type Vector<T> = Tensor<T, 1>;

fn step<T: BaseTensor>(c: Tensor<T, 0>, x: &Tensor<T, 0>) -> Tensor<T, 0> {
    (c * x).sin()
}

fn whole<T: BaseTensor>(x: &Vector<T>) -> Tensor<T, 0> {
    fold(Tensor::scalar(0.5), x, step)
}

fn cut<T: BaseTensor>(x: &Vector<T>) -> Tensor<T, 0> {
    checkpoint(2).fold(Tensor::scalar(0.5), x, step)
}

/// What is run again takes its arguments through a barrier.
#[test]
fn segments_stand_behind_barriers() {
    let x = tensor([0.5, 0.25, 1.0, 2.0]);
    let texts = [Function::grad(whole, &x), Function::grad(cut, &x)].map(|f| f.to_stablehlo("f").expect("a text"));
    assert_eq!(texts.map(|text| text.contains("optimization_barrier")), [false, true]);
}

fn reads<T: BaseTensor>(x: &Vector<T>, ix: &Tensor<T, 1, i64>) -> Tensor<T, 0> {
    fold(Tensor::scalar(0.0), ix, |c: Tensor<T, 0>, i: &Tensor<T, 0, i64>| c * 0.5 + x.at([i]))
}

/// Equal bodies are one function only if as much is known of what they read: elsewhere a read is masked.
#[test]
fn equal_bodies_with_other_facts_are_two_functions() {
    let (x, ix) = (tensor([1.0, 2.0, 4.0]), tensor([0, 5, -1]));
    let both = |x: &Vector<_>, ix: &Tensor<_, 1, i64>| reads(x, &Tensor::iota(3)) + reads(x, ix);
    let f = Function::stage_with(both, &x, &ix);
    let inputs = [x.into_raw(), ix.into_raw()];
    let text = f.program().to_stablehlo("f").expect("a text");
    assert_eq!(evaluate(&text, &inputs), interpret(f.program(), inputs.to_vec()), "{text}");
    assert_eq!(text.matches("func.func private").count(), 2, "{text}");
}

/// Inputs and outputs without names have those of their positions.
#[test]
fn what_has_no_name_has_a_position() {
    let x = Term::variable(&[2], DType::F64);
    let program = Term::program(std::slice::from_ref(&x), &[x.unary(Unary::Sin)], &[]).expect("it is closed");
    let signature = program.signature("f");
    assert_eq!((&signature.inputs[0].path[..], &signature.outputs[0].path[..]), ("in.0", "out.0"));
}

/// Beyond 32 positions within a window there is one gather, and no slice for each.
#[test]
fn wide_windows_are_one_gather() {
    for (size, wide) in [(32, false), (33, true)] {
        let text = of_linear(&Linear::window(&[80], 0, size, 1), DType::F64).to_stablehlo("f").expect("a text");
        assert_eq!((text.contains("gather"), text.matches("slice").count() > 9), (wide, !wide), "{text}");
    }
}

fn host<T: BaseTensor>(c: Tensor<T, 0>, x: &Tensor<T, 0>) -> Tensor<T, 0> {
    c + external("twice", |x: &Tensor<Array, 0>| x * 2.0, &tensor(1.0), x)
}

/// Of code of the host in a loop the innermost place is named.
#[test]
fn the_innermost_place_is_named() {
    let line = line!() - 6;
    let f = Function::stage(|x: &Vector<_>| fold(Tensor::scalar(0.0), x, host), &tensor([1.0, 2.0]));
    let Err(Unsupported::External { at, .. }) = f.program().to_stablehlo("f") else { panic!("no operation") };
    assert_eq!(at.expect("the place is known").line, line);
}

/// The text of a program gives the bits that the program gives.
#[track_caller]
fn assert_bits(program: &Program, inputs: &[Array]) -> String {
    let text = program.to_stablehlo("f").expect("a text");
    let bits = |all: Vec<Array>| all.iter().flat_map(floats).map(f64::to_bits).collect::<Vec<u64>>();
    assert_eq!(bits(evaluate(&text, inputs)), bits(interpret(program, inputs.to_vec())), "{program}\n{text}");
    text
}

/// A contraction and a sum add to +0, also where there is one product or element: the sign of a zero is seen by
/// `atan2`, by `recip` and behind a loop, and elsewhere nothing is done about it.
#[test]
fn sums_of_zeros_are_positive_where_an_operation_sees_it() {
    let pair = |space: &[usize], out: &[usize]| {
        let axes: Vec<usize> = (0..space.len()).collect();
        Contract::axes(space, &axes, &axes, out)
    };
    for (op, is_sum) in [(pair(&[1], &[]), false), (pair(&[2], &[0]), false), (pair(&[2], &[]), true)] {
        let t = Term::variable(op.a.source(), DType::F64);
        let inputs = [Array::full(op.a.source(), 0.0)];
        let product = Term::contract(&op, &t, &t.unary(Unary::Neg));
        let four = Term::constant(Array::full(product.shape(), 4.0));
        let scaled = product.binary(Binary::Mul, &four);
        let below = Term::constant(Array::full(product.shape(), -0.0));
        for (result, sees) in
            [(scaled.binary(Binary::Atan2, &below), true), (product.unary(Unary::Recip), true), (scaled, false)]
        {
            let program = Term::program(std::slice::from_ref(&t), &[result], &[]).expect("it is closed");
            if sees {
                let text = assert_bits(&program, &inputs);
                assert_eq!(text.contains("select"), !is_sum, "{text}");
            } else {
                assert!(!program.to_stablehlo("f").expect("a text").contains("select"));
            }
        }
    }
    // Two axes that count in one: as often as they meet.
    let space = [2, 1];
    let sum = Linear::affine(View::axes(&space, &[0]), View::affine(&[2], &space, &[1, 1], &[0]));
    let t = Term::variable(&[2], DType::F64);
    let program =
        Term::program(std::slice::from_ref(&t), &[t.linear(&sum).unary(Unary::Recip)], &[]).expect("it is closed");
    assert_bits(&program, &[Array::from([-0.0, -0.0])]);
}

fn last<T: BaseTensor>(x: &Vector<T>) -> Tensor<T, 0> {
    fold(Tensor::scalar(1.0), x, |_: Tensor<T, 0>, x: &Tensor<T, 0>| x.reshape([1]).dot(&(-x).reshape([1])))
}

/// What an operation sees behind a loop or a segment is seen within it, and one body is two functions for two reasons.
#[test]
fn signs_are_seen_within_loops() {
    let x = tensor([1.0, 0.0]);
    let seen = Function::stage(|x: &Vector<_>| last(x).recip(), &x);
    let text = assert_bits(seen.program(), &[x.clone().into_raw()]);
    assert!(text.contains("while") && text.contains("select"), "{text}");
    let both = Function::stage(|x: &Vector<_>| (last(x), last(&(x * 2.0)).recip()), &x);
    let text = both.program().to_stablehlo("f").expect("a text");
    assert_eq!((text.matches("func.func private").count(), text.matches("stablehlo.select").count()), (2, 1), "{text}");
}
