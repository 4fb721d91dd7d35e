//! The functions that a user calls: each runs a program at a meaning, and over any meaning, so that they nest.

use crate::forward::{Dual, filled_as};
use crate::language::Base;
use crate::reverse::Reverse;
use crate::surface::Tensor;
use crate::values::Array;

/// The value of `f` at `x`, and its derivative along `dx`.
pub fn jvp<T: Base>(
    f: impl Fn(&Tensor<Dual<T>>) -> Tensor<Dual<T>>,
    x: &Tensor<T>,
    dx: &Tensor<T>,
) -> (Tensor<T>, Tensor<T>) {
    let Dual { primal, tangent } = f(&Tensor(Dual { primal: x.0.clone(), tangent: Some(dx.0.clone()) })).0;
    let tangent = tangent.unwrap_or_else(|| filled_as(&primal, 0.0));
    (Tensor(primal), Tensor(tangent))
}

/// The gradient of a function to single numbers.
pub fn grad<T: Base>(f: impl Fn(&Tensor<Reverse<T>>) -> Tensor<Reverse<T>>, x: &Tensor<T>) -> Tensor<T> {
    let y = f(&Tensor(Reverse::input(x.0.clone()))).0;
    assert!(y.shape().is_empty(), "grad: the function must give a single number, but gives the shape {:?}", y.shape());
    let cotangent = T::constant(Array::filled(&[], 1.0));
    Tensor(y.pull(cotangent).unwrap_or_else(|| filled_as(&x.0, 0.0)))
}

/// The Hessian of a function to single numbers times a direction: forward mode over reverse mode.
pub fn hvp<T: Base>(
    f: impl Fn(&Tensor<Reverse<Dual<T>>>) -> Tensor<Reverse<Dual<T>>>,
    x: &Tensor<T>,
    v: &Tensor<T>,
) -> Tensor<T> {
    jvp(|x| grad(&f, x), x, v).1
}

impl<T: Base> Tensor<T> {
    /// A value from outside, as a constant of a derivative.
    pub fn lift(&self) -> Tensor<Reverse<T>> {
        Tensor(Reverse { primal: self.0.clone(), delta: None })
    }
}

/// Programs at random, which can be run at every meaning.
pub mod random {
    use crate::linear::Linear;
    use crate::surface::number;
    use crate::values::Unary;

    use super::{Array, Base, Tensor};

    /// A program as numbers: each names an operation, and the values it takes among those before.
    pub struct Recipe(Vec<[usize; 3]>);

    impl Recipe {
        pub fn new(seed: u64, steps: usize) -> Self {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut next = || {
                state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                (state >> 40) as usize
            };
            Recipe((0..steps).map(|_| [next(), next(), next()]).collect())
        }

        /// Runs the program at a vector of four numbers.
        pub fn run<T: Base>(&self, x: &Tensor<T>) -> Tensor<T> {
            let mut values = vec![x.clone()];
            for (k, [op, a, b]) in self.0.iter().enumerate() {
                let (a, b) = (&values[a % values.len()], &values[b % values.len()]);
                let at = || T::constant(Array::vector(&[3.0, (k % 5) as f64, 1.0, -1.0]));
                let positive = || a * a + number::<T>(0.5);
                values.push(match op % 9 {
                    0 => a + b,
                    1 | 2 => a * b,
                    3 => a.sin(),
                    4 => positive().ln(),
                    5 => b / positive(),
                    6 => (a.sin() * b.unary(Unary::Cos)).exp(),
                    7 => Tensor(a.0.gather(&at(), 1).scatter(&a.0.linear(&Linear::reshape(&[4], &[4])), 1, &[4])),
                    _ => Tensor(a.sum().0.linear(&Linear::total(&[4]).adjoint())),
                });
            }
            values.iter().fold(number(0.0), |sum, value| sum + value.sin().sum())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::random::Recipe;
    use super::*;
    use crate::surface::tensor;

    #[test]
    fn a_gradient_of_a_gradient_has_its_own_level() {
        // x d/dy (x y^2) at y = x is 2 x^3.
        let slope = grad(|x| x * grad(|y| x.lift() * y * y, x), &number(3.0));
        assert_eq!(slope.0.data, [54.0]);
    }

    fn number(x: f64) -> Tensor<Array> {
        crate::surface::number(x)
    }

    #[test]
    fn random_programs_have_one_derivative_in_both_modes() {
        let (x, v) = (tensor::<Array>(&[0.3, 0.7, -0.4, 0.9]), tensor(&[1.0, -0.5, 0.25, 2.0]));
        for seed in 0..200 {
            let recipe = Recipe::new(seed, 12);
            let (_, forward) = jvp(|x| recipe.run(x), &x, &v);
            let back = (grad(|x| recipe.run(x), &x) * &v).sum();
            let (a, b) = (forward.0.data[0], back.0.data[0]);
            assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "seed {seed}: {a} forward, {b} in reverse");
        }
    }

    #[test]
    fn second_derivatives_are_symmetric() {
        let (u, v) = (tensor(&[1.0, 0.5, -1.0, 0.3]), tensor(&[0.2, -0.7, 0.4, 1.0]));
        for seed in 0..100 {
            let recipe = Recipe::new(seed, 8);
            let x = tensor::<Array>(&[0.3, 0.7, -0.4, 0.9]);
            let along = |a, b| (hvp(|x| recipe.run(x), &x, a) * b).sum().0.data[0];
            let (uv, vu) = (along(&u, &v), along(&v, &u));
            assert!((uv - vu).abs() <= 1e-8 * uv.abs().max(1.0), "seed {seed}: {uv} and {vu}");
        }
    }
}
