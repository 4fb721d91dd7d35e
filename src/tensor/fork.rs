//! Two functions that may run at the same time.
//!
//! Law: the results, and their derivatives, are those of one function after the other, to the bit and on any number of
//! threads.

use std::sync::{Mutex, PoisonError};

use super::loops::leaves;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::tree::{Tree, next_leaf};

/// The structure of a tree, which may go to other threads: with zeros as leaves.
fn structure<T: BaseTensor, A: Tree<T>>(a: &A) -> A::With<Array> {
    a.map(&mut |leaf| Array::zeros(&crate::shape::Shape::from_slice(leaf.shape()), leaf.dtype()))
}

/// The tree of a structure with these leaves.
#[track_caller]
fn rebuilt<T: BaseTensor, A, S: Tree<Array, With<T> = A>>(structure: &S, leaves: Vec<T>) -> A {
    let mut leaves = leaves.into_iter();
    structure.map(&mut |_| next_leaf(&mut leaves))
}

/// `(f(x), g(y))`, where `f` and `g` may run at the same time, on the threads of the `rayon` pool in which the caller
/// runs.
///
/// `fork_join : (A, A -> Y, B, B -> Z) -> (Y, Z)`. Under evaluation and in the verbs of [`direct`](crate::direct) the
/// functions run on two threads, and so do their derivatives: in the reverse pass the pullbacks of both. Forks nest.
/// No result depends on the threads, to the bit. In a recorded program, in the body of a loop that is differentiated and
/// at other interpreters, one function runs after the other. A function gets the tensors that it needs as its argument,
/// since the terms of a derivative belong to one thread; rustc refuses a function that captures them.
///
/// A fork pays if each function takes many times the microseconds that another thread needs to begin. A
/// [`checkpoint`](crate::checkpoint()) within a branch keeps its values.
///
/// "Parallel Dual-Numbers Reverse AD" (Smeding, Vákár 2024).
///
/// ```
/// use polygrad::{BaseTensor, Tensor, direct, fork_join, tensor};
/// /// The sum of `sin(x)` over all elements, by halves.
/// fn energy<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
///     let (n, half) = (x.len(), x.len() / 2);
///     if n < 3 {
///         return x.sin().sum();
///     }
///     let (left, right) = (x.slice(0, 0..half), x.slice(0, half..n));
///     let (a, b) = fork_join(&left, |x| energy(x), &right, |x| energy(x));
///     a + b
/// }
/// let x = tensor([0.0, 1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(direct::grad(energy, &x), x.cos());
/// ```
///
/// # Panics
/// When a function panics; if both do, with the panic of the first.
#[track_caller]
pub fn fork_join<T, A, B, Y, Z>(x: &A, f: impl Fn(&A) -> Y + Sync, y: &B, g: impl Fn(&B) -> Z + Sync) -> (Y, Z)
where
    T: BaseTensor,
    A: Tree<T, With<Array>: Tree<Array, With<T> = A> + Sync>,
    B: Tree<T, With<Array>: Tree<Array, With<T> = B> + Sync>,
    Y: Tree<T, With<Array>: Tree<Array, With<T> = Y> + Send>,
    Z: Tree<T, With<Array>: Tree<Array, With<T> = Z> + Send>,
{
    let (of_x, of_y) = (structure(x), structure(y));
    let (of_f, of_g) = (Mutex::new(None), Mutex::new(None));
    let first = |args: Vec<T>| {
        let result = f(&rebuilt(&of_x, args));
        *of_f.lock().unwrap_or_else(PoisonError::into_inner) = Some(structure(&result));
        leaves(result)
    };
    let second = |args: Vec<T>| {
        let result = g(&rebuilt(&of_y, args));
        *of_g.lock().unwrap_or_else(PoisonError::into_inner) = Some(structure(&result));
        leaves(result)
    };
    let [first, second] = T::fork([(x.leaves(), &first), (y.leaves(), &second)]);
    (joined(of_f, first), joined(of_g, second))
}

/// The result of a function with these leaves.
fn joined<T: BaseTensor, Y, S: Tree<Array, With<T> = Y>>(structure: Mutex<Option<S>>, leaves: Vec<T>) -> Y {
    let Some(structure) = structure.into_inner().unwrap_or_else(PoisonError::into_inner) else {
        unreachable!("a fork runs each function")
    };
    rebuilt(&structure, leaves)
}
