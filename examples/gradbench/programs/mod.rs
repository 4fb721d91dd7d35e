//! The programs of the twelve problems, generic in the interpreter: what a user of the library writes, and nothing about the
//! protocol. The gallery of the tests has them, too.
//!
//! | file | problem |
//! |---|---|
//! | `hello` | a square, and its derivative |
//! | `llsq` | least squares by a polynomial |
//! | `lse` | the logarithm of a sum of exponentials |
//! | `det` | a determinant by expansion |
//! | `ode` | a chain of reactions, by Runge and Kutta |
//! | `kmeans` | clusters, and Newton's direction |
//! | `gmm` | a mixture of Gaussians |
//! | `lstm` | a long short-term memory |
//! | `ba` | bundle adjustment, a sparse Jacobian |
//! | `ht` | tracking a hand, a Jacobian of few columns |
//! | `descent` | the gradient descent of the next two |
//! | `particle` | a derivative of a simulation that uses a derivative |
//! | `saddle` | a minimum of maxima |

// The tests are crates of their own.
#![allow(unreachable_pub)]

use polygrad::Tensor;

pub mod ba;
pub mod descent;
pub mod det;
pub mod gmm;
pub mod hello;
pub mod ht;
pub mod kmeans;
pub mod llsq;
pub mod lse;
pub mod lstm;
pub mod ode;
pub mod particle;
pub mod saddle;

/// A number.
pub type Scalar<T> = Tensor<T, 0>;
/// Numbers.
pub type Vector<T> = Tensor<T, 1>;
/// Rows of numbers.
pub type Matrix<T> = Tensor<T, 2>;
