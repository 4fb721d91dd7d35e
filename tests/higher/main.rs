//! The higher-order layer: CHAD, differentiable curry and optics, by the figures of the papers and by laws.

#![allow(clippy::type_complexity, reason = "the type of a program is its typing rule")]

#[path = "../support/mod.rs"]
mod support;

mod accumulated;
mod agree;
mod both;
mod bulk;
mod chosen;
mod data;
mod datum;
mod deep;
mod dynamic;
#[path = "../../examples/higher_order/main.rs"]
#[allow(dead_code, reason = "the program of the example is not run")]
mod example;
mod faa_di_bruno;
mod figures;
mod filter;
mod formal;
mod gallery;
mod held;
mod iteration;
mod iteration_rules;
mod laws;
mod lens;
mod loops;
mod nested;
mod optic_arrays;
mod optic_counts;
mod optics;
mod orders;
mod parallel;
mod printed;
mod random;
mod recorded;
mod recursive;
mod refused;
mod relation;
#[path = "../support/root.rs"]
mod root;
mod staged;
mod surface;
