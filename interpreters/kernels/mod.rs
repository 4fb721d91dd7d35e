//! Loops over slices, shared by the interpreters that compute.
//!
//! Law: a kernel reads slices and writes into a slice of its caller's; it allocates no result, knows no array, and
//! names no interpreter. What it computes is defined by the operation in [`crate::ops`] that its module names.
//!
//! | module | computes |
//! |---|---|
//! | `runs` | nothing: it turns affine views into loops over contiguous runs |
//! | `views` | copies and sums through views |
//! | `isa` | nothing: it runs a loop as compiled for the instruction set of the machine |
//! | `products` | bilinear operations, by the kernel that suits their loops |
//! | `cuts` | products in parts, on several threads |
//! | `matmul` | plain matrix products |
//! | `lines` | products of a matrix and a vector, in both layouts |
//! | `matrix` | linear algebra, by the crate nalgebra |
//! | `packed`, `tiles` | products of matrices whose rows and columns are several axes: convolutions and their adjoints |
//! | `sums` | products that are summed along runs of both operands: adjoints of convolutions in the kernel |
//! | `windows` | nothing: it brings products of windows, and their adjoints, in the form that `packed` does best |
//! | `indexing` | gather, scatter |
//! | `reduce` | extrema along an axis, and their positions |
//! | `sorting` | positions in sorted order |
//! | `threads` | nothing: it shares work out |

mod cuts;
pub(crate) mod indexing;
pub(crate) mod isa;
mod lines;
mod matmul;
pub(crate) mod matrix;
mod packed;
pub(crate) mod products;
pub(crate) mod reduce;
pub(crate) mod runs;
pub(crate) mod sorting;
mod sums;
pub(crate) mod threads;
mod tiles;
pub(crate) mod views;
mod windows;
