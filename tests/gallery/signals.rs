//! Interpolation, Fourier transforms.

use polygrad::{Array, BaseTensor, Complex, Tensor, build1, iterate, map};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    interpolated(x = Array::from([-0.3, 0.2, 0.9, 1.7, 2.4]), xp = Array::from([0.0, 0.5, 1.1, 2.0]), fp = real([4], 1));
    interpolated_one_by_one(x = Array::from([0.1, 0.7, 1.5]), fp = real([4], 2));
    interpolated_in_a_loop(x = Array::from(0.3), fp = real([3], 3));
    image_at_points(grid = real([3, 4], 4), u = Array::from([0.3, 1.6, -0.5]), v = Array::from([2.2, 0.4, 3.5]));
    volume_at_points(grid = real([2, 3, 2], 5), u = Array::from([[0.3, 0.6]]), v = Array::from([[1.2, 0.4]]), w = Array::from([[0.9, 0.2]]));
    spectrum(re = real([6], 8), im = real([6], 9));
    spectra_of_columns(re = real([4, 3], 10), im = real([4, 3], 11));
    power_of_a_real_signal(x = real([5], 12), y = real([2, 4], 13));
    filtered(x = real([7], 14), w = real([3], 15));
    filtered_one_by_one(x = real([3, 4], 16), w = real([2], 17));
    split_steps(re = real([4], 18), im = real([4], 19), v = real([4], 20));
    spectrum_in_f32(x = real([6], 21).cast::<f32>()) {
        const SMOOTH: bool = false;
        const TOLERANCE: f64 = 1e-4;
    };
    interpolated_in_f32(x = real([3], 6).cast::<f32>(), fp = real([2], 7).cast::<f32>()) {
        const SMOOTH: bool = false;
        const TOLERANCE: f64 = 1e-4;
    };
}

/// The first and the last lie outside.
fn interpolated<T: BaseTensor>(x: &Vector<T>, xp: &Vector<T>, fp: &Vector<T>) -> Scalar<T> {
    let y = x.interp(xp, fp);
    (y.square() * x).sum() + y.sin().sum()
}

fn interpolated_one_by_one<T: BaseTensor>(x: &Vector<T>, fp: &Vector<T>) -> Scalar<T> {
    let xp = Tensor::linspace(0.0, 2.0, 4);
    let each: Vector<T> = map(x, |x: &Scalar<T>| x.interp(&xp, fp).sin());
    each.dot(x) + build1::<_, 0, 1, _>(3, |i| x.at([i]).interp(&xp, &fp.square())).sum()
}

/// Along a field that is given by a table.
fn interpolated_in_a_loop<T: BaseTensor>(x: &Scalar<T>, fp: &Vector<T>) -> Scalar<T> {
    let xp = Tensor::constant([-1.0, 0.5, 3.0]);
    iterate(4, x.clone(), |_, x| &x + x.interp(&xp, fp) * 0.1).square()
}

fn image_at_points<T: BaseTensor>(grid: &Matrix<T>, u: &Vector<T>, v: &Vector<T>) -> Scalar<T> {
    let y = grid.interp_grid([u, v]);
    (y.square() * u).sum() + y.exp().sum()
}

fn volume_at_points<T: BaseTensor>(grid: &Tensor<T, 3>, u: &Matrix<T>, v: &Matrix<T>, w: &Matrix<T>) -> Scalar<T> {
    grid.interp_grid([u, v, w]).sin().sum()
}

fn interpolated_in_f32<T: BaseTensor>(x: &Tensor<T, 1, f32>, fp: &Tensor<T, 1, f32>) -> Scalar<T> {
    x.interp(&Tensor::constant([-0.5f32, 0.75]), fp).square().sum().cast()
}

fn spectrum<T: BaseTensor>(re: &Vector<T>, im: &Vector<T>) -> Scalar<T> {
    let (a, b) = Complex::new(re.clone(), im.clone()).fft(0).into_parts();
    let (c, d) = Complex::new(a.sin(), &b * re).ifft(0).into_parts();
    (a.square() + b * &c).sum() + (c * d).sum()
}

fn spectra_of_columns<T: BaseTensor>(re: &Matrix<T>, im: &Matrix<T>) -> Scalar<T> {
    let (c, d) = Complex::new(re.clone(), im.clone()).fft_axes([0, 1]).into_parts();
    (c.square() * re + d.sin() * im).sum()
}

fn power_of_a_real_signal<T: BaseTensor>(x: &Vector<T>, y: &Matrix<T>) -> Scalar<T> {
    let (re, im) = x.rfft(0).into_parts();
    let back = Complex::new(&re * 2.0, im.sin()).irfft(5, 0);
    let (a, b) = y.rfft(1).into_parts();
    (re.square() + im.square()).sum() + (back * x).sum() + (Complex::new(a * &b, b).irfft(4, 1) * y).sum()
}

fn filtered<T: BaseTensor>(x: &Vector<T>, w: &Vector<T>) -> Scalar<T> {
    x.fft_convolve(w, 0).sin().sum()
}

fn filtered_one_by_one<T: BaseTensor>(x: &Matrix<T>, w: &Vector<T>) -> Scalar<T> {
    let rows: Matrix<T> = map(x, |row| row.fft_convolve(w, 0).square());
    rows.exp().sum()
}

/// A Schroedinger equation in a potential, by steps in space and in frequency.
fn split_steps<T: BaseTensor>(re: &Vector<T>, im: &Vector<T>, v: &Vector<T>) -> Scalar<T> {
    let turn = |angle: &Vector<T>| Complex::new(angle.cos(), angle.sin());
    let kinetic = turn(&Tensor::constant([0.0, 0.3, 1.2, 0.3]));
    let start = Complex::new(re.clone(), im.clone());
    let (re, im) = iterate(3, start, |_, z| ((z * turn(v)).fft(0) * &kinetic).ifft(0)).into_parts();
    (re.square() * v).sum() + im.sin().sum()
}

fn spectrum_in_f32<T: BaseTensor>(x: &Tensor<T, 1, f32>) -> Scalar<T> {
    let (re, im) = x.rfft(0).into_parts();
    (re.square() + im.sin()).sum().cast()
}
