//! The interpreters: each gives one meaning to the language, by implementing [`BaseTensor`](crate::BaseTensor). In reading order:
//!
//! * [`concrete`]: evaluation. The meaning of a program is its value.
//! * [`dual`]: forward-mode differentiation over any interpreter: a value and its tangent.
//! * [`jet`]: Taylor series over any interpreter: a value and the coefficients of its powers.
//! * [`adval`]: reverse-mode differentiation over any interpreter: a value and a `Delta` term, the linear map from the
//!   tangents of the inputs to that of the value, whose transpose is evaluated.
//! * [`tower`]: forward and reverse mode at levels that are known at run time, over any interpreter.
//! * [`shapes`]: the smallest interpreter. The meaning of a program is the shapes it computes.
//! * [`sparsity`]: the inputs on which each element of a value depends.
//! * [`formal`]: elements of any commutative semiring in place of numbers: path counts, shortest paths, reachability.
//! * [`enclosure`]: bounds of each element of a value, for inputs within bounds.
//! * [`rounding`]: a bound of the rounding error of each element of a value, over an interpreter of bounds.
//! * [`count`]: the cost of a program, over any interpreter.
//! * [`transcript`]: the text of a program, written while it runs, over any interpreter.
//! * [`watch`]: observation of each value of a program, over any interpreter: origins of NaN, indices out of bounds.
//!
//! `guarded`, `level`, `scope`, `trips`, `selected_rows`, `scattered`, `span` and `bounded` are not interpreters: they have products of
//! derivatives with infinite factors, the levels of tangents, the
//! state of observers, the loop of interpreters that run trip by trip, the rows that indices select, cotangents of arrays that are read at indices, the
//! critical path of a counted program, and what interpreters of bounds show. Compiled programs run in [`backend`](crate::backend).
//!
//! Law: no interpreter names another. An interpreter over an interpreter is generic in it, so interpreters nest in any
//! order and to any depth. This module chooses between interpreters, see `run_once`, and so does
//! `tower`, between the two modes of differentiation.

use crate::array::Array;
use crate::program::{Program, interpret};

pub mod adval;
pub mod ast;
#[cfg(feature = "verified")]
pub mod bounded;
pub mod concrete;
pub mod count;
pub mod dual;
#[cfg(feature = "verified")]
pub mod enclosure;
pub mod formal;
mod guarded;
pub mod jet;
mod level;
#[cfg(feature = "verified")]
pub mod rounding;
pub(crate) mod scattered;
pub mod scope;
mod selected_rows;
pub mod shapes;
mod span;
pub mod sparsity;
pub mod tower;
pub mod transcript;
mod trips;
pub mod watch;

pub use adval::ADVal;
pub use ast::Ast;
pub use concrete::Concrete;
pub use count::Count;
pub use dual::Dual;
#[cfg(feature = "verified")]
pub use enclosure::Enclosure;
pub use formal::Formal;
pub use jet::Jet;
#[cfg(feature = "verified")]
pub use rounding::Rounding;
pub use shapes::Shapes;
pub use sparsity::Sparsity;
pub use tower::Tower;
pub use transcript::Transcript;
pub use watch::Watch;

/// The results of a program of arrays that runs once: compiled if compilation is estimated to pay, otherwise
/// interpreted.
pub(crate) fn run_once(program: &Program, inputs: Vec<Array>) -> Vec<Array> {
    if crate::backend::is_off() || !crate::backend::pays_once(program) {
        return interpret(program, inputs);
    }
    crate::backend::compile(program).run(&inputs)
}
