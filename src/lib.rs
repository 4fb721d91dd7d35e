// Where the links of the README lead within this documentation: of two definitions of a link, the first one counts.
//! [gallery]: crate::guide::examples
//! [ten minutes]: crate::guide
//! [tasks]: crate::guide::tasks
//! [questions]: crate::guide
//! [names]: crate::guide::names
//! [verbs]: crate::guide::verbs
//! [higher order]: crate::guide
//! [verified]: crate::guide::verified
//! [fast]: crate::guide::fast
//! [source]: crate::guide::source
//! [export]: crate::guide::export
//! [import]: crate::guide::from_jax
//! [from c]: crate::guide::from_c
//! [from python]: crate::guide::from_python
//! [bridgestan]: crate::guide::bridgestan
//! [looking]: crate::guide::looking
//! [networks]: crate::guide::networks
//! [models]: crate::guide::models
//! [conventions]: crate::guide::conventions
//! [rebuild]: crate::guide
//! [architecture]: crate::guide
//! [contributing]: crate::guide
//! [changelog]: crate::guide
//! [versions]: crate::guide
//! [security]: crate::guide
//! [performance]: crate::guide::performance
//!
#![cfg_attr(any(doc, doctest), doc = include_str!("../docs/pictures/lotka_volterra.svg"))]
// The link to the picture, for readers of the README itself, is in a comment here.
#![cfg_attr(any(doc, doctest), doc = "<!--")]
#![cfg_attr(any(doc, doctest), doc = include_str!("../README.md"))]
// Items say which feature they need, where a nightly toolchain builds the documentation for all features.
#![cfg_attr(docsrs, feature(doc_cfg))]
// What only emission, export, reports and proofs use stays where it belongs, and is dead code without these features.
#![cfg_attr(
    not(all(feature = "emission", feature = "export", feature = "report", feature = "verified")),
    allow(dead_code, unused_imports)
)]

// The code that `#[derive(Tree)]` generates names this crate, even within the crate.
#[allow(unused_extern_crates)]
extern crate self as polygrad;

// What a user calls without naming its feature: the compiler names it.
#[cfg(not(all(
    feature = "emission",
    feature = "export",
    feature = "native",
    feature = "report",
    feature = "verified"
)))]
mod absent;
pub mod ad;
pub mod array;
pub mod backend;
pub mod base;
mod checkpoint;
mod cost;
pub mod dtype;
#[cfg(feature = "emission")]
pub mod emission;
mod errors;
mod escape;
#[cfg(feature = "export")]
pub mod export;
// Pages alone: a change of a page does not compile the library again.
#[cfg(any(doc, doctest))]
pub mod guide;
mod hash;
#[cfg(feature = "import")]
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "a text may say anything: what a rule does not know is refused by name"
)]
pub mod import;
mod kernels;
pub mod linalg;
pub mod manifold;
pub mod nn;
pub mod ops;
pub mod optim;
mod order;
pub mod passes;
#[cfg(feature = "pjrt")]
pub mod pjrt;
pub mod prelude;
pub mod program;
pub mod random;
#[cfg(feature = "export")]
mod recorded;
mod release;
#[cfg(feature = "report")]
mod report;
mod rewrite;
pub mod shape;
pub mod source;
pub mod stats;
mod taps;
pub mod tensor;
mod text;
pub mod tree;

// The interpreters are in a folder next to the language, not inside it, but they are modules of this crate.
#[path = "../interpreters/mod.rs"]
pub mod interpreters;

/// Functions for the tests of this crate, of no use to programs; they may change with every version.
#[doc(hidden)]
pub mod internals {
    use crate::backend::Executable;
    use crate::program::Program;

    pub use crate::ad::verbs::{Home, VERBS, Verb};

    /// Compiles a program with the smallest thresholds: steps run in row blocks if they can, however small arrays are,
    /// and loops over small arrays run as loops over large arrays.
    pub fn compile_in_small_blocks(program: &Program) -> Executable {
        crate::backend::compile_in_small_blocks(program)
    }

    /// [`compile_in_small_blocks`], with steps that run again so that a run takes little memory.
    pub fn compile_in_least_memory(program: &Program) -> Executable {
        crate::backend::compile_in_least_memory(program)
    }

    /// The gradient of a program with one number as its result, in all inputs, in forward mode: the tangents for all
    /// input elements side by side, however many there are.
    ///
    /// # Panics
    /// When this gradient does not exist.
    pub fn gradient_side_by_side(program: &Program) -> Program {
        crate::ad::gradient_side_by_side(program)
    }

    /// The program with a conditional for each selection by one truth value, however short its branches are.
    pub fn branched(program: &Program) -> Program {
        crate::passes::branched(program)
    }

    /// [`gradient_side_by_side`] with one stack for the tangents of a value.
    ///
    /// # Panics
    /// When this gradient does not exist.
    pub fn gradient_in_stacks(program: &Program) -> Program {
        crate::ad::gradient_in_stacks(program)
    }
}

// For polygrad-higher, of the same version: not public, may change. What that crate needs of the internals of this one
// is here, and nowhere else, since it extends this one: its cotangents are scattered and its pullbacks linear maps,
// its terms are long chains, and its mistakes are at lines of the user.
#[doc(hidden)]
pub mod seam {
    use std::fmt::Display;
    use std::panic::Location;

    use crate::ad::LinearMap;
    use crate::base::BaseTensor;
    use crate::interpreters::adval::{Fault, Sweep};
    use crate::interpreters::{ADVal, tower};
    use crate::program::{Constant, Op, Program, Term};
    use crate::source;

    pub use crate::interpreters::scattered::{ArrayCotangent, Scattered, ScatteredRows};
    pub use crate::release::release;

    pub const UNBOUNDED: &str = tower::UNBOUNDED;

    #[track_caller]
    #[cold]
    pub fn mistake(message: &str) -> ! {
        source::mistake(message)
    }

    pub fn written() -> Option<&'static Location<'static>> {
        source::written()
    }

    pub fn written_at<R>(at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
        source::written_at(at, f)
    }

    #[track_caller]
    pub fn linear_map<'a, A, B, F: Display>(f: impl Fn(&A) -> Result<B, F> + 'a) -> LinearMap<'a, A, B> {
        LinearMap::new(f)
    }

    #[track_caller]
    pub fn pull_scattered<T: BaseTensor>(
        sweep: &Sweep<T>,
        results: &[ADVal<T>],
        cotangents: Vec<T>,
    ) -> Vec<Option<ArrayCotangent<T>>> {
        sweep.pull_scattered(results, cotangents)
    }

    pub fn gradient_program(recorded: &Program, count: usize) -> Result<Program, Fault> {
        crate::ad::gradient_program(recorded, count)
    }

    pub fn variables_like<T: BaseTensor>(values: &[T]) -> Vec<Term> {
        Term::variables_like(values)
    }

    pub fn is_zero(constant: &Constant) -> bool {
        constant.is_zero()
    }

    pub fn words<R>(op: &Op<R>) -> String {
        op.words()
    }
}

#[cfg(not(feature = "verified"))]
#[doc(hidden)]
pub use absent::{
    enclose, enclose_with, taylor_model, taylor_model_with, verified_odeint, verified_root, verified_roots,
};
#[cfg(feature = "native")]
pub use ad::NativeFunction;
#[cfg(feature = "report")]
pub use ad::ReportError;
pub use ad::verbs::{
    divergence, divergence_with, grad, grad_with, hessian, hessian_matrix, hessian_matrix_with, hessian_with, hvp,
    hvp_with, jacobian, jacobian_by, jacobian_by_with, jacobian_matrix, jacobian_matrix_with, jacobian_with, jvp,
    jvp_with, laplacian, laplacian_along, laplacian_along_with, laplacian_with, nth_derivative, nth_derivative_with,
    value_and_grad, value_and_grad_with, value_and_jacobian, value_and_jacobian_matrix, value_and_jacobian_matrix_with,
    value_and_jacobian_with, vjp, vjp_with,
};
#[cfg(all(feature = "emission", feature = "verified"))]
pub use ad::{Certificate, CertificateError, CertifiedInput, CertifiedOperation, CertifiedOutput};
pub use ad::{
    Checked, ColumnPattern, CompressedColumns, CompressedRows, FailedCheck, FlatFunction, Function, FunctionOptions,
    Gradient, GradientCheck, GradientError, Jit, LinearMap, LinearSolver, MemoryError, Mode, Ode, OdeError, RunError,
    ShapeError, SizedFunction, SizedModel, Sizes, Solver, SourceLine, SparseFunction, SparsityPattern, StepLimit,
    Triplets, assert_gradient, assert_gradient_with, check, check_gradient, check_gradient_with, custom_jvp,
    custom_vjp, derivative_tensor, derivative_tensor_with, direct, external, fixed_point, hessian_diagonal,
    hessian_diagonal_with, holomorphic_grad, inspect, minimize, odeint, root, sparse_hessian, sparse_hessian_with,
    sparse_jacobian, sparse_jacobian_with, symbolic, taylor, taylor_along, taylor_along_with, taylor_with, wirtinger,
};
#[cfg(feature = "verified")]
pub use ad::{
    NoProof, TaylorForm, TaylorModel, VerifiedOde, VerifiedOdeError, VerifiedRoots, enclose, enclose_with,
    taylor_model, taylor_model_with, verified_odeint, verified_root, verified_roots,
};
pub use array::Array;
pub use base::{BaseTensor, Lift};
pub use dtype::{DType, Elem, Float, Num};
#[cfg(feature = "verified")]
pub use interpreters::Enclosure;
pub use interpreters::{ADVal, Concrete, Dual, Jet, Shapes, Sparsity};
pub use tensor::{
    Checkpoint, Complex, Conv, Tensor, associative_scan, build, build1, check_tree, checkpoint, concat, cond,
    debug_tree, einsum, fold, fork_join, iterate, iterate_all, map, map_accum, map_accum_reverse, parallel_scan, scan,
    stack, switch, tensor, vmap, while_loop, while_loop_within, zip_with,
};
pub use tree::Tree;
