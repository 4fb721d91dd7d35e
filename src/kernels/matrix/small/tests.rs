//! Tests of linear algebra in lanes: against the kernels for any size, and a matrix alone against the same in a batch.

use crate::dtype::DType;
use crate::kernels::matrix::batch::{self, MatrixOperands, MatrixResults};
use crate::kernels::matrix::small::MOST;
use crate::kernels::matrix::{self, Real};
use crate::ops::Matrix;

/// The operations that have a kernel for small matrices.
fn operations() -> Vec<Matrix> {
    let has_kernel = |op: &&Matrix| super::Small::of(**op, 3).is_some();
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
        Matrix::LuFactor => (vec![n * n], n),
        Matrix::Solve { .. } | Matrix::SolveTriangular { .. } => (vec![n * columns], 0),
        Matrix::Cholesky | Matrix::Inverse | Matrix::Minors { .. } => (vec![n * n], 0),
        Matrix::Pivots | Matrix::Qr | Matrix::Eigh | Matrix::Svd => unreachable!("no kernel"),
        Matrix::Lstsq | Matrix::Expm | Matrix::ExpmTangent { .. } => unreachable!("no kernel"),
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
        Matrix::LuFactor => matrix::lu_factor(n, x[0], &mut out[0], &mut order),
        Matrix::Solve { transposed } => matrix::solve(n, (x[2], p), transposed, x[1], &mut out[0]),
        Matrix::SolveTriangular { lower, transposed, unit } => {
            matrix::solve_triangular(n, x[0], [lower, transposed, unit], x[1], &mut out[0]);
        }
        Matrix::Pivots | Matrix::Qr | Matrix::Eigh | Matrix::Svd => unreachable!("no kernel"),
        Matrix::Lstsq | Matrix::Expm | Matrix::ExpmTangent { .. } => unreachable!("no kernel"),
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
