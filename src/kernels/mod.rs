//! Kernels: loops over slices, shared by the interpreter of arrays and by compiled plans.
//!
//! Law: a kernel reads slices and writes into a slice of its caller; it allocates no result, knows no array, and names
//! no interpreter. The operation in [`crate::ops`] that its module names defines the result.
//!
//! | module | computes |
//! |---|---|
//! | `loop_nest` | nothing: it turns affine views into loops over runs |
//! | `isa` | nothing: it dispatches a loop to the instruction set of the processor |
//! | `threads` | nothing: it runs jobs on several threads |
//! | `elementwise` | rows of the tables, reductions and superinstructions over slices |
//! | `contract` | bilinear operations: gemm, gemv, implicit GEMM, inner products |
//! | `views` | copies and accumulation through views |
//! | `fourier` | Fourier transforms |
//! | `indexing` | gather, scatter-add |
//! | `reduce`, `sorting` | extrema and their positions, argsort |
//! | `scan`, `prefix_extrema` | prefix sums; positions of prefix extrema |
//! | `recurrence` | linear recurrences and prefix products |
//! | `matrix` | linear algebra |

pub(crate) mod contract;
pub(crate) mod elementwise;
pub(crate) mod fourier;
pub(crate) mod indexing;
pub(crate) mod isa;
pub(crate) mod loop_nest;
pub(crate) mod matrix;
pub(crate) mod prefix_extrema;
pub(crate) mod recurrence;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod sorting;
pub(crate) mod threads;
pub(crate) mod views;

/// The first elements of a line, as an array of constant length. Plans cut lines so that tiles and chunks lie in them.
#[inline(always)]
fn leading<E, const N: usize>(line: &[E]) -> &[E; N] {
    match line.first_chunk() {
        Some(elements) => elements,
        None => unreachable!("tiles lie in their array"),
    }
}
