//! Programs over semirings: their values and formal derivatives, against numbers and against enumerated paths.

use std::ops::{Add, Mul};

use num_traits::{One, Zero};
use polygrad::interpreters::{Concrete, Formal};
use polygrad::prelude::*;
use polygrad::{Dual, build1, cond, direct, fold};

/// A semiring of these two operations.
macro_rules! semiring {
    ($name:ident($inner:ty): $zero:expr, $one:expr, |$a:ident, $b:ident| $plus:expr, $times:expr) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct $name($inner);
        #[allow(clippy::suspicious_arithmetic_impl, reason = "the operations of a semiring have these names")]
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                let ($a, $b) = (self.0, other.0);
                $name($plus)
            }
        }
        #[allow(clippy::suspicious_arithmetic_impl, reason = "the operations of a semiring have these names")]
        impl Mul for $name {
            type Output = Self;
            fn mul(self, other: Self) -> Self {
                let ($a, $b) = (self.0, other.0);
                $name($times)
            }
        }
        impl Zero for $name {
            fn zero() -> Self {
                $name($zero)
            }
            fn is_zero(&self) -> bool {
                *self == Self::zero()
            }
        }
        impl One for $name {
            fn one() -> Self {
                $name($one)
            }
        }
    };
}

semiring!(Cost(f64): f64::INFINITY, 0.0, |a, b| a.min(b), a + b);
semiring!(Reach(bool): false, true, |a, b| a | b, a & b);
semiring!(Parity(bool): false, true, |a, b| a ^ b, a & b);
semiring!(Likely(f64): 0.0, 1.0, |a, b| a.max(b), a * b);

type Of<S> = Formal<S, Concrete>;

fn matrix<S: Clone + Zero + One + 'static>(n: usize, elements: Vec<S>) -> Tensor<Of<S>, 2> {
    Tensor::from_raw(Formal::new(&[n, n], elements))
}

/// Sums over all ways of `steps` steps from the first place to the last one, of the products of the steps, by a loop.
fn ways<T: BaseTensor>(steps: usize, step: &Tensor<T, 2>) -> Tensor<T, 0> {
    let [n, _] = step.shape();
    let start = build1(n, |i| cond(i.eq(0), 1.0, Tensor::<T, 0>::scalar(0.0)));
    let end = fold(start, Tensor::<T, 1>::zeros([steps]), |at: Tensor<_, 1>, _| at.vecmat(step));
    end.at([n - 1])
}

/// All ways of `steps` steps from the first place of `n` to the last one, as pairs of places.
fn all_ways(n: usize, steps: usize) -> Vec<Vec<(usize, usize)>> {
    let mut ways: Vec<(usize, Vec<(usize, usize)>)> = vec![(0, Vec::new())];
    for _ in 0..steps {
        let further = |(at, way): (usize, Vec<(usize, usize)>)| {
            (0..n).map(move |to| (to, way.iter().copied().chain([(at, to)]).collect())).collect::<Vec<_>>()
        };
        ways = ways.into_iter().flat_map(further).collect();
    }
    ways.into_iter().filter(|(at, _)| *at == n - 1).map(|(_, way)| way).collect()
}

/// The value and the derivatives of `ways` by enumeration: for each step, the sum over its uses in all ways of the product
/// of the other steps.
fn enumerated<S: Copy + Zero + One>(n: usize, steps: usize, step: &[S]) -> (S, Vec<S>) {
    let (mut value, mut slopes) = (S::zero(), vec![S::zero(); n * n]);
    for way in all_ways(n, steps) {
        let of = |(i, j): (usize, usize)| step[i * n + j];
        let product = |skip: Option<usize>| {
            let others = way.iter().enumerate().filter(|(k, _)| Some(*k) != skip);
            others.fold(S::one(), |product, (_, step)| product * of(*step))
        };
        value = value + product(None);
        for (k, (i, j)) in way.iter().enumerate() {
            slopes[i * n + j] = slopes[i * n + j] + product(Some(k));
        }
    }
    (value, slopes)
}

/// Checks one semiring by the elements that `draw` gives.
fn check<S: Copy + Zero + One + PartialEq + std::fmt::Debug + 'static>(
    mut draw: impl FnMut() -> S,
    close: fn(S, S) -> bool,
) {
    for (n, steps) in [(1, 3), (2, 1), (3, 0), (3, 4), (4, 3)] {
        for _ in 0..5 {
            let elements: Vec<S> = (0..n * n).map(|_| draw()).collect();
            let (value, slopes) = enumerated(n, steps, &elements);
            let step = matrix(n, elements);
            let found = ways(steps, &step);
            assert!(
                close(found.raw().elements()[0], value),
                "{n} {steps}: {found:?} {value:?}",
                found = found.raw().elements()
            );
            let (again, pullback) = direct::vjp(|step| ways(steps, step), &step);
            assert!(close(again.raw().elements()[0], value));
            let gradient = pullback(&Tensor::scalar(1.0));
            for (a, b) in gradient.raw().elements().iter().zip(&slopes) {
                assert!(close(*a, *b), "{n} {steps}: {a:?} {b:?}");
            }
            // Recorded, optimized, and interpreted here.
            let recorded = polygrad::grad(|step| ways(steps, step), &step);
            assert!(recorded.raw().elements().iter().zip(&slopes).all(|(a, b)| close(*a, *b)));
            // Forward mode, along each step alone.
            for (k, slope) in slopes.iter().enumerate() {
                let along = (0..n * n).map(|e| if e == k { S::one() } else { S::zero() }).collect();
                let (_, moved) =
                    direct::jvp(|step: &Tensor<Dual<Of<S>>, 2>| ways(steps, step), &step, &matrix(n, along));
                assert!(close(moved.raw().elements()[0], *slope));
            }
        }
    }
}

#[test]
fn derivatives_are_sums_over_paths() {
    let mut rng = Rng::new(7);
    let mut unit = move || rng.uniform([1], 0.0, 1.0).at([0]).item();
    // Multiples of 1/16, so that sums and products of costs and of numbers are exact.
    let mut sixteenth = || (unit() * 32.0).floor() / 16.0;
    check(&mut sixteenth, |a: f64, b| a == b);
    check(|| (sixteenth() * 4.0) as u64, |a, b| a == b);
    check(|| Cost(if sixteenth() < 0.4 { f64::INFINITY } else { sixteenth() }), |a, b| a == b);
    check(|| Reach(sixteenth() < 0.8), |a, b| a == b);
    check(|| Parity(sixteenth() < 1.0), |a, b| a == b);
    check(|| Likely(sixteenth() / 4.0), |a, b| a == b);
}

/// A program of all families that a semiring has, over numbers and over `Formal<f64>`.
fn mixed<T: BaseTensor>(x: &Tensor<T, 2>) -> Tensor<T, 0> {
    let [n, m] = x.shape();
    let rows = x.sum_axis::<1>(1).cumsum(0) * 3.0 + x.t().slice(0, ..1).sum_axis::<1>(0).square();
    let picked =
        build1(n, |i| cond(i.lt(2), x.at([i, &Tensor::scalar(0)]), rows.at([i])) * rows.at([(i + 1).rem(n as i64)]));
    let wide = concat(1, [x, &x.reverse(0).pad([(0, 0), (0, 1)]).slice(1, 1..)]);
    let table =
        Tensor::<T, 1>::zeros([4]).scatter_add([&Tensor::constant(tensor([1_i64, 3, 1, 9])).slice(0, ..n)], &picked);
    wide.matmul(&wide.t()).sum() * table.square().sum() + x.reshape([n * m]).dot(&x.permute([1, 0]).flatten())
}

/// The law of the interpreter.
#[test]
fn over_numbers_a_program_has_its_value_and_derivatives() {
    let x = Rng::new(3).normal([3, 2], 0.0, 1.0);
    let lifted = Tensor::<Of<f64>, 2>::from_raw(Formal::new(&[3, 2], x.to_vec()));
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-11 * (1.0 + b.abs()), "{a} {b}");
    near(mixed(&lifted).raw().elements()[0], mixed(&x).item());
    let expected = direct::grad(mixed, &x);
    for found in [direct::grad(mixed, &lifted), polygrad::grad(mixed, &lifted)] {
        for (a, b) in found.raw().elements().iter().zip(expected.to_vec()) {
            near(*a, b);
        }
    }
}

#[test]
#[should_panic(expected = "exp: a program over a semiring must be made of sums, products, views and known indices")]
fn other_functions_are_refused() {
    matrix(1, vec![1.0]).exp();
}

#[test]
#[should_panic(
    expected = "a float in a program over a semiring must be a natural number, a sum of ones, but it is 0.5"
)]
fn other_constants_are_refused() {
    drop(matrix(1, vec![1.0]) * 0.5);
}
