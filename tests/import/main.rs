//! Import of StableHLO: programs that JAX printed, operations one by one, hostile text, and derivatives.

mod golden;
mod hostile;
mod operations;
mod verbs;

#[path = "../support/root.rs"]
mod root;
