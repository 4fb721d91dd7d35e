//! The determinant is a polynomial: its derivatives at singular matrices, and near them, against exact integers.
//!
//! Laws: up to 8 rows, derivatives of the orders 1, 2 and 3 are exact to rounding in the sum of the absolute values of the
//! products they are made of, whatever the rank is. Of larger matrices the first derivative is so at every rank, and the
//! others where at most 4 singular values are zero; else those are NaN.

use polygrad::array::Rng;
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, direct, grad, hvp, tensor};

type Matrix<T> = Tensor<T, 2>;
type Integers = Vec<i128>;

/// The powers of `e = 2^-40` that are kept.
const POWERS: usize = 4;

/// Polynomials in `e` and in three numbers whose squares are zero: the coefficients of the power `p` of `e` and of the
/// product of a set of the three at `8 p + set`.
type Polynomial = [i128; 8 * POWERS];

fn times(a: &Polynomial, b: &Polynomial, into: &mut Polynomial, sign: i128) {
    let terms =
        |x: &Polynomial| x.iter().enumerate().filter(|(_, x)| **x != 0).map(|(k, x)| (k, *x)).collect::<Vec<_>>();
    let right = terms(b);
    for (k, x) in terms(a) {
        for (l, y) in &right {
            if (k % 8) & (l % 8) == 0 && k / 8 + l / 8 < POWERS {
                into[k + l] += sign * x * y;
            }
        }
    }
}

/// The determinant, by the minors of the first rows; the permanent of absolute values if all terms are added.
fn determinant(n: usize, a: &[Polynomial], minus: i128) -> Polynomial {
    let mut minors = vec![[0; 8 * POWERS]; 1 << n];
    minors[0][0] = 1;
    for set in 1..1usize << n {
        let row = set.count_ones() as usize - 1;
        let mut sum = [0; 8 * POWERS];
        for j in (0..n).filter(|j| set >> j & 1 == 1) {
            let sign = if (set >> (j + 1)).count_ones() % 2 == 1 { minus } else { 1 };
            times(&a[row * n + j], &minors[set & !(1 << j)], &mut sum, sign);
        }
        minors[set] = sum;
    }
    minors[(1 << n) - 1]
}

/// The value at `a + e b`, and the derivatives along one, two and three directions, each with a bound of its terms.
fn exact(n: usize, a: &Integers, b: &Integers, directions: &[Integers; 3]) -> [(f64, f64); 4] {
    let element = |k: usize, f: fn(i128) -> i128| {
        let mut x = [0; 8 * POWERS];
        (x[0], x[8]) = (f(a[k]), f(b[k]));
        (0..3).for_each(|d| x[1 << d] = f(directions[d][k]));
        x
    };
    let all = |f| (0..n * n).map(|k| element(k, f)).collect::<Vec<_>>();
    let (value, bound) = (determinant(n, &all(|x| x), -1), determinant(n, &all(i128::abs), 1));
    let number =
        |x: &Polynomial, set: usize| (0..POWERS).map(|p| x[8 * p + set] as f64 * 2f64.powi(-40 * p as i32)).sum();
    [0, 1, 3, 7].map(|set| (number(&value, set), number(&bound, set)))
}

fn integers(rng: &mut Rng, n: usize, m: usize) -> Integers {
    let x = rng.uniform(&[n, m], -2.5, 2.5).to_vec::<f64>().expect("floats");
    x.into_iter().map(|x| x.round() as i128).collect()
}

fn product(n: usize, k: usize, a: &Integers, b: &Integers) -> Integers {
    (0..n * n).map(|at| (0..k).map(|l| a[at / n * k + l] * b[l * n + at % n]).sum()).collect()
}

fn matrix<T: BaseTensor>(n: usize, a: &Integers) -> Matrix<T> {
    Tensor::from_raw(T::constant(Array::new(&[n, n], a.iter().map(|x| *x as f64).collect::<Vec<f64>>())))
}

/// The derivatives of the determinant along one, two and three directions.
fn derivatives(n: usize, a: &Matrix<Concrete>, directions: &[Integers; 3]) -> [f64; 3] {
    let [u, v, w] = directions;
    let along = |x: &Matrix<Concrete>, d: &Integers| (x * matrix(n, d)).sum().item();
    let first = along(&direct::grad(|a: &Matrix<_>| a.det(), a), u);
    let second = along(&hvp(|a: &Matrix<_>| a.det(), a, &matrix(n, u)), v);
    let third = direct::jvp(
        |a: &Matrix<_>| direct::jvp(|a: &Matrix<_>| direct::grad(|a: &Matrix<_>| a.det(), a), a, &matrix(n, u)).1,
        a,
        &matrix(n, v),
    );
    [first, second, along(&third.1, w)]
}

#[test]
fn derivatives_at_every_rank_are_exact() {
    let mut rng = Rng::new(21);
    for n in 1..=8 {
        for lost in 0..=n.min(3) {
            for nearly in [false, true] {
                let rank = n - lost;
                let (left, right) = (integers(&mut rng, n, rank), integers(&mut rng, rank, n));
                let a = product(n, rank, &left, &right);
                let b = if nearly { integers(&mut rng, n, n) } else { vec![0; n * n] };
                let directions = [0; 3].map(|_| integers(&mut rng, n, n));
                let known = exact(n, &a, &b, &directions);
                let at = matrix::<Concrete>(n, &a) + matrix(n, &b) * 2f64.powi(-40);
                let found = derivatives(n, &at, &directions);
                for (order, (found, (known, bound))) in found.iter().zip(&known[1..]).enumerate() {
                    let off = (found - known).abs();
                    assert!(
                        off <= 8.0 * f64::EPSILON * bound,
                        "{n} rows, rank {rank}, order {}: {found} is not {known}, {} epsilon off",
                        order + 1,
                        off / bound / f64::EPSILON
                    );
                }
            }
        }
    }
}

#[test]
fn the_gradient_at_a_singular_matrix_is_its_adjugate() {
    let det = |a: &Matrix<_>| a.det();
    assert_eq!(grad(det, &tensor([[1.0, 2.0], [2.0, 4.0]])), tensor([[4.0, -2.0], [-2.0, 1.0]]));
    assert_eq!(grad(det, &Matrix::<Concrete>::zeros([3, 3])), Matrix::zeros([3, 3]));
    assert_eq!(grad(det, &Matrix::<Concrete>::zeros([1, 1])), Matrix::ones([1, 1]));
    assert_eq!(grad(det, &Matrix::<Concrete>::zeros([0, 0])), Matrix::zeros([0, 0]));
    // A stack, recorded and compiled, beside a regular matrix and one that is not finite.
    let stack = tensor([[[1.0, 2.0], [2.0, 4.0]], [[3.0, 1.0], [1.0, 2.0]], [[f64::NAN, 0.0], [0.0, 1.0]]]);
    let f = Function::grad(|a: &Tensor<_, 3>| a.det().sum(), &stack);
    let found = f.run(&stack).expect("the stack has the shape of the program");
    assert_eq!(found.row(0), tensor([[4.0, -2.0], [-2.0, 1.0]]));
    assert_eq!(found.row(1), tensor([[2.0, -1.0], [-1.0, 3.0]]));
    assert!(found.row(2).to_vec().iter().all(|x| x.is_nan()));
}

/// A matrix of `n` rows that is unimodular matrices around ones and `lost` zeros, and directions in its last rows and
/// columns, as a matrix of five rows and its directions, which have the same derivatives.
fn large(n: usize, lost: usize, seed: u64) -> (Integers, Integers, [Integers; 3], [Integers; 3]) {
    let unit = |upper: bool| -> Integers {
        let at = |i: usize, j: usize| i128::from(i == j) + i128::from(j == i / 2 && i > j) - i128::from(i == j + 3);
        (0..n * n).map(|k| if upper { at(k % n, k / n) } else { at(k / n, k % n) }).collect()
    };
    let (left, right) = (unit(false), unit(true));
    let around = |x: Integers| product(n, n, &product(n, n, &left, &x), &right);
    let diagonal = |n: usize| (0..n * n).map(|k| i128::from(k / n == k % n && k / n < n - lost)).collect::<Integers>();
    let mut rng = Rng::new(seed);
    let small = [0; 3].map(|_| integers(&mut rng, 5, 5));
    let padded = |x: &Integers| -> Integers {
        let last = |k: usize| (k / n + 5).checked_sub(n).zip((k % n + 5).checked_sub(n));
        (0..n * n).map(|k| last(k).map_or(0, |(i, j)| x[5 * i + j])).collect()
    };
    let directions = [0, 1, 2].map(|d| around(padded(&small[d])));
    (around(diagonal(n)), diagonal(5), directions, small)
}

#[test]
fn large_matrices_lose_up_to_four_ranks() {
    for (n, ranks) in [(9, [0, 4]), (20, [1, 2])] {
        for lost in ranks {
            let (a, core, directions, small) = large(n, lost, n as u64);
            let known = exact(5, &core, &vec![0; 25], &small);
            let found = derivatives(n, &matrix(n, &a), &directions);
            for (order, (found, (known, bound))) in found.iter().zip(&known[1..]).enumerate() {
                let off = (found - known).abs();
                assert!(
                    off <= 1e-10 * (1.0 + bound),
                    "{n} rows, {lost} lost, order {}: {found} is not {known}",
                    order + 1
                );
            }
        }
        // Of a lower rank all first derivatives are zero, and others are NaN.
        let (a, _, directions, _) = large(n, 5, n as u64);
        let [first, second, third] = derivatives(n, &matrix(n, &a), &directions);
        assert!(first.abs() < 1e-20);
        assert!(second.is_nan() && third.is_nan());
    }
}

/// Rows and columns of any scales have the minors that their exponents say.
#[test]
fn cofactors_do_not_leave_the_range_before_their_values_do() {
    for n in [4, 10] {
        let a = Matrix::<Concrete>::from_raw(Array::normal(&[n, n], 0.0, 1.0, 7));
        let sizes: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 2f64.powi(600) } else { 2f64.powi(-600) }).collect();
        let sizes = Tensor::<Concrete, 1>::from_raw(Array::new(&[n], sizes));
        let relative = |a: &Matrix<Concrete>| grad(|a: &Matrix<_>| a.det(), a) * a;
        for a in [a.clone(), a.t()] {
            let (known, found) = (relative(&a), relative(&(&a * sizes.expand::<2>())));
            assert!((found - &known).abs().max_all().item() <= 1e-12 * known.abs().max_all().item());
            let turned = relative(&(&a * sizes.expand::<2>()).t());
            assert!((turned - &known.t()).abs().max_all().item() <= 1e-12 * known.abs().max_all().item());
        }
    }
}
