//! Complex numbers: functions, products, loops.

use polygrad::{BaseTensor, Complex, Tensor, iterate, map};

use super::{positive, real};

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    impedance(r = positive([3], 301), l = positive([3], 302), c = positive([3], 303));
    branches(re = real([4], 304), im = real([4], 305));
    inverses(re = real([3], 306), im = real([3], 307));
    complex_powers(re = real([2], 308), im = real([2], 309), u = real([2], 310), v = real([2], 311));
    evolved(re = real([3, 3], 312), im = real([3, 3], 313), x = real([3], 314), y = real([3], 315));
    orbits(re = real([3], 316), im = real([3], 317));
    modulated(re = real([4], 318), im = real([4], 319), phase = real([4], 320));
    complex_determinants(re = real([5, 5], 323), im = real([5, 5], 324));
    rational_in_f32(re = positive([3], 321).cast::<f32>(), im = positive([3], 322).cast::<f32>()) {
        const SMOOTH: bool = false;
        const TOLERANCE: f64 = 1e-4;
    };
}

fn pair<T: BaseTensor, const D: usize>(re: &Tensor<T, D>, im: &Tensor<T, D>) -> Complex<T, D> {
    Complex::new(re.clone(), im.clone())
}

/// A circuit at three frequencies, in a ladder.
fn impedance<T: BaseTensor>(r: &Vector<T>, l: &Vector<T>, c: &Vector<T>) -> Scalar<T> {
    let omega = Tensor::constant([0.5, 1.0, 2.0]);
    let series = Complex::new(r.clone(), l * &omega);
    let shunt = 1.0 / Complex::new(r * 0.1, c * omega);
    let total = &series * &shunt / (&series + &shunt) + series.recip();
    total.abs().sum() + total.arg().sin().sum()
}

fn branches<T: BaseTensor>(re: &Vector<T>, im: &Vector<T>) -> Scalar<T> {
    let z = pair(re, im);
    let w = z.sqrt() * z.ln() + z.tanh() - z.tan() * 0.25;
    (w.exp() * 0.5 + z.sin() * z.cosh() - 2.0 / (z.square() + 3.0)).abs2().ln().sum()
}

fn inverses<T: BaseTensor>(re: &Vector<T>, im: &Vector<T>) -> Scalar<T> {
    let z = pair(re, im);
    let w = z.asin() + z.acos() * &z + z.atan() - z.asinh() * 0.5 + z.acosh() * z.atanh();
    w.re().sin().sum() + (w.im() * re).sum()
}

fn complex_powers<T: BaseTensor>(re: &Vector<T>, im: &Vector<T>, u: &Vector<T>, v: &Vector<T>) -> Scalar<T> {
    let (z, w) = (pair(re, im), pair(u, v));
    let y = z.pow(&w) + z.powi(3) - w.powf(0.5) + (&z / &w).powi(-2);
    (y.re() + y.im() * 0.5).tanh().sum()
}

/// A state under a rotation that the exponential of an operator approximates.
fn evolved<T: BaseTensor>(re: &Matrix<T>, im: &Matrix<T>, x: &Vector<T>, y: &Vector<T>) -> Scalar<T> {
    let a = pair(re, im);
    let generator = (&a + a.adjoint()).times_i() * 0.1;
    let square = generator.matmul(&generator);
    let step = Matrix::<T>::eye(3) + generator + square * 0.5;
    let state = pair(x, y);
    let end = iterate(3, state.clone(), |_, state| step.matvec(&state));
    let kept = state.vdot(&end);
    kept.abs2() + end.outer(&state.conj()).re().sin().sum() + kept.arg()
}

fn orbits<T: BaseTensor>(re: &Vector<T>, im: &Vector<T>) -> Scalar<T> {
    let z = pair(re, im) * 0.5;
    let ends: Complex<T, 1> = map(&z, |c: &Complex<T, 0>| iterate(4, c.clone(), |_, z| z.square() + c));
    ends.norm() + ends.sum().re().square()
}

fn modulated<T: BaseTensor>(re: &Vector<T>, im: &Vector<T>, phase: &Vector<T>) -> Scalar<T> {
    let turned = pair(re, im) * Complex::from_polar(&Tensor::ones([4]), phase);
    let spectrum = turned.fft(0);
    let back = Complex::select(&spectrum.re().gt(0.0), &spectrum, &(&spectrum * 0.5)).fftshift(0).ifft(0);
    (back.re() * re).sum() + back.abs2().sum() + Complex::concat(0, &[&back, &turned]).slice(0, 2..6).im().sin().sum()
}

/// Elimination in a loop, and a polynomial of the rows that remain.
fn complex_determinants<T: BaseTensor>(re: &Matrix<T>, im: &Matrix<T>) -> Scalar<T> {
    let a = pair(re, im);
    let (unit, log) = a.slogdet::<0>();
    (a.det::<0>() * unit.conj()).re().tanh() + log + unit.im().square()
}

fn rational_in_f32<T: BaseTensor>(re: &Tensor<T, 1, f32>, im: &Tensor<T, 1, f32>) -> Scalar<T> {
    let z = Complex::new(re.clone(), im.clone());
    let w = (&z * 2.0 + num_complex::Complex32::I) / (z.square() + 3.0);
    (w.abs() + w.sqrt().im()).sum().cast()
}
