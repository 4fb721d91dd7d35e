//! Programs compiled to fused kernels.
//!
//! * `kernels`: loops over slices, one for each elementwise row, chosen for the instruction set of the machine.

// The kernels stand before the executor that calls them.
#[allow(dead_code, unused_imports)]
pub(crate) mod kernels;
