//! Calls: linear algebra, matrix by matrix, and code of the host.
//!
//! Law: operands are checked before any computation; the matrices of a batch are independent.

use super::elementwise::kind;
use crate::array::{Array, Values, pool, with_float};
use crate::dtype::{DType, Elem};
use crate::kernels::matrix::{self, Real};
use crate::ops::kinds::Kind;
use crate::ops::{Call, Matrix};
use crate::shape::{Shape, size};

/// The results of a call.
#[track_caller]
pub(super) fn call(op: &Call, args: &[Array]) -> Vec<Array> {
    let kinds: Vec<Kind<'_>> = args.iter().map(kind).collect();
    let results = op.results(&kinds);
    match op {
        Call::Matrix(op) => with_float!(kinds[0].1, E => of_matrices::<E>(*op, args, &results)),
        Call::External(external) => match external.run(args) {
            Ok(results) => results,
            Err(message) => panic!("{message}"),
        },
    }
}

/// The elements of an array as a slice with one element per position.
fn dense<E: Elem>(a: &Array) -> std::borrow::Cow<'_, [E]> {
    match a.typed::<E>() {
        Values::Dense(v) => v.into(),
        Values::Splat(x) => pool::full(x, a.size()).into(),
    }
}

/// A result under construction.
enum Result<E> {
    Floats(Vec<E>),
    Integers(Vec<i64>),
}

/// The number of elements per matrix of a batch, for a value of this shape.
fn each(batch: usize, shape: &[usize]) -> usize {
    size(&shape[batch..])
}

fn of_matrices<E: Real>(op: Matrix, args: &[Array], results: &[(Shape, DType)]) -> Vec<Array> {
    let shape = args[0].shape();
    let batch = shape.len() - 2;
    let sizes = [shape[batch], shape[batch + 1]];
    let floats: Vec<_> = args.iter().take(3).map(|a| dense::<E>(a)).collect();
    let positions = args.get(3).map(dense::<i64>);
    let mut made: Vec<Result<E>> = Vec::with_capacity(results.len());
    for (shape, dtype) in results {
        let n = size(shape);
        made.push(match dtype {
            DType::I64 => Result::Integers(pool::full(0, n)),
            DType::F64 | DType::F32 | DType::Bool => Result::Floats(pool::full(E::ZERO, n)),
        });
    }
    for k in 0..size(&shape[..batch]) {
        let operand = |i: usize| {
            let n = each(batch, args[i].shape());
            &floats[i][k * n..(k + 1) * n]
        };
        let positions = || {
            let (all, n) = (positions.as_ref().expect("the factors have positions"), each(batch, args[3].shape()));
            &all[k * n..(k + 1) * n]
        };
        let mut slices = Vec::with_capacity(made.len());
        let mut integers: &mut [i64] = &mut [];
        for (result, (shape, _)) in made.iter_mut().zip(results) {
            let here = k * each(batch, shape)..(k + 1) * each(batch, shape);
            match result {
                Result::Floats(v) => slices.push(&mut v[here]),
                Result::Integers(v) => integers = &mut v[here],
            }
        }
        one(op, sizes, &operand, &positions, &mut slices, integers);
    }
    let array = |(made, (shape, _)): (Result<E>, &(Shape, DType))| match made {
        Result::Floats(v) => Array::dense(shape.clone(), v),
        Result::Integers(v) => Array::dense(shape.clone(), v),
    };
    made.into_iter().zip(results).map(array).collect()
}

/// The operation on one matrix: its float operands, its integer operands, and the results.
fn one<'a, E: Real>(
    op: Matrix,
    [m, n]: [usize; 2],
    operand: &dyn Fn(usize) -> &'a [E],
    positions: &dyn Fn() -> &'a [i64],
    out: &mut [&mut [E]],
    integers: &mut [i64],
) {
    let a = operand(0);
    match op {
        Matrix::Cholesky => matrix::cholesky(n, a, only(op, out)),
        Matrix::Inverse => matrix::inverse(n, a, only(op, out)),
        Matrix::Det => only(op, out)[0] = matrix::det(n, a),
        Matrix::Minors { without } => matrix::minors(n, without.into(), a, only(op, out)),
        Matrix::Pivots => {
            let (rows, columns) = integers.split_at_mut(n);
            only(op, out)[0] = matrix::pivots(n, a, rows, columns);
        }
        Matrix::SlogDet => {
            let [sign, log] = results(op, out);
            (sign[0], log[0]) = matrix::slogdet(n, a);
        }
        Matrix::Lu => {
            let [l, u] = results(op, out);
            matrix::lu(n, a, l, u, integers);
        }
        Matrix::LuFactor => matrix::lu_factor(n, a, only(op, out), integers),
        Matrix::Solve { transposed } => {
            matrix::solve(n, (operand(2), positions()), transposed, operand(1), only(op, out));
        }
        Matrix::SolveTriangular { lower, transposed, unit } => {
            matrix::solve_triangular(n, a, [lower, transposed, unit], operand(1), only(op, out));
        }
        Matrix::Qr => {
            let [q, r] = results(op, out);
            matrix::qr([m, n], a, q, r);
        }
        Matrix::Eigh => {
            let [w, v] = results(op, out);
            matrix::eigh(n, a, w, v);
        }
        Matrix::Svd => {
            let [u, s, vt] = results(op, out);
            matrix::svd([m, n], a, u, s, vt);
        }
        Matrix::Lstsq => matrix::lstsq([m, n], a, operand(1), only(op, out)),
        Matrix::Expm => matrix::expm(n, a, only(op, out)),
        Matrix::ExpmTangent { transposed } => matrix::expm_tangent(n, a, transposed, operand(1), only(op, out)),
    }
}

/// The float results of an operation with `N` of them.
fn results<'o, 'e, E, const N: usize>(op: Matrix, out: &'o mut [&'e mut [E]]) -> &'o mut [&'e mut [E]; N] {
    match out.try_into() {
        Ok(results) => results,
        Err(_) => unreachable!("{} has not {N} results of floats", op.name()),
    }
}

/// The float result of an operation with one.
fn only<'o, E>(op: Matrix, out: &'o mut [&mut [E]]) -> &'o mut [E] {
    let [only] = results::<E, 1>(op, out);
    only
}
