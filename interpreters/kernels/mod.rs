//! Loops over slices, shared by the interpreters that compute.
//!
//! Law: a kernel reads slices and writes into a slice of its caller's; it allocates no result, knows no array, and names
//! no interpreter. What it computes is defined by the operation in [`crate::ops`] that its module names.
//!
//! | module | computes |
//! |---|---|
//! | `runs` | nothing: it turns affine views into loops over contiguous runs |
//! | `views` | copies and sums through views |
//! | `products` | bilinear operations, large ones by `matmul` |
//! | `indexing` | gather, scatter |
//! | `reduce` | extrema along an axis, and their positions |
//! | `sorting` | positions in sorted order |

pub(crate) mod indexing;
mod matmul;
pub(crate) mod products;
pub(crate) mod reduce;
pub(crate) mod runs;
pub(crate) mod sorting;
pub(crate) mod views;
