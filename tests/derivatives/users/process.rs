//! A Gaussian process: the evidence of its hyperparameters by a Cholesky factorization written as a loop, and its
//! gradient.

use polygrad::{BaseTensor, Concrete, Tensor, build, build1, grad_with, iterate, tensor};

use super::solve;

/// The lower factor of a positive definite matrix, a column for each trip.
fn cholesky<T: BaseTensor>(a: &Tensor<T, 2>) -> Tensor<T, 2> {
    let n = a.dim::<0>();
    iterate(n, Tensor::zeros([n, n]), |k, l| {
        let rest = a.at([k]) - l.matvec(&l.at([k]));
        let column = &rest / rest.at([k]).sqrt();
        l + build([n, n], |[i, j]| (j.eq(k) & i.ge(k)).select(column.at([i]), 0.0))
    })
}

/// The solution of `l x = b` for a lower triangle.
fn forward<T: BaseTensor>(l: &Tensor<T, 2>, b: &Tensor<T, 1>) -> Tensor<T, 1> {
    let n = b.len();
    iterate(n, Tensor::zeros([n]), |k, x| {
        let next = (b.at([k]) - l.at([k]).dot(&x)) / l.at([k, k]);
        x + k.one_hot(n) * next
    })
}

/// The covariance of values at `x` for the logarithms of length, amplitude and noise.
fn covariance<T: BaseTensor>(p: &Tensor<T, 1>, x: &Tensor<T, 1>) -> Tensor<T, 2> {
    let [length, amplitude, noise] = p.exp().unstack();
    let apart = build([x.len(), x.len()], |[i, j]| x.at([i]) - x.at([j]));
    (-(apart / length).square() * 0.5).exp() * amplitude.square() + Tensor::eye(x.len()) * noise.square()
}

/// Minus the logarithm of the evidence, constants left out.
fn loss<T: BaseTensor>(p: &Tensor<T, 1>, (x, y): &(Tensor<T, 1>, Tensor<T, 1>)) -> Tensor<T, 0> {
    let l = cholesky(&covariance(p, x));
    forward(&l, y).square().sum() * 0.5 + l.diagonal::<1>(0, 1).ln().sum()
}

#[test]
fn the_gradient_is_that_of_the_book() {
    let x = tensor([0.0, 0.3, 0.7, 1.0, 1.8, 2.5, 3.1]);
    let y = x.sin() + tensor([0.1, -0.05, 0.02, 0.0, -0.1, 0.04, 0.03]);
    let p = tensor([-0.2, 0.1, -1.5]);
    let slope = grad_with(loss, &p, &(x.clone(), y.clone()));
    // Rasmussen and Williams, equation 5.9: tr((K^-1 - a a^T) dK) / 2 with K a = y. The derivatives of K by
    // differences.
    let (k, n) = (covariance(&p, &x), x.len());
    let a = solve(&k, &y);
    let unit = |i: usize, n: usize| build1(n, move |j: &Tensor<Concrete, 0, i64>| j.eq(i as i64).select(1.0, 0.0));
    let inverse: Vec<Tensor<Concrete, 1>> = (0..n).map(|i| solve(&k, &unit(i, n))).collect();
    let weight = polygrad::stack::<_, 1, 2, _>(inverse) - a.outer(&a);
    for (i, slope) in slope.to_vec().into_iter().enumerate() {
        let moved = |h: f64| covariance(&(&p + unit(i, 3) * h), &x);
        let dk = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let expected = (weight.clone() * dk).sum().item() / 2.0;
        assert!((slope - expected).abs() < 1e-7 * expected.abs().max(1.0), "{i}: {slope} {expected}");
    }
}
