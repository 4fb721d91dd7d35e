//! Operations of linear algebra on the matrices of a batch, one after the other or in SIMD lanes, on several threads.
//!
//! Law: the result for a matrix depends on this matrix alone, so no result depends on the number of threads.

use smallvec::SmallVec;

use super::guarded::{eigh_solve, svd_solve};
use super::least_squares::Decomposed;
use super::machine::Direct;
use super::{Real, small};
use crate::cost::MACHINE;
use crate::kernels::isa::Isa;
use crate::kernels::{matrix, recurrence, threads};
use crate::ops::Matrix;

/// The operands of an operation: the arrays of floats, and the array of positions (a permutation), if there is one.
pub(crate) struct MatrixOperands<'a, E> {
    pub(crate) floats: SmallVec<[&'a [E]; 5]>,
    pub(crate) positions: &'a [i64],
}

/// The results of an operation: the arrays of floats, and the array of integers, if there is one.
pub(crate) struct MatrixResults<'a, E> {
    pub(crate) floats: SmallVec<[&'a mut [E]; 3]>,
    pub(crate) integers: &'a mut [i64],
}

impl<'a, E> MatrixOperands<'a, E> {
    /// The operands of the matrices from `from` to `to`, of `count` matrices.
    fn part(&self, [from, to]: [usize; 2], count: usize) -> MatrixOperands<'a, E> {
        let floats = self.floats.iter().map(|x| &x[x.len() / count * from..x.len() / count * to]).collect();
        let each = self.positions.len() / count;
        MatrixOperands { floats, positions: &self.positions[each * from..each * to] }
    }
}

impl<E> MatrixResults<'_, E> {
    /// The results of the matrices from `from` to `to`, of `count` matrices.
    fn part(&mut self, [from, to]: [usize; 2], count: usize) -> MatrixResults<'_, E> {
        let range = |len: usize| len / count * from..len / count * to;
        let floats = self.floats.iter_mut().map(|x| {
            let here = range(x.len());
            &mut x[here]
        });
        let here = range(self.integers.len());
        MatrixResults { floats: floats.collect(), integers: &mut self.integers[here] }
    }

    /// The results of the first `k` matrices, of `count` matrices, and the results of the others.
    fn split(self, k: usize, count: usize) -> [Self; 2] {
        let (integers, other) = self.integers.split_at_mut(self.integers.len() / count * k);
        let (mut floats, mut others) = (SmallVec::new(), SmallVec::new());
        for x in self.floats {
            let (first, second) = x.split_at_mut(x.len() / count * k);
            floats.push(first);
            others.push(second);
        }
        [MatrixResults { floats, integers }, MatrixResults { floats: others, integers: other }]
    }
}

/// Runs an operation on `count` matrices of `m` rows and `n` columns; `work` is about the number of multiplications.
pub(crate) fn run<E: Real>(
    op: Matrix,
    [m, n]: [usize; 2],
    (count, work): (usize, usize),
    operands: &MatrixOperands<'_, E>,
    mut results: MatrixResults<'_, E>,
) {
    if count == 0 {
        return;
    }
    let threads = threads::number(MACHINE.factor_product * work as f64);
    if threads < 2 || count < 2 {
        return serial(op, [m, n], count, operands, &mut results);
    }
    // More parts than threads, since other threads may begin late.
    let part = count.div_ceil(4 * threads).next_multiple_of(small::MOST).min(count);
    let mut parts = Vec::with_capacity(count.div_ceil(part));
    let mut from = 0;
    while count - from > part {
        let [first, rest] = results.split(part, count - from);
        parts.push((from, part, first));
        (results, from) = (rest, from + part);
    }
    parts.push((from, count - from, results));
    threads::share(threads, parts, |(from, len, mut results)| {
        serial(op, [m, n], len, &operands.part([from, from + len], count), &mut results);
    });
}

fn serial<E: Real>(
    op: Matrix,
    [m, n]: [usize; 2],
    count: usize,
    operands: &MatrixOperands<'_, E>,
    results: &mut MatrixResults<'_, E>,
) {
    if small::run(op, [m, n], count, operands, results) || along_rows(op, [m, n], operands, results) {
        return;
    }
    for k in 0..count {
        let here = [k, k + 1];
        one(op, [m, n], &operands.part(here, count), results.part(here, count));
    }
}

/// Runs an operation along the rows of all matrices; `false`, with nothing done, if the operation is another one.
fn along_rows<E: Real>(
    op: Matrix,
    sizes: [usize; 2],
    operands: &MatrixOperands<'_, E>,
    results: &mut MatrixResults<'_, E>,
) -> bool {
    let floats = &operands.floats;
    match op {
        Matrix::PrefixProduct => {
            recurrence::prefix_products(Isa::detect(), floats[0], sizes, only(op, &mut results.floats));
        }
        Matrix::Recurrence { transposed } => {
            let out = only(op, &mut results.floats);
            recurrence::recurrences(Isa::detect(), [floats[0], floats[1]], sizes, transposed, out);
        }
        Matrix::Cholesky | Matrix::Inverse | Matrix::Det | Matrix::Minors { .. } | Matrix::Pivots => return false,
        Matrix::SlogDet | Matrix::Lu | Matrix::LuFactor | Matrix::Solve { .. } => return false,
        Matrix::SolveTriangular { .. } | Matrix::Qr | Matrix::Eigh | Matrix::Svd => return false,
        Matrix::LstsqFactor | Matrix::Lstsq { .. } | Matrix::NullProjection { .. } => return false,
        Matrix::EighSolve | Matrix::SvdSolve | Matrix::Product { .. } => return false,
        Matrix::Expm | Matrix::ExpmTangent { .. } => return false,
    }
    true
}

/// The operation on one matrix.
fn one<E: Real>(op: Matrix, [m, n]: [usize; 2], operands: &MatrixOperands<'_, E>, results: MatrixResults<'_, E>) {
    let MatrixOperands { floats, positions } = operands;
    let MatrixResults { floats: mut out, integers } = results;
    let out = &mut out[..];
    let a = floats[0];
    // The right-hand side has these rows.
    let decomposed = |transposed: bool, rows: usize| {
        let width = floats.get(1).and_then(|b| b.len().checked_div(rows)).unwrap_or(0);
        Decomposed { sizes: [m, n], transposed, width }
    };
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
            let [sign, log] = floats_of(op, out);
            (sign[0], log[0]) = matrix::slogdet(n, a);
        }
        Matrix::Lu => {
            let [l, u] = floats_of(op, out);
            matrix::lu(n, a, l, u, integers);
        }
        Matrix::LuFactor => matrix::lu_factor(n, a, only(op, out), integers),
        Matrix::Solve { transposed } => {
            matrix::solve(n, (floats[2], positions), transposed, floats[1], only(op, out));
        }
        Matrix::SolveTriangular { lower, transposed, unit } => {
            matrix::solve_triangular(n, a, [lower, transposed, unit], floats[1], only(op, out));
        }
        Matrix::Qr => {
            let [q, r] = floats_of(op, out);
            matrix::qr([m, n], a, q, r);
        }
        Matrix::Eigh => {
            let [w, v] = floats_of(op, out);
            matrix::eigh(n, a, w, v);
        }
        Matrix::Svd => {
            let [u, s, vt] = floats_of(op, out);
            matrix::svd([m, n], a, u, s, vt);
        }
        Matrix::LstsqFactor => {
            let [u, t, vt] = floats_of(op, out);
            integers[0] = matrix::lstsq_factor([m, n], a, [u, t, vt]);
        }
        Matrix::Lstsq { transposed } => {
            let factors = [floats[2], floats[3], floats[4]];
            decomposed(transposed, if transposed { n } else { m }).solve(
                Direct::new(),
                factors,
                floats[1],
                only(op, out),
            );
        }
        Matrix::NullProjection { transposed } => {
            let factors = [floats[2], floats[3], floats[4]];
            decomposed(transposed, if transposed { m } else { n }).project(
                Direct::new(),
                factors,
                floats[1],
                only(op, out),
            );
        }
        Matrix::EighSolve => eigh_solve(Direct::new(), n, floats[1], [floats[2], floats[3]], only(op, out)),
        Matrix::SvdSolve => {
            svd_solve(Direct::new(), [m, n], floats[1], [floats[2], floats[3], floats[4]], only(op, out));
        }
        Matrix::Product { transposed } => matrix::product_no_nan([m, n], a, transposed, floats[1], only(op, out)),
        Matrix::Expm => matrix::expm(n, a, only(op, out)),
        Matrix::ExpmTangent { transposed } => matrix::expm_tangent(n, a, transposed, floats[1], only(op, out)),
        Matrix::PrefixProduct | Matrix::Recurrence { .. } => unreachable!("all matrices run at once"),
    }
}

/// The `N` results of floats of an operation.
fn floats_of<'o, 'e, E, const N: usize>(op: Matrix, out: &'o mut [&'e mut [E]]) -> &'o mut [&'e mut [E]; N] {
    match out.try_into() {
        Ok(results) => results,
        Err(_) => unreachable!("{} does not have {N} results of floats", op.name()),
    }
}

/// The one result of floats of an operation.
fn only<'o, E>(op: Matrix, out: &'o mut [&mut [E]]) -> &'o mut [E] {
    let [only] = floats_of::<E, 1>(op, out);
    only
}
