//! Inverse trigonometric and hyperbolic functions of complex tensors.
//!
//! Law: the branch cuts are those of C and NumPy, and the sign of a zero part says the side of a cut. Errors are relative
//! to the absolute value of the result. At the ends of the cuts derivatives are infinite or NaN.

use super::Complex;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::tensor::Tensor;

impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
    /// The roots of `1 - z` and `1 + z`.
    #[track_caller]
    fn roots(&self) -> [Self; 2] {
        let minus = Complex { re: (-&self.re).shift(1.0), im: -&self.im };
        let plus = Complex { re: self.re.shift(1.0), im: self.im.clone() };
        [minus.sqrt(), plus.sqrt()]
    }

    /// The arc sine, with real part from `-pi/2` to `pi/2`. Cuts: the real axis below -1 and above 1. Derivative
    /// `1 / sqrt(1 - z^2)`.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let z = Complex::new(tensor(0.5), tensor(1.0));
    /// let same = [z.asin().sin(), z.acos().cos(), z.atan().tan(), z.asinh().sinh(), z.acosh().cosh(), z.atanh().tanh()];
    /// assert!(same.into_iter().all(|same| (same - &z).abs().item() < 1e-15));
    /// ```
    #[track_caller]
    pub fn asin(&self) -> Self {
        let [minus, plus] = self.roots();
        let (a, b) = (&minus, &plus);
        Complex { re: self.re.atan2(&a.re * &b.re - &a.im * &b.im), im: (&a.re * &b.im - &a.im * &b.re).asinh() }
    }

    /// The arc cosine, with real part from 0 to `pi`. Cuts: the real axis below -1 and above 1. Derivative
    /// `-1 / sqrt(1 - z^2)`.
    ///
    /// Example: [`Complex::asin`].
    #[track_caller]
    pub fn acos(&self) -> Self {
        let [minus, plus] = self.roots();
        let (a, b) = (&minus, &plus);
        Complex { re: a.re.atan2(&b.re).scale(2.0), im: (&b.re * &a.im - &b.im * &a.re).asinh() }
    }

    /// The arc tangent, with real part from `-pi/2` to `pi/2`. Cuts: the imaginary axis below `-i` and above `i`.
    /// Derivative `1 / (1 + z^2)`.
    ///
    /// Example: [`Complex::asin`].
    #[track_caller]
    pub fn atan(&self) -> Self {
        self.times_i().atanh().over_i()
    }

    /// The inverse hyperbolic sine, with imaginary part from `-pi/2` to `pi/2`. Cuts: the imaginary axis below `-i` and
    /// above `i`. Derivative `1 / sqrt(1 + z^2)`.
    ///
    /// Example: [`Complex::asin`].
    #[track_caller]
    pub fn asinh(&self) -> Self {
        self.times_i().asin().over_i()
    }

    /// The inverse hyperbolic cosine, with a real part that is not negative. Cut: the real axis below 1. Derivative
    /// `1 / sqrt(z^2 - 1)`.
    ///
    /// Example: [`Complex::asin`].
    #[track_caller]
    pub fn acosh(&self) -> Self {
        let minus = Complex { re: self.re.shift(-1.0), im: self.im.clone() }.sqrt();
        let plus = Complex { re: self.re.shift(1.0), im: self.im.clone() }.sqrt();
        let (a, b) = (&minus, &plus);
        Complex { re: (&a.re * &b.re + &a.im * &b.im).asinh(), im: a.im.atan2(&b.re).scale(2.0) }
    }

    /// The inverse hyperbolic tangent, with imaginary part from `-pi/2` to `pi/2`. Cuts: the real axis below -1 and
    /// above 1. Derivative `1 / (1 - z^2)`.
    ///
    /// Example: [`Complex::asin`].
    #[track_caller]
    pub fn atanh(&self) -> Self {
        let (x, y) = (&self.re, &self.im);
        // Odd in `x`: of a negative one the logarithm would cancel.
        let sign = Tensor::<T, D, E>::full(self.shape(), E::ONE).copysign(x);
        let x = x * &sign;
        let distance = (-&x).shift(1.0).hypot(y);
        let near = distance.lt(E::of_f64(1e-10));
        // Next to the poles the quotient overflows, and 1 is negligible compared with it.
        let quotient = (&x / &distance).scale(4.0) / &distance;
        let log = near.select(x.scale(4.0).ln() - distance.ln().scale(2.0), quotient.log1p());
        let re = log.scale(0.25) * sign;
        // An angle does not depend on the lengths: those of large numbers are scaled, so that no square overflows.
        let large = x.stop_gradient().max(y.stop_gradient().abs());
        let unit = large.gt(E::of_f64(2f64.powi(30))).select(&large, E::ONE);
        let adjacent = (-&x).shift(1.0) / &unit * x.shift(1.0) - y / &unit * y;
        let im = (y / unit).scale(2.0).atan2(adjacent).scale(0.5);
        Complex { re, im }
    }
}
