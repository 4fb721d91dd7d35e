//! Conversions from and to the arrays and matrices of other crates.
//!
//! Law: a conversion to another crate and back is the identity; an element has the same indices on both sides, whatever
//! the order in memory. A conversion whose rank is known to rustc is `From`; one that checks the rank is `TryFrom`.
//!
//! | conversion | copies |
//! |---|---|
//! | tensor by reference to `ndarray` view | nothing; one repeated value becomes a view with stride 0 |
//! | tensor to `ndarray` array | nothing if the tensor stores its elements one by one and has no other owner |
//! | `ndarray` array to tensor | nothing if its layout is standard (row-major), without an offset |
//! | `ndarray` view to tensor | the elements |
//! | tensor of rank 1 to `nalgebra` vector, and back | nothing, as between tensors and `Vec` |
//! | tensor of rank 2 to `nalgebra` matrix, and back | the elements, since matrices there are column-major |
//! | complex tensor to `ndarray` array or `nalgebra` matrix or vector of `num-complex`, and back | the elements |
//! | tensor of rank 1 or 2 by reference to `faer` view | nothing; one repeated value becomes a view with strides 0 |
//! | tensor of rank 1 or 2 to `faer` column or matrix, and back from a view | the elements |

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
