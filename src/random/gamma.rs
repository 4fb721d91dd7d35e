//! Draws of gamma and beta distributions, with derivatives in their shapes.
//!
//! Law: a draw is by rejection (G. Marsaglia, W. W. Tsang, *A simple method for generating gamma variables*, ACM
//! Transactions on Mathematical Software 26, 2000), a loop that ends when each element is accepted, and after [`TRIPS`]
//! trips whatever the shapes are; its derivative is
//! not that of the loop, but that of the distribution at the draw (M. Figurnov, S. Mohamed, A. Mnih, *Implicit
//! reparameterization gradients*, NeurIPS 2018, equation 5): `dx/da = -(dP/da) / p`, with the distribution function
//! `P(a, x)` and the density `p`. It is a formula of rows, so it has derivatives of every order. For large shapes the
//! distribution is that of a cube of a normal number (E. B. Wilson, M. M. Hilferty, *The distribution of chi-square*,
//! Proceedings of the National Academy of Sciences 17, 1931).

use super::Key;
use super::draws::same_shapes;
use crate::ad::custom_jvp;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::program::Term;
use crate::shape::size;
use crate::tensor::{Tensor, while_loop};

/// The number of points of the quadrature.
const POINTS: usize = 64;

/// The most trips of a rejection. For each shape more than 95 of 100 proposals are accepted, so fewer than one in
/// 10^80 draws needs more trips; such a draw is NaN.
const TRIPS: i64 = 64;

/// The shapes above which the derivative is that of Wilson and Hilferty's approximation. Its relative error falls with
/// the shape `a` as `a^-1.5`; that of the integral grows as `sqrt(a)` times the rounding of `ln a`. Here they meet.
fn large<E: Float>() -> E {
    E::of_f64(if E::DTYPE == DType::F32 { 2e3 } else { 2e7 })
}

impl<T: BaseTensor> Key<T> {
    /// Numbers of the gamma distribution with these shapes and scale 1, with derivatives in the shapes.
    ///
    /// The derivative of a draw `x` in its shape `a` moves `x` so that its probability stays: of every order, in both
    /// modes. For shapes far below 1 most draws underflow to 0.
    ///
    /// A shape that is 0, negative or NaN gives NaN. An infinite shape gives infinity, whose derivative is NaN.
    ///
    /// ```
    /// use polygrad::random::Key;
    /// use polygrad::{Tensor, grad, tensor};
    /// // The mean of the distribution is its shape, so the derivative of the mean is 1.
    /// let slope = grad(|a| Key::new(1).gamma(&a.up_to(&Tensor::<_, 1, i64>::iota(4000))).mean(), &tensor(2.5));
    /// assert!((slope - 1.0).abs().item() < 0.05);
    /// ```
    #[track_caller]
    pub fn gamma<E: Float, const D: usize>(&self, shapes: &Tensor<T, D, E>) -> Tensor<T, D, E> {
        self.log_gamma(shapes).exp()
    }

    /// The logarithms of the numbers of [`gamma`](Key::gamma). They do not underflow; below -1e308 (for `f32` -1e38),
    /// as for the smallest shapes, they are -inf, and their derivatives infinite or NaN.
    ///
    /// ```
    /// use polygrad::random::Key;
    /// use polygrad::{Concrete, tensor};
    /// let (key, shapes) = (Key::<Concrete>::new(1), tensor([2.5, 1e-4]));
    /// assert_eq!(key.log_gamma(&shapes).exp(), key.gamma(&shapes));
    /// assert!(key.log_gamma(&shapes).is_finite().all().item());
    /// ```
    #[track_caller]
    pub fn log_gamma<E: Float, const D: usize>(&self, shapes: &Tensor<T, D, E>) -> Tensor<T, D, E> {
        custom_jvp(
            "gamma_draw",
            |(key, a): &(Key<Term>, Tensor<Term, D, E>)| drawn(key, a),
            |(_, a), y, (_, a_dot)| shape_derivative(a, y) * a_dot,
            &(self.clone(), shapes.clone()),
        )
    }

    /// Numbers of the beta distribution with these shapes, `x / (x + y)` for two draws of gamma distributions, with
    /// derivatives in both shapes.
    ///
    /// A shape that is 0, negative or NaN gives NaN. With one infinite shape the draw is 1 or 0, with two it is NaN,
    /// and so it is where both logarithms are -inf.
    ///
    /// ```
    /// use polygrad::random::Key;
    /// use polygrad::{Concrete, Tensor};
    /// let x = Key::<Concrete>::new(1).beta(&Tensor::<_, 1>::full([5000], 2.0), &Tensor::full([5000], 6.0));
    /// assert!((x.mean() - 0.25).abs().item() < 0.01);
    /// ```
    ///
    /// # Panics
    /// When the shapes differ.
    #[track_caller]
    pub fn beta<E: Float, const D: usize>(&self, a: &Tensor<T, D, E>, b: &Tensor<T, D, E>) -> Tensor<T, D, E> {
        same_shapes("beta", a, b);
        let [first, second] = self.split();
        (first.log_gamma(a) - second.log_gamma(b)).sigmoid()
    }
}

/// The number of a trip, what was accepted, and where nothing was accepted so far.
type Proposals<T, const D: usize, E> = (Tensor<T, 0, i64>, Tensor<T, D, E>, Tensor<T, D, bool>);

/// The logarithm of a draw for each shape, without derivative.
fn drawn<T: BaseTensor, E: Float, const D: usize>(key: &Key<T>, a: &Tensor<T, D, E>) -> Tensor<T, D, E> {
    let [c, one] = [1.0 / 3.0, 1.0].map(E::of_f64);
    // A shape below 1 is that of one more, times a power of a uniform number.
    let small = a.lt(one);
    let [boost, trips] = key.split();
    let d = small.select(a + one, a) - c;
    let scale = (&d * E::of_f64(9.0)).sqrt().recip();
    let infinite = a.eq(E::infinity());
    let start = (Tensor::constant(0_i64), Tensor::zeros(a.shape()), a.gt(E::ZERO) & !&infinite);
    let (_, accepted, open) = while_loop(
        start,
        |(trip, _, open): &Proposals<T, D, E>| open.any() & trip.lt(TRIPS),
        |(trip, accepted, open)| {
            let [of_normal, of_uniform] = trips.fold_in(&trip).split();
            let z = of_normal.normal_as::<E, D>(a.shape());
            let u = of_uniform.uniform_as::<E, D>(a.shape());
            let v = &z * &scale + one;
            let v = &v * v.square();
            let positive = v.gt(E::ZERO);
            let log = positive.select(&v, one).ln();
            let bound = z.square() * E::of_f64(0.5) + &d * (log - &v + one);
            let good = positive & u.ln().lt(bound);
            let taken = good & &open;
            let accepted = taken.select(&d * v, accepted);
            (trip + 1, accepted, open & !taken)
        },
    );
    // 1 - u is in (0, 1].
    let u = -boost.uniform_as::<E, D>(a.shape());
    let power = small.select(u.log1p() / small.select(a, one), E::ZERO);
    let drawn = (a.gt(E::ZERO) & !open).select(accepted.ln() + power, E::nan());
    infinite.select(a, drawn)
}

/// The derivative of the logarithm `y` of a draw in its shape `a`, at a fixed probability.
fn shape_derivative<T: BaseTensor, E: Float, const D: usize>(
    a: &Tensor<T, D, E>,
    y: &Tensor<T, D, E>,
) -> Tensor<T, D, E> {
    let far = a.gt(large::<E>());
    // Each formula sees arguments at which it is finite, even where the other one is taken.
    let near = integral(&far.select(Tensor::full(a.shape(), E::ONE), a), &far.select(Tensor::zeros(a.shape()), y));
    let [of, log] = [far.select(a, large::<E>()), far.select(y, large::<E>().ln())];
    far.select(cube(&of, &log), near)
}

/// [`shape_derivative`] for large shapes, with `y = ln a + 3 ln c`, `c = 1 - 1/(9 a) + z / (3 sqrt a)`, at a fixed `z`.
fn cube<T: BaseTensor, E: Float, const D: usize>(a: &Tensor<T, D, E>, y: &Tensor<T, D, E>) -> Tensor<T, D, E> {
    let [third, half, sixth] = [1.0 / 3.0, 0.5, 1.0 / 6.0].map(E::of_f64);
    let inverse = ((a.ln() - y) * third).exp();
    let over = a.recip();
    ((&over * sixth + E::of_f64(1.5)) * inverse - half) * over
}

/// [`shape_derivative`] by quadrature.
///
/// With `t = x e^w` in the integral of `dp/da` up to `x = e^y`, or from `x` on, it is
/// `s` times the integral over `v > 0` of `exp(a w - x (e^w - 1)) (y + w - digamma(a))`, `w = s v`, where `s` is -1 for
/// the integral up to `x`, taken for `x <= a`, and 1 for that from `x` on. The exponent falls and is concave. The
/// integral ends where the integrand is negligible, and is computed by Gauss and Legendre's rule.
fn integral<T: BaseTensor, E: Float, const D: usize>(a: &Tensor<T, D, E>, y: &Tensor<T, D, E>) -> Tensor<T, D, E> {
    let shape = a.shape();
    let n = size(&shape);
    let (a, y) = (a.reshape([n]), y.reshape([n]));
    let x = y.exp();
    let sign = x.le(&a).select(Tensor::full([n], -E::ONE), E::ONE);
    let end = end(&a.stop_gradient(), &x.stop_gradient(), &sign);
    let (points, weights) = quadrature::<E>();
    let beside = |v: &Tensor<T, 1, E>| -> Tensor<T, 2, E> { v.replicate_axis(1, POINTS) };
    let points: Tensor<T, 2, E> = Tensor::constant(points).replicate(n);
    let w = points * beside(&(&sign * &end));
    let exponent = beside(&a) * &w - beside(&x) * w.expm1();
    let terms = exponent.exp() * (beside(&(&y - a.digamma())) + &w);
    let weights: Tensor<T, 2, E> = Tensor::constant(weights).replicate(n);
    let sum: Tensor<T, 1, E> = (terms * weights).sum_axis(1);
    (sum * sign * end).reshape(shape)
}

/// Where the exponent of the integrand of [`shape_derivative`] is as low as that of negligible numbers: by Newton's
/// method from the right, where it is monotone, since the exponent is concave.
fn end<T: BaseTensor, E: Float>(a: &Tensor<T, 1, E>, x: &Tensor<T, 1, E>, sign: &Tensor<T, 1, E>) -> Tensor<T, 1, E> {
    let [one, two, eight] = [1.0, 2.0, 8.0].map(E::of_f64);
    let fall = E::of_f64(if E::DTYPE == DType::F32 { 18.0 } else { 40.0 });
    // Up to x: for x <= a the exponent is below -a v^2 / (2 + v).
    let q = a.recip() * fall;
    let below = &q * ((q.recip() * eight + one).sqrt() + one) / two;
    // From x on: for x >= a it is below -x v^2 / 2, and below -x e^v / 2 for v > 1.7.
    let q = x.recip() * (two * fall);
    let above = q.sqrt().min((q + eight).ln());
    let mut v = sign.lt(E::ZERO).select(below, above);
    for _ in 0..4 {
        let w = &v * sign;
        let exponent = a * &w - x * w.expm1();
        let slope = (a - x * w.exp()) * sign;
        v = &v - (exponent + fall) / slope;
    }
    v
}

/// Points and weights of Gauss and Legendre's rule on the interval from 0 to 1: the roots of a Legendre polynomial, by
/// Newton's method.
fn quadrature<E: Float>() -> (Array, Array) {
    let n = POINTS as f64;
    let legendre = |x: f64| {
        let (mut before, mut now) = (1.0, x);
        for k in 1..POINTS {
            let k = k as f64;
            (before, now) = (now, ((2.0 * k + 1.0) * x * now - k * before) / (k + 1.0));
        }
        (now, n * (x * now - before) / (x * x - 1.0))
    };
    let (mut points, mut weights) = (Vec::with_capacity(POINTS), Vec::with_capacity(POINTS));
    for k in 0..POINTS {
        let mut x = -(std::f64::consts::PI * (k as f64 + 0.75) / (n + 0.5)).cos();
        for _ in 0..8 {
            let (value, slope) = legendre(x);
            x -= value / slope;
        }
        let (_, slope) = legendre(x);
        points.push(E::of_f64((1.0 + x) / 2.0));
        weights.push(E::of_f64(1.0 / ((1.0 - x * x) * slope * slope)));
    }
    (Array::new(&[POINTS], points), Array::new(&[POINTS], weights))
}
