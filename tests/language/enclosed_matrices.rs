//! Bounds of linear algebra: what an operation gives for matrices within bounds lies within the bounds of its results.
//!
//! Laws, for each operation, in both float types: results for matrices at corners of a box and between them lie within; so
//! do those of singular matrices, of matrices whose pivots change within the box, and of a box without width. In exact
//! arithmetic: factors times each other contain the matrix. Bounds of regular matrices in small boxes are not much wider
//! than these, and a matrix that may be singular has no bounds of its least-squares solutions.

use polygrad::array::Rng;
use polygrad::interpreters::Enclosure;
use polygrad::ops::{Call, Matrix};
use polygrad::{Array, BaseTensor, Float};

use crate::enclosure::{assert_within, floats};

/// How many rows a second operand has: as many as the first one has rows, or columns.
#[derive(Clone, Copy, PartialEq)]
enum Second {
    Rows,
    Columns,
}

/// The operations, their second operands, and whether the matrix must be square.
const OPERATIONS: [(Matrix, Option<Second>, bool); 20] = [
    (Matrix::Cholesky, None, true),
    (Matrix::Inverse, None, true),
    (Matrix::Det, None, true),
    (Matrix::SlogDet, None, true),
    (Matrix::Minors { without: 1 }, None, true),
    (Matrix::Minors { without: 2 }, None, true),
    (Matrix::Lu, None, true),
    (Matrix::Pivots, None, true),
    (Matrix::Eigh, None, true),
    (Matrix::Expm, None, true),
    (Matrix::ExpmTangent { transposed: false }, Some(Second::Rows), true),
    (Matrix::ExpmTangent { transposed: true }, Some(Second::Rows), true),
    (Matrix::Qr, None, false),
    (Matrix::Svd, None, false),
    (Matrix::LstsqFactor, None, false),
    (Matrix::Lstsq { transposed: false }, Some(Second::Rows), false),
    (Matrix::Lstsq { transposed: true }, Some(Second::Columns), false),
    (Matrix::NullProjection { transposed: false }, Some(Second::Columns), false),
    (Matrix::NullProjection { transposed: true }, Some(Second::Rows), false),
    (Matrix::Product { transposed: false }, Some(Second::Columns), false),
];

/// The results of an operation on a matrix, with the operands that factors are.
fn results<T: BaseTensor>(op: Matrix, operands: &[T]) -> Vec<T> {
    let mut operands = operands.to_vec();
    if let Matrix::Lstsq { .. } | Matrix::NullProjection { .. } = op {
        operands.extend(T::call(&Call::Matrix(Matrix::LstsqFactor), &operands[..1]).into_iter().take(3));
    }
    T::call(&Call::Matrix(op), &operands)
}

/// Matrices with something of interest: regular ones, such with pivots of about the same size, singular ones, zeros.
fn centers(rng: &mut Rng, [m, n]: [usize; 2]) -> Vec<Vec<f64>> {
    let random = |rng: &mut Rng| (0..m * n).map(|_| 2.0 * rng.unit() - 1.0).collect::<Vec<f64>>();
    let mut all: Vec<Vec<f64>> = (0..3).map(|_| random(rng)).collect();
    // Positive definite if it is square.
    all.push((0..m * n).map(|at| if at / n == at % n { 3.0 } else { (at / n + at % n) as f64 / 10.0 }).collect());
    all.push((0..m * n).map(|at| if (at / n + at % n).is_multiple_of(2) { 1.0 } else { -1.0 }).collect());
    all.push((0..m * n).map(|at| (at / n) as f64 - 1.0).collect());
    all.push(vec![0.0; m * n]);
    all.push(random(rng).into_iter().map(|x| x * 1e-30).collect());
    all
}

fn within_box<E: Float>(rng: &mut Rng, center: &[f64], radius: f64, shape: &[usize], which: usize) -> Array {
    let moved = center.iter().map(|x| {
        let at = match which {
            0 => 1.0,
            1 => -1.0,
            2..6 => {
                if rng.unit() < 0.5 {
                    -1.0
                } else {
                    1.0
                }
            }
            _ => 2.0 * rng.unit() - 1.0,
        };
        E::of_f64((x + radius * at).clamp(x - radius, x + radius))
    });
    Array::new(shape, moved.collect())
}

/// Asserts that results for matrices in a box are within their bounds; the width of the bounds, if they are finite.
fn holds<E: Float>(
    rng: &mut Rng,
    (op, second): (Matrix, Option<Second>),
    [m, n]: [usize; 2],
    center: &[f64],
    radius: f64,
) -> Option<f64> {
    let mut parts = vec![(vec![m, n], center.to_vec())];
    if let Some(second) = second {
        let rows = if second == Second::Rows { m } else { n };
        // The tangent of an exponential has the size of the matrix.
        let columns = if matches!(op, Matrix::ExpmTangent { .. }) { n } else { 2 };
        parts.push((vec![rows, columns], (0..rows * columns).map(|_| rng.unit() - 0.5).collect()));
    }
    let mut sample = |which: usize| -> Vec<Array> {
        parts.iter().map(|(shape, center)| within_box::<E>(rng, center, radius, shape, which)).collect()
    };
    let [upper, lower] = [0, 1].map(&mut sample);
    let bounds: Vec<Enclosure> =
        lower.iter().zip(&upper).map(|(lo, hi)| Enclosure::between(lo, hi).expect("a box")).collect();
    let bounds = results(op, &bounds);
    for which in 0..8 {
        let values = sample(which);
        for (y, bounds) in results(op, &values).iter().zip(&bounds) {
            assert_eq!(y.shape(), bounds.shape(), "{op:?}");
            let what = format!("{op:?} of {m} by {n}, radius {radius}");
            assert_within(&what, &floats(y), bounds, &|k| format!("{values:?} [{k}]"));
        }
    }
    let widths = bounds.iter().filter(|x| x.dtype().is_float()).map(|x| {
        let (lower, upper) = (floats(&x.lower()), floats(&x.upper()));
        lower.iter().zip(&upper).fold(0.0f64, |most, (lo, hi)| if lo.is_nan() { f64::NAN } else { most.max(hi - lo) })
    });
    widths.reduce(|x, y| if x.is_nan() { x } else { x.max(y) }).filter(|width| width.is_finite())
}

fn all_hold<E: Float>(seed: u64) {
    let mut rng = Rng::new(seed);
    for [m, n] in [[1, 1], [2, 2], [3, 3], [3, 2], [2, 3], [5, 2], [1, 4]] {
        for (op, second, is_square) in OPERATIONS {
            let is_small = matches!(op, Matrix::Minors { without: 2 }) && n < 2;
            if (is_square && m != n) || is_small {
                continue;
            }
            for center in centers(&mut rng, [m, n]) {
                for radius in [0.0, 1e-9, 0.1] {
                    holds::<E>(&mut rng, (op, second), [m, n], &center, radius);
                }
            }
        }
    }
}

#[test]
fn linear_algebra_holds_its_values() {
    all_hold::<f64>(1);
}

#[test]
fn linear_algebra_of_single_precision_holds_its_values() {
    all_hold::<f32>(2);
}

/// Operations with bounds that are as narrow as their boxes, up to a factor.
#[test]
fn bounds_of_regular_matrices_are_narrow() {
    let mut rng = Rng::new(3);
    let narrow = OPERATIONS.iter().filter(|(op, ..)| {
        // The vectors of a spectrum are known to have length 1, and factors of least squares are not used.
        !matches!(op, Matrix::Eigh | Matrix::Svd | Matrix::LstsqFactor | Matrix::Pivots | Matrix::Cholesky)
    });
    for (op, second, is_square) in narrow {
        for [m, n] in [[3, 3], [4, 4], [4, 2], [2, 4]] {
            if *is_square && m != n {
                continue;
            }
            // Diagonally dominant, so that pivots are known.
            let center: Vec<f64> = (0..m * n).map(|at| if at / n == at % n { 4.0 } else { rng.unit() - 0.5 }).collect();
            for radius in [0.0, 1e-10, 1e-6] {
                let width = holds::<f64>(&mut rng, (*op, *second), [m, n], &center, radius);
                let most = 1e4 * radius + 1e-9;
                assert!(width.is_some_and(|width| width <= most), "{op:?} of {m} by {n}, {radius}: {width:?}");
            }
        }
    }
}

#[test]
fn singular_values_are_narrow() {
    let a = Array::new(&[3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let bounds = results(Matrix::Svd, &[Enclosure::between(&a, &a).expect("a box")]);
    let (lower, upper) = (floats(&bounds[1].lower()), floats(&bounds[1].upper()));
    // The squares of both have the sum 91 and the product 24.
    let root = (91.0f64 * 91.0 - 96.0).sqrt();
    for (k, exact) in [((91.0 + root) / 2.0).sqrt(), (48.0 / (91.0 + root)).sqrt()].into_iter().enumerate() {
        assert!((lower[k] - 1e-14..=upper[k] + 1e-14).contains(&exact) && upper[k] - lower[k] < 1e-12);
    }
}

#[test]
fn what_may_be_singular_has_no_least_squares() {
    let [lower, upper] = [-1e-3, 1e-3].map(|by| {
        let rows = [1.0, 2.0, 2.0, 4.0, 3.0, 6.0 + by];
        Array::new(&[3, 2], rows.to_vec())
    });
    let b = Array::new(&[3, 1], vec![1.0, 0.0, 2.0]);
    let operands = [Enclosure::between(&lower, &upper).expect("a box"), Enclosure::constant(b)];
    for op in [Matrix::Lstsq { transposed: false }, Matrix::NullProjection { transposed: true }] {
        let bounds = results(op, &operands);
        assert!(floats(&bounds[0].lower()).iter().all(|x| x.is_nan()), "{op:?}");
    }
}

/// The factors of a matrix in a box, times each other, contain the matrix.
#[test]
fn factors_times_each_other_contain_the_matrix() {
    let mut rng = Rng::new(5);
    for n in [2, 3, 5] {
        let a = Array::new(&[n, n], (0..n * n).map(|_| rng.unit() - 0.5).collect());
        let [q, r] = results(Matrix::Qr, &[Enclosure::constant(a.clone())]).try_into().expect("two factors");
        let product = results(Matrix::Product { transposed: false }, &[q, r]).remove(0);
        assert_within("q r", &floats(&a), &product, &|k| k.to_string());
    }
}
