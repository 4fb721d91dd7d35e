//! Mistakes in programs as data.

use std::collections::BTreeMap;
use std::sync::Arc;

use polygrad::backend::{LentSlice, LentSliceMut, compile};
use polygrad::export::{Exported, Mesh, ShardingError};
use polygrad::ops::{Call, External, Matrix, Tap, TapKind, Unary};
use polygrad::program::{Builder, Loop, Op, Program, Slot, interpret};
use polygrad::shape::Shape;
use polygrad::tree::{Keep, Parameters};
use polygrad::{
    Array, BaseTensor, DType, FlatFunction, Function, Tensor, external, sparse_jacobian_with, symbolic, tensor,
};

use crate::log::Log;

/// Programs that are used as what they are not.
pub(crate) fn programs(log: &mut Log) {
    let v = tensor([1.0, 2.0]);
    let square = Function::stage(|x: &Tensor<_, 1>| x.square(), &v);
    let both = Function::stage(|x: &Tensor<_, 1>| (x.sum(), x.square()), &v);
    let (square, both) = (square.program(), both.program());

    log.panics(|| interpret::<Array>(square, vec![]));
    log.panics(|| interpret(square, vec![Array::from([1.0])]));
    let (run, other) = (compile(square), compile(both));
    log.panics(|| run.run(&[]));
    log.panics(|| run.run_into(&mut run.workspace(), &[Array::from([1.0, 2.0])], &mut [Array::scalar(0.0)]));
    log.panics(|| run.run_into(&mut other.workspace(), &[Array::from([1.0, 2.0])], &mut [Array::from([0.0, 0.0])]));
    log.panics(|| run.run_slices(&[LentSlice::F32(&[1.0, 2.0])], &mut [LentSliceMut::F64(&mut [0.0; 2])]));
    log.panics(|| run.run_slices(&[LentSlice::F64(&[1.0, 2.0])], &mut [LentSliceMut::F64(&mut [0.0; 3])]));
    let squares = FlatFunction::new(|x: &Tensor<_, 1>| x.square(), &tensor([1.0, 2.0]));
    log.panics(|| squares.run(&[1.0], &mut [0.0; 2]));
    log.panics(|| squares.jvp(&[1.0; 2], &[1.0; 3], &mut [0.0; 2]));
    log.panics(|| squares.vjp(&[1.0; 2], &[1.0; 2], &mut [0.0; 1]));
    log.panics(|| squares.jacobian(&[1.0; 2], &mut [0.0; 2]));
    log.panics(|| squares.sparse_jacobian(&[1.0; 2], &mut [0.0; 4]));
    log.panics(|| squares.tree(&[1.0; 3]));
    log.panics(|| squares.value(&[1.0, 2.0]));
    log.panics(|| squares.value_and_grad(&[1.0, 2.0], &mut [0.0; 2]));
    log.panics(|| squares.hvp(&[1.0, 2.0], &[1.0; 2], &mut [0.0; 2]));
    log.panics(|| squares.hessian(&[1.0, 2.0], &mut [0.0; 4]));
    log.panics(|| squares.hessian_pattern().len());
    log.panics(|| FlatFunction::<_, f32>::with_elements(|x: &Tensor<_, 1>, _| x.square(), &tensor([1.0, 2.0]), &()));
    log.panics(|| FlatFunction::new(|x: &Tensor<_, 1>| x.gt(0.0), &tensor([1.0, 2.0])));
    log.panics(|| square.named(&["x"], &[]));
    log.panics(|| symbolic::grad(both));
    log.panics(|| symbolic::value_and_grad_in(square, &[0]));
    log.panics(|| symbolic::vjp_in(square, &[3]));
    let sum = Function::stage(|x: &Tensor<_, 1>| x.sum(), &v);
    log.panics(|| symbolic::value_and_grad_in(sum.program(), &[1]));
    let bound = polygrad::FunctionOptions::new().memory(100);
    let sums = Function::stage(|x: &Tensor<_, 1>| x.cumsum(0).reverse(0).cumsum(0), &Tensor::zeros([1000]));
    // The lines of the values stand in the message, and change with this file.
    log.fails(sums.try_with_options(bound).map_err(|mut error| {
        error.live.iter_mut().for_each(|value| value.truncate(value.find(" at ").unwrap_or(value.len())));
        error
    }));
    log.panics(|| symbolic::derivative(both));
    log.panics(|| symbolic::derivative(square));
    log.panics(|| symbolic::transpose(square, 1));
    log.panics(|| symbolic::transpose(square, 2));

    let slot = Slot { name: String::from("x"), shape: [2].as_slice().into(), dtype: DType::F64 };
    let mut builder = Builder::new();
    let x = builder.input(slot.clone());
    builder.add(Op::Unary(Unary::Sin, x), slot.shape.clone(), slot.dtype);
    log.panics(|| builder.input(slot));

    let traced = (vec![v.clone()], Keep(4));
    let first = Function::stage(|x: &(Vec<Tensor<_, 1>>, Keep<i64>)| x.0[0].sum(), &traced);
    log.fails(first.run(&(vec![tensor([1.0])], Keep(4))));
    log.fails(first.run(&(vec![v.clone()], Keep(2))));
    log.fails(first.run(&(vec![v.clone(), v.clone()], Keep(4))));
    log.fails(first.run(&(vec![], Keep(4))));
    let given = Function::stage(|x: &Option<Tensor<_, 1>>| x.as_ref().map(Tensor::sum), &Some(v.clone()));
    log.fails(given.run(&None));
    let seen = (tensor([0, 1]), tensor([true, false]));
    let at = |x: &Tensor<_, 1>, (i, mask): &(Tensor<_, 1, i64>, Tensor<_, 1, bool>)| mask.select(x.take(i), x);
    let sparse = sparse_jacobian_with(at, &v, &seen);
    log.fails(sparse.run_with(&v, &(tensor([0, 2]), seen.1.clone())));
    log.fails(sparse.run_with(&v, &(seen.0, tensor([false, false]))));

    parameters(log);
    log.fails(serde_json::from_value::<Program>(serde_json::json!({"format": 2})));
    let number = vec![(Shape::new(), DType::F64)];
    let half = External::unlinked("half", number.clone(), number.clone());
    let mut b = Builder::new();
    let given = b.input(Slot { name: "x".into(), shape: Shape::new(), dtype: DType::F64 });
    let of = b.apply(Op::Call(Call::External(Arc::new(half.clone())), vec![given]));
    let result = b.apply(Op::Output(of, 0));
    let unlinked = b.finish(&[result], &[]);
    log.fails(unlinked.link(&[]));
    let other = External::unlinked("half", number, vec![(Shape::new(), DType::F32)]);
    log.fails(unlinked.link(&[other]));
    log.panics(|| Array::call(&Call::External(Arc::new(half.clone())), &[Array::scalar(1.0)]));
    log.panics(|| Array::call(&Call::External(Arc::new(half.clone())), &[]));
    taps(log);
    log.panics(|| Array::call(&Call::Matrix(Matrix::Minors { without: 2 }), &[Array::zeros(&[9, 9], DType::F64)]));
    log.fails(serde_json::from_value::<Tensor<Array, 2>>(serde_json::to_value(&v).expect("a tensor can be saved")));
    log.fails(serde_json::to_value(nested_loops(128)));
}

/// Parameters that do not fit a tree, and trees whose leaves have no names of their own.
fn parameters(log: &mut Log) {
    let (x, y) = (tensor([1.0, 2.0]), tensor(1.0));
    let saved = Parameters::of(&vec![x.clone(), x.clone()]).expect("numbers differ");
    log.fails(saved.load_into(&vec![x.clone(); 3]));
    log.fails(saved.load_into(&vec![x.clone()]));
    log.fails(saved.load_into(&vec![y.clone(), y.clone()]));
    let entry = |name: &'static str| BTreeMap::from([(name, y.clone())]);
    log.fails(Parameters::of(&BTreeMap::from([("a.b", entry("c")), ("a", entry("b.c"))])));
    log.fails(Parameters::of_safetensors(&[]));
    for (dtype, shape, bytes) in [("BF16", "1", 2), ("F64", "4611686018427387904,0", 0)] {
        let header = format!(r#"{{"x":{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[0,{bytes}]}}}}"#);
        let data = vec![0; bytes];
        log.fails(Parameters::of_safetensors(
            &[&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat(),
        ));
    }
}

/// A program of that many loops, one inside the other.
fn nested_loops(depth: usize) -> Program {
    let scalar = || [].as_slice().into();
    let mut builder = Builder::new();
    let x = builder.input(Slot { name: String::from("x"), shape: scalar(), dtype: DType::F64 });
    let Some(below) = depth.checked_sub(1) else { return builder.finish(&[x], &[]) };
    let body = nested_loops(below);
    let of = Loop { n: 1, reverse: false, body, init: vec![x], xs: vec![], captured: vec![] };
    let of = builder.add(Op::Loop(Box::new(of)), scalar(), DType::F64);
    let y = builder.add(Op::Output(of, 0), scalar(), DType::F64);
    builder.finish(&[y], &[])
}

/// Programs that StableHLO cannot write.
pub(crate) fn exports(log: &mut Log) {
    let m = tensor([[2.0, 1.0], [1.0, 2.0]]);
    let twice = |x: &Tensor<Array, 2>| x * 2.0;
    let host = Function::stage(|x: &Tensor<_, 2>| external("twice", twice, &Tensor::<Array, 2>::zeros([2, 2]), x), &m);
    log.fails(host.to_stablehlo("host"));

    let (w, x) = (tensor([[2.0, 1.0], [1.0, 2.0]]), tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]));
    let f = Function::value_and_grad_with(|w: &Tensor<_, 2>, x: &Tensor<_, 2>| x.matmul(w).sum(), &w, &x);
    let exported = f.exported("f").expect("a text");
    let mesh = Mesh::new(&[("batch", 3), ("model", 2)]);
    log.fails(exported.sharded(&mesh, &[("date", 0, "batch")]));
    log.fails(exported.sharded(&mesh, &[("data", 0, "rows")]));
    log.fails(exported.sharded(&mesh, &[("value", 0, "batch")]));
    log.fails(exported.sharded(&mesh, &[("data", 0, "batch"), ("data", 1, "batch")]));
    log.fails(exported.sharded(&mesh, &[("x", 1, "batch")]));
    log.fails(Exported { text: String::new(), ..exported }.sharded(&mesh, &[]));
    log.panics(|| Mesh::new(&[("a b", 2)]));
    log.panics(|| Mesh::new(&[("a", 2), ("a", 4)]));
    log.panics(|| Mesh::new(&[("a", 0)]));
    log.panics(|| Mesh::new(&[("a", 70_000), ("b", 70_000)]));
    log.fails(Err::<(), _>(ShardingError::ElementType { path: "x".into(), dtype: "f16".into() }));
}

/// Checks that do not hold, and taps of what they do not take.
fn taps(log: &mut Log) {
    let v = tensor([1.0, -2.0]);
    let positive = |x: &Tensor<_, 1>| x.check(&x.gt(0.0), "x is positive").sqrt();
    log.fails(Function::stage(positive, &v).run(&v));
    log.panics(|| v.check(&v.sum().gt(0.0), "the sum is positive"));
    let tap = |kind: TapKind| Call::Tap(Tap::new(kind, None).into());
    let x = Array::from([1.0]);
    log.panics(|| Array::call(&tap(TapKind::Check("x".into())), &[x.clone(), x.clone()]));
    log.panics(|| Array::call(&tap(TapKind::Debug(vec!["x".into()])), &[]));
    let stacks = Tap::new(TapKind::Debug(vec!["x".into()]), None).batched(3, vec![true]);
    log.panics(|| Array::call(&Call::Tap(stacks.into()), std::slice::from_ref(&x)));
}
