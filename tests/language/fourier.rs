//! Fourier transforms against their definition, and their laws.

use std::f64::consts::PI;

use polygrad::array::Rng;
use polygrad::direct::vjp;
use polygrad::ops::Linear;
use polygrad::{Array, BaseTensor, Complex, Concrete, Function, Tensor, tensor, vmap};

type Vector = Tensor<Concrete, 1>;

fn random<const D: usize>(shape: [usize; D], seed: u64) -> Tensor<Concrete, D> {
    Tensor::constant(Rng::new(seed).uniform(&shape, -1.0, 1.0))
}

#[track_caller]
fn close<const D: usize>(a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>, tolerance: f64) {
    assert_eq!(a.shape(), b.shape());
    for (a, b) in a.to_vec().into_iter().zip(b.to_vec()) {
        assert!((a - b).abs() <= tolerance, "{a} and {b}");
    }
}

/// The transform by its definition.
fn by_definition(re: &[f64], im: &[f64], sign: f64) -> (Vec<f64>, Vec<f64>) {
    let n = re.len();
    let sum = |k: usize| {
        (0..n).fold((0.0, 0.0), |(a, b), j| {
            let (s, c) = (sign * 2.0 * PI * ((j * k) % n) as f64 / n as f64).sin_cos();
            (a + re[j] * c - im[j] * s, b + re[j] * s + im[j] * c)
        })
    };
    (0..n).map(sum).unzip()
}

const SIZES: [usize; 12] = [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 60, 97];

#[test]
fn transforms_are_the_sums_that_define_them() {
    for n in SIZES {
        let z = Complex::new(random([n], 1), random([n], 2));
        let (re, im) = (z.re(), z.im());
        let (a, b) = z.fft(0).into_parts();
        let (c, d) = by_definition(&re.to_vec(), &im.to_vec(), -1.0);
        close(&a, &tensor(c), 1e-12);
        close(&b, &tensor(d), 1e-12);
        let (a, b) = z.ifft(0).into_parts();
        let (c, d) = by_definition(&re.to_vec(), &im.to_vec(), 1.0);
        close(&a, &(tensor(c) / n as f64), 1e-13);
        close(&b, &(tensor(d) / n as f64), 1e-13);
    }
}

#[test]
fn the_inverse_undoes_the_transform_along_every_axis() {
    let (re, im) = (random([3, 5, 4], 3), random([3, 5, 4], 4));
    for axis in 0..3 {
        let y = Complex::new(re.clone(), im.clone()).fft(axis);
        let (c, d) = y.ifft(axis).into_parts();
        let (a, b) = y.into_parts();
        close(&c, &re, 1e-14);
        close(&d, &im, 1e-14);
        // Parseval: the length grows by the root of n.
        let n = re.shape()[axis] as f64;
        let energy = |x: &Tensor<Concrete, 3>, y: &Tensor<Concrete, 3>| x.dot(x) + y.dot(y);
        close(&energy(&a, &b), &(energy(&re, &im) * n), 1e-11);
        // Each line by itself.
        let line = |x: &Tensor<Concrete, 3>| -> Vector {
            let last = x.permute([[1, 2, 0], [0, 2, 1], [0, 1, 2]][axis]);
            last.row::<2>(1).row(2)
        };
        close(Complex::new(line(&re), line(&im)).fft(0).re(), &line(&a), 1e-14);
    }
    assert_eq!(Complex::<Concrete, 2>::zeros([3, 0]).fft(1).shape(), [3, 0]);
}

#[test]
fn real_transforms_are_half_of_the_whole() {
    for n in SIZES {
        let x = random([2, n], 5);
        let half = x.rfft(1);
        let (re, im) = (half.re(), half.im());
        let (a, b) = x.to_complex().fft(1).into_parts();
        close(re, &a.slice(1, ..=n / 2), 1e-13);
        close(im, &b.slice(1, ..=n / 2), 1e-13);
        close(&half.irfft(n, 1), &x, 1e-14);
        // Parts that the transform of real numbers does not have count as 0.
        let odd = im.clone().set_slice(1, 0, &random([2, 1], 6));
        close(&Complex::new(re.clone(), odd).irfft(n, 1), &x, 1e-14);
    }
}

#[test]
fn convolution_is_multiplication_of_transforms() {
    for (n, m) in [(1, 1), (1, 4), (5, 3), (8, 8), (20, 13)] {
        let (x, w) = (random([n], 7), random([m], 8));
        let mut direct = vec![0.0; n + m - 1];
        for (i, x) in x.to_vec().into_iter().enumerate() {
            for (j, w) in w.to_vec().into_iter().enumerate() {
                direct[i + j] += x * w;
            }
        }
        close(&x.fft_convolve(&w, 0), &tensor(direct), 1e-13);
    }
    // A kernel beside many lines.
    let (x, w) = (random([6, 3], 9), random([2, 1], 10));
    let y = x.fft_convolve(&w, 0);
    let column = |t: &Tensor<Concrete, 2>, j: usize| -> Vector { t.t().row(j) };
    close(&column(&y, 2), &column(&x, 2).fft_convolve(&column(&w, 0), 0), 1e-14);
}

/// dot(F x, y) = dot(x, F* y), for the operation and for what is made of it.
#[test]
fn adjoints_keep_inner_products() {
    let mut rng = Rng::new(11);
    for (shape, parts, axis) in [(vec![2, 5], 0, 1), (vec![3, 2], 1, 0), (vec![4, 2, 3], 1, 2), (vec![2, 2, 2], 2, 0)] {
        let op = Linear::fourier(&shape, parts, axis);
        assert_eq!(op.adjoint().adjoint(), op);
        let (x, y) = (rng.uniform(&shape, -1.0, 1.0), rng.uniform(&shape, -1.0, 1.0));
        let dot = |a: &Array, b: &Array| -> f64 {
            a.to_vec::<f64>().unwrap().iter().zip(b.to_vec::<f64>().unwrap()).map(|(a, b)| a * b).sum()
        };
        assert!((dot(&x.linear(&op), &y) - dot(&x, &y.linear(&op.adjoint()))).abs() < 1e-13);
        // A stack of transforms is the transform of the stack.
        let stack = op.batched(2);
        let both = Array::concat(0, &[x.clone(), y.clone()]);
        let whole = std::iter::once(2).chain(shape.iter().copied()).collect::<Vec<usize>>();
        let both = both.linear(&Linear::reshape(both.shape(), &whole)).linear(&stack);
        assert_eq!(both.linear(&Linear::row(&whole, 0, 1)), y.linear(&op));
        assert!(op.to_string().contains("fourier"), "{op}");
    }
    let (x, y) = (random([9], 12), random([5], 13));
    let (re, pullback) = vjp(|x: &Tensor<_, 1>| x.rfft(0).into_parts().1, &x);
    close(&re.dot(&y), &x.dot(&pullback(&y)), 1e-13);
    let im = random([5], 14);
    let (back, pullback) = vjp(|re: &Tensor<_, 1>| Complex::new(re.clone(), im.lift()).irfft(9, 0), &y);
    let part = y.to_complex().irfft(9, 0);
    close(&(back - im.to_complex().times_i().irfft(9, 0)), &part, 1e-14);
    close(&part.dot(&x), &y.dot(&pullback(&x)), 1e-13);
}

#[test]
fn single_precision_is_transformed_too() {
    let x = tensor([1.0f32, 2.0, 3.0, 4.0]);
    assert_eq!(
        x.to_complex().fft(0).into_parts(),
        (tensor([10.0f32, -2.0, -2.0, -2.0]), tensor([0.0f32, 2.0, 0.0, -2.0]))
    );
}

#[test]
fn mapped_transforms_are_one() {
    let x = random([6, 8], 15);
    let rows = vmap(|row: &Tensor<Concrete, 1>| row.rfft(0).into_parts().0)(&x);
    close(&rows, x.rfft(1).re(), 1e-14);
    let program =
        Function::stage(|x: &Tensor<_, 2>| polygrad::map(x, |row: &Tensor<_, 1>| row.rfft(0).re().square()).sum(), &x);
    let text = program.optimized().to_string();
    assert!(!text.contains("loop") && text.matches("fourier").count() == 1, "{text}");
    close(&program.run(&x).unwrap(), &x.rfft(1).re().square().sum(), 1e-13);
}

/// The phase of a spectrum sees the signs of its zeros: recorded, optimized and direct runs agree about them.
#[test]
fn signs_of_zeros_are_those_of_the_transform() {
    fn phases<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
        let (re, im) = Complex::new(-x, x * 0.0).fft(0).into_parts();
        (-im + 0.0).atan2(&re)
    }
    for x in [tensor([1.0, 2.0, 1.0, 4.0]), tensor([0.0, -0.0, 0.0, 0.0]), tensor([-1.0, 1.0, -1.0, 1.0])] {
        let direct = phases(&x);
        let recorded = Function::stage(|x: &Tensor<_, 1>| phases(x), &x);
        assert_eq!(recorded.run(&x).unwrap(), direct);
    }
}

#[test]
fn saved_programs_with_transforms_are_loaded() {
    let x = random([4, 3], 16);
    let program = Function::stage(
        |x: &Tensor<_, 2>| {
            let (re, im) = Complex::new(x.clone(), x.sin()).fft(0).into_parts();
            Complex::new(re.square(), im).ifft(0).into_parts().0
        },
        &x,
    );
    let saved = serde_json::to_string(program.optimized()).unwrap();
    let loaded: polygrad::program::Program = serde_json::from_str(&saved).unwrap();
    assert_eq!(loaded.to_string(), program.optimized().to_string());
    let run = |p| polygrad::program::interpret(p, vec![x.array().clone()]);
    assert_eq!(run(&loaded), run(program.optimized()));
    // A file that says nonsense is refused in words.
    let wrong = saved.replace("\"parts\":0", "\"parts\":7");
    let refused = serde_json::from_str::<polygrad::program::Program>(&wrong).unwrap_err().to_string();
    assert!(refused.contains("fourier: needs an axis to transform"), "{refused}");
}
