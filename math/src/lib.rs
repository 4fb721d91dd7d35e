//! The elementary and special functions of the crate `polygrad`, without the standard library.
//!
//! Law: a function has the bits of the kernels of `polygrad`, which compiled programs run, on a machine of the same
//! kind, with or without fused multiply-add ([`Target`]). Numbers that are known before a run may differ in the last
//! digits: `polygrad` computes them by functions of the platform.
//!
//! * The modules `f64` and `f32`: a function for each row of the tables of `polygrad`, defined for all arguments.
//! * [`scalar`]: the same, generic in the [`Number`] and in the [`Machine`]. A number is one of a float type, or what
//!   stands for one: `polygrad` records the operations, and prints them as C.
//! * [`Arithmetic`]: the part of [`Number`] that algorithms on matrices use, also for several numbers in lanes.
//! * [`Elementary`]: functions without branches, for loops that the compiler vectorises, accurate where a predicate
//!   holds; [`derived`]: functions made of these.
//! * [`special`]: functions made of these, on machines without fused multiply-add.
//! * [`threefry`]: random bits.
//! * [`rows`]: what is computed at arguments for which those are not accurate, and functions that have no such version.
//!
//! Every number has one result: nothing panics, and nothing depends on the machine but the last digits, by fused
//! multiply-add. With the feature `std` square roots and fused multiply-adds are instructions where the target has
//! them; without it they are calls of `libm`, with the same bits.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "std")]
extern crate std;

mod elementary;
mod face;
mod number;
pub mod rows;
pub mod scalar;
pub mod special;
mod threefry;

pub use elementary::{Elementary, derived};
pub use face::{f32, f64};
pub use number::{
    Arithmetic, Definition, Double, Format, Fused, Library, Machine, Mask, Number, ProductError, Target, WideWord,
    WithoutFma, Word,
};
pub use threefry::{threefry, threefry_of};
