//! Steps as imperative trees: what source code in Rust and C, and native code, are made of.
//!
//! ```text
//! steps over values -places, groups, kernels-> imperative trees -simplify-> trees
//! ```
//!
//! Law: trees compute what compiled steps compute, by the same operations on the same numbers; only sums and products of
//! arrays have another order. Reads at indices out of bounds give 0, integers wrap, and the elementary functions are
//! those of `polygrad-math`.
//!
//! | module | does |
//! |---|---|
//! | `places` | variables and arrays for buffers, by liveness |
//! | `steps` | the steps of a program, and loops |
//! | `groups`, `sums` | fusion groups as nests of loops; long sums in parts |
//! | `nests`, `kernels`, `matrices`, `sorting` | kernel calls: products and moves; other operations on arrays; linear algebra |
//! | `tree`, `writer`, `idioms`, `simplify` | imperative trees |
//! | `lines` | comments with lines of the user |

#[cfg(test)]
pub(crate) mod evaluate;
mod groups;
mod idioms;
mod kernels;
mod lines;
pub(crate) mod matrices;
mod nests;
mod places;
pub(crate) mod simplify;
mod sorting;
pub(crate) mod steps;
mod sums;
pub(crate) mod tree;
mod writer;
