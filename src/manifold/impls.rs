//! Tensors, tuples and containers as manifolds.
//!
//! Law: a tensor of floats is its own tangent vector, moved by addition; integers and truth values have none, and stay.

use super::Manifold;
use crate::base::BaseTensor;
use crate::tensor::Tensor;
use crate::tree::{Keep, Plain};

macro_rules! floats {
    ($($E:ty),*) => { $(
        impl<T: BaseTensor, const D: usize> Manifold<T> for Tensor<T, D, $E> {
            type Tangent = Self;
            fn zero(&self) -> Self {
                Tensor::zeros(self.shape())
            }
            #[track_caller]
            fn retract(&self, v: &Self) -> Self {
                self + v
            }
            #[track_caller]
            fn local(&self, to: &Self) -> Self {
                to - self
            }
        }
    )* };
}

floats!(f64, f32);

macro_rules! fixed {
    ($($E:ty),*) => { $(
        impl<T: BaseTensor, const D: usize> Manifold<T> for Tensor<T, D, $E> {
            type Tangent = ();
            fn zero(&self) {}
            fn retract(&self, (): &()) -> Self {
                self.clone()
            }
            fn local(&self, _: &Self) {}
        }
    )* };
}

fixed!(i64, bool);

impl<T: BaseTensor, X: Clone + Plain> Manifold<T> for Keep<X> {
    type Tangent = ();
    fn zero(&self) {}
    fn retract(&self, (): &()) -> Self {
        self.clone()
    }
    fn local(&self, _: &Self) {}
}

/// Panics unless a tangent vector, or another point, has as many items as a point.
#[track_caller]
fn check_count(verb: &str, other: &str, expected: usize, found: usize) {
    assert!(
        expected == found,
        "{verb}: {other} must have as many items as the point, but there are {expected} in the point and {found} in the \
         other; take one of the same length"
    );
}

impl<T: BaseTensor, P: Manifold<T>> Manifold<T> for Vec<P> {
    type Tangent = Vec<P::Tangent>;
    fn zero(&self) -> Self::Tangent {
        self.iter().map(P::zero).collect()
    }
    #[track_caller]
    fn retract(&self, v: &Self::Tangent) -> Self {
        check_count("retract", "a tangent vector", self.len(), v.len());
        let mut moved = Vec::with_capacity(self.len());
        for (p, v) in self.iter().zip(v) {
            moved.push(p.retract(v));
        }
        moved
    }
    #[track_caller]
    fn local(&self, to: &Self) -> Self::Tangent {
        check_count("local", "the other point", self.len(), to.len());
        let mut tangent = Vec::with_capacity(self.len());
        for (p, q) in self.iter().zip(to) {
            tangent.push(p.local(q));
        }
        tangent
    }
}

impl<T: BaseTensor, P: Manifold<T>, const N: usize> Manifold<T> for [P; N] {
    type Tangent = [P::Tangent; N];
    fn zero(&self) -> Self::Tangent {
        self.each_ref().map(P::zero)
    }
    fn retract(&self, v: &Self::Tangent) -> Self {
        std::array::from_fn(|k| self[k].retract(&v[k]))
    }
    fn local(&self, to: &Self) -> Self::Tangent {
        std::array::from_fn(|k| self[k].local(&to[k]))
    }
}

/// One row per tuple.
macro_rules! tuples {
    ($( $($P:ident $i:tt),*; )*) => { $(
        impl<T: BaseTensor, $($P: Manifold<T>),*> Manifold<T> for ($($P,)*) {
            type Tangent = ($($P::Tangent,)*);
            #[allow(clippy::unused_unit)]
            fn zero(&self) -> Self::Tangent {
                ($(self.$i.zero(),)*)
            }
            #[track_caller]
            #[allow(unused_variables, clippy::unused_unit)]
            fn retract(&self, v: &Self::Tangent) -> Self {
                ($(self.$i.retract(&v.$i),)*)
            }
            #[track_caller]
            #[allow(unused_variables, clippy::unused_unit)]
            fn local(&self, to: &Self) -> Self::Tangent {
                ($(self.$i.local(&to.$i),)*)
            }
        }
    )* };
}

tuples! {
    ;
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, F 4;
    A 0, B 1, C 2, D 3, F 4, G 5;
    A 0, B 1, C 2, D 3, F 4, G 5, H 6;
    A 0, B 1, C 2, D 3, F 4, G 5, H 6, I 7;
}
