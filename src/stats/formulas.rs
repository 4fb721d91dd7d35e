//! The formulas of the densities of numbers, at values of rank `D` or 0, with and without their constants.
//!
//! Law: a formula is computed at possible parameters and outcomes, even where these are replaced, so that derivatives
//! are finite there; the result is `-inf` where they were.

use std::f64::consts::{LN_2, PI, TAU};

use super::loose::{Loose, positive};
use super::stirling;
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::ops::{Binary, Unary};

/// `ln sqrt(2 pi)`.
pub(super) fn ln_root_tau() -> f64 {
    0.5 * TAU.ln()
}

/// `ln pi`.
pub(super) fn ln_pi() -> f64 {
    PI.ln()
}

/// How much of a density is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Summands {
    /// The whole logarithm of the density.
    Whole,
    /// The terms left without numbers, and without terms that depend on integers alone.
    Kernel,
}

impl Summands {
    /// A number, which a kernel does not have.
    pub(super) fn number(self, c: f64) -> f64 {
        match self {
            Summands::Whole => c,
            Summands::Kernel => 0.0,
        }
    }
}

/// The part of the real line that is the support of a density.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Support {
    /// `0 <= x < inf`.
    NotNegative,
    /// `0 < x < inf`.
    Positive,
    /// `0 <= x <= 1`.
    Unit,
}

impl Support {
    /// The outcome, a possible one where it is outside, and the mask of these places. A NaN stays a NaN.
    #[track_caller]
    fn of<T: BaseTensor, E: Float>(self, x: &Loose<T, E>) -> (Loose<T, E>, Loose<T, bool>) {
        let (zero, one, inf) = (Loose::number(0.0), Loose::number(1.0), Loose::number(f64::INFINITY));
        let outside = match self {
            Support::NotNegative => x.lt(&zero) | inf.eq(x),
            Support::Positive => x.le(&zero) | inf.eq(x),
            Support::Unit => x.lt(&zero) | one.lt(x),
        };
        (outside.select(&Loose::number(0.5), x), outside)
    }
}

type Value<T, E> = Loose<T, E>;

#[track_caller]
pub(super) fn normal<T: BaseTensor, E: Float>(
    x: &Value<T, E>,
    mean: &Value<T, E>,
    sd: &Value<T, E>,
    summands: Summands,
) -> Value<T, E> {
    let (precision, norm) = normal_scale(sd, summands);
    (x - mean).square() * precision.scale(-0.5) + norm
}

/// The inverse of the variance, and the logarithm of the density at the mean, of a normal distribution.
///
/// Distances are squared before they are divided: of one scale for many observations, the sum of the squares serves the
/// value and the derivative in the scale.
#[track_caller]
pub(super) fn normal_scale<T: BaseTensor, E: Float>(
    sd: &Value<T, E>,
    summands: Summands,
) -> (Value<T, E>, Value<T, E>) {
    let wrong = sd.le(&Loose::number(0.0)) | sd.square().is_no_scale();
    let sd = wrong.select(&Loose::number(1.0), sd);
    let norm = sd.ln().neg().shift(summands.number(-ln_root_tau()));
    (sd.square().recip(), wrong.impossible(&norm))
}

#[track_caller]
pub(super) fn student_t<T: BaseTensor, E: Float>(
    x: &Value<T, E>,
    [df, location, scale]: [&Value<T, E>; 3],
    summands: Summands,
) -> Value<T, E> {
    let ([df, scale], wrong) = positive([df, scale]);
    let halves = df.scale(0.5);
    let more = halves.shift(0.5);
    let norm = stirling::half_step(&halves).shift(-0.5 * LN_2) - scale.ln();
    let norm = wrong.impossible(&norm.shift(summands.number(-0.5 * ln_pi())));
    // One logarithm serves near and far distances. So for a tiny scale these are counted in a smaller unit, in which
    // a far one is above 1. The unit is a constant for derivatives.
    let (log_scale, log_least) = (scale.ln() + df.ln().scale(0.5), (2.0 / bound::<E>()).ln());
    let (zero, one, inf) = (Loose::number(0.0), Loose::number(1.0), Loose::number(f64::INFINITY));
    let log_inverse = log_scale.stop_gradient().neg().shift(log_least).with(Binary::Max, &zero);
    let log_inverse = log_inverse.with(Binary::Min, &Loose::number(0.9 * largest::<E>().ln()));
    let (inverse, roots) = (log_inverse.exp(), df.map(Unary::Sqrt));
    let (distance, scale) = ((x - location) * &inverse, scale * inverse);
    // An infinite distance gets the density 0 by a subtracted term, so that no derivative is infinite.
    let infinite = distance.map(Unary::Abs).eq(&inf);
    let (far, length, near) = split(&infinite.select(&one, &distance), &(&scale * &roots));
    let log = far.select(&length.shift(-1.0), &(near / scale / roots).square()).map(Unary::Log1p);
    let log = far.select(&(log.scale(2.0) - (log_inverse + log_scale).scale(2.0)), &log);
    norm - more * log - infinite.select(&inf, &zero)
}

#[track_caller]
pub(super) fn cauchy<T: BaseTensor, E: Float>(
    x: &Value<T, E>,
    location: &Value<T, E>,
    scale: &Value<T, E>,
    summands: Summands,
) -> Value<T, E> {
    let ([scale], wrong) = positive([scale]);
    let (log_scale, number) = (scale.ln(), summands.number(-ln_pi()));
    let norm = |log: &Value<T, E>| wrong.impossible(&log.shift(number));
    let (far, length, near) = split(&(x - location), &scale);
    let log = far.select(&length, &(near / &scale).square().shift(1.0)).ln();
    far.select(&(norm(&log_scale) - log.scale(2.0)), &(norm(&log_scale.neg()) - &log))
}

fn largest<E: Float>() -> f64 {
    <E as num_traits::Float>::max_value().as_f64()
}

/// From this number on, 1 is negligible compared with the square.
fn bound<E: Float>() -> f64 {
    match E::DTYPE {
        DType::F32 => 2f64.powi(12),
        DType::F64 | DType::I64 | DType::Bool => 2f64.powi(27),
    }
}

/// The mask of distances so large that `1 + z^2` is `z^2`, where `z` is the quotient by a unit; the absolute distances;
/// and the other distances, 0 where the mask holds.
///
/// The logarithm of `z^2` is the difference of those of distance and unit, in which no power, and no derivative of a
/// quotient, leaves the range.
#[track_caller]
fn split<T: BaseTensor, E: Float>(
    distance: &Value<T, E>,
    unit: &Value<T, E>,
) -> (Loose<T, bool>, Value<T, E>, Value<T, E>) {
    let length = distance.map(Unary::Abs);
    let far = unit.scale(bound::<E>()).with(Binary::Min, &Loose::number(largest::<E>())).lt(&length);
    let near = far.select(&Loose::number(0.0), distance);
    (far, length, near)
}

/// Distances in units of a scale, 0 where a distance is infinite, and the mask of these places.
#[track_caller]
fn near<T: BaseTensor, E: Float>(
    x: &Value<T, E>,
    location: &Value<T, E>,
    scale: &Value<T, E>,
) -> (Value<T, E>, Loose<T, bool>) {
    let z = (x - location) / scale;
    let infinite = z.map(Unary::Abs).eq(&Loose::number(f64::INFINITY));
    (infinite.select(&Loose::number(0.0), &z), infinite)
}

#[track_caller]
pub(super) fn laplace<T: BaseTensor, E: Float>(
    x: &Value<T, E>,
    location: &Value<T, E>,
    scale: &Value<T, E>,
    summands: Summands,
) -> Value<T, E> {
    let ([scale], wrong) = positive([scale]);
    let norm = wrong.impossible(&scale.ln().neg().shift(summands.number(-LN_2)));
    let (z, far) = near(x, location, &scale);
    far.impossible(&(norm - z.map(Unary::Abs)))
}

#[track_caller]
pub(super) fn logistic<T: BaseTensor, E: Float>(
    x: &Value<T, E>,
    location: &Value<T, E>,
    scale: &Value<T, E>,
) -> Value<T, E> {
    let ([scale], wrong) = positive([scale]);
    let norm = wrong.impossible(&scale.ln().neg());
    // The density is `sigmoid(z) sigmoid(-z) / scale`.
    let (z, far) = near(x, location, &scale);
    far.impossible(&(norm - z.softplus() - z.neg().softplus()))
}

/// Twice a density that is symmetric around 0, where `x` is not negative.
#[track_caller]
pub(super) fn half<T: BaseTensor, E: Float>(
    x: &Value<T, E>,
    summands: Summands,
    density: impl FnOnce(&Value<T, E>) -> Value<T, E>,
) -> Value<T, E> {
    let (x, outside) = Support::NotNegative.of(x);
    outside.impossible(&density(&x).shift(summands.number(LN_2)))
}

#[track_caller]
pub(super) fn lognormal<T: BaseTensor, E: Float>(
    x: &Value<T, E>,
    mean: &Value<T, E>,
    sd: &Value<T, E>,
    summands: Summands,
) -> Value<T, E> {
    let (x, outside) = Support::Positive.of(x);
    let log = x.ln();
    outside.impossible(&(normal(&log, mean, sd, summands) - &log))
}

#[track_caller]
pub(super) fn exponential<T: BaseTensor, E: Float>(x: &Value<T, E>, rate: &Value<T, E>) -> Value<T, E> {
    let ([rate], wrong) = positive([rate]);
    let (x, outside) = Support::NotNegative.of(x);
    outside.impossible(&(wrong.impossible(&rate.ln()) - x * rate))
}

/// The norm of the densities of a gamma distribution: `a ln rate - lgamma(a)` for a small shape `a`.
///
/// For a large one, outcomes are counted in units in which they are about 1 near the mode, so that all summands of the
/// density are small there: with `r = rate x / m`, where `m` is the shape, it is `(a - 1) ln r - m (r - 1)` and this
/// norm, `(a + power) ln m - m - lgamma(a) - power ln rate` with `power` -1, or 1 for the inverse distribution. The
/// density does not depend on `m`, which is a constant for derivatives: theirs do not cancel either.
#[track_caller]
fn gamma_norm<T: BaseTensor, E: Float>(
    [a, rate]: [&Value<T, E>; 2],
    is_small: &Loose<T, bool>,
    power: f64,
) -> Value<T, E> {
    let (log, log_rate) = (a.ln(), rate.ln());
    // The value with `m = a`, and what is 0 and has the derivatives in `a` that are to be added since `m` is constant.
    let large = log.scale(power + 0.5) - log_rate.scale(power) - stirling::rest_of_large(a).shift(ln_root_tau());
    let missing = a.shift(power) * (log.stop_gradient() - &log) - (a.stop_gradient() - a);
    is_small.select(&(a * log_rate - a.lgamma()), &(large + missing))
}

#[track_caller]
pub(super) fn gamma<T: BaseTensor, E: Float>(x: &Value<T, E>, shape: &Value<T, E>, rate: &Value<T, E>) -> Value<T, E> {
    let ([shape, rate], wrong) = positive([shape, rate]);
    let (zero, one) = (Loose::number(0.0), Loose::number(1.0));
    let (is_small, m) = (stirling::is_small(&shape), shape.stop_gradient());
    let norm = wrong.impossible(&gamma_norm([&shape, &rate], &is_small, -1.0));
    let (x, outside) = Support::NotNegative.of(x);
    let r = x * is_small.select(&one, &(&rate / &m));
    let linear = (&r - is_small.select(&zero, &one)) * is_small.select(&rate, &m);
    outside.impossible(&(shape.shift(-1.0).times(&r.ln()) - linear + norm))
}

/// Like [`gamma`], with `r = scale / (m x)` for a large shape.
#[track_caller]
pub(super) fn inv_gamma<T: BaseTensor, E: Float>(
    x: &Value<T, E>,
    shape: &Value<T, E>,
    scale: &Value<T, E>,
) -> Value<T, E> {
    let ([shape, scale], wrong) = positive([shape, scale]);
    let (zero, one) = (Loose::number(0.0), Loose::number(1.0));
    let (is_small, m) = (stirling::is_small(&shape), shape.stop_gradient());
    let norm = wrong.impossible(&gamma_norm([&shape, &scale], &is_small, 1.0));
    let (x, outside) = Support::Positive.of(x);
    // A quotient that overflows belongs to a density of 0, as at the border of the support.
    let quotient = scale / &x;
    let far = quotient.eq(&Loose::number(f64::INFINITY));
    let (x, quotient) = (far.select(&one, &x), far.select(&one, &quotient));
    let more = shape.shift(1.0);
    let r = quotient * is_small.select(&one, &m.recip());
    let log = is_small.select(&more.neg(), &more) * is_small.select(&x, &r).ln();
    let linear = (&r - is_small.select(&zero, &one)) * is_small.select(&one, &m);
    (outside | far).impossible(&(norm + log - linear))
}

/// The norm of a beta distribution, with `s = a + b`: for small parameters the logarithm of the inverse of the beta
/// function, and for large ones what is to be added to this for outcomes that are divided by `a / s` and `b / s`,
/// constants for derivatives as in [`gamma_norm`].
#[track_caller]
fn beta_norm<T: BaseTensor, E: Float>([a, b, sum]: [&Value<T, E>; 3], is_small: &Loose<T, bool>) -> Value<T, E> {
    let most = Loose::constant(<E as num_traits::Float>::max_value());
    let ratio = |a: &Value<T, E>, b: &Value<T, E>| (a / b).with(Binary::Min, &most);
    // The logarithms of `s / a` and `s / b`.
    let (g, h) = (ratio(b, a).map(Unary::Log1p), ratio(a, b).map(Unary::Log1p));
    let missing = a.shift(-1.0) * (&g - g.stop_gradient()) + b.shift(-1.0) * (&h - h.stop_gradient());
    let ends = is_small.select(&(a * &g + b * &h), &(missing + &g + &h));
    let rest = stirling::rest(sum) - stirling::rest(a) - stirling::rest(b);
    ends + (sum.ln() - g - h).scale(0.5) + rest.shift(-ln_root_tau())
}

/// For large parameters, with `r = x s / a` and `y = (1 - x) s / b - 1 = (1 - x) a / b - x`, it is
/// `(a - 1) ln r + (b - 1) ln(1 + y) - a (r - 1) - b y` and a norm: all is small near the mode. What is linear has
/// the sum 0, but makes the formula insensitive to the rounding of `r` and `y`.
#[track_caller]
pub(super) fn beta<T: BaseTensor, E: Float>(x: &Value<T, E>, a: &Value<T, E>, b: &Value<T, E>) -> Value<T, E> {
    let ([a, b], wrong) = positive([a, b]);
    let (zero, one) = (Loose::number(0.0), Loose::number(1.0));
    let (sum, is_small) = (&a + &b, stirling::is_small(&a) | stirling::is_small(&b));
    let norm = wrong.impossible(&beta_norm([&a, &b, &sum], &is_small));
    let [near_a, near_b, near_sum] = [&a, &b, &sum].map(Loose::stop_gradient);
    let (x, outside) = Support::Unit.of(x);
    let r = &x * is_small.select(&one, &(near_sum / &near_a));
    let y = x.neg().shift(1.0) * is_small.select(&zero, &(&near_a / &near_b)) - &x;
    // For small parameters a product with 0, since a NaN stays a NaN where both are 1.
    let linear = r.shift(-1.0) * is_small.select(&zero, &near_a) + &y * is_small.select(&zero, &near_b);
    let (left, right) = (a.shift(-1.0).times(&r.ln()), b.shift(-1.0).times(&y.map(Unary::Log1p)));
    outside.impossible(&(left + right - linear + norm))
}

#[track_caller]
pub(super) fn uniform<T: BaseTensor, E: Float>(x: &Value<T, E>, low: &Value<T, E>, high: &Value<T, E>) -> Value<T, E> {
    let ([width], wrong) = positive([&(high - low)]);
    let density = wrong.impossible(&width.ln().neg());
    let outside = x.lt(low) | high.lt(x);
    // The density does not depend on the outcome, but a NaN stays a NaN.
    let x = outside.select(&Loose::number(0.0), x);
    outside.impossible(&(density + x.scale(0.0)))
}

#[track_caller]
pub(super) fn bernoulli_logit<T: BaseTensor, E: Float>(y: &Loose<T, bool>, logit: &Value<T, E>) -> Value<T, E> {
    (y.select(&Loose::number(-1.0), &Loose::number(1.0)) * logit).softplus().neg()
}

/// `lgamma(n + 1)`.
#[track_caller]
fn log_factorial<T: BaseTensor, E: Float>(n: &Value<T, E>) -> Value<T, E> {
    n.shift(1.0).lgamma()
}

/// An integer as a float, 0 where it is negative, and the mask of these places.
#[track_caller]
fn count<T: BaseTensor, E: Float>(y: &Value<T, E>) -> (Value<T, E>, Loose<T, bool>) {
    let outside = y.lt(&Loose::number(0.0));
    (outside.select(&Loose::number(0.0), y), outside)
}

#[track_caller]
pub(super) fn binomial_logit<T: BaseTensor, E: Float>(
    y: &Value<T, E>,
    trials: &Value<T, E>,
    logit: &Value<T, E>,
    summands: Summands,
) -> Value<T, E> {
    let outside = y.lt(&Loose::number(0.0)) | trials.lt(y);
    let y = outside.select(&Loose::number(0.0), y);
    let failures = outside.select(&Loose::number(0.0), &(trials - &y));
    let kernel = (y.times(&logit.neg().softplus()) + failures.times(&logit.softplus())).neg();
    // Without a trial no product has the logit, but a NaN stays a NaN.
    let kernel = logit.eq(logit).select(&kernel, logit);
    outside.impossible(&match summands {
        Summands::Kernel => kernel,
        Summands::Whole => kernel + (log_factorial(&(&y + &failures)) - log_factorial(&y) - log_factorial(&failures)),
    })
}

#[track_caller]
pub(super) fn poisson_log<T: BaseTensor, E: Float>(
    y: &Value<T, E>,
    log_rate: &Value<T, E>,
    summands: Summands,
) -> Value<T, E> {
    let (y, outside) = count(y);
    // The rate overflows long before, so that the density is 0; an infinite logarithm would give NaN.
    let log_rate = log_rate.with(Binary::Min, &Loose::number(1e3));
    let kernel = y.times(&log_rate) - log_rate.map(Unary::Exp);
    outside.impossible(&match summands {
        Summands::Kernel => kernel,
        Summands::Whole => kernel - log_factorial(&y),
    })
}

#[track_caller]
pub(super) fn neg_binomial_2_log<T: BaseTensor, E: Float>(
    y: &Value<T, E>,
    log_mean: &Value<T, E>,
    dispersion: &Value<T, E>,
    summands: Summands,
) -> Value<T, E> {
    let (y, outside) = count(y);
    let ([size], wrong) = positive([dispersion]);
    // The logarithm of the odds of the mean against the dispersion.
    let odds = log_mean - size.ln();
    let norm = wrong.impossible(&stirling::rising(&size, &y));
    let kernel = norm + y.times(&(size.ln() - odds.neg().softplus())) - size * odds.softplus();
    outside.impossible(&match summands {
        Summands::Kernel => kernel,
        Summands::Whole => kernel - log_factorial(&y),
    })
}
