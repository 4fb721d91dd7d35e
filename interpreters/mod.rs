//! The interpreters: each gives one meaning to the language, by implementing
//! [`BaseTensor`](crate::BaseTensor). In reading order:
//!
//! * [`concrete`]: evaluation. The meaning of a program is its value.
//! * [`dual`]: forward-mode differentiation over any interpreter: a value and its tangent.
//! * [`adval`]: reverse-mode differentiation over any interpreter: a value and a `Delta` term, the
//!   linear map from the inputs' tangents to the value's, evaluated backwards.
//!
//! Law: no interpreter names another. Those that stand on one are generic in it, so that they nest
//! in any order and to any depth.

pub mod adval;
pub mod concrete;
pub mod dual;

pub use adval::ADVal;
pub use concrete::Concrete;
pub use dual::Dual;
