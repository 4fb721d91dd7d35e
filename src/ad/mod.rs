//! The verbs: the functions that differentiate or analyse a user's program, at every level of nesting.
//!
//! * the plain verbs ([`grad`](crate::grad()), [`hvp`](crate::hvp()), ..) trace: at `Concrete` a program is recorded,
//!   optimized, differentiated, optimized again and run; inside another program, the derivative becomes part of that
//!   program (`verbs`);
//! * [`direct`] runs the program at dual numbers, with the host language's own control flow;
//! * [`Function`] is traced and differentiated once and run many times, [`Jit`] once for each shape and structure: a
//!   plain verb in a loop traces and differentiates at every call, which takes 30 to 170 times as long as one run of a
//!   small program;
//! * [`symbolic`] maps programs to their derivative programs;
//! * [`custom_jvp`] and [`custom_vjp`] apply a function with a custom derivative rule;
//! * [`external`] runs code of the host as an operation;
//! * [`enclose`] computes bounds of a program and of its derivatives over a box; [`taylor_model`], [`verified_roots`] and
//!   [`verified_odeint`] build on it;
//! * [`Certificate`] says of emitted source code what holds for a box of inputs;
//! * [`check`] finds mistakes in shapes and element types, [`inspect`] reports costs and faults of a run,
//!   [`check_gradient`] compares derivatives with finite differences.
//!
//! This folder and `src/lib.rs`, which lists the modules, are the only places in `src/` that name interpreters.

#[macro_use]
mod forms;

#[cfg(all(feature = "emission", feature = "verified"))]
mod certificate;
mod check;
mod check_gradient;
mod complex;
mod custom;
mod differentiate;
pub mod direct;
#[cfg(feature = "verified")]
mod enclose;
mod external;
mod flat;
mod function;
mod implicit;
#[cfg(feature = "import")]
mod imported;
pub mod inspect;
mod linear_map;
mod sparse;
pub mod symbolic;
mod taylor;
pub(crate) mod verbs;
#[cfg(feature = "verified")]
mod verified;

pub use crate::ops::FailedCheck;
pub use crate::source::SourceLine;
#[cfg(all(feature = "emission", feature = "verified"))]
pub use certificate::{Certificate, CertificateError, CertifiedInput, CertifiedOperation, CertifiedOutput};
pub use check::{ShapeError, check};
pub use check_gradient::{
    Checked, GradientCheck, GradientError, assert_gradient, assert_gradient_with, check_gradient, check_gradient_with,
};
pub use complex::{holomorphic_grad, wirtinger};
pub use custom::{custom_jvp, custom_vjp};
pub(crate) use differentiate::modes::{gradient_in_stacks, gradient_side_by_side};
pub use differentiate::strategy::Mode;
pub(crate) use differentiate::transformation::gradient_program;
#[cfg(feature = "verified")]
pub use enclose::{enclose, enclose_with};
pub use external::external;
pub use flat::FlatFunction;
#[cfg(feature = "native")]
pub use function::NativeFunction;
#[cfg(feature = "report")]
pub use function::ReportError;
pub use function::{Function, FunctionOptions, Gradient, Jit, MemoryError, RunError, SizedFunction, SizedModel, Sizes};
pub use implicit::{LinearSolver, Ode, OdeError, Solver, StepLimit, fixed_point, minimize, odeint, root};
pub use linear_map::LinearMap;
pub use sparse::{
    ColumnPattern, CompressedColumns, CompressedRows, SparseFunction, SparsityPattern, Triplets, hessian_diagonal,
    hessian_diagonal_with, sparse_hessian, sparse_hessian_with, sparse_jacobian, sparse_jacobian_with,
};
pub use taylor::{derivative_tensor, derivative_tensor_with, taylor, taylor_along, taylor_along_with, taylor_with};
#[cfg(feature = "verified")]
pub use verified::{
    NoProof, TaylorForm, TaylorModel, VerifiedOde, VerifiedOdeError, VerifiedRoots, taylor_model, taylor_model_with,
    verified_odeint, verified_root, verified_roots,
};
