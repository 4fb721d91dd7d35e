//! Tests of linear algebra in lanes: against the kernels for any size, and a matrix alone against the same in a batch.

use crate::dtype::DType;
use crate::kernels::isa::{Isa, dispatch, dispatch_full};
use crate::kernels::matrix::batch::{self, MatrixOperands, MatrixResults};
use crate::kernels::matrix::small::MOST;
use crate::kernels::matrix::{self, Real};
use crate::ops::Matrix;

/// The operations that have a kernel for small matrices.
fn operations() -> Vec<Matrix> {
    let has_kernel = |op: &&Matrix| super::Small::of(**op, [3, 3]).is_some();
    Matrix::ALL.iter().filter(has_kernel).copied().collect()
}

/// Numbers between -1 and 1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Matrices of many kinds: regular, positive definite, singular, of zeros, not finite, large and small.
fn matrices<E: Real>(n: usize, count: usize, numbers: &mut Numbers) -> Vec<E> {
    let mut all = Vec::new();
    for k in 0..count {
        let mut a: Vec<f64> = (0..n * n).map(|_| numbers.next()).collect();
        let scale = if E::DTYPE == DType::F64 { 200.0 } else { 20.0 };
        match k % 9 {
            0 | 1 => {}
            2 | 3 => (0..n).for_each(|i| a[i * n + i] += 2.0 * n as f64),
            4 => (0..n).for_each(|j| a[(n - 1) * n + j] = a[j]),
            5 => a.iter_mut().for_each(|x| *x *= 2f64.powf(scale)),
            6 => a.iter_mut().for_each(|x| *x *= 2f64.powf(-scale)),
            7 => a[n * n / 2] = [f64::NAN, f64::INFINITY][k / 9 % 2],
            _ => a.fill(0.0),
        }
        all.extend(a.into_iter().map(E::of_f64));
    }
    all
}

/// The results of an operation: the arrays of floats, and the integers.
type Found<E> = (Vec<Vec<E>>, Vec<i64>);

/// The sizes of the results of an operation for one matrix: of each array of floats, and of the integers.
fn sizes(op: Matrix, n: usize, columns: usize) -> (Vec<usize>, usize) {
    match op {
        Matrix::Det => (vec![1], 0),
        Matrix::SlogDet => (vec![1, 1], 0),
        Matrix::Lu => (vec![n * n; 2], n),
        Matrix::Qr => (vec![n * n; 2], 0),
        Matrix::LuFactor => (vec![n * n], n),
        Matrix::Solve { .. } | Matrix::SolveTriangular { .. } => (vec![n * columns], 0),
        Matrix::Cholesky | Matrix::Inverse | Matrix::Minors { .. } => (vec![n * n], 0),
        Matrix::Pivots | Matrix::Eigh | Matrix::EighSolve | Matrix::Svd | Matrix::SvdSolve => unreachable!("no kernel"),
        Matrix::LstsqFactor | Matrix::Lstsq { .. } | Matrix::NullProjection { .. } => unreachable!("no kernel"),
        Matrix::Product { .. } | Matrix::Expm | Matrix::ExpmTangent { .. } => unreachable!("no kernel"),
        Matrix::PrefixProduct | Matrix::Recurrence { .. } => unreachable!("no kernel"),
    }
}

/// Runs an operation on `count` matrices.
fn run<E: Real>(op: Matrix, n: usize, count: usize, floats: &[&[E]], positions: &[i64], columns: usize) -> Found<E> {
    let (of_floats, of_integers) = sizes(op, n, columns);
    let mut out: Vec<Vec<E>> = of_floats.iter().map(|size| vec![E::ZERO; size * count]).collect();
    let mut integers = vec![0; of_integers * count];
    let operands = MatrixOperands { floats: floats.iter().copied().collect(), positions };
    let results = MatrixResults { floats: out.iter_mut().map(|x| &mut x[..]).collect(), integers: &mut integers };
    batch::run(op, [n, n], (count, 0), &operands, results);
    (out, integers)
}

/// A check of an operation: its arguments are the numbers of rows and of columns of the right-hand side, and the
/// operands of floats and of integers.
type Check<'a, E> = &'a dyn Fn(Matrix, [usize; 2], &[&[E]], &[i64]);

/// Calls `check` with each operation, with each number of rows, with several numbers of columns of the right-hand side,
/// and with operands for `count` matrices.
fn each<E: Real>(count: usize, check: Check<'_, E>) {
    let mut numbers = Numbers(7);
    for n in 1..=MOST {
        for columns in [1, 3] {
            let a = matrices::<E>(n, count, &mut numbers);
            let mut b: Vec<E> = (0..n * columns * count).map(|_| E::of_f64(numbers.next())).collect();
            b[..n * columns].fill(E::ZERO);
            // A column of zeros in every second matrix.
            if columns == 3 {
                let zeros = b.iter_mut().enumerate().filter(|(at, _)| at / (3 * n) % 2 == 1 && at % 3 == 1);
                zeros.for_each(|(_, x)| *x = E::ZERO);
            }
            let (factors, p) = run(Matrix::LuFactor, n, count, &[&a], &[], 0);
            for op in operations() {
                let operands = [&a[..], &b[..], &factors[0][..]];
                let positions = if op.arity() == 4 { &p[..] } else { &[] };
                check(op, [n, columns], &operands[..op.arity().min(3)], positions);
            }
        }
    }
}

/// The elements of matrix `k` in an array of `count` matrices.
fn part<T>(all: &[T], k: usize, count: usize) -> &[T] {
    let each = all.len() / count;
    &all[each * k..each * (k + 1)]
}

fn same_alone<E: Real>() {
    let count = 29;
    each::<E>(count, &|op, [n, columns], floats, positions| {
        let (together, integers) = run(op, n, count, floats, positions, columns);
        for k in 0..count {
            let alone: Vec<&[E]> = floats.iter().map(|x| part(x, k, count)).collect();
            let (alone, order) = run(op, n, 1, &alone, part(positions, k, count), columns);
            let bits = |x: &[E]| x.iter().map(|x| x.as_f64().to_bits()).collect::<Vec<_>>();
            for (together, alone) in together.iter().zip(&alone) {
                assert_eq!(bits(part(together, k, count)), bits(alone), "{} of {n} rows, matrix {k}", op.name());
            }
            assert_eq!(part(&integers, k, count), order, "{} of {n} rows, matrix {k}", op.name());
        }
    });
}

#[test]
fn a_matrix_has_the_same_bits_alone_and_in_a_batch() {
    same_alone::<f64>();
    same_alone::<f32>();
}

/// The operation by the kernels for one matrix of any size.
fn of_any_size<E: Real>(op: Matrix, n: usize, x: &[&[E]], p: &[i64], columns: usize) -> Found<E> {
    let (of_floats, of_integers) = sizes(op, n, columns);
    let mut out: Vec<Vec<E>> = of_floats.iter().map(|size| vec![E::ZERO; *size]).collect();
    let mut order = vec![0; of_integers];
    match op {
        Matrix::Cholesky => matrix::cholesky(n, x[0], &mut out[0]),
        Matrix::Inverse => matrix::inverse(n, x[0], &mut out[0]),
        Matrix::Det => out[0][0] = matrix::det(n, x[0]),
        Matrix::SlogDet => (out[0][0], out[1][0]) = matrix::slogdet(n, x[0]),
        Matrix::Minors { without } => matrix::minors(n, without.into(), x[0], &mut out[0]),
        Matrix::Lu => {
            let [l, u] = &mut out[..] else { unreachable!("there are two factors") };
            matrix::lu(n, x[0], l, u, &mut order);
        }
        Matrix::Qr => {
            let [q, r] = &mut out[..] else { unreachable!("there are two factors") };
            matrix::qr([n, n], x[0], q, r);
        }
        Matrix::LuFactor => matrix::lu_factor(n, x[0], &mut out[0], &mut order),
        Matrix::Solve { transposed } => matrix::solve(n, (x[2], p), transposed, x[1], &mut out[0]),
        Matrix::SolveTriangular { lower, transposed, unit } => {
            matrix::solve_triangular(n, x[0], [lower, transposed, unit], x[1], &mut out[0]);
        }
        Matrix::Pivots | Matrix::Eigh | Matrix::EighSolve | Matrix::Svd | Matrix::SvdSolve => unreachable!("no kernel"),
        Matrix::LstsqFactor | Matrix::Lstsq { .. } | Matrix::NullProjection { .. } => unreachable!("no kernel"),
        Matrix::Product { .. } | Matrix::Expm | Matrix::ExpmTangent { .. } => unreachable!("no kernel"),
        Matrix::PrefixProduct | Matrix::Recurrence { .. } => unreachable!("no kernel"),
    }
    (out, order)
}

fn agree<E: Real>(tolerance: f64) {
    let count = 18;
    each::<E>(count, &|op, [n, columns], floats, positions| {
        let (found, integers) = run(op, n, count, floats, positions, columns);
        for k in 0..count {
            let operands: Vec<&[E]> = floats.iter().map(|x| part(x, k, count)).collect();
            let (known, order) = of_any_size(op, n, &operands, part(positions, k, count), columns);
            let name = format!("{} of {n} rows, matrix {k}", op.name());
            // Of a matrix with two equal rows, the last pivot is 0 or a rounding error.
            let is_rounding = k % 9 == 4 && n > 2;
            for (found, known) in found.iter().zip(&known) {
                let found = part(found, k, count);
                let largest = known.iter().map(|x| x.as_f64().abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
                for (x, y) in found.iter().map(|x| x.as_f64()).zip(known.iter().map(|y| y.as_f64())) {
                    let near = (x - y).abs() <= tolerance * largest || x == y || x.is_nan() && y.is_nan();
                    assert!(near || is_rounding, "{name}: {x} and {y} of {known:?}");
                }
            }
            assert!(part(&integers, k, count) == order || is_rounding, "{name}: {order:?}");
        }
    });
}

#[test]
fn small_matrices_have_the_results_of_the_code_for_any_size() {
    agree::<f64>(1e-9);
    agree::<f32>(2e-3);
}

/// All instruction sets of the processor compute the same bits.
fn same_everywhere<E: Real>() {
    let count = 19;
    each::<E>(count, &|op, [n, columns], floats, positions| {
        let (of_floats, of_integers) = sizes(op, n, columns);
        let by = |isa: Isa| {
            let mut out: Vec<Vec<E>> = of_floats.iter().map(|size| vec![E::ZERO; size * count]).collect();
            let mut integers = vec![0; of_integers * count];
            let operands = MatrixOperands { floats: floats.iter().copied().collect(), positions };
            let floats_out = out.iter_mut().map(|x| &mut x[..]).collect();
            let mut results = MatrixResults { floats: floats_out, integers: &mut integers };
            let (op, operands) = (super::Small::of(op, [n, n]).expect("there is a kernel"), &operands);
            let (sizes, range, results_of) = ([n, n], [0, count], &mut results);
            if isa.is_lean() {
                dispatch(isa, super::Batch::<E, 1> { op, sizes, count, range, operands, results: results_of });
            } else {
                dispatch_full(isa, super::Batch::<E, 8> { op, sizes, count, range, operands, results: results_of });
            }
            drop(results);
            let bits = |x: &Vec<E>| x.iter().map(|x| x.as_f64().to_bits()).collect::<Vec<_>>();
            (out.iter().map(bits).collect::<Vec<_>>(), integers)
        };
        let known = by(Isa::BASELINE);
        for isa in Isa::supported() {
            assert!(by(isa) == known, "{} of {n} rows by {}", op.name(), isa.name());
        }
    });
}

#[test]
fn instruction_sets_change_no_bit() {
    same_everywhere::<f64>();
    same_everywhere::<f32>();
}

/// Determinants, inverses and cofactors by formulas scale to the bit, even where products leave the range of floats.
fn formulas_scale<E: Real>(logs: &[i32]) {
    let power = |log: i32| E::of_f64(2f64.powi(log));
    for n in [2, 3] {
        let mut numbers = Numbers(11);
        let a: Vec<E> = (0..16 * n * n).map(|_| E::of_f64(numbers.next())).collect();
        for (op, degree) in
            [(Matrix::Det, n as i32), (Matrix::Inverse, -1), (Matrix::Minors { without: 1 }, n as i32 - 1)]
        {
            let known = run(op, n, 16, &[&a], &[], 0).0.remove(0);
            for log in logs {
                let moved: Vec<E> = a.iter().map(|x| *x * power(*log)).collect();
                let found = run(op, n, 16, &[&moved], &[], 0).0.remove(0);
                for (x, y) in found.iter().zip(&known) {
                    let y = crate::kernels::matrix::scaled(*y, i64::from(degree * log));
                    assert_eq!(x.as_f64(), y.as_f64(), "{} of {n} rows at 2^{log}", op.name());
                }
            }
        }
    }
}

#[test]
fn formulas_scale_with_the_matrix() {
    formulas_scale::<f64>(&[-320, -290, 100, 310, 320]);
    formulas_scale::<f32>(&[-35, -27, 10, 39]);
}

/// Factors of matrices with more rows than columns, and the other way round, by their definition and at every scale.
fn rectangles<E: Real>(logs: &[i64]) {
    for [m, n] in [[5, 3], [3, 5], [8, 1], [1, 8], [8, 7], [6, 8]] {
        let (k, count, mut numbers) = (m.min(n), 11, Numbers(5));
        let mut a: Vec<E> = (0..count * m * n).map(|_| E::of_f64(numbers.next())).collect();
        // A column of zeros, and one that depends on the first.
        (0..m).for_each(|i| a[i * n] = E::ZERO);
        (0..m).for_each(|i| a[m * n + i * n + n - 1] = a[m * n + i * n]);
        let factors = |a: &[E]| {
            let (mut q, mut r) = (vec![E::ZERO; count * m * k], vec![E::ZERO; count * k * n]);
            let operands = MatrixOperands { floats: [a].into_iter().collect(), positions: &[] };
            let results = MatrixResults { floats: [&mut q[..], &mut r[..]].into_iter().collect(), integers: &mut [] };
            batch::run(Matrix::Qr, [m, n], (count, 0), &operands, results);
            (q, r)
        };
        let (q, r) = factors(&a);
        let epsilon = <E as num_traits::Float>::epsilon().as_f64();
        for at in 0..count * m * n {
            let (matrix, i, j) = (at / (m * n), at / n % m, at % n);
            let term = |p: usize| q[(matrix * m + i) * k + p].as_f64() * r[(matrix * k + p) * n + j].as_f64();
            let product: f64 = (0..k).map(term).sum();
            assert!((product - a[at].as_f64()).abs() <= 20.0 * epsilon, "{m} rows, {n} columns");
        }
        for at in 0..count * k * k {
            let (matrix, i, j) = (at / (k * k), at / k % k, at % k);
            let term = |p: usize| q[(matrix * m + p) * k + i].as_f64() * q[(matrix * m + p) * k + j].as_f64();
            let product: f64 = (0..m).map(term).sum();
            assert!((product - f64::from(u8::from(i == j))).abs() <= 20.0 * epsilon, "{m} rows, {n} columns");
        }
        for log in logs {
            let power = |at: usize| if (at % n).is_multiple_of(2) { *log } else { -log };
            let moved: Vec<E> = a.iter().enumerate().map(|(at, x)| matrix::scaled(*x, power(at))).collect();
            let (same, other) = factors(&moved);
            let back: Vec<E> = other.iter().enumerate().map(|(at, x)| matrix::scaled(*x, -power(at))).collect();
            assert!(same == q && back == r, "{m} rows, {n} columns at 2^{log}");
        }
    }
}

#[test]
fn small_rectangles_have_factors_at_every_scale() {
    rectangles::<f64>(&[100, 450, 900]);
    rectangles::<f32>(&[20, 55, 100]);
}

/// Of a matrix that is nearly of rank one, the minors of two rows cancel to the last digits.
#[test]
fn formulas_are_exact_where_they_cancel() {
    let e = 2f64.powi(-30);
    let a = [1.0, 1.0 + e, 1.0 - e, 1.0 - e, 1.0, 1.0 + e, 1.0 + e, 1.0 - e, 1.0 + 3.0 * e];
    // The matrix is circulant, except for `2 e` in the last place.
    let det = 9.0 * e * e + 2.0 * e * (e * e);
    let found = run(Matrix::Det, 3, 1, &[&a[..]], &[], 0).0.remove(0)[0];
    assert!((found - det).abs() <= 1e-7 * det, "{found} is not {det}");
    let known = 2f64.powi(-60);
    assert_eq!(run(Matrix::Det, 2, 1, &[&[1.0 + e, 1.0, 1.0 + 2.0 * e, 1.0 + e]], &[], 0).0.remove(0), [known]);
}

#[test]
fn threads_share_matrices() {
    let (n, count) = (3, 1001);
    let a = matrices::<f64>(n, count, &mut Numbers(3));
    let alone = run(Matrix::Inverse, n, count, &[&a], &[], 0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool of threads");
    let shared = pool.install(|| {
        let mut out = vec![0.0; a.len()];
        let operands = MatrixOperands { floats: [&a[..]].into_iter().collect(), positions: &[] };
        let results = MatrixResults { floats: [&mut out[..]].into_iter().collect(), integers: &mut [] };
        batch::run(Matrix::Inverse, [n, n], (count, usize::MAX), &operands, results);
        out
    });
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&alone.0[0]), bits(&shared));
}
