//! Formal derivatives over any commutative semiring, of programs with functions and recursion ("CHAD", section 11.3).
//!
//! Law: the derivative in an input is the sum, over its uses, of the products of what stands beside it: for the costs of
//! ways what the cheapest way that takes a step costs besides, for reachability whether some way takes it.

use std::ops::{Add, Mul};

use num_traits::{One, Zero};
use polygrad::Tensor;
use polygrad::interpreters::{Concrete, Formal};
use polygrad_higher::interpreters::{CurryClosures, Reverse, Run};
use polygrad_higher::{
    self as higher, Arrays, Expr, Language, Matrix, Prod, Real, Vector, fold, fun2, lam, lam2, let_, map,
};

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
semiring!(Number(f64): 0.0, 1.0, |a, b| a + b, a * b);

type Of<S> = Formal<S, Concrete>;

fn array<S: Clone + Zero + One + 'static, const D: usize>(shape: [usize; D], elements: Vec<S>) -> Tensor<Of<S>, D> {
    Tensor::from_raw(Formal::new(&shape, elements))
}

/// The sum over all ways from the place where `start` is to the place where `end` is, in as many steps as `steps` has
/// elements, by a function that is folded.
fn ways<C: Arrays>() -> Expr<C, Prod<Prod<Matrix, Prod<Vector, Vector>>, Vector>, Real> {
    fun2(|graph, steps| {
        let_(lam(|at| graph.at().fst().matvec(at.at())), |step| {
            let last = fold(lam2(|at, _| step.at().app(at.at())), graph.at().snd().snd(), steps.at());
            (graph.at().snd().fst() * last).sum()
        })
    })
}

/// Sums of products of the ways of three steps through four places, and of what stands beside each step.
fn enumerated<S: Copy + Zero + One>(step: &[S]) -> (S, Vec<S>) {
    let (n, mut value, mut slopes) = (4, S::zero(), vec![S::zero(); 16]);
    for i in 0..n {
        for j in 0..n {
            let way = [i, i * n + j, j * n + 3].map(|at| step[at]);
            value = value + way[0] * way[1] * way[2];
            let beside = [(i, way[1] * way[2]), (i * n + j, way[0] * way[2]), (j * n + 3, way[0] * way[1])];
            for (at, product) in beside {
                slopes[at] = slopes[at] + product;
            }
        }
    }
    (value, slopes)
}

fn check<S: Copy + Zero + One + PartialEq + std::fmt::Debug + 'static>(step: Vec<S>, close: fn(S, S) -> bool) {
    let (value, slopes) = enumerated(&step);
    let unit = |at: usize| array([4], (0..4).map(|k| if k == at { S::one() } else { S::zero() }).collect());
    let x = ((array([4, 4], step), (unit(0), unit(3))), array([3], vec![S::zero(); 3]));
    let found = [
        higher::value_and_grad_by(ways::<Reverse<Run<Of<S>>>>(), &x),
        higher::value_and_grad_by(ways::<CurryClosures<Of<S>>>(), &x),
    ];
    for (y, gradient) in found {
        assert!(close(y.raw().elements()[0], value), "{:?} and {value:?}", y.raw().elements());
        for (a, b) in gradient.0.0.raw().elements().iter().zip(&slopes) {
            assert!(close(*a, *b), "{a:?} and {b:?}");
        }
    }
}

/// Whole numbers from 0 to 9.
fn drawn(seed: u64) -> Vec<u8> {
    let mut random = super::random::Random::new(seed);
    (0..16).map(|_| random.below(10) as u8).collect()
}

#[test]
fn derivatives_are_sums_over_ways() {
    for seed in 0..20 {
        let numbers = || drawn(seed).into_iter();
        check(numbers().map(|k| if k < 3 { Cost::zero() } else { Cost(f64::from(k)) }).collect(), |a, b| a == b);
        check(numbers().map(|k| Reach(k > 6)).collect(), |a, b| a == b);
        check(numbers().map(|k| Number(f64::from(k))).collect(), |a, b| a == b);
    }
}

/// `x^3 y + x`, by a function that is called three times.
fn power<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|x, y| let_(lam(|z| z.at() * x.at()), |f| f.at().app(f.at().app(f.at().app(y.at()))) + x.at()))
}

fn scaled<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|xs, y| map(lam(|x| x.at() * y.at() + x.at()), xs.at()).sum())
}

#[test]
fn functions_and_maps_over_costs() {
    let cost = |c: f64| array([], vec![Cost(c)]);
    let (y, (of_x, of_y)) = higher::value_and_grad_by(power::<Reverse<Run<Of<Cost>>>>(), &(cost(2.0), cost(1.0)));
    // The cheaper of `3 x + y` and `x`; beside `x` stand `2 x + y`, and nothing.
    let all = [y, of_x, of_y].map(|t| t.raw().elements()[0]);
    assert_eq!(all, [Cost(2.0), Cost(0.0), Cost(6.0)]);
    let xs = (array([3], [4.0, 1.0, 7.0].map(Cost).to_vec()), cost(-2.0));
    let (y, (of_xs, of_y)) = higher::value_and_grad_by(scaled::<Reverse<Run<Of<Cost>>>>(), &xs);
    assert_eq!(y.raw().elements(), [Cost(-1.0)]);
    assert_eq!(of_xs.raw().elements(), [Cost(-2.0); 3]);
    assert_eq!(of_y.raw().elements(), [Cost(1.0)]);
}
