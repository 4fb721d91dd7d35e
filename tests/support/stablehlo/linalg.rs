//! Linear algebra, and the custom calls that XLA replaces by operations.

use polygrad::ops::{Call, Matrix};
use polygrad::{Array, BaseTensor};

use super::read::Line;
use super::tensor::Tensor;

/// The results of a custom call.
pub(super) fn custom_call(line: &Line, args: &[Tensor]) -> Vec<Tensor> {
    let name = line.words.trim().trim_start_matches('@').split('(').next().expect("a name");
    match (name, args) {
        ("Qr", [a]) => {
            let [m, n] = sizes(a);
            let (mut packed, mut taus) = (Vec::new(), Vec::new());
            for a in a.f().chunks(m * n) {
                let (a, t) = householder(m, n, a);
                packed.extend(a);
                taus.extend(t);
            }
            let batch = &a.shape()[..a.shape().len() - 2];
            let shape: Vec<usize> = batch.iter().copied().chain([m.min(n)]).collect();
            vec![Tensor::floats(a.shape(), &a.ty.element, packed), Tensor::floats(&shape, &a.ty.element, taus)]
        }
        ("ProductOfElementaryHouseholderReflectors", [a, taus]) => {
            let [m, n] = sizes(a);
            let k = *taus.shape().last().expect("an axis");
            let product = |(a, taus): (&[f64], &[f64])| reflected(m, n, a, taus);
            let q = a.f().chunks(m * n).zip(taus.f().chunks(k)).flat_map(product).collect();
            vec![Tensor::floats(a.shape(), &a.ty.element, q)]
        }
        ("Eigh", [a]) => {
            let found = Array::call(&Call::Matrix(Matrix::Eigh), &[a.array()]);
            vec![Tensor::of(&found[1]), Tensor::of(&found[0])]
        }
        (_, _) => panic!("no custom call {name}"),
    }
}

fn sizes(a: &Tensor) -> [usize; 2] {
    let [.., m, n] = a.shape() else { panic!("a matrix has two axes") };
    [*m, *n]
}

/// `r` with the vectors of the reflectors below the diagonal, and the factors of the reflectors.
fn householder(m: usize, n: usize, a: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut a, mut taus) = (a.to_vec(), Vec::new());
    for k in 0..m.min(n) {
        let below: f64 = (k + 1..m).map(|i| a[i * n + k].powi(2)).sum();
        let alpha = a[k * n + k];
        if below == 0.0 {
            taus.push(0.0);
            continue;
        }
        let beta = -(alpha * alpha + below).sqrt().copysign(alpha);
        let tau = (beta - alpha) / beta;
        taus.push(tau);
        (k + 1..m).for_each(|i| a[i * n + k] /= alpha - beta);
        a[k * n + k] = beta;
        for j in k + 1..n {
            let dot = a[k * n + j] + (k + 1..m).map(|i| a[i * n + k] * a[i * n + j]).sum::<f64>();
            a[k * n + j] -= tau * dot;
            for i in k + 1..m {
                a[i * n + j] -= tau * dot * a[i * n + k];
            }
        }
    }
    (a, taus)
}

/// The first columns of the product of the reflectors.
fn reflected(m: usize, n: usize, a: &[f64], taus: &[f64]) -> Vec<f64> {
    let mut q: Vec<f64> = (0..m * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
    for (k, tau) in taus.iter().enumerate().rev() {
        let v = |i: usize| if i == k { 1.0 } else { a[i * n + k] };
        for j in 0..n {
            let dot: f64 = (k..m).map(|i| v(i) * q[i * n + j]).sum();
            (k..m).for_each(|i| q[i * n + j] -= tau * dot * v(i));
        }
    }
    q
}

/// Lower triangular factors; what is above the diagonal is left open by the specification.
pub(super) fn cholesky(a: &Tensor) -> Tensor {
    let n = *a.shape().last().expect("a matrix");
    let mut out = Vec::new();
    for a in a.f().chunks(n * n) {
        let mut l = vec![f64::MAX; n * n];
        for i in 0..n {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
                let rest = a[i * n + j] - dot;
                l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
            }
        }
        out.extend(l);
    }
    Tensor::floats(a.shape(), &a.ty.element, out)
}

pub(super) fn triangular_solve(line: &Line, a: &Tensor, b: &Tensor) -> Tensor {
    let flag = |key: &str| line.word(key) == "true";
    let (lower, unit) = (flag("lower"), flag("unit_diagonal"));
    let transposed = !line.words.contains("NO_TRANSPOSE");
    assert!(flag("left_side"));
    let n = *a.shape().last().expect("a matrix");
    let m = *b.shape().last().expect("a matrix");
    let mut out = Vec::new();
    for (a, b) in a.f().chunks(n * n).zip(b.f().chunks(n * m)) {
        let at = |i: usize, j: usize| if transposed { a[j * n + i] } else { a[i * n + j] };
        let mut x = b.to_vec();
        let order: Vec<usize> = if lower != transposed { (0..n).collect() } else { (0..n).rev().collect() };
        for (done, i) in order.iter().enumerate() {
            for c in 0..m {
                let dot: f64 = order[..done].iter().map(|j| at(*i, *j) * x[j * m + c]).sum();
                let rest = x[i * m + c] - dot;
                x[i * m + c] = if unit { rest } else { rest / at(*i, *i) };
            }
        }
        out.extend(x);
    }
    Tensor::floats(b.shape(), &b.ty.element, out)
}
