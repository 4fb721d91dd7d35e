//! The verbs that record, as a table: a row each, from which a verb has its forms in all homes.
//!
//! A verb is a function from a program to a program ([`Transformation`](super::differentiate)), with the structure of
//! its results. The ways to use it are the same for all: a plain function, which becomes part of a program that is being
//! recorded; a constructor of [`Function`](crate::Function) and one of [`Jit`](crate::Jit); each with and without data.
//!
//! Law: what a row says holds in every home. `docs/verbs.md` is written from the same rows.
//!
//! To add a verb, write its program transformation in `differentiate`, and a row here.
//!
//! | file | verbs |
//! |---|---|
//! | `table` | what a row says of a verb to readers |
//! | `adaptors` | the ways to use a verb |
//! | `rows` | the macro that reads rows |
//! | `gradient` | `grad`, `value_and_grad`; the function itself |
//! | `products` | `vjp`, `jvp`, `hvp` |
//! | `jacobian`, `hessian` | of tensors, and of trees as matrices |
//! | `laplacian` | `laplacian`, `laplacian_along`, `divergence` |
//! | `nth_derivative` | that |

mod adaptors;
#[macro_use]
mod rows;
mod gradient;
mod hessian;
mod jacobian;
mod laplacian;
mod nth_derivative;
mod products;
mod table;

use table::Home::{Direct, Plain, Symbolic};

pub use gradient::{grad, grad_with, value_and_grad, value_and_grad_with};
pub use hessian::{hessian, hessian_matrix, hessian_matrix_with, hessian_with};
pub use jacobian::{
    jacobian, jacobian_by, jacobian_by_with, jacobian_matrix, jacobian_matrix_with, jacobian_with, value_and_jacobian,
    value_and_jacobian_matrix, value_and_jacobian_matrix_with, value_and_jacobian_with,
};
pub use laplacian::{divergence, divergence_with, laplacian, laplacian_along, laplacian_along_with, laplacian_with};
pub use nth_derivative::{nth_derivative, nth_derivative_with};
pub use products::{hvp, hvp_with, jvp, jvp_with, vjp, vjp_with};
pub use table::{Home, Verb};

/// All verbs, in the order of the page.
#[doc(hidden)]
pub const VERBS: &[&[Verb]] = &[
    gradient::ROWS,
    products::ROWS,
    &[
        Verb::at(&[Direct, Symbolic], "linearize", "`(y, x_dot -> y_dot)`: the linear map of the derivative"),
        Verb::at(&[Symbolic], "transpose", "`y_bar -> x_bar` of a linear program"),
        Verb::at(&[Symbolic], "derivative", "`x -> y'` of a program of one number"),
    ],
    jacobian::ROWS,
    &[
        Verb::at(&[Plain], "jacobian_by", "the Jacobian, in a mode that is named"),
        Verb::at(&[Plain], "sparse_jacobian", "`dy/dx`, by as many passes as its pattern has colours"),
    ],
    hessian::ROWS,
    &[
        Verb::at(&[Plain], "sparse_hessian", "the Hessian, by as many passes as its pattern has colours"),
        Verb::at(&[Plain], "hessian_diagonal", "the diagonal of the Hessian"),
    ],
    laplacian::ROWS,
    nth_derivative::ROWS,
    &[
        Verb::at(&[Plain], "derivative_tensor", "all partial derivatives of one order"),
        Verb::at(&[Plain], "taylor", "Taylor coefficients of `t -> f(x + t v)`"),
        Verb::at(&[Plain], "taylor_along", "Taylor coefficients along a curve"),
        Verb::at(&[Plain], "enclose", "bounds of `f` over a box"),
        Verb::at(&[Plain], "taylor_model", "a polynomial and an interval that contain `f` over a box"),
    ],
];
