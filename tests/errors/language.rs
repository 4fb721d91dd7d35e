//! Mistakes that the language refuses, in every interpreter.

use std::cell::Cell;

use polygrad::base::{Group, map_accum_grouped, repeat_grouped};
use polygrad::ops::{Binary, Call, Contract, Discrete, FloatStep, IntBinary, Linear, Matrix, Reduce, Unary};
use polygrad::{Array, BaseTensor, DType};

use crate::log::Log;

/// An operation of linear algebra.
#[track_caller]
fn all<T: BaseTensor>(op: Matrix, args: &[&T]) -> Vec<T> {
    T::call(&Call::Matrix(op), &args.iter().map(|t| (*t).clone()).collect::<Vec<T>>())
}

/// What the language refuses, where ranks and element types are known at run time only; `x` has shape `[2, 3]`.
pub(crate) fn language<T: BaseTensor>(x: &T, log: &mut Log) {
    let t = &x.linear(&Linear::permute(&[2, 3], &[1, 0]));
    let n = &T::discrete(&Discrete::ToInt, &[x]);
    let mask = &T::discrete(&Discrete::Not, &[&T::zeros(&[2, 3], DType::Bool)]);
    let f = &T::zeros(&[2, 3], DType::F32);

    log.panics(|| n.unary(Unary::Sin));
    log.panics(|| x.binary(Binary::Add, t));
    log.panics(|| x.binary(Binary::Mul, n));
    log.panics(|| n.binary(Binary::Mul, n));
    log.panics(|| x.clone().accumulate(t));
    log.panics(|| x.clone().accumulate(f));
    log.panics(|| n.clone().accumulate(x));
    log.panics(|| mask.clone().accumulate(mask));
    log.panics(|| T::select(x, x, x));
    log.panics(|| T::select(mask, x, t));
    log.panics(|| T::select(mask, t, t));
    log.panics(|| T::select(mask, x, f));

    log.panics(|| T::discrete(&Discrete::Not, &[]));
    log.panics(|| T::discrete(&Discrete::And, &[mask]));
    log.panics(|| T::discrete(&Discrete::IntBinary(IntBinary::Add), &[n, n, n]));
    log.panics(|| T::discrete(&Discrete::IntBinary(IntBinary::Add), &[x, t]));
    log.panics(|| T::discrete(&Discrete::IntBinary(IntBinary::Add), &[x, n]));
    log.panics(|| T::discrete(&Discrete::IntBinary(IntBinary::Add), &[x, x]));
    log.panics(|| T::discrete(&Discrete::Not, &[n]));
    log.panics(|| T::discrete(&Discrete::FloatStep(FloatStep::Floor), &[n]));
    log.panics(|| T::discrete(&Discrete::ToFloat(DType::F64), &[x]));
    log.panics(|| T::discrete(&Discrete::ToFloat(DType::I64), &[mask]));
    log.panics(|| T::discrete(&Discrete::ArgMax { axis: 0 }, &[mask]));
    log.panics(|| T::discrete(&Discrete::ArgMax { axis: 2 }, &[x]));
    log.panics(|| T::discrete(&Discrete::ArgSort { axis: 0, descending: false }, &[mask]));
    log.panics(|| T::discrete(&Discrete::ArgSort { axis: 2, descending: false }, &[x]));
    log.panics(|| T::discrete(&Discrete::PrefixArg { axis: 0, largest: true, reverse: false }, &[mask]));
    log.panics(|| T::discrete(&Discrete::PrefixArg { axis: 2, largest: false, reverse: false }, &[x]));
    log.panics(|| T::discrete(&Discrete::ArgMin { axis: 1 }, &[&T::zeros(&[3, 0], DType::F64)]));

    log.panics(|| mask.reduce(Reduce::Max { axis: 0 }));
    log.panics(|| mask.linear(&Linear::prefix_sum(mask.shape(), 0)));
    log.panics(|| Linear::prefix_sum(&[2, 3], 2));
    log.panics(|| x.reduce(Reduce::Min { axis: 2 }));
    log.panics(|| T::zeros(&[3, 0], DType::F64).reduce(Reduce::Max { axis: 1 }));

    log.panics(|| x.linear(&Linear::reshape(&[6], &[6, 1])));
    log.panics(|| mask.linear(&Linear::sum(&[2, 3], &[0])));
    log.panics(|| x.linear(&Linear::cast(&[2, 3], DType::F32, DType::F64)));
    log.panics(|| x.clone().accumulate_linear(&Linear::reshape(&[2, 3], &[3, 2]), x));
    let product = &Contract::axes(&[2, 2, 3], &[0, 2], &[1, 2], &[0, 1]);
    log.panics(|| T::contract(product, x, t));
    log.panics(|| T::contract(product, x, n));
    log.panics(|| T::contract(product, mask, mask));

    let square = &T::zeros(&[2, 2], DType::F64);
    log.panics(|| all(Matrix::Cholesky, &[x]));
    log.panics(|| all(Matrix::Cholesky, &[square, square]));
    log.panics(|| all(Matrix::Eigh, &[n]));
    log.panics(|| all(Matrix::Det, &[&T::zeros(&[2], DType::F64)]));
    log.panics(|| all(Matrix::Product { transposed: false }, &[x, x]));
    log.panics(|| all(Matrix::EighSolve, &[square, square, x, x]));
    log.panics(|| all(Matrix::Lstsq { transposed: false }, &[t, t, square, square, square]));
    log.panics(|| all(Matrix::ExpmTangent { transposed: false }, &[square, x]));
    log.panics(|| all(Matrix::SolveTriangular { lower: true, transposed: false, unit: false }, &[square, f]));
    log.panics(|| all(Matrix::Solve { transposed: false }, &[square, x, square, n]));

    let ix = |n: usize| T::discrete(&Discrete::Iota { n }, &[]);
    log.panics(|| x.gather(&[ix(1), ix(1), ix(1)]));
    log.panics(|| x.gather(&[ix(1), x.clone()]));
    log.panics(|| x.gather(&[ix(1), ix(2)]));
    log.panics(|| x.clone().scatter_add(&[ix(1)], &ix(1)));
    log.panics(|| n.clone().scatter_add(&[ix(2)], x));
    log.panics(|| mask.clone().scatter_add(&[ix(2)], mask));
    log.panics(|| T::concat(0, &[]));
    log.panics(|| T::concat(2, std::slice::from_ref(x)));
    log.panics(|| T::concat(0, &[x.clone(), t.clone()]));
    log.panics(|| T::concat(0, &[x.clone(), n.clone()]));

    let xs = std::slice::from_ref(x);
    log.panics(|| T::map_accum(3, false, vec![], xs, &mut |_, _| (vec![], vec![])));
    log.panics(|| T::map_accum(2, true, vec![ix(3)], xs, &mut |_, r| (r.to_vec(), vec![])));
    let start = || T::zeros(&[3], DType::F64);
    log.panics(|| T::map_accum(2, false, vec![start()], xs, &mut |_, _| (vec![ix(3)], vec![])));
    log.panics(|| {
        T::map_accum(2, false, vec![ix(3), start()], xs, &mut |c, _| (vec![c[1].clone(), c[0].clone()], vec![]))
    });
    let pair = || vec![Group::from_iter([start(), start()])];
    let each = |c: &[Group<T>]| c[0].iter().map(|x| Group::from_iter([x.clone()])).collect();
    log.panics(|| map_accum_grouped::<T>(2, false, pair(), &[], &mut |c, _| (each(&c), vec![])));
    let go = || Group::from_iter([T::constant(Array::scalar(true))]);
    log.panics(|| repeat_grouped::<T>(Some(2), vec![go()], &mut |c| vec![[&c[0][..], &c[0][..]].concat().into()]));
}

/// Outputs that differ in number, and in element type, which only an interpreter that runs all trips can see.
pub(crate) fn language_trips<T: BaseTensor>(x: &T, log: &mut Log) {
    let f = &T::zeros(&[2, 3], DType::F32);
    let ix = |n: usize| T::discrete(&Discrete::Iota { n }, &[]);
    let xs = std::slice::from_ref(x);
    let trip = Cell::new(0);
    let odd = || trip.replace(trip.get() + 1) % 2 == 1;
    log.panics(|| T::map_accum(2, false, vec![], xs, &mut |_, r| (vec![], r[usize::from(odd())..].to_vec())));
    trip.set(0);
    log.panics(|| T::map_accum(2, true, vec![], xs, &mut |_, _| (vec![], vec![ix(2); 1 + usize::from(odd())])));
    trip.set(0);
    log.panics(|| T::map_accum(2, true, vec![], xs, &mut |_, _| (vec![], vec![(if odd() { f } else { x }).clone()])));
    trip.set(0);
    let pair = [Group::from_iter([x.clone(), x.clone()])];
    let each = |c: &[Group<T>]| c[0].iter().map(|x| Group::from_iter([x.clone()])).collect();
    log.panics(|| map_accum_grouped(2, false, vec![], &pair, &mut |_, x| (vec![], if odd() { each(&x) } else { x })));
}
