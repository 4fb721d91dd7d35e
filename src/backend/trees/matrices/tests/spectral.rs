//! Eigenvalues and singular values, with vectors.

use super::{Batch, agree, by_tree, hostile, random, regular, results_by_tree};
use crate::array::{Array, Rng};
use crate::dtype::DType;
use crate::kernels::matrix::Real;
use crate::ops::Matrix;

/// Checks eigenvectors: orthonormal, of the eigenvalues of the symmetric part, each with its largest element positive.
fn are_eigenvectors<E: Real>(of: &Batch<E>, error: f64) {
    let n = of.sizes[1];
    let [values, vectors] = by_tree(Matrix::Eigh, of).try_into().expect("two results");
    let [values, vectors]: [Vec<f64>; 2] =
        [values, vectors].map(|x: Array| x.to_vec::<E>().expect("floats").into_iter().map(|x| x.as_f64()).collect());
    for matrix in 0..of.count {
        let a: Vec<f64> = of.floats[0][matrix * n * n..][..n * n].iter().map(|x| x.as_f64()).collect();
        let (w, v) = (&values[matrix * n..][..n], &vectors[matrix * n * n..][..n * n]);
        if a.iter().any(|x| !x.is_finite()) {
            assert!(w.iter().chain(v).all(|x| x.is_nan()));
            continue;
        }
        let most = a.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let sum = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>();
        assert!(w.is_sorted(), "{w:?}");
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let image = sum(&|k| (a[i * n + k] + a[k * n + i]) / 2.0 * v[k * n + j]);
            let wanted = w[j] * v[i * n + j];
            assert!((image - wanted).abs() <= error * most, "{a:?}, {w:?}, {v:?}");
            let unit = f64::from(u8::from(i == j));
            assert!((sum(&|k| v[k * n + i] * v[k * n + j]) - unit).abs() <= error, "{a:?}, {v:?}");
        }
        for j in 0..n {
            let first =
                (0..n).fold(0.0f64, |most, i| if v[i * n + j].abs() > most.abs() { v[i * n + j] } else { most });
            assert!(first > 0.0, "{v:?}");
        }
    }
}

fn spectral<E: Real>(error: f64, scale: i32) {
    let mut rng = Rng::new(13);
    for n in [0, 1, 2, 3, 5, 8, 16] {
        let sizes = [n, n];
        let plain = Batch::of(sizes, vec![random::<E>(&mut rng, n * n), random::<E>(&mut rng, n * n)]);
        agree(Matrix::Eigh, &plain, 10.0 * error, "plain");
        // A result that nothing reads has no room; the other one is the same, to the bit.
        let (results, both) = (plain.results(Matrix::Eigh), by_tree(Matrix::Eigh, &plain));
        for read in [[true, false], [false, true], [false, false]] {
            let with_room: Vec<(usize, DType)> =
                results.iter().zip(read).map(|((len, dtype), read)| (if read { *len } else { 0 }, *dtype)).collect();
            let some = results_by_tree(Matrix::Eigh, &plain, &with_room);
            for ((x, y), _) in some.iter().zip(&both).zip(read).filter(|(_, read)| *read) {
                assert_eq!(x, y, "{n} rows, where {read:?} are read");
            }
        }
        let all = [regular::<E>(&mut rng, sizes, scale), hostile(&mut rng, sizes)].concat();
        are_eigenvectors(&Batch::of(sizes, all), error);
    }
}

#[test]
fn eigenvalues_and_eigenvectors_are_those_of_the_kernels() {
    spectral::<f64>(1e-13, 250);
    spectral::<f32>(1e-4, 30);
}

/// Checks singular vectors: orthonormal, with the matrix as their product with the singular values, which descend; each left
/// one with its largest element positive.
fn are_singular<E: Real>(of: &Batch<E>, error: f64) {
    let ([m, n], k) = (of.sizes, of.sizes[0].min(of.sizes[1]));
    let parts = by_tree(Matrix::Svd, of).into_iter().map(|x| x.to_vec::<E>().expect("floats"));
    let parts: Vec<Vec<f64>> = parts.map(|x| x.into_iter().map(|x| x.as_f64()).collect()).collect();
    for matrix in 0..of.count {
        let a: Vec<f64> = of.floats[0][matrix * m * n..][..m * n].iter().map(|x| x.as_f64()).collect();
        let part = |at: usize, len: usize| &parts[at][matrix * len..][..len];
        let (u, s, vt) = (part(0, m * k), part(1, k), part(2, k * n));
        if a.iter().any(|x| !x.is_finite()) {
            assert!([u, s, vt].concat().iter().all(|x| x.is_nan()));
            continue;
        }
        let most = a.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        assert!(s.is_sorted_by(|x, y| x >= y) && s.iter().all(|x| *x >= 0.0), "{s:?}");
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let found = (0..k).map(|r| u[i * k + r] * s[r] * vt[r * n + j]).sum::<f64>();
            assert!((found - a[i * n + j]).abs() <= error * most, "{a:?}, {u:?}, {s:?}, {vt:?}");
        }
        for (i, j) in (0..k).flat_map(|i| (0..k).map(move |j| (i, j))) {
            let unit = f64::from(u8::from(i == j));
            let of_u = (0..m).map(|r| u[r * k + i] * u[r * k + j]).sum::<f64>();
            let of_v = (0..n).map(|r| vt[i * n + r] * vt[j * n + r]).sum::<f64>();
            assert!((of_u - unit).abs() <= error && (of_v - unit).abs() <= error, "{a:?}, {u:?}, {vt:?}");
        }
        for j in 0..k {
            let first =
                (0..m).fold(0.0f64, |most, i| if u[i * k + j].abs() > most.abs() { u[i * k + j] } else { most });
            assert!(first > 0.0, "{u:?}");
        }
    }
}

fn singular<E: Real>(error: f64, scale: i32) {
    let mut rng = Rng::new(17);
    for [m, n] in [[1, 1], [2, 2], [5, 3], [3, 5], [8, 8], [13, 4], [1, 6], [0, 3], [3, 0]] {
        let plain = Batch::of([m, n], vec![random::<E>(&mut rng, m * n), random::<E>(&mut rng, m * n)]);
        agree(Matrix::Svd, &plain, 20.0 * error, "plain");
        // Values alone are the same, to the bit.
        let (results, all) = (plain.results(Matrix::Svd), by_tree(Matrix::Svd, &plain));
        let values: Vec<(usize, DType)> =
            results.iter().enumerate().map(|(k, (len, dtype))| (if k == 1 { *len } else { 0 }, *dtype)).collect();
        assert_eq!(results_by_tree(Matrix::Svd, &plain, &values)[1], all[1]);
        let (regular, hostile) = (regular::<E>(&mut rng, [m, n], scale), hostile(&mut rng, [m, n]));
        are_singular(&Batch::of([m, n], [regular.clone(), hostile.clone()].concat()), error);
        for (case, of) in [("regular", regular), ("hostile", hostile)] {
            let (of, rows) = (Batch::of([m, n], of), m + n + 2);
            let mut x = random::<E>(&mut rng, of.count * rows * m.min(n));
            x.iter_mut().take(rows * m.min(n)).step_by(m.min(n).max(1)).for_each(|x| *x = E::ZERO);
            agree(Matrix::SvdSolve, &of.with(x, [rows, m.min(n)]).decomposed(Matrix::Svd), 1e2 * error, case);
        }
    }
}

#[test]
fn singular_values_and_vectors_are_those_of_the_kernels() {
    singular::<f64>(1e-13, 250);
    singular::<f32>(1e-4, 30);
}
