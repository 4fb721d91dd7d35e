//! Elementwise functions of complex tensors: absolute value and angle, exponentials, powers, sines.
//!
//! Law: values have errors relative to the absolute value of the result, and no intermediate overflows where the result
//! does not. Branch cuts are those of C and NumPy: on a cut the sign of a zero part says the side. Where a function is
//! computed by cases, each case has the derivative of the function at its border, too; `abs`, `arg`, `ln` and `sqrt`
//! say their conventions at 0.
//!
//! The formulas of square roots and of inverse functions are those of W. Kahan, "Branch cuts for complex elementary
//! functions, or much ado about nothing's sign bit" (1987).

use super::Complex;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::tensor::Tensor;

/// `large * s`, where `large` may be infinite: 0 where `s` is 0.
#[track_caller]
fn beside_zero<T: BaseTensor, const D: usize, E: Float>(
    large: &Tensor<T, D, E>,
    s: &Tensor<T, D, E>,
) -> Tensor<T, D, E> {
    let most = E::max_value();
    s.eq(E::ZERO).select(large.min(most).max(-most), large) * s
}

/// `x^2 + y^2 - 1`, where `|x| - 1` is exact near 1.
#[track_caller]
fn above_one<T: BaseTensor, const D: usize, E: Float>(x: &Tensor<T, D, E>, y: &Tensor<T, D, E>) -> Tensor<T, D, E> {
    let x = x.abs();
    x.shift(-1.0) * x.shift(1.0) + y.square()
}

impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
    /// The absolute values `sqrt(re^2 + im^2)`, without overflow of the squares. Derivative 0 at 0, by convention.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor([3.0, 0.0]), tensor([4.0, 1.0]));
    /// assert_eq!((z.abs(), z.abs2()), (tensor([5.0, 1.0]), tensor([25.0, 1.0])));
    /// assert_eq!((z.conj().im(), z.times_i().re()), (&tensor([-4.0, -1.0]), &tensor([-4.0, -1.0])));
    /// ```
    #[track_caller]
    pub fn abs(&self) -> Tensor<T, D, E> {
        self.re.hypot(&self.im)
    }

    /// The squares of the absolute values, `re^2 + im^2`: cheaper than `abs`, and smooth at 0.
    ///
    /// Example: [`Complex::abs`].
    #[track_caller]
    pub fn abs2(&self) -> Tensor<T, D, E> {
        self.re.square() + self.im.square()
    }

    /// The angles, from `-pi` to `pi`; on the negative real axis the sign of the imaginary part decides, even if it is a zero.
    /// Derivative 0 at 0, by convention.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// use std::f64::consts::PI;
    /// assert_eq!(Complex::new(tensor([-1.0, -1.0]), tensor([0.0, -0.0])).arg(), tensor([PI, -PI]));
    /// ```
    #[track_caller]
    pub fn arg(&self) -> Tensor<T, D, E> {
        let angle = self.im.atan2(&self.re);
        (self.re.eq(E::ZERO) & self.im.eq(E::ZERO)).select(angle.stop_gradient(), &angle)
    }

    /// The complex conjugate, `re - i im`.
    ///
    /// Example: [`Complex::abs`].
    #[track_caller]
    pub fn conj(&self) -> Self {
        Complex { re: self.re.clone(), im: -&self.im }
    }

    /// `i z`: a quarter of a turn, without rounding.
    ///
    /// Example: [`Complex::abs`].
    #[track_caller]
    pub fn times_i(&self) -> Self {
        Complex { re: -&self.im, im: self.re.clone() }
    }

    /// `-i z`.
    #[track_caller]
    pub(super) fn over_i(&self) -> Self {
        Complex { re: self.im.clone(), im: -&self.re }
    }

    /// The reciprocal `1 / z`, without overflow of squares; NaN at 0. Derivative `-1 / z^2`.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor([3.0]), tensor([4.0]));
    /// assert_eq!(z.recip(), Complex::new(tensor([0.12]), tensor([-0.16])));
    /// assert_eq!(z.square(), Complex::new(tensor([-7.0]), tensor([24.0])));
    /// ```
    #[track_caller]
    pub fn recip(&self) -> Self {
        Complex { re: self.re.recip_real(&self.im), im: -self.im.recip_real(&self.re) }
    }

    /// The square `z^2`, with the real part `(x - y) (x + y)`. Derivative `2 z`.
    ///
    /// Example: [`Complex::recip`].
    #[track_caller]
    pub fn square(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        Complex { re: (x - y) * (x + y), im: (x * y).scale(2.0) }
    }

    /// The exponential `e^z`: real where `z` is, even where that is infinite. Derivative `e^z`.
    ///
    /// Example: [`Complex::ln`].
    #[track_caller]
    pub fn exp(&self) -> Self {
        let length = self.re.exp();
        Complex { re: &length * self.im.cos(), im: beside_zero(&length, &self.im.sin()) }
    }

    /// The natural logarithm `ln |z| + i arg z`, exact where `|z|` is near 1, too. The branch cut is the negative real
    /// axis, where the sign of a zero imaginary part says the side. At 0 the real part is `-inf`. An absolute value that is
    /// subnormal, or overflows, is rounded before its logarithm is taken. Derivative `1 / z`;
    /// at 0 it is 0 or NaN.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor([1.0 + 1e-9]), tensor([1e-9])).ln();
    /// assert!((z.re().at([0]) - 1e-9).abs().item() < 1e-16);
    /// assert_eq!(tensor([0.0]).to_complex().exp(), tensor([1.0]).to_complex());
    /// ```
    #[track_caller]
    pub fn ln(&self) -> Self {
        Complex { re: self.ln_abs(), im: self.arg() }
    }

    /// `ln |z|`. Between 1/2 and 2 that is `log1p(|z|^2 - 1) / 2`, where the larger part minus 1 is exact.
    #[track_caller]
    fn ln_abs(&self) -> Tensor<T, D, E> {
        let (x, y, length) = (&self.re, &self.im, self.abs());
        let excess = x.abs().ge(y.abs()).select(above_one(x, y), above_one(y, x));
        let is_near = length.gt(E::of_f64(0.5)) & length.lt(E::of_f64(2.0));
        is_near.select(excess.log1p().scale(0.5), length.ln())
    }

    /// The principal square root, whose real part is not negative, without overflow. The branch cut is the negative
    /// real axis: the imaginary part has the sign of that of `z`, even if that is a zero. Derivative `1 / (2 sqrt z)`; at 0,
    /// where it does not exist, the partial of the real part in the real part is infinite, and the others are 0 or NaN.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor([-3.0, -4.0]), tensor([4.0, -0.0]));
    /// assert_eq!(z.sqrt(), Complex::new(tensor([1.0, 0.0]), tensor([2.0, -2.0])));
    /// ```
    #[track_caller]
    pub fn sqrt(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        let is_right = x.ge(E::ZERO);
        let larger = x.abs().max(y.abs());
        // Powers of two, by which neither the sum overflows nor a small part loses digits. Numbers of usual sizes are not
        // scaled, so that no partial of them is subnormal.
        let power = |n: i32| E::of_f64(2f64.powi(n));
        let (is_small, is_large) = (larger.lt(power(-60)), larger.gt(power(60)));
        let one = Tensor::<T, D, E>::full(self.shape(), E::ONE);
        let scaled = |small: i32, large: i32| is_small.select(power(small), is_large.select(power(large), &one));
        let (scale, back) = (scaled(108, -4), scaled(-54, 2));
        let (u, v) = (x * &scale, y * &scale);
        // The absolute value of `x` by cases, whose derivative is 1 at 0.
        let sum = is_right.select(&u, -&u) + u.hypot(&v);
        let root = sum.scale(0.5).sqrt() * &back;
        let is_zero = root.eq(E::ZERO);
        let turned = one.copysign(y);
        let other = is_zero.select(y.stop_gradient(), y / root.scale(2.0));
        Complex { re: is_right.select(&root, &other * &turned), im: is_right.select(&other, &root * &turned) }
    }

    /// The power `z^w = e^(w ln z)`, by the principal logarithm: `0^w` is 0 where the real part of `w` is positive, and
    /// `0^0` is 1. The derivative at `z = 0` is 0 or not finite, by convention. The error grows with `|w ln z|`: integer
    /// powers are [`powi`](Complex::powi).
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let i = Complex::new(tensor([0.0]), tensor([1.0]));
    /// assert_eq!((i.powi(3), i.powf(2.0)), (-&i, tensor([-1.0]).to_complex()));
    /// assert!((i.pow(&i).re().item() - (-std::f64::consts::FRAC_PI_2).exp()).abs() < 1e-16);
    /// ```
    ///
    /// # Panics
    /// When sizes along an axis differ and neither size is 1.
    #[track_caller]
    pub fn pow(&self, w: &Self) -> Self {
        let (u, v, length, angle) = (&w.re, &w.im, self.abs(), self.arg());
        // The logarithm of 0 is taken as 0, as the power is 0 there.
        let log = length.eq(E::ZERO).select(length.stop_gradient(), self.ln_abs());
        let size = length.pow(u) * (-(v * &angle)).exp();
        Complex::from_polar(&size, &(u * angle + v * log))
    }

    /// The power with a real host number as exponent: of an integer up to 64, by [`powi`](Complex::powi).
    ///
    /// Example: [`Complex::pow`].
    #[track_caller]
    pub fn powf(&self, c: f64) -> Self {
        if c.fract() == 0.0 && c.abs() <= 64.0 {
            return self.powi(c as i32);
        }
        Complex::from_polar(&self.abs().powf(c), &self.arg().scale(c))
    }

    /// The power with an integer exponent, by repeated squaring; 1 for exponent 0.
    ///
    /// Example: [`Complex::pow`].
    #[track_caller]
    pub fn powi(&self, n: i32) -> Self {
        let mut rest = n.unsigned_abs();
        let mut square = self.clone();
        let mut product: Option<Self> = None;
        while rest > 0 {
            if rest & 1 == 1 {
                product = Some(product.map_or_else(|| square.clone(), |p| p * &square));
            }
            rest >>= 1;
            if rest > 0 {
                square = square.square();
            }
        }
        let power = product.unwrap_or_else(|| Tensor::ones(self.shape()).to_complex());
        if n < 0 { power.recip() } else { power }
    }

    /// The hyperbolic sine. Derivative `cosh z`.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let (z, near_zero) = (Complex::new(tensor(0.5), tensor(1.0)), |z: Complex<_, 0>| z.abs().item() < 1e-15);
    /// assert!(near_zero(z.sinh() - (z.exp() - (-&z).exp()) * 0.5) && near_zero(z.cosh() - (z.exp() + (-&z).exp()) * 0.5));
    /// assert!(near_zero(z.sin().times_i() - z.times_i().sinh()) && near_zero(z.cos() - z.times_i().cosh()));
    /// assert!(near_zero(z.tan() - z.sin() / z.cos()));
    /// // Without overflow.
    /// assert_eq!(Complex::new(tensor([1e300]), tensor([1.0])).tanh(), tensor([1.0]).to_complex());
    /// ```
    #[track_caller]
    pub fn sinh(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        Complex { re: x.sinh() * y.cos(), im: beside_zero(&x.cosh(), &y.sin()) }
    }

    /// The hyperbolic cosine. Derivative `sinh z`.
    ///
    /// Example: [`Complex::sinh`].
    #[track_caller]
    pub fn cosh(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        Complex { re: x.cosh() * y.cos(), im: beside_zero(&x.sinh(), &y.sin()) }
    }

    /// The hyperbolic tangent, without overflow. Derivative `1 / cosh(z)^2`.
    ///
    /// Example: [`Complex::sinh`].
    #[track_caller]
    pub fn tanh(&self) -> Self {
        // Numerator and denominator of sinh / cosh, times the conjugate of cosh, and divided by cosh(x)^2: a sum of
        // terms that are not negative.
        let (x, y) = (&self.re, &self.im);
        let (t, fall, sin, cos) = (x.tanh(), x.sech2(), y.sin(), y.cos());
        let square = t.square() + cos.square() * &fall;
        Complex { re: t / &square, im: sin * cos * fall / square }
    }

    /// The sine. Derivative `cos z`.
    ///
    /// Example: [`Complex::sinh`].
    #[track_caller]
    pub fn sin(&self) -> Self {
        self.times_i().sinh().over_i()
    }

    /// The cosine. Derivative `-sin z`.
    ///
    /// Example: [`Complex::sinh`].
    #[track_caller]
    pub fn cos(&self) -> Self {
        self.times_i().cosh()
    }

    /// The tangent, without overflow. Derivative `1 / cos(z)^2`.
    ///
    /// Example: [`Complex::sinh`].
    #[track_caller]
    pub fn tan(&self) -> Self {
        self.times_i().tanh().over_i()
    }
}
