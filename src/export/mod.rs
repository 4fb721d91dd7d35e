//! Export of programs as StableHLO, the input language of XLA.
//!
//! A program that is traced, differentiated and optimized here runs in XLA on many cores, on graphics processors and on
//! several machines.
//!
//! Law: the text computes what [`interpret`](crate::program::interpret) computes, up to rounding, with the same
//! conventions for special cases: reads and writes at indices out of bounds, integer division by zero, the order of
//! NaN, guarded products. `docs/export.md` lists the lowering of each operation, and where XLA differs: it flushes
//! subnormal numbers to zero.
//!
//! The export belongs to the language: it reads programs, and names no interpreter. A file of this folder is a family
//! of operations; `text.rs` and `hlo.rs` write the text, `rules.rs` has the type rules of operations, and `lower.rs`
//! visits the operations of a program.

mod contractions;
mod control;
mod convolutions;
mod discrete;
mod elementwise;
mod factors;
mod hlo;
mod indexing;
mod least_squares;
mod lower;
mod matrices;
mod minors;
mod rules;
mod sharding;
mod signature;
mod special;
mod text;
mod views;

use thiserror::Error;

pub use sharding::{Mesh, ShardingError};
pub use signature::{Exported, Port, Signature};

use crate::errors::debug_by_display;
use crate::escape;
use crate::program::Program;
use crate::source::{Place, SourceLine};

/// The reason why a program is not exported.
///
/// ```
/// use polygrad::export::Unsupported;
/// use polygrad::{Function, external, tensor};
/// let f = Function::stage(|x| external("table", |x| x + 1.0, &tensor(0.0), x), &tensor(1.0));
/// let refused = f.program().to_stablehlo("model");
/// assert!(matches!(refused, Err(Unsupported::External { name, .. }) if name == "table"));
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// The program calls code of the host.
    #[error(
        "to_stablehlo: every operation must be one of StableHLO, but {} is code of the host; export the programs before \
         and after it",
        escape::quoted(name)
    )]
    External {
        /// The name of the code.
        name: String,
        /// The source line of the call, if it is known.
        at: Option<SourceLine>,
    },
}

debug_by_display!(Unsupported);

impl Unsupported {
    /// The same reason, with this place unless it has one.
    fn at(mut self, place: Place) -> Unsupported {
        let Unsupported::External { at, .. } = &mut self;
        *at = at.take().or_else(|| place.at.as_ref().map(SourceLine::from));
        self
    }
}

impl Program {
    /// The program as the text of a StableHLO module of this name, whose public function `main` takes the inputs and
    /// returns the outputs.
    ///
    /// The program is exported as it is: [`optimize`](crate::passes::optimize) it first, or export a
    /// [`Function`](crate::Function::to_stablehlo).
    ///
    /// ```
    /// use polygrad::{BaseTensor, DType, ops::Unary, program::Term};
    /// let x = Term::variable(&[2], DType::F64);
    /// let program = Term::program(&[x.clone()], &[x.unary(Unary::Sin)], &["x".into()])?;
    /// let text = program.to_stablehlo("wave").unwrap();
    /// assert!(text.contains("func.func public @main(%0: tensor<2xf64>) -> (tensor<2xf64>)"), "{text}");
    /// assert!(text.contains("%1 = stablehlo.sine %0 : tensor<2xf64>"), "{text}");
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// A line ends with the place in the user's source where its operation was written, if the recorded program knows
    /// it: `loc("src/model.rs":12:9)`. An operation of a derivative has the place of the differentiated operation.
    ///
    /// # Errors
    /// When an operation is code of the host, which has no counterpart in StableHLO.
    pub fn to_stablehlo(&self, name: &str) -> Result<String, Unsupported> {
        lower::ModuleText::default().text(self, name)
    }
}
