//! Mistakes that operations refuse which are made of others.

use polygrad::ops::Linear;
use polygrad::tensor::Norm;
use polygrad::tensor::fft::{fft, fft_convolve, ifft, irfft, rfft};
use polygrad::{BaseTensor, Tensor, stats};

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
    log.panics(|| x.segment_max(labels, 4));
    log.panics(|| x.segment_min(&Tensor::iota(2), 1 << 62));
    log.panics(|| x.interp(v, &v.slice(0, 1..)));
    log.panics(|| x.interp(none, none));
    log.panics(|| x.interp_grid([v, none]));
    log.panics(|| none.interp_grid([v]));
    log.panics(|| x.cumlogsumexp(2));

    log.panics(|| fft(x, x, 2));
    log.panics(|| fft(x, &x.t(), 0));
    log.panics(|| ifft(v, &x.row(0), 0));
    log.panics(|| rfft(none, 0));
    log.panics(|| rfft(x, 2));
    log.panics(|| irfft(x, x, 3, 1));
    log.panics(|| irfft(x, x, 0, 1));
    log.panics(|| irfft(x, x, 4, 2));
    log.panics(|| fft_convolve(x, x, 2));
    log.panics(|| fft_convolve(v, none, 0));
    log.panics(|| Linear::fourier(&[3, 2], 0, 1));
    log.panics(|| labels.raw().linear(&Linear::replicate(&[2, 3], &[1])).linear(&Linear::fourier(&[2, 3], 0, 1)));
}
