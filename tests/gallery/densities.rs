//! Log densities of numbers, counts and vectors, regressions, and constrained parameters.

use polygrad::stats::{self, constrain};
use polygrad::{Array, BaseTensor, Tensor};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    densities_of_numbers(x = real([4], 22), p = real([4], 23));
    densities_of_counts(x = real([4], 24), s = real([], 25); y = Array::from([0i64, 3, 1, 7]));
    densities_of_vectors(x = real([3], 26), m = real([3, 3], 27));
    regressions(w = real([2], 28), p = real([2], 29); y = Array::from([true, false, true]));
    constrained(u = real([3], 30), v = real([3], 31));
}

fn densities_of_numbers<T: BaseTensor>(x: &Vector<T>, p: &Vector<T>) -> Scalar<T> {
    let (positive, scale, mean) = (x.exp(), p.exp(), p.mean());
    let real = stats::normal(x, &mean, &scale) + stats::student_t(x, &scale, p, 1.5) + stats::cauchy(x, p, &scale);
    let half = stats::gamma(&positive, &scale, 0.5) + stats::inv_gamma(&positive, 1.5, &scale);
    let other = stats::lognormal(&positive, p, &scale) + stats::half_cauchy(&positive, &scale);
    let bounded = stats::beta(&x.sigmoid(), &scale, 2.0) + stats::uniform(x, -9.0, scale.shift(9.0));
    let sharp = stats::logistic(x, p, &scale) + stats::exponential(&positive, &scale);
    // No observation is possible with this scale.
    let never = stats::normal(x, p, -&scale).lt(0.0).select(0.0, &sharp);
    (real + half + other + bounded + sharp + never).sum()
}

fn densities_of_counts<T: BaseTensor>(x: &Vector<T>, s: &Scalar<T>, y: &Tensor<T, 1, i64>) -> Scalar<T> {
    let rates = stats::poisson_log(y, x) + stats::neg_binomial_2_log(y, x, s.exp());
    let logits = stats::binomial_logit(y, 9, x) + stats::bernoulli_logit(&y.gt(1), s);
    let third = stats::categorical_logit(&y.row::<0>(1), x) + stats::categorical_logit(&y.row::<0>(2), x);
    (rates * logits).sum() * third
}

fn densities_of_vectors<T: BaseTensor>(x: &Vector<T>, m: &Matrix<T>) -> Scalar<T> {
    let l = m.tril(-1) + m.diagonal::<1>(0, 1).exp().diag();
    let whole = stats::multi_normal_cholesky(&x.replicate::<2>(2), 0.5, &l).sum();
    whole * stats::dirichlet(&x.softmax(0), x.exp()) + stats::lkj_corr_cholesky(&l, x.sum().exp())
}

fn regressions<T: BaseTensor>(w: &Vector<T>, p: &Vector<T>, y: &Tensor<T, 1, bool>) -> Scalar<T> {
    let [intercept, scale] = p.unstack();
    let x = Tensor::constant([[1.0, 0.5], [-0.25, 2.0], [0.75, -1.5]]);
    let outcomes = Tensor::constant([0.25, 1.5, -0.5]);
    stats::linear_glm(&outcomes, &x, &intercept, w, scale.exp()) * stats::logit_glm(y, &x, &intercept, w)
}

fn constrained<T: BaseTensor>(u: &Vector<T>, v: &Vector<T>) -> Scalar<T> {
    let (share, of_share) = constrain::simplex(u);
    let (factor, of_factor) = constrain::cholesky_corr(v);
    let (rising, of_rising) = constrain::ordered(u);
    let (inside, of_inside) = constrain::interval(v, -1.0, share.slice(0, ..3).exp());
    let values = share.square().sum() * factor.sin().sum() + rising.dot(&inside);
    values + of_share * of_factor + of_rising * of_inside
}
