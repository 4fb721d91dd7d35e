//! Arrays that cannot be, in every interpreter: no product or sum of sizes wraps.

use polygrad::backend::compile;
use polygrad::ops::{Contract, Discrete, Linear, Unary};
use polygrad::program::Term;
use polygrad::shape::MAX_SIZE;
use polygrad::{
    BaseTensor, Concrete, Conv, DType, Tensor, build, build1, concat, einsum, iterate, map, scan, stack, tensor, vmap,
};

use crate::log::Log;

/// Shapes that no array can have, by every way to a larger shape; `x` has shape `[2, 3]`.
pub(crate) fn sizes<T: BaseTensor>(x: &Tensor<T, 2>, log: &mut Log) {
    let v: &Tensor<T, 1> = &x.slice(1, 0..2).row(0);
    log.panics(|| v.pad([((-1i64) as usize, 1)]));
    log.panics(|| v.pad([(1 << 62, 1 << 62)]));
    log.panics(|| v.pad([(MAX_SIZE - 1, 0)]));
    log.panics(|| Tensor::<T, 2>::full([1 << 32, 1 << 32], 1.0));
    log.panics(|| Tensor::<T, 1>::zeros([1 << 63]));
    log.panics(|| Tensor::<T, 3>::ones([1 << 40, 0, 1 << 40]));
    log.panics(|| Tensor::<T, 1, i64>::iota(MAX_SIZE + 1));
    log.panics(|| Tensor::<T, 1>::linspace(0.0, 1.0, usize::MAX));
    log.panics(|| Tensor::<T, 2>::eye(1 << 31));
    log.panics(|| Tensor::<T, 2>::eye_at([1 << 31, 1 << 31], -1));
    log.panics(|| v.slice(0, ..1).broadcast_to([usize::MAX]));
    log.panics(|| x.replicate::<3>(1 << 62));
    log.panics(|| x.replicate_axis::<3>(1, usize::MAX));
    log.panics(|| v.slice(0, ..0).reshape([0, 1 << 62]));

    let (long, half) = (&Tensor::<T, 1>::ones([1 << 31]), &Tensor::<T, 1>::ones([1 << 59]));
    let (column, row) = (&long.insert_axis::<2>(1), &long.insert_axis::<2>(0));
    log.panics(|| column + row);
    log.panics(|| column.max(row));
    log.panics(|| column.gt(0.0).select(row, 0.0));
    log.panics(|| column.matmul(row));
    log.panics(|| column.replicate::<3>(1).batched_matmul(&row.replicate(1)));
    log.panics(|| long.outer::<1, 2>(long));
    log.panics(|| einsum::<_, 2, _>("ij,kj->ik", [column, column]));
    log.panics(|| long.diag());
    log.panics(|| long.to_int().one_hot::<2, f64>(1 << 31));
    log.panics(|| half.window::<2>(0, 1 << 58, 1));
    log.panics(|| x.gather::<_, 1, 1, 1, 2>([&half.to_int()]));
    log.panics(|| concat(0, [half, half]));
    log.panics(|| stack::<_, 1, 2, _>([half, half, half]));

    let signal = &x.insert_axis::<3>(0);
    log.panics(|| signal.conv1d(signal, Conv::default().padding([1 << 62])));
    log.panics(|| signal.conv1d(signal, Conv::default().padding([1 << 63])));
    log.panics(|| signal.conv1d(signal, Conv::default().dilation([1 << 63])));
    let (one, kernel) = (&row.replicate::<3>(1), &long.reshape([1 << 31, 1, 1]));
    log.panics(|| one.conv1d(kernel, Conv::default()));

    log.panics(|| build1(usize::MAX, |_| v.sum()));
    log.panics(|| build1(1 << 63, |_| v.clone()));
    log.panics(|| build([1 << 31, 1 << 31], |_| v.sum()));
    log.panics_naming_the_call(|| build([2, 3], |_| half.clone()));
    log.panics_naming_the_call(|| vmap(|_: &Tensor<T, 1>| half.clone())(x));
    log.panics(|| iterate(usize::MAX, v.sum(), |_, c| c));
    log.panics(|| map(half, |_| v.clone()));
    log.panics(|| map(0..usize::MAX, |_| v.clone()));
    log.panics(|| scan(v.clone(), half, |c, _| c));
    values(x.raw(), log);
}

/// The same where ranks and element types are known at run time only.
fn values<T: BaseTensor>(x: &T, log: &mut Log) {
    let half = &T::zeros(&[1 << 59], DType::F64);
    log.panics(|| T::zeros(&[1 << 30, 1 << 30], DType::Bool));
    log.panics(|| T::discrete(&Discrete::Iota { n: 1 << 60 }, &[]));
    log.panics(|| x.linear(&Linear::replicate(&[1 << 62, 2, 3], &[1, 2])));
    log.panics(|| x.linear(&Linear::sum(&[2, 3], &[0]).batched(1 << 62)));
    log.panics(|| x.linear(&Linear::reshape(&[2, 3], &[6]).batched(1 << 60)));
    log.panics(|| T::contract(&Contract::axes(&[1 << 31, 1 << 31], &[0], &[1], &[0, 1]), half, half));
    let step = &mut |_: Vec<T>, _: &[T]| (vec![], vec![x.clone()]);
    log.panics(|| T::map_accum(1 << 59, false, vec![], std::slice::from_ref(half), step));
    log.panics(|| T::map_accum(usize::MAX, false, vec![], &[], step));
}

/// Arrays that can be, but not in this memory; only an interpreter that computes can see.
pub(crate) fn memory(log: &mut Log) {
    const N: usize = 1 << 56;
    let long = &Tensor::<Concrete, 1>::ones([N]);
    log.panics(|| long.to_vec());
    log.panics(|| Tensor::<Concrete, 1, i64>::iota(N));
    log.panics(|| Tensor::<Concrete, 1>::linspace(0.0, 1.0, N));
    log.panics(|| long.pad([(1, 0)]));
    log.panics(|| long.diag());
    log.panics(|| concat(0, [long, &tensor([2.0])]));
    log.panics(|| long.clone().scatter_add([&tensor(3)], &tensor(1.0)));
    log.panics(|| long.gather([&Tensor::full([N], -1)]));
    log.panics(|| long.outer::<1, 2>(&tensor([1.0, 2.0])));
    log.panics(|| map(long, |_| tensor([1.0, 2.0])));
    log.panics_naming_the_call(|| vmap(|_: &Tensor<_, 0>| tensor([1.0, 2.0]))(long));
    log.panics_naming_the_call(|| {
        let trip = std::cell::Cell::new(0.0);
        vmap(move |_: &Tensor<_, 0>| tensor(trip.replace(1.0)))(long)
    });
    log.panics(|| polygrad::array::Rng::new(0).uniform(&[N], 0.0, 1.0));
    // The states of a loop, which a compiled run keeps.
    let x = Term::variable(&[], DType::F64);
    let (_, states) = Term::map_accum(N, false, vec![x.clone()], &[], &mut |carry, _| {
        let next = carry[0].unary(Unary::Sin);
        (vec![next.clone()], vec![next])
    });
    let sum = states[0].linear(&Linear::sum(&[N], &[0]));
    let executable = compile(&Term::program(&[x], &[sum], &[]).expect("a closed program"));
    log.panics(|| executable.workspace());
    log.panics(|| executable.run(&[0.5.into()]));
}
