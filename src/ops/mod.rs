//! The operations, by family. A family is a closed enum and one method of
//! [`BaseTensor`](crate::BaseTensor); an operation is a row of a table or a piece of data.
//!
//! | family | an operation is | its derivative | one method |
//! |---|---|---|---|
//! | [`Unary`] | a row: kernel, derivative at `(x, y)`, guard, domain, graph, error | scale by it | `unary` |
//! | [`Binary`] | a row: kernel, two partials at `(x, y, z)`, guards | scale and add | `binary` |
//! | [`Linear`] | data: two [`View`]s, a reshape or a cast | itself | `linear` |
//! | [`Contract`] | data: three [`View`]s | the product rule, by exchanging views | `contract` |
//! | [`Reduce`] | an extremum along an axis | reading at its position | `reduce` |
//! | [`Discrete`] | a row: kernel | zero | `discrete` |
//! | [`Call`] | a name: linear algebra, code of the host, or a tap | a rule in [`crate::linalg`]; none; itself | `call` |
//!
//! Selection, indexing, concatenation and loops stand alone; their shape rules are in [`kinds`].
//!
//! Law: all facts about an operation that an interpreter needs are here, once, without naming an interpreter. No
//! `_ =>` arm stands for these operations: rustc is the checklist.
//!
#![cfg_attr(any(doc, doctest), doc = include_str!("../../docs/operations.md"))]

mod binary;
mod call;
mod compose;
mod contract;
mod discrete;
mod external;
mod familiar;
mod graph;
pub mod kinds;
mod linear;
mod matrix;
pub(crate) mod minors;
mod numbers;
mod property;
mod reduce;
mod tap;
mod unary;
mod val;
pub(crate) mod view;

pub(crate) use binary::binary_rows;
pub use binary::{Binary, Notation};
pub use call::Call;
pub use contract::Contract;
pub use discrete::{Compare, Discrete, FloatStep, IntBinary, IntUnary};
pub use external::{BatchedCall, External, HostFunction};
pub(crate) use familiar::inverse;
pub use familiar::{Cut, Familiar, Product};
pub(crate) use graph::{Course, FINITE, KernelError, POSITIVE, REALS, RECURRENCE_ERROR, fourier_error};
pub use linear::Linear;
pub(crate) use linear::check_fourier;
pub use matrix::Matrix;
pub(crate) use numbers::Renumber;
pub use polygrad_math::threefry;
pub(crate) use property::{Property, ZeroSign};
pub use reduce::Reduce;
pub use tap::{FailedCheck, Tap, TapKind};
pub use unary::Unary;
pub(crate) use unary::unary_rows;
pub use val::{Guard, Partial, PartialFactors, PartialOrigin};
pub use view::View;
