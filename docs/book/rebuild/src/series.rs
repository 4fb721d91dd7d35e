//! Taylor series over any meaning: all derivatives along a line in one run.

use crate::forward::filled_as;
use crate::language::Base;
use crate::linear::Linear;
use crate::surface::Tensor;
use crate::values::{Array, Binary, Unary};

/// The coefficients of `x(t) = x0 + x1 t + x2 t^2 + ..`, up to an order; what is not there is zero.
#[derive(Clone)]
pub struct Series<T>(pub Vec<T>);

fn times<T: Base>(x: &T, factor: f64) -> T {
    x.binary(Binary::Mul, &T::constant(Array::filled(&x.shape(), factor)))
}

/// The sum of the products `weight(i) a[i] b[k - i]` from `i = first` on, of those that are there.
fn convolve<T: Base>(a: &[T], b: &[T], k: usize, first: usize, weight: fn(f64) -> f64) -> T {
    let terms = (first..=k).filter(|i| *i < a.len() && k - i < b.len());
    let products = terms.map(|i| times(&a[i], weight(i as f64)).binary(Binary::Mul, &b[k - i]));
    products.reduce(|sum, more| sum.binary(Binary::Add, &more)).unwrap_or_else(|| filled_as(&a[0], 0.0))
}

impl<T: Base> Series<T> {
    fn map(&self, f: impl Fn(&T) -> T) -> Self {
        Series(self.0.iter().map(f).collect())
    }

    /// The sine and the cosine, each of whose coefficients is made of those of the other before it: `s' = x' c`, `c' = -x' s`.
    fn circle(&self) -> [Self; 2] {
        let x = &self.0;
        let (mut sin, mut cos) = (vec![x[0].unary(Unary::Sin)], vec![x[0].unary(Unary::Cos)]);
        for k in 1..x.len() {
            let (up, down) = (convolve(x, &cos, k, 1, |i| i), convolve(x, &sin, k, 1, |i| -i));
            sin.push(times(&up, 1.0 / k as f64));
            cos.push(times(&down, 1.0 / k as f64));
        }
        [Series(sin), Series(cos)]
    }

    /// `y = op(x)`, by the equation that `y'` and `x'` keep.
    fn recurrence(&self, op: Unary) -> Self {
        let (x, mut y) = (&self.0, vec![self.0[0].unary(op)]);
        for k in 1..x.len() {
            let over_k = |x: T| times(&x, 1.0 / k as f64);
            y.push(match op {
                // y x = 1
                Unary::Recip => convolve(x, &y, k, 1, |_| -1.0).binary(Binary::Mul, &y[0]),
                // y' = x' y
                Unary::Exp => over_k(convolve(x, &y, k, 1, |i| i)),
                // y' x = x'
                Unary::Ln => {
                    let sum = over_k(convolve(&y, x, k, 1, |i| -i)).binary(Binary::Add, &x[k]);
                    sum.binary(Binary::Mul, &x[0].unary(Unary::Recip))
                }
                Unary::Neg | Unary::Sin | Unary::Cos => unreachable!("these have equations of their own"),
            });
        }
        Series(y)
    }
}

impl<T: Base> Base for Series<T> {
    fn constant(array: Array) -> Self {
        Series(vec![T::constant(array)])
    }

    fn shape(&self) -> Vec<usize> {
        self.0[0].shape()
    }

    fn unary(&self, op: Unary) -> Self {
        match op {
            Unary::Neg => self.map(|x| x.unary(op)),
            Unary::Sin => self.circle()[0].clone(),
            Unary::Cos => self.circle()[1].clone(),
            Unary::Recip | Unary::Exp | Unary::Ln => self.recurrence(op),
        }
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        let coefficient = |k: usize| match op {
            Binary::Add if k >= a.len() => b[k].clone(),
            Binary::Add if k >= b.len() => a[k].clone(),
            Binary::Add => a[k].binary(op, &b[k]),
            Binary::Mul => convolve(a, b, k, 0, |_| 1.0),
        };
        Series((0..a.len().max(b.len())).map(coefficient).collect())
    }

    fn linear(&self, op: &Linear) -> Self {
        self.map(|x| x.linear(op))
    }

    fn gather(&self, at: &Self, rows: usize) -> Self {
        self.map(|x| x.gather(&at.0[0], rows))
    }

    fn scatter(&self, at: &Self, rows: usize, shape: &[usize]) -> Self {
        self.map(|x| x.scatter(&at.0[0], rows, shape))
    }
}

/// The coefficients of `f(x + t v)` up to an order.
pub fn taylor<T: Base>(
    f: impl Fn(&Tensor<Series<T>>) -> Tensor<Series<T>>,
    x: &Tensor<T>,
    v: &Tensor<T>,
    order: usize,
) -> Vec<T> {
    let zero = filled_as(&x.0, 0.0);
    let line = (0..=order).map(|k| [&x.0, &v.0].get(k).map_or(zero.clone(), |part| (*part).clone()));
    f(&Tensor(Series(line.collect()))).0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::tensor;
    use crate::verbs::{hvp, jvp, random::Recipe};

    #[test]
    fn the_series_of_each_row_is_known() {
        let series = |op: Unary| taylor(|x| x.unary(op), &tensor::<Array>(&[1.0]), &tensor(&[1.0]), 4);
        let (s, c, e) = (1f64.sin(), 1f64.cos(), 1f64.exp());
        let known = [
            (Unary::Sin, [s, c, -s / 2.0, -c / 6.0, s / 24.0]),
            (Unary::Cos, [c, -s, -c / 2.0, s / 6.0, c / 24.0]),
            (Unary::Exp, [e, e, e / 2.0, e / 6.0, e / 24.0]),
            (Unary::Ln, [0.0, 1.0, -0.5, 1.0 / 3.0, -0.25]),
            (Unary::Recip, [1.0, -1.0, 1.0, -1.0, 1.0]),
        ];
        for (op, expected) in known {
            let found = series(op).iter().map(|x| x.data[0]).collect::<Vec<_>>();
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14), "{op:?}: {found:?}");
        }
    }

    #[test]
    fn a_series_has_the_nested_derivatives() {
        let (x, v) = (tensor::<Array>(&[0.3, 0.7, -0.4, 0.9]), tensor(&[1.0, -0.5, 0.25, 2.0]));
        for seed in 0..100 {
            let recipe = Recipe::new(seed, 8);
            let series = taylor(|x| recipe.run(x), &x, &v, 2);
            let first = jvp(|x| recipe.run(x), &x, &v).1.0.data[0];
            let second = (hvp(|x| recipe.run(x), &x, &v) * &v).sum().0.data[0];
            for (k, expected) in [(1, first), (2, second / 2.0)] {
                let found = series.get(k).map_or(0.0, |x| x.data[0]);
                assert!((found - expected).abs() <= 1e-8 * expected.abs().max(1.0), "seed {seed}, order {k}");
            }
        }
    }
}
