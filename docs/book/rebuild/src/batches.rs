//! Vectorisation: a function of one index, at many indices at once.

use crate::language::Base;
use crate::linear::Linear;
use crate::surface::Tensor;
use crate::values::{Array, Binary, Unary};

/// A value for each of `n` trips, its rows along a new outermost axis; or one value for all trips.
#[derive(Clone)]
pub enum Batch<T> {
    One(T),
    Rows(usize, T),
}

impl<T: Base> Batch<T> {
    /// The value with a row for each trip.
    fn rows(&self, n: usize) -> T {
        match self {
            Batch::One(x) => {
                let stack = [&[n], &x.shape()[..]].concat();
                x.linear(&Linear::sum(&stack).adjoint())
            }
            Batch::Rows(_, x) => x.clone(),
        }
    }

    /// An operation on two values: on whole stacks, if one of them is a stack.
    fn both(&self, other: &Self, one: impl FnOnce(&T, &T) -> T, rows: impl FnOnce(usize, T, T) -> T) -> Self {
        match (self, other) {
            (Batch::One(x), Batch::One(y)) => Batch::One(one(x, y)),
            (Batch::Rows(n, _), _) | (_, Batch::Rows(n, _)) => Batch::Rows(*n, rows(*n, self.rows(*n), other.rows(*n))),
        }
    }
}

impl<T: Base> Base for Batch<T> {
    fn constant(array: Array) -> Self {
        Batch::One(T::constant(array))
    }

    fn shape(&self) -> Vec<usize> {
        match self {
            Batch::One(x) => x.shape(),
            Batch::Rows(_, x) => x.shape()[1..].to_vec(),
        }
    }

    fn unary(&self, op: Unary) -> Self {
        match self {
            Batch::One(x) => Batch::One(x.unary(op)),
            Batch::Rows(n, x) => Batch::Rows(*n, x.unary(op)),
        }
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        self.both(other, |x, y| x.binary(op, y), |_, x, y| x.binary(op, &y))
    }

    fn linear(&self, op: &Linear) -> Self {
        match self {
            Batch::One(x) => Batch::One(x.linear(op)),
            Batch::Rows(n, x) => Batch::Rows(*n, x.linear(&op.batched(*n))),
        }
    }

    fn gather(&self, at: &Self, rows: usize) -> Self {
        match (self, at) {
            // One table for all trips is not copied for each.
            (Batch::One(x), Batch::Rows(n, at)) if rows == 1 => Batch::Rows(*n, x.gather(at, 1)),
            _ => self.both(at, |x, at| x.gather(at, rows), |n, x, at| x.gather(&at, n * rows)),
        }
    }

    fn scatter(&self, at: &Self, rows: usize, shape: &[usize]) -> Self {
        let stack = |n: usize| [&[n], shape].concat();
        self.both(at, |x, at| x.scatter(at, rows, shape), |n, x, at| x.scatter(&at, n * rows, &stack(n)))
    }
}

/// The array of `f(0), f(1), .., f(n - 1)`: the function is called once, at all indices.
pub fn build<T: Base>(n: usize, f: impl FnOnce(&Tensor<Batch<T>>) -> Tensor<Batch<T>>) -> Tensor<T> {
    let indices = Array::vector(&(0..n).map(|k| k as f64).collect::<Vec<_>>());
    Tensor(f(&Tensor(Batch::Rows(n, T::constant(indices)))).0.rows(n))
}

impl<T: Base> Tensor<T> {
    /// The same value in each trip.
    pub fn each(&self) -> Tensor<Batch<T>> {
        Tensor(Batch::One(self.0.clone()))
    }

    /// The element at a place.
    pub fn at(&self, place: &Tensor<T>) -> Tensor<T> {
        Tensor(self.0.gather(&place.0, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::tensor;
    use crate::verbs::{grad, random::Recipe};

    /// A matrix of `n` columns, times a vector, written element by element.
    fn product<T: Base>(a: &Tensor<T>, x: &Tensor<T>, n: usize) -> Tensor<T> {
        build(a.0.shape()[0] / n, |i| {
            let (a, x, i) = (a.each().each(), x.each().each(), i.each());
            build(n, |j| a.at(&(i * crate::surface::number(n as f64) + j)) * x.at(j)).sum()
        })
    }

    #[test]
    fn nested_loops_are_bulk_operations_with_derivatives() {
        let (a, x) = (tensor::<Array>(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), tensor(&[1.0, 0.5, -1.0]));
        assert_eq!(product(&a, &x, 3).0.data, [-1.0, 0.5]);
        assert_eq!(grad(|a| product(a, &x.lift(), 3).sum(), &a).0.data, [1.0, 0.5, -1.0, 1.0, 0.5, -1.0]);
        assert_eq!(grad(|x| product(&a.lift(), x, 3).sum(), &x).0.data, [5.0, 7.0, 9.0]);
    }

    #[test]
    fn a_batch_is_its_members() {
        let table = tensor::<Array>(&[0.3, 0.7, -0.4, 0.9]);
        for seed in 0..100 {
            let recipe = Recipe::new(seed, 10);
            let all = build(3, |i| recipe.run(&(table.each() + i))).0;
            for (i, one) in all.data.iter().enumerate() {
                let alone = recipe.run(&(&table + crate::surface::number::<Array>(i as f64))).0.data[0];
                assert!((one - alone).abs() <= 1e-12 * alone.abs().max(1.0), "seed {seed}: {one} and {alone}");
            }
        }
    }
}
