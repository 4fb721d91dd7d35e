#![doc = include_str!("../README.md")]

pub mod ad;
pub mod array;
pub mod base;
pub mod dtype;
pub mod ops;
pub mod shape;
pub mod tensor;
pub mod tree;

// The interpreters stand beside the language, not inside it; they are modules of this crate all the same.
#[path = "../interpreters/mod.rs"]
pub mod interpreters;

pub use ad::direct;
pub use array::Array;
pub use base::{BaseTensor, Lift};
pub use dtype::{DType, Elem, Float, Num};
pub use interpreters::{ADVal, Concrete, Dual};
pub use tensor::{
    Tensor, build, build1, concat, cond, fold, iterate, map, map_accum, map_accum_reverse, scan, stack, tensor,
    zip_with,
};
pub use tree::Tree;
