//! From a recorded function to its derivative program: record, choose a mode, differentiate, optimize, evaluate.
//!
//! Law: each file names those above it in this table alone.
//!
//! | file | step |
//! |---|---|
//! | `record` | the function of a verb becomes a program |
//! | `inputs` | the inputs of a derivative program, in order and with names |
//! | `sweep` | products with derivatives: tangents forward, cotangents backwards |
//! | `strategy` | the modes, and the strategies of each |
//! | `basis` | Jacobians: products with all basis vectors |
//! | `modes` | gradients, Jacobians and Hessians, in the mode that costs least |
//! | `laplacian` | sums of second derivatives, divergences |
//! | `series` | derivatives of any order in one number |
//! | `transformation` | the list of all: a program in, a program out, optimized before and after |
//! | `evaluate` | the derivative program at the interpreter of the arguments |

pub(super) mod basis;
pub(super) mod evaluate;
pub(super) mod inputs;
pub(super) mod laplacian;
pub(super) mod modes;
pub(super) mod record;
pub(super) mod series;
pub(super) mod strategy;
pub(super) mod sweep;
pub(super) mod transformation;
