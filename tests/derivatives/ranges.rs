//! Statistics, losses, densities and powers at the ends of the range of floats, far from 0, and at NaN.
//!
//! Law: a value or derivative that is in range is right, whatever squares and powers are needed on the way; NaN in,
//! NaN out.

use polygrad::nn::{LayerNorm, RmsNorm, huber};
use polygrad::ops::Binary;
use polygrad::optim::clip_by_norm;
use polygrad::program::Term;
use polygrad::{
    BaseTensor, Complex, Concrete, Function, Tensor, direct, grad, hessian, jvp, nth_derivative, stats, tensor,
};

/// Whether two numbers agree to some rounding errors of single precision.
fn near(x: f64, y: f64) -> bool {
    (x - y).abs() <= 2e-6 * y.abs()
}

/// Numbers around `center`, `step` apart in turns: their variance is a quarter of the square of the distance.
fn in_turns(n: usize, center: f32, step: f32) -> (Tensor<Concrete, 1, f32>, f64) {
    let numbers: Vec<f32> = (0..n).map(|k| if k % 2 == 0 { center } else { center + step }).collect();
    let distance = f64::from(numbers[1]) - f64::from(numbers[0]);
    (Tensor::new([n], numbers), distance * distance / 4.0)
}

#[test]
fn variances_far_from_zero_are_those_of_the_numbers() {
    for (n, center, step) in
        [(100, 1e4, 0.01), (1000, 1e4, 0.01), (1000, 3e6, 1.0), (10, -1e30, 1e25), (1000, 0.0, 1e-10)]
    {
        let (x, exact) = in_turns(n, center, step);
        let recorded = Function::stage(|x: &Tensor<_, 1, f32>| x.var(), &x).run(&x).expect("the shape fits");
        for var in [x.var(), x.var_ddof(0), x.std().square(), recorded] {
            // The square of the largest is out of range.
            assert!(near(var.item().into(), exact) || exact > 1e38, "{} for {exact} at {center}", var.item());
        }
        let std = x.std().item();
        assert!(near(std.into(), exact.sqrt()), "{std} at {center}");
    }
    let equal = Tensor::<Concrete, 1, f32>::full([1000], 1e4 + 0.3);
    assert_eq!((equal.var().item(), equal.std().item()), (0.0, 0.0));
}

#[test]
fn lines_far_from_zero_and_of_any_size_are_normalized() {
    let (x, _) = in_turns(1000, 1e4, 0.01);
    let x: Tensor<Concrete, 2, f32> = x.reshape([1, 1000]);
    // The step is 0.0097656, so the variance is 2.3842e-5, beside an epsilon of 1e-5.
    let y = LayerNorm::<Concrete, f32>::new(1000).apply(&x).to_vec();
    assert!(near(y[0].into(), -0.839_349_7) && near(y[1].into(), 0.839_349_7), "{:?}", &y[..2]);
    for size in [1e-30f32, 1e-24, 1.0, 1e15, 1e20, 1e30] {
        let x = tensor([[3.0 * size, -4.0 * size]]);
        let root = 12.5f64.sqrt();
        let norm = RmsNorm { epsilon: 0.0, ..RmsNorm::new(2) };
        let y = norm.apply(&x).to_vec();
        assert!(near(y[0].into(), 3.0 / root) && near(y[1].into(), -4.0 / root), "{y:?} of {size}");
        // d/dx0 of x0 / r, r^2 = (x0^2 + x1^2) / 2, is x1^2 / (2 r^3).
        let slope = grad(|x: &Tensor<_, 2, f32>| RmsNorm { epsilon: 0.0, ..RmsNorm::new(2) }.apply(x).at([0, 0]), &x);
        let exact = 8.0 / (root.powi(3) * f64::from(size));
        assert!(near(f64::from(slope.at([0, 0]).item()) / exact, 1.0), "{slope:?} for {exact}");
        let y = LayerNorm { epsilon: 0.0, ..LayerNorm::new(2) }.apply(&x).to_vec();
        assert!(near(y[0].into(), 1.0) && near(y[1].into(), -1.0), "{y:?} of {size}");
    }
}

#[test]
fn deviations_of_tiny_and_huge_numbers_have_their_derivatives() {
    for size in [1e-30f32, 1e-24, 1.0, 1e24, 1e30] {
        let x = tensor([size, 3.0 * size, 8.0 * size]);
        // (x - mean) / (n std), with mean 4 and std sqrt(26 / 3).
        let scale = 3.0 * (26.0f64 / 3.0).sqrt();
        let slopes = grad(|x: &Tensor<_, 1, f32>| x.std(), &x).to_vec();
        for (slope, distance) in slopes.into_iter().zip([-3.0, -1.0, 4.0]) {
            assert!(near(slope.into(), distance / scale), "{slope} for {} of {size}", distance / scale);
        }
    }
}

#[test]
fn gradients_of_any_length_are_clipped_along_their_direction() {
    let clipped = clip_by_norm(&tensor([1e200, 1e200]), 1.0).to_vec();
    assert!(clipped.iter().all(|x| (x - 0.5f64.sqrt()).abs() < 1e-15), "{clipped:?}");
    let (a, b) = clip_by_norm(&(tensor([3e20f32, 0.0]), tensor(4e20f32)), 1.0);
    assert!(near(a.at([0]).item().into(), 0.6) && near(b.item().into(), 0.8), "{a:?} {b:?}");
    assert!(clip_by_norm(&tensor([f64::NAN, 1.0]), 1.0).to_vec().iter().all(|x| x.is_nan()));
    // The norm is out of range.
    let clipped = clip_by_norm(&(tensor([f64::MAX, -f64::MAX]), tensor([0.0; 0])), 1.0).0.to_vec();
    assert!((clipped[0] - 0.5f64.sqrt()).abs() < 1e-15 && clipped[1] == -clipped[0], "{clipped:?}");
    let (a, b) = clip_by_norm(&(tensor([3e38f32, 0.0]), tensor(3e38)), 2.0);
    let half = 2f64.sqrt();
    assert!(near(a.at([0]).item().into(), half) && near(b.item(), half) && a.at([1]).item() == 0.0, "{a:?} {b:?}");
    let short = tensor([f64::MAX, 1.0]);
    assert_eq!(clip_by_norm(&short, f64::MAX).to_vec(), short.to_vec());
    assert_eq!(clip_by_norm(&tensor([f64::INFINITY, 1.0]), 1.0).to_vec()[1], 0.0);
    // Along the vector it does not change, and across it the direction turns.
    let turned = jvp(|g: &Tensor<_, 1>| clip_by_norm(g, 1.0), &tensor([3e307, 4e307]), &tensor([-4e307, 3e307])).1;
    assert!(near(turned.at([0]).item(), -0.8) && near(turned.at([1]).item(), 0.6), "{turned:?}");
}

#[test]
fn losses_have_their_derivatives_at_zero_and_far_out() {
    let h: Tensor<_, 2> = hessian(|x: &Tensor<_, 1>| huber(x, 0.0, 1.0).sum(), &tensor([0.0, -0.5, 2.0]));
    assert_eq!(h.diagonal::<1>(0, 1).to_vec(), [1.0, 1.0, 0.0]);
    let slopes = grad(|x: &Tensor<_, 1>| huber(x, 0.0, 1.0).sum(), &tensor([0.5, -0.25, 3.0, -1e300]));
    assert_eq!(slopes.to_vec(), [0.5, -0.25, 1.0, -1.0]);
    let slopes = grad(|x: &Tensor<_, 1, f32>| x.gelu_tanh().sum(), &tensor([1.9e19f32, 1e38, -1.9e19, -1e38]));
    assert_eq!(slopes.to_vec(), [1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn nan_in_nan_out() {
    for n in [2, 3] {
        let mut x = vec![1.0; n];
        x[1] = f64::NAN;
        let x = Tensor::<Concrete, 1>::new([n], x);
        for slopes in [grad(|x| x.logsumexp(), &x), direct::grad(|x| x.logsumexp(), &x)] {
            assert!(slopes.to_vec().iter().all(|slope| slope.is_nan()), "{slopes:?}");
        }
    }
    assert_eq!(grad(|x: &Tensor<_, 1>| x.logsumexp(), &tensor([f64::NEG_INFINITY; 3])).to_vec(), [0.0; 3]);
    let nan = tensor([f64::NAN]);
    for (a, b) in [(1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 3.0)] {
        assert!(stats::beta(&nan, a, b).at([0]).item().is_nan(), "beta with {a}, {b}");
    }
    for alpha in [1.0, 2.0] {
        let density: Tensor<_, 0> = stats::dirichlet(&tensor([f64::NAN, 0.5]), alpha);
        assert!(density.item().is_nan(), "dirichlet with {alpha}");
    }
    assert!(stats::binomial_logit(&tensor([0]), 0, &nan).at([0]).item().is_nan());
    assert_eq!(stats::beta(&tensor([0.0, 0.5, 1.0]), 1.0, 1.0).to_vec(), [0.0; 3]);
}

#[test]
fn tails_of_densities_hold_to_the_largest_number() {
    let at = [0.0, 1e-9, 0.5, 1e100, 2f64.powi(511), 1e154, 1e200, 1e300, f64::MAX];
    for (x, density) in at.into_iter().zip(stats::cauchy(&tensor(at), 0.0, 1.0).to_vec()) {
        let log = if x < 1e8 { (x * x).ln_1p() } else { 2.0 * x.ln() };
        let exact = -std::f64::consts::PI.ln() - log;
        assert!((density - exact).abs() <= 4e-16 * exact.abs(), "{density} for {exact} at {x}");
    }
    let slopes = grad(|x: &Tensor<_, 1>| stats::cauchy(x, 0.0, 1.0).sum(), &tensor([1e154, -1e200, 1e300])).to_vec();
    for (slope, exact) in slopes.into_iter().zip([-2e-154, 2e-200, -2e-300]) {
        assert!((slope / exact - 1.0).abs() < 1e-15, "{slope} for {exact}");
    }
    // Three degrees of freedom: the density falls with the fourth power.
    let far = stats::student_t(&tensor([1e150, 1e200, 1e300]), 3.0, 0.0, 1.0).to_vec();
    for k in 1..3 {
        let fall = -4.0 * 10f64.ln() * [50.0, 100.0][k - 1];
        assert!((far[k] - far[k - 1] - fall).abs() < 1e-12 * fall.abs(), "{far:?}");
    }
    assert_eq!(stats::cauchy(&tensor([f64::INFINITY]), 0.0, 1.0).to_vec(), [f64::NEG_INFINITY]);
}

#[test]
fn powers_and_high_orders_do_not_leave_the_range_midway() {
    let slopes = grad(|x: &Tensor<_, 1, f32>| x.powi(-12).sum(), &tensor([100f32, 0.01, -1.0])).to_vec();
    for (slope, exact) in slopes.into_iter().zip([-1.2e-25, -1.2e27, 12.0]) {
        assert!(near(slope.into(), exact), "{slope} for {exact}");
    }
    for order in [171, 400] {
        assert_eq!(nth_derivative(|x: &Tensor<_, 0>| x.powi(3), order, &tensor(2.0)).item(), 0.0, "order {order}");
    }
    assert_eq!(nth_derivative(|x: &Tensor<_, 0, f32>| x.powi(3), 40, &tensor(2.0f32)).item(), 0.0);
    for size in [1e154, 1.4e154, 1e200, 1e300] {
        for (x, y) in [(size, 0.0), (0.0, size), (size, size)] {
            let both = |of: &dyn Fn(&Complex<Term, 0>) -> Complex<Term, 0>| {
                grad(|v: &Tensor<_, 1>| of(&Complex::new(v.at([0]), v.at([1]))).im().clone(), &tensor([x, y])).to_vec()
            };
            for slopes in [both(&|z| z.atan()), both(&|z| z.atanh())] {
                assert!(slopes.iter().all(|slope| slope.abs() < 1e-300), "{slopes:?} at {x}, {y}");
            }
        }
    }
}

/// Derivatives of angles near the origin, whose squares differ by a product: 0 times what is out of range is 0.
#[test]
fn reciprocals_of_complex_numbers_have_the_derivatives_of_their_diagonals() {
    type Pair<T> = (Tensor<T, 0>, Tensor<T, 0>);
    fn real<T: BaseTensor>((x, y): &Pair<T>) -> Tensor<T, 0> {
        Tensor::from_raw(x.raw().binary(Binary::RecipReal, y.raw()))
    }
    for size in [1.0, 1e-150, 1e-300, 4e-309] {
        for (x, y) in [(size, size), (size, -size), (-size, size), (-size, -size)] {
            let (along, across) = direct::grad(real, &(tensor(x), tensor(y)));
            let infinite = size < 1e-154;
            let expected = if infinite { f64::INFINITY } else { 0.5 / size / size };
            assert_eq!(along.item(), 0.0, "{x:e} {y:e}");
            assert!(near(across.item().abs(), expected) || infinite && across.item().is_infinite(), "{x:e} {y:e}");
        }
    }
}
