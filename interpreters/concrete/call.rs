//! Calls: linear algebra, code of the host, and taps, which print and check here.
//!
//! Law: operands are checked before anything is computed.

use super::elementwise::kind;
use crate::array::{Array, Values, pool, with_float};
use crate::dtype::{DType, Elem};
use crate::kernels::matrix::batch::{MatrixOperands, MatrixResults};
use crate::kernels::matrix::{self, Real};
use crate::ops::kinds::Kind;
use crate::ops::{Call, Matrix};
use crate::shape::{Shape, size};
use crate::taps;

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
        Call::Tap(tap) => {
            taps::run(tap, args);
            tap.passed(args).to_vec()
        }
    }
}

/// The elements of an array as a slice with one element per position.
fn dense<E: Elem>(a: &Array) -> std::borrow::Cow<'_, [E]> {
    match a.typed::<E>() {
        Values::Dense(v) => v.into(),
        Values::Splat(x) => pool::full(x, a.size()).into(),
    }
}

fn of_matrices<E: Real>(op: Matrix, args: &[Array], results: &[(Shape, DType)]) -> Vec<Array> {
    let shape = args[0].shape();
    let batch = shape.len() - 2;
    let kinds: Vec<Kind<'_>> = args.iter().map(kind).collect();
    let floats: Vec<_> = args.iter().filter(|a| a.dtype().is_float()).map(|a| dense::<E>(a)).collect();
    let positions = args.iter().find(|a| !a.dtype().is_float()).map(dense::<i64>);
    let floats_of = |(shape, dtype): &(Shape, DType)| dtype.is_float().then(|| pool::full(E::ZERO, size(shape)));
    let mut made: Vec<Option<Vec<E>>> = results.iter().map(floats_of).collect();
    // No operation has two results of integers.
    let integers = results.iter().find(|(_, dtype)| !dtype.is_float());
    let mut integers = pool::full(0i64, integers.map_or(0, |(shape, _)| size(shape)));
    let operands = MatrixOperands {
        floats: floats.iter().map(|x| &**x).collect(),
        positions: positions.as_deref().unwrap_or_default(),
    };
    let out =
        MatrixResults { floats: made.iter_mut().flatten().map(|x| &mut x[..]).collect(), integers: &mut integers };
    let count = size(&shape[..batch]);
    matrix::batch::run(op, [shape[batch], shape[batch + 1]], (count, op.work(&kinds)), &operands, out);
    let array = |(made, (shape, _)): (Option<Vec<E>>, &(Shape, DType))| match made {
        Some(floats) => Array::dense(shape.clone(), floats),
        None => Array::dense(shape.clone(), std::mem::take(&mut integers)),
    };
    made.into_iter().zip(results).map(array).collect()
}
