//! The C interface of polygrad: programs, their values and derivatives, from any language.
//!
//! This crate stands above `polygrad`, which does not know it. Laws: no panic crosses the boundary, a mistake of the caller
//! is an error in words, and unsafe code stands where addresses of the caller become references, and nowhere else.
//!
//! `include/polygrad.h` declares what it exports, and is the reference for users. The shared library is built by
//! `cargo build --release -p polygrad-capi`.
//!
//! | module | contents |
//! |---|---|
//! | `boundary` | codes of errors, their text, panics |
//! | `places`, `arrays` | addresses and arrays of the caller |
//! | `leaves`, `handle` | functions whose types are known when they are loaded, and their derivatives |
//! | `casadi`, `fmi` | source code for CasADi, and for simulators by FMI |
//! | `functions` | the entry points |
//! | [`mod@bridgestan`] | BridgeStan's interface, for log densities: what samplers load |

#[cfg(feature = "functions")]
mod arrays;
mod boundary;
pub mod bridgestan;
#[cfg(feature = "functions")]
mod casadi;
#[cfg(feature = "functions")]
mod fmi;
#[cfg(feature = "functions")]
pub mod functions;
#[cfg(feature = "functions")]
mod handle;
mod leaves;
#[cfg(feature = "functions")]
mod places;

#[cfg(feature = "functions")]
pub use arrays::LentArray;
pub use boundary::Status;
#[cfg(feature = "functions")]
pub use handle::Handle;
