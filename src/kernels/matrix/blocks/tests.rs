//! Tests of blocked factorisations by their definitions, at sizes around blocks and vectors.

use crate::kernels::matrix::blocks::TriangleView;
use crate::kernels::matrix::{self, Real};

const SIZES: [usize; 14] = [1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 33, 48, 65, 90];

/// Numbers between -1 and 1.
fn numbers<E: Real>(count: usize, seed: u64) -> Vec<E> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| E::of_f64(next())).collect()
}

/// The product of two matrices of `[m, k]` and `[k, n]` rows and columns.
fn product<E: Real>([m, k, n]: [usize; 3], a: &[E], b: &[E]) -> Vec<f64> {
    let term = |i: usize, p: usize, j: usize| a[i * k + p].as_f64() * b[p * n + j].as_f64();
    (0..m * n).map(|at| (0..k).map(|p| term(at / n, p, at % n)).sum()).collect()
}

#[track_caller]
fn near<E: Real>(what: &str, found: &[f64], known: &[E], scale: f64) {
    let tolerance = 100.0 * scale * <E as num_traits::Float>::epsilon().as_f64();
    assert_eq!(found.len(), known.len(), "{what}");
    for (x, y) in found.iter().zip(known) {
        assert!((x - y.as_f64()).abs() <= tolerance, "{what}: {x} is not {}", y.as_f64());
    }
}

fn every_size<E: Real>() {
    for n in SIZES {
        let a = numbers::<E>(n * n, n as u64);
        let (mut l, mut u, mut p) = (vec![E::ZERO; n * n], vec![E::ZERO; n * n], vec![0; n]);
        matrix::lu(n, &a, &mut l, &mut u, &mut p);
        assert!(l.iter().all(|x| matrix::abs(*x) <= E::ONE), "{n} rows: pivots are the largest");
        let rows: Vec<E> = p.iter().flat_map(|p| &a[*p as usize * n..][..n]).copied().collect();
        near("l u", &product([n; 3], &l, &u), &rows, n as f64);
        let mut x = vec![E::ZERO; n * n];
        matrix::inverse(n, &a, &mut x);
        let size = x.iter().map(|x| x.as_f64().abs()).fold(1.0, f64::max);
        let one: Vec<E> = (0..n * n).map(|at| if at % (n + 1) == 0 { E::ONE } else { E::ZERO }).collect();
        near("a a^-1", &product([n; 3], &a, &x), &one, size * n as f64);
        let square: Vec<E> = product([n; 3], &u, &transposed([n; 2], &u)).iter().map(|x| E::of_f64(*x)).collect();
        let square: Vec<E> = square.iter().zip(&one).map(|(x, y)| *x + *y).collect();
        let mut l = vec![E::ZERO; n * n];
        matrix::cholesky(n, &square, &mut l);
        let scale = square.iter().map(|x| x.as_f64()).fold(1.0, f64::max);
        near("l l^T", &product([n; 3], &l, &transposed([n; 2], &l)), &square, scale * n as f64);
        let mut bad = square.clone();
        bad[n * n - 1] = -E::ONE;
        matrix::cholesky(n, &bad, &mut l);
        assert!(l.iter().all(|x| x.as_f64().is_nan()), "{n} rows: not positive definite");
        triangles(n, &a);
        for shape in [[n, n], [n + 3, n], [n, n + 3], [n + 40, n]] {
            orthogonal::<E>(shape);
        }
    }
}

fn transposed<E: Real>([m, n]: [usize; 2], a: &[E]) -> Vec<E> {
    (0..m * n).map(|at| a[at % m * n + at / m]).collect()
}

/// Triangles of every kind, with small numbers off the diagonal.
fn triangles<E: Real>(n: usize, a: &[E]) {
    let of: Vec<E> = a.iter().map(|x| *x * E::of_f64(1.0 / n as f64)).collect();
    let of: Vec<E> = (0..n * n).map(|at| if at % (n + 1) == 0 { of[at] + E::ONE + E::ONE } else { of[at] }).collect();
    for kind in 0..8 {
        let [transposed_, lower, unit] = [1, 2, 4].map(|bit| kind & bit != 0);
        let view = TriangleView { of: &of, n, transposed: transposed_, lower, unit };
        let element = |at: usize| {
            let (i, j) = (at / n, at % n);
            let x = if transposed_ { of[j * n + i] } else { of[at] };
            match (i == j, if lower { j < i } else { j > i }) {
                (true, _) if unit => E::ONE,
                (true, _) | (_, true) => x,
                (false, false) => E::ZERO,
            }
        };
        let dense: Vec<E> = (0..n * n).map(element).collect();
        for columns in [1, 3, 8, 19] {
            let b = numbers::<E>(n * columns, 5);
            let mut x = b.clone();
            view.solve(&mut x, columns);
            near("a solution with a triangle", &product([n, n, columns], &dense, &x), &b, n as f64);
        }
    }
}

fn orthogonal<E: Real>([m, n]: [usize; 2]) {
    let (k, a) = (m.min(n), numbers::<E>(m * n, 3));
    let (mut q, mut r) = (vec![E::ZERO; m * k], vec![E::ZERO; k * n]);
    matrix::qr([m, n], &a, &mut q, &mut r);
    near("q r", &product([m, k, n], &q, &r), &a, m as f64);
    let one: Vec<E> = (0..k * k).map(|at| if at % (k + 1) == 0 { E::ONE } else { E::ZERO }).collect();
    near("q^T q", &product([k, m, k], &transposed([m, k], &q), &q), &one, m as f64);
    for i in 0..k {
        assert!(r[i * n + i] >= E::ZERO && r[i * n..i * n + i].iter().all(|x| *x == E::ZERO));
    }
    // Columns times powers of two, beyond the range of squares.
    let powers = |j: usize| if j.is_multiple_of(2) { 100 } else { -60 };
    let moved: Vec<E> = (0..m * n).map(|at| matrix::scaled(a[at], powers(at % n))).collect();
    let (mut same, mut other) = (q.clone(), r.clone());
    matrix::qr([m, n], &moved, &mut same, &mut other);
    assert!(same == q, "{m} rows, {n} columns: q sees the scale");
    let back: Vec<E> = (0..k * n).map(|at| matrix::scaled(other[at], -powers(at % n))).collect();
    assert!(back == r, "{m} rows, {n} columns: r sees the scale");
}

#[test]
fn factors_and_solutions_are_what_they_should_be() {
    every_size::<f64>();
    every_size::<f32>();
}

/// Columns of zeros and columns that depend on others have no pivot of their own.
#[test]
fn singular_matrices_have_factors() {
    for n in [9, 17, 40] {
        let mut a = numbers::<f64>(n * n, 8);
        for i in 0..n {
            a[i * n + 3] = 0.0;
            a[i * n + 5] = 2.0 * a[i * n + 4];
        }
        let (mut l, mut u, mut p) = (vec![0.0; n * n], vec![0.0; n * n], vec![0; n]);
        matrix::lu(n, &a, &mut l, &mut u, &mut p);
        let rows: Vec<f64> = p.iter().flat_map(|p| &a[*p as usize * n..][..n]).copied().collect();
        near("l u", &product([n; 3], &l, &u), &rows, n as f64);
        let (mut q, mut r) = (vec![0.0; n * n], vec![0.0; n * n]);
        matrix::qr([n; 2], &a, &mut q, &mut r);
        near("q r", &product([n; 3], &q, &r), &a, n as f64);
        assert!(matrix::det(n, &vec![0.0; n * n]) == 0.0);
    }
}
