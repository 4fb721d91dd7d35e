//! What most programs name: types, traits with methods, and the verbs and loops of every day.
//!
//! Law: each name is that of the crate itself, so a program may replace the glob by a list.
//!
//! ```
//! use polygrad::prelude::*;
//!
//! #[derive(Tree, Clone)]
//! struct Line<T: BaseTensor> {
//!     slope: Tensor<T, 0>,
//!     offset: Tensor<T, 0>,
//! }
//!
//! fn loss<T: BaseTensor>(line: &Line<T>, (x, y): &(Tensor<T, 1>, Tensor<T, 1>)) -> Tensor<T, 0> {
//!     (x * &line.slope + &line.offset - y).square().mean()
//! }
//!
//! let data = (tensor([0.0, 1.0, 2.0]), tensor([1.0, 3.0, 5.0]));
//! let mut line = Line { slope: tensor(0.0), offset: tensor(0.0) };
//! let slope = Function::value_and_grad_with(loss, &line, &data);
//! for _ in 0..200 {
//!     line = line.add_scaled(-0.3, &slope.run_with(&line, &data)?.1);
//! }
//! assert!((line.slope.item() - 2.0).abs() < 1e-6);
//! # Ok::<(), RunError>(())
//! ```

#[doc(no_inline)]
pub use crate::ad::verbs::{grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp};
pub use crate::ad::{FlatFunction, Function, Jit, RunError};
#[doc(no_inline)]
pub use crate::array::{Array, Rng};
#[doc(no_inline)]
pub use crate::base::{BaseTensor, Lift};
#[doc(no_inline)]
pub use crate::dtype::{Float, Num};
#[doc(no_inline)]
pub use crate::interpreters::Concrete;
#[doc(no_inline)]
pub use crate::optim::Optimizer;
#[doc(no_inline)]
pub use crate::tensor::{Tensor, concat, fold, iterate, map, map_accum, scan, stack, tensor, vmap};
#[doc(no_inline)]
pub use crate::tree::{Tree, TreeMath};
