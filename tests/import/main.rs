//! Import of StableHLO: programs that JAX printed, operations one by one, hostile text, and derivatives.

mod golden;
mod hostile;
mod operations;
mod places;
mod sized;
mod suite;
mod verbs;

#[path = "../support/root.rs"]
mod root;
