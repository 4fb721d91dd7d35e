//! Mistakes that operations refuse which are made of others.

use polygrad::ops::Linear;
use polygrad::tensor::{Norm, Ragged};
use polygrad::{BaseTensor, Complex, Tensor, stats};

use crate::log::Log;

type Vector<T> = Tensor<T, 1>;

/// What these operations refuse; `x` has shape `[2, 3]`.
pub(crate) fn composed<T: BaseTensor>(x: &Tensor<T, 2>, log: &mut Log) {
    let v: &Vector<T> = &x.slice(1, 0..2).row(0);
    let none: &Vector<T> = &Tensor::zeros([0]);
    let labels: &Tensor<T, 1, i64> = &Tensor::iota(3);

    log.panics(|| x.var_axis_ddof::<1>(2, 1));
    log.panics(|| x.std_axis::<1>(2));
    log.panics(|| x.std_axis_ddof::<1>(2, 1));
    log.panics(|| x.norm_axis::<1>(2, Norm::One));
    log.panics(|| x.quantile_axis::<1>(2, 0.5));
    log.panics(|| x.quantile_axis::<1>(1, 50.0));
    log.panics(|| x.quantile(f64::NAN));
    log.panics(|| none.quantile(0.5));
    log.panics(|| none.quantile_axis::<0>(0, 0.5));
    log.panics(|| x.median_axis::<1>(2));
    log.panics(|| none.median());
    log.panics(|| x.gt(0.0).any_axis::<1>(2));
    log.panics(|| x.gt(0.0).all_axis::<1>(2));

    log.panics(|| stats::normal(x, x.t(), 1.0));
    log.panics(|| stats::poisson_log(labels, v));
    log.panics(|| stats::categorical_logit(labels, x));
    log.panics(|| stats::multi_normal_cholesky(x, 0.0, x));
    log.panics(|| stats::lkj_corr_cholesky(x, 1.0));
    log.panics(|| stats::linear_glm(&x.row(0), x, 0.0, v, 1.0));
    log.panics(|| stats::ReducedRegression::new(v, x));
    log.panics(|| stats::constrain::cholesky_corr(v));
    log.panics(|| stats::unconstrain::simplex(none));
    log.panics(|| stats::unconstrain::cholesky_cov(x));
    log.panics(|| stats::logit_glm(&x.row(0).gt(0.0), x, 0.0, v));

    log.panics(|| x.roll(2, 1));
    log.panics(|| x.tile([1 << 60, 1]));
    log.panics(|| x.diff(2));
    log.panics(|| v.cross(v));
    log.panics(|| x.cross(&x.tile([2, 1])));
    log.panics(|| Vector::<T>::zeros([1 << 40]).kron(&Tensor::zeros([1 << 40])));

    log.panics(|| x.set([0], v));
    log.panics(|| x.set_slice(2, 0, x));
    log.panics(|| x.set_slice(1, 1, x));
    log.panics(|| x.set_slice(1, 0, &x.t()));
    log.panics(|| x.clone().add_slice(0, 3, &x.slice(0, ..1)));
    log.panics(|| x.clone().add_at([0], v));

    log.panics(|| x.cross_entropy(1, labels));
    log.panics(|| x.cross_entropy::<1>(2, labels));
    log.panics(|| x.cross_entropy_soft::<1>(1, &x.t()));
    log.panics(|| x.cross_entropy_soft::<1>(2, x));

    log.panics(|| x.segment_sum(labels, 4));
    log.panics(|| x.segment_sum(&Tensor::iota(2), 1 << 62));
    let ragged = Ragged::new(x.clone(), Tensor::iota(3));
    log.panics(|| ragged.spread(x));
    log.panics(|| ragged.padded::<3>(1 << 62));
    log.panics(|| Ragged::<T, 1>::build(labels, 1 << 62, |i, _| i.to_float()));
    log.panics(|| x.segment_max(labels, 4));
    log.panics(|| x.segment_min(&Tensor::iota(2), 1 << 62));
    log.panics(|| x.interp(v, &v.slice(0, 1..)));
    log.panics(|| x.interp(none, none));
    log.panics(|| x.interp_grid([v, none]));
    log.panics(|| none.interp_grid([v]));
    log.panics(|| x.cumlogsumexp(2));

    log.panics(|| x.to_complex().fft(2));
    log.panics(|| Complex::new(x.clone(), x.t()));
    log.panics(|| x.to_complex() * x.t().to_complex());
    log.panics(|| x / x.t().to_complex());
    log.panics(|| x.to_complex().matmul(&x.to_complex()));
    log.panics(|| x.to_complex().dot(&x.t().to_complex()));
    log.panics(|| Complex::<T, 1>::from_elements([3], &[]));
    log.panics(|| Complex::stack::<3>(&[&x.to_complex(), &x.t().to_complex()]));
    log.panics(|| x.to_complex().solve(&v.to_complex()));
    log.panics(|| x.matmul(&x.t()).to_complex().solve(&none.to_complex()));
    log.panics(|| x.to_complex().inverse());
    log.panics(|| x.to_complex().expm());
    log.panics(|| x.to_complex().eigh());
    log.panics(|| x.to_complex().fft_axes([0, 0]));
    log.panics(|| v.to_complex().ifft(1));
    log.panics(|| x.to_complex().fftshift(2));
    log.panics(|| none.rfft(0));
    log.panics(|| x.rfft(2));
    log.panics(|| x.to_complex().irfft(3, 1));
    log.panics(|| x.to_complex().irfft(0, 1));
    log.panics(|| x.to_complex().irfft(4, 2));
    log.panics(|| x.fft_convolve(x, 2));
    log.panics(|| v.fft_convolve(none, 0));
    log.panics(|| Linear::fourier(&[3, 2], 0, 1));
    log.panics(|| labels.raw().linear(&Linear::replicate(&[2, 3], &[1])).linear(&Linear::fourier(&[2, 3], 0, 1)));
}
