//! Determinants of complex matrices: numbers of NumPy, laws of determinants, and derivatives at regular and singular
//! matrices.

use approx::assert_relative_eq;
use polygrad::program::Term;
use polygrad::{
    BaseTensor, Complex, Concrete, Function, GradientCheck, Tensor, direct, grad, holomorphic_grad, jvp, map, tensor,
    vmap,
};

type C<const D: usize> = Complex<Concrete, D>;

fn random<const D: usize>(shape: [usize; D], seed: u64) -> C<D> {
    let mut rng = polygrad::array::Rng::new(seed);
    Complex::constant(rng.uniform(&shape, -1.0, 1.0), rng.uniform(&shape, -1.0, 1.0))
}

fn one(re: f64, im: f64) -> C<0> {
    Complex::scalar(re, im)
}

/// A matrix of `n` rows of this rank.
fn of_rank(n: usize, rank: usize, seed: u64) -> C<2> {
    random([n, rank], seed).matmul(&random([rank, n], seed + 100))
}

/// The matrix that is written in the same way in NumPy.
fn waves(n: usize, power: i32) -> C<2> {
    let at = |f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
        (0..n * n).map(|k| f(k as f64, ((k / n) * (k % n)) as f64)).collect()
    };
    let re: Tensor<Concrete, 1> = tensor(at(&|k, _| (1.0 + k.powi(power)).cos()));
    let im: Tensor<Concrete, 1> = tensor(at(&|k, both| (2.0 * k + both).sin()));
    Complex::new(re, im).reshape([n, n])
}

#[test]
fn numbers_are_those_of_numpy() {
    let facts = [
        (
            waves(6, 1),
            (2.9046170301881866, 7.131004267199415),
            (0.3772292835990544, 0.926119899146619),
            2.0412036474452235,
        ),
        (
            waves(9, 2),
            (406.32284597886536, 85.68685393518566),
            (0.9784792380036789, 0.20634529506567323),
            6.02890374130647,
        ),
    ];
    for (a, det, unit, log) in facts {
        assert_relative_eq!(a.det(), one(det.0, det.1), max_relative = 1e-13);
        let (u, l) = a.slogdet();
        assert_relative_eq!(u, one(unit.0, unit.1), max_relative = 1e-13);
        assert_relative_eq!(l.item(), log, max_relative = 1e-14);
    }
    assert_eq!(C::<2>::zeros([0, 0]).det(), one(1.0, 0.0));
    assert_eq!(C::<3>::zeros([0, 2, 2]).det().shape(), [0]);
    // The determinant is too large for a number, and too small.
    for size in [1e200, 1e-200] {
        let large = &waves(6, 1) * size;
        let (unit, log) = large.slogdet();
        assert_relative_eq!(unit, one(0.3772292835990544, 0.926119899146619), max_relative = 1e-13);
        assert_relative_eq!(log.item(), 2.0412036474452235 + 6.0 * size.ln(), max_relative = 1e-13);
    }
}

#[test]
fn laws_of_determinants() {
    for n in [1, 2, 3, 4, 5, 7] {
        let (a, b) = (random([n, n], n as u64), random([n, n], 20 + n as u64));
        let det = a.det();
        assert_relative_eq!(a.matmul(&b).det(), &det * b.det(), max_relative = 1e-12, epsilon = 1e-14);
        assert_relative_eq!(a.t().det(), det, max_relative = 1e-13, epsilon = 1e-15);
        assert_relative_eq!(a.conj().det(), det.conj(), max_relative = 1e-13, epsilon = 1e-15);
        assert_relative_eq!(a.reverse(0).det(), &det * (-1f64).powi((n * (n - 1) / 2) as i32), max_relative = 1e-13);
        assert_relative_eq!(
            a.re().to_complex().det(),
            a.re().det().to_complex(),
            max_relative = 1e-12,
            epsilon = 1e-15
        );
        let (unit, log) = a.slogdet();
        assert_relative_eq!(unit * log.exp(), det, max_relative = 1e-13, epsilon = 1e-15);
        let stack = Complex::stack::<3>(&[&a, &b, &C::<2>::zeros([n, n])]);
        let singles = Complex::stack::<1>(&[&det, &b.det(), &one(0.0, 0.0)]);
        assert_relative_eq!(stack.det(), singles, max_relative = 1e-15);
        assert_relative_eq!(map(&stack, |a: &C<2>| a.det::<0>()), singles, max_relative = 1e-15);
        let together = vmap(|a: &C<2>| a.slogdet::<0>());
        assert_relative_eq!(together(&stack).1.to_complex(), stack.slogdet().1.to_complex(), max_relative = 1e-15);
        let compiled = Function::stage(|a: &Complex<_, 2>| a.det::<0>(), &a).run(&a).unwrap();
        assert_relative_eq!(compiled, det, max_relative = 1e-13, epsilon = 1e-15);
        let single = Complex::new(a.re().cast::<f32>(), a.im().cast::<f32>()).det();
        let error = (Complex::new(single.re().cast::<f64>(), single.im().cast::<f64>()) - &det).abs().item();
        assert!(error < 1e-5 * n as f64, "{n}: {error}");
    }
}

/// The derivative of the determinant is `tr(cofactors^T da)`, that of the logarithm `tr(a^-1 da)`.
#[test]
fn derivatives_are_those_of_jacobi() {
    for n in [1, 2, 4, 5, 7] {
        let (a, da) = (random([n, n], 40 + n as u64), random([n, n], 60 + n as u64));
        let (det, change) = jvp(|a: &Complex<Term, 2>| a.det::<0>(), &a, &da);
        let trace = a.inverse().matmul(&da).diagonal::<1>(0, 1).sum();
        assert_relative_eq!(change, &det * &trace, max_relative = 1e-11, epsilon = 1e-13);
        let cofactors = holomorphic_grad(|a| a.det(), &a);
        assert_relative_eq!(cofactors, a.inverse().t() * det, max_relative = 1e-11, epsilon = 1e-13);
        let ((unit, _), (turn, log)) = jvp(|a: &Complex<Term, 2>| a.slogdet::<0>(), &a, &da);
        assert_relative_eq!(log.item(), trace.re().item(), max_relative = 1e-11, epsilon = 1e-12);
        assert_relative_eq!(turn, unit.times_i() * trace.im(), max_relative = 1e-11, epsilon = 1e-12);
        let (_, forward) = direct::jvp(|a: &Complex<_, 2>| a.det::<0>(), &a, &da);
        assert_relative_eq!(forward, change, max_relative = 1e-12, epsilon = 1e-14);
    }
}

/// A regular matrix, matrices without one or two ranks, and the zero matrix.
#[test]
fn derivatives_exist_at_singular_matrices() {
    for n in [2, 3, 6] {
        // The determinant of a matrix of lower rank is a polynomial without its lowest terms, along each direction.
        let along = random([n, n], 80 + n as u64);
        for lost in 1..=n.min(2) {
            let a = of_rank(n, n - lost, 90 + n as u64);
            assert!(a.det().abs().item() < 1e-13, "{n} {lost}");
            let f = |t: &Complex<Term, 0>| (a.lift() + along.lift() * t).det();
            let first = holomorphic_grad(f, &one(0.0, 0.0));
            let second = holomorphic_grad(|t| holomorphic_grad(f, t), &one(0.0, 0.0));
            // Taylor's coefficients, as the mean over a circle.
            let coefficient = |k: f64| {
                let points = 16.0;
                let at = |j: f64| {
                    let angle = 2.0 * std::f64::consts::PI * j / points;
                    let turn = Complex::from_polar(&tensor(1.0), &tensor(angle));
                    let back = Complex::from_polar(&tensor(1.0 / points), &tensor(-angle * k));
                    (&a + &along * turn).det() * back
                };
                (0..16).map(|j| at(f64::from(j))).reduce(|x, y| x + y).unwrap()
            };
            assert_relative_eq!(first, coefficient(1.0), max_relative = 1e-9, epsilon = 1e-11);
            assert_relative_eq!(second, coefficient(2.0) * 2.0, max_relative = 1e-8, epsilon = 1e-10);
        }
        let zero = C::<2>::zeros([n, n]);
        let slope = holomorphic_grad(|a| a.det(), &zero);
        assert_eq!(slope, zero);
        let (unit, log) = zero.slogdet();
        assert_eq!((unit, log), (one(0.0, 0.0), tensor(f64::NEG_INFINITY)));
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    fn loss<T: BaseTensor>(a: &Complex<T, 3>) -> Tensor<T, 0> {
        let (unit, log) = a.slogdet();
        (a.det().abs2() * 0.1).sum() + log.square().sum() + unit.re().square().sum()
    }
    for (batch, n) in [(2, 2), (1, 5)] {
        let a = random([batch, n, n], 120 + n as u64);
        // Random directions see all entries.
        let few = GradientCheck { entries: 8, ..GradientCheck::default() };
        few.run(|a: &Complex<_, 3>, _: &()| loss(a), &a, &()).expect("the gradient is the slope");
        let compiled = Function::grad(|a: &Complex<_, 3>| loss(a), &a).run(&a).unwrap();
        let plain = grad(|a: &Complex<Term, 3>| loss(a), &a);
        assert_relative_eq!(compiled, plain, max_relative = 1e-11, epsilon = 1e-12);
    }
}
