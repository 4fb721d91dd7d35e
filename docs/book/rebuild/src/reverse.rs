//! Reverse mode: terms for linear maps, shared by their numbers, over any meaning.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::forward::partial;
use crate::language::Base;
use crate::linear::Linear;
use crate::values::{Array, Binary, Unary};

/// A linear map from the tangent of the input to the tangent of one value, as a term.
pub enum Delta<T> {
    Input,
    Add(Node<T>, Node<T>),
    Scale(Node<T>, T),
    Linear(Node<T>, Linear),
    Gather(Node<T>, T, usize),
    Scatter(Node<T>, T, usize),
}

/// A term with the number of its creation: a part has a smaller number than the whole.
pub struct Term<T> {
    id: u64,
    shape: Vec<usize>,
    delta: Delta<T>,
}

type Node<T> = Rc<Term<T>>;

/// A value with the term of its derivative; without a term it is a constant.
#[derive(Clone)]
pub struct Reverse<T> {
    pub primal: T,
    pub delta: Option<Node<T>>,
}

impl<T: Base> Reverse<T> {
    fn new(primal: T, delta: Option<Delta<T>>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let term = |delta| Term { id: NEXT.fetch_add(1, Ordering::Relaxed), shape: primal.shape(), delta };
        let delta = delta.map(|delta| Rc::new(term(delta)));
        Reverse { primal, delta }
    }

    pub fn input(primal: T) -> Self {
        Reverse::new(primal, Some(Delta::Input))
    }

    /// The value `primal` with a linear map of this value's tangent.
    fn with(&self, primal: T, map: impl FnOnce(Node<T>) -> Delta<T>) -> Self {
        Reverse::new(primal, self.delta.clone().map(map))
    }

    /// The cotangent of the input for a cotangent of this value. Terms are visited from the largest number to the smallest,
    /// hence each once, when all that uses it has been visited.
    pub fn pull(&self, cotangent: T) -> Option<T> {
        let mut waiting = BTreeMap::new();
        let mut parts = vec![(self.delta.as_ref()?.clone(), cotangent)];
        loop {
            for (term, part) in parts {
                let sum = match waiting.remove(&term.id) {
                    Some((_, before)) => T::binary(&before, Binary::Add, &part),
                    None => part,
                };
                waiting.insert(term.id, (term, sum));
            }
            let (_, (term, y)) = waiting.pop_last()?;
            parts = match &term.delta {
                Delta::Input => return Some(y),
                Delta::Add(a, b) => vec![(a.clone(), y.clone()), (b.clone(), y)],
                Delta::Scale(x, by) => vec![(x.clone(), y.binary(Binary::Mul, by))],
                Delta::Linear(x, op) => vec![(x.clone(), y.linear(&op.adjoint()))],
                Delta::Gather(x, at, rows) => vec![(x.clone(), y.scatter(at, *rows, &x.shape))],
                Delta::Scatter(x, at, rows) => vec![(x.clone(), y.gather(at, *rows))],
            };
        }
    }
}

impl<T: Base> Base for Reverse<T> {
    fn constant(array: Array) -> Self {
        Reverse { primal: T::constant(array), delta: None }
    }

    fn shape(&self) -> Vec<usize> {
        self.primal.shape()
    }

    fn unary(&self, op: Unary) -> Self {
        let y = self.primal.unary(op);
        self.with(y.clone(), |x| Delta::Scale(x, partial(op, &self.primal, &y)))
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let y = self.primal.binary(op, &other.primal);
        let side = |a: &Self, b: &Self| match op {
            Binary::Add => a.clone(),
            Binary::Mul => a.with(y.clone(), |a| Delta::Scale(a, b.primal.clone())),
        };
        let (a, b) = (side(self, other), side(other, self));
        match (a.delta, b.delta) {
            (Some(a), Some(b)) => Reverse::new(y, Some(Delta::Add(a, b))),
            (a, b) => Reverse { primal: y, delta: a.or(b) },
        }
    }

    fn linear(&self, op: &Linear) -> Self {
        self.with(self.primal.linear(op), |x| Delta::Linear(x, op.clone()))
    }

    fn gather(&self, at: &Self, rows: usize) -> Self {
        self.with(self.primal.gather(&at.primal, rows), |x| Delta::Gather(x, at.primal.clone(), rows))
    }

    fn scatter(&self, at: &Self, rows: usize, shape: &[usize]) -> Self {
        self.with(self.primal.scatter(&at.primal, rows, shape), |x| Delta::Scatter(x, at.primal.clone(), rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::Dual;
    use crate::surface::{Tensor, tensor};

    fn program<T: Base>(x: &Tensor<T>) -> Tensor<T> {
        let at = T::constant(Array::vector(&[2.0, 0.0, 5.0, 2.0]));
        let read = Tensor(x.0.gather(&at, 1));
        (read.sin() * read.exp() / tensor::<T>(&[1.0, 2.0, 3.0, 4.0])).sum() * x
    }

    #[test]
    fn a_pullback_is_the_adjoint_of_a_tangent_map() {
        let [x, dx, dy] = [[0.3, 0.5, 0.7], [1.0, -2.0, 0.5], [0.2, 0.4, -0.6]].map(|data| Array::vector(&data));
        let dot = |a: &Array, b: &Array| a.data.iter().zip(&b.data).map(|(a, b)| a * b).sum::<f64>();
        let forward = program(&Tensor(Dual { primal: x.clone(), tangent: Some(dx.clone()) })).0;
        let back = program(&Tensor(Reverse::input(x))).0.pull(dy.clone()).expect("a cotangent");
        assert!((dot(&dy, &forward.tangent.expect("a tangent")) - dot(&back, &dx)).abs() < 1e-12);
    }

    #[test]
    fn a_shared_value_is_visited_once() {
        // Without numbers this takes 2^60 steps.
        let mut x = Reverse::input(Array::vector(&[1.0]));
        let input = x.clone();
        for _ in 0..60 {
            x = x.binary(Binary::Add, &x);
        }
        assert_eq!(x.pull(Array::vector(&[1.0])).expect("a cotangent").data, [2f64.powi(60)]);
        assert_eq!(input.primal.data, [1.0]);
    }
}
