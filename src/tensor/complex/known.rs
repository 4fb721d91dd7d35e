//! Complex tensors of known numbers: elements of the crate `num-complex`, printing, comparison, saving.

use std::fmt;

use num_complex::Complex as Number;

use super::Complex;
use crate::array::{Array, ComplexText};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::shape::Show;
use crate::tensor::Tensor;

impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
    /// The tensor of this shape with these elements, in row-major order, as a constant.
    ///
    /// ```
    /// use num_complex::Complex64;
    /// use polygrad::{Complex, Concrete, tensor};
    /// let z = Complex::<Concrete, 1>::from_elements([2], &[Complex64::new(1.0, 2.0), Complex64::I]);
    /// assert_eq!(z, Complex::new(tensor([1.0, 0.0]), tensor([2.0, 1.0])));
    /// assert_eq!((z.at([0]).item(), z.to_vec()[1]), (Complex64::new(1.0, 2.0), Complex64::I));
    /// ```
    ///
    /// # Panics
    /// When the number of elements is not the size of the shape.
    #[track_caller]
    pub fn from_elements(shape: [usize; D], elements: &[Number<E>]) -> Self {
        let of = |part: fn(&Number<E>) -> E| elements.iter().map(part).collect::<Vec<E>>();
        // No closure here, so that a wrong number of elements is reported at the caller's line.
        let (re, im) = (Array::new(&shape, of(|z| z.re)), Array::new(&shape, of(|z| z.im)));
        Complex { re: Tensor::constant(re), im: Tensor::constant(im) }
    }

    /// The only element, as a number of the host language.
    ///
    /// Example: [`Complex::from_elements`].
    ///
    /// # Panics
    /// Like [`Tensor::item`].
    #[track_caller]
    pub fn item(&self) -> Number<E> {
        Number::new(self.re.item(), self.im.item())
    }
}

impl<const D: usize, E: Float> Complex<Array, D, E> {
    /// The elements in row-major order, copied.
    ///
    /// Example: [`Complex::from_elements`].
    #[track_caller]
    pub fn to_vec(&self) -> Vec<Number<E>> {
        let (re, im) = (self.re.elements(), self.im.elements());
        re.iter().zip(im.iter()).map(|(re, im)| Number::new(*re, *im)).collect()
    }
}

/// Equality of shape and elements; NaN differs from itself.
impl<T: PartialEq, const D: usize, E> PartialEq for Complex<T, D, E> {
    fn eq(&self, other: &Self) -> bool {
        self.re == other.re && self.im == other.im
    }
}

/// Prints the numbers if they are known, and element type and shape otherwise.
///
/// ```
/// use polygrad::{Complex, tensor};
/// let z = Complex::new(tensor([1.0, 2.5]), tensor([-3.0, 0.25]));
/// assert_eq!(z.to_string(), "[1.0-3.00i 2.5+0.25i]");
/// assert_eq!(format!("{:.1}", z), "[1.0-3.0i 2.5+0.2i]");
/// ```
impl<T: BaseTensor, const D: usize, E: Float> fmt::Display for Complex<T, D, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.re.peek(), self.im.peek()) {
            (Some(re), Some(im)) => fmt::Display::fmt(&ComplexText { re: &re, im: &im }, f),
            (_, None) | (None, _) => write!(f, "complex {} {}", E::DTYPE, Show(self.re.raw().shape())),
        }
    }
}

/// Prints the numbers with an exponent in each part if they are known, and element type and shape otherwise.
///
/// ```
/// use polygrad::{Complex, tensor};
/// assert_eq!(format!("{:.1e}", Complex::new(tensor(100.0), tensor(-0.25))), "1.0e2-2.5e-1i");
/// ```
impl<T: BaseTensor, const D: usize, E: Float> fmt::LowerExp for Complex<T, D, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.re.peek(), self.im.peek()) {
            (Some(re), Some(im)) => fmt::LowerExp::fmt(&ComplexText { re: &re, im: &im }, f),
            (_, None) | (None, _) => fmt::Display::fmt(self, f),
        }
    }
}

/// Like [`Display`](fmt::Display), with element type and shape in every case.
impl<T: BaseTensor, const D: usize, E: Float> fmt::Debug for Complex<T, D, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.re.peek(), self.im.peek()) {
            (Some(re), Some(im)) => fmt::Debug::fmt(&ComplexText { re: &re, im: &im }, f),
            (_, None) | (None, _) => write!(f, "complex {} {}", E::DTYPE, Show(self.re.raw().shape())),
        }
    }
}

/// A vector of the elements, in order.
impl<E: Float> From<&[Number<E>]> for Complex<Array, 1, E> {
    fn from(elements: &[Number<E>]) -> Self {
        Complex::from_elements([elements.len()], elements)
    }
}

#[cfg(feature = "serde")]
mod saved {
    //! Saving and loading by `serde`: the real and the imaginary part, which must have one shape.

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Complex;
    use crate::base::BaseTensor;
    use crate::dtype::Float;
    use crate::shape::Show;
    use crate::tensor::Tensor;

    impl<T: Serialize, const D: usize, E> Serialize for Complex<T, D, E> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            (&self.re, &self.im).serialize(serializer)
        }
    }

    impl<'de, T: BaseTensor + Deserialize<'de>, const D: usize, E: Float> Deserialize<'de> for Complex<T, D, E> {
        fn deserialize<S: Deserializer<'de>>(deserializer: S) -> Result<Self, S::Error> {
            let (re, im) = <(Tensor<T, D, E>, Tensor<T, D, E>)>::deserialize(deserializer)?;
            if re.shape() == im.shape() {
                return Ok(Complex { re, im });
            }
            Err(S::Error::custom(format!(
                "load: both parts of a complex tensor must have one shape, but the file has {} and {}; load two tensors",
                Show(&re.shape()),
                Show(&im.shape())
            )))
        }
    }
}

#[cfg(feature = "approx")]
mod close {
    //! The comparison traits of the `approx` crate: by the absolute value of the difference of two elements.

    use approx::{AbsDiffEq, RelativeEq};

    use super::{Complex, Number};
    use crate::array::Array;
    use crate::dtype::Float;

    impl<const D: usize, E: Float> Complex<Array, D, E> {
        /// Whether the shapes are equal, and all pairs of elements close.
        fn all(&self, other: &Self, close: impl Fn(Number<f64>, Number<f64>) -> bool) -> bool {
            let wide = |z: Number<E>| Number::new(z.re.as_f64(), z.im.as_f64());
            let pairs = || self.to_vec().into_iter().zip(other.to_vec());
            self.shape() == other.shape() && pairs().all(|(a, b)| a == b || close(wide(a), wide(b)))
        }
    }

    /// The absolute value of the difference of two elements is at most `epsilon`.
    impl<const D: usize, E: Float> AbsDiffEq for Complex<Array, D, E> {
        type Epsilon = f64;

        fn default_epsilon() -> f64 {
            f64::EPSILON
        }

        fn abs_diff_eq(&self, other: &Self, epsilon: f64) -> bool {
            self.all(other, |a, b| distance(a, b) <= epsilon)
        }
    }

    /// The absolute value of the difference is at most `epsilon`, or at most `max_relative` times the larger absolute
    /// value.
    impl<const D: usize, E: Float> RelativeEq for Complex<Array, D, E> {
        fn default_max_relative() -> f64 {
            f64::EPSILON
        }

        fn relative_eq(&self, other: &Self, epsilon: f64, max_relative: f64) -> bool {
            let size = |z: Number<f64>| z.re.hypot(z.im);
            self.all(other, |a, b| distance(a, b) <= epsilon.max(max_relative * size(a).max(size(b))))
        }
    }

    fn distance(a: Number<f64>, b: Number<f64>) -> f64 {
        (a.re - b.re).hypot(a.im - b.im)
    }
}
